/* Feeds mutated arguments and entities to TVM's maps: `fuzz_tvm [iterations [seed]]`, or, built with -fsanitize=fuzzer
 * -DFUZZ_LIBFUZZER, as a libFuzzer target. A text is "task\nargs\nentities". What is taken must be a valid config, and
 * what is written of it must mean the same knobs. */
#include "core/rng.h"
#include "kernels/foreign/tvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void die(const char *words, const char *more)
{
    fprintf(stderr, "%s: %s\n", words, more);
    abort();
}

/* Written anew from the knobs and read again. */
static void check_back(const struct tvm_task *t, const struct workload *w, const struct device_desc *d,
                       const cJSON *knobs)
{
    cJSON *entities = NULL, *again = NULL;
    struct why why = {""};
    uint64_t index, size;

    if (tvm_entities(t, w, knobs, &entities, &why))
        return;
    if (tvm_knobs(t, w, d, entities, &again, &why) || !cJSON_Compare(knobs, again, true))
        die("not the knobs that were written", why.text);
    if (tvm_index(t, w, entities, &index, &size, &why) || index >= size)
        die("no index", why.text);
    cJSON_Delete(entities);
    cJSON_Delete(again);
}

static void try_config(const struct tvm_task *t, const cJSON *args, const cJSON *entities)
{
    const char *target = strstr(tvm_task_name(t), ".mali") ? "opencl -device=mali -model=rk3399" : "cuda -model=1080";
    struct device_desc d;
    struct workload w, same;
    struct why why = {""};
    char key[TVM_KEY_BYTES];
    cJSON *knobs = NULL, *written = NULL;
    bool known;

    if (tvm_workload(t, args, &w, &why) || tvm_device(target, &d, key, &known, &why))
        return;
    if (!tvm_args(t, &w, &written, &why) && (tvm_workload(t, written, &same, &why) || memcmp(&same, &w, sizeof w) != 0))
        die("not the workload that was written", why.text);
    cJSON_Delete(written);
    if (!tvm_knobs(t, &w, &d, entities, &knobs, &why)) {
        check_back(t, &w, &d, knobs);
        cJSON_Delete(knobs);
    } else if (!why.text[0] || strchr(why.text, '\n')) {
        die("refused without one line of words", why.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1), *save = NULL;
    const char *name, *args, *entities;
    cJSON *a = NULL, *e = NULL;

    if (!text)
        return 0;
    memcpy(text, data, n);
    text[n] = '\0';
    name = strtok_r(text, "\n", &save);
    args = strtok_r(NULL, "\n", &save);
    entities = strtok_r(NULL, "\n", &save);
    if (name && args && entities && tvm_task_find(name) && !json_parse(args, strlen(args), &a, NULL) &&
        !json_parse(entities, strlen(entities), &e, NULL))
        try_config(tvm_task_find(name), a, e);
    cJSON_Delete(a);
    cJSON_Delete(e);
    free(text);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
#define CONV_ARGS                                                                                                      \
    "[[\"TENSOR\",[1,16,14,14],\"float32\"],[\"TENSOR\",[32,16,3,3],\"float32\"],[1,1],[1,1,1,1],[1,1],\"float32\"]\n"
static const char *const seeds[] = {
    "conv2d_nchw_spatial_pack.mali\n" CONV_ARGS
    "[[\"tile_co\",\"sp\",[-1,4,4]],[\"tile_oh\",\"sp\",[-1,1,2]],[\"tile_ow\",\"sp\",[-1,7,1]],[\"reorder_0\",\"re\","
    "[0,1,2,3,4,5,6,9,7,8]],[\"ann_reduce\",\"an\",[\"unroll\",\"none\"]],[\"ann_spatial\",\"an\",[\"none\",\"unroll\","
    "\"vec\"]]]",
    "conv2d_nchw.cuda\n" CONV_ARGS "[[\"tile_f\",\"sp\",[-1,2,4,1]],[\"tile_y\",\"sp\",[-1,1,2,1]],[\"tile_x\",\"sp\",["
    "-1,1,7,1]],[\"tile_rc\",\"sp\",[-1,8]],"
    "[\"tile_rx\",\"sp\",[-1,3]],[\"tile_ry\",\"sp\",[-1,1]],[\"auto_unroll_max_step\",\"ot\",512],[\"unroll_"
    "explicit\",\"ot\",1]]",
    "conv2d_nchw_winograd.mali\n" CONV_ARGS "[[\"tile_bna\",\"ot\",4],[\"tile_bnb\",\"ot\",4],[\"tile_t1\",\"sp\",[-1,"
    "16]],[\"tile_t2\",\"sp\",[-1,8]],[\"c_unroll\","
    "\"sp\",[-1,4]],[\"yt\",\"ot\",8]]",
    "dense_int8.cuda\n[[\"TENSOR\",[4,64],\"int8\"],[\"TENSOR\",[32,64],\"int8\"],null,\"int32\"]\n"
    "[[\"tile_y\",\"sp\",[-1,1,2,2]],[\"tile_x\",\"sp\",[-1,1,16,1]],[\"tile_k\",\"sp\",[-1,2]],[\"auto_unroll_max_"
    "step\",\"ot\",0]]",
    "batch_matmul.cuda\n[[\"TENSOR\",[2,32,16],\"float32\"],[\"TENSOR\",[2,48,16],\"float32\"],[2,32,48],\"float32\","
    "false,true]\n"
    "[[\"tile_y\",\"sp\",[-1,8,2]],[\"tile_x\",\"sp\",[-1,8,2]],[\"tile_k\",\"sp\",[-1,8]],[\"auto_unroll_max_step\","
    "\"ot\",32],"
    "[\"unroll_explicit\",\"ot\",1]]",
};
#define N_SEEDS (sizeof seeds / sizeof seeds[0])

static const char alphabet[] = "{}[]\",0123456789.-e truevcsp\n";

/* Mostly digits for digits: what is no JSON says little about the maps. */
static size_t mutate(struct rng *rng, char *text, size_t n)
{
    const size_t at = rng_below(rng, n), piece = rng_below(rng, n - at < 12 ? n - at : 12);

    if (text[at] >= '0' && text[at] <= '9' && rng_below(rng, 8)) {
        text[at] = (char)('0' + rng_below(rng, 10));
        return n;
    }
    if (rng_below(rng, 2)) {
        text[at] = alphabet[rng_below(rng, sizeof alphabet - 1)];
        return n;
    }
    memmove(text + at, text + at + piece, n - at - piece);
    return n - piece;
}

int main(int argc, char **argv)
{
    const long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    struct rng rng;
    char text[MAX_TEXT];

    rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    for (long i = 0; i < iterations; i++) {
        const char *seed = seeds[(size_t)i % N_SEEDS];
        size_t n = strlen(seed);

        memcpy(text, seed, n);
        for (uint64_t k = rng_below(&rng, 5); k > 0; k--)
            n = mutate(&rng, text, n);
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
    }
    printf("%ld mutated configs\n", iterations);
    return 0;
}
#endif
