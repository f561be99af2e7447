/* SPDX-License-Identifier: MIT */
/* Operands inside inline PTX, which no emulated device runs, are in the order that the PTX ISA writes down. NVRTC makes
 * PTX of programs of templates with a kernel behind them that gives each instruction operands that are known: in the
 * PTX a register is traced to the word that it was loaded from (i8: byte 8 of `in`), the word that it is stored to
 * (>o8) or the shared address that it holds (s+8). And all such instructions of the program itself have the form that
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

#define MAX_STATEMENTS 16
#define MAX_REGISTERS 512
#define LINE_BYTES 400

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
    "}\n"
#define FOUR_SUMS "{i0>o0,i4>o4,i8>o8,i12>o12}"
#define LDMATRIX "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {>o64,>o68,>o72,>o76}, [s+32];"

/* From the PTX ISA: mma and ldmatrix ("Warp-level matrix instructions": d, a, b, c; r, [p]), dp4a, fma, sub and mul (d,
 * a, b, c), mov of {a, b}, of which a is the lower half, cvt.dtype.atype d, a. */
static const struct golden goldens[] = {
    {"dense/mma",
     "dense f16 m=256 n=256 k=512",
     80,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " FOUR_SUMS ", {i64,i68,i72,i76}, {i128,i132}, " FOUR_SUMS ";",
      LDMATRIX}},
    {"dense/mma",
     "dense bf16 m=256 n=256 k=512",
     90,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " FOUR_SUMS ", {i64,i68,i72,i76}, {i128,i132}, " FOUR_SUMS
      ";",
      LDMATRIX}},
    {"dense/mma",
     "dense i8 m=256 n=256 k=512",
     80,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 " FOUR_SUMS ", {i64,i68,i72,i76}, {i128,i132}, " FOUR_SUMS ";",
      LDMATRIX}},
    {"dense/mma",
     "dense f16 m=256 n=256 k=512",
     75,
     MMA_PROBE,
     {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " FOUR_SUMS ", {i64,i68}, {i128}, " FOUR_SUMS ";", LDMATRIX}},
    {"dense/mma",
     "dense i8 m=256 n=256 k=512",
     75,
     MMA_PROBE,
     {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {i0>o0,i4>o4}, {i64}, {i128}, {i0>o0,i4>o4};", LDMATRIX}},
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

enum kind { UNKNOWN, PARAMETER, SHARED, LOADED, MADE }; /* MADE: by a statement of inline PTX; `at` counts them */

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
    t->at += plus;
    t->stored_to = stored_to;
}

/* "[%rd4+64]": the register and the number; false where it is something else. */
static bool read_address(const char *text, char name[16], int *plus)
{
    *plus = 0;
    return sscanf(text, "[%15[%a-z0-9]+%d]", name, plus) >= 1;
}

/* One line that is no inline PTX; stores are noted in a pass before the others, as they come behind. */
static void trace(const char *line, bool stores)
{
    char op[64], a[64] = "", b[64] = "", name[16];
    int plus = 0, parameter;

    if (sscanf(line, " %63s %63[^,;], %63[^,;], %d", op, a, b, &plus) < 3)
        return;
    if (stores && strncmp(op, "st.global.", 10) == 0 && read_address(a, name, &plus))
        value_of(b)->stored_to = plus;
    if (stores || *a != '%')
        return;
    if (strncmp(op, "ld.param.", 9) == 0 && sscanf(b, "[probe_param_%d]", &parameter) == 1)
        *value_of(a) = (struct operand){.kind = PARAMETER, .parameter = parameter, .stored_to = -1};
    else if (strncmp(op, "ld.global.", 10) == 0 && read_address(b, name, &plus) && value_of(name)->kind == PARAMETER)
        *value_of(a) = (struct operand){LOADED, value_of(name)->at + plus, 0, value_of(a)->stored_to};
    else if (strncmp(op, "mov.", 4) == 0 || strncmp(op, "cvt", 3) == 0 || strncmp(op, "add.s64", 7) == 0)
        copy_value(a, b, plus);
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
        if (strcmp(line, "// begin inline asm") != 0) {
            trace(line, false);
            continue;
        }
        buf_init(&statement, LINE_BYTES);
        assert_true(next_line(&at, line));
        put_statement(line, &statement);
        assert_in_range(n, 0, MAX_STATEMENTS - 1);
        if (!g->statements[n] || strcmp(buf_text(&statement), g->statements[n]) != 0)
            fail_msg("%s, %s, sm_%d:\n  %s\nis\n  %s\nexpected\n  %s", g->template_id, g->workload, g->sm, line,
                     buf_text(&statement), g->statements[n] ? g->statements[n] : "nothing");
        buf_fini(&statement);
        n++;
        assert_true(next_line(&at, line)); /* end inline asm */
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
