/* SPDX-License-Identifier: MIT */
/* Subcommands that need a device, on one that answers from a recording: a farm, private ones too, without any driver.
 * The space is examples/recorded/tiles.csv: 60 configs, four of which do not compile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/clock.h"
#include "core/csvz.h"
#include "core/json.h"
#include "tests/cli/shell.h"

#include <math.h>

#define TILES "replay:" TUNE_RECORDED_DIR "/tiles.json"
#define DENSE "dense f32 m=8 n=8 k=8"
#define FARM "--tracker", url /* of the farm that lives as long as this process */

static char dir[256], url[64];
static pid_t tracker, agent;
static struct buf said;

static void expect(int code, const char *words, const char *const *args)
{
    const int got = tune_run(dir, args, &said);

    if (got != code || !strstr(buf_text(&said), words))
        fail_msg("tune %s: exit %d, expected %d and '%s'; said: %s", args[0], got, code, words, buf_text(&said));
}

#define EXPECT(code, words, ...) expect(code, words, (const char *const[]){__VA_ARGS__, NULL})

static void says(const char *words)
{
    if (!strstr(buf_text(&said), words))
        fail_msg("expected '%s' in: %s", words, buf_text(&said));
}

/* The objects of a text, one a line; other lines are passed over. */
static cJSON *objects_of(const char *text)
{
    cJSON *list = cJSON_CreateArray(), *o;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if ((o = cJSON_ParseWithLength(text, strcspn(text, "\n"))) != NULL)
            cJSON_AddItemToArray(list, o);
    return list;
}

static cJSON *objects_in(const char *path)
{
    cJSON *list;
    struct buf text;

    buf_init(&text, 1 << 24);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    list = objects_of(buf_text(&text));
    buf_fini(&text);
    return list;
}

static const char *text_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static int n_with(const cJSON *list, const char *name, const char *value)
{
    const cJSON *o;
    int n = 0;

    cJSON_ArrayForEach(o, list) n += strcmp(text_of(o, name), value) == 0;
    return n;
}

/* The least time of the recording, in ms. */
static double least_recorded(void)
{
    struct csvz t;
    double least = INFINITY;

    assert_int_equal(csvz_read(TUNE_RECORDED_DIR "/tiles.csv", &t, NULL), ERR_OK);
    for (size_t i = 0; i < t.n_rows; i++)
        if (strcmp(csvz_text(&t, i, (size_t)csvz_column(&t, "status")), "ok") == 0)
            least = fmin(least, csvz_number(&t, i, (size_t)csvz_column(&t, "time_ms")));
    csvz_fini(&t);
    return least;
}

static void a_run_with_a_trial_for_each_config_finds_the_best(void **state)
{
    const char *log = tune_at(dir, "all.jsonl");
    cJSON *events, *records;
    const cJSON *done, *task;

    (void)state;
    EXPECT(0, "\"event\":\"done\"", "run", "--device", TILES, "--trials", "60", "--json", "-o", log);
    events = objects_of(buf_text(&said));
    records = objects_in(log);
    done = cJSON_GetArrayItem(events, cJSON_GetArraySize(events) - 1);
    assert_string_equal(text_of(done, "event"), "done");
    assert_string_equal(text_of(done, "end"), "done");
    task = cJSON_GetArrayItem(cJSON_GetObjectItem(done, "tasks"), 0);
    assert_string_equal(text_of(task, "workload"), "replay space=tiles");
    assert_true(number_of(task, "trials") == 60 && number_of(task, "failed") == 4);
    assert_true(fabs(number_of(cJSON_GetObjectItem(task, "best"), "time_ns") - 1e6 * least_recorded()) < 1);
    assert_int_equal(n_with(records, "purpose", "search"), 60);
    assert_int_equal(n_with(records, "status", "compile"), 4);
    assert_true(n_with(events, "event", "submitted") >= 60 / 8);
    assert_int_equal(n_with(events, "event", "best") + n_with(events, "event", "measured"),
                     cJSON_GetArraySize(records));
    for (int i = 0; i < cJSON_GetArraySize(events); i++)
        assert_true(number_of(cJSON_GetArrayItem(events, i), "seq") == i + 1);
    cJSON_Delete(events);
    cJSON_Delete(records);
    EXPECT(0, "replay/tiles", "best", log, "-o", tune_at(dir, "copy.best.jsonl"));
    says("0.46 ms");
    EXPECT(0, "", "best", log, "--json");
    records = objects_of(buf_text(&said));
    assert_int_equal(cJSON_GetArraySize(records), 1);
    assert_true(fabs(number_of(cJSON_GetArrayItem(records, 0), "time_ns") - 1e6 * least_recorded()) < 1);
    cJSON_Delete(records);
    EXPECT(2, "no valid config in these logs", "best", log, "--key", "other");
    EXPECT(0, "<svg", "log", "plot", log, "-o", "-");
    EXPECT(0, "60 configs\n", "model", "table", "--in", log, "--out", tune_at(dir, "all.csv"));
    EXPECT(0, "", "model", "train", "--in", tune_at(dir, "all.csv"), "--out", tune_at(dir, "all.json"));
    EXPECT(1, "holds no record of that workload", "model", "table", "--in", log, "--out", tune_at(dir, "no.csv"),
           "--workload", DENSE);
    EXPECT(2, "nothing was measured again", "recheck", tune_at(dir, "all.best.jsonl"), FARM);
    says("0 still the best, 0 beaten, 0 broken, 1 skipped, 0 drifted"); /* no template makes it anew */
    says("skipped: it is of a recorded space");
}

static void the_same_command_goes_on_where_the_log_ends(void **state)
{
    const char *log = tune_at(dir, "on.jsonl");
    cJSON *records;

    (void)state;
    EXPECT(0, "10 trials", "run", "--device", TILES, FARM, "--trials", "10", "-q", "-o", log);
    EXPECT(0, "16 trials", "run", "--device", TILES, FARM, "--trials", "16", "-q", "-o", log);
    records = objects_in(log);
    assert_int_equal(n_with(records, "purpose", "search"), 16);
    for (int i = 0; i < cJSON_GetArraySize(records); i++) {
        const cJSON *o = cJSON_GetArrayItem(records, i);

        if (strcmp(text_of(o, "purpose"), "search") == 0)
            assert_int_equal(n_with(records, "program", text_of(o, "program")), 1); /* none twice */
    }
    cJSON_Delete(records);
    EXPECT(0, ": 20 trials, 16 done\n", "run", "--device", TILES, FARM, "--trials", "20", "--dry-run", "-o", log);
    EXPECT(0, ": 20 trials, 0 done\n", "run", "--device", TILES, FARM, "--trials", "20", "--dry-run", "-o",
           tune_at(dir, "no.jsonl"));
    assert_int_not_equal(access(tune_at(dir, "no.jsonl"), F_OK), 0);
}

/* As on a full disk: the table comes all the same, and the job is done. */
static void a_best_log_that_cannot_be_written_costs_no_table(void **state)
{
    const char *log = tune_at(dir, "full.jsonl");

    (void)state;
    assert_int_equal(dir_make(tune_at(dir, "full.best.jsonl"), 0700, NULL), ERR_OK);
    EXPECT(1, "\nlog: ", "run", "--device", TILES, "--trials", "10", "-q", "-o", log);
    says("replay space=tiles");
    says("full.best.jsonl: ");
    assert_null(strstr(buf_text(&said), "   best: ")); /* there is none */
}

static void a_target_a_patience_and_a_gain_end_a_run(void **state)
{
    (void)state;
    EXPECT(0, "stopped: ", "run", "--device", TILES, FARM, "--target", "100ms", "-q", "-o",
           tune_at(dir, "target.jsonl"));
    says("target");
    EXPECT(0, "stopped: ", "run", "--device", TILES, FARM, "--patience", "2", "-q", "-o",
           tune_at(dir, "patience.jsonl"));
    assert_null(strstr(buf_text(&said), "its trials are spent"));
    EXPECT(1, "expected", "run", "--device", TILES, FARM, "--layout", "nchw", "-o", tune_at(dir, "none.jsonl"),
           "--records", TUNE_RECORDED_DIR "/tiles.csv");
}

/* What the farm's own programs say when they end comes with its words. */
static void a_farm_that_cannot_start_says_why(void **state)
{
    const char *log = tune_at(dir, "never.jsonl");

    (void)state;
    EXPECT(1, "tune-agent ended: ", "run", DENSE, "--device", "toaster", "-q", "-o", log);
    says("unknown device 'toaster', expected one of: ");
    EXPECT(1, "/none.json", "run", "--kernel-spec", "/none.json", "-o", log);
    EXPECT(1, "brings its own work", "run", DENSE, "--device", TILES, "-o", log);
    EXPECT(1, "brings its own kernel", "run", DENSE, "--kernel-spec", "/none.json", "-o", log);
    EXPECT(1, "--whole is for --network", "run", DENSE, "--whole", "-o", log);
    EXPECT(1, "either workloads or --network", "run", DENSE, "--network", "vgg-16", "-o", log);
    assert_int_not_equal(access(log, F_OK), 0);
}

static void spaces_of_a_workload_are_told(void **state)
{
    (void)state;
    EXPECT(0, "dense f32 m=8 n=8 k=8: ", "spaces", DENSE, FARM, "--template", "dense/gemm_direct", "-v");
    says("dense/gemm_direct@");
    says("    with "); /* -v: its constraints */
    says("    default: ");
    assert_null(strstr(buf_text(&said), "dense/gemm_packed@"));
    EXPECT(0, "dense/gemm_packed@", "spaces", DENSE, FARM);
    assert_null(strstr(buf_text(&said), "    with "));
    EXPECT(1, "unknown operator", "spaces", "dance f32", FARM);
    EXPECT(1, "--list asks about a space in a file", "spaces", DENSE, "--list");
}

static void a_config_is_shown_as_text_and_as_a_program(void **state)
{
    cJSON *program;

    (void)state;
    EXPECT(0, "\nlaunches:\n", "show", DENSE, FARM, "--template", "dense/gemm_direct");
    says("#define ");
    says("GFLOP a run");
    EXPECT(0, "{", "show", DENSE, FARM, "--template", "dense/gemm_direct", "--program");
    program = cJSON_Parse(buf_text(&said));
    assert_string_equal(text_of(program, "template"), "dense/gemm_direct");
    assert_string_equal(text_of(program, "workload"), DENSE);
    cJSON_Delete(program);
    EXPECT(1, "knobs 'mdimcd', 'ndimcd'", "show", DENSE, FARM, "--template", "dense/gemm_direct", "-c", "wgd=8");
    EXPECT(1, "rnn/plan", "show", DENSE, FARM, "--template", "rnn/plan");
}

/* The recording knows no other kernel: that is a record, and exit code 2. */
static void what_the_device_cannot_run_is_a_record(void **state)
{
    const char *log = tune_at(dir, "one.jsonl");
    cJSON *printed, *stored;

    (void)state;
    EXPECT(2, "limits (build)", "measure", DENSE, FARM);
    says("knob 'tile_x' of the recorded space is missing");
    EXPECT(2, "\"status\":\"limits\"", "measure", DENSE, FARM, "--json", "-o", log);
    printed = objects_of(buf_text(&said));
    stored = objects_in(log);
    assert_int_equal(cJSON_GetArraySize(stored), 1);
    assert_true(cJSON_Compare(printed, stored, true));
    cJSON_Delete(printed);
    cJSON_Delete(stored);
    EXPECT(1, "or --kernel-spec FILE, or --program FILE", "measure", DENSE, "--program", "x.json");
    EXPECT(1, "x.json", "measure", "--program", "x.json", FARM);
}

static void each_step_of_a_ladder_that_fails_says_why(void **state)
{
    cJSON *steps;

    (void)state;
    EXPECT(2, "", "ladder", "rnn", "cell=lstm i=4 h=4 l=1 b=1 t=2", FARM, "--json", "-q");
    steps = objects_of(buf_text(&said));
    assert_int_equal(cJSON_GetArraySize(steps), 8);
    assert_int_equal(n_with(steps, "status", "limits"), 8);
    assert_string_equal(text_of(cJSON_GetArrayItem(steps, 0), "step"), "baseline");
    cJSON_Delete(steps);
    EXPECT(2, "\nbaseline ", "ladder", "rnn", "cell=lstm i=4 h=4 l=1 b=1 t=2", FARM, "-q");
}

static void the_doctor_says_which_hop_fails(void **state)
{
    (void)state;
    EXPECT(0, "made up; ", "doctor", "--device", TILES);
    says("ok     store directory ");
    says("no tracker named");
    EXPECT(1, "FAILED replay:/none.json ", "doctor", "--device", "replay:/none.json");
    EXPECT(1, "FAILED device ", "doctor", "--device", "toaster");
    EXPECT(1, "FAILED key ", "doctor", "--device", TILES, "--key", "two words");
    EXPECT(1, "FAILED store directory ", "doctor", "--device", TILES, "--store", "/dev/null/store");
    EXPECT(3, "FAILED connection ", "doctor", "--device", TILES, "--tracker", "127.0.0.1:1");
    says("refused: no tracker listens");
    EXPECT(3, "FAILED key file ", "doctor", "--device", TILES, "--tracker", "127.0.0.1:1", "--key-file", "/dev/null/k");
}

/* ---- tune replay: the same space without a farm ---- */

#define SPACE TUNE_RECORDED_DIR "/tiles.json"

/* Is the trajectory n different rows of the table's 60? */
static void is_path(const cJSON *line, int n)
{
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(line, "traj");
    bool seen[60] = {false};

    assert_int_equal(cJSON_GetArraySize(path), n);
    for (int i = 0; i < n; i++) {
        const int row = cJSON_GetArrayItem(path, i)->valueint;

        assert_in_range(row, 0, 59);
        assert_false(seen[row]);
        seen[row] = true;
    }
}

static void replayed_runs_are_lines_and_repeat_by_seed(void **state)
{
    const char *file = tune_at(dir, "runs.jsonl");
    cJSON *first, *again;

    (void)state;
    EXPECT(0, "", "replay", "--space", SPACE, "--strategy", "random", "--budget", "10", "--seeds", "3", "--seed", "5");
    first = objects_of(buf_text(&said));
    assert_int_equal(cJSON_GetArraySize(first), 3);
    assert_int_equal(n_with(first, "method", "random"), 3);
    for (int i = 0; i < 3; i++) {
        is_path(cJSON_GetArrayItem(first, i), 10);
        assert_true(number_of(cJSON_GetArrayItem(first, i), "seed") == 5 + i);
    }
    EXPECT(0, "", "replay", SPACE, "--strategy", "random", "--budget", "10", "--seed", "6", "-o", file, "--method",
           "mine");
    assert_string_equal(buf_text(&said), "");
    again = objects_in(file);
    assert_int_equal(n_with(again, "method", "mine"), 1);
    assert_true(cJSON_Compare(cJSON_GetObjectItem(cJSON_GetArrayItem(first, 1), "traj"),
                              cJSON_GetObjectItem(cJSON_GetArrayItem(again, 0), "traj"), true));
    cJSON_Delete(first);
    cJSON_Delete(again);
    EXPECT(1, "/dev/null/x: Not a directory", "replay", "--space", SPACE, "-o", "/dev/null/x");
    EXPECT(1, "/dev/full: No space left on device", "replay", "--space", SPACE, "-o", "/dev/full");
    EXPECT(1, "no recorded space", "replay", "--space", "");
}

/* All 60 in batches and with a model; a budget beyond them ends with them. */
static void a_replay_ends_with_its_space(void **state)
{
    cJSON *line;

    (void)state;
    EXPECT(0, "", "replay", "--space", SPACE, "--strategy", "model", "--model", "gbdt", "--budget", "1000", "--batch",
           "7");
    line = cJSON_Parse(buf_text(&said));
    is_path(line, 60);
    cJSON_Delete(line);
}

/* Another device's recording of the same kernel: the best of it comes early. The space's own name is left out. */
static void a_history_warms_a_replay(void **state)
{
    const char *json = tune_at(dir, "other.json"), *csv = tune_at(dir, "other.csv");
    cJSON *line, *cold;
    struct buf text;
    char *name;

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(SPACE, &text, NULL), ERR_OK);
    name = strstr(text.data, "\"tiles\""); /* the member "space" comes first */
    memcpy(name, "\"other\"", 7);
    assert_int_equal(file_replace(json, text.data, text.len, 0600, NULL), ERR_OK);
    buf_clear(&text);
    assert_int_equal(file_read(TUNE_RECORDED_DIR "/tiles.csv", &text, NULL), ERR_OK);
    assert_int_equal(file_replace(csv, text.data, text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
    EXPECT(0, "", "replay", "--space", SPACE, "--budget", "10", "--history", json);
    line = cJSON_Parse(buf_text(&said));
    is_path(line, 10);
    EXPECT(0, "", "replay", "--space", SPACE, "--budget", "10", "--history", SPACE);
    cold = cJSON_Parse(buf_text(&said));
    is_path(cold, 10);
    assert_false(cJSON_Compare(cJSON_GetObjectItem(line, "traj"), cJSON_GetObjectItem(cold, "traj"), true));
    cJSON_Delete(line);
    cJSON_Delete(cold);
    EXPECT(1, "/none.json", "replay", "--space", SPACE, "--history", "/none.json");
}

/* A farm of recordings is told so at once, and nothing is measured. */
static void what_a_recording_cannot_measure_is_no_job(void **state)
{
    const char *log = tune_at(dir, "refused.jsonl");
    char other[300];

    (void)state;
    snprintf(other, sizeof other, "replay:%s/other.json", dir);
    EXPECT(1, "the device is a recording (recorded tiles) and measures no workload", "run", DENSE, FARM, "-o", log);
    EXPECT(1, "another recording (recorded tiles) than the job's (recorded other)", "run", "--device", other, FARM,
           "-o", log);
    assert_int_not_equal(access(log, F_OK), 0);
    EXPECT(1, "measures no workload", "submit", DENSE, FARM);
}

static pid_t start_program(const char *name, const char *const *args)
{
    char program[4096];
    const char *argv[16] = {program};

    snprintf(program, sizeof program, "%s/%s", getenv("TUNE_BIN_DIR"), name);
    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    return tool_start(tune_at(dir, name), argv);
}

static void read_url(void)
{
    struct buf text;

    buf_init(&text, sizeof url - 1);
    while (file_read(tune_at(dir, "url"), &text, NULL) != ERR_OK)
        clock_sleep_ms(5);
    snprintf(url, sizeof url, "%s", buf_text(&text));
    buf_fini(&text);
}

static int start_farm(void **state)
{
    (void)state;
    tracker = start_program("tune-tracker",
                            (const char *const[]){"--listen", "tcp://127.0.0.1:0", "--workers", "0", "--store",
                                                  tune_at(dir, "store"), "--url-file", tune_at(dir, "url"), NULL});
    read_url();
    agent =
        start_program("tune-agent", (const char *const[]){"--tracker", url, "--device", TILES, "--key", "rec", NULL});
    do {
        clock_sleep_ms(5);
        EXPECT(0, "key", "devices", FARM);
    } while (!strstr(buf_text(&said), "\nrec "));
    return 0;
}

static int end_farm(void **state)
{
    int failed;

    (void)state;
    kill(agent, SIGTERM); /* it says goodbye to the tracker */
    failed = tune_end(agent, 20000);
    kill(tracker, SIGTERM);
    return failed || tune_end(tracker, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_with_a_trial_for_each_config_finds_the_best),
        cmocka_unit_test(the_same_command_goes_on_where_the_log_ends),
        cmocka_unit_test(a_best_log_that_cannot_be_written_costs_no_table),
        cmocka_unit_test(a_target_a_patience_and_a_gain_end_a_run),
        cmocka_unit_test(a_farm_that_cannot_start_says_why),
        cmocka_unit_test(spaces_of_a_workload_are_told),
        cmocka_unit_test(a_config_is_shown_as_text_and_as_a_program),
        cmocka_unit_test(what_the_device_cannot_run_is_a_record),
        cmocka_unit_test(each_step_of_a_ladder_that_fails_says_why),
        cmocka_unit_test(the_doctor_says_which_hop_fails),
        cmocka_unit_test(replayed_runs_are_lines_and_repeat_by_seed),
        cmocka_unit_test(a_replay_ends_with_its_space),
        cmocka_unit_test(a_history_warms_a_replay), /* it makes other.json */
        cmocka_unit_test(what_a_recording_cannot_measure_is_no_job),
    };
    int failed;

    if (dir_temporary("tune-replay", dir, sizeof dir, NULL))
        return 1;
    buf_init(&said, 1 << 22);
    failed = cmocka_run_group_tests(tests, start_farm, end_farm);
    buf_fini(&said);
    dir_remove(dir);
    return failed;
}
