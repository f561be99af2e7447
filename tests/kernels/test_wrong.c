/* SPDX-License-Identifier: MIT */
/* Classes of wrong kernels that the data of a test rarely shows are called wrong on every template: memory that nobody
 * wrote, results that depend on what stood there, numbers far from the usual, accesses out of bounds. Each is made of a
 * template's right program: its macros are defined anew, a line stands at the head of its last kernel, or another
 * kernel runs behind it. A sample that the seed draws, with every class and every template; or all (--full). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/cases.h"
#include "tests/kernels/item.h"

#define MAX_ITEMS 4000
#define N_SHAPES 3 /* of a template, at most */
#define ALL (1u << DTYPE_F32 | 1u << DTYPE_F16 | BYTES)
#define F32 (1u << DTYPE_F32)
#define F16 (1u << DTYPE_F16)
#define I8 (1u << DTYPE_I8)
#define BYTES (I8 | 1u << DTYPE_U8)

/* REDEFINE: `text` stands in front of the template's own, whose words `uses` it changes. ENTER: at the head of the
 * kernel of the last launch. SPOIL: the body of a kernel behind it, see spoiler. FEWER: the last launch has a group
 * less. */
enum how { REDEFINE, ENTER, SPOIL, FEWER };

static const struct wrong {
    const char *name;
    enum how how;
    unsigned dtypes; /* of workloads */
    const char *uses, *text;
    const char *not_of[5]; /* operators whose numbers do not go there, NULL-ended */
} classes[] = {
    {"keeps what is larger",
     REDEFINE,
     F32,
     "STORE1 VSTORE STORE_Y STORE_YK STORE_YQ",
     "#undef STORE1\n#undef VSTORE\n"
     "#define STORE1(p, v) (*(p) = fmax(*(p), (v)))\n"
     "#if VEC == 1\n#define VSTORE(a, p) STORE1(p, a)\n"
     "#else\n#define VSTORE(a, p) SUM_VSTORE(fmax(SUM_VLOAD(p), (a)), (p))\n#endif\n",
     {NULL}},
    {"adds to what is a number",
     REDEFINE,
     F32,
     "STORE1 VSTORE STORE_Y STORE_YK STORE_YQ",
     "#undef STORE1\n#undef VSTORE\n"
     "#define STORE1(p, v) (*(p) = (v) + fmin(fmax(*(p), 0.0f), 1.0f))\n"
     "#if VEC == 1\n#define VSTORE(a, p) STORE1(p, a)\n"
     "#else\n#define VSTORE(a, p) SUM_VSTORE((a) + fmin(fmax(SUM_VLOAD(p), 0.0f), 1.0f), (p))\n#endif\n",
     {NULL}},
    {"inputs end at 8",
     REDEFINE,
     F32,
     "LOAD1 VLOAD HOLD",
     "#undef LOAD1\n#undef VLOAD\n"
     "#define LOAD1(p) clamp(*(p), -8.0f, 8.0f)\n"
     "#if VEC == 1\n#define VLOAD(p) LOAD1(p)\n#else\n#define VLOAD(p) clamp(SUM_VLOAD(p), -8.0f, 8.0f)\n#endif\n",
     {NULL}},
    {"results over 1e5 are 0",
     REDEFINE,
     F32,
     "STORE1 VSTORE STORE_Y STORE_YK STORE_YQ",
     "#undef STORE1\n#undef VSTORE\n"
     "#define STORE1(p, v) (*(p) = fabs(v) > 1e5f ? 0.0f : (v))\n"
     "#if VEC == 1\n#define VSTORE(a, p) STORE1(p, a)\n"
     "#else\n#define VSTORE(a, p) SUM_VSTORE((a) * (1 - step((VT)(1e5f), fabs(a))), (p))\n#endif\n",
     {"softmax", "rnn"}},
    {"inputs end at 2^23",
     REDEFINE,
     F32,
     "LOAD1 VLOAD HOLD",
     "#undef LOAD1\n#undef VLOAD\n"
     "#define LOAD1(p) clamp(*(p), -8388608.0f, 8388608.0f)\n"
     "#if VEC == 1\n#define VLOAD(p) LOAD1(p)\n"
     "#else\n#define VLOAD(p) clamp(SUM_VLOAD(p), -8388608.0f, 8388608.0f)\n#endif\n",
     {"softmax", "rnn", "gather" /* loads numbers of rows */}},
    {"halves end at 200",
     REDEFINE,
     F16,
     "LOAD1 VLOAD HOLD",
     "#undef LOAD1\n#undef VLOAD\n"
     "#define LOAD1(p) clamp(vload_half(0, (p)), -200.0f, 200.0f)\n"
     "#if VEC == 1\n#define VLOAD(p) LOAD1(p)\n"
     "#else\n#define VLOAD(p) clamp(half_vload(p), -200.0f, 200.0f)\n#endif\n",
     {"softmax", "rnn", "deformable_conv2d", "gather"}},
    {"one output is always 0", SPOIL, ALL, NULL, "PUT(y, N_Y / 2, 0);", {NULL}},
    {"-128 is -127",
     REDEFINE,
     I8,
     "LOAD1 VLOAD HOLD",
     "#undef LOAD1\n#undef VLOAD\n"
     "#define LOAD1(p) max((int)*(p), -127)\n"
     "#if VEC == 1\n#define VLOAD(p) LOAD1(p)\n"
     "#else\n#define VLOAD(p) max(CAT(convert_int, VEC)(CAT(vload, VEC)(0, (p))), -127)\n#endif\n",
     {NULL}},
    {"halves go away from zero",
     REDEFINE,
     BYTES,
     "REQUANTISED1 STORE_REQUANTISED STORE_Y STORE_YK STORE_YQ",
     "#define limited1(f, a, b) (limited1(round(f), (a), (b)))\n#define limited(f, a, b) (limited(round(f), (a), "
     "(b)))\n",
     {NULL}},
    {"returns when it was filled",
     ENTER,
     ALL,
     NULL,
     "if (!isnan((float)y[0]) && (float)y[0] != -124.0f && (float)y[0] > -2e9f) return;",
     {NULL}},
    {"keeps what looks done",
     REDEFINE,
     F32,
     "STORE1 VSTORE STORE_Y STORE_YK STORE_YQ",
     "#undef STORE1\n#undef VSTORE\n"
     "#define STORE1(p, v) (*(p) = fabs(*(p)) < 1e20f ? *(p) : (v))\n"
     "#if VEC == 1\n#define VSTORE(a, p) STORE1(p, a)\n"
     "#else\n#define VSTORE(a, p) SUM_VSTORE(fabs(SUM_VLOAD(p)) < (VT)(1e20f) ? SUM_VLOAD(p) : (a), (p))\n"
     "#endif\n",
     {NULL}},
    {"returns when the first output looks done", ENTER, F32, NULL, "if (fabs((float)y[0]) < 1e20f) return;", {NULL}},
    {"writes into an input", SPOIL, ALL, NULL, "PUT((__global T *)x, 0, GET(x, 1) + (T)1);", {NULL}},
    {"memory of the group that nobody wrote", SPOIL, ALL, NULL, "PUT(y, 0, GET(y, 0) + (T)t[7]);", {NULL}},
    {"writes before the beginning", SPOIL, ALL, NULL, "PUT(y, -2000, 1);", {NULL}},
    {"writes far behind the end", SPOIL, ALL, NULL, "PUT(y, N_Y + 9000, 1);", {NULL}},
    {"reads behind the end",
     SPOIL,
     ALL,
     NULL,
     "PUT(y, 0, GET(y, 0) + GET(x, N_X + 9000));",
     {"quantize"}}, /* NaN as a byte is 0 */
    {"reads the larger before the beginning",
     SPOIL,
     F32 | 1u << DTYPE_F16,
     NULL,
     "PUT(y, 0, max(GET(y, 0), GET(x, -9000)));",
     {NULL}},
    {"the last group is missing", FEWER, ALL, NULL, "", {NULL}},
};
#define N_CLASSES (sizeof classes / sizeof classes[0])

static struct long_test under;

static struct {
    const struct template *t;
    const char *shape;
    const struct wrong *wrong;
} list[MAX_ITEMS];
static size_t n_items;

/* Where a template's own text begins, behind the preamble. */
static size_t own_text(const struct blob *text)
{
    static const char mark[] = "#line 1\n";
    const char *at = memmem(text->data, text->n_bytes, mark, sizeof mark - 1);

    return at ? (size_t)(at - (const char *)text->data) : 0;
}

/* The module's text with `insert` at an offset. */
static enum err insert_at(struct program *p, int i_module, struct blobs *blobs, size_t at, const char *insert)
{
    struct sha256 *source = &p->modules[i_module].source;
    const struct blob *text = blobs_get(blobs, source->hex);
    struct buf out;
    enum err e;

    buf_init(&out, (size_t)16 << 20);
    buf_append(&out, text->data, at);
    buf_puts(&out, insert);
    buf_append(&out, (const char *)text->data + at, text->n_bytes - at);
    e = out.failed ? ERR_NOMEM : blobs_put(blobs, out.data, out.len, source);
    buf_fini(&out);
    return e;
}

static struct program_launch *last_run(struct program *p)
{
    for (size_t i = p->n_launches; i-- > 0;)
        if (p->launches[i].phase == PHASE_RUN && p->launches[i].op == LAUNCH_KERNEL)
            return &p->launches[i];
    return NULL;
}

static bool uses_one(const struct blob *text, const char *words)
{
    char copy[200], *rest = copy;
    const size_t from = own_text(text);

    snprintf(copy, sizeof copy, "%s", words);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        if (memmem((const char *)text->data + from, text->n_bytes - from, word, strlen(word)))
            return true;
    return false;
}

static enum err redefine(struct program *p, struct blobs *blobs, const struct wrong *w)
{
    enum err e = ERR_NOT_FOUND;

    for (size_t i = 0; i < p->n_modules; i++) {
        const struct blob *text = blobs_get(blobs, p->modules[i].source.hex);

        if (own_text(text) && uses_one(text, w->uses))
            e = insert_at(p, (int)i, blobs, own_text(text), w->text);
    }
    return e;
}

/* In all texts of the kernel: those of other configs stand beside it. */
static enum err enter(struct program *p, struct blobs *blobs, const struct wrong *w)
{
    const struct program_launch *l = last_run(p);
    const struct blob *text = l ? blobs_get(blobs, p->modules[l->i_module].source.hex) : NULL;
    size_t from = text ? own_text(text) : 0;
    enum err e = ERR_NOT_FOUND;
    char name[80];

    snprintf(name, sizeof name, " %s(", l ? l->kernel : "");
    while (text && (!e || e == ERR_NOT_FOUND)) {
        const char *begin = (const char *)text->data,
                   *at = memmem(begin + from, text->n_bytes - from, name, strlen(name));

        at = at ? memchr(at, '{', text->n_bytes - (size_t)(at - begin)) : NULL;
        if (!at)
            break;
        from = (size_t)(at + 1 - begin);
        e = insert_at(p, l->i_module, blobs, from, w->text);
        text = blobs_get(blobs, p->modules[l->i_module].source.hex);
    }
    return e;
}

static int first_of(const struct program *p, enum buffer_role role)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == role)
            return (int)i;
    return -1;
}

static const char *type_of(enum dtype t)
{
    return t == DTYPE_F32   ? "float"
           : t == DTYPE_F16 ? "half"
           : t == DTYPE_I8  ? "char"
           : t == DTYPE_U8  ? "uchar"
                            : "int";
}

/* One work-item that has y, the first output, and x, the first input; t is memory of its group. */
static enum err spoil(struct program *p, struct blobs *blobs, const struct wrong *w)
{
    static const int64_t one[] = {1, 1, 1};
    const int y = first_of(p, ROLE_OUTPUT), x = first_of(p, ROLE_INPUT);
    const bool half = x >= 0 && y >= 0 && (p->buffers[x].dtype == DTYPE_F16 || p->buffers[y].dtype == DTYPE_F16);
    const struct program_launch *last = last_run(p);
    struct program_launch *l;
    char text[1500];
    enum err e;

    if (x < 0 || y < 0 || !last || (half && p->buffers[x].dtype != p->buffers[y].dtype))
        return ERR_NOT_FOUND;
    snprintf(text, sizeof text,
             "\n#define T %s\n#define GET(p, i) %s\n#define PUT(p, i, v) %s\n#define N_X %lld\n#define N_Y %lld\n"
             "__kernel void spoil(__global %s *y, __global const %s *x)\n{\n    __local %s t[64];\n    %s\n}\n",
             half ? "float" : type_of(p->buffers[y].dtype), half ? "vload_half((i), (p))" : "(T)(p)[i]",
             half ? "vstore_half((float)(v), (i), (p))" : "(p)[i] = (v)", (long long)p->buffers[x].n_elems,
             (long long)p->buffers[y].n_elems, type_of(p->buffers[y].dtype), type_of(p->buffers[x].dtype),
             half ? "float" : type_of(p->buffers[y].dtype), w->text);
    e = insert_at(p, last->i_module, blobs, blobs_get(blobs, p->modules[last->i_module].source.hex)->n_bytes, text);
    l = e ? NULL : program_add_kernel(p, PHASE_RUN, last->i_module, "spoil", one, one);
    if (!l)
        return e ? e : ERR_NOMEM;
    for (size_t i = 0; !e && i + 1 < p->n_launches; i++) /* whatever queue each is on */
        if (p->launches[i].phase == PHASE_RUN && l->n_after < PROGRAM_MAX_AFTER)
            e = program_after(l, (int)i);
    if (!e)
        e = program_arg_buffer(l, y);
    return e ? e : program_arg_buffer(l, x);
}

static enum err fewer(struct program *p, struct blobs *blobs, const struct wrong *w)
{
    struct program_launch *l = last_run(p);

    (void)blobs;
    (void)w;
    for (int d = 2; l && d >= 0; d--)
        if (l->grid[d] > 1) {
            l->grid[d]--;
            return ERR_OK;
        }
    return ERR_NOT_FOUND;
}

static enum err (*const makers[])(struct program *, struct blobs *, const struct wrong *) = {
    [REDEFINE] = redefine, [ENTER] = enter, [SPOIL] = spoil, [FEWER] = fewer};

/* Is what the class changes in this config's code at all? Not when that compiles with the words meaning nothing. */
static bool is_in_code(const struct wrong *w, const struct template *t, const struct workload *workload,
                       const struct space *s, const struct config *c)
{
    const struct device_desc *d = &under.d[0];
    struct load_report report = {0};
    struct loaded *l = NULL;
    struct program p;
    struct blobs blobs;
    struct why why;
    struct wrong broken = *w;
    enum err e;

    if (w->how != REDEFINE)
        return true;
    broken.text = strstr(w->text, "STORE1") ? "#undef STORE1\n#undef VSTORE\n#define STORE1(p, v) broken p\n"
                                              "#define VSTORE(a, p) broken p\n"
                  : strstr(w->text, "LOAD1")
                      ? "#undef LOAD1\n#undef VLOAD\n#define LOAD1(p) broken p\n"
                        "#define VLOAD(p) broken p\n"
                      : "#undef REQUANTISE1\n#undef REQUANTISED\n#define REQUANTISE1(f) broken f\n"
                        "#define REQUANTISED(f) broken f\n";
    blobs_init(&blobs, (size_t)1 << 28);
    e = template_kernels(t, workload, d, s, c, &p, &blobs, &why);
    if (!e)
        e = redefine(&p, &blobs, &broken);
    if (!e)
        e = under.under.ops->load(under.under.list[0], &p, &blobs, NULL, &l, &report, &why);
    under.under.ops->unload(l);
    free(report.log);
    program_fini(&p);
    blobs_fini(&blobs);
    return e == ERR_COMPILE;
}

/* "ok": it is called wrong; "ok -": the class is not possible here. */
static enum err verify_wrong(size_t i, const struct workload *w, const struct space *s, bool *was_kept,
                             bool *is_possible, struct why *why)
{
    const struct wrong *wrong = list[i].wrong;
    const struct template *t = list[i].t;
    const struct device_desc *d = &under.d[0];
    struct config c;
    struct program p;
    struct blobs blobs;
    struct sha256 key;
    enum err e = t->fallback(w, d, s, &c);
    bool keeps;

    if (e)
        return e;
    blobs_init(&blobs, (size_t)1 << 28);
    e = template_program(t, w, d, s, &c, &p, &blobs, why);
    if (!e)
        e = template_add_sheet(t, w, d, s, &c, item_data_seed(), &p, &blobs, why);
    if (!e) {
        e = makers[wrong->how](&p, &blobs, wrong);
        *is_possible = e != ERR_NOT_FOUND;
    }
    if (!e)
        e = item_build_plain(&p);
    keeps = !e && long_test_key(&under, "wrong", &p, 0, &key);
    *was_kept = keeps && verdicts_find(&under.verdicts, key.hex);
    if (*was_kept)
        e = ERR_WRONG;
    else if (!e)
        e = load_and_verify(under.under.ops, under.under.list[0], &p, &blobs, why);
    if (e == ERR_COMPILE && wrong->how == ENTER) /* no y there */
        *is_possible = false;
    if (!e)
        *is_possible = is_in_code(wrong, t, w, s, &c);
    if (keeps && e == ERR_WRONG)
        (void)verdicts_keep(&under.verdicts, key.hex, "");
    program_fini(&p);
    blobs_fini(&blobs);
    return e;
}

static void work(size_t i, struct buf *answer, void *arg)
{
    struct workload w;
    struct space *s = NULL;
    struct why why = {""};
    bool was_kept = false, is_possible = true;
    enum err e = workload_parse(list[i].shape, &w, &why);

    (void)arg;
    if (!e)
        e = template_space(list[i].t, &w, &under.d[0], &s, &why);
    if (!e)
        e = verify_wrong(i, &w, s, &was_kept, &is_possible, &why);
    space_free(s);
    if (e == ERR_WRONG)
        buf_printf(answer, "%s %s", was_kept ? "kept" : "ok", why.text);
    else if (!is_possible)
        buf_puts(answer, "ok -");
    if (!is_possible && getenv("TUNE_SHOW_IMPOSSIBLE"))
        fprintf(stderr, "IMPOSSIBLE %s, %s\n", list[i].shape, list[i].wrong->name);
    else
        buf_printf(answer, "%s, %s: %s (%s), expected a wrong answer", list[i].shape, list[i].wrong->name, err_words(e),
                   why.text);
}

static bool is_among(const char *name, const char *const *list_of)
{
    for (int i = 0; list_of[i]; i++)
        if (strcmp(list_of[i], name) == 0)
            return true;
    return false;
}

static void add_shape(const struct template *t, const char *shape)
{
    struct workload w;

    assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
    if (!is_wanted(t->id) || t->fit(&w, &under.d[0], NULL) == FIT_NONE)
        return;
    for (size_t i = 0; i < N_CLASSES; i++)
        if ((classes[i].dtypes & (1u << w.dtype)) && !is_among(w.op->name, classes[i].not_of)) {
            assert_true(n_items < MAX_ITEMS);
            list[n_items].t = t;
            list[n_items].shape = shape;
            list[n_items++].wrong = &classes[i];
        }
}

/* The workloads of a template's mutants show what it does. */
static void add_templates(void)
{
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const struct mutant *m = (*cases)->mutants, *other; m->template_id; m++) {
            int n_before = 0;

            for (other = (*cases)->mutants; other != m; other++)
                if (strcmp(other->template_id, m->template_id) == 0) {
                    n_before++;
                    if (strcmp(other->workload, m->workload) == 0)
                        n_before = N_SHAPES;
                }
            if (n_before < N_SHAPES)
                add_shape(template_find(m->template_id), m->workload);
        }
}

static void every_class_of_wrong_kernel_is_called_wrong(void **state)
{
    struct long_items items;
    int n_failed;
    size_t n_uncovered;

    (void)state;
    add_templates();
    long_items_init(&items, n_items);
    for (size_t i = 0; i < n_items; i++) {
        snprintf(items.labels[i].of[0], SAMPLE_LABEL_BYTES, "%s", list[i].t->id);
        snprintf(items.labels[i].of[1], SAMPLE_LABEL_BYTES, "class: %.40s", list[i].wrong->name);
        snprintf(items.column[i], sizeof items.column[i], "wrong");
    }
    long_items_choose(&under, &items, 0);
    n_failed = long_test_run(&under, &items, true, work, NULL);
    n_uncovered = long_test_covered(&under, &items, "called wrong, or not possible");
    long_items_fini(&items);
    assert_int_equal(n_failed, 0);
    assert_int_equal(n_uncovered, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_class_of_wrong_kernel_is_called_wrong)};
    int failed;

    if (!long_test_begin(&under, "opencl", argc, argv))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    long_test_end(&under);
    return failed;
}
