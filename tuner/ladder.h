/* SPDX-License-Identifier: MIT */
/* ladder.h - the steps of the cuDNN 5 post on recurrent networks, as configs of rnn/plan. */
#ifndef TUNE_TUNER_LADDER_H
#define TUNE_TUNER_LADDER_H

#include "core/buf.h"
#include "core/err.h"
#include "tuner/job.h"
#include "tuner/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LADDER_MAX_STEPS 8

/* One step of the ladder; each keeps what the steps before it set. */
struct ladder_step {
    const char *name;
    bool all_layers;    /* of the workload; else one */
    double m40_gflops;  /* what the post's table says of an M40; 0 = not in the table */
    const char *config; /* knobs "comb_gate=1 ..." beside the template's default GEMM knobs; "" = the default config */
};

extern const struct ladder_step ladder_steps[]; /* ended by name == NULL */

/* The workload of a step: one layer or all of `w` (4 where it has only one). ERR_INPUT for anything but rnn, pass=fwd.
 */
enum err ladder_workload(const struct workload *w, size_t i_step, struct buf *text, struct why *why);

/* Layers of a step. */
int64_t ladder_layers(const struct workload *w, size_t i_step);

/* A task of a step's workload, and its config of the arm rnn/plan. task_fini when done. */
enum err ladder_task(const struct workload *w, size_t i_step, const struct device_desc *d, struct task *t,
                     size_t *i_arm, struct config *out, struct why *why);

#endif
