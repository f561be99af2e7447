/* SPDX-License-Identifier: MIT */
/* A farm in parts: what one tracker says of its own, and client.c between two of them at several addresses. */
#include "tests/tracker/wire.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- which part ---- */

static void a_key_and_a_number_lead_to_a_part_for_good(void **state)
{
    (void)state;
    assert_int_equal(part_of_key("rk3399-mali", 1), 1);
    assert_int_equal(part_of_key("123456789", 2), 2); /* CRC-32C 0xe3069283 */
    assert_int_equal(part_of_key("123456789", 3), 1);
    assert_int_equal(part_of_key("123456789", 64), 4);
    assert_int_equal(part_of_id(1, 1), 1);
    assert_int_equal(part_of_id(7, 3), 1);
    assert_int_equal(part_of_id(8, 3), 2);
    assert_int_equal(part_of_id(9, 3), 3);
}

static void a_call_is_for_the_part_that_it_names(void **state)
{
    static const struct {
        const char *args;
        int64_t part;
    } calls[] = {
        {"{\"job\":\"j8\",\"key\":\"123456789\"}", 2},
        {"{\"trial\":\"t9\",\"envelope\":{\"key\":\"123456789\"}}", 3},
        {"{\"key\":\"123456789\"}", 1},
        {"{\"key\":\"\"}", 0},
        {"{\"job\":\"x\",\"trial\":7}", 0},
        {"{}", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        cJSON *args = cJSON_Parse(calls[i].args);

        assert_int_equal(part_of_args(args, 3), calls[i].part);
        cJSON_Delete(args);
    }
}

/* ---- trackers ---- */

/* A key of that part of two. */
static const char *key_of(int64_t part)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (part_of_key(keys[i], 2) == part)
            return keys[i];
    fail_msg("no key is of part %d", (int)part);
    return "";
}

static void start_part(struct rig *r, int64_t part)
{
    rig_init(r);
    rng_init(&r->rng, (uint64_t)part); /* no session of one is known to the other */
    r->options.part = part;
    r->options.n_parts = 2;
    rig_start(r);
}

static void submit(struct rig *r, const char *key, const char *expected)
{
    cJSON *result = rig_must(r, "job_submit", "{'body':'b','key':'%s','lease':true}", key);

    assert_string_equal(text_in(result, "job"), expected);
    cJSON_Delete(result);
}

static void add(struct rig *r, const char *job, int n, const char *expected)
{
    cJSON *result = rig_must(r, "trial_add", "{'job':'%s','token':1,'trials':[{'n':%d,'program':'%s','body':{}}]}", job,
                             n, hash_of(n));

    assert_string_equal(text_in(item_in(result, "trials", 0), "trial"), expected);
    cJSON_Delete(result);
}

static void numbers_go_in_steps_of_the_parts(void **state)
{
    struct rig r;

    (void)state;
    start_part(&r, 2);
    submit(&r, key_of(2), "j2");
    submit(&r, key_of(2), "j4");
    add(&r, "j2", 0, "t2");
    add(&r, "j2", 1, "t4");
    rig_crash(&r);
    submit(&r, key_of(2), "j6");
    add(&r, "j4", 0, "t6");
    rig_stop(&r);
    start_part(&r, 1);
    submit(&r, key_of(1), "j1");
    add(&r, "j1", 0, "t1");
    rig_crash(&r);
    submit(&r, key_of(1), "j3");
    add(&r, "j3", 0, "t3");
    rig_stop(&r);
}

static void a_tracker_refuses_what_is_another_parts(void **state)
{
    struct rig r;

    (void)state;
    start_part(&r, 2);
    submit(&r, key_of(2), "j2");
    rig_refused(&r, ERR_NOT_FOUND, "this tracker has part 2 of 2", "hello", "{'nonce':'%032d','versions':[1],'part':1}",
                1);
    rig_refused(&r, ERR_INPUT, "expected the job's key (--key SLUG)", "job_submit", "{'body':'b'}");
    rig_refused(&r, ERR_INPUT, "is of part 1 of this farm, and this tracker has part 2 of 2", "job_submit",
                "{'body':'b','key':'%s'}", key_of(1));
    rig_refused(&r, ERR_INPUT, "is of part 1 of this farm", "agent_register",
                "{'agent':'a','nonce':'n','key':'%s','fingerprint':'%s'}", key_of(1), hash_of(1));
    rig_refused(&r, ERR_INPUT, "is of part 1 of this farm", "trial_add",
                "{'job':'j2','token':1,'trials':[{'n':0,'key':'%s','program':'%s','body':{}}]}", key_of(1), hash_of(1));
    rig_do(&r, "hello", "{'nonce':'%032d','versions':[1],'part':2}", 1);
    rig_stop(&r);
}

/* ---- clients: three addresses, of which each leads to one of two trackers, or to nobody ---- */

#define N_HOSTS 3

struct hosts {
    struct wire wires[2]; /* to the trackers of part 1 and 2 */
    struct rig rigs[2];
    int part_at[N_HOSTS]; /* 0 = nobody listens */
    int comes_at;         /* after so many dials in vain the second part is at the last address; 0 = never */
    int n_vain;
};

struct line {
    struct hosts *hosts;
    struct line *lines[2]; /* of transport_wire */
    int at;
};

static enum err hosts_open(void *arg, const char *url, struct line **out, struct why *why)
{
    struct line *l = calloc(1, sizeof *l);

    l->hosts = arg;
    for (int i = 0; i < 2; i++)
        transport_wire.open(&l->hosts->wires[i], url, &l->lines[i], why);
    *out = l;
    return ERR_OK;
}

static void hosts_turn(struct line *l)
{
    l->at = (l->at + 1) % N_HOSTS;
}

static enum err hosts_exchange(struct line *l, const void *bytes, size_t n, int64_t timeout_ms, struct letter *reply)
{
    struct hosts *h = l->hosts;
    const int part = h->part_at[l->at];

    if (part)
        return transport_wire.exchange(l->lines[part - 1], bytes, n, timeout_ms, reply);
    rig_sleep(&h->rigs[0], 1000);
    hosts_turn(l);
    if (++h->n_vain == h->comes_at)
        h->part_at[N_HOSTS - 1] = 2;
    return ERR_UNREACHABLE;
}

static void hosts_abort(struct line *l)
{
    (void)l;
    fail_msg("no call is under way that could be aborted");
}

static void hosts_close(struct line *l)
{
    for (int i = 0; i < 2; i++)
        transport_wire.close(l->lines[i]);
    free(l);
}

static struct transport_ops transport_hosts = {.name = "hosts",
                                               .open = hosts_open,
                                               .exchange = hosts_exchange,
                                               .abort = hosts_abort,
                                               .close = hosts_close,
                                               .turn = hosts_turn};

static void sleep_ms(void *arg, int64_t ms)
{
    rig_sleep(arg, ms);
}

static int start(void **state)
{
    struct hosts *h = calloc(1, sizeof *h);

    for (int i = 0; i < 2; i++) {
        start_part(&h->rigs[i], i + 1);
        h->wires[i].r = &h->rigs[i];
        h->part_at[i] = i + 1;
    }
    h->wires[0].clock = h->rigs[0].clock;
    h->wires[0].clock.sleep_ms = sleep_ms;
    transport_hosts.discard = transport_wire.discard;
    transport_hosts.turn = hosts_turn;
    *state = h;
    return 0;
}

static int stop(void **state)
{
    struct hosts *h = *state;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(h->wires[i].n_open, 0);
        for (int k = 0; k < h->wires[i].n; k++)
            cJSON_Delete(h->wires[i].seen[k]);
        rig_stop(&h->rigs[i]);
    }
    free(h);
    return 0;
}

static bool for_a_minute(int64_t out_ms, const char *does, void *arg)
{
    (void)does;
    (void)arg;
    return out_ms < 60000;
}

static struct client *open_client(struct hosts *h)
{
    const struct client_options o = {.url = "tcp://farm:1",
                                     .waiting = for_a_minute,
                                     .transport = &transport_hosts,
                                     .transport_arg = h,
                                     .clock = &h->wires[0].clock,
                                     .entropy = &h->rigs[0].entropy};
    struct client *c = NULL;
    struct why why = {""};

    if (client_open(&o, &c, &why) != ERR_OK)
        fail_msg("%s", why.text);
    return c;
}

/* A call that goes well; the text `name` of its result goes to `out` (64 bytes) where there is one. */
static void do_call(struct client *c, const char *op, cJSON *args, const char *name, char *out)
{
    cJSON *result = NULL;
    struct why why = {""};

    if (client_call(c, op, args, NULL, 0, &result, NULL, &why) != ERR_OK)
        fail_msg("%s: %s", op, why.text);
    if (name)
        snprintf(out, 64, "%s", text_in(result, name));
    cJSON_Delete(result);
}

static cJSON *args(const char *format, ...)
{
    va_list list;
    cJSON *tree;

    va_start(list, format);
    tree = args_of(format, list);
    va_end(list);
    return tree;
}

static void enrol(struct client *c, int64_t part)
{
    do_call(c, "agent_register",
            args("{'agent':'a%d','nonce':'n','key':'%s','fingerprint':'%s'}", (int)part, key_of(part), hash_of(1)),
            NULL, NULL);
}

static void calls_go_to_the_part_of_their_job_or_key(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    char got[64];

    assert_int_equal(client_parts(c), 2);
    for (int part = 1; part <= 2; part++) {
        do_call(c, "job_submit", args("{'body':'b','key':'%s'}", key_of(part)), "job", got);
        assert_string_equal(got, part == 1 ? "j1" : "j2");
    }
    do_call(c, "job_cancel", args("{'job':'j2'}"), "state", got);
    assert_int_equal(((struct tracker_job *)table_get_i64(&h->rigs[1].t->jobs, 2))->state, JOB_CANCELLED);
    assert_int_equal(((struct tracker_job *)table_get_i64(&h->rigs[0].t->jobs, 1))->state, JOB_OPEN);
    client_close(c);
}

static void a_client_that_settled_has_its_other_calls_there(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    struct why why = {""};

    assert_int_equal(client_settle_job(c, "j4", &why), ERR_OK);
    do_call(c, "blob_have", args("{'sha256':['%s']}", hash_of(1)), NULL, NULL);
    assert_string_equal(text_in(h->wires[1].seen[h->wires[1].n - 1], "op"), "blob_have");
    assert_int_equal(client_settle_key(c, key_of(1), &why), ERR_OK);
    do_call(c, "blob_have", args("{'sha256':['%s']}", hash_of(1)), NULL, NULL);
    assert_string_equal(text_in(h->wires[0].seen[h->wires[0].n - 1], "op"), "blob_have");
    assert_int_equal(client_settle(c, 3, &why), ERR_INPUT);
    assert_string_equal(why.text, "part 3: this farm has the parts 1 to 2");
    assert_int_equal(client_settle_job(c, "x", &why), ERR_INPUT);
    assert_false(client_tracker_restarted(c));
    client_close(c);
}

/* The tracker dies with a lease out, and another has its part at another address. */
static void a_part_is_found_at_another_address_when_its_tracker_died(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    char got[64];

    assert_int_equal(client_settle(c, 2, NULL), ERR_OK);
    do_call(c, "job_submit", args("{'body':'b','key':'%s'}", key_of(2)), "job", got);
    rig_crash(&h->rigs[1]);
    h->part_at[1] = 0;
    h->comes_at = h->n_vain + 3; /* nobody has it for a while */
    do_call(c, "job_cancel", args("{'job':'%s'}", got), "state", got);
    assert_string_equal(got, "cancelled");
    assert_true(client_tracker_restarted(c));
    client_close(c);
}

/* ... and the address of the dead one leads to the tracker of another part: its session is nobody's there. */
static void a_tracker_that_has_another_part_now_is_left(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    char got[64];

    assert_int_equal(client_settle(c, 2, NULL), ERR_OK);
    h->part_at[0] = 2;
    h->part_at[1] = 1;
    do_call(c, "job_submit", args("{'body':'b','key':'%s'}", key_of(2)), "job", got);
    assert_string_equal(got, "j2");
    client_close(c);
}

/* A thousand agents of a part that is away are no burden to another's tracker. */
static void trackers_of_other_parts_are_asked_less_and_less(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    const int before = h->wires[0].n;

    h->part_at[1] = h->part_at[2] = 1;
    assert_int_equal(client_settle(c, 2, NULL), ERR_UNREACHABLE);
    assert_in_range(h->wires[0].n - before, 20, 50);
    client_close(c);
}

/* Nor is it of a part that it did not reach: what it asks of all is asked of each. */
static void a_client_that_did_not_settle_is_of_its_part_still(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    struct why why = {""};
    cJSON *tree = NULL;

    enrol(c, 1);
    enrol(c, 2);
    h->part_at[1] = 1;
    assert_int_equal(client_settle(c, 2, NULL), ERR_UNREACHABLE);
    assert_int_equal(client_settle(c, 2, NULL), ERR_UNREACHABLE);
    h->part_at[1] = 2;
    assert_int_equal(client_all_devices(c, NULL, &tree, &why), ERR_OK);
    assert_int_equal(count_in(tree, "devices"), 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(number_in(item_in(tree, "devices", i), "part"), i + 1);
    cJSON_Delete(tree);
    rig_crash(&h->rigs[0]);
    do_call(c, "blob_have", args("{'sha256':['%s']}", hash_of(1)), NULL, NULL);
    assert_true(client_tracker_restarted(c));
    client_close(c);
}

static void all_parts_tell_of_their_devices(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    struct why why = {""};
    cJSON *tree = NULL;

    enrol(c, 1);
    enrol(c, 2);
    assert_int_equal(client_all_devices(c, NULL, &tree, &why), ERR_OK);
    assert_int_equal(count_in(tree, "devices"), 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(number_in(item_in(tree, "devices", i), "part"), i + 1);
    cJSON_Delete(tree);
    assert_int_equal(client_all_devices(c, key_of(2), &tree, &why), ERR_OK);
    assert_int_equal(count_in(tree, "devices"), 1);
    assert_string_equal(text_in(item_in(tree, "devices", 0), "agent"), "a2");
    cJSON_Delete(tree);
    client_close(c);
}

static void what_lacks_of_a_part_that_is_away_is_told(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);
    struct why why = {""};
    cJSON *tree = NULL;

    enrol(c, 1);
    h->part_at[1] = 0;
    assert_int_equal(client_all_devices(c, NULL, &tree, &why), ERR_UNREACHABLE);
    assert_int_equal(count_in(tree, "devices"), 1);
    assert_string_equal(why.text, "part 2 of the farm: no tracker of it answers at tcp://farm:1 (tried 3 times in 10 "
                                  "s): what it has is left out");
    cJSON_Delete(tree);
    client_close(c);
}

static void one_address_of_a_farm_in_parts_is_told_at_once(void **state)
{
    struct hosts *h = *state;
    struct client *c;
    struct why why = {""};
    const int64_t began_ns = h->rigs[0].now_ns;
    cJSON *tree = NULL;

    transport_hosts.turn = NULL;
    c = open_client(h);
    assert_int_equal(client_all_devices(c, NULL, &tree, &why), ERR_UNREACHABLE);
    assert_string_equal(why.text,
                        "part 2 of the farm: the tracker at tcp://farm:1 has another: what it has is left out");
    assert_int_equal(client_settle(c, 2, &why), ERR_UNREACHABLE);
    assert_string_equal(why.text, "part 2 of the farm: the tracker at tcp://farm:1 has another");
    assert_true(h->rigs[0].now_ns - began_ns < 1000000000);
    cJSON_Delete(tree);
    client_close(c);
}

static cJSON *know_no_parts(cJSON *reply)
{
    cJSON *result = cJSON_GetObjectItem(reply, "result");

    cJSON_DeleteItemFromObject(result, "part");
    cJSON_DeleteItemFromObject(result, "parts");
    return reply;
}

/* One that answers whoever says hello is of another farm. */
static void a_tracker_that_knows_no_parts_is_none_of_them(void **state)
{
    struct hosts *h = *state;
    struct client *c = open_client(h);

    h->wires[0].plan[h->wires[0].n] = ALTERED;
    h->wires[0].alter = know_no_parts;
    h->rigs[0].t->o.part = 2; /* it takes the hello */
    assert_int_equal(client_settle(c, 2, NULL), ERR_OK);
    h->rigs[0].t->o.part = 1;
    assert_string_equal(text_in(h->wires[1].seen[h->wires[1].n - 1], "op"), "hello");
    client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_and_a_number_lead_to_a_part_for_good),
        cmocka_unit_test(a_call_is_for_the_part_that_it_names),
        cmocka_unit_test(numbers_go_in_steps_of_the_parts),
        cmocka_unit_test(a_tracker_refuses_what_is_another_parts),
        cmocka_unit_test_setup_teardown(calls_go_to_the_part_of_their_job_or_key, start, stop),
        cmocka_unit_test_setup_teardown(a_client_that_settled_has_its_other_calls_there, start, stop),
        cmocka_unit_test_setup_teardown(a_part_is_found_at_another_address_when_its_tracker_died, start, stop),
        cmocka_unit_test_setup_teardown(a_tracker_that_has_another_part_now_is_left, start, stop),
        cmocka_unit_test_setup_teardown(trackers_of_other_parts_are_asked_less_and_less, start, stop),
        cmocka_unit_test_setup_teardown(a_client_that_did_not_settle_is_of_its_part_still, start, stop),
        cmocka_unit_test_setup_teardown(all_parts_tell_of_their_devices, start, stop),
        cmocka_unit_test_setup_teardown(what_lacks_of_a_part_that_is_away_is_told, start, stop),
        cmocka_unit_test_setup_teardown(one_address_of_a_farm_in_parts_is_told_at_once, start, stop),
        cmocka_unit_test_setup_teardown(a_tracker_that_knows_no_parts_is_none_of_them, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
