/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client of the HTTP server sends: the target through the query parser and the router, header lines through the
 * readers of Host, Origin, Authorization and Cookie. The first line is the target, those behind it are headers.
 */
#include "fuzz.h"
#include "http/http_origin.h"
#include "http/http_route.h"
#include "http/http_token.h"

static void check_values(const struct http_match *match, unsigned status)
{
	for (unsigned i = 0; status == 0 && match->route->params && match->route->params[i].name; i++) {
		const struct http_param *param = &match->route->params[i];
		const struct http_value *value = &match->values[i];

		fuzz_require(value->text || !param->required);
		if (value->text && param->kind == HTTP_NUMBER)
			fuzz_require(value->number >= param->min && (!param->max || value->number <= param->max));
	}
}

static void route(const char *method, const struct http_query *query)
{
	struct http_match match = {};
	struct why why = {};
	unsigned status = http_route_match(~0U, method, query, &match, &why);

	fuzz_require(status == 0 || status == 400 || status == 404 || status == 405);
	fuzz_require((status == 0) == (why.text[0] == '\0'));
	fuzz_require((match.route == NULL) == (status == 404 || status == 405));
	fuzz_require(!fuzz_has_control(why.text, strlen(why.text)));
	if (match.route)
		check_values(&match, status);
	http_match_done(&match);
}

static void read_headers(const char *text)
{
	static const struct http_token token = {"0123456789abcdef0123456789abcdef"};
	struct http_listen listen = {.port = 8080};
	struct http_origin own = {.listen = &listen};
	struct why why = {};
	size_t len = 0;
	const char *found;

	(void)!addr_parse("127.0.0.1", &listen.addr);
	if (http_origin_host_is_own(&own, text)) {
		/* Nothing but the address and localhost, with the port. */
		fuzz_require(strchr(text, ':') && strcmp(strchr(text, ':'), ":8080") == 0);
		fuzz_require(!http_origin_is_own(&own, text, text));
	}
	found = http_token_of_header(text, &len);
	if (found) {
		fuzz_require(found >= text && len <= strlen(found));
		fuzz_require(http_token_matches(&token, found, len) ==
			     (len == 32 && memcmp(found, token.text, 32) == 0));
	}
	found = http_token_of_cookie(text, "nest", &len);
	if (found)
		fuzz_require(found >= text + 5 && len <= strlen(found));
	if (http_listen_parse(text, &listen, &why) == 0)
		fuzz_require(listen.local || why.text[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = {"GET", "HEAD", "POST", "DELETE", "PUT"};
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct http_query query = {};
	char *rest = text, *target = strsep(&rest, "\n"), *line;
	struct why why = {};

	if (http_query_parse(target, &query, &why) == 0) {
		fuzz_require(query.path[0] == '/' && query.count <= HTTP_ARGS_MAX);
		for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
			route(methods[i], &query);
		http_query_done(&query);
	} else {
		fuzz_require(why.text[0] && !fuzz_has_control(why.text, strlen(why.text)));
	}
	while ((line = strsep(&rest, "\n")))
		read_headers(line);
	return 0;
}
