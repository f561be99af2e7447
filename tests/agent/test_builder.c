/* SPDX-License-Identifier: MIT */
/* Builders and the devices that they compile for: an agent that cannot compile, and code that comes from elsewhere. */
#include "core/file.h"
#include "town.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct town t;
static struct sim_job *job;
static struct crew_builder *b;
static struct sim_children *children; /* of the first builder */

static void begin(void)
{
    struct crew_agent *a;

    town_open(&t, 1);
    a = town_agent(&t, "board");
    a->crew.children.desc.sm = 61;
    a->crew.children.no_compiler = true;
    b = town_builder(&t, "b0");
    children = &b->crew.children;
    job = town_job(&t);
}

static struct sim_trial *add(const char *knobs, int anchor)
{
    struct sim_trial *x = sim_job_add(job, knobs, anchor);

    x->cuda = true;
    return x;
}

static void expect(int i, enum record_status status, const char *stage, const char *words)
{
    const struct record *r = &job->trials[i].record;

    if (job->trials[i].n_records != 1 || r->status != status || strcmp(r->stage, stage) != 0 ||
        !strstr(r->why ? r->why : "", words))
        fail_msg("trial %d: %d records, %s at '%s': %s; wanted %s at '%s' with '%s'", i, job->trials[i].n_records,
                 status_name(r->status), r->stage, r->why ? r->why : "", status_name(status), stage, words);
}

/* ---- the way of the code ---- */

static void code_comes_from_a_builder(void **state)
{
    const struct record *r;
    int registers = 0;

    (void)state;
    begin();
    add("", -1);
    add("\"build_ms\":350", 0);
    town_run(&t, 600);
    expect(0, STATUS_OK, "", "");
    expect(1, STATUS_OK, "", "");
    r = &job->trials[1].record;
    assert_string_equal(r->built_by, "b0");
    assert_string_equal(r->compiler, "NVRTC 12.9");
    assert_true(r->build_ms == 350 && r->build_cached);
    assert_int_equal(cJSON_GetArraySize(r->resources), 1);
    registers = cJSON_GetObjectItem(cJSON_GetArrayItem(r->resources, 0), "registers")->valueint;
    assert_int_equal(registers, 40);
    assert_int_equal(b->crew.done, 2);
    assert_int_equal(b->crew.failed, 0);
    assert_int_equal(crew_told(&b->crew, "sm_61 ok, 1 files, 19 bytes, 350 ms"), 1);
    town_close(&t);
}

/* Of a farm in two, where one that does not say which has nothing to do. */
static void a_builder_serves_one_part(void **state)
{
    struct crew_builder *other;

    (void)state;
    begin();
    net_divide(t.net);
    job->key = t.agents[0].options.key = "board"; /* of part 2 */
    assert_int_equal(part_of_key(job->key, 2), 2);
    b->options.part = 2;
    other = town_builder(&t, "b1");
    add("", -1);
    town_run(&t, 600);
    expect(0, STATUS_OK, "", "");
    assert_string_equal(job->trials[0].record.built_by, "b0");
    assert_int_equal(other->crew.e, ERR_INPUT);
    assert_string_equal(other->crew.why.text, "this farm is in 2 parts: expected --part 1 to 2, a process for each");
    town_close(&t);
}

/* One build serves every trial of its program, also as an anchor. */
static void a_program_is_built_once(void **state)
{
    (void)state;
    begin();
    add("", -1);
    for (int i = 1; i < 10; i++)
        add("", 0);
    town_run(&t, 600);
    for (int i = 0; i < 10; i++) {
        expect(i, STATUS_OK, "", "");
        assert_int_equal(sim_n_asked_of(children, "compile", i), 1);
    }
    town_close(&t);
}

static void an_agent_that_compiles_itself_says_so_in_its_records(void **state)
{
    (void)state;
    begin();
    t.n_builders = 0;
    t.agents[0].crew.children.no_compiler = false;
    add("", -1);
    town_run(&t, 600);
    assert_string_equal(job->trials[0].record.built_by, "");
    assert_string_equal(job->trials[0].record.compiler, "NVRTC 13.0");
    assert_true(job->trials[0].record.build_ms == 40);
    town_close(&t);
}

/* Its polls are longer than a lease, after which who was not heard of is taken for gone: an agent that could compile
 * itself would do so. */
static void an_idle_builder_is_counted_on_all_the_while(void **state)
{
    (void)state;
    for (int s = 10; s < 100; s += 15) {
        begin();
        t.agents[0].crew.children.no_compiler = false;
        job->start_ns = s * WORLD_S;
        add("", -1);
        town_run(&t, 600);
        expect(0, STATUS_OK, "", "");
        assert_string_equal(job->trials[0].record.built_by, "b0");
        town_close(&t);
    }
}

static void a_failed_build_is_the_record_of_its_trial(void **state)
{
    (void)state;
    begin();
    add("\"do\":\"compile\"", -1);
    add("\"do\":\"hang\"", -1);
    add("\"do\":\"eat\"", -1);
    add("\"do\":\"crash\"", -1);
    add("\"do\":\"crash_once\"", -1);
    town_run(&t, 600);
    expect(0, STATUS_COMPILE, "build", "line 3: no");
    expect(1, STATUS_TIMEOUT, "build", "too long");
    expect(2, STATUS_LIMITS, "build", "memory");
    expect(3, STATUS_CRASH, "build", "signal 11");
    assert_int_equal(sim_n_asked_of(children, "compile", 0), 1);
    assert_int_equal(sim_n_asked_of(children, "compile", 1), 1);
    assert_int_equal(sim_n_asked_of(children, "compile", 3), 2);
    assert_int_equal(sim_n_asked_of(children, "compile", 4), 2); /* once more, in a fresh child */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sim_n_asked_of(&t.agents[0].crew.children, "verify", i), 0);
        assert_string_equal(job->trials[i].record.built_by, "b0");
    }
    assert_int_equal(b->crew.done, 5);
    assert_int_equal(b->crew.failed, 4);
    assert_int_equal(crew_told(&b->crew, "sm_61 compile: line 3: no"), 1);
    town_close(&t);
}

static void a_trial_whose_anchor_does_not_compile_is_timed_without(void **state)
{
    (void)state;
    begin();
    add("\"do\":\"compile\"", -1);
    add("", 0);
    town_run(&t, 600);
    expect(0, STATUS_COMPILE, "build", "line 3");
    expect(1, STATUS_OK, "", "");
    assert_string_equal(job->trials[1].record.anchor.hash.hex, "");
    assert_int_equal(crew_told(&t.agents[0].crew, "its anchor cannot be fetched: line 3: no"), 1);
    town_close(&t);
}

static void sources_that_are_missing_are_told(void **state)
{
    (void)state;
    begin();
    add("", -1)->withheld = true;
    town_run(&t, 600);
    expect(0, STATUS_RUNTIME, "build", "blob");
    assert_int_equal(sim_n_asked(children, "compile"), 0);
    town_close(&t);
}

static void files_that_a_child_names_wrongly_are_refused(void **state)
{
    static const struct {
        const char *name;
        enum record_status status;
    } cases[] = {{"../board/secret", STATUS_CRASH},
                 {".hidden", STATUS_CRASH}, /* as an agent would refuse it */
                 {"not-made.cubin", STATUS_RUNTIME}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        begin();
        children->compiler_has = cases[i].name;
        add("", -1);
        town_run(&t, 600);
        assert_int_equal(job->trials[0].record.status, cases[i].status);
        assert_int_equal(b->crew.failed, 1);
        town_close(&t);
    }
}

static void a_build_has_the_limits_of_its_trial_and_program(void **state)
{
    const struct sandbox_limits *l;

    (void)state;
    begin();
    b->options.n_children = 1;
    add("", -1)->limits = "\"build_s\":33,\"memory_bytes\":77000000";
    town_run(&t, 600);
    l = &sim_asked(children, "compile", 0)->limits;
    assert_true(l->build_s == 33 && l->start_s == 120);
    assert_int_equal(l->memory_bytes, 77000000);
    town_close(&t);
    begin();
    add("", -1)->build_s = 4;
    town_run(&t, 600);
    assert_true(sim_asked(children, "compile", 0)->limits.build_s == 4);
    town_close(&t);
}

/* ---- children ---- */

static void builds_go_on_side_by_side(void **state)
{
    const struct sim_asked *x, *y;

    (void)state;
    begin();
    add("\"build_ms\":2000", -1);
    add("\"build_ms\":2000", -1);
    town_run(&t, 600);
    x = sim_asked(children, "compile", 0);
    y = sim_asked(children, "compile", 1);
    assert_true(y->from_ns < x->to_ns && x->child != y->child);
    town_close(&t);
}

static void a_child_is_replaced_after_64_builds(void **state)
{
    int first;

    (void)state;
    begin();
    b->options.n_children = 1;
    for (int i = 0; i < 70; i++)
        add("", -1);
    town_run(&t, 600);
    first = sim_asked(children, "compile", 0)->child;
    for (int i = 0; i < 70; i++)
        assert_int_equal(sim_asked(children, "compile", i)->child, first + (i >= 64));
    town_close(&t);
}

static void no_more_processes(const struct sim_asked *x, void *arg)
{
    struct sim_children *c = arg;

    if (strcmp(x->op, "compile") == 0)
        c->n_starts_to_fail = 1;
}

/* The builder with one child; another comes later. */
static void begin_with_another(int64_t later_s, void (*saw)(const struct sim_asked *x, void *children))
{
    begin();
    town_builder(&t, "b1")->crew.start_ns = later_s * WORLD_S;
    b->options.n_children = 1;
    children->saw = saw;
    children->arg = children;
}

static void a_builder_that_cannot_start_a_child_leaves(void **state)
{
    (void)state;
    begin_with_another(5, no_more_processes);
    add("\"do\":\"crash\"", -1);
    add("", -1);
    town_run(&t, 600);
    assert_int_equal(b->crew.n_quits, 1);
    assert_int_equal(crew_told(&b->crew, "out of processes"), 1);
    expect(0, STATUS_CRASH, "build", "signal 11");
    expect(1, STATUS_OK, "", "");
    assert_string_equal(job->trials[1].record.built_by, "b1");
    assert_int_equal(b->crew.done, 0);
    town_close(&t);
}

static void no_child_speaks(const struct sim_asked *x, void *arg)
{
    struct sim_children *c = arg;

    if (strcmp(x->op, "compile") == 0)
        c->n_deaf = 1000;
}

static void builds_that_no_child_begins_go_to_others_and_the_builder_leaves(void **state)
{
    int n_back;

    (void)state;
    begin_with_another(120, no_child_speaks);
    add("", -1);
    add("", -1);
    town_run(&t, 600);
    expect(0, STATUS_OK, "", "");
    expect(1, STATUS_OK, "", "");
    assert_string_equal(job->trials[0].record.built_by, "b1");
    assert_int_equal(crew_told(&b->crew, "no child begins its work: leaving"), 1);
    assert_false(b->crew.left_well);
    assert_true(b->crew.ended_ns < 60 * WORLD_S);
    n_back = crew_told(&b->crew, "is given back: died of signal 9 during start");
    assert_in_range(n_back, 2, 30); /* with a pause behind each */
    town_close(&t);
}

/* ---- in the service of a tracker ---- */

static void a_builder_says_what_it_makes(void **state)
{
    const char *r;

    (void)state;
    begin();
    t.n_jobs = 0;
    b->options.n_sms = 2;
    b->options.sms[1] = 90;
    town_run(&t, 60);
    r = crew_sent(&b->crew, "builder_register", 0);
    assert_non_null(strstr(r, "\"arches\":[\"sm_61\",\"sm_90\"],\"compiler\":\"NVRTC 12.9\""));
    town_close(&t);
}

static void say_the_compiler(struct crew *c)
{
    assert_string_equal(builder_compiler(((struct crew_builder *)c)->workshop), "NVRTC 12.9 (/there)");
}

/* What its children are shut into: off unless it was told to. */
static void a_builder_says_what_its_children_are_shut_into(void **state)
{
    static const struct cage on = {.on = true, .sees = ""};
    static const struct {
        const struct cage *cage;
        const char *lacks, *words;
    } cases[] = {
        {NULL, "", "\"cage\":\"off\""},
        {&on, "", "\"cage\":\"whole\""},
        {&on, "Landlock (Function not implemented)", "\"cage\":\"without Landlock (Function not implemented)\""}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        t.n_jobs = 0;
        b->options.cage = cases[i].cage;
        b->crew.children.lacks = cases[i].lacks;
        town_run(&t, 60);
        assert_non_null(strstr(crew_sent(&b->crew, "builder_register", 0), cases[i].words));
        town_close(&t);
    }
}

static void its_compiler_is_known(void **state)
{
    (void)state;
    begin();
    t.n_jobs = 0;
    b->crew.by_hand = say_the_compiler;
    town_run(&t, 60);
    town_close(&t);
}

static void without_a_compiler_there_is_no_builder(void **state)
{
    static const struct {
        enum err e;
        const char *words;
    } cases[] = {{ERR_UNSUPPORTED, "--build-for: no NVRTC was found"},
                 {ERR_CHILD, "cannot ask the compiler: died of signal 9"},
                 {ERR_IO, "out of processes"}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        begin();
        t.n_jobs = 0;
        children->no_compiler = i == 0;
        children->n_deaf = i == 1;
        children->n_starts_to_fail = i == 2;
        town_run(&t, 60);
        assert_int_equal(b->crew.e, cases[i].e);
        assert_non_null(strstr(b->crew.why.text, cases[i].words));
        assert_int_equal(children->n_alive, 0);
        town_close(&t);
    }
}

static void builds_under_way_are_renewed(void **state)
{
    (void)state;
    begin();
    net_set_lease_ms(t.net, 6000);
    b->options.n_children = 3;
    for (int i = 0; i < 6; i++)
        add("\"build_ms\":9500", -1);
    town_run(&t, 600);
    for (int i = 0; i < 6; i++) {
        expect(i, STATUS_OK, "", "");
        assert_int_equal(sim_n_asked_of(children, "compile", i), 1);
    }
    for (int i = 0; i < crew_n_sent(&b->crew, "build_renew"); i++)
        assert_non_null(strstr(crew_sent(&b->crew, "build_renew", i), "\"arch\":\"sm_61\""));
    assert_true(crew_n_sent(&b->crew, "build_renew") >= 8);
    town_close(&t);
}

static void crash(struct town *town)
{
    net_crash(town->net);
}

static void builds_go_on_over_a_restart(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 8; i++)
        add("\"build_ms\":3000", -1);
    town_at(&t, 4000, crash);
    town_run(&t, 600);
    assert_int_equal(net_crashes(t.net), 1);
    for (int i = 0; i < 8; i++) {
        expect(i, STATUS_OK, "", "");
        assert_int_equal(sim_n_asked_of(children, "compile", i), 1);
    }
    town_close(&t);
}

static void cut_off(struct town *town)
{
    town->builders[0].crew.peer.cut = true;
}

static void mend(struct town *town)
{
    town->builders[0].crew.peer.cut = false;
}

/* What another has built meanwhile is not compiled, and not answered. */
static void builds_that_another_has_are_dropped(void **state)
{
    struct crew_builder *other;

    (void)state;
    begin();
    net_set_lease_ms(t.net, 6000);
    b->options.n_children = 1;
    other = town_builder(&t, "b1");
    other->crew.start_ns = 5 * WORLD_S;
    add("\"build_ms\":9000", -1);
    town_at(&t, 3000, cut_off);
    town_at(&t, 11000, mend);
    t.stay_ns = 30 * WORLD_S;
    town_run(&t, 600);
    expect(0, STATUS_OK, "", "");
    assert_int_equal(sim_n_asked(&other->crew.children, "compile"), 1);
    assert_int_equal(b->crew.done + other->crew.done, 1);
    town_close(&t);
}

/* A build is of a program for an architecture: while another has the one, the other goes on. */
static void builds_for_other_architectures_are_kept(void **state)
{
    struct crew_builder *other;
    struct crew_agent *a;

    (void)state;
    begin();
    net_set_lease_ms(t.net, 6000);
    a = town_agent(&t, "other-board");
    a->crew.children.desc.sm = 90;
    a->crew.children.no_compiler = true;
    a->options.mix = true;
    a->options.batch = t.agents[0].options.batch = 1;
    b->options.n_children = 8;
    b->options.n_sms = 2;
    b->options.sms[1] = 90;
    other = town_builder(&t, "b1"); /* for sm_61 alone */
    other->crew.start_ns = 6 * WORLD_S;
    for (int i = 0; i < 8; i++)
        add(i ? "" : "\"build_ms\":14000", i ? 0 : -1)->limits = "\"build_s\":60";
    town_at(&t, 5000, cut_off);
    town_at(&t, 14000, mend);
    t.stay_ns = 30 * WORLD_S;
    town_run(&t, 600);
    for (int i = 0; i < 8; i++)
        expect(i, STATUS_OK, "", "");
    assert_int_equal(sim_n_asked_of(&other->crew.children, "compile", 0), 1); /* it took over sm_61 */
    assert_int_equal(sim_n_asked_of(children, "compile", 0), 2);              /* each once */
    town_close(&t);
}

/* While the one is compiled the other is not taken for the same, which would leave it until its lease ends. */
static void a_program_is_built_for_two_architectures_at_once(void **state)
{
    const struct sim_asked *x, *y;
    struct crew_agent *a;

    (void)state;
    begin();
    net_set_lease_ms(t.net, 60000);
    a = town_agent(&t, "other-board");
    a->crew.children.desc.sm = 90;
    a->crew.children.no_compiler = true;
    a->options.mix = t.agents[0].options.mix = true; /* whichever comes first */
    b->options.n_sms = 2;
    b->options.sms[1] = 90;
    b->crew.start_ns = 5 * WORLD_S; /* both devices wait for it */
    add("\"build_ms\":3000", -1);
    town_run(&t, 600);
    expect(0, STATUS_OK, "", "");
    assert_int_equal(sim_n_asked_of(children, "compile", 0), 2);
    x = sim_asked(children, "compile", 0);
    y = sim_asked(children, "compile", 1);
    assert_true(y->from_ns < x->to_ns && x->child != y->child);
    town_close(&t);
}

static void drain(struct town *town)
{
    host_drain(town->net, "b0");
}

static void a_builder_that_is_asked_to_leave_finishes_first(void **state)
{
    struct crew_builder *other;

    (void)state;
    begin();
    other = town_builder(&t, "b1");
    other->crew.start_ns = 20 * WORLD_S;
    for (int i = 0; i < 12; i++)
        add("\"build_ms\":4000", -1);
    town_at(&t, 3000, drain);
    town_run(&t, 600);
    for (int i = 0; i < 12; i++)
        expect(i, STATUS_OK, "", "");
    assert_int_equal(b->crew.n_quits, 1);
    assert_int_equal(crew_told(&b->crew, "asks this agent to leave"), 1);
    assert_in_range(b->crew.done, 2, 4);
    assert_int_equal(b->crew.done + other->crew.done, 12);
    assert_true(b->crew.ended_ns < 40 * WORLD_S);
    town_close(&t);
}

static void stop_builder(struct town *town)
{
    crew_stop(&town->builders[0].crew);
}

static void goodbye_gives_builds_back_at_once(void **state)
{
    struct crew_builder *other;

    (void)state;
    begin();
    net_set_lease_ms(t.net, 60000);
    other = town_builder(&t, "b1");
    other->crew.start_ns = 2 * WORLD_S;
    b->options.n_children = other->options.n_children = 1;
    for (int i = 0; i < 3; i++)
        add("\"build_ms\":5000", -1);
    town_at(&t, 3000, stop_builder);
    town_run(&t, 600);
    assert_true(job->done_ns < 40 * WORLD_S);
    assert_int_equal(other->crew.done, 3);
    town_close(&t);
}

/* ---- the list of architectures ---- */

static void architectures_are_read(void **state)
{
    struct builder_options o;
    struct why why = {""};

    (void)state;
    assert_int_equal(builder_read_sms("sm_61,sm_75,sm_120", &o, &why), ERR_OK);
    assert_int_equal(o.n_sms, 3);
    assert_true(o.sms[0] == 61 && o.sms[1] == 75 && o.sms[2] == 120);
    assert_int_equal(builder_read_sms("sm_10,sm_999", &o, &why), ERR_OK);
}

static void what_is_no_architecture_is_named(void **state)
{
    static const char *const bad[] = {"",       "61",         "sm_",     "sm_6",  "sm_1234",      "sm_61,",
                                      ",sm_61", "sm_6x1",     "sm_61 ",  "SM_61", "sm_61,,sm_75", "sm_61;sm_75",
                                      "sm_-61", "compute_61", "sm_61,75"};
    struct builder_options o;
    char many[200] = "sm_50";

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct why why = {""};

        if (builder_read_sms(bad[i], &o, &why) != ERR_INPUT || !strstr(why.text, "is no architecture"))
            fail_msg("'%s' is taken: %s", bad[i], why.text);
    }
    for (int i = 1; i < BUILDER_MAX_SMS; i++)
        strcat(many, ",sm_75");
    assert_int_equal(builder_read_sms(many, &o, NULL), ERR_OK);
    strcat(many, ",sm_80");
    assert_int_equal(builder_read_sms(many, &o, NULL), ERR_LIMIT);
}

/* ---- what is none of the program's doing ---- */

/* That of the builder, which is not the agent's. */
static void lose_the_disk(const struct sim_asked *x, void *arg)
{
    const char *agents = t.agents[0].rig.dir.temp.path;
    char path[PATH_MAX];
    DIR *d;

    (void)arg;
    if (strcmp(x->op, "compile") != 0)
        return;
    d = opendir(getenv("TMPDIR"));
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", getenv("TMPDIR"), e->d_name);
        if (strncmp(e->d_name, WORKDIR_STEM, strlen(WORKDIR_STEM)) == 0 && strcmp(path, agents) != 0)
            town_lose_disk(&t, path);
    }
    closedir(d);
}

/* The compiler may have found no room; and nothing more is taken until there is some. */
static void what_fails_while_a_builders_disk_does_is_built_again(void **state)
{
    char own[256], *former = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;

    (void)state;
    assert_int_equal(dir_temporary("tune-test", own, sizeof own, NULL), ERR_OK);
    setenv("TMPDIR", own, 1);
    begin();
    add("\"do\":\"compile\"", -1);
    children->saw = lose_the_disk;
    town_at(&t, 20000, town_mend_disk);
    town_run(&t, 600);
    expect(0, STATUS_COMPILE, "build", "");
    assert_in_range(crew_told(&b->crew, "is given back: "), 1, 2); /* a poll may be under way */
    assert_int_equal(sim_n_asked(children, "compile"), 2);
    town_close(&t);
    if (former)
        setenv("TMPDIR", former, 1);
    else
        unsetenv("TMPDIR");
    free(former);
    dir_remove(own);
}

static void no_child_speaks_at_first(const struct sim_asked *x, void *arg)
{
    if (strcmp(x->op, "compile") == 0 && x->child <= 3)
        ((struct sim_children *)arg)->n_deaf = 4;
}

static void a_build_that_no_child_begins_is_given_back(void **state)
{
    (void)state;
    begin();
    add("", -1);
    children->saw = no_child_speaks_at_first;
    children->arg = children;
    town_run(&t, 600);
    expect(0, STATUS_OK, "", "");
    assert_true(crew_told(&b->crew, "is given back: died of signal 9 during start") >= 1);
    town_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_comes_from_a_builder),
        cmocka_unit_test(a_builder_serves_one_part),
        cmocka_unit_test(a_program_is_built_once),
        cmocka_unit_test(an_agent_that_compiles_itself_says_so_in_its_records),
        cmocka_unit_test(an_idle_builder_is_counted_on_all_the_while),
        cmocka_unit_test(a_failed_build_is_the_record_of_its_trial),
        cmocka_unit_test(a_trial_whose_anchor_does_not_compile_is_timed_without),
        cmocka_unit_test(sources_that_are_missing_are_told),
        cmocka_unit_test(files_that_a_child_names_wrongly_are_refused),
        cmocka_unit_test(a_build_has_the_limits_of_its_trial_and_program),
        cmocka_unit_test(builds_go_on_side_by_side),
        cmocka_unit_test(a_child_is_replaced_after_64_builds),
        cmocka_unit_test(a_builder_that_cannot_start_a_child_leaves),
        cmocka_unit_test(builds_that_no_child_begins_go_to_others_and_the_builder_leaves),
        cmocka_unit_test(a_builder_says_what_it_makes),
        cmocka_unit_test(a_builder_says_what_its_children_are_shut_into),
        cmocka_unit_test(its_compiler_is_known),
        cmocka_unit_test(without_a_compiler_there_is_no_builder),
        cmocka_unit_test(builds_under_way_are_renewed),
        cmocka_unit_test(builds_go_on_over_a_restart),
        cmocka_unit_test(builds_that_another_has_are_dropped),
        cmocka_unit_test(builds_for_other_architectures_are_kept),
        cmocka_unit_test(a_program_is_built_for_two_architectures_at_once),
        cmocka_unit_test(a_builder_that_is_asked_to_leave_finishes_first),
        cmocka_unit_test(goodbye_gives_builds_back_at_once),
        cmocka_unit_test(what_fails_while_a_builders_disk_does_is_built_again),
        cmocka_unit_test(a_build_that_no_child_begins_is_given_back),
        cmocka_unit_test(architectures_are_read),
        cmocka_unit_test(what_is_no_architecture_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
