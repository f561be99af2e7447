/* SPDX-License-Identifier: MIT */
/* A parent and a child that misbehaves in every way: this program is both (--child). */
#include "agent/sandbox.h"
#include "agent/wrapper.h"
#include "core/file.h"
#include "core/proc.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the child ---- */

static void say(const char *json)
{
    frame_send(SANDBOX_DEVICE_FD, cJSON_Parse(json));
}

static char *volatile eaten; /* a compiler leaves out what nobody may see */

static void eat_memory(void)
{
    for (;;) {
        char *piece = eaten = malloc(4 << 20);

        if (piece)
            memset(piece, 1, 4 << 20);
        usleep(1000);
    }
}

/* Each is far below the limit, and a fork of the one before. */
static void eat_memory_in_forks(void)
{
    for (int i = 0; i < 40 && fork() == 0; i++) {
        char *piece = eaten = malloc(8 << 20);

        if (piece)
            memset(piece, 1, 8 << 20);
    }
    for (;;)
        pause();
}

static void do_as_told(const char *op)
{
    if (strcmp(op, "answer") == 0)
        say("{\"ok\":true}");
    else if (strcmp(op, "segfault") == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would take it */
        raise(SIGSEGV);
    } else if (strcmp(op, "abort") == 0) {
        fprintf(stderr, "LLVM ERROR: Cannot select\n");
        abort();
    } else if (strcmp(op, "exit") == 0)
        _exit(3);
    else if (strcmp(op, "garbage") == 0)
        (void)!write(SANDBOX_DEVICE_FD, "\xff\xff\xff\xff????", 8);
    else if (strncmp(op, "slow ", 5) == 0 || strncmp(op, "hung ", 5) == 0) {
        char json[64];

        snprintf(json, sizeof json, "{\"at\":\"%s\",\"i\":0}", op + 5);
        say(json);
        if (*op == 'h')
            pause();
        usleep(120000);
        say("{\"ok\":true}");
        return;
    } else if (strcmp(op, "a second") == 0) {
        say("{\"at\":\"build\",\"i\":0}");
        for (int i = 0; i < 20; i++)
            usleep(50000); /* one sleep would go on while it is stopped */
        say("{\"ok\":true}");
        return;
    } else if (strcmp(op, "eat") == 0)
        eat_memory();
    else if (strcmp(op, "eat in forks") == 0)
        eat_memory_in_forks();
    else if (strcmp(op, "wrapped") == 0) {
        if (!getenv("TUNE_TEST_WRAPPED"))
            _exit(4);
        say("{\"ok\":true}");
        return;
    } else if (strcmp(op, "chatter") == 0) {
        for (int i = 0; i < 1000; i++)
            fprintf(stderr, "line %d\n", i);
        fprintf(stderr, "the last words\n");
        _exit(3);
    } else if (strcmp(op, "late") == 0) { /* a compiler that comes with the first run */
        say("{\"at\":\"first\",\"i\":-9}");
        usleep(450000);
        say("{\"ok\":true}");
    } else if (strcmp(op, "canary") == 0) {
        say("{\"at\":\"time\",\"i\":-2}");
        pause();
    } else if (strcmp(op, "stages") == 0) {
        for (int i = 0; i < 8; i++) {
            say("{\"at\":\"build\",\"i\":2}");
            usleep(100000);
        }
        say("{\"ok\":true}");
    } else if (strcmp(op, "stages without end") == 0) {
        for (;;) {
            say("{\"at\":\"build\",\"i\":2}");
            usleep(10000);
        }
    }
    if (strncmp(op, "orphan", 6) == 0) { /* who comes from it holds what the parent reads, or nothing */
        say("{\"at\":\"verify\",\"i\":3}");
        if (fork() == 0) {
            if (strcmp(op, "orphan alone") == 0)
                close(SANDBOX_DEVICE_FD);
            pause();
        }
        _exit(3);
    }
    say("{\"at\":\"verify\",\"i\":3}");
    if (strcmp(op, "grandchild") == 0 && fork() == 0)
        pause();
    pause();
}

static int child(void)
{
    struct frame_reader r;
    cJSON *request = NULL;
    const char *op = "";

    frame_reader_init(&r, SANDBOX_DEVICE_FD);
    while (frame_read(&r, -1, &request, NULL) == ERR_OK) {
        json_get_text(request, "op", &op, NULL);
        if (strcmp(op, "answer") == 0)
            say("{\"ok\":true}");
        else
            do_as_told(op);
    }
    return 0;
}

/* ---- the parent ---- */

static const struct sandbox_limits limits = {.start_s = 20, .build_s = 0.7, .run_s = 0.2, .memory_bytes = 128 << 20};

static enum err start_through(struct sandbox *s, const char *wrapper, const atomic_bool *stop, struct why *why)
{
    const struct sandbox_options o = {
        .mode = "x", .device = "x", .dir = "/", .cache_dir = "", .wrapper = wrapper, .stop = stop};

    sandbox_init(s, NULL, NULL);
    return sandbox_start(s, &o, why);
}

static void start(struct sandbox *s, const atomic_bool *stop)
{
    struct why why = {""};

    if (start_through(s, NULL, stop, &why))
        fail_msg("%s", why.text);
}

static enum sandbox_fate ask_within(struct sandbox *s, const char *op, const struct sandbox_limits *l,
                                    struct sandbox_end *end)
{
    cJSON *request = cJSON_CreateObject(), *reply = NULL;

    cJSON_AddStringToObject(request, "op", op);
    sandbox_ask(s, request, l, &reply, end);
    assert_int_equal(reply != NULL, end->fate == SANDBOX_REPLIED);
    cJSON_Delete(reply);
    return end->fate;
}

static enum sandbox_fate ask(struct sandbox *s, const char *op, struct sandbox_end *end)
{
    return ask_within(s, op, &limits, end);
}

static void expect(const char *op, enum sandbox_fate fate, const char *words)
{
    struct sandbox s;
    struct sandbox_end end;
    pid_t pid;

    start(&s, NULL);
    pid = s.pid;
    assert_int_equal(ask(&s, op, &end), fate);
    if (!strstr(end.words.text, words))
        fail_msg("'%s' does not say '%s'", end.words.text, words);
    if (fate != SANDBOX_REPLIED) {
        assert_int_equal(s.pid, 0);
        assert_int_equal(kill(pid, 0), -1);
        assert_int_equal(errno, ESRCH);
        assert_int_equal(ask(&s, "answer", &end), SANDBOX_DIED); /* there is none to ask */
    }
    sandbox_end_child(&s);
}

/* Its words arrive: env sets a variable that the child finds, and the child is still this program. */
static void a_child_runs_through_a_wrapper(void **state)
{
    struct sandbox s;
    struct sandbox_end end;
    struct why why = {""};

    (void)state;
    assert_int_equal(start_through(&s, "  env  TUNE_TEST_WRAPPED=a nice -n 1 ", NULL, &why), ERR_OK);
    assert_int_equal(ask(&s, "wrapped", &end), SANDBOX_REPLIED);
    sandbox_end_child(&s);
    start(&s, NULL);
    assert_int_equal(ask(&s, "wrapped", &end), SANDBOX_DIED); /* not there without it */
    sandbox_end_child(&s);
}

static void a_wrapper_that_is_not_there_is_named(void **state)
{
    static char many[5000];
    struct sandbox s;
    struct why why = {""};

    (void)state;
    assert_int_equal(start_through(&s, "no-such-emulator -L /", NULL, &why), ERR_NOT_FOUND);
    assert_string_equal(why.text, "--child-wrapper: there is no program 'no-such-emulator'");
    assert_int_equal(start_through(&s, "/etc/passwd", NULL, &why), ERR_NOT_FOUND);
    for (int i = 0; i < 40; i++)
        strcat(many, "nice ");
    assert_int_equal(start_through(&s, many, NULL, &why), ERR_INPUT);
    memset(many, 'x', sizeof many - 1);
    assert_int_equal(start_through(&s, many, NULL, &why), ERR_INPUT);
}

/* As a shell looks for it: the first of PATH that may be executed, but nothing in an empty part of it. */
static void a_wrapper_is_found_in_path(void **state)
{
    struct wrapper w;
    char dir[PATH_MAX - 64], first[PATH_MAX], second[PATH_MAX], path[2 * PATH_MAX + 64], *was = strdup(getenv("PATH"));

    (void)state;
    assert_int_equal(dir_temporary("test-wrapper", dir, sizeof dir, NULL), ERR_OK);
    snprintf(first, sizeof first, "%s/a", dir);
    snprintf(second, sizeof second, "%s/b", dir);
    assert_true(dir_make(first, 0700, NULL) == ERR_OK && dir_make(second, 0700, NULL) == ERR_OK);
    snprintf(path, sizeof path, "%s/emu", first);
    assert_int_equal(file_replace(path, "#!", 2, 0600, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/emu", second);
    assert_int_equal(file_replace(path, "#!", 2, 0700, NULL), ERR_OK);
    snprintf(path, sizeof path, ":%s:%s", first, second);
    setenv("PATH", path, 1);
    assert_int_equal(wrapper_init(&w, " emu\t-a  -b ", NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/emu", second);
    assert_string_equal(w.argv[0], path);
    assert_string_equal(w.argv[1], "-a");
    assert_string_equal(w.argv[2], "-b");
    assert_null(w.argv[3]);
    assert_int_equal(w.n, 3);
    assert_true(wrapper_init(&w, "  ", NULL) == ERR_OK && w.n == 0);
    assert_true(wrapper_init(&w, NULL, NULL) == ERR_OK && w.n == 0);
    setenv("PATH", was, 1);
    free(was);
    dir_remove(dir);
}

static void a_child_answers_again_and_again(void **state)
{
    struct sandbox s;
    struct sandbox_end end;

    (void)state;
    start(&s, NULL);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask(&s, "answer", &end), SANDBOX_REPLIED);
    sandbox_end_child(&s);
    sandbox_end_child(&s);
}

static void death_is_told_with_its_signal_and_last_words(void **state)
{
    (void)state;
    expect("segfault", SANDBOX_DIED, "signal 11");
    expect("abort", SANDBOX_DIED, "LLVM ERROR: Cannot select");
    expect("exit", SANDBOX_DIED, "ended with code 3");
    expect("chatter", SANDBOX_DIED, ": line 93"); /* of much the end is shown */
    expect("chatter", SANDBOX_DIED, ";the last words");
}

static void garbage_from_a_child_is_its_end(void **state)
{
    (void)state;
    expect("garbage", SANDBOX_DIED, "child process");
}

/* Of a machine that sleeps, or a Ctrl-Z: agent and child stand still for three seconds. */
static void time_for_which_all_stood_still_is_nobodys(void **state)
{
    const struct sandbox_limits brief = {.build_s = 2.5, .run_s = 2.5, .all_s = 2.5};
    const pid_t parent = getpid();
    struct sandbox s;
    struct sandbox_end end;
    pid_t stopper;
    int status;

    (void)state;
    start(&s, NULL);
    stopper = fork();
    if (stopper == 0) {
        usleep(300000);
        kill(s.pid, SIGSTOP);
        kill(parent, SIGSTOP);
        usleep(3000000);
        kill(parent, SIGCONT);
        kill(s.pid, SIGCONT);
        _exit(0);
    }
    assert_int_equal(ask_within(&s, "a second", &brief, &end), SANDBOX_REPLIED);
    waitpid(stopper, &status, 0);
    sandbox_end_child(&s);
}

static void a_stage_over_its_time_is_ended(void **state)
{
    (void)state;
    expect("hang", SANDBOX_TIMEOUT, "verify took longer than 0.2 s");
}

/* A stage that compiles or uploads has the time of a build (and the start of a child its own, where there is one); what
 * runs has that of a run. What is slow takes 0.12 s here, of 20 or of 0.05; what is hung never ends. */
static void a_stage_has_the_time_of_its_kind(void **state)
{
    static const struct {
        const char *op;
        double start_s, build_s, run_s;
        enum sandbox_fate fate;
    } cases[] = {
        {"slow build", 0.05, 20, 0.05, SANDBOX_REPLIED}, {"slow load", 0.05, 20, 0.05, SANDBOX_REPLIED},
        {"slow start", 0, 20, 0.05, SANDBOX_REPLIED},    {"slow start", 20, 0.05, 0.05, SANDBOX_REPLIED},
        {"slow verify", 20, 0.05, 20, SANDBOX_REPLIED},  {"slow time", 20, 0.05, 20, SANDBOX_REPLIED},
        {"hung build", 20, 0.05, 20, SANDBOX_TIMEOUT},   {"hung load", 20, 0.05, 20, SANDBOX_TIMEOUT},
        {"hung verify", 20, 20, 0.05, SANDBOX_TIMEOUT},  {"hung time", 20, 20, 0.05, SANDBOX_TIMEOUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sandbox_limits l = {
            .start_s = cases[i].start_s, .build_s = cases[i].build_s, .run_s = cases[i].run_s};
        struct sandbox s;
        struct sandbox_end end;

        start(&s, NULL);
        if (ask_within(&s, "answer", &limits, &end) != SANDBOX_REPLIED || /* it is up */
            ask_within(&s, cases[i].op, &l, &end) != cases[i].fate)
            fail_msg("case %zu: %s: %s", i, cases[i].op, end.words.text);
        sandbox_end_child(&s);
    }
}

/* Drivers compile then: it may take as long as building, besides. */
static void the_first_run_has_the_time_of_a_build_as_well(void **state)
{
    (void)state;
    expect("late", SANDBOX_REPLIED, "");
}

static void progress_renews_the_time(void **state)
{
    (void)state;
    expect("stages", SANDBOX_REPLIED, "");
}

/* A kernel can report as its child does: what it says renews no time beyond that of the whole request. */
static void stages_without_end_are_ended(void **state)
{
    struct sandbox_limits l = limits;
    struct sandbox s;
    struct sandbox_end end;

    (void)state;
    l.build_s = 20;
    l.all_s = 1;
    start(&s, NULL);
    assert_int_equal(ask_within(&s, "stages without end", &l, &end), SANDBOX_TIMEOUT);
    assert_non_null(strstr(end.words.text, "all stages up to build took longer than 1 s"));
}

static void memory_over_the_limit_is_ended(void **state)
{
    /* Time enough on a machine that others keep busy. */
    const struct sandbox_limits l = {.start_s = 60, .build_s = 60, .run_s = 60, .memory_bytes = 128 << 20};
    struct sandbox s;
    struct sandbox_end end;

    (void)state;
    start(&s, NULL);
    assert_int_equal(ask_within(&s, "eat", &l, &end), SANDBOX_MEMORY);
    assert_non_null(strstr(end.words.text, "memory: the child held"));
    assert_int_equal(s.pid, 0);
}

static void memory_of_its_forks_counts(void **state)
{
    const struct sandbox_limits l = {.start_s = 60, .build_s = 60, .run_s = 60, .memory_bytes = 128 << 20};
    struct sandbox s;
    struct sandbox_end end;

    (void)state;
    if (access("/proc/thread-self/children", F_OK) != 0)
        skip(); /* a kernel that does not tell */
    start(&s, NULL);
    assert_int_equal(ask_within(&s, "eat in forks", &l, &end), SANDBOX_MEMORY);
    assert_non_null(strstr(end.words.text, "memory: the child with what it started held"));
    assert_int_equal(s.pid, 0);
}

static void the_item_and_stage_of_a_death_are_known(void **state)
{
    struct sandbox s;
    struct sandbox_end end;

    (void)state;
    start(&s, NULL);
    assert_int_equal(ask(&s, "hang", &end), SANDBOX_TIMEOUT);
    assert_string_equal(end.stage, "verify");
    assert_int_equal(end.i_item, 3);
    start(&s, NULL);
    assert_int_equal(ask(&s, "canary", &end), SANDBOX_TIMEOUT);
    assert_int_equal(end.i_item, -2); /* a place that is no trial is one, too */
    assert_int_equal(ask(&s, "answer", &end), SANDBOX_DIED);
    assert_int_equal(end.i_item, SANDBOX_NOWHERE);
}

static void the_stop_flag_ends_a_request_at_once(void **state)
{
    atomic_bool stop = true;
    struct sandbox s;
    struct sandbox_end end;

    (void)state;
    start(&s, &stop);
    assert_int_equal(ask(&s, "hang", &end), SANDBOX_CANCELLED);
}

static void grandchildren_end_with_the_child(void **state)
{
    struct sandbox s;
    struct sandbox_end end;
    pid_t group;
    int status = 0;

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans come to this process */
    start(&s, NULL);
    group = s.pid;
    assert_int_equal(ask(&s, "grandchild", &end), SANDBOX_TIMEOUT);
    assert_true(waitpid(-group, &status, 0) > 0);
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* A child that ended by itself, or whose end is not heard of: what it left behind is killed, too. */
static void what_a_child_leaves_behind_ends(void **state)
{
    static const char *const ops[] = {"orphan alone", "orphan with the socket"};

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t i = 0; i < 2; i++) {
        struct sandbox s;
        struct sandbox_end end;
        pid_t group, found = 0;
        int status = 0;

        start(&s, NULL);
        group = s.pid;
        assert_int_not_equal(ask(&s, ops[i], &end), SANDBOX_REPLIED);
        for (int ms = 0; ms < 5000 && found == 0; ms++) {
            found = waitpid(-group, &status, WNOHANG);
            usleep(1000);
        }
        if (found <= 0)
            (void)kill(-group, SIGKILL);
        if (found <= 0 || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            fail_msg("%s: it lives on", ops[i]);
        sandbox_end_child(&s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_runs_through_a_wrapper),
        cmocka_unit_test(a_wrapper_that_is_not_there_is_named),
        cmocka_unit_test(a_wrapper_is_found_in_path),
        cmocka_unit_test(a_child_answers_again_and_again),
        cmocka_unit_test(death_is_told_with_its_signal_and_last_words),
        cmocka_unit_test(garbage_from_a_child_is_its_end),
        cmocka_unit_test(time_for_which_all_stood_still_is_nobodys),
        cmocka_unit_test(a_stage_over_its_time_is_ended),
        cmocka_unit_test(a_stage_has_the_time_of_its_kind),
        cmocka_unit_test(the_first_run_has_the_time_of_a_build_as_well),
        cmocka_unit_test(progress_renews_the_time),
        cmocka_unit_test(stages_without_end_are_ended),
        cmocka_unit_test(memory_over_the_limit_is_ended),
        cmocka_unit_test(memory_of_its_forks_counts),
        cmocka_unit_test(the_item_and_stage_of_a_death_are_known),
        cmocka_unit_test(the_stop_flag_ends_a_request_at_once),
        cmocka_unit_test(grandchildren_end_with_the_child),
        cmocka_unit_test(what_a_child_leaves_behind_ends),
    };

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
