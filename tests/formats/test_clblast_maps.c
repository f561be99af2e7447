/* SPDX-License-Identifier: MIT */
/* What results of CLBlast's tuners become, and what of ours becomes one of theirs. */
#include "kernels/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/formats/reading.h"

#define DEVICE "\"clblast_device_name\": \"GeForce X\", \"device_type\": \"GPU\", \"device_compute_units\": \"20\""
#define GEMM "\"precision\": \"32\", \"arg_m\": \"1024\", \"arg_n\": \"512\", \"arg_k\": \"256\", " DEVICE
#define CONV                                                                                                           \
    "\"precision\": \"32\", \"arg_batch_count\": \"2\", \"arg_channels\": \"32\", \"arg_height\": \"18\", "            \
    "\"arg_width\": \"20\", \"arg_num_kernels\": \"24\", \"arg_kernel_h\": \"3\", \"arg_kernel_w\": \"3\", " DEVICE
#define XGEMM                                                                                                          \
    "\"GEMMK\": 0, \"KREG\": 1, \"KWG\": 32, \"KWI\": 2, \"MDIMA\": 8, \"MDIMC\": 16, \"MWG\": 64, \"NDIMB\": 16, "    \
    "\"NDIMC\": 8, \"NWG\": 32, \"SA\": 1, \"SB\": 1, \"STRM\": 0, \"STRN\": 1, \"VWM\": 4, \"VWN\": 2, "              \
    "\"PRECISION\": 32"
#define DIRECT                                                                                                         \
    "\"KWID\": 2, \"MDIMAD\": 8, \"MDIMCD\": 16, \"NDIMBD\": 8, \"NDIMCD\": 8, \"PADA\": 1, \"PADB\": 0, "             \
    "\"VWMD\": 2, \"VWND\": 4, \"WGD\": 32"
#define CONVOLVED                                                                                                      \
    "\"KWID\": 1, \"MDIMAD\": 16, \"MDIMCD\": 8, \"NDIMBD\": 8, \"NDIMCD\": 16, \"PADA\": 0, \"PADB\": 0, "            \
    "\"VWMD\": 2, \"VWND\": 1, \"WGD\": 32"
#define FILE_OF(family, meta, parameters)                                                                              \
    "{\"kernel_family\": \"" family "\", " meta                                                                        \
    ", \"results\": [{\"kernel\": \"K\", \"time\": 1.5, \"parameters\": {" parameters "}}]}"

static double knob(const struct record *r, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->knobs, name);

    return cJSON_IsNumber(v) ? v->valuedouble : -1;
}

static const struct {
    const char *text, *workload, *template_id, *knobs; /* some of them, "name=value " */
} files[] = {
    {FILE_OF("xgemm_2", GEMM, XGEMM), "dense f32 m=1024 n=512 k=256", "dense/gemm_tiled",
     "mwg=64 nwg=32 kwg=32 mdimc=16 ndimc=8 mdima=8 ndimb=16 kwi=2 vwm=4 vwn=2 strm=0 strn=1 sa=1 sb=1 stages=1 "
     "split=1"},
    {FILE_OF("xgemm", GEMM, XGEMM), "dense f32 m=1024 n=512 k=256", "dense/gemm_tiled", "mwg=64"},
    {FILE_OF("xgemm_direct_1", GEMM, DIRECT), "dense f32 m=1024 n=512 k=256", "dense/gemm_direct",
     "wgd=32 mdimcd=16 ndimcd=8 mdimad=8 ndimbd=8 kwid=2 vwmd=2 vwnd=4 pada=1 padb=0 vec=4"},
    {FILE_OF("xconvgemm", CONV, CONVOLVED), "conv2d f32 n=2 c=32 h=18 w=20 k=24 r=3 s=3", "conv2d/im2col_gemm",
     "mwg=32 nwg=32 kwg=32 ndimc=8 mdimc=16 ndimb=16 mdima=8 vwn=2 vwm=1 kwi=1 sa=1 sb=1"},
};

static void check_knobs(const struct record *r, const char *expected)
{
    char text[512], *save = NULL;

    snprintf(text, sizeof text, "%s", expected);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        if (knob(r, word) != atof(value))
            fail_msg("%s: %s=%g, expected %s", r->workload, word, knob(r, word), value);
    }
}

static void check_is_valid(const struct record *r)
{
    struct device_desc d;
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct why why = {""};

    assert_int_equal(device_desc_from_json(r->device, &d, &why), ERR_OK);
    assert_int_equal(workload_parse(r->workload, &w, &why), ERR_OK);
    assert_int_equal(template_space(template_find(r->template_id), &w, &d, &s, &why), ERR_OK);
    assert_int_equal(space_config_from_json(s, r->knobs, &c, &why), ERR_OK);
    assert_true(space_is_valid(s, &c, NULL));
    space_free(s);
}

static void results_become_records(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct reading r = read_row("clblast", files[i].text);

        if (r.e)
            fail_msg("%s: %s", files[i].text, r.why.text);
        assert_string_equal(r.record.workload, files[i].workload);
        assert_string_equal(r.record.template_id, files[i].template_id);
        assert_true(r.record.time_ns == 1.5e6);
        assert_string_equal(r.record.key, "geforce-x");
        check_knobs(&r.record, files[i].knobs);
        check_is_valid(&r.record);
        record_fini(&r.record);
    }
}

static void write_text(const struct record *r, struct buf *out)
{
    struct foreign_row row;
    struct why why = {""};

    if (map_of("clblast")->from_record(r, &row, &why))
        fail_msg("%s: %s", r->workload, why.text);
    assert_int_equal(foreign_find("clblast")->write(&row, 1, out, NULL), ERR_OK);
    foreign_row_fini(&row);
}

/* The parameters of the only result. */
static cJSON *parameters_of(const char *text, cJSON **file)
{
    *file = cJSON_Parse(text);
    return cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(*file, "results"), 0), "parameters");
}

static void parameters_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct reading r = read_row("clblast", files[i].text);
        cJSON *before, *after, *a, *b;
        struct buf out;

        buf_init(&out, 1 << 20);
        write_text(&r.record, &out);
        a = parameters_of(files[i].text, &before);
        b = parameters_of(buf_text(&out), &after);
        cJSON_DeleteItemFromObject(a, "PRECISION");
        cJSON_DeleteItemFromObject(b, "PRECISION");
        if (!cJSON_Compare(a, b, true))
            fail_msg("%s became %s", files[i].text, buf_text(&out));
        assert_string_equal(cJSON_GetObjectItem(after, "kernel_family")->valuestring,
                            cJSON_GetObjectItem(before, "kernel_family")->valuestring);
        assert_string_equal(cJSON_GetObjectItem(after, "clblast_device_name")->valuestring, "GeForce X");
        cJSON_Delete(before);
        cJSON_Delete(after);
        record_fini(&r.record);
        buf_fini(&out);
    }
}

static void a_record_of_ours_comes_back_as_it_went(void **state)
{
    struct reading r = read_row("clblast", files[0].text), back;
    struct buf out, before, after;

    (void)state;
    cJSON_DeleteItemFromObject(r.record.device, "clblast");
    strcpy(r.record.job, "a job");
    r.record.program = sha256_of("p", 1);
    buf_init(&out, 1 << 20);
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    write_text(&r.record, &out);
    back = read_row("clblast", buf_text(&out));
    assert_int_equal(back.e, ERR_OK);
    assert_int_equal(record_print(&r.record, &before), ERR_OK);
    assert_int_equal(record_print(&back.record, &after), ERR_OK);
    assert_string_equal(buf_text(&after), buf_text(&before));
    record_fini(&r.record);
    record_fini(&back.record);
    buf_fini(&out);
    buf_fini(&before);
    buf_fini(&after);
}

static const struct {
    const char *text, *words;
} refused[] = {
    {FILE_OF("xaxpy", GEMM, XGEMM), "kernel family xaxpy"},
    {FILE_OF("xgemm_x", GEMM, XGEMM), "kernel family xgemm_x"},
    {FILE_OF("xgemm_1", "\"precision\": \"64\", \"arg_m\": \"8\"", XGEMM), "precision 64"},
    {FILE_OF("xgemm_1", "\"precision\": \"32\", \"arg_m\": \"8\"", XGEMM), "arg_n"},
    {FILE_OF("xgemm_1", "\"precision\": \"32\", \"arg_m\": \"8x\", \"arg_n\": \"8\"", XGEMM), "arg_m"},
    {FILE_OF("xgemm_1", "\"precision\": \"32\", \"arg_m\": \"1e99\"", XGEMM), "arg_m"},
    {FILE_OF("xgemm_11", GEMM, "\"GEMMK\": 1"), "GEMMK=1"},
    {FILE_OF("xgemm_1", GEMM, "\"GEMMK\": 0, \"MWG\": 64"), "NWG"},
    {FILE_OF("xgemm_direct_1", GEMM, "\"WGD\": 7"), "wgd=7 is not in the space"},
};

static void what_has_no_words_here_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct reading r = read_row("clblast", refused[i].text);

        if (r.e == ERR_OK || !strstr(r.why.text, refused[i].words) || strchr(r.why.text, '\n'))
            fail_msg("%s: %s", refused[i].text, r.e ? r.why.text : "was taken");
    }
}

static void what_clblast_has_not_is_refused(void **state)
{
    static const char *const changes[][2] = {{"stages", "stages one tile"}, {"split", "each sum in one part"}};
    struct foreign_row row;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct reading r = read_row("clblast", files[0].text);
        struct why why = {""};

        cJSON_SetNumberValue(cJSON_GetObjectItem(r.record.knobs, changes[i][0]), 2);
        assert_int_equal(map_of("clblast")->from_record(&r.record, &row, &why), ERR_UNSUPPORTED);
        assert_non_null(strstr(why.text, changes[i][1]));
        record_fini(&r.record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_become_records),
        cmocka_unit_test(parameters_come_back),
        cmocka_unit_test(a_record_of_ours_comes_back_as_it_went),
        cmocka_unit_test(what_has_no_words_here_is_told),
        cmocka_unit_test(what_clblast_has_not_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
