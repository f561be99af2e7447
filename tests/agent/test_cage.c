/* SPDX-License-Identifier: MIT */
/* A child that attacks from within its cage, as root and as an ordinary user, with namespaces and without: this program
 * is the agent, its child (--child), and the ordinary user (--as-user). What a system cannot do is skipped, in words.
 */
#include "agent/cage.h"
#include "agent/sandbox.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define N_FORKS 300
#define NOBODY 65534

/* ---- the child: each attack tells 0, or the errno that it met ---- */

static const char *child_cache;

static int told(long result)
{
    return result >= 0 ? 0 : errno;
}

static int read_file(const char *path)
{
    char byte;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int e = fd < 0 ? errno : told(read(fd, &byte, 1));

    if (fd >= 0)
        close(fd);
    return e;
}

static int connect_to(const char *port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd < 0 ? errno : told(connect(fd, (const struct sockaddr *)&to, sizeof to));
}

static int seize(const char *pid)
{
    return told(ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL));
}

static int read_memory_of(const char *pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    return read_file(path);
}

static int kill_it(const char *pid)
{
    return told(kill(atoi(pid), SIGKILL));
}

static int make_session(const char *none)
{
    int status = 0;
    const pid_t pid = fork(); /* one that leads no group may */

    (void)none;
    if (pid == 0)
        _exit(told(syscall(SYS_setsid)));
    return pid < 0 || waitpid(pid, &status, 0) != pid ? errno : WEXITSTATUS(status);
}

static int fork_many(const char *path)
{
    for (int i = 0; i < N_FORKS; i++) {
        const pid_t pid = fork();

        if (pid < 0)
            return errno;
        if (pid > 0)
            continue;
        syscall(SYS_setsid);
        for (;;) {
            const int fd = open(path, O_WRONLY | O_APPEND);

            (void)!write(fd, "x", 1);
            close(fd);
            usleep(20000);
        }
    }
    return 0;
}

static int link_out(const char *path)
{
    char from[800];

    snprintf(from, sizeof from, "%s/link", child_cache);
    return told(symlink(path, from));
}

static int write_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    return fd < 0 ? errno : told(write(fd, "poison", 6));
}

static int mount_something(const char *path)
{
    return told(mount("tmpfs", path, "tmpfs", 0, NULL));
}

static int new_user(const char *none)
{
    (void)none;
    return told(unshare(CLONE_NEWUSER));
}

static int abort_it(const char *none)
{
    (void)none;
    abort();
}

static int use_ring(const char *none)
{
    char parameters[256] = {0};

    (void)none;
    return told(syscall(425, 1, parameters)); /* io_uring_setup: connects without connect */
}

static const struct attack {
    const char *name;
    int (*run)(const char *argument);
} attacks[] = {{"read", read_file},   {"connect", connect_to},    {"ptrace", seize},     {"environ", read_memory_of},
               {"kill", kill_it},     {"setsid", make_session},   {"fork", fork_many},   {"link", link_out},
               {"write", write_file}, {"mount", mount_something}, {"unshare", new_user}, {"abort", abort_it},
               {"ring", use_ring}};

static int run_attack(const char *name, const char *argument)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(attacks[i].name, name) == 0)
            return attacks[i].run(argument);
    return -1;
}

static int child(char **argv)
{
    struct cage_report report;
    struct frame_reader r;
    cJSON *request = NULL;
    struct why why = {""};

    child_cache = argv[5];
    (void)cage_enter(argv[6], argv[4], argv[5], argv[3], &report, &why);
    frame_reader_init(&r, SANDBOX_DEVICE_FD);
    while (frame_read(&r, -1, &request, NULL) == ERR_OK) {
        const char *op = "", *argument = "";
        cJSON *reply = cJSON_CreateObject();

        json_get_text(request, "op", &op, NULL);
        json_get_text(request, "argument", &argument, NULL);
        cJSON_AddNumberToObject(reply, "errno", run_attack(op, argument));
        cJSON_AddStringToObject(reply, "lacks", report.lacks);
        frame_send(SANDBOX_DEVICE_FD, reply);
        cJSON_Delete(request);
    }
    return 0;
}

/* ---- the agent ---- */

static char tmp[512], dir[600], cache[700], key[600];
static struct cage cage;
static struct sandbox s;

static const struct sandbox_limits limits = {.start_s = 20, .build_s = 20, .run_s = 20};

static void start(void)
{
    const struct sandbox_options o = {.mode = "x", .device = "opencl", .dir = dir, .cache_dir = cache, .cage = &cage};
    struct why why = {""};

    sandbox_init(&s, NULL, NULL);
    if (sandbox_start(&s, &o, &why))
        fail_msg("%s", why.text);
}

/* What the attack met; `lacks` (CAGE_WORDS_BYTES) is what the child's cage is without. */
static int ask(const char *op, const char *argument, char *lacks)
{
    cJSON *request = cJSON_CreateObject(), *reply = NULL;
    struct sandbox_end end;
    const char *words = "";
    int64_t e = -1;

    cJSON_AddStringToObject(request, "op", op);
    cJSON_AddStringToObject(request, "argument", argument);
    sandbox_ask(&s, request, &limits, &reply, &end);
    if (end.fate != SANDBOX_REPLIED)
        fail_msg("%s: %s", op, end.words.text);
    json_get_i64(reply, "errno", -1, 10000, &e, NULL);
    json_get_text(reply, "lacks", &words, NULL);
    if (lacks)
        snprintf(lacks, CAGE_WORDS_BYTES, "%s", words);
    cJSON_Delete(reply);
    return (int)e;
}

/* The attack fails from within the cage, and succeeds without one: it is one. */
static void expect_refused(const char *op, const char *argument, bool free_succeeds)
{
    const struct cage wanted = cage;
    int free, caged;

    start();
    caged = ask(op, argument, NULL);
    sandbox_end_child(&s);
    if (caged <= 0) /* -1: there is no such attack */
        fail_msg("%s %s succeeded in the cage, or is not known", op, argument);
    if (!free_succeeds)
        return;
    cage = (struct cage){.on = false};
    start();
    free = ask(op, argument, NULL);
    sandbox_end_child(&s);
    cage = wanted;
    if (free != 0)
        fail_msg("%s %s failed without a cage, too: %s", op, argument, strerror(free));
}

static pid_t victim(void)
{
    static const char *const argv[] = {"/bin/sleep", "60", NULL};
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = -1, .pass_fd = -1};
    pid_t pid = 0;

    assert_int_equal(proc_start(&o, &pid, NULL), ERR_OK);
    return pid;
}

static void end_victim(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* alive */
    proc_kill(pid, SIGKILL, false);
    waitpid(pid, NULL, 0);
}

static void files_of_others_cannot_be_read(void **state)
{
    (void)state;
    expect_refused("read", key, true);
    expect_refused("read", "/etc/shadow", geteuid() == 0);
    expect_refused("read", "/etc/passwd", true);
    expect_refused("read", "/proc/1/root/etc/passwd", false);
}

static void no_connection_leads_out(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t n = sizeof a;
    char port[16];

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    snprintf(port, sizeof port, "%d", ntohs(a.sin_port));
    expect_refused("connect", port, true);
    expect_refused("ring", "", false);
    close(fd);
}

static void no_process_outside_is_reached(void **state)
{
    const pid_t pid = victim();
    char text[16], own[16];

    (void)state;
    snprintf(text, sizeof text, "%d", (int)pid);
    snprintf(own, sizeof own, "%d", (int)getpid());
    expect_refused("ptrace", own, false);
    expect_refused("environ", own, true);
    expect_refused("kill", text, false);
    expect_refused("kill", own, false);
    end_victim(pid);
}

static void nothing_but_the_cache_is_written(void **state)
{
    char path[800];

    (void)state;
    snprintf(path, sizeof path, "%s/blobs/x", dir);
    expect_refused("write", path, true);
    snprintf(path, sizeof path, "%s/outside", tmp); /* it may have a /tmp of its own */
    start();
    ask("write", path, NULL);
    sandbox_end_child(&s);
    assert_int_equal(access(path, F_OK), -1);
    expect_refused("link", key, true);
    snprintf(path, sizeof path, "%s/binary", cache);
    start();
    assert_int_equal(ask("write", path, NULL), 0);
    sandbox_end_child(&s);
}

static void no_right_is_won_back(void **state)
{
    (void)state;
    expect_refused("mount", cache, false);
    expect_refused("unshare", "", false);
}

static long size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

/* They beat into a file, which stands still when they are gone. */
static void forks_end_with_the_child(void **state)
{
    char path[800];
    long size;

    (void)state;
    snprintf(path, sizeof path, "%s/beats", cache);
    start();
    assert_int_equal(ask("write", path, NULL), 0);
    assert_int_not_equal(ask("fork", path, NULL), -1);
    for (int i = 0; i < 1000 && size_of(path) <= 6; i++)
        clock_sleep_ms(10);
    assert_true(size_of(path) > 6);
    sandbox_end_child(&s);
    clock_sleep_ms(50);
    size = size_of(path);
    clock_sleep_ms(150);
    assert_int_equal(size_of(path), size);
    expect_refused("setsid", "", true);
}

static void an_abort_is_told_as_one(void **state)
{
    cJSON *request = cJSON_CreateObject(), *reply = NULL;
    struct sandbox_end end;

    (void)state;
    start();
    cJSON_AddStringToObject(request, "op", "abort");
    sandbox_ask(&s, request, &limits, &reply, &end);
    assert_int_equal(end.fate, SANDBOX_DIED);
    assert_non_null(strstr(end.words.text, "died of signal 6"));
}

static void what_a_cage_lacks_is_said(void **state)
{
    const struct cage wanted = cage;
    char lacks[CAGE_WORDS_BYTES];

    (void)state;
    start();
    ask("read", key, lacks);
    sandbox_end_child(&s);
    if (lacks[0])
        print_message("this system's cage is without %s\n", lacks);
    assert_true((strstr(lacks, "namespaces") != NULL) == (cage.spaces == 0));
    cage = (struct cage){.on = false};
    start();
    ask("read", key, lacks);
    sandbox_end_child(&s);
    assert_string_equal(lacks, "all: the cage is off");
    cage = wanted;
}

/* The last of a list that fits no page. */
static void what_is_shown_is_seen_however_long_the_list(void **state)
{
    const struct cage planned = cage;
    char folder[700], path[800];
    struct why why = {""};
    struct buf list;

    (void)state;
    snprintf(folder, sizeof folder, "%s/shown", tmp);
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(file_append(path, "data", 4, false, &why), ERR_OK);
    assert_int_equal(chmod(path, 0644), 0);
    expect_refused("read", path, true);
    buf_init(&list, CAGE_SEES_BYTES);
    while (list.len < 20000)
        buf_puts(&list, "/usr/share:");
    buf_puts(&list, folder);
    assert_int_equal(cage_check_sees(buf_text(&list), &why), ERR_OK);
    cage.sees = buf_text(&list);
    start();
    assert_int_equal(ask("read", path, NULL), 0);
    assert_int_not_equal(ask("read", key, NULL), 0);
    sandbox_end_child(&s);
    cage = planned;
    buf_fini(&list);
}

/* ---- who runs it ---- */

static int prepare(void **state)
{
    char path[800];
    struct why why = {""};

    (void)state;
    if (dir_temporary("test-cage", tmp, sizeof tmp, &why))
        return -1;
    chmod(tmp, 0755);
    snprintf(dir, sizeof dir, "%s/work", tmp);
    snprintf(cache, sizeof cache, "%s/cache", dir);
    snprintf(path, sizeof path, "%s/blobs", dir);
    snprintf(key, sizeof key, "%s/farm.key", tmp);
    return mkdir(dir, 0700) || mkdir(path, 0700) || mkdir(cache, 0700) || file_append(key, "secret", 6, false, &why) ||
                   chmod(key, 0600)
               ? -1
               : 0;
}

static int clean(void **state)
{
    (void)state;
    dir_remove(tmp);
    return 0;
}

static int attack_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_others_cannot_be_read),
        cmocka_unit_test(no_connection_leads_out),
        cmocka_unit_test(no_process_outside_is_reached),
        cmocka_unit_test(nothing_but_the_cache_is_written),
        cmocka_unit_test(no_right_is_won_back),
        cmocka_unit_test(forks_end_with_the_child),
        cmocka_unit_test(an_abort_is_told_as_one),
        cmocka_unit_test(what_a_cage_lacks_is_said),
        cmocka_unit_test(what_is_shown_is_seen_however_long_the_list),
    };

    return cmocka_run_group_tests(tests, prepare, clean);
}

/* With the namespaces that there are, and with none, as where they are forbidden. */
static int attack_both_ways(void)
{
    int failed;

    cage_plan(&cage, "");
    print_message("user %d, namespaces %x\n", (int)geteuid(), (unsigned)cage.spaces);
    failed = attack_all();
    if (syscall(444, NULL, 0, 1) < 1) {
        print_message("skipped without namespaces: this kernel has no Landlock\n");
        return failed;
    }
    if (cage.spaces & CLONE_NEWUSER || cage.spaces == 0)
        cage.uid = 0;
    cage.spaces = 0;
    return failed + attack_all();
}

/* An ordinary user may not go to where this program lies. */
static int attack_as_user(void)
{
    char folder[PATH_MAX - 32], copy[PATH_MAX];
    const char *argv[] = {copy, "--as-user", NULL};
    struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = 1, .err_fd = 2, .pass_fd = -1};
    struct why why = {""};
    struct buf bytes;
    pid_t pid = 0;
    int status = -1;

    buf_init(&bytes, (size_t)1 << 30);
    if (dir_temporary("test-cage-user", folder, sizeof folder, &why) || chmod(folder, 0755))
        return 1;
    snprintf(copy, sizeof copy, "%s/test", folder);
    if (file_read("/proc/self/exe", &bytes, &why) == ERR_OK &&
        file_append(copy, bytes.data, bytes.len, false, &why) == ERR_OK && chmod(copy, 0755) == 0 &&
        proc_start(&o, &pid, &why) == ERR_OK)
        proc_wait(pid, -1, &status);
    if (why.text[0])
        print_message("%s\n", why.text);
    buf_fini(&bytes);
    dir_remove(folder);
    return status;
}

static int as_user(void)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
        return 1;
    prctl(PR_SET_DUMPABLE, 1); /* as of a program that it had started itself */
    return attack_both_ways();
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "--child") == 0)
        return child(argv);
    if (argc > 1 && strcmp(argv[1], "--as-user") == 0)
        return as_user();
    return (geteuid() == 0 ? attack_as_user() : 0) + attack_both_ways() == 0 ? 0 : 1;
}
