/* SPDX-License-Identifier: MIT */
/* Configs that spaces have since TVM's were read into them (vectors of pixels, tiles of three, one feature of int8 at a
 * time, ..) compute what they should. Given as TVM's entities, so that the reading is part of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/knobs/tvm.h"
#include "tests/kernels/run_device.h"

static struct devices_under_test under;

#define PACK "conv2d_nchw_spatial_pack.mali"
#define PACKED(co, oh, ow, order, reduce, spatial)                                                                     \
    "[[\"tile_co\",\"sp\"," co "],[\"tile_oh\",\"sp\"," oh "],[\"tile_ow\",\"sp\"," ow                                 \
    "],[\"reorder_0\",\"re\",[0,1,2,3,4,5,6," order "]],[\"ann_reduce\",\"an\"," reduce                                \
    "],[\"ann_spatial\",\"an\"," spatial "]]"
#define HWC "7,8,9"
#define CHW "9,7,8"
#define UU "[\"unroll\",\"unroll\"]"
#define NN "[\"none\",\"none\"]"

static const struct {
    const char *task, *workload, *entities;
    const char *from, *to; /* a change of the kernel that must be found; or NULL */
} cases[] = {
    {PACK, "conv2d f32 n=1 c=5 h=9 w=16 k=6 r=3 s=3 pad=1",
     PACKED("[-1,2,1]", "[-1,3,3]", "[-1,1,8]", HWC, UU, "[\"unroll\",\"vec\",\"unroll\"]"),
     "return VLOAD(a + AT(r, s, o, 0))", "return VLOAD(a + AT(r, 0, o, 0))"},
    {PACK, "conv2d f32 n=2 c=5 h=9 w=16 k=6 r=3 s=3 pad=1",
     PACKED("[-1,1,3]", "[-1,1,3]", "[-1,2,4]", CHW, NN, "[\"none\",\"vec\",\"none\"]"), "to[(LANE_I(o, lane)",
     "to[(0 * LANE_I(o, lane)"},
    {PACK, "conv2d f32 n=1 c=4 h=16 w=17 k=6 r=3 s=3 stride=2 pad=1",
     PACKED("[-1,2,3]", "[-1,1,4]", "[-1,3,1]", CHW, UU, "[\"vec\",\"none\",\"unroll\"]"),
     "LANE_I(o, v), LANE_J(o, v))", "0, LANE_J(o, v))"},
    {PACK, "conv2d f32 n=1 c=4 h=17 w=16 k=4 r=3 s=3 stride=2 pad=1",
     PACKED("[-1,1,2]", "[-1,1,3]", "[-1,2,4]", HWC, NN, "[\"unroll\",\"vec\",\"unroll\"]"), NULL, NULL},
    {PACK, "conv2d f32 n=1 c=4 h=12 w=12 k=4 r=3 s=3 dilation=2 pad=2",
     PACKED("[-1,1,2]", "[-1,1,2]", "[-1,1,4]", HWC, UU, "[\"none\",\"vec\",\"none\"]"), NULL, NULL},
    {PACK, "conv2d f32 n=1 c=4 h=12 w=12 k=4 r=3 s=3 dilation=2 pad=2",
     PACKED("[-1,1,2]", "[-1,1,4]", "[-1,1,2]", HWC, UU, "[\"vec\",\"unroll\",\"none\"]"), NULL, NULL},
    {PACK, "conv2d f32 n=1 c=7 h=5 w=35 k=9 r=1 s=1",
     PACKED("[-1,3,3]", "[-1,5,1]", "[-1,7,5]", HWC, NN, "[\"unroll\",\"unroll\",\"unroll\"]"), NULL, NULL},
    {PACK, "conv2d i8 n=1 c=5 h=9 w=16 k=6 r=3 s=3 pad=1",
     PACKED("[-1,2,1]", "[-1,3,3]", "[-1,1,8]", HWC, UU, "[\"unroll\",\"vec\",\"unroll\"]"), NULL, NULL},
    {PACK, "conv2d f16 n=1 c=5 h=9 w=16 k=6 r=3 s=3 pad=1",
     PACKED("[-1,2,1]", "[-1,3,3]", "[-1,1,8]", HWC, UU, "[\"unroll\",\"vec\",\"unroll\"]"), NULL, NULL},
    {"dense_int8.cuda", "dense i8 m=3 n=20 k=64",
     "[[\"tile_y\",\"sp\",[-1,1,3,1]],[\"tile_x\",\"sp\",[-1,1,10,1]],[\"tile_k\",\"sp\",[-1,2]],"
     "[\"auto_unroll_max_step\",\"ot\",0]]",
     "w[W_AT(k, c * 4 + j, r, s)]", "w[W_AT(k, c * 4 + 3 - j, r, s)]"},
    {"dense_int8.cuda", "dense i8 m=4 n=24 k=36",
     "[[\"tile_y\",\"sp\",[-1,2,1,2]],[\"tile_x\",\"sp\",[-1,2,3,2]],[\"tile_k\",\"sp\",[-1,3]],"
     "[\"auto_unroll_max_step\",\"ot\",1500]]",
     NULL, NULL},
    {"depthwise_conv2d_nchw.mali", "depthwise_conv2d f32 n=1 c=8 h=64 w=8 r=3 s=3 pad=1",
     "[[\"tile_c\",\"sp\",[-1,2,4]],[\"tile_y\",\"sp\",[-1,1,64]],[\"tile_x\",\"sp\",[-1,2,4]],"
     "[\"ann_spatial\",\"an\",[\"vec\",\"none\",\"unroll\"]]]",
     NULL, NULL},
    {"conv2d_nchw_winograd.mali", "conv2d f32 n=1 c=6 h=8 w=8 k=42 r=3 s=3 pad=1",
     "[[\"tile_bna\",\"ot\",2],[\"tile_bnb\",\"ot\",4],[\"tile_t1\",\"sp\",[-1,3]],[\"tile_t2\",\"sp\",[-1,21]],"
     "[\"c_unroll\",\"sp\",[-1,6]],[\"yt\",\"ot\",4]]",
     NULL, NULL},
    {"conv2d_nchw_winograd.mali", "conv2d f16 n=1 c=96 h=8 w=8 k=4 r=3 s=3 pad=1 acc=f16",
     "[[\"tile_bna\",\"ot\",2],[\"tile_bnb\",\"ot\",4],[\"tile_t1\",\"sp\",[-1,3]],[\"tile_t2\",\"sp\",[-1,4]],"
     "[\"c_unroll\",\"sp\",[-1,6]],[\"yt\",\"ot\",2]]",
     NULL, NULL},
    {"conv2d_nchw_winograd.cuda", "conv2d f32 n=1 c=10 h=24 w=24 k=48 r=3 s=3 pad=1",
     "[[\"tile_b\",\"sp\",[-1,1,1,1]],[\"tile_y\",\"sp\",[-1,1,3,16]],[\"tile_x\",\"sp\",[-1,3,6,1]],"
     "[\"tile_rc\",\"sp\",[-1,5]],[\"auto_unroll_max_step\",\"ot\",128],[\"unroll_explicit\",\"ot\",1]]",
     NULL, NULL},
    {"conv2d_nchw.cuda", "conv2d f32 n=1 c=90 h=1 w=8 k=20 r=1 s=1",
     "[[\"tile_f\",\"sp\",[-1,1,4,1]],[\"tile_y\",\"sp\",[-1,1,1,1]],[\"tile_x\",\"sp\",[-1,1,8,1]],"
     "[\"tile_rc\",\"sp\",[-1,90]],[\"tile_ry\",\"sp\",[-1,1]],[\"tile_rx\",\"sp\",[-1,1]],"
     "[\"auto_unroll_max_step\",\"ot\",1500],[\"unroll_explicit\",\"ot\",0]]",
     NULL, NULL},
    {"batch_matmul.cuda", "batch_gemm f32 b=2 m=36 n=66 k=66",
     "[[\"tile_y\",\"sp\",[-1,1,18]],[\"tile_x\",\"sp\",[-1,66,1]],[\"tile_k\",\"sp\",[-1,66]],"
     "[\"auto_unroll_max_step\",\"ot\",64],[\"unroll_explicit\",\"ot\",1]]",
     NULL, NULL},
    {"dense.mali", "dense f32 m=2 n=48 k=112",
     "[[\"tile_y\",\"sp\",[-1,1,2]],[\"tile_x\",\"sp\",[-1,3,4]],[\"c_unroll\",\"sp\",[-1,56]]]", NULL, NULL},
};

/* The device that is there, said to be what its spaces are widest for. */
static struct device_desc describe(int i_device, const char *task)
{
    struct device_desc d = *under.ops->describe(under.list[i_device]);

    d.kind = strstr(task, ".mali") ? DEVICE_MALI : DEVICE_GPU;
    return d;
}

static enum err run_case(size_t i, int i_device, bool broken, struct why *why)
{
    const struct tvm_task *task = tvm_task_find(cases[i].task);
    const struct template *t = tvm_task_template(task);
    const struct device_desc d = describe(i_device, cases[i].task);
    cJSON *entities = cJSON_Parse(cases[i].entities), *knobs = NULL;
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    enum err e;

    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(workload_parse(cases[i].workload, &w, why), ERR_OK);
    if (tvm_knobs(task, &w, &d, entities, &knobs, why))
        fail_msg("%s | %s: %s", cases[i].task, cases[i].workload, why->text);
    assert_int_equal(template_space(t, &w, &d, &s, why), ERR_OK);
    assert_int_equal(space_config_from_json(s, knobs, &c, why), ERR_OK);
    assert_int_equal(template_program(t, &w, &d, s, &c, &p, &blobs, why), ERR_OK);
    if (broken)
        assert_true(patch_source(&p, &blobs, cases[i].from, cases[i].to));
    e = load_and_verify(under.ops, under.list[i_device], &p, &blobs, why);
    program_fini(&p);
    blobs_fini(&blobs);
    space_free(s);
    cJSON_Delete(knobs);
    cJSON_Delete(entities);
    return e;
}

/* Of several devices each case meets one; sums in half need one that has them. */
static int device_for(size_t i)
{
    const bool half = strstr(cases[i].workload, "acc=f16") != NULL;

    for (int n = 0; n < under.n; n++) {
        const int at = ((int)i + n) % under.n;

        if (!half || under.ops->describe(under.list[at])->fp16)
            return at;
    }
    return -1;
}

static void configs_read_from_tvm_are_right(void **state)
{
    int n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};

        if (device_for(i) < 0)
            continue;
        if (run_case(i, device_for(i), false, &why))
            fail_msg("%s | %s: %s", cases[i].task, cases[i].workload, why.text);
        n++;
    }
    printf("%d configs\n", n);
}

static void a_wrong_lane_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};

        if (cases[i].from && run_case(i, device_for(i), true, &why) != ERR_WRONG)
            fail_msg("%s | %s: %s is not found: %s", cases[i].task, cases[i].workload, cases[i].to, why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configs_read_from_tvm_are_right),
        cmocka_unit_test(a_wrong_lane_is_found),
    };
    int failed;

    if (!open_devices(BACKEND, &under))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_devices(&under);
    return failed;
}
