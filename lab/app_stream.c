// SPDX-License-Identifier: GPL-2.0-or-later
/* Bulk transfer in both directions: bulk sends to sink, fetch receives from source. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "app_conn.h"

#define CHUNK_DEFAULT "64KiB"
/* A paced writer writes 10 ms worth of data at a time, and after a stall catches up no more than this. */
#define PACE_STEP_NS (10 * NS_PER_MS)
#define PACE_DEBT_NS (200 * NS_PER_MS)

struct reader_config {
	uint64_t read_rate;
	uint64_t spin_ns;
	uint64_t skip;
	uint64_t cancel;
	uint64_t chunk;
};

struct reader {
	uint64_t got;
};

struct writer_config {
	uint64_t rate;
	uint64_t bytes;
	uint64_t chunk;
};

struct writer {
	uint64_t sent;
	uint64_t allowed;
	uint64_t paced_ns; /* time up to which `allowed` is computed */
	bool is_shut;
};

struct sink_config {
	struct server_config server;
	struct reader_config reader;
};

struct fetch_config {
	struct client_config client;
	struct reader_config reader;
};

struct source_config {
	struct server_config server;
	struct writer_config writer;
};

struct bulk_config {
	struct client_config client;
	struct writer_config writer;
};

#define READER_OPTIONS(type)                                                                                           \
	{"read_rate",                                                                                                  \
	 OPTION_BYTES,                                                                                                 \
	 MEMBER(type, reader.read_rate),                                                                               \
	 "0",                                                                                                          \
	 "limit the read rate per connection, bytes/s (0: unlimited)",                                                 \
	 .is_live = true},                                                                                             \
		{"spin_ms",      OPTION_MS, MEMBER(type, reader.spin_ns), "0", "CPU time used after every read",       \
		 .is_live = true},                                                                                     \
		{"skip",                                                                                               \
		 OPTION_COUNT,                                                                                         \
		 MEMBER(type, reader.skip),                                                                            \
		 "0",                                                                                                  \
		 "stop reading connection number K (0: none)",                                                         \
		 .is_live = true},                                                                                     \
		{"cancel",                                                                                             \
		 OPTION_BYTES,                                                                                         \
		 MEMBER(type, reader.cancel),                                                                          \
		 "0",                                                                                                  \
		 "close each connection after N bytes (0: never)",                                                     \
		 .is_live = true},                                                                                     \
	{                                                                                                              \
		"chunk", OPTION_BYTES, MEMBER(type, reader.chunk), CHUNK_DEFAULT, "size of one read, bytes",           \
			.min = 1, .max = APP_PAYLOAD_MAX                                                               \
	}

#define WRITER_OPTIONS(type)                                                                                           \
	{"rate",                                                                                                       \
	 OPTION_BYTES,                                                                                                 \
	 MEMBER(type, writer.rate),                                                                                    \
	 "0",                                                                                                          \
	 "limit the send rate per connection, bytes/s (0: unlimited)",                                                 \
	 .is_live = true},                                                                                             \
		{"bytes", OPTION_BYTES, MEMBER(type, writer.bytes), "0",                                               \
		 "close each connection after N bytes (0: never)"},                                                    \
	{                                                                                                              \
		"chunk", OPTION_BYTES, MEMBER(type, writer.chunk), CHUNK_DEFAULT, "size of one write, bytes",          \
			.min = 1, .max = APP_PAYLOAD_MAX                                                               \
	}

static void spin(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/* Reads once; then waits for more data or for the end of the pause. */
static void reader_run(struct conn *conn, const struct reader_config *config)
{
	static uint8_t scratch[APP_PAYLOAD_MAX];
	struct reader *reader = (struct reader *)conn->data;
	size_t len = config->chunk;
	ssize_t n;

	if (conn->number == config->skip) {
		conn_want(conn, 0);
		return;
	}
	if (config->read_rate)
		len = min_of(len, max_of(config->read_rate / 20, 1u));
	n = conn_receive(conn, scratch, len);
	if (n == -EPIPE) {
		conn_ended(conn);
		return;
	}
	if (n < 0) {
		conn_lost(conn, (int)n);
		return;
	}
	if (n > 0)
		app_count_op(conn->app, LAT_UNKNOWN);
	reader->got += (uint64_t)n;
	if (config->cancel && reader->got >= config->cancel) {
		conn_ended(conn);
		return;
	}
	if (n > 0 && config->spin_ns)
		spin(config->spin_ns);
	if (n > 0 && config->read_rate) {
		conn_want(conn, 0);
		conn_after(conn, (uint64_t)n * NS_PER_S / config->read_rate);
	}
}

static void reader_opened(struct conn *conn)
{
	conn_want(conn, EPOLLIN);
}

static void sink_ready(struct conn *conn, uint32_t events _unused_)
{
	reader_run(conn, &((const struct sink_config *)conn->config)->reader);
}

static void fetch_ready(struct conn *conn, uint32_t events _unused_)
{
	reader_run(conn, &((const struct fetch_config *)conn->config)->reader);
}

/* Bytes that may be written now; if 0, sets a timer. */
static size_t writer_allowance(struct conn *conn, struct writer *writer, const struct writer_config *config)
{
	uint64_t room = config->chunk, now_ns = clock_monotonic_ns(), step;

	if (config->bytes)
		room = min_of(room, config->bytes - writer->sent);
	if (!config->rate)
		return room;
	if (!writer->paced_ns)
		writer->paced_ns = now_ns - PACE_STEP_NS;
	writer->allowed += config->rate * ((now_ns - writer->paced_ns) / NS_PER_US) / (NS_PER_S / NS_PER_US);
	writer->paced_ns = now_ns - (now_ns - writer->paced_ns) % NS_PER_US;
	writer->allowed = min_of(writer->allowed, max_of(config->rate / (NS_PER_S / PACE_DEBT_NS), 1u));
	step = min_of(room, max_of(config->rate / (NS_PER_S / PACE_STEP_NS), 1u));
	if (writer->allowed >= step)
		return min_of(room, writer->allowed);
	conn_want(conn, EPOLLIN);
	conn_after(conn, (step - writer->allowed) * NS_PER_S / config->rate);
	return 0;
}

static void writer_end(struct conn *conn, struct writer *writer)
{
	writer->is_shut = true;
	(void)shutdown(conn->fd, SHUT_WR);
	conn_want(conn, EPOLLIN);
}

static void writer_run(struct conn *conn, const struct writer_config *config)
{
	struct writer *writer = (struct writer *)conn->data;
	size_t room;
	ssize_t n;

	if (writer->is_shut)
		return;
	room = writer_allowance(conn, writer, config);
	if (room == 0)
		return;
	n = conn_send(conn, app_payload(), room);
	if (n < 0) {
		conn_lost(conn, (int)n);
		return;
	}
	if (n > 0)
		app_count_op(conn->app, LAT_UNKNOWN);
	writer->sent += (uint64_t)n;
	if (config->rate)
		writer->allowed -= (uint64_t)n;
	if (config->bytes && writer->sent >= config->bytes)
		writer_end(conn, writer);
	else
		conn_want(conn, EPOLLIN | EPOLLOUT);
}

/* The peer of a writer sends nothing: readable means closed, which is normal after our own end. */
static bool writer_hear(struct conn *conn)
{
	struct writer *writer = (struct writer *)conn->data;
	char unexpected[256];
	ssize_t n = recv(conn->fd, unexpected, sizeof(unexpected), 0);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return true;
	if (n == 0 && writer->is_shut)
		conn_finish(conn);
	else
		conn_lost(conn, n < 0 ? errno : EPIPE);
	return false;
}

static void writer_serve(struct conn *conn, const struct writer_config *config, uint32_t events)
{
	if ((events & (EPOLLIN | EPOLLHUP)) && !writer_hear(conn))
		return;
	if (events & EPOLLOUT)
		writer_run(conn, config);
}

static void bulk_continue(struct conn *conn)
{
	writer_run(conn, &((const struct bulk_config *)conn->config)->writer);
}

static void bulk_ready(struct conn *conn, uint32_t events)
{
	writer_serve(conn, &((const struct bulk_config *)conn->config)->writer, events);
}

static void source_continue(struct conn *conn)
{
	writer_run(conn, &((const struct source_config *)conn->config)->writer);
}

static void source_ready(struct conn *conn, uint32_t events)
{
	writer_serve(conn, &((const struct source_config *)conn->config)->writer, events);
}

static const struct conn_kind sink_kind = {
	.data_size = sizeof(struct reader), .opened = reader_opened, .ready = sink_ready, .timeout = reader_opened};
static const struct conn_kind fetch_kind = {
	.data_size = sizeof(struct reader), .opened = reader_opened, .ready = fetch_ready, .timeout = reader_opened};
static const struct conn_kind bulk_kind = {
	.data_size = sizeof(struct writer), .opened = bulk_continue, .ready = bulk_ready, .timeout = bulk_continue};
static const struct conn_kind source_kind = {.data_size = sizeof(struct writer),
					     .opened = source_continue,
					     .ready = source_ready,
					     .timeout = source_continue};

static int sink_start(struct app *app, void *config, struct why *why)
{
	static struct server server;

	server = (struct server){.app = app, .kind = &sink_kind, .config = config};
	return server_open(&server, why);
}

static int source_start(struct app *app, void *config, struct why *why)
{
	static struct server server;

	server = (struct server){.app = app, .kind = &source_kind, .config = config};
	return server_open(&server, why);
}

static int bulk_start(struct app *app, void *config, struct why *why _unused_)
{
	app_ready(app);
	conn_connect_all(app, &bulk_kind, config);
	return 0;
}

static int fetch_start(struct app *app, void *config, struct why *why _unused_)
{
	app_ready(app);
	conn_connect_all(app, &fetch_kind, config);
	return 0;
}

static const struct app_option sink_options[] = {SERVER_OPTIONS, READER_OPTIONS(struct sink_config)};
static const struct app_option fetch_options[] = {CLIENT_OPTIONS, READER_OPTIONS(struct fetch_config)};
static const struct app_option source_options[] = {SERVER_OPTIONS, WRITER_OPTIONS(struct source_config)};
static const struct app_option bulk_options[] = {CLIENT_OPTIONS, WRITER_OPTIONS(struct bulk_config)};

static const struct app_role sink_role = {"sink",
					  "server that reads and discards; an operation is one read",
					  sizeof(struct sink_config),
					  sink_options,
					  ARRAY_SIZE(sink_options),
					  sink_start};
static const struct app_role fetch_role = {"fetch",
					   "client that receives bulk from a source; an operation is one read",
					   sizeof(struct fetch_config),
					   fetch_options,
					   ARRAY_SIZE(fetch_options),
					   fetch_start};
static const struct app_role source_role = {"source",
					    "server that sends bulk to every client; an operation is one write",
					    sizeof(struct source_config),
					    source_options,
					    ARRAY_SIZE(source_options),
					    source_start};
static const struct app_role bulk_role = {"bulk",
					  "client that sends bulk to a sink; an operation is one write",
					  sizeof(struct bulk_config),
					  bulk_options,
					  ARRAY_SIZE(bulk_options),
					  bulk_start};

APP_ROLE(sink_role);
APP_ROLE(fetch_role);
APP_ROLE(source_role);
APP_ROLE(bulk_role);
