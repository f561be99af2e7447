/* SPDX-License-Identifier: MIT */
/* The agent's temporary directory: its own, and those that dead agents left. */
#include "agent/workdir.h"
#include "core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static int own_tmp(void **state)
{
    static char base[PATH_MAX];
    struct why why = {""};

    unsetenv("TMPDIR");
    if (dir_temporary("test-workdir", base, sizeof base, &why))
        fail_msg("%s", why.text);
    setenv("TMPDIR", base, 1);
    *state = base;
    return 0;
}

static int remove_tmp(void **state)
{
    dir_remove(*state);
    return 0;
}

static void a_directory_is_gone_after_close(void **state)
{
    struct workdir w;
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    strcpy(path, w.path);
    assert_int_equal(access(path, F_OK), 0);
    workdir_close(&w);
    assert_int_not_equal(access(path, F_OK), 0);
    workdir_close(&w);
}

static void sweeping_spares_the_living(void **state)
{
    struct workdir w;

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    assert_int_equal(workdir_sweep(), 0);
    assert_int_equal(access(w.path, F_OK), 0);
    workdir_close(&w);
}

static void sweeping_removes_what_the_killed_left(void **state)
{
    struct workdir w;
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        workdir_open(&w, NULL);
        _exit(0); /* as SIGKILL would: nothing is cleaned */
    }
    waitpid(pid, &status, 0);
    assert_int_equal(workdir_sweep(), 1);
    assert_int_equal(workdir_sweep(), 0);
}

static void blobs_come_back_checked(void **state)
{
    struct workdir w;
    struct blobs set, got;
    struct sha256 name;
    struct why why = {""};
    char path[PATH_MAX + 100];

    (void)state;
    blobs_init(&set, 1 << 20);
    blobs_init(&got, 1 << 20);
    blobs_put(&set, "hello", 5, &name);
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    assert_false(workdir_has(&w, name.hex));
    assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
    assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
    assert_true(workdir_has(&w, name.hex));
    assert_int_equal(workdir_load_blob(w.path, name.hex, &got, &why), ERR_OK);
    assert_memory_equal(blobs_get(&got, name.hex)->data, "hello", 5);
    blobs_fini(&got);
    blobs_init(&got, 1 << 20);
    snprintf(path, sizeof path, "%s/blobs/%s", w.path, name.hex);
    assert_int_equal(file_replace(path, "hallo", 5, 0600, NULL), ERR_OK);
    assert_int_equal(workdir_load_blob(w.path, name.hex, &got, &why), ERR_PROTOCOL);
    assert_int_equal(workdir_put(&w, &set, "0123", &why), ERR_NOT_FOUND);
    workdir_close(&w);
    blobs_fini(&set);
    blobs_fini(&got);
}

static void trimming_keeps_what_is_in_use(void **state)
{
    struct workdir w;
    struct blobs set;
    struct sha256 old, used;
    int64_t stamp;

    (void)state;
    blobs_init(&set, 1 << 20);
    blobs_put(&set, "old", 3, &old);
    blobs_put(&set, "used", 4, &used);
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    workdir_put(&w, &set, old.hex, NULL);
    stamp = w.stamp;
    workdir_put(&w, &set, used.hex, NULL);
    workdir_trim(&w, w.stamp);
    assert_true(workdir_has(&w, old.hex)); /* far under the maximum: nothing goes */
    assert_int_equal(w.sum_bytes, 7);
    w.blobs[0].used = stamp;
    w.sum_bytes += WORKDIR_MAX_BLOB_BYTES;
    workdir_trim(&w, stamp);
    assert_false(workdir_has(&w, old.hex));
    assert_true(workdir_has(&w, used.hex));
    assert_int_equal(w.sum_bytes - WORKDIR_MAX_BLOB_BYTES, 4);
    assert_int_equal(workdir_put(&w, &set, old.hex, NULL), ERR_OK); /* its file is gone as well */
    workdir_close(&w);
    blobs_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_gone_after_close),       cmocka_unit_test(sweeping_spares_the_living),
        cmocka_unit_test(sweeping_removes_what_the_killed_left), cmocka_unit_test(blobs_come_back_checked),
        cmocka_unit_test(trimming_keeps_what_is_in_use),
    };

    return cmocka_run_group_tests(tests, own_tmp, remove_tmp);
}
