/* SPDX-License-Identifier: MIT */
/* err.h - one list of errors for every library of the project, and words for people. */
#ifndef TUNE_CORE_ERR_H
#define TUNE_CORE_ERR_H

#include <stddef.h>

/* Numbers are fixed for ever: they travel on the wire and stand in logs. X(number, NAME, "words") */
#define ERR_MAP(X)                                                                                                     \
    X(0, OK, "ok")                                                                                                     \
    X(1, NOMEM, "out of memory")                                                                                       \
    X(2, INPUT, "bad input")                                                                                           \
    X(3, LIMIT, "over a limit")                                                                                        \
    X(4, IO, "input or output failed")                                                                                 \
    X(5, NOT_FOUND, "not found")                                                                                       \
    X(6, EXISTS, "exists already")                                                                                     \
    X(7, BUSY, "busy")                                                                                                 \
    X(8, TIMEOUT, "timed out")                                                                                         \
    X(9, PROTOCOL, "protocol violated")                                                                                \
    X(10, AUTH, "not authorised")                                                                                      \
    X(11, UNREACHABLE, "peer not reachable")                                                                           \
    X(12, DEVICE, "device failed")                                                                                     \
    X(13, UNSUPPORTED, "not supported here")                                                                           \
    X(14, CANCELLED, "cancelled")                                                                                      \
    X(15, STALE, "lease or token is stale")                                                                            \
    X(16, CHILD, "child process died")                                                                                 \
    X(17, COMPILE, "kernel did not compile")                                                                           \
    X(18, LIMITS, "kernel needs more than the device has")                                                             \
    X(19, WRONG, "kernel gave a wrong answer")

enum err {
#define X(number, name, words) ERR_##name = number,
    ERR_MAP(X)
#undef X
};

/* Words for a person about one failure: one line, no newline at the end. */
struct why {
    char text[1024];
};

/* Lends the fixed words of `e`; "unknown error" for numbers not in the list. */
const char *err_words(enum err e);

/* Lends the lower-case wire name of `e`, e.g. "not_found". */
const char *err_name(enum err e);

/* The error of a wire name, or ERR_PROTOCOL when the name is not known. */
enum err err_by_name(const char *name);

/* What others wrote, made fit for a terminal: control characters (C0, DEL, and C1 as UTF-8 has it) become blanks, but
 * for those in `keep`. `text` may be NULL. */
void text_plain(char *text, const char *keep);

/* What others wrote, as UTF-8: bytes that are none become '?', and what does not fit is cut off between characters. */
void text_utf8(char *out, size_t n_out, const char *text);

/* Writes formatted words into `why` (may be NULL; control characters become blanks) and returns `e`, so that `return
 * why_set(...)` reads well. */
enum err why_set(struct why *why, enum err e, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts formatted words and ": " before what `why` holds already (may be NULL); returns `e`. */
enum err why_prefix(struct why *why, enum err e, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
