#include "tuner/convert.h"

#include "logs/input.h"
#include "tuner/foreign/maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 65536

const struct convert_map *const convert_maps[] = {
    NULL,
};

static const struct convert_map *map_of(const char *format)
{
    for (const struct convert_map *const *m = convert_maps; *m; m++)
        if (strcmp((*m)->format, format) == 0)
            return *m;
    return NULL;
}

/* The names that --from and --to take, for people. */
static void list_names(struct buf *out)
{
    buf_puts(out, "tune");
    for (const struct foreign_format *const *f = foreign_formats; *f; f++)
        buf_printf(out, ", %s", (*f)->name);
}

enum err convert_find(const char *name, const struct foreign_format **out, struct why *why)
{
    const struct foreign_format *found = foreign_find(name);
    struct buf list;

    if (found || strcmp(name, "tune") == 0) {
        *out = found;
        return ERR_OK;
    }
    buf_init(&list, 1024);
    list_names(&list);
    why_set(why, ERR_INPUT, "no format \"%.60s\": expected one of %s", name, buf_text(&list));
    buf_fini(&list);
    return ERR_INPUT;
}

struct rows {
    const char *path;
    const struct convert_map *map;
    bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg);
    log_warn *warn;
    void *arg;
    enum err failed;
};

static void take_bad(int64_t i_line, const char *words, void *arg)
{
    const struct rows *s = arg;

    if (s->warn)
        s->warn(s->path, i_line, words, s->arg);
}

/* Gives the record a name made of all it says, so that the same row has the same name every time, and says by what
 * timing it came about: another tuner's, never this farm's. */
static enum err name_record(struct record *r, const char *format, struct buf *line)
{
    enum err e;

    if (!r->protocol[0])
        snprintf(r->protocol, sizeof r->protocol, "%s", format);
    if (!r->id[0]) {
        e = record_print(r, line);
        if (e)
            return e;
        strcpy(r->id, sha256_of(line->data, line->len).hex);
        buf_clear(line);
    }
    return record_print(r, line);
}

static bool give(struct rows *s, struct record *r, int64_t i_line)
{
    struct buf line;
    bool more = true;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    e = name_record(r, s->map->format, &line);
    if (e == ERR_NOMEM) {
        s->failed = e;
        more = false;
    } else if (e) {
        take_bad(i_line, "too long for a record, or numbers beyond 2^53 in it", s);
    } else {
        more = s->each(r, line.data, line.len - 1, s->arg);
    }
    buf_fini(&line);
    return more;
}

static bool take_row(const struct foreign_row *row, void *arg)
{
    struct rows *s = arg;
    struct why why = {""};
    struct record r;
    enum err e = s->map->to_record(row, &r, &why);
    bool more;

    if (e == ERR_NOMEM) {
        s->failed = e;
        return false;
    }
    if (e) {
        take_bad(row->i_line, why.text[0] ? why.text : err_words(e), s);
        return true;
    }
    more = give(s, &r, row->i_line);
    record_fini(&r);
    return more;
}

static enum err read_mapped(const struct foreign_format *f, const char *text, size_t n, struct rows *s, struct why *why)
{
    const struct foreign_sink sink = {take_row, take_bad, s};
    enum err e;

    s->map = map_of(f->name);
    if (!f->read || !s->map)
        return why_set(why, ERR_UNSUPPORTED, "%s: format %s is written, not read", s->path, f->name);
    e = f->read(text, n, &sink, why);
    if (e)
        return why_prefix(why, e, "%s", s->path);
    return s->failed ? why_set(why, s->failed, "%s: %s", s->path, err_words(s->failed)) : ERR_OK;
}

static enum err read_foreign(const struct foreign_format *f, int fd, struct rows *s, struct why *why)
{
    struct stat st;
    size_t n;
    void *text;
    enum err e;

    if (fstat(fd, &st) != 0)
        return why_set(why, ERR_IO, "%s: %s", s->path, strerror(errno));
    n = (size_t)st.st_size;
    if (n > FOREIGN_MAX_FILE_BYTES)
        return why_set(why, ERR_LIMIT, "%s: larger than %zu bytes", s->path, FOREIGN_MAX_FILE_BYTES);
    if (n == 0)
        return read_mapped(f, "", 0, s, why);
    text = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return why_set(why, ERR_IO, "%s: %s", s->path, strerror(errno));
    e = read_mapped(f, text, n, s, why);
    munmap(text, n);
    return e;
}

/* Our own logs begin like this; whatever else no format claims is read as one too, its lines told as bad. */
static bool is_ours(const char *head, size_t n)
{
    static const char start[] = "{\"schema\":";

    return n >= sizeof start - 1 && memcmp(head, start, sizeof start - 1) == 0;
}

/* NULL = our own. */
static const struct foreign_format *told_by_content(int fd)
{
    char head[HEAD_BYTES];
    const ssize_t n = pread(fd, head, sizeof head, 0);

    return n <= 0 || is_ours(head, (size_t)n) ? NULL : foreign_sniff(head, (size_t)n);
}

enum err convert_scan(const char *path, const char *format,
                      bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                      void *arg, struct why *why)
{
    struct rows s = {.path = path, .each = each, .warn = warn, .arg = arg};
    const struct foreign_format *f = NULL;
    enum err e = format ? convert_find(format, &f, why) : ERR_OK;
    int fd;

    if (!e)
        e = input_open(path, &fd, why);
    if (e)
        return e;
    if (!format)
        f = told_by_content(fd);
    e = f ? read_foreign(f, fd, &s, why) : log_scan_fd(fd, path, each, warn, arg, why);
    close(fd);
    return e;
}
