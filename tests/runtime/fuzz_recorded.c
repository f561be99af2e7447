/* SPDX-License-Identifier: MIT */
/* Feeds recorded spaces, their JSON and behind a line "%%" their table, to the strategies' reader and to the replay
 * device. Of what is opened every row is found by its config, and the best time is that of a row. */
#include "core/file.h"
#include "runtime/device.h"
#include "search_space/recorded.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUT "\n%%\n"

static char json_path[300], table_path[300];

static void make_place(void)
{
    char dir[256];
    struct why why = {""};

    setenv("TMPDIR", "/dev/shm", 0);
    if (dir_temporary("tune-fuzz", dir, sizeof dir, &why) != ERR_OK)
        fuzz_die("%s", why.text);
    snprintf(json_path, sizeof json_path, "%s/x.json", dir);
    snprintf(table_path, sizeof table_path, "%s/x.csv", dir);
}

static void remove_place(void)
{
    *strrchr(json_path, '/') = '\0';
    dir_remove(json_path);
}

static void put(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "we");

    if (!f || fwrite(text, 1, n, f) != n || fclose(f))
        fuzz_die("%s cannot be written", path);
}

static void check(const struct recorded *r)
{
    const double best = recorded_optimum_ms(r);
    bool found = isnan(best);

    for (size_t i = 0; i < recorded_n_rows(r); i++) {
        const struct recorded_row *row = recorded_row(r, i);

        if (recorded_find(r, &row->config) != (int64_t)i)
            fuzz_die("row %zu is not found", i);
        if (row->time_ms < best)
            fuzz_die("row %zu is better than the best", i);
        found = found || row->time_ms == best;
    }
    if (!found)
        fuzz_die("no row is the best");
}

static void try_device(void)
{
    const struct device_ops *ops = device_find("replay");
    struct device *d = NULL;
    struct why why = {""};

    if (ops->open(json_path, &d, &why) != ERR_OK)
        fuzz_check_words("replay", why.text);
    else if (!ops->describe(d)->api[0])
        fuzz_die("a device without api");
    ops->close(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n), *cut = strstr(text, CUT);
    const size_t n_json = cut ? (size_t)(cut - text) : n;
    struct recorded *r = NULL;
    struct why why = {""};

    if (!json_path[0]) {
        make_place();
        atexit(remove_place);
    }
    put(json_path, text, n_json);
    put(table_path, cut ? cut + strlen(CUT) : "", cut ? n - n_json - strlen(CUT) : 0);
    if (recorded_open(json_path, &r, &why) == ERR_OK) {
        check(r);
        recorded_close(r);
    } else {
        fuzz_check_words("recorded", why.text);
    }
    try_device();
    free(text);
    return 0;
}
