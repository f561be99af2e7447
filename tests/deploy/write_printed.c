/* SPDX-License-Identifier: MIT */
/* write_printed - writes the bundle of printed_set.h: write_printed DIR opencl|cuda|network */
#include "tests/deploy/printed_set.h"
#include "deploy/bundle.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct deploy_set s;
    struct why why = {""};
    if (argc != 3) {
        fprintf(stderr, "usage: write_printed DIR opencl|cuda|network\n");
        return 1;
    }
    enum err e = printed_set_init(&s, argv[2], &why);
    e = e == ERR_OK ? deploy_bundle_write(&s, argv[1], &why) : e;
    printed_set_fini(&s);
    if (e != ERR_OK) {
        fprintf(stderr, "%s\n", why.text);
    }
    return e == ERR_OK ? 0 : 1;
}
