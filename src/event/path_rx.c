/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/event.h"
#include "event/path.h"
#include "event/path_names.h"

/* tag: stages that are not seen without it. */
static const struct event_role rx_roles[] = {
	{.name = "packets that the stack takes up", .hooks = {{.programs = {"path_rx_receive", "path_rx_poll"}}}},
	{.name = "data that is read", .hooks = {{.programs = {"path_rx_read"}}}},
	{.name = "data that is announced", .hooks = {{.programs = {"path_rx_ready"}}}},
	{.name = "packets of TCP", .hooks = {{.programs = {"path_rx_tcp"}}}},
	{.name = "packets that are let go",
	 .without = "drops are not told",
	 .hooks = {{.programs = {"path_rx_drop", "path_rx_consume"}}}},
	{.name = "packets that virtual links hand over",
	 .without = "journeys of virtual links begin when the stack takes the packet up",
	 .tag = 1u << PATH_BACKLOG,
	 .hooks = {{.programs = {"path_rx_netif_rx"}}}},
	{.name = "packets that are forwarded",
	 .without = "packets that are forwarded stay unfinished",
	 .hooks = {{.programs = {"path_rx_forward", "path_rx_xmit", "path_rx_forwarded"}}}},
	{.name = "packets in GRO",
	 .without = "the time in the driver's poll is not seen",
	 .tag = 1u << PATH_GRO,
	 .hooks = {{.programs = {"path_rx_gro", "path_rx_gro_frags"}}, {.programs = {"path_rx_gro"}}}},
	{.name = "softirqs",
	 .without = "the wait for a softirq is not seen",
	 .tag = 1u << PATH_SOFTIRQ,
	 .hooks = {{.programs = {"path_rx_raise", "path_rx_softirq"}}}},
	{.name = "interrupts",
	 .without = "interrupts of devices are not seen",
	 .tag = 1u << PATH_IRQ,
	 .hooks = {{.programs = {"path_rx_irq", "path_rx_irq_done"}}}},
	{.name = "readers that are woken",
	 .without = "waiting for a processor is not told apart from waiting for the reader",
	 .tag = 1u << PATH_WAKEUP | 1u << PATH_SCHED,
	 .hooks = {{.programs = {"path_rx_waking", "path_rx_wakeup", "path_rx_switch"}}}},
	{.name = "data that is copied",
	 .without = "copying is not told apart",
	 .tag = 1u << PATH_COPY,
	 .hooks = {{.programs = {"path_rx_copy"}}}},
	{.name = "ends of system calls",
	 .without = "the way back to the application is not seen",
	 .costly = true,
	 .tag = 1u << PATH_RETURN,
	 .hooks = {{.programs = {"path_rx_return"}}}},
};
EVENT_TYPE(path_rx, "path.rx", struct path_journey, path_fields, rx_roles,
	   "a packet that arrived has come to the end of its way through this host", .early = path_early);
