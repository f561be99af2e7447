/* SPDX-License-Identifier: MIT */
/* program.h - the narrow waist: a config made concrete. All that a device needs to build, check and time it, nothing
 * else. Text form: docs/program-format.md (JSON, schema 1). Sources and expected values are blobs named by SHA-256. */
#ifndef TUNE_RUNTIME_PROGRAM_H
#define TUNE_RUNTIME_PROGRAM_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "runtime/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_SCHEMA 1
#define PROGRAM_MAX_BYTES ((size_t)4 << 20) /* of JSON */
/* A compiler option for CUDA: code for sm_90a instead of sm_90 (or PTX likewise), which runs on that architecture and
 * no later one, and may have what those lack. */
#define PROGRAM_ARCH_SPECIFIC "-arch-specific"
#define PROGRAM_MAX_MODULES 16
#define PROGRAM_MAX_BUFFERS 64
#define PROGRAM_MAX_LAUNCHES 4096
#define PROGRAM_MAX_ARGS 32
#define PROGRAM_MAX_PASSES 8
#define PROGRAM_MAX_CHECKS 8
#define PROGRAM_MAX_DEFINES 128
#define PROGRAM_MAX_AFTER 32
#define PROGRAM_MAX_LOOPS 256
#define PROGRAM_MAX_NEST 3                          /* loops around a launch */
#define PROGRAM_MAX_RUNS ((int64_t)1 << 18)         /* launches of a phase, each as often as its loops repeat it */
#define PROGRAM_MAX_BUFFER_BYTES ((int64_t)8 << 30) /* of all buffers together */
#define PROGRAM_MAX_SAMPLES ((int64_t)1 << 24)      /* values of one check */
#define PROGRAM_ID_BYTES 40

enum program_lang { LANG_OPENCL_C, LANG_CUDA_C, LANG_PTX, LANG_CUBIN, LANG_CLBIN, LANG_C, LANG_CXX, N_LANGS };
enum buffer_role { ROLE_INPUT, ROLE_WEIGHT, ROLE_PACKED, ROLE_OUTPUT, ROLE_STATE, ROLE_SCRATCH, N_ROLES };
/* int: uniform integers in [lo, hi]; normal: Irwin-Hall sum of 12 uniforms, mean lo, standard deviation hi;
 * none: content undefined (a check run poisons it, see enum poison); wide: normal ones, of which blocks of elements are
 * larger or smaller by powers of two, single ones 0 or ties; edges: integers, most of them at the bounds or near 0, of
 * blocks all near one bound; floats: any exponent and fraction; rows: what the largest of a row is not found by luck
 * in; turns: lo and hi in turn. What looks like something else to who looks at a part of it: pixels, images with flat
 * parts; prefixes, rows that begin like others; filters, weights that are symmetric, dead, equal, alone, or cancel;
 * near, two tensors of one seed that differ in their last places; picks, numbers that somebody thinks of; ties, whole
 * numbers whose means are halves. */
enum fill_kind {
    FILL_NONE,
    FILL_ZERO,
    FILL_VALUE,
    FILL_INT,
    FILL_NORMAL,
    FILL_BLOB,
    FILL_WIDE,
    FILL_EDGES,
    FILL_FLOATS,
    FILL_ROWS,
    FILL_TURNS,
    FILL_BANDS,
    FILL_PIXELS,
    FILL_PREFIXES,
    FILL_FILTERS,
    FILL_NEAR,
    FILL_PICKS,
    FILL_TIES,
    N_FILLS
};
/* symbol: a buffer's bytes go into a __constant__ or __device__ variable of a CUDA module, named by `kernel`. */
enum launch_op { LAUNCH_KERNEL, LAUNCH_FILL, LAUNCH_COPY, LAUNCH_SYMBOL, N_LAUNCH_OPS };
/* pack: once at load, not timed; run: the timed work; reference: run once before checking, fills buffers to compare
 * with. */
enum launch_phase { PHASE_PACK, PHASE_RUN, PHASE_REFERENCE, N_PHASES };
/* B8, B16: the bits of a char, short or half. */
enum arg_kind { ARG_BUFFER, ARG_I32, ARG_U32, ARG_I64, ARG_F32, ARG_LOCAL, ARG_F64, ARG_B8, ARG_B16, N_ARGS };
/* sample: elements at given indices against given values; project: sums along one axis with random integer weights
 * (covers every element, exact data only); buffer: all elements against another buffer (a reference's output). */
enum check_kind { CHECK_SAMPLE, CHECK_PROJECT, CHECK_BUFFER, N_CHECKS };
/* What scales the tolerance of CHECK_BUFFER: 1; |ref| of each element, but no less than 1e-4 of the largest; the
 * largest |ref| of the buffer. */
enum check_relative { RELATIVE_NO, RELATIVE_EACH, RELATIVE_PEAK, N_RELATIVES };

struct program_define {
    char name[PROGRAM_ID_BYTES];
    char value[64];
};

struct program_module {
    char id[PROGRAM_ID_BYTES];
    enum program_lang lang;
    struct sha256 source; /* blob */
    char *options;        /* compiler options, "" = none */
    struct program_define *defines;
    size_t n_defines;
};

/* A buffer seen as [rows][cols][inner], of whose columns only the first `of` differ: another one, c, repeats column
 * program_fold_column(fold, c). So all of a large output can be told by a few columns. of = 0: not folded. */
struct program_fold {
    int64_t inner, cols, of;
    uint64_t seed; /* < 2^53 */
};

/* Steps of FILL_FLOATS: no element is 0 or below it; no element is 0. */
#define FILL_FLOATS_ABOVE_0 (-2)
#define FILL_FLOATS_NOT_0 (-3)

struct program_fill {
    enum fill_kind kind;
    uint64_t seed; /* < 2^53 */
    double lo, hi; /* bounds; value uses lo */
    double step;   /* FILL_INT: multiples of it instead of whole numbers, lo * step .. hi * step; 0 = 1;
                    * FILL_WIDE: the largest factor, a power of two; FILL_FLOATS: 1 = infinities too (-1: blocks above 0),
                    * 2 = and NaN, and outputs are compared by their bits, larger: one of 32 is near it, -2: all above 0,
                    * -3: none is 0; FILL_ROWS: what offsets are multiplied by; FILL_TURNS: 1 = drawn, not in turn;
                    * FILL_BANDS: the largest factor, a power of two; FILL_PIXELS, FILL_PREFIXES: as of FILL_INT, below 0
                    * rows are mirrored, FILL_FILTERS: as of FILL_INT; FILL_PICKS: the largest */
    int64_t block; /* FILL_INT: elements in a row of which the fourth of eight is 0, 0 = none; FILL_NORMAL: of a row of
                    * which the second of four begins with `step`, others in it are 2^-16 as large, 0 = none; FILL_WIDE:
                    * of one magnitude, 0 = 1; FILL_EDGES: of one bound, 0 = none; FILL_FLOATS: all far below 0 or
                    * -infinity, 0 = none; FILL_ROWS: of a row; FILL_BANDS: of what is cut into four; FILL_PIXELS,
                    * FILL_PREFIXES: of a row, FILL_FILTERS: of a filter; FILL_NEAR: the least size; FILL_PICKS: 1 =
                    * above 0, 2 = not below; FILL_TIES: of the same two numbers */
    int64_t zeros; /* elements of a row: some begin or end with zeros, have them here and there or nothing else; of
                    * FILL_INT runs of neighbours are the same, too; FILL_VALUE begins with row `hi`; 0 = none */
    int64_t seen, plane; /* of each `plane` elements those from `seen` on are NaN, of floats; 0, 0 = none. Of pixels and
                          * filters: elements of a pixel, and of a plane; of a window's row, and of a window; of
                          * prefixes `plane`: of a matrix; of ties `seen`: of a pixel; of FILL_WIDE without `seen`: of
                          * each the last `block` are far smaller */
    struct program_fold fold;
    struct sha256 blob; /* FILL_BLOB: raw little-endian elements, exactly the buffer's bytes */
};

/* The layout of elements kept as bytes, shape [elements][bytes of one]: messages name the element. */
#define PROGRAM_LAYOUT_BYTES "bytes"

struct program_buffer {
    char id[PROGRAM_ID_BYTES];
    enum buffer_role role;
    enum dtype dtype;
    int64_t shape[8]; /* for people and bundles; product == n_elems */
    int n_dims;
    char layout[24]; /* "nchw", "" */
    int64_t n_elems;
    struct program_fill fill; /* content for timing, and for a pass that does not name the buffer */
    bool reset_each_run;      /* filled anew before every run */
};

struct program_arg {
    enum arg_kind kind;
    int i_buffer;    /* ARG_BUFFER */
    int64_t integer; /* ARG_I32, ARG_U32, ARG_I64, ARG_B8, ARG_B16; ARG_LOCAL: bytes */
    double real;     /* ARG_F32, ARG_F64 */
    /* ARG_I32, ARG_U32, ARG_I64: added an iteration of each loop around the launch, outermost first */
    int64_t bump[PROGRAM_MAX_NEST];
};

struct program_launch {
    char id[PROGRAM_ID_BYTES];
    enum launch_op op;
    enum launch_phase phase;
    int i_module;
    char kernel[64];
    int64_t grid[3];          /* work-groups */
    int64_t block[3];         /* work-items in a group */
    struct program_arg *args; /* fill: {buffer, f32 value}; copy: {to, from, i64 bytes} */
    size_t n_args;
    int queue; /* 0..7 */
    /* CUDA: bytes of dynamic shared memory, and whether all groups must run at the same time (they wait for each other
     * at a grid barrier; refused as `limits` where they do not fit). */
    int64_t dyn_local;
    bool cooperative;
    /* Indices of launches of the same phase whose latest start must have ended: earlier ones, or any that shares a loop
     * with this one (that of the iteration before). Same queue = in order anyway. */
    int *after;
    size_t n_after;
};

/* Launches first .. last (inclusive, of one phase) are run `count` times, in order. Loops lie within one another or
 * apart, in the order of `first`, the outer one first. */
struct program_loop {
    int first, last;
    int64_t count;
};

struct program_check {
    enum check_kind kind;
    int i_buffer;
    int i_reference;              /* CHECK_BUFFER */
    enum check_relative relative; /* CHECK_BUFFER */
    double tolerance;      /* |y - ref| <= tolerance * scale; 0 = equal (after conversion to the buffer's dtype) */
    int64_t n;             /* CHECK_SAMPLE: number of samples */
    struct sha256 indices; /* u64 LE [n]; hex "" = elements 0..n-1 */
    struct sha256 values;  /* f64 LE: [n], or [outer*inner] of CHECK_PROJECT */
    struct sha256 scale;   /* f64 LE [n]; hex "" = 1 */
    /* CHECK_SAMPLE without indices: values are those of the first `of` columns, in their order, n = rows * of * inner;
     * every element of the buffer is compared. */
    struct program_fold fold;
    /* CHECK_PROJECT: y viewed as [outer][axis][inner][lanes]; summed over axis and lanes with weights
     * program_project_weight(seed, axis index * lanes + lane). 0 lanes = 1. */
    int64_t outer, axis, inner, lanes;
    uint64_t seed;
};

struct program_pass_fill {
    int i_buffer;
    struct program_fill fill;
};

/* One verification run: buffers filled anew, pack + reference + run launches once, then checks. */
struct program_pass {
    char id[16];  /* "exact", "random" */
    bool is_last; /* of a sheet: behind the others, of what may be chosen alone; over all that was left in memory */
    struct program_pass_fill *fills;
    size_t n_fills;
    struct program_check checks[PROGRAM_MAX_CHECKS];
    size_t n_checks;
};

struct program {
    char *workload;    /* workload text, or a person's own name */
    char *template_id; /* "conv2d/spatial_pack"; "" for a person's own kernel */
    int template_version;
    cJSON *knobs;                                /* object, names to values; owned */
    char numerics[24];                           /* "exact", "f32", "f16" ... class of the arithmetic */
    double flops, flops_effective, bytes_min;    /* of one run */
    double build_s, run_s;                       /* limits; 0 = the job's */
    int64_t memory_bytes;                        /* limit of the child, 0 = the job's */
    char api[16];                                /* "opencl", "cuda", "c" */
    char std[16];                                /* "CL1.2" */
    char extensions[256];                        /* all needed, space-separated */
    int64_t needs_work_group, needs_local_bytes; /* refused as `limits` before building */
    struct program_module *modules;
    size_t n_modules;
    struct program_buffer *buffers;
    size_t n_buffers;
    struct program_launch *launches;
    size_t n_launches;
    struct program_loop *loops;
    size_t n_loops;
    struct program_pass *passes;
    size_t n_passes;
    size_t n_sheet; /* the last of the passes are a sheet's, which count in place of its own; 0 = it has none */
};

/* The caller's memory, all empty; fini frees what the program owns and accepts half-made ones. */
void program_init(struct program *p);
void program_fini(struct program *p);

/* Builders: append zeroed entries and lend them until the next append of the same kind; NULL on lack of memory or a
 * full table. */
struct program_module *program_add_module(struct program *p, const char *id, enum program_lang lang,
                                          const char *options);
enum err program_define(struct program_module *m, const char *name, int64_t value);
enum err program_define_text(struct program_module *m, const char *name, const char *value);
struct program_buffer *program_add_buffer(struct program *p, const char *id, enum buffer_role role, enum dtype t,
                                          int64_t n_elems);
/* The id of a launch is "l0", "l1", ... until the caller writes another. */
struct program_launch *program_add_launch(struct program *p, enum launch_op op, enum launch_phase phase);
struct program_launch *program_add_symbol(struct program *p, int i_module, const char *symbol, int i_buffer,
                                          int64_t n_bytes); /* with the weights */
struct program_launch *program_add_kernel(struct program *p, enum launch_phase phase, int i_module, const char *kernel,
                                          const int64_t grid[3], const int64_t block[3]);
enum err program_arg_buffer(struct program_launch *l, int i_buffer);
enum err program_arg_int(struct program_launch *l, enum arg_kind kind, int64_t value);
enum err program_arg_real(struct program_launch *l, double value);   /* ARG_F32 */
enum err program_arg_double(struct program_launch *l, double value); /* ARG_F64 */
enum err program_after(struct program_launch *l, int i_launch);
/* ERR_LIMIT, ERR_NOMEM. What it may hold is checked by program_check_sane. */
enum err program_add_loop(struct program *p, int first, int last, int64_t count);
struct program_pass *program_add_pass(struct program *p, const char *id);
enum err program_pass_fill_add(struct program_pass *pass, int i_buffer, const struct program_fill *fill);
struct program_check *program_pass_check_add(struct program_pass *pass, enum check_kind kind, int i_buffer);
int program_find_buffer(const struct program *p, const char *id); /* -1 when there is none */

/* Does a whole number change with the iterations of the loops around its launch? */
bool program_arg_bumps(const struct program_arg *a);

/* Checks every index, size, name and limit of an untrusted program: ERR_INPUT or ERR_LIMIT with words. */
enum err program_check_sane(const struct program *p, struct why *why);

/* Canonical compact JSON (equal programs give equal bytes), and its hash: the identity of a trial's work. */
enum err program_to_json(const struct program *p, struct buf *out);
enum err program_from_json(const char *text, size_t n, struct program *out, struct why *why); /* sane-checked */
/* A deep copy; `out` is initialised by this call. ERR_INPUT when `p` is not sane. */
enum err program_copy(const struct program *p, struct program *out, struct why *why);
enum err program_hash(const struct program *p, struct sha256 *out);

/* Calls `each` with the name of every blob the program needs, once each. */
void program_each_blob(const struct program *p, void (*each)(const char *hex, void *arg), void *arg);

/* The column that column `c` repeats; and the element that element `i` of the buffer repeats. */
int64_t program_fold_column(const struct program_fold *f, int64_t c);
int64_t program_fold_elem(const struct program_fold *f, int64_t i);

/* Passes apart from a program: what another run is to be verified with, over buffers of the same names. A sheet is a
 * JSON object {"schema", "verify"} of at most PROGRAM_MAX_BYTES. program_sheet_read puts its passes behind
 * the program's (n_sheet); fills of buffers that the program lacks are left out.
 * ERR_INPUT, ERR_LIMIT as of a program; `p` is half-made then. */
enum err program_sheet_write(const struct program *p, struct buf *out);
enum err program_sheet_read(const char *text, size_t n, struct program *p, struct why *why);
void program_drop_passes(struct program *p);

/* A buffer's content in a pass, NULL = for timing. */
const struct program_fill *program_fill_of(const struct program *p, const struct program_pass *pass, size_t i_buffer);

/* Eight hex digits of what this version of tune makes of the fills that values are expected of: by the sheet, else by
 * the program's passes. Computed from the data: who makes other data has, but for rare elements, other digits. "" =
 * nothing is compared with values. */
#define PROGRAM_SUM_BYTES 9
void program_fills_sum(const struct program *p, char out[PROGRAM_SUM_BYTES]);

/* Do two fills give the same elements? */
bool program_fill_equal(const struct program_fill *a, const struct program_fill *b);

/* Does any pass compare something? One without checks is run for its fences alone. */
bool program_is_checked(const struct program *p);

/* Weight of position `i` along a projected axis: an integer in [1, 2^20]. Values stay exact in a double while
 * axis * max|y| * 2^20 < 2^53. */
double program_project_weight(uint64_t seed, int64_t i);

/* Fills elements [0, n) of host memory; the same on every machine (no libm). FILL_NONE sets all bits (NaN). blobs may
 * be NULL unless FILL_BLOB: ERR_NOT_FOUND, ERR_INPUT when the blob is of another size. */
enum err fill_elems(const struct program_fill *f, enum dtype t, void *data, int64_t n, const struct blobs *blobs);
/* Elements [first, first + n) of such a fill, or element `i`, as doubles that the buffer holds after conversion to `t`;
 * NAN for FILL_NONE and FILL_BLOB. */
void fill_run(const struct program_fill *f, enum dtype t, int64_t first, int64_t n, double *out);
double fill_elem(const struct program_fill *f, enum dtype t, int64_t i);

#endif
