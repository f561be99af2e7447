/* SPDX-License-Identifier: MIT */
/* ops.c - how the tracker executes each call. */
#include "tracker/state.h"

const struct op op_table[N_CALLS] = {
    [CALL_HELLO] = {op_hello, false, 0},
    [CALL_BLOB_HAVE] = {op_blob_have, false, 0},
    [CALL_BLOB_PUT] = {op_blob_put, false, 0}, /* the same blob twice is one blob */
    [CALL_BLOB_GET] = {op_blob_get, false, 0},
    [CALL_JOB_SUBMIT] = {op_job_submit, true, 0},
    [CALL_JOB_LEASE] = {op_job_lease, true, WAKE_JOBS},
    [CALL_JOB_RENEW] = {op_job_renew, false, 0},
    [CALL_JOB_DONE] = {op_job_done, true, 0},
    [CALL_JOB_RELEASE] = {op_job_release, true, 0},
    [CALL_JOB_CANCEL] = {op_job_cancel, true, 0},
    [CALL_JOB_LIST] = {op_job_list, false, 0},
    [CALL_JOB_STATUS] = {op_job_status, false, 0},
    [CALL_TRIAL_ADD] = {op_trial_add, true, 0},
    [CALL_TRIAL_LEASE] = {op_trial_lease, true, WAKE_TRIALS},
    [CALL_TRIAL_RENEW] = {op_trial_renew, false, 0},
    [CALL_TRIAL_RESULT] = {op_trial_result, true, 0},
    [CALL_TRIAL_RELEASE] = {op_trial_release, true, 0},
    [CALL_RECORD_WAIT] = {op_record_wait, false, WAKE_RECORDS},
    [CALL_REQUEUE] = {op_requeue, true, 0},
    [CALL_AGENT_REGISTER] = {op_agent_register, true, 0},
    [CALL_BUILDER_REGISTER] = {op_builder_register, true, 0},
    [CALL_BUILD_LEASE] = {op_build_lease, true, WAKE_BUILDS},
    [CALL_BUILD_RENEW] = {op_build_renew, false, 0},
    [CALL_BUILD_RESULT] = {op_build_result, true, 0},
    [CALL_BUILD_RELEASE] = {op_build_release, true, 0},
    [CALL_AGENT_BEAT] = {op_agent_beat, false, 0},
    [CALL_AGENT_BYE] = {op_agent_bye, true, 0},
    [CALL_DEVICES] = {op_devices, false, 0},
    [CALL_STATUS] = {op_status, false, 0},
    [CALL_BACKUP] = {op_backup, true, 0},
};
