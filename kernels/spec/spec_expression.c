/* SPDX-License-Identifier: MIT */
/* spec_expression.c - expressions of job files: as Python or C has them, made into ours; named numbers in the order of
 * what they need. */
#include "kernels/spec/spec_private.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static size_t name_length(const char *at)
{
    size_t n = 0;

    if (isdigit((unsigned char)*at))
        return 0;
    while (is_name_byte(at[n]))
        n++;
    return n;
}

/* The end of "NAME [ 3 ]" behind the name, and its number; NULL when it is no such thing. */
static const char *read_index(const char *at, size_t *index)
{
    char *end;

    at = skip_space(at);
    if (*at++ != '[')
        return NULL;
    at = skip_space(at);
    if (!isdigit((unsigned char)*at))
        return NULL;
    *index = strtoul(at, &end, 10);
    at = skip_space(end);
    return *at == ']' ? at + 1 : NULL;
}

static bool is_number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*skip_space(end) && strcspn(text, "xXnNpP") == strlen(text);
}

static enum err put_problem(const struct spec *s, const char **at, const char *where, struct buf *out, struct why *why)
{
    const char *behind = *at + strlen("ProblemSize"), *end;
    char name[SPACE_NAME_BYTES];
    size_t index = 0;
    double number;
    int known;

    if (*skip_space(behind) != '[') {
        if (s->n_problem != 1)
            return why_set(why, ERR_INPUT, "%s: ProblemSize has %zu sizes: expected ProblemSize[0] or another of them",
                           where, s->n_problem);
        end = behind;
    } else {
        end = read_index(behind, &index);
        if (!end || index >= s->n_problem)
            return why_set(why, ERR_INPUT, "%s: expected ProblemSize[I], I one of its %zu sizes from 0, before '%.20s'",
                           where, s->n_problem, *at);
    }
    assert(index < s->n_problem && end > *at);
    *at = end;
    snprintf(name, sizeof name, "ProblemSize.%zu", index);
    known = spec_find_definition(s, name, strlen(name));
    /* its number where the file has one: people who are told the expression know no ProblemSize.0 */
    return buf_puts(out,
                    known >= 0 && is_number(s->definitions[known].text, &number) ? s->definitions[known].text : name);
}

/* max(KNOB), min(KNOB): of the list of its values. Leaves *at alone when it is something else. */
static enum err put_extreme(const struct spec *s, const char **at, bool is_max, struct buf *out)
{
    const char *name = skip_space(skip_space(*at + 3) + 1), *end;
    const size_t n = name_length(name);
    char knob[SPACE_NAME_BYTES];
    double best;
    int i;

    end = skip_space(name + n);
    if (n == 0 || n >= sizeof knob || *end != ')')
        return ERR_OK;
    memcpy(knob, name, n);
    knob[n] = '\0';
    i = space_find_knob(s->space, knob);
    if (i < 0 || space_knob_value(s->space, (size_t)i, 0).text)
        return ERR_OK;
    best = space_knob_value(s->space, (size_t)i, 0).number;
    for (size_t k = 1; k < space_n_values(s->space, (size_t)i); k++) {
        const double v = space_knob_value(s->space, (size_t)i, k).number;

        if (is_max ? v > best : v < best)
            best = v;
    }
    *at = end + 1;
    return buf_printf(out, best < 0 ? "(%.17g)" : "%.17g", best);
}

static enum err put_name(const struct spec *s, const char **at, const char *where, struct buf *out, struct why *why)
{
    const char *from = *at;
    const size_t n = name_length(from);
    const bool calls = *skip_space(from + n) == '(', is_max = n == 3 && strncmp(from, "max", 3) == 0;
    enum err e = ERR_OK;

    if (n == strlen("ProblemSize") && strncmp(from, "ProblemSize", n) == 0)
        return put_problem(s, at, where, out, why);
    if (calls && (is_max || (n == 3 && strncmp(from, "min", 3) == 0)))
        e = put_extreme(s, at, is_max, out);
    if (!e && *at == from) {
        e = buf_append(out, from, n);
        *at = from + n;
    }
    return e;
}

enum err spec_expression(const struct spec *s, const char *text, const char *where, struct buf *out, struct why *why)
{
    const char *at = text;
    enum err e = ERR_OK;

    if (strnlen(text, EXPR_MAX_TEXT + 1) > EXPR_MAX_TEXT)
        return why_set(why, ERR_LIMIT, "%s: an expression of more than %d bytes", where, EXPR_MAX_TEXT);
    while (*at && !e) {
        const char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;

        if (end) { /* a word, as it is */
            e = buf_append(out, at, (size_t)(end - at) + 1);
            at = end + 1;
        } else if (isdigit((unsigned char)*at)) { /* 1e3 is no name */
            size_t n = 0;

            while (is_name_byte(at[n]) || at[n] == '.')
                n++;
            e = buf_append(out, at, n);
            at += n;
        } else if (name_length(at)) {
            e = put_name(s, &at, where, out, why);
        } else {
            e = buf_append(out, at++, 1);
        }
    }
    if (e && e != ERR_INPUT)
        why_set(why, e, "%s: %s", where, err_words(e));
    return e;
}

/* Named numbers. */

int spec_find_definition(const struct spec *s, const char *name, size_t n)
{
    for (size_t i = 0; i < s->n_definitions; i++)
        if (strlen(s->definitions[i].name) == n && memcmp(s->definitions[i].name, name, n) == 0)
            return (int)i;
    return -1;
}

bool spec_is_free_name(const struct spec *s, const char *name)
{
    return strlen(name) < SPACE_NAME_BYTES && expr_is_name(name) && !strchr(name, '.') &&
           space_find_knob(s->space, name) < 0 && spec_find_definition(s, name, strlen(name)) < 0;
}

bool spec_varies(const struct spec *s, const char *name)
{
    const int i = spec_find_definition(s, name, strlen(name));

    return i < 0 || s->definitions[i].is_varying;
}

enum err spec_define_text(struct spec *s, const char *name, const char *text, const char *where, struct why *why)
{
    struct spec_definition *d = &s->definitions[s->n_definitions];
    struct buf ours;
    enum err e;

    if (s->n_definitions == SPEC_MAX_DEFINITIONS)
        return why_set(why, ERR_LIMIT, "%s: more than %d sizes and numbers", where, SPEC_MAX_DEFINITIONS);
    buf_init(&ours, 8 * EXPR_MAX_TEXT);
    e = spec_expression(s, text, where, &ours, why);
    if (!e) {
        snprintf(d->name, sizeof d->name, "%s", name);
        snprintf(d->where, sizeof d->where, "%s", where);
        d->text = strdup(buf_text(&ours));
        d->state = DEFINITION_NEW;
        if (d->text)
            s->n_definitions++;
        else
            e = why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    }
    buf_fini(&ours);
    return e;
}

enum err spec_define(struct spec *s, const char *name, const cJSON *item, const char *where, struct why *why)
{
    char number[40];

    if (cJSON_IsString(item))
        return spec_define_text(s, name, item->valuestring, where, why);
    if (!cJSON_IsNumber(item) && !cJSON_IsBool(item))
        return why_set(why, ERR_INPUT, "%s: expected a number or an expression", where);
    snprintf(number, sizeof number, "%.17g", cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble);
    return spec_define_text(s, name, number, where, why);
}

/* What an expression names: definitions into `needs`, knobs are known to the space. */
struct names {
    const struct spec *s;
    bool knobs;
    bool needs[SPEC_MAX_DEFINITIONS];
};

static int resolve(const char *name, size_t n, void *arg)
{
    struct names *names = arg;
    char copy[SPACE_NAME_BYTES];
    const int i = spec_find_definition(names->s, name, n);

    if (i >= 0) {
        names->needs[i] = true;
        return 0;
    }
    if (n >= sizeof copy)
        return -1;
    memcpy(copy, name, n);
    copy[n] = '\0';
    if (space_find_knob(names->s->space, copy) < 0)
        return -1;
    names->knobs = true;
    return 0;
}

static enum err check(const struct spec *s, const char *text, const char *where, struct names *names, struct why *why)
{
    struct expr *e = NULL;
    enum err err;

    *names = (struct names){.s = s};
    err = expr_compile(text, resolve, names, &e, why);
    expr_free(e);
    return err ? why_prefix(why, err, "%s", where) : ERR_OK;
}

static enum err add(struct spec *s, const struct spec_definition *d, struct why *why)
{
    double number;
    const enum err e = is_number(d->text, &number) ? space_add_constant(s->space, d->name, number, why)
                                                   : space_add_quantity(s->space, d->name, d->text, why);

    return e ? why_prefix(why, e, "%s", d->where) : ERR_OK;
}

/* Adds a definition behind all that it needs; as deep as there are definitions at the most. */
static enum err settle(struct spec *s, size_t i, struct why *why)
{
    struct spec_definition *d = &s->definitions[i];
    struct names names;
    enum err e;

    if (d->state == DEFINITION_DONE)
        return ERR_OK;
    if (d->state == DEFINITION_OPEN)
        return why_set(why, ERR_INPUT, "%s: '%s' needs itself: a cyclic reference", d->where, d->name);
    assert(d->state == DEFINITION_NEW && d->text);
    d->state = DEFINITION_OPEN;
    e = check(s, d->text, d->where, &names, why);
    d->is_varying = names.knobs;
    for (size_t k = 0; k < s->n_definitions && !e; k++)
        if (names.needs[k]) {
            e = settle(s, k, why);
            d->is_varying |= s->definitions[k].is_varying;
        }
    if (!e && d->is_varying && strncmp(d->name, "ProblemSize.", 12) == 0)
        e = why_set(why, ERR_INPUT, "%s: a size of the problem cannot depend on a tuning parameter", d->where);
    if (!e)
        e = add(s, d, why);
    d->state = DEFINITION_DONE;
    return e;
}

static enum err add_condition(struct spec *s, const cJSON *item, size_t i, struct why *why)
{
    const cJSON *expression = cJSON_IsString(item) ? item : spec_member(item, "Expression");
    char where[SPEC_WHERE_BYTES];
    struct names names;
    struct buf ours;
    enum err e;

    snprintf(where, sizeof where, "ConfigurationSpace.Conditions[%zu].Expression", i);
    if (!cJSON_IsString(expression))
        return why_set(why, ERR_INPUT, "%s: expected text", where);
    buf_init(&ours, 8 * EXPR_MAX_TEXT);
    e = spec_expression(s, expression->valuestring, where, &ours, why);
    if (!e)
        e = check(s, buf_text(&ours), where, &names, why);
    if (!e && (e = space_add_constraint(s->space, buf_text(&ours), why)))
        why_prefix(why, e, "%s", where);
    buf_fini(&ours);
    return e;
}

enum err spec_settle(struct spec *s, const cJSON *conditions, struct why *why)
{
    const cJSON *item;
    size_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < s->n_definitions && !e; i++)
        e = settle(s, i, why);
    if (!e && conditions && !cJSON_IsArray(conditions))
        e = why_set(why, ERR_INPUT, "ConfigurationSpace.Conditions: expected an array");
    cJSON_ArrayForEach(item, conditions)
    {
        if (!e)
            e = add_condition(s, item, n++, why);
    }
    return e ? e : space_seal(s->space, why);
}
