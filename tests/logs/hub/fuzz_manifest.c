/* SPDX-License-Identifier: MIT */
/* Feeds manifests of bundles to hub's reader, which is static: its file is part of this one. Each file of what is taken
 * has a path that stays below the bundle. */
#include "logs/hub/bundle.c"
#include "tests/fuzz/fuzz.h"

/* No part of the path may be empty, "." or ".."; told here anew. */
static bool stays_below(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        size_t n;

        part += part != path;
        n = strcspn(part, "/");
        if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct manifest m = {.root = NULL};
    struct why why = {""};

    buf_init(&m.text, (size_t)64 << 20);
    if (buf_append(&m.text, data, n) != ERR_OK)
        fuzz_die("out of memory");
    if (manifest_parse(&m, "here", &why) != ERR_OK) {
        fuzz_check_words("manifest", why.text);
    } else {
        for (const cJSON *item = m.files->child; item; item = item->next) {
            struct manifest_file f;

            if (file_of(item, &f, &why) != ERR_OK || f.n_bytes < 0 || !stays_below(f.path))
                fuzz_die("a file '%s' of %lld bytes", f.path, (long long)f.n_bytes);
        }
    }
    manifest_fini(&m);
    return 0;
}
