/* main.c - runs every layer of a bundle: checks its outputs against values computed from the operator's definition,
 * then times it. Exit code 1 when an output is wrong or when a layer of the bundle is not a tuned one. */
#include "tune_bundle.h"
#include "tune_vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMED_RUNS 25

static double now_ms(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A layer counts as tuned when its record is of a measured, right config that a search proposed. */
static int is_tuned(const struct tune_layer *l)
{
    int measured =
        strcmp(l->purpose, "search") == 0 || strcmp(l->purpose, "redo") == 0 || strcmp(l->purpose, "final") == 0;
    return strcmp(l->status, "ok") == 0 && measured && l->proposed_by[0] != '\0' && l->time_ns > 0.0 &&
           tune_bundle_find(l->workload) == l;
}

/* Fills the tensors of one role by the vector's rules. */
static enum tune_status write_tensors(struct tune_op *op, const struct tune_layer *l, const struct tune_vector *v,
                                      enum tune_role role)
{
    enum tune_status s = TUNE_OK;
    for (int i = 0; i < l->n_tensors && s == TUNE_OK; i++) {
        const struct tune_tensor *t = &l->tensors[i];
        if (t->role != role) {
            continue;
        }
        void *data = malloc(t->n_bytes);
        s = data != NULL ? tune_vectors_fill(v, t, data) : TUNE_NO_MEMORY;
        s = s == TUNE_OK ? tune_op_write(op, t->name, data, t->n_bytes) : s;
        free(data);
    }
    return s;
}

static enum tune_status run_vector(struct tune_op *op, const struct tune_layer *l, const struct tune_vector *v)
{
    enum tune_status s = write_tensors(op, l, v, TUNE_WEIGHT);
    s = s == TUNE_OK ? tune_op_pack(op) : s;
    s = s == TUNE_OK ? write_tensors(op, l, v, TUNE_INPUT) : s;
    return s == TUNE_OK ? tune_op_run(op) : s;
}

/* True when the layer gives the expected outputs for this vector. */
static int check_vector(struct tune_op *op, const struct tune_layer *l, const struct tune_vector *v,
                        enum tune_status *s)
{
    struct tune_vector_result result;
    const struct tune_tensor *t = tune_layer_tensor(l, v->tensor);
    void *data = t != NULL ? malloc(t->n_bytes) : NULL;
    int right = 0;
    *s = data != NULL ? run_vector(op, l, v) : TUNE_NO_MEMORY;
    *s = *s == TUNE_OK ? tune_op_read(op, v->tensor, data, t->n_bytes) : *s;
    if (*s == TUNE_OK) {
        right = tune_vectors_check(v, t, data, &result);
        if (!right) {
            fprintf(stderr, "WRONG %s, pass %s: %s[%llu] is %.9g, expected %.9g; %zu of %zu elements are wrong\n",
                    l->workload, v->pass, v->tensor, (unsigned long long)result.i_worst, result.got, result.wanted,
                    result.n_wrong, v->n);
        }
    }
    free(data);
    return right;
}

/* Number of vectors that passed; -1 on the first that did not. */
static int check_layer(struct tune_op *op, const struct tune_layer *l, enum tune_status *s)
{
    size_t n_vectors = 0;
    const struct tune_vector *vectors = tune_vectors_all(&n_vectors);
    int n_passed = 0;
    for (size_t i = 0; i < n_vectors; i++) {
        if (strcmp(vectors[i].workload, l->workload) != 0) {
            continue;
        }
        if (!check_vector(op, l, &vectors[i], s)) {
            return -1;
        }
        n_passed++;
    }
    return n_passed;
}

/* Median of some runs, inputs and outputs staying on the device. */
static double median_ms(struct tune_op *op, enum tune_status *s)
{
    double samples[TIMED_RUNS] = {0};

    *s = tune_op_run(op); /* warm-up */
    for (int i = 0; i < TIMED_RUNS && *s == TUNE_OK; i++) {
        double start = now_ms();
        *s = tune_op_run(op);
        samples[i] = now_ms() - start;
    }
    qsort(samples, TIMED_RUNS, sizeof samples[0], compare);
    return samples[TIMED_RUNS / 2];
}

static int run_layer(struct tune_context *c, const struct tune_layer *l)
{
    struct tune_op *op = NULL;
    enum tune_status s;
    if (!is_tuned(l)) {
        fprintf(stderr, "NOT TUNED %s: status %s, purpose %s, proposed by %s\n", l->workload, l->status, l->purpose,
                l->proposed_by);
        return 0;
    }
    s = tune_op_open(c, l, &op);
    int n_passed = s == TUNE_OK ? check_layer(op, l, &s) : -1;
    double ms = n_passed > 0 ? median_ms(op, &s) : 0.0;
    tune_op_close(op);
    if (s != TUNE_OK) {
        fprintf(stderr, "FAILED %s: %s: %s\n", l->workload, tune_status_words(s), tune_words(c));
        return 0;
    }
    if (n_passed <= 0) {
        if (n_passed == 0) {
            fprintf(stderr, "UNCHECKED %s: the bundle has no test vector for it\n", l->workload);
        }
        return 0;
    }
    printf("%-72s %9.3f ms %8.1f GFLOPS  (tuned: %.1f)  %d checks right\n", l->workload, ms, l->flops / (ms * 1e6),
           l->gflops, n_passed);
    return 1;
}

int main(void)
{
    struct tune_context *c = NULL;
    int n_good = 0;
    enum tune_status s = tune_context_open(tune_bundle_layers[0].device, &c);
    if (s == TUNE_NO_DEVICE) {
        fprintf(stderr, "no device \"%s\" here; taking the first one\n", tune_bundle_layers[0].device);
        s = tune_context_open(NULL, &c);
    }
    if (s != TUNE_OK) {
        fprintf(stderr, "cannot open an OpenCL device: %s\n", tune_status_words(s));
        return 1;
    }
    printf("device: %s\n", tune_context_device(c));
    for (int i = 0; i < TUNE_BUNDLE_LAYERS; i++) {
        n_good += run_layer(c, &tune_bundle_layers[i]);
    }
    tune_context_close(c);
    printf("%d of %d layers are tuned and right\n", n_good, TUNE_BUNDLE_LAYERS);
    return n_good == TUNE_BUNDLE_LAYERS ? 0 : 1;
}
