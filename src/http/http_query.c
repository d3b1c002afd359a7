/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_query.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(const char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		unsigned n = text_decode_utf8(s, left, NULL);

		if (n == 0)
			return false;
		s += n;
		left -= n;
	}
	return true;
}

bool http_query_decode(char *text, bool plus)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		int high, low;

		if (*at != '%') {
			*to++ = *at == '+' && plus ? ' ' : *at;
			continue;
		}
		high = hex_digit(at[1]);
		low = high < 0 ? -1 : hex_digit(at[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high << 4 | low);
		at += 2;
	}
	*to = '\0';
	return is_text(text);
}

static int add_arg(struct http_query *query, char *text, struct why *why)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	if (!http_query_decode(text, true) || (value && !http_query_decode(value, true)))
		return why_set(why, -EINVAL, "parameter %u: not UTF-8 with %%XX escapes", query->count + 1);
	if (http_query_get(query, text))
		return why_set(why, -EINVAL, "parameter %u is given twice", query->count + 1);
	if (query->count == HTTP_ARGS_MAX)
		return why_set(why, -EINVAL, "more than %d parameters", HTTP_ARGS_MAX);
	query->args[query->count++] = (struct http_arg){.name = text, .value = value ?: ""};
	return 0;
}

int http_query_parse(const char *target, struct http_query *ret_query, struct why *why)
{
	struct http_query query = {};
	char *rest, *arg;
	int r = 0;

	if (*target != '/' || strlen(target) > HTTP_TARGET_MAX)
		return why_set(why, -EINVAL, "the target of a request begins with / and has at most %d bytes",
			       HTTP_TARGET_MAX);
	query.text = xstrdup(target);
	query.path = query.text;
	rest = strchr(query.text, '?');
	if (rest)
		*rest++ = '\0';
	while (r == 0 && rest && (arg = strsep(&rest, "&")))
		if (*arg)
			r = add_arg(&query, arg, why);
	if (r < 0)
		http_query_done(&query);
	else
		*ret_query = query;
	return r;
}

void http_query_done(struct http_query *query)
{
	free(query->text);
	*query = (struct http_query){};
}

const char *http_query_get(const struct http_query *query, const char *name)
{
	for (unsigned i = 0; i < query->count; i++)
		if (strcmp(query->args[i].name, name) == 0)
			return query->args[i].value;
	return NULL;
}
