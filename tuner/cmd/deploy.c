/* deploy.c - `tune deploy`: a best log made into files for a deployment build. */
#include "kernels/template.h"
#include "logs/log.h"
#include "tuner/cmd/cmd.h"
#include "tuner/deploy_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option options[] = {
    {"output", 'o', NULL, CLI_TEXT, "DIR", NULL, NULL, 0, 0, "folder of the bundle; made when missing"},
    OPT_KEY,
    {"fingerprint", 0, NULL, CLI_TEXT, "HEX", NULL, NULL, 0, 0,
     "only records of the device whose fingerprint begins so"},
    OPT_KERNEL_DIR,
    OPT_QUIET,
    OPT_END,
};

/* The best records of a log that the options let through. */
struct chosen {
    struct best_set *best;
    const char *key, *fingerprint; /* NULL = any */
    enum err failed;
};

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct chosen *c = arg;
    (void)line;
    (void)n_line;
    if ((c->key != NULL && strcmp(c->key, r->key) != 0) ||
        (c->fingerprint != NULL && strncmp(c->fingerprint, r->fingerprint.hex, strlen(c->fingerprint)) != 0)) {
        return true;
    }
    c->failed = best_add(c->best, r);
    return c->failed == ERR_OK;
}

/* One kernel per workload: a log of several devices needs a choice. */
static enum err check_unique(const struct best_set *best, struct why *why)
{
    for (size_t i = 0; i < best_n(best); i++) {
        const struct record *a = best_at(best, i);
        for (size_t j = 0; j < i; j++) {
            const struct record *b = best_at(best, j);
            if (strcmp(a->workload, b->workload) == 0) {
                return why_set(
                    why, ERR_INPUT,
                    "%s: the log has it for two devices, %s (%.12s) and %s (%.12s); choose with --key or --fingerprint",
                    a->workload, b->key, b->fingerprint.hex, a->key, a->fingerprint.hex);
            }
        }
    }
    return ERR_OK;
}

static enum err choose(const struct cli *c, const char *path, struct chosen *out, struct why *why)
{
    out->key = cli_text(c, "key");
    out->fingerprint = cli_text(c, "fingerprint");
    out->failed = ERR_OK;
    enum err e = best_new(&out->best);
    if (e != ERR_OK) {
        return why_set(why, e, "out of memory");
    }
    e = log_scan(path, take, cmd_log_warning, out, why);
    e = e == ERR_OK ? out->failed : e;
    if (e == ERR_OK && best_n(out->best) == 0) {
        e = why_set(why, ERR_NOT_FOUND, "%s has no record with status ok%s; expected a log of `tune run -o`", path,
                    out->key != NULL || out->fingerprint != NULL ? " for this device" : "");
    }
    return e == ERR_OK ? check_unique(out->best, why) : e;
}

static void print_layer(const struct deploy_layer *l, const char *dir)
{
    printf("%-72s %-24s %8.1f GFLOPS  tune_%s in %s\n", l->record.workload, l->record.template_id,
           record_gflops(&l->record), l->symbol, dir);
}

static enum err deploy(const struct best_set *best, const char *dir, bool quiet, struct why *why)
{
    size_t n = best_n(best), n_made = 0;
    enum err e = ERR_OK;
    struct deploy_layer *layers = calloc(n, sizeof *layers);
    if (layers == NULL) {
        return why_set(why, ERR_NOMEM, "out of memory");
    }
    while (n_made < n && e == ERR_OK) {
        e = deploy_layer_init(&layers[n_made], best_at(best, n_made), why);
        n_made++;
    }
    e = e == ERR_OK ? deploy_bundle_write(layers, n, dir, why) : e;
    for (size_t i = 0; i < n_made; i++) {
        if (e == ERR_OK && !quiet) {
            print_layer(&layers[i], dir);
        }
        deploy_layer_fini(&layers[i]);
    }
    free(layers);
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct chosen chosen = {0};
    const char *dir = cli_text(c, "output");
    if (c->n_rest != 1) {
        return cmd_fail(why_set(&why, ERR_INPUT, "deploy: expected one log, e.g. x.best.jsonl"), &why);
    }
    if (dir == NULL) {
        return cmd_fail(why_set(&why, ERR_INPUT, "deploy: expected -o DIR, the folder of the bundle"), &why);
    }
    template_set_kernel_dir(cli_text(c, "kernel-dir"));
    enum err e = choose(c, c->rest[0], &chosen, &why);
    e = e == ERR_OK ? deploy(chosen.best, dir, cli_flag(c, "quiet"), &why) : e;
    best_free(chosen.best);
    return e == ERR_OK ? EXIT_FINE : cmd_fail(e, &why);
}

const struct subcommand cmd_deploy = {
    .name = "deploy",
    .summary = "write the best kernels as files for a deployment build",
    .usage = "deploy LOG.best.jsonl -o DIR",
    .example = "tune deploy out/quickstart.best.jsonl -o out/bundle",
    .options = options,
    .run = run,
};
