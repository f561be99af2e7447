/* operator.h - operators by table: what is computed. How is kernels/template.h. */
#ifndef TUNE_KERNELS_OPERATOR_H
#define TUNE_KERNELS_OPERATOR_H

#include "core/blobs.h"
#include "kernels/workload.h"
#include "runtime/program.h"

enum key_kind { KEY_INT, KEY_PAIR, KEY_PAD, KEY_WORD };

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
    const char *layout; /* "nchw" "kcrs" "nk" ... */
};

#define OPERATOR_MAX_TENSORS 8

struct operator
{
    const char *name, *summary, *formula;
    const struct operator_key *keys; /* ended by name == NULL */
    unsigned dtypes;                 /* bit (1u << dtype) */
    /* What the table of keys cannot say (window larger than the padded input, groups not dividing c). ERR_INPUT,
     * ERR_LIMIT. */
    enum err (*check)(const struct workload *w, struct why *why);
    double (*flops)(const struct workload *w);     /* as GFLOPS are counted: knobs.md section 0 */
    double (*bytes_min)(const struct workload *w); /* inputs + weights + outputs once */
    size_t (*tensors)(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS]);
    /* Adds the verification passes to a program whose buffers carry the tensors' names: "exact" (integer data, every
     * element covered by CHECK_PROJECT and a sample by CHECK_SAMPLE) and "random" (normal data, a sample with scale
     * sum|x||w| and `tolerance`). Expected values come from a double or int64 computation of the definition,
     * independent of all templates; they depend on the workload alone, so callers cache them (expect_passes in
     * kernels/expect.h). ERR_NOMEM, ERR_LIMIT. */
    enum err (*expect)(const struct workload *w, double tolerance, struct program *p, struct blobs *blobs);
};

extern const struct operator* const operator_table[]; /* NULL-ended */
const struct operator* operator_find(const char *name);

#endif
