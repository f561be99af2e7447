/* SPDX-License-Identifier: MIT */
/* Attention: found in the nodes that exporters write, and by the operators of its name; what it is not stays what it
 * is. */
#include "core/buf.h"
#include "core/err.h"
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Three tensors [2][5 or 3][2 heads * 4], as heads. */
#define HEAD                                                                                                           \
    "opset 17\ninput x 2 5 8\ninput k 2 3 8\ninput v 2 3 8\nints s 4 = 0 0 2 4\nints joined 3 = 0 0 8\nconst four 1 "  \
    "= 4\n"                                                                                                            \
    "node Reshape x s -> xr\nnode Transpose xr -> q perm=[0,2,1,3]\nnode Reshape k s -> kr\n"                          \
    "node Transpose kr -> kt perm=[0,2,3,1]\nnode Reshape v s -> vr\nnode Transpose vr -> vh perm=[0,2,1,3]\n"
#define TAIL "node MatMul p vh -> y\nnode Transpose y -> yt perm=[0,2,1,3]\nnode Reshape yt joined -> z\noutput z\n"
#define INPUTS "x = input shape=2,5,8\nk = input shape=2,3,8\nv = input shape=2,3,8\n"
#define READS "q_10 = reshape x shape=2,5,2,4\nkt_11 = reshape k shape=2,3,2,4\nvh = reshape v shape=2,3,2,4\n"
#define GIVES "z = reshape y shape=2,5,8\n"

static size_t count(const char *lines, const char *op, enum onnx_role role)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    size_t n;

    if (import_lines(lines, NULL, 0, &m, &why))
        fail_msg("%s: %s", lines, why.text);
    n = row_of(m, op)->n[role];
    onnx_import_close(m);
    return n;
}

/* The graph of a model, for buf_fini. */
static struct buf graph_of(const char *lines)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;

    buf_init(&text, MAX_MODEL);
    if (import_lines(lines, NULL, 0, &m, &why) || onnx_import_graph(m, &text, &why))
        fail_msg("%s: %s", lines, why.text);
    onnx_import_close(m);
    return text;
}

/* The graph of a model has an attention of these words, and no product besides. */
static void check_attention(const char *lines, const char *words)
{
    struct buf text = graph_of(lines);
    const char *at;

    at = strstr(buf_text(&text), " layout=");
    if (!strstr(buf_text(&text), "= attention ") || strstr(buf_text(&text), "batch_gemm") ||
        strstr(buf_text(&text), "softmax") || !at || strncmp(at + 1, words, strlen(words)) != 0 ||
        at[1 + strlen(words)] != '\n')
        fail_msg("%s%s, expected %s", lines, buf_text(&text), words);
    buf_fini(&text);
}

/* The graph has none. */
static void check_products(const char *lines)
{
    struct buf text = graph_of(lines);

    if (strstr(buf_text(&text), "= attention ") || !strstr(buf_text(&text), "batch_gemm"))
        fail_msg("%s%s", lines, buf_text(&text));
    buf_fini(&text);
}

#define DIVIDED HEAD "node MatMul q kt -> l\nnode Div l four -> s1\nnode Softmax s1 -> p axis=-1\n" TAIL

static void layouts_are_absorbed(void **unused)
{
    (void)unused;
    check_graph(DIVIDED, INPUTS READS "y = attention q_10 + kt_11 + vh layout=blhd scale=0.250000\n" GIVES);
    assert_int_equal(count(DIVIDED, "MatMul", ONNX_TUNED), 1);
    assert_int_equal(count(DIVIDED, "MatMul", ONNX_FOLDED), 1);
    assert_int_equal(count(DIVIDED, "Softmax", ONNX_FOLDED), 1);
}

/* The products of 4 numbers are divided by 2 where nothing is said. */
static void scales_are_on_either_side(void **unused)
{
    (void)unused;
    check_attention(HEAD
                    "const h 1 = 0.5\nnode MatMul q kt -> l\nnode Mul h l -> s1\nnode Softmax s1 -> p axis=3\n" TAIL,
                    "layout=blhd");
    check_attention(HEAD "const h 1 = 0.5\nnode Mul q h -> qs\nnode Mul kt h -> ks\nnode MatMul qs ks -> l\n"
                         "node Softmax l -> p axis=-1\n" TAIL,
                    "layout=blhd scale=0.250000");
    check_attention(HEAD "node MatMul q kt -> l\nnode Softmax l -> p axis=-1\n" TAIL, "layout=blhd scale=1.000000");
    /* a third has no 6 digits: the queries are multiplied */
    check_attention(HEAD
                    "const t 1 = 3\nnode MatMul q kt -> l\nnode Div l t -> s1\nnode Softmax s1 -> p axis=-1\n" TAIL,
                    "layout=blhd");
}

/* Where the scale is in a layer's weights it counts once. */
static void scales_in_weights_count_once(void **unused)
{
    static const char lines[] =
        "opset 17\ninput x 5 2\ninput kt 2 3\ninput v 3 2\nconst w 2 2 = 2 4 6 8\nconst h 1 = 0.5\nnode MatMul x w -> "
        "r\n"
        "node Mul r h -> q\nnode MatMul q kt -> l\nnode Softmax l -> p axis=-1\nnode MatMul p v -> y\noutput y\n";

    (void)unused;
    check_attention(lines, "layout=blhd scale=1.000000");
    check_weights(lines, (const float[]){1, 3, 2, 4, 0, 0}, 6, "r w 0 16\nr bias 16 8\n");
    check_products("opset 17\ninput q 3\ninput k 3 4\ninput m 4\ninput v 4 2\nnode MatMul q k -> l\nnode Add l m -> s\n"
                   "node Softmax s -> p axis=0\nnode MatMul p v -> y\noutput y\n");
}

#define SEEN(k) "node MatMul q kt -> l\nnode " k "\nnode Softmax s1 -> p axis=-1\n"

static void masks_are_added_in_their_axes(void **unused)
{
    (void)unused;
    check_attention(HEAD "input m 2 1 1 3\n" SEEN("Add l m -> s1") TAIL, "layout=blhd mask=bk scale=1.000000");
    check_attention(HEAD "input m 5 3\n" SEEN("Add m l -> s1") TAIL, "layout=blhd mask=qk scale=1.000000");
    check_attention(HEAD "input m 1 2 1 3\n" SEEN("Add l m -> s1") TAIL, "layout=blhd mask=hqk scale=1.000000");
    check_attention(HEAD "input m 2 2 5 3\n" SEEN("Add l m -> s1") TAIL, "layout=blhd mask=bhqk scale=1.000000");
    /* repeated along the queries: as it was before */
    check_attention(HEAD "input m 2 1 1 3\nints w 4 = 2 1 5 3\nnode Expand m w -> e\n" SEEN("Add l e -> s1") TAIL,
                    "layout=blhd mask=bk scale=1.000000");
}

#define LEAST " -3e38"
#define ROWS_0 "0" LEAST LEAST " 0 0" LEAST " 0 0 0 0 0 0 0 0 0\n"        /* query i sees key 0 to i */
#define ROWS_1 "0 0" LEAST " 0 0 0 0 0 0 0 0 0 0 0 0\n"                   /* and one more */
#define ROWS_X "0" LEAST LEAST " 0 0" LEAST " 0 0 0 0 0 0 0 0" LEAST "\n" /* not the last one */

static void triangles_are_causal(void **unused)
{
    (void)unused;
    check_attention(HEAD "const m 1 1 5 3 = " ROWS_0 SEEN("Add l m -> s1") TAIL, "layout=blhd causal=1 scale=1.000000");
    check_attention(HEAD "const m 5 3 = " ROWS_1 SEEN("Add l m -> s1") TAIL,
                    "layout=blhd causal=1 past=1 scale=1.000000");
    check_attention(HEAD "const m 5 3 = " ROWS_X SEEN("Add l m -> s1") TAIL, "layout=blhd mask=qk scale=1.000000");
    check_attention(HEAD "const m 5 3 = 1 0 0 1 1 0 1 1 1 1 1 1 1 1 1\nconst n 1 = -1e38\n" SEEN("Where m l n -> s1")
                        TAIL,
                    "layout=blhd causal=1 scale=1.000000");
    check_attention(HEAD "const m 5 3 = 0 1 1 0 0 1 0 0 0 0 0 0 0 0 0\nconst n 1 = -1e38\n" SEEN("Where m n l -> s1")
                        TAIL,
                    "layout=blhd causal=1 scale=1.000000");
    check_attention(HEAD "input m:9 2 1 1 3\nconst n 1 = -1e38\n" SEEN("Where m l n -> s1") TAIL,
                    "layout=blhd mask=bk scale=1.000000");
}

/* -10000 leaves something, a mask multiplied with the product is another, and what others read is needed. */
static void what_is_none_stays(void **unused)
{
    (void)unused;
    check_attention(HEAD "const m 5 3 = 0 -1e4 -1e4 0 0 -1e4 0 0 0 0 0 0 0 0 0\n" SEEN("Add l m -> s1") TAIL,
                    "layout=blhd mask=qk scale=1.000000");
    check_products(HEAD "const m 5 3 = 0 1 1 0 0 1 0 0 0 0 0 0 0 0 0\nconst n 1 = -5\n" SEEN("Where m n l -> s1") TAIL);
    check_products(HEAD "input m 5 3\nnode MatMul q kt -> l\nnode Add l m -> a\nnode Mul a four -> s1\n"
                        "node Softmax s1 -> p axis=-1\n" TAIL);
    check_products(HEAD SEEN("Mul l four -> s1") TAIL "output p\n");
    check_products(HEAD "node MatMul q kt -> l\nnode Softmax l -> p axis=2\n" TAIL);
    check_products(HEAD "node MatMul q kt -> l\nnode Relu l -> s1\nnode Softmax s1 -> p axis=-1\n" TAIL);
}

#define SOFTMAX(opset, dims, axis)                                                                                     \
    "opset " opset "\ninput q " dims "5 4\ninput kt " dims "4 3\ninput v " dims "3 4\nnode MatMul q kt -> l\n"         \
    "node Softmax l -> p" axis "\nnode MatMul p v -> y\noutput y\n"

/* Up to opset 12 a softmax is over all axes from its own on, by default the second, then over one, by default the last.
 */
static void a_softmax_of_rows_depends_on_the_opset(void **unused)
{
    (void)unused;
    check_attention(SOFTMAX("12", "", ""), "layout=blhd scale=1.000000");
    check_products(SOFTMAX("12", "2 ", ""));
    check_attention(SOFTMAX("12", "2 ", " axis=2"), "layout=bhld scale=1.000000");
    check_attention(SOFTMAX("12", "2 ", " axis=-1"), "layout=bhld scale=1.000000");
    check_attention(SOFTMAX("13", "2 ", ""), "layout=bhld scale=1.000000");
    check_products(SOFTMAX("13", "2 ", " axis=1"));
}

/* Two heads of keys, each repeated for two of queries. */
static void repeated_heads_are_groups(void **unused)
{
    static const char lines[] = "opset 17\ninput q 1 4 5 4\ninput k 1 2 3 4\ninput v 1 2 3 4\nints e 5 = 1 2 2 3 "
                                "4\nints r 4 = 1 4 3 4\nints a 1 = 2\n"
                                "node Unsqueeze k a -> k1\nnode Expand k1 e -> k2\nnode Reshape k2 r -> k3\nnode "
                                "Transpose k3 -> kt perm=[0,1,3,2]\n"
                                "node Unsqueeze v a -> v1\nnode Expand v1 e -> v2\nnode Reshape v2 r -> v3\n"
                                "node MatMul q kt -> l\nnode Softmax l -> p axis=-1\nnode MatMul p v3 -> y\noutput y\n";

    (void)unused;
    check_graph(lines, "q = input c=4 h=5 w=4\nk = input c=2 h=3 w=4\nv = input c=2 h=3 w=4\n"
                       "y = attention q + k + v layout=bhld scale=1.000000\n");
}

#define QKV "opset 24\ninput q 2 4 5 4\ninput k 2 2 3 4\ninput v 2 2 3 6\n"
#define QKV_INPUTS "q = input n=2 c=4 h=5 w=4\nk = input n=2 c=2 h=3 w=4\nv = input n=2 c=2 h=3 w=6\n"

static void the_operator_says_the_same(void **unused)
{
    (void)unused;
    check_graph(QKV "node Attention q k v -> y is_causal=1\noutput y\n",
                QKV_INPUTS "y = attention q + k + v layout=bhld causal=1\n");
    check_graph("opset 23\ninput q 2 5 16\ninput k 2 3 8\ninput v 2 3 8\n"
                "node Attention q k v -> y q_num_heads=4 kv_num_heads=2 scale=0.25\noutput y\n",
                "q = input shape=2,5,16\nk = input shape=2,3,8\nv = input shape=2,3,8\nq_3 = reshape q shape=2,5,4,4\n"
                "k_4 = reshape k shape=2,3,2,4\nv_5 = reshape v shape=2,3,2,4\n"
                "y = attention q_3 + k_4 + v_5 layout=blhd scale=0.250000\ny_7 = reshape y shape=2,5,16\n");
    /* keys behind those of a cache, which the first query sees all */
    check_graph("opset 23\ninput q 1 2 2 4\ninput k 1 2 2 4\ninput v 1 2 2 4\ninput pk 1 2 3 4\ninput pv 1 2 3 4\n"
                "node Attention q k v - pk pv -> y is_causal=1\noutput y\n",
                "q = input c=2 h=2 w=4\nk = input c=2 h=2 w=4\nv = input c=2 h=2 w=4\n"
                "pk = input c=2 h=3 w=4\npv = input c=2 h=3 w=4\nk_5 = reshape k shape=2,2,4\n"
                "pk_6 = reshape pk shape=2,3,4\ny = concat pk_6 + k_5\nv_8 = reshape v shape=2,2,4\n"
                "pv_9 = reshape pv shape=2,3,4\ny_10 = concat pv_9 + v_8\ny_11 = reshape y shape=1,2,5,4\n"
                "y_12 = reshape y_10 shape=1,2,5,4\ny_13 = attention q + y_11 + y_12 layout=bhld causal=1 past=3\n");
}

/* Two numbers for queries, two for keys, three for values. */
static void onnxruntimes_bias_is_added_in_parts(void **unused)
{
    (void)unused;
    check_weights("opset 17\ninput q 1 1 2\ninput k 1 1 2\ninput v 1 1 3\nconst b 7 = 1 2 3 4 5 6 7\n"
                  "node com.microsoft.MultiHeadAttention q k v b -> y num_heads=1\noutput y\n",
                  (const float[]){1, 1, 1, 2, 1, 1, 3, 4, 1, 1, 1, 5, 6, 7}, 14,
                  "y w 0 8\ny bias 8 8\ny_6 w 16 8\ny_6 bias 24 8\ny_8 w 32 12\ny_8 bias 44 12\n");
}

/* Of each head queries, keys and values of 4 numbers one behind the other; keys and values so. */
static void parts_of_one_tensor_are_cut_apart(void **unused)
{
    (void)unused;
    check_graph("opset 17\ninput x 1 5 2 3 4\nnode com.microsoft.MultiHeadAttention x -> y num_heads=2\noutput y\n",
                "x = input shape=1,5,2,3,4\nx_1 = strided_copy x shape=1,5,2,4 at=0 d0=4,1 d1=10,12\n"
                "x_2 = strided_copy x shape=1,5,2,4 at=4 d0=4,1 d1=10,12\n"
                "x_3 = strided_copy x shape=1,5,2,4 at=8 d0=4,1 d1=10,12\n"
                "y = attention x_1 + x_2 + x_3 layout=blhd\ny_5 = reshape y shape=1,5,8\n");
    check_graph(
        "opset 17\ninput q 1 5 8\ninput z 1 3 2 2 4\nnode com.microsoft.MultiHeadAttention q z -> y num_heads=2\n"
        "output y\n",
        "q = input shape=1,5,8\nz = input shape=1,3,2,2,4\nq_2 = reshape q shape=1,5,2,4\n"
        "z_3 = strided_copy z shape=1,3,2,4 at=0 d0=4,1 d1=6,8\n"
        "z_4 = strided_copy z shape=1,3,2,4 at=4 d0=4,1 d1=6,8\n"
        "y = attention q_2 + z_3 + z_4 layout=blhd\ny_6 = reshape y shape=1,5,8\n");
    check_refused("opset 17\ninput x 1 5 2 2 4\nnode com.microsoft.MultiHeadAttention x -> y num_heads=2\noutput y\n",
                  "com.microsoft.MultiHeadAttention", "whole heads");
}

#define HEADS "opset 17\ninput q 2 5 8\ninput k 2 3 8\ninput v 2 3 8\n"

/* A product of 2 rows by 12 columns, cut into queries, keys and values of 2 heads of 2 numbers. */
#define JOINT                                                                                                          \
    "opset 17\ninput x 1 2 1\nconst w 1 12 = 1 2 3 4 5 6 7 8 9 10 11 12\nnode MatMul x w -> p\nints s 3 = 4 4 4\n"     \
    "ints h 4 = 1 2 2 2\nnode Split p s -> a b c axis=2\nnode Reshape a h -> ar\nnode Transpose ar -> q "              \
    "perm=[0,2,1,3]\n"                                                                                                 \
    "node Reshape b h -> br\nnode Transpose br -> kt perm=[0,2,3,1]\nnode Reshape c h -> cr\n"                         \
    "node Transpose cr -> vh perm=[0,2,1,3]\nnode MatMul q kt -> l\nnode Softmax l -> o axis=-1\nnode MatMul o vh -> " \
    "y\n"

/* Three products in its place, of its weights' columns. */
static void joint_projections_are_cut(void **unused)
{
    (void)unused;
    check_weights(JOINT "output y\n",
                  (const float[]){1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 9, 10, 11, 12, 0, 0, 0, 0}, 24,
                  "y w 0 16\ny bias 16 16\ny_10 w 32 16\ny_10 bias 48 16\ny_11 w 64 16\ny_11 bias 80 16\n");
}

static void onnxruntimes_operators_say_the_same(void **unused)
{
    (void)unused;
    check_attention(HEADS "node com.microsoft.MultiHeadAttention q k v -> y num_heads=2\noutput y\n", "layout=blhd");
    check_attention(HEADS "input s:6 2 3\n"
                          "node com.microsoft.MultiHeadAttention q k v - s -> y num_heads=2 scale=0.25\noutput y\n",
                    "layout=blhd mask=bk scale=0.250000");
    check_attention(HEADS
                    "input m 1 2 5 3\n"
                    "node com.microsoft.MultiHeadAttention q k v - - m -> y num_heads=2 unidirectional=1\noutput y\n",
                    "layout=blhd causal=1 mask=hqk");
    check_attention(
        HEADS "input pk 2 2 4 4\ninput pv 2 2 4 4\nnode com.microsoft.MultiHeadAttention q k v - - - pk pv -> y a b "
              "num_heads=2 unidirectional=1\noutput y\noutput a\noutput b\n",
        "layout=bhld causal=1 past=4");
    check_attention(HEADS "input n:6 2\nnode com.microsoft.MultiHeadAttention q k v - n -> y num_heads=2\noutput y\n",
                    "layout=blhd mask=bk");
    check_attention(HEADS
                    "input s:6 2 5 3\nnode com.microsoft.MultiHeadAttention q k v - s -> y num_heads=2\noutput y\n",
                    "layout=blhd mask=bqk");
    check_attention(HEADS "const m 1 1 5 3 = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
                          "node com.microsoft.MultiHeadAttention q k v - - m -> y num_heads=2\noutput y\n",
                    "layout=blhd mask=qk");
    check_refused(HEADS "input s:6 3\nnode com.microsoft.MultiHeadAttention q k v - s -> y num_heads=2\noutput y\n",
                  "com.microsoft.MultiHeadAttention", "a length for each of the batch");
    check_graph(
        "opset 17\ninput x 2 3 4\ninput z 2 3 4\nconst f 4 = 1 2 3 4\n"
        "node com.microsoft.SkipSimplifiedLayerNormalization x z f -> y - - s epsilon=0.25\noutput y\noutput s\n",
        "x = input shape=2,3,4\nz = input shape=2,3,4\ny = eltwise x + z f=add(a,b)\n"
        "s = reshape y shape=6,4\ny_4 = norm s epsilon=250000000000 kind=rms\n"
        "y_5 = reshape y_4 shape=2,3,4\ny_6 = reshape y_5 shape=2,3,4\ns_7 = reshape y shape=2,3,4\n"
        "output y_6\noutput s_7\n");
}

/* A joint projection, whose heads are cut out of its columns; a cache that is one tensor of keys and values is refused.
 */
static void a_projection_with_its_attention_is_taken_apart(void **unused)
{
    static const char given[] =
        "opset 17\ninput x 2 3 4\ninput s:6 2 3\nconst w 4 12 = 0.5 ...\nconst b 12 = 0.25 ...\n";
    char lines[512];

    (void)unused;
    snprintf(lines, sizeof lines, "%snode com.microsoft.Attention x w b s -> y num_heads=2\noutput y\n", given);
    check_attention(lines, "layout=blhd mask=bk");
    snprintf(lines, sizeof lines,
             "%sinput p 2 2 2 5 2\nnode com.microsoft.Attention x w b - p -> y num_heads=2\noutput y\n", given);
    check_refused(lines, "com.microsoft.Attention", "another domain");
    snprintf(lines, sizeof lines, "%snode com.microsoft.Attention x w b -> y num_heads=5\noutput y\n", given);
    assert_int_equal(count(lines, "Attention/part", ONNX_UNSUPPORTED), 3);
}

/* Numbers and exchanged dimensions of a product, curves with what is added before them. */
static void fused_products_and_curves_are_taken_apart(void **unused)
{
    static const char given[] = "opset 17\ninput x 2 3\ninput z 5 3\nconst b 5 = 1 2 3 4 5\n";
    char lines[512];

    (void)unused;
    snprintf(lines, sizeof lines,
             "%snode com.microsoft.FusedMatMul x z -> p alpha=0.5f transB=1\nnode com.microsoft.BiasGelu p b -> g\n"
             "node com.microsoft.FastGelu g -> y\noutput y\n",
             given);
    check_graph(lines,
                "x = input shape=2,3\nz = input shape=5,3\nx_2 = reshape x shape=1,2,3\np_d = reshape z shape=1,5,3\n"
                "p = batch_gemm x_2 + p_d\np_y = reshape p shape=2,5\np_6 = eltwise p_y f=mul(a,0.5)\n"
                "p_7 = reshape p_6 shape=2,5,1,1\ng = depthwise_conv2d p_7 r=1 s=1\n"
                "g_a = reshape g shape=2,5\ny = eltwise g_a f=gelu_tanh(gelu(a))\n");
    /* rows are the first dimension, the batch is the second */
    check_graph(
        "opset 17\ninput x 2 3 4\ninput z 3 4 5\nnode com.microsoft.FusedMatMul x z -> y transBatchA=1\noutput y\n",
        "x = input shape=2,3,4\nz = input shape=3,4,5\ny_a = strided_copy x shape=3,2,4 at=0 d0=4,1 d1=2,12 d2=3,4\n"
        "z_3 = strided_copy z shape=3,5,4 at=0 d0=4,5 d1=5,1 d2=3,20\ny = batch_gemm y_a + z_3\n"
        "y_5 = eltwise y f=mul(a,1)\n");
    check_refused("opset 17\ninput x 2 3\nconst w 3 4 = 1\n"
                  "node com.microsoft.FusedGemm x w -> y activation='LeakyRelu'\noutput y\n",
                  "com.microsoft.FusedGemm", "another domain");
}

/* Two rows behind three of a cache; two heads of queries, one of keys, of four numbers each. */
#define GROUP                                                                                                          \
    "opset 17\ninput q 1 2 8\ninput k 1 2 4\ninput v 1 2 4\ninput pk 1 1 3 4\ninput pv 1 1 3 4\nints n:6 1 = 4\n"      \
    "ints t:6 1 = 5\nconst c 6 2 = 0 1 10 11 20 21 30 31 40 41 50 51\nconst s 6 2 = 5 6 15 16 25 26 35 36 45 46 55 "   \
    "56\n"
#define GROUP_NODE "node com.microsoft.GroupQueryAttention "
#define GROUP_HEADS " num_heads=2 kv_num_heads=1"

static void onnxruntimes_group_query_attention_is_causal_behind_its_cache(void **unused)
{
    (void)unused;
    check_attention(GROUP GROUP_NODE "q k v pk pv n t -> y a b" GROUP_HEADS "\noutput y\noutput a\noutput b\n",
                    "layout=blhd causal=1 past=3");
    check_attention(GROUP "input qkv 1 2 16\n" GROUP_NODE "qkv - - pk pv n t -> y a b" GROUP_HEADS
                          " scale=0.25\noutput y\noutput a\noutput b\n",
                    "layout=blhd causal=1 past=3 scale=0.250000");
    check_attention(GROUP GROUP_NODE "q k v pk pv n t -> y" GROUP_HEADS " local_window_size=2\noutput y\n",
                    "layout=blhd causal=1 past=3 mask=qk");
    check_attention(GROUP "input m 1 2 2 5\n" GROUP_NODE "q k v pk pv n t - - - m -> y" GROUP_HEADS "\noutput y\n",
                    "layout=blhd causal=1 past=3 mask=hqk");
}

/* A window of two keys: of keys 0 to 4 row 3 sees 2 and 3, row 4 sees 3 and 4; what lies ahead `causal` hides. */
static void a_window_has_as_many_keys_as_it_says(void **unused)
{
    static const float expected[] = {-INFINITY, -INFINITY, 0, 0, 0, -INFINITY, -INFINITY, -INFINITY, 0, 0};

    (void)unused;
    check_weights(GROUP GROUP_NODE "q k v pk pv n t -> y" GROUP_HEADS " local_window_size=2\noutput y\n", expected, 10,
                  "y_10 a 0 40\n");
}

/* Rows 3 and 4 of the table: halves of a head are turned together, or neighbours; sines of the first are negative. */
static void rows_are_turned_by_their_places_behind_the_cache(void **unused)
{
#define LIST "y_10 b 0 32\ny_10 d 32 32\ny_16 b 64 32\ny_16 d 96 32\n"
    static const float halves[] = {30, 31, 30, 31, 40, 41, 40, 41, -35, -36, 35, 36, -45, -46, 45, 46,
                                   30, 31, 30, 31, 40, 41, 40, 41, -35, -36, 35, 36, -45, -46, 45, 46};
    static const float neighbours[] = {30, 30, 31, 31, 40, 40, 41, 41, -35, 35, -36, 36, -45, 45, -46, 46,
                                       30, 30, 31, 31, 40, 40, 41, 41, -35, 35, -36, 36, -45, 45, -46, 46};

    (void)unused;
    check_weights(GROUP GROUP_NODE "q k v pk pv n t c s -> y" GROUP_HEADS " do_rotary=1\noutput y\n", halves, 32, LIST);
    check_weights(GROUP GROUP_NODE "q k v pk pv n t c s -> y" GROUP_HEADS
                                   " do_rotary=1 rotary_interleaved=1\noutput y\n",
                  neighbours, 32, LIST);
}

static void other_group_query_attentions_are_refused(void **unused)
{
    static const struct {
        const char *node, *words;
    } cases[] = {
        {"input m:6 1\n" GROUP_NODE "q k v pk pv m t -> y" GROUP_HEADS, "expected constants, 4 and 5 (--const)"},
        {"ints f:6 1 = 3\n" GROUP_NODE "q k v pk pv f t -> y" GROUP_HEADS, "expected constants, 4 and 5"},
        {"ints f:6 1 = 6\n" GROUP_NODE "q k v pk pv n f -> y" GROUP_HEADS, "expected constants, 4 and 5"},
        {GROUP_NODE "q k v pk pv n t -> y smooth_softmax=1" GROUP_HEADS, "a softmax with more than its rows"},
        {"input h 2\n" GROUP_NODE "q k v pk pv n t - - - - h -> y" GROUP_HEADS, "a softmax with more than its rows"},
        {"input p:7 1 2\n" GROUP_NODE "q k v pk pv n t - - p -> y" GROUP_HEADS, "positions of its own"},
        {GROUP_NODE "q k v pk - n t -> y" GROUP_HEADS, "a cache of keys or of values alone"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[2048];

        snprintf(lines, sizeof lines, GROUP "%s\noutput y\n", cases[i].node);
        check_refused(lines, "com.microsoft.GroupQueryAttention", cases[i].words);
    }
}

/* What is cut out of one tensor and turned are layers of their own, refused for each of queries, keys and values. */
static void parts_of_group_query_attentions_are_refused(void **unused)
{
    (void)unused;
    assert_int_equal(count(GROUP GROUP_NODE "q - - pk pv n t -> y num_heads=2 kv_num_heads=4\noutput y\n",
                           "GroupQueryAttention/part", ONNX_UNSUPPORTED),
                     3);
    assert_int_equal(count(GROUP "const e 4 2 = 1 ...\n" GROUP_NODE "q k v pk pv n t e e -> y do_rotary=1" GROUP_HEADS
                                 "\noutput y\n",
                           "GroupQueryAttention/rotary", ONNX_UNSUPPORTED),
                     2);
}

/* Products that are bounded are layers of their own: the mask is behind the bound. */
static void what_it_has_no_place_for_is_made_of_parts(void **unused)
{
    (void)unused;
    check_products(QKV "node Attention q k v -> y softcap=2.0\noutput y\n");
    check_products(QKV "input m 5 3\nnode Attention q k v m -> y softcap=2.0 is_causal=1\noutput y\n");
    check_products(GROUP GROUP_NODE "q k v pk pv n t -> y softcap=2.0" GROUP_HEADS "\noutput y\n");
}

static void what_it_has_no_place_for_is_refused(void **unused)
{
    (void)unused;
    check_refused(QKV "node Attention q k v -> y a b c\noutput y\n", "Attention", "qk_matmul_output");
    check_refused("opset 24\ninput q 2 3 5 4\ninput k 2 2 3 4\ninput v 2 2 3 6\nnode Attention q k v -> y\noutput y\n",
                  "Attention", "do not fit");
    check_refused("opset 24\ninput q 2 5 7\ninput k 2 3 8\ninput v 2 3 8\n"
                  "node Attention q k v -> y q_num_heads=2 kv_num_heads=2\noutput y\n",
                  "Attention", "whole heads");
    check_refused(
        "opset 24\ninput x 1 2 3 7\ninput c 1 3 3\ninput s 1 3 3\nnode RotaryEmbedding x c s -> y\noutput y\n",
        "RotaryEmbedding", "even");
    check_refused(
        "opset 24\ninput x 1 2 3 8\ninput c 1 3 3\ninput s 1 3 3\nnode RotaryEmbedding x c s -> y\noutput y\n",
        "RotaryEmbedding", "half as many");
}

/* How often the graph has the word. */
static int n_words(const char *lines, const char *word)
{
    struct buf text = graph_of(lines);
    int n = 0;

    for (const char *at = buf_text(&text); (at = strstr(at, word)) != NULL; at++)
        n++;
    buf_fini(&text);
    return n;
}

#define HALVES                                                                                                         \
    "opset 17\ninput x 1 2 3 8\ninput c 1 1 3 8\ninput s 1 1 3 8\nints z 1 = 0\nints h 1 = 4\nints e 1 = 8\nints a 1 " \
    "= 3\n"
#define LOW "node Slice x z h a -> low\n"
#define HIGH "node Slice x h e a -> high\nnode Neg high -> n\n"
#define ANGLES "node Mul x c -> xc\nnode Mul t s -> ts\nnode Add xc ts -> y\noutput y\n"

/* The halves of rows exchanged, one of them times -1, are one copy, whatever the tensor is a view of. */
static void rotated_halves_are_copied_at_once(void **unused)
{
    static const char *const others[] = {
        HALVES LOW HIGH "node Concat low n -> t axis=-1\n" ANGLES,
        HALVES LOW HIGH "node Concat n low -> t axis=-1\n" ANGLES "output n\n",
        HALVES "input o 1 2 3 8\nnode Slice o z h a -> low\n" HIGH "node Concat n low -> t axis=-1\n" ANGLES,
        HALVES LOW
        "node Abs x -> b\nnode Slice b h e a -> high\nnode Neg high -> n\nnode Concat n low -> t axis=-1\n" ANGLES,
        HALVES LOW HIGH "node Concat n low -> t axis=-2\noutput t\n",
    };
    static const char lines[] = HALVES LOW HIGH "node Concat n low -> t axis=-1\n" ANGLES;
    static const char turned[] =
        "opset 17\ninput o 1 3 2 8\ninput c 1 1 3 8\ninput s 1 1 3 8\nints z 1 = 0\n"
        "ints h 1 = 4\nints e 1 = 8\nints a 1 = 3\nnode Transpose o -> x perm=[0,2,1,3]\n" LOW HIGH
        "node Concat n low -> t axis=3\n" ANGLES;

    (void)unused;
    check_graph(lines, "x = input c=2 h=3 w=8\nc = input c=1 h=3 w=8\ns = input c=1 h=3 w=8\n"
                       "high_6 = strided_copy x shape=1,2,3,2,4 at=4 d0=4,1 d1=2,-4 d2=6,8\nt = constant shape=2,1\n"
                       "t_8 = eltwise high_6 + t f=mul(a,b)\nt_10 = reshape t_8 shape=1,2,3,8\n"
                       "y = eltwise x + c + t_10 + s f=add(mul(a,b),mul(c,d))\n");
    assert_int_equal(n_words(lines, "= concat "), 0);
    assert_int_equal(count(lines, "Neg", ONNX_FOLDED), 1);
    assert_int_equal(n_words(turned, "= concat "), 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (n_words(others[i], "= concat ") != 1)
            fail_msg("%s", others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_absorbed),
        cmocka_unit_test(scales_are_on_either_side),
        cmocka_unit_test(scales_in_weights_count_once),
        cmocka_unit_test(masks_are_added_in_their_axes),
        cmocka_unit_test(triangles_are_causal),
        cmocka_unit_test(what_is_none_stays),
        cmocka_unit_test(a_softmax_of_rows_depends_on_the_opset),
        cmocka_unit_test(repeated_heads_are_groups),
        cmocka_unit_test(the_operator_says_the_same),
        cmocka_unit_test(rotated_halves_are_copied_at_once),
        cmocka_unit_test(joint_projections_are_cut),
        cmocka_unit_test(onnxruntimes_operators_say_the_same),
        cmocka_unit_test(onnxruntimes_bias_is_added_in_parts),
        cmocka_unit_test(parts_of_one_tensor_are_cut_apart),
        cmocka_unit_test(a_projection_with_its_attention_is_taken_apart),
        cmocka_unit_test(fused_products_and_curves_are_taken_apart),
        cmocka_unit_test(onnxruntimes_group_query_attention_is_causal_behind_its_cache),
        cmocka_unit_test(a_window_has_as_many_keys_as_it_says),
        cmocka_unit_test(rows_are_turned_by_their_places_behind_the_cache),
        cmocka_unit_test(other_group_query_attentions_are_refused),
        cmocka_unit_test(parts_of_group_query_attentions_are_refused),
        cmocka_unit_test(what_it_has_no_place_for_is_made_of_parts),
        cmocka_unit_test(what_it_has_no_place_for_is_refused),
    };
    int failed;

    if (!folder_open("test-onnx-attention"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
