/* SPDX-License-Identifier: MIT */
#include "tuner/sibling.h"

#include "search/strategies/near.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double apart(struct value a, struct value b)
{
    if (a.text || b.text)
        return a.text && b.text && strcmp(a.text, b.text) == 0 ? 0 : INFINITY;
    return a.number > 0 && b.number > 0 ? fabs(log(a.number / b.number)) : fabs(a.number - b.number);
}

void sibling_carry(const struct space *from, const struct config *c, const struct space *to,
                   const struct config *otherwise, struct config *out)
{
    *out = *otherwise;
    for (size_t i = 0; i < space_n_knobs(to); i++) {
        const int i_from = space_find_knob(from, space_knob_name(to, i));
        double nearest = INFINITY;

        for (size_t k = 0; i_from >= 0 && k < space_n_values(to, i); k++) {
            const double d = apart(space_value(from, c, (size_t)i_from), space_knob_value(to, i, k));

            if (d < nearest) {
                nearest = d;
                out->choice[i] = (uint16_t)k;
            }
        }
    }
}

double sibling_unlike(const struct workload *a, const struct workload *b)
{
    double sum = a->dtype != b->dtype;

    for (size_t i = 0; i < WORKLOAD_MAX_KEYS; i++)
        for (size_t k = 0; k < WORKLOAD_MAX_PARTS; k++)
            sum += fabs(log((1 + fabs((double)a->key[i].v[k])) / (1 + fabs((double)b->key[i].v[k]))));
    return sum;
}

static const struct measured *best_of_arm(const struct task *t, size_t i_arm)
{
    const struct measured *best = NULL;

    for (size_t i = 0; i < t->n_all; i++)
        if (t->all[i].i_arm == i_arm && !isnan(t->all[i].value) && (!best || t->all[i].value < best->value))
            best = &t->all[i];
    return best;
}

static bool is_known(const struct task *t, size_t i_arm, const struct config *c)
{
    const struct space *space = t->arms[i_arm].space;

    for (size_t i = 0; i < t->n_all; i++)
        if (t->all[i].i_arm == i_arm && space_config_equal(space, &t->all[i].config, c))
            return true;
    return task_was_hinted(t, i_arm, c);
}

/* The best config of `from`, carried over to the same template of `to`. */
static bool hint(const struct task *from, struct task *to, size_t i_arm, struct rng *rng, struct config *out)
{
    const struct arm *a = &to->arms[i_arm];
    const struct ground ground = {.space = a->space};

    for (size_t k = 0; k < from->n_arms; k++) {
        const struct arm *b = &from->arms[k];
        const struct measured *best;

        if (strcmp(b->id, a->id) != 0 || b->version != a->version || !(best = best_of_arm(from, k)))
            continue;
        sibling_carry(b->space, &best->config, a->space, &a->fallback, out);
        return near_open(&ground, rng, out) == ERR_OK && !is_known(to, i_arm, out);
    }
    return false;
}

/* The most similar task not looked at yet that has something to teach; n_tasks when there is none. */
static size_t nearest_teacher(const struct task *tasks, size_t n_tasks, size_t i, const bool *seen)
{
    double least = INFINITY;
    size_t found = n_tasks;

    for (size_t k = 0; k < n_tasks; k++) {
        const struct task *t = &tasks[k];
        const double d = sibling_unlike(&t->workload, &tasks[i].workload);

        if (k == i || seen[k] || t->n_counted < SIBLING_LEAST || t->workload.op != tasks[i].workload.op || d >= least)
            continue;
        least = d;
        found = k;
    }
    return found;
}

size_t sibling_hints(struct task *tasks, size_t n_tasks, size_t i, struct rng *rng, size_t n, struct task_proposal *out)
{
    bool seen[JOB_MAX_LAYERS] = {false};
    struct task *t = &tasks[i];
    size_t n_out = 0;

    assert(i < n_tasks && n_tasks <= JOB_MAX_LAYERS);
    for (size_t k; n_out < n && (k = nearest_teacher(tasks, n_tasks, i, seen)) < n_tasks; seen[k] = true)
        for (size_t i_arm = 0; i_arm < t->n_arms && n_out < n; i_arm++) {
            struct config c;

            if (t->n_hinted == TASK_MAX_HINTS || t->arms[i_arm].baseline || !hint(&tasks[k], t, i_arm, rng, &c))
                continue;
            out[n_out] = (struct task_proposal){.i_arm = i_arm, .config = c, .by = "sibling"};
            t->hinted[t->n_hinted++] = out[n_out++];
        }
    return n_out;
}
