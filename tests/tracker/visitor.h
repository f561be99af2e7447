/* SPDX-License-Identifier: MIT */
/* visitor.h - peers of a rig with keys and nonces of the test's choice. Every failure is one of the test. */
#ifndef TUNE_TESTS_TRACKER_VISITOR_H
#define TUNE_TESTS_TRACKER_VISITOR_H

#include "tests/tracker/rig.h"

/* Somebody with a key of his own, derived of the rig's, and a session. */
struct visitor {
    struct key key;
    char session[REQUEST_ID_HEX + 1], nonce[2 * REQUEST_ID_HEX + 1];
    int64_t ctr;
};

/* Sends a request as it is, under a key (NULL = none) and nonce; it has to be answered so (err NULL = well). The reply.
 */
cJSON *rig_tell(struct rig *r, cJSON *takes_request, const struct key *k, const char *nonce, const char *err);
/* The same where the reply's reason has these words. */
void rig_told(struct rig *r, cJSON *takes_request, const struct key *k, const char *nonce, const char *err,
              const char *words);
/* A hello with these arguments (JSON text). */
cJSON *rig_hello_with(struct rig *r, const char *args);

/* Says hello as `identity`; `digit` makes his nonce, which nobody may have had before. */
void visit(struct rig *r, struct visitor *v, const char *identity, char digit);
/* His request, its arguments as a tree; the whole reply. */
cJSON *visitor_ask(struct rig *r, struct visitor *v, const char *op, cJSON *takes_args);
/* The same of one that may wait: it has entered and taken one turn. */
struct errand *visitor_send(struct rig *r, struct visitor *v, const char *op, cJSON *takes_args);
/* The same as visitor_ask with arguments as JSON text, answered so. */
void visitor_tries(struct rig *r, struct visitor *v, const char *op, const char *args, const char *err,
                   const char *words);

#endif
