// SPDX-License-Identifier: GPL-2.0-or-later
/* A user-space VPN: moves IP packets between a TUN device and a UDP socket. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "app_conn.h"

#define TURN 64u

struct tunnel_config {
	struct common_config common;
	const char *dev;
	struct addr local;
	struct addr remote;
	uint64_t port;
	uint64_t mtu;
};

struct tunnel {
	struct app *app;
	int tun_fd;
	int udp_fd;
};

static int tun_open(const struct tunnel_config *c, struct why *why)
{
	_cleanup_close_ int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	_cleanup_close_ int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	size_t len = strlen(c->dev);

	if (fd < 0)
		return why_set(why, -errno, "/dev/net/tun: %m");
	if (len == 0 || len >= IFNAMSIZ)
		return why_set(why, -EINVAL, "dev=%s: not an interface name", c->dev);
	memcpy(request.ifr_name, c->dev, len);
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		return why_set(why, -errno, "%s: %m (needs CAP_NET_ADMIN)", c->dev);
	request.ifr_mtu = (int)c->mtu;
	if (ioctl(control, SIOCSIFMTU, &request) < 0)
		return why_set(why, -errno, "%s: mtu %d: %m", c->dev, request.ifr_mtu);
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(control, SIOCSIFFLAGS, &request) < 0)
		return why_set(why, -errno, "%s: up: %m", c->dev);
	return take_fd(&fd);
}

static int udp_open(const struct tunnel_config *c, struct why *why)
{
	struct sockaddr_storage local, remote;
	struct addr from = c->local;
	socklen_t local_len, remote_len = app_sockaddr(&c->remote, c->port, &remote);
	_cleanup_close_ int fd =
		socket(((struct sockaddr *)&remote)->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return why_set(why, -errno, "socket: %m");
	if (app_addr_is_any(&from))
		from = app_addr_any(c->remote.family);
	if (from.family != c->remote.family)
		return why_set(why, -EAFNOSUPPORT, "local and remote must be of one family");
	local_len = app_sockaddr(&from, c->port, &local);
	if (bind(fd, (struct sockaddr *)&local, local_len) < 0)
		return why_set(why, -errno, "local address: %m");
	if (connect(fd, (struct sockaddr *)&remote, remote_len) < 0)
		return why_set(why, -errno, "remote address: %m");
	return take_fd(&fd);
}

/* Forwards pending packets from one side to the other; drops a packet that does not fit. */
static void tunnel_move(struct tunnel *tunnel, int from, int to)
{
	uint8_t packet[65536];

	for (unsigned int turn = 0; turn < TURN; turn++) {
		ssize_t n = read(from, packet, sizeof(packet));

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			app_count_error(tunnel->app, errno);
		if (n <= 0)
			return;
		if (write(to, packet, (size_t)n) < 0) {
			app_count_error(tunnel->app, errno);
			continue;
		}
		tunnel->app->progress.bytes += (uint64_t)n;
		app_count_op(tunnel->app, LAT_UNKNOWN);
	}
}

static void tunnel_out(void *context, uint32_t events _unused_)
{
	struct tunnel *tunnel = context;

	tunnel_move(tunnel, tunnel->tun_fd, tunnel->udp_fd);
}

static void tunnel_in(void *context, uint32_t events _unused_)
{
	struct tunnel *tunnel = context;

	tunnel_move(tunnel, tunnel->udp_fd, tunnel->tun_fd);
}

static int tunnel_start(struct app *app, void *config, struct why *why)
{
	static struct tunnel tunnel;
	const struct tunnel_config *c = config;
	int r;

	tunnel = (struct tunnel){.app = app, .tun_fd = tun_open(c, why), .udp_fd = -1};
	if (tunnel.tun_fd < 0)
		return tunnel.tun_fd;
	tunnel.udp_fd = udp_open(c, why);
	if (tunnel.udp_fd < 0)
		return tunnel.udp_fd;
	r = loop_add_fd(app->loop, tunnel.tun_fd, EPOLLIN, tunnel_out, &tunnel, NULL);
	if (r == 0)
		r = loop_add_fd(app->loop, tunnel.udp_fd, EPOLLIN, tunnel_in, &tunnel, NULL);
	if (r < 0)
		return why_set(why, r, "waiting: %s", strerror(-r));
	app_ready(app);
	return 0;
}

static const struct app_option tunnel_options[] = {
	{"dev", OPTION_TEXT, MEMBER(struct tunnel_config, dev), "tun0", "name of the device to create"},
	{"local", OPTION_LISTEN, MEMBER(struct tunnel_config, local), "::", "own outer address (:: for any)"},
	{"remote", OPTION_TARGET, MEMBER(struct tunnel_config, remote), NULL, "outer address of the other end"},
	{"port", OPTION_PORT, MEMBER(struct tunnel_config, port), NULL, "UDP port at both ends"},
	{"mtu", OPTION_COUNT, MEMBER(struct tunnel_config, mtu), "1400", "MTU of the device, bytes", .min = 68,
	 .max = 65535},
};

static const struct app_role tunnel_role = {
	"tunnel",
	"one end of a VPN: IP packets of a TUN device over UDP; an operation is one packet",
	sizeof(struct tunnel_config),
	tunnel_options,
	ARRAY_SIZE(tunnel_options),
	tunnel_start};

APP_ROLE(tunnel_role);
