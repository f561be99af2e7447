/* SPDX-License-Identifier: MIT */
#include "kernels/spec/spec_private.h"

#include "core/buf.h"
#include "core/err.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct spec_language languages[] = {
    {"OpenCL", "opencl", LANG_OPENCL_C}, {"CUDA", "cuda", LANG_CUDA_C}, {"C", "c", LANG_C}, {"C++", "c", LANG_CXX}};

const struct spec_language *spec_language(const struct spec *s)
{
    size_t i = 0;

    while (languages[i].lang != s->lang)
        i++;
    return &languages[i];
}

bool spec_is_function(const struct spec *s)
{
    return s->lang == LANG_C || s->lang == LANG_CXX;
}

const struct spec_language *spec_language_named(const char *name)
{
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (strcasecmp(languages[i].name, name) == 0)
            return &languages[i];
    return NULL;
}

enum err spec_one_line(struct why *why, enum err e)
{
    for (char *at = why ? why->text : NULL; e && at && *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    return e;
}

void spec_free(struct spec *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < PROGRAM_MAX_ARGS; i++) {
        spec_fill_fini(&s->args[i].fill);
        spec_fill_fini(&s->args[i].expected);
    }
    for (size_t i = 0; i < s->n_definitions; i++)
        free(s->definitions[i].text);
    for (size_t i = 0; i < s->n_metrics; i++)
        expr_free(s->metrics[i].expression);
    free(s->kernel.options);
    free(s->reference.options);
    space_free(s->space);
    blobs_fini(&s->files);
    buf_fini(&s->notes);
    free(s);
}

const char *spec_workload(const struct spec *s)
{
    return s->workload;
}

const struct space *spec_space(const struct spec *s)
{
    return s->space;
}

const char *spec_notes(const struct spec *s)
{
    return buf_text(&s->notes);
}

int spec_version(const struct spec *s)
{
    return s->version;
}

bool spec_default(const struct spec *s, struct config *out)
{
    if (s->has_fallback)
        *out = s->fallback;
    return s->has_fallback;
}

bool spec_is_checked(const struct spec *s)
{
    bool is_expected = false;

    for (size_t i = 0; i < s->n_args; i++)
        is_expected |= s->args[i].is_expected;
    return s->has_reference || is_expected;
}

struct spec_budget spec_budget(const struct spec *s)
{
    return s->budget;
}

enum err spec_fits(const struct spec *s, const struct device_desc *d, struct why *why)
{
    const struct spec_language *l = spec_language(s);

    if (strcmp(d->api, l->api) == 0)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "the kernel is %s and the device %s is %s: expected --device %s", l->name,
                   d->name, d->api, l->api);
}
