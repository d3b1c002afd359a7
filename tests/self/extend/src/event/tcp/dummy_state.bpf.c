// SPDX-License-Identifier: GPL-2.0-only
#include "event/tcp/dummy_state.h"
#include "event/bpf/event.bpf.h"

EVENT(dummy_state, struct dummy_state_event)

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(dummy_state_seen, struct sock *sk)
{
	struct dummy_state_event *e = dummy_state_begin();

	if (!e)
		return 0;
	event_set_sock(&dummy_state_config, &e->head, sk);
	e->data.dummies = 7;
	return dummy_state_end(ctx, e);
}
