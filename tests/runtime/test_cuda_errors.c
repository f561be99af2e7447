/* SPDX-License-Identifier: MIT */
/* Each way in which a driver, a device or a kernel can fail: what the CUDA backend makes of it. Every case is a process
 * of its own (this program with --case), since a process loads a driver once; the emulated driver fails as asked. */
#include "core/file.h"
#include "tests/runtime/samples.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char self[PATH_MAX], cache[PATH_MAX];

/* ---- inside a case ---- */

static const char wild_text[] = "extern \"C\" __global__ void add(const float *a, const float *b, float *y, int n)\n"
                                "{ y[-((long long)n << 30)] = a[0]; }\n";

/* Runs the program twice: the error, and whether the process is told to be of no more use. */
static enum err load_and_run(const struct device_ops *ops, struct device *d, struct sample *s, struct why *why)
{
    struct loaded *l = NULL;
    enum err e = ops->load(d, &s->program, &s->blobs, cache, &l, NULL, why);

    for (int i = 0; !e && i < 2; i++)
        e = ops->run(l, PHASE_RUN, NULL, NULL, why);
    if (l && ops->lost_by(d) == l)
        printf("lost ");
    if (l)
        ops->unload(l);
    return e;
}

/* A run of which nobody asks the time, one that is timed, and one of another program: the clocks behind each. */
static enum err run_timed(const struct device_ops *ops, struct device *d, struct sample *s, struct why *why)
{
    struct loaded *l = NULL, *plain = NULL;
    struct sense sense[3] = {{0}};
    struct sample other;
    int64_t ns;
    enum err e = ops->load(d, &s->program, &s->blobs, cache, &l, NULL, why);

    sample_add(&other, sample_add_text);
    if (!e)
        e = ops->load(d, &other.program, &other.blobs, cache, &plain, NULL, why);
    if (!e)
        e = ops->run(l, PHASE_RUN, NULL, NULL, why);
    if (!e)
        e = ops->sense(d, &sense[0]);
    if (!e)
        e = ops->run(l, PHASE_RUN, &ns, NULL, why);
    if (!e)
        e = ops->sense(d, &sense[1]);
    if (!e)
        e = ops->run(plain, PHASE_RUN, &ns, NULL, why);
    if (!e)
        e = ops->sense(d, &sense[2]);
    if (!e)
        why_set(why, ERR_OK, "%g %g %g MHz", sense[0].core_mhz, sense[1].core_mhz, sense[2].core_mhz);
    if (l)
        ops->unload(l);
    if (plain)
        ops->unload(plain);
    sample_fini(&other);
    return e;
}

static enum err run_case(const char *name, struct why *why)
{
    const struct device_ops *ops = device_find("cuda");
    struct device *d = NULL;
    struct sample s;
    enum err e = ops->open(getenv("SELECTOR") ? getenv("SELECTOR") : "", &d, why);

    if (e)
        return e;
    if (strcmp(name, "driver") == 0) {
        why_set(why, ERR_OK, "driver '%s'", ops->describe(d)->driver);
        ops->close(d);
        return ERR_OK;
    }
    sample_add(&s, strcmp(name, "wild") == 0 ? wild_text : sample_add_text);
    if (strncmp(name, "clock=", 6) == 0) {
        assert_int_equal(program_define_text(&s.program.modules[0], "nvml_gr_clock", name + 6), ERR_OK);
        e = run_timed(ops, d, &s, why);
        sample_fini(&s);
        ops->close(d);
        return e;
    }
    if (strcmp(name, "cubin") == 0 || strcmp(name, "ptx") == 0)
        s.program.modules[0].lang = strcmp(name, "ptx") ? LANG_CUBIN : LANG_PTX;
    if (strcmp(name, "shared") == 0)
        s.program.launches[0].dyn_local = 65536;
    e = load_and_run(ops, d, &s, why);
    if (e == ERR_DEVICE && ops->lost_by(d)) { /* what comes after the broken one is refused in words */
        struct why later = {""};

        if (load_and_run(ops, d, &s, &later) == ERR_DEVICE && strstr(later.text, "an earlier kernel has broken"))
            printf("refused ");
    }
    sample_fini(&s);
    ops->close(d);
    return e;
}

static int case_main(const char *name)
{
    struct why why = {""};
    const enum err e = run_case(name, &why);

    printf("%s: %s\n", err_name(e), why.text);
    return 0;
}

/* ---- outside ---- */

/* The case's words go through a file. */
static void expect(const char *environment, const char *name, const char *wanted, const char *words)
{
    char command[4 * PATH_MAX], answer[PATH_MAX + 8];
    struct buf line;

    snprintf(answer, sizeof answer, "%s/answer", cache);
    snprintf(command, sizeof command, "CACHE='%s' %s '%s' --case %s >'%s' 2>&1", cache, environment, self, name,
             answer);
    assert_int_equal(system(command), 0);
    buf_init(&line, 1 << 16);
    assert_int_equal(file_read(answer, &line, NULL), ERR_OK);
    if (strncmp(buf_text(&line), wanted, strlen(wanted)) != 0 || !strstr(buf_text(&line), words))
        fail_msg("%s: got '%s', expected '%s' with '%s'", environment, buf_text(&line), wanted, words);
    buf_fini(&line);
}

static void nothing_fails_when_nothing_is_asked_to(void **state)
{
    (void)state;
    expect("", "add", "ok: ", "");
}

static void machine_without_a_driver_is_told_in_a_line(void **state)
{
    (void)state;
    expect("TUNE_CUDA_LIBRARY=/nowhere/libcuda.so.1", "add", "not_found: TUNE_CUDA_LIBRARY: /nowhere/libcuda.so.1", "");
    expect("TUNE_CUDA_LIBRARY=libm.so.6", "add", "not_found: libm.so.6 has no cuInit", "driver is too old");
    expect("TUNE_CUDA_SM=", "add", "not_found: cuInit: CUDA_ERROR_NO_DEVICE", "sees no device");
    expect("TUNE_CUDA_FAIL=cuInit=34", "add", "not_found: ", "stub");
    expect("TUNE_CUDA_FAIL=cuInit=803", "add", "device: ", "reboot");
    expect("TUNE_CUDA_FAIL=cuInit=35", "add", "device: ", "too old");
    expect("SELECTOR=3", "add", "not_found: no CUDA device 3", "there is 1");
    expect("TUNE_CUDA_FAIL=cuDevicePrimaryCtxRetain=46", "add", "device: a context on", "compute mode exclusive");
}

static void driver_is_never_without_a_name(void **state)
{
    (void)state;
    if (access("/sys/module/nvidia/version", R_OK) == 0)
        skip(); /* there it has one */
    expect("TUNE_NVML_LIBRARY=/nowhere/libnvidia-ml.so", "driver", "ok: driver 'CUDA 13.0'", "");
    expect("TUNE_NVML_LIBRARY=/nowhere/libnvidia-ml.so TUNE_CUDA_DRIVER=12040", "driver", "ok: driver 'CUDA 12.4'", "");
}

static void clocks_are_knobs_where_the_device_was_opened_for_it(void **state)
{
    (void)state;
#define NVML "TUNE_NVML_LIBRARY=" STUB_NVML
    expect(NVML " SELECTOR=0,clocks", "clock=1200", "ok: 1500 1200 1500 MHz", "");
    expect(NVML " SELECTOR=0", "clock=1200", "limits: nvml_gr_clock and nvml_pwr_limit", "--device cuda,clocks");
    expect(NVML " SELECTOR=0,clocks", "clock=9999", "limits: a clock of 9999 MHz", "");
    expect(NVML " SELECTOR=0,clocks", "clock=fast", "limits: nvml_gr_clock=fast: expected a whole number", "");
    expect(NVML " SELECTOR=0,clocks TUNE_NVML_ROOT=0", "add", "unsupported: a clock cannot be set", "wants root");
    expect("TUNE_NVML_LIBRARY=/nowhere/libnvidia-ml.so SELECTOR=0,clocks", "add", "unsupported: clocks and power", "");
#undef NVML
}

static void failures_asked_for_in_nonsense_are_told(void **state)
{
    (void)state;
    expect("TUNE_CUDA_FAIL=nonsense", "add", "TUNE_CUDA_FAIL: 'nonsense'; expected ",
           "cuInit: CUDA_ERROR_INVALID_VALUE");
    expect("TUNE_CUDA_FAIL=cuMemAlloc=2@2,=3", "add", "TUNE_CUDA_FAIL: '=3'; expected ", "cuInit: ");
}

static void lack_of_memory_is_a_limit(void **state)
{
    (void)state;
    expect("TUNE_CUDA_FAIL=cuMemAlloc=2@2", "add", "limits: buffer 'b' of 266144 bytes: CUDA_ERROR_OUT_OF_MEMORY", "");
    expect("TUNE_CUDA_MEMORY=500000", "add", "limits: buffers of ", "the device has 500000");
    expect("TUNE_CUDA_FAIL=cuLaunchKernel=701@1", "add", "limits: launch 'l0': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "");
}

static void kernels_that_fail_break_the_process_and_are_named(void **state)
{
    (void)state;
    expect("", "wild", "lost refused device: running: CUDA_ERROR_ILLEGAL_ADDRESS", "nothing more works");
    expect("TUNE_CUDA_FAIL=cuLaunchKernel=700@1", "add", "lost refused device: running: ", "not its own");
    expect("TUNE_CUDA_FAIL=cuLaunchKernel=702@1", "add", "lost timeout: running: ", "run time limit");
    expect("TUNE_CUDA_FAIL=cuLaunchKernel=719@1", "add", "lost refused device: running: ", "LAUNCH_FAILED");
    expect("TUNE_CUDA_FAIL=cuLaunchKernel=1@1", "add", "device: launch 'l0': CUDA_ERROR_INVALID_VALUE", "");
}

static void code_that_the_driver_refuses_is_explained(void **state)
{
    (void)state;
    expect("TUNE_CUDA_FAIL=cuModuleLoadDataEx=222", "add", "compile: module 'main': ", "no newer than the driver");
    expect("TUNE_CUDA_FAIL=cuModuleLoadDataEx=209", "add", "compile: module 'main': ", "another architecture");
    expect("TUNE_CUDA_FAIL=cuModuleLoadDataEx=200", "add", "compile: module 'main': ", "newer NVRTC");
    expect("TUNE_CUDA_FAIL=cuModuleLoadDataEx=200", "add", "compile: module 'main': ", "or damaged?");
    expect("TUNE_CUDA_FAIL=cuModuleLoadDataEx=218", "add", "compile: module 'main': ", "or damaged?");
    expect("TUNE_CUDA_FAIL=cuModuleLoadDataEx=300", "add", "compile: module 'main': ", "damaged?");
    expect("", "ptx", "compile: module 'main': CUDA_ERROR_", "");
    expect("", "cubin", "compile: module 'main' is no cubin", "");
}

static void shared_memory_that_is_refused_is_a_limit(void **state)
{
    (void)state;
    expect("TUNE_CUDA_SM=61", "shared", "limits: launch 'l0': 65536 bytes of shared memory, the device has 49152", "");
    expect("TUNE_CUDA_FAIL=cuFuncSetAttribute=1", "shared", "limits: launch 'l0': ", "65536 bytes of dynamic");
}

static void missing_or_unfit_nvrtc_is_told(void **state)
{
    (void)state;
    expect("", "add", "ok: ", "");
    expect("TUNE_NVRTC=/nowhere/libnvrtc.so", "add", "ok: ", ""); /* what is kept needs none */
    expect("TUNE_NVRTC=/nowhere/libnvrtc.so CACHE=", "add", "not_found: no NVRTC at '/nowhere/libnvrtc.so'", "");
}

static void architecture_newer_or_older_than_the_compiler(void **state)
{
    (void)state;
    expect("TUNE_CUDA_SM=61 CACHE=", "add", "unsupported: NVRTC 13.0 (", "makes no code for sm_61");
    expect("TUNE_CUDA_SM=61 TUNE_NVRTC_VERSION=12.8 CACHE=", "add", "ok: ", "");
    expect("TUNE_CUDA_SM=120 TUNE_NVRTC_VERSION=12.4 CACHE=", "add", "ok: ", ""); /* by PTX of sm_90 */
    expect("TUNE_CUDA_SM=120 TUNE_NVRTC_VERSION=12.4 TUNE_CUDA_DRIVER=12020 CACHE=", "add",
           "compile: module 'main': CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "no newer than the driver");
}

static int start(void **state)
{
    (void)state;
    return dir_temporary("tune-test-cuda", cache, sizeof cache, NULL) != ERR_OK;
}

static int end(void **state)
{
    (void)state;
    dir_remove(cache);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_fails_when_nothing_is_asked_to),
        cmocka_unit_test(machine_without_a_driver_is_told_in_a_line),
        cmocka_unit_test(driver_is_never_without_a_name),
        cmocka_unit_test(clocks_are_knobs_where_the_device_was_opened_for_it),
        cmocka_unit_test(failures_asked_for_in_nonsense_are_told),
        cmocka_unit_test(lack_of_memory_is_a_limit),
        cmocka_unit_test(kernels_that_fail_break_the_process_and_are_named),
        cmocka_unit_test(code_that_the_driver_refuses_is_explained),
        cmocka_unit_test(shared_memory_that_is_refused_is_a_limit),
        cmocka_unit_test(missing_or_unfit_nvrtc_is_told),
        cmocka_unit_test(architecture_newer_or_older_than_the_compiler),
    };
    int missing;

    if (argc == 3 && strcmp(argv[1], "--case") == 0) {
        snprintf(cache, sizeof cache, "%s", getenv("CACHE") ? getenv("CACHE") : "");
        return case_main(argv[2]);
    }
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 1)
        return 1;
    missing = sample_use_emulated();
    return missing ? missing : cmocka_run_group_tests(tests, start, end);
}
