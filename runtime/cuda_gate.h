/* SPDX-License-Identifier: MIT */
/* cuda_gate.h - a kernel that only waits, before work that is timed: what the host hands over meanwhile begins without
 * gaps behind it. Else the time between an event and the first kernel behind it is the host's. */
#ifndef TUNE_RUNTIME_CUDA_GATE_H
#define TUNE_RUNTIME_CUDA_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one context; zeroed by who has it. Nothing is to be freed: it goes with the context. */
struct cuda_gate {
    void *kernel; /* NULL: the driver does not take it, and it is done without */
    bool tried;
    int64_t clock_khz; /* of the device; 0 = 2 GHz */
};

/* Keeps `stream` (a CUstream or cudaStream_t of the current context; the driver has been loaded) busy for as long as
 * the host may need for `n_starts` launches: 12 us and 4 us for each, 2 ms at the most. The driver's error, 0 = none.
 */
int cuda_gate_close(struct cuda_gate *g, void *stream, int64_t n_starts);

#endif
