/* SPDX-License-Identifier: MIT */
/* Feeds jobs to their parser, and the same text to those of --trials, --target and --min-gain. A job that is taken has
 * a text that is taken to the same text. */
#include "tests/fuzz/fuzz.h"
#include "tuner/job.h"
#include "tuner/stop.h"

#include <stdlib.h>
#include <string.h>

static void print(const struct job *j, struct buf *out)
{
    buf_init(out, (size_t)8 << 20);
    if (job_text(j, out) != ERR_OK)
        fuzz_die("taken, but has no text");
}

static void check(const struct job *j)
{
    struct buf first, second;
    struct why why = {""};
    struct job back;

    print(j, &first);
    if (job_parse(first.data, first.len, &back, &why) != ERR_OK)
        fuzz_die("its text is not taken: %s: %s", why.text, first.data);
    print(&back, &second);
    if (strcmp(first.data, second.data) != 0)
        fuzz_die("not the same text:\n%s\n%s", first.data, second.data);
    for (size_t i = 0; i < j->n_layers; i++)
        if (job_trials(j, i) < 1)
            fuzz_die("layer %zu has %lld trials", i, (long long)job_trials(j, i));
    job_fini(&back);
    buf_fini(&first);
    buf_fini(&second);
}

static void try_words(const char *text)
{
    double gflops = 0, time_ns = 0, share = 0;
    struct why why = {""};
    struct job j;

    if (stop_parse_target(text, &gflops, &time_ns, &why) == ERR_OK && (gflops > 0) == (time_ns > 0))
        fuzz_die("--target %s: %g GFLOPS and %g ns", text, gflops, time_ns);
    if (stop_parse_gain(text, &share, &why) == ERR_OK && !(share > 0 && share < 1))
        fuzz_die("--min-gain %s: %g", text, share);
    job_init(&j);
    if (job_add_layer(&j, "dense f32 m=1 n=1 k=1", "", 1) != ERR_OK)
        fuzz_die("out of memory");
    if (job_set_trials(&j, text, &why) == ERR_OK && job_trials(&j, 0) < 1)
        fuzz_die("--trials %s: %lld", text, (long long)job_trials(&j, 0));
    job_fini(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct why why = {""};
    struct job j;

    if (job_parse(text, n, &j, &why) == ERR_OK) {
        check(&j);
        job_fini(&j);
    } else {
        fuzz_check_words("job", why.text);
    }
    try_words(text);
    free(text);
    return 0;
}
