/* SPDX-License-Identifier: MIT */
/* One compile child, played by this test: what is asked of it, what is taken from it, and what is left on the disk. */
#include "agent/forge.h"
#include "core/file.h"
#include "core/json.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct {
    enum sandbox_fate fates[4]; /* of the requests, in order */
    const char *reply;
    bool cannot_start, stops_agent;
    int n_to_lose; /* requests in which the folder goes */
    int n_started, n_asked;
    char cache[PATH_MAX], asked[512];
    struct sandbox_limits limits;
} fake;

static atomic_bool stop;
static char dir[PATH_MAX - 64];
static struct forge forge;
static struct built built;
static struct buf code[PROGRAM_MAX_MODULES];

static enum err start(struct sandbox *s, const struct sandbox_options *o, struct why *why)
{
    if (fake.cannot_start)
        return why_set(why, ERR_IO, "out of processes");
    assert_string_equal(o->mode, "compile");
    mkdir(o->cache_dir, 0700);
    snprintf(fake.cache, sizeof fake.cache, "%s", o->cache_dir);
    snprintf(s->cache_dir, sizeof s->cache_dir, "%s", o->cache_dir);
    s->cache_fd = open(o->cache_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->pid = ++fake.n_started;
    return ERR_OK;
}

static void write_file(const char *name, const char *text)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s", fake.cache, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}

/* Writes two modules' code, and leaves a third file behind. */
static void ask(struct sandbox *s, cJSON *request, const struct sandbox_limits *limits, cJSON **reply,
                struct sandbox_end *end)
{
    (void)s;
    snprintf(fake.asked, sizeof fake.asked, "%s", "");
    cJSON_PrintPreallocated(request, fake.asked, sizeof fake.asked, false);
    fake.limits = *limits;
    end->fate = fake.fates[fake.n_asked++];
    strcpy(end->stage, "build");
    why_set(&end->words, ERR_CHILD, "it ended");
    write_file("a.cubin", "code of a");
    write_file("b.cubin", "code of b");
    if (end->fate == SANDBOX_DIED)
        write_file("half-made", "co");
    if (end->fate == SANDBOX_REPLIED)
        *reply = cJSON_Parse(fake.reply);
    if (fake.n_to_lose-- > 0)
        dir_remove(fake.cache);
    atomic_store(&stop, fake.stops_agent);
    cJSON_Delete(request);
}

static void end_child(struct sandbox *s)
{
    if (s->cache_fd >= 0)
        close(s->cache_fd);
    s->cache_fd = -1;
    s->pid = 0;
}

static const struct sandbox_ops played = {.start = start, .ask = ask, .end_child = end_child, .kill = end_child};

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.reply = "{\"status\":\"ok\",\"build_ms\":250,\"compiler\":\"NVRTC 13.0\",\"files\":[\"a.cubin\",\"b.cubin\"],"
                 "\"resources\":[{\"kernel\":\"f\",\"registers\":40}]}";
    atomic_store(&stop, false);
    if (dir_temporary("test-forge", dir, sizeof dir, NULL))
        return -1;
    forge_init(&forge, &(struct forge_options){.dir = dir, .i = 3, .stop = &stop, .sandbox = &played});
    built_init(&built);
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_init(&code[i], 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    forge_fini(&forge);
    built_fini(&built);
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        buf_fini(&code[i]);
    dir_remove(dir);
    return 0;
}

static enum err compile(void)
{
    const struct forge_order order = {
        .program = "123", .sm = 90, .cuda_version = 12040, .build_s = 7, .memory_bytes = 9000000};

    return forge_compile(&forge, &order, &built, code, NULL);
}

static int n_files(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *entry;
    int n = 0;

    assert_non_null(d);
    while ((entry = readdir(d)))
        n += entry->d_name[0] != '.';
    closedir(d);
    return n;
}

static void code_is_taken_and_leaves_the_disk(void **state)
{
    (void)state;
    assert_int_equal(compile(), ERR_OK);
    assert_int_equal(built.status, STATUS_OK);
    assert_int_equal(built.n_files, 2);
    assert_string_equal(built.files[1].name, "b.cubin");
    assert_string_equal(buf_text(&code[1]), "code of b");
    assert_string_equal(built.files[1].blob.hex, sha256_of("code of b", 9).hex);
    assert_true(built.build_ms == 250);
    assert_string_equal(built.compiler, "NVRTC 13.0");
    assert_int_equal(cJSON_GetArraySize(built.resources), 1);
    assert_string_equal(built.by, "");
    assert_int_equal(n_files(fake.cache), 0);
}

static void a_request_names_program_architecture_and_driver(void **state)
{
    (void)state;
    compile();
    assert_string_equal(fake.asked, "{\"op\":\"compile\",\"program\":\"123\",\"sm\":90,\"cuda_version\":12040}");
    assert_true(fake.limits.build_s == 7 && fake.limits.start_s == 120);
    assert_int_equal(fake.limits.memory_bytes, 9000000);
    assert_int_equal(strncmp(fake.cache, dir, strlen(dir)), 0);
}

static void who_dies_is_asked_once_more_in_an_empty_folder(void **state)
{
    (void)state;
    fake.fates[0] = SANDBOX_DIED;
    assert_int_equal(compile(), ERR_OK);
    assert_int_equal(built.status, STATUS_OK);
    assert_int_equal(fake.n_started, 2);
    assert_int_equal(n_files(fake.cache), 0); /* nothing half made */
}

/* What was answered without it, be it a failure or code that is not there, says nothing of the program. */
static void a_folder_that_somebody_removed_is_made_anew(void **state)
{
    static const char *const replies[] = {"{\"status\":\"compile\",\"stage\":\"build\",\"why\":\"line 3: no\"}",
                                          "{\"status\":\"ok\",\"files\":[\"a.cubin\"]}"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        fake.reply = replies[i];
        fake.n_started = fake.n_asked = 0;
        fake.n_to_lose = 1;
        built_fini(&built);
        strcpy(built.by, "me");
        forge_fini(&forge);
        assert_int_equal(compile(), ERR_OK);
        assert_int_equal(built.status, i ? STATUS_OK : STATUS_COMPILE);
        assert_string_equal(built.by, "me");
        assert_int_equal(fake.n_started, 2);
        fake.n_to_lose = 2;
        assert_int_equal(compile(), ERR_OK);
        assert_string_equal(built.stage, SANDBOX_START);
        assert_non_null(strstr(built.why, "somebody removed"));
        assert_int_equal(built.n_files, 0);
    }
    fake.n_to_lose = 0;
    fake.n_started = fake.n_asked = 0;
    built_fini(&built);
    assert_int_equal(compile(), ERR_OK);
    dir_remove(fake.cache); /* between two */
    assert_int_equal(compile(), ERR_OK);
    assert_int_equal(built.status, STATUS_OK);
    assert_int_equal(fake.n_started, 2);
}

static void ends_of_the_child_are_statuses(void **state)
{
    static const struct {
        enum sandbox_fate fate;
        enum record_status status;
        int n_asked;
    } cases[] = {
        {SANDBOX_DIED, STATUS_CRASH, 2}, {SANDBOX_TIMEOUT, STATUS_TIMEOUT, 1}, {SANDBOX_MEMORY, STATUS_LIMITS, 1}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        fake.n_asked = 0;
        for (int k = 0; k < 4; k++)
            fake.fates[k] = cases[i].fate;
        built_fini(&built);
        assert_int_equal(compile(), ERR_OK);
        assert_int_equal(built.status, cases[i].status);
        assert_string_equal(built.why, "it ended");
        assert_string_equal(built.stage, "build");
        assert_int_equal(built.n_files, 0);
        assert_int_equal(fake.n_asked, cases[i].n_asked);
    }
}

static void what_the_child_says_of_a_failure_is_kept(void **state)
{
    (void)state;
    fake.reply = "{\"status\":\"compile\",\"stage\":\"build\",\"why\":\"line 3: no\",\"build_ms\":5}";
    assert_int_equal(compile(), ERR_OK);
    assert_int_equal(built.status, STATUS_COMPILE);
    assert_string_equal(built.why, "line 3: no");
    assert_true(built.build_ms == 5);
    built_fini(&built);
    fake.reply = "{\"status\":\"splendid\"}";
    assert_int_equal(compile(), ERR_OK);
    assert_int_equal(built.status, STATUS_CRASH);
}

static void a_child_that_names_too_many_files_or_wrong_ones_has_crashed(void **state)
{
    static const char *const names[] = {"\"../a.cubin\"", "\".hidden\"", "7"};
    char text[600] = "{\"status\":\"ok\",\"files\":[\"a.cubin\"";

    (void)state;
    for (int i = 0; i < 3; i++) {
        char reply[80];

        snprintf(reply, sizeof reply, "{\"status\":\"ok\",\"files\":[%s]}", names[i]);
        fake.reply = reply;
        fake.n_asked = 0;
        built_fini(&built);
        assert_int_equal(compile(), ERR_OK);
        assert_int_equal(built.status, STATUS_CRASH);
        assert_int_equal(built.n_files, 0);
    }
    for (int i = 0; i < PROGRAM_MAX_MODULES; i++)
        strcat(text, ",\"b.cubin\"");
    strcat(text, "]}");
    fake.reply = text;
    built_fini(&built);
    assert_int_equal(compile(), ERR_OK);
    assert_true(built.status != STATUS_OK && built.n_files == 0);
}

static void no_child_is_no_fault_of_the_program(void **state)
{
    (void)state;
    fake.cannot_start = true;
    assert_int_equal(compile(), ERR_IO);
    assert_int_equal(built.status, STATUS_OK);
    assert_null(built.why);
}

static void an_agent_that_stops_starts_no_child(void **state)
{
    (void)state;
    fake.fates[0] = SANDBOX_DIED;
    fake.stops_agent = true;
    assert_int_equal(compile(), ERR_CANCELLED);
    assert_int_equal(fake.n_started, 1);
    assert_int_equal(built.status, STATUS_OK);
    fake.fates[1] = SANDBOX_CANCELLED;
    fake.stops_agent = false;
    atomic_store(&stop, false);
    assert_int_equal(compile(), ERR_CANCELLED);
}

#define WITH_FORGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FORGE(code_is_taken_and_leaves_the_disk),
        WITH_FORGE(a_request_names_program_architecture_and_driver),
        WITH_FORGE(who_dies_is_asked_once_more_in_an_empty_folder),
        WITH_FORGE(a_folder_that_somebody_removed_is_made_anew),
        WITH_FORGE(ends_of_the_child_are_statuses),
        WITH_FORGE(what_the_child_says_of_a_failure_is_kept),
        WITH_FORGE(a_child_that_names_too_many_files_or_wrong_ones_has_crashed),
        WITH_FORGE(no_child_is_no_fault_of_the_program),
        WITH_FORGE(an_agent_that_stops_starts_no_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
