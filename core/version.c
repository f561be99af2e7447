/* SPDX-License-Identifier: MIT */
#include "core/version.h"

const char *version_text(void)
{
    return sizeof TUNE_COMMIT > 1 ? TUNE_VERSION "+" TUNE_COMMIT : TUNE_VERSION;
}
