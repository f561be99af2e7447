/* SPDX-License-Identifier: MIT */
#include "tracker/pieces.h"

#include <stdio.h>
#include <string.h>

void pieces_fini(struct pieces *p)
{
    sha256_end(p->sum, NULL);
    *p = (struct pieces){.n_bytes = 0};
}

void pieces_add(struct pieces *p, const char *name, int64_t offset, const void *bytes, size_t n)
{
    if (offset == 0) {
        pieces_fini(p);
        snprintf(p->name, sizeof p->name, "%s", name);
        p->sum = sha256_begin();
    }
    if (!p->sum || strcmp(p->name, name) != 0)
        return;
    if (offset != p->n_bytes) { /* what was hashed may be another's place now */
        pieces_fini(p);
        return;
    }
    sha256_add(p->sum, bytes, n);
    p->n_bytes += (int64_t)n;
}

bool pieces_end(struct pieces *p, const char *name, int64_t n, struct sha256 *out)
{
    if (!p->sum || strcmp(p->name, name) != 0 || p->n_bytes != n)
        return false;
    sha256_end(p->sum, out);
    *p = (struct pieces){.n_bytes = 0};
    return true;
}

bool pieces_are(struct pieces *p, const char *name, const void *bytes, size_t n)
{
    struct sha256 is;

    if (!pieces_end(p, name, (int64_t)n, &is))
        is = sha256_of(bytes, n);
    return strcmp(is.hex, name) == 0;
}
