/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a browser was sent here by a page of another site: its Host must name this server (a name that somebody else
 * lets point here does not), and its Origin, where it has one, must be this server's own.
 */
#pragma once

#include "http/http_listen.h"

struct http_origin {
	const struct http_listen *listen;
	const struct text_list *names; /* allowed besides the address; may be NULL */
	bool tls;
};

/* The header Host. */
bool http_origin_host_is_own(const struct http_origin *own, const char *host);
/* The header Origin, of a request whose Host is the server's own. */
bool http_origin_is_own(const struct http_origin *own, const char *origin, const char *host);
