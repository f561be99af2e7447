/* SPDX-License-Identifier: MIT */
/* calls.h - the calls of docs/protocol.md as types: for each a struct of what goes with it and one of what comes back,
 * for each struct a table of its members, and one codec over these tables that peers and tracker use alike. All of them
 * are made of tracker/calls_list.h. */
#ifndef TUNE_TRACKER_CALLS_H
#define TUNE_TRACKER_CALLS_H

#include "core/err.h"
#include "core/json.h"
#include "tracker/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_BODY_BYTES ((size_t)1 << 20) /* of a job's body */
#define CALL_RECORD_BYTES 65536           /* of a record's line */
#define CALL_CAGE_BYTES 1024              /* of words on a builder's cage */
#define CALL_USER_BYTES 128               /* of a user's name */
#define CALL_MAX_LEASE 64                 /* trials or builds in one lease */
#define CALL_MAX_CAPACITY 1024            /* trials that one agent may ask to be kept busy with */
#define CALL_LEASE_MS 30000               /* of a lease where the tracker does not say */
#define CALL_MAX_BLOBS 64                 /* of the answer to a build */
#define CALL_MAX_ARCHES 16                /* of one builder */
#define CALL_ARCH_BYTES 16                /* of an architecture's name */

/* What a member is, in JSON and in its struct. Trees and texts are lent by the tree that was read; trees that are
 * written are taken. */
enum call_kind {
    KIND_TEXT,   /* const char *; NULL = left out */
    KIND_I64,    /* int64_t in min..max; of both 0: 0..JSON_EXACT_MAX */
    KIND_REAL,   /* double, finite; NAN is left out */
    KIND_BOOL,   /* bool */
    KIND_OBJECT, /* cJSON *; NULL = left out */
    KIND_LIST,   /* cJSON *: an array of at most max entries, of objects `of` where that is set; NULL = empty */
    KIND_TEXTS,  /* cJSON *: an array of min..max strings of the form; NULL = empty */
    KIND_ANY     /* cJSON *: any value; NULL = left out */
};

enum call_need {
    NEED_MUST,    /* has to be there */
    NEED_MAY,     /* has the default where it is missing */
    NEED_OR_NULL, /* null where there is none */
    NEED_TIED     /* as NEED_MAY; written only where the member before it is */
};

/* What a text has to look like. */
enum call_form {
    FORM_ANY,
    FORM_HASH,    /* a SHA-256 in hex */
    FORM_NO_HASH, /* or "" */
    FORM_NAME,    /* name_is_sane */
    FORM_NO_NAME, /* or "" */
    FORM_ARCH,    /* "sm_61" */
    FORM_NONCE,   /* REQUEST_ID_HEX hex digits */
    FORM_JOB,     /* "j12" */
    FORM_TRIAL,   /* "t345" */
    FORM_PATH     /* begins with / */
};

struct call_shape;

struct call_member {
    const char *name; /* NULL ends a table */
    enum call_kind kind;
    enum call_need need;
    size_t offset;    /* in its struct */
    int64_t min, max; /* of numbers; entries of a list; bytes of a text; max 0 = no bound */
    enum call_form form;
    const char *one_of;          /* the words that a text may be, with blanks between; NULL = any */
    const struct call_shape *of; /* what a list or object is made of; NULL = opaque */
    union {
        const char *text;
        int64_t i64;
        double real;
        bool yes;
    } otherwise; /* what is taken where it is missing */
};

/* The members of one struct. */
struct call_shape {
    const char *name;
    const struct call_member *(*members)(void);
};

/* Reads the members of an object into the struct; others are ignored. ERR_INPUT or ERR_LIMIT with words "<what>: member
 * <name>: expected .." about the first that does not fit; all that do not have their defaults then. */
enum err call_read(const struct call_shape *shape, const char *what, const cJSON *object, void *out, struct why *why);

/* Gives an object; NULL on lack of memory. The struct's trees are taken, then too. */
cJSON *call_write(const struct call_shape *shape, const void *takes_trees);

/* Deletes the trees of a struct that is not written. */
void call_drop(const struct call_shape *shape, const void *in);

/* Adds an entry to a list that may be NULL so far; `ok` turns false on lack of memory, of which entry NULL is one. */
void call_list_add(cJSON **list, cJSON *takes_entry, bool *ok);
void call_list_add_text(cJSON **list, const char *text, bool *ok);

/* What a list's entries become: a struct, with its shape and typed forms of call_read (an entry, named by its struct)
 * and call_write; and in one source file of each list the tables. Another list than calls_list.h is named in
 * CALL_LIST when that is included. */
typedef const char *call_TEXT;
typedef int64_t call_I64;
typedef double call_REAL;
typedef bool call_BOOL;
typedef cJSON *call_OBJECT, *call_LIST, *call_TEXTS, *call_ANY;
#define CALL_MEMBER(kind, name, ...) call_##kind name;
#define CALL_STRUCT(tag, members)                                                                                      \
    struct tag {                                                                                                       \
        members char end; /* no struct is empty */                                                                     \
    };                                                                                                                 \
    extern const struct call_shape tag##_shape;                                                                        \
    static inline enum err tag##_read(const cJSON *object, struct tag *out, struct why *why)                           \
    {                                                                                                                  \
        return call_read(&tag##_shape, #tag, object, out, why);                                                        \
    }                                                                                                                  \
    static inline cJSON *tag##_write(const struct tag *takes_trees)                                                    \
    {                                                                                                                  \
        return call_write(&tag##_shape, takes_trees);                                                                  \
    }

/* Inside a function a struct of any tag can have the same short name, for offsetof. */
#define CALL_MEMBER_ROW(kind_, name_, ...)                                                                             \
    {.name = #name_, .kind = KIND_##kind_, .offset = offsetof(this, name_), .need = __VA_ARGS__},
#define CALL_TABLE(tag, members_)                                                                                      \
    static const struct call_member *tag##_members(void)                                                               \
    {                                                                                                                  \
        typedef struct tag this;                                                                                       \
        static const struct call_member table[] = {members_{.offset = sizeof(this)}};                                  \
                                                                                                                       \
        return table;                                                                                                  \
    }                                                                                                                  \
    const struct call_shape tag##_shape = {#tag, tag##_members};

#define MEMBER CALL_MEMBER
#define STRUCT CALL_STRUCT
#include "tracker/calls_list.h"

enum call_name {
#define CALL(upper, name, args, result, effect, wake) CALL_##upper,
#include "tracker/calls_list.h"
    N_CALLS
};

union call_args {
#define CALL(upper, name, args, result, effect, wake) struct args name;
#include "tracker/calls_list.h"
};

union call_result {
#define CALL(upper, name, args, result, effect, wake) struct result name;
#include "tracker/calls_list.h"
};

struct call_type {
    const char *name;
    const struct call_shape *args, *result;
};

extern const struct call_type call_table[N_CALLS];

/* The number of an id: "j12" of kind j. ERR_INPUT. */
enum err call_id_parse(const char *text, char kind, int64_t *out);

/* A farm in parts (docs/scale.md): they are numbered from 1. That of a device key; that of a job or trial, which is in
 * its number; that of a call, by the job, trial or key among its arguments, 0 where it names none. */
#define PARTS_MOST 64
int64_t part_of_key(const char *key, int64_t n_parts);
int64_t part_of_id(int64_t id, int64_t n_parts);
int64_t part_of_args(const cJSON *args, int64_t n_parts);

/* N_CALLS when there is no such call. */
enum call_name call_find(const char *name);

/* How long a call may wait at the tracker: its member wait_ms; 0 of calls that have none. */
int64_t call_wait_ms(enum call_name call, const void *args);

#endif
