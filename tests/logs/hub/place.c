/* SPDX-License-Identifier: MIT */
#include "place.h"

#include "core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct place place;

const char *place_at(const char *name)
{
    static char paths[8][700];
    static size_t i;

    i = (i + 1) % 8;
    snprintf(paths[i], sizeof paths[i], "%s/%s", place.dir, name);
    return paths[i];
}

int place_begin(void **state)
{
    char endpoint[64];

    (void)state;
    server_forget_environment();
    server_start(&place.server);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", place.server.port);
    setenv("AWS_ENDPOINT_URL", endpoint, 1);
    if (dir_temporary("hub", place.dir, sizeof place.dir, NULL))
        return -1;
    return hub_open(&(struct hub_options){.n_tries = 2, .wait_s = 0.05}, &place.hub, NULL) != ERR_OK;
}

int place_end(void **state)
{
    (void)state;
    hub_close(place.hub);
    server_stop(&place.server);
    dir_remove(place.dir);
    return 0;
}

struct hub_url place_url(const char *path)
{
    char text[300];
    struct hub_url u;

    snprintf(text, sizeof text, "http://127.0.0.1:%u%s", place.server.port, path);
    assert_int_equal(hub_url_parse(text, &u, NULL), ERR_OK);
    return u;
}

struct hub_url place_s3_url(const char *key)
{
    char text[300];
    struct hub_url u;

    snprintf(text, sizeof text, "s3://bucket/%s", key);
    assert_int_equal(hub_url_parse(text, &u, NULL), ERR_OK);
    return u;
}

void place_check_asked(const char *expected)
{
    assert_string_equal(place.server.asked, expected);
    place.server.asked[0] = '\0';
}

void place_check_object(const char *path, const char *expected)
{
    const struct server_object *o = server_find(&place.server, path);

    if (!o || strcmp(o->bytes, expected) != 0)
        fail_msg("%s: '%s', expected '%s'", path, o ? o->bytes : "nothing", expected);
}

void place_check_file(const char *path, const char *expected)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(file_read(path, &b, NULL), ERR_OK);
    assert_string_equal(buf_text(&b), expected);
    buf_fini(&b);
}

void place_write_text(const char *path, const char *text)
{
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}
