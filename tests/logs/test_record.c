/* SPDX-License-Identifier: MIT */
/* Records: text and back byte for byte, checksums, what is refused. */
#include "sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void print(const struct record *r, struct buf *line)
{
    buf_init(line, 4 * RECORD_MAX_BYTES);
    assert_int_equal(record_print(r, line), ERR_OK);
}

/* record -> line -> record -> line: the lines are equal. */
static void check_round_trip(const struct record *r)
{
    struct buf first, second;
    struct record back;
    struct why why = {""};

    print(r, &first);
    if (record_parse(first.data, first.len, &back, &why))
        fail_msg("%s\n%s", why.text, first.data);
    print(&back, &second);
    assert_string_equal(first.data, second.data);
    buf_fini(&first);
    buf_fini(&second);
    record_fini(&back);
}

static void a_record_survives_text_and_back_byte_for_byte(void **state)
{
    struct record full = sample_record("t1"), empty;

    (void)state;
    check_round_trip(&full);
    full.status = STATUS_COMPILE;
    strcpy(full.stage, "build");
    full.why = strdup("a.cl:3: error: \"x\" \\ \t\n \xc3\xa4");
    full.censored = full.build_cached = true;
    check_round_trip(&full);
    record_fini(&full);
    record_init(&empty);
    check_round_trip(&empty);
}

static void doubles_come_back_exactly(void **state)
{
    struct record r = sample_record("t1"), back;
    struct buf line;

    (void)state;
    r.time_ns = 0.1 + 0.2;
    r.energy_j = 0.3;
    strcpy(r.objective, "edp");
    print(&r, &line);
    assert_int_equal(record_parse(line.data, line.len, &back, NULL), ERR_OK);
    assert_true(back.energy_j == 0.3 && strcmp(back.objective, "edp") == 0);
    assert_true(back.time_ns == r.time_ns && back.lnratio == r.lnratio);
    for (size_t i = 0; i < r.n_samples; i++)
        assert_true(back.samples_ns[i] == r.samples_ns[i]);
    assert_true(back.anchor.epoch == 1 && back.anchor.bridge == 0.25 && back.anchor.n_samples == 3);
    assert_int_equal(back.ts_ms, r.ts_ms);
    assert_true(back.n_canary == 5 && back.canary_ns[4] == r.canary_ns[4] && back.pack_ns == r.pack_ns);
    assert_true(back.anchor.n_slots == 6 && back.anchor.slots_ns[5] == r.anchor.slots_ns[5]);
    assert_string_equal(back.tune, "0.2.0+49a03006ab12");
    buf_fini(&line);
    record_fini(&back);
    record_fini(&r);
}

/* A line as it was written before `pack_ns`, `tune`, and slots and rounds of anchor and canary came. */
static void a_line_of_an_earlier_version_is_read_and_stays_as_it_is(void **state)
{
    static const char old[] =
        "{\"schema\":1,\"id\":\"t1\",\"job\":\"j12\",\"purpose\":\"search\",\"workload\":\"dense f32 m=64 n=2048 "
        "k=512\","
        "\"template\":\"dense/"
        "gemm_direct\",\"template_version\":3,\"knobs\":{\"vc\":4,\"ratio\":0.1,\"order\":\"hwc\"},"
        "\"status\":\"ok\",\"time_ns\":1234567.3333333333,\"lnratio\":-0.10000000000000003,\"se\":0.0012,\"rounds\":5,"
        "\"calls\":15,\"samples_ns\":[1200000,1200000.3333333333,1200000.6666666667,1200001,1200001.3333333333],"
        "\"anchor\":{\"hash\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"epoch\":1,"
        "\"bridge\":0.25,"
        "\"samples_ns\":[1400000,1400000.3333333333,1400000.6666666667]},\"canary\":{\"before\":1000.5,\"after\":1001},"
        "\"censored\":false,\"build_ms\":531.25,\"build_cached\":false,\"verify_ms\":7,\"device_ms\":90.125,"
        "\"wait_ms\":0.5,\"flops\":134217728,\"proposed_by\":\"model\","
        "\"program\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\","
        "\"fingerprint\":\"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\","
        "\"device\":{\"name\":\"cpu\",\"load\":0.4,\"clocks\":{\"mhz\":[2500,2600]}},\"protocol\":\"rounds-1\","
        "\"key\":\"local-cpu\",\"agent\":\"host-1\",\"seed\":7,\"ts\":1790000000000,\"crc32c\":\"6fe29b9e\"}\n";
    struct record r;
    struct buf line;

    (void)state;
    assert_int_equal(record_parse(old, sizeof old - 1, &r, NULL), ERR_OK);
    assert_true(r.n_canary == 0 && r.pack_ns == 0 && r.anchor.n_slots == 0 && !r.tune[0]);
    assert_true(r.canary_after == 1001 && r.anchor.n_samples == 3);
    print(&r, &line);
    assert_string_equal(line.data, old);
    buf_fini(&line);
    record_fini(&r);
}

static void a_line_is_one_object_with_its_sum_last(void **state)
{
    struct record r = sample_record("t1");
    char expected[40];
    struct buf line;
    cJSON *json = NULL;

    (void)state;
    print(&r, &line);
    assert_ptr_equal(strchr(line.data, '\n'), line.data + line.len - 1);
    assert_int_equal(json_parse(line.data, line.len, &json, NULL), ERR_OK);
    assert_string_equal(cJSON_GetArrayItem(json, cJSON_GetArraySize(json) - 1)->string, "crc32c");
    snprintf(expected, sizeof expected, ",\"crc32c\":\"%08x\"}\n", crc32c(line.data, line.len - 22));
    assert_string_equal(line.data + line.len - 22, expected);
    cJSON_Delete(json);
    buf_fini(&line);
    record_fini(&r);
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct record r = sample_record("t1"), out;
    struct buf line;

    (void)state;
    print(&r, &line);
    for (size_t i = 0; i + 1 < line.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            line.data[i] = (char)(line.data[i] ^ (1 << bit));
            assert_int_equal(record_parse(line.data, line.len, &out, NULL), ERR_INPUT);
            line.data[i] = (char)(line.data[i] ^ (1 << bit));
        }
    for (size_t n = 0; n + 1 < line.len; n++)
        assert_int_equal(record_parse(line.data, n, &out, NULL), ERR_INPUT);
    assert_int_equal(record_parse(line.data, line.len - 1, &out, NULL), ERR_OK);
    record_fini(&out);
    buf_fini(&line);
    record_fini(&r);
}

/* A line made by hand with a right sum. */
static enum err parse_made(const char *members, struct record *out, struct why *why)
{
    char line[3000];
    int n = snprintf(line, sizeof line, "{%s", members);

    snprintf(line + n, sizeof line - (size_t)n, ",\"crc32c\":\"%08x\"}\n", crc32c(line, (size_t)n));
    return record_parse(line, strlen(line), out, why);
}

#define LEAST "\"id\":\"t1\",\"workload\":\"w\",\"template\":\"x/y\",\"knobs\":{},\"status\":\"ok\""

static void unknown_and_missing_members_are_fine(void **state)
{
    struct record r;
    struct why why = {""};

    (void)state;
    if (parse_made("\"schema\":1,\"future\":[1,{}]," LEAST, &r, &why))
        fail_msg("%s", why.text);
    assert_string_equal(r.id, "t1");
    assert_true(isnan(r.lnratio) && r.time_ns == 0 && !r.device && !r.why);
    record_fini(&r);
}

static void bad_members_are_refused_by_name(void **state)
{
    static const struct {
        const char *members, *words;
    } bad[] = {
        {LEAST, "'schema' is missing"},
        {"\"schema\":2," LEAST, "schema 2 is newer than 1"},
        {"\"schema\":0," LEAST, "'schema'"},
        {"\"schema\":1,\"id\":\"t1\"", "'workload' is missing"},
        {"\"schema\":1,\"time_ns\":\"fast\"," LEAST, "'time_ns': expected a number"},
        {"\"schema\":1,\"rounds\":1.5," LEAST, "'rounds' is not an integer"},
        {"\"schema\":1,\"censored\":1," LEAST, "'censored': expected true or false"},
        {"\"schema\":1,\"program\":\"abc\"," LEAST, "'program': expected 64"},
        {"\"schema\":1,\"anchor\":{\"hash\":\"1\"}," LEAST, "anchor: 'hash'"},
        {"\"schema\":1,\"samples_ns\":{}," LEAST, "'samples_ns': expected an array"},
        {"\"schema\":1,\"samples_ns\":[true]," LEAST, "'samples_ns'"},
        {"\"schema\":1,\"knobs\":{\"a\":[]}," LEAST, "knob 'a'"},
        {"\"schema\":1,\"status\":\"great\"," LEAST, "'status': expected ok"},
        {"\"schema\":1,\"purpose\":\"a purpose too long\"," LEAST, "at most 15 bytes"},
        {"\"schema\":1,\"canary\":3," LEAST, "'canary'"},
        {"\"schema\":1,\"device\":3," LEAST, "'device'"},
        {"\"schema\":1,,", "not JSON"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct record r;
        struct why why = {""};
        enum err e = parse_made(bad[i].members, &r, &why);

        if (e != ERR_INPUT || !strstr(why.text, bad[i].words))
            fail_msg("%s: got %s '%s', expected '%s'", bad[i].members, err_name(e), why.text, bad[i].words);
    }
}

/* Who looks at others' records does it on a terminal. */
static void control_characters_do_not_get_in(void **state)
{
    static const char members[] =
        "\"schema\":1,\"id\":\"t\\u001b[2J\",\"workload\":\"a\\u009b2J\",\"status\":\"compile\",\"stage\":\"build\","
        "\"template\":\"t\",\"template_version\":1,\"why\":\"1\\n\\t2\\u001b]0;x\\u0007\",\"device\":{\"name\":"
        "\"\\u001b[31m\"},\"knobs\":{\"a\":\"\\u007f\"}";
    struct why why = {""};
    struct record r;

    (void)state;
    if (parse_made(members, &r, &why))
        fail_msg("%s", why.text);
    assert_string_equal(r.id, "t [2J");
    assert_string_equal(r.workload, "a  2J");
    assert_string_equal(r.why, "1\n\t2 ]0;x ");
    assert_string_equal(cJSON_GetObjectItem(r.device, "name")->valuestring, " [31m");
    assert_string_equal(cJSON_GetObjectItem(r.knobs, "a")->valuestring, " ");
    record_fini(&r);
}

static void compiler_words_are_cut_and_made_utf8(void **state)
{
    struct record r = sample_record("t1"), back;
    struct buf line;

    (void)state;
    r.why = malloc(9001);
    assert_non_null(r.why);
    memset(r.why, 'x', 9000);
    memcpy(r.why, "\xff\xc3(\xe2\x82\xac\xed\xa0\x80", 9);
    memcpy(r.why + 4095, "\xc3\xa4", 2);
    r.why[9000] = '\0';
    print(&r, &line);
    assert_int_equal(record_parse(line.data, line.len, &back, NULL), ERR_OK);
    assert_int_equal(strlen(back.why), 4095);
    assert_memory_equal(back.why, "\?\?(\xe2\x82\xac\?\?\?x", 10);
    buf_fini(&line);
    record_fini(&back);
    record_fini(&r);
}

static void what_does_not_fit_a_line_is_refused(void **state)
{
    struct record r = sample_record("t1");
    char *big = calloc(RECORD_MAX_BYTES + 1, 1);
    struct buf line;

    (void)state;
    assert_non_null(big);
    memset(big, 'x', RECORD_MAX_BYTES);
    buf_init(&line, 4 * RECORD_MAX_BYTES);
    cJSON_AddStringToObject(r.device, "big", big);
    assert_int_equal(record_print(&r, &line), ERR_LIMIT);
    cJSON_DeleteItemFromObject(r.device, "big");
    r.seed = INT64_MAX;
    assert_int_equal(record_print(&r, &line), ERR_LIMIT);
    r.seed = JSON_EXACT_MAX;
    assert_int_equal(record_print(&r, &line), ERR_OK);
    free(big);
    buf_fini(&line);
    record_fini(&r);
}

static void statuses_have_names_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < N_STATUSES; i++)
        assert_int_equal(status_by_name(status_name((enum record_status)i)), i);
    assert_int_equal(status_by_name("fine"), -1);
    assert_int_equal(status_by_name(NULL), -1);
}

static void gflops_are_flops_by_ns(void **state)
{
    struct record r = sample_record("t1");

    (void)state;
    assert_true(fabs(record_gflops(&r) - 134217728 / r.time_ns) < 1e-12);
    r.time_ns = 0;
    assert_true(record_gflops(&r) == 0);
    record_fini(&r);
}

static void copies_are_deep(void **state)
{
    struct record r = sample_record("t1"), copy;
    struct buf a, b;

    (void)state;
    assert_int_equal(record_copy(&copy, &r), ERR_OK);
    print(&r, &a);
    record_fini(&r);
    print(&copy, &b);
    assert_string_equal(a.data, b.data);
    buf_fini(&a);
    buf_fini(&b);
    record_fini(&copy);
}

static void who_built_the_code_and_what_it_takes_are_kept(void **state)
{
    struct record r = sample_record("t1"), back, copy;
    struct buf line;

    (void)state;
    buf_init(&line, RECORD_MAX_BYTES);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    assert_null(strstr(line.data, "built_by")); /* nothing is said where there is nothing */
    assert_null(strstr(line.data, "resources"));
    strcpy(r.built_by, "builder-1");
    strcpy(r.compiler, "NVRTC 12.9");
    r.resources = cJSON_Parse("[{\"kernel\":\"k\",\"registers\":40}]");
    buf_clear(&line);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    assert_int_equal(record_parse(line.data, line.len, &back, NULL), ERR_OK);
    assert_int_equal(record_copy(&copy, &back), ERR_OK);
    record_fini(&back);
    assert_string_equal(copy.built_by, "builder-1");
    assert_string_equal(copy.compiler, "NVRTC 12.9");
    assert_true(cJSON_Compare(copy.resources, r.resources, true));
    record_fini(&copy);
    record_fini(&r);
    buf_fini(&line);
}

/* What docs/log-format.md says of a line: the names in their order, each with its own value. */
static const struct {
    const char *name, *text;
} line_members[] = {
    {"schema", "1"},
    {"id", "\"t1\""},
    {"job", "\"j12\""},
    {"purpose", "\"search\""},
    {"workload", "\"dense f32 m=64 n=2048 k=512\""},
    {"template", "\"dense/gemm_direct\""},
    {"template_version", "3"},
    {"knobs", "{\"vc\":4,\"ratio\":0.1,\"order\":\"hwc\"}"},
    {"status", "\"timeout\""},
    {"stage", "\"time\""},
    {"cause", "\"no_energy\""},
    {"why", "\"slow\""},
    {"time_ns", "1250000.5"},
    {"energy_j", "0.75"},
    {"objective", "\"energy\""},
    {"lnratio", "-0.125"},
    {"se", "0.0012"},
    {"rounds", "5"},
    {"calls", "15"},
    {"samples_ns", "[11,12.5]"},
    {"anchor",
     "{\"hash\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"epoch\":1,\"bridge\":0.25,"
     "\"samples_ns\":[21],\"slots_ns\":[1390000,1390002.5]}"},
    {"canary", "{\"before\":1000.5,\"after\":1001,\"rounds_ns\":[1000.75]}"},
    {"pack_ns", "12345.5"},
    {"censored", "true"},
    {"verified", "\"not checked\""},
    {"build_ms", "531.25"},
    {"build_cached", "false"},
    {"built_by", "\"builder\""},
    {"compiler", "\"NVRTC 12.9\""},
    {"resources", "[{\"kernel\":\"k\"}]"},
    {"verify_ms", "7"},
    {"device_ms", "90.125"},
    {"wait_ms", "0.5"},
    {"flops", "134217728"},
    {"proposed_by", "\"model\""},
    {"program", "\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\""},
    {"fingerprint", "\"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\""},
    {"device", "{\"name\":\"cpu\",\"load\":0.4,\"clocks\":{\"mhz\":[2500,2600]}}"},
    {"protocol", "\"rounds-1\""},
    {"key", "\"local-cpu\""},
    {"agent", "\"host-1\""},
    {"tune", "\"0.2.0+49a03006ab12\""},
    {"seed", "7"},
    {"ts", "1790000000000"},
};

static void a_line_has_its_members_by_name_and_in_order(void **state)
{
    struct record r = sample_record("t1"), back;
    const cJSON *item;
    struct buf line;
    cJSON *json = NULL;
    size_t i = 0;

    (void)state;
    r.status = STATUS_TIMEOUT;
    strcpy(r.stage, "time");
    strcpy(r.cause, RECORD_NO_ENERGY);
    r.why = strdup("slow");
    r.time_ns = 1250000.5;
    r.energy_j = 0.75;
    strcpy(r.objective, "energy");
    r.lnratio = -0.125;
    r.n_samples = 2;
    r.samples_ns[0] = 11;
    r.samples_ns[1] = 12.5;
    r.anchor.n_samples = 1;
    r.anchor.samples_ns[0] = 21;
    r.anchor.n_slots = 2;
    r.anchor.slots_ns[0] = 1390000;
    r.anchor.slots_ns[1] = 1390002.5;
    r.n_canary = 1;
    r.canary_ns[0] = 1000.75;
    r.censored = true;
    strcpy(r.verified, "not checked");
    strcpy(r.built_by, "builder");
    strcpy(r.compiler, "NVRTC 12.9");
    r.resources = cJSON_Parse("[{\"kernel\":\"k\"}]");
    print(&r, &line);
    assert_int_equal(json_parse(line.data, line.len, &json, NULL), ERR_OK);
    cJSON_ArrayForEach(item, json)
    {
        char *text;

        if (i == sizeof line_members / sizeof line_members[0])
            break;
        text = cJSON_PrintUnformatted(item);
        if (strcmp(item->string, line_members[i].name) != 0 || strcmp(text, line_members[i].text) != 0)
            fail_msg("member %zu: %s %s, expected %s %s", i, item->string, text, line_members[i].name,
                     line_members[i].text);
        free(text);
        i++;
    }
    assert_string_equal(item->string, "crc32c");
    assert_int_equal(record_parse(line.data, line.len, &back, NULL), ERR_OK);
    assert_true(back.build_ms == 531.25 && back.verify_ms == 7 && back.device_ms == 90.125 && back.wait_ms == 0.5);
    assert_true(back.canary_before == 1000.5 && back.canary_after == 1001 && back.flops == 134217728);
    assert_true(back.rounds == 5 && back.calls == 15 && back.seed == 7 && back.template_version == 3);
    assert_true(back.censored && !back.build_cached && back.status == STATUS_TIMEOUT && back.se == 0.0012);
    assert_true(back.n_samples == 2 && back.samples_ns[1] == 12.5 && back.anchor.samples_ns[0] == 21);
    assert_string_equal(back.workload, "dense f32 m=64 n=2048 k=512");
    assert_string_equal(back.stage, "time");
    assert_string_equal(back.cause, "no_energy");
    assert_string_equal(back.why, "slow");
    assert_string_equal(back.verified, "not checked");
    assert_string_equal(back.proposed_by, "model");
    assert_string_equal(back.protocol, "rounds-1");
    assert_string_equal(back.key, "local-cpu");
    assert_string_equal(back.agent, "host-1");
    cJSON_Delete(json);
    buf_fini(&line);
    record_fini(&back);
    record_fini(&r);
}

static void what_is_not_known_is_null_or_missing(void **state)
{
    static const char *const missing[] = {"stage",    "cause",    "why",       "energy_j", "objective",
                                          "built_by", "compiler", "resources", "verified"};
    struct record r, back;
    cJSON *json = NULL;
    struct buf line;

    (void)state;
    record_init(&r);
    r.se = INFINITY;
    r.time_ns = -0.0;
    print(&r, &line);
    assert_int_equal(json_parse(line.data, line.len, &json, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (cJSON_HasObjectItem(json, missing[i]))
            fail_msg("'%s' is there", missing[i]);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(json, "lnratio")) && cJSON_IsNull(cJSON_GetObjectItem(json, "se")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(json, "anchor")) && cJSON_IsNull(cJSON_GetObjectItem(json, "device")));
    assert_non_null(strstr(line.data, "\"time_ns\":0,"));
    assert_int_equal(record_parse(line.data, line.len, &back, NULL), ERR_OK);
    assert_true(isnan(back.lnratio) && isnan(back.se) && !back.anchor.hash.hex[0] && !back.resources);
    cJSON_Delete(json);
    buf_fini(&line);
    record_fini(&back);
}

static void samples_are_at_most_so_many(void **state)
{
    (void)state;
    for (size_t n = RECORD_MAX_SAMPLES; n <= RECORD_MAX_SAMPLES + 1; n++) {
        const bool fits = n == RECORD_MAX_SAMPLES;
        double samples[RECORD_MAX_SAMPLES + 1] = {0};
        struct buf line, members;
        struct why why = {""};
        struct record r, back;

        record_init(&r);
        buf_init(&line, 4 * RECORD_MAX_BYTES);
        r.samples_ns = samples;
        r.n_samples = n;
        assert_int_equal(record_print(&r, &line), fits ? ERR_OK : ERR_LIMIT);
        buf_init(&members, 3000);
        buf_puts(&members, "\"schema\":1,\"samples_ns\":[");
        for (size_t i = 0; i < n; i++)
            buf_printf(&members, "%s%zu", i ? "," : "", i);
        buf_puts(&members, "]," LEAST);
        assert_int_equal(parse_made(buf_text(&members), &back, &why), fits ? ERR_OK : ERR_INPUT);
        if (fits) {
            assert_int_equal(back.n_samples, n);
            assert_true(back.samples_ns[n - 1] == (double)(n - 1));
            record_fini(&back);
        } else {
            assert_non_null(strstr(why.text, "at most 64"));
        }
        buf_fini(&line);
        buf_fini(&members);
    }
}

static void members_are_taken_up_to_their_bounds(void **state)
{
    static const struct {
        const char *members;
        bool is_taken;
    } cases[] = {
        {"\"purpose\":\"fifteen bytes..\"", true},
        {"\"purpose\":\"sixteen bytes...\"", false},
        {"\"ts\":9007199254740992", true},
        {"\"ts\":-9007199254740992", true},
        {"\"ts\":9007199254740994", false},
        {"\"se\":1e999", false},
        {"\"knobs\":{\"a\":1e308}", true},
        {"\"knobs\":{\"a\":1e309}", false},
        {"\"se\":null", true},
        {"\"se\":\"1\"", false},
        {"\"program\":\"\"", true},
        {"\"program\":null", false},
        {"\"anchor\":null", true},
        {"\"anchor\":[]", false},
        {"\"anchor\":{}", false},
        {"\"device\":null", true},
        {"\"device\":{}", true},
        {"\"resources\":[]", true},
        {"\"resources\":{}", false},
        {"\"canary\":{}", true},
        {"\"canary\":{\"before\":\"x\"}", false},
        {"\"why\":7", false},
        {"\"why\":\"\"", true},
        {"\"knobs\":7", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        struct record r;
        char members[2000];
        enum err e;

        snprintf(members, sizeof members, "\"schema\":1,%s," LEAST, cases[i].members);
        e = parse_made(members, &r, &why);
        if (e != (cases[i].is_taken ? ERR_OK : ERR_INPUT))
            fail_msg("%s: %s %s", cases[i].members, err_name(e), why.text);
        if (!e)
            record_fini(&r);
    }
}

#define HASH_D "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"

static void an_anchor_s_members_have_defaults(void **state)
{
    struct record r;

    (void)state;
    assert_int_equal(parse_made("\"schema\":1,\"anchor\":{\"hash\":\"" HASH_D "\"}," LEAST, &r, NULL), ERR_OK);
    assert_string_equal(r.anchor.hash.hex, HASH_D);
    assert_true(r.anchor.epoch == 0 && r.anchor.bridge == 0 && r.anchor.n_samples == 0);
    record_fini(&r);
    assert_int_equal(parse_made("\"schema\":1,\"anchor\":{\"hash\":\"" HASH_D "\",\"epoch\":-1}," LEAST, &r, NULL),
                     ERR_INPUT);
    assert_int_equal(
        parse_made("\"schema\":1,\"anchor\":{\"hash\":\"" HASH_D "\",\"samples_ns\":[1,\"x\"]}," LEAST, &r, NULL),
        ERR_INPUT);
    assert_int_equal(parse_made("\"schema\":1,\"knobs\":{\"n\":3,\"w\":\"x\"}," LEAST, &r, NULL), ERR_OK);
    assert_int_equal(cJSON_GetArraySize(r.knobs), 2);
    record_fini(&r);
}

static void a_line_may_end_as_other_systems_end_it(void **state)
{
    struct record r = sample_record("t1"), back;
    struct buf line;

    (void)state;
    print(&r, &line);
    line.len--; /* '\n' */
    assert_int_equal(record_check_sum(line.data, line.len, NULL), ERR_OK);
    line.data[line.len] = '\r';
    assert_int_equal(record_check_sum(line.data, line.len + 1, NULL), ERR_INPUT);
    assert_int_equal(record_parse(line.data, line.len + 1, &back, NULL), ERR_OK);
    record_fini(&back);
    line.data[line.len + 1] = '\n';
    assert_int_equal(record_parse(line.data, line.len + 2, &back, NULL), ERR_OK);
    record_fini(&back);
    assert_int_equal(record_parse("", 0, &back, NULL), ERR_INPUT);
    assert_int_equal(record_parse("\r\n", 2, &back, NULL), ERR_INPUT);
    buf_fini(&line);
    record_fini(&r);
}

static void costs_are_what_the_objective_asks_for(void **state)
{
    struct record r;

    (void)state;
    record_init(&r);
    assert_true(record_cost(&r, 3) == 3);
    assert_true(isnan(record_cost(&r, NAN)));
    r.energy_j = exp(2);
    assert_true(record_cost(&r, 3) == 3);
    strcpy(r.objective, "energy");
    assert_true(fabs(record_cost(&r, 3) - 2) < 1e-15);
    assert_true(isnan(record_cost(&r, NAN)));
    strcpy(r.objective, "edp");
    assert_true(fabs(record_cost(&r, 3) - 5) < 1e-15);
    r.energy_j = 0; /* not measured */
    assert_true(isnan(record_cost(&r, 3)));
    strcpy(r.objective, "energy");
    assert_true(isnan(record_cost(&r, 3)));
}

static void rates_need_a_time_and_words_a_known_status(void **state)
{
    struct record r;

    (void)state;
    record_init(&r);
    r.flops = 10;
    assert_true(record_gflops(&r) == 0);
    r.time_ns = 4;
    assert_true(record_gflops(&r) == 2.5);
    r.time_ns = NAN;
    assert_true(record_gflops(&r) == 0);
    assert_string_equal(status_name((enum record_status)N_STATUSES), "unknown");
    assert_string_equal(status_name(STATUS_LOST), "lost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_survives_text_and_back_byte_for_byte),
        cmocka_unit_test(doubles_come_back_exactly),
        cmocka_unit_test(a_line_of_an_earlier_version_is_read_and_stays_as_it_is),
        cmocka_unit_test(a_line_is_one_object_with_its_sum_last),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(unknown_and_missing_members_are_fine),
        cmocka_unit_test(bad_members_are_refused_by_name),
        cmocka_unit_test(control_characters_do_not_get_in),
        cmocka_unit_test(compiler_words_are_cut_and_made_utf8),
        cmocka_unit_test(what_does_not_fit_a_line_is_refused),
        cmocka_unit_test(statuses_have_names_both_ways),
        cmocka_unit_test(gflops_are_flops_by_ns),
        cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(who_built_the_code_and_what_it_takes_are_kept),
        cmocka_unit_test(a_line_has_its_members_by_name_and_in_order),
        cmocka_unit_test(what_is_not_known_is_null_or_missing),
        cmocka_unit_test(samples_are_at_most_so_many),
        cmocka_unit_test(members_are_taken_up_to_their_bounds),
        cmocka_unit_test(an_anchor_s_members_have_defaults),
        cmocka_unit_test(a_line_may_end_as_other_systems_end_it),
        cmocka_unit_test(costs_are_what_the_objective_asks_for),
        cmocka_unit_test(rates_need_a_time_and_words_a_known_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
