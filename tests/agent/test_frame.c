/* SPDX-License-Identifier: MIT */
/* Frames between an agent and its children, whole, torn and hostile. */
#include "agent/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

struct pair {
    int fd[2];
    struct frame_reader reader;
};

static int open_pair(void **state)
{
    static struct pair p;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p.fd), 0);
    frame_reader_init(&p.reader, p.fd[0]);
    *state = &p;
    return 0;
}

static int close_pair(void **state)
{
    struct pair *p = *state;

    frame_reader_fini(&p->reader);
    close(p->fd[0]);
    close(p->fd[1]);
    return 0;
}

static void put(struct pair *p, const void *bytes, size_t n)
{
    assert_int_equal(write(p->fd[1], bytes, n), n);
}

static void frames_arrive_whole_and_in_order(void **state)
{
    struct pair *p = *state;
    cJSON *got = NULL;
    int64_t v = 0;

    for (int i = 0; i < 3; i++) {
        cJSON *o = cJSON_CreateObject();

        cJSON_AddNumberToObject(o, "i", i);
        assert_int_equal(frame_send(p->fd[1], o), ERR_OK);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(frame_read(&p->reader, 1000, &got, NULL), ERR_OK);
        assert_int_equal(json_get_i64(got, "i", 0, 9, &v, NULL), ERR_OK);
        assert_int_equal(v, i);
        cJSON_Delete(got);
    }
    assert_int_equal(frame_read(&p->reader, 0, &got, NULL), ERR_TIMEOUT);
}

static void a_torn_frame_waits_for_its_rest(void **state)
{
    struct pair *p = *state;
    const char bytes[] = "\x07\0\0\0{\"a\":1}";
    cJSON *got = NULL;

    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        assert_int_equal(frame_read(&p->reader, 0, &got, NULL), ERR_TIMEOUT);
        put(p, bytes + i, 1);
    }
    assert_int_equal(frame_read(&p->reader, 100, &got, NULL), ERR_OK);
    cJSON_Delete(got);
}

static void a_length_over_the_maximum_is_refused(void **state)
{
    struct pair *p = *state;
    struct why why = {""};
    cJSON *got = NULL;

    put(p, "\0\0\x10\0", 4); /* the maximum: more is to come */
    assert_int_equal(frame_read(&p->reader, 0, &got, &why), ERR_TIMEOUT);
    frame_reader_fini(&p->reader);
    frame_reader_init(&p->reader, p->reader.fd);
    put(p, "\x01\0\x10\0", 4);
    assert_int_equal(frame_read(&p->reader, 1000, &got, &why), ERR_PROTOCOL);
    frame_reader_fini(&p->reader);
    frame_reader_init(&p->reader, p->reader.fd);
    put(p, "\xff\xff\xff\xff", 4);
    assert_int_equal(frame_read(&p->reader, 1000, &got, &why), ERR_PROTOCOL);
    assert_non_null(strstr(why.text, "expected at most"));
}

static void text_that_is_no_object_is_refused(void **state)
{
    struct pair *p = *state;
    cJSON *got = NULL;

    put(p, "\x04\0\0\0!?#x", 8);
    assert_int_equal(frame_read(&p->reader, 1000, &got, NULL), ERR_PROTOCOL);
    put(p, "\x03\0\0\0[1]", 7);
    assert_int_equal(frame_read(&p->reader, 1000, &got, NULL), ERR_PROTOCOL);
    put(p, "\0\0\0\0", 4);
    assert_int_equal(frame_read(&p->reader, 1000, &got, NULL), ERR_PROTOCOL);
}

static void the_end_of_the_stream_is_the_childs_end(void **state)
{
    struct pair *p = *state;
    cJSON *got = NULL;

    put(p, "\x07\0\0\0{\"a", 7);
    shutdown(p->fd[1], SHUT_WR);
    assert_int_equal(frame_read(&p->reader, 1000, &got, NULL), ERR_CHILD);
}

static void sending_to_a_dead_child_is_an_error_not_a_signal(void **state)
{
    struct pair *p = *state;

    shutdown(p->fd[0], SHUT_RDWR);
    assert_int_equal(frame_send(p->fd[1], cJSON_CreateObject()), ERR_CHILD);
    assert_int_equal(frame_send(p->fd[1], NULL), ERR_NOMEM);
}

static void a_frame_over_the_maximum_is_not_sent(void **state)
{
    struct pair *p = *state;
    char *text = malloc(FRAME_MAX_BYTES + 1);
    cJSON *o = cJSON_CreateObject();

    memset(text, 'x', FRAME_MAX_BYTES);
    text[FRAME_MAX_BYTES] = '\0';
    cJSON_AddStringToObject(o, "a", text);
    assert_int_equal(frame_send(p->fd[1], o), ERR_LIMIT);
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(frames_arrive_whole_and_in_order),        TEST(a_torn_frame_waits_for_its_rest),
        TEST(a_length_over_the_maximum_is_refused),    TEST(text_that_is_no_object_is_refused),
        TEST(the_end_of_the_stream_is_the_childs_end), TEST(sending_to_a_dead_child_is_an_error_not_a_signal),
        TEST(a_frame_over_the_maximum_is_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
