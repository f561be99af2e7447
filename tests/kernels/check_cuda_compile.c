/* SPDX-License-Identifier: MIT */
/* Compiles every template in every type for CUDA architectures without a device, and holds what the compiler says of
 * each kernel against what the space and the program said: shared memory, registers, sizes of groups and grids.
 * scripts/check_cuda_compile.sh finds the compilers and says how to run it. */
#include "tests/kernels/check_cuda.h"

#include "core/cli.h"
#include "core/clock.h"
#include "kernels/build.h"
#include "runtime/cuda_arch.h"
#include "tests/kernels/sample.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNITS 40 /* multiprocessors of the devices that are not there */
#define MAX_ARCHS 32
#define MAX_NVRTCS 4
#define MAX_TOLD 3 /* failures of one template that are written out */

static const struct cli_option options[] = {
    {.name = "nvrtc", .kind = CLI_TEXT, .argument = "PATH", .help = "another NVRTC beside the default one; repeatable"},
    {.name = "sm",
     .kind = CLI_TEXT,
     .argument = "LIST",
     .otherwise = "52,53,61,62,70,75,80,86,90,100,120",
     .help = "architectures"},
    {.name = "only", .kind = CLI_TEXT, .argument = "TEXT", .otherwise = "", .help = "templates whose id contains this"},
    {.name = "configs",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "20",
     .max = 1000,
     .help = "random configs of a template, type and architecture"},
    {.name = "quick",
     .kind = CLI_FLAG,
     .help = "of each template and type one config on one architecture, as the seed has it"},
    {.name = "seed",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "1",
     .environment = "TUNE_TEST_SEED",
     .max = UINT32_MAX,
     .help = "of the configs"},
    {.name = "jobs",
     .letter = 'j',
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "2",
     .min = 1,
     .max = 64,
     .help = "compilers at a time"},
    {.name = "keep",
     .kind = CLI_TEXT,
     .argument = "DIR",
     .otherwise = "",
     .help = "where good results are kept, if not with the other verdicts"},
    {.name = "kernel-dir",
     .kind = CLI_TEXT,
     .argument = "DIR",
     .help = "kernel texts from there instead of the built-in ones"},
    {.name = "lie",
     .kind = CLI_FLAG,
     .help = "a seeded bug: programs claim 16 bytes of shared memory more; all must fail"},
    {.name = "table",
     .kind = CLI_TEXT,
     .argument = "FILE",
     .otherwise = "",
     .help = "writes a line for each kernel: registers, spills, bytes"},
    {.name = "sass", .kind = CLI_TEXT, .argument = "FILE", .help = "budgets of machine code; wants --nvdisasm"},
    {.name = "nvdisasm", .kind = CLI_TEXT, .argument = "PATH", .help = "NVIDIA's disassembler"},
    {.name = "nvdisasm12", .kind = CLI_TEXT, .argument = "PATH", .help = "and CUDA 12's, for what is older than sm_75"},
    {.name = "budget", .kind = CLI_FLAG, .help = "machine code alone, each row of the table as it is now"},
    {.name = "networks",
     .kind = CLI_FLAG,
     .help = "machine code alone, of the defaults of all layers of the networks at batch 1 and 16"},
    {0},
};

struct compiler {
    const char *path;
    struct nvrtc *nvrtc;
};

struct check {
    struct cli cli;
    struct compiler compilers[MAX_NVRTCS];
    int n_compilers;
    int sms[MAX_ARCHS], of[MAX_ARCHS]; /* architectures, and their compiler */
    int n_sms;
    struct check_results results;
    struct coverage coverage;
    FILE *table;
    int n_of[MAX_ARCHS]; /* configs drawn for each architecture */
    int n_passed, n_failed, n_compiled;
};

/* Of one template in one type. */
struct tally {
    int n, n_failed, most_registers, n_spilling;
    int most_shared;
};

static void key_of(const struct check *c, const struct program_module *m, int sm, int compiler, char *out)
{
    char name[NVRTC_NAME_BYTES];

    nvrtc_cache_name(m, sm, name);
    snprintf(out, CHECK_KEY_BYTES, "%s-%d-%.16s", name, nvrtc_version(c->compilers[compiler].nvrtc), check_compiling);
}

static int compiler_of(const struct check *c, int sm)
{
    for (int i = 0; i < c->n_sms; i++)
        if (c->sms[i] == sm)
            return c->of[i];
    return -1;
}

static int job_order(const void *a, const void *b)
{
    return strcmp(((const struct check_job *)a)->key, ((const struct check_job *)b)->key);
}

/* Compiles what has no result yet. */
static enum err compile_missing(struct check *c, const struct check_items *items, struct why *why)
{
    struct check_job *jobs = calloc(items->n * PROGRAM_MAX_MODULES + 1, sizeof *jobs);
    struct check_result ignored;
    size_t n = 0, n_different = 0;
    enum err e = jobs ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; !e && i < items->n; i++)
        for (size_t k = 0; !items->list[i].why[0] && k < items->list[i].p.n_modules; k++) {
            const int sm = (int)items->list[i].d.sm, compiler = compiler_of(c, sm);
            const struct program_module *m = &items->list[i].p.modules[k];

            key_of(c, m, sm, compiler, jobs[n].key);
            jobs[n].nvrtc = c->compilers[compiler].path;
            jobs[n].m = m;
            jobs[n].sm = sm;
            n += m->lang == LANG_CUDA_C && !check_results_find(&c->results, jobs[n].key, &ignored);
        }
    if (!e && n)
        qsort(jobs, n, sizeof *jobs, job_order);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(jobs[i].key, jobs[n_different - 1].key) != 0)
            jobs[n_different++] = jobs[i];
    if (!e && n_different)
        e = check_compile(jobs, n_different, &items->blobs, (int)cli_int(&c->cli, "jobs"), &c->results, why);
    c->n_compiled += (int)n_different;
    free(jobs);
    return e;
}

static bool limit(char *why, size_t n, const char *what, int64_t value, int64_t most)
{
    if (value > most)
        snprintf(why, n, "%s: %lld, the most is %lld", what, (long long)value, (long long)most);
    return value <= most;
}

/* What the device allows of a launch, whatever the kernel takes. */
static bool launch_fits(const struct program_launch *l, const struct device_desc *d, char *why, size_t n)
{
    static const char *const sides[] = {"threads along x", "threads along y", "threads along z"};
    static const char *const grids[] = {"blocks along x", "blocks along y", "blocks along z"};

    for (int i = 0; i < 3; i++)
        if (!limit(why, n, sides[i], l->block[i], d->max_local[i]) ||
            !limit(why, n, grids[i], l->grid[i], i ? CUDA_MAX_GRID_YZ : INT32_MAX))
            return false;
    return limit(why, n, "threads", l->block[0] * l->block[1] * l->block[2], d->max_work_group);
}

/* A kernel as it was compiled; its shared bytes, all in all, go to *local. The assembler's report leaves out what the
 * system takes for each block. */
static bool kernel_fits(const struct program_launch *l, const struct kernel_resources *k, const struct device_desc *d,
                        int64_t *local, char *why, size_t n)
{
    const int64_t threads = l->block[0] * l->block[1] * l->block[2];
    const int64_t warps = CEIL(threads, CUDA_WARP), registers = CEIL(k->registers * CUDA_WARP, 256) * 256 * warps;

    *local = k->local_bytes + l->dyn_local;
    if (!limit(why, n, "bytes of static shared memory", k->local_bytes, CUDA_LOCAL_STATIC) ||
        !limit(why, n, "bytes of shared memory", *local, d->local_max_bytes) ||
        !limit(why, n, "registers of a block", registers, d->registers) ||
        !limit(why, n, "bytes of constant memory", k->constant_bytes, CUDA_CONSTANT_BYTES))
        return false;
    if (cuda_arch_resident(d, threads, k->registers, *local) < 1)
        snprintf(why, n, "no block of %lld threads is resident", (long long)threads);
    return !why[0];
}

static const struct kernel_resources *find_kernel(const struct check_result *r, const char *name)
{
    for (size_t i = 0; i < r->n_kernels; i++)
        if (strcmp(r->kernels[i].kernel, name) == 0)
            return &r->kernels[i];
    return NULL;
}

static void write_line(FILE *table, const struct check_item *item, const struct program_launch *l,
                       const struct kernel_resources *k, int64_t local, int ms)
{
    if (table)
        fprintf(table, "%s\t%d\t%lld\t%s\t%s\t%s\t%lld\t%d\t%d\t%d\t%lld\t%lld\t%d\n", item->t->id, item->t->version,
                (long long)item->d.sm, item->workload, item->config, l->kernel,
                (long long)(l->block[0] * l->block[1] * l->block[2]), k->registers, k->spill_bytes, k->stack_bytes,
                (long long)local, (long long)l->dyn_local, ms);
}

static bool first_launch_of(const struct program *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (p->launches[k].op == LAUNCH_KERNEL && p->launches[k].i_module == p->launches[i].i_module &&
            strcmp(p->launches[k].kernel, p->launches[i].kernel) == 0)
            return false;
    return true;
}

/* One launch against what its module was compiled to. */
static bool check_launch(struct check *c, const struct check_item *item, size_t i, int64_t *most_local,
                         struct tally *tally, char *why, size_t n)
{
    const struct program_launch *l = &item->p.launches[i];
    const struct program_module *m = &item->p.modules[l->i_module];
    const struct kernel_resources *k;
    struct check_result result;
    char key[CHECK_KEY_BYTES];
    int64_t local = 0;

    if (!launch_fits(l, &item->d, why, n))
        return false;
    if (m->lang != LANG_CUDA_C)
        return true;
    key_of(c, m, (int)item->d.sm, compiler_of(c, (int)item->d.sm), key);
    if (!check_results_find(&c->results, key, &result) || !result.ok) {
        snprintf(why, n, "%s", result.words[0] ? result.words : "not compiled");
        return false;
    }
    k = find_kernel(&result, l->kernel);
    if (!k) {
        snprintf(why, n, "the module has no kernel %s", l->kernel);
        return false;
    }
    if (!kernel_fits(l, k, &item->d, &local, why, n))
        return false;
    if (local > *most_local)
        *most_local = local;
    if (first_launch_of(&item->p, i))
        write_line(c->table, item, l, k, local, result.ms);
    tally->n_spilling += k->spill_bytes > 0;
    if (k->registers > tally->most_registers)
        tally->most_registers = k->registers;
    return true;
}

/* Shared bytes as the program says them: of its groups, or asked for by its launches. */
static int64_t said_local(const struct check *c, const struct program *p)
{
    int64_t most = p->needs_local_bytes;

    for (size_t i = 0; i < p->n_launches; i++)
        if (p->launches[i].dyn_local > most)
            most = p->launches[i].dyn_local;
    return most + (cli_flag(&c->cli, "lie") ? 16 : 0);
}

/* A row a template; columns for types and architectures. */
static void note_covered(struct check *c, const struct check_item *item, bool passed)
{
    char type[24], sm[24];

    snprintf(type, sizeof type, "%s%s", dtype_name(item->v.dtype), item->v.acc_half ? "+" : "");
    snprintf(sm, sizeof sm, "sm_%d", (int)item->d.sm);
    coverage_add(&c->coverage, item->t->id, type, passed);
    coverage_add(&c->coverage, item->t->id, sm, passed);
}

/* Every architecture has compiled something. */
static bool covers_architectures(const struct check *c)
{
    bool all = true;

    for (int i = 0; i < c->n_sms; i++)
        if (!c->n_of[i]) {
            printf("FAILED: sm_%d: not covered\n", c->sms[i]);
            all = false;
        }
    return all;
}

static void check_item(struct check *c, const struct check_item *item, struct tally *tally)
{
    char why[400] = "";
    int64_t local = 0;

    snprintf(why, sizeof why, "%s", item->why);
    for (size_t i = 0; !why[0] && i < item->p.n_launches; i++)
        if (item->p.launches[i].op == LAUNCH_KERNEL && !check_launch(c, item, i, &local, tally, why, sizeof why))
            break;
    if (!why[0] && local != said_local(c, &item->p))
        snprintf(why, sizeof why, "shared memory: the space says %lld bytes, the compiler %lld",
                 (long long)said_local(c, &item->p), (long long)local);
    if (local > tally->most_shared)
        tally->most_shared = (int)local;
    tally->n++;
    note_covered(c, item, !why[0]);
    c->n_passed += !why[0];
    c->n_failed += why[0] != '\0';
    if (why[0] && tally->n_failed++ < MAX_TOLD)
        printf("FAILED %s | %s | %s | sm_%lld: %s\n", item->t->id, item->workload, item->config, (long long)item->d.sm,
               why);
}

static size_t draw_on(struct check *c, int i_sm, const struct template *t, const struct operator_desc *op,
                      struct check_variant v, int n_defaults, int n_random, uint64_t seed, struct check_items *items,
                      struct why *why)
{
    struct device_desc d;
    size_t n;

    cuda_arch_describe(cuda_arch_find(c->sms[i_sm]), UNITS, &d);
    n = check_draw(t, op, v, &d, n_defaults, n_random, seed, items, why);
    c->n_of[i_sm] += (int)n;
    return n;
}

/* Draws on all architectures; or (--quick) one config, of three times once the default, on the first architecture from
 * where the seed and the turn point to that the template takes. */
static size_t draw(struct check *c, const struct template *t, const struct operator_desc *op, struct check_variant v,
                   int turn, struct check_items *items, struct why *why)
{
    const uint64_t seed = (uint64_t)cli_int(&c->cli, "seed") + (uint64_t)turn * 100;
    const uint64_t at = (uint64_t)cli_int(&c->cli, "seed") + (uint64_t)turn;
    const bool quick = cli_flag(&c->cli, "quick"), by_default = at / (uint64_t)c->n_sms % 3 == 0;
    size_t n = 0;

    for (int i = 0; i < c->n_sms && !(quick && n); i++) {
        if (!quick)
            n += draw_on(c, i, t, op, v, INT_MAX, (int)cli_int(&c->cli, "configs"), seed, items, why);
        else
            n += draw_on(c, (int)((at + (uint64_t)i) % (uint64_t)c->n_sms), t, op, v, by_default, !by_default, seed,
                         items, why);
    }
    return n;
}

static enum err check_variant(struct check *c, const struct template *t, const struct operator_desc *op,
                              struct check_variant v, int turn)
{
    const int64_t start_ns = clock_now_ns();
    const int before = c->n_compiled;
    struct check_items items;
    struct tally tally = {0};
    struct why why = {""}, refused = {""};
    enum err e = ERR_OK;

    check_items_init(&items);
    if (draw(c, t, op, v, turn, &items, &refused)) {
        e = compile_missing(c, &items, &why);
        for (size_t i = 0; !e && i < items.n; i++)
            check_item(c, &items.list[i], &tally);
        if (e)
            fprintf(stderr, "check_cuda_compile: %s\n", why.text[0] ? why.text : err_words(e));
        printf("%-34s %s%s: %d configs, %d failed; %d compiled, %d registers at most, %d spill, %d shared bytes at "
               "most; %.0f s\n",
               t->id, dtype_name(v.dtype), v.acc_half ? " acc=f16" : "", tally.n, tally.n_failed,
               c->n_compiled - before, tally.most_registers, tally.n_spilling, tally.most_shared,
               (double)(clock_now_ns() - start_ns) / 1e9);
    } else if (refused.text[0]) {
        printf("%-34s %s%s: none (%s)\n", t->id, dtype_name(v.dtype), v.acc_half ? " acc=f16" : "", refused.text);
    }
    fflush(stdout);
    check_items_fini(&items);
    return e;
}

/* Does any template's id contain the text of --only? */
static bool is_any_named(const char *only)
{
    for (size_t i = 0; operator_table[i]; i++)
        for (size_t k = 0; operator_table[i]->templates[k]; k++)
            if (strstr(operator_table[i]->templates[k]->id, only))
                return true;
    return false;
}

static enum err check_all(struct check *c)
{
    static const char *const types[] = {"f32", "f16", "f16+", "bf16", "i8"};
    const char *only = cli_text(&c->cli, "only");
    enum err e = ERR_OK;
    int turn = 0;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        coverage_column(&c->coverage, types[i]);
    for (size_t i = 0; operator_table[i]; i++)
        for (size_t k = 0; operator_table[i]->templates[k]; k++)
            for (unsigned at = 0; !e && at < 2 * N_DTYPES; at++) {
                const struct check_variant v = {(enum dtype)(at / 2), at % 2};
                const struct template *t = operator_table[i]->templates[k];

                if (!(operator_table[i]->dtypes & (1u << v.dtype)) || (v.acc_half && v.dtype != DTYPE_F16))
                    continue;
                if (strstr(t->id, only))
                    e = check_variant(c, t, operator_table[i], v, turn);
                turn++;
            }
    return e;
}

/* Opens the default compiler and those given. ERR_NOT_FOUND when there is none at all; a given one that cannot be
 * opened is ERR_INPUT. */
static enum err open_compilers(struct check *c, struct why *why)
{
    const char *paths[MAX_NVRTCS] = {NULL};
    const int given = cli_texts(&c->cli, "nvrtc", paths + 1, MAX_NVRTCS - 1);

    for (int i = 0; i <= given && i < MAX_NVRTCS; i++) {
        struct compiler *to = &c->compilers[c->n_compilers];
        const enum err e = nvrtc_open(paths[i], &to->nvrtc, why);

        if (e && i > 0) /* one that was asked for: not a reason to skip */
            return why_prefix(why, e == ERR_NOT_FOUND ? ERR_INPUT : e, "--nvrtc %s", paths[i]);
        if (e && e != ERR_NOT_FOUND)
            return e;
        if (e)
            continue;
        to->path = nvrtc_path(to->nvrtc);
        printf("NVRTC %d.%d: %s\n", nvrtc_version(to->nvrtc) / 1000, nvrtc_version(to->nvrtc) % 1000 / 10, to->path);
        c->n_compilers++;
    }
    return c->n_compilers ? ERR_OK : ERR_NOT_FOUND;
}

/* Finds a compiler for each architecture; what none knows is told and left out. */
static enum err find_compilers(struct check *c, struct why *why)
{
    char list[256], *rest = list;

    snprintf(list, sizeof list, "%s", cli_text(&c->cli, "sm"));
    for (char *word; (word = strtok_r(rest, ",", &rest)) && c->n_sms < MAX_ARCHS;) {
        const int sm = atoi(word);
        int at = 0;

        if (!cuda_arch_find(sm))
            return why_set(why, ERR_INPUT, "--sm: %s is no architecture that tune knows, as 61 is", word);
        while (at < c->n_compilers && nvrtc_supports(c->compilers[at].nvrtc, sm, why))
            at++;
        if (at == c->n_compilers) {
            printf("sm_%d: left out: %s\n", sm, why->text);
            continue;
        }
        c->of[c->n_sms] = at;
        c->sms[c->n_sms++] = sm;
    }
    return c->n_sms ? ERR_OK : ERR_NOT_FOUND;
}

static bool is_code_alone(const struct check *c)
{
    return cli_flag(&c->cli, "budget") || cli_flag(&c->cli, "networks");
}

/* Machine code, where a disassembler is given. */
static enum err check_budgets(struct check *c)
{
    struct check_sass sass = {cli_text(&c->cli, "sass"),
                              cli_text(&c->cli, "nvdisasm"),
                              cli_text(&c->cli, "nvdisasm12"),
                              cli_text(&c->cli, "only"),
                              .n_nvrtcs = c->n_compilers,
                              .n_processes = (int)cli_int(&c->cli, "jobs"),
                              .shows = is_code_alone(c),
                              .sms = c->sms,
                              .n_sms = cli_flag(&c->cli, "networks") ? c->n_sms : 0};
    struct why why = {""};
    enum err e;

    if (!sass.table && !sass.n_sms)
        return ERR_OK;
    if (!sass.nvdisasm) {
        printf("sass: left out: no nvdisasm here\n");
        return ERR_OK;
    }
    for (int i = 0; i < c->n_compilers; i++)
        sass.nvrtcs[i] = c->compilers[i].nvrtc;
    e = check_sass(&sass, &c->results.kept, &c->n_passed, &c->n_failed, &why);
    if (e)
        fprintf(stderr, "check_cuda_compile: %s\n", why.text[0] ? why.text : err_words(e));
    return e;
}

static int finish(struct check *c, enum err e)
{
    bool covered;

    check_results_fini(&c->results);
    for (int i = 0; i < c->n_compilers; i++)
        nvrtc_close(c->compilers[i].nvrtc);
    if (c->table)
        (void)fclose(c->table);
    coverage_print(&c->coverage, "configs that compile");
    coverage_fini(&c->coverage);
    covered = cli_text(&c->cli, "only")[0] || is_code_alone(c) || covers_architectures(c);
    cli_fini(&c->cli);
    printf("%d passed, %d failed\n", c->n_passed, c->n_failed);
    return e || c->n_failed || !c->n_passed || !covered;
}

int main(int argc, char **argv)
{
    static struct check c;
    struct why why = {""};
    enum err e = cli_parse(&c.cli, options, argc, argv, &why);

    if (!e && c.cli.help) {
        struct buf text;

        buf_init(&text, 1 << 16);
        cli_help(options, "check_cuda_compile [options]", "Compiles every template for CUDA architectures.",
                 "check_cuda_compile --quick", &text);
        fputs(buf_text(&text), stdout);
        return 0;
    }
    if (e) {
        fprintf(stderr, "check_cuda_compile: %s\n", why.text);
        return 2;
    }
    if (!is_any_named(cli_text(&c.cli, "only"))) {
        fprintf(stderr, "check_cuda_compile: --only %s: no template's id contains this\n", cli_text(&c.cli, "only"));
        return 1;
    }
    printf("seed %lld\n", (long long)cli_int(&c.cli, "seed"));
    e = template_set_kernel_dir(cli_text(&c.cli, "kernel-dir"), &why);
    if (!e)
        e = open_compilers(&c, &why);
    if (e && e != ERR_NOT_FOUND) {
        fprintf(stderr, "check_cuda_compile: %s\n", why.text);
        return 1;
    }
    if (!e)
        e = find_compilers(&c, &why);
    if (!e && is_code_alone(&c) && !cli_text(&c.cli, "nvdisasm"))
        e = why_set(&why, ERR_NOT_FOUND, "no nvdisasm here");
    if (e == ERR_NOT_FOUND) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    if (!e)
        check_results_open(&c.results, cli_text(&c.cli, "keep")[0] ? cli_text(&c.cli, "keep") : NULL);
    if (!e && cli_text(&c.cli, "table")[0] && !(c.table = fopen(cli_text(&c.cli, "table"), "w")))
        e = why_set(&why, ERR_IO, "%s: cannot be written", cli_text(&c.cli, "table"));
    if (e) {
        fprintf(stderr, "check_cuda_compile: %s\n", why.text);
        return 2;
    }
    if (c.table)
        fprintf(c.table,
                "template\tversion\tsm\tworkload\tconfig\tkernel\tthreads\tregisters\tspill_bytes\tstack_bytes\t"
                "shared_bytes\tdynamic_bytes\tcompile_ms\n");
    if (!is_code_alone(&c))
        e = check_all(&c);
    if (!e)
        e = check_budgets(&c);
    return finish(&c, e);
}
