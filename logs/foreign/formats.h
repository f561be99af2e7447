/* formats.h - the foreign formats, for foreign.c alone: one line a file of this folder. */
#ifndef TUNE_LOGS_FOREIGN_FORMATS_H
#define TUNE_LOGS_FOREIGN_FORMATS_H

#include "logs/foreign/foreign.h"

extern const struct foreign_format foreign_acl;          /* acl.c */
extern const struct foreign_format foreign_autotvm;      /* autotvm.c */
extern const struct foreign_format foreign_clblast;      /* clblast.c */
extern const struct foreign_format foreign_kernel_tuner; /* kernel_tuner.c */
extern const struct foreign_format foreign_ktt;          /* ktt.c */
extern const struct foreign_format foreign_t4;           /* t4.c */

#endif
