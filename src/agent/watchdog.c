/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/watchdog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parse.h"

struct watchdog {
	struct loop *loop;
	int fd; /* -1: nobody listens */
	bool (*alive)(void *context);
	void *context;
	struct loop_source *timer;
};

static void say(const struct watchdog *watchdog, const char *text)
{
	/* A service manager that does not listen for a moment is not worth an error. */
	if (watchdog->fd >= 0)
		(void)!send(watchdog->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void on_timer(void *context, uint64_t expirations _unused_)
{
	struct watchdog *watchdog = context;

	if (watchdog->alive(watchdog->context))
		say(watchdog, "WATCHDOG=1");
}

/* A path, or a name of the abstract namespace that begins with @. */
static int open_socket(const char *path, int *ret_fd, struct why *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	_cleanup_close_ int fd = -1;

	if ((*path != '/' && *path != '@') || len < 2 || len >= sizeof(address.sun_path))
		return why_set(why, -EINVAL, "NOTIFY_SOCKET is no path of a socket: '%.100s'", path);
	memcpy(address.sun_path, path, len);
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return why_set(why, -errno, "cannot reach the service manager at %.100s (NOTIFY_SOCKET): %s", path,
			       strerror(errno));
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* Half of what the service manager waits; 0: it does not, or waits for another process. */
static uint64_t interval(void)
{
	const char *text = secure_getenv("WATCHDOG_USEC"), *pid_text = secure_getenv("WATCHDOG_PID");
	uint64_t usec, pid;

	if (!text || parse_decimal(text, 1, UINT64_MAX / NSEC_PER_USEC, &usec) < 0)
		return 0;
	if (pid_text && (parse_decimal(pid_text, 1, INT32_MAX, &pid) < 0 || pid != (uint64_t)getpid()))
		return 0;
	return usec * NSEC_PER_USEC / 2;
}

int watchdog_new(struct loop *loop, bool (*alive)(void *context), void *context, struct watchdog **ret_watchdog,
		 struct why *why)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct watchdog *watchdog = xzalloc(sizeof(*watchdog));
	uint64_t interval_ns = interval();
	int r = 0;

	*watchdog = (struct watchdog){.loop = loop, .fd = -1, .alive = alive, .context = context};
	if (path && *path)
		r = open_socket(path, &watchdog->fd, why);
	if (r == 0 && watchdog->fd >= 0 && interval_ns)
		r = loop_add_timer(loop, interval_ns, interval_ns, on_timer, watchdog, &watchdog->timer);
	if (r < 0) {
		watchdog_free(watchdog);
		return r;
	}
	*ret_watchdog = watchdog;
	return 0;
}

void watchdog_ready(struct watchdog *watchdog)
{
	say(watchdog, "READY=1");
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	say(watchdog, "STOPPING=1");
	if (watchdog->timer)
		loop_remove(watchdog->loop, watchdog->timer);
	if (watchdog->fd >= 0)
		(void)close(watchdog->fd);
	free(watchdog);
}
