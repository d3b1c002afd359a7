/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/agent_ask.h"

#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"

/* An agent that is busy answers late; one that hangs must not stop the caller. */
#define WAIT_MS 500

char *agent_ask_parse(const char *answer, size_t len)
{
	static const char head[] = AGENT_GREETING "\nstore /";
	const char *path = answer + sizeof(head) - 2, *end;

	if (len < sizeof(head) || memcmp(answer, head, sizeof(head) - 1) != 0)
		return NULL;
	end = memchr(path, '\n', len - (size_t)(path - answer));
	if (!end || end - path >= PATH_MAX || memchr(path, '\0', (size_t)(end - path)))
		return NULL;
	return xstrndup(path, (size_t)(end - path));
}

/* The user of the service (nest-agent.service): nobody can log in as that. */
static bool is_service(uid_t uid)
{
	char room[4096];
	struct passwd user, *found = NULL;

	return getpwnam_r("nest", &user, room, sizeof(room), &found) == 0 && found && found->pw_uid == uid;
}

bool agent_ask_trusts(uid_t uid)
{
	return uid == 0 || uid == geteuid() || is_service(uid);
}

/* Nobody else may say which file to read. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && agent_ask_trusts(peer.uid);
}

char *agent_ask_file(void)
{
	const char *path = secure_getenv("NEST_AGENT") ?: AGENT_SOCKET;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval wait = {.tv_usec = WAIT_MS * 1000};
	char answer[PATH_MAX + 64];
	_cleanup_close_ int fd = -1;
	ssize_t len;

	if (strcmp(path, "none") == 0 || strlen(path) >= sizeof(address.sun_path))
		return NULL;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || !is_trusted(fd))
		return NULL;
	len = recv(fd, answer, sizeof(answer), 0);
	return len > 0 ? agent_ask_parse(answer, (size_t)len) : NULL;
}
