/* SPDX-License-Identifier: MIT */
#include "cost_model/gbdt_json.h"

#include "core/err.h"
#include "core/file.h"
#include "cost_model/data.h"
#include "cost_model/gbdt_model.h"
#include "cost_model/gbdt_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Options by name; a second table of the same would go out of step. */
#define SIZES(X) X(n_forests) X(n_trees) X(max_depth) X(max_leaves)
#define REALS(X) X(rate) X(row_share) X(column_share) X(l2) X(min_child) X(min_gain)

static void write_floats(struct buf *out, const char *name, const float *values, size_t n)
{
    buf_printf(out, "\"%s\":[", name);
    for (size_t i = 0; i < n && !out->failed; i++)
        buf_printf(out, "%s%.9g", i > 0 ? "," : "", (double)values[i]);
    buf_puts(out, "]");
}

static void write_options(struct buf *out, const struct model *m)
{
    const char *comma = "";

    buf_printf(out, "\"seed\":\"%" PRIu64 "\",\n\"options\":{", m->seed);
#define X(name)                                                                                                        \
    buf_printf(out, "%s\"" #name "\":%zu", comma, m->options.name);                                                    \
    comma = ",";
    SIZES(X)
#undef X
#define X(name) buf_printf(out, ",\"" #name "\":%.17g", m->options.name);
    REALS(X)
#undef X
    buf_puts(out, "},\n");
}

static enum err write_names(struct buf *out, const char *const *names, size_t n)
{
    buf_puts(out, "\"names\":[");
    for (size_t i = 0; i < n && !out->failed; i++) {
        cJSON *name = cJSON_CreateString(names[i]);
        enum err e = name ? ERR_OK : ERR_NOMEM;

        if (i > 0)
            buf_puts(out, ",");
        if (e == ERR_OK)
            e = json_print(name, out);
        cJSON_Delete(name);
        if (e)
            return e;
    }
    return buf_puts(out, "],\n");
}

static void write_tree(struct buf *out, const struct tree *t)
{
    buf_puts(out, "{\"nodes\":[");
    for (size_t i = 0; i < t->n_nodes && !out->failed; i++) {
        const struct tree_node *node = &t->nodes[i];

        buf_printf(out, "%s%u,%u,%d,%d,%d", i > 0 ? "," : "", node->i_column, node->threshold, node->missing_right,
                   node->child[0], node->child[1]);
    }
    buf_puts(out, "],");
    write_floats(out, "leaves", t->leaves, t->n_leaves);
    buf_puts(out, "}");
}

static void write_columns(struct buf *out, const struct bins *b)
{
    buf_puts(out, "\"columns\":[");
    for (size_t i = 0; i < b->n_columns && !out->failed; i++) {
        const struct bin_column *c = &b->columns[i];

        buf_printf(out, "%s\n{\"feature\":%zu,", i > 0 ? "," : "", c->i_feature);
        write_floats(out, "cuts", c->cuts, c->n_cuts);
        buf_puts(out, "}");
    }
    buf_puts(out, "],\n");
}

enum err gbdt_write(const struct model *m, const char *const *names, struct buf *out)
{
    const struct gbdt_fit *f = &m->fit;
    enum err e = ERR_OK;

    if (!f->cuts)
        return ERR_INPUT;
    buf_printf(out, "{\"schema\":\"%s\",\n\"features\":%zu,\n", GBDT_JSON_SCHEMA, f->cuts->bins.n_features);
    if (names)
        e = write_names(out, names, f->cuts->bins.n_features);
    if (e)
        return e;
    write_options(out, m);
    buf_printf(out, "\"base\":%.17g,\n\"gains\":[", f->base);
    for (size_t i = 0; i < f->cuts->bins.n_features && !out->failed; i++)
        buf_printf(out, "%s%.17g", i > 0 ? "," : "", f->gains[i]);
    buf_puts(out, "],\n");
    write_columns(out, &f->cuts->bins);
    buf_puts(out, "\"forests\":[");
    for (size_t i = 0; i < m->options.n_forests; i++) {
        buf_puts(out, i > 0 ? ",[" : "[");
        for (size_t j = f->first[i]; j < f->first[i + 1] && !out->failed; j++) {
            buf_puts(out, j > f->first[i] ? ",\n" : "\n");
            write_tree(out, &f->trees[j]);
        }
        buf_puts(out, "]");
    }
    buf_puts(out, "]}\n");
    return out->failed;
}

/* Reading. */

/* n numbers of an array into out, each within +- `most`; n is the array's length. */
static enum err read_numbers(const cJSON *array, const char *name, double most, double *out, struct why *why)
{
    const cJSON *item;
    size_t i = 0;

    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= most))
            return why_set(why, ERR_INPUT, "%s[%zu]: expected a finite number", name, i);
        out[i++] = item->valuedouble;
    }
    return ERR_OK;
}

/* A member that is an array of numbers. Gives *out. */
static enum err take_numbers(const cJSON *object, const char *name, size_t least, size_t most, double **out, size_t *n,
                             struct why *why)
{
    const cJSON *array = NULL;
    enum err e = json_get_array(object, name, &array, why);

    if (e)
        return e;
    *n = (size_t)cJSON_GetArraySize(array);
    if (*n < least || *n > most)
        return why_set(why, ERR_INPUT, "%s: %zu numbers, expected %zu to %zu", name, *n, least, most);
    *out = malloc((*n + 1) * sizeof(**out));
    if (!*out)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    e = read_numbers(array, name, 3.4e38, *out, why);
    if (e) {
        free(*out);
        *out = NULL;
    }
    return e;
}

static enum err read_options(struct gbdt_options *o, const cJSON *object, struct why *why)
{
    int64_t size = 0;
    enum err e = ERR_OK;

    *o = gbdt_defaults();
#define X(name)                                                                                                        \
    if (e == ERR_OK)                                                                                                   \
        e = json_get_i64(object, #name, 0, GBDT_MAX_TREES, &size, why);                                                \
    if (e == ERR_OK)                                                                                                   \
        o->name = (size_t)size;
    SIZES(X)
#undef X
#define X(name)                                                                                                        \
    if (e == ERR_OK)                                                                                                   \
        e = json_get_real(object, #name, &o->name, why);
    REALS(X)
#undef X
    return e;
}

static enum err check_names(const cJSON *object, const char *const *names, size_t n, struct why *why)
{
    const cJSON *array = NULL, *item;
    size_t i = 0;
    enum err e = names ? json_get_array(object, "names", &array, why) : ERR_OK;

    if (e || !names)
        return e;
    if ((size_t)cJSON_GetArraySize(array) != n)
        return why_set(why, ERR_INPUT, "the model has %d features, these rows have %zu", cJSON_GetArraySize(array), n);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsString(item) || strcmp(item->valuestring, names[i]) != 0)
            return why_set(why, ERR_INPUT, "feature %zu of the model is \"%s\", of these rows \"%s\"", i,
                           cJSON_IsString(item) ? item->valuestring : "?", names[i]);
        i++;
    }
    return ERR_OK;
}

static enum err read_column(struct gbdt_parts *p, const cJSON *object, size_t i, struct why *why)
{
    double *cuts = NULL;
    size_t n_cuts = 0;
    int64_t feature = 0;
    enum err e = json_get_i64(object, "feature", 0, (int64_t)p->n_features - 1, &feature, why);

    if (e == ERR_OK)
        e = take_numbers(object, "cuts", 0, BINS_MAX - 1, &cuts, &n_cuts, why);
    if (e == ERR_OK)
        e = gbdt_parts_column(p, i, (size_t)feature, cuts, n_cuts, why);
    free(cuts);
    return e ? why_prefix(why, e, "column %zu", i) : ERR_OK;
}

static enum err read_columns(struct gbdt_parts *p, const cJSON *root, struct why *why)
{
    const cJSON *array = NULL, *item;
    size_t i = 0;
    enum err e = json_get_array(root, "columns", &array, why);

    if (e == ERR_OK)
        e = gbdt_parts_columns(p, (size_t)cJSON_GetArraySize(array), why);
    cJSON_ArrayForEach(item, array)
    {
        if (e == ERR_OK)
            e = read_column(p, item, i++, why);
    }
    return e;
}

/* Whole numbers in their ranges, else they would not be what they are read as. */
static enum err node_of(const double *n, size_t i_node, size_t n_nodes, struct tree_node *out, struct why *why)
{
    const double most[] = {MODEL_MAX_FEATURES, BINS_MAX, 1, (double)n_nodes - 1, (double)n_nodes - 1};
    const double least[] = {0, 0, 0, -(double)n_nodes - 1, -(double)n_nodes - 1};

    for (size_t i = 0; i < 5; i++)
        if (!(n[i] >= least[i] && n[i] <= most[i]) || floor(n[i]) < n[i])
            return why_set(why, ERR_INPUT, "nodes[%zu]: %.9g, expected a whole number from %g to %g", 5 * i_node + i,
                           n[i], least[i], most[i]);
    *out = (struct tree_node){
        (uint16_t)n[0],
        (uint8_t)n[1],
        n[2] > 0,
        {(int16_t)n[3], (int16_t)n[4]},
    };
    return ERR_OK;
}

static enum err read_tree(struct gbdt_parts *p, const cJSON *object, struct why *why)
{
    struct tree_node nodes[TREE_MAX_LEAVES];
    float leaves[TREE_MAX_LEAVES];
    double *numbers = NULL, *values = NULL;
    size_t n_numbers = 0, n_leaves = 0;
    enum err e = take_numbers(object, "nodes", 0, 5 * (TREE_MAX_LEAVES - 1), &numbers, &n_numbers, why);

    if (e == ERR_OK && n_numbers % 5 != 0)
        e = why_set(why, ERR_INPUT, "nodes: %zu numbers, expected five for each node", n_numbers);
    if (e == ERR_OK)
        e = take_numbers(object, "leaves", n_numbers / 5 + 1, n_numbers / 5 + 1, &values, &n_leaves, why);
    for (size_t i = 0; e == ERR_OK && i < n_numbers / 5; i++)
        e = node_of(numbers + 5 * i, i, n_numbers / 5, &nodes[i], why);
    for (size_t i = 0; e == ERR_OK && i < n_leaves; i++)
        leaves[i] = (float)values[i];
    if (e == ERR_OK)
        e = gbdt_parts_tree(p, &(struct tree){nodes, leaves, n_numbers / 5, n_leaves}, why);
    free(numbers);
    free(values);
    return e;
}

static enum err read_forests(struct gbdt_parts *p, const cJSON *root, size_t n_forests, struct why *why)
{
    const cJSON *array = NULL, *forest, *tree;
    size_t i = 0, j;
    enum err e = json_get_array(root, "forests", &array, why);

    if (e == ERR_OK && (size_t)cJSON_GetArraySize(array) != n_forests)
        e = why_set(why, ERR_INPUT, "forests: %d, expected %zu", cJSON_GetArraySize(array), n_forests);
    cJSON_ArrayForEach(forest, array)
    {
        j = 0;
        if (e == ERR_OK && !cJSON_IsArray(forest))
            e = why_set(why, ERR_INPUT, "forest %zu: expected an array of trees", i);
        cJSON_ArrayForEach(tree, forest)
        {
            if (e == ERR_OK && (e = read_tree(p, tree, why)))
                why_prefix(why, e, "forest %zu, tree %zu", i, j);
            j++;
        }
        i++;
        if (e == ERR_OK)
            gbdt_parts_end_forest(p);
    }
    return e;
}

static enum err read_head(const cJSON *object, struct gbdt_options *options, uint64_t *seed, size_t *n_features,
                          struct why *why)
{
    const char *schema = "", *text = "";
    const cJSON *o = NULL;
    int64_t n = 0;
    enum err e = json_get_text(object, "schema", &schema, why);

    if (e == ERR_OK && strcmp(schema, GBDT_JSON_SCHEMA) != 0)
        e = why_set(why, ERR_INPUT, "schema: \"%s\", expected \"%s\"", schema, GBDT_JSON_SCHEMA);
    if (e == ERR_OK)
        e = json_get_i64(object, "features", 1, MODEL_MAX_FEATURES, &n, why);
    if (e == ERR_OK)
        e = json_get_text(object, "seed", &text, why);
    if (e == ERR_OK)
        e = json_get_object(object, "options", &o, why);
    if (e == ERR_OK)
        e = read_options(options, o, why);
    if (e)
        return e;
    *seed = strtoull(text, NULL, 10);
    *n_features = (size_t)n;
    return ERR_OK;
}

static enum err read_parts(struct gbdt_parts *p, const cJSON *object, size_t n_forests, struct why *why)
{
    double *gains = NULL;
    size_t n_gains = 0;
    enum err e = read_columns(p, object, why);

    if (e == ERR_OK)
        e = json_get_real(object, "base", &p->base, why);
    if (e == ERR_OK)
        e = take_numbers(object, "gains", p->n_features, p->n_features, &gains, &n_gains, why);
    for (size_t i = 0; i < n_gains && gains; i++)
        p->gains[i] = fabs(gains[i]);
    free(gains);
    return e ? e : read_forests(p, object, n_forests, why);
}

enum err gbdt_read(struct model **out, const cJSON *object, const char *const *names, size_t n_names, struct why *why)
{
    struct gbdt_options options;
    struct gbdt_parts parts;
    struct model *m = NULL;
    size_t n_features = 0;
    uint64_t seed = 0;
    enum err e = read_head(object, &options, &seed, &n_features, why);

    if (e == ERR_OK)
        e = check_names(object, names, n_names, why);
    if (e)
        return e;
    e = gbdt_new(&m, seed, &options);
    if (e)
        return why_set(why, e, "options: %s", e == ERR_INPUT ? "one is out of its range" : err_words(e));
    e = gbdt_parts_init(&parts, n_features, options.n_forests, why);
    if (e == ERR_OK)
        e = read_parts(&parts, object, options.n_forests, why);
    if (e == ERR_OK)
        e = gbdt_parts_take(&parts, m, why);
    gbdt_parts_fini(&parts);
    if (e) {
        gbdt_ops.fini(m);
        return e;
    }
    *out = m;
    return ERR_OK;
}
