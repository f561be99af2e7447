/* SPDX-License-Identifier: MIT */
/* lengths.c - runs a bundle of a network with a range of sizes at some of them: lengths LIMIT WEIGHTS FOLDER N... Each
 * run's inputs are FOLDER/N/xI.bin, its outputs are held against yI.bin there; prints the worst difference over the
 * largest output. What is behind the outputs stays as it was. Exit code 1: further off than LIMIT, or sizes out of the
 * range are taken. */
#include "bundle.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEHIND 64 /* bytes behind each output that nothing may write to */

static cl_command_queue queue;
static cl_context context;

/* A file in a buffer of n bytes and some more. */
static char *read_bytes(const char *folder, const char *length, char kind, int i, size_t n)
{
    char path[4096];
    char *v = malloc(n + BEHIND);
    FILE *f;

    snprintf(path, sizeof path, "%s/%s/%c%d.bin", folder, length, kind, i);
    f = fopen(path, "rb");
    if (!v || !f || fread(v, 1, n, f) != n || fgetc(f) != EOF) {
        fprintf(stderr, "%s: expected %zu bytes\n", path, n);
        exit(1);
    }
    fclose(f);
    memset(v + n, 0x5a, BEHIND);
    return v;
}

/* Element i of floats, or of halves. */
static double number(const char *v, size_t i, size_t n_bytes)
{
    uint16_t half;
    float single;

    if (n_bytes == sizeof single) {
        memcpy(&single, v + i * sizeof single, sizeof single);
        return (double)single;
    }
    memcpy(&half, v + i * sizeof half, sizeof half);
    const int power = half >> 10 & 31, parts = half & 1023;
    const double size =
        power == 31 ? (parts ? NAN : INFINITY) : ldexp(power ? 1024 + parts : parts, (power ? power : 1) - 25);
    return half >> 15 ? -size : size;
}

/* How far an output of n bytes is off, over its largest number. */
static double difference(cl_mem y, const char *expected, size_t n, size_t n_bytes)
{
    char *got = malloc(n + BEHIND);
    double off = 0, most = 0;

    if (!got || clEnqueueReadBuffer(queue, y, CL_TRUE, 0, n + BEHIND, got, 0, NULL, NULL) != CL_SUCCESS)
        exit(1);
    for (size_t i = 0; i < n / n_bytes; i++) {
        const double d = fabs(number(got, i, n_bytes) - number(expected, i, n_bytes));

        off = d <= off ? off : isnan(d) ? INFINITY : d;
        most = fmax(most, fabs(number(expected, i, n_bytes)));
    }
    for (size_t i = n; i < n + BEHIND; i++)
        off = got[i] == 0x5a ? off : INFINITY;
    free(got);
    return off / (most > 0 ? most : 1);
}

static double run(const char *folder, const char *length)
{
    const size_t size = (size_t)atol(length);
    cl_mem list[CAPS(N_ARGUMENTS)];
    char *expected[CAPS(N_ARGUMENTS)];
    int n[2] = {0, 0};
    double worst = 0;

    for (int i = 0; i < CAPS(N_ARGUMENTS); i++) {
        const int is_output = BUNDLE(arguments)[i].role == CAPS(OUTPUT);
        const size_t bytes = BUNDLE(argument_bytes)(i, size);
        cl_int code;

        expected[i] = read_bytes(folder, length, is_output ? 'y' : 'x', n[is_output]++, bytes);
        list[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes + BEHIND, NULL, &code);
        if (code != CL_SUCCESS ||
            clEnqueueWriteBuffer(queue, list[i], CL_TRUE, is_output ? bytes : 0, is_output ? BEHIND : bytes,
                                 expected[i] + (is_output ? bytes : 0), 0, NULL, NULL) != CL_SUCCESS)
            exit(1);
    }
    if (BUNDLE(run_list)(queue, size, list)) {
        fprintf(stderr, "%s: %s\n", length, BUNDLE(words)());
        exit(1);
    }
    for (int i = 0; i < CAPS(N_ARGUMENTS); i++) {
        if (BUNDLE(arguments)[i].role == CAPS(OUTPUT)) {
            const double off = difference(list[i], expected[i], BUNDLE(argument_bytes)(i, size),
                                          strcmp(BUNDLE(arguments)[i].dtype, "f16") == 0 ? 2 : 4);

            worst = off > worst ? off : worst;
        }
        clReleaseMemObject(list[i]);
        free(expected[i]);
    }
    return worst;
}

/* Sizes out of the range are told by number, and so is a buffer that is too small. */
static int refuses(void)
{
    cl_mem list[CAPS(N_ARGUMENTS)] = {NULL};
    const size_t sizes[] = {(size_t)CAPS(LEAST) - 1, CAPS(MOST) + 1, (size_t)-2};
    char words[64];

    for (int i = 0; i < 3; i++) {
        snprintf(words, sizeof words, "=%zu: expected %d to %d", sizes[i], CAPS(LEAST), CAPS(MOST));
        if (BUNDLE(run_list)(queue, sizes[i], list) != CAPS(BAD_ARGUMENT) || !strstr(BUNDLE(words)(), words) ||
            BUNDLE(argument_bytes)(0, sizes[i]))
            return 0;
    }
    for (int i = 0; i < CAPS(N_ARGUMENTS); i++)
        list[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, BUNDLE(argument_bytes)(i, CAPS(MOST) - 1), NULL, NULL);
    return BUNDLE(run_list)(queue, CAPS(MOST), list) == CAPS(BAD_ARGUMENT) && strstr(BUNDLE(words)(), "expected");
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    double worst = 0;

    if (argc < 5 || clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    if (BUNDLE(init_any)(context, device) || BUNDLE(load_weights)(queue, argv[2])) {
        fprintf(stderr, "%s\n", BUNDLE(words)());
        return 1;
    }
    if (!refuses()) {
        fprintf(stderr, "sizes out of the range: %s\n", BUNDLE(words)());
        return 1;
    }
    for (int turn = 0; turn < 2; turn++) /* upwards and downwards: each behind longer and shorter ones */
        for (int i = 4; i < argc; i++) {
            const char *length = argv[turn ? argc + 3 - i : i];
            const double off = run(argv[3], length);

            if (!(off <= atof(argv[1])))
                printf("%s: off by %.3g\n", length, off);
            worst = off > worst ? off : worst;
        }
    printf("%d lengths, the worst by %.3g\n", argc - 4, worst);
    BUNDLE(fini)();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return !(worst <= atof(argv[1]));
}
