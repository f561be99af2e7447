/* SPDX-License-Identifier: MIT */
/* What a child answers, on a device of the test's own; and a whole child: this program with an argument "--child". */
#include "agent/child.h"
#include "agent/child_ops.h"
#include "agent/cool.h"
#include "agent/frame.h"
#include "agent/lock.h"
#include "agent/measure.h"
#include "agent/sandbox.h"
#include "agent/workdir.h"
#include "core/file.h"
#include "asked_child.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct frame_reader reader;
static char stages[2048]; /* what the child told of itself: "load 0, load -1, time -2, " */

static int set_up(void **state)
{
    const int e = asked_begin(state);

    frame_reader_init(&reader, fds[0]);
    return e;
}

static int tear_down(void **state)
{
    frame_reader_fini(&reader);
    return asked_end(state);
}

static void read_stages(void)
{
    cJSON *frame = NULL;

    stages[0] = '\0';
    while (frame_read(&reader, 0, &frame, NULL) == ERR_OK) {
        const char *at = "";
        int64_t i = 99;

        json_get_text(frame, "at", &at, NULL);
        json_get_i64(frame, "i", -99, 99, &i, NULL);
        snprintf(stages + strlen(stages), sizeof stages - strlen(stages), "%s %lld, ", at, (long long)i);
        cJSON_Delete(frame);
        frame = NULL;
    }
}

static double number_of(const cJSON *o, const char *name)
{
    double v = NAN;

    json_get_real(o, name, &v, NULL);
    return v;
}

/* ---- describe ---- */

static void a_device_is_described_with_its_canary_on_demand(void **state)
{
    cJSON *plain = request("{}"), *canary = request("{\"canary\":true}"), *reply;

    (void)state;
    reply = child_describe(&child, plain);
    assert_string_equal(text_of(cJSON_GetObjectItem(reply, "device"), "name"), "fake");
    assert_true(number_of(reply, "canary_ns") == 0 && fake.n_canary_runs == 0);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(reply, "simulated")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "builds")));
    cJSON_Delete(reply);
    reply = child_describe(&child, canary);
    assert_true(number_of(reply, "canary_ns") == 1e6);
    assert_true(fabs(number_of(reply, "gflops") - canary_flops(child.canary) / 1e6) < 1e-9);
    assert_string_equal(text_of(reply, "canary_why"), "");
    cJSON_Delete(reply);
    cJSON_Delete(plain);
    cJSON_Delete(canary);
}

static void why_there_is_no_canary_is_said(void **state)
{
    cJSON *canary = request("{\"canary\":true}"), *reply;

    (void)state;
    fake.load_fails = true;
    reply = child_describe(&child, canary);
    assert_true(number_of(reply, "canary_ns") == 0 && number_of(reply, "gflops") == 0);
    assert_string_equal(text_of(reply, "canary_why"), "it does not fit");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(reply, "canary_unbuilt")));
    cJSON_Delete(reply);
    child = (struct child){.fd = fds[1], .ops = &fake_simulated_ops, .dir = dir.temp.path, .lock_fd = -1};
    reply = child_describe(&child, canary);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "canary_unbuilt")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "simulated")));
    cJSON_Delete(reply);
    cJSON_Delete(canary);
}

/* ---- verify ---- */

static cJSON *verify_with(const char *hex, const char *sheet)
{
    cJSON *ask = request("{\"op\":\"verify\",\"program\":\"%s\",\"sheet\":\"%s\"}", hex, sheet);
    cJSON *reply = child_verify(&child, ask);

    cJSON_Delete(ask);
    read_stages();
    assert_non_null(reply);
    return reply;
}

static cJSON *verify(const char *hex)
{
    return verify_with(hex, "");
}

static void a_program_that_is_right_is_ok(void **state)
{
    cJSON *reply = verify(store(sample_good, 64).hex);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "ok");
    assert_string_equal(text_of(reply, "stage"), "");
    assert_string_equal(text_of(reply, "why"), "");
    assert_string_equal(stages, "build -9, first -9, ");
    assert_true(number_of(reply, "build_ms") >= 5 && number_of(reply, "verify_ms") >= 0);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "once"))); /* its run may have compiled, too */
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(reply, "resources")), 1);
    cJSON_Delete(reply);
}

static void what_is_wrong_is_said_with_its_stage(void **state)
{
    cJSON *reply = verify(store(sample_wrong, 64).hex);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "wrong");
    assert_string_equal(text_of(reply, "stage"), "verify");
    assert_non_null(strstr(text_of(reply, "why"), "77"));
    cJSON_Delete(reply);
    reply = verify(store(sample_broken, 64).hex);
    assert_string_equal(text_of(reply, "status"), "compile");
    assert_string_equal(text_of(reply, "stage"), "build");
    assert_string_equal(text_of(reply, "why"), "the kernel does not compile\n3:20: error: no_such_name\n");
    assert_string_equal(stages, "build -9, ");
    cJSON_Delete(reply);
    reply = verify(store(sample_wild, 64).hex);
    assert_string_equal(text_of(reply, "status"), "runtime");
    assert_string_equal(text_of(reply, "stage"), "verify");
    cJSON_Delete(reply);
    fake.load_fails = true;
    reply = verify(store(sample_good, 64).hex);
    assert_string_equal(text_of(reply, "status"), "limits");
    assert_string_equal(text_of(reply, "stage"), "build");
    cJSON_Delete(reply);
}

static void a_program_that_is_not_there_fails_before_it_is_built(void **state)
{
    cJSON *ask = request("{}"), *reply = child_verify(&child, ask);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "runtime");
    assert_string_equal(text_of(reply, "stage"), "prepare");
    cJSON_Delete(reply);
    cJSON_Delete(ask);
    reply = verify("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    assert_string_equal(text_of(reply, "stage"), SANDBOX_START);
    cJSON_Delete(reply);
}

/* PoCL makes code when a kernel first runs: what the first pass took longer than the last is building. */
static void what_the_first_run_takes_longer_is_building(void **state)
{
    struct program_check *check;
    struct sha256 name;
    struct sample m;
    struct why why = {""};
    cJSON *reply;

    (void)state;
    sample_make(&m, sample_good, 64);
    check = program_pass_check_add(program_add_pass(&m.p, "again"), CHECK_SAMPLE, 1);
    check->n = SAMPLE_N;
    check->values = m.p.passes[0].checks[0].values;
    name = sample_seal(&m);
    for (size_t i = 0; i < m.blobs.n; i++)
        assert_int_equal(workdir_put(&dir, &m.blobs, m.blobs.items[i].name.hex, &why), ERR_OK);
    sample_fini(&m);
    fake.late_ns = 7000000;
    reply = verify(name.hex);
    assert_string_equal(text_of(reply, "status"), "ok");
    assert_string_equal(stages, "build -9, first -9, verify -9, ");
    assert_true(fabs(number_of(reply, "build_ms") - 12) < 1e-6);
    cJSON_Delete(reply);
}

/* Where compiling is apart from loading, both are building, and the device is wanted only for the second. */
static void compiling_ahead_counts_as_building(void **state)
{
    struct sha256 good = store(sample_good, 64), broken = store(sample_broken, 64);
    cJSON *reply;

    (void)state;
    child.ops = &fake_compiling_ops;
    child.cache_dir = dir.temp.path;
    reply = verify(good.hex);
    assert_true(number_of(reply, "build_ms") >= 10);
    cJSON_Delete(reply);
    reply = verify(broken.hex);
    assert_string_equal(text_of(reply, "status"), "compile");
    assert_non_null(strstr(text_of(reply, "why"), "no_such_name"));
    assert_int_equal(fake.n_loads, 1);
    cJSON_Delete(reply);
}

static void a_device_that_others_time_on_is_held_and_let_go(void **state)
{
    int other = -1;
    cJSON *reply;

    (void)state;
    assert_int_equal(lock_open("x", &child.lock_fd, NULL), ERR_OK);
    assert_int_equal(lock_open("x", &other, NULL), ERR_OK);
    reply = verify(store(sample_good, 64).hex);
    assert_string_equal(text_of(reply, "status"), "ok");
    assert_int_equal(lock_take(other, NULL, 0), ERR_OK);
    lock_close(other);
    lock_close(child.lock_fd);
    cJSON_Delete(reply);
}

/* Equal mistakes have equal words. */
static void the_childs_own_paths_are_left_out_of_words(void **state)
{
    struct why why = {""};
    char log[2 * PATH_MAX + 100];
    struct buf words;

    (void)state;
    snprintf(log, sizeof log, "%s/cache.0/tmp_17.cl:3:9: error: x\n%s/cache.0/tmp_17.cl:4: y", dir.temp.path,
             dir.temp.path);
    why_set(&why, ERR_COMPILE, "in %s/a.cl it fails", dir.temp.path);
    child_words(&child, ERR_COMPILE, &why, log, &words);
    assert_string_equal(buf_text(&words), "in kernel.cl it fails\nkernel.cl:3:9: error: x\nkernel.cl:4: y");
    buf_fini(&words);
    child_words(&child, ERR_DEVICE, &why, log, &words); /* the compiler's words are for what does not compile */
    assert_string_equal(buf_text(&words), "in kernel.cl it fails");
    buf_fini(&words);
    child_words(&child, ERR_OK, &why, log, &words);
    assert_string_equal(buf_text(&words), "");
    buf_fini(&words);
}

static void words_are_cut_at_4_kib(void **state)
{
    static char log[9000];
    struct why why = {"x"};
    struct buf words;

    (void)state;
    memset(log, 'y', sizeof log - 1);
    child_words(&child, ERR_COMPILE, &why, log, &words);
    assert_int_equal(strlen(buf_text(&words)), 4096);
    buf_fini(&words);
}

static void errors_are_statuses(void **state)
{
    static const struct {
        enum err e;
        enum record_status status;
    } cases[] = {{ERR_OK, STATUS_OK},           {ERR_COMPILE, STATUS_COMPILE}, {ERR_LIMITS, STATUS_LIMITS},
                 {ERR_LIMIT, STATUS_LIMITS},    {ERR_NOMEM, STATUS_LIMITS},    {ERR_WRONG, STATUS_WRONG},
                 {ERR_TIMEOUT, STATUS_TIMEOUT}, {ERR_DEVICE, STATUS_RUNTIME},  {ERR_INPUT, STATUS_RUNTIME}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(status_of_err(cases[i].e), cases[i].status);
}

/* sample_sheet in the work directory. */
static struct sha256 store_sheet(double first, double second, int i_wrong, bool second_is_last)
{
    struct sample m;
    const struct sha256 name = sample_sheet(&m, first, second, i_wrong, second_is_last);

    for (size_t i = 0; i < m.blobs.n; i++)
        assert_int_equal(workdir_put(&dir, &m.blobs, m.blobs.items[i].name.hex, NULL), ERR_OK);
    sample_fini(&m);
    return name;
}

/* The program's own passes call sample_wrong wrong, these have no y[77]. */
static void a_sheets_passes_take_the_place_of_the_programs(void **state)
{
    cJSON *reply = verify_with(store(sample_wrong, 64).hex, store_sheet(3, 4, 1, false).hex);

    (void)state;
    assert_string_equal(text_of(reply, "status"), "ok");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "once"))); /* the last pass is for who times it */
    cJSON_Delete(reply);
    reply = verify_with(store(sample_good, 64).hex, store_sheet(3, 4, 0, false).hex);
    assert_string_equal(text_of(reply, "status"), "wrong");
    assert_string_equal(text_of(reply, "why"), "pass first: y[9] is 4, expected 5; 1 of 10 wrong");
    cJSON_Delete(reply);
}

#define RULES "\"rounds\":3,\"rounds_near_best\":3,\"min_calls\":3,\"warmup\":1,\"min_slot_ns\":100000"

/* ---- time ---- */

static cJSON *time_with(const char *first, const char *second, const char *anchor, const char *more)
{
    char two[300] = "";
    cJSON *ask, *reply;

    if (second)
        snprintf(two, sizeof two, ",{\"program\":\"%s\"," RULES "}", second);
    ask = request("{\"op\":\"time\",\"anchor\":\"%s\",\"seed\":5%s,\"trials\":[{\"program\":\"%s\"," RULES
                  ",\"energy\":%s}%s]}",
                  anchor, more, first, strstr(more, "max_c") ? "true" : "false", two);
    reply = child_time(&child, ask);
    cJSON_Delete(ask);
    read_stages();
    assert_non_null(reply);
    return reply;
}

static const cJSON *trial_in(const cJSON *reply, int i)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "trials"), i);
}

static void a_batch_is_answered_trial_by_trial(void **state)
{
    struct sha256 good = store(sample_good, 64), slower = store(sample_slower, 64);
    cJSON *reply = time_with(good.hex, slower.hex, good.hex, "");
    const cJSON *o = trial_in(reply, 1);

    (void)state;
    assert_string_equal(text_of(o, "status"), "ok");
    assert_string_equal(text_of(o, "stage"), "");
    assert_true(number_of(o, "time_ns") == 40000 && fabs(number_of(o, "lnratio") - log(2)) < 1e-9);
    assert_true(number_of(o, "se") == 0 && number_of(o, "rounds") == 3 && number_of(o, "calls") == 9);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "samples")), 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "anchors")), 3);
    assert_true(fabs(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "anchors"), 2)->valuedouble - 20000) < 1e-6);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(o, "censored")));
    assert_true(number_of(o, "device_ms") > 0.5 && number_of(o, "device_ms") < 0.8);
    assert_null(cJSON_GetObjectItem(o, "energy_j"));
    assert_true(number_of(reply, "canary_before") == 1e6 && number_of(reply, "canary_after") == 1e6);
    assert_true(number_of(reply, "gflops") > 0);
    assert_string_equal(text_of(reply, "anchor_why"), "");
    cJSON_Delete(reply);
}

static void a_time_that_cannot_be_true_is_wrong(void **state)
{
    struct sha256 good = store(sample_good, 64);
    cJSON *ask = request("{\"op\":\"time\",\"seed\":5,\"trials\":[{\"program\":\"%s\"," RULES
                         ",\"least_flops\":1e15},{\"program\":\"%s\"," RULES ",\"least_flops\":1}]}",
                         good.hex, good.hex),
          *reply = child_time(&child, ask);

    (void)state;
    cJSON_Delete(ask);
    read_stages();
    assert_string_equal(text_of(trial_in(reply, 0), "status"), "wrong");
    assert_string_equal(text_of(trial_in(reply, 0), "stage"), "time");
    assert_non_null(strstr(text_of(trial_in(reply, 0), "why"), "too fast to be true"));
    assert_string_equal(text_of(trial_in(reply, 1), "status"), "ok");
    cJSON_Delete(reply);
}

/* Programs, anchor, canary, the candidate's first runs, then slot by slot: the parent's clock starts anew with each. */
static void a_child_tells_where_it_is(void **state)
{
    static const char begin[] = "load 0, load -1, load -2, time -2, time -1, time 0, time 0, time -2, time -1, ";
    struct sha256 good = store(sample_good, 64), slower = store(sample_slower, 64);

    (void)state;
    cJSON_Delete(time_with(slower.hex, NULL, good.hex, ""));
    assert_int_equal(strncmp(stages, begin, sizeof begin - 1), 0);
}

static cJSON *time_by(const char *rules)
{
    cJSON *ask = request("{\"trials\":[{\"program\":\"%s\"%s}]}", store(sample_good, 64).hex, rules), *reply;

    reply = child_time(&child, ask);
    cJSON_Delete(ask);
    read_stages();
    return reply;
}

static void what_is_not_said_is_the_protocols_default(void **state)
{
    cJSON *reply;

    (void)state;
    fake.good_ns = 1000000;
    reply = time_by(""); /* nine rounds, as no best is known; five calls of a millisecond fill a slot */
    assert_true(number_of(trial_in(reply, 0), "rounds") == 9 && number_of(trial_in(reply, 0), "calls") == 45);
    assert_true(fabs(number_of(reply, "gflops") - canary_flops(child.canary) / 1e6) < 1e-9);
    cJSON_Delete(reply);
    reply = time_by(",\"best_ns\":500000"); /* five, far from the best */
    assert_true(number_of(trial_in(reply, 0), "rounds") == 5);
    cJSON_Delete(reply);
    fake.good_ns = 2500000;
    reply = time_by(",\"rounds\":2,\"rounds_near_best\":2"); /* three calls at least, and one to warm */
    assert_true(number_of(trial_in(reply, 0), "calls") == 6);
    assert_int_equal(fake.n_runs, 9 * 6 + 2 + 5 * 6 + 2 + 2 * 4 + 2 + /* and 8 and 100 ms of each, one by one */ 8 + 8 +
                                      4 + 99 + 99 + 40);
    cJSON_Delete(reply);
}

/* A call takes 1 ms. The search told of nothing, of 0.9 ms, of 0.9 ms at a ratio of 1 to an anchor that is not there.
 */
static void what_was_timed_here_since_is_known_too(void **state)
{
    static const struct {
        const char *rules;
        double rounds;
        bool censored;
    } cases[] = {{",\"may_censor\":true", 9, false},
                 {",\"may_censor\":true,\"known_ns\":300000", 1, true},
                 {",\"may_censor\":true,\"known_ns\":500000", 5, false},
                 {",\"may_censor\":true,\"best_ns\":950000,\"known_ns\":300000", 1, true},
                 {",\"may_censor\":true,\"best_ns\":950000,\"known_ns\":2000000", 9, false},
                 {",\"known_ns\":300000", 5, false}};

    (void)state;
    fake.good_ns = 1000000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *reply = time_by(cases[i].rules);

        assert_true(number_of(trial_in(reply, 0), "rounds") == cases[i].rounds);
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(trial_in(reply, 0), "censored")), cases[i].censored);
        cJSON_Delete(reply);
    }
}

static void mad_rules_are_refused(void **state)
{
    static const char *const mad[][2] = {{",\"rounds\":33", "rounds: expected an integer from 1 to 32"},
                                         {",\"rounds_near_best\":0", "rounds_near_best: expected"},
                                         {",\"warmup\":-1", "warmup: expected"}};

    (void)state;
    for (size_t i = 0; i < sizeof mad / sizeof mad[0]; i++) {
        cJSON *reply = time_by(mad[i][0]);

        assert_string_equal(text_of(trial_in(reply, 0), "status"), "runtime");
        assert_non_null(strstr(text_of(trial_in(reply, 0), "why"), mad[i][1]));
        cJSON_Delete(reply);
    }
}

static void the_last_anchor_stays_loaded(void **state)
{
    struct sha256 good = store(sample_good, 64), slower = store(sample_slower, 64);

    (void)state;
    cJSON_Delete(time_with(slower.hex, NULL, good.hex, ""));
    assert_non_null(strstr(stages, "load -1"));
    cJSON_Delete(time_with(slower.hex, NULL, good.hex, ""));
    assert_null(strstr(stages, "load -1"));
    assert_string_equal(child.anchor_hex, good.hex);
    cJSON_Delete(time_with(good.hex, NULL, slower.hex, ""));
    assert_non_null(strstr(stages, "load -1"));
    assert_string_equal(child.anchor_hex, slower.hex);
    cJSON_Delete(time_with(good.hex, NULL, "", ""));
    assert_string_equal(child.anchor_hex, slower.hex);  /* the next batch may want it again */
    assert_int_equal(fake.n_loads - fake.n_unloads, 2); /* it and the canary */
}

/* Which is the agent's affair, not the kernel's (farm.c). */
static void a_program_that_cannot_be_read_is_not_begun(void **state)
{
    static const char missing[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct sha256 good = store(sample_good, 64);
    cJSON *reply = time_with(missing, good.hex, "", "");

    (void)state;
    assert_string_equal(text_of(trial_in(reply, 0), "stage"), SANDBOX_START);
    assert_string_equal(text_of(trial_in(reply, 1), "status"), "ok");
    cJSON_Delete(reply);
}

static void what_cannot_be_loaded_fails_alone(void **state)
{
    struct sha256 good = store(sample_good, 64), broken = store(sample_broken, 64);
    cJSON *reply = time_with(broken.hex, good.hex, "", "");

    (void)state;
    assert_string_equal(text_of(trial_in(reply, 0), "status"), "compile");
    assert_string_equal(text_of(trial_in(reply, 0), "stage"), "load");
    assert_string_equal(text_of(trial_in(reply, 1), "status"), "ok");
    cJSON_Delete(reply);
}

static void an_anchor_that_cannot_be_loaded_is_told(void **state)
{
    struct sha256 good = store(sample_good, 64), broken = store(sample_broken, 64);
    cJSON *reply = time_with(good.hex, NULL, broken.hex, "");

    (void)state;
    assert_string_equal(text_of(reply, "anchor_why"), "the kernel does not compile");
    assert_string_equal(text_of(trial_in(reply, 0), "status"), "ok");
    assert_null(cJSON_GetObjectItem(trial_in(reply, 0), "lnratio"));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trial_in(reply, 0), "anchors")), 0);
    assert_null(child.anchor);
    cJSON_Delete(reply);
}

static void outputs_that_change_are_wrong_at_time(void **state)
{
    cJSON *reply = time_with(store(sample_lazy, 64).hex, NULL, "", "");

    (void)state;
    assert_string_equal(text_of(trial_in(reply, 0), "status"), "wrong");
    assert_string_equal(text_of(trial_in(reply, 0), "stage"), "time");
    assert_non_null(strstr(text_of(trial_in(reply, 0), "why"), "outputs after"));
    assert_null(cJSON_GetObjectItem(trial_in(reply, 0), "time_ns"));
    cJSON_Delete(reply);
}

static void sensors_are_read_round_a_batch(void **state)
{
    struct sha256 good = store(sample_good, 64);
    cJSON *reply;
    const cJSON *sense;

    (void)state;
    fake.known = SENSE_TEMPERATURE;
    fake.sense.temperature_c = 55;
    reply = time_with(good.hex, NULL, "", ",\"cool\":{\"max_c\":60}");
    sense = cJSON_GetObjectItem(reply, "sense");
    assert_true(number_of(cJSON_GetObjectItem(sense, "before"), "temperature_c") == 55);
    assert_true(number_of(cJSON_GetObjectItem(sense, "during"), "temperature_c") == 55);
    assert_true(number_of(cJSON_GetObjectItem(sense, "after"), "temperature_c") == 55);
    assert_string_equal(text_of(trial_in(reply, 0), "status"), "runtime"); /* energy, which it does not tell */
    assert_string_equal(text_of(trial_in(reply, 0), "cause"), "no_energy");
    cJSON_Delete(reply);
    child.ops = &fake_blind_ops;
    reply = time_with(good.hex, NULL, "", "");
    assert_null(cJSON_GetObjectItem(reply, "sense"));
    cJSON_Delete(reply);
}

static void records_need_no_canary_and_no_check(void **state)
{
    struct sha256 good = store(sample_good, 64);
    cJSON *reply;

    (void)state;
    child.ops = &fake_simulated_ops;
    reply = verify(store(sample_wrong, 64).hex);
    assert_string_equal(text_of(reply, "status"), "ok");
    cJSON_Delete(reply);
    reply = time_with(good.hex, NULL, good.hex, "");
    assert_true(number_of(trial_in(reply, 0), "lnratio") == 0 && number_of(trial_in(reply, 0), "se") == 0);
    assert_true(number_of(reply, "canary_before") == 0);
    assert_int_equal(fake.n_canary_runs, 0);
    cJSON_Delete(reply);
}

/* Who of several broke the device is told, and the process ends; one alone is answered for. */
static void a_process_that_lost_its_device_ends_telling_where(void **state)
{
    struct sha256 good = store(sample_good, 64), bomb = store(sample_bomb, 64);
    cJSON *reply;
    int status = 0;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        cJSON *ask =
            request("{\"trials\":[{\"program\":\"%s\"," RULES "},{\"program\":\"%s\"," RULES "}]}", good.hex, bomb.hex);

        child_time(&child, ask);
        _exit(7); /* it did not end */
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(WEXITSTATUS(status), 1);
    read_stages();
    assert_non_null(strstr(stages, "time 1, "));
    assert_string_equal(stages + strlen(stages) - 8, "time 1, ");
    reply = time_with(bomb.hex, NULL, "", "");
    assert_string_equal(text_of(trial_in(reply, 0), "status"), "runtime");
    assert_non_null(strstr(text_of(trial_in(reply, 0), "why"), "illegal address"));
    cJSON_Delete(reply);
}

/* ---- a whole child ---- */

static const struct sandbox_limits limits = {.start_s = 20, .build_s = 20, .run_s = 20};

static cJSON *ask(struct sandbox *s, cJSON *takes, struct sandbox_end *end)
{
    cJSON *reply = NULL;

    sandbox_ask(s, takes, &limits, &reply, end);
    return reply;
}

static void write_space(char *device, size_t n)
{
    static const char table[] = "bx,status,time_ms,cost_ms,compile_ms\n1,ok,2.5,1,40\n2,compile,,1,45\n4,ok,5,1,1\n";
    static const char head[] = "{\"space\":\"toy-card\",\"device\":\"card\",\"params\":[{\"name\":\"bx\"}]}";
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/toy.csv", dir.temp.path);
    assert_int_equal(file_replace(path, table, strlen(table), 0600, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/toy.json", dir.temp.path);
    assert_int_equal(file_replace(path, head, strlen(head), 0600, NULL), ERR_OK);
    snprintf(device, n, "replay:%s", path);
}

static struct sha256 store_knobs(int bx)
{
    struct sha256 name;
    struct sample m;

    program_init(&m.p);
    blobs_init(&m.blobs, 1 << 20);
    m.p.workload = strdup("toy");
    m.p.template_id = strdup("");
    m.p.flops = 1e6;
    strcpy(m.p.api, "replay");
    m.p.knobs = request("{\"bx\":%d}", bx);
    name = sample_seal(&m);
    assert_int_equal(workdir_put(&dir, &m.blobs, name.hex, NULL), ERR_OK);
    sample_fini(&m);
    return name;
}

static void start(struct sandbox *s, const char *mode, const char *device)
{
    const struct sandbox_options o = {.mode = mode, .device = device, .dir = dir.temp.path, .cache_dir = ""};
    struct why why = {""};

    sandbox_init(s, NULL, NULL);
    if (sandbox_start(s, &o, &why))
        fail_msg("%s", why.text);
}

static void a_process_answers_for_a_recorded_space(void **state)
{
    const struct sha256 fast = store_knobs(1), none = store_knobs(2), slow = store_knobs(4);
    struct sandbox s;
    struct sandbox_end end;
    char device[PATH_MAX + 32];
    cJSON *reply;

    (void)state;
    write_space(device, sizeof device);
    start(&s, "time", device);
    reply = ask(&s, request("{\"op\":\"describe\"}"), &end);
    assert_string_equal(text_of(cJSON_GetObjectItem(reply, "device"), "name"), "card");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "simulated")));
    cJSON_Delete(reply);
    reply = ask(&s, request("{\"op\":\"verify\",\"program\":\"%s\"}", none.hex), &end);
    assert_string_equal(text_of(reply, "status"), "compile");
    cJSON_Delete(reply);
    reply = ask(
        &s, request("{\"op\":\"time\",\"anchor\":\"%s\",\"trials\":[{\"program\":\"%s\"}]}", fast.hex, slow.hex), &end);
    assert_true(number_of(trial_in(reply, 0), "time_ns") == 5e6);
    assert_true(fabs(number_of(trial_in(reply, 0), "lnratio") - log(2)) < 1e-9);
    cJSON_Delete(reply);
    assert_null(ask(&s, request("{\"op\":\"frobnicate\"}"), &end)); /* what no child knows is its end */
    assert_int_equal(end.fate, SANDBOX_DIED);
    sandbox_end_child(&s);
}

static void a_device_that_cannot_be_opened_is_refused_in_words(void **state)
{
    struct sandbox s;
    struct sandbox_end end;
    cJSON *reply;

    (void)state;
    start(&s, "time", "replay:/nowhere.json");
    for (int i = 0; i < 2; i++) {
        reply = ask(&s, request("{\"op\":\"describe\"}"), &end);
        assert_non_null(strstr(text_of(reply, "refused"), "/nowhere.json"));
        cJSON_Delete(reply);
    }
    sandbox_end_child(&s);
}

#define AS_CHILD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        AS_CHILD(a_device_is_described_with_its_canary_on_demand),
        AS_CHILD(why_there_is_no_canary_is_said),
        AS_CHILD(a_program_that_is_right_is_ok),
        AS_CHILD(what_is_wrong_is_said_with_its_stage),
        AS_CHILD(a_program_that_is_not_there_fails_before_it_is_built),
        AS_CHILD(what_the_first_run_takes_longer_is_building),
        AS_CHILD(compiling_ahead_counts_as_building),
        AS_CHILD(a_device_that_others_time_on_is_held_and_let_go),
        AS_CHILD(the_childs_own_paths_are_left_out_of_words),
        AS_CHILD(words_are_cut_at_4_kib),
        AS_CHILD(errors_are_statuses),
        AS_CHILD(a_batch_is_answered_trial_by_trial),
        AS_CHILD(a_sheets_passes_take_the_place_of_the_programs),
        AS_CHILD(a_time_that_cannot_be_true_is_wrong),
        AS_CHILD(a_child_tells_where_it_is),
        AS_CHILD(what_is_not_said_is_the_protocols_default),
        AS_CHILD(what_was_timed_here_since_is_known_too),
        AS_CHILD(mad_rules_are_refused),
        AS_CHILD(the_last_anchor_stays_loaded),
        AS_CHILD(a_program_that_cannot_be_read_is_not_begun),
        AS_CHILD(what_cannot_be_loaded_fails_alone),
        AS_CHILD(an_anchor_that_cannot_be_loaded_is_told),
        AS_CHILD(outputs_that_change_are_wrong_at_time),
        AS_CHILD(sensors_are_read_round_a_batch),
        AS_CHILD(records_need_no_canary_and_no_check),
        AS_CHILD(a_process_that_lost_its_device_ends_telling_where),
        AS_CHILD(a_process_answers_for_a_recorded_space),
        AS_CHILD(a_device_that_cannot_be_opened_is_refused_in_words),
    };

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
