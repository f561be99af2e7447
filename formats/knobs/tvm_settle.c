/* SPDX-License-Identifier: MIT */
/* Of configs that come to the same kernel our spaces have one. TVM's logs name any of them; here they are moved to that
 * one. */
#include "formats/knobs/tvm_private.h"

#include <assert.h>
#include <string.h>

static bool has(const struct space *s, const char *name)
{
    return space_find_knob(s, name) >= 0;
}

bool tvm_set(const struct space *s, struct config *c, const char *name, int64_t value)
{
    const int k = space_find_knob(s, name);

    for (size_t v = 0; k >= 0 && v < space_n_values(s, (size_t)k); v++) {
        const struct value found = space_knob_value(s, (size_t)k, v);

        if (!found.text && found.number == (double)value) {
            c->choice[k] = (uint16_t)v;
            return true;
        }
    }
    return false;
}

static void clear_if(const struct space *s, struct config *c, const char *name, bool when)
{
    if (when && has(s, name))
        tvm_set(s, c, name, 0);
}

static bool is_one(const struct space *s, const struct config *c, const char *name)
{
    double v = 0;

    return !space_eval(s, c, name, &v) && v == 1;
}

/* Loops of one pass have no annotation; a vector of channels takes part in no order of loops. */
void tvm_settle_annotations(const struct space *s, struct config *c)
{
    static const char *const pairs[][2] = {{"ann_vh", "vh"},        {"ann_vw", "vw"},       {"ann_vc", "vc"},
                                           {"ann_c", "c_r"},        {"ann_y", "y_r"},       {"ann_x", "x_r"},
                                           {"unroll_kh", "size_r"}, {"unroll_kw", "size_s"}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        clear_if(s, c, pairs[i][0], has(s, pairs[i][0]) && is_one(s, c, pairs[i][1]));
    clear_if(s, c, "chw", has(s, "chw") && (is_one(s, c, "vc") || space_int(s, c, "ann_vc") == 2));
}

/* Orders: 0 crs, 1 csr, 2 rcs, 3 rsc, 4 scr, 5 src. With one step of c the others' order is left, and so on. */
static int64_t order_of_steps(int64_t order, bool one_c, bool one_r, bool one_s)
{
    static const char *const orders[] = {"crs", "csr", "rcs", "rsc", "scr", "src"};
    assert(order >= 0 && order < (int64_t)(sizeof orders / sizeof orders[0]));

    const char *o = orders[order];
    const long c = strchr(o, 'c') - o, r = strchr(o, 'r') - o, s = strchr(o, 's') - o;

    if (one_c + one_r + one_s > 1)
        return 0;
    if (one_c)
        return r < s ? 0 : 1;
    if (one_r)
        return c < s ? 0 : 4;
    if (one_s)
        return c < r ? 0 : 2;
    return order;
}

/* An unrolling whose body is beyond its limit is none, one within a lower limit is that of the lower. */
static void settle_unrolling(const struct space *s, struct config *c, int64_t body, int64_t low)
{
    const int64_t step = space_int(s, c, "unroll_step");

    tvm_set(s, c, "unroll_step", body > step ? 0 : body <= low ? low : step);
}

void tvm_settle_strips(const struct space *s, struct config *c)
{
    int64_t steps;

    if (has(s, "order"))
        tvm_set(s, c, "order",
                order_of_steps(space_int(s, c, "order"), is_one(s, c, "steps_c"), is_one(s, c, "steps_r"),
                               is_one(s, c, "steps_s")));
    if (space_int(s, c, "unroll_step"))
        settle_unrolling(s, c, space_int(s, c, "body"), space_int(s, c, "unroll_low"));
    steps = space_int(s, c, "steps");
    clear_if(s, c, "dbuf_x", steps == 1);
    clear_if(s, c, "dbuf_w", steps == 1);
}

void tvm_settle_winograd(const struct space *s, struct config *c)
{
    if (space_int(s, c, "rc_i") == 1)
        tvm_set(s, c, "unroll_step", 0);
    else if (space_int(s, c, "unroll_step"))
        settle_unrolling(s, c, space_int(s, c, "body"), 128);
}

/* Of our unroll_explicit=1 the limit is always the lowest: TVM's must cover the tile. */
enum err tvm_express_batch(cJSON *knobs, struct why *why)
{
    const cJSON *is = cJSON_GetObjectItemCaseSensitive(knobs, "unroll_explicit");
    int64_t m_r = 1, n_r = 1, k_i = 1, step = 8;
    enum err e = ERR_OK;

    if (!cJSON_IsNumber(is) || is->valuedouble == 0)
        return ERR_OK;
    e = json_get_i64(knobs, "m_r", 1, 4096, &m_r, why);
    if (!e)
        e = json_get_i64(knobs, "n_r", 1, 4096, &n_r, why);
    if (!e)
        e = json_get_i64(knobs, "k_i", 1, 4096, &k_i, why);
    while (step < 64 && step < m_r * n_r * k_i)
        step *= 2;
    if (e)
        return e;
    if (step < m_r * n_r * k_i)
        return why_set(why, ERR_UNSUPPORTED, "unroll_explicit=1 of %lld steps; TVM's batch_matmul unrolls up to 64",
                       (long long)(m_r * n_r * k_i));
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(knobs, "unroll_step"), (double)step);
    return ERR_OK;
}

/* Straight-line code where TVM's limit covers the whole tile; else the lowest limit that unrolls as far. */
void tvm_settle_batch(const struct space *s, struct config *c)
{
    const int64_t tile = space_int(s, c, "accumulators"), body = space_int(s, c, "body");
    int64_t step = space_int(s, c, "unroll_step");

    if (space_int(s, c, "unroll_explicit") && body > step)
        tvm_set(s, c, "unroll_explicit", 0);
    if (space_int(s, c, "unroll_explicit"))
        step = 8;
    while (step > 8 && !(2 * tile <= step && body > step / 2))
        step /= 2;
    tvm_set(s, c, "unroll_step", step);
}
