/* SPDX-License-Identifier: MIT */
/* Figures for Prometheus. */
#include "tests/tracker/rig.h"

#include "core/file.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The page as text; free it. */
static char *page(struct rig *r, enum err (*render)(struct tracker *t, struct buf *out))
{
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(render(r->t, &out), ERR_OK);
    return buf_take(&out);
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
}

static void expect_figure(const char *text, const char *name, const char *kind, int64_t value)
{
    char line[200];

    snprintf(line, sizeof line, "# TYPE tune_tracker_%s %s\ntune_tracker_%s %" PRId64 "\n", name, kind, name, value);
    expect_in(text, line);
}

/* ---- facts ---- */

static void the_figures_are_those_of_what_happened(void **state)
{
    struct rig *r = *state;
    cJSON *lease;
    char *text;

    rig_agent(r, "a", "n");
    rig_agent(r, "silent", "n");
    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['x']}");
    rig_do(r, "agent_bye", "{'agent':'make'}");
    rig_add(r, rig_submit(r, "cpu"), 0, 4, 1);
    lease = rig_lease(r, "a", 3, 3);
    rig_answer(r, lease, 0, "ok", 5);
    rig_answer(r, lease, 0, "ok", 5);
    rig_refused(r, ERR_INPUT, "", "job_status", "{}");
    rig_pass(r, RIG_LEASE_MS - 1000);
    rig_do(r, "trial_renew", "{'agent':'a','trials':[{'trial':'t2','token':1}]}");
    rig_pass(r, 2000);
    rig_pass(r, 62000);
    rig_do(r, "agent_beat", "{'agent':'a'}");
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    text = page(r, page_metrics);
    expect_figure(text, "jobs", "gauge", 1);
    expect_figure(text, "trials_live", "gauge", 3);
    expect_figure(text, "trials_leased", "gauge", 1);
    expect_figure(text, "agents", "gauge", 1);
    expect_figure(text, "sessions", "gauge", 1);
    expect_figure(text, "replies_bytes", "gauge", (int64_t)r->t->answered_bytes);
    expect_figure(text, "requests_total", "counter", r->n_ids);
    expect_figure(text, "requests_refused_total", "counter", 1);
    expect_figure(text, "grants_total", "counter", 4);
    expect_figure(text, "results_total", "counter", 1);
    expect_figure(text, "results_double_total", "counter", 1);
    expect_figure(text, "leases_expired_total", "counter", 2);
    expect_figure(text, "trials_lost_total", "counter", 0);
    expect_figure(text, "trials_answered_total", "counter", 0);
    expect_figure(text, "builds_total", "counter", 0);
    expect_figure(text, "builds_failed_total", "counter", 0);
    expect_figure(text, "commits_total", "counter", r->t->stats.commits);
    expect_in(text, "# HELP tune_tracker_jobs Jobs in the store.\n");
    free(text);
    cJSON_Delete(lease);
}

static void expect_line(const char *text, const char *line)
{
    char whole[300];

    snprintf(whole, sizeof whole, "\n%s\n", line);
    expect_in(text, whole);
}

/* A trial waits 2 s and runs 3 s, another waits 2 s and never ends; a third is of another key. */
static void times_and_records_are_told_by_key_and_agent(void **state)
{
    static const char *const lines[] = {
        "tune_tracker_trial_wait_seconds_bucket{key=\"cpu\",le=\"1\"} 0",
        "tune_tracker_trial_wait_seconds_bucket{key=\"cpu\",le=\"2.5\"} 2",
        "tune_tracker_trial_wait_seconds_bucket{key=\"cpu\",le=\"+Inf\"} 2",
        "tune_tracker_trial_wait_seconds_count{key=\"cpu\"} 2",
        "tune_tracker_trial_wait_seconds_sum{key=\"cpu\"} 4",
        "tune_tracker_trial_run_seconds_bucket{key=\"cpu\",le=\"2.5\"} 0",
        "tune_tracker_trial_run_seconds_bucket{key=\"cpu\",le=\"5\"} 1",
        "tune_tracker_trial_run_seconds_sum{key=\"cpu\"} 3",
        "tune_tracker_trial_wait_seconds_count{key=\"gpu\"} 0",
        "tune_tracker_records_total{key=\"cpu\",status=\"ok\"} 0",
        "tune_tracker_records_total{key=\"cpu\",status=\"wrong\"} 1",
        "tune_tracker_records_total{key=\"gpu\",status=\"wrong\"} 0",
        "tune_tracker_key_agents{key=\"cpu\"} 1",
        "tune_tracker_key_agents{key=\"gpu\"} 0",
        "tune_tracker_key_trials_open{key=\"gpu\"} 1",
        "tune_tracker_key_trials_leased{key=\"cpu\"} 1",
        "tune_tracker_agent_up{agent=\"a\",key=\"cpu\"} 1",
        "tune_tracker_agent_leased{agent=\"a\",key=\"cpu\"} 1",
        "tune_tracker_agent_seen_seconds{agent=\"a\",key=\"cpu\"} 0",
        "tune_tracker_agent_done_total{agent=\"a\",key=\"cpu\"} 1",
        "tune_tracker_agent_failed_total{agent=\"a\",key=\"cpu\"} 1",
        "tune_tracker_agent_temperature_celsius{agent=\"a\",key=\"cpu\"} 61.5",
        "tune_tracker_agent_load{agent=\"a\",key=\"cpu\"} 0.25",
        "tune_tracker_agent_up{agent=\"silent\",key=\"cpu\"} 0",
        "tune_tracker_agent_seen_seconds{agent=\"silent\",key=\"cpu\"} 100",
    };
    struct rig *r = *state;
    cJSON *lease;
    char *text;

    rig_agent(r, "silent", "n");
    rig_agent(r, "left", "n");
    rig_do(r, "agent_bye", "{'agent':'left'}");
    rig_pass(r, 95000);
    rig_add(r, rig_submit(r, "cpu"), 0, 2, 1);
    rig_add(r, rig_submit(r, "gpu"), 0, 1, 9);
    rig_pass(r, 2000);
    rig_agent(r, "a", "n");
    lease = rig_lease(r, "a", 2, 2);
    rig_pass(r, 3000);
    rig_answer(r, lease, 0, "wrong", 5);
    rig_do(r, "agent_beat", "{'agent':'a','temperature':61.5,'load':0.25}");
    cJSON_Delete(lease);
    text = page(r, page_metrics);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect_line(text, lines[i]);
    assert_null(strstr(text, "agent=\"left\""));
    free(text);
}

static void a_trial_that_was_given_up_is_a_record_of_status_lost(void **state)
{
    struct rig *r = *state;
    char *text;

    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 1);
    for (int i = 0; i < 5; i++) {
        cJSON_Delete(rig_lease(r, "a", 1, 1));
        rig_pass(r, RIG_LEASE_MS + 1000);
    }
    text = page(r, page_metrics);
    expect_line(text, "tune_tracker_records_total{key=\"cpu\",status=\"lost\"} 1");
    expect_line(text, "tune_tracker_trials_lost_total 1");
    free(text);
}

/* ---- the text format 0.0.4, and the alerts on it ---- */

/* The name at the start of a line, at most n_out - 1 bytes. */
static size_t name_at(const char *line, char *out, size_t n_out)
{
    const size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz_");

    assert_in_range(n, 1, n_out - 1);
    memcpy(out, line, n);
    out[n] = '\0';
    return n;
}

/* {name="value",..} or nothing; where it ends. */
static const char *skip_labels(const char *p)
{
    if (*p != '{')
        return p;
    do {
        p += 1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_");
        assert_memory_equal(p, "=\"", 2);
        p += 2 + strcspn(p + 2, "\"\\\n") + 1;
    } while (*p == ',');
    assert_int_equal(*p, '}');
    return p + 1;
}

/* Its family is `name`, or of a histogram `name` with one of three endings. */
static bool is_of_family(const char *sample, const char *name, const char *kind)
{
    const size_t n = strlen(name);
    const char *rest = sample + n;

    if (strncmp(sample, name, n) != 0)
        return false;
    return strcmp(kind, "histogram") == 0 ? !strcmp(rest, "_bucket") || !strcmp(rest, "_sum") || !strcmp(rest, "_count")
                                          : !*rest;
}

struct series {
    char name[80], kind[20]; /* of the family */
    double last;             /* of the buckets so far */
};

static void check_sample(struct series *s, const char *text, const char *line)
{
    char sample[80], series[200], twice[204];
    const char *end = skip_labels(line + name_at(line, sample, sizeof sample));
    const double value = strtod(end, NULL);
    char *after;

    if (!is_of_family(sample, s->name, s->kind) || *end != ' ')
        fail_msg("not of %s: %.100s", s->name, line);
    strtod(end + 1, &after);
    assert_int_equal(*after, '\n');
    snprintf(series, sizeof series, "%.*s ", (int)(end - line), line);
    snprintf(twice, sizeof twice, "\n%s", series);
    if (strstr(strstr(text, twice) + 1, twice))
        fail_msg("%s is there twice", series);
    if (!strstr(sample, "_bucket") && !strstr(sample, "_count"))
        return;
    if (strstr(sample, "_bucket") ? value < s->last : value != s->last)
        fail_msg("%s has %g behind %g", series, value, s->last);
    s->last = strstr(sample, "_count") ? 0 : value; /* the last bucket is the count */
}

static void check_exposition(const char *text)
{
    struct series s = {.name = ""};

    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        char again[120];

        if (strncmp(line, "# HELP ", 7) == 0) {
            name_at(line + 7, s.name, sizeof s.name);
            snprintf(again, sizeof again, "# HELP %s ", s.name);
            assert_null(strstr(line + 1, again));
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            name_at(line + 7 + name_at(line + 7, again, sizeof again) + 1, s.kind, sizeof s.kind);
            assert_string_equal(again, s.name); /* right behind its help */
            s.last = 0;
        } else {
            check_sample(&s, text, line);
        }
    }
}

static char *page_after_some_work(struct rig *r)
{
    cJSON *lease;

    rig_agent(r, "a", "n");
    rig_agent(r, "b", "n");
    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['x']}");
    rig_add(r, rig_submit(r, "cpu"), 0, 4, 1);
    rig_add(r, rig_submit(r, "gpu"), 0, 4, 11);
    lease = rig_lease(r, "a", 3, 3);
    for (int i = 0; i < 3; i++) {
        rig_pass(r, 700);
        rig_answer(r, lease, i, i ? "ok" : "crash", 5);
    }
    cJSON_Delete(lease);
    meter_add(&r->t->calls[CALL_STATUS], 1000000); /* as the server does */
    meter_add(&r->t->calls[CALL_STATUS], 90000000000);
    meter_add(&r->t->calls[CALL_JOB_LIST], 1);
    return page(r, page_metrics);
}

static void the_figures_are_in_the_text_format_of_prometheus(void **state)
{
    char *text = page_after_some_work(*state);

    check_exposition(text);
    expect_line(text, "tune_tracker_call_seconds_bucket{call=\"status\",le=\"0.0005\"} 0");
    expect_line(text, "tune_tracker_call_seconds_bucket{call=\"status\",le=\"0.001\"} 1");
    expect_line(text, "tune_tracker_call_seconds_bucket{call=\"status\",le=\"60\"} 1");
    expect_line(text, "tune_tracker_call_seconds_bucket{call=\"status\",le=\"300\"} 2");
    expect_line(text, "tune_tracker_call_seconds_sum{call=\"status\"} 90.001");
    free(text);
}

/* Every name in the example rules is one that is told. */
static void the_example_alerts_name_figures_that_there_are(void **state)
{
    char *text = page_after_some_work(*state), name[80], sample[100];
    struct buf rules;
    int n = 0;

    buf_init(&rules, 65536);
    assert_int_equal(file_read(TUNE_ALERTS, &rules, NULL), ERR_OK);
    for (const char *at = buf_text(&rules); (at = strstr(at, "tune_tracker_")) != NULL; n++) {
        at += name_at(at, name, sizeof name);
        snprintf(sample, sizeof sample, "\n%s{", name);
        if (!strstr(text, sample)) {
            snprintf(sample, sizeof sample, "\n%s ", name);
            expect_in(text, sample);
        }
    }
    assert_in_range(n, 10, 100);
    buf_fini(&rules);
    free(text);
}

static void a_page_that_does_not_fit_is_an_error(void **state)
{
    struct rig *r = *state;
    struct buf out;

    buf_init(&out, 500);
    assert_int_equal(page_metrics(r->t, &out), ERR_LIMIT);
    buf_fini(&out);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        FACT(the_figures_are_those_of_what_happened),
        FACT(times_and_records_are_told_by_key_and_agent),
        FACT(a_trial_that_was_given_up_is_a_record_of_status_lost),
        FACT(the_figures_are_in_the_text_format_of_prometheus),
        FACT(the_example_alerts_name_figures_that_there_are),
        FACT(a_page_that_does_not_fit_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
