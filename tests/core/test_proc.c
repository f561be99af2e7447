/* SPDX-License-Identifier: MIT */
/* Children: they start, are limited, are killed, and die with their parent. The test runs itself as the child. */
#include "core/clock.h"
#include "core/proc.h"
#include "tests/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char self[PATH_MAX + 16];

/* Starts this program again with `what`; its output goes to out_fd. */
static enum err start(const char *what, int out_fd, int64_t data_bytes, bool group, pid_t *pid)
{
    const char *argv[] = {self, what, NULL};
    const char *env[] = {"TUNE_TEST_WORD=given", NULL};
    const struct proc_options o = {.argv = argv,
                                   .env_add = env,
                                   .in_fd = -1,
                                   .out_fd = out_fd,
                                   .err_fd = 2,
                                   .pass_fd = -1,
                                   .data_bytes = data_bytes,
                                   .own_group = group};

    return proc_start(&o, pid, NULL);
}

static int run(const char *what, int64_t data_bytes)
{
    int status = -1;
    pid_t pid = 0;

    assert_int_equal(start(what, 2, data_bytes, false, &pid), ERR_OK);
    assert_int_equal(proc_wait(pid, 10000, &status), ERR_OK);
    return status;
}

static void children_report_their_exit_and_see_their_environment(void **state)
{
    (void)state;
    setenv("TUNE_TEST_WORD", "inherited", 1);
    assert_int_equal(WEXITSTATUS(run("exit-7", 0)), 7);
    assert_int_equal(run("environment", 0), 0);
}

static void a_program_that_is_not_there_is_an_error_with_its_name(void **state)
{
    const char *argv[] = {"/nonexistent/program", NULL};
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = -1, .pass_fd = -1};
    struct why why = {""};
    pid_t pid = 0;

    (void)state;
    assert_int_equal(proc_start(&o, &pid, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/nonexistent/program: No such file"));
    assert_int_equal(pid, 0);
}

/* No child is left, neither alive nor as a zombie. */
static void a_program_that_cannot_be_started_leaves_no_child(void **state)
{
    const char *argv[] = {"/nonexistent/program", NULL};
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = -1, .pass_fd = -1};
    pid_t pid = 0;

    (void)state;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none of other tests */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(proc_start(&o, &pid, NULL), ERR_IO);
        errno = 0;
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
    }
}

static void memory_over_the_limit_is_refused_to_the_child(void **state)
{
    (void)state;
    if (SANITIZED) /* its shadow memory does not fit into any sane RLIMIT_DATA */
        skip();
    assert_int_equal(WEXITSTATUS(run("allocate", 0)), 0);
    assert_int_equal(WEXITSTATUS(run("allocate", 32 << 20)), 1);
}

static void no_other_descriptor_is_inherited(void **state)
{
    int fd[2];

    (void)state;
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(run("descriptors", 0), 0);
    close(fd[0]);
    close(fd[1]);
}

static void waiting_ends_in_time_and_killing_kills(void **state)
{
    int status = 0;
    pid_t pid = 0;

    (void)state;
    assert_int_equal(start("sleep", 2, 0, true, &pid), ERR_OK);
    assert_int_equal(proc_wait(pid, 0, &status), ERR_TIMEOUT);
    assert_int_equal(proc_wait(pid, 30, &status), ERR_TIMEOUT);
    assert_true(proc_rss_bytes(pid) > 0);
    proc_kill(pid, SIGKILL, true);
    assert_int_equal(proc_wait(pid, -1, &status), ERR_OK);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(proc_wait(pid, 0, &status), ERR_NOT_FOUND);
    proc_kill(0, SIGKILL, true); /* ignored: 0 would be everyone */
    proc_kill(-1, SIGKILL, false);
}

/* True when the process is gone, or a zombie, within 5 s. */
static bool dies(pid_t pid)
{
    char path[64], status = 'R';

    for (int i = 0; i < 500; i++) {
        FILE *f;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        f = fopen(path, "re");
        if (!f)
            return true;
        if (fscanf(f, "%*d (%*[^)]) %c", &status) != 1)
            status = 'R';
        fclose(f);
        if (status == 'Z' || status == 'X')
            return true;
        clock_sleep_ms(10);
    }
    return false;
}

static void a_child_dies_with_its_parent(void **state)
{
    int fd[2], status;
    pid_t parent = 0, grandchild = 0;

    (void)state;
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(start("parent", fd[1], 0, false, &parent), ERR_OK);
    close(fd[1]);
    assert_int_equal(read(fd[0], &grandchild, sizeof grandchild), sizeof grandchild);
    assert_int_equal(kill(grandchild, 0), 0);
    proc_kill(parent, SIGKILL, false);
    assert_int_equal(proc_wait(parent, 10000, &status), ERR_OK);
    assert_true(dies(grandchild));
    close(fd[0]);
}

static void there_is_at_least_one_cpu(void **state)
{
    int cpus[1024];

    (void)state;
    assert_true(proc_cpus(cpus, 1024) >= 1);
    assert_int_equal(proc_cpus(NULL, 0), proc_cpus(cpus, 1));
}

static void a_file_never_gets_the_number_of_a_closed_standard_stream(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(run("closed-streams", 0)), 3);
}

/* The number of the first file opened after all three standard streams were closed. */
static int be_closed(void)
{
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    proc_keep_standard_fds();
    if (write(1, "", 1) >= 0 || errno != EBADF || write(2, "", 1) != 1) /* what is lost there is an error */
        return 0;
    return open("/dev/zero", O_RDONLY);
}

static int be_parent(void)
{
    pid_t pid = 0;

    if (start("sleep", 2, 0, false, &pid) != ERR_OK || write(1, &pid, sizeof pid) != (ssize_t)sizeof pid)
        return 1;
    pause();
    return 0;
}

/* Bytes that wait at both: x at 0, y at 3. */
static int be_reader(void)
{
    char in = 0, pass = 0;

    return read(0, &in, 1) != 1 || read(3, &pass, 1) != 1 || in != 'x' || pass != 'y';
}

/* The end of file at once. */
static int be_reader_of_nothing(void)
{
    char in;

    return read(0, &in, 1) != 0 || fcntl(3, F_GETFD) >= 0;
}

static int be_counter(bool which)
{
    int cpus[1024] = {0};
    const int n = proc_cpus(cpus, 1024);

    return which && n == 1 ? cpus[0] % 251 : which ? 255 : n % 251;
}

/* A child by fork, of the same group, that no death signal reaches. */
static int be_forker(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    if (write(1, &pid, sizeof pid) != (ssize_t)sizeof pid)
        return 1;
    pause();
    return 0;
}

static int be_usual(void)
{
    struct sigaction action;
    struct rlimit core;
    sigset_t mask;

    if (sigaction(SIGUSR1, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        return 1;
    if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0 || sigismember(&mask, SIGTERM))
        return 2;
    return getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_cur != 0 ? 3 : 0;
}

static int be_whole_environment(void)
{
    int n = 0;

    for (char **e = environ; *e; e++)
        n += strncmp(*e, "TUNE_TEST_WORD=", 15) == 0;
    return n != 1 || strcmp(getenv("TUNE_TEST_WORD"), "given") != 0 || !getenv("TUNE_TEST_WORDS") ||
           strcmp(getenv("TUNE_TEST_WORDS"), "more") != 0 || !getenv("TUNE_TEST") ||
           strcmp(getenv("TUNE_TEST"), "less") != 0;
}

static int be_child(const char *what)
{
    static const struct {
        const char *what;
        int (*be)(void);
    } kinds[] = {{"reads-xy", be_reader},
                 {"reads-nothing", be_reader_of_nothing},
                 {"forks", be_forker},
                 {"usual-signals", be_usual},
                 {"whole-environment", be_whole_environment}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(what, kinds[i].what) == 0)
            return kinds[i].be();
    if (strncmp(what, "cpu", 3) == 0)
        return be_counter(what[3] == '\0');
    if (strcmp(what, "exit-7") == 0)
        return 7;
    if (strcmp(what, "environment") == 0)
        return strcmp(getenv("TUNE_TEST_WORD"), "given") != 0;
    if (strcmp(what, "allocate") == 0) {
        void *p = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return p == MAP_FAILED;
    }
    if (strcmp(what, "descriptors") == 0) {
        for (int fd = 3; fd < 1024; fd++)
            if (fcntl(fd, F_GETFD) >= 0)
                return 1;
        return 0;
    }
    if (strcmp(what, "closed-streams") == 0)
        return be_closed();
    if (strcmp(what, "parent") == 0)
        return be_parent();
    pause();
    return 0;
}

/* Starts this program again as `what` with these descriptors and waits; its exit status. */
static int run_with(const char *what, int in_fd, int pass_fd, const int *cpus, int n_cpus)
{
    const char *argv[] = {self, what, NULL};
    const struct proc_options o = {
        .argv = argv, .in_fd = in_fd, .out_fd = -1, .err_fd = 2, .pass_fd = pass_fd, .cpus = cpus, .n_cpus = n_cpus};
    int status = -1;
    pid_t pid = 0;

    assert_int_equal(proc_start(&o, &pid, NULL), ERR_OK);
    assert_int_equal(proc_wait(pid, 10000, &status), ERR_OK);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void given_descriptors_become_the_child_s(void **state)
{
    int in[2], pass[2];

    (void)state;
    assert_int_equal(pipe(in) | pipe(pass), 0);
    assert_int_equal(write(in[1], "x", 1), 1);
    assert_int_equal(write(pass[1], "y", 1), 1);
    assert_int_equal(run_with("reads-xy", in[0], pass[0], NULL, 0), 0);
    close(in[1]); /* its end was the child's no more: nobody else holds it open */
    assert_int_equal(run_with("reads-nothing", in[0], -1, NULL, 0), 0);
    assert_int_equal(run_with("reads-nothing", -1, -1, NULL, 0), 0);
    for (int i = 0; i < 2; i++)
        close(pass[i]);
    close(in[0]);
}

/* Each CPU alone, as the child counts. */
static void a_child_keeps_to_the_cpus_it_is_given(void **state)
{
    int cpus[1024];
    const int n = proc_cpus(cpus, 1024);

    (void)state;
    for (int i = 0; i < n && i < 3; i++)
        assert_int_equal(run_with("cpu", -1, -1, &cpus[i], 1), cpus[i] % 251);
    if (n >= 2)
        assert_int_equal(run_with("cpus", -1, -1, cpus, 2), 2);
    assert_int_equal(run_with("cpus", -1, -1, NULL, 0), n % 251);
}

/* The child's own child is killed with it. */
static void killing_a_group_reaches_grandchildren(void **state)
{
    int fd[2], status;
    pid_t parent = 0, grandchild = 0;

    (void)state;
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(start("forks", fd[1], 0, true, &parent), ERR_OK);
    close(fd[1]);
    assert_int_equal(read(fd[0], &grandchild, sizeof grandchild), sizeof grandchild);
    proc_kill(parent, SIGKILL, true);
    assert_int_equal(proc_wait(parent, 10000, &status), ERR_OK);
    assert_true(dies(grandchild));
    close(fd[0]);
}

static void a_child_begins_with_signals_as_usual_and_no_core(void **state)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
    sigset_t blocked, before;
    struct rlimit core;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0); /* the child's own is 0 however large ours may be */
    core.rlim_cur = core.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_CORE, &core), 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    assert_int_equal(sigaction(SIGUSR1, &ignored, NULL), 0);
    assert_int_equal(WEXITSTATUS(run("usual-signals", 0)), 0);
    assert_int_equal(sigaction(SIGUSR1, &usual, NULL), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static void a_path_is_there_when_nobody_gave_one(void **state)
{
    char before[4000];

    (void)state;
    snprintf(before, sizeof before, "%s", getenv("PATH") ? getenv("PATH") : "");
    setenv("PATH", "/mine", 1);
    proc_want_path();
    assert_string_equal(getenv("PATH"), "/mine");
    unsetenv("PATH");
    proc_want_path();
    assert_string_equal(getenv("PATH"), "/usr/local/bin:/usr/bin:/bin");
    setenv("PATH", "", 1);
    proc_want_path();
    assert_string_equal(getenv("PATH"), "/usr/local/bin:/usr/bin:/bin");
    setenv("PATH", before, 1);
}

static void threads_that_cannot_be_started_are_told(void **state)
{
    struct why why = {""};
    struct rlimit l;
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(proc_try_threads(PROC_MAX_TRIED_THREADS, &why), ERR_OK);
    if (SANITIZED)
        skip();
    pid = fork();
    if (pid == 0) {
        getrlimit(RLIMIT_AS, &l);
        l.rlim_cur = 1 << 20;
        setrlimit(RLIMIT_AS, &l);
        _exit(proc_try_threads(40, &why) != ERR_LIMIT || !strstr(why.text, " of 40 threads can be started"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void variables_are_put_over_the_parent_s_by_their_whole_name(void **state)
{
    (void)state;
    setenv("TUNE_TEST_WORD", "inherited", 1);
    setenv("TUNE_TEST_WORDS", "more", 1);
    setenv("TUNE_TEST", "less", 1);
    assert_int_equal(WEXITSTATUS(run("whole-environment", 0)), 0);
    unsetenv("TUNE_TEST_WORDS");
    unsetenv("TUNE_TEST");
}

static void the_own_directory_has_this_program(void **state)
{
    char dir[PATH_MAX], small[2];

    (void)state;
    assert_int_equal(proc_own_dir(dir, sizeof dir), ERR_OK);
    assert_true(dir[0] == '/' && dir[strlen(dir) - 1] != '/');
    assert_int_equal(access(self, X_OK), 0);
    assert_int_equal(proc_own_dir(small, sizeof small), ERR_LIMIT);
    assert_int_equal(proc_own_dir(dir, strlen(dir)), ERR_LIMIT);
    assert_int_equal(proc_own_dir(dir, strlen(dir) + 1), ERR_OK);
}

static void memory_of_a_process_is_in_bytes(void **state)
{
    const int64_t page = sysconf(_SC_PAGESIZE), before = proc_rss_bytes(getpid());
    const size_t n = (size_t)16 << 20;
    char *block = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(block != MAP_FAILED);
    memset(block, 1, n);
    assert_true(before > 0 && before % page == 0);
    assert_true(proc_rss_bytes(getpid()) - before > (int64_t)n / 2);
    assert_true(SANITIZED || proc_rss_bytes(getpid()) - before < 4 * (int64_t)n); /* its shadow counts, too */
    munmap(block, n);
    assert_int_equal(proc_rss_bytes(0x7ffffffe), -1);
}

/* What is only set aside is held by nobody: a child is not ended for the address space of a driver. */
static void address_space_is_no_memory(void **state)
{
    const size_t n = (size_t)1 << 30;
    const int64_t before = proc_rss_bytes(getpid());
    void *block = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)state;
    assert_true(block != MAP_FAILED);
    assert_true(proc_rss_bytes(getpid()) - before < (int64_t)n / 4);
    munmap(block, n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_report_their_exit_and_see_their_environment),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error_with_its_name),
        cmocka_unit_test(a_program_that_cannot_be_started_leaves_no_child),
        cmocka_unit_test(memory_over_the_limit_is_refused_to_the_child),
        cmocka_unit_test(no_other_descriptor_is_inherited),
        cmocka_unit_test(waiting_ends_in_time_and_killing_kills),
        cmocka_unit_test(a_child_dies_with_its_parent),
        cmocka_unit_test(there_is_at_least_one_cpu),
        cmocka_unit_test(a_file_never_gets_the_number_of_a_closed_standard_stream),
        cmocka_unit_test(given_descriptors_become_the_child_s),
        cmocka_unit_test(a_child_keeps_to_the_cpus_it_is_given),
        cmocka_unit_test(killing_a_group_reaches_grandchildren),
        cmocka_unit_test(a_child_begins_with_signals_as_usual_and_no_core),
        cmocka_unit_test(a_path_is_there_when_nobody_gave_one),
        cmocka_unit_test(threads_that_cannot_be_started_are_told),
        cmocka_unit_test(variables_are_put_over_the_parent_s_by_their_whole_name),
        cmocka_unit_test(the_own_directory_has_this_program),
        cmocka_unit_test(memory_of_a_process_is_in_bytes),
        cmocka_unit_test(address_space_is_no_memory),
    };
    char dir[PATH_MAX];

    if (proc_own_dir(dir, sizeof dir) != ERR_OK)
        return 1;
    snprintf(self, sizeof self, "%s/test_proc", dir);
    if (argc > 1)
        return be_child(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
