/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server of nest, in the epoll loop of its process: libmicrohttpd parses and sends, the table of routes says
 * what there is (http_route.h). Before a function of a route is called, the request has been checked: size, Host,
 * Origin, path, method, token, parameters, body. Time, connections, bodies and streams are limited; a client that
 * sends or reads too slowly is disconnected.
 *
 *	r = http_server_new(&options, &server, &why);    binds: errors are the user's
 *	http_server_serve(server, HTTP_SERVE, serve);    what the routes of a service work on
 *	r = http_server_start(server, loop, &why);
 *	...
 *	http_server_free(server);
 */
#pragma once

#include "base/loop.h"
#include "http/http_listen.h"
#include "http/http_route.h"
#include "http/http_stream.h"
#include "http/http_token.h"

struct http_server;

/* -EINVAL: options that do not fit together or cannot be read; other errors of sockets. */
int http_server_new(const struct http_options *options, struct http_server **ret_server, struct why *why) _must_check_;
void http_server_serve(struct http_server *server, enum http_service service, void *context);
int http_server_start(struct http_server *server, struct loop *loop, struct why *why) _must_check_;
/* Ends all connections. Requests that wait for their answer are gone. */
void http_server_free(struct http_server *server);
static inline void http_server_freep(struct http_server **server)
{
	http_server_free(*server);
}

/* http://127.0.0.1:PORT/ or unix:PATH; with_token: #token=TOKEN behind it, where one is needed. */
void http_server_add_url(const struct http_server *server, bool with_token, struct buf *out);
/* Services that it has, as bits. */
unsigned http_server_services(const struct http_server *server);
/* Connections now. */
unsigned http_server_clients(const struct http_server *server);
/* Before a stream goes away: its readers are disconnected. */
void http_server_forget(struct http_server *server, struct http_stream *stream);

/* --- for the functions of routes --- */

struct MHD_Connection;
struct MHD_Response;

struct http_request {
	struct http_server *server;
	void *service; /* as http_server_serve named it */
	struct http_match match;
	struct buf body;
	/* Inside. */
	struct MHD_Connection *connection;
	struct http_client *client;
	struct http_query query;
	char *target;
	struct MHD_Response *response;
	unsigned status;
	bool begun, handled, queued, suspended, too_large;
};

/* A parameter; NULL: not given. */
const char *http_request_text(const struct http_request *request, const char *name);
uint64_t http_request_number(const struct http_request *request, const char *name, uint64_t otherwise);
/* What stands for {name} in the path. */
const char *http_request_segment(const struct http_request *request);
/* NULL: not sent. */
const char *http_request_header(const struct http_request *request, const char *name);

/*
 * The answer: one of these, at once or later. A request that is not answered when the function returns waits, and stays
 * valid until it is answered or the server is freed.
 */

/* Takes the content of the buffer. type NULL: JSON. */
void http_answer(struct http_request *request, unsigned status, const char *type, struct buf *body);
/* No content: 204, 304. */
void http_answer_empty(struct http_request *request, unsigned status);
/* {"error":"..."} */
void http_refuse(struct http_request *request, unsigned status, const char *format, ...) _printf_(3, 4);
/* Of an expression that does not parse: the sentence without its caret, and at which character the error is. */
void http_refuse_expr(struct http_request *request, const char *name, const struct why *why, size_t at);
/* Bytes that stay. etag is in quotes; encoding may be NULL. */
void http_answer_bytes(struct http_request *request, const char *type, const void *bytes, size_t len, const char *etag,
		       const char *encoding);
/* 204 with the cookie that stands for the token. */
void http_answer_session(struct http_request *request);
/* Server-sent events: the last `past` messages, or what follows Last-Event-ID, and what comes. */
void http_answer_stream(struct http_request *request, struct http_stream *stream, unsigned past);
