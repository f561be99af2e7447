/* One job from its first trial to its best log. */
#include "tests/sim/sim_farm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DENSE "dense f32 m=8 n=64 k=64"

static void a_job_spends_its_budget(void **state)
{
    struct sim_farm f;
    struct sim_session *s;

    (void)state;
    sim_farm_init(&f, 1);
    sim_farm_agent(&f, "a");
    s = sim_farm_session(&f, "s", DENSE);
    assert_true(sim_farm_run(&f, 600 * WORLD_S));
    print_message("e %d %s end %d\n", s->e, s->why.text, s->end);
    const struct task *t = &s->session.tasks[0];
    print_message("arms %zu counted %ld refused %ld finals %zu stop %d %f s turns %ld\n", t->n_arms, t->n_counted, t->n_refused, t->n_finals, t->stop, (double)world_now_ns(f.world)/1e9, world_turns(f.world));
    struct host_kept j; host_kept(f.net, s->job_id, &j);
    print_message("%s done %ld lost %ld rec %ld ans %ld\n", j.state, j.n_done, j.n_lost, j.n_records, j.n_answered);
    for (size_t i = 0; i < t->n_arms; i++) print_message("%s b%d p%d f%d\n", t->arms[i].id, t->arms[i].baseline, t->arms[i].possible, t->arms[i].has_fallback);
    sim_farm_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_spends_its_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
