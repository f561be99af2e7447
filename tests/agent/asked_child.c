/* SPDX-License-Identifier: MIT */
#include "asked_child.h"

#include "agent/child_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

struct child child;
struct workdir dir;
int fds[2];

int asked_begin(void **state)
{
    struct why why = {""};

    (void)state;
    fake_reset();
    if (workdir_open(&dir, &why) || socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        return -1;
    setenv("TUNE_LOCK_DIR", dir.temp.path, 1);
    child = (struct child){.fd = fds[1], .ops = &fake_ops, .dir = dir.temp.path, .lock_fd = -1};
    return 0;
}

int asked_end(void **state)
{
    (void)state;
    child_drop_anchor(&child);
    canary_close(child.canary);
    close(fds[0]);
    close(fds[1]);
    workdir_close(&dir);
    return fake.n_loads == fake.n_unloads ? 0 : -1;
}

struct sha256 store(const char *source, int64_t block)
{
    struct sha256 name;
    struct why why = {""};
    struct sample m;

    sample_make(&m, source, block);
    name = sample_seal(&m);
    for (size_t i = 0; i < m.blobs.n; i++)
        assert_int_equal(workdir_put(&dir, &m.blobs, m.blobs.items[i].name.hex, &why), ERR_OK);
    sample_fini(&m);
    return name;
}

cJSON *request(const char *format, ...)
{
    char text[2000];
    va_list args;
    cJSON *json;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json = cJSON_Parse(text);
    assert_non_null(json);
    return json;
}

const char *text_of(const cJSON *o, const char *name)
{
    const char *text = "(nothing)";

    json_get_text(o, name, &text, NULL);
    return text;
}
