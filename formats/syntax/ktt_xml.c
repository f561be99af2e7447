/* SPDX-License-Identifier: MIT */
#include "formats/syntax/ktt_xml.h"

#include "core/err.h"

#include <assert.h>
#include <expat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 65536 /* attributes and elements of one result */
#define CHUNK (1 << 20) /* expat counts in int */

struct reader {
    XML_Parser parser;
    const struct ktt_xml_sink *sink;
    cJSON *result; /* the <KernelResult> or <Metadata> that is read, NULL between them */
    int64_t i_line;
    int depth; /* of elements below it */
    size_t n_parts;
    bool is_done; /* the sink wants no more, or it is bad */
    enum err e;
    struct why *why;
};

static void stop(struct reader *r, enum err e)
{
    r->is_done = true;
    r->e = e;
    XML_StopParser(r->parser, XML_FALSE);
}

static void stop_as_bad(struct reader *r, const char *words)
{
    r->sink->bad((int64_t)XML_GetCurrentLineNumber(r->parser), words, r->sink->arg);
    stop(r, ERR_OK);
}

/* A number where the whole text is one, else the text. A pair's value stays text where its type says so. */
static cJSON *value_of(const char *text)
{
    char *end;
    const double v = strtod(text, &end);

    if (*text && !*end && isfinite(v) && strspn(text, "0123456789+-.eE") == strlen(text))
        return cJSON_CreateNumber(v);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return cJSON_CreateBool(*text == 't');
    return cJSON_CreateString(text);
}

/* `attributes`: name, value, name, value, .., NULL. NULL: no memory. */
static cJSON *tree_of(const XML_Char **attributes)
{
    cJSON *tree = cJSON_CreateObject();

    for (; tree && *attributes; attributes += 2) {
        const cJSON *type = cJSON_GetObjectItemCaseSensitive(tree, "ValueType");
        const bool is_text =
            strstr(*attributes, "Name") || (cJSON_IsString(type) && strcmp(type->valuestring, "String") == 0);
        cJSON *item = is_text ? cJSON_CreateString(attributes[1]) : value_of(attributes[1]);

        if (!item || !cJSON_AddItemToObject(tree, *attributes, item)) {
            cJSON_Delete(item);
            cJSON_Delete(tree);
            return NULL;
        }
    }
    return tree;
}

/* Puts a child where the JSON form has it: pairs into "Configuration", results into "ComputationResults", what is said
 * of a result's kernel into the latest of these. Others (counters, sizes) are left out. False: no memory. */
static bool add_child(cJSON *result, const char *name, const XML_Char **attributes)
{
    const bool is_pair = strcmp(name, "Pair") == 0, is_run = strcmp(name, "ComputationResult") == 0;
    const char *list_name = is_pair ? "Configuration" : "ComputationResults";
    cJSON *list = cJSON_GetObjectItemCaseSensitive(result, list_name),
          *latest = list && list->child ? list->child->prev : NULL;
    cJSON *child;
    bool ok;

    if (!is_pair && !is_run && (strcmp(name, "CompilationData") != 0 || !latest))
        return true;
    if (!list && !(list = cJSON_AddArrayToObject(result, list_name)))
        return false;
    child = tree_of(attributes);
    if (!child)
        return false;
    ok = is_pair || is_run ? cJSON_AddItemToArray(list, child) : cJSON_AddItemToObject(latest, name, child);
    if (!ok)
        cJSON_Delete(child);
    return ok;
}

static void start_element(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *r = arg;

    if (r->is_done)
        return;
    if (r->result) {
        r->depth++;
        if (++r->n_parts > MAX_PARTS)
            stop_as_bad(r, "a result of more than 65536 parts: it and what follows are left out");
        else if (!add_child(r->result, name, attributes))
            stop(r, ERR_NOMEM);
    } else if (strcmp(name, "KernelResult") == 0 || strcmp(name, "Metadata") == 0) {
        r->depth = 0;
        r->n_parts = 0;
        r->i_line = (int64_t)XML_GetCurrentLineNumber(r->parser);
        r->result = tree_of(attributes);
        if (!r->result)
            stop(r, ERR_NOMEM);
    }
}

static void end_element(void *arg, const XML_Char *name)
{
    struct reader *r = arg;
    cJSON *whole = r->result;

    if (r->is_done || !whole || r->depth-- > 0)
        return;
    assert(r->depth == -1);
    r->result = NULL;
    if (!r->sink->element(name, whole, r->i_line, r->sink->arg, r->why))
        stop(r, ERR_OK);
}

/* KTT writes none; they could only grow. */
static void start_doctype(void *arg, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                          int has_subset)
{
    (void)name, (void)system, (void)public, (void)has_subset;
    stop_as_bad(arg, "a document type, which KTT does not write: what follows is left out");
}

static void tell_why_it_ended(struct reader *r)
{
    const int64_t i_line = (int64_t)XML_GetCurrentLineNumber(r->parser);

    switch (XML_GetErrorCode(r->parser)) {
    case XML_ERROR_NO_MEMORY:
        r->e = ERR_NOMEM;
        break;
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
        r->sink->bad(i_line, "the file ends within its results", r->sink->arg);
        break;
    default:
        r->sink->bad(i_line, "not XML as KTT writes it from here on: what follows is left out", r->sink->arg);
    }
}

enum err ktt_xml_read(const char *text, size_t n, const struct ktt_xml_sink *sink, struct why *why)
{
    struct reader r = {.parser = XML_ParserCreate(NULL), .sink = sink, .e = ERR_OK, .why = why};
    enum XML_Status status;
    size_t at = 0;

    if (!r.parser)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, start_element, end_element);
    XML_SetStartDoctypeDeclHandler(r.parser, start_doctype);
    do {
        const size_t part = n - at < CHUNK ? n - at : CHUNK;

        status = XML_Parse(r.parser, text + at, (int)part, at + part == n);
        at += part;
    } while (status == XML_STATUS_OK && at < n);
    if (status == XML_STATUS_ERROR && !r.is_done)
        tell_why_it_ended(&r);
    cJSON_Delete(r.result);
    XML_ParserFree(r.parser);
    return r.e == ERR_NOMEM ? why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM)) : ERR_OK;
}
