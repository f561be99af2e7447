/* SPDX-License-Identifier: MIT */
/* sample_layer.h - a best record of a naive template, as if it had been measured on a CPU device. */
#ifndef TUNE_TESTS_LIBTUNE_SAMPLE_LAYER_H
#define TUNE_TESTS_LIBTUNE_SAMPLE_LAYER_H

#include "logs/record.h"

/* Initialises and fills `out` for the default config of `template_id`; false on any failure. */
bool sample_record(const char *workload, const char *template_id, struct record *out);

#endif
