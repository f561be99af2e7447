/* ensemble_json.c - ensembles as text. A file holds what was learned from, not what was learned: the same records and
 * seed give the same ensemble everywhere, and a later version of the trees makes better use of them. */
#include "tuner/learn/ensemble_parts.h"

#include <math.h>
#include <stdlib.h>

static void write_number(struct buf *out, double v)
{
    if (isfinite(v))
        buf_printf(out, "%.17g", v);
    else
        buf_puts(out, "null");
}

enum err ensemble_write(const struct ensemble *m, struct buf *out)
{
    buf_printf(out, "{\"seed\":\"%llu\",\"extra\":%zu,\"rows\":[", (unsigned long long)m->seed, m->n_extra);
    for (size_t i = 0; i < m->n && !out->failed; i++) {
        buf_puts(out, i > 0 ? ",\n[" : "\n[");
        write_number(out, m->times[i]);
        for (size_t j = 0; j < m->n_knobs; j++) {
            buf_puts(out, ",");
            write_number(out, m->values[i * m->n_knobs + j]);
        }
        for (size_t j = 0; j < m->n_extra; j++) {
            buf_puts(out, ",");
            write_number(out, (double)m->extra[i * m->n_extra + j]);
        }
        buf_puts(out, "]");
    }
    return buf_puts(out, "]}");
}

static enum err read_row(const cJSON *row, size_t i, double *times, double *values, size_t n_knobs, float *extra,
                         size_t n_extra, struct why *why)
{
    const cJSON *item;
    size_t j = 0;

    if (!cJSON_IsArray(row) || (size_t)cJSON_GetArraySize(row) != 1 + n_knobs + n_extra)
        return why_set(why, ERR_INPUT, "rows: number %zu, expected an array of %zu numbers", i, 1 + n_knobs + n_extra);
    cJSON_ArrayForEach(item, row)
    {
        const double v = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;

        if (!cJSON_IsNumber(item) && !cJSON_IsNull(item))
            return why_set(why, ERR_INPUT, "rows: number %zu, expected numbers or null", i);
        if (j == 0)
            times[i] = v;
        else if (j <= n_knobs)
            values[i * n_knobs + j - 1] = v;
        else
            extra[i * n_extra + j - 1 - n_knobs] = (float)v;
        j++;
    }
    return ERR_OK;
}

static enum err read_rows(struct ensemble_data *d, const cJSON *rows, double *times, double *values, float *extra,
                          struct why *why)
{
    const cJSON *row;
    size_t i = 0;
    enum err e = ERR_OK;

    cJSON_ArrayForEach(row, rows)
    {
        e = read_row(row, i++, times, values, d->n_knobs, extra, d->n_extra, why);
        if (e)
            return e;
    }
    d->times = times;
    d->values = values;
    d->extra = d->n_extra > 0 ? extra : NULL;
    return ERR_OK;
}

enum err ensemble_read(struct ensemble **out, const struct features_knob *knobs, size_t n_knobs, const cJSON *object,
                       struct why *why)
{
    struct ensemble_data d = {.knobs = knobs, .n_knobs = n_knobs};
    const cJSON *rows = NULL;
    const char *seed = NULL;
    double *times = NULL, *values = NULL;
    float *extra = NULL;
    int64_t n_extra = 0;
    enum err e = json_get_array(object, "rows", &rows, why);

    if (e == ERR_OK)
        e = json_get_text(object, "seed", &seed, why);
    if (e == ERR_OK)
        e = json_get_i64(object, "extra", 0, ENSEMBLE_MAX_EXTRA, &n_extra, why);
    if (e)
        return e;
    d.n = (size_t)cJSON_GetArraySize(rows);
    d.n_extra = (size_t)n_extra;
    times = malloc((d.n + 1) * sizeof *times);
    values = malloc((d.n * n_knobs + 1) * sizeof *values);
    extra = malloc((d.n * d.n_extra + 1) * sizeof *extra);
    e = times && values && extra ? read_rows(&d, rows, times, values, extra, why)
                                 : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (e == ERR_OK)
        e = ensemble_fit(out, &d, strtoull(seed, NULL, 10), why);
    free(times);
    free(values);
    free(extra);
    return e;
}
