/* SPDX-License-Identifier: MIT */
/* measure.c - `tune measure`: one config, or a person's own program, measured once. */
#include "cli/config.h"

#include "core/buf.h"
#include "core/file.h"
#include "kernels/template.h"
#include "tuner/failures.h"
#include "tuner/measure.h"
#include "cli/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
    OPT_LINK,
    OPT_KEY,
    OPT_TEMPLATE_ONE,
    OPT_CONFIG,
    OPT_KERNEL_SPEC,
    OPT_TIMING,
    CLI_OPTION("program", CLI_TEXT, .argument = "FILE",
               .help = "a program of your own (docs/program-format.md) instead of a workload"),
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE",
               .help = "append the record to this log; - = standard output"),
    OPT_KERNEL_DIR,
    OPT_JSON,
    CLI_END,
};

struct result {
    const struct cli *cli;
    enum record_status status;
    double predicted_flops; /* of the template's roofline, at the device's peak; 0 = it has none */
    struct task task;       /* with the arm and the config that are measured; has_task: not of a program file */
    bool has_task;
    size_t i_arm;
    struct config config;
};

static void print_metrics(const struct result *result, const struct record *r)
{
    struct buf text;

    buf_init(&text, 4096);
    table_metrics("  metrics: ", &result->task.arms[result->i_arm], &result->config, r->time_ns, &text);
    if (text.len)
        puts(buf_text(&text));
    buf_fini(&text);
}

static void print_record(const struct record *r, const struct result *result)
{
    const double predicted_flops = result->predicted_flops;

    printf("%s\n  %s%s%s", r->workload ? r->workload : "", r->template_id, r->template_id[0] ? " " : "",
           status_name(r->status));
    if (r->stage[0])
        printf(" (%s)", r->stage);
    if (r->status == STATUS_OK)
        printf(": %.4f ms +- %.1f %%%s, %lld rounds, built in %.0f ms", r->time_ns / 1e6, table_error_percent(r),
               cmd_speed(r).text, (long long)r->rounds, r->build_ms);
    printf("\n");
    if (r->status == STATUS_OK && predicted_flops > 0 && task_peak_gflops(r) > 0)
        printf("  roofline: %.4f ms at the peak of %.1f GFLOPS; measured %.2f times that\n",
               predicted_flops / task_peak_gflops(r) / 1e6, task_peak_gflops(r),
               r->time_ns * task_peak_gflops(r) / predicted_flops);
    if (r->status == STATUS_OK && result->has_task)
        print_metrics(result, r);
    if (r->why)
        printf("  %s\n", r->why);
    if (failure_remedy(r)[0])
        printf("  %s\n", failure_remedy(r));
}

static enum err take(int64_t n, const struct record *r, const char *line, void *arg, struct why *why)
{
    struct result *result = arg;
    const char *path = cli_text(result->cli, "output");

    (void)n;
    result->status = r->status;
    if (cli_flag(result->cli, "json") || (path && strcmp(path, "-") == 0))
        printf("%s%s", line, line[strlen(line) - 1] == '\n' ? "" : "\n");
    else
        print_record(r, result);
    return path && strcmp(path, "-") != 0 ? log_append_line(path, line, strlen(line), why) : ERR_OK;
}

/* What cannot be written is refused before anything is measured. */
static enum err check_output(const char *path, struct why *why)
{
    enum err e;
    int fd;

    if (!path || strcmp(path, "-") == 0)
        return ERR_OK;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    e = file_check_ends(fd, path, why);
    close(fd);
    return e;
}

static enum err fill(const struct cli *c, const struct device_choice *d, struct trial_batch *b, struct result *result,
                     struct why *why)
{
    const char *path = cli_text(c, "program");
    struct program p;
    enum err e;

    if (path) {
        e = program_load(path, &p, &b->blobs, why);
        if (e)
            return e;
        e = trial_batch_add_program(b, &p, 0, NULL, why);
        program_fini(&p);
        return e;
    }
    e = cmd_config(c, &d->desc, &result->task, &result->i_arm, &result->config, why);
    if (e)
        return e;
    result->has_task = true;
    if (space_eval(result->task.arms[result->i_arm].space, &result->config, "predicted_flops",
                   &result->predicted_flops))
        result->predicted_flops = 0;
    return trial_batch_add(b, &result->task, TRIAL_SEARCH, result->i_arm, &result->config, "user", 0, NULL, why);
}

static enum err measure(const struct cli *c, struct link *l, struct job *j, struct result *result, struct why *why)
{
    struct measure_options o = {.client = l->client, .interrupted = cmd_interrupted, .check = link_check, .arg = l};
    struct device_choice d;
    struct trial_batch b;
    char id[40];
    enum err e = cmd_wait_device(l, l->is_private ? l->farm.key : cli_text(c, "key"), &d, why);

    if (e)
        return e;
    snprintf(j->key, sizeof j->key, "%s", d.key);
    e = trial_batch_init(&b, j, &d);
    b.is_told = true;
    if (!e)
        e = fill(c, &d, &b, result, why);
    if (!e)
        e = cmd_submit_job(l->client, j, 0, true, id, &o.token, why);
    o.job_id = id;
    if (!e) {
        e = measure_trials(&o, &b, take, result, why);
        cmd_end_job(l->client, id, o.token, e ? "cancelled" : "done");
    }
    trial_batch_fini(&b);
    return e;
}

static int run(const struct cli *c)
{
    struct result result = {.cli = c};
    struct why why = {""};
    struct link l = {.client = NULL};
    struct job j;
    enum err e = cmd_check_subject(c, "program", &why);

    cmd_catch_interrupts();
    if (!e)
        e = cmd_check_template(c, &why);
    if (!e)
        e = check_output(cli_text(c, "output"), &why);
    job_init(&j);
    cmd_timing(c, &j);
    if (!e)
        e = link_open(&l, c, "tune", &why);
    if (!e)
        e = measure(c, &l, &j, &result, &why);
    link_close(&l);
    job_fini(&j);
    if (result.has_task)
        task_fini(&result.task);
    if (e)
        return cmd_fail(e, &why);
    return result.status == STATUS_OK ? EXIT_FINE : EXIT_NO_CONFIG;
}

const struct command cmd_measure = {
    .name = "measure",
    .summary = "measure one config, or a program of your own",
    .usage = "measure WORKLOAD|--kernel-spec FILE|--program FILE [options]",
    .example = "tune measure \"dense f32 m=64 n=2048 k=512\" --template dense/gemm_direct",
    .options = options,
    .run = run,
};
