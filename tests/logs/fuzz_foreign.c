/* Feeds mutated files to every format of the table: `fuzz_foreign [iterations [seed]]`, or, built with
 * -fsanitize=fuzzer -DFUZZ_LIBFUZZER, as a libFuzzer target. Each text is given to every format that reads, whatever
 * its sniffing says; rows must hold together, and what a format writes of them it must read again. */
#include "core/rng.h"
#include "logs/foreign/foreign.h"
#include "tests/logs/foreign_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct tried {
    const struct foreign_format *format;
    size_t n_rows;
};

static void die(const char *format, const char *words)
{
    fprintf(stderr, "%s: %s\n", format, words);
    abort();
}

static void write_and_read(const struct foreign_format *f, const struct foreign_row *row);

static bool take(const struct foreign_row *row, void *arg)
{
    struct tried *t = arg;

    if ((unsigned)row->status >= N_STATUSES || row->n_samples > RECORD_MAX_SAMPLES || row->time_s < 0)
        die(t->format->name, "a row that does not hold together");
    if (t->n_rows++ < 4)
        write_and_read(t->format, row);
    return true;
}

static bool count(const struct foreign_row *row, void *arg)
{
    (void)row;
    ++*(size_t *)arg;
    return true;
}

static void tell(int64_t i_line, const char *why, void *arg)
{
    const struct tried *t = arg;

    if (i_line < 0 || !why[0])
        die(t->format->name, "a bad row without words");
}

static void forget(int64_t i_line, const char *why, void *arg)
{
    (void)i_line;
    (void)why;
    (void)arg;
}

static void write_and_read(const struct foreign_format *f, const struct foreign_row *row)
{
    struct foreign_sink sink = {count, forget, NULL};
    struct buf text;
    size_t n = 0;

    if (!f->write)
        return;
    sink.arg = &n;
    buf_init(&text, 1 << 22);
    if (f->write(row, 1, &text, NULL) == ERR_OK && (f->read(buf_text(&text), text.len, &sink, NULL) || n != 1))
        die(f->name, "it does not read what it wrote");
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + !n);

    if (!text)
        return 0;
    if (n)
        memcpy(text, data, n);
    (void)foreign_sniff(text, n);
    for (const struct foreign_format *const *f = foreign_formats; *f; f++) {
        struct tried t = {*f, 0};
        const struct foreign_sink sink = {take, tell, &t};
        struct why why = {""};

        if ((*f)->read && (*f)->read(text, n, &sink, &why) && !why.text[0])
            die((*f)->name, "refused without words");
    }
    free(text);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char alphabet[] = "{}[]\",:<>/=&;0123456789.eE+-truefalsNaInity\\u \t\n\x80\xff";

static const char *const seeds[] = {
    KT_OPEN "}\n}",
    KTT,
    XML,
    AUTOTVM,
    CLBLAST,
    CLTUNER,
    "{\"input\": [\"opencl -device=mali\", \"conv2d_nchw_spatial_pack.mali\", [[\"TENSOR\", [1, 3, 8, 8], "
    "\"float32\"], "
    "[\"TENSOR\", [4, 3, 3, 3], \"float32\"], [1, 1], [1, 1, 1, 1], [1, 1], \"float32\"], {}], \"config\": {\"index\": "
    "3, "
    "\"code_hash\": null, \"entity\": [[\"tile_co\", \"sp\", [-1, 4]], [\"reorder_0\", \"re\", [0, 1, 2]], [\"ann\", "
    "\"an\", \"unroll\"], [\"auto\", \"ot\", 0]]}, \"result\": [[0.001, 0.002], 0, 1.5, 1600000000.5], \"version\": "
    "0.2, "
    "\"tvm_version\": \"0.9\"}\n",
    "{\"kernel_family\": \"xgemm\", \"precision\": \"32\", \"best_kernel\": \"Xgemm\", \"results\": [{\"kernel\": "
    "\"Xgemm\", \"time\": 1.5, \"parameters\": {\"KWG\": 32}}]}",
    "{\"schema_version\": \"1.0.0\", \"results\": [{\"timestamp\": \"2024-01-01T00:00:00\", \"configuration\": {\"a\": "
    "1}, "
    "\"objectives\": [\"time\"], \"times\": {\"compilation_time\": 1, \"runtimes\": [1.5]}, \"invalidity\": "
    "\"correct\", "
    "\"correctness\": 1, \"measurements\": [{\"name\": \"time\", \"value\": 1.5, \"unit\": \"ms\"}]}]}",
};

#define N_SEEDS (sizeof seeds / sizeof *seeds)

static size_t mutate(struct rng *rng, char *text, size_t n)
{
    const size_t at = rng_below(rng, n + 1), most = n - at < 60 ? n - at : 60, piece = rng_below(rng, most + 1);

    switch (rng_below(rng, 4)) {
    case 0:
        if (at < n)
            text[at] = alphabet[rng_below(rng, sizeof alphabet)]; /* the NUL too */
        return n;
    case 1:
        memmove(text + at, text + at + piece, n - at - piece);
        return n - piece;
    case 2:
        return at;
    default:
        if (n + piece >= MAX_TEXT)
            return n;
        memmove(text + at + piece, text + at, n - at);
        return n + piece;
    }
}

int main(int argc, char **argv)
{
    const long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char text[MAX_TEXT];
    struct rng rng;

    rng_init(&rng, seed);
    for (long i = 0; i < iterations; i++) {
        const char *from = seeds[(size_t)i % N_SEEDS];
        size_t n = strlen(from);

        memcpy(text, from, n);
        for (uint64_t k = rng_below(&rng, 4); k > 0; k--)
            n = mutate(&rng, text, n);
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
    }
    printf("%ld mutated files\n", iterations);
    return 0;
}
#endif
