/* SPDX-License-Identifier: MIT */
/* place.h - where a test of the hub happens: a server in this process, a hub that asks it, a directory. */
#ifndef TUNE_TESTS_HUB_PLACE_H
#define TUNE_TESTS_HUB_PLACE_H

#include "logs/hub/hub.h"
#include "server.h"

struct place {
    struct server server;
    struct hub *hub;
    char dir[256];
};
extern struct place place;

/* Around each test, as cmocka's setup and teardown: all of it is made anew. */
int place_begin(void **state);
int place_end(void **state);

/* A path in the directory; lent until the eighth call after this one. */
const char *place_at(const char *name);
/* A path of the server, and a key of its bucket. */
struct hub_url place_url(const char *path);
struct hub_url place_s3_url(const char *key);

/* Fail the test unless the server was asked just that since the last time; it has that object; the file holds that. */
void place_check_asked(const char *expected);
void place_check_object(const char *path, const char *expected);
void place_check_file(const char *path, const char *expected);
void place_write_text(const char *path, const char *text);

#endif
