/* SPDX-License-Identifier: MIT */
/* One kernel of the network as NAME_run runs it, in this order. */
struct NAME_step {
    const char *layer;       /* unique; weights are given by it: "conv0", "stage1_unit1_conv2_add", "pool0_to_nchw" */
    const char *workload;    /* fused: bias, shortcut and relu are in it */
    const char *template_id; /* "conv2d/winograd_tile" */
    const char *choice;      /* "record", "foreign", "nearest", "default", as of layers */
    double flops;            /* of one run */
    double time_ns;          /* as measured when it was tuned; 0 = it was not */
};

/* One tensor of weights that the network needs: dense elements of `dtype`, convolutions [k][c][r][s], dense layers
 * [n][k] where k runs over channels, rows, columns. */
struct NAME_network_weight {
    const char *layer, *name, *dtype, *layout;
    int n_dims;
    int64_t shape[8];
    size_t n_bytes;
};

extern const struct NAME_step NAME_steps[CAPS_N_STEPS];
extern const struct NAME_network_weight NAME_network_weights[CAPS_N_NETWORK_WEIGHTS];
extern const struct NAME_tensor NAME_arguments[CAPS_N_ARGUMENTS]; /* of NAME_run: inputs, then outputs */

/* Gives one tensor of weights, from host memory that may be reused at once. A layer is packed when its last one is
 * given; to change weights give all of the layer's again. CAPS_BAD_ARGUMENT with words: no such layer or tensor,
 * another size. The first call builds the network's kernels. */
int NAME_set_weights(NAME_queue queue, const char *layer, const char *name, const void *data, size_t n_bytes);

/* Gives all that stands in weights.txt of a folder (`tune import` writes it): a line a tensor, layer, name, offset and
 * bytes in its weights.bin. CAPS_BAD_ARGUMENT with words: a file that cannot be read, or as of NAME_set_weights. */
int NAME_load_weights(NAME_queue queue, const char *folder);
