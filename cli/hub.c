/* SPDX-License-Identifier: MIT */
/* hub.c - `tune hub`: logs and bundles on a server. */
#include "core/err.h"
#include "core/json.h"
#include "core/terminal.h"
#include "logs/hub/hub.h"
#include "logs/merge.h"
#include "cli/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPT_TRANSFER                                                                                                   \
    CLI_OPTION("connect-timeout", CLI_DURATION, .argument = "T", .otherwise = "10s", .min = 0.1, .max = 3600,          \
               .help = "longest wait for a connection"),                                                               \
        CLI_OPTION("timeout", CLI_DURATION, .argument = "T", .otherwise = "30s", .min = 1, .max = 86400,               \
                   .help = "longest time without a byte"),                                                             \
        CLI_OPTION("tries", CLI_INT, .argument = "N", .otherwise = "4", .min = 1, .max = 100,                          \
                   .help = "of a request that fails for a while")

static const struct cli_option push_options[] = {
    OPT_TRANSFER,
    CLI_OPTION("wait", CLI_DURATION, .argument = "T", .otherwise = "60s", .min = 1, .max = 86400,
               .help = "longest wait for other pushers of the same log"),
    CLI_OPTION("alone", CLI_FLAG, .help = "nobody else pushes to this log; for servers that keep no two pushers apart"),
    CLI_OPTION("replace", CLI_FLAG, .help = "in the place of another bundle"),
    OPT_QUIET,
    CLI_END,
};

static const struct cli_option pull_options[] = {
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "PATH",
               .help = "the log (an existing one keeps its lines) or the folder of the bundle (a new one)"),
    OPT_TRANSFER,
    OPT_QUIET,
    CLI_END,
};

static const struct cli_option list_options[] = {OPT_TRANSFER, OPT_JSON, CLI_END};

static void show_progress(int64_t n_done, int64_t n_total, void *arg)
{
    time_t *last = arg;

    if (time(NULL) <= *last)
        return;
    *last = time(NULL);
    fprintf(stderr, "\r%.1f of %.1f MB ", (double)n_done / 1e6, (double)n_total / 1e6);
}

static void tell(enum merge_word word, const char *path, int64_t i_line, const char *words, void *arg)
{
    int *n_told = arg;

    if (word == MERGE_BAD && (*n_told)++ < LOG_MAX_TOLD)
        fprintf(stderr, "tune: %s:%" PRId64 ": %s; left out\n", path, i_line, words);
}

/* The union, and how many lines it has that the first log lacks. */
static enum err merge(const char *const *paths, size_t n, const char *out, int64_t *n_new, struct why *why)
{
    int n_told = 0;
    const struct merge_options o = {.lines = log_lines_of, .tell = tell, .arg = &n_told};
    struct merge_report r = {0};
    const enum err e = merge_logs(paths, n, out, &o, &r, why);

    if (e)
        return e;
    *n_new = r.n_written - r.n_written_first;
    if (r.n_bad && !*n_new && !r.n_equal)
        return why_set(why, ERR_INPUT, "%s: no record in it; expected a log", paths[n - 1]);
    return ERR_OK;
}

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static enum err push_bundle(struct hub *h, const struct cli *c, const struct hub_url *u, struct why *why)
{
    int n_sent;
    enum err e;

    if (c->n_rest != 2)
        return why_set(why, ERR_INPUT, "hub push: expected one bundle's folder, or logs");
    if (u->text[strlen(u->text) - 1] != '/')
        return why_set(why, ERR_INPUT, "%s: the URL of a bundle ends with '/': expected %s/", u->text, u->text);
    e = hub_push_bundle(h, u, c->rest[1], cli_flag(c, "replace"), &n_sent, why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s: %d files sent\n", u->text, n_sent);
    return e;
}

static enum err push(struct hub *h, const struct cli *c, const struct hub_url *u, struct why *why)
{
    int64_t n_new = 0;
    const size_t n = strlen(u->text);
    enum err e;

    if (c->n_rest < 2)
        return why_set(why, ERR_INPUT, "hub push: expected the logs, or the folder of a bundle, after the URL");
    for (int i = 1; i < c->n_rest; i++)
        if (is_folder(c->rest[i]))
            return push_bundle(h, c, u, why);
    if (u->text[n - 1] == '/')
        return why_set(why, ERR_INPUT, "%s: expected the URL of a log, e.g. %srk3399.jsonl", u->text, u->text);
    e = hub_push_log(h, u, c->rest + 1, (size_t)c->n_rest - 1, cli_flag(c, "alone"), merge, &n_new, why);
    if (!e && !cli_flag(c, "quiet"))
        printf("%s: %" PRId64 " new records\n", u->text, n_new);
    return e;
}

static enum err pull(struct hub *h, const struct cli *c, const struct hub_url *u, struct why *why)
{
    const char *to = cli_text(c, "output");
    const bool bundle = u->text[strlen(u->text) - 1] == '/';
    int64_t n_new = 0;
    int n_fetched = 0;
    enum err e;

    if (!to || c->n_rest != 1)
        return why_set(why, ERR_INPUT, "hub pull: expected one URL and -o PATH");
    e = bundle ? hub_pull_bundle(h, u, to, &n_fetched, why) : hub_pull_log(h, u, to, merge, &n_new, why);
    if (e == ERR_NOT_FOUND && !bundle)
        return why_set(why, e, "%s: there is no such log (the URL of a bundle ends with '/')", u->text);
    if (!e && !cli_flag(c, "quiet") && bundle)
        printf("%s: %d files fetched\n", to, n_fetched);
    else if (!e && !cli_flag(c, "quiet"))
        printf("%s: %" PRId64 " new records\n", to, n_new);
    return e;
}

static void print_entry(const struct hub_entry *entry, void *arg)
{
    const struct cli *c = arg;
    cJSON *line;
    char *text;
    bool ok = true;

    if (!cli_flag(c, "json")) {
        if (entry->n_bytes >= 0)
            printf("%12" PRId64 "  %-30s %s\n", entry->n_bytes, entry->modified, entry->name);
        else
            printf("%12s  %-30s %s\n", "", entry->modified, entry->name);
        return;
    }
    line = cJSON_CreateObject();
    json_add_text(line, "name", entry->name, &ok);
    if (entry->n_bytes >= 0)
        json_add_i64(line, "bytes", entry->n_bytes, &ok);
    json_add_text(line, "modified", entry->modified, &ok);
    text = ok ? json_line(line) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(line);
}

static enum err list(struct hub *h, const struct cli *c, const struct hub_url *u, struct why *why)
{
    if (c->n_rest != 1)
        return why_set(why, ERR_INPUT, "hub list: expected one URL");
    return hub_list(h, u, print_entry, (void *)c, why);
}

typedef enum err hub_verb(struct hub *h, const struct cli *c, const struct hub_url *u, struct why *why);

static int run(const struct cli *c, hub_verb *verb, double wait_s)
{
    static time_t last;
    struct why why = {""};
    struct hub_url u;
    struct hub *h = NULL;
    struct hub_options o = {.connect_s = cli_real(c, "connect-timeout"),
                            .stall_s = cli_real(c, "timeout"),
                            .n_tries = (int)cli_int(c, "tries"),
                            .wait_s = wait_s,
                            .arg = &last};
    enum err e;

    last = time(NULL);
    if (isatty(STDERR_FILENO) && !(cmd_has(c, "quiet") && cli_flag(c, "quiet")))
        o.progress = show_progress;
    e = c->n_rest ? hub_url_parse(c->rest[0], &u, &why)
                  : why_set(&why, ERR_INPUT, "no URL: expected e.g. https://hub.example.org/tune/rk3399.jsonl");
    if (!e)
        e = hub_open(&o, &h, &why);
    if (!e)
        e = verb(h, c, &u, &why);
    hub_close(h);
    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

static int run_push(const struct cli *c)
{
    return run(c, push, cli_real(c, "wait"));
}

static int run_pull(const struct cli *c)
{
    return run(c, pull, 0);
}

static int run_list(const struct cli *c)
{
    return run(c, list, 0);
}

static const struct command cmd_hub_push = {
    .name = "push",
    .summary = "add a log's records to the one there, or store a bundle",
    .usage = "hub push URL LOG...|BUNDLE [options]",
    .example = "tune hub push https://hub.example.org/tune/rk3399.jsonl out/run.jsonl",
    .options = push_options,
    .run = run_push,
};

static const struct command cmd_hub_pull = {
    .name = "pull",
    .summary = "fetch a log, or a bundle (its URL ends with '/')",
    .usage = "hub pull URL -o PATH [options]",
    .example = "tune hub pull s3://farm/bundles/resnet-18/ -o bundle",
    .options = pull_options,
    .run = run_pull,
};

static const struct command cmd_hub_list = {
    .name = "list",
    .summary = "what lies in a folder: bytes, time, name",
    .usage = "hub list URL [options]",
    .example = "tune hub list https://hub.example.org/tune/",
    .options = list_options,
    .run = run_list,
};

static const struct command *const verbs[] = {&cmd_hub_push, &cmd_hub_pull, &cmd_hub_list, NULL};

const struct command cmd_hub = {
    .name = "hub",
    .summary = "share logs and bundles through a web server or an S3 store",
    .usage = "hub push|pull|list URL [FILE...] [options]",
    .example = "tune hub push https://hub.example.org/tune/rk3399.jsonl out/run.jsonl",
    .verbs = verbs,
};
