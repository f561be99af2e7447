/* SPDX-License-Identifier: MIT */
/* attacks.h - what a hostile kernel's machine code may try, in a child of the agent. */
#ifndef TUNE_TESTS_AGENT_ATTACKS_H
#define TUNE_TESTS_AGENT_ATTACKS_H

/* Parts of a cage: any that an attack names stops it. */
enum attack_layer {
    BY_SPACES = 1,     /* namespaces: processes, System V IPC, names */
    BY_NETWORK = 2,    /* that of the network */
    BY_USER_SPACE = 4, /* that of users, which an ordinary user's agent makes */
    BY_ROOT = 8,       /* a root of its own */
    BY_LANDLOCK = 16,  /* files */
    BY_TCP = 32,       /* Landlock's of TCP, Linux 6.7 */
    BY_SCOPES = 64,    /* Landlock's of signals and abstract sockets, Linux 6.12 */
    BY_FILTER = 128,   /* of system calls */
    BY_USER = 256,     /* a user of its own */
    BY_NOT_ROOT = 512, /* the agent is an ordinary user's: the system */
    BY_ALWAYS = 1024,  /* what each child loses */
};

struct attack {
    const char *name;
    int (*run)(const char *argument); /* 0: it succeeded; the errno that it met */
};

/* NULL: there is none of that name. */
const struct attack *attack_find(const char *name);

/* Where the child may write; for attacks that need such a place. */
extern const char *attack_cache;

#endif
