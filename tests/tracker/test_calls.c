/* SPDX-License-Identifier: MIT */
/* The calls as types: what their structs are on the wire, what is refused with which words, and that docs/protocol.md
 * has every call and member. */
#include "core/file.h"
#include "tracker/calls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NONCE "0123456789abcdef0123456789abcdef"

/* With ' for ". */
static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;
    struct buf json;

    buf_init(&json, 65536);
    buf_puts(&json, text);
    for (char *p = json.data; *p; p++)
        if (*p == '\'')
            *p = '"';
    assert_int_equal(json_parse(json.data, json.len, &tree, NULL), ERR_OK);
    buf_fini(&json);
    return tree;
}

/* A struct is this text on the wire, byte for byte (with ' for "). */
static void is_written(const struct call_shape *shape, const void *takes_trees, const char *text)
{
    cJSON *tree = call_write(shape, takes_trees), *expected = parse(text);
    struct buf got, wanted;

    assert_non_null(tree);
    buf_init(&got, 65536);
    buf_init(&wanted, 65536);
    json_print(tree, &got);
    json_print(expected, &wanted);
    assert_string_equal(buf_text(&got), buf_text(&wanted));
    buf_fini(&got);
    buf_fini(&wanted);
    cJSON_Delete(tree);
    cJSON_Delete(expected);
}
#define IS_WRITTEN(tag, text, ...) is_written(&tag##_shape, &(struct tag){__VA_ARGS__}, text)

/* What version 0.1.0 sent: peers of any version understand each other by it. */
static void requests_are_what_they_were(void **state)
{
    (void)state;
    IS_WRITTEN(hello_args, "{'role':'tune','name':'n','nonce':'" NONCE "','versions':[1],'part':2}", .role = "tune",
               .name = "n", .part = 2, .nonce = NONCE, .versions = parse("[1]"));
    IS_WRITTEN(blob_have_args, "{'sha256':['a','b']}", .sha256 = parse("['a','b']"));
    IS_WRITTEN(blob_put_args, "{}", .sha256 = NULL);
    IS_WRITTEN(blob_put_args, "{'sha256':'" HEX "','offset':0,'total':7}", .sha256 = HEX, .total = 7);
    IS_WRITTEN(job_submit_args, "{'title':'t','user':'u','key':'k','body':'b','priority':-3,'lease':true}",
               .title = "t", .user = "u", .key = "k", .body = "b", .priority = -3, .lease = true);
    IS_WRITTEN(job_renew_args, "{'job':'j1','token':2,'progress':{'done':1}}", .job = "j1", .token = 2,
               .progress = parse("{'done':1}"));
    IS_WRITTEN(job_done_args, "{'job':'j1','token':2,'state':'failed'}", .job = "j1", .token = 2, .state = "failed");
    IS_WRITTEN(trial_renew_args, "{'agent':'a','trials':[]}", .agent = "a");
    IS_WRITTEN(trial_lease_args, "{'max':4,'agent':'a','session_nonce':'n','wait_ms':20000}", .max = 4, .agent = "a",
               .session_nonce = "n", .wait_ms = 20000, .temperature = NAN, .load = NAN);
    IS_WRITTEN(agent_register_args,
               "{'agent':'a','nonce':'n','version':'1','key':'k','fingerprint':'f','device':{},'mix':false}",
               .agent = "a", .nonce = "n", .version = "1", .key = "k", .fingerprint = "f", .device = parse("{}"),
               .builds = true);
    IS_WRITTEN(agent_register_args,
               "{'agent':'a','nonce':'n','version':'1','key':'k','fingerprint':'f','mix':true,'arch':'sm_61',"
               "'builds':false,'capacity':30}",
               .agent = "a", .nonce = "n", .version = "1", .key = "k", .fingerprint = "f", .mix = true, .arch = "sm_61",
               .capacity = 30);
    IS_WRITTEN(agent_beat_args, "{'agent':'a','state':'idle','current':0,'temperature':40.5,'done':2,'failed':1}",
               .agent = "a", .state = "idle", .current = parse("0"), .temperature = 40.5, .load = NAN, .canary_ns = NAN,
               .done = 2, .failed = 1);
}

static void results_are_what_they_were(void **state)
{
    (void)state;
    IS_WRITTEN(job_lease_result, "{'job':null}", .job = NULL);
    IS_WRITTEN(job_lease_result,
               "{'job':'j1','token':2,'deadline_ms':30000,'title':'t','key':'','user':'u','body':'b','summary':''}",
               .job = "j1", .token = 2, .deadline_ms = 30000, .title = "t", .key = "", .user = "u", .body = "b",
               .summary = "");
    IS_WRITTEN(job_renew_result, "{'cancel':false,'deadline_ms':30000}", .deadline_ms = 30000);
    IS_WRITTEN(trial_added, "{'n':3,'trial':'t4','state':'open','record':null}", .n = 3, .trial = "t4",
               .state = "open");
    IS_WRITTEN(trial_renew_result, "{'lost':['t1'],'cancelled':[],'deadline_ms':1,'drain':true}",
               .lost = parse("['t1']"), .deadline_ms = 1, .drain = true);
    IS_WRITTEN(
        job_entry,
        "{'job':'j1','title':'','user':'','key':'k','state':'open','trials':{'open':1,'leased':0,'done':0,"
        "'lost':0},'best':null,'progress':null,'records':0,'created_ms':5,'done_ms':0,'priority':0,'position':0}",
        .job = "j1", .title = "", .user = "", .key = "k", .state = "open",
        .trials = trial_counts_write(&(struct trial_counts){.open = 1}), .created_ms = 5);
}

/* The example of docs/protocol.md. */
static void a_trials_body_is_what_it_was(void **state)
{
    const struct body_timing timing = {.protocol = "rounds-1",
                                       .rounds = 5,
                                       .rounds_near_best = 9,
                                       .min_calls = 3,
                                       .min_slot_ms = 5,
                                       .warmup = 1,
                                       .best_lnratio = NAN};
    const struct body_limits limits = {.build_s = 10, .run_s = 10, .memory_bytes = 2147483648.0};
    struct trial_body body = {.purpose = "search", .proposed_by = "init", .seed = 7, .key = "local-cpu"};

    (void)state;
    body.timing = body_timing_write(&timing);
    body.anchor = body_anchor_write(&(struct body_anchor){.epoch = 0});
    body.limits = body_limits_write(&limits);
    body.least_flops = 2.1e7;
    body.sheet = HEX;
    body.data_seed = 3040274339;
    body.prove = "least";
    body.fills = "1a2b3c4d";
    is_written(&trial_body_shape, &body,
               "{'purpose':'search','proposed_by':'init','seed':7,'key':'local-cpu','timing':{'protocol':'rounds-1',"
               "'rounds':5,'rounds_near_best':9,'min_calls':3,'min_slot_ms':5,'warmup':1,'best_ns':0,"
               "'best_lnratio':null},'anchor':{'epoch':0,'bridge':0},'limits':{'build_s':10,'run_s':10,"
               "'memory_bytes':2147483648},'least_flops':21000000,'sheet':'" HEX
               "','data_seed':3040274339,'prove':'least',"
               "'proven':false,'fills':'1a2b3c4d'}");
    IS_WRITTEN(trial_body, "{'seed':0,'timing':{}}", .timing = parse("{}"), .least_flops = NAN, .data_seed = 3);
}

static void what_is_left_out_has_its_default(void **state)
{
    cJSON *tree = parse("{'job':'j1','unknown':[1]}");
    struct record_wait_args wait;
    struct agent_register_result registered;
    struct trial_release_args release;

    (void)state;
    assert_int_equal(record_wait_args_read(tree, &wait, NULL), ERR_OK);
    assert_string_equal(wait.job, "j1");
    assert_int_equal(wait.after, 0);
    assert_int_equal(wait.max, 64);
    assert_int_equal(call_wait_ms(CALL_RECORD_WAIT, &wait), 0);
    wait.wait_ms = 7;
    assert_int_equal(call_wait_ms(CALL_RECORD_WAIT, &wait), 7);
    assert_int_equal(call_wait_ms(CALL_TRIAL_RELEASE, &release), 0);
    assert_int_equal(agent_register_result_read(tree, &registered, NULL), ERR_OK);
    assert_int_equal(registered.lease_ms, 30000);
    assert_false(registered.builds);
    cJSON_Delete(tree);
    tree = parse("{'trials':[]}");
    assert_int_equal(trial_release_args_read(tree, &release, NULL), ERR_OK);
    assert_true(release.counted);
    assert_int_equal(cJSON_GetArraySize(release.trials), 0);
    cJSON_Delete(tree);
    assert_int_equal(trial_release_args_read(NULL, &release, NULL), ERR_INPUT);
}

static void what_does_not_fit_is_refused_with_what_was_expected(void **state)
{
    static const struct {
        const struct call_shape *shape;
        const char *text;
        enum err err;
        const char *words;
    } bad[] = {
        {&job_submit_args_shape, "{}", ERR_INPUT,
         "x: member body: expected a string of at most 1048576 bytes; it is missing"},
        {&job_submit_args_shape, "{'body':7}", ERR_INPUT, "expected a string of at most 1048576 bytes; found 7"},
        {&job_submit_args_shape, "{'body':'','priority':4}", ERR_INPUT,
         "x: member priority: expected an integer from -3 to 3; found 4"},
        {&job_submit_args_shape, "{'body':'','priority':0.5}", ERR_INPUT, "an integer from -3 to 3; found 0.5"},
        {&job_submit_args_shape, "{'body':'','lease':1}", ERR_INPUT,
         "x: member lease: expected true or false; found 1"},
        {&job_release_args_shape, "{'job':'j0','token':1}", ERR_INPUT, "expected a job, e.g. j12; found 2 bytes, 'j0'"},
        {&job_release_args_shape, "{'job':'j1','token':-1}", ERR_INPUT, "an integer, at least 0; found -1"},
        {&job_release_args_shape, "{'job':'j1','token':9007199254740994}", ERR_INPUT, "an integer, at least 0; found"},
        {&job_release_args_shape, "{'job':null,'token':1}", ERR_INPUT, "found null"},
        {&job_done_args_shape, "{'job':'j1','token':1,'state':'done failed'}", ERR_INPUT,
         "x: member state: expected one of done failed cancelled; found 11 bytes, 'done failed'"},
        {&job_done_args_shape, "{'job':'j1','token':1,'state':''}", ERR_INPUT, "found 0 bytes, ''"},
        {&job_done_args_shape, "{'job':'j1','token':1,'state':'don'}", ERR_INPUT, "'don'"},
        {&job_done_args_shape, "{'job':'j1','token':1,'summary':[]}", ERR_INPUT,
         "expected an object; found a list of 0"},
        {&agent_beat_args_shape, "{'agent':'a','load':'high'}", ERR_INPUT, "expected a number; found 4 bytes, 'high'"},
        {&blob_have_args_shape, "{'sha256':{}}", ERR_INPUT, "a list of 0 to 1024, each a SHA-256 in hex; found {}"},
        {&builder_register_args_shape, "{'agent':'a','nonce':'','arches':[]}", ERR_INPUT, "found a list of 0"},
        {&builder_register_args_shape, "{'agent':'a','nonce':'','arches':[1]}", ERR_INPUT, "found a list of 1"},
        {&backup_args_shape, "{'path':'b'}", ERR_INPUT, "begins with /; found 1 bytes, 'b'"},
        {&trial_added_shape, "{'n':0,'record':false}", ERR_INPUT, "member record: expected a string; found false"},
        {&envelope_shape, "{'status':'ok','key':'12345678901234567890123456789012345678901234567890123456789012345'}",
         ERR_LIMIT, "x: member key: expected a string of at most 64 bytes; found 65 bytes, '1234"},
    };
    union call_args out;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cJSON *tree = parse(bad[i].text);
        struct why why = {""};

        assert_int_equal(call_read(bad[i].shape, "x", tree, &out, &why), bad[i].err);
        if (!strstr(why.text, bad[i].words))
            fail_msg("%s: '%s', expected '%s'", bad[i].text, why.text, bad[i].words);
        cJSON_Delete(tree);
    }
}

static void numbers_of_ids_are_read(void **state)
{
    static const char *const bad[] = {"", "j", "t1", "j0", "j-1", "j1x", "j1234567890123456", "J1", " j1"};
    int64_t id = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(call_id_parse(bad[i], 'j', &id), ERR_INPUT);
    assert_int_equal(call_id_parse("j123456789012345", 'j', &id), ERR_OK);
    assert_true(id == INT64_C(123456789012345));
}

/* ---- docs/protocol.md ---- */

/* Has the cell, from its beginning to the next " | " or end of line, the word between backticks? */
static bool cell_has(const char *cell, const char *end, const char *word)
{
    char wanted[64];
    const char *at;

    snprintf(wanted, sizeof wanted, "`%s`", word);
    at = strstr(cell, wanted);
    return at && at < end;
}

static bool shape_has(const struct call_shape *shape, const char *word, size_t n)
{
    for (const struct call_member *m = shape->members(); m->name; m++)
        if (strlen(m->name) == n && strncmp(m->name, word, n) == 0)
            return true;
    return false;
}

/* Compares what stands between backticks in the cell with the members. Gives the cell's end. */
static const char *compare(const char *row, const char *cell, const struct call_shape *shape)
{
    const char *end = cell;

    while (*end != '|' && *end != '\n')
        end++;
    for (const struct call_member *m = shape->members(); m->name; m++)
        if (!cell_has(cell, end, m->name))
            fail_msg("docs/protocol.md: row %s: expected `%s`", row, m->name);
    for (const char *p = cell; (p = memchr(p, '`', (size_t)(end - p))) != NULL; p++) {
        const char *word = p + 1;

        p = memchr(word, '`', (size_t)(end - word));
        assert_non_null(p);
        if (!shape_has(shape, word, (size_t)(p - word)))
            fail_msg("docs/protocol.md: row %s: %s has no member %.*s", row, shape->name, (int)(p - word), word);
    }
    return end;
}

/* The first cell behind the row's name. */
static const char *row_of(const char *page, const char *name)
{
    char wanted[64];
    const char *at;

    snprintf(wanted, sizeof wanted, "\n| %s |", name);
    at = strstr(page, wanted);
    if (!at)
        fail_msg("docs/protocol.md: expected a row for %s", name);
    if (strstr(at + 1, wanted))
        fail_msg("docs/protocol.md: two rows for %s", name);
    return at + strlen(wanted);
}

static int rows_of_table(const char *page, const char *head)
{
    const char *line = strstr(page, head);
    int n = -2; /* the head, and the line under it */

    assert_non_null(line);
    for (; line && line[0] == '|'; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        n++;
    return n;
}

static void every_call_and_member_is_in_the_page_and_no_other(void **state)
{
    static const struct call_shape *const parts[] = {
        &job_entry_shape,    &trial_counts_shape, &job_best_shape,     &trial_offer_shape, &trial_added_shape,
        &trial_grant_shape,  &built_code_shape,   &built_answer_shape, &trial_body_shape,  &body_timing_shape,
        &body_anchor_shape,  &body_limits_shape,  &cubin_shape,        &trial_ref_shape,   &envelope_shape,
        &record_entry_shape, &build_grant_shape,  &build_ref_shape,    &peer_entry_shape};
    struct buf page;

    (void)state;
    buf_init(&page, 1 << 20);
    assert_int_equal(file_read(TUNE_DOCS_DIR "/protocol.md", &page, NULL), ERR_OK);
    for (int i = 0; i < N_CALLS; i++) {
        const char *end = compare(call_table[i].name, row_of(page.data, call_table[i].name), call_table[i].args);

        assert_int_equal(*end, '|');
        compare(call_table[i].name, end + 1, call_table[i].result);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        compare(parts[i]->name, row_of(page.data, parts[i]->name), parts[i]);
    assert_int_equal(rows_of_table(page.data, "| op | args | result |"), N_CALLS);
    assert_int_equal(rows_of_table(page.data, "| part | members |"), sizeof parts / sizeof *parts);
    buf_fini(&page);
}

/* Parts of which a call or another part is made have a row of their own. */
static void every_part_of_a_call_has_a_row(void **state)
{
    struct buf page;

    (void)state;
    buf_init(&page, 1 << 20);
    assert_int_equal(file_read(TUNE_DOCS_DIR "/protocol.md", &page, NULL), ERR_OK);
#define CHECK(shape)                                                                                                   \
    for (const struct call_member *m = (shape)->members(); m->name; m++)                                               \
        if (m->of)                                                                                                     \
            row_of(page.data, m->of->name);
#define STRUCT(tag, members) CHECK(&tag##_shape)
#include "tracker/calls_list.h"
    buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_what_they_were),
        cmocka_unit_test(results_are_what_they_were),
        cmocka_unit_test(a_trials_body_is_what_it_was),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(what_does_not_fit_is_refused_with_what_was_expected),
        cmocka_unit_test(numbers_of_ids_are_read),
        cmocka_unit_test(every_call_and_member_is_in_the_page_and_no_other),
        cmocka_unit_test(every_part_of_a_call_has_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
