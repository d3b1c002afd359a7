/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group "sockets": netlink interfaces, each tested with a query whose result is known. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "kernel/capability.h"
#include "kernel/feature/feature.h"

/* Replies fit into this; the kernel splits larger dumps. */
#define REPLY_SIZE 32768
/* A reply takes microseconds: give up on a kernel that sends none. */
#define REPLY_LIMIT_US 500000

struct query {
	char data[512]; /* the request */
	mnl_cb_t answer;
	void *context;
	int bus;
};

/* Number of matching replies, or negative errno. */
static int query_run(struct query *query)
{
	struct nlmsghdr *request = (struct nlmsghdr *)query->data;
	struct mnl_socket *socket = mnl_socket_open2(query->bus, SOCK_CLOEXEC);
	struct timeval limit = {.tv_usec = REPLY_LIMIT_US};
	char reply[REPLY_SIZE];
	int r = 0;

	if (!socket)
		return -errno;
	(void)setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	request->nlmsg_seq = (uint32_t)time(NULL);
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		r = -errno;
	for (unsigned i = 0; r >= 0 && i < 100000; i++) {
		ssize_t n = mnl_socket_recvfrom(socket, reply, sizeof(reply));

		r = n < 0 ? -errno
			  : mnl_cb_run(reply, (size_t)n, request->nlmsg_seq, mnl_socket_get_portid(socket),
				       query->answer, query->context);
		if (r == MNL_CB_ERROR)
			r = -errno;
		if (r == MNL_CB_STOP)
			break;
	}
	mnl_socket_close(socket);
	return min_of(r, 0);
}

struct seen {
	uint32_t inode;
	uint16_t port_be16;
	unsigned count;
};

static int see_inet(const struct nlmsghdr *message, void *context)
{
	const struct inet_diag_msg *socket = mnl_nlmsg_get_payload(message);
	struct seen *seen = context;

	if (mnl_nlmsg_get_payload_len(message) >= sizeof(*socket) && socket->id.idiag_sport == seen->port_be16)
		seen->count++;
	return MNL_CB_OK;
}

static int see_unix(const struct nlmsghdr *message, void *context)
{
	const struct unix_diag_msg *socket = mnl_nlmsg_get_payload(message);
	struct seen *seen = context;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*socket) || socket->udiag_ino != seen->inode)
		return MNL_CB_OK;
	seen->count++;
	return MNL_CB_STOP;
}

static int see_any(const struct nlmsghdr *message _unused_, void *context)
{
	((struct seen *)context)->count++;
	return MNL_CB_STOP;
}

/* Creates a socket, then dumps the sockets of its port: it must be among them. */
static int query_inet(int type, int protocol)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(address);
	struct seen seen = {};
	struct query query = {.answer = see_inet, .context = &seen, .bus = NETLINK_SOCK_DIAG};
	struct nlmsghdr *header = mnl_nlmsg_put_header(query.data);
	struct inet_diag_req_v2 *request = mnl_nlmsg_put_extra_header(header, sizeof(*request));
	int r;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0 || (type == SOCK_STREAM && listen(fd, 1) < 0))
		return -errno;
	header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->sdiag_family = AF_INET;
	request->sdiag_protocol = (uint8_t)protocol;
	request->idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_SKMEMINFO - 1);
	request->idiag_states = UINT32_MAX;
	request->id.idiag_sport = address.sin_port;
	seen.port_be16 = address.sin_port;
	r = query_run(&query);
	return r < 0 ? r : seen.count > 0 ? 0 : -ENODATA;
}

static int query_unix(void)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct seen seen = {};
	struct query query = {.answer = see_unix, .context = &seen, .bus = NETLINK_SOCK_DIAG};
	struct nlmsghdr *header = mnl_nlmsg_put_header(query.data);
	struct unix_diag_req *request = mnl_nlmsg_put_extra_header(header, sizeof(*request));
	struct stat status;
	int r;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	header->nlmsg_flags = NLM_F_REQUEST;
	request->sdiag_family = AF_UNIX;
	request->udiag_states = UINT32_MAX;
	request->udiag_ino = (uint32_t)status.st_ino;
	request->udiag_show = UDIAG_SHOW_RQLEN;
	request->udiag_cookie[0] = request->udiag_cookie[1] = (uint32_t)INET_DIAG_NOCOOKIE;
	seen.inode = request->udiag_ino;
	r = query_run(&query);
	return r < 0 ? r : seen.count > 0 ? 0 : -ENODATA;
}

/* A read-only request of the netfilter families. */
static int query_netfilter(unsigned subsystem, unsigned message, int flags)
{
	struct seen seen = {};
	struct query query = {.answer = see_any, .context = &seen, .bus = NETLINK_NETFILTER};
	struct nlmsghdr *header = mnl_nlmsg_put_header(query.data);
	struct nfgenmsg *request = mnl_nlmsg_put_extra_header(header, sizeof(*request));
	int r;

	header->nlmsg_type = (uint16_t)(subsystem << 8 | message);
	header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	request->nfgen_family = AF_UNSPEC;
	request->version = NFNETLINK_V0;
	r = query_run(&query);
	return r < 0 ? r : seen.count > 0 ? 0 : -ENODATA;
}

static void check_diag(struct feature_context *context, const char *name, int result, const char *module)
{
	struct check *check = check_add(context->list, "sockets", name);

	if (result == 0) {
		check_result(check, CHECK_OK, "found its own socket");
		return;
	}
	if (result == -ENODATA)
		check_result(check, CHECK_MISSING, "the reply does not include nest's own socket");
	else
		check_result(check, CHECK_MISSING, "%s", check_error_words(result));
	check_advise(check, "the diagnosis lists these sockets only with BPF iterators",
		     result == -ENOENT ? "modprobe %s, or a kernel with it built in"
				       : "run outside the container or sandbox, which refuses netlink (%s)",
		     module);
}

static void check_conntrack(struct feature_context *context)
{
	struct check *check = check_add(context->list, "sockets", "conntrack");
	int r = query_netfilter(NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_GET_STATS, 0), counted;
	int64_t count;
	char config[96], advice[320];

	counted = feature_read_number("/proc/sys/net/netfilter/nf_conntrack_count", &count);
	if (r == 0)
		check_result(check, CHECK_OK, "read its statistics");
	else if (counted >= 0)
		check_result(check, CHECK_LIMITED, "%lld connections tracked; listing them is refused: %s",
			     (long long)count, check_error_words(r));
	else
		check_result(check, CHECK_MISSING, "%s; no /proc/sys/net/netfilter/nf_conntrack_count%s",
			     check_error_words(r),
			     feature_config_words(context, "CONFIG_NF_CONNTRACK", config, sizeof(config)));
	feature_caps_advice(context, CAP_BIT(CAP_NET_ADMIN), advice, sizeof(advice));
	check_advise(check, "a full conntrack table shows only as drops; nothing where conntrack is not used", "%s",
		     context->caps & CAP_BIT(CAP_NET_ADMIN) ? "modprobe nf_conntrack_netlink" : advice);
}

static void check_nftables(struct feature_context *context)
{
	struct check *check = check_add(context->list, "sockets", "nftables");
	int r = query_netfilter(NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN, 0);
	char config[96], advice[320];

	if (r == 0)
		check_result(check, CHECK_OK, "read the ruleset generation");
	else
		check_result(check, CHECK_MISSING, "%s%s", check_error_words(r),
			     feature_config_words(context, "CONFIG_NF_TABLES", config, sizeof(config)));
	feature_caps_advice(context, CAP_BIT(CAP_NET_ADMIN), advice, sizeof(advice));
	check_advise(check, "drops by the firewall are reported without the rule", "%s",
		     context->caps & CAP_BIT(CAP_NET_ADMIN) ? "modprobe nf_tables; not needed where no rules are loaded"
							    : advice);
}

void feature_socket_check(struct feature_context *context)
{
	check_diag(context, "sock_diag_tcp", query_inet(SOCK_STREAM, IPPROTO_TCP), "tcp_diag");
	check_diag(context, "sock_diag_udp", query_inet(SOCK_DGRAM, IPPROTO_UDP), "udp_diag");
	check_diag(context, "sock_diag_unix", query_unix(), "unix_diag");
	check_conntrack(context);
	check_nftables(context);
}
