/* SPDX-License-Identifier: MIT */
#include "search_space/expr_code.h"

#include "core/err.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Recursive descent over the text, one byte of look-ahead behind white space; each rule leaves one value on the stack.
 */
struct parser {
    const char *text, *at;
    expr_resolve *resolve;
    void *arg;
    struct expr *e;
    size_t depth, stack;
    struct why *why;
};

static enum err parse_or(struct parser *p);
static enum err parse_unary(struct parser *p);

static enum err expected(struct parser *p, const char *what)
{
    if (!*p->at)
        return why_set(p->why, ERR_INPUT, "'%.200s': expected %s at the end", p->text, what);
    return why_set(p->why, ERR_INPUT, "'%.200s': expected %s at byte %zu, before '%.20s'", p->text, what,
                   (size_t)(p->at - p->text), p->at);
}

static enum err out_of_memory(struct parser *p)
{
    return why_set(p->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || (*p->at >= '\t' && *p->at <= '\r'))
        p->at++;
}

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static size_t name_length(const char *s)
{
    size_t n = 0;

    if (!is_name_start(s[0]))
        return 0;
    while (is_name_byte(s[n]))
        n++;
    return n;
}

static bool next_is(struct parser *p, const char *token)
{
    size_t n;

    skip_space(p);
    if (*p->at != *token) /* nearly always */
        return false;
    n = strlen(token);
    if (strncmp(p->at, token, n) != 0)
        return false;
    return !is_name_start(token[0]) || !is_name_byte(p->at[n]);
}

static bool take(struct parser *p, const char *token)
{
    if (!next_is(p, token))
        return false;
    p->at += strlen(token);
    return true;
}

/* Appends an instruction; `growth` is what it does to the stack where it does not jump. */
static enum err emit(struct parser *p, enum op_code code, size_t arg, int growth)
{
    struct expr *e = p->e;

    if (growth > 0 && ++p->stack > EXPR_MAX_STACK)
        return why_set(p->why, ERR_LIMIT, "'%.200s': holds more than %d values at once", p->text, EXPR_MAX_STACK);
    assert(growth >= 0 || p->stack > 0);
    if (growth < 0)
        p->stack--;
    if (arg > UINT16_MAX)
        return why_set(p->why, ERR_LIMIT, "'%.200s': too many names", p->text);
    e->code[e->n_code++] = (struct instruction){(uint16_t)code, (uint16_t)arg};
    return ERR_OK;
}

static enum err emit_number(struct parser *p, double v)
{
    p->e->numbers[p->e->n_numbers++] = v;
    return emit(p, OP_NUMBER, p->e->n_numbers - 1, 1);
}

static enum err parse_number(struct parser *p)
{
    char *end = NULL;
    double v;

    if (p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X'))
        return expected(p, "a decimal number");
    v = strtod(p->at, &end);
    if (end == p->at || !isfinite(v) || is_name_byte(*end))
        return expected(p, "a number");
    p->at = end;
    return emit_number(p, v);
}

static enum err parse_word(struct parser *p)
{
    const char quote = *p->at, *from = p->at + 1, *end = strchr(from, quote);
    char *word;

    if (!end)
        return expected(p, "a closing quote for the word");
    word = strndup(from, (size_t)(end - from));
    if (!word)
        return out_of_memory(p);
    p->e->words[p->e->n_words++] = word;
    p->at = end + 1;
    return emit(p, OP_WORD, p->e->n_words - 1, 1);
}

static const struct {
    const char *name;
    enum op_code code;
    size_t max_arguments;
} functions[] = {{"min", OP_MIN, 64}, {"max", OP_MAX, 64}, {"ceil_div", OP_CEIL_DIV, 2}};

static enum err parse_call(struct parser *p, size_t i_function)
{
    size_t n = 1;
    enum err e = parse_or(p);

    for (; !e && take(p, ","); n++) {
        if (n >= functions[i_function].max_arguments)
            return expected(p, "no further argument");
        e = parse_or(p);
        if (!e)
            e = emit(p, functions[i_function].code, 0, -1);
    }
    if (e)
        return e;
    if (n < 2)
        return expected(p, "',' and a second argument");
    return take(p, ")") ? ERR_OK : expected(p, "')'");
}

static bool is_reserved(const char *name, size_t n)
{
    static const char *const words[] = {"and", "or", "not", "in"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == n && memcmp(words[i], name, n) == 0)
            return true;
    return false;
}

static int truth(const char *name, size_t n)
{
    if ((n == 4) && (memcmp(name, "true", 4) == 0 || memcmp(name, "True", 4) == 0))
        return 1;
    if ((n == 5) && (memcmp(name, "false", 5) == 0 || memcmp(name, "False", 5) == 0))
        return 0;
    return -1;
}

size_t expr_token_bytes(const char *at)
{
    const char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;
    size_t n = *at != '\0';

    if (end)
        return (size_t)(end - at) + 1;
    while (is_name_byte(at[0]) && is_name_byte(at[n]))
        n++;
    return n;
}

bool expr_is_name(const char *name)
{
    const size_t n = name_length(name);

    return n > 0 && !name[n] && !is_reserved(name, n) && truth(name, n) < 0;
}

static enum err parse_name(struct parser *p)
{
    const char *name = p->at;
    const size_t n = name_length(name);
    int slot;

    if (is_reserved(name, n))
        return expected(p, "a number, a word or a name");
    p->at += n;
    if (take(p, "(")) {
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
            if (strlen(functions[i].name) == n && memcmp(functions[i].name, name, n) == 0)
                return parse_call(p, i);
        return why_set(p->why, ERR_INPUT, "'%.200s': no function '%.*s'; there are min, max and ceil_div", p->text,
                       (int)(n < 60 ? n : 60), name);
    }
    if (truth(name, n) >= 0)
        return emit_number(p, truth(name, n));
    slot = p->resolve ? p->resolve(name, n, p->arg) : -1;
    if (slot < 0)
        return why_set(p->why, ERR_INPUT, "'%.200s': unknown name '%.*s'", p->text, (int)(n < 60 ? n : 60), name);
    return emit(p, OP_SLOT, (size_t)slot, 1);
}

static enum err parse_primary(struct parser *p)
{
    enum err e;

    skip_space(p);
    if (take(p, "(")) {
        e = parse_or(p);
        if (e)
            return e;
        return take(p, ")") ? ERR_OK : expected(p, "')'");
    }
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return parse_number(p);
    if (*p->at == '\'' || *p->at == '"')
        return parse_word(p);
    if (is_name_start(*p->at))
        return parse_name(p);
    return expected(p, "a number, a word, a name or '('");
}

static enum err deeper(struct parser *p)
{
    if (++p->depth > EXPR_MAX_DEPTH)
        return why_set(p->why, ERR_LIMIT, "'%.200s': nested deeper than %d", p->text, EXPR_MAX_DEPTH);
    return ERR_OK;
}

/* The operand of a prefix operator, then its instruction. */
static enum err parse_prefixed(struct parser *p, enum op_code code, enum err (*operand)(struct parser *))
{
    enum err e = deeper(p);

    if (!e)
        e = operand(p);
    p->depth--;
    return e ? e : emit(p, code, 0, 0);
}

static enum err parse_unary(struct parser *p)
{
    if (take(p, "-"))
        return parse_prefixed(p, OP_NEG, parse_unary);
    if (take(p, "+"))
        return parse_prefixed(p, OP_PLUS, parse_unary);
    if (!next_is(p, "!=") && take(p, "!"))
        return parse_prefixed(p, OP_NOT, parse_unary);
    return parse_primary(p);
}

static enum err parse_product(struct parser *p)
{
    enum err e = parse_unary(p);

    while (!e) {
        enum op_code code;

        if (take(p, "//"))
            code = OP_FLOOR_DIV;
        else if (take(p, "/"))
            code = OP_DIV;
        else if (take(p, "%"))
            code = OP_MOD;
        else if (!next_is(p, "**") && take(p, "*"))
            code = OP_MUL;
        else
            break;
        e = parse_unary(p);
        if (!e)
            e = emit(p, code, 0, -1);
    }
    return e;
}

static enum err parse_sum(struct parser *p)
{
    enum err e = parse_product(p);

    while (!e) {
        const bool plus = take(p, "+");

        if (!plus && !take(p, "-"))
            break;
        e = parse_product(p);
        if (!e)
            e = emit(p, plus ? OP_ADD : OP_SUB, 0, -1);
    }
    return e;
}

/* Points all jumps of a list at the instruction after the last one. While a list grows each jump's arg holds the place
 * of the one before it plus 1. */
static void land(struct parser *p, size_t last_plus_1)
{
    while (last_plus_1) {
        struct instruction *in = &p->e->code[last_plus_1 - 1];

        assert(in->arg < last_plus_1); /* they come one before the other */
        last_plus_1 = in->arg;
        in->arg = (uint16_t)p->e->n_code;
    }
}

/* The members of `in {a, b}` with x on the stack; `close` ends the list. Equal members jump to the end with 1. */
static enum err parse_members(struct parser *p, const char *close)
{
    size_t jumps = 0;
    enum err e;

    do {
        e = parse_or(p);
        if (!e)
            e = emit(p, OP_IN, jumps, -1);
        if (e)
            return e;
        jumps = p->e->n_code;
    } while (take(p, ","));
    if (!take(p, close))
        return expected(p, close);
    e = emit(p, OP_IN_END, 0, 0);
    land(p, jumps);
    return e;
}

static enum err parse_in(struct parser *p, bool negated)
{
    enum err e;

    if (take(p, "{"))
        e = parse_members(p, "}");
    else if (take(p, "["))
        e = parse_members(p, "]");
    else if (take(p, "("))
        e = parse_members(p, ")");
    else
        return expected(p, "'{' after in");
    return e || !negated ? e : emit(p, OP_NOT, 0, 0);
}

static const struct sign {
    const char *token;
    enum op_code code;
} signs[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}, {"<", OP_LT}, {">", OP_GT}};

static const struct sign *take_sign(struct parser *p)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (take(p, signs[i].token))
            return &signs[i];
    return NULL;
}

/* Takes `in` or `not in`. */
static bool take_in(struct parser *p, bool *negated)
{
    const char *before = p->at;

    *negated = take(p, "not");
    if (take(p, "in"))
        return true;
    p->at = before;
    return false;
}

/* a < b <= c in {..}: each link but the last keeps its right side for the next, or jumps to the end with 0. */
static enum err parse_comparison(struct parser *p)
{
    const struct sign *sign;
    size_t links = 0;
    bool negated = false, in = false;
    enum err e = parse_sum(p);

    if (e)
        return e;
    sign = take_sign(p);
    in = !sign && take_in(p, &negated);
    while (sign) {
        const struct sign *next;

        e = parse_sum(p);
        if (e)
            return e;
        next = take_sign(p);
        in = !next && take_in(p, &negated);
        if (next || in) {
            e = emit(p, OP_CHAIN, links, -1);
            links = p->e->n_code;
        }
        if (!e)
            e = emit(p, sign->code, 0, next || in ? 0 : -1);
        if (e)
            return e;
        sign = next;
    }
    if (in)
        e = parse_in(p, negated);
    land(p, links);
    return e;
}

static enum err parse_not(struct parser *p)
{
    if (take(p, "not"))
        return parse_prefixed(p, OP_NOT, parse_not);
    return parse_comparison(p);
}

/* a op b op c for `and` or `or`, with its sign in C as well. */
static enum err parse_joined(struct parser *p, enum op_code code, const char *token, const char *sign,
                             enum err (*operand)(struct parser *))
{
    size_t jumps = 0;
    enum err e = operand(p);

    while (!e && (take(p, token) || take(p, sign))) {
        e = emit(p, code, jumps, -1);
        jumps = p->e->n_code;
        if (!e)
            e = operand(p);
    }
    if (e || !jumps)
        return e;
    e = emit(p, OP_BOOL, 0, 0);
    land(p, jumps);
    return e;
}

static enum err parse_and(struct parser *p)
{
    return parse_joined(p, OP_AND, "and", "&&", parse_not);
}

static enum err parse_or(struct parser *p)
{
    enum err e = deeper(p);

    if (!e)
        e = parse_joined(p, OP_OR, "or", "||", parse_and);
    p->depth--;
    return e;
}

/* Each byte of text makes at most two instructions ('<' within a chain). */
static enum err make_room(struct parser *p, size_t n_text)
{
    struct expr *e = p->e;

    e->code = calloc(2 * n_text + 8, sizeof *e->code);
    e->numbers = calloc(n_text + 1, sizeof *e->numbers);
    e->words = calloc(n_text + 1, sizeof *e->words);
    return e->code && e->numbers && e->words ? ERR_OK : out_of_memory(p);
}

enum err expr_compile(const char *text, expr_resolve *resolve, void *arg, struct expr **out, struct why *why)
{
    struct parser p = {.text = text, .at = text, .resolve = resolve, .arg = arg, .why = why};
    const size_t n = strnlen(text, EXPR_MAX_TEXT + 1);
    enum err e;

    if (n > EXPR_MAX_TEXT)
        return why_set(why, ERR_LIMIT, "'%.40s...': longer than %d bytes", text, EXPR_MAX_TEXT);
    p.e = calloc(1, sizeof *p.e);
    if (!p.e)
        return out_of_memory(&p);
    e = make_room(&p, n);
    if (!e)
        e = parse_or(&p);
    skip_space(&p);
    if (!e && *p.at)
        e = expected(&p, "an operator or the end");
    if (e) {
        expr_free(p.e);
        return e;
    }
    assert(p.stack == 1 && p.depth == 0 && p.e->n_code <= 2 * n + 8);
    *out = p.e;
    return ERR_OK;
}

void expr_free(struct expr *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n_words; i++)
        free(e->words[i]);
    free(e->words);
    free(e->numbers);
    free(e->code);
    free(e);
}
