/* deploy_bundle.c - the files of a bundle. */
#include "tuner/deploy_bundle.h"

#include "core/file.h"
#include "libtune/bundle_files.h"
#include "tuner/deploy_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)512 << 20)
#define BUNDLE_SCHEMA 1

/* Where to write, and the list of what was written, for the manifest. */
struct target {
    const char *dir;
    cJSON *files;
};

static enum err put(struct target *t, const char *name, const void *bytes, size_t n, struct why *why)
{
    char path[PATH_MAX];
    bool ok = true;
    if (snprintf(path, sizeof path, "%s/%s", t->dir, name) >= (int)sizeof path) {
        return why_set(why, ERR_LIMIT, "%s: the path is too long", t->dir);
    }
    enum err e = file_replace(path, bytes, n, 0644, why);
    if (e != ERR_OK) {
        return e;
    }
    struct sha256 hash = sha256_of(bytes, n);
    cJSON *entry = cJSON_CreateObject();
    json_add_text(entry, "path", name, &ok);
    json_add_text(entry, "sha256", hash.hex, &ok);
    json_add_i64(entry, "bytes", (int64_t)n, &ok);
    if (!ok || !cJSON_AddItemToArray(t->files, entry)) {
        return why_set(why, ERR_NOMEM, "out of memory");
    }
    return ERR_OK;
}

static enum err put_buf(struct target *t, const char *name, struct buf *b, enum err e, struct why *why)
{
    if (e == ERR_OK && b->failed != ERR_OK) {
        e = why_set(why, b->failed, "%s: %s", name, err_words(b->failed));
    }
    return e == ERR_OK ? put(t, name, buf_text(b), b->len, why) : e;
}

static enum err put_fixed_files(struct target *t, struct why *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; bundle_files[i].name != NULL && e == ERR_OK; i++) {
        e = put(t, bundle_files[i].name, bundle_files[i].text, bundle_files[i].n_bytes, why);
    }
    return e;
}

static enum err put_c_files(struct target *t, const struct deploy_layer *layers, size_t n, struct why *why)
{
    struct buf header, tables, vectors;
    buf_init(&header, FILE_MAX_BYTES);
    buf_init(&tables, FILE_MAX_BYTES);
    buf_init(&vectors, FILE_MAX_BYTES);
    enum err e = put_buf(t, "tune_bundle.h", &header, deploy_text_header(layers, n, &header), why);
    if (e == ERR_OK) {
        e = put_buf(t, "tune_bundle.c", &tables, deploy_text_tables(layers, n, &tables, why), why);
    }
    if (e == ERR_OK) {
        e = put_buf(t, "tune_vectors_data.c", &vectors, deploy_text_vectors(layers, n, &vectors, why), why);
    }
    buf_fini(&header);
    buf_fini(&tables);
    buf_fini(&vectors);
    return e;
}

static enum err put_kernels(struct target *t, const struct deploy_layer *l, struct why *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < l->program.n_modules && e == ERR_OK; i++) {
        char name[SHA256_HEX + 32];
        const struct blob *source = blobs_get(&l->blobs, l->program.modules[i].source.hex);
        if (source == NULL) {
            return why_set(why, ERR_NOT_FOUND, "%s: a kernel text is missing", l->record.workload);
        }
        (void)snprintf(name, sizeof name, "kernels/%s.cl", source->name.hex);
        e = put(t, name, source->data, source->n_bytes, why);
    }
    return e;
}

static enum err put_cmake(struct target *t, struct why *why)
{
    static const char lists[] =
        "# A bundle of tuned layers: add_subdirectory() this folder, or find_package(tune_bundle) with "
        "CMAKE_PREFIX_PATH\n"
        "# or tune_bundle_DIR pointing here; then link tune_bundle. tune_vectors is for tests.\n"
        "cmake_minimum_required(VERSION 3.13)\n"
        "project(tune_bundle LANGUAGES C)\n\n"
        "find_package(OpenCL REQUIRED)\n"
        "add_library(tune_bundle STATIC tune_layer.c tune_bundle.c)\n"
        "target_include_directories(tune_bundle PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
        "target_link_libraries(tune_bundle PUBLIC OpenCL::OpenCL)\n"
        "add_library(tune_vectors STATIC EXCLUDE_FROM_ALL tune_vectors.c tune_vectors_data.c)\n"
        "target_link_libraries(tune_vectors PUBLIC tune_bundle)\n"
        "if(UNIX)\n"
        "  target_link_libraries(tune_vectors PUBLIC m)\n"
        "endif()\n"
        "set_target_properties(tune_bundle tune_vectors PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON "
        "POSITION_INDEPENDENT_CODE ON)\n";
    static const char config[] =
        "# find_package(tune_bundle): builds the bundle as a part of the project that asks for it.\n"
        "if(NOT TARGET tune_bundle)\n"
        "  add_subdirectory(${CMAKE_CURRENT_LIST_DIR} ${CMAKE_BINARY_DIR}/tune_bundle)\n"
        "endif()\n";
    enum err e = put(t, "CMakeLists.txt", lists, sizeof lists - 1, why);
    return e == ERR_OK ? put(t, "tune_bundleConfig.cmake", config, sizeof config - 1, why) : e;
}

static cJSON *parsed_program(const struct deploy_layer *l)
{
    struct buf text;
    cJSON *tree = NULL;
    buf_init(&text, PROGRAM_MAX_BYTES);
    if (program_to_json(&l->program, &text) == ERR_OK) {
        (void)json_parse(buf_text(&text), text.len, &tree, NULL);
    }
    buf_fini(&text);
    return tree;
}

/* plan.json: the programs, whose module sources are kernels/<sha256>.cl. */
static enum err put_plan(struct target *t, const struct deploy_layer *layers, size_t n, struct why *why)
{
    bool ok = true;
    struct buf text;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_CreateArray();
    json_add_i64(root, "schema", BUNDLE_SCHEMA, &ok);
    for (size_t i = 0; i < n && ok; i++) {
        cJSON *entry = cJSON_CreateObject();
        json_add_text(entry, "workload", layers[i].record.workload, &ok);
        json_add_text(entry, "symbol", layers[i].symbol, &ok);
        json_add_item(entry, "program", parsed_program(&layers[i]), &ok);
        ok = ok && cJSON_AddItemToArray(list, entry);
    }
    json_add_item(root, "layers", list, &ok);
    buf_init(&text, FILE_MAX_BYTES);
    enum err e = ok ? json_print(root, &text) : ERR_NOMEM;
    buf_puts(&text, "\n");
    e = put_buf(t, "plan.json", &text, e, why);
    buf_fini(&text);
    cJSON_Delete(root);
    return e;
}

static cJSON *manifest_layer(const struct deploy_layer *l)
{
    bool ok = true;
    const struct record *r = &l->record;
    cJSON *entry = cJSON_CreateObject();
    json_add_text(entry, "workload", r->workload, &ok);
    json_add_text(entry, "symbol", l->symbol, &ok);
    json_add_text(entry, "template", r->template_id, &ok);
    json_add_i64(entry, "template_version", r->template_version, &ok);
    json_add_item(entry, "knobs", cJSON_Duplicate(r->knobs, 1), &ok);
    json_add_text(entry, "status", status_name(r->status), &ok);
    json_add_text(entry, "purpose", r->purpose, &ok);
    json_add_text(entry, "proposed_by", r->proposed_by, &ok);
    json_add_text(entry, "program", r->program.hex, &ok);
    json_add_text(entry, "fingerprint", r->fingerprint.hex, &ok);
    json_add_item(entry, "device", cJSON_Duplicate(r->device, 1), &ok);
    json_add_text(entry, "key", r->key, &ok);
    json_add_text(entry, "job", r->job, &ok);
    json_add_text(entry, "record", r->id, &ok);
    json_add_text(entry, "protocol", r->protocol, &ok);
    json_add_real(entry, "flops", r->flops, &ok);
    json_add_real(entry, "time_ns", r->time_ns, &ok);
    json_add_real(entry, "gflops", record_gflops(r), &ok);
    json_add_real(entry, "se", r->se, &ok);
    json_add_i64(entry, "ts", r->ts_ms, &ok);
    if (!ok) {
        cJSON_Delete(entry);
        return NULL;
    }
    return entry;
}

/* manifest.json: what the bundle was made from, and a hash of each file. Written last: a bundle without it is not
 * whole. */
static enum err put_manifest(struct target *t, const struct deploy_layer *layers, size_t n, struct why *why)
{
    bool ok = true;
    char path[PATH_MAX];
    struct buf text;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_CreateArray();
    json_add_i64(root, "schema", BUNDLE_SCHEMA, &ok);
    json_add_text(root, "tune", TUNE_VERSION, &ok);
    for (size_t i = 0; i < n && ok; i++) {
        cJSON *entry = manifest_layer(&layers[i]);
        ok = entry != NULL && cJSON_AddItemToArray(list, entry);
    }
    json_add_item(root, "layers", list, &ok);
    json_add_item(root, "files", cJSON_Duplicate(t->files, 1), &ok);
    buf_init(&text, FILE_MAX_BYTES);
    enum err e = ok ? json_print(root, &text) : why_set(why, ERR_NOMEM, "out of memory");
    buf_puts(&text, "\n");
    (void)snprintf(path, sizeof path, "%s/manifest.json", t->dir);
    e = e == ERR_OK ? file_replace(path, buf_text(&text), text.len, 0644, why) : e;
    buf_fini(&text);
    cJSON_Delete(root);
    return e;
}

enum err deploy_bundle_write(const struct deploy_layer *layers, size_t n, const char *dir, struct why *why)
{
    char kernels[PATH_MAX];
    struct target t = {dir, cJSON_CreateArray()};
    if (snprintf(kernels, sizeof kernels, "%s/kernels", dir) >= (int)sizeof kernels || t.files == NULL) {
        cJSON_Delete(t.files);
        return why_set(why, ERR_LIMIT, "%s: the path is too long", dir);
    }
    enum err e = dir_make(kernels, 0755, why);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        e = put_kernels(&t, &layers[i], why);
    }
    e = e == ERR_OK ? put_fixed_files(&t, why) : e;
    e = e == ERR_OK ? put_c_files(&t, layers, n, why) : e;
    e = e == ERR_OK ? put_cmake(&t, why) : e;
    e = e == ERR_OK ? put_plan(&t, layers, n, why) : e;
    e = e == ERR_OK ? put_manifest(&t, layers, n, why) : e;
    cJSON_Delete(t.files);
    return e;
}
