/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcurl and what it needs (OpenSSL, nghttp2, LDAP ...) are loaded only by commands that talk to a server. Its
 * functions are called through libcurl.NAME.
 */
#pragma once

#include <curl/curl.h>

#include "base/why.h"

/* As macros these would call the functions by their names. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define LIBCURL_FUNCTIONS(x)                                                                                           \
	x(curl_global_init) x(curl_easy_init) x(curl_easy_cleanup) x(curl_easy_setopt) x(curl_easy_getinfo)            \
		x(curl_easy_strerror) x(curl_slist_append) x(curl_slist_free_all) x(curl_multi_init)                   \
			x(curl_multi_cleanup) x(curl_multi_setopt) x(curl_multi_add_handle)                            \
				x(curl_multi_remove_handle) x(curl_multi_socket_action) x(curl_multi_assign)           \
					x(curl_multi_info_read) x(curl_multi_perform) x(curl_multi_poll) x(curl_url)   \
						x(curl_url_cleanup) x(curl_url_set) x(curl_url_get) x(curl_free)

#define LIBCURL_MEMBER(name) typeof(name) *name;
extern struct libcurl {
	LIBCURL_FUNCTIONS(LIBCURL_MEMBER)
} libcurl;
#undef LIBCURL_MEMBER

/* Once is enough; calling it again does nothing. */
int libcurl_load(struct why *why) _must_check_;
