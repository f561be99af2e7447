/* SPDX-License-Identifier: MIT */
/* Which programs of a batch a child puts through all passes of their sheets, and what it tells of the others. */
#include "agent/child.h"
#include "agent/child_ops.h"
#include "agent/workdir.h"
#include "asked_child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

/* sample_sheet in the work directory. */
static struct sha256 store_sheet(double first, double second, int i_wrong, bool second_is_last)
{
    struct sample m;
    const struct sha256 name = sample_sheet(&m, first, second, i_wrong, second_is_last);

    for (size_t i = 0; i < m.blobs.n; i++)
        assert_int_equal(workdir_put(&dir, &m.blobs, m.blobs.items[i].name.hex, NULL), ERR_OK);
    sample_fini(&m);
    return name;
}

/* What the child told of where it is. */
static void drain(void)
{
    char bytes[4096];

    while (recv(fds[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

#define RULES "\"rounds\":3,\"rounds_near_best\":3,\"min_calls\":3,\"warmup\":1,\"min_slot_ns\":100000"

/* One that is far from the best, or slow and not to be chosen, is no candidate, and spared its run. Last passes are for
 * what may be chosen: what is asked for in any case, the fastest of a batch of finals, and of a search what is faster
 * than all that is known. What was left out is told. */
static void candidates_are_verified_on_a_sheets_last_pass(void **state)
{
    static const struct {
        const char *rules;
        double ns;
        bool is_last, shows, in_part;
    } cases[] = {{"", 2e4, false, true, false},
                 {",\"may_censor\":true,\"best_ns\":100", 2e4, false, false, true},
                 {",\"may_censor\":true,\"best_ns\":100,\"prove\":\"no\"", 2e4, false, false, true},
                 {",\"may_censor\":true,\"prove\":\"least\",\"known_ns\":6000", 2e4, false, false, true},
                 {",\"may_censor\":true,\"prove\":\"least\",\"known_ns\":7000", 2e4, false, true, false},
                 {",\"may_censor\":true,\"prove\":\"least\"", 1e8, false, true, false},
                 {",\"may_censor\":true,\"best_ns\":90000000,\"prove\":\"least\"", 1e8, false, false, true},
                 {",\"prove\":\"winner\"", 1e8, false, true, false},
                 {",\"may_censor\":true,\"best_ns\":19000,\"prove\":\"least\"", 2e4, false, true, false},
                 {",\"may_censor\":true,\"best_ns\":19000,\"prove\":\"least\"", 2e4, true, false, true},
                 {",\"may_censor\":true,\"best_ns\":21000,\"prove\":\"least\"", 2e4, true, true, false},
                 {",\"may_censor\":true,\"prove\":\"least\"", 2e4, true, true, false},
                 {",\"may_censor\":true,\"prove\":\"least\",\"known_ns\":19000", 2e4, true, false, true},
                 {",\"may_censor\":true,\"prove\":\"least\",\"known_ns\":21000", 2e4, true, true, false},
                 {",\"best_ns\":19000,\"prove\":\"winner\"", 2e4, true, true, false},
                 {",\"best_ns\":19000,\"prove\":\"each\"", 2e4, true, true, false},
                 {",\"best_ns\":21000,\"prove\":\"no\"", 2e4, true, false, true},
                 {",\"best_ns\":21000,\"prove\":\"winner\",\"proven\":true", 2e4, true, false, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sha256 good = store(sample_good, 64), sheet = store_sheet(3, 4, 1, cases[i].is_last);
        cJSON *ask =
            request("{\"op\":\"time\",\"seed\":5,\"trials\":[{\"program\":\"%s\",\"sheet\":\"%s\"," RULES "%s}]}",
                    good.hex, sheet.hex, cases[i].rules);
        cJSON *reply;
        const cJSON *o;

        fake.good_ns = (int64_t)cases[i].ns;
        reply = child_time(&child, ask);
        o = cJSON_GetArrayItem(cJSON_GetObjectItem(reply, "trials"), 0);
        cJSON_Delete(ask);
        drain();
        if (strcmp(text_of(o, "status"), cases[i].shows ? "wrong" : "ok") != 0)
            fail_msg("case %zu is %s", i, text_of(o, "status"));
        if (cJSON_IsTrue(cJSON_GetObjectItem(o, "in_part")) != cases[i].in_part)
            fail_msg("case %zu: in part or not", i);
        if (cases[i].shows)
            assert_string_equal(text_of(o, "why"), "pass second: y[9] is 5, expected 6; 1 of 10 wrong");
        cJSON_Delete(reply);
    }
}

/* A slow one whose sheet is in order, and two fast ones whose sheets' last passes call them wrong. */
static void when_who_wins_is_wrong_the_next_is_put_through(void **state)
{
    static const char *const ways[] = {"winner", "least", "no"};
    const struct sha256 slow = store(sample_slower, 64), fast = store(sample_good, 64);
    const struct sha256 right = store_sheet(3, 4, -1, true), wrong = store_sheet(3, 4, 1, true);

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        cJSON *ask = request("{\"op\":\"time\",\"seed\":5,\"trials\":["
                             "{\"program\":\"%s\",\"sheet\":\"%s\"," RULES ",\"prove\":\"%s\"},"
                             "{\"program\":\"%s\",\"sheet\":\"%s\"," RULES ",\"prove\":\"%s\"},"
                             "{\"program\":\"%s\",\"sheet\":\"%s\"," RULES ",\"prove\":\"%s\"},"
                             "{\"program\":\"%s\",\"sheet\":\"%s\"," RULES ",\"prove\":\"%s\"}]}",
                             slow.hex, right.hex, ways[i], fast.hex, wrong.hex, ways[i], fast.hex, wrong.hex, ways[i],
                             slow.hex, right.hex, ways[i]);
        cJSON *reply = child_time(&child, ask);
        const cJSON *trials = cJSON_GetObjectItem(reply, "trials"), *o;
        int n_in_part = 0;

        cJSON_Delete(ask);
        drain();
        for (int k = 0; k < 4; k++) {
            o = cJSON_GetArrayItem(trials, k);
            assert_string_equal(text_of(o, "status"), i < 2 && (k == 1 || k == 2) ? "wrong" : "ok");
            n_in_part += cJSON_IsTrue(cJSON_GetObjectItem(o, "in_part"));
        }
        assert_int_equal(n_in_part, i < 2 ? 1 : 4); /* of the slow ones one is as good as the other */
        cJSON_Delete(reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(candidates_are_verified_on_a_sheets_last_pass, asked_begin, asked_end),
        cmocka_unit_test_setup_teardown(when_who_wins_is_wrong_the_next_is_put_through, asked_begin, asked_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
