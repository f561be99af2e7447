/* SPDX-License-Identifier: MIT */
/* cmd.h - the subcommands of `tune` by table: one file each, and what they share. */
#ifndef TUNE_CLI_CMD_H
#define TUNE_CLI_CMD_H

#include "core/buf.h"
#include "core/command.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/network.h"
#include "kernels/template.h"
#include "kernels/workload.h"
#include "tracker/client.h"
#include "tracker/protocol.h"
#include "tuner/job.h"
#include "cli/localfarm.h"
#include "tuner/progress.h"
#include "tuner/session.h"
#include "search/strategy.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the shell sees; fixed for ever. */
enum exit_code { EXIT_FINE = 0, EXIT_USAGE = 1, EXIT_NO_CONFIG = 2, EXIT_UNREACHABLE = 3, EXIT_INTERRUPTED = 4 };

extern const struct command tune_command; /* the program, its subcommands by table */

/* Options that several verbs share: one spelling, one help line. */
#define OPT_TRACKER                                                                                                    \
    CLI_OPTION("tracker", CLI_TEXT, .argument = "URL", .environment = "TUNE_TRACKER",                                  \
               .help = "the tracker, e.g. tcp://farm:9477; without one a private farm is started")
#define OPT_TRACKER_DEFAULT                                                                                            \
    CLI_OPTION("tracker", CLI_TEXT, .argument = "URL", .otherwise = PROTOCOL_DEFAULT_URL,                              \
               .environment = "TUNE_TRACKER", .help = "the tracker")
#define OPT_KEY_FILE                                                                                                   \
    CLI_OPTION("key-file", CLI_TEXT, .argument = "FILE", .environment = "TUNE_KEY_FILE",                               \
               .help = "shared key of the farm (tune keygen)"),                                                        \
        CLI_OPTION("ca", CLI_TEXT, .argument = "FILE", .environment = "TUNE_CA_FILE",                                  \
                   .help = "of tls+tcp://: the authority that vouches for the tracker"),                               \
        CLI_OPTION("cert", CLI_TEXT, .argument = "FILE", .environment = "TUNE_CERT_FILE",                              \
                   .help = "of a tracker that asks for it: one's own certificate and private key")
#define OPT_KEY                                                                                                        \
    CLI_OPTION("key", CLI_TEXT, .argument = "SLUG",                                                                    \
               .help = "device key, e.g. rk3399-mali; not needed when there is only one")
#define OPT_DEVICE                                                                                                     \
    CLI_OPTION("device", CLI_TEXT, .argument = "BACKEND", .otherwise = "opencl",                                       \
               .help = "device of the private farm, as of tune-agent: opencl:0.1, cuda:0, c:gcc, replay:FILE; of "     \
                       "--kernel-spec by its language")
#define OPT_THREADS                                                                                                    \
    CLI_OPTION("threads", CLI_INT, .argument = "N", .min = 1, .max = 1024,                                             \
               .help = "host threads of a CPU device in the private farm")
#define OPT_NVRTC                                                                                                      \
    CLI_OPTION("nvrtc", CLI_TEXT, .argument = "PATH", .environment = "TUNE_NVRTC",                                     \
               .help = "of a CUDA device in the private farm: its compiler, libnvrtc or its folder")
/* The way to a device: a tracker's, or a private farm's. */
#define OPT_LINK OPT_TRACKER, OPT_KEY_FILE, OPT_DEVICE, OPT_THREADS, OPT_NVRTC
#define OPT_JSON CLI_OPTION("json", CLI_FLAG, .help = "one JSON object per line on standard output")
#define OPT_VERBOSE CLI_OPTION("verbose", CLI_COUNT, .letter = 'v', .help = "say more; -vv more still")
#define OPT_QUIET CLI_OPTION("quiet", CLI_FLAG, .letter = 'q', .help = "no progress, only results and errors")
#define OPT_KERNEL_DIR                                                                                                 \
    CLI_OPTION("kernel-dir", CLI_TEXT, .argument = "DIR", .help = "kernel texts from here instead of the built-in ones")
#define OPT_TEMPLATE_ONE                                                                                               \
    CLI_OPTION("template", CLI_TEXT, .argument = "ID", .word = template_id_at, .loose = true,                          \
               .help = "this template; else the one that fits best")
#define OPT_TEMPLATE                                                                                                   \
    CLI_OPTION("template", CLI_TEXT, .argument = "ID[,ID]", .word = template_id_at, .many = true, .loose = true,       \
               .help = "only these templates; else those that fit best")
#define OPT_DIM                                                                                                        \
    CLI_OPTION("dim", CLI_TEXT, .argument = "NAME=N",                                                                  \
               .help = "size of a dimension that the model leaves open, or a range of them, 1..512; may be repeated; " \
                       "the batch is 1 without it")
#define OPT_NETWORK                                                                                                    \
    CLI_OPTION("network", CLI_TEXT, .argument = "NAME|FILE", .word = network_name_at, .open = true,                    \
               .help = "the layers of a network: a file (.graph, .net, .onnx) or a name"),                             \
        OPT_DIM,                                                                                                       \
        CLI_OPTION("dtype", CLI_TEXT, .argument = "T", .word = network_dtype_at,                                       \
                   .help = "type of the network's layers"),                                                            \
        CLI_OPTION("layout", CLI_TEXT, .argument = "L", .word = network_layout_at, .many = true,                       \
                   .help = "layout of the network's layers; with --whole those that may be chosen")
#define OPT_STRATEGY                                                                                                   \
    CLI_OPTION("strategy", CLI_TEXT, .alias = "tuner", .argument = "NAME", .otherwise = "auto",                        \
               .word = strategy_name_at, .open = true,                                                                 \
               .help = "how the next configs are chosen; exec:COMMAND: by a process of yours")
#define OPT_SEED(what)                                                                                                 \
    CLI_OPTION("seed", CLI_INT, .argument = "N", .otherwise = "0", .max = JSON_EXACT_MAX, .help = what)
#define OPT_TIMING                                                                                                     \
    CLI_OPTION("repeat", CLI_INT, .argument = "N", .otherwise = "5", .min = 1, .max = 60,                              \
               .help = "timed rounds of a config"),                                                                    \
        CLI_OPTION("min-repeat-ms", CLI_REAL, .argument = "MS", .otherwise = "5", .max = 60000,                        \
                   .help = "shortest time of one round"),                                                              \
        CLI_OPTION("warmup", CLI_INT, .argument = "N", .otherwise = "1", .max = 1000,                                  \
                   .help = "untimed calls before each round"),                                                         \
        CLI_OPTION("build-timeout", CLI_DURATION, .argument = "T", .otherwise = "60s", .min = 0.1, .max = 3600,        \
                   .help = "longest build of a config"),                                                               \
        CLI_OPTION("data-seed", CLI_INT, .argument = "N", .otherwise = "0", .max = UINT32_MAX,                         \
                   .help = "of the data that results are checked on; 0: drawn anew, told in each record"),             \
        CLI_OPTION("run-timeout", CLI_DURATION, .argument = "T", .otherwise = "10s", .min = 0.1, .max = 3600,          \
                   .help = "longest run of a config")
#define OPT_KERNEL_SPEC                                                                                                \
    CLI_OPTION("kernel-spec", CLI_TEXT, .argument = "FILE",                                                            \
               .help = "a kernel of your own: a T1 job file instead of workloads")
#define OPT_JOB                                                                                                        \
    OPT_KEY, OPT_TEMPLATE, OPT_NETWORK,                                                                                \
        CLI_OPTION("whole", CLI_FLAG, .help = "all that one call of the network needs"), OPT_KERNEL_SPEC,              \
        CLI_OPTION("trials", CLI_TEXT, .argument = "N[,N]", .otherwise = "100",                                        \
                   .help = "configs to measure of each workload; a network shares the sum"),                           \
        CLI_OPTION("time", CLI_DURATION, .argument = "T", .min = 1, .max = 31536000,                                   \
                   .help = "stop searching after this time, e.g. 10m; defaults and finals are measured all the same"), \
        CLI_OPTION("patience", CLI_INT, .alias = "early-stopping", .argument = "N", .min = 1, .max = 1000000,          \
                   .help = "stop a workload after N trials without a better one"),                                     \
        CLI_OPTION("target", CLI_TEXT, .argument = "T",                                                                \
                   .help = "stop a workload at this rate or time: 500GFLOPS, 1.2ms"),                                  \
        CLI_OPTION("min-gain", CLI_TEXT, .argument = "P%",                                                             \
                   .help = "stop a workload when the next 100 trials are expected to gain less"),                      \
        CLI_OPTION("priority", CLI_INT, .argument = "N", .otherwise = "0", .min = -3, .max = 3,                        \
                   .help = "each step doubles the job's part of what its user gets of a shared farm"),                 \
        OPT_STRATEGY,                                                                                                  \
        CLI_OPTION("objective", CLI_TEXT, .argument = "NAME", .otherwise = "time", .word = job_objective_at,           \
                   .help = "what is to be least; edp is energy times time"),                                           \
        CLI_OPTION("exactness", CLI_TEXT, .argument = "NAME", .otherwise = "any", .word = job_exactness_at,            \
                   .help = "plain: only templates that do all of the operator's sums, no Winograd"),                   \
        OPT_SEED("repeats a run, given the same times"), OPT_TIMING

/* Prints "tune: WORDS" and maps the error to an exit code. */
int cmd_fail(enum err e, const struct why *why);

/* Ctrl-C: the first is noted here (see interrupted), the second ends the process at once. */
void cmd_catch_interrupts(void);
bool cmd_interrupted(void);

/* ", 9.5 GFLOPS", or "" of what has no FLOPs. */
struct speed_words {
    char text[32];
};
struct speed_words cmd_speed(const struct record *r);

/* From now on it is an interrupt, too, when nobody reads standard output any more: who wanted the events has ended. */
void cmd_need_reader(void);

/* From now on computing expected values is told on standard error when it takes long, and Ctrl-C ends it. */
void cmd_watch_computing(void);

/* The way to a tracker: the one named by --tracker, or a private farm. */
struct link {
    struct client *client;
    struct localfarm farm;
    bool is_private, told_waiting;
};

/* Opens --tracker (with --key-file) as `role`; where the table has --device and no tracker is named, starts a private
 * farm. */
enum err link_open(struct link *l, const struct cli *c, const char *role, struct why *why);
/* ERR_CHILD, with its last words, when a part of the private farm has ended by itself; `link` is a struct link. */
enum err link_check(void *link, struct why *why);
/* Ends the client and the private farm. */
void link_close(struct link *l);

/* What stands beside options: from `least` to `most` words, each the id of one of `kinds` ("j" a job, "t" a trial,
 * "jt" either; "" = any word). ERR_INPUT, with an example. Before anybody is dialled. */
enum err cmd_check_words(const struct cli *c, int least, int most, const char *kinds, struct why *why);

/* A whole subcommand that asks a tracker once, its words judged before as by cmd_check_words: opens the link, calls
 * `ask`, closes it; gives the exit code. */
int cmd_ask(const struct cli *c, int least, int most, const char *kinds,
            enum err (*ask)(struct client *client, const struct cli *c, struct why *why));

/* Fills a job from OPT_JOB and the workloads in `rest` (or --network, or --device replay:FILE). ERR_INPUT with words.
 */
enum err cmd_job(const struct cli *c, struct job *out, struct why *why);

/* Adds a workload of the command line to a job, in its canonical text. ERR_INPUT with words, also for one that it has.
 */
enum err cmd_add_workload(struct job *j, const char *text, struct why *why);

/* Makes the network of --network known to network_find and graph_find, under the words given there, where it is a file
 * (.graph, .net, .onnx); nothing for a built-in one or none. ERR_NOT_FOUND: no file, and no network of that name. */
enum err cmd_network(const struct cli *c, struct why *why);

/* Appends the graph of an .onnx file, its open dimensions from --dim where the command has that option. ERR_UNSUPPORTED
 * where this tune is built without ONNX. */
enum err cmd_import_graph(const struct cli *c, const char *path, struct buf *out, struct why *why);

/* The model of an .onnx file at sizes of the range that a --dim is; *out NULL where none is one, else for
 * cmd_range_free. ERR_UNSUPPORTED: what is not exact when it is padded, by name; ERR_INPUT: no such dimension. */
struct graph_range;
enum err cmd_import_range(const struct cli *c, const char *path, struct graph_range **out, struct why *why);
void cmd_range_free(struct graph_range *r); /* accepts NULL */
/* The same of --network; none of others than .onnx files. */
enum err cmd_range(const struct cli *c, struct graph_range **out, struct why *why);

/* Its name for people and for bundles: of a file its own name without folder and ending. Writes into `out`; NULL where
 * there is no --network. */
const char *cmd_network_name(const struct cli *c, char *out, size_t n);

/* A kernel of one's own from a job file: layer, text and files of the job; `j` has none yet. Its notes are told on
 * standard error unless `quiet`; its Budget stands in for --trials and --time where those are not given. */
enum err cmd_kernel_spec(const struct cli *c, const char *path, struct job *j, struct why *why);

/* --device of the private farm; where it is not given and --kernel-spec is, the one of that kernel's language. */
const char *cmd_device_named(const struct cli *c);

/* The files of a job's own kernel, which the tracker keeps since it was submitted; nothing for other jobs. */
enum err cmd_fetch_files(struct client *c, struct job *j, struct why *why);

/* The kernel of a job file, for commands that need no device; its notes are told as by cmd_kernel_spec. spec_free it.
 */
enum err cmd_spec_open(const struct cli *c, const char *path, struct spec **out, struct why *why);

/* Is the job file one, and `config` (NULL = none is named) a valid config of it? Told before a farm is started; without
 * its notes. */
enum err cmd_spec_check(const char *path, const char *config, struct why *why);

/* Timing and limits from OPT_TIMING. */
void cmd_timing(const struct cli *c, struct job *out);

/* True when --quiet or --json is given, where the table has them. */
bool cmd_has(const struct cli *c, const char *option);

/* Sends the job; `lease`: takes its lease at once. */
enum err cmd_submit_job(struct client *c, const struct job *j, int64_t priority, bool lease, char job_id[40],
                        int64_t *token, struct why *why);

/* Ends a job of cmd_submit_job at the tracker; what goes wrong then no longer matters. */
void cmd_end_job(struct client *c, const char *job_id, int64_t token, const char *state);

/* The number of valid configs of a sealed space; *exact false: an estimate, their set takes more than `max_bytes`. */
double cmd_count_valid(const struct space *s, size_t max_bytes, bool *exact);

/* Prints a damaged line of a log: "tune: FILE:12: words". */
void cmd_log_warning(const char *path, int64_t i_line, const char *words, void *arg);

/* A workload and its best record, NULL where it has none, in two lines. */
void cmd_print_workload(const char *workload, const struct record *r);

/* The same of all that a set has. ERR_NOMEM. */
enum err cmd_print_best(const struct best_set *best);

/* Runs the session to its end, prints the table or the explanation, closes the job; an exit_code. `close_state` of an
 * interrupted run: "cancelled", or "" to release it. */
int cmd_drive(struct session *s, struct progress *p, const char *interrupted_state);

/* Waits until the private farm has its device, then chooses the one of `key`. */
enum err cmd_wait_device(struct link *l, const char *key, struct device_choice *out, struct why *why);

/* The device that spaces and programs are made for: the tracker's or, with no tracker, the private farm.s. */
enum err cmd_device(const struct cli *c, struct device_choice *out, struct why *why);

/* Parses a workload as a person writes it: of weights=FILE.npy a copy is kept in the store of weights, the workload
 * names it by its hash. ERR_INPUT and what reading the file says. */
enum err cmd_workload(const char *text, struct workload *out, struct why *why);

#endif
