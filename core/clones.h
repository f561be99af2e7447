/* SPDX-License-Identifier: MIT */
/* clones.h - CLONES compiles a function for several vector widths and picks one at run time. Only for loops whose
 * result is the same at every width: whole numbers, or floats that are never summed across rows. */
#ifndef TUNE_CORE_CLONES_H
#define TUNE_CORE_CLONES_H

/* gcc 11 and clang 14 cannot choose by arch=x86-64-v4 at run time. */
#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) &&                    \
    !defined(__SANITIZE_THREAD__) /* clang says that it is GNU C 4 */
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CLONES
#endif

#endif
