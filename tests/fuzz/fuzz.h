/* SPDX-License-Identifier: MIT */
/* fuzz.h - what a fuzzer is: one entry that takes bytes, called by clang's libFuzzer (preset fuzz) or by driver.c.
 * Bytes may be refused; what must hold of those that are not is checked, and fuzz_die ends the process where it does
 * not. */
#ifndef TUNE_TESTS_FUZZ_FUZZ_H
#define TUNE_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The fuzzer's entry; gives 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Says what does not hold and aborts. */
_Noreturn void fuzz_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A copy of exactly these bytes, so that a sanitizer sees one too far; free it. Never NULL. */
void *fuzz_copy(const void *bytes, size_t n);

/* The same with a NUL behind it. */
char *fuzz_text(const void *bytes, size_t n);

/* The bytes as a file, for parsers that take a path: lends its name until the next call. */
const char *fuzz_file(const void *bytes, size_t n);

/* A refusal tells one line of words: dies where they are missing or of several lines. */
void fuzz_check_words(const char *parser, const char *words);

#endif
