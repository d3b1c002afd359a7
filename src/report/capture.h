/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture files (pcap, pcapng): connections, retransmits, RTT, resets, zero windows, as visible in packets. */
#pragma once

#include "base/addr.h"
#include "base/why.h"
#include "report/report.h"

/* Whether a file has the magic number of a capture. */
bool capture_recognize(const char *path);
/* A report of its TCP connections. Packets outside the time range are skipped. */
int capture_report(const char *path, const struct time_range *range, struct report **ret_report,
		   struct why *why) _must_check_;

/* --- packets --- */

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

/* The TCP segment of a packet. */
struct capture_segment {
	uint64_t time_ns;
	struct endpoint from, to;
	uint32_t seq, ack;
	uint32_t bytes; /* of payload, as sent, even if truncated in the capture */
	uint16_t window;
	uint8_t flags;
};

/* Link types of libpcap. False when it is not a TCP segment, or its header is truncated. */
bool capture_packet_parse(int link_type, const uint8_t *bytes, size_t captured, struct capture_segment *ret_segment);

/* --- connections --- */

struct capture_tcp;

struct capture_tcp *capture_tcp_new(struct report *report);
void capture_tcp_free(struct capture_tcp *conversations);
void capture_tcp_add(struct capture_tcp *conversations, const struct capture_segment *segment);
/* Adds the findings to the report. */
void capture_tcp_finish(struct capture_tcp *conversations);
