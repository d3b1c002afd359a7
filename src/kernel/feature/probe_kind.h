/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each kind of program is attached and made to run; used by probe_run.c alone. */
#pragma once

#include "kernel/feature/probe_run.h"
#include "kernel/object.h"

/* One probe under way. */
struct probe_try {
	const struct probe_kind *kind;
	struct kernel_object *object;
	const uint64_t *fired;
	bool private_net;
	int fd;         /* what the attach function left open: a link, an iterator, a socket; closed with the probe */
	struct why why; /* filled by attach and noise functions */
};

struct probe_kind {
	enum probe_slot slot;
	const char *name;
	const char *program;
	const char *object;     /* NULL: probe.bpf.o */
	const char *map;        /* beyond the global variables, which every program uses */
	bool wants_private_net; /* attached nowhere else */
	unsigned program_type;  /* where libbpf does not know the section */
	unsigned attach_type;
	int (*attach)(struct probe_try *try); /* NULL: by the program's section */
	int (*noise)(struct probe_try *try);  /* negative errno when it could not be made */
};

extern const struct probe_kind probe_kinds[];
extern const size_t probe_kind_count;

/* probe_attach.c */
int probe_attach_tracepoint(struct probe_try *try);
int probe_attach_kprobe(struct probe_try *try);
int probe_attach_kprobe_multi(struct probe_try *try);
int probe_attach_uprobe(struct probe_try *try);
int probe_attach_perf_event(struct probe_try *try);
int probe_attach_iter(struct probe_try *try);
int probe_attach_cgroup(struct probe_try *try);
int probe_attach_socket(struct probe_try *try);
int probe_attach_tc(struct probe_try *try);
int probe_attach_tcx(struct probe_try *try);
int probe_attach_xdp(struct probe_try *try);
int probe_attach_netfilter(struct probe_try *try);
int probe_attach_netns(struct probe_try *try);
int probe_attach_nothing(struct probe_try *try);

/* probe_noise.c */
int probe_noise_sleep(struct probe_try *try);
int probe_noise_syscall(struct probe_try *try);
int probe_noise_call(struct probe_try *try);
int probe_noise_tcp(struct probe_try *try);
int probe_noise_udp(struct probe_try *try);
int probe_noise_spin(struct probe_try *try);
int probe_noise_iter(struct probe_try *try);
int probe_noise_ring(struct probe_try *try);
int probe_noise_run(struct probe_try *try);
/* What the user-space probes are put on. */
void probe_target(void);
/* Without it nothing travels in a new network namespace. */
int probe_loopback_up(void) _must_check_;
