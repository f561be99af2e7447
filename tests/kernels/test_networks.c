/* SPDX-License-Identifier: MIT */
/* The FLOPs of a network are facts known from elsewhere: 2 x the multiply-adds that its authors and others publish. */
#include "core/file.h"
#include "core/json.h"
#include "kernels/network.h"
#include "kernels/operator.h"
#include "kernels/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name;
    int layers;
    double flops;
} facts[] = {{"vgg-16", 16, 30940528640.},
             {"vgg-19", 19, 39264124928.},
             {"resnet-18", 22, 3653836800.},
             {"resnet-50", 54, 7715946496.},
             {"inception-v3", 95, 11426432192.}};

static void networks_have_the_known_layers_and_flops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const struct network *net = NULL;
        struct why why;
        double flops = 0;
        int layers = 0;

        assert_int_equal(network_find(facts[i].name, &net, &why), ERR_OK);
        for (size_t k = 0; k < net->n_layers; k++) {
            struct workload w;

            if (!net->layers[k].workload)
                fail_msg("%s: %s is skipped: %s", facts[i].name, net->layers[k].name, net->layers[k].skipped);
            assert_int_equal(workload_parse(net->layers[k].workload, &w, &why), ERR_OK);
            flops += net->layers[k].count * w.op->flops(&w);
            layers += net->layers[k].count;
        }
        assert_int_equal(layers, facts[i].layers);
        if (flops != facts[i].flops)
            fail_msg("%s: %.0f FLOPs, known are %.0f", facts[i].name, flops, facts[i].flops);
    }
}

static void no_layer_of_any_network_is_skipped(void **state)
{
    (void)state;
    for (const char *const *name = network_names(); *name; name++) {
        const struct network *net;

        assert_int_equal(network_find(*name, &net, NULL), ERR_OK);
        for (size_t k = 0; k < net->n_layers; k++)
            if (!net->layers[k].workload)
                fail_msg("%s: %s is skipped: %s", *name, net->layers[k].name, net->layers[k].skipped);
    }
}

/* One layer of ours against the same of the outside list: name, count, operator and FLOPs. */
static void check_layer(const char *network, const struct network_layer *ours, const cJSON *theirs)
{
    const char *op, *first = cJSON_GetArrayItem(cJSON_GetObjectItem(theirs, "names"), 0)->valuestring;
    struct workload w;
    double flops;
    int64_t count;

    assert_int_equal(json_get_text(theirs, "op", &op, NULL), ERR_OK);
    assert_int_equal(json_get_real(theirs, "flops", &flops, NULL), ERR_OK);
    assert_int_equal(json_get_i64(theirs, "count", 1, 1000, &count, NULL), ERR_OK);
    assert_int_equal(workload_parse(ours->workload, &w, NULL), ERR_OK);
    if (strcmp(ours->name, first) != 0 || ours->count != (int)count || strcmp(w.op->name, op) != 0 ||
        w.op->flops(&w) != flops)
        fail_msg("%s: %s x %d, %s of %.0f FLOPs; outside: %s x %d, %s of %.0f", network, ours->name, ours->count,
                 w.op->name, w.op->flops(&w), first, (int)count, op, flops);
}

static void check_network(const char *name, const cJSON *theirs)
{
    const struct network *net;
    const cJSON *layers;

    assert_int_equal(network_find(name, &net, NULL), ERR_OK);
    assert_int_equal(json_get_array(theirs, "layers", &layers, NULL), ERR_OK);
    assert_int_equal(net->n_layers, cJSON_GetArraySize(layers));
    for (size_t k = 0; k < net->n_layers; k++)
        check_layer(name, &net->layers[k], cJSON_GetArrayItem(layers, (int)k));
}

/* The networks with operators of their own: their layers are those of an outside list. */
static void layers_are_those_of_the_outside_lists(void **state)
{
    static const char *const names[] = {"mobilenet-v1", "dcn-resnet-101"};
    const char *data = getenv("TUNE_TEST_DATA");

    (void)state;
    if (!data || !*data) {
        printf("skipped: TUNE_TEST_DATA names no directory with workloads/*.json\n");
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        struct buf text;
        cJSON *theirs = NULL;

        buf_init(&text, (size_t)1 << 20);
        snprintf(path, sizeof path, "%s/workloads/%s.json", data, names[i]);
        assert_int_equal(file_read(path, &text, NULL), ERR_OK);
        assert_int_equal(json_parse(buf_text(&text), text.len, &theirs, NULL), ERR_OK);
        check_network(names[i], theirs);
        cJSON_Delete(theirs);
        buf_fini(&text);
    }
}

static void an_unknown_network_lists_the_known_ones(void **state)
{
    const struct network *net = NULL;
    struct why why;

    (void)state;
    assert_int_equal(network_find("vgg-17", &net, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "vgg-16"));
    assert_null(net);
}

static void every_listed_name_is_found(void **state)
{
    (void)state;
    assert_non_null(network_names()[0]);
    for (const char *const *name = network_names(); *name; name++) {
        const struct network *net;

        assert_int_equal(network_find(*name, &net, NULL), ERR_OK);
        assert_true(net->n_layers > 0);
    }
}

/* The networks of the int8 post, in int8: convolutions and dense layers change, deformable ones stay, and every layer
 * can be tuned. */
static void the_int8_networks_have_all_their_layers(void **state)
{
    static const char *const names[] = {"vgg-19",         "resnet-50", "resnext-50-32x4d", "inception-v3", "drn-c-26",
                                        "dcn-resnet-101", NULL};

    (void)state;
    for (const char *const *name = names; *name; name++) {
        const struct network *net = NULL;

        assert_int_equal(network_find(*name, &net, NULL), ERR_OK);
        for (size_t k = 0; k < net->n_layers; k++) {
            const bool deformable = strncmp(net->layers[k].workload, "deformable", 10) == 0;
            struct workload w;
            struct why note = {""};
            struct buf text;

            buf_init(&text, WORKLOAD_MAX_TEXT);
            assert_int_equal(network_layer_as(&net->layers[k], "i8", "nchw16c", &text, &note), ERR_OK);
            assert_int_equal(workload_parse(buf_text(&text), &w, NULL), ERR_OK);
            assert_int_equal(w.dtype, deformable ? DTYPE_F32 : DTYPE_I8);
            assert_int_equal(strstr(note.text, "stays f32") != NULL, deformable);
            buf_fini(&text);
        }
    }
}

static void a_layer_takes_dtype_and_layout_as_far_as_it_can(void **state)
{
    static const char *const facts_as[][4] = {
        /* listed, layout, becomes, note */
        {"conv2d f32 n=1 c=3 h=8 w=8 k=16 r=3 s=3", "nchw16c", "conv2d i8 n=1 c=3 h=8 w=8 k=16 r=3 s=3 layout=nchw16c",
         ""},
        {"conv2d f32 n=1 c=3 h=8 w=8 k=10 r=3 s=3", "nchw4c", "conv2d i8 n=1 c=3 h=8 w=8 k=10 r=3 s=3", "stays nchw"},
        {"dense f32 m=1 n=10 k=16", "nchw4c", "dense i8 m=1 n=10 k=16", ""},
        {"dense f32 m=1 n=10 k=16", NULL, "dense i8 m=1 n=10 k=16", ""},
    };
    struct network_layer l = {.name = "one", .count = 1};
    struct why why = {""};
    struct buf text;

    (void)state;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    for (size_t i = 0; i < sizeof facts_as / sizeof facts_as[0]; i++) {
        l.workload = facts_as[i][0];
        buf_clear(&text);
        assert_int_equal(network_layer_as(&l, "i8", facts_as[i][1], &text, &why), ERR_OK);
        assert_string_equal(buf_text(&text), facts_as[i][2]);
        assert_int_equal(strncmp(why.text, facts_as[i][3], strlen(facts_as[i][3])), 0);
    }
    assert_int_equal(network_layer_as(&l, "i4", NULL, &text, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "f32, f16, i8 or u8"));
    assert_int_equal(network_layer_as(&l, "i8", "nwhc", &text, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "nchw16c"));
    buf_fini(&text);
}

static void refuses(const char *list, const char *words)
{
    struct why why = {""};

    assert_int_equal(network_add("own", list, strlen(list), &why), ERR_INPUT);
    if (!strstr(why.text, words))
        fail_msg("'%s' says '%s', expected '%s'", list, why.text, words);
}

/* A layer less would be a network tuned in part, and nobody told. */
static void a_mistake_in_a_list_names_its_line(void **state)
{
    static const char known[] = "a | 1 | dense f32 m=1 n=4 k=8\n", other[] = "b | 2 | no_such_operator f32 m=1\n";
    const struct network *n = NULL;
    struct why why = {""};
    char text[256];

    (void)state;
    refuses("", "there are none");
    refuses("a | 1 | dense f32 m=1 n=4 k=8\nb | 1 | dense f32 m=1 n=4 k\n", "line 2: ");
    refuses("# of\n\na | 1 | dense f32 m=1 n=four k=8\n", "line 3: ");
    refuses("a | 0 | dense f32 m=1 n=4 k=8\n", "line 1: expected 'name | count | workload'");
    refuses("a | dense f32 m=1 n=4 k=8\n", "line 1: expected 'name | count | workload'");
    refuses(" | 1 | dense f32 m=1 n=4 k=8\n", "line 1: expected 'name | count | workload'");
    refuses("a | 4294967297 | dense f32 m=1 n=4 k=8\n", "line 1: expected 'name | count | workload'");
    refuses("a | 1x | dense f32 m=1 n=4 k=8\n", "line 1: expected 'name | count | workload'");
    refuses("a\x1b[31m | 1 | no_such_operator f32 m=1\n", "line 1: expected 'name | count | workload'");
    snprintf(text, sizeof text, "%s%s", known, other);
    assert_int_equal(network_add("with others", text, strlen(text), &why), ERR_OK);
    assert_int_equal(network_find("with others", &n, &why), ERR_OK);
    assert_int_equal(n->n_layers, 2);
    assert_non_null(n->layers[0].workload);
    assert_null(n->layers[1].workload);
    assert_non_null(strstr(n->layers[1].skipped, "no_such_operator"));
    assert_int_equal(network_add("narrow", "ab|12|dense f32 m=1 n=4 k=8", 27, &why), ERR_OK);
    assert_int_equal(network_find("narrow", &n, &why), ERR_OK);
    assert_string_equal(n->layers[0].name, "ab");
    assert_int_equal(n->layers[0].count, 12);
    assert_string_equal(n->layers[0].workload, "dense f32 m=1 n=4 k=8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_int8_networks_have_all_their_layers),
        cmocka_unit_test(a_layer_takes_dtype_and_layout_as_far_as_it_can),
        cmocka_unit_test(networks_have_the_known_layers_and_flops),
        cmocka_unit_test(no_layer_of_any_network_is_skipped),
        cmocka_unit_test(a_mistake_in_a_list_names_its_line),
        cmocka_unit_test(layers_are_those_of_the_outside_lists),
        cmocka_unit_test(an_unknown_network_lists_the_known_ones),
        cmocka_unit_test(every_listed_name_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
