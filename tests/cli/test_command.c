/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/cli/shell.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

static char dir[256];

static void every_subcommand_has_help_with_an_example(void **state)
{
    static const char *const overview[] = {"--help", NULL};
    char names[TUNE_MAX_NAMES][32], line[64];
    struct buf said;
    size_t n;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(tune_run(dir, overview, &said), 0);
    n = tune_names(buf_text(&said), names);
    assert_in_range(n, 15, TUNE_MAX_NAMES - 1);
    for (size_t i = 0; i < n; i++) {
        const char *const args[] = {names[i], "--help", NULL};

        assert_int_equal(tune_run(dir, args, &said), 0);
        snprintf(line, sizeof line, "\nexample:\n  tune %.40s ", names[i]);
        if (!strstr(buf_text(&said), line))
            fail_msg("tune %s --help: no example of it in: %s", names[i], buf_text(&said));
    }
    buf_fini(&said);
}

static size_t n_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#define D "dense f32 m=1 n=1 k=1"

/* Each says in its line what is wrong, and what was expected. */
static const struct {
    const char *args[10], *words;
} refused[] = {
    {{"frobnicate"}, "no subcommand \"frobnicate\"; tune --help lists them"},
    {{"run"}, "no workload: expected e.g. \"dense f32 m=64 n=2048 k=512\", or --network NAME"},
    {{"run", "nonsense f32 n=1"}, "unknown operator \"nonsense\"; expected one of batch_gemm, conv2d"},
    {{"run", "conv2d f32 n=1 c=0 h=8 w=8 k=8 r=3 s=3"}, "c=0: expected 1 to 16777216 (input channels)"},
    {{"run", "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=3"}, "s is missing (window columns)"},
    {{"run", "conv2d f32 n=1 c=8 h=2 w=2 k=8 r=5 s=5"}, "the window covers 5 x 5, larger than the padded input 2 x 2"},
    {{"run", "dense f32 m=99999999999999999999 n=1 k=1"}, "m: the number does not fit in 64 bits"},
    {{"run", "dense f32 m=1 n=1 k=1 q=1"}, "no key in \"q=1\"; dense has the keys m n k"},
    {{"run", D, "--strategy", "luck"}, "no strategy \"luck\": expected one of auto, "},
    {{"run", D, "--trials", "0"}, "--trials 0: expected a number from 1 to 1000000"},
    {{"run", D, "--patience", "0"}, "--patience 0: expected a number from 1"},
    {{"run", D, "--time", "0"}, "--time 0: expected a number from 1 to 31536000"},
    {{"run", D, "--seed", "x"}, "--seed x: expected an integer of at most 64 bits"},
    {{"run", D, "--objective", "luck"}, "--objective luck: expected one of time, energy, edp"},
    {{"run", D, "--template", "luck"}, "no template \"luck\"; tune spaces WORKLOAD lists them"},
    {{"run", D, "--target", "fast"}, "--target fast: expected a rate such as 500GFLOPS or a time such as 1.2ms"},
    {{"run", D, "--target", "500"}, "--target 500: expected a rate such as 500GFLOPS or a time such as 1.2ms"},
    {{"run", D, "--min-gain", "0.01"}, "--min-gain 0.01: expected a percentage above 0 and below 100, such as 1%"},
    {{"submit", D, "--min-gain", "200%"}, "--min-gain 200%: expected a percentage above 0 and below 100, such as 1%"},
    {{"run", D, "--trails", "5"}, "unknown option --trails (did you mean --trials?)"},
    {{"run", D, "--trials", "5,6"}, "--trials 5,6: expected one number, as there is one workload"},
    {{"run", D, "dense f32 m=2 n=1 k=1", "dense f32 m=3 n=1 k=1", "--trials", "5,6"},
     "--trials 5,6: expected one number for all workloads, or one for each of the 3"},
    {{"run", D, "dense f32 n=1 k=1 m=1"}, "dense f32 n=1 k=1 m=1 is given twice"},
    {{"submit"}, "no workload: expected e.g."},
    {{"submit", D, "--device", "opencl"}, "--device opencl: a submitted job names its device by --key"},
    {{"list", "--tracker", ""}, "--tracker '': expected an address, e.g. tcp://127.0.0.1:9477"},
    {{"list", "--tracker", "ftp://farm:9477"}, "ftp://farm:9477 is no address of a tracker: expected tcp://HOST:PORT"},
    {{"list", "--state", "luck"}, "--state luck: expected one of all, open, "},
    {{"list", "--max", "0"}, "--max 0: expected a number from 1 to 10000"},
    {{"run", "--network", "alexnot"}, "unknown network 'alexnot'; there are: "},
    {{"run", "--network", "vgg-16", "--dtype", "i4"}, "--dtype i4: expected one of f32, f16, i8, u8"},
    {{"run", "--network", "vgg-16", "--layout", "nwhc"},
     "--layout nwhc: expected some of nchw, nchw4c, nchw8c, nchw16c, nhwc"},
    {{"run", D, "--dtype", "i8"}, "--dtype and --layout are for --network; a workload names its own"},
    {{"run", "--device", "replay:/dev/null/none.json"}, "/dev/null/none.json cannot be read: Not a directory"},
    {{"measure"}, "expected one workload, e.g. "},
    {{"measure", D, "--config", ""}, "are missing"},
    {{"attach"}, "expected a job, e.g. j12"},
    {{"attach", "j1", "j2"}, "stray argument \"j2\""},
    {{"attach", "1"}, "'1': expected a job, e.g. j12"},
    {{"requeue"}, "expected a job or a lost trial, e.g. j12 or t345"},
    {{"requeue", "j1", "x5"}, "'x5': expected a job or a lost trial, e.g. j12 or t345"},
    {{"pause"}, "expected a job, e.g. j12"},
    {{"pause", "t1"}, "'t1': expected a job, e.g. j12"},
    {{"resume"}, "expected a job, e.g. j12"},
    {{"status", "j1", "j2"}, "stray argument \"j2\""},
    {{"status", ""}, "'': expected a job, e.g. j12"},
    {{"list", "open"}, "stray argument \"open\""},
    {{"devices", "x"}, "expected drain AGENT..., undrain AGENT..., or reserve AGENT... USER"},
    {{"devices", "reserve", "a1"}, "expected drain AGENT..., undrain AGENT..., or reserve AGENT... USER"},
    {{"work", "x"}, "stray argument \"x\""},
    {{"work", "--lease", "j1"}, "--lease j1: expected a job and its token, e.g. j12:1"},
    {{"doctor", "x"}, "stray argument \"x\""},
    {{"best"}, "no log: expected e.g. conv.jsonl"},
    {{"best", "/dev/null/none.jsonl"}, "/dev/null/none.jsonl: Not a directory"},
    {{"report"}, "no log: expected e.g. conv.jsonl"},
    {{"recheck"}, "expected one best log, e.g. conv.best.jsonl"},
    {{"recheck", "a", "b"}, "expected one best log, e.g. conv.best.jsonl"},
    {{"log"}, "tune log needs a verb; tune log --help lists them"},
    {{"hub"}, "tune hub needs a verb; tune hub --help lists them"},
    {{"hub", "push", "http://127.0.0.1:1/x"}, "expected the logs, or the folder of a bundle, after the URL"},
    {{"hub", "push", "http://127.0.0.1:1/x/", "a.jsonl"},
     "/x/: expected the URL of a log, e.g. http://127.0.0.1:1/x/rk3399.jsonl"},
    {{"deploy", "a.jsonl", "--check", "/tmp"}, "--check DIR takes no log"},
    {{"deploy", "--check", "/dev/null/none"}, "/dev/null/none/manifest.json: Not a directory"},
    {{"import"}, "expected a model, and -o DIR or --dry-run"},
    {{"import", "/dev/null/none.onnx", "-o", "/tmp/never-written"}, "/dev/null/none.onnx: Not a directory"},
    {{"keygen"}, "expected one file name, e.g. tune keygen farm.key"},
    {{"keygen", "-"}, "-: a key goes into a file of its own"},
    {{"keygen", "a", "b"}, "expected one file name, e.g. tune keygen farm.key"},
    {{"keygen", "--key-file", "farm.key", "a"},
     "--key-file: expected --agent, --builder, --user, --tuner or --admin, too"},
    {{"keygen", "--agent", "a", "b"}, "expected --key-file: the key of --agent is made of the farm's"},
    {{"model"}, "tune model needs a verb; tune model --help lists them"},
    {{"model", "eval"}, "tune model eval needs tables: expected F.csv..."},
    {{"model", "eval", "/dev/null/none.csv", "--sizes", "1"},
     "--sizes 1: expected up to 16 numbers from 2 on, separated by commas"},
    {{"model", "eval", "/dev/null/none.csv", "--sizes", "4,"}, "--sizes 4,: expected up to 16 numbers from 2 on"},
    {{"model", "eval", "/dev/null/none.csv", "--sizes", "4,x"}, "--sizes 4,x: expected up to 16 numbers from 2 on"},
    {{"model", "eval", "a.csv", "--in", "b.json"}, "stray argument \"a.csv\""},
    {{"model", "train", "--in", "/dev/null/none.csv"}, "tune model train needs --out"},
    {{"model", "train", "--in", "a.csv", "--out", "b.json", "--source", "c", "--space", "d"},
     "--space and --late do not go together with --source"},
    {{"model", "predict", "--in", "/dev/null/none.csv"}, "tune model predict needs --model"},
    {{"model", "predict", "--in", "a.csv", "--model", "b.json", "c"}, "stray argument \"c\""},
    {{"show"}, "expected one workload, e.g. "},
    {{"show", D, "--template", "a,b"}, "--template a,b: expected one id; tune run and tune spaces take a list"},
    {{"show", D, "--config", "a"}, "'a': expected name=value"},
    {{"spaces"}, "no workload: expected e.g. "},
    {{"spaces", "--network", "vgg-17"}, "unknown network 'vgg-17'; there are: "},
    {{"spaces", "--network", "vgg-16", D}, "either workloads or --network, not both"},
    {{"cancel"}, "expected a job, e.g. j12"},
    {{"ladder"}, "expected rnn \"cell=lstm"},
    {{"ladder", D}, "the ladder is one of rnn with pass=fwd, expected rnn \"cell=lstm"},
    {{"ladder", "rnn", "cell=lstm pass=bwd_data i=4 h=4 b=4 t=2"}, "the ladder is one of rnn with pass=fwd"},
    {{"replay"}, "no recorded space: expected --space FILE.json"},
    {{"replay", "--space", "/dev/null/none.json"}, "/dev/null/none.json: Not a directory"},
    {{"replay", "--space", "/dev/null/none.json", "--budget", "0"}, "--budget 0: expected a number from 1 to 1000000"},
    {{"replay", "--space", TUNE_RECORDED_DIR "/tiles.json", "--strategy", "random", "--model", "gbdt"},
     "--model is of the strategies auto and model; --strategy random has none"},
    {{"replay", "--space", TUNE_RECORDED_DIR "/tiles.json", "--strategy", "luck"},
     "no strategy \"luck\": expected one of auto, "},
    {{"replay", "--space", "/dev/null/none.json", "--model", "luck"}, "--model luck: expected one of gbdt, ridge"},
};

static void bad_input_gets_one_clear_line_and_exit_1(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *const *args = refused[i].args;
        const int code = tune_run(dir, args, &said);

        if (code != 1 || n_lines(buf_text(&said)) != 1 || strncmp(buf_text(&said), "tune: ", 6) != 0 ||
            !strstr(buf_text(&said), refused[i].words))
            fail_msg("%s %s: exit %d, expected '%s', said: %s", args[0], args[1] ? args[1] : "", code, refused[i].words,
                     buf_text(&said));
    }
    buf_fini(&said);
}

static void keygen_writes_a_private_file_once(void **state)
{
    char path[300];
    const char *const args[] = {"keygen", path, NULL};
    struct buf said, key;
    struct stat s;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&key, 4096);
    snprintf(path, sizeof path, "%s/farm.key", dir);
    assert_int_equal(tune_run(dir, args, &said), 0);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    assert_int_equal(file_read(path, &key, NULL), ERR_OK);
    assert_int_equal(key.len, 65);
    assert_int_equal(tune_run(dir, args, &said), 1);
    buf_fini(&key);
    buf_fini(&said);
}

/* What stands there names a tracker that cannot be: at once, not when all tries are over. */
static void an_address_that_cannot_be_is_refused_by_name(void **state)
{
    static const char *const urls[] = {"tcp://127.0.0.1:99999", "tcp4://127.0.0.1:65536", "127.0.0.1:0",
                                       "tcp://[::1]:x",         "ws://127.0.0.1:9477",    "ipx:9477:1x"};
    char words[128];
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        const char *const list[] = {"list", "--tracker", urls[i], NULL}, *const work[] = {"work", "--tracker", urls[i],
                                                                                          NULL};

        snprintf(words, sizeof words, "%s is no address of a tracker: expected tcp://HOST:PORT", urls[i]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(tune_run(dir, k ? work : list, &said), 1);
            if (!strstr(buf_text(&said), words))
                fail_msg("expected '%s' in: %s", words, buf_text(&said));
        }
    }
    buf_fini(&said);
}

static void a_folder_without_kernels_is_refused_by_name(void **state)
{
    const char *const dirs[] = {"/dev/null", tune_at(dir, "no-kernels")};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < 2; i++) {
        const char *const args[] = {"show", "dense f32 m=1 n=1 k=1", "--kernel-dir", dirs[i], NULL};
        char words[400];

        snprintf(words, sizeof words, "tune: %s/preamble.h: %s; expected a folder of kernel files", dirs[i],
                 i ? "No such file or directory" : "Not a directory");
        assert_int_equal(tune_run(dir, args, &said), 1);
        if (!strstr(buf_text(&said), words))
            fail_msg("expected '%s' in: %s", words, buf_text(&said));
    }
    buf_fini(&said);
}

/* Before anything is sent: a pull would ask for the name as a log. */
static void a_bundle_is_pushed_to_an_url_with_a_slash_at_its_end(void **state)
{
    const char *const help[] = {"hub", "--help", NULL};
    const char *const push[] = {"hub", "push", "http://127.0.0.1:1/x.jsonl", dir, "--tries", "1", NULL};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    if (tune_run(dir, help, &said) == 0) { /* else a build without libcurl */
        assert_int_equal(tune_run(dir, push, &said), 1);
        assert_string_equal(buf_text(&said), "tune: http://127.0.0.1:1/x.jsonl: the URL of a bundle ends with '/': "
                                             "expected http://127.0.0.1:1/x.jsonl/\n");
    }
    buf_fini(&said);
}

/* ---- spaces in files ---- */

/* 3 x 2 x 30 configs; a times b is even: (1 2 3) x (1 2) has 4 such, each with 30 of c. */
static const char *space_file(void)
{
    const char *path = tune_at(dir, "space.json");
    struct buf text;

    buf_init(&text, 4096);
    buf_puts(&text,
             "{\"space\":\"s\",\"params\":[{\"name\":\"a\",\"values\":[1,2,3]},{\"name\":\"b\",\"values\":[1,2]},"
             "{\"name\":\"c\",\"values\":[");
    for (int i = 0; i < 30; i++)
        buf_printf(&text, "%s%d", i ? "," : "", 100 + i);
    buf_puts(&text, "]}],\"restrictions\":[\"a * b % 2 == 0\"]}");
    assert_int_equal(file_replace(path, buf_text(&text), text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
    return path;
}

static void asked(int code, struct buf *said, const char *const *args)
{
    const int got = tune_run(dir, args, said);

    if (got != code)
        fail_msg("%s: exit %d, expected %d: %s", args[0], got, code, buf_text(said));
}

#define ASK(code, ...) asked(code, &said, (const char *const[]){__VA_ARGS__, NULL})

static void spaces_of_files_are_listed_and_asked(void **state)
{
    const char *f = space_file();
    char first[100];
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    ASK(0, "spaces", "--file", f, "--count");
    assert_string_equal(buf_text(&said), "120\n");
    ASK(0, "spaces", "--file", f, "--list");
    assert_int_equal(n_lines(buf_text(&said)), 120);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(buf_text(&said), "\n"), buf_text(&said));
    ASK(0, "spaces", "--file", f, "--index", "0");
    assert_int_equal(strncmp(buf_text(&said), first, strlen(first)), 0);
    ASK(0, "spaces", "--file", f, "--config", first);
    assert_int_equal(strncmp(buf_text(&said), "valid: line 0 of 120, index ", 28), 0);
    ASK(0, "spaces", "--file", f, "--index", "119");
    assert_string_equal(buf_text(&said), "a=3 b=2 c=129\n");
    ASK(1, "spaces", "--file", f, "--index", "120");
    assert_string_equal(buf_text(&said), "tune: --index 120: expected 0 to 119\n");
    ASK(0, "spaces", "--file", f, "--sample", "7", "--seed", "3");
    assert_int_equal(n_lines(buf_text(&said)), 7);
    ASK(0, "spaces", "--file", f, "--config", "a=2 b=1 c=100");
    assert_int_equal(strncmp(buf_text(&said), "valid: line ", 12), 0);
    assert_non_null(strstr(buf_text(&said), " of 120, index "));
    ASK(2, "spaces", "--file", f, "--config", "a=3 b=1 c=100");
    assert_string_equal(buf_text(&said), "not valid: a * b % 2 == 0\n");
    ASK(1, "spaces", "--file", f, "--config", "a=9 b=1 c=100");
    ASK(0, "spaces", "--file", f);
    assert_non_null(strstr(buf_text(&said), "3 knobs, 180 configs, 120 valid\n"));
    assert_non_null(strstr(buf_text(&said), " 122 123 ...\n")); /* 24 values of a knob are shown */
    assert_null(strstr(buf_text(&said), "with "));
    ASK(0, "spaces", "--file", f, "-v");
    assert_non_null(strstr(buf_text(&said), "    with a * b % 2 == 0\n"));
    ASK(1, "spaces", "--file", f, "dense f32 m=1 n=1 k=1");
    ASK(1, "spaces", "dense f32 m=1 n=1 k=1", "--count");
    assert_non_null(strstr(buf_text(&said), "--count asks about a space in a file"));
    buf_fini(&said);
}

/* What cannot be: exit 2, as when no config was found; with --count the number comes all the same. */
static void a_space_without_configs_is_exit_2(void **state)
{
    static const char text[] = "{\"space\":\"s\",\"params\":[{\"name\":\"a\",\"values\":[1,2]}],"
                               "\"restrictions\":[\"a > 2\"]}";
    const char *f = tune_at(dir, "none.json");
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(file_replace(f, text, sizeof text - 1, 0600, NULL), ERR_OK);
    ASK(2, "spaces", "--file", f, "--list");
    assert_non_null(strstr(buf_text(&said), "the constraints leave no config"));
    ASK(2, "spaces", "--file", f, "--count");
    assert_non_null(strstr(buf_text(&said), "0\n")); /* words on standard error may come before it */
    buf_fini(&said);
}

static void keys_of_operators_are_a_table(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    ASK(0, "spaces", "--keys");
    assert_non_null(strstr(buf_text(&said), "| dense | values | default | what it is |\n|---|---|---|---|\n"));
    assert_non_null(strstr(buf_text(&said), "| `m` | "));
    assert_non_null(strstr(buf_text(&said), "; or h,w; or top,left,bottom,right | 0 | "));
    buf_fini(&said);
}

/* ---- standard output ---- */

/* Exit code with standard output and errors into files of their own. */
static int run_apart(const char *out, const char *err, const char *const *argv)
{
    char program[4096];
    const char *all[16] = {program};
    struct proc_options o = {.argv = all, .in_fd = -1, .pass_fd = -1};
    pid_t pid = 0;

    snprintf(program, sizeof program, "%s/tune", getenv("TUNE_BIN_DIR") ? getenv("TUNE_BIN_DIR") : "bin");
    for (int i = 0; argv[i]; i++)
        all[i + 1] = argv[i];
    o.out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    o.err_fd = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(proc_start(&o, &pid, NULL), ERR_OK);
    close(o.out_fd);
    close(o.err_fd);
    return tune_end(pid, 20000);
}

static void errors_go_to_standard_error_and_results_to_output(void **state)
{
    static const char *const cases[][4] = {
        {"log", "frobnicate", NULL}, {"frobnicate", NULL}, {"log", NULL}, {"run", NULL}, {NULL}};
    const char *out = tune_at(dir, "out"), *err = tune_at(dir, "err");
    static const char *const version[] = {"--version", NULL};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run_apart(out, err, cases[i]), 1);
        buf_clear(&text);
        assert_int_equal(file_read(out, &text, NULL), ERR_OK);
        assert_string_equal(buf_text(&text), "");
    }
    assert_int_equal(run_apart(out, err, version), 0);
    buf_clear(&text);
    assert_int_equal(file_read(out, &text, NULL), ERR_OK);
    assert_int_equal(strncmp(buf_text(&text), "tune " TUNE_VERSION " ", sizeof "tune " TUNE_VERSION), 0);
    buf_fini(&text);
}

/* A full disk is no success. */
static void output_that_cannot_be_written_is_exit_1(void **state)
{
    static const char *const keys[] = {"spaces", "--keys", NULL}, *const help[] = {"run", "--help", NULL};
    const char *err = tune_at(dir, "err");
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(run_apart("/dev/full", err, keys), 1);
    assert_int_equal(file_read(err, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), "tune: standard output could not be written: the disk, or a quota, is full\n");
    assert_int_equal(run_apart("/dev/full", err, help), 1);
    buf_fini(&text);
}

/* "tcp://" and 9477 are what lacks; what cannot be an address is told as it was completed. */
static void an_address_is_completed(void **state)
{
    static const char *const cases[][2] = {{"http://farm", "http://farm:9477"},
                                           {"http://farm:1", "http://farm:1"},
                                           {"farm:0", "tcp://farm:0"},
                                           {"farm:", "tcp://farm:"},
                                           {"tcp://farm:70000", "tcp://farm:70000"}};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char words[160];

        snprintf(words, sizeof words, "tune: %s is no address of a tracker: ", cases[i][1]);
        ASK(1, "list", "--tracker", cases[i][0]);
        if (strncmp(buf_text(&said), words, strlen(words)) != 0)
            fail_msg("%s: %s", cases[i][0], buf_text(&said));
    }
    buf_fini(&said);
}

/* A port of this machine where somebody listens and says nothing. */
static int listen_silently(char *url, size_t n_url)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    snprintf(url, n_url, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void the_first_ctrl_c_ends_the_wait_for_a_tracker(void **state)
{
    char url[64], words[160];
    const char *const args[] = {"list", "--tracker", url, NULL};
    const int listener = listen_silently(url, sizeof url);
    struct buf said;
    pid_t pid;
    int peer;

    (void)state;
    buf_init(&said, 1 << 20);
    pid = tune_start(tune_at(dir, "waited"), args);
    peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(tool_said(pid, tune_at(dir, "waited"), &said), 4);
    snprintf(words, sizeof words, "tune: interrupted; the tracker at %s did not answer so far\n", url);
    assert_string_equal(buf_text(&said), words);
    close(peer);
    close(listener);
    buf_fini(&said);
}

/* Where the hub is built in, and where it is not: bad input is exit 1, nobody there 3. */
static void a_hub_that_does_not_answer_is_exit_3(void **state)
{
    static const char *const bad[][6] = {{"hub", NULL},
                                         {"hub", "push", NULL},
                                         {"hub", "push", "http://127.0.0.1:1/x.jsonl", NULL},
                                         {"hub", "push", "http://127.0.0.1:1/", "/dev/null", NULL},
                                         {"hub", "push", "http://127.0.0.1:1/", "/tmp", "/tmp", NULL},
                                         {"hub", "pull", "http://127.0.0.1:1/x.jsonl", NULL},
                                         {"hub", "list", "gopher://127.0.0.1/", NULL},
                                         {"hub", "list", "http://127.0.0.1:1/", "x", NULL}};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        asked(1, &said, bad[i]);
    ASK(1, "hub");
    if (!strstr(buf_text(&said), "no subcommand")) {
        ASK(3, "hub", "list", "http://127.0.0.1:1/", "--tries", "1");
        assert_non_null(strstr(buf_text(&said), "http://127.0.0.1:1/: no connection"));
        ASK(3, "hub", "pull", "http://127.0.0.1:1/x.jsonl", "-o", tune_at(dir, "pulled.jsonl"), "--tries", "1");
        assert_int_not_equal(access(tune_at(dir, "pulled.jsonl"), F_OK), 0);
    }
    buf_fini(&said);
}

/* ---- paths ---- */

/* Folders of 200 letters within each other; the last one's path. */
static const char *deep_folder(char *out, size_t n_out)
{
    size_t n = (size_t)snprintf(out, n_out, "%s", dir);

    for (int i = 0; i < 4; i++) {
        n += (size_t)snprintf(out + n, n_out - n, "/%0200d", i);
        assert_int_equal(mkdir(out, 0700), 0);
    }
    return out;
}

/* The recorded space of the examples, copied there. */
static void copy_example(const char *folder, const char *name)
{
    char from[1100], to[1100];
    struct buf text;

    buf_init(&text, 1 << 20);
    snprintf(from, sizeof from, TUNE_RECORDED_DIR "/%s", name);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    assert_int_equal(file_read(from, &text, NULL), ERR_OK);
    assert_int_equal(file_replace(to, text.data, text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
}

static void a_recorded_space_may_lie_deep(void **state)
{
    char folder[1000], device[1100];
    const char *const args[] = {"run", "--device", device, "--dry-run", NULL};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    copy_example(deep_folder(folder, sizeof folder), "tiles.json");
    copy_example(folder, "tiles.csv");
    assert_true(strlen(folder) > 800);
    snprintf(device, sizeof device, "replay:%s/tiles.json", folder);
    if (tune_run(dir, args, &said) != 0)
        fail_msg("%s", buf_text(&said));
    assert_non_null(strstr(buf_text(&said), "replay space=tiles  (x 1): 100 trials, 0 done\n"));
    assert_non_null(strstr(buf_text(&said), " 60 valid of 72 configs\n")); /* 30 of 36 pairs of tiles, unroll 0 or 1 */
    snprintf(device, sizeof device, "replay:%s/none.json", folder);
    assert_int_equal(tune_run(dir, args, &said), 1);
    assert_non_null(strstr(buf_text(&said), "none.json cannot be read: No such file or directory\n"));
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_subcommand_has_help_with_an_example),
        cmocka_unit_test(bad_input_gets_one_clear_line_and_exit_1),
        cmocka_unit_test(keygen_writes_a_private_file_once),
        cmocka_unit_test(an_address_that_cannot_be_is_refused_by_name),
        cmocka_unit_test(a_folder_without_kernels_is_refused_by_name),
        cmocka_unit_test(a_bundle_is_pushed_to_an_url_with_a_slash_at_its_end),
        cmocka_unit_test(spaces_of_files_are_listed_and_asked),
        cmocka_unit_test(a_space_without_configs_is_exit_2),
        cmocka_unit_test(keys_of_operators_are_a_table),
        cmocka_unit_test(errors_go_to_standard_error_and_results_to_output),
        cmocka_unit_test(output_that_cannot_be_written_is_exit_1),
        cmocka_unit_test(an_address_is_completed),
        cmocka_unit_test(the_first_ctrl_c_ends_the_wait_for_a_tracker),
        cmocka_unit_test(a_hub_that_does_not_answer_is_exit_3),
        cmocka_unit_test(a_recorded_space_may_lie_deep),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
