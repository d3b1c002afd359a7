/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "fleet/libcurl.h"
#include "fleet/transfer.h"

#define CONNECT_SECONDS 10L
/* What a message shows of a server's words. */
#define SAID_MAX 200
/* Bytes kept of an answer that is not 2xx. */
#define REFUSAL_MAX 4096

struct transfer {
	struct transfer_client *client;
	struct transfer_request request;
	CURL *easy;
	struct curl_slist *headers;
	char *url;
	struct buf answer;
	bool too_long, enough;
	char error[CURL_ERROR_SIZE];
};

/* A socket of libcurl in the loop. */
struct watched {
	struct transfer_client *client;
	int fd;
	struct loop_source *source;
};

struct transfer_client {
	struct loop *loop;
	CURLM *multi;
	struct loop_source *timer;
	VEC(struct transfer *) transfers;
	VEC(struct watched *) watched;
};

/* --- sockets and timers of libcurl in the loop --- */

static void finish_transfers(struct transfer_client *client);

static void on_socket(void *context, uint32_t events)
{
	const struct watched *watched = context;
	struct transfer_client *client = watched->client;
	int running, what = (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			    (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

	(void)libcurl.curl_multi_socket_action(client->multi, watched->fd, what, &running);
	finish_transfers(client);
}

static void on_timer(void *context, uint64_t expirations _unused_)
{
	struct transfer_client *client = context;
	int running;

	loop_remove(client->loop, client->timer);
	client->timer = NULL;
	(void)libcurl.curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	finish_transfers(client);
}

static int set_timer(CURLM *multi _unused_, long ms, void *context)
{
	struct transfer_client *client = context;

	loop_remove(client->loop, client->timer);
	client->timer = NULL;
	if (ms >= 0 &&
	    loop_add_timer(client->loop, (uint64_t)ms * NSEC_PER_MSEC, 0, on_timer, client, &client->timer) < 0)
		return -1;
	return 0;
}

static void unwatch(struct transfer_client *client, int fd)
{
	for (size_t i = 0; i < client->watched.count; i++) {
		struct watched *watched = client->watched.items[i];

		if (watched->fd != fd)
			continue;
		loop_remove(client->loop, watched->source);
		free(watched);
		client->watched.items[i] = client->watched.items[--client->watched.count];
		return;
	}
}

static int set_socket(CURL *easy _unused_, curl_socket_t fd, int what, void *context, void *own _unused_)
{
	struct transfer_client *client = context;
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	struct watched *watched;

	unwatch(client, fd);
	if (what == CURL_POLL_REMOVE || events == 0)
		return 0;
	watched = xzalloc(sizeof(*watched));
	*watched = (struct watched){.client = client, .fd = fd};
	if (loop_add_fd(client->loop, fd, events, on_socket, watched, &watched->source) < 0) {
		free(watched);
		return -1;
	}
	vec_push(&client->watched, watched);
	return 0;
}

/* --- one transfer --- */

static void transfer_free(struct transfer *transfer)
{
	libcurl.curl_easy_cleanup(transfer->easy);
	libcurl.curl_slist_free_all(transfer->headers);
	buf_done(&transfer->answer);
	free(transfer->url);
	free(transfer);
}

static long status_of(const struct transfer *transfer)
{
	long status = 0;

	(void)libcurl.curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static size_t on_piece(char *data, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t len = size * count;
	long status = status_of(transfer);

	if (status < 200 || status > 299) {
		/* Enough to say what went wrong; the rest is read and dropped, within the time of the request. */
		buf_add(&transfer->answer, data, min_of(len, REFUSAL_MAX - min_of(transfer->answer.len, REFUSAL_MAX)));
		return len;
	}
	if (transfer->request.piece) {
		transfer->enough = !transfer->request.piece(transfer->request.context, data, len);
		return transfer->enough ? 0 : len;
	}
	transfer->too_long = transfer->answer.len + len > transfer->request.answer_max;
	if (transfer->too_long)
		return 0;
	buf_add(&transfer->answer, data, len);
	return len;
}

static void add_said(struct buf *out, const char *text, size_t len)
{
	len = strnlen(text, min_of(len, (size_t)SAID_MAX));
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	text_add_terminal(out, text, len);
}

static void judge(struct transfer *transfer, CURLcode code, struct transfer_answer *answer)
{
	_cleanup_buf_ struct buf said = BUF_INIT(4096);
	const char *base = transfer->request.url->base;

	answer->status = status_of(transfer);
	answer->body = buf_text(&transfer->answer);
	answer->len = transfer->answer.len;
	if (transfer->enough) {
		answer->error = -ECANCELED;
	} else if (transfer->too_long) {
		answer->error = why_set(&answer->why, -E2BIG, "%s: the answer is longer than %zu bytes", base,
					transfer->request.answer_max);
	} else if (code != CURLE_OK) {
		add_said(&said, transfer->error[0] ? transfer->error : libcurl.curl_easy_strerror(code), SAID_MAX / 2);
		answer->error = why_set(&answer->why, code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO, "%s: %s",
					base, buf_text(&said));
	} else if (answer->status < 200 || answer->status > 299) {
		add_said(&said, answer->body, answer->len);
		(void)why_set(&answer->why, 0, "%s answers %ld%s%s", base, answer->status, said.len ? ": " : "",
			      buf_text(&said));
	}
}

static void forget(struct transfer_client *client, const struct transfer *transfer)
{
	for (size_t i = 0; i < client->transfers.count; i++)
		if (client->transfers.items[i] == transfer)
			client->transfers.items[i] = client->transfers.items[--client->transfers.count];
}

static struct transfer *find(const struct transfer_client *client, const CURL *easy)
{
	vec_each(&client->transfers, transfer)
		if ((*transfer)->easy == easy)
			return *transfer;
	return NULL;
}

static void finish_transfers(struct transfer_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = libcurl.curl_multi_info_read(client->multi, &left))) {
		struct transfer *transfer = find(client, message->easy_handle);
		struct transfer_answer answer = {};

		if (message->msg != CURLMSG_DONE || !transfer)
			continue;
		judge(transfer, message->data.result, &answer);
		(void)libcurl.curl_multi_remove_handle(client->multi, transfer->easy);
		forget(client, transfer);
		transfer->request.done(transfer->request.context, &answer);
		transfer_free(transfer);
	}
}

/* --- starting --- */

#define SET(option, value)                                                                                             \
	do {                                                                                                           \
		if (libcurl.curl_easy_setopt(easy, option, value) != CURLE_OK)                                         \
			return -EINVAL;                                                                                \
	} while (0)

static int set_body(struct transfer *transfer)
{
	const struct transfer_request *request = &transfer->request;
	CURL *easy = transfer->easy;

	/* No "Expect: 100-continue": a second of waiting where a server does not know it. */
	transfer->headers = libcurl.curl_slist_append(NULL, "Expect:");
	for (size_t i = 0; request->headers && request->headers[i]; i++)
		transfer->headers = libcurl.curl_slist_append(transfer->headers, request->headers[i]);
	SET(CURLOPT_HTTPHEADER, transfer->headers);
	if (!request->body)
		return 0;
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDS, (const char *)request->body);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	return 0;
}

static int set_options(struct transfer *transfer)
{
	const struct transfer_request *request = &transfer->request;
	CURL *easy = transfer->easy;

	SET(CURLOPT_URL, transfer->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_ERRORBUFFER, transfer->error);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	SET(CURLOPT_TIMEOUT_MS, (long)(request->timeout_ns / NSEC_PER_MSEC));
	SET(CURLOPT_WRITEFUNCTION, on_piece);
	SET(CURLOPT_WRITEDATA, transfer);
	SET(CURLOPT_USERAGENT, "nest/" NEST_VERSION);
	SET(CURLOPT_FRESH_CONNECT, request->once ? 1L : 0L);
	SET(CURLOPT_FORBID_REUSE, request->once ? 1L : 0L);
	if (request->url->user) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, request->url->user);
		SET(CURLOPT_PASSWORD, request->url->password ?: "");
	}
	if (request->ca_file)
		SET(CURLOPT_CAINFO, request->ca_file);
	return set_body(transfer);
}

int transfer_start(struct transfer_client *client, const struct transfer_request *request, struct why *why)
{
	struct transfer *transfer = xzalloc(sizeof(*transfer));

	*transfer = (struct transfer){.client = client,
				      .request = *request,
				      .easy = libcurl.curl_easy_init(),
				      .url = xasprintf("%s%s", request->url->base, request->path),
				      .answer = BUF_INIT(max_of(request->answer_max, (size_t)REFUSAL_MAX) + 1)};
	if (!transfer->easy || set_options(transfer) < 0 ||
	    libcurl.curl_multi_add_handle(client->multi, transfer->easy) != CURLM_OK) {
		transfer_free(transfer);
		return why_set(why, -EIO, "%s: libcurl refuses the request", request->url->base);
	}
	vec_push(&client->transfers, transfer);
	return 0;
}

int transfer_client_new(struct loop *loop, struct transfer_client **ret_client, struct why *why)
{
	struct transfer_client *client;
	int r = libcurl_load(why);

	if (r < 0)
		return r;
	client = xzalloc(sizeof(*client));
	client->loop = loop;
	client->multi = libcurl.curl_multi_init();
	(void)libcurl.curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	(void)libcurl.curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	(void)libcurl.curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)libcurl.curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	*ret_client = client;
	return 0;
}

void transfer_client_free(struct transfer_client *client)
{
	if (!client)
		return;
	vec_each(&client->transfers, transfer) {
		(void)libcurl.curl_multi_remove_handle(client->multi, (*transfer)->easy);
		transfer_free(*transfer);
	}
	vec_done(&client->transfers);
	(void)libcurl.curl_multi_cleanup(client->multi);
	vec_each(&client->watched, watched) {
		loop_remove(client->loop, (*watched)->source);
		free(*watched);
	}
	vec_done(&client->watched);
	loop_remove(client->loop, client->timer);
	free(client);
}

bool transfer_is_busy(const struct transfer_client *client)
{
	return client->transfers.count > 0;
}

void transfer_drain(struct transfer_client *client, uint64_t limit_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + limit_ns;
	int running;

	while (client->transfers.count > 0 && clock_monotonic_ns() < end_ns) {
		(void)libcurl.curl_multi_perform(client->multi, &running);
		finish_transfers(client);
		if (client->transfers.count > 0)
			(void)libcurl.curl_multi_poll(client->multi, NULL, 0, 100, NULL);
	}
}
