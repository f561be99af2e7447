/* SPDX-License-Identifier: MIT */
/* range_cl.c - which bucket, its weights, and the caller's tensors at the size of a bucket and back. */
#include "exec/range_cl.h"

#include "exec/common.h"
#include "exec/exec_cl_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct exec_range_cl {
    cl_context context;
    const struct exec_range *r;
    struct exec_net_cl **nets; /* [n_buckets] */
    cl_mem *own;               /* [arguments] at the largest size, or what is made here; made when first needed */
    cl_mem *given;             /* [arguments] of the run at hand */
    cl_mem rulers[2];          /* numbers from the largest size less one down to 0, and upwards; made when needed */
    size_t told;               /* 1 + the size that the numbers made here have; 0: none yet */
    cl_command_queue queue;    /* of the last run; NULL: there was none */
};

static int exec_range_cl_arguments(const struct exec_range_cl *range)
{
    return range->r->buckets[0].network->n_arguments;
}

/* The runs of another queue end before its memory here is used again. */
static void exec_range_cl_leave(struct exec_range_cl *range, cl_command_queue next)
{
    if (range->queue == next)
        return;
    if (range->queue) {
        (void)clFinish(range->queue);
        clReleaseCommandQueue(range->queue);
    }
    if (next)
        clRetainCommandQueue(next);
    range->queue = next;
}

EXEC_API void exec_range_cl_close(struct exec_range_cl *range)
{
    if (!range)
        return;
    exec_range_cl_leave(range, NULL);
    for (int i = 0; range->nets && i < range->r->n_buckets; i++)
        exec_net_cl_close(range->nets[i]);
    exec_cl_release(range->own, range->own ? exec_range_cl_arguments(range) : 0);
    for (int i = 0; i < 2; i++)
        if (range->rulers[i])
            clReleaseMemObject(range->rulers[i]);
    free(range->nets);
    free(range->given);
    free(range);
}

EXEC_API enum exec_status exec_range_cl_open(cl_context context, const struct exec_range *r,
                                             struct exec_cl_op *const *ops, struct exec_words *words,
                                             struct exec_range_cl **out)
{
    struct exec_range_cl *range = calloc(1, sizeof *range);
    const int last = r->n_buckets - 1;
    enum exec_status status;
    if (!range)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    range->context = context;
    range->r = r;
    range->nets = calloc((size_t)r->n_buckets, sizeof *range->nets);
    range->own = calloc((size_t)exec_range_cl_arguments(range), sizeof *range->own);
    range->given = calloc((size_t)exec_range_cl_arguments(range), sizeof *range->given);
    status = range->nets && range->own && range->given ? EXEC_OK : exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    if (status == EXEC_OK)
        status = exec_net_cl_open(context, r->buckets[last].network, ops, words, &range->nets[last]);
    for (int i = 0; status == EXEC_OK && i < last; i++)
        status = exec_net_cl_open_beside(range->nets[last], r->buckets[i].network, words, &range->nets[i]);
    if (status != EXEC_OK)
        exec_range_cl_close(range);
    else
        *out = range;
    return status;
}

/* The first elements of each dimension. */
static void exec_range_cl_crop(const struct exec_crop *c, const unsigned char *from, unsigned char *to)
{
    int64_t at[8] = {0}, n = 1;
    const int last = c->n_dims - 1;
    const size_t row = (size_t)c->to[last] * c->n_bytes;
    for (int d = 0; d < last; d++)
        n *= c->to[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t place = 0;
        for (int d = 0; d <= last; d++)
            place = place * c->from[d] + at[d];
        memcpy(to + (size_t)i * row, from + (size_t)place * c->n_bytes, row);
        for (int d = last - 1; d >= 0 && ++at[d] == c->to[d]; d--)
            at[d] = 0;
    }
}

static size_t exec_range_cl_bytes(const struct exec_crop *c, const int64_t *dims)
{
    size_t n = c->n_bytes;
    for (int d = 0; d < c->n_dims; d++)
        n *= (size_t)dims[d];
    return n;
}

static enum exec_status exec_range_cl_set_one(struct exec_range_cl *range, int i, cl_command_queue queue,
                                              const char *layer, const char *name, const void *data, size_t n_bytes,
                                              struct exec_words *words)
{
    const struct exec_bucket *b = &range->r->buckets[i];
    enum exec_status status;
    unsigned char *cropped;
    int k = 0;
    while (k < b->n_crops && (strcmp(b->crops[k].layer, layer) != 0 || strcmp(b->crops[k].name, name) != 0))
        k++;
    if (k == b->n_crops)
        return exec_net_cl_set(range->nets[i], queue, layer, name, data, n_bytes, words);
    cropped = malloc(exec_range_cl_bytes(&b->crops[k], b->crops[k].to));
    if (!cropped || exec_range_cl_bytes(&b->crops[k], b->crops[k].from) != n_bytes) {
        free(cropped);
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    }
    exec_range_cl_crop(&b->crops[k], data, cropped);
    status = exec_net_cl_set(range->nets[i], queue, layer, name, cropped,
                             exec_range_cl_bytes(&b->crops[k], b->crops[k].to), words);
    free(cropped);
    return status;
}

EXEC_API enum exec_status exec_range_cl_set(struct exec_range_cl *range, cl_command_queue queue, const char *layer,
                                            const char *name, const void *data, size_t n_bytes,
                                            struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = range->r->n_buckets - 1; status == EXEC_OK && i >= 0; i--)
        status = exec_range_cl_set_one(range, i, queue, layer, name, data, n_bytes, words);
    return status;
}

static size_t exec_range_cl_n(const struct exec_axes *p, size_t size)
{
    const size_t n = size + p->more;
    return p->n_axes < 0 ? p->outer * p->inner : p->outer * p->inner * n * (p->n_axes > 1 ? n : 1);
}

static enum exec_status exec_range_cl_own(struct exec_range_cl *range, int i, struct exec_words *words)
{
    const struct exec_range *r = range->r;
    cl_int code = CL_SUCCESS;
    if (!range->own[i])
        range->own[i] = clCreateBuffer(range->context, CL_MEM_READ_WRITE,
                                       exec_range_cl_n(&r->places[i], r->buckets[r->n_buckets - 1].size), NULL, &code);
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(words, "arguments at the size of buckets of", r->name, code);
}

/* Copies what is there of an argument of `size` between buffers that are dense at two sizes. */
static cl_int exec_range_cl_copy(const struct exec_axes *p, cl_command_queue queue, size_t size, cl_mem from,
                                 size_t from_size, cl_mem to, size_t to_size)
{
    const size_t n = size + p->more, n_from = from_size + p->more, n_to = to_size + p->more;
    const size_t zero[3] = {0, 0, 0}, region[3] = {n * p->inner, p->n_axes > 1 ? n : 1, p->outer};
    if (n == 0)
        return CL_SUCCESS;
    return clEnqueueCopyBufferRect(queue, from, to, zero, zero, region, n_from * p->inner,
                                   n_from * p->inner * (p->n_axes > 1 ? n_from : 1), n_to * p->inner,
                                   n_to * p->inner * (p->n_axes > 1 ? n_to : 1), 0, NULL, NULL);
}

/* What is behind is 0: any number would do, but for places in tables, which are to be within them. */
static enum exec_status exec_range_cl_pad(struct exec_range_cl *range, int i, cl_command_queue queue, size_t size,
                                          size_t bucket, cl_mem from, struct exec_words *words)
{
    const struct exec_axes *p = &range->r->places[i];
    const unsigned char zero = 0;
    cl_int code = clEnqueueFillBuffer(queue, range->own[i], &zero, 1, 0, exec_range_cl_n(p, bucket), 0, NULL, NULL);
    code = code == CL_SUCCESS ? exec_range_cl_copy(p, queue, size, from, size, range->own[i], bucket) : code;
    return code == CL_SUCCESS ? EXEC_OK
                              : exec_cl_failed(words, "an input at the size of a bucket of", range->r->name, code);
}

/* A number's bytes: a whole one of 32 bits for lengths, else a float, or a half of 1 to 65504 or 0. */
static void exec_range_cl_number(const struct exec_axes *p, double v, unsigned char out[4])
{
    const int32_t whole = (int32_t)v;
    const float single = (float)v;
    uint16_t half = 0;
    int power;
    const double part = frexp(v, &power);
    if (v > 0 && p->inner == sizeof half)
        half = (uint16_t)((power + 13) * 1024 + (int)(part * 2048 + 0.5));
    if (p->n_axes == EXEC_LENGTHS)
        memcpy(out, &whole, sizeof whole);
    else if (p->inner == sizeof single)
        memcpy(out, &single, sizeof single);
    else
        memcpy(out, &half, sizeof half);
}

/* Sets n elements from the first on. */
static cl_int exec_range_cl_fill(struct exec_range_cl *range, int i, cl_command_queue queue, double v, size_t n)
{
    const struct exec_axes *p = &range->r->places[i];
    unsigned char element[4] = {0};
    exec_range_cl_number(p, v, element);
    return clEnqueueFillBuffer(queue, range->own[i], element, p->inner, 0, n * p->inner, 0, NULL, NULL);
}

/* Numbers downwards, of which a run has the last ones, or upwards: as many as the argument has elements. */
static cl_int exec_range_cl_rule(struct exec_range_cl *range, const struct exec_axes *p, int upwards)
{
    unsigned char *all = range->rulers[upwards] ? NULL : malloc(p->outer * p->inner);
    cl_int code = all || range->rulers[upwards] ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    for (size_t k = 0; all && k < p->outer; k++) {
        unsigned char element[4] = {0};
        exec_range_cl_number(p, (double)(upwards ? k : p->outer - 1 - k), element);
        memcpy(all + k * p->inner, element, p->inner);
    }
    if (all)
        range->rulers[upwards] =
            clCreateBuffer(range->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, p->outer * p->inner, all, &code);
    free(all);
    return code;
}

/* Copies n elements of a ruler, from one on, to the argument's from `to` on. */
static cl_int exec_range_cl_measure(struct exec_range_cl *range, int i, cl_command_queue queue, int upwards,
                                    size_t from, size_t to, size_t n)
{
    const struct exec_axes *p = &range->r->places[i];
    const cl_int code = exec_range_cl_rule(range, p, upwards);
    return code != CL_SUCCESS || n == 0
               ? code
               : clEnqueueCopyBuffer(queue, range->rulers[upwards], range->own[i], from * p->inner, to * p->inner,
                                     n * p->inner, 0, NULL, NULL);
}

static cl_int exec_range_cl_join(struct exec_range_cl *range, int i, cl_command_queue queue, size_t size, size_t bucket)
{
    const struct exec_axes *p = &range->r->places[i];
    const cl_int code = exec_range_cl_measure(range, i, queue, 1, 0, 0, size);
    return code == CL_SUCCESS ? exec_range_cl_measure(range, i, queue, 1, bucket, size, p->more) : code;
}

static cl_int exec_range_cl_make(struct exec_range_cl *range, int i, cl_command_queue queue, size_t size, size_t bucket)
{
    const struct exec_axes *p = &range->r->places[i];
    const size_t n = size + p->more;
    const int pads = p->n_axes == EXEC_SEEN || p->n_axes == EXEC_BACK || p->n_axes == EXEC_JOIN;
    const cl_int code = pads ? exec_range_cl_fill(range, i, queue, 0, p->outer) : CL_SUCCESS;
    if (code != CL_SUCCESS)
        return code;
    switch ((enum exec_made)p->n_axes) {
    case EXEC_LENGTHS:
        return exec_range_cl_fill(range, i, queue, (double)n, p->outer);
    case EXEC_SEEN:
        return exec_range_cl_fill(range, i, queue, 1, n);
    case EXEC_LAST:
        return exec_range_cl_fill(range, i, queue, (double)(n - 1), p->outer);
    case EXEC_BACK:
        return exec_range_cl_measure(range, i, queue, 0, p->outer - n, 0, n);
    case EXEC_JOIN:
        return exec_range_cl_join(range, i, queue, size, bucket);
    case EXEC_SHARE:
        break;
    }
    return exec_range_cl_fill(range, i, queue, (double)(bucket + p->more) / (double)n, p->outer);
}

/* What the network reads of how many places there are; it stays from run to run of a size. */
static enum exec_status exec_range_cl_tell(struct exec_range_cl *range, int i, cl_command_queue queue, size_t size,
                                           size_t bucket, struct exec_words *words)
{
    enum exec_status status = exec_range_cl_own(range, i, words);
    cl_int code = CL_SUCCESS;
    if (status == EXEC_OK && range->told != size + 1)
        code = exec_range_cl_make(range, i, queue, size, bucket);
    range->given[i] = range->own[i];
    return code == CL_SUCCESS ? status : exec_cl_failed(words, "the length of", range->r->name, code);
}

static enum exec_status exec_range_cl_check(const struct exec_range_cl *range, int i, int shown, cl_mem mem,
                                            size_t size, struct exec_words *words)
{
    const size_t needed = exec_range_cl_n(&range->r->places[i], size);
    size_t n = 0;
    if (needed == 0)
        return EXEC_OK;
    if (!mem || clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n, &n, NULL) != CL_SUCCESS || n < needed)
        return exec_fail(words, EXEC_BAD_ARGUMENT,
                         "argument %d: expected an OpenCL buffer of %zu bytes with %s=%zu, got %zu", shown, needed,
                         range->r->name, size, n);
    return EXEC_OK;
}

/* Arguments of a bucket's network out of the caller's. */
static enum exec_status exec_range_cl_take(struct exec_range_cl *range, cl_command_queue queue, size_t size,
                                           size_t bucket, const cl_mem *arguments, struct exec_words *words)
{
    enum exec_status status = EXEC_OK;
    for (int i = 0, shown = 0; status == EXEC_OK && i < exec_range_cl_arguments(range); i++) {
        const struct exec_axes *p = &range->r->places[i];
        if (p->n_axes < 0) {
            status = exec_range_cl_tell(range, i, queue, size, bucket, words);
            continue;
        }
        range->given[i] = arguments[shown];
        if (p->n_axes > 0)
            status = exec_range_cl_check(range, i, shown, arguments[shown], size, words);
        if (status == EXEC_OK && p->n_axes > 0 && size != bucket) {
            status = exec_range_cl_own(range, i, words);
            range->given[i] = range->own[i];
            if (status == EXEC_OK && i < range->r->n_inputs)
                status = exec_range_cl_pad(range, i, queue, size, bucket, arguments[shown], words);
        }
        shown++;
    }
    range->told = status == EXEC_OK ? size + 1 : 0;
    return status;
}

static enum exec_status exec_range_cl_give(struct exec_range_cl *range, cl_command_queue queue, size_t size,
                                           size_t bucket, const cl_mem *arguments, struct exec_words *words)
{
    cl_int code = CL_SUCCESS;
    for (int i = 0, shown = 0; code == CL_SUCCESS && i < exec_range_cl_arguments(range); i++) {
        const struct exec_axes *p = &range->r->places[i];
        if (i >= range->r->n_inputs && p->n_axes > 0 && size != bucket)
            code = exec_range_cl_copy(p, queue, size, range->own[i], bucket, arguments[shown], size);
        shown += p->n_axes >= 0;
    }
    return code == CL_SUCCESS ? EXEC_OK : exec_cl_failed(words, "an output of", range->r->name, code);
}

EXEC_API enum exec_status exec_range_cl_run(struct exec_range_cl *range, cl_command_queue queue, size_t size,
                                            const cl_mem *arguments, struct exec_words *words)
{
    const struct exec_range *r;
    enum exec_status status;
    int i = 0;
    if (!range || !queue || !arguments)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "expected an open network, a queue and its arguments");
    r = range->r;
    if (size < r->least || size > r->buckets[r->n_buckets - 1].size)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "%s=%zu: expected %zu to %zu", r->name, size, r->least,
                         r->buckets[r->n_buckets - 1].size);
    while (r->buckets[i].size < size)
        i++;
    exec_range_cl_leave(range, queue);
    status = exec_range_cl_take(range, queue, size, r->buckets[i].size, arguments, words);
    status = status == EXEC_OK ? exec_net_cl_run(range->nets[i], queue, range->given, words) : status;
    return status == EXEC_OK ? exec_range_cl_give(range, queue, size, r->buckets[i].size, arguments, words) : status;
}
