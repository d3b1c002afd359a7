/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of the running kernel: its records and what is lost of them. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kmsg.h"
#include "unit.h"

TEST(records_have_a_sequence_number)
{
	static const struct {
		const char *record;
		uint64_t number;
	} cases[] = {
		{"6,339,5140900,-;NET: Registered", 339},
		{"6,0,5140900,-,caller=T1;x", 0},
		{"30,18446744073709551614,1,c;x", UINT64_MAX - 1},
		{"6,18446744073709551615,1,c;x", UINT64_MAX},
		{"6,99999999999999999999999999999,1,-;x", UINT64_MAX},
		{"6,-1,1,-;x", UINT64_MAX},
		{"6,339", UINT64_MAX},
		{"no record", UINT64_MAX},
		{"", UINT64_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ_UINT(kmsg_sequence(cases[i].record, strlen(cases[i].record)), cases[i].number);
}

/* A datagram is a record: read by read. */
TEST(what_does_not_fit_is_counted)
{
	static const char record[] = "6,7,1,-;0123456789\n";
	_cleanup_buf_ struct buf text = BUF_INIT(2 * sizeof(record));
	struct kmsg_tail tail = {.last = UINT64_MAX};
	struct why why;
	int pipes[2];

	REQUIRE(pipe2(pipes, O_DIRECT | O_NONBLOCK) == 0);
	tail.fd = pipes[0];
	for (unsigned i = 0; i < 5; i++)
		REQUIRE(write(pipes[1], record, strlen(record)) == (ssize_t)strlen(record));
	CHECK(kmsg_tail_read(&tail, &text, &why) == 0);
	CHECK_EQ_UINT(text.len, 2 * strlen(record));
	CHECK_EQ_UINT(tail.refused, 3);
	CHECK_EQ_UINT(tail.overwritten, 0);
	CHECK_EQ_UINT(tail.last, 7);
	CHECK(!text.over);
	kmsg_tail_close(&tail);
	close(pipes[1]);
}
