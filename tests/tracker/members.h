/* SPDX-License-Identifier: MIT */
/* members.h - arguments and results of calls as tests write and read them; every failure is one of the test. */
#ifndef TUNE_TESTS_TRACKER_MEMBERS_H
#define TUNE_TESTS_TRACKER_MEMBERS_H

#include "core/json.h"

#include <stdarg.h>

/* A tree from JSON text made by vprintf, with ' for ". Gives. */
cJSON *args_of(const char *format, va_list list);

/* Members of a result, failing the test when they are not there. */
const char *text_in(const cJSON *o, const char *name);
int64_t number_in(const cJSON *o, const char *name);
double real_in(const cJSON *o, const char *name);
int count_in(const cJSON *o, const char *name);
const cJSON *item_in(const cJSON *o, const char *name, int i);
const cJSON *object_in(const cJSON *o, const char *name);

/* A SHA-256 in hex made of a number, for programs and fingerprints. */
const char *hash_of(int n);

#endif
