/* SPDX-License-Identifier: MIT */
/* bundle.c - the files of a bundle. */
#include "deploy/bundle.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "deploy/manifest.h"
#include "deploy/network.h"
#include "deploy/place.h"
#include "deploy/text.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)512 << 20)

/* Where to write, and the list of what was written, for the manifest. */
struct target {
    struct deploy_set *set;
    const char *dir;
    cJSON *files;
    struct why *why;
};

static enum err put(struct target *t, const char *name, const void *bytes, size_t n)
{
    char path[PATH_MAX];
    bool ok = true;
    if (snprintf(path, sizeof path, "%s/%s", t->dir, name) >= (int)sizeof path)
        return why_set(t->why, ERR_LIMIT, "%s: the path is too long", t->dir);
    enum err e = file_replace(path, bytes, n, 0644, t->why);
    if (e != ERR_OK)
        return e;
    assert(t->files);
    struct sha256 hash = sha256_of(bytes, n);
    cJSON *entry = cJSON_CreateObject();
    json_add_text(entry, "path", name, &ok);
    json_add_text(entry, "sha256", hash.hex, &ok);
    json_add_i64(entry, "bytes", (int64_t)n, &ok);
    if (!ok || !cJSON_AddItemToArray(t->files, entry))
        return why_set(t->why, ERR_NOMEM, "out of memory");
    return ERR_OK;
}

/* Puts a buffer that was filled with status `e`, named after the bundle. */
static enum err put_named(struct target *t, const char *format, struct buf *b, enum err e)
{
    char name[DEPLOY_NAME_BYTES + 32];
    (void)snprintf(name, sizeof name, format, t->set->name); /* of the table below */
    if (e == ERR_OK && b->failed != ERR_OK)
        e = why_set(t->why, b->failed, "%s: %s", name, err_words(b->failed));
    return e == ERR_OK ? put(t, name, buf_text(b), b->len) : e;
}

static void put_api(const struct deploy_set *s, struct buf *out)
{
    buf_printf(out, "set(%s_CUDA %s)\n", s->name, deploy_set_is_cuda(s) ? "ON" : "OFF");
}

static enum err lists(const struct deploy_set *s, struct buf *out, struct why *why)
{
    buf_printf(out,
               "# The bundle %s, written by `tune deploy`.\ncmake_minimum_required(VERSION 3.13)\n"
               "project(%s VERSION " TUNE_VERSION " LANGUAGES C)\n",
               s->name, s->name);
    put_api(s, out);
    return deploy_text_part(s, "lists.cmake", out, why);
}

static enum err config(const struct deploy_set *s, struct buf *out, struct why *why)
{
    put_api(s, out);
    return deploy_text_part(s, "Config.cmake", out, why);
}

static enum err pc(const struct deploy_set *s, struct buf *out, struct why *why)
{
    return deploy_text_part(s, "pc.in", out, why);
}

static enum err licence(const struct deploy_set *s, struct buf *out, struct why *why)
{
    return deploy_text_part(s, "LICENSE", out, why);
}

static cJSON *parsed_program(const struct deploy_layer *l)
{
    struct buf text;
    cJSON *tree = NULL;
    buf_init(&text, PROGRAM_MAX_BYTES);
    if (program_to_json(&l->program, &text) == ERR_OK)
        (void)json_parse(buf_text(&text), text.len, &tree, NULL);
    buf_fini(&text);
    return tree;
}

/* plan.json: the programs, whose module sources are kernels/<sha256>.cl, and the steps of a whole network. */
static enum err plans(const struct deploy_set *s, struct buf *out, struct why *why)
{
    bool ok = true;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_CreateArray();
    json_add_i64(root, "schema", BUNDLE_SCHEMA, &ok);
    for (size_t i = 0; i < s->n_layers && ok; i++) {
        cJSON *entry = cJSON_CreateObject();
        json_add_text(entry, "workload", s->layers[i].workload, &ok);
        json_add_item(entry, "program", parsed_program(&s->layers[i]), &ok);
        ok = ok && cJSON_AddItemToArray(list, entry);
    }
    json_add_item(root, "layers", list, &ok);
    deploy_network_json(s, root, &ok);
    enum err e = ok ? json_print(root, out) : why_set(why, ERR_NOMEM, "out of memory");
    buf_puts(out, "\n");
    cJSON_Delete(root);
    return e;
}

#define IN_C "/* " DEPLOY_LICENCE " */\n"
#define IN_LISTS "# " DEPLOY_LICENCE "\n"

/* The files by name ("%s": the bundle's), and the first line of each. */
static const struct {
    const char *name, *head;
    enum err (*text)(const struct deploy_set *s, struct buf *out, struct why *why);
} named[] = {
    {"%s.h", IN_C, deploy_text_header},
    {"%s.c", IN_C, deploy_text_source},
    {"%s_vectors.h", IN_C, deploy_text_vectors_header},
    {"%s_vectors.c", IN_C, deploy_text_vectors},
    {"CMakeLists.txt", IN_LISTS, lists},
    {"%sConfig.cmake", IN_LISTS, config},
    {"%s.pc.in", IN_LISTS, pc},
    {"plan.json", "", plans},
    {"LICENSE", "", licence},
};

static enum err put_files(struct target *t)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof named / sizeof named[0] && e == ERR_OK; i++) {
        struct buf text;
        buf_init(&text, FILE_MAX_BYTES);
        buf_puts(&text, named[i].head);
        e = put_named(t, named[i].name, &text, named[i].text(t->set, &text, t->why));
        buf_fini(&text);
    }
    return e;
}

static enum err put_kernel(struct target *t, const char *hex, const char *ending, const void *bytes, size_t n)
{
    char name[SHA256_HEX + 32];
    assert(strlen(hex) == SHA256_HEX);
    (void)snprintf(name, sizeof name, "kernels/%s.%s", hex, ending);
    return put(t, name, bytes, n);
}

/* Code that was made ahead, each under its own hash. */
static enum err put_codes(struct target *t, const struct deploy_code *c)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < c->n && e == ERR_OK; i++) {
        const struct sha256 hash = sha256_of(c->list[i].bytes, c->list[i].n_bytes);
        e = put_kernel(t, hash.hex, deploy_code_ending(&c->list[i]), c->list[i].bytes, c->list[i].n_bytes);
    }
    return e;
}

static enum err put_kernels(struct target *t)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/kernels", t->dir) >= (int)sizeof path)
        return why_set(t->why, ERR_LIMIT, "%s: the path is too long", t->dir);
    enum err e = dir_make(path, 0755, t->why);
    for (size_t i = 0; i < t->set->n_texts && e == ERR_OK; i++) {
        const struct blob *text = t->set->texts[i];
        e = put_kernel(t, text->name.hex, deploy_set_is_cuda(t->set) ? "cu" : "cl", text->data, text->n_bytes);
    }
    for (size_t i = 0; i < t->set->n_modules && e == ERR_OK; i++)
        e = put_codes(t, &t->set->modules[i].code);
    return e;
}

/* Written last: a bundle without it is not whole. */
static enum err put_manifest(struct target *t)
{
    char path[PATH_MAX];
    struct buf text;
    buf_init(&text, BUNDLE_MANIFEST_BYTES);
    (void)snprintf(path, sizeof path, "%s/" BUNDLE_MANIFEST, t->dir);
    enum err e = deploy_manifest_text(t->set, t->files, &text, t->why);
    e = e == ERR_OK ? file_replace(path, buf_text(&text), text.len, 0644, t->why) : e;
    buf_fini(&text);
    return e;
}

static enum err fill(const char *dir, void *arg, struct why *why)
{
    struct target t = {arg, dir, cJSON_CreateArray(), why};
    enum err e = t.files ? ERR_OK : why_set(why, ERR_NOMEM, "out of memory");
    e = e == ERR_OK ? put_kernels(&t) : e;
    e = e == ERR_OK ? put_files(&t) : e;
    e = e == ERR_OK ? put_manifest(&t) : e;
    cJSON_Delete(t.files);
    return e;
}

enum err deploy_bundle_write(struct deploy_set *s, const char *dir, struct why *why)
{
    enum err e = !s->modules ? deploy_set_share(s, why) : ERR_OK;
    return e == ERR_OK ? deploy_place(dir, deploy_is_bundle, fill, s, why) : e;
}
