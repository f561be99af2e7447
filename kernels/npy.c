/* SPDX-License-Identifier: MIT */
#include "kernels/npy.h"

#include "core/buf.h"
#include "runtime/dtype.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN_BYTES 12 /* what tells where the header begins and ends */
#define READ_STEP ((size_t)1 << 20)

/* What the header says. */
struct header {
    char kind; /* of an element: f, i, u; b: a truth value */
    int n_bytes;
    bool swapped; /* big-endian */
    bool by_columns;
    int n_dims;
    int64_t shape[NPY_MAX_DIMS], n_elems;
};

/* Text of the header, as far as it is read; it is not ended by a NUL. */
struct scan {
    const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n'))
        s->at++;
}

static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at >= s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool take_word(struct scan *s, const char *word)
{
    const size_t n = strlen(word);

    skip_blanks(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* A quoted string without escapes of at most n - 1 characters. */
static bool take_string(struct scan *s, char *out, size_t n)
{
    size_t i = 0;
    char quote;

    skip_blanks(s);
    if (s->at >= s->end || (*s->at != '\'' && *s->at != '"'))
        return false;
    quote = *s->at++;
    for (; s->at < s->end && *s->at != quote && i + 1 < n; s->at++)
        out[i++] = *s->at;
    out[i] = '\0';
    return take(s, quote);
}

static bool take_number(struct scan *s, int64_t *out)
{
    int64_t v = 0;

    skip_blanks(s);
    if (s->at >= s->end || !isdigit((unsigned char)*s->at))
        return false;
    for (; s->at < s->end && isdigit((unsigned char)*s->at); s->at++)
        if (__builtin_mul_overflow(v, (int64_t)10, &v) || __builtin_add_overflow(v, (int64_t)(*s->at - '0'), &v))
            return false;
    *out = v;
    return true;
}

/* f2 f4 f8, i1 .. i8, u1 .. u8, b1. */
static bool is_known(char kind, char digit)
{
    static const char *const bytes[] = {"f248", "i1248", "u1248", "b1"};

    for (size_t i = 0; digit && i < sizeof bytes / sizeof bytes[0]; i++)
        if (bytes[i][0] == kind)
            return strchr(bytes[i] + 1, digit) != NULL;
    return false;
}

static enum err read_type(struct scan *s, struct header *h, struct why *why)
{
    char text[16] = "";

    if (!take_string(s, text, sizeof text) || strlen(text) != 3 || !strchr("<>=|", text[0]) ||
        !is_known(text[1], text[2]))
        return why_set(why, ERR_INPUT,
                       "elements of type '%s'; expected '<f4', '<f2', '<f8', '<i8', '|u1' or their like", text);
    h->swapped = text[0] == '>';
    h->kind = text[1];
    h->n_bytes = text[2] - '0';
    return ERR_OK;
}

static enum err read_shape(struct scan *s, struct header *h, struct why *why)
{
    h->n_dims = 0;
    h->n_elems = 1;
    if (!take(s, '('))
        return why_set(why, ERR_INPUT, "no tuple behind 'shape'");
    while (!take(s, ')')) {
        if (h->n_dims == NPY_MAX_DIMS)
            return why_set(why, ERR_LIMIT, "more than %d dimensions", NPY_MAX_DIMS);
        if (!take_number(s, &h->shape[h->n_dims]) || h->shape[h->n_dims] < 1)
            return why_set(why, ERR_INPUT, "dimension %d is no number from 1 on", h->n_dims);
        if (__builtin_mul_overflow(h->n_elems, h->shape[h->n_dims], &h->n_elems) || h->n_elems > NPY_MAX_ELEMS)
            return why_set(why, ERR_LIMIT, "more than %lld elements", (long long)NPY_MAX_ELEMS);
        h->n_dims++;
        if (!take(s, ',') && (s->at >= s->end || *s->at != ')'))
            return why_set(why, ERR_INPUT, "expected , or ) behind dimension %d", h->n_dims - 1);
    }
    return ERR_OK;
}

/* The dictionary of the header; each of its three keys once, others are
 * refused. */
static enum err read_header(struct scan *s, struct header *h, struct why *why)
{
    unsigned seen = 0;

    if (!take(s, '{'))
        return why_set(why, ERR_INPUT, "the header is no dictionary");
    while (!take(s, '}')) {
        char key[16];
        unsigned bit;
        enum err e = ERR_OK;

        if (!take_string(s, key, sizeof key) || !take(s, ':'))
            return why_set(why, ERR_INPUT, "the header is no dictionary of descr, fortran_order and shape");
        bit = strcmp(key, "descr") == 0 ? 1 : strcmp(key, "fortran_order") == 0 ? 2 : strcmp(key, "shape") == 0 ? 4 : 8;
        if (bit == 8 || seen & bit)
            return why_set(why, ERR_INPUT, "the header has a key '%s' too many", key);
        seen |= bit;
        if (bit == 1)
            e = read_type(s, h, why);
        else if (bit == 4)
            e = read_shape(s, h, why);
        else if (take_word(s, "True"))
            h->by_columns = true;
        else if (!take_word(s, "False"))
            e = why_set(why, ERR_INPUT, "'fortran_order' is neither True nor False");
        if (e)
            return e;
        if (!take(s, ',') && (s->at >= s->end || *s->at != '}'))
            return why_set(why, ERR_INPUT, "expected , or } behind '%s'", key);
    }
    return seen == 7 ? ERR_OK : why_set(why, ERR_INPUT, "the header lacks one of descr, fortran_order, shape");
}

/* `bits` of so many bytes as a float. */
static float float_of(uint64_t bits, int n_bytes)
{
    float f;
    double d;

    if (n_bytes == 2)
        return half_to_float((uint16_t)bits);
    if (n_bytes == 4) {
        memcpy(&f, &(uint32_t){(uint32_t)bits}, sizeof f);
        return f;
    }
    memcpy(&d, &bits, sizeof d);
    return (float)d;
}

static float element(const struct header *h, const unsigned char *at)
{
    const int unused = 64 - 8 * h->n_bytes;
    uint64_t bits = 0;

    assert(h->n_bytes >= 1 && h->n_bytes <= 8); /* is_known's: nothing is shifted by 64 */
    for (int i = 0; i < h->n_bytes; i++)
        bits |= (uint64_t)at[h->swapped ? h->n_bytes - 1 - i : i] << 8 * i;
    if (h->kind == 'f')
        return float_of(bits, h->n_bytes);
    if (h->kind == 'i')
        return (float)((int64_t)(bits << unused) >> unused);
    return h->kind == 'b' ? (float)(bits != 0) : (float)bits;
}

/* The place in the file of element `i` in row-major order. */
static int64_t stored_at(const struct header *h, int64_t i)
{
    int64_t at = 0, step = 1;

    if (!h->by_columns)
        return i;
    for (int d = h->n_dims; d-- > 0; i /= h->shape[d]) {
        step = 1;
        for (int before = 0; before < d; before++)
            step *= h->shape[before];
        at += i % h->shape[d] * step;
    }
    assert(at < h->n_elems); /* the place is in the data, whose size is compared with n_elems alone */
    return at;
}

static enum err read_values(const struct header *h, const unsigned char *data, size_t n, struct npy *out,
                            struct why *why)
{
    const size_t need = (size_t)h->n_elems * (size_t)h->n_bytes;

    if (n != need)
        return why_set(why, ERR_INPUT, "%s %zu bytes of data; expected %zu", n > need ? "more than" : "only",
                       n > need ? need : n, need);
    out->values = malloc(((size_t)h->n_elems + 1) * sizeof *out->values); /* an empty array is no lack of memory */
    if (!out->values)
        return ERR_NOMEM;
    for (int64_t i = 0; i < h->n_elems; i++)
        out->values[i] = element(h, data + stored_at(h, i) * h->n_bytes);
    out->n_dims = h->n_dims;
    memcpy(out->shape, h->shape, sizeof out->shape);
    out->n_elems = h->n_elems;
    return ERR_OK;
}

/* Where the header's text begins and how long it is. */
static enum err read_begin(const unsigned char *b, size_t n, size_t *begin, size_t *n_header, struct why *why)
{
    if (n < BEGIN_BYTES || memcmp(b, "\x93NUMPY", 6) != 0)
        return why_set(why, ERR_INPUT, "no .npy file: it does not begin with \\x93NUMPY");
    if (b[6] < 1 || b[6] > 3)
        return why_set(why, ERR_INPUT, "version %d of the format; expected 1 to 3", b[6]);
    *begin = b[6] == 1 ? 10 : 12;
    *n_header = b[6] == 1 ? (size_t)(b[8] | b[9] << 8)
                          : (size_t)b[8] | (size_t)b[9] << 8 | (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (*n_header > NPY_MAX_HEADER)
        return why_set(why, ERR_LIMIT, "a header of %zu bytes; the most is %d", *n_header, NPY_MAX_HEADER);
    return ERR_OK;
}

static enum err read_text(const char *b, size_t n, size_t begin, size_t n_header, struct header *h, struct why *why)
{
    struct scan s = {b + begin, b + begin + n_header};

    if (n < begin || n_header > n - begin)
        return why_set(why, ERR_INPUT, "the file ends within its header");
    return read_header(&s, h, why);
}

enum err npy_parse(const void *bytes, size_t n, struct npy *out, struct why *why)
{
    struct header h = {.n_bytes = 0};
    size_t begin = 0, n_header = 0;
    enum err e = read_begin(bytes, n, &begin, &n_header, why);

    if (!e)
        e = read_text(bytes, n, begin, n_header, &h, why);
    return e ? e : read_values(&h, (const unsigned char *)bytes + begin + n_header, n - begin - n_header, out, why);
}

/* Reads on until `out` holds `n` bytes, or the file ends. */
static enum err read_up_to(FILE *f, size_t n, struct buf *out, struct why *why)
{
    while (out->len < n) {
        const size_t want = n - out->len < READ_STEP ? n - out->len : READ_STEP;
        char *to = buf_room(out, want);
        size_t got;

        if (!to)
            return out->failed;
        got = fread(to, 1, want, f);
        out->len += got;
        if (got < want && ferror(f))
            return why_set(why, ERR_IO, "%s", strerror(errno));
        if (got < want)
            break;
    }
    return ERR_OK;
}

/* No more than the header says is read, and one byte: a device or a pipe may have no end. */
static enum err read_stream(FILE *f, struct buf *bytes, struct npy *out, struct why *why)
{
    struct header h = {.n_bytes = 0};
    size_t begin = 0, n_header = 0;
    enum err e = read_up_to(f, BEGIN_BYTES, bytes, why);

    if (!e)
        e = read_begin((const unsigned char *)bytes->data, bytes->len, &begin, &n_header, why);
    if (!e)
        e = read_up_to(f, begin + n_header, bytes, why);
    if (!e)
        e = read_text(bytes->data, bytes->len, begin, n_header, &h, why);
    if (!e)
        e = read_up_to(f, begin + n_header + (size_t)h.n_elems * (size_t)h.n_bytes + 1, bytes, why);
    return e ? e
             : read_values(&h, (const unsigned char *)bytes->data + begin + n_header, bytes->len - begin - n_header,
                           out, why);
}

enum err npy_read(const char *path, struct npy *out, struct why *why)
{
    FILE *f = fopen(path, "rbe");
    struct buf bytes;
    enum err e;

    if (!f)
        return why_set(why, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path, strerror(errno));
    buf_init(&bytes, NPY_MAX_BYTES);
    e = read_stream(f, &bytes, out, why);
    if (e)
        why_prefix(why, e, "%s", path);
    buf_fini(&bytes);
    fclose(f);
    return e;
}

void npy_fini(struct npy *a)
{
    free(a->values);
    a->values = NULL;
}
