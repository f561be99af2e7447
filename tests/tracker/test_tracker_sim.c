/* SPDX-License-Identifier: MIT */
/* Random lives of a tracker among peers that fail in every way (random_farm.h).
 * `test_tracker_sim --seeds N --first S` lives N of them, from seed S on, else from where TUNE_TEST_SEED says; `--store
 * postgres` on a server that it starts.
 */
#include "tests/sanitized.h"
#include "tests/tracker/faulty_store.h"
#include "tests/tracker/postgres.h"
#include "tests/tracker/random_farm.h"
#include "tests/tracker/random_shares.h"

#include "core/clock.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t n_seeds = SANITIZED ? 100 : 500, first_seed = 1;
static uint64_t living; /* the seed that is lived; 0 = none */

struct sums {
    struct stats stats;
    int64_t n_turns, n_crashes, n_pauses, n_doubled, n_full, n_later, n_away;
};

static void add(struct sums *s, const struct random_farm *f)
{
    s->stats.requests += f->stats.requests;
    s->stats.grants += f->stats.grants;
    s->stats.results += f->stats.results;
    s->stats.duplicates += f->stats.duplicates;
    s->stats.expired += f->stats.expired;
    s->stats.lost += f->stats.lost;
    s->stats.answered_from_store += f->stats.answered_from_store;
    s->stats.builds += f->stats.builds;
    s->n_turns += f->n_turns;
    s->n_crashes += f->n_crashes;
    s->n_pauses += f->n_pauses;
    s->n_doubled += f->n_doubled;
    s->n_full += f->n_full;
    s->n_later += f->n_later;
    s->n_away += f->n_away;
    s->stats.blobs_sent += f->stats.blobs_sent;
    s->stats.blobs_fetched += f->stats.blobs_fetched;
    s->stats.blobs_failed += f->stats.blobs_failed;
}

static void tell(const struct sums *s, int64_t took_ns)
{
    printf("%" PRIu64 " seeds in %.1f s: %" PRId64 " requests in %" PRId64 " turns, %" PRId64 " crashes (%" PRId64
           " of full disks), %" PRId64 " questions of a later version, %" PRId64 " messages twice, %" PRId64
           " pauses, %" PRId64 " grants, %" PRId64 " results (%" PRId64 " double), %" PRId64 " leases ran out, %" PRId64
           " lost, %" PRId64 " answered from the store, %" PRId64 " builds, %" PRId64 " blobs to an S3 store, %" PRId64
           " back, %" PRId64 " times one failed there\n",
           n_seeds, (double)took_ns / 1e9, s->stats.requests, s->n_turns, s->n_crashes, s->n_full, s->n_later,
           s->n_doubled, s->n_pauses, s->stats.grants, s->stats.results, s->stats.duplicates, s->stats.expired,
           s->stats.lost, s->stats.answered_from_store, s->stats.builds, s->stats.blobs_sent, s->stats.blobs_fetched,
           s->stats.blobs_failed);
}

static void nothing_acknowledged_is_lost_and_everything_ends(void **state)
{
    static struct random_farm f;
    const int64_t began_ns = clock_now_ns();
    struct sums sums = {.n_turns = 0};

    (void)state;
    for (living = first_seed; living < first_seed + n_seeds; living++) {
        random_farm_live(&f, living);
        random_farm_fini(&f);
        add(&sums, &f);
    }
    living = 0;
    tell(&sums, clock_now_ns() - began_ns);
    if (n_seeds < 100)
        return;
    assert_true(sums.n_crashes > (int64_t)n_seeds / 2 && sums.n_pauses > (int64_t)n_seeds / 4);
    assert_true(sums.n_full > (int64_t)n_seeds / 4 && sums.n_doubled > (int64_t)n_seeds);
    assert_in_range(sums.n_later, sums.stats.requests / 10, sums.stats.requests);
    assert_true(sums.stats.expired > 0 && sums.stats.lost > 0 && sums.stats.duplicates > 0);
    assert_true(sums.stats.answered_from_store > 0 && sums.stats.builds > 0);
    assert_true(sums.stats.blobs_sent > 0 && sums.stats.blobs_fetched > 0 && sums.stats.blobs_failed > 0);
    assert_true(sums.n_away > 0);
}

#define FARMS_A_LIFE 50 /* a life of shares is long: there is one for so many seeds of the other */

static void users_and_jobs_share_what_devices_there_are_whatever_comes(void **state)
{
    const int64_t began_ns = clock_now_ns();
    struct shares_sums sums = {.n_checks = 0};
    const uint64_t n = n_seeds < FARMS_A_LIFE ? 1 : n_seeds / FARMS_A_LIFE;

    (void)state;
    for (living = first_seed; living < first_seed + n; living++)
        random_shares_live(living, &sums);
    living = 0;
    printf("%" PRIu64 " lives in %.1f s: %" PRId64
           " times two were compared, at most %.0f %% of what is allowed apart\n",
           n, (double)(clock_now_ns() - began_ns) / 1e9, sums.n_checks, 100 * sums.farthest);
    assert_true(n < 10 || sums.n_checks > 1000);
}

static struct postgres server;

static void place_on_server(char *out, size_t n_out)
{
    postgres_place(&server, out, n_out);
}

/* False where there is no server. */
static bool live_on(const char *store)
{
    const char *dir;
    char text[64];

    if (!postgres_start(&server))
        return false;
    snprintf(text, sizeof text, "%s:", store);
    assert_int_equal(store_parse(text, &faulty_store_real, &dir, NULL), ERR_OK);
    random_farm_place = place_on_server;
    return true;
}

static int tell_seed(void **state)
{
    (void)state;
    if (living)
        fprintf(stderr, "seed %" PRIu64 " failed; again: test_tracker_sim --seeds 1 --first %" PRIu64 "\n", living,
                living);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_acknowledged_is_lost_and_everything_ends, tell_seed),
        cmocka_unit_test_teardown(users_and_jobs_share_what_devices_there_are_whatever_comes, tell_seed),
    };
    const char *seed = getenv("TUNE_TEST_SEED");
    int n_failed;

    if (seed)
        first_seed = 1 + strtoull(seed, NULL, 10) % 100000 * n_seeds;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seeds") == 0)
            n_seeds = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--first") == 0)
            first_seed = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--store") == 0 && !live_on(argv[i + 1]))
            return 77;
    }
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (server.pid)
        postgres_stop(&server);
    return n_failed;
}
