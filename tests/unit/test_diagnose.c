/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole diagnosis on snapshots made by hand: a host with one connection of one application, three windows of five
 * samples, and the built-in rules. Each case has a near miss: the same picture without the deciding detail.
 */
#include "scene.h"

static void healthy(struct scene *s, unsigned sample)
{
	(void)sample;
	send_well(s);
}

TEST(a_sender_at_ease_is_nobodys_fault)
{
	CHECK_EQ_TEXT(diagnose(healthy), "");
}

static void idle(struct scene *s, unsigned sample)
{
	(void)s;
	(void)sample;
}

TEST(an_idle_connection_is_nobodys_fault)
{
	CHECK_EQ_TEXT(diagnose(idle), "");
}

/* The application does not read: the buffer stays full; and one that is empty once in a while. */
static void reader_stuck(struct scene *s, unsigned sample)
{
	(void)sample;
	s->socket.recvq_bytes = 2500000;
	s->socket.rmem_bytes = 3500000;
}

static void reader_breathes(struct scene *s, unsigned sample)
{
	reader_stuck(s, sample);
	if (sample % 3 == 0)
		s->socket.recvq_bytes = s->socket.rmem_bytes = 0;
}

/* From the first sample on, as in a run that begins after the fault. */
static void reader_slow(struct scene *s, unsigned sample)
{
	reader_stuck(s, sample);
	s->tcp.bytes_received += 30000;
	s->tcp.segs_in += 20;
	s->tcp.data_segs_in += 20;
}

static void reader_stopped(struct scene *s, unsigned sample)
{
	reader_stuck(s, sample);
	s->process.process_state = s->thread.thread_state = 'T';
}

TEST(a_full_receive_queue_is_the_readers)
{
	CHECK_EQ_TEXT(diagnose(reader_stuck), "app-not-reading");
	CHECK_EQ_TEXT(diagnose(reader_stopped), "app-not-reading");
	CHECK_EQ_TEXT(diagnose(reader_breathes), "");
	CHECK_EQ_TEXT(diagnose(reader_slow), "app-not-reading");
	CHECK_EQ_INT(diagnosed_severity, SEVERITY_HIGH);
}

static void reader_starved(struct scene *s, unsigned sample)
{
	reader_stuck(s, sample);
	s->thread.thread_state = 'R';
	s->thread.wait_ns += SAMPLE_NS / 10 * 9;
	s->thread.run_ns += SAMPLE_NS / 10;
}

static void reader_throttled(struct scene *s, unsigned sample)
{
	reader_starved(s, sample);
	s->cgroup.cgroup = "/web";
	s->cgroup.quota = 0.1;
	s->cgroup.periods = sample * 2;
	s->cgroup.throttled_periods = sample * 2;
}

TEST(a_starved_reader_is_not_to_blame)
{
	CHECK_EQ_TEXT(diagnose(reader_starved), "cpu-starved");
	CHECK_EQ_TEXT(diagnose(reader_throttled), "cgroup-throttled");
}

/* The peer's window: closed, small, or open. */
static void window_closed(struct scene *s, unsigned sample)
{
	send_well(s);
	s->tcp.rwnd_limited_ns += SAMPLE_NS / 10 * 9;
	s->tcp.snd_wnd = sample % 4 == 0 ? 0 : 1000;
	s->tcp.unacked = 0;
	s->tcp.srtt_ns = 200000000;
}

static void window_small(struct scene *s, unsigned sample)
{
	window_closed(s, sample);
	s->tcp.snd_wnd = 17376;
	s->tcp.unacked = 12;
	s->tcp.srtt_ns = 21000000;
}

static void window_roomy(struct scene *s, unsigned sample)
{
	window_small(s, sample);
	s->tcp.snd_wnd = 3000000;
	s->tcp.rwnd_limited_ns = 0;
}

/* The other end is a connection of this host. */
static void window_closed_here(struct scene *s, unsigned sample)
{
	window_closed(s, sample);
	s->has_other = true;
	s->other_socket.laddr = s->socket.raddr;
	s->other_socket.raddr = s->socket.laddr;
	s->other_socket.lport = s->socket.rport;
	s->other_socket.rport = s->socket.lport;
}

TEST(the_peers_window)
{
	CHECK_EQ_TEXT(diagnose(window_closed_here), "");
	CHECK_EQ_TEXT(diagnose(window_closed), "peer-not-reading");
	CHECK_EQ_TEXT(diagnose(window_small), "peer-window-small");
	CHECK_EQ_TEXT(diagnose(window_roomy), "");
}

/* Loss, and the same amount sent again for nothing. */
static void lossy(struct scene *s, unsigned sample)
{
	(void)sample;
	send_well(s);
	s->tcp.bytes_retrans += 8688; /* 6 segments of 138 */
}

static void barely_lossy(struct scene *s, unsigned sample)
{
	send_well(s);
	s->tcp.bytes_retrans += sample % 10 == 0 ? 1448 : 0;
}

static void overtaking(struct scene *s, unsigned sample)
{
	lossy(s, sample);
	s->tcp.dsack_dups += 6;
	s->tcp.reord_seen += 2;
	/* Slower than before, or it would not matter. */
	if (sample <= 5)
		s->tcp.bytes_acked += 200000;
}

static void overtaking_without_harm(struct scene *s, unsigned sample)
{
	lossy(s, sample);
	s->tcp.dsack_dups += 6;
	s->tcp.reord_seen += 2;
}

static void dropped_here(struct scene *s, unsigned sample)
{
	lossy(s, sample);
	s->qdisc.drops += 6;
}

/* Nothing was lost in the first window, and it was as fast, or twice as fast. */
static void lossy_without_harm(struct scene *s, unsigned sample)
{
	if (sample <= 5)
		send_well(s);
	else
		lossy(s, sample);
}

static void lossy_and_slower(struct scene *s, unsigned sample)
{
	uint64_t before = s->tcp.bytes_acked;

	lossy_without_harm(s, sample);
	if (sample <= 5)
		s->tcp.bytes_acked += s->tcp.bytes_acked - before;
}

/* Lost in the first two windows and in the last, or in the first and in the last. */
static void lossy_but_for_one_window(struct scene *s, unsigned sample)
{
	if (sample > 10 && sample <= 15)
		send_well(s);
	else
		lossy(s, sample);
}

static void lossy_now_and_then(struct scene *s, unsigned sample)
{
	if (sample > 5 && sample <= 15)
		send_well(s);
	else
		lossy(s, sample);
}

TEST(what_was_confirmed_may_miss_a_window)
{
	CHECK_EQ_TEXT(diagnose(lossy_but_for_one_window), "path-loss");
	CHECK_EQ_TEXT(diagnose(lossy_now_and_then), "");
}

TEST(what_slows_nobody_down_matters_little)
{
	CHECK_EQ_TEXT(diagnose(lossy_without_harm), "path-loss");
	CHECK_EQ_INT(diagnosed_severity, SEVERITY_LOW);
	CHECK_EQ_TEXT(diagnose(lossy_and_slower), "path-loss");
	CHECK_EQ_INT(diagnosed_severity, SEVERITY_HIGH);
	/* Without a better time to compare with. */
	CHECK_EQ_TEXT(diagnose(lossy), "path-loss");
	CHECK_EQ_INT(diagnosed_severity, SEVERITY_HIGH);
}

/* BBR always lost some segments, and sends as fast as ever; or it did so in the first window alone. */
static void bbr_makes_up(struct scene *s, unsigned sample)
{
	lossy(s, sample);
	snprintf(s->tcp.cc, sizeof(s->tcp.cc), "bbr");
}

static void bbr_makes_up_once(struct scene *s, unsigned sample)
{
	bbr_makes_up(s, sample);
	if (sample > 10)
		s->tcp.bytes_retrans -= 8688;
}

TEST(what_bbr_makes_up_for_is_a_note)
{
	CHECK_EQ_TEXT(diagnose(bbr_makes_up), "");
	CHECK_EQ_TEXT(diagnosed_notes, "path-loss");
	CHECK_EQ_TEXT(diagnose(bbr_makes_up_once), "");
	CHECK_EQ_TEXT(diagnosed_notes, "");
	CHECK_EQ_TEXT(diagnose(lossy), "path-loss");
	CHECK_EQ_TEXT(diagnosed_notes, "");
}

TEST(loss_on_the_path_and_elsewhere)
{
	CHECK_EQ_TEXT(diagnose(lossy), "path-loss");
	CHECK_EQ_TEXT(diagnose(barely_lossy), "");
	CHECK_EQ_TEXT(diagnose(overtaking), "path-reordering");
	CHECK_EQ_TEXT(diagnose(overtaking_without_harm), "");
	CHECK_EQ_TEXT(diagnose(dropped_here), "qdisc-drops");
}

/* Nothing is acknowledged any more. */
static void stuck(struct scene *s, unsigned sample)
{
	if (sample < 6) {
		send_well(s);
		return;
	}
	s->tcp.busy_ns += SAMPLE_NS;
	s->tcp.backoff = (uint8_t)(sample / 5);
	s->tcp.last_ack_ns += SAMPLE_NS;
	s->socket.timer = SOCKET_TIMER_RETRANSMIT;
}

static void link_off(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	if (sample >= 6)
		s->link.flags = 0;
}

static void no_signal(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	if (sample >= 6)
		s->link.carrier = 0;
}

static void no_route(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	if (sample >= 6)
		s->destination.error = ENETUNREACH;
}

static void too_large_for_the_other_end(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	if (sample >= 6) {
		s->tcp.backoff = 0;
		s->link.tx_dropped += 1;
	}
}

/* A second interface has an address in the network of the peer, and lost its route when it went down. */
static void beside(struct scene *s, const char *address, uint32_t flags)
{
	s->has_upper = s->has_address = true;
	s->upper = s->link;
	s->upper.flags = flags;
	s->upper.ifindex = s->address.ifindex = 3;
	memcpy(s->upper.dev, "eth1", 5);
	REQUIRE(addr_parse(address, &s->address.laddr) == 0);
	s->address.prefix = 24;
}

static void outlet_down(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	beside(s, "10.77.2.9", 0);
}

static void outlet_up(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	beside(s, "10.77.2.9", 1);
}

static void outlet_of_others_down(struct scene *s, unsigned sample)
{
	stuck(s, sample);
	beside(s, "10.77.3.9", 0);
}

/* The packets get there in another way. */
static void outlet_not_needed(struct scene *s, unsigned sample)
{
	(void)sample;
	send_well(s);
	beside(s, "10.77.2.9", 0);
}

TEST(a_standstill_behind_an_interface_that_lost_its_routes)
{
	CHECK_EQ_TEXT(diagnose(outlet_down), "link-down");
	CHECK_HAS_TEXT(diagnosed_next, "eth1");
	CHECK_EQ_TEXT(diagnose(outlet_up), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(outlet_of_others_down), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(outlet_not_needed), "");
}

TEST(a_standstill_and_its_reasons)
{
	CHECK_EQ_TEXT(diagnose(too_large_for_the_other_end), "mtu-mismatch");
	CHECK_EQ_TEXT(diagnose(stuck), "path-blackhole");
	CHECK_EQ_TEXT(diagnose(link_off), "link-down");
	CHECK_EQ_TEXT(diagnose(no_signal), "no-carrier");
	CHECK_EQ_TEXT(diagnose(no_route), "no-route");
}

/* Less than a segment waits for an acknowledgement that comes late; and a request that is acknowledged at once. */
static void nagle(struct scene *s, unsigned sample)
{
	(void)sample;
	s->tcp.bytes_sent += 1000;
	s->tcp.bytes_acked += 1000;
	s->tcp.busy_ns += SAMPLE_NS;
	s->tcp.unacked = 1;
	s->tcp.notsent_bytes = 100;
	s->socket.sendq_bytes = 200;
	s->tcp.srtt_ns = 60000000;
}

static void small_but_prompt(struct scene *s, unsigned sample)
{
	nagle(s, sample);
	s->tcp.notsent_bytes = 0;
	s->tcp.srtt_ns = 20000000;
}

/* Names that the kernel allows for an interface, and a shell would not take as a name. */
static const char *hostile_dev;

static void hostile_link_off(struct scene *s, unsigned sample)
{
	link_off(s, sample);
	snprintf(s->link.dev, sizeof(s->link.dev), "%s", hostile_dev);
}

TEST(a_command_to_paste_holds_no_second_one)
{
	static const char *const names[] = {"a`id`", "a$x",  "a;id", "a&id", "a|id", "a<b",
					    "a>b",   "a\\b", "a\nb", "a\"b", "a'b"};

	hostile_dev = "eth0";
	CHECK_EQ_TEXT(diagnose(hostile_link_off), "link-down");
	CHECK_HAS_TEXT(diagnosed_next, "nest links -i eth0\n");
	CHECK_HAS_TEXT(diagnosed_advice, "`ip link set dev eth0 up`");
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		unit_note("%s", names[i]);
		hostile_dev = names[i];
		CHECK_EQ_TEXT(diagnose(hostile_link_off), "link-down");
		CHECK(!strstr(diagnosed_next, "nest links -i"));
		/* What does not need the name is still offered. */
		CHECK_HAS_TEXT(diagnosed_next, "nest sockets");
		CHECK(!strstr(diagnosed_advice, names[i]));
		CHECK_HAS_TEXT(diagnosed_advice, "`ip link set dev DEV up`");
	}
}

TEST(small_writes_held_back)
{
	CHECK_EQ_TEXT(diagnose(nagle), "nagle-delayed-ack");
	CHECK_EQ_TEXT(diagnose(small_but_prompt), "");
}

/* A round trip that became long: by traffic of our own, or without. */
static void far_away(struct scene *s, unsigned sample)
{
	small_but_prompt(s, sample);
	s->tcp.srtt_ns = 300000000;
}

static void moved_away(struct scene *s, unsigned sample)
{
	small_but_prompt(s, sample);
	s->tcp.segs_in += 10;
	s->tcp.srtt_ns = sample < 6 ? 20000000 : 120000000;
}

static void bloated(struct scene *s, unsigned sample)
{
	send_well(s);
	(void)sample;
	s->tcp.srtt_ns = 400000000;
}

static void queue_at_home(struct scene *s, unsigned sample)
{
	bloated(s, sample);
	s->qdisc.bytes += 200000;
	s->qdisc.backlog_bytes = 300000;
	s->socket.wmem_bytes = 40000;
}

/* The route leads to a bridge; the queue is that of its port, or of one port of several. */
static void on_a_bridge(struct scene *s)
{
	s->has_upper = true;
	s->upper = s->link;
	s->upper.ifindex = s->link.master = s->destination.ifindex = 3;
	s->upper.master = UINT32_MAX;
	memcpy(s->upper.dev, "br0", 4);
	memcpy(s->upper.kind, "bridge", 7);
}

static void queue_below(struct scene *s, unsigned sample)
{
	queue_at_home(s, sample);
	on_a_bridge(s);
}

static void queue_beside(struct scene *s, unsigned sample)
{
	queue_below(s, sample);
	s->link.master = 4;
}

static void rides_on_it(struct scene *s, unsigned sample)
{
	queue_below(s, sample);
	s->link.master = UINT32_MAX;
	s->upper.lower = s->link.ifindex;
	memcpy(s->upper.kind, "vlan", 5);
}

/* The first round trip was long, and few acknowledgements come to make the kernel forget it. */
static void long_ago(struct scene *s, unsigned sample)
{
	bloated(s, sample);
	s->tcp.segs_in -= 69;
	s->tcp.srtt_ns = 400000000;
	for (unsigned i = 0; i <= sample; i++)
		s->tcp.srtt_ns -= (s->tcp.srtt_ns - 20000000) / 8;
}

/* The acknowledgement rides on the next question, which comes when the program over there has it. */
static void asked_now_and_then(struct scene *s, unsigned sample)
{
	small_but_prompt(s, sample);
	s->tcp.srtt_ns = 60000000;
}

/* Another connection, to another host, fills a queue that both pass; and nearly does. */
static void behind_another(struct scene *s, unsigned sample)
{
	far_away(s, sample);
	s->has_other = true;
	REQUIRE(addr_parse("10.77.3.2", &s->other_socket.raddr) == 0);
	s->other.bytes_sent += 30000;
	s->other.bytes_acked += 30000;
	s->other.busy_ns += SAMPLE_NS;
	s->other.segs_in += 10;
	s->other.segs_out += 20;
	s->other.unacked = 10;
	s->other.notsent_bytes = 100000;
	s->other.srtt_ns = 60000000;
}

static void beside_another(struct scene *s, unsigned sample)
{
	behind_another(s, sample);
	s->other.srtt_ns = 24000000;
}

TEST(long_round_trips)
{
	CHECK_EQ_TEXT(diagnose(behind_another), "path-congestion path-congestion");
	CHECK_EQ_TEXT(diagnose(beside_another), "path-latency");
	CHECK_EQ_TEXT(diagnose(asked_now_and_then), "");
	CHECK_EQ_TEXT(diagnose(long_ago), "");
	CHECK_EQ_TEXT(diagnose(far_away), "path-latency");
	CHECK_EQ_TEXT(diagnose(moved_away), "path-latency");
	CHECK_EQ_TEXT(diagnose(bloated), "path-congestion");
	CHECK_EQ_TEXT(diagnose(queue_at_home), "qdisc-backlog");
	CHECK_EQ_TEXT(diagnose(queue_below), "qdisc-backlog");
	CHECK_EQ_TEXT(diagnose(rides_on_it), "qdisc-backlog");
	CHECK(strstr(diagnose(queue_beside), "qdisc") == NULL);
}
