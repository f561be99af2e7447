/* SPDX-License-Identifier: MIT */
#include "agent/child_calls.h"

#include "agent/timing.h"

#include <limits.h>
#include <math.h>

#define MEMBER CALL_MEMBER_ROW
#define STRUCT CALL_TABLE
#define CALL_LIST "agent/child_list.h"
#include "tracker/calls_list.h"
