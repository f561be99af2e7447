/* SPDX-License-Identifier: MIT */
/* protocol.h - messages of the wire: bytes to JSON and blobs and back, with hard limits; keys and their MACs.
 * docs/protocol.md. */
#ifndef TUNE_TRACKER_PROTOCOL_H
#define TUNE_TRACKER_PROTOCOL_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION 1
#define PROTOCOL_DEFAULT_URL "tcp://127.0.0.1:9477"
#define MESSAGE_MAX_BYTES ((size_t)4 << 20) /* of a whole message */
#define MESSAGE_HEADER_BYTES ((size_t)12)
#define MESSAGE_MAX_BLOBS 256
#define AGENT_HINDERED "disk-full" /* state of an agent whose disk is full or not to be written: it takes nothing */
#define MESSAGE_CHUNK_BYTES ((size_t)1 << 20)  /* largest piece of a blob in blob_put and blob_get */
#define MESSAGE_ATTACH_BYTES ((size_t)3 << 20) /* largest sum of blobs attached to one message */
#define MESSAGE_MAX_VALUES 65536          /* JSON values of a message: a tree takes some 100 times the bytes of "0," */
#define BLOB_MAX_BYTES ((size_t)64 << 20) /* of one blob */
#define REQUEST_ID_HEX 32

/* Whose a key is: the farm's own may do everything and makes the others; what those may do, tracker/access.c says. */
enum key_role { KEY_FARM, KEY_AGENT, KEY_USER, KEY_TUNER, KEY_BUILDER, KEY_ADMIN, N_KEY_ROLES };

/* Their names: "" of the farm's, "agent", "user" and so on. */
extern const char *const key_role_names[N_KEY_ROLES];

/* A secret: the farm's own or that of an identity, ROLE:NAME ("user:alice"). The file, of mode 0600, holds 64 hex
 * digits, behind the identity and a space where there is one, and a newline. */
#define KEY_IDENTITY_BYTES 80
struct key {
    uint8_t bytes[32];
    char identity[KEY_IDENTITY_BYTES]; /* "" = the farm's own */
};

/* The role of an identity ("" = the farm's own); N_KEY_ROLES when it is none. */
enum key_role key_role_of(const char *identity);
/* Is it a role other than the farm's, ':' and a name? */
bool key_identity_is_sane(const char *identity);

/* The key that a farm's own makes for an identity (sane; "" = the farm's own itself). */
void key_derive(const struct key *farm, const char *identity, struct key *out);

/* Reads a key file. ERR_AUTH when others than its owner may read it, ERR_INPUT when it is no key, ERR_NOT_FOUND,
 * ERR_IO. */
enum err key_load(const char *path, struct key *out, struct why *why);

/* Makes a fresh key file of mode 0600. ERR_EXISTS when there is a file already, ERR_IO. */
enum err key_make(const char *path, struct why *why);

/* The same for an identity, of the farm's own key. ERR_INPUT when either is none. */
enum err key_make_for(const char *path, const struct key *farm, const char *identity, struct why *why);

/* The same in memory: `path` is where programs of this user read it until this process ends, and no disk keeps it.
 * ERR_IO. */
#define KEY_LENT_BYTES 48
enum err key_lend(const struct key *farm, const char *identity, char path[KEY_LENT_BYTES], struct why *why);

/* A piece of a decoded message; lends from the message's bytes. */
struct message_blob {
    struct sha256 name;
    const unsigned char *data;
    size_t n_bytes;
};

struct message {
    cJSON *json; /* an object; owned */
    struct message_blob *blobs;
    size_t n_blobs;
    bool has_mac;
};

/* Appends a message to `out`: adds the member "blobs" to `json` (an object) when `blobs` (may be NULL) has some, and a
 * MAC over nonce and message when `key` is not NULL. ERR_LIMIT over MESSAGE_MAX_BYTES, ERR_NOMEM. */
enum err message_encode(cJSON *json, const struct blobs *blobs, const struct key *key, const char *nonce,
                        struct buf *out);

/* Decodes exactly `n` bytes, which must outlive `out`: lengths, JSON and the hash of every blob are checked, the MAC is
 * not. ERR_PROTOCOL or ERR_LIMIT with words. */
enum err message_decode(const void *bytes, size_t n, struct message *out, struct why *why);
void message_fini(struct message *m);
/* How many bytes of JSON an encoded message has behind its header. */
size_t message_json_bytes(const void *bytes);

/* True when the last 32 bytes are the MAC of nonce and the bytes before them under `key`. */
bool message_mac_is_right(const void *bytes, size_t n, const struct key *key, const char *nonce);

/* True for 1 to 64 characters of [0-9A-Za-z._:@+-]: keys, agent ids, names. */
bool name_is_sane(const char *text);

/* The same with words for people; `what` is what they wrote it as: "--key". ERR_INPUT. */
enum err name_check(const char *what, const char *text, struct why *why);

/* Of replies, where a key is in use: these two kinds carry nothing and lead to a hello or a pause. */
bool message_may_be_unsigned(const cJSON *reply);

/* The error that a reply carries, with the tracker's words. */
enum err message_error(const cJSON *reply, struct why *why);

#endif
