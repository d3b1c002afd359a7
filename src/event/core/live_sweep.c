/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has begun and not ended: reported by an iterator over socket storage. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "event/core/live_private.h"

void live_sweep(struct live *live, unsigned request)
{
	const struct event *event = live->requests[request].event;
	struct bpf_program *program = event->sweep ? kernel_object_program(live->object, event->sweep) : NULL;
	int map_fd = program ? kernel_object_map_fd(live->object, event->swept) : -1;
	union bpf_iter_link_info info = {.map = {.map_fd = (uint32_t)map_fd}};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info, .link_info_len = sizeof(info));
	_cleanup_close_ int fd = -1;
	struct bpf_link *link;
	char nothing[64];

	/* The kernel refused the program: its role says what is missing. */
	if (map_fd < 0 || bpf_program__fd(program) < 0)
		return;
	link = bpf_program__attach_iter(program, &options);
	fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	while (fd >= 0 && read(fd, nothing, sizeof(nothing)) > 0)
		;
	(void)bpf_link__destroy(link);
}

void live_sweep_streams(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->requests[i].config.mode == EVENT_STREAM)
			live_sweep(live, i);
}
