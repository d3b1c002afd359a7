/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection as the program of sock_walk.c copies it, made by hand: every figure of the reply that it becomes. */
#include <netinet/in.h>

#include "base/vec.h"
#include "snapshot/socket/sock_decode.h"
#include "unit.h"

#define HZ      250
#define JIFFIES UINT64_C(100000)
#define CONTROL UINT64_C(0xc0)

struct copied {
	struct sock_walk walk;
	struct walk_area *area;
	struct sock_decode decode;
	struct socket_answer answer;
	uint8_t record[8 + 16 * WALK_FIELD_COUNT + WALK_CA_BYTES];
};

static void copied_done(struct copied *c)
{
	free(c->area);
}

#define _cleanup_copied_ _cleanup_(copied_done)

static void copied_begin(struct copied *c)
{
	*c = (struct copied){.area = xzalloc(sizeof(*c->area)), .walk.with_tcp = true};
	c->walk.lanes[0] = (struct program){.fd = -1, .area = c->area};
	c->area->jiffies = JIFFIES;
	for (unsigned i = 0; i < WALK_FIELD_COUNT; i++)
		c->walk.fields[i].at = (uint16_t)(8 + 16 * i);
	c->decode = (struct sock_decode){.walk = &c->walk, .hz = HZ, .monotonic_ms = 5000};
	c->decode.controls[0] = (struct decode_name){.address = CONTROL, .name = "cubic"};
	memcpy(c->record + c->walk.fields[WALK_CA_OPS].at, &(uint64_t){CONTROL}, 8);
}

static void put(struct copied *c, enum walk_field field, uint64_t value)
{
	memcpy(c->record + c->walk.fields[field].at, &value, sizeof(value));
}

static void lack(struct copied *c, enum walk_field field)
{
	c->walk.fields[field].at = WALK_NONE;
}

static const struct tcp_info *decoded(struct copied *c)
{
	sock_decode_record(&c->decode, c->record, &c->answer);
	return &c->answer.info.base;
}

TEST(the_timer_that_is_pending)
{
	static const struct {
		uint8_t pending, timer, count;
	} cases[] = {{1, SOCKET_TIMER_RETRANSMIT, 4}, {5, SOCKET_TIMER_RETRANSMIT, 4}, {6, SOCKET_TIMER_RETRANSMIT, 4},
		     {3, SOCKET_TIMER_PERSIST, 7},    {0, SOCKET_TIMER_OFF, 0},        {2, SOCKET_TIMER_OFF, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_copied_ struct copied c;

		copied_begin(&c);
		put(&c, WALK_PENDING, cases[i].pending);
		put(&c, WALK_RETRANSMITS, 4);
		put(&c, WALK_PROBES_OUT, 7);
		put(&c, WALK_TIMEOUT, JIFFIES + 50);
		decoded(&c);
		unit_note("pending %u", cases[i].pending);
		CHECK_EQ_UINT(c.answer.msg.idiag_timer, cases[i].timer);
		CHECK_EQ_UINT(c.answer.msg.idiag_retrans, cases[i].count);
		CHECK_EQ_UINT(c.answer.msg.idiag_expires, cases[i].timer ? 200 : 0);
	}
}

TEST(when_the_timer_expires)
{
	_cleanup_copied_ struct copied c;

	copied_begin(&c);
	put(&c, WALK_PENDING, 1);
	put(&c, WALK_TIMEOUT, JIFFIES - 1);
	put(&c, WALK_TIMER_EXPIRES, JIFFIES + 25);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.msg.idiag_expires, 0);
	/* Newer kernels have it in the timer. */
	lack(&c, WALK_TIMEOUT);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.msg.idiag_expires, 100);
	put(&c, WALK_PENDING, 0);
	put(&c, WALK_KEEPALIVE_PENDING, 1);
	put(&c, WALK_KEEPALIVE_EXPIRES, JIFFIES + HZ);
	put(&c, WALK_PROBES_OUT, 2);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.msg.idiag_timer, SOCKET_TIMER_KEEPALIVE);
	CHECK_EQ_UINT(c.answer.msg.idiag_retrans, 2);
	CHECK_EQ_UINT(c.answer.msg.idiag_expires, 1000);
}

TEST(queues_and_addresses)
{
	_cleanup_copied_ struct copied c;

	copied_begin(&c);
	put(&c, WALK_FAMILY, AF_INET);
	put(&c, WALK_SADDR, 0x0100007f);
	put(&c, WALK_DADDR, 0x0200007f);
	put(&c, WALK_RCV_NXT, 1300);
	put(&c, WALK_COPIED_SEQ, 1000);
	put(&c, WALK_WRITE_SEQ, 40);
	put(&c, WALK_SND_UNA, UINT32_MAX - 59);
	put(&c, WALK_SND_NXT, UINT32_MAX - 9);
	put(&c, WALK_COOKIE, 0x500000003);
	put(&c, WALK_INODE, 77);
	put(&c, WALK_WMEM, 4097);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.msg.id.idiag_src[0], 0x0100007f);
	CHECK_EQ_UINT(c.answer.msg.id.idiag_dst[0], 0x0200007f);
	CHECK_EQ_UINT(c.answer.msg.id.idiag_cookie[0], 3);
	CHECK_EQ_UINT(c.answer.msg.id.idiag_cookie[1], 5);
	CHECK_EQ_UINT(c.answer.msg.idiag_rqueue, 300);
	CHECK_EQ_UINT(c.answer.msg.idiag_wqueue, 100);
	CHECK_EQ_UINT(c.answer.info.base.tcpi_notsent_bytes, 50);
	CHECK_EQ_UINT(c.answer.memory[2], 4096);
	/* No descriptor, no inode. */
	CHECK_EQ_UINT(c.answer.msg.idiag_inode, 0);
	put(&c, WALK_SOCKET, 1);
	/* The reader is ahead of what the copy says arrived, and all was sent. */
	put(&c, WALK_COPIED_SEQ, 1301);
	put(&c, WALK_SND_NXT, 41);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.msg.idiag_inode, 77);
	CHECK_EQ_UINT(c.answer.msg.idiag_rqueue, 0);
	CHECK_EQ_UINT(c.answer.info.base.tcpi_notsent_bytes, 0);
	put(&c, WALK_FAMILY, AF_INET6);
	put(&c, WALK_SADDR6, 0x1122);
	put(&c, WALK_DADDR6, 0x3344);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.msg.id.idiag_src[0], 0x1122);
	CHECK_EQ_UINT(c.answer.msg.id.idiag_dst[0], 0x3344);
}

/* The period that is not over counts for its kind alone; busy is all three. */
TEST(times_of_the_three_limits)
{
	static const uint64_t now[3] = {100, 0, 0};

	for (unsigned type = 0; type < 4; type++) {
		_cleanup_copied_ struct copied c;
		const struct tcp_info *info;
		uint64_t open = type ? 25 : 0;

		copied_begin(&c);
		memcpy(c.record + c.walk.fields[WALK_CHRONO_STAT].at, (uint32_t[]){100, 20, 3}, 12);
		put(&c, WALK_CHRONO_TYPE, type);
		put(&c, WALK_CHRONO_START, JIFFIES - 25);
		info = decoded(&c);
		unit_note("type %u", type);
		CHECK_EQ_UINT(info->tcpi_busy_time, (now[0] + 23 + open) * 4000);
		CHECK_EQ_UINT(info->tcpi_rwnd_limited, type == 2 ? 45 * 4000 : 20 * 4000);
		CHECK_EQ_UINT(info->tcpi_sndbuf_limited, type == 3 ? 28 * 4000 : 3 * 4000);
	}
}

TEST(ages_rates_and_scales)
{
	_cleanup_copied_ struct copied c;
	const struct tcp_info *info;

	copied_begin(&c);
	put(&c, WALK_LSNDTIME, JIFFIES - 10);
	put(&c, WALK_LRCVTIME, JIFFIES - 20);
	put(&c, WALK_RCV_TSTAMP, JIFFIES - 30);
	put(&c, WALK_RTO, 50);
	put(&c, WALK_ATO, 10);
	put(&c, WALK_SRTT, 8000);
	put(&c, WALK_MDEV, 400);
	put(&c, WALK_RCV_RTT, 1600);
	put(&c, WALK_MSS_CACHE, 1448);
	put(&c, WALK_RATE_DELIVERED, 10);
	put(&c, WALK_SND_WSCALE, 7);
	put(&c, WALK_RCV_WSCALE, 9);
	info = decoded(&c);
	CHECK_EQ_UINT(info->tcpi_last_data_sent, 40);
	CHECK_EQ_UINT(info->tcpi_last_data_recv, 80);
	CHECK_EQ_UINT(info->tcpi_last_ack_recv, 120);
	CHECK_EQ_UINT(info->tcpi_rto, 200000);
	CHECK_EQ_UINT(info->tcpi_ato, 40000);
	CHECK_EQ_UINT(info->tcpi_rtt, 1000);
	CHECK_EQ_UINT(info->tcpi_rttvar, 100);
	CHECK_EQ_UINT(info->tcpi_rcv_rtt, 200);
	CHECK_EQ_UINT(info->tcpi_delivery_rate, 0);
	CHECK_EQ_UINT(info->tcpi_options, 0);
	CHECK_EQ_UINT(info->tcpi_snd_wscale, 0);
	put(&c, WALK_RATE_INTERVAL, 500);
	put(&c, WALK_WSCALE_OK, 1);
	put(&c, WALK_ECN_FLAGS, 0x10);
	info = decoded(&c);
	CHECK_EQ_UINT(info->tcpi_delivery_rate, 10 * 1448 * 2000);
	CHECK_EQ_UINT(info->tcpi_options, TCPI_OPT_WSCALE | TCPI_OPT_ECN);
	CHECK_EQ_UINT(info->tcpi_snd_wscale, 7);
	CHECK_EQ_UINT(info->tcpi_rcv_wscale, 9);
}

/* What a kernel does not report, it does not report as zero. */
TEST(members_of_later_kernels)
{
	_cleanup_copied_ struct copied c;

	copied_begin(&c);
	put(&c, WALK_RCV_WUP, 1000);
	put(&c, WALK_RCV_WND, 500);
	put(&c, WALK_RCV_NXT, 1100);
	put(&c, WALK_PLB_REHASH, 2);
	put(&c, WALK_TIMEOUT_REHASH, 3);
	put(&c, WALK_TOTAL_RTO, 6);
	put(&c, WALK_TOTAL_RTO_TIME, 700);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.info_len, offsetof(struct tcp_info_wire, total_rto_time) + 4);
	CHECK_EQ_UINT(c.answer.info.rcv_wnd, 400);
	CHECK_EQ_UINT(c.answer.info.rehash, 5);
	CHECK_EQ_UINT(c.answer.info.total_rto, 6);
	CHECK_EQ_UINT(c.answer.info.total_rto_time, 700);
	/* A timeout that goes on. */
	put(&c, WALK_RTO_STAMP, 4200);
	put(&c, WALK_RCV_NXT, 1501);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.info.total_rto_time, 1500);
	CHECK_EQ_UINT(c.answer.info.rcv_wnd, 0);
	lack(&c, WALK_RTO_STAMP);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.info_len, offsetof(struct tcp_info_wire, total_rto));
	lack(&c, WALK_TIMEOUT_REHASH);
	decoded(&c);
	CHECK_EQ_UINT(c.answer.info_len, TCP_INFO_BASE);
}

/* Of a request and its response within one tick; anything that contradicts it makes the order unknown. */
TEST(which_data_was_the_last)
{
	static const struct {
		enum walk_field field;
		uint64_t value;
	} odd[] = {{WALK_LSNDTIME, 501}, {WALK_SND_UNA, 19}, {WALK_RCV_NXT, 31}, {WALK_BYTES_RECEIVED, 0}};
	static const enum walk_field needed[] = {WALK_MSTAMP, WALK_DELIVERED_MSTAMP};

	for (size_t i = 0; i < 2 + ARRAY_SIZE(odd) + ARRAY_SIZE(needed); i++) {
		_cleanup_copied_ struct copied c;
		size_t at = i - 2;

		copied_begin(&c);
		put(&c, WALK_LSNDTIME, 500);
		put(&c, WALK_LRCVTIME, 500);
		put(&c, WALK_SND_UNA, 20);
		put(&c, WALK_WRITE_SEQ, 20);
		put(&c, WALK_RCV_NXT, 30);
		put(&c, WALK_COPIED_SEQ, 30);
		put(&c, WALK_BYTES_RECEIVED, 10);
		put(&c, WALK_MSTAMP, 9000);
		put(&c, WALK_DELIVERED_MSTAMP, i == 0 ? 9000 : 8999);
		if (i >= 2 && at < ARRAY_SIZE(odd))
			put(&c, odd[at].field, odd[at].value);
		else if (i >= 2)
			lack(&c, needed[at - ARRAY_SIZE(odd)]);
		decoded(&c);
		unit_note("case %zu", i);
		CHECK_EQ_UINT(c.answer.order, i == 0 ? TCP_SENT_LAST : i == 1 ? TCP_RECEIVED_LAST : TCP_ORDER_UNKNOWN);
	}
}

TEST(figures_of_bbr)
{
	static const struct {
		enum walk_place place;
		uint16_t at;
	} places[] = {{WALK_BBR_MIN_RTT, 0},  {WALK_BBR_BW, 4},           {WALK_BBR_USE_LONG, 8},
		      {WALK_BBR_LONG_BW, 12}, {WALK_BBR_PACING_GAIN, 16}, {WALK_BBR_CWND_GAIN, 20}};
	uint32_t private[] = {250, 1 << 20, 0, 1 << 22, 739, 512};

	for (unsigned i = 0; i < 3; i++) {
		_cleanup_copied_ struct copied c;

		copied_begin(&c);
		for (size_t p = 0; p < ARRAY_SIZE(places); p++)
			c.walk.places[places[p].place] = (struct walk_position){.at = places[p].at};
		/* A bit of a word. */
		c.walk.places[WALK_BBR_USE_LONG] = (struct walk_position){.at = 8, .shift = 5, .width = 1};
		private[2] = i == 1 ? 1 << 5 : ~(uint32_t)(1 << 5);
		memcpy(c.record + c.walk.fields[WALK_CA_PRIVATE].at, private, sizeof(private));
		c.decode.controls[0].bbr = true;
		put(&c, WALK_MSS_CACHE, 1600);
		put(&c, WALK_STATE, i == 2 ? SOCKET_TIME_WAIT : 1);
		decoded(&c);
		unit_note("case %u", i);
		CHECK_EQ_INT(c.answer.has_bbr, i < 2);
		CHECK_EQ_UINT(c.answer.bbr.bbr_bw_lo, i == 2 ? 0 : i == 1 ? 400000000 : 100000000);
		CHECK_EQ_UINT(c.answer.bbr.bbr_bw_hi, 0);
		CHECK_EQ_UINT(c.answer.bbr.bbr_min_rtt, i == 2 ? 0 : 250);
		CHECK_EQ_UINT(c.answer.bbr.bbr_pacing_gain, i == 2 ? 0 : 739);
		CHECK_EQ_UINT(c.answer.bbr.bbr_cwnd_gain, i == 2 ? 0 : 512);
	}
}

TEST(a_socket_that_was_freed_meanwhile)
{
	_cleanup_copied_ struct copied c;

	copied_begin(&c);
	c.area->mask = 0xff;
	memcpy(c.record, &(uint64_t){0x34}, 8);
	put(&c, WALK_HASH, 0x1234);
	put(&c, WALK_REFERENCES, 1);
	CHECK(sock_decode_is_whole(&c.decode, c.record));
	put(&c, WALK_HASH, 0x1235);
	CHECK(!sock_decode_is_whole(&c.decode, c.record));
	put(&c, WALK_HASH, 0x1234);
	put(&c, WALK_REFERENCES, 0);
	CHECK(!sock_decode_is_whole(&c.decode, c.record));
}
