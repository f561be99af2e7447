/* SPDX-License-Identifier: MIT */
/* carrier_none.c - carrier.h in a program that is built without libcurl. */
#include "tracker/carrier.h"

#include <stdlib.h>

enum err carrier_open(const char *url, double stall_s, struct carrier **out, struct why *why)
{
    (void)url, (void)stall_s, (void)out;
    return why_set(why, ERR_UNSUPPORTED, "this program is built without libcurl: it speaks to no S3 store");
}

/* There is none. */
void carrier_close(struct carrier *c)
{
    (void)c;
}

struct load *carrier_load(struct carrier *c, bool *done)
{
    (void)c, (void)done;
    abort();
}

void carrier_go(struct carrier *c)
{
    (void)c;
}

void carrier_clear(struct carrier *c)
{
    (void)c;
}

void carrier_again(struct carrier *c)
{
    (void)c;
}
