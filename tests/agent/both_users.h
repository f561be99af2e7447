/* SPDX-License-Identifier: MIT */
/* both_users.h - a test as root, and once more as an ordinary user, who may not go to where the build lies. */
#ifndef TUNE_TESTS_AGENT_BOTH_USERS_H
#define TUNE_TESTS_AGENT_BOTH_USERS_H

/* Runs `all`; of root before it a copy of this program as an ordinary user, who comes here again. The sum of both. */
int as_both_users(int argc, char **argv, int (*all)(void));

#endif
