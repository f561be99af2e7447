/* SPDX-License-Identifier: MIT */
#include "cli/curve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void has(const struct buf *svg, const char *words)
{
    if (!strstr(buf_text(svg), words))
        fail_msg("expected %s in %s", words, buf_text(svg));
}

/* The frame is 566 x 162 pixels from (64, 34): of four trials the first is at 64 + 566/8. The scale goes from 2 ms to
 * 100 ms, the round number from 30 x 2 ms on: 8 ms lie ln(4)/ln(50) of the height, 57.4 pixels, above its lower edge.
 */
static void trials_lie_where_their_times_say(void **state)
{
    const double times[] = {8e6, 0, 2e6, 200e6};
    const struct curve curve = {.title = "a<b & c", .times_ns = times, .n = 4};
    struct buf svg;

    (void)state;
    buf_init(&svg, 1 << 20);
    assert_int_equal(curve_svg(&curve, 1, &svg), ERR_OK);
    has(&svg, "width=\"720\" height=\"230\"");
    has(&svg, ">a&lt;b &amp; c</text>");
    has(&svg, "<circle class=\"t\" cx=\"134.8\" cy=\"138.6\" r=\"3\"/>");
    has(&svg, "<path class=\"f\" d=\"M273.2 31.0");                      /* it failed */
    has(&svg, "<circle class=\"o\" cx=\"559.2\" cy=\"34.0\" r=\"3\"/>"); /* beyond the scale */
    has(&svg, "<path class=\"b\" d=\"M134.8 138.6H417.8V196.0H630\"/>");
    has(&svg, ">2 ms</text>");
    for (size_t i = 0; i < 6; i++)
        has(&svg, (const char *const[]){">2</text>", ">5</text>", ">10</text>", ">20</text>", ">50</text>",
                                        ">100</text>"}[i]);
    assert_int_equal(strcmp(buf_text(&svg) + svg.len - 7, "</svg>\n"), 0);
    buf_fini(&svg);
}

static void panels_lie_below_each_other(void **state)
{
    const double times[] = {1e6};
    const struct curve curves[] = {{"one", times, 1}, {"two", times, 1}};
    struct buf svg;

    (void)state;
    buf_init(&svg, 1 << 20);
    assert_int_equal(curve_svg(curves, 2, &svg), ERR_OK);
    has(&svg, "viewBox=\"0 0 720 460\"");
    has(&svg, "cx=\"347.0\" cy=\"196.0\""); /* the only time is the lower end of the scale */
    has(&svg, "cx=\"347.0\" cy=\"426.0\"");
    has(&svg, "<text x=\"64\" y=\"246.0\" class=\"l\">two</text>");
    buf_fini(&svg);
}

static void a_search_without_a_time_is_no_picture(void **state)
{
    const double times[] = {0, 1e-300, INFINITY, NAN, -1};
    const struct curve curve = {"none", times, 5};
    struct buf svg;

    (void)state;
    buf_init(&svg, 1 << 20);
    assert_int_equal(curve_svg(&curve, 1, &svg), ERR_INPUT);
    buf_fini(&svg);
    buf_init(&svg, 500);
    assert_int_equal(curve_svg(&(struct curve){"long", (const double[]){1, 2, 3}, 3}, 1, &svg), ERR_LIMIT);
    buf_fini(&svg);
}

/* Four trials, 8, 4 and 1 ms and a failure: over 8 lines of 8 eighths the best so far stands at 64, at
 * 1 + 63 * ln 4 / ln 8 = 43, at 1 and at 1 of them: 8 lines, 5 and 3/8 (their blocks are U+2588 and U+2583), 1/8. */
static void a_terminal_shows_the_best_so_far(void **state)
{
    static const char expected[] = "\nt\n"
                                   "      8 ms |\342\226\210   \n"
                                   "           |\342\226\210   \n"
                                   "           |\342\226\210\342\226\203  \n"
                                   "           |\342\226\210\342\226\210  \n"
                                   "           |\342\226\210\342\226\210  \n"
                                   "           |\342\226\210\342\226\210  \n"
                                   "           |\342\226\210\342\226\210  \n"
                                   "      1 ms |\342\226\210\342\226\210\342\226\201\342\226\201\n"
                                   "            trial 1 to 4\n";
    const double times[] = {8e6, 4e6, 1e6, 0};
    const struct curve curve = {.title = "t", .times_ns = times, .n = 4};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(curve_text(&curve, 80, true, &text), ERR_OK);
    assert_string_equal(buf_text(&text), expected);
    buf_clear(&text);
    assert_int_equal(curve_text(&curve, 80, false, &text), ERR_OK);
    has(&text, "      8 ms |#   \n");
    has(&text, "      1 ms |####\n");
    buf_fini(&text);
}

/* 1000 trials in a terminal of 50 columns: each line has 38 for them, and the last one holds the last trial. */
static void a_terminal_is_not_wider_than_it_is(void **state)
{
    double times[1000];
    const struct curve curve = {.title = "t", .times_ns = times, .n = 1000};
    const struct curve failed = {.title = "t", .times_ns = (double[]){0, 0}, .n = 2};
    struct buf text;
    const char *last;

    (void)state;
    for (int i = 0; i < 1000; i++)
        times[i] = i < 999 ? 2e6 : 1e6;
    buf_init(&text, 1 << 20);
    assert_int_equal(curve_text(&curve, 50, false, &text), ERR_OK);
    for (const char *p = buf_text(&text); *p; p = strchr(p, '\n') + 1)
        assert_true(strcspn(p, "\n") <= 50);
    last = strstr(buf_text(&text), "      2 ms |");
    assert_non_null(last);
    assert_int_equal(strspn(last + 12, "#"), 37); /* the best comes with the last trial alone */
    assert_int_equal(curve_text(&failed, 80, true, &text), ERR_INPUT);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_lie_where_their_times_say),      cmocka_unit_test(panels_lie_below_each_other),
        cmocka_unit_test(a_search_without_a_time_is_no_picture), cmocka_unit_test(a_terminal_shows_the_best_so_far),
        cmocka_unit_test(a_terminal_is_not_wider_than_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
