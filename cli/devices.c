/* SPDX-License-Identifier: MIT */
/* devices.c - `tune devices`: the devices of a tracker. */
#include "cli/cmd.h"

#include "core/clock.h"

#include <stdio.h>

static const struct cli_option options[] = {
    OPT_TRACKER_DEFAULT,
    OPT_KEY_FILE,
    CLI_OPTION("watch", CLI_FLAG, .help = "again every two seconds, until Ctrl-C"),
    OPT_JSON,
    CLI_END,
};

static enum err show(struct client *client, const struct cli *c, struct why *why)
{
    cJSON *result = NULL;
    struct buf text;
    enum err e = client_devices(client, NULL, NULL, &result, why);

    buf_init(&text, (size_t)4 << 20);
    if (!e)
        e = cli_flag(c, "json") ? json_print(result, &text) : devices_print(result, clock_wall_ms(), &text);
    if (!e)
        printf("%s%s%s", cli_flag(c, "watch") && !cli_flag(c, "json") ? "\033[H\033[2J" : "", buf_text(&text),
               cli_flag(c, "json") ? "\n" : "");
    fflush(stdout);
    buf_fini(&text);
    cJSON_Delete(result);
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct link l;
    enum err e;

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
    .summary = "the devices of a tracker and what they do",
    .usage = "devices [options]",
    .example = "tune devices --tracker farm:9477 --watch",
    .options = options,
    .run = run,
};
