/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "core/buf.h"
#include "core/err.h"
#include "runtime/plan_of.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOB_BYTES ((size_t)1 << 30)

static enum tune_status no_memory(void)
{
    return tune_fail(TUNE_NO_MEMORY, "out of memory");
}

/* ---- choosing ---- */

static enum tune_status read_workload(struct tune_plan *p, const char *text)
{
    struct why why = {""};
    struct buf canonical;
    enum err e = workload_parse(text, &p->workload, &why);

    if (e)
        return tune_fail(TUNE_BAD_WORKLOAD, "%s", why.text);
    buf_init(&canonical, WORKLOAD_MAX_TEXT);
    e = workload_text(&p->workload, &canonical);
    p->text = e ? NULL : buf_take(&canonical);
    buf_fini(&canonical);
    return p->text ? TUNE_OK : no_memory();
}

static enum tune_status choose(struct tune_plan *p, unsigned flags)
{
    struct why why = {""};
    const enum err e = choice_make(p->t->choices, &p->workload, &p->t->device, &p->choice, &why);

    if (e)
        return e == ERR_NOMEM ? no_memory() : tune_fail(TUNE_UNSUPPORTED, "%s", why.text);
    if (flags & TUNE_RECORDED && p->choice.kind != CHOICE_EXACT)
        return tune_fail(TUNE_NO_RECORD, "%s: the log has no record of it that can be used on %s", p->text,
                         p->t->device.name);
    return TUNE_OK;
}

/* ---- what is told of a plan ---- */

static const struct {
    enum buffer_role from;
    enum tune_role to;
} roles[] = {{ROLE_INPUT, TUNE_INPUT}, {ROLE_WEIGHT, TUNE_WEIGHT}, {ROLE_OUTPUT, TUNE_OUTPUT}};

/* Is the buffer one of the caller's tensors? */
static bool role_of(const struct program_buffer *b, enum tune_role *out)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (roles[i].from == b->role) {
            *out = roles[i].to;
            return true;
        }
    return false;
}

static struct tune_tensor tensor_of(const struct program_buffer *b, enum tune_role role,
                                    char names[3][PROGRAM_ID_BYTES])
{
    struct tune_tensor t = {.role = role, .n_dims = b->n_dims};

    assert(b->n_dims >= 0 && b->n_dims <= 8);
    snprintf(names[0], PROGRAM_ID_BYTES, "%s", b->id);
    snprintf(names[1], PROGRAM_ID_BYTES, "%s", b->layout);
    t.name = names[0];
    t.layout = names[1];
    t.dtype = dtype_name(b->dtype);
    for (int i = 0; i < 8; i++)
        t.shape[i] = i < b->n_dims ? (long long)b->shape[i] : 0;
    t.n_elems = (unsigned long long)b->n_elems;
    t.n_bytes = t.n_elems * dtype_bytes(b->dtype);
    return t;
}

static enum tune_status list_tensors(struct tune_plan *p, const struct program *from)
{
    p->tensors = calloc(from->n_buffers + 1, sizeof *p->tensors);
    p->weights = calloc(from->n_buffers + 1, sizeof *p->weights);
    p->names = calloc(from->n_buffers + 1, sizeof *p->names);
    if (!p->tensors || !p->weights || !p->names)
        return no_memory();
    for (size_t i = 0; i < from->n_buffers; i++) {
        const struct program_buffer *b = &from->buffers[i];
        enum tune_role role;

        if (!role_of(b, &role))
            continue;
        if (role == TUNE_WEIGHT)
            p->weights[p->n_weights++] = tensor_of(b, role, p->names[i]);
        else
            p->tensors[p->n_tensors++] = tensor_of(b, role, p->names[i]);
    }
    assert(p->n_tensors + p->n_weights <= from->n_buffers);
    return TUNE_OK;
}

static enum tune_status describe(struct tune_plan *p, const struct program *from)
{
    struct buf knobs;
    enum err e;

    assert(p->choice.space && !p->knobs && !p->tensors);
    p->flops = from->flops;
    p->bytes = from->bytes_min;
    buf_init(&knobs, 65536);
    e = space_config_text(p->choice.space, &p->choice.config, &knobs);
    p->knobs = e ? NULL : strdup(buf_text(&knobs));
    buf_fini(&knobs);
    return p->knobs ? list_tensors(p, from) : no_memory();
}

/* ---- building ---- */

static enum tune_status open_op(struct tune_plan *p)
{
    struct exec_words words = {""};
    enum exec_status s;

    assert(p->exec && !p->op);
    pthread_mutex_lock(&p->t->lock);
    s = p->t->backend->op_open(p->t->session, p->exec, &words, &p->op);
    pthread_mutex_unlock(&p->t->lock);
    return tune_fail_exec(s, &words);
}

static enum tune_status build(struct tune_plan *p, struct program *program, struct blobs *blobs)
{
    struct why why = {""};
    enum tune_status s = p->t->backend->compile ? p->t->backend->compile(p->t, program, blobs) : TUNE_OK;
    const enum err e = s == TUNE_OK ? plan_of_program(program, blobs, &p->exec, &why) : ERR_OK;

    if (e)
        s = tune_fail(e == ERR_NOMEM ? TUNE_NO_MEMORY : TUNE_UNSUPPORTED, "%s: %s", p->text, why.text);
    if (s == TUNE_OK)
        s = describe(p, program);
    return s == TUNE_OK ? open_op(p) : s;
}

static enum tune_status render(struct tune_plan *p)
{
    struct why why = {""};
    struct program program;
    struct blobs blobs;
    enum tune_status s;
    enum err e;

    blobs_init(&blobs, MAX_BLOB_BYTES);
    e = choice_kernels(&p->choice, &p->workload, &p->t->device, &program, &blobs, &why);
    if (e)
        s = tune_fail(e == ERR_NOMEM ? TUNE_NO_MEMORY : TUNE_UNSUPPORTED, "%s: %s", p->text,
                      why.text[0] ? why.text : err_words(e));
    else
        s = build(p, &program, &blobs);
    program_fini(&program);
    blobs_fini(&blobs);
    return s;
}

/* Forgets what render has made. */
static void drop(struct tune_plan *p)
{
    pthread_mutex_lock(&p->t->lock);
    if (p->nothing_packed)
        p->t->backend->packed_free(p->nothing_packed);
    if (p->op)
        p->t->backend->op_close(p->op);
    pthread_mutex_unlock(&p->t->lock);
    plan_free(p->exec);
    free(p->knobs);
    free(p->tensors);
    free(p->weights);
    free(p->names);
    p->nothing_packed = p->op = NULL;
    p->exec = NULL;
    p->knobs = NULL;
    p->tensors = p->weights = NULL;
    p->names = NULL;
    p->n_tensors = p->n_weights = 0;
}

/* A config that was fast for another size may ask too much for this one: more registers or local memory than a group
 * can have is only known when it is built. The template's default is made for such cases. */
static enum tune_status render_or_default(struct tune_plan *p)
{
    enum tune_status s = render(p);

    if (p->choice.kind != CHOICE_NEAREST || s == TUNE_OK || s == TUNE_NO_MEMORY || s == TUNE_DEVICE_FAILED)
        return s;
    drop(p);
    choice_fini(&p->choice);
    if (choice_default(&p->workload, &p->t->device, &p->choice, NULL))
        return s;
    return render(p);
}

static enum tune_status make(struct tune *t, const char *workload, unsigned flags, struct tune_plan **out)
{
    struct tune_plan *p = calloc(1, sizeof *p);
    enum tune_status s;

    if (!p)
        return no_memory();
    atomic_init(&p->n_users, 1);
    atomic_fetch_add(&t->n_users, 1);
    p->t = t;
    s = read_workload(p, workload);
    if (s == TUNE_OK)
        s = choose(p, flags);
    if (s == TUNE_OK)
        s = render_or_default(p);
    if (s != TUNE_OK) {
        tune_plan_release(p);
        return s;
    }
    tune_note_missed(t, p->text, &p->choice);
    *out = p;
    return TUNE_OK;
}

enum tune_status tune_plan_make(struct tune *t, const char *workload, unsigned flags, struct tune_plan **out)
{
    enum tune_status s;
    locale_t before;

    if (!t || !workload || !out || flags & ~(unsigned)TUNE_RECORDED)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_plan_make: expected an open log, a workload, flags of tune_flags and "
                                            "where to give the plan to");
    before = tune_use_points();
    s = make(t, workload, flags, out);
    uselocale(before);
    return s;
}

void tune_plan_release(struct tune_plan *p)
{
    struct tune *t;

    assert(!p || atomic_load(&p->n_users) > 0);
    if (!p || atomic_fetch_sub(&p->n_users, 1) != 1)
        return;
    t = p->t;
    drop(p);
    choice_fini(&p->choice);
    free(p->text);
    free(p);
    tune_release(t);
}

void tune_plan_destroy(struct tune_plan *plan)
{
    tune_plan_release(plan);
}

/* ---- telling ---- */

enum tune_status tune_plan_about(const struct tune_plan *p, struct tune_plan_info *out)
{
    struct tune_plan_info info;

    if (!p || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_plan_about: expected a plan and where to write to");
    assert(p->text && p->knobs && p->choice.t);
    info = (struct tune_plan_info){
        .workload = p->text,
        .choice = (enum tune_choice)p->choice.kind,
        .recorded = p->choice.record ? p->choice.record->workload : "",
        .distance = p->choice.distance,
        .template_id = p->choice.t->id,
        .knobs = p->knobs,
        .time_ns = p->choice.time_ns,
        .flops = p->flops,
        .bytes = p->bytes,
        .n_weights = p->n_weights,
        .n_tensors = p->n_tensors,
    };
    return tune_give_sized("tune_plan_info", &info, sizeof info, out);
}

enum tune_status tune_plan_tensor(const struct tune_plan *p, int is_weight, size_t i, struct tune_tensor *out)
{
    if (!p || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_plan_tensor: expected a plan and where to write to");
    if (i >= (is_weight ? p->n_weights : p->n_tensors))
        return tune_fail(TUNE_BAD_ARGUMENT, "%s has %zu %s: there is no tensor %zu", p->text,
                         is_weight ? p->n_weights : p->n_tensors, is_weight ? "weights" : "inputs and outputs", i);
    return tune_give_sized("tune_tensor", is_weight ? &p->weights[i] : &p->tensors[i], sizeof *out, out);
}
