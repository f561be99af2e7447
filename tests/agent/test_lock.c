/* SPDX-License-Identifier: MIT */
/* Locks and slugs. */
#include "agent/lock.h"
#include "core/file.h"

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
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static int own_dir(void **state)
{
    static char dir[PATH_MAX];

    assert_int_equal(dir_temporary("test-lock", dir, sizeof dir, NULL), ERR_OK);
    setenv("TUNE_LOCK_DIR", dir, 1);
    *state = dir;
    return 0;
}

static int remove_dir(void **state)
{
    dir_remove(*state);
    return 0;
}

static void slug_is(const char *text, const char *wanted)
{
    char slug[16];

    lock_slug_of(text, slug, sizeof slug);
    assert_string_equal(slug, wanted);
}

static void slugs_are_lower_case_words_with_dashes(void **state)
{
    (void)state;
    slug_is("Mali-T860", "mali-t860");
    slug_is("  Intel(R) Xeon(R) Processor", "intel-r-xeon-r");
    slug_is("", "x");
    slug_is("///", "x");
    slug_is("a_b.c", "a_b.c");
}

static void a_lock_is_held_by_one(void **state)
{
    int a = -1, b = -1;

    (void)state;
    assert_int_equal(lock_open("cpu", &a, NULL), ERR_OK);
    assert_int_equal(lock_open("cpu", &b, NULL), ERR_OK);
    assert_int_equal(lock_take(a, NULL, 0), ERR_OK);
    assert_int_equal(lock_take(b, NULL, 20), ERR_BUSY);
    lock_release(a);
    assert_int_equal(lock_take(b, NULL, 0), ERR_OK);
    assert_int_equal(lock_take(a, NULL, 0), ERR_BUSY);
    lock_close(b);
    assert_int_equal(lock_take(a, NULL, 0), ERR_OK);
    lock_close(a);
    lock_close(-1);
}

static void cpu_devices_share_a_lock_and_gpus_do_not(void **state)
{
    struct device_desc d = {.kind = DEVICE_CPU, .name = "pthread-x"};
    char a[LOCK_NAME_BYTES], b[LOCK_NAME_BYTES];

    (void)state;
    lock_name_of_device(&d, "0.0", a, sizeof a);
    strcpy(d.name, "another runtime");
    lock_name_of_device(&d, "1.0", b, sizeof b);
    assert_string_equal(a, b);
    d.kind = DEVICE_GPU;
    lock_name_of_device(&d, "0.0", a, sizeof a);
    lock_name_of_device(&d, "0.1", b, sizeof b);
    assert_string_not_equal(a, b);
    lock_name_of_device(&d, "1,cold", a, sizeof a); /* options make no other device */
    lock_name_of_device(&d, "1", b, sizeof b);
    assert_string_equal(a, b);
    lock_name_of_device(&d, ",cold", a, sizeof a);
    lock_name_of_device(&d, "", b, sizeof b);
    assert_string_equal(a, b);
}

/* What NVIDIA names a card by has 40 characters. */
static void cards_named_by_uuid_have_locks_of_their_own(void **state)
{
    struct device_desc d = {.kind = DEVICE_GPU, .name = "card"};
    char a[LOCK_NAME_BYTES], b[LOCK_NAME_BYTES];

    (void)state;
    lock_name_of_device(&d, "GPU-01234567-89ab-cdef-0123-456789abcde0", a, sizeof a);
    lock_name_of_device(&d, "GPU-01234567-89ab-cdef-0123-456789abcde1,cold", b, sizeof b);
    assert_string_not_equal(a, b);
    assert_string_equal(b, "card-gpu-01234567-89ab-cdef-0123-456789abcde1");
}

static void a_lock_in_no_directory_is_an_error_with_its_path(void **state)
{
    struct why why = {""};
    int fd = -1;

    (void)state;
    setenv("TUNE_LOCK_DIR", "/dev/null/none", 1);
    assert_int_equal(lock_open("cpu", &fd, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/dev/null/none/tune-cpu.lock"));
    setenv("TUNE_LOCK_DIR", *state, 1);
}

/* What another user's umask keeps from others for a moment, until its maker shares it; and what stays so. */
static void a_lock_is_shared_between_users(void **state)
{
    char path[PATH_MAX + 32];
    int status = 0, fd = -1;
    struct why why = {""};
    pid_t pid;

    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(*state, 01777), 0);
    snprintf(path, sizeof path, "%s/tune-shared.lock", (const char *)*state);
    close(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
    pid = fork();
    if (pid == 0)
        _exit(setuid(65534) != 0 || lock_open("shared", &fd, NULL) != ERR_OK || lock_take(fd, NULL, 0) != ERR_OK);
    usleep(100000);
    assert_int_equal(chmod(path, 0644), 0); /* to read is enough */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(path, 0600), 0); /* for good: it is waited for 2 s */
    pid = fork();
    if (pid == 0)
        _exit(setuid(65534) != 0 || lock_open("shared", &fd, &why) != ERR_IO ||
              !strstr(why.text, "it is user 0's, and others may not read it (chmod 666); $TUNE_LOCK_DIR names"));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slugs_are_lower_case_words_with_dashes),
        cmocka_unit_test(a_lock_is_held_by_one),
        cmocka_unit_test(a_lock_is_shared_between_users),
        cmocka_unit_test(cpu_devices_share_a_lock_and_gpus_do_not),
        cmocka_unit_test(cards_named_by_uuid_have_locks_of_their_own),
        cmocka_unit_test(a_lock_in_no_directory_is_an_error_with_its_path),
    };

    return cmocka_run_group_tests(tests, own_dir, remove_dir);
}
