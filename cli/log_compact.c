/* SPDX-License-Identifier: MIT */
/* log_compact.c - `tune log compact`: a log without what best logs, warm starts and finals do not need. */
#include "cli/log.h"

#include "logs/compact.h"

#include <assert.h>
#include <inttypes.h>

static const struct cli_option options[] = {
    OPT_OUTPUT_FILE,
    CLI_OPTION("keep", CLI_INT, .argument = "N", .otherwise = "400", .min = 2, .max = 1000000000,
               .help = "searches kept of each workload, template and device: the fastest half, the rest evenly"),
    CLI_END,
};

static int run(const struct cli *c)
{
    struct compact_report r = {0};
    struct why why = {""};
    const char *out = NULL;
    enum err e = log_need(c, 1, "week.jsonl", &why);
    FILE *to;

    if (!e)
        e = log_output(c, &out, &why);
    if (!e)
        e = compact_log(c->rest[0], out, (size_t)cli_int(c, "keep"), log_lines_of, cmd_log_warning, &r, &why);
    if (e)
        return cmd_fail(e, &why);
    assert(r.n_written <= r.n_lines);
    to = log_summary(out);
    fprintf(to, "%s: %" PRId64 " of %" PRId64 " lines; %" PRId64 " stood there before, %" PRId64 " lost", out,
            r.n_written, r.n_lines, r.n_equal, r.n_lost);
    if (r.n_newer)
        fprintf(to, ", %" PRId64 " of a newer schema kept", r.n_newer);
    if (r.n_bad)
        fprintf(to, ", %" PRId64 " left out as damaged", r.n_bad);
    fputs("\n", to);
    return EXIT_FINE;
}

const struct command cmd_log_compact = {
    .name = "compact",
    .summary = "a log without what best logs, warm starts and finals do not need",
    .usage = "log compact LOG -o FILE [options]",
    .example = "tune log compact week.jsonl -o week.small.jsonl",
    .options = options,
    .run = run,
};
