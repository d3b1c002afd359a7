/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/libdw.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBDW_LIBRARY "libdw.so.1"

struct libdw libdw;

int libdw_load(struct why *why)
{
	void *library = dlopen(LIBDW_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return why_set(why, -ENOENT, "cannot load libdw, needed to read debug information: %s", dlerror());
#define LOAD(name)                                                                                                     \
	*(void **)&libdw.name = dlsym(library, #name);                                                                 \
	if (!libdw.name)                                                                                               \
		return why_set(why, -ENOENT, "%s has no %s: not a usable libdw", LIBDW_LIBRARY, #name);
	LIBDW_FUNCTIONS(LOAD)
#undef LOAD
	return 0;
}
