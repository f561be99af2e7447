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
        cmocka_unit_test(processors_of_one_name_are_devices_of_their_own),
        cmocka_unit_test(fingerprint_takes_texts_of_any_length),
        cmocka_unit_test(bad_descriptions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
