/* SPDX-License-Identifier: MIT */
/* Feeds models to the reader of trees. What is read scores a row to a number and is written to
 * a text that is read to the same bytes. */
#include "cost_model/data.h"
#include "cost_model/gbdt_json.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print(const struct model *m, struct buf *out)
{
    buf_init(out, (size_t)64 << 20);
    if (gbdt_write(m, NULL, out) != ERR_OK)
        fuzz_die("read, but is not written");
}

static void score(const struct model *m)
{
    static float row[MODEL_MAX_FEATURES];
    float one = NAN, spread = NAN;

    if (gbdt_ops.predict(m, row, 1, &one, &spread) == ERR_OK && (isnan(one) || !(spread >= 0)))
        fuzz_die("a score of %g, a spread of %g", (double)one, (double)spread);
}

static void try_ours(const char *text, size_t n)
{
    struct model *m = NULL, *back = NULL;
    struct buf first, second;
    cJSON *tree = NULL;
    struct why why = {""};

    if (json_parse(text, n, &tree, NULL))
        return;
    if (gbdt_read(&m, tree, NULL, 0, &why) == ERR_OK) {
        score(m);
        print(m, &first);
        cJSON_Delete(tree);
        tree = NULL;
        if (json_parse(first.data, first.len, &tree, &why) || gbdt_read(&back, tree, NULL, 0, &why))
            fuzz_die("written, but is not read: %s", why.text);
        print(back, &second);
        if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
            fuzz_die("not the same bytes:\n%s\n%s", first.data, second.data);
        buf_fini(&first);
        buf_fini(&second);
        gbdt_ops.fini(back);
        gbdt_ops.fini(m);
    } else {
        fuzz_check_words("gbdt", why.text);
    }
    cJSON_Delete(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_copy(data, n);

    try_ours(text, n);
    free(text);
    return 0;
}
