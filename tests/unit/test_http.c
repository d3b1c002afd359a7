/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP core without a socket: listen addresses, tokens, Host and Origin, targets, routes, rings of streams. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "http/http_origin.h"
#include "http/http_route.h"
#include "http/http_stream.h"
#include "http/http_token.h"
#include "unit.h"
#include "view/json_schema.h"

/* --- where it listens --- */

static bool parses(const char *text, const char *want, uint16_t port)
{
	struct http_listen listen;
	struct why why = {};
	char addr[ADDR_TEXT_MAX];

	if (http_listen_parse(text, &listen, &why) < 0)
		return false;
	if (listen.local)
		return strcmp(listen.path, want) == 0;
	addr_format(&listen.addr, addr);
	return strcmp(listen.addr.family ? addr : "*", want) == 0 && listen.port == port;
}

TEST(listen_addresses)
{
	CHECK(parses(NULL, "127.0.0.1", 0));
	CHECK(parses("127.0.0.1:8080", "127.0.0.1", 8080));
	CHECK(parses("127.0.0.1:0", "127.0.0.1", 0));
	CHECK(parses("8080", "127.0.0.1", 8080));
	CHECK(parses("localhost:1", "127.0.0.1", 1));
	CHECK(parses("[::1]:443", "::1", 443));
	CHECK(parses("::1", "::1", 0));
	CHECK(parses("0.0.0.0:443", "0.0.0.0", 443));
	CHECK(parses("*:443", "*", 443));
	CHECK(parses("unix:/run/x", "/run/x", 0));
}

TEST(listen_addresses_that_are_refused)
{
	static const char *const wrong[] = {
		"",         ":80",        "nest.example:80", "127.0.0.1:65536", "127.0.0.1:x", "unix:", "[::1]",
		"1.2.3:80", "127.0.0.1:", "localhost",       "localhost:",      "80 ",         "-1"};
	_cleanup_free_ char *path = xasprintf("unix:%0200d", 1);
	struct http_listen listen;
	struct why why;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		why = (struct why){};
		if (!CHECK(http_listen_parse(wrong[i], &listen, &why) == -EINVAL && why.text[0]))
			unit_note("accepted: '%s'", wrong[i]);
	}
	CHECK(http_listen_parse(path, &listen, &why) == -EINVAL);
}

static int check(const char *where, const char *cert, const char *key, const char *token)
{
	struct http_options options = {.listen = where, .tls_cert = cert, .tls_key = key, .token_file = token};
	struct http_listen listen;
	struct why why = {};

	REQUIRE(http_listen_parse(where, &listen, &why) == 0);
	return http_options_check(&options, &listen, &why);
}

TEST(only_private_addresses_need_nothing)
{
	CHECK(check("127.0.0.1:1", NULL, NULL, NULL) == 0);
	CHECK(check("127.9.9.9:1", NULL, NULL, NULL) == 0);
	CHECK(check("[::1]:1", NULL, NULL, NULL) == 0);
	CHECK(check("unix:/x", NULL, NULL, NULL) == 0);
	CHECK(check("10.0.0.1:1", NULL, NULL, NULL) == -EINVAL);
	CHECK(check("*:1", NULL, NULL, NULL) == -EINVAL);
	CHECK(check("0.0.0.0:1", NULL, NULL, "t") == -EINVAL);
	CHECK(check("[::]:1", "c", "k", NULL) == -EINVAL);
	CHECK(check("10.0.0.1:1", "c", NULL, "t") == -EINVAL);
	CHECK(check("10.0.0.1:1", "c", "k", "t") == 0);
	CHECK(check("127.0.0.1:1", "c", NULL, NULL) == -EINVAL);
	CHECK(check("unix:/x", "c", "k", NULL) == -EINVAL);
}

static void make_room(char *dir)
{
	REQUIRE(mkdtemp(dir));
}

TEST(unix_sockets_replace_dead_ones_only)
{
	char dir[] = "/tmp/nest-unit-http-XXXXXX";
	struct http_listen listen = {.local = true}, other;
	struct why why = {};
	struct stat found;
	int fd, second;

	make_room(dir);
	snprintf(listen.path, sizeof(listen.path), "%s/s", dir);
	other = listen;
	fd = http_listen_open(&listen, &why);
	REQUIRE(fd >= 0);
	REQUIRE(stat(listen.path, &found) == 0);
	CHECK_EQ_UINT(found.st_mode & 0777, 0600);
	/* One that lives is left alone. */
	CHECK(http_listen_open(&other, &why) == -EADDRINUSE);
	CHECK(strstr(why.text, "another process"));
	/* Its owner died without removing it. */
	close(fd);
	second = http_listen_open(&other, &why);
	CHECK(second >= 0);
	close(second);
	http_listen_remove(&other);
	CHECK(stat(listen.path, &found) < 0);
	/* A file of somebody else. */
	fd = open(listen.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	close(fd);
	CHECK(http_listen_open(&listen, &why) < 0);
	CHECK(strstr(why.text, "not a socket"));
	CHECK(stat(listen.path, &found) == 0 && S_ISREG(found.st_mode));
	unlink(listen.path);
	rmdir(dir);
}

TEST(a_free_port_is_filled_in)
{
	struct http_listen listen, again;
	struct why why = {};
	int fd;

	REQUIRE(http_listen_parse(NULL, &listen, &why) == 0);
	fd = http_listen_open(&listen, &why);
	REQUIRE(fd >= 0);
	CHECK(listen.port > 0);
	again = listen;
	CHECK(http_listen_open(&again, &why) == -EADDRINUSE);
	close(fd);
}

/* --- tokens --- */

TEST(tokens_are_random_and_compared_whole)
{
	struct http_token a = {}, b = {}, none = {};
	struct why why = {};

	REQUIRE(http_token_make(&a, &why) == 0 && http_token_make(&b, &why) == 0);
	CHECK_EQ_UINT(strlen(a.text), 32);
	CHECK(strcmp(a.text, b.text) != 0);
	CHECK(http_token_matches(&a, a.text, 32));
	CHECK(!http_token_matches(&a, b.text, 32));
	CHECK(!http_token_matches(&a, a.text, 31));
	CHECK(!http_token_matches(&a, a.text, 0));
	CHECK(!http_token_matches(&none, "", 0));
	a.text[31] ^= 1;
	CHECK(!http_token_matches(&a, b.text, 32));
}

static int read_token(const char *path, const char *text, mode_t mode, struct http_token *token)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	struct why why = {};

	REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
	close(fd);
	return http_token_read(path, token, &why);
}

TEST(token_files)
{
	char dir[] = "/tmp/nest-unit-http-XXXXXX";
	struct http_token token = {};
	struct why why = {};
	char path[64];

	make_room(dir);
	snprintf(path, sizeof(path), "%s/t", dir);
	CHECK(read_token(path, "0123456789abcdef\n", 0600, &token) == 0);
	CHECK_EQ_TEXT(token.text, "0123456789abcdef");
	CHECK(read_token(path, "0123456789abcdef", 0640, &token) == 0);
	CHECK(read_token(path, "0123456789abcdef\n", 0644, &token) == -EINVAL);
	CHECK(read_token(path, "short\n", 0600, &token) == -EINVAL);
	CHECK(read_token(path, "0123456789 abcdef\n", 0600, &token) == -EINVAL);
	CHECK(read_token(path, "", 0600, &token) == -EINVAL);
	CHECK(http_token_read(dir, &token, &why) == -EINVAL);
	CHECK(http_token_read("/nonexistent", &token, &why) == -EIO);
	unlink(path);
	rmdir(dir);
}

static bool cookie_is(const char *header, const char *want)
{
	size_t len = 0;
	const char *value = http_token_of_cookie(header, "nest_80", &len);

	return want ? value && strlen(want) == len && memcmp(value, want, len) == 0 : !value;
}

TEST(headers_with_tokens)
{
	size_t len = 0;
	const char *text = http_token_of_header("bearer  abc ", &len);

	REQUIRE(text);
	CHECK(len == 3 && memcmp(text, "abc", 3) == 0);
	CHECK(!http_token_of_header("Basic abc", &len));
	CHECK(!http_token_of_header(NULL, &len));
	CHECK(cookie_is("nest_80=abc", "abc"));
	CHECK(cookie_is("a=b; nest_80=abc; c=d", "abc"));
	CHECK(cookie_is("xnest_80=abc", NULL));
	CHECK(cookie_is("nest_8=abc", NULL));
	CHECK(cookie_is("nest_80", NULL));
	CHECK(cookie_is(NULL, NULL));
	CHECK(cookie_is(";;;", NULL));
}

/* --- Host and Origin --- */

static bool host_ok(const char *where, bool tls, const char *host)
{
	static char *names[] = {(char *)"nest.example"};
	static const struct text_list list = {1, names};
	struct http_listen listen;
	struct why why = {};

	REQUIRE(http_listen_parse(where, &listen, &why) == 0);
	return http_origin_host_is_own(&(struct http_origin){&listen, &list, tls}, host);
}

TEST(hosts)
{
	CHECK(host_ok("127.0.0.1:8080", false, "127.0.0.1:8080"));
	CHECK(host_ok("127.0.0.1:8080", false, "localhost:8080"));
	CHECK(host_ok("127.0.0.1:8080", false, "LOCALHOST:8080"));
	CHECK(host_ok("127.0.0.1:80", false, "127.0.0.1"));
	CHECK(host_ok("[::1]:8080", false, "[::1]:8080"));
	CHECK(host_ok("*:443", true, "10.1.2.3"));
	CHECK(host_ok("127.0.0.1:8080", false, "nest.example"));
	CHECK(host_ok("unix:/x", false, "anything at all"));
	CHECK(!host_ok("127.0.0.1:8080", false, "127.0.0.1"));
	CHECK(!host_ok("127.0.0.1:8080", false, "127.0.0.1:8081"));
	CHECK(!host_ok("127.0.0.1:8080", false, "127.0.0.2:8080"));
	CHECK(!host_ok("127.0.0.1:8080", false, "evil.example:8080"));
	CHECK(!host_ok("127.0.0.1:8080", false, "localhost.evil.example:8080"));
	CHECK(!host_ok("127.0.0.1:8080", false, "127.0.0.1.evil.example:8080"));
	CHECK(!host_ok("127.0.0.1:8080", false, "127.0.0.1:8080@evil.example"));
	CHECK(!host_ok("127.0.0.1:8080", false, ""));
	CHECK(!host_ok("127.0.0.1:8080", false, ":8080"));
	CHECK(!host_ok("127.0.0.1:8080", false, "[::1:8080"));
	CHECK(!host_ok("10.0.0.1:443", true, "localhost"));
}

TEST(origins)
{
	struct http_listen listen = {.port = 8080};
	struct http_origin plain = {.listen = &listen}, tls = {.listen = &listen, .tls = true};

	CHECK(http_origin_is_own(&plain, "http://127.0.0.1:8080", "127.0.0.1:8080"));
	CHECK(http_origin_is_own(&tls, "https://127.0.0.1:8080", "127.0.0.1:8080"));
	CHECK(!http_origin_is_own(&tls, "http://127.0.0.1:8080", "127.0.0.1:8080"));
	CHECK(!http_origin_is_own(&plain, "http://127.0.0.1:8081", "127.0.0.1:8080"));
	CHECK(!http_origin_is_own(&plain, "http://localhost:8080", "127.0.0.1:8080"));
	CHECK(!http_origin_is_own(&plain, "null", "127.0.0.1:8080"));
	CHECK(!http_origin_is_own(&plain, "", ""));
}

/* --- targets --- */

TEST(queries)
{
	struct http_query query = {};
	struct why why = {};

	REQUIRE(http_query_parse("/a%2Fb?x=1+2&y=%3d%C3%A9&z&&w=", &query, &why) == 0);
	CHECK_EQ_TEXT(query.path, "/a%2Fb");
	CHECK_EQ_UINT(query.count, 4);
	CHECK_EQ_TEXT(http_query_get(&query, "x"), "1 2");
	CHECK_EQ_TEXT(http_query_get(&query, "y"), "=\xc3\xa9");
	CHECK_EQ_TEXT(http_query_get(&query, "z"), "");
	CHECK_EQ_TEXT(http_query_get(&query, "w"), "");
	CHECK(!http_query_get(&query, "v"));
	http_query_done(&query);
}

TEST(queries_that_are_refused)
{
	static const char *const wrong[] = {"",      "a",       "http://x/", "*",         "/?a=%",    "/?a=%4",
					    "/?%zz", "/?a=%00", "/?a=%ff",   "/?a=1&a=2", "/?a&%61=1"};
	_cleanup_buf_ struct buf many = BUF_INIT(1 << 16), text = BUF_INIT(1 << 16);
	struct http_query query = {};
	struct why why = {};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (!CHECK(http_query_parse(wrong[i], &query, &why) == -EINVAL))
			unit_note("accepted: '%s'", wrong[i]);
	buf_add_text(&many, "/?");
	for (int i = 0; i <= HTTP_ARGS_MAX; i++)
		buf_add_format(&many, "a%d&", i);
	CHECK(http_query_parse(buf_text(&many), &query, &why) == -EINVAL);
	buf_add_char(&text, '/');
	buf_add_fill(&text, 'a', HTTP_TARGET_MAX);
	CHECK(http_query_parse(buf_text(&text), &query, &why) == -EINVAL);
	buf_truncate(&text, HTTP_TARGET_MAX);
	CHECK(http_query_parse(buf_text(&text), &query, &why) == 0);
	http_query_done(&query);
}

/* --- routes --- */

static void handle(struct http_request *request)
{
	(void)request;
}

static const struct http_param thing_params[] = {
	{"limit", HTTP_NUMBER, "rows", .min = 1, .max = 100},
	{"step", HTTP_SPAN, "distance"},
	{"where", HTTP_EXPR, "filter"},
	{},
};
static const struct http_param need_params[] = {{"what", HTTP_TEXT, "the subject", .required = true}, {}};

static const struct http_route thing_route = {HTTP_COLLECT, "GET",        "/t/things/{name}",
					      "a thing",    thing_params, .handle = handle};
HTTP_ROUTE(thing_route);
static const struct http_route special_route = {HTTP_COLLECT, "GET", "/t/things/special", "the special one",
						.handle = handle};
HTTP_ROUTE(special_route);
static const struct http_route post_route = {
	HTTP_COLLECT, "POST", "/t/things", "a new one", .body_max = 10, .body = "a thing", .handle = handle};
HTTP_ROUTE(post_route);
static const struct http_route rest_route = {HTTP_COLLECT,        "GET",           "/t/rest/{path...}", "files",
					     .access = HTTP_OPEN, .handle = handle};
HTTP_ROUTE(rest_route);
static const struct http_route need_route = {HTTP_COLLECT, "GET",       "/t/need",
					     "needs one",  need_params, .handle = handle};
HTTP_ROUTE(need_route);

static unsigned ask(const char *method, const char *target, const struct http_route **ret_route, char *segment,
		    struct http_value *limit)
{
	struct http_query query = {};
	struct http_match match = {};
	struct why why = {};
	unsigned status;

	REQUIRE(http_query_parse(target, &query, &why) == 0);
	status = http_route_match(HTTP_HAS(HTTP_COLLECT), method, &query, &match, &why);
	if (ret_route)
		*ret_route = match.route;
	if (segment)
		snprintf(segment, 64, "%s", match.segment ?: "-");
	if (limit && match.route)
		*limit = http_match_value(&match, "limit");
	if (status)
		CHECK(why.text[0]);
	http_match_done(&match);
	http_query_done(&query);
	return status;
}

TEST(routes)
{
	const struct http_route *route;
	struct http_value limit;
	char segment[64];

	CHECK_EQ_UINT(ask("GET", "/t/things/a%20b", &route, segment, NULL), 0);
	CHECK(route == &thing_route);
	CHECK_EQ_TEXT(segment, "a b");
	CHECK_EQ_UINT(ask("HEAD", "/t/things/a", &route, NULL, NULL), 0);
	CHECK_EQ_UINT(ask("GET", "/t/things/special", &route, segment, NULL), 0);
	CHECK(route == &special_route);
	CHECK_EQ_UINT(ask("POST", "/t/things", &route, NULL, NULL), 0);
	CHECK(route == &post_route);
	CHECK_EQ_UINT(ask("GET", "/t/rest/a/b", &route, segment, NULL), 0);
	CHECK_EQ_TEXT(segment, "a/b");
	CHECK_EQ_UINT(ask("GET", "/t/things/x?limit=7", &route, NULL, &limit), 0);
	CHECK(limit.text && limit.number == 7);
	CHECK_EQ_UINT(ask("GET", "/t/things/x", &route, NULL, &limit), 0);
	CHECK(!limit.text);
}

TEST(routes_that_are_refused)
{
	static const struct {
		const char *method, *target;
		unsigned status;
	} cases[] = {
		{"GET", "/", 404},
		{"GET", "/t/thing", 404},
		{"GET", "/t/things/", 404},
		{"GET", "/t/things/a/b", 404},
		{"GET", "/t/rest/", 404},
		{"GET", "//t/need", 404},
		{"GET", "/t/./need", 404},
		{"GET", "/t/things", 405},
		{"POST", "/t/things/a", 405},
		{"get", "/t/need", 405},
		{"GET", "/t/need", 400},
		{"GET", "/t/need?what=1&x=2", 400},
		{"GET", "/t/things/%ff", 400},
		{"GET", "/t/things/a?limit=0", 400},
		{"GET", "/t/things/a?limit=101", 400},
		{"GET", "/t/things/a?limit=-1", 400},
		{"GET", "/t/things/a?limit=1e1", 400},
		{"GET", "/t/things/a?limit=", 400},
		{"GET", "/t/things/a?limit=99999999999999999999", 400},
		{"GET", "/t/things/a?step=fast", 400},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (!CHECK_EQ_UINT(ask(cases[i].method, cases[i].target, NULL, NULL, NULL), cases[i].status))
			fprintf(stderr, "# %s %s\n", cases[i].method, cases[i].target);
}

TEST(other_services_are_not_there)
{
	struct http_query query = {};
	struct http_match match = {};
	struct why why = {};

	REQUIRE(http_query_parse("/t/need?what=1", &query, &why) == 0);
	CHECK_EQ_UINT(http_route_match(HTTP_HAS(HTTP_AGENT), "GET", &query, &match, &why), 404);
	http_query_done(&query);
}

TEST(openapi_has_every_route)
{
	_cleanup_buf_ struct buf text = BUF_INIT(16 << 20);
	json_t *document, *paths;

	http_route_add_openapi(~0U, &text);
	document = json_loads(buf_text(&text), JSON_REJECT_DUPLICATES, NULL);
	REQUIRE(document);
	paths = json_object_get(document, "paths");
	registry_each(http_route, route) {
		_cleanup_free_ char *path = xstrdup((*route)->path), *method = xstrdup((*route)->method);
		char *dots = strstr(path, "...");
		json_t *operation;
		size_t params = strchr(path, '{') != NULL;

		if (dots)
			memmove(dots, dots + 3, strlen(dots + 3) + 1);
		for (char *c = method; *c; c++)
			*c |= 0x20;
		operation = json_object_get(json_object_get(paths, path), method);
		if (!CHECK(operation))
			fprintf(stderr, "# %s %s\n", method, path);
		for (unsigned i = 0; (*route)->params && (*route)->params[i].name; i++)
			params++;
		CHECK_EQ_UINT(json_array_size(json_object_get(operation, "parameters")), params);
		CHECK(json_string_length(json_object_get(operation, "summary")) > 0);
	}
	json_decref(document);
}

/* A reference of the document, found in it. */
static const json_t *resolve(const json_t *document, const json_t *schema)
{
	const char *reference = json_string_value(json_object_get(schema, "$ref"));

	if (!reference)
		return schema;
	return json_object_get(json_object_get(json_object_get(document, "components"), "schemas"),
			       strrchr(reference, '/') + 1);
}

TEST(openapi_answers_have_a_schema)
{
	_cleanup_buf_ struct buf text = BUF_INIT(16 << 20);
	json_t *document;

	http_route_add_openapi(~0U, &text);
	document = json_loads(buf_text(&text), JSON_REJECT_DUPLICATES, NULL);
	REQUIRE(document);
	registry_each(http_route, entry) {
		const struct http_route *route = *entry;
		const json_t *answer, *schema;
		struct shape shape;
		char status[16];

		/* What has a type of its own or no content, and the document itself. */
		if (strncmp(route->path, "/api/", 5) != 0 || route->type || route->status == 204 ||
		    strcmp(route->path, "/api/v1/openapi.json") == 0 || strcmp(route->path, "/api/v1/batches") == 0)
			continue;
		if (!CHECK(route->each_rows || (route->answer && http_route_shape(route->answer, &shape))))
			unit_note("%s: answer %s", route->path, route->answer ?: "-");
		snprintf(status, sizeof(status), "%u", route->status ?: 200);
		answer = json_object_get(json_object_get(document, "paths"), route->path);
		answer = json_object_get(json_object_get(answer, *route->method == 'G' ? "get" : "post"), "responses");
		answer = json_object_get(json_object_get(json_object_get(answer, status), "content"),
					 "application/json");
		schema = resolve(document, json_object_get(answer, "schema"));
		if (!CHECK(json_object_size(json_object_get(schema, "properties")) > 0))
			unit_note("%s: no schema", route->path);
	}
	json_decref(document);
}

TEST(openapi_schema_of_a_record)
{
	static const struct field fields[] = {
		FIELD(struct endpoint, port, ID, "a \"port\"", .unit = "x"),
	};
	static const struct record_type type = {
		.name = "t", .fields = fields, .field_count = 1, .size = sizeof(struct endpoint)};
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct shape shape = SHAPE_OF(&type);

	json_schema_add(&text, &shape, true);
	CHECK_EQ_TEXT(buf_text(&text),
		      "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"port\"],\"properties\":"
		      "{\"port\":{\"type\":\"integer\",\"nullable\":true,\"description\":\"a \\\"port\\\"\",\"x-unit\":"
		      "\"x\"}}}");
}

TEST(openapi_schema_of_rows_whose_columns_a_database_has)
{
	static const struct record_type row = {.name = "row"};
	struct rows {
		struct list rows;
	};
	static const struct field fields[] = {FIELD(struct rows, rows, LIST, NULL, .element = &row)};
	static const struct record_type type = {
		.name = "t", .fields = fields, .field_count = 1, .size = sizeof(struct rows)};
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct shape shape = SHAPE_OF(&type);

	json_schema_add(&text, &shape, true);
	CHECK_EQ_TEXT(buf_text(&text), "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"rows\"],"
				       "\"properties\":{\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"object\"},"
				       "\"nullable\":true}}}");
}

/* --- streams --- */

static void add(struct http_stream *stream, const char *json)
{
	http_stream_add(stream, json, strlen(json));
}

/* Everything that is to be read, a few bytes at a time. */
static const char *read_all(struct http_cursor *cursor, const struct http_stream *stream, size_t step)
{
	static char text[65536];
	size_t len = 0, n;

	while ((n = http_cursor_read(cursor, stream, text + len, min_of(step, sizeof(text) - 1 - len))) > 0)
		len += n;
	text[len] = '\0';
	return text;
}

TEST(a_stream_reaches_every_reader)
{
	struct http_stream stream;
	struct http_cursor a, b;

	http_stream_init(&stream, 4, 1000);
	http_cursor_init(&a, &stream, 0, UINT64_MAX);
	add(&stream, "{\"n\":1}");
	http_cursor_init(&b, &stream, 0, UINT64_MAX);
	CHECK_EQ_TEXT(read_all(&a, &stream, 3), "id: 1\ndata: {\"n\":1}\n\n");
	CHECK_EQ_TEXT(read_all(&a, &stream, 3), "");
	CHECK_EQ_TEXT(read_all(&b, &stream, 3), "");
	add(&stream, "{\"n\":\n2}");
	CHECK_EQ_TEXT(read_all(&a, &stream, 1000), "id: 2\ndata: {\"n\": 2}\n\n");
	CHECK_EQ_TEXT(read_all(&b, &stream, 1), "id: 2\ndata: {\"n\": 2}\n\n");
	CHECK(!http_cursor_is_at_end(&a, &stream));
	http_stream_end(&stream, "over \"now\"");
	add(&stream, "{}");
	CHECK(!http_cursor_is_at_end(&a, &stream));
	CHECK_EQ_TEXT(read_all(&a, &stream, 7), "event: end\ndata: {\"reason\":\"over \\\"now\\\"\"}\n\n");
	CHECK(http_cursor_is_at_end(&a, &stream));
	http_cursor_done(&a);
	http_cursor_done(&b);
	http_stream_done(&stream);
}

TEST(a_slow_reader_loses_and_learns_how_much)
{
	struct http_stream stream;
	struct http_cursor slow;
	char half[10];

	http_stream_init(&stream, 4, 1000);
	http_cursor_init(&slow, &stream, 0, UINT64_MAX);
	add(&stream, "1");
	/* In the middle of a message when it leaves the ring: the rest of it still comes. */
	REQUIRE(http_cursor_read(&slow, &stream, half, 3) == 3);
	for (int i = 2; i <= 10; i++)
		add(&stream, "2");
	CHECK_EQ_UINT(stream.next - stream.first, 4);
	CHECK_EQ_TEXT(read_all(&slow, &stream, 5),
		      " 1\ndata: 1\n\nevent: lost\ndata: {\"lost\":5}\n\nid: 7\ndata: 2\n\nid: 8\ndata: 2\n\n"
		      "id: 9\ndata: 2\n\nid: 10\ndata: 2\n\n");
	CHECK_EQ_UINT(slow.lost, 5);
	http_cursor_done(&slow);
	http_stream_done(&stream);
}

TEST(a_ring_is_bounded_in_bytes)
{
	_cleanup_buf_ struct buf large = BUF_INIT(1 << 20);
	struct http_stream stream;
	struct http_cursor reader;

	buf_add_fill(&large, 'x', 5000);
	http_stream_init(&stream, 1000, 20000);
	http_cursor_init(&reader, &stream, 0, UINT64_MAX);
	for (int i = 0; i < 1000; i++)
		add(&stream, buf_text(&large));
	CHECK(stream.bytes <= 20000);
	CHECK_EQ_UINT(stream.next - stream.first, 3);
	CHECK(strncmp(read_all(&reader, &stream, 4096), "event: lost\ndata: {\"lost\":997}", 30) == 0);
	/* One that is larger than all of it is kept alone. */
	buf_add_fill(&large, 'x', 100000);
	add(&stream, buf_text(&large));
	CHECK_EQ_UINT(stream.next - stream.first, 1);
	http_cursor_done(&reader);
	http_stream_done(&stream);
}

TEST(readers_begin_where_they_want)
{
	struct http_stream stream;
	struct http_cursor cursor;

	http_stream_init(&stream, 4, 1000);
	for (int i = 0; i < 10; i++)
		add(&stream, "x");
	http_cursor_init(&cursor, &stream, 1, UINT64_MAX);
	CHECK_EQ_TEXT(read_all(&cursor, &stream, 100), "id: 10\ndata: x\n\n");
	http_cursor_add_comment(&cursor);
	http_cursor_add_comment(&cursor);
	CHECK_EQ_TEXT(read_all(&cursor, &stream, 2), ": still here\n\n");
	http_cursor_done(&cursor);
	/* Last-Event-ID */
	http_cursor_init(&cursor, &stream, 0, 9);
	CHECK_EQ_TEXT(read_all(&cursor, &stream, 100), "id: 10\ndata: x\n\n");
	http_cursor_done(&cursor);
	http_cursor_init(&cursor, &stream, 0, 2);
	CHECK(strncmp(read_all(&cursor, &stream, 100), "event: lost\ndata: {\"lost\":4}\n\nid: 7", 35) == 0);
	http_cursor_done(&cursor);
	/* Of another run of the server. */
	http_cursor_init(&cursor, &stream, 1, 5000);
	CHECK_EQ_TEXT(read_all(&cursor, &stream, 100), "id: 10\ndata: x\n\n");
	http_cursor_done(&cursor);
	http_stream_done(&stream);
}
