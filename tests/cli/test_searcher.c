/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/cli/shell.h"

#include <math.h>

#define SPACE TUNE_RECORDED_DIR "/tiles.json"

static char dir[256];

/* A searcher in the shell's words: notes what it is told, and its n-th answer is answers[n]. */
static void searcher(const char *const *answers, char *out, size_t n_out)
{
    size_t n = (size_t)snprintf(out, n_out,
                                "exec:i=0; while read -r l; do echo \"$l\" >>%s/told; case $l in *'\"ask\"'*) "
                                "i=$((i + 1)); case $i in ",
                                dir);

    for (size_t i = 0; answers[i]; i++)
        n += (size_t)snprintf(out + n, n_out - n, "%zu) echo '%s' ;; ", i + 1, answers[i]);
    snprintf(out + n, n_out - n, "esac ;; esac; done");
}

static int replay(const char *strategy, struct buf *said)
{
    const char *const args[] = {"replay", "--space", SPACE, "--strategy", strategy, "--budget", "9", NULL};

    return tune_run(dir, args, said);
}

static const char *behind(const char *text, const char *part)
{
    const char *at = strstr(text, part);

    if (!at)
        fail_msg("'%s' expected in: %s", part, text);
    return at + strlen(part);
}

static void a_searcher_is_asked_and_told(void **state)
{
    static const char *const answers[] = {"{\"configs\":[{\"tile_x\":2,\"tile_y\":2,\"unroll\":1}]}",
                                          "{\"configs\":[{\"unroll\":0,\"tile_y\":4,\"tile_x\":1}]}",
                                          "{\"configs\":[{\"tile_x\":2,\"tile_y\":2,\"unroll\":1}]}",
                                          "{\"configs\":[{\"tile_x\":32,\"tile_y\":32,\"unroll\":0}]}",
                                          "{\"configs\":[]}",
                                          NULL};
    static const char first[] = "{\"event\":\"tell\",\"knobs\":{\"tile_x\":2,\"tile_y\":2,\"unroll\":1},\"value\":";
    char strategy[4096], told[512];
    const char *at;
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    searcher(answers, strategy, sizeof strategy);
    assert_int_equal(replay(strategy, &said), 0);
    behind(buf_text(&said), "\"traj\":[9,0]"); /* the rows of tiles.csv, counted from 0 */

    snprintf(told, sizeof told, "%s/told", dir);
    assert_int_equal(file_read(told, &said, NULL), ERR_OK);
    behind(buf_text(&said), "\"knobs\":{\"tile_x\":[1,2,4,8,16,32],\"tile_y\":[1,2,4,8,16,32],\"unroll\":[0,1]}");
    behind(buf_text(&said), "\"budget\":9");
    at = behind(buf_text(&said), first);
    assert_true(fabs(strtod(at, NULL) - log(.7811)) < 1e-9); /* its row's milliseconds */
    at = behind(at, "{\"event\":\"tell\",\"knobs\":{\"tile_x\":1,\"tile_y\":4,\"unroll\":0},\"value\":");
    assert_true(fabs(strtod(at, NULL) - log(1.1016)) < 1e-9);
    at = behind(at, first); /* asked for twice, told twice, measured once: its own value, not the last one's */
    assert_true(fabs(strtod(at, NULL) - log(.7811)) < 1e-9);
    behind(at, "\"unroll\":0},\"value\":null,\"violated\":\"tile_x*tile_y<=256\"}");
    buf_fini(&said);
}

static void what_is_wrong_with_a_searcher_is_one_line(void **state)
{
    static const struct {
        const char *strategy, *words;
    } cases[] = {
        {"exec:exit 3", "strategy exec: the searcher ended with exit code 3"},
        {"exec:kill -9 $$", "strategy exec: the searcher was ended by signal 9"},
        {"exec:echo no", "an answer of the searcher: "},
        {"exec:echo '{\"configs\":3}'", "an answer of the searcher: "},
        {"exec:echo '{\"configs\":[{\"tile\":1}]}'", "a config of the searcher: unknown knob 'tile'"},
        {"exec:echo '{\"configs\":[{},{}]}'", "2 configs, where 1 were asked for"},
        {"exec", "expected exec:COMMAND"},
        {"exec:", "expected one of auto"},
    };
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(replay(cases[i].strategy, &said), 1);
        behind(buf_text(&said), cases[i].words);
        assert_ptr_equal(strchr(buf_text(&said), '\n'), buf_text(&said) + said.len - 1);
    }
    assert_int_equal(replay("exec:true", &said), 0); /* ends well: there is no more */
    behind(buf_text(&said), "\"traj\":[]");
    buf_fini(&said);
}

static void a_command_is_sent_to_no_tracker(void **state)
{
    static const char *const args[] = {"submit", "dense f32 m=1 n=1 k=1", "--strategy", "exec:true", NULL};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(tune_run(dir, args, &said), 1);
    behind(buf_text(&said), "a submitted job has none");
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_searcher_is_asked_and_told),
        cmocka_unit_test(what_is_wrong_with_a_searcher_is_one_line),
        cmocka_unit_test(a_command_is_sent_to_no_tracker),
    };
    const char *tmp = getenv("TMPDIR");
    char remove[300];
    int failed;

    snprintf(dir, sizeof dir, "%s/searcher.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(remove, sizeof remove, "rm -r '%s'", dir);
    return system(remove) || failed;
}
