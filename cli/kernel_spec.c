/* SPDX-License-Identifier: MIT */
/* kernel_spec.c - --kernel-spec: a person's own kernel from its job file, as a job or to look at. */
#include "cli/cmd.h"
#include "cli/config.h"

#include "kernels/spec/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_WALK 200000

static void tell(const char *path, const char *notes)
{
    while (*notes) {
        const int n = (int)strcspn(notes, "\n");

        fprintf(stderr, "tune: %s: %.*s\n", path, n, notes);
        notes += n + (notes[n] == '\n');
    }
}

static void set_budget(struct job *j, const struct spec *s)
{
    const struct spec_budget b = spec_budget(s);
    bool exact;
    double trials = b.trials;

    if (b.fraction > 0)
        trials = ceil(b.fraction * space_count_valid(spec_space(s), COUNT_WALK, &exact));
    if (trials > 0)
        j->trials = (int64_t)fmin(fmax(trials, 1), JOB_MAX_TRIALS);
    j->time_s = b.time_s;
}

static enum err read_spec(const char *path, struct buf *closed, struct blobs *files, struct spec **out, struct why *why)
{
    enum err e = spec_load(path, closed, files, why);

    *out = NULL;
    if (!e && (e = spec_open(buf_text(closed), closed->len, files, out, why)))
        why_prefix(why, e, "%.300s", path);
    return e;
}

/* The closed text and the files go where they are wanted. */
static enum err open_spec(const struct cli *c, const char *path, struct buf *closed, struct blobs *files,
                          struct spec **out, struct why *why)
{
    const enum err e = read_spec(path, closed, files, out, why);

    if (!e && (!cmd_has(c, "quiet") || !cli_flag(c, "quiet")))
        tell(path, spec_notes(*out));
    return e;
}

enum err cmd_spec_check(const char *path, const char *config, struct why *why)
{
    struct spec *s = NULL;
    struct config any;
    struct blobs files;
    struct buf closed;
    enum err e;

    blobs_init(&files, (size_t)1 << 30);
    buf_init(&closed, SPEC_MAX_BYTES);
    e = read_spec(path, &closed, &files, &s, why);
    if (!e && config)
        e = cmd_choose_config(spec_space(s), config, &any, why);
    spec_free(s);
    buf_fini(&closed);
    blobs_fini(&files);
    return e;
}

enum err cmd_spec_open(const struct cli *c, const char *path, struct spec **out, struct why *why)
{
    struct blobs files;
    struct buf closed;
    enum err e;

    blobs_init(&files, (size_t)1 << 30);
    buf_init(&closed, SPEC_MAX_BYTES);
    e = open_spec(c, path, &closed, &files, out, why);
    buf_fini(&closed);
    blobs_fini(&files);
    return e;
}

const char *cmd_device_named(const struct cli *c)
{
    const char *spec = cmd_has(c, "kernel-spec") ? cli_text(c, "kernel-spec") : NULL;

    return spec && !cli_get(c, "device")->given ? spec_usual_device(spec) : cli_text(c, "device");
}

struct fetching {
    struct client *client;
    struct blobs *files;
};

static enum err fetch(const char *hex, void *arg, struct why *why)
{
    const struct fetching *f = arg;

    return client_get_blob(f->client, hex, f->files, why);
}

enum err cmd_fetch_files(struct client *c, struct job *j, struct why *why)
{
    struct fetching f = {c, &j->spec_files};

    return j->spec ? spec_each_file(j->spec, strlen(j->spec), fetch, &f, why) : ERR_OK;
}

enum err cmd_kernel_spec(const struct cli *c, const char *path, struct job *j, struct why *why)
{
    struct spec *s = NULL;
    struct buf closed;
    enum err e;

    buf_init(&closed, SPEC_MAX_BYTES);
    e = open_spec(c, path, &closed, &j->spec_files, &s, why);
    if (!e && (e = job_add_layer(j, spec_workload(s), "", 1)))
        why_set(why, e, "%s", err_words(e));
    if (!e) {
        set_budget(j, s);
        j->spec = buf_take(&closed);
    }
    spec_free(s);
    buf_fini(&closed);
    return e;
}
