/* SPDX-License-Identifier: MIT */
#include "runtime/device_desc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct device_desc sample = {.api = "opencl",
                                          .kind = DEVICE_MALI,
                                          .platform = "ARM Platform",
                                          .platform_version = "OpenCL 1.2",
                                          .vendor = "ARM",
                                          .name = "Mali-T860",
                                          .driver = "1.2",
                                          .extensions = "cl_khr_fp16 cl_khr_icd",
                                          .units = 4,
                                          .max_work_group = 256,
                                          .max_local = {256, 256, 256},
                                          .local_bytes = 32768,
                                          .global_bytes = (int64_t)4 << 30,
                                          .vector_bits = 128,
                                          .fp16 = true,
                                          .shares_host = true,
                                          .peak_gflops = 23.5};

static void description_comes_back_from_json(void **state)
{
    cJSON *object = device_desc_to_json(&sample);
    struct device_desc d;
    struct why why = {""};

    (void)state;
    assert_non_null(object);
    assert_int_equal(device_desc_from_json(object, &d, &why), ERR_OK);
    assert_string_equal(d.name, sample.name);
    assert_string_equal(d.extensions, sample.extensions);
    assert_int_equal(d.kind, DEVICE_MALI);
    assert_int_equal(d.max_local[2], 256);
    assert_int_equal(d.global_bytes, sample.global_bytes);
    assert_true(d.fp16 && d.shares_host && d.peak_gflops == 23.5);
    assert_string_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&sample).hex);
    cJSON_Delete(object);
}

static void fingerprint_follows_driver_and_threads_but_no_speed(void **state)
{
    struct device_desc d = sample;

    (void)state;
    d.peak_gflops = 1;
    assert_string_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&sample).hex);
    d.threads = 2;
    assert_string_not_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&sample).hex);
    d = sample;
    strcpy(d.driver, "1.3");
    assert_string_not_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&sample).hex);
    d = sample;
    strcpy(d.dots, "tune_vnni");
    assert_string_not_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&sample).hex);
}

/* Every text and every count that decides what a config means is in it; limits, speeds and clocks are not. */
static void fingerprint_is_over_what_its_contract_names(void **state)
{
    static const struct device_desc cuda = {.api = "cuda", .name = "card", .sm = 80, .units = 10};
    struct device_desc d = cuda, texts[8];
    char *const changed[8] = {texts[0].api,  texts[1].platform, texts[2].platform_version, texts[3].vendor,
                              texts[4].name, texts[5].driver,   texts[6].extensions,       texts[7].dots};

    (void)state;
    for (int i = 0; i < 8; i++) {
        texts[i] = cuda;
        strcat(changed[i], "x");
        assert_string_not_equal(device_desc_fingerprint(&texts[i]).hex, device_desc_fingerprint(&cuda).hex);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(device_desc_fingerprint(&texts[i]).hex, device_desc_fingerprint(&texts[j]).hex);
    }
    d.sm = 86;
    assert_string_not_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&cuda).hex);
    d = cuda;
    d.units = 11;
    assert_string_not_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&cuda).hex);
    d = cuda;
    d.max_work_group = d.local_bytes = d.global_bytes = d.vector_bits = d.cache_bytes = d.registers = 5;
    d.kind = DEVICE_OTHER;
    d.fp16 = d.shares_host = true;
    assert_string_equal(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&cuda).hex);
}

static void numbers_of_cuda_devices_come_back(void **state)
{
    const struct device_desc card = {.api = "cuda",
                                     .kind = DEVICE_GPU,
                                     .name = "card",
                                     .dots = "tune_dp4a",
                                     .units = 1,
                                     .threads = 2,
                                     .max_work_group = 3,
                                     .max_local = {4, 5, 6},
                                     .local_bytes = 7,
                                     .constant_bytes = 8,
                                     .global_bytes = 9,
                                     .max_alloc_bytes = 10,
                                     .vector_bits = 11,
                                     .sm = 12,
                                     .local_max_bytes = 13,
                                     .local_unit_bytes = 14,
                                     .local_reserved = 15,
                                     .registers = 16,
                                     .unit_threads = 17,
                                     .unit_groups = 18,
                                     .cache_bytes = (int64_t)1 << 40};
    cJSON *object = device_desc_to_json(&card);
    struct device_desc d;

    (void)state;
    memset(&d, 0xff, sizeof d);
    assert_int_equal(device_desc_from_json(object, &d, NULL), ERR_OK);
    assert_string_equal(d.dots, "tune_dp4a");
    assert_memory_equal(&d.units, &card.units,
                        offsetof(struct device_desc, fp16) - offsetof(struct device_desc, units));
    assert_memory_equal(&d.sm, &card.sm,
                        offsetof(struct device_desc, cache_bytes) - offsetof(struct device_desc, sm) + 8);
    assert_false(d.fp16 || d.shares_host);
    cJSON_Delete(object);
}

static void texts_fit_with_their_end_or_are_refused(void **state)
{
    char json[200] = "{\"kind\":\"gpu\",\"api\":\"123456789012345";
    struct device_desc d;
    cJSON *object;

    (void)state;
    strcat(json, "\"}");
    object = cJSON_Parse(json);
    assert_int_equal(device_desc_from_json(object, &d, NULL), ERR_OK);
    assert_string_equal(d.api, "123456789012345");
    cJSON_Delete(object);
    strcpy(strstr(json, "5\"}"), "56\"}");
    object = cJSON_Parse(json);
    assert_int_equal(device_desc_from_json(object, &d, NULL), ERR_LIMIT);
    cJSON_Delete(object);
}

/* PoCL gives one name to all processors of a make; what was recorded before they were told apart still belongs here. */
static void processors_of_one_name_are_devices_of_their_own(void **state)
{
    struct device_desc old = sample, one = sample, other = sample, back;
    struct sha256 was = device_desc_fingerprint(&sample), one_print, other_print;
    const char *former = "";
    cJSON *object;

    (void)state;
    strcpy(one.cpu, "AMD EPYC, family 25 model 1 stepping 1");
    strcpy(other.cpu, "AMD EPYC, family 25 model 17 stepping 1");
    one_print = device_desc_fingerprint(&one);
    other_print = device_desc_fingerprint(&other);
    assert_string_not_equal(one_print.hex, other_print.hex);
    assert_string_not_equal(one_print.hex, was.hex);
    assert_string_equal(device_desc_former(&one).hex, was.hex);
    assert_string_equal(device_desc_former(&old).hex, "");
    assert_true(device_desc_has(&one, &one_print) && device_desc_has(&one, &was) && device_desc_has(&old, &was));
    assert_false(device_desc_has(&one, &other_print) || device_desc_has(&old, &one_print));
    assert_false(device_desc_has(&old, &(struct sha256){""}));
    object = device_desc_to_json(&one);
    assert_int_equal(json_get_text(object, "former", &former, NULL), ERR_OK);
    assert_string_equal(former, was.hex);
    assert_int_equal(device_desc_from_json(object, &back, NULL), ERR_OK);
    assert_string_equal(device_desc_fingerprint(&back).hex, one_print.hex);
    cJSON_Delete(object);
    object = device_desc_to_json(&old);
    assert_null(cJSON_GetObjectItem(object, "former"));
    assert_null(cJSON_GetObjectItem(object, "cpu"));
    cJSON_Delete(object);
}

static void fingerprint_takes_texts_of_any_length(void **state)
{
    struct device_desc d = sample;

    (void)state;
    memset(d.extensions, 'x', sizeof d.extensions - 1);
    memset(d.name, 'y', sizeof d.name - 1);
    memset(d.platform_version, 'z', sizeof d.platform_version - 1);
    assert_true(sha256_is_hex(device_desc_fingerprint(&d).hex));
}

static void bad_descriptions_are_refused(void **state)
{
    static const char *const bad[] = {"[]",
                                      "{}",
                                      "{\"kind\":\"toaster\"}",
                                      "{\"kind\":\"gpu\",\"units\":-1}",
                                      "{\"kind\":\"gpu\",\"units\":1.5}",
                                      "{\"kind\":\"gpu\",\"max_local\":[1,2]}",
                                      "{\"kind\":\"gpu\",\"max_local\":[1,2,-3]}",
                                      "{\"kind\":\"gpu\",\"fp16\":1}",
                                      "{\"kind\":\"gpu\",\"api\":\"a very long name of an api\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct device_desc d;
        struct why why = {""};
        cJSON *object = NULL;

        assert_int_equal(json_parse(bad[i], strlen(bad[i]), &object, &why), ERR_OK);
        if (device_desc_from_json(object, &d, &why) == ERR_OK || !why.text[0])
            fail_msg("taken, or refused without words: %s", bad[i]);
        cJSON_Delete(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(description_comes_back_from_json),
        cmocka_unit_test(fingerprint_follows_driver_and_threads_but_no_speed),
        cmocka_unit_test(fingerprint_is_over_what_its_contract_names),
        cmocka_unit_test(numbers_of_cuda_devices_come_back),
        cmocka_unit_test(texts_fit_with_their_end_or_are_refused),
        cmocka_unit_test(processors_of_one_name_are_devices_of_their_own),
        cmocka_unit_test(fingerprint_takes_texts_of_any_length),
        cmocka_unit_test(bad_descriptions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
