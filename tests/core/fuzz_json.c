/* SPDX-License-Identifier: MIT */
/* Feeds texts to the reader of JSON. What is read prints to a text that is read to the same bytes, no deeper than may
 * be. */
#include "core/json.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static int depth_of(const cJSON *tree)
{
    int deepest = 0;

    for (const cJSON *child = tree->child; child; child = child->next) {
        const int below = depth_of(child);

        deepest = below > deepest ? below : deepest;
    }
    return 1 + deepest;
}

static void print(const cJSON *tree, struct buf *out)
{
    buf_init(out, (size_t)8 << 20);
    if (json_print(tree, out) != ERR_OK)
        fuzz_die("read, but does not print");
}

static void check(const cJSON *tree)
{
    struct buf first, second;
    struct why why = {""};
    cJSON *back = NULL;

    if (depth_of(tree) > JSON_MAX_DEPTH + 1)
        fuzz_die("%d deep", depth_of(tree));
    print(tree, &first);
    if (json_parse(first.data, first.len, &back, &why) != ERR_OK)
        fuzz_die("printed, but is not read: %s: %s", why.text, first.data);
    print(back, &second);
    if (strcmp(first.data, second.data) != 0)
        fuzz_die("not the same bytes:\n%s\n%s", first.data, second.data);
    cJSON_Delete(back);
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_copy(data, n);
    struct why why = {""};
    cJSON *tree = NULL;

    if (json_parse(text, n, &tree, &why) == ERR_OK)
        check(tree);
    else
        fuzz_check_words("json", why.text);
    cJSON_Delete(tree);
    free(text);
    return 0;
}
