/* SPDX-License-Identifier: MIT */
/* text.h - a bundle's C files: NAME.h, NAME.c, NAME_vectors.h, NAME_vectors.c. Functions append to a buffer,
 * whose error is sticky. */
#ifndef TUNE_DEPLOY_TEXT_H
#define TUNE_DEPLOY_TEXT_H

#include "core/buf.h"
#include "core/err.h"
#include "deploy/set.h"

#include <stddef.h>
#include <stdint.h>

#define DEPLOY_LICENCE "SPDX-License-Identifier: MIT" /* in the first line of each file that takes comments */

/* Declarations: the list of layers and two functions for each of them. */
enum err deploy_text_header(const struct deploy_set *s, struct buf *out, struct why *why);

/* The executor, kernel texts, plans and functions. */
enum err deploy_text_source(const struct deploy_set *s, struct buf *out, struct why *why);

/* Plans as constant tables `plans[N_PLANS]`, one a layer, and what they point to. */
void deploy_text_plans(const struct deploy_set *s, struct buf *out);

/* Test vectors: the sampled expectations of each layer's verification passes, at most 512 elements each; layers that
 * have none are left out, and so are passes whose inputs no rule makes. */
enum err deploy_text_vectors_header(const struct deploy_set *s, struct buf *out, struct why *why);
enum err deploy_text_vectors(const struct deploy_set *s, struct buf *out, struct why *why);

/* A part of libtune/bundle by its file's name, with NAME, or NAME_ and CAPS_ at the beginning of
 * words, replaced by the bundle's name; lines that include libtune's own headers, and the one that names the licence,
 * are left out. */
enum err deploy_text_part(const struct deploy_set *s, const char *file, struct buf *out, struct why *why);

/* Small parts of C: a string with its quotes; a double, also one that is not finite; an integer of 64 bits. */
void deploy_text_literal(const char *text, size_t n, struct buf *out);
void deploy_text_string(const char *text, struct buf *out);
void deploy_text_real(double value, struct buf *out);
void deploy_text_whole(int64_t value, struct buf *out);
/* Bytes as the inside of an initialiser. */
void deploy_text_bytes(const unsigned char *bytes, size_t n, struct buf *out);

#endif
