/* SPDX-License-Identifier: MIT */
/* Objects and lists of a hub against a server in this process: what is asked, and what comes of answers of all kinds.
 */
#include "core/file.h"
#include "place.h"

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

/* ---- objects ---- */

static void objects_are_stored_fetched_and_removed(void **state)
{
    const struct hub_url u = place_url("/a/x.jsonl");
    struct hub_object o;
    struct buf b;

    (void)state;
    buf_init(&b, 5);
    place.server.age_s = 70;
    assert_int_equal(hub_head(place.hub, &u, &o, NULL), ERR_OK);
    assert_false(o.exists);
    assert_int_equal(hub_get(place.hub, &u, &b, &o, NULL), ERR_NOT_FOUND);
    assert_int_equal(hub_put(place.hub, &u, "abcde", 5, HUB_ANY, NULL), ERR_OK);
    assert_int_equal(hub_head(place.hub, &u, &o, NULL), ERR_OK);
    assert_true(o.exists && o.n_bytes == 5 && o.age_s == 70);
    assert_string_equal(o.etag, "\"v1\"");
    buf_clear(&b);
    assert_int_equal(hub_get(place.hub, &u, &b, &o, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "abcde");
    assert_true(o.exists && o.n_bytes == 5);
    place_check_asked(
        "HEAD /a/x.jsonl 404\nGET /a/x.jsonl 404\nPUT /a/x.jsonl 201\nHEAD /a/x.jsonl 200\nGET /a/x.jsonl 200\n");
    assert_int_equal(hub_put(place.hub, &u, "abcdef", 6, HUB_ANY, NULL), ERR_OK);
    buf_clear(&b);
    assert_int_equal(hub_get(place.hub, &u, &b, &o, NULL), ERR_LIMIT);
    assert_int_equal(hub_delete(place.hub, &u, NULL), ERR_OK);
    assert_null(server_find(&place.server, "/a/x.jsonl"));
    assert_int_equal(hub_delete(place.hub, &u, NULL), ERR_OK); /* a missing one is no error */
    assert_int_equal(hub_put(place.hub, &u, "", 0, HUB_ANY, NULL), ERR_OK);
    place_check_object("/a/x.jsonl", "");
    place.server.age_s = -1;
    assert_int_equal(hub_head(place.hub, &u, &o, NULL), ERR_OK);
    assert_true(o.age_s == -1 && o.n_bytes == 0);
    buf_fini(&b);
}

static void preconditions_are_told_and_obeyed(void **state)
{
    const struct hub_url u = place_url("/x");

    (void)state;
    place.server.knows_etags = true;
    assert_int_equal(hub_put(place.hub, &u, "1", 1, HUB_NEW, NULL), ERR_OK);
    assert_string_equal(place.server.last.if_none_match, "*");
    assert_int_equal(hub_put(place.hub, &u, "2", 1, HUB_NEW, NULL), ERR_STALE);
    assert_int_equal(hub_put(place.hub, &u, "2", 1, "\"v7\"", NULL), ERR_STALE);
    assert_string_equal(place.server.last.if_match, "\"v7\"");
    place_check_object("/x", "1");
    assert_int_equal(hub_put(place.hub, &u, "2", 1, "\"v1\"", NULL), ERR_OK);
    assert_int_equal(hub_put(place.hub, &u, "3", 1, HUB_ANY, NULL), ERR_OK);
    assert_true(!place.server.last.if_match[0] && !place.server.last.if_none_match[0]);
    place_check_object("/x", "3");
}

static void statuses_are_errors_with_words(void **state)
{
    static const struct {
        int status;
        enum err e;
        int n_asked; /* what may pass is tried twice */
    } cases[] = {{401, ERR_AUTH, 1},        {403, ERR_AUTH, 1},  {404, ERR_NOT_FOUND, 1}, {405, ERR_UNSUPPORTED, 1},
                 {410, ERR_NOT_FOUND, 1},   {412, ERR_STALE, 1}, {413, ERR_LIMIT, 1},     {418, ERR_IO, 1},
                 {501, ERR_UNSUPPORTED, 1}, {507, ERR_IO, 1},    {503, ERR_IO, 2}};
    const struct hub_url u = place_url("/x");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        char number[16];

        place.server.n_fail = 99;
        place.server.status = cases[i].status;
        snprintf(number, sizeof number, "%d AsTold", cases[i].status);
        assert_int_equal(hub_put(place.hub, &u, "1", 1, HUB_ANY, &why), cases[i].e);
        if (!strstr(why.text, number) || !strstr(why.text, "/x"))
            fail_msg("%d: %s", cases[i].status, why.text);
        assert_int_equal(99 - place.server.n_fail, cases[i].n_asked);
    }
}

static void folders_above_are_made_where_a_server_wants_them(void **state)
{
    const struct hub_url u = place_url("/a%20b/c/x"), folder = place_url("/d/e/"), root = place_url("/y");
    const struct hub_url s3 = place_s3_url("k/x");
    struct why why = {""};

    (void)state;
    place.server.is_dav = place.server.wants_folders = true;
    server_put(&place.server, "/a%20b/", "", 0);
    place.server.n_at_once = 1;
    assert_int_equal(hub_put(place.hub, &u, "1", 1, HUB_ANY, &why), ERR_OK);
    place_check_asked(
        "PUT /a%20b/c/x 409\nMKCOL /a%20b/ 403\nMKCOL /a%20b/ 405\nMKCOL /a%20b/c/ 201\nPUT /a%20b/c/x 201\n");
    place_check_object("/a%20b/c/x", "1");
    assert_int_equal(hub_make_folder(place.hub, &folder, &why), ERR_OK);
    place_check_asked("MKCOL /d/e/ 409\nMKCOL /d/ 201\nMKCOL /d/e/ 201\n");
    assert_int_equal(hub_make_folder(place.hub, &folder, &why), ERR_EXISTS);
    place_check_asked("MKCOL /d/e/ 405\n");
    /* Nothing above it could be missing; S3's conflict is another pusher. */
    place.server.n_fail = 99;
    place.server.status = 409;
    assert_int_equal(hub_put(place.hub, &root, "1", 1, HUB_ANY, &why), ERR_IO);
    assert_non_null(strstr(why.text, "/y: 409: expected a folder"));
    place_check_asked("PUT /y 409\nPUT /y 409\n");
    assert_int_equal(hub_put(place.hub, &s3, "1", 1, HUB_ANY, &why), ERR_STALE);
    place_check_asked("PUT /bucket/k/x 409\n");
}

static void what_may_pass_is_tried_again(void **state)
{
    const struct hub_url u = place_url("/x");
    struct hub_object o;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    server_put(&place.server, "/x", "0123456789", 10);
    place.server.n_fail = 1;
    place.server.status = 429;
    assert_int_equal(hub_get(place.hub, &u, &b, &o, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "0123456789");
    place.server.n_cut = 1;
    place.server.cut_at = 4;
    buf_clear(&b);
    assert_int_equal(hub_get(place.hub, &u, &b, &o, NULL), ERR_OK); /* memory starts anew */
    assert_string_equal(buf_text(&b), "0123456789");
    place.server.n_fail = 1;
    place.server.status = 500;
    assert_int_equal(hub_put(place.hub, &u, "whole", 5, HUB_ANY, NULL), ERR_OK); /* the body is sent again */
    place_check_object("/x", "whole");
    buf_fini(&b);
}

static void no_server_is_unreachable(void **state)
{
    struct hub_url u = place_url("/x");
    struct hub *once = NULL;
    struct hub_object o;
    struct why why = {""};

    (void)state;
    server_stop(&place.server);
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &once, NULL), ERR_OK);
    assert_int_equal(hub_head(once, &u, &o, &why), ERR_UNREACHABLE);
    assert_non_null(strstr(why.text, "no connection"));
    hub_close(once);
    server_start(&place.server);
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
    const struct hub_url u = place_url("/x");
    struct told told = {.n = 0};
    struct hub *own = NULL;
    struct hub_object o;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(hub_open(&(struct hub_options){.progress = note_progress, .arg = &told}, &own, NULL), ERR_OK);
    assert_int_equal(hub_put(own, &u, "0123456", 7, HUB_ANY, NULL), ERR_OK);
    assert_true(told.n > 0 && told.n_done == 7 && told.n_total == 7);
    server_put(&place.server, "/x", "0123456789", 10);
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
    const struct hub_url u = place_url("/f");
    struct hub_object o;

    (void)state;
    fill_long_text();
    server_put(&place.server, "/f", long_text, strlen(long_text));
    place.server.n_cut = 1;
    place.server.cut_at = 30000;
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), HUB_MAX_BYTES, &o, NULL), ERR_OK);
    place_check_file(place_at("f"), long_text);
    assert_string_equal(place.server.last.range, "bytes=30000-");
    assert_string_equal(place.server.last.if_range, "\"v1\"");
    assert_int_equal(access(place_at("f.etag"), F_OK), -1);
    place_check_asked("HEAD /f 200\nGET /f 200\nGET /f 206\n");
    unlink(place_at("f"));
    place.server.n_cut = 2; /* as often as is tried: what came stays, with its ETag */
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), HUB_MAX_BYTES, &o, NULL), ERR_IO);
    place_check_file(place_at("f.etag"), "\"v1\"");
    place.server.asked[0] = '\0';
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), HUB_MAX_BYTES, &o, NULL), ERR_OK);
    assert_string_equal(place.server.last.range, "bytes=60000-");
    place_check_asked("GET /f 206\n");
    place_check_file(place_at("f"), long_text);
}

static void a_fetch_of_another_object_begins_anew(void **state)
{
    const struct hub_url u = place_url("/f");
    struct hub_object o;

    (void)state;
    fill_long_text();
    server_put(&place.server, "/f", long_text, strlen(long_text));
    place.server.n_cut = 2;
    place.server.cut_at = 20000;
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), HUB_MAX_BYTES, &o, NULL), ERR_IO);
    server_put(&place.server, "/f", "changed", 7);
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), HUB_MAX_BYTES, &o, NULL), ERR_OK);
    place_check_file(place_at("f"), "changed");
    assert_int_equal(access(place_at("f.etag"), F_OK), -1);
    place_write_text(place_at("g"), "some that were there before, more than is to come");
    assert_int_equal(hub_get_file(place.hub, &u, place_at("g"), HUB_MAX_BYTES, &o, NULL),
                     ERR_OK); /* without an ETag of theirs */
    place_check_file(place_at("g"), "changed");
    place_write_text(place_at("g"), "changed"); /* whole already: 416 */
    place_write_text(place_at("g.etag"), "\"v2\"");
    place.server.asked[0] = '\0';
    assert_int_equal(hub_get_file(place.hub, &u, place_at("g"), HUB_MAX_BYTES, &o, NULL), ERR_OK);
    place_check_asked("GET /f 416\nGET /f 200\n");
    place_check_file(place_at("g"), "changed");
}

static void a_missing_file_leaves_nothing(void **state)
{
    const struct hub_url u = place_url("/none");
    struct hub_object o;

    (void)state;
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), HUB_MAX_BYTES, &o, NULL), ERR_NOT_FOUND);
    assert_int_equal(access(place_at("f"), F_OK), -1);
    assert_int_equal(access(place_at("f.etag"), F_OK), -1);
}

static void files_are_stored_and_checked_by_their_sum(void **state)
{
    const struct hub_url u = place_s3_url("p/f");
    struct hub_object o;
    struct why why = {""};

    (void)state;
    fill_long_text();
    place_write_text(place_at("f"), long_text);
    assert_int_equal(hub_put_file(place.hub, &u, place_at("f"), HUB_ANY, NULL), ERR_OK);
    place_check_object("/bucket/p/f", long_text);
    assert_string_equal(server_find(&place.server, "/bucket/p/f")->sha256, sha256_of(long_text, strlen(long_text)).hex);
    assert_int_equal(hub_get_file(place.hub, &u, place_at("g"), HUB_MAX_BYTES, &o, NULL), ERR_OK);
    assert_string_equal(o.sha256, sha256_of(long_text, strlen(long_text)).hex);
    server_find(&place.server, "/bucket/p/f")->bytes[77] ^= 1;
    assert_int_equal(hub_get_file(place.hub, &u, place_at("k"), HUB_MAX_BYTES, &o, &why), ERR_IO);
    assert_non_null(strstr(why.text, "its pusher said"));
    assert_int_equal(access(place_at("k"), F_OK), -1);
    assert_int_equal(hub_put_file(place.hub, &u, place_at("none"), HUB_ANY, NULL), ERR_NOT_FOUND);
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
    if (hub_list(place.hub, folder, list_entry, &b, &why))
        fail_msg("%s", why.text);
    assert_string_equal(buf_text(&b), expected);
    buf_fini(&b);
}

static void folders_are_listed_by_webdav(void **state)
{
    const struct hub_url with = place_url("/a/"), without = place_url("/a");

    (void)state;
    place.server.is_dav = true;
    server_put(&place.server, "/a/", "", 0);
    server_put(&place.server, "/a/b%20c.jsonl", "12345", 5);
    server_put(&place.server, "/a/sub/", "", 0);
    server_put(&place.server, "/a/empty%0a%41", "", 0);
    server_put(&place.server, "/a/100%2", "1", 1);
    server_put(&place.server, "/ab", "1", 1);
    check_list(&with, "b c.jsonl 5 day 2\nsub/ -1 day 3\nempty?A 0 day 4\n100%2 1 day 5\n");
    assert_int_equal(hub_list(place.hub, &without, list_entry, NULL, NULL),
                     ERR_OK); /* an empty list: a folder ends with '/' */
}

static void folders_are_listed_by_an_index(void **state)
{
    const struct hub_url u = place_url("/a/"), other = place_url("/none");
    struct why why = {""};

    (void)state;
    place.server.has_index = true;
    server_put(&place.server, "/a/x.jsonl", "12345", 5);
    server_put(&place.server, "/a/sub/", "", 0);
    check_list(&u, "x.jsonl 5 day 1\nsub/ 0 day 2\n");
    place_check_asked("PROPFIND /a/ 405\nGET /a/ 200\n");
    assert_int_equal(hub_list(place.hub, &other, list_entry, NULL, &why), ERR_NOT_FOUND);
    server_put(&place.server, "/none", "no list", 7);
    assert_int_equal(hub_list(place.hub, &other, list_entry, NULL, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "does not list folders"));
}

static void buckets_are_listed_page_by_page(void **state)
{
    const struct hub_url folder = place_s3_url("p"), all = place_s3_url("");

    (void)state;
    place.server.is_s3 = true;
    server_put(&place.server, "/bucket/p/x.jsonl", "12345", 5);
    server_put(&place.server, "/bucket/p/sub/y", "1", 1);
    server_put(&place.server, "/bucket/q", "1", 1);
    server_put(&place.server, "/bucket/p/z", "12", 2);
    check_list(&folder, "x.jsonl 5 day 1\nsub/ -1 \nz 2 day 4\n");
    place_check_asked("GET /bucket?delimiter=%2F&list-type=2&prefix=p%2F 200\n"
                      "GET /bucket?continuation-token=n%2F1&delimiter=%2F&list-type=2&prefix=p%2F 200\n"
                      "GET /bucket?continuation-token=n%2F2&delimiter=%2F&list-type=2&prefix=p%2F 200\n");
    check_list(&all, "p/ -1 \np/ -1 \nq 1 day 3\np/ -1 \n");
}

/* A server's word sends nobody's S3 credentials to another one; who has none is sent on. */
static void who_is_sent_elsewhere_takes_no_credentials_along(void **state)
{
    const struct hub_url u = place_url("/x"), s3 = place_s3_url("x");
    struct server other;
    struct hub *own = NULL;
    struct why why = {""};
    struct hub_object o;
    struct buf b;

    (void)state;
    server_start(&other);
    server_put(&other, "/x", "elsewhere", 9);
    snprintf(place.server.elsewhere, sizeof place.server.elsewhere, "http://127.0.0.1:%u/x", other.port);
    buf_init(&b, 100);
    assert_int_equal(hub_get(place.hub, &u, &b, &o, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), "elsewhere");
    other.asked[0] = '\0';
    setenv("AWS_ACCESS_KEY_ID", "AK", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
    setenv("AWS_SESSION_TOKEN", "ST", 1);
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_OK);
    assert_int_equal(hub_get(own, &s3, &b, &o, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "302: the server says that it is elsewhere"));
    assert_string_equal(other.asked, "");
    server_forget_environment();
    hub_close(own);
    buf_fini(&b);
    server_stop(&other);
}

/* Also where the server tells a length that is right. */
static void no_file_is_larger_than_expected(void **state)
{
    const struct hub_url u = place_url("/f");
    struct why why = {""};
    struct hub_object o;

    (void)state;
    server_put(&place.server, "/f", "0123456789", 10);
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), 9, &o, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "it is larger than expected"));
    place_check_asked("HEAD /f 200\nGET /f 200\n"); /* once */
    unlink(place_at("f"));
    assert_int_equal(hub_get_file(place.hub, &u, place_at("f"), 10, &o, NULL), ERR_OK);
    place_check_file(place_at("f"), "0123456789");
}

static void credentials_are_sent_as_their_kind_wants(void **state)
{
    const struct hub_url u = place_url("/x");
    struct hub *own = NULL;
    struct hub_object o;

    (void)state;
    assert_int_equal(hub_head(place.hub, &u, &o, NULL), ERR_OK);
    assert_string_equal(place.server.last.authorization, "");
    setenv("TUNE_HUB_USER", "farm", 1);
    setenv("TUNE_HUB_PASSWORD", "let me in", 1);
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_OK);
    assert_int_equal(hub_head(own, &u, &o, NULL), ERR_OK);
    assert_string_equal(place.server.last.authorization, "Basic ZmFybTpsZXQgbWUgaW4="); /* farm:let me in */
    hub_close(own);
    setenv("TUNE_HUB_TOKEN", "abc", 1); /* goes before a user */
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_OK);
    assert_int_equal(hub_head(own, &u, &o, NULL), ERR_OK);
    assert_string_equal(place.server.last.authorization, "Bearer abc");
    hub_close(own);
    unsetenv("TUNE_HUB_USER");
    assert_int_equal(hub_open(&(struct hub_options){.n_tries = 1}, &own, NULL), ERR_INPUT); /* half a pair */
    unsetenv("TUNE_HUB_PASSWORD");
    unsetenv("TUNE_HUB_TOKEN");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_begin, place_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objects_are_stored_fetched_and_removed),
        TEST(preconditions_are_told_and_obeyed),
        TEST(statuses_are_errors_with_words),
        TEST(folders_above_are_made_where_a_server_wants_them),
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
        TEST(credentials_are_sent_as_their_kind_wants),
        TEST(who_is_sent_elsewhere_takes_no_credentials_along),
        TEST(no_file_is_larger_than_expected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
