/* SPDX-License-Identifier: MIT */
/* Help, man pages and completion of a program of two subcommands. */
#include "core/command.h"
#include "core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

static const char *colour_at(size_t i)
{
    static const char *const names[] = {"red", "green", "grey", NULL};

    return names[i];
}

static const struct cli_option paint_options[] = {
    CLI_OPTION("colour", CLI_TEXT, .letter = 'c', .alias = "color", .argument = "NAME", .otherwise = "red",
               .word = colour_at, .help = "what is seen"),
    CLI_OPTION("two", CLI_TEXT, .argument = "A,B", .word = colour_at, .many = true, .help = "several"),
    CLI_OPTION("any", CLI_TEXT, .argument = "X", .word = colour_at, .loose = true, .help = "one of thousands"),
    CLI_OPTION("out-file", CLI_TEXT, .letter = 'o', .argument = "FILE", .environment = "PAINT_OUT",
               .help = "a .file\\name"),
    CLI_OPTION("dry", CLI_FLAG, .help = "no water"),
    CLI_END,
};

static const struct command wall = {.name = "wall",
                                    .summary = "paint a wall",
                                    .usage = "paint wall [options]",
                                    .example = "house paint wall -c red",
                                    .about = "First.\n\n.Second, `bold` words.",
                                    .options = paint_options};
static const struct command fence = {
    .name = "fence", .summary = "paint a fence", .usage = "x", .options = paint_options};
static const struct command *const surfaces[] = {&wall, &fence, NULL};
static const struct command paint = {.name = "paint",
                                     .summary = "colour something",
                                     .usage = "paint VERB",
                                     .example = "house paint wall",
                                     .verbs = surfaces};
static const struct command_section tools_of_demolish[] = {
    {.title = "tools", .line = colour_at}, {.title = "noise", .text = "Loud."}, {.title = NULL}};
static const struct cli_option no_options[] = {CLI_END};
static const struct command demolish = {.name = "demolish",
                                        .summary = "take it down",
                                        .usage = "demolish [options]",
                                        .options = no_options,
                                        .sections = tools_of_demolish};
static const struct command *const all[] = {&paint, &demolish, NULL};
static const struct command house = {.name = "house",
                                     .summary = "keep a house",
                                     .usage = "SUBCOMMAND [options]",
                                     .verbs = all,
                                     .section = 1,
                                     .see_also = "garden(1)"};

/* The words that may come next, each ended by a blank. */
static void offers(const char *expected, const char *const *words)
{
    struct buf said;
    int n = 0;

    while (words[n])
        n++;
    buf_init(&said, 10000);
    command_complete(&house, n, words, &said);
    for (char *p = said.data; p && *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    assert_string_equal(buf_text(&said), expected);
    buf_fini(&said);
}

#define OFFERS(expected, ...) offers(expected, (const char *const[]){__VA_ARGS__, NULL})

static void a_shell_is_offered_what_may_come_next(void **state)
{
    (void)state;
    OFFERS("paint demolish --help ", "");
    OFFERS("demolish ", "de");
    OFFERS("wall fence --help ", "paint", "");
    OFFERS("--colour --two --any --out-file --dry --help ", "paint", "wall", "-");
    OFFERS("--dry ", "paint", "wall", "--d");
    OFFERS("red green grey ", "paint", "wall", "--colour", "");
    OFFERS("green grey ", "paint", "fence", "--dry", "--color", "gr");
    OFFERS("red ", "paint", "wall", "-c", "r");
    OFFERS("grey,red ", "paint", "wall", "--two", "grey,r");
    OFFERS("red green grey ", "paint", "wall", "--any", "");
    OFFERS("", "paint", "wall", "--out-file", "");      /* a file is due */
    OFFERS("", "paint", "wall", "--dry", "");           /* a flag waits for nothing */
    OFFERS("", "paint", "wall", "--colour", "red", ""); /* that value is there */
    OFFERS("", "roof", "");
    OFFERS("", "paint", "wall", "x", "grey,"); /* only what waits has words */
}

static const char *help_of(const struct command *c, struct buf *out)
{
    buf_clear(out);
    command_help(&house, c, out);
    return buf_text(out);
}

static void help_tells_options_verbs_and_lists(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 10000);
    assert_string_equal(help_of(&house, &out), "usage: house SUBCOMMAND [options]\nkeep a house\n\n"
                                               "subcommands:\n"
                                               "  paint      colour something\n"
                                               "  demolish   take it down\n\n"
                                               "`house SUBCOMMAND --help` shows its options, their defaults and an "
                                               "example.\n");
    assert_non_null(strstr(help_of(&paint, &out), "\nverbs:\n  wall       paint a wall\n  fence "));
    assert_non_null(strstr(buf_text(&out), "\nexample:\n  house paint wall\n"));
    assert_non_null(strstr(help_of(&wall, &out), "usage: house paint wall [options]\npaint a wall\n"));
    assert_non_null(strstr(buf_text(&out), "what is seen [red], also --color\n"));
    assert_non_null(strstr(buf_text(&out), "                          one of red green grey\n"));
    assert_non_null(strstr(buf_text(&out), "                          some of red green grey\n"));
    assert_non_null(strstr(buf_text(&out), "one of thousands\n  -o, "));
    assert_non_null(strstr(help_of(&demolish, &out), "\ntools:\n  red\n  green\n  grey\n"));
    assert_null(strstr(buf_text(&out), "Loud"));
    buf_fini(&out);
}

static void read_page(const char *dir, const char *name, struct buf *out)
{
    char path[400];

    snprintf(path, sizeof path, "%s/man1/%s", dir, name);
    buf_clear(out);
    assert_int_equal(file_read(path, out, NULL), ERR_OK);
}

static void each_command_has_a_man_page(void **state)
{
    char dir[256];
    struct buf page;

    (void)state;
    buf_init(&page, 1 << 20);
    assert_int_equal(dir_temporary("command", dir, sizeof dir, NULL), ERR_OK);
    assert_int_equal(command_write_pages(&house, dir, NULL), ERR_OK);
    read_page(dir, "house.1", &page);
    assert_non_null(strstr(buf_text(&page), "\n.SH SUBCOMMANDS\n.TP\n.BR house-paint (1)\nColour something.\n"));
    assert_non_null(strstr(buf_text(&page), "\n.SH SEE ALSO\ngarden(1)\n"));
    read_page(dir, "house-paint.1", &page);
    assert_non_null(strstr(buf_text(&page), "\n.SH VERBS\n.TP\n.BR house-paint-wall (1)\n"));
    read_page(dir, "house-demolish.1", &page);
    assert_non_null(strstr(buf_text(&page), "\n.SH TOOLS\nred\n.br\ngreen\n.br\ngrey\n.SH NOISE\nLoud.\n"));
    read_page(dir, "house-paint-fence.1", &page);
    read_page(dir, "house-paint-wall.1", &page);
    assert_string_equal(buf_text(&page),
                        ".TH HOUSE-PAINT-WALL 1 \"\" \"tune " TUNE_VERSION "\"\n"
                        ".SH NAME\nhouse-paint-wall \\- paint a wall\n"
                        ".SH SYNOPSIS\n.B house\npaint wall [options]\n"
                        ".SH DESCRIPTION\nPaint a wall.\nFirst.\n.PP\n\\&.Second, \\fBbold\\fR words.\n"
                        ".SH OPTIONS\n"
                        ".TP\n\\fB\\-c\\fR, \\fB\\-\\-colour\\fR \\fINAME\\fR\n"
                        "what is seen [red], also \\-\\-color\nOne of red, green, grey.\n"
                        ".TP\n\\fB\\-\\-two\\fR \\fIA,B\\fR\nseveral\nSome of red, green, grey.\n"
                        ".TP\n\\fB\\-\\-any\\fR \\fIX\\fR\none of thousands\n"
                        ".TP\n\\fB\\-o\\fR, \\fB\\-\\-out\\-file\\fR \\fIFILE\\fR\na .file\\ename ($PAINT_OUT)\n"
                        ".TP\n\\fB\\-\\-dry\\fR\nno water\n"
                        ".SH ENVIRONMENT\n.TP\n\\fBPAINT_OUT\\fR\nDefault of \\fB\\-\\-out\\-file\\fR.\n"
                        ".SH EXAMPLE\n.nf\nhouse paint wall \\-c red\n.fi\n"
                        ".SH SEE ALSO\nhouse-paint(1)\n");
    dir_remove(dir);
    buf_fini(&page);
}

/* What was said on both sides, and the exit code; -1: neither pages nor words were asked for. */
static int answered(char **argv, int argc, char out[100], char err[200])
{
    FILE *to = tmpfile(), *errors = tmpfile();
    int code = -1;

    if (!command_answers(&house, argc, argv, to, errors, &code))
        code = -1;
    rewind(to);
    rewind(errors);
    out[fread(out, 1, 99, to)] = '\0';
    err[fread(err, 1, 199, errors)] = '\0';
    fclose(to);
    fclose(errors);
    return code;
}

static void pages_and_words_are_asked_for_by_the_first_argument(void **state)
{
    char out[100], err[200];

    (void)state;
    assert_int_equal(answered((char *[]){"house", "--complete", "pa", NULL}, 3, out, err), 0);
    assert_string_equal(out, "paint\n");
    assert_int_equal(answered((char *[]){"house", "paint", "--complete", NULL}, 3, out, err), -1);
    assert_int_equal(answered((char *[]){"house", NULL}, 1, out, err), -1);
    assert_int_equal(answered((char *[]){"house", "--man-pages", NULL}, 2, out, err), -1);
    assert_int_equal(answered((char *[]){"house", "--man-pages", "/dev/null/x", NULL}, 3, out, err), 1);
    assert_int_equal(strncmp(err, "house: /dev/null/x", 18), 0);
}

/* A full disk is no success; what went wrong before keeps its code. */
static void what_cannot_be_written_is_told_at_the_end(void **state)
{
    static const struct {
        const char *path;
        int before, after;
    } cases[] = {{"/dev/null", 0, 0}, {"/dev/null", 4, 4}, {"/dev/full", 0, 1}, {"/dev/full", 4, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *to = fopen(cases[i].path, "w"), *errors = tmpfile();
        char words[100] = "";

        assert_true(to && errors && fputs("words", to) >= 0);
        assert_int_equal(command_finish(&house, to, errors, cases[i].before), cases[i].after);
        rewind(errors);
        fgets(words, sizeof words, errors);
        assert_string_equal(
            words, i < 2 ? "" : "house: standard output could not be written: the disk, or a quota, is full\n");
        fclose(to);
        fclose(errors);
    }
}

/* `tune spaces | head`: who reads has enough, and nothing went wrong. */
static void a_reader_that_leaves_is_no_error(void **state)
{
    FILE *errors = tmpfile(), *to;
    char words[100] = "";
    int fds[2];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(fds), 0);
    to = fdopen(fds[1], "w");
    close(fds[0]);
    assert_true(fputs("words", to) >= 0);
    assert_int_equal(command_finish(&house, to, errors, 0), 0);
    rewind(errors);
    assert_null(fgets(words, sizeof words, errors));
    fclose(to);
    fclose(errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_leaves_is_no_error),
        cmocka_unit_test(a_shell_is_offered_what_may_come_next),
        cmocka_unit_test(help_tells_options_verbs_and_lists),
        cmocka_unit_test(what_cannot_be_written_is_told_at_the_end),
        cmocka_unit_test(each_command_has_a_man_page),
        cmocka_unit_test(pages_and_words_are_asked_for_by_the_first_argument),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
