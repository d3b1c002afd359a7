/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/libcurl.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBCURL_LIBRARY "libcurl.so.4"

struct libcurl libcurl;

int libcurl_load(struct why *why)
{
	static bool loaded;
	void *library;

	if (loaded)
		return 0;
	library = dlopen(LIBCURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return why_set(why, -ENOENT, "cannot load libcurl, needed to talk to a server (Debian: libcurl4): %s",
			       dlerror());
#define LOAD(name)                                                                                                     \
	*(void **)&libcurl.name = dlsym(library, #name);                                                               \
	if (!libcurl.name)                                                                                             \
		return why_set(why, -ENOENT, "%s has no %s: not a usable libcurl", LIBCURL_LIBRARY, #name);
	LIBCURL_FUNCTIONS(LOAD)
#undef LOAD
	if (libcurl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return why_set(why, -EIO, "libcurl cannot be initialised");
	loaded = true;
	return 0;
}
