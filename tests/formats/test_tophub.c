/* SPDX-License-Identifier: MIT */
/* AutoTVM's records as ours and back. Every parsed TopHub record under ${TUNE_TEST_DATA}/tophub goes through as TVM's
 * own line: it must be a valid config of our template's space with the knobs that were found for it by hand, TVM's
 * index must come out equal, and the line that is written must say the same. */
#include "formats/knobs/tvm.h"
#include "tests/formats/tophub.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/formats/reading.h"

static void write_line(const struct record *r, struct buf *out)
{
    struct foreign_row row;
    struct why why = {""};

    if (map_of("autotvm")->from_record(r, &row, &why))
        fail_msg("%s: %s", r->workload, why.text);
    assert_int_equal(foreign_find("autotvm")->write(&row, 1, out, NULL), ERR_OK);
    foreign_row_fini(&row);
}

/* The names under which the data has our knobs; others are the same. */
static const char *our_name(const char *template_id, const char *theirs)
{
    static const char *const names[][2] = {{"co_r", "vc"}, {"oh_r", "vh"}, {"ow_r", "vw"}, {"inner_order", "chw"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(template_id, "conv2d/spatial_pack") == 0 && strcmp(names[i][0], theirs) == 0)
            return names[i][1];
    return theirs;
}

/* A value of the data as our number: words of loops, orders of three. */
static double our_value(const cJSON *v)
{
    static const char *const words[][2] = {{"none", "0"}, {"unroll", "1"}, {"vec", "2"}, {"hwc", "0"}, {"chw", "1"}};

    for (size_t i = 0; cJSON_IsString(v) && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(v->valuestring, words[i][0]) == 0)
            return atof(words[i][1]);
    if (cJSON_IsArray(v))
        return 2 * cJSON_GetArrayItem(v, 0)->valuedouble +
               (cJSON_GetArrayItem(v, 1)->valuedouble > cJSON_GetArrayItem(v, 2)->valuedouble);
    return v->valuedouble;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Of several values that come to the same kernel our spaces have one; that the other one does is worked out here anew,
 * from the loops' lengths. `knobs` is ours. */
static double number_of(const cJSON *knobs, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(knobs, name);

    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static bool loop_is_one(const cJSON *knobs, const cJSON *workload, const char *name)
{
    static const char *const loops[][2] = {{"ann_vh", "vh"}, {"ann_vw", "vw"}, {"ann_vc", "vc"},
                                           {"ann_c", "c_r"}, {"ann_y", "y_r"}, {"ann_x", "x_r"}};
    const bool rows = strcmp(name, "unroll_kh") == 0, columns = strcmp(name, "unroll_kw") == 0;

    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
        if (strcmp(name, loops[i][0]) == 0)
            return number_of(knobs, loops[i][1]) == 1;
    if (rows || columns)
        return number_of(workload, rows ? "R" : "S") == 1;
    return strcmp(name, "chw") == 0 && (number_of(knobs, "vc") == 1 || number_of(knobs, "ann_vc") == 2);
}

struct counts {
    size_t n, equal, settled, by_device[4];
};

/* Passes of the staged loops over c, r and s; 1 each where the form stages all at once. */
static double passes(const cJSON *record, const cJSON *knobs, const char *size, const char *staged)
{
    const cJSON *workload = cJSON_GetObjectItem(record, "workload");
    const bool channels = strcmp(size, "C") == 0, fours = strstr(tophub_text(record, "tvm_template"), "NCHWc") != NULL;
    const double n = number_of(workload, size) / (channels ? number_of(workload, "groups") * (fours ? 4 : 1) : 1);

    return n / number_of(knobs, staged);
}

static bool order_is_free(const cJSON *record, const cJSON *knobs)
{
    return passes(record, knobs, "C", "rc_i") == 1 || passes(record, knobs, "R", "ry_i") == 1 ||
           passes(record, knobs, "S", "rx_i") == 1;
}

static bool is_one_stage(const cJSON *record, const cJSON *knobs)
{
    if (isnan(number_of(knobs, "ry_i"))) /* a matrix: only channels are staged */
        return true;
    return passes(record, knobs, "C", "rc_i") == 1 && passes(record, knobs, "R", "ry_i") == 1 &&
           passes(record, knobs, "S", "rx_i") == 1;
}

/* Steps that a limit unrolls of batch_gemm's loop over k: the power of two that fits, or all of them explicitly. */
static double batch_steps(const cJSON *knobs, double limit)
{
    const double tile = number_of(knobs, "m_r") * number_of(knobs, "n_r");
    double steps = 1;

    while (2 * steps * tile <= limit && 2 * steps <= number_of(knobs, "k_i"))
        steps *= 2;
    return steps;
}

/* Do two values of unroll_step make the same loops? `body` is what lies in them. */
static bool unrolls_alike(const struct record *r, double body, double ours, double theirs)
{
    if (strcmp(r->template_id, "batch_gemm/tiled") == 0)
        return number_of(r->knobs, "unroll_explicit") == 1
                   ? body <= theirs
                   : batch_steps(r->knobs, ours) == batch_steps(r->knobs, theirs);
    return (ours > 0 && body <= ours) == (theirs > 0 && body <= theirs) ||
           (strcmp(r->template_id, "conv2d/winograd_shared") == 0 && number_of(r->knobs, "rc_i") == 1);
}

static double quantity_of(const struct record *r, const char *name)
{
    struct device_desc d;
    struct workload w;
    struct space *s = NULL;
    struct config c;
    double v = 0;

    assert_int_equal(device_desc_from_json(r->device, &d, NULL), ERR_OK);
    assert_int_equal(workload_parse(r->workload, &w, NULL), ERR_OK);
    assert_int_equal(template_space(template_find(r->template_id), &w, &d, &s, NULL), ERR_OK);
    assert_int_equal(space_config_from_json(s, r->knobs, &c, NULL), ERR_OK);
    assert_int_equal(space_eval(s, &c, name, &v), ERR_OK);
    space_free(s);
    return v;
}

static bool comes_to_the_same(const cJSON *record, const struct record *r, const char *name, double ours, double theirs)
{
    if (begins(name, "ann_") || begins(name, "unroll_k") || strcmp(name, "chw") == 0)
        return ours == 0 && loop_is_one(r->knobs, cJSON_GetObjectItem(record, "workload"), name);
    if (strcmp(name, "unroll_step") == 0)
        return unrolls_alike(r, quantity_of(r, "body"), ours, theirs);
    if (strcmp(name, "unroll_explicit") == 0) /* of batch_gemm: no loop is within the limit */
        return ours == 0 && quantity_of(r, "body") > number_of(cJSON_GetObjectItem(record, "knobs"), "unroll_step");
    if (strcmp(name, "order") == 0)
        return order_is_free(record, r->knobs);
    return begins(name, "dbuf_") && ours == 0 && is_one_stage(record, r->knobs);
}

static void check_knobs(const cJSON *record, const struct record *r, struct counts *c)
{
    const cJSON *v;
    bool settled = false;

    cJSON_ArrayForEach(v, cJSON_GetObjectItem(record, "knobs"))
    {
        const char *name = our_name(r->template_id, v->string);
        const double ours = number_of(r->knobs, name), theirs = our_value(v);

        if (isnan(ours) || ours == theirs) /* none of ours, or a constant of the form that the reader compares */
            continue;
        if (!comes_to_the_same(record, r, name, ours, theirs))
            fail_msg("%s: %s=%g, the data says %g", r->workload, name, ours, theirs);
        settled = true;
    }
    c->equal += !settled;
    c->settled += settled;
}

static void check_is_valid(const struct record *r)
{
    struct device_desc d;
    struct workload w;
    struct space *s = NULL;
    struct config config;
    struct why why = {""};
    const char *violated = "";

    assert_int_equal(device_desc_from_json(r->device, &d, &why), ERR_OK);
    assert_int_equal(workload_parse(r->workload, &w, &why), ERR_OK);
    assert_int_equal(template_space(template_find(r->template_id), &w, &d, &s, &why), ERR_OK);
    if (space_config_from_json(s, r->knobs, &config, &why) || !space_is_valid(s, &config, &violated))
        fail_msg("%s: %s%s", r->workload, why.text, violated);
    space_free(s);
}

static void check_index(const cJSON *record, const cJSON *entities)
{
    const struct tvm_task *t = tvm_task_find(tophub_text(record, "tvm_template"));
    struct buf text;
    struct workload w;
    struct why why = {""};
    uint64_t index = 0, size = 0;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    tophub_workload(record, &text);
    assert_int_equal(workload_parse(buf_text(&text), &w, &why), ERR_OK);
    if (tvm_index(t, &w, entities, &index, &size, &why) ||
        (double)index != cJSON_GetObjectItem(record, "tvm_index")->valuedouble ||
        (double)size != cJSON_GetObjectItem(record, "tvm_space_size")->valuedouble)
        fail_msg("%s: index %llu of %llu, recorded %.0f of %.0f %s", buf_text(&text), (unsigned long long)index,
                 (unsigned long long)size, cJSON_GetObjectItem(record, "tvm_index")->valuedouble,
                 cJSON_GetObjectItem(record, "tvm_space_size")->valuedouble, why.text);
    buf_fini(&text);
}

/* The two lines as JSON; numbers as they are. */
static void check_same_line(const char *before, const char *after)
{
    cJSON *a = cJSON_Parse(before), *b = cJSON_Parse(after);
    cJSON *cost_a = cJSON_GetArrayItem(cJSON_GetArrayItem(cJSON_GetObjectItem(a, "result"), 0), 0);
    cJSON *cost_b = cJSON_GetArrayItem(cJSON_GetArrayItem(cJSON_GetObjectItem(b, "result"), 0), 0);

    assert_true(fabs(cost_a->valuedouble - cost_b->valuedouble) <= 1e-12 * cost_a->valuedouble);
    cJSON_SetNumberValue(cost_b, cost_a->valuedouble); /* seconds -> ns -> seconds may move the last bit */
    if (!cJSON_Compare(a, b, true))
        fail_msg("not the same:\n%s\n%s", before, after);
    cJSON_Delete(a);
    cJSON_Delete(b);
}

/* The record without what it keeps of TVM's line: task, arguments and entities must come out of its own words. Of knobs
 * that ours has none for the entity may differ, and where one of several equal values was taken. */
static void check_made_anew(const cJSON *record, struct record *r, const cJSON *entities)
{
    struct buf line;
    cJSON *made;
    const cJSON *entity;
    struct reading again;

    cJSON_DeleteItemFromObject(r->device, "tvm");
    buf_init(&line, 1 << 20);
    write_line(r, &line);
    again = read_row("autotvm", buf_text(&line));
    assert_int_equal(again.e, ERR_OK);
    assert_string_equal(again.record.workload, r->workload);
    assert_true(cJSON_Compare(again.record.knobs, r->knobs, true));
    made = cJSON_Parse(buf_text(&line));
    cJSON_ArrayForEach(entity, cJSON_GetObjectItem(cJSON_GetObjectItem(made, "config"), "entity"))
    {
        const bool swapped = tophub_has_note(record, "ryrx_swapped");
        const char *name = cJSON_GetArrayItem(entity, 0)->valuestring;
        const cJSON *before;

        if (strcmp(cJSON_GetArrayItem(entity, 1)->valuestring, "sp") != 0)
            continue;
        if (swapped && strncmp(name, "tile_r", 6) == 0 && name[6] != 'c')
            name = name[6] == 'y' ? "tile_rx" : "tile_ry";
        cJSON_ArrayForEach(before, entities)
        {
            cJSON *a = cJSON_Duplicate(cJSON_GetArrayItem(before, 2), true);
            cJSON *b = cJSON_Duplicate(cJSON_GetArrayItem(entity, 2), true);

            if (strcmp(cJSON_GetArrayItem(before, 0)->valuestring, name) == 0) {
                assert_true(cJSON_GetArrayItem(b, 0)->valuedouble == -1);
                cJSON_SetNumberValue(cJSON_GetArrayItem(a, 0), -1);
                if (!cJSON_Compare(a, b, true))
                    fail_msg("%s: another %s", r->workload, name);
            }
            cJSON_Delete(a);
            cJSON_Delete(b);
        }
    }
    record_fini(&again.record);
    cJSON_Delete(made);
    buf_fini(&line);
}

/* The line as TVM before 0.7 wrote it: an operator, its template, and the layout among a convolution's arguments. */
static void as_version_01(const char *line, struct buf *out)
{
    static const char *const names[][3] = {{"group_conv2d_nchw.", "topi_nn_group_conv2d_nchw", "direct"},
                                           {"group_conv2d_NCHWc_int8.", "topi_nn_group_conv2d_nchw", "int8"},
                                           {"depthwise_conv2d_nchw.", "topi_nn_depthwise_conv2d_nchw", "direct"},
                                           {"deformable_conv2d_nchw.", "topi_nn_deformable_conv2d_nchw", "direct"},
                                           {"conv2d_nchw_winograd.", "topi_nn_conv2d", "winograd"},
                                           {"conv2d_nchw_spatial_pack.", "topi_nn_conv2d", "direct"},
                                           {"conv2d_nchw.", "topi_nn_conv2d", "direct"},
                                           {"conv2d_NCHWc_int8.", "topi_nn_conv2d", "int8"},
                                           {"dense_int8.", "topi_nn_dense", "int8"},
                                           {"dense.", "topi_nn_dense", "direct"},
                                           {"batch_matmul.", "topi_nn_batch_matmul", "direct"}};
    cJSON *now = cJSON_Parse(line), *input = cJSON_GetObjectItem(now, "input"),
          *config = cJSON_GetObjectItem(now, "config");
    cJSON *args = cJSON_GetArrayItem(input, 2);
    const char *task = cJSON_GetArrayItem(input, 1)->valuestring;
    char *result = cJSON_PrintUnformatted(cJSON_GetObjectItem(now, "result")), *entity, *all;
    size_t i = 0;

    while (i < sizeof names / sizeof names[0] && !begins(task, names[i][0]))
        i++;
    assert_true(i < sizeof names / sizeof names[0]);
    if (strcmp(names[i][1], "topi_nn_conv2d") == 0 && strcmp(names[i][2], "int8") != 0)
        cJSON_AddItemToArray(args, cJSON_CreateString("NCHW"));
    if (cJSON_GetArraySize(args) == 7 && strcmp(names[i][2], "int8") != 0 && strcmp(names[i][1], "topi_nn_conv2d") == 0)
        cJSON_AddItemToArray(args, cJSON_DetachItemFromArray(args, 5)); /* in front of the output's type */
    all = cJSON_PrintUnformatted(args);
    entity = cJSON_PrintUnformatted(cJSON_GetObjectItem(config, "entity"));
    buf_printf(out,
               "{\"i\": [\"%s\", \"%s\", %s, {}, [\"%s\"], {\"i\": 7, \"t\": \"%s\", \"c\": null, \"e\": %s}], \"r\": "
               "%s, \"v\": 0.1}",
               cJSON_GetArrayItem(input, 0)->valuestring, names[i][1], all, names[i][1], names[i][2], entity, result);
    cJSON_free(all);
    cJSON_free(entity);
    cJSON_free(result);
    cJSON_Delete(now);
}

static void check_version_01(const char *line, const struct record *r)
{
    struct buf old;
    struct reading again;

    buf_init(&old, 1 << 20);
    as_version_01(line, &old);
    again = read_row("autotvm", buf_text(&old));
    if (again.e)
        fail_msg("%s: %s", buf_text(&old), again.why.text);
    assert_string_equal(again.record.workload, r->workload);
    assert_string_equal(again.record.template_id, r->template_id);
    assert_true(cJSON_Compare(again.record.knobs, r->knobs, true));
    assert_true(fabs(again.record.time_ns - r->time_ns) <= 1e-12 * r->time_ns); /* printed anew: the last bit */
    record_fini(&again.record);
    buf_fini(&old);
}

static void check_record(const cJSON *record, void *arg)
{
    static const char *const devices[] = {"rk3399", "1080", "1080ti", "titanx"};
    struct counts *c = arg;
    cJSON *entities = tophub_entities(record);
    struct buf line, back, workload;
    struct reading r;

    buf_init(&line, 1 << 20);
    buf_init(&back, 1 << 20);
    buf_init(&workload, WORKLOAD_MAX_TEXT);
    tophub_line(record, &line);
    r = read_row("autotvm", buf_text(&line));
    if (r.e)
        fail_msg("%s: %s", buf_text(&line), r.why.text);
    check_knobs(record, &r.record, c);
    check_version_01(buf_text(&line), &r.record);
    check_is_valid(&r.record);
    check_index(record, entities);
    write_line(&r.record, &back);
    check_same_line(buf_text(&line), buf_text(&back));
    check_made_anew(record, &r.record, entities);
    c->n++;
    for (size_t i = 0; i < 4; i++)
        c->by_device[i] += strcmp(tophub_text(record, "device"), devices[i]) == 0;
    record_fini(&r.record);
    cJSON_Delete(entities);
    buf_fini(&line);
    buf_fini(&back);
    buf_fini(&workload);
}

static void every_tophub_record_is_a_config_of_ours(void **state)
{
    struct counts c = {0};

    (void)state;
    if (tophub_each(check_record, &c) == 0) {
        printf("skipped: TUNE_TEST_DATA names no directory with tophub/*.jsonl\n");
        skip();
    }
    printf("%zu TopHub records: %zu with equal knobs, %zu with knobs that come to the same; %zu rk3399, %zu 1080, "
           "%zu 1080ti, %zu titanx, %zu v100\n",
           c.n, c.equal, c.settled, c.by_device[0], c.by_device[1], c.by_device[2], c.by_device[3],
           c.n - c.by_device[0] - c.by_device[1] - c.by_device[2] - c.by_device[3]);
}

struct tiles {
    size_t n, same; /* records of one type; those whose tile of sums the default has */
};

static double in_default(const struct template *t, const struct workload *w, const struct device_desc *d,
                         const char *knob)
{
    struct space *s = NULL;
    struct config c;
    double v = 0;

    assert_int_equal(template_space(t, w, d, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(w, d, s, &c), ERR_OK);
    assert_int_equal(space_eval(s, &c, knob, &v), ERR_OK);
    space_free(s);
    return v;
}

static void compare_tile(const cJSON *record, void *arg)
{
    static const char *const knobs[] = {"vc", "vh", "vw"};
    struct tiles *all = arg, *of_type;
    struct buf line;
    struct reading r;
    struct device_desc d;
    struct workload w;
    bool same = true;

    if (strcmp(tophub_text(record, "template"), "conv2d_spatial_pack") != 0)
        return;
    buf_init(&line, 1 << 20);
    tophub_line(record, &line);
    r = read_row("autotvm", buf_text(&line));
    assert_int_equal(r.e, ERR_OK);
    assert_int_equal(device_desc_from_json(r.record.device, &d, NULL), ERR_OK);
    assert_int_equal(workload_parse(r.record.workload, &w, NULL), ERR_OK);
    for (size_t i = 0; i < 3; i++)
        same = same &&
               in_default(template_find(r.record.template_id), &w, &d, knobs[i]) == number_of(r.record.knobs, knobs[i]);
    of_type = &all[w.dtype == DTYPE_F16];
    of_type->n++;
    of_type->same += same;
    record_fini(&r.record);
    buf_fini(&line);
}

/* Of two thousand tiles and more the default has the recorded best's in more than half (f32) and two fifths (f16) of
 * the layers. */
static void malis_default_tile_is_mostly_the_recorded_one(void **state)
{
    struct tiles all[2] = {{0, 0}, {0, 0}};

    (void)state;
    if (tophub_each(compare_tile, all) == 0)
        skip();
    printf("default tiles as recorded: f32 %zu of %zu, f16 %zu of %zu\n", all[0].same, all[0].n, all[1].same, all[1].n);
    assert_true(all[0].n > 200 && all[1].n > 150);
    assert_true(2 * all[0].same > all[0].n);
    assert_true(5 * all[1].same > 2 * all[1].n);
}

/* Lines of 2018: no dilation among a convolution's arguments, no bias or type among dense's. */
static void arguments_that_came_later_may_lack(void **state)
{
    static const struct {
        const char *line, *workload;
    } lines[] = {
        {"{\"i\": [\"cuda -model=1080\", \"topi_nn_conv2d\", [[\"TENSOR\", [1, 64, 56, 56], \"float32\"], [\"TENSOR\", "
         "[64, 64, "
         "1, 1], \"float32\"], [1, 1], [0, 0], \"NCHW\", \"float32\"], {}, [], {\"i\": 3, \"t\": \"direct\", \"c\": "
         "null, \"e\": "
         "[[\"tile_f\", \"sp\", [8, 1, 8, 1]], [\"tile_y\", \"sp\", [8, 1, 7, 1]], [\"tile_x\", \"sp\", [7, 1, 8, 1]], "
         "[\"tile_rc\", "
         "\"sp\", [16, 4]], [\"tile_ry\", \"sp\", [1, 1]], [\"tile_rx\", \"sp\", [1, 1]], [\"auto_unroll_max_step\", "
         "\"ot\", 0], "
         "[\"unroll_explicit\", \"ot\", 0]]}], \"r\": [[1e-05], 0, 1.5, 1540000000], \"v\": 0.1}",
         "conv2d f32 n=1 c=64 h=56 w=56 k=64 r=1 s=1 acc=f32"},
        {"{\"i\": [\"opencl -device=mali -model=rk3399\", \"topi_nn_dense\", [[\"TENSOR\", [1, 512], \"float32\"], "
         "[\"TENSOR\", "
         "[1000, 512], \"float32\"]], {}, [], {\"i\": 3, \"t\": \"direct\", \"c\": null, \"e\": [[\"tile_y\", \"sp\", "
         "[1, 1, 1]], "
         "[\"tile_x\", \"sp\", [40, 25, 1]], [\"c_unroll\", \"sp\", [32, 16]]]}], \"r\": [[1e-03], 0, 1.5, "
         "1540000000], \"v\": 0.1}",
         "dense f32 m=1 n=1000 k=512"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct reading r = read_row("autotvm", lines[i].line);
        struct workload found, wanted;

        if (r.e)
            fail_msg("%s", r.why.text);
        assert_int_equal(workload_parse(r.record.workload, &found, NULL), ERR_OK);
        assert_int_equal(workload_parse(lines[i].workload, &wanted, NULL), ERR_OK);
        assert_memory_equal(found.key, wanted.key, sizeof found.key);
        record_fini(&r.record);
    }
}

#define MALI "opencl -device=mali -model=rk3399"
#define LINE(target, task, args, entity, result)                                                                       \
    "{\"input\":[\"" target "\",\"" task "\"," args                                                                    \
    ",{}],\"config\":{\"index\":0,\"code_hash\":null,\"entity\":[" entity "]},\"result\":" result                      \
    ",\"version\":0.2,\"tvm_version\":\"0.9.0\"}"
#define CUDA "cuda -model=1080"
#define OK "[[0.001],0,1.0,2.0]"
#define DENSE "[[\"TENSOR\",[1,64],\"float32\"],[\"TENSOR\",[48,64],\"float32\"],null,\"float32\"]"
#define CONV_I8(steps) "[[\"TENSOR\",[1,8,9,9],\"int8\"],[\"TENSOR\",[8,8,3,3],\"int8\"]," steps ",\"int32\"]"
#define SPLIT_Y "[\"tile_y\",\"sp\",[-1,1,1]]"
#define SPLIT_X "[\"tile_x\",\"sp\",[-1,4,4]]"
#define UNROLL_C "[\"c_unroll\",\"sp\",[-1,8]]"
#define KNOBS SPLIT_Y "," SPLIT_X "," UNROLL_C

static const struct {
    const char *line, *words;
} refused[] = {
    {LINE(MALI, "conv3d_ncdhw.cuda", DENSE, KNOBS, OK), "conv3d_ncdhw.cuda: no template"},
    {LINE("llvm -mcpu=x", "dense.mali", DENSE, KNOBS, OK), "target \"llvm -mcpu=x\""},
    {LINE("", "dense.mali", DENSE, KNOBS, OK), "target \"\""},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1,64],\"float32\"]]", KNOBS, OK), "with 1 arguments: expected 4"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," SPLIT_X ",[\"c_unroll\",\"zz\",[-1,8]]", OK), "unknown kind \"zz\""},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," SPLIT_X ",[\"c_unroll\",\"ot\",8]", OK), "expected sp"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," SPLIT_X, OK), "without entity c_unroll"},
    {LINE(MALI, "dense.mali", DENSE, KNOBS "," UNROLL_C, OK), "c_unroll twice"},
    {LINE(MALI, "dense.mali", DENSE, KNOBS ",[\"tile_z\",\"sp\",[1]]", OK), "no knob tile_z"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," UNROLL_C ",[\"tile_x\",\"sp\",[-1,5,4]]", OK), "does not split 48"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," UNROLL_C ",[\"tile_x\",\"sp\",[4,4,4]]", OK), "does not split 48"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," UNROLL_C ",[\"tile_x\",\"sp\",[-1,4]]", OK), "does not split 48"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," UNROLL_C ",[\"tile_x\",\"sp\",[-1,-4,-4]]", OK), "does not split 48"},
    {LINE(MALI, "dense.mali", DENSE, SPLIT_Y "," UNROLL_C ",[\"tile_x\",\"sp\",\"x\"]", OK), "does not split 48"},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1,64],\"uint8\"],[\"TENSOR\",[48,64],\"uint8\"],null,\"int32\"]", KNOBS,
          OK),
     "dtype uint8"},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1,64],\"float16\"],[\"TENSOR\",[48,64],\"float16\"],null,\"float32\"]",
          KNOBS, OK),
     "an output of float32"},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1,64],\"float32\"],[\"TENSOR\",[48,32],\"float32\"],null,\"float32\"]",
          KNOBS, OK),
     "terms differ"},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1e300,64],\"float32\"],[\"TENSOR\",[48,64],\"float32\"],null,\"float32\"]",
          KNOBS, OK),
     "argument 1 of 4: expected whole sizes"},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1,64],\"float32\"],0,null,\"float32\"]", KNOBS, OK),
     "argument 2 of 4: expected"},
    {LINE(CUDA, "conv2d_NCHWc_int8.cuda", CONV_I8("[1,1],[0,0],[1,1],\"NHWC\""), KNOBS, OK),
     "argument 6 of 7: tune computes NCHW only"},
    {LINE(CUDA, "conv2d_NCHWc_int8.cuda", CONV_I8("[1,1],[0,0,0],[1,1],\"NCHW\""), KNOBS, OK),
     "argument 4 of 7: expected a padding of 1, 2 or 4 numbers"},
    {LINE(CUDA, "conv2d_NCHWc_int8.cuda", CONV_I8("[1,1,1],[0,0],[1,1],\"NCHW\""), KNOBS, OK),
     "argument 3 of 7: expected"},
    {LINE(MALI, "dense.mali", "[[\"TENSOR\",[1,64,1,1,1,1,1,1],\"float32\"],0,null,\"float32\"]", KNOBS, OK), "sizes"},
};

static void what_has_no_words_here_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct reading r = read_row("autotvm", refused[i].line);

        if (r.e == ERR_OK || !strstr(r.why.text, refused[i].words) || strchr(r.why.text, '\n'))
            fail_msg("%s: %s", refused[i].line, r.e ? r.why.text : "was taken");
    }
}

#define CONV_OF_32                                                                                                     \
    "[[\"TENSOR\",[32,64,8,8],\"int8\"],[\"TENSOR\",[64,64,1,1],\"int8\"],[1,1],[0,0],[1,1],\"NCHW\",\"int32\"]"
#define IMAGES(cut)                                                                                                    \
    "[\"tile_n\",\"sp\"," cut "],[\"tile_f\",\"sp\",[-1,1,4,2]],[\"tile_y\",\"sp\",[-1,1,1,1]],"                       \
    "[\"tile_x\",\"sp\",[-1,1,4,1]],[\"tile_rc\",\"sp\",[-1,8]],[\"tile_ry\",\"sp\",[-1,1]],[\"tile_rx\",\"sp\",[-1,"  \
    "1]],"                                                                                                             \
    "[\"reorder_inner\",\"re\",[0,1,2]],[\"AA_double_buffer\",\"ot\",1],[\"WW_double_buffer\",\"ot\",1],"              \
    "[\"fuse_yx\",\"ot\",1],[\"auto_unroll_max_step\",\"ot\",0]"

/* As bests of a GTX 1080 at batches of 16 and 32 have them. */
static void images_of_a_batch_are_cut_as_far_as_recorded_bests(void **state)
{
    static const struct {
        const char *line, *knob;
        int value;
    } cuts[] = {
        {LINE(CUDA, "conv2d_NCHWc_int8.cuda", CONV_OF_32, IMAGES("[-1,16,1,1]"), OK), "n_v", 16},
        {LINE(CUDA, "conv2d_NCHWc_int8.cuda", CONV_OF_32, IMAGES("[-1,1,32,1]"), OK), "n_t", 32},
        {LINE(CUDA, "conv2d_NCHWc_int8.cuda", CONV_OF_32, IMAGES("[-1,1,1,8]"), OK), "n_r", 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct reading r = read_row("autotvm", cuts[i].line);

        if (r.e)
            fail_msg("%s: %s", cuts[i].knob, r.why.text);
        assert_int_equal((int)number_of(r.record.knobs, cuts[i].knob), cuts[i].value);
        record_fini(&r.record);
    }
}

static struct record dense_record(void)
{
    struct reading r = read_row("autotvm", LINE(MALI, "dense.mali", DENSE, KNOBS, OK));

    if (r.e)
        fail_msg("%s", r.why.text);
    return r.record;
}

static void a_line_becomes_a_record_with_time_knobs_and_device(void **state)
{
    struct record r = dense_record();
    struct device_desc d;

    (void)state;
    assert_string_equal(r.workload, "dense f32 m=1 n=48 k=64");
    assert_string_equal(r.template_id, "dense/dense");
    assert_string_equal(r.key, "rk3399-mali");
    assert_string_equal(r.fingerprint.hex, "");
    assert_string_equal(r.program.hex, "");
    assert_string_equal(r.purpose, "search");
    assert_true(r.time_ns == 1e6);
    assert_true(number_of(r.knobs, "n_t") == 4 && number_of(r.knobs, "n_r") == 4 &&
                number_of(r.knobs, "k_unroll") == 8);
    assert_int_equal(device_desc_from_json(r.device, &d, NULL), ERR_OK);
    assert_string_equal(d.name, "Mali-T860");
    assert_int_equal(d.max_work_group, 256);
    record_fini(&r);
}

/* ours -> AutoTVM -> ours: to the byte. */
static void a_record_of_ours_comes_back_as_it_went(void **state)
{
    struct record r = dense_record();
    struct buf line, before, after;
    struct reading back;

    (void)state;
    cJSON_DeleteItemFromObject(r.device, "tvm");
    cJSON_DeleteItemFromObject(r.device, "target");
    strcpy(r.id, "0123");
    strcpy(r.job, "a job");
    strcpy(r.purpose, "final");
    r.fingerprint = sha256_of("f", 1);
    r.program = sha256_of("p", 1);
    r.lnratio = -0.25;
    r.seed = 17;
    buf_init(&line, 1 << 20);
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    assert_int_equal(record_print(&r, &before), ERR_OK);
    write_line(&r, &line);
    back = read_row("autotvm", buf_text(&line));
    assert_int_equal(back.e, ERR_OK);
    assert_int_equal(record_print(&back.record, &after), ERR_OK);
    assert_string_equal(buf_text(&after), buf_text(&before));
    record_fini(&back.record);
    record_fini(&r);
    buf_fini(&line);
    buf_fini(&before);
    buf_fini(&after);
}

/* What TVM or a person changed afterwards counts, not the copy of what it was. */
static void a_changed_line_is_believed(void **state)
{
    struct record r = dense_record();
    struct buf line;
    struct reading back;
    char *at;

    (void)state;
    cJSON_DeleteItemFromObject(r.device, "tvm");
    strcpy(r.job, "a job");
    buf_init(&line, 1 << 20);
    write_line(&r, &line);
    at = strstr(line.data, "[-1,8]");
    assert_non_null(at);
    memcpy(at, "[-1,4]", 6);
    back = read_row("autotvm", buf_text(&line));
    assert_int_equal(back.e, ERR_OK);
    assert_true(number_of(back.record.knobs, "k_unroll") == 4);
    assert_string_equal(back.record.job, "");
    record_fini(&back.record);
    record_fini(&r);
    buf_fini(&line);
}

static enum err try_write(struct record *r, struct why *why)
{
    struct foreign_row row;
    const enum err e = map_of("autotvm")->from_record(r, &row, why);

    foreign_row_fini(&row);
    return e;
}

static void what_tvm_cannot_hold_is_refused(void **state)
{
    struct record r = dense_record();
    struct why why = {""};

    (void)state;
    cJSON_DeleteItemFromObject(r.device, "tvm");
    cJSON_SetNumberValue(cJSON_GetObjectItem(r.knobs, "n_t"), 32); /* a tail: 32 x 4 on 48 */
    assert_int_equal(try_write(&r, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "tiles of 128 on an axis of 48"));
    cJSON_SetNumberValue(cJSON_GetObjectItem(r.knobs, "n_t"), 4);
    assert_int_equal(try_write(&r, &why), ERR_OK);
    strcpy(r.template_id, "dense/gemm_tiled");
    assert_int_equal(try_write(&r, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "TVM has no task for dense/gemm_tiled"));
    strcpy(r.template_id, "dense/dense");
    r.status = STATUS_LOST;
    assert_int_equal(try_write(&r, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "lost"));
    record_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_becomes_a_record_with_time_knobs_and_device),
        cmocka_unit_test(what_has_no_words_here_is_told),
        cmocka_unit_test(images_of_a_batch_are_cut_as_far_as_recorded_bests),
        cmocka_unit_test(a_record_of_ours_comes_back_as_it_went),
        cmocka_unit_test(a_changed_line_is_believed),
        cmocka_unit_test(what_tvm_cannot_hold_is_refused),
        cmocka_unit_test(every_tophub_record_is_a_config_of_ours),
        cmocka_unit_test(arguments_that_came_later_may_lack),
        cmocka_unit_test(malis_default_tile_is_mostly_the_recorded_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
