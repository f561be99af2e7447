/* SPDX-License-Identifier: MIT */
#include "tests/formats/tophub.h"

#include "core/file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tophub_text(const cJSON *record, const char *name)
{
    const cJSON *v = cJSON_GetObjectItem(record, name);

    return cJSON_IsString(v) ? v->valuestring : "";
}

bool tophub_has_note(const cJSON *record, const char *note)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(record, "notes"))
    {
        if (strcmp(item->valuestring, note) == 0)
            return true;
    }
    return false;
}

static size_t each_of(const char *path, void (*each)(const cJSON *record, void *arg), void *arg)
{
    char *save = NULL;
    struct buf text;
    size_t n = 0;

    buf_init(&text, 1 << 24);
    if (file_read(path, &text, NULL) == ERR_OK)
        for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
            cJSON *record = cJSON_Parse(line);

            if (!record)
                continue;
            each(record, arg);
            cJSON_Delete(record);
            n++;
        }
    buf_fini(&text);
    return n;
}

size_t tophub_each(void (*each)(const cJSON *record, void *arg), void *arg)
{
    const char *data = getenv("TUNE_TEST_DATA");
    char pattern[4096];
    glob_t found;
    size_t n = 0;

    snprintf(pattern, sizeof pattern, "%s/tophub/*.jsonl", data ? data : "");
    if (!data || !*data || glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        n += each_of(found.gl_pathv[i], each, arg);
    globfree(&found);
    return n;
}

static long number(const cJSON *record, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(record, "workload"), name);

    return cJSON_IsNumber(v) ? (long)v->valuedouble : 0;
}

static long part(const cJSON *record, const char *name, int i)
{
    return (long)cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(record, "workload"), name), i)
        ->valuedouble;
}

static bool is_op(const cJSON *record, const char *op)
{
    return strcmp(tophub_text(cJSON_GetObjectItem(record, "workload"), "op"), op) == 0;
}

static const char *dtype_of(const cJSON *record)
{
    const char *d = tophub_text(record, "dtype");

    return strcmp(d, "float32") == 0 ? "f32" : strcmp(d, "float16") == 0 ? "f16" : "i8";
}

static void conv_workload(const cJSON *record, struct buf *out)
{
    const long groups = number(record, "groups");

    buf_printf(out, " n=%ld c=%ld h=%ld w=%ld", number(record, "N"), number(record, "C"), number(record, "H"),
               number(record, "W"));
    if (!is_op(record, "depthwise_conv2d"))
        buf_printf(out, " k=%ld", number(record, "K"));
    buf_printf(out, " r=%ld s=%ld stride=%ld,%ld pad=%ld,%ld,%ld,%ld dilation=%ld,%ld", number(record, "R"),
               number(record, "S"), part(record, "stride", 0), part(record, "stride", 1), part(record, "pad", 0),
               part(record, "pad", 1), part(record, "pad", 2), part(record, "pad", 3), part(record, "dilation", 0),
               part(record, "dilation", 1));
    if (is_op(record, "depthwise_conv2d"))
        buf_printf(out, " mult=%ld", number(record, "K") / number(record, "C"));
    else if (is_op(record, "deformable_conv2d"))
        buf_printf(out, " deformable_groups=%ld", number(record, "deformable_groups"));
    else if (groups > 1)
        buf_printf(out, " groups=%ld", groups);
}

void tophub_workload(const cJSON *record, struct buf *out)
{
    buf_printf(out, "%s %s", tophub_text(cJSON_GetObjectItem(record, "workload"), "op"), dtype_of(record));
    if (is_op(record, "dense"))
        buf_printf(out, " m=%ld n=%ld k=%ld", number(record, "M"), number(record, "Nout"), number(record, "Kin"));
    else if (is_op(record, "batch_gemm"))
        buf_printf(out, " b=%ld m=%ld n=%ld k=%ld", number(record, "B"), number(record, "M"), number(record, "Nout"),
                   number(record, "Kin"));
    else
        conv_workload(record, out);
    if (strcmp(dtype_of(record), "f16") == 0)
        buf_puts(out, " acc=f16");
}

const char *tophub_target(const cJSON *record)
{
    static char target[64];
    const char *device = tophub_text(record, "device");

    snprintf(target, sizeof target, strcmp(device, "rk3399") == 0 ? "opencl -model=%s -device=mali" : "cuda -model=%s",
             device);
    return target;
}

static cJSON *tensor(const cJSON *record, const double *dims, int n)
{
    cJSON *t = cJSON_CreateArray();

    cJSON_AddItemToArray(t, cJSON_CreateString("TENSOR"));
    cJSON_AddItemToArray(t, cJSON_CreateDoubleArray(dims, n));
    cJSON_AddItemToArray(t, cJSON_CreateString(tophub_text(record, "dtype")));
    return t;
}

static cJSON *copy_of(const cJSON *record, const char *name)
{
    return cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(record, "workload"), name), true);
}

static void conv_args(const cJSON *record, cJSON *args)
{
    const double n = (double)number(record, "N"), c = (double)number(record, "C"), k = (double)number(record, "K");
    const double r = (double)number(record, "R"), s = (double)number(record, "S"),
                 groups = (double)number(record, "groups");
    const double deformable = (double)number(record, "deformable_groups");
    const bool depthwise = is_op(record, "depthwise_conv2d");
    const char *task = tophub_text(record, "tvm_template");

    cJSON_AddItemToArray(args,
                         tensor(record, (double[]){n, c, (double)number(record, "H"), (double)number(record, "W")}, 4));
    if (deformable > 0)
        cJSON_AddItemToArray(
            args,
            tensor(record,
                   (double[]){n, deformable * 2 * r * s, (double)number(record, "P"), (double)number(record, "Q")}, 4));
    cJSON_AddItemToArray(args,
                         tensor(record, depthwise ? (double[]){c, k / c, r, s} : (double[]){k, c / groups, r, s}, 4));
    cJSON_AddItemToArray(args, copy_of(record, "stride"));
    cJSON_AddItemToArray(args, copy_of(record, "pad"));
    cJSON_AddItemToArray(args, copy_of(record, "dilation"));
    if (strcmp(task, "conv2d_NCHWc_int8.cuda") == 0)
        cJSON_AddItemToArray(args, cJSON_CreateString("NCHW"));
    if (deformable > 0)
        cJSON_AddItemToArray(args, cJSON_CreateNumber(deformable));
    if (deformable > 0 || strncmp(task, "group_", 6) == 0)
        cJSON_AddItemToArray(args, cJSON_CreateNumber(groups));
}

cJSON *tophub_args(const cJSON *record)
{
    const double b = (double)number(record, "B"), m = (double)number(record, "M");
    const double n = (double)number(record, "Nout"), k = (double)number(record, "Kin");
    cJSON *args = cJSON_CreateArray();

    if (is_op(record, "dense")) {
        cJSON_AddItemToArray(args, tensor(record, (double[]){m, k}, 2));
        cJSON_AddItemToArray(args, tensor(record, (double[]){n, k}, 2));
        cJSON_AddItemToArray(args, cJSON_CreateNull());
    } else if (is_op(record, "batch_gemm")) {
        cJSON_AddItemToArray(args, tensor(record, (double[]){b, m, k}, 3));
        cJSON_AddItemToArray(args, tensor(record, (double[]){b, n, k}, 3));
        return args; /* logs of that age end here */
    } else {
        conv_args(record, args);
    }
    cJSON_AddItemToArray(
        args, cJSON_CreateString(strcmp(dtype_of(record), "i8") == 0 ? "int32" : tophub_text(record, "dtype")));
    return args;
}

static const char *kind_of(const cJSON *knob)
{
    if (!cJSON_IsArray(knob))
        return "ot";
    if (cJSON_IsString(cJSON_GetArrayItem(knob, 0)))
        return "an";
    return strncmp(knob->string, "reorder", 7) == 0 ? "re" : "sp";
}

static cJSON *entity(const cJSON *record, const char *name, const cJSON *knob)
{
    cJSON *e = cJSON_CreateArray(), *value = cJSON_Duplicate(knob, true);

    if (tophub_has_note(record, "neg1") && strcmp(kind_of(knob), "sp") == 0)
        cJSON_SetNumberValue(cJSON_GetArrayItem(value, 0), -1);
    cJSON_AddItemToArray(e, cJSON_CreateString(name));
    cJSON_AddItemToArray(e, cJSON_CreateString(kind_of(knob)));
    cJSON_AddItemToArray(e, value);
    return e;
}

cJSON *tophub_entities(const cJSON *record)
{
    const bool swapped = tophub_has_note(record, "ryrx_swapped");
    cJSON *list = cJSON_CreateArray();
    const cJSON *knob;

    cJSON_ArrayForEach(knob, cJSON_GetObjectItem(record, "tvm_knobs"))
    {
        const char *name = knob->string;

        if (swapped && strcmp(name, "tile_ry") == 0)
            name = "tile_rx";
        else if (swapped && strcmp(name, "tile_rx") == 0)
            name = "tile_ry";
        cJSON_AddItemToArray(list, entity(record, name, knob));
    }
    return list;
}

void tophub_line(const cJSON *record, struct buf *out)
{
    cJSON *args = tophub_args(record), *entities = tophub_entities(record);
    char *a = cJSON_PrintUnformatted(args), *e = cJSON_PrintUnformatted(entities);

    buf_printf(out,
               "{\"input\": [\"%s\", \"%s\", %s, {}], \"config\": {\"index\": %.0f, \"code_hash\": null, "
               "\"entity\": %s}, \"result\": [[%.17g], 0, 1.78, 1538220265.3881273], \"version\": 0.2, "
               "\"tvm_version\": \"0.7.dev0\"}",
               tophub_target(record), tophub_text(record, "tvm_template"), a,
               cJSON_GetObjectItem(record, "tvm_index")->valuedouble, e,
               cJSON_GetObjectItem(record, "time_s")->valuedouble);
    free(a);
    free(e);
    cJSON_Delete(args);
    cJSON_Delete(entities);
}
