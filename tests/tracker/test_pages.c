/* SPDX-License-Identifier: MIT */
/* What the HTTP side shows. */
#include "tests/tracker/rig.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int start(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    rig_start(r);
    *state = r;
    return 0;
}

static int stop(void **state)
{
    rig_stop(*state);
    free(*state);
    return 0;
}

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

static void what_peers_wrote_is_escaped(void **state)
{
    struct rig *r = *state;
    char *html;

    rig_do(r, "job_submit", "{'title':'<b>&\\\"x','user':'<i>','body':'b'}");
    html = page(r, page_html);
    expect_in(html, "<td>&lt;b&gt;&amp;&quot;x</td><td>&lt;i&gt;</td>");
    assert_null(strstr(html, "<b>"));
    assert_null(strstr(html, "<i>"));
    free(html);
}

static void an_apostrophe_is_escaped_too(void **state)
{
    struct rig *r = *state;
    cJSON *args = cJSON_Parse("{\"title\":\"it's\",\"body\":\"b\"}");
    char *html;

    cJSON_Delete(rig_ask(r, "job_submit", args, NULL));
    html = page(r, page_html);
    expect_in(html, "<td>it&#39;s</td>");
    free(html);
}

static void the_page_shows_devices_and_jobs(void **state)
{
    struct rig *r = *state;
    cJSON *lease;
    char *html;

    rig_agent(r, "host-1", "n");
    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['x']}");
    rig_agent(r, "left", "n");
    rig_do(r, "agent_bye", "{'agent':'left'}");
    rig_add(r, rig_submit(r, "cpu"), 0, 4, 1);
    lease = rig_lease(r, "host-1", 3, 3);
    rig_answer(r, lease, 0, "ok", 5);
    rig_answer(r, lease, 1, "wrong", 5);
    cJSON_Delete(lease);
    rig_do(r, "job_submit", "{'title':'waits','key':'gpu','body':'b'}");
    rig_pass(r, 3000);
    html = page(r, page_html);
    expect_in(html, "<td>cpu</td><td>host-1</td><td>idle</td><td>1</td><td>2</td><td>1</td><td>3 s ago</td>");
    expect_in(html, "<td>(builder)</td><td>make</td>");
    assert_null(strstr(html, "<td>left</td>"));
    expect_in(html, "<td>j2</td><td>waits</td><td></td><td>gpu</td><td>open</td>");
    expect_in(html,
              "<td>j1</td><td>t</td><td>u</td><td>cpu</td><td>running</td><td>1</td><td>1</td><td>2</td><td>0</td>"
              "<td>2.0</td>");
    assert_true(strstr(html, "<td>j2</td>") < strstr(html, "<td>j1</td>"));
    expect_in(html, "1 sessions, ");
    expect_in(html, ", 2 results</p>");
    expect_in(html, "<!doctype html>");
    free(html);
    rig_do(r, "job_done", "{'job':'j1','token':1,'state':'failed'}");
    html = page(r, page_html);
    expect_in(html, "<td>failed</td>");
    free(html);
}

static void the_page_shows_the_fifty_newest_jobs(void **state)
{
    struct rig *r = *state;
    char *html;

    for (int i = 0; i < 51; i++)
        rig_do(r, "job_submit", "{'body':'b'}");
    html = page(r, page_html);
    expect_in(html, "<td>j51</td>");
    expect_in(html, "<td>j2</td>");
    assert_null(strstr(html, "<td>j1</td>"));
    free(html);
}

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

static void a_page_that_does_not_fit_is_an_error(void **state)
{
    struct rig *r = *state;
    struct buf out;

    buf_init(&out, 500);
    assert_int_equal(page_html(r->t, &out), ERR_LIMIT);
    buf_fini(&out);
    buf_init(&out, 500);
    assert_int_equal(page_metrics(r->t, &out), ERR_LIMIT);
    buf_fini(&out);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(what_peers_wrote_is_escaped),
        FACT(an_apostrophe_is_escaped_too),
        FACT(the_page_shows_devices_and_jobs),
        FACT(the_page_shows_the_fifty_newest_jobs),
        FACT(the_figures_are_those_of_what_happened),
        FACT(a_page_that_does_not_fit_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
