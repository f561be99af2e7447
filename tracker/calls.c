/* SPDX-License-Identifier: MIT */
#include "tracker/calls.h"

#include "core/buf.h"
#include "core/hash.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- forms of texts ---- */

static bool is_arch(const char *text)
{
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && n <= CALL_ARCH_BYTES && !text[n];
}

static bool is_nonce(const char *text)
{
    return strlen(text) == REQUEST_ID_HEX && strspn(text, "0123456789abcdef") == REQUEST_ID_HEX;
}

static bool is_path(const char *text)
{
    return *text == '/';
}

static const struct {
    const char *words;
    bool (*fits)(const char *text); /* NULL = every text does */
    bool may_be_empty;
    char id; /* 'j': of a job's name, instead of fits */
} forms[] = {
    [FORM_ANY] = {"a string", NULL, true, 0},
    [FORM_HASH] = {"a SHA-256 in hex", sha256_is_hex, false, 0},
    [FORM_NO_HASH] = {"a SHA-256 in hex or nothing", sha256_is_hex, true, 0},
    [FORM_NAME] = {"1 to 64 of letters, digits and . _ : @ + -", name_is_sane, false, 0},
    [FORM_NO_NAME] = {"at most 64 of letters, digits and . _ : @ + -", name_is_sane, true, 0},
    [FORM_ARCH] = {"an architecture, 1 to 16 of a-z, 0-9 and _, e.g. sm_61", is_arch, false, 0},
    [FORM_NONCE] = {"32 hex digits", is_nonce, false, 0},
    [FORM_JOB] = {"a job, e.g. j12", NULL, false, 'j'},
    [FORM_TRIAL] = {"a trial, e.g. t345", NULL, false, 't'},
    [FORM_PATH] = {"a path of the tracker's host that begins with /", is_path, false, 0},
};

enum err call_id_parse(const char *text, char kind, int64_t *out)
{
    const size_t n = strlen(text);
    int64_t v = 0;

    if (text[0] != kind || n < 2 || n > 16 || strspn(text + 1, "0123456789") != n - 1)
        return ERR_INPUT;
    for (const char *p = text + 1; *p; p++)
        v = v * 10 + (*p - '0');
    *out = v;
    return v > 0 ? ERR_OK : ERR_INPUT;
}

int64_t part_of_key(const char *key, int64_t n_parts)
{
    assert(n_parts >= 1);
    return n_parts == 1 ? 1 : 1 + (int64_t)(crc32c(key, strlen(key)) % (uint64_t)n_parts);
}

int64_t part_of_id(int64_t id, int64_t n_parts)
{
    assert(id >= 1 && n_parts >= 1);
    return 1 + (id - 1) % n_parts;
}

int64_t part_of_args(const cJSON *args, int64_t n_parts)
{
    const char *job = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(args, "job"));
    const char *trial = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(args, "trial"));
    const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(args, "key"));
    int64_t id;

    if ((job && call_id_parse(job, 'j', &id) == ERR_OK) || (trial && call_id_parse(trial, 't', &id) == ERR_OK))
        return part_of_id(id, n_parts);
    return key && *key ? part_of_key(key, n_parts) : 0;
}

static bool has_form(enum call_form form, const char *text)
{
    int64_t id;

    if (forms[form].id)
        return call_id_parse(text, forms[form].id, &id) == ERR_OK;
    return (!*text && forms[form].may_be_empty) || !forms[form].fits || forms[form].fits(text);
}

/* Is `word` one of the words between blanks? */
static bool is_one_of(const char *word, const char *words)
{
    const size_t n = strlen(word);

    for (const char *at = words; n && (at = strstr(at, word)) != NULL; at++)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return !strchr(word, ' ');
    return false;
}

/* ---- kinds: how a value of each is read into its place in the struct, and written from there ---- */

static enum err read_text(const struct call_member *m, const cJSON *item, void *out)
{
    const char *text = item->valuestring;

    if (!cJSON_IsString(item) || (m->one_of ? !is_one_of(text, m->one_of) : !has_form(m->form, text)))
        return ERR_INPUT;
    if (m->max && strlen(text) > (size_t)m->max)
        return ERR_LIMIT;
    *(const char **)out = text;
    return ERR_OK;
}

static cJSON *write_text(const void *in)
{
    const char *text = *(const char *const *)in;

    return text ? cJSON_CreateString(text) : NULL;
}

static int64_t highest(const struct call_member *m)
{
    return m->min || m->max ? m->max : JSON_EXACT_MAX;
}

static enum err read_i64(const struct call_member *m, const cJSON *item, void *out)
{
    const double v = item->valuedouble;

    if (!cJSON_IsNumber(item) || v != floor(v) || !(v >= (double)m->min && v <= (double)highest(m)))
        return ERR_INPUT;
    *(int64_t *)out = (int64_t)v;
    return ERR_OK;
}

static cJSON *write_i64(const void *in)
{
    return cJSON_CreateNumber((double)*(const int64_t *)in);
}

static enum err read_real(const struct call_member *m, const cJSON *item, void *out)
{
    (void)m;
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return ERR_INPUT;
    *(double *)out = item->valuedouble;
    return ERR_OK;
}

static cJSON *write_real(const void *in)
{
    const double v = *(const double *)in;

    return isnan(v) ? NULL : cJSON_CreateNumber(v);
}

static enum err read_bool(const struct call_member *m, const cJSON *item, void *out)
{
    (void)m;
    if (!cJSON_IsBool(item))
        return ERR_INPUT;
    *(bool *)out = cJSON_IsTrue(item);
    return ERR_OK;
}

static cJSON *write_bool(const void *in)
{
    return cJSON_CreateBool(*(const bool *)in);
}

static enum err read_any(const struct call_member *m, const cJSON *item, void *out)
{
    if (m->kind == KIND_OBJECT && !cJSON_IsObject(item))
        return ERR_INPUT;
    *(const cJSON **)out = item;
    return ERR_OK;
}

static enum err read_list(const struct call_member *m, const cJSON *item, void *out)
{
    const int n = cJSON_GetArraySize(item);
    const cJSON *entry;

    if (!cJSON_IsArray(item) || n < m->min)
        return ERR_INPUT;
    if (m->max && n > m->max)
        return ERR_LIMIT;
    cJSON_ArrayForEach(entry, item)
    {
        if (m->kind == KIND_TEXTS && !(cJSON_IsString(entry) && has_form(m->form, entry->valuestring)))
            return ERR_INPUT;
    }
    *(const cJSON **)out = item;
    return ERR_OK;
}

static cJSON *write_tree(const void *in)
{
    return *(cJSON *const *)in;
}

static const struct kind {
    const char *words;
    size_t n_bytes;
    /* ERR_INPUT, ERR_LIMIT: too long. `out` is left as it was. */
    enum err (*read)(const struct call_member *m, const cJSON *item, void *out);
    /* NULL when there is none; gives. */
    cJSON *(*write)(const void *in);
    bool is_tree;
} kinds[] = {
    [KIND_TEXT] = {"a string", sizeof(const char *), read_text, write_text, false},
    [KIND_I64] = {"an integer", sizeof(int64_t), read_i64, write_i64, false},
    [KIND_REAL] = {"a number", sizeof(double), read_real, write_real, false},
    [KIND_BOOL] = {"true or false", sizeof(bool), read_bool, write_bool, false},
    [KIND_OBJECT] = {"an object", sizeof(cJSON *), read_any, write_tree, true},
    [KIND_LIST] = {"a list", sizeof(cJSON *), read_list, write_tree, true},
    [KIND_TEXTS] = {"a list", sizeof(cJSON *), read_list, write_tree, true},
    [KIND_ANY] = {"a value", sizeof(cJSON *), read_any, write_tree, true},
};

/* ---- reading ---- */

static void add_expected(const struct call_member *m, struct buf *out)
{
    const bool is_text = m->kind == KIND_TEXT, is_texts = m->kind == KIND_TEXTS,
               is_list = is_texts || m->kind == KIND_LIST;

    if (m->one_of)
        buf_printf(out, "one of %s", m->one_of);
    else
        buf_puts(out, is_text ? forms[m->form].words : kinds[m->kind].words);
    if (is_text && m->max)
        buf_printf(out, " of at most %lld bytes", (long long)m->max);
    if (is_list && m->max)
        buf_printf(out, " of %lld to %lld", (long long)m->min, (long long)m->max);
    if (is_texts)
        buf_printf(out, "%s, each %s", m->max ? "" : " of strings", forms[m->form].words);
    if (m->kind == KIND_I64 && highest(m) == JSON_EXACT_MAX)
        buf_printf(out, ", at least %lld", (long long)m->min);
    else if (m->kind == KIND_I64)
        buf_printf(out, " from %lld to %lld", (long long)m->min, (long long)m->max);
}

/* What came in its place. */
static void add_got(const cJSON *item, struct buf *out)
{
    char text[48];

    if (!item)
        buf_puts(out, "it is missing");
    else if (cJSON_IsString(item))
        buf_printf(out, "found %zu bytes, '%.40s'", strlen(item->valuestring), item->valuestring);
    else if (cJSON_IsArray(item))
        buf_printf(out, "found a list of %d", cJSON_GetArraySize(item));
    else
        buf_printf(out, "found %s",
                   cJSON_PrintPreallocated((cJSON *)item, text, sizeof text, false) ? text : "an object");
}

static enum err refuse(const struct call_member *m, const char *what, const cJSON *item, enum err e, struct why *why)
{
    struct buf words;

    buf_init(&words, sizeof why->text);
    add_expected(m, &words);
    buf_puts(&words, "; ");
    add_got(item, &words);
    why_set(why, e, "%s: member %s: expected %s", what, m->name, buf_text(&words));
    buf_fini(&words);
    return e;
}

enum err call_read(const struct call_shape *shape, const char *what, const cJSON *object, void *out, struct why *why)
{
    enum err first = ERR_OK;

    for (const struct call_member *m = shape->members(); m->name; m++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, m->name);
        void *at = (char *)out + m->offset;
        enum err e = ERR_OK;

        memcpy(at, &m->otherwise, kinds[m->kind].n_bytes); /* of trees NULL */
        if (item ? m->need != NEED_OR_NULL || !cJSON_IsNull(item) : m->need == NEED_MUST)
            e = item ? kinds[m->kind].read(m, item, at) : ERR_INPUT;
        if (e && !first)
            first = refuse(m, what, item, e, why);
    }
    return first;
}

/* ---- writing ---- */

/* What stands for a member that has no value; NULL = it is left out, where *ok is still true. */
static cJSON *nothing_for(const struct call_member *m, bool *ok)
{
    cJSON *item = NULL;

    if (m->need == NEED_OR_NULL)
        item = cJSON_CreateNull();
    else if (m->need == NEED_MUST && (m->kind == KIND_LIST || m->kind == KIND_TEXTS))
        item = cJSON_CreateArray();
    *ok = *ok && (item || m->need == NEED_MAY || m->need == NEED_TIED);
    return item;
}

cJSON *call_write(const struct call_shape *shape, const void *takes_trees)
{
    cJSON *object = cJSON_CreateObject();
    bool ok = object != NULL, before = true;

    for (const struct call_member *m = shape->members(); m->name; m++) {
        const bool is_in = m->need != NEED_TIED || before;
        cJSON *item = is_in ? kinds[m->kind].write((const char *)takes_trees + m->offset) : NULL;

        before = item != NULL;
        if (!item)
            item = nothing_for(m, &ok);
        if (item && !cJSON_AddItemToObjectCS(object, m->name, item)) { /* names live as long as the program */
            cJSON_Delete(item);
            ok = false;
        }
    }
    if (ok)
        return object;
    cJSON_Delete(object);
    return NULL;
}

void call_drop(const struct call_shape *shape, const void *in)
{
    for (const struct call_member *m = shape->members(); m->name; m++)
        if (kinds[m->kind].is_tree)
            cJSON_Delete(write_tree((const char *)in + m->offset));
}

void call_list_add(cJSON **list, cJSON *takes_entry, bool *ok)
{
    if (!*list)
        *list = cJSON_CreateArray();
    if (*list && takes_entry && cJSON_AddItemToArray(*list, takes_entry))
        return;
    cJSON_Delete(takes_entry);
    *ok = false;
}

void call_list_add_text(cJSON **list, const char *text, bool *ok)
{
    call_list_add(list, cJSON_CreateString(text), ok);
}

/* ---- tables ---- */

#define MEMBER CALL_MEMBER_ROW
#define STRUCT CALL_TABLE
#include "tracker/calls_list.h"

const struct call_type call_table[N_CALLS] = {
#define CALL(upper, name, args, result, effect, wake) {#name, &args##_shape, &result##_shape},
#include "tracker/calls_list.h"
};

enum call_name call_find(const char *name)
{
    int i = 0;

    while (i < N_CALLS && strcmp(call_table[i].name, name) != 0)
        i++;
    return (enum call_name)i;
}

int64_t call_wait_ms(enum call_name call, const void *args)
{
    int64_t wait_ms = 0;

    assert(call < N_CALLS);
    for (const struct call_member *m = call_table[call].args->members(); m->name; m++)
        if (strcmp(m->name, "wait_ms") == 0)
            memcpy(&wait_ms, (const char *)args + m->offset, sizeof wait_ms);
    return wait_ms;
}
