/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/packet_names.h"
#include "event/core/packet.h"
#include "kernel/btf_enum.h"

static const struct enum_name dirs[] = {
	{PACKET_RX, "rx", "arrived at this host"},
	{PACKET_TX, "tx", "leaves this host"},
};
struct enum_names packet_dir_names = {dirs, ARRAY_SIZE(dirs), NULL};

static const struct enum_name flags[] = {
	{0x02, "SYN", "asks for a connection"},
	{0x01, "FIN", "the sender has nothing more to say"},
	{0x04, "RST", "there is no such connection"},
	{0x08, "PSH", "the end of what was written at once"},
	{0x10, "ACK", "acknowledges"},
	{0x20, "URG", "has urgent data"},
	{0x40, "ECE", "tells that congestion was marked"},
	{0x80, "CWR", "has slowed down"},
};
struct enum_names tcp_flag_names = {flags, ARRAY_SIZE(flags), NULL};

static void load_reasons(struct enum_names *names)
{
	btf_enum_load(names, "skb_drop_reason", "SKB_DROP_REASON_");
}

struct enum_names drop_reason_names = {.load = load_reasons};
