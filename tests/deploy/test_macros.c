/* SPDX-License-Identifier: MIT */
/* The header of a person's own kernel: what the preprocessor makes of it for each device and size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/temp_dir.h"
#include "deploy/macros.h"
#include "tests/kernels/spec/job.h"

static char dir[256];
static struct spec *spec;

static int open_spec(void **state)
{
    struct blobs files;
    struct buf closed;
    char path[512];
    enum err e;

    (void)state;
    blobs_init(&files, 64 << 20);
    buf_init(&closed, SPEC_MAX_BYTES);
    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    job_write(dir, NULL, path);
    e = spec_load(path, &closed, &files, NULL);
    if (!e)
        e = spec_open(buf_text(&closed), closed.len, &files, &spec, NULL);
    buf_fini(&closed);
    blobs_fini(&files);
    return e;
}

static int close_spec(void **state)
{
    (void)state;
    spec_free(spec);
    dir_remove(dir);
    return 0;
}

/* A record of the job's kernel: GROUP tells them apart. */
static void add(struct best_set *best, const char *workload, const char *device, const char *fingerprint, int group)
{
    struct record r;
    bool ok = true;

    record_init(&r);
    r.workload = strdup(workload);
    r.template_version = spec_version(spec);
    r.knobs = cJSON_CreateObject();
    json_add_i64(r.knobs, "GROUP", group, &ok);
    json_add_i64(r.knobs, "PER", 1, &ok);
    json_add_i64(r.knobs, "BUG", 0, &ok);
    r.device = cJSON_CreateObject();
    json_add_text(r.device, "name", device, &ok);
    r.status = STATUS_OK;
    r.time_ns = 1e6;
    r.flops = 1000;
    snprintf(r.purpose, sizeof r.purpose, "final");
    memset(r.fingerprint.hex, fingerprint[0], SHA256_HEX);
    assert_true(ok);
    assert_int_equal(best_add(best, &r), ERR_OK);
    record_fini(&r);
}

/* What the compiler makes of the macros, defined so: GROUP's value, -1 = an error. */
static int group_of(const struct best_set *best, const char *defines)
{
    char path[300], said[320], command[1000];
    struct buf text;
    struct why why = {""};
    size_t n, n_left;
    int group = -1;

    buf_init(&text, 1 << 20);
    if (deploy_macros(best, spec, "scale.h", &text, &n, &n_left, &why))
        fail_msg("%s", why.text);
    buf_puts(&text, "GROUP\n");
    snprintf(path, sizeof path, "%s/scale.h", dir);
    snprintf(said, sizeof said, "%s/said", dir);
    assert_int_equal(file_replace(path, buf_text(&text), text.len, 0644, NULL), ERR_OK);
    buf_fini(&text);
    snprintf(command, sizeof command, "cc -E -P %s -x c %s >%s 2>/dev/null", defines, path, said);
    buf_init(&text, 1 << 20);
    if (system(command) == 0 && file_read(said, &text, NULL) == ERR_OK)
        group = atoi(buf_text(&text) + strspn(buf_text(&text), "\n"));
    buf_fini(&text);
    return group;
}

static void one_device_of_one_size_needs_no_macro(void **state)
{
    struct best_set *best;

    (void)state;
    assert_int_equal(best_new(&best), ERR_OK);
    add(best, spec_workload(spec), "Mali-T860", "a", 4);
    assert_int_equal(group_of(best, ""), 4);
    assert_int_equal(group_of(best, "-DTARGET_MALI_T860"), 4);
    add(best, spec_workload(spec), "Mali-T860", "d", 8); /* the same board with another driver */
    assert_int_equal(group_of(best, ""), 4);
    best_free(best);
}

static void devices_and_sizes_are_chosen_by_macros(void **state)
{
    struct best_set *best;

    (void)state;
    assert_int_equal(best_new(&best), ERR_OK);
    add(best, spec_workload(spec), "Mali-T860 (r1p0)", "a", 4);
    add(best, "kernel scale problem_size=2000", "Mali-T860 (r1p0)", "a", 8);
    add(best, spec_workload(spec), "GeForce GTX 1080", "b", 2);
    assert_int_equal(group_of(best, "-DTARGET_MALI_T860_R1P0 -DPROBLEM_SIZE_0=1000"), 4);
    assert_int_equal(group_of(best, "-DTARGET_MALI_T860_R1P0 -DPROBLEM_SIZE_0=2000"), 8);
    assert_int_equal(group_of(best, "-DTARGET_MALI_T860_R1P0 -DPROBLEM_SIZE_0=3000"), -1);
    assert_int_equal(group_of(best, "-DTARGET_GEFORCE_GTX_1080"), 2);
    assert_int_equal(group_of(best, ""), -1);
    best_free(best);
}

/* A log comes from anywhere: its names are no text of the header. */
static void names_do_not_end_a_comment(void **state)
{
    struct best_set *best;

    (void)state;
    assert_int_equal(best_new(&best), ERR_OK);
    add(best, "kernel scale x=*/\n#define_X problem_size=1000", "Mali */\n#undef GROUP\n#define GROUP 77 /*", "a", 4);
    assert_int_equal(group_of(best, ""), 4);
    best_free(best);
}

static void records_of_other_kernels_and_versions_are_left_out(void **state)
{
    struct best_set *best;
    struct record r;
    struct buf text;
    struct why why = {""};
    size_t n = 0, n_left = 0;

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(best_new(&best), ERR_OK);
    add(best, "kernel scales problem_size=1000", "Mali-T860", "a", 4);
    assert_int_equal(deploy_macros(best, spec, "scale.h", &text, &n, &n_left, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "kernel scale problem_size=1000"));
    add(best, spec_workload(spec), "Mali-T860", "a", 4);
    assert_int_equal(record_copy((record_init(&r), &r), best_at(best, 1)), ERR_OK);
    r.template_version++;
    memset(r.fingerprint.hex, 'c', SHA256_HEX);
    assert_int_equal(best_add(best, &r), ERR_OK);
    record_fini(&r);
    assert_int_equal(deploy_macros(best, spec, "scale.h", &text, &n, &n_left, &why), ERR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(n_left, 2);
    add(best, "kernel scale", "Mali-T860", "a", 8); /* of no size, beside one that has some */
    add(best, "kernel scale problem_size=1000,,2", "Mali-T860", "a", 8);
    buf_clear(&text);
    assert_int_equal(deploy_macros(best, spec, "scale.h", &text, &n, &n_left, &why), ERR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(n_left, 4);
    best_free(best);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_of_one_size_needs_no_macro),
        cmocka_unit_test(devices_and_sizes_are_chosen_by_macros),
        cmocka_unit_test(names_do_not_end_a_comment),
        cmocka_unit_test(records_of_other_kernels_and_versions_are_left_out),
    };

    return cmocka_run_group_tests(tests, open_spec, close_spec);
}
