/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/btf.h>
#include <string.h>

#include "base/vec.h"
#include "kernel/btf_enum.h"
#include "kernel/libbpf_words.h"

void btf_enum_load(struct enum_names *names, const char *enumeration, const char *prefix)
{
	static const struct enum_name none;
	VEC(struct enum_name) items = {};
	const struct btf_type *type;
	struct btf *btf;
	int id;

	libbpf_words_begin();
	btf = btf__load_vmlinux_btf();
	id = btf ? btf__find_by_name_kind(btf, enumeration, BTF_KIND_ENUM) : -1;
	type = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(type)[i].name_off);
		size_t n = strlen(prefix);

		if (strncmp(name, prefix, n) == 0)
			name += n;
		vec_push(&items, (struct enum_name){(uint32_t)btf_enum(type)[i].val, xstrdup(name), NULL});
	}
	btf__free(btf);
	/* Never freed; not NULL, so that loading is not repeated. */
	names->items = items.count ? items.items : &none;
	names->count = items.count;
}
