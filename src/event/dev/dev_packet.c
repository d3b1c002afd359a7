/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/dev_packet.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"

static const struct enum_name stages[] = {
	{DEV_SEND, "send", "from the stack, before segmentation"},
	{DEV_NIC_SEND, "nic_send", "to the driver, after segmentation"},
	{DEV_NIC_RECV, "nic_recv", "from the driver, before GRO"},
	{DEV_RECV, "recv", "to the stack, after GRO"},
};
static struct enum_names stage_names = {stages, ARRAY_SIZE(stages), NULL};

#define D struct dev_packet
static const struct field packet_fields[] = {
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, queue, ID, "queue number; unknown if the driver does not report the receive queue"),
	FIELD(D, dir, ENUM, "direction", .names = &packet_dir_names, .zero_is_unknown = true),
	FIELD(D, bytes, BYTES, "packet length, link header included"),
	FIELD(D, segs, COUNT, "number of packets on the wire", .hidden = true),
	FIELD(D, stage, ENUM, "stage", .names = &stage_names, .zero_is_unknown = true, .hidden = true),
};
#undef D

static const struct event_role queue_roles[] = {
	{.name = "packets from the stack", .hooks = {{.programs = {"dev_queue_sent"}}}},
};
EVENT_TYPE(dev_queue, "dev.queue", struct dev_packet, packet_fields, queue_roles,
	   "packet passed by the stack to an interface");

static const struct event_role xmit_roles[] = {
	{.name = "packets to the driver", .hooks = {{.programs = {"dev_xmit_start"}}}},
};
EVENT_TYPE(dev_xmit, "dev.xmit", struct dev_packet, packet_fields, xmit_roles, "packet passed to a driver");

static const struct event_role arrive_roles[] = {
	{.name = "packets from drivers", .hooks = {{.programs = {"dev_arrive_gro", "dev_arrive_backlog"}}}},
	{.name = "packets from drivers without GRO",
	 .without = "packets of drivers without GRO are not reported",
	 .hooks = {{.programs = {"dev_arrive_frags", "dev_arrive_direct", "dev_arrive_list"}}}},
};
EVENT_TYPE(dev_arrive, "dev.arrive", struct dev_packet, packet_fields, arrive_roles, "packet delivered by a driver");

static const struct event_role receive_roles[] = {
	{.name = "packets to the stack", .hooks = {{.programs = {"dev_receive_packet"}}}},
};
EVENT_TYPE(dev_receive, "dev.receive", struct dev_packet, packet_fields, receive_roles, "received packet at the stack");
