/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding of the longer records of a trace. */
#include <sys/socket.h>

#include "flow/trace/trace.h"

static const char *const op_names[FLOW_OP_COUNT] = {[FLOW_OP_NONE] = "?",
#define OP_NAME(id, name) [FLOW_OP_##id] = (name),
						    FLOW_OPS(OP_NAME)
#undef OP_NAME
};

const char *flow_op_name(enum flow_op op)
{
	return (unsigned)op < FLOW_OP_COUNT ? op_names[op] : "?";
}

const char *flow_lost_name(uint32_t why)
{
	static const char *const names[FLOW_LOST_COUNT] = {
		[FLOW_LOST_FULL] = "full", [FLOW_LOST_SIGNAL] = "signal", [FLOW_LOST_PAUSED] = "paused"};

	return why < FLOW_LOST_COUNT ? names[why] : NULL;
}

bool flow_event_operation(const struct flow_event *event, struct flow_operation *ret_operation)
{
	struct flow_op_words words;

	if (event->kind != FLOW_OPERATION || event->word_count < FLOW_WORDS(words))
		return false;
	memcpy(&words, event->words, sizeof(words));
	*ret_operation = (struct flow_operation){
		.op = event->arg < FLOW_OP_COUNT ? event->arg : FLOW_OP_NONE,
		.start_ticks = event->ticks - flow_u64(words.duration),
		.end_ticks = event->ticks,
		.socket = words.socket,
		.fd = words.fd,
		.result = words.result,
		.aux = flow_u64(words.aux),
		.extra = event->words + FLOW_WORDS(words),
		.extra_count = event->word_count - (uint32_t)FLOW_WORDS(words),
	};
	return true;
}

static struct endpoint endpoint_of(uint16_t family, const uint8_t *bytes, uint16_t port)
{
	static const uint8_t none[16];
	struct endpoint endpoint = {};

	if ((family != AF_INET && family != AF_INET6) || (memcmp(bytes, none, 16) == 0 && !port))
		return endpoint;
	endpoint.addr = addr_from_v6(bytes);
	endpoint.port = port;
	return endpoint;
}

bool flow_event_socket(const struct flow_event *event, struct flow_socket *ret_socket)
{
	struct flow_socket_words words;

	if (event->kind != FLOW_SOCKET || event->word_count < FLOW_WORDS(words))
		return false;
	memcpy(&words, event->words, sizeof(words));
	*ret_socket = (struct flow_socket){
		.socket = words.socket,
		.fd = words.fd,
		.cookie = flow_u64(words.cookie),
		.family = words.family,
		.type = words.type,
		.local = endpoint_of(words.family, words.laddr, words.lport),
		.remote = endpoint_of(words.family, words.raddr, words.rport),
	};
	return true;
}

uint32_t flow_event_stack(const struct flow_trace *trace, const struct flow_event *event, uint32_t at)
{
	if (event->kind != FLOW_STACK || at >= event->word_count || event->words[at] >= trace->fn_index_count)
		return 0;
	return trace->fn_index[event->words[at]];
}

bool flow_event_argument(const struct flow_event *event, uint32_t at, uint64_t *ret_value)
{
	if (event->kind != FLOW_ARGS || at >= event->word_count / 2)
		return false;
	*ret_value = flow_u64(event->words + (size_t)at * 2);
	return true;
}

bool flow_operation_ready(const struct flow_operation *operation, uint32_t at, struct flow_ready *ret_ready)
{
	if (operation->op != FLOW_OP_WAIT || at >= operation->extra_count / 3)
		return false;
	ret_ready->data = flow_u64(operation->extra + (size_t)at * 3);
	ret_ready->events = operation->extra[(size_t)at * 3 + 2];
	return true;
}
