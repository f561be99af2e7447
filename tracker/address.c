/* SPDX-License-Identifier: MIT */
#include "tracker/address.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_PORT "9477"
#define LONGEST 256 /* characters of one, as people write it */

static const char *const schemes[] = {"tcp://", "tcp4://", "tcp6://", "tls+tcp://"};

/* Where the port's ':' stands behind the scheme, or NULL; the colons between brackets are IPv6's. */
static char *find_colon(char *host)
{
    char *bracket = strrchr(host, ']');

    return strrchr(bracket ? bracket : host, ':');
}

static bool is_port(const char *text)
{
    const size_t n = strlen(text);
    const long port = n > 0 && n <= 5 && strspn(text, "0123456789") == n ? strtol(text, NULL, 10) : 0;

    return port >= 1 && port <= 65535;
}

/* Cuts "HOST:PORT" or "[IPv6]:PORT". */
static bool cut(const char *rest, struct address *out)
{
    const bool in_brackets = *rest == '[';
    const char *host = rest + in_brackets;
    const size_t n = strcspn(host, in_brackets ? "]" : ":");
    const char *colon = host + n + (in_brackets && host[n] == ']');

    if (n == 0 || n >= sizeof out->host || *colon != ':' || strchr(rest, '/') || !is_port(colon + 1))
        return false;
    snprintf(out->host, sizeof out->host, "%.*s", (int)n, host);
    snprintf(out->port, sizeof out->port, "%s", colon + 1);
    return true;
}

static enum err refuse(const char *url, struct why *why)
{
    return why_set(why, ERR_INPUT,
                   "%s is no address of a tracker: expected tcp://HOST:PORT, PORT from 1 to 65535, an IPv6 HOST in []",
                   url);
}

bool address_has_scheme(const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

enum err address_read(const char *text, size_t n, bool tls, struct address *out, struct why *why)
{
    struct address a = {.host = ""};
    char *host;

    if (n == 0 || n > LONGEST)
        return why_set(why, ERR_INPUT,
                       "a tracker has at most %d addresses with ',' between them, of at most %d characters",
                       ADDRESSES_MOST, LONGEST);
    snprintf(a.url, sizeof a.url, "%s%.*s",
             memmem(text, n, "://", 3) ? ""
             : tls                     ? "tls+tcp://"
                                       : "tcp://",
             (int)n, text);
    host = strstr(a.url, "://") + 3;
    if (!find_colon(host) && !strchr(host, '/'))
        strcat(a.url, ":" DEFAULT_PORT);
    if (!address_has_scheme(a.url) || !cut(host, &a))
        return refuse(a.url, why);
    *out = a;
    return ERR_OK;
}

enum err address_complete(const char *list, bool tls, char out[ADDRESSES_BYTES], struct why *why)
{
    static const char with_tls[] = "tls+";
    struct address a;
    size_t used = 0;
    enum err e = ERR_OK;
    int n = 0;

    tls |= strncmp(list, with_tls, strlen(with_tls)) == 0;
    for (const char *p = list; !e && p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        e = address_read(p, n++ < ADDRESSES_MOST ? strcspn(p, ",") : 0, tls, &a, why);
        if (!e)
            used += (size_t)snprintf(out + used, ADDRESSES_BYTES - used, "%s%s", used ? "," : "", a.url);
        assert(e || used < ADDRESSES_BYTES);
    }
    return e;
}

enum err address_find(const struct address *a, struct addrinfo **out, struct why *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const int code = getaddrinfo(a->host, a->port, &hints, out);

    return code ? why_set(why, ERR_NOT_FOUND, "no machine is known by the name %s (%s)", a->host, gai_strerror(code))
                : ERR_OK;
}

/* 0, or errno. */
static int connect_within(int fd, const struct addrinfo *a, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int failure = 0;
    socklen_t n = sizeof failure;

    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (poll(&p, 1, timeout_ms) <= 0)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &n) == 0 ? failure : errno;
}

enum err address_connect(const struct addrinfo *found, int timeout_ms, int *fd, struct why *why)
{
    int failure = EHOSTUNREACH;

    for (const struct addrinfo *a = found; a; a = a->ai_next) {
        *fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        failure = *fd < 0 ? errno : connect_within(*fd, a, timeout_ms);
        if (*fd >= 0 && !failure && fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) == 0)
            return ERR_OK;
        if (*fd >= 0)
            close(*fd);
    }
    if (failure == ETIMEDOUT)
        return why_set(why, ERR_UNREACHABLE, "no answer in %d s: a firewall, or the machine is off", timeout_ms / 1000);
    return why_set(why, ERR_UNREACHABLE, "%s",
                   failure == ECONNREFUSED ? "refused: no tracker listens on that port there" : strerror(failure));
}

bool address_takes(const char *url, int timeout_ms)
{
    struct addrinfo *found = NULL;
    struct address a;
    int fd = -1;

    if (address_read(url, strlen(url), false, &a, NULL) || address_find(&a, &found, NULL))
        return false;
    if (address_connect(found, timeout_ms, &fd, NULL) == ERR_OK)
        close(fd);
    freeaddrinfo(found);
    return fd >= 0;
}
