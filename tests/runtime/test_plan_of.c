/* SPDX-License-Identifier: MIT */
/* Programs become plans; executors walk and lay them out. No device. */
#include "exec/common.h"
#include "runtime/plan_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = "line one\nline two\n\nno newline";

struct fixture {
    struct program p;
    struct blobs blobs;
    struct exec_plan *plan;
};

/* x, w -> packed, y, with scratch, a state, a content in bytes; a reference launch in the middle; loops. */
static void make_program(struct fixture *f)
{
    static const int64_t one[3] = {1, 1, 1}, group[3] = {8, 2, 1};
    struct program *p = &f->p;
    struct program_module *m;
    struct program_launch *l;
    struct program_buffer *b;
    const unsigned char table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    program_init(p);
    blobs_init(&f->blobs, 1 << 20);
    f->plan = NULL;
    p->workload = strdup("by hand");
    (void)snprintf(p->std, sizeof p->std, "CL1.2");
    m = program_add_module(p, "m", LANG_OPENCL_C, "-cl-mad-enable");
    assert_int_equal(blobs_put(&f->blobs, text, sizeof text - 1, &m->source), ERR_OK);
    assert_int_equal(program_define(m, "SIZE", 7), ERR_OK);
    (void)program_add_buffer(p, "x", ROLE_INPUT, DTYPE_F32, 10);
    (void)program_add_buffer(p, "w", ROLE_WEIGHT, DTYPE_F32, 20);
    (void)program_add_buffer(p, "packed", ROLE_PACKED, DTYPE_F32, 20);
    (void)program_add_buffer(p, "y", ROLE_OUTPUT, DTYPE_F32, 10);
    b = program_add_buffer(p, "ones", ROLE_SCRATCH, DTYPE_F16, 6);
    b->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 1.0};
    b->reset_each_run = true;
    b = program_add_buffer(p, "table", ROLE_PACKED, DTYPE_I32, 2);
    b->fill.kind = FILL_BLOB;
    assert_int_equal(blobs_put(&f->blobs, table, sizeof table, &b->fill.blob), ERR_OK);
    b = program_add_buffer(p, "drawn", ROLE_SCRATCH, DTYPE_I32, 4);
    b->fill = (struct program_fill){.kind = FILL_INT, .seed = 3, .lo = -9, .hi = 9};
    (void)program_add_buffer(p, "expected", ROLE_SCRATCH, DTYPE_F32, 10);
    b = program_add_buffer(p, "h", ROLE_STATE, DTYPE_F32, 4);
    b->fill = (struct program_fill){.kind = FILL_ZERO, .lo = 3.0}; /* whose bounds mean nothing */
    b = program_add_buffer(p, "doubles", ROLE_STATE, DTYPE_F64, 3);
    b->fill = (struct program_fill){.kind = FILL_VALUE, .lo = 1.0};
    b = program_add_buffer(p, "no doubles", ROLE_STATE, DTYPE_F64, 3);
    b->fill.kind = FILL_ZERO;

    l = program_add_kernel(p, PHASE_PACK, 0, "pack", one, group); /* 0 */
    assert_int_equal(program_arg_buffer(l, 1) | program_arg_buffer(l, 2), ERR_OK);
    l = program_add_kernel(p, PHASE_REFERENCE, 0, "reference", one, one); /* left out */
    assert_int_equal(program_arg_buffer(l, 7), ERR_OK);
    l = program_add_launch(p, LAUNCH_FILL, PHASE_RUN); /* 1 */
    assert_int_equal(program_arg_buffer(l, 4) | program_arg_real(l, -2.0), ERR_OK);
    l = program_add_kernel(p, PHASE_RUN, 0, "run", group, one); /* 2 */
    assert_int_equal(program_arg_buffer(l, 0) | program_arg_buffer(l, 2) | program_arg_buffer(l, 5) |
                         program_arg_buffer(l, 6) | program_arg_buffer(l, 8) | program_arg_int(l, ARG_I64, 100) |
                         program_arg_int(l, ARG_LOCAL, 64) | program_arg_real(l, 0.5),
                     ERR_OK);
    l->args[5].bump[0] = 10;
    l->args[5].bump[1] = 1;
    l = program_add_launch(p, LAUNCH_COPY, PHASE_RUN); /* 3 */
    assert_int_equal(program_arg_buffer(l, 3) | program_arg_buffer(l, 0) | program_arg_int(l, ARG_I64, 40), ERR_OK);
    assert_int_equal(program_add_loop(p, 2, 4, 3) | program_add_loop(p, 3, 3, 2), ERR_OK);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct why why = {""};
    make_program(f);
    if (plan_of_program(&f->p, &f->blobs, &f->plan, &why) != ERR_OK) {
        fail_msg("%s", why.text);
    }
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    plan_free(f->plan);
    program_fini(&f->p);
    blobs_fini(&f->blobs);
    free(f);
    return 0;
}

static void text_becomes_lines_that_end_in_newlines(void **state)
{
    const struct exec_module *m = ((struct fixture *)*state)->plan->modules[0];
    assert_int_equal(m->n_lines, 4);
    assert_string_equal(m->lines[0], "line one\n");
    assert_string_equal(m->lines[2], "\n");
    assert_string_equal(m->lines[3], "no newline");
    assert_string_equal(m->options, "-cl-std=CL1.2 -cl-mad-enable -D SIZE=7");
}

/* The last newline begins no line of its own. */
static void texts_of_all_kinds_are_cut_into_their_lines(void **state)
{
    static const struct {
        const char *text;
        int n;
    } cases[] = {{"one\n", 1}, {"one", 1}, {"one\ntwo\n", 2}, {"\n", 1}, {"\n\n", 2}, {"one\n\ntwo", 3}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exec_plan *plan = NULL;
        char joined[64] = "";
        assert_int_equal(blobs_put(&f->blobs, cases[i].text, strlen(cases[i].text), &f->p.modules[0].source), ERR_OK);
        assert_int_equal(plan_of_program(&f->p, &f->blobs, &plan, NULL), ERR_OK);
        assert_int_equal(plan->modules[0]->n_lines, cases[i].n);
        for (int k = 0; k < cases[i].n; k++) {
            strcat(joined, plan->modules[0]->lines[k]);
        }
        assert_string_equal(joined, cases[i].text);
        plan_free(plan);
    }
}

/* Scratch in slots by size, the largest first, in whichever order the buffers stand; each phase has its own. */
static void scratch_buffers_have_slots_by_their_size(void **state)
{
    static const size_t sizes[][3] = {{2, 4, 8}, {8, 4, 2}, {4, 8, 2}, {4, 4, 4}};
    static const int ranks[][3] = {{2, 1, 0}, {0, 1, 2}, {1, 0, 2}, {0, 1, 2}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct exec_buffer buffers[4] = {{.id = "a", .role = EXEC_SCRATCH},
                                         {.id = "b", .role = EXEC_SCRATCH},
                                         {.id = "c", .role = EXEC_SCRATCH},
                                         {.id = "d", .role = EXEC_SCRATCH, .n_bytes = 16}};
        struct exec_arg args[4] = {{.integer = 0}, {.integer = 1}, {.integer = 2}, {.integer = 3}};
        const struct exec_launch launches[2] = {{.op = EXEC_KERNEL, .phase = EXEC_PACK, .args = &args[3], .n_args = 1},
                                                {.op = EXEC_KERNEL, .args = args, .n_args = 3}};
        const struct exec_plan plan = {.buffers = buffers, .n_buffers = 4, .launches = launches, .n_launches = 2};
        struct exec_layout l;
        for (int k = 0; k < 3; k++) {
            buffers[k].n_bytes = sizes[i][k];
        }
        assert_int_equal(exec_layout_init(&plan, &l), EXEC_OK);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(l.spots[k].place, EXEC_OF_SESSION);
            assert_int_equal(l.spots[k].index, ranks[i][k]);
        }
        assert_int_equal(l.spots[3].index, 0); /* of the other phase */
        assert_int_equal(l.n_slots, 3);
        exec_layout_fini(&l);
    }
}

static void references_are_left_out_and_loops_renumbered(void **state)
{
    const struct exec_plan *p = ((struct fixture *)*state)->plan;
    assert_int_equal(p->n_launches, 4);
    assert_string_equal(p->launches[2].kernel, "run");
    assert_int_equal(p->n_loops, 2);
    assert_int_equal(p->loops[0].first, 1);
    assert_int_equal(p->loops[0].last, 3);
    assert_int_equal(p->loops[1].first, 2);
    assert_int_equal(p->loops[1].last, 2);
    assert_int_equal(p->launches[0].phase, EXEC_PACK);
    assert_int_equal(p->launches[1].phase, EXEC_RUN);
    assert_int_equal(p->launches[0].block[0], 8);
    assert_int_equal(p->launches[2].grid[1], 2);
}

static void fills_become_patterns_and_bytes(void **state)
{
    const struct fixture *f = *state;
    const struct exec_buffer *b = f->plan->buffers;
    int32_t drawn[4];
    assert_int_equal(b[4].fill, EXEC_FILL_VALUE);
    assert_int_equal(b[4].n_pattern, 2);
    assert_int_equal(b[4].pattern[0] | b[4].pattern[1] << 8, 0x3c00); /* 1.0 of f16 */
    assert_int_equal(b[4].each_run, 1);
    assert_int_equal(b[5].fill, EXEC_FILL_BYTES);
    assert_int_equal(b[5].bytes[7], 8);
    assert_int_equal(fill_elems(&f->p.buffers[6].fill, DTYPE_I32, drawn, 4, NULL), ERR_OK);
    assert_int_equal(b[6].fill, EXEC_FILL_BYTES);
    assert_memory_equal(b[6].bytes, drawn, sizeof drawn);
    assert_int_equal(b[0].fill, EXEC_FILL_NONE); /* the caller's */
    assert_int_equal(b[8].fill, EXEC_FILL_VALUE);
    assert_int_equal(b[8].pattern[0] | b[8].pattern[1] | b[8].pattern[2] | b[8].pattern[3], 0);
    assert_int_equal(b[8].each_run, 0);
    assert_int_equal(b[4].n_bytes, 12);
    assert_int_equal(b[5].n_bytes, 8);
}

/* CUDA sets elements of 1, 2 and 4 bytes; half of a double is another number. */
static void doubles_are_filled_by_their_bytes(void **state)
{
    const struct exec_buffer *b = ((struct fixture *)*state)->plan->buffers;
    const double ones[3] = {1.0, 1.0, 1.0};
    assert_int_equal(b[9].fill, EXEC_FILL_BYTES);
    assert_int_equal(b[9].n_bytes, sizeof ones);
    assert_memory_equal(b[9].bytes, ones, sizeof ones);
    assert_int_equal(b[10].fill, EXEC_FILL_VALUE);
    assert_int_equal(b[10].n_pattern, 4);
    assert_int_equal(b[10].pattern[0] | b[10].pattern[1] | b[10].pattern[2] | b[10].pattern[3], 0);
}

static void fill_launches_carry_the_bytes_of_an_element(void **state)
{
    const struct exec_launch *l = &((struct fixture *)*state)->plan->launches[1];
    assert_int_equal(l->op, EXEC_FILL);
    assert_int_equal(l->n_args, 3);
    assert_int_equal(l->args[0].integer, 4);
    assert_int_equal(l->args[1].integer, 0xc000); /* -2.0 of f16 */
    assert_int_equal(l->args[2].integer, 2);
}

static void buffers_live_where_their_use_says(void **state)
{
    static const enum exec_place places[] = {EXEC_TENSOR, EXEC_TENSOR, EXEC_OF_WEIGHTS, EXEC_TENSOR, EXEC_OF_SESSION,
                                             EXEC_OF_OP,  EXEC_OF_OP,  EXEC_NOWHERE,    EXEC_OF_OP};
    struct exec_layout l;
    assert_int_equal(exec_layout_init(((struct fixture *)*state)->plan, &l), EXEC_OK);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(l.spots[i].place, places[i]);
    }
    assert_int_equal(l.spots[1].index, 0); /* the only weight */
    assert_int_equal(l.spots[3].index, 1); /* y behind x */
    assert_int_equal(l.n_weights, 1);
    assert_int_equal(l.n_tensors, 2);
    assert_int_equal(l.n_slots, 1);
    exec_layout_fini(&l);
}

struct walked {
    const struct exec_plan *plan;
    char text[256];
};

static int note(int i_launch, const int64_t *iteration, void *arg)
{
    struct walked *w = arg;
    const struct exec_launch *l = &w->plan->launches[i_launch];
    const size_t n = strlen(w->text);
    union exec_number value = {.i64 = -1};
    if (i_launch == 2) {
        assert_int_equal(exec_arg_pack(&l->args[5], iteration, &value), 8);
    }
    (void)snprintf(w->text + n, sizeof w->text - n, "%d:%lld ", i_launch, (long long)value.i64);
    return 0;
}

static void launches_run_in_order_with_their_loops(void **state)
{
    struct walked w = {((struct fixture *)*state)->plan, ""};
    assert_int_equal(exec_walk(w.plan, EXEC_RUN, note, &w), 0);
    assert_string_equal(w.text, "1:-1 2:100 2:101 3:-1 1:-1 2:110 2:111 3:-1 1:-1 2:120 2:121 3:-1 ");
    w.text[0] = '\0';
    assert_int_equal(exec_walk(w.plan, EXEC_PACK, note, &w), 0);
    assert_string_equal(w.text, "0:-1 ");
    assert_int_equal(exec_count(w.plan, EXEC_PACK), 1);
    assert_int_equal(exec_count(w.plan, EXEC_RUN), 3 * (1 + 2 + 1));
}

static int note_turns(int i_launch, const int64_t *iteration, void *arg)
{
    char *out = arg;
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, 512 - n, "%d", i_launch);
    for (int d = 0; d < EXEC_NEST && n < 512; d++) {
        n += (size_t)snprintf(out + n, 512 - n, ":%d", (int)iteration[d]);
    }
    (void)snprintf(out + n, 512 - n, " ");
    return 0;
}

/* A launch is told the turns of the loops around it, outermost first; of those that it stands behind it is told 0. */
static void launches_behind_a_loop_are_in_no_turn_of_it(void **state)
{
    static const struct exec_launch launches[5] = {
        {.op = EXEC_FILL}, {.op = EXEC_FILL}, {.op = EXEC_FILL}, {.op = EXEC_FILL}, {.op = EXEC_FILL}};
    static const struct exec_loop loops[] = {{0, 2, 2}, {1, 1, 3}, {4, 4, 2}};
    const struct exec_plan plan = {.launches = launches, .n_launches = 5, .loops = loops, .n_loops = 3};
    static const int expected[][3] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {1, 0, 2}, {2, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                      {1, 1, 1}, {1, 1, 2}, {2, 1, 0}, {3, 0, 0}, {4, 0, 0}, {4, 1, 0}};
    char turned[512] = "", wanted[512] = "";
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        int64_t turns[EXEC_NEST] = {expected[i][1], expected[i][2]};
        (void)note_turns(expected[i][0], turns, wanted);
    }
    assert_int_equal(exec_walk(&plan, EXEC_RUN, note_turns, turned), 0);
    assert_string_equal(turned, wanted);
}

/* For a device: all phases, launch by launch as in the program. Queues and waits go along either way; a wait may be for
 * a later launch. */
static void launches_keep_their_queues_and_waits(void **state)
{
    struct fixture *f = *state;
    struct exec_plan *some = NULL, *all = NULL;
    f->p.launches[3].queue = 5;
    assert_int_equal(program_after(&f->p.launches[3], 2) | program_after(&f->p.launches[2], 4), ERR_OK);
    assert_int_equal(program_arg_double(&f->p.launches[3], 0.1), ERR_OK);
    assert_int_equal(plan_of_program(&f->p, &f->blobs, &some, NULL), ERR_OK);
    assert_int_equal(some->launches[2].queue, 5);
    assert_int_equal(some->launches[2].n_after, 1);
    assert_int_equal(some->launches[2].after[0], 1);
    assert_int_equal(some->launches[1].after[0], 3);
    assert_int_equal(some->launches[0].n_after + some->launches[3].n_after + some->launches[3].queue, 0);
    assert_int_equal(some->launches[2].args[8].kind, EXEC_ARG_F64);
    assert_true(some->launches[2].args[8].real == 0.1);
    assert_int_equal(plan_of_launches(&f->p, &all, NULL), ERR_OK);
    assert_int_equal(all->n_launches, 5);
    assert_int_equal(all->launches[1].phase, EXEC_REFERENCE);
    assert_int_equal(all->launches[3].after[0], 2);
    assert_int_equal(all->loops[0].first, 2);
    assert_int_equal(exec_queues(all), 1 | 1 << 5);
    assert_int_equal(exec_count(all, EXEC_REFERENCE), 1);
    plan_free(some);
    plan_free(all);
}

static void missing_sources_and_contents_are_told(void **state)
{
    struct fixture *f = *state;
    struct exec_plan *plan = NULL;
    struct why why = {""};
    struct blobs none;
    blobs_init(&none, 100);
    assert_int_equal(plan_of_program(&f->p, &none, &plan, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "module 'm'"));
    assert_int_equal(blobs_put(&none, text, sizeof text - 1, NULL), ERR_OK);
    assert_int_equal(plan_of_program(&f->p, &none, &plan, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "table"));
    assert_null(plan);
    f->p.modules[0].lang = LANG_CLBIN;
    assert_int_equal(plan_of_program(&f->p, &f->blobs, &plan, &why), ERR_UNSUPPORTED);
    blobs_fini(&none);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(texts_of_all_kinds_are_cut_into_their_lines),
        TEST(scratch_buffers_have_slots_by_their_size),
        TEST(text_becomes_lines_that_end_in_newlines),
        TEST(references_are_left_out_and_loops_renumbered),
        TEST(fills_become_patterns_and_bytes),
        TEST(doubles_are_filled_by_their_bytes),
        TEST(fill_launches_carry_the_bytes_of_an_element),
        TEST(buffers_live_where_their_use_says),
        TEST(launches_run_in_order_with_their_loops),
        cmocka_unit_test(launches_behind_a_loop_are_in_no_turn_of_it),
        TEST(launches_keep_their_queues_and_waits),
        TEST(missing_sources_and_contents_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
