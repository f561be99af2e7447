/* SPDX-License-Identifier: MIT */
/* tls_none.c - tls.h in a program that is built without TLS. */
#include "tracker/tls.h"

#include <string.h>

bool tls_known(void)
{
    return false;
}

bool tls_wanted(const char *url)
{
    return strncmp(url, "tls+", 4) == 0;
}

enum err tls_check(const char *url, const struct tls_files *files, bool listens, struct why *why)
{
    (void)listens;
    return tls_wanted(url) || (files->ca && *files->ca) || (files->cert && *files->cert)
               ? why_set(why, ERR_UNSUPPORTED,
                         "this program is built without TLS: tls+tcp://, --ca and --cert are "
                         "of those that have it")
               : ERR_OK;
}

enum err tls_look(const char *url, const struct tls_files *files, struct why *said)
{
    (void)files;
    return why_set(said, ERR_UNREACHABLE, "nobody was looked for at %s", url);
}
