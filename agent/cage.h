/* SPDX-License-Identifier: MIT */
/* cage.h - what a child may still do: it runs kernels of strangers, in its own process. The parent plans namespaces
 * and starts the child in them (proc.h); the child shuts the rest behind itself before it opens its device: a root with
 * nothing in it but drivers and its work directory, a user of its own where the agent is root, no capabilities, limits,
 * Landlock, a filter of system calls. Each part that the system refuses is left out, and said. docs/security.md. */
#ifndef TUNE_AGENT_CAGE_H
#define TUNE_AGENT_CAGE_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CAGE_SEES_BYTES 65536 /* of the list of paths: an argument of a program may have twice that */
#define CAGE_WORDS_BYTES 600

struct cage {
    bool on;
    bool must;        /* a child that lacks any part of it is to refuse its work */
    int spaces;       /* CLONE_NEW* that this system gives; 0 = none */
    unsigned uid;     /* who the children of an agent that is root become; 0 = they stay who they are */
    const char *sees; /* more paths that children may read, "/opt/driver:/data"; "" = none. The caller's. */
};

/* What is missing of a cage, for people: "" = nothing. */
struct cage_report {
    char lacks[CAGE_WORDS_BYTES];
};

/* Finds out, by starting a process in them, which namespaces may be had. Keeps `sees`. */
void cage_plan(struct cage *c, const char *sees);

/* Are these paths that children can be shown: whole ones, of files that there are? ERR_INPUT, ERR_LIMIT. */
enum err cage_check_sees(const char *sees, struct why *why);

/* Appends the child's argument that tells it of the plan; nothing without a cage. ERR_NOMEM. */
enum err cage_to_text(const struct cage *c, struct buf *out);

/* Does a child get this "NAME=value" of the agent's environment? Not what loaders, compilers and drivers have no use
 * for: it may be a secret. */
bool cage_shows_variable(const char *entry);

/* For people: "whole", "off", or what it is without. */
#define CAGE_LINE_BYTES (CAGE_WORDS_BYTES + 16)
void cage_words(const struct cage *c, const struct cage_report *r, char out[CAGE_LINE_BYTES]);

/* Of a child, before it has threads or a device: goes into the cage of `text`. It sees `dir`, may write `cache_dir`
 * (NULL = nothing), and what `device` ("opencl:0.0", "cuda:0", "none") needs. `report` says what could not be done; a
 * text that no agent wrote is no cage at all. ERR_UNSUPPORTED: it lacks something and must not. */
enum err cage_enter(const char *text, const char *dir, const char *cache_dir, const char *device,
                    struct cage_report *report, struct why *why);

/* Ends all that the child's programs have started and left, where the child has its processes to itself. */
void cage_sweep(void);

#endif
