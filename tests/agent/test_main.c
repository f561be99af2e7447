/* SPDX-License-Identifier: MIT */
/* The program tune-agent, as far as it goes without a tracker: what it refuses, what it says of a device, how it ends.
 */
#include "core/file.h"
#include "core/json.h"
#include "core/proc.h"
#include "tests/cli/shell.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <cmocka.h>

static char dir[PATH_MAX - 600], own[PATH_MAX - 64], program[PATH_MAX];
static char said[1 << 16];

/* Starts it with the arguments (NULL-ended). */
static pid_t start(const char *const *args)
{
    const char *argv[16] = {program};
    char out[PATH_MAX];

    for (int i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    snprintf(out, sizeof out, "%s/said", dir);
    return tool_start(out, argv);
}

static void read_said(void)
{
    char path[PATH_MAX];
    struct buf b;

    snprintf(path, sizeof path, "%s/said", dir);
    buf_init(&b, sizeof said - 1);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    snprintf(said, sizeof said, "%s", buf_text(&b));
    buf_fini(&b);
}

static int run(const char *const *args)
{
    const int code = tune_end(start(args), 20000);

    read_said();
    return code;
}

static void expect(int code, const char *words, const char *const *args)
{
    const int got = run(args);

    if (got != code || !strstr(said, words))
        fail_msg("%s %s: exit code %d, expected %d with '%s': %s", args[0], args[1] ? args[1] : "", got, code, words,
                 said);
}

#define EXPECT(code, words, ...) expect(code, words, (const char *const[]){__VA_ARGS__, NULL})

static int n_left_behind(void)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += strncmp(e->d_name, "tune-agent.", 11) == 0;
    if (d)
        closedir(d);
    return n;
}

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}

static const char *recorded(void)
{
    static char device[PATH_MAX + 32];

    put("toy.csv", "bx,status,time_ms\n1,ok,2.5\n");
    put("toy.json", "{\"space\":\"toy-card\",\"device\":\"card\",\"params\":[{\"name\":\"bx\"}]}");
    snprintf(device, sizeof device, "replay:%s/toy.json", dir);
    return device;
}

static void it_says_what_it_is(void **state)
{
    (void)state;
    EXPECT(0, "tune-agent " TUNE_VERSION " (wire 1, record 1, timing rounds-1)", "--version");
    EXPECT(0, "build, check and time kernels on one device of this machine", "--help");
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(said, i ? "--build-for" : "--max-temperature"));
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    EXPECT(1, "unexpected argument 'rubbish'", "rubbish");
    EXPECT(1, "threads", "--threads", "many");
    EXPECT(1, "batch", "--batch", "0");
    EXPECT(1, "batch", "--batch", "17");
    EXPECT(1, "builders", "--builders", "33");
    EXPECT(1, "--no-device leaves nothing to do", "--no-device");
    EXPECT(1, "--build-for goes with --no-device", "--build-for", "sm_61");
    EXPECT(1, "--device means nothing with --build-for", "--build-for", "sm_61", "--no-device", "--device", "cuda");
    EXPECT(1, "--cooldown means nothing with --build-for", "--build-for", "sm_61", "--no-device", "--cooldown", "3");
    EXPECT(1, "'sm_x' is no architecture", "--build-for", "sm_x", "--no-device");
    EXPECT(1, "--cooldown 'long': expected seconds up to 300, or auto", "--cooldown", "long");
    EXPECT(1, "--cooldown '301'", "--cooldown", "301");
    EXPECT(1, "--cooldown '-1'", "--cooldown", "-1");
    EXPECT(1, "--cooldown '3x'", "--cooldown", "3x");
    EXPECT(1, "--key", "--key", "two words");
    EXPECT(1, "--name", "--name", "a/b");
    EXPECT(1, "--cage-sees 'lib': expected a path from / on of a file that is there", "--cage-sees", "/usr:lib");
    EXPECT(1, "--cage-sees '/no/such'", "--cage-sees", "/no/such");
    EXPECT(1, "--cage-sees '/usr/..' shows all that a cage hides", "--cage-sees", "/usr:/usr/..");
    EXPECT(1, "--cage-sees '/proc/self' shows all that a cage hides", "--cage-sees", "/proc/self");
    EXPECT(1, "--cage-sees means nothing with --cage off", "--cage", "off", "--cage-sees", "/usr");
    EXPECT(1, "--cage maybe: expected one of try, must, off", "--cage", "maybe");
    setenv("TUNE_CAGE", "perhaps", 1);
    EXPECT(1, "variable TUNE_CAGE: --cage perhaps: expected one of try, must, off", "--quiet");
    unsetenv("TUNE_CAGE");
    EXPECT(1, "toaster", "--device", "toaster");
    EXPECT(1, "/dev/null/none.json: Not a directory", "--device", "replay:/dev/null/none.json");
    EXPECT(1, "tcp://farm:99999 is no address of a tracker", "--device", recorded(), "--tracker", "tcp://farm:99999");
    EXPECT(1, "tcp://farm:0 is no address of a tracker", "--device", recorded(), "--tracker", "farm:0");
    EXPECT(1, "there is no program 'no-such-emulator'", "--device", recorded(), "--child-wrapper", "no-such-emulator");
    assert_int_equal(n_left_behind(), 0);
}

static void a_self_test_describes_a_device_in_a_line(void **state)
{
    (void)state;
    EXPECT(0, "no canary: there is no canary for replay devices", "--self-test", "--device", recorded());
    assert_non_null(strstr(said, "card"));
    assert_non_null(strstr(said, "fingerprint "));
    assert_int_equal(n_left_behind(), 0);
}

/* A recording is a file that people give each other. */
static void a_device_s_name_moves_no_cursor(void **state)
{
    char device[PATH_MAX + 32];

    (void)state;
    recorded();
    put("toy.json", "{\"space\":\"toy-card\",\"device\":\"ca\\u001b[2Jrd\",\"params\":[{\"name\":\"bx\"}]}");
    snprintf(device, sizeof device, "replay:%s/toy.json", dir);
    EXPECT(0, "ca [2Jrd", "--self-test", "--device", device);
    assert_null(strchr(said, '\033'));
}

static const char *member_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsString(item) ? item->valuestring : "";
}

/* What tune doctor reads: an object a line, nothing beside. */
static void findings_come_as_json(void **state)
{
    cJSON *o;

    (void)state;
    assert_int_equal(run((const char *const[]){"--self-test", "--json", "--device", recorded(), NULL}), 0);
    o = cJSON_Parse(said);
    assert_string_equal(member_of(o, "finding"), "ok");
    assert_string_equal(member_of(o, "what"), recorded());
    assert_int_equal(strlen(member_of(o, "fingerprint")), 64);
    assert_non_null(strstr(member_of(o, "words"), "card; "));
    cJSON_Delete(o);
    assert_int_equal(run((const char *const[]){"--self-test", "--json", "--device", "replay:/nowhere.json", NULL}), 1);
    o = cJSON_Parse(said);
    assert_string_equal(member_of(o, "finding"), "FAILED");
    assert_string_equal(member_of(o, "what"), "replay:/nowhere.json");
    assert_non_null(strstr(member_of(o, "words"), "nowhere"));
    cJSON_Delete(o);
    assert_int_equal(run((const char *const[]){"--look", "--json", "--device", "toaster", NULL}), 1);
    o = cJSON_Parse(said);
    assert_string_equal(member_of(o, "finding"), "FAILED");
    assert_string_equal(member_of(o, "what"), "device");
    cJSON_Delete(o);
}

/* Nothing of this machine is wrong for a recorded device; of one of no kind the backends are named. */
static void it_looks_round(void **state)
{
    (void)state;
    assert_int_equal(run((const char *const[]){"--look", "--device", recorded(), NULL}), 0);
    assert_null(strstr(said, "FAILED"));
    EXPECT(1, "FAILED\tdevice\t", "--look", "--device", "toaster");
}

static void drivers_are_looked_for_where_the_loader_does(void **state)
{
    char vendors[PATH_MAX];

    (void)state;
    snprintf(vendors, sizeof vendors, "%s/vendors", dir);
    assert_int_equal(dir_make(vendors, 0700, NULL), ERR_OK);
    setenv("OCL_ICD_VENDORS", vendors, 1);
    run((const char *const[]){"--look", "--device", "opencl", NULL});
    assert_non_null(strstr(said, "note\tOpenCL drivers (ICD)\tnone in "));
    assert_non_null(strstr(said, "opencl devices\t"));
    put("vendors/one.icd", "libone.so\n");
    put("vendors/two.icd", "libtwo.so\n");
    put("vendors/readme", "no driver\n");
    run((const char *const[]){"--look", "--device", "opencl", NULL});
    assert_non_null(strstr(said, "ok\tOpenCL drivers (ICD)\t"));
    assert_true(strstr(said, "one.icd") && strstr(said, "two.icd") && !strstr(said, "readme"));
    unsetenv("OCL_ICD_VENDORS");
}

/* Nor does PoCL's cache, which without a home is /tmp/pocl: another user's, it may be. */
static void who_looks_round_leaves_nothing_behind(void **state)
{
    char cache[PATH_MAX], pocl[PATH_MAX + 8];

    (void)state;
    snprintf(cache, sizeof cache, "%s/cache", dir);
    snprintf(pocl, sizeof pocl, "%s/pocl", cache);
    assert_int_equal(dir_make(cache, 0700, NULL), ERR_OK);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("TMPDIR", cache, 1);
    run((const char *const[]){"--look", "--device", "opencl", NULL});
    assert_int_not_equal(access(pocl, F_OK), 0);
    assert_int_equal(rmdir(cache), 0);
    unsetenv("XDG_CACHE_HOME");
    setenv("TMPDIR", dir, 1);
}

static void compilers_are_looked_for(void **state)
{
    (void)state;
    setenv("TUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
    run((const char *const[]){"--look", "--device", "cuda", NULL});
    assert_non_null(strstr(said, "note\tNVRTC\t"));
    assert_non_null(strstr(said, "builders may compile instead"));
    assert_non_null(strstr(said, "NVML\t"));
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    run((const char *const[]){"--look", "--device", "cuda", NULL});
    assert_non_null(strstr(said, "ok\tNVRTC\t"));
    assert_non_null(strstr(said, "sm_75"));
    unsetenv("TUNE_NVRTC");
}

/* A tracker that takes a connection and never answers; its address. */
static int listen_in_vain(char *url, size_t n_url)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    snprintf(url, n_url, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

/* While it waits for its tracker. */
static void expect_polite_end(const char *const *args, int signal, int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    const pid_t pid = start(args);
    int fd;

    assert_true(pid > 0 && poll(&p, 1, 20000) == 1);
    fd = accept(listener, NULL, NULL);
    assert_int_equal(n_left_behind(), 1);
    kill(pid, signal);
    assert_int_equal(tune_end(pid, 10000), 0);
    assert_int_equal(n_left_behind(), 0);
    close(fd);
}

static void a_signal_ends_it_and_leaves_nothing(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    char url[64];
    const int listener = listen_in_vain(url, sizeof url);

    (void)state;
    for (int i = 0; i < 3; i++)
        expect_polite_end((const char *const[]){"--device", recorded(), "--tracker", url, "-v", NULL}, signals[i],
                          listener);
    close(listener);
}

/* A tracker of its own on a free port; its address. */
static pid_t start_tracker(char *url, size_t n_url)
{
    char exe[PATH_MAX], out[PATH_MAX], store[PATH_MAX], line[256] = "";
    const char *const argv[] = {exe, "--listen", "tcp://127.0.0.1:0", "--store", store, "--workers", "0", NULL};
    pid_t pid;

    snprintf(exe, sizeof exe, "%s/../bin/tune-tracker", own);
    snprintf(out, sizeof out, "%s/tracker", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    pid = tool_start(out, argv);
    for (int i = 0; i < 1000 && !line[0]; i++) {
        FILE *f = fopen(out, "re");

        if (f && fgets(line, sizeof line, f) && !strchr(line, '\n'))
            line[0] = '\0';
        if (f)
            fclose(f);
        usleep(10000);
    }
    assert_true(n_url >= 128 && sscanf(line, "listening on %127s", url) == 1);
    return pid;
}

static void wait_for_words(const char *words)
{
    for (int i = 0; i < 1000; i++) {
        read_said();
        if (strstr(said, words))
            return;
        usleep(10000);
    }
    fail_msg("it does not say '%s': %s", words, said);
}

/* Host, key and the first number that no other agent of this machine has; the key is the device's name. */
static void an_agent_names_itself(void **state)
{
    char url[128], host[64] = "";
    const pid_t tracker = start_tracker(url, sizeof url);
    const char *const args[] = {"--device", recorded(), "--tracker", url, NULL};
    pid_t first, second;

    (void)state;
    first = start(args);
    wait_for_words(" serves key replay-card with card (");
    assert_non_null(strstr(said, "-replay-card-0 serves"));
    gethostname(host, sizeof host - 1);
    host[3] = '\0';
    assert_non_null(strcasestr(said, host));
    second = start(args);
    wait_for_words("-replay-card-1 serves");
    kill(second, SIGTERM);
    assert_int_equal(tune_end(second, 10000), 0);
    read_said();
    assert_non_null(strstr(said, "ended; 0 records sent, 0 of them failures"));
    kill(first, SIGTERM);
    assert_int_equal(tune_end(first, 10000), 0);
    kill(tracker, SIGTERM);
    tune_end(tracker, 10000);
}

static void one_that_must_build_leaves_where_nothing_can_be_written(void **state)
{
    const struct rlimit small = {512 * 1024, RLIM_INFINITY};
    struct rlimit was;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT(1, "0.5 MiB at most (ulimit -f)", "--must-build", "--device", "opencl");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
}

/* The emulated device of tests/cuda and its compiler. */
static void a_cuda_device_is_tested_with_its_compiler(void **state)
{
    char folder[PATH_MAX];

    (void)state;
    snprintf(folder, sizeof folder, "%s", EMULATED_NVRTC_PATH);
    *strrchr(folder, '/') = '\0';
    setenv("LD_LIBRARY_PATH", folder, 1);
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    setenv("TUNE_CUDA_SM", "75", 1);
    EXPECT(0, " GFLOPS", "--self-test", "--device", "cuda");
    assert_non_null(strstr(said, "NVRTC 13.0"));
    EXPECT(0, "ok\tcuda devices\t", "--look", "--device", "cuda");
    assert_non_null(strstr(said, "ok\tCUDA driver\tCUDA "));
    assert_null(strstr(said, "NVRTC and driver"));
    setenv("TUNE_NVRTC_VERSION", "14.0", 1);
    EXPECT(0, "note\tNVRTC and driver\tNVRTC 14.0 is newer than the driver", "--look", "--device", "cuda");
    unsetenv("TUNE_NVRTC_VERSION");
    setenv("TUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
    EXPECT(1, "cannot compile for this device: ", "--self-test", "--device", "cuda");
    EXPECT(0, "no canary: ", "--self-test", "--device", "cuda", "--no-build");
    EXPECT(1, "/nowhere/libnvrtc.so", "--must-build", "--device", "cuda");
    unsetenv("TUNE_NVRTC");
    unsetenv("TUNE_CUDA_SM");
    unsetenv("LD_LIBRARY_PATH");
}

static void a_builder_is_a_program_of_its_own(void **state)
{
    char url[64];
    const int listener = listen_in_vain(url, sizeof url);

    (void)state;
    setenv("TUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
    EXPECT(1, "--build-for: ", "--build-for", "sm_75", "--no-device");
    assert_non_null(strstr(said, "/nowhere/libnvrtc.so"));
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    expect_polite_end(
        (const char *const[]){"--build-for", "sm_75", "--no-device", "--builders", "1", "--tracker", url, NULL},
        SIGTERM, listener);
    close(listener);
    unsetenv("TUNE_NVRTC");
}

static int set_up(void **state)
{
    (void)state;
    if (proc_own_dir(own, sizeof own) || dir_temporary("test-agent", dir, sizeof dir, NULL))
        return -1;
    snprintf(program, sizeof program, "%s/../bin/tune-agent", own);
    setenv("TMPDIR", dir, 1);
    setenv("TUNE_LOCK_DIR", dir, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_it_is),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_self_test_describes_a_device_in_a_line),
        cmocka_unit_test(a_device_s_name_moves_no_cursor),
        cmocka_unit_test(findings_come_as_json),
        cmocka_unit_test(it_looks_round),
        cmocka_unit_test(drivers_are_looked_for_where_the_loader_does),
        cmocka_unit_test(who_looks_round_leaves_nothing_behind),
        cmocka_unit_test(compilers_are_looked_for),
        cmocka_unit_test(a_signal_ends_it_and_leaves_nothing),
        cmocka_unit_test(an_agent_names_itself),
        cmocka_unit_test(one_that_must_build_leaves_where_nothing_can_be_written),
        cmocka_unit_test(a_cuda_device_is_tested_with_its_compiler),
        cmocka_unit_test(a_builder_is_a_program_of_its_own),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
