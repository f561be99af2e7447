/* SPDX-License-Identifier: MIT */
/* main.c - tune-tracker: the farm's one host. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/command.h"
#include "core/err.h"
#include "core/file.h"
#include "core/proc.h"
#include "tracker/address.h"
#include "tracker/http.h"
#include "tracker/revoked.h"
#include "tracker/server.h"
#include "tracker/vault.h"
#include "tracker/workers.h"

#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct cli_option options[] = {
    CLI_OPTION("listen", CLI_TEXT, .letter = 'l', .argument = "URL", .otherwise = PROTOCOL_DEFAULT_URL,
               .help = "address to listen on, tls+tcp:// with --cert; port 0 = any free one"),
    CLI_OPTION("cert", CLI_TEXT, .argument = "FILE",
               .help = "of tls+tcp://: the tracker's certificate and private key, from `tune keygen --ca`"),
    CLI_OPTION("ca", CLI_TEXT, .argument = "FILE",
               .help = "of tls+tcp://: let only those in who show a certificate of this authority"),
    CLI_OPTION("url-file", CLI_TEXT, .argument = "FILE",
               .help = "when it listens, write the address it got to FILE, by rename"),
    CLI_OPTION(
        "store", CLI_TEXT, .letter = 's', .argument = "DIR", .otherwise = "tune-store",
        .help = "directory of jobs, trials, records and blobs; another kind of store: postgres://USER@HOST/DATABASE"),
    CLI_OPTION("blobs", CLI_TEXT, .argument = "URL",
               .help =
                   "s3://BUCKET/PREFIX: where large blobs go that nobody asked for in a while, until somebody does; "
                   "none = go on without those that are there"),
    CLI_OPTION("blobs-after", CLI_DURATION, .argument = "TIME", .otherwise = "2d", .min = 0.1, .max = 36500 * 86400.0,
               .help = "of --blobs: how long that while is; uses are noted by the day"),
    CLI_OPTION("standby", CLI_FLAG, .help = "while another tracker has the store or its server is away, wait for it"),
    CLI_OPTION("parts", CLI_INT, .argument = "N", .otherwise = "1", .min = 1, .max = PARTS_MOST,
               .help =
                   "of a PostgreSQL store: a farm in N parts by device key, of which N trackers have one each; this "
                   "one any that is free"),
    CLI_OPTION("key-file", CLI_TEXT, .letter = 'k', .alias = "key", .argument = "FILE", .environment = "TUNE_KEY_FILE",
               .help = "key that every peer must know (see `tune keygen`)"),
    CLI_OPTION("revoked", CLI_TEXT, .argument = "FILE",
               .help =
                   "keys that were taken back: ROLE:NAME, e.g. user:alice, on a line each; read again when it changes"),
    CLI_OPTION("insecure", CLI_FLAG, .help = "listen beyond this machine without a key"),
    CLI_OPTION("workers", CLI_INT, .letter = 'w', .argument = "N", .otherwise = "64", .max = MAX_WORKERS,
               .help = "submitted jobs that `tune work` drives side by side here; 0 = it is not started"),
    CLI_OPTION("user-jobs", CLI_INT, .argument = "N", .otherwise = "0", .max = 1000000,
               .help = "open jobs that one user may have; 0 = any number"),
    CLI_OPTION("lease", CLI_DURATION, .argument = "TIME", .otherwise = "30s", .min = 0.1, .max = 3600,
               .help = "how long a lease lives without renewal"),
    CLI_OPTION("http", CLI_TEXT, .argument = "ADDR:PORT",
               .help = "serve the page, its JSON, /metrics and /healthz there"),
    CLI_OPTION("http-name", CLI_TEXT, .argument = "NAME",
               .help = "a name by which browsers reach the page, beside addresses and this host's name"),
    CLI_OPTION("retention", CLI_INT, .argument = "DAYS", .otherwise = "0", .max = 36500,
               .help = "forget jobs that ended longer ago; 0 = never"),
    CLI_OPTION("allow-backup", CLI_FLAG, .help = "let peers ask for a backup to a path of this host"),
    CLI_OPTION("backup", CLI_TEXT, .argument = "FILE",
               .help = "copy the store to FILE, also while a tracker uses it, and exit"),
    CLI_OPTION("version", CLI_FLAG, .help = "print the version and leave"),
    CLI_END,
};

static const struct command_section sections[] = {
    {.title = "signals",
     .text = "SIGTERM and SIGINT end it after what was accepted is "
             "stored. SIGHUP has the file of --revoked read again. Killed and started again it goes on: leases have "
             "one period of grace."},
    {.title = NULL}};

static const struct command program = {
    .name = "tune-tracker",
    .summary = "keep tuning jobs and their records, and lend trials to agents",
    .usage = "[options]",
    .example = "tune-tracker --listen tcp://0.0.0.0:9477 --key-file farm.key --store /var/lib/tune",
    .about = "One tracker serves a farm: it stores jobs, lends trials to the agents with leases, stores each record "
             "once, and "
             "answers tune(1). It listens on the loopback address unless a key file is given, and prints the address "
             "that it "
             "got.",
    .options = options,
    .sections = sections,
    .section = 8,
    .see_also = "tune(1), tune-agent(8)",
};

static int complain(const struct why *why, int code)
{
    fprintf(stderr, "tune-tracker: %s\n", why->text);
    return code;
}

static bool is_loopback(const char *url)
{
    static const char *const near[] = {"tcp://127.", "tcp://localhost:", "tcp://[::1]:", "tcp4://127.",
                                       "tcp6://[::1]:"};

    url += tls_wanted(url) ? 4 : 0;
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (strncmp(url, near[i], strlen(near[i])) == 0)
            return true;
    return false;
}

/* The page has no TLS: beyond this machine a token is asked for, and what that is worth is said. */
static enum err check_page(const struct cli *c, struct why *why)
{
    const char *where = cli_text(c, "http");
    char url[100];

    snprintf(url, sizeof url, "tcp://%.80s", where ? where : "localhost:0");
    if (is_loopback(url) || !strrchr(url + 6, ':')) /* what is no address is told when it is opened */
        return ERR_OK;
    if (!cli_text(c, "key-file") && !cli_flag(c, "insecure"))
        return why_set(why, ERR_AUTH,
                       "--http %.80s is reachable by others, and without --key-file it asks for no token: expected an "
                       "address of this machine, --key-file FILE, or --insecure",
                       where);
    fprintf(stderr,
            "tune-tracker: --http %.80s serves the page without TLS to other machines: who hears the line reads it%s; "
            "leave it on 127.0.0.1 behind a proxy with TLS\n",
            where, cli_text(c, "key-file") ? " and its token" : "");
    return ERR_OK;
}

static enum err load_key(const struct cli *c, struct key *key, struct revoked *r, struct tracker_options *o,
                         struct why *why)
{
    const char *file = cli_text(c, "key-file");
    enum err e;

    if (!address_has_scheme(cli_text(c, "listen")))
        return why_set(why, ERR_INPUT, "'%s' is no address: expected e.g. %s", cli_text(c, "listen"),
                       PROTOCOL_DEFAULT_URL);
    if (!file && !is_loopback(cli_text(c, "listen")) && !cli_flag(c, "insecure"))
        return why_set(why, ERR_AUTH,
                       "%s is reachable by others: give --key-file FILE (`tune keygen` makes one), or --insecure",
                       cli_text(c, "listen"));
    if (!file)
        return cli_text(c, "revoked") ? why_set(why, ERR_INPUT, "--revoked is of keys: expected --key-file, too")
                                      : ERR_OK;
    e = key_load(file, key, why);
    if (!e)
        e = revoked_open(r, cli_text(c, "revoked"), why);
    o->revoked = buf_text(&r->list);
    if (!e && key->identity[0])
        e = why_set(why, ERR_AUTH, "%s is %s's key: a tracker wants the farm's own", file, key->identity);
    if (!e)
        o->key = key;
    return e;
}

static enum err open_once(struct tracker_options *o, struct why *why)
{
    if (o->n_parts == 1)
        return o->ops->open(o->where, o->clock, &o->store, why);
    return o->ops->open_part
               ? o->ops->open_part(o->where, o->n_parts, o->clock, &o->part, &o->store, why)
               : why_set(why, ERR_INPUT, "--parts %lld: expected a store on a PostgreSQL server, --store postgres://..",
                         (long long)o->n_parts);
}

/* A standby waits until the store is free; ERR_CANCELLED by a signal. */
static enum err open_store(const struct cli *c, struct tracker_options *o, const sigset_t *signals, struct why *why)
{
    const struct timespec nap = {0, 250000000};
    struct why said = {""};
    enum err e;
    int got;

    while ((e = open_once(o, why)) != ERR_OK && cli_flag(c, "standby") && (e == ERR_BUSY || e == ERR_UNREACHABLE)) {
        if (strcmp(said.text, why->text) != 0)
            printf("standing by: %s\n", why->text);
        fflush(stdout);
        said = *why;
        got = sigtimedwait(signals, NULL, &nap);
        if (got > 0 && got != SIGHUP)
            return ERR_CANCELLED;
    }
    return e;
}

static enum err open_vault(const struct cli *c, struct tracker_options *o, struct why *why)
{
    const char *url = cli_text(c, "blobs");

    return url && strcmp(url, "none") != 0
               ? vault_open(
                     &(struct vault_options){.url = url, .after_ms = (int64_t)(cli_real(c, "blobs-after") * 1000)},
                     &o->vault, why)
               : ERR_OK;
}

/* Blobs of an S3 store that is not named would be missed one by one. */
static enum err check_vault(const struct cli *c, const struct tracker_options *o, struct why *why)
{
    int64_t n = 0, n_bytes = 0;
    const enum err e = o->vault ? ERR_OK : o->ops->away_sum(o->store, &n, &n_bytes);

    if (e || !n)
        return e;
    if (!cli_text(c, "blobs"))
        return why_set(why, ERR_INPUT,
                       "%lld blobs of this store (%lld bytes) lie in an S3 store: expected --blobs s3://BUCKET/PREFIX, "
                       "or --blobs none to go on without them",
                       (long long)n, (long long)n_bytes);
    fprintf(stderr, "tune-tracker: goes on without %lld blobs (%lld bytes), which lie in an S3 store\n", (long long)n,
            (long long)n_bytes);
    return ERR_OK;
}

/* Opens everything; prints the addresses when all is ready. */
static enum err start(const struct cli *c, struct tracker_options *o, struct server **s, struct workers *w,
                      struct why *why)
{
    const struct tls_files tls = {cli_text(c, "ca"), cli_text(c, "cert")};
    const int n_workers = (int)cli_int(c, "workers");
    struct http *h = NULL;
    struct tracker *t;
    enum err e = tracker_new(o, &t, why);

    if (!e)
        e = server_start(t, cli_text(c, "listen"), &tls, n_workers > 0, s, why);
    if (!e && cli_text(c, "http"))
        e = http_start(*s, cli_text(c, "http"), cli_text(c, "http-name"), &h, why);
    if (!e)
        e = workers_init(w, n_workers, server_near_url(*s), o->n_parts > 1 ? o->part : 0, o->key, o->clock, why);
    if (!e && cli_text(c, "url-file"))
        e = file_replace(cli_text(c, "url-file"), server_url(*s), strlen(server_url(*s)), 0644, why);
    if (e)
        return e;
    printf("listening on %s\n", server_url(*s));
    if (o->n_parts > 1)
        printf("part %lld of %lld\n", (long long)o->part, (long long)o->n_parts);
    if (h)
        printf("status page at %s\n", http_url(h));
    fflush(stdout);
    return ERR_OK;
}

static void tell_refused(const char *line, void *arg)
{
    (void)arg;
    fprintf(stderr, "tune-tracker: %s\n", line);
}

struct revision {
    const char *list;
    int n_ended;
};

static enum err revise(struct tracker *t, void *arg)
{
    struct revision *r = arg;

    r->n_ended = sessions_revoke(t, r->list);
    return ERR_OK;
}

/* A list that cannot be read changes nothing, and is told once. */
static void look_after_revoked(struct revoked *r, struct server *s, bool must)
{
    struct revision revision;
    struct why why = {""};
    struct buf old;
    bool changed;
    enum err e = ERR_OK;

    buf_init(&old, REVOKED_BYTES);
    if (revoked_again(r, must, &old, &changed, &why) != ERR_OK)
        fprintf(stderr, "tune-tracker: %s: the list as it was is in force\n", why.text);
    revision = (struct revision){.list = buf_text(&r->list)};
    while (changed && (e = server_do(s, revise, &revision)) == ERR_BUSY && !server_failed(s, NULL))
        clock_sleep_ms(10);
    if (e) /* the tracker is at its end: its threads may look at `old` until then */
        return;
    if (changed)
        fprintf(stderr, "tune-tracker: %s was read again; %d sessions ended\n", r->path, revision.n_ended);
    buf_fini(&old);
}

/* Until a signal ends it or the store fails. The signal, or 0. */
static int serve(struct server *s, struct workers *w, struct revoked *r, const sigset_t *signals)
{
    const struct timespec nap = {0, 100000000};
    int got = 0;

    while ((got <= 0 || got == SIGHUP) && !server_failed(s, NULL)) {
        workers_tick(w);
        look_after_revoked(r, s, got == SIGHUP);
        got = sigtimedwait(signals, NULL, &nap);
    }
    return got > 0 && got != SIGHUP ? got : 0;
}

/* With a list of revoked keys SIGHUP means to read it; else it ends the tracker as ever. */
static void take_hangups(sigset_t *signals)
{
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

static int run(const struct cli *c, sigset_t *signals)
{
    struct tracker_options o = {.where = NULL};
    static struct revoked revoked; /* for as long as the tracker runs, as all of these */
    static struct workers w;
    struct why why = {""};
    struct server *s;
    struct key key;
    int got;
    enum err e;

    if (cli_text(c, "revoked"))
        take_hangups(signals);
    o.lease_ms = (int64_t)(cli_real(c, "lease") * 1000);
    o.retention_days = cli_int(c, "retention");
    o.max_user_jobs = cli_int(c, "user-jobs");
    o.part = 1;
    o.n_parts = cli_int(c, "parts");
    o.allow_backup = cli_flag(c, "allow-backup");
    o.audit = tell_refused;
    if (store_parse(cli_text(c, "store"), &o.ops, &o.where, &why) != ERR_OK ||
        load_key(c, &key, &revoked, &o, &why) != ERR_OK || check_page(c, &why) != ERR_OK ||
        open_vault(c, &o, &why) != ERR_OK)
        return complain(&why, 1);
    e = open_store(c, &o, signals, &why);
    if (e == ERR_CANCELLED)
        return 0;
    if (e || check_vault(c, &o, &why) != ERR_OK || start(c, &o, &s, &w, &why) != ERR_OK)
        return complain(&why, 1);
    got = serve(s, &w, &revoked, signals);
    workers_stop(&w);
    if (!got && server_failed(s, &why))
        return complain(&why, 1);
    server_stop(s);
    if (server_failed(s, &why))
        return complain(&why, 1);
    o.ops->close(o.store);
    return 0;
}

static int make_backup(const struct cli *c)
{
    const char *where;
    const struct store_ops *ops;
    struct why why = {""};
    int64_t n_bytes;

    if (store_parse(cli_text(c, "store"), &ops, &where, &why) != ERR_OK ||
        ops->backup(where, cli_text(c, "backup"), &n_bytes, &why) != ERR_OK)
        return complain(&why, 1);
    printf("%s: %lld bytes\n", cli_text(c, "backup"), (long long)n_bytes);
    return 0;
}

/* What is said without running: help, version, what is wrong with the command line. */
static int say_only(const struct cli *c, struct why *why)
{
    struct buf help;
    int code;

    if (cli_flag(c, "version"))
        return printf("tune-tracker %s (wire %d)\n", TUNE_VERSION, PROTOCOL_VERSION) < 0;
    if (!c->help) {
        why_set(why, ERR_INPUT, "unexpected argument '%s': tune-tracker takes only options (see --help)", c->rest[0]);
        return complain(why, 1);
    }
    buf_init(&help, 65536);
    command_help(&program, &program, &help);
    code = fputs(buf_text(&help), stdout) < 0;
    buf_fini(&help);
    return code;
}

int main(int argc, char **argv)
{
    struct why why = {""};
    sigset_t signals;
    struct cli c;
    int code;

    proc_keep_standard_fds();
    proc_let_writes_fail();
    proc_want_path();
    mallopt(M_MMAP_THRESHOLD, 256 << 10); /* else what large messages took stays with the process */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread starts */
    signal(SIGPIPE, SIG_IGN);
    if (command_answers(&program, argc, argv, stdout, stderr, &code))
        return command_finish(&program, stdout, stderr, code);
    if (cli_parse(&c, options, argc, argv, &why) != ERR_OK)
        code = complain(&why, 1);
    else if (c.help || cli_flag(&c, "version") || c.n_rest)
        code = say_only(&c, &why);
    else if (cli_text(&c, "backup"))
        code = make_backup(&c);
    else
        code = run(&c, &signals);
    cli_fini(&c);
    _exit(command_finish(&program, stdout, stderr, code)); /* nng 1.5 may deadlock when closed */
}
