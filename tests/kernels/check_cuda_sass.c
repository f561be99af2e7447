/* SPDX-License-Identifier: MIT */
/* Machine code against a table of budgets (docs/notes/sass.md). */
#include "tests/kernels/check_cuda.h"

#include "core/file.h"
#include "core/proc.h"
#include "core/temp_dir.h"
#include "core/vec.h"
#include "kernels/build.h"
#include "runtime/cuda_arch.h"
#include "tests/kernels/pool.h"
#include "tests/kernels/sass.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BLOBS ((size_t)1 << 30)
#define MAX_LISTING ((size_t)64 << 20)
#define MAX_S 300
#define N_COLUMNS 11
#define TEXT_BYTES 200
#define OLDER 75 /* before it: CUDA 12's tools */

/* A row of the table, for one architecture. Numbers below 0: nothing is asked. */
struct budget {
    char template_id[TEXT_BYTES], workload[TEXT_BYTES], config[TEXT_BYTES];
    int sm;
    int registers, spill_bytes;
    int math_percent;  /* of the loop, at the least */
    int a_copy;        /* instructions for one fetch, at the most */
    int ahead_percent; /* of products between the last fetch and the write that waits for it, at the least */
    int copy_bytes, store_bytes;
};

/* What was found, kept between runs. */
struct found {
    struct sass_counts counts;
    int registers, spill_bytes;
};

struct job {
    struct budget budget;
    struct program p;
    const char *nvrtc;
    char key[CHECK_KEY_BYTES];
    char found[240]; /* what work() answered, now or earlier; "" */
    char words[240]; /* why there is none; "" */
};

struct budgets {
    const struct check_sass *options;
    struct job *jobs;
    size_t cap, n, n_older; /* of them; left out, as nothing here compiles for them or reads it */
    size_t *missing;        /* jobs to compile */
    struct blobs blobs;
    struct temp_dir temp;
};

/* Multiprocessors of a device of this architecture, which defaults depend on. */
static int units_of(int sm)
{
    return sm == 61 ? 20 : sm == 75 ? 68 : sm == 80 ? 108 : sm == 86 ? 84 : sm == 89 ? 128 : sm >= 90 ? 132 : 28;
}

/* Cuts "| a | b |" into its cells; false for a line with another number of them. */
static bool read_cells(const char *line, size_t n, char cells[N_COLUMNS][TEXT_BYTES])
{
    int i_cell = -1;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (line[i] == '|') {
            if (i_cell >= 0 && i_cell < N_COLUMNS)
                cells[i_cell][at > 0 && cells[i_cell][at - 1] == ' ' ? at - 1 : at] = '\0';
            i_cell++;
            at = 0;
        } else if (i_cell >= 0 && i_cell < N_COLUMNS && at + 1 < TEXT_BYTES && (at > 0 || line[i] != ' ')) {
            cells[i_cell][at++] = line[i];
        }
    }
    return i_cell == N_COLUMNS;
}

static int number_of(const char *cell)
{
    return cell[0] == '-' ? -1 : atoi(cell);
}

/* The program of a budget, its overrides ("mt=128 wn=2") put over the default config. */
static enum err make_program(const struct budget *b, struct blobs *blobs, struct program *p, struct why *why)
{
    const struct template *t = template_find(b->template_id);
    struct workload w;
    struct device_desc d;
    struct space *s = NULL;
    struct config c;
    enum err e;
    char list[TEXT_BYTES], *rest = list;

    cuda_arch_describe(cuda_arch_find(b->sm), units_of(b->sm), &d);
    e = t ? workload_parse(b->workload, &w, why) : why_set(why, ERR_INPUT, "no template %s", b->template_id);
    if (!e && t->fit(&w, &d, why) == FIT_NONE)
        e = ERR_UNSUPPORTED;
    if (!e)
        e = template_space(t, &w, &d, &s, why);
    if (!e)
        e = t->fallback(&w, &d, s, &c);
    snprintf(list, sizeof list, "%s", strcmp(b->config, "default") == 0 ? "" : b->config);
    for (char *word; !e && (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');

        if (!value || (*value = '\0', space_find_knob(s, word) < 0))
            e = why_set(why, ERR_INPUT, "%s is no knob", word);
        else
            build_choose(s, (const struct build_define[]){{word, atoi(value + 1)}, {NULL, 0}}, &c);
    }
    if (!e && !space_is_valid(s, &c, NULL))
        e = why_set(why, ERR_INPUT, "the config is not valid");
    if (!e)
        e = template_kernels(t, &w, &d, s, &c, p, blobs, why);
    space_free(s);
    return e;
}

/* A job of one row and architecture; one that no compiler here makes code for is left out. */
static void add_job(struct budgets *g, const struct budget *b)
{
    struct job *job;
    const struct nvrtc *nvrtc = NULL;
    struct why why = {""};
    char name[NVRTC_NAME_BYTES];

    if (!strstr(b->template_id, g->options->only) || !cuda_arch_find(b->sm))
        return;
    for (int i = 0; i < g->options->n_nvrtcs && !nvrtc; i++)
        if (!nvrtc_supports(g->options->nvrtcs[i], b->sm, NULL))
            nvrtc = g->options->nvrtcs[i];
    if (!nvrtc || (b->sm < OLDER && !g->options->older)) {
        g->n_older += b->sm < OLDER;
        return;
    }
    if (VEC_ROOM(g->jobs, g->cap, g->n + 1, VEC_ANY))
        abort();
    job = &g->jobs[g->n];
    *job = (struct job){.budget = *b, .nvrtc = nvrtc_path(nvrtc)};
    if (make_program(b, &g->blobs, &job->p, &why))
        snprintf(job->words, sizeof job->words, "no program: %.200s", why.text[0] ? why.text : "no words");
    if (!job->words[0]) {
        nvrtc_cache_name(&job->p.modules[0], b->sm, name);
        snprintf(job->key, sizeof job->key, "%s-%d-s%.15s", name, nvrtc_version(nvrtc), check_compiling);
    }
    g->n++;
}

static void add_row(struct budgets *g, char cells[N_COLUMNS][TEXT_BYTES])
{
    struct budget b = {.registers = number_of(cells[4]),
                       .spill_bytes = number_of(cells[5]),
                       .math_percent = number_of(cells[6]),
                       .a_copy = number_of(cells[7]),
                       .ahead_percent = number_of(cells[8]),
                       .copy_bytes = number_of(cells[9]),
                       .store_bytes = number_of(cells[10])};
    char *rest = cells[3];

    memcpy(b.template_id, cells[0], TEXT_BYTES);
    memcpy(b.workload, cells[1], TEXT_BYTES);
    memcpy(b.config, cells[2], TEXT_BYTES);
    for (char *sm; (sm = strtok_r(rest, " ", &rest));) {
        b.sm = atoi(sm);
        add_job(g, &b);
    }
}

static enum err read_table(struct budgets *g, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, 1 << 20);
    e = file_read(g->options->table, &text, why);
    for (const char *at = buf_text(&text); !e && *at;) {
        const size_t n = strcspn(at, "\n");
        char cells[N_COLUMNS][TEXT_BYTES] = {""};

        if (at[0] == '|' && read_cells(at, n, cells) && strchr(cells[0], '/'))
            add_row(g, cells);
        at += n + (at[n] == '\n');
    }
    buf_fini(&text);
    return e;
}

/* A layer's default, of which nothing is asked, on each architecture where the template is searched. */
static void add_layer(const char *template_id, const char *workload, void *arg)
{
    struct budgets *g = arg;
    struct budget b = {.config = "default",
                       .registers = -1,
                       .spill_bytes = -1,
                       .math_percent = -1,
                       .a_copy = -1,
                       .ahead_percent = -1,
                       .copy_bytes = -1,
                       .store_bytes = -1};

    snprintf(b.template_id, sizeof b.template_id, "%s", template_id);
    snprintf(b.workload, sizeof b.workload, "%s", workload);
    for (int i = 0; i < g->options->n_sms; i++) {
        const struct template *t = template_find(template_id);
        struct device_desc d;
        struct workload w;

        b.sm = g->options->sms[i];
        cuda_arch_describe(cuda_arch_find(b.sm), units_of(b.sm), &d);
        if (!workload_parse(workload, &w, NULL) && t->fit(&w, &d, NULL) > FIT_BASELINE)
            add_job(g, &b);
    }
}

/* Runs the disassembler over a cubin. */
static enum err disassemble(const struct budgets *g, size_t i, const struct buf *cubin, struct buf *listing,
                            struct why *why)
{
    char in[PATH_MAX + 32], out[PATH_MAX + 32];
    const char *tool = g->jobs[i].budget.sm < OLDER ? g->options->older : g->options->nvdisasm;
    const char *const argv[] = {tool, "-c", in, NULL};
    struct proc_options options = {.argv = argv, .in_fd = -1, .err_fd = 2, .pass_fd = -1};
    int status = 0;
    pid_t pid;
    enum err e;

    snprintf(in, sizeof in, "%s/%zu.cubin", g->temp.path, i);
    snprintf(out, sizeof out, "%s/%zu.sass", g->temp.path, i);
    e = file_replace(in, cubin->data, cubin->len, 0644, why);
    options.out_fd = e ? -1 : open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (!e && options.out_fd < 0)
        e = why_set(why, ERR_IO, "%s: cannot be written", out);
    if (!e)
        e = proc_start(&options, &pid, why);
    if (options.out_fd >= 0)
        (void)close(options.out_fd);
    if (!e)
        e = proc_wait(pid, -1, &status);
    if (!e && status != 0)
        e = why_set(why, ERR_IO, "%s: status %d", tool, status);
    return e ? e : file_read(out, listing, why);
}

static enum err find_out(const struct budgets *g, size_t i, struct found *out, struct why *why)
{
    const struct job *job = &g->jobs[i];
    struct nvrtc *nvrtc = NULL;
    struct nvrtc_built built = {.log = NULL};
    struct buf listing;
    enum err e = nvrtc_open(job->nvrtc, &nvrtc, why);

    buf_init(&listing, MAX_LISTING);
    if (!e)
        e = nvrtc_build(nvrtc, &job->p.modules[0], &g->blobs, job->budget.sm, false, &built, why);
    if (!e)
        e = disassemble(g, i, &built.code, &listing, why);
    if (!e)
        e = sass_count(buf_text(&listing), &out->counts, why);
    for (size_t k = 0; !e && k < built.n_resources; k++)
        if (strcmp(built.resources[k].kernel, out->counts.kernel) == 0) {
            out->registers = built.resources[k].registers;
            out->spill_bytes = built.resources[k].spill_bytes;
        }
    buf_fini(&listing);
    if (nvrtc)
        nvrtc_built_fini(&built);
    nvrtc_close(nvrtc);
    return e;
}

static bool read_found(const char *text, struct found *f)
{
    struct sass_counts *c = &f->counts;

    return sscanf(text, "sass %63s %d %d %d %d %d %d %d %d %d", c->kernel, &c->n_loop, &c->n_math, &c->n_copies,
                  &c->n_copying, &c->ahead_percent, &c->copy_bytes, &c->store_bytes, &f->registers,
                  &f->spill_bytes) == 10;
}

static void work(size_t i, struct buf *answer, void *arg)
{
    const struct budgets *g = arg;
    struct found f = {.registers = 0};
    const struct sass_counts *c = &f.counts;
    struct why why = {""};

    if (find_out(g, g->missing[i], &f, &why))
        (void)buf_printf(answer, "%s", why.text);
    else
        (void)buf_printf(answer, "sass %s %d %d %d %d %d %d %d %d %d", c->kernel, c->n_loop, c->n_math, c->n_copies,
                         c->n_copying, c->ahead_percent, c->copy_bytes, c->store_bytes, f.registers, f.spill_bytes);
}

/* Compiles what is not kept; answers go to the verdicts, words of failures to their jobs. */
static enum err find_missing(struct budgets *g, const struct verdicts *kept, struct why *why)
{
    struct pool pool = {0, g->options->n_processes, MAX_S, NULL, work, g};
    struct pool_result *results = calloc(g->n + 1, sizeof *results);
    enum err e;

    g->missing = calloc(g->n + 1, sizeof *g->missing);
    if (!results || !g->missing) {
        free(results);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < g->n; i++) {
        const char *text = g->jobs[i].words[0] ? NULL : verdicts_find(kept, g->jobs[i].key);

        if (text)
            snprintf(g->jobs[i].found, sizeof g->jobs[i].found, "%.239s", text);
        else if (!g->jobs[i].words[0])
            g->missing[pool.n_items++] = i;
    }
    e = pool.n_items ? temp_dir_open(&g->temp, "tune-sass", why) : ERR_OK;
    if (!e && pool.n_items)
        e = pool_run(&pool, results, why);
    for (size_t i = 0; !e && i < pool.n_items; i++) {
        struct job *job = &g->jobs[g->missing[i]];
        const char *answer = results[i].answer ? results[i].answer : "the compiler died";

        const bool good = strncmp(answer, "sass ", 5) == 0;

        snprintf(good ? job->found : job->words, sizeof job->words, "%.239s", answer);
        if (good)
            (void)verdicts_keep(kept, job->key, answer);
    }
    pool_results_free(results, pool.n_items);
    temp_dir_close(&g->temp);
    return e;
}

/* One number against its budget; tells what fails. */
static bool within(const struct budget *b, const char *what, int value, int budget, bool at_least)
{
    const bool good = budget < 0 || (at_least ? value >= budget : value <= budget);

    if (!good)
        printf("FAILED sass: %s | %s | %s | sm_%d: %s %d, the budget is %s %d\n", b->template_id, b->workload,
               b->config, b->sm, what, value, at_least ? "at least" : "at most", budget);
    return good;
}

static int percent_of(const struct sass_counts *c)
{
    return c->n_loop ? 100 * c->n_math / c->n_loop : 0;
}

static int a_copy_of(const struct sass_counts *c)
{
    return c->n_copies ? (c->n_copying + c->n_copies - 1) / c->n_copies : 0;
}

static bool judge(const struct budgets *g, const struct budget *b, const struct found *f)
{
    const struct sass_counts *c = &f->counts;
    const int percent = percent_of(c), a_copy = a_copy_of(c);
    bool good = within(b, "registers", f->registers, b->registers, false);

    good &= within(b, "spilled bytes", f->spill_bytes, b->spill_bytes, false);
    good &= within(b, "percent of the loop that are products", percent, b->math_percent, true);
    good &= within(b, "instructions a copy", a_copy, b->a_copy, false);
    good &= within(b, "percent of products between fetch and write", c->ahead_percent, b->ahead_percent, true);
    good &= within(b, "bytes of a copy", c->copy_bytes, b->copy_bytes, true);
    good &= within(b, "bytes of a store", c->store_bytes, b->store_bytes, true);
    if (g->options->shows)
        printf("| %s | %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %s %d / %d\n", b->template_id, b->workload,
               b->config, b->sm, f->registers, f->spill_bytes, percent, a_copy, c->ahead_percent, c->copy_bytes,
               c->store_bytes, c->kernel, c->n_math, c->n_loop);
    return good;
}

/* The rows of one template, type, layout and architecture. */
struct kind {
    char name[2 * TEXT_BYTES];
    int n, n_spilling, most_spilled, most_registers, n_copying;
    int *math, *a_copy, *ahead; /* sorted when they are told; of those with copies the last two */
};

static void kind_of(const struct budget *b, char *out, size_t n)
{
    const char *dtype = strchr(b->workload, ' '), *layout = strstr(b->workload, "layout=");

    snprintf(out, n, "%s |%.*s%s%.*s | %d", b->template_id, (int)strcspn(dtype + 1, " ") + 1, dtype, layout ? " " : "",
             layout ? (int)strcspn(layout + 7, " ") : 0, layout ? layout + 7 : "", b->sm);
}

static int compare(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

static void tell_kind(struct kind *k)
{
    qsort(k->math, (size_t)k->n, sizeof *k->math, compare);
    qsort(k->a_copy, (size_t)k->n_copying, sizeof *k->a_copy, compare);
    qsort(k->ahead, (size_t)k->n_copying, sizeof *k->ahead, compare);
    printf("| %s | %d | %d | %d | %d | %d %d %d", k->name, k->n, k->most_registers, k->n_spilling, k->most_spilled,
           k->math[0], k->math[k->n / 2], k->math[k->n - 1]);
    if (k->n_copying)
        printf(" | %d %d | %d %d |\n", k->a_copy[k->n_copying / 2], k->a_copy[k->n_copying - 1], k->ahead[0],
               k->ahead[k->n_copying / 2]);
    else
        printf(" | - | - |\n");
}

/* Rows whose numbers were found, a line for each kind. */
static void sum_up(const struct budgets *g)
{
    struct kind k = {.math = calloc(3 * g->n + 1, sizeof *k.math)};
    bool *told = calloc(g->n + 1, sizeof *told);

    if (!k.math || !told)
        abort();
    k.a_copy = k.math + g->n;
    k.ahead = k.a_copy + g->n;
    printf("| template | type | sm | layers | registers, most | spilling | bytes, most | math: least, median, most | a "
           "copy: median, most | ahead: least, median |\n");
    for (size_t first = 0; first < g->n; first++) {
        if (told[first])
            continue;
        k = (struct kind){.math = k.math, .a_copy = k.a_copy, .ahead = k.ahead};
        kind_of(&g->jobs[first].budget, k.name, sizeof k.name);
        for (size_t i = first; i < g->n; i++) {
            char name[sizeof k.name];
            struct found f;

            kind_of(&g->jobs[i].budget, name, sizeof name);
            if (told[i] || strcmp(name, k.name) != 0)
                continue;
            told[i] = true;
            if (!read_found(g->jobs[i].found, &f))
                continue;
            k.math[k.n++] = percent_of(&f.counts);
            k.n_spilling += f.spill_bytes > 0;
            k.most_spilled = f.spill_bytes > k.most_spilled ? f.spill_bytes : k.most_spilled;
            k.most_registers = f.registers > k.most_registers ? f.registers : k.most_registers;
            if (f.counts.n_copies) {
                k.a_copy[k.n_copying] = a_copy_of(&f.counts);
                k.ahead[k.n_copying++] = f.counts.ahead_percent;
            }
        }
        if (k.n)
            tell_kind(&k);
    }
    free(k.math);
    free(told);
}

enum err check_sass(const struct check_sass *options, const struct verdicts *kept, int *n_passed, int *n_failed,
                    struct why *why)
{
    struct budgets g = {.options = options, .temp = {.path = ""}};
    int passed = 0;
    enum err e;

    blobs_init(&g.blobs, MAX_BLOBS);
    e = options->n_sms ? check_layers(add_layer, &g, why) : read_table(&g, why);
    if (!e)
        e = find_missing(&g, kept, why);
    for (size_t i = 0; !e && i < g.n; i++) {
        const struct job *job = &g.jobs[i];
        struct found f;

        if (read_found(job->found, &f))
            passed += judge(&g, &job->budget, &f);
        else
            printf("FAILED sass: %s | %s | %s | sm_%d: %s\n", job->budget.template_id, job->budget.workload,
                   job->budget.config, job->budget.sm, job->words);
    }
    if (!e && options->n_sms)
        sum_up(&g);
    if (!e)
        printf("sass: %d of %zu within their budgets\n", passed, g.n);
    if (!e && g.n_older)
        printf("sass: %zu left out: before sm_75 it takes NVRTC and nvdisasm of CUDA 12 (scripts/install_deps.sh "
               "--nvrtc12 "
               "--nvdisasm12)\n",
               g.n_older);
    *n_passed += passed;
    *n_failed += (int)g.n - passed;
    for (size_t i = 0; g.jobs && i < g.n; i++)
        program_fini(&g.jobs[i].p);
    free(g.missing);
    free(g.jobs);
    blobs_fini(&g.blobs);
    return e;
}
