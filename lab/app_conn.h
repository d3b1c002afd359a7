/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP connections of the traffic programs: connected by a client or accepted by a server, with callbacks. */
#pragma once

#include "app.h"

struct conn;

struct conn_kind {
	size_t data_size; /* bytes of role data per connection, zeroed on open */
	/* Connection established. */
	void (*opened)(struct conn *conn);
	/* An event of conn_want(), an error or a hangup. */
	void (*ready)(struct conn *conn, uint32_t events);
	/* Timeout of conn_after(). */
	void (*timeout)(struct conn *conn);
};

struct client_config {
	struct common_config common;
	struct addr dst;
	uint64_t port;
	uint64_t conns;
	uint64_t sndbuf;
	uint64_t rcvbuf;
	uint64_t nodelay;
	uint64_t pacing;
	uint64_t keepalive;
	uint64_t reconnect;
	const char *cc;
};

struct server_config {
	struct common_config common;
	struct addr listen;
	uint64_t port;
	uint64_t backlog;
	uint64_t accept;
	uint64_t accept_delay_ns;
	uint64_t sndbuf;
	uint64_t rcvbuf;
	uint64_t nodelay;
	const char *cc;
};

/* Both are the first member of a role's configuration, so the offsets hold for all of them. */
#define CLIENT_SOCKET_OPTIONS                                                                                          \
	{"dst", OPTION_TARGET, MEMBER(struct client_config, dst), NULL, "address to connect to"},                      \
		{"port", OPTION_PORT, MEMBER(struct client_config, port), NULL, "port to connect to"},                 \
		{"sndbuf",                                                                                             \
		 OPTION_BYTES,                                                                                         \
		 MEMBER(struct client_config, sndbuf),                                                                 \
		 "0",                                                                                                  \
		 "SO_SNDBUF, bytes (0: the kernel tunes it)",                                                          \
		 .max = 1 << 30},                                                                                      \
		{"rcvbuf",                                                                                             \
		 OPTION_BYTES,                                                                                         \
		 MEMBER(struct client_config, rcvbuf),                                                                 \
		 "0",                                                                                                  \
		 "SO_RCVBUF, bytes (0: the kernel tunes it)",                                                          \
		 .max = 1 << 30},                                                                                      \
		{"nodelay", OPTION_FLAG, MEMBER(struct client_config, nodelay), "0", "TCP_NODELAY"},                   \
		{"pacing",                                                                                             \
		 OPTION_BYTES,                                                                                         \
		 MEMBER(struct client_config, pacing),                                                                 \
		 "0",                                                                                                  \
		 "SO_MAX_PACING_RATE, bytes/s (0: none)",                                                              \
		 .max = UINT32_MAX},                                                                                   \
		{"keepalive",                                                                                          \
		 OPTION_COUNT,                                                                                         \
		 MEMBER(struct client_config, keepalive),                                                              \
		 "0",                                                                                                  \
		 "SO_KEEPALIVE, probe after N seconds of silence (0: none)",                                           \
		 .max = 32767},                                                                                        \
	{                                                                                                              \
		"cc", OPTION_TEXT, MEMBER(struct client_config, cc), "", "congestion control, e.g. cubic or bbr"       \
	}

#define CLIENT_OPTIONS                                                                                                 \
	CLIENT_SOCKET_OPTIONS,                                                                                         \
		{"conns",  OPTION_COUNT, MEMBER(struct client_config, conns), "1", "connections at once",              \
		 .min = 1, .max = 20000},                                                                              \
	{                                                                                                              \
		"reconnect", OPTION_FLAG, MEMBER(struct client_config, reconnect), "1",                                \
			"reconnect 200 ms after a failure"                                                             \
	}

#define SERVER_OPTIONS                                                                                                 \
	{"listen", OPTION_LISTEN, MEMBER(struct server_config, listen), "0.0.0.0",                                     \
	 "address to listen on (:: for both)"},                                                                        \
		{"port", OPTION_PORT, MEMBER(struct server_config, port), NULL, "port to listen on"},                  \
		{"backlog", OPTION_COUNT,         MEMBER(struct server_config, backlog),                               \
		 "128",     "accept queue limit", .max = 65535},                                                       \
		{"accept",                                                                                             \
		 OPTION_FLAG,                                                                                          \
		 MEMBER(struct server_config, accept),                                                                 \
		 "1",                                                                                                  \
		 "0: leave connections in the accept queue",                                                           \
		 .is_live = true},                                                                                     \
		{"accept_delay_ms",          OPTION_MS,      MEMBER(struct server_config, accept_delay_ns), "0",       \
		 "pause after every accept", .is_live = true},                                                         \
		{"sndbuf",                                                                                             \
		 OPTION_BYTES,                                                                                         \
		 MEMBER(struct server_config, sndbuf),                                                                 \
		 "0",                                                                                                  \
		 "SO_SNDBUF, bytes (0: the kernel tunes it)",                                                          \
		 .max = 1 << 30},                                                                                      \
		{"rcvbuf",                                                                                             \
		 OPTION_BYTES,                                                                                         \
		 MEMBER(struct server_config, rcvbuf),                                                                 \
		 "0",                                                                                                  \
		 "SO_RCVBUF, bytes (0: the kernel tunes it)",                                                          \
		 .max = 1 << 30},                                                                                      \
		{"nodelay", OPTION_FLAG, MEMBER(struct server_config, nodelay), "1", "TCP_NODELAY"},                   \
	{                                                                                                              \
		"cc", OPTION_TEXT, MEMBER(struct server_config, cc), "", "congestion control, e.g. cubic or bbr"       \
	}

struct conn {
	struct app *app;
	const struct conn_kind *kind;
	const struct client_config *client; /* NULL for a server's */
	const void *config;                 /* the role's */
	struct conn *next;
	struct conn **link; /* previous link in the list of all */
	int fd;
	bool is_open;
	uint32_t want;
	uint64_t number; /* 1 is the first of this process */
	uint64_t began_ns;
	struct loop_source *source;
	struct loop_source *timer;
	uint8_t data[] __attribute__((aligned(16)));
};

struct server {
	struct app *app;
	const struct conn_kind *kind;
	const struct server_config *config;
	int fd;
	uint64_t accepted;
	struct loop_source *source;
	struct loop_source *timer;
	bool is_full; /* accept() failed with EMFILE: retry at the next tick */
};

/*
 * conn_ended(), conn_lost() and conn_finish() may free the connection: return at once.
 */

/* Starts one connection; reconnects after a failure if configured. */
void conn_connect(struct app *app, const struct conn_kind *kind, const struct client_config *client);
/* As above for all of client->conns. */
void conn_connect_all(struct app *app, const struct conn_kind *kind, const struct client_config *client);
int server_open(struct server *server, struct why *why) _must_check_;

/* Sets the events to wait for; 0: none (errors and hangups are always reported). */
void conn_want(struct conn *conn, uint32_t events);
/* Calls timeout() once after ns; replaces an earlier call. */
void conn_after(struct conn *conn, uint64_t ns);
/* Closed by the peer (FIN); a client reconnects if configured. */
void conn_ended(struct conn *conn);
/* Failed with this errno: as above, and counts the error. */
void conn_lost(struct conn *conn, int error);
/* Closes without counting; for a server's connection, or a client's that is complete. */
void conn_finish(struct conn *conn);
void conn_drop_all(struct app *app);

/*
 * Transfers up to len bytes and counts them. Returns the number of bytes, 0: would block, or a negative errno; -EPIPE
 * at end of stream.
 */
ssize_t conn_send(struct conn *conn, const void *data, size_t len);
ssize_t conn_receive(struct conn *conn, void *data, size_t len);

/* For sockets of all kinds. */
socklen_t app_sockaddr(const struct addr *addr, uint64_t port, void *ret_storage);
int app_set_buffers(int fd, uint64_t sndbuf, uint64_t rcvbuf) _must_check_;
