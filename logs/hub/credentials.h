/* SPDX-License-Identifier: MIT */
/* credentials.h - what a hub needs to be let in, from the environment or from files, never from the command line. */
#ifndef TUNE_LOGS_HUB_CREDENTIALS_H
#define TUNE_LOGS_HUB_CREDENTIALS_H

#include "core/err.h"

#include <limits.h>

struct credentials {
    char user[512], password[512], token[4096];                       /* HTTP */
    char netrc[PATH_MAX];                                             /* "" = none */
    char access_key[512], secret_key[512], session[4096], region[64]; /* S3 */
};

/* Reads them all; what is not there stays "". ERR_INPUT: a file that others may read, or half a pair. */
enum err credentials_read(struct credentials *out, struct why *why);

/* Overwrites them. */
void credentials_forget(struct credentials *c);

#endif
