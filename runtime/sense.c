/* SPDX-License-Identifier: MIT */
#include "runtime/sense.h"

#include "core/proc.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPUS 1024

/* One class directory that is being gone through. */
struct walk {
    const char *root;
    enum device_class kind;
    struct sense *out;
    int rank; /* of what out->temperature_c was taken from: 2 the device's own zone, 1 any, 0 none yet */
};

static const char *root_or(const char *root)
{
    const char *named = getenv("TUNE_SYSFS");

    return root ? root : named && *named ? named : "/sys";
}

double sense_number(const char *root, const char *path)
{
    char whole[PATH_MAX];
    FILE *f;
    double v = NAN;

    snprintf(whole, sizeof whole, "%s/%s", root_or(root), path);
    f = fopen(whole, "re");
    if (!f)
        return NAN;
    if (fscanf(f, "%lf", &v) != 1)
        v = NAN;
    fclose(f);
    return v;
}

/* The first processor is in it, whatever the number of them all. */
#define CPUINFO_HEAD 8192

static void read_head(const char *path, char text[CPUINFO_HEAD])
{
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(text, 1, CPUINFO_HEAD - 1, f) : 0;

    text[n] = '\0';
    if (f)
        fclose(f);
}

static void find_member(const char *text, const char *name, char *out, size_t n_out)
{
    const size_t n_name = strlen(name);

    *out = '\0';
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *rest = line + n_name;

        if (strncmp(line, name, n_name) != 0)
            continue;
        rest += strspn(rest, " \t");
        if (*rest != ':') /* "model" is not "model name" */
            continue;
        rest += 1 + strspn(rest + 1, " \t");
        snprintf(out, n_out, "%.*s", (int)strcspn(rest, "\n"), rest);
        return;
    }
}

void sense_cpuinfo(const char *path, const char *name, char *out, size_t n_out)
{
    char text[CPUINFO_HEAD];

    read_head(path, text);
    find_member(text, name, out, n_out);
}

void sense_cpu(const char *path, char *out, size_t n_out)
{
    static const struct {
        const char *name, *before;
    } members[] = {{"model name", ""},           {"cpu family", ", family "},   {"model", " model "},
                   {"stepping", " stepping "},   {"CPU implementer", ""},       {"CPU part", " part "},
                   {"CPU variant", " variant "}, {"CPU revision", " revision "}};
    char text[CPUINFO_HEAD];
    size_t n = 0;

    *out = '\0';
    read_head(path, text);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char value[96];

        find_member(text, members[i].name, value, sizeof value);
        if (*value && n < n_out)
            n += (size_t)snprintf(out + n, n_out - n, "%s%s", members[i].before, value);
    }
}

/* The same of root/dir/entry/leaf. */
static double read_number(const char *root, const char *dir, const char *entry, const char *leaf)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s/%s", dir, entry, leaf);
    return sense_number(root, path);
}

/* The first word of such a file, "" when there is none. */
static void read_word(const char *root, const char *dir, const char *entry, const char *leaf, char out[64])
{
    char path[PATH_MAX];
    FILE *f;

    *out = '\0';
    snprintf(path, sizeof path, "%s/%s/%s/%s", root, dir, entry, leaf);
    f = fopen(path, "re");
    if (!f)
        return;
    if (fscanf(f, "%63s", out) != 1)
        *out = '\0';
    fclose(f);
}

static bool has_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

static const char *const gpu_words[] = {"gpu", "mali", "g3d", NULL};
static const char *const cpu_words[] = {"cpu", "x86_pkg", "coretemp", "soc", NULL};
static const char *const mem_words[] = {"dmc", "ddr", "memory", "emc", "mif", NULL};
static const char *const clock_words[] = {"cpufreq", "devfreq", "Processor", NULL};

static const char *const *words_of(enum device_class kind)
{
    return kind == DEVICE_CPU ? cpu_words : gpu_words;
}

static void see_zone(struct walk *w, const char *dir, const char *entry)
{
    const double milli = read_number(w->root, dir, entry, "temp");
    char type[64];
    int rank;

    if (isnan(milli))
        return;
    read_word(w->root, dir, entry, "type", type);
    rank = has_any(type, words_of(w->kind)) ? 2 : 1;
    if (rank < w->rank || (rank == w->rank && milli * 1e-3 <= w->out->temperature_c))
        return;
    w->rank = rank;
    w->out->temperature_c = milli * 1e-3;
    w->out->known |= SENSE_TEMPERATURE;
}

/* A fan that turns holds no clock down: only what is named after clocks counts. */
static void see_cooler(struct walk *w, const char *dir, const char *entry)
{
    const double state = read_number(w->root, dir, entry, "cur_state");
    char type[64];
    const size_t n = strlen(w->out->throttle);

    read_word(w->root, dir, entry, "type", type);
    if (isnan(state) || !has_any(type, clock_words))
        return;
    w->out->known |= SENSE_THROTTLE;
    if (state > 0)
        snprintf(w->out->throttle + n, sizeof w->out->throttle - n, "%s%.40s:%.0f", n ? "," : "", type, state);
}

static void see_thermal(struct walk *w, const char *dir, const char *entry)
{
    if (strncmp(entry, "thermal_zone", 12) == 0)
        see_zone(w, dir, entry);
    else if (strncmp(entry, "cooling_device", 14) == 0)
        see_cooler(w, dir, entry);
}

static void see_devfreq(struct walk *w, const char *dir, const char *entry)
{
    const double hz = read_number(w->root, dir, entry, "cur_freq");

    if (isnan(hz))
        return;
    if (w->kind != DEVICE_CPU && has_any(entry, gpu_words)) {
        w->out->core_mhz = hz * 1e-6;
        w->out->known |= SENSE_CORE_MHZ;
    } else if (has_any(entry, mem_words)) {
        w->out->mem_mhz = hz * 1e-6;
        w->out->known |= SENSE_MEM_MHZ;
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void each_entry(struct walk *w, const char *dir, void (*see)(struct walk *, const char *, const char *))
{
    char path[PATH_MAX];
    struct dirent **entries = NULL;
    int n;

    snprintf(path, sizeof path, "%s/%s", w->root, dir);
    n = scandir(path, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.')
            see(w, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* The fastest of the CPUs that this process may use. */
static void see_cpus(struct walk *w)
{
    int cpus[MAX_CPUS], n = proc_cpus(cpus, MAX_CPUS);

    for (int i = 0; i < n && i < MAX_CPUS; i++) {
        char entry[32];
        double khz;

        snprintf(entry, sizeof entry, "cpu%d", cpus[i]);
        khz = read_number(w->root, "devices/system/cpu", entry, "cpufreq/scaling_cur_freq");
        if (isnan(khz) || khz * 1e-3 <= w->out->core_mhz)
            continue;
        w->out->core_mhz = khz * 1e-3;
        w->out->known |= SENSE_CORE_MHZ;
    }
}

void sense_sysfs(const char *root, enum device_class kind, struct sense *out)
{
    struct walk w = {.root = root_or(root), .kind = kind, .out = out};

    memset(out, 0, sizeof *out);
    each_entry(&w, "class/thermal", see_thermal);
    each_entry(&w, "class/devfreq", see_devfreq);
    if (kind == DEVICE_CPU)
        see_cpus(&w);
}

static const struct {
    const char *name;
    enum sense_bit bit;
    size_t offset;
} values[] = {
    {"core_mhz", SENSE_CORE_MHZ, offsetof(struct sense, core_mhz)},
    {"mem_mhz", SENSE_MEM_MHZ, offsetof(struct sense, mem_mhz)},
    {"temperature_c", SENSE_TEMPERATURE, offsetof(struct sense, temperature_c)},
    {"power_w", SENSE_POWER, offsetof(struct sense, power_w)},
    {"energy_j", SENSE_ENERGY, offsetof(struct sense, energy_j)},
};

void sense_add_json(cJSON *object, const char *name, const struct sense *s, bool *ok)
{
    cJSON *o = s->known ? cJSON_CreateObject() : NULL;

    if (!s->known)
        return;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double v;

        memcpy(&v, (const char *)s + values[i].offset, sizeof v);
        if (s->known & values[i].bit)
            json_add_real(o, values[i].name, v, ok);
    }
    if (s->known & SENSE_THROTTLE)
        json_add_text(o, "throttle", s->throttle, ok);
    json_add_item(object, name, o, ok);
}
