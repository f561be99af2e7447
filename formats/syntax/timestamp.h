/* SPDX-License-Identifier: MIT */
/* timestamp.h - points in time as other tuners write them. */
#ifndef TUNE_FORMATS_SYNTAX_TIMESTAMP_H
#define TUNE_FORMATS_SYNTAX_TIMESTAMP_H

#include <stdint.h>

/* Milliseconds since 1970 UTC of "2024-08-12 11:26:23.25+02:00": 'T' or a blank between day and time; fractions and
 * the zone (+hh:mm, Z, " UTC", none = UTC) may be missing. 0 when it is none. */
int64_t timestamp_ms(const char *text);

#endif
