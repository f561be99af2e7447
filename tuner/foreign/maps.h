/* maps.h - what the foreign formats mean here, for convert.c alone: one line a file of this folder. */
#ifndef TUNE_TUNER_FOREIGN_MAPS_H
#define TUNE_TUNER_FOREIGN_MAPS_H

#include "tuner/convert.h"

extern const struct convert_map map_acl;          /* acl.c */
extern const struct convert_map map_autotvm;      /* autotvm.c */
extern const struct convert_map map_clblast;      /* clblast.c */
extern const struct convert_map map_kernel_tuner; /* kernel_tuner.c */
extern const struct convert_map map_ktt;          /* ktt.c */
extern const struct convert_map map_t4;           /* t4.c */

#endif
