/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/packet_names.h"
#include "event/core/packet.h"
#include "kernel/btf_enum.h"

static const struct enum_name dirs[] = {
	{PACKET_RX, "rx", "received"},
	{PACKET_TX, "tx", "transmitted"},
};
struct enum_names packet_dir_names = {dirs, ARRAY_SIZE(dirs), NULL};

static const struct enum_name flags[] = {
	{0x02, "SYN", "connection request"},
	{0x01, "FIN", "no more data from the sender"},
	{0x04, "RST", "reset"},
	{0x08, "PSH", "push"},
	{0x10, "ACK", "acknowledgement number valid"},
	{0x20, "URG", "urgent data"},
	{0x40, "ECE", "echoes a congestion mark"},
	{0x80, "CWR", "congestion window reduced"},
};
struct enum_names tcp_flag_names = {flags, ARRAY_SIZE(flags), NULL};

static void load_reasons(struct enum_names *names)
{
	btf_enum_load(names, "skb_drop_reason", "SKB_DROP_REASON_");
}

struct enum_names drop_reason_names = {.load = load_reasons};
