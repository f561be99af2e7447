/* SPDX-License-Identifier: MIT */
#include "tracker/revoked.h"

#include "core/file.h"
#include "tracker/protocol.h"

#include <stdio.h>
#include <string.h>

bool revoked_has(const char *list, const char *identity)
{
    const size_t n = strlen(identity);

    for (const char *at = list && n ? strstr(list, identity) : NULL; at; at = strstr(at + 1, identity))
        if ((at == list || at[-1] == '\n') && (at[n] == '\n' || !at[n]))
            return true;
    return false;
}

static enum err check(const struct buf *text, const char *path, struct why *why)
{
    int i_line = 0;

    if (strlen(buf_text(text)) != text->len) /* who stands behind it would be let in */
        return why_set(why, ERR_INPUT, "%.300s: a text is expected, and there is a zero byte in it", path);
    for (const char *line = buf_text(text), *end; *line; line = end + (*end == '\n')) {
        char identity[KEY_IDENTITY_BYTES];
        const size_t n = strcspn(line, "\n");

        end = line + n;
        i_line++;
        snprintf(identity, sizeof identity, "%.*s", (int)(n < sizeof identity ? n : sizeof identity), line);
        if (n && *line != '#' && (n >= sizeof identity || !key_identity_is_sane(identity)))
            return why_set(why, ERR_INPUT, "%.300s:%d: '%.40s': expected ROLE:NAME, e.g. user:alice", path, i_line,
                           identity);
    }
    return ERR_OK;
}

static enum err read_list(const char *path, struct buf *out, struct why *why)
{
    const enum err e = file_read(path, out, why);

    return e ? e : check(out, path, why);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

enum err revoked_open(struct revoked *r, const char *path, struct why *why)
{
    *r = (struct revoked){.path = path};
    buf_init(&r->list, REVOKED_BYTES);
    if (!path)
        return ERR_OK;
    stat(path, &r->seen); /* before it is read: what changes meanwhile is seen again */
    return read_list(path, &r->list, why);
}

void revoked_close(struct revoked *r)
{
    buf_fini(&r->list);
}

enum err revoked_again(struct revoked *r, bool must, struct buf *old, bool *changed, struct why *why)
{
    struct stat now = {.st_size = 0};
    struct buf fresh;
    bool stands;
    enum err e;

    *changed = false;
    if (!r->path)
        return ERR_OK;
    stat(r->path, &now); /* one that is gone has changed too, once */
    stands = is_same(&now, &r->last);
    r->last = now;
    if (!must && (!stands || is_same(&now, &r->seen)))
        return ERR_OK;
    r->seen = now;
    buf_init(&fresh, REVOKED_BYTES);
    e = read_list(r->path, &fresh, why);
    if (e) {
        buf_fini(&fresh);
        return e;
    }
    buf_fini(old);
    *old = r->list;
    r->list = fresh;
    *changed = true;
    return ERR_OK;
}
