/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole diagnosis on snapshots made by hand: a host with one connection of one application (a second one and
 * tables of the kernel where a case wants them), four windows of five samples, and the built-in rules.
 */
#pragma once

#include "unit.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/infer/diagnosis.h"
#include "probe/arrival.h"
#include "probe/asking.h"
#include "probe/attempt.h"
#include "probe/keepalive.h"
#include "probe/unanswered_tally.h"
#include "probe/wire.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "snapshot/netlink/tunnel.h"
#include "snapshot/proc/cgroup.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/process.h"
#include "snapshot/proc/softnet.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

#define SAMPLE_NS 200000000

/* What one sample shows; a case changes it before each sample. */
struct scene {
	struct socket_record socket;
	struct tcp_record tcp;
	struct process_record process;
	struct thread_record thread;
	struct link_record link;
	struct qdisc_record qdisc;
	struct destination_record destination;
	struct cgroup_record cgroup;
	/* Only there when a case says so. */
	bool has_other, has_rule, has_conntrack, has_lookup, has_refusal, has_arrival, has_protocol, has_tunnel,
		has_keepalive, has_asking, has_unanswered, has_softnet, has_upper, has_cpu, has_attempt, has_address;
	struct link_record upper; /* an interface on top of the first, or beside it */
	struct address_record address;
	struct socket_record other_socket; /* a second connection, to the same host */
	struct tcp_record other;
	struct firewall_rule_record rule;
	struct conntrack_record conntrack;
	struct lookup_record lookup;
	struct refusal_record refusal;
	struct arrival_record arrival;
	struct keepalive_record keepalive;
	struct asking_record asking;
	struct unanswered_record unanswered;
	struct protocol_record protocol;
	struct tunnel_record tunnel;
	struct softnet_record softnet;
	struct cpu_record cpu;
	struct attempt_record attempt;
	/* Protocol counters, by name; the last has none. */
	struct counter_record counters[4];
};

typedef void scene_fn(struct scene *scene, unsigned sample);

static void blank(const struct record_type *type, void *data)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		value_set_unknown(&type->fields[i], data);
}

/* A healthy bulk sender: 1 MB per second, windows open, nothing lost. */
static void scene_begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	blank(&socket_type, &s->socket);
	blank(&tcp_type, &s->tcp);
	blank(&process_type, &s->process);
	blank(&thread_type, &s->thread);
	blank(&link_type, &s->link);
	blank(&qdisc_type, &s->qdisc);
	blank(&destination_type, &s->destination);
	blank(&cgroup_type, &s->cgroup);
	blank(&firewall_rule_type, &s->rule);
	blank(&conntrack_type, &s->conntrack);
	blank(&tunnel_type, &s->tunnel);
	blank(&address_type, &s->address);
	s->socket.proto = 6;
	s->socket.state = SOCKET_ESTABLISHED;
	s->socket.timer = SOCKET_TIMER_OFF;
	REQUIRE(addr_parse("10.77.1.2", &s->socket.laddr) == 0 && addr_parse("10.77.2.2", &s->socket.raddr) == 0);
	s->socket.lport = 40000;
	s->socket.rport = 5001;
	s->socket.cookie = 7;
	s->socket.inode = 99;
	s->socket.recvq_bytes = s->socket.sendq_bytes = 0;
	s->socket.rmem_bytes = s->socket.wmem_bytes = s->socket.wmem_queued_bytes = 0;
	s->socket.rcvbuf = s->socket.sndbuf = 4000000;
	s->tcp.snd_mss = 1448;
	s->tcp.snd_wnd = 3000000;
	s->tcp.cwnd = 100;
	s->tcp.srtt_ns = 21000000;
	s->tcp.min_rtt_ns = 20000000;
	s->tcp.unacked = s->tcp.notsent_bytes = s->tcp.backoff = 0;
	s->tcp.dsack_dups = s->tcp.reord_seen = s->tcp.rcv_ooopack = s->tcp.total_rto = 0;
	s->tcp.segs_in = s->tcp.segs_out = s->tcp.data_segs_in = 0;
	s->tcp.bytes_sent = s->tcp.bytes_acked = s->tcp.bytes_received = s->tcp.bytes_retrans = 0;
	s->tcp.busy_ns = s->tcp.rwnd_limited_ns = s->tcp.sndbuf_limited_ns = 0;
	s->tcp.last_sent_ns = s->tcp.last_received_ns = s->tcp.last_ack_ns = 0;
	s->process.pid = s->thread.pid = s->thread.tid = 4711;
	memcpy(s->process.comm, "app", 4);
	s->process.process_state = s->thread.thread_state = 'S';
	s->thread.run_ns = s->thread.wait_ns = 0;
	s->link.ifindex = s->qdisc.ifindex = s->destination.ifindex = 2;
	memcpy(s->link.dev, "eth0", 5);
	memcpy(s->qdisc.parent, "root", 5);
	memcpy(s->qdisc.kind, "tbf", 4);
	s->link.flags = 1;
	s->link.carrier = 1;
	s->link.carrier_changes = 2;
	s->link.rx_packets = s->link.tx_packets = s->link.rx_dropped = s->link.tx_dropped = 0;
	s->qdisc.bytes = 0;
	s->qdisc.drops = s->qdisc.overlimits = s->qdisc.backlog_bytes = 0;
	s->destination.raddr = s->socket.raddr;
	s->destination.error = 0;
	s->tcp.total_retrans = s->tcp.sacked = s->tcp.ca_state = 0;
	s->tcp.rto_ns = 220000000;
	s->tcp.data_segs_out = 0;
	memcpy(s->tcp.cc, "cubic", 6);
	s->rule.verdict = VERDICT_DROP;
	s->rule.packets = 0;
	s->tunnel.ifindex = 2;
	memcpy(s->tunnel.kind, "wireguard", 10);
	s->lookup.raddr = s->refusal.raddr = s->socket.raddr;
	s->refusal.rport = 5001;
	s->attempt.raddr = s->socket.raddr;
	s->attempt.rport = 5001;
	s->attempt.pid = 4711;
	memcpy(s->attempt.comm, "app", 4);
	s->keepalive.cookie = s->socket.cookie;
	s->arrival.raddr = s->socket.raddr;
	s->arrival.lport = s->socket.lport;
	s->arrival.rport = s->socket.rport;
	memcpy(s->protocol.protocol, "TCP", 4);
	s->other_socket = s->socket;
	s->other_socket.lport = 40001;
	s->other_socket.cookie = 8;
	s->other_socket.inode = 0;
	s->other = s->tcp;
}

/* Of a system call by its name; arm64 has only the later one of a pair. */
static _unused_ uint16_t call_number(const char *name)
{
	static const char *const pairs[][2] = {{"poll", "ppoll"}, {"epoll_wait", "epoll_pwait"}};
	uint64_t number;
	int r = enum_value_find(&syscall_names, name, &number);

	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(pairs); i++)
		if (strcmp(name, pairs[i][0]) == 0)
			r = enum_value_find(&syscall_names, pairs[i][1], &number);
	REQUIRE(r == 0);
	return (uint16_t)number;
}

/* 200 ms of sending that goes well. */
static _unused_ void send_well(struct scene *s)
{
	s->tcp.bytes_sent += 200000;
	s->tcp.bytes_acked += 200000;
	s->tcp.busy_ns += SAMPLE_NS;
	s->tcp.segs_in += 70;
	s->tcp.segs_out += 140;
	s->tcp.unacked = 30;
	s->tcp.notsent_bytes = 50000;
	s->socket.sendq_bytes = 30 * 1448 + 50000;
	s->link.rx_packets += 70;
	s->link.tx_packets += 140;
}

static void put(struct snapshot *snapshot, const struct record_type *type, const void *record)
{
	void *slot = snapshot_table_add(snapshot_table(snapshot, type));

	REQUIRE(slot != NULL);
	memcpy(slot, record, type->size);
}

/* What a case switched on. */
static void fill_more(struct snapshot *snapshot, struct scene *s)
{
	if (s->has_other) {
		s->other_socket.tcp = 1;
		put(snapshot, &socket_type, &s->other_socket);
		put(snapshot, &tcp_type, &s->other);
		if (!addr_equal(&s->other_socket.raddr, &s->socket.raddr)) {
			struct destination_record destination = s->destination;

			destination.raddr = s->other_socket.raddr;
			put(snapshot, &destination_type, &destination);
		}
	}
	if (s->has_rule)
		put(snapshot, &firewall_rule_type, &s->rule);
	if (s->has_conntrack)
		put(snapshot, &conntrack_type, &s->conntrack);
	if (s->has_lookup)
		put(snapshot, &lookup_type, &s->lookup);
	if (s->has_keepalive)
		put(snapshot, &keepalive_type, &s->keepalive);
	if (s->has_asking)
		put(snapshot, &asking_type, &s->asking);
	if (s->has_unanswered)
		put(snapshot, &unanswered_type, &s->unanswered);
	if (s->has_arrival)
		put(snapshot, &arrival_type, &s->arrival);
	if (s->has_refusal)
		put(snapshot, &refusal_type, &s->refusal);
	if (s->has_protocol)
		put(snapshot, &protocol_type, &s->protocol);
	if (s->has_upper)
		put(snapshot, &link_type, &s->upper);
	if (s->has_address) {
		struct address_record own = s->address;

		own.ifindex = s->link.ifindex;
		own.laddr = s->socket.laddr;
		put(snapshot, &address_type, &own);
		put(snapshot, &address_type, &s->address);
	}
	if (s->has_softnet)
		put(snapshot, &softnet_type, &s->softnet);
	if (s->has_cpu)
		put(snapshot, &cpu_type, &s->cpu);
	if (s->has_tunnel)
		put(snapshot, &tunnel_type, &s->tunnel);
	if (s->has_attempt)
		put(snapshot, &attempt_type, &s->attempt);
	for (unsigned i = 0; i < ARRAY_SIZE(s->counters) && s->counters[i].counter; i++)
		put(snapshot, &counter_type, &s->counters[i]);
}

/* Time since boot when the run begins. */
static uint64_t scene_boot_ns;

static void fill(struct snapshot *snapshot, struct scene *s, unsigned sample)
{
	struct owner_record owner = {.inode = 99, .pid = 4711, .fd = 5};
	struct cgroup_member_record member = {.pid = 4711, .group = 0};

	snapshot_clear(snapshot);
	snapshot->begin_boot_ns = scene_boot_ns + (uint64_t)(sample + 1) * SAMPLE_NS;
	snapshot->begin_time_ns = UINT64_C(1763172787000000000) + snapshot->begin_boot_ns;
	s->socket.tcp = 0;
	put(snapshot, &socket_type, &s->socket);
	put(snapshot, &tcp_type, &s->tcp);
	put(snapshot, &owner_type, &owner);
	put(snapshot, &process_type, &s->process);
	put(snapshot, &thread_type, &s->thread);
	put(snapshot, &link_type, &s->link);
	put(snapshot, &qdisc_type, &s->qdisc);
	put(snapshot, &destination_type, &s->destination);
	if (s->cgroup.cgroup) {
		put(snapshot, &cgroup_type, &s->cgroup);
		put(snapshot, &cgroup_member_type, &member);
	}
	fill_more(snapshot, s);
}

/* What is usual; NULL: unknown. */
static _unused_ const struct usual *scene_usual;

/* How much what was found first mattered in the last scene that was diagnosed. */
static _unused_ int diagnosed_severity;
/* Its notes. */
static _unused_ char diagnosed_notes[256];
/* Its commands, one per line, and its advice. */
static _unused_ char diagnosed_next[2048], diagnosed_advice[4096];

static void note_first(const struct finding_record *finding)
{
	const struct text_record *next = finding->next.items;

	diagnosed_next[0] = '\0';
	for (uint32_t i = 0; i < finding->next.count; i++)
		snprintf(diagnosed_next + strlen(diagnosed_next), sizeof(diagnosed_next) - strlen(diagnosed_next),
			 "%s\n", next[i].text);
	snprintf(diagnosed_advice, sizeof(diagnosed_advice), "%s", finding->advice);
}

/* The causes that four windows end with, strongest first, joined by blanks. */
static _unused_ const char *diagnose(scene_fn *step)
{
	static char said[512];
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct diagnosis *diagnosis;
	const struct diagnosis_record *record;
	const struct finding_record *findings;
	struct why why = {};
	struct scene scene;

	if (knowledge_load(&knowledge, &why) < 0)
		printf("# %s\n", why.text);
	REQUIRE(knowledge != NULL);
	diagnosis = diagnosis_new(knowledge);
	window->usual = scene_usual;
	scene_begin(&scene);
	for (unsigned sample = 0; sample < 21; sample++) {
		step(&scene, sample);
		fill(snapshot, &scene, sample);
		window_add(window, snapshot);
		if (sample > 0 && sample % 5 == 0)
			diagnosis_add_window(diagnosis, window_finish(window));
	}
	record = diagnosis_get(diagnosis);
	findings = record->findings.items;
	said[0] = '\0';
	for (uint32_t i = 0; i < record->findings.count; i++)
		snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s", i ? " " : "", findings[i].cause);
	diagnosed_notes[0] = '\0';
	for (uint32_t i = 0; i < record->notes.count; i++) {
		const struct finding_record *note = &((const struct finding_record *)record->notes.items)[i];

		CHECK_EQ_INT(note->severity, SEVERITY_INFO);
		snprintf(diagnosed_notes + strlen(diagnosed_notes), sizeof(diagnosed_notes) - strlen(diagnosed_notes),
			 "%s%s", i ? " " : "", note->cause);
	}
	diagnosed_severity = record->findings.count > 0 ? findings[0].severity : -1;
	if (record->findings.count > 0)
		note_first(&findings[0]);
	CHECK_EQ_INT(record->healthy, record->findings.count == 0);
	diagnosis_free(diagnosis);
	return said;
}
