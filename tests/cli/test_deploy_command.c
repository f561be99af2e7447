/* SPDX-License-Identifier: MIT */
/* `tune deploy` as people type it: which records of a log it takes, what it says, its exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/libtune/sample_layer.h"
#include "tests/cli/shell.h"

static char dir[256];
static struct buf said;

#define SMALL "dense f32 m=8 n=32 k=16"
#define OTHER "dense f32 m=4 n=33 k=64"

/* Appends a record of a layer: 1 microsecond on the device of `key`; `fingerprint` NULL = the sample's. */
static void put_record(struct buf *out, const char *workload, const char *key, const char *fingerprint,
                       enum record_status status)
{
    struct record r;

    assert_true(sample_record(workload, "dense/naive", &r));
    snprintf(r.id, sizeof r.id, "t%zu", out->len);
    snprintf(r.key, sizeof r.key, "%s", key);
    snprintf(r.protocol, sizeof r.protocol, "rounds-1");
    if (fingerprint)
        memcpy(r.fingerprint.hex, fingerprint, strlen(fingerprint));
    r.time_ns = status == STATUS_OK ? 1000 : 0;
    r.status = status;
    assert_int_equal(record_print(&r, out), ERR_OK);
    record_fini(&r);
}

static const char *write_log(const char *name, const struct buf *text)
{
    const char *path = tune_at(dir, name);

    assert_int_equal(file_replace(path, buf_text(text), text->len, 0600, NULL), ERR_OK);
    return path;
}

/* Two layers of one device. */
static const char *plain_log(const char *name, const char *behind)
{
    const char *path;
    struct buf text;

    buf_init(&text, 1 << 20);
    put_record(&text, SMALL, "pc", NULL, STATUS_OK);
    put_record(&text, OTHER, "pc", NULL, STATUS_OK);
    buf_puts(&text, behind);
    path = write_log(name, &text);
    buf_fini(&text);
    return path;
}

static void expect(int code, const char *const *args)
{
    const int got = tune_run(dir, args, &said);

    if (got != code)
        fail_msg("exit %d, expected %d; said: %s", got, code, buf_text(&said));
}

#define DEPLOY(code, ...) expect(code, (const char *const[]){"deploy", __VA_ARGS__, NULL})

static void says(const char *words)
{
    if (!strstr(buf_text(&said), words))
        fail_msg("expected '%s' in: %s", words, buf_text(&said));
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* 2 x 8 x 32 x 16 operations in a microsecond are 8.2 GFLOPS. */
static void a_log_becomes_a_bundle_and_is_told(void **state)
{
    const char *log = plain_log("a.jsonl", ""), *out = tune_at(dir, "bundle");
    char words[600];

    (void)state;
    DEPLOY(0, log, "-o", out);
    says("tune_bundle_dense_f32_m8_n32_k16 ");
    says("     8.2 GFLOPS\n");
    snprintf(words, sizeof words, "%s: 2 layers, ", out);
    says(words);
    says(" kernels in 1 texts\n");
    assert_true(is_there(tune_at(dir, "bundle/tune_bundle.h")));
    DEPLOY(0, "--check", out);
    says("bundle: a whole bundle, ");
    DEPLOY(0, "--check", out, "-q");
    assert_string_equal(buf_text(&said), "");
    DEPLOY(1, "--check", out, log);
    assert_int_equal(unlink(tune_at(dir, "bundle/plan.json")), 0);
    DEPLOY(1, "--check", out);
    says("plan.json is missing");
    DEPLOY(0, log, "-o", out, "-q", "--name", "other");
    assert_string_equal(buf_text(&said), "");
    assert_true(is_there(tune_at(dir, "bundle/other.h")) && !is_there(tune_at(dir, "bundle/tune_bundle.h")));
}

/* The bundle is named after the file, its functions after the graph's layers. */
static void a_network_of_a_file_is_deployed(void **state)
{
    static const char graph[] = "x = input c=16 h=1 w=1\nfc = dense x n=32 relu6\n";
    const char *log = plain_log("a.jsonl", ""), *out = tune_at(dir, "own"), *path = tune_at(dir, "my-net.graph");

    (void)state;
    assert_int_equal(file_replace(path, graph, sizeof graph - 1, 0600, NULL), ERR_OK);
    DEPLOY(0, log, "-o", out, "--network", path, "--whole", "--allow-nearest");
    says("my_net_fc ");
    says("dense f32 m=1 n=32 k=16 epilogue=bias_relu6");
    says("whole network: 1 steps");
    assert_true(is_there(tune_at(dir, "own/my_net.h")));
    DEPLOY(1, log, "-o", out, "--network", tune_at(dir, "none.graph"), "--whole");
    says("none.graph");
}

static void options_that_do_not_go_together_are_refused(void **state)
{
    const char *log = plain_log("a.jsonl", ""), *out = tune_at(dir, "never"), *list = tune_at(dir, "list");

    (void)state;
    assert_int_equal(file_replace(list, SMALL "\n", sizeof SMALL, 0600, NULL), ERR_OK);
    DEPLOY(1, "-o", out);
    says("expected one log");
    DEPLOY(1, log, log, "-o", out);
    says("expected one log");
    DEPLOY(1, log);
    says("expected -o DIR");
    DEPLOY(1, log, "-o", out, "--network", "resnet-18", "--workloads", list);
    says("--network or --workloads, not both");
    DEPLOY(1, log, "-o", out, "--dtype", "f16");
    says("are for the layers of a --network");
    DEPLOY(1, log, "-o", out, "--layout", "nchw16c");
    says("are for the layers of a --network");
    DEPLOY(1, log, "-o", out, "--whole");
    says("--whole is for a --network");
    DEPLOY(1, log, "-o", out, "--network", "resnet-18", "--whole", "--dtype", "i32");
    says("expected one of f32, f16, i8, u8");
    DEPLOY(1, log, "-o", out, "--name", "math");
    says("cannot be a bundle's name");
    DEPLOY(1, log, "-o", out, "--binaries", "sm_75");
    says("the records are of OpenCL, expected device");
    assert_false(is_there(out));
}

static void wanted_layers_are_named_and_missing_ones_told(void **state)
{
    static const char wanted[] = "one | " SMALL "\ntwo | dense f32 m=16 n=32 k=16\n";
    const char *log = plain_log("a.jsonl", ""), *out = tune_at(dir, "wanted"), *list = tune_at(dir, "list");

    (void)state;
    assert_int_equal(file_replace(list, wanted, sizeof wanted - 1, 0600, NULL), ERR_OK);
    DEPLOY(1, log, "-o", out, "--workloads", list);
    says("1 of 2 workloads have no record");
    assert_false(is_there(out));
    DEPLOY(0, log, "-o", out, "--workloads", list, "--allow-nearest");
    says("tune_bundle_one ");
    says("tune_bundle_two ");
    says("not measured  (the template's default)"); /* no config is taken of a naive kernel */
    says("\nnever measured: two; `tune run` measures them\n");
    says("2 layers, ");
    DEPLOY(0, log, "-o", out);
    assert_null(strstr(buf_text(&said), "never measured"));
}

/* A log of two devices, and one where nothing was measured well. */
static const char *mixed_log(void)
{
    const char *path;
    struct buf text;

    buf_init(&text, 1 << 20);
    put_record(&text, SMALL, "pc", "abcd1111", STATUS_OK);
    put_record(&text, OTHER, "board", "abcd2222", STATUS_OK);
    put_record(&text, OTHER, "broken", "abcd3333", STATUS_WRONG);
    path = write_log("mixed.jsonl", &text);
    buf_fini(&text);
    return path;
}

static void one_device_of_a_log_is_chosen(void **state)
{
    const char *log = mixed_log(), *out = tune_at(dir, "chosen");

    (void)state;
    DEPLOY(1, log, "-o", out);
    says("records of two devices");
    DEPLOY(0, log, "-o", out, "--key", "board");
    says("dense_f32_m4_n33_k64");
    assert_null(strstr(buf_text(&said), "dense_f32_m8_n32_k16"));
    DEPLOY(0, log, "-o", out, "--fingerprint", "abcd1");
    says("dense_f32_m8_n32_k16");
    DEPLOY(1, log, "-o", out, "--fingerprint", "abcd4");
    says("for this device (--fingerprint abcd4); keys it has: pc, board\n");
    DEPLOY(1, log, "-o", out, "--key", "broken");
    says("for this device (--key broken); keys it has: pc, board\n");
    DEPLOY(1, log, "-o", out, "--key", "pc", "--fingerprint", "abcd2");
    says("(--key pc --fingerprint abcd2)");
}

static void a_cut_log_is_refused(void **state)
{
    const char *out = tune_at(dir, "cut"), *log = plain_log("cut.jsonl", "{\"schema\":1,\"torn");

    (void)state;
    DEPLOY(1, log, "-o", out);
    says("1 line cannot be read, layers may be missing");
    assert_false(is_there(out));
    log = plain_log("cut.jsonl", "{\"schema\":1,\"torn\n{\n");
    DEPLOY(1, log, "-o", out);
    says("2 lines cannot be read");
    DEPLOY(1, "/dev/null", "-o", out);
    says("has no record with status ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_becomes_a_bundle_and_is_told),
        cmocka_unit_test(a_network_of_a_file_is_deployed),
        cmocka_unit_test(options_that_do_not_go_together_are_refused),
        cmocka_unit_test(wanted_layers_are_named_and_missing_ones_told),
        cmocka_unit_test(one_device_of_a_log_is_chosen),
        cmocka_unit_test(a_cut_log_is_refused),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    buf_init(&said, 1 << 20);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&said);
    dir_remove(dir);
    return failed;
}
