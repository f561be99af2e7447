/* SPDX-License-Identifier: MIT */
/* doctor.c - `tune doctor`: looks at each hop from here to the devices and says which fails and why. */
#include "cli/cmd.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/proc.h"
#include "tracker/address.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct cli_option options[] = {
    OPT_TRACKER,
    OPT_KEY_FILE,
    CLI_OPTION("device", CLI_TEXT, .argument = "DEVICE", .otherwise = "opencl",
               .help =
                   "the device of this machine to look at, as for tune-agent: opencl[:p.d], cuda[:i], c[:COMPILER]"),
    CLI_OPTION("nvrtc", CLI_TEXT, .argument = "PATH", .environment = "TUNE_NVRTC",
               .help = "compiler for CUDA, as for tune-agent"),
    CLI_OPTION("no-build", CLI_FLAG,
               .help = "of a CUDA device: builders compile for it, as for tune-agent; no compiler is no fault then"),
    CLI_OPTION("key", CLI_TEXT, .argument = "SLUG", .environment = "TUNE_KEY",
               .help = "also: may an agent of this device register under the key?"),
    CLI_OPTION("store", CLI_TEXT, .argument = "DIR", .help = "also: can a tracker keep its store here?"),
    CLI_END,
};

#define CONNECT_MS 5000

static int n_failed;

struct look {
    const char *device, *nvrtc;
    bool no_build;
};

static bool tell(bool good, const char *what, const char *words)
{
    assert(what && words);
    printf("%-6s %-28s %s\n", good ? "ok" : "FAILED", what, words);
    fflush(stdout);
    n_failed += !good;
    return good;
}

/* Runs the tune-agent beside this program, a child that may crash with a broken driver, for at most a minute; `said`
 * gets its findings. False, with words told, when it cannot be started. */
static bool ask_agent(const char *first, const struct look *l, struct buf *said, int *status)
{
    char own[4096], program[4200], dir[512], path[600];
    const char *argv[9] = {program, first, "--json", "--device", l->device};
    struct proc_options o = {.argv = argv, .in_fd = -1, .pass_fd = -1, .own_group = true};
    struct why why = {""};
    bool started;
    int n = 5;
    pid_t pid;

    if (l->no_build)
        argv[n++] = "--no-build";
    if (l->nvrtc) {
        argv[n++] = "--nvrtc";
        argv[n++] = l->nvrtc;
    }
    if (proc_own_dir(own, sizeof own) || dir_temporary("tune-doctor", dir, sizeof dir, &why))
        return tell(false, "device", "no temporary directory");
    snprintf(program, sizeof program, "%s/tune-agent", own);
    snprintf(path, sizeof path, "%s/said", dir);
    o.out_fd = o.err_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    started = access(program, X_OK) == 0 && proc_start(&o, &pid, &why) == ERR_OK;
    if (!started) {
        tell(false, "device", why.text[0] ? why.text : "tune-agent is not beside tune");
    } else if (proc_wait(pid, 60000, status) == ERR_TIMEOUT) {
        proc_kill(pid, SIGKILL, true);
        proc_wait(pid, 2000, NULL);
        *status = -1;
    }
    if (started)
        file_read(path, said, NULL);
    if (o.out_fd >= 0)
        close(o.out_fd);
    dir_remove(dir);
    return started;
}

/* One of the agent's findings; a line that is none is a driver's noise. */
static bool take_finding(const char *line, size_t n, char fingerprint[SHA256_HEX + 1])
{
    const char *finding = "", *what = "", *words = "", *hex;
    cJSON *o = NULL;
    enum err e = json_parse(line, n, &o, NULL);

    if (!e)
        e = json_get_text(o, "finding", &finding, NULL);
    if (!e)
        e = json_get_text(o, "what", &what, NULL);
    if (!e)
        e = json_get_text(o, "words", &words, NULL);
    if (!e && strcmp(finding, "note") == 0)
        printf("note   %-28s %s\n", what, words);
    else if (!e)
        tell(strcmp(finding, "ok") == 0, what, words);
    if (!e && json_get_text(o, "fingerprint", &hex, NULL) == ERR_OK)
        snprintf(fingerprint, SHA256_HEX + 1, "%s", hex);
    cJSON_Delete(o);
    return !e;
}

/* What the agent finds of this machine (--look) or of its device (--self-test), which has the fingerprint. */
static void check_by_agent(const char *first, const struct look *l, char fingerprint[SHA256_HEX + 1])
{
    char words[100];
    struct buf said;
    int status = -1;
    bool any = false;

    buf_init(&said, 65536);
    if (ask_agent(first, l, &said, &status)) {
        for (const char *line = buf_text(&said); *line; line += strcspn(line, "\n"), line += *line == '\n')
            any |= take_finding(line, strcspn(line, "\n"), fingerprint);
        snprintf(words, sizeof words, "tune-agent %s crashed or did not end in 60 s", first);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > (any ? 1 : 0))
            tell(false, l->device, words);
    }
    buf_fini(&said);
}

static bool check_network(const struct address *a)
{
    struct addrinfo *found = NULL;
    struct why why = {""};
    int fd;
    bool good;
    enum err e;

    e = address_find(a, &found, &why);
    if (!tell(e == ERR_OK, "name of the tracker", e ? why.text : a->host))
        return false;
    good = address_connect(found, CONNECT_MS, &fd, &why) == ERR_OK;
    freeaddrinfo(found);
    if (good)
        close(fd);
    return tell(good, "connection", good ? "connected" : why.text);
}

static void check_clock(struct client *c)
{
    struct status_result status;
    char words[160];

    if (client_status(c, NULL, &status, NULL, NULL) == ERR_OK && status.now_ms) {
        const double skew_s = (double)(clock_wall_ms() - status.now_ms) / 1000;

        snprintf(words, sizeof words, "%.1f s between here and the tracker", skew_s);
        tell(skew_s > -60 && skew_s < 60, "clocks", words);
    }
}

/* As the tracker would answer an agent that registers. */
static void check_key(const cJSON *list, const char *key, const char *fingerprint)
{
    char words[400];
    const cJSON *entry;

    cJSON_ArrayForEach(entry, list)
    {
        struct peer_entry d;

        if (peer_entry_read(entry, &d, NULL) != ERR_OK || strcmp(d.state, "lost") == 0 || strcmp(d.key, key) != 0 ||
            strncmp(d.fingerprint, fingerprint, strlen(fingerprint)) == 0)
            continue;
        snprintf(words, sizeof words,
                 "conflict: key %.64s holds devices of fingerprint %.12s.. (agent %.64s), this one has %.12s..: choose "
                 "another key, or --mix",
                 key, d.fingerprint, d.agent, fingerprint);
        tell(false, "key", words);
        return;
    }
    snprintf(words, sizeof words, "%.64s is free for this device", key);
    tell(true, "key", words);
}

static void check_devices(struct client *c, const char *key, const char *fingerprint)
{
    struct devices_result result = {.devices = NULL};
    cJSON *tree = NULL;
    struct why why = {""};
    struct buf text;
    char words[64];
    enum err e = client_all_devices(c, NULL, &tree, &why);
    int n;

    if (tree && devices_result_read(tree, &result, e ? NULL : &why) != ERR_OK)
        e = e ? e : ERR_PROTOCOL;
    n = cJSON_GetArraySize(result.devices); /* with what parts of the farm lack, of the others */

    snprintf(words, sizeof words, "%d registered", n);
    tell(n > 0, "devices of the farm", e ? why.text : words);
    buf_init(&text, (size_t)16 << 20);
    if (n > 0)
        json_plain(tree);
    if (n > 0 && devices_print(tree, clock_wall_ms(), &text) == ERR_OK)
        fputs(buf_text(&text), stdout);
    if (!e && key && name_is_sane(key) && *fingerprint)
        check_key(result.devices, key, fingerprint);
    buf_fini(&text);
    cJSON_Delete(tree);
}

static void check_key_file(const char *path)
{
    struct stat s;
    char words[320];

    if (stat(path, &s) != 0) {
        snprintf(words, sizeof words, "%s: %s", path, strerror(errno));
        tell(false, "key file", words);
    } else {
        tell((s.st_mode & 077) == 0, "key file",
             (s.st_mode & 077) == 0 ? "readable by its owner only" : "others can read it: chmod 600");
    }
}

/* Of an address with TLS: whose certificate the tracker shows. */
static void check_certificate(const struct address *a, const struct tls_files *files)
{
    struct why why = {""};

    if (tls_wanted(a->url))
        tell(tls_check(a->url, files, false, &why) == ERR_OK && tls_look(a->url, files, &why) == ERR_OK, "certificate",
             why.text);
}

static void check_tracker(const struct cli *c, const char *fingerprint)
{
    const char *url = cli_text(c, "tracker"), *key_file = cli_text(c, "key-file");
    const struct tls_files files = {cli_text(c, "ca"), cli_text(c, "cert")};
    struct address address;
    struct why why = {""};
    struct link l;
    enum err e;

    if (key_file)
        check_key_file(key_file);
    if (!strchr(url, ',') && /* of several addresses one answers hello */
        address_read(url, strlen(url), files.ca && *files.ca, &address, NULL) == ERR_OK) {
        if (!check_network(&address))
            return;
        check_certificate(&address, &files);
    }
    e = link_open(&l, c, "tune", &why);
    if (tell(e == ERR_OK, "hello", e ? why.text : "version 1 agreed, key accepted")) {
        check_clock(l.client);
        check_devices(l.client, cli_text(c, "key"), fingerprint);
    }
    link_close(&l);
}

static void check_store(const char *dir)
{
    char path[4096];
    struct why why = {""};
    enum err e = dir_make(dir, 0700, &why);

    snprintf(path, sizeof path, "%s/doctor.%ld", dir, (long)getpid());
    if (!e)
        e = file_replace(path, "x", 1, 0600, &why);
    unlink(path);
    tell(e == ERR_OK, "store directory", e ? why.text : dir);
}

static int run(const struct cli *c)
{
    const struct look look = {cli_text(c, "device"), cli_text(c, "nvrtc"), cli_flag(c, "no-build")};
    const char *tracker = cli_text(c, "tracker"), *key = cli_text(c, "key");
    struct why why = {""};
    char fingerprint[SHA256_HEX + 1] = "";

    if (cmd_check_words(c, 0, 0, "", &why))
        return cmd_fail(ERR_INPUT, &why);
    cmd_catch_interrupts();
    n_failed = 0;
    if (key && name_check("--key", key, &why))
        tell(false, "key", why.text);
    check_by_agent("--look", &look, fingerprint);
    check_by_agent("--self-test", &look, fingerprint);
    check_store(cli_text(c, "store") ? cli_text(c, "store") : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (tracker && *tracker)
        check_tracker(c, fingerprint);
    else
        puts("       no tracker named (--tracker or TUNE_TRACKER): tune run starts a private one");
    if (n_failed && tracker && *tracker)
        return EXIT_UNREACHABLE;
    return n_failed ? EXIT_USAGE : EXIT_FINE;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "look at each hop from here to the devices and say which fails",
    .usage = "doctor [options]",
    .example = "tune doctor --tracker farm:9477 --key-file farm.key",
    .options = options,
    .run = run,
};
