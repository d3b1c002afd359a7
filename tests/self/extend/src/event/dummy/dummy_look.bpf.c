// SPDX-License-Identifier: GPL-2.0-only
#include "event/dummy/dummy_look.h"
#include "event/bpf/event.bpf.h"

EVENT(dummy_look, struct dummy_look_event)

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(dummy_look_seen, struct sock *sk)
{
	struct dummy_look_event *e = dummy_look_begin();

	if (!e)
		return 0;
	event_set_sock(&dummy_look_config, &e->head, sk);
	e->data.dummies = 7;
	return dummy_look_end(ctx, e);
}
