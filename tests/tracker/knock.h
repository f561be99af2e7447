/* SPDX-License-Identifier: MIT */
/* knock.h - strangers at a tracker's port: bare connections, and how many of them it has closed. */
#ifndef TUNE_TESTS_TRACKER_KNOCK_H
#define TUNE_TESTS_TRACKER_KNOCK_H

#include <stdbool.h>
#include <stdint.h>

/* What nng's peers say first, before messages. */
extern const unsigned char knock_head[8];

int port_of(const char *url);

/* Connects to 127.0.0.1; -1 when it is refused. From 127.0.0.1 or from 127.0.0.HOST. */
int dial(int port);
int dial_from(int host, int port);

/* Has the tracker closed it? What it sent is thrown away. */
bool is_closed(int fd);

/* Waits until at most `most` of them are not closed by the tracker, or `ms` are over; how many those are. */
int await_closed(const int *fds, int n, int most, int64_t ms);

#endif
