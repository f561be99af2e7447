/* SPDX-License-Identifier: MIT */
/* plain_c.c - the backend of plain C: a text compiled to a shared object and loaded into this process, whose functions
 * are called with pointers to memory of the host. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/file.h"
#include "core/proc.h"
#include "exec/common.h"
#include "runtime/cc.h"
#include "runtime/fence.h"
#include "runtime/load.h"

#include <assert.h>
#include <dlfcn.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_BYTES ((size_t)64 << 10)
#define ALIGNMENT ((size_t)4096)
#define TELLS_SLACK 1.05 /* of a time that a function tells, over that of its call by our clock, */
#define TELLS_NS 2000    /* and clocks' grains */

/* Of a program's kernels: arguments are pointers to the numbers and to the pointers to buffers. Gives its time in ms,
 * or -infinity when it tells none. */
typedef double plain_function(void *const *args);

struct device {
    struct device_desc desc;
    struct cc cc;
};

struct loaded {
    struct load head;
    struct device *device;      /* borrowed */
    void **modules;             /* one a module, of dlopen */
    plain_function **functions; /* one a launch; NULL = no kernel */
    unsigned char **mems;       /* one a buffer: where its first band begins */
    unsigned char **pristine;   /* one a buffer; NULL where it needs none */
    void **views;               /* one a buffer: what kernels get */
    double told_ms;             /* of the run so far */
    bool is_told;               /* by each of its launches */
    int i_launch;               /* the last one that was begun */
};

/* ---- which devices there are ---- */

static int64_t physical_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (int64_t)pages * page : 0;
}

/* Threads that OpenMP will have. */
static int64_t threads_of(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    const long n = text ? strtol(text, NULL, 10) : 0;

    return n > 0 ? n : proc_cpus(NULL, 0);
}

/* What the processor has, which code has when it is compiled for it (-march=native). */
static int64_t vector_bits(void)
{
    char flags[8192];

    sense_cpuinfo("/proc/cpuinfo", "flags", flags, sizeof flags);
    return strstr(flags, " avx512f") ? 512 : strstr(flags, " avx2") ? 256 : 128;
}

static void describe(const struct cc *c, struct device_desc *out)
{
    struct device_desc d = {.api = "c",
                            .kind = DEVICE_CPU,
                            .max_work_group = 1,
                            .max_local = {1, 1, 1},
                            .global_bytes = physical_bytes(),
                            .vector_bits = vector_bits(),
                            .shares_host = true};
    char model[96];

    sense_cpu("/proc/cpuinfo", d.cpu, sizeof d.cpu);
    sense_cpuinfo("/proc/cpuinfo", "model name", model, sizeof model);
    snprintf(d.platform, sizeof d.platform, "%s", c->name);
    snprintf(d.platform_version, sizeof d.platform_version, "%s", c->version);
    snprintf(d.driver, sizeof d.driver, "%.95s", c->version);
    snprintf(d.name, sizeof d.name, "%s, %.96s", c->name, model[0] ? model : d.cpu[0] ? d.cpu : "CPU");
    d.units = d.threads = threads_of();
    d.max_alloc_bytes = d.global_bytes;
    *out = d;
}

/* Is `name` of cc_names another name (a link) of one before it? */
static bool is_link(const char *name, const struct cc *c)
{
    char own[PATH_MAX], other[PATH_MAX];

    if (!realpath(c->path, own))
        return false;
    for (size_t i = 0; cc_names[i] != name; i++) {
        struct cc before;

        if (!cc_find(cc_names[i], &before, NULL) && realpath(before.path, other) && strcmp(own, other) == 0)
            return true;
    }
    return false;
}

static enum err c_list(bool (*each)(const char *selector, const struct device_desc *d, void *arg), void *arg,
                       struct why *why)
{
    struct cc c;
    size_t n = 0;

    for (size_t i = 0; cc_names[i]; i++) {
        struct device_desc d;

        if (cc_find(cc_names[i], &c, NULL) || is_link(cc_names[i], &c))
            continue;
        describe(&c, &d);
        n++;
        if (!each(cc_names[i], &d, arg))
            return ERR_OK;
    }
    return n ? ERR_OK : cc_find("", &c, why);
}

static enum err c_open(const char *selector, struct device **out, struct why *why)
{
    struct device *d = calloc(1, sizeof *d);
    const enum err e = d ? cc_find(selector, &d->cc, why) : ERR_NOMEM;

    if (e) {
        free(d);
        return e;
    }
    describe(&d->cc, &d->desc);
    *out = d;
    return ERR_OK;
}

static void c_close(struct device *d)
{
    free(d);
}

static const struct device_desc *c_describe(const struct device *d)
{
    return &d->desc;
}

/* ---- limits that are known before anything is built ---- */

static enum err check_launch(const struct program_launch *l, struct why *why)
{
    for (int i = 0; l->op == LAUNCH_KERNEL && i < 3; i++)
        if (l->grid[i] != 1 || l->block[i] != 1)
            return why_set(why, ERR_LIMITS,
                           "launch '%s': a function of C is called once: expected a grid and a block of 1", l->id);
    for (size_t i = 0; i < l->n_args; i++)
        if (l->args[i].kind == ARG_LOCAL)
            return why_set(why, ERR_LIMITS, "launch '%s': a function of C has no local memory", l->id);
    return ERR_OK;
}

static enum err check_limits(const struct device_desc *d, const struct program *p, struct why *why)
{
    enum err e = check_needs(d, p, 0, why);

    for (size_t i = 0; !e && i < p->n_modules; i++)
        if (p->modules[i].lang != LANG_C && p->modules[i].lang != LANG_CXX)
            e = why_set(why, ERR_LIMITS, "module '%s' is neither C nor C++", p->modules[i].id);
    if (!e)
        e = check_memory(d, p, why);
    for (size_t i = 0; !e && i < p->n_launches; i++)
        e = check_launch(&p->launches[i], why);
    return e;
}

/* ---- modules ---- */

/* OpenMP's threads outlive a function's call: their library must not be unmapped when the object is that needed it. */
static void keep_runtimes(void)
{
    static const char *const names[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *one = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);

        if (one)
            dlclose(one);
    }
}

static enum err open_object(const char *path, const struct program_module *m, void **out, struct why *why)
{
    fenv_t before;

    fegetenv(&before);
    *out = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    fesetenv(&before); /* an object of -ffast-math would have numbers near 0 be 0 for everybody in this process */
    if (!*out)
        return why_set(why, ERR_COMPILE, "module '%s': %.400s", m->id, dlerror());
    keep_runtimes();
    return ERR_OK;
}

/* Compiler, processor, text and options make the name. */
static void name_object(const struct device *d, const struct program_module *m, const char *options, const char *dir,
                        char out[PATH_MAX])
{
    const struct sha256 device = device_desc_fingerprint(&d->desc), opts = sha256_of(options, strlen(options));
    char text[3 * SHA256_HEX + 12];
    struct sha256 name;

    snprintf(text, sizeof text, "%s%s%s%d", device.hex, m->source.hex, opts.hex, m->lang == LANG_CXX);
    name = sha256_of(text, strlen(text));
    snprintf(out, PATH_MAX, "%.3900s/tune-%s.so", dir, name.hex);
}

static enum err compile(const struct device *d, const struct program_module *m, const struct blobs *blobs,
                        const char *options, const char *path, struct load_report *report, struct why *why)
{
    const struct blob *source = blobs ? blobs_get(blobs, m->source.hex) : NULL;
    char words[600] = "";
    struct buf log;
    enum err e;

    if (!source)
        return why_set(why, ERR_NOT_FOUND, "module '%s': source %.12s is not among the blobs", m->id, m->source.hex);
    buf_init(&log, CC_LOG_BYTES);
    e = cc_build(&d->cc, (const char *)source->data, source->n_bytes, m->lang == LANG_CXX, options, path, &log, why);
    report_add_log(report, m->id, buf_text(&log));
    if (e == ERR_COMPILE) {
        log_first_words(buf_text(&log), words, sizeof words);
        why_set(why, e, "module '%s': %s", m->id, words[0] ? words : "the compiler made nothing");
    }
    buf_fini(&log);
    return e;
}

/* In a folder that is kept, or in one for the moment. */
static enum err build_in(struct loaded *l, size_t i, const struct blobs *blobs, const char *dir, const char *options,
                         struct load_report *report, struct why *why)
{
    const struct program_module *m = &l->head.program.modules[i];
    char path[PATH_MAX];
    enum err e = ERR_OK;
    bool seen;

    name_object(l->device, m, options, dir, path);
    seen = access(path, R_OK) == 0;
    if (!seen)
        e = compile(l->device, m, blobs, options, path, report, why);
    report->build_cached = report->build_cached && seen;
    return e ? e : open_object(path, m, &l->modules[i], why);
}

static enum err build(struct loaded *l, size_t i, const struct blobs *blobs, const char *cache_dir,
                      struct load_report *report, struct why *why)
{
    const bool keeps = cache_dir && *cache_dir;
    char own[PATH_MAX] = "";
    struct buf options;
    enum err e;

    snprintf(report->compiler, sizeof report->compiler, "%.31s", l->device->cc.version);
    buf_init(&options, OPTIONS_BYTES);
    e = plan_options(&l->head.program, &l->head.program.modules[i], &options);
    if (e)
        why_set(why, e, "module '%s': options over %zu bytes", l->head.program.modules[i].id, OPTIONS_BYTES);
    if (!e && !keeps)
        e = dir_temporary("tune-c", own, sizeof own, why);
    if (!e)
        e = build_in(l, i, blobs, keeps ? cache_dir : own, buf_text(&options), report, why);
    if (own[0])
        dir_remove(own);
    buf_fini(&options);
    return e;
}

/* ---- buffers ---- */

static void *memory(size_t n)
{
    return aligned_alloc(ALIGNMENT, (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

/* A band, the buffer, a band; kernels get the middle. Where the bands are out of bounds: runtime/fence.h. */
static enum err make(struct loaded *l, size_t i, struct why *why)
{
    const struct program_buffer *b = &l->head.program.buffers[i];
    const size_t n = buffer_bytes(b), all = n + 2 * GUARD_BYTES;

    l->mems[i] = n && getenv("TUNE_FENCE") ? fence_new(all, b->id) : memory(all);
    if (b->reset_each_run)
        l->pristine[i] = memory(n);
    if (!l->mems[i] || (b->reset_each_run && !l->pristine[i]))
        return why_set(why, ERR_LIMITS, "buffer '%s' of %zu bytes: out of memory", b->id, n);
    l->views[i] = l->mems[i] + GUARD_BYTES;
    return ERR_OK;
}

static unsigned char *place_of(const struct loaded *l, size_t i, enum load_part part)
{
    const size_t n = load_part_bytes(&l->head, i, PART_BUFFER);

    assert(l->mems[i]);
    return part == PART_PRISTINE ? l->pristine[i]
           : part == PART_BEFORE ? l->mems[i]
                                 : l->mems[i] + GUARD_BYTES + (part == PART_BEHIND ? n : 0);
}

static enum err put(struct loaded *l, size_t i, enum load_part part, const void *data, struct why *why)
{
    (void)why;
    fence_set(l->mems[i], false);
    memcpy(place_of(l, i, part), data, load_part_bytes(&l->head, i, part));
    fence_set(l->mems[i], true);
    return ERR_OK;
}

static enum err get(struct loaded *l, size_t i, enum load_part part, void *data, struct why *why)
{
    (void)why;
    fence_set(l->mems[i], false);
    memcpy(data, place_of(l, i, part), load_part_bytes(&l->head, i, part));
    fence_set(l->mems[i], true);
    return ERR_OK;
}

static enum err c_lend(struct loaded *l, int i_buffer, const void **data, struct why *why)
{
    (void)why;
    *data = l->views[i_buffer];
    return ERR_OK;
}

static void c_give_back(struct loaded *l, int i_buffer, const void *data)
{
    (void)l, (void)i_buffer, (void)data;
}

/* ---- loading ---- */

static enum err begin(struct loaded *l, struct device *d, struct why *why)
{
    const struct program *p = &l->head.program;

    (void)why;
    l->device = d;
    l->modules = calloc(p->n_modules + 1, sizeof *l->modules);
    l->functions = calloc(p->n_launches + 1, sizeof *l->functions);
    l->mems = calloc(p->n_buffers + 1, sizeof *l->mems);
    l->pristine = calloc(p->n_buffers + 1, sizeof *l->pristine);
    l->views = calloc(p->n_buffers + 1, sizeof *l->views);
    return l->modules && l->functions && l->mems && l->pristine && l->views ? ERR_OK : ERR_NOMEM;
}

static enum err make_launches(struct loaded *l, struct load_report *report, struct why *why)
{
    const struct program *p = &l->head.program;

    (void)report;
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct program_launch *x = &p->launches[i];
        void *found = x->op == LAUNCH_KERNEL ? dlsym(l->modules[x->i_module], x->kernel) : NULL;

        memcpy(&l->functions[i], &found, sizeof found); /* POSIX has them of one size, ISO C no cast */
        if (x->op == LAUNCH_KERNEL && !found)
            return why_set(why, ERR_COMPILE, "launch '%s': the module has no function named %s", x->id, x->kernel);
    }
    return ERR_OK;
}

static void drop(struct loaded *l)
{
    const struct program *p = &l->head.program;

    for (size_t i = 0; i < p->n_buffers; i++) {
        if (l->mems && l->mems[i] && !fence_free(l->mems[i]))
            free(l->mems[i]);
        if (l->pristine)
            free(l->pristine[i]);
    }
    for (size_t i = 0; l->modules && i < p->n_modules; i++)
        if (l->modules[i])
            dlclose(l->modules[i]);
    free(l->modules);
    free(l->functions);
    free(l->mems);
    free(l->pristine);
    free(l->views);
}

static const struct load_api load_api = {
    .bytes = sizeof(struct loaded),
    .check = check_limits,
    .begin = begin,
    .build = build,
    .make = make,
    .put = put,
    .get = get,
    .make_launches = make_launches,
    .drop = drop,
};

static enum err c_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                       struct loaded **out, struct load_report *report, struct why *why)
{
    return load_program(&load_api, d, &d->desc, p, blobs, cache_dir, out, report, why);
}

/* ---- running ---- */

static void call(struct loaded *l, const struct exec_launch *x, const int64_t *iteration, plain_function *f)
{
    union exec_number numbers[PROGRAM_MAX_ARGS];
    void *args[PROGRAM_MAX_ARGS + 1] = {NULL};
    double ms;

    assert(x->n_args <= PROGRAM_MAX_ARGS);
    for (int a = 0; a < x->n_args; a++)
        args[a] = exec_arg_pack(&x->args[a], iteration, &numbers[a]) ? (void *)&numbers[a]
                                                                     : (void *)&l->views[x->args[a].integer];
    ms = f(args);
    l->is_told = l->is_told && ms != -INFINITY;
    l->told_ms += ms;
}

static void fill(struct loaded *l, const struct exec_launch *x)
{
    unsigned char element[8], *at = l->views[x->args[0].integer];
    const size_t n = exec_fill_element(x, element), n_bytes = l->head.plan->buffers[x->args[0].integer].n_bytes;

    for (size_t i = 0; i + n <= n_bytes; i += n)
        memcpy(at + i, element, n);
}

static int start(int i, const int64_t *iteration, void *arg)
{
    struct loaded *l = arg;
    const struct exec_launch *x = &l->head.plan->launches[i];

    l->i_launch = i;
    if (x->op == EXEC_KERNEL) {
        call(l, x, iteration, l->functions[i]);
        return 0;
    }
    l->is_told = false;
    if (x->op == EXEC_COPY)
        memcpy(l->views[x->args[0].integer], l->views[x->args[1].integer], (size_t)x->args[2].integer);
    else
        fill(l, x);
    return 0;
}

static void reset_buffers(struct loaded *l)
{
    for (size_t i = 0; i < l->head.program.n_buffers; i++)
        if (l->pristine[i])
            memcpy(l->views[i], l->pristine[i], load_part_bytes(&l->head, i, PART_BUFFER));
}

/* A function that returns something else than its time is not to be believed. */
static enum err check_told(const struct loaded *l, int64_t wall_ns, struct why *why)
{
    if (!l->is_told || (l->told_ms >= 0 && l->told_ms * 1e6 <= (double)wall_ns * TELLS_SLACK + TELLS_NS))
        return ERR_OK;
    return why_set(why, ERR_DEVICE,
                   "launch '%s': the function returned %.6g: expected its time in ms, within the %.6g of its call",
                   l->head.program.launches[l->i_launch].id, l->told_ms, (double)wall_ns * 1e-6);
}

static enum err c_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    int64_t start_ns, ns;
    enum err e;

    if (phase == PHASE_RUN)
        reset_buffers(l);
    l->told_ms = 0;
    l->is_told = true;
    l->i_launch = 0;
    start_ns = clock_now_ns();
    (void)exec_walk(l->head.plan, plan_phase(phase), start, l);
    ns = clock_now_ns() - start_ns;
    e = check_told(l, ns, why);
    if (e)
        return e;
    if (device_ns)
        *device_ns = l->is_told ? (int64_t)(l->told_ms * 1e6) : ns;
    if (wall_ns)
        *wall_ns = ns;
    return ERR_OK;
}

static enum err c_sense(struct device *d, struct sense *out)
{
    sense_sysfs(NULL, d->desc.kind, out);
    return ERR_OK;
}

const struct device_ops c_device_ops = {
    .name = "c",
    .summary = "plain C on this machine's CPU, compiled by gcc, clang or cc: c[:COMPILER]",
    .list = c_list,
    .open = c_open,
    .close = c_close,
    .describe = c_describe,
    .load = c_load,
    .unload = load_unload,
    .run = c_run,
    .write = load_write,
    .read = load_read,
    .lend = c_lend,
    .give_back = c_give_back,
    .poison = load_poison,
    .check_guards = load_check_guards,
    .sense = c_sense,
};
