/* SPDX-License-Identifier: MIT */
/* life.h - a tracker's life that uses every write of its store, during which something fails; and what has to be there
 * when it is started again. */
#ifndef TUNE_TESTS_TRACKER_LIFE_H
#define TUNE_TESTS_TRACKER_LIFE_H

#include "tests/tracker/rig.h"

/* All 0 at first, but for `watch`. */
struct life {
    void (*watch)(bool on);                                      /* round what the tracker itself does; or NULL */
    int n_jobs, n_added, n_leases, n_results, n_blobs, n_builds; /* what was acknowledged */
    bool fails_late; /* what failed as it was taken in may be there all the same: the journal was told already */
    int n_unsaid;    /* asked twice, with no reply at all */
    bool failed;     /* the tracker ended: nothing was said after that */
};

/* Who gets no reply, or that memory is short, asks once more, as clients do. Whoever lets the tracker end may not be
 * answered. */
void life_live(struct life *l, struct rig *r);

/* All that was acknowledged is there when the tracker is started again; only unsaid requests may be there besides. */
void life_check(const struct life *l, struct rig *r);

#endif
