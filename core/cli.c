/* SPDX-License-Identifier: MIT */
#include "core/cli.h"

#include "core/nearest.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define HELP_LEFT 26
#define HELP_MARGIN "\n                          " /* of HELP_LEFT blanks */
#define HELP_WORDS_WIDTH 80

static size_t count(const struct cli_option *o)
{
    size_t n = 0;

    while (o[n].name)
        n++;
    assert(n <= CLI_MAX_OPTIONS);
    return n;
}

static bool takes_argument(const struct cli_option *o)
{
    return o->kind != CLI_FLAG && o->kind != CLI_COUNT;
}

static enum err out_of_bounds(const struct cli_option *o, const char *text, struct why *why)
{
    return why_set(why, ERR_INPUT, "--%s %s: expected a number from %.16g to %.16g", o->name, text, o->min, o->max);
}

static bool in_bounds(const struct cli_option *o, double v)
{
    return (o->min == 0 && o->max == 0) || (v >= o->min && v <= o->max);
}

/* As a double 2^53 + 1 would be 2^53. */
static bool int_in_bounds(const struct cli_option *o, int64_t n)
{
    assert(o->min >= -0x1p53 && o->max <= 0x1p53 && "bounds of integers are exact");
    return (o->min == 0 && o->max == 0) || (n >= (int64_t)o->min && n <= (int64_t)o->max);
}

static enum err set_int(const struct cli_option *o, struct cli_value *v, const char *text, struct why *why)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return why_set(why, ERR_INPUT, "--%s %s: expected an integer of at most 64 bits", o->name, text);
    if (!int_in_bounds(o, n))
        return out_of_bounds(o, text, why);
    v->number = n;
    v->real = (double)n;
    return ERR_OK;
}

static double unit_seconds(const char *unit)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return units[i].seconds;
    return 0;
}

static enum err set_real(const struct cli_option *o, struct cli_value *v, const char *text, struct why *why)
{
    char *end;
    double x, unit = 1;

    x = strtod(text, &end);
    if (o->kind == CLI_DURATION && end != text)
        unit = unit_seconds(end);
    if (end == text || (o->kind == CLI_REAL && *end) || unit == 0 || !(x - x == 0))
        return why_set(why, ERR_INPUT, "--%s %s: expected %s", o->name, text,
                       o->kind == CLI_DURATION ? "a time such as 90s, 10m or 2h" : "a number");
    if (!in_bounds(o, x * unit))
        return out_of_bounds(o, text, why);
    v->real = x * unit;
    return ERR_OK;
}

bool cli_lists_words(const struct cli_option *o)
{
    return o->word && !o->loose;
}

void cli_words(const struct cli_option *o, const char *between, const char *turn, size_t width, struct buf *out)
{
    size_t column = 0;

    for (size_t i = 0; o->word(i); i++) {
        const size_t n = strlen(o->word(i)) + strlen(between);
        const bool full = column + n > width;

        buf_printf(out, "%s%s", i == 0 ? "" : full ? turn : between, o->word(i));
        column = full ? n : column + n;
    }
}

static bool is_word(const struct cli_option *o, const char *text, size_t n)
{
    for (size_t i = 0; o->word(i); i++)
        if (strlen(o->word(i)) == n && strncmp(o->word(i), text, n) == 0)
            return true;
    return false;
}

/* Each of its words. */
static enum err check_words(const struct cli_option *o, const char *text, struct why *why)
{
    struct buf list;
    bool good;

    for (const char *at = text;; at++) {
        const size_t n = o->many ? strcspn(at, ",") : strlen(at);

        good = is_word(o, at, n);
        at += n;
        if (!good || !*at)
            break;
    }
    if (good)
        return ERR_OK;
    buf_init(&list, 4096);
    cli_words(o, ", ", "", SIZE_MAX, &list);
    why_set(why, ERR_INPUT, "--%s %.60s: expected %s %s", o->name, text, o->many ? "some of" : "one of",
            buf_text(&list));
    buf_fini(&list);
    return ERR_INPUT;
}

static enum err set_value(const struct cli_option *o, struct cli_value *v, const char *text, struct why *why)
{
    v->text = text;
    switch (o->kind) {
    case CLI_INT:
        return set_int(o, v, text, why);
    case CLI_REAL:
    case CLI_DURATION:
        return set_real(o, v, text, why);
    default:
        return cli_lists_words(o) && !o->open ? check_words(o, text, why) : ERR_OK;
    }
}

static enum err set_defaults(struct cli *c, struct why *why)
{
    for (size_t i = 0; c->options[i].name; i++) {
        const struct cli_option *o = &c->options[i];
        const char *env = o->environment ? getenv(o->environment) : NULL;
        const char *text = env && *env ? env : o->otherwise;
        enum err e = text ? set_value(o, &c->values[i], text, why) : ERR_OK;

        if (e && text == env)
            return why_prefix(why, e, "variable %s", o->environment);
        if (e)
            return e;
    }
    return ERR_OK;
}

static enum err unknown(const struct cli *c, const char *name, struct why *why)
{
    const char *known[CLI_MAX_OPTIONS], *nearest;
    size_t n = 0;

    for (; c->options[n].name; n++) {
        assert(n < CLI_MAX_OPTIONS);
        known[n] = c->options[n].name;
    }
    nearest = nearest_name(name, known, n);
    if (nearest)
        return why_set(why, ERR_INPUT, "unknown option --%s (did you mean --%s?)", name, nearest);
    return why_set(why, ERR_INPUT, "unknown option --%s; --help lists them", name);
}

static const struct cli_option *by_name(const struct cli *c, const char *name, size_t n)
{
    for (const struct cli_option *o = c->options; o->name; o++)
        if ((strlen(o->name) == n && strncmp(o->name, name, n) == 0) ||
            (o->alias && strlen(o->alias) == n && strncmp(o->alias, name, n) == 0))
            return o;
    return NULL;
}

/* As set_value, of a value on the command line. */
static enum err take_value(struct cli *c, const struct cli_option *o, const char *text, struct why *why)
{
    if (!*text && (strncmp(o->argument, "FILE", 4) == 0 || strcmp(o->argument, "DIR") == 0))
        return why_set(why, ERR_INPUT, "--%s needs a value (%s), not ''", o->name, o->argument);
    c->texts[c->n_texts++] = (struct cli_given){o, text};
    return set_value(o, &c->values[o - c->options], text, why);
}

static enum err take_long(struct cli *c, int argc, char **argv, int *i, struct why *why)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    const size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *o = by_name(c, name, n);
    struct cli_value *v;

    if (!o) {
        char cut[64];

        snprintf(cut, sizeof cut, "%.*s", (int)(n < 60 ? n : 60), name);
        return unknown(c, cut, why);
    }
    v = &c->values[o - c->options];
    if (!takes_argument(o)) {
        if (equals)
            return why_set(why, ERR_INPUT, "--%s takes no value", o->name);
        v->given = true;
        v->number++;
        return ERR_OK;
    }
    if (!equals && *i + 1 >= argc)
        return why_set(why, ERR_INPUT, "--%s needs a value (%s)", o->name, o->argument);
    v->given = true;
    return take_value(c, o, equals ? equals + 1 : argv[++*i], why);
}

static const struct cli_option *by_letter(const struct cli *c, char letter)
{
    for (const struct cli_option *o = c->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static enum err take_short(struct cli *c, int argc, char **argv, int *i, struct why *why)
{
    const char *p = argv[*i] + 1;

    for (; *p; p++) {
        const struct cli_option *o = by_letter(c, *p);
        struct cli_value *v;

        if (!o)
            return why_set(why, ERR_INPUT, "unknown option -%c; --help lists them", *p);
        v = &c->values[o - c->options];
        v->given = true;
        if (!takes_argument(o)) {
            v->number++;
            continue;
        }
        if (p[1])
            return take_value(c, o, p + 1, why);
        if (*i + 1 >= argc)
            return why_set(why, ERR_INPUT, "-%c needs a value (%s)", *p, o->argument);
        return take_value(c, o, argv[++*i], why);
    }
    return ERR_OK;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

enum err cli_parse(struct cli *c, const struct cli_option *options, int argc, char **argv, struct why *why)
{
    bool only_rest = false;
    enum err e;

    *c = (struct cli){.options = options};
    (void)count(options);
    c->rest = calloc((size_t)argc + 1, sizeof *c->rest);
    c->texts = calloc((size_t)argc + 1, sizeof *c->texts);
    if (!c->rest || !c->texts)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    c->help = wants_help(argc, argv);
    if (c->help)
        return ERR_OK;
    e = set_defaults(c, why);
    for (int i = 1; !e && i < argc; i++) {
        if (only_rest || argv[i][0] != '-' || argv[i][1] == '\0')
            c->rest[c->n_rest++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_rest = true;
        else if (argv[i][1] == '-')
            e = take_long(c, argc, argv, &i, why);
        else
            e = take_short(c, argc, argv, &i, why);
    }
    return e;
}

void cli_fini(struct cli *c)
{
    if (!c)
        return;
    free(c->rest);
    free(c->texts);
    c->rest = NULL;
    c->texts = NULL;
    c->n_rest = c->n_texts = 0;
}

const struct cli_value *cli_get(const struct cli *c, const char *name)
{
    const struct cli_option *o = by_name(c, name, strlen(name));

    assert(o && "option is not in the table");
    return &c->values[o - c->options];
}

const char *cli_text(const struct cli *c, const char *name)
{
    return cli_get(c, name)->text;
}

int cli_texts(const struct cli *c, const char *name, const char **out, int max)
{
    const struct cli_option *o = by_name(c, name, strlen(name));
    int n = 0;

    assert(o && "option is not in the table");
    for (int i = 0; i < c->n_texts; i++) {
        if (c->texts[i].option != o)
            continue;
        if (n < max)
            out[n] = c->texts[i].text;
        n++;
    }
    return n;
}

int64_t cli_int(const struct cli *c, const char *name)
{
    return cli_get(c, name)->number;
}

double cli_real(const struct cli *c, const char *name)
{
    return cli_get(c, name)->real;
}

bool cli_flag(const struct cli *c, const char *name)
{
    return cli_get(c, name)->number > 0;
}

void cli_describe(const struct cli_option *o, struct buf *out)
{
    buf_puts(out, o->help);
    if (o->otherwise && *o->otherwise)
        buf_printf(out, " [%s]", o->otherwise);
    if (o->environment)
        buf_printf(out, " ($%s)", o->environment);
    if (o->alias)
        buf_printf(out, ", also --%s", o->alias);
}

static void help_line(const struct cli_option *o, struct buf *out)
{
    char left[64];
    int n = snprintf(left, sizeof left, "  ");

    if (o->letter)
        n += snprintf(left + n, sizeof left - (size_t)n, "-%c, ", o->letter);
    n += snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s", o->name, o->argument ? " " : "",
                  o->argument ? o->argument : "");
    assert(n < (int)sizeof left && "a name and its argument fit a line of help");
    buf_printf(out, "%-*s%s", HELP_LEFT, left, n >= HELP_LEFT ? HELP_MARGIN : "");
    cli_describe(o, out);
    if (cli_lists_words(o)) {
        buf_printf(out, HELP_MARGIN "%s of ", o->many ? "some" : "one");
        cli_words(o, " ", HELP_MARGIN, HELP_WORDS_WIDTH, out);
    }
    buf_puts(out, "\n");
}

void cli_help(const struct cli_option *options, const char *usage, const char *summary, const char *example,
              struct buf *out)
{
    buf_printf(out, "usage: %s\n%s\n\noptions (defaults in brackets):\n", usage, summary);
    for (const struct cli_option *o = options; o->name; o++)
        help_line(o, out);
    buf_puts(out, "  -h, --help              this text\n");
    if (example)
        buf_printf(out, "\nexample:\n  %s\n", example);
}

int cli_columns(int fd)
{
    struct winsize w = {.ws_col = 0};

    return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}
