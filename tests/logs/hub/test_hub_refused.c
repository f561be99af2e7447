/* SPDX-License-Identifier: MIT */
/* A server that refuses one step of a push: what the steps before it made is taken away again. */
#include "core/buf.h"
#include "core/file.h"
#include "logs/hub/hub.h"
#include "server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct server s;
static struct hub *h;
static char dir[256];

/* The logs one behind the other. */
static enum err join(const char *const *paths, size_t n, const char *out, int64_t *n_new, struct why *why)
{
    struct buf all;
    enum err e = ERR_OK;

    buf_init(&all, 1 << 20);
    for (size_t i = 0; i < n && !e; i++)
        e = file_read(paths[i], &all, why);
    *n_new = 1;
    e = e ? e : file_replace(out, buf_text(&all), all.len, 0600, why);
    buf_fini(&all);
    return e;
}

static enum err push(const char *text, struct why *why)
{
    char to[300], path[300];
    const char *const paths[] = {path};
    struct hub_url u;
    int64_t n_new;

    snprintf(to, sizeof to, "http://127.0.0.1:%u/l", s.port);
    snprintf(path, sizeof path, "%s/own", dir);
    assert_int_equal(hub_url_parse(to, &u, NULL), ERR_OK);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
    return hub_push_log(h, &u, paths, 1, false, join, &n_new, why);
}

static size_t n_like(const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n_objects; i++)
        n += strstr(s.objects[i].path, part) != NULL;
    return n;
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
    s.is_dav = true;
    s.age_s = 1;
    server_put(&s, "/l", "a\n", 2);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct why why = {""};

        s.before = refuse_some;
        s.arg = &refusals[i];
        if (!push("b\n", &why) || !why.text[0])
            fail_msg("%s %s refused with %d: pushed", refusals[i].method, refusals[i].part, refusals[i].status);
        if (n_like("lock"))
            fail_msg("%s %s refused with %d leaves a lock: %s", refusals[i].method, refusals[i].part,
                     refusals[i].status, why.text);
        assert_string_equal(server_find(&s, "/l")->bytes, "a\n");
    }
    s.before = NULL;
    s.n_fail = 0;
    assert_int_equal(push("b\n", NULL), ERR_OK);
    assert_string_equal(server_find(&s, "/l")->bytes, "a\nb\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_push_that_fails_leaves_no_lock)};
    int failed;

    server_forget_environment();
    server_start(&s);
    if (dir_temporary("hub-refused", dir, sizeof dir, NULL) ||
        hub_open(&(struct hub_options){.n_tries = 2, .wait_s = 0.05}, &h, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hub_close(h);
    server_stop(&s);
    dir_remove(dir);
    return failed;
}
