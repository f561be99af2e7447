/* SPDX-License-Identifier: MIT */
/* submit.c - `tune submit`: hands a job to a tracker and prints its id. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "cli/cmd.h"
#include "deploy/want.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("device", CLI_TEXT, .argument = "replay:FILE",
               .help = "a recorded space instead of workloads, readable where `tune work` runs"),
    CLI_OPTION("missing", CLI_TEXT, .argument = "FILE",
               .help = "the workloads that an application over libtune had no record of"),
    OPT_JOB,
    OPT_JSON,
    OPT_QUIET,
    CLI_END,
};

/* A board that is off may be on tomorrow; a key that nobody ever had is a mistake more often: told either way. */
static enum err check_key(struct client *c, struct job *j, bool quiet, struct why *why)
{
    struct device_choice device;
    const enum err e = devices_choose(c, j->key, &device, why);

    if ((e == ERR_NOT_FOUND || e == ERR_INPUT) && j->key[0]) {
        if (!quiet)
            fprintf(stderr, "tune: %s; the job waits for one\n", why->text);
        return ERR_OK;
    }
    if (!e)
        snprintf(j->key, sizeof j->key, "%s", device.key);
    return e ? e : job_check_device(j, &device.desc, why);
}

static enum err submit(const struct cli *c, struct job *j, char id[40], struct why *why)
{
    struct link l;
    int64_t token;
    enum err e = link_open(&l, c, "tune", why);

    if (e)
        return e;
    e = check_key(l.client, j, cli_flag(c, "quiet"), why);
    if (!e)
        e = cmd_submit_job(l.client, j, cli_int(c, "priority"), false, id, &token, why);
    link_close(&l);
    return e;
}

/* The value of the line "# key: SLUG" in a list of tune_missing_write; "" without one. */
static void key_in(const char *text, char *out, size_t n_out)
{
    static const char word[] = "# key: ";
    const char *line = strncmp(text, word, sizeof word - 1) == 0 ? text : strstr(text, "\n# key: ");

    line = line ? line + (*line == '\n') + sizeof word - 1 : "";
    snprintf(out, n_out, "%.*s", (int)strcspn(line, " \t\r\n"), line);
}

static enum err read_list(const char *path, struct deploy_want *want, char *key, size_t n_key, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, DEPLOY_WANT_BYTES);
    e = file_read(path, &text, why);
    if (!e)
        e = deploy_want_text(want, path, buf_text(&text), text.len, why);
    if (!e && want->n == 0)
        e = why_set(why, ERR_INPUT, "%s lists no workload; expected a file of tune_missing_write", path);
    if (!e)
        key_in(buf_text(&text), key, n_key);
    buf_fini(&text);
    return e;
}

/* The job of a list: its workloads after those of the command line, its key where none is given. */
static enum err missing_job(const struct cli *c, struct job *out, struct why *why)
{
    struct deploy_want want;
    struct cli with = *c;
    char key[sizeof out->key];
    enum err e;

    if (cli_text(c, "network") || cli_text(c, "device"))
        return why_set(why, ERR_INPUT, "--missing brings its own workloads: no --network, no --device");
    deploy_want_init(&want);
    e = read_list(cli_text(c, "missing"), &want, key, sizeof key, why);
    with.rest = e ? NULL : calloc((size_t)c->n_rest + want.n, sizeof *with.rest);
    if (!e && !with.rest)
        e = why_set(why, ERR_NOMEM, "out of memory");
    for (int i = 0; !e && i < c->n_rest; i++)
        with.rest[i] = c->rest[i];
    for (size_t i = 0; !e && i < want.n; i++)
        with.rest[with.n_rest++] = want.layers[i].workload;
    assert(e || (size_t)with.n_rest == (size_t)c->n_rest + want.n);
    if (!e)
        e = cmd_job(&with, out, why);
    if (!e && !out->key[0])
        memcpy(out->key, key, sizeof key);
    free(with.rest);
    deploy_want_fini(&want);
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct job j;
    char id[40] = "";
    const char *device = cli_text(c, "device");
    enum err e;

    cmd_catch_interrupts();
    if (device && strncmp(device, "replay:", 7) != 0)
        return cmd_fail(why_set(&why, ERR_INPUT, "--device %s: a submitted job names its device by --key", device),
                        &why);
    e = cli_text(c, "missing") ? missing_job(c, &j, &why) : cmd_job(c, &j, &why);
    if (!e && j.command) {
        job_fini(&j);
        e = why_set(&why, ERR_INPUT,
                    "--strategy exec: a process of yours runs beside `tune run --tracker`; a submitted job has none");
    }
    if (e)
        return cmd_fail(e, &why);
    e = submit(c, &j, id, &why);
    job_fini(&j);
    if (e)
        return cmd_fail(e, &why);
    printf(cli_flag(c, "json") ? "{\"job\":\"%s\"}\n" : "%s\n", id);
    return EXIT_FINE;
}

const struct command cmd_submit = {
    .name = "submit",
    .summary = "hand a job to a tracker and print its id",
    .usage = "submit WORKLOAD... [options]",
    .example = "tune submit --tracker farm:9477 --key rk3399-mali --network resnet-18 --trials 200",
    .options = options,
    .run = run,
};
