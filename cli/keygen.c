/* SPDX-License-Identifier: MIT */
/* keygen.c - `tune keygen`: makes the shared key of a farm. */
#include "cli/cmd.h"

#include "tracker/protocol.h"

#include <stdio.h>

static const struct cli_option options[] = {
    OPT_KEY_FILE,
    CLI_OPTION("agent", CLI_TEXT, .argument = "NAME", .help = "make the key of this agent, of the farm's (--key-file)"),
    CLI_OPTION("user", CLI_TEXT, .argument = "NAME", .help = "make the key of this user, of the farm's (--key-file)"),
    OPT_QUIET,
    CLI_END,
};

/* Of an agent or a user, from the farm's own key. */
static enum err make_for(const struct cli *c, struct why *why)
{
    const char *agent = cli_text(c, "agent"), *user = cli_text(c, "user");
    char identity[200];
    struct key farm;
    enum err e;

    if (agent && user)
        return why_set(why, ERR_INPUT, "--agent and --user: a key is of one of them");
    if (!cli_text(c, "key-file"))
        return why_set(why, ERR_INPUT, "expected --key-file: an agent's or user's key is made of the farm's");
    e = key_load(cli_text(c, "key-file"), &farm, why);
    snprintf(identity, sizeof identity, "%s:%s", agent ? "agent" : "user", agent ? agent : user);
    return e ? e : key_make_for(c->rest[0], &farm, identity, why);
}

static int run(const struct cli *c)
{
    struct why why = {""};
    enum err e;

    if (c->n_rest != 1)
        return cmd_fail(why_set(&why, ERR_INPUT, "expected one file name, e.g. tune keygen farm.key"), &why);
    if (cli_get(c, "key-file")->given && !cli_text(c, "agent") && !cli_text(c, "user"))
        return cmd_fail(why_set(&why, ERR_INPUT, "--key-file: expected --agent NAME or --user NAME, too"), &why);
    e = cli_text(c, "agent") || cli_text(c, "user") ? make_for(c, &why) : key_make(c->rest[0], &why);
    if (e)
        return cmd_fail(e, &why);
    if (!cli_flag(c, "quiet"))
        printf(cli_text(c, "agent") ? "%s: copy it (0600) to that agent's machine; give it with --key-file and --name\n"
               : cli_text(c, "user") ? "%s: copy it (0600) to that user; give it with --key-file\n"
                                     : "%s: copy it (0600) to tracker, agents and users; give it with --key-file\n",
               c->rest[0]);
    return EXIT_FINE;
}

const struct command cmd_keygen = {
    .name = "keygen",
    .summary = "make the key file of a farm, of an agent or of a user",
    .usage = "keygen [--agent NAME|--user NAME] FILE",
    .example = "tune keygen farm.key",
    .options = options,
    .run = run,
};
