/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the decoder of the wire, as they are and as the JSON of a message whose lengths are right. What is
 * taken encodes to a message that says the same. */
#include "core/json.h"
#include "tests/fuzz/fuzz.h"
#include "tracker/protocol.h"

#include <stdlib.h>
#include <string.h>

static void check(struct message *m)
{
    struct message back;
    struct buf bytes;
    struct blobs blobs;
    struct why why = {""};

    blobs_init(&blobs, MESSAGE_MAX_BYTES);
    buf_init(&bytes, 2 * MESSAGE_MAX_BYTES);
    for (size_t i = 0; i < m->n_blobs; i++)
        if (blobs_put(&blobs, m->blobs[i].data, m->blobs[i].n_bytes, NULL) != ERR_OK)
            fuzz_die("blobs of more bytes than a message");
    cJSON_DeleteItemFromObjectCaseSensitive(m->json, "blobs");
    if (message_encode(m->json, &blobs, NULL, NULL, &bytes) == ERR_OK) {
        if (message_decode(bytes.data, bytes.len, &back, &why) != ERR_OK)
            fuzz_die("encoded, but not decoded: %s", why.text);
        if (back.n_blobs != blobs.n || json_has(back.json, "blobs") != (blobs.n > 0))
            fuzz_die("other blobs");
        message_fini(&back);
    }
    buf_fini(&bytes);
    blobs_fini(&blobs);
}

static void try_message(const void *bytes, size_t n)
{
    struct message m;
    struct why why = {""};

    if (message_decode(bytes, n, &m, &why) == ERR_OK) {
        check(&m);
        message_fini(&m);
    } else {
        fuzz_check_words("message", why.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *bytes = fuzz_copy(data, n), *framed = malloc(n + MESSAGE_HEADER_BYTES);

    try_message(bytes, n);
    if (framed) {
        memcpy(framed, "TUN1\1\0\0\0", 8);
        for (int i = 0; i < 4; i++)
            framed[8 + i] = (unsigned char)(n >> (8 * i));
        memcpy(framed + MESSAGE_HEADER_BYTES, bytes, n);
        try_message(framed, n + MESSAGE_HEADER_BYTES);
    }
    free(framed);
    free(bytes);
    return 0;
}
