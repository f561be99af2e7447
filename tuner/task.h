/* SPDX-License-Identifier: MIT */
/* task.h - one workload of a job on one device: its templates with their spaces and strategies, what was measured, the
 * best. */
#ifndef TUNE_TUNER_TASK_H
#define TUNE_TUNER_TASK_H

#include "core/blobs.h"
#include "core/err.h"
#include "kernels/template.h"
#include "logs/record.h"
#include "search/strategy.h"
#include "tuner/anchor.h"
#include "tuner/gain.h"
#include "tuner/job.h"
#include "tuner/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_MAX_ARMS 16
#define TASK_FINALISTS 5
#define TASK_MAX_HINTS 32
#define TASK_MAX_GIVEN 4

/* One template of a task, or what stands for it. */
struct arm {
    const struct source_ops *source;
    union {
        const struct template *template;
        struct spec *spec;
        struct recorded *recorded;
    } of;        /* the source's own */
    char id[64]; /* of the template; "" = none: the workload's text tells kernels apart */
    int version;
    bool possible; /* fits less well than the best */
    bool baseline; /* measured once, never searched */
    const struct space *space;
    struct space *own_space; /* what `space` lends; NULL: `of` lends it */
    struct strategy *strategy;
    const struct strategy_ops *ops;
    struct transfer *history; /* what warms the strategy; NULL = nothing */
    struct config fallback;
    bool has_fallback;
    struct config given[TASK_MAX_GIVEN]; /* the best of searches elsewhere that tell too little to learn from */
    size_t n_given;
    bool exhausted;
    size_t n_trials; /* proposed, or found in logs */
};

/* One measured config: a copy of its record and where it belongs. */
struct measured {
    size_t i_arm;
    struct config config;
    struct record record;
    double value; /* see anchor.h; NAN = failed */
    bool counted; /* a trial of this job's budget */
};

/* What is to be measured next. */
struct task_proposal {
    size_t i_arm;
    struct config config;
    const char *by;
};

/* Why the search of a task ended; see stop.h. */
enum stop_reason { STOP_NONE, STOP_TRIALS, STOP_TIME, STOP_PATIENCE, STOP_TARGET, STOP_GAIN, STOP_EXHAUSTED };

enum task_phase { TASK_NEW, TASK_DEFAULTS, TASK_SEARCH, TASK_FINALS, TASK_DONE };

struct task {
    char *text, *name; /* canonical workload; layer */
    int64_t count;
    struct workload workload;
    struct device_desc device;
    struct sha256 fingerprint, former; /* former: device_desc_former */
    struct arm arms[TASK_MAX_ARMS];
    size_t n_arms;
    struct measured *all; /* search records, each config once */
    size_t n_all, cap_all;
    struct measured *finals;
    size_t n_finals, cap_finals;
    struct anchor anchor;
    char objective[8]; /* as the job's: records of another one are not taken */
    enum task_phase phase;
    int64_t budget; /* counted trials at the most */
    int64_t n_counted, n_in_flight, n_failed;
    int64_t n_refused;    /* configs that could not become programs */
    int64_t since_better; /* counted trials since the best improved */
    int i_best;           /* in all[], -1 = none */
    int i_crown;          /* task_crown: in all[], or behind them in finals[]; -1 = none */
    struct gain gain;     /* of all[] but the baseline, in their order */
    enum stop_reason stop;
    char note[512]; /* what the job asked for and this task does otherwise, in words; "" = nothing */
    struct task_proposal hinted[TASK_MAX_HINTS]; /* configs from elsewhere that its strategies did not propose */
    size_t n_hinted;
    bool exhausted;
    bool waits; /* its strategies have nothing yet: asked again in a while */
};

/* How a record came to the task. */
enum origin { ORIGIN_JOB, ORIGIN_LOG, ORIGIN_WARM };

/* Makes what is searched for layer `i_layer` of a job (0 of a job without layers) on a device, and its strategies. Of
 * several layers, one that none of the templates named computes (or fits) has all of its own, and a note. ERR_INPUT for
 * a bad workload or template name, ERR_NOT_FOUND when no template fits, ERR_UNSUPPORTED for a person's own kernel on a
 * device of another API, with words. */
enum err task_init(struct task *t, const struct job *j, size_t i_layer, const struct device_desc *device,
                   struct why *why);
void task_fini(struct task *t);

/* For sources, while they open a task: an arm more, or NULL when there are TASK_MAX_ARMS; and the task's words. */
struct arm *task_add_arm(struct task *t, const struct source_ops *source, const char *id, int version);
enum err task_set_text(struct task *t, const char *text, const char *name, int64_t count, struct why *why);

/* Is each id of "a,b" a template, and does it compute one of the workloads (texts)? ERR_INPUT with words. */
enum err task_check_templates(const char *list, const char *const *workloads, size_t n_workloads, struct why *why);

/* The same for a job's list and all its workloads; task_init checks it too. */
enum err task_check_job(const struct job *j, struct why *why);

/* Has the strategy of one template, when it is started anew by task_warm, propose a config right behind the default.
 * Valid ones that it has not yet are kept, TASK_MAX_GIVEN at the most. Returns whether it was. */
bool task_give(struct task *t, size_t i_arm, const struct config *c);

/* Starts the strategy of one template anew, warmed by `history` (takes it, also on failure), before anything was told.
 */
enum err task_warm(struct task *t, const struct job *j, size_t i_arm, struct transfer *history, struct why *why);

/* Is it the fingerprint of the task's device, now or before processors were told apart? */
bool task_has_device(const struct task *t, const struct sha256 *fingerprint);

/* Does this record measure the task's workload with one of its templates (same version) on its device? */
bool task_knows(const struct task *t, const struct record *r);

/* Is it what a trial of this config was to bring? A record of another config, purpose or objective is not. */
bool task_answers(const struct task *t, const struct record *r, const char *purpose, size_t i_arm,
                  const struct config *c);

/* Takes a record in (copies it): searched configs are told to their strategy, finals kept beside. ERR_NOMEM; records
 * that the task does not know are ignored. */
enum err task_take(struct task *t, const struct record *r, enum origin origin);

/* After records of an earlier run were taken in: finds the newest anchor they were timed against, so that the job goes
 * on with it, on the scale of its first anchor, or else of its own time. `rebuilt` (hash of the
 * program made anew from the anchor's config) is asked for with `build`; on any doubt the anchor stays empty. */
enum err task_restore_anchor(struct task *t,
                             enum err (*build)(const struct measured *m, struct sha256 *hash, void *arg), void *arg);

/* Freezes the best so far as the anchor, when there is one and no anchor yet; `program`: its, made anew. */
void task_freeze_anchor(struct task *t, const struct sha256 *program);

/* Notes a config that could not even become a program. */
enum err task_refuse(struct task *t, size_t i_arm, const struct config *c);

/* The next proposals, all told apart: at most n; *n_out 0 = all templates are exhausted. ERR_BUSY: none yet, ask again
 * in a while. Other errors with words (`why` may be NULL). */
enum err task_ask(struct task *t, size_t n, struct task_proposal *out, size_t *n_out, struct why *why);

/* True for a config that is in `hinted`: task_ask leaves it out. */
bool task_was_hinted(const struct task *t, size_t i_arm, const struct config *c);

/* The program of a config; `out` is initialised, sources and expected values go into `blobs`. */
enum err task_program(const struct task *t, size_t i_arm, const struct config *c, struct program *out,
                      struct blobs *blobs, struct why *why);

/* The search record of an arm's default or of the baseline; NULL when it was not measured. */
const struct measured *task_fallback(const struct task *t, size_t i_arm);
const struct measured *task_best_fallback(const struct task *t);
const struct measured *task_baseline(const struct task *t);

/* The best configs by value, ok, no baseline, at most n; returns how many. */
size_t task_top(const struct task *t, size_t n, const struct measured **out);

/* Expected drop of ln time by trials ahead .. ahead + n_more - 1 from now (see gain.h), no more than there is up to the
 * device's peak where that is known and not passed yet. NAN = not known. */
double task_gain(const struct task *t, double ahead, double n_more);

/* The FMA peak in GFLOPS that was measured beside a record; 0 = none was. */
double task_peak_gflops(const struct record *r);

/* The final measurement of the same config, or the search one when there is none. */
const struct measured *task_finest(const struct task *t, const struct measured *m);

/* The task's measurement of this record's config is the winner from now on, with this record (a final, or one of
 * purpose redo, which no search learns from): so that what is told agrees with the best log. ERR_NOMEM. */
enum err task_crown(struct task *t, const struct record *r);

/* Has a program been put through all passes of a sheet with data of this seed, and was right? */
bool task_proved(const struct task *t, const char *program, int64_t data_seed);

/* The winner: the crowned one, else the finalist with the smallest value, else the best of the search, of those that
 * record_may_be_best; NULL = no valid config. */
const struct measured *task_winner(const struct task *t);

/* True when two measurements cannot be told apart: |difference| < max(1 %, 2 combined standard errors). */
bool measured_tie(const struct measured *a, const struct measured *b);

/* How many finalists tie with the winner (the winner not counted). */
size_t task_n_ties(const struct task *t);

#endif
