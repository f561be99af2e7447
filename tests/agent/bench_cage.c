/* SPDX-License-Identifier: MIT */
/* What a cage costs: the start of a child of the OpenCL device, and a trial's build, timing and measured time, with a
 * cage and without in turns. Medians and least of the pairs. */
#include "agent/cage.h"
#include "agent/child.h"
#include "agent/rig.h"
#include "core/clock.h"
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 15
#define LIMITS "{\"build_s\":60,\"run_s\":60,\"memory_bytes\":1000000000}"

enum { START, BUILD, TIMING, MEASURED, N_FIGURES };

static const char *const names[N_FIGURES] = {"start of a child ms", "build and verify ms", "timing ms",
                                             "time of a run us"};
static double figures[N_FIGURES][2][PAIRS];

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double ms_since(int64_t from_ns)
{
    return (double)(clock_now_ns() - from_ns) * 1e-6;
}

static bool run_one(const struct cage *cage, double *out[N_FIGURES])
{
    static const struct trial_agent self = {.name = "a0", .key = "k"};
    const struct rig_options o = {.device = "opencl", .cage = cage};
    static struct rig rig;
    struct why why = {""};
    struct trial *t = NULL;
    struct sha256 name;
    struct sample m;
    char text[800];
    int64_t from_ns = clock_now_ns();
    cJSON *json;
    bool ok;

    if (rig_open(&rig, &o, false, &why)) {
        printf("skipped: %s\n", why.text);
        exit(77);
    }
    *out[START] = ms_since(from_ns);
    sample_make(&m, sample_slower, 64);
    name = sample_seal(&m);
    for (size_t i = 0; i < m.blobs.n; i++)
        workdir_put(&rig.dir, &m.blobs, m.blobs.items[i].name.hex, &why);
    snprintf(text, sizeof text,
             "{\"trial\":\"t1\",\"token\":1,\"job\":\"j1\",\"program\":\"%s\",\"anchor\":\"\",\"body\":{\"timing\":"
             "{\"rounds\":9,\"min_slot_ms\":20},\"limits\":" LIMITS "}}",
             name.hex);
    json = cJSON_Parse(text);
    if (trial_new(json, &self, &t, &why))
        return false;
    cJSON_Delete(json);
    trial_take_program(t, blobs_get(&m.blobs, name.hex)->data, blobs_get(&m.blobs, name.hex)->n_bytes);
    from_ns = clock_now_ns();
    rig_verify(&rig, 0, t);
    *out[BUILD] = ms_since(from_ns);
    from_ns = clock_now_ns();
    if (!t->finished)
        rig_time(&rig, &t, 1);
    *out[TIMING] = ms_since(from_ns);
    *out[MEASURED] = t->record.time_ns * 1e-3;
    ok = t->record.status == STATUS_OK;
    trial_free(t);
    sample_fini(&m);
    rig_close(&rig);
    return ok;
}

int main(int argc, char **argv)
{
    const int wanted = argc > 1 ? atoi(argv[1]) : PAIRS, n = wanted > 0 && wanted < PAIRS ? wanted : PAIRS;
    struct cage cage;

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    cage_plan(&cage, "");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const int caged = (i + k) % 2;
            double *out[N_FIGURES];

            for (int f = 0; f < N_FIGURES; f++)
                out[f] = &figures[f][caged][i];
            if (!run_one(caged ? &cage : NULL, out))
                return 1;
        }
    for (int f = 0; f < N_FIGURES; f++) {
        for (int caged = 0; caged < 2; caged++)
            qsort(figures[f][caged], (size_t)n, sizeof(double), by_value);
        printf("%-22s free %9.3f (least %9.3f)  caged %9.3f (least %9.3f)\n", names[f], figures[f][0][n / 2],
               figures[f][0][0], figures[f][1][n / 2], figures[f][1][0]);
    }
    return 0;
}
