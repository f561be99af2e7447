/* SPDX-License-Identifier: MIT */
/* child.h - what runs in a child process: one device, one request at a time over fd 3. Started by exec as
 * `tune-agent --child MODE DEVICE DIR CACHE` (with MODE "compile" no device is opened, and only
 * the last two of the requests below are for it); it may crash or hang, and its parent sees to that.
 *
 * Requests {"op": ..} and their replies; before its reply a child sends {"at": stage, "i": trial} as it goes along:
 *
 *   describe canary     {"device": {..}, "simulated": bool, "canary_ns", "gflops"}, of a CUDA device "builds",
 *                       "builds_why" and "compiler" too; canary figures when "canary": true was asked, and where there
 *                       are none "canary_why", "canary_unbuilt": only a compiler is missing
 *   verify program      {"status", "stage", "why", "build_ms", "build_cached", "verify_ms", "resources"}
 *   time trials[] anchor seed
 *                       {"trials": [{"status", "stage", "cause", "why", "time_ns", "lnratio", "se", "samples",
 *                       "anchors", "rounds", "calls", "censored", "device_ms"}], "canary_before", "canary_after",
 *                       "gflops"}
 *   compiler sms[]      {"compiler": "NVRTC 12.9", "path"} or {"refused": words}
 *   compile program sm  {"status", "stage", "why", "compiler", "build_ms", "files": [names in CACHE],
 *                       "resources"}
 */
#ifndef TUNE_AGENT_CHILD_H
#define TUNE_AGENT_CHILD_H

/* argv as main's; never returns before the parent closes the stream. The exit code. */
int child_main(int argc, char **argv);

#endif
