/* SPDX-License-Identifier: MIT */
#include "tuner/devices.h"

#include "core/buf.h"
#include "core/err.h"

#include <stdio.h>
#include <string.h>

#define NEWEST_JOBS 1000 /* looked at for their keys */

/* The next entry of a list from *at on; one that cannot be read is left out. */
static bool next_peer(const cJSON **at, struct peer_entry *out)
{
    while (*at) {
        const cJSON *entry = *at;

        *at = entry->next;
        if (peer_entry_read(entry, out, NULL) == ERR_OK)
            return true;
    }
    return false;
}
#define EACH_PEER(list, d) for (const cJSON *at_##d = (list) ? (list)->child : NULL; next_peer(&at_##d, &d);)

static bool is_gone(const struct peer_entry *d)
{
    return strcmp(d->state, "gone") == 0 || strcmp(d->state, "dead") == 0 || strcmp(d->state, "lost") == 0;
}

static void list_keys(const cJSON *list, struct buf *out)
{
    struct peer_entry d, q;

    EACH_PEER(list, d)
    {
        bool before = false;

        EACH_PEER(list, q)
        {
            if (q.agent == d.agent) /* the entry itself: texts are lent by its tree */
                break;
            before |= strcmp(q.key, d.key) == 0;
        }
        if (!before)
            buf_printf(out, "%s%s", out->len ? ", " : "", d.key);
    }
}

/* The only key of the list, or NULL when there are several. */
static const char *only_key(const cJSON *list)
{
    const char *key = NULL;
    struct peer_entry d;

    EACH_PEER(list, d)
    {
        if (key && strcmp(d.key, key) != 0)
            return NULL;
        key = d.key;
    }
    return key;
}

static int64_t capacity_of(const struct peer_entry *d)
{
    return d->capacity > DEVICES_CAPACITY ? d->capacity : DEVICES_CAPACITY;
}

static enum err take(const struct peer_entry *d, struct device_choice *out, struct why *why)
{
    enum err e = cJSON_IsObject(d->device) ? device_desc_from_json(d->device, &out->desc, why)
                                           : why_set(why, ERR_INPUT, "device %s does not say what it is", d->agent);

    if (e)
        return e;
    out->n_agents = 1;
    out->capacity = capacity_of(d);
    snprintf(out->key, sizeof out->key, "%s", d->key);
    snprintf(out->fingerprint.hex, sizeof out->fingerprint.hex, "%s", d->fingerprint);
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

static enum err choose(const cJSON *list, const char *key, struct device_choice *out, struct why *why)
{
    struct device_choice chosen = {.n_agents = 0};
    struct why bad = {""};
    struct peer_entry d;
    bool away = false;

    if (!list->child)
        return why_set(why, ERR_NOT_FOUND,
                       "no device is registered: start tune-agent --tracker URL where the device is");
    if (!*key && !(key = only_key(list)))
        return no_key(list, NULL, why);
    EACH_PEER(list, d)
    {
        if (strcmp(d.key, key) != 0)
            continue;
        if (is_gone(&d))
            away = true;
        else if (!chosen.n_agents)
            (void)take(&d, &chosen, &bad); /* one that cannot be read stops none that can */
        else if (strcmp(chosen.fingerprint.hex, d.fingerprint) == 0) {
            chosen.n_agents++;
            chosen.capacity += capacity_of(&d);
        }
    }
    if (!chosen.n_agents && bad.text[0])
        return why_set(why, ERR_INPUT, "%s", bad.text);
    if (!chosen.n_agents)
        return away ? why_set(why, ERR_NOT_FOUND, "all devices of the key \"%s\" are away", key)
                    : no_key(list, key, why);
    *out = chosen;
    return ERR_OK;
}

enum err devices_choose_from(const cJSON *devices, const char *key, struct device_choice *out, struct why *why)
{
    struct devices_result r;
    const enum err e = devices_result_read(devices, &r, why);

    return e ? e : choose(r.devices, key, out, why);
}

/* Of a key, "" = of any, as this client's own part of the farm or the part of the key knows them. */
static bool any_device(struct client *c, const char *key)
{
    const struct devices_args args = {.key = key};
    struct devices_result r;
    cJSON *tree = NULL;
    const bool any = client_devices(c, &args, &r, &tree, NULL) == ERR_OK && r.devices->child;

    cJSON_Delete(tree);
    return any;
}

bool devices_are_there(struct client *c, const char *key)
{
    return any_device(c, key);
}

/* Is its tracker away, or up for less than a lease? Agents that were there before its start come back one after the
 * other. */
static bool is_young(struct client *part)
{
    struct status_result r = {.started_ms = 0};
    cJSON *tree = NULL;
    const enum err e = client_status(part, NULL, &r, &tree, NULL);

    cJSON_Delete(tree);
    return e || r.now_ms - r.started_ms < r.lease_ms;
}

/* Behind a start of its tracker the key's part of the farm (all of it, where it has no parts) does not know all its
 * devices yet, and the other parts know theirs. */
static bool may_come(struct client *c, const char *key)
{
    struct client *part;

    return client_part(c, part_of_key(key, client_parts(c)), &part, NULL) != ERR_OK || is_young(part) ||
           any_device(part, key);
}

/* Of a key that nobody has; what other parts of the farm have, those that answer, is told, and decides nothing. */
static enum err explain_absence(struct client *c, const char *key, struct device_choice *out, struct why *why)
{
    cJSON *tree = NULL;
    enum err e = client_all_devices(c, NULL, &tree, why);

    if (!e || (e == ERR_UNREACHABLE && tree))
        e = devices_choose_from(tree, key, out, why);
    cJSON_Delete(tree);
    return e == ERR_INPUT && may_come(c, key) ? ERR_NOT_FOUND : e;
}

struct others {
    const char *key;
    bool may_come;
};

/* Behind the start of a part's tracker: do its newest jobs name another key? Their own devices may be on their way. */
static enum err look_for_others(struct client *part, int64_t number, void *others, struct why *why)
{
    const struct job_list_args args = {.state = "all", .max = NEWEST_JOBS};
    struct job_list_result r = {.jobs = NULL};
    struct others *o = others;
    struct job_entry j;
    cJSON *tree = NULL;

    (void)number;
    (void)why;
    if (!is_young(part) || client_job_list(part, &args, &r, &tree, NULL) != ERR_OK)
        return ERR_OK;
    for (const cJSON *entry = r.jobs->child; entry && !o->may_come; entry = entry->next)
        o->may_come = job_entry_read(entry, &j, NULL) == ERR_OK && j.key[0] && strcmp(j.key, o->key) != 0;
    cJSON_Delete(tree);
    return ERR_OK;
}

static bool others_may_come(struct client *c, const char *key)
{
    struct others o = {.key = key};

    return client_each_part(c, look_for_others, &o, NULL) == ERR_OK && o.may_come;
}

enum err devices_choose(struct client *c, const char *key, struct device_choice *out, struct why *why)
{
    struct device_choice chosen;
    cJSON *tree = NULL;
    enum err e;

    if (*key && !devices_are_there(c, key))
        return explain_absence(c, key, out, why);
    e = client_all_devices(c, key, &tree, why);
    if (!e)
        e = devices_choose_from(tree, key, &chosen, why);
    if (!e && !*key && others_may_come(c, chosen.key))
        e = why_set(
            why, ERR_NOT_FOUND,
            "the tracker has just started, and devices of other keys than \"%s\" may come back: choose one with "
            "--key, or wait",
            chosen.key);
    if (!e)
        *out = chosen;
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

    buf_printf(out, " %-9s %6.0f s %6lld %6lld  ", d->mode && strcmp(d->mode, "drain") == 0 ? "drained" : d->state,
               age_s > 0 ? age_s : 0, (long long)d->done, (long long)d->failed);
}

static void print_builders(const cJSON *list, int64_t now_ms, struct buf *out)
{
    struct peer_entry b;
    const cJSON *arch;
    int wide = 18;

    EACH_PEER(list, b)
    wide = wider(wide, b.agent);
    if (list && list->child)
        buf_printf(out, "\n%-*s %-9s %8s %6s %6s  %-12s %s\n", wide, "builder", "state", "seen", "done", "failed",
                   "compiler", "builds for");
    EACH_PEER(list, b)
    {
        buf_printf(out, "%-*s", wide, b.agent);
        print_figures(&b, now_ms, out);
        buf_printf(out, "%-12s", b.compiler);
        cJSON_ArrayForEach(arch, b.arches)
        {
            buf_printf(out, " %s", arch->valuestring);
        }
        buf_printf(out, "%s%.1024s\n", *b.cage ? ", cage " : "", b.cage);
    }
}

static void print_devices(const cJSON *list, int64_t now_ms, struct buf *out)
{
    int wide_key = 18, wide_agent = 22;
    struct peer_entry d;

    EACH_PEER(list, d)
    {
        wide_key = wider(wide_key, d.key);
        wide_agent = wider(wide_agent, d.agent);
    }
    buf_printf(out, "%-*s %-*s %-9s %8s %6s %6s  %-10s %s\n", wide_key, "key", wide_agent, "agent", "state", "seen",
               "done", "failed", "job", "device");
    EACH_PEER(list, d)
    {
        const char *name = "", *cage = "";

        json_text_or(d.device, "name", "", &name, NULL);
        json_text_or(d.device, "cage", "", &cage, NULL);
        buf_printf(out, "%-*s %-*s", wide_key, d.key, wide_agent, d.agent);
        print_figures(&d, now_ms, out);
        buf_printf(out, "%-10.60s %.60s%s%s%s%.1024s\n", cJSON_IsString(d.current) ? d.current->valuestring : "", name,
                   d.reserved ? ", reserved for " : "", d.reserved ? d.reserved : "", *cage ? ", cage " : "", cage);
    }
}

enum err devices_print(const cJSON *devices, int64_t now_ms, struct buf *out)
{
    struct devices_result r;
    const enum err e = devices_result_read(devices, &r, NULL);

    if (e)
        return e;
    print_devices(r.devices, now_ms, out);
    print_builders(r.builders, now_ms, out);
    return out->failed;
}
