/* keygen.c - `tune keygen`: makes the shared key of a farm. */
#include "tuner/cmd/cmd.h"

#include "core/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {OPT_QUIET, OPT_END};

static enum err write_key(const char *path, struct why *why)
{
    unsigned char raw[32];
    char text[2 * sizeof raw + 2];
    const size_t n = 2 * sizeof raw + 1;
    int fd;
    bool good;

    if (random_bytes(raw, sizeof raw))
        return why_set(why, ERR_IO, "the system gives no random bytes");
    hex_encode(raw, sizeof raw, text);
    text[n - 1] = '\n';
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return why_set(why, ERR_EXISTS, "%s exists already; a key is never overwritten", path);
    if (fd < 0)
        return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    good = write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
    if (close(fd) != 0 || !good) {
        unlink(path);
        return why_set(why, ERR_IO, "%s could not be written", path);
    }
    return ERR_OK;
}

static int run(const struct cli *c)
{
    struct why why = {""};
    enum err e;

    if (c->n_rest != 1)
        return cmd_fail(why_set(&why, ERR_INPUT, "expected one file name, e.g. tune keygen farm.key"), &why);
    e = write_key(c->rest[0], &why);
    if (e)
        return cmd_fail(e, &why);
    if (!cli_flag(c, "quiet"))
        printf("%s: copy it (0600) to tracker, agents and users; give it with --key-file\n", c->rest[0]);
    return EXIT_FINE;
}

const struct subcommand cmd_keygen = {
    .name = "keygen",
    .summary = "make the shared key file of a farm",
    .usage = "keygen FILE",
    .example = "tune keygen farm.key",
    .options = options,
    .run = run,
};
