/* SPDX-License-Identifier: MIT */
/* cases.h - what the tests of kernels run, operator by operator: small workloads that between them have every trait a
 * template must handle, and seeded bugs that the check must find. One file cases_*.c an operator or family of
 * templates, one line in cases.c. */
#ifndef TUNE_TESTS_KERNELS_CASES_H
#define TUNE_TESTS_KERNELS_CASES_H

/* A bug: `from` becomes `to` wherever it stands in the template's text; `config` is run for `workload`, or its default
 * one. */
struct mutant {
    const char *template_id, *workload, *name, *from, *to;
    const char *needs;  /* a feature of the architecture (cuda_arch.h) without which it changes nothing, or "cpu": of
                           OpenCL's CPU; NULL = none */
    const char *config; /* valid on all devices that have that; NULL = the default */
};

/* A config that brings about what neither a default nor a draw is sure to: a branch of the text that few have,
 * or what was wrong once. */
struct rare_config {
    const char *template_id, *workload, *config;
    const char *needs; /* as of a mutant */
};

struct cases {
    const char *const *shapes;         /* workloads, NULL-ended: square, ragged, tiny, strided, dilated, batched ... */
    const struct mutant *mutants;      /* ended by template_id == NULL; five of each template */
    const struct rare_config *configs; /* the same; NULL: none */
};

extern const struct cases *const cases_table[]; /* NULL-ended */

#endif
