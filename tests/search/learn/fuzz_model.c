/* SPDX-License-Identifier: MIT */
/* Feeds files of `tune model` to their readers, those of one device's table and those that know other devices. What is
 * read scores a config. */
#include "tests/fuzz/fuzz.h"
#include "search/learn/model_file.h"
#include "search/learn/transfer_model.h"

#include <math.h>
#include <stdlib.h>

static void score_one(const struct model_file *m)
{
    double *values = calloc(m->columns.n + 1, sizeof *values);
    float score = NAN;

    if (values && model_file_predict(m, values, 1, &score) == ERR_OK && isnan(score))
        fuzz_die("no score");
    free(values);
}

static void score_other(struct transfer_model *m)
{
    double *values = calloc(transfer_model_columns(m)->n + 1, sizeof *values);
    float score = NAN;

    if (values && transfer_model_predict(m, values, 1, &score) == ERR_OK && isnan(score))
        fuzz_die("no score");
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    struct transfer_model *other = NULL;
    struct model_file m = {.space = NULL};
    struct why why = {""};

    if (model_file_read(path, &m, &why) == ERR_OK)
        score_one(&m);
    else
        fuzz_check_words("model", why.text);
    model_file_fini(&m);
    if (transfer_model_is(path)) {
        if (transfer_model_read(&other, path, &why) == ERR_OK)
            score_other(other);
        else
            fuzz_check_words("model of several", why.text);
        transfer_model_free(other);
    }
    return 0;
}
