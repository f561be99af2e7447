/* SPDX-License-Identifier: MIT */
/* An S3 store that is played, in place of the thread that speaks to one (tracker/carrier.h), and a peer who puts and
 * gets large blobs. What the store does takes time; at times it is away, says that it failed where it did not, refuses,
 * loses a blob or falsifies it, and nothing of that may cost a blob that it neither lost nor falsified. */
#include "tests/tracker/random_farm.h"

#include "tracker/carrier.h"
#include "tracker/vault.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS INT64_C(1000000)
#define AWAY_AFTER_MS 300
#define MAX_OBJECT 24000

/* ---- blobs, by number ---- */

static size_t size_of(int n)
{
    return STORE_LARGE_BYTES + 1 + (size_t)n * 1000;
}

static const char *bytes_of(int n)
{
    static char bytes[MAX_OBJECT];

    for (size_t i = 0; i < size_of(n); i++)
        bytes[i] = (char)(i % 251 * (i / 251) + (size_t)n);
    return bytes;
}

static const char *name_of(int n)
{
    static struct sha256 names[FARM_BLOBS];

    if (!names[n].hex[0])
        names[n] = sha256_of(bytes_of(n), size_of(n));
    return names[n].hex;
}

static int number_of(const char *hex)
{
    int n = 0;

    while (n < FARM_BLOBS && strcmp(name_of(n), hex) != 0)
        n++;
    return n;
}

void farm_blob(int n, struct blobs *out)
{
    blobs_init(out, MAX_OBJECT);
    assert_int_equal(blobs_put(out, bytes_of(n), size_of(n), NULL), ERR_OK);
}

/* ---- the S3 store: one for all carriers of a life ---- */

static struct {
    struct random_farm *farm;
    enum { NONE, WHOLE, FALSE } objects[FARM_BLOBS];
} s3;

struct carrier {
    struct load load;
    enum { IDLE, AT_WORK, DONE } state;
    int64_t due_ns;
};

enum err carrier_open(const char *url, double stall_s, struct carrier **out, struct why *why)
{
    (void)url, (void)stall_s, (void)why;
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    buf_init(&(*out)->load.bytes, MAX_OBJECT);
    return ERR_OK;
}

static void spoil(int n, int what)
{
    s3.objects[n] = what;
    s3.farm->blobs[n].spoilt_ns = s3.farm->rig.now_ns;
}

static enum err get(struct load *l, int n)
{
    if (s3.objects[n] == WHOLE && mishap(s3.farm, 30))
        spoil(n, chance(s3.farm, 500) ? NONE : FALSE);
    if (s3.objects[n] == NONE)
        return why_set(&l->why, ERR_NOT_FOUND, "it is not there");
    if (s3.objects[n] == FALSE)
        return why_set(&l->why, ERR_INPUT, "it has another content");
    return buf_append(&l->bytes, bytes_of(n), size_of(n));
}

/* What it is asked for is done, or not; what it says of it is another matter. */
static enum err carry(struct load *l)
{
    const int n = number_of(l->name);
    const bool is_away = mishap(s3.farm, 100), is_cut = mishap(s3.farm, 50);

    if (is_away)
        return why_set(&l->why, chance(s3.farm, 200) ? ERR_AUTH : ERR_UNREACHABLE, "it is away");
    if (n == FARM_BLOBS) {
        assert_string_equal(l->name, CARRIER_PROBE);
    } else if (l->what == CARRY_GET) {
        return is_cut ? why_set(&l->why, ERR_UNREACHABLE, "it was cut off") : get(l, n);
    } else if (l->what == CARRY_PUT) {
        assert_int_equal(l->bytes.len, size_of(n));
        assert_memory_equal(l->bytes.data, bytes_of(n), size_of(n));
        s3.objects[n] = WHOLE;
    }
    return is_cut ? why_set(&l->why, ERR_UNREACHABLE, "it was cut off") : ERR_OK;
}

void carrier_close(struct carrier *c)
{
    if (!c)
        return;
    if (c->state == AT_WORK && chance(s3.farm, 500)) /* killed before or after it was done */
        carry(&c->load);
    buf_fini(&c->load.bytes);
    free(c);
}

struct load *carrier_load(struct carrier *c, bool *done)
{
    if (c->state == AT_WORK && s3.farm->rig.now_ns >= c->due_ns) {
        c->load.e = carry(&c->load);
        c->state = DONE;
    }
    *done = c->state == DONE;
    return c->state == AT_WORK ? NULL : &c->load;
}

void carrier_go(struct carrier *c)
{
    assert_true(c->state == IDLE && c->load.name[0]);
    c->state = AT_WORK;
    c->due_ns = s3.farm->rig.now_ns + (1 + below(s3.farm, mishap(s3.farm, 100) ? 5000 : 100)) * MS;
}

void carrier_clear(struct carrier *c)
{
    assert_true(c->state != AT_WORK);
    buf_fini(&c->load.bytes);
    c->load = (struct load){.name = ""};
    buf_init(&c->load.bytes, MAX_OBJECT);
    c->state = IDLE;
}

void carrier_again(struct carrier *c)
{
    assert_true(c->state == DONE);
    c->state = IDLE;
}

static struct vault *open_vault(void)
{
    struct vault *v = NULL;

    assert_int_equal(vault_open(&(struct vault_options){.url = "s3://farm/tune", .after_ms = AWAY_AFTER_MS}, &v, NULL),
                     ERR_OK);
    return v;
}

void farm_open_vault(struct random_farm *f)
{
    s3.farm = f;
    memset(s3.objects, 0, sizeof s3.objects);
    f->rig.options.vault = open_vault();
}

/* What its threads were at is done, or is not. */
void farm_crash_vault(struct random_farm *f)
{
    struct vault *old = f->rig.options.vault;

    if (!old)
        return;
    f->rig.options.vault = open_vault();
    vault_close(old);
}

void farm_close_vault(struct random_farm *f)
{
    if (f->rig.options.vault)
        vault_close(f->rig.options.vault);
    f->rig.options.vault = NULL;
}

/* ---- who puts and gets them ---- */

static void ask_for(struct peer *p, bool its_bytes)
{
    if (its_bytes)
        ask(p, "blob_get", "{'sha256':'%s'}", name_of(p->blob));
    else
        ask(p, "blob_have", "{'sha256':['%s']}", name_of(p->blob));
}

static void keeper_act(struct peer *p)
{
    struct random_farm *f = p->farm;

    if (f->calm) {
        if (p->n_said == FARM_BLOBS) {
            rest(p, 1000);
            return;
        }
        p->blob = p->n_said; /* one after the other, until it is known of all what became of them */
        ask_for(p, true);
        return;
    }
    p->blob = below(f, FARM_BLOBS);
    if (chance(f, 250))
        ask(p, "blob_put", "{}");
    else
        ask_for(p, chance(f, 700));
}

static void keeper_hear(struct peer *p, enum err e, const cJSON *result)
{
    struct known_blob *b = &p->farm->blobs[p->blob];
    bool is_missing = e == ERR_NOT_FOUND;

    if (e == ERR_BUSY) {
        rest(p, 500);
        return;
    }
    if (e && !is_missing)
        fail_msg("keeper: %s: %s", p->op, err_name(e));
    if (strcmp(p->op, "blob_put") == 0) {
        assert_int_equal(number_in(result, "stored"), 1);
        b->put_ns = p->farm->rig.now_ns;
        if (b->spoilt_ns < p->asked_ns) /* else it was executed before, perhaps */
            b->spoilt_ns = 0;
        return;
    }
    if (strcmp(p->op, "blob_have") == 0)
        is_missing = count_in(result, "missing") == 1;
    else if (!e)
        assert_string_equal(p->came, name_of(p->blob));
    if (is_missing && b->put_ns && p->asked_ns >= b->put_ns && !b->spoilt_ns)
        fail_msg("blob %d, which was put, is missing", p->blob);
    p->n_said += p->farm->calm && strcmp(p->op, "blob_get") == 0;
}

const struct peer_kind keeper_kind = {"keeper", keeper_act, keeper_hear};

bool farm_blobs_are_known(const struct random_farm *f)
{
    for (int i = 0; i < f->n_peers; i++)
        if (f->peers[i].kind == &keeper_kind && f->peers[i].n_said < FARM_BLOBS)
            return false;
    return true;
}

/* Each is in the tracker's store, or whole in the S3 store and known to be there. */
void check_blobs(struct random_farm *f)
{
    for (int n = 0; n < FARM_BLOBS; n++) {
        struct buf bytes;
        int64_t total = 0;
        enum err e;

        if (!f->blobs[n].put_ns || f->blobs[n].spoilt_ns)
            continue;
        buf_init(&bytes, MAX_OBJECT);
        e = f->rig.options.ops->blob_peek(f->rig.options.store, name_of(n), 0, MAX_OBJECT, &total, &bytes);
        assert_int_equal(total, size_of(n));
        if (e == ERR_OK)
            assert_memory_equal(bytes.data, bytes_of(n), size_of(n));
        else if (e != ERR_UNREACHABLE || s3.objects[n] != WHOLE)
            fail_msg("blob %d, which was put, is nowhere: %s", n, err_name(e));
        f->n_away += e == ERR_UNREACHABLE;
        buf_fini(&bytes);
    }
}
