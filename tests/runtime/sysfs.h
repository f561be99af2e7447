/* SPDX-License-Identifier: MIT */
/* sysfs.h - a small sysfs tree for tests. */
#ifndef TUNE_TESTS_RUNTIME_SYSFS_H
#define TUNE_TESTS_RUNTIME_SYSFS_H

#include "core/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Writes a line to root/path, making its folders. */
static inline void sysfs_put(const char *root, const char *path, const char *text)
{
    char whole[2 * PATH_MAX], line[1024];
    char *slash;
    const int n = snprintf(line, sizeof line, "%s\n", text);

    snprintf(whole, sizeof whole, "%s/%s", root, path);
    slash = strrchr(whole, '/');
    *slash = '\0';
    (void)dir_make(whole, 0700, NULL);
    *slash = '/';
    (void)file_replace(whole, line, (size_t)n, 0600, NULL);
}

/* What an RK3399 with a mainline kernel shows: Mali at 800 MHz and 71.5 C, throttled to state 2; memory at 856 MHz;
 * four A53 (0-3) and two A72 (4, 5). */
static inline void sysfs_rk3399(const char *root)
{
    static const char *const files[][2] = {
        {"class/thermal/thermal_zone0/type", "cpu-thermal"},
        {"class/thermal/thermal_zone0/temp", "74444"},
        {"class/thermal/thermal_zone1/type", "gpu-thermal"},
        {"class/thermal/thermal_zone1/temp", "71500"},
        {"class/thermal/cooling_device0/type", "pwm-fan"},
        {"class/thermal/cooling_device0/cur_state", "3"},
        {"class/thermal/cooling_device1/type", "cpufreq-cpu0"},
        {"class/thermal/cooling_device1/cur_state", "0"},
        {"class/thermal/cooling_device2/type", "devfreq-ff9a0000.gpu"},
        {"class/thermal/cooling_device2/cur_state", "2"},
        {"class/devfreq/ff9a0000.gpu/cur_freq", "800000000"},
        {"class/devfreq/dmc/cur_freq", "856000000"},
    };
    char path[96], text[32];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        sysfs_put(root, files[i][0], files[i][1]);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cpu_capacity", i);
        sysfs_put(root, path, i < 4 ? "485" : "1024");
        snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
        snprintf(text, sizeof text, "%d", 1000000 + i);
        sysfs_put(root, path, text);
    }
}

#endif
