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
    CLI_OPTION("agent", CLI_TEXT, .argument = "NAME",
               .help = "make the key of this agent, of the farm's (--key-file): it runs trials"),
    CLI_OPTION("builder", CLI_TEXT, .argument = "NAME", .help = "that of a builder: it compiles, and nothing else"),
    CLI_OPTION("user", CLI_TEXT, .argument = "NAME", .help = "that of a user: jobs of that name, and no others"),
    CLI_OPTION("tuner", CLI_TEXT, .argument = "NAME", .help = "that of a tune work: it drives what others submitted"),
    CLI_OPTION("admin", CLI_TEXT, .argument = "NAME", .help = "that of who may do everything but make keys"),
    CLI_OPTION("ca", CLI_TEXT, .argument = "DIR",
               .help =
                   "make certificates, not keys: the authority in DIR, or by it that of --host, --agent, --user .."),
    CLI_OPTION("host", CLI_TEXT, .argument = "NAME[,NAME]",
               .help = "with --ca: make a tracker's, which is reached by these names and addresses"),
    CLI_OPTION("days", CLI_INT, .argument = "N", .otherwise = "825", .max = CA_DAYS,
               .help = "with --ca: how long the certificate is good; 0 = it has expired when it is made"),
    OPT_QUIET,
    CLI_END,
};

/* Whom the command line names: the role (KEY_FARM = nobody) and the name. ERR_INPUT for several. */
static enum err named(const struct cli *c, enum key_role *role, const char **name, struct why *why)
{
    int n = 0;

    *role = KEY_FARM;
    *name = cli_text(c, "host");
    n += *name != NULL;
    for (int r = KEY_FARM + 1; r < N_KEY_ROLES; r++)
        if (cli_text(c, key_role_names[r])) {
            *role = (enum key_role)r;
            *name = cli_text(c, key_role_names[r]);
            n++;
        }
    return n > 1 ? why_set(why, ERR_INPUT,
                           "--host, --agent, --builder, --user, --tuner and --admin: a key or certificate is of one "
                           "of them")
                 : ERR_OK;
}

/* From the farm's own key. */
static enum err make_for(const struct cli *c, enum key_role role, const char *name, struct why *why)
{
    char identity[200];
    struct key farm;
    enum err e;

    if (!cli_text(c, "key-file"))
        return why_set(why, ERR_INPUT, "expected --key-file: the key of --%s is made of the farm's",
                       key_role_names[role]);
    e = key_load(cli_text(c, "key-file"), &farm, why);
    snprintf(identity, sizeof identity, "%s:%s", key_role_names[role], name);
    return e ? e : key_make_for(c->rest[0], &farm, identity, why);
}

static enum err make_key(const struct cli *c, enum key_role role, const char *name, struct why *why)
{
    static const char *const words[N_KEY_ROLES] = {
        [KEY_FARM] = "copy it (0600) to tracker, agents and users; give it with --key-file",
        [KEY_AGENT] = "copy it (0600) to that agent's machine; give it with --key-file and --name",
        [KEY_BUILDER] = "copy it (0600) to that builder's machine; give it with --key-file and --name",
        [KEY_USER] = "copy it (0600) to that user; give it with --key-file",
        [KEY_TUNER] = "copy it (0600) to where tune work runs; give it with --key-file",
        [KEY_ADMIN] = "copy it (0600) to that person; give it with --key-file",
    };
    enum err e;

    if (c->n_rest != 1)
        return why_set(why, ERR_INPUT, "expected one file name, e.g. tune keygen farm.key");
    if (strcmp(c->rest[0], "-") == 0)
        return why_set(why, ERR_INPUT, "-: a key goes into a file of its own, not to standard output");
    if (cli_get(c, "key-file")->given && !role)
        return why_set(why, ERR_INPUT, "--key-file: expected --agent, --builder, --user, --tuner or --admin, too");
    e = role ? make_for(c, role, name, why) : key_make(c->rest[0], why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s: %s\n", c->rest[0], words[role]);
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
        return why_set(why, ERR_INPUT, "--ca DIR %s: expected --host, --agent or another, too", c->rest[0]);
    e = certs_make_ca(dir, &o, why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s/ca.pem: copy it to agents and users; give it with --ca\n%s/ca.key: keep it to yourself\n", dir, dir);
    return e;
}

static int run(const struct cli *c)
{
    const char *host = cli_text(c, "host"), *name;
    char first[70] = "";
    struct why why = {""};
    enum key_role role;
    enum err e = named(c, &role, &name, &why);

    if (!e && !cli_text(c, "ca") && (host || cli_get(c, "days")->given))
        e = why_set(&why, ERR_INPUT, "--host and --days are of certificates: expected --ca DIR");
    if (host)
        snprintf(first, sizeof first, "%.*s", (int)(strcspn(host, ",") < 65 ? strcspn(host, ",") : 65), host);
    if (e)
        return cmd_fail(e, &why);
    if (!cli_text(c, "ca"))
        e = make_key(c, role, name, &why);
    else if (name)
        e = make_cert(c, host ? first : name, &why);
    else
        e = make_ca(c, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_keygen = {
    .name = "keygen",
    .summary = "make the key file of a farm, or of somebody in it, or certificates for TLS",
    .usage = "keygen [--ROLE NAME] FILE|--ca DIR [--host NAMES FILE|--ROLE NAME FILE]",
    .example = "tune keygen farm.key",
    .options = options,
    .run = run,
};
