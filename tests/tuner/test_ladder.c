/* SPDX-License-Identifier: MIT */
/* The steps of the cuDNN 5 post: each is a workload and a valid config of rnn/plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "runtime/cuda_arch.h"
#include "tests/tuner/cpu.h"
#include "tuner/ladder.h"

#include <string.h>

static struct workload parse(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s: %s", text, why.text);
    return w;
}

static void a_step_has_one_layer_or_all(void **state)
{
    static const struct {
        const char *given, *one, *all;
        int64_t l;
    } cases[] = {
        {"rnn f32 i=8 h=8 b=16 t=3", "rnn f32 i=8 h=8 b=16 t=3", "rnn f32 i=8 h=8 l=4 b=16 t=3", 4},
        {"rnn f32 i=8 h=8 l=2 b=16 t=3", "rnn f32 i=8 h=8 b=16 t=3", "rnn f32 i=8 h=8 l=2 b=16 t=3", 2},
        {"rnn f32 i=8 h=8 l=6 b=16 t=3", "rnn f32 i=8 h=8 b=16 t=3", "rnn f32 i=8 h=8 l=6 b=16 t=3", 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct workload w = parse(cases[i].given);
        size_t n_all = 0;

        for (size_t k = 0; ladder_steps[k].name; k++) {
            const bool all = ladder_steps[k].all_layers;
            struct buf text;

            buf_init(&text, WORKLOAD_MAX_TEXT);
            assert_int_equal(ladder_workload(&w, k, &text, NULL), ERR_OK);
            assert_string_equal(buf_text(&text), all ? cases[i].all : cases[i].one);
            assert_int_equal(ladder_layers(&w, k), all ? cases[i].l : 1);
            n_all += all;
            buf_fini(&text);
        }
        assert_true(n_all >= 1);
    }
}

static void check_steps(const struct device_desc *d, bool all_differ)
{
    const struct workload w = parse("rnn f32 cell=lstm i=64 h=64 l=4 b=64 t=8");
    char before[512] = "";

    for (size_t k = 0; ladder_steps[k].name; k++) {
        struct config c;
        struct why why = {""};
        struct task t;
        struct buf text;
        size_t i_arm;

        if (ladder_task(&w, k, d, &t, &i_arm, &c, &why))
            fail_msg("%s: %s", ladder_steps[k].name, why.text);
        buf_init(&text, sizeof before);
        assert_true(space_is_valid(t.arms[i_arm].space, &c, NULL));
        assert_int_equal(space_config_text(t.arms[i_arm].space, &c, &text), ERR_OK);
        if (all_differ && strcmp(before, buf_text(&text)) == 0)
            fail_msg("%s changes nothing: %s", ladder_steps[k].name, before);
        snprintf(before, sizeof before, "%s", buf_text(&text));
        buf_fini(&text);
        task_fini(&t);
    }
}

static void each_step_is_a_valid_config_of_its_own(void **state)
{
    const struct device_desc d = test_cpu();

    (void)state;
    check_steps(&d, true);
}

/* Whose default keeps the recurrent weights on the chip, which no step of the post does. */
static void each_step_is_valid_on_a_gpu(void **state)
{
    struct device_desc d;

    (void)state;
    cuda_arch_describe(cuda_arch_find(90), 132, &d);
    check_steps(&d, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_one_layer_or_all),
        cmocka_unit_test(each_step_is_a_valid_config_of_its_own),
        cmocka_unit_test(each_step_is_valid_on_a_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
