/* SPDX-License-Identifier: MIT */
/* The functions of a bundle as deploy writes them (api.c, api_cl.c, with NAME as its name), on an executor that only
 * notes what it is asked: ops opened once a plan, weights of another layer or of an earlier time refused, nothing left
 * behind. */
#include "exec/exec_cl.h"
#include "exec/exec_cl_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct NAME_tensor {
    const char *name;
    int role;
    size_t n_bytes;
};
struct NAME_layer {
    const char *name, *workload;
    const struct NAME_tensor *tensors;
    int n_tensors, i_plan;
};
struct NAME_weights;
enum { CAPS_N_LAYERS = 3, CAPS_INPUT = 0, CAPS_WEIGHT = 1, N_PLANS = 2, MAX_TENSORS = 4 };
#define EXECUTOR(name) exec_cl##name

static const struct exec_plan plans[N_PLANS] = {{.workload = "first"}, {.workload = "second"}};
static const struct NAME_tensor layer_tensors[] = {
    {"x", CAPS_INPUT, 4}, {"w", CAPS_WEIGHT, 8}, {"bias", CAPS_WEIGHT, 12}};
static const struct NAME_layer NAME_layers[CAPS_N_LAYERS] = {
    {"a", "first", layer_tensors, 3, 0}, {"b", "first", layer_tensors, 3, 0}, {"c", "second", layer_tensors, 3, 1}};
static const struct exec_device tunedon = {.fingerprint = "ab", .name = "card"};

const struct NAME_layer *NAME_find(const char *workload);
const char *NAME_words(void);
void NAME_fini(void);
void NAME_weights_free(struct NAME_weights *weights);
int NAME_devices(cl_device_id device, int most, cl_device_id *out);
int NAME_init(cl_context context, cl_device_id device);
int NAME_init_any(cl_context context, cl_device_id device);
int NAME_layer_pack(const struct NAME_layer *layer, cl_command_queue queue, const void *const *weights,
                    struct NAME_weights **out);
int NAME_layer_pack_buffers(const struct NAME_layer *layer, cl_command_queue queue, const cl_mem *weights,
                            struct NAME_weights **out);
int NAME_layer_run(const struct NAME_layer *layer, cl_command_queue queue, const cl_mem *tensors,
                   const struct NAME_weights *weights);

/* ---- the executor ---- */

static struct {
    int n_sessions, n_ops, n_weights, n_mems; /* that are there */
    int n_opened, n_packed, n_run;            /* so far */
    enum exec_status same, open, pack, run;   /* what the calls answer */
    const struct exec_plan *ran;
    char fingerprint[8];
    size_t mem_bytes[8];
} fake;

struct exec_cl {
    int i;
};
struct exec_cl_op {
    const struct exec_plan *plan;
};
struct exec_cl_weights {
    const struct exec_cl_op *op;
};

static enum exec_status exec_fail(struct exec_words *words, enum exec_status s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words->text, sizeof words->text, format, args);
    va_end(args);
    return s;
}

static int objects[4];

static void *object(int *n)
{
    ++*n;
    return &objects[0];
}

/* The calls that the parts of a bundle make, under other names than the real ones. */
#define exec_cl_same_device fake_same_device
#define exec_cl_open fake_open
#define exec_cl_close fake_close
#define exec_cl_op_open fake_op_open
#define exec_cl_op_close fake_op_close
#define exec_cl_pack fake_pack
#define exec_cl_run fake_run
#define exec_cl_weights_free fake_weights_free
#undef clGetCommandQueueInfo
#undef clCreateBuffer
#undef clReleaseMemObject
#define clGetCommandQueueInfo fake_queue_info
#define clCreateBuffer fake_create_buffer
#define clReleaseMemObject fake_release

static enum exec_status fake_same_device(cl_device_id device, const struct exec_device *tuned, struct exec_words *words)
{
    (void)device;
    assert_string_equal(tuned->name, "card");
    return fake.same == EXEC_OK ? EXEC_OK : exec_fail(words, fake.same, "another one");
}

static enum exec_status fake_open(cl_context context, cl_device_id device, const char *fingerprint,
                                  struct exec_words *words, struct exec_cl **out)
{
    (void)context;
    (void)device;
    (void)words;
    (void)snprintf(fake.fingerprint, sizeof fake.fingerprint, "%s", fingerprint);
    if (fake.open == EXEC_OK)
        *out = object(&fake.n_sessions);
    return fake.open;
}

static void fake_close(struct exec_cl *s)
{
    fake.n_sessions -= s != NULL;
}

static enum exec_status fake_op_open(struct exec_cl *s, const struct exec_plan *plan, struct exec_words *words,
                                     struct exec_cl_op **out)
{
    (void)words;
    assert_non_null(s);
    fake.n_ops++;
    fake.n_opened++;
    *out = malloc(sizeof **out);
    (*out)->plan = plan;
    return EXEC_OK;
}

static void fake_op_close(struct exec_cl_op *op)
{
    fake.n_ops -= op != NULL;
    free(op);
}

static enum exec_status fake_pack(struct exec_cl_op *op, cl_command_queue queue, const cl_mem *weights,
                                  struct exec_words *words, struct exec_cl_weights **out)
{
    (void)queue;
    (void)words;
    assert_non_null(weights);
    fake.n_packed++;
    if (fake.pack != EXEC_OK)
        return fake.pack;
    fake.n_weights++;
    *out = malloc(sizeof **out);
    (*out)->op = op;
    return EXEC_OK;
}

static enum exec_status fake_run(struct exec_cl_op *op, cl_command_queue queue, const cl_mem *mems,
                                 const struct exec_cl_weights *weights, struct exec_words *words)
{
    (void)queue;
    (void)mems;
    (void)words;
    assert_ptr_equal(weights->op, op);
    fake.n_run++;
    fake.ran = op->plan;
    return fake.run;
}

static void fake_weights_free(struct exec_cl_weights *w)
{
    fake.n_weights -= w != NULL;
    free(w);
}

static cl_int fake_queue_info(cl_command_queue queue, cl_command_queue_info what, size_t size, void *out, size_t *n_out)
{
    const cl_context context = (cl_context)(void *)&objects[1];

    (void)queue;
    (void)what;
    (void)n_out;
    memcpy(out, &context, size);
    return CL_SUCCESS;
}

static cl_mem fake_create_buffer(cl_context context, cl_mem_flags flags, size_t n, void *host, cl_int *code)
{
    assert_ptr_equal((void *)context, &objects[1]);
    assert_true((flags & CL_MEM_COPY_HOST_PTR) != 0 && host != NULL);
    fake.mem_bytes[fake.n_mems] = n;
    *code = CL_SUCCESS;
    return object(&fake.n_mems);
}

static cl_int fake_release(cl_mem m)
{
    (void)m;
    fake.n_mems--;
    return CL_SUCCESS;
}

#include "libtune/bundle/api.c"
#include "libtune/bundle/api_cl.c"

/* ---- tests ---- */

static const cl_context a_context = (cl_context)(void *)&objects[1];
static const cl_device_id a_device = (cl_device_id)(void *)&objects[2];
static const cl_command_queue a_queue = (cl_command_queue)(void *)&objects[3];
static const cl_mem mems[MAX_TENSORS];
static const struct NAME_layer *const a = &NAME_layers[0], *const b = &NAME_layers[1], *const c = &NAME_layers[2];

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    return 0;
}

static int nothing_is_left(void **state)
{
    (void)state;
    NAME_fini();
    NAME_fini(); /* harmless */
    return fake.n_sessions | fake.n_ops | fake.n_weights | fake.n_mems;
}

static void words_contain(const char *part)
{
    if (!strstr(NAME_words(), part))
        fail_msg("'%s', expected '%s'", NAME_words(), part);
}

static struct NAME_weights *packed(const struct NAME_layer *layer)
{
    struct NAME_weights *w = NULL;

    assert_int_equal(NAME_layer_pack_buffers(layer, a_queue, mems, &w), EXEC_OK);
    return w;
}

static void layers_are_found_by_workload(void **state)
{
    (void)state;
    assert_ptr_equal(NAME_find("first"), a); /* the first of equal ones */
    assert_ptr_equal(NAME_find("second"), c);
    assert_null(NAME_find("third"));
    assert_null(NAME_find(NULL));
}

static void only_the_device_that_was_tuned_on_is_taken_unless_any_is(void **state)
{
    (void)state;
    fake.same = EXEC_OTHER_DEVICE;
    assert_int_equal(NAME_init(a_context, a_device), EXEC_OTHER_DEVICE);
    words_contain("another one");
    assert_int_equal(fake.n_sessions, 0);
    assert_int_equal(NAME_init_any(a_context, a_device), EXEC_OK);
    words_contain("another one");              /* the difference is told */
    assert_string_equal(fake.fingerprint, ""); /* and no binary is taken */
    NAME_fini();
    fake.same = EXEC_OK;
    assert_int_equal(NAME_init(a_context, a_device), EXEC_OK);
    assert_string_equal(NAME_words(), "");
    assert_string_equal(fake.fingerprint, "ab");
    assert_int_equal(NAME_init(a_context, a_device), EXEC_BAD_ARGUMENT);
    words_contain("is open already");
    assert_int_equal(fake.n_sessions, 1);
    NAME_fini();
    assert_int_equal(NAME_init(NULL, a_device), EXEC_BAD_ARGUMENT);
    assert_int_equal(NAME_init(a_context, NULL), EXEC_BAD_ARGUMENT);
}

static void equal_layers_share_an_op(void **state)
{
    struct NAME_weights *wa, *wb, *wc;

    (void)state;
    assert_int_equal(NAME_init(a_context, a_device), EXEC_OK);
    assert_int_equal(fake.n_opened, 0); /* built when they are first asked for */
    wa = packed(a);
    wb = packed(b);
    assert_int_equal(fake.n_opened, 1);
    wc = packed(c);
    assert_int_equal(fake.n_opened, 2);
    assert_int_equal(NAME_layer_run(a, a_queue, mems, wa), EXEC_OK);
    assert_ptr_equal(fake.ran, &plans[0]);
    assert_int_equal(NAME_layer_run(c, a_queue, mems, wc), EXEC_OK);
    assert_ptr_equal(fake.ran, &plans[1]);
    assert_int_equal(NAME_layer_run(a, a_queue, mems, wb), EXEC_OK); /* of one plan weights may be exchanged */
    assert_int_equal(fake.n_opened, 2);
    NAME_weights_free(wa);
    NAME_weights_free(wb);
    NAME_weights_free(wc);
    NAME_weights_free(NULL);
}

static void weights_are_of_the_layer_and_of_this_time(void **state)
{
    struct NAME_weights *w;

    (void)state;
    assert_int_equal(NAME_init(a_context, a_device), EXEC_OK);
    w = packed(a);
    assert_int_equal(NAME_layer_run(c, a_queue, mems, w), EXEC_NOT_PACKED);
    words_contain("c: expected weights that NAME_c_pack gave");
    assert_int_equal(NAME_layer_run(a, a_queue, mems, NULL), EXEC_NOT_PACKED);
    NAME_fini();
    assert_int_equal(NAME_layer_run(a, a_queue, mems, w), EXEC_BAD_ARGUMENT);
    words_contain("call NAME_init first");
    assert_int_equal(NAME_init(a_context, a_device), EXEC_OK);
    assert_int_equal(NAME_layer_run(a, a_queue, mems, w), EXEC_NOT_PACKED); /* of the time before */
    assert_int_equal(fake.n_run, 0);
    assert_int_equal(NAME_layer_run(NULL, a_queue, mems, w), EXEC_BAD_ARGUMENT);
    NAME_weights_free(w);
}

/* Each weight in a buffer of its size, in their order; none is kept. */
static void weights_come_from_host_memory(void **state)
{
    const char w[8] = "w", bias[12] = "b";
    const void *both[] = {w, bias}, *one[] = {w, NULL};
    struct NAME_weights *out = NULL;

    (void)state;
    assert_int_equal(NAME_init(a_context, a_device), EXEC_OK);
    assert_int_equal(NAME_layer_pack(a, a_queue, both, &out), EXEC_OK);
    assert_true(fake.mem_bytes[0] == 8 && fake.mem_bytes[1] == 12);
    assert_int_equal(fake.n_mems, 0);
    NAME_weights_free(out);
    out = NULL;
    assert_int_equal(NAME_layer_pack(a, a_queue, one, &out), EXEC_BAD_ARGUMENT);
    words_contain("a: weight bias is NULL");
    assert_int_equal(NAME_layer_pack(a, a_queue, NULL, &out), EXEC_BAD_ARGUMENT);
    assert_int_equal(NAME_layer_pack(a, NULL, both, &out), EXEC_BAD_ARGUMENT);
    assert_int_equal(NAME_layer_pack(NULL, a_queue, both, &out), EXEC_BAD_ARGUMENT);
    assert_int_equal(NAME_layer_pack(a, a_queue, both, NULL), EXEC_BAD_ARGUMENT);
    fake.pack = EXEC_DEVICE_FAILED;
    assert_int_equal(NAME_layer_pack(a, a_queue, both, &out), EXEC_DEVICE_FAILED);
    assert_null(out);
    assert_int_equal(fake.n_packed, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, nothing_is_left)
    const struct CMUnitTest tests[] = {
        TEST(layers_are_found_by_workload),  TEST(only_the_device_that_was_tuned_on_is_taken_unless_any_is),
        TEST(equal_layers_share_an_op),      TEST(weights_are_of_the_layer_and_of_this_time),
        TEST(weights_come_from_host_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
