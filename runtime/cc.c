/* SPDX-License-Identifier: MIT */
#include "runtime/cc.h"

#include "core/file.h"
#include "core/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 4096

const char *const cc_names[] = {"gcc", "clang", "cc", NULL};

/* Where they speak of what is missing they say `error`. */
static const char *const plain_words[] = {"LC_ALL=C", NULL};

/* ---- running ---- */

static enum err read_all(int fd, struct buf *out)
{
    char some[4096];
    ssize_t n;

    while ((n = read(fd, some, sizeof some)) != 0) {
        if (n < 0 && errno != EINTR)
            return ERR_IO;
        if (n > 0 && out->len + (size_t)n < out->max_bytes) /* it is read to its end, else the compiler waits for us */
            buf_append(out, some, (size_t)n);
    }
    return ERR_OK;
}

/* Runs a program to its end; what it says on both streams goes to `said`. */
static enum err run(const char *const *argv, struct buf *said, int *status, struct why *why)
{
    struct proc_options o = {.argv = argv, .env_add = plain_words, .in_fd = -1, .pass_fd = -1};
    int ends[2];
    pid_t pid;
    enum err e;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return why_set(why, ERR_IO, "a pipe: %s", strerror(errno));
    o.out_fd = o.err_fd = ends[1];
    e = proc_start(&o, &pid, why);
    close(ends[1]);
    if (!e) {
        e = read_all(ends[0], said);
        if (proc_wait(pid, -1, status) || e)
            e = why_set(why, ERR_IO, "%s: %s", argv[0], err_words(ERR_IO));
    }
    close(ends[0]);
    return e;
}

/* ---- finding ---- */

static bool find_in_path(const char *name, char out[PATH_MAX])
{
    const char *list = getenv("PATH");

    if (strchr(name, '/'))
        return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX && access(out, X_OK) == 0;
    list = list && *list ? list : "/usr/local/bin:/usr/bin:/bin";
    for (size_t n; *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        if (n && n < PATH_MAX && snprintf(out, PATH_MAX, "%.*s/%s", (int)n, list, name) < PATH_MAX &&
            access(out, X_OK) == 0)
            return true;
    }
    return false;
}

static enum err ask_version(struct cc *c, struct why *why)
{
    const char *const argv[] = {c->path, "--version", NULL};
    const char *slash = strrchr(c->path, '/');
    struct buf said;
    int status = -1;
    enum err e;

    buf_init(&said, CC_LOG_BYTES);
    e = run(argv, &said, &status, why);
    snprintf(c->name, sizeof c->name, "%.47s", slash ? slash + 1 : c->path);
    snprintf(c->version, sizeof c->version, "%.*s", (int)strcspn(buf_text(&said), "\r\n"), buf_text(&said));
    buf_fini(&said);
    if (!e && (status != 0 || !c->version[0]))
        e = why_set(why, ERR_INPUT, "%.200s --version tells nothing: expected a C compiler", c->path);
    return e;
}

enum err cc_find(const char *wanted, struct cc *out, struct why *why)
{
    *out = (struct cc){.path = ""};
    for (size_t i = 0; !*wanted && cc_names[i]; i++)
        if (find_in_path(cc_names[i], out->path))
            return ask_version(out, why);
    if (!*wanted)
        return why_set(why, ERR_NOT_FOUND,
                       "no C compiler: none of gcc, clang, cc is in $PATH: install one, say the package gcc");
    return find_in_path(wanted, out->path) ? ask_version(out, why)
                                           : why_set(why, ERR_NOT_FOUND, "no C compiler '%.100s' in $PATH", wanted);
}

/* ---- compiling ---- */

struct words {
    const char *at[MAX_WORDS];
    size_t n;
};

static void add(struct words *w, const char *word)
{
    if (w->n + 1 < MAX_WORDS)
        w->at[w->n++] = word;
}

/* The user's options behind ours, so that theirs hold. A function that nobody declared would be called as one of int.
 */
static void make_command(struct words *w, const struct cc *c, bool is_cxx, char *options, const char *from,
                         const char *to)
{
    char *rest = NULL;

    add(w, c->path);
    add(w, "-O2");
    add(w, "-fPIC");
    if (!is_cxx)
        add(w, "-Werror=implicit-function-declaration");
    for (char *word = strtok_r(options, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        add(w, word);
    add(w, "-shared");
    add(w, "-o");
    add(w, to);
    add(w, "-x");
    add(w, is_cxx ? "c++" : "c");
    add(w, from);
    if (is_cxx)
        add(w, "-lstdc++");
    add(w, "-lm");
    w->at[w->n] = NULL;
}

static enum err compile(const struct cc *c, bool is_cxx, const char *options, const char *from, const char *to,
                        struct buf *log, struct why *why)
{
    struct words *w = calloc(1, sizeof *w);
    char *copy = strdup(options);
    int status = -1;
    enum err e = w && copy ? ERR_OK : ERR_NOMEM;

    if (!e) {
        make_command(w, c, is_cxx, copy, from, to);
        e = run(w->at, log, &status, why);
    }
    if (!e && (status != 0 || access(to, R_OK) != 0))
        e = ERR_COMPILE;
    free(w);
    free(copy);
    return e;
}

/* Messages name kernel.c, wherever the text lies. */
static enum err write_text(const char *path, const char *text, size_t n, struct why *why)
{
    static const char first[] = "#line 1 \"kernel.c\"\n";
    struct buf all;
    enum err e;

    buf_init(&all, n + sizeof first);
    e = buf_append(&all, first, sizeof first - 1);
    if (!e)
        e = buf_append(&all, text, n);
    if (!e)
        e = file_replace(path, all.data, all.len, 0600, why);
    buf_fini(&all);
    return e;
}

enum err cc_build(const struct cc *c, const char *text, size_t n, bool is_cxx, const char *options, const char *path,
                  struct buf *log, struct why *why)
{
    char from[PATH_MAX], to[PATH_MAX];
    enum err e;

    if (snprintf(from, sizeof from, "%s.%d.c", path, (int)getpid()) >= (int)sizeof from ||
        snprintf(to, sizeof to, "%s.%d.so", path, (int)getpid()) >= (int)sizeof to)
        return why_set(why, ERR_LIMIT, "'%.60s...': the path is too long", path);
    e = write_text(from, text, n, why);
    if (!e)
        e = compile(c, is_cxx, options, from, to, log, why);
    if (!e && rename(to, path) != 0)
        e = why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    unlink(from);
    unlink(to);
    return e;
}
