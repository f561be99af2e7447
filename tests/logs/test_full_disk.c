/* SPDX-License-Identifier: MIT */
/* A disk that is full: whoever writes a file whole says so, what was there before stays, and nothing lies beside it. */
#include "core/buf.h"
#include "core/file.h"
#include "core/file_out.h"
#include "logs/compact.h"
#include "logs/log.h"
#include "logs/merge.h"
#include "sample.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define OLD "what was there\n"
#define N_RECORDS 20

static char dir[256], in[300], out[300];

/* No file grows beyond so many bytes; RLIM_INFINITY: they do. */
static void limit_files(rlim_t n_bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN); /* a write that does not fit fails */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = n_bytes < limit.rlim_max ? n_bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void read_all(const char *path, struct buf *text)
{
    buf_clear(text);
    assert_int_equal(file_read(path, text, NULL), ERR_OK);
}

static size_t n_files(void)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return n;
}

/* ---- who writes ---- */

static enum err replace(struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, 1 << 24);
    read_all(in, &text);
    e = file_replace(out, buf_text(&text), text.len, 0600, why);
    buf_fini(&text);
    return e;
}

/* More than a buffer of file_out's: bytes go out before the end, too. */
static enum err put(struct why *why)
{
    static char bytes[FILE_OUT_BUFFER_BYTES / 2 + 1];
    struct file_out f;
    enum err e = file_out_open(&f, out, 0600, why);

    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 3 && !e; i++)
        e = file_out_put(&f, bytes, sizeof bytes, why);
    if (!e)
        e = file_out_commit(&f, why);
    file_out_close(&f);
    return e;
}

static enum err lines_of(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg), log_warn *warn,
                         void *arg, struct why *why)
{
    (void)warn;
    return log_lines_fd(fd, path, each, arg, why);
}

static enum err merge(struct why *why)
{
    const struct merge_options o = {.lines = lines_of};
    struct merge_report report = {0};

    return merge_logs((const char *const[]){in}, 1, out, &o, &report, why);
}

static enum err compact(struct why *why)
{
    struct compact_report report = {0};

    return compact_log(in, out, 1000, lines_of, NULL, &report, why);
}

static bool add_record(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)line;
    (void)n;
    return best_add(arg, r) == ERR_OK;
}

static enum err write_best(struct why *why)
{
    struct best_set *b = NULL;
    enum err e = best_new(&b);

    if (!e)
        e = log_scan(in, add_record, NULL, b, why);
    if (!e)
        e = best_write(b, out, why);
    best_free(b);
    return e;
}

static const struct {
    const char *name;
    enum err (*write)(struct why *why);
} writers[] = {{"file_replace", replace},
               {"file_out", put},
               {"merge_logs", merge},
               {"compact_log", compact},
               {"best_write", write_best}};

/* ---- facts ---- */

static void what_does_not_fit_leaves_what_was_there(void **state)
{
    struct buf whole, text;

    (void)state;
    buf_init(&whole, 1 << 24);
    buf_init(&text, 1 << 24);
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        struct why why = {""};

        if (writers[i].write(&why))
            fail_msg("%s: %s", writers[i].name, why.text);
        read_all(out, &whole);
        for (int part = 0; part < 3; part++) {
            const size_t room = part == 0 ? 0 : part == 1 ? whole.len / 2 : whole.len - 1;
            enum err e;

            assert_int_equal(file_replace(out, OLD, strlen(OLD), 0600, NULL), ERR_OK);
            why.text[0] = '\0';
            limit_files(room);
            e = writers[i].write(&why);
            limit_files(RLIM_INFINITY);
            read_all(out, &text);
            if (e != ERR_IO || !strstr(why.text, out) || strchr(why.text, '\n'))
                fail_msg("%s, room for %zu of %zu: %s, '%s'", writers[i].name, room, whole.len, err_name(e), why.text);
            if (strcmp(buf_text(&text), OLD) != 0 || n_files() != 2)
                fail_msg("%s, room for %zu of %zu: %zu files, '%.60s'", writers[i].name, room, whole.len, n_files(),
                         buf_text(&text));
        }
        assert_int_equal(writers[i].write(&why), ERR_OK);
        read_all(out, &text);
        assert_string_equal(buf_text(&text), buf_text(&whole));
    }
    buf_fini(&whole);
    buf_fini(&text);
}

static bool count(const struct record *r, const char *line, size_t n, void *arg)
{
    (void)r;
    (void)line;
    (void)n;
    ++*(int *)arg;
    return true;
}

/* A record that did not fit is told, and what comes behind it is read again. */
static void a_torn_record_spoils_no_other(void **state)
{
    struct record r = sample_record("t1");
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 24);
    for (int part = 1; part < 4; part++) {
        struct why why = {""};
        enum err e;
        int n = 0;

        remove(out);
        assert_int_equal(log_append(out, &r, NULL), ERR_OK);
        read_all(out, &text);
        limit_files(text.len + text.len * (size_t)part / 4);
        e = log_append(out, &r, &why);
        limit_files(RLIM_INFINITY);
        if (e != ERR_IO || !strstr(why.text, out))
            fail_msg("%s, '%s'", err_name(e), why.text);
        assert_int_equal(log_append(out, &r, NULL), ERR_OK);
        assert_int_equal(log_scan(out, count, NULL, &n, NULL), ERR_OK);
        assert_int_equal(n, 2);
    }
    record_fini(&r);
    buf_fini(&text);
}

static int set_up(void **state)
{
    (void)state;
    if (dir_temporary("full-disk", dir, sizeof dir, NULL))
        return -1;
    snprintf(in, sizeof in, "%s/in.jsonl", dir);
    snprintf(out, sizeof out, "%s/out", dir);
    for (int i = 0; i < N_RECORDS; i++) {
        struct record r = sample_timed("dense f32 m=1 n=1 k=1", (char)('a' + i % 6), "j1", "final", 'b', 100 + i);

        snprintf(r.id, sizeof r.id, "t%d", i);
        if (log_append(in, &r, NULL))
            return -1;
        record_fini(&r);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_leaves_what_was_there),
        cmocka_unit_test(a_torn_record_spoils_no_other),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
