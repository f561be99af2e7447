/* SPDX-License-Identifier: MIT */
/* child_calls.h - what goes between an agent and its children as types, made of agent/child_list.h. */
#ifndef TUNE_AGENT_CHILD_CALLS_H
#define TUNE_AGENT_CHILD_CALLS_H

#include "tracker/calls.h"

#define SANDBOX_NOWHERE (-9) /* of child_stage.i: apart from measure.h's places, which are below 0 too */
/* The stage of a child that did not begin with its request, or could not read its files. */
#define SANDBOX_START "start"

#define MEMBER CALL_MEMBER
#define STRUCT CALL_STRUCT
#define CALL_LIST "agent/child_list.h"
#include "tracker/calls_list.h"

#endif
