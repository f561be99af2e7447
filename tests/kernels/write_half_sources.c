/* Writes the kernel texts of all templates for a device that computes in half into a directory, with their defines in
 * front: PoCL has no such arithmetic, so a compiler's opinion is all that can be had on it (half_syntax.sh). */
#include "core/rng.h"
#include "kernels/template.h"
#include "tests/kernels/cases.h"

#include <stdio.h>

static const struct device_desc mali = {.api = "opencl",
                                        .kind = DEVICE_MALI,
                                        .max_work_group = 256,
                                        .max_local = {256, 256, 256},
                                        .local_bytes = 32768,
                                        .vector_bits = 128,
                                        .fp16 = true};

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
    ok = template_program(t, w, &mali, s, c, &p, &blobs, &why) == ERR_OK;
    if (!ok)
        fprintf(stderr, "%s: %s\n", t->id, why.text);
    for (size_t k = 0; ok && k < p.n_modules; k++)
        ok = write_module(to->dir, to->n_written++, &p, &p.modules[k], &blobs);
    to->n_failed += !ok;
    program_fini(&p);
    blobs_fini(&blobs);
}

/* The default config and a random one. */
static void write_template(struct writer *to, const struct template *t, const struct workload *w)
{
    struct space *s = NULL;
    struct config c;
    struct why why = {""};

    if (template_space(t, w, &mali, &s, &why) || t->fallback(w, &mali, s, &c)) {
        fprintf(stderr, "%s: no space or default: %s\n", t->id, why.text);
        to->n_failed++;
    } else {
        write_config(to, t, w, s, &c);
        if (space_sample(s, &to->rng, 100000, &c) == ERR_OK)
            write_config(to, t, w, s, &c);
    }
    space_free(s);
}

int main(int argc, char **argv)
{
    struct writer to = {.dir = argc > 1 ? argv[1] : "."};

    rng_init(&to.rng, 5);
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;

            if (workload_parse(*shape, &w, NULL) || !sums_in_half(&w, &mali))
                continue;
            for (const struct template *const *t = w.op->templates; *t; t++)
                if ((*t)->fit(&w, &mali, NULL) != FIT_NONE)
                    write_template(&to, *t, &w);
        }
    printf("%d texts, %d failed\n", to.n_written, to.n_failed);
    return to.n_written > 0 && !to.n_failed ? 0 : 1;
}
