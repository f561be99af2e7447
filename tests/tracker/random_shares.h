/* SPDX-License-Identifier: MIT */
/* random_shares.h - users and jobs that come and go, agents that die, a tracker that is killed: by seed, on a clock
 * that the test turns. At each moment those who have work have used as much of the devices as one another since the
 * later of them came, and no agent is sent away while there is work. */
#ifndef TUNE_TESTS_TRACKER_RANDOM_SHARES_H
#define TUNE_TESTS_TRACKER_RANDOM_SHARES_H

#include <stdint.h>

struct shares_sums {
    int64_t n_checks;
    double farthest; /* of what is allowed */
};

/* One life of two minutes; adds to the sums. Every failure is one of the test. */
void random_shares_live(uint64_t seed, struct shares_sums *sums);

#endif
