/* SPDX-License-Identifier: MIT */
/* kernel_tuner.c - results of Kernel Tuner as records: "kernel NAME problem_size=4096,4096", knobs by name. Energy in
 * joules where an observer measured it (nvml_energy, ps_energy). */
#include "formats/maps/own_kernel.h"

#include "core/err.h"
#include "core/json.h"
#include "formats/convert.h"

#include <math.h>

static double energy_of(const cJSON *extra)
{
    static const char *const names[] = {"nvml_energy", "ps_energy"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(extra, names[i]);

        if (cJSON_IsNumber(v) && isfinite(v->valuedouble) && v->valuedouble > 0)
            return v->valuedouble;
    }
    return 0;
}

static enum err to_record(const struct foreign_row *row, struct record *out, struct why *why)
{
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(row->args, "problem_size");
    cJSON *sizes = cJSON_CreateObject(), *copy = size ? cJSON_Duplicate(size, true) : NULL;
    enum err e = ERR_NOMEM;

    if (copy && !(sizes && cJSON_AddItemToObject(sizes, "problem_size", copy)))
        cJSON_Delete(copy);
    else if (sizes && !size == !copy)
        e = own_kernel_record(row, sizes, out, why);
    cJSON_Delete(sizes);
    if (!e)
        out->energy_j = energy_of(row->extra);
    return e;
}

const struct convert_map map_kernel_tuner = {.format = "kernel_tuner", .to_record = to_record};
