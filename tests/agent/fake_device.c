/* SPDX-License-Identifier: MIT */
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

#define RUN_W 50.0

struct fake_device fake;

struct loaded {
    const struct program *p;
    char *source;
    void *buffers[PROGRAM_MAX_BUFFERS];
    int64_t n_runs;
};

void fake_reset(void)
{
    fake = (struct fake_device){.good_ns = 20000, .slower_ns = 40000, .canary_ns = 1000000, .compile_ns = 5000000};
    fake.desc = (struct device_desc){.kind = DEVICE_GPU, .units = 4, .max_work_group = 256, .vector_bits = 128};
    strcpy(fake.desc.api, "opencl");
    strcpy(fake.desc.name, "fake");
}

int64_t fake_runs_of(const struct loaded *l)
{
    return l->n_runs;
}

static const struct device_desc *describe(const struct device *d)
{
    (void)d;
    return &fake.desc;
}

static size_t bytes_of(const struct program_buffer *b)
{
    return (size_t)b->n_elems * dtype_bytes(b->dtype);
}

static void unload(struct loaded *l)
{
    fake.n_unloads++;
    for (int i = 0; i < PROGRAM_MAX_BUFFERS; i++)
        free(l->buffers[i]);
    free(l->source);
    free(l);
}

static enum err build(const struct program *p, const struct blobs *blobs, struct load_report *report, struct why *why)
{
    const struct blob *source = blobs_get(blobs, p->modules[0].source.hex);

    report->build_ns = fake.compile_ns;
    if (source && strlen(sample_broken) == source->n_bytes &&
        memcmp(source->data, sample_broken, source->n_bytes) == 0) {
        report->log = strdup("3:20: error: no_such_name\n");
        return why_set(why, ERR_COMPILE, "the kernel does not compile");
    }
    return fake.load_fails ? why_set(why, ERR_LIMITS, "it does not fit") : ERR_OK;
}

static enum err compile(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                        struct load_report *report, struct why *why)
{
    (void)d;
    (void)cache_dir;
    return build(p, blobs, report, why);
}

static enum err load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                     struct loaded **out, struct load_report *report, struct why *why)
{
    const struct blob *source = p->n_modules ? blobs_get(blobs, p->modules[0].source.hex) : NULL;
    struct loaded *l;
    enum err e = source ? build(p, blobs, report, why) : ERR_OK;

    (void)d;
    (void)cache_dir;
    if (e)
        return e;
    fake.n_loads++;
    l = calloc(1, sizeof *l);
    l->p = p;
    l->source = source ? strndup((const char *)source->data, source->n_bytes) : strdup("");
    for (size_t i = 0; i < p->n_buffers; i++)
        l->buffers[i] = calloc(1, bytes_of(&p->buffers[i]));
    report->n_resources = 1;
    report->resources[0] = (struct kernel_resources){"f", 32, 0, -1, -1, -1, 256};
    *out = l;
    return ERR_OK;
}

static bool is(const struct loaded *l, const char *source)
{
    return strcmp(l->source, source) == 0;
}

static void compute(struct loaded *l)
{
    const float *x = l->buffers[0];
    float *y = l->buffers[1];
    const bool is_second = (fake.one_state ? fake.n_runs : l->n_runs) == 2;

    if ((is(l, sample_lazy) && l->n_runs > 12) || (is(l, sample_lapse) && l->n_runs % 8 == 0) ||
        (is(l, sample_blank) && y[0] == 0))
        return;
    for (int i = 0; i < SAMPLE_N; i++)
        if (!is(l, sample_stale) || !(y[i] <= x[i] + 1.0f)) /* NaN is not */
            y[i] = x[i] + (i == 77 && (is(l, sample_wrong) || (is(l, sample_second) && is_second)) ? 2.0f : 1.0f);
}

static enum err run_sample(struct loaded *l, int64_t *ns, struct why *why)
{
    fake.n_runs++;
    l->n_runs++;
    *ns = (is(l, sample_slower) ? fake.slower_ns : fake.good_ns) + fake.drift_ns * fake.n_runs;
    if (fake.n_runs == fake.fails_at || (is(l, sample_wild) || (is(l, sample_bomb) && l->n_runs > 12))) {
        if (fake.n_runs != fake.fails_at)
            fake.lost = l;
        return why_set(why, ERR_DEVICE, "an illegal address");
    }
    compute(l);
    return ERR_OK;
}

static enum err run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    int64_t ns = 0;
    enum err e = ERR_OK;

    if (phase == PHASE_RUN && strcmp(l->p->workload, "canary fma") == 0) {
        fake.n_canary_runs++;
        ns = fake.canary_ns;
    } else if (phase == PHASE_RUN) {
        e = run_sample(l, &ns, why);
    } else if (phase == PHASE_PACK) {
        ns = fake.pack_ns;
    }
    if (device_ns)
        *device_ns = ns;
    if (wall_ns)
        *wall_ns = ns + (phase == PHASE_RUN && l->n_runs == 1 ? fake.late_ns : 0);
    fake.sense.energy_j += (double)ns * 1e-9 * RUN_W;
    return e;
}

static enum err write_buffer(struct loaded *l, int i_buffer, const void *data, struct why *why)
{
    (void)why;
    fake.n_writes++;
    memcpy(l->buffers[i_buffer], data, bytes_of(&l->p->buffers[i_buffer]));
    return ERR_OK;
}

static enum err read_buffer(struct loaded *l, int i_buffer, void *data, struct why *why)
{
    (void)why;
    memcpy(data, l->buffers[i_buffer], bytes_of(&l->p->buffers[i_buffer]));
    return ERR_OK;
}

static enum err read_sense(struct device *d, struct sense *out)
{
    (void)d;
    *out = fake.sense;
    out->known = fake.known;
    out->power_w = RUN_W;
    return fake.known ? ERR_OK : ERR_DEVICE;
}

static const struct loaded *lost_by(const struct device *d)
{
    (void)d;
    return fake.lost;
}

#define COMMON                                                                                                         \
    .name = "opencl", .describe = describe, .load = load, .unload = unload, .run = run, .write = write_buffer,         \
    .read = read_buffer

const struct device_ops fake_ops = {COMMON, .sense = read_sense, .lost_by = lost_by};
const struct device_ops fake_compiling_ops = {COMMON, .compile = compile};
const struct device_ops fake_blind_ops = {COMMON};
const struct device_ops fake_simulated_ops = {COMMON, .simulated = true};
