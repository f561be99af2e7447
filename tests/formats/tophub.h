/* SPDX-License-Identifier: MIT */
/* tophub.h - the parsed records of TVM's TopHub under ${TUNE_TEST_DATA}/tophub/, and TVM's own log lines made of them
 * again, without the code under test. */
#ifndef TUNE_TESTS_FORMATS_TOPHUB_H
#define TUNE_TESTS_FORMATS_TOPHUB_H

#include "core/buf.h"
#include "core/json.h"

#include <stdbool.h>

/* Calls `each` with every record, a JSON object: device, tvm_template, dtype, workload, tvm_knobs, knobs, tvm_index,
 * tvm_space_size .. Returns how many there were; 0 without data. */
size_t tophub_each(void (*each)(const cJSON *record, void *arg), void *arg);

const char *tophub_text(const cJSON *record, const char *name);
bool tophub_has_note(const cJSON *record, const char *note);

/* "conv2d f32 n=1 ..", "opencl -device=mali -model=rk3399". */
void tophub_workload(const cJSON *record, struct buf *out);
const char *tophub_target(const cJSON *record);

/* As in the log they came from: window splits swapped and a leading -1 where that log has them. Gives. */
cJSON *tophub_args(const cJSON *record);
cJSON *tophub_entities(const cJSON *record);

/* The whole line, without '\n'. */
void tophub_line(const cJSON *record, struct buf *out);

#endif
