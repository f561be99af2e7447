/* SPDX-License-Identifier: MIT */
/* expr_code.h - what a compiled expression is made of; shared by expr.c (compiles) and expr_eval.c (runs). */
#ifndef TUNE_SEARCH_SPACE_EXPR_CODE_H
#define TUNE_SEARCH_SPACE_EXPR_CODE_H

#include "search_space/expr.h"

#include <stddef.h>
#include <stdint.h>

#define EXPR_MAX_STACK 256 /* values held at once; checked while compiling, so that evaluation need not */

/* Stack effects: ( before -- after ); `arg` is a constant, slot, or jump target. */
enum op_code {
    OP_NUMBER, /* ( -- numbers[arg] ) */
    OP_WORD,   /* ( -- words[arg] ) */
    OP_SLOT,   /* ( -- slots[arg] ) */
    OP_NEG,    /* ( a -- -a ) */
    OP_PLUS,   /* ( a -- a ), a number */
    OP_NOT,    /* ( a -- a == 0 ) */
    OP_BOOL,   /* ( a -- a != 0 ) */
    OP_ADD,    /* ( a b -- c ), so all arithmetic and comparisons */
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOOR_DIV,
    OP_MOD,
    OP_CEIL_DIV,
    OP_MIN,
    OP_MAX,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_CHAIN,  /* ( a b -- b ), or ( a b -- 0 ) and jump when the comparison of the next instruction (skipped) fails */
    OP_AND,    /* ( a -- ), or ( a -- 0 ) and jump when a is false */
    OP_OR,     /* ( a -- ), or ( a -- 1 ) and jump when a is true */
    OP_IN,     /* ( x e -- x ), or ( x e -- 1 ) and jump when x == e */
    OP_IN_END, /* ( x -- 0 ) */
};

struct instruction {
    uint16_t code; /* enum op_code */
    uint16_t arg;
};

struct expr {
    struct instruction *code;
    double *numbers;
    char **words;
    size_t n_code, n_numbers, n_words;
};

#endif
