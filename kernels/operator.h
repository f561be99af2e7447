/* SPDX-License-Identifier: MIT */
/* operator.h - operators by table: what is computed. How is kernels/template.h. */
#ifndef TUNE_KERNELS_OPERATOR_H
#define TUNE_KERNELS_OPERATOR_H

#include "core/blobs.h"
#include "core/err.h"
#include "kernels/workload.h"
#include "runtime/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* KEY_FRACTION: a decimal number of at most 6 places, kept in millionths (also min, max, otherwise). KEY_HASH: sha256:
 * and 64 hex digits, 64 bits in each part, the first digits in the first; all 0 when left out. KEY_SIZES: 1 to 6
 * sizes with an x between, all 0 when left out. KEY_TEXT: a word that the operator reads itself, and is needed. */
enum key_kind { KEY_INT, KEY_PAIR, KEY_PAD, KEY_WORD, KEY_FRACTION, KEY_HASH, KEY_SIZES, KEY_TEXT };

struct operator_key {
    const char *name;
    enum key_kind kind;
    bool required;
    int64_t min, max, otherwise; /* inclusive; `otherwise` for every part when left out */
    const char *const *words;    /* KEY_WORD: NULL-ended, the default first */
    const char *help;
};

/* A tensor of the operator as a caller of the kernel sees it. */
struct tensor {
    const char *name; /* "x" "w" "y": the buffer's id in every program of this operator */
    enum buffer_role role;
    enum dtype dtype;
    int n_dims;
    int64_t shape[8];
    int64_t n_elems;
    const char *layout;         /* "nchw" "kcrs" "nk" ... */
    struct program_fill exact;  /* inputs and weights: of the exact pass (a reference may choose others) */
    struct program_fill random; /* of the random pass, and for timing */
};

#define OPERATOR_MAX_TENSORS 16

/* Which integer data the exact pass fills in; Winograd's transforms need multiples that keep its quotients whole. None:
 * the arithmetic of a config is exact on no data, only the random pass is run. */
enum exact_data { EXACT_PLAIN, EXACT_WINOGRAD2, EXACT_WINOGRAD4, EXACT_NONE };

struct expected;
struct template;

struct operator_desc {
    const char *name, *summary, *formula;
    const struct operator_key *keys; /* ended by name == NULL */
    unsigned dtypes;                 /* bit (1u << dtype) */
    /* What the table of keys cannot say (window larger than the padded input, groups not dividing c). ERR_INPUT,
     * ERR_LIMIT. */
    enum err (*check)(const struct workload *w, struct why *why);
    double (*flops)(const struct workload *w); /* as GFLOPS are counted: knobs.md section 0 */
    /* What is left of them when products with weights that are 0 are not counted; NULL = all. */
    double (*flops_effective)(const struct workload *w);
    /* No way to compute it does with fewer, but Winograd's: products with padding and with weights that are 0 are not
     * counted. NULL: nothing is known. */
    double (*flops_least)(const struct workload *w);
    double (*bytes_min)(const struct workload *w); /* inputs + weights + outputs once */
    size_t (*tensors)(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS]);
    /* Computes expected outputs from the definition, in double or int64, independent of all templates: an exact pass
     * (integer data: samples, and a projection that covers every element) and a random pass (normal data: samples with
     * scale sum |x||w|). They depend on the workload and `data` alone; expect_passes (kernels/expect.h) keeps them.
     * ERR_NOMEM, ERR_LIMIT. */
    enum err (*reference)(const struct workload *w, enum exact_data data, struct expected *out);
    const struct template *const *templates; /* the ways to compute it, NULL-ended; kernels/template.h */
};

extern const struct operator_desc *const operator_table[]; /* NULL-ended */
const struct operator_desc *operator_find(const char *name);

/* operator->bytes_min of operators whose kernels touch each element of their tensors once. */
double operator_bytes_min(const struct workload *w);

/* The operator's tensors as the first buffers of a program, filled for timing. ERR_NOMEM. */
enum err operator_add_tensors(const struct workload *w, struct program *p);

#endif
