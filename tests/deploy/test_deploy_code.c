/* SPDX-License-Identifier: MIT */
/* What --binaries asks for, and the code that it makes. */
#include "exec/common.h"
#include "deploy/binaries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void words_are_told_apart(void **state)
{
    struct deploy_ahead a;
    struct why why;

    (void)state;
    assert_int_equal(deploy_ahead_parse(NULL, &a, &why), ERR_OK);
    assert_false(a.device);
    assert_int_equal(a.n_sms, 0);
    assert_int_equal(deploy_ahead_parse("sm_61,device,sm_120,sm_61", &a, &why), ERR_OK);
    assert_true(a.device);
    assert_int_equal(a.n_sms, 2);
    assert_int_equal(a.sms[0], 61);
    assert_int_equal(a.sms[1], 120);
}

static void other_words_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "sm_",
                                      "sm_7",
                                      "sm_75,",
                                      "sm_75a",
                                      "sm_1000",
                                      "device ",
                                      "sm_-75",
                                      "compute_75",
                                      "Device",
                                      "75",
                                      "devicedevicedevicedevice"};
    struct deploy_ahead a;
    struct why why;
    char many[DEPLOY_MAX_SMS * 8 + 16] = "sm_10";

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (deploy_ahead_parse(bad[i], &a, &why) != ERR_INPUT ||
            !strstr(why.text, "expected device, or an architecture"))
            fail_msg("'%s' was to be refused: %s", bad[i], why.text);
    }
    for (int i = 1; i <= DEPLOY_MAX_SMS; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",sm_%d", 10 + i);
    assert_int_equal(deploy_ahead_parse(many, &a, &why), ERR_LIMIT);
}

static void code_is_kept_with_its_sum(void **state)
{
    const unsigned char bytes[] = {1, 2, 3};
    struct deploy_code c = {.n = 0};
    struct exec_binary damaged;

    (void)state;
    assert_int_equal(deploy_code_add(&c, "compute_61", bytes, 3), ERR_OK);
    assert_int_equal(deploy_code_add(&c, "sm_61", bytes, 2), ERR_OK);
    assert_int_equal(deploy_code_add(&c, "0123abcd", bytes, 0), ERR_OK);
    assert_int_equal(c.n, 3);
    assert_string_equal(deploy_code_ending(&c.list[0]), "ptx");
    assert_string_equal(deploy_code_ending(&c.list[1]), "cubin");
    assert_string_equal(deploy_code_ending(&c.list[2]), "bin");
    assert_true(c.list[0].bytes != bytes && memcmp(c.list[0].bytes, bytes, 3) == 0);
    assert_true(exec_sum((const unsigned char *)"foobar", 6) == UINT64_C(0x85944171f73967e8)); /* FNV-1a's own vector */
    for (size_t i = 0; i < c.n; i++)
        assert_true(c.list[i].sum != 0 && exec_is_whole(&c.list[i]));
    damaged = c.list[0];
    damaged.n_bytes--;
    assert_false(exec_is_whole(&damaged));
    damaged.sum = 0;
    assert_true(exec_is_whole(&damaged));
    deploy_code_fini(&c);
    assert_int_equal(c.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_told_apart),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(code_is_kept_with_its_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
