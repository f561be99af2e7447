/* SPDX-License-Identifier: MIT */
/* show.c - `tune show`: the kernel text, defines and launch plan of one config. */
#include "cli/config.h"

#include "core/buf.h"
#include "kernels/spec/spec.h"
#include "kernels/template.h"

#include <assert.h>
#include <stdio.h>

static const struct cli_option options[] = {
    OPT_LINK,
    OPT_KEY,
    OPT_TEMPLATE_ONE,
    OPT_CONFIG,
    OPT_KERNEL_SPEC,
    OPT_KERNEL_DIR,
    CLI_OPTION("program", CLI_FLAG, .help = "the program as JSON instead"),
    CLI_END,
};

static void print_module(const struct program_module *m, const struct blobs *blobs)
{
    const struct blob *source = blobs_get(blobs, m->source.hex);

    printf("/* module %s, options \"%s\" */\n", m->id, m->options ? m->options : "");
    for (size_t i = 0; i < m->n_defines; i++)
        printf("#define %s %s\n", m->defines[i].name, m->defines[i].value);
    if (source)
        fwrite(source->data, 1, source->n_bytes, stdout);
    putchar('\n');
}

static void print_arg(const struct program *p, const struct program_arg *a)
{
    if (a->kind == ARG_BUFFER)
        printf(" %s", p->buffers[a->i_buffer].id);
    else if (a->kind == ARG_F32 || a->kind == ARG_F64)
        printf(" %g", a->real);
    else
        printf(" %lld%s", (long long)a->integer, a->kind == ARG_LOCAL ? " B local" : "");
}

static void print_launch(const struct program *p, const struct program_launch *l)
{
    static const char *const phases[] = {"pack", "run", "reference"};

    assert((size_t)l->phase < sizeof phases / sizeof phases[0]);
    if (l->op == LAUNCH_SYMBOL) {
        printf("  %-9s %s, a variable of module %s, from", phases[l->phase], l->kernel, p->modules[l->i_module].id);
        print_arg(p, &l->args[0]);
        printf(", %lld bytes\n", (long long)l->args[1].integer);
        return;
    }
    printf("  %-9s %s  groups %lld x %lld x %lld of %lld x %lld x %lld, arguments", phases[l->phase], l->kernel,
           (long long)l->grid[0], (long long)l->grid[1], (long long)l->grid[2], (long long)l->block[0],
           (long long)l->block[1], (long long)l->block[2]);
    for (size_t i = 0; i < l->n_args; i++)
        print_arg(p, &l->args[i]);
    putchar('\n');
}

static void print_program(const struct program *p, const struct blobs *blobs)
{
    for (size_t i = 0; i < p->n_modules; i++)
        print_module(&p->modules[i], blobs);
    puts("/*\nbuffers:");
    for (size_t i = 0; i < p->n_buffers; i++)
        printf("  %-12s %s x %lld %s\n", p->buffers[i].id, dtype_name(p->buffers[i].dtype),
               (long long)p->buffers[i].n_elems, p->buffers[i].layout);
    puts("launches:");
    for (size_t i = 0; i < p->n_launches; i++)
        print_launch(p, &p->launches[i]);
    for (size_t i = 0; i < p->n_loops; i++)
        printf("  %s to %s, %lld times\n", p->launches[p->loops[i].first].id, p->launches[p->loops[i].last].id,
               (long long)p->loops[i].count);
    if (p->flops > 0)
        printf("%.4g GFLOP a run\n", p->flops / 1e9);
    printf("*/\n");
}

/* A text has no use for the expected values that a program brings. */
static enum err show_text(const struct task *t, size_t i_arm, const struct config *config, struct blobs *blobs,
                          struct why *why)
{
    const struct arm *a = &t->arms[i_arm];
    struct program p;
    enum err e = template_kernels(a->of.template, &t->workload, &t->device, a->space, config, &p, blobs, why);

    if (e)
        return e;
    print_program(&p, blobs);
    program_fini(&p);
    return ERR_OK;
}

static enum err print_json(const struct program *p, struct why *why)
{
    struct buf text;
    enum err e;

    buf_init(&text, PROGRAM_MAX_BYTES);
    e = program_to_json(p, &text);
    if (!e)
        puts(buf_text(&text));
    buf_fini(&text);
    return e ? why_set(why, e, "%s", err_words(e)) : ERR_OK;
}

static enum err show_json(const struct task *t, size_t i_arm, const struct config *config, struct blobs *blobs,
                          struct why *why)
{
    struct program p;
    enum err e = task_program(t, i_arm, config, &p, blobs, why);

    if (e)
        return e;
    e = print_json(&p, why);
    program_fini(&p);
    return e;
}

/* One config of a person's own kernel; no device is asked. */
static enum err show_spec(const struct cli *c, struct why *why)
{
    struct config config;
    struct blobs blobs;
    struct program p;
    struct spec *s = NULL;
    enum err e = cmd_spec_open(c, cli_text(c, "kernel-spec"), &s, why);

    if (!e && cli_text(c, "config"))
        e = cmd_choose_config(spec_space(s), cli_text(c, "config"), &config, why);
    else if (!e && !spec_default(s, &config))
        e = why_set(why, ERR_INPUT, "the kernel has no default: name a config with --config");
    blobs_init(&blobs, (size_t)1 << 30);
    if (!e)
        e = spec_program(s, &config, &p, &blobs, why);
    if (!e) {
        e = cli_flag(c, "program") ? print_json(&p, why) : (print_program(&p, &blobs), ERR_OK);
        program_fini(&p);
    }
    blobs_fini(&blobs);
    spec_free(s);
    return e;
}

static enum err show(const struct cli *c, const struct device_desc *d, struct why *why)
{
    struct config config;
    struct blobs blobs;
    struct task t;
    size_t i_arm;
    enum err e = cmd_config(c, d, &t, &i_arm, &config, why);

    if (e)
        return e;
    blobs_init(&blobs, (size_t)1 << 30);
    e = (cli_flag(c, "program") ? show_json : show_text)(&t, i_arm, &config, &blobs, why);
    blobs_fini(&blobs);
    task_fini(&t);
    return e;
}

static int run(const struct cli *c)
{
    const bool is_spec = cli_text(c, "kernel-spec") != NULL;
    struct device_choice d;
    struct why why = {""};
    enum err e = cmd_check_subject(c, NULL, &why);

    if (!e)
        e = cmd_check_template(c, &why);
    cmd_catch_interrupts();
    if (!e && !is_spec)
        e = cmd_device(c, &d, &why);
    if (!e)
        e = is_spec ? show_spec(c, &why) : show(c, &d.desc, &why);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_show = {
    .name = "show",
    .summary = "the kernel text, defines and launch plan of one config",
    .usage = "show WORKLOAD|--kernel-spec FILE [options]",
    .example = "tune show \"dense f32 m=64 n=2048 k=512\" --template dense/gemm_direct",
    .options = options,
    .run = run,
};
