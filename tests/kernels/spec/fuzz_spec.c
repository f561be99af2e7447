/* SPDX-License-Identifier: MIT */
/* Feeds job files to the reader, and lists of values as Python writes them: what is taken makes programs, or says why
 * not. */
#include "core/rng.h"
#include "search_space/value_list.h"
#include "tests/fuzz/fuzz.h"
#include "tests/kernels/spec/job.h"
#include "kernels/spec/spec.h"

#include <stdlib.h>
#include <string.h>

static void make_closed(const char *text, size_t n, struct buf *out, struct blobs *files)
{
    struct sha256 scale, plain;

    blobs_put(files, job_kernel, strlen(job_kernel), &scale);
    blobs_put(files, job_reference, strlen(job_reference), &plain);
    buf_printf(out,
               "{\"tune\":{\"schema\":1,\"files\":[{\"name\":\"scale.cl\",\"sha256\":\"%s\"},{\"name\":\"plain.cl\","
               "\"sha256\":\"%s\"}]},",
               scale.hex, plain.hex);
    buf_append(out, text + (n > 0), n - (n > 0)); /* without its '{' */
}

static void try_programs(struct spec *s)
{
    struct rng rng;

    rng_init(&rng, 1);
    for (int i = 0; i < 4; i++) {
        struct blobs blobs;
        struct program p;
        struct config c;
        struct why why = {""};

        if (space_sample(spec_space(s), &rng, 100, &c))
            return;
        blobs_init(&blobs, (size_t)64 << 20);
        if (spec_program(s, &c, &p, &blobs, &why) == ERR_OK)
            program_fini(&p);
        else
            fuzz_check_words("spec_program", why.text);
        blobs_fini(&blobs);
    }
}

static void try_text(const char *text, size_t n)
{
    struct blobs files;
    struct buf closed;
    struct spec *s = NULL;
    struct why why = {""};

    blobs_init(&files, 1 << 20);
    buf_init(&closed, n + 4096);
    make_closed(text, n, &closed, &files);
    if (spec_open(buf_text(&closed), closed.len, &files, &s, &why) == ERR_OK)
        try_programs(s);
    else
        fuzz_check_words("spec_open", why.text);
    spec_free(s);
    buf_fini(&closed);
    blobs_fini(&files);
}

static void try_list(const char *text)
{
    cJSON *list = NULL;
    struct why why = {""};

    if (value_list_parse(text, &list, &why) == ERR_OK)
        cJSON_Delete(list);
    else
        fuzz_check_words("value_list_parse", why.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);

    try_text(text, n);
    try_list(text);
    free(text);
    return 0;
}
