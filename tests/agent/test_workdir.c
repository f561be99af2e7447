/* SPDX-License-Identifier: MIT */
/* The agent's temporary directory: its own, and those that dead agents left. */
#include "agent/workdir.h"
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
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
    strcpy(path, w.temp.path);
    assert_int_equal(access(path, F_OK), 0);
    workdir_close(&w);
    assert_int_not_equal(access(path, F_OK), 0);
    workdir_close(&w);
}

/* Drivers and children, who have folders of their own, are told where it is. */
static void a_directory_is_named_by_its_whole_path(void **state)
{
    char before[PATH_MAX], *base = strdup(getenv("TMPDIR"));
    struct workdir w;

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(base), 0);
    setenv("TMPDIR", ".", 1);
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    setenv("TMPDIR", base, 1);
    assert_int_equal(chdir(before), 0);
    assert_true(*w.temp.path == '/');
    assert_int_equal(access(w.temp.path, F_OK), 0);
    workdir_close(&w);
    free(base);
}

static void sweeping_spares_the_living(void **state)
{
    struct workdir w;

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    assert_int_equal(workdir_sweep(), 0);
    assert_int_equal(access(w.temp.path, F_OK), 0);
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

#define MANY 600

static int count(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* A process with a folder of many files that begins to remove it at once. */
static pid_t removing(char path[PATH_MAX])
{
    char file[PATH_MAX + 16];
    struct workdir w;
    int ready[2];
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        workdir_open(&w, NULL);
        for (int i = 0; i < MANY; i++) {
            snprintf(file, sizeof file, "%s/%d", w.temp.path, i);
            close(open(file, O_CREAT | O_WRONLY, 0600));
        }
        (void)!write(ready[1], w.temp.path, PATH_MAX);
        workdir_close(&w);
        pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], path, PATH_MAX), PATH_MAX);
    close(ready[0]);
    return pid;
}

/* The lock goes last: what is left is known to be of a dead one, and not for something in the making. */
static void who_is_killed_at_its_removal_leaves_its_lock(void **state)
{
    char path[PATH_MAX], lock[PATH_MAX + 16];
    int n_cut = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        const pid_t pid = removing(path);
        int n = MANY;

        while (n > MANY / 8 * (7 - i) + 20)
            n = count(path);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        n = count(path);
        snprintf(lock, sizeof lock, "%s/lock", path);
        if (n > 2 && access(lock, F_OK) != 0)
            fail_msg("%d files are left without their lock", n - 2);
        n_cut += n > 2;
        assert_int_equal(workdir_sweep(), n > 2);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_true(n_cut > 0);
}

/* Without a lock it may be in the making; not any more after ten minutes. What has another name is no agent's. */
static void sweeping_removes_orphans_when_they_are_old(void **state)
{
    static const char *const names[] = {WORKDIR_STEM ".young", WORKDIR_STEM ".old", "tune-other.old"};
    const time_t now = time(NULL);
    struct utimbuf old = {now - 700, now - 700}, young = {now - 500, now - 500};
    char path[3][PATH_MAX];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", getenv("TMPDIR"), names[i]);
        assert_int_equal(dir_make(path[i], 0700, NULL), ERR_OK);
        assert_int_equal(utime(path[i], i ? &old : &young), 0);
    }
    assert_int_equal(workdir_sweep(), 1);
    assert_int_equal(access(path[0], F_OK), 0);
    assert_int_not_equal(access(path[1], F_OK), 0);
    assert_int_equal(access(path[2], F_OK), 0);
    dir_remove(path[0]);
    dir_remove(path[2]);
}

static void a_blob_may_have_a_second_name(void **state)
{
    struct workdir w;
    struct blobs set;
    struct sha256 name;
    struct why why = {""};
    char to[PATH_MAX + 32];

    (void)state;
    blobs_init(&set, 1 << 20);
    blobs_put(&set, "code", 4, &name);
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
    snprintf(to, sizeof to, "%s/second", w.temp.path);
    assert_int_equal(workdir_link(&w, name.hex, to, &why), ERR_OK);
    assert_int_equal(access(to, R_OK), 0);
    assert_int_equal(workdir_link(&w, name.hex, to, &why), ERR_OK); /* it is there */
    snprintf(to, sizeof to, "%s/no/such/folder", w.temp.path);
    assert_int_equal(workdir_link(&w, name.hex, to, &why), ERR_IO);
    assert_non_null(strstr(why.text, "no/such/folder"));
    workdir_close(&w);
    blobs_fini(&set);
}

static void caches_of_generations_lie_apart(void **state)
{
    struct workdir w;
    char a[PATH_MAX + 32], b[PATH_MAX + 32];

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    workdir_cache(&w, 0, a, sizeof a);
    workdir_cache(&w, 1, b, sizeof b);
    assert_string_not_equal(a, b);
    assert_true(dir_make(a, 0700, NULL) == ERR_OK && dir_make(b, 0700, NULL) == ERR_OK);
    workdir_drop_cache(&w, 0);
    assert_int_not_equal(access(a, F_OK), 0);
    assert_int_equal(access(b, F_OK), 0);
    workdir_close(&w);
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
    assert_int_equal(workdir_load_blob(w.temp.path, name.hex, &got, &why), ERR_OK);
    assert_memory_equal(blobs_get(&got, name.hex)->data, "hello", 5);
    blobs_fini(&got);
    blobs_init(&got, 1 << 20);
    snprintf(path, sizeof path, "%s/blobs/%s", w.temp.path, name.hex);
    assert_int_equal(file_replace(path, "hallo", 5, 0600, NULL), ERR_OK);
    assert_int_equal(workdir_load_blob(w.temp.path, name.hex, &got, &why), ERR_PROTOCOL);
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

static void blobs_are_so_many_at_most(void **state)
{
    char text[16], blobs[PATH_MAX + 16];
    struct sha256 name, first;
    struct blobs set;
    struct workdir w;

    (void)state;
    blobs_init(&set, 1 << 20);
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    for (int i = 0; i < WORKDIR_MAX_BLOBS + 10; i++) {
        snprintf(text, sizeof text, "%d", i);
        blobs_put(&set, text, strlen(text), &name);
        assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
        first = i ? first : name;
        assert_true(workdir_has(&w, first.hex)); /* what each trial needs, as its expected outputs, */
    }
    workdir_trim(&w, w.stamp - 1); /* the last one is in use */
    snprintf(blobs, sizeof blobs, "%s/blobs", w.temp.path);
    assert_int_equal(count(blobs), WORKDIR_MAX_BLOBS + 2);
    assert_true(workdir_has(&w, name.hex));
    assert_true(workdir_has(&w, first.hex)); /* stays */
    workdir_close(&w);
    blobs_fini(&set);
}

/* What is put there meanwhile keeps the folder, and the lock with it. */
static void what_stays_keeps_the_lock(void **state)
{
    char inner[PATH_MAX + 32], lock[PATH_MAX + 16];
    struct workdir w;
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0 || access("/proc/self/ns/mnt", F_OK) != 0)
        skip();
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    snprintf(inner, sizeof inner, "%s/blobs/kept", w.temp.path);
    snprintf(lock, sizeof lock, "%s/lock", w.temp.path);
    assert_int_equal(dir_make(inner, 0700, NULL), ERR_OK);
    pid = fork();
    if (pid == 0) { /* a mount point cannot be removed */
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount(inner, inner, NULL, MS_BIND, NULL) != 0)
            _exit(77);
        workdir_remove(&w);
        _exit(access(lock, F_OK) == 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    workdir_close(&w);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Those who remove old files from /tmp leave locked directories alone. */
static void its_directory_is_locked_for_those_who_tidy(void **state)
{
    struct workdir w;
    int fd;

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    fd = open(w.temp.path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
    workdir_close(&w);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

static void a_blob_that_somebody_removed_is_not_here(void **state)
{
    struct workdir w;
    struct blobs set;
    struct sha256 name;
    char path[PATH_MAX + 80];

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    blobs_init(&set, 1000);
    assert_int_equal(blobs_put(&set, "abc", 3, &name), ERR_OK);
    for (int i = 0; i < 3; i++) {
        assert_false(workdir_has(&w, name.hex));
        assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
        assert_true(workdir_has(&w, name.hex));
        assert_int_equal(w.sum_bytes, 3);
        snprintf(path, sizeof path, "%s/blobs/%s", w.temp.path, name.hex);
        assert_int_equal(i == 1 ? truncate(path, 2) : unlink(path), 0);
    }
    assert_false(workdir_has(&w, name.hex));
    assert_int_equal(w.sum_bytes, 0);
    assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
    workdir_doubt(&w);
    assert_true(workdir_has(&w, name.hex));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_append(path, "abd", 3, false, NULL), ERR_OK);
    assert_true(workdir_has(&w, name.hex)); /* as it seems */
    workdir_doubt(&w);
    assert_false(workdir_has(&w, name.hex));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(file_append(path, "left", 4, false, NULL), ERR_OK);
    assert_int_equal(workdir_put(&w, &set, name.hex, NULL), ERR_OK);
    assert_true(workdir_has(&w, name.hex)); /* of its own length: it was not put behind what lay there */
    blobs_fini(&set);
    workdir_close(&w);
}

/* On a tmpfs of 17 MiB, in a mount namespace of its own; where that is refused, without. */
static void a_disk_without_room_is_told(void **state)
{
    const char *base = getenv("TMPDIR");
    char big[PATH_MAX + 16], blobs[PATH_MAX + 16];
    static char mib[1 << 20];
    struct rlimit limit, small;
    struct workdir w;
    struct why why = {""};
    bool own = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
               mount("tmpfs", base, "tmpfs", 0, "size=17m") == 0;

    (void)state;
    assert_int_equal(workdir_open(&w, NULL), ERR_OK);
    snprintf(big, sizeof big, "%s/big", base);
    snprintf(blobs, sizeof blobs, "%s/blobs", w.temp.path);
    if (own) {
        assert_int_equal(workdir_check(&w, &why), ERR_OK);
        for (int i = 0; i < 2; i++)
            assert_int_equal(file_append(big, mib, sizeof mib, false, NULL), ERR_OK);
        assert_int_equal(workdir_check(&w, &why), ERR_IO);
        assert_non_null(strstr(why.text, " MiB are left on its disk, and 16 have to be"));
        while (file_append(big, mib, sizeof mib, false, NULL) == ERR_OK)
            ;
        while (file_append(big, mib, 1, false, NULL) == ERR_OK)
            ;
        assert_int_equal(workdir_check(&w, &why), ERR_IO);
        assert_non_null(strstr(why.text, strerror(ENOSPC)));
        unlink(big);
        assert_int_equal(workdir_check(&w, &why), ERR_OK);
        assert_int_equal(mount(blobs, blobs, NULL, MS_BIND, NULL), 0);
        assert_int_equal(mount(NULL, blobs, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
        assert_int_equal(workdir_check(&w, &why), ERR_IO);
        assert_non_null(strstr(why.text, strerror(EROFS)));
        assert_int_equal(umount(blobs), 0);
        assert_false(workdir_is_noexec(&w));
        assert_int_equal(mount(NULL, base, NULL, MS_REMOUNT | MS_NOEXEC, "size=17m"), 0);
        assert_true(workdir_is_noexec(&w));
    } else {
        print_message("no mount here: a full and a read-only disk are left out\n");
    }
    assert_int_equal(workdir_check(&w, &why), ERR_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(workdir_check(&w, &why), ERR_IO);
    assert_non_null(strstr(why.text, "1.0 MiB at most (ulimit -f)"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    dir_remove(blobs);
    assert_int_equal(workdir_check(&w, &why), ERR_IO);
    dir_remove(w.temp.path);
    assert_int_equal(workdir_check(&w, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "is gone"));
    workdir_close(&w);
    if (own)
        umount(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_gone_after_close),
        cmocka_unit_test(a_directory_is_named_by_its_whole_path),
        cmocka_unit_test(sweeping_spares_the_living),
        cmocka_unit_test(sweeping_removes_what_the_killed_left),
        cmocka_unit_test(who_is_killed_at_its_removal_leaves_its_lock),
        cmocka_unit_test(blobs_come_back_checked),
        cmocka_unit_test(sweeping_removes_orphans_when_they_are_old),
        cmocka_unit_test(a_blob_may_have_a_second_name),
        cmocka_unit_test(caches_of_generations_lie_apart),
        cmocka_unit_test(trimming_keeps_what_is_in_use),
        cmocka_unit_test(blobs_are_so_many_at_most),
        cmocka_unit_test(what_stays_keeps_the_lock),
        cmocka_unit_test(its_directory_is_locked_for_those_who_tidy),
        cmocka_unit_test(a_blob_that_somebody_removed_is_not_here),
        cmocka_unit_test(a_disk_without_room_is_told),
    };

    return cmocka_run_group_tests(tests, own_tmp, remove_tmp);
}
