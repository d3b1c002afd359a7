/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/dev_packet.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"

static const struct enum_name stages[] = {
	{DEV_SEND, "send", "the stack hands it over, before it is cut up"},
	{DEV_NIC_SEND, "nic_send", "the driver gets it, after it was cut up"},
	{DEV_NIC_RECV, "nic_recv", "the driver hands it over, before it is put together with others"},
	{DEV_RECV, "recv", "the stack gets it, after it was put together with others"},
};
static struct enum_names stage_names = {stages, ARRAY_SIZE(stages), NULL};

#define D struct dev_packet
static const struct field packet_fields[] = {
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, queue, ID, "of the interface; unknown where its driver does not say by which one a packet came"),
	FIELD(D, dir, ENUM, "which way the packet goes", .names = &packet_dir_names, .zero_is_unknown = true),
	FIELD(D, bytes, BYTES, "of the packet, with the header of the link"),
	FIELD(D, segs, COUNT, "packets that it is, or was, on the wire", .hidden = true),
	FIELD(D, stage, ENUM, "where it is seen", .names = &stage_names, .zero_is_unknown = true, .hidden = true),
};
#undef D

static const struct event_role queue_roles[] = {
	{.name = "packets of the stack", .hooks = {{.programs = {"dev_queue_sent"}}}},
};
EVENT_TYPE(dev_queue, "dev.queue", struct dev_packet, packet_fields, queue_roles,
	   "the stack handed a packet over to an interface");

static const struct event_role xmit_roles[] = {
	{.name = "packets for the driver", .hooks = {{.programs = {"dev_xmit_start"}}}},
};
EVENT_TYPE(dev_xmit, "dev.xmit", struct dev_packet, packet_fields, xmit_roles,
	   "the driver of an interface got a packet to send");

static const struct event_role arrive_roles[] = {
	{.name = "packets from drivers", .hooks = {{.programs = {"dev_arrive_gro", "dev_arrive_backlog"}}}},
	{.name = "packets from drivers that do without GRO",
	 .without = "packets of drivers that do without GRO are not seen as they arrive",
	 .hooks = {{.programs = {"dev_arrive_frags", "dev_arrive_direct", "dev_arrive_list"}}}},
};
EVENT_TYPE(dev_arrive, "dev.arrive", struct dev_packet, packet_fields, arrive_roles,
	   "the driver of an interface handed a packet over that arrived");

static const struct event_role receive_roles[] = {
	{.name = "packets for the stack", .hooks = {{.programs = {"dev_receive_packet"}}}},
};
EVENT_TYPE(dev_receive, "dev.receive", struct dev_packet, packet_fields, receive_roles,
	   "the stack got a packet that arrived");
