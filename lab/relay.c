// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A network emulator like netem in user space: forwards frames between two interfaces of its namespace and delays,
 * drops, duplicates, reorders, corrupts or rate-limits them.
 *
 * Packet sockets with vnet headers on both sides preserve segmentation and checksum offload, so that bulk traffic is
 * fast; tests of single packets (loss, dup, reorder, corrupt) need tso, gso and gro off at all four link ends, because
 * an unsegmented GSO frame counts as one packet. VLAN tags are not supported.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/alloc.h"
#include "relay_frame.h"
#include "relay_words.h"

#define BATCH 64u
/* The largest GSO frame, with both headers. */
#define FRAME_ROOM  (FRAME_VNET_LEN + ETHER_HDR_LEN + 65536u + 64u)
#define SOCKET_ROOM (32 << 20)
#define COMMAND_MAX 4096u
/*
 * Minimum timer interval after a send: at 100,000 packets per second a wakeup for each would cost more than the
 * packets. A packet close behind another may be late by this much, a single one is not.
 */
#define REST_NS (50 * NS_PER_US)
/* Retries and interval for a full ring: after 10 ms the frame is dropped. */
#define RING_TRIES  200u
#define RING_NAP_NS (50 * NS_PER_US)
/* Batches per socket before the timer and the other direction are served. */
#define TURN_BATCHES 4u

struct side {
	const char *name;
	int fd;
	struct line *out_of; /* direction that starts here */
};

struct relay {
	struct relay_settings set;
	struct line ab;
	struct line ba;
	struct side a;
	struct side b;
	int timer_fd;
	int signal_fd;
	int epoll_fd;
	uint64_t armed_ns;
	uint64_t sent_ns;
	bool is_realtime;
	bool stop;
	char command[COMMAND_MAX];
	size_t command_len;
	bool command_too_long;
	struct mmsghdr messages[BATCH];
	struct iovec vectors[BATCH];
	uint8_t *frames; /* BATCH times FRAME_ROOM */
};

static void usage(FILE *out)
{
	fprintf(out, "usage: relay IF_A IF_B [word=value ...]\n\n"
		     "Forwards frames between two interfaces with impairments. A word applies to both\n"
		     "directions, ab.word for A to B, ba.word for B to A:\n\n");
	words_help(out);
	fprintf(out, "\nOn stdin, line by line: words as above (answers ok or error: ...), or stats (one JSON line).\n"
		     "SIGTERM and SIGINT end it with a last stats line.\n");
}

static int side_open(struct side *side, struct why *why)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct packet_mreq promiscuous = {.mr_type = PACKET_MR_PROMISC};
	int on = 1, room = SOCKET_ROOM;

	address.sll_ifindex = (int)if_nametoindex(side->name);
	if (address.sll_ifindex == 0)
		return why_set(why, -ENODEV, "%s: no such interface in this namespace", side->name);
	/* Protocol 0: receive nothing before the vnet header is set. */
	side->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (side->fd < 0)
		return why_set(why, -errno, "packet socket: %m (needs CAP_NET_RAW)");
	promiscuous.mr_ifindex = address.sll_ifindex;
	if (setsockopt(side->fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0 ||
	    setsockopt(side->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 ||
	    setsockopt(side->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof(promiscuous)) < 0)
		return why_set(why, -errno, "%s: packet socket options: %m", side->name);
	/* Without CAP_NET_ADMIN the buffers stay small; the losses are then counted as recv_drops. */
	(void)setsockopt(side->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	(void)setsockopt(side->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	if (bind(side->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return why_set(why, -errno, "%s: bind: %m", side->name);
	return 0;
}

static void side_count_drops(struct side *side)
{
	struct tpacket_stats stats;
	socklen_t len = sizeof(stats);

	/* Reading resets the kernel's counters. */
	if (getsockopt(side->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0)
		side->out_of->stats.recv_drops += stats.tp_drops;
}

static void relay_apply(struct relay *relay)
{
	uint64_t now_ns = clock_monotonic_ns();

	line_configure(&relay->ab, &relay->set.ab, now_ns);
	line_configure(&relay->ba, &relay->set.ba, now_ns);
	if (!relay->set.seed_given)
		return;
	relay->set.seed_given = false;
	rng_seed(&relay->ab.rng, relay->set.seed);
	rng_seed(&relay->ba.rng, ~relay->set.seed);
}

static void relay_print_stats(struct relay *relay)
{
	side_count_drops(&relay->a);
	side_count_drops(&relay->b);
	printf("{\"t_ns\":%" PRIu64 ",\"realtime\":%s,\"ab\":", clock_monotonic_ns(),
	       relay->is_realtime ? "true" : "false");
	line_stats_print(&relay->ab, stdout);
	fputs(",\"ba\":", stdout);
	line_stats_print(&relay->ba, stdout);
	fputs("}\n", stdout);
	fflush(stdout);
}

static void command_run(struct relay *relay, char *text)
{
	struct why why = {};

	if (strcmp(text, "stats") == 0) {
		relay_print_stats(relay);
		return;
	}
	if (words_apply_line(&relay->set, text, &why) < 0) {
		printf("error: %s\n", why.text);
	} else {
		relay_apply(relay);
		puts("ok");
	}
	fflush(stdout);
}

/* False: end of stdin or read error. */
static bool commands_read(struct relay *relay)
{
	char chunk[1024];
	ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	for (ssize_t i = 0; i < n; i++) {
		if (chunk[i] != '\n') {
			if (relay->command_len + 1 < COMMAND_MAX)
				relay->command[relay->command_len++] = chunk[i];
			else
				relay->command_too_long = true;
			continue;
		}
		relay->command[relay->command_len] = '\0';
		if (relay->command_too_long) {
			puts("error: line too long");
			fflush(stdout);
		} else {
			command_run(relay, relay->command);
		}
		relay->command_len = 0;
		relay->command_too_long = false;
	}
	return n > 0;
}

static void messages_reset(struct relay *relay)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		relay->vectors[i] = (struct iovec){relay->frames + (size_t)i * FRAME_ROOM, FRAME_ROOM};
		relay->messages[i].msg_hdr = (struct msghdr){.msg_iov = &relay->vectors[i], .msg_iovlen = 1};
	}
}

static void side_receive(struct relay *relay, struct side *side)
{
	for (unsigned int turn = 0; turn < TURN_BATCHES; turn++) {
		uint64_t now_ns;
		int n;

		messages_reset(relay);
		n = recvmmsg(side->fd, relay->messages, BATCH, MSG_DONTWAIT, NULL);
		/* ENETDOWN is reported once; the socket works again when the interface is up. */
		if (n <= 0)
			return;
		now_ns = clock_monotonic_ns();
		for (int i = 0; i < n; i++) {
			size_t len = relay->messages[i].msg_len;

			if (relay->messages[i].msg_hdr.msg_flags & MSG_TRUNC)
				side->out_of->stats.recv_drops++;
			else if (len > FRAME_VNET_LEN + ETHER_HDR_LEN)
				line_arrive(side->out_of, relay->vectors[i].iov_base, len, now_ns);
		}
		if (n < (int)BATCH)
			return;
	}
}

/*
 * The ring of a veth holds 256 frames and is drained by ksoftirqd, which a real-time program can starve. A frame that
 * did not fit is retried after a short sleep; a relay without impairments must not lose frames.
 */
static bool send_again(unsigned int tries)
{
	struct timespec nap = {.tv_nsec = (long)RING_NAP_NS};

	if (errno == EINTR)
		return true;
	if (errno != ENOBUFS || tries >= RING_TRIES)
		return false;
	(void)nanosleep(&nap, NULL);
	return true;
}

/* Sends n packets of line_take_due(); counts those that the kernel refuses and continues. */
static void line_send(struct relay *relay, struct line *line, struct packet **packets, unsigned int n)
{
	int fd = line == &relay->ab ? relay->b.fd : relay->a.fd;
	unsigned int sent = 0, tries = 0;

	for (unsigned int i = 0; i < n; i++) {
		relay->vectors[i] = (struct iovec){packets[i]->data, packets[i]->len};
		relay->messages[i].msg_hdr = (struct msghdr){.msg_iov = &relay->vectors[i], .msg_iovlen = 1};
	}
	while (sent < n) {
		int r = sendmmsg(fd, relay->messages + sent, n - sent, 0);

		if (r <= 0 && send_again(tries)) {
			line->stats.send_retries++;
			tries++;
			continue;
		}
		tries = 0;
		if (r <= 0) {
			line->stats.send_errors++;
			sent++;
			continue;
		}
		for (int i = 0; i < r; i++)
			line->stats.forwarded_bytes += packets[sent + (unsigned int)i]->len - FRAME_VNET_LEN;
		line->stats.forwarded += (uint64_t)r;
		sent += (unsigned int)r;
	}
}

static void line_flush(struct relay *relay, struct line *line)
{
	struct packet *packets[BATCH];
	unsigned int n;

	do {
		uint64_t now_ns = clock_monotonic_ns();

		for (n = 0; n < BATCH; n++) {
			packets[n] = line_take_due(line, now_ns);
			if (!packets[n])
				break;
		}
		if (n > 0)
			relay->sent_ns = now_ns;
		line_send(relay, line, packets, n);
		for (unsigned int i = 0; i < n; i++)
			line_recycle(line, packets[i]);
	} while (n == BATCH);
}

static void relay_arm_timer(struct relay *relay)
{
	uint64_t ab_ns = line_next_ns(&relay->ab), ba_ns = line_next_ns(&relay->ba), next_ns = min_of(ab_ns, ba_ns);
	struct itimerspec when = {};

	if (next_ns != UINT64_MAX)
		next_ns = max_of(next_ns, relay->sent_ns + REST_NS);
	if (next_ns == relay->armed_ns)
		return;
	relay->armed_ns = next_ns;
	if (next_ns != UINT64_MAX)
		when.it_value = (struct timespec){(time_t)(next_ns / NS_PER_S), (long)(next_ns % NS_PER_S)};
	(void)timerfd_settime(relay->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void relay_handle(struct relay *relay, int fd)
{
	uint64_t expirations;

	if (fd == relay->a.fd) {
		side_receive(relay, &relay->a);
	} else if (fd == relay->b.fd) {
		side_receive(relay, &relay->b);
	} else if (fd == relay->timer_fd) {
		/* An expired timer is not armed; the caller sends what is due. */
		if (read(fd, &expirations, sizeof(expirations)) > 0)
			relay->armed_ns = UINT64_MAX;
	} else if (fd == relay->signal_fd) {
		relay->stop = true;
	} else if (!commands_read(relay)) {
		(void)epoll_ctl(relay->epoll_fd, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
	}
}

static int relay_run(struct relay *relay)
{
	while (!relay->stop) {
		struct epoll_event events[8];
		int n = epoll_wait(relay->epoll_fd, events, ARRAY_SIZE(events), -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			relay_handle(relay, events[i].data.fd);
		line_flush(relay, &relay->ab);
		line_flush(relay, &relay->ba);
		relay_arm_timer(relay);
	}
	return 0;
}

static int relay_watch(struct relay *relay, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(relay->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Real-time priority against late wakeups; without the privilege delays are less precise. */
static bool realtime_ask(void)
{
	struct sched_param param = {.sched_priority = 10};

	return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}

static int relay_open(struct relay *relay, struct why *why)
{
	sigset_t ends;
	int r;

	r = side_open(&relay->a, why);
	if (r == 0)
		r = side_open(&relay->b, why);
	if (r < 0)
		return r;
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	relay->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC);
	relay->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	relay->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (relay->signal_fd < 0 || relay->timer_fd < 0 || relay->epoll_fd < 0)
		return why_set(why, -errno, "descriptors: %m");
	if (relay_watch(relay, relay->a.fd) < 0 || relay_watch(relay, relay->b.fd) < 0 ||
	    relay_watch(relay, relay->timer_fd) < 0 || relay_watch(relay, relay->signal_fd) < 0)
		return why_set(why, -errno, "epoll: %m");
	relay->frames = xmalloc((size_t)BATCH * FRAME_ROOM);
	relay->is_realtime = realtime_ask();
	return 0;
}

static void relay_close(struct relay *relay)
{
	int fds[] = {relay->a.fd, relay->b.fd, relay->signal_fd, relay->timer_fd, relay->epoll_fd};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		closep(&fds[i]);
	line_done(&relay->ab);
	line_done(&relay->ba);
	free(relay->frames);
}

static int relay_serve(struct relay *relay)
{
	struct why why = {};
	int r;

	r = relay_open(relay, &why);
	if (r < 0) {
		fprintf(stderr, "relay: %s\n", why.text);
		return EXIT_FAILURE;
	}
	puts("ready");
	fflush(stdout);
	r = relay_watch(relay, STDIN_FILENO);
	if (r == -EPERM) {
		/* epoll refuses files: read all commands now. */
		while (commands_read(relay))
			;
	}
	r = relay_run(relay);
	relay_print_stats(relay);
	if (r < 0)
		fprintf(stderr, "relay: waiting for frames: %s\n", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct relay relay = {.timer_fd = -1, .signal_fd = -1, .epoll_fd = -1, .armed_ns = UINT64_MAX};
	struct why why = {};
	int r;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return EXIT_SUCCESS;
	}
	if (argc < 3) {
		usage(stderr);
		return 2;
	}
	lab_die_with_parent();
	(void)signal(SIGPIPE, SIG_IGN);
	line_init(&relay.ab, "ab", &relay.ba);
	line_init(&relay.ba, "ba", &relay.ab);
	relay.a = (struct side){argv[1], -1, &relay.ab};
	relay.b = (struct side){argv[2], -1, &relay.ba};
	relay.set = (struct relay_settings){.ab = relay.ab.set, .ba = relay.ba.set, .seed = 1, .seed_given = true};
	for (int i = 3; i < argc; i++) {
		r = words_apply(&relay.set, argv[i], &why);
		if (r < 0) {
			fprintf(stderr, "relay: %s\n", why.text);
			return 2;
		}
	}
	relay_apply(&relay);
	r = relay_serve(&relay);
	relay_close(&relay);
	return r;
}
