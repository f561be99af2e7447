/* SPDX-License-Identifier: MIT */
/* command.h - a program's commands by table; out of it come the help, the man pages and what a shell offers. */
#ifndef TUNE_CORE_COMMAND_H
#define TUNE_CORE_COMMAND_H

#include "core/buf.h"
#include "core/cli.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A section of the man page. One with lines is part of the help, too. */
struct command_section {
    const char *title;             /* "devices"; NULL ends a table */
    const char *text;              /* paragraphs, an empty line between them; NULL = none */
    const char *(*line)(size_t i); /* line i of a list, NULL behind the last; NULL = no list */
};

/* A program, one of its subcommands, or a verb of that. */
struct command {
    const char *name;                       /* "tune"; "log"; "merge" */
    const char *summary;                    /* one line, no full stop: "merge logs" */
    const char *usage;                      /* what follows the program's name: "log merge A B [options]" */
    const char *example;                    /* one whole command line, or NULL */
    const char *about;                      /* more of it for the man page, paragraphs as in a section; NULL = none */
    const struct cli_option *options;       /* ended by name == NULL; NULL where there are verbs */
    int (*run)(const struct cli *c);        /* does the work and returns the exit code; NULL: its caller knows */
    const struct command *const *verbs;     /* "PROGRAM VERB ...", NULL-ended; NULL = none */
    const struct command_section *sections; /* NULL = none */
    int section;                            /* of a program's pages: 1 or 8 */
    const char *see_also;                   /* of a program's page: "tune-agent(8), libtune(3)" */
};

/* One screen, what --help prints: usage, summary, options or verbs, example. `program` is the table's top. */
void command_help(const struct command *program, const struct command *c, struct buf *out);

/* The verb of that name, NULL when there is none. */
const struct command *command_verb(const struct command *c, const char *name);

/* What may stand in place of the last of the words behind the program's name, a line each: verbs, options, the words
 * that an option takes. Nothing where a file or free text is due. */
void command_complete(const struct command *program, int n_words, const char *const *words, struct buf *out);

/* A man page of the program and of each command below it: DIR/man1/tune-log-merge.1. ERR_IO, ERR_NOMEM, ERR_LIMIT. */
enum err command_write_pages(const struct command *program, const char *dir, struct why *why);

/* What builds and shells ask of every program, as its first argument: --man-pages DIR, --complete WORD... False when
 * neither was asked; else *code is the exit code, and `to` and `errors` have what there is to say. */
bool command_answers(const struct command *program, int argc, char **argv, FILE *to, FILE *errors, int *code);

/* At a program's end: writes out what `to` still holds. Returns `code`; where it could not be written, which is told on
 * `errors`, 1 in place of 0. */
int command_finish(const struct command *program, FILE *to, FILE *errors, int code);

#endif
