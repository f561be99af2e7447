/* SPDX-License-Identifier: MIT */
/* check_cuda.h - the parts of check_cuda_compile: configs drawn for an architecture, results of compiling, of which
 * those that went well are kept between runs, and processes that compile. */
#ifndef TUNE_TESTS_KERNELS_CHECK_CUDA_H
#define TUNE_TESTS_KERNELS_CHECK_CUDA_H

#include "kernels/template.h"
#include "runtime/nvrtc.h"
#include "tests/kernels/verdicts.h"

/* What is compiled together: a type, and with acc=f16 sums in half. */
struct check_variant {
    enum dtype dtype;
    bool acc_half;
};

/* One config on one architecture. */
struct check_item {
    const struct template *t;
    struct check_variant v;
    struct device_desc d; /* of the architecture */
    bool is_default;
    char *workload, *config; /* texts */
    struct program p;
    char why[240]; /* why the program could not be made; "" */
};

struct check_items {
    struct check_item *list;
    size_t n, cap;
    struct blobs blobs; /* sources of all programs */
};

void check_items_init(struct check_items *items);
void check_items_fini(struct check_items *items);

/* Appends default configs of at most `n_defaults` real layers that the template computes in this variant on `d`, and
 * `n_random` others that differ, over real layers and the small workloads of the tests. Returns how many were added: 0
 * where the template computes none, with `why` saying so in its own words. */
size_t check_draw(const struct template *t, const struct operator_desc *op, struct check_variant v,
                  const struct device_desc *d, int n_defaults, int n_random, uint64_t seed, struct check_items *items,
                  struct why *why);

#define CHECK_MAX_KERNELS 32
#define CHECK_KEY_BYTES (NVRTC_NAME_BYTES + 32)

/* What compiling one module for one architecture came to. */
struct check_result {
    bool ok;
    int ms;
    struct kernel_resources kernels[CHECK_MAX_KERNELS];
    size_t n_kernels;
    char words[240]; /* of the first error */
};

/* Results by the content of what was compiled: kept ones, and all of this run. */
struct check_results {
    struct verdicts kept;
    struct check_fresh {
        char key[CHECK_KEY_BYTES];
        char *text;
    } * fresh; /* sorted by key */
    size_t n_fresh;
};

/* Opens what is kept in `dir`. */
void check_results_open(struct check_results *r, const char *dir);
void check_results_fini(struct check_results *r);
bool check_results_find(const struct check_results *r, const char *key, struct check_result *out);

/* A result as one line, and back. */
void check_result_write(const struct check_result *result, struct buf *out);
bool check_result_read(const char *text, struct check_result *out);

/* sha256 over the code that compiles and reads the compiler's words. Written when tests are built. */
extern const char check_compiling[];

/* A module to compile. */
struct check_job {
    char key[CHECK_KEY_BYTES];
    const char *nvrtc; /* the library's path */
    const struct program_module *m;
    int sm;
};

/* Compiles in `n_processes` processes of their own, each with its NVRTC; results go to `r`. A compiler that dies twice
 * or takes longer than 5 minutes is a failed result. `jobs`: each key once. ERR_IO, ERR_NOMEM, or what opening NVRTC
 * gave. */
enum err check_compile(const struct check_job *jobs, size_t n, const struct blobs *blobs, int n_processes,
                       struct check_results *r, struct why *why);

/* Machine code against budgets. */
struct check_sass {
    const char *table;    /* a page with rows of ten cells: docs/notes/sass.md says what they are */
    const char *nvdisasm; /* the disassembler's path */
    const char *older;    /* of one that reads code for architectures before sm_75; NULL: theirs are left out */
    const char *only;     /* templates whose id contains this */
    struct nvrtc *nvrtcs[4];
    int n_nvrtcs, n_processes;
    bool shows;     /* each row as it is now */
    const int *sms; /* with architectures here, the defaults of all layers of networks on them in place of the table */
    int n_sms;
};

/* Calls `take` for each layer of the networks (kernels/networks), at batch 1 and 16, in all types and layouts, each
 * once, with each template of its operator, whether it fits or not. ERR_NOMEM. */
enum err check_layers(void (*take)(const char *template_id, const char *workload, void *arg), void *arg,
                      struct why *why);

/* Compiles and disassembles what each row of the table asks for, but what is kept, and tells which rows are not within
 * their budgets; adds to the two counts. ERR_NOT_FOUND, ERR_IO: of the table; ERR_NOMEM. */
enum err check_sass(const struct check_sass *options, const struct verdicts *kept, int *n_passed, int *n_failed,
                    struct why *why);

#endif
