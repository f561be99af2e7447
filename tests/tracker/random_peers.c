/* SPDX-License-Identifier: MIT */
#include "tests/tracker/random_farm.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS INT64_C(1000000)
#define N_PROGRAMS 12
#define DEADLY 3 /* the program that hangs whole devices: its trials get lost */

static bool renewal_is_due(const struct peer *p)
{
    return p->farm->rig.now_ns - p->renewed_ns > FARM_LEASE_MS / 3 * MS;
}

static int64_t number_of(const char *id)
{
    return strtoll(id + 1, NULL, 10);
}

/* ---- agents: even ones of key "cpu", odd ones of key "gpu" ---- */

static const char *key_of(int i)
{
    return i % 2 ? "gpu" : "cpu";
}

static int fingerprint_of(int i)
{
    return i % 2 ? -2 : -1;
}

static struct known_trial *known(struct peer *p, int64_t trial)
{
    assert_in_range(trial, 1, FARM_MAX_TRIALS - 1);
    return &p->farm->known[trial];
}

/* What it gives up it does not believe to have any more, whether or not the message arrives. */
static void let_go(struct peer *p, int i)
{
    struct known_trial *k = known(p, p->held[i].trial);

    if (k->holder == p)
        k->holder = NULL;
    p->n_held--;
    memmove(&p->held[i], &p->held[i + 1], (size_t)(p->n_held - i) * sizeof *p->held);
}

static void let_all_go(struct peer *p)
{
    while (p->n_held)
        let_go(p, 0);
}

/* Who registers takes the leases of the other process with this name away, whether or not it knows. */
static void take_over(struct peer *p)
{
    struct random_farm *f = p->farm;

    for (int i = 0; i < f->n_peers; i++) {
        const struct peer *other = &f->peers[i];

        for (int k = 0; other != p && other->kind == p->kind && other->i == p->i && k < FARM_MAX_TRIALS; k++)
            if (f->known[k].holder == other)
                f->known[k].holder = NULL;
    }
}

static void register_agent(struct peer *p)
{
    const bool wants = p->farm->with_builders && p->i % 2;

    ask(p, "agent_register", "{'agent':'a%d','nonce':'n%d','key':'%s','fingerprint':'%s'%s}", p->i, p->nonce,
        key_of(p->i), hash_of(fingerprint_of(p->i)),
        !wants      ? ""
        : p->i == 1 ? ",'arch':'sm_1','builds':false"
                    : ",'arch':'sm_1'");
    p->registers_ns = p->farm->rig.now_ns;
    take_over(p);
}

static void tell_result(struct peer *p, struct held h)
{
    static const char *const statuses[] = {"ok", "ok", "ok", "wrong", "timeout"};

    p->told = h;
    snprintf(p->told_line, sizeof p->told_line, "line %d", (int)++p->farm->n_lines);
    ask(p, "trial_result",
        "{'trial':'t%" PRId64 "','token':%" PRId64 ",'envelope':{'key':'%s','fingerprint':'%s','status':'%s',"
        "'time_ns':%d,'flops':1000,'device_ms':%d},'record':'%s'}",
        h.trial, h.token, key_of(p->i), hash_of(fingerprint_of(p->i)), statuses[below(p->farm, 5)],
        100 + below(p->farm, 900), below(p->farm, 300), p->told_line);
}

static void renew_all(struct peer *p)
{
    struct buf list;

    buf_init(&list, 4096);
    for (int i = 0; i < p->n_held; i++)
        buf_printf(&list, "%s{'trial':'t%" PRId64 "','token':%" PRId64 "}", i ? "," : "", p->held[i].trial,
                   p->held[i].token);
    ask(p, "trial_renew", "{'agent':'a%d','trials':[%s]}", p->i, buf_text(&list));
    buf_fini(&list);
}

/* kill -9 and a new process later, which knows nothing. */
static void die(struct peer *p)
{
    if (p->asks && strcmp(p->op, "agent_register") == 0)
        p->registers_ns = p->farm->rig.now_ns;
    hang_up(p);
    let_all_go(p);
    p->nonce++;
    p->registered = false;
    p->told = (struct held){0};
    rest(p, 2 * FARM_LEASE_MS);
}

/* Names trials with tokens that it never got. */
static void lie(struct peer *p)
{
    const int trial = 1 + below(p->farm, 12), token = chance(p->farm, 500) ? 0 : 1000;

    p->lies = true;
    switch (below(p->farm, 3)) {
    case 0:
        ask(p, "trial_renew", "{'agent':'a%d','trials':[{'trial':'t%d','token':%d}]}", p->i, trial, token);
        break;
    case 1:
        ask(p, "trial_release", "{'trials':[{'trial':'t%d','token':%d}]}", trial, token);
        break;
    default:
        if (p->farm->known[trial].token) {

            tell_result(p, (struct held){.trial = trial, .token = token});
        }
    }
}

static void work(struct peer *p)
{
    struct held h = p->held[0];

    if (h.deadly) {
        die(p);
    } else if (renewal_is_due(p)) {
        p->renewed_ns = p->farm->rig.now_ns;
        renew_all(p);
    } else if (chance(p->farm, 400)) {
        rest(p, 400);
    } else if (mishap(p->farm, 100)) {
        let_go(p, 0);
        ask(p, "trial_release", "{'trials':[{'trial':'t%" PRId64 "','token':%" PRId64 "}],'counted':%s}", h.trial,
            h.token, chance(p->farm, 500) ? "true" : "false");
    } else {
        let_go(p, 0);
        tell_result(p, h);
    }
}

static void agent_act(struct peer *p)
{
    struct random_farm *f = p->farm;

    p->lies = false;
    if (mishap(f, 20)) {
        die(p);
    } else if (!p->registered) {
        register_agent(p);
    } else if (mishap(f, 25)) {
        rest(p, 3 * FARM_LEASE_MS); /* stuck in a driver */
    } else if (mishap(f, 30)) {
        lie(p);
    } else if (p->told.trial && mishap(f, 30)) {
        tell_result(p, p->told); /* once more, in other words */
    } else if (mishap(f, 8)) {
        let_all_go(p);
        p->registered = false;
        ask(p, "agent_bye", "{'agent':'a%d','session_nonce':'n%d'}", p->i, p->nonce);
    } else if (p->n_held) {
        work(p);
    } else {
        ask(p, "trial_lease", "{'agent':'a%d','session_nonce':'n%d','max':%d,'wait_ms':%d}", p->i, p->nonce,
            1 + below(f, 4), below(f, 2) ? below(f, 3000) : 0);
    }
}

static void take_grants(struct peer *p, const cJSON *result)
{
    for (int i = 0; i < count_in(result, "trials"); i++) {
        const cJSON *t = item_in(result, "trials", i);
        const struct held h = {.trial = number_of(text_in(t, "trial")),
                               .token = number_in(t, "token"),
                               .deadly = strcmp(text_in(t, "program"), hash_of(DEADLY)) == 0};

        check_grant(p, &h, number_of(text_in(t, "job")), (int)number_in(t, "attempt"));
        assert_true(p->n_held < FARM_MAX_HELD);
        p->held[p->n_held++] = h;
    }
    p->renewed_ns = p->asked_ns;
}

static void take_renewal(struct peer *p, const cJSON *result)
{
    static const char *const lists[] = {"lost", "cancelled"};

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < count_in(result, lists[k]); i++)
            for (int h = 0; h < p->n_held; h++)
                if (p->held[h].trial == number_of(item_in(result, lists[k], i)->valuestring)) {
                    let_go(p, h);
                    break;
                }
    for (int h = 0; h < p->n_held; h++)
        known(p, p->held[h].trial)->until_ns = p->asked_ns + FARM_LEASE_MS * MS;
}

static void agent_hear(struct peer *p, enum err e, const cJSON *result)
{
    if (e == ERR_NOT_FOUND && strcmp(p->op, "trial_result") != 0) {
        p->registered = false; /* the tracker was killed, or forgot it */
        return;
    }
    if (e == ERR_STALE && strcmp(p->op, "trial_result") == 0)
        return;                                                 /* another has the trial, or it was a lie */
    if (e == ERR_EXISTS && strcmp(p->op, "trial_lease") == 0) { /* the other process has its name */
        let_all_go(p);
        p->registered = false;
        rest(p, 3 * FARM_LEASE_MS);
        return;
    }
    if (e)
        fail_msg("a%d: %s: %s", p->i, p->op, err_name(e));
    if (strcmp(p->op, "agent_register") == 0) {
        p->registered = true;
        p->registers_ns = p->farm->rig.now_ns;
    } else if (strcmp(p->op, "trial_lease") == 0)
        take_grants(p, result);
    else if (strcmp(p->op, "trial_renew") == 0 && !p->lies)
        take_renewal(p, result);
    else if (strcmp(p->op, "trial_result") == 0 && number_in(result, "accepted"))
        check_accepted(p);
}

const struct peer_kind agent_kind = {"agent", agent_act, agent_hear};

/* ---- an operator: pauses jobs and takes agents away; once all is calm, all of it is taken back ---- */

static void say_mode(struct peer *p, int agent, const char *mode)
{
    p->farm->drained_ns[agent] = 0;
    ask(p, "agent_mode", "{'agent':'a%d','mode':'%s','user':'nobody'}", agent, mode);
}

static void say_pause(struct peer *p, int job, bool paused)
{
    p->farm->paused_ns[job] = 0;
    ask(p, "job_pause", "{'job':'j%d','paused':%s}", job, paused ? "true" : "false");
}

static void operator_act(struct peer *p)
{
    static const char *const modes[] = {"serve", "drain", "reserve"};
    struct random_farm *f = p->farm;
    const int n = p->n_said;

    if (f->calm) {
        p->n_said = n % (FARM_MAX_JOBS + 3) + 1;
        if (n > 0 && n < FARM_MAX_JOBS)
            say_pause(p, n, false);
        else
            say_mode(p, n ? n - FARM_MAX_JOBS : 0, "serve");
    } else if (chance(f, 100)) {
        say_pause(p, 1 + below(f, 4), chance(f, 400));
    } else if (chance(f, 100)) {
        say_mode(p, below(f, 4), modes[below(f, 3)]);
    } else {
        rest(p, 200);
    }
}

static void operator_hear(struct peer *p, enum err e, const cJSON *result)
{
    const cJSON *mode = cJSON_GetObjectItem(p->args, "mode");

    (void)result;
    if (e == ERR_NOT_FOUND || e == ERR_CANCELLED)
        return; /* a job that is not there, or has ended */
    if (e)
        fail_msg("operator: %s: %s", p->op, err_name(e));
    if (mode && strcmp(mode->valuestring, "drain") == 0)
        p->farm->drained_ns[number_of(text_in(p->args, "agent"))] = p->farm->rig.now_ns;
    if (!mode && number_in(p->args, "paused"))
        p->farm->paused_ns[number_of(text_in(p->args, "job"))] = p->farm->rig.now_ns;
}

const struct peer_kind operator_kind = {"operator", operator_act, operator_hear};

/* ---- builders ---- */

/* The number of a program by its hash. */
static int program_of(const char *hex)
{
    for (int n = 0; n < N_PROGRAMS; n++)
        if (strcmp(hash_of(n), hex) == 0)
            return n;
    fail_msg("nobody added a program %.12s", hex);
    return -1;
}

static void builder_act(struct peer *p)
{
    struct random_farm *f = p->farm;

    if (mishap(f, 20)) {
        hang_up(p);
        p->nonce++;
        p->registered = false;
        p->n_held = 0;
        rest(p, 2 * FARM_LEASE_MS);
    } else if (!p->registered) {
        ask(p, "builder_register", "{'agent':'b%d','nonce':'n%d','arches':['sm_1']}", p->i, p->nonce);
    } else if (mishap(f, 20)) {
        rest(p, 3 * FARM_LEASE_MS);
    } else if (!p->n_held) {
        ask(p, "build_lease", "{'agent':'b%d','max':%d,'wait_ms':%d}", p->i, 1 + below(f, 3), below(f, 2000));
    } else if (renewal_is_due(p)) {
        p->renewed_ns = f->rig.now_ns;
        ask(p, "build_renew", "{'agent':'b%d','builds':[{'program':'%s','arch':'sm_1'}]}", p->i,
            hash_of(p->programs[p->n_held - 1]));
    } else if (mishap(f, 50)) {
        ask(p, "build_release", "{'agent':'b%d','builds':[{'program':'%s','arch':'sm_1'}]}", p->i,
            hash_of(p->programs[--p->n_held]));
    } else {
        ask(p, "build_result", "{'program':'%s','arch':'sm_1','status':'%s','blobs':[],'body':{}}",
            hash_of(p->programs[--p->n_held]), mishap(f, 300) ? "compile" : "ok");
    }
}

static void builder_hear(struct peer *p, enum err e, const cJSON *result)
{
    if (e == ERR_NOT_FOUND) {
        p->registered = p->registered && strcmp(p->op, "build_result") == 0; /* nobody asked for it since a start */
        return;
    }
    if (e)
        fail_msg("b%d: %s: %s", p->i, p->op, err_name(e));
    if (strcmp(p->op, "builder_register") == 0)
        p->registered = true;
    if (strcmp(p->op, "build_lease") != 0)
        return;
    for (int i = 0; i < count_in(result, "builds"); i++) {
        const int attempt = (int)number_in(item_in(result, "builds", i), "attempt");

        assert_in_range(attempt, 1, MAX_ATTEMPTS);
        p->programs[p->n_held++] = program_of(text_in(item_in(result, "builds", i), "program"));
    }
    p->renewed_ns = p->asked_ns;
}

const struct peer_kind builder_kind = {"builder", builder_act, builder_hear};

/* ---- tuners ---- */

static void begin_job(struct peer *p, int64_t job, int64_t token)
{
    p->job = job;
    p->token = token;
    p->after = 0;
    p->n_added = 0;
    p->renewed_ns = p->asked_ns;
    memset(p->ended, 0, sizeof p->ended);
}

/* Program and device of trial n are always the same: who adds it again says the same. */
static void add_trials(struct peer *p, int first, int n)
{
    struct buf list;

    buf_init(&list, 8192);
    for (int i = first; i < first + n && i < FARM_JOB_TRIALS; i++) {
        const int x = (int)p->job * 7 + i * 3;

        buf_printf(&list, "%s{'n':%d,'key':'%s','fingerprint':'%s','program':'%s','anchor':'%s','body':{}}",
                   i > first ? "," : "", i, key_of(x), x % 5 ? hash_of(fingerprint_of(x)) : "", hash_of(x % N_PROGRAMS),
                   x % 4 ? "" : hash_of((x + 5) % N_PROGRAMS));
    }
    ask(p, "trial_add", "{'job':'j%" PRId64 "','token':%" PRId64 ",'trials':[%s]}", p->job, p->token, buf_text(&list));
    buf_fini(&list);
}

static bool all_ended(const struct peer *p)
{
    for (int i = 0; i < FARM_JOB_TRIALS; i++)
        if (!p->ended[i])
            return false;
    return true;
}

static void say(struct peer *p, const char *op, const char *more)
{
    ask(p, op, "{'job':'j%" PRId64 "','token':%" PRId64 "%s}", p->job, p->token, more);
}

static void misbehave(struct peer *p)
{
    switch (below(p->farm, 5)) {
    case 0: /* kill -9 */
        hang_up(p);
        p->job = 0;
        rest(p, 2 * FARM_LEASE_MS);
        break;
    case 1:
        rest(p, 3 * FARM_LEASE_MS);
        break;
    case 2:
        say(p, "job_release", "");
        break;
    case 3:
        p->farm->requeued[p->job] = true;
        say(p, "requeue", "");
        break;
    default:
        if (chance(p->farm, 300))
            say(p, "job_cancel", "");
        else
            add_trials(p, below(p->farm, FARM_JOB_TRIALS), 2);
    }
}

static void tuner_act(struct peer *p)
{
    struct random_farm *f = p->farm;

    if (!p->job && (p->n_submitted == 0 || (p->n_submitted < 2 && chance(f, 300)))) {
        ask(p, "job_submit", "{'body':'b','key':'cpu','lease':true,'priority':%d}", below(f, 7) - 3);
    } else if (!p->job) {
        ask(p, "job_lease", "{'wait_ms':%d}", below(f, 1500));
    } else if (mishap(f, 40)) {
        misbehave(p);
    } else if (renewal_is_due(p)) {
        p->renewed_ns = f->rig.now_ns;
        say(p, "job_renew", ",'progress':{'x':1}");
    } else if (p->n_added < FARM_JOB_TRIALS) {
        add_trials(p, p->n_added, 1 + below(f, 3));
    } else if (all_ended(p)) {
        say(p, "job_done", ",'summary':{}");
    } else {
        ask(p, "record_wait", "{'job':'j%" PRId64 "','after':%" PRId64 ",'max':%d,'wait_ms':%d}", p->job, p->after,
            1 + below(f, 5), below(f, 600));
    }
}

static void take_added(struct peer *p, const cJSON *result)
{
    for (int i = 0; i < count_in(result, "trials"); i++) {
        const cJSON *t = item_in(result, "trials", i), *line = cJSON_GetObjectItem(t, "record");
        const int n = (int)number_in(t, "n");

        p->ended[n] |= strcmp(text_in(t, "state"), "done") == 0 || strcmp(text_in(t, "state"), "lost") == 0;
        assert_int_equal(cJSON_IsString(line), p->ended[n]);
        if (n == p->n_added)
            p->n_added = n + 1;
        if (p->ended[n])
            check_line(p->farm, number_of(text_in(t, "trial")), line->valuestring);
    }
}

static void take_records(struct peer *p, const cJSON *result)
{
    for (int i = 0; i < count_in(result, "records"); i++) {
        const cJSON *one = item_in(result, "records", i);

        assert_true(number_in(one, "seq") > p->after);
        if (!p->farm->requeued[p->job])
            assert_int_equal(number_in(one, "seq"), p->after + 1);
        p->after = number_in(one, "seq");
        p->ended[number_in(one, "n")] = true;
        check_line(p->farm, number_of(text_in(one, "trial")), text_in(one, "record"));
    }
    assert_int_equal(number_in(result, "next"), p->after);
    if (strcmp(text_in(result, "state"), "cancelled") == 0)
        p->job = 0;
}

static void tuner_hear(struct peer *p, enum err e, const cJSON *result)
{
    const cJSON *job = cJSON_GetObjectItem(result, "job");

    if (e == ERR_STALE || e == ERR_CANCELLED) {
        p->job = 0; /* another has it, or nobody needs it */
        return;
    }
    if (e)
        fail_msg("tuner %d: %s: %s", p->i, p->op, err_name(e));
    p->n_submitted += strcmp(p->op, "job_submit") == 0;
    if (cJSON_IsString(job))
        begin_job(p, number_of(job->valuestring), number_in(result, "token"));
    else if (strcmp(p->op, "trial_add") == 0)
        take_added(p, result);
    else if (strcmp(p->op, "record_wait") == 0)
        take_records(p, result);
    else if (strcmp(p->op, "requeue") == 0 && number_in(result, "requeued"))
        begin_job(p, p->job, p->token); /* looks again what there is */
    else if (strcmp(p->op, "job_done") == 0 || strcmp(p->op, "job_release") == 0 || strcmp(p->op, "job_cancel") == 0 ||
             (strcmp(p->op, "job_renew") == 0 && number_in(result, "cancel")))
        p->job = 0;
}

const struct peer_kind tuner_kind = {"tuner", tuner_act, tuner_hear};
