/* SPDX-License-Identifier: MIT */
/* Large blobs in an S3 store: that they go and come back, and what becomes of them when the store refuses, is silent,
 * slow, full, cuts off or lies. The store is a small server in this process, whose faults are switches. */
#include "tests/logs/hub/server.h"
#include "tests/tracker/rig.h"
#include "tracker/vault.h"

#include "core/clock.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DAYS_2 INT64_C(172800000)
#define WAIT_TURNS 20000 /* of a millisecond at least */
#define N_BLOB 100000
#define N_LARGE 2500000

struct place {
    struct rig rig;
    struct server server;
    atomic_int silent;     /* it does not answer requests whose method begins so; 0 = it does */
    atomic_bool was_asked; /* for anything but the probe */
    atomic_bool is_proved; /* the probe was fetched */
    char said[8192];       /* the tracker's log */
    enum { HONEST, SWAPS, LOSES, GONE, FLIPS } store; /* what it makes of each object before that is fetched */
    atomic_int n_told_to_forget;                      /* an object */
};
static struct place place;

/* ---- a place ---- */

static void before_answer(struct server *s, const struct server_request *r, void *arg)
{
    struct server_object *o = server_find(s, r->target);

    (void)arg;
    if (strstr(r->target, "/probe") && strcmp(r->method, "GET") == 0)
        atomic_store(&place.is_proved, true);
    if (!strstr(r->target, "/probe"))
        atomic_store(&place.was_asked, true);
    while (atomic_load(&place.silent) == r->method[0])
        clock_sleep_ms(1);
    if (r->method[0] == 'D')
        atomic_fetch_add(&place.n_told_to_forget, 1);
    if (!o || strcmp(r->method, "GET") != 0)
        return;
    if (place.store == SWAPS)
        server_put(s, r->target, "something else", 14);
    else if (place.store == GONE || (place.store == LOSES && !strstr(r->target, "/probe")))
        server_delete(s, r->target);
    else if (place.store == FLIPS)
        o->bytes[777] ^= 1;
}

static void hear(const char *line, void *arg)
{
    const size_t n = strlen(place.said);

    (void)arg;
    snprintf(place.said + n, sizeof place.said - n, "%s\n", line);
}

static void open_vault(void)
{
    const struct vault_options o = {.url = "s3://bucket/farm", .after_ms = DAYS_2, .stall_s = 1};
    struct why why = {""};

    if (vault_open(&o, &place.rig.options.vault, &why) != ERR_OK)
        fail_msg("%s", why.text);
}

static int begin(void **state)
{
    char endpoint[64];

    memset(&place, 0, sizeof place);
    server_forget_environment();
    server_start(&place.server);
    place.server.before = before_answer;
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", place.server.port);
    setenv("AWS_ENDPOINT_URL", endpoint, 1);
    rig_init(&place.rig);
    place.rig.options.audit = hear;
    open_vault();
    rig_start(&place.rig);
    *state = &place.rig;
    return 0;
}

/* With the probe's way to the store and back behind it. */
static int begin_quietly(void **state)
{
    const int failed = begin(state);

    while (!failed && !atomic_load(&place.is_proved))
        clock_sleep_ms(1);
    for (int i = 0; !failed && i < 20; i++) {
        rig_pass(&place.rig, HALL_TICK_MS);
        clock_sleep_ms(1);
    }
    return failed;
}

static int end(void **state)
{
    (void)state;
    atomic_store(&place.silent, 0);
    vault_close(place.rig.options.vault);
    rig_stop(&place.rig);
    server_stop(&place.server);
    return 0;
}

/* ---- shorthands ---- */

static const struct stats *stats(void)
{
    return &place.rig.t->stats;
}

/* Turns of the tracker, while its threads are at work, until the count is there. */
static void wait_until(const int64_t *count, int64_t expected)
{
    for (int i = 0; *count < expected; i++) {
        if (i == WAIT_TURNS)
            fail_msg("%lld of %lld; the log: %s", (long long)*count, (long long)expected, place.said);
        rig_pass(&place.rig, HALL_TICK_MS);
        clock_sleep_ms(1);
    }
}

static void said(const char *words)
{
    if (!strstr(place.said, words))
        fail_msg("no '%s' in: %s", words, place.said);
}

/* A blob of n bytes that differ by `seed`; its name, lent until the eighth call after this one. */
static const char *bytes_of(unsigned seed, size_t n)
{
    static char bytes[N_LARGE];

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i % 251 * (i / 251) + seed);
    return bytes;
}

static const char *put(struct rig *r, unsigned seed, size_t n)
{
    static struct sha256 names[8];
    static int i;
    struct blobs one;
    cJSON *reply;

    i = (i + 1) % 8;
    names[i] = sha256_of(bytes_of(seed, n), n);
    blobs_init(&one, n);
    assert_int_equal(blobs_put(&one, bytes_of(seed, n), n, NULL), ERR_OK);
    reply = rig_ask(r, "blob_put", cJSON_CreateObject(), &one);
    assert_int_equal(number_in(object_in(reply, "result"), "stored"), 1);
    cJSON_Delete(reply);
    blobs_fini(&one);
    return names[i].hex;
}

/* A blob that is in the S3 store alone. */
static const char *put_away(struct rig *r, unsigned seed, size_t n)
{
    const int64_t n_sent = stats()->blobs_sent;
    const char *hex = put(r, seed, n);

    rig_sleep(r, DAYS_2 + 1000);
    wait_until(&stats()->blobs_sent, n_sent + 1);
    rig_turn(r);
    return hex;
}

static void expect_away(int64_t expected)
{
    const struct tracker_options *o = &place.rig.options;
    int64_t n, n_bytes;

    assert_int_equal(o->ops->away_sum(o->store, &n, &n_bytes), ERR_OK);
    assert_int_equal(n, expected);
}

/* All of it, without waiting for anything. */
static void expect_here(struct rig *r, const char *hex, unsigned seed, size_t n)
{
    for (size_t at = 0; at < n;) {
        cJSON *result = rig_must(r, "blob_get", "{'sha256':'%s','offset':%zu}", hex, at);

        assert_int_equal(number_in(result, "total"), n);
        assert_memory_equal(r->received.items[0].data, bytes_of(seed, n) + at, r->received.items[0].n_bytes);
        at += r->received.items[0].n_bytes;
        cJSON_Delete(result);
    }
}

static void ask(struct rig *r, const char *hex)
{
    rig_refused(r, ERR_BUSY, "comes from the S3 store", "blob_get", "{'sha256':'%s'}", hex);
}

static bool is_missing(struct rig *r, const char *hex)
{
    cJSON *result = rig_must(r, "blob_have", "{'sha256':['%s']}", hex);
    const bool missing = count_in(result, "missing") == 1;

    cJSON_Delete(result);
    return missing;
}

static struct server_object *object(const char *hex)
{
    char path[128];

    snprintf(path, sizeof path, "/bucket/farm/%s", hex);
    return server_find(&place.server, path);
}

/* ---- facts ---- */

static void a_blob_that_nobody_asks_for_goes_and_comes_back(void **state)
{
    struct rig *r = *state;
    const char *hex = put(r, 1, N_LARGE), *small = put(r, 2, STORE_LARGE_BYTES);

    rig_pass(r, 600000);
    assert_int_equal(stats()->blobs_sent, 0);
    rig_sleep(r, DAYS_2);
    wait_until(&stats()->blobs_sent, 1);
    rig_pass(r, 600000);
    assert_int_equal(stats()->blobs_sent, 1);
    expect_away(1);
    assert_int_equal(object(hex)->n, N_LARGE);
    assert_null(object(small));
    assert_false(is_missing(r, hex));
    rig_crash(r);
    expect_here(r, small, 2, STORE_LARGE_BYTES);
    ask(r, hex);
    wait_until(&stats()->blobs_fetched, 1);
    expect_here(r, hex, 1, N_LARGE);
    expect_away(0);
    assert_string_equal(place.said, "");
}

/* Each answer of a store that takes nothing, and what the log says of it. */
static void what_the_store_refuses_stays_in_the_database(void **state)
{
    static const struct {
        int status;
        const char *words;
    } refusals[] = {{403, "403 AsTold: the server does not allow it"},
                    {500, "the server answered 500"},
                    {503, "the server answered 503"},
                    {507, "the server has no room left"},
                    {413, "does not take so many bytes"}};
    struct rig *r = *state;
    const char *hex = put(r, 1, N_BLOB);

    rig_sleep(r, DAYS_2);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        place.server.n_fail = 1;
        place.server.status = refusals[i].status;
        wait_until(&stats()->blobs_failed, (int64_t)i + 1);
        said("the S3 store does not take blob");
        said(refusals[i].words);
        expect_here(r, hex, 1, N_BLOB); /* which is a use: */
        rig_sleep(r, DAYS_2 + 1000);
    }
    wait_until(&stats()->blobs_sent, 1);
    expect_away(1);
}

static void one_blob_that_is_refused_does_not_keep_others(void **state)
{
    struct rig *r = *state;
    const char *first = put(r, 1, N_BLOB), *second;

    rig_sleep(r, 1000);
    second = put(r, 2, N_BLOB);
    rig_turn(r);
    rig_sleep(r, DAYS_2);
    place.server.n_fail = 1;
    place.server.status = 413;
    wait_until(&stats()->blobs_sent, 1);
    assert_non_null(object(second));
    assert_null(object(first));
    wait_until(&stats()->blobs_sent, 2);
}

static void fail_to_send(struct rig *r, const char *words)
{
    const char *hex = put(r, 1, N_BLOB);

    rig_sleep(r, DAYS_2 + 1000);
    wait_until(&stats()->blobs_failed, 1);
    said(words);
    expect_away(0);
    expect_here(r, hex, 1, N_BLOB);
    rig_sleep(r, DAYS_2);
    wait_until(&stats()->blobs_sent, 1);
    expect_away(1);
}

static void a_store_that_cuts_off_is_not_believed(void **state)
{
    place.server.n_cut = 1;
    place.server.cut_at = 5000;
    fail_to_send(*state, "the server closed the connection before all was there");
}

static void a_store_that_is_slow_is_given_up(void **state)
{
    place.server.n_slow = 1;
    fail_to_send(*state, "no answer, or no byte of it, in time");
}

static void a_store_that_is_silent_keeps_nobody_waiting(void **state)
{
    struct rig *r = *state;
    const char *hex;

    hex = put(r, 1, N_BLOB);
    atomic_store(&place.silent, 'P');
    atomic_store(&place.was_asked, false);
    rig_sleep(r, DAYS_2 + 1000);
    while (!atomic_load(&place.was_asked)) {
        rig_pass(r, HALL_TICK_MS);
        clock_sleep_ms(1);
    }
    expect_here(r, hex, 1, N_BLOB); /* while it is being sent */
    expect_here(r, put(r, 3, N_BLOB), 3, N_BLOB);
    assert_int_equal(stats()->blobs_failed + stats()->blobs_sent, 0);
    atomic_store(&place.silent, 'G'); /* it takes the blob then, and does not give it back */
    wait_until(&stats()->blobs_failed, 1);
    said("no answer, or no byte of it, in time");
    expect_away(0);
}

static void a_store_that_is_away_is_told(void **state)
{
    struct rig *r = *state;

    setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
    rig_turn(r);
    vault_close(r->options.vault);
    open_vault();
    rig_crash(r);
    wait_until(&stats()->blobs_failed, 1); /* of the probe, at the start */
    said("the S3 store does not take blob probe: s3://bucket/farm/probe: no connection: Connection refused");
}

/* Others in number, or as many. */
static void a_store_that_keeps_other_bytes_is_seen_before_the_blob_leaves(void **state)
{
    put(*state, 1, N_BLOB);
    rig_sleep(*state, DAYS_2 + 1000);
    for (int i = 0; i < 2; i++) {
        place.store = i ? FLIPS : SWAPS;
        place.said[0] = '\0';
        wait_until(&stats()->blobs_failed, i + 1);
        said("the store gives other bytes back than it got");
        expect_away(0);
    }
    place.store = HONEST;
    wait_until(&stats()->blobs_sent, 1);
}

/* Nobody knows what became of the blob then, and nobody is told that it is lost. */
static void what_a_store_refuses_to_give_is_not_lost(void **state)
{
    static const int refusals[] = {403, 301, 507};
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    for (int i = 0; i < 3; i++) {
        place.server.n_fail = 1;
        place.server.status = refusals[i];
        ask(r, hex);
        wait_until(&stats()->blobs_failed, i + 1);
        assert_false(is_missing(r, hex));
        rig_pass(r, 30000);
    }
    ask(r, hex);
    wait_until(&stats()->blobs_fetched, 1);
    expect_here(r, hex, 1, N_BLOB);
}

static void who_asks_waits_while_the_store_fails(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    place.server.n_fail = 1;
    place.server.status = 503;
    ask(r, hex);
    wait_until(&stats()->blobs_failed, 1);
    said("the S3 store does not give blob");
    ask(r, hex); /* too early */
    clock_sleep_ms(50);
    rig_pass(r, 2000);
    assert_int_equal(stats()->blobs_failed + stats()->blobs_fetched, 1);
    place.server.n_cut = 1;
    place.server.cut_at = 5000;
    ask(r, hex);
    wait_until(&stats()->blobs_failed, 2);
    said("before all was there");
    rig_pass(r, 5000);
    place.server.n_slow = 1;
    ask(r, hex);
    wait_until(&stats()->blobs_failed, 3);
    assert_false(is_missing(r, hex));
    rig_pass(r, 5000);
    ask(r, hex);
    wait_until(&stats()->blobs_fetched, 1);
    expect_here(r, hex, 1, N_BLOB);
}

static void expect_lost(struct rig *r, const char *hex, const char *words)
{
    ask(r, hex);
    wait_until(&stats()->blobs_failed, 1);
    said(words);
    rig_refused(r, ERR_NOT_FOUND, words, "blob_get", "{'sha256':'%s'}", hex);
    assert_true(is_missing(r, hex)); /* so that who has it sends it */
}

static void what_the_store_lost_is_missing_until_somebody_puts_it(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    place.store = LOSES;
    expect_lost(r, hex, "there is nothing there");
    put(r, 1, N_BLOB);
    assert_false(is_missing(r, hex));
    expect_here(r, hex, 1, N_BLOB);
    expect_away(0);
    place.store = HONEST;
    hex = put_away(r, 1, N_BLOB);
    assert_false(is_missing(r, hex));
    ask(r, hex);
}

/* Another bucket, or one that was made anew: who wants a blob waits, and nothing is told as lost. */
static void a_store_without_the_probe_has_lost_nothing(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    place.store = GONE;
    ask(r, hex);
    wait_until(&stats()->blobs_failed, 1);
    said("/probe: 404 NoSuchKey");
    assert_false(is_missing(r, hex));
    ask(r, hex);
    expect_away(1);
}

static void what_the_store_falsified_is_not_given_to_anybody(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    place.store = FLIPS;
    expect_lost(r, hex, "the store has another content there than the name says");
    rig_pass(r, 60000);
    ask(r, hex); /* flipped back */
    wait_until(&stats()->blobs_fetched, 1);
    assert_false(is_missing(r, hex));
    expect_here(r, hex, 1, N_BLOB);
}

static void without_the_store_its_blobs_are_missing(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    vault_close(r->options.vault);
    r->options.vault = NULL;
    rig_crash(r);
    assert_true(is_missing(r, hex));
    rig_refused(r, ERR_NOT_FOUND, "was started without it (--blobs)", "blob_get", "{'sha256':'%s'}", hex);
}

static void a_tracker_that_dies_in_mid_transfer_loses_no_blob(void **state)
{
    struct rig *r = *state;
    const char *hex;

    hex = put(r, 1, N_BLOB);
    for (int way = 0; way < 2; way++) { /* while it is sent, and while it is fetched */
        rig_sleep(r, DAYS_2 + 1000);
        atomic_store(&place.was_asked, false);
        atomic_store(&place.silent, way ? 'G' : 'P');
        if (way)
            ask(r, hex);
        while (!atomic_load(&place.was_asked)) {
            rig_pass(r, HALL_TICK_MS);
            clock_sleep_ms(1);
        }
        atomic_store(&place.silent, 0);
        vault_close(r->options.vault); /* what it would say is not heard any more */
        open_vault();
        rig_crash(r);
        expect_away(way);
        wait_until(way ? &stats()->commits : &stats()->blobs_sent, 1);
    }
    ask(r, hex);
    wait_until(&stats()->blobs_fetched, 1);
    expect_here(r, hex, 1, N_BLOB);
}

static void a_blob_that_is_forgotten_while_it_is_read_is_left_alone(void **state)
{
    const struct tracker_options *o = &place.rig.options;
    struct rig *r = *state;
    const char *hex = put(r, 1, N_LARGE);

    rig_sleep(r, DAYS_2 + 1000);
    rig_pass(r, (int64_t)2 * HALL_TICK_MS); /* it is chosen, and its first piece read */
    assert_int_equal(o->ops->blob_away(o->store, hex), ERR_OK);
    rig_pass(r, 1000);
    assert_int_equal(stats()->blobs_sent, 0);
    assert_null(object(hex));
}

static void what_retention_forgets_is_removed_from_the_store(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);
    char kept[SHA256_HEX + 1];

    strcpy(kept, hex);
    r->options.retention_days = 30;
    rig_crash(r);
    rig_pass(r, 60000);
    assert_int_equal(atomic_load(&place.n_told_to_forget), 0);
    place.server.n_fail = 2; /* then it is told once more */
    place.server.status = 503;
    rig_sleep(r, 31 * DAYS_2 / 2);
    for (int i = 0; i < WAIT_TURNS && atomic_load(&place.n_told_to_forget) < 3; i++) {
        rig_pass(r, HALL_TICK_MS);
        clock_sleep_ms(1);
    }
    said("does not forget blob");
    assert_int_equal(atomic_load(&place.n_told_to_forget), 3);
    vault_close(r->options.vault); /* when it is done */
    open_vault();
    rig_crash(r);
    assert_null(object(kept));
    expect_away(0);
    assert_true(is_missing(r, kept));
}

/* It is another's by then, with a life of its own. */
static void what_is_put_again_while_the_store_forgets_it_stays(void **state)
{
    struct rig *r = *state;
    const char *hex = put_away(r, 1, N_BLOB);

    r->options.retention_days = 30;
    rig_crash(r);
    atomic_store(&place.silent, 'D');
    atomic_store(&place.was_asked, false);
    rig_sleep(r, 31 * DAYS_2 / 2);
    while (!atomic_load(&place.was_asked)) {
        rig_pass(r, HALL_TICK_MS);
        clock_sleep_ms(1);
    }
    assert_string_equal(put(r, 1, N_BLOB), hex);
    atomic_store(&place.silent, 0);
    for (int i = 0; i < WAIT_TURNS && object(hex); i++)
        clock_sleep_ms(1);
    for (int i = 0; i < 50; i++) {
        rig_pass(r, HALL_TICK_MS);
        clock_sleep_ms(1);
    }
    expect_here(r, hex, 1, N_BLOB);
    expect_away(0);
}

int main(void)
{
#define AT_PLACE(test) cmocka_unit_test_setup_teardown(test, begin_quietly, end)
    const struct CMUnitTest tests[] = {
        AT_PLACE(a_blob_that_nobody_asks_for_goes_and_comes_back),
        AT_PLACE(what_the_store_refuses_stays_in_the_database),
        AT_PLACE(one_blob_that_is_refused_does_not_keep_others),
        AT_PLACE(a_store_that_cuts_off_is_not_believed),
        AT_PLACE(a_store_that_is_slow_is_given_up),
        AT_PLACE(a_store_that_is_silent_keeps_nobody_waiting),
        AT_PLACE(a_store_that_is_away_is_told),
        AT_PLACE(a_store_that_keeps_other_bytes_is_seen_before_the_blob_leaves),
        AT_PLACE(what_a_store_refuses_to_give_is_not_lost),
        AT_PLACE(who_asks_waits_while_the_store_fails),
        AT_PLACE(what_the_store_lost_is_missing_until_somebody_puts_it),
        AT_PLACE(a_store_without_the_probe_has_lost_nothing),
        AT_PLACE(what_the_store_falsified_is_not_given_to_anybody),
        AT_PLACE(without_the_store_its_blobs_are_missing),
        AT_PLACE(a_tracker_that_dies_in_mid_transfer_loses_no_blob),
        AT_PLACE(a_blob_that_is_forgotten_while_it_is_read_is_left_alone),
        AT_PLACE(what_retention_forgets_is_removed_from_the_store),
        AT_PLACE(what_is_put_again_while_the_store_forgets_it_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
