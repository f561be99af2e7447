/* SPDX-License-Identifier: MIT */
#include "tests/cuda/compile.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/proc.h"
#include "tests/cuda/rewrite.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 300
#define MAX_TEXT ((size_t)64 << 20)
#define VERSION "2" /* raise when objects made before are no longer good */

static const char *const fixed_flags[] = {"-x",
                                          "c++",
                                          "-std=gnu++17",
                                          "-shared",
                                          "-fPIC",
                                          "-pipe",
                                          "-w",
                                          "-fno-exceptions",
                                          "-fno-rtti",
                                          "-fno-gnu-unique",
                                          "-fno-threadsafe-statics",
                                          "-fno-strict-aliasing",
                                          "-fno-math-errno",
                                          "-fwrapv",
                                          "-ffp-contract=off",
                                          "-fno-asynchronous-unwind-tables",
                                          "-fno-stack-protector",
                                          "-U_FORTIFY_SOURCE",
                                          "-nostdlib",
                                          "-Wl,-Bsymbolic",
                                          NULL};
/* Code of thousands of lines, as sparse layers have it, takes 15 s with what is left out here, and 5 s without. */
#define LARGE_BYTES ((size_t)64 << 10)
static const char *const large_flags[] = {"-fno-sanitize=alignment", "-fno-tree-dominator-opts", "-fno-tree-fre", NULL};

/* Checks that trap: indices of arrays whose size is known, alignment of what pointers of vectors read and write. */
static const char *const default_flags[] = {"-O1",
                                            "-fsanitize=bounds,alignment",
                                            "-fsanitize-undefined-trap-on-error",
                                            "-fsanitize=thread", /* calls of emulated_device.h at each access */
                                            "--param=tsan-instrument-func-entry-exit=0",
                                            NULL};

struct compiler {
    char own_dir[PATH_MAX - 256], cache[PATH_MAX - 200];
    char path[PATH_MAX]; /* of g++ */
    char flags_text[512];
    const char *flags[40];    /* into flags_text, or constants */
    char stem[PATH_MAX - 32]; /* of temporary files */
};

static enum err find_program(const char *name, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    char dirs[4096], *rest = NULL;

    if (strchr(name, '/')) {
        snprintf(out, PATH_MAX, "%s", name);
        return access(out, X_OK) ? ERR_NOT_FOUND : ERR_OK;
    }
    snprintf(dirs, sizeof dirs, "%s", path ? path : "/usr/bin:/bin");
    for (char *dir = strtok_r(dirs, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
        snprintf(out, PATH_MAX, "%s/%s", dir, name);
        if (access(out, X_OK) == 0)
            return ERR_OK;
    }
    return ERR_NOT_FOUND;
}

static void find_flags(struct compiler *c)
{
    const char *text = getenv("TUNE_NVRTC_FLAGS");
    char *rest = NULL;
    int n = 0;

    for (; !text && default_flags[n]; n++)
        c->flags[n] = default_flags[n];
    snprintf(c->flags_text, sizeof c->flags_text, "%s", text ? text : "");
    for (char *flag = strtok_r(c->flags_text, ",", &rest); flag && n < 32; flag = strtok_r(NULL, ",", &rest))
        c->flags[n++] = flag;
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
        c->flags[n++] = "-mfma";  /* else fmaf is a call */
        c->flags[n++] = "-mf16c"; /* which CPUs with AVX2 have; clang 14 cannot ask for it */
    }
#endif
    c->flags[n] = NULL;
}

/* By trying: access() does not know of Landlock, which a cage may be made of. */
static bool takes_files(const char *dir)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/tmp.%d", dir, (int)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    close(fd);
    unlink(path);
    return true;
}

static enum err init(struct compiler *c)
{
    static int n;
    const char *cache = getenv("TUNE_NVRTC_CACHE"), *program = getenv("TUNE_NVRTC_CXX"), *tmp = getenv("TMPDIR");
    Dl_info self;
    char *slash;

    if (!dladdr((void *)(uintptr_t)&compile_cuda, &self))
        return ERR_IO;
    snprintf(c->own_dir, sizeof c->own_dir, "%s", self.dli_fname);
    slash = strrchr(c->own_dir, '/');
    snprintf(slash ? slash : c->own_dir, 2, "%s", slash ? "" : ".");
    if (cache && *cache)
        snprintf(c->cache, sizeof c->cache, "%s", cache);
    else
        snprintf(c->cache, sizeof c->cache, "%s/nvrtc-cache", c->own_dir);
    if (dir_make(c->cache, 0755, NULL) || !takes_files(c->cache)) /* a caged child's are not its own */
        snprintf(c->cache, sizeof c->cache, "%s/nvrtc-cache", tmp && *tmp ? tmp : "/tmp");
    find_flags(c);
    snprintf(c->stem, sizeof c->stem, "%s/tmp.%d.%d", c->cache, (int)getpid(),
             __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED));
    return find_program(program && *program ? program : "g++", c->path) ? ERR_NOT_FOUND
                                                                        : dir_make(c->cache, 0755, NULL);
}

static int add_all(const char **argv, int n, const char *const *list)
{
    for (; *list && n < MAX_ARGS; list++)
        argv[n++] = *list;
    return n;
}

/* g++'s own children outlive it and whoever waits for it, so all of them run under limits of time and memory. */
static const char limits[] = "ulimit -t 120; ulimit -v 4000000; exec \"$@\"";

/* Runs argv with files for its input, output and words (NULL: none); ERR_COMPILE when it ends badly. */
static enum err run(const char *const *argv, const char *in, const char *out, const char *words)
{
    const int in_fd = in ? open(in, O_RDONLY | O_CLOEXEC) : -1;
    const int out_fd = out ? open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    const int err_fd = open(words, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const char *limited[MAX_ARGS + 16] = {"/bin/sh", "-c", limits, "sh"};
    const struct proc_options options = {
        .argv = limited, .in_fd = in_fd, .out_fd = out_fd, .err_fd = err_fd, .pass_fd = -1};
    pid_t pid;
    int status = -1;
    enum err e;

    add_all(limited, 4, argv);
    e = proc_start(&options, &pid, NULL);

    if (!e)
        e = proc_wait(pid, -1, &status);
    if (in_fd >= 0)
        close(in_fd);
    if (out_fd >= 0)
        close(out_fd);
    if (err_fd >= 0)
        close(err_fd);
    return e ? e : status ? ERR_COMPILE : ERR_OK;
}

/* First pass: macros only, those of CUDA kept as they are. */
static enum err preprocess(const struct compiler *c, const char *text, const char *const *defines, struct buf *out)
{
    const char *argv[MAX_ARGS + 8] = {c->path, "-E", "-x", "c++", "-std=gnu++17", "-w", "-DTUNE_EMULATED=1"};
    char source[PATH_MAX], result[PATH_MAX], words[PATH_MAX];
    int n = add_all(argv, 7, defines);
    enum err e;

    snprintf(source, sizeof source, "%s.cu", c->stem);
    snprintf(result, sizeof result, "%s.ii", c->stem);
    snprintf(words, sizeof words, "%s.log", c->stem);
    argv[n++] = "-"; /* so that no name of a temporary file gets into the text */
    argv[n] = NULL;
    e = file_replace(source, text, strlen(text), 0644, NULL);
    if (!e)
        e = run(argv, source, result, words);
    if (!e)
        e = file_read(result, out, NULL);
    unlink(source);
    unlink(result);
    return e;
}

static enum err build(const struct compiler *c, const char *text, size_t n_bytes, const char *object)
{
    const char *argv[MAX_ARGS + 8] = {c->path};
    char source[PATH_MAX], made[PATH_MAX], words[PATH_MAX], include[PATH_MAX];
    int n = add_all(argv, 1, fixed_flags);
    enum err e;

    snprintf(source, sizeof source, "%s.cc", c->stem);
    snprintf(made, sizeof made, "%s.so", c->stem);
    snprintf(words, sizeof words, "%s.log", c->stem);
    snprintf(include, sizeof include, "-I%s", c->own_dir);
    n = add_all(argv, n, c->flags);
    if (n_bytes > LARGE_BYTES)
        n = add_all(argv, n, large_flags);
    n = add_all(argv, n, (const char *const[]){include, "-o", made, source, "-lm", "-lc", "-lgcc", NULL});
    argv[n] = NULL;
    e = file_replace(source, text, n_bytes, 0644, NULL);
    if (!e)
        e = run(argv, NULL, NULL, words);
    if (!e && rename(made, object))
        e = ERR_IO;
    unlink(source);
    unlink(made);
    return e;
}

/* Objects are named by all that goes into them. */
static enum err name_object(const struct compiler *c, const struct buf *text, char out[PATH_MAX])
{
    static const char *const headers[] = {"emulated_device.h", "emulated_abi.h"};
    struct buf all;
    enum err e = ERR_OK;

    buf_init(&all, MAX_TEXT);
    buf_puts(&all, VERSION " " __VERSION__ "\n");
    for (int i = 0; c->flags[i]; i++)
        buf_printf(&all, "%s\n", c->flags[i]);
    for (int i = 0; i < 2 && !e; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s/%s", c->own_dir, headers[i]);
        e = file_read(path, &all, NULL);
    }
    buf_append(&all, buf_text(text), text->len);
    if (!e)
        e = all.failed;
    snprintf(out, PATH_MAX, "%s/%.40s.so", c->cache, sha256_of(buf_text(&all), all.len).hex);
    buf_fini(&all);
    return e;
}

static void read_words(const struct compiler *c, struct buf *log)
{
    char words[PATH_MAX];

    snprintf(words, sizeof words, "%s.log", c->stem);
    file_read(words, log, NULL);
    unlink(words);
}

static enum err compile_with(const struct compiler *c, const char *text, const char *const *defines, struct buf *object)
{
    struct buf plain, full;
    char path[PATH_MAX];
    enum err e;

    buf_init(&plain, MAX_TEXT);
    buf_init(&full, MAX_TEXT);
    e = preprocess(c, text, defines, &plain);
    buf_puts(&full, "#include \"emulated_device.h\"\n");
    if (!e)
        e = rewrite_cuda(buf_text(&plain), &full);
    if (!e)
        e = name_object(c, &full, path);
    if (!e && access(path, R_OK))
        e = build(c, buf_text(&full), full.len, path);
    if (!e)
        e = file_read(path, object, NULL);
    buf_fini(&plain);
    buf_fini(&full);
    return e;
}

enum err compile_cuda(const char *text, const char *const *defines, struct buf *object, struct buf *log)
{
    struct compiler c;
    enum err e = init(&c);

    if (e == ERR_NOT_FOUND)
        buf_puts(log, "no g++ here: emulated CUDA needs it (scripts/install_deps.sh)\n");
    if (e)
        return e;
    e = compile_with(&c, text, defines, object);
    read_words(&c, log);
    return e;
}
