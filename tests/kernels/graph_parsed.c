/* SPDX-License-Identifier: MIT */
#include "tests/kernels/graph_parsed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct graph graph_parsed(const char *text)
{
    struct graph g;
    struct why why = {""};

    if (graph_parse("small", text, strlen(text), &g, &why))
        fail_msg("%s", why.text);
    return g;
}
