/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling delay of a thread: the kernel's own figure, read at socket operations and at most
 * once a millisecond. Without it, a busy machine looks like a slow program. A sandboxed thread is left alone, since
 * opening a file might kill it.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>

#include "flow/runtime/runtime.h"
#include "flow/runtime/sys.h"

/* The second number of the line, nanoseconds; false: unknown. */
static bool read_delay(uint64_t *ret_ns)
{
	char text[64];
	ssize_t n;
	int fd, at = 0;

	if (sealed || syscall(SYS_prctl, PR_GET_SECCOMP) != SECCOMP_MODE_DISABLED)
		return false;
	fd = sys_open("/proc/thread-self/schedstat", O_RDONLY);
	if (fd < 0)
		return false;
	n = sys_pread(fd, text, sizeof(text) - 1, 0);
	sys_close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	while (text[at] >= '0' && text[at] <= '9')
		at++;
	if (text[at++] != ' ')
		return false;
	*ret_ns = 0;
	for (; text[at] >= '0' && text[at] <= '9'; at++)
		*ret_ns = *ret_ns * 10 + (uint64_t)(text[at] - '0');
	return true;
}

void delay_look(struct flow_slot *t, uint64_t now, enum flow_delay kind)
{
	bool is_first = !t->delay_at;
	uint64_t ns, more;
	uint32_t words[2];
	int saved = errno;

	t->delay_at = now;
	if (live->delay_ticks && read_delay(&ns)) {
		/* A new thread or process has waited since it was made. */
		more = ns < t->delay_ns ? 0 : ns - t->delay_ns;
		t->delay_ns = ns;
		flow_put_u64(words, more);
		/* The first one says that delays are known; later ones matter only if there was any. */
		if ((is_first || more) && slot_enter(t)) {
			(void)slot_add_other(t, now, flow_word_other(FLOW_O_DELAY, 2, kind), words);
			slot_leave(t);
		}
	}
	errno = saved;
}
