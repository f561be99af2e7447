/* SPDX-License-Identifier: MIT */
/* child_list.h - what an agent asks its children (agent/child.h), in the words of tracker/calls_list.h: of each request
 * NAME_args and NAME_reply. A child that could not open its device answers all with `refused`, words. Before its reply
 * it sends child_stage as it goes along. */
/* clang-format off */
STRUCT(child_stage, TEXT(at, MUST) I64(i, MAY, .min = SANDBOX_NOWHERE, .max = 1000, OR(i64, SANDBOX_NOWHERE)))
STRUCT(child_refusal, TEXT(refused, MUST))

/* canary: its figures are wanted; where there are none, canary_why; canary_unbuilt: only a compiler is missing. Of a
 * CUDA device builds, builds_why and compiler, too; compiles_apart: into code, so that another child can do it. cage:
 * what it lacks (cage.h). */
STRUCT(describe_args, TEXT(op, MAY) BOOL(canary, MAY))
STRUCT(describe_reply,
    TEXT(refused, MAY) OBJECT(device, MAY) BOOL(simulated, MAY) REAL(canary_ns, MAY) REAL(gflops, MAY)
    TEXT(canary_why, EMPTY) BOOL(canary_unbuilt, MAY) BOOL(builds, MAY, OR(yes, true)) TEXT(builds_why, EMPTY)
    BOOL(compiles_apart, MAY) TEXT(compiler, EMPTY) TEXT(cage, EMPTY))

/* once: passes of a sheet are left for timing */
STRUCT(verify_args, TEXT(op, MAY) TEXT(program, MUST) TEXT(sheet, EMPTY))
STRUCT(verify_reply,
    TEXT(refused, MAY) TEXT(status, EMPTY) TEXT(stage, EMPTY) TEXT(why, EMPTY) REAL(build_ms, MAY)
    BOOL(build_cached, MAY) TEXT(compiler, EMPTY) TEXT(built_by, EMPTY) REAL(verify_ms, MAY) BOOL(once, MAY)
    LIST(resources, MAY))

STRUCT(time_args,
    TEXT(op, MAY) TEXT(anchor, EMPTY) I64(seed, MAY, OR(i64, 1)) OBJECT(cool, MAY, OF(cool_rules))
    LIST(trials, MUST, OF(time_trial)))
STRUCT(time_trial,
    TEXT(program, MUST) TEXT(sheet, EMPTY) REAL(least_flops, MAY) BOOL(energy, MAY)
    I64(rounds, MAY, .min = 1, UP_TO(TIMING_MAX_ROUNDS), OR(i64, 5))
    I64(rounds_near_best, MAY, .min = 1, UP_TO(TIMING_MAX_ROUNDS), OR(i64, 9))
    I64(min_calls, MAY, .min = 1, UP_TO(1000), OR(i64, 3)) I64(warmup, MAY, UP_TO(100), OR(i64, 1))
    REAL(min_slot_ns, MAY, OR(real, 5e6)) REAL(best_ns, MAY) REAL(best_lnratio, MAY, OR(real, NAN)) REAL(bridge, MAY)
    BOOL(may_censor, MAY) TEXT(prove, MAY, OR(text, "each")) BOOL(proven, MAY) REAL(known_ns, MAY))
STRUCT(time_reply,
    TEXT(refused, MAY) LIST(trials, MAY, OF(timed_trial)) REAL(canary_before, MAY) REAL(canary_after, MAY)
    LIST(canary_rounds, MAY) REAL(gflops, MAY) TEXT(anchor_why, EMPTY) OBJECT(sense, MAY))
STRUCT(timed_trial,
    TEXT(status, EMPTY) TEXT(stage, MAY, OR(text, "time")) TEXT(cause, EMPTY) TEXT(why, EMPTY) REAL(device_ms, MAY)
    REAL(check_ms, MAY) REAL(time_ns, MAY) REAL(energy_j, MAY) REAL(lnratio, MAY, OR(real, NAN))
    REAL(se, MAY, OR(real, NAN)) I64(rounds, MAY) I64(calls, MAY) BOOL(censored, MAY) LIST(samples, MAY)
    LIST(anchors, MAY) LIST(anchor_slots, MAY) REAL(pack_ns, MAY)
    BOOL(in_part, MAY))

/* Before a batch: wait while the device is hotter than max_c (0 = never), at least pause_s, and, with throttled, while
 * its clocks are held down. */
STRUCT(cool_rules, REAL(max_c, MAY) REAL(pause_s, MAY) BOOL(throttled, MAY))

/* Of a child without a device. files: names in its cache. */
STRUCT(compiler_args, TEXT(op, MAY) LIST(sms, MUST))
STRUCT(compiler_reply, TEXT(refused, MAY) TEXT(compiler, EMPTY) TEXT(path, EMPTY) TEXT(cage, EMPTY))
STRUCT(compile_args,
    TEXT(op, MAY) TEXT(program, MUST) I64(sm, MUST, .min = 1, UP_TO(9999))
    I64(cuda_version, MAY, UP_TO(INT_MAX), OR(i64, INT_MAX)))
STRUCT(compile_reply,
    TEXT(status, EMPTY) TEXT(stage, EMPTY) TEXT(why, EMPTY) TEXT(compiler, EMPTY) REAL(build_ms, MAY)
    LIST(files, MAY) LIST(resources, MAY))
/* clang-format on */
