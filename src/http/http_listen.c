/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/parse.h"
#include "base/text.h"

#define BACKLOG 1024

_Static_assert(HTTP_PATH_MAX == sizeof(((struct sockaddr_un *)0)->sun_path), "path of a UNIX socket");

const struct option_spec http_option_table[] = {
	OPTION(struct http_options, listen, TEXT, "listen", 0, "ADDRESS:PORT|unix:PATH",
	       "listen here (default: nest agent does not listen, others: 127.0.0.1, a free port); addresses other "
	       "than loopback need TLS and --token-file",
	       .file = FILE_LISTEN),
	OPTION(struct http_options, tls_cert, TEXT, "tls-cert", 0, "FILE", "certificate chain in PEM format",
	       .file = FILE_READ),
	OPTION(struct http_options, tls_key, TEXT, "tls-key", 0, "FILE", "its private key in PEM format",
	       .file = FILE_READ),
	OPTION(struct http_options, token_file, TEXT, "token-file", 0, "FILE",
	       "read the token of requests from this file (default: a random one)", .file = FILE_READ),
	OPTION(struct http_options, names, TEXTS, "host-name", 0, "NAME",
	       "accept requests for this host name, besides the address; may be repeated"),
	OPTION_END,
};

/* --- words --- */

static const struct addr loopback = {.family = ADDR_V4, .bytes = {ADDR_MAPPED_HEAD, 127, 0, 0, 1}};

static int refuse(const char *text, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256);

	text_add_terminal(&shown, text, strnlen(text, 60));
	return why_set(why, -EINVAL, "--listen: '%s' is not ADDRESS:PORT or unix:PATH (host names are not looked up)",
		       buf_text(&shown));
}

static int parse_path(const char *path, struct http_listen *listen, struct why *why)
{
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(listen->path))
		return why_set(why, -EINVAL, "--listen: the path of a UNIX socket has 1 to %zu bytes, not %zu",
			       sizeof(listen->path) - 1, len);
	listen->local = true;
	memcpy(listen->path, path, len + 1);
	return 0;
}

int http_listen_parse(const char *text, struct http_listen *ret_listen, struct why *why)
{
	struct http_listen listen = {.addr = loopback};
	struct endpoint endpoint = {};
	const char *port = NULL;
	int r = 0;

	if (!text)
		text = "127.0.0.1:0";
	if (strncmp(text, "unix:", 5) == 0) {
		r = parse_path(text + 5, &listen, why);
		if (r == 0)
			*ret_listen = listen;
		return r;
	}
	if (strncmp(text, "localhost:", 10) == 0 || strncmp(text, "*:", 2) == 0)
		port = strchr(text, ':') + 1;
	else if (text[strspn(text, "0123456789")] == '\0')
		port = text;
	if (port)
		r = parse_port(port, &listen.port);
	else
		r = addr_parse_endpoint(text, &endpoint);
	if (r < 0 || *text == '\0' || (*text == ':' && text[1] != ':'))
		return refuse(text, why);
	if (!port) {
		listen.addr = endpoint.addr;
		listen.port = endpoint.port;
	} else if (*text == '*') {
		listen.addr = (struct addr){};
	}
	*ret_listen = listen;
	return 0;
}

bool http_listen_is_any(const struct http_listen *listen)
{
	static const uint8_t none[16];
	const struct addr *addr = &listen->addr;

	return addr->family == 0 || memcmp(addr->bytes, none, 16) == 0 ||
	       (addr->family == ADDR_V4 && memcmp(addr->bytes + 12, none, 4) == 0);
}

bool http_listen_is_private(const struct http_listen *listen)
{
	return listen->local || addr_is_loopback(&listen->addr);
}

int http_options_check(const struct http_options *options, const struct http_listen *listen, struct why *why)
{
	bool tls = options->tls_cert || options->tls_key;

	if (tls && !(options->tls_cert && options->tls_key))
		return why_set(why, -EINVAL, "--tls-cert and --tls-key belong together");
	if (tls && listen->local)
		return why_set(why, -EINVAL, "a UNIX socket has no TLS: its file mode protects it");
	if (http_listen_is_private(listen) || (tls && options->token_file))
		return 0;
	return why_set(why, -EINVAL,
		       "--listen: an address that is not loopback needs --tls-cert, --tls-key and --token-file");
}

/* --- sockets --- */

/* A socket file that nobody listens at. */
static bool is_stale(const struct sockaddr_un *at, struct why *why)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat found;

	if (lstat(at->sun_path, &found) < 0)
		return false;
	if (!S_ISSOCK(found.st_mode)) {
		(void)why_set(why, -EEXIST, "cannot listen at unix:%.108s: it exists and is not a socket",
			      at->sun_path);
		return false;
	}
	if (fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 && errno == ECONNREFUSED)
		return true;
	(void)why_set(why, -EADDRINUSE, "cannot listen at unix:%.108s: another process listens there", at->sun_path);
	return false;
}

static int bind_local(int fd, const struct sockaddr_un *at)
{
	mode_t old = umask(0177);
	int r = bind(fd, (const struct sockaddr *)at, sizeof(*at)) < 0 ? -errno : 0;

	(void)umask(old);
	return r;
}

static int open_local(const struct http_listen *where, struct why *why)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return why_set(why, -errno, "cannot make a socket: %s", strerror(errno));
	memcpy(at.sun_path, where->path, sizeof(where->path));
	r = bind_local(fd, &at);
	if (r == -EADDRINUSE) {
		if (!is_stale(&at, why))
			return r;
		(void)unlink(where->path);
		r = bind_local(fd, &at);
	}
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0)
		return why_set(why, r, "cannot listen at unix:%s: %s", where->path, strerror(-r));
	return take_fd(&fd);
}

static socklen_t fill_address(const struct http_listen *where, struct sockaddr_storage *at)
{
	struct sockaddr_in *four = (struct sockaddr_in *)at;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)at;

	memset(at, 0, sizeof(*at));
	if (where->addr.family == ADDR_V4) {
		four->sin_family = AF_INET;
		four->sin_port = htons(where->port);
		memcpy(&four->sin_addr, where->addr.bytes + 12, 4);
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(where->port);
	memcpy(&six->sin6_addr, where->addr.bytes, 16);
	return sizeof(*six);
}

static int bind_inet(int fd, const struct sockaddr_storage *at, socklen_t len)
{
	/* "*" is IPv4 as well; an IPv6 address is not. */
	int yes = 1, only = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    (at->ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) < 0) ||
	    bind(fd, (const struct sockaddr *)at, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

static int open_inet(struct http_listen *where, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256);
	struct sockaddr_storage at;
	socklen_t len = fill_address(where, &at);
	_cleanup_close_ int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	/* A host without IPv6: all addresses are those of IPv4. */
	if (fd < 0 && errno == EAFNOSUPPORT && http_listen_is_any(where)) {
		where->addr = (struct addr){.family = ADDR_V4, .bytes = {ADDR_MAPPED_HEAD}};
		len = fill_address(where, &at);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	r = fd < 0 ? -errno : bind_inet(fd, &at, len);
	if (r == 0 && getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		r = -errno;
	if (r < 0) {
		addr_format_endpoint(&(struct endpoint){.addr = where->addr, .port = where->port}, &shown);
		return why_set(why, r, "cannot listen at %s: %s", buf_text(&shown), strerror(-r));
	}
	where->port = ntohs(at.ss_family == AF_INET ? ((struct sockaddr_in *)&at)->sin_port
						    : ((struct sockaddr_in6 *)&at)->sin6_port);
	return take_fd(&fd);
}

int http_listen_open(struct http_listen *listen, struct why *why)
{
	return listen->local ? open_local(listen, why) : open_inet(listen, why);
}

void http_listen_remove(const struct http_listen *listen)
{
	if (listen->local)
		(void)unlink(listen->path);
}
