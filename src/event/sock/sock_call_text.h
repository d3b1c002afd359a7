/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats the arguments of a network system call as strace does. */
#pragma once

#include "event/sock/sock_call.h"

/* Sets args from the other members. */
void sock_call_write_args(struct sock_call *call);
