/* SPDX-License-Identifier: MIT */
/* What the documents and the help list is what there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kernels/operator.h"
#include "kernels/template.h"
#include "runtime/device.h"
#include "tests/cli/shell.h"
#include "formats/convert.h"
#include "search/strategy.h"

static char dir[256];

static void read_doc(const char *name, struct buf *out)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", TUNE_DOCS_DIR, name);
    buf_clear(out);
    assert_int_equal(file_read(path, out, NULL), ERR_OK);
}

/* Does the text have the word, with no letter, digit or dash on either side? */
static bool has_word(const char *text, const char *word)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const size_t n = strlen(word);

    for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
        if ((p == text || !strchr(inside, p[-1])) && (!p[n] || !strchr(inside, p[n])))
            return true;
    return false;
}

static void the_keys_in_the_docs_are_those_of_the_operators(void **state)
{
    static const char *const args[] = {"spaces", "--keys", NULL};
    struct buf said, doc;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&doc, 1 << 20);
    assert_int_equal(tune_run(dir, args, &said), 0);
    read_doc("operators.md", &doc);
    if (said.len < 1000 || !strstr(buf_text(&doc), buf_text(&said)))
        fail_msg("docs/operators.md: expected its last tables to be what tune spaces --keys says");
    buf_fini(&said);
    buf_fini(&doc);
}

typedef const char *name_at(size_t i);

static const char *operator_name_at(size_t i)
{
    return operator_table[i] ? operator_table[i]->name : NULL;
}

static const char *device_name_at(size_t i)
{
    return device_table[i] ? device_table[i]->name : NULL;
}

/* Each name, within `form` (one %s), stands in the page. */
static void check_listed(name_at *name, const char *page, const char *form)
{
    char wanted[128];
    struct buf doc;

    buf_init(&doc, 1 << 20);
    read_doc(page, &doc);
    for (size_t i = 0; name(i); i++) {
        snprintf(wanted, sizeof wanted, form, name(i));
        if (!strstr(buf_text(&doc), wanted))
            fail_msg("docs/%s: expected to find \"%s\"", page, wanted);
    }
    buf_fini(&doc);
}

static void what_the_tables_hold_is_described(void **state)
{
    (void)state;
    check_listed(strategy_name_at, "search.md", "\n| `%s` | ");
    check_listed(convert_name_at, "logs.md", "`%s`");
    check_listed(device_name_at, "agent.md", "`%s");
    check_listed(operator_name_at, "operators.md", "`%s ");
}

/* Has a line of the page both words? */
static bool on_one_line(const char *page, const char *a, const char *b)
{
    for (const char *line = page, *end; line && *line; line = end ? end + 1 : NULL) {
        const char *at = strstr(line, a), *other = strstr(line, b);

        end = strchr(line, '\n');
        if (at && other && (!end || (at < end && other < end)))
            return true;
    }
    return false;
}

/* As "operator/way", or as "/way" behind another one of the operator. */
static void every_template_is_in_the_table_of_templates(void **state)
{
    struct buf doc;

    (void)state;
    buf_init(&doc, 1 << 20);
    read_doc("templates.md", &doc);
    for (size_t i = 0; operator_table[i]; i++)
        for (const struct template *const *t = operator_table[i]->templates; *t; t++) {
            const char *way = strchr((*t)->id, '/');
            char of[64];

            snprintf(of, sizeof of, "%s/", operator_table[i]->name);
            if (strcmp(way, "/naive") != 0 && !on_one_line(buf_text(&doc), of, way))
                fail_msg("docs/templates.md: expected a line with %s", (*t)->id);
        }
    buf_fini(&doc);
}

static void every_subcommand_is_in_the_docs(void **state)
{
    static const char *const args[] = {"--help", NULL};
    char names[TUNE_MAX_NAMES][32];
    struct buf help, doc;
    size_t n;

    (void)state;
    buf_init(&help, 1 << 20);
    buf_init(&doc, 1 << 20);
    assert_int_equal(tune_run(dir, args, &help), 0);
    read_doc("tune.md", &doc);
    n = tune_names(buf_text(&help), names);
    assert_in_range(n, 15, TUNE_MAX_NAMES - 1);
    for (size_t i = 0; i < n; i++) {
        char wanted[48];

        snprintf(wanted, sizeof wanted, "`%.40s", names[i]);
        if (!strstr(buf_text(&doc), wanted))
            fail_msg("tune %s is not in docs/tune.md", names[i]);
    }
    buf_fini(&help);
    buf_fini(&doc);
}

/* Runs a program of the build with two arguments. */
static int run_program(const char *name, const char *a, const char *b, struct buf *said)
{
    char program[4096];
    const char *const argv[] = {program, a, b, NULL};

    snprintf(program, sizeof program, "%s/%s", getenv("TUNE_BIN_DIR"), name);
    return tool_run(dir, argv, said);
}

/* Every option that --help names is in the page; dashes are \\- there. */
static void check_page(const char *path, const char *help)
{
    char option[64], wanted[128];
    struct buf page;

    buf_init(&page, 1 << 20);
    assert_int_equal(file_read(path, &page, NULL), ERR_OK);
    for (const char *p = strstr(help, "\noptions"); p && (p = strstr(p, "\n  -")) != NULL; p++) {
        const char *name = strstr(p, "--");
        size_t n = 0;

        snprintf(option, sizeof option, "%.*s", (int)strcspn(name, " \n"), name);
        if (strcmp(option, "--help") == 0)
            continue;
        for (const char *c = option; *c; c++)
            n += (size_t)snprintf(wanted + n, sizeof wanted - n, "%s%c", *c == '-' ? "\\" : "", *c);
        if (!strstr(buf_text(&page), wanted))
            fail_msg("%s: expected %s", path, wanted);
    }
    buf_fini(&page);
}

static void man_pages_have_every_option_of_the_help(void **state)
{
    static const struct {
        const char *program, *command, *page;
    } cases[] = {{"tune", "run", "man1/tune-run.1"},
                 {"tune", "deploy", "man1/tune-deploy.1"},
                 {"tune-agent", NULL, "man8/tune-agent.8"},
                 {"tune-tracker", NULL, "man8/tune-tracker.8"}};
    char path[400];
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(run_program(cases[i].program, "--man-pages", dir, &said), 0);
        assert_string_equal(buf_text(&said), "");
        assert_int_equal(run_program(cases[i].program, cases[i].command ? cases[i].command : "--help",
                                     cases[i].command ? "--help" : NULL, &said),
                         0);
        snprintf(path, sizeof path, "%s/%s", dir, cases[i].page);
        check_page(path, buf_text(&said));
    }
    buf_fini(&said);
}

/* Completes the last word of a command line as bash would, one word a line. */
static int complete(const char *line, struct buf *said)
{
    static const char script[] =
        "PATH=$TUNE_BIN_DIR:$PATH; . \"$1\"; COMP_WORDS=($2); [ \"${2% }\" = \"$2\" ] || COMP_WORDS+=('')\n"
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tune; printf '%s\n' \"${COMPREPLY[@]}\"";
    const char *const argv[] = {
        "/usr/bin/env", "bash", "-c", script, "-", TUNE_DOCS_DIR "/../share/completion/tune.bash", line, NULL};

    return tool_run(dir, argv, said);
}

static void the_completion_offers_what_the_tables_hold(void **state)
{
    static const struct {
        const char *line, *words[3], *not ;
    } cases[] = {
        {"tune ", {"run", "log", "keygen"}, "merge"},
        {"tune log ", {"merge", "convert", "--help"}, "run"},
        {"tune run --strategy ", {"auto", "ils", "pso"}, "gbdt"},
        {"tune replay --tuner a", {"auto", "annealing", "auto"}, "ils"},
        {"tune replay --model ", {"gbdt", "ridge", "ridge"}, "auto"},
        {"tune run --network r", {"resnet-18", "resnext-50-32x4d", "resnet-50"}, "vgg-16"},
        {"tune log convert --to ", {"tune", "t4", "clblast"}, "merge"},
        {"tune submit --str", {"--strategy", "--strategy", "--strategy"}, "--seed"},
        {"tune model ", {"train", "predict", "eval"}, "run"},
        {"tune-agent --device ", {"opencl", "cuda", "replay"}, "auto"},
        {"tune-tracker --l", {"--listen", "--lease", "--lease"}, "--store"},
        {"tune run --layout nchw4c,", {"nchw4c,nchw", "nchw4c,nchw8c", "nchw4c,nchw16c"}, "f16"},
        {"tune show --template dense/gemm_",
         {"dense/gemm_direct", "dense/gemm_direct", "dense/gemm_direct"},
         "rnn/plan"},
    };
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int code = complete(cases[i].line, &said);

        if (code == 127)
            skip(); /* no bash here */
        assert_int_equal(code, 0);
        for (size_t j = 0; j < 3; j++)
            if (!has_word(buf_text(&said), cases[i].words[j]))
                fail_msg("'%s': %s is not offered, only: %s", cases[i].line, cases[i].words[j], buf_text(&said));
        if (has_word(buf_text(&said), cases[i].not ))
            fail_msg("'%s': %s is offered", cases[i].line, cases[i].not );
    }
    buf_fini(&said);
}

/* Each line of the example at the end of a command's help, there. */
static void run_example(const char *help)
{
    const char *line = strstr(help, "\nexample:\n  tune ");
    char command[4096];

    assert_non_null(line);
    for (line = strstr(line, "  tune "); line; line = strstr(line + 1, "\n  tune ")) {
        line += strcspn(line, "t");
        snprintf(command, sizeof command, "b=$(cd \"${TUNE_BIN_DIR:-bin}\" && pwd); cd '%s' && \"$b/\"%.*s > /dev/null",
                 dir, (int)strcspn(line, "\n"), line);
        if (system(command))
            fail_msg("%s", command);
    }
}

/* Each example of these needs nothing but the source tree, and what its lines before have made. */
static void the_examples_of_replay_and_model_run(void **state)
{
    static const char *const of[][2] = {{"replay", NULL},  {"model", "train"}, {"model", "predict"},
                                        {"model", "eval"}, {"model", "table"}, {"model", NULL}};
    char path[300];
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/examples", dir);
    assert_int_equal(symlink(TUNE_DOCS_DIR "/../examples", path), 0);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *const args[] = {of[i][0], of[i][1] ? of[i][1] : "--help", of[i][1] ? "--help" : NULL, NULL};

        assert_int_equal(tune_run(dir, args, &said), 0);
        run_example(buf_text(&said));
    }
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_in_the_docs_are_those_of_the_operators),
        cmocka_unit_test(what_the_tables_hold_is_described),
        cmocka_unit_test(every_template_is_in_the_table_of_templates),
        cmocka_unit_test(every_subcommand_is_in_the_docs),
        cmocka_unit_test(the_examples_of_replay_and_model_run),
        cmocka_unit_test(man_pages_have_every_option_of_the_help),
        cmocka_unit_test(the_completion_offers_what_the_tables_hold),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
