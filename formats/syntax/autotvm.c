/* SPDX-License-Identifier: MIT */
/* Logs of TVM's AutoTVM, version 0.2: one JSON object a line,
 * {"input": [target, task, [args], {}], "config": {"index": n, "code_hash": null, "entity": [[name, kind, value], ..]},
 *  "result": [[costs in s], error number, seconds spent, time stamp in s], "version": 0.2, "tvm_version": ".."}.
 * A row's knobs are the entities; its extra holds index, code_hash, all_cost, error_no, version, tvm_version and
 * whatever members TVM does not know. Its time is the mean of the costs, which is what TVM ranks by.
 * Lines of version 0.1 (TVM before 0.7) are read as what 0.2 would say of them:
 * {"i": [target, task, [args], {}, [workload], {"i": n, "t": template, "c": null, "e": [[name, kind, value], ..]}],
 * "r": .., "v": 0.1}. */
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "formats/syntax/foreign.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILED_COST 1e9 /* what TVM writes for a config that was not timed */

/* TVM's numbers of errors, by position. */
static const struct {
    enum record_status status;
    const char *words;
} errors[] = {
    {STATUS_OK, ""},
    {STATUS_LIMITS, "INSTANTIATION_ERROR: the schedule refused the config, or it exceeds the device's limits"},
    {STATUS_COMPILE, "COMPILE_HOST"},
    {STATUS_COMPILE, "COMPILE_DEVICE"},
    {STATUS_RUNTIME, "RUNTIME_DEVICE"},
    {STATUS_WRONG, "WRONG_ANSWER"},
    {STATUS_TIMEOUT, "BUILD_TIMEOUT"},
    {STATUS_TIMEOUT, "RUN_TIMEOUT"},
    {STATUS_CRASH, "UNKNOWN_ERROR"},
};

#define N_ERRORS (int64_t)(sizeof errors / sizeof errors[0])

/* Members of a line that a row has places for. */
static const char *const members[] = {"input", "config", "result"};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (strcmp(members[i], name) == 0)
            return true;
    return false;
}

static enum err read_input(cJSON *line, struct foreign_row *r, struct why *why)
{
    cJSON *input = cJSON_GetObjectItemCaseSensitive(line, "input");
    const cJSON *target = cJSON_GetArrayItem(input, 0), *task = cJSON_GetArrayItem(input, 1);

    if (!cJSON_IsArray(input) || cJSON_GetArraySize(input) != 4 || !cJSON_IsString(target) || !cJSON_IsString(task) ||
        !cJSON_IsArray(cJSON_GetArrayItem(input, 2)))
        return why_set(why, ERR_INPUT, "\"input\" is not [target, task, [args], {}]");
    r->target = strdup(target->valuestring);
    r->task = strdup(task->valuestring);
    r->args = cJSON_DetachItemFromArray(input, 2);
    return r->target && r->task && r->args ? ERR_OK : ERR_NOMEM;
}

static enum err read_config(cJSON *line, struct foreign_row *r, struct why *why)
{
    cJSON *config = cJSON_GetObjectItemCaseSensitive(line, "config"), *item, *after;
    cJSON *entity = cJSON_DetachItemFromObjectCaseSensitive(config, "entity");

    r->knobs = entity;
    if (!cJSON_IsObject(config) || !cJSON_IsArray(entity))
        return why_set(why, ERR_INPUT, "\"config\" has no list \"entity\"");
    for (item = config->child; item; item = after) {
        after = item->next;
        if ((strcmp(item->string, "index") == 0 || strcmp(item->string, "code_hash") == 0) &&
            !json_has(r->extra, item->string) &&
            !cJSON_AddItemToObject(r->extra, item->string, cJSON_DetachItemViaPointer(config, item)))
            return ERR_NOMEM;
    }
    return ERR_OK;
}

static bool is_cost(const cJSON *v)
{
    return cJSON_IsNumber(v) && isfinite(v->valuedouble) && v->valuedouble > 0 && v->valuedouble < FAILED_COST;
}

static enum err read_costs(const cJSON *costs, struct foreign_row *r, struct why *why)
{
    const int n = cJSON_IsArray(costs) ? cJSON_GetArraySize(costs) : 0;
    const cJSON *item;
    double sum = 0;

    if (n == 0)
        return why_set(why, ERR_INPUT, "a result without a list of costs");
    if (r->status != STATUS_OK)
        return ERR_OK;
    cJSON_ArrayForEach(item, costs)
    {
        if (!is_cost(item))
            return why_set(why, ERR_INPUT, "a cost that is no time in seconds");
        sum += item->valuedouble;
        if (r->n_samples < RECORD_MAX_SAMPLES)
            r->samples_s[r->n_samples++] = item->valuedouble;
    }
    assert(r->n_samples > 0 && r->n_samples <= RECORD_MAX_SAMPLES);
    r->time_s = sum / n;
    return ERR_OK;
}

static enum err read_result(cJSON *line, struct foreign_row *r, struct why *why)
{
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(line, "result"), *at = cJSON_GetArrayItem(result, 3);
    const cJSON *number = cJSON_GetArrayItem(result, 1), *all = cJSON_GetArrayItem(result, 2);
    bool ok = true;

    if (!cJSON_IsArray(result) || cJSON_GetArraySize(result) != 4 || !cJSON_IsNumber(number) || !cJSON_IsNumber(all) ||
        !cJSON_IsNumber(at))
        return why_set(why, ERR_INPUT, "\"result\" is not [[costs], error number, seconds, time stamp]");
    if (!(number->valuedouble >= 0 && number->valuedouble < (double)N_ERRORS))
        return why_set(why, ERR_INPUT, "error number %g; TVM's are 0 to %d", number->valuedouble, (int)N_ERRORS - 1);
    r->status = errors[number->valueint].status;
    snprintf(r->why, sizeof r->why, "%s", errors[number->valueint].words);
    if (at->valuedouble > 0 && at->valuedouble < 1e12)
        r->ts_ms = (int64_t)(at->valuedouble * 1e3);
    json_add_item(r->extra, "all_cost", cJSON_Duplicate(all, true), &ok);
    json_add_item(r->extra, "timestamp", cJSON_Duplicate(at, true), &ok);
    json_add_i64(r->extra, "error_no", number->valueint, &ok);
    return ok ? read_costs(cJSON_GetArrayItem(result, 0), r, why) : ERR_NOMEM;
}

static enum err read_rest(cJSON *line, struct foreign_row *r, struct why *why)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(line, "version");
    cJSON *item, *after;

    if (version && (!cJSON_IsNumber(version) || version->valuedouble > 0.2))
        return why_set(why, ERR_INPUT, "an AutoTVM log of a version after 0.2");
    for (item = line->child; item; item = after) {
        after = item->next;
        if (!is_known(item->string) && !json_has(r->extra, item->string) &&
            !cJSON_AddItemToObject(r->extra, item->string, cJSON_DetachItemViaPointer(line, item)))
            return ERR_NOMEM;
    }
    return ERR_OK;
}

/* Tasks of version 0.1 were an operator and a template of it, for all targets; those of 0.2 are implementations. */
static const struct former {
    const char *task, *template, *cuda, *mali; /* mali NULL: as cuda */
    int i_layout;                              /* an argument that is gone, always "NCHW"; 0 = none */
} former[] = {
    {"topi_nn_conv2d", "direct", "conv2d_nchw.cuda", "conv2d_nchw_spatial_pack.mali", 5},
    {"topi_nn_conv2d", "winograd", "conv2d_nchw_winograd.cuda", "conv2d_nchw_winograd.mali", 5},
    {"topi_nn_conv2d", "int8", "conv2d_NCHWc_int8.cuda", NULL, 0},
    {"topi_nn_group_conv2d_nchw", "direct", "group_conv2d_nchw.cuda", NULL, 0},
    {"topi_nn_group_conv2d_nchw", "int8", "group_conv2d_NCHWc_int8.cuda", NULL, 0},
    {"topi_nn_depthwise_conv2d_nchw", "direct", "depthwise_conv2d_nchw.cuda", "depthwise_conv2d_nchw.mali", 0},
    {"topi_nn_deformable_conv2d_nchw", "direct", "deformable_conv2d_nchw.cuda", NULL, 0},
    {"topi_nn_dense", "direct", "dense_small_batch.cuda", "dense.mali", 0},
    {"topi_nn_dense", "int8", "dense_int8.cuda", NULL, 0},
    {"topi_nn_batch_matmul", "direct", "batch_matmul.cuda", NULL, 0},
};

static const struct former *find_former(const char *task, const char *template)
{
    for (size_t i = 0; i < sizeof former / sizeof former[0]; i++)
        if (strcmp(former[i].task, task) == 0 && strcmp(former[i].template, template) == 0)
            return &former[i];
    return NULL;
}

#define I_DILATION 4
#define DENSE_ARGS 4

/* Debian's cJSON_InsertItemInArray inserts nothing (1.7.15, deb12u). */
static void insert(cJSON *list, int at, cJSON *item)
{
    const int n_behind = cJSON_GetArraySize(list) - at;

    cJSON_AddItemToArray(list, item);
    for (int i = 0; i < n_behind; i++)
        cJSON_AddItemToArray(list, cJSON_DetachItemFromArray(list, at));
}

/* Arguments came over the years: a dilation behind strides and padding, a bias and a type of dense; the layout went. */
static void renew_args(cJSON *args, const struct former *old)
{
    const bool dense = strcmp(old->task, "topi_nn_dense") == 0;

    if (strstr(old->task, "conv2d") && !strstr(old->task, "deformable") &&
        cJSON_IsString(cJSON_GetArrayItem(args, I_DILATION)))
        insert(args, I_DILATION, cJSON_CreateNumber(1));
    if (old->i_layout > 0 && cJSON_GetArraySize(args) > old->i_layout + 1)
        cJSON_DeleteItemFromArray(args, old->i_layout);
    for (int n = cJSON_GetArraySize(args); dense && n >= 2 && n < DENSE_ARGS; n++)
        cJSON_AddItemToArray(args, cJSON_CreateNull());
}

/* The name that 0.2 has for an old task, and its arguments. A task of one's own keeps both. */
static void rename_task(cJSON *input, const char *template)
{
    const cJSON *target = cJSON_GetArrayItem(input, 0), *task = cJSON_GetArrayItem(input, 1);
    const struct former *old = cJSON_IsString(task) ? find_former(task->valuestring, template) : NULL;
    const bool mali = cJSON_IsString(target) && strstr(target->valuestring, "mali");

    if (!old)
        return;
    renew_args(cJSON_GetArrayItem(input, 2), old);
    cJSON_ReplaceItemInArray(input, 1, cJSON_CreateString(mali && old->mali ? old->mali : old->cuda));
}

static void move_member(cJSON *from, const char *name, cJSON *to, const char *as, bool *ok)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, name);

    if (item)
        json_add_item(to, as, item, ok);
}

/* A line of version 0.1 in the words of 0.2. */
static enum err renew(cJSON *line, struct why *why)
{
    cJSON *input = cJSON_GetObjectItemCaseSensitive(line, "i");
    const bool whole = cJSON_IsArray(input) && cJSON_GetArraySize(input) == 6;
    cJSON *config = whole ? cJSON_DetachItemFromArray(input, 5) : NULL, *now = cJSON_CreateObject();
    const cJSON *template = cJSON_GetObjectItemCaseSensitive(config, "t");
    bool ok = now;

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(line, members[i]); /* no member of 0.1 */
    if (whole)
        cJSON_DeleteItemFromArray(input, 4);
    rename_task(input, cJSON_IsString(template) ? template->valuestring : "");
    move_member(config, "i", now, "index", &ok);
    move_member(config, "c", now, "code_hash", &ok);
    move_member(config, "e", now, "entity", &ok);
    cJSON_Delete(config);
    json_add_item(line, "config", now, &ok);
    move_member(line, "i", line, "input", &ok);
    move_member(line, "r", line, "result", &ok);
    cJSON_DeleteItemFromObjectCaseSensitive(line, "v");
    if (!ok)
        return ERR_NOMEM;
    return whole ? ERR_OK : why_set(why, ERR_INPUT, "\"i\" is not [target, task, [args], {}, [workload], {config}]");
}

static enum err read_line(cJSON *line, struct foreign_row *r, struct why *why)
{
    const cJSON *old = cJSON_GetObjectItemCaseSensitive(line, "v");
    enum err e = ERR_OK;

    if (!cJSON_IsObject(line))
        return why_set(why, ERR_INPUT, "not a JSON object");
    r->extra = cJSON_CreateObject();
    if (!r->extra)
        return ERR_NOMEM;
    if (cJSON_IsNumber(old) && old->valuedouble < 0.2)
        e = renew(line, why);
    if (!e)
        e = read_input(line, r, why);
    if (!e)
        e = read_config(line, r, why);
    if (!e)
        e = read_result(line, r, why);
    return e ? e : read_rest(line, r, why);
}

/* Python writes NaN and Infinity, which JSON has not. */
static enum err parse(const char *text, size_t n, cJSON **out, struct why *why)
{
    const enum err e = json_parse(text, n, out, why);

    if (e == ERR_INPUT && text[0] != '{' && memchr(text, '\t', n))
        return why_set(why, e, "a row of pickles: to read one is to run it; have TVM write its log as json");
    if (e == ERR_INPUT && (memmem(text, n, "NaN", 3) || memmem(text, n, "Infinity", 8)))
        return why_set(why, e, "NaN or Infinity, which JSON does not have");
    return e;
}

/* What one file came to. */
struct reading {
    const struct foreign_sink *sink;
    bool any; /* something of this format was met */
    enum err failed;
};

static bool take_line(struct reading *s, const char *text, size_t n, int64_t i_line)
{
    struct foreign_row row;
    struct why why = {""};
    cJSON *tree = NULL;
    bool more = true;
    enum err e;

    foreign_row_init(&row);
    e = n > FOREIGN_MAX_ROW_BYTES ? why_set(&why, ERR_LIMIT, "a line over %zu bytes", FOREIGN_MAX_ROW_BYTES)
                                  : parse(text, n, &tree, &why);
    s->any = s->any || json_has(tree, "input") || json_has(tree, "v");
    row.i_line = i_line;
    if (!e)
        e = read_line(tree, &row, &why);
    if (e == ERR_NOMEM)
        s->failed = e;
    else if (!e)
        more = s->sink->row(&row, s->sink->arg);
    else if (s->sink->bad)
        s->sink->bad(i_line, why.text[0] ? why.text : err_words(e), s->sink->arg);
    cJSON_Delete(tree);
    foreign_row_fini(&row);
    return more && !s->failed;
}

/* Comments and empty lines say nothing. */
static bool is_blank(const char *text, size_t n)
{
    size_t at = 0;

    while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
        at++;
    return at == n || text[at] == '#';
}

static enum err read_log(const char *text, size_t n, const struct foreign_sink *sink, struct why *why)
{
    struct reading s = {.sink = sink};
    int64_t i_line = 1;
    bool lines = false;

    for (size_t at = 0; at < n; i_line++) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - text) - at : n - at;

        if (!is_blank(text + at, n_line)) {
            lines = true;
            if (!take_line(&s, text + at, n_line, i_line))
                break;
        }
        at += n_line + 1;
    }
    if (s.failed)
        return why_set(why, s.failed, "%s", err_words(s.failed));
    return s.any || !lines ? ERR_OK : why_set(why, ERR_INPUT, "no AutoTVM log: no line with \"input\" in it");
}

/* The first line that says something. */
static bool sniff(const char *head, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *line = head + at, *end = memchr(line, '\n', n - at);
        const size_t n_line = end ? (size_t)(end - line) : n - at;

        at += n_line + 1;
        if (is_blank(line, n_line))
            continue;
        if (line[0] != '{') /* pickles: a target, and columns of base64 */
            return memchr(line, '\t', n_line) &&
                   (memmem(line, n_line, "\tgASV", 5) || memmem(line, n_line, "\tgAN", 4));
        return (memmem(line, n_line, "\"input\"", 7) && memmem(line, n_line, "\"config\"", 8)) ||
               (memmem(line, n_line, "\"v\": 0.1", 8) && memmem(line, n_line, "\"i\"", 3));
    }
    return false;
}

static cJSON *copy(const cJSON *extra, const char *name, cJSON *otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(extra, name);

    if (!item)
        return otherwise;
    cJSON_Delete(otherwise);
    return cJSON_Duplicate(item, true);
}

static void push(cJSON *list, cJSON *item, bool *ok)
{
    if (!item || !cJSON_AddItemToArray(list, item)) {
        cJSON_Delete(item);
        *ok = false;
    }
}

static int error_of(enum record_status status)
{
    static const int numbers[N_STATUSES] = {
        [STATUS_OK] = 0,    [STATUS_COMPILE] = 3, [STATUS_LIMITS] = 1, [STATUS_RUNTIME] = 4,
        [STATUS_WRONG] = 5, [STATUS_TIMEOUT] = 7, [STATUS_CRASH] = 8,  [STATUS_LOST] = 8};

    assert((unsigned)status < N_STATUSES);
    return numbers[status];
}

static cJSON *result_of(const struct foreign_row *r, bool *ok)
{
    cJSON *result = cJSON_CreateArray(), *costs = cJSON_CreateArray();

    if (r->status != STATUS_OK)
        push(costs, cJSON_CreateNumber(FAILED_COST), ok);
    for (size_t i = 0; r->status == STATUS_OK && i < r->n_samples; i++)
        push(costs, cJSON_CreateNumber(r->samples_s[i]), ok);
    if (r->status == STATUS_OK && r->n_samples == 0)
        push(costs, cJSON_CreateNumber(r->time_s), ok);
    push(result, costs, ok);
    push(result, copy(r->extra, "error_no", cJSON_CreateNumber(error_of(r->status))), ok);
    push(result, copy(r->extra, "all_cost", cJSON_CreateNumber(r->build_s + r->time_s)), ok);
    push(result, copy(r->extra, "timestamp", cJSON_CreateNumber((double)r->ts_ms / 1e3)), ok);
    return result;
}

static cJSON *input_of(const struct foreign_row *r, bool *ok)
{
    cJSON *input = cJSON_CreateArray();

    push(input, cJSON_CreateString(r->target ? r->target : ""), ok);
    push(input, cJSON_CreateString(r->task ? r->task : ""), ok);
    push(input, r->args ? cJSON_Duplicate(r->args, true) : cJSON_CreateArray(), ok);
    push(input, cJSON_CreateObject(), ok);
    return input;
}

/* Members that stand elsewhere in a line. */
static bool is_placed(const char *name)
{
    static const char *const placed[] = {"index",     "code_hash", "error_no",   "all_cost",
                                         "timestamp", "version",   "tvm_version"};

    for (size_t i = 0; i < sizeof placed / sizeof placed[0]; i++)
        if (strcmp(placed[i], name) == 0)
            return true;
    return false;
}

static enum err write_row(const struct foreign_row *r, struct buf *out)
{
    cJSON *line = cJSON_CreateObject(), *config = cJSON_CreateObject(), *item;
    bool ok = line && config;
    enum err e;

    json_add_item(config, "index", copy(r->extra, "index", cJSON_CreateNumber(0)), &ok);
    json_add_item(config, "code_hash", copy(r->extra, "code_hash", cJSON_CreateNull()), &ok);
    json_add_item(config, "entity", r->knobs ? cJSON_Duplicate(r->knobs, true) : cJSON_CreateArray(), &ok);
    json_add_item(line, "input", input_of(r, &ok), &ok);
    json_add_item(line, "config", config, &ok);
    json_add_item(line, "result", result_of(r, &ok), &ok);
    json_add_item(line, "version", copy(r->extra, "version", cJSON_CreateNumber(0.2)), &ok);
    json_add_item(line, "tvm_version", copy(r->extra, "tvm_version", cJSON_CreateString("0.9.0")), &ok);
    cJSON_ArrayForEach(item, r->extra)
    {
        if (!is_placed(item->string))
            json_add_item(line, item->string, cJSON_Duplicate(item, true), &ok);
    }
    e = ok ? json_print(line, out) : ERR_NOMEM;
    cJSON_Delete(line);
    return e ? e : buf_puts(out, "\n");
}

static enum err write_log(const struct foreign_row *rows, size_t n, struct buf *out, struct why *why)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < n && !e; i++)
        e = write_row(&rows[i], out);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

const struct foreign_format foreign_autotvm = {
    .name = "autotvm",
    .summary = "TVM's AutoTVM, log versions 0.1 and 0.2",
    .sniff = sniff,
    .read = read_log,
    .write = write_log,
    .is_lines = true,
};
