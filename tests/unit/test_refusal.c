/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remote services that refuse or reset, by their figures. */
#include "measured.h"

#include "diagnose/measure/refusal.h"
#include "probe/reset_tally.h"
#include "probe/wire.h"

static const struct addr peer = {.bytes = {[10] = 0xff, [11] = 0xff, 10, 77, 2, 2}, .family = ADDR_V4};

static void chats(struct scene *s, unsigned sample _unused_)
{
	send_well(s);
}

/* Two resets per sample: one refuses a connection, one ends another. */
static void resets(struct snapshot *snapshot, unsigned n)
{
	put(snapshot, &refusal_type,
	    &(struct refusal_record){.raddr = peer, .rport = 80, .refused = n, .resets = n, .here = n / 10});
}

/* What followed on what is known of three in four. */
static void known_resets(struct snapshot *snapshot, unsigned n)
{
	resets(snapshot, n);
	put(snapshot, &reset_type,
	    &(struct reset_record){.raddr = peer, .rport = 80, .after = RESET_AFTER_ANSWER, .resets = n / 2});
	put(snapshot, &reset_type,
	    &(struct reset_record){.raddr = peer, .rport = 80, .after = RESET_AFTER_SENDING, .resets = n / 4});
	/* Another service of the same host. */
	put(snapshot, &reset_type,
	    &(struct reset_record){.raddr = peer, .rport = 81, .after = RESET_AFTER_SENDING, .resets = n});
}

TEST(every_measure_of_a_service_that_resets)
{
	static const struct expected expected[] = {
		{"raddr", "\"10.77.2.2\""},
		{"rport", "80"},
		/* ten samples of a window; fifty less the twenty of the first two */
		{"peer_refused", "10"},
		{"peer_resets", "10"},
		{"recent_resets", "30"},
		{"recent_host_resets", "null"},
		{"refused_here", "1"},
		{"recent_rejected", "0"},
		/* 49 / 2 and 49 / 4, since the first */
		{"resets_followed", "36"},
		{"resets_answered_share", "0.6666667"},
		{},
	};
	_cleanup_measured_ struct graph *graph = measure(chats, known_resets, 5);

	check_all(&peer_measures_type, module_of(graph, "peer:10.77.2.2:80")->measures.peer, expected);
}

TEST(resets_without_a_moment)
{
	_cleanup_measured_ struct graph *graph = measure(chats, resets, 2);

	check_some(&peer_measures_type, module_of(graph, "peer:10.77.2.2:80")->measures.peer,
		   (struct expected[]){{"resets_followed", "0"}, {"resets_answered_share", "null"}, {}});
}
