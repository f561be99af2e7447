/* SPDX-License-Identifier: MIT */
#include "core/terminal.h"

#include <stdio.h>
#include <string.h>

/* C1: C2 80 to C2 9F. What turns the direction of writing: U+202A to U+202E, U+2066 to U+2069. */
size_t text_unseen(const char *text, unsigned *code)
{
    const unsigned char *p = (const unsigned char *)text;

    *code = *p;
    if (*p && (*p < ' ' || *p == 0x7f))
        return 1;
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) {
        *code = p[1];
        return 2;
    }
    if (p[0] == 0xe2 &&
        ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9))) {
        *code = 0x2000u + (p[1] & 1u) * 0x40u + (p[2] & 0x3fu);
        return 3;
    }
    return 0;
}

char *json_line(const cJSON *tree)
{
    char *text = cJSON_PrintUnformatted(tree), *out = text ? cJSON_malloc(6 * strlen(text) + 1) : NULL, *to = out;
    unsigned code;

    for (const char *p = text; out && *p;) {
        const size_t n = text_unseen(p, &code);

        if (n)
            to += snprintf(to, sizeof "\\u0000", "\\u%04x", code);
        else
            *to++ = *p;
        p += n ? n : 1;
    }
    if (out)
        *to = '\0';
    cJSON_free(text);
    return out;
}
