/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_crew.h"

#include "tracker/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYE_NS (1500 * WORLD_MS) /* as in agent/main.c */

/* What tells an agent with a device and a builder apart. */
struct crew_kind {
    enum err (*open)(struct crew *c, struct why *why);
    struct hands *(*hands)(struct crew *c);
    int (*n_held)(const struct crew *c);
    void (*stop)(struct crew *c); /* ends its children */
    void (*counts)(struct crew *c);
    void (*bye)(struct crew *c);
    void (*close)(struct crew *c);
};

/* One of its threads. */
struct helper {
    struct crew *crew;
    struct hand hand;
    int64_t seen;
};

static void tell(int level, const char *line, void *arg)
{
    struct crew *c = arg;

    if (c->keeps_nothing)
        return;
    if (c->n_lines == CREW_MAX_LINES || !(c->lines[c->n_lines] = strdup(line)))
        abort();
    c->levels[c->n_lines++] = level;
}

int crew_told(const struct crew *c, const char *words)
{
    int n = 0;

    for (int i = 0; i < c->n_lines; i++)
        n += strstr(c->lines[i], words) != NULL;
    return n;
}

/* ---- what it sends ---- */

/* A line of the net, and whose it is. */
struct wire {
    struct line *line;
    struct crew *crew;
};

static enum err wire_open(void *arg, const char *url, struct line **out, struct why *why)
{
    struct crew *c = arg;
    struct wire *w = malloc(sizeof *w);

    if (!w || transport_net.open(&c->peer, url, &w->line, why))
        abort();
    w->crew = c;
    *out = (struct line *)w;
    return ERR_OK;
}

static enum err wire_exchange(struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms,
                              struct letter *reply)
{
    const struct wire *w = (struct wire *)l;
    struct crew *c = w->crew;
    const unsigned char *at = bytes;
    const size_t n_json = at[8] | (size_t)at[9] << 8 | (size_t)at[10] << 16;

    if (!c->keeps_nothing && c->n_sent < CREW_MAX_LINES)
        c->sent[c->n_sent++] = strndup((const char *)at + MESSAGE_HEADER_BYTES, n_json);
    return transport_net.exchange(w->line, bytes, n_bytes, timeout_ms, reply);
}

static void wire_discard(struct letter *reply)
{
    transport_net.discard(reply);
}

static void wire_abort(struct line *l)
{
    transport_net.abort(((struct wire *)l)->line);
}

static void wire_close(struct line *l)
{
    if (l)
        transport_net.close(((struct wire *)l)->line);
    free(l);
}

static void wire_turn(struct line *l)
{
    transport_net.turn(((struct wire *)l)->line);
}

static const struct transport_ops wire = {.name = "wire",
                                          .open = wire_open,
                                          .exchange = wire_exchange,
                                          .discard = wire_discard,
                                          .abort = wire_abort,
                                          .close = wire_close,
                                          .turn = wire_turn};

const char *crew_sent(const struct crew *c, const char *op, int i)
{
    char begins[48];

    snprintf(begins, sizeof begins, "{\"op\":\"%s\"", op);
    for (int k = 0; k < c->n_sent; k++)
        if (strncmp(c->sent[k], begins, strlen(begins)) == 0 && i-- == 0)
            return c->sent[k];
    return "";
}

int crew_n_sent(const struct crew *c, const char *op)
{
    int n = 0;

    while (*crew_sent(c, op, n))
        n++;
    return n;
}

/* ---- life ---- */

static void quit(bool well, void *arg)
{
    struct crew *c = arg;

    c->left_well = well;
    if (c->n_quits++ == 0 && c->working)
        c->held_at_quit = c->kind->n_held(c);
}

void crew_stop(struct crew *c)
{
    c->asked_to_end = true;
    if (!c->working)
        atomic_store(&c->stop, true);
}

void crew_kill(struct crew *c)
{
    c->killed = c->peer.dead = true;
    atomic_store(&c->stop, true);
}

/* ---- hands ---- */

static bool has_changed(void *arg)
{
    const struct helper *h = arg;

    return h->hand.hands->n_changes != h->seen || atomic_load(&h->crew->stop);
}

static void work(void *arg)
{
    struct helper *h = arg;
    struct hands *hands = h->hand.hands;

    while (!atomic_load(&h->crew->stop)) {
        h->seen = hands->n_changes;
        if (!h->hand.step(hands->owner, h->hand.i))
            world_wait(h->crew->world, has_changed, h, INT64_MAX);
    }
    h->crew->n_at_work--;
    free(h);
}

static void start_hands(struct crew *c)
{
    struct hands *hands = c->kind->hands(c);

    for (int i = 0; i < hands->n; i++) {
        struct helper *h = malloc(sizeof *h);

        if (!h)
            abort();
        *h = (struct helper){c, hands->all[i], 0};
        c->n_at_work++;
        world_add(c->world, c->name, work, h);
    }
}

/* ---- the main thread ---- */

static bool is_to_end(void *arg)
{
    const struct crew *c = arg;

    return c->asked_to_end || c->killed || c->n_quits > 0;
}

static bool has_ended(void *arg)
{
    return ((const struct crew *)arg)->ended;
}

static bool is_idle(void *arg)
{
    return ((const struct crew *)arg)->n_at_work == 0;
}

/* SIGALRM. */
static void limit_goodbye(void *arg)
{
    struct crew *c = arg;

    world_wait(c->world, has_ended, c, world_now_ns(c->world) + BYE_NS);
    c->peer.dead = true;
}

static void end(struct crew *c)
{
    if (!c->killed)
        world_add(c->world, c->name, limit_goodbye, c);
    atomic_store(&c->stop, true);
    c->kind->stop(c);
    if (!c->killed) {
        world_sleep(c->world, 60 * WORLD_MS);
        c->kind->counts(c);
        c->kind->bye(c);
    }
    c->peer.dead = true;
    world_wait(c->world, is_idle, c, INT64_MAX);
    if (c->killed)
        c->kind->counts(c);
}

static void live(void *arg)
{
    struct crew *c = arg;

    world_sleep(c->world, c->start_ns);
    c->e = c->kind->open(c, &c->why);
    c->working = !c->e;
    if (c->working) {
        if (c->by_hand)
            c->by_hand(c);
        start_hands(c);
        world_wait(c->world, is_to_end, c, INT64_MAX);
        end(c);
        c->working = false;
    }
    c->kind->close(c);
    c->ended_ns = world_now_ns(c->world);
    c->ended = true;
}

static void init(struct crew *c, struct net *n, const char *name, const struct crew_kind *kind)
{
    c->world = net_world(n);
    c->peer.net = n;
    c->kind = kind;
    c->held_at_quit = -1;
    snprintf(c->name, sizeof c->name, "%s", name);
    sim_children_init(&c->children, c->world);
    setenv("TUNE_LOCK_DIR", net_dir(n), 1);
}

static void fini(struct crew *c)
{
    for (int i = 0; i < c->n_lines; i++)
        free(c->lines[i]);
    for (int i = 0; i < c->n_sent; i++)
        free(c->sent[i]);
}

/* ---- with a device ---- */

static struct crew_agent *agent_of(const struct crew *c)
{
    return (struct crew_agent *)(uintptr_t)c;
}

static enum err agent_open(struct crew *c, struct why *why)
{
    struct crew_agent *a = agent_of(c);
    const enum err e = rig_open(&a->rig, &a->rig_options, a->canary, why);

    return e ? e : farm_open(&a->options, &a->rig, &a->farm, why);
}

static struct hands *agent_hands(struct crew *c)
{
    return &agent_of(c)->farm->hands;
}

static int agent_n_held(const struct crew *c)
{
    return agent_of(c)->farm->n_held;
}

static void agent_stop(struct crew *c)
{
    rig_kill(&agent_of(c)->rig);
}

static void agent_counts(struct crew *c)
{
    farm_counts(agent_of(c)->farm, &c->done, &c->failed);
}

static void agent_bye(struct crew *c)
{
    farm_bye(agent_of(c)->farm);
}

static void agent_close(struct crew *c)
{
    farm_close(agent_of(c)->farm);
    agent_of(c)->farm = NULL;
    rig_close(&agent_of(c)->rig);
}

static const struct crew_kind agent_kind = {.open = agent_open,
                                            .hands = agent_hands,
                                            .n_held = agent_n_held,
                                            .stop = agent_stop,
                                            .counts = agent_counts,
                                            .bye = agent_bye,
                                            .close = agent_close};

void crew_agent_init(struct crew_agent *a, struct net *n, const char *name, int i_card)
{
    struct crew *c = &a->crew;

    memset(a, 0, sizeof *a);
    init(c, n, name, &agent_kind);
    snprintf(a->device, sizeof a->device, "opencl:0.%d", i_card);
    a->rig_options = (struct rig_options){.device = a->device,
                                          .builders = 1,
                                          .stop = &c->stop,
                                          .quit = quit,
                                          .sandbox = &sandbox_simulated,
                                          .sandbox_arg = &c->children,
                                          .clock = world_clock(c->world),
                                          .entropy = world_entropy(c->world),
                                          .log = tell,
                                          .arg = c};
    a->options = (struct farm_options){.url = "net",
                                       .name = c->name,
                                       .key = "sim",
                                       .batch = 8,
                                       .overlap = true,
                                       .stop = &c->stop,
                                       .log = tell,
                                       .quit = quit,
                                       .arg = c,
                                       .transport = &wire,
                                       .transport_arg = c,
                                       .clock = world_clock(c->world),
                                       .entropy = world_entropy(c->world)};
}

void crew_agent_start(struct crew_agent *a)
{
    world_add(a->crew.world, a->crew.name, live, &a->crew);
}

void crew_agent_fini(struct crew_agent *a)
{
    fini(&a->crew);
}

/* ---- builders ---- */

static struct crew_builder *builder_of(const struct crew *c)
{
    return (struct crew_builder *)(uintptr_t)c;
}

static enum err builder_begin(struct crew *c, struct why *why)
{
    const enum err e = builder_open(&builder_of(c)->options, &builder_of(c)->workshop, why);

    return e ? e : builder_enlist(builder_of(c)->workshop, why);
}

static struct hands *hands_of_builder(struct crew *c)
{
    return builder_hands(builder_of(c)->workshop);
}

static int builder_n_held(const struct crew *c)
{
    (void)c;
    return 0; /* its own affair */
}

static void builder_end(struct crew *c)
{
    builder_stop(builder_of(c)->workshop);
}

static void counts_of_builder(struct crew *c)
{
    builder_counts(builder_of(c)->workshop, &c->done, &c->failed);
}

static void bye_of_builder(struct crew *c)
{
    builder_bye(builder_of(c)->workshop);
}

static void close_builder(struct crew *c)
{
    builder_close(builder_of(c)->workshop);
    builder_of(c)->workshop = NULL;
}

static const struct crew_kind builder_kind = {.open = builder_begin,
                                              .hands = hands_of_builder,
                                              .n_held = builder_n_held,
                                              .stop = builder_end,
                                              .counts = counts_of_builder,
                                              .bye = bye_of_builder,
                                              .close = close_builder};

void crew_builder_init(struct crew_builder *b, struct net *n, const char *name)
{
    struct crew *c = &b->crew;

    memset(b, 0, sizeof *b);
    init(c, n, name, &builder_kind);
    b->options = (struct builder_options){.url = "net",
                                          .name = c->name,
                                          .sms = {61},
                                          .n_sms = 1,
                                          .n_children = 2,
                                          .stop = &c->stop,
                                          .log = tell,
                                          .quit = quit,
                                          .arg = c,
                                          .sandbox = &sandbox_simulated,
                                          .sandbox_arg = &c->children,
                                          .transport = &wire,
                                          .transport_arg = c,
                                          .clock = world_clock(c->world),
                                          .entropy = world_entropy(c->world)};
}

void crew_builder_start(struct crew_builder *b)
{
    world_add(b->crew.world, b->crew.name, live, &b->crew);
}

void crew_builder_fini(struct crew_builder *b)
{
    fini(&b->crew);
}
