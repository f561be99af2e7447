/* cmd.h - the subcommands of `tune` by table: one file each, and what they share. */
#ifndef TUNE_TUNER_CMD_CMD_H
#define TUNE_TUNER_CMD_CMD_H

#include "core/cli.h"
#include "core/err.h"
#include "kernels/workload.h"
#include "tracker/client.h"
#include "tuner/job.h"
#include "tuner/localfarm.h"
#include "tuner/progress.h"
#include "tuner/session.h"

/* What the shell sees; fixed for ever. */
enum exit_code { EXIT_FINE = 0, EXIT_USAGE = 1, EXIT_NO_CONFIG = 2, EXIT_UNREACHABLE = 3, EXIT_INTERRUPTED = 4 };

struct subcommand {
    const char *name, *summary;       /* "run", one line */
    const char *usage;                /* what follows "tune " in the usage line */
    const char *example;              /* one whole command line */
    const struct cli_option *options; /* ended by name == NULL */
    /* Does the work and returns an exit_code; prints errors with cmd_fail. */
    int (*run)(const struct cli *c);
    /* "tune NAME VERB ...": the verbs, NULL-ended, each with options of its own; then `options` and `run` are NULL. */
    const struct subcommand *const *verbs;
};

extern const struct subcommand *const subcommand_table[]; /* NULL-ended */

/* Options that several verbs share: one spelling, one help line. */
#define OPT_TRACKER                                                                                                    \
    {                                                                                                                  \
        "tracker", 0, NULL, CLI_TEXT, "URL", NULL, "TUNE_TRACKER", 0, 0,                                               \
            "the tracker, e.g. tcp://farm:9477; without one a private farm is started"                                 \
    }
#define OPT_TRACKER_DEFAULT                                                                                            \
    {                                                                                                                  \
        "tracker", 0, NULL, CLI_TEXT, "URL", "tcp://127.0.0.1:9477", "TUNE_TRACKER", 0, 0, "the tracker"               \
    }
#define OPT_KEY_FILE                                                                                                   \
    {                                                                                                                  \
        "key-file", 0, NULL, CLI_TEXT, "FILE", NULL, "TUNE_KEY_FILE", 0, 0, "shared key of the farm (tune keygen)"     \
    }
#define OPT_KEY                                                                                                        \
    {                                                                                                                  \
        "key", 0, NULL, CLI_TEXT, "SLUG", NULL, NULL, 0, 0,                                                            \
            "device key, e.g. rk3399-mali; not needed when there is only one"                                          \
    }
#define OPT_DEVICE                                                                                                     \
    {                                                                                                                  \
        "device", 0, NULL, CLI_TEXT, "BACKEND", "opencl", NULL, 0, 0,                                                  \
            "device of the private farm: opencl[:p.d], cuda[:i] or replay:FILE"                                        \
    }
#define OPT_THREADS                                                                                                    \
    {                                                                                                                  \
        "threads", 0, NULL, CLI_INT, "N", NULL, NULL, 1, 1024, "host threads of a CPU device in the private farm"      \
    }
#define OPT_NVRTC                                                                                                      \
    {                                                                                                                  \
        "nvrtc", 0, NULL, CLI_TEXT, "PATH", NULL, "TUNE_NVRTC", 0, 0,                                                  \
            "of a CUDA device in the private farm: its compiler, libnvrtc or its folder"                               \
    }
#define OPT_JSON                                                                                                       \
    {                                                                                                                  \
        "json", 0, NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0, "one JSON object per line on standard output"               \
    }
#define OPT_VERBOSE                                                                                                    \
    {                                                                                                                  \
        "verbose", 'v', NULL, CLI_COUNT, NULL, NULL, NULL, 0, 0, "say more; -vv more still"                            \
    }
#define OPT_QUIET                                                                                                      \
    {                                                                                                                  \
        "quiet", 'q', NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0, "no progress, only results and errors"                   \
    }
#define OPT_KERNEL_DIR                                                                                                 \
    {                                                                                                                  \
        "kernel-dir", 0, NULL, CLI_TEXT, "DIR", NULL, NULL, 0, 0,                                                      \
            "kernel texts from here instead of the built-in ones"                                                      \
    }
#define OPT_TEMPLATE_ONE                                                                                               \
    {                                                                                                                  \
        "template", 0, NULL, CLI_TEXT, "ID", NULL, NULL, 0, 0, "this template; else the one that fits best"            \
    }
#define OPT_TEMPLATE                                                                                                   \
    {                                                                                                                  \
        "template", 0, NULL, CLI_TEXT, "ID[,ID]", NULL, NULL, 0, 0, "only these templates; else those that fit best"   \
    }
#define OPT_TIMING                                                                                                     \
    {"repeat", 0, NULL, CLI_INT, "N", "5", NULL, 1, 60, "timed rounds of a config"},                                   \
        {"min-repeat-ms", 0, NULL, CLI_REAL, "MS", "5", NULL, 0, 60000, "shortest time of one round"},                 \
        {"warmup", 0, NULL, CLI_INT, "N", "1", NULL, 0, 1000, "untimed calls before each round"},                      \
        {"build-timeout", 0, NULL, CLI_DURATION, "T", "60s", NULL, 0.1, 3600, "longest build of a config"},            \
    {                                                                                                                  \
        "run-timeout", 0, NULL, CLI_DURATION, "T", "10s", NULL, 0.1, 3600, "longest run of a config"                   \
    }
/* The names in kernels/networks; test_docs holds them against the folder. */
#define NETWORK_LIST                                                                                                   \
    "dcn-resnet-101 drn-c-26 inception-v3 mobilenet-v1\n"                                                              \
    "                          resnet-18 resnet-18-tv resnet-50 resnet-50-v1b resnext-50-32x4d vgg-16 vgg-19"
#define OPT_JOB                                                                                                         \
    OPT_KEY, OPT_TEMPLATE,                                                                                              \
        {"network", 0, NULL, CLI_TEXT, "NAME", NULL, NULL, 0, 0, "all layers of a network: " NETWORK_LIST},             \
        {"dtype", 0, NULL, CLI_TEXT, "T", NULL, NULL, 0, 0, "the network's layers in f16 or i8 instead of f32"},        \
        {"layout", 0, NULL, CLI_TEXT, "L", NULL, NULL, 0, 0, "the network's layers in nchw4c, nchw8c or nchw16c"},      \
        {"whole", 0,                                                                                                    \
         NULL,    CLI_FLAG,                                                                                             \
         NULL,    NULL,                                                                                                 \
         NULL,    0,                                                                                                    \
         0,       "all that one call of the network needs; --layout takes a list then: nchw,nchw16c"},                  \
        {"kernel-spec", 0,    NULL, CLI_TEXT, "FILE",                                                                   \
         NULL,          NULL, 0,    0,        "a kernel of your own: a T1 job file instead of workloads"},              \
        {"trials", 0,    NULL, CLI_TEXT, "N[,N]",                                                                       \
         "100",    NULL, 0,    0,        "configs to measure of each workload; a network shares the sum"},              \
        {"time", 0, NULL, CLI_DURATION, "T", NULL, NULL, 1, 31536000, "stop proposing after this time, e.g. 10m"},      \
        {"patience",                                                                                                    \
         0,                                                                                                             \
         "early-stopping",                                                                                              \
         CLI_INT,                                                                                                       \
         "N",                                                                                                           \
         NULL,                                                                                                          \
         NULL,                                                                                                          \
         1,                                                                                                             \
         1000000,                                                                                                       \
         "stop a workload after N trials without a better one"},                                                        \
        {"target", 0, NULL, CLI_TEXT, "T", NULL, NULL, 0, 0, "stop a workload at this rate or time: 500GFLOPS, 1.2ms"}, \
        {"min-gain", 0,    NULL, CLI_TEXT, "P%",                                                                        \
         NULL,       NULL, 0,    0,        "stop a workload when the next 100 trials are expected to gain less"},       \
        {"strategy", 0,    "tuner", CLI_TEXT, "NAME",                                                                   \
         "auto",     NULL, 0,       0,        "auto, model, genetic, annealing, diffevo, pso, ils, random, grid"},      \
        {"objective", 0,    NULL, CLI_TEXT, "NAME",                                                                     \
         "time",      NULL, 0,    0,        "what is to be least: time, energy, or edp (energy times time)"},           \
        {"seed", 0, NULL, CLI_INT, "N", "0", NULL, 0, 9007199254740992.0, "repeats a run, given the same times"},       \
        OPT_TIMING
#define OPT_END                                                                                                        \
    {                                                                                                                  \
        NULL, 0, NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0, NULL                                                          \
    }

/* Prints "tune: WORDS" and maps the error to an exit code. */
int cmd_fail(enum err e, const struct why *why);

/* Ctrl-C: the first is noted here (see interrupted), the second ends the process at once. */
void cmd_catch_interrupts(void);
bool cmd_interrupted(void);

/* From now on computing expected values is told on standard error when it takes long, and Ctrl-C ends it. */
void cmd_watch_computing(void);

/* The way to a tracker: the one named by --tracker, or a private farm. */
struct link {
    struct client *client;
    struct localfarm farm;
    bool is_private;
    char url[256];
};

/* Opens --tracker (with --key-file) as `role`; where the table has --device and no tracker is named, starts a private
 * farm. */
enum err link_open(struct link *l, const struct cli *c, const char *role, struct why *why);
/* Ends the client and the private farm. */
void link_close(struct link *l);

/* A whole subcommand that asks a tracker once: opens the link, calls `ask`, closes it; gives the exit code. */
int cmd_ask(const struct cli *c, enum err (*ask)(struct client *client, const struct cli *c, struct why *why));

/* Fills a job from OPT_JOB and the workloads in `rest` (or --network, or --device replay:FILE). ERR_INPUT with words.
 */
enum err cmd_job(const struct cli *c, struct job *out, struct why *why);

/* A kernel of one's own from a job file: layer, text and files of the job; `j` has none yet. Its notes are told on
 * standard error unless `quiet`; its Budget stands in for --trials and --time where those are not given. */
enum err cmd_kernel_spec(const struct cli *c, const char *path, struct job *j, struct why *why);

/* Timing and limits from OPT_TIMING. */
void cmd_timing(const struct cli *c, struct job *out);

/* True when --quiet or --json is given, where the table has them. */
bool cmd_has(const struct cli *c, const char *option);

/* Sends the job; `lease`: takes its lease at once. */
enum err cmd_submit_job(struct client *c, const struct job *j, bool lease, char job_id[40], int64_t *token,
                        struct why *why);

/* Ends a job of cmd_submit_job at the tracker; what goes wrong then no longer matters. */
void cmd_end_job(struct client *c, const char *job_id, int64_t token, const char *state);

/* A short title of a job for lists. */
void cmd_job_title(const struct job *j, char *out, size_t n_out);

/* Prints a damaged line of a log: "tune: FILE:12: words". */
void cmd_log_warning(const char *path, int64_t i_line, const char *words, void *arg);

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
