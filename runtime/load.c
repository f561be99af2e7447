/* SPDX-License-Identifier: MIT */
#include "runtime/load.h"

#include "core/clock.h"
#include "core/err.h"
#include "runtime/fill_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct load *head_of(struct loaded *l)
{
    return (struct load *)(void *)l;
}

size_t load_part_bytes(const struct load *l, size_t i_buffer, enum load_part part)
{
    assert(i_buffer < l->program.n_buffers);
    return part == PART_BEFORE || part == PART_BEHIND ? GUARD_BYTES : buffer_bytes(&l->program.buffers[i_buffer]);
}

/* Contents. */

enum err load_write(struct loaded *l, int i_buffer, const void *data, struct why *why)
{
    const struct load *h = head_of(l);
    enum err e = h->api->put(l, (size_t)i_buffer, PART_BUFFER, data, why);

    if (!e && h->program.buffers[i_buffer].reset_each_run)
        e = h->api->put(l, (size_t)i_buffer, PART_PRISTINE, data, why);
    return e;
}

enum err load_read(struct loaded *l, int i_buffer, void *data, struct why *why)
{
    return head_of(l)->api->get(l, (size_t)i_buffer, PART_BUFFER, data, why);
}

enum err load_poison(struct loaded *l, int byte, struct why *why)
{
    struct load *h = head_of(l);
    unsigned char *band;
    enum err e = ERR_OK;

    h->poison = byte;
    if (byte == POISON_OFF || byte == h->guards)
        return ERR_OK;
    band = malloc(GUARD_BYTES);
    h->guards = byte;
    for (size_t i = 0; band && !e && i < h->program.n_buffers; i++) {
        memset(band, guard_byte(&h->program.buffers[i], byte), GUARD_BYTES);
        e = h->api->put(l, i, PART_BEFORE, band, why);
        if (!e)
            e = h->api->put(l, i, PART_BEHIND, band, why);
    }
    free(band);
    return band ? e : ERR_NOMEM;
}

enum err load_check_guards(struct loaded *l, struct why *why)
{
    const struct load *h = head_of(l);
    unsigned char *band = malloc(GUARD_BYTES);
    enum err e = band ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; h->guards != POISON_OFF && !e && i < 2 * h->program.n_buffers; i++) {
        e = h->api->get(l, i / 2, i % 2 ? PART_BEHIND : PART_BEFORE, band, why);
        if (!e)
            e = guard_check(&h->program.buffers[i / 2], h->guards, i % 2, band, GUARD_BYTES, why);
    }
    free(band);
    return e;
}

/* Loading. */

static enum err make_buffer(struct loaded *l, size_t i, const struct blobs *blobs, struct why *why)
{
    const struct load *h = head_of(l);
    const struct program_buffer *b = &h->program.buffers[i];
    struct fill_use use = {.data = NULL};
    enum err e = fill_lend(&b->fill, b->dtype, b->n_elems, blobs, &use);

    if (e)
        why_set(why, e, "fill of buffer '%s': %s", b->id, err_words(e));
    if (!e)
        e = h->api->make(l, i, why);
    if (!e)
        e = load_write(l, (int)i, use.data, why);
    fill_done(&use);
    return e;
}

static enum err build_all(struct loaded *l, const struct blobs *blobs, const char *cache_dir,
                          struct load_report *report, struct why *why)
{
    const struct load *h = head_of(l);
    const int64_t start_ns = clock_now_ns();
    enum err e = ERR_OK;

    report->build_cached = h->program.n_modules > 0;
    for (size_t i = 0; !e && i < h->program.n_modules; i++)
        e = h->api->build(l, i, blobs, cache_dir, report, why);
    report->build_ns = clock_now_ns() - start_ns;
    return e;
}

static enum err make_all(struct loaded *l, struct device *d, const struct blobs *blobs, const char *cache_dir,
                         struct load_report *report, struct why *why)
{
    struct load *h = head_of(l);
    enum err e = plan_of_launches(&h->program, &h->plan, why);

    if (!e)
        e = h->api->begin(l, d, why);
    if (!e)
        e = build_all(l, blobs, cache_dir, report, why);
    for (size_t i = 0; !e && i < h->program.n_buffers; i++)
        e = make_buffer(l, i, blobs, why);
    return e ? e : h->api->make_launches(l, report, why);
}

enum err load_program(const struct load_api *api, struct device *d, const struct device_desc *desc,
                      const struct program *p, const struct blobs *blobs, const char *cache_dir, struct loaded **out,
                      struct load_report *report, struct why *why)
{
    struct load_report unwanted = {0}, *r = report ? report : &unwanted;
    struct load *h = NULL;
    enum err e;

    assert(api->bytes >= sizeof *h);
    *r = (struct load_report){0};
    e = api->check(desc, p, why);
    if (e)
        return e;
    h = calloc(1, api->bytes);
    e = h ? program_copy(p, &h->program, why) : ERR_NOMEM;
    if (e) {
        free(h);
        return e;
    }
    h->api = api;
    h->guards = h->poison = POISON_OFF;
    e = make_all((struct loaded *)(void *)h, d, blobs, cache_dir, r, why);
    free(unwanted.log);
    if (e)
        load_unload((struct loaded *)(void *)h);
    else
        *out = (struct loaded *)(void *)h;
    return e;
}

void load_unload(struct loaded *l)
{
    struct load *h = head_of(l);

    if (!l)
        return;
    if (h->plan) /* else nothing of it was begun */
        h->api->drop(l);
    plan_free(h->plan);
    program_fini(&h->program);
    free(h);
}

enum err load_failed(const struct load *l, int i_launch, enum exec_status status, const struct exec_words *words,
                     struct why *why)
{
    static const enum err errors[] = {[EXEC_NO_MEMORY] = ERR_NOMEM,
                                      [EXEC_NO_DEVICE] = ERR_LIMITS,
                                      [EXEC_BUILD_FAILED] = ERR_COMPILE,
                                      [EXEC_DEVICE_FAILED] = ERR_DEVICE,
                                      [EXEC_BAD_ARGUMENT] = ERR_INPUT};

    assert(status != EXEC_OK && (size_t)status < sizeof errors / sizeof *errors);
    return why_set(why, errors[status], "launch '%s': %s", l->program.launches[i_launch].id, words->text);
}
