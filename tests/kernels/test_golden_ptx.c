/* SPDX-License-Identifier: MIT */
/* Operands inside inline PTX, which no emulated device runs, are in the order that the PTX ISA writes down. NVRTC makes
 * PTX of programs of templates with a kernel behind them that gives each instruction operands that are known: in the
 * PTX a register is traced to the word that it was loaded from (i8: byte 8 of `in`), the word that it is stored to
 * (>o8), the shared address that it holds (s+8), the parameter (p1+16: 16 bytes behind the second) or the number (#8).
 * And all such instructions of the program itself have the form that
 * they must have. Skipped where there is no NVRTC. */
#include "kernels/template.h"
#include "runtime/cuda_arch.h"
#include "runtime/nvrtc.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_STATEMENTS 40
#define MAX_REGISTERS 512
#define LINE_BYTES 2048

static struct nvrtc *nvrtc;

struct golden {
    const char *template_id, *workload;
    int sm;
    const char *probe;                      /* NULL: none */
    const char *statements[MAX_STATEMENTS]; /* of the probe, in order */
};

#define MMA_PROBE                                                                                                      \
    "KERNEL probe(GLOBAL const unsigned *in, GLOBAL unsigned *out)\n"                                                  \
    "{\n"                                                                                                              \
    "    LOCAL_ARRAY uint4 s[8];\n"                                                                                    \
    "    MMA_SUM d[MMA_D];\n"                                                                                          \
    "    unsigned a[MMA_A], b[MMA_B], r[4];\n"                                                                         \
    "    UNROLL for (int i = 0; i < MMA_D; i++) d[i] = ((GLOBAL const MMA_SUM *)in)[i];\n"                             \
    "    UNROLL for (int i = 0; i < MMA_A; i++) a[i] = in[16 + i];\n"                                                  \
    "    UNROLL for (int i = 0; i < MMA_B; i++) b[i] = in[32 + i];\n"                                                  \
    "    mma(d, a, b);\n"                                                                                              \
    "    UNROLL for (int i = 0; i < MMA_D; i++) ((GLOBAL MMA_SUM *)out)[i] = d[i];\n"                                  \
    "    read_matrices(r, (const BYTE *)s + 32);\n"                                                                    \
    "    UNROLL for (int i = 0; i < 4; i++) out[16 + i] = r[i];\n"                                                     \
    "    store_piece(make_uint2(in[40], in[41]), (uint2 *)(out + 30));\n"                                              \
    "    store_piece(make_uint4(in[42], in[43], in[44], in[45]), (uint4 *)(out + 32));\n"                              \
    "}\n"
#define FOUR_SUMS "{i0>o0,i4>o4,i8>o8,i12>o12}"
#define LDMATRIX "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {>o64,>o68,>o72,>o76}, [s+32];"
#define STORES "st.global.v2.b32 [p1+120], {i160,i164};", "st.global.v4.b32 [p1+128], {i168,i172,i176,i180};"

/* Products of a warpgroup of 64 columns, what its barriers are told, copies of boxes, and the map of these. */
#define WGMMA_PROBE                                                                                                    \
    "KERNEL probe(GLOBAL const unsigned *in, GLOBAL unsigned *out)\n"                                                  \
    "{\n"                                                                                                              \
    "    LOCAL_ALIGNED BYTE s[1024];\n"                                                                                \
    "    BITS64 *const b = (BITS64 *)(s + 64);\n"                                                                      \
    "    MMA_SUM d[NT / 2];\n"                                                                                         \
    "    UNROLL for (int i = 0; i < NT / 2; i++) d[i] = ((GLOBAL const MMA_SUM *)in)[i];\n"                            \
    "    WGMMA_BEGIN();\n"                                                                                             \
    "    wgmma(d, in[64], in[65], (int)in[66]);\n"                                                                     \
    "    WGMMA_SENT();\n"                                                                                              \
    "    WGMMA_WAIT(3);\n"                                                                                             \
    "    UNROLL for (int i = 0; i < NT / 2; i++) ((GLOBAL MMA_SUM *)out)[i] = d[i];\n"                                 \
    "    barrier_init(b, in[68]);\n"                                                                                   \
    "    barriers_made();\n"                                                                                           \
    "    barrier_expect(b, in[69]);\n"                                                                                 \
    "    barrier_arrive(b, in[70]);\n"                                                                                 \
    "    barrier_wait(b, in[71]);\n"                                                                                   \
    "    bring_box(s + 128, (const BYTE *)(in + 256), in[72], in[73], b, false);\n"                                    \
    "    bring_box(s + 128, (const BYTE *)(in + 256), in[72], in[73], b, true);\n"                                     \
    "    make_map((BYTE *)(out + 256), s + 512, in + 512, in[74], in[75], in[76]);\n"                                  \
    "    see_map((const BYTE *)(in + 256));\n"                                                                         \
    "#if GATHER\n"                                                                                                     \
    "    VT v;\n"                                                                                                      \
    "    lane(v, 0) = ((GLOBAL const float *)in)[80];\n"                                                               \
    "    lane(v, 1) = ((GLOBAL const float *)in)[81];\n"                                                               \
    "    out[128] = word_of(v);\n"                                                                                     \
    "    unsigned four[] = {in[84], in[85], in[86], in[87]};\n"                                                        \
    "    store_sixteen(four, out + 132);\n"                                                                            \
    "#endif\n"                                                                                                         \
    "}\n"
#define STORE_SIXTEEN "st.global.v4.b32 [p1+528], {i336,i340,i344,i348};"
#define THIRTY_TWO_SUMS                                                                                                \
    "{i0>o0,i4>o4,i8>o8,i12>o12,i16>o16,i20>o20,i24>o24,i28>o28,i32>o32,i36>o36,i40>o40,i44>o44,i48>o48,i52>o52,"      \
    "i56>o56,i60>o60,i64>o64,i68>o68,i72>o72,i76>o76,i80>o80,i84>o84,i88>o88,i92>o92,i96>o96,i100>o100,i104>o104,"     \
    "i108>o108,i112>o112,i116>o116,i120>o120,i124>o124}"
#define WGMMA(types, scales)                                                                                           \
    "wgmma.fence.sync.aligned;",                                                                                       \
        "{ .reg .pred add; setp.ne.b32 add, i264, 0; wgmma.mma_async.sync.aligned.m64n64" types " " THIRTY_TWO_SUMS    \
        ", i256, i260, add" scales "; }"
#define BULK "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
#define FIELD(name, type) "tensormap.replace.tile." name ".shared::cta.b1024." type " [s+512], "
#define LANES_MEET "bar.warp.sync \t-1;" /* of __syncwarp: where a map is made, which no emulated device does */
#define AROUND_WGMMA                                                                                                   \
    "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 3;",                                            \
        "mbarrier.init.shared::cta.b64 [s+64], i272;", "fence.mbarrier_init.release.cluster;",                         \
        "fence.proxy.async.shared::cta;", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [s+64], i276;",                \
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, s+64, i280; mbarrier.arrive.shared::cluster.b64 _, "       \
        "[there]; }",                                                                                                  \
        "{ .reg .pred done; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 done, [s+64], i284; @done bra DONE; bra "  \
        "AGAIN; DONE: }",                                                                                              \
        BULK " [s+128], [p0+1024, {i288, i292}], [s+64];",                                                             \
        BULK ".multicast::cluster [s+128], [p0+1024, {i288, i292}], [s+64], #3;", LANES_MEET,                          \
        FIELD("global_address", "b64") "p0+2048;", FIELD("rank", "b32") "1;", FIELD("box_dim", "b32") "0, #128;",      \
        FIELD("box_dim", "b32") "1, i304;", FIELD("global_dim", "b32") "0, i300;",                                     \
        FIELD("global_dim", "b32") "1, i296;", FIELD("global_stride", "b64") "0, i300;",                               \
        FIELD("element_stride", "b32") "0, #1;", FIELD("element_stride", "b32") "1, #1;",                              \
        FIELD("elemtype", "b32") "0;", FIELD("interleave_layout", "b32") "0;", FIELD("swizzle_mode", "b32") "3;",      \
        FIELD("fill_mode", "b32") "0;", LANES_MEET,                                                                    \
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [p1+1024], [s+512], "  \
        "128;",                                                                                                        \
        "fence.proxy.tensormap::generic.acquire.gpu [p0+1024], 128;"

/* From the PTX ISA: mma and ldmatrix ("Warp-level matrix instructions": d, a, b, c; r, [p]), dp4a, fma, sub and mul (d,
 * a, b, c), mov of {a, b}, of which a is the lower half, cvt.dtype.atype d, a; of cvt to f16x2 d, a, b the first is the
 * upper half. wgmma.mma_async ("Asynchronous warpgroup-level matrix instructions"): d, a-desc, b-desc, scale-d, and of
 * f16 and bf16 imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b. mbarrier.init [addr], count; arrive state, [addr]
 * and of expect_tx the count; try_wait.parity done, [addr], parity; mapa d, a, rank; cp.async.bulk.tensor [to], [map,
 * {column, row}], [mbarrier], mask of blocks; tensormap.replace [map], ordinal, value, dimension 0 the innermost;
 * cp_fenceproxy [to], [from], size. */
static const struct golden goldens[] = {
    {"dense/mma",
     "dense f16 m=256 n=256 k=512",
     80,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " FOUR_SUMS ", {i64,i68,i72,i76}, {i128,i132}, " FOUR_SUMS ";",
      LDMATRIX, STORES}},
    {"dense/mma",
     "dense bf16 m=256 n=256 k=512",
     90,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " FOUR_SUMS ", {i64,i68,i72,i76}, {i128,i132}, " FOUR_SUMS
      ";",
      LDMATRIX, STORES}},
    {"dense/mma",
     "dense i8 m=256 n=256 k=512",
     80,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " FOUR_SUMS ", {i64,i68,i72,i76}, {i128,i132}, " FOUR_SUMS ";",
      LDMATRIX, STORES}},
    {"dense/mma",
     "dense f16 m=256 n=256 k=512",
     75,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " FOUR_SUMS ", {i64,i68}, {i128}, " FOUR_SUMS ";", LDMATRIX,
      STORES}},
    {"dense/mma",
     "dense i8 m=256 n=256 k=512",
     75,
     MMA_PROBE,
     {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {i0>o0,i4>o4}, {i64}, {i128}, {i0>o0,i4>o4};", LDMATRIX, STORES}},
    {"dense/wgmma",
     "dense f16 m=256 n=256 k=512",
     90,
     WGMMA_PROBE,
     {WGMMA("k16.f32.f16.f16", ", 1, 1, 0, 0"), AROUND_WGMMA, "cvt.rn.f16x2.f32 >o512, i324, i320;", STORE_SIXTEEN}},
    {"dense/wgmma",
     "dense bf16 m=256 n=256 k=512",
     90,
     WGMMA_PROBE,
     {WGMMA("k16.f32.bf16.bf16", ", 1, 1, 0, 0"), AROUND_WGMMA, "cvt.rn.bf16x2.f32 >o512, i324, i320;", STORE_SIXTEEN}},
    {"dense/wgmma", "dense i8 m=256 n=256 k=512", 90, WGMMA_PROBE, {WGMMA("k32.s32.s8.s8", ""), AROUND_WGMMA}},
    {"conv2d/wgmma",
     "conv2d i8 n=2 c=64 h=8 w=8 k=64 r=3 s=3 pad=1 stride=2 layout=nhwc",
     90,
     "KERNEL probe(GLOBAL const unsigned *in, GLOBAL unsigned *out)\n"
     "{\n"
     "    LOCAL_ALIGNED BYTE s[1024];\n"
     "    make_image_map((BYTE *)(out + 256), s + 512, in + 512, IMAGES{in[0], in[1], in[2], in[3]},\n"
     "                   IMAGES{in[4], in[5], in[6], in[7]}, IMAGES{1, 1, 1, 1});\n"
     "    bring_images(s + 128, (const BYTE *)(in + 256), IMAGES{in[8], in[9], in[10], in[11]}, (BITS64 *)(s + 64));\n"
     "}\n",
     {LANES_MEET,
      FIELD("global_address", "b64") "p0+2048;",
      FIELD("rank", "b32") "3;",
      FIELD("box_dim", "b32") "0, i16;",
      FIELD("box_dim", "b32") "1, i20;",
      FIELD("box_dim", "b32") "2, i24;",
      FIELD("box_dim", "b32") "3, i28;",
      FIELD("global_dim", "b32") "0, i0;",
      FIELD("global_dim", "b32") "1, i4;",
      FIELD("global_dim", "b32") "2, i8;",
      FIELD("global_dim", "b32") "3, i12;",
      FIELD("global_stride", "b64") "0, i0;",
      FIELD("global_stride", "b64") "1, x0;",
      FIELD("global_stride", "b64") "2, x1;",
      FIELD("element_stride", "b32") "0, #1;",
      FIELD("element_stride", "b32") "1, #1;",
      FIELD("element_stride", "b32") "2, #1;",
      FIELD("element_stride", "b32") "3, #1;",
      FIELD("elemtype", "b32") "0;",
      FIELD("interleave_layout", "b32") "0;",
      FIELD("swizzle_mode", "b32") "3;",
      FIELD("fill_mode", "b32") "0;",
      LANES_MEET,
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [p1+1024], [s+512], 128;",
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [s+128], [p0+1024, {i32, i36, i40, "
      "i44}], [s+64];"}},
    {"conv2d/mma", "conv2d i8 n=16 c=64 h=14 w=14 k=64 r=3 s=3 pad=1 layout=nchw16c", 80, NULL, {NULL}},
    {"dense/dense_i8",
     "dense i8 m=64 n=64 k=64",
     75,
     "KERNEL probe(GLOBAL const int *in, GLOBAL int *out) { out[0] = DOT4(in[0], in[1], in[2]); }\n",
     {"dp4a.s32.s32 >o0, i0, i4, i8;"}},
    {"dense/gemm_tiled",
     "dense f32 m=256 n=256 k=256",
     80,
     "CONSTANT_FLOATS(numbers) {1.0f, 2.0f, 3.0f};\n"
     "KERNEL probe(GLOBAL const float *in, GLOBAL float *out) { out[0] = CONSTANT_AT(numbers, 2); }\n",
     {"ld.const.f32 >o0, [numbers+8];"}},
    {"dense/gemm_tiled",
     "dense f16 m=256 n=256 k=256 acc=f16",
     80,
     "KERNEL probe(GLOBAL const half_t *in, GLOBAL half_t *out)\n"
     "{\n"
     "    VT a, b, c;\n"
     "    UNROLL for (int i = 0; i < 2; i++) { a.v[i] = in[i]; b.v[i] = in[4 + i]; c.v[i] = in[8 + i]; }\n"
     "    out[0] = in[0] + in[1];\n"
     "    out[1] = in[0] - in[1];\n"
     "    out[2] = in[0] * in[1];\n"
     "    out[3] = fma_sum(in[0], in[1], in[2]);\n"
     "    ((GLOBAL float *)out)[4] = float_of_half(in[3].bits);\n"
     "    out[10] = half_t(((GLOBAL const float *)in)[8]);\n"
     "    c = VFMA(a, b, c);\n"
     "    UNROLL for (int i = 0; i < 2; i++) out[16 + i] = c.v[i];\n"
     "}\n",
     {"add.rn.f16 >o0, i0, i2;", "sub.rn.f16 >o2, i0, i2;", "mul.rn.f16 >o4, i0, i2;",
      "fma.rn.f16 i4>o6, i0, i2, i4>o6;", "cvt.f32.f16 >o16, i6;", "cvt.rn.f16.f32 >o20, i32;", "mov.b32 x0, {i0, i2};",
      "mov.b32 x1, {i8, i10};", "mov.b32 x2, {i16, i18};", "fma.rn.f16x2 x2, x0, x1, x2;",
      "mov.b32 {>o32, >o34}, x2;"}},
};

/* Of the programs themselves: F a register of f32, R of 32 bits, D of 64, # a number. A statement that begins like one
 * of these is one of them ("cp.async": cp-size is a number, 16 where .cg, src-size behind it a register). */
#define SUMS(x) "{" x "," x "," x "," x "}"
static const char *const forms[] = {
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " SUMS("F") ", " SUMS("R") ", {R,R}, " SUMS("F") ";",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " SUMS("F") ", " SUMS("R") ", {R,R}, " SUMS("F") ";",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " SUMS("R") ", " SUMS("R") ", {R,R}, " SUMS("R") ";",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " SUMS("F") ", {R,R}, {R}, " SUMS("F") ";",
    "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {R,R}, {R}, {R}, {R,R};",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 " SUMS("R") ", [R];",
    "dp4a.s32.s32 R, R, R, R;",
    "cp.async.cg.shared.global [R], [D], 16;",
    "cp.async.cg.shared.global [R], [D], 16, R;",
    "cp.async.ca.shared.global [R], [D], 8;",
    "cp.async.ca.shared.global [R], [D], 8, R;",
    "cp.async.ca.shared.global [R], [D], 4;",
    "cp.async.ca.shared.global [R], [D], 4, R;",
    "cp.async.commit_group;",
    "cp.async.wait_group #;",
};
static const char *const beginnings[] = {"mma.", "ldmatrix.", "dp4a.", "cp.async.c", "cp.async.w"};

/* Registers of the probe. */

enum kind {
    UNKNOWN,
    PARAMETER,
    SHARED,
    LOADED,
    NUMBER,
    MADE
}; /* MADE: by a statement of inline PTX; `at` counts them */

struct operand {
    enum kind kind;
    int at;        /* the parameter's number, bytes from the beginning of what it points to, or of `in` */
    int parameter; /* of PARAMETER: which */
    int stored_to; /* bytes from the beginning of `out`; -1 = is not stored */
};

static struct {
    char name[16];
    struct operand value;
} registers[MAX_REGISTERS];
static int n_registers, n_made;

static struct operand *value_of(const char *name)
{
    for (int i = 0; i < n_registers; i++)
        if (strcmp(registers[i].name, name) == 0)
            return &registers[i].value;
    assert_true(n_registers < MAX_REGISTERS);
    snprintf(registers[n_registers].name, sizeof registers[0].name, "%s", name);
    registers[n_registers].value = (struct operand){.kind = UNKNOWN, .stored_to = -1};
    return &registers[n_registers++].value;
}

static void copy_value(const char *to, const char *from, int plus)
{
    struct operand *t = value_of(to);
    const int stored_to = t->stored_to;

    if (*from == '%')
        *t = *value_of(from);
    else if (*from == '_' || isalpha((unsigned char)*from))
        *t = (struct operand){.kind = SHARED};
    else if (isdigit((unsigned char)*from))
        *t = (struct operand){.kind = NUMBER, .at = atoi(from)};
    t->at += plus;
    t->stored_to = stored_to;
}

/* "[%rd4+64]": the register and the number; false where it is something else. */
static bool read_address(const char *text, char name[16], int *plus)
{
    *plus = 0;
    return sscanf(text, "[%15[%a-z0-9]+%d]", name, plus) >= 1;
}

/* Operations whose result is what their first operand holds, and a number more. */
static bool passes_on(const char *op)
{
    static const char *const names[] = {"mov.", "cvt", "add.s64", "add.s32"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(op, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* One line that is no inline PTX; stores are noted in a pass before the others, as they come behind. A word that is
 * made 64 bits, of constants above, is that word. */
static void trace(const char *line, bool stores)
{
    char op[64], a[64] = "", b[64] = "", name[16];
    long long number = 0;
    int plus, parameter;

    if (sscanf(line, " %63s %63[^,;], %63[^,;], %lld", op, a, b, &number) < 3)
        return;
    if (stores && strncmp(op, "st.global.", 10) == 0 && read_address(a, name, &plus))
        value_of(b)->stored_to = plus;
    if (stores || *a != '%')
        return;
    if (strncmp(op, "ld.param.", 9) == 0 && sscanf(b, "[probe_param_%d]", &parameter) == 1)
        *value_of(a) = (struct operand){.kind = PARAMETER, .parameter = parameter, .stored_to = -1};
    else if (strncmp(op, "ld.global.", 10) == 0 && read_address(b, name, &plus) && value_of(name)->kind == PARAMETER)
        *value_of(a) = (struct operand){LOADED, value_of(name)->at + plus, 0, value_of(a)->stored_to};
    else if (passes_on(op))
        copy_value(a, *b == '{' ? b + 1 : b, (int)number);
    else if (strncmp(op, "or.b64", 6) == 0)
        copy_value(a, b, 0);
}

/* A register by its value. */
static void put_register(const char *name, struct buf *out)
{
    struct operand *v = value_of(name);

    if (v->kind == UNKNOWN && v->stored_to < 0)
        *v = (struct operand){MADE, n_made++, 0, -1};
    if (v->kind == LOADED)
        buf_printf(out, "i%d", v->at);
    else if (v->kind == SHARED)
        buf_printf(out, "s+%d", v->at);
    else if (v->kind == MADE)
        buf_printf(out, "x%d", v->at);
    else if (v->kind == NUMBER)
        buf_printf(out, "#%d", v->at);
    else if (v->kind == PARAMETER)
        buf_printf(out, "p%d+%d", v->parameter, v->at);
    if (v->stored_to >= 0)
        buf_printf(out, ">o%d", v->stored_to);
}

static size_t register_bytes(const char *at)
{
    size_t n = 1;

    while (isalnum((unsigned char)at[n]))
        n++;
    return n;
}

/* The statement with values in the place of registers. */
static void put_statement(const char *line, struct buf *out)
{
    char name[16];

    while (*line) {
        const size_t n = *line == '%' ? register_bytes(line) : 1;

        snprintf(name, sizeof name, "%.*s", (int)n, line);
        if (*line == '%')
            put_register(name, out);
        else
            buf_append(out, line, 1);
        line += n;
    }
}

/* PTX, line by line: *at moves on; false at the end. Blanks in front are left out. */
static bool next_line(const char **at, char line[LINE_BYTES])
{
    size_t n;

    *at += strspn(*at, " \t\n");
    n = strcspn(*at, "\n");
    snprintf(line, LINE_BYTES, "%.*s", (int)n, *at);
    *at += n;
    return n > 0;
}

/* All lines of a statement of inline PTX, which ends with the line that says so. */
static void put_lines(const char **at, char line[LINE_BYTES], struct buf *out)
{
    while (next_line(at, line) && strcmp(line, "// end inline asm") != 0) {
        if (out->len)
            buf_puts(out, " ");
        put_statement(line, out);
    }
}

static void check_probe(const struct golden *g, const char *ptx)
{
    const char *const begin = strstr(ptx, "entry probe(");
    const char *at = begin;
    char line[LINE_BYTES];
    struct buf statement;
    int n = 0;

    assert_non_null(begin);
    n_registers = n_made = 0;
    while (next_line(&at, line) && *line != '}')
        trace(line, true);
    at = begin;
    while (next_line(&at, line) && *line != '}') {
        const bool meets = strncmp(line, "bar.warp.", 9) == 0;

        if (!meets && strcmp(line, "// begin inline asm") != 0) {
            trace(line, false);
            continue;
        }
        buf_init(&statement, LINE_BYTES);
        if (meets)
            buf_puts(&statement, line);
        else
            put_lines(&at, line, &statement);
        assert_in_range(n, 0, MAX_STATEMENTS - 1);
        if (!g->statements[n] || strcmp(buf_text(&statement), g->statements[n]) != 0)
            fail_msg("%s, %s, sm_%d:\n  %s\nexpected\n  %s", g->template_id, g->workload, g->sm, buf_text(&statement),
                     g->statements[n] ? g->statements[n] : "nothing");
        buf_fini(&statement);
        n++;
    }
    if (n < MAX_STATEMENTS && g->statements[n])
        fail_msg("%s, %s, sm_%d: no \"%s\"", g->template_id, g->workload, g->sm, g->statements[n]);
}

/* Forms. */

static bool has_form(const char *line, const char *form)
{
    static const struct {
        char letter;
        const char *prefix;
    } kinds[] = {{'F', "%f"}, {'R', "%r"}, {'D', "%rd"}};

    for (; *form; form++) {
        size_t n = 1;

        if (*form == '#') {
            n = strspn(line, "0123456789");
        } else if (strchr("FRD", *form)) {
            for (int i = 0; i < 3; i++)
                if (kinds[i].letter == *form) {
                    const size_t k = strlen(kinds[i].prefix);

                    n = strncmp(line, kinds[i].prefix, k) ? 0 : strspn(line + k, "0123456789");
                    n += n ? k : 0;
                }
        } else if (*line != *form) {
            return false;
        }
        if (!n)
            return false;
        line += n;
    }
    return !*line;
}

static bool is_known(const char *line)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (has_form(line, forms[i]))
            return true;
    return false;
}

/* How many statements were held against forms. */
static int check_forms(const struct golden *g, const char *ptx)
{
    const char *at = ptx;
    char line[LINE_BYTES];
    int n = 0;

    while (next_line(&at, line))
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
            if (strncmp(line, beginnings[i], strlen(beginnings[i])) == 0) {
                n++;
                if (!is_known(line))
                    fail_msg("%s, %s, sm_%d: %s", g->template_id, g->workload, g->sm, line);
            }
    return n;
}

/* The program of the default config, with the probe behind its text, as PTX. */
static void make_ptx(const struct golden *g, struct nvrtc_built *built)
{
    const struct template *t = template_find(g->template_id);
    struct device_desc d = {.api = "cuda"};
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};
    const struct blob *source;

    assert_non_null(t);
    cuda_arch_describe(cuda_arch_find(g->sm), 24, &d);
    program_init(&p);
    blobs_init(&blobs, (size_t)1 << 24);
    buf_init(&text, (size_t)1 << 20);
    assert_int_equal(workload_parse(g->workload, &w, &why), ERR_OK);
    assert_int_equal(template_space(t, &w, &d, &s, &why), ERR_OK);
    assert_int_equal(t->fallback(&w, &d, s, &c), ERR_OK);
    assert_int_equal(template_program(t, &w, &d, s, &c, &p, &blobs, &why), ERR_OK);
    source = blobs_get(&blobs, p.modules[0].source.hex);
    buf_append(&text, source->data, source->n_bytes);
    buf_puts(&text, g->probe ? g->probe : "");
    assert_int_equal(blobs_put(&blobs, buf_text(&text), text.len, &p.modules[0].source), ERR_OK);
    if (nvrtc_build(nvrtc, &p.modules[0], &blobs, g->sm, true, built, &why))
        fail_msg("%s: %s\n%s", g->template_id, why.text, built->log ? built->log : "");
    buf_fini(&text);
    blobs_fini(&blobs);
    program_fini(&p);
    space_free(s);
}

static void operands_are_in_the_order_of_the_isa(void **state)
{
    int n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        struct nvrtc_built built;

        if (nvrtc_supports(nvrtc, goldens[i].sm, NULL))
            continue;
        make_ptx(&goldens[i], &built);
        if (goldens[i].probe)
            check_probe(&goldens[i], buf_text(&built.code));
        n += check_forms(&goldens[i], buf_text(&built.code));
        nvrtc_built_fini(&built);
    }
    printf("%d statements have their form\n", n);
    assert_true(n > 100);
}

static void forms_are_told_apart(void **state)
{
    (void)state;
    assert_true(
        has_form("cp.async.cg.shared.global [%r13], [%rd1], 16, %r8;", "cp.async.cg.shared.global [R], [D], 16, R;"));
    assert_false(is_known("cp.async.cg.shared.global [%rd1], [%r13], 16, %r8;"));
    assert_false(is_known("cp.async.ca.shared.global [%r13], [%rd1], %r8, 8;"));
    assert_false(is_known("cp.async.cg.shared.global [%r13], [%rd1], 8;"));
    assert_false(is_known("cp.async.wait_group %r1;"));
    assert_true(is_known("cp.async.wait_group 12;"));
    assert_false(is_known("dp4a.s32.s32 %r1, %r2, %r3;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_in_the_order_of_the_isa),
        cmocka_unit_test(forms_are_told_apart),
    };
    struct why why = {""};
    int failed;

    if (nvrtc_open(NULL, &nvrtc, &why)) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    nvrtc_close(nvrtc);
    return failed;
}
