/* SPDX-License-Identifier: MIT */
/* Counts over machine code: listings written by hand in nvdisasm's form, counted by eye. */
#include "tests/kernels/sass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define AT "        /*0010*/                   "
#define HEAD "\t.headerflags @\"EF_CUDA_SM90\"\n.text.k:\n"

static struct sass_counts counts(const char *text)
{
    struct sass_counts c = {.n_loop = -1};

    assert_int_equal(sass_count(text, &c, NULL), ERR_OK);
    return c;
}

/* Three products of seven instructions; two copies of 16 bytes with what is neither product nor read of shared memory.
 */
static void a_loop_with_copies_is_counted(void **state)
{
    const struct sass_counts c = counts(
        HEAD AT "S2R R0, SR_TID.X ;\n" AT "FFMA R1, R1, R2, R3 ;\n"
                ".L_x_1:\n" AT "LDSM.16.M88.4 R4, [R2+UR4] ;\n" AT
                "@!P0 LDGSTS.E.BYPASS.LTC128B.128 [R3], desc[UR6][R2.64], !P1 ;\n" AT
                "LDGSTS.E.BYPASS.128 [R3+0x800], [R4.64] ;\n" AT "NOP ;\n" AT "HMMA.16816.F32 R8, R4, R6, R8 ;\n" AT
                "HMMA.16816.F32 R8, R4, R6, R8 ;\n" AT "HMMA.16816.F32 R8, R4, R6, R8 ;\n" AT
                "@!P0 BRA `(.L_x_1) ;\n" AT "STG.E.128 desc[UR6][R2.64], R8 ;\n" AT
                "STG.E.U16 desc[UR6][R2.64], R8 ;\n" AT "EXIT ;\n.L_x_2:\n" AT "BRA `(.L_x_2);\n");

    (void)state;
    assert_string_equal(c.kernel, "k");
    assert_int_equal(c.n_loop, 7);
    assert_int_equal(c.n_math, 3);
    assert_int_equal(c.n_copies, 2);
    assert_int_equal(c.n_copying, 3); /* the copies and the branch */
    assert_int_equal(c.copy_bytes, 16);
    assert_int_equal(c.store_bytes, 2);
}

/* A stage is fetched in the loop around the one that multiplies. */
static void copies_lie_in_the_loop_around(void **state)
{
    const struct sass_counts c =
        counts(HEAD ".L_x_1:\n" AT "LDG.E.U16 R4, [R2.64] ;\n" AT "IADD3 R2, R2, 0x40, RZ ;\n" AT "STS.U16 [R3], R4 ;\n"
                    ".L_x_2:\n" AT "LDS.128 R8, [R3] ;\n" AT "FFMA R1, R8, R9, R1 ;\n" AT "@P0 BRA `(.L_x_2) ;\n" AT
                    "@P1 BRA `(.L_x_1) ;\n");

    (void)state;
    assert_int_equal(c.n_loop, 3);
    assert_int_equal(c.n_math, 1);
    assert_int_equal(c.n_copies, 1);
    assert_int_equal(c.n_copying, 4); /* LDG IADD3 STS BRA */
    assert_int_equal(c.copy_bytes, 2);
    assert_int_equal(c.store_bytes, 0);
}

/* Products are unrolled in a loop around a small one, in which a constant is made by a product with zero. */
static void products_of_a_loop_are_its_own(void **state)
{
    const struct sass_counts c =
        counts(HEAD ".L_x_1:\n" AT "FFMA R1, R8, R9, R1 ;\n" AT "FFMA R2, R8, R9, R2 ;\n"
                    ".L_x_2:\n" AT "LDG.E R4, [R2.64] ;\n" AT "HFMA2.MMA R5, -RZ, RZ, 0, 1 ;\n" AT
                    "FFMA R3, R8, R9, R3 ;\n" AT "@P0 BRA `(.L_x_2) ;\n" AT "@P1 BRA `(.L_x_1) ;\n");

    (void)state;
    assert_int_equal(c.n_loop, 3);
    assert_int_equal(c.n_math, 2);
    assert_int_equal(c.n_copies, 1);
    assert_int_equal(c.n_copying, 3); /* LDG HFMA2 BRA */
}

/* Of four products one stands between the last fetch and the write that waits for it, or all; three where the loop was
 * turned. */
static void products_ahead_of_a_write_are_told(void **state)
{
    const char *three = AT "FFMA R1, R8, R9, R1 ;\n" AT "FFMA R2, R8, R9, R2 ;\n" AT "FFMA R3, R8, R9, R3 ;\n",
               *one = AT "FFMA R1, R8, R9, R1 ;\n", *fetch = AT "@P2 LDG.E R4, [R2.64] ;\n",
               *write = AT "STS.128 [R3], R4 ;\n", *end = AT "@P1 BRA `(.L_x_1) ;\n";
    char late[1000], early[1000], turned[1000];

    (void)state;
    snprintf(late, sizeof late, HEAD ".L_x_1:\n%s%s%s%s%s%s", fetch, three, fetch, one, write, end);
    snprintf(early, sizeof early, HEAD ".L_x_1:\n%s%s%s%s%s%s", fetch, fetch, three, one, write, end);
    snprintf(turned, sizeof turned, HEAD ".L_x_1:\n%s%s%s%s%s", three, write, one, fetch, end);
    assert_int_equal(counts(late).ahead_percent, 25);
    assert_int_equal(counts(early).ahead_percent, 100);
    assert_int_equal(counts(turned).ahead_percent, 75);
}

/* Of two functions, the one that multiplies; a branch ahead makes no loop. */
static void the_kernel_that_multiplies_is_told(void **state)
{
    const struct sass_counts c =
        counts(".text.pack:\n.L_x_0:\n" AT "LDG.E R4, [R2.64] ;\n" AT "BRA `(.L_x_0) ;\n"
               ".text.product:\n" AT "@P0 BRA `(.L_x_3) ;\n" AT "IDP.4A.S8.S8 R1, R2, R3, R1 ;\n"
               ".L_x_3:\n" AT "EXIT ;\n");

    (void)state;
    assert_string_equal(c.kernel, "product");
    assert_int_equal(c.n_loop, 3);
    assert_int_equal(c.n_math, 1);
    assert_int_equal(c.n_copies, 0);
}

/* Pascal's: pairs in braces, between words for the scheduler. */
static void instructions_that_are_issued_together_are_two(void **state)
{
    const struct sass_counts c =
        counts(".text.k:\n.L_x_0:\n                                       /* 0x001fc0000742 */\n"
               "        /*0028*/         {         LDG.E.128 R4, [R2] ;\n"
               "        /*0030*/                   FFMA R1, R8, R9.reuse, R1         }\n" AT "FFMA R2, R8, R9, R2 ;\n"
               "        /*0038*/         {         IADD32I R3, R3, 0x8 ;\n"
               "        /*0048*/              @!P0 BRA `(.L_x_0)         }\n" AT "EXIT ;\n");

    (void)state;
    assert_int_equal(c.n_loop, 5);
    assert_int_equal(c.n_math, 2);
    assert_int_equal(c.n_copies, 1);
    assert_int_equal(c.n_copying, 3);
    assert_int_equal(c.copy_bytes, 16);
}

static void a_text_without_code_is_refused(void **state)
{
    struct sass_counts c;

    (void)state;
    assert_int_equal(sass_count("nvdisasm error\n", &c, NULL), ERR_INPUT);
    assert_int_equal(sass_count("", &c, NULL), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_with_copies_is_counted),
        cmocka_unit_test(copies_lie_in_the_loop_around),
        cmocka_unit_test(products_of_a_loop_are_its_own),
        cmocka_unit_test(products_ahead_of_a_write_are_told),
        cmocka_unit_test(the_kernel_that_multiplies_is_told),
        cmocka_unit_test(instructions_that_are_issued_together_are_two),
        cmocka_unit_test(a_text_without_code_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
