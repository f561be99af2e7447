/* SPDX-License-Identifier: MIT */
/* A real tracker and real builders: CUDA C goes in by lease, cubins, figures and failures come back by hash. The
 * compiler is the NVRTC that is found, else the emulated one. Devices are played by this test. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/proc.h"
#include "runtime/nvrtc.h"
#include "runtime/program.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char good[] =
    "extern \"C\" __global__ void k(float *y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 3; }\n";
static const char broken[] = "extern \"C\" __global__ void k(float *y) { y[0] = no_such_name; }\n";
/* Four million types keep a compiler busy for minutes. */
static const char slow[] =
    "template <int A, long B> struct t { static const long v = t<A - 1, 2 * B>::v + t<A - 1, 2 * B + 1>::v; };\n"
    "template <long B> struct t<0, B> { static const long v = B; };\n"
    "extern \"C\" __global__ void k(float *y) { y[0] = (float)t<22, 0>::v; }\n";

static struct farm farm;
static struct client *c;
static char job[24];
static int n_trials;
static pid_t builders[2];

static int start(void **state)
{
    cJSON *r;

    (void)state;
    farm.more[0] = "--lease";
    farm.more[1] = "2";
    farm_start(&farm);
    c = farm_client(&farm, "test");
    farm_do(c, "agent_register",
            "{'agent':'run','nonce':'n','key':'gpu','fingerprint':'%s','device':{},'arch':'sm_75','builds':false}",
            hash_of(-1));
    r = farm_must(c, "job_submit", "{'title':'t','user':'u','key':'gpu','body':'b','lease':true}");
    snprintf(job, sizeof job, "%s", text_in(r, "job"));
    cJSON_Delete(r);
    return 0;
}

static void end_builder(int i, int signal)
{
    int status;

    if (builders[i] <= 0)
        return;
    kill(builders[i], signal);
    if (proc_wait(builders[i], 5000, &status))
        fail_msg("builder %d is alive 5 s after signal %d", i, signal);
    builders[i] = 0;
}

static int stop(void **state)
{
    (void)state;
    end_builder(0, SIGTERM);
    end_builder(1, SIGTERM);
    client_close(c);
    farm_stop(&farm);
    return 0;
}

static void start_builder(int i)
{
    char own[PATH_MAX - 32], exe[PATH_MAX], name[16];
    const char *argv[] = {exe,      "--tracker", farm.url,     "--build-for", "sm_75", "--no-device",
                          "--name", name,        "--builders", "2",           "-v",    NULL};
    const struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = 2, .pass_fd = -1};
    struct why why = {""};

    assert_int_equal(proc_own_dir(own, sizeof own), ERR_OK);
    snprintf(exe, sizeof exe, "%s/../bin/tune-agent", own);
    snprintf(name, sizeof name, "b%d", i);
    if (proc_start(&o, &builders[i], &why))
        fail_msg("%s", why.text);
}

/* Adds a trial of a program with this one module. */
static void add(const char *source, double build_s)
{
    struct blobs set;
    struct program p;
    struct buf text;
    struct sha256 name;

    blobs_init(&set, 1 << 20);
    program_init(&p);
    buf_init(&text, 1 << 20);
    p.workload = strdup("test f32 n=64");
    strcpy(p.api, "cuda");
    assert_int_equal(blobs_put(&set, source, strlen(source), &program_add_module(&p, "m", LANG_CUDA_C, "")->source),
                     ERR_OK);
    program_define(&p.modules[0], "TRIAL", n_trials); /* each program is another */
    program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 64);
    program_arg_buffer(program_add_kernel(&p, PHASE_RUN, 0, "k", (int64_t[]){1, 1, 1}, (int64_t[]){64, 1, 1}), 0);
    assert_int_equal(program_to_json(&p, &text), ERR_OK);
    assert_int_equal(blobs_put(&set, text.data, text.len, &name), ERR_OK);
    assert_int_equal(client_put_blobs(c, &set, NULL), ERR_OK);
    farm_do(c, "trial_add",
            "{'job':'%s','token':1,'trials':[{'n':%d,'program':'%s','body':{'limits':{'build_s':%g}}}]}", job,
            n_trials++, name.hex, build_s);
    buf_fini(&text);
    program_fini(&p);
    blobs_fini(&set);
}

/* Waits until a trial may be run; gives its lease, and in `code` what was built. */
static cJSON *run_one(const cJSON **code)
{
    const int64_t until = clock_now_ns() + (int64_t)60 * 1000000000;

    while (clock_now_ns() < until) {
        enum err e;
        cJSON *r = farm_call(c, &e, 5000, "trial_lease", "{'agent':'run','max':1}");

        assert_int_equal(e, ERR_OK);
        if (count_in(r, "trials") == 1) {
            *code = cJSON_GetObjectItem(cJSON_GetObjectItem(item_in(r, "trials", 0), "built"), "program");
            assert_non_null(*code);
            return r;
        }
        cJSON_Delete(r);
    }
    fail_msg("no trial came within 60 s");
    return NULL;
}

static void answer(const cJSON *lease)
{
    const cJSON *t = item_in(lease, "trials", 0);

    farm_do(c, "trial_result", "{'trial':'%s','token':%d,'envelope':{'status':'runtime'},'record':'x'}",
            text_in(t, "trial"), (int)number_in(t, "token"));
}

/* ---- facts ---- */

static void code_comes_back_by_hash_with_its_figures(void **state)
{
    const cJSON *code;
    struct blobs set;
    cJSON *r;

    (void)state;
    start_builder(0);
    add(good, 30);
    r = run_one(&code);
    if (strcmp(text_in(code, "status"), "ok") != 0)
        fail_msg("%s", text_in(code, "why"));
    assert_string_equal(text_in(code, "by"), "b0");
    assert_int_equal(strncmp(text_in(code, "compiler"), "NVRTC ", 6), 0);
    assert_int_equal(count_in(code, "cubins"), 1);
    assert_int_equal(strncmp(text_in(item_in(code, "cubins", 0), "name"), "tune-", 5), 0);
    blobs_init(&set, 64 << 20);
    assert_int_equal(client_get_blob(c, text_in(item_in(code, "cubins", 0), "sha256"), &set, NULL), ERR_OK);
    assert_memory_equal(set.items[0].data,
                        "\x7f"
                        "ELF",
                        4);
    printf("%zu bytes; resources: %d kernels\n", set.items[0].n_bytes, count_in(code, "resources"));
    if (count_in(code, "resources") > 0) {
        assert_string_equal(text_in(item_in(code, "resources", 0), "kernel"), "k");
        assert_true(number_in(item_in(code, "resources", 0), "registers") > 0);
    }
    answer(r);
    blobs_fini(&set);
    cJSON_Delete(r);
}

static void what_does_not_compile_comes_back_with_the_compilers_words(void **state)
{
    const cJSON *code;
    cJSON *r;

    (void)state;
    add(broken, 30);
    r = run_one(&code);
    assert_string_equal(text_in(code, "status"), "compile");
    assert_non_null(strstr(text_in(code, "why"), "no_such_name"));
    assert_int_equal(count_in(code, "cubins"), 0);
    answer(r);
    cJSON_Delete(r);
}

static void a_compiler_that_takes_too_long_is_ended(void **state)
{
    const cJSON *code;
    cJSON *r;

    (void)state;
    add(slow, 1);
    r = run_one(&code);
    if (strcmp(text_in(code, "status"), "ok") == 0)
        fail_msg("it was built in %s ms", cJSON_Print(cJSON_GetObjectItem(code, "build_ms")));
    assert_string_equal(text_in(code, "status"), "timeout");
    answer(r);
    cJSON_Delete(r);
}

static void the_builds_of_a_killed_builder_go_to_another(void **state)
{
    const cJSON *code;
    cJSON *r;

    (void)state;
    add(slow, 2); /* b0 is at it when it is killed; at 4 s a quick machine would have taken all memory */
    clock_sleep_ms(1000);
    end_builder(0, SIGKILL);
    start_builder(1);
    for (int i = 0; i < 3; i++)
        add(good, 30);
    for (int i = 0; i < 3; i++) {
        r = run_one(&code);
        assert_string_equal(text_in(code, "status"), "ok");
        assert_string_equal(text_in(code, "by"), "b1");
        answer(r);
        cJSON_Delete(r);
    }
    r = run_one(&code); /* b1 took it up when the lease of b0 had run out */
    assert_string_equal(text_in(code, "status"), "timeout");
    assert_string_equal(text_in(code, "by"), "b1");
    answer(r);
    cJSON_Delete(r);
}

static void a_tracker_that_was_killed_has_its_builders_again(void **state)
{
    const cJSON *code;
    cJSON *r;

    (void)state;
    farm_crash(&farm);
    farm_restart(&farm);
    farm_do(c, "agent_register",
            "{'agent':'run','nonce':'n','key':'gpu','fingerprint':'%s','device':{},'arch':'sm_75','builds':false}",
            hash_of(-1));
    add(good, 30);
    r = run_one(&code);
    assert_string_equal(text_in(code, "status"), "ok");
    answer(r);
    cJSON_Delete(r);
}

/* In a process of its own: the library keeps memory for itself, which leak checkers would find here. */
static bool has_compiler(void)
{
    const pid_t pid = fork();
    struct nvrtc *n = NULL;
    int status = 1;

    if (pid == 0)
        _exit(nvrtc_open(NULL, &n, NULL) || nvrtc_supports(n, 75, NULL));
    return pid > 0 && proc_wait(pid, 30000, &status) == ERR_OK && status == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_comes_back_by_hash_with_its_figures),
        cmocka_unit_test(what_does_not_compile_comes_back_with_the_compilers_words),
        cmocka_unit_test(a_compiler_that_takes_too_long_is_ended),
        cmocka_unit_test(the_builds_of_a_killed_builder_go_to_another),
        cmocka_unit_test(a_tracker_that_was_killed_has_its_builders_again),
    };

    if (!has_compiler()) {
        printf("no NVRTC for sm_75 here: with the emulated one\n");
        setenv("TUNE_NVRTC", EMULATED_NVRTC, 1);
    }
    return cmocka_run_group_tests(tests, start, stop);
}
