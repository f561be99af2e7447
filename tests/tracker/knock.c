/* SPDX-License-Identifier: MIT */
#include "tests/tracker/knock.h"

#include "core/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const unsigned char knock_head[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

int port_of(const char *url)
{
    return (int)strtol(strrchr(url, ':') + 1, NULL, 10);
}

int dial_from(int host, int port)
{
    const struct sockaddr_in there = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)host)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (bind(fd, (const struct sockaddr *)&here, sizeof here) != 0 ||
                    connect(fd, (const struct sockaddr *)&there, sizeof there) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

int dial(int port)
{
    return dial_from(1, port);
}

bool is_closed(int fd)
{
    char c[64];
    ssize_t n;

    while ((n = recv(fd, c, sizeof c, MSG_DONTWAIT)) > 0)
        ;
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

int await_closed(const int *fds, int n, int most, int64_t ms)
{
    const int64_t until = clock_now_ns() + ms * 1000000;
    int n_open;

    do {
        n_open = 0;
        for (int i = 0; i < n; i++)
            n_open += !is_closed(fds[i]);
        clock_sleep_ms(20);
    } while (n_open > most && clock_now_ns() < until);
    return n_open;
}
