/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/wire_tap.h"

/* Packets per recvmmsg(). */
#define PACKETS_MAX 4096
/* Receive buffer for the packets between two samples. */
#define BUFFER_BYTES (4 << 20)

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/* Jump targets in the filters. */
enum { LINE_V6 = 8, LINE_PROTOCOL = 10, LINE_DNS = 14, LINE_TCP = 18, LINE_TAKE = 20, LINE_LEAVE = 21 };
enum { LINE_FLOWS = 12, FLOW_LINE_LEAVE = LINE_FLOWS + WIRE_FLOWS_MAX, FLOW_LINE_TAKE };

#define LOAD(size, mode, k) BPF_STMT(BPF_LD | BPF_##size | BPF_##mode, (uint32_t)(k))
#define IF(line, test, k, target, other)                                                                               \
	BPF_JUMP(BPF_JMP | BPF_##test | BPF_K, (k), (target) - (line)-1, (other) - (line)-1)
#define GO(line, target) BPF_STMT(BPF_JMP | BPF_JA, (target) - (line)-1)

/* Filter prologue: sets A to the IP protocol and X to the IP header length. */
#define TO_PROTOCOL(leave)                                                                                             \
	LOAD(W, ABS, SKF_AD_OFF + SKF_AD_PROTOCOL), IF(1, JEQ, ETH_P_IPV6, LINE_V6, 2),                                \
		IF(2, JEQ, ETH_P_IP, 3, leave), LOAD(H, ABS, 6),                                                       \
		IF(4, JSET, 0x1fff, leave, 5), /* later fragments have no ports */                                     \
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), LOAD(B, ABS, 9), GO(7, LINE_PROTOCOL),                         \
		BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 40), LOAD(B, ABS, 6)

/* Resets, ICMP, and of UDP what stands at line udp. */
#define NEWS(udp)                                                                                                      \
	{                                                                                                              \
		TO_PROTOCOL(LINE_LEAVE), IF(10, JEQ, IPPROTO_TCP, LINE_TCP, 11),                                       \
			IF(11, JEQ, IPPROTO_ICMP, LINE_TAKE, 12), IF(12, JEQ, IPPROTO_ICMPV6, LINE_TAKE, 13),          \
			IF(13, JEQ, IPPROTO_UDP, udp, LINE_LEAVE), LOAD(H, IND, 0), IF(15, JEQ, 53, LINE_TAKE, 16),    \
			LOAD(H, IND, 2), IF(17, JEQ, 53, LINE_TAKE, LINE_LEAVE), LOAD(B, IND, 13),                     \
			IF(19, JSET, 4, LINE_TAKE, LINE_LEAVE), /* RST flag */                                         \
			BPF_STMT(BPF_RET | BPF_K, WIRE_PACKET_MAX), BPF_STMT(BPF_RET | BPF_K, 0),                      \
	}
static const struct sock_filter news[] = NEWS(LINE_DNS), all_news[] = NEWS(LINE_TAKE);

static int attach(int fd, const struct sock_filter *filter, size_t len)
{
	const struct sock_fprog program = {.len = (unsigned short)len, .filter = (struct sock_filter *)filter};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

int wire_tap_set_flows(int fd, const struct wire_flow *flows, unsigned count)
{
	struct sock_filter filter[] = {
		TO_PROTOCOL(FLOW_LINE_LEAVE),
		IF(10, JEQ, IPPROTO_TCP, 11, FLOW_LINE_LEAVE),
		LOAD(W, IND, 0), /* both ports */
		[FLOW_LINE_LEAVE] = BPF_STMT(BPF_RET | BPF_K, 0),
		[FLOW_LINE_TAKE] = BPF_STMT(BPF_RET | BPF_K, WIRE_PACKET_MAX),
	};

	for (unsigned i = 0; i < WIRE_FLOWS_MAX; i++) {
		unsigned line = LINE_FLOWS + i;
		uint32_t ports = i < count ? (uint32_t)flows[i].rport << 16 | flows[i].lport : 0;

		filter[line] = i < count ? (struct sock_filter)IF(line, JEQ, ports, FLOW_LINE_TAKE, line + 1)
					 : (struct sock_filter)GO(line, FLOW_LINE_LEAVE);
	}
	return attach(fd, filter, ARRAY_SIZE(filter));
}

int wire_tap_want(int fd, enum wire_wanted wanted)
{
	int on = wanted > WIRE_WANTED_RESETS, ignore = !on;

	(void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	/* Kernels before 4.20 always deliver both directions. */
	(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof(ignore));
	return attach(fd, wanted == WIRE_WANTED_DATAGRAMS ? all_news : news, ARRAY_SIZE(news));
}

int wire_tap_open(struct why *why)
{
	/* Protocol 0: receives nothing until the filter is attached. */
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int bytes = BUFFER_BYTES, taken;

	if (fd < 0)
		return why_set(why, -errno, "cannot open a packet socket: %s%s", strerror(errno),
			       errno == EPERM ? " (needs CAP_NET_RAW)" : "");
	if (wire_tap_want(fd, WIRE_WANTED_RESETS) < 0)
		return why_set(why, -errno, "cannot set up a packet socket: %s", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(fd, (struct sockaddr *)&all, sizeof(all)) < 0)
		return why_set(why, -errno, "cannot bind a packet socket: %s", strerror(errno));
	taken = fd;
	fd = -1;
	return taken;
}

static uint64_t time_of(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		struct timespec ts;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
	}
	return clock_real_ns();
}

uint64_t wire_tap_read(int fd, wire_packet_fn *take, void *context)
{
	struct tpacket_stats stats = {};
	socklen_t size = sizeof(stats);

	for (unsigned i = 0; i < PACKETS_MAX; i++) {
		uint8_t bytes[WIRE_PACKET_MAX];
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct timespec))];
		struct sockaddr_ll from = {};
		struct iovec iov = {bytes, sizeof(bytes)};
		struct msghdr message = {.msg_name = &from,
					 .msg_namelen = sizeof(from),
					 .msg_iov = &iov,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(fd, &message, 0);
		struct wire_packet packet;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		wire_parse(bytes, (size_t)n, from.sll_pkttype == PACKET_OUTGOING, &packet);
		packet.via_loopback = from.sll_hatype == ARPHRD_LOOPBACK;
		if (packet.kind != WIRE_OTHER)
			take(&packet, time_of(&message), context);
	}
	/* Reading resets the counter. */
	return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 ? stats.tp_drops : 0;
}
