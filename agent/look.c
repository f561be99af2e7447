/* SPDX-License-Identifier: MIT */
#include "agent/look.h"

#include "agent/host.h"
#include "agent/workdir.h"
#include "core/err.h"
#include "core/json.h"
#include "core/temp_dir.h"
#include "core/terminal.h"
#include "runtime/cuda_arch.h"
#include "runtime/device.h"
#include "runtime/nvml.h"
#include "runtime/nvrtc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int n_failed;
static bool in_json;

void look_in_json(void)
{
    in_json = true;
}

static void print_json(const char *finding, const char *what, const char *words, const char *fingerprint)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;
    char *line;

    json_add_text(o, "finding", finding, &ok);
    json_add_text(o, "what", what, &ok);
    json_add_text(o, "words", words, &ok);
    if (fingerprint)
        json_add_text(o, "fingerprint", fingerprint, &ok);
    line = ok ? json_line(o) : NULL;
    if (line)
        puts(line);
    cJSON_free(line);
    cJSON_Delete(o);
}

void look_tell(enum finding f, const char *what, const char *words, const char *fingerprint)
{
    static const char *const names[] = {[FINDING_OK] = "ok", [FINDING_NOTE] = "note", [FINDING_FAILED] = "FAILED"};

    if (in_json)
        print_json(names[f], what, words, fingerprint);
    else
        printf("%s\t%s\t%s\n", names[f], what, words);
    n_failed += f == FINDING_FAILED;
}

static void say(enum finding f, const char *what, const char *words)
{
    look_tell(f, what, words, NULL);
}

/* ---- files ---- */

/* A device file that is there and may not be used is what most often is wrong on a board. */
static void look_at_node(const char *path, const char *group)
{
    char words[PATH_MAX];

    if (access(path, F_OK) != 0)
        return;
    if (access(path, R_OK | W_OK) == 0) {
        say(FINDING_OK, path, "may be read and written");
        return;
    }
    snprintf(words, sizeof words, "%s: add this user to the group that owns it (%s), and log in anew", strerror(errno),
             group);
    say(FINDING_FAILED, path, words);
}

static bool first_line(const char *path, char *out, size_t n_out)
{
    FILE *f = fopen(path, "re");
    const bool ok = f && fgets(out, (int)n_out, f);

    if (f)
        fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok;
}

static void look_at_governor(void)
{
    char governor[64], words[200];

    if (!first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor))
        return;
    snprintf(words, sizeof words, "%s%s", governor,
             strcmp(governor, "performance") == 0 ? ""
                                                  : ": clocks change while kernels are timed, 'performance' keeps them "
                                                    "(cpupower frequency-set -g performance)");
    say(strcmp(governor, "performance") == 0 ? FINDING_OK : FINDING_NOTE, "governor of the CPUs", words);
}

/* ---- OpenCL ---- */

/* The drivers that the loader will look at, as far as files tell. */
static void look_at_icds(void)
{
    const char *named = getenv("OCL_ICD_VENDORS"), *path = named && *named ? named : "/etc/OpenCL/vendors";
    char words[600] = "";
    const struct dirent *entry;
    DIR *dir = opendir(path);
    int n = 0;

    while (dir && (entry = readdir(dir))) {
        const size_t length = strlen(entry->d_name), used = strlen(words);

        if (length < 4 || strcmp(entry->d_name + length - 4, ".icd") != 0)
            continue;
        n++;
        snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "", entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (n == 0)
        snprintf(words, sizeof words,
                 "none in %.300s: the loader finds no driver (but for one that is the loader itself)", path);
    say(n ? FINDING_OK : FINDING_NOTE, "OpenCL drivers (ICD)", words);
}

struct devices_seen {
    char words[600];
    struct device_desc first;
};

static bool count_device(const char *selector, const struct device_desc *d, void *arg)
{
    struct devices_seen *seen = arg;
    const size_t used = strlen(seen->words);

    if (!used)
        seen->first = *d;
    snprintf(seen->words + used, sizeof seen->words - used, "%s%s %s", used ? ", " : "", selector, d->name);
    return true;
}

/* The loader's own words when there is no device; else `first` gets one. */
static bool look_at_list(const struct device_ops *ops, struct device_desc *first)
{
    struct devices_seen seen = {.words = ""};
    char what[64];
    struct why why = {""};
    const enum err e = ops->list(count_device, &seen, &why);

    snprintf(what, sizeof what, "%s devices", ops->name);
    say(e ? FINDING_FAILED : FINDING_OK, what, e ? why.text : seen.words);
    *first = seen.first;
    return !e && seen.words[0];
}

static void look_at_opencl(const struct device_ops *ops)
{
    struct device_desc first;
    struct temp_dir temp;
    struct why why = {""};

    look_at_icds();
    look_at_node("/dev/mali0", "video");
    look_at_node("/dev/dri/renderD128", "render");
    /* A cache as children have it: without $HOME PoCL takes /tmp/pocl, which may be another user's. */
    if (temp_dir_open(&temp, WORKDIR_STEM, &why))
        say(FINDING_FAILED, "work directory", why.text);
    else
        setenv("POCL_CACHE_DIR", temp.path, 1);
    look_at_list(ops, &first);
    temp_dir_close(&temp);
}

/* ---- CUDA ---- */

static void name_arches(const struct nvrtc *n, char *out, size_t n_out)
{
    out[0] = '\0';
    for (const struct cuda_arch *a = cuda_arch_table; a->sm; a++)
        if (nvrtc_supports(n, a->sm, NULL) == ERR_OK)
            snprintf(out + strlen(out), n_out - strlen(out), "%ssm_%d", *out ? " " : "", a->sm);
}

/* A driver takes cubins of its own major version of CUDA and of older ones. */
static void look_at_versions(const struct nvrtc *n, int driver)
{
    char words[300];

    if (nvrtc_version(n) / 1000 <= driver / 1000)
        return;
    snprintf(words, sizeof words,
             "NVRTC %d.%d is newer than the driver, which knows CUDA %d.%d: its cubins may be refused; take CUDA %d's "
             "NVRTC (--nvrtc) or update the driver",
             nvrtc_version(n) / 1000, nvrtc_version(n) % 1000 / 10, driver / 1000, driver % 1000 / 10, driver / 1000);
    say(FINDING_NOTE, "NVRTC and driver", words);
}

/* The one that would compile for the device `d`; the newest where there is none. */
static void look_at_nvrtc(const struct device_desc *d)
{
    const int driver = d ? host_cuda_version(d) : INT_MAX;
    struct nvrtc *n = NULL;
    struct why why = {""};
    char arches[400], words[800];

    if (d ? nvrtc_open_for(NULL, (int)d->sm, driver, &n, &why) : nvrtc_open(NULL, &n, &why)) {
        snprintf(words, sizeof words, "%.600s: builders may compile instead", why.text);
        say(FINDING_NOTE, "NVRTC", words);
        return;
    }
    name_arches(n, arches, sizeof arches);
    snprintf(words, sizeof words, "%d.%d, %.300s, makes %s", nvrtc_version(n) / 1000, nvrtc_version(n) % 1000 / 10,
             nvrtc_path(n), arches);
    say(FINDING_OK, "NVRTC", words);
    look_at_versions(n, driver);
    nvrtc_close(n);
}

static void look_at_nvml(void)
{
    char version[64];

    if (nvml_driver_version(version, sizeof version))
        say(FINDING_OK, "NVML", version);
    else
        say(FINDING_NOTE, "NVML", "libnvidia-ml.so.1 does not answer: no clocks, temperatures or power in records");
}

static void look_at_driver(const struct device_desc *d)
{
    char words[sizeof d->driver + sizeof d->platform_version + 4];
    const bool more = *d->driver && strcmp(d->driver, d->platform_version) != 0;

    snprintf(words, sizeof words, "%s%s%s", d->platform_version, more ? ", " : "", more ? d->driver : "");
    say(FINDING_OK, "CUDA driver", words);
}

static void look_at_cuda(const struct device_ops *ops)
{
    struct device_desc first;
    bool any;

    look_at_node("/dev/nvidiactl", "video");
    look_at_node("/dev/nvidia0", "video");
    look_at_node("/dev/nvidia-uvm", "video");
    any = look_at_list(ops, &first);
    if (any)
        look_at_driver(&first);
    look_at_nvrtc(any ? &first : NULL);
    look_at_nvml();
}

/* ---- plain C ---- */

static void look_at_c(const struct device_ops *ops)
{
    struct device_desc first;
    char words[sizeof first.platform_version + 64];

    if (look_at_list(ops, &first)) {
        snprintf(words, sizeof words, "%s; %lld threads for OpenMP", first.platform_version, (long long)first.threads);
        say(FINDING_OK, "C compiler", words);
    }
}

int look_around(const char *device)
{
    static const struct {
        const char *name;
        void (*look)(const struct device_ops *ops);
    } looks[] = {{"opencl", look_at_opencl}, {"cuda", look_at_cuda}, {"c", look_at_c}};
    const struct device_ops *ops = NULL;
    const char *selector;
    struct why why = {""};

    setvbuf(stdout, NULL, _IOLBF, 0); /* a driver may crash: what was found before is told */
    if (device_parse(device, &ops, &selector, &why)) {
        say(FINDING_FAILED, "device", why.text);
        return 1;
    }
    look_at_governor();
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (strcmp(looks[i].name, ops->name) == 0)
            looks[i].look(ops);
    return n_failed ? 1 : 0;
}
