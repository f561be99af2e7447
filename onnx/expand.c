/* SPDX-License-Identifier: MIT */
#include "onnx/expand.h"

#include "core/buf.h"
#include "onnx/model.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 300
#define MAX_ARGUMENTS 16
#define MAX_TEXT 1024
#define MOST_ATTRIBUTES 2 /* of an expansion's node */

/* The scale s of a tensor's bytes, and p, their zero point before it is rounded. */
#define DYNAMIC                                                                                                        \
    "z=#0;t=#255;o=#1;h=ReduceMax(0)keepdims=0;l=ReduceMin(0)keepdims=0;i=Max(h,z);j=Min(l,z);r=Sub(i,j);"             \
    "d=Div(r,t);e=Equal(r,z);s=Where(e,o,d);n=Neg(j);m=Div(n,s);p=Clip(m,z,t);"

/* What an operator is made of: `to=Op(arguments)name=number..;`, the node that counts as the operator with `!` in
 * front. An argument is an input by its number or what a node before gave, a letter; `to` is one too, or `$` with the
 * number of an output, or `$*`, all of them. A node whose argument `?` marks is left out where that one is, and so is
 * what it would give.
 * `@`: it has the operator's attributes, and what follows: numbers, or `name=[number,number ..]`. Op #: a number. */
static const struct expansion {
    const char *op, *text;
} expansions[] = {
    {"QLinearConv",
     "a=DequantizeLinear(0,1,2);b=DequantizeLinear(3,4,5)axis=0;s=Mul(1,4);c=DequantizeLinear(?8,s)axis=0;"
     "!y=Conv(a,b,c)@;$0=QuantizeLinear(y,6,7);"},
    {"QLinearMatMul", "a=DequantizeLinear(0,1,2)axis=-2;b=DequantizeLinear(3,4,5)axis=-1;!y=MatMul(a,b);"
                      "$0=QuantizeLinear(y,6,7)axis=-2;"},
    {"com.microsoft.QGemm", "a=DequantizeLinear(0,1,2);b=DequantizeLinear(3,4,5)axis=0;s=Mul(1,4);"
                            "c=DequantizeLinear(?6,s)axis=0;!y=Gemm(a,b,c)@;$0=QuantizeLinear(y,?7,8);"},
    {"com.microsoft.QLinearAdd",
     "a=DequantizeLinear(0,1,2);b=DequantizeLinear(3,4,5);!y=Add(a,b);$0=QuantizeLinear(y,6,7);"},
    {"com.microsoft.QLinearMul",
     "a=DequantizeLinear(0,1,2);b=DequantizeLinear(3,4,5);!y=Mul(a,b);$0=QuantizeLinear(y,6,7);"},
    {"com.microsoft.QLinearAveragePool", "a=DequantizeLinear(0,1,2);!y=AveragePool(a)@;$0=QuantizeLinear(y,3,4);"},
    {"com.microsoft.QLinearGlobalAveragePool",
     "a=DequantizeLinear(0,1,2);!y=GlobalAveragePool(a)@;$0=QuantizeLinear(y,3,4);"},
    {"com.microsoft.QLinearLeakyRelu", "a=DequantizeLinear(0,1,2);!y=LeakyRelu(a)@;$0=QuantizeLinear(y,3,4);"},
    {"com.microsoft.QLinearSoftmax", "a=DequantizeLinear(0,1,2);!y=Softmax(a)@;$0=QuantizeLinear(y,3,4);"},
    {"com.microsoft.QLinearSigmoid", "a=DequantizeLinear(0,1,2);!y=Sigmoid(a);$0=QuantizeLinear(y,3,4);"},
    {"MatMulInteger", "o=#1;a=DequantizeLinear(0,o,2)axis=-2;b=DequantizeLinear(1,o,3)axis=-1;!$0=MatMul(a,b);"},
    {"ConvInteger", "o=#1;a=DequantizeLinear(0,o,2);b=DequantizeLinear(1,o,3)axis=0;!$0=Conv(a,b)@;"},
    {"com.microsoft.MatMulIntegerToFloat",
     "a=DequantizeLinear(0,2,4)axis=-2;b=DequantizeLinear(1,3,5)axis=-1;!y=MatMul(a,b);$0=Add(y,?6);"},
    {"DynamicQuantizeLinear", DYNAMIC "$1=Identity(s);$2=Round(p);!$0=QuantizeLinear(0,$1,$2)output_dtype=2;"},
    {"com.microsoft.DynamicQuantizeMatMul", DYNAMIC
     "q=Round(p);u=QuantizeLinear(0,s,q)output_dtype=2;a=DequantizeLinear(u,s,q);b=DequantizeLinear(1,2,3)axis=-1;"
     "!y=MatMul(a,b);$0=Add(y,?4);"},
    {"com.microsoft.DynamicQuantizeLSTM",
     "w=DequantizeLinear(1,8,9)axis=0;r=DequantizeLinear(2,10,11)axis=0;a=Transpose/last(w);b=Transpose/last(r);"
     "!$*=LSTM(0,a,b,3,4,5,6,7)@;"},
    {"com.microsoft.MatMulNBits", "w=MatMulNBits/weights(1,2,3,4)@;!y=MatMul(0,w);$0=Add(y,?5);"},
    {"com.microsoft.Gelu", "!$0=Gelu(0);"},
    {"com.microsoft.QuickGelu", "!$0=Swish/quick(0)@;"},
    {"com.microsoft.BiasGelu", "a=Add(0,1);!$0=Gelu(a);"},
    {"com.microsoft.FastGelu", "$1=Add(0,?1);!$0=Gelu/tanh($1);"},
    {"com.microsoft.RotaryEmbedding", "!$0=RotaryEmbedding(0,2,3,1)@;"},
    {"com.microsoft.SkipLayerNormalization", "s=Add(0,1);$3=Add(s,?4);!$0=LayerNormalization($3,2,3)@;"},
    {"com.microsoft.SkipSimplifiedLayerNormalization", "s=Add(0,1);$3=Add(s,?3);!$0=RMSNormalization($3,2)@;"},
    {"SimplifiedLayerNormalization", "!$0=RMSNormalization(0,1)@;"},
    {"com.microsoft.QuantizeLinear", "!$0=QuantizeLinear(0,1,2)@;"},
    {"com.microsoft.DequantizeLinear", "!$0=DequantizeLinear(0,1,2)@;"},
};

/* A projection to queries, keys and values: without a cache, which is one tensor of both. */
#define CUT "q=Attention/part($7)@part=0;k=Attention/part($7)@part=1;v=Attention/part($7)@part=2;"
static const struct expansion projected = {"com.microsoft.Attention",
                                           "y=MatMul(0,1);$7=Add(y,?2);" CUT "!$0=MultiHeadAttention(q,k,v,3,5)@;"};
static const struct expansion projected_bytes = {
    "com.microsoft.QAttention", "a=DequantizeLinear(0,3,6);b=DequantizeLinear(1,4,7)axis=-1;y=MatMul(a,b);"
                                "$7=Add(y,?2);" CUT "!$0=MultiHeadAttention(q,k,v,5)@;"};

/* By whether there is one tensor of what is added to queries, keys and values, one behind the other. */
static const struct expansion multi_head[2] = {
    {"com.microsoft.MultiHeadAttention", "!$*=MultiHeadAttention(0,1,2,4,5,6,7)@;"},
    {"com.microsoft.MultiHeadAttention",
     "n=Shape(0)start=2;z=Sub(n,n);m=Add(n,n);e=Shape(3);a=Slice(3,z,n);b=Slice(3,n,m);c=Slice(3,m,e);q=Add(0,a);"
     "k=Add(1,b);v=Add(2,c);!$*=MultiHeadAttention(q,k,v,4,5,6,7)@;"}};

static bool has_input(const Onnx__NodeProto *n, size_t i)
{
    return i < n->n_input && n->input[i][0];
}

static bool has_cache(const Onnx__NodeProto *n)
{
    return n->n_input < 2 || has_input(n, 4) || n->n_input > 6 || n->n_output > 1;
}

/* By whether queries and keys are turned by their positions, and whether queries, keys and values are one tensor. */
#define GROUP_QUERY "com.microsoft.GroupQueryAttention"
static const struct expansion group_query[2][2] = {
    {{GROUP_QUERY, "!$*=GroupQueryAttention(0,1,2,3,4,5,6,9,10,11)@;"},
     {GROUP_QUERY,
      "q=GroupQueryAttention/part(0)@part=0;k=GroupQueryAttention/part(0)@part=1;v=GroupQueryAttention/part(0)@part=2;"
      "!$*=GroupQueryAttention(q,k,v,3,4,5,6,9,10,11)@;"}},
    {{GROUP_QUERY, "q=GroupQueryAttention/rotary(0,7,8,3)@part=0;k=GroupQueryAttention/rotary(1,7,8,3)@part=1;"
                   "!$*=GroupQueryAttention(q,k,2,3,4,5,6,9,10,11)@;"},
     {GROUP_QUERY,
      "a=GroupQueryAttention/part(0)@part=0;b=GroupQueryAttention/part(0)@part=1;v=GroupQueryAttention/part(0)@part=2;"
      "q=GroupQueryAttention/rotary(a,7,8,3)@part=0;k=GroupQueryAttention/rotary(b,7,8,3)@part=1;"
      "!$*=GroupQueryAttention(q,k,v,3,4,5,6,9,10,11)@;"}}};

/* Nodes while they are written, and those that they replace. */
struct expanding {
    struct onnx_memory *memory;
    Onnx__NodeProto **nodes;
    struct onnx_origin *origins;
    size_t n;
    const Onnx__NodeProto *of;        /* the node at hand */
    const struct onnx_branch *branch; /* that it is in */
    bool left_out[26];                /* letters that nothing gives */
    bool failed;                      /* no memory */
};

static bool is_own_domain(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

/* Scale and zero point of the output, then each input with its own: as many as there are. */
static const struct expansion joined = {"com.microsoft.QLinearConcat", ""};

static bool can_join(const Onnx__NodeProto *n)
{
    return n->n_input >= 5 && n->n_input <= 2 + 3 * MAX_ARGUMENTS && n->n_input % 3 == 2;
}

/* Words, positions and segments, summed and normalised; without positions those from 0 on. */
static const struct expansion embedded = {"com.microsoft.EmbedLayerNormalization", ""};

static const struct expansion einsum = {"Einsum", ""};

/* A product with a number, whose factors' dimensions may be in other orders. */
static const struct expansion fused_product = {"com.microsoft.FusedMatMul", ""};

/* With an activation behind it, and of convolutions a sum before that. */
static const struct expansion fused_layers[] = {{"com.microsoft.FusedConv", ""}, {"com.microsoft.FusedGemm", ""}};

static void put_joined(const Onnx__NodeProto *n, struct buf *out)
{
    const size_t parts = (n->n_input - 2) / 3;

    for (size_t i = 0; i < parts; i++)
        buf_printf(out, "%c=DequantizeLinear(%zu,%zu,%zu);", (char)('a' + i), 2 + 3 * i, 3 + 3 * i, 4 + 3 * i);
    buf_puts(out, "!y=Concat(");
    for (size_t i = 0; i < parts; i++)
        buf_printf(out, "%s%c", i ? "," : "", (char)('a' + i));
    buf_puts(out, ")@;$0=QuantizeLinear(y,0,1);");
}

static void put_embedded(const Onnx__NodeProto *n, struct buf *out)
{
    buf_puts(out, has_input(n, 8) ? "p=Gather(3,8);" : "n=Shape(0)start=1;z=Sub(n,n);p=Slice(3,z,n);");
    if (n->n_output > 1) /* how many words are there; without a mask it is 0 in onnxruntime */
        buf_puts(out, has_input(n, 7) ? "$1=ReduceSum(7)axes=[1]keepdims=0;"
                                      : "m=Sub(0,0);$1=ReduceSum(m)axes=[1]keepdims=0;");
    buf_puts(out, "w=Gather(2,0);g=Gather(?4,1);a=Add(w,p);$2=Add(a,?g);!$0=LayerNormalization($2,5,6)@;");
}

/* Is a whole number of a node's attributes other than 0? */
static bool is_set(const Onnx__NodeProto *n, const char *name)
{
    const Onnx__AttributeProto *a = onnx_attribute(n, name);

    return a && a->i != 0;
}

/* A factor in the order of a product's; the letter that it then has, or its number. */
static char put_factor(const Onnx__NodeProto *n, char factor, const char *turns_batch, const char *turns,
                       const char *letters, struct buf *out)
{
    if (is_set(n, turns_batch)) {
        buf_printf(out, "%c=Transpose/batch(%c);", letters[0], factor);
        factor = letters[0];
    }
    if (!is_set(n, turns))
        return factor;
    buf_printf(out, "%c=Transpose/last(%c);", letters[1], factor);
    return letters[1];
}

static void put_product(const Onnx__NodeProto *n, struct buf *out)
{
    const char a = put_factor(n, '0', "transBatchA", "transA", "ab", out);
    const char b = put_factor(n, '1', "transBatchB", "transB", "cd", out);

    buf_printf(out, "s=MatMul/alpha()@;!y=MatMul(%c,%c);$0=Mul(y,s);", a, b);
}

/* The activation behind a node; NULL: none of those that are operators without numbers. */
static const char *activation_of(const Onnx__NodeProto *n)
{
    static const char *const known[] = {"Relu", "Tanh", "Sigmoid"};
    const Onnx__AttributeProto *a = onnx_attribute(n, "activation");

    for (size_t i = 0; a && i < sizeof known / sizeof known[0]; i++)
        if (a->s.len == strlen(known[i]) && memcmp(a->s.data, known[i], a->s.len) == 0)
            return known[i];
    return NULL;
}

static void put_layer(const Onnx__NodeProto *n, const char *op, struct buf *out)
{
    buf_printf(out, "!y=%s(0,1,2)@;%s$0=%s(%c);", op, has_input(n, 3) ? "z=Add(y,3);" : "", activation_of(n),
               has_input(n, 3) ? 'z' : 'y');
}

/* The text of a node's expansion, which may lie in `room`. */
static const char *nodes_of(const struct expansion *e, const Onnx__NodeProto *n, char room[MAX_TEXT])
{
    struct buf text;

    if (e == &einsum)
        return onnx_einsum_nodes(onnx_attribute(n, "equation"), n->n_input, room, MAX_TEXT) ? room : "";
    if (e->text[0])
        return e->text;
    buf_init(&text, MAX_TEXT);
    if (e == &joined)
        put_joined(n, &text);
    else if (e == &embedded)
        put_embedded(n, &text);
    else if (e == &fused_product)
        put_product(n, &text);
    else
        put_layer(n, e == &fused_layers[0] ? "Conv" : "Gemm", &text);
    assert(!text.failed && text.len < MAX_TEXT);
    memcpy(room, buf_text(&text), text.len + 1);
    buf_fini(&text);
    return room;
}

/* The form of GroupQueryAttention that a node has. */
static const struct expansion *group_query_of(const Onnx__NodeProto *n)
{
    return &group_query[is_set(n, "do_rotary")][!has_input(n, 1)];
}

static const struct expansion *expansion_of(const Onnx__NodeProto *n)
{
    char op[MAX_NAME], room[MAX_TEXT];

    snprintf(op, sizeof op, "%.100s%s%.100s", is_own_domain(n->domain) ? "" : n->domain,
             is_own_domain(n->domain) ? "" : ".", n->op_type ? n->op_type : "");
    for (size_t i = 0; i < sizeof expansions / sizeof expansions[0]; i++)
        if (strcmp(expansions[i].op, op) == 0)
            return &expansions[i];
    if (strcmp(joined.op, op) == 0)
        return can_join(n) ? &joined : NULL;
    if (strcmp(fused_product.op, op) == 0)
        return &fused_product;
    for (size_t i = 0; i < 2; i++)
        if (strcmp(fused_layers[i].op, op) == 0)
            return activation_of(n) ? &fused_layers[i] : NULL;
    if (strcmp(projected.op, op) == 0)
        return has_cache(n) ? NULL : &projected;
    if (strcmp(projected_bytes.op, op) == 0)
        return has_input(n, 8) || n->n_output > 1 ? NULL : &projected_bytes;
    if (strcmp(multi_head[0].op, op) == 0)
        return &multi_head[has_input(n, 3)];
    if (strcmp(embedded.op, op) == 0)
        return &embedded;
    if (strcmp(einsum.op, op) == 0)
        return *nodes_of(&einsum, n, room) ? &einsum : NULL;
    return strcmp(group_query[0][0].op, op) == 0 ? group_query_of(n) : NULL;
}

static void *taken(struct expanding *x, size_t n)
{
    void *p = onnx_memory_take(x->memory, n);

    x->failed = x->failed || !p;
    return p;
}

static char *text_of(struct expanding *x, const char *from, size_t n)
{
    char *p = taken(x, n + 1);

    if (p)
        memcpy(p, from, n);
    return p;
}

/* The value that an argument or a node's end names, and the end of the name in *p; "" where there is none. */
static char *value_at(struct expanding *x, const char **p)
{
    const bool output = **p == '$';
    const char *first = x->of->n_output ? x->of->output[0] : "";
    char name[MAX_NAME];
    size_t i;

    *p += output;
    if (isdigit((unsigned char)**p)) {
        for (i = 0; isdigit((unsigned char)**p); ++*p)
            i = 10 * i + (size_t)(**p - '0');
        if (output && i < x->of->n_output && x->of->output[i][0])
            return x->of->output[i];
        if (!output)
            return i < x->of->n_input ? x->of->input[i] : text_of(x, "", 0);
        snprintf(name, sizeof name, "%.200s:%zu", first, i);
        return text_of(x, name, strlen(name));
    }
    assert(islower((unsigned char)**p));
    i = (size_t)(*(*p)++ - 'a');
    snprintf(name, sizeof name, "%.200s:%c", first, (char)('a' + i));
    return text_of(x, x->left_out[i] ? "" : name, x->left_out[i] ? 0 : strlen(name));
}

static Onnx__AttributeProto *new_attribute(struct expanding *x, const char *name, size_t n)
{
    Onnx__AttributeProto *a = taken(x, sizeof *a);

    if (!a)
        return NULL;
    onnx__attribute_proto__init(a);
    a->name = text_of(x, name, n);
    return a;
}

/* Does an attribute say what is so anyhow, or what the text has said? */
static bool says_nothing(const Onnx__AttributeProto *a)
{
    return a->name &&
           ((strcmp(a->name, "channels_last") == 0 && a->i == 0) || (strcmp(a->name, "opset") == 0 && a->i >= 13) ||
            strcmp(a->name, "mask_index_type") == 0 || strncmp(a->name, "transBatch", 10) == 0 ||
            strncmp(a->name, "activation_", 11) == 0 || strcmp(a->name, "activation") == 0);
}

/* The attributes of the operator that say something. */
static void take_attributes(const struct expanding *x, Onnx__NodeProto *out)
{
    for (size_t i = 0; i < x->of->n_attribute; i++) {
        Onnx__AttributeProto *a = x->of->attribute[i];

        if (!says_nothing(a))
            out->attribute[out->n_attribute++] = a;
    }
}

/* "name=number" or "name=[number,number ..]"; what is behind it. */
static const char *put_attribute(struct expanding *x, Onnx__NodeProto *out, const char *p)
{
    const char *is = strchr(p, '=');
    const bool list = is && is[1] == '[';
    Onnx__AttributeProto *a = new_attribute(x, p, (size_t)(is - p));
    char *end = (char *)(uintptr_t)is + 1;

    assert(is);
    if (!a || (list && !(a->ints = taken(x, MAX_ARGUMENTS * sizeof(int64_t)))))
        return ";";
    a->has_i = !list;
    a->i = list ? 0 : strtol(is + 1, &end, 10);
    while (list && *end != ']') {
        assert(a->n_ints < MAX_ARGUMENTS);
        a->ints[a->n_ints++] = strtol(end + 1, &end, 10);
    }
    out->attribute[out->n_attribute++] = a;
    return end + list + (end[list] == ' ');
}

/* Behind the arguments: `@`, then attributes; to the `;`. */
static void put_attributes(struct expanding *x, Onnx__NodeProto *out, const char *p)
{
    out->attribute = taken(x, (x->of->n_attribute + MOST_ATTRIBUTES) * sizeof(Onnx__AttributeProto *));
    if (out->attribute && *p == '@')
        take_attributes(x, out);
    for (p += *p == '@'; out->attribute && *p != ';';)
        p = put_attribute(x, out, p);
}

/* "#NUMBER" makes a constant. */
static void put_number(struct expanding *x, Onnx__NodeProto *out, const char *p)
{
    static const char name[] = "value_float";

    out->op_type = text_of(x, "Constant", strlen("Constant"));
    out->attribute = taken(x, sizeof(Onnx__AttributeProto *));
    if (!out->attribute)
        return;
    out->attribute[0] = new_attribute(x, name, sizeof name - 1);
    if (out->attribute[0]) {
        out->attribute[0]->has_f = 1;
        out->attribute[0]->f = strtof(p + 1, NULL);
        out->n_attribute = 1;
    }
}

/* "Op(arguments)attributes"; false: an argument that it needs is left out. */
static bool put_operator(struct expanding *x, Onnx__NodeProto *out, const char *p)
{
    const char *open = strchr(p, '(');
    bool there = true;

    assert(open);
    out->op_type = text_of(x, p, (size_t)(open - p));
    out->input = taken(x, MAX_ARGUMENTS * sizeof(char *));
    for (p = open + 1; *p != ')' && out->input; p += *p == ',') {
        const bool needed = *p == '?';
        char *name;

        assert(out->n_input < MAX_ARGUMENTS);
        p += needed;
        name = value_at(x, &p);
        there = there && name && (*name || !needed);
        out->input[out->n_input++] = name;
    }
    while (out->n_input && out->input[out->n_input - 1] && !*out->input[out->n_input - 1])
        out->n_input--;
    if (!x->failed)
        put_attributes(x, out, p + 1);
    return there;
}

static Onnx__NodeProto *new_node(struct expanding *x)
{
    Onnx__NodeProto *n = taken(x, sizeof *n);

    if (!n)
        return NULL;
    onnx__node_proto__init(n);
    n->name = x->of->name && *x->of->name ? x->of->name : x->of->n_output ? x->of->output[0] : n->name;
    n->output = taken(x, sizeof(char *));
    return n->output ? n : NULL;
}

/* One node of an expansion; the next one's text, NULL at the end. */
static const char *put_node(struct expanding *x, const struct expansion *e, const char *p)
{
    const bool counts = *p == '!', is_output = p[counts] == '$';
    Onnx__NodeProto *n = new_node(x);
    bool there = true;
    int letter;

    if (!n)
        return NULL;
    p += counts;
    letter = is_output ? 0 : *p - 'a';
    x->left_out[letter] = x->left_out[letter] && is_output;
    if (p[1] == '*') { /* all of the operator's, be they none */
        n->output = x->of->output;
        n->n_output = x->of->n_output;
        p += 2;
    } else
        n->output[n->n_output++] = value_at(x, &p);
    assert(*p == '=');
    if (*++p == '#')
        put_number(x, n, p);
    else
        there = put_operator(x, n, p);
    if (!there && is_output && !x->failed) { /* then it is its first argument */
        n->op_type = text_of(x, "Identity", strlen("Identity"));
        n->n_input = 1;
        n->n_attribute = 0;
    } else if (!there)
        x->left_out[letter] = true;
    if (there || is_output) {
        x->origins[x->n] = (struct onnx_origin){counts ? e->op : "", x->branch};
        x->nodes[x->n++] = n;
    }
    p = strchr(p, ';') + 1;
    return *p && !x->failed ? p : NULL;
}

static void put_expansion(struct expanding *x, const struct expansion *e)
{
    char room[MAX_TEXT];

    memset(x->left_out, 0, sizeof x->left_out);
    for (const char *p = nodes_of(e, x->of, room); p;)
        p = put_node(x, e, p);
}

/* How many nodes there will be, and in *any whether some become others. */
static size_t count_nodes(const Onnx__GraphProto *g, bool *any)
{
    char room[MAX_TEXT];
    size_t n = 0;

    *any = false;
    for (size_t i = 0; i < g->n_node; i++) {
        const struct expansion *e = expansion_of(g->node[i]);

        *any = *any || e;
        n += e ? 0 : 1;
        for (const char *p = e ? nodes_of(e, g->node[i], room) : ""; *p; p++)
            n += *p == ';';
    }
    return n;
}

enum err onnx_expand_nodes(struct onnx_file *f, const struct onnx_origin **origins, struct why *why)
{
    Onnx__GraphProto *g = f->model->graph;
    bool any;
    const size_t most = count_nodes(g, &any);
    struct expanding x = {.memory = &f->memory};

    if (!any)
        return ERR_OK;
    if (most > ONNX_MAX_NODES)
        return why_set(why, ERR_LIMIT, "more than %d nodes", ONNX_MAX_NODES);
    x.nodes = taken(&x, most * sizeof(Onnx__NodeProto *));
    x.origins = taken(&x, most * sizeof *x.origins);
    for (size_t i = 0; i < g->n_node && !x.failed; i++) {
        const struct expansion *e = expansion_of(g->node[i]);

        x.of = g->node[i];
        x.branch = *origins ? (*origins)[i].branch : NULL;
        if (e) {
            put_expansion(&x, e);
            continue;
        }
        x.origins[x.n] = *origins ? (*origins)[i] : (struct onnx_origin){NULL, NULL};
        x.nodes[x.n++] = g->node[i];
    }
    if (x.failed)
        return why_set(why, ERR_LIMIT, "more nodes than a model of this size may have");
    assert(x.n <= most);
    g->node = x.nodes;
    g->n_node = x.n;
    *origins = x.origins;
    return ERR_OK;
}
