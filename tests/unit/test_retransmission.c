/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Totals of a connection over the last windows, by their figures. */
#include "measured.h"

#include "diagnose/measure/retransmission.h"

/* 1 kB per sample, and nothing for the last two of five windows. */
static void pauses(struct scene *s, unsigned sample)
{
	send_well(s);
	s->tcp.bytes_acked = 500000 + UINT64_C(1000) * min_of(sample, 3u * SAMPLES - 1);
}

TEST(acknowledged_in_the_last_windows)
{
	_cleanup_measured_ struct graph *graph = measure(pauses, NULL, 5);
	const struct module *conn = NULL;

	vec_each(&graph->modules, module)
		if ((*module)->kind == MODULE_CONN)
			conn = *module;
	REQUIRE(conn);
	check_some(&retransmission_measures_type, conn->measures.retransmission,
		   (struct expected[]){{"recent_acked_bytes", "10000"}, {}});
}
