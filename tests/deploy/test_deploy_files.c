/* SPDX-License-Identifier: MIT */
/* Names, lists of wanted layers, folders written beside their place, and bundles that were damaged. */
#include "core/file.h"
#include "kernels/template.h"
#include "libtune/bundle_files.h"
#include "tests/libtune/sample_layer.h"
#include "deploy/bundle.h"
#include "deploy/make.h"
#include "deploy/manifest.h"
#include "deploy/network.h"
#include "deploy/place.h"
#include "deploy/text.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- what is the same in every bundle ---- */

/* Examples of ids ("operator/template") in comments are of templates that there are. */
static void bundles_name_only_templates_that_exist(void **state)
{
    size_t n = 0;

    (void)state;
    for (const struct bundle_file *f = bundle_files; f->name; f++)
        for (const char *p = f->text; (p = strchr(p, '"')) != NULL; p++) {
            char op[32], name[32], id[64];
            int end = 0;

            if (sscanf(p, "\"%31[a-z0-9_]/%31[a-z0-9_]\"%n", op, name, &end) != 2 || !end)
                continue;
            snprintf(id, sizeof id, "%s/%s", op, name);
            if (!template_find(id))
                fail_msg("%s names %s", f->name, id);
            n++;
        }
    assert_true(n > 0);
}

/* ---- names ---- */

static void bundle_name_is(const char *text, const char *expected)
{
    char name[DEPLOY_NAME_BYTES];
    struct why why = {""};
    if (deploy_bundle_name(text, name, &why) != ERR_OK) {
        fail_msg("'%s': %s", text, why.text);
    }
    assert_string_equal(name, expected);
}

static void bundles_have_names_that_c_takes(void **state)
{
    static const char *const refused[] = {"",     "=", "math", "MATH", "test",    "OpenCL", "string",
                                          "tune", "c", "m",    "dl",   "pthread", "RT",     NULL};
    char name[DEPLOY_NAME_BYTES], long_name[200];
    struct why why = {""};
    (void)state;
    bundle_name_is("resnet-18", "resnet_18");
    bundle_name_is("3d net", "b3d_net");
    bundle_name_is("_x", "b_x");
    bundle_name_is("int", "int"); /* int_init is a name as others are */
    bundle_name_is("\xc3\xa9t\xc3\xa9", "b__t__");
    for (size_t i = 0; refused[i] != NULL; i++) {
        assert_int_equal(deploy_bundle_name(refused[i], name, &why), ERR_INPUT);
    }
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(deploy_bundle_name(long_name, name, &why), ERR_INPUT);
    deploy_capitals("resnet_18", name);
    assert_string_equal(name, "RESNET_18");
}

static void parameters_avoid_words_of_c(void **state)
{
    char name[DEPLOY_SYMBOL_BYTES];
    (void)state;
    assert_int_equal(deploy_parameter("x", name, sizeof name), ERR_OK);
    assert_string_equal(name, "x");
    assert_int_equal(deploy_parameter("int", name, sizeof name), ERR_OK);
    assert_string_equal(name, "int_");
    assert_int_equal(deploy_parameter("queue", name, sizeof name), ERR_OK);
    assert_string_equal(name, "queue_");
    assert_int_equal(deploy_parameter("2x", name, sizeof name), ERR_OK);
    assert_string_equal(name, "t2x");
}

static void symbols_do_not_clash(void **state)
{
    static const char *const others[] = {"conv", "fc_pack"};
    (void)state;
    assert_true(deploy_symbol_is_free("conv2", others, 2));
    assert_false(deploy_symbol_is_free("conv", others, 2));
    assert_false(deploy_symbol_is_free("conv_pack", others, 2)); /* packs conv */
    assert_false(deploy_symbol_is_free("fc", others, 2));        /* its pack function has a name that is taken */
    assert_false(deploy_symbol_is_free("init", NULL, 0));
    assert_false(deploy_symbol_is_free("layer", NULL, 0));
    assert_false(deploy_symbol_is_free("OK", NULL, 0));
}

/* ---- sets ---- */

#define DENSE "dense f32 m=3 n=17 k=31"
#define DENSE_2 "dense f32 m=4 n=17 k=31"

static void add_layer(struct deploy_set *s, const char *workload)
{
    struct deploy_layer l;
    struct record r;
    struct why why = {""};
    assert_true(sample_record(workload, "dense/naive", &r));
    if (deploy_layer_init(&l, &r, &why) != ERR_OK || deploy_set_take(s, &l, &why) != ERR_OK) {
        fail_msg("%s", why.text);
    }
    record_fini(&r);
}

static void layers_of_one_name_or_workload_are_told_apart(void **state)
{
    static const char *const called[] = {"fc", "fc", "f.c", "f-c", "init", "", ""};
    static const char *const symbols[] = {
        "fc", "fc_2", "f_c", "f_c_2", "init_2", "dense_f32_m3_n17_k31", "dense_f32_m3_n17_k31_2"};
    struct deploy_set s;
    struct why why = {""};
    (void)state;
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    add_layer(&s, DENSE);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(deploy_set_call(&s, called[i], DENSE, &why), ERR_OK);
        assert_string_equal(s.calls[i].symbol, symbols[i]);
        assert_int_equal(s.calls[i].i_layer, 0);
    }
    assert_int_equal(deploy_set_call(&s, "x", DENSE_2, &why), ERR_NOT_FOUND);
    deploy_set_fini(&s);
}

static void layers_share_texts_and_modules(void **state)
{
    struct deploy_set s;
    struct why why = {""};
    (void)state;
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    add_layer(&s, DENSE);
    add_layer(&s, DENSE_2);
    assert_int_equal(deploy_set_share(&s, &why), ERR_OK);
    assert_int_equal(s.n_texts, 1);
    assert_int_equal(deploy_set_module(&s, &s.layers[0], 0), 0);
    assert_int_equal(deploy_set_module(&s, &s.layers[1], 0), s.n_modules - 1);
    deploy_set_fini(&s);
}

/* ---- wanted layers ---- */

static void lines_are_workloads_with_names(void **state)
{
    static const char text[] =
        "# comment\n\n" DENSE "\n fc | " DENSE " # and more\nfc6 | 3 | dense f32 k=31 m=3 n=17\n";
    struct deploy_want w;
    struct why why = {""};
    (void)state;
    deploy_want_init(&w);
    assert_int_equal(deploy_want_text(&w, "f", text, sizeof text - 1, &why), ERR_OK);
    assert_int_equal(w.n, 3);
    assert_string_equal(w.layers[0].called, "");
    assert_string_equal(w.layers[1].called, "fc");
    assert_string_equal(w.layers[2].called, "fc6");
    assert_string_equal(w.layers[2].workload, DENSE); /* canonical */
    deploy_want_fini(&w);
}

static void bad_lines_are_named(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *words;
    } bad[] = {
        {"x\n", 2, "f:1"},
        {DENSE "\nfc |\n", sizeof DENSE + 5, "f:2"},
        {"| " DENSE, sizeof DENSE + 1, "f:1"},
        {"dense f32 m=0 n=1 k=1", 21, "f:1"},
        {"a\0b", 3, "f:1"},
    };
    struct why why = {""};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct deploy_want w;
        deploy_want_init(&w);
        assert_int_equal(deploy_want_text(&w, "f", bad[i].text, bad[i].n, &why), ERR_INPUT);
        if (strncmp(why.text, bad[i].words, strlen(bad[i].words)) != 0) {
            fail_msg("case %zu: '%s'", i, why.text);
        }
        deploy_want_fini(&w);
    }
}

/* Of the 22 layers of ResNet-18 (21 convolutions, one dense) 13 are different. */
static void networks_have_all_their_layers(void **state)
{
    struct deploy_want w;
    struct why why = {""};
    size_t n_repeats = 0;
    (void)state;
    deploy_want_init(&w);
    assert_int_equal(deploy_want_network(&w, "resnet-18", "f16", NULL, &why), ERR_OK);
    assert_int_equal(w.n, 22);
    for (size_t i = 0; i < w.n; i++) {
        const bool of_stage1 = strstr(w.layers[i].workload, "c=64 h=56 w=56 k=64 r=3") != NULL;
        assert_non_null(strstr(w.layers[i].workload, " f16 "));
        n_repeats += of_stage1 && strncmp(w.layers[i].called, "stage1_unit", 11) == 0;
    }
    assert_int_equal(n_repeats, 4);
    assert_int_equal(deploy_want_network(&w, "no-net", NULL, NULL, &why), ERR_NOT_FOUND);
    deploy_want_fini(&w);
}

#define MEASURED "dense f32 m=64 n=128 k=64"
#define ASKED "dense f32 m=64 n=256 k=64"

static void missing_layers_are_named(void **state)
{
    struct deploy_want w;
    struct deploy_set s;
    struct best_set *best = NULL;
    struct record r;
    struct why why = {""};
    (void)state;
    deploy_want_init(&w);
    assert_true(sample_record(MEASURED, "dense/gemm_packed", &r));
    assert_int_equal(best_new(&best), ERR_OK);
    assert_int_equal(best_add(best, &r), ERR_OK);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "fc6", MEASURED, &why), ERR_OK);
    assert_int_equal(deploy_want_add(&w, "fc7", ASKED, &why), ERR_OK);
    assert_int_equal(deploy_make(&s, best, &w, false, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "1 of 2"));
    assert_non_null(strstr(why.text, "fc7: " ASKED));
    assert_int_equal(deploy_make(&s, best, &w, true, &why), ERR_OK);
    assert_int_equal(s.n_calls, 2);
    assert_int_equal(s.layers[0].origin, DEPLOY_RECORD);
    assert_int_equal(s.layers[1].origin, DEPLOY_NEAREST);
    assert_string_equal(s.layers[1].record.workload, MEASURED);
    assert_string_equal(s.layers[1].program.workload, ASKED);
    assert_true(s.layers[1].record.time_ns == 0.0);
    deploy_set_fini(&s);
    deploy_want_fini(&w);
    best_free(best);
    record_fini(&r);
}

static void a_network_as_one_call_needs_its_layers(void **state)
{
    const struct deploy_network_options o = {"mobilenet-v1", DTYPE_F32, 1, true, true};
    struct deploy_set s;
    struct best_set *best = NULL;
    struct record r;
    struct why why = {""};
    (void)state;
    assert_true(sample_record("dense f32 m=1 n=1000 k=1024 epilogue=bias", "dense/naive", &r));
    assert_int_equal(best_new(&best), ERR_OK);
    assert_int_equal(best_add(best, &r), ERR_OK);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    assert_int_equal(deploy_network_make(&s, best, &o, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "27 of 28 layers of the whole network have no record")); /* pools need none */
    assert_non_null(strstr(why.text, "conv1: conv2d f32"));
    assert_int_equal(s.n_layers, 0);
    deploy_set_fini(&s);
    best_free(best);
    record_fini(&r);
}

/* However slow: a guess of another layout's time is none of a layer that has to have a record. */
static void layers_are_deployed_in_the_layout_that_has_a_record(void **state)
{
    static const char text[] = "x = input c=16 h=8 w=8\na = conv2d x k=16 r=1 s=1\noutput a\n";
    const struct deploy_network_options o = {"net", DTYPE_F32, 0, true, true};
    struct deploy_source from;
    struct deploy_network *n = NULL;
    struct best_set *best = NULL;
    struct record slow, other;
    struct graph g;
    struct why why = {""};
    size_t n_found = 0;

    (void)state;
    assert_true(
        sample_record("conv2d f32 n=1 c=16 h=8 w=8 k=16 r=1 s=1 layout=nhwc epilogue=bias", "conv2d/naive", &slow));
    assert_true(
        sample_record("conv2d f32 n=1 c=32 h=8 w=8 k=16 r=1 s=1 layout=nchw16c epilogue=bias", "conv2d/naive", &other));
    slow.time_ns = 1e9;
    assert_int_equal(best_new(&best), ERR_OK);
    assert_int_equal(best_add(best, &slow), ERR_OK);
    assert_int_equal(best_add(best, &other), ERR_OK);
    assert_int_equal(graph_parse("net", text, strlen(text), &g, &why), ERR_OK);
    assert_int_equal(deploy_source_open(&from, best, &why), ERR_OK);
    if (deploy_network_choose(&g, &from, &o, &n, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < n->lowered.n_steps; i++)
        n_found += strcmp(n->lowered.steps[i].workload, slow.workload) == 0;
    assert_int_equal(n_found, 1);
    deploy_network_free(n);
    deploy_source_close(&from);
    graph_fini(&g);
    best_free(best);
    record_fini(&slow);
    record_fini(&other);
}

static void tables_that_nothing_uses_are_not_printed(void **state)
{
    struct deploy_set s;
    struct buf text;
    struct why why = {""};
    (void)state;
    buf_init(&text, 1 << 24);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    add_layer(&s, DENSE);
    add_layer(&s, DENSE_2);
    assert_int_equal(deploy_set_call(&s, "fc", DENSE_2, &why), ERR_OK);
    assert_int_equal(deploy_set_share(&s, &why), ERR_OK);
    assert_int_equal(deploy_text_source(&s, &text, &why), ERR_OK);
    assert_non_null(strstr(buf_text(&text), " p1_tensors[]"));
    assert_null(strstr(buf_text(&text), " p0_tensors[]"));
    buf_fini(&text);
    deploy_set_fini(&s);
}

static void records_of_other_tuners_are_marked(void **state)
{
    struct deploy_layer l;
    struct record r;
    struct why why = {""};
    (void)state;
    assert_true(sample_record(DENSE, "dense/naive", &r));
    r.program.hex[0] = r.fingerprint.hex[0] = '\0';
    assert_int_equal(deploy_layer_init(&l, &r, &why), ERR_INPUT); /* of our own without a hash */
    assert_non_null(strstr(why.text, "no hash of the program"));
    deploy_layer_fini(&l);
    (void)snprintf(r.protocol, sizeof r.protocol, "autotvm");
    assert_int_equal(deploy_layer_init(&l, &r, &why), ERR_OK);
    assert_int_equal(l.origin, DEPLOY_FOREIGN);
    assert_true(sha256_is_hex(l.record.program.hex));
    deploy_layer_fini(&l);
    record_fini(&r);
}

/* ---- folders ---- */

static char folder[PATH_MAX];

static int make_folder(void **state)
{
    (void)state;
    return dir_temporary("deploy", folder, sizeof folder, NULL) == ERR_OK ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    dir_remove(folder);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char paths[4][PATH_MAX + 64];
    static int i;
    i = (i + 1) % 4;
    (void)snprintf(paths[i], sizeof paths[i], "%s/%s", folder, name);
    return paths[i];
}

static enum err write_one(const char *dir, void *arg, struct why *why)
{
    char path[PATH_MAX];
    const char *text = arg;
    (void)snprintf(path, sizeof path, "%s/file", dir);
    enum err e = file_replace(path, text, strlen(text), 0644, why);
    return strcmp(text, "fail") == 0 ? why_set(why, ERR_UNSUPPORTED, "no more of it") : e;
}

static bool never(const char *dir, struct why *why)
{
    (void)dir;
    (void)why;
    return false;
}

static bool always(const char *dir, struct why *why)
{
    (void)dir;
    (void)why;
    return true;
}

static void file_holds(const char *path, const char *expected)
{
    struct buf b;
    buf_init(&b, 1000);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), expected);
    buf_fini(&b);
}

static size_t n_entries(void)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    assert_non_null(d);
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n - 2; /* "." and ".." */
}

static void folders_appear_whole_or_not_at_all(void **state)
{
    struct why why = {""};
    (void)state;
    assert_int_equal(deploy_place(in_folder("a/b/"), never, write_one, "one", &why), ERR_IO);
    assert_non_null(strstr(why.text, "a/b: "));
    assert_non_null(strstr(why.text, "No such file or directory"));
    assert_int_equal(n_entries(), 0);
    assert_int_equal(mkdir(in_folder("a"), 0755), 0);
    assert_int_equal(deploy_place(in_folder("a/b/"), never, write_one, "one", &why), ERR_OK);
    file_holds(in_folder("a/b/file"), "one");
    assert_int_equal(deploy_place(in_folder("a/b"), never, write_one, "two", &why), ERR_EXISTS);
    assert_int_equal(deploy_place(in_folder("a/b"), always, write_one, "fail", &why), ERR_UNSUPPORTED);
    file_holds(in_folder("a/b/file"), "one");
    assert_int_equal(deploy_place(in_folder("a/b"), always, write_one, "two", &why), ERR_OK);
    file_holds(in_folder("a/b/file"), "two");
    assert_int_equal(deploy_place(in_folder("new"), never, write_one, "fail", &why), ERR_UNSUPPORTED);
    assert_int_equal(access(in_folder("new"), F_OK), -1);
    assert_int_equal(mkdir(in_folder("empty"), 0755), 0);
    assert_int_equal(deploy_place(in_folder("empty"), never, write_one, "one", &why), ERR_OK);
    assert_int_equal(symlink("a/b", in_folder("link")), 0);
    assert_int_equal(deploy_place(in_folder("link"), always, write_one, "three", &why), ERR_OK);
    file_holds(in_folder("a/b/file"), "three");
    assert_int_equal(deploy_place(in_folder("a/b/file"), always, write_one, "x", &why), ERR_EXISTS);
    assert_int_equal(n_entries(), 3); /* a, empty, link: nothing is left beside them */
}

/* ---- damaged bundles ---- */

static void write_bundle(const char *dir)
{
    struct deploy_set s;
    struct why why = {""};
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    add_layer(&s, DENSE);
    assert_int_equal(deploy_set_call(&s, "fc", DENSE, &why), ERR_OK);
    if (deploy_bundle_write(&s, dir, &why) != ERR_OK) {
        fail_msg("%s", why.text);
    }
    deploy_set_fini(&s);
}

static void read_whole(const char *path, struct buf *out)
{
    buf_init(out, 1 << 24);
    assert_int_equal(file_read(path, out, NULL), ERR_OK);
    assert_true(out->len > 0);
}

/* The check must fail, with one line of words that names the file. */
static void is_refused(const char *dir, const char *name, const char *how, size_t at)
{
    size_t n = 0;
    struct why why = {""};
    if (deploy_check(dir, &n, &why) == ERR_OK || strstr(why.text, name) == NULL || strchr(why.text, '\n') != NULL) {
        fail_msg("%s %s at %zu: '%s'", name, how, at, why.text);
    }
}

/* Cuts the file and changes it at many places; the bundle must be refused each time. */
static void damage(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct buf whole;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    read_whole(path, &whole);
    for (size_t i = 0; i < 60; i++) {
        const size_t at =
            i < 20 ? i * whole.len / 20 : whole.len - 1 - (i - 20) % whole.len; /* the end of it densely */
        assert_int_equal(file_replace(path, whole.data, at, 0644, NULL), ERR_OK);
        is_refused(dir, name, "cut", at);
        whole.data[at] ^= 0x20;
        assert_int_equal(file_replace(path, whole.data, whole.len, 0644, NULL), ERR_OK);
        is_refused(dir, name, "changed", at);
        whole.data[at] ^= 0x20;
    }
    assert_int_equal(unlink(path), 0);
    is_refused(dir, name, "gone", 0);
    assert_int_equal(file_replace(path, whole.data, whole.len, 0644, NULL), ERR_OK);
    buf_fini(&whole);
}

static void damage_is_seen_wherever_it_is(void **state)
{
    static const char *const names[] = {"manifest.json", "net.c", "net.h", "netConfig.cmake", "plan.json", NULL};
    const char *dir = in_folder("bundle");
    size_t n = 0;
    struct why why = {""};
    (void)state;
    write_bundle(dir);
    assert_int_equal(deploy_check(dir, &n, &why), ERR_OK);
    assert_true(n >= 8);
    for (size_t i = 0; names[i] != NULL; i++) {
        damage(dir, names[i]);
    }
    assert_int_equal(deploy_check(dir, &n, &why), ERR_OK);
}

/* The licence is in the first line, and no part of the tree brings a second one. */
static void files_name_their_licence_once(void **state)
{
    static const char *const names[] = {"net.h",          "net.c",           "net_vectors.h", "net_vectors.c",
                                        "CMakeLists.txt", "netConfig.cmake", "net.pc.in",     NULL};
    static const char word[] = "SPDX-License-Identifier: MIT";
    const char *dir = in_folder("licensed");
    char path[PATH_MAX];
    struct buf text;
    (void)state;
    write_bundle(dir);
    for (size_t i = 0; names[i] != NULL; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        read_whole(path, &text);
        const char *at = strstr(buf_text(&text), word);
        assert_non_null(at);
        assert_null(memchr(buf_text(&text), '\n', (size_t)(at - buf_text(&text))));
        assert_null(strstr(at + sizeof word - 1, word));
        buf_fini(&text);
    }
    (void)snprintf(path, sizeof path, "%s/LICENSE", dir);
    read_whole(path, &text);
    assert_non_null(strstr(buf_text(&text), "Permission is hereby granted, free of charge"));
    buf_fini(&text);
}

static void files_of_others_stay(void **state)
{
    static const char *const strangers[] = {"notes.txt", ".hidden", "kernels/mine.cl", "build/CMakeCache.txt",
                                            /* and what has the beginning of a name of the bundle, or more than it */
                                            "net", "net.", "manifest.jso", "kernel", "net.c~", "LICENSE.txt", NULL};
    const char *dir = in_folder("shared");
    struct deploy_set s;
    struct why why = {""};
    (void)state;
    write_bundle(dir);
    write_bundle(dir); /* its own files are replaced */
    for (size_t i = 0; strangers[i] != NULL; i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/build", dir);
        assert_true(strchr(strangers[i], '/') == NULL || mkdir(path, 0755) == 0);
        (void)snprintf(path, sizeof path, "%s/%s", dir, strangers[i]);
        assert_int_equal(file_replace(path, "mine", 4, 0644, NULL), ERR_OK);
        assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
        add_layer(&s, DENSE);
        assert_int_equal(deploy_bundle_write(&s, dir, &why), ERR_EXISTS);
        assert_non_null(strstr(why.text, "would be lost"));
        deploy_set_fini(&s);
        file_holds(path, "mine");
        assert_int_equal(unlink(path), 0);
        (void)snprintf(path, sizeof path, "%s/build", dir);
        (void)rmdir(path);
    }
    write_bundle(dir);
}

static void write_manifest(const char *dir, const char *text)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/manifest.json", dir);
    assert_int_equal(file_replace(path, text, strlen(text), 0644, NULL), ERR_OK);
}

/* A manifest with its seal, as another version of tune would write it. */
static void write_sealed(const char *dir, const char *head)
{
    char text[2000];
    const struct sha256 hash = sha256_of(head, strlen(head));
    (void)snprintf(text, sizeof text, "%s,\"sha256\":\"%s\"}\n", head, hash.hex);
    write_manifest(dir, text);
}

static void manifest_says(const char *dir, const char *head, enum err expected, const char *words)
{
    size_t n = 0;
    struct why why = {""};
    write_sealed(dir, head);
    enum err e = deploy_check(dir, &n, &why);
    if (e != expected || strstr(why.text, words) == NULL) {
        fail_msg("%s: %s, '%s'", head, err_name(e), why.text);
    }
}

static void strange_manifests_are_refused(void **state)
{
    const char *dir = in_folder("strange");
    size_t n = 0;
    struct why why = {""};
    (void)state;
    assert_int_equal(deploy_check(in_folder("nowhere"), &n, &why), ERR_NOT_FOUND);
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(deploy_check(dir, &n, &why), ERR_NOT_FOUND);
    assert_false(deploy_is_bundle(dir, NULL));
    manifest_says(dir, "{\"schema\":99,\"tune\":\"9\"", ERR_UNSUPPORTED, "schema 99");
    assert_true(deploy_is_bundle(dir, NULL)); /* may be replaced */
    manifest_says(dir, "{\"schema\":\"2\"", ERR_INPUT, "schema");
    manifest_says(dir, "{\"schema\":2", ERR_INPUT, "files");
    manifest_says(dir, "{\"schema\":2,\"files\":[]", ERR_INPUT, "no files");
    manifest_says(dir, "{\"schema\":2,\"files\":[3]", ERR_INPUT, "path");
    manifest_says(dir, "{\"schema\":2,\"files\":[{\"path\":\"../../etc/passwd\",\"sha256\":\"\",\"bytes\":1}]",
                  ERR_INPUT, "no file of a bundle");
    manifest_says(dir, "{\"schema\":2,\"files\":[{\"path\":\"/etc/passwd\",\"sha256\":\"\",\"bytes\":1}]", ERR_INPUT,
                  "no file of a bundle");
    manifest_says(dir, "{\"schema\":2,\"files\":[{\"path\":\"a/..\",\"sha256\":\"\",\"bytes\":1}]", ERR_INPUT,
                  "no file of a bundle");
    manifest_says(dir, "{\"schema\":2,\"files\":[{\"path\":\"gone\",\"sha256\":\"\",\"bytes\":1}]", ERR_NOT_FOUND,
                  "gone is missing");
    write_manifest(dir, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    assert_int_not_equal(deploy_check(dir, &n, &why), ERR_OK);
}

static void a_bundle_replaces_a_bundle_and_nothing_else(void **state)
{
    struct deploy_set s;
    struct why why = {""};
    size_t n = 0;
    (void)state;
    write_bundle(in_folder("twice"));
    assert_int_equal(unlink(in_folder("twice/net.c")), 0);
    write_bundle(in_folder("twice"));
    assert_int_equal(deploy_check(in_folder("twice"), &n, &why), ERR_OK);
    assert_int_equal(mkdir(in_folder("home"), 0755), 0);
    assert_int_equal(file_replace(in_folder("home/letter"), "x", 1, 0644, NULL), ERR_OK);
    assert_int_equal(deploy_set_init(&s, "net", &why), ERR_OK);
    add_layer(&s, DENSE);
    assert_int_equal(deploy_set_call(&s, "fc", DENSE, &why), ERR_OK);
    assert_int_equal(deploy_bundle_write(&s, in_folder("home"), &why), ERR_EXISTS);
    file_holds(in_folder("home/letter"), "x");
    deploy_set_fini(&s);
}

int main(void)
{
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bundles_name_only_templates_that_exist),
        cmocka_unit_test(bundles_have_names_that_c_takes),
        cmocka_unit_test(parameters_avoid_words_of_c),
        cmocka_unit_test(symbols_do_not_clash),
        cmocka_unit_test(layers_of_one_name_or_workload_are_told_apart),
        cmocka_unit_test(layers_share_texts_and_modules),
        cmocka_unit_test(lines_are_workloads_with_names),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(networks_have_all_their_layers),
        cmocka_unit_test(missing_layers_are_named),
        cmocka_unit_test(a_network_as_one_call_needs_its_layers),
        cmocka_unit_test(layers_are_deployed_in_the_layout_that_has_a_record),
        cmocka_unit_test(tables_that_nothing_uses_are_not_printed),
        cmocka_unit_test(records_of_other_tuners_are_marked),
        IN_FOLDER(folders_appear_whole_or_not_at_all),
        IN_FOLDER(files_name_their_licence_once),
        IN_FOLDER(files_of_others_stay),
        IN_FOLDER(damage_is_seen_wherever_it_is),
        IN_FOLDER(strange_manifests_are_refused),
        IN_FOLDER(a_bundle_replaces_a_bundle_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
