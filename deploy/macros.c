/* SPDX-License-Identifier: MIT */
#include "deploy/macros.h"

#include "core/json.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TARGET 80
#define MACROS_BYTES ((size_t)1 << 16) /* of one config */

/* One record that becomes macros. */
struct row {
    const struct record *record;
    char *macros; /* owned; NULL: its knobs are no config */
    char target[MAX_TARGET];
    const char *sizes; /* "256,256"; "" = the workload has none */
};

struct rows {
    struct row *list;
    size_t n;
};

static const char *device_name(const struct record *r)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(r->device, "name");

    return cJSON_IsString(name) && name->valuestring[0] ? name->valuestring : r->key[0] ? r->key : "device";
}

static void set_target(const struct record *r, char out[MAX_TARGET])
{
    size_t n = 0;

    for (const char *at = device_name(r); *at && n < MAX_TARGET - 1; at++) {
        if (isalnum((unsigned char)*at))
            out[n++] = (char)toupper((unsigned char)*at);
        else if (n > 0 && out[n - 1] != '_')
            out[n++] = '_';
    }
    while (n > 0 && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

/* "kernel NAME problem_size=A,B": is it this kernel's? `sizes` gets "A,B". */
static bool same_kernel(const char *workload, const char *own, const char **sizes)
{
    static const char key[] = "problem_size=";
    const char *name = own + strlen("kernel ");
    const size_t n = strlen("kernel ") + strcspn(name, " ");

    assert(strncmp(own, "kernel ", 7) == 0);
    if (strncmp(workload, own, n) != 0 || (workload[n] != ' ' && workload[n] != '\0'))
        return false;
    *sizes = strstr(workload + n, key);
    *sizes = *sizes ? *sizes + strlen(key) : "";
    return (*sizes)[strspn(*sizes, "0123456789,")] == '\0' && !strstr(*sizes, ",,") && **sizes != ',';
}

static bool make_row(const struct record *r, const struct spec *s, struct row *out)
{
    const char *own = spec_workload(s);
    struct buf macros;

    *out = (struct row){.record = r};
    if (!r->workload || !same_kernel(r->workload, own, &out->sizes) || !*out->sizes != !strstr(own, " problem_size="))
        return false; /* some sizes, or none at all */
    if (strcmp(r->workload, own) == 0 && r->template_version != spec_version(s))
        return false;
    set_target(r, out->target);
    buf_init(&macros, MACROS_BYTES);
    if (spec_macros(s, r->knobs, &macros, NULL) == ERR_OK)
        out->macros = buf_take(&macros);
    buf_fini(&macros);
    return out->macros != NULL;
}

static int by_place(const struct row *x, const struct row *y)
{
    const int target = strcmp(x->target, y->target);

    return target ? target : strcmp(x->sizes, y->sizes);
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int place = by_place(x, y);

    return place ? place : (x->record->time_ns > y->record->time_ns) - (x->record->time_ns < y->record->time_ns);
}

/* Rows of one target stand together; of two devices of one name (after an update of the driver) the fastest stands. */
static enum err collect(const struct best_set *best, const struct spec *s, struct rows *out, size_t *n_left)
{
    size_t n = 0;

    out->list = calloc(best_n(best) + 1, sizeof *out->list);
    if (!out->list)
        return ERR_NOMEM;
    for (size_t i = 0; i < best_n(best); i++)
        out->n += make_row(best_at(best, i), s, &out->list[out->n]);
    *n_left = best_n(best) - out->n;
    qsort(out->list, out->n, sizeof *out->list, by_place_and_time);
    for (size_t i = 0; i < out->n; i++)
        if (n == 0 || by_place(&out->list[n - 1], &out->list[i]) != 0)
            out->list[n++] = out->list[i];
        else
            free(out->list[i].macros);
    out->n = n;
    return ERR_OK;
}

/* Words of a record, which somebody else may have written, within a comment: they do not end it. */
static void put_words(const char *words, struct buf *out)
{
    for (const char *at = words; *at; at++)
        buf_printf(out, "%c", (unsigned char)*at < ' ' || *at == 127 || *at == '*' || *at == '\\' ? ' ' : *at);
}

static void put_macros(const struct row *r, struct buf *out)
{
    const double gflops = record_gflops(r->record);

    buf_puts(out, "/* ");
    put_words(device_name(r->record), out);
    buf_puts(out, ", ");
    put_words(r->record->workload, out);
    buf_printf(out, ": %.4g ms", r->record->time_ns / 1e6);
    if (gflops > 0)
        buf_printf(out, ", %.4g GFLOPS", gflops);
    buf_puts(out, " */\n");
    buf_puts(out, r->macros);
}

/* "PROBLEM_SIZE_0 == 256 && PROBLEM_SIZE_1 == 256" */
static void put_sizes(const char *sizes, struct buf *out)
{
    for (int i = 0; *sizes; i++) {
        const int n = (int)strcspn(sizes, ",");

        buf_printf(out, "%sPROBLEM_SIZE_%d == %.*s", i ? " && " : "", i, n, sizes);
        sizes += n + (sizes[n] == ',');
    }
}

static void put_target(const struct row *r, size_t n, struct buf *out)
{
    assert(n > 0);
    for (size_t i = 0; i < n; i++) {
        if (n > 1) {
            buf_puts(out, i ? "#elif " : "#if ");
            put_sizes(r[i].sizes, out);
            buf_puts(out, "\n");
        }
        put_macros(&r[i], out);
    }
    if (n > 1)
        buf_printf(out,
                   "#else\n#error \"no config of these sizes: expected PROBLEM_SIZE_0 .. as in one of the %zu "
                   "above\"\n#endif\n",
                   n);
}

/* "BLUR_MACROS_H" */
static void put_guard(const char *line, const char *workload, struct buf *out)
{
    buf_printf(out, "%s ", line);
    for (const char *at = workload + strlen("kernel "); *at && *at != ' '; at++)
        buf_printf(out, "%c", toupper((unsigned char)*at));
    buf_puts(out, "_MACROS_H\n");
}

static void put_rows(const struct rows *rows, struct buf *out)
{
    const bool several = strcmp(rows->list[0].target, rows->list[rows->n - 1].target) != 0;
    size_t n;

    for (size_t i = 0; i < rows->n; i += n) {
        for (n = 1; i + n < rows->n && strcmp(rows->list[i].target, rows->list[i + n].target) == 0; n++)
            ;
        if (several)
            buf_printf(out, "%s defined TARGET_%s\n", i ? "#elif" : "#if", rows->list[i].target);
        put_target(&rows->list[i], n, out);
    }
    if (several)
        buf_puts(out, "#else\n#error \"expected one of the TARGET_ macros above\"\n#endif\n");
}

enum err deploy_macros(const struct best_set *best, const struct spec *s, const char *file, struct buf *out, size_t *n,
                       size_t *n_left, struct why *why)
{
    struct rows rows = {NULL, 0};
    enum err e = collect(best, s, &rows, n_left);

    if (e)
        return why_set(why, e, "%s", err_words(e));
    *n = rows.n;
    if (rows.n == 0)
        e = why_set(why, ERR_NOT_FOUND, "no record with status ok of this version of '%s'", spec_workload(s));
    if (!e) {
        buf_puts(out, "/* ");
        put_words(file, out);
        buf_printf(out, " - made by `tune deploy`: the best macros that were measured of %s. */\n", spec_workload(s));
        put_guard("#ifndef", spec_workload(s), out);
        put_guard("#define", spec_workload(s), out);
        put_rows(&rows, out);
        buf_puts(out, "#endif\n");
        e = out->failed ? why_set(why, out->failed, "%s", err_words(out->failed)) : ERR_OK;
    }
    for (size_t i = 0; i < rows.n; i++)
        free(rows.list[i].macros);
    free(rows.list);
    return e;
}
