/* SPDX-License-Identifier: MIT */
/* Feeds what one process of an agent writes to another: frames, and in them descriptions of devices and what builders
 * made. What is taken says the same when it is written again. */
#include "agent/built.h"
#include "agent/frame.h"
#include "runtime/device_desc.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET_BYTES 65536 /* that a socket holds without a reader */

static void check_built(const cJSON *object)
{
    struct built b, back;
    struct why why = {""};
    cJSON *again;

    if (built_from_json(object, &b, &why) != ERR_OK) {
        fuzz_check_words("built", why.text);
        return;
    }
    again = built_to_json(&b);
    if (!again || built_from_json(again, &back, &why) != ERR_OK || back.n_files != b.n_files || back.status != b.status)
        fuzz_die("what was built is not the same: %s", why.text);
    cJSON_Delete(again);
    built_fini(&back);
    built_fini(&b);
}

static void check_device(const cJSON *object)
{
    struct device_desc d, back;
    struct why why = {""};
    cJSON *again;

    if (device_desc_from_json(object, &d, &why) != ERR_OK) {
        fuzz_check_words("device", why.text);
        return;
    }
    again = device_desc_to_json(&d);
    if (!again || device_desc_from_json(again, &back, &why) != ERR_OK ||
        strcmp(device_desc_fingerprint(&d).hex, device_desc_fingerprint(&back).hex) != 0)
        fuzz_die("another device: %s", why.text);
    cJSON_Delete(again);
}

static void read_frames(int fd)
{
    struct frame_reader r;
    struct why why = {""};
    cJSON *object = NULL;

    frame_reader_init(&r, fd);
    while (frame_read(&r, -1, &object, &why) == ERR_OK) {
        if (!cJSON_IsObject(object))
            fuzz_die("a frame that is no object");
        check_built(object);
        check_device(object);
        cJSON_Delete(object);
        object = NULL;
    }
    fuzz_check_words("frame", why.text);
    frame_reader_fini(&r);
}

/* The bytes as they are, then as one frame of the right length. */
static void send_and_read(const void *head, size_t n_head, const uint8_t *data, size_t n)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[1], head, n_head) != (ssize_t)n_head ||
        write(ends[1], data, n) != (ssize_t)n)
        fuzz_die("no socket");
    close(ends[1]);
    read_frames(ends[0]);
    close(ends[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t length[4];

    if (n > SOCKET_BYTES - 4)
        return 0;
    for (int i = 0; i < 4; i++)
        length[i] = (uint8_t)(n >> (8 * i));
    send_and_read(length, 0, data, n);
    send_and_read(length, 4, data, n);
    return 0;
}
