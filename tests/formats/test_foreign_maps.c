/* SPDX-License-Identifier: MIT */
/* What single fields of other tuners' rows mean in a record, and of records in a row: rows are made here by hand, so no
 * file format stands between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/file.h"
#include "formats/knobs/tvm.h"
#include "runtime/device_desc.h"
#include "tests/formats/reading.h"
#include "tests/logs/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- kernels of others: Kernel Tuner, KTT, T4 ---- */

static struct foreign_row row_of(const char *args, const char *knobs, const char *extra)
{
    struct foreign_row row;

    foreign_row_init(&row);
    row.task = strdup("k");
    row.target = strdup("Some Device (TM) ");
    row.args = args ? cJSON_Parse(args) : NULL;
    row.knobs = cJSON_Parse(knobs);
    row.extra = extra ? cJSON_Parse(extra) : NULL;
    row.time_s = 0.002;
    row.build_s = 1.5;
    row.ts_ms = INT64_C(1700000000123);
    return row;
}

/* Reads one row by a map and ends it. */
static struct reading read_made(const char *format, struct foreign_row *row)
{
    struct reading r = {.map = map_of(format)};

    r.e = r.map->to_record(row, &r.record, &r.why);
    foreign_row_fini(row);
    return r;
}

static struct record must_read(const char *format, struct foreign_row row)
{
    const struct reading r = read_made(format, &row);

    if (r.e)
        fail_msg("%s: %s", format, r.why.text);
    return r.record;
}

static void energy_is_read_under_each_name(void **state)
{
    static const struct {
        const char *format, *extra;
        double energy_j;
    } cases[] = {
        {"kernel_tuner", "{\"nvml_energy\":2.5}", 2.5},
        {"kernel_tuner", "{\"ps_energy\":1.25}", 1.25},
        {"kernel_tuner", "{\"nvml_energy\":2.5,\"ps_energy\":1.25}", 2.5},
        {"kernel_tuner", "{\"nvml_energy\":-1,\"ps_energy\":0}", 0},
        {"kernel_tuner", "{\"ps_energy\":\"1\"}", 0},
        {"t4", "{\"measurements\":[{\"name\":\"time\",\"value\":9},{\"name\":\"ps_energy\",\"value\":4}]}", 4},
        {"t4", "{\"measurements\":[{\"name\":\"nvml_energy\",\"value\":0},{\"name\":\"energy\",\"value\":3}]}", 3},
        {"t4", "{\"measurements\":[{\"name\":\"energy\",\"value\":\"3\"}]}", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record r = must_read(cases[i].format, row_of(NULL, "{\"a\":1}", cases[i].extra));

        if (r.energy_j != cases[i].energy_j)
            fail_msg("%s %s: %g J", cases[i].format, cases[i].extra, r.energy_j);
        record_fini(&r);
    }
}

static void problem_sizes_are_words_of_the_workload(void **state)
{
    static const char *const cases[][2] = {
        {"{\"problem_size\":[4096,2.5,\"a b\"]}", "kernel k problem_size=4096,2.5,a_b"},
        {"{\"problem_size\":12345678}", "kernel k problem_size=12345678"},
        {"{\"problem_size\":\"n\\tm\"}", "kernel k problem_size=n_m"},
        {"{}", "kernel k"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record r = must_read("kernel_tuner", row_of(cases[i][0], "{}", NULL));

        assert_string_equal(r.workload, cases[i][1]);
        record_fini(&r);
    }
}

static void times_of_rows_are_seconds(void **state)
{
    struct foreign_row row = row_of(NULL, "{\"a\":true,\"b\":\"w\",\"c\":1.5}", NULL);
    struct record r;

    (void)state;
    row.n_samples = 3;
    for (int i = 0; i < 3; i++)
        row.samples_s[i] = 0.001 * (i + 1);
    r = must_read("kernel_tuner", row);
    assert_true(fabs(r.time_ns - 2e6) < 1e-6 && fabs(r.build_ms - 1500) < 1e-9);
    assert_int_equal(r.ts_ms, INT64_C(1700000000123));
    assert_int_equal(r.n_samples, 3);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(r.samples_ns[i] - 1e6 * (i + 1)) < 1e-6);
    assert_string_equal(cJSON_GetObjectItem(r.device, "name")->valuestring, "Some Device (TM) ");
    assert_true(cJSON_GetObjectItem(r.knobs, "a")->valuedouble == 1);
    assert_string_equal(cJSON_GetObjectItem(r.knobs, "b")->valuestring, "w");
    assert_true(cJSON_GetObjectItem(r.knobs, "c")->valuedouble == 1.5);
    record_fini(&r);
}

static void failures_say_where_they_happened(void **state)
{
    static const char *const stages[N_STATUSES] = {"", "build", "prepare", "time", "verify", "time", "time", ""};

    (void)state;
    for (int i = 0; i < N_STATUSES; i++) {
        struct foreign_row row = row_of(NULL, "{}", NULL);
        struct record r;

        row.status = (enum record_status)i;
        strcpy(row.why, i ? "words" : "");
        r = must_read("kernel_tuner", row);
        assert_int_equal(r.status, i);
        assert_string_equal(r.stage, stages[i]);
        assert_string_equal(r.why ? r.why : "", i ? "words" : "");
        record_fini(&r);
    }
}

static void rows_without_a_kernel_or_with_nameless_knobs_are_refused(void **state)
{
    struct foreign_row nameless = row_of(NULL, "[1,2]", NULL), none = row_of(NULL, "{}", NULL);
    struct reading r = read_made("kernel_tuner", &nameless);

    (void)state;
    assert_int_equal(r.e, ERR_UNSUPPORTED);
    assert_string_equal(r.why.text, "the knobs have no names");
    none.task[0] = '\0';
    r = read_made("kernel_tuner", &none);
    assert_int_equal(r.e, ERR_UNSUPPORTED);
    assert_string_equal(r.why.text, "no kernel is named");
}

static void ktt_tells_what_the_compiler_said_of_each_kernel(void **state)
{
    static const char extra[] =
        "{\"ComputationResults\":[{\"KernelFunction\":\"first\",\"CompilationData\":{\"RegistersCount\":66,"
        "\"LocalMemorySize\":8,\"ConstantMemorySize\":16,\"MaxWorkGroupSize\":1024}},{\"KernelFunction\":\"no data\"},"
        "{\"KernelFunction\":\"last\",\"CompilationData\":{\"RegistersCount\":12}}]}";
    struct record r = must_read("ktt", row_of("{\"ComputeApi\":\"OpenCL\"}", "{}", extra));
    const cJSON *first = cJSON_GetArrayItem(r.resources, 0), *last = cJSON_GetArrayItem(r.resources, 1);

    (void)state;
    assert_int_equal(cJSON_GetArraySize(r.resources), 2);
    assert_string_equal(cJSON_GetObjectItem(first, "kernel")->valuestring, "first");
    assert_true(cJSON_GetObjectItem(first, "registers")->valuedouble == 66);
    assert_true(cJSON_GetObjectItem(first, "local_bytes")->valuedouble == 8);
    assert_true(cJSON_GetObjectItem(first, "constant_bytes")->valuedouble == 16);
    assert_true(cJSON_GetObjectItem(first, "max_group")->valuedouble == 1024);
    assert_string_equal(cJSON_GetObjectItem(last, "kernel")->valuestring, "last");
    assert_null(cJSON_GetObjectItem(last, "max_group"));
    assert_string_equal(cJSON_GetObjectItem(r.device, "api")->valuestring, "opencl");
    record_fini(&r);
}

/* ---- T4 ---- */

/* A good record of ours as a row of T4. */
static struct foreign_row t4_row(struct record *r)
{
    struct foreign_row row;

    *r = sample_record("t4");
    assert_int_equal(map_of("t4")->from_record(r, &row, NULL), ERR_OK);
    return row;
}

static void a_carried_record_counts_while_its_row_says_the_same(void **state)
{
    struct record r;

    (void)state;
    for (int change = 0; change < 6; change++) {
        struct foreign_row row = t4_row(&r);
        struct reading back;

        assert_true(row.n_samples > 1);
        switch (change) {
        case 1:
            row.time_s *= 1.0001;
            break;
        case 2:
            row.n_samples--;
            break;
        case 3:
            row.samples_s[row.n_samples - 1] *= 1.0001;
            break;
        case 4:
            row.status = STATUS_WRONG;
            break;
        case 5:
            row.samples_s[row.n_samples++] = 0.001;
            break;
        default:
            break;
        }
        back = read_made("t4", &row);
        assert_int_equal(back.e, ERR_OK);
        if ((strcmp(back.record.id, r.id) == 0) != (change == 0))
            fail_msg("change %d: id '%s'", change, back.record.id);
        record_fini(&back.record);
        record_fini(&r);
    }
}

/* The words of a failure have 255 bytes there; a character of several bytes is left out rather than cut. */
static void long_words_are_cut_between_characters(void **state)
{
    static const struct {
        size_t n;
        const char *end;
        size_t kept;
    } cases[] = {{255, "", 255}, {256, "", 255}, {254, "\xc3\xa4", 254}, {253, "\xc3\xa4", 255}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record r = sample_record("t");
        struct foreign_row row;

        r.status = STATUS_RUNTIME;
        free(r.why);
        r.why = malloc(300);
        memset(r.why, 'x', cases[i].n);
        strcpy(r.why + cases[i].n, cases[i].end);
        assert_int_equal(map_of("t4")->from_record(&r, &row, NULL), ERR_OK);
        assert_int_equal(strlen(row.why), cases[i].kept);
        foreign_row_fini(&row);
        record_fini(&r);
    }
}

static void rows_of_t4_have_our_figures_in_their_units(void **state)
{
    struct record r = sample_record("t4");
    struct foreign_row row;
    const cJSON *times, *measured;

    (void)state;
    r.build_ms = 250;
    r.wait_ms = 3;
    r.verify_ms = 5;
    r.flops = 4e9;
    r.time_ns = 2e6;
    r.energy_j = 0.5;
    assert_int_equal(map_of("t4")->from_record(&r, &row, NULL), ERR_OK);
    assert_true(row.build_s == 0.25 && row.time_s == 0.002);
    times = cJSON_GetObjectItem(row.extra, "times");
    assert_true(cJSON_GetObjectItem(times, "framework")->valuedouble == 3);
    assert_true(cJSON_GetObjectItem(times, "validation")->valuedouble == 5);
    measured = cJSON_GetObjectItem(row.extra, "measurements");
    assert_int_equal(cJSON_GetArraySize(measured), 2);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(measured, 0), "value")->valuedouble == 2000); /* GFLOP/s */
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(measured, 1), "unit")->valuestring, "J");
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(measured, 1), "value")->valuedouble == 0.5);
    foreign_row_fini(&row);
    record_fini(&r);
}

static void nameless_kernels_are_named_by_their_parameters(void **state)
{
    static const char *const knobs[] = {"{\"a\":1,\"b\":2}", "{\"a\":7,\"b\":8}", "{\"a\":1,\"c\":2}"};
    struct record r[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct foreign_row row = row_of(NULL, knobs[i], NULL);

        free(row.task);
        row.task = NULL;
        r[i] = must_read("t4", row);
    }
    assert_string_equal(r[0].workload, r[1].workload);
    assert_string_not_equal(r[0].workload, r[2].workload);
    for (int i = 0; i < 3; i++)
        record_fini(&r[i]);
}

/* ---- CLBlast ---- */

#define CLBLAST(meta)                                                                                                  \
    "{\"kernel_family\": \"xgemm_direct_1\", \"precision\": \"" meta                                                   \
    "\"arg_m\": \"64\", \"arg_n\": \"64\", \"arg_k\": \"64\", \"results\": [{\"kernel\": \"K\", \"time\": 1.5, "       \
    "\"parameters\": {\"KWID\": 2, \"MDIMAD\": 8, \"MDIMCD\": 8, \"NDIMBD\": 8, \"NDIMCD\": 8, \"PADA\": 1, "          \
    "\"PADB\": 1, \"VWMD\": 1, \"VWND\": 1, \"WGD\": 32}}]}"

static void clblasts_devices_are_described_as_far_as_they_are_told(void **state)
{
    static const struct {
        const char *text;
        int kind; /* enum device_desc_kind */
        int64_t units;
        bool fp16;
        const char *key;
    } cases[] = {
        {CLBLAST("32\", \"clblast_device_name\": \"Xeon 8\", \"device_type\": \"CPU\", \"device_compute_units\": "
                 "\"128\", "),
         DEVICE_CPU, 128, false, "xeon-8"},
        {CLBLAST("32\", \"clblast_device_name\": \"Mali-T760 (r1p0)\", \"device_type\": \"GPU\", "
                 "\"device_compute_units\": \"8\", "),
         DEVICE_MALI, 8, false, "mali-t760--r1p0-"},
        {CLBLAST("16\", \"clblast_device_name\": \"G\", \"device_type\": \"GPU\", \"device_compute_units\": "
                 "\"65536\", "),
         DEVICE_GPU, 0, true, "g"},
        {CLBLAST("32\", \"clblast_device_name\": \"G\", \"device_type\": \"GPU\", \"device_compute_units\": "
                 "\"65535\", "),
         DEVICE_GPU, 65535, false, "g"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_row("clblast", cases[i].text);
        struct device_desc d;

        if (r.e)
            fail_msg("%s", r.why.text);
        assert_int_equal(device_desc_from_json(r.record.device, &d, NULL), ERR_OK);
        assert_int_equal(d.kind, cases[i].kind);
        assert_int_equal(d.units, cases[i].units);
        assert_int_equal(d.fp16, cases[i].fp16);
        assert_string_equal(r.record.key, cases[i].key);
        record_fini(&r.record);
    }
}

static void clblast_holds_only_what_was_timed(void **state)
{
    struct reading r = read_row("clblast", CLBLAST("32\", \"clblast_device_name\": \"G\", "));
    struct foreign_row row;
    struct why why = {""};

    (void)state;
    assert_int_equal(r.e, ERR_OK);
    r.record.status = STATUS_TIMEOUT;
    assert_int_equal(map_of("clblast")->from_record(&r.record, &row, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "status timeout"));
    r.record.status = STATUS_OK;
    r.record.time_ns = 0;
    assert_int_equal(map_of("clblast")->from_record(&r.record, &row, &why), ERR_UNSUPPORTED);
    r.record.time_ns = 2.5e6;
    assert_int_equal(map_of("clblast")->from_record(&r.record, &row, &why), ERR_OK);
    assert_true(row.time_s == 2.5e-3);
    foreign_row_fini(&row);
    record_fini(&r.record);
}

/* Without what a file of CLBlast said of it, the device is told from our description. */
static void clblast_is_told_our_device(void **state)
{
    static const char *const words[][2] = {{"device_type", "CPU"},         {"clblast_device_type", "CPU"},
                                           {"device_compute_units", "12"}, {"device_vendor", "V"},
                                           {"clblast_device_vendor", "V"}, {"platform_vendor", "P"},
                                           {"platform_version", "PV"},     {"clblast_device_name", "N"}};
    struct reading r = read_row("clblast", CLBLAST("32\", \"clblast_device_name\": \"G\", "));
    struct device_desc d;
    struct foreign_row row;

    (void)state;
    assert_int_equal(device_desc_from_json(r.record.device, &d, NULL), ERR_OK);
    d.kind = DEVICE_CPU;
    d.units = 12;
    strcpy(d.vendor, "V");
    strcpy(d.platform, "P");
    strcpy(d.platform_version, "PV");
    strcpy(d.name, "N");
    cJSON_Delete(r.record.device);
    r.record.device = device_desc_to_json(&d);
    assert_int_equal(map_of("clblast")->from_record(&r.record, &row, NULL), ERR_OK);
    assert_string_equal(row.target, "N");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_string_equal(cJSON_GetObjectItemCaseSensitive(row.extra, words[i][0])->valuestring, words[i][1]);
    foreign_row_fini(&row);
    record_fini(&r.record);
}

/* ---- AutoTVM ---- */

#define TVM(result)                                                                                                    \
    "{\"input\": [\"opencl -device=mali -model=rk3399\", \"dense.mali\", [[\"TENSOR\", [1, 64], \"float32\"], "        \
    "[\"TENSOR\", [48, 64], \"float32\"], null, \"float32\"], {}], \"config\": {\"index\": 7, \"code_hash\": null, "   \
    "\"entity\": [[\"tile_y\", \"sp\", [-1, 1, 1]], [\"tile_x\", \"sp\", [-1, 4, 4]], [\"c_unroll\", \"sp\", [-1, "    \
    "8]]]}, \"result\": " result ", \"version\": 0.2, \"tvm_version\": \"0.9.0\"}\n"

static void costs_of_tvm_are_samples(void **state)
{
    struct reading r = read_row("autotvm", TVM("[[0.5, 0.25, 0.125], 0, 1.5, 1538220265.5]"));

    (void)state;
    assert_int_equal(r.e, ERR_OK);
    assert_int_equal(r.record.n_samples, 3);
    assert_int_equal(r.record.rounds, 3);
    assert_true(r.record.samples_ns[0] == 5e8 && r.record.samples_ns[1] == 2.5e8 && r.record.samples_ns[2] == 1.25e8);
    assert_true(r.record.flops == 2.0 * 48 * 64);
    assert_int_equal(r.record.ts_ms, INT64_C(1538220265500));
    assert_string_equal(r.record.proposed_by, "autotvm");
    record_fini(&r.record);
}

static double number_in(const struct foreign_row *row, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(row->extra, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

/* What TVM's kernels have no knob for has one value there; a config with another, greater or less, is none of theirs.
 */
static void configs_that_tvm_cannot_express_are_refused(void **state)
{
    static const struct {
        const char *task, *workload, *knob, *words;
    } cases[] = {
        {"conv2d_nchw.cuda", "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=3 s=3", "split", "TVM makes each sum in one part"},
        {"conv2d_NCHWc_int8.cuda", "conv2d i8 n=1 c=8 h=8 w=8 k=8 r=3 s=3", "split", "TVM makes each sum in one part"},
        {"dense_int8.cuda", "dense i8 m=1 n=8 k=8", "n_unit", "TVM counts features singly"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int value = 0; value <= 4; value++) {
            cJSON *knobs = cJSON_CreateObject(), *entities = NULL;
            struct why why = {""};
            struct workload w;
            enum err e;

            assert_int_equal(workload_parse(cases[i].workload, &w, &why), ERR_OK);
            cJSON_AddNumberToObject(knobs, cases[i].knob, value);
            e = tvm_entities(tvm_task_find(cases[i].task), &w, knobs, &entities, &why);
            assert_int_equal(e, ERR_UNSUPPORTED); /* with 1 as well: the other knobs are missing */
            assert_int_equal(strstr(why.text, cases[i].words) != NULL, value != 1);
            cJSON_Delete(entities);
            cJSON_Delete(knobs);
        }
}

static void tvm_is_told_costs_and_timeouts_of_builds(void **state)
{
    struct reading r = read_row("autotvm", TVM("[[0.5], 0, 1.5, 1538220265.5]"));
    struct foreign_row row;

    (void)state;
    assert_int_equal(r.e, ERR_OK);
    cJSON_DeleteItemFromObject(r.record.device, "tvm"); /* a record of our own */
    r.record.build_ms = 1000;
    r.record.verify_ms = 200;
    r.record.device_ms = 30;
    assert_int_equal(map_of("autotvm")->from_record(&r.record, &row, NULL), ERR_OK);
    assert_true(fabs(number_in(&row, "all_cost") - 1.23) < 1e-12);
    assert_true(isnan(number_in(&row, "error_no")));
    foreign_row_fini(&row);
    r.record.status = STATUS_TIMEOUT;
    strcpy(r.record.stage, "build");
    assert_int_equal(map_of("autotvm")->from_record(&r.record, &row, NULL), ERR_OK);
    assert_true(number_in(&row, "error_no") == 6); /* MeasureErrorNo.BUILD_TIMEOUT */
    foreign_row_fini(&row);
    strcpy(r.record.stage, "time");
    assert_int_equal(map_of("autotvm")->from_record(&r.record, &row, NULL), ERR_OK);
    assert_true(isnan(number_in(&row, "error_no")));
    foreign_row_fini(&row);
    record_fini(&r.record);
}

/* A line that carries a record of ours, changed afterwards in one of what it says. */
static void a_changed_outcome_of_tvm_is_believed(void **state)
{
    struct reading r = read_row("autotvm", TVM("[[0.5], 0, 1.5, 1538220265.5]"));

    (void)state;
    cJSON_DeleteItemFromObject(r.record.device, "tvm");
    strcpy(r.record.job, "a job");
    for (int change = 0; change < 4; change++) {
        struct foreign_row row;
        struct reading back;

        assert_int_equal(map_of("autotvm")->from_record(&r.record, &row, NULL), ERR_OK);
        if (change == 1)
            row.status = STATUS_WRONG;
        else if (change == 2)
            row.time_s *= 1.001;
        else if (change == 3)
            memcpy(strstr(row.target, "rk3399"), "rk9933", 6);
        back = read_made("autotvm", &row);
        if (!back.e && (strcmp(back.record.job, "a job") == 0) != (change == 0))
            fail_msg("change %d: job '%s'", change, back.record.job);
        assert_true(!back.e || change == 3);
        if (!back.e)
            record_fini(&back.record);
    }
    record_fini(&r.record);
}

/* ---- what all share ---- */

static char dir[256];

struct seen {
    char key[8][64];
    double se[8];
    int64_t rounds[8];
    size_t n;
};

static bool take(const struct record *r, const char *line, size_t n, void *arg)
{
    struct seen *s = arg;

    (void)line;
    (void)n;
    assert_true(s->n < 8);
    strcpy(s->key[s->n], r->key);
    s->rounds[s->n] = r->rounds;
    s->se[s->n++] = r->se;
    return true;
}

static const char *put(const char *name, const char *text)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

static void keys_are_slugs_and_errors_come_of_the_samples(void **state)
{
    struct seen s = {.n = 0};

    (void)state;
    assert_int_equal(
        convert_scan(put("a.json", "{\"device_name\": \"(R) Some_Device 1.5 (TM) \", \"kernel_name\": \"k\", "
                                   "\"tune_params_keys\": [\"l\"], \"cache\": {\"1\": {\"l\": 1, \"time\": 1, "
                                   "\"times\": [1, 2, 4, 32]}, \"2\": {\"l\": 2, \"time\": 1, \"times\": [1, 2]}}}"),
                     NULL, take, NULL, &s, NULL),
        ERR_OK);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.key[0], "r-some_device-1.5-tm");
    /* ln 1 2 4 32: their middle is 1.5 ln 2, the distances 1.5 .5 .5 3.5, of which the middle is ln 2 */
    assert_true(fabs(s.se[0] - 1.25 * 1.48 * log(2) / 2) < 1e-12);
    assert_true(isnan(s.se[1]) && s.rounds[0] == 4 && s.rounds[1] == 2);
}

/* Formats that are not lines are one text: all records come out in one write, more than a batch of 1024 too. */
static void many_records_are_one_file(void **state)
{
    struct convert_out *out = NULL;
    struct buf text;
    char path[300];
    size_t n = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/many.json", dir);
    assert_int_equal(convert_open(&out, path, "t4", NULL), ERR_OK);
    for (int i = 0; i < 1100; i++) {
        struct record r = sample_record("m");

        snprintf(r.id, sizeof r.id, "m%d", i);
        assert_int_equal(convert_put(out, &r, "{}", 2, NULL), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(convert_close(out, true, NULL), ERR_OK);
    buf_init(&text, 1 << 26);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    for (const char *at = buf_text(&text); (at = strstr(at, "\"results\"")) != NULL; at++)
        n++;
    assert_int_equal(n, 1);
    n = 0;
    for (const char *at = buf_text(&text); (at = strstr(at, "\"configuration\"")) != NULL; at++)
        n++;
    assert_int_equal(n, 1100);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_read_under_each_name),
        cmocka_unit_test(problem_sizes_are_words_of_the_workload),
        cmocka_unit_test(times_of_rows_are_seconds),
        cmocka_unit_test(failures_say_where_they_happened),
        cmocka_unit_test(rows_without_a_kernel_or_with_nameless_knobs_are_refused),
        cmocka_unit_test(ktt_tells_what_the_compiler_said_of_each_kernel),
        cmocka_unit_test(a_carried_record_counts_while_its_row_says_the_same),
        cmocka_unit_test(long_words_are_cut_between_characters),
        cmocka_unit_test(rows_of_t4_have_our_figures_in_their_units),
        cmocka_unit_test(nameless_kernels_are_named_by_their_parameters),
        cmocka_unit_test(clblasts_devices_are_described_as_far_as_they_are_told),
        cmocka_unit_test(clblast_holds_only_what_was_timed),
        cmocka_unit_test(clblast_is_told_our_device),
        cmocka_unit_test(costs_of_tvm_are_samples),
        cmocka_unit_test(configs_that_tvm_cannot_express_are_refused),
        cmocka_unit_test(tvm_is_told_costs_and_timeouts_of_builds),
        cmocka_unit_test(a_changed_outcome_of_tvm_is_believed),
        cmocka_unit_test(keys_are_slugs_and_errors_come_of_the_samples),
        cmocka_unit_test(many_records_are_one_file),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
