/* SPDX-License-Identifier: MIT */
/* bundle_cuda - runs every layer of the CUDA bundle "tuned" against its test vectors: bundle_cuda [--any]. Exit 0 when
 * all are right, 1 when not, 2 when the bundle does not open. */
#include "tuned_vectors.h"

#include "tests/cuda/driver_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENSORS 16

struct buffers {
    CUdeviceptr tensors[MAX_TENSORS]; /* inputs and outputs */
    void *weights[MAX_TENSORS];
    int n_tensors, n_weights;
};

static void must(CUresult e, const char *what)
{
    if (e != 0) {
        fprintf(stderr, "%s: %d\n", what, e);
        exit(1);
    }
}

static void make_tensor(const struct tuned_vector *v, const struct tuned_tensor *t, struct buffers *b)
{
    void *data = calloc(1, t->n_bytes);
    if (data == NULL || (t->role != TUNED_OUTPUT && tuned_vectors_fill(v, t, data) != TUNED_OK)) {
        must(1, t->name);
    }
    if (t->role == TUNED_WEIGHT) {
        b->weights[b->n_weights++] = data;
        return;
    }
    must(cuMemAlloc_v2(&b->tensors[b->n_tensors], t->n_bytes), "cuMemAlloc");
    must(cuMemcpyHtoD_v2(b->tensors[b->n_tensors++], data, t->n_bytes), "cuMemcpyHtoD");
    free(data);
}

/* The output of the vector, as host memory. */
static void *read_output(const struct tuned_layer *l, const char *name, const struct buffers *b,
                         const struct tuned_tensor **found)
{
    int n = 0;
    for (int i = 0; i < l->n_tensors; i++) {
        const struct tuned_tensor *t = &l->tensors[i];
        if (strcmp(t->name, name) == 0) {
            void *data = malloc(t->n_bytes);
            must(data == NULL, "malloc");
            must(cuMemcpyDtoH_v2(data, b->tensors[n], t->n_bytes), "cuMemcpyDtoH");
            *found = t;
            return data;
        }
        n += t->role != TUNED_WEIGHT;
    }
    return NULL;
}

static int check_vector(const struct tuned_layer *l, const struct tuned_vector *v, CUstream stream)
{
    struct tuned_weights *packed = NULL;
    struct tuned_vector_result result = {0};
    struct buffers b = {.n_tensors = 0};
    const struct tuned_tensor *t = NULL;
    tuned_mem tensors[MAX_TENSORS];
    int right;
    for (int i = 0; i < l->n_tensors; i++) {
        make_tensor(v, &l->tensors[i], &b);
    }
    for (int i = 0; i < b.n_tensors; i++) {
        tensors[i] = b.tensors[i];
    }
    right = tuned_layer_pack(l, stream, (const void *const *)b.weights, &packed) == TUNED_OK &&
            tuned_layer_run(l, stream, tensors, packed) == TUNED_OK && cuStreamSynchronize(stream) == 0;
    if (!right) {
        fprintf(stderr, "FAILED %s: %s\n", l->name, tuned_words());
    } else {
        void *data = read_output(l, v->tensor, &b, &t);
        right = data != NULL && tuned_vectors_check(v, t, data, &result);
        if (!right) {
            fprintf(stderr, "WRONG %s, pass %s: element %llu is %g, expected %g\n", l->name, v->pass,
                    (unsigned long long)result.i_worst, result.got, result.wanted);
        }
        free(data);
    }
    tuned_weights_free(packed);
    for (int i = 0; i < b.n_tensors; i++) {
        must(cuMemFree_v2(b.tensors[i]), "cuMemFree");
    }
    for (int i = 0; i < b.n_weights; i++) {
        free(b.weights[i]);
    }
    return right;
}

static int check_layer(const struct tuned_layer *l, CUstream stream)
{
    size_t n = 0;
    const struct tuned_vector *vectors = tuned_vectors_all(&n);
    int n_right = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(vectors[i].workload, l->workload) == 0) {
            if (!check_vector(l, &vectors[i], stream)) {
                return 0;
            }
            n_right++;
        }
    }
    printf("%s: %s %s, %d checks right\n", l->name, l->template_id, l->knobs, n_right);
    return n_right > 0;
}

int main(int argc, char **argv)
{
    const int any = argc > 1 && strcmp(argv[1], "--any") == 0;
    CUcontext context = NULL;
    CUstream stream = NULL;
    int n_right = 0, status;
    must(cuInit(0), "cuInit");
    must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    must(cuStreamCreate(&stream, 1), "cuStreamCreate");
    status = any ? tuned_init_any(NULL) : tuned_init(NULL);
    if (status != TUNED_OK) {
        fprintf(stderr, "status %d: %s\n", status, tuned_words());
        return 2;
    }
    for (int i = 0; i < TUNED_N_LAYERS; i++) {
        n_right += check_layer(&tuned_layers[i], stream);
    }
    tuned_fini();
    must(cuStreamDestroy_v2(stream), "cuStreamDestroy");
    must(cuCtxDestroy_v2(context), "cuCtxDestroy");
    printf("%d of %d layers are right\n", n_right, TUNED_N_LAYERS);
    return n_right == TUNED_N_LAYERS ? 0 : 1;
}
