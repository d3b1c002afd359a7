/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/symbol_at.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "kernel/object.h"
#include "kernel/symbol_at.bpf.h"
#include "kernel/symbols.h"

/* Names kept: places in the kernel that drop packets are a few hundred. */
#define NAMES_MAX 10000

/* The program, loaded once. */
struct asker {
	struct kernel_object *object;
	int program;
	uint64_t *address;
	char *name;
};

static int asker_load(struct asker *asker, struct why *why)
{
	int r = kernel_object_open("symbol_at.bpf.o", &asker->object, why);

	if (r == 0)
		r = kernel_object_choose(asker->object, "symbol_at", why);
	if (r == 0)
		r = kernel_object_load(asker->object, why);
	if (r == 0)
		r = kernel_object_variable(asker->object, "symbol_address", sizeof(*asker->address),
					   (void **)&asker->address);
	if (r == 0)
		r = kernel_object_variable(asker->object, "symbol_name", SYMBOL_AT_MAX, (void **)&asker->name);
	if (r == 0)
		asker->program = bpf_program__fd(kernel_object_program(asker->object, "symbol_at"));
	return r;
}

/* NULL: it cannot be asked. */
static const struct asker *asker_get(void)
{
	static struct asker asker;
	static bool tried, works;

	if (!tried) {
		struct why why;

		works = asker_load(&asker, &why) == 0;
		if (!works) {
			kernel_object_close(asker.object);
			asker.object = NULL;
		}
	}
	tried = true;
	return works ? &asker : NULL;
}

/* An address without a symbol is printed as a number. */
static char *ask(const struct asker *asker, uint64_t address)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	char name[SYMBOL_AT_MAX];

	*asker->address = address;
	if (bpf_prog_test_run_opts(asker->program, &run) < 0)
		return NULL;
	memcpy(name, asker->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	name[strcspn(name, " ")] = '\0';
	return name[0] == '\0' || strncmp(name, "0x", 2) == 0 ? NULL : xstrdup(name);
}

static const char *from_file(uint64_t address)
{
	const struct kernel_symbols *symbols = kernel_symbols_get(NULL);

	return symbols ? kernel_symbols_find(symbols, address) : NULL;
}

const char *kernel_symbol_at(uint64_t address)
{
	static struct map names = MAP_INIT(sizeof(uint64_t), sizeof(char *), NAMES_MAX);
	const struct asker *asker = asker_get();
	bool is_new = false;
	char **name;

	if (!asker)
		return from_file(address);
	name = map_put(&names, &address, &is_new);
	if (name && is_new)
		*name = ask(asker, address);
	return name ? *name : NULL;
}
