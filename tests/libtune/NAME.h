/* SPDX-License-Identifier: MIT */
/* NAME.h - stands in for a bundle's header where the parts of bundles are compiled on their own. */
#ifndef CAPS_H
#define CAPS_H

#define CAPS_N_LAYERS 1
#include "include_cl.h"
#include "api.h"
#include "api_cl.h"

#endif
