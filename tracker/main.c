/* main.c - tune-tracker: the farm's one host. */
#include "core/cli.h"
#include "core/proc.h"
#include "tracker/server.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct cli_option options[] = {
    {"listen", 'l', NULL, CLI_TEXT, "URL", PROTOCOL_DEFAULT_URL, NULL, 0, 0,
     "address to listen on; port 0 = any free one"},
    {"store", 's', NULL, CLI_TEXT, "DIR", "tune-store", NULL, 0, 0, "directory of jobs, trials, records and blobs"},
    {"key", 'k', NULL, CLI_TEXT, "FILE", NULL, "TUNE_KEY_FILE", 0, 0,
     "key that every peer must know (see `tune keygen`)"},
    {"insecure", 0, NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0, "listen beyond this machine without a key"},
    {"workers", 'w', NULL, CLI_INT, "N", "1", NULL, 0, 64, "processes `tune work` to keep running for submitted jobs"},
    {"lease", 0, NULL, CLI_DURATION, "TIME", "30s", NULL, 0.1, 3600, "how long a lease lives without renewal"},
    {"retention", 0, NULL, CLI_INT, "DAYS", "0", NULL, 0, 36500, "forget jobs that ended longer ago; 0 = never"},
    {"allow-backup", 0, NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0, "let peers ask for a backup to a path of this host"},
    {"backup", 0, NULL, CLI_TEXT, "FILE", NULL, NULL, 0, 0,
     "copy the store to FILE, also while a tracker uses it, and exit"},
    {NULL, 0, NULL, CLI_FLAG, NULL, NULL, NULL, 0, 0, NULL},
};

static int complain(const struct why *why, int code)
{
    fprintf(stderr, "tune-tracker: %s\n", why->text);
    return code;
}

static bool is_loopback(const char *url)
{
    static const char *const near[] = {"tcp://127.",    "tcp://localhost:", "tcp://[::1]:", "tcp4://127.",
                                       "tcp6://[::1]:", "ipc://",           "inproc://"};

    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (strncmp(url, near[i], strlen(near[i])) == 0)
            return true;
    return false;
}

static int run(const struct cli *c, const sigset_t *signals)
{
    struct tracker_options o = {.ops = store_table[0], .where = cli_text(c, "store"), .clock = clock_monotonic()};
    const struct timespec nap = {0, 100000000};
    struct why why = {""};
    struct tracker *t;
    struct server *s;
    struct key key;
    int got = 0;

    if (!is_loopback(cli_text(c, "listen")) && !cli_text(c, "key") && !cli_flag(c, "insecure"))
        return complain((why_set(&why, ERR_AUTH,
                                 "%s is reachable by others: give --key FILE (tune keygen makes one), or --insecure",
                                 cli_text(c, "listen")),
                         &why),
                        1);
    if (cli_text(c, "key")) {
        if (key_load(cli_text(c, "key"), &key, &why) != ERR_OK)
            return complain(&why, 1);
        o.key = &key;
    }
    o.lease_ms = (int64_t)(cli_real(c, "lease") * 1000);
    o.retention_days = cli_int(c, "retention");
    o.allow_backup = cli_flag(c, "allow-backup");
    if (o.ops->open(o.where, &o.store, &why) != ERR_OK || tracker_new(&o, &t, &why) != ERR_OK)
        return complain(&why, 1);
    if (server_start(t, cli_text(c, "listen"), &s, &why) != ERR_OK)
        return complain(&why, 1);
    printf("listening on %s\n", server_url(s));
    fflush(stdout);
    while (got <= 0 && !server_failed(s, &why))
        got = sigtimedwait(signals, NULL, &nap);
    if (got <= 0)
        return complain(&why, 1);
    server_stop(s);
    o.ops->close(o.store);
    return 0;
}

int main(int argc, char **argv)
{
    struct why why = {""};
    sigset_t signals;
    struct cli c;
    struct buf help;
    int code;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread starts */
    signal(SIGPIPE, SIG_IGN);
    if (cli_parse(&c, options, argc, argv, &why) != ERR_OK)
        return complain(&why, 1);
    if (c.help) {
        buf_init(&help, 65536);
        cli_help(options, "tune-tracker [options]", "Keeps jobs and results, and lends trials to agents.",
                 "tune-tracker --listen tcp://0.0.0.0:9477 --key farm.key --store /var/lib/tune", &help);
        fputs(buf_text(&help), stdout);
        return 0;
    }
    code = run(&c, &signals);
    fflush(NULL);
    _exit(code); /* nng 1.5 may deadlock when closed */
}
