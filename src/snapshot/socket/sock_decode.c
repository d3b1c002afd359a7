/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mirrors the kernel's inet_diag_msg_attrs_fill, inet_sk_diag_fill, tcp_diag_get_info and tcp_get_info. */
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "snapshot/socket/sock_decode.h"

/* icsk_pending */
enum { PENDING_RETRANSMIT = 1, PENDING_PROBE = 3, PENDING_LOSS_PROBE = 5, PENDING_REORDERING = 6 };
/* tp->chrono_type */
enum { CHRONO_BUSY = 1, CHRONO_RWND, CHRONO_SNDBUF };
/* tp->ecn_flags: the two modes, and ECN seen. */
#define ECN_MODES 0x11
#define ECN_SEEN  0x08
/* TCPI_OPT_* that older headers lack. */
#define OPTION_USEC_TS   64
#define OPTION_TFO_CHILD 128
#define BBR_SCALE        24
#define USEC_PER_SEC     UINT64_C(1000000)

/* Congestion controls without a get_info. */
static const char *const plain_controls[] = {"reno",  "cubic",    "bic", "htcp", "highspeed",
					     "hybla", "scalable", "lp",  "cdg"};

struct source {
	const struct sock_walk *walk;
	const uint8_t *record;
};

static inline uint64_t bits_at(const uint8_t *bytes, const struct walk_position *position, size_t size)
{
	uint64_t value = 0;

	if (!position->width) {
		memcpy(&value, bytes + position->at, size);
		return value;
	}
	memcpy(&value, bytes + position->at, sizeof(uint32_t));
	return value >> position->shift & ((UINT64_C(1) << position->width) - 1);
}

static inline bool has(const struct source *source, enum walk_field field)
{
	return source->walk->fields[field].at != WALK_NONE;
}

static inline uint64_t get(const struct source *source, enum walk_field field, size_t size)
{
	return bits_at(source->record, &source->walk->fields[field], size);
}

#define GET8(field)  ((uint8_t)get(source, WALK_##field, 1))
#define GET16(field) ((uint16_t)get(source, WALK_##field, 2))
#define GET32(field) ((uint32_t)get(source, WALK_##field, 4))
#define GET64(field) get(source, WALK_##field, 8)

void sock_decode_begin(struct sock_decode *decode, struct sock_walk *walk, unsigned lane)
{
	struct timespec tick = {};

	memset(decode, 0, sizeof(*decode));
	decode->walk = walk;
	decode->lane = lane;
	/* The coarse clocks advance with the kernel's tick, like jiffies. */
	(void)clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	decode->hz = tick.tv_nsec > 0 ? (NSEC_PER_SEC + (uint64_t)tick.tv_nsec / 2) / (uint64_t)tick.tv_nsec : 0;
	decode->unable = decode->hz == 0;
	decode->monotonic_ms = clock_monotonic_ns() / NSEC_PER_MSEC;
}

bool sock_decode_is_whole(const struct sock_decode *decode, const uint8_t *record)
{
	const struct source s = {decode->walk, record}, *source = &s;
	uint64_t bucket;

	memcpy(&bucket, record, sizeof(bucket));
	return (GET32(HASH) & (uint32_t)sock_walk_area(decode->walk, decode->lane)->mask) == bucket &&
	       GET32(REFERENCES) != 0;
}

uint8_t sock_decode_state(const struct sock_decode *decode, const uint8_t *record)
{
	const struct source s = {decode->walk, record}, *source = &s;

	return GET8(STATE);
}

/* Slot of an address; when the table is full, the last slot is reused. */
static struct decode_name *name_of(struct decode_name names[DECODE_NAMES], uint64_t address, bool *ret_known)
{
	struct decode_name *name = names;

	while (name->address && name->address != address && name < names + DECODE_NAMES - 1)
		name++;
	*ret_known = name->address == address;
	return name;
}

static uint64_t cgroup_number(struct sock_decode *decode, uint64_t address)
{
	const struct walk_position *places = decode->walk->places;
	bool known;
	struct decode_name *name = name_of(decode->groups, address, &known);
	uint64_t bytes[2];

	if (known || !address)
		return name->number;
	*name = (struct decode_name){.address = address};
	sock_walk_peek(decode->walk, decode->lane, address + places[WALK_CGROUP_NODE].at, bytes);
	sock_walk_peek(decode->walk, decode->lane, bytes[0] + places[WALK_NODE_NUMBER].at, bytes);
	name->number = bytes[0];
	return name->number;
}

/* Name and capabilities of a congestion control, cached. */
static const struct decode_name *control_of(struct sock_decode *decode, uint64_t address)
{
	const struct walk_position *places = decode->walk->places;
	bool known, plain = false;
	struct decode_name *name = name_of(decode->controls, address, &known);
	uint64_t bytes[2];

	if (known)
		return name;
	*name = (struct decode_name){.address = address};
	sock_walk_peek(decode->walk, decode->lane, address + places[WALK_CA_NAME].at, bytes);
	memcpy(name->name, bytes, sizeof(name->name) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(plain_controls); i++)
		plain |= strcmp(name->name, plain_controls[i]) == 0;
	name->bbr = strcmp(name->name, "bbr") == 0;
	for (unsigned i = WALK_BBR_MIN_RTT; i <= WALK_BBR_CWND_GAIN; i++)
		name->bbr &= places[i].at != WALK_NONE && places[i].at + sizeof(uint32_t) <= WALK_CA_BYTES;
	decode->unable |= !plain && !name->bbr;
	return name;
}

static uint32_t jiffies_to_ms(const struct sock_decode *decode, uint64_t jiffies)
{
	return (uint32_t)(jiffies * 1000 / decode->hz);
}

static void decode_timer(const struct sock_decode *decode, const struct source *source, struct inet_diag_msg *msg)
{
	uint64_t now = sock_walk_area(decode->walk, decode->lane)->jiffies, expires;
	uint8_t pending = GET8(PENDING);

	if (pending == PENDING_RETRANSMIT || pending == PENDING_LOSS_PROBE || pending == PENDING_REORDERING ||
	    pending == PENDING_PROBE) {
		msg->idiag_timer = pending == PENDING_PROBE ? SOCKET_TIMER_PERSIST : SOCKET_TIMER_RETRANSMIT;
		msg->idiag_retrans = pending == PENDING_PROBE ? GET8(PROBES_OUT) : GET8(RETRANSMITS);
		expires = has(source, WALK_TIMEOUT) ? GET64(TIMEOUT) : GET64(TIMER_EXPIRES);
	} else if (GET64(KEEPALIVE_PENDING)) {
		msg->idiag_timer = SOCKET_TIMER_KEEPALIVE;
		msg->idiag_retrans = GET8(PROBES_OUT);
		expires = GET64(KEEPALIVE_EXPIRES);
	} else {
		return;
	}
	msg->idiag_expires = (int64_t)(expires - now) > 0 ? jiffies_to_ms(decode, expires - now) : 0;
}

static void decode_head(const struct sock_decode *decode, const struct source *source, struct inet_diag_msg *msg)
{
	const struct walk_position *fields = source->walk->fields;
	uint64_t cookie = GET64(COOKIE);
	int32_t unread = (int32_t)(GET32(RCV_NXT) - GET32(COPIED_SEQ));

	msg->idiag_family = (uint8_t)GET16(FAMILY);
	msg->idiag_state = GET8(STATE);
	msg->id.idiag_sport = GET16(SPORT);
	msg->id.idiag_dport = GET16(DPORT);
	if (msg->idiag_family == AF_INET6) {
		memcpy(msg->id.idiag_src, source->record + fields[WALK_SADDR6].at, 16);
		memcpy(msg->id.idiag_dst, source->record + fields[WALK_DADDR6].at, 16);
	} else {
		msg->id.idiag_src[0] = GET32(SADDR);
		msg->id.idiag_dst[0] = GET32(DADDR);
	}
	msg->id.idiag_if = GET32(DEVICE);
	msg->id.idiag_cookie[0] = (uint32_t)cookie;
	msg->id.idiag_cookie[1] = (uint32_t)(cookie >> 32);
	msg->idiag_rqueue = unread > 0 ? (uint32_t)unread : 0;
	msg->idiag_wqueue = GET32(WRITE_SEQ) - GET32(SND_UNA);
	msg->idiag_uid = GET32(UID);
	/* Without a descriptor there is no inode and, on some kernels, no uid. */
	msg->idiag_inode = GET64(SOCKET) ? (uint32_t)GET64(INODE) : 0;
	decode_timer(decode, source, msg);
}

static void decode_memory(const struct source *source, uint32_t memory[SOCKET_MEMORY_WORDS])
{
	memory[0] = GET32(RMEM);
	memory[1] = GET32(RCVBUF);
	memory[2] = GET32(WMEM) - 1; /* without the initial reference of the socket */
	memory[3] = GET32(SNDBUF);
	memory[4] = GET32(FORWARD);
	memory[5] = GET32(WMEM_QUEUED);
	memory[6] = GET32(OMEM);
	memory[7] = GET32(BACKLOG);
	memory[8] = GET32(DROPS);
}

static void decode_options(const struct source *source, struct tcp_info *info)
{
	uint8_t options = 0, ecn = GET8(ECN_FLAGS);

	options |= GET16(TSTAMP_OK) ? TCPI_OPT_TIMESTAMPS : 0;
	options |= GET16(SACK_OK) ? TCPI_OPT_SACK : 0;
	if (GET16(WSCALE_OK)) {
		options |= TCPI_OPT_WSCALE;
		info->tcpi_snd_wscale = GET16(SND_WSCALE) & 0xf;
		info->tcpi_rcv_wscale = GET16(RCV_WSCALE) & 0xf;
	}
	options |= ecn & ECN_MODES ? TCPI_OPT_ECN : 0;
	options |= ecn & ECN_SEEN ? TCPI_OPT_ECN_SEEN : 0;
	options |= GET8(SYN_DATA_ACKED) ? TCPI_OPT_SYN_DATA : 0;
	if (has(source, WALK_USEC_TS) && GET8(USEC_TS))
		options |= OPTION_USEC_TS;
	if (has(source, WALK_FASTOPEN_CHILD) && GET8(FASTOPEN_CHILD))
		options |= OPTION_TFO_CHILD;
	info->tcpi_options = options;
}

static void decode_state(const struct sock_decode *decode, const struct source *source, struct tcp_info *info)
{
	uint32_t now = (uint32_t)sock_walk_area(decode->walk, decode->lane)->jiffies;

	info->tcpi_state = GET8(STATE);
	info->tcpi_ca_state = GET8(CA_STATE);
	info->tcpi_retransmits = GET8(RETRANSMITS);
	info->tcpi_probes = GET8(PROBES_OUT);
	info->tcpi_backoff = GET8(BACKOFF);
	info->tcpi_delivery_rate_app_limited = GET8(RATE_APP_LIMITED) != 0;
	info->tcpi_rto = (uint32_t)(GET32(RTO) * USEC_PER_SEC / decode->hz);
	info->tcpi_ato = (uint32_t)(GET32(ATO) * USEC_PER_SEC / decode->hz);
	info->tcpi_snd_mss = GET32(MSS_CACHE);
	info->tcpi_rcv_mss = GET16(RCV_MSS);
	info->tcpi_unacked = GET32(PACKETS_OUT);
	info->tcpi_sacked = GET32(SACKED_OUT);
	info->tcpi_lost = GET32(LOST_OUT);
	info->tcpi_retrans = GET32(RETRANS_OUT);
	info->tcpi_last_data_sent = jiffies_to_ms(decode, now - GET32(LSNDTIME));
	info->tcpi_last_data_recv = jiffies_to_ms(decode, now - GET32(LRCVTIME));
	info->tcpi_last_ack_recv = jiffies_to_ms(decode, now - GET32(RCV_TSTAMP));
	info->tcpi_pmtu = GET32(PMTU);
	info->tcpi_rcv_ssthresh = GET32(RCV_SSTHRESH);
	info->tcpi_rtt = GET32(SRTT) >> 3;
	info->tcpi_rttvar = GET32(MDEV) >> 2;
	info->tcpi_snd_ssthresh = GET32(SND_SSTHRESH);
	info->tcpi_snd_cwnd = GET32(SND_CWND);
	info->tcpi_advmss = GET16(ADVMSS);
	info->tcpi_reordering = GET32(REORDERING);
	info->tcpi_rcv_rtt = GET32(RCV_RTT) >> 3;
	info->tcpi_rcv_space = GET32(RCV_SPACE);
	info->tcpi_total_retrans = GET32(TOTAL_RETRANS);
}

/* Busy, rwnd-limited and sndbuf-limited times, including the current period. */
static void decode_chrono(const struct sock_decode *decode, const struct source *source, struct tcp_info *info)
{
	uint32_t now = (uint32_t)sock_walk_area(decode->walk, decode->lane)->jiffies, spans[3];
	uint64_t times[3];

	memcpy(spans, source->record + source->walk->fields[WALK_CHRONO_STAT].at, sizeof(spans));
	for (unsigned i = 0; i < 3; i++) {
		times[i] = spans[i];
		if (GET8(CHRONO_TYPE) == CHRONO_BUSY + i)
			times[i] += now - GET32(CHRONO_START);
		times[i] = times[i] * (USEC_PER_SEC / decode->hz);
	}
	info->tcpi_busy_time = times[0] + times[1] + times[2];
	info->tcpi_rwnd_limited = times[CHRONO_RWND - CHRONO_BUSY];
	info->tcpi_sndbuf_limited = times[CHRONO_SNDBUF - CHRONO_BUSY];
}

static void decode_counters(const struct source *source, struct tcp_info *info)
{
	uint64_t delivered = GET32(RATE_DELIVERED), interval = GET32(RATE_INTERVAL);
	int32_t notsent = (int32_t)(GET32(WRITE_SEQ) - GET32(SND_NXT));

	info->tcpi_pacing_rate = GET64(PACING_RATE);
	info->tcpi_max_pacing_rate = GET64(MAX_PACING_RATE);
	info->tcpi_bytes_acked = GET64(BYTES_ACKED);
	info->tcpi_bytes_received = GET64(BYTES_RECEIVED);
	info->tcpi_segs_out = GET32(SEGS_OUT);
	info->tcpi_segs_in = GET32(SEGS_IN);
	info->tcpi_notsent_bytes = notsent > 0 ? (uint32_t)notsent : 0;
	info->tcpi_min_rtt = GET32(RTT_MIN);
	info->tcpi_data_segs_in = GET32(DATA_SEGS_IN);
	info->tcpi_data_segs_out = GET32(DATA_SEGS_OUT);
	if (delivered && interval)
		info->tcpi_delivery_rate = delivered * GET32(MSS_CACHE) * USEC_PER_SEC / interval;
	info->tcpi_delivered = GET32(DELIVERED);
	info->tcpi_delivered_ce = GET32(DELIVERED_CE);
	info->tcpi_bytes_sent = GET64(BYTES_SENT);
	info->tcpi_bytes_retrans = GET64(BYTES_RETRANS);
	info->tcpi_dsack_dups = GET32(DSACK_DUPS);
	info->tcpi_reord_seen = GET32(REORD_SEEN);
	info->tcpi_rcv_ooopack = GET32(RCV_OOOPACK);
	info->tcpi_snd_wnd = GET32(SND_WND);
}

/* Members that this kernel reports; returns the size of tcp_info. */
static size_t decode_later(const struct sock_decode *decode, const struct source *source, struct tcp_info_wire *info)
{
	int32_t window = (int32_t)(GET32(RCV_WUP) + GET32(RCV_WND) - GET32(RCV_NXT));

	if (!has(source, WALK_PLB_REHASH) || !has(source, WALK_TIMEOUT_REHASH))
		return TCP_INFO_BASE;
	info->rcv_wnd = window > 0 ? (uint32_t)window : 0;
	info->rehash = GET32(PLB_REHASH) + GET16(TIMEOUT_REHASH);
	if (!has(source, WALK_TOTAL_RTO) || !has(source, WALK_RTO_STAMP))
		return offsetof(struct tcp_info_wire, total_rto);
	info->total_rto = GET16(TOTAL_RTO);
	info->total_rto_recoveries = GET16(TOTAL_RTO_RECOVERIES);
	info->total_rto_time = GET32(TOTAL_RTO_TIME);
	if (GET32(RTO_STAMP))
		info->total_rto_time += (uint32_t)decode->monotonic_ms - GET32(RTO_STAMP);
	return offsetof(struct tcp_info_wire, total_rto_time) + sizeof(info->total_rto_time);
}

static void decode_bbr(const struct source *source, struct tcp_bbr_info *bbr)
{
	const uint8_t *private = source->record + source->walk->fields[WALK_CA_PRIVATE].at;
	const struct walk_position *places = source->walk->places;
	uint64_t bw = bits_at(
		private, &places[bits_at(private, &places[WALK_BBR_USE_LONG], 4) ? WALK_BBR_LONG_BW : WALK_BBR_BW], 4);

	bw = bw * GET32(MSS_CACHE) * USEC_PER_SEC >> BBR_SCALE;
	bbr->bbr_bw_lo = (uint32_t)bw;
	bbr->bbr_bw_hi = (uint32_t)(bw >> 32);
	bbr->bbr_min_rtt = (uint32_t)bits_at(private, &places[WALK_BBR_MIN_RTT], 4);
	bbr->bbr_pacing_gain = (uint32_t)bits_at(private, &places[WALK_BBR_PACING_GAIN], 4);
	bbr->bbr_cwnd_gain = (uint32_t)bits_at(private, &places[WALK_BBR_CWND_GAIN], 4);
}

/* As probe/asking.bpf.c has it. */
static uint8_t decode_order(const struct sock_decode *decode, const struct source *source)
{
	uint32_t received = (uint32_t)sock_walk_area(decode->walk, decode->lane)->jiffies - GET32(LRCVTIME);
	uint64_t received_us = (uint64_t)received * (USEC_PER_SEC / decode->hz), delivered_us;

	if (!has(source, WALK_MSTAMP) || !has(source, WALK_DELIVERED_MSTAMP) || GET32(LSNDTIME) != GET32(LRCVTIME) ||
	    GET32(SND_UNA) != GET32(WRITE_SEQ) || GET32(RCV_NXT) != GET32(COPIED_SEQ) || !GET64(BYTES_RECEIVED))
		return TCP_ORDER_UNKNOWN;
	/* Read after the kernel's ticks: what passed between the two makes it older. */
	delivered_us = clock_monotonic_ns() / NSEC_PER_USEC - GET64(DELIVERED_MSTAMP);
	return GET64(MSTAMP) == GET64(DELIVERED_MSTAMP) || delivered_us + TCP_ORDER_SLACK_NS / 1000 < received_us
		       ? TCP_SENT_LAST
		       : TCP_RECEIVED_LAST;
}

static void decode_tcp(struct sock_decode *decode, const struct source *source, struct socket_answer *answer)
{
	const struct decode_name *control = control_of(decode, GET64(CA_OPS));

	decode_options(source, &answer->info.base);
	decode_state(decode, source, &answer->info.base);
	decode_chrono(decode, source, &answer->info.base);
	decode_counters(source, &answer->info.base);
	answer->info_len = decode_later(decode, source, &answer->info);
	memcpy(answer->cc, control->name, sizeof(answer->cc));
	answer->order = decode_order(decode, source);
	/* The kernel queries the congestion control in these states only. */
	answer->has_bbr = control->bbr && GET8(STATE) < SOCKET_TIME_WAIT;
	if (answer->has_bbr)
		decode_bbr(source, &answer->bbr);
}

void sock_decode_record(struct sock_decode *decode, const uint8_t *record, struct socket_answer *answer)
{
	const struct source s = {decode->walk, record}, *source = &s;

	memset(answer, 0, sizeof(*answer));
	decode_head(decode, source, &answer->msg);
	decode_memory(source, answer->memory);
	answer->mark = GET32(MARK);
	answer->cgroup_id = cgroup_number(decode, GET64(CGROUP));
	answer->shutdown = GET8(SHUTDOWN);
	if (decode->walk->with_tcp)
		decode_tcp(decode, source, answer);
}
