/* SPDX-License-Identifier: MIT */
/* npz.c - the zip around arrays: its directory at the end, then each member as the directory says. Of the headers in
 * front of the members only the length is read. */
#include "kernels/npz.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define END_BYTES 22 /* of the records, without names and comments */
#define ENTRY_BYTES 46
#define LOCAL_BYTES 30
#define MAX_COMMENT 65535
#define IS_64 0xffffffff /* a size of 32 bits that stands elsewhere */
#define MAX_RATIO 1032   /* of deflate: 258 bytes of two bits */

enum { STORED = 0, DEFLATED = 8 };

struct bytes {
    const unsigned char *at;
    size_t n;
};

/* A member of the zip. */
struct member {
    char name[NPZ_NAME_BYTES];
    unsigned flags, method;
    uint32_t sum, n_packed, n_bytes, at;
};

static uint32_t number(const unsigned char *b, int n)
{
    uint32_t v = 0;

    for (int i = 0; i < n; i++)
        v |= (uint32_t)b[i] << 8 * i;
    return v;
}

/* The record that ends the file, behind which there is a comment at the most. */
static const unsigned char *find_end(struct bytes file)
{
    for (size_t back = END_BYTES; back <= file.n && back <= END_BYTES + MAX_COMMENT; back++) {
        const unsigned char *end = file.at + file.n - back;

        if (memcmp(end, "PK\5\6", 4) == 0 && number(end + 20, 2) == back - END_BYTES)
            return end;
    }
    return NULL;
}

/* Where the directory is and how many entries it has. */
static enum err find_directory(struct bytes file, struct bytes *directory, size_t *n, struct why *why)
{
    const unsigned char *end = find_end(file);
    uint32_t at, n_bytes;

    if (!end)
        return why_set(why, ERR_INPUT, "no .npz file: it does not end as a zip does");
    *n = number(end + 10, 2);
    n_bytes = number(end + 12, 4);
    at = number(end + 16, 4);
    if (*n > NPZ_MAX_ARRAYS || at == IS_64)
        return why_set(why, ERR_LIMIT, "more than %d arrays", NPZ_MAX_ARRAYS);
    if (*n == 0)
        return why_set(why, ERR_INPUT, "no array in it");
    if (at > (size_t)(end - file.at) || n_bytes > (size_t)(end - file.at) - at)
        return why_set(why, ERR_INPUT, "a damaged zip: its directory lies outside of the file");
    *directory = (struct bytes){file.at + at, n_bytes};
    return ERR_OK;
}

/* Takes the first entry off the directory. */
static enum err read_entry(struct bytes *directory, struct member *out, struct why *why)
{
    const unsigned char *e = directory->at;
    size_t n_name, n_all;

    if (directory->n < ENTRY_BYTES || memcmp(e, "PK\1\2", 4) != 0)
        return why_set(why, ERR_INPUT, "a damaged zip: its directory ends too early");
    n_name = number(e + 28, 2);
    n_all = ENTRY_BYTES + n_name + number(e + 30, 2) + number(e + 32, 2);
    if (n_all > directory->n)
        return why_set(why, ERR_INPUT, "a damaged zip: its directory ends too early");
    if (n_name >= NPZ_NAME_BYTES || memchr(e + ENTRY_BYTES, 0, n_name))
        return why_set(why, ERR_INPUT, "the name of an array: expected up to %d characters", NPZ_NAME_BYTES - 1);
    *out = (struct member){.flags = number(e + 8, 2),
                           .method = number(e + 10, 2),
                           .sum = number(e + 16, 4),
                           .n_packed = number(e + 20, 4),
                           .n_bytes = number(e + 24, 4),
                           .at = number(e + 42, 4)};
    memcpy(out->name, e + ENTRY_BYTES, n_name);
    *directory = (struct bytes){directory->at + n_all, directory->n - n_all};
    return ERR_OK;
}

/* The packed bytes of a member. */
static enum err find_packed(struct bytes file, const struct member *m, struct bytes *out, struct why *why)
{
    size_t begin;

    if (m->at > file.n || file.n - m->at < LOCAL_BYTES || memcmp(file.at + m->at, "PK\3\4", 4) != 0)
        return why_set(why, ERR_INPUT, "a damaged zip: nothing is where the directory says");
    begin = (size_t)m->at + LOCAL_BYTES + number(file.at + m->at + 26, 2) + number(file.at + m->at + 28, 2);
    if (begin > file.n || m->n_packed > file.n - begin)
        return why_set(why, ERR_INPUT, "a damaged zip: it ends within the array");
    *out = (struct bytes){file.at + begin, m->n_packed};
    return ERR_OK;
}

static bool inflated(struct bytes packed, unsigned char *out, size_t n)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)packed.at,
                  .avail_in = (uInt)packed.n,
                  .next_out = out,
                  .avail_out = (uInt)n};
    bool fine;

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return false;
    fine = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return fine;
}

static enum err check_member(const struct member *m, size_t room, struct why *why)
{
    if (m->flags & 1)
        return why_set(why, ERR_UNSUPPORTED, "it is encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return why_set(why, ERR_UNSUPPORTED, "packed by method %u: expected stored or deflated, as numpy.savez does",
                       m->method);
    if (m->n_bytes == IS_64 || m->n_packed == IS_64 || m->n_bytes > room)
        return why_set(why, ERR_LIMIT, "more than %zu bytes of arrays", NPZ_MAX_BYTES);
    if (m->method == STORED ? m->n_bytes != m->n_packed : m->n_bytes / MAX_RATIO > m->n_packed)
        return why_set(why, ERR_INPUT, "a damaged zip: %u bytes cannot be %u unpacked", m->n_packed, m->n_bytes);
    return ERR_OK;
}

/* A member's array. */
static enum err unpack(struct bytes file, const struct member *m, struct npy *out, struct why *why)
{
    unsigned char *room = NULL;
    const unsigned char *bytes;
    struct bytes packed;
    enum err e = find_packed(file, m, &packed, why);

    if (e)
        return e;
    assert(m->method == DEFLATED || m->n_bytes == packed.n); /* check_member's: the sum is of n_bytes */
    bytes = packed.at;
    if (m->method == DEFLATED) {
        bytes = room = malloc((size_t)m->n_bytes + 1);
        if (!room)
            return why_set(why, ERR_NOMEM, "out of memory");
        if (!inflated(packed, room, m->n_bytes))
            e = why_set(why, ERR_INPUT, "a damaged zip: what is packed cannot be unpacked");
    }
    if (!e && crc32(0, bytes, m->n_bytes) != m->sum)
        e = why_set(why, ERR_INPUT, "a damaged zip: the checksum differs");
    if (!e)
        e = npy_parse(bytes, m->n_bytes, out, why);
    free(room);
    return e;
}

/* Cuts ".npy" off. */
static bool name_array(const struct npz *z, struct member *m)
{
    const size_t n = strlen(m->name);

    if (n < 5 || strcmp(m->name + n - 4, ".npy") != 0)
        return false;
    m->name[n - 4] = '\0';
    return !npz_find(z, m->name);
}

static enum err add(struct bytes file, struct bytes *directory, size_t *room, struct npz *z, struct why *why)
{
    struct npz_array *to = &z->list[z->n];
    struct member m;
    size_t taken;
    enum err e = read_entry(directory, &m, why);

    if (e)
        return e;
    if (!name_array(z, &m))
        return why_set(why, ERR_INPUT, "'%.100s': expected arrays, NAME.npy, each name once", m.name);
    e = check_member(&m, *room, why);
    if (!e)
        e = unpack(file, &m, &to->array, why);
    if (e)
        return why_prefix(why, e, "%.100s", m.name);
    memcpy(to->name, m.name, sizeof to->name);
    z->n++; /* from here on it is freed with the others */
    taken = (size_t)to->array.n_elems * sizeof(float);
    taken = taken < m.n_bytes ? m.n_bytes : taken;
    if (taken > *room)
        return why_set(why, ERR_LIMIT, "more than %zu bytes of arrays", NPZ_MAX_BYTES);
    *room -= taken;
    return ERR_OK;
}

enum err npz_parse(const void *bytes, size_t n, struct npz *out, struct why *why)
{
    const struct bytes file = {bytes, n};
    size_t n_arrays = 0, room = NPZ_MAX_BYTES;
    struct npz z = {NULL, 0};
    struct bytes directory = {NULL, 0};
    enum err e = find_directory(file, &directory, &n_arrays, why);

    if (e)
        return e;
    assert(n_arrays > 0);
    z.list = calloc(n_arrays, sizeof *z.list);
    if (!z.list)
        return why_set(why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < n_arrays && !e; i++)
        e = add(file, &directory, &room, &z, why);
    if (e)
        npz_fini(&z);
    else
        *out = z;
    return e;
}

enum err npz_read(const char *path, struct npz *out, struct why *why)
{
    struct buf bytes;
    struct stat st;
    enum err e;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return why_set(why, ERR_INPUT, "%.300s: expected a file", path);
    buf_init(&bytes, NPZ_MAX_BYTES);
    e = file_read(path, &bytes, why);
    if (!e && (e = npz_parse(buf_text(&bytes), bytes.len, out, why)))
        why_prefix(why, e, "%.300s", path);
    buf_fini(&bytes);
    return e;
}

void npz_fini(struct npz *z)
{
    for (size_t i = 0; i < z->n; i++)
        npy_fini(&z->list[i].array);
    free(z->list);
    *z = (struct npz){NULL, 0};
}

const struct npy *npz_find(const struct npz *z, const char *name)
{
    for (size_t i = 0; i < z->n; i++)
        if (strcmp(z->list[i].name, name) == 0)
            return &z->list[i].array;
    return NULL;
}
