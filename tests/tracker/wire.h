/* SPDX-License-Identifier: MIT */
/* wire.h - a transport from client.c to the tracker of a rig, which fails as the test says and notes what went over it.
 */
#ifndef TUNE_TESTS_TRACKER_WIRE_H
#define TUNE_TESTS_TRACKER_WIRE_H

#include "tests/tracker/rig.h"
#include "tracker/client.h"

/* What becomes of one exchange; FORGED: the last byte of the reply, of its MAC, is another. */
enum how { GOOD = 0, NO_WAY, NO_REPLY, TIMEOUT, ALTERED, BUSY, FORGED };

#define MAX_SEEN 128

struct wire {
    struct rig *r;
    struct clock clock; /* of the rig; sleeping turns it */
    enum how plan[MAX_SEEN];
    cJSON *(*alter)(cJSON *reply); /* of ALTERED: gives the reply to send; NULL = bytes that are no message */
    const char *attach;            /* goes with an altered reply; NULL = nothing */
    cJSON *seen[MAX_SEEN];         /* requests; owned */
    size_t n_bytes[MAX_SEEN];
    int64_t timeout_ms[MAX_SEEN], at_ns[MAX_SEEN];
    int n, n_open;
};

extern const struct transport_ops transport_wire; /* .transport_arg = a wire */

#endif
