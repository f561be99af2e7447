/* SPDX-License-Identifier: MIT */
/* Logs and bundles of a hub against a server in this process: two pushers lose nothing, nothing comes in part. */
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

static enum err push_to(const struct hub_url *u, const char *text, bool alone, int64_t *n_new, struct why *why)
{
    const char *const paths[] = {place_at("own")};

    place_write_text(place_at("own"), text);
    *n_new = -1;
    return hub_push_log(place.hub, u, paths, 1, alone, unite, n_new, why);
}

static enum err push(const char *path, const char *text, bool alone, int64_t *n_new, struct why *why)
{
    const struct hub_url u = place_url(path);

    return push_to(&u, text, alone, n_new, why);
}

static size_t n_like(const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < place.server.n_objects; i++)
        n += strstr(place.server.objects[i].path, part) != NULL;
    return n;
}

static void logs_are_pushed_under_their_etag(void **state)
{
    struct why why = {""};
    int64_t n_new;

    (void)state;
    place.server.knows_etags = true;
    assert_int_equal(push("/l", "a\nb\n", false, &n_new, &why), ERR_OK);
    assert_int_equal(n_new, 2);
    place_check_object("/l", "a\nb\n");
    assert_string_equal(place.server.last.if_none_match, "*");
    assert_int_equal(push("/l", "b\nc\n", false, &n_new, &why), ERR_OK);
    assert_int_equal(n_new, 1);
    place_check_object("/l", "a\nb\nc\n");
    assert_string_equal(place.server.last.if_match, "\"v1\"");
    place.server.asked[0] = '\0';
    assert_int_equal(push("/l", "c\na\n", false, &n_new, &why), ERR_OK);
    assert_int_equal(n_new, 0);
    assert_null(strstr(place.server.asked, "PUT /l ")); /* nothing new: nothing is sent */
    assert_int_equal(n_like("probe"), 0);
    place.server.weak_etags = true;
    assert_int_equal(push("/l", "d\n", false, &n_new, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "no strong ETag"));
    place_check_object("/l", "a\nb\nc\n");
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
    place.server.knows_etags = true;
    place.server.before = push_between;
    place.server.arg = &left;
    hub_close(place.hub); /* no wait is too long for this */
    assert_int_equal(hub_open(&(struct hub_options){.wait_s = 60}, &place.hub, NULL), ERR_OK);
    assert_int_equal(push("/l", "mine\n", false, &n_new, NULL), ERR_OK);
    assert_int_equal(n_new, 1);
    place_check_object("/l", "other 1\nother 0\nmine\n");
}

/* Is there a lock with a token in it while the log is stored? */
static void look_for_lock(struct server *server, const struct server_request *r, void *arg)
{
    (void)server;
    if (strcmp(r->method, "PUT") == 0 && strcmp(r->target, "/l") == 0)
        *(size_t *)arg = n_like("/l.lock/");
}

static void a_folder_locks_where_folders_are_made(void **state)
{
    size_t n_locks = 0;
    int64_t n_new;

    (void)state;
    place.server.is_dav = true;
    place.server.age_s = 1;
    place.server.before = look_for_lock;
    place.server.arg = &n_locks;
    server_put(&place.server, "/l", "a\n", 2);
    assert_int_equal(push("/l", "b\n", false, &n_new, NULL), ERR_OK);
    place_check_object("/l", "a\nb\n");
    assert_int_equal(n_locks, 2); /* the folder and the token */
    assert_int_equal(n_like("lock") + n_like("probe"), 0);
    /* As Apache: one that knows ETags, too, weak ones in the second behind a change, and looks at them too early. */
    place.server.knows_etags = place.server.weak_etags = place.server.wants_folders = true;
    n_locks = 0;
    assert_int_equal(push("/l", "c\n", false, &n_new, NULL), ERR_OK);
    place_check_object("/l", "a\nb\nc\n");
    assert_int_equal(n_locks, 2);
    assert_int_equal(push("/new/folder/l", "a\n", false, &n_new, NULL), ERR_OK);
    place_check_object("/new/folder/l", "a\n");
    assert_int_equal(n_like("lock") + n_like("probe"), 0);
}

static void a_lock_of_another_is_waited_for_and_a_dead_one_is_taken(void **state)
{
    struct why why = {""};
    int64_t n_new;

    (void)state;
    place.server.is_dav = true;
    server_put(&place.server, "/l.lock/", "", 0);
    server_put(&place.server, "/l.lock/token", "tune\n", 5);
    place.server.age_s = 900;
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, "since 900 s"));
    assert_int_equal(n_like("/l.lock/"), 2);
    assert_null(server_find(&place.server, "/l"));
    place.server.age_s = 901;
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_STALE); /* by its clock ours is as old at once */
    assert_null(server_find(&place.server, "/l.lock/token"));
    place.server.age_s = -1;
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_OK);
    place_check_object("/l", "b\n");
    assert_int_equal(n_like("lock"), 0);
}

/* What is put below a name is answered with a status of its own. */
struct refusal {
    const char *method, *part;
    int status;
};

static void refuse_some(struct server *server, const struct server_request *r, void *arg)
{
    const struct refusal *no = arg;

    if (strcmp(r->method, no->method) == 0 && strstr(r->target, no->part)) {
        server->n_fail = 1;
        server->status = no->status;
    }
}

/* A server that lets folders be made and refuses one of the other steps: whichever it is, no lock stays behind, and who
 * comes next need not wait for it. */
static void a_push_that_fails_leaves_no_lock(void **state)
{
    static struct refusal refusals[] = {
        {"PUT", "/l.lock/", 403}, {"PUT", "/l.lock/", 507}, {"PUT", "/l.lock/", 500}, {"GET", "/l", 403}};

    (void)state;
    place.server.is_dav = true;
    place.server.age_s = 1;
    server_put(&place.server, "/l", "a\n", 2);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct why why = {""};
        int64_t n_new;

        place.server.before = refuse_some;
        place.server.arg = &refusals[i];
        if (!push("/l", "b\n", false, &n_new, &why) || !why.text[0])
            fail_msg("%s %s refused with %d: pushed", refusals[i].method, refusals[i].part, refusals[i].status);
        if (n_like("lock"))
            fail_msg("%s %s refused with %d leaves a lock: %s", refusals[i].method, refusals[i].part,
                     refusals[i].status, why.text);
        place_check_object("/l", "a\n");
    }
    place.server.before = NULL;
    place.server.n_fail = 0;
    {
        int64_t n_new;

        assert_int_equal(push("/l", "b\n", false, &n_new, NULL), ERR_OK);
    }
    place_check_object("/l", "a\nb\n");
}

static void without_guard_only_who_is_alone_may_push(void **state)
{
    struct why why = {""};
    int64_t n_new;

    (void)state;
    server_put(&place.server, "/l", "a\n", 2);
    assert_int_equal(push("/l", "b\n", false, &n_new, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "--alone"));
    place_check_object("/l", "a\n");
    assert_int_equal(push("/l", "b\n", true, &n_new, &why), ERR_OK);
    place_check_object("/l", "a\nb\n");
    assert_int_equal(place.server.n_objects, 1);
}

/* As OpenStack Swift does. */
static void of_an_s3_store_that_refuses_conditions_the_same(void **state)
{
    const struct hub_url u = place_s3_url("l");
    struct why why = {""};
    int64_t n_new;

    (void)state;
    place.server.is_s3 = place.server.refuses_etags = true;
    assert_int_equal(push_to(&u, "a\n", false, &n_new, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "--alone"));
    assert_int_equal(place.server.n_objects, 0);
    assert_int_equal(push_to(&u, "a\n", true, &n_new, &why), ERR_OK);
    place_check_object("/bucket/l", "a\n");
}

static void logs_are_pulled_into_what_is_there(void **state)
{
    const struct hub_url u = place_url("/l"), none = place_url("/none");
    int64_t n_new = -1;

    (void)state;
    server_put(&place.server, "/l", "a\nb\n", 4);
    assert_int_equal(hub_pull_log(place.hub, &u, place_at("p"), unite, &n_new, NULL), ERR_OK);
    assert_int_equal(n_new, 2);
    place_check_file(place_at("p"), "a\nb\n");
    place_write_text(place_at("p"), "mine\nb\n");
    assert_int_equal(hub_pull_log(place.hub, &u, place_at("p"), unite, &n_new, NULL), ERR_OK);
    assert_int_equal(n_new, 1);
    place_check_file(place_at("p"), "mine\nb\na\n");
    assert_int_equal(hub_pull_log(place.hub, &none, place_at("q"), unite, &n_new, NULL), ERR_NOT_FOUND);
    assert_true(access(place_at("p.part"), F_OK) && access(place_at("p.none"), F_OK) && access(place_at("q"), F_OK));
    assert_true(access(place_at("q.part"), F_OK) && access(place_at("q.none"), F_OK) &&
                access(place_at("p.part.etag"), F_OK));
}

/* ---- bundles ---- */

static void write_bundle(const char *name, const char *first)
{
    char path[300], text[1000];

    snprintf(path, sizeof path, "%s/k", name);
    assert_int_equal(dir_make(place_at(path), 0755, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/net.h", name);
    place_write_text(place_at(path), first);
    snprintf(path, sizeof path, "%s/k/a b.cl", name);
    place_write_text(place_at(path), "kernel");
    snprintf(text, sizeof text,
             "{\"schema\":2,\"files\":[{\"path\":\"net.h\",\"sha256\":\"%s\",\"bytes\":%zu},"
             "{\"path\":\"k/a b.cl\",\"sha256\":\"%s\",\"bytes\":6}]}",
             sha256_of(first, strlen(first)).hex, strlen(first), sha256_of("kernel", 6).hex);
    snprintf(path, sizeof path, "%s/manifest.json", name);
    place_write_text(place_at(path), text);
}

static void bundles_are_pushed_with_their_manifest_last(void **state)
{
    const struct hub_url u = place_url("/b/");
    struct why why = {""};
    int n = -1;

    (void)state;
    place.server.knows_etags = true;
    write_bundle("one", "header");
    write_bundle("two", "another");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("one"), false, &n, &why), ERR_OK);
    assert_int_equal(n, 3);
    place_check_asked("GET /b/manifest.json 404\nPUT /b/net.h 201\nPUT /b/k/a%20b.cl 201\nPUT /b/manifest.json 201\n");
    place_check_object("/b/net.h", "header");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("one"), false, &n, &why), ERR_OK);
    assert_int_equal(n, 0);
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("two"), false, &n, &why), ERR_EXISTS);
    place_check_object("/b/net.h", "header");
    place.server.asked[0] = '\0';
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("two"), true, &n, &why), ERR_OK);
    assert_int_equal(n, 3);
    place_check_object("/b/net.h", "another");
    place_check_asked("GET /b/manifest.json 200\nDELETE /b/manifest.json 204\nPUT /b/net.h 201\nPUT /b/k/a%20b.cl 201\n"
                      "PUT /b/manifest.json 201\n");
    place_write_text(place_at("two/net.h"), "anothes");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("two"), true, &n, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "net.h is not what its manifest says"));
    place_check_object("/b/net.h", "another");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("k"), true, &n, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "no manifest.json"));
}

static void a_store_that_tells_sums_gets_only_what_changed(void **state)
{
    const struct hub_url u = place_s3_url("b/");
    int n = -1;

    (void)state;
    write_bundle("one", "header");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("one"), false, &n, NULL), ERR_OK);
    assert_int_equal(n, 3);
    write_bundle("one", "headed");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("one"), true, &n, NULL), ERR_OK);
    assert_int_equal(n, 2);
    place_check_object("/bucket/b/net.h", "headed");
}

static void bundles_are_pulled_whole_or_not_at_all(void **state)
{
    const struct hub_url u = place_url("/b");
    struct why why = {""};
    int n = -1;

    (void)state;
    write_bundle("one", "header");
    assert_int_equal(hub_push_bundle(place.hub, &u, place_at("one"), false, &n, NULL), ERR_OK);
    assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("got"), &n, &why), ERR_OK);
    assert_int_equal(n, 2);
    place_check_file(place_at("got/net.h"), "header");
    place_check_file(place_at("got/k/a b.cl"), "kernel");
    assert_int_equal(access(place_at("got/manifest.json"), F_OK), 0);
    assert_int_equal(access(place_at("got.part"), F_OK), -1);
    assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("got"), &n, &why), ERR_EXISTS);
    assert_int_equal(dir_make(place_at("again.part"), 0755, NULL), ERR_OK);
    place_write_text(place_at("again.part/net.h"), "header"); /* of an interrupted pull */
    assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("again"), &n, &why), ERR_OK);
    assert_int_equal(n, 1);
    server_find(&place.server, "/b/net.h")->bytes[0] = 'X';
    assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("bad"), &n, &why), ERR_IO);
    assert_non_null(strstr(why.text, "not what its manifest says"));
    assert_int_equal(access(place_at("bad"), F_OK), -1);
    assert_int_equal(access(place_at("bad.part/net.h"), F_OK), -1);
}

static void manifests_that_lead_astray_are_refused(void **state)
{
    static const char *const paths[] = {"../x", "/x", "a/../x", "", "a//b", "./x", "a/.", "..", "a\\\\b", "a\\nb"};
    const struct hub_url u = place_url("/b/");
    struct why why = {""};
    char text[400];
    int n;

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        snprintf(text, sizeof text, "{\"schema\":1,\"files\":[{\"path\":\"%s\",\"sha256\":\"%s\",\"bytes\":0}]}",
                 paths[i], sha256_of("", 0).hex);
        server_put(&place.server, "/b/manifest.json", text, strlen(text));
        if (hub_pull_bundle(place.hub, &u, place_at("got"), &n, &why) != ERR_INPUT ||
            !strstr(why.text, "leaves the bundle"))
            fail_msg("'%s': %s", paths[i], why.text);
    }
    server_put(&place.server, "/b/manifest.json", "{\"schema\":3,\"files\":[]}", 23);
    assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("got"), &n, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "newer"));
    server_put(&place.server, "/b/manifest.json", "{\"schema\":2,\"files\":[]}", 23);
    assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("got"), &n, &why), ERR_OK);
}

/* The server says how long its own files are; how much is read of them is not for it to say. */
static void bundles_have_an_end_whatever_their_manifest_says(void **state)
{
    const struct hub_url u = place_url("/b/");
    const int64_t half = HUB_MAX_BYTES / 2;
    struct why why = {""};
    char text[600];
    int n;

    (void)state;
    for (int more = 0; more < 2; more++) {
        snprintf(text, sizeof text,
                 "{\"schema\":2,\"files\":[{\"path\":\"a\",\"sha256\":\"%s\",\"bytes\":%lld},"
                 "{\"path\":\"b\",\"sha256\":\"%s\",\"bytes\":%lld}]}",
                 sha256_of("", 0).hex, (long long)half, sha256_of("", 0).hex, (long long)half + more);
        server_put(&place.server, "/b/manifest.json", text, strlen(text));
        place.server.asked[0] = '\0';
        assert_int_equal(hub_pull_bundle(place.hub, &u, place_at("got"), &n, &why), more ? ERR_LIMIT : ERR_NOT_FOUND);
        place_check_asked(more ? "GET /b/manifest.json 200\n"
                               : "GET /b/manifest.json 200\nHEAD /b/a 404\nGET /b/a 404\n");
    }
    assert_non_null(strstr(why.text, "files of over 5368709120 bytes in all"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_begin, place_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(logs_are_pushed_under_their_etag),
        TEST(no_line_is_lost_to_a_faster_pusher),
        TEST(a_folder_locks_where_folders_are_made),
        TEST(a_push_that_fails_leaves_no_lock),
        TEST(a_lock_of_another_is_waited_for_and_a_dead_one_is_taken),
        TEST(without_guard_only_who_is_alone_may_push),
        TEST(of_an_s3_store_that_refuses_conditions_the_same),
        TEST(logs_are_pulled_into_what_is_there),
        TEST(bundles_are_pushed_with_their_manifest_last),
        TEST(a_store_that_tells_sums_gets_only_what_changed),
        TEST(bundles_are_pulled_whole_or_not_at_all),
        TEST(manifests_that_lead_astray_are_refused),
        TEST(bundles_have_an_end_whatever_their_manifest_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
