/* SPDX-License-Identifier: MIT */
/* journal.h - statements of a database that its file does not hold yet, in two files that are filled in turn: an entry
 * for all those of one commit. What was told is durable with a small write; the database takes it in later, many
 * commits at once. An entry is a magic number (4 bytes), its bytes (u32), CRC-32C of what follows (u32), serial (u64),
 * the serial before which all were durable when it was written (u64), statements; the first of a file holds the
 * database's identity and the statements' texts, so that any program can read it. */
#ifndef TUNE_TRACKER_JOURNAL_H
#define TUNE_TRACKER_JOURNAL_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_ID 32 /* characters of a database's identity */

struct journal;

/* Starts two empty files DIR/journal.0 and .1, whatever was there; the first entry gets `serial` (from 1). Keeps the n
 * texts of statements (at most 255). ERR_IO, ERR_LIMIT, ERR_NOMEM. */
enum err journal_open(const char *where, const char *id, const char *const *texts, int n, int64_t serial,
                      struct journal **out, struct why *why);
/* `done`: the database has all of it, and the files go. NULL is accepted. */
void journal_close(struct journal *j, bool done);

/* Tells a statement, then its parameters by number from 1; those not told are NULL. What fails is told by
 * journal_write. */
void journal_statement(struct journal *j, int which);
void journal_i64(struct journal *j, int i, int64_t value);
void journal_real(struct journal *j, int i, double value);
void journal_text(struct journal *j, int i, const char *text);
void journal_blob(struct journal *j, int i, const void *bytes, size_t n);
/* What was told since the last entry is none. */
void journal_drop(struct journal *j);

/* Is anything told that no entry has? */
bool journal_told(const struct journal *j);
/* Makes an entry of it; it outlives the process. ERR_IO, ERR_NOMEM, ERR_LIMIT. */
enum err journal_write(struct journal *j, struct why *why);
/* An entry without statements: here the database took in something that the journal was not told. Reading goes on
 * behind it only in a database that has it. */
enum err journal_mark(struct journal *j, struct why *why);
/* Makes all entries so far durable; another thread may call it at any time. Later entries say that those before
 * `before` are: what a mark among them stands for, the database has durably. ERR_IO. */
enum err journal_flush(struct journal *j, int64_t before, struct why *why);

/* Of the next entry: the database that has all those before it says so. */
int64_t journal_serial(const struct journal *j);
/* Of the file that is being filled. */
int64_t journal_bytes(const struct journal *j);
/* The next entry begins the other file anew: the database must have, durably, all that was told before the last turn.
 */
void journal_turn(struct journal *j);

/* A parameter as it was told; type 'i', 'r', 't' (without its NUL) or 'b'. Texts and blobs are lent. */
struct journal_value {
    int i;
    char type;
    int64_t i64;
    double real;
    const void *bytes;
    size_t n_bytes;
};

#define JOURNAL_MAX_VALUES 32

typedef enum err journal_each(void *arg, int which, const char *text, const struct journal_value *values, int n);

/* The entries from `serial` on as they are now, also while they are written. NULL when there are none: no files, or
 * those of another database. ERR_STALE: later ones lie in the place of that entry, or some that were durable are not
 * there, or were just being written; ERR_IO, ERR_NOMEM, ERR_LIMIT. */
struct journal_tail;
enum err journal_tail_open(const char *where, const char *id, int64_t serial, struct journal_tail **out,
                           struct why *why);
/* Gives their statements in order up to a torn entry or a mark; moves *serial behind the last. Once. ERR_IO, or what
 * `each` returns. */
enum err journal_tail_read(struct journal_tail *t, int64_t *serial, journal_each *each, void *arg);
/* NULL is accepted. */
void journal_tail_close(struct journal_tail *t);

#endif
