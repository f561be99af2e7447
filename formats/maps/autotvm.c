/* SPDX-License-Identifier: MIT */
/* What AutoTVM's log lines mean here. A line of ours carries the whole record as text in a member of its own, "tune",
 * which TVM does not look at; it counts as long as task, arguments, entities and result still say the same. A record
 * made of another's line keeps in its device what TVM said ("tvm") and what tune has no word for. */
#include "core/err.h"
#include "core/json.h"
#include "formats/knobs/tvm.h"
#include "formats/maps/carried.h"
#include "formats/convert.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT "tvm" /* member of a record's device: task, args, entity and the row's extra */
#define OURS "tune"

/* Names for what is read and written of one line. */
struct meaning {
    const struct tvm_task *task;
    struct workload w;
    struct device_desc d;
    char key[TVM_KEY_BYTES];
    bool known;
};

static enum err no_task(const char *name, struct why *why)
{
    return why_set(why, ERR_UNSUPPORTED, "task %.80s: no template here maps onto it", name);
}

static enum err understand(const struct foreign_row *row, struct meaning *m, struct why *why)
{
    const char *name = row->task ? row->task : "";
    enum err e;

    m->task = tvm_task_find(name);
    if (!m->task)
        return no_task(name, why);
    e = tvm_device(row->target ? row->target : "", &m->d, m->key, &m->known, why);
    return e ? e : tvm_workload(m->task, row->args, &m->w, why);
}

static cJSON *copy_or_null(const cJSON *item)
{
    return item ? cJSON_Duplicate(item, true) : cJSON_CreateNull();
}

/* The description of the device, and what the line said. */
static cJSON *device_of(const struct foreign_row *row, const struct meaning *m)
{
    cJSON *device = device_desc_to_json(&m->d), *kept = row->extra ? cJSON_Duplicate(row->extra, true) : NULL;
    bool ok = device && kept;

    cJSON_DeleteItemFromObjectCaseSensitive(kept, OURS);
    json_add_text(device, "target", row->target, &ok);
    json_add_bool(device, "known", m->known, &ok);
    json_add_text(kept, "task", row->task, &ok);
    json_add_item(kept, "args", copy_or_null(row->args), &ok);
    json_add_item(kept, "entity", copy_or_null(row->knobs), &ok);
    if (ok && cJSON_AddItemToObject(device, KEPT, kept))
        return device;
    cJSON_Delete(kept);
    cJSON_Delete(device);
    return NULL;
}

static enum err fill(const struct foreign_row *row, const struct meaning *m, struct record *r)
{
    const enum err e = carried_fill(row, &m->w, tvm_task_template(m->task), "autotvm", r);

    snprintf(r->key, sizeof r->key, "%s", m->key);
    r->device = device_of(row, m);
    return e || r->device ? e : ERR_NOMEM;
}

static enum err from_theirs(const struct foreign_row *row, struct record *out, struct why *why)
{
    struct meaning m;
    enum err e = understand(row, &m, why);

    if (!e)
        e = tvm_knobs(m.task, &m.w, &m.d, row->knobs, &out->knobs, why);
    return e ? e : fill(row, &m, out);
}

/* Writing. The task, arguments and entities that the record's line had, where they mean its knobs still. */
static bool take_kept(const struct record *r, const struct workload *w, const cJSON *kept, struct foreign_row *out)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(kept, "task");
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(kept, "args");
    const cJSON *entity = cJSON_GetObjectItemCaseSensitive(kept, "entity");
    const struct tvm_task *t = cJSON_IsString(name) ? tvm_task_find(name->valuestring) : NULL;
    struct device_desc d;
    struct workload same;
    cJSON *knobs = NULL;
    bool ok;

    if (!t || device_desc_from_json(r->device, &d, NULL) || tvm_workload(t, args, &same, NULL) || same.op != w->op ||
        same.dtype != w->dtype || memcmp(same.key, w->key, sizeof same.key) != 0 ||
        tvm_knobs(t, w, &d, entity, &knobs, NULL))
        return false;
    ok = cJSON_Compare(knobs, r->knobs, true);
    cJSON_Delete(knobs);
    if (!ok)
        return false;
    out->task = strdup(name->valuestring);
    out->args = cJSON_Duplicate(args, true);
    out->knobs = cJSON_Duplicate(entity, true);
    out->extra = cJSON_Duplicate(kept, true);
    cJSON_DeleteItemFromObjectCaseSensitive(out->extra, "task");
    cJSON_DeleteItemFromObjectCaseSensitive(out->extra, "args");
    cJSON_DeleteItemFromObjectCaseSensitive(out->extra, "entity");
    assert(out->n_samples == 0);
    for (size_t i = 0; i < r->n_samples && i < RECORD_MAX_SAMPLES; i++)
        out->samples_s[out->n_samples++] = r->samples_ns[i] / 1e9;
    return true;
}

static enum err make_new(const struct record *r, const struct workload *w, struct foreign_row *out, struct why *why)
{
    const struct tvm_task *t = tvm_task_of(r->template_id, w);
    uint64_t index = 0, size;
    bool ok = true;
    enum err e;

    if (!t)
        return why_set(why, ERR_UNSUPPORTED, "TVM has no task for %s, dtype %s", r->template_id, dtype_name(w->dtype));
    e = tvm_args(t, w, &out->args, why);
    if (!e)
        e = tvm_entities(t, w, r->knobs, &out->knobs, why);
    if (!e)
        e = tvm_index(t, w, out->knobs, &index, &size, why);
    if (e)
        return e;
    out->task = strdup(tvm_task_name(t));
    out->extra = cJSON_CreateObject();
    json_add_real(out->extra, "index", (double)index, &ok);
    json_add_item(out->extra, "code_hash", cJSON_CreateNull(), &ok);
    if (r->status == STATUS_TIMEOUT && strcmp(r->stage, "build") == 0)
        json_add_i64(out->extra, "error_no", 6, &ok);
    json_add_real(out->extra, "all_cost", (r->build_ms + r->verify_ms + r->device_ms) / 1e3, &ok);
    return ok && out->task ? carried_add(r, out->extra) : ERR_NOMEM;
}

static enum err target_of(const struct record *r, const char *task, char **out, struct why *why)
{
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(r->device, "target");
    char target[160];
    struct device_desc d;
    enum err e = ERR_OK;

    if (!cJSON_IsString(kept))
        e = device_desc_from_json(r->device, &d, why);
    if (e)
        return why_prefix(why, ERR_UNSUPPORTED, "the record's device");
    if (!cJSON_IsString(kept))
        tvm_target(&d, task, r->key, target, sizeof target);
    *out = strdup(cJSON_IsString(kept) ? kept->valuestring : target);
    return *out ? ERR_OK : ERR_NOMEM;
}

static enum err write_row(const struct record *r, struct foreign_row *out, struct why *why)
{
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(r->device, KEPT);
    struct workload w;
    enum err e = r->workload ? workload_parse(r->workload, &w, why) : why_set(why, ERR_INPUT, "no workload");

    if (e)
        return e == ERR_INPUT ? ERR_UNSUPPORTED : e;
    if (r->status == STATUS_LOST)
        return why_set(why, ERR_UNSUPPORTED, "a lost trial: TVM has no word for what was never measured");
    out->status = r->status;
    out->time_s = r->time_ns / 1e9;
    out->ts_ms = r->ts_ms;
    if (!kept || !take_kept(r, &w, kept, out))
        e = make_new(r, &w, out, why);
    return e ? e : target_of(r, out->task, &out->target, why);
}

static enum err from_record(const struct record *r, struct foreign_row *out, struct why *why)
{
    return carried_from_record(r, write_row, out, why);
}

static enum err to_record(const struct foreign_row *row, struct record *out, struct why *why)
{
    return carried_to_record(row, write_row, from_theirs, out, why);
}

const struct convert_map map_autotvm = {.format = "autotvm", .to_record = to_record, .from_record = from_record};
