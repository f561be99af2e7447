/* SPDX-License-Identifier: MIT */
/* main.c - `tune`: finds the subcommand in the table, parses its options, runs it. */
#include "core/proc.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each a file of this folder. */
extern const struct subcommand cmd_run, cmd_submit, cmd_work, cmd_list, cmd_status, cmd_attach, cmd_cancel, cmd_devices,
    cmd_spaces, cmd_best, cmd_log, cmd_show, cmd_measure, cmd_model, cmd_recheck, cmd_replay, cmd_ladder, cmd_import,
    cmd_deploy, cmd_hub, cmd_doctor, cmd_keygen;

const struct subcommand *const subcommand_table[] = {
    &cmd_run,
    &cmd_submit,
    &cmd_work,
    &cmd_list,
    &cmd_status,
    &cmd_attach,
    &cmd_cancel,
    &cmd_devices,
    &cmd_spaces,
    &cmd_best,
    &cmd_log,
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

static void print_overview(FILE *to)
{
    fputs("usage: tune SUBCOMMAND [options]\n"
          "Finds fast kernels for deep-learning layers by measuring candidates on real devices.\n\nsubcommands:\n",
          to);
    for (size_t i = 0; subcommand_table[i]; i++)
        fprintf(to, "  %-10s %s\n", subcommand_table[i]->name, subcommand_table[i]->summary);
    fputs("\n`tune SUBCOMMAND --help` shows its options, their defaults and an example.\n"
          "\nexample:\n  tune run \"dense f32 m=64 n=2048 k=512\" --trials 40 -o dense.jsonl\n",
          to);
}

static const struct subcommand *find(const char *name)
{
    for (size_t i = 0; subcommand_table[i]; i++)
        if (strcmp(subcommand_table[i]->name, name) == 0)
            return subcommand_table[i];
    return NULL;
}

static int print_help(const struct subcommand *s)
{
    struct buf text;
    char usage[256];

    buf_init(&text, 65536);
    snprintf(usage, sizeof usage, "tune %s", s->usage);
    cli_help(s->options, usage, s->summary, s->example, &text);
    fputs(buf_text(&text), stdout);
    buf_fini(&text);
    return EXIT_FINE;
}

static int run_options(const struct subcommand *s, int argc, char **argv)
{
    struct why why = {""};
    struct cli c;
    const enum err e = cli_parse(&c, s->options, argc, argv, &why);
    int code;

    if (e)
        code = cmd_fail(e, &why);
    else
        code = c.help ? print_help(s) : s->run(&c);
    cli_fini(&c);
    return code;
}

/* A subcommand of verbs: their list, each with options of its own. */
static int print_verbs(const struct subcommand *s)
{
    printf("usage: tune %s\n%s\n\nverbs:\n", s->usage, s->summary);
    for (size_t i = 0; s->verbs[i]; i++)
        printf("  %-10s %s\n", s->verbs[i]->name, s->verbs[i]->summary);
    printf("\n`tune %s VERB --help` shows its options and an example.\n\nexample:\n  %s\n", s->name, s->example);
    return EXIT_FINE;
}

static int run(const struct subcommand *s, int argc, char **argv);

static int run_verb(const struct subcommand *s, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return print_verbs(s);
    for (size_t i = 0; s->verbs[i]; i++)
        if (strcmp(s->verbs[i]->name, name) == 0)
            return run(s->verbs[i], argc - 1, argv + 1);
    if (*name)
        fprintf(stderr, "tune: no verb \"%s\" of tune %s; tune %s --help lists them\n", name, s->name, s->name);
    else
        fprintf(stderr, "tune: tune %s needs a verb; tune %s --help lists them\n", s->name, s->name);
    return EXIT_USAGE;
}

static int run(const struct subcommand *s, int argc, char **argv)
{
    if (s->verbs)
        return run_verb(s, argc, argv);
    return run_options(s, argc, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    const struct subcommand *s;
    int code;

    proc_keep_standard_fds();
    cmd_watch_computing();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_overview(argc > 1 ? stdout : stderr);
        return argc > 1 ? EXIT_FINE : EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("tune %s (protocol 1, log schema 1, program schema 1)\n", TUNE_VERSION);
        return EXIT_FINE;
    }
    s = find(name);
    if (!s) {
        fprintf(stderr, "tune: no subcommand \"%s\"; tune --help lists them\n", name);
        return EXIT_USAGE;
    }
    code = run(s, argc - 1, argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("tune: standard output could not be written\n", stderr);
        if (code == EXIT_FINE)
            code = EXIT_USAGE;
    }
    fflush(stderr);
    _exit(code); /* the wire library's threads need no farewell */
}
