/* SPDX-License-Identifier: MIT */
/* Backups by wire: made beside the other calls. */
#include "tests/tracker/faulty_store.h"
#include "tests/tracker/rig.h"

#include "core/clock.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The whole reply to a backup, when its thread is done. */
static cJSON *backup_to(struct rig *r, const char *dir, const char *name)
{
    char path[400];
    struct errand *e;
    cJSON *reply;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    e = rig_send(r, "backup", "{'path':'%s'}", path);
    for (int i = 0; !e->left && i < 10000; i++) {
        clock_sleep_ms(1);
        r->now_ns += 1000000;
        rig_turn(r);
    }
    assert_true(e->left);
    reply = e->json;
    e->json = NULL;
    errand_free(e);
    return reply;
}

static void a_backup_is_made_only_where_it_is_allowed(void **state)
{
    struct rig *r = *state;
    cJSON *reply;

    rig_refused(r, ERR_AUTH, "--allow-backup", "backup", "{'path':'%s/b.sqlite'}", r->dir);
    r->t->o.allow_backup = true;
    rig_refused(r, ERR_INPUT, "expected a path of the tracker's host that begins with /", "backup",
                "{'path':'b.sqlite'}");
    reply = backup_to(r, r->dir, "b.sqlite");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object_in(reply, "result"), "done")));
    assert_true(number_in(object_in(reply, "result"), "bytes") >= 4096);
    cJSON_Delete(reply);
    reply = backup_to(r, r->dir, "b.sqlite");
    assert_string_equal(text_in(reply, "err"), "exists");
    cJSON_Delete(reply);
    reply = backup_to(r, "/nowhere/at/all", "b.sqlite"); /* and the tracker goes on */
    assert_string_equal(text_in(reply, "err"), "io");
    cJSON_Delete(reply);
    rig_do(r, "status", "{}");
}

/* The thread that makes it is held up; calls are answered, another path is refused, the same one waits for the same. */
static void calls_go_on_while_a_backup_is_made(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_stop(r);
    rig_init(r);
    store_faults = (struct store_faults){.backup_waits = true};
    r->options.ops = &faulty_store;
    r->options.allow_backup = true;
    rig_start(r);
    result = rig_must(r, "backup", "{'path':'%s/b.sqlite','wait_ms':0}", r->dir);
    assert_false(cJSON_IsTrue(cJSON_GetObjectItem(result, "done")));
    cJSON_Delete(result);
    rig_do(r, "job_submit", "{'title':'meanwhile','body':'b'}");
    rig_refused(r, ERR_BUSY, "b.sqlite is under way", "backup", "{'path':'%s/c.sqlite'}", r->dir);
    store_faults.backup_waits = false;
    result = backup_to(r, r->dir, "b.sqlite");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object_in(result, "result"), "done")));
    cJSON_Delete(result);
    result = backup_to(r, r->dir, "c.sqlite"); /* its turn */
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(object_in(result, "result"), "done")));
    cJSON_Delete(result);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        FACT(a_backup_is_made_only_where_it_is_allowed),
        FACT(calls_go_on_while_a_backup_is_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
