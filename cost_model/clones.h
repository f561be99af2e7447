/* clones.h - CLONES compiles a function for several vector widths and picks one at run time. Only for loops whose
 * result is the same at every width: whole numbers, or floats that are never summed across rows. */
#ifndef TUNE_COST_MODEL_CLONES_H
#define TUNE_COST_MODEL_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CLONES
#endif

#endif
