/* SPDX-License-Identifier: MIT */
/* spaces.c - `tune spaces`: the templates of a workload, their knobs and the sizes of their spaces; with --file
 * or --kernel-spec, the valid configs of a space in JSON. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "kernels/operator.h"
#include "kernels/spec/spec.h"
#include "kernels/template.h"
#include "search_space/space_file.h"
#include "search_space/valid_set.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_WALK 100000 /* draws of an estimate */

static const struct cli_option options[] = {
    CLI_OPTION("keys", CLI_FLAG, .help = "the keys of all operators and the values they take"),
    CLI_OPTION("file", CLI_TEXT, .argument = "F.json", .help = "a space in JSON instead of a workload's templates"),
    OPT_KERNEL_SPEC,
    CLI_OPTION("count", CLI_FLAG, .help = "of a file: only the number of valid configs"),
    CLI_OPTION("list", CLI_FLAG, .help = "of a file: all valid configs, one a line"),
    CLI_OPTION("index", CLI_INT, .argument = "I", .max = JSON_EXACT_MAX,
               .help = "of a file: line I of --list, counted from 0"),
    CLI_OPTION("sample", CLI_INT, .argument = "N", .max = JSON_EXACT_MAX,
               .help = "of a file: N uniform draws, each from all valid configs"),
    OPT_SEED("repeats the draws of --sample"),
    CLI_OPTION("config", CLI_TEXT, .argument = "\"A=1 B=2\"",
               .help = "of a file: is it valid, and which line of --list is it"),
    OPT_LINK,
    OPT_KEY,
    OPT_TEMPLATE,
    OPT_NETWORK,
    OPT_VERBOSE,
    CLI_END,
};

static const char *const fit_words[] = {"does not fit", "baseline", "possible", "good"};

static void print_knob(const struct space *s, size_t i)
{
    const size_t n = space_n_values(s, i);

    assert(n > 0);
    printf("    %-14s", space_knob_name(s, i));
    for (size_t k = 0; k < n && k < 24; k++) {
        const struct value v = space_knob_value(s, i, k);

        if (v.text)
            printf(" %s", v.text);
        else
            printf(" %.15g", v.number);
    }
    printf("%s\n", n > 24 ? " ..." : "");
}

double cmd_count_valid(const struct space *s, size_t max_bytes, bool *exact)
{
    struct valid_set *v = NULL;
    double n;

    if (valid_set_new(s, max_bytes, &v, NULL))
        return space_count_valid(s, COUNT_WALK, exact);
    *exact = true;
    n = (double)valid_set_count(v);
    valid_set_free(v);
    return n;
}

static void print_size(const struct space *s)
{
    bool exact;
    const double n = cmd_count_valid(s, VALID_SET_BYTES, &exact);

    printf("    %zu knobs, %llu configs, %s%.0f valid\n", space_n_knobs(s), (unsigned long long)space_size(s),
           exact ? "" : "about ", n);
}

/* What the template's roofline says of a config, where it has one. */
static void print_prediction(const struct space *s, const struct config *c, double peak_gflops)
{
    double flops, oi;

    if (space_eval(s, c, "predicted_flops", &flops) || space_eval(s, c, "oi", &oi))
        return;
    printf("    roofline: %.3g FLOP/byte, the time of %.4g GFLOP at peak", oi, flops / 1e9);
    if (peak_gflops > 0)
        printf(", %.4g ms", flops / peak_gflops / 1e6);
    printf("\n");
}

static void print_space(const struct template *t, const struct workload *w, const struct device_desc *d,
                        const struct space *s, bool verbose)
{
    struct config fallback;
    struct buf text;
    bool has_fallback;

    print_size(s);
    for (size_t i = 0; i < space_n_knobs(s); i++)
        print_knob(s, i);
    for (size_t i = 0; verbose && i < space_n_constraints(s); i++)
        printf("    with %s\n", space_constraint_text(s, i));
    buf_init(&text, 4096);
    has_fallback = t->fallback(w, d, s, &fallback) == ERR_OK;
    if (has_fallback && space_config_text(s, &fallback, &text) == ERR_OK)
        printf("    default: %s\n", buf_text(&text));
    if (has_fallback && verbose)
        print_prediction(s, &fallback, d->peak_gflops);
    buf_fini(&text);
}

static enum err print_template(const struct template *t, const struct workload *w, const struct device_desc *d,
                               bool verbose, struct why *why)
{
    struct why reason = {""};
    const enum fit fit = template_fit(t, w, d, &reason);
    struct space *s = NULL;
    enum err e;

    printf("  %s@%d  %s%s%s - %s\n", t->id, t->version, fit_words[fit], reason.text[0] ? ": " : "", reason.text,
           t->summary);
    if (fit == FIT_NONE)
        return ERR_OK;
    e = template_space(t, w, d, &s, why);
    if (!e)
        print_space(t, w, d, s, verbose);
    space_free(s);
    return e;
}

static enum err print_workload(const struct cli *c, const char *line, const struct device_desc *d, struct why *why)
{
    const char *only = cli_text(c, "template");
    struct workload w;
    struct buf text;
    enum err e = cmd_workload(line, &w, why);

    if (e)
        return e;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(&w, &text);
    if (!e)
        printf("%s: %.4g GFLOP on %s\n", buf_text(&text), w.op->flops(&w) / 1e9, d->name);
    buf_fini(&text);
    for (const struct template *const *t = w.op->templates; *t && !e; t++)
        if (!only || job_list_has(only, (*t)->id))
            e = print_template(*t, &w, d, cli_int(c, "verbose") > 0, why);
    return e;
}

static void print_key(const struct operator_key *key)
{
    static const char *const forms[] = {[KEY_INT] = "",
                                        [KEY_PAIR] = "; or h,w",
                                        [KEY_PAD] = "; or h,w; or top,left,bottom,right",
                                        [KEY_WORD] = "",
                                        [KEY_FRACTION] = "",
                                        [KEY_HASH] = "",
                                        [KEY_SIZES] = "; 1 to 6, like 2x3x5",
                                        [KEY_TEXT] = ""};
    struct buf range;

    buf_init(&range, 4096);
    workload_key_range(key, &range);
    printf("| `%s` | %s%s | ", key->name, buf_text(&range), forms[key->kind]);
    if (key->required || key->kind == KEY_FRACTION || key->kind == KEY_HASH || key->kind == KEY_SIZES)
        printf("%s", key->required ? "needed" : "none");
    else if (key->kind == KEY_WORD)
        printf("%s", key->words[0]);
    else
        printf("%lld", (long long)key->otherwise);
    printf(" | %s |\n", key->help);
    buf_fini(&range);
}

/* As a table of docs/operators.md. */
static int print_keys(void)
{
    for (size_t i = 0; operator_table[i]; i++) {
        printf("%s| %s | values | default | what it is |\n|---|---|---|---|\n", i ? "\n" : "", operator_table[i]->name);
        for (const struct operator_key *key = operator_table[i]->keys; key->name; key++)
            print_key(key);
    }
    return EXIT_FINE;
}

/* The space of --file or --kernel-spec, with all its valid configs. */
struct file_space {
    const char *path;
    const struct space *space;
    struct space *own; /* what `space` lends; else `spec` does */
    struct spec *spec;
    struct valid_set *valid;
    double build_ms; /* from the parsed JSON on */
};

static enum err file_space_read(struct file_space *f, const struct cli *c, struct why *why)
{
    const char *spec = cli_text(c, "kernel-spec");
    bool is_known = true;
    enum err e;

    f->path = spec ? spec : cli_text(c, "file");
    if (spec) {
        e = cmd_spec_open(c, spec, &f->spec, why);
        f->space = e ? NULL : spec_space(f->spec);
        return e;
    }
    e = space_file_read(f->path, &f->own, &is_known, why);
    f->space = f->own;
    if (!e && !is_known)
        fprintf(stderr, "tune: %s: restrictions are null: every config counts as valid\n", f->path);
    return e;
}

static enum err file_space_open(struct file_space *f, const struct cli *c, struct why *why)
{
    int64_t from;
    enum err e = file_space_read(f, c, why);

    if (e)
        return e;
    from = clock_now_ns();
    e = valid_set_new(f->space, 0, &f->valid, why);
    f->build_ms = (double)(clock_now_ns() - from) / 1e6;
    return e ? why_prefix(why, e, "%.300s", f->path) : ERR_OK;
}

static void file_space_close(struct file_space *f)
{
    valid_set_free(f->valid);
    space_free(f->own);
    spec_free(f->spec);
}

static void print_config(const struct space *s, const struct config *c)
{
    struct buf text;

    buf_init(&text, SPACE_MAX_KNOBS * (SPACE_NAME_BYTES + SPACE_WORD_BYTES));
    if (space_config_text(s, c, &text) == ERR_OK)
        puts(buf_text(&text));
    buf_fini(&text);
}

static void print_listed(const struct file_space *f, uint64_t first, uint64_t n)
{
    struct config c;

    assert(first + n <= valid_set_count(f->valid));
    for (uint64_t i = first; i < first + n && !cmd_interrupted() && !ferror(stdout); i++)
        if (valid_set_at(f->valid, i, &c) == ERR_OK)
            print_config(f->space, &c);
}

static void print_sampled(const struct file_space *f, int64_t n, uint64_t seed)
{
    struct config c;
    struct rng rng;

    rng_init(&rng, seed);
    for (int64_t i = 0; i < n && !cmd_interrupted() && !ferror(stdout); i++)
        if (valid_set_sample(f->valid, &rng, &c) == ERR_OK)
            print_config(f->space, &c);
}

/* Says whether a config is valid and where it stands; EXIT_NO_CONFIG when it is not. */
static int print_found(const struct file_space *f, const char *text)
{
    const char *violated = "";
    struct why why = {""};
    struct config c;
    uint64_t rank;
    const enum err e = space_config_parse(f->space, text, &c, &why);

    if (e)
        return cmd_fail(e, &why);
    if (valid_set_rank(f->valid, &c, &rank) == ERR_OK) {
        printf("valid: line %llu of %llu, index %llu of the product\n", (unsigned long long)rank,
               (unsigned long long)valid_set_count(f->valid), (unsigned long long)space_index(f->space, &c));
        return EXIT_FINE;
    }
    (void)space_is_valid(f->space, &c, &violated);
    printf("not valid: %s\n", violated);
    return EXIT_NO_CONFIG;
}

static void print_count(const struct file_space *f, bool verbose)
{
    const struct valid_set_size size = valid_set_size(f->valid);

    printf("%llu", (unsigned long long)valid_set_count(f->valid));
    if (verbose)
        printf(" of %llu, found in %.3f ms; %zu groups of knobs, %zu nodes, %zu edges, %zu bytes",
               (unsigned long long)space_size(f->space), f->build_ms, size.n_groups, size.n_nodes, size.n_edges,
               size.bytes);
    printf("\n");
}

static void print_summary(const struct file_space *f, bool verbose)
{
    printf("%zu knobs, %llu configs, %llu valid\n", space_n_knobs(f->space), (unsigned long long)space_size(f->space),
           (unsigned long long)valid_set_count(f->valid));
    for (size_t i = 0; i < space_n_knobs(f->space); i++)
        print_knob(f->space, i);
    for (size_t i = 0; verbose && i < space_n_constraints(f->space); i++)
        printf("    with %s\n", space_constraint_text(f->space, i));
}

/* Line I of the list; a space without any is told apart from an index beyond the last. */
static int print_indexed(const struct file_space *f, uint64_t index)
{
    const uint64_t n = valid_set_count(f->valid);
    struct why why;

    assert(n > 0); /* print_asked */
    if (index < n) {
        print_listed(f, index, 1);
        return EXIT_FINE;
    }
    why_set(&why, ERR_INPUT, "--index %llu: expected 0 to %llu", (unsigned long long)index, (unsigned long long)n - 1);
    return cmd_fail(ERR_INPUT, &why);
}

static int print_asked(const struct cli *c, const struct file_space *f)
{
    const bool verbose = cli_int(c, "verbose") > 0;

    if (cli_flag(c, "count"))
        print_count(f, verbose);
    else if (cli_get(c, "config")->given)
        return print_found(f, cli_text(c, "config"));
    if (valid_set_count(f->valid) == 0) {
        fprintf(stderr, "tune: %s: the constraints leave no config\n", f->path);
        return EXIT_NO_CONFIG;
    }
    if (cli_flag(c, "count"))
        return EXIT_FINE;
    if (cli_get(c, "index")->given)
        return print_indexed(f, (uint64_t)cli_int(c, "index"));
    if (cli_get(c, "sample")->given)
        print_sampled(f, cli_int(c, "sample"), (uint64_t)cli_int(c, "seed"));
    else if (cli_flag(c, "list"))
        print_listed(f, 0, valid_set_count(f->valid));
    else
        print_summary(f, verbose);
    return EXIT_FINE;
}

static int run_file(const struct cli *c)
{
    struct file_space f = {.path = NULL};
    struct why why = {""};
    enum err e = ERR_OK;

    if (c->n_rest || (cli_text(c, "file") && cli_text(c, "kernel-spec")))
        e = why_set(&why, ERR_INPUT, "expected one of --file, --kernel-spec and workloads");
    if (!e)
        e = file_space_open(&f, c, &why);
    const int code = e ? cmd_fail(e, &why) : print_asked(c, &f);

    file_space_close(&f);
    return code;
}

/* The first option that means something with a space in a file only, or NULL. */
static const char *file_option(const struct cli *c)
{
    static const char *const names[] = {"count", "list", "index", "sample", "config"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cli_get(c, names[i])->given)
            return names[i];
    return NULL;
}

/* The workloads that are asked about: those given, or a network's; the caller frees the list, not the texts. */
static enum err asked(const struct cli *c, const char ***out, size_t *n, struct why *why)
{
    const char *name = cli_text(c, "network"), **list;
    const struct network *net = NULL;
    struct workload w;
    enum err e = name ? cmd_network(c, why) : ERR_OK;

    if (!e && name && c->n_rest)
        e = why_set(why, ERR_INPUT, "either workloads or --network, not both");
    if (!e && name)
        e = network_find(name, &net, why);
    if (!e && !name)
        e = c->n_rest ? cmd_workload(c->rest[0], &w, why)
                      : why_set(why, ERR_INPUT, "no workload: expected e.g. \"dense f32 m=64 n=2048 k=512\"");
    if (e)
        return e;
    list = calloc((net ? net->n_layers : (size_t)c->n_rest) + 1, sizeof *list);
    if (!list)
        return why_set(why, ERR_NOMEM, "out of memory");
    *n = 0;
    for (size_t i = 0; i < (net ? net->n_layers : (size_t)c->n_rest); i++)
        if (!net || net->layers[i].workload)
            list[(*n)++] = net ? net->layers[i].workload : c->rest[i];
    *out = list;
    return ERR_OK;
}

static int run(const struct cli *c)
{
    struct device_choice d;
    const char **list = NULL;
    size_t n = 0;
    struct why why = {""};
    enum err e;

    cmd_catch_interrupts();
    if (cli_flag(c, "keys"))
        return print_keys();
    if (cli_text(c, "file") || cli_text(c, "kernel-spec"))
        return run_file(c);
    e = asked(c, &list, &n, &why);
    if (file_option(c))
        e = why_set(&why, ERR_INPUT, "--%s asks about a space in a file: expected --file or --kernel-spec too",
                    file_option(c));
    if (!e && cli_text(c, "template"))
        e = task_check_templates(cli_text(c, "template"), list, n, &why);
    if (!e)
        e = cmd_device(c, &d, &why);
    for (size_t i = 0; i < n && !e; i++)
        e = print_workload(c, list[i], &d.desc, &why);
    free(list);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_spaces = {
    .name = "spaces",
    .summary = "the templates of a workload, their knobs and the sizes of their spaces",
    .usage = "spaces WORKLOAD... | --network NAME | --keys | --file F.json | --kernel-spec FILE [options]",
    .example = "tune spaces \"dense f32 m=64 n=2048 k=512\" -v",
    .options = options,
    .run = run,
};
