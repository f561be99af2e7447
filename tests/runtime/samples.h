/* SPDX-License-Identifier: MIT */
/* samples.h - small programs for tests of backends, in one dialect of OpenCL C and CUDA C: KERNEL name(GLOBAL T *x,
 * ..), I (the work-item in all of the launch), FMAX. */
#ifndef TUNE_TESTS_RUNTIME_SAMPLES_H
#define TUNE_TESTS_RUNTIME_SAMPLES_H

#include "runtime/verify.h"

#define SAMPLE_N 1000 /* no multiple of the block */
#define SAMPLE_BLOCK 64

/* What makes the dialect that of one API; before the first sample. */
struct sample_api {
    const char *name;
    enum program_lang lang;
    const char *options, *preamble;
};
extern const struct sample_api sample_opencl, sample_cuda;
void sample_use(const struct sample_api *api); /* CUDA's until then */

#define SAMPLE_ADD_HEAD "KERNEL add(GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *y, int n)\n"
extern const char sample_add_text[];

struct sample {
    struct program program;
    struct blobs blobs;
};

/* An empty program with one module of this text. */
void sample_init(struct sample *s, const char *text);
void sample_fini(struct sample *s);

/* y = a + b over whole numbers of SAMPLE_N elements by kernel "add" of `text`; their sum and every element compared in
 * pass "exact". Buffers a b y. */
void sample_add(struct sample *s, const char *text);
void sample_add_again(struct sample *s); /* the same pass once more, "again" */

/* Queue 0 puts x, queue 1 doubles it into y, queue 2 adds both: z = 21. Kernels that take their time. */
void sample_queues(struct sample *s);

/* x = 1; then 2 x 3 times: x = 2 * (x + 1 + 10 * outer + inner), on two queues that wait for each other. */
void sample_loops(struct sample *s);

struct program_launch *sample_launch(struct sample *s, const char *kernel, int64_t blocks, int64_t threads);

/* Sets TUNE_CUDA_LIBRARY and TUNE_NVRTC to the emulated ones of this build, unless the former names a driver. 0, or 77
 * with words where there is no g++.
 */
int sample_use_emulated(void);

#endif
