/* SPDX-License-Identifier: MIT */
#include "cli/curve.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pixels: of a panel, and of the frame within it. */
#define WIDTH 720
#define HEIGHT 230
#define LEFT 64
#define RIGHT 630
#define TOP 34
#define BOTTOM 196
#define MOST_TICKS 10
#define MOST_RATIO 30 /* of the scale; what is slower lies on the upper edge */

struct panel {
    const struct curve *curve;
    double y0;     /* of its upper edge */
    double lo, hi; /* ns, the ends of the scale */
    struct buf *out;
};

/* What a log says may be anything; a thousandth of a nanosecond to 30 years can be drawn, the rest counts as failed. */
static bool is_time(double time_ns)
{
    return time_ns >= 1e-3 && time_ns <= 1e18;
}

static double x_of(const struct panel *p, double trial)
{
    assert(trial >= 1 && trial <= (double)p->curve->n);
    return LEFT + (RIGHT - LEFT) * (trial - 0.5) / (double)p->curve->n;
}

static double y_of(const struct panel *p, double time_ns)
{
    assert(time_ns >= p->lo && time_ns <= p->hi);
    return p->y0 + BOTTOM - (BOTTOM - TOP) * log(time_ns / p->lo) / log(p->hi / p->lo);
}

static void put_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            buf_puts(out, *text == '<' ? "&lt;" : "&amp;");
        else
            buf_printf(out, "%c", *text);
}

/* Steps of 1, 2 or 5 times a power of ten: the least that is at least `at_least`. */
static double round_step(double at_least)
{
    const double power = pow(10, floor(log10(at_least))), rest = at_least / power;

    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

/* The scale: from 1, 2 or 5 times a power of ten below all times to one above. */
static bool scale(struct panel *p)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < p->curve->n; i++)
        if (is_time(p->curve->times_ns[i])) {
            least = fmin(least, p->curve->times_ns[i]);
            most = fmax(most, p->curve->times_ns[i]);
        }
    if (!(most > 0))
        return false;
    p->lo = fmin(least, 1 / round_step(1 / least * (1 - 1e-12)));
    p->hi = round_step(fmin(most, MOST_RATIO * least));
    if (p->hi <= p->lo)
        p->hi = 2 * p->lo;
    return true;
}

static void draw_time_tick(const struct panel *p, double time_ns)
{
    const double y = y_of(p, time_ns);

    buf_printf(p->out,
               "<path class=\"g\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LEFT,
               y, RIGHT, LEFT - 6, y + 4, time_ns / 1e6);
}

static void draw_axes(const struct panel *p)
{
    const double step = fmax(1, round_step((double)p->curve->n / MOST_TICKS));
    for (double t = p->lo; t <= p->hi * (1 + 1e-9); t = round_step(t * 1.01))
        draw_time_tick(p, fmin(t, p->hi));
    for (double i = step; i <= (double)p->curve->n; i += step)
        buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n", x_of(p, i),
                   p->y0 + BOTTOM + 16, i);
    buf_printf(p->out, "<text x=\"%d\" y=\"%.1f\">ms</text><text x=\"%d\" y=\"%.1f\">trial</text>\n", LEFT - 30,
               p->y0 + TOP - 10, RIGHT + 8, p->y0 + BOTTOM + 16);
}

/* A dot a trial, a ring on the upper edge for one beyond the scale, a cross there for one that failed. */
static void draw_trials(const struct panel *p)
{
    for (size_t i = 0; i < p->curve->n; i++) {
        const double t = p->curve->times_ns[i], x = x_of(p, (double)i + 1);

        if (is_time(t))
            buf_printf(p->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", t > p->hi ? "o" : "t", x,
                       y_of(p, fmin(t, p->hi)));
        else
            buf_printf(p->out, "<path class=\"f\" d=\"M%.1f %.1fl6 6m0 -6l-6 6\"/>\n", x - 3, p->y0 + TOP - 3);
    }
}

/* The best so far, in steps, and its time at the end. */
static void draw_best(const struct panel *p)
{
    double best = INFINITY;

    buf_puts(p->out, "<path class=\"b\" d=\"");
    for (size_t i = 0; i < p->curve->n; i++) {
        const double t = p->curve->times_ns[i];

        if (!is_time(t) || t >= best)
            continue;
        buf_printf(p->out, isinf(best) ? "M%.1f %.1f" : "H%.1fV%.1f", x_of(p, (double)i + 1), y_of(p, t));
        best = t;
    }
    assert(best >= p->lo && best <= p->hi);
    buf_printf(p->out, "H%d\"/><text x=\"%d\" y=\"%.1f\" class=\"l\">%.4g ms</text>\n", RIGHT, RIGHT + 8,
               y_of(p, best) + 4, best / 1e6);
}

static enum err draw(struct panel *p)
{
    if (!scale(p))
        return ERR_INPUT;
    buf_printf(p->out, "<text x=\"%d\" y=\"%.1f\" class=\"l\">", LEFT, p->y0 + 16);
    put_text(p->out, p->curve->title);
    buf_puts(p->out, "</text>\n");
    draw_axes(p);
    draw_trials(p);
    draw_best(p);
    return p->out->failed;
}

enum err curve_svg(const struct curve *curves, size_t n, struct buf *out)
{
    enum err e = ERR_OK;

    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n"
               "<style>text{font:12px sans-serif;fill:#777}.l{font-weight:bold;fill:#27a}.g{stroke:#888;opacity:.3}"
               ".t{fill:#888;opacity:.7}.o{stroke:#888;fill:none}.f{stroke:#c33;fill:none}.b{stroke:#27a;stroke-width:"
               "2;fill:none}</style>\n",
               WIDTH, n * HEIGHT, WIDTH, n * HEIGHT);
    for (size_t i = 0; i < n && !e; i++) {
        struct panel p = {.curve = &curves[i], .y0 = (double)(i * HEIGHT), .out = out};

        e = draw(&p);
    }
    return e ? e : buf_puts(out, "</svg>\n");
}

/* ---- in a terminal ---- */

#define ROWS 8
#define EIGHTHS 8
#define MARGIN 11 /* "  1.234 ms |" */
#define MOST_COLUMNS 400

static double best_up_to(const struct curve *c, size_t n)
{
    double best = INFINITY;

    for (size_t i = 0; i < n && i < c->n; i++)
        if (is_time(c->times_ns[i]))
            best = fmin(best, c->times_ns[i]);
    return best;
}

static double first_of(const struct curve *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (is_time(c->times_ns[i]))
            return c->times_ns[i];
    return INFINITY;
}

/* How high the best so far stands in a column, in eighths of a line: the last time has one, the first all. */
static int height_at(const struct curve *c, size_t n_trials, double lo, double hi)
{
    const double best = best_up_to(c, n_trials);

    if (isinf(best))
        return 0;
    return hi > lo ? 1 + (int)lround((ROWS * EIGHTHS - 1) * log(best / lo) / log(hi / lo)) : 1;
}

static void put_cell(struct buf *out, int eighths, bool blocks)
{
    static const char *const parts[] = {" ",
                                        "\342\226\201",
                                        "\342\226\202",
                                        "\342\226\203",
                                        "\342\226\204",
                                        "\342\226\205",
                                        "\342\226\206",
                                        "\342\226\207",
                                        "\342\226\210"};
    const int n = eighths < 0 ? 0 : eighths > EIGHTHS ? EIGHTHS : eighths;

    buf_puts(out, blocks ? parts[n] : n ? "#" : " ");
}

static void put_time(struct buf *out, double ns)
{
    char text[32];

    if (ns >= 1e6)
        snprintf(text, sizeof text, "%.4g ms", ns / 1e6);
    else
        snprintf(text, sizeof text, "%.4g us", ns / 1e3);
    buf_printf(out, "%*s", MARGIN - 1, text);
}

enum err curve_text(const struct curve *c, int width, bool blocks, struct buf *out)
{
    const double lo = best_up_to(c, c->n), hi = first_of(c);
    int heights[MOST_COLUMNS], n = (width < 40 ? 40 : width) - MARGIN - 1;

    if (isinf(lo))
        return ERR_INPUT;
    if (n > MOST_COLUMNS)
        n = MOST_COLUMNS;
    if ((size_t)n > c->n)
        n = (int)c->n;
    for (int x = 0; x < n; x++)
        heights[x] = height_at(c, (c->n * (size_t)(x + 1) + (size_t)n - 1) / (size_t)n, lo, hi);
    buf_printf(out, "\n%s\n", c->title);
    for (int y = ROWS - 1; y >= 0; y--) {
        if (y == ROWS - 1 || y == 0)
            put_time(out, y ? hi : lo);
        else
            buf_printf(out, "%*s", MARGIN - 1, "");
        buf_puts(out, " |");
        for (int x = 0; x < n; x++)
            put_cell(out, heights[x] - y * EIGHTHS, blocks);
        buf_puts(out, "\n");
    }
    return buf_printf(out, "%*s trial 1 to %zu\n", MARGIN, "", c->n);
}

bool curve_blocks(void)
{
    const char *all = getenv("LC_ALL"), *type = getenv("LC_CTYPE"), *lang = getenv("LANG");
    const char *said = all && *all ? all : type && *type ? type : lang ? lang : "";

    return strcasestr(said, "utf-8") || strcasestr(said, "utf8");
}
