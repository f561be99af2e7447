/* The FLOPs of a network are facts known from elsewhere: 2 x the multiply-adds that its authors and others publish. */
#include "kernels/network.h"
#include "kernels/operator.h"
#include "kernels/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

static void a_layer_that_cannot_be_tuned_is_named_with_its_reason(void **state)
{
    const struct network *net = NULL;
    int skipped = 0;

    (void)state;
    assert_int_equal(network_find("dcn-resnet-101", &net, NULL), ERR_OK);
    for (size_t k = 0; k < net->n_layers; k++)
        if (!net->layers[k].workload) {
            assert_non_null(net->layers[k].skipped);
            assert_non_null(strstr(net->layers[k].skipped, "("));
            skipped++;
        }
    assert_true(skipped >= 1 && (size_t)skipped < net->n_layers);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_have_the_known_layers_and_flops),
        cmocka_unit_test(a_layer_that_cannot_be_tuned_is_named_with_its_reason),
        cmocka_unit_test(an_unknown_network_lists_the_known_ones),
        cmocka_unit_test(every_listed_name_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
