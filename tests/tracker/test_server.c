/* SPDX-License-Identifier: MIT */
/* The tracker's sockets and threads in the test's own process, on 127.0.0.1: what the hall's tests cannot see. */
#include "tests/tracker/faulty_store.h"
#include "tests/tracker/members.h"

#include "core/clock.h"
#include "core/file.h"
#include "tracker/client.h"
#include "tracker/http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

struct place {
    char dir[256];
    struct tracker_options o;
    struct tracker *t;
    struct server *s;
};

static int start(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct why why = {""};

    assert_int_equal(dir_temporary("tune-server", p->dir, sizeof p->dir, &why), ERR_OK);
    store_faults = (struct store_faults){0};
    p->o = (struct tracker_options){.ops = &faulty_store, .where = p->dir, .lease_ms = 30000};
    assert_int_equal(p->o.ops->open(p->dir, NULL, &p->o.store, &why), ERR_OK);
    assert_int_equal(tracker_new(&p->o, &p->t, &why), ERR_OK);
    assert_int_equal(server_start(p->t, "tcp://127.0.0.1:0", NULL, false, &p->s, &why), ERR_OK);
    *state = p;
    return 0;
}

static int stop(void **state)
{
    struct place *p = *state;

    server_stop(p->s);
    tracker_free(p->t);
    p->o.ops->close(p->o.store);
    dir_remove(p->dir);
    free(p); /* nng keeps its sockets until the process ends */
    return 0;
}

static bool gives_up(int64_t out_ms, const char *does, void *arg)
{
    (void)does;
    (void)arg;
    return out_ms < 200;
}

static struct client *client_of(const struct place *p)
{
    const struct client_options o = {.url = server_url(p->s), .role = "tune", .name = "test", .waiting = gives_up};
    struct client *c = NULL;
    struct why why = {""};

    if (client_open(&o, &c, &why) != ERR_OK)
        fail_msg("%s", why.text);
    return c;
}

static cJSON *must(struct client *c, const char *op, const char *args, int64_t wait_ms)
{
    struct why why = {""};
    cJSON *result = NULL;

    if (client_call(c, op, cJSON_Parse(args), NULL, wait_ms, &result, NULL, &why) != ERR_OK)
        fail_msg("%s: %s", op, why.text);
    return result;
}

/* ---- facts ---- */

static void a_call_goes_there_and_back(void **state)
{
    struct place *p = *state;
    struct client *c = client_of(p);
    cJSON *result = must(c, "job_submit", "{\"body\":\"b\"}", 0);

    assert_string_equal(text_in(result, "job"), "j1");
    cJSON_Delete(result);
    assert_memory_equal(server_url(p->s), "tcp://127.0.0.1:", 16);
    assert_true(atoi(server_url(p->s) + 16) > 0);
    assert_false(server_failed(p->s, NULL));
    client_close(c);
}

struct poll {
    struct client *c;
    cJSON *result;
};

static void *poll_for_a_job(void *arg)
{
    struct poll *p = arg;

    p->result = must(p->c, "job_lease", "{}", 20000);
    return NULL;
}

static void a_poll_is_answered_when_another_connection_brings_news(void **state)
{
    struct place *p = *state;
    struct client *waits = client_of(p), *brings = client_of(p);
    struct poll poll = {.c = waits};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, poll_for_a_job, &poll), 0);
    cJSON_Delete(must(brings, "job_submit", "{\"body\":\"b\"}", 0));
    pthread_join(thread, NULL);
    assert_string_equal(text_in(poll.result, "job"), "j1");
    cJSON_Delete(poll.result);
    client_close(waits);
    client_close(brings);
}

#define N_MANY 8

static void *submit_many(void *arg)
{
    for (int i = 0; i < 25; i++)
        cJSON_Delete(must(arg, "job_submit", "{\"body\":\"b\"}", 0));
    return NULL;
}

static void many_connections_are_served_at_once(void **state)
{
    struct place *p = *state;
    struct client *clients[N_MANY];
    pthread_t threads[N_MANY];
    cJSON *result;

    for (int i = 0; i < N_MANY; i++) {
        clients[i] = client_of(p);
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, clients[i]), 0);
    }
    for (int i = 0; i < N_MANY; i++)
        pthread_join(threads[i], NULL);
    result = must(clients[0], "status", "{}", 0);
    assert_int_equal(number_in(result, "jobs"), 25 * N_MANY);
    assert_int_equal(number_in(result, "sessions"), N_MANY);
    cJSON_Delete(result);
    for (int i = 0; i < N_MANY; i++)
        client_close(clients[i]);
}

/* One exchange of JSON text (with ' for ") over a line of its own. */
static enum err exchange(struct line *line, int64_t timeout_ms, struct message *out, struct letter *reply,
                         const char *format, ...)
{
    va_list list;
    cJSON *request;
    struct buf bytes;
    enum err e;

    va_start(list, format);
    request = args_of(format, list);
    va_end(list);
    buf_init(&bytes, 10000);
    assert_int_equal(message_encode(request, NULL, NULL, "", &bytes), ERR_OK);
    e = transport_nng.exchange(line, bytes.data, bytes.len, timeout_ms, reply);
    if (!e)
        e = message_decode(reply->bytes, reply->n_bytes, out, NULL);
    cJSON_Delete(request);
    buf_fini(&bytes);
    return e;
}

/* A lease must not go to a connection that is closed. */
static void the_poll_of_a_closed_connection_gets_nothing(void **state)
{
    struct place *p = *state;
    struct client *c = client_of(p);
    struct line *line = NULL;
    struct letter reply;
    struct message m;
    cJSON *result;

    assert_int_equal(transport_nng.open(NULL, server_url(p->s), &line, NULL), ERR_OK);
    assert_int_equal(
        exchange(line, 5000, &m, &reply, "{'op':'hello','id':'%032d','args':{'versions':[1],'nonce':'%032d'}}", 1, 1),
        ERR_OK);
    assert_int_equal(exchange(line, 300, NULL, &reply,
                              "{'op':'job_lease','id':'%032d','session':'%s','ctr':1,'args':{'wait_ms':20000}}", 2,
                              text_in(object_in(m.json, "result"), "session")),
                     ERR_TIMEOUT);
    message_fini(&m);
    transport_nng.discard(&reply);
    transport_nng.close(line);
    clock_sleep_ms(300); /* the tracker learns it */
    cJSON_Delete(must(c, "job_submit", "{\"body\":\"b\"}", 0));
    result = must(c, "job_lease", "{}", 0);
    assert_string_equal(text_in(result, "job"), "j1");
    assert_int_equal(number_in(result, "token"), 1);
    cJSON_Delete(result);
    client_close(c);
}

/* Of the n-th call of the store from now on; 0: of its flush. */
static void expect_failure(struct place *p, int64_t fail_at)
{
    struct client *c = client_of(p);
    struct why why = {""};

    cJSON_Delete(must(c, "job_submit", "{\"body\":\"b\"}", 0));
    store_faults.fail_at = fail_at ? store_faults.n_calls + fail_at : 0;
    store_faults.flush_fails = !fail_at;
    assert_int_equal(client_call(c, "job_submit", cJSON_Parse("{\"body\":\"b\"}"), NULL, -9500, NULL, NULL, NULL),
                     ERR_UNREACHABLE);
    for (int i = 0; i < 500 && !server_failed(p->s, &why); i++)
        clock_sleep_ms(10);
    assert_true(server_failed(p->s, &why));
    assert_string_equal(why.text, "the disk of this test is full");
    client_close(c);
}

static void nobody_is_answered_once_the_store_failed(void **state)
{
    struct place *p = *state;
    struct buf page;

    expect_failure(p, 2); /* the put goes well, the commit does not */
    buf_init(&page, 1 << 20);
    assert_int_equal(server_page(p->s, page_metrics, &page), ERR_BUSY);
    buf_fini(&page);
}

static void a_write_that_fails_is_told_in_the_words_of_the_store(void **state)
{
    expect_failure(*state, 1);
}

/* Another connection's call is executed meanwhile, and both are answered when the disk is there again. */
static void replies_wait_for_the_disk_and_the_next_transaction_does_not(void **state)
{
    struct place *p = *state;
    struct client *c = client_of(p), *other = client_of(p);
    int64_t n_calls;

    cJSON_Delete(must(c, "job_submit", "{\"body\":\"first\"}", 0));
    store_faults.flush_waits = true;
    assert_int_equal(client_call(c, "job_submit", cJSON_Parse("{\"body\":\"b\"}"), NULL, -9700, NULL, NULL, NULL),
                     ERR_UNREACHABLE);
    n_calls = store_faults.n_calls;
    assert_int_equal(client_call(other, "job_submit", cJSON_Parse("{\"body\":\"b\"}"), NULL, -9700, NULL, NULL, NULL),
                     ERR_UNREACHABLE);
    assert_true(store_faults.n_calls > n_calls);
    store_faults.flush_waits = false;
    cJSON_Delete(must(c, "status", "{}", 0));
    client_close(other);
    client_close(c);
}

static void nobody_is_answered_once_the_disk_failed(void **state)
{
    expect_failure(*state, 0);
}

static void an_address_that_is_taken_or_none_is_told(void **state)
{
    struct place *p = *state;
    struct server *second = NULL;
    struct why why = {""};

    assert_int_equal(server_start(p->t, server_url(p->s), NULL, false, &second, &why), ERR_IO);
    assert_non_null(strstr(why.text, "cannot listen on tcp://127.0.0.1:"));
    assert_int_equal(server_start(p->t, "nonsense", NULL, false, &second, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "expected e.g. tcp://127.0.0.1:9477"));
}

/* ---- pages ---- */

static enum err a_line(struct tracker *t, struct buf *out)
{
    return buf_printf(out, "%zu jobs", t->jobs.n);
}

static void a_page_is_rendered_by_the_thread_that_owns_the_tracker(void **state)
{
    struct place *p = *state;
    struct client *c = client_of(p);
    struct buf out;

    cJSON_Delete(must(c, "job_submit", "{\"body\":\"b\"}", 0));
    for (int i = 0; i < 40; i++) {
        buf_init(&out, 1000);
        assert_int_equal(server_page(p->s, a_line, &out), ERR_OK);
        assert_string_equal(buf_text(&out), "1 jobs");
        buf_fini(&out);
    }
    buf_init(&out, 3);
    assert_int_equal(server_page(p->s, a_line, &out), ERR_LIMIT);
    buf_fini(&out);
    client_close(c);
}

static enum err count_turns(struct tracker *t, struct buf *out)
{
    return buf_printf(out, "%lld", (long long)t->stats.commits);
}

static int64_t turns_of(struct place *p)
{
    struct buf out;
    int64_t n;

    buf_init(&out, 100);
    assert_int_equal(server_page(p->s, count_turns, &out), ERR_OK);
    n = strtoll(buf_text(&out), NULL, 10);
    buf_fini(&out);
    return n;
}

/* It looks at deadlines every 50 ms, and sleeps meanwhile. */
static void an_idle_tracker_takes_few_turns(void **state)
{
    struct place *p = *state;
    int64_t n = turns_of(p);

    clock_sleep_ms(500);
    n = turns_of(p) - n;
    if (n < 1 || n > 20)
        fail_msg("%lld turns in half a second, expected about 10", (long long)n);
}

/* ---- too much at once ---- */

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool gate_open, at_gate;

/* A page that takes the core loop's time until the test lets it go. */
static enum err wait_at_gate(struct tracker *t, struct buf *out)
{
    (void)t;
    pthread_mutex_lock(&gate_lock);
    at_gate = true;
    pthread_cond_broadcast(&gate_moved);
    while (!gate_open)
        pthread_cond_wait(&gate_moved, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
    return buf_puts(out, "gone through");
}

struct visit {
    struct place *p;
    enum err (*render)(struct tracker *t, struct buf *out);
    enum err e;
    pthread_t thread;
};

static void *visit(void *arg)
{
    struct visit *v = arg;
    struct buf out;

    buf_init(&out, 1000);
    v->e = server_page(v->p->s, v->render, &out);
    buf_fini(&out);
    return NULL;
}

/* Holds the core loop with a visitor; open_gate lets it go. */
static void close_gate(struct place *p, struct visit *v)
{
    gate_open = at_gate = false;
    *v = (struct visit){.p = p, .render = wait_at_gate};
    assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
    pthread_mutex_lock(&gate_lock);
    while (!at_gate)
        pthread_cond_wait(&gate_moved, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

static void open_gate(struct visit *v)
{
    pthread_mutex_lock(&gate_lock);
    gate_open = true;
    pthread_cond_broadcast(&gate_moved);
    pthread_mutex_unlock(&gate_lock);
    pthread_join(v->thread, NULL);
    assert_int_equal(v->e, ERR_OK);
}

#define N_VISITS 20

static void times_of_calls_are_told_and_polls_that_wait_are_none(void **state)
{
    struct place *p = *state;
    struct client *c = client_of(p);
    struct buf page;

    cJSON_Delete(must(c, "status", "{}", 0));
    cJSON_Delete(must(c, "job_lease", "{\"wait_ms\":100}", 100));
    cJSON_Delete(must(c, "status", "{}", 0));
    cJSON_Delete(must(c, "job_list", "{}", 0)); /* those before it are counted when it is answered */
    buf_init(&page, 1 << 20);
    assert_int_equal(server_page(p->s, page_metrics, &page), ERR_OK);
    assert_non_null(strstr(buf_text(&page), "\ntune_tracker_call_seconds_count{call=\"status\"} 2\n"));
    assert_non_null(strstr(buf_text(&page), "\ntune_tracker_call_seconds_count{call=\"hello\"} 1\n"));
    assert_null(strstr(buf_text(&page), "call=\"job_lease\""));
    assert_null(strstr(buf_text(&page), "\ntune_tracker_flush_seconds_count 0\n"));
    buf_fini(&page);
    client_close(c);
}

static void sixteen_pages_may_be_asked_for_at_once(void **state)
{
    struct place *p = *state;
    struct visit first, rest[N_VISITS];
    int n_busy = 0;

    close_gate(p, &first);
    for (int i = 0; i < N_VISITS; i++) {
        rest[i] = (struct visit){.p = p, .render = a_line};
        assert_int_equal(pthread_create(&rest[i].thread, NULL, visit, &rest[i]), 0);
    }
    clock_sleep_ms(100); /* all have asked */
    open_gate(&first);
    for (int i = 0; i < N_VISITS; i++) {
        pthread_join(rest[i].thread, NULL);
        n_busy += rest[i].e == ERR_BUSY;
    }
    assert_int_equal(n_busy, N_VISITS - 15); /* the one at the gate counts */
}

struct sender {
    const char *url;
    const unsigned char *bytes;
    size_t n;
    bool busy, answered;
    struct line *line;
    pthread_t thread;
};

/* By which a hello went: of strangers the tracker takes little. */
static void open_line(struct sender *s)
{
#define ID "0123456789abcdef0123456789abcdef"
    static const char hello[] = "{\"op\":\"hello\",\"id\":\"" ID "\",\"args\":{\"versions\":[1],\"nonce\":\"" ID "\"}}";
    unsigned char bytes[MESSAGE_HEADER_BYTES + sizeof hello - 1] = {'T', 'U', 'N', '1', 1, 0, 0, 0, sizeof hello - 1};
    struct letter reply;

    memcpy(bytes + MESSAGE_HEADER_BYTES, hello, sizeof hello - 1);
    assert_int_equal(transport_nng.open(NULL, s->url, &s->line, NULL), ERR_OK);
    assert_int_equal(transport_nng.exchange(s->line, bytes, sizeof bytes, 20000, &reply), ERR_OK);
    transport_nng.discard(&reply);
}

static void *send_large(void *arg)
{
    struct sender *s = arg;
    struct letter reply;
    struct message m;

    if (transport_nng.exchange(s->line, s->bytes, s->n, 20000, &reply) == ERR_OK) {
        s->answered = message_decode(reply.bytes, reply.n_bytes, &m, NULL) == ERR_OK;
        s->busy = s->answered && strcmp(text_in(m.json, "err"), "busy") == 0;
        if (s->answered)
            message_fini(&m);
        transport_nng.discard(&reply);
    }
    transport_nng.close(s->line);
    return NULL;
}

/* What waits for the core loop is 32 MiB at most. */
static void requests_over_the_queues_limit_are_told_to_come_again(void **state)
{
    struct place *p = *state;
    struct sender all[10];
    unsigned char *bytes = calloc(1, MESSAGE_MAX_BYTES); /* no message: it will be refused */
    struct visit first;
    int n_busy = 0;

    for (int i = 0; i < 10; i++) {
        all[i] = (struct sender){.url = server_url(p->s), .bytes = bytes, .n = MESSAGE_MAX_BYTES};
        open_line(&all[i]);
    }
    close_gate(p, &first);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(pthread_create(&all[i].thread, NULL, send_large, &all[i]), 0);
    }
    clock_sleep_ms(1500); /* all have arrived */
    open_gate(&first);
    for (int i = 0; i < 10; i++) {
        pthread_join(all[i].thread, NULL);
        assert_true(all[i].answered);
        n_busy += all[i].busy;
    }
    assert_int_equal(n_busy, 2);
    free(bytes);
}

/* One who never lets two wait may send for ever. */
static void requests_that_were_served_are_no_longer_in_the_queue(void **state)
{
    struct place *p = *state;
    unsigned char *bytes = calloc(1, MESSAGE_MAX_BYTES);
    struct sender one = {.url = server_url(p->s), .bytes = bytes, .n = MESSAGE_MAX_BYTES};

    for (int i = 0; i < 12; i++) { /* 48 MiB */
        one.answered = one.busy = false;
        open_line(&one);
        send_large(&one);
        assert_true(one.answered && !one.busy);
    }
    free(bytes);
}

/* ---- the HTTP side ---- */
static int ask(const char *url, const char *request)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1))};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 20}, sizeof(struct timeval));
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    return fd;
}

/* All that a server says to one request. */
static void fetch(const char *url, const char *request, char *out, size_t n_out)
{
    const int fd = ask(url, request);
    size_t n = 0;
    ssize_t got;

    while (n < n_out - 1 && (got = read(fd, out + n, n_out - 1 - n)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(fd);
}

static void expect_reply(const char *url, const char *path, const char *heads, const char *status, const char *part)
{
    char *text = malloc(1 << 20), request[800];

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n", path, heads);
    fetch(url, request, text, 1 << 20);
    if (strncmp(text, "HTTP/1.1 ", 9) != 0 || strncmp(text + 9, status, 3) != 0 || !strstr(text, part))
        fail_msg("%s: expected %s and '%s', got: %.600s", path, status, part, text);
    free(text);
}

#define NEAR "Host: 127.0.0.1:9478\r\n"

static void the_http_side_has_these_pages_and_nothing_else(void **state)
{
    static const struct {
        const char *path, *status, *part;
    } all[] = {
        {"/", "200", "Content-Type: text/html"},
        {"/?x=1", "200", "<main id=\"main\""},
        {"/job/j1", "200", "<main id=\"main\""},
        {"/device/cpu/a", "200", "<main id=\"main\""},
        {"/compare/j1/j2", "200", "<main id=\"main\""},
        {"/page/page.css", "200", "Content-Type: text/css"},
        {"/page/main.js", "200", "Content-Type: text/javascript"},
        {"/page/%6dain.js", "200", "EventSource"},
        {"/page/../main.js", "404", ""},
        {"/page/other.js", "404", ""},
        {"/metrics", "200", "tune_tracker_jobs 0"},
        {"/healthz", "200", "\r\n\r\nok\n"},
        {"/healthz", "200", "X-Content-Type-Options: nosniff"},
        {"/", "200", "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; "},
        {"/", "200", "Cache-Control: no-store"},
        {"/metricsx", "404", ""},
        {"/job", "404", ""},
        {"/../etc/passwd", "404", ""},
        {"/jobs", "404", ""},
        {"/api/status", "200", "\"jobs\":0"},
        {"/api/status", "200", "Content-Type: application/json"},
        {"/api/jobs", "200", "{\"jobs\":[],\"next\":0}"},
        {"/api/devices?max=5", "200", "{\"devices\":[],\"builders\":[],\"next\":0}"},
        {"/api/jobs/j1", "404", "{\"err\":\"not_found\",\"why\":\"there is no job j1\"}"},
        {"/api/jobs/j1/trials", "404", "no job j1"},
        {"/api/trials/t5", "404", "no record of trial t5"},
        {"/api/trials/x", "400", "\"err\":\"input\""},
        {"/api/devices/%61b", "404", "there is no agent ab"},
        {"/api/blobs/12", "400", "SHA-256"},
        {"/api/job_submit", "404", "\"err\":\"not_found\""},
        {"/api/jobs/j1/", "404", ""},
        {"/api/", "404", ""},
    };
    struct place *p = *state;
    struct http *h = NULL;
    struct why why = {""};
    char text[4096];

    assert_int_equal(http_start(p->s, "127.0.0.1:0", NULL, &h, &why), ERR_OK);
    assert_memory_equal(http_url(h), "http://127.0.0.1:", 17);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_reply(http_url(h), all[i].path, NEAR, all[i].status, all[i].part);
    fetch(http_url(h), "POST / HTTP/1.1\r\n" NEAR "Connection: close\r\nContent-Length: 0\r\n\r\n", text, sizeof text);
    assert_int_not_equal(strncmp(text, "HTTP/1.1 200", 12), 0);
    assert_int_equal(http_start(p->s, "nowhere", NULL, &h, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "expected an address and a port"));
}

/* A stranger's page whose name points here has its own name as Host. */
static void only_names_of_ours_are_answered(void **state)
{
    static const struct {
        const char *heads, *status;
    } all[] = {
        {"Host: evil.example\r\n", "421"},
        {"Host: evil.example:9478\r\n", "421"},
        {"Host: 127.0.0.1.evil.example\r\n", "421"},
        {"Host: localhost.evil.example\r\n", "421"},
        {"Host: localhost:9478\r\n", "200"},
        {"Host: 10.0.0.7\r\n", "200"},
        {"Host: [::1]:9478\r\n", "200"},
        {"Host: Farm.Example:9478\r\n", "200"},
    };
    struct place *p = *state;
    struct http *h = NULL;
    struct why why = {""};

    assert_int_equal(http_start(p->s, "127.0.0.1:0", "farm.example", &h, &why), ERR_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        expect_reply(http_url(h), "/", all[i].heads, all[i].status, "");
        expect_reply(http_url(h), "/api/jobs", all[i].heads, all[i].status, "");
    }
    expect_reply(http_url(h), "/metrics", "Host: evil.example\r\n", "200", "tune_tracker_jobs"); /* for programs */
}

/* HMAC-SHA-256 of "tune page" under 32 bytes of 0x0b, by Python's hmac. */
#define TOKEN "562c6d94b94d1bd9a53d761e71d34cf2"

static void with_a_key_a_token_is_asked_for(void **state)
{
    static const struct {
        const char *path, *heads, *status, *part;
    } all[] = {
        {"/", "", "401", "token"},
        {"/api/jobs", "", "401", "token"},
        {"/api/events", "", "401", "token"},
        {"/page/main.js", "", "401", "token"},
        {"/job/j1?token=0123456789abcdef0123456789abcdef", "", "401", "token"},
        {"/api/jobs", "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n", "401", ""},
        {"/api/jobs", "Authorization: Bearer " TOKEN "0\r\n", "401", ""},
        {"/api/jobs", "Authorization: Bearer " TOKEN "\r\n", "200", "\"jobs\":[]"},
        {"/api/jobs", "Cookie: a=b; tune-token=" TOKEN "; c=d\r\n", "200", "\"jobs\":[]"},
        {"/api/jobs", "Cookie: tune-token=\r\n", "401", ""},
        {"/job/j1?token=" TOKEN, "", "303", "Location: /job/j1\r\n"},
        {"/?token=" TOKEN, "", "303", "Set-Cookie: tune-token=" TOKEN "; Path=/; HttpOnly; SameSite=Strict"},
        {"/healthz", "", "200", "ok"},
    };
    struct place *p = *state;
    struct key key;
    struct http *h = NULL;
    struct why why = {""};
    char heads[300];

    memset(key.bytes, 0x0b, sizeof key.bytes);
    p->t->o.key = &key;
    assert_int_equal(http_start(p->s, "127.0.0.1:0", NULL, &h, &why), ERR_OK);
    assert_non_null(strstr(http_url(h), "/?token=" TOKEN));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(heads, sizeof heads, NEAR "%s", all[i].heads);
        expect_reply(http_url(h), all[i].path, heads, all[i].status, all[i].part);
    }
}

/* The token of the one trial that a reply of trial_lease brings. */
static int64_t leased_token(const cJSON *reply)
{
    const cJSON *trial = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply, "trials"), 0);
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(trial, "token");

    assert_true(cJSON_IsNumber(token));
    return (int64_t)token->valuedouble;
}

static void records_come_as_rows_and_as_they_are(void **state)
{
    cJSON *leased;
    struct place *p = *state;
    struct client *c = client_of(p);
    struct http *h = NULL;
    struct why why = {""};
    char line[900];

    assert_int_equal(http_start(p->s, "127.0.0.1:0", NULL, &h, &why), ERR_OK);
    cJSON_Delete(must(c, "agent_register",
                      "{\"agent\":\"a\",\"nonce\":\"n\",\"key\":\"cpu\",\"fingerprint\":"
                      "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
                      0));
    cJSON_Delete(must(c, "job_submit", "{\"body\":\"b\",\"key\":\"cpu\",\"lease\":true}", 0));
    cJSON_Delete(must(c, "trial_add",
                      "{\"job\":\"j1\",\"token\":1,\"trials\":[{\"n\":0,\"program\":"
                      "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"body\":{}}]}",
                      0));
    leased = must(c, "trial_lease", "{\"agent\":\"a\"}", 0);
    snprintf(line, sizeof line,
             "{\"trial\":\"t1\",\"token\":%" PRId64 ",\"envelope\":{\"status\":\"ok\",\"time_ns\":1500},\"record\":"
             "\"{\\\"id\\\":\\\"t1\\\",\\\"status\\\":\\\"ok\\\",\\\"time_ns\\\":1500,\\\"why\\\":\\\"<b>\\\","
             "\\\"samples_ns\\\":[1,2],\\\"anchor\\\":{\\\"epoch\\\":2,\\\"bridge\\\":0.5,\\\"hash\\\":\\\"x\\\"}}\"}",
             leased_token(leased));
    cJSON_Delete(leased);
    cJSON_Delete(must(c, "trial_result", line, 0));
    expect_reply(http_url(h), "/api/jobs/j1/trials", NEAR, "200",
                 "{\"rows\":[{\"seq\":1,\"id\":\"t1\",\"status\":\"ok\",\"why\":\"<b>\",\"time_ns\":1500,\"epoch\":2,"
                 "\"bridge\":0.5}],\"next\":1,\"state\":\"running\"}");
    expect_reply(http_url(h), "/api/jobs/j1/trials?max=10&after=1", NEAR, "200", "{\"rows\":[],\"next\":1");
    expect_reply(http_url(h), "/api/trials/t1", NEAR, "200",
                 "{\"trial\":\"t1\",\"job\":\"j1\",\"record\":{\"id\":\"t1\",\"status\":\"ok\",\"time_ns\":1500,"
                 "\"why\":\"<b>\",\"samples_ns\":[1,2],");
    expect_reply(http_url(h), "/api/devices/a", NEAR, "200", "\"history\":{\"ts_ms\":[");
    client_close(c);
}

/* Waits until all of these were read from a stream, in this order. */
static void expect_stream(int fd, const char *const *parts, size_t n_parts)
{
    char *text = calloc(1, 65536), *at = text;
    size_t n = 0;

    for (size_t i = 0; i < n_parts;) {
        char *found = strstr(at, parts[i]);
        ssize_t got;

        if (found) {
            at = found + strlen(parts[i++]);
            continue;
        }
        got = read(fd, text + n, 65535 - n);
        if (got <= 0)
            fail_msg("the stream ended without '%s': %s", parts[i], text);
        n += (size_t)got;
    }
    free(text);
}

static void changes_are_told_while_one_listens(void **state)
{
    static const char request[] = "GET /api/events HTTP/1.1\r\n" NEAR "\r\n";
    static const char *const first[] = {"HTTP/1.1 200", "text/event-stream", "event: hello\ndata: {}\n\n"},
                             *const then[] = {"event: job\ndata: {\"job\":\"j1\"", "\"state\":\"open\"", "\n\n"};
    struct place *p = *state;
    struct client *c = client_of(p);
    struct http *h = NULL;
    struct why why = {""};
    int fd[2];

    assert_int_equal(http_start(p->s, "127.0.0.1:0", NULL, &h, &why), ERR_OK);
    for (int i = 0; i < 2; i++)
        expect_stream(fd[i] = ask(http_url(h), request), first, 3);
    cJSON_Delete(must(c, "job_submit", "{\"body\":\"b\"}", 0));
    close(fd[0]); /* one that leaves is no loss to the other */
    expect_stream(fd[1], then, 3);
    close(fd[1]);
    client_close(c);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_call_goes_there_and_back),
        FACT(a_poll_is_answered_when_another_connection_brings_news),
        FACT(many_connections_are_served_at_once),
        FACT(the_poll_of_a_closed_connection_gets_nothing),
        FACT(nobody_is_answered_once_the_store_failed),
        FACT(a_write_that_fails_is_told_in_the_words_of_the_store),
        FACT(replies_wait_for_the_disk_and_the_next_transaction_does_not),
        FACT(nobody_is_answered_once_the_disk_failed),
        FACT(an_address_that_is_taken_or_none_is_told),
        FACT(a_page_is_rendered_by_the_thread_that_owns_the_tracker),
        FACT(an_idle_tracker_takes_few_turns),
        FACT(times_of_calls_are_told_and_polls_that_wait_are_none),
        FACT(sixteen_pages_may_be_asked_for_at_once),
        FACT(requests_over_the_queues_limit_are_told_to_come_again),
        FACT(requests_that_were_served_are_no_longer_in_the_queue),
        FACT(the_http_side_has_these_pages_and_nothing_else),
        FACT(only_names_of_ours_are_answered),
        FACT(with_a_key_a_token_is_asked_for),
        FACT(records_come_as_rows_and_as_they_are),
        FACT(changes_are_told_while_one_listens),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);

    fflush(NULL);
    _exit(n_failed != 0); /* nng 1.5 may deadlock when closed */
}
