/* SPDX-License-Identifier: MIT */
/* Whole files in and out, directories, and gzipped tables. */
#include "core/csvz.h"
#include "core/file.h"
#include "core/file_out.h"
#include "core/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
    assert_int_equal(file_append("/dev/null/none/x", "a", 1, false, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/dev/null/none/x"));
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

/* Folders in one another, each of them shut; 0: there are so many. */
static int nest(int n)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; fd >= 0 && i < n; i++) {
        const int in = mkdirat(fd, "d", 0700) == 0 ? openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

        (void)!mkdirat(fd, "deep.0", 0700); /* a name that removal may want */
        (void)!fchmod(fd, i % 2 ? 0500 : 0);
        close(fd);
        fd = in;
    }
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

/* As one to whom modes mean something, with few descriptors. */
static int nest_and_remove(void)
{
    const struct rlimit few = {100, 100};

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    if (mkdir(path, 0700) != 0 || nest(3000) != 0 || setrlimit(RLIMIT_NOFILE, &few) != 0)
        return 3;
    dir_remove(path);
    return access(path, F_OK) == 0;
}

static void however_deep_and_shut_folders_are_they_go(void **state)
{
    int status = -1;
    pid_t pid;

    (void)state;
    assert_int_equal(chmod(dir, 0777), 0);
    pid = fork();
    if (pid == 0)
        _exit(nest_and_remove());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
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

static void what_is_no_table_is_told(void **state)
{
    static const char nul[] = "a,b\n1,2\n\0,4\n";
    struct csvz t;
    struct why why;

    (void)state;
    assert_int_equal(file_replace(path, nul, sizeof nul - 1, 0644, NULL), ERR_OK);
    assert_int_equal(csvz_read(path, &t, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, ":3: a NUL byte"));
    assert_int_equal(csvz_read("/", &t, &why), ERR_IO);
    assert_string_equal(why.text, "/: Is a directory");
    assert_int_equal(csvz_read("/dev/zero", &t, &why), ERR_LIMIT);
    assert_string_equal(why.text, "/dev/zero: larger than 268435456 bytes");
}

static void written_cells_read_back(void **state)
{
    static const char *const words[] = {"plain", "", "a,b", "say \"so\"", "\"", " spaces ", ",,\"\""};
    const size_t n = sizeof words / sizeof *words;
    struct csvz t;
    struct buf b;

    (void)state;
    buf_init(&b, 1024);
    for (int row = 0; row < 2; row++) /* the names are cells, too */
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(csvz_put(&b, words[i]), ERR_OK);
            buf_puts(&b, i + 1 < n ? "," : "\n");
        }
    assert_int_equal(file_replace(path, b.data, b.len, 0644, NULL), ERR_OK);
    assert_int_equal(csvz_read(path, &t, NULL), ERR_OK);
    assert_int_equal(t.n_columns, n);
    assert_int_equal(t.n_rows, 1);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(csvz_text(&t, 0, i), words[i]);
    csvz_fini(&t);
    buf_fini(&b);
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
    put_gz("a,b\n1,\"2\n");
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

/* Names in the directory: what is left there. */
static size_t n_entries(void)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    size_t n = 0;

    assert_non_null(d);
    while ((entry = readdir(d)))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* Byte i of what is written below. */
static char byte_at(size_t i)
{
    return (char)(i * 7 + i / 251);
}

/* Pieces of any size, among them larger than the buffer, just as large, and empty ones. */
static void a_file_written_in_pieces_is_their_sum(void **state)
{
    static const size_t sizes[] = {1,
                                   FILE_OUT_BUFFER_BYTES - 1,
                                   1,
                                   0,
                                   FILE_OUT_BUFFER_BYTES,
                                   5,
                                   FILE_OUT_BUFFER_BYTES + 1,
                                   100000,
                                   100000,
                                   100000,
                                   3 * FILE_OUT_BUFFER_BYTES + 17,
                                   2};
    const size_t n_all = 8 * FILE_OUT_BUFFER_BYTES;
    char *all = malloc(n_all);
    struct file_out f;
    struct stat st;
    struct buf back;
    size_t at = 0;

    (void)state;
    assert_non_null(all);
    for (size_t i = 0; i < n_all; i++)
        all[i] = byte_at(i);
    assert_int_equal(file_out_open(&f, path, 0640, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(file_out_put(&f, all + at, sizes[i], NULL), ERR_OK);
        at += sizes[i];
        assert_true(at < n_all);
    }
    assert_int_equal(access(path, F_OK), -1); /* before the end nothing is there */
    assert_int_equal(file_out_commit(&f, NULL), ERR_OK);
    file_out_close(&f);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, at);
    assert_int_equal(st.st_mode & 0777, 0640);
    buf_init(&back, n_all);
    assert_int_equal(file_read(path, &back, NULL), ERR_OK);
    assert_int_equal(back.len, at);
    assert_memory_equal(back.data, all, at);
    assert_int_equal(n_entries(), 1);
    buf_fini(&back);
    free(all);
}

static void what_is_not_committed_leaves_the_old_file_alone(void **state)
{
    struct file_out f, never = {.fd = -1};
    struct buf b;

    (void)state;
    assert_int_equal(file_replace(path, "old", 3, 0600, NULL), ERR_OK);
    assert_int_equal(file_out_open(&f, path, 0600, NULL), ERR_OK);
    assert_int_equal(file_out_put(&f, "new", 3, NULL), ERR_OK);
    assert_int_equal(n_entries(), 2);
    file_out_close(&f);
    assert_int_equal(n_entries(), 1);
    assert_int_equal(file_out_open(&f, path, 0600, NULL), ERR_OK);
    file_out_close(&f);
    file_out_close(&never);
    assert_int_equal(n_entries(), 1);
    buf_init(&b, 100);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "old");
    buf_fini(&b);
}

static void places_that_cannot_be_written_are_named(void **state)
{
    char far[PATH_MAX + 10], deep[400];
    struct why why = {""};
    struct file_out f;

    (void)state;
    snprintf(deep, sizeof deep, "%s/none/x", dir);
    assert_int_equal(file_out_open(&f, deep, 0600, &why), ERR_IO);
    assert_non_null(strstr(why.text, "none/x: No such file"));
    file_out_close(&f);
    assert_int_equal(file_out_open(&f, dir, 0600, &why), ERR_IO);
    assert_non_null(strstr(why.text, "directory"));
    file_out_close(&f);
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    assert_int_equal(file_out_open(&f, far, 0600, &why), ERR_LIMIT);
    file_out_close(&f);
    far[PATH_MAX - 3] = '\0'; /* fits, but not the name beside it */
    assert_int_equal(file_out_open(&f, far, 0600, &why), ERR_LIMIT);
    file_out_close(&f);
    assert_int_equal(file_replace("/dev/full", "x", 1, 0600, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/dev/full"));
    assert_int_equal(n_entries(), 0);
}

static void a_large_file_is_read_behind_what_is_there(void **state)
{
    const size_t n = 200000;
    char *text = malloc(n);
    struct why why = {""};
    struct buf b;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = byte_at(i);
    assert_int_equal(file_replace(path, text, n, 0600, NULL), ERR_OK);
    buf_init(&b, n + 2);
    assert_int_equal(buf_puts(&b, "ab"), ERR_OK);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_int_equal(b.len, n + 2);
    assert_memory_equal(b.data, "ab", 2);
    assert_memory_equal(b.data + 2, text, n);
    assert_int_equal(b.data[b.len], '\0');
    buf_clear(&b);
    assert_int_equal(buf_puts(&b, "abc"), ERR_OK);
    assert_int_equal(file_read(path, &b, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "larger than 200002 bytes"));
    buf_fini(&b);
    free(text);
}

static void appending_makes_a_readable_file_and_keeps_what_is_there(void **state)
{
    struct stat st;
    struct buf b;

    (void)state;
    umask(022);
    assert_int_equal(file_append(path, "one\n", 4, true, NULL), ERR_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(file_append(path, "", 0, false, NULL), ERR_OK);
    assert_int_equal(file_append(path, "two\n", 4, false, NULL), ERR_OK);
    buf_init(&b, 100);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "one\ntwo\n");
    buf_fini(&b);
    assert_int_equal(file_append("/dev/full", "x", 1, false, NULL), ERR_IO);
}

static void directories_have_the_mode_that_is_asked_for(void **state)
{
    char inner[400], long_name[PATH_MAX + 2];
    struct why why = {""};
    struct stat st;

    (void)state;
    umask(022);
    snprintf(inner, sizeof inner, "%s/p/q", dir);
    assert_int_equal(dir_make(inner, 0700, NULL), ERR_OK);
    assert_int_equal(stat(inner, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    inner[strlen(inner) - 2] = '\0';
    assert_int_equal(stat(inner, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(file_replace(path, "x", 1, 0600, NULL), ERR_OK);
    snprintf(inner, sizeof inner, "%s/y", path); /* below a file */
    assert_int_equal(dir_make(inner, 0700, &why), ERR_IO);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(dir_make(long_name, 0700, NULL), ERR_INPUT);
}

static void temporary_directories_lie_where_the_variable_says(void **state)
{
    const char *before = getenv("TMPDIR");
    char kept[PATH_MAX] = "", a[400], b[400], small[8];
    struct stat st;

    (void)state;
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    setenv("TMPDIR", dir, 1);
    assert_int_equal(dir_temporary("stem", a, sizeof a, NULL), ERR_OK);
    assert_int_equal(dir_temporary("stem", b, sizeof b, NULL), ERR_OK);
    assert_memory_equal(a, dir, strlen(dir));
    assert_memory_equal(a + strlen(dir), "/stem.", 6);
    assert_string_not_equal(a, b);
    assert_int_equal(stat(a, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(dir_temporary("stem", small, sizeof small, NULL), ERR_LIMIT);
    setenv("TMPDIR", "", 1);
    assert_int_equal(dir_temporary("stem", a, sizeof a, NULL), ERR_OK);
    assert_memory_equal(a, "/tmp/stem.", 10);
    dir_remove(a);
    if (before)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
}

static void tables_may_be_plain_and_end_without_a_line_end(void **state)
{
    static const char *const texts[] = {"a,b\n1,x\n2,y", "a,b\n1,x\n2,y\n", "a,b\r\n1,x\r\n2,y\r\n", "a,b\r\n1,x\n2,y"};
    struct csvz t;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int gzipped = 0; gzipped < 2; gzipped++) {
            if (gzipped)
                put_gz(texts[i]);
            else
                assert_int_equal(file_replace(path, texts[i], strlen(texts[i]), 0600, NULL), ERR_OK);
            assert_int_equal(csvz_read(path, &t, NULL), ERR_OK);
            assert_true(t.n_columns == 2 && t.n_rows == 2);
            assert_string_equal(csvz_text(&t, 0, 1), "x");
            assert_string_equal(csvz_text(&t, 1, 0), "2");
            assert_string_equal(csvz_text(&t, 1, 1), "y");
            assert_int_equal(csvz_column(&t, "b"), 1);
            csvz_fini(&t);
        }
}

static void odd_tables_are_read_or_told(void **state)
{
    static const struct {
        const char *text, *words;
        size_t n, n_rows;
    } cases[] = {
        {"a", NULL, 1, 0},
        {"a\n", NULL, 2, 0},
        {"a\n\n", NULL, 3, 1}, /* one empty cell */
        {"a,b\n,\n", NULL, 6, 1},
        {"a,b\n\n", ":2: expected 2 cells, found 1", 5, 0},
        {"a,b\n1,2\n1,2,3\n", ":3: expected 2 cells, found 3", 14, 0},
        {"a\n\0\n", "expected text", 4, 0},
        {"\"a\n1\n", ":1: a quotation mark", 5, 0},
        {"a,b\nx\"y\",z\n", ":2: a quotation mark", 11, 0},
        {"a,b\n\"x\"y,z\n", ":2: a quotation mark", 11, 0},
        {"a\n\"x,y\n", ":2: a quotation mark", 7, 0},
        {"a,b\n\"x,y\"\n", ":2: expected 2 cells, found 1", 10, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        struct csvz t;
        enum err e;

        assert_int_equal(file_replace(path, cases[i].text, cases[i].n, 0600, NULL), ERR_OK);
        e = csvz_read(path, &t, &why);
        if (cases[i].words ? e != ERR_INPUT || !strstr(why.text, cases[i].words) : e != ERR_OK)
            fail_msg("case %zu: %s %s", i, err_name(e), why.text);
        if (e)
            continue;
        assert_int_equal(t.n_rows, cases[i].n_rows);
        if (t.n_rows)
            assert_true(isnan(csvz_number(&t, 0, 0)));
        csvz_fini(&t);
    }
}

static void cells_in_quotation_marks_may_hold_commas_and_marks(void **state)
{
    static const char *const cells[] = {"x,y", "", "say \"hi\"", "\"", "plain", ",\",\""};
    struct why why = {""};
    struct csvz t;

    (void)state;
    put_gz("\"a,b\",c\r\n\"x,y\",\"\"\n\"say \"\"hi\"\"\",\"\"\"\"\r\nplain,\",\"\",\"\"\"");
    if (csvz_read(path, &t, &why))
        fail_msg("%s", why.text);
    assert_int_equal(csvz_column(&t, "a,b"), 0);
    assert_int_equal(csvz_column(&t, "c"), 1);
    assert_int_equal(t.n_rows, 3);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(csvz_text(&t, i / 2, i % 2), cells[i]);
    csvz_fini(&t);
}

/* More than one step of reading; the last cell of the last row too. */
static void large_tables_are_whole(void **state)
{
    enum { N = 30000 };
    struct buf text;
    struct csvz t;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "i,square\n");
    for (long i = 0; i < N; i++)
        buf_printf(&text, "%ld,%ld\n", i, i * i);
    put_gz(buf_text(&text));
    assert_int_equal(csvz_read(path, &t, NULL), ERR_OK);
    assert_int_equal(t.n_rows, N);
    for (long i = 0; i < N; i++)
        assert_true(csvz_number(&t, (size_t)i, 1) == (double)(i * i));
    csvz_fini(&t);
    buf_fini(&text);
}

/* As on a full disk: files may be 100 bytes long, and what passes that is refused. */
static void a_file_that_finds_no_room_is_an_error(void **state)
{
    struct rlimit before, small;
    struct why why = {""};
    char bytes[150];
    struct buf b;

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(file_replace(path, "old", 3, 0600, NULL), ERR_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(file_replace(path, bytes, sizeof bytes, 0600, &why), ERR_IO);
    assert_non_null(strstr(why.text, path));
    errno = ENOENT;                                                                /* of something before */
    assert_int_equal(file_append(path, bytes, sizeof bytes, false, &why), ERR_IO); /* only 97 of 150 */
    assert_non_null(strstr(why.text, strerror(EFBIG)));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    buf_init(&b, 1000);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_memory_equal(b.data, "old", 3);
    assert_int_equal(n_entries(), 1);
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
        cmocka_unit_test_setup_teardown(however_deep_and_shut_folders_are_they_go, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(gzipped_tables_are_read_by_name, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_no_table_is_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(written_cells_read_back, make_dir, remove_dir),
        cmocka_unit_test(numbers_of_a_table_are_those_of_strtod),
        cmocka_unit_test_setup_teardown(broken_tables_are_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_written_in_pieces_is_their_sum, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_not_committed_leaves_the_old_file_alone, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(places_that_cannot_be_written_are_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_large_file_is_read_behind_what_is_there, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(appending_makes_a_readable_file_and_keeps_what_is_there, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(directories_have_the_mode_that_is_asked_for, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(temporary_directories_lie_where_the_variable_says, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(tables_may_be_plain_and_end_without_a_line_end, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(odd_tables_are_read_or_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(cells_in_quotation_marks_may_hold_commas_and_marks, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(large_tables_are_whole, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_that_finds_no_room_is_an_error, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
