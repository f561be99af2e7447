/* SPDX-License-Identifier: MIT */
#include "agent/fetch.h"

#include "core/err.h"

#include <assert.h>

#define MAX_TRIAL_BLOB_BYTES ((size_t)1 << 31)

struct fetcher {
    struct client *client;
    struct workdir *dir;
    struct blobs *set;
    enum err e, way; /* way: that e which is the way's */
    struct why why;
};

static void fetch(const char *hex, void *arg)
{
    struct fetcher *x = arg;

    if (x->e || workdir_has(x->dir, hex))
        return;
    x->e = client_get_blob(x->client, hex, x->set, &x->why);
    if (!x->e)
        x->e = workdir_put(x->dir, x->set, hex, &x->why);
    x->way = x->e;
}

static enum err load(struct fetcher *x, const char *hex)
{
    return blobs_get(x->set, hex) ? ERR_OK : workdir_load_blob(x->dir->temp.path, hex, x->set, &x->why);
}

/* Text of a program that is in the work directory or fetched now, anew where the disk has something else by its name;
 * lends from x->set. */
static const struct blob *program_text(struct fetcher *x, const char *hex)
{
    fetch(hex, x);
    if (!x->e && load(x, hex) != ERR_OK) {
        workdir_doubt(x->dir);
        fetch(hex, x);
        if (!x->e)
            x->e = x->way = load(x, hex);
    }
    return x->e ? NULL : blobs_get(x->set, hex);
}

static void fetch_code(struct fetcher *x, const struct built *code)
{
    for (int i = 0; i < code->n_files; i++)
        fetch(code->files[i].blob.hex, x);
}

/* The sheet, and what its passes name that the program's do not; and whether their data are those of the tuner. */
static void fetch_sheet(struct fetcher *x, struct trial *t)
{
    struct program p;
    const struct blob *b;

    if ((!t->sheet_name.hex[0] && !t->fills[0]) || program_copy(&t->program, &p, NULL))
        return;
    b = t->sheet_name.hex[0] ? program_text(x, t->sheet_name.hex) : NULL;
    if (b)
        x->e = program_sheet_read((const char *)b->data, b->n_bytes, &p, &x->why);
    if (b && !x->e)
        program_each_blob(&p, fetch, x);
    if (!x->e)
        trial_check_fills(t, &p);
    program_fini(&p);
}

/* Gives the trial's anchor up when it cannot be had. */
static void fetch_anchor(struct fetcher *x, struct trial *t, struct why *why)
{
    struct program p;
    const struct blob *b;

    if (!t->anchor_name.hex[0])
        return;
    program_init(&p);
    b = program_text(x, t->anchor_name.hex);
    if (b && !program_from_json((const char *)b->data, b->n_bytes, &p, &x->why))
        program_each_blob(&p, fetch, x);
    if (!x->e && t->anchor_code.status != STATUS_OK)
        x->e = why_set(&x->why, ERR_COMPILE, "%.900s", t->anchor_code.why);
    fetch_code(x, &t->anchor_code);
    program_fini(&p);
    if (!x->e)
        return;
    t->anchor_name.hex[0] = '\0';
    *why = x->why;
    x->e = x->way = ERR_OK;
}

enum err fetch_sources(struct client *client, struct workdir *dir, const char *hex, struct program *out,
                       struct why *why)
{
    struct blobs set;
    struct fetcher x = {.client = client, .dir = dir, .set = &set};
    const struct blob *b;

    blobs_init(&set, MAX_TRIAL_BLOB_BYTES);
    b = program_text(&x, hex);
    if (b)
        x.e = program_from_json((const char *)b->data, b->n_bytes, out, &x.why);
    for (size_t i = 0; b && i < out->n_modules; i++)
        fetch(out->modules[i].source.hex, &x);
    if (x.e)
        *why = x.why;
    blobs_fini(&set);
    return x.e;
}

enum err fetch_trial(struct client *client, struct workdir *dir, struct trial *t, struct why *anchor_why,
                     struct why *why)
{
    struct blobs set;
    struct fetcher x = {.client = client, .dir = dir, .set = &set};
    const struct blob *b;

    blobs_init(&set, MAX_TRIAL_BLOB_BYTES);
    b = program_text(&x, t->program_name.hex);
    if (b)
        trial_take_program(t, b->data, b->n_bytes);
    if (b && !t->finished)
        trial_take_code(t);
    if (b && !t->finished)
        program_each_blob(&t->program, fetch, &x);
    if (b && !t->finished)
        fetch_sheet(&x, t);
    if (!t->finished)
        fetch_code(&x, &t->code);
    if (!x.e && !t->finished)
        fetch_anchor(&x, t, anchor_why);
    if (x.e && !x.way)
        trial_fail(t, STATUS_RUNTIME, "prepare", x.why.text);
    else if (x.way)
        *why = x.why;
    blobs_fini(&set);
    return x.way;
}
