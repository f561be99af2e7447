/* SPDX-License-Identifier: MIT */
/* calls_list.h - the calls of docs/protocol.md, once: enumerators, structs, tables and typed functions are made of this
 * list, which is included with CALL, STRUCT or MEMBER defined and undefines them.
 *   CALL(NAME, name, args, result, effect, wake)
 *                                   a call and the structs that go with it; WRITES: a repeat is answered as before;
 *                                   its long poll is woken by new JOBS, TRIALS, RECORDS or BUILDS,
 *                                   by the end of a BACKUP, or it waits NEVER
 *   STRUCT(tag, members)            a struct; its members in the order in which they are written
 *   KIND(name, need, ...)           a member: see struct call_member; behind its need its bounds and its default
 * With CALL_LIST defined it is that file, written in the same words. */
#ifndef CALL
#define CALL(upper, name, args, result, effect, wake)
#endif
#ifndef STRUCT
#define STRUCT(tag, members)
#endif
#define TEXT(...) MEMBER(TEXT, __VA_ARGS__)
#define I64(...) MEMBER(I64, __VA_ARGS__)
#define REAL(...) MEMBER(REAL, __VA_ARGS__)
#define BOOL(...) MEMBER(BOOL, __VA_ARGS__)
#define OBJECT(...) MEMBER(OBJECT, __VA_ARGS__)
#define LIST(...) MEMBER(LIST, __VA_ARGS__)
#define TEXTS(...) MEMBER(TEXTS, __VA_ARGS__)
#define ANY(...) MEMBER(ANY, __VA_ARGS__)
#define MUST NEED_MUST
#define MAY NEED_MAY
#define EMPTY NEED_MAY, .otherwise.text = ""
#define OR_NULL NEED_OR_NULL
#define TIED NEED_TIED
#define FORM(x) .form = FORM_##x
#define UP_TO(n) .max = (int64_t)(n)
#define OR(kind, value) .otherwise.kind = value
#define OF(tag) .of = &tag##_shape

/* clang-format off */
#ifdef CALL_LIST
#include CALL_LIST
#else
STRUCT(nothing, )

/* ---- bodies of trials and builds: the tracker does not look inside. Numbers are REAL: agents bring them within their
 * bounds ---- */

STRUCT(trial_body,
    TEXT(purpose, MAY, OR(text, "search")) TEXT(proposed_by, MAY, OR(text, "user")) TEXT(objective, EMPTY) REAL(seed, MAY)
    TEXT(key, MAY)
    OBJECT(timing, MAY, OF(body_timing)) OBJECT(anchor, MAY, OF(body_anchor)) OBJECT(limits, MAY, OF(body_limits))
    REAL(least_flops, MAY) TEXT(sheet, EMPTY) REAL(data_seed, TIED) TEXT(prove, MAY, OR(text, "each")) BOOL(proven, TIED)
    TEXT(fills, EMPTY))

STRUCT(body_timing,
    TEXT(protocol, EMPTY) REAL(rounds, MAY, OR(real, 5)) REAL(rounds_near_best, MAY, OR(real, 9))
    REAL(min_calls, MAY, OR(real, 3)) REAL(min_slot_ms, MAY, OR(real, 5)) REAL(warmup, MAY, OR(real, 1))
    REAL(best_ns, MAY) REAL(best_lnratio, OR_NULL, OR(real, NAN)))

STRUCT(body_anchor, REAL(epoch, MAY) REAL(bridge, MAY))
STRUCT(body_limits,
    REAL(build_s, MAY, OR(real, 10)) REAL(run_s, MAY, OR(real, 10)) REAL(memory_bytes, MAY, OR(real, 2147483648.0)))

STRUCT(built_answer,
    TEXT(status, MUST) TEXT(why, EMPTY) TEXT(by, EMPTY) TEXT(compiler, EMPTY) REAL(build_ms, MAY)
    LIST(cubins, MAY, OF(cubin)) ANY(resources, MAY))

STRUCT(cubin, TEXT(name, MUST) TEXT(sha256, MUST, FORM(HASH)))

/* ---- parts: what lists and objects inside calls are made of ---- */

STRUCT(trial_ref, TEXT(trial, MUST, FORM(TRIAL)) I64(token, MUST))

STRUCT(trial_offer,
    I64(n, MUST) TEXT(key, MAY, FORM(NAME)) TEXT(fingerprint, EMPTY, FORM(NO_HASH)) TEXT(program, MUST, FORM(HASH))
    TEXT(anchor, EMPTY, FORM(NO_HASH)) TEXT(purpose, MAY, UP_TO(15), OR(text, "search"))
    TEXT(protocol, EMPTY, UP_TO(31)) OBJECT(body, MUST, OF(trial_body)))

STRUCT(trial_added, I64(n, MUST) TEXT(trial, MAY) TEXT(state, MAY) TEXT(record, OR_NULL))

STRUCT(trial_grant,
    TEXT(trial, MUST) I64(token, MUST) TEXT(job, EMPTY) I64(n, MAY) TEXT(program, MUST, FORM(HASH))
    TEXT(anchor, EMPTY, FORM(NO_HASH)) TEXT(purpose, MAY) TEXT(protocol, MAY) I64(attempt, MAY)
    OBJECT(body, MAY, OF(trial_body)) OBJECT(built, MAY, OF(built_code)))

STRUCT(built_code, OBJECT(program, MAY, OF(built_answer)) OBJECT(anchor, MAY, OF(built_answer)))

STRUCT(envelope,
    TEXT(key, EMPTY, UP_TO(64)) TEXT(fingerprint, EMPTY, FORM(NO_HASH)) TEXT(program, EMPTY)
    TEXT(status, MUST, .one_of = "ok compile limits runtime wrong timeout crash lost") REAL(time_ns, MAY)
    REAL(flops, MAY) REAL(device_ms, MAY))

STRUCT(record_entry, I64(seq, MUST) I64(n, MUST) TEXT(trial, MAY) TEXT(record, MUST))
STRUCT(trial_counts, I64(open, MAY) I64(leased, MAY) I64(done, MAY) I64(lost, MAY))
STRUCT(job_best, REAL(time_ns, MUST) REAL(gflops, MUST))

STRUCT(job_entry,
    TEXT(job, MUST) TEXT(title, EMPTY) TEXT(user, EMPTY) TEXT(key, EMPTY) TEXT(state, MUST)
    OBJECT(trials, MUST, OF(trial_counts)) OBJECT(best, OR_NULL, OF(job_best)) ANY(progress, OR_NULL)
    I64(records, MAY) I64(created_ms, MAY) I64(done_ms, MAY) I64(priority, MAY, .min = -3, .max = 3) I64(position, MAY)
    TEXT(waits, MAY) TEXT(body, MAY) TEXT(summary, MAY))

STRUCT(build_ref, TEXT(program, MUST, FORM(HASH)) TEXT(arch, MUST))

STRUCT(build_grant,
    TEXT(program, MUST, FORM(HASH)) TEXT(arch, MUST, FORM(ARCH)) TEXT(trial, EMPTY) I64(attempt, MAY)
    OBJECT(body, MAY, OF(trial_body)))

STRUCT(peer_entry,
    TEXT(key, EMPTY) TEXT(agent, MUST) TEXT(fingerprint, EMPTY) TEXT(version, EMPTY) TEXT(state, EMPTY)
    I64(last_seen_ms, MAY) I64(leased, MAY) I64(done, MAY) I64(failed, MAY) REAL(temperature, MAY, OR(real, NAN)) REAL(load, MAY)
    REAL(canary_ns, MAY, OR(real, NAN))
    TEXTS(arches, MAY) TEXT(compiler, EMPTY) TEXT(cage, EMPTY) ANY(device, MAY) TEXT(arch, MAY) BOOL(builds, TIED, OR(yes, true))
    I64(capacity, TIED) TEXT(mode, MAY) TEXT(reserved, MAY)
    ANY(current, OR_NULL))

/* ---- what several calls share ---- */

STRUCT(job_name, TEXT(job, MUST, FORM(JOB)))
STRUCT(build_refs, TEXT(agent, MUST) TEXT(session_nonce, MAY) LIST(builds, MUST, OF(build_ref)))
STRUCT(accepted, BOOL(accepted, MAY))
STRUCT(released, I64(released, MAY))

/* ---- calls ---- */

CALL(HELLO, hello, hello_args, hello_result, READS, NEVER)
STRUCT(hello_args, TEXT(role, EMPTY) TEXT(name, EMPTY) TEXT(identity, EMPTY) TEXT(nonce, MUST, FORM(NONCE)) LIST(versions, MUST)
    I64(part, MAY, UP_TO(PARTS_MOST)))
STRUCT(hello_result,
    TEXT(session, MUST, UP_TO(REQUEST_ID_HEX)) I64(version, MAY) TEXT(boot, MUST, UP_TO(REQUEST_ID_HEX))
    TEXT(nonce, MUST, UP_TO(REQUEST_ID_HEX)) TEXT(server, MAY) I64(part, MAY, .min = 1, .max = PARTS_MOST, OR(i64, 1))
    I64(parts, MAY, .min = 1, .max = PARTS_MOST, OR(i64, 1)))

CALL(BLOB_HAVE, blob_have, blob_have_args, blob_have_result, READS, NEVER)
STRUCT(blob_have_args, TEXTS(sha256, MUST, FORM(HASH), UP_TO(1024)))
STRUCT(blob_have_result, TEXTS(missing, MUST))

CALL(BLOB_PUT, blob_put, blob_put_args, blob_put_result, READS, NEVER)
STRUCT(blob_put_args,
    TEXT(sha256, MAY, FORM(HASH)) I64(offset, TIED, UP_TO(BLOB_MAX_BYTES)) I64(total, TIED, UP_TO(BLOB_MAX_BYTES)))
STRUCT(blob_put_result, BOOL(stored, MAY))

CALL(BLOB_GET, blob_get, blob_get_args, blob_get_result, READS, NEVER)
STRUCT(blob_get_args,
    TEXT(sha256, MUST, FORM(HASH)) I64(offset, MAY, UP_TO(BLOB_MAX_BYTES))
    I64(bytes, MAY, UP_TO(MESSAGE_CHUNK_BYTES), OR(i64, MESSAGE_CHUNK_BYTES)))
STRUCT(blob_get_result, I64(total, MUST, UP_TO(BLOB_MAX_BYTES)))

CALL(JOB_SUBMIT, job_submit, job_submit_args, job_submit_result, WRITES, NEVER)
STRUCT(job_submit_args,
    TEXT(title, EMPTY, UP_TO(1024)) TEXT(user, EMPTY, UP_TO(CALL_USER_BYTES)) TEXT(key, EMPTY, FORM(NO_NAME))
    TEXT(body, MUST, UP_TO(CALL_BODY_BYTES)) I64(priority, MAY, .min = -3, .max = 3) BOOL(lease, MAY))
STRUCT(job_submit_result, TEXT(job, MUST) I64(token, MAY) I64(deadline_ms, MAY))

CALL(JOB_LEASE, job_lease, job_lease_args, job_lease_result, WRITES, JOBS)
STRUCT(job_lease_args, I64(wait_ms, MAY))
STRUCT(job_lease_result,
    TEXT(job, OR_NULL) I64(token, TIED) I64(deadline_ms, TIED) TEXT(title, MAY) TEXT(key, MAY) TEXT(user, MAY)
    TEXT(body, MAY) TEXT(summary, MAY))

CALL(JOB_RENEW, job_renew, job_renew_args, job_renew_result, READS, NEVER)
STRUCT(job_renew_args, TEXT(job, MUST, FORM(JOB)) I64(token, MUST) ANY(progress, MAY))
STRUCT(job_renew_result, BOOL(cancel, MAY) I64(deadline_ms, MAY) TEXT(waits, MAY))

CALL(JOB_DONE, job_done, job_done_args, nothing, WRITES, NEVER)
STRUCT(job_done_args,
    TEXT(job, MUST, FORM(JOB)) I64(token, MUST) TEXT(state, MAY, .one_of = "done failed cancelled", OR(text, "done"))
    OBJECT(summary, MAY))

CALL(JOB_RELEASE, job_release, job_release_args, nothing, WRITES, NEVER)
STRUCT(job_release_args, TEXT(job, MUST, FORM(JOB)) I64(token, MUST))

CALL(JOB_CANCEL, job_cancel, job_name, job_cancel_result, WRITES, NEVER)
STRUCT(job_cancel_result, TEXT(state, MAY, OR(text, "cancelled")))

CALL(JOB_PAUSE, job_pause, job_pause_args, job_pause_result, WRITES, NEVER)
STRUCT(job_pause_args, TEXT(job, MUST, FORM(JOB)) BOOL(paused, MAY, OR(yes, true)))
STRUCT(job_pause_result, TEXT(state, MAY, OR(text, "paused")))

CALL(JOB_LIST, job_list, job_list_args, job_list_result, READS, NEVER)
STRUCT(job_list_args, TEXT(state, MAY, OR(text, "all")) I64(max, MAY, .min = 1, .max = 1000, OR(i64, 100))
    I64(before, MAY))
STRUCT(job_list_result, LIST(jobs, MUST, OF(job_entry)) I64(next, MAY))

CALL(JOB_STATUS, job_status, job_name, job_entry, READS, NEVER)

CALL(TRIAL_ADD, trial_add, trial_add_args, trial_add_result, WRITES, NEVER)
STRUCT(trial_add_args, TEXT(job, MUST, FORM(JOB)) I64(token, MUST) LIST(trials, MUST, OF(trial_offer)))
STRUCT(trial_add_result, LIST(trials, MUST, OF(trial_added)))

CALL(TRIAL_LEASE, trial_lease, trial_lease_args, trial_lease_result, WRITES, TRIALS)
STRUCT(trial_lease_args,
    I64(max, MAY, .min = 1, UP_TO(CALL_MAX_LEASE), OR(i64, 1)) TEXT(agent, MUST) TEXT(session_nonce, MAY) I64(wait_ms, MAY) REAL(temperature, MAY, OR(real, NAN))
    REAL(load, MAY, OR(real, NAN)))
STRUCT(trial_lease_result, LIST(trials, MUST, OF(trial_grant)) I64(deadline_ms, MAY) BOOL(drain, MAY))

CALL(TRIAL_RENEW, trial_renew, trial_renew_args, trial_renew_result, READS, NEVER)
STRUCT(trial_renew_args, TEXT(agent, MUST) LIST(trials, MUST, OF(trial_ref)))
STRUCT(trial_renew_result, TEXTS(lost, MUST) TEXTS(cancelled, MUST) I64(deadline_ms, MAY) BOOL(drain, MAY))

CALL(TRIAL_RESULT, trial_result, trial_result_args, accepted, WRITES, NEVER)
STRUCT(trial_result_args,
    TEXT(trial, MUST, FORM(TRIAL)) I64(token, MUST) OBJECT(envelope, MUST, OF(envelope))
    TEXT(record, MUST, UP_TO(CALL_RECORD_BYTES)))

CALL(TRIAL_RELEASE, trial_release, trial_release_args, released, WRITES, NEVER)
STRUCT(trial_release_args, LIST(trials, MUST, OF(trial_ref)) BOOL(counted, MAY, OR(yes, true)) TEXT(why, EMPTY, UP_TO(300)))

CALL(RECORD_WAIT, record_wait, record_wait_args, record_wait_result, READS, RECORDS)
STRUCT(record_wait_args,
    TEXT(job, MUST, FORM(JOB)) I64(after, MAY) I64(max, MAY, .min = 1, .max = 1024, OR(i64, 64)) I64(wait_ms, MAY))
STRUCT(record_wait_result, LIST(records, MUST, OF(record_entry)) I64(next, MAY) TEXT(state, MAY))

CALL(REQUEUE, requeue, requeue_args, requeue_result, WRITES, NEVER)
STRUCT(requeue_args, TEXT(trial, MAY, FORM(TRIAL)) TEXT(job, MAY, FORM(JOB)))
STRUCT(requeue_result, I64(requeued, MAY))

CALL(AGENT_REGISTER, agent_register, agent_register_args, agent_register_result, WRITES, NEVER)
STRUCT(agent_register_args,
    TEXT(agent, MUST, FORM(NAME)) TEXT(nonce, MUST) TEXT(version, EMPTY) TEXT(key, MUST, FORM(NAME))
    TEXT(fingerprint, MUST, FORM(HASH)) ANY(device, MAY) BOOL(mix, MAY) TEXT(arch, MAY, FORM(ARCH))
    BOOL(builds, TIED, OR(yes, true)) I64(capacity, TIED, UP_TO(CALL_MAX_CAPACITY)))
STRUCT(agent_register_result,
    I64(lease_ms, MAY, .min = 1, .max = JSON_EXACT_MAX, OR(i64, CALL_LEASE_MS)) BOOL(builds, MAY))

CALL(BUILDER_REGISTER, builder_register, builder_register_args, builder_register_result, WRITES, NEVER)
STRUCT(builder_register_args,
    TEXT(agent, MUST, FORM(NAME)) TEXT(nonce, MUST) TEXT(version, EMPTY)
    TEXTS(arches, MUST, FORM(ARCH), .min = 1, UP_TO(CALL_MAX_ARCHES)) TEXT(compiler, EMPTY)
    TEXT(cage, EMPTY, UP_TO(CALL_CAGE_BYTES)))
STRUCT(builder_register_result, I64(lease_ms, MAY, .min = 1, .max = JSON_EXACT_MAX, OR(i64, CALL_LEASE_MS)))

CALL(BUILD_LEASE, build_lease, build_lease_args, build_lease_result, WRITES, BUILDS)
STRUCT(build_lease_args,
    I64(max, MAY, .min = 1, UP_TO(CALL_MAX_LEASE), OR(i64, 1)) TEXT(agent, MUST) TEXT(session_nonce, MAY)
    I64(wait_ms, MAY))
STRUCT(build_lease_result, LIST(builds, MUST, OF(build_grant)) I64(deadline_ms, MAY) BOOL(drain, MAY))

CALL(BUILD_RENEW, build_renew, build_refs, build_renew_result, READS, NEVER)
STRUCT(build_renew_result, LIST(lost, MUST, OF(build_ref)) I64(deadline_ms, MAY) BOOL(drain, MAY))

CALL(BUILD_RESULT, build_result, build_result_args, accepted, WRITES, NEVER)
STRUCT(build_result_args,
    TEXT(program, MUST, FORM(HASH)) TEXT(arch, MUST)
    TEXT(status, MUST, .one_of = "ok compile limits runtime timeout crash")
    TEXTS(blobs, MUST, FORM(HASH), UP_TO(CALL_MAX_BLOBS)) OBJECT(body, MUST))

CALL(BUILD_RELEASE, build_release, build_refs, released, WRITES, NEVER)

CALL(AGENT_BEAT, agent_beat, agent_beat_args, agent_beat_result, READS, NEVER)
STRUCT(agent_beat_args,
    TEXT(agent, MUST) TEXT(state, EMPTY) ANY(current, MAY) REAL(temperature, MAY, OR(real, NAN)) REAL(load, MAY)
    REAL(canary_ns, MAY, OR(real, NAN)) I64(done, MAY) I64(failed, MAY))
STRUCT(agent_beat_result, BOOL(drain, MAY))

CALL(AGENT_BYE, agent_bye, agent_bye_args, nothing, WRITES, NEVER)
STRUCT(agent_bye_args, TEXT(agent, MUST) TEXT(session_nonce, MAY))

CALL(AGENT_MODE, agent_mode, agent_mode_args, agent_mode_result, WRITES, NEVER)
STRUCT(agent_mode_args,
    TEXT(agent, MUST, FORM(NAME)) TEXT(mode, MUST, .one_of = "serve drain reserve") TEXT(user, EMPTY, UP_TO(CALL_USER_BYTES)))
STRUCT(agent_mode_result, BOOL(absent, MAY))

CALL(DEVICES, devices, devices_args, devices_result, READS, NEVER)
STRUCT(devices_args, TEXT(key, EMPTY) I64(after, MAY) I64(max, MAY))
STRUCT(devices_result, LIST(devices, MUST, OF(peer_entry)) LIST(builders, MAY, OF(peer_entry)) I64(next, MAY))

CALL(STATUS, status, nothing, status_result, READS, NEVER)
STRUCT(status_result,
    TEXT(server, MAY) TEXT(boot, MAY) I64(started_ms, MAY) I64(now_ms, MAY) I64(jobs, MAY) I64(trials_live, MAY)
    I64(agents, MAY) I64(sessions, MAY) I64(requests, MAY) I64(refused, MAY) I64(grants, MAY) I64(results, MAY)
    I64(duplicates, MAY) I64(expired, MAY) I64(lost, MAY) I64(answered_from_store, MAY) I64(commits, MAY)
    I64(lease_ms, MAY) I64(builds, MAY) I64(builds_failed, MAY) TEXT(waits, MAY))

CALL(BACKUP, backup, backup_args, backup_result, WRITES, BACKUP)
STRUCT(backup_args, TEXT(path, MUST, FORM(PATH)) I64(wait_ms, MAY, OR(i64, 25000)))
STRUCT(backup_result, I64(bytes, MAY) BOOL(done, MAY))
#endif
/* clang-format on */

#undef CALL
#undef CALL_LIST
#undef STRUCT
#undef MEMBER
#undef TEXT
#undef I64
#undef REAL
#undef BOOL
#undef OBJECT
#undef LIST
#undef TEXTS
#undef ANY
#undef MUST
#undef MAY
#undef EMPTY
#undef OR_NULL
#undef TIED
#undef FORM
#undef UP_TO
#undef OR
#undef OF
