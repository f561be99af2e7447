/* SPDX-License-Identifier: MIT */
#include "kernels/workload.h"

#include "core/hash.h"
#include "kernels/operator.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define MAX_TOKEN (WORKLOAD_MAX_WORD + 64)
#define BLANKS " \t"

static int n_parts(enum key_kind kind)
{
    static const int parts[] = {[KEY_INT] = 1,
                                [KEY_PAIR] = 2,
                                [KEY_PAD] = 4,
                                [KEY_WORD] = 1,
                                [KEY_FRACTION] = 1,
                                [KEY_HASH] = 4,
                                [KEY_SIZES] = WORKLOAD_MAX_PARTS,
                                [KEY_TEXT] = 0};

    return parts[kind];
}

/* The next blank-separated token of *at into token[]; false at the end of the text. */
static bool next_token(const char **at, char token[MAX_TOKEN], enum err *e, struct why *why)
{
    const char *from = *at + strspn(*at, BLANKS);
    const size_t n = strcspn(from, BLANKS);

    *at = from + n;
    if (!n)
        return false;
    if (n >= MAX_TOKEN) {
        *e = why_set(why, ERR_INPUT, "workload: a word of %zu characters; expected key=value", n);
        return false;
    }
    memcpy(token, from, n);
    token[n] = '\0';
    return true;
}

static enum err check_characters(const char *text, struct why *why)
{
    const size_t n = strnlen(text, WORKLOAD_MAX_TEXT);

    if (n >= WORKLOAD_MAX_TEXT)
        return why_set(why, ERR_LIMIT, "workload: longer than %d characters", WORKLOAD_MAX_TEXT - 1);
    for (size_t i = 0; i < n; i++)
        if (text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
            return why_set(why, ERR_INPUT,
                           "workload: byte 0x%02x at %zu is not text; expected e.g. \"dense f32 m=1 n=8 k=8\"",
                           (unsigned)(unsigned char)text[i], i);
    return ERR_OK;
}

/* A decimal number of 64 bits at *at, which moves behind it. */
static enum err parse_number(const char **at, const char *key, int64_t *out, struct why *why)
{
    const char *p = *at;
    const bool negative = *p == '-';
    int64_t v = 0;

    p += negative;
    if (!isdigit((unsigned char)*p))
        return why_set(why, ERR_INPUT, "%s=%s: expected a whole number", key, *at);
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(v, (int64_t)10, &v) || __builtin_add_overflow(v, (int64_t)(*p - '0'), &v))
            return why_set(why, ERR_INPUT, "%s: the number does not fit in 64 bits", key);
    if (*p && *p != ',')
        return why_set(why, ERR_INPUT, "%s=%s: expected a whole number", key, *at);
    *out = negative ? -v : v;
    *at = p;
    return ERR_OK;
}

static enum err parse_list(const char *text, const struct operator_key *key, int64_t list[4], int *n, struct why *why)
{
    const char *at = text;
    enum err e;

    for (*n = 0; *n < n_parts(key->kind);) {
        e = parse_number(&at, key->name, &list[*n], why);
        if (e)
            return e;
        if (list[*n] < key->min || list[*n] > key->max)
            return why_set(why, ERR_INPUT, "%s=%lld: expected %lld to %lld (%s)", key->name, (long long)list[*n],
                           (long long)key->min, (long long)key->max, key->help);
        ++*n;
        if (*at != ',')
            break;
        at++;
    }
    if (*at)
        return why_set(why, ERR_INPUT, "%s=%s: expected %s", key->name, text,
                       key->kind == KEY_INT    ? "one number"
                       : key->kind == KEY_PAIR ? "one number or h,w"
                                               : "one number, h,w or top,left,bottom,right");
    return ERR_OK;
}

static enum err parse_word(const char *text, const struct operator_key *key, int64_t *out, struct why *why)
{
    struct buf known;
    enum err e;

    for (int i = 0; key->words[i]; i++)
        if (strcmp(key->words[i], text) == 0) {
            *out = i;
            return ERR_OK;
        }
    buf_init(&known, 512);
    workload_key_range(key, &known);
    e = why_set(why, ERR_INPUT, "%s=%s: expected one of %s", key->name, text, buf_text(&known));
    buf_fini(&known);
    return e;
}

/* Fractions without the zeros at their end. */
static void put_fraction(int64_t millionths, struct buf *out)
{
    int64_t places = millionths % 1000000;
    int n = 6;

    for (; n > 0 && places % 10 == 0; n--)
        places /= 10;
    buf_printf(out, "%lld", (long long)(millionths / 1000000));
    if (n)
        buf_printf(out, ".%0*lld", n, (long long)places);
}

void workload_key_range(const struct operator_key *key, struct buf *out)
{
    if (key->kind == KEY_WORD) {
        for (int i = 0; key->words[i]; i++)
            buf_printf(out, "%s%s", i ? ", " : "", key->words[i]);
    } else if (key->kind == KEY_HASH) {
        buf_puts(out, "sha256: and 64 hex digits");
    } else if (key->kind == KEY_FRACTION) {
        put_fraction(key->min, out);
        buf_puts(out, " to ");
        put_fraction(key->max, out);
    } else if (key->kind == KEY_TEXT) {
        buf_printf(out, "at most %d characters", WORKLOAD_MAX_WORD - 1);
    } else {
        buf_printf(out, "%lld to %lld", (long long)key->min, (long long)key->max);
    }
}

static enum err bad_fraction(const char *text, const struct operator_key *key, struct why *why)
{
    struct buf range;
    enum err e;

    buf_init(&range, 64);
    workload_key_range(key, &range);
    e = why_set(why, ERR_INPUT, "%s=%s: expected %s (%s)", key->name, text, buf_text(&range), key->help);
    buf_fini(&range);
    return e;
}

/* A number with at most six digits behind the point, as millionths. */
static enum err parse_fraction(const char *text, const struct operator_key *key, int64_t *out, struct why *why)
{
    const char *point = text + strspn(text, "0123456789"), *places = *point == '.' ? point + 1 : point;
    const size_t n_places = strspn(places, "0123456789");
    int64_t v = 0;

    if (!*text || places[n_places] || point - text > 9 || n_places > 6 || point - text + (ptrdiff_t)n_places == 0)
        return why_set(why, ERR_INPUT, "%s=%s: expected a number like 0.9, at most six digits behind the point",
                       key->name, text);
    for (const char *p = text; p < point; p++)
        v = v * 10 + (*p - '0');
    for (size_t i = 0; i < 6; i++)
        v = v * 10 + (i < n_places ? places[i] - '0' : 0);
    if (v < key->min || v > key->max)
        return bad_fraction(text, key, why);
    *out = v;
    return ERR_OK;
}

static enum err parse_hash(const char *text, const struct operator_key *key, int64_t v[4], struct why *why)
{
    static const char word[] = "sha256:";

    if (strncmp(text, word, sizeof word - 1) != 0 || !sha256_is_hex(text + sizeof word - 1))
        return why_set(why, ERR_INPUT, "%s=%s: expected sha256: and 64 lower-case hex digits (%s)", key->name, text,
                       key->help);
    for (int i = 0; i < 4; i++) {
        uint64_t part = 0;

        for (int j = 0; j < 16; j++) {
            const char c = text[sizeof word - 1 + (size_t)(16 * i + j)];

            part = part << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        memcpy(&v[i], &part, sizeof part);
    }
    if (!(v[0] | v[1] | v[2] | v[3])) /* stands for a key left out */
        return why_set(why, ERR_INPUT, "%s=%s: no file has this hash (%s)", key->name, text, key->help);
    return ERR_OK;
}

void workload_hash_text(const int64_t v[4], char hex[65])
{
    for (int i = 0; i < 64; i++)
        hex[i] = "0123456789abcdef"[(uint64_t)v[i / 16] >> (60 - 4 * (i % 16)) & 15];
    hex[64] = '\0';
}

/* Sizes with an x between them. */
static enum err parse_sizes(const char *text, const struct operator_key *key, int64_t v[], struct why *why)
{
    const char *at = text;

    for (int n = 0; n < WORKLOAD_MAX_PARTS; n++) {
        const size_t digits = strspn(at, "0123456789");

        for (size_t i = 0; i < digits && v[n] <= key->max; i++)
            v[n] = v[n] * 10 + (at[i] - '0');
        if (!digits || v[n] < key->min || v[n] > key->max)
            break;
        at += digits;
        if (!*at)
            return ERR_OK;
        if (*at++ != 'x')
            break;
    }
    return why_set(why, ERR_INPUT, "%s=%s: expected 1 to %d sizes from %lld to %lld, like 2x3x5 (%s)", key->name, text,
                   WORKLOAD_MAX_PARTS, (long long)key->min, (long long)key->max, key->help);
}

static enum err parse_text(const char *text, const struct operator_key *key, char out[WORKLOAD_MAX_WORD],
                           struct why *why)
{
    const size_t n = strlen(text);

    if (n == 0 || n >= WORKLOAD_MAX_WORD)
        return why_set(why, n ? ERR_LIMIT : ERR_INPUT, "%s: expected 1 to %d characters (%s)", key->name,
                       WORKLOAD_MAX_WORD - 1, key->help);
    memcpy(out, text, n + 1);
    return ERR_OK;
}

static enum err parse_value(const char *text, const struct operator_key *key, int64_t v[], struct why *why)
{
    int64_t list[4] = {0, 0, 0, 0};
    int n = 0;
    enum err e;

    if (key->kind == KEY_SIZES)
        return parse_sizes(text, key, v, why);

    if (key->kind == KEY_WORD)
        return parse_word(text, key, &v[0], why);
    if (key->kind == KEY_FRACTION)
        return parse_fraction(text, key, &v[0], why);
    if (key->kind == KEY_HASH)
        return parse_hash(text, key, v, why);
    e = parse_list(text, key, list, &n, why);
    if (e)
        return e;
    if (n == 3)
        return why_set(why, ERR_INPUT, "%s=%s: expected one number, h,w or top,left,bottom,right", key->name, text);
    for (int i = 0; i < n_parts(key->kind); i++)
        v[i] = list[n == 1 ? 0 : n == 2 ? i % 2 : i];
    return ERR_OK;
}

static int find_key(const struct operator_desc *op, const char *name, size_t n)
{
    for (int i = 0; op->keys[i].name; i++)
        if (strlen(op->keys[i].name) == n && memcmp(op->keys[i].name, name, n) == 0)
            return i;
    return -1;
}

static enum err unknown_key(const struct operator_desc *op, const char *token, struct why *why)
{
    struct buf known;
    enum err e;

    buf_init(&known, 1024);
    for (int i = 0; op->keys[i].name; i++)
        buf_printf(&known, "%s%s", i ? " " : "", op->keys[i].name);
    e = why_set(why, ERR_INPUT, "%s: no key in \"%s\"; %s has the keys %s, written key=value", op->name, token,
                op->name, buf_text(&known));
    buf_fini(&known);
    return e;
}

static enum err unknown_operator(const char *name, struct why *why)
{
    struct buf known;
    enum err e;

    buf_init(&known, 512);
    for (int i = 0; operator_table[i]; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", operator_table[i]->name);
    e = why_set(why, ERR_INPUT, "unknown operator \"%s\"; expected one of %s", name, buf_text(&known));
    buf_fini(&known);
    return e;
}

static enum err unknown_dtype(const struct operator_desc *op, const char *name, struct why *why)
{
    struct buf known;
    enum err e;

    buf_init(&known, 64);
    for (int t = 0, n = 0; t < 32; t++)
        if (op->dtypes & (1u << t))
            buf_printf(&known, "%s%s", n++ ? ", " : "", dtype_name((enum dtype)t));
    e = why_set(why, ERR_INPUT, "%s: \"%s\" is no dtype of it; expected one of %s", op->name, name, buf_text(&known));
    buf_fini(&known);
    return e;
}

static enum err parse_head(const char **at, struct workload *w, struct why *why)
{
    char token[MAX_TOKEN];
    enum err e = ERR_OK;
    int t;

    if (!next_token(at, token, &e, why))
        return e ? e : why_set(why, ERR_INPUT, "empty workload; expected e.g. \"dense f32 m=1 n=8 k=8\"");
    w->op = operator_find(token);
    if (!w->op)
        return unknown_operator(token, why);
    if (!next_token(at, token, &e, why))
        return e ? e : why_set(why, ERR_INPUT, "%s: the dtype is missing; expected e.g. f32", w->op->name);
    t = dtype_by_name(token);
    if (t < 0 || !(w->op->dtypes & (1u << t)))
        return unknown_dtype(w->op, token, why);
    w->dtype = (enum dtype)t;
    return ERR_OK;
}

static enum err parse_pair(const char *token, struct workload *w, bool seen[WORKLOAD_MAX_KEYS], struct why *why)
{
    const char *sign = strchr(token, '=');
    const int i = sign ? find_key(w->op, token, (size_t)(sign - token)) : -1;

    if (i < 0)
        return unknown_key(w->op, token, why);
    assert(i < WORKLOAD_MAX_KEYS);
    if (seen[i])
        return why_set(why, ERR_INPUT, "%s: %s is given twice", w->op->name, w->op->keys[i].name);
    seen[i] = true;
    if (w->op->keys[i].kind == KEY_TEXT)
        return parse_text(sign + 1, &w->op->keys[i], w->text, why);
    return parse_value(sign + 1, &w->op->keys[i], w->key[i].v, why);
}

static enum err fill_defaults(struct workload *w, const bool seen[WORKLOAD_MAX_KEYS], struct why *why)
{
    for (int i = 0; w->op->keys[i].name; i++) {
        const struct operator_key *key = &w->op->keys[i];

        if (seen[i])
            continue;
        if (key->required)
            return why_set(why, ERR_INPUT, "%s: %s is missing (%s)", w->op->name, key->name, key->help);
        for (int part = 0; key->kind != KEY_WORD && part < n_parts(key->kind); part++)
            w->key[i].v[part] = key->otherwise;
    }
    return ERR_OK;
}

/* Sums in half are a permission for f16: with another dtype the same work would have two names. */
static enum err check_acc(const struct workload *w, struct why *why)
{
    if (w->dtype == DTYPE_F16 || !workload_has(w, "acc") || workload_get(w, "acc") == 0)
        return ERR_OK;
    return why_set(why, ERR_INPUT, "%s %s: acc=f16 is for dtype f16; sums of %s are made in %s", w->op->name,
                   dtype_name(w->dtype), dtype_name(w->dtype), dtype_is_bytes(w->dtype) ? "i32" : "f32");
}

enum err workload_parse(const char *text, struct workload *out, struct why *why)
{
    struct workload w = {0};
    bool seen[WORKLOAD_MAX_KEYS] = {false};
    char token[MAX_TOKEN];
    const char *at = text;
    enum err e = check_characters(text, why);

    if (!e)
        e = parse_head(&at, &w, why);
    while (!e && next_token(&at, token, &e, why))
        e = parse_pair(token, &w, seen, why);
    if (!e)
        e = fill_defaults(&w, seen, why);
    if (!e)
        e = check_acc(&w, why);
    if (!e)
        e = w.op->check(&w, why);
    if (!e)
        *out = w;
    return e;
}

static bool is_default(const struct operator_key *key, const int64_t v[])
{
    if (key->required)
        return false;
    if (key->kind == KEY_WORD)
        return v[0] == 0;
    for (int i = 0; i < n_parts(key->kind); i++)
        if (v[i] != key->otherwise)
            return false;
    return true;
}

static void put_hash(const int64_t v[], struct buf *out)
{
    char hex[65];

    workload_hash_text(v, hex);
    buf_printf(out, "sha256:%s", hex);
}

static void put_value(const struct operator_key *key, const struct workload *w, struct buf *out)
{
    const int64_t *v = w->key[key - w->op->keys].v;
    int n = n_parts(key->kind);

    buf_printf(out, " %s=", key->name);
    if (key->kind == KEY_TEXT || key->kind == KEY_SIZES) {
        buf_puts(out, key->kind == KEY_TEXT ? w->text : "");
        for (int i = 0; i < n && v[i]; i++)
            buf_printf(out, "%s%lld", i ? "x" : "", (long long)v[i]);
        return;
    }
    if (key->kind == KEY_WORD) {
        buf_puts(out, key->words[v[0]]);
        return;
    }
    if (key->kind == KEY_FRACTION || key->kind == KEY_HASH) {
        if (key->kind == KEY_HASH)
            put_hash(v, out);
        else
            put_fraction(v[0], out);
        return;
    }
    if (n == 4 && v[0] == v[2] && v[1] == v[3])
        n = 2;
    if (n == 2 && v[0] == v[1])
        n = 1;
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
}

enum err workload_text(const struct workload *w, struct buf *out)
{
    buf_printf(out, "%s %s", w->op->name, dtype_name(w->dtype));
    for (int i = 0; w->op->keys[i].name; i++)
        if (!is_default(&w->op->keys[i], w->key[i].v))
            put_value(&w->op->keys[i], w, out);
    return out->failed;
}

int workload_n_sizes(const struct workload *w, const char *key)
{
    int n = 0;

    while (n < WORKLOAD_MAX_PARTS && workload_part(w, key, n))
        n++;
    return n;
}

bool workload_has(const struct workload *w, const char *key)
{
    return find_key(w->op, key, strlen(key)) >= 0;
}

int64_t workload_get(const struct workload *w, const char *key)
{
    return workload_part(w, key, 0);
}

int64_t workload_part(const struct workload *w, const char *key, int i_part)
{
    const int i = find_key(w->op, key, strlen(key));

    assert(i >= 0 && i_part >= 0 && i_part < WORKLOAD_MAX_PARTS);
    return w->key[i].v[i_part];
}

bool dtype_is_bytes(enum dtype t)
{
    return t == DTYPE_I8 || t == DTYPE_U8;
}

enum dtype dtype_of_weights(enum dtype t)
{
    return t == DTYPE_U8 ? DTYPE_I8 : t;
}
