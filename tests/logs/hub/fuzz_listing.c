/* SPDX-License-Identifier: MIT */
/* Feeds servers' lists of folders to their reader, which is static: its file is part of this one. The first byte says
 * of which server. Names have no control characters, sizes are told or -1. */
#include "logs/hub/list.c"
#include "tests/fuzz/fuzz.h"

static void each(const struct hub_entry *e, void *arg)
{
    (void)arg;
    if (!e->name[0] || e->n_bytes < -1)
        fuzz_die("an entry '%s' of %lld bytes", e->name, (long long)e->n_bytes);
    for (const char *p = e->name; *p; p++)
        if (iscntrl((unsigned char)*p))
            fuzz_die("a control character in '%s'", e->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct listing *l = calloc(1, sizeof *l);
    struct hub_url folder;
    struct why why = {""};
    struct buf text;

    buf_init(&text, LIST_MAX_BYTES);
    if (!l || hub_url_parse(n && data[0] == 's' ? "s3://bucket/a/b/" : "http://h/a/b/", &folder, &why) != ERR_OK)
        fuzz_die("no folder: %s", why.text);
    *l = (struct listing){.dialect = folder.s3 ? &s3_dialect : &dav_dialect, .folder = &folder, .each = each};
    if (n > 1 && buf_append(&text, data + 1, n - 1) == ERR_OK && parse(l, &text, &why) != ERR_OK)
        fuzz_check_words("listing", why.text);
    buf_fini(&text);
    free(l);
    return 0;
}
