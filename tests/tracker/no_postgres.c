/* SPDX-License-Identifier: MIT */
/* In a build without libpq. */
#include "tests/tracker/postgres.h"

#include <stdio.h>
#include <stdlib.h>

bool postgres_start(struct postgres *p)
{
    (void)p;
    fprintf(stderr, "skipped: this build has no libpq\n");
    return false;
}

void postgres_crash(struct postgres *p)
{
    (void)p;
    abort();
}

void postgres_restart(struct postgres *p)
{
    (void)p;
    abort();
}

void postgres_signal(const struct postgres *p, int signal)
{
    (void)p, (void)signal;
    abort();
}

void postgres_stop(struct postgres *p)
{
    (void)p;
    abort();
}

void postgres_place(struct postgres *p, char *out, size_t n_out)
{
    (void)p, (void)out, (void)n_out;
    abort();
}

int64_t postgres_run(const struct postgres *p, const char *where, const char *text)
{
    (void)p, (void)where, (void)text;
    abort();
}
