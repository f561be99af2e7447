/* SPDX-License-Identifier: MIT */
#include "kernels/graph.h"

#include "core/buf.h"
#include "kernels/embedded.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 512
#define MAX_WORDS 16
#define MAX_GRAPHS 32

#define KEY(k) (1u << GRAPH_##k)
#define STEPS (KEY(STRIDE_H) | KEY(TOP)) /* a key of several numbers has the bit of the first one */
enum { WORD_RELU = 1, WORD_MAX = 2, WORD_AVG = 4, WORD_GLOBAL = 8, WORD_RELU6 = 16 };

/* What a line of an operator needs and may have. */
static const struct rule {
    const char *name;
    bool reads, adds; /* an input; a second one behind + */
    unsigned needs, takes, words;
} rules[N_GRAPH_OPS] = {
    [GRAPH_INPUT] = {"input", false, false, KEY(C) | KEY(H) | KEY(W), KEY(N), 0},
    [GRAPH_CONV2D] = {"conv2d", true, true, KEY(K) | KEY(R) | KEY(S), STEPS | KEY(DIL_H) | KEY(GROUPS),
                      WORD_RELU | WORD_RELU6},
    [GRAPH_DEPTHWISE] = {"depthwise_conv2d", true, false, KEY(R) | KEY(S), STEPS | KEY(DIL_H), WORD_RELU | WORD_RELU6},
    [GRAPH_POOL2D] = {"pool2d", true, false, 0, KEY(R) | KEY(S) | STEPS, WORD_MAX | WORD_AVG | WORD_GLOBAL},
    [GRAPH_DENSE] = {"dense", true, false, KEY(K), 0, WORD_RELU | WORD_RELU6},
    [GRAPH_ADD] = {"add", true, true, 0, 0, WORD_RELU},
    [GRAPH_CONCAT] = {"concat", true, true, 0, 0, 0},
    [GRAPH_SOFTMAX] = {"softmax", true, false, 0, 0, 0},
};

/* The keys of a line: the first of a node's numbers, how many there are, and what each is without the key. */
static const struct key {
    const char *name;
    enum graph_key first;
    int n;
    int64_t otherwise;
} keys[] = {{"n", GRAPH_N, 1, 1},
            {"c", GRAPH_C, 1, 0},
            {"h", GRAPH_H, 1, 0},
            {"w", GRAPH_W, 1, 0},
            {"k", GRAPH_K, 1, 0},
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
} words[] = {{"relu", WORD_RELU}, {"relu6", WORD_RELU6}, {"max", WORD_MAX}, {"avg", WORD_AVG}, {"global", WORD_GLOBAL}};

/* A line while it is read. */
struct line {
    const char *graph;
    int number;
    unsigned keys, words; /* that stand in it */
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
    return rules[op].name;
}

int64_t graph_batch(const struct graph *g)
{
    return g->nodes[0].key[GRAPH_N];
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
    for (int i = 0; i < N_GRAPH_OPS; i++)
        if (strcmp(word, rules[i].name) == 0) {
            out->op = (enum graph_op)i;
            return ERR_OK;
        }
    return FAIL(
        l, "unknown operator '%.60s'; expected input, conv2d, depthwise_conv2d, pool2d, dense, add, concat or softmax",
        word);
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
    return ((rules[op].needs | rules[op].takes) & 1u << key->first) &&
           (key->first != GRAPH_K || (op == GRAPH_DENSE) == (key->name[0] == 'n'));
}

static enum err read_key(struct line *l, const struct rule *rule, const char *name, const char *value,
                         struct graph_node *out)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(name, keys[i].name) != 0 || !is_key_of(&keys[i], out->op))
            continue;
        if (l->keys & 1u << keys[i].first)
            return FAIL(l, "%s stands twice", name);
        l->keys |= 1u << keys[i].first;
        return read_numbers(l, &keys[i], value, &out->key[keys[i].first]);
    }
    return FAIL(l, "%s does not take '%.60s='", rule->name, name);
}

static enum err read_setting(struct line *l, const struct rule *rule, char *word, struct graph_node *out)
{
    char *equals = strchr(word, '=');

    if (equals) {
        *equals = '\0';
        return read_key(l, rule, word, equals + 1, out);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].name) == 0 && (rule->words & words[i].bit)) {
            l->words |= words[i].bit;
            return ERR_OK;
        }
    return FAIL(l, "%s does not take '%.60s'", rule->name, word);
}

static enum err check_settings(const struct line *l, const struct graph_node *n)
{
    const unsigned window = KEY(R) | KEY(S), missing = rules[n->op].needs & ~l->keys;
    const unsigned kinds = l->words & (WORD_MAX | WORD_AVG);

    for (size_t i = 0; i < N_KEYS; i++)
        if (missing & 1u << keys[i].first && is_key_of(&keys[i], n->op))
            return FAIL(l, "%s needs %s=", rules[n->op].name, keys[i].name);
    if ((l->words & WORD_RELU) && (l->words & WORD_RELU6))
        return FAIL(l, "relu or relu6, one of them");
    if ((n->op == GRAPH_ADD || n->op == GRAPH_CONCAT) && n->residual < 0)
        return FAIL(l, "%s needs two tensors, a + b", rules[n->op].name);
    if (n->op != GRAPH_POOL2D)
        return ERR_OK;
    if (kinds != WORD_MAX && kinds != WORD_AVG)
        return FAIL(l, "pool2d needs max or avg, one of them");
    if (l->words & WORD_GLOBAL ? l->keys != 0 : (l->keys & window) != window)
        return FAIL(l, "pool2d needs r= and s=, or global alone");
    return ERR_OK;
}

static int64_t extent(int64_t size, int64_t pads, int64_t window, int64_t dilation, int64_t stride)
{
    const int64_t room = size + pads - (window - 1) * dilation - 1;

    return room < 0 || stride < 1 || window < 1 || dilation < 1 ? 0 : room / stride + 1;
}

static enum err window_shape(const struct line *l, const struct graph_node *x, struct graph_node *n)
{
    int64_t *key = n->key;

    if (l->words & WORD_GLOBAL) {
        key[GRAPH_R] = x->key[GRAPH_H];
        key[GRAPH_S] = x->key[GRAPH_W];
    }
    for (size_t i = 0; i < N_KEYS; i++)
        for (int k = 0; k < keys[i].n && keys[i].otherwise && !(l->keys & 1u << keys[i].first); k++)
            key[(int)keys[i].first + k] = keys[i].otherwise;
    key[GRAPH_H] = extent(x->key[GRAPH_H], key[GRAPH_TOP] + key[GRAPH_BOTTOM], key[GRAPH_R], key[GRAPH_DIL_H],
                          key[GRAPH_STRIDE_H]);
    key[GRAPH_W] = extent(x->key[GRAPH_W], key[GRAPH_LEFT] + key[GRAPH_RIGHT], key[GRAPH_S], key[GRAPH_DIL_W],
                          key[GRAPH_STRIDE_W]);
    key[GRAPH_C] = n->op == GRAPH_CONV2D ? key[GRAPH_K] : x->key[GRAPH_C];
    if (key[GRAPH_H] < 1 || key[GRAPH_W] < 1)
        return FAIL(l, "a window of %lld x %lld and stride %lld,%lld does not fit %lld x %lld", (long long)key[GRAPH_R],
                    (long long)key[GRAPH_S], (long long)key[GRAPH_STRIDE_H], (long long)key[GRAPH_STRIDE_W],
                    (long long)x->key[GRAPH_H], (long long)x->key[GRAPH_W]);
    if (key[GRAPH_GROUPS] < 1 || x->key[GRAPH_C] % key[GRAPH_GROUPS] || key[GRAPH_C] % key[GRAPH_GROUPS])
        return FAIL(l, "groups=%lld do not divide %lld and %lld channels", (long long)key[GRAPH_GROUPS],
                    (long long)x->key[GRAPH_C], (long long)key[GRAPH_C]);
    return ERR_OK;
}

/* Shape of the output from those of the inputs. */
static enum err set_shape(const struct line *l, const struct graph *g, struct graph_node *n)
{
    const struct graph_node *x = n->x >= 0 ? &g->nodes[n->x] : NULL;
    const struct graph_node *add = n->residual >= 0 ? &g->nodes[n->residual] : NULL;
    enum err e = ERR_OK;

    assert(n->x < (int)g->n_nodes && n->residual < (int)g->n_nodes); /* of earlier lines */
    if (n->op == GRAPH_DENSE) {
        n->key[GRAPH_C] = n->key[GRAPH_K];
        n->key[GRAPH_H] = n->key[GRAPH_W] = 1;
    } else if (n->op == GRAPH_ADD) {
        memcpy(n->key, x->key, 3 * sizeof n->key[0]);
    } else if (n->op == GRAPH_CONCAT) {
        memcpy(n->key, x->key, 3 * sizeof n->key[0]);
        n->key[GRAPH_C] += add->key[GRAPH_C];
    } else if (n->op == GRAPH_SOFTMAX) {
        memcpy(n->key, x->key, 3 * sizeof n->key[0]);
        if (x->op == GRAPH_INPUT || x->relu || x->relu6 || x->key[GRAPH_H] * x->key[GRAPH_W] > 1)
            e = FAIL(l, "softmax reads a layer of one pixel, without relu");
    } else if (n->op != GRAPH_INPUT) {
        e = window_shape(l, x, n);
    }
    if (!e && n->key[GRAPH_C] < 1)
        e = FAIL(l, "a tensor of no channels");
    if (n->op == GRAPH_INPUT && !(l->keys & KEY(N)))
        n->key[GRAPH_N] = 1;
    if (!e && n->op == GRAPH_INPUT && (n->key[GRAPH_H] < 1 || n->key[GRAPH_W] < 1 || n->key[GRAPH_N] < 1))
        e = FAIL(l, "an image of no pixels, or no image");
    if (!e && x && x->op == GRAPH_SOFTMAX)
        e = FAIL(l, "nothing may follow softmax");
    if (!e && n->key[GRAPH_C] > GRAPH_MAX_SIZE)
        e = FAIL(l, "more than %d channels", GRAPH_MAX_SIZE);
    if (!e && add &&
        (n->op == GRAPH_CONCAT ? memcmp(&add->key[GRAPH_H], &n->key[GRAPH_H], 2 * sizeof n->key[0])
                               : memcmp(add->key, n->key, 3 * sizeof n->key[0])) != 0)
        e = FAIL(l, "%s is shaped %lld x %lld x %lld and cannot be added to %lld x %lld x %lld", add->name,
                 (long long)add->key[GRAPH_C], (long long)add->key[GRAPH_H], (long long)add->key[GRAPH_W],
                 (long long)n->key[GRAPH_C], (long long)n->key[GRAPH_H], (long long)n->key[GRAPH_W]);
    return e;
}

/* The inputs: word i and, behind +, another; the number of words taken. */
static enum err read_inputs(const struct line *l, const struct graph *g, char **word, size_t n_words, size_t *i,
                            struct graph_node *n)
{
    const struct rule *rule = &rules[n->op];
    enum err e = ERR_OK;

    n->x = n->residual = -1;
    if (rule->reads) {
        e = read_tensor(l, g, *i < n_words ? word[*i] : NULL, &n->x);
        *i += 1;
    }
    if (!e && rule->adds && *i < n_words && strcmp(word[*i], "+") == 0) {
        e = read_tensor(l, g, *i + 1 < n_words ? word[*i + 1] : NULL, &n->residual);
        *i += 2;
    }
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
    if (!e && (n->op == GRAPH_INPUT) != (g->n_nodes == 0))
        e = FAIL(l, "the first tensor is the input, no other is");
    if (!e)
        e = read_inputs(l, g, word, n_words, &i, n);
    for (; !e && i < n_words; i++)
        e = read_setting(l, &rules[n->op], word[i], n);
    if (!e)
        e = check_settings(l, n);
    n->relu = l->words & WORD_RELU;
    n->relu6 = l->words & WORD_RELU6;
    n->avg = l->words & WORD_AVG;
    return e ? e : set_shape(l, g, n);
}

static enum err read_line(struct line *l, const char *text, size_t n, struct graph *g)
{
    char copy[MAX_LINE], *word[MAX_WORDS], *rest = NULL;
    struct graph_node node = {.op = GRAPH_INPUT};
    size_t n_words = 0;
    enum err e;

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
    if (n_words == 0)
        return ERR_OK;
    if (g->n_nodes == GRAPH_MAX_NODES)
        return fail(l, ERR_LIMIT, "more than %d tensors", GRAPH_MAX_NODES);
    e = read_node(l, g, word, n_words, &node);
    assert(e || (node.key[GRAPH_C] > 0 && node.key[GRAPH_H] > 0 && node.key[GRAPH_W] > 0));
    if (!e)
        g->nodes[g->n_nodes++] = node;
    return e;
}

static int n_readers(const struct graph *g, size_t i)
{
    int n = 0;

    for (size_t k = i + 1; k < g->n_nodes; k++)
        n += (g->nodes[k].x == (int)i) + (g->nodes[k].residual == (int)i);
    return n;
}

/* Every tensor but the last is read by somebody, softmax's by nobody else. */
static enum err check_read(const struct graph *g, struct why *why)
{
    for (size_t i = 0; i + 1 < g->n_nodes; i++)
        if (n_readers(g, i) == 0)
            return why_set(why, ERR_INPUT, "graph %.40s: nobody reads %s, and it is not the last", g->name,
                           g->nodes[i].name);
    for (size_t i = 1; i < g->n_nodes; i++)
        if (g->nodes[i].op == GRAPH_SOFTMAX && n_readers(g, (size_t)g->nodes[i].x) > 1)
            return why_set(why, ERR_INPUT, "graph %.40s: %s is read by softmax and by others", g->name,
                           g->nodes[g->nodes[i].x].name);
    return g->n_nodes > 1
               ? ERR_OK
               : why_set(why, ERR_INPUT, "graph %.40s: expected an input and at least one operator", g->name);
}

enum err graph_parse(const char *name, const char *text, size_t n, struct graph *out, struct why *why)
{
    struct graph g = {.name = name};
    const char *p = text, *end = text + n;
    enum err e = ERR_OK;

    if (n > GRAPH_MAX_BYTES)
        return why_set(why, ERR_LIMIT, "graph %.40s: longer than %zu bytes", name, GRAPH_MAX_BYTES);
    g.nodes = calloc(GRAPH_MAX_NODES, sizeof *g.nodes);
    if (!g.nodes)
        return why_set(why, ERR_NOMEM, "out of memory");
    for (int number = 1; !e && p < end; number++) {
        struct line l = {.graph = name, .number = number, .why = why};
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const size_t len = (size_t)((newline ? newline : end) - p);

        e = read_line(&l, p, len, &g);
        p += len + 1;
    }
    if (!e)
        e = check_read(&g, why);
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

static void put_node(const struct graph *g, const struct graph_node *n, struct buf *out)
{
    const struct graph_node *x = n->x >= 0 ? &g->nodes[n->x] : NULL;
    const bool global = n->op == GRAPH_POOL2D && n->key[GRAPH_R] == x->key[GRAPH_H] &&
                        n->key[GRAPH_S] == x->key[GRAPH_W] && n->key[GRAPH_H] * n->key[GRAPH_W] == 1 &&
                        all_equal(&n->key[GRAPH_TOP], 4, 0);

    buf_printf(out, "%s = %s", n->name, rules[n->op].name);
    if (x)
        buf_printf(out, " %s", x->name);
    if (n->residual >= 0)
        buf_printf(out, " + %s", g->nodes[n->residual].name);
    if (n->op == GRAPH_POOL2D)
        buf_printf(out, " %s%s", n->avg ? "avg" : "max", global ? " global" : "");
    for (size_t i = 0; i < N_KEYS && !global; i++)
        if (is_key_of(&keys[i], n->op) && !is_otherwise(&keys[i], n->key))
            put_key(&keys[i], &n->key[keys[i].first], out);
    buf_puts(out, n->relu ? " relu\n" : n->relu6 ? " relu6\n" : "\n");
}

enum err graph_text(const struct graph *g, struct buf *out)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        put_node(g, &g->nodes[i], out);
    return out->failed;
}

void graph_fini(struct graph *g)
{
    if (!g)
        return;
    free(g->nodes);
    g->nodes = NULL;
    g->n_nodes = 0;
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
    struct own_graph o = {strdup(key), strdup(name), {.n_nodes = 0}};
    enum err e = n_own == MAX_GRAPHS ? why_set(why, ERR_LIMIT, "more than %d networks of one's own", MAX_GRAPHS)
                 : !o.key || !o.name ? why_set(why, ERR_NOMEM, "out of memory")
                                     : graph_parse(o.name, text, n, &o.g, why);

    if (!e) {
        own[n_own++] = o;
        return ERR_OK;
    }
    free(o.key);
    free(o.name);
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
