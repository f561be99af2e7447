/* SPDX-License-Identifier: MIT */
/* Feeds compilers' logs to the reader of the assembler's figures: names end, counts are told or -1. */
#include "runtime/nvrtc.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *log = fuzz_text(data, n);
    struct kernel_resources *list = NULL;
    size_t n_list = 0;

    if (nvrtc_read_resources(log, &list, &n_list) == ERR_OK)
        for (size_t i = 0; i < n_list; i++)
            if (!memchr(list[i].kernel, '\0', sizeof list[i].kernel) || list[i].registers < -1 ||
                list[i].local_bytes < -1 || list[i].spill_bytes < -1 || list[i].stack_bytes < -1)
                fuzz_die("figures of kernel %zu do not hold together", i);
    free(list);
    free(log);
    return 0;
}
