/* SPDX-License-Identifier: MIT */
/* gbdt_xgboost.c - models that XGBoost saved as JSON. (Format: doc/model.schema of XGBoost.) It goes left where a value
 * is below the threshold and compares floats; ours goes right above a cut: the cut is the float just below the
 * threshold. */
#include "cost_model/gbdt_json.h"
#include "cost_model/gbdt_parts.h"

#include "cost_model/data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 65536 /* of one tree, leaves among them */
#define MAX_DEPTH 512

/* One tree as arrays of numbers by node. */
struct arrays {
    double *left, *right, *feature, *threshold, *missing_left;
    size_t n;
};

/* A threshold that some node asks for. */
struct asked {
    uint32_t i_feature;
    float cut;
};

struct reader {
    struct arrays *trees;
    size_t n_trees, n_features;
    struct asked *asked; /* sorted, without repeats */
    size_t n_asked;
    struct why *why;
};

static float cut_of(double threshold)
{
    return nextafterf((float)threshold, -INFINITY);
}

static void arrays_fini(struct arrays *a)
{
    free(a->left);
    free(a->right);
    free(a->feature);
    free(a->threshold);
    free(a->missing_left);
}

static void reader_fini(struct reader *r)
{
    for (size_t i = 0; i < r->n_trees; i++)
        arrays_fini(&r->trees[i]);
    free(r->trees);
    free(r->asked);
}

/* A member that is an array of n numbers or truth values. */
static enum err take_array(const cJSON *tree, const char *name, size_t n, double **out, struct why *why)
{
    const cJSON *array = NULL, *item;
    size_t i = 0;
    enum err e = json_get_array(tree, name, &array, why);

    if (e)
        return e;
    if ((size_t)cJSON_GetArraySize(array) != n)
        return why_set(why, ERR_INPUT, "%s: %d entries, expected %zu", name, cJSON_GetArraySize(array), n);
    *out = malloc((n + 1) * sizeof(**out));
    if (!*out)
        return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) && !cJSON_IsBool(item))
            return why_set(why, ERR_INPUT, "%s[%zu]: expected a number", name, i);
        (*out)[i] = cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
        if (!isfinite((*out)[i]))
            return why_set(why, ERR_INPUT, "%s[%zu]: expected a finite number", name, i);
        i++;
    }
    return ERR_OK;
}

static enum err read_arrays(struct reader *r, const cJSON *tree, struct arrays *a)
{
    const cJSON *left = NULL, *categories = cJSON_GetObjectItemCaseSensitive(tree, "categories_nodes");
    enum err e = json_get_array(tree, "left_children", &left, r->why);

    if (e)
        return e;
    if (cJSON_IsArray(categories) && cJSON_GetArraySize(categories) > 0)
        return why_set(r->why, ERR_UNSUPPORTED, "splits by categories");
    a->n = (size_t)cJSON_GetArraySize(left);
    if (a->n == 0 || a->n > MAX_NODES)
        return why_set(r->why, ERR_LIMIT, "%zu nodes, expected 1 to %d", a->n, MAX_NODES);
    e = take_array(tree, "left_children", a->n, &a->left, r->why);
    if (e == ERR_OK)
        e = take_array(tree, "right_children", a->n, &a->right, r->why);
    if (e == ERR_OK)
        e = take_array(tree, "split_indices", a->n, &a->feature, r->why);
    if (e == ERR_OK)
        e = take_array(tree, "split_conditions", a->n, &a->threshold, r->why);
    if (e == ERR_OK)
        e = take_array(tree, "default_left", a->n, &a->missing_left, r->why);
    for (size_t i = 0; e == ERR_OK && i < a->n; i++)
        if (a->left[i] >= 0 && !(a->feature[i] >= 0 && a->feature[i] < (double)r->n_features))
            e = why_set(r->why, ERR_INPUT, "split_indices[%zu]: %.9g of %zu features", i, a->feature[i], r->n_features);
    return e;
}

static enum err read_trees(struct reader *r, const cJSON *model)
{
    const cJSON *array = NULL, *tree, *info = cJSON_GetObjectItemCaseSensitive(model, "tree_info");
    enum err e = json_get_array(model, "trees", &array, r->why);

    cJSON_ArrayForEach(tree, info)
    {
        if (e == ERR_OK && !(cJSON_IsNumber(tree) && tree->valueint == 0))
            e = why_set(r->why, ERR_UNSUPPORTED, "more than one output");
    }
    if (e == ERR_OK && (size_t)cJSON_GetArraySize(array) > GBDT_MAX_TREES)
        e = why_set(r->why, ERR_LIMIT, "%d trees, expected at most %u", cJSON_GetArraySize(array), GBDT_MAX_TREES);
    if (e)
        return e;
    r->trees = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*r->trees));
    if (!r->trees)
        return why_set(r->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    cJSON_ArrayForEach(tree, array)
    {
        if (e == ERR_OK && (e = read_arrays(r, tree, &r->trees[r->n_trees++])))
            why_prefix(r->why, e, "tree %zu", r->n_trees - 1);
    }
    return e;
}

static int by_feature_and_cut(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;

    if (x->i_feature != y->i_feature)
        return x->i_feature < y->i_feature ? -1 : 1;
    return (x->cut > y->cut) - (x->cut < y->cut);
}

static enum err collect_cuts(struct reader *r)
{
    size_t n = 0, n_kept = 0;

    for (size_t i = 0; i < r->n_trees; i++)
        n += r->trees[i].n;
    r->asked = malloc((n + 1) * sizeof(*r->asked));
    if (!r->asked)
        return why_set(r->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    n = 0;
    for (size_t i = 0; i < r->n_trees; i++)
        for (size_t j = 0; j < r->trees[i].n; j++)
            if (r->trees[i].left[j] >= 0)
                r->asked[n++] = (struct asked){(uint32_t)r->trees[i].feature[j], cut_of(r->trees[i].threshold[j])};
    qsort(r->asked, n, sizeof(*r->asked), by_feature_and_cut);
    for (size_t i = 0; i < n; i++)
        if (n_kept == 0 || by_feature_and_cut(&r->asked[n_kept - 1], &r->asked[i]) != 0)
            r->asked[n_kept++] = r->asked[i];
    r->n_asked = n_kept;
    return ERR_OK;
}

/* Cuts of a feature beyond BINS_MAX - 1 go into another column of it: where each column begins in r->asked, and the
 * end.
 */
static size_t count_columns(const struct reader *r, size_t *starts)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_asked; i++)
        if (i == 0 || r->asked[i].i_feature != r->asked[i - 1].i_feature || i - starts[n - 1] == BINS_MAX - 1)
            starts[n++] = i;
    assert(n <= r->n_asked);
    starts[n] = r->n_asked;
    return n;
}

static enum err add_columns(const struct reader *r, const size_t *starts, size_t n, struct gbdt_parts *p)
{
    enum err e = gbdt_parts_columns(p, n, r->why);

    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        double cuts[BINS_MAX];

        for (size_t j = starts[i]; j < starts[i + 1]; j++)
            cuts[j - starts[i]] = (double)r->asked[j].cut;
        assert(starts[i] < starts[i + 1] && starts[i + 1] - starts[i] < BINS_MAX);
        e = gbdt_parts_column(p, i, r->asked[starts[i]].i_feature,
                              &(struct gbdt_cuts){cuts, NULL, NULL, starts[i + 1] - starts[i]}, r->why);
    }
    return e;
}

/* The node of column and code that asks the same. */
static struct tree_node node_of(const struct reader *r, const size_t *starts, const struct arrays *a, size_t i)
{
    const struct asked wanted = {(uint32_t)a->feature[i], cut_of(a->threshold[i])};
    const struct asked *found = bsearch(&wanted, r->asked, r->n_asked, sizeof(wanted), by_feature_and_cut);
    const size_t at = (size_t)(found - r->asked);
    size_t column = 0;

    assert(found); /* collect_cuts has seen every node */
    while (starts[column + 1] <= at)
        column++;
    return (struct tree_node){.i_column = (uint16_t)column,
                              .threshold = (uint8_t)(at - starts[column] + 1),
                              .missing_right = a->missing_left[i] == 0};
}

/* A way down that is not yet gone. */
struct branch {
    double i_node;
    int16_t *slot;
};

/* Walks one tree from its root, so that children stand behind their node. */
static enum err convert(const struct reader *r, const size_t *starts, const struct arrays *a, struct gbdt_parts *p)
{
    struct tree_node nodes[TREE_MAX_LEAVES];
    float leaves[TREE_MAX_LEAVES];
    struct tree t = {nodes, leaves, 0, 0};
    struct branch open[MAX_DEPTH];
    int16_t root;
    size_t n_open = 1;

    open[0] = (struct branch){0, &root};
    while (n_open > 0) {
        const struct branch b = open[--n_open];
        const size_t i = (size_t)b.i_node;

        if (!(b.i_node >= 0 && b.i_node < (double)a->n) || floor(b.i_node) < b.i_node)
            return why_set(r->why, ERR_INPUT, "child %.9g of %zu nodes", b.i_node, a->n);
        if (t.n_nodes + 1 >= TREE_MAX_LEAVES || t.n_leaves >= TREE_MAX_LEAVES || n_open + 2 > MAX_DEPTH)
            return why_set(r->why, ERR_UNSUPPORTED, "more than %d leaves", TREE_MAX_LEAVES);
        if (a->left[i] < 0) {
            leaves[t.n_leaves] = (float)a->threshold[i];
            *b.slot = (int16_t)~t.n_leaves++;
            continue;
        }
        nodes[t.n_nodes] = node_of(r, starts, a, i);
        *b.slot = (int16_t)t.n_nodes;
        open[n_open++] = (struct branch){a->right[i], &nodes[t.n_nodes].child[1]};
        open[n_open++] = (struct branch){a->left[i], &nodes[t.n_nodes++].child[0]};
    }
    return gbdt_parts_tree(p, &t, r->why);
}

static enum err convert_all(struct reader *r, struct gbdt_parts *p)
{
    size_t *starts = NULL, n;
    enum err e = collect_cuts(r);

    if (e == ERR_OK)
        starts = malloc((r->n_asked + 2) * sizeof(*starts));
    if (e || !starts)
        return e ? e : why_set(r->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    n = count_columns(r, starts);
    e = add_columns(r, starts, n, p);
    for (size_t i = 0; e == ERR_OK && i < r->n_trees; i++)
        if ((e = convert(r, starts, &r->trees[i], p)))
            why_prefix(r->why, e, "tree %zu", i);
    gbdt_parts_end_forest(p);
    free(starts);
    return e;
}

/* A number that stands as text, as XGBoost writes its parameters: "5E-1", or "[5E-1]" from version 3 on. */
static enum err number_in_text(const cJSON *object, const char *name, double *out, struct why *why)
{
    const char *text = NULL;
    char *end;
    enum err e = json_get_text(object, name, &text, why);

    if (e)
        return e;
    text += *text == '[';
    *out = strtod(text, &end);
    if (end == text || (*end != '\0' && strcmp(end, "]") != 0) || !isfinite(*out))
        return why_set(why, ERR_INPUT, "%s: \"%.40s\", expected a number", name, text);
    return ERR_OK;
}

/* Those whose score is the plain sum of base and leaves. */
static bool is_plain(const char *objective)
{
    static const char *const plain[] = {"reg:squarederror",
                                        "reg:linear",
                                        "reg:absoluteerror",
                                        "reg:pseudohubererror",
                                        "reg:quantileerror",
                                        "rank:pairwise",
                                        "rank:ndcg",
                                        "rank:map",
                                        NULL};

    for (size_t i = 0; plain[i]; i++)
        if (strcmp(plain[i], objective) == 0)
            return true;
    return false;
}

static enum err read_head(const cJSON *learner, const cJSON **model, size_t *n_features, double *base, struct why *why)
{
    const cJSON *part = NULL;
    const char *name = "";
    double n = 0;
    enum err e = json_get_object(learner, "objective", &part, why);

    if (e == ERR_OK)
        e = json_get_text(part, "name", &name, why);
    if (e == ERR_OK && !is_plain(name))
        e = why_set(why, ERR_UNSUPPORTED, "objective %.40s: its score is not the plain sum of leaves", name);
    if (e == ERR_OK)
        e = json_get_object(learner, "learner_model_param", &part, why);
    if (e == ERR_OK)
        e = number_in_text(part, "base_score", base, why);
    if (e == ERR_OK)
        e = number_in_text(part, "num_feature", &n, why);
    if (e == ERR_OK && !(n >= 1 && n <= MODEL_MAX_FEATURES))
        e = why_set(why, ERR_LIMIT, "num_feature: %.9g, expected 1 to %u", n, MODEL_MAX_FEATURES);
    if (e == ERR_OK)
        e = json_get_object(learner, "gradient_booster", &part, why);
    if (e == ERR_OK)
        e = json_get_text(part, "name", &name, why);
    if (e == ERR_OK && strcmp(name, "gbtree") != 0)
        e = why_set(why, ERR_UNSUPPORTED, "booster %.40s, expected gbtree", name);
    if (e == ERR_OK)
        e = json_get_object(part, "model", model, why);
    *n_features = (size_t)n;
    return e;
}

static enum err read_model(struct model **out, const cJSON *root, struct why *why)
{
    struct gbdt_options options = gbdt_defaults();
    struct reader r = {.why = why};
    struct gbdt_parts p = {0};
    const cJSON *learner = NULL, *trees = NULL;
    struct model *m = NULL;
    double base = 0;
    enum err e = json_get_object(root, "learner", &learner, why);

    if (e == ERR_OK)
        e = read_head(learner, &trees, &r.n_features, &base, why);
    if (e == ERR_OK)
        e = read_trees(&r, trees);
    options.n_forests = 1;
    options.n_trees = r.n_trees > 0 ? r.n_trees : 1;
    if (e == ERR_OK && (e = gbdt_new(&m, 0, &options)))
        why_set(why, e, "%s", err_words(e));
    if (e == ERR_OK)
        e = gbdt_parts_init(&p, r.n_features, 1, why);
    if (e == ERR_OK)
        e = convert_all(&r, &p);
    p.base = base;
    if (e == ERR_OK)
        e = gbdt_parts_take(&p, m, why);
    gbdt_parts_fini(&p);
    reader_fini(&r);
    if (e) {
        gbdt_ops.fini(m);
        return e;
    }
    *out = m;
    return ERR_OK;
}

enum err gbdt_load_xgboost(struct model **out, const char *path, struct why *why)
{
    cJSON *root = NULL;
    enum err e = gbdt_read_file(path, &root, why);

    if (e == ERR_OK && (e = read_model(out, root, why)))
        why_prefix(why, e, "%s", path);
    cJSON_Delete(root);
    return e;
}
