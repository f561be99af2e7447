/* SPDX-License-Identifier: MIT */
/* log_merge.c - `tune log merge` and `tune log dedup`. */
#include "cli/log.h"

#include "logs/merge.h"

#include <assert.h>
#include <inttypes.h>

static const struct cli_option options[] = {
    OPT_OUTPUT_FILE,
    CLI_OPTION("strict", CLI_FLAG,
               .help = "damaged lines, other lines of a trial and newer schemas are errors: nothing is written"),
    CLI_END,
};

struct telling {
    int64_t n[MERGE_NEWER + 1]; /* by word */
    bool one_a_trial;
};

static void tell(enum merge_word word, const char *path, int64_t i_line, const char *words, void *arg)
{
    static const char *const ends[] = {
        [MERGE_BAD] = "left out", [MERGE_OTHER] = "both stay", [MERGE_NEWER] = "kept as it stands"};
    struct telling *t = arg;

    assert((size_t)word < sizeof t->n / sizeof t->n[0]);
    if (t->n[word]++ < LOG_MAX_TOLD)
        fprintf(stderr, "tune: %s:%" PRId64 ": %s; %s\n", path, i_line, words,
                word == MERGE_OTHER && t->one_a_trial ? "the later one stays" : ends[word]);
}

static void print_report(const struct cli *c, const char *out, const struct merge_report *r)
{
    FILE *to = log_summary(out);

    fprintf(to, "%s: %" PRId64 " of %" PRId64 " lines of %d file%s; %" PRId64 " stood there before", out, r->n_written,
            r->n_lines, c->n_rest, c->n_rest == 1 ? "" : "s", r->n_equal);
    if (r->n_other)
        fprintf(to, ", %" PRId64 " of trials that have another line", r->n_other);
    if (r->n_newer)
        fprintf(to, ", %" PRId64 " of a newer schema", r->n_newer);
    if (r->n_bad)
        fprintf(to, ", %" PRId64 " left out as damaged", r->n_bad);
    fputs("\n", to);
}

static int merge(const struct cli *c, bool one_a_trial)
{
    struct telling telling = {.one_a_trial = one_a_trial};
    const struct merge_options o = {.lines = log_lines_of,
                                    .one_a_trial = one_a_trial,
                                    .strict = cli_flag(c, "strict"),
                                    .tell = tell,
                                    .arg = &telling};
    struct merge_report report;
    struct why why = {""};
    const char *out = NULL;
    enum err e = log_need(c, MERGE_MAX_FILES, "a.jsonl b.jsonl", &why);

    if (!e)
        e = log_output(c, &out, &why);
    if (!e)
        e = merge_logs(c->rest, (size_t)c->n_rest, out, &o, &report, &why);
    if (e)
        return cmd_fail(e, &why);
    print_report(c, out, &report);
    return EXIT_FINE;
}

static int run_merge(const struct cli *c)
{
    return merge(c, false);
}

static int run_dedup(const struct cli *c)
{
    return merge(c, true);
}

const struct command cmd_log_merge = {
    .name = "merge",
    .summary = "several logs as one, every line once, in the order of the files",
    .usage = "log merge LOG... -o FILE [options]",
    .example = "tune log merge monday.jsonl tuesday.jsonl.gz -o week.jsonl",
    .options = options,
    .run = run_merge,
};

const struct command cmd_log_dedup = {
    .name = "dedup",
    .summary = "one line a trial: equal lines once, of different ones the last",
    .usage = "log dedup LOG... -o FILE [options]",
    .example = "tune log dedup week.jsonl -o week.jsonl",
    .options = options,
    .run = run_dedup,
};
