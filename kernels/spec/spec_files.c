/* SPDX-License-Identifier: MIT */
/* spec_files.c - a job file and the files that it names, made into one text and a set of blobs. */
#include "kernels/spec/spec_private.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define MAX_INCLUDES 16 /* of texts within texts */

struct loader {
    const char *path;
    struct blobs *files;
    cJSON *list;
    struct why *why;
};

/* A file beside the job, or by an absolute path, must be a file: no device, no pipe. */
static enum err read_regular(const char *beside, const char *name, size_t max_bytes, struct buf *out,
                             char full[PATH_MAX], struct why *why)
{
    const char *slash = strrchr(beside, '/');
    struct stat st;

    if (snprintf(full, PATH_MAX, "%.*s%s", slash && name[0] != '/' ? (int)(slash - beside + 1) : 0, beside, name) >=
        PATH_MAX)
        return why_set(why, ERR_LIMIT, "'%.60s...': the path is too long", name);
    if (stat(full, &st) != 0)
        return why_set(why, ERR_NOT_FOUND, "%s cannot be read", full);
    if (!S_ISREG(st.st_mode))
        return why_set(why, ERR_INPUT, "%s: expected a regular file", full);
    if ((uint64_t)st.st_size > max_bytes)
        return why_set(why, ERR_LIMIT, "%s: %lld bytes, at most %zu", full, (long long)st.st_size, max_bytes);
    buf_init(out, max_bytes);
    return file_read(full, out, why);
}

/* The name of an #include "name" line, and its end; NULL when the line is something else. */
static const char *included(const char *line, const char *end, char name[256])
{
    const char *at = line, *close;

    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at == end || *at++ != '#')
        return NULL;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (end - at < 9 || strncmp(at, "include", 7) != 0)
        return NULL;
    for (at += 7; at < end && (*at == ' ' || *at == '\t'); at++)
        ;
    close = at < end && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
    if (!close || close - at - 1 < 1 || close - at - 1 >= 256)
        return NULL;
    memcpy(name, at + 1, (size_t)(close - at - 1));
    name[close - at - 1] = '\0';
    return close + 1;
}

/* Where the text is that goes out, which files are being read, and which said that they be there once. */
struct splicing {
    struct buf *out;
    const char *open[MAX_INCLUDES + 1]; /* by depth; borrowed */
    char *once[SPEC_MAX_FILES];         /* real paths; owned */
    size_t n_once;
    char *roots[2]; /* real folders of the job file and of the first source, which the others are to lie in; owned */
    struct why *why;
};

static void splicing_fini(struct splicing *s)
{
    while (s->n_once)
        free(s->once[--s->n_once]);
    free(s->roots[0]);
    free(s->roots[1]);
}

static char *folder_of(const char *path)
{
    char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;

    if (slash)
        slash[1] = '\0';
    return real;
}

/* Does the file lie below one of the folders, whatever links lead to it? */
static bool is_inside(const struct splicing *s, const char *full)
{
    char *real = realpath(full, NULL);
    bool inside = false;

    for (int i = 0; real && i < 2; i++)
        inside |= s->roots[i] && strncmp(real, s->roots[i], strlen(s->roots[i])) == 0;
    free(real);
    return inside;
}

static bool is_pragma_once(const char *line, const char *end)
{
    char words[64], what[16];

    snprintf(words, sizeof words, "%.*s", (int)(end - line < 63 ? end - line : 63), line);
    return sscanf(words, " # pragma %15s", what) == 1 && strcmp(what, "once") == 0;
}

/* Is the file in already, and wants to be so once? */
static bool is_there(const struct splicing *s, const char *full)
{
    char *real = realpath(full, NULL);
    size_t i = 0;

    while (real && i < s->n_once && strcmp(s->once[i], real) != 0)
        i++;
    free(real);
    return real && i < s->n_once;
}

static void note_once(struct splicing *s, const char *full)
{
    char *real = s->n_once < SPEC_MAX_FILES && !is_there(s, full) ? realpath(full, NULL) : NULL;

    if (real)
        s->once[s->n_once++] = real;
}

/* Behind blanks and comments. */
static const char *first_word(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2) == 0)
            text += strcspn(text, "\n");
        else if (strncmp(text, "/*", 2) == 0 && strstr(text + 2, "*/"))
            text = strstr(text + 2, "*/") + 2;
        else
            return text;
    }
}

/* Behind "#ifndef X" and "#define X" at the head of its text a file is empty to itself. */
static bool is_guarded(const char *text)
{
    char named[128], defined[128];
    const char *at = first_word(text);

    return *at == '#' && sscanf(at, "# ifndef %127s # define %127s", named, defined) == 2 &&
           strcmp(named, defined) == 0;
}

static bool is_open(const struct splicing *s, const char *full, int depth)
{
    struct stat this, other;

    for (int i = 0; i <= depth; i++)
        if (stat(full, &this) == 0 && stat(s->open[i], &other) == 0 && this.st_dev == other.st_dev &&
            this.st_ino == other.st_ino)
            return true;
    return false;
}

static enum err splice(struct splicing *s, const char *path, const char *text, int depth);

static enum err splice_file(struct splicing *s, const char *path, const char *name, int depth)
{
    char full[PATH_MAX];
    struct buf inner = {0};
    enum err e;

    if (depth == MAX_INCLUDES)
        return why_set(s->why, ERR_LIMIT, "%s: #include \"%s\": more than %d files within files: a cyclic #include?",
                       path, name, MAX_INCLUDES);
    e = read_regular(path, name, SPEC_MAX_BYTES, &inner, full, s->why);
    if (!e && !is_inside(s, full))
        e = why_set(s->why, ERR_INPUT, "%s: #include \"%s\" leads out of the folders of the job and of its kernel",
                    path, name);
    else if (!e && (is_there(s, full) || (is_guarded(buf_text(&inner)) && is_open(s, full, depth))))
        e = buf_puts(s->out, "\n");
    else if (!e)
        e = splice(s, full, buf_text(&inner), depth + 1);
    buf_fini(&inner);
    return e ? e : buf_puts(s->out, "\n");
}

/* Appends a text with the files that it includes from beside itself; what is not there stays an #include. */
static enum err splice(struct splicing *s, const char *path, const char *text, int depth)
{
    const char *slash = strrchr(path, '/');
    enum err e = ERR_OK;

    s->open[depth] = path;
    while (*text && !e) {
        const char *end = strchr(text, '\n');
        char name[256], full[PATH_MAX];
        struct stat st;

        end = end ? end + 1 : text + strlen(text);
        if (included(text, end, name) &&
            snprintf(full, sizeof full, "%.*s%s", slash && name[0] != '/' ? (int)(slash - path + 1) : 0, path, name) <
                (int)sizeof full &&
            stat(full, &st) == 0)
            e = splice_file(s, path, name, depth);
        else if (depth > 0 && is_pragma_once(text, end))
            note_once(s, path);
        else
            e = buf_append(s->out, text, (size_t)(end - text));
        text = end;
    }
    if (e == ERR_LIMIT && s->out->failed)
        return why_set(s->why, e, "%s: with the files it includes over %zu bytes", path, SPEC_MAX_BYTES);
    return e;
}

static enum err splice_all(const char *job, const char *path, const char *text, struct buf *out, struct why *why)
{
    struct splicing s = {.out = out, .roots = {folder_of(job), folder_of(path)}, .why = why};
    const enum err e = splice(&s, path, text, 0);

    splicing_fini(&s);
    return e;
}

static enum err note_file(struct loader *l, const char *name, const void *bytes, size_t n)
{
    cJSON *o = cJSON_CreateObject();
    struct sha256 hash;
    bool ok = o != NULL;
    enum err e = blobs_put(l->files, bytes, n, &hash);

    json_add_text(o, "name", name, &ok);
    json_add_text(o, "sha256", hash.hex, &ok);
    json_add_i64(o, "bytes", (int64_t)n, &ok);
    if (!e && ok && cJSON_AddItemToArray(l->list, o))
        return ERR_OK;
    cJSON_Delete(o);
    return why_set(l->why, e ? e : ERR_NOMEM, "%s: %s", name, err_words(e ? e : ERR_NOMEM));
}

static bool is_noted(const struct loader *l, const char *name)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, l->list)
    {
        if (strcmp(cJSON_GetObjectItemCaseSensitive(item, "name")->valuestring, name) == 0)
            return true;
    }
    return false;
}

static enum err add_file(struct loader *l, const cJSON *object, const char *member, const char *where, bool is_text)
{
    const cJSON *name = spec_member(object, member);
    char full[PATH_MAX];
    struct buf bytes = {0}, whole;
    enum err e;

    if (!cJSON_IsString(name) || is_noted(l, name->valuestring))
        return ERR_OK;
    if (cJSON_GetArraySize(l->list) >= SPEC_MAX_FILES)
        return why_set(l->why, ERR_LIMIT, "%s.%s: more than %d files", where, member, SPEC_MAX_FILES);
    buf_init(&whole, SPEC_MAX_BYTES);
    e = read_regular(l->path, name->valuestring, is_text ? SPEC_MAX_BYTES : SPEC_MAX_DATA_BYTES, &bytes, full, l->why);
    if (!e && is_text && memchr(buf_text(&bytes), '\0', bytes.len))
        e = why_set(l->why, ERR_INPUT, "%s: a NUL byte: expected a kernel's text", full);
    if (!e && is_text)
        e = splice_all(l->path, full, buf_text(&bytes), &whole, l->why);
    if (e)
        why_prefix(l->why, e, "%s.%s", where, member);
    else
        e = is_text ? note_file(l, name->valuestring, buf_text(&whole), whole.len)
                    : note_file(l, name->valuestring, buf_text(&bytes), bytes.len);
    buf_fini(&bytes);
    buf_fini(&whole);
    return e;
}

static bool is_binary(const cJSON *o)
{
    const cJSON *fill = spec_member(o, "FillType");

    return cJSON_IsString(fill) && strcasecmp(fill->valuestring, "BinaryRaw") == 0;
}

static enum err add_data(struct loader *l, const cJSON *kernel, const char *list)
{
    const cJSON *item;
    size_t i = 0;
    enum err e = ERR_OK;

    cJSON_ArrayForEach(item, spec_member(kernel, list))
    {
        char where[SPEC_WHERE_BYTES];

        snprintf(where, sizeof where, "KernelSpecification.%s[%zu]", list, i++);
        if (!e && is_binary(item))
            e = add_file(l, item, "DataSource", where, false);
    }
    return e;
}

static enum err add_files(struct loader *l, const cJSON *job)
{
    const cJSON *kernel = spec_member(job, "KernelSpecification");
    const char *file = NULL;
    enum err e = spec_text(kernel, "KernelSpecification", "KernelFile", &file, l->why);

    if (!e)
        e = add_file(l, kernel, "KernelFile", "KernelSpecification", true);
    if (!e)
        e = add_file(l, spec_member(kernel, "ReferenceKernel"), "KernelFile", "KernelSpecification.ReferenceKernel",
                     true);
    if (!e)
        e = add_data(l, kernel, "Arguments");
    return e ? e : add_data(l, kernel, "ReferenceArguments");
}

static enum err close_job(struct loader *l, cJSON *job, struct buf *closed)
{
    cJSON *tune = cJSON_CreateObject();
    bool ok = tune != NULL;
    enum err e = ERR_OK;

    l->list = cJSON_CreateArray();
    if (!cJSON_IsObject(job) || !spec_member(job, "KernelSpecification"))
        e = why_set(l->why, ERR_INPUT, "no KernelSpecification in it: expected a job file (T1)");
    if (!e)
        e = spec_check_members(job, l->why);
    if (!e)
        e = add_files(l, job);
    cJSON_DeleteItemFromObjectCaseSensitive(job, "tune");
    json_add_i64(tune, "schema", 1, &ok);
    json_add_item(tune, "files", l->list, &ok);
    json_add_item(job, "tune", tune, &ok);
    if (!e && !ok)
        e = why_set(l->why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
    if (!e && (e = json_print(job, closed)))
        why_set(l->why, e, "%s", e == ERR_LIMIT ? "longer than a job may be" : err_words(e));
    return e;
}

enum err spec_load(const char *path, struct buf *closed, struct blobs *files, struct why *why)
{
    struct why words = {""};
    struct loader l = {.path = path, .files = files, .why = &words};
    char full[PATH_MAX];
    struct buf text = {0};
    cJSON *job = NULL;
    enum err e = read_regular("", path, SPEC_MAX_BYTES, &text, full, why);

    if (!e) {
        e = json_parse_file(buf_text(&text), text.len, &job, &words);
        if (!e)
            e = close_job(&l, job, closed);
        if (e)
            why_set(why, spec_one_line(&words, e), "%.300s: %s", path, words.text);
    }
    cJSON_Delete(job);
    buf_fini(&text);
    return e;
}

const char *spec_usual_device(const char *path)
{
    const struct spec_language *l = NULL;
    char full[PATH_MAX];
    struct buf text = {0};
    const cJSON *name;
    cJSON *job = NULL;

    if (!read_regular("", path, SPEC_MAX_BYTES, &text, full, NULL) &&
        !json_parse_file(buf_text(&text), text.len, &job, NULL)) {
        name = spec_member(spec_member(job, "KernelSpecification"), "Language");
        l = cJSON_IsString(name) ? spec_language_named(name->valuestring) : NULL;
    }
    cJSON_Delete(job);
    buf_fini(&text);
    return l ? l->api : "opencl";
}

enum err spec_parse_closed(const char *closed, size_t n, cJSON **job, const cJSON **list, struct why *why)
{
    enum err e = json_parse(closed, n, job, why);

    *list = e ? NULL : spec_member(spec_member(*job, "tune"), "files");
    if (!e && !cJSON_IsArray(*list))
        e = why_set(why, ERR_INPUT, "a kernel's job without its list of files");
    return e;
}

enum err spec_each_file(const char *closed, size_t n, enum err (*each)(const char *hex, void *arg, struct why *why),
                        void *arg, struct why *why)
{
    cJSON *job = NULL;
    const cJSON *list, *item;
    enum err e = spec_parse_closed(closed, n, &job, &list, why);

    cJSON_ArrayForEach(item, list)
    {
        const char *hex = NULL;

        if (!e)
            e = json_get_text(item, "sha256", &hex, why);
        if (!e && !sha256_is_hex(hex))
            e = why_set(why, ERR_INPUT, "a file of a kernel's job has no sane hash");
        if (!e)
            e = each(hex, arg, why);
    }
    cJSON_Delete(job);
    return e;
}

enum err spec_file_hash(const cJSON *files, const char *name, const char *where, struct sha256 *out, struct why *why)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, files)
    {
        const cJSON *known = cJSON_GetObjectItemCaseSensitive(item, "name"),
                    *hash = cJSON_GetObjectItemCaseSensitive(item, "sha256");

        if (cJSON_IsString(known) && cJSON_IsString(hash) && strcmp(known->valuestring, name) == 0 &&
            sha256_is_hex(hash->valuestring)) {
            memcpy(out->hex, hash->valuestring, sizeof out->hex);
            return ERR_OK;
        }
    }
    return why_set(why, ERR_NOT_FOUND, "%s: the file '%.100s' is not among the job's", where, name);
}
