/* SPDX-License-Identifier: MIT */
/* bench_logs.c - merging large logs: `bench_logs [LINES [DIR]]` makes two logs of LINES lines in all (default
 * 1,000,000; a sixth of them stands in both), merges them with `tune log merge` and with peers, each in a process of
 * its own, and prints seconds, rate and the process's peak memory. Then the other verbs on the result. */
#include "core/file.h"
#include "core/file_out.h"
#include "core/hash.h"
#include "tests/logs/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAIL_BYTES 22

static void die(const char *words)
{
    fprintf(stderr, "bench_logs: %s\n", words);
    exit(1);
}

/* Appends line i: a whole record, of which id, workload, program, time and ts differ. */
static void put_line(struct file_out *f, const struct record *sample, int64_t i)
{
    char number[32];
    struct record r = *sample;
    struct buf line;

    snprintf(number, sizeof number, "%lld", (long long)i);
    snprintf(r.id, sizeof r.id, "t%s", number);
    snprintf(r.job, sizeof r.job, "j%lld", (long long)(i / 2000));
    r.program = sha256_of(number, strlen(number));
    r.time_ns = 1e6 + (double)((i * 7919) % 1000003);
    r.ts_ms += i * 700;
    buf_init(&line, RECORD_MAX_BYTES);
    if (record_print(&r, &line) || file_out_put(f, line.data, line.len, NULL))
        die("a log could not be written");
    buf_fini(&line);
}

/* A record as large as those of a farm: the device of a PoCL board has some 1,200 bytes. */
static struct record make_sample(void)
{
    struct record r = sample_record("t");
    char extensions[700];

    memset(extensions, 'x', sizeof extensions - 1);
    extensions[sizeof extensions - 1] = '\0';
    if (!cJSON_AddStringToObject(r.device, "extensions", extensions))
        die("out of memory");
    return r;
}

static void make_log(const char *path, int64_t first, int64_t last)
{
    struct record sample = make_sample();
    struct file_out f;

    if (file_out_open(&f, path, 0644, NULL))
        die("a log could not be opened");
    for (int64_t i = first; i < last; i++)
        put_line(&f, &sample, i);
    if (file_out_commit(&f, NULL))
        die("a log could not be written");
    file_out_close(&f);
    record_fini(&sample);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void become(char *const *argv, const char *out)
{
    const int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd >= 0)
        dup2(fd, STDOUT_FILENO);
    setenv("LC_ALL", "C", 1);
    execvp(argv[0], argv);
    _exit(127);
}

/* Runs a contender; its standard output goes to `out`. */
static void time_one(const char *name, char *const *argv, const char *out, double bytes)
{
    const double start = now_s();
    const pid_t pid = fork();
    struct rusage used;
    int status = 0;

    if (pid == 0)
        become(argv, out);
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        die("a contender could not be started");
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        printf("%-34s  %s\n", name, WIFEXITED(status) && WEXITSTATUS(status) == 127 ? "not installed" : "failed");
        return;
    }
    printf("%-34s %8.2f s %8.0f MB/s %8.0f MiB\n", name, now_s() - start, bytes / (now_s() - start) / 1e6,
           (double)used.ru_maxrss / 1024);
    fflush(stdout);
}

static double size_of(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? (double)s.st_size : 0;
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    char dir[PATH_MAX / 2] = "", own[PATH_MAX / 2], tune[PATH_MAX], a[PATH_MAX], b[PATH_MAX], c[PATH_MAX], d[PATH_MAX],
                        sink[PATH_MAX];
    const bool is_quick = argc > 2 && strcmp(argv[2], "quick") == 0;
    double bytes;

    if (n < 6 || dir_temporary("bench-logs", dir, sizeof dir, NULL))
        die("usage: bench_logs [LINES [quick]]; TMPDIR needs some 2.5 KB a line");
    snprintf(own, sizeof own, "%s", getenv("TUNE_BIN_DIR") ? getenv("TUNE_BIN_DIR") : "build/bin");
    snprintf(tune, sizeof tune, "%s/tune", own);
    snprintf(a, sizeof a, "%s/a.jsonl", dir);
    snprintf(b, sizeof b, "%s/b.jsonl", dir);
    snprintf(c, sizeof c, "%s/c.jsonl", dir);
    snprintf(d, sizeof d, "%s/d.jsonl", dir);
    snprintf(sink, sizeof sink, "%s/said", dir);
    make_log(a, 0, n / 2);
    make_log(b, n / 3, n / 3 + n - n / 2);
    bytes = size_of(a) + size_of(b);
    printf("%lld lines, %.0f MB in two logs\n%-34s %10s %13s %12s\n", (long long)n, bytes / 1e6, "", "time", "rate",
           "peak memory");
    {
        char *merge[] = {tune, "log", "merge", a, b, "-o", c, NULL},
             *dedup[] = {tune, "log", "dedup", a, b, "-o", d, NULL};
        char *sort[] = {"sort", "-u", a, b, "-o", d, NULL}, *cat[] = {"cat", a, b, NULL};
        char *python[] = {"python3", TUNE_MERGE_PY, d, a, b, NULL};
        char *check[] = {tune, "log", "check", c, NULL}, *best[] = {tune, "log", "best", c, NULL},
             *compact[] = {tune, "log", "compact", c, "-o", d, NULL};

        time_one("cat a b (what reading costs)", cat, d, bytes);
        time_one("tune log merge a b -o c", merge, sink, bytes);
        time_one("tune log dedup a b -o d", dedup, sink, bytes);
        time_one("sort -u a b -o d", sort, sink, bytes);
        if (!is_quick) {
            time_one("python3 merge.py d a b", python, sink, bytes);
            bytes = size_of(c);
            time_one("tune log check c", check, sink, bytes);
            time_one("tune log best c", best, sink, bytes);
            time_one("tune log compact c -o d", compact, sink, bytes);
        }
    }
    dir_remove(dir);
    return 0;
}
