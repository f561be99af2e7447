/* SPDX-License-Identifier: MIT */
/* What results of CLBlast's tuners mean here. They tell the device's name and units, not its limits: a device is made
 * that any of their configs fits on. */
#include "core/err.h"
#include "core/json.h"
#include "formats/knobs/clblast.h"
#include "formats/maps/carried.h"
#include "formats/convert.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(v) ? v->valuestring : "";
}

static void copy_text(char *to, size_t n, const char *text)
{
    assert(n > 0);
    snprintf(to, n, "%.*s", (int)n - 1, text);
}

static void describe(const struct foreign_row *row, struct device_desc *d)
{
    const char *type = text_of(row->extra, "device_type"), *name = row->target ? row->target : "";
    const int64_t units = strtoll(text_of(row->extra, "device_compute_units"), NULL, 10);

    *d = (struct device_desc){.api = "opencl",
                              .kind = strstr(name, "Mali")           ? DEVICE_MALI
                                      : strcasecmp(type, "cpu") == 0 ? DEVICE_CPU
                                                                     : DEVICE_GPU,
                              .units = units > 0 && units < 65536 ? units : 0,
                              .max_work_group = 1024,
                              .max_local = {1024, 1024, 1024},
                              .local_bytes = 65536,
                              .fp16 = strcmp(text_of(row->args, "precision"), "16") == 0};
    copy_text(d->name, sizeof d->name, name);
    copy_text(d->vendor, sizeof d->vendor, text_of(row->extra, "device_vendor"));
    copy_text(d->platform, sizeof d->platform, text_of(row->extra, "platform_vendor"));
    copy_text(d->platform_version, sizeof d->platform_version, text_of(row->extra, "platform_version"));
}

/* "Mali-T760 (r1p0)" -> "mali-t760--r1p0-" */
static void slug(const char *name, char *out, size_t n_out)
{
    size_t n = 0;

    for (; *name && n + 1 < n_out; name++)
        out[n++] = (char)(isalnum((unsigned char)*name) ? tolower((unsigned char)*name) : '-');
    out[n] = '\0';
}

static cJSON *device_of(const struct foreign_row *row, const struct device_desc *d)
{
    cJSON *device = device_desc_to_json(d), *kept = row->extra ? cJSON_Duplicate(row->extra, true) : NULL;
    bool ok = device && kept;

    cJSON_DeleteItemFromObjectCaseSensitive(kept, "tune");
    json_add_text(kept, "kernel_family", row->task, &ok);
    if (ok && cJSON_AddItemToObject(device, "clblast", kept))
        return device;
    cJSON_Delete(kept);
    cJSON_Delete(device);
    return NULL;
}

static enum err from_theirs(const struct foreign_row *row, struct record *out, struct why *why)
{
    const char *name = row->task ? row->task : "";
    const struct clblast_family *f = clblast_find(name);
    struct device_desc d;
    struct workload w;
    enum err e;

    if (!f)
        return why_set(why, ERR_UNSUPPORTED, "kernel family %.60s: no template here maps onto it", name);
    describe(row, &d);
    e = clblast_workload(f, row->args, &w, why);
    if (!e)
        e = clblast_knobs(f, &w, &d, row->knobs, &out->knobs, why);
    if (!e)
        e = carried_fill(row, &w, clblast_template(f), "clblast", out);
    if (e)
        return e;
    slug(d.name, out->key, sizeof out->key);
    out->device = device_of(row, &d);
    return out->device ? ERR_OK : ERR_NOMEM;
}

/* What the file says of its device: kept from where the record was read, else from our description. */
static enum err add_device(const struct record *r, const cJSON *kept, struct foreign_row *out, struct why *why)
{
    struct device_desc d;
    char units[32];
    bool ok = true;
    const enum err e = device_desc_from_json(r->device, &d, why);

    if (e)
        return why_prefix(why, ERR_UNSUPPORTED, "the record's device");
    out->target = strdup(d.name);
    if (kept) {
        out->extra = cJSON_Duplicate(kept, true);
        cJSON_DeleteItemFromObjectCaseSensitive(out->extra, "kernel_family");
        return out->target && out->extra ? ERR_OK : ERR_NOMEM;
    }
    snprintf(units, sizeof units, "%lld", (long long)d.units);
    out->extra = cJSON_CreateObject();
    json_add_text(out->extra, "clblast_device_type", d.kind == DEVICE_CPU ? "CPU" : "GPU", &ok);
    json_add_text(out->extra, "clblast_device_vendor", d.vendor, &ok);
    json_add_text(out->extra, "clblast_device_architecture", "default", &ok);
    json_add_text(out->extra, "clblast_device_name", d.name, &ok);
    json_add_text(out->extra, "device", d.name, &ok);
    json_add_text(out->extra, "platform_vendor", d.platform, &ok);
    json_add_text(out->extra, "platform_version", d.platform_version, &ok);
    json_add_text(out->extra, "device_vendor", d.vendor, &ok);
    json_add_text(out->extra, "device_type", d.kind == DEVICE_CPU ? "CPU" : "GPU", &ok);
    json_add_text(out->extra, "device_core_clock", "0", &ok);
    json_add_text(out->extra, "device_compute_units", units, &ok);
    json_add_text(out->extra, "device_extra_info", "", &ok);
    return ok && out->target ? ERR_OK : ERR_NOMEM;
}

static enum err write_row(const struct record *r, struct foreign_row *out, struct why *why)
{
    const struct clblast_family *f = clblast_of(r->template_id);
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(r->device, "clblast");
    struct workload w;
    bool ok = true;
    enum err e;

    if (!f)
        return why_set(why, ERR_UNSUPPORTED, "CLBlast has no kernel for %s", r->template_id);
    if (!record_may_be_best(r)) /* CLBlast takes the least of a file */
        return why_set(why, ERR_UNSUPPORTED, "status %s%s%s: CLBlast's files hold what was timed and verified in full",
                       status_name(r->status), *r->verified ? ", verified " : "", r->verified);
    e = r->workload ? workload_parse(r->workload, &w, why) : why_set(why, ERR_INPUT, "no workload");
    if (!e)
        e = clblast_args(f, &w, &out->args, why);
    if (!e)
        e = clblast_parameters(f, &w, r->knobs, &out->knobs, why);
    if (!e)
        e = add_device(r, kept, out, why);
    if (e)
        return e == ERR_INPUT ? ERR_UNSUPPORTED : e;
    out->time_s = r->time_ns / 1e9;
    out->task = strdup(kept ? text_of(kept, "kernel_family") : clblast_name(f));
    if (!json_has(out->extra, "kernel"))
        json_add_text(out->extra, "kernel", clblast_kernel(f), &ok);
    if (!kept && ok)
        ok = carried_add(r, out->extra) == ERR_OK;
    return ok && out->task ? ERR_OK : ERR_NOMEM;
}

static enum err from_record(const struct record *r, struct foreign_row *out, struct why *why)
{
    return carried_from_record(r, write_row, out, why);
}

static enum err to_record(const struct foreign_row *row, struct record *out, struct why *why)
{
    return carried_to_record(row, write_row, from_theirs, out, why);
}

const struct convert_map map_clblast = {.format = "clblast", .to_record = to_record, .from_record = from_record};
