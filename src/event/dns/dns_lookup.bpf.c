// SPDX-License-Identifier: GPL-2.0-only
/* dns.lookup: from call to return of a resolver function of the C library, in the calling thread. */
#include "event/bpf/fd.bpf.h"
#include "event/dns/dns.h"

EVENT(dns_lookup, struct dns_lookup_event)

struct dns_call {
	__u64 began_ns;
	char host[DNS_HOST_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct dns_call);
} dns_lookup_calls SEC(".maps");

SEC("uprobe")
int BPF_KPROBE(dns_lookup_enter, const char *host)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct dns_call call = {.began_ns = bpf_ktime_get_boot_ns()};

	/* A service without a host name sends no query. */
	if (!host)
		return 0;
	bpf_probe_read_user_str(call.host, sizeof(call.host), host);
	event_remember(&dns_lookup_calls, &thread, &call, &dns_lookup_losses);
	return 0;
}

static __always_inline int returned(void *ctx, __u8 function, long result)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct dns_call *call = bpf_map_lookup_elem(&dns_lookup_calls, &thread);
	struct dns_lookup_event *e;

	if (!call)
		return 0;
	e = dns_lookup_begin();
	if (e) {
		event_set_current(&dns_lookup_config, &e->head);
		if (dns_lookup_config.needs & EVENT_NEED_NETNS)
			e->head.netns = event_current_netns();
		e->data.function = function;
		e->data.lat_ns = bpf_ktime_get_boot_ns() - call->began_ns;
		__builtin_memcpy(e->data.host, call->host, sizeof(e->data.host));
		if (function == DNS_GETADDRINFO)
			e->data.error = (__u32) - (int)result;
		else
			e->data.error = result ? 0 : DNS_LOOKUP_FAILED;
		dns_lookup_end(ctx, e);
	}
	bpf_map_delete_elem(&dns_lookup_calls, &thread);
	return 0;
}

/* A program per function: attached to several, it could tell which only since 5.15. */
#define RETURN_OF(function, number)                                                                                    \
	SEC("uretprobe")                                                                                               \
	int BPF_KRETPROBE(dns_lookup_##function, long result)                                                          \
	{                                                                                                              \
		return returned(ctx, number, result);                                                                  \
	}

RETURN_OF(getaddrinfo, DNS_GETADDRINFO)
RETURN_OF(gethostbyname, DNS_GETHOSTBYNAME)
RETURN_OF(gethostbyname2, DNS_GETHOSTBYNAME2)
