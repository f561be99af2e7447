/* SPDX-License-Identifier: MIT */
/* epsilon.h - the unit of norm's key epsilon, which is a whole number. */
#ifndef TUNE_KERNELS_NORM_EPSILON_H
#define TUNE_KERNELS_NORM_EPSILON_H

#define NORM_UNIT 1e-12

#endif
