/* SPDX-License-Identifier: MIT */
/* A child that attacks from within its cage, as root and as an ordinary user, with namespaces and without: this program
 * is the agent and its child (--child). What this system's cage cannot stop is skipped, in words; `forbid` makes
 * systems that lack parts of it.
 */
#include "agent/cage.h"
#include "agent/sandbox.h"
#include "attacks.h"
#include "both_users.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define NOBODY 65534

/* ---- the child: tells 0, or the errno that the attack met ---- */

static int child(char **argv)
{
    struct cage_report report;
    struct frame_reader r;
    cJSON *request = NULL;
    struct why why = {""};

    attack_cache = argv[5];
    (void)cage_enter(argv[6], argv[4], argv[5], argv[3], &report, &why);
    frame_reader_init(&r, SANDBOX_DEVICE_FD);
    while (frame_read(&r, -1, &request, NULL) == ERR_OK) {
        const char *op = "", *argument = "";
        cJSON *reply = cJSON_CreateObject();
        const struct attack *a;

        json_get_text(request, "op", &op, NULL);
        json_get_text(request, "argument", &argument, NULL);
        a = attack_find(op);
        cJSON_AddNumberToObject(reply, "errno", a ? a->run(argument) : -1);
        cJSON_AddStringToObject(reply, "lacks", report.lacks);
        frame_send(SANDBOX_DEVICE_FD, reply);
        cJSON_Delete(request);
    }
    return 0;
}

/* ---- the agent ---- */

static char tmp[512], dir[600], cache[700], key[600];
static struct cage cage;
static bool wants_spaces; /* of `cage`, where there are any */
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

/* ---- what this system has, found out in other ways than the agent's ---- */

static bool works_in_child(bool (*try)(void))
{
    int status = 1;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(!try());
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Of a child: the rights that it has are lost. */
static void drop_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};

    syscall(SYS_capset, &head, none);
}

static bool try_user(void)
{
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static bool try_landlock(void)
{
    const uint64_t reads = 4;
    const int rules = (int)syscall(444, &reads, sizeof reads, 0);

    if (cage.spaces & CLONE_NEWUSER)
        (void)!unshare(CLONE_NEWUSER); /* there it may, without the promise too */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return rules >= 0 && syscall(446, rules, 0) == 0;
}

/* As one who has no rights. */
static bool try_filter(void)
{
    struct sock_filter all = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const struct sock_fprog program = {1, &all};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    drop_rights();
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

/* By a process in them: who has threads, as a sanitizer has, may not leave its own user's. */
static bool try_spaces(void)
{
    const long flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    const pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0L, 0L, 0L, 0L);
    int status = 1;

    if (pid == 0)
        _exit(0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool try_no_privileges(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool is_forbidden(const char *part)
{
    const char *list = getenv("TUNE_FORBIDDEN");

    return list && strstr(list, part);
}

/* ---- attacks ---- */

static unsigned layers; /* of `cage` on this system */

static void find_layers(void)
{
    const long version = syscall(444, NULL, 0, 1);
    char lacks[CAGE_WORDS_BYTES];

    start();
    ask("descriptor", "", lacks);
    sandbox_end_child(&s);
    layers = BY_ALWAYS | (geteuid() == 0 ? 0 : BY_NOT_ROOT);
    if (cage.spaces)
        layers |= BY_SPACES | (cage.spaces & CLONE_NEWNET ? BY_NETWORK : 0) |
                  (cage.spaces & CLONE_NEWUSER ? BY_USER_SPACE : 0) | (strstr(lacks, "root of its own") ? 0 : BY_ROOT);
    if (works_in_child(try_landlock))
        layers |= BY_LANDLOCK | (version >= 4 ? BY_TCP : 0) | (version >= 6 ? BY_SCOPES : 0);
    if (works_in_child(try_filter))
        layers |= BY_FILTER;
    if (geteuid() == 0 && works_in_child(try_user))
        layers |= BY_USER;
    print_message("without: %s\n", lacks[0] ? lacks : "nothing");
}

static bool is_stopped(unsigned by, const char *op, const char *argument)
{
    if (layers & by)
        return true;
    print_message("skipped: %s %s: nothing that this system's cage has would stop it\n", op, argument);
    return false;
}

static int run_free(const char *op, const char *argument)
{
    const struct cage wanted = cage;
    int e;

    cage = (struct cage){.on = false};
    start();
    e = ask(op, argument, NULL);
    sandbox_end_child(&s);
    cage = wanted;
    return e;
}

/* The attack fails from within the cage, and succeeds without one: it is one. */
static void expect_refused(const char *op, const char *argument, unsigned by, bool free_succeeds)
{
    int e;

    if (!is_stopped(by, op, argument))
        return;
    start();
    e = ask(op, argument, NULL);
    sandbox_end_child(&s);
    if (e <= 0) /* -1: there is no such attack */
        fail_msg("%s %s succeeded in the cage, or is not known", op, argument);
    if (!free_succeeds)
        return;
    e = run_free(op, argument);
    if (e)
        fail_msg("%s %s failed without a cage, too: %s", op, argument, strerror(e));
}

static pid_t victim(void)
{
    static const char *const argv[] = {"/bin/sleep", "60", NULL};
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = -1, .pass_fd = -1};
    pid_t pid = 0;

    assert_int_equal(proc_start(&o, &pid, NULL), ERR_OK);
    return pid;
}

static bool is_ended(pid_t pid, int within_ms)
{
    for (int i = 0; i < within_ms; i += 5, clock_sleep_ms(5))
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
    return false;
}

static void end_victim(pid_t pid)
{
    proc_kill(pid, SIGKILL, false);
    waitpid(pid, NULL, 0);
}

/* By the victim's life: caged it goes on, else it ends. */
static void expect_alive(const char *op, unsigned by)
{
    pid_t pid = victim();
    char text[16];

    snprintf(text, sizeof text, "%d", (int)pid);
    if (is_stopped(by, op, text)) {
        start();
        ask(op, text, NULL);
        sandbox_end_child(&s);
        if (is_ended(pid, 100))
            fail_msg("%s ended another's process", op);
    }
    end_victim(pid);
    pid = victim();
    snprintf(text, sizeof text, "%d", (int)pid);
    (void)run_free(op, text);
    if (!is_ended(pid, 10000)) /* on a machine that others keep busy */
        fail_msg("%s ends nobody without a cage, too", op);
}

static void expect_said(const char *lacks, const char *part, bool is_there)
{
    if ((strstr(lacks, part) == NULL) != is_there)
        fail_msg("%s: %s here, and said is: '%s'", part, is_there ? "is" : "is not", lacks);
}

#define BY_FILES (BY_ROOT | BY_LANDLOCK | BY_USER)

static void files_of_others_cannot_be_read(void **state)
{
    (void)state;
    expect_refused("read", key, BY_FILES, true);
    expect_refused("program", key, BY_FILES, true);
    expect_refused("read", "/etc/shadow", BY_FILES | BY_NOT_ROOT, geteuid() == 0);
    expect_refused("read", "/etc/passwd", BY_ROOT | BY_LANDLOCK, true);
    expect_refused("read", "/proc/1/root/etc/passwd", BY_FILES | BY_NOT_ROOT, false);
}

static void what_the_agent_has_open_stays_its_own(void **state)
{
    const int fd = open(key, O_RDONLY); /* to be inherited */

    (void)state;
    assert_true(fd >= 0);
    expect_refused("descriptor", "", BY_ALWAYS, false);
    close(fd);
}

/* What drivers are told by stays. */
static void secrets_of_its_environment_are_not_handed_on(void **state)
{
    static const char *const names[] = {"AWS_SECRET_ACCESS_KEY", "TUNE_HUB_PASSWORD", "TUNE_KEY_FILE", "TEST_TOKEN"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(setenv(names[i], "hush", 1), 0);
        expect_refused("variable", names[i], BY_ALWAYS, true);
        unsetenv(names[i]);
    }
    assert_int_equal(setenv("CUDA_TEST_VARIABLE", "1", 1), 0);
    start();
    assert_int_equal(ask("variable", "CUDA_TEST_VARIABLE", NULL), 0);
    sandbox_end_child(&s);
    unsetenv("CUDA_TEST_VARIABLE");
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
    expect_refused("connect", port, BY_NETWORK | BY_TCP | BY_FILTER, true);
    expect_refused("ring", "", BY_FILTER, false);
    close(fd);
}

/* A listener by path and one by an abstract name, '@'. */
static void no_datagram_leads_out(void **state)
{
    char names[2][100];

    (void)state;
    snprintf(names[0], sizeof names[0], "%.80s/socket", tmp);
    snprintf(names[1], sizeof names[1], "@tune-test-cage-%d", (int)getpid());
    for (int i = 0; i < 2; i++) {
        const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un a = {.sun_family = AF_UNIX};

        memcpy(a.sun_path, names[i], strlen(names[i]));
        if (i)
            a.sun_path[0] = '\0';
        assert_int_equal(bind(fd, (struct sockaddr *)&a,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(names[i]) + (i == 0))),
                         0);
        assert_true(i || chmod(names[i], 0777) == 0);
        expect_refused("datagram", names[i], BY_FILTER | (i ? BY_NETWORK | BY_SCOPES : BY_ROOT), true);
        close(fd);
    }
}

#ifdef __SANITIZE_ADDRESS__ /* looks for leaks through ptrace, which the filter leaves it */
#define TRACING_FILTER 0
#else
#define TRACING_FILTER BY_FILTER
#endif

static void no_process_outside_is_reached(void **state)
{
    const pid_t pid = victim();
    char text[16], own[16];

    (void)state;
    snprintf(text, sizeof text, "%d", (int)pid);
    snprintf(own, sizeof own, "%d", (int)getpid());
    expect_refused("ptrace", own, BY_SPACES | TRACING_FILTER | BY_LANDLOCK | BY_USER, false);
    expect_refused("ptrace", text, BY_SPACES | TRACING_FILTER | BY_LANDLOCK | BY_USER, false);
    expect_refused("environ", own, BY_FILES | BY_USER_SPACE, true);
    expect_refused("memory", own, BY_FILES | BY_USER_SPACE, false);
    expect_refused("mark", text, BY_FILES, true);
    expect_refused("slow", text, BY_SPACES | BY_FILTER | BY_USER, true);
    expect_refused("kill", own, BY_SPACES | BY_FILTER | BY_SCOPES | BY_USER, false);
    expect_refused("sibling", "", BY_SPACES | BY_FILTER, true);
    end_victim(pid);
    expect_alive("kill", BY_SPACES | BY_FILTER | BY_SCOPES | BY_USER);
    expect_alive("owner", BY_SPACES | BY_FILTER | BY_SCOPES | BY_USER);
}

static void memory_that_others_share_is_not_attached(void **state)
{
    const int id = shmget(IPC_PRIVATE, 4096, 0666);
    char text[16];

    (void)state;
    assert_true(id >= 0);
    snprintf(text, sizeof text, "%d", id);
    expect_refused("attach", text, BY_SPACES | BY_FILTER, true);
    shmctl(id, IPC_RMID, NULL);
}

static void nothing_but_the_cache_is_written(void **state)
{
    char path[800];

    (void)state;
    snprintf(path, sizeof path, "%s/blobs/x", dir);
    expect_refused("write", path, BY_FILES, true);
    snprintf(path, sizeof path, "%s/outside", tmp); /* it may have a /tmp of its own */
    if (is_stopped(BY_FILES, "write", path)) {
        start();
        ask("write", path, NULL);
        sandbox_end_child(&s);
        assert_int_equal(access(path, F_OK), -1);
    }
    expect_refused("link", key, BY_LANDLOCK, true);
    expect_refused("files", "/tmp", BY_ROOT | BY_LANDLOCK, false);
    expect_refused("fill", "/dev/shm", BY_ROOT | BY_LANDLOCK, false);
    snprintf(path, sizeof path, "%s/binary", cache);
    start();
    assert_int_equal(ask("write", path, NULL), 0);
    assert_int_equal(ask("name", "worker", NULL), 0);
    sandbox_end_child(&s);
}

/* perf_event_open, userfaultfd, bpf, add_key, keyctl, process_vm_readv, pidfd_open, pidfd_getfd, open_by_handle_at,
 * mknod. */
static void no_right_is_won_back(void **state)
{
    static const int calls[] = {SYS_perf_event_open,
                                SYS_userfaultfd,
                                SYS_bpf,
                                SYS_add_key,
                                SYS_keyctl,
                                SYS_process_vm_readv,
                                434,
                                438,
                                SYS_open_by_handle_at,
                                SYS_mknodat,
#ifdef SYS_mknod
                                SYS_mknod
#endif
    };

    (void)state;
    expect_refused("mount", cache, BY_ALWAYS, false);
    expect_refused("unshare", "", BY_FILTER, false);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char number[16];

        snprintf(number, sizeof number, "%d", calls[i]);
        expect_refused("call", number, BY_FILTER, false);
    }
    expect_refused("type", "5412", BY_FILTER, false);
    expect_refused("type", "541c", BY_FILTER, false);
}

/* A TMPDIR of the agent's own: a root of its own shows what lies in it, else its user stays the agent's, and is said.
 */
static void a_private_folder_is_worked_in_by_its_user(void **state)
{
    char path[800], lacks[CAGE_WORDS_BYTES];

    (void)state;
    snprintf(path, sizeof path, "%s/private", cache);
    assert_int_equal(chmod(tmp, 0700), 0);
    start();
    assert_int_equal(ask("write", path, lacks), 0);
    sandbox_end_child(&s);
    assert_int_equal(chmod(tmp, 0755), 0);
    if (layers & BY_USER)
        expect_said(lacks, "user of its own", (layers & BY_ROOT) != 0);
    if ((layers & BY_USER) && !(layers & BY_ROOT))
        expect_said(lacks, "limit of processes", false);
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
    expect_refused("setsid", "", BY_FILTER, true);
    if (!is_stopped(BY_SPACES | BY_FILTER, "fork", path))
        return;
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

/* Each part by another way than the agent's: what is there must be there, what is not is said. */
static void what_a_cage_lacks_is_said(void **state)
{
    const bool is_root = geteuid() == 0;
    const struct cage wanted = cage;
    char lacks[CAGE_WORDS_BYTES];

    (void)state;
    start();
    ask("read", key, lacks);
    sandbox_end_child(&s);
    expect_said(lacks, "namespaces", wants_spaces && works_in_child(try_spaces));
    expect_said(lacks, "Landlock", works_in_child(try_landlock));
    expect_said(lacks, "filter of system calls", works_in_child(try_filter));
    expect_said(lacks, "no new privileges", works_in_child(try_no_privileges));
    expect_said(lacks, "user of its own", !is_root || !cage.uid || works_in_child(try_user));
    if (is_forbidden("mounts"))
        expect_said(lacks, "root of its own", cage.spaces == 0);
    cage = (struct cage){.on = false};
    start();
    ask("read", key, lacks);
    sandbox_end_child(&s);
    assert_string_equal(lacks, "all: the cage is off");
    cage = wanted;
}

/* A child that lacks something refuses its work where it must not. */
static void what_must_be_whole_is_not_begun_without(void **state)
{
    const struct cage wanted = {.on = true, .must = true, .uid = cage.uid, .sees = ""};
    struct cage_report report;
    struct why why = {""};
    struct buf text;
    int status = 0;
    pid_t pid;

    (void)state;
    buf_init(&text, CAGE_SEES_BYTES);
    assert_int_equal(cage_to_text(&wanted, &text), ERR_OK);
    pid = fork();
    if (pid == 0)
        _exit(cage_enter(buf_text(&text), dir, cache, "none", &report, &why) == ERR_UNSUPPORTED &&
                      strstr(why.text, "lacks namespaces") != NULL
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    buf_fini(&text);
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
    expect_refused("read", path, BY_ROOT | BY_LANDLOCK, true);
    buf_init(&list, CAGE_SEES_BYTES);
    while (list.len < 20000)
        buf_puts(&list, "/usr/share:");
    buf_puts(&list, folder);
    assert_int_equal(cage_check_sees(buf_text(&list), &why), ERR_OK);
    cage.sees = buf_text(&list);
    start();
    assert_int_equal(ask("read", path, NULL), 0);
    if (is_stopped(BY_FILES, "read", key))
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
    if (mkdir(dir, 0700) || mkdir(path, 0700) || mkdir(cache, 0700) || file_append(key, "secret", 6, false, &why) ||
        chmod(key, 0600))
        return -1;
    find_layers();
    return 0;
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
        cmocka_unit_test(what_the_agent_has_open_stays_its_own),
        cmocka_unit_test(secrets_of_its_environment_are_not_handed_on),
        cmocka_unit_test(no_connection_leads_out),
        cmocka_unit_test(no_datagram_leads_out),
        cmocka_unit_test(no_process_outside_is_reached),
        cmocka_unit_test(memory_that_others_share_is_not_attached),
        cmocka_unit_test(nothing_but_the_cache_is_written),
        cmocka_unit_test(a_private_folder_is_worked_in_by_its_user),
        cmocka_unit_test(no_right_is_won_back),
        cmocka_unit_test(forks_end_with_the_child),
        cmocka_unit_test(an_abort_is_told_as_one),
        cmocka_unit_test(what_a_cage_lacks_is_said),
        cmocka_unit_test(what_must_be_whole_is_not_begun_without),
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
    wants_spaces = true;
    failed = attack_all();
    if (cage.spaces == 0)
        return failed;
    print_message("user %d, without namespaces\n", (int)geteuid());
    wants_spaces = false;
    cage.spaces = 0;
    return failed + attack_all();
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "--child") == 0)
        return child(argv);
    return as_both_users(argc, argv, attack_both_ways);
}
