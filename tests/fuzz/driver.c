/* SPDX-License-Identifier: MIT */
/* driver.c - drives a fuzzer where libFuzzer does not: runs every file given (of folders: every one in them), then
 * inputs made of them by seeded changes. It takes the options of libFuzzer that it knows: fuzz_NAME [-runs=N] [-seed=N]
 * [FILE|FOLDER]... An input that ends the process is left as crash-SEED-N in the folder TUNE_FUZZ_CRASHES, else here.
 */
#include "core/buf.h"
#include "core/file.h"
#include "core/rng.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_INPUTS 4096
#define MAX_BYTES ((size_t)64 << 10)
#define MAX_PIECE 64
#define MAX_CHANGES 6

struct input {
    char *bytes;
    size_t n;
};

static struct input inputs[MAX_INPUTS];
static size_t n_inputs;
static char now[MAX_BYTES]; /* the input that runs */
static size_t n_now;
static char crash_path[4096];

static void leave_input(int signal_number)
{
    const int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd >= 0 && write(fd, now, n_now) == (ssize_t)n_now)
        (void)!write(STDERR_FILENO, crash_path, strlen(crash_path));
    (void)!write(STDERR_FILENO, "\n", 1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run(uint64_t seed, long n)
{
    const char *dir = getenv("TUNE_FUZZ_CRASHES");

    snprintf(crash_path, sizeof crash_path, "%s/crash-%llu-%ld", dir ? dir : ".", (unsigned long long)seed, n);
    LLVMFuzzerTestOneInput((const uint8_t *)now, n_now);
}

static void take_file(const char *path)
{
    struct buf text;
    struct why why = {""};

    buf_init(&text, MAX_BYTES);
    if (n_inputs == MAX_INPUTS || file_read(path, &text, &why) != ERR_OK)
        fuzz_die("%s: %s", path, why.text[0] ? why.text : "too many inputs");
    inputs[n_inputs].n = text.len;
    inputs[n_inputs++].bytes = buf_take(&text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void take(const char *path)
{
    struct dirent **list = NULL;
    struct stat st;
    int n;

    if (stat(path, &st) != 0)
        fuzz_die("%s: no such file or folder", path);
    if (!S_ISDIR(st.st_mode)) {
        take_file(path);
        return;
    }
    n = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char below[4096];

        snprintf(below, sizeof below, "%s/%s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            take(below);
        free(list[i]);
    }
    free(list);
}

/* Puts `n` bytes in the place of `n_old` at `at`. */
static void replace(size_t at, size_t n_old, const char *bytes, size_t n)
{
    char piece[MAX_PIECE];

    if (n_now - n_old + n > MAX_BYTES)
        return;
    memcpy(piece, bytes, n); /* it may lie in `now` */
    memmove(now + at + n, now + at + n_old, n_now - at - n_old);
    memcpy(now + at, piece, n);
    n_now = n_now - n_old + n;
}

/* A piece of any input, over or between what is there. */
static void graft(struct rng *rng, size_t at)
{
    const struct input *from = &inputs[rng_below(rng, n_inputs)];
    const size_t begin = (size_t)rng_below(rng, from->n + 1), left = from->n - begin;
    const size_t n = (size_t)rng_below(rng, (left < MAX_PIECE ? left : MAX_PIECE) + 1);
    const size_t n_old = rng_below(rng, 2) ? 0 : n < n_now - at ? n : n_now - at;

    if (n)
        replace(at, n_old, from->bytes + begin, n);
}

static void change(struct rng *rng)
{
    static const char telling[] = "{}[]()\",:=<>/\\ \n\t0123456789-+.eE";
    const size_t at = (size_t)rng_below(rng, n_now + 1), left = n_now - at;
    char byte = (char)rng_next(rng);

    switch (rng_below(rng, 6)) {
    case 0:
        byte = telling[rng_below(rng, sizeof telling)]; /* the NUL too */
        replace(at, left ? rng_below(rng, 2) : 0, &byte, 1);
        break;
    case 1:
        replace(at, left > 0, &byte, 1);
        break;
    case 2:
        replace(at, (size_t)rng_below(rng, (left < MAX_PIECE ? left : MAX_PIECE) + 1), "", 0);
        break;
    case 3: /* a digit for the next digit */
        byte = (char)('0' + rng_below(rng, 10));
        for (size_t i = at; i < n_now; i++)
            if (now[i] >= '0' && now[i] <= '9') {
                now[i] = byte;
                break;
            }
        break;
    default:
        graft(rng, at);
    }
    if (rng_below(rng, 64) == 0)
        n_now = (size_t)rng_below(rng, n_now + 1);
}

static void run_changed(long n_runs, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (long i = 0; i < n_runs; i++) {
        const struct input *from = &inputs[rng_below(&rng, n_inputs)];

        n_now = from->n;
        if (n_now)
            memcpy(now, from->bytes, n_now);
        for (uint64_t k = 1 + rng_below(&rng, MAX_CHANGES); k > 0; k--)
            change(&rng);
        run(seed, i);
    }
}

int main(int argc, char **argv)
{
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    uint64_t seed = 1;
    long n_runs = 0;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-runs=", 6) == 0)
            n_runs = strtol(argv[i] + 6, NULL, 10);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            seed = strtoull(argv[i] + 6, NULL, 10);
        else if (argv[i][0] == '-')
            fuzz_die("%s: expected -runs=N, -seed=N, files and folders", argv[i]);
        else
            take(argv[i]);
    }
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        signal(deadly[i], leave_input);
    for (size_t i = 0; i < n_inputs; i++) {
        n_now = inputs[i].n;
        if (n_now)
            memcpy(now, inputs[i].bytes, n_now);
        run(0, (long)i);
    }
    if (n_runs > 0 && n_inputs == 0)
        fuzz_die("-runs=%ld: expected files to change", n_runs);
    run_changed(n_runs, seed);
    printf("%zu files, %ld changed ones\n", n_inputs, n_runs);
    for (size_t i = 0; i < n_inputs; i++)
        free(inputs[i].bytes);
    return 0;
}
