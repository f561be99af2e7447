/* SPDX-License-Identifier: MIT */
/* Objects, logs and bundles of a hub against a server in this process: what is asked, what comes of answers of all
 * kinds, and that two pushers lose nothing. */
#include "core/file.h"
#include "logs/hub/hub.h"
#include "server.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct server s;
static struct hub *h;
static char dir[256];

static const char *at(const char *name)
{
    static char paths[8][700];
    static size_t i;

    i = (i + 1) % 8;
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    return paths[i];
}

static int begin(void **state)
{
    char endpoint[64];

    (void)state;
    server_forget_environment();
    server_start(&s);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", s.port);
    setenv("AWS_ENDPOINT_URL", endpoint, 1);
    if (dir_temporary("hub", dir, sizeof dir, NULL))
        return -1;
    return hub_open(&(struct hub_options){.n_tries = 2, .wait_s = 0.05}, &h, NULL) != ERR_OK;
}

static int end(void **state)
{
    (void)state;
    hub_close(h);
    server_stop(&s);
    dir_remove(dir);
    return 0;
}

static struct hub_url url(const char *path)
{
    char text[300];
    struct hub_url u;

    snprintf(text, sizeof text, "http://127.0.0.1:%u%s", s.port, path);
    assert_int_equal(hub_url_parse(text, &u, NULL), ERR_OK);
    return u;
}

static struct hub_url s3_url(const char *key)
{
    char text[300];
    struct hub_url u;

    snprintf(text, sizeof text, "s3://bucket/%s", key);
    assert_int_equal(hub_url_parse(text, &u, NULL), ERR_OK);
    return u;
}

static void check_asked(const char *expected)
{
    assert_string_equal(s.asked, expected);
    s.asked[0] = '\0';
}

static void check_object(const char *path, const char *expected)
{
    const struct server_object *o = server_find(&s, path);

    if (!o || strcmp(o->bytes, expected) != 0)
        fail_msg("%s: '%s', expected '%s'", path, o ? o->bytes : "nothing", expected);
}

static void check_file(const char *path, const char *expected)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), expected);
    buf_fini(&b);
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}

/* ---- objects ---- */

static void objects_are_stored_fetched_and_removed(void **state)
{
    const struct hub_url u = url("/a/x.jsonl");
    struct hub_object o;
    struct buf b;

    (void)state;
    buf_init(&b, 5);
    s.age_s = 70;
    assert_int_equal(hub_head(h, &u, &o, NULL), ERR_OK);
    assert_false(o.exists);
    assert_int_equal(hub_get(h, &u, &b, &o, NULL), ERR_NOT_FOUND);
    assert_int_equal(hub_put(h, &u, "abcde", 5, HUB_ANY, NULL), ERR_OK);
    assert_int_equal(hub_head(h, &u, &o, NULL), ERR_OK);
    assert_true(o.exists && o.n_bytes == 5 && o.age_s == 70);
    assert_string_equal(o.etag, "\"v1\"");
    buf_clear(&b);
    assert_int_equal(hub_get(h, &u, &b, &o, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "abcde");
    assert_true(o.exists && o.n_bytes == 5);
    check_asked(
        "HEAD /a/x.jsonl 404\nGET /a/x.jsonl 404\nPUT /a/x.jsonl 201\nHEAD /a/x.jsonl 200\nGET /a/x.jsonl 200\n");
    assert_int_equal(hub_put(h, &u, "abcdef", 6, HUB_ANY, NULL), ERR_OK);
    buf_clear(&b);
    assert_int_equal(hub_get(h, &u, &b, &o, NULL), ERR_LIMIT);
    assert_int_equal(hub_delete(h, &u, NULL), ERR_OK);
    assert_null(server_find(&s, "/a/x.jsonl"));
    assert_int_equal(hub_delete(h, &u, NULL), ERR_OK); /* a missing one is no error */
    assert_int_equal(hub_put(h, &u, "", 0, HUB_ANY, NULL), ERR_OK);
    check_object("/a/x.jsonl", "");
    s.age_s = -1;
    assert_int_equal(hub_head(h, &u, &o, NULL), ERR_OK);
    assert_true(o.age_s == -1 && o.n_bytes == 0);
    buf_fini(&b);
}

static void preconditions_are_told_and_obeyed(void **state)
{
    const struct hub_url u = url("/x");

    (void)state;
    s.knows_etags = true;
    assert_int_equal(hub_put(h, &u, "1", 1, HUB_NEW, NULL), ERR_OK);
    assert_string_equal(s.last.if_none_match, "*");
    assert_int_equal(hub_put(h, &u, "2", 1, HUB_NEW, NULL), ERR_STALE);
    assert_int_equal(hub_put(h, &u, "2", 1, "\"v7\"", NULL), ERR_STALE);
    assert_string_equal(s.last.if_match, "\"v7\"");
    check_object("/x", "1");
    assert_int_equal(hub_put(h, &u, "2", 1, "\"v1\"", NULL), ERR_OK);
    assert_int_equal(hub_put(h, &u, "3", 1, HUB_ANY, NULL), ERR_OK);
    assert_true(!s.last.if_match[0] && !s.last.if_none_match[0]);
    check_object("/x", "3");
}

static void statuses_are_errors_with_words(void **state)
{
    static const struct {
        int status;
        enum err e;
        int n_asked; /* what may pass is tried twice */
    } cases[] = {{401, ERR_AUTH, 1},  {403, ERR_AUTH, 1},        {404, ERR_NOT_FOUND, 1}, {405, ERR_UNSUPPORTED, 1},
                 {409, ERR_STALE, 1}, {410, ERR_NOT_FOUND, 1},   {412, ERR_STALE, 1},     {413, ERR_LIMIT, 1},
                 {418, ERR_IO, 1},    {501, ERR_UNSUPPORTED, 1}, {507, ERR_IO, 1},        {503, ERR_IO, 2}};
    const struct hub_url u = url("/x");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        char number[16];

        s.n_fail = 99;
        s.status = cases[i].status;
        snprintf(number, sizeof number, "%d AsTold", cases[i].status);
        assert_int_equal(hub_put(h, &u, "1", 1, HUB_ANY, &why), cases[i].e);
        if (!strstr(why.text, number) || !strstr(why.text, "/x"))
            fail_msg("%d: %s", cases[i].status, why.text);
        assert_int_equal(99 - s.n_fail, cases[i].n_asked);
    }
}

static void what_may_pass_is_tried_again(void **state)
{
    const struct hub_url u = url("/x");
    struct hub_object o;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    server_put(&s, "/x", "0123456789", 10);
    s.n_fail = 1;
    s.status = 429;
    assert_int_equal(hub_get(h, &u, &b, &o, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "0123456789");
    s.n_cut = 1;
    s.cut_at = 4;
    buf_clear(&b);
    assert_int_equal(hub_get(h, &u, &b, &o, NULL), ERR_OK); /* memory starts anew */
    assert_string_equal(buf_text(&b), "0123456789");
    s.n_fail = 1;
    s.status = 500;
    assert_int_equal(hub_put(h, &u, "whole", 5, HUB_ANY, NULL), ERR_OK); /* the body is sent again */
    check_object("/x", "whole");
    buf_fini(&b);
}

static void no_server_is_unreachable(void **state)
{
    struct hub_url u = url("/x");
    struct hub *once = NULL;
    struct hub_object o;
    struct why why = {""};

    (void)state;
    server_stop(&s);
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &once, NULL), ERR_OK);
    assert_int_equal(hub_head(once, &u, &o, &why), ERR_UNREACHABLE);
    assert_non_null(strstr(why.text, "no connection"));
    hub_close(once);
    server_start(&s);
}

struct told {
    int n;
    int64_t n_done, n_total;
};

static void note_progress(int64_t n_done, int64_t n_total, void *arg)
{
    struct told *t = arg;

    t->n++;
    t->n_done = n_done;
    t->n_total = n_total;
}

static void transfers_are_told_both_ways(void **state)
{
    const struct hub_url u = url("/x");
    struct told told = {.n = 0};
    struct hub *own = NULL;
    struct hub_object o;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(hub_open(&(struct hub_options){.progress = note_progress, .arg = &told}, &own, NULL), ERR_OK);
    assert_int_equal(hub_put(own, &u, "0123456", 7, HUB_ANY, NULL), ERR_OK);
    assert_true(told.n > 0 && told.n_done == 7 && told.n_total == 7);
    server_put(&s, "/x", "0123456789", 10);
    told = (struct told){.n = 0};
    assert_int_equal(hub_get(own, &u, &b, &o, NULL), ERR_OK);
    assert_true(told.n > 0 && told.n_done == 10 && told.n_total == 10);
    hub_close(own);
    buf_fini(&b);
}

/* ---- files ---- */

static char long_text[100001];

static void fill_long_text(void)
{
    for (size_t i = 0; i + 1 < sizeof long_text; i++)
        long_text[i] = (char)('!' + i * 7 % 90);
}

static void a_fetch_goes_on_where_it_was_cut(void **state)
{
    const struct hub_url u = url("/f");
    struct hub_object o;

    (void)state;
    fill_long_text();
    server_put(&s, "/f", long_text, strlen(long_text));
    s.n_cut = 1;
    s.cut_at = 30000;
    assert_int_equal(hub_get_file(h, &u, at("f"), &o, NULL), ERR_OK);
    check_file(at("f"), long_text);
    assert_string_equal(s.last.range, "bytes=30000-");
    assert_string_equal(s.last.if_range, "\"v1\"");
    assert_int_equal(access(at("f.etag"), F_OK), -1);
    check_asked("HEAD /f 200\nGET /f 200\nGET /f 206\n");
    unlink(at("f"));
    s.n_cut = 2; /* as often as is tried: what came stays, with its ETag */
    assert_int_equal(hub_get_file(h, &u, at("f"), &o, NULL), ERR_IO);
    check_file(at("f.etag"), "\"v1\"");
    s.asked[0] = '\0';
    assert_int_equal(hub_get_file(h, &u, at("f"), &o, NULL), ERR_OK);
    assert_string_equal(s.last.range, "bytes=60000-");
    check_asked("GET /f 206\n");
    check_file(at("f"), long_text);
}

static void a_fetch_of_another_object_begins_anew(void **state)
{
    const struct hub_url u = url("/f");
    struct hub_object o;

    (void)state;
    fill_long_text();
    server_put(&s, "/f", long_text, strlen(long_text));
    s.n_cut = 2;
    s.cut_at = 20000;
    assert_int_equal(hub_get_file(h, &u, at("f"), &o, NULL), ERR_IO);
    server_put(&s, "/f", "changed", 7);
    assert_int_equal(hub_get_file(h, &u, at("f"), &o, NULL), ERR_OK);
    check_file(at("f"), "changed");
    assert_int_equal(access(at("f.etag"), F_OK), -1);
    write_text(at("g"), "some that were there before, more than is to come");
    assert_int_equal(hub_get_file(h, &u, at("g"), &o, NULL), ERR_OK); /* without an ETag of theirs */
    check_file(at("g"), "changed");
    write_text(at("g"), "changed"); /* whole already: 416 */
    write_text(at("g.etag"), "\"v2\"");
    s.asked[0] = '\0';
    assert_int_equal(hub_get_file(h, &u, at("g"), &o, NULL), ERR_OK);
    check_asked("GET /f 416\nGET /f 200\n");
    check_file(at("g"), "changed");
}

static void a_missing_file_leaves_nothing(void **state)
{
    const struct hub_url u = url("/none");
    struct hub_object o;

    (void)state;
    assert_int_equal(hub_get_file(h, &u, at("f"), &o, NULL), ERR_NOT_FOUND);
    assert_int_equal(access(at("f"), F_OK), -1);
    assert_int_equal(access(at("f.etag"), F_OK), -1);
}

static void files_are_stored_and_checked_by_their_sum(void **state)
{
    const struct hub_url u = s3_url("p/f");
    struct hub_object o;
    struct why why = {""};

    (void)state;
    fill_long_text();
    write_text(at("f"), long_text);
    assert_int_equal(hub_put_file(h, &u, at("f"), HUB_ANY, NULL), ERR_OK);
    check_object("/bucket/p/f", long_text);
    assert_string_equal(server_find(&s, "/bucket/p/f")->sha256, sha256_of(long_text, strlen(long_text)).hex);
    assert_int_equal(hub_get_file(h, &u, at("g"), &o, NULL), ERR_OK);
    assert_string_equal(o.sha256, sha256_of(long_text, strlen(long_text)).hex);
    server_find(&s, "/bucket/p/f")->bytes[77] ^= 1;
    assert_int_equal(hub_get_file(h, &u, at("k"), &o, &why), ERR_IO);
    assert_non_null(strstr(why.text, "its pusher said"));
    assert_int_equal(access(at("k"), F_OK), -1);
    assert_int_equal(hub_put_file(h, &u, at("none"), HUB_ANY, NULL), ERR_NOT_FOUND);
}

/* ---- lists ---- */

static void list_entry(const struct hub_entry *e, void *arg)
{
    struct buf *b = arg;

    buf_printf(b, "%s %lld %s\n", e->name, (long long)e->n_bytes, e->modified);
}

static void check_list(const struct hub_url *folder, const char *expected)
{
    struct why why = {""};
    struct buf b;

    buf_init(&b, 10000);
    if (hub_list(h, folder, list_entry, &b, &why))
        fail_msg("%s", why.text);
    assert_string_equal(buf_text(&b), expected);
    buf_fini(&b);
}

static void folders_are_listed_by_webdav(void **state)
{
    const struct hub_url with = url("/a/"), without = url("/a");

    (void)state;
    s.is_dav = true;
    server_put(&s, "/a/", "", 0);
    server_put(&s, "/a/b%20c.jsonl", "12345", 5);
    server_put(&s, "/a/sub/", "", 0);
    server_put(&s, "/a/empty%0a%41", "", 0);
    server_put(&s, "/a/100%2", "1", 1);
    server_put(&s, "/ab", "1", 1);
    check_list(&with, "b c.jsonl 5 day 2\nsub/ -1 day 3\nempty?A 0 day 4\n100%2 1 day 5\n");
    assert_int_equal(hub_list(h, &without, list_entry, NULL, NULL), ERR_OK); /* an empty list: a folder ends with '/' */
}

static void folders_are_listed_by_an_index(void **state)
{
    const struct hub_url u = url("/a/"), other = url("/none");
    struct why why = {""};

    (void)state;
    s.has_index = true;
    server_put(&s, "/a/x.jsonl", "12345", 5);
    server_put(&s, "/a/sub/", "", 0);
    check_list(&u, "x.jsonl 5 day 1\nsub/ 0 day 2\n");
    check_asked("PROPFIND /a/ 405\nGET /a/ 200\n");
    assert_int_equal(hub_list(h, &other, list_entry, NULL, &why), ERR_NOT_FOUND);
    server_put(&s, "/none", "no list", 7);
    assert_int_equal(hub_list(h, &other, list_entry, NULL, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "does not list folders"));
}

static void buckets_are_listed_page_by_page(void **state)
{
    const struct hub_url folder = s3_url("p"), all = s3_url("");

    (void)state;
    s.is_s3 = true;
    server_put(&s, "/bucket/p/x.jsonl", "12345", 5);
    server_put(&s, "/bucket/p/sub/y", "1", 1);
    server_put(&s, "/bucket/q", "1", 1);
    server_put(&s, "/bucket/p/z", "12", 2);
    check_list(&folder, "x.jsonl 5 day 1\nsub/ -1 \nz 2 day 4\n");
    check_asked("GET /bucket?delimiter=%2F&list-type=2&prefix=p%2F 200\n"
                "GET /bucket?continuation-token=n%2F1&delimiter=%2F&list-type=2&prefix=p%2F 200\n"
                "GET /bucket?continuation-token=n%2F2&delimiter=%2F&list-type=2&prefix=p%2F 200\n");
    check_list(&all, "p/ -1 \np/ -1 \nq 1 day 3\np/ -1 \n");
}

/* ---- logs ---- */

static bool has_line(const struct buf *b, const char *line, size_t n)
{
    for (const char *p = buf_text(b); *p; p += strcspn(p, "\n") + 1)
        if (strcspn(p, "\n") == n && memcmp(p, line, n) == 0)
            return true;
    return false;
}

/* All lines once, in order. */
static enum err unite(const char *const *paths, size_t n, const char *out, int64_t *n_new, struct why *why)
{
    struct buf all, one;
    enum err e = ERR_OK;

    buf_init(&all, 1 << 20);
    *n_new = 0;
    for (size_t i = 0; i < n && !e; i++) {
        buf_init(&one, 1 << 20);
        e = file_read(paths[i], &one, why);
        for (const char *p = buf_text(&one); *p; p += strcspn(p, "\n") + 1) {
            const size_t n_line = strcspn(p, "\n");

            if (has_line(&all, p, n_line))
                continue;
            buf_append(&all, p, n_line + 1);
            *n_new += i > 0;
        }
        buf_fini(&one);
    }
    e = e ? e : file_replace(out, buf_text(&all), all.len, 0600, why);
    buf_fini(&all);
    return e;
}

static enum err push(const char *path, const char *text, bool alone, int64_t *n_new, struct why *why)
{
    const struct hub_url u = url(path);
    const char *const paths[] = {at("own")};

    write_text(at("own"), text);
    *n_new = -1;
    return hub_push_log(h, &u, paths, 1, alone, unite, n_new, why);
}

static size_t n_like(const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n_objects; i++)
        n += strstr(s.objects[i].path, part) != NULL;
    return n;
}

static void logs_are_pushed_under_their_etag(void **state)
{
    struct why why = {""};
    int64_t n_new;

    (void)state;
    s.knows_etags = true;
    assert_int_equal(push("/l", "a\nb\n", false, &n_new, &why), ERR_OK);
    assert_int_equal(n_new, 2);
    check_object("/l", "a\nb\n");
    assert_string_equal(s.last.if_none_match, "*");
    assert_int_equal(push("/l", "b\nc\n", false, &n_new, &why), ERR_OK);
    assert_int_equal(n_new, 1);
    check_object("/l", "a\nb\nc\n");
    assert_string_equal(s.last.if_match, "\"v1\"");
    s.asked[0] = '\0';
    assert_int_equal(push("/l", "c\na\n", false, &n_new, &why), ERR_OK);
    assert_int_equal(n_new, 0);
    assert_null(strstr(s.asked, "PUT /l ")); /* nothing new: nothing is sent */
    assert_int_equal(n_like("probe"), 0);
    s.weak_etags = true;
    assert_int_equal(push("/l", "d\n", false, &n_new, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "no strong ETag"));
    check_object("/l", "a\nb\nc\n");
}

/* Another pusher's line right before ours is stored, so many times. */
static void push_between(struct server *server, const struct server_request *r, void *arg)
{
    int *left = arg;
    char text[64];

    if (strcmp(r->method, "PUT") != 0 || strcmp(r->target, "/l") != 0 || *left == 0)
        return;
    --*left;
    snprintf(text, sizeof text, "%sother %d\n", server_find(server, "/l") ? server_find(server, "/l")->bytes : "",
             *left);
    server_put(server, "/l", text, strlen(text));
}

static void no_line_is_lost_to_a_faster_pusher(void **state)
{
    int64_t n_new;
    int left = 2;

    (void)state;
    s.knows_etags = true;
    s.before = push_between;
    s.arg = &left;
    hub_close(h); /* no wait is too long for this */
    assert_int_equal(hub_open(&(struct hub_options){.wait_s = 60}, &h, NULL), ERR_OK);
    assert_int_equal(push("/l", "mine\n", false, &n_new, NULL), ERR_OK);
    assert_int_equal(n_new, 1);
    check_object("/l", "other 1\nother 0\nmine\n");
}

/* Is there a lock with a token in it while the log is stored? */
static void look_for_lock(struct server *server, const struct server_request *r, void *arg)
{
    (void)server;
    if (strcmp(r->method, "PUT") == 0 && strcmp(r->target, "/l") == 0)
        *(size_t *)arg = n_like("/l.lock/");
}

static void a_folder_locks_where_etags_are_not_obeyed(void **state)
{
    size_t n_locks = 0;
    int64_t n_new;

    (void)state;
    s.is_dav = true;
    s.age_s = 1;
    s.before = look_for_lock;
    s.arg = &n_locks;
    server_put(&s, "/l", "a\n", 2);
    assert_int_equal(push("/l", "b\n", false, &n_new, NULL), ERR_OK);
    check_object("/l", "a\nb\n");
    assert_int_equal(n_locks, 2); /* the folder and the token */
    assert_int_equal(n_like("lock") + n_like("probe"), 0);
}

static void a_lock_of_another_is_waited_for_and_a_dead_one_is_taken(void **state)
{
    struct why why = {""};
    int64_t n_new;

    (void)state;
    s.is_dav = true;
    server_put(&s, "/l.lock/", "", 0);
    server_put(&s, "/l.lock/token", "tune\n", 5);
    s.age_s = 900;
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, "since 900 s"));
    assert_int_equal(n_like("/l.lock/"), 2);
    assert_null(server_find(&s, "/l"));
    s.age_s = 901;
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_STALE); /* by its clock ours is as old at once */
    assert_null(server_find(&s, "/l.lock/token"));
    s.age_s = -1;
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_OK);
    check_object("/l", "b\n");
    assert_int_equal(n_like("lock"), 0);
}

static void without_guard_only_who_is_alone_may_push(void **state)
{
    struct why why = {""};
    int64_t n_new;

    (void)state;
    server_put(&s, "/l", "a\n", 2);
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "--alone"));
    check_object("/l", "a\n");
    assert_int_equal(push("/l", "b\n", true, &n_new, &why), ERR_OK);
    check_object("/l", "a\nb\n");
    assert_int_equal(s.n_objects, 1);
}

static void logs_are_pulled_into_what_is_there(void **state)
{
    const struct hub_url u = url("/l"), none = url("/none");
    int64_t n_new = -1;

    (void)state;
    server_put(&s, "/l", "a\nb\n", 4);
    assert_int_equal(hub_pull_log(h, &u, at("p"), unite, &n_new, NULL), ERR_OK);
    assert_int_equal(n_new, 2);
    check_file(at("p"), "a\nb\n");
    write_text(at("p"), "mine\nb\n");
    assert_int_equal(hub_pull_log(h, &u, at("p"), unite, &n_new, NULL), ERR_OK);
    assert_int_equal(n_new, 1);
    check_file(at("p"), "mine\nb\na\n");
    assert_int_equal(hub_pull_log(h, &none, at("q"), unite, &n_new, NULL), ERR_NOT_FOUND);
    assert_true(access(at("p.part"), F_OK) && access(at("p.none"), F_OK) && access(at("q"), F_OK));
    assert_true(access(at("q.part"), F_OK) && access(at("q.none"), F_OK) && access(at("p.part.etag"), F_OK));
}

/* ---- bundles ---- */

static void write_bundle(const char *name, const char *first)
{
    char path[300], text[1000];

    snprintf(path, sizeof path, "%s/k", name);
    assert_int_equal(dir_make(at(path), 0755, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/net.h", name);
    write_text(at(path), first);
    snprintf(path, sizeof path, "%s/k/a b.cl", name);
    write_text(at(path), "kernel");
    snprintf(text, sizeof text,
             "{\"schema\":2,\"files\":[{\"path\":\"net.h\",\"sha256\":\"%s\",\"bytes\":%zu},"
             "{\"path\":\"k/a b.cl\",\"sha256\":\"%s\",\"bytes\":6}]}",
             sha256_of(first, strlen(first)).hex, strlen(first), sha256_of("kernel", 6).hex);
    snprintf(path, sizeof path, "%s/manifest.json", name);
    write_text(at(path), text);
}

static void bundles_are_pushed_with_their_manifest_last(void **state)
{
    const struct hub_url u = url("/b/");
    struct why why = {""};
    int n = -1;

    (void)state;
    s.knows_etags = true;
    write_bundle("one", "header");
    write_bundle("two", "another");
    assert_int_equal(hub_push_bundle(h, &u, at("one"), false, &n, &why), ERR_OK);
    assert_int_equal(n, 3);
    check_asked("GET /b/manifest.json 404\nPUT /b/net.h 201\nPUT /b/k/a%20b.cl 201\nPUT /b/manifest.json 201\n");
    check_object("/b/net.h", "header");
    assert_int_equal(hub_push_bundle(h, &u, at("one"), false, &n, &why), ERR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(hub_push_bundle(h, &u, at("two"), false, &n, &why), ERR_EXISTS);
    check_object("/b/net.h", "header");
    s.asked[0] = '\0';
    assert_int_equal(hub_push_bundle(h, &u, at("two"), true, &n, &why), ERR_OK);
    assert_int_equal(n, 3);
    check_object("/b/net.h", "another");
    check_asked("GET /b/manifest.json 200\nDELETE /b/manifest.json 204\nPUT /b/net.h 201\nPUT /b/k/a%20b.cl 201\n"
                "PUT /b/manifest.json 201\n");
    write_text(at("two/net.h"), "anothes");
    assert_int_equal(hub_push_bundle(h, &u, at("two"), true, &n, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "net.h is not what its manifest says"));
    check_object("/b/net.h", "another");
    assert_int_equal(hub_push_bundle(h, &u, at("k"), true, &n, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "no manifest.json"));
}

static void a_store_that_tells_sums_gets_only_what_changed(void **state)
{
    const struct hub_url u = s3_url("b/");
    int n = -1;

    (void)state;
    write_bundle("one", "header");
    assert_int_equal(hub_push_bundle(h, &u, at("one"), false, &n, NULL), ERR_OK);
    assert_int_equal(n, 3);
    write_bundle("one", "headed");
    assert_int_equal(hub_push_bundle(h, &u, at("one"), true, &n, NULL), ERR_OK);
    assert_int_equal(n, 2);
    check_object("/bucket/b/net.h", "headed");
}

static void bundles_are_pulled_whole_or_not_at_all(void **state)
{
    const struct hub_url u = url("/b");
    struct why why = {""};
    int n = -1;

    (void)state;
    write_bundle("one", "header");
    assert_int_equal(hub_push_bundle(h, &u, at("one"), false, &n, NULL), ERR_OK);
    assert_int_equal(hub_pull_bundle(h, &u, at("got"), &n, &why), ERR_OK);
    assert_int_equal(n, 2);
    check_file(at("got/net.h"), "header");
    check_file(at("got/k/a b.cl"), "kernel");
    assert_int_equal(access(at("got/manifest.json"), F_OK), 0);
    assert_int_equal(access(at("got.part"), F_OK), -1);
    assert_int_equal(hub_pull_bundle(h, &u, at("got"), &n, &why), ERR_EXISTS);
    assert_int_equal(dir_make(at("again.part"), 0755, NULL), ERR_OK);
    write_text(at("again.part/net.h"), "header"); /* of an interrupted pull */
    assert_int_equal(hub_pull_bundle(h, &u, at("again"), &n, &why), ERR_OK);
    assert_int_equal(n, 1);
    server_find(&s, "/b/net.h")->bytes[0] = 'X';
    assert_int_equal(hub_pull_bundle(h, &u, at("bad"), &n, &why), ERR_IO);
    assert_non_null(strstr(why.text, "not what its manifest says"));
    assert_int_equal(access(at("bad"), F_OK), -1);
    assert_int_equal(access(at("bad.part/net.h"), F_OK), -1);
}

static void manifests_that_lead_astray_are_refused(void **state)
{
    static const char *const paths[] = {"../x", "/x", "a/../x", "", "a//b", "./x", "a/.", "..", "a\\\\b", "a\\nb"};
    const struct hub_url u = url("/b/");
    struct why why = {""};
    char text[400];
    int n;

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        snprintf(text, sizeof text, "{\"schema\":1,\"files\":[{\"path\":\"%s\",\"sha256\":\"%s\",\"bytes\":0}]}",
                 paths[i], sha256_of("", 0).hex);
        server_put(&s, "/b/manifest.json", text, strlen(text));
        if (hub_pull_bundle(h, &u, at("got"), &n, &why) != ERR_INPUT || !strstr(why.text, "leaves the bundle"))
            fail_msg("'%s': %s", paths[i], why.text);
    }
    server_put(&s, "/b/manifest.json", "{\"schema\":3,\"files\":[]}", 23);
    assert_int_equal(hub_pull_bundle(h, &u, at("got"), &n, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "newer"));
    server_put(&s, "/b/manifest.json", "{\"schema\":2,\"files\":[]}", 23);
    assert_int_equal(hub_pull_bundle(h, &u, at("got"), &n, &why), ERR_OK);
}

static void credentials_are_sent_as_their_kind_wants(void **state)
{
    const struct hub_url u = url("/x");
    struct hub *own = NULL;
    struct hub_object o;

    (void)state;
    assert_int_equal(hub_head(h, &u, &o, NULL), ERR_OK);
    assert_string_equal(s.last.authorization, "");
    setenv("TUNE_HUB_USER", "farm", 1);
    setenv("TUNE_HUB_PASSWORD", "let me in", 1);
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_OK);
    assert_int_equal(hub_head(own, &u, &o, NULL), ERR_OK);
    assert_string_equal(s.last.authorization, "Basic ZmFybTpsZXQgbWUgaW4="); /* farm:let me in */
    hub_close(own);
    setenv("TUNE_HUB_TOKEN", "abc", 1); /* goes before a user */
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_OK);
    assert_int_equal(hub_head(own, &u, &o, NULL), ERR_OK);
    assert_string_equal(s.last.authorization, "Bearer abc");
    hub_close(own);
    unsetenv("TUNE_HUB_USER");
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_INPUT); /* half a pair */
    unsetenv("TUNE_HUB_PASSWORD");
    unsetenv("TUNE_HUB_TOKEN");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objects_are_stored_fetched_and_removed),
        TEST(preconditions_are_told_and_obeyed),
        TEST(statuses_are_errors_with_words),
        TEST(what_may_pass_is_tried_again),
        TEST(no_server_is_unreachable),
        TEST(transfers_are_told_both_ways),
        TEST(a_fetch_goes_on_where_it_was_cut),
        TEST(a_fetch_of_another_object_begins_anew),
        TEST(a_missing_file_leaves_nothing),
        TEST(files_are_stored_and_checked_by_their_sum),
        TEST(folders_are_listed_by_webdav),
        TEST(folders_are_listed_by_an_index),
        TEST(buckets_are_listed_page_by_page),
        TEST(logs_are_pushed_under_their_etag),
        TEST(no_line_is_lost_to_a_faster_pusher),
        TEST(a_folder_locks_where_etags_are_not_obeyed),
        TEST(a_lock_of_another_is_waited_for_and_a_dead_one_is_taken),
        TEST(without_guard_only_who_is_alone_may_push),
        TEST(logs_are_pulled_into_what_is_there),
        TEST(bundles_are_pushed_with_their_manifest_last),
        TEST(a_store_that_tells_sums_gets_only_what_changed),
        TEST(bundles_are_pulled_whole_or_not_at_all),
        TEST(manifests_that_lead_astray_are_refused),
        TEST(credentials_are_sent_as_their_kind_wants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
