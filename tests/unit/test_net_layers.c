/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which layer a stack belongs to; numbers of stacks that came with their events. */
#include <errno.h>

#include "event/core/live_stack.h"
#include "tool/core/net_layers.h"
#include "unit.h"

static const char *layer(const char *const *frames)
{
	struct stack stack = {.frames = frames};

	while (frames[stack.count])
		stack.count++;
	return net_layer_of_stack(&stack);
}

TEST(functions_have_layers)
{
	CHECK_EQ_TEXT(net_layer_of("tcp_sendmsg_locked"), "tcp");
	CHECK_EQ_TEXT(net_layer_of("udpv6_sendmsg"), "udp");
	CHECK_EQ_TEXT(net_layer_of("__ip_queue_xmit"), "ip");
	CHECK_EQ_TEXT(net_layer_of("ip6_finish_output2"), "ip");
	CHECK_EQ_TEXT(net_layer_of("nf_hook_slow"), "filter");
	CHECK_EQ_TEXT(net_layer_of("nft_do_chain"), "filter");
	CHECK_EQ_TEXT(net_layer_of("htb_enqueue"), "qdisc");
	CHECK_EQ_TEXT(net_layer_of("veth_xmit"), "driver");
	CHECK_EQ_TEXT(net_layer_of("net_rx_action"), "softirq");
	CHECK_EQ_TEXT(net_layer_of("sock_sendmsg"), "socket");
	CHECK_EQ_TEXT(net_layer_of("__x64_sys_sendto"), "syscall");
	CHECK_EQ_TEXT(net_layer_of("__arm64_sys_recvmsg"), "syscall");
	CHECK_EQ_TEXT(net_layer_of("tcp4_gro_receive"), "device");
	CHECK_EQ_TEXT(net_layer_of("tcp_gso_segment"), "device");
	CHECK(!net_layer_of("skb_clone"));
	CHECK(!net_layer_of("rcu_core"));
	CHECK(!net_layer_of("nfs_file_read"));
	CHECK(!net_layer_of("__x64_sys_read"));
	CHECK(!net_layer_of(""));
}

TEST(the_innermost_layer_counts)
{
	CHECK_EQ_TEXT(layer((const char *const[]){"_copy_from_iter", "tcp_sendmsg_locked", "sock_sendmsg",
						  "__sys_sendto", "do_syscall_64", NULL}),
		      "tcp");
	CHECK_EQ_TEXT(layer((const char *const[]){"__napi_poll", "net_rx_action", "handle_softirqs",
						  "ip_finish_output2", "tcp_write_xmit", NULL}),
		      "softirq");
	CHECK_EQ_TEXT(layer((const char *const[]){"rcu_core", "handle_softirqs", "asm_sysvec_apic_timer", NULL}),
		      "other");
	CHECK_EQ_TEXT(layer((const char *const[]){"pv_native_safe_halt", "default_idle", "do_idle", NULL}), "idle");
	CHECK_EQ_TEXT(layer((const char *const[]){NULL}), "user");
}

TEST(stacks_have_numbers)
{
	struct live_stacks stacks = {};
	struct event_frames one = {.count = 2, .addresses = {7, 8}}, two = {.count = 2, .addresses = {7, 9}}, bad = {};
	int32_t first, second;

	live_stacks_init(&stacks);
	first = live_stacks_put(&stacks, &one);
	second = live_stacks_put(&stacks, &two);
	CHECK(first > 0 && second > 0 && first != second);
	CHECK_EQ_INT(live_stacks_put(&stacks, &one), first);
	CHECK_EQ_INT(live_stacks_get(&stacks, second)->addresses[1], 9);
	CHECK(!live_stacks_get(&stacks, 5));
	CHECK(!live_stacks_get(&stacks, -1));
	CHECK(!live_stacks_get(&stacks, second + 1));
	/* None, and more than there can be. */
	CHECK_EQ_INT(live_stacks_put(&stacks, &bad), -1);
	bad.count = EVENT_FRAMES_MAX + 1;
	CHECK_EQ_INT(live_stacks_put(&stacks, &bad), -1);
	for (uint64_t i = 0; i < 40000; i++)
		(void)live_stacks_put(&stacks, &(struct event_frames){.count = 1, .addresses = {i + 100}});
	CHECK_EQ_INT(live_stacks_put(&stacks, &(struct event_frames){.count = 1, .addresses = {1}}), -ENOSPC);
	CHECK(stacks.lost > 0);
	live_stacks_done(&stacks);
}
