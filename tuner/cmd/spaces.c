/* spaces.c - `tune spaces`: the templates of a workload, their knobs and the sizes of their spaces. */
#include "tuner/cmd/cmd.h"

#include "kernels/template.h"

#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {OPT_TRACKER, OPT_KEY_FILE, OPT_KEY,     OPT_DEVICE,
                                            OPT_THREADS, OPT_TEMPLATE, OPT_VERBOSE, OPT_END};

static const char *const fit_words[] = {"does not fit", "baseline", "possible", "good"};

static void print_knob(const struct space *s, size_t i)
{
    const size_t n = space_n_values(s, i);

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

static void print_space(const struct template *t, const struct workload *w, const struct device_desc *d,
                        const struct space *s, bool verbose)
{
    struct config fallback;
    struct buf text;
    bool exact;
    const double n = space_count_valid(s, 200000, &exact);

    printf("    %zu knobs, %llu configs, %s%.0f valid\n", space_n_knobs(s), (unsigned long long)space_size(s),
           exact ? "" : "about ", n);
    for (size_t i = 0; i < space_n_knobs(s); i++)
        print_knob(s, i);
    for (size_t i = 0; verbose && i < space_n_constraints(s); i++)
        printf("    with %s\n", space_constraint_text(s, i));
    buf_init(&text, 4096);
    if (t->fallback(w, d, s, &fallback) == ERR_OK && space_config_text(s, &fallback, &text) == ERR_OK)
        printf("    default: %s\n", buf_text(&text));
    buf_fini(&text);
}

static enum err print_template(const struct template *t, const struct workload *w, const struct device_desc *d,
                               bool verbose, struct why *why)
{
    struct why reason = {""};
    const enum fit fit = t->fit(w, d, &reason);
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
    enum err e = workload_parse(line, &w, why);

    if (e)
        return e;
    if (only && !template_find(only))
        return why_set(why, ERR_INPUT, "no template \"%s\"", only);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(&w, &text);
    if (!e)
        printf("%s: %.4g GFLOP on %s\n", buf_text(&text), w.op->flops(&w) / 1e9, d->name);
    buf_fini(&text);
    for (size_t i = 0; template_table[i] && !e; i++)
        if (strcmp(template_table[i]->operator_name, w.op->name) == 0 &&
            (!only || strcmp(template_table[i]->id, only) == 0))
            e = print_template(template_table[i], &w, d, cli_int(c, "verbose") > 0, why);
    return e;
}

static int run(const struct cli *c)
{
    struct device_choice d;
    struct workload w;
    struct why why = {""};
    enum err e = c->n_rest ? workload_parse(c->rest[0], &w, &why)
                           : why_set(&why, ERR_INPUT, "no workload: expected e.g. \"dense f32 m=64 n=2048 k=512\"");

    cmd_catch_interrupts();
    if (!e)
        e = cmd_device(c, &d, &why);
    for (int i = 0; i < c->n_rest && !e; i++)
        e = print_workload(c, c->rest[i], &d.desc, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct subcommand cmd_spaces = {
    .name = "spaces",
    .summary = "the templates of a workload, their knobs and the sizes of their spaces",
    .usage = "spaces WORKLOAD... [options]",
    .example = "tune spaces \"dense f32 m=64 n=2048 k=512\" -v",
    .options = options,
    .run = run,
};
