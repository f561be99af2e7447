/* doctor.c - `tune doctor`: looks at each hop from here to the devices and says which fails and why. */
#include "tuner/cmd/cmd.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cli_option options[] = {
    OPT_TRACKER,
    OPT_KEY_FILE,
    {"device", 0, NULL, CLI_TEXT, "BACKEND", "opencl", NULL, 0, 0, "the device of this machine to look at"},
    {"store", 0, NULL, CLI_TEXT, "DIR", NULL, NULL, 0, 0, "also: can a tracker keep its store here?"},
    OPT_END};

static int n_failed;

static bool tell(bool good, const char *what, const char *words)
{
    printf("%-6s %-28s %s\n", good ? "ok" : "FAILED", what, words);
    fflush(stdout);
    n_failed += !good;
    return good;
}

/* The agent's own look at its device, in a child: a broken driver may crash it. */
static void check_device(const char *device)
{
    char own[4096], program[4200], dir[512];
    char words[600] = "";
    const char *const argv[] = {program, "--self-test", "--device", device, NULL};
    struct proc_options o = {.argv = argv, .in_fd = -1, .pass_fd = -1, .own_group = true};
    struct why why = {""};
    struct buf said;
    char path[600];
    pid_t pid;
    int status = -1;

    if (proc_own_dir(own, sizeof own) || dir_temporary("tune-doctor", dir, sizeof dir, &why)) {
        tell(false, "device", "no temporary directory");
        return;
    }
    snprintf(program, sizeof program, "%s/tune-agent", own);
    snprintf(path, sizeof path, "%s/said", dir);
    o.out_fd = o.err_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (access(program, X_OK) != 0 || proc_start(&o, &pid, &why)) {
        tell(false, "device", why.text[0] ? why.text : "tune-agent is not beside tune");
    } else {
        if (proc_wait(pid, 60000, &status) == ERR_TIMEOUT) {
            proc_kill(pid, SIGKILL, true);
            proc_wait(pid, 2000, NULL);
        }
        buf_init(&said, 65536);
        file_read(path, &said, NULL);
        snprintf(words, sizeof words, "%.*s", (int)strcspn(buf_text(&said), "\n"), buf_text(&said));
        tell(status == 0, device,
             status == 0 || words[0] ? words : "tune-agent --self-test crashed or did not end in 60 s");
        buf_fini(&said);
    }
    if (o.out_fd >= 0)
        close(o.out_fd);
    dir_remove(dir);
}

static bool connect_within(const struct addrinfo *a, int timeout_ms, char *words, size_t n_words)
{
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int failure = 0;
    socklen_t n = sizeof failure;

    if (fd < 0)
        return false;
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS)
        failure = errno;
    else if (poll(&p, 1, timeout_ms) == 0)
        failure = ETIMEDOUT;
    else
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &n);
    close(fd);
    snprintf(words, n_words, "%s",
             failure == ECONNREFUSED ? "refused: no tracker listens on that port there"
             : failure == ETIMEDOUT  ? "no answer in 5 s: a firewall, or the machine is off"
             : failure               ? strerror(failure)
                                     : "connected");
    return failure == 0;
}

/* Name and port of tcp://HOST:PORT. */
static bool check_network(const char *url)
{
    const char *host = strstr(url, "://") ? strstr(url, "://") + 3 : url, *colon = strrchr(host, ':');
    char name[256], port[16], words[256] = "";
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int code;
    bool good;

    snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - host) : (int)strlen(host), host);
    snprintf(port, sizeof port, "%s", colon ? colon + 1 : "9477");
    code = getaddrinfo(name, port, &hints, &found);
    if (!tell(code == 0, "name of the tracker", code ? gai_strerror(code) : name))
        return false;
    good = connect_within(found, 5000, words, sizeof words);
    freeaddrinfo(found);
    return tell(good, "connection", words);
}

static void check_clock(struct client *c)
{
    cJSON *result = NULL;
    const cJSON *now;
    char words[160];
    const enum err e = client_call(c, "status", NULL, NULL, 0, &result, NULL, NULL);

    now = e ? NULL : cJSON_GetObjectItemCaseSensitive(result, "now_ms");
    if (cJSON_IsNumber(now)) {
        const double skew_s = ((double)clock_wall_ms() - now->valuedouble) / 1000;

        snprintf(words, sizeof words, "%.1f s between here and the tracker", skew_s);
        tell(skew_s > -60 && skew_s < 60, "clocks", words);
    }
    cJSON_Delete(result);
}

static void check_devices(struct client *c)
{
    cJSON *result = NULL;
    struct why why = {""};
    struct buf text;
    const cJSON *list = NULL;
    char words[64];
    enum err e = client_call(c, "devices", NULL, NULL, 0, &result, NULL, &why);

    if (!e)
        e = json_get_array(result, "devices", &list, &why);
    snprintf(words, sizeof words, "%d registered", list ? cJSON_GetArraySize(list) : 0);
    tell(!e && cJSON_GetArraySize(list) > 0, "devices of the farm", e ? why.text : words);
    buf_init(&text, 1 << 20);
    if (!e && cJSON_GetArraySize(list) > 0 && devices_print(result, clock_wall_ms(), &text) == ERR_OK)
        fputs(buf_text(&text), stdout);
    buf_fini(&text);
    cJSON_Delete(result);
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

static void check_tracker(const struct cli *c)
{
    const char *url = cli_text(c, "tracker"), *key_file = cli_text(c, "key-file");
    struct why why = {""};
    struct link l;
    enum err e;

    if (key_file)
        check_key_file(key_file);
    if (!check_network(url))
        return;
    e = link_open(&l, c, "tune", &why);
    if (tell(e == ERR_OK, "hello", e ? why.text : "version 1 agreed, key accepted")) {
        check_clock(l.client);
        check_devices(l.client);
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
    const char *tracker = cli_text(c, "tracker");

    cmd_catch_interrupts();
    n_failed = 0;
    check_device(cli_text(c, "device"));
    check_store(cli_text(c, "store") ? cli_text(c, "store") : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (tracker && *tracker)
        check_tracker(c);
    else
        puts("       no tracker named (--tracker or TUNE_TRACKER): tune run starts a private one");
    if (n_failed && tracker && *tracker)
        return EXIT_UNREACHABLE;
    return n_failed ? EXIT_USAGE : EXIT_FINE;
}

const struct subcommand cmd_doctor = {
    .name = "doctor",
    .summary = "look at each hop from here to the devices and say which fails",
    .usage = "doctor [options]",
    .example = "tune doctor --tracker farm:9477 --key-file farm.key",
    .options = options,
    .run = run,
};
