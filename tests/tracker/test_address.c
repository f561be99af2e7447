/* SPDX-License-Identifier: MIT */
/* Addresses of trackers as people write them: what is completed, what is none, and who answers there. */
#include "tracker/address.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static void what_people_write_is_completed(void **state)
{
    static const struct {
        const char *text;
        bool tls;
        const char *url, *host, *port;
    } cases[] = {
        {"farm", false, "tcp://farm:9477", "farm", "9477"},
        {"farm", true, "tls+tcp://farm:9477", "farm", "9477"},
        {"farm:1", true, "tls+tcp://farm:1", "farm", "1"},
        {"tcp://farm", true, "tcp://farm:9477", "farm", "9477"},
        {"tls+tcp://10.0.0.1:65535", false, "tls+tcp://10.0.0.1:65535", "10.0.0.1", "65535"},
        {"[::1]", false, "tcp://[::1]:9477", "::1", "9477"},
        {"tcp6://[fe80::1]:80", false, "tcp6://[fe80::1]:80", "fe80::1", "80"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address a;
        struct why why = {""};

        if (address_read(cases[i].text, strlen(cases[i].text), cases[i].tls, &a, &why) != ERR_OK)
            fail_msg("%s: %s", cases[i].text, why.text);
        assert_string_equal(a.url, cases[i].url);
        assert_string_equal(a.host, cases[i].host);
        assert_string_equal(a.port, cases[i].port);
        assert_int_equal(address_read(a.url, strlen(a.url), false, &a, &why), ERR_OK);
        assert_string_equal(a.url, cases[i].url); /* once is enough */
    }
}

static void what_is_no_address_is_told_as_it_was_completed(void **state)
{
    static const char *const none[][2] = {
        {"http://farm", "http://farm:9477 is no address"},
        {"ipc:///run/tune", "ipc:///run/tune is no address"},
        {"farm:0", "tcp://farm:0 is no address"},
        {"farm:65536", "tcp://farm:65536 is no"},
        {"farm:", "tcp://farm: is no"},
        {":9477", "tcp://:9477 is no"},
        {"farm:1x", "tcp://farm:1x is no"},
        {"farm:-1", "tcp://farm:-1 is no"},
        {"::1", "an IPv6 HOST in []"},
        {"[::1", "tcp://[::1 is no"},
        {"[]:1", "tcp://[]:1 is no"},
        {"[::1]x:1", "tcp://[::1]x:1 is no"},
        {"tcp://a/b:1", "tcp://a/b:1 is no"},
        {"", "at most 256 characters"},
        {"a:000001", "tcp://a:000001 is no"},
    };
    char longest[258];
    struct address a;
    struct why why;

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (address_read(none[i][0], strlen(none[i][0]), false, &a, &why) != ERR_INPUT || !strstr(why.text, none[i][1]))
            fail_msg("'%s': %s", none[i][0], why.text);
    memset(longest, 'a', sizeof longest);
    assert_int_equal(address_read(longest, 256, true, &a, &why), ERR_INPUT); /* no host has so many */
    assert_int_equal(address_read(longest, 257, true, &a, &why), ERR_INPUT);
    assert_int_equal(address_read(longest, 240, true, &a, &why), ERR_OK);
}

static void lists_are_completed_like_their_first(void **state)
{
    static const struct {
        const char *list;
        bool tls;
        const char *all;
    } cases[] = {{"a,b:1", false, "tcp://a:9477,tcp://b:1"},
                 {"a,b", true, "tls+tcp://a:9477,tls+tcp://b:9477"},
                 {"tls+tcp://a,b", false, "tls+tcp://a:9477,tls+tcp://b:9477"},
                 {"a,b,c,d,e,f,g,h", false, NULL},
                 {"a,b,c,d,e,f,g,h,i", false, ""},
                 {"a,", false, ""},
                 {",a", false, ""}};
    char all[ADDRESSES_BYTES];
    struct why why;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool bad = cases[i].all && !*cases[i].all;

        assert_int_equal(address_complete(cases[i].list, cases[i].tls, all, &why), bad ? ERR_INPUT : ERR_OK);
        if (cases[i].all && !bad)
            assert_string_equal(all, cases[i].all);
    }
}

/* A port where somebody listens, and the same when nobody does any more. */
static void who_answers_is_connected_to(void **state)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t n = sizeof here;
    struct addrinfo *found = NULL;
    struct address a;
    struct why why;
    char text[40];
    int fd;

    (void)state;
    assert_int_equal(bind(listener, (const struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(listen(listener, 1), 0);
    getsockname(listener, (struct sockaddr *)&here, &n);
    snprintf(text, sizeof text, "127.0.0.1:%d", ntohs(here.sin_port));
    assert_int_equal(address_read(text, strlen(text), false, &a, &why), ERR_OK);
    assert_int_equal(address_find(&a, &found, &why), ERR_OK);
    assert_int_equal(address_connect(found, 5000, &fd, &why), ERR_OK);
    close(fd);
    close(listener);
    assert_int_equal(address_connect(found, 5000, &fd, &why), ERR_UNREACHABLE);
    assert_string_equal(why.text, "refused: no tracker listens on that port there");
    freeaddrinfo(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_write_is_completed),
        cmocka_unit_test(what_is_no_address_is_told_as_it_was_completed),
        cmocka_unit_test(lists_are_completed_like_their_first),
        cmocka_unit_test(who_answers_is_connected_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
