/* SPDX-License-Identifier: MIT */
/* Files of NumPy's .npz, made here byte by byte: what is read, and what a damaged or hostile one is told. */
#include "kernels/npz.h"
#include "core/file.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define HEADER "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n"

/* A zip while it is made. */
struct zip {
    unsigned char bytes[4096], directory[1024];
    size_t n, n_directory, n_entries;
};

static void put(unsigned char *to, uint32_t v, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (unsigned char)(v >> 8 * i);
}

/* A .npy of three numbers. */
static size_t array_of(const int16_t v[3], unsigned char out[256])
{
    const size_t n_header = sizeof HEADER - 1;

    memcpy(out, "\x93NUMPY\x01\x00", 8);
    put(out + 8, (uint32_t)n_header, 2);
    memcpy(out + 10, HEADER, n_header);
    memcpy(out + 10 + n_header, v, 6);
    return 16 + n_header;
}

static size_t deflated(const unsigned char *bytes, size_t n, unsigned char out[512])
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (uInt)n, .next_out = out, .avail_out = 512};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return 512 - z.avail_out;
}

/* Adds a member; extra bytes stand in front of its data as numpy's have. */
static void add(struct zip *z, const char *name, const unsigned char *bytes, size_t n, int method)
{
    unsigned char packed[512], *local = z->bytes + z->n, *entry = z->directory + z->n_directory;
    const size_t n_name = strlen(name), n_packed = method ? deflated(bytes, n, packed) : n;

    memset(local, 0, 30);
    memcpy(local, "PK\3\4", 4);
    put(local + 26, (uint32_t)n_name, 2);
    put(local + 28, 20, 2);
    memcpy(local + 30, name, n_name);
    memset(local + 30 + n_name, 0xee, 20);
    memcpy(local + 50 + n_name, method ? packed : bytes, n_packed);
    memset(entry, 0, 46);
    memcpy(entry, "PK\1\2", 4);
    put(entry + 10, (uint32_t)method, 2);
    put(entry + 16, (uint32_t)crc32(0, bytes, (uInt)n), 4);
    put(entry + 20, (uint32_t)n_packed, 4);
    put(entry + 24, (uint32_t)n, 4);
    put(entry + 28, (uint32_t)n_name, 2);
    put(entry + 42, (uint32_t)z->n, 4);
    memcpy(entry + 46, name, n_name);
    z->n += 50 + n_name + n_packed;
    z->n_directory += 46 + n_name;
    z->n_entries++;
}

static void end(struct zip *z)
{
    unsigned char *last;

    memcpy(z->bytes + z->n, z->directory, z->n_directory);
    last = z->bytes + z->n + z->n_directory;
    memset(last, 0, 22);
    memcpy(last, "PK\5\6", 4);
    put(last + 10, (uint32_t)z->n_entries, 2);
    put(last + 12, (uint32_t)z->n_directory, 4);
    put(last + 16, (uint32_t)z->n, 4);
    z->n += z->n_directory + 22;
}

static void make(struct zip *z)
{
    static const int16_t values[] = {-1, 2, -300};
    unsigned char array[256];
    const size_t n = array_of(values, array);

    *z = (struct zip){.n = 0};
    add(z, "x.npy", array, n, 0);
    add(z, "mask.1.npy", array, n, 8);
    end(z);
}

static void stored_and_deflated_arrays_are_read_by_name(void **state)
{
    struct why why = {""};
    struct npz z = {NULL, 0};
    struct zip file;

    (void)state;
    make(&file);
    if (npz_parse(file.bytes, file.n, &z, &why))
        fail_msg("%s", why.text);
    assert_int_equal(z.n, 2);
    assert_null(npz_find(&z, "mask"));
    for (int i = 0; i < 2; i++) {
        const struct npy *a = npz_find(&z, i ? "mask.1" : "x");

        assert_non_null(a);
        assert_true(a->n_elems == 3 && a->values[0] == -1 && a->values[1] == 2 && a->values[2] == -300);
    }
    npz_fini(&z);
}

/* Every file that is cut short, and every one with a byte changed, is read or refused in words. */
static void a_damaged_file_is_refused_or_read(void **state)
{
    struct zip file;

    (void)state;
    make(&file);
    for (size_t i = 0; i < file.n; i++) {
        unsigned char *bytes = malloc(file.n);
        struct npz z = {NULL, 0};
        struct why why = {""};

        memcpy(bytes, file.bytes, file.n);
        if (npz_parse(bytes, i, &z, &why) == ERR_OK)
            fail_msg("%zu of %zu bytes are read", i, file.n);
        assert_true(why.text[0]);
        bytes[i] ^= 0x55;
        if (npz_parse(bytes, file.n, &z, &why) == ERR_OK)
            npz_fini(&z);
        free(bytes);
    }
}

static void what_is_no_file_of_arrays_is_told(void **state)
{
    static const int16_t values[] = {1, 2, 3};
    unsigned char array[256];
    const size_t n = array_of(values, array);
    const struct {
        const char *names[2];
        size_t at; /* in the first entry of the directory, of 4 bytes */
        uint32_t v;
        const char *words;
    } bad[] = {
        {{NULL, NULL}, 0, 0, "no array in it"},       {{"x.txt", NULL}, 0, 0, "'x.txt': expected arrays"},
        {{"x.npy", "x.npy"}, 0, 0, "each name once"}, {{"x.npy", NULL}, 16, 1, "the checksum differs"},
        {{"x.npy", NULL}, 20, 77777, "cannot be"},    {{"x.npy", NULL}, 24, 0xffffffff, "more than"},
        {{"x.npy", NULL}, 24, 1u << 30, "cannot be"}, {{"x.npy", NULL}, 42, 70000, "nothing is where"},
        {{"x.npy", NULL}, 8, 1, "encrypted"},         {{"x.npy", NULL}, 8, 14u << 16, "method 14"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct zip file = {.n = 0};
        struct npz z = {NULL, 0};
        struct why why = {""};

        for (int k = 0; k < 2 && bad[i].names[k]; k++)
            add(&file, bad[i].names[k], array, n, 0);
        if (bad[i].at)
            put(file.directory + bad[i].at, bad[i].v, 4);
        end(&file);
        assert_int_not_equal(npz_parse(file.bytes, file.n, &z, &why), ERR_OK);
        if (!strstr(why.text, bad[i].words))
            fail_msg("\"%s\" does not say \"%s\"", why.text, bad[i].words);
    }
    assert_int_equal(npz_parse(array, n, &(struct npz){NULL, 0}, NULL), ERR_INPUT);
    assert_int_equal(npz_read("/dev/zero", &(struct npz){NULL, 0}, NULL), ERR_INPUT);
    assert_int_equal(npz_read("/nonexistent.npz", &(struct npz){NULL, 0}, NULL), ERR_NOT_FOUND);
}

/* A few bytes that would be a GiB of zeros are not unpacked: so many cannot come of so few. */
static void what_cannot_have_been_packed_is_not_unpacked(void **state)
{
    static const int16_t values[] = {1, 2, 3};
    unsigned char array[256];
    const size_t n = array_of(values, array);
    struct zip file = {.n = 0};
    struct why why = {""};

    (void)state;
    add(&file, "x.npy", array, n, 8);
    put(file.directory + 24, 1u << 30, 4);
    end(&file);
    assert_int_equal(npz_parse(file.bytes, file.n, &(struct npz){NULL, 0}, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "cannot be 1073741824 unpacked"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_and_deflated_arrays_are_read_by_name),
        cmocka_unit_test(a_damaged_file_is_refused_or_read),
        cmocka_unit_test(what_is_no_file_of_arrays_is_told),
        cmocka_unit_test(what_cannot_have_been_packed_is_not_unpacked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
