/* SPDX-License-Identifier: MIT */
#include "tracker/journal.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/hash.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD 28 /* of an entry, before its statements */
#define ENTRY_MAX                                                                                                      \
    ((size_t)256                                                                                                       \
     << 20) /* a turn of the tracker has at most 36 MiB of messages; small trials take three times their message */
#define SERIAL_MAX ((uint64_t)1 << 48)
#define FILE_MAX_BYTES ((size_t)1 << 30) /* of one that is read */

static const unsigned char magic[4] = {0xd7, 0, 0xfa, 0x1e}; /* before each entry: no text has it */

struct journal {
    char where[PATH_MAX];
    int fd[2];
    atomic_bool unflushed[2]; /* written since its last flush */
    atomic_bool unlisted;     /* the directory was not flushed since the files were made */
    int at;                   /* the file that is filled */
    int64_t n_bytes, serial;
    _Atomic int64_t n_kept; /* entries before this one are durable */
    struct buf head;        /* of each file, as its first entry has it */
    struct buf entry;       /* being told, with room for its head */
};

static void put_number(unsigned char *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get_number(const unsigned char *p, int n)
{
    uint64_t v = 0;

    for (int i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* ---- telling ---- */

static void begin_entry(struct buf *b)
{
    static const char none[HEAD];

    buf_clear(b);
    b->failed = ERR_OK;
    buf_append(b, none, HEAD);
}

void journal_statement(struct journal *j, int which)
{
    const char head[2] = {'s', (char)which};

    assert(which >= 0 && which < 255);
    buf_append(&j->entry, head, 2);
}

static void tell(struct journal *j, char type, int i, uint64_t number)
{
    unsigned char head[10] = {(unsigned char)type, (unsigned char)i};

    assert(i >= 1 && i <= JOURNAL_MAX_VALUES);
    assert(journal_told(j)); /* parameters are of a statement */
    put_number(head + 2, number, 8);
    buf_append(&j->entry, head, sizeof head);
}

void journal_i64(struct journal *j, int i, int64_t value)
{
    tell(j, 'i', i, (uint64_t)value);
}

void journal_real(struct journal *j, int i, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    tell(j, 'r', i, bits);
}

void journal_text(struct journal *j, int i, const char *text)
{
    tell(j, 't', i, strlen(text));
    buf_append(&j->entry, text, strlen(text));
}

void journal_blob(struct journal *j, int i, const void *bytes, size_t n)
{
    tell(j, 'b', i, n);
    if (n)
        buf_append(&j->entry, bytes, n);
}

void journal_drop(struct journal *j)
{
    begin_entry(&j->entry);
}

bool journal_told(const struct journal *j)
{
    return j->entry.len > HEAD || j->entry.failed;
}

/* ---- files ---- */

static enum err path_of(const char *where, int i, char out[PATH_MAX], struct why *why)
{
    return snprintf(out, PATH_MAX, "%s/journal.%d", where, i) < PATH_MAX
               ? ERR_OK
               : why_set(why, ERR_LIMIT, "the store's path is too long");
}

static enum err write_entry(struct journal *j, struct buf *b, int64_t serial, struct why *why)
{
    unsigned char *p = (unsigned char *)b->data;
    size_t n_done = 0;

    if (b->failed)
        return why_set(why, b->failed, "an entry of the store's journal: %s", err_words(b->failed));
    memcpy(p, magic, sizeof magic);
    put_number(p + 4, b->len - HEAD, 4);
    put_number(p + 12, (uint64_t)serial, 8);
    put_number(p + 20, (uint64_t)atomic_load(&j->n_kept), 8);
    put_number(p + 8, crc32c(p + 12, b->len - 12), 4);
    while (n_done < b->len) {
        const ssize_t n =
            pwrite(j->fd[j->at], b->data + n_done, b->len - n_done, (off_t)(j->n_bytes + (int64_t)n_done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return why_set(why, ERR_IO, "the store's journal in %s cannot be written: %s", j->where, strerror(errno));
        n_done += (size_t)n;
    }
    j->n_bytes += (int64_t)b->len;
    atomic_store(&j->unflushed[j->at], true);
    return ERR_OK;
}

enum err journal_write(struct journal *j, struct why *why)
{
    enum err e = j->n_bytes ? ERR_OK : write_entry(j, &j->head, j->serial, why);

    if (!e)
        e = write_entry(j, &j->entry, j->serial, why);
    j->serial += !e;
    begin_entry(&j->entry);
    return e;
}

enum err journal_mark(struct journal *j, struct why *why)
{
    journal_drop(j);
    return journal_write(j, why);
}

enum err journal_flush(struct journal *j, int64_t before, struct why *why)
{
    bool ok = true;

    for (int i = 0; ok && i < 2; i++)
        if (atomic_exchange(&j->unflushed[i], false))
            ok = fdatasync(j->fd[i]) == 0;
    if (ok && atomic_exchange(&j->unlisted, false))
        ok = dir_flush(j->where) == ERR_OK;
    if (ok)
        atomic_store(&j->n_kept, before);
    return ok ? ERR_OK
              : why_set(why, ERR_IO, "the store's journal in %s cannot be written: %s", j->where, strerror(errno));
}

int64_t journal_serial(const struct journal *j)
{
    return j->serial;
}

int64_t journal_bytes(const struct journal *j)
{
    return j->n_bytes;
}

void journal_turn(struct journal *j)
{
    assert(!journal_told(j));
    j->at = !j->at;
    j->n_bytes = 0;
}

static void make_head(struct buf *b, const char *id, const char *const *texts, int n)
{
    begin_entry(b);
    buf_append(b, id, JOURNAL_ID);
    for (int i = 0; i < n; i++)
        buf_append(b, texts[i], strlen(texts[i]) + 1);
}

static enum err make_files(struct journal *j, struct why *why)
{
    char path[PATH_MAX];
    enum err e = ERR_OK;

    for (int i = 0; !e && i < 2; i++) {
        e = path_of(j->where, i, path, why);
        if (e)
            break;
        j->fd[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (j->fd[i] < 0)
            e = why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
        atomic_init(&j->unflushed[i], true); /* that it is empty now */
    }
    return e;
}

enum err journal_open(const char *where, const char *id, const char *const *texts, int n, int64_t serial,
                      struct journal **out, struct why *why)
{
    struct journal *j = calloc(1, sizeof *j);
    enum err e;

    assert(strlen(id) == JOURNAL_ID && serial > 0 && n < 256);
    if (!j)
        return ERR_NOMEM;
    j->fd[0] = j->fd[1] = -1;
    j->serial = serial;
    atomic_init(&j->n_kept, serial);
    atomic_init(&j->unlisted, true);
    snprintf(j->where, sizeof j->where, "%s", where);
    buf_init(&j->head, 65536);
    buf_init(&j->entry, ENTRY_MAX);
    make_head(&j->head, id, texts, n);
    begin_entry(&j->entry);
    e = j->head.failed ? j->head.failed : j->entry.failed;
    if (!e)
        e = make_files(j, why);
    if (e) {
        journal_close(j, false);
        return e;
    }
    *out = j;
    return ERR_OK;
}

void journal_close(struct journal *j, bool done)
{
    char path[PATH_MAX];
    bool emptied = done; /* both before one goes: one alone that is not empty lacks the other */

    if (!j)
        return;
    for (int i = 0; emptied && i < 2; i++)
        emptied = ftruncate(j->fd[i], 0) == 0;
    for (int i = 0; i < 2; i++) {
        if (j->fd[i] >= 0)
            close(j->fd[i]);
        if (emptied && path_of(j->where, i, path, NULL) == ERR_OK)
            unlink(path);
    }
    buf_fini(&j->head);
    buf_fini(&j->entry);
    free(j);
}

/* ---- reading ---- */

/* One file: what is left of it, and what its head says. */
struct side {
    struct buf all;
    const unsigned char *p;
    size_t n_left;
    bool is_there;
    int64_t next;   /* serial of its next entry; 0 = it has none */
    int64_t n_kept; /* what any of its entries says was durable */
    const char *texts;
    size_t n_texts;
};

/* Is a whole entry at p? *n: bytes of its statements; 0 when they were not looked at. */
static bool is_entry(const unsigned char *p, size_t n_left, size_t *n)
{
    *n = 0;
    if (n_left < HEAD || memcmp(p, magic, sizeof magic) != 0 || get_number(p + 4, 4) > n_left - HEAD ||
        get_number(p + 12, 8) - 1 >= SERIAL_MAX)
        return false;
    *n = get_number(p + 4, 4);
    return get_number(p + 8, 4) == crc32c(p + 12, *n + HEAD - 12);
}

/* The statements of the next whole entry with the serial that is due. */
static bool take_entry(struct side *f, const unsigned char **p, size_t *n)
{
    if (!is_entry(f->p, f->n_left, n) || (int64_t)get_number(f->p + 12, 8) != f->next)
        return false;
    *p = f->p + HEAD;
    f->p += HEAD + *n;
    f->n_left -= HEAD + *n;
    return true;
}

/* Also entries behind damage are asked, wherever they begin; for a while, where what is left of others looks like many.
 */
static int64_t most_kept(const struct buf *all)
{
    const unsigned char *p = (const unsigned char *)all->data;
    size_t n, n_wrong = 0;
    int64_t most = 0;

    for (size_t at = 0; at < all->len && n_wrong / 16 <= all->len; at++) {
        if (!is_entry(p + at, all->len - at, &n)) {
            n_wrong += n;
            continue;
        }
        if ((int64_t)get_number(p + at + 20, 8) > most)
            most = (int64_t)get_number(p + at + 20, 8);
        at += HEAD + n - 1;
    }
    return most;
}

static enum err load(const char *where, int i, const char *id, struct side *f, struct why *why)
{
    char path[PATH_MAX];
    const unsigned char *p;
    bool is_whole;
    size_t n;
    enum err e = path_of(where, i, path, why);

    if (!e)
        e = file_read(path, &f->all, why);
    if (e)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    f->is_there = true;
    f->p = (const unsigned char *)f->all.data;
    f->n_left = f->all.len;
    f->next = f->n_left < HEAD ? 0 : (int64_t)get_number(f->p + 12, 8);
    is_whole = f->next > 0 && take_entry(f, &p, &n) && n > JOURNAL_ID && !p[n - 1];
    if (!is_whole || memcmp(p, id, JOURNAL_ID) != 0) {
        f->next = 0;
        f->n_kept = is_whole ? 0 : most_kept(&f->all);
        return ERR_OK;
    }
    f->n_kept = most_kept(&f->all);
    f->texts = (const char *)p + JOURNAL_ID;
    f->n_texts = n - JOURNAL_ID;
    return ERR_OK;
}

static const char *text_at(const struct side *f, int which)
{
    const char *t = f->texts;

    for (; t < f->texts + f->n_texts; t += strlen(t) + 1)
        if (which-- == 0)
            return t;
    return NULL;
}

/* A parameter at *p, which moves behind it; false when there is none. */
static bool take_value(const unsigned char **p, const unsigned char *end, struct journal_value *v)
{
    const unsigned char *at = *p;

    if (end - at < 10 || !memchr("irtb", at[0], 4))
        return false;
    *v = (struct journal_value){.type = (char)at[0], .i = at[1], .i64 = (int64_t)get_number(at + 2, 8)};
    memcpy(&v->real, &v->i64, sizeof v->real);
    at += 10;
    if (v->type == 't' || v->type == 'b') {
        if (v->i64 < 0 || v->i64 > end - at)
            return false;
        v->bytes = at;
        v->n_bytes = (size_t)v->i64;
        at += v->n_bytes;
    }
    *p = at;
    return true;
}

static enum err read_entry(const struct side *f, const unsigned char *p, size_t n, journal_each *each, void *arg)
{
    const unsigned char *end = p + n;
    enum err e = ERR_OK;

    while (!e && p < end) {
        struct journal_value values[JOURNAL_MAX_VALUES];
        const char *text = end - p >= 2 && p[0] == 's' ? text_at(f, p[1]) : NULL;
        const int which = text ? p[1] : 0;
        int n_values = 0;

        if (!text)
            return ERR_IO;
        p += 2;
        while (n_values < JOURNAL_MAX_VALUES && take_value(&p, end, &values[n_values]))
            n_values++;
        e = each(arg, which, text, values, n_values);
    }
    return e;
}

/* *stop: nothing behind may be read. Without `each` it only looks how far that goes. */
static enum err read_side(struct side *f, int64_t *serial, bool *stop, journal_each *each, void *arg)
{
    const unsigned char *p;
    enum err e = ERR_OK;
    size_t n;

    while (!e && !*stop && take_entry(f, &p, &n)) {
        *stop = f->next++ >= *serial && !n;
        if (*stop || f->next <= *serial)
            continue;
        e = each ? read_entry(f, p, n, each, arg) : ERR_OK;
        *serial += !e;
    }
    return e;
}

struct journal_tail {
    struct side files[2];
    struct side *first, *second; /* by serial; one without entries has 0 */
};

static enum err read_all(const struct journal_tail *t, int64_t *serial, journal_each *each, void *arg)
{
    struct side first = *t->first, second = *t->second;
    bool stop = false;
    enum err e = first.next ? read_side(&first, serial, &stop, each, arg) : ERR_OK;

    if (!e && !stop && second.next && second.next <= *serial)
        e = read_side(&second, serial, &stop, each, arg);
    return e;
}

/* Is it all of what was durable once, for a database that has what was before `serial`? */
static enum err check_tail(const struct journal_tail *t, const char *where, int64_t serial, struct why *why)
{
    const int64_t n_kept = t->first->n_kept > t->second->n_kept ? t->first->n_kept : t->second->n_kept;
    int64_t end = serial;

    if (t->first->next > serial)
        return why_set(why, ERR_STALE, "the journal in %s is of a later time than the database beside it", where);
    if (t->first->next && !(t->first->is_there && t->second->is_there))
        return why_set(why, ERR_STALE, "of the journal in %s one file is missing", where);
    read_all(t, &end, NULL, NULL);
    if (end < n_kept)
        return why_set(why, ERR_STALE, "the journal in %s is damaged: entry %lld of at least %lld cannot be read",
                       where, (long long)end, (long long)n_kept - 1);
    return ERR_OK;
}

void journal_tail_close(struct journal_tail *t)
{
    for (int i = 0; t && i < 2; i++)
        buf_fini(&t->files[i].all);
    free(t);
}

enum err journal_tail_open(const char *where, const char *id, int64_t serial, struct journal_tail **out,
                           struct why *why)
{
    struct journal_tail *t = calloc(1, sizeof *t);
    enum err e = t ? ERR_OK : ERR_NOMEM;
    bool turned;

    for (int i = 0; t && i < 2; i++)
        buf_init(&t->files[i].all, FILE_MAX_BYTES);
    for (int i = 0; !e && i < 2; i++)
        e = load(where, i, id, &t->files[i], why);
    if (!e) {
        turned = t->files[1].next && (!t->files[0].next || t->files[1].next < t->files[0].next);
        t->first = &t->files[turned];
        t->second = &t->files[!turned];
        e = check_tail(t, where, serial, why);
    }
    if (e || !t->first->next) {
        journal_tail_close(t);
        t = NULL;
    }
    *out = t;
    return e;
}

enum err journal_tail_read(struct journal_tail *t, int64_t *serial, journal_each *each, void *arg)
{
    return read_all(t, serial, each, arg);
}
