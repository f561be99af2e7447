/* SPDX-License-Identifier: MIT */
/* exec_cl_device.h - is an OpenCL device the one that kernels were tuned on? */
#ifndef TUNE_EXEC_CL_DEVICE_H
#define TUNE_EXEC_CL_DEVICE_H

#include "exec/device.h"
#include "exec/exec_cl.h"

/* EXEC_OTHER_DEVICE with words on the first thing that differs. */
EXEC_API enum exec_status exec_cl_same_device(cl_device_id device, const struct exec_device *tuned,
                                              struct exec_words *words);

#endif
