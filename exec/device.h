/* SPDX-License-Identifier: MIT */
/* device.h - what bundles know of the device that their kernels were tuned on. */
#ifndef TUNE_EXEC_DEVICE_H
#define TUNE_EXEC_DEVICE_H

/* What a fingerprint is made of. */
struct exec_device {
    const char *fingerprint; /* sha256 of the rest; "" = nothing of the rest is known but the name */
    const char *platform, *platform_version, *vendor, *name, *driver;
    const char *extensions; /* words sorted, as many as fit into 2047 bytes */
    const char *dots;       /* instructions for products of int8 that were found: "tune_vnni"; "" = none */
    long long units, threads;
    int sm; /* CUDA: 10 * major + minor; 0 elsewhere */
};

#endif
