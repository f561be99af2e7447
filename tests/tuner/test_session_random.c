/* Several people on one tracker, agents that come and go, losses and crashes: by seed. */
#include "tests/sim/sim_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DENSE "dense f32 m=8 n=64 k=64"
#define OTHER "dense f32 m=8 n=128 k=64"

static const char *const names[] = {"anna", "bert", "cleo"};

static uint64_t below(struct sim_farm *f, uint64_t n)
{
    return rng_below(world_rng(f->world), n);
}

static void add_agents(struct sim_farm *f, bool faulty)
{
    static const char *const agents[] = {"a0", "a1", "a2"};
    const size_t n = 1 + below(f, 3);

    for (size_t i = 0; i < n; i++) {
        struct sim_agent *a = sim_farm_agent(f, agents[i]);

        a->trial_ns = (int64_t)(20 + below(f, 300)) * WORLD_MS;
        a->most = 1 + (int64_t)below(f, 16);
        if (faulty)
            a->faults = (struct sim_faults){.die = 15, .damaged = 10, .foreign = 10, .twice = 50, .slow = 3};
    }
}

/* Each starts in the time of the others, on the same workloads or others. */
static void add_sessions(struct sim_farm *f)
{
    const size_t n = 1 + below(f, 3);

    for (size_t i = 0; i < n; i++) {
        const bool is_network = below(f, 3) == 0;
        struct sim_session *s = sim_farm_session(f, names[i], is_network ? DENSE "\n" OTHER : DENSE);

        s->job.trials = 4 + (int64_t)below(f, 16);
        s->job.seed = (int64_t)below(f, 3); /* the same proposals as another, or not */
        s->start_ns = (int64_t)below(f, 15) * WORLD_S;
        if (is_network && below(f, 2))
            snprintf(s->job.network, sizeof s->job.network, "net");
        if (below(f, 4) == 0)
            s->job.time_s = 3;
    }
}

static void run_seed(uint64_t seed, bool faulty)
{
    struct why why = {""};
    struct sim_farm f;

    sim_farm_init(&f, seed);
    f.model = (struct sim_model){.spread = seed % 2 ? 1.2 : 4, .noise = 0.004, .drift = 0.7, .fail = 150};
    if (faulty)
        *net_faults_of(f.net) = (struct net_faults){.lose_request = (int)below(&f, 30),
                                                    .lose_reply = (int)below(&f, 30),
                                                    .crash_before = (int)below(&f, 10),
                                                    .crash_after = (int)below(&f, 10),
                                                    .delay_ns = 20 * WORLD_MS};
    add_agents(&f, faulty);
    add_sessions(&f);
    if (!sim_farm_run(&f, 7200 * WORLD_S))
        fail_msg("seed %llu does not end", (unsigned long long)seed);
    for (size_t i = 0; i < f.n_sessions; i++) {
        const struct sim_session *s = &f.sessions[i];

        if (s->e || s->end != SESSION_DONE)
            fail_msg("seed %llu, %s: %s, end %d, %s", (unsigned long long)seed, s->name, err_name(s->e), s->end,
                     s->why.text);
        if (!sim_check(&f, s, &why))
            fail_msg("seed %llu, %s: %s", (unsigned long long)seed, s->name, why.text);
    }
    sim_farm_fini(&f);
}

static void jobs_of_several_people_end_with_their_budgets_kept(void **state)
{
    const char *seed = getenv("SIM_SEED");

    (void)state;
    if (seed) {
        run_seed(strtoull(seed, NULL, 10), false);
        return;
    }
    for (uint64_t i = 1; i <= 40; i++)
        run_seed(i, false);
}

static void jobs_end_through_losses_crashes_and_dying_agents(void **state)
{
    const char *seed = getenv("SIM_SEED");

    (void)state;
    if (seed) {
        run_seed(strtoull(seed, NULL, 10), true);
        return;
    }
    for (uint64_t i = 1; i <= 100; i++)
        run_seed(i, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_of_several_people_end_with_their_budgets_kept),
        cmocka_unit_test(jobs_end_through_losses_crashes_and_dying_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
