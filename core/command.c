/* SPDX-License-Identifier: MIT */
#include "core/command.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PAGE_MAX_BYTES ((size_t)1 << 20)
#define NAME_BYTES 80 /* "tune-log-merge" */

const struct command *command_verb(const struct command *c, const char *name)
{
    for (size_t i = 0; c->verbs && c->verbs[i]; i++)
        if (strcmp(c->verbs[i]->name, name) == 0)
            return c->verbs[i];
    return NULL;
}

/* ---- help ---- */

static void help_verbs(const struct command *program, const struct command *c, struct buf *out)
{
    buf_printf(out, "usage: %s %s\n%s\n\n%s:\n", program->name, c->usage, c->summary,
               c == program ? "subcommands" : "verbs");
    for (size_t i = 0; c->verbs[i]; i++)
        buf_printf(out, "  %-10s %s\n", c->verbs[i]->name, c->verbs[i]->summary);
    if (c == program)
        buf_printf(out, "\n`%s SUBCOMMAND --help` shows its options, their defaults and an example.\n", c->name);
    else
        buf_printf(out, "\n`%s %s VERB --help` shows its options and an example.\n", program->name, c->name);
    if (c->example)
        buf_printf(out, "\nexample:\n  %s\n", c->example);
}

void command_help(const struct command *program, const struct command *c, struct buf *out)
{
    char usage[256];

    assert(!c->verbs != !c->options);
    snprintf(usage, sizeof usage, "%s %s", program->name, c->usage);
    if (c->verbs)
        help_verbs(program, c, out);
    else
        cli_help(c->options, usage, c->summary, c->example, out);
    for (const struct command_section *s = c->sections; s && s->title; s++) {
        if (s->line)
            buf_printf(out, "\n%s:\n", s->title);
        for (size_t i = 0; s->line && s->line(i); i++)
            buf_printf(out, "  %s\n", s->line(i));
    }
}

/* ---- what a shell offers ---- */

static void offer(const char *head, size_t n_head, const char *word, const char *begun, struct buf *out)
{
    if (strncmp(word, begun, strlen(begun)) == 0)
        buf_printf(out, "%.*s%s\n", (int)n_head, head, word);
}

/* The words of an option; of several, what stands before the last comma is kept. */
static void offer_words(const struct cli_option *o, const char *begun, struct buf *out)
{
    const char *comma = o->many ? strrchr(begun, ',') : NULL, *last = comma ? comma + 1 : begun;

    for (size_t i = 0; o->word && o->word(i); i++)
        offer(begun, (size_t)(last - begun), o->word(i), last, out);
}

static void offer_options(const struct command *c, const char *begun, struct buf *out)
{
    char dashed[NAME_BYTES];

    for (const struct cli_option *o = c->options; o && o->name; o++) {
        snprintf(dashed, sizeof dashed, "--%s", o->name);
        offer("", 0, dashed, begun, out);
    }
    offer("", 0, "--help", begun, out);
}

/* The option, by its name, other name or letter, that waits for a value; NULL when the word is none. */
static const struct cli_option *waits(const struct command *c, const char *word)
{
    for (const struct cli_option *o = c->options; o && o->name && word[0] == '-'; o++) {
        const bool is_long =
            word[1] == '-' && (strcmp(word + 2, o->name) == 0 || (o->alias && strcmp(word + 2, o->alias) == 0));

        if (o->argument && (is_long || (o->letter && word[1] == o->letter && !word[2])))
            return o;
    }
    return NULL;
}

void command_complete(const struct command *program, int n_words, const char *const *words, struct buf *out)
{
    const char *begun = n_words > 0 ? words[n_words - 1] : "";
    const struct command *c = program, *verb;
    const struct cli_option *o;
    int i = 0;

    while (i < n_words - 1 && (verb = command_verb(c, words[i])) != NULL) {
        c = verb;
        i++;
    }
    o = i < n_words - 1 ? waits(c, words[n_words - 2]) : NULL;
    if (o) {
        offer_words(o, begun, out);
        return;
    }
    for (size_t k = 0; c->verbs && i == n_words - 1 && c->verbs[k]; k++)
        offer("", 0, c->verbs[k]->name, begun, out);
    if (c->verbs ? i == n_words - 1 : begun[0] == '-')
        offer_options(c, begun, out);
}

/* ---- man pages ---- */

/* Text as troff wants it: what is in backticks bold, an empty line a new paragraph. */
static void man_text(const char *text, struct buf *out)
{
    bool bold = false;

    for (const char *p = text; *p; p++) {
        const bool starts = p == text || p[-1] == '\n';

        if (*p == '`')
            buf_puts(out, (bold = !bold) ? "\\fB" : "\\fR");
        else if (*p == '\n' && p[1] == '\n')
            buf_puts(out, "\n.PP");
        else if (*p == '\\' || *p == '-')
            buf_puts(out, *p == '-' ? "\\-" : "\\e");
        else
            buf_printf(out, "%s%c", starts && (*p == '.' || *p == '\'') ? "\\&" : "", *p);
    }
    buf_puts(out, "\n");
}

/* Man pages have their headings in capitals. */
static void man_heading(const char *title, struct buf *out)
{
    buf_puts(out, ".SH ");
    for (; *title; title++)
        buf_printf(out, "%c", toupper((unsigned char)*title));
    buf_puts(out, "\n");
}

/* The help of a first line of a page: a sentence. */
static void man_sentence(const char *words, struct buf *out)
{
    char all[512];

    snprintf(all, sizeof all, "%c%s.", toupper((unsigned char)words[0]), words + 1);
    man_text(all, out);
}

static void man_name(const struct cli_option *o, struct buf *out)
{
    buf_puts(out, "\\fB\\-\\-");
    for (const char *p = o->name; *p; p++)
        buf_printf(out, "%s%c", *p == '-' ? "\\" : "", *p);
    buf_puts(out, "\\fR");
}

static void man_option(const struct cli_option *o, struct buf *out)
{
    struct buf words;

    buf_puts(out, ".TP\n");
    if (o->letter)
        buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    man_name(o, out);
    buf_printf(out, "%s%s%s\n", o->argument ? " \\fI" : "", o->argument ? o->argument : "", o->argument ? "\\fR" : "");
    buf_init(&words, PAGE_MAX_BYTES);
    cli_describe(o, &words);
    if (cli_lists_words(o)) {
        buf_printf(&words, "\n%s of ", o->many ? "Some" : "One");
        cli_words(o, ", ", "", SIZE_MAX, &words);
        buf_puts(&words, ".");
    }
    man_text(buf_text(&words), out);
    buf_fini(&words);
}

static void man_options(const struct command *c, struct buf *out)
{
    bool any = false;

    man_heading("options", out);
    for (const struct cli_option *o = c->options; o->name; o++)
        man_option(o, out);
    for (const struct cli_option *o = c->options; o->name; o++) {
        if (o->environment && !any)
            man_heading("environment", out);
        any |= o->environment != NULL;
        if (!o->environment)
            continue;
        buf_printf(out, ".TP\n\\fB%s\\fR\nDefault of ", o->environment);
        man_name(o, out);
        buf_puts(out, ".\n");
    }
}

static void man_verbs(const struct command *program, const struct command *c, const char *page, struct buf *out)
{
    man_heading(c == program ? "subcommands" : "verbs", out);
    for (size_t i = 0; c->verbs[i]; i++) {
        buf_printf(out, ".TP\n.BR %s-%s (%d)\n", page, c->verbs[i]->name, program->section);
        man_sentence(c->verbs[i]->summary, out);
    }
}

static void man_sections(const struct command *c, struct buf *out)
{
    for (const struct command_section *s = c->sections; s && s->title; s++) {
        man_heading(s->title, out);
        if (s->text)
            man_text(s->text, out);
        for (size_t i = 0; s->line && s->line(i); i++) {
            buf_puts(out, i ? ".br\n" : "");
            man_text(s->line(i), out);
        }
    }
}

/* `page` is its name, "tune-log-merge"; `parent` that of the page above, NULL of the program's own. */
static void man_page(const struct command *program, const struct command *c, const char *page, const char *parent,
                     struct buf *out)
{
    assert(program->section > 0 && program->see_also && c->summary && c->usage);
    buf_puts(out, ".TH ");
    for (const char *p = page; *p; p++)
        buf_printf(out, "%c", toupper((unsigned char)*p));
    buf_printf(out, " %d \"\" \"tune %s\"\n.SH NAME\n%s \\- ", program->section, TUNE_VERSION, page);
    man_text(c->summary, out);
    buf_printf(out, ".SH SYNOPSIS\n.B %s\n", program->name);
    man_text(c->usage, out);
    buf_puts(out, ".SH DESCRIPTION\n");
    man_sentence(c->summary, out);
    if (c->about)
        man_text(c->about, out);
    if (c->verbs)
        man_verbs(program, c, page, out);
    else
        man_options(c, out);
    man_sections(c, out);
    if (c->example) {
        buf_puts(out, ".SH EXAMPLE\n.nf\n");
        man_text(c->example, out);
        buf_puts(out, ".fi\n");
    }
    buf_puts(out, ".SH SEE ALSO\n");
    if (parent)
        buf_printf(out, "%s(%d)\n", parent, program->section);
    else
        buf_printf(out, "%s\n", program->see_also);
}

static enum err write_page(const struct command *program, const struct command *c, const char *page, const char *parent,
                           const char *folder, struct why *why)
{
    char path[4096], below[NAME_BYTES];
    struct buf text;
    enum err e = ERR_OK;

    buf_init(&text, PAGE_MAX_BYTES);
    man_page(program, c, page, parent, &text);
    if (snprintf(path, sizeof path, "%s/%s.%d", folder, page, program->section) >= (int)sizeof path)
        e = why_set(why, ERR_LIMIT, "%.60s...: the path is too long", folder);
    else
        e = text.failed ? text.failed : file_replace(path, buf_text(&text), text.len, 0644, why);
    buf_fini(&text);
    for (size_t i = 0; !e && c->verbs && c->verbs[i]; i++) {
        if (snprintf(below, sizeof below, "%s-%s", page, c->verbs[i]->name) >= (int)sizeof below)
            return why_set(why, ERR_LIMIT, "%s-%s: the name is too long", page, c->verbs[i]->name);
        e = write_page(program, c->verbs[i], below, page, folder, why);
    }
    return e;
}

enum err command_write_pages(const struct command *program, const char *dir, struct why *why)
{
    char folder[4096];
    enum err e;

    if (snprintf(folder, sizeof folder, "%s/man%d", dir, program->section) >= (int)sizeof folder)
        return why_set(why, ERR_LIMIT, "%.60s...: the path is too long", dir);
    e = dir_make(folder, 0755, why);
    return e ? e : write_page(program, program, program->name, NULL, folder, why);
}

bool command_answers(const struct command *program, int argc, char **argv, FILE *to, FILE *errors, int *code)
{
    const char *first = argc > 1 ? argv[1] : "";
    const bool pages = argc == 3 && strcmp(first, "--man-pages") == 0;
    struct why why = {""};
    struct buf said;
    enum err e = ERR_OK;

    if (!pages && strcmp(first, "--complete") != 0)
        return false;
    buf_init(&said, PAGE_MAX_BYTES);
    if (pages)
        e = command_write_pages(program, argv[2], &why);
    else
        command_complete(program, argc - 2, (const char *const *)argv + 2, &said);
    fputs(buf_text(&said), to);
    buf_fini(&said);
    if (e)
        fprintf(errors, "%s: %s\n", program->name, why.text);
    *code = e != ERR_OK;
    return true;
}

/* Did who reads it leave, as `head` does when it has enough? */
static bool reader_left(FILE *to)
{
    struct pollfd p = {.fd = fileno(to)};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

int command_finish(const struct command *program, FILE *to, FILE *errors, int code)
{
    int cause;

    errno = 0;
    if ((fflush(to) == 0 && !ferror(to)) || reader_left(to))
        return code;
    cause = errno;
    fprintf(errors, "%s: standard output could not be written%s%s\n", program->name, cause ? ": " : "",
            cause == ENOSPC || cause == EDQUOT ? "the disk, or a quota, is full"
            : cause                            ? strerror(cause)
                                               : "");
    return code ? code : 1;
}
