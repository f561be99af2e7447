/* SPDX-License-Identifier: MIT */
/* Farms at random: agents that are killed, stopped, drained and cut off, a tracker that crashes and pauses, messages
 * that get lost, programs that misbehave. What must hold, holds for every seed. */
#include "town.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_SEEDS 60
#define N_TRIALS 12

static struct town t;
static struct sim_job *job;
static struct rng chance; /* apart from the world's */

static const struct {
    const char *how;
    enum record_status status;
} manners[] = {{"", STATUS_OK},
               {"", STATUS_OK},
               {"", STATUS_OK},
               {"crash_once", STATUS_OK},
               {"bomb_once", STATUS_OK},
               {"compile", STATUS_COMPILE},
               {"wrong", STATUS_WRONG},
               {"crash", STATUS_CRASH},
               {"bomb", STATUS_CRASH},
               {"spoilt", STATUS_WRONG},
               {"runtime", STATUS_RUNTIME},
               {"hang", STATUS_TIMEOUT}};

static enum record_status wanted[N_TRIALS];
static const char *how[N_TRIALS];
static bool one_vanishes;   /* with what it has sent and not heard of */
static bool compiled_apart; /* for CUDA devices, by children of their own */

static int draw(int n)
{
    return (int)rng_below(&chance, (uint64_t)n);
}

/* ---- what happens ---- */

static void kill_one(struct town *town)
{
    crew_kill(&town->agents[1].crew);
}

static void stop_one(struct town *town)
{
    crew_stop(&town->agents[2].crew);
}

static void drain_one(struct town *town)
{
    host_drain(town->net, "a2");
}

static void crash(struct town *town)
{
    net_crash(town->net);
}

static void pause_tracker(struct town *town)
{
    net_set_running(town->net, false);
    world_sleep(town->world, 4 * WORLD_S);
    net_set_running(town->net, true);
}

static void cut_one(struct town *town)
{
    town->agents[3].crew.peer.cut = true;
    world_sleep(town->world, 5 * WORLD_S);
    town->agents[3].crew.peer.cut = false;
}

static void (*const happenings[])(struct town *) = {kill_one, stop_one, drain_one, crash, pause_tracker, cut_one};
#define N_HAPPENINGS (int)(sizeof happenings / sizeof *happenings)

static void add_trials(void)
{
    for (int i = 0; i < N_TRIALS; i++) {
        const int m = i ? draw((int)(sizeof manners / sizeof *manners)) : 0;
        char knobs[80];
        struct sim_trial *x;

        snprintf(knobs, sizeof knobs, "\"do\":\"%s\",\"build_ms\":%d", manners[m].how, 50 + draw(400));
        x = sim_job_add(job, knobs, i > 3 && draw(3) ? 0 : -1);
        x->cuda = compiled_apart;
        x->purpose = draw(4) ? "search" : "final";
        x->limits = "\"build_s\":2,\"run_s\":1";
        wanted[i] = manners[m].status;
        how[i] = manners[m].how;
    }
}

static void set_up(uint64_t seed)
{
    struct net_faults *f;

    rng_init(&chance, seed);
    compiled_apart = seed % 3 == 0;
    town_open(&t, seed);
    if (seed % 4 == 1) /* another tracker may be where the own one was */
        net_divide(t.net);
    net_set_lease_ms(t.net, 2500);
    f = net_faults_of(t.net);
    *f = (struct net_faults){.down_ns = 300 * WORLD_MS, .delay_ns = draw(2) ? 0 : 40 * WORLD_MS};
    if (draw(4) == 0)
        f->lose_request = f->lose_reply = 10;
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"a0", "a1", "a2", "a3"};
        struct crew_agent *a = town_agent(&t, names[i]);

        a->options.batch = 1 + draw(6);
        a->options.overlap = draw(2);
        a->rig_options.builders = 1 + draw(2);
        a->crew.children.desc.sm = compiled_apart ? 75 : 0;
        a->crew.start_ns = draw(3000) * WORLD_MS;
    }
    job = town_job(&t);
    add_trials();
    one_vanishes = false;
    for (int i = 0; i < 3; i++) {
        const int h = draw(N_HAPPENINGS);

        town_at(&t, 1000 + draw(4000), happenings[h]);
        one_vanishes |= happenings[h] == kill_one || happenings[h] == stop_one;
    }
}

/* ---- what holds ---- */

static void expect_one_record_each(uint64_t seed)
{
    struct host_kept kept;

    host_kept(t.net, job->id, &kept);
    if (kept.n_waiting || kept.n_done + kept.n_lost != N_TRIALS || kept.n_records != N_TRIALS)
        fail_msg("seed %llu: %lld done, %lld lost, %lld waiting, %lld records", (unsigned long long)seed,
                 (long long)kept.n_done, (long long)kept.n_lost, (long long)kept.n_waiting, (long long)kept.n_records);
}

/* May the only death of trial i be when it is timed alone? Where the batch that it was in died of another one first. */
static bool may_die_alone(int i)
{
    for (int k = 0; k < N_TRIALS && strcmp(how[i], "bomb_once") == 0; k++)
        if (k != i && strncmp(how[k], "bomb", 4) == 0)
            return true;
    return false;
}

/* A kernel's manners decide, whoever measures it; five agents that vanish lose it. */
static void expect_statuses(uint64_t seed)
{
    for (int i = 0; i < N_TRIALS; i++) {
        const struct record *r = &job->trials[i].record;

        if (job->trials[i].n_records != 1 ||
            (r->status != wanted[i] && r->status != STATUS_LOST && !(r->status == STATUS_CRASH && may_die_alone(i))))
            fail_msg("seed %llu: trial %d has %d records, %s at %s: %s", (unsigned long long)seed, i,
                     job->trials[i].n_records, status_name(r->status), r->stage, r->why ? r->why : "");
    }
}

/* Whatever the tracker has from an agent, that agent has told of; and what it counts as sent was told, too. */
static void expect_true_counts(uint64_t seed, const struct crew *c)
{
    int n_told = 0;

    for (int i = 0; i < N_TRIALS; i++) {
        char words[32];
        int told;

        snprintf(words, sizeof words, "%s ", job->trials[i].id);
        told = crew_told(c, words) > 0;
        n_told += told;
        if (strcmp(job->trials[i].record.agent, c->name) == 0 && !told)
            fail_msg("seed %llu: %s never told of %s", (unsigned long long)seed, c->name, job->trials[i].id);
    }
    if (c->done < c->failed || (c->done > 0 && n_told == 0))
        fail_msg("seed %llu: %s counts %lld, %lld of them failures; it told of %d", (unsigned long long)seed, c->name,
                 (long long)c->done, (long long)c->failed, n_told);
}

/* Where nobody vanishes, every record was counted by somebody (by two when one was late). */
static void expect_whole_sum(uint64_t seed)
{
    struct host_kept kept;
    int64_t sum = 0;

    host_kept(t.net, job->id, &kept);
    for (int i = 0; i < t.n_agents; i++)
        sum += t.agents[i].crew.done;
    if (!one_vanishes && sum < kept.n_done)
        fail_msg("seed %llu: %lld records were counted of %lld", (unsigned long long)seed, (long long)sum,
                 (long long)kept.n_done);
}

static void run_seed(uint64_t seed)
{
    set_up(seed);
    town_run(&t, 3600);
    expect_one_record_each(seed);
    expect_statuses(seed);
    expect_whole_sum(seed);
    for (int i = 0; i < t.n_agents; i++) {
        const struct crew *c = &t.agents[i].crew;

        expect_true_counts(seed, c);
        assert_in_range(c->n_quits, 0, 1);
        if (c->n_quits)
            assert_int_equal(c->held_at_quit, 0);
        assert_int_equal(c->children.n_alive, 0);
    }
    town_close(&t);
}

static void every_trial_gets_one_record_whatever_happens(void **state)
{
    const char *only = getenv("SIM_SEED"), *many = getenv("TUNE_SIM_SEEDS");
    const uint64_t n = many ? strtoull(many, NULL, 10) : N_SEEDS;

    (void)state;
    if (only)
        run_seed(strtoull(only, NULL, 10));
    for (uint64_t seed = 1; seed <= n && !only; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_trial_gets_one_record_whatever_happens)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
