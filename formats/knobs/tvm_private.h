/* SPDX-License-Identifier: MIT */
/* tvm_private.h - what a task of TVM's is made of; for formats/knobs only. */
#ifndef TUNE_FORMATS_KNOBS_TVM_PRIVATE_H
#define TUNE_FORMATS_KNOBS_TVM_PRIVATE_H

#include "core/err.h"
#include "core/json.h"
#include "formats/knobs/tvm.h"

#include <stdbool.h>
#include <stdint.h>

#define TVM_MAX_KNOBS 16
#define TVM_MAX_PARTS 4

/* The axes that splits cut, as lengths of a workload. */
enum tvm_axis {
    AXIS_NONE,
    AXIS_N,
    AXIS_K,
    AXIS_KG4, /* fours of a group's output channels */
    AXIS_P,
    AXIS_Q,
    AXIS_C,
    AXIS_CG,  /* input channels of a group */
    AXIS_CG4, /* fours of them */
    AXIS_KG,
    AXIS_G,
    AXIS_R,
    AXIS_S,
    AXIS_AREA,  /* (m + 2)^2 of Winograd's tiles */
    AXIS_TILES, /* Winograd's tiles of all images */
    AXIS_ROWS,  /* m n k of matrix products */
    AXIS_COLUMNS,
    AXIS_TERMS,
    AXIS_TERMS_I8, /* k / 16, or k / 4 where that does not divide */
    N_AXES
};

/* KNOB_ORDER: a permutation of all of 3 loops. KNOB_INNER: [0 .. 6, 7, 8, 9] or [0 .. 6, 9, 7, 8]. */
enum tvm_kind { KNOB_SPLIT, KNOB_INNER, KNOB_ORDER, KNOB_UNROLL, KNOB_UNROLL_VEC, KNOB_OTHER };

struct tvm_knob {
    const char *name;
    enum tvm_kind kind;
    enum tvm_axis axis;              /* of a split */
    int n_parts;                     /* of a split or an annotation */
    const char *ours[TVM_MAX_PARTS]; /* our knob for each part; NULL = follows from the others, or has no counterpart */
    const char *length[TVM_MAX_PARTS]; /* of an annotation: our knob, or "r" "s", that says how long its loop is */
    int64_t most;                      /* of a split in two: the largest factor; 0 = any */
    int64_t values[8];                 /* of KNOB_OTHER, ended by BUILD_END */
    bool only_ones;                    /* a split whose inner parts are all 1 */
    bool extra;                        /* not of TVM 0.9's space, but of logs before it */
};

/* One of our knobs that TVM has no word for: what its kernel does. */
struct tvm_fixed {
    const char *name;
    int64_t value;
    const char *refused; /* words for another value; NULL = it is left out */
};

enum tvm_form {
    FORM_CONV,       /* data kernel strides pad dilation out_dtype */
    FORM_CONV_I8,    /* .. dilation layout out_dtype */
    FORM_CONV_GROUP, /* .. dilation groups out_dtype */
    FORM_DEFORMABLE, /* data offset kernel strides pad dilation deformable_groups groups out_dtype */
    FORM_DENSE,      /* data weight bias out_dtype */
    FORM_BATCH       /* x y out_shape out_dtype transpose_a transpose_b */
};

struct tvm_task {
    const char *name, *template_id, *op;
    enum tvm_form form;
    unsigned dtypes;               /* bit (1u << dtype) */
    bool grouped;                  /* conv2d with groups > 1 only; else one group only */
    const struct tvm_knob *knobs;  /* in TVM's order of declaration, ended by name NULL */
    const struct tvm_fixed *fixed; /* ended by name NULL */
    int winograd_rows; /* TVM takes m = 4 where this divides the input's rows, else m = 2; 0 = not Winograd */
    void (*settle)(const struct space *s,
                   struct config *c);                   /* to the one of equal configs that our space has; or NULL */
    enum err (*express)(cJSON *knobs, struct why *why); /* or NULL */
};

/* Moves a config to the one of its equals that our space has, by the kind of its template's space. */
void tvm_settle_annotations(const struct space *s, struct config *c);
void tvm_settle_strips(const struct space *s, struct config *c);
void tvm_settle_winograd(const struct space *s, struct config *c);
void tvm_settle_batch(const struct space *s, struct config *c);

/* The other way: gives knobs a value of TVM's that means the same. ERR_UNSUPPORTED where none does. */
enum err tvm_express_batch(cJSON *knobs, struct why *why);

/* Sets a knob to a number; false when the space has no such knob or value. */
bool tvm_set(const struct space *s, struct config *c, const char *name, int64_t value);

/* Length of an axis; 0 for AXIS_NONE. */
int64_t tvm_axis_length(const struct tvm_task *t, const struct workload *w, enum tvm_axis a);

/* TVM's m of Winograd's tiles. */
int64_t tvm_winograd_m(const struct tvm_task *t, const struct workload *w);

/* The inner parts of a split (all but the first) as TVM means them; ERR_INPUT when it is no split of `length`. */
enum err tvm_split_parts(const struct tvm_knob *k, int64_t length, const cJSON *value, int64_t parts[TVM_MAX_PARTS],
                         struct why *why);

/* Puts one knob at the place of each entity: by name, kinds compared, each once, all but the extra ones there. `at[i]`
 * is the entity of t->knobs[i], NULL when it lacks. tile_rx before tile_ry (logs before TVM 0.8): each holds the
 * other's value, and gets it here. */
enum err tvm_match(const struct tvm_task *t, const cJSON *entities, const cJSON *at[TVM_MAX_KNOBS], struct why *why);

/* The knob whose value an entity of a matched list holds. */
const struct tvm_knob *tvm_knob_at(const struct tvm_task *t, const cJSON *const at[TVM_MAX_KNOBS], const cJSON *entity);

/* The i-th word of an annotation: 0 none, 1 unroll, 2 vec (where the knob has it); -1 for anything else. */
int tvm_annotation(const struct tvm_knob *k, const cJSON *value, int i);

/* The position of an entity's value among its knob's candidates, and how many there are. */
enum err tvm_position(const struct tvm_task *t, const struct workload *w, const struct tvm_knob *k, const cJSON *value,
                      uint64_t *position, uint64_t *n, struct why *why);

#endif
