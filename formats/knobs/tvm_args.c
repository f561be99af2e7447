/* SPDX-License-Identifier: MIT */
/* A task's positional arguments as a line of workload text, and back. A tensor is ["TENSOR", [sizes], "float32"]. */
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/build.h"
#include "kernels/conv/shape.h"
#include "formats/knobs/tvm_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIMS 6

/* Reading arguments from the first on; the first error is kept and later reads do nothing. */
struct args {
    const cJSON *list;
    int at, n;
    struct why *why;
    enum err e;
};

struct tvm_tensor {
    int n_dims;
    int64_t dims[MAX_DIMS];
    const char *dtype;
};

static const struct {
    const char *theirs;
    enum dtype ours;
    const char *output; /* what TVM's out_dtype must be */
} dtypes[] = {{"float32", DTYPE_F32, "float32"}, {"float16", DTYPE_F16, "float16"}, {"int8", DTYPE_I8, "int32"}};

#define N_DTYPES (int)(sizeof dtypes / sizeof dtypes[0])

static int dtype_at(const char *name)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].theirs, name) == 0)
            return i;
    return -1;
}

static const cJSON *next(struct args *a)
{
    return a->e ? NULL : cJSON_GetArrayItem(a->list, a->at++);
}

static void refuse(struct args *a, const char *expected)
{
    if (!a->e)
        a->e = why_set(a->why, ERR_INPUT, "argument %d of %d: expected %s", a->at, a->n, expected);
}

static bool is_size(const cJSON *v, int64_t least)
{
    return cJSON_IsNumber(v) && v->valuedouble >= (double)least && v->valuedouble <= (double)IMAGES_MAX_SIZE &&
           v->valuedouble == (double)(int64_t)v->valuedouble;
}

static void read_sizes(struct args *a, const cJSON *list, int64_t least, int n_most, int *n, int64_t *out)
{
    const cJSON *item;

    *n = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > n_most) {
        refuse(a, "a list of sizes");
        return;
    }
    cJSON_ArrayForEach(item, list)
    {
        if (!is_size(item, least)) {
            refuse(a, "whole sizes up to 2^24");
            return;
        }
        assert(*n < n_most);
        out[(*n)++] = (int64_t)item->valuedouble;
    }
}

static struct tvm_tensor read_tensor(struct args *a)
{
    struct tvm_tensor t = {.dtype = ""};
    const cJSON *v = next(a), *kind = cJSON_GetArrayItem(v, 0), *type = cJSON_GetArrayItem(v, 2);

    if (a->e)
        return t;
    if (!cJSON_IsArray(v) || !cJSON_IsString(kind) || strcmp(kind->valuestring, "TENSOR") != 0 || !cJSON_IsString(type))
        refuse(a, "[\"TENSOR\", [sizes], type]");
    else
        read_sizes(a, cJSON_GetArrayItem(v, 1), 1, MAX_DIMS, &t.n_dims, t.dims);
    if (!a->e)
        t.dtype = type->valuestring;
    return t;
}

/* One number for both, or two. */
static void read_pair(struct args *a, int64_t out[2])
{
    const cJSON *v = next(a);
    int n = 1;

    out[0] = out[1] = 1;
    if (a->e)
        return;
    if (is_size(v, 1))
        out[0] = out[1] = (int64_t)v->valuedouble;
    else
        read_sizes(a, v, 1, 2, &n, out);
    if (!is_size(v, 1) && n != 2)
        refuse(a, "one number or two");
}

/* One number for all, two (rows, columns) or four (top left bottom right). */
static void read_pad(struct args *a, int64_t out[4])
{
    const cJSON *v = next(a);
    int n = 1;

    memset(out, 0, 4 * sizeof *out);
    if (a->e || (cJSON_IsString(v) && strcmp(v->valuestring, "VALID") == 0))
        return;
    if (is_size(v, 0))
        out[0] = (int64_t)v->valuedouble;
    else
        read_sizes(a, v, 0, 4, &n, out);
    if (n == 1)
        out[1] = out[2] = out[3] = out[0];
    if (n == 2) {
        out[2] = out[0];
        out[3] = out[1];
    }
    if (n == 0 || n == 3)
        refuse(a, "a padding of 1, 2 or 4 numbers");
}

static int64_t read_number(struct args *a)
{
    const cJSON *v = next(a);

    if (a->e || is_size(v, 1))
        return a->e ? 1 : (int64_t)v->valuedouble;
    refuse(a, "a whole number");
    return 1;
}

static void read_word(struct args *a, const char *wanted)
{
    const cJSON *v = next(a);

    if (!a->e && (!cJSON_IsString(v) || strcmp(v->valuestring, wanted) != 0))
        a->e = why_set(a->why, ERR_UNSUPPORTED, "argument %d of %d: tune computes %s only", a->at, a->n, wanted);
}

/* The output's type, or null for that of the data. */
static void read_out_dtype(struct args *a, const char *data)
{
    const cJSON *v = next(a);
    const int i = dtype_at(data);

    if (a->e || i < 0)
        return;
    if (!cJSON_IsString(v) && !cJSON_IsNull(v))
        refuse(a, "a type");
    else if (strcmp(cJSON_IsNull(v) ? data : v->valuestring, dtypes[i].output) != 0)
        a->e = why_set(a->why, ERR_UNSUPPORTED, "an output of %.20s over %s; tune's is %s",
                       cJSON_IsNull(v) ? data : v->valuestring, data, dtypes[i].output);
}

static void begin(const struct tvm_task *t, struct args *a, const char *dtype, const char *other, struct buf *text)
{
    const int i = dtype_at(dtype);

    if (a->e)
        return;
    if (i < 0 || !(t->dtypes & (1u << dtypes[i].ours)))
        a->e = why_set(a->why, ERR_UNSUPPORTED, "%s: dtype %.20s is not computed here", t->name, dtype);
    else if (strcmp(dtype, other) != 0)
        a->e = why_set(a->why, ERR_UNSUPPORTED, "%s: factors of two types, %.20s and %.20s", t->name, dtype, other);
    else
        buf_printf(text, "%s %s", t->op, dtype_name(dtypes[i].ours));
}

/* Sizes of data and kernel, in four dimensions each or in fours of channels. */
static void conv_sizes(const struct tvm_task *t, struct args *a, const struct tvm_tensor *x, const struct tvm_tensor *k,
                       int64_t groups, struct buf *text)
{
    const bool fours = x->n_dims == 5 && k->n_dims == 6 && x->dims[4] == 4 && k->dims[4] == 4 && k->dims[5] == 4;
    const int64_t lanes = fours ? 4 : 1, c = x->dims[1] * lanes;
    const bool depthwise = strcmp(t->op, "depthwise_conv2d") == 0;

    if (a->e)
        return;
    if ((x->n_dims != 4 || k->n_dims != 4) && !fours)
        a->e = why_set(a->why, ERR_UNSUPPORTED, "%s: data of %d and a kernel of %d dimensions, not 4 and 4%s", t->name,
                       x->n_dims, k->n_dims, t->dtypes & (1u << DTYPE_I8) ? " or 5 and 6 by fours" : "");
    else if (depthwise ? k->dims[0] != c : k->dims[1] * lanes * groups != c)
        a->e = why_set(a->why, ERR_INPUT, "%s: a kernel for %lld channels over data of %lld", t->name,
                       (long long)(depthwise ? k->dims[0] : k->dims[1] * lanes * groups), (long long)c);
    if (a->e)
        return;
    buf_printf(text, " n=%lld c=%lld h=%lld w=%lld", (long long)x->dims[0], (long long)c, (long long)x->dims[2],
               (long long)x->dims[3]);
    if (!depthwise)
        buf_printf(text, " k=%lld", (long long)(k->dims[0] * lanes));
    buf_printf(text, " r=%lld s=%lld", (long long)k->dims[2], (long long)k->dims[3]);
    if (depthwise)
        buf_printf(text, " mult=%lld", (long long)k->dims[1]);
    if (fours)
        buf_puts(text, " layout=nchw4c");
}

static void conv_steps(struct args *a, struct buf *text)
{
    int64_t stride[2], pad[4], dilation[2];

    read_pair(a, stride);
    read_pad(a, pad);
    read_pair(a, dilation);
    buf_printf(text, " stride=%lld,%lld pad=%lld,%lld,%lld,%lld dilation=%lld,%lld", (long long)stride[0],
               (long long)stride[1], (long long)pad[0], (long long)pad[1], (long long)pad[2], (long long)pad[3],
               (long long)dilation[0], (long long)dilation[1]);
}

static void read_conv(const struct tvm_task *t, struct args *a, struct buf *text)
{
    const struct tvm_tensor x = read_tensor(a);
    const struct tvm_tensor offset = t->form == FORM_DEFORMABLE ? read_tensor(a) : x;
    const struct tvm_tensor k = read_tensor(a);
    struct buf steps;
    int64_t groups = 1;

    buf_init(&steps, WORKLOAD_MAX_TEXT);
    begin(t, a, x.dtype, k.dtype, text);
    conv_steps(a, &steps);
    if (t->form == FORM_CONV_I8)
        read_word(a, x.n_dims == 5 ? "NCHW4c" : "NCHW");
    if (t->form == FORM_DEFORMABLE)
        buf_printf(&steps, " deformable_groups=%lld", (long long)read_number(a));
    if (t->form == FORM_CONV_GROUP || t->form == FORM_DEFORMABLE)
        groups = read_number(a);
    read_out_dtype(a, x.dtype);
    conv_sizes(t, a, &x, &k, groups, text);
    if (!a->e && groups > 1 && !t->grouped)
        a->e = why_set(a->why, ERR_UNSUPPORTED, "%s: groups=%lld; tune's has one group", t->name, (long long)groups);
    if (!a->e && t->form == FORM_DEFORMABLE && strcmp(offset.dtype, x.dtype) != 0)
        a->e = why_set(a->why, ERR_UNSUPPORTED, "%s: offsets of type %.20s", t->name, offset.dtype);
    buf_puts(text, buf_text(&steps));
    if (t->grouped)
        buf_printf(text, " groups=%lld", (long long)groups);
    buf_fini(&steps);
}

/* x[m,k] w[n,k], or with a batch in front; TVM's batch of one factor may be 1 and shared, ours not. */
static void read_product(const struct tvm_task *t, struct args *a, struct buf *text)
{
    const struct tvm_tensor x = read_tensor(a), w = read_tensor(a);
    const int batch = t->form == FORM_BATCH;

    begin(t, a, x.dtype, w.dtype, text);
    if (a->e)
        return;
    if (x.n_dims != 2 + batch || w.n_dims != 2 + batch)
        a->e = why_set(a->why, ERR_INPUT, "%s: expected factors of %d dimensions", t->name, 2 + batch);
    else if (x.dims[1 + batch] != w.dims[1 + batch] || (batch && x.dims[0] != w.dims[0]))
        a->e = why_set(a->why, ERR_UNSUPPORTED, "%s: factors whose %s differ", t->name,
                       x.dims[1 + batch] != w.dims[1 + batch] ? "terms" : "batches");
    if (batch)
        buf_printf(text, " b=%lld", (long long)x.dims[0]);
    buf_printf(text, " m=%lld n=%lld k=%lld", (long long)x.dims[batch], (long long)w.dims[batch],
               (long long)x.dims[1 + batch]);
}

static void read_dense(const struct tvm_task *t, struct args *a, struct buf *text)
{
    const struct tvm_tensor x = read_tensor(a);

    a->at = 0;
    read_product(t, a, text);
    if (!a->e && !cJSON_IsNull(cJSON_GetArrayItem(a->list, a->at))) {
        const struct tvm_tensor bias = read_tensor(a);

        if (!a->e && bias.n_dims != 1)
            refuse(a, "a bias of one dimension or null");
        buf_puts(text, " epilogue=bias");
    } else {
        a->at++;
    }
    read_out_dtype(a, x.dtype);
}

static void read_flag(struct args *a, bool wanted)
{
    const cJSON *v = next(a);

    if (a->e)
        return;
    if (!cJSON_IsBool(v) && !cJSON_IsNumber(v))
        refuse(a, "true or false");
    else if ((cJSON_IsTrue(v) || (cJSON_IsNumber(v) && v->valuedouble != 0)) != wanted)
        a->e = why_set(a->why, ERR_UNSUPPORTED, "argument %d of %d: tune's product is of x[b,m,k] and y[b,n,k]", a->at,
                       a->n);
}

/* Logs before TVM 0.8 end early. */
static void read_batch(const struct tvm_task *t, struct args *a, struct buf *text)
{
    const struct tvm_tensor x = read_tensor(a);

    a->at = 0;
    read_product(t, a, text);
    a->at++; /* the shape of the output follows */
    if (!a->e && a->at < a->n)
        read_out_dtype(a, x.dtype);
    if (!a->e && a->at < a->n)
        read_flag(a, false);
    if (!a->e && a->at < a->n)
        read_flag(a, true);
}

/* Least and most arguments, by form. */
static const struct {
    int least, most;
} arity[] = {[FORM_CONV] = {6, 6},       [FORM_CONV_I8] = {7, 7}, [FORM_CONV_GROUP] = {7, 7},
             [FORM_DEFORMABLE] = {9, 9}, [FORM_DENSE] = {4, 4},   [FORM_BATCH] = {2, 6}};

enum err tvm_workload(const struct tvm_task *t, const cJSON *list, struct workload *out, struct why *why)
{
    struct args a = {.list = list, .n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1, .why = why};
    struct buf text;

    if (a.n < arity[t->form].least || a.n > arity[t->form].most)
        return why_set(why, ERR_INPUT, "%s with %d arguments: expected %d", t->name, a.n, arity[t->form].most);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (t->form == FORM_DENSE)
        read_dense(t, &a, &text);
    else if (t->form == FORM_BATCH)
        read_batch(t, &a, &text);
    else
        read_conv(t, &a, &text);
    if (!a.e && strncmp(buf_text(&text) + strlen(t->op), " f16", 4) == 0)
        buf_puts(&text, " acc=f16");
    if (!a.e)
        a.e = text.failed ? text.failed : workload_parse(buf_text(&text), out, why);
    buf_fini(&text);
    return a.e;
}

/* Writing: the first lack of memory turns `ok` false. */
static void push(cJSON *list, cJSON *item, bool *ok)
{
    if (!item || !cJSON_AddItemToArray(list, item)) {
        cJSON_Delete(item);
        *ok = false;
    }
}

static cJSON *numbers(const int64_t *v, int n, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (int i = 0; list && i < n; i++)
        push(list, cJSON_CreateNumber((double)v[i]), ok);
    return list;
}

static void push_tensor(cJSON *list, const char *dtype, const int64_t *dims, int n, bool *ok)
{
    cJSON *t = cJSON_CreateArray();

    push(t, cJSON_CreateString("TENSOR"), ok);
    push(t, numbers(dims, n, ok), ok);
    push(t, cJSON_CreateString(dtype), ok);
    push(list, t, ok);
}

static void push_images(cJSON *list, const char *dtype, bool fours, const int64_t d[4], bool *ok)
{
    const int64_t blocks[] = {d[0], d[1] / 4, d[2], d[3], 4};

    push_tensor(list, dtype, fours ? blocks : d, fours ? 5 : 4, ok);
}

static void push_kernel(cJSON *list, const char *dtype, bool fours, const int64_t d[4], bool *ok)
{
    const int64_t blocks[] = {d[0] / 4, d[1] / 4, d[2], d[3], 4, 4};

    push_tensor(list, dtype, fours ? blocks : d, fours ? 6 : 4, ok);
}

static void write_conv(const struct tvm_task *t, const struct workload *w, const char *dtype, cJSON *list, bool *ok)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool fours = z.x_lanes == 4, depthwise = workload_has(w, "mult");
    const int64_t stride[] = {z.stride_h, z.stride_w}, dilation[] = {z.dil_h, z.dil_w};
    const int64_t pad[] = {z.top, z.left, z.bottom, z.right};
    const int64_t deformed = t->form == FORM_DEFORMABLE ? workload_get(w, "deformable_groups") : 0;

    push_images(list, dtype, fours, (const int64_t[]){z.n, z.c, z.h, z.w}, ok);
    if (deformed)
        push_tensor(list, dtype, (const int64_t[]){z.n, deformed * 2 * z.r * z.s, z.p, z.q}, 4, ok);
    if (depthwise)
        push_tensor(list, dtype, (const int64_t[]){z.c, z.k / z.c, z.r, z.s}, 4, ok);
    else
        push_kernel(list, dtype, fours, (const int64_t[]){z.k, z.c / z.groups, z.r, z.s}, ok);
    push(list, numbers(stride, 2, ok), ok);
    push(list, numbers(pad, 4, ok), ok);
    push(list, numbers(dilation, 2, ok), ok);
    if (t->form == FORM_CONV_I8)
        push(list, cJSON_CreateString(fours ? "NCHW4c" : "NCHW"), ok);
    if (deformed)
        push(list, cJSON_CreateNumber((double)deformed), ok);
    if (t->form == FORM_CONV_GROUP || deformed)
        push(list, cJSON_CreateNumber((double)z.groups), ok);
}

static void write_product(const struct workload *w, const char *dtype, cJSON *list, bool *ok)
{
    const int64_t m = workload_get(w, "m"), n = workload_get(w, "n"), k = workload_get(w, "k");
    const bool bias = workload_has(w, "epilogue") && epilogue_of(w) & EPILOGUE_BIAS;

    if (workload_has(w, "b")) {
        const int64_t b = workload_get(w, "b");

        push_tensor(list, dtype, (const int64_t[]){b, m, k}, 3, ok);
        push_tensor(list, dtype, (const int64_t[]){b, n, k}, 3, ok);
        push(list, numbers((const int64_t[]){b, m, n}, 3, ok), ok);
        return;
    }
    push_tensor(list, dtype, (const int64_t[]){m, k}, 2, ok);
    push_tensor(list, dtype, (const int64_t[]){n, k}, 2, ok);
    if (bias)
        push_tensor(list, dtype, &n, 1, ok);
    else
        push(list, cJSON_CreateNull(), ok);
}

static enum err layout_within(const struct tvm_task *t, const struct workload *w, struct why *why)
{
    const int64_t layout = workload_has(w, "layout") ? workload_get(w, "layout") : 0;
    const bool by_fours =
        layout == 1 && (t->form == FORM_CONV_I8 || (t->form == FORM_CONV_GROUP && t->dtypes == 1u << DTYPE_I8));

    if (layout == 0 || by_fours)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "%s has no layout=%s", t->name, images_layouts[layout]);
}

enum err tvm_args(const struct tvm_task *t, const struct workload *w, cJSON **out, struct why *why)
{
    const enum err e = layout_within(t, w, why);
    cJSON *list = e ? NULL : cJSON_CreateArray();
    bool ok = list != NULL;

    if (e)
        return e;
    for (int i = 0; ok && i < N_DTYPES; i++) {
        if (dtypes[i].ours != w->dtype)
            continue;
        if (t->form == FORM_DENSE || t->form == FORM_BATCH)
            write_product(w, dtypes[i].theirs, list, &ok);
        else
            write_conv(t, w, dtypes[i].theirs, list, &ok);
        push(list, cJSON_CreateString(dtypes[i].output), &ok);
    }
    if (ok && t->form == FORM_BATCH) {
        push(list, cJSON_CreateFalse(), &ok);
        push(list, cJSON_CreateTrue(), &ok);
    }
    if (!ok) {
        cJSON_Delete(list);
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    }
    *out = list;
    return ERR_OK;
}
