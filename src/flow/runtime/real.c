/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>

#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

struct real_functions real;

void real_find(void)
{
#define REAL_LOOK_UP(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name);
	REAL_FUNCTIONS(REAL_LOOK_UP)
#undef REAL_LOOK_UP
}
