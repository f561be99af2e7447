/* SPDX-License-Identifier: MIT */
/* import.c - `tune import`: an ONNX model made a graph, a list of layers and weights. */
#include "cli/cmd.h"
#include "core/file.h"
#include "kernels/graph.h"
#include "kernels/graph_range.h"
#ifdef TUNE_HAVE_ONNX
#include "cli/calibrate.h"
#include "onnx/import.h"
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TUNE_HAVE_ONNX
#define MAX_GIVEN 64 /* times --dim or --const */
#define MAX_NAME 64
#define MAX_FILE ((size_t)1 << 20)

/* --dim NAME=N and --const NAME=FILE, as often as given; the names are cut out into `names`. */
struct given {
    struct onnx_dim dims[MAX_GIVEN];
    struct onnx_binding bindings[MAX_GIVEN];
    char names[2][MAX_GIVEN][MAX_NAME];
    struct onnx_options options;
    const struct onnx_dim *ranged; /* one of dims, whose size is the largest then; NULL: none */
    int64_t least, most;
};

/* What stands behind NAME= of each value of an option, the names into `names`; how many there are in *n. */
static enum err cut_names(const struct cli *c, const char *option, char names[MAX_GIVEN][MAX_NAME],
                          const char *values[MAX_GIVEN], size_t *n, struct why *why)
{
    const char *texts[MAX_GIVEN];
    const int n_texts = cmd_has(c, option) ? cli_texts(c, option, texts, MAX_GIVEN) : 0;

    if (n_texts > MAX_GIVEN)
        return why_set(why, ERR_LIMIT, "more than %d times --%s", MAX_GIVEN, option);
    for (int i = 0; i < n_texts; i++) {
        const char *equals = strchr(texts[i], '=');

        if (!equals || equals == texts[i] || equals - texts[i] >= MAX_NAME)
            return why_set(why, ERR_INPUT, "--%s %.60s: expected NAME=%s", option, texts[i],
                           strcmp(option, "dim") == 0 ? "N or LEAST..MOST" : "FILE");
        snprintf(names[i], MAX_NAME, "%.*s", (int)(equals - texts[i]), texts[i]);
        values[i] = equals + 1;
    }
    *n = (size_t)n_texts;
    return ERR_OK;
}

/* --dim i, N or LEAST..MOST. */
static enum err read_dim(struct given *out, size_t i, const char *value, struct why *why)
{
    const bool is_range = strstr(value, "..");
    long long size[2] = {0};
    int end = 0;

    if (is_range ? sscanf(value, "%7lld..%7lld%n", &size[0], &size[1], &end) != 2
                 : sscanf(value, "%7lld%n", &size[1], &end) != 1)
        end = 0;
    if (!end || value[end] || (is_range && (size[0] < 0 || size[0] >= size[1])) || size[1] < 1 ||
        size[1] > GRAPH_MAX_SIZE)
        return why_set(why, ERR_INPUT, "--dim %.60s=%.60s: expected NAME=N, or NAME=LEAST..MOST, from %d to %d%s",
                       out->names[0][i], value, !is_range, GRAPH_MAX_SIZE,
                       is_range ? ", the least below the most" : "");
    if (is_range && out->ranged)
        return why_set(why, ERR_INPUT, "--dim %.60s: %.60s is a range already, and only one dimension may be",
                       out->names[0][i], out->ranged->name);
    out->dims[i] = (struct onnx_dim){out->names[0][i], size[1]};
    if (is_range) {
        out->ranged = &out->dims[i];
        out->least = size[0];
        out->most = size[1];
    }
    return ERR_OK;
}

static enum err read_given(const struct cli *c, struct given *out, struct why *why)
{
    const char *values[MAX_GIVEN];
    struct onnx_options *o = &out->options;
    enum err e = cut_names(c, "dim", out->names[0], values, &o->n_dims, why);

    out->ranged = NULL;
    for (size_t i = 0; !e && i < o->n_dims; i++)
        e = read_dim(out, i, values[i], why);
    if (!e)
        e = cut_names(c, "const", out->names[1], values, &o->n_bindings, why);
    for (size_t i = 0; !e && i < o->n_bindings; i++)
        out->bindings[i] = (struct onnx_binding){out->names[1][i], values[i]};
    o->dims = out->dims;
    o->bindings = out->bindings;
    return e;
}

/* The model's own name: that of its file without folder and ending. */
static void name_of(const char *path, char *out, size_t n)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');

    snprintf(out, n, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
}

static enum err open_model(const struct cli *c, const char *path, struct onnx_import **out, struct why *why)
{
    struct given given;
    const enum err e = read_given(c, &given, why);

    return e ? e : onnx_import_open(path, &given.options, out, why);
}

enum err cmd_import_graph(const struct cli *c, const char *path, struct buf *out, struct why *why)
{
    struct onnx_import *m = NULL;
    struct given given;
    enum err e = read_given(c, &given, why);

    if (!e && given.ranged && !(cmd_has(c, "whole") && cli_flag(c, "whole")))
        e = why_set(why, ERR_INPUT, "--dim %.60s=%lld..%lld: a range is for --whole", given.ranged->name,
                    (long long)given.least, (long long)given.most);
    if (!e)
        e = onnx_import_open(path, &given.options, &m, why);
    if (!e && (e = onnx_import_graph(m, out, why)))
        why_prefix(why, e, "%.300s", path);
    onnx_import_close(m);
    return e;
}

/* ---- a range of sizes ---- */

/* The model at a size of its range; both are to be ended. */
struct at_size {
    struct onnx_import *m;
    struct graph g;
};

static void at_size_fini(struct at_size *a)
{
    onnx_import_close(a->m);
    graph_fini(&a->g);
    *a = (struct at_size){.m = NULL};
}

static enum err at_size_init(const char *path, const struct given *given, int64_t size, const struct graph_range *r,
                             struct at_size *out, struct why *why)
{
    struct given one = *given;
    struct buf text;
    enum err e;

    *out = (struct at_size){.m = NULL};
    one.dims[given->ranged - given->dims].size = size;
    one.options.dims = one.dims;
    buf_init(&text, GRAPH_MAX_BYTES);
    e = onnx_import_open(path, &one.options, &out->m, why);
    if (!e)
        e = onnx_import_graph(out->m, &text, why);
    if (!e)
        e = graph_parse(r->model, buf_text(&text), text.len, &out->g, why);
    if (e)
        why_prefix(why, e, "%.60s=%lld", r->name, (long long)size);
    buf_fini(&text);
    return e;
}

/* A bucket, seen beside a size that is less by one, and whose weights are those of the largest, or their beginning. */
static enum err add_bucket(const char *path, const struct given *given, int64_t size, const struct at_size *largest,
                           struct graph_range *r, struct why *why)
{
    const int64_t other_size = size > 2 ? size - 1 : size + 1;
    struct at_size own, other = {.m = NULL};
    enum err e = at_size_init(path, given, size, r, &own, why);

    if (!e)
        e = at_size_init(path, given, other_size, r, &other, why);
    if (!e)
        e = graph_range_add(r, &own.g, size, &other.g, other_size, why);
    if (!e)
        e = onnx_import_same_weights(other_size < size ? other.m : own.m, other_size < size ? own.m : other.m, why);
    if (!e)
        e = onnx_import_same_weights(own.m, largest->m, why);
    at_size_fini(&own);
    at_size_fini(&other);
    return e;
}

enum err cmd_import_range(const struct cli *c, const char *path, struct graph_range **out, struct why *why)
{
    int64_t sizes[RANGE_MAX_BUCKETS];
    struct at_size largest = {.m = NULL};
    struct graph_range *r;
    struct given given;
    size_t n;
    enum err e = read_given(c, &given, why);

    *out = NULL;
    if (e || !given.ranged)
        return e;
    r = calloc(1, sizeof *r);
    if (!r)
        return why_set(why, ERR_NOMEM, "out of memory");
    snprintf(r->name, sizeof r->name, "%s", given.ranged->name);
    name_of(path, r->model, sizeof r->model);
    r->least = given.least;
    r->most = given.most;
    n = graph_range_sizes(r->least, r->most, sizes);
    e = at_size_init(path, &given, r->most, r, &largest, why);
    for (size_t i = 0; i < n && !e; i++)
        e = add_bucket(path, &given, sizes[i], &largest, r, why);
    at_size_fini(&largest);
    if (e) {
        why_prefix(why, e, "%.300s", path);
        cmd_range_free(r);
    } else
        *out = r;
    return e;
}

static enum err write_file(const char *dir, const char *name, const char *ending, const struct buf *text,
                           struct why *why)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s%s", dir, name, ending);
    return file_replace(path, buf_text(text), text->len, 0644, why);
}

static enum err write_all(const struct onnx_import *m, const char *dir, const char *name, enum dtype t, struct why *why)
{
    struct buf text, list;
    struct graph g = {.n_nodes = 0};
    enum err e;

    buf_init(&text, MAX_FILE);
    buf_init(&list, MAX_FILE);
    e = onnx_import_graph(m, &text, why);
    if (!e)
        e = graph_parse(name, buf_text(&text), text.len, &g, why);
    if (!e)
        e = network_list(&g, &list, why);
    if (!e)
        e = dir_make(dir, 0755, why);
    if (!e)
        e = write_file(dir, name, ".graph", &text, why);
    if (!e)
        e = write_file(dir, name, ".net", &list, why);
    if (!e)
        e = onnx_import_weights(m, dir, t, why);
    graph_fini(&g);
    buf_fini(&text);
    buf_fini(&list);
    return e;
}

/* The type of the floats that are written; of a model that is quantised f32. */
static enum err read_dtype(const struct cli *c, enum dtype *out, struct why *why)
{
    const char *given = cli_text(c, "dtype");
    const bool calibrates = cli_text(c, "calibrate") != NULL;
    const char *word;
    const int t = given ? dtype_by_name(given) : calibrates ? DTYPE_I8 : DTYPE_F32;

    if (calibrates && t != DTYPE_I8)
        return why_set(why, ERR_INPUT, "import: --calibrate quantises to bytes: expected --dtype i8, not %.20s", given);
    if (!calibrates && t == DTYPE_I8)
        return why_set(
            why, ERR_INPUT,
            "import: --dtype i8: expected --calibrate FILE.npz with inputs, by which the model is quantised");
    if (!calibrates && t != DTYPE_F32 && t != DTYPE_F16)
        return why_set(why, ERR_INPUT, "import: --dtype %.20s: expected f32, f16 or i8", given);
    if (!calibrates && cli_texts(c, "keep-f32", &word, 1) > 0)
        return why_set(why, ERR_INPUT, "import: --keep-f32 is for --calibrate");
    if (!calibrates && cli_real(c, "percentile") < 100)
        return why_set(why, ERR_INPUT, "import: --percentile is for --calibrate");
    *out = calibrates ? DTYPE_F32 : (enum dtype)t;
    return ERR_OK;
}

static enum err quantise(const struct cli *c, struct onnx_import *m, struct buf *report, struct why *why)
{
    const char *keep[MAX_GIVEN];
    struct calibration given = {cli_text(c, "calibrate"), cli_text(c, "device"), keep, 0, cli_real(c, "percentile")};
    const int n = cli_texts(c, "keep-f32", keep, MAX_GIVEN);

    if (n > MAX_GIVEN)
        return why_set(why, ERR_LIMIT, "more than %d times --keep-f32", MAX_GIVEN);
    given.n_keep = (size_t)n;
    return given.inputs ? calibrate(m, &given, report, why) : ERR_OK;
}

static enum err import(const struct cli *c, struct why *why)
{
    const char *dir = cli_text(c, "output");
    enum dtype t = DTYPE_F32;
    struct onnx_import *m = NULL;
    struct graph_range *range = NULL;
    struct buf table;
    char name[MAX_NAME];
    enum err e;

    if (c->n_rest != 1 || (!dir && !cli_flag(c, "dry-run")))
        return why_set(why, ERR_INPUT, "import: expected a model, and -o DIR or --dry-run");
    e = read_dtype(c, &t, why);
    if (e)
        return e;
    name_of(c->rest[0], name, sizeof name);
    buf_init(&table, MAX_FILE);
    e = cmd_import_range(c, c->rest[0], &range, why);
    if (!e && range && cli_text(c, "calibrate"))
        e = why_set(why, ERR_INPUT, "import: --calibrate takes one size of each dimension, not the range of %s",
                    range->name);
    if (!e)
        e = open_model(c, c->rest[0], &m, why);
    if (!e)
        e = onnx_import_describe(m, &table);
    if (!e)
        e = quantise(c, m, &table, why);
    if (!e && !cli_flag(c, "quiet"))
        fputs(buf_text(&table), stdout);
    buf_clear(&table);
    if (!e)
        e = dir && !cli_flag(c, "dry-run") ? write_all(m, dir, name, t, why) : onnx_import_graph(m, &table, why);
    if (!e && dir && !cli_flag(c, "dry-run") && !cli_flag(c, "quiet"))
        printf("%s: %s.graph, %s.net, weights.bin, weights.txt\n", dir, name, name);
    if (!e && range && !cli_flag(c, "quiet"))
        printf("%s=%lld to %lld: exact at every size; these are of %lld\n", range->name, (long long)range->least,
               (long long)range->most, (long long)range->most);
    cmd_range_free(range);
    buf_fini(&table);
    onnx_import_close(m);
    return e;
}
#else
static enum err without(struct why *why)
{
    return why_set(why, ERR_UNSUPPORTED,
                   "this tune is built without ONNX: its build found no onnx/onnx.proto, libprotobuf-c and protoc-c "
                   "(Debian: libonnx-dev, libprotobuf-c-dev, protobuf-c-compiler)");
}

enum err cmd_import_graph(const struct cli *c, const char *path, struct buf *out, struct why *why)
{
    (void)c;
    (void)path;
    (void)out;
    return without(why);
}

enum err cmd_import_range(const struct cli *c, const char *path, struct graph_range **out, struct why *why)
{
    (void)c;
    (void)path;
    *out = NULL;
    return without(why);
}

static enum err import(const struct cli *c, struct why *why)
{
    (void)c;
    return without(why);
}
#endif

void cmd_range_free(struct graph_range *r)
{
    graph_range_fini(r);
    free(r);
}

static const struct cli_option options[] = {
    CLI_OPTION("output", CLI_TEXT, .letter = 'o', .argument = "DIR",
               .help = "folder for NAME.graph, NAME.net, weights.bin and weights.txt; made where it is not there"),
    OPT_DIM,
    CLI_OPTION("const", CLI_TEXT, .argument = "NAME=FILE",
               .help = "an input that is a constant: its value, a TensorProto; may be repeated"),
    CLI_OPTION("dtype", CLI_TEXT, .argument = "T",
               .help = "of the weights: f32 or f16; i8: quantised, with --calibrate (default: f32)"),
    CLI_OPTION("calibrate", CLI_TEXT, .argument = "FILE.npz",
               .help = "quantise by what the model computes of these inputs, and tell how far outputs are off"),
    CLI_OPTION("keep-f32", CLI_TEXT, .argument = "LAYER",
               .help = "a convolution or dense layer that is not quantised, or first, or last; may be repeated"),
    CLI_OPTION("percentile", CLI_REAL, .argument = "P", .otherwise = "100", .min = 50, .max = 100,
               .help = "bytes hold so much of each tensor's numbers, the rest is cut off, half at each end"),
    CLI_OPTION("device", CLI_TEXT, .argument = "BACKEND", .otherwise = "opencl",
               .help = "that computes for --calibrate: opencl:0.1 or cuda:0, say"),
    CLI_OPTION("dry-run", CLI_FLAG, .help = "only tell what becomes of each operator"),
    OPT_QUIET,
    CLI_END,
};

static int run(const struct cli *c)
{
    struct why why = {""};
    const enum err e = import(c, &why);

    return e ? cmd_fail(e, &why) : EXIT_FINE;
}

const struct command cmd_import = {
    .name = "import",
    .summary = "make an ONNX model a network: a graph, its layers, its weights",
    .usage = "import MODEL.onnx -o DIR [--dim NAME=N|LEAST..MOST] | import MODEL.onnx --dry-run",
    .example = "tune import model.onnx -o out/model",
    .options = options,
    .run = run,
};
