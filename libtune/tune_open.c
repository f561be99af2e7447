/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "core/err.h"
#include "logs/log.h"
#include "runtime/nvrtc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The caller's options, checked; those of NULL. */
static enum tune_status take_options(const struct tune_options *callers, struct tune_options *out)
{
    const struct tune_options none = {.size = sizeof none};
    const enum tune_status s = tune_take_sized("tune_options", callers ? callers : &none, out, sizeof *out);

    if (s == TUNE_OK && out->threads < 0)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_options: %d threads", out->threads);
    return s;
}

/* Without any record: defaults only. */
static enum err no_records(struct choices **out)
{
    struct best_set *none = NULL;
    enum err e = best_new(&none);

    if (!e)
        e = choices_of(none, out, NULL);
    best_free(none);
    return e;
}

static enum tune_status log_failed(enum err e, const char *log, const struct why *why)
{
    if (e == ERR_NOMEM)
        return tune_fail(TUNE_NO_MEMORY, "%s", why->text);
    if (e == ERR_INPUT) /* of several devices */
        return tune_fail(TUNE_OTHER_DEVICE, "%s", why->text);
    return tune_fail(e == ERR_NOT_FOUND && access(log, F_OK) == 0 ? TUNE_NO_RECORD : TUNE_NO_LOG, "%s", why->text);
}

#define MAX_THREADS 1024

/* The host threads with which this device would be the log's; 0 = it is another one. */
static int64_t threads_of_log(const struct device_desc *here, const struct choices *log)
{
    const struct record *r = log ? choices_first(log) : NULL;
    struct device_desc d = *here;

    for (d.threads = 1; r && here->threads > 0 && d.threads <= MAX_THREADS; d.threads++) {
        d.units = here->units; /* PoCL counts a unit for each thread, or for each core */
        if (device_desc_has(&d, &r->fingerprint))
            return d.threads;
        d.units = d.threads;
        if (device_desc_has(&d, &r->fingerprint))
            return d.threads;
    }
    return 0;
}

static enum tune_status other_device(const struct tune *t, const struct choices *others, const struct why *own_why)
{
    const int64_t n = threads_of_log(&t->device, others);

    if (n)
        return tune_fail(TUNE_OTHER_DEVICE,
                         "the log was measured on %s with %lld threads, here it runs with %lld: set "
                         "POCL_MAX_PTHREAD_COUNT=%lld before OpenCL is opened, or tune with --threads %lld",
                         t->device.name, (long long)n, (long long)t->device.threads, (long long)n,
                         (long long)t->device.threads);
    return tune_fail(TUNE_OTHER_DEVICE, "%s; this one is %s (%.12s), and any_device was not asked for", own_why->text,
                     t->device.name, t->fingerprint.hex);
}

/* Are the records that the options let through those of another device, and may they be? */
static enum tune_status take_others(struct tune *t, const char *log, const struct tune_options *o,
                                    const struct why *own_why)
{
    const struct choice_filter asked = {.key = o->key, .fingerprint = o->fingerprint};
    struct choices *others = NULL;
    struct why why = {""};
    const enum err e = choices_open(log, &asked, &others, &why);

    if (e && (e != ERR_INPUT || o->any_device))
        return log_failed(e, log, &why);
    if (!o->any_device) {
        const enum tune_status s = other_device(t, others, own_why);

        choices_close(others);
        return s;
    }
    t->choices = others;
    return TUNE_OK;
}

/* Records of this device; where there are none and the caller takes any, those that the options let through. */
static enum tune_status choose_records(struct tune *t, const char *log, const struct tune_options *o)
{
    const struct sha256 former = device_desc_former(&t->device);
    const struct choice_filter own = {.key = o->key, .fingerprint = t->fingerprint.hex, .former = former.hex};
    struct why why = {""};
    enum err e = ERR_NOT_FOUND;

    if (!o->fingerprint || strncmp(o->fingerprint, t->fingerprint.hex, strlen(o->fingerprint)) == 0)
        e = choices_open(log, &own, &t->choices, &why);
    else
        why_set(&why, e, "%s: the records asked for are of fingerprint %.12s", log, o->fingerprint);
    if (!e)
        return TUNE_OK;
    return e == ERR_NOT_FOUND ? take_others(t, log, o, &why) : log_failed(e, log, &why);
}

static enum tune_status read_records(struct tune *t, const char *log, const struct tune_options *o)
{
    const struct record *r;
    enum tune_status s;

    if (!log)
        return no_records(&t->choices) ? tune_fail(TUNE_NO_MEMORY, "out of memory") : TUNE_OK;
    s = choose_records(t, log, o);
    r = s == TUNE_OK ? choices_first(t->choices) : NULL;
    if (r) {
        memcpy(t->log_key, r->key, sizeof t->log_key);
        t->log_fingerprint = r->fingerprint;
    }
    return s;
}

/* All empty; NULL (and words) without memory. */
static struct tune *new_tune(const struct tune_backend *backend)
{
    struct tune *t = calloc(1, sizeof *t);

    if (!t || pthread_mutex_init(&t->lock, NULL) || pthread_mutex_init(&t->noting, NULL)) {
        free(t);
        (void)tune_fail(TUNE_NO_MEMORY, "out of memory");
        return NULL;
    }
    t->backend = backend;
    atomic_init(&t->n_users, 1);
    return t;
}

void tune_release(struct tune *t)
{
    assert(!t || atomic_load(&t->n_users) > 0);
    if (!t || atomic_fetch_sub(&t->n_users, 1) != 1)
        return;
    if (t->session)
        t->backend->close(t->session);
    nvrtc_close(t->nvrtc);
    choices_close(t->choices);
    tune_forget_missed(t);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->noting);
    free(t);
}

void tune_close(struct tune *t)
{
    tune_release(t);
}

static enum tune_status open_with(const struct tune_backend *backend, const char *log, void *context, void *device,
                                  const struct tune_options *options, struct tune **out)
{
    struct tune_options o;
    struct tune *t;
    enum tune_status s = take_options(options, &o);

    if (s != TUNE_OK)
        return s;
    t = new_tune(backend);
    if (!t)
        return TUNE_NO_MEMORY;
    s = backend->open(t, context, device, o.threads);
    if (s == TUNE_OK) {
        t->fingerprint = device_desc_fingerprint(&t->device);
        s = read_records(t, log, &o);
    }
    if (s == TUNE_OK)
        *out = t;
    else
        tune_release(t);
    return s;
}

enum tune_status tune_open_with(const struct tune_backend *backend, const char *log, void *context, void *device,
                                const struct tune_options *options, struct tune **out)
{
    const locale_t before = tune_use_points();
    const enum tune_status s = open_with(backend, log, context, device, options, out);

    uselocale(before);
    return s;
}

enum tune_status tune_about(const struct tune *t, struct tune_info *out)
{
    const struct choices_notes *notes;
    struct tune_info info;

    if (!t || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_about: expected an open log and where to write to");
    assert(t->choices); /* an open log has them */
    notes = choices_notes(t->choices);
    info = (struct tune_info){
        .api = t->backend->api,
        .device = t->device.name,
        .fingerprint = t->fingerprint.hex,
        .log_key = t->log_key,
        .log_fingerprint = t->log_fingerprint.hex,
        .n_records = notes->n_records,
        .n_left_out = notes->n_left_out,
        .n_bad_lines = notes->n_bad_lines,
        .bad_line = notes->bad_line,
    };
    return tune_give_sized("tune_info", &info, sizeof info, out);
}
