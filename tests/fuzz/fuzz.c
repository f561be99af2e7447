/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

void *fuzz_copy(const void *bytes, size_t n)
{
    void *copy = malloc(n + !n);

    if (!copy)
        fuzz_die("out of memory");
    if (n)
        memcpy(copy, bytes, n);
    return copy;
}

char *fuzz_text(const void *bytes, size_t n)
{
    char *text = malloc(n + 1);

    if (!text)
        fuzz_die("out of memory");
    if (n)
        memcpy(text, bytes, n);
    text[n] = '\0';
    return text;
}

const char *fuzz_file(const void *bytes, size_t n)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) != 0 || (n && pwrite(fd, bytes, n, 0) != (ssize_t)n))
        fuzz_die("no file for the input");
    return path;
}

void fuzz_check_words(const char *parser, const char *words)
{
    if (!words[0] || strchr(words, '\n'))
        fuzz_die("%s: refused without one line of words: '%s'", parser, words);
}
