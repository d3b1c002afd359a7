/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to attach and trigger each program type; used only by probe_run.c. */
#pragma once

#include "kernel/feature/probe_run.h"
#include "kernel/object.h"

/* One running probe. */
struct probe_try {
	const struct probe_kind *kind;
	struct kernel_object *object;
	const uint64_t *fired;
	bool private_net;
	int fd;         /* left open by the attach function: a link, an iterator, a socket; closed with the probe */
	struct why why; /* filled by attach and noise functions */
};

struct probe_kind {
	enum probe_slot slot;
	const char *name;
	const char *program;
	const char *object;     /* NULL: probe.bpf.o */
	const char *map;        /* in addition to the global variables */
	bool wants_private_net; /* attach only there */
	unsigned program_type;  /* when libbpf does not know the section */
	unsigned attach_type;
	int (*attach)(struct probe_try *try); /* NULL: by the program's section */
	int (*noise)(struct probe_try *try);  /* triggers the program; negative errno when it could not */
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
/* Target of the uprobes. */
void probe_target(void);
/* In a new network namespace the loopback is down. */
int probe_loopback_up(void) _must_check_;
