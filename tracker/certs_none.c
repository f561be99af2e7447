/* SPDX-License-Identifier: MIT */
/* certs_none.c - certs.h in a program that is built without TLS. */
#include "tracker/certs.h"

static enum err none(struct why *why)
{
    return why_set(why, ERR_UNSUPPORTED, "this program is built without TLS: it makes no certificates");
}

enum err certs_make_ca(const char *dir, const struct cert_order *o, struct why *why)
{
    (void)dir;
    (void)o;
    return none(why);
}

enum err certs_issue(const char *dir, const struct cert_order *o, const char *path, struct why *why)
{
    (void)dir;
    (void)o;
    (void)path;
    return none(why);
}
