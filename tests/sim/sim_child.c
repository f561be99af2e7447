/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_child.h"

#include "agent/measure.h"
#include "agent/workdir.h"
#include "logs/record.h"
#include "runtime/cuda_made.h"
#include "runtime/nvrtc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CANARY_NS 1e6
#define CANARY_GFLOPS 100.0
#define RUN_W 50.0

struct sim_child {
    struct sim_children *all;
    struct sim_child *next;
    int number; /* its pid */
    bool killed;
    const atomic_bool *stop;
    char dir[PATH_MAX], cache[PATH_MAX];
};

/* One request. */
struct asking {
    struct sandbox *sandbox;
    struct sim_child *child;
    const cJSON *request;
    const struct sandbox_limits *limits;
    struct sandbox_end *end;
    struct sim_asked *log;
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "sim_child: %s\n", what);
    abort();
}

void sim_children_init(struct sim_children *c, struct world *w)
{
    *c = (struct sim_children){.world = w};
    c->desc = (struct device_desc){
        .kind = DEVICE_GPU, .units = 8, .max_work_group = 256, .max_local = {256, 256, 64}, .local_bytes = 32768};
    strcpy(c->desc.api, "opencl");
    strcpy(c->desc.name, "card of a world");
    strcpy(c->desc.driver, "1.0");
}

int sim_n_asked(const struct sim_children *c, const char *op)
{
    int n = 0;

    for (int i = 0; i < c->n_asked; i++)
        n += strcmp(c->asked[i].op, op) == 0;
    return n;
}

const struct sim_asked *sim_asked(const struct sim_children *c, const char *op, int i)
{
    for (int k = 0; k < c->n_asked; k++)
        if (strcmp(c->asked[k].op, op) == 0 && i-- == 0)
            return &c->asked[k];
    return NULL;
}

int sim_n_asked_of(const struct sim_children *c, const char *op, int64_t program)
{
    int n = 0;

    for (int i = 0; i < c->n_asked; i++)
        for (int k = 0; k < c->asked[i].n && strcmp(c->asked[i].op, op) == 0; k++)
            n += c->asked[i].programs[k] == program;
    return n;
}

/* ---- life ---- */

static struct sim_child **place_of(const struct sandbox *s)
{
    struct sim_children *all = s->arg;
    struct sim_child **at = &all->living;

    while (*at && (*at)->number != s->pid)
        at = &(*at)->next;
    must(*at != NULL, "a child that is not there");
    return at;
}

static void end_child(struct sandbox *s)
{
    struct sim_children *all = s->arg;
    struct sim_child **at, *c;

    if (s->pid <= 0)
        return;
    at = place_of(s);
    c = *at;
    *at = c->next;
    all->n_alive--;
    free(c);
    s->pid = 0;
}

static enum err start(struct sandbox *s, const struct sandbox_options *o, struct why *why)
{
    struct sim_children *all = s->arg;
    struct sim_child *c;

    end_child(s);
    if (all->n_starts_to_fail > 0) {
        all->n_starts_to_fail--;
        return why_set(why, ERR_IO, "the machine is out of processes");
    }
    must(!*o->cache_dir || mkdir(o->cache_dir, 0700) == 0 || access(o->cache_dir, W_OK) == 0, "no cache folder");
    c = calloc(1, sizeof *c);
    must(c != NULL, "out of memory");
    c->all = all;
    c->number = ++all->n_started;
    c->stop = o->stop;
    snprintf(c->dir, sizeof c->dir, "%s", o->dir);
    snprintf(c->cache, sizeof c->cache, "%s", o->cache_dir);
    c->next = all->living;
    all->living = c;
    s->pid = c->number;
    all->n_alive++;
    return ERR_OK;
}

static void kill_child(struct sandbox *s)
{
    if (s->pid > 0)
        (*place_of(s))->killed = true;
}

/* ---- time, and ways to end ---- */

static bool is_ended(void *arg)
{
    const struct sim_child *c = arg;

    return c->killed || (c->stop && atomic_load(c->stop));
}

static bool dies(struct asking *a, enum sandbox_fate fate, const char *words)
{
    a->end->fate = fate;
    why_set(&a->end->words, ERR_CHILD, "%s during %s", words, a->end->stage);
    return false;
}

static double limit_of(const struct asking *a)
{
    const struct sandbox_limits *l = a->limits;
    const char *stage = a->end->stage;

    if (strcmp(stage, "start") == 0)
        return l->start_s > 0 ? l->start_s : l->build_s;
    if (strcmp(stage, "build") == 0 || strcmp(stage, "load") == 0)
        return l->build_s;
    return l->run_s + (a->end->first_run ? fmin(l->build_s, SANDBOX_LATE_S) : 0);
}

/* The stage takes that long; false: the child did not come to its end. */
static bool spend(struct asking *a, const char *stage, int i_item, int64_t ns)
{
    struct world *w = a->child->all->world;
    const int64_t limit_ns = (int64_t)((snprintf(a->end->stage, sizeof a->end->stage, "%s", stage), limit_of(a)) * 1e9);

    a->end->i_item = i_item;
    if (world_wait(w, is_ended, a->child, world_now_ns(w) + (ns < limit_ns ? ns : limit_ns)))
        return dies(a, a->child->killed ? SANDBOX_DIED : SANDBOX_CANCELLED, "was ended");
    return ns <= limit_ns || dies(a, SANDBOX_TIMEOUT, "took too long");
}

/* ---- programs ---- */

/* What a request names, read as a child reads it: with all its blobs, from the work directory. */
struct known {
    char hex[65];
    struct program p;
    char how[16];
    int64_t n;
    double us, build_ms;
};

struct blob_check {
    const char *dir;
    struct blobs *set;
    enum err e;
    struct why *why;
};

static void check_blob(const char *hex, void *arg)
{
    struct blob_check *x = arg;

    if (!x->e)
        x->e = workdir_load_blob(x->dir, hex, x->set, x->why);
}

static void read_knobs(struct known *k)
{
    const char *how = "";

    json_text_or(k->p.knobs, "do", "", &how, NULL);
    snprintf(k->how, sizeof k->how, "%s", how);
    json_i64_or(k->p.knobs, "n", SIM_NONE, SIM_NONE, INT32_MAX, &k->n, NULL);
    json_real_or(k->p.knobs, "us", 100, &k->us, NULL);
    json_real_or(k->p.knobs, "build_ms", 40, &k->build_ms, NULL);
}

/* `sources`: no other blobs are needed. program_fini in any case. */
static enum err know(const struct asking *a, const char *hex, bool sources, struct known *k, struct why *why)
{
    struct blobs set;
    struct blob_check x = {.dir = a->child->dir, .set = &set, .why = why};
    const struct blob *text;

    *k = (struct known){.n = SIM_NONE};
    program_init(&k->p);
    snprintf(k->hex, sizeof k->hex, "%s", hex);
    blobs_init(&set, (size_t)1 << 30);
    check_blob(hex, &x);
    text = blobs_get(&set, hex);
    if (!x.e)
        x.e = program_from_json((const char *)text->data, text->n_bytes, &k->p, why);
    for (size_t i = 0; !x.e && sources && i < k->p.n_modules; i++)
        check_blob(k->p.modules[i].source.hex, &x);
    if (!x.e && !sources)
        program_each_blob(&k->p, check_blob, &x);
    if (!x.e)
        read_knobs(k);
    blobs_fini(&set);
    return x.e;
}

static bool is(const struct known *k, const char *how)
{
    return strcmp(k->how, how) == 0;
}

/* True the first time. */
static bool dies_once(struct sim_children *all, const char *hex)
{
    for (int i = 0; i < all->n_died; i++)
        if (strcmp(all->died[i], hex) == 0)
            return false;
    must(all->n_died < 64, "too many programs that die once");
    strcpy(all->died[all->n_died++], hex);
    return true;
}

/* ---- answers ---- */

static cJSON *made(cJSON *o, bool ok)
{
    must(o && ok, "out of memory");
    return o;
}

static cJSON *describe(struct asking *a)
{
    struct sim_children *all = a->child->all;
    const bool canary = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(a->request, "canary"));
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    if (!spend(a, "start", SANDBOX_NOWHERE, 50 * WORLD_MS)) {
        cJSON_Delete(o);
        return NULL;
    }
    json_add_item(o, "device", device_desc_to_json(&all->desc), &ok);
    json_add_bool(o, "simulated", all->simulated, &ok);
    json_add_real(o, "canary_ns", canary && !all->canary_fails ? CANARY_NS : 0, &ok);
    json_add_real(o, "gflops", canary && !all->canary_fails ? CANARY_GFLOPS : 0, &ok);
    json_add_text(o, "canary_why", canary && all->canary_fails ? "it does not build" : "", &ok);
    json_add_bool(o, "canary_unbuilt", canary && all->canary_fails && all->no_compiler, &ok);
    if (all->desc.sm > 0) {
        json_add_bool(o, "builds", !all->no_compiler, &ok);
        json_add_text(o, "builds_why", all->no_compiler ? "no NVRTC was found" : "", &ok);
        json_add_text(o, "compiler", all->no_compiler ? "" : "NVRTC 12.9 (/here)", &ok);
        json_add_bool(o, "compiles_apart", !all->no_compiler && !all->makes_ptx, &ok);
    }
    return made(o, ok);
}

/* An agent's own, and a builder's. */
static const char *compiler_of(const struct asking *a)
{
    return a->child->all->desc.sm > 0 ? "NVRTC 13.0" : "NVRTC 12.9";
}

/* Code that somebody put where this program's is looked for. */
static bool find_code(const struct asking *a, const struct known *k, struct cuda_made *out)
{
    const int sm = (int)a->child->all->desc.sm;
    char name[NVRTC_NAME_BYTES], path[2 * PATH_MAX];

    if (sm <= 0 || k->p.n_modules == 0)
        return false;
    nvrtc_cache_name(&k->p.modules[0], sm, name);
    snprintf(path, sizeof path, "%s/%s", a->child->cache, name);
    if (access(path, R_OK) != 0)
        return false;
    cuda_made_read(path, out);
    return true;
}

static cJSON *verified(const struct asking *a, const struct known *k, enum record_status status, const char *why)
{
    struct cuda_made code = {.by = ""};
    const bool found = find_code(a, k, &code), cuda = a->child->all->desc.sm > 0;
    const char *stage = status == STATUS_OK                                  ? ""
                        : status == STATUS_WRONG || status == STATUS_RUNTIME ? "verify"
                                                                             : "build";
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    json_add_text(o, "status", status_name(status), &ok);
    json_add_text(o, "stage", stage, &ok);
    json_add_text(o, "why", why, &ok);
    json_add_real(o, "build_ms", found ? 0 : k->build_ms, &ok);
    json_add_bool(o, "build_cached", found, &ok);
    json_add_text(o, "compiler", found ? code.compiler : cuda ? compiler_of(a) : "", &ok);
    json_add_text(o, "built_by", code.by, &ok);
    json_add_real(o, "verify_ms", status == STATUS_OK || status == STATUS_WRONG ? 20 : 0, &ok);
    return made(o, ok);
}

static cJSON *verify_known(struct asking *a, const struct known *k)
{
    const enum record_status status =
        status_by_name(k->how) > 0 ? (enum record_status)status_by_name(k->how) : STATUS_OK;
    const bool endless = is(k, "hang");
    struct cuda_made code;

    if (!spend(a, "build", SANDBOX_NOWHERE, find_code(a, k, &code) ? 0 : (int64_t)(k->build_ms * 1e6)))
        return NULL;
    if (status == STATUS_COMPILE || status == STATUS_LIMITS)
        return verified(a, k, status, "it does not build");
    a->end->first_run = true;
    if (!spend(a, "verify", SANDBOX_NOWHERE, endless ? 3600 * WORLD_S : 20 * WORLD_MS))
        return NULL;
    if (is(k, "crash") || (is(k, "crash_once") && dies_once(a->child->all, k->hex)))
        return dies(a, SANDBOX_DIED, "died of signal 11"), NULL;
    if (is(k, "eat"))
        return dies(a, SANDBOX_MEMORY, "memory: held too much"), NULL;
    return verified(a, k, status, status ? "it is not right" : "");
}

static cJSON *verify(struct asking *a)
{
    const char *hex = "";
    struct why why = {""};
    struct known k;
    cJSON *reply;
    enum err e;

    must(json_get_text(a->request, "program", &hex, NULL) == ERR_OK, "verify without a program");
    e = know(a, hex, false, &k, &why);
    a->log->programs[0] = k.n;
    a->log->n = 1;
    reply = e ? verified(a, &k, STATUS_RUNTIME, why.text) : verify_known(a, &k);
    program_fini(&k.p);
    return reply;
}

/* ---- a batch ---- */

struct batch {
    struct asking *a;
    struct known items[TIMING_MAX_BATCH], anchor;
    int64_t rounds[TIMING_MAX_BATCH];
    bool energy[TIMING_MAX_BATCH], anchored;
    enum err e[TIMING_MAX_BATCH];
    struct why why[TIMING_MAX_BATCH], anchor_why;
    int n;
};

/* A slot in which the child may end. */
static bool time_one(struct batch *b, const struct known *k, int i, int64_t rounds)
{
    struct sim_children *all = b->a->child->all;
    const int64_t each = all->round_ns ? all->round_ns : 2 * WORLD_MS;

    if (!spend(b->a, "time", i, is(k, "hang_timed") ? 3600 * WORLD_S : rounds * each))
        return false;
    if (is(k, "bomb") || (is(k, "bomb_once") && dies_once(all, k->hex)))
        return dies(b->a, SANDBOX_DIED, "died of signal 11");
    return !is(k, "eat_timed") || dies(b->a, SANDBOX_MEMORY, "memory: held too much");
}

static bool time_all(struct batch *b)
{
    struct sim_children *all = b->a->child->all;

    for (int i = 0; i < b->n; i++)
        if (!spend(b->a, "load", i, WORLD_MS))
            return false;
    if (!spend(b->a, "time", MEASURE_CANARY, 2 * WORLD_MS))
        return false;
    if (all->canary_kills)
        return dies(b->a, SANDBOX_DIED, "the canary broke the device");
    if (b->anchored && !time_one(b, &b->anchor, TIMING_ANCHOR, 1))
        return false;
    for (int i = 0; i < b->n; i++)
        if (!b->e[i] && !time_one(b, &b->items[i], i, b->rounds[i]))
            return false;
    return true;
}

static void read_batch(struct batch *b)
{
    const cJSON *trials = NULL, *trial;
    const char *hex = "";

    json_get_array(b->a->request, "trials", &trials, NULL);
    cJSON_ArrayForEach(trial, trials)
    {
        must(b->n < TIMING_MAX_BATCH && json_get_text(trial, "program", &hex, NULL) == ERR_OK, "a mad batch");
        b->e[b->n] = know(b->a, hex, false, &b->items[b->n], &b->why[b->n]);
        json_i64_or(trial, "rounds", 5, 1, TIMING_MAX_ROUNDS, &b->rounds[b->n], NULL);
        json_bool_or(trial, "energy", false, &b->energy[b->n], NULL);
        b->a->log->programs[b->n] = b->items[b->n].n;
        b->n++;
    }
    b->a->log->n = b->n;
    b->a->log->energy = b->energy[0];
    json_text_or(b->a->request, "anchor", "", &hex, NULL);
    json_real_or(b->a->request, "seed", -1, &b->a->log->seed, NULL);
    if (!*hex)
        return;
    b->anchored = know(b->a, hex, false, &b->anchor, &b->anchor_why) == ERR_OK;
    if (b->a->child->all->anchor_why)
        b->anchored = why_set(&b->anchor_why, ERR_LIMITS, "%s", b->a->child->all->anchor_why) == ERR_OK;
    b->a->log->anchor = (int)b->anchor.n;
}

static cJSON *timed(const struct batch *b, int i)
{
    const struct known *k = &b->items[i];
    const bool spoilt = is(k, "spoilt"), ok_one = !b->e[i] && !spoilt;
    double slots[TIMING_MAX_ROUNDS], anchors[TIMING_MAX_ROUNDS];
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    for (int r = 0; r < b->rounds[i]; r++) {
        slots[r] = k->us * 1e3;
        anchors[r] = b->anchor.us * 1e3;
    }
    json_add_text(o, "status", status_name(b->e[i] ? STATUS_RUNTIME : spoilt ? STATUS_WRONG : STATUS_OK), &ok);
    json_add_text(o, "stage", b->e[i] ? "load" : spoilt ? "time" : "", &ok);
    json_add_text(o, "why", b->e[i] ? b->why[i].text : spoilt ? "the outputs changed" : "", &ok);
    json_add_real(o, "device_ms", (double)b->rounds[i] * 2, &ok);
    if (!ok_one)
        return made(o, ok);
    json_add_real(o, "time_ns", k->us * 1e3, &ok);
    if (b->energy[i])
        json_add_real(o, "energy_j", k->us * 1e-6 * RUN_W, &ok);
    if (b->anchored)
        json_add_real(o, "lnratio", log(k->us / b->anchor.us), &ok);
    json_add_real(o, "se", 0.01, &ok);
    json_add_i64(o, "rounds", b->rounds[i], &ok);
    json_add_i64(o, "calls", 3 * b->rounds[i], &ok);
    json_add_bool(o, "censored", false, &ok);
    json_add_item(o, "samples", cJSON_CreateDoubleArray(slots, (int)b->rounds[i]), &ok);
    json_add_item(o, "anchors", cJSON_CreateDoubleArray(anchors, b->anchored ? (int)b->rounds[i] : 0), &ok);
    return made(o, ok);
}

static void add_sense(cJSON *o, double c, bool hot, bool *ok)
{
    cJSON *sense = cJSON_CreateObject(), *before = cJSON_CreateObject();

    json_add_real(before, "temperature_c", c, ok);
    json_add_item(sense, "before", before, ok);
    json_add_real(sense, "waited_s", 1.5, ok);
    if (hot)
        json_add_bool(sense, "hot", true, ok);
    json_add_item(o, "sense", sense, ok);
}

static cJSON *batch_reply(struct batch *b)
{
    struct sim_children *all = b->a->child->all;
    const bool disturbed = all->n_disturbed > 0;
    cJSON *o = cJSON_CreateObject(), *list = cJSON_CreateArray();
    bool ok = o && list;

    all->n_disturbed -= disturbed;
    for (int i = 0; i < b->n && !is(&b->items[i], "silent"); i++)
        cJSON_AddItemToArray(list, timed(b, i));
    json_add_item(o, "trials", list, &ok);
    json_add_real(o, "canary_before", CANARY_NS, &ok);
    json_add_real(o, "canary_after",
                  disturbed ? (all->disturbed_by > 0 ? all->disturbed_by : 1.3) * CANARY_NS : 1.02 * CANARY_NS, &ok);
    json_add_real(o, "gflops", CANARY_GFLOPS - 1, &ok);
    json_add_text(o, "anchor_why", b->anchor_why.text, &ok);
    if (all->sense_c > 0)
        add_sense(o, all->sense_c, all->hot, &ok);
    return made(o, ok);
}

static cJSON *time_batch(struct asking *a)
{
    struct batch *b = calloc(1, sizeof *b);
    cJSON *reply = NULL;

    must(b != NULL, "out of memory");
    b->a = a;
    program_init(&b->anchor.p);
    read_batch(b);
    if (time_all(b))
        reply = batch_reply(b);
    for (int i = 0; i < b->n; i++)
        program_fini(&b->items[i].p);
    program_fini(&b->anchor.p);
    free(b);
    return reply;
}

/* ---- builders' children ---- */

static cJSON *compiler(struct asking *a)
{
    struct sim_children *all = a->child->all;
    cJSON *o = cJSON_CreateObject();
    bool ok = o != NULL;

    if (all->no_compiler) {
        json_add_text(o, "refused", "no NVRTC was found", &ok);
        return made(o, ok);
    }
    json_add_text(o, "compiler", "NVRTC 12.9", &ok);
    json_add_text(o, "path", "/there", &ok);
    json_add_text(o, "cage", all->lacks ? all->lacks : "", &ok);
    return made(o, ok);
}

/* Code of a module is a text that names it. */
static void write_code(const struct asking *a, const struct known *k, int sm, char name[NVRTC_NAME_BYTES])
{
    char path[2 * PATH_MAX];
    FILE *f;

    nvrtc_cache_name(&k->p.modules[0], sm, name);
    snprintf(path, sizeof path, "%s/%s", a->child->cache, name);
    f = fopen(path, "w");
    must(f && fprintf(f, "code of %lld for sm_%d", (long long)k->n, sm) > 0 && fclose(f) == 0, "cannot write code");
}

static cJSON *compiled(const struct asking *a, const struct known *k, int sm, enum record_status status,
                       const char *why)
{
    cJSON *o = cJSON_CreateObject(), *files = cJSON_CreateArray(), *resources = cJSON_CreateArray(), *one;
    char name[NVRTC_NAME_BYTES];
    bool ok = o && files && resources;

    json_add_text(o, "status", status_name(status), &ok);
    json_add_text(o, "stage", status == STATUS_OK ? "" : "build", &ok);
    json_add_text(o, "why", why, &ok);
    json_add_text(o, "compiler", compiler_of(a), &ok);
    json_add_real(o, "build_ms", k->build_ms, &ok);
    if (status == STATUS_OK) {
        write_code(a, k, sm, name);
        cJSON_AddItemToArray(files,
                             cJSON_CreateString(a->child->all->compiler_has ? a->child->all->compiler_has : name));
        one = cJSON_CreateObject();
        json_add_text(one, "kernel", "f", &ok);
        json_add_i64(one, "registers", 40, &ok);
        cJSON_AddItemToArray(resources, one);
    }
    json_add_item(o, "files", files, &ok);
    json_add_item(o, "resources", resources, &ok);
    return made(o, ok);
}

static cJSON *compile_known(struct asking *a, const struct known *k, int sm)
{
    const int status = status_by_name(k->how);

    if (!spend(a, "build", SANDBOX_NOWHERE, is(k, "hang") ? 3600 * WORLD_S : (int64_t)(k->build_ms * 1e6)))
        return NULL;
    if (is(k, "crash") || (is(k, "crash_once") && dies_once(a->child->all, k->hex)))
        return dies(a, SANDBOX_DIED, "died of signal 11"), NULL;
    if (is(k, "eat"))
        return dies(a, SANDBOX_MEMORY, "memory: held too much"), NULL;
    if (status == STATUS_COMPILE || status == STATUS_LIMITS)
        return compiled(a, k, sm, (enum record_status)status, "line 3: no");
    return compiled(a, k, sm, STATUS_OK, "");
}

static cJSON *compile(struct asking *a)
{
    const char *hex = "";
    struct why why = {""};
    int64_t sm = 0;
    struct known k;
    cJSON *reply;
    enum err e;

    must(json_get_text(a->request, "program", &hex, NULL) == ERR_OK &&
             json_get_i64(a->request, "sm", 1, 9999, &sm, NULL) == ERR_OK,
         "compile without program or sm");
    e = know(a, hex, true, &k, &why);
    a->log->programs[0] = k.n;
    a->log->n = 1;
    reply = e ? compiled(a, &k, (int)sm, STATUS_RUNTIME, why.text) : compile_known(a, &k, (int)sm);
    program_fini(&k.p);
    return reply;
}

/* ---- requests ---- */

static const struct {
    const char *op;
    cJSON *(*answer)(struct asking *a);
} ops[] = {
    {"describe", describe}, {"verify", verify}, {"time", time_batch}, {"compiler", compiler}, {"compile", compile}};

static cJSON *answer(struct asking *a)
{
    struct sim_children *all = a->child->all;

    if (all->n_deaf > 0) {
        all->n_deaf--;
        dies(a, all->is_hungry ? SANDBOX_MEMORY : SANDBOX_DIED, "died of signal 9");
        return NULL;
    }
    if (all->refused) {
        cJSON *o = cJSON_CreateObject();
        bool ok = o != NULL;

        json_add_text(o, "refused", all->refused, &ok);
        return made(o, ok);
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].op, a->log->op) == 0)
            return ops[i].answer(a);
    must(false, "a request that no child knows");
    return NULL;
}

static struct sim_asked *log_of(struct sim_child *c, const cJSON *request, const struct sandbox_limits *limits)
{
    struct sim_asked *log;
    const char *op = "", *cache = strrchr(c->cache, '.');

    must(c->all->n_asked < SIM_MAX_ASKED, "too many requests");
    log = &c->all->asked[c->all->n_asked++];
    *log = (struct sim_asked){.child = c->number,
                              .generation = cache ? strtoll(cache + 1, NULL, 10) : SIM_NONE,
                              .from_ns = world_now_ns(c->all->world),
                              .anchor = SIM_NONE,
                              .limits = *limits};
    json_get_text(request, "op", &op, NULL);
    snprintf(log->op, sizeof log->op, "%s", op);
    return log;
}

static void ask(struct sandbox *s, cJSON *request, const struct sandbox_limits *limits, cJSON **reply,
                struct sandbox_end *end)
{
    struct sim_child *c = *place_of(s);
    struct asking a = {s, c, request, limits, end, log_of(c, request, limits)};

    if (c->all->saw)
        c->all->saw(a.log, c->all->arg);
    end->fate = SANDBOX_REPLIED;
    *reply = is_ended(c) ? (dies(&a, SANDBOX_CANCELLED, "was ended"), NULL) : answer(&a);
    must((*reply != NULL) == (end->fate == SANDBOX_REPLIED), "an answer of the dead");
    a.log->to_ns = world_now_ns(c->all->world);
    a.log->fate = end->fate;
    cJSON_Delete(request);
}

const struct sandbox_ops sandbox_simulated = {.start = start, .ask = ask, .end_child = end_child, .kill = kill_child};
