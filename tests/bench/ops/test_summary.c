/* SPDX-License-Identifier: MIT */
/* Lines of measurements become rows and means; workload texts change one key. */
#include "tests/bench/ops/summary.h"
#include "tests/bench/ops/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CONV "conv2d f32 n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1"

static char path[] = "/tmp/bench_ops_XXXXXX";

static void line(FILE *f, const char *contender, const char *layouts, const char *template, const char *how,
                 const char *numerics, bool right, double ms)
{
    fprintf(f,
            "{\"workload\":\"" CONV "\",\"threads\":1,\"contender\":\"%s\",\"layouts\":\"%s\",\"ours\":%s,\"right\":%s,"
            "\"template\":\"%s\",\"layout\":\"\",\"how\":\"%s\",\"numerics\":\"%s\",\"note\":\"\",\"ms\":%.3f,"
            "\"gflops\":50,"
            "\"of_peak\":0.5}\n",
            contender, layouts, template[0] ? "true" : "false", right ? "true" : "false", template, how, numerics, ms);
}

/* The table of what `write` puts into a file, or the words of the failure; free() it. */
static char *table(void (*write_lines)(FILE *f))
{
    const int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w"), *to;
    const char *const files[] = {path};
    char *text = NULL;
    size_t n = 0;
    struct why why = {""};
    enum err e;

    assert_non_null(f);
    write_lines(f);
    fclose(f);
    to = open_memstream(&text, &n);
    assert_non_null(to);
    e = summary_print(files, 1, to, &why);
    if (e)
        fprintf(to, "failed: %s", why.text);
    fclose(to);
    unlink(path);
    strcpy(path + strlen(path) - 6, "XXXXXX");
    return text;
}

static void expect(void (*write_lines)(FILE *f), const char *words)
{
    char *text = table(write_lines);

    if (!strstr(text, words))
        fail_msg("no \"%s\" in:\n%s", words, text);
    free(text);
}

static void all(FILE *f)
{
    line(f, "oneDNN plain", "plain", "", "", "", true, 9);
    line(f, "oneDNN plain", "plain", "", "", "", true, 2); /* measured again */
    line(f, "onnxruntime", "plain", "", "", "", true, 3);
    line(f, "oneDNN blocked", "blocked", "", "", "", true, 1);
    line(f, "CLBlast Sconvgemm", "baseline", "", "", "", true, 50);
    line(f, "a", "plain", "conv2d/direct_tile", "tuned", "f32", true, 4);
    line(f, "b", "plain", "conv2d/spatial_pack", "default", "f32", true, 3);
    line(f, "c", "blocked", "conv2d/winograd_tile", "tuned", "f32-winograd4", true, 0.5);
    line(f, "d", "blocked", "conv2d/direct_tile", "tuned", "f32", false, 0.1);
    line(f, "e", "plain", "conv2d/naive", "default", "f32", true, 300);
}

static void gpu_line(FILE *f, const char *contender, const char *layouts, const char *template, bool ours, double ms)
{
    fprintf(f,
            "{\"workload\":\"sparse_conv2d f32 n=1\",\"contender\":\"%s\",\"layouts\":\"%s\",\"template\":\"%s\","
            "\"how\":\"tuned\",\"numerics\":\"\",\"ours\":%s,\"right\":true,\"gpu\":true,\"threads\":1,\"ms\":%g,"
            "\"gflops\":3000}\n",
            contender, layouts, template, ours ? "true" : "false", ms);
}

static void on_a_gpu(FILE *f)
{
    gpu_line(f, "cuDNN", "plain", "", false, 3);
    gpu_line(f, "cuDNN nchw4c", "blocked", "", false, 1);
    gpu_line(f, "cuSPARSE SpMM", "plain", "", false, 8);
    gpu_line(f, "a", "plain", "sparse_conv2d/generated", true, 2);
    gpu_line(f, "b", "plain", "conv2d/direct", true, 5);
}

static void broken(FILE *f)
{
    fputs("{\"workload\":3}\n", f);
}

static void table_takes_the_tuned_right_and_last_figures(void **state)
{
    (void)state;
    expect(all, "geomean: packed 2.00 plain 0.50\n");
    expect(all, "Winograd 2.00 (1 rows, least 2.00)");
    expect(all, "default / naive 100.00");
    expect(all, "best / CLBlast 100.00");
    expect(
        all,
        "| winograd_tile **f32-winograd4** | 0.500 | 50 % | 2.00 | direct_tile | 4.000 | 50 % | oneDNN plain | 0.50 |");
}

static void gpus_are_held_against_the_fastest_in_any_layout(void **state)
{
    (void)state;
    expect(on_a_gpu, "| sparse_conv2d/generated | 2.0000 | 3.0 | cuDNN nchw4c | 0.50 | 4.00 | 2.50 | - |\n");
    expect(on_a_gpu, "geomean 0.50 (1 rows, least 0.50)\n");
}

static void table_names_a_line_it_does_not_understand(void **state)
{
    (void)state;
    expect(broken, "failed: /tmp/bench_ops_");
    expect(broken, "workload");
}

static void texts_change_one_key(void **state)
{
    char out[WORKLOAD_MAX_TEXT];
    struct why why = {""};

    (void)state;
    assert_int_equal(text_with("conv2d f32 n=1 layout=nchw4c k=2", "layout", "nchw16c", out, sizeof out), ERR_OK);
    assert_string_equal(out, "conv2d f32 n=1 k=2 layout=nchw16c");
    assert_int_equal(text_with("conv2d f32 n=1 layout=nchw4c", "layout", "", out, sizeof out), ERR_OK);
    assert_string_equal(out, "conv2d f32 n=1");
    assert_int_equal(text_with("conv2d f32 n=1", "layout", "nchw16c", out, 20), ERR_LIMIT);
    assert_int_equal(text_canonical("dense  f32 k=8 n=4 m=2", out, &why), ERR_OK);
    assert_string_equal(out, "dense f32 m=2 n=4 k=8");
    assert_int_equal(text_canonical("dense f32 k=8", out, &why), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_takes_the_tuned_right_and_last_figures),
        cmocka_unit_test(gpus_are_held_against_the_fastest_in_any_layout),
        cmocka_unit_test(table_names_a_line_it_does_not_understand),
        cmocka_unit_test(texts_change_one_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
