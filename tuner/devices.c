/* SPDX-License-Identifier: MIT */
#include "tuner/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entries of a list; their texts are lent by its tree. */
struct peers {
    struct peer_entry *all;
    size_t n;
};

static enum err read_peers(const cJSON *list, struct peers *out, struct why *why)
{
    const cJSON *entry;
    enum err e = ERR_OK;

    *out = (struct peers){.all = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *out->all)};
    if (!out->all)
        return why_set(why, ERR_NOMEM, "out of memory");
    cJSON_ArrayForEach(entry, list)
    {
        if (!e)
            e = peer_entry_read(entry, &out->all[out->n++], why);
    }
    if (e)
        free(out->all);
    return e;
}

static bool is_gone(const struct peer_entry *d)
{
    return strcmp(d->state, "gone") == 0 || strcmp(d->state, "dead") == 0 || strcmp(d->state, "lost") == 0;
}

static void list_keys(const struct peers *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        bool before = false;

        for (size_t k = 0; k < i; k++)
            before |= strcmp(p->all[k].key, p->all[i].key) == 0;
        if (!before)
            buf_printf(out, "%s%s", out->len ? ", " : "", p->all[i].key);
    }
}

/* The only key of the list, or NULL when there are several. */
static const char *only_key(const struct peers *p)
{
    for (size_t i = 1; i < p->n; i++)
        if (strcmp(p->all[i].key, p->all[0].key) != 0)
            return NULL;
    return p->all[0].key;
}

static enum err take(const struct peer_entry *d, struct device_choice *out, struct why *why)
{
    enum err e = cJSON_IsObject(d->device) ? device_desc_from_json(d->device, &out->desc, why)
                                           : why_set(why, ERR_INPUT, "device %s does not say what it is", d->agent);

    if (e)
        return e;
    out->n_agents = 1;
    snprintf(out->key, sizeof out->key, "%s", d->key);
    snprintf(out->fingerprint.hex, sizeof out->fingerprint.hex, "%s", d->fingerprint);
    return ERR_OK;
}

static enum err no_key(const struct peers *p, const char *key, struct why *why)
{
    struct buf keys;

    buf_init(&keys, 512);
    list_keys(p, &keys);
    if (key)
        why_set(why, ERR_INPUT, "no device has the key \"%s\"; there are: %s", key, buf_text(&keys));
    else
        why_set(why, ERR_INPUT, "several device keys: choose one with --key: %s", buf_text(&keys));
    buf_fini(&keys);
    return ERR_INPUT;
}

static enum err choose(const struct peers *p, const char *key, struct device_choice *out, struct why *why)
{
    struct device_choice chosen = {.n_agents = 0};
    bool away = false;
    enum err e = ERR_OK;

    if (!p->n)
        return why_set(why, ERR_NOT_FOUND,
                       "no device is registered: start tune-agent --tracker URL where the device is");
    if (!*key && !(key = only_key(p)))
        return no_key(p, NULL, why);
    for (size_t i = 0; i < p->n && !e; i++) {
        const struct peer_entry *d = &p->all[i];

        if (strcmp(d->key, key) != 0)
            continue;
        if (is_gone(d))
            away = true;
        else if (!chosen.n_agents)
            e = take(d, &chosen, why);
        else
            chosen.n_agents += strcmp(chosen.fingerprint.hex, d->fingerprint) == 0;
    }
    if (!e && !chosen.n_agents)
        return away ? why_set(why, ERR_NOT_FOUND, "all devices of the key \"%s\" are away", key) : no_key(p, key, why);
    if (!e)
        *out = chosen;
    return e;
}

enum err devices_choose_from(const cJSON *devices, const char *key, struct device_choice *out, struct why *why)
{
    struct devices_result r;
    struct peers peers;
    enum err e = devices_result_read(devices, &r, why);

    if (!e)
        e = read_peers(r.devices, &peers, why);
    if (e)
        return e;
    e = choose(&peers, key, out, why);
    free(peers.all);
    return e;
}

enum err devices_choose(struct client *c, const char *key, struct device_choice *out, struct why *why)
{
    cJSON *tree = NULL;
    enum err e = client_devices(c, NULL, NULL, &tree, why);

    if (!e)
        e = devices_choose_from(tree, key, out, why);
    cJSON_Delete(tree);
    return e;
}

static int wider(int width, const char *text)
{
    const int n = (int)strlen(text);

    return n > width ? n : width;
}

/* State, when it was seen, done, failed. */
static void print_figures(const struct peer_entry *d, int64_t now_ms, struct buf *out)
{
    const double age_s = (double)(now_ms - d->last_seen_ms) / 1000;

    buf_printf(out, " %-9s %6.0f s %6lld %6lld  ", d->state, age_s > 0 ? age_s : 0, (long long)d->done,
               (long long)d->failed);
}

static void print_builders(const struct peers *p, int64_t now_ms, struct buf *out)
{
    const cJSON *arch;
    int wide = 18;

    for (size_t i = 0; i < p->n; i++)
        wide = wider(wide, p->all[i].agent);
    if (p->n)
        buf_printf(out, "\n%-*s %-9s %8s %6s %6s  %-12s %s\n", wide, "builder", "state", "seen", "done", "failed",
                   "compiler", "builds for");
    for (size_t i = 0; i < p->n; i++) {
        buf_printf(out, "%-*s", wide, p->all[i].agent);
        print_figures(&p->all[i], now_ms, out);
        buf_printf(out, "%-12s", p->all[i].compiler);
        cJSON_ArrayForEach(arch, p->all[i].arches)
        {
            buf_printf(out, " %s", arch->valuestring);
        }
        buf_puts(out, "\n");
    }
}

static void print_devices(const struct peers *p, int64_t now_ms, struct buf *out)
{
    int wide_key = 18, wide_agent = 22;

    for (size_t i = 0; i < p->n; i++) {
        wide_key = wider(wide_key, p->all[i].key);
        wide_agent = wider(wide_agent, p->all[i].agent);
    }
    buf_printf(out, "%-*s %-*s %-9s %8s %6s %6s  %-10s %s\n", wide_key, "key", wide_agent, "agent", "state", "seen",
               "done", "failed", "job", "device");
    for (size_t i = 0; i < p->n; i++) {
        const struct peer_entry *d = &p->all[i];
        const char *name = "";

        json_text_or(d->device, "name", "", &name, NULL);
        buf_printf(out, "%-*s %-*s", wide_key, d->key, wide_agent, d->agent);
        print_figures(d, now_ms, out);
        buf_printf(out, "%-10s %s\n", cJSON_IsString(d->current) ? d->current->valuestring : "", name);
    }
}

/* Reads one of the lists and prints it. */
static enum err print_list(const cJSON *list, void (*print)(const struct peers *p, int64_t now_ms, struct buf *out),
                           int64_t now_ms, struct buf *out)
{
    struct peers peers;
    enum err e = read_peers(list, &peers, NULL);

    if (e)
        return e;
    print(&peers, now_ms, out);
    free(peers.all);
    return out->failed;
}

enum err devices_print(const cJSON *devices, int64_t now_ms, struct buf *out)
{
    struct devices_result r;
    enum err e = devices_result_read(devices, &r, NULL);

    if (!e)
        e = print_list(r.devices, print_devices, now_ms, out);
    return e ? e : print_list(r.builders, print_builders, now_ms, out);
}
