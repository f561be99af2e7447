/* SPDX-License-Identifier: MIT */
/* spec_args.c - the arguments of a job's kernel: types, memories, fills, and what is expected of outputs. */
#include "kernels/spec/spec_private.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names of T1, then those of C that files have as well. half3 and the like are padded on devices and refused. */
static const struct spec_type types[] = {
    {"float", DTYPE_F32, 1, 0, true, false, ARG_F32, "float"},
    {"float2", DTYPE_F32, 2, 0, true, false, -1, NULL},
    {"float4", DTYPE_F32, 4, 0, true, false, -1, NULL},
    {"float8", DTYPE_F32, 8, 0, true, false, -1, NULL},
    {"float16", DTYPE_F32, 16, 0, true, false, -1, NULL},
    {"double", DTYPE_F64, 1, 0, true, false, ARG_F64, "double"},
    {"double2", DTYPE_F64, 2, 0, true, false, -1, NULL},
    {"double4", DTYPE_F64, 4, 0, true, false, -1, NULL},
    {"double8", DTYPE_F64, 8, 0, true, false, -1, NULL},
    {"double16", DTYPE_F64, 16, 0, true, false, -1, NULL},
    {"half", DTYPE_F16, 1, 0, true, false, ARG_B16, "_Float16"},
    {"half2", DTYPE_F16, 2, 0, true, false, -1, NULL},
    {"half4", DTYPE_F16, 4, 0, true, false, -1, NULL},
    {"half8", DTYPE_F16, 8, 0, true, false, -1, NULL},
    {"half16", DTYPE_F16, 16, 0, true, false, -1, NULL},
    {"bool", DTYPE_U8, 1, 0, false, true, ARG_B8, "_Bool"},
    {"int8", DTYPE_I8, 1, 0, true, true, ARG_B8, "__INT8_TYPE__"},
    {"uint8", DTYPE_U8, 1, 0, false, true, ARG_B8, "__UINT8_TYPE__"},
    {"int16", DTYPE_U8, 2, 2, true, true, ARG_B16, "__INT16_TYPE__"},
    {"uint16", DTYPE_U8, 2, 2, false, true, ARG_B16, "__UINT16_TYPE__"},
    {"int32", DTYPE_I32, 1, 0, true, true, ARG_I32, "__INT32_TYPE__"},
    {"uint32", DTYPE_U8, 4, 4, false, true, ARG_U32, "__UINT32_TYPE__"},
    {"int64", DTYPE_U8, 8, 8, true, true, ARG_I64, "__INT64_TYPE__"},
    {"uint64", DTYPE_U8, 8, 8, false, true, ARG_I64, "__UINT64_TYPE__"},
    {"char", DTYPE_I8, 1, 0, true, true, ARG_B8, "__INT8_TYPE__"},
    {"uchar", DTYPE_U8, 1, 0, false, true, ARG_B8, "__UINT8_TYPE__"},
    {"short", DTYPE_U8, 2, 2, true, true, ARG_B16, "__INT16_TYPE__"},
    {"ushort", DTYPE_U8, 2, 2, false, true, ARG_B16, "__UINT16_TYPE__"},
    {"int", DTYPE_I32, 1, 0, true, true, ARG_I32, "__INT32_TYPE__"},
    {"uint", DTYPE_U8, 4, 4, false, true, ARG_U32, "__UINT32_TYPE__"},
    {"long", DTYPE_U8, 8, 8, true, true, ARG_I64, "__INT64_TYPE__"},
    {"ulong", DTYPE_U8, 8, 8, false, true, ARG_I64, "__UINT64_TYPE__"},
};

#define TYPE_NAMES                                                                                                     \
    "bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, half, float, double, or half, float, double "     \
    "with "                                                                                                            \
    "2, 4, 8 or 16 behind"

#define MAX_CUSTOM_BYTES 4096 /* of a struct of the kernel's own */

static const struct spec_type *type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* Elements of a type of the file's own are so many bytes. */
static enum err read_custom(const cJSON *o, struct spec_arg *a, struct why *why)
{
    const cJSON *size = spec_member(o, "TypeSize");
    const double n = cJSON_IsNumber(size) ? size->valuedouble : 0;

    if (!(n >= 1 && n <= MAX_CUSTOM_BYTES) || n != floor(n))
        return why_set(why, ERR_UNSUPPORTED, "%s.TypeSize: expected the bytes of an element, 1 to %d", a->where,
                       MAX_CUSTOM_BYTES);
    a->own = (struct spec_type){"custom", DTYPE_U8, (int)n, (int)n, false, true, -1, NULL};
    a->type = &a->own;
    return ERR_OK;
}

/* One of a few words, whatever their case; `out` keeps its value when the member is missing. */
static enum err read_choice(const cJSON *o, const char *where, const char *member, const char *const *words, int n,
                            int *out, struct why *why)
{
    const cJSON *item = spec_member(o, member);
    char known[256] = "";

    for (int i = 0; cJSON_IsString(item) && i < n; i++)
        if (strcasecmp(item->valuestring, words[i]) == 0) {
            *out = i;
            return ERR_OK;
        }
    if (!item)
        return ERR_OK;
    for (int i = 0; i < n; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, words[i], sizeof known - strlen(known) - 1);
    }
    return why_set(why, ERR_INPUT, "%s.%s: '%.40s' is not known: expected one of %s", where, member,
                   cJSON_IsString(item) ? item->valuestring : "(no text)", known);
}

/* Fills. */

static enum err read_value(const cJSON *o, const char *where, double *out, struct why *why)
{
    const cJSON *v = spec_member(o, "FillValue");

    if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
        return why_set(why, ERR_INPUT, "%s.FillValue: expected a number, that of each element%s", where,
                       v ? "" : ", or another FillType than Constant");
    *out = v->valuedouble;
    return ERR_OK;
}

static enum err read_generator(const struct spec *s, const cJSON *o, const char *where, struct spec_fill *out,
                               struct why *why)
{
    const char *text = NULL;
    struct buf ours;
    enum err e = spec_text(o, where, "DataSource", &text, why);

    buf_init(&ours, 8 * EXPR_MAX_TEXT);
    if (!e)
        e = spec_expression(s, text, where, &ours, why);
    if (!e && !(out->source = strdup(buf_text(&ours))))
        e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    buf_fini(&ours);
    return e;
}

static enum err read_seed(const cJSON *o, const char *where, uint64_t *out, struct why *why)
{
    const cJSON *seed = spec_member(o, "RandomSeed");

    if (!seed)
        return ERR_OK;
    if (!cJSON_IsNumber(seed) || !(fabs(seed->valuedouble) < (double)JSON_EXACT_MAX))
        return why_set(why, ERR_INPUT, "%s.RandomSeed: expected a number below 2^53", where);
    *out = (uint64_t)fabs(seed->valuedouble);
    return ERR_OK;
}

static enum err read_fill(const struct spec *s, const cJSON *o, const char *where, const cJSON *files,
                          struct spec_fill *out, struct why *why)
{
    static const char *const words[] = {"Constant", "Random", "Generator", "BinaryRaw", "Script", "BinaryHDF"};
    const char *source = NULL;
    int kind = SPEC_CONSTANT;
    enum err e = read_choice(o, where, "FillType", words, 6, &kind, why);

    if (e)
        return e;
    if (kind > SPEC_BINARY)
        return why_set(why, ERR_UNSUPPORTED, "%s.FillType: %s is not supported: Constant, Random, Generator, BinaryRaw",
                       where, words[kind]);
    out->kind = (enum spec_fill_kind)kind;
    if (kind == SPEC_GENERATOR)
        return read_generator(s, o, where, out, why);
    if (kind == SPEC_BINARY) {
        e = spec_text(o, where, "DataSource", &source, why);
        return e ? e : spec_file_hash(files, source, where, &out->file, why);
    }
    if (kind == SPEC_RANDOM && !spec_member(o, "FillValue"))
        out->value = 1;
    else
        e = read_value(o, where, &out->value, why);
    return e ? e : read_seed(o, where, &out->seed, why);
}

enum err spec_read_threshold(const cJSON *o, const char *where, bool *has, double *threshold,
                             enum check_relative *relative, struct why *why)
{
    static const char *const words[] = {"SideBySideComparison", "SideBySideRelativeComparison", "AbsoluteDifference"};
    const cJSON *value = spec_member(o, "ValidationThreshold");
    int method = 0;
    enum err e = read_choice(o, where, "ValidationMethod", words, 3, &method, why);

    if (e)
        return e;
    if (method == 2)
        return why_set(why, ERR_UNSUPPORTED,
                       "%s.ValidationMethod: AbsoluteDifference (a sum over all elements) is not supported: expected "
                       "SideBySideComparison or SideBySideRelativeComparison",
                       where);
    if (!value && !spec_member(o, "ValidationMethod"))
        return ERR_OK;
    if (value && (!cJSON_IsNumber(value) || !(value->valuedouble >= 0) || !isfinite(value->valuedouble)))
        return why_set(why, ERR_INPUT, "%s.ValidationThreshold: expected a number of at least 0", where);
    *has = true;
    *threshold = value ? value->valuedouble : 1e-4;
    *relative = method && *threshold > 0 ? RELATIVE_EACH : RELATIVE_NO;
    return ERR_OK;
}

/* Arguments. */

static enum err read_type(const cJSON *o, struct spec_arg *a, struct why *why)
{
    const char *name = NULL;
    enum err e = spec_text(o, a->where, "Type", &name, why);

    if (e)
        return e;
    if (strcmp(name, "custom") == 0)
        return read_custom(o, a, why);
    a->type = type_named(name);
    if (a->type)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s.Type: '%.40s' is not supported: expected %s", a->where, name, TYPE_NAMES);
}

/* The buffer's name: the argument's where it can be one, else argN. */
static enum err read_name(const struct spec *s, const cJSON *o, struct spec_arg *a, size_t i, struct why *why)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const cJSON *name = spec_member(o, "Name");
    const char *text = cJSON_IsString(name) ? name->valuestring : "";

    if (*text && strlen(text) < PROGRAM_ID_BYTES - 4 && !text[strspn(text, allowed)])
        snprintf(a->id, sizeof a->id, "%s", text);
    else
        snprintf(a->id, sizeof a->id, "arg%zu", i);
    for (size_t k = 0; k < i; k++)
        if (strcmp(s->args[k].id, a->id) == 0)
            return why_set(why, ERR_INPUT, "%s.Name: '%s' is the name of two arguments", a->where, a->id);
    return ERR_OK;
}

/* The number of an argument under its own name where that is free, so that sizes may say it. */
static enum err define_number(struct spec *s, struct spec_arg *a, const char *member, const cJSON *item, size_t i,
                              struct why *why)
{
    char where[SPEC_WHERE_BYTES + 16];
    const bool own = a->memory == SPEC_SCALAR && spec_is_free_name(s, a->id) && strcmp(a->id, "ProblemSize") != 0;

    snprintf(where, sizeof where, "%s.%s", a->where, member);
    if (own)
        snprintf(a->number, sizeof a->number, "%s", a->id);
    else
        snprintf(a->number, sizeof a->number, "Arguments.%zu.%s", i, member);
    return spec_define(s, a->number, item, where, why);
}

static enum err read_scalar(struct spec *s, const cJSON *o, struct spec_arg *a, size_t i, struct why *why)
{
    if (a->type->scalar < 0)
        return why_set(why, ERR_UNSUPPORTED,
                       "%s.Type: a scalar of type %s is not supported: expected bool, half, float, double or a whole "
                       "number of 8 to 64 bits",
                       a->where, a->type->name);
    if (!spec_member(o, "FillValue"))
        return why_set(why, ERR_INPUT, "%s.FillValue: expected the scalar's value", a->where);
    return define_number(s, a, "FillValue", spec_member(o, "FillValue"), i, why);
}

static enum err read_vector(struct spec *s, const cJSON *o, const cJSON *files, struct spec_arg *a, size_t i,
                            struct why *why)
{
    static const char *const accesses[] = {"ReadWrite", "ReadOnly", "WriteOnly"};
    const cJSON *size = spec_member(o, "Size"), *memory = spec_member(o, "MemType");
    int access = SPEC_READ_WRITE;
    enum err e = read_choice(o, a->where, "AccessType", accesses, 3, &access, why);

    if (e)
        return e;
    a->access = (enum spec_access)access;
    a->is_symbol |=
        s->lang == LANG_CUDA_C && cJSON_IsString(memory) && strcasecmp(memory->valuestring, "Constant") == 0;
    if (a->is_symbol && s->lang != LANG_CUDA_C)
        return why_set(
            why, ERR_UNSUPPORTED,
            "%s.MemoryType: Symbol is CUDA's: in OpenCL a Vector, which the kernel takes as __constant, in C "
            "a Vector",
            a->where);
    if (a->is_symbol &&
        strcmp(a->id, cJSON_IsString(spec_member(o, "Name")) ? spec_member(o, "Name")->valuestring : "") != 0)
        return why_set(why, ERR_INPUT, "%s.Name: expected the name of the __constant__ variable", a->where);
    if (a->is_symbol)
        a->access = SPEC_READ_ONLY;
    if (a->access != SPEC_WRITE_ONLY || spec_member(o, "FillType") || spec_member(o, "FillValue"))
        e = read_fill(s, o, a->where, files, &a->fill, why); /* else zeros, that nobody sees */
    if (!e && !size && a->fill.kind != SPEC_BINARY)
        e = why_set(why, ERR_INPUT, "%s.Size: expected the number of elements", a->where);
    return e || !size ? e : define_number(s, a, "Size", size, i, why);
}

bool spec_is_written(const struct spec_arg *a)
{
    return a->memory == SPEC_VECTOR && a->access != SPEC_READ_ONLY;
}

/* Output: what is compared. */
static enum err read_output(const cJSON *o, struct spec_arg *a, struct why *why)
{
    const cJSON *output = spec_member(o, "Output");

    a->is_output = cJSON_IsTrue(output) || (cJSON_IsNumber(output) && output->valuedouble == 1);
    if (output && !a->is_output && !cJSON_IsFalse(output) && !(cJSON_IsNumber(output) && output->valuedouble == 0))
        return why_set(why, ERR_INPUT, "%s.Output: expected 0 or 1", a->where);
    if (a->is_output && !spec_is_written(a))
        return why_set(why, ERR_INPUT, "%s.Output: '%s' is no vector that is written", a->where, a->id);
    return ERR_OK;
}

static enum err read_arg(struct spec *s, const cJSON *o, const cJSON *files, size_t i, struct why *why)
{
    static const char *const memories[] = {"Scalar", "Vector", "Local", "Symbol"};
    struct spec_arg *a = &s->args[i];
    int memory = SPEC_VECTOR;
    enum err e;

    assert(i == s->n_args && i < PROGRAM_MAX_ARGS);
    *a = (struct spec_arg){.fill = {.seed = i + 1}};
    snprintf(a->where, sizeof a->where, "KernelSpecification.Arguments[%zu]", i);
    if (!cJSON_IsObject(o))
        return why_set(why, ERR_INPUT, "%s: expected an object", a->where);
    e = read_choice(o, a->where, "MemoryType", memories, 4, &memory, why);
    a->is_symbol = memory == 3;
    a->memory = a->is_symbol ? SPEC_VECTOR : (enum spec_memory)memory;
    if (!e && a->memory == SPEC_LOCAL && spec_is_function(s))
        return why_set(why, ERR_UNSUPPORTED, "%s.MemoryType: Local: a function of C has no local memory", a->where);
    if (!e)
        e = read_type(o, a, why);
    if (!e)
        e = read_name(s, o, a, i, why);
    if (e)
        return e;
    s->n_args = i + 1;
    if (a->memory == SPEC_SCALAR)
        e = read_scalar(s, o, a, i, why);
    else if (a->memory == SPEC_VECTOR)
        e = read_vector(s, o, files, a, i, why);
    else if (!spec_member(o, "Size"))
        e = why_set(why, ERR_INPUT, "%s.Size: expected the number of elements", a->where);
    else
        e = define_number(s, a, "Size", spec_member(o, "Size"), i, why);
    return e ? e : read_output(o, a, why);
}

/* What is right, told by the file. */

static enum err read_expected(struct spec *s, const cJSON *o, const cJSON *files, size_t i, struct why *why)
{
    char where[SPEC_WHERE_BYTES];
    const char *target = NULL;
    enum err e;

    snprintf(where, sizeof where, "KernelSpecification.ReferenceArguments[%zu]", i);
    e = spec_text(o, where, "TargetName", &target, why);
    for (size_t k = 0; k < s->n_args && !e; k++) {
        struct spec_arg *a = &s->args[k];

        if (strcmp(a->id, target) != 0)
            continue;
        if (!spec_is_written(a) || a->is_expected)
            return why_set(why, ERR_INPUT, "%s.TargetName: '%s' is no vector that is written, or named twice", where,
                           target);
        e = read_fill(s, o, where, files, &a->expected, why);
        if (!e && a->expected.kind == SPEC_RANDOM)
            e = why_set(why, ERR_INPUT, "%s.FillType: random numbers are not what is right", where);
        a->is_expected = !e;
        return e ? e : spec_read_threshold(o, where, &a->has_threshold, &a->threshold, &a->relative, why);
    }
    return e ? e : why_set(why, ERR_INPUT, "%s.TargetName: no argument is named '%.40s'", where, target);
}

enum err spec_read_args(struct spec *s, const cJSON *kernel, const cJSON *files, struct why *why)
{
    const cJSON *args = spec_member(kernel, "Arguments"), *expected = spec_member(kernel, "ReferenceArguments"), *item;
    size_t i = 0;
    enum err e = ERR_OK;

    if (!cJSON_IsArray(args))
        return why_set(why, ERR_INPUT, "KernelSpecification.Arguments: expected an array");
    cJSON_ArrayForEach(item, args)
    {
        if (!e && i == PROGRAM_MAX_ARGS)
            e = why_set(why, ERR_LIMIT, "KernelSpecification.Arguments: more than %d", PROGRAM_MAX_ARGS);
        if (!e)
            e = read_arg(s, item, files, i++, why);
    }
    if (!e && expected && !cJSON_IsArray(expected))
        e = why_set(why, ERR_INPUT, "KernelSpecification.ReferenceArguments: expected an array");
    i = 0;
    cJSON_ArrayForEach(item, expected)
    {
        if (!e)
            e = read_expected(s, item, files, i++, why);
    }
    return e;
}
