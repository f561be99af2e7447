/* SPDX-License-Identifier: MIT */
/* device.c - the device that a verb makes spaces and programs for. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "tuner/devices.h"

#include <string.h>

enum err cmd_wait_device(struct link *l, const char *key, struct device_choice *out, struct why *why)
{
    const int64_t start_ns = clock_now_ns();

    for (;;) {
        enum err e = devices_choose(l->client, key ? key : "", out, why);

        if (e == ERR_NOT_FOUND && l->is_private)
            why_set(why, e, "%s", DEVICES_OPENING);
        if (e != ERR_NOT_FOUND || !l->is_private || clock_now_ns() - start_ns > INT64_C(60000000000))
            return e;
        if (cmd_interrupted())
            return why_set(why, ERR_CANCELLED, "interrupted");
        e = localfarm_check(&l->farm, why);
        if (e)
            return e;
        clock_sleep_ms(100);
    }
}

enum err cmd_device(const struct cli *c, struct device_choice *out, struct why *why)
{
    struct link l;
    enum err e = link_open(&l, c, "tune", why);

    if (e)
        return e;
    e = cmd_wait_device(&l, l.is_private ? l.farm.key : cli_text(c, "key"), out, why);
    link_close(&l);
    return e;
}
