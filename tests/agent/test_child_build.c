/* SPDX-License-Identifier: MIT */
/* A child that compiles for NVIDIA devices, with the compiler of the emulator (tests/cuda). With an
 * argument "--child" this program is one. */
#include "agent/child.h"
#include "agent/child_ops.h"
#include "agent/sandbox.h"
#include "agent/workdir.h"
#include "fake_device.h"
#include "runtime/nvrtc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static const char good[] = "extern \"C\" __global__ void f(float *y) { y[threadIdx.x] = 1.0f; }\n";
static const char bad[] = "extern \"C\" __global__ void f(float *y) { y[0] = no_such_name; }\n";

static struct child child;
static struct workdir dir;
static int fds[2];

static int set_up(void **state)
{
    (void)state;
    fake_reset();
    if (workdir_open(&dir, NULL) || socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        return -1;
    setenv("TUNE_NVRTC", EMULATED_NVRTC_PATH, 1);
    child =
        (struct child){.fd = fds[1], .ops = &fake_ops, .dir = dir.temp.path, .cache_dir = dir.temp.path, .lock_fd = -1};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    child_close_compiler(&child);
    close(fds[0]);
    close(fds[1]);
    workdir_close(&dir);
    return 0;
}

/* A program of these modules; its name, and that of the first one's code for sm_75. `without`: the sources stay out. */
static struct sha256 store(const char *const *sources, enum program_lang lang, bool without,
                           char name[NVRTC_NAME_BYTES])
{
    static const int64_t one[3] = {1, 1, 1};
    struct sha256 hex;
    struct program p;
    struct blobs set;
    struct buf text;

    program_init(&p);
    blobs_init(&set, 1 << 20);
    buf_init(&text, PROGRAM_MAX_BYTES);
    p.workload = strdup("w");
    p.template_id = strdup("");
    p.flops = 1;
    strcpy(p.api, lang == LANG_CUDA_C ? "cuda" : "opencl");
    for (int i = 0; sources[i]; i++) {
        char id[16];
        struct program_module *m;

        snprintf(id, sizeof id, "m%d", i);
        m = program_add_module(&p, id, lang, "");
        assert_int_equal(blobs_put(&set, sources[i], strlen(sources[i]), &m->source), ERR_OK);
    }
    nvrtc_cache_name(&p.modules[0], 75, name);
    program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 16);
    program_arg_buffer(program_add_kernel(&p, PHASE_RUN, 0, "f", one, one), 0);
    if (without)
        blobs_fini(&set);
    assert_int_equal(program_to_json(&p, &text), ERR_OK);
    assert_int_equal(blobs_put(&set, text.data, text.len, &hex), ERR_OK);
    for (size_t i = 0; i < set.n; i++)
        assert_int_equal(workdir_put(&dir, &set, set.items[i].name.hex, NULL), ERR_OK);
    program_fini(&p);
    blobs_fini(&set);
    buf_fini(&text);
    return hex;
}

static cJSON *compile(const char *hex, int sm)
{
    cJSON *ask = cJSON_CreateObject(), *reply;
    bool ok = true;

    json_add_text(ask, "program", hex, &ok);
    json_add_i64(ask, "sm", sm, &ok);
    reply = child_compile(&child, ask);
    cJSON_Delete(ask);
    assert_non_null(reply);
    return reply;
}

static const char *text_of(const cJSON *o, const char *name)
{
    const char *text = "(nothing)";

    json_get_text(o, name, &text, NULL);
    return text;
}

static void its_compiler_is_named_once(void **state)
{
    cJSON *ask = cJSON_Parse("{\"sms\":[75,80,90]}"), *reply = child_compiler(&child, ask);

    (void)state;
    assert_int_equal(strncmp(text_of(reply, "compiler"), "NVRTC ", 6), 0);
    assert_null(strchr(text_of(reply, "compiler"), ','));
    assert_string_equal(text_of(reply, "path"), EMULATED_NVRTC_PATH);
    cJSON_Delete(reply);
    cJSON_Delete(ask);
}

static void without_a_compiler_it_refuses_in_words(void **state)
{
    cJSON *ask = cJSON_Parse("{\"sms\":[61]}"), *reply;
    const char *const sources[] = {good, NULL};
    char name[NVRTC_NAME_BYTES];

    (void)state;
    setenv("TUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
    reply = child_compiler(&child, ask);
    assert_non_null(strstr(text_of(reply, "refused"), "/nowhere/libnvrtc.so"));
    cJSON_Delete(reply);
    cJSON_Delete(ask);
    reply = compile(store(sources, LANG_CUDA_C, false, name).hex, 75);
    assert_string_equal(text_of(reply, "stage"), SANDBOX_START); /* which nothing of the program's is */
    assert_string_equal(text_of(reply, "status"), "runtime");
    cJSON_Delete(reply);
}

static void code_that_cannot_be_kept_fails_no_program(void **state)
{
    const char *const sources[] = {good, NULL};
    char name[NVRTC_NAME_BYTES];
    cJSON *reply;

    (void)state;
    child.cache_dir = "/nowhere";
    reply = compile(store(sources, LANG_CUDA_C, false, name).hex, 75);
    assert_string_equal(text_of(reply, "stage"), SANDBOX_START);
    assert_non_null(strstr(text_of(reply, "why"), "/nowhere"));
    cJSON_Delete(reply);
}

static void code_lies_in_the_cache_under_its_name(void **state)
{
    const char *const sources[] = {good, NULL};
    char name[NVRTC_NAME_BYTES], path[PATH_MAX + 100];
    cJSON *reply = compile(store(sources, LANG_CUDA_C, false, name).hex, 75);
    const cJSON *files = cJSON_GetObjectItem(reply, "files");
    double build_ms = 0;

    (void)state;
    assert_string_equal(text_of(reply, "status"), "ok");
    assert_string_equal(text_of(reply, "why"), "");
    assert_int_equal(strncmp(text_of(reply, "compiler"), "NVRTC ", 6), 0);
    assert_int_equal(cJSON_GetArraySize(files), 1);
    assert_string_equal(cJSON_GetArrayItem(files, 0)->valuestring, name);
    snprintf(path, sizeof path, "%s/%s", dir.temp.path, name);
    assert_int_equal(access(path, R_OK), 0);
    json_get_real(reply, "build_ms", &build_ms, NULL);
    assert_true(build_ms > 0);
    cJSON_Delete(reply);
}

static void what_does_not_compile_is_said(void **state)
{
    const char *const sources[] = {good, bad, good, NULL};
    char name[NVRTC_NAME_BYTES];
    cJSON *reply = compile(store(sources, LANG_CUDA_C, false, name).hex, 75);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "compile");
    assert_string_equal(text_of(reply, "stage"), "build");
    assert_non_null(strstr(text_of(reply, "why"), "no_such_name"));
    assert_non_null(strstr(text_of(reply, "why"), "[m1]\n")); /* as a device's own compiling tells it */
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply, "files")), 1); /* and none behind it */
    cJSON_Delete(reply);
}

static void only_cuda_is_compiled(void **state)
{
    const char *const sources[] = {bad, NULL};
    char name[NVRTC_NAME_BYTES];
    cJSON *reply = compile(store(sources, LANG_OPENCL_C, false, name).hex, 75);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "ok");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply, "files")), 0);
    cJSON_Delete(reply);
}

static void what_cannot_be_read_fails_before_it_is_built(void **state)
{
    const char *const sources[] = {good, NULL};
    char name[NVRTC_NAME_BYTES];
    cJSON *reply = compile(store(sources, LANG_CUDA_C, true, name).hex, 75);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "runtime");
    assert_string_equal(text_of(reply, "stage"), SANDBOX_START);
    cJSON_Delete(reply);
    reply = compile(store(sources, LANG_CUDA_C, false, name).hex, 0);
    assert_string_equal(text_of(reply, "stage"), "prepare");
    cJSON_Delete(reply);
    reply = compile("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 75);
    assert_string_equal(text_of(reply, "stage"), SANDBOX_START);
    cJSON_Delete(reply);
}

static void a_device_is_described_with_what_compiles_for_it(void **state)
{
    cJSON *ask = cJSON_CreateObject(), *reply;

    (void)state;
    fake.desc.sm = 75;
    reply = child_describe(&child, ask);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "builds")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "compiles_apart")));
    assert_string_equal(text_of(reply, "builds_why"), "");
    assert_non_null(strstr(text_of(reply, "compiler"), EMULATED_NVRTC_PATH));
    cJSON_Delete(reply);
    child_close_compiler(&child);
    setenv("TUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
    reply = child_describe(&child, ask);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(reply, "builds")));
    assert_non_null(strstr(text_of(reply, "builds_why"), "/nowhere/libnvrtc.so"));
    assert_string_equal(text_of(reply, "compiler"), "(nothing)");
    cJSON_Delete(reply);
    cJSON_Delete(ask);
}

/* The driver makes code of PTX for it, when that is loaded. */
static void for_a_device_newer_than_the_compiler_nothing_is_compiled_apart(void **state)
{
    cJSON *ask = cJSON_CreateObject(), *reply;

    (void)state;
    fake.desc.sm = 990;
    reply = child_describe(&child, ask);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "builds")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(reply, "compiles_apart")));
    cJSON_Delete(reply);
    cJSON_Delete(ask);
}

static void a_process_without_a_device_compiles(void **state)
{
    const struct sandbox_options o = {
        .mode = "compile", .device = "none", .dir = dir.temp.path, .cache_dir = dir.temp.path};
    const struct sandbox_limits limits = {.start_s = 20, .build_s = 20, .run_s = 20};
    struct sandbox_end end;
    struct sandbox s;
    cJSON *reply = NULL;

    (void)state;
    sandbox_init(&s, NULL, NULL);
    assert_int_equal(sandbox_start(&s, &o, NULL), ERR_OK);
    sandbox_ask(&s, cJSON_Parse("{\"op\":\"compiler\",\"sms\":[75]}"), &limits, &reply, &end);
    assert_int_equal(end.fate, SANDBOX_REPLIED);
    assert_string_equal(text_of(reply, "path"), EMULATED_NVRTC_PATH);
    cJSON_Delete(reply);
    sandbox_end_child(&s);
}

#define IN_CHILD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_CHILD(its_compiler_is_named_once),
        IN_CHILD(without_a_compiler_it_refuses_in_words),
        IN_CHILD(code_that_cannot_be_kept_fails_no_program),
        IN_CHILD(code_lies_in_the_cache_under_its_name),
        IN_CHILD(what_does_not_compile_is_said),
        IN_CHILD(only_cuda_is_compiled),
        IN_CHILD(what_cannot_be_read_fails_before_it_is_built),
        IN_CHILD(a_device_is_described_with_what_compiles_for_it),
        IN_CHILD(for_a_device_newer_than_the_compiler_nothing_is_compiled_apart),
        IN_CHILD(a_process_without_a_device_compiles),
    };

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
