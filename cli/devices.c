/* SPDX-License-Identifier: MIT */
/* devices.c - `tune devices`: the devices of a tracker, and what operators say of them. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/terminal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MAX_TABLE_BYTES ((size_t)16 << 20) /* a line for each of the 16,384 agents that a tracker takes */

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("watch", CLI_FLAG, .help = "again every two seconds, until Ctrl-C"),
    OPT_JSON,
    CLI_END,
};

static enum err print_json(const cJSON *result)
{
    char *line = json_line(result);

    if (!line)
        return ERR_NOMEM;
    puts(line);
    cJSON_free(line);
    return ERR_OK;
}

static enum err print_table(cJSON *result, bool watch)
{
    struct buf text;
    enum err e;

    json_plain(result);
    buf_init(&text, MAX_TABLE_BYTES);
    e = devices_print(result, clock_wall_ms(), &text);
    if (!e)
        printf("%s%s", watch ? "\033[H\033[2J" : "", buf_text(&text));
    buf_fini(&text);
    return e;
}

static enum err show(struct client *client, const struct cli *c, struct why *why)
{
    cJSON *result = NULL;
    enum err e = client_all_devices(client, NULL, &result, why);

    if (result) {
        const enum err printed = cli_flag(c, "json") ? print_json(result) : print_table(result, cli_flag(c, "watch"));

        e = e ? e : printed;
    }
    fflush(stdout);
    cJSON_Delete(result);
    return e;
}

static const struct {
    const char *verb, *mode;
} verbs[] = {{"drain", "drain"}, {"undrain", "serve"}, {"reserve", "reserve"}};

/* What the words want: the mode of the agents behind the first, and for `reserve` whom. */
struct order {
    struct agent_mode_args args;
    int n_agents;
};

static enum err read_order(const struct cli *c, struct order *out, struct why *why)
{
    const size_t n_verbs = sizeof verbs / sizeof *verbs;
    size_t i = 0;
    bool reserves;

    while (i < n_verbs && strcmp(verbs[i].verb, c->rest[0]) != 0)
        i++;
    reserves = i < n_verbs && strcmp(verbs[i].verb, "reserve") == 0;
    if (i == n_verbs || c->n_rest < (reserves ? 3 : 2))
        return why_set(why, ERR_INPUT, "expected drain AGENT..., undrain AGENT..., or reserve AGENT... USER");
    *out = (struct order){.args = {.mode = verbs[i].mode, .user = reserves ? c->rest[c->n_rest - 1] : ""},
                          .n_agents = c->n_rest - 1 - reserves};
    return ERR_OK;
}

struct setting {
    const struct agent_mode_args *args;
    bool absent; /* in all parts so far */
};

static enum err set_in_part(struct client *one, int64_t part, void *setting, struct why *why)
{
    struct setting *s = setting;
    struct agent_mode_result result = {.absent = true};
    const enum err e = client_agent_mode(one, s->args, &result, NULL, why);

    (void)part;
    s->absent &= result.absent;
    return e;
}

/* In all parts of the farm: an agent may be there that has another key tomorrow. A name that is misspelt is one of an
 * agent that is not there. */
static enum err set_one(struct client *client, const struct agent_mode_args *args, struct why *why)
{
    struct setting s = {args, true};
    const enum err e = client_each_part(client, set_in_part, &s, why);

    if (!e && s.absent && strcmp(args->mode, "serve") != 0)
        printf("%s is not there now: this holds when it comes\n", args->agent);
    return e;
}

static enum err set_mode(struct client *client, const struct cli *c, struct why *why)
{
    struct order o;
    enum err e = read_order(c, &o, why);

    for (int i = 1; i <= o.n_agents && !e; i++) {
        o.args.agent = c->rest[i];
        e = set_one(client, &o.args, why);
    }
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct link l;
    enum err e;

    if (c->n_rest) {
        struct order o;

        e = read_order(c, &o, &why);
        return e ? cmd_fail(e, &why) : cmd_ask(c, 2, INT_MAX, "", set_mode);
    }
    cmd_catch_interrupts();
    e = link_open(&l, c, "tune", &why);
    if (!e)
        e = show(l.client, c, &why);
    while (!e && cli_flag(c, "watch") && !cmd_interrupted()) {
        for (int i = 0; i < 20 && !cmd_interrupted(); i++)
            clock_sleep_ms(100);
        if (!cmd_interrupted())
            e = show(l.client, c, &why);
    }
    link_close(&l);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_devices = {
    .name = "devices",
    .summary = "the devices of a tracker and what they do; drain them, undrain them, reserve them for a user",
    .usage = "devices [drain AGENT...|undrain AGENT...|reserve AGENT... USER] [options]",
    .example = "tune devices --tracker farm:9477 --watch",
    .options = options,
    .run = run,
};
