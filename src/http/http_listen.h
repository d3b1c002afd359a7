/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a server of nest listens, how clients prove that they may ask, and with which certificate: options that all
 * servers share. Loopback and UNIX sockets need nothing; any other address needs TLS and a token of the user's.
 */
#pragma once

#include "base/addr.h"
#include "base/option.h"

struct http_options {
	const char *listen; /* NULL: loopback and a free port */
	const char *tls_cert;
	const char *tls_key;
	const char *token_file;
	struct text_list names; /* host names that clients may use besides the address */
};

/* For OPTION_GROUP. */
extern const struct option_spec http_option_table[];

#define HTTP_PATH_MAX 108 /* of a UNIX socket, with the NUL */

/* A parsed --listen. */
struct http_listen {
	bool local; /* a UNIX socket at path */
	char path[HTTP_PATH_MAX];
	struct addr addr; /* family 0: all addresses */
	uint16_t port;    /* 0: a free one */
};

/* unix:PATH, ADDRESS:PORT, [ADDRESS]:PORT, ADDRESS, PORT, localhost:PORT, *:PORT; NULL: loopback. */
int http_listen_parse(const char *text, struct http_listen *ret_listen, struct why *why) _must_check_;
/* Reachable from this host only. */
bool http_listen_is_private(const struct http_listen *listen);
/* Listens at all addresses. */
bool http_listen_is_any(const struct http_listen *listen);
/* Whether the options together are safe: what is not private has TLS and a token file. -EINVAL. */
int http_options_check(const struct http_options *options, const struct http_listen *listen,
		       struct why *why) _must_check_;
/*
 * Binds and listens; fills in a free port. A UNIX socket has mode 0600; one that a dead server left is replaced, a file
 * that is anything else is not. Returns the descriptor.
 */
int http_listen_open(struct http_listen *listen, struct why *why) _must_check_;
/* Removes the UNIX socket. */
void http_listen_remove(const struct http_listen *listen);
