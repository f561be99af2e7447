/* SPDX-License-Identifier: MIT */
/* deploy.c - `tune deploy`: a best log made into files for a deployment build. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "kernels/graph_range.h"
#include "kernels/graph_work.h"
#include "kernels/spec/spec.h"
#include "kernels/template.h"
#include "formats/syntax/foreign.h"
#include "cli/cmd.h"
#include "formats/convert.h"
#include "deploy/bundle.h"
#include "deploy/macros.h"
#include "deploy/make.h"
#include "deploy/manifest.h"
#include "deploy/network.h"
#include "deploy/range.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS 12 /* named in words */

static const struct cli_option options[] = {
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "DIR",
               .help = "folder of the bundle, an earlier one is replaced; with --kernel-spec a C header"),
    OPT_NETWORK,
    CLI_OPTION("whole", CLI_FLAG, .help = "functions are those of the whole network's steps"),
    CLI_OPTION("buckets", CLI_INT, .argument = "N", .otherwise = "4", .min = 1, .max = RANGE_MAX_BUCKETS,
               .help = "with a range as --dim: sizes that kernels are chosen for, at the most"),
    CLI_OPTION("workloads", CLI_TEXT, .argument = "FILE", .help = "the workloads of a file, lines 'name | workload'"),
    OPT_KEY,
    CLI_OPTION("fingerprint", CLI_TEXT, .argument = "HEX",
               .help = "only records of the device whose fingerprint begins so"),
    CLI_OPTION("name", CLI_TEXT, .argument = "NAME",
               .help = "of the bundle and in front of its functions; else the network's, or tune_bundle"),
    CLI_OPTION("allow-nearest", CLI_FLAG,
               .help = "a workload (with --whole a layer with weights) without a record takes the config of the "
                       "nearest one, or the "
                       "default"),
    OPT_KERNEL_SPEC,
    CLI_OPTION(
        "binaries", CLI_TEXT, .argument = "WHAT[,WHAT]",
        .help = "code made now beside the text: device (OpenCL: program binaries of --device), sm_75 (CUDA: cubins)"),
    CLI_OPTION("device", CLI_TEXT, .argument = "BACKEND", .otherwise = "opencl",
               .help = "the device that --binaries are made on: opencl[:p.d]"),
    CLI_OPTION("nvrtc", CLI_TEXT, .argument = "PATH", .environment = "TUNE_NVRTC",
               .help = "compiler of CUDA kernels: libnvrtc or its folder"),
    CLI_OPTION("check", CLI_TEXT, .argument = "DIR", .help = "verify a bundle instead of writing one"),
    OPT_KERNEL_DIR,
    OPT_QUIET,
    CLI_END,
};

/* The best records of a log that the options let through. */
struct chosen {
    struct best_set *best;
    const char *key, *fingerprint; /* NULL = any */
    char keys[MAX_KEYS][65];       /* that the good records of the log have, whatever the options say */
    size_t n_keys;
    int64_t n_own, n_bad; /* records of a farm of tune; lines that cannot be read */
    enum err failed;
};

static void note_key(struct chosen *c, const struct record *r)
{
    size_t i = 0;
    while (i < c->n_keys && strcmp(c->keys[i], r->key) != 0) {
        i++;
    }
    if (r->status == STATUS_OK && i == c->n_keys && i < MAX_KEYS) {
        (void)snprintf(c->keys[c->n_keys++], sizeof c->keys[0], "%s", r->key);
    }
}

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct chosen *c = arg;
    (void)line;
    (void)n_line;
    c->n_own += foreign_find(r->protocol) == NULL;
    note_key(c, r);
    if ((c->key != NULL && strcmp(c->key, r->key) != 0) ||
        (c->fingerprint != NULL && strncmp(c->fingerprint, r->fingerprint.hex, strlen(c->fingerprint)) != 0)) {
        return true;
    }
    c->failed = best_add(c->best, r);
    return c->failed == ERR_OK;
}

static void note_bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct chosen *c = arg;
    c->n_bad++;
    cmd_log_warning(path, i_line, words, NULL);
}

static enum err refuse_empty(const struct chosen *c, const char *path, struct why *why)
{
    struct buf keys;
    if (c->key == NULL && c->fingerprint == NULL) {
        return why_set(why, ERR_NOT_FOUND,
                       "%s has no record with status ok that was verified in full; expected a log of `tune run -o`",
                       path);
    }
    buf_init(&keys, 800);
    for (size_t i = 0; i < c->n_keys; i++) {
        buf_printf(&keys, "%s%s", i > 0 ? ", " : "", c->keys[i][0] != '\0' ? c->keys[i] : "(none)");
    }
    why_set(why, ERR_NOT_FOUND, "%s has no record with status ok for this device (%s%s%s%s%s); keys it has: %s", path,
            c->key != NULL ? "--key " : "", c->key != NULL ? c->key : "",
            c->key != NULL && c->fingerprint != NULL ? " " : "", c->fingerprint != NULL ? "--fingerprint " : "",
            c->fingerprint != NULL ? c->fingerprint : "", c->n_keys > 0 ? buf_text(&keys) : "none");
    buf_fini(&keys);
    return ERR_NOT_FOUND;
}

/* Of a log that was cut, a part of a bundle would replace a whole one. Rows of another tuner's file that tune has no
 * words for are no damage. */
static enum err refuse_bad(const struct chosen *c, const char *path, struct why *why)
{
    return c->n_bad == 0 || c->n_own == 0
               ? ERR_OK
               : why_set(why, ERR_INPUT,
                         "%s: %lld %s cannot be read, layers may be missing: fetch it again, or drop them with `tune "
                         "log merge %s -o NEW` and deploy that",
                         path, (long long)c->n_bad, c->n_bad == 1 ? "line" : "lines", path);
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
    e = convert_scan(path, NULL, take, note_bad, out, why);
    e = e == ERR_OK ? out->failed : e;
    if (e == ERR_OK && best_n(out->best) == 0) {
        e = refuse_empty(out, path, why);
    }
    return e == ERR_OK ? refuse_bad(out, path, why) : e;
}

/* What --network or --workloads ask for; *any: is there one of them? */
static enum err read_wanted(const struct cli *c, struct deploy_want *want, bool *any, struct why *why)
{
    const char *network = cli_text(c, "network"), *file = cli_text(c, "workloads");
    *any = network != NULL || file != NULL;
    if (network != NULL && file != NULL) {
        return why_set(why, ERR_INPUT, "deploy: expected --network or --workloads, not both");
    }
    if (network == NULL && (cli_text(c, "dtype") != NULL || cli_text(c, "layout") != NULL)) {
        return why_set(why, ERR_INPUT, "deploy: --dtype and --layout are for the layers of a --network");
    }
    if (network == NULL) {
        return file != NULL ? deploy_want_file(want, file, why) : ERR_OK;
    }
    return deploy_want_network(want, network, cli_text(c, "dtype"), cli_text(c, "layout"), why);
}

static void print_layer(const struct deploy_set *s, const struct deploy_call *call)
{
    assert(call->i_layer < s->n_layers);
    const struct deploy_layer *l = &s->layers[call->i_layer];
    char speed[64] = "not measured";
    if (l->record.time_ns > 0.0) {
        (void)snprintf(speed, sizeof speed, "%8.1f GFLOPS", record_gflops(&l->record));
    }
    printf("%s_%-28s %-72s %-24s %s", s->name, call->symbol, l->workload, l->program.template_id, speed);
    if (l->origin == DEPLOY_FOREIGN) {
        printf("  (of another tuner: not measured by this farm)");
    } else if (l->origin == DEPLOY_NEAREST) {
        printf("  (config of %s, distance %.2f)", l->record.workload, l->distance);
    } else if (l->origin == DEPLOY_DEFAULT) {
        printf("  (the template's default)");
    }
    printf("\n");
}

/* Names the layers of whose own workload nothing was measured. */
static void print_unmeasured(const struct deploy_set *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_calls; i++) {
        const enum deploy_origin origin = s->layers[s->calls[i].i_layer].origin;
        if (origin == DEPLOY_NEAREST || origin == DEPLOY_DEFAULT) {
            printf("%s %s", n == 0 ? "never measured:" : ",",
                   *s->calls[i].called ? s->calls[i].called : s->calls[i].symbol);
            n++;
        }
    }
    printf("%s", n > 0 ? "; `tune run` measures them\n" : "");
}

static void print_bundle(const struct deploy_set *s, const struct deploy_want *want, const char *dir)
{
    for (size_t i = 0; i < s->n_calls; i++) {
        print_layer(s, &s->calls[i]);
    }
    print_unmeasured(s);
    if (want->skipped != NULL) {
        printf("left out, tune has no operator for them: %s\n", want->skipped);
    }
    if (s->network != NULL) {
        struct buf words;
        buf_init(&words, 4096);
        deploy_network_describe(s->network, &words);
        if (s->range != NULL) {
            deploy_range_describe(s->range, &words);
        }
        fputs(buf_text(&words), stdout);
        buf_fini(&words);
    }
    printf("%s: %zu layers, %zu kernels in %zu texts\n", dir, s->n_calls, s->n_modules, s->n_texts);
}

/* Code made ahead. */
static enum err make_binaries(const struct cli *c, struct deploy_set *set, struct why *why)
{
    const struct deploy_makers makers = {cli_text(c, "device"), cli_text(c, "nvrtc")};
    struct deploy_ahead ahead;
    enum err e = deploy_ahead_parse(cli_text(c, "binaries"), &ahead, why);
    e = e == ERR_OK ? deploy_set_share(set, why) : e;
    return e == ERR_OK ? deploy_binaries_make(set, &ahead, &makers, why) : e;
}

/* One call for the whole of a network that has a graph. Without --whole the bundle's functions are those of the listed
 * layers, and the network's steps take what was measured for those. */
static enum err add_network(const struct cli *c, struct deploy_set *s, const struct best_set *best,
                            const struct graph_range *range, struct why *why)
{
    struct deploy_network_options o = {.network = cli_text(c, "network"), .calls = cli_flag(c, "whole")};
    const char *dtype = cli_text(c, "dtype") != NULL ? cli_text(c, "dtype") : "f32";
    const struct graph *g = NULL;
    if (o.network == NULL) {
        return o.calls ? why_set(why, ERR_INPUT, "deploy: --whole is for a --network") : ERR_OK;
    }
    if (!o.calls && graph_find(o.network, &g, NULL) != ERR_OK) {
        return ERR_OK; /* a list of layers only */
    }
    const int t = dtype_by_name(dtype);
    assert(t >= 0 && "network_dtype_at");
    o.dtype = (enum dtype)t;
    o.exact = o.calls && !cli_flag(c, "allow-nearest");
    enum err e = ERR_OK;
    if (o.calls && cli_text(c, "layout") != NULL) {
        e = graph_layouts_named(cli_text(c, "layout"), &o.layouts, why);
    }
    if (e != ERR_OK) {
        return e;
    }
    return range != NULL ? deploy_range_make(s, best, range, (size_t)cli_int(c, "buckets"), &o, why)
                         : deploy_network_make(s, best, &o, why);
}

static enum err write_bundle(const struct cli *c, const struct best_set *best, struct why *why)
{
    char shown[64];
    const char *name = cli_text(c, "name") != NULL ? cli_text(c, "name") : cmd_network_name(c, shown, sizeof shown);
    struct deploy_want want;
    struct deploy_set set;
    struct graph_range *range = NULL; /* outlives the set */
    bool any = false;
    deploy_want_init(&want);
    enum err e = deploy_set_init(&set, name != NULL ? name : "tune_bundle", why);
    e = e == ERR_OK ? cmd_range(c, &range, why) : e;
    if (e == ERR_OK && cli_flag(c, "whole")) {
        e = deploy_check_device(best, why);
    } else {
        e = e == ERR_OK ? read_wanted(c, &want, &any, why) : e;
        e = e == ERR_OK ? deploy_make(&set, best, any ? &want : NULL, cli_flag(c, "allow-nearest"), why) : e;
    }
    e = e == ERR_OK ? add_network(c, &set, best, range, why) : e;
    e = e == ERR_OK ? make_binaries(c, &set, why) : e;
    e = e == ERR_OK ? deploy_bundle_write(&set, cli_text(c, "output"), why) : e;
    if (e == ERR_OK && !cli_flag(c, "quiet")) {
        print_bundle(&set, &want, cli_text(c, "output"));
    }
    deploy_set_fini(&set);
    cmd_range_free(range);
    deploy_want_fini(&want);
    return e;
}

/* The header of a person's own kernel: its macros by device and size. */
static enum err write_macros(const struct cli *c, const struct best_set *best, struct why *why)
{
    const char *path = cli_text(c, "output"), *slash = strrchr(path, '/');
    size_t n = 0, n_left = 0;
    struct spec *s = NULL;
    struct buf text;
    buf_init(&text, (size_t)16 << 20);
    enum err e = cmd_spec_open(c, cli_text(c, "kernel-spec"), &s, why);
    e = e == ERR_OK ? deploy_macros(best, s, slash != NULL ? slash + 1 : path, &text, &n, &n_left, why) : e;
    e = e == ERR_OK ? file_replace(path, buf_text(&text), text.len, 0644, why) : e;
    if (e == ERR_OK && !cli_flag(c, "quiet")) {
        printf("%s: macros of %zu config%s\n", path, n, n == 1 ? "" : "s");
    }
    if (e == ERR_OK && n_left > 0) {
        fprintf(stderr, "tune: left out: %zu best records of other kernels or of another version of this one\n",
                n_left);
    }
    spec_free(s);
    buf_fini(&text);
    return e;
}

static enum err check(const char *dir, bool quiet, struct why *why)
{
    size_t n_files = 0;
    enum err e = deploy_check(dir, &n_files, why);
    if (e == ERR_OK && !quiet) {
        printf("%s: a whole bundle, %zu files as its manifest says\n", dir, n_files);
    }
    return e;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    struct chosen chosen = {0};
    enum err e;
    if (cli_text(c, "check") != NULL) {
        e = c->n_rest == 0 ? check(cli_text(c, "check"), cli_flag(c, "quiet"), &why)
                           : why_set(&why, ERR_INPUT, "deploy: --check DIR takes no log");
        return e == ERR_OK ? EXIT_FINE : cmd_fail(e, &why);
    }
    if (c->n_rest != 1) {
        return cmd_fail(why_set(&why, ERR_INPUT, "deploy: expected one log, e.g. x.best.jsonl"), &why);
    }
    if (cli_text(c, "kernel-spec") != NULL && (cli_text(c, "network") != NULL || cli_text(c, "workloads") != NULL ||
                                               cli_flag(c, "whole") || cli_text(c, "binaries") != NULL)) {
        return cmd_fail(why_set(&why, ERR_INPUT,
                                "deploy: --kernel-spec makes a header: no --network, --workloads, --whole, --binaries"),
                        &why);
    }
    if (cli_text(c, "output") == NULL) {
        return cmd_fail(
            why_set(&why, ERR_INPUT, "deploy: expected -o DIR, the folder of the bundle (with --kernel-spec a header)"),
            &why);
    }
    e = cmd_network(c, &why);
    e = e == ERR_OK ? choose(c, c->rest[0], &chosen, &why) : e;
    if (e == ERR_OK) {
        e = cli_text(c, "kernel-spec") != NULL ? write_macros(c, chosen.best, &why)
                                               : write_bundle(c, chosen.best, &why);
    }
    best_free(chosen.best);
    return e == ERR_OK ? EXIT_FINE : cmd_fail(e, &why);
}

const struct command cmd_deploy = {
    .name = "deploy",
    .summary = "write the best kernels as files for a deployment build",
    .usage = "deploy LOG.best.jsonl -o DIR | deploy LOG.best.jsonl --kernel-spec FILE -o HEADER.h | deploy --check DIR",
    .example = "tune deploy out/resnet-18.best.jsonl --network resnet-18 -o out/resnet-18",
    .options = options,
    .run = run,
};
