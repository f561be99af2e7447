/* SPDX-License-Identifier: MIT */
#include "search_space/value_list.h"

#include "search_space/arith.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARIABLES 4
#define NAME_BYTES 48

/* What a place in the text says: a number, a boolean, or a word (lent from the text). */
struct scalar {
    enum { SCALAR_NUMBER, SCALAR_BOOL, SCALAR_WORD } kind;
    double number;
    const char *word;
    size_t n_word;
};

struct variable {
    char name[NAME_BYTES];
    struct scalar value;
};

/* Recursive descent; a comprehension reads its first expression once for each value, from where it stands. */
struct reader {
    const char *text, *at;
    struct variable variables[MAX_VARIABLES];
    size_t n_variables, depth, n_steps;
    struct why *why;
};

static enum err read_list(struct reader *r, cJSON *out);
static enum err read_sum(struct reader *r, struct scalar *out);

static enum err expected(struct reader *r, const char *what)
{
    if (!*r->at)
        return why_set(r->why, ERR_INPUT, "'%.100s': expected %s at the end", r->text, what);
    return why_set(r->why, ERR_INPUT, "'%.100s': expected %s at byte %zu, before '%.20s'", r->text, what,
                   (size_t)(r->at - r->text), r->at);
}

static enum err over(struct reader *r, const char *what)
{
    return why_set(r->why, ERR_LIMIT, "'%.100s': %s at byte %zu", r->text, what, (size_t)(r->at - r->text));
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next token, when it is this one; words end where no further letter follows. */
static bool take(struct reader *r, const char *token)
{
    const size_t n = strlen(token);

    while (isspace((unsigned char)*r->at))
        r->at++;
    if (strncmp(r->at, token, n) != 0 || (is_name_byte(token[0]) && is_name_byte(r->at[n])))
        return false;
    r->at += n;
    return true;
}

static bool next_is(struct reader *r, const char *token)
{
    const char *from = r->at;
    const bool is = take(r, token);

    r->at = is ? from : r->at;
    return is;
}

static enum err deeper(struct reader *r)
{
    return ++r->depth > VALUE_LIST_MAX_DEPTH ? over(r, "nested too deep") : ERR_OK;
}

static enum err step(struct reader *r)
{
    return ++r->n_steps > VALUE_LIST_MAX_STEPS ? over(r, "too many steps") : ERR_OK;
}

static enum err number(struct reader *r, double v, struct scalar *out)
{
    if (isnan(v))
        return over(r, "a number that cannot be computed");
    if (fabs(v) > (double)JSON_EXACT_MAX)
        return over(r, "a number beyond 2^53");
    *out = (struct scalar){.kind = SCALAR_NUMBER, .number = v};
    return step(r);
}

static enum err read_word(struct reader *r, struct scalar *out)
{
    const char quote = *r->at, *from = r->at + 1, *end = strchr(from, quote);

    if (!end)
        return expected(r, "a closing quote");
    *out = (struct scalar){.kind = SCALAR_WORD, .word = from, .n_word = (size_t)(end - from)};
    r->at = end + 1;
    return step(r);
}

static enum err read_name(struct reader *r, struct scalar *out)
{
    size_t n = 0;

    if (take(r, "True") || take(r, "true")) {
        *out = (struct scalar){.kind = SCALAR_BOOL, .number = 1};
        return step(r);
    }
    if (take(r, "False") || take(r, "false")) {
        *out = (struct scalar){.kind = SCALAR_BOOL, .number = 0};
        return step(r);
    }
    while (is_name_byte(r->at[n]))
        n++;
    for (size_t i = r->n_variables; i-- > 0;)
        if (strlen(r->variables[i].name) == n && memcmp(r->variables[i].name, r->at, n) == 0) {
            r->at += n;
            *out = r->variables[i].value;
            return step(r);
        }
    return expected(r, "a value, range(..), list(..) or a variable of 'for'");
}

static enum err read_primary(struct reader *r, struct scalar *out)
{
    char *end = NULL;
    double v;
    enum err e;

    if (take(r, "(")) {
        e = deeper(r);
        if (!e)
            e = read_sum(r, out);
        r->depth--;
        return e ? e : take(r, ")") ? ERR_OK : expected(r, "')'");
    }
    if (*r->at == '\'' || *r->at == '"')
        return read_word(r, out);
    if (isalpha((unsigned char)*r->at) || *r->at == '_')
        return read_name(r, out);
    if (!isdigit((unsigned char)*r->at) && *r->at != '.')
        return expected(r, "a value");
    if (r->at[0] == '0' && (r->at[1] == 'x' || r->at[1] == 'X'))
        return expected(r, "a decimal number");
    v = strtod(r->at, &end);
    if (end == r->at || is_name_byte(*end))
        return expected(r, "a number");
    r->at = end;
    return number(r, v, out);
}

static enum err need_numbers(struct reader *r, const struct scalar *a, const struct scalar *b)
{
    return a->kind == SCALAR_WORD || b->kind == SCALAR_WORD ? expected(r, "numbers, not words, round an operator")
                                                            : ERR_OK;
}

/* -a, and a ** b, which binds tighter than the minus before it. */
static enum err read_power(struct reader *r, struct scalar *out)
{
    const bool minus = take(r, "-"), plus = !minus && take(r, "+");
    struct scalar power = {.kind = SCALAR_NUMBER};
    enum err e = deeper(r);

    if (!e)
        e = minus || plus ? read_power(r, out) : read_primary(r, out);
    if (!e && (minus || plus) && !(e = need_numbers(r, out, out)))
        e = number(r, minus ? -out->number : out->number, out);
    if (!e && !minus && !plus && take(r, "**")) {
        e = read_power(r, &power);
        if (!e)
            e = need_numbers(r, out, &power);
        if (!e)
            e = number(r, pow(out->number, power.number), out);
    }
    r->depth--;
    return e;
}

static double apply(char op, double a, double b)
{
    switch (op) {
    case '*':
        return a * b;
    case '/':
        return b == 0 ? NAN : a / b;
    case '#':
        return b == 0 ? NAN : arith_floor_div(a, b);
    case '%':
        return b == 0 ? NAN : arith_mod(a, b);
    case '+':
        return a + b;
    default:
        return a - b;
    }
}

static enum err read_chain(struct reader *r, const char *const *tokens, const char *ops,
                           enum err (*operand)(struct reader *, struct scalar *), struct scalar *out)
{
    enum err e = operand(r, out);

    while (!e) {
        struct scalar b = {.kind = SCALAR_NUMBER};
        size_t i = 0;

        while (ops[i] && !take(r, tokens[i]))
            i++;
        if (!ops[i])
            break;
        e = operand(r, &b);
        if (!e)
            e = need_numbers(r, out, &b);
        if (!e)
            e = number(r, apply(ops[i], out->number, b.number), out);
    }
    return e;
}

static enum err read_product(struct reader *r, struct scalar *out)
{
    static const char *const tokens[] = {"//", "*", "/", "%"};

    return read_chain(r, tokens, "#*/%", read_power, out);
}

static enum err read_sum(struct reader *r, struct scalar *out)
{
    static const char *const tokens[] = {"+", "-"};

    return read_chain(r, tokens, "+-", read_product, out);
}

static enum err append(struct reader *r, cJSON *out, const struct scalar *s)
{
    cJSON *item = NULL;
    char word[256];

    if (cJSON_GetArraySize(out) >= VALUE_LIST_MAX_VALUES)
        return over(r, "more than 4096 values");
    if (s->kind == SCALAR_WORD) {
        if (s->n_word >= sizeof word)
            return over(r, "a word of more than 255 bytes");
        memcpy(word, s->word, s->n_word);
        word[s->n_word] = '\0';
        item = cJSON_CreateString(word);
    } else {
        item = s->kind == SCALAR_BOOL ? cJSON_CreateBool(s->number != 0) : cJSON_CreateNumber(s->number);
    }
    if (item && cJSON_AddItemToArray(out, item))
        return ERR_OK;
    cJSON_Delete(item);
    return why_set(r->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

/* range(end), range(first, end), range(first, end, step), behind its '('. */
static enum err read_range(struct reader *r, cJSON *out)
{
    struct scalar v[3] = {{.kind = SCALAR_NUMBER}};
    size_t n = 0;
    double first, end, by;
    enum err e = ERR_OK;

    do {
        if (n == 3)
            return expected(r, "')'");
        e = read_sum(r, &v[n]);
        if (!e && (v[n].kind == SCALAR_WORD || v[n].number != rint(v[n].number)))
            e = expected(r, "whole numbers in range(..)");
        n++;
    } while (!e && take(r, ","));
    if (!e && !take(r, ")"))
        e = expected(r, "')'");
    first = n > 1 ? v[0].number : 0;
    end = n > 1 ? v[1].number : v[0].number;
    by = n > 2 ? v[2].number : 1;
    if (!e && by == 0)
        e = expected(r, "a step of range(..) that is not 0");
    for (double x = first; !e && (by > 0 ? x < end : x > end); x += by) {
        struct scalar s;

        e = number(r, x, &s);
        if (!e)
            e = append(r, out, &s);
    }
    return e;
}

static enum err variable_name(struct reader *r, char out[NAME_BYTES])
{
    size_t n = 0;

    while (isspace((unsigned char)*r->at))
        r->at++;
    while (is_name_byte(r->at[n]))
        n++;
    if (n == 0 || n >= NAME_BYTES || isdigit((unsigned char)*r->at))
        return expected(r, "a variable after 'for'");
    memcpy(out, r->at, n);
    out[n] = '\0';
    r->at += n;
    return ERR_OK;
}

static bool compares(const struct scalar *a, size_t i_sign, const struct scalar *b)
{
    const double d = a->number - b->number;
    const bool is[] = {d == 0, d != 0, d <= 0, d >= 0, d<0, d> 0};

    return is[i_sign];
}

/* The condition of a comprehension: one comparison of numbers, or a number. */
static enum err read_condition(struct reader *r, bool *holds)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    struct scalar a, b = {.kind = SCALAR_NUMBER};
    enum err e = read_sum(r, &a);

    if (e || (e = need_numbers(r, &a, &a)))
        return e;
    *holds = a.number != 0;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (take(r, signs[i])) {
            e = read_sum(r, &b);
            if (!e)
                e = need_numbers(r, &b, &b);
            *holds = !e && compares(&a, i, &b);
            return e;
        }
    return ERR_OK;
}

static struct scalar scalar_of(const cJSON *item)
{
    if (cJSON_IsString(item))
        return (struct scalar){.kind = SCALAR_WORD, .word = item->valuestring, .n_word = strlen(item->valuestring)};
    if (cJSON_IsBool(item))
        return (struct scalar){.kind = SCALAR_BOOL, .number = cJSON_IsTrue(item)};
    return (struct scalar){.kind = SCALAR_NUMBER, .number = item->valuedouble};
}

/* One round of `body for name in list [if condition]` with the variable set: *end is behind it. */
static enum err read_round(struct reader *r, const char *body, const char *condition, cJSON *out, const char **end)
{
    struct scalar s;
    bool holds = true;
    enum err e = ERR_OK;

    if (condition) {
        r->at = condition;
        e = read_condition(r, &holds);
        *end = r->at;
    }
    if (e || !holds)
        return e;
    r->at = body;
    e = read_sum(r, &s);
    return e ? e : append(r, out, &s);
}

/* What follows the first item of a bracket when that is a comprehension; `body` is where it began. */
static enum err read_comprehension(struct reader *r, const char *body, cJSON *out)
{
    struct variable *v = &r->variables[r->n_variables];
    cJSON *list = cJSON_CreateArray();
    char name[NAME_BYTES] = ""; /* not yet at its place: the list may hold comprehensions of its own */
    const char *condition = NULL, *end;
    enum err e = list ? ERR_OK : ERR_NOMEM;

    if (!e && r->n_variables == MAX_VARIABLES)
        e = over(r, "too many variables");
    if (!e)
        e = variable_name(r, name);
    if (!e && !take(r, "in"))
        e = expected(r, "'in'");
    if (!e)
        e = read_list(r, list);
    if (!e && take(r, "if"))
        condition = r->at;
    end = r->at;
    if (!e) {
        strcpy(v->name, name);
        r->n_variables++;
    }
    for (const cJSON *item = e ? NULL : list->child; item && !e; item = item->next) {
        v->value = scalar_of(item);
        e = read_round(r, body, condition, out, &end);
    }
    r->n_variables -= v < &r->variables[r->n_variables];
    if (!e)
        r->at = end;
    cJSON_Delete(list);
    return e;
}

/* Does a 'for' follow the item that begins here, before its ',' or the bracket's end? */
static bool is_comprehension(const char *at)
{
    int depth = 0;

    for (; *at; at++) {
        if (*at == '\'' || *at == '"') {
            const char *end = strchr(at + 1, *at);

            if (!end)
                return false;
            at = end;
        } else if (*at == '(' || *at == '[') {
            depth++;
        } else if ((*at == ')' || *at == ']') && depth-- == 0) {
            return false;
        } else if (*at == ',' && depth == 0) {
            return false;
        } else if (depth == 0 && strncmp(at, "for", 3) == 0 && isspace((unsigned char)at[3]) &&
                   isspace((unsigned char)at[-1])) {
            return true;
        }
    }
    return false;
}

/* Skips to the 'for' that is_comprehension has seen. */
static void skip_body(struct reader *r)
{
    int depth = 0;

    for (; !(depth == 0 && strncmp(r->at, "for", 3) == 0 && isspace((unsigned char)r->at[-1])); r->at++) {
        if (*r->at == '\'' || *r->at == '"')
            r->at = strchr(r->at + 1, *r->at);
        depth += *r->at == '(' || *r->at == '[';
        depth -= *r->at == ')' || *r->at == ']';
    }
    r->at += 3;
}

static enum err read_items(struct reader *r, const char *close, cJSON *out)
{
    enum err e = ERR_OK;

    while (isspace((unsigned char)*r->at))
        r->at++;
    if (is_comprehension(r->at)) {
        const char *body = r->at;

        skip_body(r);
        e = read_comprehension(r, body, out);
    } else {
        while (!e && !next_is(r, close)) {
            struct scalar s;

            e = read_sum(r, &s);
            if (!e)
                e = append(r, out, &s);
            if (!e && !take(r, ","))
                break;
        }
    }
    if (e)
        return e;
    return take(r, close) ? ERR_OK : expected(r, *close == ']' ? "',' or ']'" : "',' or ')'");
}

static enum err read_part(struct reader *r, cJSON *out)
{
    enum err e;

    if (take(r, "["))
        return read_items(r, "]", out);
    if (take(r, "range")) {
        return take(r, "(") ? read_range(r, out) : expected(r, "'(' after range");
    }
    if (take(r, "list") || take(r, "tuple")) {
        if (!take(r, "("))
            return expected(r, "'('");
        e = read_list(r, out);
        return e ? e : take(r, ")") ? ERR_OK : expected(r, "')'");
    }
    if (take(r, "("))
        return read_items(r, ")", out);
    return expected(r, "'[', range(..) or list(..)");
}

static enum err read_list(struct reader *r, cJSON *out)
{
    enum err e = deeper(r);

    do {
        if (!e)
            e = read_part(r, out);
    } while (!e && take(r, "+"));
    r->depth--;
    return e;
}

enum err value_list_parse(const char *text, cJSON **out, struct why *why)
{
    struct reader r = {.text = text, .at = text, .why = why};
    cJSON *list;
    enum err e;

    if (strnlen(text, VALUE_LIST_MAX_TEXT + 1) > VALUE_LIST_MAX_TEXT)
        return why_set(why, ERR_LIMIT, "'%.40s...': longer than %d bytes", text, VALUE_LIST_MAX_TEXT);
    list = cJSON_CreateArray();
    if (!list)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    e = read_list(&r, list);
    while (isspace((unsigned char)*r.at))
        r.at++;
    if (!e && *r.at)
        e = expected(&r, "the end");
    assert(e || (r.depth == 0 && r.n_variables == 0));
    if (e)
        cJSON_Delete(list);
    else
        *out = list;
    return e;
}
