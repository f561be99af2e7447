/* SPDX-License-Identifier: MIT */
/* rig.h - one tracker in the test's own process: its real hall, operations and store, a clock that the test turns,
 * requests as JSON text and replies as trees. Every failure is one of the test. */
#ifndef TUNE_TESTS_TRACKER_RIG_H
#define TUNE_TESTS_TRACKER_RIG_H

#include "core/clock.h"
#include "core/entropy.h"
#include "core/rng.h"
#include "tests/tracker/members.h"
#include "tracker/hall.h"

#include <stdbool.h>
#include <stdint.h>

#define RIG_LEASE_MS 30000

struct rig {
    struct tracker_options options; /* of rig_start: lease_ms, key, retention, backups, ops may be set before */
    char dir[256];
    int64_t now_ns, wall_ms; /* the clock; rig_pass turns both */
    struct clock clock;
    struct rng rng;
    struct entropy entropy;
    struct tracker *t;
    struct hall hall;
    char session[REQUEST_ID_HEX + 1], nonce[2 * REQUEST_ID_HEX + 1]; /* of rig_call */
    int64_t ctr, n_ids;
    int64_t n_hellos;
    struct blobs received; /* with the last reply */
};

/* A request on its way; its reply is there when it has left the hall. */
struct errand {
    struct caller caller; /* first: a caller of the rig is the errand itself */
    struct buf bytes;
    bool left;                 /* the hall is done with it */
    cJSON *json;               /* the whole reply; NULL when nobody was to be answered */
    char came[SHA256_HEX + 1]; /* name of the first blob with it; "" = none */
};

/* Sets defaults and makes a directory; rig_start opens the store and says hello. rig_crash throws away what was not
 * committed and all memory, and starts anew. rig_stop leaves nothing. */
void rig_init(struct rig *r);
void rig_start(struct rig *r);
void rig_crash(struct rig *r);
void rig_stop(struct rig *r);

/* Fixtures of cmocka: *state is a rig that was started. */
int rig_setup(void **state);
int rig_teardown(void **state);
void rig_hello(struct rig *r);

/* The clock moves on, with the turns that a tracker takes meanwhile; rig_sleep: without, as when it is stopped. */
void rig_pass(struct rig *r, int64_t ms);
void rig_sleep(struct rig *r, int64_t ms);
/* A turn with nobody new. */
void rig_turn(struct rig *r);

/* A call whose arguments are JSON text (with ' for ") made by printf. Gives its result (cJSON_Delete), or NULL with *e.
 */
cJSON *rig_call(struct rig *r, enum err *e, const char *op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, failing the test unless it went well; and the same without a result. */
cJSON *rig_must(struct rig *r, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rig_do(struct rig *r, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Fails the test unless it ends with this error and these words in its reason. */
void rig_refused(struct rig *r, enum err expected, const char *words, const char *op, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* A call that may wait (wait_ms stands in its arguments): has entered and taken one turn. */
struct errand *rig_send(struct rig *r, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The result of a call that has left, which must have gone well; lends. */
const cJSON *errand_result(const struct errand *e);
void errand_free(struct errand *e);

/* The parts: a request's tree with op, id, session and ctr set (no args when NULL); its bytes (signed where the rig has
 * a key); and one exchange of any bytes, which gives the reply's tree or NULL when the store failed or nobody was
 * answered. */
cJSON *rig_request(struct rig *r, const char *op, cJSON *takes_args);
void rig_encode(struct rig *r, cJSON *request, const struct blobs *attach, struct buf *out);
cJSON *rig_exchange(struct rig *r, const void *bytes, size_t n);
/* The same one by one, for who takes the turns: an errand of these bytes, and the replies of those that left. */
struct errand *errand_new(const void *bytes, size_t n);
/* A turn with this errand, which may wait. */
void rig_enter(struct rig *r, struct errand *e);
void rig_take_replies(struct rig *r, struct caller *left);
/* A request and its exchange with blobs attached; gives the whole reply. */
cJSON *rig_ask(struct rig *r, const char *op, cJSON *takes_args, const struct blobs *attach);

/* ---- the usual peers: key "cpu", fingerprint hash_of(-1) ---- */

void rig_agent(struct rig *r, const char *agent, const char *nonce);
/* A job with a lease (token 1); its id. */
int64_t rig_submit(struct rig *r, const char *key);
/* Adds trials n_first.. to a job, program number first_program + i each; they are for any fingerprint. */
void rig_add(struct rig *r, int64_t job, int n_first, int n, int first_program);
/* Leases at most max; fails unless n_expected came. Gives the reply. */
cJSON *rig_lease(struct rig *r, const char *agent, int max, int n_expected);
/* Answers the i-th trial of a lease; was it accepted? */
bool rig_answer(struct rig *r, const cJSON *lease, int i, const char *status, double device_ms);
/* The job's status tree. */
cJSON *rig_job(struct rig *r, int64_t job);
/* Fails the test unless the books of memory are in order: counts, lists and lanes agree (see rig.c). */
void rig_check_books(const struct tracker *t);

#endif
