/* SPDX-License-Identifier: MIT */
#include "agent/rig.h"

#include "agent/host.h"
#include "agent/lock.h"
#include "agent/rig_parts.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "core/proc.h"
#include "runtime/cuda_made.h"
#include "runtime/device.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_S 120.0       /* a child's way to its first request: runtime and device */
#define DEVICE_WAIT_S 3600  /* a build child's for a device that others time on, at most */
#define TELL_WAIT_MS 30000  /* for the device, until that is told */
#define CANARY_APART 0.10   /* canaries further apart than this: something else ran */
#define BATCH_MEMORY_PART 2 /* a batch holds at most the memory limit over this */
#define TIME_SPARE_BYTES ((int64_t)512 << 20)
#define USUAL_BUILDERS 8 /* at most, where nobody asked for more */

__attribute__((format(printf, 3, 4))) static void tell(const struct rig *r, int level, const char *format, ...)
{
    char line[1400];
    va_list args;

    if (!r->options.log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->options.log(level, line, r->options.arg);
}

bool rig_stopping(const struct rig *r)
{
    return r->options.stop && atomic_load(r->options.stop);
}

/* ---- children ---- */

const struct cage *rig_cage(const struct rig *r)
{
    return r->cage.on ? &r->cage : NULL;
}

const char *rig_cage_words(const struct rig *r, char words[CAGE_LINE_BYTES])
{
    if (r->simulated)
        return NULL;
    cage_words(&r->cage, &r->caged, words);
    return words;
}

static enum err start_child(struct rig *r, struct sandbox *s, const char *mode, int64_t generation, struct why *why)
{
    const bool timing = strcmp(mode, "time") == 0;
    char cache[PATH_MAX + 32];
    const struct sandbox_options o = {
        .mode = mode,
        .device = r->options.device,
        .dir = r->dir.temp.path,
        .cache_dir = cache,
        .wrapper = r->options.child_wrapper,
        .cage = rig_cage(r),
        .threads = r->threads,
        .cpus = r->cpus.n_timing ? (timing ? r->cpus.timing : r->cpus.other) : NULL,
        .n_cpus = timing ? r->cpus.n_timing : r->cpus.n_other,
        /* CUDA reserves addresses for all memory of host and devices */
        .data_bytes = strncmp(r->options.device, "cuda", 4) == 0 ? 0 : host_total_bytes(),
        .stop = r->options.stop,
    };

    if (rig_stopping(r))
        return why_set(why, ERR_CANCELLED, "the agent stops");
    workdir_cache(&r->dir, generation, cache, sizeof cache);
    return sandbox_start(s, &o, why);
}

void rig_leave(struct rig *r, const char *words)
{
    tell(r, 0, "leaving: %s", words);
    if (r->options.quit)
        r->options.quit(false, r->options.arg);
    while (!rig_stopping(r)) /* another thread sets the flag */
        clock_wait_ms(r->options.clock, 10);
}

/* The same while serving. */
static enum err replace_child(struct rig *r, struct sandbox *s, const char *mode, int64_t generation, struct why *why)
{
    const enum err e = start_child(r, s, mode, generation, why);

    if (e == ERR_OK || e == ERR_CANCELLED)
        return e;
    rig_leave(r, why->text);
    return ERR_CANCELLED;
}

int64_t rig_memory_limit(int64_t bytes)
{
    const int64_t left = host_available_bytes();

    return left > 0 && left < bytes ? left : bytes;
}

void rig_kill(struct rig *r)
{
    for (int i = 0; i < r->n_builders; i++)
        sandbox_kill(&r->builders[i].child);
    for (int i = 0; i < r->n_forges; i++)
        forge_kill(&r->forges[i]);
    sandbox_kill(&r->time);
}

/* ---- open ---- */

static void take_compiler(struct rig *r, const struct describe_reply *d)
{
    snprintf(r->compiler, sizeof r->compiler, "%s", d->compiler);
    why_set(&r->builds_why, ERR_OK, "%s", d->builds_why);
    if (r->options.no_build && d->builds)
        why_set(&r->builds_why, ERR_OK, "--no-build leaves building to builders");
    r->builds = d->builds && !r->options.no_build;
    r->compiles_apart = d->compiles_apart && r->builds && r->desc.sm > 0;
}

static enum err take_description(struct rig *r, const cJSON *reply, struct why *why)
{
    struct describe_reply d;
    enum err e = describe_reply_read(reply, &d, why);

    if (d.refused)
        return why_set(why, ERR_DEVICE, "cannot open the device %s: %s", r->options.device, d.refused);
    if (!e)
        e = device_desc_from_json(d.device, &r->desc, why);
    r->simulated = d.simulated;
    r->canary_ns = d.canary_ns;
    r->canary_gflops = d.gflops;
    r->canary_unbuilt = d.canary_unbuilt;
    why_set(&r->canary_why, ERR_OK, "%s", d.canary_why);
    snprintf(r->caged.lacks, sizeof r->caged.lacks, "%s", d.cage);
    r->cage.must |= r->cage.on && !d.cage[0]; /* what could be done once is done for all */
    take_compiler(r, &d);
    return e;
}

static enum err ask_description(struct rig *r, bool canary, struct why *why)
{
    const struct sandbox_limits limits = {.build_s = START_S, .run_s = START_S};
    const struct describe_args args = {.op = "describe", .canary = canary};
    struct sandbox_end end;
    cJSON *reply = NULL;
    enum err e;

    sandbox_ask(&r->time, describe_args_write(&args), &limits, &reply, &end);
    if (end.fate != SANDBOX_REPLIED)
        return why_set(why, ERR_CHILD, "cannot ask the device %s: %s", r->options.device, end.words.text);
    json_plain(reply); /* names of devices and compilers end on terminals */
    e = take_description(r, reply, why);
    cJSON_Delete(reply);
    return e;
}

/* What is known of the machine before the device has been asked: a CPU runtime would start this many workers. */
static void plan_cpus(struct rig *r, bool cpu_device)
{
    int cpus[PIN_MAX_CPUS];
    int n = proc_cpus(cpus, PIN_MAX_CPUS);

    if (n > PIN_MAX_CPUS)
        n = PIN_MAX_CPUS;
    if (!cpu_device) {
        r->threads = 0;
        pin_free(cpus, n, &r->cpus);
        r->cpus.n_timing = pin_fastest(NULL, r->cpus.timing, n); /* where launches come from */
        r->cpus.overlap = !r->desc.shares_host;
        return;
    }
    r->threads = r->options.threads > 0 ? r->options.threads : n > 1 ? n - 1 : 1;
    pin_split(cpus, n, r->threads, &r->cpus);
}

static enum err describe(struct rig *r, bool canary, struct why *why)
{
    enum err e;

    plan_cpus(r, true);
    e = start_child(r, &r->time, "time", 0, why);
    if (!e)
        e = ask_description(r, canary, why);
    if (e)
        return e;
    r->time_generation = 0;
    r->fingerprint = device_desc_fingerprint(&r->desc);
    atomic_store(&r->gflops, r->canary_gflops);
    if (r->desc.kind == DEVICE_CPU && !r->simulated)
        return ERR_OK;
    plan_cpus(r, false);
    sandbox_end_child(&r->time); /* it was started for a CPU device */
    r->time_generation = -1;
    return ERR_OK;
}

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

/* Verification runs on the device too: beside the timing of a GPU that would be felt, so one is enough there. */
static int count_builders(const struct rig *r)
{
    int n = r->options.builders;

    if (r->simulated || r->n_forges > 0)
        return 1;
    if (n <= 0)
        n = r->threads > 0 && r->cpus.overlap ? min_of(r->cpus.n_other, USUAL_BUILDERS) : 1;
    return min_of(n, RIG_MAX_BUILDERS);
}

/* Kernels that run on the host's CPU (plain C, PoCL) are loaded from the work directory. */
static enum err describe_in_dir(struct rig *r, bool canary, struct why *why)
{
    static const char words[] =
        "is mounted noexec, so that no kernel can be loaded from it: set TMPDIR to another folder";
    const bool noexec = workdir_is_noexec(&r->dir);
    struct why inner = {""};
    enum err e;

    if (noexec && strcmp(r->ops->name, "c") == 0)
        return why_set(why, ERR_INPUT, "%s %s", r->dir.temp.path, words);
    e = describe(r, canary, &inner);
    if (e && noexec)
        return why_set(why, e, "%s %s (%.100s ..)", r->dir.temp.path, words, inner.text);
    return e ? why_set(why, e, "%s", inner.text) : ERR_OK;
}

enum err rig_open(struct rig *r, const struct rig_options *options, bool canary, struct why *why)
{
    const char *selector = "";
    enum err e;

    memset(r, 0, sizeof *r);
    r->options = *options;
    r->lock_fd = r->dir.temp.lock_fd = -1;
    r->time_generation = -1;
    pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < RIG_MAX_BUILDERS; i++)
        sandbox_init(&r->builders[i].child, options->sandbox, options->sandbox_arg);
    sandbox_init(&r->time, options->sandbox, options->sandbox_arg);
    e = device_parse(options->device, &r->ops, &selector, why);
    if (!e && options->cage && !r->ops->simulated)
        r->cage = *options->cage;
    if (!e)
        e = workdir_open(&r->dir, why);
    if (!e)
        e = describe_in_dir(r, canary, why);
    if (!e) {
        rig_plan_forges(r);
        r->n_builders = count_builders(r);
    }
    if (!e && !r->simulated) {
        lock_name_of_device(&r->desc, selector, r->lock_name, sizeof r->lock_name);
        e = lock_open(r->lock_name, &r->lock_fd, why);
    }
    if (e)
        rig_close(r);
    return e;
}

void rig_close(struct rig *r)
{
    for (int i = 0; i < RIG_MAX_BUILDERS; i++)
        sandbox_end_child(&r->builders[i].child);
    for (int i = 0; i < r->n_forges; i++)
        forge_fini(&r->forges[i]);
    sandbox_end_child(&r->time);
    built_fini(&r->anchor_code);
    free(r->proven.workload);
    r->proven.workload = NULL;
    lock_close(r->lock_fd);
    r->lock_fd = -1;
    workdir_close(&r->dir);
}

bool rig_overlaps(const struct rig *r)
{
    return r->cpus.overlap && !r->simulated;
}

/* ---- build and verify ---- */

int64_t rig_generation(struct rig *r, const struct trial *t)
{
    const int most = t->rules.may_censor ? RIG_CHILD_TRIALS : 2 * RIG_CHILD_TRIALS;
    int64_t generation;

    pthread_mutex_lock(&r->lock);
    if (r->n_built >= most && !r->simulated) {
        r->generation++;
        r->n_built = 0;
    }
    generation = r->generation;
    pthread_mutex_unlock(&r->lock);
    return generation;
}

void rig_doubt(struct rig *r)
{
    workdir_doubt(&r->dir);
    pthread_mutex_lock(&r->lock);
    r->generation++;
    r->n_built = 0;
    pthread_mutex_unlock(&r->lock);
}

static void count_built(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    r->n_built++;
    pthread_mutex_unlock(&r->lock);
}

/* A build child on the compiler cache of now. */
static enum err want_build_child(struct rig *r, struct rig_builder *b, const struct trial *t, struct why *why)
{
    const int64_t generation = rig_generation(r, t);

    if (sandbox_is_whole(&b->child) && b->generation == generation)
        return ERR_OK;
    sandbox_end_child(&b->child);
    b->generation = generation;
    return replace_child(r, &b->child, "build", generation, why);
}

/* Code made by a builder, or compiled apart, goes where the runtime looks for code it has made before, with a note of
 * who made it: first, so that nobody takes the code for the agent's own. What is there already stays as it is. */
static void place(const struct rig *r, int64_t generation, const struct built *code)
{
    struct cuda_made made = {.by = ""};
    char cache[PATH_MAX + 32], path[PATH_MAX + 32 + BUILT_NAME_BYTES + 1];
    struct why why = {""};

    snprintf(made.by, sizeof made.by, "%s", code->by);
    snprintf(made.compiler, sizeof made.compiler, "%s", code->compiler);
    workdir_cache(&r->dir, generation, cache, sizeof cache);
    for (int i = 0; i < code->n_files; i++) {
        snprintf(path, sizeof path, "%s/%s", cache, code->files[i].name);
        if (access(path, F_OK) == 0)
            continue;
        if (cuda_made_write(path, &made, &why) || workdir_link(&r->dir, code->files[i].blob.hex, path, &why))
            tell(r, 0, "%s", why.text);
    }
}

static void place_code(struct rig *r, int64_t generation, const struct trial *t)
{
    place(r, generation, &t->code);
    place(r, generation, &t->anchor_code);
    pthread_mutex_lock(&r->lock);
    if (strcmp(r->anchor_name.hex, t->anchor_name.hex) == 0)
        place(r, generation, &r->anchor_code);
    pthread_mutex_unlock(&r->lock);
}

/* A build child waits for the device while others are timed there. */
static double device_wait_s(const struct rig *r)
{
    return r->lock_fd >= 0 && r->desc.kind != DEVICE_CPU ? DEVICE_WAIT_S : 0;
}

static void ask_verify(struct rig *r, struct rig_builder *b, const struct trial *t, const char *program,
                       const char *sheet, cJSON **reply, struct sandbox_end *end)
{
    const struct sandbox_limits limits = {.build_s = t->build_s,
                                          .run_s = t->run_s,
                                          .start_s = START_S,
                                          .all_s = START_S + t->build_s + PROGRAM_MAX_PASSES * t->run_s +
                                                   SANDBOX_LATE_S + device_wait_s(r),
                                          .memory_bytes = rig_memory_limit(t->memory_bytes)};
    const struct verify_args args = {.op = "verify", .program = program, .sheet = sheet};
    const enum err e = want_build_child(r, b, t, &end->words);

    if (e) {
        memset(end->stage, 0, sizeof end->stage);
        strcpy(end->stage, SANDBOX_START);
        end->fate = e == ERR_CANCELLED ? SANDBOX_CANCELLED : SANDBOX_DIED;
        return;
    }
    place_code(r, b->generation, t);
    sandbox_ask(&b->child, verify_args_write(&args), &limits, reply, end);
}

/* What a child's end means for the trial that it worked on. */
static void fail_by_end(struct trial *t, const struct sandbox_end *end)
{
    static const enum record_status by_fate[] = {
        [SANDBOX_DIED] = STATUS_CRASH, [SANDBOX_TIMEOUT] = STATUS_TIMEOUT, [SANDBOX_MEMORY] = STATUS_LIMITS};

    if (end->fate != SANDBOX_CANCELLED && end->fate != SANDBOX_REPLIED)
        trial_fail(t, by_fate[end->fate], end->stage, end->words.text);
}

static bool keeps_child(enum record_status s)
{
    return s == STATUS_OK || s == STATUS_COMPILE || s == STATUS_LIMITS;
}

static void warn_first_death(const struct rig *r, const struct trial *t, const struct sandbox_end *end)
{
    tell(r, 1, "%s: %s; once more, alone", t->id, end->words.text);
}

/* An answer that was given without a compiler cache is none. */
static void ask_verify_whole(struct rig *r, struct rig_builder *b, const struct trial *t, cJSON **reply,
                             struct sandbox_end *end)
{
    ask_verify(r, b, t, t->program_name.hex, t->sheet_name.hex, reply, end);
    if (end->fate != SANDBOX_REPLIED || sandbox_is_whole(&b->child))
        return;
    cJSON_Delete(*reply);
    *reply = NULL;
    end->fate = SANDBOX_DIED;
    strcpy(end->stage, SANDBOX_START);
    why_set(&end->words, ERR_CHILD, "somebody removed its compiler cache");
}

void rig_verify(struct rig *r, int i_builder, struct trial *t)
{
    struct sandbox_end end = {.fate = SANDBOX_DIED};
    struct rig_builder *b;
    cJSON *reply = NULL;

    assert(i_builder >= 0 && i_builder < r->n_builders);
    b = &r->builders[i_builder];
    if (t->finished)
        return;
    ask_verify_whole(r, b, t, &reply, &end);
    if (end.fate == SANDBOX_DIED && !rig_stopping(r)) {
        warn_first_death(r, t, &end);
        ask_verify_whole(r, b, t, &reply, &end);
    }
    if (rig_stopping(r) && end.fate != SANDBOX_REPLIED)
        return;
    t->generation = b->generation;
    t->verified_ns = clock_read_ns(r->options.clock);
    count_built(r);
    if (end.fate == SANDBOX_REPLIED)
        trial_take_verify(t, reply);
    fail_by_end(t, &end);
    if (t->finished && !keeps_child(t->record.status))
        sandbox_end_child(&b->child);
    cJSON_Delete(reply);
}

void rig_warm_anchor(struct rig *r, int i_builder, const struct trial *t)
{
    struct sandbox_end end = {.fate = SANDBOX_DIED};
    cJSON *reply = NULL;

    if (!t->anchor_name.hex[0] || r->simulated)
        return;
    ask_verify(r, &r->builders[i_builder], t, t->anchor_name.hex, "", &reply, &end);
    if (end.fate != SANDBOX_REPLIED)
        tell(r, 0, "the anchor %.12s cannot be built: %s", t->anchor_name.hex, end.words.text);
    cJSON_Delete(reply);
}

/* ---- timing ---- */

/* Is the trial of the job and workload whose proven ones were noted last? */
static bool is_noted(const struct rig_proven *p, const struct trial *t)
{
    return p->least_ns > 0 && strcmp(p->job, t->record.job) == 0 && strcmp(p->workload, t->record.workload) == 0;
}

static void note_proven(struct rig_proven *p, const struct trial *t)
{
    const struct record *r = &t->record;

    if (record_proof(r) < PROOF_FULL || r->censored || (is_noted(p, t) && p->least_ns <= r->time_ns))
        return;
    free(p->workload);
    *p = (struct rig_proven){.workload = strdup(r->workload), .least_ns = r->time_ns};
    memcpy(p->job, r->job, sizeof p->job);
    if (!p->workload)
        p->least_ns = 0;
}

static cJSON *time_request(const struct rig *r, struct trial *const *trials, int n, bool anchored)
{
    struct time_args args = {.op = "time", .anchor = anchored ? trials[0]->anchor_name.hex : ""};
    uint32_t seed = 0;
    bool ok = entropy_fill(r->options.entropy, &seed, sizeof seed) == ERR_OK;

    args.seed = seed;
    args.cool = cool_rules_write(&r->options.cool);
    for (int i = 0; ok && i < n; i++)
        call_list_add(&args.trials,
                      trial_time_request(trials[i], is_noted(&r->proven, trials[i]) ? r->proven.least_ns : 0), &ok);
    if (ok)
        return time_args_write(&args);
    call_drop(&time_args_shape, &args);
    return NULL;
}

/* How often a trial's timing reports a stage, at the most: in each round itself, its anchor and the canary, then the
 * passes of its sheet, with some to spare. */
static int stages_of(const struct timing_rules *r)
{
    const int rounds = r->rounds > r->rounds_near_best ? r->rounds : r->rounds_near_best;

    return 3 * rounds + 2 * PROGRAM_MAX_PASSES;
}

static struct sandbox_limits time_limits(struct trial *const *trials, int n)
{
    struct sandbox_limits l = {.start_s = START_S};
    int64_t bytes = 0;
    int n_stages = 0;

    for (int i = 0; i < n; i++) {
        n_stages += stages_of(&trials[i]->rules);
        l.build_s = fmax(l.build_s, trials[i]->build_s);
        l.run_s = fmax(l.run_s, trials[i]->run_s);
        bytes += trials[i]->buffer_bytes;
        if (trials[i]->memory_bytes > l.memory_bytes)
            l.memory_bytes = trials[i]->memory_bytes;
    }
    l.all_s = START_S + COOL_MAX_S + (n + 1) * l.build_s + n_stages * l.run_s; /* with the anchor */
    bytes = 2 * bytes + TIME_SPARE_BYTES; /* with the anchor and what the fills take on the host */
    l.memory_bytes = rig_memory_limit(bytes > l.memory_bytes ? bytes : l.memory_bytes);
    return l;
}

/* A timing child on the compiler cache that holds these binaries. Older caches are of no more use, but for the last
 * one: a builder may be at work in it still, and what it makes there late is built again. */
static enum err want_time_child(struct rig *r, int64_t generation, struct why *why)
{
    if (generation < r->time_generation)
        generation = r->time_generation;
    assert(generation >= 0);
    if (sandbox_is_whole(&r->time) && r->time_generation == generation &&
        (r->n_timed < RIG_CHILD_TRIALS || r->simulated))
        return ERR_OK;
    sandbox_end_child(&r->time);
    for (int64_t g = r->time_generation > 0 ? r->time_generation - 1 : 0; g < generation - 1; g++)
        workdir_drop_cache(&r->dir, g);
    r->time_generation = generation;
    r->n_timed = 0;
    return replace_child(r, &r->time, "time", generation, why);
}

static void ask_time(struct rig *r, struct trial *const *trials, int n, bool anchored, cJSON **reply,
                     struct sandbox_end *end)
{
    const struct sandbox_limits limits = time_limits(trials, n);
    const enum err e = want_time_child(r, trials[n - 1]->generation, &end->words);

    if (e) {
        end->fate = e == ERR_CANCELLED ? SANDBOX_CANCELLED : SANDBOX_DIED;
        strcpy(end->stage, SANDBOX_START);
        return;
    }
    for (int i = 0; i < n; i++)
        place_code(r, r->time_generation, trials[i]);
    sandbox_ask(&r->time, time_request(r, trials, n, anchored), &limits, reply, end);
    r->n_timed += n;
}

/* One CPU of those that time, for its clock. */
static int timing_cpu(const struct rig *r)
{
    return r->threads > 0 && r->cpus.n_timing ? r->cpus.timing[0] : -1;
}

/* Tells of a device that had to cool, or did not. */
static void tell_heat(const struct rig *r, const cJSON *sense)
{
    const cJSON *before = cJSON_GetObjectItemCaseSensitive(sense, "before");
    double waited_s = 0, now_c = 0;

    json_real_or(sense, "waited_s", 0, &waited_s, NULL);
    json_real_or(before, "temperature_c", 0, &now_c, NULL);
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(sense, "hot")))
        tell(r, 0, "timed although the device did not cool in %d s: it is at %.0f C", COOL_MAX_S, now_c);
    else if (waited_s > 0)
        tell(r, 1, "waited %.1f s before timing", waited_s);
}

/* `item` is its part of the reply; NULL = it has none. */
static void take_trial(struct rig *r, struct trial *t, const cJSON *item, const cJSON *reply, const char *refused)
{
    if (item)
        trial_take_time(t, item, reply);
    else
        trial_fail(t, STATUS_RUNTIME, refused ? SANDBOX_START : "time",
                   refused ? refused : "the child gave no answer for this trial");
    assert(t->finished);
    note_proven(&r->proven, t);
    if (!keeps_child(t->record.status))
        r->n_timed = RIG_CHILD_TRIALS;
}

static void take_batch(struct rig *r, struct trial *const *trials, int n, const cJSON *reply)
{
    struct time_reply batch;

    (void)time_reply_read(reply, &batch, NULL);
    if (batch.gflops > 0)
        atomic_store(&r->gflops, batch.gflops);
    tell_heat(r, batch.sense);
    if (*batch.anchor_why)
        tell(r, 0, "timed without the anchor %.12s: %s", trials[0]->anchor_name.hex, batch.anchor_why);
    for (int i = 0; i < n; i++)
        take_trial(r, trials[i], cJSON_GetArrayItem(batch.trials, i), reply, batch.refused);
}

/* Who was wrong stays wrong: another try, in the same process, might not show it. Gives how many are left. */
static int take_wrong(struct rig *r, struct trial *const *trials, int n, const cJSON *reply, struct trial **left)
{
    struct time_reply batch;
    struct timed_trial m;
    int n_left = 0;

    (void)time_reply_read(reply, &batch, NULL);
    for (int i = 0; i < n; i++) {
        const cJSON *item = cJSON_GetArrayItem(batch.trials, i);

        (void)timed_trial_read(item, &m, NULL);
        if (item && strcmp(m.status, status_name(STATUS_WRONG)) == 0)
            take_trial(r, trials[i], item, reply, NULL);
        else
            left[n_left++] = trials[i];
        trials[i]->proven |= item && strcmp(m.status, status_name(STATUS_OK)) == 0 && !m.in_part;
    }
    return n_left;
}

/* One candidate in a fresh child; without its anchor when that was what the child died of. */
static void time_alone(struct rig *r, struct trial *t)
{
    struct sandbox_end end = {.fate = SANDBOX_DIED, .i_item = SANDBOX_NOWHERE};
    cJSON *reply = NULL;

    sandbox_end_child(&r->time);
    ask_time(r, &t, 1, true, &reply, &end);
    if (end.fate != SANDBOX_REPLIED && end.fate != SANDBOX_CANCELLED && end.i_item == TIMING_ANCHOR &&
        t->anchor_name.hex[0] && !rig_stopping(r))
        ask_time(r, &t, 1, false, &reply, &end);
    if (end.fate == SANDBOX_REPLIED)
        take_batch(r, &t, 1, reply);
    else if (!rig_stopping(r))
        fail_by_end(t, &end);
    cJSON_Delete(reply);
}

/* Without an anchor nothing else tells that the machine was busy. A single round (a baseline) asks for no precision. */
static bool is_disturbed(struct trial *const *trials, const cJSON *reply)
{
    struct time_reply batch;

    (void)time_reply_read(reply, &batch, NULL);
    return !trials[0]->anchor_name.hex[0] && trials[0]->rules.rounds > 1 && batch.canary_before > 0 &&
           batch.canary_after > 0 && fabs(log(batch.canary_after / batch.canary_before)) > CANARY_APART;
}

/* Times those that are not wrong once more, and takes their place in `trials`; gives how many. */
static int time_again(struct rig *r, struct trial **trials, int n, cJSON **reply, struct sandbox_end *end)
{
    cJSON *first = *reply;

    n = take_wrong(r, trials, n, first, trials);
    *reply = NULL;
    if (n) {
        tell(r, 1, "%s while %d trials were timed: once more",
             sandbox_is_whole(&r->time) ? "the canary changed" : "somebody removed the compiler cache", n);
        ask_time(r, trials, n, true, reply, end);
    }
    cJSON_Delete(first);
    return n;
}

static void time_together(struct rig *r, struct trial *const *all, int n)
{
    struct sandbox_end end = {.fate = SANDBOX_DIED, .i_item = SANDBOX_NOWHERE};
    struct trial *trials[TIMING_MAX_BATCH];
    cJSON *reply = NULL;

    memcpy(trials, all, (size_t)n * sizeof *trials);
    ask_time(r, trials, n, true, &reply, &end);
    if (end.fate == SANDBOX_REPLIED && (is_disturbed(trials, reply) || !sandbox_is_whole(&r->time)))
        n = time_again(r, trials, n, &reply, &end);
    if (n && end.fate == SANDBOX_REPLIED) {
        take_batch(r, trials, n, reply);
    } else if (n && end.fate != SANDBOX_CANCELLED) {
        warn_first_death(r, trials[0], &end);
        for (int i = 0; i < n && !rig_stopping(r); i++)
            time_alone(r, trials[i]);
    }
    cJSON_Delete(reply);
}

/* Others' batches are seconds: who has it for longer is told of, once. */
static bool take_device(struct rig *r)
{
    const int64_t from_ns = clock_read_ns(r->options.clock);
    bool told = false;

    while (r->lock_fd >= 0 && lock_take(r->lock_fd, r->options.clock, 100) != ERR_OK) {
        if (rig_stopping(r))
            return false;
        if (!told && clock_read_ns(r->options.clock) - from_ns > TELL_WAIT_MS * INT64_C(1000000)) {
            tell(r, 0, "another process has had the device for %d s: its lock tune-%s.lock is held",
                 TELL_WAIT_MS / 1000, r->lock_name);
            told = true;
        }
    }
    if (told)
        tell(r, 0, "the device is free again");
    return true;
}

void rig_time(struct rig *r, struct trial *const *trials, int n)
{
    assert(n >= 1 && n <= TIMING_MAX_BATCH);
    if (!take_device(r))
        return;
    for (int i = 0; i < n; i++)
        trials[i]->record.wait_ms = (double)(clock_read_ns(r->options.clock) - trials[i]->verified_ns) * 1e-6;
    time_together(r, trials, n);
    for (int i = 0; i < n; i++)
        assert(trials[i]->finished || rig_stopping(r));
    lock_release(r->lock_fd);
}

void rig_complete(struct rig *r, struct trial *t)
{
    const double peak = t->peak_gflops > 0 ? t->peak_gflops : atomic_load(&r->gflops);
    char words[CAGE_LINE_BYTES];
    const char *cage = rig_cage_words(r, words);

    cJSON_Delete(t->record.device);
    t->record.device = host_device_object(&r->desc, peak, timing_cpu(r));
    if (t->record.device && cage)
        cJSON_AddStringToObject(t->record.device, "cage", cage);
    if (t->record.device && t->sense && cJSON_AddItemToObject(t->record.device, "sense", t->sense))
        t->sense = NULL;
}

int rig_batch_size(struct trial *const *trials, int n)
{
    const int64_t most = trials[0]->memory_bytes / BATCH_MEMORY_PART;
    int64_t bytes = 2 * trials[0]->buffer_bytes; /* an anchor takes about as much as a candidate */
    int n_fit = 1;

    while (n_fit < n && n_fit < TIMING_MAX_BATCH) {
        const struct trial *t = trials[n_fit];

        bytes += t->buffer_bytes;
        if (bytes > most || strcmp(t->anchor_name.hex, trials[0]->anchor_name.hex) != 0 ||
            strcmp(t->record.workload, trials[0]->record.workload) != 0 ||
            strcmp(t->record.purpose, trials[0]->record.purpose) != 0 || t->generation != trials[0]->generation)
            break;
        n_fit++;
    }
    assert(n_fit <= n && n_fit <= TIMING_MAX_BATCH);
    return n_fit;
}
