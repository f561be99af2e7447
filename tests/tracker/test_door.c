/* SPDX-License-Identifier: MIT */
/* Who is sent away from the tracker's door, by connections from several addresses of this machine (127.0.0.2 and on).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/clock.h"
#include "tests/scarce/scarce.h"
#include "tracker/door.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_CROWD (DOOR_CROWD + 3)
#define SILENT_MS 12000 /* of door_expect_dead */

static struct door *door;
static nng_socket s;
static int port;
static atomic_int n_came, n_went;
static atomic_uint last_pipe; /* that came */
static atomic_bool full, failed;
static atomic_int fail_at; /* the allocation that fails when one comes; 0 = none */

static void note(nng_pipe p, nng_pipe_ev event, void *arg)
{
    (void)arg;
    if (event == NNG_PIPE_EV_ADD_PRE) {
        scarce_begin(atomic_load(&fail_at), true);
        scarce_watch(true);
        door_came(door, p, atomic_load(&full));
        scarce_watch(false);
        atomic_store(&failed, scarce_failed());
        atomic_store(&last_pipe, (unsigned)nng_pipe_id(p));
        atomic_fetch_add(&n_came, 1);
    } else {
        door_went(door, p);
        atomic_fetch_add(&n_went, 1);
    }
}

static int open_door(void **state)
{
    nng_listener l;

    (void)state;
    if (door_open(16384, &door))
        return 1;
    door_expect_dead(door, SILENT_MS);
    return nng_rep0_open(&s) || nng_pipe_notify(s, NNG_PIPE_EV_ADD_PRE, note, NULL) ||
           nng_pipe_notify(s, NNG_PIPE_EV_REM_POST, note, NULL) || nng_listener_create(&l, s, "tcp://127.0.0.1:0") ||
           nng_listener_start(l, 0) || nng_listener_get_int(l, NNG_OPT_TCP_BOUND_PORT, &port);
}

/* One who says hello to nng and then nothing, from 127.0.0.HOST; nng has told of him. */
static int come_from(int host)
{
    static const unsigned char head[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (unsigned)host)},
                             to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), before = atomic_load(&n_came);

    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, head, sizeof head, MSG_NOSIGNAL), sizeof head);
    for (int i = 0; i < 2000 && atomic_load(&n_came) == before; i++)
        clock_sleep_ms(5);
    assert_int_equal(atomic_load(&n_came), before + 1);
    return fd;
}

/* Has the other side hung up? What nng said in greeting is read away. */
static bool is_sent_away(int fd)
{
    unsigned char some[64];
    ssize_t n;

    while ((n = recv(fd, some, sizeof some, MSG_DONTWAIT)) > 0)
        ;
    return n == 0;
}

static int n_sent_away(const int *fds, int n)
{
    int n_gone = 0;

    for (int i = 0; i < n; i++)
        n_gone += is_sent_away(fds[i]);
    return n_gone;
}

/* Until so many are gone, and some looks of the door's longer. */
static void await_gone(const int *fds, int n, int wanted)
{
    for (int i = 0; i < 1000 && n_sent_away(fds, n) < wanted; i++)
        clock_sleep_ms(20);
    clock_sleep_ms(3 * DOOR_TICK_MS);
}

static void leave(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        close(fds[i]);
    for (int i = 0; i < 1000 && atomic_load(&n_went) < atomic_load(&n_came); i++)
        clock_sleep_ms(5);
    assert_int_equal(atomic_load(&n_went), atomic_load(&n_came));
}

/* Of a crowd the oldest go, who have DOOR_CROWD younger ones of their own address: not who came before them from
 * another one, nor who has shown who he is. */
static void a_crowd_is_of_one_address(void **state)
{
    int fds[2 + N_CROWD], *crowd = fds + 2;

    (void)state;
    fds[0] = come_from(2);
    fds[1] = come_from(1);
    door_shown(door, atomic_load(&last_pipe));
    for (int i = 0; i < N_CROWD; i++)
        crowd[i] = come_from(1);
    await_gone(crowd, N_CROWD, N_CROWD - DOOR_CROWD);
    for (int i = 0; i < N_CROWD; i++)
        assert_int_equal(is_sent_away(crowd[i]), i < N_CROWD - DOOR_CROWD);
    assert_false(is_sent_away(fds[0]));
    assert_false(is_sent_away(fds[1]));
    leave(fds, 2 + N_CROWD);
}

/* So many from each of two addresses are no crowd. */
static void two_addresses_are_two_crowds(void **state)
{
    int fds[2 * DOOR_CROWD];

    (void)state;
    for (int i = 0; i < 2 * DOOR_CROWD; i++)
        fds[i] = come_from(3 + i % 2);
    clock_sleep_ms(DOOR_CROWD_MS + 4 * DOOR_TICK_MS);
    assert_int_equal(n_sent_away(fds, 2 * DOOR_CROWD), 0);
    leave(fds, 2 * DOOR_CROWD);
}

/* Begins a message of 1 MiB and sends n bytes of it. */
static void send_part(int fd, size_t n)
{
    static const unsigned char head[8] = {0, 0, 0, 0, 0, 0x10, 0, 0};
    unsigned char some[4096] = {0};

    assert_int_equal(send(fd, head, sizeof head, MSG_NOSIGNAL), sizeof head);
    for (; n >= sizeof some; n -= sizeof some)
        assert_int_equal(send(fd, some, sizeof some, MSG_NOSIGNAL), sizeof some);
}

/* A stranger has DOOR_BYTES, of messages that are not whole; who has shown who he is, and what was taken, is free. */
static void a_stranger_who_sends_much_goes(void **state)
{
    int fds[4];

    (void)state;
    fds[0] = come_from(5);
    send_part(fds[0], (size_t)DOOR_BYTES * 2);
    fds[1] = come_from(5);
    send_part(fds[1], (size_t)DOOR_BYTES / 2);
    fds[2] = come_from(5);
    door_shown(door, atomic_load(&last_pipe));
    send_part(fds[2], (size_t)DOOR_BYTES * 2);
    fds[3] = come_from(5);
    door_took(door, atomic_load(&last_pipe), (size_t)DOOR_BYTES * 2);
    send_part(fds[3], (size_t)DOOR_BYTES * 2);
    await_gone(fds, 1, 1);
    assert_true(is_sent_away(fds[0]));
    for (int i = 1; i < 4; i++)
        if (is_sent_away(fds[i]))
            fail_msg("%d went", i);
    leave(fds, 4);
}

/* Where there is no place for him, it does not help him to say at once who he is. */
static void who_is_refused_goes_though_he_is_known(void **state)
{
    int fds[2];

    (void)state;
    atomic_store(&full, true);
    fds[0] = come_from(6);
    door_shown(door, atomic_load(&last_pipe));
    atomic_store(&full, false);
    fds[1] = come_from(6);
    door_shown(door, atomic_load(&last_pipe));
    await_gone(fds, 1, 1);
    assert_true(is_sent_away(fds[0]));
    assert_false(is_sent_away(fds[1]));
    leave(fds, 2);
}

/* Whom there is no memory to watch is not let in unwatched. */
static void without_memory_a_stranger_is_turned_away(void **state)
{
    int n = 0;

    (void)state;
    do {
        int fd;

        atomic_store(&fail_at, ++n);
        fd = come_from(7);
        for (int i = 0; i < 200 && atomic_load(&failed) && !is_sent_away(fd); i++)
            clock_sleep_ms(5);
        assert_int_equal(is_sent_away(fd), atomic_load(&failed));
        leave(&fd, 1);
    } while (atomic_load(&failed));
    atomic_store(&fail_at, 0);
    assert_true(n > 3);
}

static int port_at(int fd, int (*ask)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in a = {.sin_family = AF_UNSPEC};
    socklen_t n = sizeof a;

    return ask(fd, (struct sockaddr *)&a, &n) == 0 && a.sin_family == AF_INET ? ntohs(a.sin_port) : 0;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t n = sizeof value;

    assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
    return value;
}

/* nng's end of a connection of ours; 0 = nng's listener. */
static int end_of(int ours)
{
    for (int fd = 3; fd < 1024; fd++)
        if (port_at(fd, getsockname) == port && port_at(fd, getpeername) == (ours ? port_at(ours, getsockname) : 0))
            return fd;
    fail_msg("no end of %d", ours);
    return -1;
}

/* What keeps connections of hosts that are gone would also end those that wait in the backlog of a tracker that stands
 * still: it is for accepted ones alone. */
static void who_is_in_may_be_silent_for_so_long_and_who_waits_for_longer(void **state)
{
    int fd, end;

    (void)state;
    fd = come_from(8);
    door_shown(door, atomic_load(&last_pipe));
    end = end_of(fd);
    for (int i = 0; i < 1000 && option(end, SOL_SOCKET, SO_KEEPALIVE) == 0; i++)
        clock_sleep_ms(20);
    assert_int_equal(option(end, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(end, IPPROTO_TCP, TCP_USER_TIMEOUT), SILENT_MS);
    assert_int_equal(option(end, IPPROTO_TCP, TCP_KEEPIDLE) +
                         option(end, IPPROTO_TCP, TCP_KEEPCNT) * option(end, IPPROTO_TCP, TCP_KEEPINTVL),
                     SILENT_MS / 1000);
    assert_int_equal(option(end_of(0), IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    leave(&fd, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_in_may_be_silent_for_so_long_and_who_waits_for_longer),
        cmocka_unit_test(a_crowd_is_of_one_address),
        cmocka_unit_test(two_addresses_are_two_crowds),
        cmocka_unit_test(a_stranger_who_sends_much_goes),
        cmocka_unit_test(who_is_refused_goes_though_he_is_known),
        cmocka_unit_test(without_memory_a_stranger_is_turned_away),
    };

    return cmocka_run_group_tests(tests, open_door, NULL); /* the door stays: its thread has no end */
}
