/* SPDX-License-Identifier: MIT */
/* write_log.c - write_log FILE N PREFIX: a log of N records with ids of its own. */
#include "../sample.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct buf text;
    FILE *f;
    bool ok;

    if (argc != 4)
        return 1;
    buf_init(&text, (size_t)1 << 28);
    for (int i = 0; i < atoi(argv[2]); i++) {
        char id[64];
        struct record r;

        snprintf(id, sizeof id, "%s-%d", argv[3], i);
        r = sample_record(id);
        ok = record_print(&r, &text) == ERR_OK;
        record_fini(&r);
        if (!ok)
            return 1;
    }
    f = fopen(argv[1], "w");
    ok = f && fwrite(buf_text(&text), 1, text.len, f) == text.len;
    if (f)
        ok = fclose(f) == 0 && ok;
    buf_fini(&text);
    return ok ? 0 : 1;
}
