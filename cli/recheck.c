/* SPDX-License-Identifier: MIT */
/* recheck.c - `tune recheck`: measures a best log again beside its runners-up and names what no longer wins. */
#include "cli/cmd.h"

#include "kernels/template.h"
#include "logs/compare.h"
#include "tuner/measure.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNNERS_UP 3

static const struct cli_option options[] = {
    OPT_LINK,
    OPT_KEY,
    OPT_TIMING,
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE", .help = "append the new records to this log"),
    OPT_KERNEL_SPEC,
    OPT_KERNEL_DIR,
    CLI_END,
};

/* One workload of the best log, its task, and what was measured now. */
struct checked {
    struct task task;
    const struct measured *list[RUNNERS_UP + 1]; /* the best first */
    struct measured now[RUNNERS_UP + 1];
    size_t n;
};

struct recheck {
    const struct cli *cli;
    struct link *link;
    struct job job;
    struct job own; /* of --kernel-spec: a person's kernel; no spec in it: none */
    struct device_choice device;
    struct best_set *best;
    struct checked *now; /* the one being measured */
    size_t n_ok, n_beaten, n_broken, n_skipped, n_drifted;
};

static bool add_best(const struct record *r, const char *line, size_t n, void *arg)
{
    struct recheck *k = arg;

    (void)line;
    (void)n;
    return best_add(k->best, r) == ERR_OK;
}

static bool add_runner(const struct record *r, const char *line, size_t n, void *arg)
{
    struct task *t = arg;

    (void)line;
    (void)n;
    return task_take(t, r, ORIGIN_WARM) == ERR_OK;
}

/* "x.best.jsonl" -> "x.jsonl"; false when the name has no such form. */
static bool full_log_of(const char *path, char *out, size_t n_out)
{
    static const char end[] = ".best.jsonl";
    const size_t n = strlen(path), n_end = sizeof end - 1;

    if (n <= n_end || strcmp(path + n - n_end, end) != 0)
        return false;
    return snprintf(out, n_out, "%.*s.jsonl", (int)(n - n_end), path) < (int)n_out;
}

static enum err note(int64_t n, const struct record *r, const char *line, void *arg, struct why *why)
{
    struct recheck *k = arg;
    const char *path = cli_text(k->cli, "output");
    struct measured *m;

    assert(n >= 0 && (size_t)n < k->now->n); /* measure_trials */
    m = &k->now->now[n];
    if (record_copy(&m->record, r))
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    m->value = r->status == STATUS_OK ? (isfinite(r->lnratio) ? r->lnratio : log(r->time_ns)) : NAN;
    return path ? log_append_line(path, line, strlen(line), why) : ERR_OK;
}

/* What is to be confirmed is also what all, itself included, are timed against. */
static enum err anchor_on_best(struct checked *c, struct why *why)
{
    struct sha256 hash;
    struct program p;
    struct blobs blobs;
    enum err e;

    blobs_init(&blobs, (size_t)1 << 30);
    e = task_program(&c->task, c->list[0]->i_arm, &c->list[0]->config, &p, &blobs, why);
    if (!e) {
        e = program_hash(&p, &hash);
        program_fini(&p);
    }
    blobs_fini(&blobs);
    if (!e)
        anchor_first(&c->task.anchor, &hash, c->list[0]->record.time_ns);
    return e;
}

static enum err measure(struct recheck *k, struct checked *c, struct why *why)
{
    struct measure_options o = {
        .client = k->link->client, .interrupted = cmd_interrupted, .check = link_check, .arg = k->link};
    struct trial_batch b;
    char id[40];
    enum err e = trial_batch_init(&b, &k->job, &k->device);

    b.is_told = true;
    if (!e)
        e = anchor_on_best(c, why);
    for (size_t i = 0; i < c->n && !e; i++)
        e = trial_batch_add(&b, &c->task, TRIAL_FINAL, c->list[i]->i_arm, &c->list[i]->config, "user", (int64_t)i, NULL,
                            why);
    if (!e)
        e = cmd_submit_job(k->link->client, &k->job, 0, true, id, &o.token, why);
    o.job_id = id;
    if (!e) {
        k->now = c;
        e = measure_trials(&o, &b, note, k, why);
        cmd_end_job(k->link->client, id, o.token, e ? "cancelled" : "done");
    }
    trial_batch_fini(&b);
    return e;
}

/* The same program took another time than then, by more than its slots and the places of its buffers explain: 5.7 %. */
static bool tell_drift(const struct record *was, const struct record *now)
{
    const double slots = hypot(fmax(now->se, 0), fmax(was->se, 0)); /* fmax takes what is known of NAN and 0 */
    const double margin = 2 * hypot(slots, sqrt(2) * RUN_ERROR_FLOOR.ratio), slower = now->time_ns / was->time_ns;

    if (fabs(log(slower)) < margin)
        return false;
    printf("; drift: %.1f %% %s than then", 100 * fabs(slower - 1), slower > 1 ? "slower" : "faster");
    if (task_peak_gflops(was) > 0 && task_peak_gflops(now) > 0)
        printf(" (FMA peak beside it %.4g GFLOPS, then %.4g)", task_peak_gflops(now), task_peak_gflops(was));
    return true;
}

/* "conv2d/direct_tile"; of a person's own kernel its config. */
static void put_name(const struct checked *c, const struct measured *m, struct buf *out)
{
    const struct arm *a = &c->task.arms[m->i_arm];

    if (a->id[0] || space_config_text(a->space, &m->config, out))
        buf_puts(out, a->id);
}

/* Is the fastest of the others faster than the best, which all were timed against? */
static void judge_winner(struct recheck *k, const struct checked *c)
{
    const struct run_error error = RUN_ERROR_FLOOR;
    const struct measured *best = &c->now[0], *winner = best;
    struct comparison x = {.gain = 0};

    for (size_t i = 1; i < c->n; i++)
        if (!isnan(c->now[i].value) && c->now[i].value < winner->value)
            winner = &c->now[i];
    assert(!isnan(best->value)); /* judge */
    if (winner != best)
        x = compare_records(&winner->record, &c->list[0]->record, &error);
    if (winner != best && !comparison_ties(&x)) {
        struct buf name;

        buf_init(&name, 4096);
        put_name(c, c->list[winner - c->now], &name);
        printf("; no longer wins: a runner-up (%s) takes %.4g ms, %.3f times as fast (%.3f to %.3f)\n", buf_text(&name),
               winner->record.time_ns / 1e6, exp(x.gain), exp(x.gain - comparison_margin(&x)),
               exp(x.gain + comparison_margin(&x)));
        buf_fini(&name);
        k->n_beaten++;
    } else {
        printf("; still the best\n");
        k->n_ok++;
    }
}

static void judge(struct recheck *k, const struct checked *c)
{
    const struct record *was = &c->list[0]->record, *now = &c->now[0].record;

    struct buf name;

    buf_init(&name, 4096);
    put_name(c, c->list[0], &name);
    printf("%s\n  %s: was %.4g ms, now ", c->task.text, buf_text(&name), was->time_ns / 1e6);
    buf_fini(&name);
    if (isnan(c->now[0].value)) {
        printf("%s: %s\n", status_name(now->status), now->why ? now->why : "");
        k->n_broken++;
        return;
    }
    printf("%.4g ms", now->time_ns / 1e6);
    k->n_drifted += tell_drift(was, now);
    judge_winner(k, c);
}

/* A workload that no template computes, and no job file that was given. */
static enum err check_workload(const struct job *own, const char *workload, struct why *why)
{
    if (own->spec && strcmp(own->layers[0].workload, workload) == 0)
        return ERR_OK;
    if (strncmp(workload, "replay ", 7) == 0)
        return why_set(why, ERR_NOT_FOUND,
                       "it is of a recorded space, which `tune replay` answers from; there is "
                       "nothing to measure again");
    if (strncmp(workload, "kernel ", 7) == 0)
        return why_set(why, ERR_NOT_FOUND, "it is of a kernel of somebody's own%s",
                       own->spec ? ", not of the job file's" : ": name its job file with --kernel-spec");
    return ERR_OK;
}

/* Why task_take left a record out. */
static enum err tell_unknown(const struct task *t, const struct record *r, struct why *why)
{
    const struct arm *a = NULL;
    struct config c;

    for (size_t i = 0; i < t->n_arms; i++)
        if (strcmp(t->arms[i].id, r->template_id) == 0)
            a = &t->arms[i];
    if (!task_has_device(t, &r->fingerprint))
        return why_set(
            why, ERR_NOT_FOUND, "it was measured on another device (key %s, fingerprint %.12s; this one %.12s)",
            r->key[0] ? r->key : "none", r->fingerprint.hex[0] ? r->fingerprint.hex : "none", t->fingerprint.hex);
    if (!a && template_find(r->template_id))
        return why_set(why, ERR_NOT_FOUND, "template %s does not fit it on this device", r->template_id);
    if (!a)
        return why_set(why, ERR_NOT_FOUND, "this tune has no template '%s'", r->template_id);
    if (a->version != r->template_version)
        return why_set(why, ERR_NOT_FOUND, "template %s is of version %d now, the record of version %lld", a->id,
                       a->version, (long long)r->template_version);
    if (space_config_from_json(a->space, r->knobs, &c, why))
        return why_prefix(why, ERR_NOT_FOUND, "its knobs are no config of %s", a->id);
    if (r->objective[0])
        return why_set(why, ERR_NOT_FOUND, "it was searched for %s, not for time", r->objective);
    return why_set(why, ERR_NOT_FOUND, "tune writes this workload '%s'", t->text);
}

/* The task of one best record with its runners-up; ERR_NOT_FOUND when this tune cannot make it any more. */
static enum err prepare(struct recheck *k, const struct record *r, const char *log, struct checked *c, struct why *why)
{
    const bool is_own = strncmp(r->workload, "kernel ", 7) == 0;
    struct job j;
    enum err e = check_workload(&k->own, r->workload, why);

    job_init(&j);
    snprintf(j.strategy, sizeof j.strategy, "random");
    if (!e && !is_own)
        e = job_add_layer(&j, r->workload, "", 1);
    if (!e)
        e = task_init(&c->task, is_own ? &k->own : &j, 0, &k->device.desc, why);
    job_fini(&j);
    if (!e)
        e = task_take(&c->task, r, ORIGIN_WARM);
    if (!e && c->task.n_all == 0)
        e = tell_unknown(&c->task, r, why);
    if (!e && log)
        log_scan(log, add_runner, NULL, &c->task, NULL);
    if (e)
        return e;
    c->list[0] = &c->task.all[0];
    c->n = 1;
    return ERR_OK;
}

static void add_runners(struct checked *c)
{
    const struct measured *top[RUNNERS_UP + 1];
    const size_t n = task_top(&c->task, RUNNERS_UP + 1, top);

    for (size_t i = 0; i < n && c->n < RUNNERS_UP + 1; i++)
        if (top[i] != c->list[0])
            c->list[c->n++] = top[i];
    assert(c->n >= 1 && c->n <= RUNNERS_UP + 1 && c->list[0] == &c->task.all[0]);
    for (size_t i = 0; i < c->n; i++) {
        record_init(&c->now[i].record);
        c->now[i].value = NAN;
    }
}

static enum err check_one(struct recheck *k, const struct record *r, const char *log, struct why *why)
{
    struct record search;
    struct checked c = {.n = 0};
    struct why reason = {""};
    enum err e;

    record_init(&search);
    e = record_copy(&search, r);
    snprintf(search.purpose, sizeof search.purpose, "search"); /* a final stands for its config here */
    if (!e)
        e = prepare(k, &search, log, &c, &reason);
    if (e == ERR_NOT_FOUND || e == ERR_INPUT) {
        printf("%s\n  skipped: %s\n", r->workload, reason.text);
        k->n_skipped++;
        e = ERR_OK;
    } else if (e) {
        *why = reason;
    } else {
        add_runners(&c);
        e = measure(k, &c, why);
        if (!e)
            judge(k, &c);
    }
    for (size_t i = 0; i < c.n; i++)
        record_fini(&c.now[i].record);
    task_fini(&c.task);
    record_fini(&search);
    return e;
}

static enum err check_all(struct recheck *k, const char *path, struct why *why)
{
    char log[4096];
    const bool has_log = full_log_of(path, log, sizeof log);
    enum err e =
        cmd_wait_device(k->link, k->link->is_private ? k->link->farm.key : cli_text(k->cli, "key"), &k->device, why);

    snprintf(k->job.key, sizeof k->job.key, "%s", k->device.key);
    for (size_t i = 0; i < best_n(k->best) && !e; i++) {
        const struct record *r = best_at(k->best, i);

        e = r ? check_one(k, r, has_log ? log : NULL, why) : ERR_NOMEM;
    }
    return e;
}

/* A job file that is none is told before a farm is started. */
static enum err read_own(struct recheck *k, struct why *why)
{
    const char *path = cli_text(k->cli, "kernel-spec");

    job_init(&k->own);
    snprintf(k->own.strategy, sizeof k->own.strategy, "random");
    return path ? cmd_kernel_spec(k->cli, path, &k->own, why) : ERR_OK;
}

static int run(const struct cli *c)
{
    struct link l = {.client = NULL};
    struct recheck k = {.cli = c, .link = &l};
    struct why why = {""};
    enum err e;

    cmd_catch_interrupts();
    if (c->n_rest != 1)
        return cmd_fail(why_set(&why, ERR_INPUT, "expected one best log, e.g. conv.best.jsonl"), &why);
    job_init(&k.job);
    cmd_timing(c, &k.job);
    e = read_own(&k, &why);
    if (!e)
        e = best_new(&k.best);
    if (!e)
        e = log_scan(c->rest[0], add_best, cmd_log_warning, &k, &why);
    if (!e)
        e = link_open(&l, c, "tune", &why);
    if (!e)
        e = check_all(&k, c->rest[0], &why);
    link_close(&l);
    best_free(k.best);
    job_fini(&k.job);
    job_fini(&k.own);
    if (e)
        return cmd_fail(e, &why);
    assert(k.n_drifted <= k.n_ok + k.n_beaten);
    printf("%zu still the best, %zu beaten, %zu broken, %zu skipped, %zu drifted\n", k.n_ok, k.n_beaten, k.n_broken,
           k.n_skipped, k.n_drifted);
    if (k.n_ok + k.n_beaten + k.n_broken == 0)
        fputs("tune: nothing was measured again\n", stderr);
    return k.n_ok && !k.n_beaten && !k.n_broken ? EXIT_FINE : EXIT_NO_CONFIG;
}

const struct command cmd_recheck = {
    .name = "recheck",
    .summary = "measure a best log again beside its runners-up; name what no longer wins, and drift",
    .usage = "recheck BEST_LOG [options]",
    .example = "tune recheck conv.best.jsonl",
    .options = options,
    .run = run,
};
