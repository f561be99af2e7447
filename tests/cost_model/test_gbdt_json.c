/* SPDX-License-Identifier: MIT */
/* Facts about model files: ours come back bit for bit, broken ones are refused with a line, those of before with more
 * options are read */
#include "cost_model/gbdt_json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N 200
#define P 3

static float rows[N * P], targets[N];
static const char *const names[P] = {"tile", "log2 \"x\"", "share"};

static struct model *fitted(size_t n_trees)
{
    struct gbdt_options o = gbdt_defaults();
    struct model *m = NULL;
    struct rng rng;

    rng_init(&rng, 1);
    for (size_t i = 0; i < N; i++) {
        rows[i * P] = (float)(1 << rng_below(&rng, 5));
        rows[i * P + 1] = rng_below(&rng, 9) == 0 ? NAN : (float)rng_below(&rng, 5);
        rows[i * P + 2] = (float)rng_unit(&rng) / 3;
        targets[i] = rows[i * P] * (isnan(rows[i * P + 1]) ? 0.3f : rows[i * P + 1]) + rows[i * P + 2];
    }
    o.n_trees = n_trees;
    o.n_forests = 2;
    o.max_leaves = 12;
    assert_int_equal(gbdt_new(&m, 5, &o), ERR_OK);
    assert_int_equal(gbdt_ops.fit(m, &(struct model_data){rows, targets, NULL, N, P}), ERR_OK);
    return m;
}

static void text_of(const struct model *m, struct buf *out)
{
    buf_init(out, GBDT_JSON_MAX_BYTES);
    assert_int_equal(gbdt_write(m, names, out), ERR_OK);
}

static enum err read_text(const char *text, size_t n, struct model **m, struct why *why)
{
    cJSON *root = NULL;
    enum err e = json_parse(text, n, &root, why);

    if (e == ERR_OK)
        e = gbdt_read(m, root, NULL, 0, why);
    cJSON_Delete(root);
    return e;
}

static void a_model_comes_back_bit_for_bit(void **state)
{
    struct model *a = fitted(15), *b = NULL;
    struct buf first, second;
    float x[2][N], y[2][N], share[2][P];
    struct why why = {""};

    (void)state;
    text_of(a, &first);
    assert_int_equal(read_text(buf_text(&first), first.len, &b, &why), ERR_OK);
    text_of(b, &second);
    assert_string_equal(buf_text(&first), buf_text(&second));
    assert_int_equal(gbdt_ops.predict(a, rows, N, x[0], x[1]), ERR_OK);
    assert_int_equal(gbdt_ops.predict(b, rows, N, y[0], y[1]), ERR_OK);
    assert_memory_equal(x, y, sizeof(x));
    assert_int_equal(gbdt_ops.importance(a, share[0]), ERR_OK);
    assert_int_equal(gbdt_ops.importance(b, share[1]), ERR_OK);
    assert_memory_equal(share[0], share[1], sizeof(share[0]));
    gbdt_ops.fini(a);
    gbdt_ops.fini(b);
    buf_fini(&first);
    buf_fini(&second);
}

static void a_model_of_other_features_is_refused_by_name(void **state)
{
    const char *const other[P] = {"tile", "unroll", "share"};
    struct model *m = fitted(3), *b = NULL;
    struct why why = {""};
    struct buf text;
    cJSON *root = NULL;

    (void)state;
    text_of(m, &text);
    assert_int_equal(json_parse(buf_text(&text), text.len, &root, NULL), ERR_OK);
    assert_int_equal(gbdt_read(&b, root, names, P, &why), ERR_OK);
    gbdt_ops.fini(b);
    b = NULL;
    assert_int_equal(gbdt_read(&b, root, other, P, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "unroll"));
    assert_int_equal(gbdt_read(&b, root, names, 2, &why), ERR_INPUT);
    assert_null(b);
    gbdt_ops.fini(m);
    cJSON_Delete(root);
    buf_fini(&text);
}

static void a_file_cut_short_anywhere_is_refused(void **state)
{
    struct model *m = fitted(2), *b = NULL;
    struct buf text;

    (void)state;
    text_of(m, &text);
    for (size_t n = 0; n + 2 < text.len; n += 1 + n / 40) {
        struct why why = {""};

        assert_int_equal(read_text(buf_text(&text), n, &b, &why), ERR_INPUT);
        assert_true(why.text[0] != '\0');
    }
    assert_null(b);
    gbdt_ops.fini(m);
    buf_fini(&text);
}

static void a_changed_file_is_refused_with_a_line_or_still_a_model(void **state)
{
    static const char bytes[] = "0123456789-.,[]{}\":eE tn";
    struct model *m = fitted(3);
    struct buf text;
    struct rng rng;
    char *copy;

    (void)state;
    text_of(m, &text);
    copy = malloc(text.len + 1);
    assert_non_null(copy);
    rng_init(&rng, 4);
    for (int i = 0; i < 4000; i++) {
        struct model *b = NULL;
        struct why why = {""};
        float scores[N];
        enum err e;

        memcpy(copy, buf_text(&text), text.len + 1);
        for (uint64_t j = 0; j <= rng_below(&rng, 3); j++)
            copy[rng_below(&rng, text.len)] = bytes[rng_below(&rng, sizeof(bytes) - 1)];
        e = read_text(copy, text.len, &b, &why);
        if (e) {
            assert_null(b);
            assert_true(why.text[0] != '\0');
            continue;
        }
        assert_int_equal(gbdt_ops.predict(b, rows, N, scores, NULL), ERR_OK);
        gbdt_ops.fini(b);
    }
    free(copy);
    gbdt_ops.fini(m);
    buf_fini(&text);
}

static void trees_that_are_none_are_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"{\"nodes\":[0,1,0,0,-2],\"leaves\":[1,2]}", "behind"},
        {"{\"nodes\":[0,1,0,-1,-1],\"leaves\":[1,2]}", "leaf of its own"},
        {"{\"nodes\":[1,1,0,-1,-2],\"leaves\":[1,2]}", "column"},
        {"{\"nodes\":[0,1,0,-1,-3],\"leaves\":[1,2,3]}", "leaves: 3 numbers, expected 2 to 2"},
        {"{\"nodes\":[0,255,0,-1,-2],\"leaves\":[1,2]}", "whole number"},
        {"{\"nodes\":[0,1,0,-1],\"leaves\":[1]}", "five"},
        {"{\"nodes\":[],\"leaves\":[1e39]}", "finite"},
        {"{\"nodes\":[0,1,0,-1,-2],\"leaves\":[1,\"2\"]}", "leaves[1]: expected a finite number"},
        {"{\"nodes\":[0,1,0,-1,-2],\"leaves\":[null,2]}", "leaves[0]: expected a finite number"},
        {"{\"nodes\":[0,1.5,0,-1,-2],\"leaves\":[1,2]}", "whole number"},
        {"7", "nodes"},
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i <= sizeof(wrong) / sizeof(*wrong); i++) {
        const bool is_right = i == sizeof(wrong) / sizeof(*wrong);
        struct model *m = NULL;
        struct why why = {""};
        const int n = snprintf(
            text, sizeof(text),
            "{\"schema\":\"tune.gbdt/"
            "1\",\"features\":1,\"seed\":\"1\",\"options\":{\"loss\":\"squared\",\"n_forests\":1,"
            "\"n_trees\":1,\"max_depth\":6,\"max_leaves\":0,\"patience\":0,\"rate\":0.1,\"row_share\":1,"
            "\"column_share\":1,\"l2\":1,\"min_child\":1,\"min_gain\":0,\"held_back\":0},\"base\":2,\"gains\":[1],"
            "\"columns\":[{\"feature\":0,\"cuts\":[0.5],\"low\":[0,1],\"high\":[0,1]}],\"forests\":[[%s]]}",
            is_right ? "{\"nodes\":[0,1,1,-1,-2],\"leaves\":[-1,3]}" : wrong[i][0]);

        if (!is_right) {
            assert_int_equal(read_text(text, (size_t)n, &m, &why), ERR_INPUT);
            if (!strstr(why.text, wrong[i][1]))
                fail_msg("%s: %s", wrong[i][0], why.text);
        } else { /* low, high, missing */
            const float asked[3] = {0, 1, NAN};
            float scores[3];

            assert_int_equal(read_text(text, (size_t)n, &m, &why), ERR_OK);
            assert_int_equal(gbdt_ops.predict(m, asked, 3, scores, NULL), ERR_OK);
            assert_true(scores[0] == 1 && scores[1] == 5 && scores[2] == 5);
            gbdt_ops.fini(m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_comes_back_bit_for_bit),
        cmocka_unit_test(a_model_of_other_features_is_refused_by_name),
        cmocka_unit_test(a_file_cut_short_anywhere_is_refused),
        cmocka_unit_test(a_changed_file_is_refused_with_a_line_or_still_a_model),
        cmocka_unit_test(trees_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
