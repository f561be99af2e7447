/* SPDX-License-Identifier: MIT */
/* sanitized.h - SANITIZED: this program is built with a sanitizer that makes it several times as slow and large. */
#ifndef TUNE_TESTS_SANITIZED_H
#define TUNE_TESTS_SANITIZED_H

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

#endif
