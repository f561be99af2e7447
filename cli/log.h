/* SPDX-License-Identifier: MIT */
/* log.h - what the verbs of `tune log` share. */
#ifndef TUNE_CLI_LOG_H
#define TUNE_CLI_LOG_H

#include "cli/cmd.h"
#include "cli/curve.h"
#include "core/buf.h"
#include "core/err.h"
#include "formats/convert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPT_OUTPUT_FILE                                                                                                \
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "FILE",                                                  \
               .help = "the new file, by rename when it is whole; may be one of the inputs; - = standard output")

/* How many lines of one kind are told before the rest is only counted. */
#define LOG_MAX_TOLD 20

/* --output, and that no run is writing it just now (ERR_BUSY); ERR_INPUT when it is missing. */
enum err log_output(const struct cli *c, const char **out, struct why *why);

/* At least one log among the arguments, at most `most`; ERR_INPUT with an example. */
enum err log_need(const struct cli *c, int most, const char *example, struct why *why);

/* Where a summary goes: standard output, or standard error when that is where the lines go. */
FILE *log_summary(const char *out);

/* Writes a whole file; "-" = standard output. ERR_IO with words. */
enum err log_write(const char *path, const struct buf *content, struct why *why);

/* convert_lines_fd with the format told by content. */
enum err log_lines_of(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg), log_warn *warn,
                      void *arg, struct why *why);

/* The searches of all logs of the command as curves, one a workload and key; `draw` lends them. ERR_NOT_FOUND: none has
 * a time; ERR_LIMIT: too many; what `draw` gives. */
enum err log_curves(const struct cli *c,
                    enum err (*draw)(const struct curve *curves, size_t n, const struct cli *c, struct why *why),
                    struct why *why);

/* A best set of the records of files of any form; NULL key = of any device. Damaged lines are told. Gives the set. */
enum err log_best(const char *const *paths, int n_paths, const char *key, struct best_set **out, struct why *why);

#endif
