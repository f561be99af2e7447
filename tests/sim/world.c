/* SPDX-License-Identifier: MIT */
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TURNS_NOW 1000000

struct actor {
    struct world *world;
    const char *name;
    void (*body)(void *arg);
    void *arg;
    pthread_t thread;
    sem_t turn;
    bool ended;
    int64_t until_ns;         /* it can act then ... */
    bool (*ready)(void *arg); /* ... or when this is true; NULL = only then */
    void *ready_arg;
    struct actor *next;
};

struct world {
    struct clock clock;
    struct entropy entropy;
    struct rng rng, small; /* small: of tokens' steps, which no schedule depends on */
    int64_t now_ns, wall_offset_ms, n_turns;
    struct actor *acting; /* whoever has the turn; NULL = the world itself. All else is theirs alone */
    sem_t over;           /* the world has the turn again */
    struct actor *actors;
    int64_t end_ns, n_now; /* of this run; turns without the clock going on */
    bool ok;
};

static int64_t now(void *arg)
{
    return ((struct world *)arg)->now_ns;
}

static int64_t wall(void *arg)
{
    const struct world *w = arg;

    return w->now_ns / WORLD_MS + w->wall_offset_ms;
}

static void sleep_ms(void *arg, int64_t ms)
{
    world_sleep(arg, ms * WORLD_MS);
}

static enum err fill(void *arg, void *out, size_t n)
{
    struct world *w = arg;
    unsigned char *to = out;

    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)rng_next(n == sizeof(uint32_t) ? &w->small : &w->rng);
    return ERR_OK;
}

struct world *world_new(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);

    assert(w);
    w->clock = (struct clock){now, wall, sleep_ms, w};
    w->entropy = (struct entropy){fill, w};
    w->now_ns = WORLD_S;
    w->wall_offset_ms = INT64_C(1767225600000);
    rng_init(&w->rng, seed);
    rng_init(&w->small, seed);
    sem_init(&w->over, 0, 0);
    return w;
}

void world_free(struct world *w)
{
    for (struct actor *a = w->actors, *next; a; a = next) {
        next = a->next;
        assert(a->ended);
        pthread_join(a->thread, NULL);
        sem_destroy(&a->turn);
        free(a);
    }
    sem_destroy(&w->over);
    free(w);
}

const struct clock *world_clock(struct world *w)
{
    return &w->clock;
}

const struct entropy *world_entropy(struct world *w)
{
    return &w->entropy;
}

struct rng *world_rng(struct world *w)
{
    return &w->rng;
}

int64_t world_now_ns(const struct world *w)
{
    return w->now_ns;
}

int64_t world_turns(const struct world *w)
{
    return w->n_turns;
}

void world_shift_wall(struct world *w, int64_t ms)
{
    w->wall_offset_ms += ms;
}

/* ---- turns ---- */

static bool can_act(const struct world *w, const struct actor *a)
{
    return !a->ended && (a->until_ns <= w->now_ns || (a->ready && a->ready(a->ready_arg)));
}

/* One of those that can act now, by lot; NULL when there is none. */
static struct actor *draw(struct world *w)
{
    struct actor *drawn = NULL;
    uint64_t n = 0;

    for (struct actor *a = w->actors; a; a = a->next)
        if (can_act(w, a) && rng_below(&w->rng, ++n) == 0)
            drawn = a;
    return drawn;
}

/* When the next can act if nobody does before; INT64_MAX = never. *alive: somebody has not ended. */
static int64_t next_ns(const struct world *w, bool *alive)
{
    int64_t next = INT64_MAX;

    *alive = false;
    for (const struct actor *a = w->actors; a; a = a->next) {
        *alive |= !a->ended;
        if (!a->ended && a->until_ns < next)
            next = a->until_ns;
    }
    return next;
}

static void tell_stuck(const struct world *w, const char *words)
{
    fprintf(stderr, "world: %s at %.3f s after %" PRId64 " turns; alive:", words, (double)w->now_ns / 1e9, w->n_turns);
    for (const struct actor *a = w->actors; a; a = a->next)
        if (!a->ended)
            fprintf(stderr, " %s", a->name);
    fprintf(stderr, "\n");
}

/* Who has the next turn; NULL when this run is over. */
static struct actor *next_actor(struct world *w)
{
    for (;;) {
        struct actor *a = draw(w);
        bool alive;
        int64_t next;

        if (a && w->n_now++ <= MAX_TURNS_NOW)
            return a;
        if (a) {
            tell_stuck(w, "somebody acts for ever");
            return NULL;
        }
        w->n_now = 0;
        next = next_ns(w, &alive);
        w->ok = !alive;
        if (alive && (next == INT64_MAX || next > w->end_ns))
            tell_stuck(w, next == INT64_MAX ? "nobody can go on" : "its time is over");
        if (!alive || next == INT64_MAX || next > w->end_ns)
            return NULL;
        w->now_ns = next;
    }
}

/* Hands the turn on; false when it comes back to `self` at once. */
static bool hand_on(struct world *w, const struct actor *self)
{
    struct actor *next = next_actor(w);

    w->n_turns += next != NULL;
    w->acting = next;
    if (next == self)
        return false;
    sem_post(next ? &next->turn : &w->over);
    return true;
}

static void await(sem_t *s)
{
    while (sem_wait(s) != 0) /* a signal */
        ;
}

static void *act(void *arg)
{
    struct actor *a = arg;

    await(&a->turn);
    a->body(a->arg);
    a->ended = true;
    hand_on(a->world, a);
    return NULL;
}

void world_add(struct world *w, const char *name, void (*body)(void *arg), void *arg)
{
    struct actor *a = calloc(1, sizeof *a);

    assert(a);
    *a = (struct actor){.world = w, .name = name, .body = body, .arg = arg, .next = w->actors};
    sem_init(&a->turn, 0, 0);
    w->actors = a;
    if (pthread_create(&a->thread, NULL, act, a) != 0)
        abort();
}

bool world_run(struct world *w, int64_t max_ns)
{
    w->end_ns = w->now_ns + max_ns;
    w->n_now = 0;
    w->ok = false;
    if (hand_on(w, NULL))
        await(&w->over);
    return w->ok;
}

bool world_wait(struct world *w, bool (*ready)(void *arg), void *arg, int64_t until_ns)
{
    struct actor *a = w->acting;

    assert(a && pthread_equal(a->thread, pthread_self()));
    a->until_ns = until_ns;
    a->ready = ready;
    a->ready_arg = arg;
    if (hand_on(w, a))
        await(&a->turn);
    return ready && ready(arg);
}

void world_sleep(struct world *w, int64_t ns)
{
    world_wait(w, NULL, NULL, w->now_ns + (ns > 0 ? ns : 0));
}
