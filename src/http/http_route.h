/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a server answers, as a table: a route is a method, a path, the parameters that it takes, and a function. A file
 * that declares one registers it; requests are checked against the table before the function sees them, and the OpenAPI
 * document is made from it.
 *
 *	static const struct http_param params[] = {
 *		{"limit", HTTP_NUMBER, "number of rows", .max = 100000},
 *		{},
 *	};
 *	static const struct http_route route = {
 *		.service = HTTP_SERVE, .method = "GET", .path = "/api/v1/things", .summary = "all things",
 *		.params = params, .answer = "thing", .rows = true, .handle = answer_things,
 *	};
 *	HTTP_ROUTE(route);
 */
#pragma once

#include "base/buf.h"
#include "http/http_query.h"
#include "record/value.h"

/* Which part of the program answers: a server has the routes of the services that it is given. */
enum http_service { HTTP_SERVE, HTTP_AGENT, HTTP_COLLECT, HTTP_SERVICES };

/* What is checked before the function is called. */
enum http_param_kind {
	HTTP_TEXT,
	HTTP_NUMBER, /* whole, from min to max (0: no limit) */
	HTTP_NS,     /* nanoseconds since 1970, or a time as --from has it: text that the function reads */
	HTTP_SPAN,   /* a duration: 250ms, 1s, or nanoseconds */
	HTTP_NAMES,  /* separated by commas */
	HTTP_EXPR,   /* of the expression language */
};

struct http_param {
	const char *name;
	enum http_param_kind kind;
	const char *help;
	uint64_t min, max;
	bool required;
};

#define HTTP_PARAMS_MAX 16

enum http_access {
	HTTP_WITH_TOKEN,  /* token or cookie */
	HTTP_WITH_BEARER, /* token in the header Authorization, no cookie */
	HTTP_OPEN,        /* everybody: files of the page, which hold no data */
};

struct http_request;

/* Called for each kind of rows that a route may answer with. */
typedef void http_rows_taker(const char *name, const struct shape *shape, void *context);

struct http_route {
	enum http_service service;
	const char *method;  /* GET (also answers HEAD), POST, DELETE */
	const char *path;    /* segments; one of them may be {name}; the last one {name...} takes the rest */
	const char *summary; /* one line */
	const struct http_param *params; /* ends with one without a name; NULL: none */
	enum http_access access;
	bool changes;     /* something in the server: a browser must say that its own page asks (Origin) */
	size_t body_max;  /* bytes; 0: no body */
	const char *body; /* what is in it, for the document */
	const char *type; /* of the answer; NULL: application/json */
	/* JSON: record type of the answer, its field table is the schema; several joined by commas are one record. */
	const char *answer;
	bool rows; /* {"rows":[..],"total":N} of such records */
	/* In place of a type: rows of several kinds, with the fields that were asked for. */
	void (*each_rows)(http_rows_taker *take, void *context);
	unsigned status; /* of success; 0: 200 */
	void (*handle)(struct http_request *request);
};

REGISTRY(http_route, struct http_route);

#define HTTP_ROUTE(object) REGISTER(http_route, struct http_route, object)

/* A value that was checked. */
struct http_value {
	const char *text; /* NULL: not given */
	uint64_t number;  /* of HTTP_NUMBER and HTTP_SPAN */
};

/* What a request asks for. */
struct http_match {
	const struct http_route *route;
	char *segment; /* that stood for {name}, decoded; NULL: the path has none */
	struct http_value values[HTTP_PARAMS_MAX];
};

/* The services that a server has, as bits. */
#define HTTP_HAS(service) (1U << (service))

/*
 * 0, or the status to refuse it with: 404 no such path, 405 another method, 400 for a parameter that the route does not
 * have or that has a wrong value; with a sentence. The route is known but for 404 and 405. The values point into the
 * query.
 */
unsigned http_route_match(unsigned services, const char *method, const struct http_query *query,
			  struct http_match *ret_match, struct why *why) _must_check_;
void http_match_done(struct http_match *match);
/* By name; one without text: not given. */
struct http_value http_match_value(const struct http_match *match, const char *name);
/* The record of an answer; false: a type that is not registered. */
bool http_route_shape(const char *answer, struct shape *ret_shape);
/* The OpenAPI document of the services' routes. */
void http_route_add_openapi(unsigned services, struct buf *out);
