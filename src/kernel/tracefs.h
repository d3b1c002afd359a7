/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tracefs shows, wherever it is mounted. */
#pragma once

/* Whether there is an event ("sock/inet_sock_set_state"): 1, 0, or -ENOENT when tracefs cannot be looked into. */
int tracefs_has(const char *event);
