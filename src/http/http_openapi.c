/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The OpenAPI document, from the table of routes. */
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/vec.h"
#include "http/http_route.h"
#include "view/json_schema.h"

static void add_text(struct buf *out, const char *text)
{
	buf_add_char(out, '"');
	text_add_json(out, text, strlen(text));
	buf_add_char(out, '"');
}

static void add_member(struct buf *out, const char *name, const char *text)
{
	buf_add_format(out, "\"%s\":", name);
	add_text(out, text);
}

static void add_schema(struct buf *out, const struct http_param *param)
{
	buf_add_text(out, "\"schema\":{");
	if (param->kind == HTTP_NUMBER) {
		buf_add_format(out, "\"type\":\"integer\",\"minimum\":%llu", (unsigned long long)param->min);
		if (param->max)
			buf_add_format(out, ",\"maximum\":%llu", (unsigned long long)param->max);
	} else {
		buf_add_text(out, "\"type\":\"string\"");
		if (param->kind == HTTP_EXPR)
			buf_add_text(out, ",\"format\":\"expression\"");
		if (param->kind == HTTP_NS)
			buf_add_text(out, ",\"format\":\"time\"");
		if (param->kind == HTTP_SPAN)
			buf_add_text(out, ",\"format\":\"duration\"");
	}
	buf_add_char(out, '}');
}

static void add_param(struct buf *out, const struct http_param *param, const char *in, bool first)
{
	buf_add_text(out, first ? "{" : ",{");
	add_member(out, "name", param->name);
	buf_add_format(out, ",\"in\":\"%s\",\"required\":%s,", in, param->required ? "true" : "false");
	add_member(out, "description", param->help);
	buf_add_char(out, ',');
	add_schema(out, param);
	buf_add_char(out, '}');
}

static void add_params(struct buf *out, const struct http_route *route)
{
	const char *open = strchr(route->path, '{');
	bool first = true;
	char name[40];

	buf_add_text(out, "\"parameters\":[");
	if (open) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(open + 1, ".}"), open + 1);
		add_param(out, &(struct http_param){name, HTTP_TEXT, "part of the path", .required = true}, "path",
			  true);
		first = false;
	}
	for (const struct http_param *param = route->params; param && param->name; param++, first = false)
		add_param(out, param, "query", first);
	buf_add_char(out, ']');
}

/* --- answers --- */

static const struct record_type *find_type(const char *name, size_t len)
{
	registry_each(record_type, type)
		if (strncmp((*type)->name, name, len) == 0 && (*type)->name[len] == '\0')
			return *type;
	return NULL;
}

bool http_route_shape(const char *answer, struct shape *ret_shape)
{
	struct shape shape = {};

	while (*answer && shape.count < RECORD_PARTS_MAX) {
		size_t len = strcspn(answer, ",");
		const struct record_type *type = find_type(answer, len);

		if (!type)
			return false;
		shape.types[shape.count++] = type;
		answer += len + (answer[len] == ',');
	}
	*ret_shape = shape;
	return shape.count > 0;
}

static void add_reference(struct buf *out, const char *name)
{
	buf_add_format(out, "{\"$ref\":\"#/components/schemas/%s\"}", name);
}

/* Commas have no place in the name of a schema. */
static void add_schema_name(struct buf *out, const char *answer)
{
	for (; *answer; answer++)
		buf_add_char(out, *answer == ',' ? '-' : *answer);
}

static void take_reference(const char *name, const struct shape *shape _unused_, void *context)
{
	struct buf *out = context;

	buf_add_text(out, out->data[out->len - 1] == '[' ? "" : ",");
	add_reference(out, name);
}

static void add_answer_schema(struct buf *out, const struct http_route *route)
{
	_cleanup_buf_ struct buf name = BUF_INIT(256);
	bool rows = route->rows || route->each_rows;

	if (rows)
		buf_add_text(out, "{\"type\":\"object\",\"required\":[\"rows\",\"total\"],\"properties\":{\"total\":"
				  "{\"type\":\"integer\"},\"complete\":{\"type\":\"boolean\"},\"rows\":{\"type\":"
				  "\"array\",\"items\":");
	if (route->each_rows) {
		buf_add_text(out, "{\"anyOf\":[");
		route->each_rows(take_reference, out);
		buf_add_text(out, "]}");
	} else {
		add_schema_name(&name, route->answer);
		add_reference(out, buf_text(&name));
	}
	buf_add_text(out, rows ? "}},\"additionalProperties\":false}" : "");
}

static void add_answers(struct buf *out, const struct http_route *route)
{
	const char *type = route->type ?: "application/json";
	unsigned status = route->status ?: 200;

	buf_add_format(out, "\"responses\":{\"%u\":{\"description\":\"done\"", status);
	if (status != 204) {
		buf_add_text(out, ",\"content\":{");
		add_text(out, type);
		buf_add_text(out, ":{");
		if (route->answer || route->each_rows) {
			buf_add_text(out, "\"schema\":");
			add_answer_schema(out, route);
		}
		buf_add_text(out, "}}");
	}
	buf_add_text(out, "},\"default\":{\"description\":\"refused or failed\",\"content\":{\"application/json\":"
			  "{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}}}");
}

/* --- the schemas behind them --- */

static void take_rows_schema(const char *name, const struct shape *shape, void *context)
{
	struct buf *out = context;

	buf_add_format(out, ",\"%s\":", name);
	json_schema_add(out, shape, false);
}

/* Each once, whatever the number of routes that have it. */
static void add_schemas(struct buf *out, unsigned services)
{
	VEC(const char *) seen = {};
	struct shape shape;

	registry_each(http_route, entry) {
		const struct http_route *route = *entry;
		bool known = !(services & HTTP_HAS(route->service)) || !route->answer;

		if ((services & HTTP_HAS(route->service)) && route->each_rows)
			route->each_rows(take_rows_schema, out);
		for (size_t i = 0; i < seen.count && !known; i++)
			known = strcmp(seen.items[i], route->answer) == 0;
		if (known || !http_route_shape(route->answer, &shape))
			continue;
		vec_push(&seen, route->answer);
		buf_add_text(out, ",\"");
		add_schema_name(out, route->answer);
		buf_add_text(out, "\":");
		json_schema_add(out, &shape, true);
	}
	vec_done(&seen);
}

/* --- the document --- */

static void add_operation(struct buf *out, const struct http_route *route)
{
	char method[16];
	size_t i;

	for (i = 0; i < sizeof(method) - 1 && route->method[i]; i++)
		method[i] = (char)(route->method[i] | 0x20);
	method[i] = '\0';
	buf_add_format(out, "\"%s\":{", method);
	add_member(out, "summary", route->summary);
	buf_add_char(out, ',');
	if (route->access == HTTP_OPEN)
		buf_add_text(out, "\"security\":[],");
	else if (route->access == HTTP_WITH_BEARER)
		buf_add_text(out, "\"security\":[{\"token\":[]}],");
	add_params(out, route);
	if (route->body_max) {
		buf_add_text(out, ",\"requestBody\":{\"required\":true,");
		add_member(out, "description", route->body ?: "");
		buf_add_text(out, ",\"content\":{\"application/json\":{}}}");
	}
	buf_add_char(out, ',');
	add_answers(out, route);
	buf_add_char(out, '}');
}

static int by_path(const void *a, const void *b)
{
	const struct http_route *const *x = a, *const *y = b;
	int order = strcmp((*x)->path, (*y)->path);

	return order ? order : strcmp((*x)->method, (*y)->method);
}

static void add_path(struct buf *out, const char *pattern)
{
	buf_add_char(out, '"');
	for (; *pattern; pattern++)
		if (*pattern != '.' || strncmp(pattern, "...}", 4) != 0)
			buf_add_char(out, *pattern);
		else
			pattern += 2;
	buf_add_text(out, "\":{");
}

void http_route_add_openapi(unsigned services, struct buf *out)
{
	VEC(const struct http_route *) routes = {};
	const char *path = "";

	registry_each(http_route, entry)
		if (services & HTTP_HAS((*entry)->service))
			vec_push(&routes, *entry);
	vec_sort(&routes, by_path);
	buf_add_text(out, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"nest\",\"version\":\"" NEST_VERSION "\"},"
			  "\"security\":[{\"token\":[]},{\"cookie\":[]}],\"paths\":{");
	vec_each(&routes, route) {
		if (strcmp((*route)->path, path) != 0) {
			buf_add_text(out, *path ? "}," : "");
			add_path(out, (*route)->path);
		} else {
			buf_add_char(out, ',');
		}
		path = (*route)->path;
		add_operation(out, *route);
	}
	buf_add_text(out, *path ? "}" : "");
	buf_add_text(out,
		     "},\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
		     "\"cookie\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"nest\"}},\"schemas\":{\"Error\":"
		     "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":"
		     "\"string\"},\"at\":{\"type\":\"integer\",\"description\":\"character of an expression\"}}}");
	add_schemas(out, services);
	buf_add_text(out, "}}}");
	vec_done(&routes);
}
