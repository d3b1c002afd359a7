/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A proxy session and the server's work for it, as one sequence diagram on one timeline. */
#pragma once

#include "flow/analyse/align.h"
#include "flow/draw/session_diagram.h"

struct proxy_diagram {
	const struct align *align;
	struct flow_sessions *proxy, *server;
	bool *proxy_hides, *server_hides; /* by function, as in session_diagram_options */
	uint32_t session;                 /* of the proxy; 0: that of the slowest request */
};

/* -ENODATA with a reason when no request of that session was matched. */
int proxy_diagram_draw(const struct proxy_diagram *diagram, const struct session_diagram_options *options,
		       struct sequence *ret_sequence, struct why *why) _must_check_;
