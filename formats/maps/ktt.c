/* SPDX-License-Identifier: MIT */
/* ktt.c - results of KTT as records: "kernel NAME" (KTT saves no problem size), knobs by name, what the compiler said
 * of each kernel as resources. */
#include "formats/maps/own_kernel.h"

#include "core/err.h"
#include "core/json.h"
#include "formats/convert.h"

#include <string.h>

/* One kernel of a result; NULL without memory. */
static cJSON *resources_of(const cJSON *run)
{
    static const struct {
        const char *theirs, *ours;
    } names[] = {{"RegistersCount", "registers"},
                 {"LocalMemorySize", "local_bytes"},
                 {"ConstantMemorySize", "constant_bytes"},
                 {"MaxWorkGroupSize", "max_group"}};
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(run, "CompilationData");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(run, "KernelFunction");
    cJSON *object = cJSON_CreateObject();
    bool ok = object;

    json_add_text(object, "kernel", cJSON_IsString(name) ? name->valuestring : "", &ok);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(data, names[i].theirs);

        if (cJSON_IsNumber(v))
            json_add_real(object, names[i].ours, v->valuedouble, &ok);
    }
    if (ok)
        return object;
    cJSON_Delete(object);
    return NULL;
}

static enum err set_resources(const cJSON *runs, struct record *out)
{
    const cJSON *run;

    cJSON_ArrayForEach(run, runs)
    {
        cJSON *one = NULL;

        if (!json_has(run, "CompilationData"))
            continue;
        if (!out->resources)
            out->resources = cJSON_CreateArray();
        one = resources_of(run);
        if (!out->resources || !one || !cJSON_AddItemToArray(out->resources, one)) {
            cJSON_Delete(one);
            return ERR_NOMEM;
        }
    }
    return ERR_OK;
}

static enum err to_record(const struct foreign_row *row, struct record *out, struct why *why)
{
    const cJSON *api = cJSON_GetObjectItemCaseSensitive(row->args, "ComputeApi");
    enum err e = own_kernel_record(row, NULL, out, why);

    if (e)
        return e;
    e = set_resources(cJSON_GetObjectItemCaseSensitive(row->extra, "ComputationResults"), out);
    if (!e && out->device && cJSON_IsString(api) &&
        !cJSON_AddStringToObject(out->device, "api", strcmp(api->valuestring, "CUDA") == 0 ? "cuda" : "opencl"))
        e = ERR_NOMEM;
    if (e)
        record_fini(out);
    return e;
}

const struct convert_map map_ktt = {.format = "ktt", .to_record = to_record};
