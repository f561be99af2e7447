/* submit.c - `tune submit`: hands a job to a tracker and prints its id. */
#include "tuner/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {OPT_TRACKER_DEFAULT,
                                            OPT_KEY_FILE,
                                            {"device", 0, NULL, CLI_TEXT, "replay:FILE", NULL, NULL, 0, 0,
                                             "a recorded space instead of workloads, readable where `tune work` runs"},
                                            OPT_JOB,
                                            OPT_JSON,
                                            OPT_QUIET,
                                            OPT_END};

/* A key that no device has is a mistake more often than a device that comes later. */
static enum err check_key(struct client *c, struct job *j, struct why *why)
{
    struct device_choice device;
    const enum err e = devices_choose(c, j->key, &device, why);

    if (e == ERR_NOT_FOUND && j->key[0])
        return ERR_OK;
    if (!e)
        snprintf(j->key, sizeof j->key, "%s", device.key);
    return e;
}

static enum err submit(const struct cli *c, struct job *j, char id[40], struct why *why)
{
    struct link l;
    int64_t token;
    enum err e = link_open(&l, c, "tune", why);

    if (e)
        return e;
    e = check_key(l.client, j, why);
    if (!e)
        e = cmd_submit_job(l.client, j, false, id, &token, why);
    link_close(&l);
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
    e = cmd_job(c, &j, &why);
    if (e)
        return cmd_fail(e, &why);
    e = submit(c, &j, id, &why);
    job_fini(&j);
    if (e)
        return cmd_fail(e, &why);
    printf(cli_flag(c, "json") ? "{\"job\":\"%s\"}\n" : "%s\n", id);
    return EXIT_FINE;
}

const struct subcommand cmd_submit = {
    .name = "submit",
    .summary = "hand a job to a tracker and print its id",
    .usage = "submit WORKLOAD... [options]",
    .example = "tune submit --tracker farm:9477 --key rk3399-mali --network resnet-18 --trials 200",
    .options = options,
    .run = run,
};
