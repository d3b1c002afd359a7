/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/btf_enum.h"
#include "base/vec.h"
#include "kernel/types_walk.h"

/* libbpf would index every type of the kernel: 20 ms and more. */
static const struct btf_type *find_enum(const struct types *types, const char *name)
{
	const char *at = types->first;
	const struct btf_type *type;

	while ((type = types_next(types, &at)))
		if (btf_is_enum(type) && strcmp(types_text_at(types, type->name_off), name) == 0)
			return type;
	return NULL;
}

void btf_enum_load(struct enum_names *names, const char *enumeration, const char *prefix)
{
	static const struct enum_name none;
	VEC(struct enum_name) items = {};
	const struct btf_type *type = NULL;
	struct types_file file = {};
	struct types types;

	if (types_file_open(&file, &types) == 0)
		type = find_enum(&types, enumeration);
	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const char *name = types_text_at(&types, btf_enum(type)[i].name_off);
		size_t n = strlen(prefix);

		if (strncmp(name, prefix, n) == 0)
			name += n;
		vec_push(&items, (struct enum_name){(uint32_t)btf_enum(type)[i].val, xstrdup(name), NULL});
	}
	types_file_close(&file);
	/* Never freed; not NULL, so that loading is not repeated. */
	names->items = items.count ? items.items : &none;
	names->count = items.count;
}
