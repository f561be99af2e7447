/* SPDX-License-Identifier: MIT */
/* exec_cu_device.c - compares the session's device with the one that kernels were tuned on. */
#include "exec/exec_cu_device.h"
#include "exec/exec_cu_parts.h"

#include <stdio.h>
#include <string.h>

static enum exec_status exec_cu_same_number(const struct exec_device *tuned, const char *what, long long here,
                                            long long there, struct exec_words *words)
{
    char one[32], other[32];
    (void)snprintf(one, sizeof one, "%lld", here);
    (void)snprintf(other, sizeof other, "%lld", there);
    return exec_same(tuned, what, one, other, words);
}

/* The first word of the file that the driver's kernel module keeps; "" = there is none. */
static void exec_cu_driver_version(char *out, size_t n_out)
{
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    out[0] = '\0';
    if (f) {
        if (fgets(out, (int)n_out, f) == NULL)
            out[0] = '\0';
        fclose(f);
    }
    out[strcspn(out, " \n")] = '\0';
}

EXEC_API enum exec_status exec_cu_same_device(struct exec_cu *s, const struct exec_device *tuned,
                                              struct exec_words *words)
{
    char version[32] = "", driver[96];
    int v = 0;
    enum exec_status status = exec_known(tuned, words);
    (void)s->cu.cuDriverGetVersion(&v);
    (void)snprintf(version, sizeof version, "CUDA %d.%d", v / 1000, v % 1000 / 10);
    exec_cu_driver_version(driver, sizeof driver);
    status = status == EXEC_OK ? exec_same(tuned, "name", s->name, tuned->name, words) : status;
    status = status == EXEC_OK ? exec_cu_same_number(tuned, "architecture", s->sm, tuned->sm, words) : status;
    status = status == EXEC_OK ? exec_cu_same_number(tuned, "number of units", s->units, tuned->units, words) : status;
    status = status == EXEC_OK ? exec_same(tuned, "version", version, tuned->platform_version, words) : status;
    return status == EXEC_OK && driver[0] != '\0' ? exec_same(tuned, "driver", driver, tuned->driver, words) : status;
}
