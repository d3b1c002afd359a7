/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triggers for attached programs: a sleep, a system call, a byte through the loopback. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "kernel/feature/probe_kind.h"

/* Longest wait for an attached program to run. */
#define PATIENCE_NS (100 * UINT64_C(1000000))

static bool has_fired(const struct probe_try *try)
{
	return __atomic_load_n(try->fired, __ATOMIC_ACQUIRE) > 0;
}

static void sleep_briefly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void wait_fired(const struct probe_try *try)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	while (!has_fired(try) && clock_monotonic_ns() < end)
		sleep_briefly();
}

int probe_noise_sleep(struct probe_try *try)
{
	sleep_briefly();
	wait_fired(try);
	return 0;
}

int probe_noise_syscall(struct probe_try *try _unused_)
{
	(void)syscall(SYS_getppid);
	return 0;
}

__attribute__((noinline)) void probe_target(void)
{
	/* Keeps the compiler from dropping the call. */
	__asm__ volatile("");
}

int probe_noise_call(struct probe_try *try _unused_)
{
	probe_target();
	return 0;
}

int probe_loopback_up(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_name = "lo"};

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* A socket bound to a free port of the loopback, and its address. */
static int bind_loopback(int type, struct sockaddr_in *ret_address)
{
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret_address);

	*ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret_address, &len) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Packets inside the host take no longer. */
static int limit_waiting(int fd)
{
	struct timeval limit = {.tv_usec = 300000};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	return 0;
}

static int one_byte_by_tcp(void)
{
	struct sockaddr_in address;
	_cleanup_close_ int listener = bind_loopback(SOCK_STREAM, &address), client = -1, server = -1;
	char byte = 'n';

	if (listener < 0)
		return listener;
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || listen(listener, 1) < 0)
		return -errno;
	if (limit_waiting(client) < 0 || limit_waiting(listener) < 0)
		return -errno;
	if (connect(client, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(client, &byte, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0 || limit_waiting(server) < 0 || recv(server, &byte, 1, 0) != 1)
		return errno ? -errno : -EIO;
	return 0;
}

int probe_noise_tcp(struct probe_try *try)
{
	int r;

	errno = 0;
	r = one_byte_by_tcp();
	if (r < 0)
		return why_set(&try->why, r, "no byte arrived through the loopback interface");
	wait_fired(try);
	return 0;
}

/* Sends to the socket that probe_attach_socket left in fd. */
int probe_noise_udp(struct probe_try *try)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	char byte = 'n';

	if (getsockname(try->fd, (struct sockaddr *)&address, &len) < 0 ||
	    sendto(try->fd, &byte, 1, MSG_NOSIGNAL, (struct sockaddr *)&address, len) != 1)
		return why_set(&try->why, -errno, "no byte arrived through the loopback interface");
	wait_fired(try);
	return 0;
}

/* The CPU clock counts only while the CPU is busy. */
int probe_noise_spin(struct probe_try *try)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	while (!has_fired(try) && clock_monotonic_ns() < end)
		;
	return 0;
}

/* Reads the iterator in fd to its end: the programs write nothing, so one read is enough. */
int probe_noise_iter(struct probe_try *try)
{
	/* At least one socket to iterate over. */
	_cleanup_close_ int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char data[4096];

	if (socket_fd < 0)
		return why_set(&try->why, -errno, "cannot create a socket");

	for (unsigned i = 0; i < 64; i++) {
		ssize_t n = read(try->fd, data, sizeof(data));

		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return why_set(&try->why, -errno, "cannot read the iterator");
	}
	return 0;
}

static int take_mark(void *context, void *data, size_t size)
{
	bool *seen = context;

	if (size >= sizeof(uint32_t) && *(uint32_t *)data == PROBE_RING_MARK)
		*seen = true;
	return 0;
}

/* The program's record must also arrive. */
int probe_noise_ring(struct probe_try *try)
{
	struct ring_buffer *ring;
	bool seen = false;
	int fd = kernel_object_map_fd(try->object, "probe_ring");

	if (fd < 0)
		return fd;
	ring = ring_buffer__new(fd, take_mark, &seen, NULL);
	if (!ring)
		return why_set(&try->why, -errno, "cannot map the ring buffer");
	probe_noise_sleep(try);
	(void)ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return seen ? 0 : why_set(&try->why, -ENODATA, "nothing arrived through the ring buffer");
}

int probe_noise_run(struct probe_try *try)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int r = bpf_prog_test_run_opts(bpf_program__fd(kernel_object_program(try->object, try->kind->program)),
				       &options);

	if (r < 0)
		return why_set(&try->why, r, "cannot run the program");
	if (options.retval != 0)
		return why_set(&try->why, -EIO, "the program failed at step %u", options.retval);
	wait_fired(try);
	return 0;
}
