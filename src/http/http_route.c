/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_route.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/text.h"

/* --- paths --- */

/* Whether the path is one of the pattern's; *ret_at and *ret_len: what stands for {name}. */
static bool fits(const char *pattern, const char *path, const char **ret_at, size_t *ret_len)
{
	*ret_at = NULL;
	while (*pattern && *path) {
		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		*ret_at = path;
		*ret_len = pattern[strcspn(pattern, ".}")] == '.' ? strlen(path) : strcspn(path, "/");
		path += *ret_len;
		pattern += strcspn(pattern, "}") + 1;
		if (*ret_len == 0)
			return false;
	}
	return *pattern == '\0' && *path == '\0';
}

static bool answers(const struct http_route *route, const char *method)
{
	return strcmp(route->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

/* A path without {name} before one with it, whatever the order of the section is. */
static const struct http_route *find(unsigned services, const char *method, const char *path, bool *ret_known)
{
	const struct http_route *found = NULL;
	const char *at;
	size_t len;

	*ret_known = false;
	registry_each(http_route, entry) {
		const struct http_route *route = *entry;

		if (!(services & HTTP_HAS(route->service)) || !fits(route->path, path, &at, &len))
			continue;
		*ret_known = true;
		if (answers(route, method) && (!found || !strchr(route->path, '{')))
			found = route;
	}
	return found;
}

/* --- parameters --- */

static const struct http_param *find_param(const struct http_route *route, const char *name, unsigned *ret_index)
{
	for (unsigned i = 0; route->params && route->params[i].name; i++)
		if (strcmp(route->params[i].name, name) == 0) {
			*ret_index = i;
			return &route->params[i];
		}
	return NULL;
}

static int check_value(const struct http_param *param, const char *text, struct http_value *value)
{
	int r = 0;

	value->text = text;
	switch (param->kind) {
	case HTTP_NUMBER:
		r = parse_decimal(text, param->min, param->max ?: UINT64_MAX, &value->number);
		break;
	case HTTP_SPAN:
		r = parse_decimal(text, 0, UINT64_MAX, &value->number);
		if (r < 0)
			r = parse_duration_ns(text, &value->number);
		break;
	case HTTP_TEXT:
	case HTTP_NS:
	case HTTP_NAMES:
	case HTTP_EXPR:
		break;
	}
	return r;
}

static const char *const kind_words[] = {
	[HTTP_TEXT] = "text",       [HTTP_NUMBER] = "a whole number",           [HTTP_NS] = "a time",
	[HTTP_SPAN] = "a duration", [HTTP_NAMES] = "names separated by commas", [HTTP_EXPR] = "an expression",
};

static unsigned refuse_value(const struct http_param *param, const char *value, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256);

	text_add_terminal(&shown, value, strnlen(value, 40));
	if (param->kind == HTTP_NUMBER && param->max)
		(void)why_set(why, -EINVAL, "parameter %s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64,
			      param->name, buf_text(&shown), param->min, param->max);
	else
		(void)why_set(why, -EINVAL, "parameter %s: '%s' is not %s", param->name, buf_text(&shown),
			      kind_words[param->kind]);
	return 400;
}

static unsigned check_args(const struct http_query *query, struct http_match *match, struct why *why)
{
	const struct http_param *params = match->route->params;

	for (unsigned i = 0; i < query->count; i++) {
		_cleanup_buf_ struct buf shown = BUF_INIT(256);
		const struct http_param *param;
		unsigned index = 0;

		param = find_param(match->route, query->args[i].name, &index);
		if (!param) {
			text_add_terminal(&shown, query->args[i].name, strnlen(query->args[i].name, 40));
			(void)why_set(why, -EINVAL, "unknown parameter '%s'", buf_text(&shown));
			return 400;
		}
		if (check_value(param, query->args[i].value, &match->values[index]) < 0)
			return refuse_value(param, query->args[i].value, why);
	}
	for (unsigned i = 0; params && params[i].name; i++)
		if (params[i].required && !match->values[i].text) {
			(void)why_set(why, -EINVAL, "parameter %s is missing: %s", params[i].name, params[i].help);
			return 400;
		}
	return 0;
}

static bool take_segment(struct http_match *match, const char *path)
{
	const char *at;
	size_t len;

	if (!fits(match->route->path, path, &at, &len) || !at)
		return true;
	match->segment = xstrndup(at, len);
	return http_query_decode(match->segment, false);
}

unsigned http_route_match(unsigned services, const char *method, const struct http_query *query,
			  struct http_match *ret_match, struct why *why)
{
	struct http_match match = {};
	unsigned status = 0;
	bool known;

	match.route = find(services, method, query->path, &known);
	if (!match.route) {
		(void)why_set(why, -ENOENT, known ? "this path does not have that method" : "no such path");
		return known ? 405 : 404;
	}
	if (!take_segment(&match, query->path)) {
		(void)why_set(why, -EINVAL, "the path is not UTF-8 with %%XX escapes");
		status = 400;
	}
	if (status == 0)
		status = check_args(query, &match, why);
	*ret_match = match;
	return status;
}

void http_match_done(struct http_match *match)
{
	free(match->segment);
	*match = (struct http_match){};
}

struct http_value http_match_value(const struct http_match *match, const char *name)
{
	unsigned index;

	return find_param(match->route, name, &index) ? match->values[index] : (struct http_value){};
}
