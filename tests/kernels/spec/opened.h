/* SPDX-License-Identifier: MIT */
/* opened.h - the sample job (job.h), changed, as a kernel; what is refused of it. The test makes and drops `dir`. */
#ifndef TUNE_TESTS_KERNELS_SPEC_OPENED_H
#define TUNE_TESTS_KERNELS_SPEC_OPENED_H

#include "kernels/spec/spec.h"
#include "tests/kernels/spec/job.h"

static char dir[256];

static inline enum err open_job(const char *const *pairs, struct spec **out, struct why *why)
{
    struct blobs files;
    struct buf closed;
    char path[512];
    enum err e;

    *out = NULL;
    why->text[0] = '\0';
    blobs_init(&files, 64 << 20);
    buf_init(&closed, SPEC_MAX_BYTES);
    job_write(dir, pairs, path);
    e = spec_load(path, &closed, &files, why);
    if (!e)
        e = spec_open(buf_text(&closed), closed.len, &files, out, why);
    buf_fini(&closed);
    blobs_fini(&files);
    return e;
}

static inline struct spec *opened(const char *const *pairs)
{
    struct spec *s;
    struct why why;

    if (open_job(pairs, &s, &why))
        fail_msg("%s", why.text);
    return s;
}

static inline void refuses(const char *from, const char *to, const char *words)
{
    const char *const pairs[] = {from, to, NULL};
    struct spec *s;
    struct why why;
    const enum err e = open_job(pairs, &s, &why);

    if (!e)
        fail_msg("taken: %s", to);
    if (!strstr(why.text, words) || strchr(why.text, '\n'))
        fail_msg("'%s' does not say '%s'", why.text, words);
    spec_free(s);
}

static inline struct program program_of(struct spec *s, const char *config, struct blobs *blobs)
{
    struct program p;
    struct why why = {""};
    struct config c;

    assert_int_equal(space_config_parse(spec_space(s), config, &c, &why), ERR_OK);
    if (spec_program(s, &c, &p, blobs, &why))
        fail_msg("%s", why.text);
    return p;
}

#endif
