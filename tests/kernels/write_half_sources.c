/* SPDX-License-Identifier: MIT */
/* Writes kernel texts as a Mali-T860 would get them into a directory, with their defines in front: no device here
 * computes in half, so a compiler's opinion is all that can be had (half_syntax.sh). First argument the directory;
 * second "half": every template that sums in half, or "all": every template and type that is offered on a Mali; of each
 * one shape and config as the seed has it. --full: all shapes that sum in half, and two of each type, with two configs.
 */
#include "core/rng.h"
#include "kernels/template.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/draw.h"
#include "tests/kernels/mali.h"
#include "tests/kernels/sample.h"

#include <stdio.h>
#include <string.h>

#define SHAPES_A_TYPE 2 /* of --full */

static bool write_module(const char *dir, int number, const struct program *p, const struct program_module *m,
                         const struct blobs *blobs)
{
    const struct blob *text = blobs_get(blobs, m->source.hex);
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%03d.cl", dir, number);
    f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f, "/* %s: %s */\n", p->template_id, p->workload);
    for (size_t i = 0; i < m->n_defines; i++)
        fprintf(f, "#define %s %s\n", m->defines[i].name, m->defines[i].value);
    fwrite(text->data, 1, text->n_bytes, f);
    return fclose(f) == 0;
}

struct writer {
    const char *dir;
    struct rng rng;
    bool is_full;
    int n_written, n_failed;
};

static void write_config(struct writer *to, const struct template *t, const struct workload *w, const struct space *s,
                         const struct config *c)
{
    struct program p;
    struct blobs blobs;
    struct why why = {""};
    bool ok;

    blobs_init(&blobs, (size_t)1 << 28);
    ok = template_kernels(t, w, &mali_t860, s, c, &p, &blobs, &why) == ERR_OK;
    if (!ok)
        fprintf(stderr, "%s: %s\n", t->id, why.text);
    for (size_t k = 0; ok && k < p.n_modules; k++)
        ok = write_module(to->dir, to->n_written++, &p, &p.modules[k], &blobs);
    to->n_failed += !ok;
    program_fini(&p);
    blobs_fini(&blobs);
}

/* The default config or a random one; --full: both. */
static void write_template(struct writer *to, const struct template *t, const struct workload *w)
{
    struct space *s = NULL;
    struct config c;
    struct why why = {""};

    if (template_space(t, w, &mali_t860, &s, &why) || t->fallback(w, &mali_t860, s, &c)) {
        fprintf(stderr, "%s: no space or default: %s\n", t->id, why.text);
        to->n_failed++;
    } else {
        const bool by_default = rng_below(&to->rng, 2) == 0;
        struct config other = c;
        struct draw draw = {s, NULL};

        if (to->is_full || !by_default)
            (void)draw_config(&draw, &to->rng, &other);
        if (to->is_full)
            write_config(to, t, w, s, &c);
        write_config(to, t, w, s, &other);
        draw_fini(&draw);
    }
    space_free(s);
}

/* Shapes that each template had so far, by data type. */
struct seen {
    const struct template *t;
    int n[N_DTYPES];
};

static bool is_wanted(const struct template *t, const struct workload *w, struct seen *seen, size_t n_seen, int most)
{
    for (size_t i = 0; i < n_seen; i++)
        if (!seen[i].t || seen[i].t == t) {
            seen[i].t = t;
            return seen[i].n[w->dtype]++ < most;
        }
    return true;
}

static void write_workload(struct writer *to, const struct workload *w, bool half)
{
    static struct seen seen[256];

    for (const struct template *const *t = w->op->templates; *t; t++) {
        const enum fit fit = half ? (*t)->fit(w, &mali_t860, NULL) : template_fit(*t, w, &mali_t860, NULL);

        if (fit != FIT_NONE && ((half && to->is_full) || is_wanted(*t, w, seen, 256, to->is_full ? SHAPES_A_TYPE : 1)))
            write_template(to, *t, w);
    }
}

/* From the begin, or from a place that the seed chooses, around to where it began. */
static void write_cases(struct writer *to, const struct cases *cases, bool half)
{
    uint64_t n = 0, first;

    while (cases->shapes[n])
        n++;
    first = to->is_full ? 0 : rng_below(&to->rng, n);
    for (uint64_t i = 0; i < n; i++) {
        struct workload w;

        if (workload_parse(cases->shapes[(first + i) % n], &w, NULL) == ERR_OK && sums_in_half(&w, &mali_t860) >= half)
            write_workload(to, &w, half);
    }
}

int main(int argc, char **argv)
{
    struct writer to = {.dir = argc > 1 ? argv[1] : ".", .is_full = sample_flag(argc, argv, "--full")};
    const bool half = argc < 3 || strcmp(argv[2], "half") == 0;

    rng_init(&to.rng, to.is_full ? 5 : sample_seed(argc, argv));
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        write_cases(&to, *cases, half);
    printf("%d texts, %d failed\n", to.n_written, to.n_failed);
    return to.n_written > 0 && !to.n_failed ? 0 : 1;
}
