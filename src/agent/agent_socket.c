/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before base/macros.h, which forbids names that this header uses. */
#include <sys/epoll.h>

#include "agent/agent_socket.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "run/agent_ask.h"

#define GROUP      "nest"
#define GROUPS_MAX 256

struct agent_socket {
	struct loop *loop;
	int fd;
	char *path;
	char *answer;
	bool has_group;
	gid_t group; /* nest */
	struct loop_source *source;
};

/* --- who asks --- */

static bool is_member(const struct agent_socket *socket, int fd, gid_t primary)
{
	gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof(groups);

	if (!socket->has_group)
		return false;
	if (primary == socket->group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == socket->group)
			return true;
	return false;
}

static bool may_ask(const struct agent_socket *socket, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid() || is_member(socket, fd, peer.gid));
}

/* One packet, which fits the buffer of a fresh socket: nobody can make the agent wait. */
static void on_client(void *context, uint32_t events _unused_)
{
	struct agent_socket *socket = context;
	_cleanup_close_ int fd = -1;

	fd = accept4(socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0 && may_ask(socket, fd))
		(void)!send(fd, socket->answer, strlen(socket->answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- the socket --- */

static bool is_answered(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = -1;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

/* A socket that a killed agent left is replaced, any other file is not. */
static int clear_path(const struct sockaddr_un *address, struct why *why)
{
	struct stat info;

	if (lstat(address->sun_path, &info) < 0)
		return 0;
	if (!S_ISSOCK(info.st_mode))
		return why_set(why, -EEXIST, "%s exists and is no socket", address->sun_path);
	if (is_answered(address))
		return why_set(why, -EADDRINUSE, "another nest agent answers at %s (--socket PATH or none)",
			       address->sun_path);
	return unlink(address->sun_path) < 0
		       ? why_set(why, -errno, "cannot remove %s: %s", address->sun_path, strerror(errno))
		       : 0;
}

static int make_directory(const char *path, struct why *why)
{
	_cleanup_free_ char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	return *dir ? files_make_dirs(dir, why) : 0;
}

static void find_group(struct agent_socket *socket)
{
	struct group entry, *found = NULL;
	char text[16384];

	if (getgrnam_r(GROUP, &entry, text, sizeof(text), &found) == 0 && found) {
		socket->has_group = true;
		socket->group = found->gr_gid;
	}
}

static int open_path(struct agent_socket *socket_, struct why *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = socket_->path;
	mode_t mode = socket_->has_group ? 0660 : 0600, before;
	int r;

	if (*path != '/' || strlen(path) >= sizeof(address.sun_path))
		return why_set(why, -EINVAL, "--socket needs an absolute path of at most %zu bytes",
			       sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	r = make_directory(path, why);
	if (r == 0)
		r = clear_path(&address, why);
	if (r < 0)
		return r;
	socket_->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	before = umask(0177);
	r = socket_->fd < 0 || bind(socket_->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
			    listen(socket_->fd, 64) < 0
		    ? -errno
		    : 0;
	(void)umask(before);
	if (r == 0 && socket_->has_group && chown(path, (uid_t)-1, socket_->group) < 0)
		mode = 0600;
	if (r == 0 && chmod(path, mode) < 0)
		r = -errno;
	return r < 0 ? why_set(why, r, "cannot listen at %s: %s", path, strerror(-r)) : 0;
}

/* Members of the group may read the file that the answer names. */
static void share_store(const struct agent_socket *socket, const char *store)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	for (size_t i = 0; socket->has_group && i < ARRAY_SIZE(ends); i++) {
		_cleanup_free_ char *path = xasprintf("%s%s", store, ends[i]);

		if (lchown(path, (uid_t)-1, socket->group) == 0)
			(void)!chmod(path, 0640);
	}
}

int agent_socket_new(struct loop *loop, const char *path, const char *store, struct agent_socket **ret_socket,
		     struct why *why)
{
	struct agent_socket *socket = xzalloc(sizeof(*socket));
	_cleanup_free_ char *whole = realpath(store, NULL);
	int r;

	socket->loop = loop;
	socket->fd = -1;
	socket->path = xstrdup(path);
	socket->answer = xasprintf(AGENT_GREETING "\nstore %s\n", whole ?: store);
	find_group(socket);
	r = open_path(socket, why);
	if (r == 0)
		r = loop_add_fd(loop, socket->fd, EPOLLIN, on_client, socket, &socket->source);
	if (r < 0) {
		/* Not ours to remove. */
		free(take_ptr(socket->path));
		agent_socket_free(socket);
		return r;
	}
	share_store(socket, store);
	*ret_socket = socket;
	return 0;
}

void agent_socket_free(struct agent_socket *socket)
{
	if (!socket)
		return;
	if (socket->source)
		loop_remove(socket->loop, socket->source);
	if (socket->fd >= 0)
		(void)close(socket->fd);
	if (socket->path)
		(void)unlink(socket->path);
	free(socket->path);
	free(socket->answer);
	free(socket);
}
