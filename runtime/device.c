/* SPDX-License-Identifier: MIT */
#include "runtime/device.h"

#include "core/err.h"

#include <string.h>

/* Each a backend of this folder. */
extern const struct device_ops opencl_device_ops, cuda_device_ops, c_device_ops, replay_device_ops;

const struct device_ops *const device_table[] = {
    &opencl_device_ops,
    &cuda_device_ops,
    &c_device_ops,
    &replay_device_ops,
    /* the next one here */
    NULL,
};

const struct device_ops *device_find(const char *name)
{
    for (size_t i = 0; device_table[i]; i++)
        if (strcmp(device_table[i]->name, name) == 0)
            return device_table[i];
    return NULL;
}

static enum err unknown(const char *text, struct why *why)
{
    char names[256] = "";

    for (size_t i = 0; device_table[i]; i++) {
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, device_table[i]->name, sizeof names - strlen(names) - 1);
    }
    return why_set(why, ERR_INPUT, "unknown device '%.80s', expected one of: %s", text, names);
}

enum err device_parse(const char *text, const struct device_ops **ops, const char **selector, struct why *why)
{
    const size_t n = strcspn(text, ":");

    for (size_t i = 0; device_table[i]; i++)
        if (strlen(device_table[i]->name) == n && strncmp(device_table[i]->name, text, n) == 0) {
            *ops = device_table[i];
            *selector = text[n] ? text + n + 1 : text + n;
            return ERR_OK;
        }
    return unknown(text, why);
}
