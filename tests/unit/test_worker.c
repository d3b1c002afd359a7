/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in other threads: each piece runs once, and no more run at the same time than there are CPUs. */
#include <time.h>
#include <unistd.h>

#include "base/worker.h"
#include "unit.h"

#define PIECES 40

static unsigned at_work, most;

struct piece {
	struct worker worker;
	unsigned times;
	pthread_t by;
};

static void work(void *context)
{
	struct piece *piece = context;
	unsigned now = __atomic_add_fetch(&at_work, 1, __ATOMIC_SEQ_CST), seen = most;

	while (now > seen && !__atomic_compare_exchange_n(&most, &seen, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	(void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	piece->times++;
	piece->by = pthread_self();
	__atomic_sub_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
}

TEST(every_piece_is_done_once)
{
	struct piece pieces[PIECES] = {};
	unsigned wrong = 0, own = 0, room = max_of(worker_cpus(), 2u);

	for (unsigned i = 0; i < PIECES; i++)
		worker_start(&pieces[i].worker, work, &pieces[i], 1000000);
	CHECK(worker_delay_ns() > 0);
	for (unsigned i = PIECES; i-- > 0;)
		worker_join(&pieces[i].worker);
	for (unsigned i = 0; i < PIECES; i++) {
		wrong += pieces[i].times != 1;
		own += pthread_equal(pieces[i].by, pthread_self()) != 0;
	}
	CHECK_EQ_UINT(wrong, 0);
	/* The last ones were still waiting when joined. */
	CHECK(own > 0 && own < PIECES);
	CHECK(most <= room);
	CHECK_EQ_UINT(worker_delay_ns(), 0);
}

TEST(joining_what_was_never_started_is_nothing)
{
	struct piece piece = {};

	worker_join(&piece.worker);
	CHECK_EQ_UINT(piece.times, 0);
	worker_start(&piece.worker, work, &piece, 0);
	worker_join(&piece.worker);
	worker_join(&piece.worker);
	CHECK_EQ_UINT(piece.times, 1);
}
