/* SPDX-License-Identifier: MIT */
/* Whole files in and out, directories, and gzipped tables. */
#include "core/csvz.h"
#include "core/file.h"
#include "core/rng.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char dir[256], path[300];

static int make_dir(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s", "");
    if (dir_temporary("file", dir, sizeof dir, NULL) != ERR_OK)
        return -1;
    snprintf(path, sizeof path, "%s/x", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    dir_remove(dir);
    return access(dir, F_OK) == 0; /* gone */
}

static void files_are_replaced_and_read_whole(void **state)
{
    struct buf b;
    struct stat st;

    (void)state;
    buf_init(&b, 5);
    assert_int_equal(file_read(path, &b, NULL), ERR_NOT_FOUND);
    assert_int_equal(file_replace(path, "abcde", 5, 0600, NULL), ERR_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "abcde");
    buf_clear(&b);
    assert_int_equal(file_replace(path, "abcdef", 6, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(path, &b, NULL), ERR_LIMIT);
    buf_clear(&b);
    assert_int_equal(file_replace(path, "", 0, 0600, NULL), ERR_OK);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_int_equal(b.len, 0);
    assert_int_equal(file_read(dir, &b, NULL), ERR_IO);
    buf_fini(&b);
}

static void a_pipe_is_written_into_not_replaced(void **state)
{
    struct stat st;
    char said[4] = "";
    int fd;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(file_replace(path, "abc", 3, 0644, NULL), ERR_OK);
    assert_int_equal(read(fd, said, 3), 3);
    assert_string_equal(said, "abc");
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    close(fd);
    assert_int_equal(file_replace(dir, "abc", 3, 0644, NULL), ERR_IO);
}

static void appending_adds_at_the_end(void **state)
{
    struct why why;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(file_append(path, "ab", 2, false, NULL), ERR_OK);
    assert_int_equal(file_append(path, "cd", 2, true, NULL), ERR_OK);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "abcd");
    assert_int_equal(file_append("/nonexistent/x", "a", 1, false, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/nonexistent/x"));
    buf_fini(&b);
}

static void directories_are_made_with_parents_and_removed_with_children(void **state)
{
    char deep[400], outside[400], inside[400];

    (void)state;
    snprintf(deep, sizeof deep, "%s/a/b//c", dir);
    assert_int_equal(dir_make(deep, 0755, NULL), ERR_OK);
    assert_int_equal(dir_make(deep, 0755, NULL), ERR_OK);
    assert_int_equal(dir_make("", 0755, NULL), ERR_INPUT);
    snprintf(outside, sizeof outside, "%s/kept", dir);
    assert_int_equal(file_replace(outside, "x", 1, 0644, NULL), ERR_OK);
    snprintf(inside, sizeof inside, "%s/a/link", dir);
    assert_int_equal(symlink("..", inside), 0);
    snprintf(inside, sizeof inside, "%s/a", dir);
    dir_remove(inside);
    assert_int_equal(access(inside, F_OK), -1);
    assert_int_equal(access(outside, F_OK), 0); /* links are not followed */
    dir_remove(NULL);
}

static void put_gz(const char *text)
{
    gzFile f = gzopen(path, "wb");

    assert_non_null(f);
    gzputs(f, text);
    gzclose(f);
}

static void gzipped_tables_are_read_by_name(void **state)
{
    struct csvz t;

    (void)state;
    put_gz("a,b,c\r\n1,x,\n2.5,y z,nonsense\n");
    assert_int_equal(csvz_read(path, &t, NULL), ERR_OK);
    assert_int_equal(t.n_columns, 3);
    assert_int_equal(t.n_rows, 2);
    assert_int_equal(csvz_column(&t, "c"), 2);
    assert_int_equal(csvz_column(&t, "d"), -1);
    assert_string_equal(csvz_text(&t, 1, 1), "y z");
    assert_true(csvz_number(&t, 1, 0) == 2.5);
    assert_true(isnan(csvz_number(&t, 0, 2)) && isnan(csvz_number(&t, 1, 2)));
    csvz_fini(&t);
    csvz_fini(NULL);
}

static void numbers_of_a_table_are_those_of_strtod(void **state)
{
    static const char *const odd[] = {"0",
                                      "-0",
                                      "1.",
                                      ".5",
                                      "-.25",
                                      "123456789012345",
                                      "1234567890123456",
                                      "1e3",
                                      "+2",
                                      " 2",
                                      "0.1e-5",
                                      "9e999",
                                      "3.14159265358979323",
                                      "0.000000000000001",
                                      "1.2.3",
                                      "-",
                                      ".",
                                      "4x",
                                      "0x10",
                                      "nan"};
    const char *cells[1 + 1];
    const struct csvz t = {.cells = cells, .n_columns = 1, .n_rows = 1};
    struct rng rng;
    char text[64];

    (void)state;
    rng_init(&rng, 3);
    cells[1] = text;
    for (size_t i = 0; i < 20000; i++) {
        char *end = NULL;
        double expected, v;

        if (i < sizeof odd / sizeof odd[0])
            snprintf(text, sizeof text, "%s", odd[i]);
        else
            snprintf(text, sizeof text, "%.*f", (int)rng_below(&rng, 12),
                     (rng_unit(&rng) - 0.5) * (double)(1u << rng_below(&rng, 31)));
        expected = strtod(text, &end);
        v = csvz_number(&t, 0, 0);
        if (end == text || *end)
            assert_true(isnan(v));
        else if (!isnan(expected) && memcmp(&v, &expected, sizeof v) != 0)
            fail_msg("%s: %.17g, not %.17g", text, v, expected);
    }
}

static void broken_tables_are_refused(void **state)
{
    struct csvz t;
    struct why why;
    struct buf b;

    (void)state;
    assert_int_equal(csvz_read(path, &t, &why), ERR_NOT_FOUND);
    put_gz("");
    assert_int_equal(csvz_read(path, &t, &why), ERR_INPUT);
    put_gz("a,b\n1\n");
    assert_int_equal(csvz_read(path, &t, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, ":2: expected 2 cells, found 1"));
    put_gz("a,b\n1,\"2\"\n");
    assert_int_equal(csvz_read(path, &t, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, ":2: a quotation mark"));
    put_gz("\xef\xbb\xbf"
           "a,b\n1,2\n");
    assert_int_equal(csvz_read(path, &t, &why), ERR_OK);
    assert_int_equal(csvz_column(&t, "a"), 0);
    csvz_fini(&t);
    put_gz("a,b\n1,2\n");
    buf_init(&b, 1000);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_int_equal(file_replace(path, b.data, b.len - 9, 0644, NULL), ERR_OK);
    assert_int_equal(csvz_read(path, &t, &why), ERR_IO);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_replaced_and_read_whole, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_pipe_is_written_into_not_replaced, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(appending_adds_at_the_end, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(directories_are_made_with_parents_and_removed_with_children, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(gzipped_tables_are_read_by_name, make_dir, remove_dir),
        cmocka_unit_test(numbers_of_a_table_are_those_of_strtod),
        cmocka_unit_test_setup_teardown(broken_tables_are_refused, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
