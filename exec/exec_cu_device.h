/* SPDX-License-Identifier: MIT */
/* exec_cu_device.h - is a CUDA device the one that kernels were tuned on? */
#ifndef TUNE_EXEC_CU_DEVICE_H
#define TUNE_EXEC_CU_DEVICE_H

#include "exec/device.h"
#include "exec/exec_cu.h"

/* EXEC_OTHER_DEVICE with words on the first thing that differs. The driver's version is compared where the system tells
 * it (/sys/module/nvidia/version). */
EXEC_API enum exec_status exec_cu_same_device(struct exec_cu *s, const struct exec_device *tuned,
                                              struct exec_words *words);

#endif
