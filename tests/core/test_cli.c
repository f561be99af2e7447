/* SPDX-License-Identifier: MIT */
/* Command lines: defaults, variables, forms of options, and words for what is wrong. */
#include "core/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *colour_at(size_t i)
{
    static const char *const colours[] = {"red", "green", "blue", NULL};

    return colours[i];
}

static const struct cli_option options[] = {
    {.name = "colour", .kind = CLI_TEXT, .argument = "C", .otherwise = "green", .help = "of what", .word = colour_at},
    {.name = "trials",
     .letter = 'n',
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "100",
     .min = 1,
     .max = 1000000,
     .help = "trials to measure"},
    {.name = "strategy",
     .alias = "tuner",
     .kind = CLI_TEXT,
     .argument = "NAME",
     .otherwise = "model",
     .help = "how to search"},
    {.name = "time", .kind = CLI_DURATION, .argument = "T", .min = 0.001, .max = 864000, .help = "budget"},
    {.name = "noise", .kind = CLI_REAL, .argument = "X", .otherwise = "0.5", .help = "how noisy"},
    {.name = "tracker", .kind = CLI_TEXT, .argument = "URL", .environment = "TUNE_TEST_TRACKER", .help = "where"},
    {.name = "seed", .kind = CLI_INT, .argument = "N", .help = "of random numbers"},
    {.name = "log", .kind = CLI_TEXT, .argument = "FILE", .help = "what to read"},
    {.name = "exact", .kind = CLI_INT, .argument = "N", .min = -0x1p53, .max = 0x1p53, .help = "to the last unit"},
    {.name = "verbose", .letter = 'v', .kind = CLI_COUNT, .help = "say more"},
    {.name = "json", .kind = CLI_FLAG, .help = "for machines"},
    {.name = NULL},
};

#define PARSE(c, why, ...) parse(c, why, (char *[]){"tune", __VA_ARGS__, NULL})

static enum err parse(struct cli *c, struct why *why, char **argv)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    return cli_parse(c, options, argc, argv, why);
}

static void all_values_of_a_repeated_option_are_kept_in_order(void **state)
{
    const char *texts[2] = {NULL, NULL};
    struct cli c;

    (void)state;
    assert_int_equal(PARSE(&c, NULL, "--strategy", "a", "-n5", "--tuner=b", "--strategy", "c"), ERR_OK);
    assert_int_equal(cli_texts(&c, "strategy", texts, 2), 3);
    assert_string_equal(texts[0], "a");
    assert_string_equal(texts[1], "b");
    assert_string_equal(cli_text(&c, "strategy"), "c");
    assert_int_equal(cli_texts(&c, "trials", texts, 2), 1);
    assert_string_equal(texts[0], "5");
    assert_int_equal(cli_texts(&c, "noise", texts, 2), 0);
    cli_fini(&c);
}

static void defaults_hold_until_something_is_given(void **state)
{
    struct cli c;

    (void)state;
    assert_int_equal(PARSE(&c, NULL, "conv2d"), ERR_OK);
    assert_int_equal(cli_int(&c, "trials"), 100);
    assert_false(cli_get(&c, "trials")->given);
    assert_string_equal(cli_text(&c, "strategy"), "model");
    assert_null(cli_text(&c, "time"));
    assert_true(cli_real(&c, "noise") == 0.5);
    assert_false(cli_flag(&c, "json"));
    assert_int_equal(c.n_rest, 1);
    assert_string_equal(c.rest[0], "conv2d");
    cli_fini(&c);
    cli_fini(NULL);
}

static void options_come_in_all_usual_forms(void **state)
{
    struct cli c;

    (void)state;
    assert_int_equal(PARSE(&c, NULL, "--trials=5", "a", "--tuner", "random", "-vv", "--json", "--time", "2m", "-v",
                           "--", "--json", "-x"),
                     ERR_OK);
    assert_int_equal(cli_int(&c, "trials"), 5);
    assert_true(cli_get(&c, "trials")->given);
    assert_string_equal(cli_text(&c, "strategy"), "random");
    assert_string_equal(cli_text(&c, "tuner"), "random");
    assert_int_equal(cli_int(&c, "verbose"), 3);
    assert_true(cli_flag(&c, "json"));
    assert_true(cli_real(&c, "time") == 120);
    assert_int_equal(c.n_rest, 3);
    assert_string_equal(c.rest[1], "--json");
    cli_fini(&c);
    assert_int_equal(PARSE(&c, NULL, "-n7", "-", "--time=1.5h", "--seed", "-9223372036854775808"), ERR_OK);
    assert_int_equal(cli_int(&c, "trials"), 7);
    assert_true(cli_real(&c, "time") == 5400);
    assert_true(cli_int(&c, "seed") == INT64_MIN);
    assert_string_equal(c.rest[0], "-");
    cli_fini(&c);
}

static void variables_give_defaults(void **state)
{
    struct cli c;

    (void)state;
    setenv("TUNE_TEST_TRACKER", "tcp://a", 1);
    assert_int_equal(PARSE(&c, NULL, "x"), ERR_OK);
    assert_string_equal(cli_text(&c, "tracker"), "tcp://a");
    assert_false(cli_get(&c, "tracker")->given);
    cli_fini(&c);
    assert_int_equal(PARSE(&c, NULL, "--tracker", "tcp://b"), ERR_OK);
    assert_string_equal(cli_text(&c, "tracker"), "tcp://b");
    cli_fini(&c);
    unsetenv("TUNE_TEST_TRACKER");
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        char *a, *b;
        const char *words;
    } bad[] = {
        {"--trails", "5", "did you mean --trials?"},
        {"--zzzzzzzz", NULL, "unknown option --zzzzzzzz"},
        {"-q", NULL, "unknown option -q"},
        {"--trials", NULL, "--trials needs a value (N)"},
        {"-n", NULL, "-n needs a value"},
        {"--trials", "0", "from 1 to 1000000"},
        {"--trials", "1000001", "from 1 to"},
        {"--trials", "ten", "expected an integer"},
        {"--trials=", NULL, "expected an integer"},
        {"--seed", "9223372036854775808", "at most 64 bits"},
        {"--noise", "nan", "expected a number"},
        {"--noise", "1x", "expected a number"},
        {"--time", "5 weeks", "such as 90s"},
        {"--time", "-5s", "from 0.001"},
        {"--json=yes", NULL, "--json takes no value"},
        {"--colour", "rod", "--colour rod: expected one of red, green, blue"},
        {"--colour=", NULL, "expected one of red"},
        {"--log", "", "--log needs a value (FILE), not ''"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *argv[] = {"tune", bad[i].a, bad[i].b, NULL};
        struct why why = {""};
        struct cli c;
        enum err e = parse(&c, &why, argv);

        if (e != ERR_INPUT || !strstr(why.text, bad[i].words))
            fail_msg("%s %s: got %s '%s', expected '%s'", bad[i].a, bad[i].b ? bad[i].b : "", err_name(e), why.text,
                     bad[i].words);
        cli_fini(&c);
    }
}

static void help_shows_every_option_with_its_default(void **state)
{
    struct cli c;
    struct buf out;

    (void)state;
    assert_int_equal(PARSE(&c, NULL, "--nonsense", "--help"), ERR_OK);
    assert_true(c.help);
    cli_fini(&c);
    buf_init(&out, 10000);
    cli_help(options, "tune run ...", "Tunes.", "tune run x", &out);
    for (const struct cli_option *o = options; o->name; o++)
        assert_non_null(strstr(buf_text(&out), o->name));
    assert_non_null(strstr(buf_text(&out), "[100]"));
    assert_non_null(strstr(buf_text(&out), "$TUNE_TEST_TRACKER"));
    assert_non_null(strstr(buf_text(&out), "tune run x"));
    assert_non_null(strstr(buf_text(&out), "of what [green]\n                          one of red green blue\n"));
    assert_non_null(strstr(buf_text(&out), "how to search [model], also --tuner\n"));
    buf_fini(&out);
}

static void bounds_are_inclusive(void **state)
{
    static const struct {
        char *option, *text;
        enum err e;
    } cases[] = {
        {"--trials", "1", ERR_OK},
        {"--trials", "1000000", ERR_OK},
        {"--time", "0.001", ERR_OK},
        {"--time", "1ms", ERR_OK},
        {"--time", "10d", ERR_OK},
        {"--time", "864000", ERR_OK},
        {"--time", "864000.5", ERR_INPUT},
        {"--time", "240.1h", ERR_INPUT},
        {"--time", "0.0009s", ERR_INPUT},
        {"--noise", "-1e300", ERR_OK},
        {"--noise", "inf", ERR_INPUT},
        {"--seed", "9223372036854775807", ERR_OK},
        {"--trials", "5 ", ERR_INPUT},
        {"--noise", "", ERR_INPUT},
        {"--trials", "0x10", ERR_INPUT},
        {"--exact", "9007199254740992", ERR_OK},
        {"--exact", "9007199254740993", ERR_INPUT},
        {"--exact", "-9007199254740992", ERR_OK},
        {"--exact", "-9007199254740993", ERR_INPUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[] = {"tune", cases[i].option, cases[i].text, NULL};
        struct cli c;

        if (parse(&c, NULL, argv) != cases[i].e)
            fail_msg("%s %s: expected %s", cases[i].option, cases[i].text, err_name(cases[i].e));
        cli_fini(&c);
    }
}

static void durations_have_units(void **state)
{
    static const struct {
        char *text;
        double seconds;
    } cases[] = {{"7", 7},       {"7s", 7},         {"250ms", 0.25}, {"2m", 120},
                 {"1.5min", 90}, {"0.5h", 1800.00}, {"2d", 172800},  {"1e3", 1000}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[] = {"tune", "--time", cases[i].text, NULL};
        struct cli c;

        assert_int_equal(parse(&c, NULL, argv), ERR_OK);
        if (cli_real(&c, "time") != cases[i].seconds)
            fail_msg("%s: %g s, expected %g", cases[i].text, cli_real(&c, "time"), cases[i].seconds);
        assert_string_equal(cli_text(&c, "time"), cases[i].text);
        cli_fini(&c);
    }
}

static void an_empty_variable_is_none_and_a_bad_one_is_named(void **state)
{
    static const struct cli_option table[] = {
        {.name = "n",
         .kind = CLI_INT,
         .argument = "N",
         .otherwise = "3",
         .min = 1,
         .max = 9,
         .environment = "TUNE_TEST_N",
         .help = "h"},
        {.name = NULL},
    };
    char *argv[] = {"tune", NULL}, *given[] = {"tune", "--n=4", NULL};
    struct why why = {""};
    struct cli c;

    (void)state;
    setenv("TUNE_TEST_N", "", 1);
    assert_int_equal(cli_parse(&c, table, 1, argv, &why), ERR_OK);
    assert_int_equal(cli_int(&c, "n"), 3);
    cli_fini(&c);
    setenv("TUNE_TEST_N", "7", 1);
    assert_int_equal(cli_parse(&c, table, 1, argv, &why), ERR_OK);
    assert_int_equal(cli_int(&c, "n"), 7);
    cli_fini(&c);
    assert_int_equal(cli_parse(&c, table, 2, given, &why), ERR_OK);
    assert_true(cli_int(&c, "n") == 4 && cli_real(&c, "n") == 4);
    cli_fini(&c);
    setenv("TUNE_TEST_N", "10", 1);
    assert_int_equal(cli_parse(&c, table, 1, argv, &why), ERR_INPUT);
    assert_string_equal(why.text, "variable TUNE_TEST_N: --n 10: expected a number from 1 to 9");
    cli_fini(&c);
    unsetenv("TUNE_TEST_N");
}

static void help_is_asked_for_before_the_dashes_only(void **state)
{
    struct cli c;

    (void)state;
    assert_int_equal(PARSE(&c, NULL, "x", "-h"), ERR_OK);
    assert_true(c.help);
    cli_fini(&c);
    assert_int_equal(PARSE(&c, NULL, "--", "--help", "-h", "--"), ERR_OK);
    assert_false(c.help);
    assert_int_equal(c.n_rest, 3);
    assert_string_equal(c.rest[0], "--help");
    assert_string_equal(c.rest[2], "--");
    cli_fini(&c);
    assert_int_equal(PARSE(&c, NULL, "--helpless"), ERR_INPUT);
    cli_fini(&c);
}

static void letters_may_stand_together(void **state)
{
    struct cli c;

    (void)state;
    assert_int_equal(PARSE(&c, NULL, "-vvn", "5", "-vn7", "-n=9"), ERR_INPUT); /* "=9" is no number */
    cli_fini(&c);
    assert_int_equal(PARSE(&c, NULL, "-vvn", "5", "rest", "-vn7"), ERR_OK);
    assert_int_equal(cli_int(&c, "verbose"), 3);
    assert_int_equal(cli_int(&c, "trials"), 7);
    assert_true(cli_get(&c, "verbose")->given && cli_get(&c, "trials")->given && !cli_get(&c, "json")->given);
    assert_int_equal(c.n_rest, 1);
    assert_string_equal(c.rest[0], "rest");
    cli_fini(&c);
    assert_int_equal(PARSE(&c, NULL, "--json", "--json", "--strategy="), ERR_OK);
    assert_int_equal(cli_int(&c, "json"), 2);
    assert_string_equal(cli_text(&c, "strategy"), "");
    cli_fini(&c);
}

/* Of names as near as each other the first of the table; none that takes four changes. */
static void the_nearest_name_is_offered(void **state)
{
    static const struct cli_option table[] = {
        {.name = "cat", .kind = CLI_FLAG, .help = "h"},
        {.name = "car", .kind = CLI_FLAG, .help = "h"},
        {.name = "verbose", .kind = CLI_FLAG, .help = "h"},
        {.name = "seeds", .kind = CLI_FLAG, .help = "h"},
        {.name = NULL},
    };
    static const struct {
        char *given;
        const char *offered;
    } cases[] = {
        {"--cab", "--cat?"},          {"--cr", "--car?"},          {"--scar", "--car?"},  {"--vrebose", "--verbose?"},
        {"--verbos", "--verbose?"},   {"--seed", "--seeds?"},      {"--sed", "--seeds?"}, {"--verb", "--car?"},
        {"--verbosity", "--verbose"}, {"--abcdefghijk", "--help"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *argv[] = {"tune", cases[i].given, NULL};
        struct why why = {""};
        struct cli c;

        assert_int_equal(cli_parse(&c, table, 2, argv, &why), ERR_INPUT);
        if (!strstr(why.text, cases[i].offered))
            fail_msg("%s: '%s', expected to offer %s", cases[i].given, why.text, cases[i].offered);
        cli_fini(&c);
    }
}

static const char *long_word_at(size_t i)
{
    static const char *const words[] = {
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "cccccccccccccccc", "d", "e", NULL};

    return words[i];
}

static void help_turns_lines_that_are_too_long(void **state)
{
    static const struct cli_option table[] = {
        {.name = "w", .kind = CLI_TEXT, .argument = "W", .help = "which", .word = long_word_at},
        {.name = "a-name-of-much-length",
         .letter = 'x',
         .kind = CLI_INT,
         .argument = "N",
         .otherwise = "",
         .help = "h"},
        {.name = NULL},
    };
    struct buf out;

    (void)state;
    buf_init(&out, 10000);
    cli_help(table, "u", "s", NULL, &out);
    assert_string_equal(
        buf_text(&out),
        "usage: u\ns\n\noptions (defaults in brackets):\n"
        "  --w W                   which\n"
        "                          one of aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
        "cccccccccccccccc\n"
        "                          d e\n"
        "  -x, --a-name-of-much-length N\n"
        "                          h\n"
        "  -h, --help              this text\n");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_until_something_is_given),
        cmocka_unit_test(options_come_in_all_usual_forms),
        cmocka_unit_test(all_values_of_a_repeated_option_are_kept_in_order),
        cmocka_unit_test(variables_give_defaults),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(help_shows_every_option_with_its_default),
        cmocka_unit_test(bounds_are_inclusive),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(an_empty_variable_is_none_and_a_bad_one_is_named),
        cmocka_unit_test(help_is_asked_for_before_the_dashes_only),
        cmocka_unit_test(letters_may_stand_together),
        cmocka_unit_test(the_nearest_name_is_offered),
        cmocka_unit_test(help_turns_lines_that_are_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
