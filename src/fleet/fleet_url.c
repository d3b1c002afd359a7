/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_url.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "fleet/libcurl.h"

#define URL_MAX 2048

void fleet_url_done(struct fleet_url *url)
{
	free(url->base);
	free(url->user);
	free(url->password);
	free(url->database);
	*url = (struct fleet_url){};
}

/* A part of the URL, decoded; NULL when it is not there. The caller frees it. */
static char *part_of(CURLU *handle, CURLUPart part, unsigned flags)
{
	char *text = NULL, *own;

	if (libcurl.curl_url_get(handle, part, &text, flags) != CURLUE_OK || !text)
		return NULL;
	own = xstrdup(text);
	libcurl.curl_free(text);
	return own;
}

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", digits[] = "0123456789";

	for (const char *at = text; *at; at++)
		if (!strchr(letters, *at) && (at == text || !strchr(digits, *at)))
			return false;
	return *text && strlen(text) <= 64;
}

static int set_parts(CURLU *handle, struct fleet_url *url, struct why *why)
{
	_cleanup_free_ char *scheme = part_of(handle, CURLUPART_SCHEME, 0), *host = part_of(handle, CURLUPART_HOST, 0),
			    *port = part_of(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT),
			    *path = part_of(handle, CURLUPART_PATH, CURLU_URLDECODE),
			    *query = part_of(handle, CURLUPART_QUERY, 0),
			    *fragment = part_of(handle, CURLUPART_FRAGMENT, 0);

	if (!scheme || !host || !port || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return why_set(why, -EINVAL,
			       "not a URL of a server: write http://HOST:PORT or https://HOST:PORT, "
			       "for ClickHouse with /DATABASE");
	if (query || fragment)
		return why_set(why, -EINVAL, "the URL of a server has no ? and no #");
	url->tls = strcmp(scheme, "https") == 0;
	url->base = xasprintf("%s://%s:%s", scheme, host, port);
	url->user = part_of(handle, CURLUPART_USER, CURLU_URLDECODE);
	url->password = part_of(handle, CURLUPART_PASSWORD, CURLU_URLDECODE);
	if (path && path[0] && strcmp(path, "/") != 0) {
		if (!is_name(path + 1))
			return why_set(why, -EINVAL,
				       "the path of the URL is not the name of a database (letters, "
				       "digits, _)");
		url->database = xstrdup(path + 1);
	}
	return 0;
}

int fleet_url_parse(const char *text, struct fleet_url *ret_url, struct why *why)
{
	struct fleet_url url = {};
	CURLU *handle;
	int r = libcurl_load(why);

	if (r < 0)
		return r;
	if (strlen(text) > URL_MAX)
		return why_set(why, -EINVAL, "the URL is longer than %d characters", URL_MAX);
	handle = libcurl.curl_url();
	if (!handle || libcurl.curl_url_set(handle, CURLUPART_URL, text, 0) != CURLUE_OK)
		r = why_set(why, -EINVAL,
			    "not a URL: write http://HOST:PORT or https://HOST:PORT, for ClickHouse "
			    "with /DATABASE");
	if (r == 0)
		r = set_parts(handle, &url, why);
	libcurl.curl_url_cleanup(handle);
	if (r < 0)
		fleet_url_done(&url);
	else
		*ret_url = url;
	return r;
}

int fleet_url_parse_database(const char *text, struct fleet_url *ret_url, struct why *why)
{
	struct fleet_url url = {};
	int r = fleet_url_parse(text, &url, why);

	if (r == 0 && !url.database) {
		fleet_url_done(&url);
		r = why_set(why, -EINVAL, "the URL names no database: http://HOST:8123/DATABASE");
	}
	if (r == 0)
		*ret_url = url;
	return r;
}
