/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target of a request, "/path?name=value&..", taken apart. Any bytes are accepted or refused, never guessed. */
#pragma once

#include "base/why.h"

#define HTTP_TARGET_MAX 16384
#define HTTP_ARGS_MAX   32

struct http_arg {
	const char *name;
	const char *value;
};

struct http_query {
	char *text;       /* holds all of it, decoded */
	const char *path; /* begins with a slash; decoded segment by segment by http_route_match */
	unsigned count;
	struct http_arg args[HTTP_ARGS_MAX];
};

/*
 * -EINVAL: not a path, a bad escape, a NUL, bytes that are not UTF-8, a name that is given twice, too many; with a
 * sentence. The path is not decoded: a slash in a segment is %2F.
 */
int http_query_parse(const char *target, struct http_query *ret_query, struct why *why) _must_check_;
void http_query_done(struct http_query *query);
/* Decodes %XX, and + as a blank where it is of a query, in place; false: a bad escape, or what is no text. */
bool http_query_decode(char *text, bool plus);
/* NULL: not given. */
const char *http_query_get(const struct http_query *query, const char *name);
