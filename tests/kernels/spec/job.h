/* SPDX-License-Identifier: MIT */
/* job.h - a small job file with its kernels for tests: y = x * by + i, each piece can be replaced. */
#ifndef TUNE_TESTS_KERNELS_SPEC_JOB_H
#define TUNE_TESTS_KERNELS_SPEC_JOB_H

#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char job_kernel[] =
    "__kernel void scale(__global const float *x, __global float *y, float by, int n)\n"
    "{\n"
    "    for (int k = 0; k < PER; k++) {\n"
    "        const int i = (int)get_global_id(0) * PER + k;\n"
    "        if (i < n)\n"
    "            y[i] = x[i] * by + (BUG == 1 && GROUP == 4 && i == n - 1) + (BUG == 2 && k == 1) * (float)i;\n"
    "    }\n"
    "    for (int i = 0; BUG == 3 && i >= 0; i = i % 7 + (int)(y[0] != y[0] + 1)) /* for ever */\n"
    "        y[0] = y[0] + 1e-30f;\n"
    "}\n";

static const char job_reference[] = "__kernel void plain(__global const float *x, __global float *y, float by, int n)\n"
                                    "{ const int i = (int)get_global_id(0); if (i < n) y[i] = x[i] * by; }\n";

static const char job_file_text[] =
    "{\n"
    "  \"ConfigurationSpace\": {\n"
    "    \"TuningParameters\": [\n"
    "      {\"Name\": \"GROUP\", \"Type\": \"int\", \"Values\": \"[2**i for i in range(0, 4)]\", \"Default\": 2},\n"
    "      {\"Name\": \"PER\", \"Type\": \"int\", \"Values\": [1, 2, 4], \"Default\": 1},\n"
    "      {\"Name\": \"BUG\", \"Type\": \"int\", \"Values\": \"[0]\", \"Default\": 0}\n"
    "    ],\n"
    "    \"Conditions\": [{\"Parameters\": [\"GROUP\", \"PER\"], \"Expression\": \"GROUP * PER <= max(GROUP)\"}]\n"
    "  },\n"
    "  \"KernelSpecification\": {\n"
    "    \"Language\": \"OpenCL\", \"CompilerOptions\": [\"-cl-mad-enable\"],\n"
    "    \"KernelName\": \"scale\", \"KernelFile\": \"scale.cl\",\n"
    "    \"ProblemSize\": [1000],\n"
    "    \"GlobalSize\": {\"X\": \"ProblemSize[0] / PER\"}, \"LocalSize\": {\"X\": \"GROUP\"},\n"
    "    \"Operations\": \"n\",\n"
    "    \"Arguments\": [\n"
    "      {\"Name\": \"x\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"ReadOnly\", "
    "\"FillType\": \"Random\",\n"
    "       \"FillValue\": 8.0, \"Size\": \"n\"},\n"
    "      {\"Name\": \"y\", \"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"WriteOnly\", "
    "\"FillType\": \"Constant\",\n"
    "       \"FillValue\": 0.0, \"Size\": \"ProblemSize[0]\", \"Output\": 1},\n"
    "      {\"Name\": \"by\", \"Type\": \"float\", \"MemoryType\": \"Scalar\", \"FillValue\": 3.0},\n"
    "      {\"Name\": \"n\", \"Type\": \"int32\", \"MemoryType\": \"Scalar\", \"FillValue\": \"ProblemSize[0]\"}\n"
    "    ],\n"
    "    \"ReferenceKernel\": {\"KernelFile\": \"plain.cl\", \"KernelName\": \"plain\", \"GlobalSize\": {\"X\": "
    "\"n\"},\n"
    "      \"LocalSize\": {\"X\": 8}}\n"
    "  }\n"
    "}\n";

/* The text with each `from` replaced by the `to` behind it; pairs end with NULL. free() it. NULL when one is not there.
 */
static inline char *job_with(const char *text, const char *const *pairs)
{
    char *out = strdup(text);

    for (size_t i = 0; out && pairs && pairs[i]; i += 2) {
        char *at = strstr(out, pairs[i]), *next;
        size_t n;

        if (!at) {
            fprintf(stderr, "not in the job: %s\n", pairs[i]);
            free(out);
            return NULL;
        }
        n = strlen(out) + strlen(pairs[i + 1]) + 1;
        next = malloc(n);
        snprintf(next, n, "%.*s%s%s", (int)(at - out), out, pairs[i + 1], at + strlen(pairs[i]));
        free(out);
        out = next;
    }
    return out;
}

/* Writes the job and its kernels into a folder; the job's path is in `path`. */
static inline void job_write(const char *dir, const char *const *pairs, char path[512])
{
    char *text = job_with(job_file_text, pairs), other[512];

    snprintf(path, 512, "%s/job.json", dir);
    if (text)
        file_replace(path, text, strlen(text), 0644, NULL);
    free(text);
    snprintf(other, sizeof other, "%s/scale.cl", dir);
    file_replace(other, job_kernel, strlen(job_kernel), 0644, NULL);
    snprintf(other, sizeof other, "%s/plain.cl", dir);
    file_replace(other, job_reference, strlen(job_reference), 0644, NULL);
}

#endif
