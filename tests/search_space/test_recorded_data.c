/* SPDX-License-Identifier: MIT */
/* All recorded spaces under ${TUNE_TEST_DATA}/replay; skipped where that is not set. */
#include "search_space/recorded.h"

#include "core/file.h"

#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SKIPPED 77

static glob_t found;

static int64_t n_configs_of(const char *path)
{
    struct buf text;
    cJSON *json = NULL;
    int64_t n = -1;

    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    assert_int_equal(json_parse(text.data, text.len, &json, NULL), ERR_OK);
    assert_int_equal(json_get_i64(json, "n_configs", 0, INT32_MAX, &n, NULL), ERR_OK);
    cJSON_Delete(json);
    buf_fini(&text);
    return n;
}

static void check_recording(const char *path)
{
    struct recorded *r = NULL;
    struct why why = {""};
    const struct space *s;
    double n_valid;
    bool exact;

    if (recorded_open(path, &r, &why))
        fail_msg("%s", why.text);
    s = recorded_space(r);
    n_valid = space_count_valid(s, 10000000, &exact);
    assert_true(exact);
    if ((int64_t)n_valid != n_configs_of(path) || (int64_t)recorded_n_rows(r) != n_configs_of(path))
        fail_msg("%s: %g valid, %zu rows, expected %lld", path, n_valid, recorded_n_rows(r),
                 (long long)n_configs_of(path));
    for (size_t i = 0; i < recorded_n_rows(r); i++) {
        const struct config *c = &recorded_row(r, i)->config;
        struct config back;

        if (recorded_find(r, c) != (int64_t)i || space_at(s, space_index(s, c), &back) != ERR_OK ||
            !space_config_equal(s, c, &back))
            fail_msg("%s: row %zu is not found again", path, i);
    }
    recorded_close(r);
}

static void every_recorded_space_reproduces_its_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_recording(found.gl_pathv[i]);
    printf("%zu recorded spaces\n", found.gl_pathc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recorded_space_reproduces_its_count),
    };
    const char *data = getenv("TUNE_TEST_DATA");
    char pattern[PATH_MAX];
    int failed;

    snprintf(pattern, sizeof pattern, "%s/replay/*.json", data ? data : "");
    if (!data || !*data || glob(pattern, 0, NULL, &found) != 0) {
        printf("skipped: TUNE_TEST_DATA names no directory with replay/*.json\n");
        return SKIPPED;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    globfree(&found);
    return failed;
}
