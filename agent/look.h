/* SPDX-License-Identifier: MIT */
/* look.h - what `tune doctor` asks of the agent: is there on this machine what a backend's devices need? */
#ifndef TUNE_AGENT_LOOK_H
#define TUNE_AGENT_LOOK_H

enum finding { FINDING_OK, FINDING_NOTE, FINDING_FAILED };

/* What was found, a line on standard output: "ok", "note" or "FAILED", a tab, what it is about, a tab, words. After
 * look_in_json an object with the members finding, what and words; not NULL: and fingerprint. */
void look_tell(enum finding f, const char *what, const char *words, const char *fingerprint);
void look_in_json(void);

/* Tells each thing looked at. Loads libraries of drivers into this process. `device` as for --device. The exit code: 1
 * when something failed. */
int look_around(const char *device);

#endif
