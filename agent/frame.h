/* SPDX-License-Identifier: MIT */
/* frame.h - JSON objects over a stream socket between an agent and its children: u32 LE length, then the text. */
#ifndef TUNE_AGENT_FRAME_H
#define TUNE_AGENT_FRAME_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX_BYTES ((size_t)1 << 20)

/* Takes `tree` (may be NULL after a lack of memory) and writes it whole; ERR_NOMEM, ERR_LIMIT, ERR_CHILD when the other
 * end is gone. */
enum err frame_send(int fd, cJSON *takes);

/* What was read of frames that are not whole yet. */
struct frame_reader {
    int fd; /* borrowed */
    struct buf bytes;
};

void frame_reader_init(struct frame_reader *r, int fd);
void frame_reader_fini(struct frame_reader *r);

/* Waits at most timeout_ms (-1 = for ever) for one whole object and gives it. ERR_TIMEOUT; ERR_CHILD at the end of the
 * stream; ERR_PROTOCOL for a length over the maximum or text that is no JSON object: the stream is then of no more use.
 */
enum err frame_read(struct frame_reader *r, int64_t timeout_ms, cJSON **out, struct why *why);

#endif
