/* SPDX-License-Identifier: MIT */
/* exec.c - a searcher of one's own: a process that is asked for configs and told values, in lines of JSON over its
 * standard input and output (docs/adding-a-strategy.md). Nothing here waits for it longer than WAIT_MS. */
#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "core/proc.h"
#include "search/strategies/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 20         /* for an answer, in one ask */
#define END_MS 2000        /* for the process to end by itself, then it is killed */
#define MAX_LINE (1 << 20) /* bytes of an answer */
#define MAX_UNSENT (16 << 20)
#define MAX_CONSTRAINT (64 << 10) /* bytes of one in knobs alone */
#define MAX_BARREN 10000          /* answers in a row that bring nothing new end the search */

struct strategy {
    struct base base; /* first: base_new */
    pid_t pid;
    int to, from;         /* -1 = closed */
    struct buf out, line; /* not written yet, not read whole yet */
    size_t n_asked;       /* 0 = no question is open */
    cJSON *answer;        /* whose configs from `next` on are not taken yet; NULL = none */
    const cJSON *next;
    size_t n_barren;
    bool ended;
    struct why why;
};

/* Sending. */

static enum err print(struct strategy *s, cJSON *o, bool ok)
{
    enum err e = !o || !ok ? ERR_NOMEM : s->to < 0 ? ERR_OK : json_print(o, &s->out);

    cJSON_Delete(o);
    if (!e && s->to >= 0)
        e = buf_puts(&s->out, "\n");
    return e == ERR_LIMIT ? why_set(&s->why, e, "the searcher reads nothing of what it is told") : e;
}

static cJSON *message(const char *event, bool *ok)
{
    cJSON *o = cJSON_CreateObject();

    *ok = o != NULL;
    json_add_text(o, "event", event, ok);
    return o;
}

static cJSON *values_of(const struct space *space, size_t i_knob)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t k = 0; k < space_n_values(space, i_knob); k++) {
        const struct value v = space_knob_value(space, i_knob, k);

        cJSON_AddItemToArray(list, v.text ? cJSON_CreateString(v.text) : cJSON_CreateNumber(v.number));
    }
    return list;
}

/* As others can compute it; where that is too long as it was written. NULL: no memory. */
static cJSON *constraint_of(const struct space *space, const char *text)
{
    struct buf out;
    cJSON *item;

    buf_init(&out, MAX_CONSTRAINT);
    (void)space_constraint_in_knobs(space, text, &out);
    item = cJSON_CreateString(out.failed ? text : buf_text(&out));
    buf_fini(&out);
    return item;
}

static enum err put_start(struct strategy *s, const struct strategy_options *options)
{
    const struct space *space = s->base.ground.space;
    bool ok;
    cJSON *o = message("start", &ok), *knobs = cJSON_CreateObject(), *constraints = cJSON_CreateArray();

    for (size_t i = 0; i < space_n_knobs(space); i++)
        json_add_item(knobs, space_knob_name(space, i), values_of(space, i), &ok);
    for (size_t i = 0; i < space_n_constraints(space); i++)
        cJSON_AddItemToArray(constraints, constraint_of(space, space_constraint_text(space, i)));
    json_add_item(o, "knobs", knobs, &ok);
    json_add_item(o, "constraints", constraints, &ok);
    json_add_i64(o, "budget", (int64_t)options->budget, &ok);
    json_add_i64(o, "seed", (int64_t)(options->seed & (uint64_t)(JSON_EXACT_MAX - 1)), &ok);
    return print(s, o, ok);
}

static enum err put_ask(struct strategy *s, size_t n)
{
    bool ok;
    cJSON *o = message("ask", &ok);

    s->n_asked = n;
    json_add_i64(o, "n", (int64_t)n, &ok);
    return print(s, o, ok);
}

/* A value that is none is null; `violated`: the constraint that a config breaks, NULL = none. */
static enum err put_tell(struct strategy *s, const struct config *c, double value, const char *violated)
{
    bool ok;
    cJSON *o = message("tell", &ok);

    json_add_item(o, "knobs", space_config_to_json(s->base.ground.space, c), &ok);
    json_add_item(o, "value", isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull(), &ok);
    if (violated)
        json_add_item(o, "violated", constraint_of(s->base.ground.space, violated), &ok);
    return print(s, o, ok);
}

/* As much as the pipe takes. */
static void flush(struct strategy *s)
{
    ssize_t n;

    while (s->to >= 0 && s->out.len > 0 && (n = write(s->to, s->out.data, s->out.len)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) { /* it reads no more: what it wrote before counts */
            close(s->to);
            s->to = -1;
            buf_clear(&s->out);
            return;
        }
        memmove(s->out.data, s->out.data + n, s->out.len - (size_t)n);
        s->out.len -= (size_t)n;
    }
}

/* Receiving. */

/* ERR_BUSY: no whole line yet; ERR_NOT_FOUND: it has ended. */
static enum err fill(struct strategy *s)
{
    char bytes[4096];
    ssize_t n;

    while (!memchr(s->line.data ? s->line.data : "", '\n', s->line.len)) {
        n = read(s->from, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return ERR_BUSY;
        if (n <= 0)
            return ERR_NOT_FOUND;
        if (buf_append(&s->line, bytes, (size_t)n))
            return why_set(&s->why, ERR_LIMIT, "an answer of more than %d bytes", MAX_LINE);
    }
    return ERR_OK;
}

/* Until end_ns at the latest. */
static enum err wait_line(struct strategy *s, int64_t end_ns)
{
    enum err e;

    for (;;) {
        struct pollfd fds[2] = {{.fd = s->from, .events = POLLIN}, {.fd = -1, .events = POLLOUT}};
        const int64_t left_ms = (end_ns - clock_read_ns(NULL)) / 1000000;

        flush(s);
        e = fill(s);
        if (e != ERR_BUSY || left_ms <= 0)
            return e;
        fds[1].fd = s->out.len ? s->to : -1;
        (void)poll(fds, 2, (int)left_ms);
    }
}

/* The process closed its output: fine after exit code 0, which is "no more". */
static enum err ended(struct strategy *s)
{
    int status = 0;

    s->ended = true;
    if (proc_wait(s->pid, END_MS, &status) != ERR_OK)
        return ERR_OK; /* fini sees to it */
    s->pid = 0;
    if (WIFSIGNALED(status))
        return why_set(&s->why, ERR_CHILD, "the searcher was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status) == 0
               ? ERR_OK
               : why_set(&s->why, ERR_CHILD, "the searcher ended with exit code %d", WEXITSTATUS(status));
}

/* One config of an answer: proposed, or, where that is none to propose, told at once. */
static enum err take_config(struct strategy *s, const cJSON *item, struct proposal *out, size_t *n_out)
{
    struct base *b = &s->base;
    const char *violated = NULL;
    struct config c;
    size_t i;
    enum err e = space_config_from_json(b->ground.space, item, &c, &s->why);

    if (e)
        return why_prefix(&s->why, e, "a config of the searcher");
    if (!space_is_valid(b->ground.space, &c, &violated))
        return put_tell(s, &c, (double)NAN, violated);
    if (ground_is_open(&b->ground, &c))
        return propose(&b->ground, &c, "exec", out, n_out);
    i = history_find(&b->history, b->ground.space, &c);
    return i < b->history.n ? put_tell(s, &c, b->history.items[i].value, NULL) : ERR_OK;
}

static void drop_answer(struct strategy *s)
{
    cJSON_Delete(s->answer);
    s->answer = NULL;
    s->next = NULL;
}

/* Configs of the answer until there are n proposals: it may be to a question for more. */
static enum err take_configs(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    const size_t n_before = *n_out;
    enum err e = ERR_OK;

    for (; s->next && *n_out < n && !e; s->next = s->next->next)
        e = take_config(s, s->next, out, n_out);
    s->n_barren = *n_out > n_before ? 0 : s->n_barren;
    if (s->next)
        return e;
    drop_answer(s);
    s->ended |= s->n_barren == MAX_BARREN;
    return e;
}

/* Keeps `answer`. */
static enum err take_answer(struct strategy *s, cJSON *answer)
{
    const size_t n_asked = s->n_asked;
    const cJSON *list = NULL;
    enum err e = json_get_array(answer, "configs", &list, &s->why);

    s->n_asked = 0;
    s->answer = answer;
    if (!e && (size_t)cJSON_GetArraySize(list) > n_asked)
        e = why_set(&s->why, ERR_INPUT, "%d configs, where %zu were asked for", cJSON_GetArraySize(list), n_asked);
    if (e)
        return why_prefix(&s->why, e, "an answer of the searcher");
    s->next = list->child;
    s->ended = !s->next;
    s->n_barren++;
    return ERR_OK;
}

static enum err take_line(struct strategy *s)
{
    const char *end = memchr(s->line.data, '\n', s->line.len);
    const size_t n = (size_t)(end - s->line.data);
    cJSON *answer = NULL;
    enum err e = json_parse(s->line.data, n, &answer, &s->why);

    if (e)
        why_prefix(&s->why, e, "an answer of the searcher");
    else
        e = take_answer(s, answer);
    memmove(s->line.data, s->line.data + n + 1, s->line.len - n - 1);
    s->line.len -= n + 1;
    return e;
}

/* The process. */

static void fini(struct strategy *s)
{
    if (!s)
        return;
    if (s->to >= 0)
        close(s->to);
    if (s->from >= 0)
        close(s->from);
    if (s->pid > 0 && proc_wait(s->pid, END_MS, NULL) != ERR_OK) {
        proc_kill(s->pid, SIGKILL, true);
        (void)proc_wait(s->pid, -1, NULL);
    }
    drop_answer(s);
    buf_fini(&s->out);
    buf_fini(&s->line);
    base_free(s);
}

static enum err start(struct strategy *s, const char *command)
{
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct proc_options o = {.argv = argv, .err_fd = STDERR_FILENO, .pass_fd = -1, .own_group = true};
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    enum err e = pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ? ERR_IO : ERR_OK;

    o.in_fd = in[0];
    o.out_fd = out[1];
    if (!e)
        e = proc_start(&o, &s->pid, NULL);
    s->to = in[1];
    s->from = out[0];
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    if (!e && (fcntl(s->to, F_SETFL, O_NONBLOCK) || fcntl(s->from, F_SETFL, O_NONBLOCK)))
        e = ERR_IO;
    return e;
}

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    struct strategy *s = NULL;
    enum err e = options->command ? base_new(&s, sizeof *s, space, options) : ERR_INPUT;

    if (e)
        return e;
    s->to = s->from = -1;
    buf_init(&s->out, MAX_UNSENT);
    buf_init(&s->line, MAX_LINE);
    e = start(s, options->command);
    if (!e)
        e = put_start(s, options);
    if (e)
        fini(s);
    else
        *out = s;
    return e;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    const int64_t end_ns = clock_read_ns(NULL) + (int64_t)WAIT_MS * 1000000;
    size_t n_done = 0;
    enum err e = start_ask(&s->base.start, &s->base.ground, n, out, &n_done);

    while (!e && n_done < n && !s->ended) {
        if (!s->next && s->n_asked == 0)
            e = put_ask(s, n - n_done);
        if (!e && !s->next)
            e = wait_line(s, end_ns);
        if (e == ERR_NOT_FOUND)
            e = ended(s);
        else if (!e && !s->next)
            e = take_line(s);
        if (!e)
            e = take_configs(s, n, out, &n_done);
        if (n_done > 0 || clock_read_ns(NULL) > end_ns)
            break;
    }
    if (e && e != ERR_BUSY)
        return e;
    *n_out = n_done;
    return n_done < n && !s->ended ? ERR_BUSY : ERR_OK;
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    enum err e = history_tell(&s->base.history, &s->base.ground, outcomes, n);

    for (size_t i = 0; i < n && !e; i++)
        e = put_tell(s, &outcomes[i].config, outcomes[i].value, NULL);
    flush(s);
    return e;
}

static const char *words(const struct strategy *s)
{
    return s->why.text;
}

const struct strategy_ops exec_ops = {
    .name = "exec",
    .summary = "a process of one's own, asked and told in lines of JSON",
    .init = init,
    .ask = ask,
    .tell = tell,
    .words = words,
    .fini = fini,
};
