/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a program reads from the socket that it sends UDP requests from. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/buf.h"
#include "probe/datagram.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

/* Services looked at in a sample, and bytes of a list of descriptors. */
#define READERS_MAX 16
#define FDINFO_MAX  65536

/* Lines are "tfd:        5 events:       19 data: ...". */
bool datagram_epoll_reads(const char *text, uint32_t fd)
{
	do {
		const char *line = text;
		uint64_t number, events;

		if (strncmp(line, "tfd:", 4) == 0 && scan_skip(&line, 1) && scan_u64(&line, &number) && number == fd &&
		    scan_skip(&line, 1) && scan_hex(&line, &events))
			return events & EPOLLIN;
	} while (scan_next_line(&text));
	return false;
}

static bool is_in_epoll(const struct thread_record *t, uint32_t fd)
{
	_cleanup_buf_ struct buf text = BUF_INIT(FDINFO_MAX);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", t->pid, t->syscall_fd);
	return buf_read_file(&text, path) == 0 && datagram_epoll_reads(buf_text(&text), fd);
}

/* In a poll of several descriptors, it may be one of them. */
static bool reads_among_others(const struct thread_record *t, uint32_t fd)
{
	const char *call = enum_name_find(&syscall_names, t->syscall);

	if (!call || t->thread_state != 'S')
		return false;
	if (strstr(call, "epoll"))
		return t->syscall_fd != UINT32_MAX && is_in_epoll(t, fd);
	return t->syscall_fd == UINT32_MAX && (strstr(call, "poll") || strstr(call, "select"));
}

/* A receive from it, or a poll of it alone. */
static bool waits(const struct thread_record *t, uint32_t fd)
{
	return t->syscall_fd == fd && t->thread_state == 'S';
}

static void note_threads(const struct snapshot *snapshot, const struct owner_record *owner,
			 struct datagram_record *record)
{
	snapshot_each(snapshot, thread_type, const struct thread_record, t) {
		if (t->pid != owner->pid)
			continue;
		if (waits(t, owner->fd)) {
			record->is_read = true;
			record->pid = t->pid;
			memcpy(record->comm, t->comm, sizeof(record->comm));
			return;
		}
		record->is_read = record->is_read || reads_among_others(t, owner->fd);
	}
}

static void find_reader(const struct snapshot *snapshot, uint32_t netns, struct datagram_record *record)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		if (s->proto != 17 || s->lport != record->lport || s->netns != netns || !s->inode)
			continue;
		snapshot_each(snapshot, owner_type, const struct owner_record, owner)
			if (owner->inode == s->inode && !record->pid)
				note_threads(snapshot, owner, record);
	}
}

void datagrams_find_readers(struct datagrams *datagrams, const struct snapshot *snapshot, uint32_t netns)
{
	unsigned left = READERS_MAX;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&datagrams->services, &at, &key, &value)) {
		struct datagram_record *record = value; /* the first member of what is kept */

		record->pid = 0;
		memset(record->comm, 0, sizeof(record->comm));
		if (record->lport && !record->serves && left > 0 && left--)
			find_reader(snapshot, netns, record);
	}
}
