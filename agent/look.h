/* SPDX-License-Identifier: MIT */
/* look.h - what `tune doctor` asks of the agent: is there on this machine what a backend's devices need? */
#ifndef TUNE_AGENT_LOOK_H
#define TUNE_AGENT_LOOK_H

/* Prints a line for each thing looked at: "ok", "note" or "FAILED", a tab, what it is, a tab, words. Loads libraries of
 * drivers into this process. `device` as for --device. The exit code: 1 when something failed. */
int look_around(const char *device);

#endif
