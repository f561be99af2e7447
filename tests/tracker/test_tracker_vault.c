/* SPDX-License-Identifier: MIT */
/* Real trackers whose large blobs lie in an S3 store, killed again and again: what was acknowledged is there. Over
 * SQLite and a small S3 store in this process; `postgres`: over a PostgreSQL server, whole and in parts; `given`: with
 * the S3 store that the environment names (vault_s3.sh). */
#include "core/clock.h"
#include "core/proc.h"
#include "core/rng.h"
#include "tests/logs/hub/server.h"
#include "tests/tracker/farm.h"
#include "tests/tracker/postgres.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define MAX_ROUNDS 5
#define N_BYTES 1500000
#define URL "s3://farm/tune"

static struct postgres database;
static struct server s3;
static bool is_given;

/* ---- shorthands ---- */

static struct sha256 blob_of(int seed, struct blobs *set)
{
    static char bytes[N_BYTES];
    const size_t n = 70000 + (size_t)seed * 200000 % (N_BYTES - 70000);
    struct sha256 name;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i % 251 * (i / 251) + (size_t)seed);
    blobs_init(set, N_BYTES);
    assert_int_equal(blobs_put(set, bytes, n, &name), ERR_OK);
    return name;
}

static void put(struct client *c, int seed)
{
    struct why why = {""};
    struct blobs set;

    blob_of(seed, &set);
    if (client_put_blobs(c, &set, &why) != ERR_OK)
        fail_msg("%s", why.text);
    blobs_fini(&set);
}

/* The client compares the content with the name. */
static void get(struct client *c, int seed)
{
    struct why why = {""};
    struct blobs set;
    const struct sha256 name = blob_of(seed, &set);

    blobs_fini(&set);
    blobs_init(&set, N_BYTES);
    if (client_get_blob(c, name.hex, &set, &why) != ERR_OK)
        fail_msg("blob %d: %s", seed, why.text);
    blobs_fini(&set);
}

/* Ends with 1 and these words. */
static void refused(const struct farm *f, const char *words)
{
    char bin[4096], program[5000], store[300], said[2000] = "";
    const char *argv[] = {program, "--listen", "tcp://127.0.0.1:0", "--store", store, "--workers", "0", NULL};
    struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = 2, .pass_fd = -1};
    int fds[2], status;
    size_t n = 0;
    ssize_t some;
    pid_t pid;

    assert_int_equal(proc_own_dir(bin, sizeof bin), ERR_OK);
    snprintf(program, sizeof program, "%s/../bin/tune-tracker", bin);
    snprintf(store, sizeof store, "%s/store", f->dir);
    if (f->store)
        argv[4] = f->store;
    assert_int_equal(pipe(fds), 0);
    o.err_fd = fds[1];
    assert_int_equal(proc_start(&o, &pid, NULL), ERR_OK);
    close(fds[1]);
    while (n < sizeof said - 1 && (some = read(fds[0], said + n, sizeof said - 1 - n)) > 0)
        n += (size_t)some;
    close(fds[0]);
    assert_int_equal(proc_wait(pid, 10000, &status), ERR_OK);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    if (!strstr(said, words))
        fail_msg("no '%s' in: %s", words, said);
}

/* ---- facts ---- */

static void killed_again_and_again(const char *store)
{
    struct farm f = {.store = store, .more = {"--blobs", URL, "--blobs-after", "200ms"}};
    const int n_rounds = is_given || store ? 2 : MAX_ROUNDS;
    struct client *c;
    struct rng rng;

    rng_init(&rng, 7);
    farm_start(&f);
    for (int i = 0; i < n_rounds; i++) {
        c = farm_client(&f, "user");
        put(c, i);
        clock_sleep_ms((int64_t)rng_below(&rng, 400));
        get(c, (int)rng_below(&rng, (uint64_t)i + 1));
        client_close(c);
        clock_sleep_ms((int64_t)rng_below(&rng, 200));
        farm_crash(&f);
        farm_restart(&f);
    }
    c = farm_client(&f, "user");
    for (int i = 0; i < n_rounds; i++)
        get(c, i);
    client_close(c);
    clock_sleep_ms(1000);
    farm_crash(&f);
    refused(&f, "blobs of this store");
    refused(&f, "expected --blobs s3://BUCKET/PREFIX, or --blobs none");
    f.more[1] = "none";
    farm_restart(&f);
    farm_stop(&f);
}

static void a_killed_tracker_loses_no_blob_wherever_it_lies(void **state)
{
    char where[512], store[640];

    (void)state;
    if (!database.pid) {
        killed_again_and_again(NULL);
        return;
    }
    postgres_place(&database, where, sizeof where);
    snprintf(store, sizeof store, "postgres:%s", where);
    killed_again_and_again(store);
}

/* One blob that both parts have: neither's is the other's. */
static void parts_have_folders_of_their_own(void **state)
{
    char where[512], store[640], path[2][128];
    struct client *c[2];
    struct farm f[2];
    struct sha256 name;
    struct blobs set;

    (void)state;
    postgres_place(&database, where, sizeof where);
    snprintf(store, sizeof store, "postgres:%s", where);
    name = blob_of(50, &set);
    blobs_fini(&set);
    for (int i = 0; i < 2; i++) {
        f[i] = (struct farm){
            .store = store, .standby = true, .more = {"--blobs", URL, "--blobs-after", "200ms", "--parts", "2"}};
        farm_start(&f[i]);
        c[i] = farm_client(&f[i], "user"); /* waits until it listens */
        put(c[i], 50);
        snprintf(path[i], sizeof path[i], "/farm/tune/part%d/%s", i + 1, name.hex);
    }
    for (int i = 0; i < 2000 && !(server_find(&s3, path[0]) && server_find(&s3, path[1])); i++)
        clock_sleep_ms(5);
    clock_sleep_ms(500); /* until it left the database */
    for (int i = 0; i < 2; i++) {
        assert_non_null(server_find(&s3, path[i]));
        get(c[i], 50);
        client_close(c[i]);
        farm_stop(&f[i]);
    }
}

static int start_s3(void)
{
    char endpoint[64];

    if (is_given)
        return 0;
    server_forget_environment();
    server_start(&s3);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", s3.port);
    return setenv("AWS_ENDPOINT_URL", endpoint, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest whole[] = {cmocka_unit_test(a_killed_tracker_loses_no_blob_wherever_it_lies)};
    const struct CMUnitTest parts[] = {cmocka_unit_test(parts_have_folders_of_their_own)};
    const bool has_database = argc > 1 && strcmp(argv[1], "postgres") == 0;
    int n_failed;

    signal(SIGPIPE, SIG_IGN);
    if (has_database && !postgres_start(&database))
        return 77;
    is_given = argc > 1 && strcmp(argv[1], "given") == 0;
    if (start_s3() != 0)
        return 1;
    n_failed = cmocka_run_group_tests(whole, NULL, NULL);
    if (has_database) {
        n_failed += cmocka_run_group_tests(parts, NULL, NULL);
        postgres_stop(&database);
    }
    if (!is_given)
        server_stop(&s3);
    return n_failed;
}
