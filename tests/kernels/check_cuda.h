/* check_cuda.h - the parts of check_cuda_compile: configs drawn for an architecture, results of compiling that are kept
 * between runs, and processes that compile. */
#ifndef TUNE_TESTS_KERNELS_CHECK_CUDA_H
#define TUNE_TESTS_KERNELS_CHECK_CUDA_H

#include "kernels/template.h"
#include "runtime/nvrtc.h"

/* One config on one architecture. */
struct check_item {
    const struct template *t;
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

/* What is compiled together: a type, and with acc=f16 sums in half. */
struct check_variant {
    enum dtype dtype;
    bool acc_half;
};

/* Appends default configs of at most `n_defaults` real layers that the template computes in this variant on `d`, and
 * `n_random` others that differ, over real layers and the small workloads of the tests. Returns how many were added: 0
 * where the template computes none, with `why` saying so in its own words. */
size_t check_draw(const struct template *t, const struct operator* op, struct check_variant v,
                  const struct device_desc *d, int n_defaults, int n_random, uint64_t seed, struct check_items *items,
                  struct why *why);

#define CHECK_MAX_KERNELS 32
#define CHECK_KEY_BYTES (NVRTC_NAME_BYTES + 16)

/* What compiling one module for one architecture came to. */
struct check_result {
    bool ok;
    int ms;
    struct kernel_resources kernels[CHECK_MAX_KERNELS];
    size_t n_kernels;
    char words[240]; /* of the first error */
};

/* Results by the content of what was compiled, in a text file that processes append to: "<key> ok ..." lines. */
struct check_results {
    char path[4096];
    struct buf text;
    const char **lines; /* sorted, into text */
    size_t n_lines;
};

/* Opens (or makes) `dir`/results. ERR_IO. */
enum err check_results_open(struct check_results *r, const char *dir, struct why *why);
void check_results_fini(struct check_results *r);
enum err check_results_reload(struct check_results *r, struct why *why); /* what others have appended */
bool check_results_find(const struct check_results *r, const char *key, struct check_result *out);
enum err check_results_add(const struct check_results *r, const char *key, const struct check_result *result,
                           struct why *why);

/* A module to compile. */
struct check_job {
    char key[CHECK_KEY_BYTES];
    const char *nvrtc; /* the library's path */
    const struct program_module *m;
    int sm;
};

/* Compiles in `n_processes` processes of their own, each with its NVRTC; results go to `r`. A compiler that dies or
 * takes longer than 5 minutes is a failed result. `jobs`: each key once. ERR_IO, ERR_NOMEM, or what opening NVRTC gave.
 */
enum err check_compile(const struct check_job *jobs, size_t n, const struct blobs *blobs, int n_processes,
                       const struct check_results *r, struct why *why);

#endif
