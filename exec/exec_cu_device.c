/* SPDX-License-Identifier: MIT */
/* exec_cu_device.c - compares the session's device with the one that kernels were tuned on. */
#include "exec/exec_cu_device.h"
#include "exec/exec_cu_parts.h"

#include <stdio.h>
#include <string.h>

static enum exec_status exec_cu_compare(struct exec_words *words, const struct exec_device *tuned, const char *what,
                                        const char *here, const char *there)
{
    if (strcmp(here, there) == 0) {
        return EXEC_OK;
    }
    return exec_fail(words, EXEC_OTHER_DEVICE, "these kernels were tuned on %s: its %s is \"%s\", here it is \"%s\"",
                     tuned->name, what, there, here);
}

static enum exec_status exec_cu_compare_number(struct exec_words *words, const struct exec_device *tuned,
                                               const char *what, long long here, long long there)
{
    char one[32], other[32];
    (void)snprintf(one, sizeof one, "%lld", here);
    (void)snprintf(other, sizeof other, "%lld", there);
    return exec_cu_compare(words, tuned, what, one, other);
}

/* The first word of the file that the driver's kernel module keeps; "" = there is none. */
static void exec_cu_driver_version(char *out, size_t n_out)
{
    FILE *f = fopen("/sys/module/nvidia/version", "r");
    out[0] = '\0';
    if (f != NULL) {
        if (fgets(out, (int)n_out, f) == NULL) {
            out[0] = '\0';
        }
        fclose(f);
    }
    out[strcspn(out, " \n")] = '\0';
}

EXEC_API enum exec_status exec_cu_same_device(struct exec_cu *s, const struct exec_device *tuned,
                                              struct exec_words *words)
{
    char version[32] = "", driver[96];
    int v = 0;
    enum exec_status status;
    if (tuned->fingerprint[0] == '\0') {
        return exec_fail(words, EXEC_OTHER_DEVICE,
                         "of the device that these kernels were tuned on only the name is known, \"%.160s\": whether "
                         "this is it cannot be told",
                         tuned->name);
    }
    (void)s->cu.cuDriverGetVersion(&v);
    (void)snprintf(version, sizeof version, "CUDA %d.%d", v / 1000, v % 1000 / 10);
    exec_cu_driver_version(driver, sizeof driver);
    status = exec_cu_compare(words, tuned, "name", s->name, tuned->name);
    status = status == EXEC_OK ? exec_cu_compare_number(words, tuned, "architecture", s->sm, tuned->sm) : status;
    status =
        status == EXEC_OK ? exec_cu_compare_number(words, tuned, "number of units", s->units, tuned->units) : status;
    status = status == EXEC_OK ? exec_cu_compare(words, tuned, "version", version, tuned->platform_version) : status;
    if (status == EXEC_OK && driver[0] != '\0') {
        status = exec_cu_compare(words, tuned, "driver", driver, tuned->driver);
    }
    return status;
}
