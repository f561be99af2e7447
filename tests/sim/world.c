#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
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
    pthread_cond_t turn;
    bool ended;
    int64_t until_ns;         /* it can act then ... */
    bool (*ready)(void *arg); /* ... or when this is true; NULL = only then */
    void *ready_arg;
    struct actor *next;
};

struct world {
    struct clock clock;
    struct entropy entropy;
    struct rng rng;
    int64_t now_ns, wall_offset_ms, n_turns;
    pthread_mutex_t lock;
    pthread_cond_t yielded;
    struct actor *acting; /* NULL = the world itself */
    struct actor *actors;
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
        to[i] = (unsigned char)rng_next(&w->rng);
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
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->yielded, NULL);
    return w;
}

void world_free(struct world *w)
{
    for (struct actor *a = w->actors, *next; a; a = next) {
        next = a->next;
        assert(a->ended);
        pthread_join(a->thread, NULL);
        pthread_cond_destroy(&a->turn);
        free(a);
    }
    pthread_cond_destroy(&w->yielded);
    pthread_mutex_destroy(&w->lock);
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

static void *act(void *arg)
{
    struct actor *a = arg;
    struct world *w = a->world;

    pthread_mutex_lock(&w->lock);
    while (w->acting != a)
        pthread_cond_wait(&a->turn, &w->lock);
    pthread_mutex_unlock(&w->lock);
    a->body(a->arg);
    pthread_mutex_lock(&w->lock);
    a->ended = true;
    w->acting = NULL;
    pthread_cond_signal(&w->yielded);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void world_add(struct world *w, const char *name, void (*body)(void *arg), void *arg)
{
    struct actor *a = calloc(1, sizeof *a);

    assert(a);
    *a = (struct actor){.world = w, .name = name, .body = body, .arg = arg, .next = w->actors};
    pthread_cond_init(&a->turn, NULL);
    w->actors = a;
    if (pthread_create(&a->thread, NULL, act, a) != 0)
        abort();
}

static void give_turn(struct world *w, struct actor *a)
{
    w->n_turns++;
    pthread_mutex_lock(&w->lock);
    w->acting = a;
    pthread_cond_signal(&a->turn);
    while (w->acting)
        pthread_cond_wait(&w->yielded, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

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

bool world_run(struct world *w, int64_t max_ns)
{
    const int64_t end_ns = w->now_ns + max_ns;
    int64_t n_now = 0; /* turns without the clock going on */

    for (;;) {
        struct actor *a = draw(w);
        bool alive;
        int64_t next;

        if (a && n_now++ > MAX_TURNS_NOW) {
            tell_stuck(w, "somebody acts for ever");
            return false;
        }
        if (a) {
            give_turn(w, a);
            continue;
        }
        n_now = 0;
        next = next_ns(w, &alive);
        if (!alive)
            return true;
        if (next == INT64_MAX || next > end_ns) {
            tell_stuck(w, next == INT64_MAX ? "nobody can go on" : "its time is over");
            return false;
        }
        w->now_ns = next;
    }
}

bool world_wait(struct world *w, bool (*ready)(void *arg), void *arg, int64_t until_ns)
{
    struct actor *a = w->acting;

    assert(a && pthread_equal(a->thread, pthread_self()));
    a->until_ns = until_ns;
    a->ready = ready;
    a->ready_arg = arg;
    pthread_mutex_lock(&w->lock);
    w->acting = NULL;
    pthread_cond_signal(&w->yielded);
    while (w->acting != a)
        pthread_cond_wait(&a->turn, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return ready && ready(arg);
}

void world_sleep(struct world *w, int64_t ns)
{
    world_wait(w, NULL, NULL, w->now_ns + (ns > 0 ? ns : 0));
}
