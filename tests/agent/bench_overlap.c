/* Does building beside it disturb timing? The canary on the timing child's CPUs, in turns alone and while the build
 * child compiles fresh programs on the others. Prints medians and their ratio; asserts nothing. This program is also
 * its children. */
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

#define TURNS 8
#define CANARIES 8 /* of a turn */

static struct rig rig;
static atomic_bool building, over;
static int n_built;

/* A text that no cache has. */
static void build_fresh(int salt)
{
    static const struct trial_agent self = {.name = "bench", .key = "bench"};
    struct sample m;
    char source[4096], lease[256];
    struct trial *t = NULL;
    struct sha256 name;
    cJSON *json;

    snprintf(source, sizeof source, "/* %d %lld */\n%s", salt, (long long)clock_now_ns(), sample_good);
    sample_make(&m, source, 64);
    name = sample_seal(&m);
    for (size_t i = 0; i < m.blobs.n; i++)
        workdir_put(&rig.dir, &m.blobs, m.blobs.items[i].name.hex, NULL);
    snprintf(lease, sizeof lease, "{\"trial\":\"t1\",\"token\":1,\"program\":\"%s\"}", name.hex);
    json = cJSON_Parse(lease);
    if (trial_new(json, &self, &t, NULL) == ERR_OK)
        rig_verify(&rig, 0, t);
    trial_free(t);
    cJSON_Delete(json);
    sample_fini(&m);
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

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(double *alone, double *beside)
{
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        double *to = (turn % 2 ? beside : alone) + turn / 2 * CANARIES;

        atomic_store(&building, turn % 2 == 1);
        clock_sleep_ms(50);
        for (int i = 0; i < CANARIES; i++)
            to[i] = canary_once();
        atomic_store(&building, false);
        clock_sleep_ms(400); /* the last build ends */
    }
}

int main(int argc, char **argv)
{
    const struct rig_options o = {.device = "opencl"};
    double alone[TURNS * CANARIES], beside[TURNS * CANARIES];
    const int n = TURNS * CANARIES;
    struct why why = {""};
    pthread_t thread;

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    if (rig_open(&rig, &o, true, &why)) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    pthread_create(&thread, NULL, builder, NULL);
    measure(alone, beside);
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    qsort(alone, (size_t)n, sizeof *alone, by_value);
    qsort(beside, (size_t)n, sizeof *beside, by_value);
    printf("canary alone %.4f ms (p10 %.4f p90 %.4f), while building %.4f ms (p10 %.4f p90 %.4f): ratio %.4f\n",
           alone[n / 2] * 1e-6, alone[n / 10] * 1e-6, alone[9 * n / 10] * 1e-6, beside[n / 2] * 1e-6,
           beside[n / 10] * 1e-6, beside[9 * n / 10] * 1e-6, beside[n / 2] / alone[n / 2]);
    printf("%d programs built meanwhile; CPUs of their own: %s\n", n_built, rig_overlaps(&rig) ? "yes" : "no");
    rig_close(&rig);
    return 0;
}
