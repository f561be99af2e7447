/* SPDX-License-Identifier: MIT */
/* Feeds command lines to their parser, a line a word. What is taken lies within its bounds or is one of its words. */
#include "core/cli.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 64

static const char *const colours[] = {"red", "green", NULL};

static const char *colour_at(size_t i)
{
    return colours[i];
}

static const struct cli_option options[] = {
    {.name = "trials",
     .letter = 'n',
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "100",
     .min = 1,
     .max = 1000,
     .help = "h"},
    {.name = "colour",
     .alias = "color",
     .kind = CLI_TEXT,
     .argument = "C",
     .otherwise = "red",
     .help = "h",
     .word = colour_at},
    {.name = "time",
     .letter = 't',
     .kind = CLI_DURATION,
     .argument = "T",
     .otherwise = "1s",
     .min = 0.5,
     .max = 86400,
     .help = "h"},
    {.name = "noise", .kind = CLI_REAL, .argument = "X", .otherwise = "0.5", .min = 0.25, .max = 4, .help = "h"},
    {.name = "name", .letter = 'o', .kind = CLI_TEXT, .argument = "NAME", .help = "h"},
    {.name = "verbose", .letter = 'v', .kind = CLI_COUNT, .help = "h"},
    {.name = "json", .kind = CLI_FLAG, .help = "h"},
    {.name = NULL},
};

static void check(const struct cli *c)
{
    const char *texts[4];

    if (cli_int(c, "trials") < 1 || cli_int(c, "trials") > 1000 || !(cli_real(c, "time") >= 0.5) ||
        !(cli_real(c, "time") <= 86400) || !(cli_real(c, "noise") >= 0.25) || !(cli_real(c, "noise") <= 4))
        fuzz_die("a number out of its bounds");
    if (strcmp(cli_text(c, "colour"), colours[0]) != 0 && strcmp(cli_text(c, "colour"), colours[1]) != 0)
        fuzz_die("--colour %s", cli_text(c, "colour"));
    if (cli_get(c, "name")->given != (cli_texts(c, "name", texts, 4) > 0))
        fuzz_die("--name is given and is not");
    for (int i = 0; i < c->n_rest; i++)
        (void)strlen(c->rest[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n), *save = NULL, *argv[MAX_WORDS + 2] = {"tune"};
    struct why why = {""};
    struct cli c;
    int argc = 1;

    for (char *word = strtok_r(text, "\n", &save); word && argc < MAX_WORDS; word = strtok_r(NULL, "\n", &save))
        argv[argc++] = word;
    if (cli_parse(&c, options, argc, argv, &why) != ERR_OK)
        fuzz_check_words("cli", why.text);
    else if (!c.help)
        check(&c);
    cli_fini(&c);
    free(text);
    return 0;
}
