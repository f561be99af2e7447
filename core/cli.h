/* SPDX-License-Identifier: MIT */
/* cli.h - command lines by table: --opt v, --opt=v, short letters, help that shows every default. */
#ifndef TUNE_CORE_CLI_H
#define TUNE_CORE_CLI_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_kind { CLI_FLAG, CLI_COUNT, CLI_TEXT, CLI_INT, CLI_REAL, CLI_DURATION /* "90s" "10m" "2h" or seconds */ };

struct cli_option {
    const char *name;  /* "trials", given as --trials */
    char letter;       /* 'v' for -v, or 0 */
    const char *alias; /* another long name, or NULL */
    enum cli_kind kind;
    const char *argument;    /* "N", "URL"; NULL for flags */
    const char *otherwise;   /* the default as text, shown in help and parsed like input; NULL = none */
    const char *environment; /* variable that gives the default when set, or NULL */
    double min, max;         /* inclusive bounds of CLI_INT, CLI_REAL, CLI_DURATION (seconds); both 0 = no bounds */
    const char *help;        /* one line */
    /* Word i of those it takes, NULL behind the last: listed in its help, all others are ERR_INPUT. NULL: any text. */
    const char *(*word)(size_t i);
    bool many;  /* several words, separated by commas */
    bool open;  /* other texts are taken, too; its help lists the words */
    bool loose; /* too many words for a help text: a shell offers them, who uses the value checks it */
};

/* A row of a table, CLI_OPTION("trials", CLI_INT, .argument = "N", .help = "..."), and its end. */
#define CLI_OPTION(long_name, its_kind, ...)                                                                           \
    {                                                                                                                  \
        .name = long_name, .kind = its_kind, __VA_ARGS__                                                               \
    }
#define CLI_END                                                                                                        \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#define CLI_MAX_OPTIONS 64

struct cli_value {
    bool given;       /* on the command line, not by default */
    const char *text; /* lent from argv, the environment or the table; NULL when there is none */
    int64_t number;   /* CLI_INT; CLI_FLAG and CLI_COUNT: times given */
    double real;      /* CLI_REAL; CLI_DURATION in seconds */
};

struct cli_given {
    const struct cli_option *option;
    const char *text;
};

struct cli {
    const struct cli_option *options; /* ended by name == NULL */
    struct cli_value values[CLI_MAX_OPTIONS];
    const char **rest; /* arguments that are no options, in order; points into a copy: cli_fini */
    int n_rest;
    struct cli_given *texts; /* all values on the command line, in order, for options that may be repeated */
    int n_texts;
    bool help; /* --help or -h was given: nothing else was checked */
};

/* Parses argv[1..argc). ERR_INPUT names the argument and what was expected (with the nearest option's name for a
 * misspelt one). Everything after "--" is rest. */
enum err cli_parse(struct cli *c, const struct cli_option *options, int argc, char **argv, struct why *why);
void cli_fini(struct cli *c);

/* The value of an option of the table, by long name; asserts that it is in the table. */
const struct cli_value *cli_get(const struct cli *c, const char *name);
const char *cli_text(const struct cli *c, const char *name);
int64_t cli_int(const struct cli *c, const char *name);
double cli_real(const struct cli *c, const char *name);
bool cli_flag(const struct cli *c, const char *name);

/* Every value that was given of an option, in order, at most `max`: what a repeatable option has; returns how many were
 * given, which may be more. The default does not count. */
int cli_texts(const struct cli *c, const char *name, const char **out, int max);

/* Appends the option's help with its default, variable and other name. */
void cli_describe(const struct cli_option *o, struct buf *out);

/* Is its help followed by the words it takes? They, with `between` and, before a line would be longer than `width`,
 * `turn` between two. */
bool cli_lists_words(const struct cli_option *o);
void cli_words(const struct cli_option *o, const char *between, const char *turn, size_t width, struct buf *out);

/* One screen: usage line, summary, options with defaults and variables, then the example line. */
void cli_help(const struct cli_option *options, const char *usage, const char *summary, const char *example,
              struct buf *out);

/* The columns of the terminal that fd is; 80 where it is none, or says fewer than 20. */
int cli_columns(int fd);

#endif
