/* SPDX-License-Identifier: MIT */
/* What CLTuner's rows mean here: the group size of one of the Compute Library's own kernels on a device. None of our
 * templates is one of them, and no time stands there: a record of a kernel by name, with the sizes as knobs, that can
 * be listed and converted but is never the best of anything. */
#include "core/err.h"
#include "formats/convert.h"
#include "formats/maps/own_kernel.h"

static enum err to_record(const struct foreign_row *row, struct record *out, struct why *why)
{
    return own_kernel_record(row, NULL, out, why);
}

const struct convert_map map_acl = {.format = "acl", .to_record = to_record};
