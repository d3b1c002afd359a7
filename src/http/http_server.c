/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <microhttpd.h>
#include <sys/epoll.h>

#include "http/http_server.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "http/http_origin.h"

#define CLIENTS_MAX     4000
#define CLIENTS_OF_ONE  64    /* from one address, where others than this host can connect */
#define HEADER_MAX      16384 /* request line and header */
#define POOL_BYTES      32768 /* of a connection: header, and a part of the answer */
#define BODIES_MAX      ((size_t)64 << 20)
#define CERT_MAX        ((size_t)1 << 20)
#define ERROR_MAX       8192
#define FIRST_SECONDS   15  /* until the first request has arrived */
#define IDLE_SECONDS    60  /* between two requests; MHD: without progress */
#define BODY_SECONDS    60  /* until a body has arrived */
#define ANSWER_SECONDS  120 /* until an answer, other than a stream, has been read */
#define COMMENT_SECONDS 15
#define STREAM_BLOCK    1024
#define FILES_BESIDE    512 /* descriptors for anything else */
#define RUNS_AT_ONCE    32

/* What a connection is waiting for. */
enum client_state { CLIENT_FIRST, CLIENT_IDLE, CLIENT_BODY, CLIENT_ANSWER, CLIENT_PENDING, CLIENT_STREAM };

struct http_client {
	struct http_client *next, *before;
	int fd;
	enum client_state state;
	uint64_t since_ns;
};

/* A client of a stream. */
struct http_reader {
	struct http_server *server;
	struct http_stream *stream; /* NULL: gone */
	struct http_cursor cursor;
	struct MHD_Connection *connection;
	bool suspended;
};

struct http_server {
	struct http_listen listen;
	struct http_origin origin;
	int fd;
	struct http_token token; /* empty: none is needed */
	struct http_token cookie;
	char cookie_name[32];
	char *cert, *key;
	void *services[HTTP_SERVICES];
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct loop_source *source, *timer, *more;
	struct http_client *clients;
	unsigned client_count;
	VEC(struct http_reader *) readers;
	VEC(struct http_request *) waiting;
	size_t bodies; /* bytes */
	unsigned seconds;
	bool closing;
};

/* --- options --- */

static int read_pem(const char *option, const char *path, char **ret_text, struct why *why)
{
	struct buf text = BUF_INIT(CERT_MAX);
	int r = buf_read_file(&text, path);

	if (r < 0) {
		buf_done(&text);
		return why_set(why, -EIO, "%s: cannot read %s: %s", option, path, strerror(-r));
	}
	buf_add(&text, "", 1);
	*ret_text = text.data;
	return 0;
}

static int read_secrets(struct http_server *server, const struct http_options *options, struct why *why)
{
	int r = 0;

	if (options->token_file)
		r = http_token_read(options->token_file, &server->token, why);
	else if (!server->listen.local)
		r = http_token_make(&server->token, why);
	if (r == 0)
		r = http_token_make(&server->cookie, why);
	if (r == 0 && options->tls_cert)
		r = read_pem("--tls-cert", options->tls_cert, &server->cert, why);
	if (r == 0 && options->tls_key)
		r = read_pem("--tls-key", options->tls_key, &server->key, why);
	return r;
}

int http_server_new(const struct http_options *options, struct http_server **ret_server, struct why *why)
{
	_cleanup_(http_server_freep) struct http_server *server = xzalloc(sizeof(*server));
	int r;

	server->fd = -1;
	r = http_listen_parse(options->listen, &server->listen, why);
	if (r == 0)
		r = http_options_check(options, &server->listen, why);
	if (r == 0)
		r = read_secrets(server, options, why);
	if (r < 0)
		return r;
	server->fd = http_listen_open(&server->listen, why);
	if (server->fd < 0)
		return -EIO;
	server->origin = (struct http_origin){
		.listen = &server->listen, .names = &options->names, .tls = options->tls_cert != NULL};
	/* Cookies do not know ports: two servers of one host must not share one. */
	snprintf(server->cookie_name, sizeof(server->cookie_name), "nest_%u", server->listen.port);
	*ret_server = take_ptr(server);
	return 0;
}

void http_server_serve(struct http_server *server, enum http_service service, void *context)
{
	server->services[service] = context;
}

unsigned http_server_services(const struct http_server *server)
{
	unsigned services = 0;

	for (unsigned i = 0; i < HTTP_SERVICES; i++)
		if (server->services[i])
			services |= HTTP_HAS(i);
	return services;
}

unsigned http_server_clients(const struct http_server *server)
{
	return server->client_count;
}

void http_server_add_url(const struct http_server *server, bool with_token, struct buf *out)
{
	struct endpoint at = {.addr = server->listen.addr, .port = server->listen.port};
	const struct text_list *names = server->origin.names;

	if (server->listen.local) {
		buf_add_format(out, "unix:%s", server->listen.path);
		return;
	}
	buf_add_text(out, server->origin.tls ? "https://" : "http://");
	if (names && names->count > 0) {
		buf_add_format(out, "%s:%u", names->items[0], at.port);
	} else if (http_listen_is_any(&server->listen)) {
		buf_add_format(out, "localhost:%u", at.port);
	} else {
		addr_format_endpoint(&at, out);
	}
	buf_add_char(out, '/');
	if (with_token && server->token.text[0])
		buf_add_format(out, "#token=%s", server->token.text);
}

/* --- connections --- */

static void set_state(struct http_client *client, enum client_state state)
{
	if (client) {
		client->state = state;
		client->since_ns = clock_monotonic_ns();
	}
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct http_server *server = cls;
	struct http_client *client = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		client = xzalloc(sizeof(*client));
		client->fd = info ? info->connect_fd : -1;
		client->next = server->clients;
		if (client->next)
			client->next->before = client;
		server->clients = client;
		server->client_count++;
		set_state(client, CLIENT_FIRST);
		*socket_context = client;
	} else if (client) {
		if (client->next)
			client->next->before = client->before;
		if (client->before)
			client->before->next = client->next;
		else
			server->clients = client->next;
		server->client_count--;
		*socket_context = NULL;
		free(client);
	}
}

static uint64_t seconds_for(enum client_state state)
{
	switch (state) {
	case CLIENT_FIRST:
		return FIRST_SECONDS;
	case CLIENT_IDLE:
		return IDLE_SECONDS;
	case CLIENT_BODY:
		return BODY_SECONDS;
	case CLIENT_ANSWER:
		return ANSWER_SECONDS;
	case CLIENT_PENDING:
	case CLIENT_STREAM:
		break;
	}
	return 0;
}

/* Activity does not count here: a byte now and then keeps nobody connected. */
static void end_slow_clients(const struct http_server *server)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct http_client *client = server->clients; client; client = client->next) {
		uint64_t seconds = seconds_for(client->state);

		if (seconds && now_ns - client->since_ns > seconds * NSEC_PER_SEC)
			(void)shutdown(client->fd, SHUT_RDWR);
	}
}

/* --- what runs libmicrohttpd --- */

static void run_daemon(struct http_server *server);

static void on_more(void *context, uint64_t expirations _unused_)
{
	struct http_server *server = context;

	loop_remove(server->loop, take_ptr(server->more));
	run_daemon(server);
}

static void run_soon(struct http_server *server)
{
	if (!server->more)
		(void)!loop_add_timer(server->loop, 0, 0, on_more, server, &server->more);
}

static void run_daemon(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	for (unsigned i = 0; i < RUNS_AT_ONCE; i++)
		if (MHD_run(server->daemon) != MHD_YES || MHD_get_timeout(server->daemon, &wait_ms) != MHD_YES ||
		    wait_ms > 0)
			return;
	/* Others may have their turn. What is left is ready, and its descriptor does not say so again. */
	run_soon(server);
}

static void on_ready(void *context, uint32_t events _unused_)
{
	run_daemon(context);
}

static void resume_reader(struct http_reader *reader)
{
	if (reader->suspended) {
		reader->suspended = false;
		MHD_resume_connection(reader->connection);
	}
}

static void on_second(void *context, uint64_t expirations _unused_)
{
	struct http_server *server = context;

	server->seconds++;
	if (server->seconds % COMMENT_SECONDS == 0)
		vec_each(&server->readers, reader)
			if ((*reader)->suspended) {
				http_cursor_add_comment(&(*reader)->cursor);
				resume_reader(*reader);
			}
	end_slow_clients(server);
	run_daemon(server);
}

/* --- requests --- */

static void *on_target(void *cls, const char *target, struct MHD_Connection *connection)
{
	struct http_request *request = xzalloc(sizeof(*request));

	request->server = cls;
	request->connection = connection;
	request->target = xstrndup(target, HTTP_TARGET_MAX + 1);
	return request;
}

static void drop_body(struct http_request *request)
{
	request->server->bodies -= request->body.len;
	buf_done(&request->body);
}

static void on_completed(void *cls _unused_, struct MHD_Connection *connection _unused_, void **con_cls,
			 enum MHD_RequestTerminationCode code _unused_)
{
	struct http_request *request = *con_cls;

	if (!request)
		return;
	set_state(request->client, CLIENT_IDLE);
	if (request->response && !request->queued)
		MHD_destroy_response(request->response);
	drop_body(request);
	http_match_done(&request->match);
	http_query_done(&request->query);
	free(request->target);
	free(request);
	*con_cls = NULL;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static bool has_token(const struct http_request *request)
{
	const struct http_server *server = request->server;
	const char *text;
	size_t len;

	if (!server->token.text[0])
		return true;
	text = http_token_of_header(http_request_header(request, "Authorization"), &len);
	if (text)
		return http_token_matches(&server->token, text, len);
	if (request->match.route->access == HTTP_WITH_BEARER)
		return false;
	text = http_token_of_cookie(http_request_header(request, "Cookie"), server->cookie_name, &len);
	return text && http_token_matches(&server->cookie, text, len);
}

struct header_count {
	const char *name;
	unsigned count;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind _unused_, const char *name,
				    const char *value _unused_)
{
	struct header_count *header = cls;

	header->count += strcasecmp(name, header->name) == 0;
	return MHD_YES;
}

/* Where one program reads the first and another one the last of two, they see different requests. */
static const char *find_ambiguous(const struct http_request *request)
{
	static const char *const once[] = {"Host", "Origin", "Authorization", "Content-Length", "Transfer-Encoding"};

	for (size_t i = 0; i < ARRAY_SIZE(once); i++) {
		struct header_count header = {.name = once[i]};

		(void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &header);
		if (header.count > 1)
			return once[i];
	}
	return http_request_header(request, "Content-Length") && http_request_header(request, "Transfer-Encoding")
		       ? "Content-Length"
		       : NULL;
}

/* Who asks: 0, or the status to refuse it with. */
static unsigned check_sender(const struct http_request *request, struct why *why)
{
	const struct http_origin *own = &request->server->origin;
	const char *host = http_request_header(request, "Host"), *origin = http_request_header(request, "Origin");
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (info && info->header_size > HEADER_MAX) {
		(void)why_set(why, -E2BIG, "request line and header have more than %d bytes", HEADER_MAX);
		return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
	}
	if (find_ambiguous(request)) {
		(void)why_set(why, -EINVAL, "the header %s is ambiguous: given twice", find_ambiguous(request));
		return MHD_HTTP_BAD_REQUEST;
	}
	if (!host && !own->listen->local) {
		(void)why_set(why, -EINVAL, "the header Host is missing");
		return MHD_HTTP_BAD_REQUEST;
	}
	if (host && !http_origin_host_is_own(own, host)) {
		(void)why_set(why, -EACCES, "the header Host does not name this server (--host-name allows a name)");
		return MHD_HTTP_FORBIDDEN;
	}
	if (origin && !http_origin_is_own(own, origin, host ?: "")) {
		(void)why_set(why, -EACCES, "the request comes from a page of another origin");
		return MHD_HTTP_FORBIDDEN;
	}
	return 0;
}

/* Whether the route may be asked by this sender. */
static unsigned check_access(const struct http_request *request, struct why *why)
{
	const struct http_route *route = request->match.route;

	if (route->access != HTTP_OPEN && !has_token(request)) {
		(void)why_set(why, -EACCES, "needs the token: Authorization: Bearer TOKEN");
		return MHD_HTTP_UNAUTHORIZED;
	}
	if (route->changes && !request->server->listen.local && !http_request_header(request, "Origin")) {
		(void)why_set(why, -EACCES, "needs the header Origin with the address of this server");
		return MHD_HTTP_FORBIDDEN;
	}
	return 0;
}

static unsigned check_body(const struct http_request *request, struct why *why)
{
	const struct http_route *route = request->match.route;
	const char *length = http_request_header(request, "Content-Length");
	uint64_t bytes = 0;

	if (length && parse_decimal(length, 0, UINT64_MAX, &bytes) < 0)
		bytes = UINT64_MAX;
	if (bytes > route->body_max) {
		(void)why_set(why, -E2BIG, "the body may have %zu bytes", route->body_max);
		return MHD_HTTP_CONTENT_TOO_LARGE;
	}
	if (request->server->bodies + bytes > BODIES_MAX) {
		(void)why_set(why, -EAGAIN, "too many requests with a body at once");
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	return 0;
}

static unsigned check_request(struct http_request *request, const char *method, struct why *why)
{
	unsigned status = check_sender(request, why), wrong, refused;

	if (status)
		return status;
	if (http_query_parse(request->target, &request->query, why) < 0)
		return MHD_HTTP_BAD_REQUEST;
	wrong = http_route_match(http_server_services(request->server), method, &request->query, &request->match, why);
	if (!request->match.route)
		return wrong;
	/* Whoever has no token learns nothing about parameters. */
	refused = check_access(request, why);
	if (refused || wrong)
		return refused ?: wrong;
	return check_body(request, why);
}

static void begin_request(struct http_request *request, const char *method)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct why why = {};
	unsigned status;

	request->begun = true;
	request->client = info ? info->socket_context : NULL;
	set_state(request->client, CLIENT_BODY);
	status = check_request(request, method, &why);
	if (status) {
		request->handled = true;
		http_refuse(request, status, "%s", why.text);
		return;
	}
	request->service = request->server->services[request->match.route->service];
	request->body = BUF_INIT(request->match.route->body_max + 1);
}

static void take_body(struct http_request *request, const char *data, size_t len)
{
	struct http_server *server = request->server;

	/* libmicrohttpd takes no answer before the end of a body. */
	if (request->too_large || request->handled || server->bodies + len > BODIES_MAX ||
	    request->body.len + len > request->match.route->body_max) {
		request->too_large = true;
		return;
	}
	buf_add(&request->body, data, len);
	server->bodies += len;
}

static enum MHD_Result queue(struct http_request *request)
{
	enum MHD_Result result = MHD_queue_response(request->connection, request->status, request->response);

	request->queued = true;
	MHD_destroy_response(request->response);
	return result;
}

static void handle(struct http_request *request)
{
	request->handled = true;
	set_state(request->client, CLIENT_PENDING);
	if (request->too_large)
		http_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "the body may have %zu bytes",
			    request->match.route->body_max);
	else
		request->match.route->handle(request);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url _unused_,
				  const char *method, const char *version _unused_, const char *data, size_t *size,
				  void **con_cls)
{
	struct http_request *request = *con_cls;
	struct http_server *server = cls;

	if (!request)
		return MHD_NO;
	if (!request->begun) {
		begin_request(request, method);
		return request->response ? queue(request) : MHD_YES;
	}
	if (*size > 0) {
		take_body(request, data, *size);
		*size = 0;
		return MHD_YES;
	}
	if (!request->handled) {
		handle(request);
		/*
		 * Suspended in its first call, libmicrohttpd would read again when it goes on, and take the end of a
		 * client's own direction for the end of the client. In the second it waits for nothing.
		 */
		if (!request->response && !server->closing)
			return MHD_YES;
	}
	if (request->response)
		return queue(request);
	if (server->closing)
		return MHD_NO;
	request->suspended = true;
	vec_push(&server->waiting, request);
	MHD_suspend_connection(connection);
	return MHD_YES;
}

/* --- answers --- */

const char *http_request_text(const struct http_request *request, const char *name)
{
	return http_match_value(&request->match, name).text;
}

uint64_t http_request_number(const struct http_request *request, const char *name, uint64_t otherwise)
{
	struct http_value value = http_match_value(&request->match, name);

	return value.text ? value.number : otherwise;
}

const char *http_request_segment(const struct http_request *request)
{
	return request->match.segment;
}

/* No page of another origin may use what is sent here, and no script but the page's own files runs in it. */
static const char *const safe_headers[][2] = {
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
	 "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"X-Frame-Options", "DENY"},
};

static void forget_waiting(struct http_server *server, const struct http_request *request)
{
	for (size_t i = 0; i < server->waiting.count; i++)
		if (server->waiting.items[i] == request) {
			server->waiting.items[i] = server->waiting.items[--server->waiting.count];
			return;
		}
}

static void send_response(struct http_request *request, unsigned status, struct MHD_Response *response,
			  enum client_state state)
{
	if (!response || request->response) {
		if (response)
			MHD_destroy_response(response);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(safe_headers); i++)
		(void)MHD_add_response_header(response, safe_headers[i][0], safe_headers[i][1]);
	request->response = response;
	request->status = status;
	set_state(request->client, state);
	drop_body(request);
	if (request->suspended) {
		request->suspended = false;
		forget_waiting(request->server, request);
		MHD_resume_connection(request->connection);
		run_soon(request->server);
	}
}

void http_answer(struct http_request *request, unsigned status, const char *type, struct buf *body)
{
	struct MHD_Response *response;
	size_t len = body->len;

	if (body->over) {
		buf_done(body);
		http_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE,
			    "the response is too large: reduce it with limit, show or where");
		return;
	}
	response = MHD_create_response_from_buffer(len, body->data ?: xzalloc(1), MHD_RESPMEM_MUST_FREE);
	*body = BUF_INIT(body->cap);
	(void)MHD_add_response_header(response, "Content-Type", type ?: "application/json");
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	if (status == MHD_HTTP_UNAUTHORIZED)
		(void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, "Allow", "GET, HEAD, POST, DELETE");
	send_response(request, status, response, CLIENT_ANSWER);
}

void http_answer_empty(struct http_request *request, unsigned status)
{
	send_response(request, status, MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT),
		      CLIENT_ANSWER);
}

static void refuse(struct http_request *request, unsigned status, const char *text, size_t len, const char *at)
{
	struct buf body = BUF_INIT(ERROR_MAX);

	buf_add_text(&body, "{\"error\":\"");
	text_add_json(&body, text, len);
	buf_add_text(&body, "\"");
	if (at)
		buf_add_format(&body, ",\"at\":%s", at);
	buf_add_text(&body, "}\n");
	http_answer(request, status, NULL, &body);
}

void http_refuse(struct http_request *request, unsigned status, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	refuse(request, status, text, strnlen(text, ERROR_MAX / 8), NULL);
}

void http_refuse_expr(struct http_request *request, const char *name, const struct why *why, size_t at)
{
	/* The sentence alone: the page draws its own caret. */
	_cleanup_free_ char *text = xasprintf("%s: %.*s", name, (int)strcspn(why->text, "\n"), why->text);
	char number[24];

	snprintf(number, sizeof(number), "%zu", at);
	refuse(request, MHD_HTTP_BAD_REQUEST, text, strlen(text), number);
}

void http_answer_bytes(struct http_request *request, const char *type, const void *bytes, size_t len, const char *etag,
		       const char *encoding)
{
	const char *known = http_request_header(request, "If-None-Match");
	bool same = known && strstr(known, etag);
	struct MHD_Response *response = MHD_create_response_from_buffer(
		same ? 0 : len, same ? (void *)"" : (void *)bytes, MHD_RESPMEM_PERSISTENT);

	(void)MHD_add_response_header(response, "ETag", etag);
	(void)MHD_add_response_header(response, "Cache-Control", "no-cache");
	(void)MHD_add_response_header(response, "Vary", "Accept-Encoding");
	if (!same) {
		(void)MHD_add_response_header(response, "Content-Type", type);
		if (encoding)
			(void)MHD_add_response_header(response, "Content-Encoding", encoding);
	}
	send_response(request, same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response, CLIENT_ANSWER);
}

void http_answer_session(struct http_request *request)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	const struct http_server *server = request->server;
	char cookie[512];

	snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; SameSite=Strict; HttpOnly%s", server->cookie_name,
		 server->cookie.text, server->origin.tls ? "; Secure" : "");
	(void)MHD_add_response_header(response, "Set-Cookie", cookie);
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	send_response(request, MHD_HTTP_NO_CONTENT, response, CLIENT_ANSWER);
}

/* --- streams --- */

static ssize_t read_stream(void *cls, uint64_t position _unused_, char *out, size_t max)
{
	struct http_reader *reader = cls;
	size_t n;

	if (!reader->stream || reader->server->closing)
		return MHD_CONTENT_READER_END_OF_STREAM;
	n = http_cursor_read(&reader->cursor, reader->stream, out, max);
	if (n > 0)
		return (ssize_t)n;
	if (http_cursor_is_at_end(&reader->cursor, reader->stream))
		return MHD_CONTENT_READER_END_OF_STREAM;
	reader->suspended = true;
	MHD_suspend_connection(reader->connection);
	return 0;
}

#define remove_reader(list, reader)                                                                                    \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < (list)->count; i_++)                                                          \
			if ((list)->items[i_] == (reader)) {                                                           \
				(list)->items[i_] = (list)->items[--(list)->count];                                    \
				break;                                                                                 \
			}                                                                                              \
	} while (0)

static void free_reader(void *cls)
{
	struct http_reader *reader = cls;

	if (reader->stream)
		remove_reader(&reader->stream->readers, reader);
	remove_reader(&reader->server->readers, reader);
	http_cursor_done(&reader->cursor);
	free(reader);
}

static void resume_readers(void *context)
{
	struct http_stream *stream = context;

	vec_each(&stream->readers, reader)
		resume_reader(*reader);
}

void http_answer_stream(struct http_request *request, struct http_stream *stream, unsigned past)
{
	const char *last = http_request_header(request, "Last-Event-ID");
	struct http_reader *reader = xzalloc(sizeof(*reader));
	struct MHD_Response *response;
	uint64_t seen = UINT64_MAX;

	if (last && parse_decimal(last, 0, UINT64_MAX - 1, &seen) < 0)
		seen = UINT64_MAX;
	*reader = (struct http_reader){.server = request->server, .stream = stream, .connection = request->connection};
	http_cursor_init(&reader->cursor, stream, past, seen);
	/* The header is sent at once, whenever the first message comes. */
	http_cursor_add_comment(&reader->cursor);
	vec_push(&stream->readers, reader);
	vec_push(&request->server->readers, reader);
	stream->changed = resume_readers;
	stream->context = stream;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, reader, free_reader);
	if (!response) {
		free_reader(reader);
		http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory for a stream");
		return;
	}
	(void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
	(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	(void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
	send_response(request, MHD_HTTP_OK, response, CLIENT_STREAM);
}

void http_server_forget(struct http_server *server _unused_, struct http_stream *stream)
{
	vec_each(&stream->readers, reader) {
		(*reader)->stream = NULL;
		resume_reader(*reader);
	}
	stream->readers.count = 0;
}

/* --- beginning and end --- */

/* A client is a descriptor: as many as the user's limit allows. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= CLIENTS_MAX + FILES_BESIDE)
		return;
	limit.rlim_cur = min_of(limit.rlim_max, (rlim_t)(CLIENTS_MAX + FILES_BESIDE));
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static unsigned clients_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= CLIENTS_MAX + FILES_BESIDE)
		return CLIENTS_MAX;
	return limit.rlim_cur > 2 * FILES_BESIDE ? (unsigned)(limit.rlim_cur - FILES_BESIDE)
						 : (unsigned)(limit.rlim_cur / 2);
}

/* It has a sentence for every client that goes away. */
static void ignore_log(void *context _unused_, const char *format _unused_, va_list args _unused_)
{
}

static struct MHD_Daemon *start_daemon(struct http_server *server)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem more[8] = {};
	unsigned n = 0;

	if (!http_listen_is_private(&server->listen))
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_PER_IP_CONNECTION_LIMIT, CLIENTS_OF_ONE, NULL};
	if (server->origin.tls) {
		flags |= MHD_USE_TLS;
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, server->cert};
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, server->key};
		more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
						    (void *)"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
	}
	more[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL,
				MHD_OPTION_LISTEN_SOCKET, server->fd, MHD_OPTION_CONNECTION_LIMIT, clients_max(),
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
				(unsigned)IDLE_SECONDS, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
				MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
				on_connection, server, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, more,
				MHD_OPTION_END);
}

int http_server_start(struct http_server *server, struct loop *loop, struct why *why)
{
	const union MHD_DaemonInfo *info;
	int r;

	if (server->origin.tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return why_set(why, -ENOTSUP, "this program was built without TLS: use a UNIX socket and a proxy");
	allow_descriptors();
	server->loop = loop;
	server->daemon = start_daemon(server);
	if (!server->daemon)
		return why_set(why, -EIO, "cannot start the HTTP server%s",
			       server->origin.tls ? ": is --tls-key the key of --tls-cert, both in PEM format?" : "");
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	r = info ? loop_add_fd(loop, info->epoll_fd, EPOLLIN, on_ready, server, &server->source) : -EIO;
	if (r == 0)
		r = loop_add_timer(loop, NSEC_PER_SEC, NSEC_PER_SEC, on_second, server, &server->timer);
	return r < 0 ? why_set(why, r, "cannot wait for requests: %s", strerror(-r)) : 0;
}

/* libmicrohttpd ends only when nothing is suspended. */
static void end_daemon(struct http_server *server)
{
	server->closing = true;
	vec_each(&server->readers, reader)
		resume_reader(*reader);
	vec_each(&server->waiting, request) {
		(*request)->suspended = false;
		MHD_resume_connection((*request)->connection);
	}
	server->waiting.count = 0;
	(void)MHD_run(server->daemon);
	MHD_stop_daemon(server->daemon);
	/* It closes a socket that it listens at. */
	server->fd = -1;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	if (server->source)
		loop_remove(server->loop, server->source);
	if (server->timer)
		loop_remove(server->loop, server->timer);
	if (server->more)
		loop_remove(server->loop, server->more);
	if (server->daemon)
		end_daemon(server);
	if (server->fd >= 0) {
		(void)close(server->fd);
		http_listen_remove(&server->listen);
	} else if (server->daemon) {
		http_listen_remove(&server->listen);
	}
	vec_done(&server->readers);
	vec_done(&server->waiting);
	free(server->cert);
	free(server->key);
	free(server);
}
