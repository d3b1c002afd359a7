/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool/core/net_layers.h"
#include "base/text.h"

#define LAYER_SYSCALL "syscall"
#define LAYER_SOCKET  "socket"
#define LAYER_TCP     "tcp"
#define LAYER_UDP     "udp"
#define LAYER_IP      "ip"
#define LAYER_FILTER  "filter"
#define LAYER_QDISC   "qdisc"
#define LAYER_DEVICE  "device"
#define LAYER_DRIVER  "driver"
#define LAYER_SOFTIRQ "softirq"
#define LAYER_IDLE    "idle"
#define LAYER_OTHER   "other"
#define LAYER_USER    "user"

/*
 * The first match wins. Helpers of all layers (skb_*, kmem_*, copy_*) are left out on purpose: their callers determine
 * the layer.
 */
static const struct {
	const char *pattern;
	const char *layer;
} functions[] = {
	/* Exceptions to more general patterns. */
	{"tcp_in_window", LAYER_FILTER},
	{"tcp_packet", LAYER_FILTER},
	{"tcp_mt", LAYER_FILTER},
	{"udp_mt", LAYER_FILTER},
	{"ipv4_conntrack*", LAYER_FILTER},
	{"ipv6_conntrack*", LAYER_FILTER},
	{"ip_sabotage_in", LAYER_FILTER},
	{"ip_vs_*", LAYER_FILTER},
	{"ip_set_*", LAYER_FILTER},
	{"ip6t_*", LAYER_FILTER},
	{"ip6table*", LAYER_FILTER},
	{"tcp_gro_*", LAYER_DEVICE},
	{"tcp4_gro_*", LAYER_DEVICE},
	{"tcp6_gro_*", LAYER_DEVICE},
	{"udp_gro_*", LAYER_DEVICE},
	{"udp4_gro_*", LAYER_DEVICE},
	{"udp6_gro_*", LAYER_DEVICE},
	{"inet_gro_*", LAYER_DEVICE},
	{"ipv6_gro_*", LAYER_DEVICE},
	{"*_gso_segment", LAYER_DEVICE},

	/* Transport. */
	{"tcp_*", LAYER_TCP},
	{"__tcp_*", LAYER_TCP},
	{"tcp4_*", LAYER_TCP},
	{"tcp6_*", LAYER_TCP},
	{"tcpv6_*", LAYER_TCP},
	{"mptcp_*", LAYER_TCP},
	{"inet_csk_*", LAYER_TCP},
	{"inet_ehash*", LAYER_TCP},
	{"__inet_lookup*", LAYER_TCP},
	{"__inet6_lookup*", LAYER_TCP},
	{"inet_twsk_*", LAYER_TCP},
	{"reqsk_*", LAYER_TCP},
	{"bbr_*", LAYER_TCP},
	{"bictcp_*", LAYER_TCP},
	{"cubictcp_*", LAYER_TCP},
	{"dctcp_*", LAYER_TCP},
	{"udp_*", LAYER_UDP},
	{"__udp*", LAYER_UDP},
	{"udp4_*", LAYER_UDP},
	{"udp6_*", LAYER_UDP},
	{"udpv6_*", LAYER_UDP},

	/* Netfilter, cgroup and tc filters. */
	{"nf_*", LAYER_FILTER},
	{"__nf_*", LAYER_FILTER},
	{"nft_*", LAYER_FILTER},
	{"xt_*", LAYER_FILTER},
	{"ipt_*", LAYER_FILTER},
	{"iptable_*", LAYER_FILTER},
	{"ebt_*", LAYER_FILTER},
	{"tcf_*", LAYER_FILTER},
	{"cls_bpf_*", LAYER_FILTER},
	{"fl_classify", LAYER_FILTER},
	{"u32_classify", LAYER_FILTER},
	{"sk_filter*", LAYER_FILTER},
	{"__cgroup_bpf_run_filter*", LAYER_FILTER},
	{"sch_handle_ingress", LAYER_FILTER},
	{"sch_handle_egress", LAYER_FILTER},
	{"do_xdp_generic", LAYER_FILTER},

	/* Network layer, with routing and neighbours. */
	{"ip_*", LAYER_IP},
	{"__ip_*", LAYER_IP},
	{"ip6_*", LAYER_IP},
	{"__ip6_*", LAYER_IP},
	{"ip4_*", LAYER_IP},
	{"ipv4_*", LAYER_IP},
	{"ipv6_*", LAYER_IP},
	{"rt6_*", LAYER_IP},
	{"fib_*", LAYER_IP},
	{"fib4_*", LAYER_IP},
	{"fib6_*", LAYER_IP},
	{"dst_*", LAYER_IP},
	{"icmp_*", LAYER_IP},
	{"__icmp_*", LAYER_IP},
	{"icmp6_*", LAYER_IP},
	{"icmpv6_*", LAYER_IP},
	{"ping_*", LAYER_IP},
	{"raw_*msg", LAYER_IP},
	{"inet_frag_*", LAYER_IP},
	{"arp_*", LAYER_IP},
	{"ndisc_*", LAYER_IP},
	{"neigh_*", LAYER_IP},
	{"__neigh_*", LAYER_IP},

	/* Qdiscs. */
	{"tc_*qdisc*", LAYER_QDISC},
	{"tc_*tclass*", LAYER_QDISC},
	{"qdisc_*", LAYER_QDISC},
	{"__qdisc_*", LAYER_QDISC},
	{"sch_direct_xmit", LAYER_QDISC},
	{"pfifo_*", LAYER_QDISC},
	{"bfifo_*", LAYER_QDISC},
	{"fq_enqueue", LAYER_QDISC},
	{"fq_dequeue", LAYER_QDISC},
	{"fq_codel_*", LAYER_QDISC},
	{"codel_*", LAYER_QDISC},
	{"htb_*", LAYER_QDISC},
	{"tbf_*", LAYER_QDISC},
	{"hfsc_*", LAYER_QDISC},
	{"sfq_*", LAYER_QDISC},
	{"cake_*", LAYER_QDISC},
	{"netem_*", LAYER_QDISC},
	{"prio_enqueue", LAYER_QDISC},
	{"prio_dequeue", LAYER_QDISC},
	{"red_enqueue", LAYER_QDISC},
	{"red_dequeue", LAYER_QDISC},

	/* Drivers, physical and virtual. */
	{"loopback_*", LAYER_DRIVER},
	{"veth_*", LAYER_DRIVER},
	{"virtnet_*", LAYER_DRIVER},
	{"xmit_skb", LAYER_DRIVER},
	{"start_xmit", LAYER_DRIVER},
	{"virtqueue_*", LAYER_DRIVER},
	{"vring_*", LAYER_DRIVER},
	{"vp_notify", LAYER_DRIVER},
	{"tun_*", LAYER_DRIVER},
	{"tap_*", LAYER_DRIVER},
	{"br_*", LAYER_DRIVER},
	{"bond_*", LAYER_DRIVER},
	{"macvlan_*", LAYER_DRIVER},
	{"ipvlan_*", LAYER_DRIVER},
	{"vlan_*", LAYER_DRIVER},
	{"vxlan_*", LAYER_DRIVER},
	{"geneve_*", LAYER_DRIVER},
	{"wg_*", LAYER_DRIVER},
	{"e1000*", LAYER_DRIVER},
	{"igb_*", LAYER_DRIVER},
	{"igc_*", LAYER_DRIVER},
	{"ixgbe*", LAYER_DRIVER},
	{"i40e_*", LAYER_DRIVER},
	{"iavf_*", LAYER_DRIVER},
	{"ice_*", LAYER_DRIVER},
	{"mlx4_*", LAYER_DRIVER},
	{"mlx5*", LAYER_DRIVER},
	{"ena_*", LAYER_DRIVER},
	{"gve_*", LAYER_DRIVER},
	{"bnx2*", LAYER_DRIVER},
	{"bnxt_*", LAYER_DRIVER},
	{"tg3_*", LAYER_DRIVER},
	{"rtl8169_*", LAYER_DRIVER},
	{"vmxnet3_*", LAYER_DRIVER},
	{"xennet_*", LAYER_DRIVER},
	{"netvsc_*", LAYER_DRIVER},
	{"iwl_*", LAYER_DRIVER},
	{"ath*k_*", LAYER_DRIVER},
	{"ieee80211_*", LAYER_DRIVER},

	/* Device layer. */
	{"dev_queue_xmit*", LAYER_DEVICE},
	{"__dev_queue_xmit*", LAYER_DEVICE},
	{"dev_hard_start_xmit", LAYER_DEVICE},
	{"dev_watchdog", LAYER_DEVICE},
	{"__dev_forward_skb*", LAYER_DEVICE},
	{"validate_xmit_*", LAYER_DEVICE},
	{"netif_*", LAYER_DEVICE},
	{"__netif_*", LAYER_DEVICE},
	{"enqueue_to_backlog", LAYER_DEVICE},
	{"dev_gro_receive", LAYER_DEVICE},
	{"gro_*", LAYER_DEVICE},
	{"napi_gro_*", LAYER_DEVICE},
	{"packet_rcv*", LAYER_DEVICE},
	{"tpacket_*", LAYER_DEVICE},

	/* Softirqs and NAPI. */
	{"net_rx_action", LAYER_SOFTIRQ},
	{"net_tx_action", LAYER_SOFTIRQ},
	{"__napi_*", LAYER_SOFTIRQ},
	{"napi_*", LAYER_SOFTIRQ},
	{"process_backlog", LAYER_SOFTIRQ},

	/* Sockets. */
	{"sock_*", LAYER_SOCKET},
	{"__sock_*", LAYER_SOCKET},
	{"sock*_lookup*", LAYER_SOCKET},
	{"inet_*", LAYER_SOCKET},
	{"inet6_*", LAYER_SOCKET},
	{"__inet_*", LAYER_SOCKET},
	{"release_sock", LAYER_SOCKET},
	{"__release_sock", LAYER_SOCKET},
	{"lock_sock_nested", LAYER_SOCKET},
	{"unix_*", LAYER_SOCKET},
	{"netlink_*", LAYER_SOCKET},
	{"rtnetlink_*", LAYER_SOCKET},
	{"packet_*", LAYER_SOCKET},
	{"vsock_*", LAYER_SOCKET},
	{"sk_*", LAYER_SOCKET},
	{"__sk_*", LAYER_SOCKET},

	/* System calls. */
	{"__sys_send*", LAYER_SYSCALL},
	{"__sys_recv*", LAYER_SYSCALL},
	{"___sys_send*", LAYER_SYSCALL},
	{"___sys_recv*", LAYER_SYSCALL},
	{"____sys_send*", LAYER_SYSCALL},
	{"____sys_recv*", LAYER_SYSCALL},
	{"__sys_connect*", LAYER_SYSCALL},
	{"__sys_accept*", LAYER_SYSCALL},
	{"__sys_bind*", LAYER_SYSCALL},
	{"__sys_listen*", LAYER_SYSCALL},
	{"__sys_socket*", LAYER_SYSCALL},
	{"__sys_shutdown*", LAYER_SYSCALL},
	{"__sys_getsock*", LAYER_SYSCALL},
	{"__sys_getpeer*", LAYER_SYSCALL},
	{"__sys_setsockopt*", LAYER_SYSCALL},
	{"do_sock_*", LAYER_SYSCALL},
	{"__*_sys_send*", LAYER_SYSCALL},
	{"__*_sys_recv*", LAYER_SYSCALL},
	{"__*_sys_connect", LAYER_SYSCALL},
	{"__*_sys_accept*", LAYER_SYSCALL},
	{"__*_sys_socket*", LAYER_SYSCALL},
	{"move_addr_to_*", LAYER_SYSCALL},

	/* Idle. */
	{"default_idle*", LAYER_IDLE},
	{"*_safe_halt", LAYER_IDLE},
	{"acpi_idle_*", LAYER_IDLE},
	{"acpi_processor_ffh_cstate_enter", LAYER_IDLE},
	{"mwait_idle*", LAYER_IDLE},
	{"intel_idle*", LAYER_IDLE},
	{"poll_idle", LAYER_IDLE},
	{"cpu_idle_poll*", LAYER_IDLE},
	{"cpu_do_idle", LAYER_IDLE},
};

const char *net_layer_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (text_glob_match(functions[i].pattern, function))
			return functions[i].layer;
	return NULL;
}

const char *net_layer_of_stack(const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const char *layer = net_layer_of(stack->frames[i]);

		if (layer)
			return layer;
	}
	return stack->count ? LAYER_OTHER : LAYER_USER;
}
