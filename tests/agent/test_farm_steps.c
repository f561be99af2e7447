/* What an agent's threads do, step by step, in a world with a tracker and children that misbehave. */
#include "town.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void every_trial_gets_its_record(void **state)
{
    static struct town t;
    struct sim_job *j;

    (void)state;
    town_open(&t, 1);
    town_agent(&t, "a0");
    j = town_job(&t);
    for (int i = 0; i < 20; i++)
        sim_job_add(j, "", i ? 0 : -1);
    town_run(&t, 60);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(j->trials[i].n_records, 1);
        assert_int_equal(j->trials[i].record.status, STATUS_OK);
    }
    assert_int_equal(t.agents[0].crew.done, 20);
    town_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trial_gets_its_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
