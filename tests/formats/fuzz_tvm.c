/* SPDX-License-Identifier: MIT */
/* Feeds arguments and entities to TVM's maps. A text is "task\nargs\nentities". What is taken must be a valid config,
 * and what is written of it must mean the same knobs. */
#include "formats/knobs/tvm.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

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
        fuzz_die("not the knobs that were written: %s", why.text);
    if (tvm_index(t, w, entities, &index, &size, &why) || index >= size)
        fuzz_die("no index: %s", why.text);
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
        fuzz_die("not the workload that was written: %s", why.text);
    cJSON_Delete(written);
    if (!tvm_knobs(t, &w, &d, entities, &knobs, &why)) {
        check_back(t, &w, &d, knobs);
        cJSON_Delete(knobs);
    } else {
        fuzz_check_words("tvm_knobs", why.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n), *save = NULL;
    const char *name, *args, *entities;
    cJSON *a = NULL, *e = NULL;

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
