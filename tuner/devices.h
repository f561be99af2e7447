/* SPDX-License-Identifier: MIT */
/* devices.h - the devices a tracker knows of, as its `devices` call tells them. */
#ifndef TUNE_TUNER_DEVICES_H
#define TUNE_TUNER_DEVICES_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "runtime/device_desc.h"
#include "tracker/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICES_CAPACITY 16 /* trials that keep an agent busy which does not ask for more: two batches */
#define DEVICES_OPENING "the device is still being opened" /* a private farm's agent has not registered yet */

/* What a job needs to know of its device key. */
struct device_choice {
    char key[65];
    struct device_desc desc;
    struct sha256 fingerprint;
    size_t n_agents;  /* living agents with this key and fingerprint */
    int64_t capacity; /* trials that keep all of them busy */
};

/* Does the tracker know an agent of that key, be it away? False also when it cannot be asked. */
bool devices_are_there(struct client *c, const char *key);

/* Picks the device of `key` ("" = the only key there is). ERR_NOT_FOUND, with words: no agent at all, none of the key
 * that may come yet (its tracker has just started, or is away), or, without a key, agents of one key alone behind a
 * start of a tracker that has jobs of others; ERR_INPUT: a key that no agent has, or none given where there are
 * several; the words list the keys. */
enum err devices_choose(struct client *c, const char *key, struct device_choice *out, struct why *why);

/* The same from the result of the call; for tests, which need no tracker so. */
enum err devices_choose_from(const cJSON *devices, const char *key, struct device_choice *out, struct why *why);

/* Prints the table of `tune devices` (address of agents, key, state, what it does). */
enum err devices_print(const cJSON *devices, int64_t now_ms, struct buf *out);

#endif
