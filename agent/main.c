/* SPDX-License-Identifier: MIT */
/* tune-agent - measures trials of a tracker on one device of this machine. docs/agent.md. */
#include "agent/builder.h"
#include "agent/child.h"
#include "agent/farm.h"
#include "agent/lock.h"
#include "agent/look.h"
#include "core/buf.h"
#include "core/command.h"
#include "core/clock.h"
#include "core/proc.h"
#include "tracker/protocol.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define BYE_MS 1500 /* for goodbye to a tracker that may be gone */
#define MAX_NAMES 256
#define EXIT_USAGE 1
#define EXIT_UNREACHABLE 3

static const char *device_name_at(size_t i)
{
    return device_table[i] ? device_table[i]->name : NULL;
}

static const char *cage_mode_at(size_t i)
{
    static const char *const modes[] = {"try", "must", "off", NULL};

    return modes[i];
}

static const struct cli_option options[] = {
    CLI_OPTION("tracker", CLI_TEXT, .argument = "URL", .otherwise = "tcp://127.0.0.1:9477",
               .environment = "TUNE_TRACKER", .help = "the tracker to work for"),
    CLI_OPTION("device", CLI_TEXT, .argument = "DEVICE", .otherwise = "opencl", .word = device_name_at, .loose = true,
               .help = "one of those below"),
    CLI_OPTION("key", CLI_TEXT, .argument = "SLUG", .environment = "TUNE_KEY",
               .help = "the farm's name for this kind of device (default: made from its name)"),
    CLI_OPTION("key-file", CLI_TEXT, .argument = "FILE", .environment = "TUNE_KEY_FILE",
               .help = "shared secret of the farm, from `tune keygen`"),
    CLI_OPTION("ca", CLI_TEXT, .argument = "FILE", .environment = "TUNE_CA_FILE",
               .help = "of tls+tcp://: the authority that vouches for the tracker, from `tune keygen --ca`"),
    CLI_OPTION("cert", CLI_TEXT, .argument = "FILE", .environment = "TUNE_CERT_FILE",
               .help = "of a tracker that asks for it: this agent's certificate, from `tune keygen --ca`"),
    CLI_OPTION("name", CLI_TEXT, .argument = "ID", .help = "of this agent (default: host, key and a number)"),
    CLI_OPTION("threads", CLI_INT, .argument = "N", .otherwise = "0", .max = 1024,
               .help = "worker threads of a CPU device; 0 = all CPUs but one"),
    CLI_OPTION("batch", CLI_INT, .argument = "N", .otherwise = "8", .min = 1, .max = TIMING_MAX_BATCH,
               .help = "trials leased and timed together"),
    CLI_OPTION(
        "builders", CLI_INT, .argument = "N", .otherwise = "0", .max = RIG_MAX_BUILDERS,
        .help = "builds at the same time; 0 = as many as there are CPUs to spare (OpenCL devices other than CPUs: 1)"),
    CLI_OPTION(
        "build-for", CLI_TEXT, .argument = "LIST",
        .help =
            "with --no-device: compile for devices elsewhere, e.g. sm_75,sm_90; sm_50 to sm_70 need CUDA 12's NVRTC"),
    CLI_OPTION("part", CLI_INT, .argument = "I", .otherwise = "0", .max = PARTS_MOST,
               .help = "of a builder for a farm in parts (tune-tracker --parts): the one it builds for"),
    CLI_OPTION("no-device", CLI_FLAG, .help = "serve no device (see --build-for)"),
    CLI_OPTION("no-build", CLI_FLAG, .help = "of a CUDA device: leave compiling to builders"),
    CLI_OPTION("nvrtc", CLI_TEXT, .argument = "PATH", .environment = "TUNE_NVRTC",
               .help = "compiler for CUDA: libnvrtc or its folder (default: the newest that is found and fits)"),
    CLI_OPTION(
        "must-build", CLI_FLAG,
        .help = "leave, saying why, when kernels cannot be compiled here: no room in the work directory, no compiler "
                "for a CUDA device"),
    CLI_OPTION("no-overlap", CLI_FLAG, .help = "never build while timing"),
    CLI_OPTION("mix", CLI_FLAG, .help = "register although the key holds another fingerprint"),
    CLI_OPTION("max-temperature", CLI_REAL, .argument = "C", .otherwise = "0", .max = 150,
               .help = "before timing wait until the device is this cool, at most 5 min; 0 = do not"),
    CLI_OPTION("cooldown", CLI_TEXT, .argument = "S|auto", .otherwise = "0",
               .help = "seconds to pause before each batch is timed; auto = while the device throttles, at most 5 min"),
    CLI_OPTION("child-wrapper", CLI_TEXT, .argument = "CMD",
               .help = "start children through this command, words cut at spaces: an emulator, nice, taskset"),
    CLI_OPTION("cage", CLI_TEXT, .argument = "MODE", .otherwise = "try", .environment = "TUNE_CAGE",
               .word = cage_mode_at,
               .help = "shut children in as far as the system can, leave when it cannot, or not at all"),
    CLI_OPTION("cage-sees", CLI_TEXT, .argument = "PATHS", .environment = "TUNE_CAGE_SEES",
               .help = "what children may read beside the usual, between colons: a driver in a folder of its own"),
    CLI_OPTION("self-test", CLI_FLAG,
               .help = "describe the device, run its canary, print one line and leave: 0 when it works"),
    CLI_OPTION("look", CLI_FLAG, .help = "say what this machine has for such a device and leave (tune doctor)"),
    CLI_OPTION("json", CLI_FLAG, .help = "of --look and --self-test: an object a line (docs/agent.md)"),
    CLI_OPTION("verbose", CLI_COUNT, .letter = 'v', .help = "tell of each trial (-v), of more (-vv)"),
    CLI_OPTION("quiet", CLI_FLAG, .letter = 'q', .help = "only errors"),
    CLI_OPTION("version", CLI_FLAG, .help = "print the version and leave"),
    CLI_END,
};

static const char *device_at(size_t i)
{
    return device_table[i] ? device_table[i]->summary : NULL;
}

static const struct command_section sections[] = {
    {.title = "devices", .line = device_at},
    {.title = "signals", .text = "SIGTERM ends its children, gives leases back and removes temporary files."},
    {.title = NULL}};

static const struct command program = {
    .name = "tune-agent",
    .summary = "build, check and time kernels on one device of this machine for a tuning farm",
    .usage = "[options]",
    .example = "tune-agent --tracker tcp://farm:9477 --key-file farm.key --key rk3399-mali",
    .about =
        "An agent leases trials from a tracker, builds and verifies each program in a child process, times it beside "
        "the "
        "anchor, and sends the record. It survives what its children do. It dials out only, so it may sit behind NAT, "
        "and reconnects for ever.",
    .options = options,
    .sections = sections,
    .section = 8,
    .see_also = "tune(1), tune-tracker(8)",
};

static atomic_bool stop;
static atomic_bool opened; /* the rig is whole, another thread may end it */

static const char *looked_at; /* the device of a self-test in JSON; NULL: words are for people */

static void log_line(int level, const char *line, void *arg)
{
    const int *verbosity = arg;
    char plain[1500];

    snprintf(plain, sizeof plain, "%s", line); /* it quotes programs, compilers and children */
    text_plain(plain, "");
    if (level <= *verbosity && looked_at)
        look_tell(FINDING_NOTE, looked_at, plain, NULL);
    else if (level <= *verbosity)
        fprintf(stderr, "tune-agent: %s\n", plain);
}

static atomic_bool in_trouble; /* what ends this process */

/* The signal's own thread ends the process in good order. */
static void quit(bool well, void *arg)
{
    (void)arg;
    if (!well)
        atomic_store(&in_trouble, true);
    kill(getpid(), SIGTERM);
}

static int verbosity_of(const struct cli *c)
{
    return cli_flag(c, "quiet") ? -1 : (int)cli_int(c, "verbose");
}

static int fail(const struct why *why, int code)
{
    if (looked_at)
        look_tell(FINDING_FAILED, looked_at, why->text, NULL);
    else
        fprintf(stderr, "tune-agent: %s\n", why->text);
    return code;
}

static int help(void)
{
    struct buf text;

    buf_init(&text, 65536);
    command_help(&program, &program, &text);
    fputs(buf_text(&text), stdout);
    buf_fini(&text);
    return 0;
}

/* ---- what the agent calls itself ---- */

static void default_key(const struct device_desc *d, char *out, size_t n_out)
{
    char raw[sizeof d->api + sizeof d->name + 2];

    snprintf(raw, sizeof raw, "%s-%s", d->api, d->name);
    lock_slug_of(raw, out, n_out > 49 ? 49 : n_out);
}

/* "<host>-<key>-<i>" with the first i that no living agent of this machine has: the same again after a restart, so that
 * the tracker knows whose leases are void. The lock is held until the process ends. */
static enum err default_name(const char *key, char *out, size_t n_out, struct why *why)
{
    char host[24], slug[24], short_key[33];
    int n_closed = 0;

    if (gethostname(host, sizeof host) != 0)
        strcpy(host, "host");
    host[sizeof host - 1] = '\0';
    lock_slug_of(host, slug, sizeof slug);
    lock_slug_of(key, short_key, sizeof short_key);
    for (int i = 0; i < MAX_NAMES; i++) {
        char lock[LOCK_NAME_BYTES];
        enum err e;
        int fd;

        snprintf(out, n_out, "%s-%s-%d", slug, short_key, i);
        snprintf(lock, sizeof lock, "agent-%s", out);
        e = lock_open(lock, &fd, why);
        n_closed += e != ERR_OK; /* another user's, who shares it with nobody */
        if (e)
            continue;
        if (lock_take(fd, NULL, 0) == ERR_OK)
            return ERR_OK;
        lock_close(fd);
    }
    if (n_closed == MAX_NAMES)
        return ERR_IO;
    return why_set(why, ERR_BUSY, "%d agents of key %s run on this machine already", MAX_NAMES, key);
}

/* ---- life ---- */

static void end_now(int signal)
{
    (void)signal;
    _exit(0);
}

/* SIGALRM ends a goodbye that takes too long, whatever it is stuck in. */
static void limit_goodbye(void)
{
    const struct sigaction act = {.sa_handler = end_now};
    const struct itimerval in = {.it_value = {.tv_sec = BYE_MS / 1000, .tv_usec = BYE_MS % 1000 * 1000}};

    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &in, NULL);
}

/* Other threads may still be using the rig. One that is being opened sees `stop` and is undone by who opens it. */
static void stop_rig(struct rig *rig)
{
    atomic_store(&stop, true);
    for (int i = 0; i < 100 && !atomic_load(&opened); i++)
        clock_sleep_ms(10);
    if (!atomic_load(&opened))
        return;
    rig_kill(rig);
    clock_sleep_ms(60);
    rig_kill(rig);
    workdir_remove(&rig->dir);
}

static void block_signals(sigset_t *ends)
{
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    sigaddset(ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ends, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Everything but timing keeps off the CPUs that time. */
static void keep_off_timing_cpus(const struct rig *rig)
{
    cpu_set_t set;

    if (!rig->cpus.overlap || rig->threads == 0)
        return;
    CPU_ZERO(&set);
    for (int i = 0; i < rig->cpus.n_other; i++)
        CPU_SET((size_t)rig->cpus.other[i], &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* A thread of its own, because the main one may be waiting for a tracker when the signal comes. */
struct ender {
    struct rig *rig;
    _Atomic(struct farm *) farm;
    _Atomic(struct workshop *) workshop; /* instead of both */
    sigset_t ends;
    int *verbosity;
};

static void tell_counts(const char *what, int64_t done, int64_t failed, int *verbosity)
{
    char line[96];

    snprintf(line, sizeof line, "ended; %lld %s sent, %lld of them failures", (long long)done, what, (long long)failed);
    log_line(0, line, verbosity);
}

static void end_workshop(struct workshop *w, int *verbosity)
{
    int64_t done, failed;

    atomic_store(&stop, true);
    builder_stop(w);
    builder_counts(w, &done, &failed);
    tell_counts("builds", done, failed, verbosity);
    builder_bye(w);
    _exit(atomic_load(&in_trouble) ? EXIT_USAGE : 0);
}

static void *end_by_signal(void *arg)
{
    struct ender *x = arg;
    struct farm *farm;
    int signal;

    sigwait(&x->ends, &signal);
    limit_goodbye();
    if (atomic_load(&x->workshop))
        end_workshop(atomic_load(&x->workshop), x->verbosity);
    stop_rig(x->rig);
    farm = atomic_load(&x->farm);
    if (farm) {
        int64_t done, failed;

        farm_counts(farm, &done, &failed);
        tell_counts("records", done, failed, x->verbosity);
        farm_bye(farm);
    }
    _exit(atomic_load(&in_trouble) ? EXIT_USAGE : 0);
}

static int exit_code_of(enum err e)
{
    return e == ERR_UNREACHABLE ? EXIT_UNREACHABLE : EXIT_USAGE;
}

/* NULL: no kernels run in the children. */
static void tell_cage(const char *cage, int *verbosity)
{
    char line[CAGE_LINE_BYTES + 32];

    if (!cage)
        return;
    snprintf(line, sizeof line, "cage of the children: %s", cage);
    log_line(strcmp(cage, "whole") == 0 ? 1 : 0, line, verbosity);
}

static void greet(const struct rig *rig, const struct farm_options *o, int *verbosity)
{
    char line[512], words[CAGE_LINE_BYTES];

    snprintf(line, sizeof line, "%s serves key %s with %s (%s%s%d threads), fingerprint %.12s", o->name, o->key,
             rig->desc.name, rig->desc.driver, *rig->desc.driver ? ", " : "", rig->threads, rig->fingerprint.hex);
    log_line(0, line, verbosity);
    snprintf(line, sizeof line, "%d compile, %d build and verify at the same time", rig->n_forges, rig->n_builders);
    log_line(1, line, verbosity);
    tell_cage(rig_cage_words(rig, words), verbosity);
}

static int serve(const struct cli *c, struct rig *rig, struct ender *ender, int *verbosity)
{
    char key[65], name[96];
    struct farm_options o = {
        .url = cli_text(c, "tracker"),
        .key_file = cli_text(c, "key-file"),
        .tls = {cli_text(c, "ca"), cli_text(c, "cert")},
        .key = cli_text(c, "key"),
        .name = cli_text(c, "name"),
        .batch = (int)cli_int(c, "batch"),
        .overlap = !cli_flag(c, "no-overlap"),
        .mix = cli_flag(c, "mix"),
        .stop = &stop,
        .log = log_line,
        .quit = quit,
        .arg = verbosity,
    };
    struct why why = {""};
    struct farm *farm = NULL;
    enum err e = ERR_OK;

    if (!o.key) {
        default_key(&rig->desc, key, sizeof key);
        o.key = key;
    }
    if (!o.name) {
        e = default_name(o.key, name, sizeof name, &why);
        o.name = name;
    }
    if (!e)
        e = farm_open(&o, rig, &farm, &why);
    if (!e) {
        greet(rig, &o, verbosity);
        e = farm_start(farm, &why);
        atomic_store(&ender->farm, farm);
    }
    if (e) {
        stop_rig(rig);
        return fail(&why, exit_code_of(e));
    }
    for (;;)
        pause(); /* the children of this thread's making die with it; `ender` ends the process */
}

static const struct cage *plan_cage(const struct cli *c)
{
    static struct cage cage;

    if (strcmp(cli_text(c, "cage"), "off") == 0)
        return NULL;
    cage_plan(&cage, cli_text(c, "cage-sees"));
    cage.must = strcmp(cli_text(c, "cage"), "must") == 0;
    return &cage;
}

static int build(const struct cli *c, struct ender *ender, int *verbosity)
{
    char name[96], line[700];
    struct builder_options o = {.url = cli_text(c, "tracker"),
                                .key_file = cli_text(c, "key-file"),
                                .tls = {cli_text(c, "ca"), cli_text(c, "cert")},
                                .name = cli_text(c, "name"),
                                .part = cli_int(c, "part"),
                                .child_wrapper = cli_text(c, "child-wrapper"),
                                .cage = plan_cage(c),
                                .n_children = (int)cli_int(c, "builders"),
                                .stop = &stop,
                                .log = log_line,
                                .quit = quit,
                                .arg = verbosity};
    struct why why = {""};
    struct workshop *w = NULL;
    enum err e = builder_read_sms(cli_text(c, "build-for"), &o, &why);

    if (!e && !o.name) {
        e = default_name("builder", name, sizeof name, &why);
        o.name = name;
    }
    if (!e)
        e = builder_open(&o, &w, &why);
    if (!e) {
        atomic_store(&ender->workshop, w);
        e = builder_enlist(w, &why);
    }
    if (!e) {
        snprintf(line, sizeof line, "%s builds for %s with %s", o.name, cli_text(c, "build-for"), builder_compiler(w));
        log_line(0, line, verbosity);
        tell_cage(builder_cage(w), verbosity);
        e = builder_start(w, &why);
    }
    if (e)
        return atomic_load(&stop) ? 0 : fail(&why, exit_code_of(e));
    for (;;)
        pause();
}

/* What is said of a device by an agent that has none would be waited for in vain. */
static enum err check_builder_options(const struct cli *c, struct why *why)
{
    static const char *const of_devices[] = {"device",          "key",        "threads",    "batch",
                                             "no-build",        "must-build", "no-overlap", "mix",
                                             "max-temperature", "cooldown",   "self-test",  "look"};

    for (size_t i = 0; i < sizeof of_devices / sizeof *of_devices; i++)
        if (cli_get(c, of_devices[i])->given)
            return why_set(why, ERR_INPUT,
                           "--%s means nothing with --build-for and --no-device: a builder serves no device",
                           of_devices[i]);
    return ERR_OK;
}

/* One agent serves a device or builds for others: which of both is said twice, so that neither is an accident. */
static enum err check_mode(const struct cli *c, struct why *why)
{
    if (cli_flag(c, "no-device") && !cli_text(c, "build-for"))
        return why_set(why, ERR_INPUT, "--no-device leaves nothing to do: expected --build-for sm_61,.. with it");
    if (cli_text(c, "build-for") && !cli_flag(c, "no-device"))
        return why_set(why, ERR_INPUT,
                       "--build-for goes with --no-device: an agent builds or serves a device, start one for each");
    return cli_flag(c, "no-device") ? check_builder_options(c, why) : ERR_OK;
}

/* Refused by the tracker later, they are better refused before a device is opened. */
static enum err check_names(const struct cli *c, struct why *why)
{
    enum err e = ERR_OK;

    if (cli_text(c, "key") && !cli_flag(c, "no-device"))
        e = name_check("--key", cli_text(c, "key"), why);
    if (!e && cli_text(c, "name"))
        e = name_check("--name", cli_text(c, "name"), why);
    if (!e && cli_text(c, "cage-sees"))
        e = cage_check_sees(cli_text(c, "cage-sees"), why);
    if (!e && cli_get(c, "cage-sees")->given && strcmp(cli_text(c, "cage"), "off") == 0)
        e = why_set(why, ERR_INPUT, "--cage-sees means nothing with --cage off: children see all then");
    return e;
}

/* A recorded space runs nothing; an agent that leaves compiling to others may lack a compiler. Any other device that
 * cannot run the canary cannot run a trial. */
static bool works(const struct rig *rig)
{
    return rig->canary_ns > 0 || rig->simulated || (rig->options.no_build && rig->desc.sm > 0 && rig->canary_unbuilt);
}

/* The device in a line. */
static void describe(const struct rig *rig, struct buf *out)
{
    const struct device_desc *d = &rig->desc;
    const char *cuda = d->sm > 0 && strcmp(d->driver, d->platform_version) != 0 ? d->platform_version : "";

    buf_printf(out, "%s; %s%s%s; ", d->name, d->driver, *d->driver && *cuda ? ", " : "", cuda);
    if (rig->compiler[0])
        buf_printf(out, "%s; ", rig->compiler);
    buf_printf(out, "units %lld; threads %d; fingerprint %.12s; ", (long long)d->units, rig->threads,
               rig->fingerprint.hex);
    if (rig->canary_ns > 0)
        buf_printf(out, "canary %.3f ms, %.1f GFLOPS", rig->canary_ns * 1e-6, rig->canary_gflops);
    else
        buf_printf(out, "no canary: %s", rig->canary_why.text);
}

static int self_test(struct rig *rig)
{
    const int code = works(rig) ? 0 : EXIT_USAGE;
    char words[CAGE_LINE_BYTES];
    const char *cage = rig_cage_words(rig, words);
    struct buf line;
    struct why why;

    if (rig->desc.sm > 0 && !rig->builds) {
        why_set(&why, ERR_OK, "cannot compile for this device: %s%s", rig->builds_why.text,
                code && rig->canary_unbuilt ? " (where builders compile for it: --no-build)" : "");
        if (code)
            (void)fail(&why, code);
        else
            log_line(0, why.text, &(int){0});
    }
    buf_init(&line, 4096);
    describe(rig, &line);
    if (looked_at && cage)
        look_tell(strcmp(cage, "whole") == 0 ? FINDING_OK : FINDING_NOTE, "cage of children", cage, NULL);
    if (looked_at)
        look_tell(code ? FINDING_FAILED : FINDING_OK, looked_at, buf_text(&line), rig->fingerprint.hex);
    else
        printf("%s: %s\n", rig->options.device, buf_text(&line));
    buf_fini(&line);
    rig_close(rig);
    return code;
}

static enum err read_cooling(const struct cli *c, struct cool_rules *out, struct why *why)
{
    const char *text = cli_text(c, "cooldown");
    char *end;

    out->max_c = cli_real(c, "max-temperature");
    out->throttled = strcmp(text, "auto") == 0;
    if (out->throttled)
        return ERR_OK;
    out->pause_s = strtod(text, &end);
    if (end == text || *end || !(out->pause_s >= 0 && out->pause_s <= COOL_MAX_S))
        return why_set(why, ERR_INPUT, "--cooldown '%.40s': expected seconds up to %d, or auto", text, COOL_MAX_S);
    return ERR_OK;
}

/* By their environment. */
static void tell_children(const struct cli *c)
{
    if (cli_text(c, "nvrtc"))
        setenv("TUNE_NVRTC", cli_text(c, "nvrtc"), 1); /* which compile */
    if (cli_flag(c, "no-build"))
        setenv("TUNE_NO_BUILD", "1", 1); /* whatever a trial comes with */
}

/* Can kernels be compiled here? Else says why not. */
static bool can_build(const struct rig *r, struct why *why)
{
    if (r->desc.sm > 0 && !r->builds) {
        *why = r->builds_why;
        return false;
    }
    return workdir_check(&r->dir, why) == ERR_OK;
}

static int run(const struct cli *c)
{
    static struct rig rig;
    static struct ender ender;
    static int verbosity;
    struct rig_options o = {.device = cli_text(c, "device"),
                            .threads = (int)cli_int(c, "threads"),
                            .builders = (int)cli_int(c, "builders"),
                            .child_wrapper = cli_text(c, "child-wrapper"),
                            .cage = cli_flag(c, "no-device") ? NULL : plan_cage(c),
                            .no_build = cli_flag(c, "no-build"),
                            .stop = &stop,
                            .log = log_line,
                            .quit = quit,
                            .arg = &verbosity};
    struct why why = {""};
    pthread_t thread;

    if (check_mode(c, &why) || read_cooling(c, &o.cool, &why))
        return fail(&why, EXIT_USAGE);
    tell_children(c);
    if (cli_flag(c, "json"))
        look_in_json();
    if (cli_flag(c, "look"))
        return look_around(o.device);
    if (cli_flag(c, "json") && cli_flag(c, "self-test"))
        looked_at = o.device;
    if (check_names(c, &why))
        return fail(&why, EXIT_USAGE);
    verbosity = verbosity_of(c);
    block_signals(&ender.ends);
    ender.rig = &rig;
    ender.verbosity = &verbosity;
    workdir_sweep();
    if (pthread_create(&thread, NULL, end_by_signal, &ender) != 0)
        return EXIT_USAGE;
    if (cli_flag(c, "no-device"))
        return build(c, &ender, &verbosity);
    if (rig_open(&rig, &o, cli_flag(c, "self-test"), &why))
        return atomic_load(&stop) ? 0 : fail(&why, EXIT_USAGE);
    if (cli_flag(c, "self-test"))
        return self_test(&rig);
    if (cli_flag(c, "must-build") && !can_build(&rig, &why)) {
        rig_close(&rig);
        return fail(&why, EXIT_USAGE);
    }
    atomic_store(&opened, true);
    keep_off_timing_cpus(&rig);
    return serve(c, &rig, &ender, &verbosity);
}

int main(int argc, char **argv)
{
    struct why why = {""};
    struct cli c;
    int code;

    proc_keep_standard_fds();
    proc_let_writes_fail();
    proc_want_path();
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    if (command_answers(&program, argc, argv, stdout, stderr, &code))
        return command_finish(&program, stdout, stderr, code);
    if (cli_parse(&c, options, argc, argv, &why))
        code = fail(&why, EXIT_USAGE);
    else if (c.help)
        code = help();
    else if (cli_flag(&c, "version"))
        code =
            printf("tune-agent %s (wire 1, record %d, timing %s)\n", TUNE_VERSION, RECORD_SCHEMA, TIMING_PROTOCOL) < 0;
    else if (c.n_rest) {
        why_set(&why, ERR_INPUT, "unexpected argument '%s': tune-agent takes only options (see --help)", c.rest[0]);
        code = fail(&why, EXIT_USAGE);
    } else
        code = run(&c);
    cli_fini(&c);
    return command_finish(&program, stdout, stderr, code);
}
