/* SPDX-License-Identifier: MIT */
/* sample_program.h - a program that uses every part of the format, for tests. */
#ifndef TUNE_TESTS_RUNTIME_SAMPLE_PROGRAM_H
#define TUNE_TESTS_RUNTIME_SAMPLE_PROGRAM_H

#include "runtime/program.h"

/* Initialises and builds it; program_fini. Aborts on lack of memory. */
void sample_program(struct program *p);

#endif
