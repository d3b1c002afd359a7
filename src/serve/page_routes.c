/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the page, which the build puts into the program; the session; the document of the routes. */
#include <string.h>

#include "base/embed.h"
#include "serve/serve.h"

#define NAME_MAX_LEN 100
#define FILE_MAX     ((size_t)16 << 20)
#define BODY_MAX     ((size_t)16 << 20)

/* Only these are files of the page. */
static const struct {
	const char *ending;
	const char *type;
} file_types[] = {
	{".html", "text/html; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".svg", "image/svg+xml"},
	{".png", "image/png"},
	{".ico", "image/x-icon"},
	{".woff2", "font/woff2"},
	{".webmanifest", "application/manifest+json"},
	{".txt", "text/plain; charset=utf-8"},
};

static const char *type_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(file_types); i++)
		if (strcmp(file_types[i].ending, dot) == 0)
			return file_types[i].type;
	return NULL;
}

static uint64_t hash_of(const struct embedded_file *file)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (const unsigned char *at = file->begin; at < file->end; at++)
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	return hash;
}

/* For the few that do not take gzip. */
static void answer_plain(struct http_request *request, const char *type, const char *packed)
{
	struct buf body = BUF_INIT(FILE_MAX);

	if (embed_unpack(packed, &body) == 0)
		http_answer(request, 200, type, &body);
	else
		http_refuse(request, 500, "the file is damaged");
	buf_done(&body);
}

static void answer_file(struct http_request *request, const char *name)
{
	_cleanup_free_ char *packed = xasprintf("%s.gz", name);
	const char *type = type_of(name), *takes = http_request_header(request, "Accept-Encoding");
	const struct embedded_file *file = type ? embed_find(packed) : NULL;
	char etag[24];

	if (!file) {
		http_refuse(request, 404, "no such path");
		return;
	}
	snprintf(etag, sizeof(etag), "\"%016llx\"", (unsigned long long)hash_of(file));
	if (takes && strstr(takes, "gzip"))
		http_answer_bytes(request, type, file->begin, (size_t)(file->end - file->begin), etag, "gzip");
	else
		answer_plain(request, type, packed);
}

static void answer_index(struct http_request *request)
{
	struct buf body = BUF_INIT(BODY_MAX);

	if (embed_find("index.html.gz")) {
		answer_file(request, "index.html");
		return;
	}
	buf_add_text(&body, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>nest</title>"
			    "<h1>nest serve</h1><p>This build of nest has no page: node and npm were missing. "
			    "<code>scripts/setup page</code> installs them, <code>make</code> builds the page. "
			    "The API works: <a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>.</p>\n");
	http_answer(request, 200, "text/html; charset=utf-8", &body);
}

static const struct http_route index_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/",
	.summary = "the page",
	.access = HTTP_OPEN,
	.type = "text/html",
	.handle = answer_index,
};
HTTP_ROUTE(index_route);

static void answer_named(struct http_request *request)
{
	const char *name = http_request_segment(request);

	if (strlen(name) > NAME_MAX_LEN || strchr(name, '/'))
		http_refuse(request, 404, "no such path");
	else
		answer_file(request, name);
}

static const struct http_route file_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/{file}",
	.summary = "a file of the page",
	.access = HTTP_OPEN,
	.type = "application/octet-stream",
	.handle = answer_named,
};
HTTP_ROUTE(file_route);

static const struct http_route session_route = {
	.service = HTTP_SERVE,
	.method = "POST",
	.path = "/api/v1/session",
	.summary = "exchange the token for a cookie",
	.access = HTTP_WITH_BEARER,
	.status = 204,
	.handle = http_answer_session,
};
HTTP_ROUTE(session_route);

static void answer_document(struct http_request *request)
{
	struct buf body = BUF_INIT(BODY_MAX);

	http_route_add_openapi(http_server_services(request->server), &body);
	http_answer(request, 200, NULL, &body);
}

static const struct http_route document_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/openapi.json",
	.summary = "this document",
	.handle = answer_document,
};
HTTP_ROUTE(document_route);
