/* SPDX-License-Identifier: MIT */
/* asked_child.h - a child of the test's own process, on fake_device.h's device, and what it is asked. */
#ifndef TUNE_TESTS_AGENT_ASKED_CHILD_H
#define TUNE_TESTS_AGENT_ASKED_CHILD_H

#include "agent/child.h"
#include "agent/workdir.h"
#include "core/json.h"
#include "fake_device.h"

#include <stdint.h>

extern struct child child;
extern struct workdir dir; /* its own */
extern int fds[2];         /* ours, and the child's, by which it tells where it is */

/* Around each test. The end fails where programs that were loaded are not unloaded. */
int asked_begin(void **state);
int asked_end(void **state);

/* A program in the work directory; its name. */
struct sha256 store(const char *source, int64_t block);
/* The caller's to free. */
cJSON *request(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "(nothing)" where there is none. */
const char *text_of(const cJSON *o, const char *name);

#endif
