/* SPDX-License-Identifier: MIT */
/* ops.c - the calls of docs/protocol.md by name. */
#include "tracker/state.h"

#include <string.h>

const struct op op_table[] = {
    {"hello", op_hello, false, 0},
    {"blob_have", op_blob_have, false, 0},
    {"blob_put", op_blob_put, false, 0}, /* the same blob twice is one blob */
    {"blob_get", op_blob_get, false, 0},
    {"job_submit", op_job_submit, true, 0},
    {"job_lease", op_job_lease, true, WAKE_JOBS},
    {"job_renew", op_job_renew, false, 0},
    {"job_done", op_job_done, true, 0},
    {"job_release", op_job_release, true, 0},
    {"job_cancel", op_job_cancel, true, 0},
    {"job_list", op_job_list, false, 0},
    {"job_status", op_job_status, false, 0},
    {"trial_add", op_trial_add, true, 0},
    {"trial_lease", op_trial_lease, true, WAKE_TRIALS},
    {"trial_renew", op_trial_renew, false, 0},
    {"trial_result", op_trial_result, true, 0},
    {"trial_release", op_trial_release, true, 0},
    {"record_wait", op_record_wait, false, WAKE_RECORDS},
    {"requeue", op_requeue, true, 0},
    {"agent_register", op_agent_register, true, 0},
    {"builder_register", op_builder_register, true, 0},
    {"build_lease", op_build_lease, true, WAKE_BUILDS},
    {"build_renew", op_build_renew, false, 0},
    {"build_result", op_build_result, true, 0},
    {"build_release", op_build_release, true, 0},
    {"agent_beat", op_agent_beat, false, 0},
    {"agent_bye", op_agent_bye, true, 0},
    {"devices", op_devices, false, 0},
    {"status", op_status, false, 0},
    {"backup", op_backup, true, 0},
    {NULL, NULL, false, 0},
};

const struct op *op_find(const char *name)
{
    for (const struct op *op = op_table; op->name; op++)
        if (strcmp(op->name, name) == 0)
            return op;
    return NULL;
}
