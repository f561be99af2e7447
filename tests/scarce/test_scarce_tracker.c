/* SPDX-License-Identifier: MIT */
/* Without memory a tracker answers nobody wrongly: it says so or ends, and what it acknowledged is there when it is
 * started again. Each third allocation fails, TUNE_TEST_SEED says from which on; --full: each. */
#include "tests/scarce/scarce.h"
#include "tests/tracker/life.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int64_t first = 1, step = 3; /* of the allocations */

/* What all lives came to. */
struct sums {
    int64_t n, n_failed, n_unsaid;
};

/* A life in which the n-th allocation of the tracker fails. False: it takes no more than that. */
static bool live_with(int64_t n, bool for_good, struct sums *sums)
{
    const int64_t before = scarce_n_blocks();
    struct life l = {.watch = scarce_watch};
    struct rig r;
    bool failed;

    rig_init(&r);
    rig_start(&r);
    scarce_begin(n, for_good);
    life_live(&l, &r);
    failed = scarce_failed();
    if (!for_good && !l.failed && (l.n_unsaid || l.n_results != 2 || l.n_builds != 4 || l.n_added != 4))
        fail_msg("allocation %" PRId64 ": %d unsaid, %d results, %d builds, %d trials", n, l.n_unsaid, l.n_results,
                 l.n_builds, l.n_added);
    life_check(&l, &r);
    rig_stop(&r);
    if (scarce_n_blocks() != before)
        fail_msg("allocation %" PRId64 " failed%s, and %" PRId64 " blocks were kept", n, for_good ? " for good" : "",
                 scarce_n_blocks() - before);
    sums->n++;
    sums->n_failed += l.failed;
    sums->n_unsaid += l.n_unsaid;
    return failed;
}

static void whoever_is_answered_without_memory_is_answered_truly(void **state)
{
    struct sums sums = {.n = 0};

    (void)state;
    live_with(0, false, &sums);
    for (int for_good = 0; for_good < 2; for_good++)
        for (int64_t n = first; live_with(n, for_good, &sums); n += step)
            ;
    printf("%" PRId64 " lives: the tracker ended in %" PRId64 ", %" PRId64 " requests got no answer\n", sums.n,
           sums.n_failed, sums.n_unsaid);
    assert_true(sums.n > 500 && sums.n_failed > 100 && sums.n_unsaid > 100);
}

/* Either all that the store has, or nothing. */
static void a_tracker_without_memory_starts_whole_or_not_at_all(void **state)
{
    struct tracker *t = NULL;
    enum err e = ERR_NOMEM;
    struct rig r;
    int64_t n;

    (void)state;
    rig_init(&r);
    rig_start(&r);
    for (int i = 0; i < 3; i++)
        rig_add(&r, rig_submit(&r, "cpu"), 0, 5, 10 * i);
    rig_agent(&r, "a", "n");
    cJSON_Delete(rig_lease(&r, "a", 2, 2));
    rig_do(&r, "agent_mode", "{'agent':'b','mode':'drain'}");
    for (n = 1; e; n++) {
        const int64_t before = scarce_n_blocks();

        scarce_begin(n, false);
        scarce_watch(true);
        e = tracker_new(&r.options, &t, NULL);
        scarce_watch(false);
        assert_true(!e || e == ERR_NOMEM);
        if (!e) {
            assert_int_equal(t->jobs.n, 3);
            assert_int_equal(t->trials.n, 15);
            assert_int_equal(t->modes.n, 1);
            rig_check_books(t);
            tracker_free(t);
        }
        if (scarce_n_blocks() != before)
            fail_msg("allocation %" PRId64 " failed, and %" PRId64 " blocks were kept", n, scarce_n_blocks() - before);
    }
    assert_true(n > 40);
    rig_stop(&r);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("TUNE_TEST_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_is_answered_without_memory_is_answered_truly),
        cmocka_unit_test(a_tracker_without_memory_starts_whole_or_not_at_all),
    };

    if (argc > 1 && strcmp(argv[1], "--full") == 0)
        step = 1;
    else if (seed)
        first += (int64_t)(strtoull(seed, NULL, 10) % (uint64_t)step);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
