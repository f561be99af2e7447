/* SPDX-License-Identifier: MIT */
#include "agent/wrapper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As a shell would: a word with a slash is a path, others are looked up in PATH. */
static enum err find_program(const char *name, char out[PATH_MAX], struct why *why)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/')) {
        snprintf(out, PATH_MAX, "%s", name);
        if (access(out, X_OK) == 0)
            return ERR_OK;
    }
    while (!strchr(name, '/') && path && *path) {
        const int n = (int)strcspn(path, ":");

        snprintf(out, PATH_MAX, "%.*s/%s", n, path, name);
        if (n > 0 && access(out, X_OK) == 0)
            return ERR_OK;
        path += n + (path[n] == ':');
    }
    return why_set(why, ERR_NOT_FOUND, "--child-wrapper: there is no program '%.200s'", name);
}

enum err wrapper_init(struct wrapper *w, const char *text, struct why *why)
{
    char *rest = NULL;

    memset(w, 0, sizeof *w);
    if (snprintf(w->words, sizeof w->words, "%s", text ? text : "") >= (int)sizeof w->words)
        return why_set(why, ERR_INPUT, "--child-wrapper is longer than %zu bytes", sizeof w->words - 1);
    for (char *word = strtok_r(w->words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (w->n == WRAPPER_MAX_WORDS)
            return why_set(why, ERR_INPUT, "--child-wrapper has more than %d words", WRAPPER_MAX_WORDS);
        w->argv[w->n++] = word;
    }
    if (w->n == 0)
        return ERR_OK;
    w->argv[0] = w->program;
    return find_program(w->words + strspn(w->words, " \t"), w->program, why);
}
