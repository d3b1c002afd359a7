/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/time.h>

#include "snapshot/core/nl.h"

#define DUMP_TRIES     4
#define TABLES_MAX     8
#define ANSWER_SECONDS 5

struct answers {
	struct snapshot *snapshot;
	const struct nl_question *question;
	bool changed; /* table changed during the dump (NLM_F_DUMP_INTR) */
};

static int on_message(const struct nlmsghdr *message, void *context)
{
	struct answers *answers = context;

	answers->changed |= message->nlmsg_flags & NLM_F_DUMP_INTR;
	answers->question->parse(answers->snapshot, message, answers->question->context);
	return MNL_CB_OK;
}

static int on_done(const struct nlmsghdr *message, void *context)
{
	struct answers *answers = context;
	int error = 0;

	answers->changed |= message->nlmsg_flags & NLM_F_DUMP_INTR;
	/* A dump that failed midway carries its errno here. */
	if (mnl_nlmsg_get_payload_len(message) >= sizeof(error))
		memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
	if (error >= 0)
		return MNL_CB_STOP;
	errno = -error;
	return MNL_CB_ERROR;
}

static int on_error(const struct nlmsghdr *message, void *context)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);

	(void)context;
	if (mnl_nlmsg_get_payload_len(message) < sizeof(*error))
		errno = EBADMSG;
	else
		errno = error->error < 0 ? -error->error : error->error;
	return errno == 0 ? MNL_CB_STOP : MNL_CB_ERROR;
}

static int on_overrun(const struct nlmsghdr *message, void *context)
{
	(void)message;
	(void)context;
	errno = ENOBUFS;
	return MNL_CB_ERROR;
}

/* Like mnl_cb_run, but reads an interrupted dump to its end: retries may also be interrupted. */
static int read_answers(struct mnl_socket *socket, uint32_t seq, struct answers *answers)
{
	mnl_cb_t control[NLMSG_MIN_TYPE] = {
		[NLMSG_ERROR] = on_error, [NLMSG_DONE] = on_done, [NLMSG_OVERRUN] = on_overrun};
	bool dump = answers->question->request->nlmsg_flags & NLM_F_DUMP;
	int r;

	do {
		uint8_t *bytes = answers->snapshot->message;
		ssize_t n = mnl_socket_recvfrom(socket, bytes, SNAPSHOT_MESSAGE_MAX);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		for (const struct nlmsghdr *m = (const void *)bytes; nl_message_ok(m, (int)n);) {
			int left = (int)n;

			if (m->nlmsg_seq != seq)
				goto next;
			if (m->nlmsg_type >= NLMSG_MIN_TYPE)
				r = on_message(m, answers);
			else
				r = control[m->nlmsg_type] ? control[m->nlmsg_type](m, answers) : MNL_CB_OK;
			if (r == MNL_CB_ERROR)
				return -errno;
			if (r == MNL_CB_STOP || !dump)
				return 0;
		next:
			m = mnl_nlmsg_next(m, &left);
			n = left;
		}
	} while (true);
}

struct mnl_socket *nl_open(int protocol, struct why *why)
{
	static const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
	struct mnl_socket *socket = mnl_socket_open2(protocol, SOCK_CLOEXEC);

	if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) == 0) {
		(void)setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		return socket;
	}
	(void)why_set(why, -errno, "cannot open a netlink socket: %s", strerror(errno));
	if (socket) {
		int saved = errno;

		mnl_socket_close(socket);
		errno = saved;
	}
	return NULL;
}

static int ask(struct snapshot *snapshot, struct mnl_socket *socket, const struct nl_question *question,
	       bool *ret_changed)
{
	struct answers answers = {.snapshot = snapshot, .question = question};
	static _Thread_local uint32_t seq; /* per thread, as are sockets */
	int r;

	question->request->nlmsg_seq = ++seq;
	if (mnl_socket_sendto(socket, question->request, question->request->nlmsg_len) < 0)
		return -errno;
	r = read_answers(socket, seq, &answers);
	*ret_changed = answers.changed;
	return r;
}

int nl_ask_on(struct snapshot *snapshot, struct mnl_socket *socket, const struct nl_question *question)
{
	bool changed = false;

	return ask(snapshot, socket, question, &changed);
}

struct marks {
	unsigned count;
	struct snapshot_table *tables[TABLES_MAX];
	size_t counts[TABLES_MAX];
};

static void marks_set(struct marks *marks, const struct snapshot *snapshot)
{
	marks->count = 0;
	for (const struct record_type *const *type = snapshot->source->types; *type && marks->count < TABLES_MAX;
	     type++) {
		marks->tables[marks->count] = snapshot_table(snapshot, *type);
		marks->counts[marks->count] = marks->tables[marks->count]->count;
		marks->count++;
	}
}

static void marks_return(const struct marks *marks)
{
	for (unsigned i = 0; i < marks->count; i++)
		marks->tables[i]->count = marks->counts[i];
}

int nl_ask(struct snapshot *snapshot, const struct nl_question *question, struct why *why)
{
	struct marks marks;

	marks_set(&marks, snapshot);
	for (unsigned try = 0;; try++) {
		_cleanup_(nl_closep) struct mnl_socket *socket = nl_open(question->protocol, why);
		bool changed = false;
		int r;

		if (!socket)
			return -errno;
		r = ask(snapshot, socket, question, &changed);
		if (r == 0 && !changed)
			return 0;
		if (r == 0 && (question->once || try + 1 == DUMP_TRIES)) {
			snapshot_gap(snapshot, "entries may be missing or duplicated",
				     "the kernel's table changed during each of %u dumps", try + 1);
			return 0;
		}
		marks_return(&marks);
		if (r < 0)
			return why_set(why, r, "netlink request failed: %s", strerror(-r));
	}
}

struct nlmsghdr *nl_request_begin(struct nl_request *request, uint16_t type, uint16_t flags, size_t extra_size,
				  void **ret_extra)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(request->bytes);

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	*ret_extra = mnl_nlmsg_put_extra_header(header, extra_size);
	return header;
}

int nl_dump(struct snapshot *snapshot, uint16_t type, size_t body_size, nl_parse_fn *parse, struct why *why)
{
	struct nl_request room;
	void *body;
	struct nl_question question = {.protocol = NETLINK_ROUTE,
				       .request = nl_request_begin(&room, type, NLM_F_DUMP, body_size, &body),
				       .parse = parse};

	return nl_ask(snapshot, &question, why);
}

void nl_attrs_nested(const struct nlattr *nest, const struct nlattr **attrs, unsigned max)
{
	const struct nlattr *attr;

	memset(attrs, 0, (max + 1) * sizeof(*attrs));
	if (!nest)
		return;
	mnl_attr_for_each_nested(attr, nest)
		if (mnl_attr_get_type(attr) <= max)
			attrs[mnl_attr_get_type(attr)] = attr;
}

void nl_get_addr(const struct nlattr *attr, struct addr *addr)
{
	if (!attr)
		return;
	if (nl_attr_len(attr) == 4)
		*addr = addr_from_v4(nl_attr_payload(attr));
	else if (nl_attr_len(attr) == 16)
		*addr = addr_from_v6(nl_attr_payload(attr));
}
