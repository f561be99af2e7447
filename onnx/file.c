/* SPDX-License-Identifier: MIT */
#include "onnx/file.h"

#include "onnx/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maps a plain file of at most ONNX_MAX_BYTES; closes `fd`. */
static enum err map(int fd, const char *name, const uint8_t **out, size_t *n, struct why *why)
{
    struct stat st;
    void *bytes = NULL;
    enum err e = ERR_OK;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        e = why_set(why, ERR_INPUT, "%.300s: expected a file", name);
    else if ((uint64_t)st.st_size > ONNX_MAX_BYTES)
        e = why_set(why, ERR_LIMIT, "%.300s: larger than %zu bytes", name, ONNX_MAX_BYTES);
    else if (st.st_size > 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        e = why_set(why, ERR_IO, "%.300s: %s", name, strerror(errno));
    close(fd);
    if (e)
        return e;
    *out = bytes;
    *n = (size_t)st.st_size;
    return ERR_OK;
}

static void unmap(const uint8_t *bytes, size_t n)
{
    if (n)
        munmap((void *)(uintptr_t)bytes, n);
}

/* Unpacks a message of a kind; what it may take is added to the limit. */
static enum err unpack(const ProtobufCMessageDescriptor *kind, const uint8_t *bytes, size_t n, struct onnx_memory *m,
                       void *out, struct why *why)
{
    struct onnx_wire w = {.counted = &onnx__node_proto__descriptor, .most = ONNX_MAX_NODES};
    ProtobufCAllocator allocator = onnx_memory_allocator(m);
    ProtobufCMessage *message;
    size_t more;
    enum err e = onnx_wire_scan(kind, bytes, n, &w, why);

    if (e)
        return e;
    more = ONNX_MEMORY_BASE + ONNX_MEMORY_PER_BYTE * w.n_other + ONNX_MEMORY_PER_BULK * w.n_bulk;
    m->most += more;
    if (w.memory_bytes > more)
        return why_set(why, ERR_LIMIT, "would take %zu bytes of memory, over %zu", w.memory_bytes, more);
    message = protobuf_c_message_unpack(kind, &allocator, n, bytes);
    if (!message)
        return why_set(why, ERR_INPUT, "no model, or a damaged one");
    memcpy(out, &message, sizeof message);
    return ERR_OK;
}

enum err onnx_file_parse(const void *bytes, size_t n, struct onnx_file *out, struct why *why)
{
    struct onnx_file f = {.folder = -1};
    enum err e;

    onnx_memory_init(&f.memory, 0);
    e = unpack(&onnx__model_proto__descriptor, bytes, n, &f.memory, &f.model, why);
    if (!e && !f.model->graph)
        e = why_set(why, ERR_INPUT, "no model: there is no graph in it");
    if (e)
        onnx_file_close(&f);
    else
        *out = f;
    return e;
}

static enum err map_path(const char *path, const uint8_t **out, size_t *n, struct why *why)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return why_set(why, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%.300s: %s", path, strerror(errno));
    return map(fd, path, out, n, why);
}

enum err onnx_file_tensor(struct onnx_file *f, const char *path, const Onnx__TensorProto **out, struct why *why)
{
    const uint8_t *bytes = NULL;
    size_t n = 0;
    enum err e = map_path(path, &bytes, &n, why);

    if (e)
        return e;
    e = unpack(&onnx__tensor_proto__descriptor, bytes, n, &f->memory, out, why);
    unmap(bytes, n);
    return e;
}

/* Open on the folder that a path is in. */
static int open_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

enum err onnx_file_open(const char *path, struct onnx_file *out, struct why *why)
{
    const uint8_t *bytes = NULL;
    size_t n = 0;
    enum err e = map_path(path, &bytes, &n, why);

    if (e)
        return e;
    e = onnx_file_parse(bytes, n, out, why);
    unmap(bytes, n);
    if (e)
        return why_prefix(why, e, "%.300s", path);
    out->folder = open_folder(path);
    return ERR_OK;
}

void onnx_file_close(struct onnx_file *f)
{
    for (size_t i = 0; i < f->n_sides; i++)
        unmap(f->sides[i].bytes, f->sides[i].n);
    if (f->folder >= 0)
        close(f->folder);
    onnx_memory_fini(&f->memory);
    *f = (struct onnx_file){.folder = -1};
}

/* Opens `name` from the folder on, one part after the other: no part is "..", a link or a device. */
static int open_beneath(int folder, const char *name)
{
    int at = dup(folder);

    while (at >= 0) {
        char part[NAME_MAX + 1];
        const size_t n = strcspn(name, "/");
        const bool last = name[n] == '\0';
        int next = -1;

        snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : 0), name);
        if (part[0] && strcmp(part, "..") != 0)
            next = openat(at, part, O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? O_RDONLY : O_PATH | O_DIRECTORY));
        close(at);
        if (last)
            return next;
        at = next;
        name += n + 1;
    }
    return -1;
}

static enum err add_side(struct onnx_file *f, const char *name, struct why *why)
{
    struct onnx_side side = {.n = 0};
    enum err e;
    int fd;

    if (f->n_sides == ONNX_MAX_FILES)
        return why_set(why, ERR_LIMIT, "weights in more than %d files", ONNX_MAX_FILES);
    if (!f->sides)
        f->sides = onnx_memory_take(&f->memory, ONNX_MAX_FILES * sizeof *f->sides);
    side.name = onnx_memory_take(&f->memory, strlen(name) + 1);
    if (!f->sides || !side.name)
        return why_set(why, ERR_LIMIT, "more files of weights than a model of this size may have");
    fd = f->folder >= 0 ? open_beneath(f->folder, name) : -1;
    if (fd < 0)
        return why_set(why, ERR_INPUT,
                       "weights in '%.200s': expected a file in the model's folder or below it (no .., no link)", name);
    strcpy(side.name, name);
    e = map(fd, name, &side.bytes, &side.n, why);
    if (e)
        return e;
    f->memory.most += ONNX_MEMORY_PER_BULK * side.n;
    f->sides[f->n_sides++] = side;
    return ERR_OK;
}

enum err onnx_file_external(struct onnx_file *f, const char *name, uint64_t offset, size_t *n, const uint8_t **out,
                            struct why *why)
{
    const struct onnx_side *side;
    size_t i = 0;
    enum err e = ERR_OK;

    while (i < f->n_sides && strcmp(f->sides[i].name, name) != 0)
        i++;
    if (i == f->n_sides)
        e = add_side(f, name, why);
    if (e)
        return e;
    side = &f->sides[i];
    if (offset > side->n || (*n != SIZE_MAX && *n > side->n - offset))
        return why_set(why, ERR_INPUT, "weights beyond the end of '%.200s', which has %zu bytes", name, side->n);
    if (*n == SIZE_MAX)
        *n = side->n - (size_t)offset;
    *out = side->bytes + offset;
    return ERR_OK;
}
