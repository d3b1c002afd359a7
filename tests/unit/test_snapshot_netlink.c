/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parsers of netlink messages: right ones, cut ones, lying ones. */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/gen_stats.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/inet_diag.h>
#include <linux/neighbour.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/tcp_metrics.h>

#include "nl_bytes.h"
#include "probe/remembered.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "snapshot/netlink/translation.h"
#include "snapshot/netlink/tunnel.h"
#include "snapshot/socket/sock_ask.h"
#include "snapshot/socket/socket.h"
#include "unit.h"

/* The first bytes of tcp_info as Linux 6.7 has it; values tell their place. */
static size_t put_tcp_info(uint8_t *info, size_t size)
{
	struct tcp_info base = {
		.tcpi_state = SOCKET_ESTABLISHED,
		.tcpi_ca_state = 3,
		.tcpi_backoff = 2,
		.tcpi_snd_wscale = 7,
		.tcpi_rcv_wscale = 9,
		.tcpi_delivery_rate_app_limited = 1,
		.tcpi_rto = 204000,
		.tcpi_unacked = 5,
		.tcpi_last_data_sent = 12,
		.tcpi_rtt = 30000,
		.tcpi_rttvar = 1500,
		.tcpi_snd_ssthresh = 0x7fffffff,
		.tcpi_snd_cwnd = 10,
		.tcpi_pacing_rate = UINT64_MAX,
		.tcpi_bytes_acked = UINT64_C(0x123456789a),
		.tcpi_min_rtt = UINT32_MAX,
		.tcpi_busy_time = 77,
		.tcpi_bytes_retrans = 1448,
		.tcpi_snd_wnd = 65535,
	};
	const uint32_t later[] = {4321, 3, 0x00020005, 99};
	size_t end = offsetof(struct tcp_info, tcpi_snd_wnd) + 4;

	memset(info, 0, size);
	memcpy(info, &base, min_of(end, size));
	if (size > end)
		memcpy(info + end, later, min_of(size - end, sizeof(later)));
	return size;
}

static void build_socket(struct message *m, size_t info_size)
{
	uint8_t info[512];
	const uint32_t memory[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct tcp_bbr_info bbr = {
		.bbr_bw_lo = 5, .bbr_bw_hi = 1, .bbr_min_rtt = 250, .bbr_pacing_gain = 739, .bbr_cwnd_gain = 512};
	struct inet_diag_msg *msg;

	message_begin(m, SOCK_DIAG_BY_FAMILY, sizeof(*msg));
	msg = m->body;
	msg->idiag_family = AF_INET;
	msg->idiag_state = SOCKET_ESTABLISHED;
	msg->idiag_timer = SOCKET_TIMER_PERSIST;
	msg->idiag_retrans = 4;
	msg->idiag_expires = 250;
	msg->id.idiag_sport = htons(443);
	msg->id.idiag_dport = htons(50000);
	msg->id.idiag_src[0] = htonl(0x0a000001);
	msg->id.idiag_dst[0] = htonl(0x0a000002);
	msg->id.idiag_cookie[0] = 0x89abcdef;
	msg->id.idiag_cookie[1] = 0x1;
	msg->idiag_rqueue = 100;
	msg->idiag_wqueue = 200;
	msg->idiag_uid = 33;
	msg->idiag_inode = 777;
	if (info_size)
		mnl_attr_put(m->header, INET_DIAG_INFO, put_tcp_info(info, info_size), info);
	mnl_attr_put(m->header, INET_DIAG_SKMEMINFO, sizeof(memory), memory);
	mnl_attr_put_strz(m->header, INET_DIAG_CONG, "bbr");
	mnl_attr_put(m->header, INET_DIAG_BBRINFO, sizeof(bbr), &bbr);
	mnl_attr_put_u64(m->header, INET_DIAG_CGROUP_ID, 4242);
	mnl_attr_put_u8(m->header, INET_DIAG_SHUTDOWN, 2);
}

static size_t parse_sockets(struct snapshot *snapshot, const void *bytes, size_t len)
{
	struct socket_parse context = {IPPROTO_TCP, snapshot_table(snapshot, &socket_type),
				       snapshot_table(snapshot, &tcp_type)};

	return nl_parse_bytes(snapshot, bytes, len, socket_parse_message, &context);
}

TEST(a_socket_with_everything)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct socket_record *s;
	const struct tcp_record *t;
	struct message m;
	char text[ADDR_TEXT_MAX];

	build_socket(&m, 248);
	snapshot->netns = 7;
	CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, m.header->nlmsg_len), 1);
	REQUIRE(snapshot_table(snapshot, &socket_type)->count == 1);
	s = snapshot_first(snapshot, &socket_type);
	t = socket_tcp(snapshot, s);
	REQUIRE(t);
	CHECK_EQ_UINT(s->netns, 7);
	addr_format(&s->laddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.1");
	addr_format(&s->raddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.2");
	CHECK_EQ_UINT(s->lport, 443);
	CHECK_EQ_UINT(s->rport, 50000);
	CHECK_EQ_UINT(s->cookie, UINT64_C(0x189abcdef));
	CHECK_EQ_UINT(s->recvq_bytes, 100);
	CHECK_EQ_UINT(s->sendq_bytes, 200);
	CHECK_EQ_UINT(s->backlog, UINT32_MAX);
	CHECK_EQ_UINT(s->timer_ns, 250000000);
	CHECK_EQ_UINT(s->timer_retransmits, 4);
	CHECK_EQ_UINT(s->rmem_bytes, 1);
	CHECK_EQ_UINT(s->sndbuf, 4);
	CHECK_EQ_UINT(s->drops, 9);
	CHECK_EQ_UINT(s->cgroup_id, 4242);
	CHECK_EQ_UINT(s->shutdown, 2);
	CHECK_EQ_UINT(s->mark, UINT32_MAX);
	CHECK_EQ_TEXT(t->cc, "bbr");
	CHECK_EQ_UINT(t->ca_state, 3);
	CHECK_EQ_UINT(t->snd_wscale, 7);
	CHECK_EQ_UINT(t->rcv_wscale, 9);
	CHECK_EQ_UINT(t->app_limited, 1);
	CHECK_EQ_UINT(t->rto_ns, 204000000);
	CHECK_EQ_UINT(t->srtt_ns, 30000000);
	CHECK_EQ_UINT(t->rttvar_ns, 1500000);
	CHECK_EQ_UINT(t->last_sent_ns, 12000000);
	CHECK_EQ_UINT(t->ssthresh, UINT32_MAX);
	CHECK_EQ_UINT(t->min_rtt_ns, UINT64_MAX);
	CHECK_EQ_UINT(t->pacing_rate, UINT64_MAX);
	CHECK_EQ_UINT(t->busy_ns, 77000);
	CHECK_EQ_UINT(t->snd_wnd, 65535);
	CHECK_EQ_UINT(t->rcv_wnd, 4321);
	CHECK_EQ_UINT(t->rehash, 3);
	CHECK_EQ_UINT(t->total_rto, 5);
	CHECK_EQ_UINT(t->total_rto_recoveries, 2);
	CHECK_EQ_UINT(t->total_rto_ns, 99000000);
	CHECK_EQ_UINT(t->bbr_bw, (UINT64_C(1) << 32) + 5);
	CHECK_NEAR(t->bbr_pacing_gain, 739 / 256.0, 1e-9);
}

TEST(tcp_info_of_older_and_newer_kernels)
{
	static const struct {
		size_t size;
		bool tcp, rcv_wnd, rto;
	} cases[] = {{0, false, false, false},  {100, false, false, false}, {231, false, false, false},
		     {232, true, false, false}, {236, true, false, false},  {240, true, true, false},
		     {248, true, true, true},   {280, true, true, true}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		const struct tcp_record *t;
		struct message m;

		unit_note("%zu bytes", cases[i].size);
		build_socket(&m, cases[i].size);
		CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, m.header->nlmsg_len), 1);
		t = socket_tcp(snapshot, snapshot_first(snapshot, &socket_type));
		if (!CHECK_EQ_INT(t != NULL, cases[i].tcp) || !t)
			continue;
		CHECK_EQ_INT(t->rcv_wnd != UINT32_MAX, cases[i].rcv_wnd);
		CHECK_EQ_INT(t->total_rto != UINT16_MAX, cases[i].rto);
	}
}

TEST(states_without_a_socket_have_no_queues)
{
	static const struct {
		uint8_t state;
		bool queues, backlog;
	} cases[] = {{SOCKET_ESTABLISHED, true, false},   {SOCKET_LISTEN, false, true},
		     {SOCKET_TIME_WAIT, false, false},    {SOCKET_SYN_RECV, false, false},
		     {SOCKET_NEW_SYN_RECV, false, false}, {SOCKET_CLOSE_WAIT, true, false}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		const struct socket_record *s;
		struct message m;

		unit_note("state %u", cases[i].state);
		build_socket(&m, 0);
		((struct inet_diag_msg *)m.body)->idiag_state = cases[i].state;
		CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, m.header->nlmsg_len), 1);
		s = snapshot_first(snapshot, &socket_type);
		CHECK_EQ_UINT(s->recvq_bytes, cases[i].queues ? 100 : UINT32_MAX);
		CHECK_EQ_UINT(s->backlog, cases[i].backlog ? 100 : UINT32_MAX);
		CHECK_EQ_UINT(s->backlog_max, cases[i].backlog ? 200 : UINT32_MAX);
	}
}

TEST(a_connection_being_made_has_no_times)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct tcp_record *t;
	struct nlattr *attr;
	struct message m;

	build_socket(&m, 248);
	((struct inet_diag_msg *)m.body)->idiag_state = SOCKET_SYN_SENT;
	attr = mnl_nlmsg_get_payload_offset(m.header, sizeof(struct inet_diag_msg));
	*(uint8_t *)mnl_attr_get_payload(attr) = SOCKET_SYN_SENT; /* tcpi_state */
	memset((uint8_t *)mnl_attr_get_payload(attr) + offsetof(struct tcp_info, tcpi_rtt), 0, 4);
	CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, m.header->nlmsg_len), 1);
	t = socket_tcp(snapshot, snapshot_first(snapshot, &socket_type));
	REQUIRE(t);
	CHECK_EQ_UINT(t->last_sent_ns, UINT64_MAX);
	CHECK_EQ_UINT(t->last_received_ns, UINT64_MAX);
	CHECK_EQ_UINT(t->rttvar_ns, UINT64_MAX);
}

TEST(mapped_addresses_and_the_question_about_one_socket)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct inet_diag_msg *msg;
	struct inet_diag_req_v2 req;
	struct message m;
	char text[ADDR_TEXT_MAX];

	build_socket(&m, 0);
	msg = m.body;
	msg->idiag_family = AF_INET6;
	inet_pton(AF_INET6, "::ffff:10.0.0.1", msg->id.idiag_src);
	inet_pton(AF_INET6, "fe80::2", msg->id.idiag_dst);
	msg->id.idiag_if = 3;
	CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, m.header->nlmsg_len), 1);
	addr_format(&((struct socket_record *)snapshot_first(snapshot, &socket_type))->laddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.1");
	req = sock_question(snapshot_first(snapshot, &socket_type), 5);
	CHECK_EQ_UINT(req.sdiag_family, AF_INET6);
	CHECK_EQ_UINT(req.idiag_ext, 5);
	CHECK_EQ_MEM(&req.id, &msg->id, sizeof(req.id));
	/* And of IPv4. */
	build_socket(&m, 0);
	snapshot_clear(snapshot);
	CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, m.header->nlmsg_len), 1);
	req = sock_question(snapshot_first(snapshot, &socket_type), 0);
	CHECK_EQ_UINT(req.sdiag_family, AF_INET);
	CHECK_EQ_MEM(&req.id, &((struct inet_diag_msg *)m.body)->id, sizeof(req.id));
}

TEST(every_cut_of_a_message_is_survived)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct message m;

	build_socket(&m, 248);
	for (uint32_t len = 0; len <= m.header->nlmsg_len; len++) {
		_cleanup_free_ char *copy = xmalloc(len);
		size_t whole;

		memcpy(copy, m.bytes, len);
		/* The header lies about its length, then tells the truth about the cut. */
		whole = parse_sockets(snapshot, copy, len);
		CHECK_EQ_UINT(whole, len == m.header->nlmsg_len);
		if (len < sizeof(struct nlmsghdr))
			continue;
		((struct nlmsghdr *)copy)->nlmsg_len = len;
		CHECK_EQ_UINT(parse_sockets(snapshot, copy, len), 1);
	}
	CHECK(snapshot_table(snapshot, &socket_type)->count > 100);
}

TEST(a_message_that_claims_to_be_huge)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct message m;

	build_socket(&m, 248);
	m.header->nlmsg_len = UINT32_C(0xf0000000);
	CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, 400), 0);
	m.header->nlmsg_len = UINT32_MAX;
	CHECK_EQ_UINT(parse_sockets(snapshot, m.bytes, 400), 0);
	CHECK_EQ_UINT(snapshot_table(snapshot, &socket_type)->count, 0);
}

TEST(lying_attribute_lengths)
{
	struct message m;
	struct nlattr *attr;

	build_socket(&m, 248);
	for (unsigned length = 0; length < 70000; length += length < 600 ? 1 : 977) {
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		_cleanup_free_ char *copy = xmalloc(m.header->nlmsg_len);

		memcpy(copy, m.bytes, m.header->nlmsg_len);
		attr = mnl_nlmsg_get_payload_offset((struct nlmsghdr *)copy, sizeof(struct inet_diag_msg));
		attr->nla_len = (uint16_t)length;
		CHECK_EQ_UINT(parse_sockets(snapshot, copy, m.header->nlmsg_len), 1);
		CHECK_EQ_UINT(snapshot_table(snapshot, &socket_type)->count, 1);
	}
}

TEST(a_link)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct rtnl_link_stats64 stats = {.rx_bytes = UINT64_C(1) << 40, .tx_dropped = 3, .rx_nohandler = 8};
	static const uint8_t mac[6] = {2, 0, 0xab, 0, 0, 0xff};
	const struct link_record *link;
	struct nlattr *nest;
	struct message m;

	message_begin(&m, RTM_NEWLINK, sizeof(struct ifinfomsg));
	((struct ifinfomsg *)m.body)->ifi_index = 4;
	((struct ifinfomsg *)m.body)->ifi_flags = 1;
	mnl_attr_put_strz(m.header, IFLA_IFNAME, "a-name-too-long-for-it");
	mnl_attr_put_u8(m.header, IFLA_OPERSTATE, 6);
	mnl_attr_put_u8(m.header, IFLA_CARRIER, 1);
	mnl_attr_put_u32(m.header, IFLA_MTU, 1500);
	mnl_attr_put_strz(m.header, IFLA_QDISC, "fq_codel");
	mnl_attr_put(m.header, IFLA_ADDRESS, sizeof(mac), mac);
	mnl_attr_put(m.header, IFLA_STATS64, sizeof(stats), &stats);
	nest = mnl_attr_nest_start(m.header, IFLA_LINKINFO);
	mnl_attr_put_strz(m.header, IFLA_INFO_KIND, "veth");
	mnl_attr_nest_end(m.header, nest);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, link_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &link_type)->count == 1);
	link = snapshot_first(snapshot, &link_type);
	CHECK_EQ_UINT(link->ifindex, 4);
	CHECK_EQ_TEXT(link->dev, "a-name-too-long");
	CHECK_EQ_TEXT(link->kind, "veth");
	CHECK_EQ_TEXT(link->qdisc, "fq_codel");
	CHECK_EQ_TEXT(link->mac, "02:00:ab:00:00:ff");
	CHECK_EQ_UINT(link->rx_bytes, UINT64_C(1) << 40);
	CHECK_EQ_UINT(link->tx_dropped, 3);
	CHECK_EQ_UINT(link->rx_nohandler, 8);
	CHECK_EQ_UINT(link->speed, UINT64_MAX);
	CHECK_EQ_UINT(link->master, 0);
	/* Another kind of message is not a link. */
	m.header->nlmsg_type = RTM_DELLINK;
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, link_parse_message, NULL), 1);
	CHECK_EQ_UINT(snapshot_table(snapshot, &link_type)->count, 1);
}

static void put_queue_stats(struct nlmsghdr *header)
{
	struct gnet_stats_queue queue = {.qlen = 73, .backlog = 110000, .drops = 6, .requeues = 1, .overlimits = 5000};
	struct gnet_stats_basic basic = {.bytes = 1000000, .packets = 700};
	struct nlattr *nest = mnl_attr_nest_start(header, TCA_STATS2);

	mnl_attr_put(header, TCA_STATS_BASIC, sizeof(basic), &basic);
	mnl_attr_put(header, TCA_STATS_QUEUE, sizeof(queue), &queue);
	mnl_attr_put_u64(header, TCA_STATS_PKT64, UINT64_C(5000000000));
	mnl_attr_nest_end(header, nest);
}

TEST(a_token_bucket)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	/* 1 MB/s, 16000 ticks of 64 ns: 1024 bytes. */
	struct tc_tbf_qopt opt = {.rate.rate = 1000000, .limit = 30000, .buffer = 16000};
	const struct qdisc_record *qdisc;
	struct nlattr *nest;
	struct message m;
	struct tcmsg *tc;

	message_begin(&m, RTM_NEWQDISC, sizeof(*tc));
	tc = m.body;
	tc->tcm_ifindex = 2;
	tc->tcm_handle = 0x80010000;
	tc->tcm_parent = TC_H_ROOT;
	mnl_attr_put_strz(m.header, TCA_KIND, "tbf");
	nest = mnl_attr_nest_start(m.header, TCA_OPTIONS);
	mnl_attr_put(m.header, TCA_TBF_PARMS, sizeof(opt), &opt);
	mnl_attr_nest_end(m.header, nest);
	put_queue_stats(m.header);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, qdisc_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &qdisc_type)->count == 1);
	qdisc = snapshot_first(snapshot, &qdisc_type);
	CHECK_EQ_TEXT(qdisc->kind, "tbf");
	CHECK_EQ_TEXT(qdisc->handle, "8001:");
	CHECK_EQ_TEXT(qdisc->parent, "root");
	CHECK_EQ_UINT(qdisc->bytes, 1000000);
	CHECK_EQ_UINT(qdisc->packets, UINT64_C(5000000000));
	CHECK_EQ_UINT(qdisc->qlen, 73);
	CHECK_EQ_UINT(qdisc->backlog_bytes, 110000);
	CHECK_EQ_UINT(qdisc->drops, 6);
	CHECK_EQ_UINT(qdisc->overlimits, 5000);
	CHECK_EQ_UINT(qdisc->rate, 1000000);
	CHECK_EQ_UINT(qdisc->limit_bytes, 30000);
	CHECK_EQ_UINT(qdisc->burst_bytes, 1024);
	CHECK_EQ_UINT(qdisc->limit_packets, UINT64_MAX);
}

TEST(a_class_and_netem)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct tc_htb_opt htb = {.rate.rate = 1, .ceil.rate = 2};
	/* The fixed part, then attributes. */
	struct {
		struct tc_netem_qopt opt;
		struct nlattr head;
		uint64_t latency;
	} __attribute__((packed))
	netem = {{.latency = 1, .limit = 1000, .loss = UINT32_MAX / 2}, {12, TCA_NETEM_LATENCY64}, 20000000};
	const struct qdisc_record *record;
	struct nlattr *nest;
	struct message m;

	message_begin(&m, RTM_NEWTCLASS, sizeof(struct tcmsg));
	((struct tcmsg *)m.body)->tcm_handle = 0x00010010;
	((struct tcmsg *)m.body)->tcm_parent = 0x00010000;
	mnl_attr_put_strz(m.header, TCA_KIND, "htb");
	nest = mnl_attr_nest_start(m.header, TCA_OPTIONS);
	mnl_attr_put(m.header, TCA_HTB_PARMS, sizeof(htb), &htb);
	mnl_attr_put_u64(m.header, TCA_HTB_CEIL64, UINT64_C(10000000000));
	mnl_attr_nest_end(m.header, nest);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, qdisc_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &class_type)->count == 1);
	record = snapshot_first(snapshot, &class_type);
	CHECK_EQ_TEXT(record->handle, "1:10");
	CHECK_EQ_TEXT(record->parent, "1:");
	CHECK_EQ_UINT(record->rate, 1);
	CHECK_EQ_UINT(record->ceil, UINT64_C(10000000000));
	CHECK_EQ_UINT(record->drops, UINT32_MAX);

	message_begin(&m, RTM_NEWQDISC, sizeof(struct tcmsg));
	mnl_attr_put_strz(m.header, TCA_KIND, "netem");
	mnl_attr_put(m.header, TCA_OPTIONS, sizeof(netem), &netem);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, qdisc_parse_message, NULL), 1);
	record = snapshot_first(snapshot, &qdisc_type);
	REQUIRE(record);
	CHECK_EQ_UINT(record->limit_packets, 1000);
	CHECK_EQ_UINT(record->delay_ns, 20000000);
	CHECK_NEAR(record->loss, 0.5, 1e-6);
}

TEST(routes)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct route_record *route;
	struct destination_record destination = {};
	struct nlattr *nest;
	struct message m;
	struct rtmsg *rt;
	uint32_t net = htonl(0x0a010000), via = htonl(0x0a000001);
	char text[ADDR_TEXT_MAX];

	message_begin(&m, RTM_NEWROUTE, sizeof(*rt));
	rt = m.body;
	rt->rtm_family = AF_INET;
	rt->rtm_dst_len = 16;
	rt->rtm_table = RT_TABLE_MAIN;
	rt->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(m.header, RTA_DST, net);
	mnl_attr_put_u32(m.header, RTA_GATEWAY, via);
	mnl_attr_put_u32(m.header, RTA_OIF, 3);
	mnl_attr_put_u32(m.header, RTA_PRIORITY, 100);
	mnl_attr_put_u32(m.header, RTA_TABLE, 1000);
	nest = mnl_attr_nest_start(m.header, RTA_METRICS);
	mnl_attr_put_u32(m.header, RTAX_MTU, 1400);
	mnl_attr_nest_end(m.header, nest);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, route_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &route_type)->count == 1);
	route = snapshot_first(snapshot, &route_type);
	addr_format(&route->dst, text);
	CHECK_EQ_TEXT(text, "10.1.0.0");
	CHECK_EQ_UINT(route->prefix, 16);
	addr_format(&route->gateway, text);
	CHECK_EQ_TEXT(text, "10.0.0.1");
	CHECK_EQ_UINT(route->ifindex, 3);
	CHECK_EQ_UINT(route->metric, 100);
	CHECK_EQ_UINT(route->table, 1000);
	CHECK_EQ_UINT(route->route_mtu, 1400);
	CHECK_EQ_UINT(route->nexthops, UINT32_MAX);
	/* The same as the answer to a question. */
	nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, destination_parse_message, &destination);
	CHECK_EQ_UINT(destination.path_mtu, 1400);
	CHECK_EQ_UINT(destination.ifindex, 3);
	CHECK_EQ_UINT(destination.route_type, RTN_UNICAST);
	/* What was learnt is no route. */
	rt->rtm_flags = RTM_F_CLONED;
	nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, route_parse_message, NULL);
	CHECK_EQ_UINT(snapshot_table(snapshot, &route_type)->count, 1);
}

TEST(routes_over_several_routers)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct {
		struct rtnexthop hop;
		struct nlattr head;
		uint32_t via;
	} hops[2] = {{{16, 0, 0, 5}, {8, RTA_GATEWAY}, htonl(0x0a000001)},
		     {{16, 0, 0, 6}, {8, RTA_GATEWAY}, htonl(0x0a000002)}};
	const struct route_record *route;
	struct message m;

	message_begin(&m, RTM_NEWROUTE, sizeof(struct rtmsg));
	((struct rtmsg *)m.body)->rtm_family = AF_INET;
	mnl_attr_put(m.header, RTA_MULTIPATH, sizeof(hops), hops);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, route_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &route_type)->count == 1);
	route = snapshot_first(snapshot, &route_type);
	CHECK_EQ_UINT(route->nexthops, 2);
	CHECK_EQ_UINT(route->ifindex, 5);
	CHECK_EQ_UINT(route->gateway.bytes[15], 1);
	/* A hop that says it has no length must not go round for ever. */
	hops[0].hop.rtnh_len = 0;
	message_begin(&m, RTM_NEWROUTE, sizeof(struct rtmsg));
	((struct rtmsg *)m.body)->rtm_family = AF_INET;
	mnl_attr_put(m.header, RTA_MULTIPATH, sizeof(hops), hops);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, route_parse_message, NULL), 1);
	route = snapshot_first(snapshot, &route_type);
	CHECK_EQ_UINT(route[1].nexthops, 0);
}

TEST(a_neighbour)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct nda_cacheinfo cache = {.ndm_confirmed = 100, .ndm_used = 200, .ndm_updated = 300};
	const struct neighbour_record *neighbour;
	struct message m;
	uint32_t address = htonl(0x0a000001);

	message_begin(&m, RTM_NEWNEIGH, sizeof(struct ndmsg));
	((struct ndmsg *)m.body)->ndm_ifindex = 2;
	((struct ndmsg *)m.body)->ndm_state = NUD_FAILED;
	mnl_attr_put_u32(m.header, NDA_DST, address);
	mnl_attr_put_u32(m.header, NDA_PROBES, 3);
	mnl_attr_put(m.header, NDA_CACHEINFO, sizeof(cache), &cache);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, neighbour_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &neighbour_type)->count == 1);
	neighbour = snapshot_first(snapshot, &neighbour_type);
	CHECK_EQ_UINT(neighbour->neigh_state, NUD_FAILED);
	CHECK_EQ_UINT(neighbour->probes, 3);
	CHECK_EQ_TEXT(neighbour->lladdr, "");
	CHECK_EQ_UINT(neighbour->used_ns, UINT64_C(200) * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

TEST(a_tunnel_and_what_is_none)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct tunnel_record *tunnel;
	struct nlattr *nest, *data;
	struct message m;

	message_begin(&m, RTM_NEWLINK, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(m.header, IFLA_IFNAME, "vx0");
	nest = mnl_attr_nest_start(m.header, IFLA_LINKINFO);
	mnl_attr_put_strz(m.header, IFLA_INFO_KIND, "vxlan");
	data = mnl_attr_nest_start(m.header, IFLA_INFO_DATA);
	mnl_attr_put_u32(m.header, IFLA_VXLAN_ID, 42);
	mnl_attr_put_u32(m.header, IFLA_VXLAN_GROUP, htonl(0x0a000009));
	mnl_attr_put_u16(m.header, IFLA_VXLAN_PORT, htons(4789));
	mnl_attr_nest_end(m.header, data);
	mnl_attr_nest_end(m.header, nest);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, tunnel_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &tunnel_type)->count == 1);
	tunnel = snapshot_first(snapshot, &tunnel_type);
	CHECK_EQ_UINT(tunnel->key, 42);
	CHECK_EQ_UINT(tunnel->rport, 4789);
	CHECK_EQ_UINT(tunnel->raddr.bytes[15], 9);
	CHECK_EQ_UINT(tunnel->laddr.family, ADDR_UNKNOWN);
	CHECK(tunnel_is_kind("tun") && tunnel_is_kind("wireguard") && !tunnel_is_kind("veth") && !tunnel_is_kind(""));
}

TEST(a_firewall_rule)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	static const char comment[] = "\0\6hello";
	const struct firewall_rule_record *rule;
	struct nlattr *list, *element, *data, *value, *verdict;
	struct message m;

	message_begin(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE, sizeof(struct nfgenmsg));
	((struct nfgenmsg *)m.body)->nfgen_family = NFPROTO_INET;
	mnl_attr_put_strz(m.header, NFTA_RULE_TABLE, "filter");
	mnl_attr_put_strz(m.header, NFTA_RULE_CHAIN, "input");
	mnl_attr_put_u64(m.header, NFTA_RULE_HANDLE, htobe64(12));
	list = mnl_attr_nest_start(m.header, NFTA_RULE_EXPRESSIONS);
	element = mnl_attr_nest_start(m.header, NFTA_LIST_ELEM);
	mnl_attr_put_strz(m.header, NFTA_EXPR_NAME, "counter");
	data = mnl_attr_nest_start(m.header, NFTA_EXPR_DATA);
	mnl_attr_put_u64(m.header, NFTA_COUNTER_BYTES, htobe64(84));
	mnl_attr_put_u64(m.header, NFTA_COUNTER_PACKETS, htobe64(1));
	mnl_attr_nest_end(m.header, data);
	mnl_attr_nest_end(m.header, element);
	element = mnl_attr_nest_start(m.header, NFTA_LIST_ELEM);
	mnl_attr_put_strz(m.header, NFTA_EXPR_NAME, "immediate");
	data = mnl_attr_nest_start(m.header, NFTA_EXPR_DATA);
	value = mnl_attr_nest_start(m.header, NFTA_IMMEDIATE_DATA);
	verdict = mnl_attr_nest_start(m.header, NFTA_DATA_VERDICT);
	mnl_attr_put_u32(m.header, NFTA_VERDICT_CODE, htobe32(NF_DROP));
	mnl_attr_nest_end(m.header, verdict);
	mnl_attr_nest_end(m.header, value);
	mnl_attr_nest_end(m.header, data);
	mnl_attr_nest_end(m.header, element);
	mnl_attr_nest_end(m.header, list);
	mnl_attr_put(m.header, NFTA_RULE_USERDATA, sizeof(comment), comment);
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_rule_parse_message, NULL), 1);
	REQUIRE(snapshot_table(snapshot, &firewall_rule_type)->count == 1);
	rule = snapshot_first(snapshot, &firewall_rule_type);
	CHECK_EQ_TEXT(rule->nf_table, "filter");
	CHECK_EQ_TEXT(rule->chain, "input");
	CHECK_EQ_UINT(rule->handle, 12);
	CHECK_EQ_UINT(rule->packets, 1);
	CHECK_EQ_UINT(rule->bytes, 84);
	CHECK_EQ_UINT(rule->verdict, VERDICT_DROP);
	CHECK_EQ_TEXT(rule->comment, "hello");
}

/* A rule with one expression: its name, and what its data is made of. */
static const struct firewall_rule_record *one_expression(struct snapshot *snapshot, const char *name,
							 void (*put)(struct nlmsghdr *header))
{
	struct nlattr *list, *element, *data;
	struct message m;

	message_begin(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE, sizeof(struct nfgenmsg));
	list = mnl_attr_nest_start(m.header, NFTA_RULE_EXPRESSIONS);
	element = mnl_attr_nest_start(m.header, NFTA_LIST_ELEM);
	mnl_attr_put_strz(m.header, NFTA_EXPR_NAME, name);
	data = mnl_attr_nest_start(m.header, NFTA_EXPR_DATA);
	put(m.header);
	mnl_attr_nest_end(m.header, data);
	mnl_attr_nest_end(m.header, element);
	mnl_attr_nest_end(m.header, list);
	REQUIRE(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_rule_parse_message, NULL) == 1);
	return snapshot_first(snapshot, &firewall_rule_type);
}

static void put_queues(struct nlmsghdr *header)
{
	mnl_attr_put_u16(header, NFTA_QUEUE_NUM, htobe16(3));
	mnl_attr_put_u16(header, NFTA_QUEUE_TOTAL, htobe16(2));
}

static void put_bypass(struct nlmsghdr *header)
{
	put_queues(header);
	mnl_attr_put_u16(header, NFTA_QUEUE_FLAGS, htobe16(NFT_QUEUE_FLAG_BYPASS));
}

static void put_target(struct nlmsghdr *header)
{
	static const uint16_t first_revision[] = {7};

	mnl_attr_put_strz(header, NFTA_TARGET_NAME, "NFQUEUE");
	mnl_attr_put(header, NFTA_TARGET_INFO, sizeof(first_revision), first_revision);
}

TEST(queues_of_the_firewall)
{
	static const struct {
		const char *name;
		void (*put)(struct nlmsghdr *header);
		uint32_t queue, queues;
	} cases[] = {
		{"queue", put_queues, 3, 2},
		{"queue", put_bypass, UINT32_MAX, UINT32_MAX},
		{"target", put_target, 7, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		const struct firewall_rule_record *rule = one_expression(snapshot, cases[i].name, cases[i].put);

		CHECK_EQ_UINT(rule->verdict, VERDICT_QUEUE);
		CHECK_EQ_UINT(rule->queue, cases[i].queue);
		CHECK_EQ_UINT(rule->queues, cases[i].queues);
	}
	CHECK(firewall_is_heard("    2  17 0 2 65531 0 0 5 1\n    7  4711 0 2 65531 0 0 5 1\n", 7, 1));
	CHECK(firewall_is_heard("    7  4711 0 2 65531 0 0 5 1\n", 5, 3));
	CHECK(!firewall_is_heard("    7  4711 0 2 65531 0 0 5 1\n", 5, 2));
	CHECK(!firewall_is_heard("    7  4711 0 2 65531 0 0 5 1\n", 8, 1));
	CHECK(!firewall_is_heard("", 0, 1));
}

static struct destination_record destination_with(uint16_t type, const void *bytes, size_t len)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct destination_record destination = {.expires_ns = UINT64_MAX};
	struct message m;

	message_begin(&m, RTM_NEWROUTE, sizeof(struct rtmsg));
	((struct rtmsg *)m.body)->rtm_family = AF_INET;
	mnl_attr_put(m.header, type, len, bytes);
	nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, destination_parse_message, &destination);
	return destination;
}

/* A learnt path MTU expires; IPv6 reports an error beside it. */
TEST(what_the_kernel_remembers_of_a_destination)
{
	struct rta_cacheinfo cache = {.rta_expires = 3 * (uint32_t)sysconf(_SC_CLK_TCK),
				      .rta_error = (uint32_t)-ENETUNREACH};
	struct destination_record destination = destination_with(RTA_CACHEINFO, &cache, sizeof(cache));

	CHECK_EQ_UINT(destination.expires_ns, UINT64_C(3000000000));
	CHECK_EQ_UINT(destination.error, ENETUNREACH);
	cache.rta_error = EACCES;
	cache.rta_expires = 0;
	destination = destination_with(RTA_CACHEINFO, &cache, sizeof(cache));
	CHECK_EQ_UINT(destination.expires_ns, UINT64_MAX);
	CHECK_EQ_UINT(destination.error, EACCES);
	/* Cut short: nothing is taken from it. */
	destination = destination_with(RTA_CACHEINFO, &cache, sizeof(cache) - 4);
	CHECK_EQ_UINT(destination.error, 0);
}

/* A reply says that there are metrics; its age may be missing, cut short or absurd. */
TEST(what_the_kernel_remembers_of_a_peer)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const uint64_t ages[] = {90000, UINT64_MAX};
	struct message m;

	snapshot->begin_time_ns = UINT64_C(100000000000);
	for (size_t len = 0; len <= sizeof(ages); len += 4) {
		struct remembered_record record = {.last_ns = UINT64_MAX};

		message_begin(&m, 0x20, sizeof(struct genlmsghdr));
		if (len > 0)
			mnl_attr_put(m.header, TCP_METRICS_ATTR_AGE, min_of(len, sizeof(ages[0])), &ages[len > 8]);
		nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, remembered_parse_message, &record);
		CHECK(record.remembered);
		CHECK_EQ_UINT(record.last_ns, len == 8 ? UINT64_C(10000000000) : UINT64_MAX);
	}
}

/* A gateway of the other family: two bytes of family, then the address. */
TEST(gateways_of_the_other_family)
{
	uint8_t via[18] = {AF_INET, 0, 10, 0, 0, 7}, via6[18] = {AF_INET6, 0, 0xfd, 1};
	struct destination_record destination = destination_with(RTA_VIA, via, 6);
	char text[ADDR_TEXT_MAX];

	addr_format(&destination.gateway, text);
	CHECK_EQ_TEXT(text, "10.0.0.7");
	destination = destination_with(RTA_VIA, via6, 18);
	addr_format(&destination.gateway, text);
	CHECK_EQ_TEXT(text, "fd01::");
	/* Cut short, or of a family that there is not. */
	CHECK_EQ_UINT(destination_with(RTA_VIA, via, 5).gateway.family, ADDR_UNKNOWN);
	CHECK_EQ_UINT(destination_with(RTA_VIA, via6, 17).gateway.family, ADDR_UNKNOWN);
	via[0] = 77;
	CHECK_EQ_UINT(destination_with(RTA_VIA, via, 18).gateway.family, ADDR_UNKNOWN);
}

/* User data of a rule: type, length, value. Lengths that lie reach nothing behind. */
TEST(comments_among_other_data_of_a_rule)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *comment;
	} cases[] = {
		{"\1\2xx\0\6hello", 12, "hello"}, {"\1\0\0\3hi", 7, "hi"}, {"\0\6hello", 7, NULL},
		{"\1\5xx\0\3hi", 9, NULL},        {"\0", 1, NULL},         {"\2\1", 2, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		const struct firewall_rule_record *rule;
		struct message m;

		unit_note("case %zu", i);
		message_begin(&m, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE, sizeof(struct nfgenmsg));
		mnl_attr_put(m.header, NFTA_RULE_USERDATA, cases[i].len, cases[i].bytes);
		REQUIRE(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, firewall_rule_parse_message, NULL) == 1);
		rule = snapshot_first(snapshot, &firewall_rule_type);
		CHECK_EQ_TEXT(rule->comment ?: "none", cases[i].comment ?: "none");
	}
}

static void put_tuple(struct message *m, uint16_t type, const char *src, uint16_t sport, const char *dst,
		      uint16_t dport)
{
	struct nlattr *tuple = mnl_attr_nest_start(m->header, type), *part;
	struct in_addr address;

	part = mnl_attr_nest_start(m->header, CTA_TUPLE_IP);
	REQUIRE(inet_pton(AF_INET, src, &address) == 1);
	mnl_attr_put_u32(m->header, CTA_IP_V4_SRC, address.s_addr);
	REQUIRE(inet_pton(AF_INET, dst, &address) == 1);
	mnl_attr_put_u32(m->header, CTA_IP_V4_DST, address.s_addr);
	mnl_attr_nest_end(m->header, part);
	part = mnl_attr_nest_start(m->header, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(m->header, CTA_PROTO_NUM, IPPROTO_TCP);
	mnl_attr_put_u16(m->header, CTA_PROTO_SRC_PORT, htons(sport));
	mnl_attr_put_u16(m->header, CTA_PROTO_DST_PORT, htons(dport));
	mnl_attr_nest_end(m->header, part);
	mnl_attr_nest_end(m->header, tuple);
}

TEST(a_connection_that_nat_translates)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct translation_filter both = {IPS_SRC_NAT, IPS_SRC_NAT}, destination = {IPS_DST_NAT, IPS_NAT_MASK};
	const struct translation_record *t;
	char text[ADDR_TEXT_MAX];
	struct message m;

	message_begin(&m, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW, sizeof(struct nfgenmsg));
	put_tuple(&m, CTA_TUPLE_ORIG, "10.0.0.1", 40000, "192.0.2.1", 80);
	put_tuple(&m, CTA_TUPLE_REPLY, "10.1.0.1", 8080, "10.1.0.9", 61000);
	mnl_attr_put_u32(m.header, CTA_STATUS, htonl(IPS_CONFIRMED | IPS_SRC_NAT | IPS_DST_NAT));
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, translation_parse_message, &both), 1);
	/* It is in one of the two dumps only, even where the kernel does not filter. */
	CHECK_EQ_UINT(nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, translation_parse_message, &destination),
		      1);
	REQUIRE(snapshot_table(snapshot, &translation_type)->count == 1);
	t = snapshot_first(snapshot, &translation_type);
	addr_format(&t->nat_laddr, text);
	CHECK_EQ_TEXT(text, "10.1.0.9");
	addr_format(&t->nat_raddr, text);
	CHECK_EQ_TEXT(text, "10.1.0.1");
	CHECK_EQ_UINT(t->lport, 40000);
	CHECK_EQ_UINT(t->rport, 80);
	CHECK_EQ_UINT(t->nat_lport, 61000);
	CHECK_EQ_UINT(t->nat_rport, 8080);
}

TEST(a_connection_without_a_port_is_no_translation)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct translation_filter filter = {IPS_SRC_NAT, IPS_SRC_NAT};
	struct message m;

	message_begin(&m, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW, sizeof(struct nfgenmsg));
	put_tuple(&m, CTA_TUPLE_ORIG, "10.0.0.1", 40000, "192.0.2.1", 80);
	mnl_attr_put_u32(m.header, CTA_STATUS, htonl(IPS_SRC_NAT));
	(void)nl_parse_bytes(snapshot, m.bytes, m.header->nlmsg_len, translation_parse_message, &filter);
	CHECK_EQ_UINT(snapshot_table(snapshot, &translation_type)->count, 0);
}
