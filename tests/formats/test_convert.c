/* SPDX-License-Identifier: MIT */
/* Files of any known form as records: told by content, gzipped or not, and what the maps make of a row. */
#include "formats/convert.h"

#include "core/file.h"
#include "logs/input.h"
#include "tests/formats/foreign_samples.h"
#include "tests/logs/sample.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char dir[256];

struct seen {
    struct record rows[16];
    char lines[16][8192];
    size_t n, n_bad;
    char words[400];
};

static bool take(const struct record *r, const char *line, size_t n, void *arg)
{
    struct seen *s = arg;

    assert_true(s->n < 16 && n < 8192);
    assert_int_equal(record_copy(&s->rows[s->n], r), ERR_OK);
    snprintf(s->lines[s->n++], 8192, "%.*s", (int)n, line);
    return true;
}

static void bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct seen *s = arg;

    (void)path;
    (void)i_line;
    s->n_bad++;
    snprintf(s->words, sizeof s->words, "%s", words);
}

static void forget(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        record_fini(&s->rows[i]);
    memset(s, 0, sizeof *s);
}

static const char *file_of(const char *name, const char *text)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

static const char *gzipped(const char *name, const char *text, size_t n_cut)
{
    static char path[512];
    struct buf bytes;
    gzFile f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
    buf_init(&bytes, 1 << 20);
    assert_int_equal(file_read(path, &bytes, NULL), ERR_OK);
    assert_int_equal(file_replace(path, bytes.data, bytes.len - n_cut, 0600, NULL), ERR_OK);
    buf_fini(&bytes);
    return path;
}

static struct seen s;

static void scan(const char *path, const char *format)
{
    struct why why = {""};

    forget(&s);
    if (convert_scan(path, format, take, bad, &s, &why))
        fail_msg("%s", why.text);
}

static double knob(const struct record *r, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->knobs, name);

    return cJSON_IsNumber(v) ? v->valuedouble : -1;
}

static void a_cache_of_kernel_tuner_becomes_records(void **state)
{
    (void)state;
    scan(file_of("cache.json", KT_OPEN), NULL);
    assert_int_equal(s.n, 4);
    assert_string_equal(s.rows[0].workload, "kernel vector_add problem_size=4096,64");
    assert_string_equal(s.rows[0].template_id, "");
    assert_string_equal(s.rows[0].key, "nvidia-rtx-a4000");
    assert_string_equal(s.rows[0].protocol, "kernel_tuner");
    assert_string_equal(s.rows[0].purpose, "search");
    assert_true(s.rows[0].fingerprint.hex[0] == '\0' && s.rows[0].program.hex[0] == '\0');
    assert_true(fabs(s.rows[0].time_ns - 0.25e6) < 1e-3 && fabs(s.rows[0].build_ms - 440.5) < 1e-9);
    assert_true(s.rows[0].energy_j == 0.5 && s.rows[0].rounds == 3 && s.rows[0].n_samples == 3);
    /* |ln| of 1/2, 1/4, 1/8 from the middle: ln 2, 0, ln 2 */
    assert_true(fabs(s.rows[0].se - 1.25 * 1.48 * log(2) / sqrt(3)) < 1e-12);
    assert_true(knob(&s.rows[0], "fast") == 1 && knob(&s.rows[1], "fast") == 0 &&
                knob(&s.rows[0], "block_size_x") == 128);
    assert_true(s.rows[1].status == STATUS_COMPILE && s.rows[2].status == STATUS_LIMITS);
    assert_string_equal(s.rows[1].why, "CompilationFailedConfig");
    assert_string_equal(s.rows[1].stage, "build");
    for (size_t i = 0; i < s.n; i++) {
        struct record back;

        assert_true(sha256_is_hex(s.rows[i].id));
        assert_int_equal(record_parse(s.lines[i], strlen(s.lines[i]), &back, NULL), ERR_OK); /* a whole line of ours */
        assert_string_equal(back.id, s.rows[i].id);
        record_fini(&back);
    }
    assert_string_not_equal(s.rows[0].id, s.rows[1].id);
}

static void the_same_row_has_the_same_id_every_time(void **state)
{
    char id[SHA256_HEX + 1];

    (void)state;
    scan(file_of("cache.json", KT_OPEN), NULL);
    strcpy(id, s.rows[2].id);
    scan(file_of("cache.json", KT_HEADER KT_THREE), "kernel_tuner");
    assert_int_equal(s.n, 1);
    assert_string_equal(s.rows[0].id, id);
}

static void results_of_ktt_become_records(void **state)
{
    static const char *const texts[] = {KTT, XML};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        scan(file_of("results", texts[i]), NULL);
        assert_int_equal(s.n, 2);
        assert_string_equal(s.rows[0].workload, "kernel Sum");
        assert_string_equal(s.rows[0].key, "nvidia-geforce-rtx-2080-ti");
        assert_string_equal(cJSON_GetObjectItem(s.rows[0].device, "api")->valuestring, "cuda");
        assert_true(fabs(s.rows[0].time_ns - 3037408) < 1e-3 && s.rows[0].ts_ms == 1723461983000);
        assert_true(cJSON_GetObjectItem(s.rows[0].resources->child, "registers")->valuedouble == 66);
        assert_true(s.rows[1].status == STATUS_WRONG && s.rows[1].time_ns == 0);
    }
}

static void our_own_logs_come_through_as_they_are(void **state)
{
    struct record r = sample_record("t1");
    struct buf line;

    (void)state;
    buf_init(&line, RECORD_MAX_BYTES);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    buf_puts(&line, "torn");
    scan(file_of("own.jsonl", buf_text(&line)), NULL);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.n_bad, 1);
    assert_int_equal(strncmp(s.lines[0], line.data, line.len - 5), 0);
    scan(gzipped("own.jsonl.gz", buf_text(&line), 0), NULL);
    assert_true(s.n == 1 && s.n_bad == 1);
    buf_fini(&line);
    record_fini(&r);
}

static void gzipped_files_are_unpacked_and_short_ones_refused(void **state)
{
    struct why why = {""};

    (void)state;
    scan(gzipped("cache.json.gz", KT_OPEN, 0), NULL);
    assert_int_equal(s.n, 4);
    forget(&s);
    assert_int_equal(convert_scan(gzipped("cut.gz", KT_OPEN, 12), NULL, take, bad, &s, &why), ERR_IO);
    assert_int_equal(s.n, 0);
    assert_non_null(strstr(why.text, "cut short"));
}

static void unknown_formats_and_files_are_refused_with_words(void **state)
{
    struct why why = {""};

    (void)state;
    forget(&s);
    assert_int_equal(convert_scan(file_of("x", "{}"), "punchcards", take, bad, &s, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "expected one of tune, "));
    assert_non_null(strstr(why.text, "kernel_tuner"));
    assert_int_equal(convert_scan(file_of("x", "{}"), "ktt", take, bad, &s, &why), ERR_OK);
    assert_int_equal(convert_scan(file_of("x", "[]"), "kernel_tuner", take, bad, &s, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "Kernel Tuner"));
    assert_int_equal(convert_scan(dir, NULL, take, bad, &s, &why), ERR_IO);
    assert_int_equal(convert_scan("/nonexistent", NULL, take, bad, &s, &why), ERR_NOT_FOUND);
}

static void rows_that_cannot_be_records_are_told(void **state)
{
    (void)state;
    scan(file_of("odd.json",
                 "{\"device_name\": \"d\", \"kernel_name\": \"a b\", \"tune_params_keys\": [\"l\"], \"cache\": "
                 "{\"1\": {\"l\": [1], \"time\": 1}, \"2\": {\"l\": \"w\", \"time\": 1}}}"),
         NULL);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.rows[0].workload, "kernel a_b");
    assert_int_equal(s.n_bad, 1);
    assert_non_null(strstr(s.words, "knob 'l' is neither a number nor a word"));
}

static void records_are_written_whole_or_not_at_all(void **state)
{
    struct convert_out *out = NULL;
    struct record r = sample_record("t1");
    struct why why = {""};
    char path[512];
    struct buf text;

    (void)state;
    snprintf(path, sizeof path, "%s/new.jsonl", dir);
    for (int keep = 0; keep < 2; keep++) {
        assert_int_equal(convert_open(&out, path, "tune", &why), ERR_OK);
        assert_int_equal(convert_put(out, &r, "a line", 6, &why), ERR_OK);
        assert_int_not_equal(access(path, F_OK), 0); /* beside it, so far */
        assert_int_equal(convert_close(out, keep, &why), ERR_OK);
        assert_int_equal(access(path, F_OK) == 0, keep);
    }
    buf_init(&text, 100);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), "a line\n");
    assert_int_equal(convert_open(&out, path, "ktt", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "is read, not written"));
    assert_int_equal(convert_open(&out, path, "punchcards", &why), ERR_INPUT);
    buf_fini(&text);
    record_fini(&r);
}

/* A job that found nothing has an empty log: what is made of it is a file of its form all the same. */
static void a_log_without_records_becomes_a_file_of_its_form(void **state)
{
    (void)state;
    for (const struct foreign_format *const *f = foreign_formats; *f; f++) {
        struct convert_out *out = NULL;
        struct why why = {""};
        char path[512];

        if (!(*f)->write)
            continue;
        snprintf(path, sizeof path, "%s/none.%s", dir, (*f)->name);
        if (convert_open(&out, path, (*f)->name, &why) || convert_close(out, true, &why))
            fail_msg("%s: %s", (*f)->name, why.text);
        scan(path, (*f)->name);
        assert_int_equal(s.n, 0);
        assert_int_equal(s.n_bad, 0);
        assert_int_equal(access(path, F_OK), 0);
    }
}

static void every_format_has_a_map(void **state)
{
    (void)state;
    for (const struct foreign_format *const *f = foreign_formats; *f; f++) {
        const struct convert_map *m = convert_map_of((*f)->name);

        assert_non_null(m);
        assert_true(!(*f)->read == !m->to_record);
        assert_true(!(*f)->write == !m->from_record);
    }
    for (const struct convert_map *const *m = convert_maps; *m; m++)
        assert_non_null(foreign_find((*m)->format));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_of_kernel_tuner_becomes_records),
        cmocka_unit_test(the_same_row_has_the_same_id_every_time),
        cmocka_unit_test(results_of_ktt_become_records),
        cmocka_unit_test(our_own_logs_come_through_as_they_are),
        cmocka_unit_test(gzipped_files_are_unpacked_and_short_ones_refused),
        cmocka_unit_test(unknown_formats_and_files_are_refused_with_words),
        cmocka_unit_test(rows_that_cannot_be_records_are_told),
        cmocka_unit_test(records_are_written_whole_or_not_at_all),
        cmocka_unit_test(a_log_without_records_becomes_a_file_of_its_form),
        cmocka_unit_test(every_format_has_a_map),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget(&s);
    dir_remove(dir);
    return failed;
}
