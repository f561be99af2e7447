/* SPDX-License-Identifier: MIT */
#include "tuner/devices.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const cJSON *d, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(d, name);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *d, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(d, name);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool is_gone(const cJSON *d)
{
    const char *state = text_of(d, "state");

    return strcmp(state, "gone") == 0 || strcmp(state, "dead") == 0 || strcmp(state, "lost") == 0;
}

static void list_keys(const cJSON *list, struct buf *out)
{
    for (const cJSON *d = list->child; d; d = d->next) {
        bool before = false;

        for (const cJSON *q = list->child; q != d; q = q->next)
            before |= strcmp(text_of(q, "key"), text_of(d, "key")) == 0;
        if (!before)
            buf_printf(out, "%s%s", out->len ? ", " : "", text_of(d, "key"));
    }
}

/* The only key of the list, or NULL when there are several. */
static const char *only_key(const cJSON *list)
{
    const char *key = text_of(list->child, "key");

    for (const cJSON *d = list->child; d; d = d->next)
        if (strcmp(text_of(d, "key"), key) != 0)
            return NULL;
    return key;
}

static enum err take(const cJSON *d, struct device_choice *out, struct why *why)
{
    const cJSON *desc;
    enum err e = json_get_object(d, "device", &desc, why);

    if (!e)
        e = device_desc_from_json(desc, &out->desc, why);
    if (e)
        return e;
    out->n_agents = 1;
    snprintf(out->key, sizeof out->key, "%s", text_of(d, "key"));
    snprintf(out->fingerprint.hex, sizeof out->fingerprint.hex, "%s", text_of(d, "fingerprint"));
    return ERR_OK;
}

static enum err no_key(const cJSON *list, const char *key, struct why *why)
{
    struct buf keys;

    buf_init(&keys, 512);
    list_keys(list, &keys);
    if (key)
        why_set(why, ERR_INPUT, "no device has the key \"%s\"; there are: %s", key, buf_text(&keys));
    else
        why_set(why, ERR_INPUT, "several device keys: choose one with --key: %s", buf_text(&keys));
    buf_fini(&keys);
    return ERR_INPUT;
}

enum err devices_choose_from(const cJSON *devices_result, const char *key, struct device_choice *out, struct why *why)
{
    struct device_choice chosen = {.n_agents = 0};
    const cJSON *list;
    enum err e = json_get_array(devices_result, "devices", &list, why);

    if (e)
        return e;
    if (!list->child)
        return why_set(why, ERR_NOT_FOUND,
                       "no device is registered: start tune-agent --tracker URL where the device is");
    if (!*key && !(key = only_key(list)))
        return no_key(list, NULL, why);
    for (const cJSON *d = list->child; d; d = d->next) {
        if (strcmp(text_of(d, "key"), key) != 0 || is_gone(d))
            continue;
        if (!chosen.n_agents) {
            if ((e = take(d, &chosen, why)))
                return e;
        } else if (strcmp(chosen.fingerprint.hex, text_of(d, "fingerprint")) == 0) {
            chosen.n_agents++;
        }
    }
    if (!chosen.n_agents) {
        for (const cJSON *d = list->child; d; d = d->next)
            if (strcmp(text_of(d, "key"), key) == 0)
                return why_set(why, ERR_NOT_FOUND, "all devices of the key \"%s\" are away", key);
        return no_key(list, key, why);
    }
    *out = chosen;
    return ERR_OK;
}

enum err devices_choose(struct client *c, const char *key, struct device_choice *out, struct why *why)
{
    cJSON *result = NULL;
    enum err e = client_call(c, "devices", NULL, NULL, 0, &result, NULL, why);

    if (!e)
        e = devices_choose_from(result, key, out, why);
    cJSON_Delete(result);
    return e;
}

/* Width of the column of a text: the longest one's, at least `least`. */
static int width_of(const cJSON *list, const char *name, int least)
{
    int width = least;

    for (const cJSON *d = list ? list->child : NULL; d; d = d->next) {
        const int n = (int)strlen(text_of(d, name));

        width = n > width ? n : width;
    }
    return width;
}

static void print_builders(const cJSON *list, int64_t now_ms, struct buf *out)
{
    const int wide = width_of(list, "agent", 18);
    const cJSON *b, *arch;

    if (list && list->child)
        buf_printf(out, "\n%-*s %-9s %8s %6s %6s  %-12s %s\n", wide, "builder", "state", "seen", "done", "failed",
                   "compiler", "builds for");
    cJSON_ArrayForEach(b, list)
    {
        const double age_s = ((double)now_ms - number_of(b, "last_seen_ms")) / 1000;

        buf_printf(out, "%-*s %-9s %6.0f s %6.0f %6.0f  %-12s", wide, text_of(b, "agent"), text_of(b, "state"),
                   age_s > 0 ? age_s : 0, number_of(b, "done"), number_of(b, "failed"), text_of(b, "compiler"));
        cJSON_ArrayForEach(arch, cJSON_GetObjectItemCaseSensitive(b, "arches"))
        {
            buf_printf(out, " %s", cJSON_IsString(arch) ? arch->valuestring : "");
        }
        buf_puts(out, "\n");
    }
}

enum err devices_print(const cJSON *devices_result, int64_t now_ms, struct buf *out)
{
    const cJSON *list;
    int wide_key, wide_agent;
    enum err e = json_get_array(devices_result, "devices", &list, NULL);

    if (e)
        return e;
    wide_key = width_of(list, "key", 18);
    wide_agent = width_of(list, "agent", 22);
    buf_printf(out, "%-*s %-*s %-9s %8s %6s %6s  %-10s %s\n", wide_key, "key", wide_agent, "agent", "state", "seen",
               "done", "failed", "job", "device");
    for (const cJSON *d = list->child; d; d = d->next) {
        const cJSON *desc = cJSON_GetObjectItemCaseSensitive(d, "device");
        const double age_s = ((double)now_ms - number_of(d, "last_seen_ms")) / 1000;

        buf_printf(out, "%-*s %-*s %-9s %6.0f s %6.0f %6.0f  %-10s %s\n", wide_key, text_of(d, "key"), wide_agent,
                   text_of(d, "agent"), text_of(d, "state"), age_s > 0 ? age_s : 0, number_of(d, "done"),
                   number_of(d, "failed"), text_of(d, "current"), desc ? text_of(desc, "name") : "");
    }
    print_builders(cJSON_GetObjectItemCaseSensitive(devices_result, "builders"), now_ms, out);
    return out->failed;
}
