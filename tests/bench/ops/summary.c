/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/summary.h"

#include "core/file.h"
#include "core/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 8192
#define MAX_FILE_BYTES ((size_t)64 << 20)

struct line {
    cJSON *tree;
    const char *workload, *contender, *layouts, *template, *how, *numerics;
    bool ours, right, gpu;
    double ms, gflops, of_peak, of_read;
    int64_t threads;
};

struct lines {
    struct line *all;
    size_t n;
};

/* The figures of one workload that the table shows; NULL = there is none. */
struct row {
    const char *workload;
    int64_t threads;
    const struct line *plain, *blocked;           /* ours */
    const struct line *peer_plain, *peer_blocked; /* the fastest */
    const struct line *fallback, *naive, *clblast, *csr, *dense, *dense_winograd, *sparse_peer;
    bool gpu;
};

static enum err read_line(const char *text, size_t n, struct line *l, struct why *why)
{
    enum err e = json_parse(text, n, &l->tree, why);

    if (!e)
        e = json_get_text(l->tree, "workload", &l->workload, why);
    if (!e)
        e = json_get_text(l->tree, "contender", &l->contender, why);
    if (!e)
        e = json_get_text(l->tree, "layouts", &l->layouts, why);
    if (!e)
        e = json_get_text(l->tree, "template", &l->template, why);
    if (!e)
        e = json_get_text(l->tree, "how", &l->how, why);
    if (!e)
        e = json_get_text(l->tree, "numerics", &l->numerics, why);
    if (!e)
        e = json_get_bool(l->tree, "ours", &l->ours, why);
    if (!e)
        e = json_get_bool(l->tree, "right", &l->right, why);
    if (!e)
        e = json_bool_or(l->tree, "gpu", false, &l->gpu, why);
    if (!e)
        e = json_get_i64(l->tree, "threads", 1, 1024, &l->threads, why);
    if (!e)
        e = json_real_or(l->tree, "ms", 0, &l->ms, why);
    if (!e)
        e = json_real_or(l->tree, "gflops", 0, &l->gflops, why);
    if (!e)
        e = json_real_or(l->tree, "of_peak", 0, &l->of_peak, why);
    return e ? e : json_real_or(l->tree, "of_read", 0, &l->of_read, why);
}

static bool same(const struct line *a, const struct line *b)
{
    return a->threads == b->threads && strcmp(a->workload, b->workload) == 0 && strcmp(a->contender, b->contender) == 0;
}

static void add(struct lines *to, struct line *l)
{
    for (size_t i = 0; i < to->n; i++)
        if (same(&to->all[i], l)) {
            cJSON_Delete(to->all[i].tree);
            to->all[i] = *l;
            return;
        }
    to->all[to->n++] = *l;
}

static enum err read_lines(const char *file, struct lines *to, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, MAX_FILE_BYTES);
    e = file_read(file, &text, why);
    for (const char *at = buf_text(&text); !e && *at;) {
        const size_t n = strcspn(at, "\n");
        struct line l = {0};

        if (to->n == MAX_LINES)
            e = why_set(why, ERR_LIMIT, "more than %d lines", MAX_LINES);
        if (!e && n)
            e = read_line(at, n, &l, why);
        if (!e && n)
            add(to, &l);
        else
            cJSON_Delete(l.tree);
        at += n + (at[n] == '\n');
    }
    buf_fini(&text);
    return e ? why_prefix(why, e, "%s", file) : ERR_OK;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    const size_t n = strlen(text), n_with = strlen(with);

    return n >= n_with && strcmp(text + n - n_with, with) == 0;
}

static void keep_fastest(const struct line **best, const struct line *l)
{
    if (!*best || l->ms < (*best)->ms)
        *best = l;
}

/* Tuned beats default, whatever the times: the table tells what tuning gives. */
static void keep_ours(const struct line **best, const struct line *l)
{
    const bool tuned = strcmp(l->how, "default") != 0, best_tuned = *best && strcmp((*best)->how, "default") != 0;

    if (!*best || (tuned && !best_tuned) || (tuned == best_tuned && l->ms < (*best)->ms))
        *best = l;
}

/* Where does one line stand in its workload's row? */
static void place(struct row *r, const struct line *l)
{
    const bool plain = strcmp(l->layouts, "plain") == 0, blocked = strcmp(l->layouts, "blocked") == 0;
    const char *blank = strchr(l->workload, ' ');
    const size_t n_operator = blank ? (size_t)(blank - l->workload) : 0;

    if (!l->right || l->ms <= 0)
        return;
    if (l->ours && (strncmp(l->template, l->workload, n_operator) != 0 || l->template[n_operator] != '/')) {
        keep_fastest(strstr(l->numerics, "winograd") ? &r->dense_winograd : &r->dense, l);
    } else if (l->ours && ends(l->template, "/naive")) {
        keep_fastest(&r->naive, l);
    } else if (l->ours) {
        keep_ours(plain ? &r->plain : &r->blocked, l);
        if (strcmp(l->how, "default") == 0)
            keep_fastest(&r->fallback, l);
    } else if (begins(l->contender, "CLBlast")) {
        keep_fastest(&r->clblast, l);
    } else if (begins(l->contender, "CSR")) {
        keep_fastest(&r->csr, l);
    } else if (plain) {
        if (begins(l->contender, "cuSPARSE"))
            keep_fastest(&r->sparse_peer, l);
        keep_fastest(&r->peer_plain, l);
    } else if (blocked) {
        keep_fastest(&r->peer_blocked, l);
    }
}

static struct row make_row(const struct lines *lines, const struct line *first)
{
    struct row r = {.workload = first->workload, .threads = first->threads, .gpu = first->gpu};

    for (size_t i = 0; i < lines->n; i++)
        if (lines->all[i].threads == r.threads && strcmp(lines->all[i].workload, r.workload) == 0)
            place(&r, &lines->all[i]);
    return r;
}

/* How many times faster `a` is than `b`; 0 when one is missing. */
static double ratio(const struct line *a, const struct line *b)
{
    return a && b ? b->ms / a->ms : 0;
}

/* Ours in the layout that it likes: in channel blocks where the operator has them. */
static const struct line *packed(const struct row *r)
{
    return r->blocked ? r->blocked : r->plain;
}

static const struct line *best_of(const struct row *r)
{
    const struct line *p = packed(r);

    return r->plain && p && r->plain->ms < p->ms ? r->plain : p;
}

static void print_ours(FILE *to, const struct line *l)
{
    if (!l) {
        fprintf(to, " - | - | - |");
        return;
    }
    fprintf(to, " %s%s%s%s%s | %.3f | ", strchr(l->template, '/') ? strchr(l->template, '/') + 1 : l->template,
            strcmp(l->how, "default") == 0 ? " (default)" : "", strstr(l->numerics, "winograd") ? " **" : "",
            strstr(l->numerics, "winograd") ? l->numerics : "", strstr(l->numerics, "winograd") ? "**" : "", l->ms);
    if (l->of_read > 0 && l->gflops < 30)
        fprintf(to, "%.0f %% of reading |", 100 * l->of_read);
    else
        fprintf(to, "%.0f %% |", 100 * l->of_peak);
}

static void print_ratio(FILE *to, double x)
{
    if (x > 0)
        fprintf(to, " %.2f |", x);
    else
        fprintf(to, " - |");
}

static void print_row(FILE *to, const struct row *r)
{
    fprintf(to, "| `%s` |", r->workload);
    print_ours(to, packed(r));
    print_ratio(to, ratio(packed(r), r->peer_blocked));
    print_ours(to, r->plain);
    fprintf(to, " %s |", r->peer_plain ? r->peer_plain->contender : "-");
    print_ratio(to, ratio(r->plain, r->peer_plain));
    print_ratio(to, ratio(r->fallback, r->naive));
    print_ratio(to, ratio(best_of(r), r->clblast));
    if (r->dense || r->csr) {
        print_ratio(to, ratio(best_of(r), r->dense));
        print_ratio(to, ratio(best_of(r), r->dense_winograd));
        print_ratio(to, ratio(best_of(r), r->csr));
    }
    fprintf(to, "\n");
}

/* Geometric mean and least of ratios; ratios of 0 do not count. */
struct mean {
    double sum, least;
    int n;
};

static void mean_add(struct mean *m, double x)
{
    if (x <= 0)
        return;
    m->sum += log(x);
    m->least = m->n && m->least < x ? m->least : x;
    m->n++;
}

static void print_mean(FILE *to, const char *name, const struct mean *m)
{
    if (m->n)
        fprintf(to, " %s %.2f (%d rows, least %.2f)", name, exp(m->sum / m->n), m->n, m->least);
}

/* "1.07", or "-" when there is nothing to take a mean of. */
static const char *mean_text(const struct mean *m, char out[32])
{
    if (m->n)
        snprintf(out, 32, "%.2f", exp(m->sum / m->n));
    else
        snprintf(out, 32, "-");
    return out;
}

/* f32 convolutions and products that memory does not bound: what the aims count. */
static bool counts(const struct row *r)
{
    return begins(r->workload, "conv2d f32 ") || (begins(r->workload, "dense f32 ") && !strstr(r->workload, " m=1 "));
}

static void print_means(FILE *to, const struct row *rows, size_t n)
{
    char texts[2][32];
    struct mean all = {0}, plain = {0}, direct = {0}, winograd = {0}, fallback = {0}, clblast = {0};

    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        const struct line *p = packed(r);

        mean_add(&fallback, ratio(r->fallback, r->naive));
        mean_add(&clblast, ratio(best_of(r), r->clblast));
        if (!counts(r) || !p)
            continue;
        mean_add(&all, ratio(p, r->peer_blocked));
        mean_add(strstr(p->numerics, "winograd") ? &winograd : &direct, ratio(p, r->peer_blocked));
        mean_add(&plain, ratio(r->plain, r->peer_plain));
    }
    if (all.n || plain.n) {
        fprintf(to, "of f32 convolutions and products:");
        print_mean(to, "direct", &direct);
        print_mean(to, "Winograd", &winograd);
        print_mean(to, "plain", &plain);
        fprintf(to, "\n");
    }
    if (fallback.n || clblast.n) {
        fprintf(to, "of all rows:");
        print_mean(to, "default / naive", &fallback);
        print_mean(to, "best / CLBlast", &clblast);
        fprintf(to, "\n");
    }
    fprintf(to, "geomean: packed %s plain %s\n", mean_text(&all, texts[0]), mean_text(&plain, texts[1]));
}

static size_t collect(const struct lines *lines, int64_t threads, struct row *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < lines->n; i++) {
        bool known = lines->all[i].threads != threads;

        for (size_t j = 0; j < n && !known; j++)
            known = strcmp(rows[j].workload, lines->all[i].workload) == 0;
        if (!known)
            rows[n++] = make_row(lines, &lines->all[i]);
    }
    return n;
}

/* What NVIDIA's libraries were given, and in which of its forms the fastest kernel of ours is. */
static void print_gpu_row(FILE *to, const struct row *r)
{
    const struct line *ours = best_of(r), *peer = r->peer_plain;

    if (r->peer_blocked && (!peer || r->peer_blocked->ms < peer->ms))
        peer = r->peer_blocked;
    fprintf(to, "| `%s` |", r->workload);
    if (ours)
        fprintf(to, " %s%s%s | %.4f | %.1f |", ours->template, *ours->numerics ? " " : "", ours->numerics, ours->ms,
                ours->gflops / 1000);
    else
        fprintf(to, " - | - | - |");
    fprintf(to, " %s |", peer ? peer->contender : "-");
    print_ratio(to, ratio(ours, peer));
    print_ratio(to, ratio(ours, r->sparse_peer));
    print_ratio(to, ratio(ours, r->dense));
    print_ratio(to, ratio(ours, r->fallback));
    fprintf(to, "\n");
}

static void print_gpu_table(FILE *to, const struct row *rows, size_t n)
{
    struct mean all = {0};

    fprintf(to, "Ours, the fastest of its layouts, against the fastest of cuDNN, cuBLAS and cuSPARSE in any layout. "
                "Ratios over 1: "
                "ours is faster.\n\n"
                "| workload | ours | ms | TFLOPS | best peer | x it | x cuSPARSE | x our dense | x our default |\n"
                "|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        const struct line *ours = best_of(&rows[i]);
        const double plain = ratio(ours, rows[i].peer_plain), blocked = ratio(ours, rows[i].peer_blocked);

        print_gpu_row(to, &rows[i]);
        mean_add(&all, blocked > 0 && (plain <= 0 || blocked < plain) ? blocked : plain);
    }
    fprintf(to, "\nbeside the best peer:");
    print_mean(to, "geomean", &all);
    fprintf(to, "\n");
}

static enum err print_table(const struct lines *lines, int64_t threads, FILE *to)
{
    struct row *rows = calloc(lines->n + 1, sizeof *rows);
    const size_t n = rows ? collect(lines, threads, rows) : 0;

    if (!rows)
        return ERR_NOMEM;
    if (n && rows[0].gpu) {
        print_gpu_table(to, rows, n);
        free(rows);
        return ERR_OK;
    }
    fprintf(
        to,
        "%d thread%s. Packed: ours in channel blocks (products: as they are) against oneDNN in its own layouts; plain: "
        "nchw in "
        "and out against the best of oneDNN, onnxruntime and OpenBLAS. Ratios over 1: ours is faster.\n\n"
        "| workload | packed | ms | of peak | x oneDNN blocked | plain | ms | of peak | best plain peer | x it | "
        "default / naive | "
        "best / CLBlast | sparse: x our dense | x our Winograd | x CSR "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        (int)threads, threads == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++)
        print_row(to, &rows[i]);
    fprintf(to, "\n");
    print_means(to, rows, n);
    free(rows);
    return ERR_OK;
}

enum err summary_print(const char *const *files, int n_files, FILE *to, struct why *why)
{
    struct lines lines = {calloc(MAX_LINES, sizeof *lines.all), 0};
    enum err e = lines.all ? ERR_OK : ERR_NOMEM;

    for (int i = 0; !e && i < n_files; i++)
        e = read_lines(files[i], &lines, why);
    for (int64_t threads = 1; !e && threads <= 1024; threads++)
        for (size_t i = 0; i < lines.n; i++)
            if (lines.all[i].threads == threads) {
                e = print_table(&lines, threads, to);
                break;
            }
    for (size_t i = 0; i < lines.n; i++)
        cJSON_Delete(lines.all[i].tree);
    free(lines.all);
    return e;
}
