/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts that do not accept connections: whether they ever did, and how often they are tried. */
#include "measured.h"

#include "diagnose/measure/acquaintance.h"
#include "probe/remembered.h"
#include "probe/wire.h"

static const struct addr peer = {.bytes = {[10] = 0xff, [11] = 0xff, 10, 77, 2, 2}, .family = ADDR_V4};

static void chats(struct scene *s, unsigned sample _unused_)
{
	send_well(s);
}

static const struct addr stranger = {.bytes = {[10] = 0xff, [11] = 0xff, 10, 77, 2, 9}, .family = ADDR_V4};

static void put_refusal(struct snapshot *snapshot, const struct addr *raddr, unsigned sample)
{
	put(snapshot, &refusal_type, &(struct refusal_record){.raddr = *raddr, .rport = 80, .refused = sample});
	put(snapshot, &remembered_type, &(struct remembered_record){.raddr = *raddr});
}

static void put_connect(struct snapshot *snapshot, uint64_t cookie)
{
	struct socket_record *s = snapshot_table_add(snapshot_table(snapshot, &socket_type));

	s->proto = 6;
	s->state = SOCKET_SYN_SENT;
	s->raddr = stranger;
	s->rport = 80;
	s->cookie = cookie;
}

/* The scene has a connection with the one and none with the other, which is tried twice in a window. */
static void refuse(struct snapshot *snapshot, unsigned sample)
{
	put_refusal(snapshot, &peer, sample);
	put_refusal(snapshot, &stranger, sample);
	put_connect(snapshot, 1000 + sample / (SAMPLES / 2));
}

static void remember(struct snapshot *snapshot, unsigned sample)
{
	put(snapshot, &refusal_type, &(struct refusal_record){.raddr = stranger, .rport = 80, .refused = sample});
	put(snapshot, &remembered_type, &(struct remembered_record){.raddr = stranger, .remembered = true});
}

static void refuse_unasked(struct snapshot *snapshot, unsigned sample)
{
	put(snapshot, &refusal_type, &(struct refusal_record){.raddr = stranger, .rport = 80, .refused = sample});
}

TEST(every_measure_of_a_host_that_refuses)
{
	_cleanup_measured_ struct graph *graph = measure(chats, refuse, 5);

	check_all(&acquaintance_measures_type, module_of(graph, "peer:10.77.2.9:80")->measures.acquaintance,
		  (struct expected[]){{"host_known", "false"}, {"host_tries", "6"}, {"conns_moving", "1"}, {}});
	check_some(&acquaintance_measures_type, module_of(graph, "peer:10.77.2.2:80")->measures.acquaintance,
		   (struct expected[]){{"host_known", "true"}, {"host_tries", "0"}, {}});
}

TEST(the_kernel_remembers_or_was_not_asked)
{
	{
		_cleanup_measured_ struct graph *graph = measure(chats, remember, 2);

		check_some(&acquaintance_measures_type, module_of(graph, "peer:10.77.2.9:80")->measures.acquaintance,
			   (struct expected[]){{"host_known", "true"}, {}});
	}
	_cleanup_measured_ struct graph *graph = measure(chats, refuse_unasked, 2);

	check_some(&acquaintance_measures_type, module_of(graph, "peer:10.77.2.9:80")->measures.acquaintance,
		   (struct expected[]){{"host_known", "null"}, {}});
}
