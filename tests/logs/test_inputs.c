/* SPDX-License-Identifier: MIT */
/* Files as logs come: plain, gzipped, piped; what cannot be read to its end. */
#include "core/buf.h"
#include "core/file.h"
#include "logs/input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char dir[256];

static const char *at(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put_gzipped(const char *path, const void *bytes, size_t n)
{
    gzFile f = gzopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

/* All of an opened file, twice, as it can be rewound. */
static void check_input(const char *path, const char *expected, size_t n)
{
    char *got = malloc(n + 1);
    struct why why = {""};
    int fd = -1;

    assert_non_null(got);
    if (input_open(path, &fd, &why))
        fail_msg("%s", why.text);
    for (int pass = 0; pass < 2; pass++) {
        size_t n_got = 0;
        ssize_t some;

        while ((some = read(fd, got + n_got, n + 1 - n_got)) > 0)
            n_got += (size_t)some;
        assert_int_equal(n_got, n);
        assert_memory_equal(got, expected, n);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    }
    close(fd);
    free(got);
}

static void files_are_opened_plain_gzipped_and_piped(void **state)
{
    enum { N = 300000 }; /* more than one piece */
    char *text = malloc(N);
    int fd[2], kept = dup(STDIN_FILENO);
    pid_t pid;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < N; i++)
        text[i] = (char)(i * 31 + i / 1000);
    assert_int_equal(file_replace(at("plain"), text, N, 0600, NULL), ERR_OK);
    check_input(at("plain"), text, N);
    put_gzipped(at("zipped"), text, N);
    check_input(at("zipped"), text, N);
    put_gzipped(at("zipped"), "", 0);
    check_input(at("zipped"), "", 0);
    assert_int_equal(file_replace(at("short"), "\x1f", 1, 0600, NULL), ERR_OK);
    check_input(at("short"), "\x1f", 1);
    check_input("/dev/null", "", 0);
    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        close(fd[0]);
        _exit(write(fd[1], text, N) != N);
    }
    close(fd[1]);
    assert_int_equal(dup2(fd[0], STDIN_FILENO), STDIN_FILENO);
    check_input("-", text, N);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fd[0]);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
    free(text);
}

static void what_cannot_be_read_to_its_end_is_refused(void **state)
{
    static const struct {
        const char *path, *words;
        enum err e;
    } cases[] = {{"/dev/zero", "a device: expected a file", ERR_IO},
                 {"/", "a directory: expected a file", ERR_IO},
                 {"/nonexistent/x", "/nonexistent/x", ERR_NOT_FOUND}};
    struct buf zipped;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        int fd = -1;

        if (input_open(cases[i].path, &fd, &why) != cases[i].e || !strstr(why.text, cases[i].words))
            fail_msg("%s: %s", cases[i].path, why.text);
        assert_int_equal(fd, -1);
    }
    put_gzipped(at("zipped"), "some text that is not short at all", 34);
    buf_init(&zipped, 1000);
    assert_int_equal(file_read(at("zipped"), &zipped, NULL), ERR_OK);
    for (size_t n = 3; n < zipped.len; n += 7) {
        struct why why = {""};
        int fd = -1;

        assert_int_equal(file_replace(at("cut"), zipped.data, n, 0600, NULL), ERR_OK);
        if (input_open(at("cut"), &fd, &why) != ERR_IO || !strstr(why.text, "cut short"))
            fail_msg("cut at %zu: %s", n, why.text);
    }
    buf_fini(&zipped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_opened_plain_gzipped_and_piped),
        cmocka_unit_test(what_cannot_be_read_to_its_end_is_refused),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
