/* SPDX-License-Identifier: MIT */
#include "cli/cmd.h"

#include "core/entropy.h"
#include "core/clock.h"
#include "kernels/expect.h"
#include "kernels/images.h"
#include "kernels/graph_range.h"
#include "kernels/graph_work.h"
#include "kernels/network.h"
#include "kernels/sparse_conv2d/weights.h"
#include "kernels/template.h"
#include "kernels/workload.h"
#include "tuner/stop.h"
#include "cli/table.h"
#include "tracker/address.h"
#include "tracker/calls.h"
#include "tuner/tell.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LOG_WARNINGS 10 /* a log of noise does not fill the screen */

static volatile sig_atomic_t n_interrupts;

static void on_signal(int number)
{
    (void)number;
    if (++n_interrupts > 1) {
        localfarm_abandon();
        _exit(EXIT_INTERRUPTED);
    }
}

void cmd_catch_interrupts(void)
{
    struct sigaction a = {.sa_handler = on_signal};

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
}

struct speed_words cmd_speed(const struct record *r)
{
    struct speed_words out = {""};

    if (r->flops > 0)
        snprintf(out.text, sizeof out.text, ", %.1f GFLOPS", record_gflops(r));
    return out;
}

static bool needs_reader;

void cmd_need_reader(void)
{
    needs_reader = true;
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

bool cmd_interrupted(void)
{
    return n_interrupts > 0 || (needs_reader && reader_is_gone());
}

static bool go_on_computing(const struct workload *w, double waited_s, void *arg)
{
    static double told_s;
    char words[TELL_WORDS];

    (void)arg;
    if (tell_computing(&told_s, w, waited_s, words))
        fprintf(stderr, "tune: %s\n", words);
    return !cmd_interrupted();
}

void cmd_watch_computing(void)
{
    expect_set_watch((struct expect_watch){.go_on = go_on_computing});
}

int cmd_fail(enum err e, const struct why *why)
{
    fprintf(stderr, "tune: %s\n", why && why->text[0] ? why->text : err_words(e));
    if (e == ERR_UNREACHABLE)
        return EXIT_UNREACHABLE;
    return e == ERR_CANCELLED ? EXIT_INTERRUPTED : EXIT_USAGE;
}

bool cmd_has(const struct cli *c, const char *option)
{
    for (const struct cli_option *o = c->options; o->name; o++)
        if (strcmp(o->name, option) == 0)
            return true;
    return false;
}

enum err link_check(void *link, struct why *why)
{
    struct link *l = link;

    return l->is_private ? localfarm_check(&l->farm, why) : ERR_OK;
}

/* Of a link that was never open the error tells enough, unless somebody is there. Nobody starts the tracker of a
 * private farm again. */
static bool keep_waiting(int64_t out_ms, const char *does, void *arg)
{
    struct link *l = arg;
    struct why why = {""};

    if (link_check(l, &why)) {
        fprintf(stderr, "tune: %s\n", why.text);
        return false;
    }
    if ((l->client ? out_ms > 3000 : does != NULL) && !l->told_waiting) {
        fprintf(stderr, "tune: the tracker %s; waiting for it\n", does ? does : "is out of reach");
        l->told_waiting = true;
    }
    return !cmd_interrupted();
}

static enum err open_client(struct link *l, const char *url, const char *key_file, const struct tls_files *tls,
                            const char *role, struct why *why)
{
    char host[64] = "", name[128];
    const struct client_options o = {
        .url = url, .key_file = key_file, .tls = *tls, .role = role, .name = name, .waiting = keep_waiting, .arg = l};

    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s:%ld", host, (long)getpid());
    return client_open(&o, &l->client, why);
}

/* A private farm has no use for it, but who gives one that cannot be read has to know. */
static enum err check_key_file(const char *path, struct why *why)
{
    struct key key;

    return path && *path ? key_load(path, &key, why) : ERR_OK;
}

/* Is there a machine of the name that the address begins with? Words where there is none. */
static bool is_known(const char *url, bool tls, struct why *why)
{
    struct addrinfo *found = NULL;
    struct address address;
    const bool known = address_read(url, strcspn(url, ","), tls, &address, NULL) != ERR_OK || !*address.host ||
                       address_find(&address, &found, why) == ERR_OK;

    if (found)
        freeaddrinfo(found);
    return known;
}

/* Why nobody answers: at one address the missing machine is all there is to say, of several it is said as well. */
static enum err check_hosts(const char *urls, bool tls, struct why *why)
{
    const struct why said = *why;
    struct why words;

    for (const char *p = urls; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!is_known(p, tls, &words))
            return strchr(urls, ',') ? why_set(why, ERR_UNREACHABLE, "%.400s; %.400s", said.text, words.text)
                                     : why_set(why, ERR_UNREACHABLE, "%s", words.text);
    return ERR_UNREACHABLE;
}

enum err link_open(struct link *l, const struct cli *c, const char *role, struct why *why)
{
    const char *tracker = cli_text(c, "tracker");
    const struct tls_files tls = {cli_text(c, "ca"), cli_text(c, "cert")}, none = {NULL, NULL};
    struct localfarm_options o = {.interrupted = cmd_interrupted};
    enum err e;

    *l = (struct link){.client = NULL};
    if (tracker && *tracker) {
        e = open_client(l, tracker, cli_text(c, "key-file"), &tls, role, why);
        return e == ERR_UNREACHABLE ? check_hosts(tracker, tls.ca && *tls.ca, why) : e;
    }
    if (!cmd_has(c, "threads")) /* no private farm */
        return why_set(why, ERR_INPUT, "--tracker '': expected an address, e.g. " PROTOCOL_DEFAULT_URL);
    e = check_key_file(cli_text(c, "key-file"), why);
    if (e)
        return e;
    o.device = cmd_device_named(c);
    o.key = cmd_has(c, "key") ? cli_text(c, "key") : NULL;
    o.threads = cli_int(c, "threads");
    if (cmd_has(c, "nvrtc") && cli_text(c, "nvrtc"))
        setenv("TUNE_NVRTC", cli_text(c, "nvrtc"), 1); /* for the agent's children */
    e = localfarm_start(&l->farm, &o, why);
    if (e)
        return e;
    assert(l->farm.tracker > 0 && l->farm.agent > 0);
    l->is_private = true;
    e = open_client(l, l->farm.url, NULL, &none, role, why);
    if (e)
        link_close(l);
    return e;
}

void link_close(struct link *l)
{
    if (!l)
        return;
    if (l->client)
        client_close(l->client);
    l->client = NULL;
    localfarm_end(&l->farm);
}

static bool is_id(const char *word, const char *kinds)
{
    int64_t id;

    return !*kinds || (*word && strchr(kinds, *word) && call_id_parse(word, *word, &id) == ERR_OK);
}

enum err cmd_check_words(const struct cli *c, int least, int most, const char *kinds, struct why *why)
{
    const char *expected = kinds[0] && kinds[1] ? "a job or a lost trial, e.g. j12 or t345" : "a job, e.g. j12";

    if (c->n_rest < least)
        return why_set(why, ERR_INPUT, "expected %s", expected);
    for (int i = 0; i < c->n_rest && i < most; i++)
        if (!is_id(c->rest[i], kinds))
            return why_set(why, ERR_INPUT, "'%.60s': expected %s", c->rest[i], expected);
    return c->n_rest > most ? why_set(why, ERR_INPUT, "stray argument \"%.60s\"", c->rest[most]) : ERR_OK;
}

int cmd_ask(const struct cli *c, int least, int most, const char *kinds,
            enum err (*ask)(struct client *client, const struct cli *c, struct why *why))
{
    struct why why = {""};
    struct link l;
    enum err e = cmd_check_words(c, least, most, kinds, &why);

    if (e)
        return cmd_fail(e, &why);
    cmd_catch_interrupts();
    e = link_open(&l, c, "tune", &why);
    if (!e)
        e = ask(l.client, c, &why);
    link_close(&l);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

/* Another one in each run: no kernel is right because it suits the data. */
static int64_t draw_data_seed(void)
{
    uint32_t word = 0;

    return entropy_fill(NULL, &word, sizeof word) || word == 0 ? 1 : (int64_t)word;
}

void cmd_timing(const struct cli *c, struct job *out)
{
    out->timing.rounds = cli_int(c, "repeat");
    if (out->timing.rounds_near_best < out->timing.rounds)
        out->timing.rounds_near_best = out->timing.rounds;
    out->timing.min_slot_ms = cli_real(c, "min-repeat-ms");
    out->timing.warmup = cli_int(c, "warmup");
    out->data_seed = cli_int(c, "data-seed") ? cli_int(c, "data-seed") : draw_data_seed();
    out->build_s = cli_real(c, "build-timeout");
    out->run_s = cli_real(c, "run-timeout");
}

static bool has_workload(const struct job *j, const char *workload)
{
    for (size_t i = 0; i < j->n_layers; i++)
        if (strcmp(j->layers[i].workload, workload) == 0)
            return true;
    return false;
}

/* One layer in the dtype and layout asked for; where it cannot have them the words tell what is tuned instead. */
static enum err add_layer(struct job *j, const struct network_layer *l, const struct cli *c, bool quiet,
                          struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = network_layer_as(l, cli_text(c, "dtype"), cli_text(c, "layout"), &text, why);
    if (!e && why->text[0] && !quiet)
        fprintf(stderr, "tune: %s: %s %s\n", cli_text(c, "network"), l->name, why->text);
    if (!e)
        e = job_add_layer(j, buf_text(&text), l->name, l->count);
    buf_fini(&text);
    return e;
}

static enum err add_network(struct job *j, const struct cli *c, bool quiet, struct why *why)
{
    const char *name = cli_text(c, "network"), *dtype = cli_text(c, "dtype"), *layout = cli_text(c, "layout");
    const struct network *n;
    char shown[64];
    enum err e = network_find(name, &n, why);

    snprintf(j->network, sizeof j->network, "%s%s%s%s%s", cmd_network_name(c, shown, sizeof shown), dtype ? " " : "",
             dtype ? dtype : "", layout ? " " : "", layout ? layout : "");
    for (size_t i = 0; !e && i < n->n_layers; i++) {
        const struct network_layer *l = &n->layers[i];

        if (l->workload)
            e = add_layer(j, l, c, quiet, why);
        else if (!quiet)
            fprintf(stderr, "tune: %s: %s is left out: %s\n", name, l->name, l->skipped ? l->skipped : "not supported");
    }
    if (!e && j->n_layers == 0)
        e = why_set(why, ERR_INPUT, "network %s has no layer that can be tuned yet", name);
    return e;
}

/* All that a whole network may run: layers with what is fused into them, pools, additions, softmax, transforms. What
 * the job has already is left out. */
static enum err add_whole_graph(struct job *j, const struct graph *g, enum dtype t, unsigned layouts, struct why *why)
{
    struct graph_work work = {.items = NULL};
    enum err e = graph_work_init(&work, g, t, layouts, why);

    for (size_t i = 0; !e && i < work.n; i++)
        if (!has_workload(j, work.items[i].workload))
            e = job_add_layer(j, work.items[i].workload, work.items[i].name, work.items[i].count);
    graph_work_fini(&work);
    return e;
}

static enum err add_whole_network(struct job *j, const struct cli *c, struct why *why)
{
    const char *name = cli_text(c, "network"), *dtype = cli_text(c, "dtype") ? cli_text(c, "dtype") : "f32";
    const int t = dtype_by_name(dtype); /* network_dtype_at: there is one */
    struct graph_range *range = NULL;
    const struct graph *g;
    unsigned layouts;
    char shown[64];
    enum err e = graph_find(name, &g, why);

    assert(t >= 0);
    if (!e)
        e = graph_layouts_named(cli_text(c, "layout"), &layouts, why);
    if (!e && !cli_text(c, "layout"))
        layouts &= ~(1u << IMAGES_NHWC); /* which is for GPUs' own instructions: where it is asked for */
    if (!e)
        e = cmd_range(c, &range, why);
    for (size_t i = range ? range->n_buckets : 0; i-- > 0 && !e;)
        e = add_whole_graph(j, &range->buckets[i].graph, (enum dtype)t, layouts, why);
    if (!e && !range)
        e = add_whole_graph(j, g, (enum dtype)t, layouts, why);
    cmd_range_free(range);
    snprintf(j->network, sizeof j->network, "%s %s whole", cmd_network_name(c, shown, sizeof shown), dtype);
    return e;
}

enum err cmd_workload(const char *text, struct workload *out, struct why *why)
{
    struct buf named;
    enum err e;

    buf_init(&named, WORKLOAD_MAX_TEXT);
    e = weights_import(text, &named, why);
    if (!e)
        e = workload_parse(buf_text(&named), out, why);
    else if (e == ERR_LIMIT && named.failed)
        e = why_set(why, e, "workload: longer than %d characters", WORKLOAD_MAX_TEXT - 1);
    buf_fini(&named);
    return e;
}

enum err cmd_add_workload(struct job *j, const char *text, struct why *why)
{
    struct workload w;
    struct buf canonical;
    enum err e = cmd_workload(text, &w, why);

    buf_init(&canonical, WORKLOAD_MAX_TEXT);
    if (!e)
        e = workload_text(&w, &canonical);
    if (!e && has_workload(j, buf_text(&canonical)))
        e = why_set(why, ERR_INPUT, "%s is given twice", text);
    if (!e)
        e = job_add_layer(j, buf_text(&canonical), "", 1);
    buf_fini(&canonical);
    return e;
}

static enum err copy(const struct cli *c, const char *option, char *out, size_t n_out, struct why *why)
{
    const char *text = cli_text(c, option);

    if (!text)
        return ERR_OK;
    if (strlen(text) >= n_out)
        return why_set(why, ERR_INPUT, "--%s is longer than %zu bytes", option, n_out - 1);
    snprintf(out, n_out, "%s", text);
    return ERR_OK;
}

static enum err add_work(const struct cli *c, struct job *j, struct why *why)
{
    const char *network = cli_text(c, "network"), *device = cmd_has(c, "device") ? cli_text(c, "device") : NULL;
    const char *spec = cli_text(c, "kernel-spec");
    enum err e = ERR_OK;

    if (spec && (c->n_rest || network || cli_text(c, "template") || (device && strncmp(device, "replay:", 7) == 0)))
        return why_set(why, ERR_INPUT,
                       "--kernel-spec brings its own kernel: no workload, --network, --template or replay");
    if (spec)
        return cmd_kernel_spec(c, spec, j, why);
    if (device && strncmp(device, "replay:", 7) == 0) {
        if (c->n_rest || network)
            return why_set(why, ERR_INPUT, "a replay device brings its own work: no workload, no --network");
        static_assert(sizeof j->replay >= PATH_MAX, "what realpath writes");
        if (!realpath(device + 7, j->replay))
            return why_set(why, ERR_INPUT, "%s cannot be read: %s", device + 7, strerror(errno));
        return ERR_OK;
    }
    if (network && c->n_rest)
        return why_set(why, ERR_INPUT, "either workloads or --network, not both");
    e = cmd_network(c, why);
    if (e)
        return e;
    if (cli_flag(c, "whole"))
        return network ? add_whole_network(j, c, why) : why_set(why, ERR_INPUT, "--whole is for --network");
    if (network)
        return add_network(j, c, cmd_has(c, "quiet") && cli_flag(c, "quiet"), why);
    if (cli_text(c, "dtype") || cli_text(c, "layout"))
        return why_set(why, ERR_INPUT, "--dtype and --layout are for --network; a workload names its own");
    if (c->n_rest == 0)
        return why_set(why, ERR_INPUT, "no workload: expected e.g. \"dense f32 m=64 n=2048 k=512\", or --network NAME");
    for (int i = 0; i < c->n_rest && !e; i++)
        e = cmd_add_workload(j, c->rest[i], why);
    return e;
}

/* The command of a searcher of one's own stays here: a tracker is not told what to run. */
static enum err set_strategy(const struct cli *c, struct job *j, struct why *why)
{
    const char *name = cli_text(c, "strategy"), *command = strategy_command(name);
    const struct strategy_ops *ops;
    enum err e = strategy_named(name, &ops, why);

    if (e)
        return e;
    snprintf(j->strategy, sizeof j->strategy, "%s", command ? ops->name : name);
    if (command && !(j->command = strdup(command)))
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (!command && strcmp(name, "exec") == 0)
        e = why_set(why, ERR_INPUT, "--strategy exec: expected exec:COMMAND, what a shell runs");
    return e;
}

enum err cmd_job(const struct cli *c, struct job *out, struct why *why)
{
    struct job j;
    enum err e;

    job_init(&j);
    e = copy(c, "key", j.key, sizeof j.key, why);
    if (!e)
        e = copy(c, "template", j.templates, sizeof j.templates, why);
    if (!e)
        e = set_strategy(c, &j, why);
    if (!e && strcmp(cli_text(c, "objective"), "time") != 0)
        e = copy(c, "objective", j.objective, sizeof j.objective, why);
    j.plain = strcmp(cli_text(c, "exactness"), "plain") == 0;
    if (!e)
        e = add_work(c, &j, why);
    if (!e && (!j.spec || cli_get(c, "trials")->given))
        e = job_set_trials(&j, cli_text(c, "trials"), why);
    if (!e && j.n_layers)
        e = task_check_job(&j, why);
    if (!e && cli_text(c, "target"))
        e = stop_parse_target(cli_text(c, "target"), &j.target_gflops, &j.target_ns, why);
    if (!e && cli_text(c, "min-gain"))
        e = stop_parse_gain(cli_text(c, "min-gain"), &j.min_gain, why);
    if (!j.spec || cli_get(c, "time")->given)
        j.time_s = cli_real(c, "time");
    j.early_stopping = cli_int(c, "patience");
    j.seed = cli_int(c, "seed");
    cmd_timing(c, &j);
    if (e)
        job_fini(&j);
    else
        *out = j;
    return e;
}

/* Short, for lists. */
static void title_of(const struct job *j, char *out, size_t n_out)
{
    if (j->network[0])
        snprintf(out, n_out, "%s", j->network);
    else if (j->replay[0])
        snprintf(out, n_out, "replay %.150s", strrchr(j->replay, '/') ? strrchr(j->replay, '/') + 1 : j->replay);
    else
        snprintf(out, n_out, "%s%s", j->n_layers ? j->layers[0].workload : "", j->n_layers > 1 ? " ..." : "");
}

/* $USER or, where a service or cron has none, the name of the account. */
static const char *user_name(void)
{
    const char *user = getenv("USER");
    const struct passwd *account = user && *user ? NULL : getpwuid(getuid());

    return account ? account->pw_name : user ? user : "";
}

enum err cmd_submit_job(struct client *c, const struct job *j, int64_t priority, bool lease, char job_id[40],
                        int64_t *token, struct why *why)
{
    char title[200];
    struct job_submit_args args = {
        .title = title, .user = user_name(), .key = j->key, .priority = priority, .lease = lease};
    struct job_submit_result result = {.job = ""};
    cJSON *tree = NULL;
    struct buf body;
    enum err e;

    assert(!lease || token);
    buf_init(&body, (size_t)2 << 20);
    title_of(j, title, sizeof title);
    e = job_text(j, &body);
    args.body = buf_text(&body);
    if (e)
        why_set(why, e, "%s", err_words(e));
    if (!e && j->key[0])
        e = client_settle_key(c, j->key, why);
    if (!e && j->spec_files.n)
        e = client_put_blobs(c, &j->spec_files, why); /* before anybody leases the job */
    if (!e)
        e = client_job_submit(c, &args, &result, &tree, why);
    if (!e) {
        *token = result.token;
        snprintf(job_id, 40, "%s", result.job);
    }
    cJSON_Delete(tree);
    buf_fini(&body);
    return e;
}

void cmd_end_job(struct client *c, const char *job_id, int64_t token, const char *state)
{
    const struct job_done_args args = {.job = job_id, .token = token, .state = state, .summary = cJSON_CreateObject()};

    client_job_done(c, &args, NULL, NULL, NULL);
}

void cmd_log_warning(const char *path, int64_t i_line, const char *words, void *arg)
{
    static int n_told;

    (void)arg;
    if (n_told < MAX_LOG_WARNINGS)
        fprintf(stderr, "tune: %s:%lld: %s (line skipped)\n", path, (long long)i_line, words);
    else if (n_told == MAX_LOG_WARNINGS)
        fprintf(stderr, "tune: %s:%lld: skipped too; further lines are skipped without a word\n", path,
                (long long)i_line);
    n_told += n_told <= MAX_LOG_WARNINGS;
}

static void print_results(struct session *s, struct progress *p, enum session_end end, bool wrote_best)
{
    const struct joblog *log = s->o.log;
    /* NULL: there is no such file */
    const char *lines = log && log->seen.n ? log->path : NULL;
    const char *best = wrote_best && log && best_n(log->best) ? log->best_path : NULL;
    struct buf text;

    assert(end == SESSION_DONE || end == SESSION_INTERRUPTED || end == SESSION_CANCELLED || end == SESSION_LEASE_LOST);
    if (p->mode == PROGRESS_JSON) {
        cJSON *o = cJSON_CreateObject();
        bool ok = o != NULL;

        json_add_text(o, "job", s->o.job_id, &ok);
        json_add_text(o, "end",
                      end == SESSION_DONE          ? "done"
                      : end == SESSION_INTERRUPTED ? "interrupted"
                                                   : "cancelled",
                      &ok);
        json_add_item(o, "tasks", table_json(s->tasks, s->n_tasks), &ok);
        progress_event(p, "done", o);
        return;
    }
    buf_init(&text, (size_t)4 << 20);
    table_print(s->o.job, s->tasks, s->n_tasks, lines, best, &text);
    fputs(buf_text(&text), log && log->is_stdout ? stderr : stdout);
    buf_fini(&text);
}

static void explain(const struct session *s)
{
    struct buf text;

    buf_init(&text, (size_t)1 << 20);
    failures_explain(&s->failures, &text);
    fprintf(stderr, "tune: no valid config was found\n%s", buf_text(&text));
    buf_fini(&text);
}

/* What ran over a limit although others did not, the baseline for one. */
static void note_limits(const struct session *s, struct progress *p)
{
    struct buf text;

    buf_init(&text, 4096);
    failures_remedies(&s->failures, &text);
    if (text.len)
        progress_note(p, "%lld over a limit of time: %.*s", (long long)s->failures.by_status[STATUS_TIMEOUT],
                      (int)text.len - 1, buf_text(&text));
    buf_fini(&text);
}

int cmd_drive(struct session *s, struct progress *p, const char *interrupted_state)
{
    enum session_end end = SESSION_DONE;
    struct why why = {""};
    enum err e = session_run(s, &end, &why), e_best;

    if (!e && end == SESSION_INTERRUPTED)
        session_drain(s);
    e_best = session_write_best(s, e ? NULL : &why);             /* however it ended: it agrees with its log */
    if (!e || (session_has_best(s) && p->mode != PROGRESS_JSON)) /* what was measured is told, full disk or not */
        print_results(s, p, end, !e_best);
    if (e)
        return cmd_fail(e, &why);
    if (session_has_best(s))
        note_limits(s, p);
    if (end == SESSION_LEASE_LOST) {
        fprintf(stderr, "tune: the job's lease went to another; tune attach %s follows it\n", s->o.job_id);
        return EXIT_INTERRUPTED;
    }
    if (end == SESSION_DONE)
        session_close(s, session_has_best(s) ? "done" : "failed", NULL);
    else
        session_close(s, end == SESSION_CANCELLED ? "cancelled" : interrupted_state, NULL);
    if (e_best)
        return cmd_fail(e_best, &why);
    if (end == SESSION_CANCELLED) {
        fprintf(stderr, "tune: the job %s was cancelled; the same command with the same log goes on from here\n",
                s->o.job_id);
        return EXIT_USAGE;
    }
    if (end == SESSION_INTERRUPTED) {
        fputs("tune: interrupted; the same command with the same log goes on from here\n", stderr);
        return EXIT_INTERRUPTED;
    }
    if (session_has_best(s))
        return EXIT_FINE;
    explain(s);
    return EXIT_NO_CONFIG;
}
