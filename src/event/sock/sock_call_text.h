/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of a system call of the network in words, as strace has them. */
#pragma once

#include "event/sock/sock_call.h"

/* Fills in args from the rest. */
void sock_call_write_args(struct sock_call *call);
