/* SPDX-License-Identifier: MIT */
#include "core/entropy.h"

#include "core/hash.h"

#include <assert.h>
#include <sys/random.h>

enum err entropy_fill(const struct entropy *e, void *out, size_t n)
{
    if (e)
        return e->fill(e->arg, out, n);
    return getrandom(out, n, 0) == (ssize_t)n ? ERR_OK : ERR_IO;
}

enum err entropy_hex(const struct entropy *e, char *out, size_t n_hex)
{
    unsigned char raw[64];
    enum err bad;

    assert(n_hex % 2 == 0 && n_hex / 2 <= sizeof raw);
    bad = entropy_fill(e, raw, n_hex / 2);
    if (!bad)
        hex_encode(raw, n_hex / 2, out);
    return bad;
}
