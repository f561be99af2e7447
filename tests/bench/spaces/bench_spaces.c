/* SPDX-License-Identifier: MIT */
/* bench_spaces.c - how long it takes from a space's JSON text to all its valid configs: bench_spaces [-r N] [-d DIR]
 * FILE.json..
 *
 * One JSON line a file: raw and valid configs; CPU ms of the least of N builds (default 21), from parsed JSON to a set
 * that answers count, i-th, rank and sample; the same from JSON text; from parsed JSON to a list of all configs; ns of
 * one i-th config, one rank, one sample; the set's size. -d: writes the raw indices, ascending, as 64-bit integers to
 * DIR/NAME.u64, for peers.py to compare. */
#include "core/buf.h"
#include "core/file.h"
#include "search_space/space_file.h"
#include "search_space/valid_set.h"

#include <libgen.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_LISTED ((uint64_t)1 << 25)
#define N_QUERIES 100000

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct timing {
    double parse_ms, build_ms, list_ms; /* least: text to JSON, JSON to set, set to list */
    double at_ns, rank_ns, sample_ns;
};

static enum err build(const cJSON *object, struct space **s, struct valid_set **v, struct why *why)
{
    enum err e = space_new(s);

    if (!e)
        e = space_file_add(*s, object, NULL, why);
    if (!e)
        e = space_seal(*s, why);
    return e ? e : valid_set_new(*s, 0, v, why);
}

static void note_least(double *least, double from)
{
    const double ms = cpu_ms() - from;

    *least = ms < *least ? ms : *least;
}

static void time_queries(const struct valid_set *v, struct timing *t)
{
    struct config c = {.choice = {0}};
    uint64_t rank = 0;
    struct rng rng;
    double from;

    rng_init(&rng, 1);
    from = cpu_ms();
    for (int i = 0; i < N_QUERIES; i++)
        (void)valid_set_sample(v, &rng, &c);
    t->sample_ns = (cpu_ms() - from) * 1e6 / N_QUERIES;
    from = cpu_ms();
    for (uint64_t i = 0; i < N_QUERIES; i++)
        (void)valid_set_at(v, i * 7919 % valid_set_count(v), &c);
    t->at_ns = (cpu_ms() - from) * 1e6 / N_QUERIES;
    from = cpu_ms();
    for (int i = 0; i < N_QUERIES; i++)
        (void)valid_set_rank(v, &c, &rank);
    t->rank_ns = (cpu_ms() - from) * 1e6 / N_QUERIES;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static enum err dump(const char *dir, const char *name, uint64_t *indices, uint64_t n, struct why *why)
{
    char path[4096];

    qsort(indices, (size_t)n, sizeof *indices, ascending);
    snprintf(path, sizeof path, "%s/%s.u64", dir, name);
    return file_replace(path, indices, (size_t)n * sizeof *indices, 0644, why);
}

static void print_line(const char *name, const struct space *s, const struct valid_set *v, const struct timing *t)
{
    const struct valid_set_size size = valid_set_size(v);

    printf("{\"space\":\"%s\",\"raw\":%llu,\"valid\":%llu,\"build_ms\":%.4f,\"text_ms\":%.4f,", name,
           (unsigned long long)space_size(s), (unsigned long long)valid_set_count(v), t->build_ms,
           t->parse_ms + t->build_ms);
    if (valid_set_count(v) <= MAX_LISTED)
        printf("\"listed_ms\":%.4f,", t->build_ms + t->list_ms);
    printf("\"at_ns\":%.0f,\"rank_ns\":%.0f,\"sample_ns\":%.0f,\"groups\":%zu,\"nodes\":%zu,"
           "\"edges\":%zu,\"bytes\":%zu}\n",
           t->at_ns, t->rank_ns, t->sample_ns, size.n_groups, size.n_nodes, size.n_edges, size.bytes);
}

/* One build, its list and, the last time, all else. */
static enum err bench_once(const struct buf *text, const char *name, const char *dir, bool is_last, struct timing *t,
                           struct why *why)
{
    struct space *s = NULL;
    struct valid_set *v = NULL;
    cJSON *object = NULL;
    uint64_t *indices = NULL, n = 0;
    double from = cpu_ms();
    enum err e = json_parse(buf_text(text), text->len, &object, why);

    note_least(&t->parse_ms, from);
    from = cpu_ms();
    if (!e)
        e = build(object, &s, &v, why);
    note_least(&t->build_ms, from);
    if (!e) {
        from = cpu_ms();
        n = valid_set_count(v);
        indices = n <= MAX_LISTED ? malloc((size_t)n * sizeof *indices + 1) : NULL;
        if (indices)
            (void)valid_set_list(v, 0, n, indices);
        note_least(&t->list_ms, from);
    }
    if (!e && is_last) {
        if (n > 0)
            time_queries(v, t);
        print_line(name, s, v, t);
        e = dir && indices ? dump(dir, name, indices, n, why) : ERR_OK;
    }
    free(indices);
    valid_set_free(v);
    space_free(s);
    cJSON_Delete(object);
    return e;
}

static enum err bench(const char *path, long repeats, const char *dir, struct why *why)
{
    struct timing t = {.parse_ms = 1e300, .build_ms = 1e300, .list_ms = 1e300};
    char copy[4096], *name;
    struct buf text;
    enum err e;

    snprintf(copy, sizeof copy, "%s", path);
    name = basename(copy);
    name[strcspn(name, ".")] = '\0';
    buf_init(&text, SPACE_FILE_MAX_BYTES);
    e = file_read(path, &text, why);
    for (long i = 0; i < repeats && !e; i++)
        e = bench_once(&text, name, dir, i + 1 == repeats, &t, why);
    buf_fini(&text);
    return e ? why_prefix(why, e, "%s", path) : ERR_OK;
}

int main(int argc, char **argv)
{
    const char *dir = NULL;
    long repeats = 21;

    /* Keep freed memory between builds, as the peers' Python does: else page faults are what is timed. */
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    for (int i = 1; i < argc; i++) {
        struct why why = {""};

        if (strcmp(argv[i], "-r") == 0 && i + 1 < argc) {
            repeats = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc) {
            dir = argv[++i];
        } else if (bench(argv[i], repeats, dir, &why)) {
            fprintf(stderr, "bench_spaces: %s\n", why.text);
            return 1;
        }
    }
    return argc > 1 ? 0 : 1;
}
