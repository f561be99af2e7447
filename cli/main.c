/* SPDX-License-Identifier: MIT */
/* main.c - `tune`: finds the subcommand in the table, parses its options, runs it. */
#include "core/buf.h"
#include "core/err.h"
#include "core/proc.h"
#include "cli/cmd.h"
#include "kernels/template.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each a file of this folder. */
extern const struct command cmd_run, cmd_submit, cmd_work, cmd_list, cmd_status, cmd_attach, cmd_cancel, cmd_pause,
    cmd_resume, cmd_requeue, cmd_devices, cmd_spaces, cmd_best, cmd_log, cmd_show, cmd_measure, cmd_model, cmd_recheck,
    cmd_replay, cmd_ladder, cmd_import, cmd_deploy, cmd_hub, cmd_doctor, cmd_keygen, cmd_report;

static const struct command *const subcommands[] = {
    &cmd_run,
    &cmd_submit,
    &cmd_work,
    &cmd_list,
    &cmd_status,
    &cmd_attach,
    &cmd_cancel,
    &cmd_pause,
    &cmd_resume,
    &cmd_requeue,
    &cmd_devices,
    &cmd_spaces,
    &cmd_best,
    &cmd_log,
    &cmd_report,
    &cmd_show,
    &cmd_measure,
    &cmd_model,
    &cmd_recheck,
    &cmd_replay,
    &cmd_ladder,
    &cmd_import,
    &cmd_deploy,
#ifdef TUNE_HAVE_HUB
    &cmd_hub,
#endif
    &cmd_doctor,
    &cmd_keygen,
    /* the next one here */
    NULL,
};

static const struct command_section sections[] = {
    {.title = "exit status",
     .text =
         "0 ok; 1 usage or another error, told in one line; 2 no valid config, or `recheck` found something beaten or "
         "broken; 3 tracker not reachable; 4 interrupted, the same command goes on from there."},
    {.title = "environment",
     .text = "TUNE_TRACKER, TUNE_KEY_FILE, TUNE_CA_FILE, TUNE_CERT_FILE and TUNE_NVRTC give defaults of options. "
             "NO_COLOR: no colours. TUNE_WEIGHTS_DIR: "
             "where copies of pruned weights are kept."},
    {.title = NULL}};

const struct command tune_command = {
    .name = "tune",
    .summary = "find fast kernels for deep-learning layers by measuring candidates on real devices",
    .usage = "SUBCOMMAND [options]",
    .example = "tune run \"dense f32 m=64 n=2048 k=512\" --trials 40 -o dense.jsonl",
    .about =
        "Candidate kernels of a workload, such as \"dense f32 m=64 n=2048 k=512\", are measured on a device, their "
        "results checked, and every measurement is kept in a log of one JSON object a line. Without a tracker it "
        "starts a private one, and an agent for the first OpenCL device of this machine.",
    .verbs = subcommands,
    .sections = sections,
    .section = 1,
    .see_also = "tune-tracker(8), tune-agent(8), libtune(3)",
};

static int print_help(const struct command *c, FILE *to)
{
    struct buf text;

    buf_init(&text, 65536);
    command_help(&tune_command, c, &text);
    fputs(buf_text(&text), to);
    buf_fini(&text);
    return EXIT_FINE;
}

static int run_options(const struct command *s, int argc, char **argv)
{
    struct why why = {""};
    struct cli c;
    enum err e = cli_parse(&c, s->options, argc, argv, &why);
    int code;

    if (!e && !c.help && cmd_has(&c, "kernel-dir"))
        e = template_set_kernel_dir(cli_text(&c, "kernel-dir"), &why);
    if (e)
        code = cmd_fail(e, &why);
    else
        code = c.help ? print_help(s, stdout) : s->run(&c);
    cli_fini(&c);
    return code;
}

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int run(const struct command *s, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *verb = command_verb(s, name);

    assert(!s->verbs != !s->run);
    if (!s->verbs)
        return run_options(s, argc, argv);
    if (asks_help(name))
        return print_help(s, stdout);
    if (verb)
        return run(verb, argc - 1, argv + 1);
    if (s == &tune_command)
        fprintf(stderr, "tune: no subcommand \"%s\"; tune --help lists them\n", name);
    else if (*name)
        fprintf(stderr, "tune: no verb \"%s\" of tune %s; tune %s --help lists them\n", name, s->name, s->name);
    else
        fprintf(stderr, "tune: tune %s needs a verb; tune %s --help lists them\n", s->name, s->name);
    return EXIT_USAGE;
}

/* What is asked of the program itself, and its subcommands. */
static int run_program(int argc, char **argv)
{
    int code;

    if (argc < 2) {
        print_help(&tune_command, stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tune %s (protocol 1, log schema 1, program schema 1)\n", TUNE_VERSION);
        return EXIT_FINE;
    }
    if (command_answers(&tune_command, argc, argv, stdout, stderr, &code))
        return code;
    return run(&tune_command, argc, argv);
}

int main(int argc, char **argv)
{
    int code;

    proc_keep_standard_fds();
    proc_let_writes_fail();
    proc_want_path();
    cmd_watch_computing();
    code = command_finish(&tune_command, stdout, stderr, run_program(argc, argv));
    fflush(stderr);
    _exit(code); /* the wire library's threads need no farewell */
}
