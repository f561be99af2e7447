/* SPDX-License-Identifier: MIT */
/* nng that never has memory to append a head alone to a message, where it is linked with -Wl,--wrap=nng_msg_append: no
 * reply may be made of parts of which one can be missing. */
#include "tracker/protocol.h"

#include <nng/nng.h>
#include <stddef.h>

int __real_nng_msg_append(nng_msg *m, const void *bytes, size_t n);
int __wrap_nng_msg_append(nng_msg *m, const void *bytes, size_t n);

int __wrap_nng_msg_append(nng_msg *m, const void *bytes, size_t n)
{
    return n == MESSAGE_HEADER_BYTES ? NNG_ENOMEM : __real_nng_msg_append(m, bytes, n);
}
