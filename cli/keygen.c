/* SPDX-License-Identifier: MIT */
/* keygen.c - `tune keygen`: makes the keys of a farm, and the certificates of TLS. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/entropy.h"
#include "tracker/certs.h"
#include "tracker/protocol.h"

#include <stdio.h>
#include <string.h>

#define CA_DAYS 3650
#define DAY_S INT64_C(86400)

static const struct cli_option options[] = {
    CLI_OPTION("key-file", CLI_TEXT, .argument = "FILE", .environment = "TUNE_KEY_FILE",
               .help = "the farm's own key, of which others are made"),
    CLI_OPTION("agent", CLI_TEXT, .argument = "NAME", .help = "make the key of this agent, of the farm's (--key-file)"),
    CLI_OPTION("user", CLI_TEXT, .argument = "NAME", .help = "make the key of this user, of the farm's (--key-file)"),
    CLI_OPTION("ca", CLI_TEXT, .argument = "DIR",
               .help = "make certificates, not keys: the authority in DIR, or by it that of --host, --agent or --user"),
    CLI_OPTION("host", CLI_TEXT, .argument = "NAME[,NAME]",
               .help = "with --ca: make a tracker's, which is reached by these names and addresses"),
    CLI_OPTION("days", CLI_INT, .argument = "N", .otherwise = "825", .max = CA_DAYS,
               .help = "with --ca: how long the certificate is good; 0 = it has expired when it is made"),
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

    if (!cli_text(c, "key-file"))
        return why_set(why, ERR_INPUT, "expected --key-file: an agent's or user's key is made of the farm's");
    e = key_load(cli_text(c, "key-file"), &farm, why);
    snprintf(identity, sizeof identity, "%s:%s", agent ? "agent" : "user", agent ? agent : user);
    return e ? e : key_make_for(c->rest[0], &farm, identity, why);
}

static const char *words_of_key(const struct cli *c)
{
    return cli_text(c, "agent")  ? "copy it (0600) to that agent's machine; give it with --key-file and --name"
           : cli_text(c, "user") ? "copy it (0600) to that user; give it with --key-file"
                                 : "copy it (0600) to tracker, agents and users; give it with --key-file";
}

static enum err make_key(const struct cli *c, struct why *why)
{
    const bool of_somebody = cli_text(c, "agent") || cli_text(c, "user");
    enum err e;

    if (c->n_rest != 1)
        return why_set(why, ERR_INPUT, "expected one file name, e.g. tune keygen farm.key");
    if (cli_get(c, "key-file")->given && !of_somebody)
        return why_set(why, ERR_INPUT, "--key-file: expected --agent NAME or --user NAME, too");
    e = of_somebody ? make_for(c, why) : key_make(c->rest[0], why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s: %s\n", c->rest[0], words_of_key(c));
    return e;
}

static enum err make_cert(const struct cli *c, const char *name, struct why *why)
{
    const int64_t now_s = clock_wall_ms() / 1000;
    const struct cert_order o = {.name = name,
                                 .hosts = cli_text(c, "host"),
                                 .from_s = now_s - DAY_S, /* clocks differ */
                                 .until_s = now_s + cli_int(c, "days") * DAY_S};
    enum err e;

    if (c->n_rest != 1)
        return why_set(why, ERR_INPUT, "expected one file name, e.g. tune keygen --ca DIR --host farm tracker.pem");
    e = certs_issue(cli_text(c, "ca"), &o, c->rest[0], why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s: %s; give it with --cert\n", c->rest[0],
               o.hosts ? "copy it (0600) to the tracker's host" : "copy it (0600) to its owner");
    return e;
}

static enum err make_ca(const struct cli *c, struct why *why)
{
    const char *dir = cli_text(c, "ca");
    const int64_t now_s = clock_wall_ms() / 1000;
    char name[24] = "tune-farm-";
    const struct cert_order o = {.name = name, .from_s = now_s - DAY_S, .until_s = now_s + (int64_t)CA_DAYS * DAY_S};
    enum err e = entropy_hex(NULL, name + strlen(name), 8); /* so that words tell one from another */

    if (e)
        return why_set(why, e, "no random numbers");
    if (c->n_rest)
        return why_set(why, ERR_INPUT, "--ca DIR %s: expected --host, --agent or --user, too", c->rest[0]);
    e = certs_make_ca(dir, &o, why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s/ca.pem: copy it to agents and users; give it with --ca\n%s/ca.key: keep it to yourself\n", dir, dir);
    return e;
}

static int run(const struct cli *c)
{
    const char *agent = cli_text(c, "agent"), *user = cli_text(c, "user"), *host = cli_text(c, "host");
    char name[70] = "";
    struct why why = {""};
    enum err e = ERR_OK;

    if ((agent != NULL) + (user != NULL) + (host != NULL) > 1)
        e = why_set(&why, ERR_INPUT, "--agent, --user and --host: a key or certificate is of one of them");
    else if (!cli_text(c, "ca") && (host || cli_get(c, "days")->given))
        e = why_set(&why, ERR_INPUT, "--host and --days are of certificates: expected --ca DIR");
    if (host)
        snprintf(name, sizeof name, "%.*s", (int)(strcspn(host, ",") < 65 ? strcspn(host, ",") : 65), host);
    if (e)
        return cmd_fail(e, &why);
    if (!cli_text(c, "ca"))
        e = make_key(c, &why);
    else if (host || agent || user)
        e = make_cert(c, host ? name : agent ? agent : user, &why);
    else
        e = make_ca(c, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_keygen = {
    .name = "keygen",
    .summary = "make the key file of a farm, of an agent or of a user, or certificates for TLS",
    .usage = "keygen [--agent NAME|--user NAME] FILE|--ca DIR [--host NAMES|--agent NAME|--user NAME FILE]",
    .example = "tune keygen farm.key",
    .options = options,
    .run = run,
};
