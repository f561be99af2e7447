/* SPDX-License-Identifier: MIT */
/* `tune hub` against a server of the test's own: what is new is told and sent, what is not is neither. */
#include "tests/cli/shell.h"
#include "tests/logs/hub/server.h"
#include "tests/logs/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct server s;
static char dir[256];
static struct buf said;

/* A log of records with these letters for ids. */
static const char *write_log(const char *name, const char *ids)
{
    const char *path = tune_at(dir, name);
    struct buf text;

    buf_init(&text, 1 << 20);
    for (const char *p = ids; *p; p++) {
        const char id[] = {*p, '\0'};
        struct record r = sample_record(id);

        assert_int_equal(record_print(&r, &text), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(file_replace(path, buf_text(&text), text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
    return path;
}

static const char *url(const char *path)
{
    static char text[2][300];
    static int i;

    i = !i;
    snprintf(text[i], sizeof text[i], "http://127.0.0.1:%u%s", s.port, path);
    return text[i];
}

static void hub(int code, const char *words, const char *const *args)
{
    s.asked[0] = '\0';
    if (tune_run(dir, args, &said) != code || !strstr(buf_text(&said), words))
        fail_msg("tune hub %s: expected exit %d and '%s': %s", args[1], code, words, buf_text(&said));
}
#define HUB(code, words, ...) hub(code, words, (const char *const[]){"hub", __VA_ARGS__, "--tries", "1", NULL})

static size_t n_lines_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void what_is_new_is_pushed_once(void **state)
{
    (void)state;
    HUB(0, "/l.jsonl: 3 new records\n", "push", url("/l.jsonl"), write_log("a", "abc"));
    assert_non_null(strstr(s.asked, "PUT /l.jsonl "));
    assert_int_equal(n_lines_of(server_find(&s, "/l.jsonl")->bytes), 3);
    HUB(0, "/l.jsonl: 0 new records\n", "push", url("/l.jsonl"), write_log("a", "abc"));
    assert_null(strstr(s.asked, "PUT /l.jsonl "));
    HUB(0, "/l.jsonl: 0 new records\n", "push", url("/l.jsonl"), write_log("a", "b"));
    assert_null(strstr(s.asked, "PUT /l.jsonl "));
    HUB(0, "/l.jsonl: 2 new records\n", "push", url("/l.jsonl"), write_log("a", "bcd"), write_log("b", "de"));
    assert_int_equal(n_lines_of(server_find(&s, "/l.jsonl")->bytes), 5);
    assert_int_equal(file_replace(tune_at(dir, "none"), "no\n", 3, 0600, NULL), ERR_OK);
    HUB(1, "no record in it", "push", url("/l.jsonl"), tune_at(dir, "none"));
}

static void what_is_new_is_pulled_once(void **state)
{
    const char *to = tune_at(dir, "mine.jsonl");
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    HUB(0, "3 new records", "push", url("/l.jsonl"), write_log("a", "abc"));
    write_log("mine.jsonl", "cx");
    HUB(0, "mine.jsonl: 2 new records\n", "pull", url("/l.jsonl"), "-o", to);
    HUB(0, "mine.jsonl: 0 new records\n", "pull", url("/l.jsonl"), "-o", to);
    assert_int_equal(file_read(to, &text, NULL), ERR_OK);
    assert_int_equal(n_lines_of(buf_text(&text)), 4);
    HUB(1, "there is no such log", "pull", url("/none.jsonl"), "-o", to);
    buf_fini(&text);
}

static void what_is_there_is_listed(void **state)
{
    (void)state;
    s.has_index = true;
    server_put(&s, "/d/", "", 0);
    server_put(&s, "/d/l.jsonl", "12345", 5);
    HUB(0, "5  ", "list", url("/d/"));
    assert_non_null(strstr(buf_text(&said), "l.jsonl\n"));
    HUB(0, "\"name\":\"l.jsonl\"", "list", url("/d/"), "--json");
    assert_non_null(strstr(buf_text(&said), "\"bytes\":5"));
}

static int begin(void **state)
{
    (void)state;
    server_forget_environment();
    server_start(&s);
    s.knows_etags = true;
    buf_init(&said, 1 << 20);
    return dir_temporary("hub-command", dir, sizeof dir, NULL) != ERR_OK;
}

static int end(void **state)
{
    (void)state;
    server_stop(&s);
    dir_remove(dir);
    buf_fini(&said);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_new_is_pushed_once),
        TEST(what_is_new_is_pulled_once),
        TEST(what_is_there_is_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
