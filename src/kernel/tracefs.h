/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of tracefs, wherever it is mounted. */
#pragma once

/* Whether an event exists ("sock/inet_sock_set_state"): 1, 0, or -ENOENT when tracefs is not readable. */
int tracefs_has(const char *event);
