/* SPDX-License-Identifier: MIT */
#include "kernels/graph.h"

#include "core/buf.h"
#include "core/vec.h"
#include "kernels/embedded.h"
#include "kernels/epilogue.h"
#include "kernels/graph_lower.h"
#include "kernels/graph_ops.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 1024
#define MAX_WORDS 64
#define MAX_GRAPHS 32

/* The keys of a line: the first of a node's numbers, how many there are, and what each is without the key. */
static const struct key {
    const char *name;
    enum graph_key first;
    int n;
    int64_t otherwise;
} keys[] = {{"k", GRAPH_K, 1, 0},
            {"n", GRAPH_K, 1, 0},
            {"r", GRAPH_R, 1, 0},
            {"s", GRAPH_S, 1, 0},
            {"stride", GRAPH_STRIDE_H, 2, 1},
            {"pad", GRAPH_TOP, 4, 0},
            {"dilation", GRAPH_DIL_H, 2, 1},
            {"groups", GRAPH_GROUPS, 1, 1}};
#define N_KEYS (sizeof keys / sizeof keys[0])

static const struct {
    const char *name;
    unsigned bit;
} words[] = {{"relu", GRAPH_WORD_RELU},
             {"relu6", GRAPH_WORD_RELU6},
             {"hard_swish", EPILOGUE_HARD_SWISH},
             {"swish", EPILOGUE_SWISH},
             {"hard_sigmoid", EPILOGUE_HARD_SIGMOID},
             {"sigmoid", EPILOGUE_SIGMOID},
             {"max", GRAPH_WORD_MAX},
             {"avg", GRAPH_WORD_AVG},
             {"global", GRAPH_WORD_GLOBAL},
             {"u8", GRAPH_WORD_U8}};

/* Of images, by position in a shape; `n` may be left out. */
static const char *const sizes[] = {"n", "c", "h", "w"};

/* A line while it is read. */
struct line {
    const char *graph;
    int number;
    unsigned keys, words; /* that stand in it */
    unsigned sizes;       /* of an input, a bit each; 16: shape= */
    struct why *why;
};

#define FAIL(l, ...) fail(l, ERR_INPUT, __VA_ARGS__)

static enum err fail(const struct line *l, enum err e, const char *format, ...) __attribute__((format(printf, 3, 4)));
static enum err fail(const struct line *l, enum err e, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return why_set(l->why, e, "graph %.40s, line %d: %s", l->graph, l->number, text);
}

const char *graph_op_name(enum graph_op op)
{
    return graph_rules[op].name;
}

bool graph_is_dense(enum graph_op op)
{
    return op == GRAPH_DENSE || op == GRAPH_DENSE4;
}

enum dtype graph_dtype(const struct graph *g, size_t i, enum dtype t)
{
    return g->nodes[i].op == GRAPH_LENGTHS ? DTYPE_I32 : g->nodes[i].bytes ? DTYPE_U8 : t;
}

bool graph_is_given(const struct graph_node *n)
{
    return n->op == GRAPH_INPUT || n->op == GRAPH_LENGTHS;
}

bool graph_reads(const struct graph *g, size_t i, size_t of)
{
    for (int k = 0; k < g->nodes[i].n_in; k++)
        if (g->nodes[i].in[k] == (int)of)
            return true;
    return false;
}

int graph_node_find(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].name, name) == 0)
            return (int)i;
    return -1;
}

static enum err read_name(const struct line *l, const struct graph *g, const char *word, struct graph_node *out)
{
    const size_t n = strlen(word);

    if (n >= sizeof out->name || n == 0 || !isalpha((unsigned char)word[0]))
        return FAIL(l, "'%.60s' is no name: expected at most %zu letters, digits and _, the first a letter", word,
                    sizeof out->name - 1);
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return FAIL(l, "'%.60s' is no name: expected letters, digits and _", word);
    if (graph_node_find(g, word) >= 0)
        return FAIL(l, "there is a tensor %s already", word);
    memcpy(out->name, word, n + 1);
    return ERR_OK;
}

static enum err read_op(const struct line *l, const char *word, struct graph_node *out)
{
    char list[256] = "";

    for (int i = 0; i < N_GRAPH_OPS; i++) {
        const size_t n = strlen(list);

        if (strcmp(word, graph_rules[i].name) == 0) {
            out->op = (enum graph_op)i;
            return ERR_OK;
        }
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", graph_rules[i].name);
    }
    return FAIL(l, "unknown operator '%.60s'; expected one of %s", word, list);
}

static enum err read_tensor(const struct line *l, const struct graph *g, const char *word, int *out)
{
    *out = word ? graph_node_find(g, word) : -1;
    if (*out < 0)
        return FAIL(l, "expected a tensor of an earlier line, not '%.60s'", word ? word : "nothing");
    return ERR_OK;
}

static enum err read_number(const struct line *l, const char *text, char **end, int64_t *out)
{
    const long long v = isdigit((unsigned char)*text) ? strtoll(text, end, 10) : -1;

    if (v < 0 || (**end && **end != ',') || v > GRAPH_MAX_SIZE)
        return FAIL(l, "expected a number from 0 to %d, not '%.60s'", GRAPH_MAX_SIZE, text);
    *out = v;
    return ERR_OK;
}

/* One number for all, or rows,columns, or, of pad=, top,left,bottom,right. */
static enum err read_numbers(const struct line *l, const struct key *key, const char *text, int64_t *out)
{
    int64_t v[4];
    char *end = NULL;
    int n = 0;
    enum err e = read_number(l, text, &end, &v[n++]);

    while (!e && *end && n < key->n)
        e = read_number(l, end + 1, &end, &v[n++]);
    if (!e && (*end || (n != 1 && n != 2 && n != key->n)))
        e = FAIL(l, "expected %s of %s=, not '%.60s'",
                 key->n == 1   ? "one number"
                 : key->n == 2 ? "one number or two"
                               : "one number, two or four",
                 key->name, text);
    for (int i = 0; i < key->n && !e; i++)
        out[i] = v[i % n];
    return e;
}

/* Is it the operator's? `k` is called `n` in dense layers. */
static bool is_key_of(const struct key *key, enum graph_op op)
{
    return ((graph_rules[op].needs | graph_rules[op].takes) & 1u << key->first) &&
           (key->first != GRAPH_K || graph_is_dense(op) == (key->name[0] == 'n'));
}

/* shape=, and c= h= w= n= of an input of images; *found: it was one of them. */
static enum err read_size(struct line *l, const char *name, const char *value, struct graph_node *out, bool *found)
{
    struct graph_shape *s = &out->shape;
    char *end = NULL;
    unsigned i = 0;

    *found = graph_rules[out->op].has_shape;
    while (*found && i < 4 && (out->op != GRAPH_INPUT || strcmp(name, sizes[i]) != 0))
        i++;
    *found = *found && (i < 4 || strcmp(name, "shape") == 0);
    if (!*found)
        return ERR_OK;
    if (l->sizes & 1u << i)
        return FAIL(l, "%s stands twice", name);
    if (l->sizes && (i == 4 || (l->sizes & 16)))
        return FAIL(l, "shape= or c= h= w=, one of them");
    l->sizes |= 1u << i;
    if (i < 4)
        return read_numbers(l, &(struct key){sizes[i], GRAPH_K, 1, 0}, value, &s->dim[i]);
    for (s->rank = 0;; value = end + 1) {
        enum err e;

        if (s->rank == GRAPH_MAX_RANK)
            return FAIL(l, "expected at most %d dimensions of shape=", GRAPH_MAX_RANK);
        e = read_number(l, value, &end, &s->dim[s->rank++]);
        if (e || !*end)
            return e;
    }
}

static enum err read_key(struct line *l, const char *name, const char *value, struct graph_node *out)
{
    bool found = false;
    const enum err e = read_size(l, name, value, out, &found);

    if (found)
        return e;
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(name, keys[i].name) != 0 || !is_key_of(&keys[i], out->op))
            continue;
        if (l->keys & 1u << keys[i].first)
            return FAIL(l, "%s stands twice", name);
        l->keys |= 1u << keys[i].first;
        return read_numbers(l, &keys[i], value, &out->key[keys[i].first]);
    }
    return FAIL(l, "%s does not take '%.60s='", graph_op_name(out->op), name);
}

/* A word that goes into the workload as it is. */
static enum err read_own_word(const struct line *l, const char *word, struct graph_node *out)
{
    const size_t n = strlen(out->words), room = sizeof out->words - n;
    const int more = snprintf(out->words + n, room, "%s%s", n ? " " : "", word);

    return more >= 0 && (size_t)more < room ? ERR_OK
                                            : fail(l, ERR_LIMIT, "more than %zu characters of words for %s",
                                                   sizeof out->words - 1, graph_op_name(out->op));
}

/* Is a setting of an operator with own words none of those? */
static bool is_of_rule(const struct graph_rule *rule, enum graph_op op, const char *word)
{
    const size_t n = strcspn(word, "=");

    for (size_t i = 0; word[n] && i < N_KEYS; i++)
        if (strncmp(word, keys[i].name, n) == 0 && !keys[i].name[n] && is_key_of(&keys[i], op))
            return true;
    for (size_t i = 0; !word[n] && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].name) == 0 && (rule->words & words[i].bit))
            return true;
    return rule->has_shape && strncmp(word, "shape=", 6) == 0;
}

static enum err read_setting(struct line *l, char *word, struct graph_node *out)
{
    const struct graph_rule *rule = &graph_rules[out->op];
    char *equals = strchr(word, '=');

    if (rule->own_words && !is_of_rule(rule, out->op, word))
        return read_own_word(l, word, out);
    if (equals) {
        *equals = '\0';
        return read_key(l, word, equals + 1, out);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].name) == 0 && (rule->words & words[i].bit)) {
            l->words |= words[i].bit;
            return ERR_OK;
        }
    return FAIL(l, "%s does not take '%.60s'", rule->name, word);
}

/* The sizes of an input, n=1 where it is left out. */
static enum err check_sizes(const struct line *l, struct graph_node *n)
{
    if (n->op != GRAPH_INPUT && graph_rules[n->op].has_shape)
        return l->sizes ? ERR_OK : FAIL(l, "%s needs shape=", graph_op_name(n->op));
    if (n->op != GRAPH_INPUT || l->sizes & 16)
        return ERR_OK;
    for (unsigned i = 1; i < 4; i++)
        if (!(l->sizes & 1u << i))
            return FAIL(l, "input needs %s=, or shape= alone", sizes[i]);
    if (!(l->sizes & 1))
        n->shape.dim[0] = 1;
    n->shape.rank = 4;
    return ERR_OK;
}

static enum err check_settings(const struct line *l, struct graph_node *n)
{
    const unsigned window = GRAPH_KEY(R) | GRAPH_KEY(S), missing = graph_rules[n->op].needs & ~l->keys;
    const unsigned kinds = l->words & (GRAPH_WORD_MAX | GRAPH_WORD_AVG);
    const unsigned activations = l->words & (GRAPH_WORD_RELU | GRAPH_WORD_RELU6 | GRAPH_WORD_CURVES);

    for (size_t i = 0; i < N_KEYS; i++)
        if (missing & 1u << keys[i].first && is_key_of(&keys[i], n->op))
            return FAIL(l, "%s needs %s=", graph_op_name(n->op), keys[i].name);
    if (activations & (activations - 1))
        return FAIL(l, "relu or relu6 or another activation, one of them");
    if (n->op != GRAPH_POOL2D)
        return check_sizes(l, n);
    if (kinds != GRAPH_WORD_MAX && kinds != GRAPH_WORD_AVG)
        return FAIL(l, "pool2d needs max or avg, one of them");
    if (l->words & GRAPH_WORD_GLOBAL ? l->keys != 0 : (l->keys & window) != window)
        return FAIL(l, "pool2d needs r= and s=, or global alone");
    return ERR_OK;
}

/* What a line leaves out, and the shape of the output from those of the inputs. */
static enum err infer(const struct line *l, const struct graph *g, struct graph_node *n)
{
    const struct graph_shape *in[GRAPH_MAX_INPUTS] = {NULL};
    enum err e;

    for (int k = 0; k < n->n_in; k++)
        in[k] = &g->nodes[n->in[k]].shape;
    if (l->words & GRAPH_WORD_GLOBAL && in[0]->rank == 4)
        memcpy(&n->key[GRAPH_R], &in[0]->dim[2], 2 * sizeof n->key[0]);
    for (size_t i = 0; i < N_KEYS; i++)
        for (int k = 0; k < keys[i].n && keys[i].otherwise && !(l->keys & 1u << keys[i].first); k++)
            n->key[(int)keys[i].first + k] = keys[i].otherwise;
    n->relu = l->words & GRAPH_WORD_RELU;
    n->relu6 = l->words & GRAPH_WORD_RELU6;
    n->curve = l->words & GRAPH_WORD_CURVES;
    n->avg = l->words & GRAPH_WORD_AVG;
    n->bytes = l->words & GRAPH_WORD_U8;
    for (int k = 0; k < n->n_in; k++)
        if (g->nodes[n->in[k]].bytes != (n->op == GRAPH_QUANTIZE ? !n->bytes : n->bytes))
            return FAIL(l, "%s of %s: only quantize reads floats and gives bytes, or the other way",
                        graph_op_name(n->op), g->nodes[n->in[k]].name);
    if (n->op == GRAPH_STATE &&
        (g->nodes[n->in[0]].op != GRAPH_RNN || (strcmp(n->words, "cn") == 0 && g->nodes[n->in[0]].n_in < 3)))
        return FAIL(l, "state of %s: expected a recurrent layer, of cn an lstm", g->nodes[n->in[0]].name);
    for (int k = 0; k < n->n_in; k++)
        if ((g->nodes[n->in[k]].op == GRAPH_LENGTHS) != (graph_reads_lengths(n) && k == n->n_in - 1))
            return FAIL(l, "%s of %s: attention of lengths=1 reads lengths, as its last tensor, and nothing else does",
                        graph_op_name(n->op), g->nodes[n->in[k]].name);
    if (n->bytes && (n->relu6 || n->curve))
        return FAIL(l, "%s of bytes has no activation but relu", graph_op_name(n->op));
    e = graph_infer(n, in, l->why);
    return e ? why_prefix(l->why, e, "graph %.40s, line %d", l->graph, l->number) : ERR_OK;
}

/* The inputs: word i and, each behind a +, others; *i moves behind them. */
static enum err read_inputs(const struct line *l, const struct graph *g, char **word, size_t n_words, size_t *i,
                            struct graph_node *n)
{
    const struct graph_rule *rule = &graph_rules[n->op];
    enum err e = ERR_OK;

    while (!e && n->n_in < rule->most_in && (n->n_in == 0 || (*i < n_words && strcmp(word[*i], "+") == 0))) {
        *i += n->n_in > 0;
        e = read_tensor(l, g, *i < n_words ? word[*i] : NULL, &n->in[n->n_in++]);
        if (!e && n->n_in > rule->constants && g->nodes[n->in[n->n_in - 1]].op == GRAPH_CONSTANT)
            e = FAIL(l, "%s does not read constants%s", rule->name, rule->constants ? " there" : "");
        *i += 1;
    }
    if (!e && n->n_in < rule->least_in)
        e = FAIL(l, "%s needs %s tensors, a + b", rule->name, rule->least_in == 2 ? "two" : "more");
    return e;
}

static enum err read_node(struct line *l, const struct graph *g, char **word, size_t n_words, struct graph_node *n)
{
    size_t i = 3;
    enum err e;

    if (n_words < 3 || strcmp(word[1], "=") != 0)
        return FAIL(l, "expected name = operator input key=value ...");
    e = read_name(l, g, word[0], n);
    if (!e)
        e = read_op(l, word[2], n);
    if (!e)
        e = read_inputs(l, g, word, n_words, &i, n);
    for (; !e && i < n_words; i++)
        e = read_setting(l, word[i], n);
    if (!e)
        e = check_settings(l, n);
    return e ? e : infer(l, g, n);
}

/* output a b ...: the tensors that the network gives. */
static enum err read_outputs(const struct line *l, struct graph *g, char **word, size_t n_words)
{
    for (size_t i = 1; i < n_words; i++) {
        int node = -1;
        const enum err e = read_tensor(l, g, word[i], &node);

        for (size_t k = 0; k < g->n_outputs && !e; k++)
            if (g->outputs[k] == node)
                return FAIL(l, "output %s stands twice", word[i]);
        if (e)
            return e;
        if (g->nodes[node].op == GRAPH_CONSTANT)
            return FAIL(l, "output %s is a constant", word[i]);
        if (g->n_outputs == GRAPH_MAX_OUTPUTS)
            return fail(l, ERR_LIMIT, "more than %d outputs", GRAPH_MAX_OUTPUTS);
        g->outputs[g->n_outputs++] = node;
    }
    return ERR_OK;
}

/* Of an operator with own words: would its workload take them, and give as many elements as the node? */
static enum err check_words(const struct line *l, const struct graph *g)
{
    const struct graph_node *n = &g->nodes[g->n_nodes - 1];
    struct tensor list[OPERATOR_MAX_TENSORS];
    struct workload w;
    struct buf text;
    enum err e;

    if (!graph_rules[n->op].own_words || !graph_rules[n->op].sizes)
        return ERR_OK;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = graph_node_workload(g, g->n_nodes - 1, DTYPE_F32, 0, &text, l->why);
    if (e)
        why_prefix(l->why, e, "line %d", l->number);
    else
        e = workload_parse(buf_text(&text), &w, l->why);
    for (size_t i = e ? 0 : w.op->tensors(&w, list); i-- > 0 && !e;)
        if (list[i].role == ROLE_OUTPUT && strcmp(list[i].name, "y") == 0 && list[i].n_elems != graph_elems(&n->shape))
            e = FAIL(l, "%s gives %lld elements, its shape has %lld", graph_op_name(n->op), (long long)list[i].n_elems,
                     (long long)graph_elems(&n->shape));
    buf_fini(&text);
    return e;
}

static enum err read_words(struct line *l, char **word, size_t n_words, struct graph *g)
{
    struct graph_node node = {.op = GRAPH_INPUT};
    enum err e;

    if (strcmp(word[0], "output") == 0 && (n_words < 2 || strcmp(word[1], "=") != 0))
        return read_outputs(l, g, word, n_words);
    if (VEC_ROOM(g->nodes, g->cap_nodes, g->n_nodes + 1, GRAPH_MAX_NODES) == ERR_NOMEM)
        return why_set(l->why, ERR_NOMEM, "out of memory");
    if (g->n_nodes == GRAPH_MAX_NODES)
        return fail(l, ERR_LIMIT, "more than %d tensors", GRAPH_MAX_NODES);
    e = read_node(l, g, word, n_words, &node);
    if (e)
        return e;
    assert(graph_elems(&node.shape) > 0);
    g->nodes[g->n_nodes++] = node;
    return check_words(l, g);
}

static enum err read_line(struct line *l, const char *text, size_t n, struct graph *g)
{
    char copy[MAX_LINE], *word[MAX_WORDS], *rest = NULL;
    size_t n_words = 0;

    if (n >= sizeof copy)
        return fail(l, ERR_LIMIT, "longer than %zu characters", sizeof copy - 1);
    if (memchr(text, '\0', n))
        return FAIL(l, "a byte 0 in it");
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (copy[strspn(copy, " ")] == '#')
        return ERR_OK;
    for (char *p = strtok_r(copy, " ", &rest); p; p = strtok_r(NULL, " ", &rest)) {
        if (n_words == MAX_WORDS)
            return fail(l, ERR_LIMIT, "more than %d words", MAX_WORDS);
        word[n_words++] = p;
    }
    return n_words ? read_words(l, word, n_words, g) : ERR_OK;
}

static bool is_output(const struct graph *g, size_t i)
{
    for (size_t k = 0; k < g->n_outputs; k++)
        if (g->outputs[k] == (int)i)
            return true;
    return false;
}

static bool is_read(const struct graph *g, size_t i)
{
    bool read = false;

    for (size_t k = i + 1; k < g->n_nodes && !read; k++)
        read = graph_reads(g, k, i);
    return read;
}

/* The last tensor is the output where no line says another. All but inputs and outputs are read by somebody. */
static enum err finish(struct graph *g, struct why *why)
{
    size_t n_inputs = 0;

    for (size_t i = 0; i < g->n_nodes; i++)
        n_inputs += g->nodes[i].op == GRAPH_INPUT;
    if (n_inputs == 0 || (g->n_outputs == 0 && g->nodes[g->n_nodes - 1].n_in == 0))
        return why_set(why, ERR_INPUT, "graph %.40s: expected an input and at least one operator behind it, or output",
                       g->name);
    if (g->n_outputs == 0)
        g->outputs[g->n_outputs++] = (int)g->n_nodes - 1;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op != GRAPH_INPUT && !is_output(g, i) && !is_read(g, i))
            return why_set(why, ERR_INPUT, "graph %.40s: nobody reads %s, and it is no output", g->name,
                           g->nodes[i].name);
    return ERR_OK;
}

enum err graph_parse(const char *name, const char *text, size_t n, struct graph *out, struct why *why)
{
    struct graph g = {.name = name};
    const char *p = text, *end = text + n;
    enum err e = ERR_OK;

    if (n > GRAPH_MAX_BYTES)
        return why_set(why, ERR_LIMIT, "graph %.40s: longer than %zu bytes", name, GRAPH_MAX_BYTES);
    for (int number = 1; !e && p < end; number++) {
        struct line l = {.graph = name, .number = number, .why = why};
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const size_t len = (size_t)((newline ? newline : end) - p);

        e = read_line(&l, p, len, &g);
        p += len + 1;
    }
    if (!e)
        e = finish(&g, why);
    if (e)
        graph_fini(&g);
    else
        *out = g;
    return e;
}

static bool all_equal(const int64_t *v, int n, int64_t to)
{
    while (n && v[n - 1] == to)
        n--;
    return n == 0;
}

static void put_key(const struct key *key, const int64_t *v, struct buf *out)
{
    const bool halves = key->n == 4 && v[0] == v[2] && v[1] == v[3];
    const int n = all_equal(v, key->n, v[0]) ? 1 : halves ? 2 : key->n;

    buf_printf(out, " %s=", key->name);
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
}

/* Does a line that leaves the key out mean the same? */
static bool is_otherwise(const struct key *key, const int64_t *v)
{
    return (key->otherwise || key->n > 1) && all_equal(&v[key->first], key->n, key->otherwise);
}

/* " n=2 c=3 h=8 w=8" of images, n only where it is not 1; " shape=2,3" of others. */
static void put_shape(const struct graph_shape *s, bool as_images, struct buf *out)
{
    buf_puts(out, as_images ? "" : " shape=");
    for (int i = 0; i < s->rank; i++)
        if (!as_images)
            buf_printf(out, "%s%lld", i ? "," : "", (long long)s->dim[i]);
        else if (i < 4 && (i || s->dim[0] != 1))
            buf_printf(out, " %s=%lld", sizes[i], (long long)s->dim[i]);
}

static bool is_global(const struct graph_node *n, const struct graph_shape *x)
{
    return n->op == GRAPH_POOL2D && n->key[GRAPH_R] == x->dim[2] && n->key[GRAPH_S] == x->dim[3] &&
           n->shape.dim[2] * n->shape.dim[3] == 1 && all_equal(&n->key[GRAPH_TOP], 4, 0);
}

static void put_node(const struct graph *g, const struct graph_node *n, struct buf *out)
{
    const bool global = n->n_in && is_global(n, &g->nodes[n->in[0]].shape);

    buf_printf(out, "%s = %s", n->name, graph_op_name(n->op));
    for (int k = 0; k < n->n_in; k++)
        buf_printf(out, "%s%s", k ? " + " : " ", g->nodes[n->in[k]].name);
    if (graph_rules[n->op].has_shape)
        put_shape(&n->shape, n->op == GRAPH_INPUT && n->shape.rank == 4, out);
    if (n->op == GRAPH_POOL2D)
        buf_printf(out, " %s%s", n->avg ? "avg" : "max", global ? " global" : "");
    for (size_t i = 0; i < N_KEYS && !global; i++)
        if (is_key_of(&keys[i], n->op) && !is_otherwise(&keys[i], n->key))
            put_key(&keys[i], &n->key[keys[i].first], out);
    buf_printf(out, "%s%s", n->words[0] ? " " : "", n->words);
    buf_printf(out, "%s%s%s\n", n->relu || n->relu6 || n->curve ? " " : "",
               n->relu    ? "relu"
               : n->relu6 ? "relu6"
               : n->curve ? epilogue_word(n->curve)
                          : "",
               n->bytes ? " u8" : "");
}

enum err graph_text(const struct graph *g, struct buf *out)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        put_node(g, &g->nodes[i], out);
    if (g->n_outputs == 1 && g->outputs[0] + 1 == (int)g->n_nodes && g->nodes[g->outputs[0]].op != GRAPH_INPUT)
        return out->failed;
    for (size_t k = 0; k < g->n_outputs; k++)
        buf_printf(out, "output %s\n", g->nodes[g->outputs[k]].name);
    return out->failed;
}

void graph_fini(struct graph *g)
{
    if (!g)
        return;
    free(g->nodes);
    g->nodes = NULL;
    g->n_nodes = g->cap_nodes = g->n_outputs = 0;
}

static struct graph graphs[MAX_GRAPHS];
static const char *names[MAX_GRAPHS + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct own_graph { /* given by graph_add */
    char *key, *name;
    struct graph g;
} own[MAX_GRAPHS];
static size_t n_own;

/* A network's own graph that does not parse is left out; a test finds that. */
static void parse_all(void)
{
    static char name[MAX_GRAPHS][GRAPH_NAME_BYTES];
    size_t n = 0;

    for (const struct embedded *f = embedded_graphs; f->name && n < MAX_GRAPHS; f++) {
        snprintf(name[n], sizeof name[n], "%.*s", (int)strcspn(f->name, "."), f->name);
        if (graph_parse(name[n], f->text, strlen(f->text), &graphs[n], NULL) == ERR_OK) {
            names[n] = name[n];
            n++;
        }
    }
}

const char *const *graph_names(void)
{
    pthread_once(&once, parse_all);
    return names;
}

enum err graph_add(const char *key, const char *name, const char *text, size_t n, struct why *why)
{
    struct own_graph *o = &own[n_own];
    enum err e;

    if (n_own == MAX_GRAPHS)
        return why_set(why, ERR_LIMIT, "more than %d networks of one's own", MAX_GRAPHS);
    *o = (struct own_graph){strdup(key), strdup(name), {.n_nodes = 0}};
    e = o->key && o->name ? graph_parse(o->name, text, n, &o->g, why) : why_set(why, ERR_NOMEM, "out of memory");
    if (!e) {
        n_own++;
        return ERR_OK;
    }
    free(o->key);
    free(o->name);
    return e;
}

enum err graph_find(const char *name, const struct graph **out, struct why *why)
{
    struct buf list;

    for (size_t i = 0; i < n_own; i++)
        if (strcmp(own[i].key, name) == 0) {
            *out = &own[i].g;
            return ERR_OK;
        }
    pthread_once(&once, parse_all);
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) {
            *out = &graphs[i];
            return ERR_OK;
        }
    buf_init(&list, 4096);
    for (size_t i = 0; names[i]; i++)
        buf_printf(&list, " %s", names[i]);
    why_set(why, ERR_NOT_FOUND, "no graph of a network '%.60s'; there are:%s", name, buf_text(&list));
    buf_fini(&list);
    return ERR_NOT_FOUND;
}
