/* SPDX-License-Identifier: MIT */
/* tune-tracker as a command: its options, what it says, and how it ends. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"
#include "tracker/protocol.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[256];

static int start(void **state)
{
    struct why why = {""};

    (void)state;
    return dir_temporary("tune-command", dir, sizeof dir, &why) != ERR_OK;
}

static int stop(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

/* Runs it to its end; gives the exit code, and all that it said (lent until the next run). */
static int run(const char **said, const char *const *args)
{
    static struct buf text;
    char own[4096], program[5000], path[300];
    const char *argv[16] = {program};
    struct proc_options o = {.argv = argv, .in_fd = -1, .pass_fd = -1};
    struct why why = {""};
    int status = 0, n = 1;
    pid_t pid;

    while (args[n - 1]) {
        argv[n] = args[n - 1];
        n++;
    }
    assert_int_equal(proc_own_dir(own, sizeof own), ERR_OK);
    snprintf(program, sizeof program, "%s/../bin/tune-tracker", own);
    snprintf(path, sizeof path, "%s/said", dir);
    o.out_fd = o.err_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (proc_start(&o, &pid, &why) != ERR_OK)
        fail_msg("%s", why.text);
    close(o.out_fd);
    if (proc_wait(pid, 10000, &status) != ERR_OK) {
        proc_kill(pid, SIGKILL, false);
        fail_msg("tune-tracker %s goes on", args[0] ? args[0] : "");
    }
    buf_fini(&text);
    buf_init(&text, 65536);
    file_read(path, &text, NULL);
    *said = buf_text(&text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define RUN(said, ...) run(said, (const char *const[]){__VA_ARGS__, NULL})

static void refused(const char *words, const char *const *args)
{
    const char *said;
    const int code = run(&said, args);

    if (code != 1 || !strstr(said, words))
        fail_msg("exit code %d, '%s', expected 1 and '%s'", code, said, words);
}

#define REFUSED(words, ...) refused(words, (const char *const[]){__VA_ARGS__, NULL})

/* ---- facts ---- */

static void help_and_version_are_said_without_running(void **state)
{
    const char *said;

    (void)state;
    assert_int_equal(RUN(&said, "--version"), 0);
    assert_string_equal(said, "tune-tracker " TUNE_VERSION " (wire 1)\n");
    assert_int_equal(RUN(&said, "--help"), 0);
    assert_non_null(strstr(said, "tune-tracker [options]"));
    assert_non_null(strstr(said, "--retention"));
    REFUSED("unexpected argument 'x': tune-tracker takes only options", "x");
    REFUSED("--lease", "--lease", "0.05s");
    REFUSED("--workers", "--workers", "1025");
    REFUSED("'nosuch' is no kind of store", "--store", "nosuch:dd", "--listen", "tcp://127.0.0.1:0");
    REFUSED("'nosuch' is no kind of store", "--store", "nosuch:dd", "--backup", "copy.sqlite");
}

static void an_address_has_to_be_one_and_a_key_where_others_can_reach_it(void **state)
{
    static const char *const near[] = {"tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tcp4://127.0.0.1:1",
                                       "tcp6://[::1]:1"};
    char key[300];
    static const char words[] = "is reachable by others: give --key-file FILE (`tune keygen` makes one), or --insecure";

    (void)state;
    REFUSED("'nonsense' is no address: expected e.g. tcp://127.0.0.1:9477", "--listen", "nonsense");
    REFUSED("'ipc:///run/tune' is no address: expected e.g.", "--listen", "ipc:///run/tune");
    REFUSED(words, "--listen", "tcp://0.0.0.0:0");
    REFUSED(words, "--listen", "tcp://12.0.0.1:0");
    REFUSED("/nowhere/k", "--listen", "tcp://0.0.0.0:0", "--key-file", "/nowhere/k");
    REFUSED("--revoked is of keys: expected --key-file, too", "--revoked", "/nowhere/r");
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) /* gets as far as its store */
        REFUSED("/dev/null/store", "--listen", near[i], "--store", "/dev/null/store");
    REFUSED("/dev/null/store", "--listen", "tcp://0.0.0.0:0", "--insecure", "--store", "/dev/null/store");
    REFUSED("--http 0.0.0.0:0 is reachable by others, and without --key-file it asks for no token", "--http",
            "0.0.0.0:0");
    REFUSED("--http [::]:0 is reachable by others", "--http", "[::]:0");
    REFUSED("serves the page without TLS to other machines: who hears the line reads it;", "--http", "0.0.0.0:0",
            "--insecure", "--store", "/dev/null/store");
    REFUSED("/dev/null/store", "--http", "127.0.0.1:0", "--store", "/dev/null/store");
    snprintf(key, sizeof key, "%s/page.key", dir);
    assert_int_equal(key_make(key, NULL), ERR_OK);
    REFUSED("who hears the line reads it and its token; leave it on 127.0.0.1", "--http", "10.1.2.3:0", "--key-file",
            key, "--store", "/dev/null/store");
}

static void lists_of_addresses_are_looked_through_at_once(void **state)
{
    static const char *const bad[] = {"tcp://127.0.0.1:1,",
                                      ",tcp://127.0.0.1:1",
                                      "tcp://127.0.0.1:1,,tcp://127.0.0.1:2",
                                      "tcp://127.0.0.1:1,tcp://127.0.0.1:x",
                                      "a,b,c,d,e,f,g,h,i",
                                      "farm,smtp://x:1"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct client_options o = {.url = bad[i]};
        struct client *c = NULL;
        struct why why = {""};

        if (client_open(&o, &c, &why) != ERR_INPUT || !why.text[0])
            fail_msg("'%s' was taken: %s", bad[i], why.text);
    }
}

static void it_says_where_it_listens_and_ends_in_order(void **state)
{
    char url_file[300];
    struct farm f = {.more = {"--lease", "7s", "--allow-backup", "--url-file", url_file, NULL}};
    struct client *c;
    struct buf url;
    cJSON *result;
    int status;

    (void)state;
    snprintf(url_file, sizeof url_file, "%s/url", dir);
    farm_start(&f);
    buf_init(&url, 1000);
    assert_int_equal(file_read(url_file, &url, NULL), ERR_OK);
    assert_string_equal(buf_text(&url), f.url);
    buf_fini(&url);
    c = farm_client(&f, "test");
    farm_do(c, "job_submit", "{'body':'b'}");
    result = farm_must(c, "status", "{}");
    assert_int_equal(number_in(result, "lease_ms"), 7000);
    cJSON_Delete(result);
    farm_do(c, "backup", "{'path':'%s/by-wire.sqlite'}", dir);
    client_close(c);
    for (int i = 0; i < 2; i++) {
        kill(f.pid, i ? SIGINT : SIGTERM);
        assert_int_equal(proc_wait(f.pid, 10000, &status), ERR_OK);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        farm_restart(&f);
    }
    c = farm_client(&f, "test");
    result = farm_must(c, "job_list", "{}");
    assert_int_equal(count_in(result, "jobs"), 1);
    cJSON_Delete(result);
    client_close(c);
    farm_stop(&f);
}

/* A tracker that could accept fewer than 64 says so and ends. The hard limit is the shell's, which becomes the tracker.
 */
static void too_few_files_are_told(void **state)
{
    char own[4096], line[9000], path[300];
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    struct proc_options o = {.argv = argv, .in_fd = -1, .pass_fd = -1};
    struct why why = {""};
    struct buf said;
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(proc_own_dir(own, sizeof own), ERR_OK);
    snprintf(path, sizeof path, "%s/few.said", dir);
    snprintf(line, sizeof line,
             "ulimit -n 191; exec '%s/../bin/tune-tracker' --listen tcp://127.0.0.1:0 --workers 0 --store '%s/few'",
             own, dir);
    o.out_fd = o.err_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(proc_start(&o, &pid, &why), ERR_OK);
    close(o.out_fd);
    assert_int_equal(proc_wait(pid, 10000, &status), ERR_OK);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    buf_init(&said, 4096);
    assert_int_equal(file_read(path, &said, NULL), ERR_OK);
    assert_non_null(strstr(buf_text(&said), "only 191 files may be open"));
    buf_fini(&said);
}

static void only_who_has_the_key_file_is_served(void **state)
{
    char key[300], other[300];
    struct farm f = {.key_file = key};
    struct client_options o = {.key_file = other};
    struct client *c = NULL;
    struct why why = {""};

    (void)state;
    snprintf(key, sizeof key, "%s/key", dir);
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(key_make(key, &why), ERR_OK);
    assert_int_equal(key_make(other, &why), ERR_OK);
    farm_start(&f);
    client_close(farm_client(&f, "test"));
    o.url = f.url;
    assert_int_equal(client_open(&o, &c, &why), ERR_AUTH);
    farm_stop(&f);
}

/* Sooner or later: the tracker looks at the list ten times a second. */
static void is_refused(struct client *c)
{
    enum err e = ERR_OK;

    for (int i = 0; i < 1000 && !e; i++) {
        cJSON_Delete(farm_call(c, &e, 0, "status", "{}"));
        clock_sleep_ms(10);
    }
    assert_int_equal(e, ERR_AUTH);
}

/* A farm with a key and a list of keys that are taken back, and bob in it with a key of his own. */
struct bobs_farm {
    char key[300], bobs[300], list[300];
    struct farm f;
    struct client_options o; /* bob's */
    struct client *c;
};

static void start_with_bob(struct bobs_farm *b, const char *name, const char *revoked)
{
    struct why why = {""};
    struct key farm;

    *b = (struct bobs_farm){.f = {.key_file = b->key, .more = {"--revoked", b->list}}, .o = {.key_file = b->bobs}};
    snprintf(b->key, sizeof b->key, "%s/%s.key", dir, name);
    snprintf(b->bobs, sizeof b->bobs, "%s/%s-bob.key", dir, name);
    snprintf(b->list, sizeof b->list, "%s/%s-revoked", dir, name);
    assert_int_equal(key_make(b->key, &why), ERR_OK);
    assert_int_equal(key_load(b->key, &farm, &why), ERR_OK);
    assert_int_equal(key_make_for(b->bobs, &farm, "user:bob", &why), ERR_OK);
    assert_int_equal(file_replace(b->list, revoked, strlen(revoked), 0600, &why), ERR_OK);
    farm_start(&b->f);
    b->o.url = b->f.url;
    assert_int_equal(client_open(&b->o, &b->c, &why), ERR_OK);
}

static void a_key_in_the_list_is_refused_at_once_and_at_the_next_start(void **state)
{
    struct bobs_farm b;
    struct why why = {""};

    (void)state;
    start_with_bob(&b, "farm", "# nobody\n");
    cJSON_Delete(farm_must(b.c, "status", "{}"));
    assert_int_equal(file_replace(b.list, "agent:x\nuser:bob", 16, 0600, &why), ERR_OK);
    is_refused(b.c);
    client_close(b.c);
    b.c = NULL;
    assert_int_equal(client_open(&b.o, &b.c, &why), ERR_AUTH);
    assert_string_equal(why.text, "the key of user:bob was taken back");
    farm_crash(&b.f);
    farm_restart(&b.f);
    assert_int_equal(client_open(&b.o, &b.c, &why), ERR_AUTH);
    client_close(farm_client(&b.f, "the farm's own"));
    farm_stop(&b.f);
    assert_int_equal(file_replace(b.list, "user:bob\nbob\n", 13, 0600, &why), ERR_OK);
    REFUSED("revoked:2: 'bob': expected ROLE:NAME, e.g. user:alice", "--key-file", b.key, "--revoked", b.list);
    assert_int_equal(file_replace(b.list, "user:al\0\nuser:bob\n", 19, 0600, &why), ERR_OK);
    REFUSED("revoked: a text is expected", "--key-file", b.key, "--revoked", b.list);
}

/* Nor does SIGHUP end a tracker with a list: it reads the list again. */
static void a_list_that_cannot_be_read_again_changes_nothing(void **state)
{
    struct bobs_farm b;
    struct why why = {""};

    (void)state;
    start_with_bob(&b, "farm2", "user:eve\n");
    assert_int_equal(file_replace(b.list, "user:bob\nno identity\n", 21, 0600, &why), ERR_OK);
    clock_sleep_ms(500);
    cJSON_Delete(farm_must(b.c, "status", "{}"));
    assert_int_equal(unlink(b.list), 0);
    clock_sleep_ms(500);
    cJSON_Delete(farm_must(b.c, "status", "{}"));
    assert_int_equal(file_replace(b.list, "user:eve\n", 9, 0600, &why), ERR_OK);
    clock_sleep_ms(500);
    assert_int_equal(kill(b.f.pid, SIGHUP), 0);
    clock_sleep_ms(500);
    cJSON_Delete(farm_must(b.c, "status", "{}"));
    assert_int_equal(file_replace(b.list, "user:bob\n", 9, 0600, &why), ERR_OK);
    is_refused(b.c);
    client_close(b.c);
    farm_stop(&b.f);
}

/* Also while a tracker has it open. */
static void a_store_is_used_by_one_tracker_and_copied_at_any_time(void **state)
{
    char store[300], copy[300];
    const char *said;
    struct farm f = {.more = {NULL}};

    (void)state;
    farm_start(&f);
    snprintf(store, sizeof store, "%s/store", f.dir);
    snprintf(copy, sizeof copy, "%s/copy.sqlite", dir);
    REFUSED("is in use by another tracker", "--store", store, "--listen", "tcp://127.0.0.1:0");
    assert_int_equal(RUN(&said, "--store", store, "--backup", copy), 0);
    assert_non_null(strstr(said, "copy.sqlite: "));
    assert_non_null(strstr(said, " bytes\n"));
    REFUSED("exists already", "--store", store, "--backup", copy);
    REFUSED("cannot listen on", "--store", dir, "--listen", f.url);
    REFUSED("expected an address and a port", "--store", dir, "--listen", "tcp://127.0.0.1:0", "--http", "nowhere");
    farm_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_and_version_are_said_without_running),
        cmocka_unit_test(an_address_has_to_be_one_and_a_key_where_others_can_reach_it),
        cmocka_unit_test(lists_of_addresses_are_looked_through_at_once),
        cmocka_unit_test(it_says_where_it_listens_and_ends_in_order),
        cmocka_unit_test(too_few_files_are_told),
        cmocka_unit_test(only_who_has_the_key_file_is_served),
        cmocka_unit_test(a_key_in_the_list_is_refused_at_once_and_at_the_next_start),
        cmocka_unit_test(a_list_that_cannot_be_read_again_changes_nothing),
        cmocka_unit_test(a_store_is_used_by_one_tracker_and_copied_at_any_time),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
