/* SPDX-License-Identifier: MIT */
/* Runs a drawn sample of every template on whatever OpenCL device there is, meant for Oclgrind (oclgrind.sh), which
 * looks for accesses out of bounds, races and divergent barriers while results are verified as always.
 * Arguments: seed, how many shapes of each template, "i/n" for every n-th template from the i-th on, and "mali" for
 * what is offered on a Mali; or "race": a kernel with a bug. */
#include "core/rng.h"
#include "tests/kernels/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/mali.h"
#include "tests/kernels/run_device.h"

#define MAX_FLOPS 1.5e6  /* Oclgrind takes some seconds for a million */
#define SAMPLE_FLOPS 4e5 /* where a template is one of a sample */
#define OTHERS_LOCAL_BYTES                                                                                             \
    8192 /* Oclgrind counts local arrays of all of a program's kernels for each: oclgrind.sh gives more */

/* Of a run: kernels of which the compiler makes intrinsics that Oclgrind 21.10 does not know (llvm.usub.sat of a loop's
 * bounds); it has none of that name then. */
#define MOST_UNKNOWN 2

struct sample {
    const struct device_ops *ops;
    struct device *device;
    struct device_desc desc; /* what programs are made for: the device's, or a Mali's */
    bool mali;
    struct rng rng;
    unsigned part, n_parts; /* of the templates: one in n_parts */
    int n_run, n_failed, n_templates, n_unknown;
};

static void run_config(struct sample *sample, const struct template *t, const struct workload *w, const struct space *s,
                       const struct config *c, const char *shape)
{
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};

    buf_init(&text, 4096);
    blobs_init(&blobs, (size_t)1 << 28);
    space_config_text(s, c, &text);
    printf("%s | %s | %s\n", t->id, shape, buf_text(&text));
    fflush(stdout);
    sample->n_run++;
    if (template_program(t, w, &sample->desc, s, c, &p, &blobs, &why) ||
        load_and_verify(sample->ops, sample->device, &p, &blobs, &why)) {
        const bool is_unknown = strstr(why.text, "has no kernel named") && ++sample->n_unknown <= MOST_UNKNOWN;

        printf("%s: %s\n", is_unknown ? "left out" : "FAILED", why.text);
        sample->n_failed += !is_unknown;
    }
    program_fini(&p);
    blobs_fini(&blobs);
    buf_fini(&text);
}

/* A random config of one shape, the default where the space has no other. */
static void run_shape(struct sample *sample, const struct template *t, const char *shape, bool by_default)
{
    const struct device_desc *d = &sample->desc;
    struct space *s = NULL;
    struct workload w;
    struct config c;
    struct why why = {""};

    if (workload_parse(shape, &w, &why) || template_space(t, &w, d, &s, &why)) {
        printf("FAILED: %s | %s: %s\n", t->id, shape, why.text);
        sample->n_failed++;
        return;
    }
    if (!by_default && space_sample(s, &sample->rng, 100000, &c) == ERR_OK)
        run_config(sample, t, &w, s, &c, shape);
    else if (t->fallback(&w, d, s, &c) == ERR_OK)
        run_config(sample, t, &w, s, &c, shape);
    space_free(s);
}

/* A config of conv2d/direct with many work-items and no barriers: Oclgrind must tell races (oclgrind.sh sees to it). */
static int run_race(struct sample *sample)
{
    const struct template *t = template_find("conv2d/direct");
    const struct device_desc *d = &sample->desc;
    struct space *s = NULL;
    struct workload w;
    struct config c = {{0}};
    struct program p;
    struct blobs blobs;
    struct buf text;
    enum err e = workload_parse("conv2d f32 n=1 c=4 h=8 w=8 k=4 r=3 s=3 pad=1", &w, NULL);

    buf_init(&text, (size_t)1 << 20);
    blobs_init(&blobs, (size_t)1 << 28);
    if (!e)
        e = template_space(t, &w, d, &s, NULL);
    while (!e && space_int(s, &c, "work_items") < 16)
        e = space_sample(s, &sample->rng, 100000, &c);
    if (!e)
        e = template_program(t, &w, d, s, &c, &p, &blobs, NULL);
    if (!e) {
        buf_puts(&text, "#define barrier(flags)\n");
        buf_puts(&text, (const char *)blobs_get(&blobs, p.modules[0].source.hex)->data);
        e = blobs_put(&blobs, buf_text(&text), text.len, &p.modules[0].source);
        if (!e)
            (void)load_and_verify(sample->ops, sample->device, &p, &blobs, NULL);
        program_fini(&p);
    }
    blobs_fini(&blobs);
    buf_fini(&text);
    space_free(s);
    return e ? 2 : 0;
}

/* On a Mali what is offered there. */
static enum fit fit(const struct sample *sample, const struct template *t, const struct workload *w)
{
    return sample->mali ? template_fit(t, w, &sample->desc, NULL) : t->fit(w, &sample->desc, NULL);
}

/* A Mali-T860, but for what the device that runs here has to know. */
static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void describe(struct sample *sample, bool mali)
{
    const struct device_desc *here = sample->ops->describe(sample->device);

    sample->mali = mali;
    sample->desc = mali ? mali_t860 : *here;
    sample->desc.local_bytes = least(sample->desc.local_bytes, here->local_bytes - OTHERS_LOCAL_BYTES);
    sample->desc.fp16 = here->fp16;
    memcpy(sample->desc.extensions, here->extensions, sizeof here->extensions);
}

/* Each product of a deformable layer interpolates between four pixels. */
static bool is_small(const struct sample *sample, const struct workload *w)
{
    const double of_one = strcmp(w->op->name, "deformable_conv2d") == 0 ? 8 : 1;

    return of_one * w->op->flops(w) <= (sample->n_parts > 1 ? SAMPLE_FLOPS : MAX_FLOPS);
}

/* The shapes that a template computes and that are small enough; how many. */
static size_t shapes_of(const struct sample *sample, const struct template *t, const char **out, size_t max)
{
    size_t n = 0;

    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape && n < max; shape++) {
            struct workload w;

            if (!workload_parse(*shape, &w, NULL) && template_computes(t, w.op) && is_small(sample, &w) &&
                fit(sample, t, &w) != FIT_NONE)
                out[n++] = *shape;
        }
    return n;
}

static void run_template(struct sample *sample, const struct template *t, int n_shapes)
{
    const char *shapes[256];
    size_t n = shapes_of(sample, t, shapes, 256);

    sample->n_templates += n > 0;
    for (int i = 0; i < n_shapes && n > 0; i++) {
        const size_t pick = (size_t)rng_below(&sample->rng, n);

        run_shape(sample, t, shapes[pick], sample->n_parts > 1 ? rng_below(&sample->rng, 2) == 0 : i == 0);
        shapes[pick] = shapes[--n];
    }
}

int main(int argc, char **argv)
{
    struct devices_under_test under;
    struct sample sample = {.n_parts = 1};
    unsigned n_seen = 0;
    const int n_shapes = argc > 2 ? atoi(argv[2]) : 2;

    rng_init(&sample.rng, argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    if (!open_devices("opencl", &under))
        return 77;
    sample.ops = under.ops;
    sample.device = under.list[0];
    if (argc > 3 && (sscanf(argv[3], "%u/%u", &sample.part, &sample.n_parts) != 2 || sample.n_parts == 0))
        return 2;
    describe(&sample, argc > 4 && strcmp(argv[4], "mali") == 0);
    if (argc > 1 && strcmp(argv[1], "race") == 0)
        return run_race(&sample);
    for (size_t i = 0; operator_table[i]; i++)
        for (const struct template *const *t = operator_table[i]->templates; *t; t++)
            if (n_seen++ % sample.n_parts == sample.part)
                run_template(&sample, *t, n_shapes);
    close_devices(&under);
    printf("%d configs of %d templates, %d failed, %d left out\n", sample.n_run, sample.n_templates, sample.n_failed,
           sample.n_unknown < MOST_UNKNOWN ? sample.n_unknown : MOST_UNKNOWN);
    return sample.n_failed ? 1 : 0;
}
