/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_origin.h"

#include <limits.h>
#include <strings.h>

#include "base/parse.h"

#define HOST_MAX 300

/* Splits "name:port", "[::1]:port", "name". The name without brackets. */
static bool split_host(const char *host, bool tls, char *name, size_t size, uint16_t *ret_port)
{
	const char *end, *port = NULL;
	bool brackets = *host == '[';

	host += brackets;
	end = host + strcspn(host, brackets ? "]" : ":");
	if (brackets && *end != ']')
		return false;
	if (end == host || (size_t)(end - host) >= size)
		return false;
	memcpy(name, host, (size_t)(end - host));
	name[end - host] = '\0';
	end += brackets;
	if (*end == ':')
		port = end + 1;
	else if (*end)
		return false;
	*ret_port = tls ? 443 : 80;
	return !port || parse_port(port, ret_port) == 0;
}

static bool is_listed(const struct text_list *names, const char *name)
{
	for (size_t i = 0; names && i < names->count; i++)
		if (strcasecmp(names->items[i], name) == 0)
			return true;
	return false;
}

bool http_origin_host_is_own(const struct http_origin *own, const char *host)
{
	const struct http_listen *listen = own->listen;
	struct addr addr = {};
	char name[HOST_MAX];
	uint16_t port;

	/* No browser reaches a UNIX socket. */
	if (listen->local)
		return true;
	if (!split_host(host, own->tls, name, sizeof(name), &port))
		return false;
	if (is_listed(own->names, name))
		return true;
	if (port != listen->port)
		return false;
	/* An address cannot be made to point elsewhere, as a name can. */
	if (addr_parse(name, &addr) == 0)
		return listen->addr.family == 0 || addr_equal(&addr, &listen->addr) || http_listen_is_any(listen);
	return strcasecmp(name, "localhost") == 0 && (http_listen_is_private(listen) || http_listen_is_any(listen));
}

bool http_origin_is_own(const struct http_origin *own, const char *origin, const char *host)
{
	const char *scheme = own->tls ? "https://" : "http://";
	size_t len = strlen(scheme);

	return strncasecmp(origin, scheme, len) == 0 && strcasecmp(origin + len, host) == 0;
}
