/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_agent.h"

#include "agent/prove.h"
#include "core/hash.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOWEST_NS 1e6
#define POLL_MS 5000
#define BACK_NS (3 * WORLD_S)
#define IDLE_NS (200 * WORLD_MS)
#define SLOW_NS (100 * WORLD_S)
#define CENSORED 1.0986122886681098 /* ln 3 */

/* ---- the model ---- */

/* Of a config, not of its kernel's text, which may change while all else here stays as it is. */
static uint64_t seed_of(uint64_t landscape, const char *workload, const char *template_id, const cJSON *knobs)
{
    char *printed = knobs ? cJSON_PrintUnformatted(knobs) : NULL, head[16];
    struct sha256 name;
    struct buf text;

    buf_init(&text, PROGRAM_MAX_BYTES);
    buf_printf(&text, "%llu;%s;%s;%s", (unsigned long long)landscape, workload, template_id, printed ? printed : "");
    name = sha256_of(buf_text(&text), text.len);
    snprintf(head, sizeof head, "%.15s", name.hex);
    buf_fini(&text);
    cJSON_free(printed);
    return strtoull(head, NULL, 16);
}

/* Value number i of a config, uniform in [0, 1). */
static double unit_of(uint64_t seed, uint64_t i)
{
    return (double)(rng_at(seed, i) >> 11) * 0x1p-53;
}

static double config_time(const struct sim_model *m, const char *workload, const char *template_id, const cJSON *knobs)
{
    static const enum record_status ways[] = {STATUS_COMPILE, STATUS_LIMITS,  STATUS_RUNTIME,
                                              STATUS_WRONG,   STATUS_TIMEOUT, STATUS_CRASH};
    const uint64_t seed = seed_of(m->landscape, workload, template_id, knobs);

    if (unit_of(seed, 1) * 1000 < m->fail)
        return -(double)ways[(size_t)(unit_of(seed, 2) * (sizeof ways / sizeof *ways))];
    return SLOWEST_NS * exp(-m->spread * unit_of(seed, 3));
}

double sim_model_time(const struct sim_model *m, const struct program *p)
{
    const double own = m->time_ns ? m->time_ns(p, m->arg) : 0;

    return own != 0 ? own : config_time(m, p->workload, p->template_id, p->knobs);
}

double sim_model_record_time(const struct sim_model *m, const struct record *r)
{
    return config_time(m, r->workload, r->template_id, r->knobs);
}

bool sim_model_hides(const struct sim_model *m, const struct record *r)
{
    return unit_of(seed_of(m->landscape, r->workload, r->template_id, r->knobs), 4) * 1000 < m->hidden;
}

/* How much slower all is now: up and down within 20 s. */
static double pace(const struct sim_agent *a)
{
    const double phase = (double)(world_now_ns(net_world(a->net)) / WORLD_MS % 20000) / 20000;

    return exp(a->model->drift * fabs(2 * phase - 1));
}

static bool happens(const struct sim_agent *a, int of_thousand)
{
    return of_thousand > 0 && rng_below(world_rng(net_world(a->net)), 1000) < (uint64_t)of_thousand;
}

static double noise(const struct sim_agent *a)
{
    return a->model->noise * (2 * rng_unit(world_rng(net_world(a->net))) - 1);
}

/* ---- calls ---- */

static enum err call(struct sim_agent *a, const char *op, cJSON *args, int64_t wait_ms, cJSON **result)
{
    const enum err e = client_call(a->client, op, args, NULL, wait_ms, result, NULL, NULL);

    if (e == ERR_NOT_FOUND)
        a->registered = false;
    return e;
}

static enum err enroll(struct sim_agent *a)
{
    cJSON *args = cJSON_CreateObject();
    char nonce[33];
    bool ok = true;

    entropy_hex(world_entropy(net_world(a->net)), nonce, 32);
    json_add_text(args, "agent", a->name, &ok);
    json_add_text(args, "nonce", nonce, &ok);
    json_add_text(args, "key", a->key, &ok);
    json_add_text(args, "fingerprint", a->fingerprint.hex, &ok);
    if (a->arch) {
        json_add_text(args, "arch", a->arch, &ok);
        json_add_bool(args, "builds", false, &ok);
    }
    if (a->capacity) {
        json_add_text(args, "arch", "sm_75", &ok);
        json_add_i64(args, "capacity", a->capacity, &ok);
    }
    json_add_item(args, "device", device_desc_to_json(&a->device), &ok);
    assert(ok);
    a->registered = true;
    return call(a, "agent_register", args, 0, NULL);
}

static cJSON *envelope_of(const struct record *r, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    json_add_text(o, "key", r->key, ok);
    json_add_text(o, "fingerprint", r->fingerprint.hex, ok);
    json_add_text(o, "program", r->program.hex, ok);
    json_add_text(o, "status", status_name(r->status), ok);
    json_add_real(o, "time_ns", r->time_ns, ok);
    json_add_real(o, "flops", r->flops, ok);
    json_add_real(o, "device_ms", r->device_ms, ok);
    return o;
}

static void send_line(struct sim_agent *a, const struct trial *t, const char *line)
{
    cJSON *args = cJSON_CreateObject();
    bool ok = true;

    json_add_text(args, "trial", t->id, &ok);
    json_add_i64(args, "token", t->token, &ok);
    json_add_item(args, "envelope", envelope_of(&t->record, &ok), &ok);
    json_add_text(args, "record", line, &ok);
    assert(ok);
    call(a, "trial_result", args, 0, NULL);
}

static void send_record(struct sim_agent *a, struct trial *t)
{
    struct buf line;

    buf_init(&line, RECORD_MAX_BYTES + 1);
    if (happens(a, a->faults.foreign)) {
        free(t->record.workload);
        t->record.workload = strdup(SIM_FOREIGN);
    }
    if (a->sends)
        a->sends(a, &t->record);
    if (record_print(&t->record, &line))
        abort();
    if (happens(a, a->faults.damaged))
        line.data[line.len / 2] ^= 1;
    send_line(a, t, buf_text(&line));
    if (happens(a, a->faults.twice))
        send_line(a, t, buf_text(&line));
    buf_fini(&line);
}

/* ---- trials ---- */

static enum err fetch(struct sim_agent *a, const char *hex, struct buf *out)
{
    struct blobs blobs;
    const struct blob *b;
    enum err e;

    blobs_init(&blobs, (size_t)1 << 24);
    e = client_get_blob(a->client, hex, &blobs, NULL);
    if (!e && (b = blobs_get(&blobs, hex)) != NULL)
        e = buf_append(out, b->data, b->n_bytes);
    blobs_fini(&blobs);
    return e;
}

/* The time of the trial's anchor by the model; NAN without one. */
static double anchor_ns(struct sim_agent *a, const struct trial *t)
{
    struct program p;
    struct buf text;
    double ns = NAN;

    if (!t->anchor_name.hex[0])
        return NAN;
    buf_init(&text, PROGRAM_MAX_BYTES);
    program_init(&p);
    if (fetch(a, t->anchor_name.hex, &text) == ERR_OK && !program_from_json(buf_text(&text), text.len, &p, NULL))
        ns = sim_model_time(a->model, &p);
    program_fini(&p);
    buf_fini(&text);
    return ns;
}

static void add_samples(cJSON *item, const char *name, double ns, int rounds, bool *ok)
{
    cJSON *list = cJSON_CreateArray();

    for (int i = 0; i < rounds; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(ns));
    json_add_item(item, name, list, ok);
}

/* Does a child put it through all passes, in a batch of its own? */
static bool is_proved(const struct trial *t, double ns, double lnratio)
{
    const struct measure_item m = {.rules = t->rules, .value = {.time_ns = ns, .lnratio = lnratio}};
    const struct proof p = {.how = prove_of(t->prove)};

    return prove_wanted(&m, &p, false) && !t->proven;
}

/* What a child would answer to `time`. */
static void tell_time(struct sim_agent *a, struct trial *t, double ns)
{
    cJSON *item = cJSON_CreateObject(), *batch = cJSON_CreateObject();
    const double anchor = anchor_ns(a, t), now = pace(a), off = noise(a);
    const double lnratio = log(ns) + off - log(anchor);
    const bool censored =
        t->rules.may_censor && !isnan(anchor) && lnratio + t->rules.bridge > t->rules.best_lnratio + CENSORED;
    const int rounds = censored ? 1 : t->rules.rounds;
    const bool proved = !a->model->hidden || (!censored && is_proved(t, ns * now * exp(off), lnratio));
    const bool wrong = proved && sim_model_hides(a->model, &t->record);
    bool ok = true;

    json_add_text(item, "status", wrong ? "wrong" : "ok", &ok);
    json_add_bool(item, "in_part", !proved && !t->proven, &ok);
    json_add_real(item, "time_ns", ns * now * exp(off), &ok);
    json_add_real(item, "se", a->model->noise / 2, &ok);
    json_add_i64(item, "rounds", rounds, &ok);
    json_add_i64(item, "calls", 3 * rounds, &ok);
    json_add_bool(item, "censored", censored, &ok);
    json_add_real(item, "device_ms", 10, &ok);
    add_samples(item, "samples", ns * now * exp(off), rounds, &ok);
    if (t->wants_energy)
        json_add_real(item, "energy_j", ns * 1e-9, &ok); /* one watt, always */
    if (!isnan(anchor)) {
        json_add_real(item, "lnratio", lnratio, &ok);
        add_samples(item, "anchors", anchor * now, rounds, &ok);
    }
    assert(ok);
    trial_take_time(t, item, batch);
    cJSON_Delete(item);
    cJSON_Delete(batch);
}

static void run_trial(struct sim_agent *a, struct trial *t)
{
    struct buf text;
    double ns;

    buf_init(&text, PROGRAM_MAX_BYTES);
    world_sleep(net_world(a->net), happens(a, a->faults.slow) ? SLOW_NS : a->trial_ns ? a->trial_ns : 50 * WORLD_MS);
    if (fetch(a, t->program_name.hex, &text)) {
        trial_fail(t, STATUS_RUNTIME, "prepare", "the program does not come");
    } else {
        trial_take_program(t, buf_text(&text), text.len);
        ns = sim_model_time(a->model, &t->program);
        if (ns < 0)
            trial_fail(t, (enum record_status) - ns, "build", "as modelled");
        else if (t->wants_energy && a->no_energy) {
            strcpy(t->record.cause, RECORD_NO_ENERGY);
            trial_fail(t, STATUS_RUNTIME, "time", "there is no such sensor");
        } else
            tell_time(a, t, ns);
    }
    a->n_run++;
    buf_fini(&text);
}

static void die(struct sim_agent *a)
{
    a->n_died++;
    a->registered = false;
    world_sleep(net_world(a->net), BACK_NS);
}

static void serve(struct sim_agent *a, const cJSON *lease)
{
    const struct trial_agent self = {
        .name = a->name, .key = a->key, .fingerprint = a->fingerprint, .clock = world_clock(net_world(a->net))};
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(lease, "trials"))
    {
        struct trial *t = NULL;

        if (a->peer.dead || a->away)
            return;
        if (happens(a, a->faults.die)) {
            die(a);
            return;
        }
        if (trial_new(item, &self, &t, NULL))
            abort();
        if (a->saw)
            a->saw(a, item, t);
        run_trial(a, t);
        if (!a->away)
            send_record(a, t);
        trial_free(t);
    }
}

static void look_for_work(struct sim_agent *a)
{
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    bool ok = true;

    json_add_text(args, "agent", a->name, &ok);
    json_add_i64(args, "max", a->most ? a->most : 16, &ok);
    json_add_i64(args, "wait_ms", POLL_MS, &ok);
    if (call(a, "trial_lease", args, POLL_MS, &result) == ERR_OK)
        serve(a, result);
    else
        world_sleep(net_world(a->net), IDLE_NS);
    cJSON_Delete(result);
}

static void act(void *arg)
{
    struct sim_agent *a = arg;

    while (!a->stopping && !a->peer.dead && net_client(&a->peer, a->name, &a->client, NULL))
        world_sleep(net_world(a->net), IDLE_NS);
    if (a->client)
        (void)client_settle_key(a->client, a->key, NULL);
    while (!a->stopping && !a->peer.dead) {
        if (a->away)
            world_sleep(net_world(a->net), IDLE_NS);
        else if (!a->registered && enroll(a))
            world_sleep(net_world(a->net), IDLE_NS);
        else
            look_for_work(a);
    }
    client_close(a->client);
}

void sim_agent_start(struct sim_agent *a)
{
    a->peer = (struct peer){.net = a->net};
    a->fingerprint = device_desc_fingerprint(&a->device);
    world_add(net_world(a->net), a->name, act, a);
}

struct device_desc sim_cpu(void)
{
    struct device_desc d = {.kind = DEVICE_CPU,
                            .units = 1,
                            .threads = 1,
                            .max_work_group = 4096,
                            .local_bytes = 65536,
                            .global_bytes = (int64_t)1 << 30,
                            .max_alloc_bytes = (int64_t)1 << 28,
                            .vector_bits = 512,
                            .max_local = {4096, 4096, 4096}};

    snprintf(d.api, sizeof d.api, "opencl");
    snprintf(d.name, sizeof d.name, "world cpu");
    return d;
}
