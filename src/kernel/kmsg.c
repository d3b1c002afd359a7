/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"

/* Longer than any record. */
#define RECORD_MAX 16384

static int open_log(struct why *why)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return why_set(why, -errno, "cannot open /dev/kmsg: %s%s", strerror(errno),
			       errno == EPERM || errno == EACCES ? " (needs root or CAP_SYSLOG)" : "");
	return fd;
}

uint64_t kmsg_sequence(const char *record, size_t len)
{
	const char *comma = memchr(record, ',', len), *end;
	char digits[24] = "";
	uint64_t number;

	if (!comma)
		return UINT64_MAX;
	end = memchr(comma + 1, ',', len - (size_t)(comma + 1 - record));
	if (!end || (size_t)(end - comma - 1) >= sizeof(digits))
		return UINT64_MAX;
	memcpy(digits, comma + 1, (size_t)(end - comma - 1));
	return parse_decimal(digits, 0, UINT64_MAX - 1, &number) == 0 ? number : UINT64_MAX;
}

static void take_record(struct kmsg_tail *tail, struct buf *text, const char *record, size_t len, bool overwritten)
{
	uint64_t number = kmsg_sequence(record, len);

	if (overwritten)
		tail->overwritten += number != UINT64_MAX && tail->last != UINT64_MAX && number > tail->last + 1
					     ? number - tail->last - 1
					     : 1;
	if (number != UINT64_MAX)
		tail->last = number;
	if (text->len + len < text->cap)
		buf_add(text, record, len);
	else
		tail->refused++;
}

int kmsg_tail_read(struct kmsg_tail *tail, struct buf *text, struct why *why)
{
	bool overwritten = false;
	char record[RECORD_MAX];

	for (;;) {
		ssize_t n = read(tail->fd, record, sizeof(record));

		if (n > 0) {
			take_record(tail, text, record, (size_t)n, overwritten);
			overwritten = false;
		} else if (n == 0 || errno == EAGAIN) {
			return 0;
		} else if (errno == EPIPE) {
			/* Records were overwritten before they were read; the oldest one left follows. */
			overwritten = true;
		} else if (errno != EINTR) {
			return why_set(why, -errno, "cannot read /dev/kmsg: %s", strerror(errno));
		}
	}
}

int kmsg_tail_open(struct kmsg_tail *tail, struct why *why)
{
	*tail = (struct kmsg_tail){.fd = open_log(why), .last = UINT64_MAX};
	if (tail->fd < 0)
		return tail->fd;
	if (lseek(tail->fd, 0, SEEK_END) < 0) {
		int r = why_set(why, -errno, "cannot follow /dev/kmsg: %s", strerror(errno));

		kmsg_tail_close(tail);
		return r;
	}
	return 0;
}

void kmsg_tail_close(struct kmsg_tail *tail)
{
	if (tail->fd >= 0)
		(void)close(tail->fd);
	tail->fd = -1;
}

int kmsg_read(struct buf *text, struct why *why)
{
	_cleanup_close_ int fd = open_log(why);
	struct kmsg_tail all = {.fd = fd, .last = UINT64_MAX};
	int r = fd < 0 ? fd : kmsg_tail_read(&all, text, why);

	if (r == 0 && all.refused)
		return why_set(why, -E2BIG, "the kernel log is larger than %zu MiB", text->cap >> 20);
	return r;
}

uint64_t kmsg_start_ns(void)
{
	return clock_real_ns() - clock_monotonic_ns();
}
