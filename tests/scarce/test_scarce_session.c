/* SPDX-License-Identifier: MIT */
/* Without memory a record that came is neither taken nor counted as lost: it comes again. */
#include "tests/scarce/scarce.h"
#include "tests/tuner/one_job.h"

#include <string.h>

static void a_record_that_there_is_no_memory_for_is_not_lost(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);
    struct lines store;
    int64_t n_lost, n = 0;
    enum err e;

    (void)state;
    run(&f);
    expect_done(&f, s);
    lines_of_store(&f, s->job_id, &store);
    n_lost = s->session.failures.by_status[STATUS_LOST];
    s->session.o.log = NULL;
    do {
        scarce_begin(++n, true);
        scarce_watch(true);
        e = session_record(&s->session, 1000000, store.text[0], strlen(store.text[0]), NULL);
        scarce_watch(false);
        if (e != (scarce_failed() ? ERR_NOMEM : ERR_OK))
            fail_msg("allocation %lld: %s", (long long)n, err_name(e));
    } while (e);
    scarce_begin(0, false);
    assert_true(n > 3);
    assert_int_equal(s->session.failures.by_status[STATUS_LOST], n_lost);
    lines_fini(&store);
    sim_farm_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_that_there_is_no_memory_for_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
