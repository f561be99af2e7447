/* SPDX-License-Identifier: MIT */
/* source_recorded.c - one arm: a recorded space, of job.replay; its programs are looked up, not run. */
#include "core/err.h"
#include "search_space/recorded.h"
#include "tuner/source.h"
#include "tuner/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Another recording has no row of this space. */
static enum err check_recording(const struct device_desc *d, const char *name, struct why *why)
{
    char platform[sizeof d->platform];

    snprintf(platform, sizeof platform, "recorded %s", name);
    if (strcmp(d->api, "replay") != 0 || strcmp(d->platform, platform) == 0)
        return ERR_OK;
    return why_set(why, ERR_UNSUPPORTED, "the device is another recording (%s) than the job's (%s)", d->platform,
                   platform);
}

static enum err open(struct task *t, const struct job *j, size_t i_layer, struct why *why)
{
    struct arm *a = task_add_arm(t, &source_recorded, "", 1);
    enum err e = recorded_open(j->replay, &a->of.recorded, why);
    const char *name;
    char text[256];

    (void)i_layer;
    if (e)
        return e;
    name = recorded_name(a->of.recorded);
    a->space = recorded_space(a->of.recorded);
    /* "convolution-RTX_3090" is kernel "convolution" on a device: the template is replay/convolution */
    snprintf(a->id, sizeof a->id, "replay/%.*s", (int)strcspn(name, "-"), name);
    snprintf(text, sizeof text, "replay space=%s", name);
    e = check_recording(&t->device, name, why);
    return e ? e : task_set_text(t, text, "", 1, why);
}

static void close(struct arm *a)
{
    recorded_close(a->of.recorded);
}

static enum err program(const struct task *t, const struct arm *a, const struct config *c, struct program *out,
                        struct blobs *blobs, struct why *why)
{
    (void)blobs;
    program_init(out);
    out->workload = strdup(t->text);
    out->template_id = strdup(a->id);
    out->template_version = a->version;
    out->knobs = space_config_to_json(a->space, c);
    snprintf(out->api, sizeof out->api, "replay");
    if (out->workload && out->template_id && out->knobs)
        return ERR_OK;
    program_fini(out);
    return why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

const struct source_ops source_recorded = {.repeats_itself = true, .open = open, .close = close, .program = program};
