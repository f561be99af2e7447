/* SPDX-License-Identifier: MIT */
#include "agent/frame.h"

#include "core/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define HEAD_BYTES 4

static enum err send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return ERR_CHILD;
        bytes += sent;
        n -= (size_t)sent;
    }
    return ERR_OK;
}

enum err frame_send(int fd, cJSON *tree)
{
    struct buf text;
    unsigned char head[HEAD_BYTES] = {0};
    enum err e = ERR_NOMEM;

    buf_init(&text, FRAME_MAX_BYTES + HEAD_BYTES);
    if (!tree)
        goto out;
    buf_append(&text, head, sizeof head);
    e = json_print(tree, &text);
    if (!e)
        e = text.failed;
    if (e)
        goto out;
    for (int i = 0; i < HEAD_BYTES; i++)
        text.data[i] = (char)((text.len - HEAD_BYTES) >> (8 * i) & 0xff);
    e = send_all(fd, text.data, text.len);
out:
    cJSON_Delete(tree);
    buf_fini(&text);
    return e;
}

void frame_reader_init(struct frame_reader *r, int fd)
{
    r->fd = fd;
    buf_init(&r->bytes, 2 * (FRAME_MAX_BYTES + HEAD_BYTES));
}

void frame_reader_fini(struct frame_reader *r)
{
    buf_fini(&r->bytes);
}

static size_t frame_length(const struct buf *b)
{
    size_t n = 0;

    for (int i = 0; i < HEAD_BYTES; i++)
        n |= (size_t)(unsigned char)b->data[i] << (8 * i);
    return n;
}

static void drop_front(struct buf *b, size_t n)
{
    assert(n <= b->len);
    memmove(b->data, b->data + n, b->len - n + 1);
    b->len -= n;
}

/* ERR_BUSY: not whole yet. */
static enum err take_frame(struct frame_reader *r, cJSON **out, struct why *why)
{
    cJSON *tree = NULL;
    size_t n;
    enum err e;

    if (r->bytes.len < HEAD_BYTES)
        return ERR_BUSY;
    n = frame_length(&r->bytes);
    if (n > FRAME_MAX_BYTES)
        return why_set(why, ERR_PROTOCOL, "frame of %zu bytes from a child, expected at most %zu", n, FRAME_MAX_BYTES);
    if (r->bytes.len < HEAD_BYTES + n)
        return ERR_BUSY;
    e = json_parse(r->bytes.data + HEAD_BYTES, n, &tree, why);
    drop_front(&r->bytes, HEAD_BYTES + n);
    if (!e && !cJSON_IsObject(tree))
        e = why_set(why, ERR_PROTOCOL, "frame from a child is no JSON object");
    if (e) {
        cJSON_Delete(tree);
        return ERR_PROTOCOL;
    }
    *out = tree;
    return ERR_OK;
}

static enum err fill(struct frame_reader *r)
{
    char *room = buf_room(&r->bytes, 4096);
    ssize_t n;

    if (!room)
        return ERR_PROTOCOL;
    do
        n = recv(r->fd, room, 4096, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return ERR_CHILD;
    r->bytes.len += (size_t)n;
    r->bytes.data[r->bytes.len] = '\0';
    return ERR_OK;
}

enum err frame_read(struct frame_reader *r, int64_t timeout_ms, cJSON **out, struct why *why)
{
    const int64_t end = clock_now_ns() + timeout_ms * 1000000;

    for (;;) {
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        int64_t left = -1;
        enum err e = take_frame(r, out, why);
        int n;

        if (e != ERR_BUSY)
            return e;
        if (timeout_ms >= 0)
            left = (end - clock_now_ns() + 999999) / 1000000;
        if (timeout_ms >= 0 && left < 0)
            left = 0;
        n = poll(&p, 1, (int)left);
        if (n < 0 && errno != EINTR)
            return why_set(why, ERR_CHILD, "cannot wait for a child: %s", strerror(errno));
        if (n == 0 && timeout_ms >= 0)
            return ERR_TIMEOUT;
        if (n > 0 && (e = fill(r)) != ERR_OK)
            return why_set(why, e, "the child's stream ended");
    }
}
