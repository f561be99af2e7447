/* SPDX-License-Identifier: MIT */
#include "kernels/template.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "kernels/build.h"
#include "kernels/embedded.h"
#include "kernels/expect.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INCLUDES 6
#define MAX_KERNEL_TEXT ((size_t)1 << 20)

static char kernel_dir[PATH_MAX];

bool template_computes(const struct template *t, const struct operator_desc *op)
{
    for (const struct template *const *of = op->templates; *of; of++)
        if (*of == t)
            return true;
    return false;
}

const struct template *template_find(const char *id)
{
    for (size_t i = 0; operator_table[i]; i++)
        for (const struct template *const *t = operator_table[i]->templates; *t; t++)
            if (strcmp((*t)->id, id) == 0)
                return *t;
    return NULL;
}

const char *template_id_at(size_t i)
{
    for (size_t k = 0; operator_table[k]; k++)
        for (const struct template *const *t = operator_table[k]->templates; *t; t++)
            if (i-- == 0)
                return (*t)->id;
    return NULL;
}

/* A template that computes `w` without staging. */
static const struct template *without_staging(const struct workload *w, const struct device_desc *d)
{
    for (const struct template *const *t = w->op->templates; *t; t++)
        if (!(*t)->stages && (*t)->fit(w, d, NULL) > FIT_BASELINE)
            return *t;
    return NULL;
}

enum fit template_fit(const struct template *t, const struct workload *w, const struct device_desc *d, struct why *why)
{
    const bool for_functions = strcmp(d->api, "c") == 0;
    const enum fit fit = for_functions ? FIT_NONE : t->fit(w, d, why);
    const struct template *other =
        d->kind == DEVICE_MALI && t->stages && fit > FIT_BASELINE ? without_staging(w, d) : NULL;

    if (for_functions)
        why_set(why, ERR_UNSUPPORTED, "it is for functions in C of one's own (--kernel-spec)");
    if (!other)
        return fit;
    why_set(why, ERR_UNSUPPORTED, "stages in local memory, which on Mali spares nothing; %s does without", other->id);
    return FIT_NONE;
}

enum err template_space(const struct template *t, const struct workload *w, const struct device_desc *d,
                        struct space **out, struct why *why)
{
    struct space *s = NULL;
    enum err e;

    if (!template_computes(t, w->op))
        return why_set(why, ERR_INPUT, "template %s is not of operator %s", t->id, w->op->name);
    if (t->fit(w, d, why) == FIT_NONE)
        return ERR_UNSUPPORTED;
    e = space_new(&s);
    if (!e)
        e = t->space(w, d, s, why);
    if (!e)
        e = space_seal(s, why);
    if (e)
        space_free(s);
    else
        *out = s;
    return e;
}

bool sums_in_half(const struct workload *w, const struct device_desc *d)
{
    return w->dtype == DTYPE_F16 && workload_has(w, "acc") && workload_get(w, "acc") == 1 && d->fp16;
}

struct numerics numerics_of(const struct workload *w, const struct device_desc *d)
{
    if (w->dtype == DTYPE_F32)
        return (struct numerics){.name = "f32", .data = EXACT_PLAIN, .tolerance = 2e-6};
    if (w->dtype == DTYPE_BF16)
        return (struct numerics){.name = "bf16-f32", .data = EXACT_PLAIN, .tolerance = 8e-3};
    if (w->dtype != DTYPE_F16)
        return (struct numerics){.name = "exact", .data = EXACT_PLAIN, .tolerance = 0};
    return sums_in_half(w, d) ? (struct numerics){.name = "f16", .data = EXACT_PLAIN, .tolerance = 1e-2}
                              : (struct numerics){.name = "f16-f32", .data = EXACT_PLAIN, .tolerance = 2e-3};
}

enum fit fit_anywhere(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)w;
    (void)d;
    (void)why;
    return FIT_GOOD;
}

void numerics_exact(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    (void)w;
    (void)s;
    (void)c;
    *inout = (struct numerics){.name = "exact", .data = EXACT_PLAIN, .tolerance = 0};
}

struct numerics template_numerics(const struct template *t, const struct workload *w, const struct device_desc *d,
                                  const struct space *s, const struct config *c)
{
    struct numerics numerics = numerics_of(w, d);

    if (t->numerics)
        t->numerics(w, s, c, &numerics);
    return numerics;
}

double template_least_flops(const struct template *t, const struct workload *w, const struct device_desc *d,
                            const struct space *s, const struct config *c)
{
    const struct numerics numerics = template_numerics(t, w, d, s, c);

    assert(numerics.saved >= 0 && numerics.saved <= 1); /* a part of the operator's FLOPs */
    if (!w->op->flops_least)
        return 0;
    return numerics.saved > 0 ? w->op->flops(w) * numerics.saved : w->op->flops_least(w);
}

static enum err add_kernels(const struct template *t, struct build *b)
{
    t->program(b);
    return b->e;
}

static enum err describe(const struct template *t, const struct workload *w, const struct device_desc *d,
                         const struct space *s, const struct config *c, struct program *p)
{
    struct buf text;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (workload_text(w, &text)) {
        buf_fini(&text);
        return ERR_NOMEM;
    }
    p->workload = buf_take(&text);
    p->template_id = strdup(t->id);
    p->template_version = t->version;
    cJSON_Delete(p->knobs);
    p->knobs = space_config_to_json(s, c);
    p->flops = w->op->flops(w);
    p->flops_effective = w->op->flops_effective ? w->op->flops_effective(w) : p->flops;
    p->bytes_min = w->op->bytes_min(w);
    snprintf(p->api, sizeof p->api, "%s", kernel_lang(d) == LANG_CUDA_C ? "cuda" : "opencl");
    if (kernel_lang(d) == LANG_OPENCL_C)
        snprintf(p->std, sizeof p->std, "CL1.2");
    return p->template_id && p->knobs ? ERR_OK : ERR_NOMEM;
}

enum err template_kernels(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const struct config *c, struct program *out, struct blobs *blobs,
                          struct why *why)
{
    struct build b = {.w = w, .d = d, .s = s, .c = c, .p = out, .blobs = blobs, .why = why};
    const char *violated = NULL, *numerics;
    enum err e;

    program_init(out);
    if (!space_config_in_range(s, c) || !space_is_valid(s, c, &violated))
        return why_set(why, ERR_INPUT, "%s: the config violates %s", t->id,
                       violated ? violated : "the lists of values");
    e = describe(t, w, d, s, c, out);
    if (!e)
        e = operator_add_tensors(w, out);
    if (!e)
        e = add_kernels(t, &b);
    numerics = template_numerics(t, w, d, s, c).name;
    assert(strlen(numerics) < sizeof out->numerics); /* records are compared by it: cut, two would be one */
    snprintf(out->numerics, sizeof out->numerics, "%s", numerics);
    return e ? e : program_check_sane(out, why);
}

enum err template_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const struct config *c, struct program *out, struct blobs *blobs,
                          struct why *why)
{
    enum err e = template_kernels(t, w, d, s, c, out, blobs, why);
    struct numerics numerics;

    if (e)
        return e;
    numerics = template_numerics(t, w, d, s, c);
    e = expect_passes(w, &numerics, out, blobs);
    if (e)
        why_set(why, e, "expected values of %s: %s", out->workload, err_words(e));
    return e ? e : program_check_sane(out, why);
}

enum err template_add_sheet(const struct template *t, const struct workload *w, const struct device_desc *d,
                            const struct space *s, const struct config *c, uint64_t seed, struct program *p,
                            struct blobs *blobs, struct why *why)
{
    const struct numerics numerics = template_numerics(t, w, d, s, c);
    struct buf text;
    enum err e;

    buf_init(&text, PROGRAM_MAX_BYTES);
    e = expect_sheet(w, &numerics, seed, &text, blobs);
    if (e)
        why_set(why, e, "expected values of %s: %s", p->workload, err_words(e));
    if (!e)
        e = program_sheet_read(buf_text(&text), text.len, p, why);
    buf_fini(&text);
    return e;
}

enum err template_set_kernel_dir(const char *dir, struct why *why)
{
    char path[PATH_MAX];

    if (dir && snprintf(path, sizeof path, "%s/preamble.h", dir) >= (int)sizeof path)
        return why_set(why, ERR_INPUT, "%.60s...: the path is too long", dir);
    if (dir && access(path, R_OK) != 0)
        return why_set(why, ERR_INPUT, "%s: %s; expected a folder of kernel files like tune's own kernels/", path,
                       strerror(errno));
    snprintf(kernel_dir, sizeof kernel_dir, "%s", dir ? dir : "");
    return ERR_OK;
}

static enum err read_file(const char *name, struct buf *out)
{
    char path[PATH_MAX + 256];

    if (kernel_dir[0]) {
        snprintf(path, sizeof path, "%s/%s", kernel_dir, name);
        return file_read(path, out, NULL);
    }
    for (const struct embedded *f = embedded_kernels; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return buf_puts(out, f->text);
    return ERR_NOT_FOUND;
}

/* Appends a file; its lines `#include "NAME"` are replaced by that file, not deeper than MAX_INCLUDES. The line that
 * names the licence is left out: it is no part of a program. */
static enum err append_file(const char *name, int depth, struct buf *out)
{
    static const char word[] = "#include \"", licence[] = "/* SPDX-License-Identifier: ";
    struct buf text;
    enum err e = depth < MAX_INCLUDES ? ERR_OK : ERR_LIMIT;

    buf_init(&text, MAX_KERNEL_TEXT);
    if (!e)
        e = read_file(name, &text);
    for (const char *line = e ? "" : buf_text(&text); !e && *line;) {
        const size_t n = strcspn(line, "\n"), n_line = n + (line[n] == '\n');
        const char *quote = memchr(line + sizeof word - 1, '"', n < sizeof word ? 0 : n - (sizeof word - 1));
        char included[128];

        if (strncmp(line, word, sizeof word - 1) == 0 && quote) {
            snprintf(included, sizeof included, "%.*s", (int)(quote - line - (int)sizeof word + 1),
                     line + sizeof word - 1);
            e = append_file(included, depth + 1, out);
        } else if (strncmp(line, licence, sizeof licence - 1) != 0) {
            e = buf_append(out, line, n_line);
        }
        line += n_line;
    }
    buf_fini(&text);
    return e;
}

enum program_lang kernel_lang(const struct device_desc *d)
{
    return strcmp(d->api, "cuda") == 0 ? LANG_CUDA_C : LANG_OPENCL_C;
}

enum err kernel_text(const char *name, enum program_lang lang, struct buf *out)
{
    const char *const parts[] = {"preamble.h", lang == LANG_CUDA_C ? "preamble_cuda.h" : "preamble_opencl.h",
                                 "preamble_store.h"};
    const char *plus = strchr(name, '+');
    enum err e = lang == LANG_CUDA_C ? buf_puts(out, "#define TUNE_CUDA 1\n") : ERR_OK;

    for (size_t i = 0; !e && i < sizeof parts / sizeof parts[0]; i++)
        e = append_file(parts[i], 0, out);
    if (!e && plus) {
        char more[64];

        snprintf(more, sizeof more, "%.*s", (int)(plus - name), name);
        name = plus + 1;
        e = append_file(more, 0, out);
    }
    if (!e)
        e = buf_puts(out, "#line 1\n");
    return e ? e : append_file(name, 0, out);
}

/* A built-in text as it was made first; they stay until the process ends. */
struct kept_text {
    struct kept_text *next;
    char name[128];
    enum program_lang lang;
    struct sha256 hash;
    struct buf text;
};

static struct kept_text *kept_texts;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. */
static enum err find_text(const char *name, enum program_lang lang, struct kept_text **out)
{
    struct kept_text *k = kept_texts;
    enum err e;

    while (k && (k->lang != lang || strcmp(k->name, name) != 0))
        k = k->next;
    *out = k;
    assert(!kernel_dir[0]); /* a text that somebody edits would stay as it was */
    if (k)
        return ERR_OK;
    if (strlen(name) >= sizeof k->name)
        return ERR_LIMIT;
    k = calloc(1, sizeof *k);
    if (!k)
        return ERR_NOMEM;
    buf_init(&k->text, MAX_KERNEL_TEXT);
    e = kernel_text(name, lang, &k->text);
    if (e) {
        buf_fini(&k->text);
        free(k);
        return e;
    }
    snprintf(k->name, sizeof k->name, "%s", name);
    k->lang = lang;
    k->hash = sha256_of(buf_text(&k->text), k->text.len);
    k->next = kept_texts;
    kept_texts = *out = k;
    return ERR_OK;
}

static enum err put_fresh(const char *name, enum program_lang lang, struct blobs *blobs, struct sha256 *out)
{
    struct buf text;
    enum err e;

    buf_init(&text, MAX_KERNEL_TEXT);
    e = kernel_text(name, lang, &text);
    if (!e)
        e = blobs_put(blobs, buf_text(&text), text.len, out);
    buf_fini(&text);
    return e;
}

enum err kernel_blob(const char *name, enum program_lang lang, struct blobs *blobs, struct sha256 *out)
{
    struct kept_text *k;
    enum err e;

    if (kernel_dir[0]) /* files that somebody edits */
        return put_fresh(name, lang, blobs, out);
    pthread_mutex_lock(&kept_lock);
    e = find_text(name, lang, &k);
    if (!e) {
        e = blobs_put_named(blobs, buf_text(&k->text), k->text.len, &k->hash);
        *out = k->hash;
    }
    pthread_mutex_unlock(&kept_lock);
    return e;
}
