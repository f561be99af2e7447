/* SPDX-License-Identifier: MIT */
/* line.h - what merging looks at in a line without reading all of it: is it whole, of which schema, of which trial. */
#ifndef TUNE_LOGS_LINE_H
#define TUNE_LOGS_LINE_H

#include "core/err.h"
#include "logs/log.h"

#include <stdint.h>

/* A trial's name: id and job are counted anew by each private farm, so the time of the measurement belongs to it. */
struct line_head {
    int64_t schema;
    char id[SHA256_HEX + 1], job[40];
    int64_t ts_ms;
};

/* The head of a line by its checksum and its first and last members, which stand where record_print puts them; of lines
 * of another order by record_parse. A newer schema is no error here: the line is whole. ERR_INPUT with words;
 * ERR_NOMEM. */
enum err line_head(const struct log_line *line, struct line_head *out, struct why *why);

#endif
