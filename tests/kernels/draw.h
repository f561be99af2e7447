/* SPDX-License-Identifier: MIT */
/* draw.h - uniform valid configs of a space, whatever part of the product is valid: by rejection where that is quick,
 * else out of the set of all valid ones, which is made once. */
#ifndef TUNE_TESTS_KERNELS_DRAW_H
#define TUNE_TESTS_KERNELS_DRAW_H

#include "search_space/space.h"
#include "search_space/valid_set.h"

#define DRAW_TRIES 8000 /* about what making a set costs */

struct draw {
    const struct space *s; /* borrowed */
    struct valid_set *set; /* NULL until it is needed */
};

/* ERR_NOT_FOUND when the space has none; else as valid_set_new. */
static inline enum err draw_config(struct draw *from, struct rng *rng, struct config *out)
{
    enum err e = from->set ? ERR_NOT_FOUND : space_sample(from->s, rng, DRAW_TRIES, out);

    if (!e)
        return ERR_OK;
    if (!from->set)
        e = valid_set_new(from->s, 0, &from->set, NULL);
    else
        e = ERR_OK;
    return e ? space_sample(from->s, rng, 1000000, out) : valid_set_sample(from->set, rng, out);
}

static inline void draw_fini(struct draw *from)
{
    valid_set_free(from->set);
}

#endif
