/* write_sample_bundle - writes a bundle of two small layers with naive kernels: write_sample_bundle DIR */
#include "tests/libtune/sample_layer.h"
#include "tuner/deploy_bundle.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static const char *const workloads[][2] = {
        {"conv2d f32 n=1 c=5 h=9 w=11 k=7 r=3 s=3 stride=2 pad=1", "conv2d/naive"},
        {"dense f32 m=3 n=17 k=31", "dense/naive"},
    };
    struct deploy_layer layers[2];
    struct why why = {""};
    if (argc != 2) {
        fprintf(stderr, "usage: write_sample_bundle DIR\n");
        return 1;
    }
    for (size_t i = 0; i < 2; i++) {
        struct record r;
        if (!sample_record(workloads[i][0], workloads[i][1], &r) || deploy_layer_init(&layers[i], &r, &why) != ERR_OK) {
            fprintf(stderr, "%s\n", why.text);
            return 1;
        }
        record_fini(&r);
    }
    if (deploy_bundle_write(layers, 2, argv[1], &why) != ERR_OK) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    deploy_layer_fini(&layers[0]);
    deploy_layer_fini(&layers[1]);
    return 0;
}
