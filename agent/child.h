/* SPDX-License-Identifier: MIT */
/* child.h - what runs in a child process: one device, one request at a time over fd 3. Started by exec as
 * `tune-agent --child MODE DEVICE DIR CACHE CAGE` (with MODE "compile" no device is opened, and only
 * the last two of the requests below are for it); it may crash or hang, and its parent sees to that.
 *
 * Requests and replies: agent/child_list.h. */
#ifndef TUNE_AGENT_CHILD_H
#define TUNE_AGENT_CHILD_H

/* argv as main's; never returns before the parent closes the stream. The exit code. */
int child_main(int argc, char **argv);

#endif
