/* SPDX-License-Identifier: MIT */
#include "formats/convert.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "core/order.h"
#include "logs/input.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 65536

/* Each a file of foreign/. */
extern const struct convert_map map_autotvm, map_clblast, map_kernel_tuner, map_ktt, map_t4;

const struct convert_map *const convert_maps[] = {
    &map_autotvm,
    &map_clblast,
    &map_kernel_tuner,
    &map_ktt,
    &map_t4,
    /* the next one here */
    NULL,
};

const struct convert_map *convert_map_of(const char *format)
{
    for (const struct convert_map *const *m = convert_maps; *m; m++)
        if (strcmp((*m)->format, format) == 0)
            return *m;
    return NULL;
}

const char *convert_name_at(size_t i)
{
    if (i == 0)
        return "tune";
    return foreign_formats[i - 1] ? foreign_formats[i - 1]->name : NULL;
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
    for (size_t i = 0; convert_name_at(i); i++)
        buf_printf(&list, "%s%s", i ? ", " : "", convert_name_at(i));
    why_set(why, ERR_INPUT, "no format \"%.60s\": expected one of %s", name, buf_text(&list));
    buf_fini(&list);
    return ERR_INPUT;
}

struct rows {
    const char *path;
    const struct convert_map *map;
    bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg);
    bool (*each_line)(const struct log_line *line, void *arg); /* in its place, where the lines are enough */
    log_warn *warn;
    void *arg;
    int64_t n; /* rows that became records */
    enum err failed;
};

static void take_bad(int64_t i_line, const char *words, void *arg)
{
    const struct rows *s = arg;

    if (s->warn)
        s->warn(s->path, i_line, words, s->arg);
}

/* A slug of a device's name: "NVIDIA RTX A4000" -> "nvidia-rtx-a4000". */
static void make_key(const char *name, char out[64])
{
    size_t n = 0;

    for (; *name && n < 63; name++) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';

        if (plain)
            out[n++] = c;
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    out[n] = '\0';
}

static double median(double *v, size_t n)
{
    assert(n > 0);
    qsort(v, n, sizeof *v, order_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The standard error of ln time from the samples, as the farm's own records have it; NAN for fewer than three. */
static double error_of(const struct record *r)
{
    double v[RECORD_MAX_SAMPLES], middle;

    if (r->n_samples < 3 || r->n_samples > RECORD_MAX_SAMPLES)
        return NAN;
    for (size_t i = 0; i < r->n_samples; i++)
        v[i] = log(r->samples_ns[i]);
    middle = median(v, r->n_samples);
    for (size_t i = 0; i < r->n_samples; i++)
        v[i] = fabs(log(r->samples_ns[i]) - middle);
    return 1.25 * 1.48 * median(v, r->n_samples) / sqrt((double)r->n_samples);
}

/* What the farm's own records say of themselves and a map left open: by what timing (another tuner's, never this
 * farm's), for what purpose, how sure, for which device. */
static void complete(struct record *r, const char *format, const char *target)
{
    if (!r->protocol[0])
        snprintf(r->protocol, sizeof r->protocol, "%s", format);
    if (!r->purpose[0])
        strcpy(r->purpose, "search");
    if (!r->key[0] && target)
        make_key(target, r->key);
    if (isnan(r->se))
        r->se = error_of(r);
    if (r->rounds == 0)
        r->rounds = (int64_t)r->n_samples;
}

/* A name made of all the record says: the same row has the same name every time. */
static enum err print_named(struct record *r, struct buf *line)
{
    enum err e;

    if (!r->id[0]) {
        e = record_print(r, line);
        if (e)
            return e;
        strcpy(r->id, sha256_of(line->data, line->len).hex);
        buf_clear(line);
    }
    return record_print(r, line);
}

/* The line of ours that a row carries, where it says what `r` says; NULL = none. It is one line. */
static const char *carried_line(const struct foreign_row *row, const struct record *r)
{
    const cJSON *carried = cJSON_GetObjectItemCaseSensitive(row->extra, CONVERT_CARRIED);
    const char *text = cJSON_IsString(carried) ? carried->valuestring : "\n";
    struct buf is, has;
    struct record c;
    bool same;

    if (strpbrk(text, "\r\n") || record_parse(text, strlen(text), &c, NULL))
        return NULL;
    buf_init(&is, RECORD_MAX_BYTES);
    buf_init(&has, RECORD_MAX_BYTES);
    same = record_print(r, &is) == ERR_OK && record_print(&c, &has) == ERR_OK && is.len == has.len &&
           memcmp(is.data, has.data, is.len) == 0;
    buf_fini(&has);
    buf_fini(&is);
    record_fini(&c);
    return same ? text : NULL;
}

static enum err print_line(const struct rows *s, struct record *r, const struct foreign_row *row, struct buf *line)
{
    const char *carried = carried_line(row, r);

    if (carried)
        return buf_printf(line, "%s\n", carried);
    complete(r, s->map->format, row->target);
    return print_named(r, line);
}

static bool give(struct rows *s, struct record *r, const struct foreign_row *row)
{
    struct buf line;
    bool more = true;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES + 1);
    e = print_line(s, r, row, &line);
    if (e == ERR_NOMEM) {
        s->failed = e;
        more = false;
    } else if (e) {
        take_bad(row->i_line, "too long for a record, or numbers beyond 2^53 in it", s);
    } else {
        assert(line.len > 0 && line.data[line.len - 1] == '\n');
        const struct log_line l = {line.data, line.len - 1, row->i_line ? row->i_line : ++s->n, false};

        more = s->each ? s->each(r, l.text, l.n, s->arg) : s->each_line(&l, s->arg);
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
    more = give(s, &r, row);
    record_fini(&r);
    return more;
}

static enum err read_mapped(const struct foreign_format *f, const char *text, size_t n, struct rows *s, struct why *why)
{
    const struct foreign_sink sink = {take_row, take_bad, s};
    enum err e;

    s->map = convert_map_of(f->name);
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

/* The format of an open file: by its name, else by content; NULL = our own. */
static enum err format_of(int fd, const char *name, const struct foreign_format **out, struct why *why)
{
    if (name)
        return convert_find(name, out, why);
    *out = told_by_content(fd);
    return ERR_OK;
}

enum err convert_lines_fd(int fd, const char *path, const char *format,
                          bool (*each)(const struct log_line *line, void *arg), log_warn *warn, void *arg,
                          struct why *why)
{
    struct rows s = {.path = path, .each_line = each, .warn = warn, .arg = arg};
    const struct foreign_format *f = NULL;
    enum err e = format_of(fd, format, &f, why);

    if (e)
        return e;
    return f ? read_foreign(f, fd, &s, why) : log_lines_fd(fd, path, each, arg, why);
}

enum err convert_scan(const char *path, const char *format,
                      bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                      void *arg, struct why *why)
{
    struct rows s = {.path = path, .each = each, .warn = warn, .arg = arg};
    const struct foreign_format *f = NULL;
    int fd;
    enum err e = input_open(path, &fd, why);

    if (e)
        return e;
    e = format_of(fd, format, &f, why);
    if (!e)
        e = f ? read_foreign(f, fd, &s, why) : log_scan_fd(fd, path, each, warn, arg, why);
    close(fd);
    return e;
}
