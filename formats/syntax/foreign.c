/* SPDX-License-Identifier: MIT */
#include "formats/syntax/foreign.h"

#include <stdlib.h>
#include <string.h>

/* Each a file of this folder. */
extern const struct foreign_format foreign_autotvm, foreign_clblast, foreign_kernel_tuner, foreign_ktt, foreign_t4;

const struct foreign_format *const foreign_formats[] = {
    &foreign_autotvm,
    &foreign_clblast,
    &foreign_kernel_tuner,
    &foreign_ktt,
    &foreign_t4,
    /* the next one here */
    NULL,
};

void foreign_row_init(struct foreign_row *r)
{
    memset(r, 0, sizeof *r);
}

void foreign_row_fini(struct foreign_row *r)
{
    free(r->task);
    free(r->target);
    cJSON_Delete(r->args);
    cJSON_Delete(r->knobs);
    cJSON_Delete(r->extra);
    foreign_row_init(r);
}

const struct foreign_format *foreign_find(const char *name)
{
    for (const struct foreign_format *const *f = foreign_formats; *f; f++)
        if (strcmp((*f)->name, name) == 0)
            return *f;
    return NULL;
}

const struct foreign_format *foreign_sniff(const char *head, size_t n)
{
    for (const struct foreign_format *const *f = foreign_formats; *f; f++)
        if ((*f)->sniff(head, n))
            return *f;
    return NULL;
}
