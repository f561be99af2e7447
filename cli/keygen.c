/* SPDX-License-Identifier: MIT */
/* keygen.c - `tune keygen`: makes the shared key of a farm. */
#include "cli/cmd.h"

#include "tracker/protocol.h"

#include <stdio.h>

static const struct cli_option options[] = {OPT_QUIET, CLI_END};

static int run(const struct cli *c)
{
    struct why why = {""};
    enum err e;

    if (c->n_rest != 1)
        return cmd_fail(why_set(&why, ERR_INPUT, "expected one file name, e.g. tune keygen farm.key"), &why);
    e = key_make(c->rest[0], &why);
    if (e)
        return cmd_fail(e, &why);
    if (!cli_flag(c, "quiet"))
        printf("%s: copy it (0600) to tracker, agents and users; give it with --key-file\n", c->rest[0]);
    return EXIT_FINE;
}

const struct command cmd_keygen = {
    .name = "keygen",
    .summary = "make the shared key file of a farm",
    .usage = "keygen FILE",
    .example = "tune keygen farm.key",
    .options = options,
    .run = run,
};
