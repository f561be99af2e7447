/* SPDX-License-Identifier: MIT */
/* Does building beside it disturb timing? On the timing child's CPUs, in turns alone and while the build child compiles
 * fresh programs on the others: the canary, which lives in registers, and a kernel that streams 300 KiB through the
 * caches. Prints medians and their ratios; asserts nothing. This program is also its children.
 *   bench_agent_overlap [TURNS]   1 to 8 turns of either kind, four times each */
#include "agent/child.h"
#include "agent/rig.h"
#include "agent/timing.h"
#include "core/clock.h"
#include "core/file.h"
#include "samples.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TURNS 8
#define PER_TURN 4
#define STREAM_ELEMS 76800 /* 300 KiB: more than the first cache, less than the second of the CPUs seen */

static const char stream_source[] =
    "__kernel void f(__global const float *x, __global float *y, int n)\n{\n"
    "    float16 a = 0.0f, b = 1.0f;\n"
    "    for (int k = 0; k < 16; k++)\n        for (int i = 0; i < n / 16; i += 2) {\n"
    "            a = fma(a, 0.5f, vload16(i, x));\n            b = fma(b, 0.5f, vload16(i + 1, x));\n        }\n"
    "    vstore16(a + b, get_global_id(0), y);\n}\n";

static struct rig rig;
static atomic_bool building, over;
static int n_built;

/* A leased trial of a program whose blobs are in the work directory now. */
static struct trial *lease(struct sample *m)
{
    static const struct trial_agent self = {.name = "bench", .key = "bench"};
    const struct sha256 name = sample_seal(m);
    struct trial *t = NULL;
    char text[256];
    cJSON *json;

    for (size_t i = 0; i < m->blobs.n; i++)
        workdir_put(&rig.dir, &m->blobs, m->blobs.items[i].name.hex, NULL);
    snprintf(text, sizeof text, "{\"trial\":\"t1\",\"token\":1,\"program\":\"%s\"}", name.hex);
    json = cJSON_Parse(text);
    if (trial_new(json, &self, &t, NULL))
        abort();
    cJSON_Delete(json);
    trial_take_program(t, blobs_get(&m->blobs, name.hex)->data, blobs_get(&m->blobs, name.hex)->n_bytes);
    return t;
}

/* A text that no cache has. */
static void build_fresh(int salt)
{
    struct sample m;
    char source[4096];
    struct trial *t;

    snprintf(source, sizeof source, "/* %d %lld */\n%s", salt, (long long)clock_now_ns(), sample_good);
    sample_make(&m, source, 64);
    t = lease(&m);
    rig_verify(&rig, 0, t);
    trial_free(t);
    sample_fini(&m);
}

static void make_stream(struct sample *m)
{
    const int64_t grid[3] = {rig.threads > 0 ? rig.threads : 1, 1, 1}, group[3] = {1, 1, 1};
    struct program_module *module;
    struct program_launch *l;

    program_init(&m->p);
    blobs_init(&m->blobs, 1 << 20);
    m->p.workload = strdup("stream");
    m->p.template_id = strdup("");
    m->p.flops = 1;
    strcpy(m->p.api, "opencl");
    program_add_buffer(&m->p, "x", ROLE_INPUT, DTYPE_F32, STREAM_ELEMS)->fill =
        (struct program_fill){.kind = FILL_INT, .seed = 1, .lo = -8, .hi = 8};
    program_add_buffer(&m->p, "y", ROLE_OUTPUT, DTYPE_F32, 16 * grid[0])->fill.kind = FILL_NONE;
    module = program_add_module(&m->p, "m", LANG_OPENCL_C, "");
    blobs_put(&m->blobs, stream_source, strlen(stream_source), &module->source);
    l = program_add_kernel(&m->p, PHASE_RUN, 0, "f", grid, group);
    program_arg_buffer(l, 0);
    program_arg_buffer(l, 1);
    program_arg_int(l, ARG_I32, STREAM_ELEMS);
}

static void *builder(void *arg)
{
    (void)arg;
    while (!atomic_load(&over))
        if (atomic_load(&building))
            build_fresh(n_built++);
        else
            clock_sleep_ms(5);
    return NULL;
}

static double canary_once(void)
{
    const struct sandbox_limits limits = {.start_s = 20, .build_s = 20, .run_s = 20};
    cJSON *request = cJSON_Parse("{\"op\":\"describe\",\"canary\":true}"), *reply = NULL;
    struct sandbox_end end;
    double ns = 0;

    sandbox_ask(&rig.time, request, &limits, &reply, &end);
    json_real_or(reply, "canary_ns", 0, &ns, NULL);
    cJSON_Delete(reply);
    return ns;
}

/* As a batch of its own: seconds where it failed, which no reader overlooks. */
static double stream_once(void)
{
    struct sample m;
    struct trial *t;
    double ns;

    make_stream(&m);
    t = lease(&m);
    rig_time(&rig, &t, 1);
    ns = t->record.status == STATUS_OK ? t->record.time_ns : 1e9;
    trial_free(t);
    sample_fini(&m);
    return ns;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct times {
    double canary[MAX_TURNS * PER_TURN], stream[MAX_TURNS * PER_TURN];
};

static void measure(int turns, struct times *alone, struct times *beside)
{
    for (int turn = 0; turn < 2 * turns; turn++) {
        struct times *to = turn % 2 ? beside : alone;
        const int first = turn / 2 * PER_TURN;

        atomic_store(&building, turn % 2 == 1);
        clock_sleep_ms(50);
        for (int i = first; i < first + PER_TURN; i++) {
            to->canary[i] = canary_once();
            to->stream[i] = stream_once();
        }
        atomic_store(&building, false);
        clock_sleep_ms(400); /* the last build ends */
    }
}

static void tell(const char *name, int n, double *alone, double *beside)
{
    qsort(alone, (size_t)n, sizeof *alone, by_value);
    qsort(beside, (size_t)n, sizeof *beside, by_value);
    printf("%s alone %.4f ms (p10 %.4f p90 %.4f), while building %.4f ms (p10 %.4f p90 %.4f): ratio %.4f\n", name,
           alone[n / 2] * 1e-6, alone[n / 10] * 1e-6, alone[9 * n / 10] * 1e-6, beside[n / 2] * 1e-6,
           beside[n / 10] * 1e-6, beside[9 * n / 10] * 1e-6, beside[n / 2] / alone[n / 2]);
}

int main(int argc, char **argv)
{
    const struct rig_options o = {.device = "opencl"};
    const int asked = argc > 1 ? atoi(argv[1]) : MAX_TURNS, turns = asked < 1 || asked > MAX_TURNS ? MAX_TURNS : asked;
    static struct times alone, beside;
    struct why why = {""};
    pthread_t thread;

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    if (rig_open(&rig, &o, true, &why)) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    pthread_create(&thread, NULL, builder, NULL);
    stream_once(); /* compiles it */
    measure(turns, &alone, &beside);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    tell("canary", turns * PER_TURN, alone.canary, beside.canary);
    tell("stream", turns * PER_TURN, alone.stream, beside.stream);
    printf("%d programs built meanwhile; CPUs of their own: %s\n", n_built, rig_overlaps(&rig) ? "yes" : "no");
    rig_close(&rig);
    return 0;
}
