/* SPDX-License-Identifier: MIT */
/* An agent in the service of a tracker: registering, renewing, restarts, leaving; what it fetches and sends. */
#include "core/file.h"
#include "tests/runtime/sysfs.h"
#include "town.h"
#include "tracker/protocol.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct town t;
static struct sim_job *job;

static struct crew_agent *begin(int n_trials)
{
    struct crew_agent *a;

    town_open(&t, 1);
    a = town_agent(&t, "a0");
    job = town_job(&t);
    for (int i = 0; i < n_trials; i++)
        sim_job_add(job, "", -1);
    return a;
}

static void expect_all_ok(void)
{
    for (int i = 0; i < job->n; i++)
        if (job->trials[i].n_records != 1 || job->trials[i].record.status != STATUS_OK)
            fail_msg("trial %d: %d records, %s: %s", i, job->trials[i].n_records,
                     status_name(job->trials[i].record.status),
                     job->trials[i].record.why ? job->trials[i].record.why : "");
}

/* By nobody twice. */
static void expect_each_verified_once(void)
{
    for (int i = 0; i < job->n; i++) {
        int n = 0;

        for (int k = 0; k < t.n_agents; k++)
            n += sim_n_asked_of(&t.agents[k].crew.children, "verify", i);
        assert_int_equal(n, 1);
    }
}

static int n_by(const char *agent)
{
    int n = 0;

    for (int i = 0; i < job->n; i++)
        n += strcmp(job->trials[i].record.agent, agent) == 0;
    return n;
}

/* ---- registering ---- */

static void mend_the_net(struct town *town)
{
    town->agents[0].crew.peer.cut = false;
}

static void a_tracker_out_of_reach_is_waited_for(void **state)
{
    struct crew_agent *a = begin(3);

    (void)state;
    a->crew.peer.cut = true;
    town_at(&t, 60000, mend_the_net);
    town_run(&t, 600);
    expect_all_ok();
    assert_int_equal(crew_told(&a->crew, "waiting for it"), 1);
    town_close(&t);
}

static void stop_first(struct town *town)
{
    crew_stop(&town->agents[0].crew);
}

static void who_waits_for_a_tracker_can_be_stopped(void **state)
{
    struct crew_agent *a = begin(0);

    (void)state;
    a->crew.peer.cut = true;
    t.stay_ns = 120 * WORLD_S;
    town_at(&t, 30000, stop_first);
    town_run(&t, 600);
    assert_int_equal(a->crew.e, ERR_CANCELLED);
    assert_true(a->crew.ended_ns < 60 * WORLD_S);
    town_close(&t);
}

/* Its key is not the tracker's (which has none): waiting mends nothing. */
static void a_key_that_is_refused_ends_it_at_once(void **state)
{
    struct crew_agent *a = begin(0);
    char path[300];
    struct why why = {""};

    (void)state;
    snprintf(path, sizeof path, "%s/key", net_dir(t.net));
    assert_int_equal(key_make(path, &why), ERR_OK);
    a->options.key_file = path;
    t.stay_ns = 60 * WORLD_S;
    town_run(&t, 600);
    assert_int_equal(a->crew.e, ERR_AUTH);
    assert_true(a->crew.ended_ns < 5 * WORLD_S);
    town_close(&t);
}

static void another_fingerprint_under_the_key_is_refused(void **state)
{
    struct crew_agent *a = begin(0), *b = town_agent(&t, "a1"), *c = town_agent(&t, "a2");

    (void)state;
    strcpy(b->crew.children.desc.driver, "2.0");
    c->crew.children.desc = b->crew.children.desc;
    c->options.mix = true;
    b->crew.start_ns = c->crew.start_ns = 5 * WORLD_S;
    t.stay_ns = 20 * WORLD_S;
    town_run(&t, 600);
    assert_int_equal(b->crew.e, ERR_EXISTS);
    assert_non_null(strstr(b->crew.why.text, "conflict"));
    assert_int_equal(a->crew.e, ERR_OK);
    assert_int_equal(c->crew.e, ERR_OK);
    town_close(&t);
}

static void a_registration_says_what_the_device_is(void **state)
{
    struct crew_agent *a = begin(1), *b = town_agent(&t, "a1");
    const char *r;

    (void)state;
    b->crew.children.desc.sm = 75;
    b->rig_options.builders = 6;
    b->options.mix = true;
    town_run(&t, 600);
    r = crew_sent(&a->crew, "agent_register", 0);
    assert_non_null(strstr(r, "\"agent\":\"a0\""));
    assert_non_null(strstr(r, "\"key\":\"sim\""));
    assert_non_null(strstr(r, "\"name\":\"card of a world\""));
    assert_non_null(strstr(r, a->rig.fingerprint.hex));
    assert_non_null(strstr(r, "\"mix\":false"));
    assert_null(strstr(r, "\"arch\""));
    assert_null(strstr(r, "\"capacity\""));
    r = crew_sent(&b->crew, "agent_register", 0);
    assert_non_null(strstr(r, "\"arch\":\"sm_75\",\"builds\":true,\"capacity\":22")); /* 6 compilers, two batches */
    assert_non_null(strstr(r, "\"mix\":true"));
    town_close(&t);
}

/* ---- renewing ---- */

/* Eight of 9 s each, one after another: over a minute with a lease of 6 s. */
static void all_that_is_held_is_renewed(void **state)
{
    struct crew_agent *a = begin(0);
    int n_all = 0;

    (void)state;
    net_set_lease_ms(t.net, 6000);
    for (int i = 0; i < 8; i++)
        sim_job_add(job, "\"build_ms\":9000", -1)->purpose = "final";
    town_run(&t, 600);
    expect_all_ok();
    expect_each_verified_once();
    for (int i = 0; i < crew_n_sent(&a->crew, "trial_renew"); i++) {
        int n = 0;

        for (const char *at = crew_sent(&a->crew, "trial_renew", i); (at = strstr(at, "\"token\"")); at++)
            n++;
        n_all += n == 8;
    }
    assert_true(n_all > 72 / 2 - 6); /* each 2 s, while all wait for the last */
    town_close(&t);
}

static int64_t beat_ns;

static void beat_once(struct crew *c)
{
    const int64_t from_ns = world_now_ns(c->world);

    farm_beat_step(((struct crew_agent *)c)->farm, 0);
    beat_ns = world_now_ns(c->world) - from_ns;
}

static void leases_are_renewed_each_third_and_each_10_s_at_least(void **state)
{
    static const int lease_ms[] = {6000, 90000}, each_ms[] = {2000, 10000};

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(1)->crew.by_hand = beat_once;
        net_set_lease_ms(t.net, lease_ms[i]);
        town_run(&t, 600);
        assert_in_range(beat_ns / WORLD_MS, each_ms[i], each_ms[i] + 100);
        town_close(&t);
    }
}

static void an_agent_tells_how_it_is(void **state)
{
    struct crew_agent *a = begin(0);
    bool busy = false, idle = false;

    (void)state;
    net_set_lease_ms(t.net, 3000);
    sim_job_add(job, "\"build_ms\":2500", -1);
    sim_job_add(job, "\"build_ms\":2500,\"do\":\"compile\"", -1);
    t.stay_ns = 5 * WORLD_S;
    town_run(&t, 600);
    for (int i = 0; i < crew_n_sent(&a->crew, "agent_beat"); i++) {
        const char *beat = crew_sent(&a->crew, "agent_beat", i);

        busy |= strstr(beat, "\"state\":\"busy\",\"current\":2") != NULL;
        idle |= strstr(beat, "\"state\":\"idle\",\"current\":0") && strstr(beat, "\"done\":2,\"failed\":1");
    }
    assert_true(busy && idle);
    town_close(&t);
}

/* Ten thousand of them are one tracker's. */
static void an_idle_agent_says_little(void **state)
{
    struct crew_agent *a = begin(0);

    (void)state;
    t.stay_ns = 290 * WORLD_S;
    town_run(&t, 600);
    assert_int_equal(crew_n_sent(&a->crew, "agent_beat"), 1);
    assert_in_range(crew_n_sent(&a->crew, "trial_lease"), 6, 7);
    for (int i = 0; i < 6; i++)
        assert_non_null(strstr(crew_sent(&a->crew, "trial_lease", i), "\"load\":"));
    town_close(&t);
}

/* ---- restarts and losses ---- */

static void crash(struct town *town)
{
    net_crash(town->net);
}

static void a_restarted_tracker_is_registered_with_again(void **state)
{
    struct crew_agent *a = begin(0);

    (void)state;
    for (int i = 0; i < 12; i++)
        sim_job_add(job, "\"build_ms\":1000", -1);
    town_at(&t, 4000, crash);
    town_run(&t, 600);
    expect_all_ok();
    expect_each_verified_once();
    assert_int_equal(net_crashes(t.net), 1);
    assert_int_equal(crew_told(&a->crew, "restarted: registering again"), 1);
    assert_in_range(crew_n_sent(&a->crew, "agent_register"), 2,
                    3); /* a leasing thread and a renewing one may both see it */
    town_close(&t);
}

static int n_leased_after;

/* The lease thread asks for nothing meanwhile: the renewal finds nobody who knows this agent. */
static void crash_under_a_full_agent(struct crew *c)
{
    struct farm *f = ((struct crew_agent *)c)->farm;

    farm_lease_step(f, 0);
    net_crash(t.net);
    world_sleep(t.world, 3 * WORLD_S);
    farm_beat_step(f, 0);
    farm_beat_step(f, 0);
    n_leased_after = host_n_leased(t.net, "a0");
}

static void a_renewal_that_nobody_knows_registers_again(void **state)
{
    struct crew_agent *a = begin(5);

    (void)state;
    a->crew.by_hand = crash_under_a_full_agent;
    town_run(&t, 600);
    assert_int_equal(n_leased_after, 5);
    expect_all_ok();
    expect_each_verified_once();
    town_close(&t);
}

static void cut_the_net(struct town *town)
{
    town->agents[0].crew.peer.cut = true;
}

/* Its leases run out meanwhile; what it then leases anew is not dropped with the old copy of it. */
static void an_agent_that_was_cut_off_goes_on(void **state)
{
    struct host_kept kept;

    (void)state;
    begin(0);
    net_set_lease_ms(t.net, 6000);
    for (int i = 0; i < 6; i++)
        sim_job_add(job, "\"build_ms\":4000", -1);
    town_at(&t, 3000, cut_the_net);
    town_at(&t, 20000, mend_the_net);
    town_run(&t, 600);
    expect_all_ok();
    host_kept(t.net, job->id, &kept);
    assert_int_equal(kept.n_lost, 0);
    for (int i = 0; i < 6; i++)
        assert_in_range(sim_n_asked_of(&t.agents[0].crew.children, "verify", i), 1, 2);
    town_close(&t);
}

/* Cut off while a batch is timed, and its next lease brings the same trials again: they are in work already. */
static void what_is_leased_twice_is_done_once(void **state)
{
    struct crew_agent *a = begin(4);

    (void)state;
    net_set_lease_ms(t.net, 6000);
    a->crew.children.round_ns = 375 * WORLD_MS;
    a->crew.by_hand = NULL;
    town_at(&t, 4000, cut_the_net);
    town_at(&t, 13000, mend_the_net);
    town_run(&t, 600);
    expect_all_ok();
    expect_each_verified_once();
    for (int i = 0; i < 4; i++)
        assert_int_equal(sim_n_asked_of(&a->crew.children, "time", i), 1);
    assert_int_equal(a->crew.done, 4);
    town_close(&t);
}

/* ---- leaving ---- */

/* Once in half a minute, whatever waits for it. */
static void a_tracker_out_of_reach_is_told_of(void **state)
{
    struct crew_agent *a = begin(0);

    (void)state;
    for (int i = 0; i < 12; i++)
        sim_job_add(job, "\"build_ms\":2000", -1);
    town_at(&t, 2000, cut_the_net);
    town_at(&t, 75000, mend_the_net);
    town_run(&t, 600);
    expect_all_ok();
    assert_int_equal(crew_told(&a->crew, "the tracker net is out of reach (30 s)"), 1);
    assert_int_equal(crew_told(&a->crew, "the tracker net is out of reach (60 s)"), 1);
    assert_int_equal(crew_told(&a->crew, "is out of reach ("), 2);
    town_close(&t);
}

static void a_beat_tells_the_temperature(void **state)
{
    struct crew_agent *a = begin(1);
    char root[PATH_MAX];

    (void)state;
    snprintf(root, sizeof root, "%s/sysfs", net_dir(t.net));
    sysfs_rk3399(root);
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "65000");
    setenv("TUNE_SYSFS", root, 1);
    town_run(&t, 600);
    unsetenv("TUNE_SYSFS");
    assert_non_null(strstr(crew_sent(&a->crew, "agent_beat", 0), "\"temperature\":65,\"load\":"));
    town_close(&t);
}

static void a_second_process_of_the_name_makes_the_first_leave(void **state)
{
    struct crew_agent *a = begin(0), *b = town_agent(&t, "a0");

    (void)state;
    for (int i = 0; i < 20; i++)
        sim_job_add(job, "\"build_ms\":500", -1);
    b->crew.start_ns = 3 * WORLD_S;
    town_run(&t, 600);
    assert_int_equal(a->crew.n_quits, 1);
    assert_true(a->crew.left_well);
    assert_int_equal(crew_told(&a->crew, "another process registered as agent a0: leaving"), 1);
    assert_int_equal(b->crew.n_quits, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(job->trials[i].n_records, 1);
    town_close(&t);
}

static void drain_first(struct town *town)
{
    host_drain(town->net, "a0");
}

static void an_agent_that_is_asked_to_leave_finishes_what_it_holds(void **state)
{
    struct crew_agent *a = begin(0), *b = town_agent(&t, "a1");

    (void)state;
    for (int i = 0; i < 24; i++)
        sim_job_add(job, "\"build_ms\":1000", -1);
    b->crew.start_ns = 20 * WORLD_S;
    town_at(&t, 3000, drain_first);
    town_run(&t, 600);
    expect_all_ok();
    expect_each_verified_once();
    assert_int_equal(a->crew.n_quits, 1);
    assert_int_equal(a->crew.held_at_quit, 0);
    assert_true(a->crew.left_well);
    assert_int_equal(crew_told(&a->crew, "asks this agent to leave"), 1);
    assert_in_range(n_by("a0"), 8, 23); /* what it had leased by then, and no more */
    assert_int_equal(a->crew.done, n_by("a0"));
    assert_true(a->crew.ended_ns < 60 * WORLD_S);
    town_close(&t);
}

static void an_idle_agent_leaves_when_it_is_asked_to(void **state)
{
    struct crew_agent *a = begin(0);

    (void)state;
    town_at(&t, 3000, drain_first);
    t.stay_ns = 120 * WORLD_S;
    town_run(&t, 600);
    assert_int_equal(a->crew.n_quits, 1);
    assert_true(a->crew.ended_ns < 70 * WORLD_S);
    town_close(&t);
}

/* With a lease of a minute: who says goodbye is waited for by nobody. */
static void goodbye_gives_the_leases_back_at_once(void **state)
{
    struct crew_agent *a = begin(0), *b = town_agent(&t, "a1");

    (void)state;
    net_set_lease_ms(t.net, 60000);
    for (int i = 0; i < 8; i++)
        sim_job_add(job, "\"build_ms\":1000", -1);
    b->crew.start_ns = 2 * WORLD_S;
    town_at(&t, 3000, stop_first);
    town_run(&t, 600);
    expect_all_ok();
    assert_true(job->done_ns < 30 * WORLD_S);
    assert_true(n_by("a1") > 0);
    assert_int_equal(crew_n_sent(&a->crew, "agent_bye"), 1);
    town_close(&t);
}

static void kill_first(struct town *town)
{
    crew_kill(&town->agents[0].crew);
}

static void what_a_killed_agent_held_goes_to_another_when_its_leases_run_out(void **state)
{
    struct crew_agent *a = begin(0), *b = town_agent(&t, "a1");

    (void)state;
    net_set_lease_ms(t.net, 20000);
    for (int i = 0; i < 8; i++)
        sim_job_add(job, "\"build_ms\":1000", -1);
    b->crew.start_ns = 2 * WORLD_S;
    town_at(&t, 3000, kill_first);
    town_run(&t, 600);
    expect_all_ok();
    assert_true(n_by("a1") > 0);
    assert_true(job->done_ns > 20 * WORLD_S);
    assert_int_equal(crew_n_sent(&a->crew, "agent_bye"), 0);
    town_close(&t);
}

/* ---- blobs ---- */

static void each_blob_is_fetched_once(void **state)
{
    struct crew_agent *a = begin(10);

    (void)state;
    for (int i = 1; i < 10; i++)
        job->trials[i].anchor = 0;
    town_run(&t, 600);
    expect_all_ok();
    assert_int_equal(crew_n_sent(&a->crew, "blob_get"), 20); /* program and source of each */
    town_close(&t);
}

static size_t n_blobs_at_end;

static void count_blobs(const struct sim_asked *x, void *arg)
{
    (void)arg;
    (void)x;
    n_blobs_at_end = t.agents[0].rig.dir.n_blobs;
}

static void no_room_for_blobs(struct crew *c)
{
    ((struct crew_agent *)c)->rig.dir.sum_bytes += WORKDIR_MAX_BLOB_BYTES;
}

/* What held trials need stays, whatever goes. */
static void blobs_are_forgotten_when_no_trial_needs_them(void **state)
{
    struct crew_agent *a = begin(30);

    (void)state;
    a->options.batch = 4;
    a->crew.by_hand = no_room_for_blobs;
    a->crew.children.saw = count_blobs;
    for (int i = 1; i < 30; i++)
        job->trials[i].anchor = i % 3 ? 0 : -1;
    town_run(&t, 600);
    expect_all_ok();
    for (int i = 1; i < 30; i++)
        assert_int_equal(isnan(job->trials[i].record.lnratio), i % 3 == 0);
    assert_true(n_blobs_at_end > 0 && n_blobs_at_end < 30);
    town_close(&t);
}

static int n_silent;

/* From the first trial on, and for a while once more: two children are for one try of a trial. */
static void no_child_speaks(const struct sim_asked *asked, void *arg)
{
    struct sim_children *c = arg;

    if (asked == &c->asked[12] && n_silent < 12) /* what was before is over */
        world_sleep(t.world, 30 * WORLD_S);
    if (asked == &c->asked[1] || asked == &c->asked[12])
        c->n_deaf = n_silent;
}

static void what_children_do_not_begin_is_done_by_others(void **state)
{
    struct crew_agent *a = begin(12), *later;

    (void)state;
    n_silent = 5;
    a->crew.children.saw = no_child_speaks;
    a->crew.children.arg = &a->crew.children;
    town_run(&t, 600);
    expect_all_ok();
    assert_true(crew_told(&a->crew, "is given back: died of signal 9 during start") >= 4);
    assert_int_equal(a->crew.n_quits, 0);
    town_close(&t);

    a = begin(12);
    n_silent = 1000;
    a->crew.children.saw = no_child_speaks;
    a->crew.children.arg = &a->crew.children;
    later = town_agent(&t, "a1");
    later->crew.start_ns = 120 * WORLD_S;
    town_run(&t, 600);
    expect_all_ok();
    assert_int_equal(n_by("a1"), 12);
    assert_int_equal(crew_told(&a->crew, "no child begins its work: leaving"), 1);
    assert_false(a->crew.left_well);
    assert_true(a->crew.ended_ns < 60 * WORLD_S);
    town_close(&t);
}

/* A byte of the program's text on the disk: its length is right. */
static void damage(struct town *town)
{
    char path[PATH_MAX + 80];
    FILE *f;

    snprintf(path, sizeof path, "%s/blobs/%s", town->agents[0].rig.dir.temp.path, town->jobs[0].trials[0].program);
    f = fopen(path, "r+");
    assert_true(f && fputc('?', f) == '?');
    fclose(f);
}

/* By the agent itself, which reads programs, as by its children. */
static void what_a_bad_disk_changed_is_fetched_anew(void **state)
{
    struct sim_job *later;

    (void)state;
    begin(1);
    later = town_job(&t);
    later->first = job->first; /* the same program */
    later->start_ns = 20 * WORLD_S;
    sim_job_add(later, "", -1)->purpose = "final";
    town_at(&t, 10000, damage);
    town_run(&t, 600);
    assert_string_equal(later->trials[0].program, job->trials[0].program);
    assert_string_equal(status_name(later->trials[0].record.status), "ok");
    town_close(&t);
}

static void a_trial_that_lacks_a_blob_is_lost_with_words(void **state)
{
    struct crew_agent *a = begin(3);

    (void)state;
    job->trials[1].withheld = true;
    town_run(&t, 600);
    assert_int_equal(job->trials[0].record.status, STATUS_OK);
    assert_int_equal(job->trials[1].record.status, STATUS_LOST);
    assert_non_null(strstr(job->trials[1].record.why, "five times"));
    assert_non_null(strstr(job->trials[1].record.why, "there is no blob"));
    assert_int_equal(job->trials[2].record.status, STATUS_OK);
    assert_int_equal(sim_n_asked_of(&a->crew.children, "verify", 1), 0);
    town_close(&t);
}

static void a_trial_whose_anchor_is_missing_is_timed_without(void **state)
{
    struct crew_agent *a = begin(2);

    (void)state;
    job->trials[0].withheld = true;
    job->trials[1].anchor = 0;
    town_run(&t, 600);
    assert_int_equal(job->trials[1].record.status, STATUS_OK);
    assert_true(isnan(job->trials[1].record.lnratio));
    assert_string_equal(job->trials[1].record.anchor.hash.hex, "");
    assert_int_equal(crew_told(&a->crew, "its anchor cannot be fetched"), 1);
    town_close(&t);
}

/* ---- records ---- */

static void a_record_says_all_that_was_asked_and_found(void **state)
{
    struct crew_agent *a = begin(0);
    const struct record *r;
    double peak = 0;
    const char *name = "";

    (void)state;
    sim_job_add(job, "\"us\":100", -1);
    sim_job_add(job, "\"us\":50", 0)->body = ",\"seed\":77,\"key\":\"other\",\"anchor\":{\"epoch\":3,\"bridge\":0.25}";
    t.jobs[0].trials[1].purpose = "redo";
    town_run(&t, 600);
    r = &job->trials[1].record;
    assert_string_equal(r->id, job->trials[1].id);
    assert_string_equal(r->job, job->id);
    assert_string_equal(r->agent, "a0");
    assert_string_equal(r->key, "other");
    assert_string_equal(r->purpose, "redo");
    assert_string_equal(r->protocol, "rounds-1");
    assert_string_equal(r->program.hex, job->trials[1].program);
    assert_string_equal(r->fingerprint.hex, a->rig.fingerprint.hex);
    assert_string_equal(r->anchor.hash.hex, job->trials[0].program);
    assert_int_equal(r->seed, 77);
    assert_int_equal(r->anchor.epoch, 3);
    assert_true(r->anchor.bridge == 0.25 && r->time_ns == 50000 && fabs(r->lnratio - log(0.5)) < 1e-9);
    assert_true(r->build_ms == 40 && r->verify_ms == 20 && r->device_ms == 6 && r->se == 0.01);
    assert_true(r->canary_before == 1e6 && r->canary_after == 1.02e6);
    assert_int_equal(r->rounds, 3);
    assert_int_equal(r->calls, 9);
    assert_int_equal(r->n_samples, 3);
    assert_int_equal(r->anchor.n_samples, 3);
    assert_true(r->samples_ns[2] == 50000 && r->anchor.samples_ns[0] == 100000);
    assert_int_equal(r->ts_ms / 60000, INT64_C(1767225600000) / 60000); /* the world's wall clock */
    json_real_or(r->device, "peak_gflops", 0, &peak, NULL);
    json_text_or(r->device, "name", "", &name, NULL);
    assert_true(peak == 99);
    assert_string_equal(name, "card of a world");
    town_close(&t);
}

static void two_batches(struct crew *c)
{
    struct farm *f = ((struct crew_agent *)c)->farm;

    farm_lease_step(f, 0);
    farm_build_step(f, 0);
    world_sleep(c->world, 2500 * WORLD_MS);
    farm_time_step(f, 0);
}

static void waiting_for_the_device_is_told(void **state)
{
    (void)state;
    begin(1)->crew.by_hand = two_batches;
    town_run(&t, 600);
    assert_true(job->trials[0].record.wait_ms == 2500);
    town_close(&t);
}

static void energies_are_asked_for_where_they_are_searched(void **state)
{
    struct crew_agent *a = begin(0);

    (void)state;
    sim_job_add(job, "\"us\":200", -1)->body = ",\"objective\":\"energy\"";
    sim_job_add(job, "", -1)->workload = "another";
    town_run(&t, 600);
    expect_all_ok();
    assert_true(fabs(job->trials[0].record.energy_j - 0.01) < 1e-12);
    assert_string_equal(job->trials[0].record.protocol, "rounds-1+energy-rest");
    assert_true(job->trials[1].record.energy_j == 0);
    assert_true(sim_asked(&a->crew.children, "time", 0)->energy);
    assert_false(sim_asked(&a->crew.children, "time", 1)->energy);
    town_close(&t);
}

static void sensors_of_the_batch_reach_the_record(void **state)
{
    struct crew_agent *a = begin(1);
    const cJSON *sense;
    double c = 0, waited_s = 0;

    (void)state;
    a->crew.children.sense_c = 61;
    town_run(&t, 600);
    sense = cJSON_GetObjectItem(job->trials[0].record.device, "sense");
    json_real_or(cJSON_GetObjectItem(sense, "before"), "temperature_c", 0, &c, NULL);
    json_real_or(sense, "waited_s", 0, &waited_s, NULL);
    assert_true(c == 61 && waited_s == 1.5);
    assert_int_equal(crew_told(&a->crew, "waited 1.5 s before timing"), 1);
    town_close(&t);
}

static void what_is_sent_is_counted_and_told(void **state)
{
    struct crew_agent *a = begin(3);
    char words[80];

    (void)state;
    sim_job_add(job, "\"do\":\"compile\"", -1);
    sim_job_add(job, "\"do\":\"wrong\"", -1);
    town_run(&t, 600);
    assert_int_equal(a->crew.done, 5);
    assert_int_equal(a->crew.failed, 2);
    snprintf(words, sizeof words, "%s ok 10.0 GFLOPS 0.1 ms +- 1.0 %%, no anchor (sim)", job->trials[0].id);
    assert_int_equal(crew_told(&a->crew, words), 1);
    snprintf(words, sizeof words, "%s compile at build: it does not build", job->trials[3].id);
    assert_int_equal(crew_told(&a->crew, words), 1);
    town_close(&t);
}

static void an_envelope_says_what_the_tracker_has_to_know(void **state)
{
    struct crew_agent *a = begin(1);
    const char *r;

    (void)state;
    town_run(&t, 600);
    r = crew_sent(&a->crew, "trial_result", 0);
    assert_non_null(strstr(r, "\"envelope\":{\"key\":\"sim\",\"fingerprint\":\""));
    assert_non_null(strstr(r, "\"status\":\"ok\",\"time_ns\":100000,\"flops\":1000000,\"device_ms\":6}"));
    assert_non_null(strstr(r, job->trials[0].program));
    town_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tracker_out_of_reach_is_waited_for),
        cmocka_unit_test(who_waits_for_a_tracker_can_be_stopped),
        cmocka_unit_test(a_key_that_is_refused_ends_it_at_once),
        cmocka_unit_test(another_fingerprint_under_the_key_is_refused),
        cmocka_unit_test(a_registration_says_what_the_device_is),
        cmocka_unit_test(all_that_is_held_is_renewed),
        cmocka_unit_test(leases_are_renewed_each_third_and_each_10_s_at_least),
        cmocka_unit_test(an_agent_tells_how_it_is),
        cmocka_unit_test(an_idle_agent_says_little),
        cmocka_unit_test(a_restarted_tracker_is_registered_with_again),
        cmocka_unit_test(a_renewal_that_nobody_knows_registers_again),
        cmocka_unit_test(an_agent_that_was_cut_off_goes_on),
        cmocka_unit_test(what_is_leased_twice_is_done_once),
        cmocka_unit_test(a_tracker_out_of_reach_is_told_of),
        cmocka_unit_test(a_beat_tells_the_temperature),
        cmocka_unit_test(a_second_process_of_the_name_makes_the_first_leave),
        cmocka_unit_test(an_agent_that_is_asked_to_leave_finishes_what_it_holds),
        cmocka_unit_test(an_idle_agent_leaves_when_it_is_asked_to),
        cmocka_unit_test(goodbye_gives_the_leases_back_at_once),
        cmocka_unit_test(what_a_killed_agent_held_goes_to_another_when_its_leases_run_out),
        cmocka_unit_test(each_blob_is_fetched_once),
        cmocka_unit_test(blobs_are_forgotten_when_no_trial_needs_them),
        cmocka_unit_test(what_children_do_not_begin_is_done_by_others),
        cmocka_unit_test(what_a_bad_disk_changed_is_fetched_anew),
        cmocka_unit_test(a_trial_that_lacks_a_blob_is_lost_with_words),
        cmocka_unit_test(a_trial_whose_anchor_is_missing_is_timed_without),
        cmocka_unit_test(a_record_says_all_that_was_asked_and_found),
        cmocka_unit_test(waiting_for_the_device_is_told),
        cmocka_unit_test(energies_are_asked_for_where_they_are_searched),
        cmocka_unit_test(sensors_of_the_batch_reach_the_record),
        cmocka_unit_test(what_is_sent_is_counted_and_told),
        cmocka_unit_test(an_envelope_says_what_the_tracker_has_to_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
