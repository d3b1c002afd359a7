/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernel/libbpf_words.h"
#include "oops/oops_origin.h"

#define KERNEL_BTF "/sys/kernel/btf"

struct btf_context {
	const struct btf *btf;
	const struct btf_type *prototype; /* of the report's function */
};

static void btf_freep(struct btf **btf)
{
	btf__free(*btf);
}

/* Of a damaged file the offset may lead nowhere. */
static const char *name_at(const struct btf *btf, uint32_t offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name ? name : "";
}

static const struct btf_type *plain_type(const struct btf *btf, uint32_t id, uint32_t *ret_id)
{
	int plain = btf__resolve_type(btf, id);

	*ret_id = plain > 0 ? (uint32_t)plain : 0;
	return plain > 0 ? btf__type_by_id(btf, (uint32_t)plain) : NULL;
}

/* Sets the structure that a pointer points to. */
static void set_pointee(const struct btf *btf, uint32_t id, struct oops_value *value)
{
	const struct btf_type *type = plain_type(btf, id, &id);

	value->type_name[0] = '\0';
	if (!type || !btf_is_ptr(type))
		return;
	type = plain_type(btf, type->type, &id);
	if (!type || !btf_is_composite(type))
		return;
	value->type = id;
	snprintf(value->type_name, sizeof(value->type_name), "%.79s", name_at(btf, type->name_off));
}

static bool find_parameter(const void *context, unsigned number, struct oops_value *ret_value)
{
	const struct btf_context *source = context;
	const struct btf_param *param;

	if (!source->prototype || number >= btf_vlen(source->prototype))
		return false;
	param = &btf_params(source->prototype)[number];
	snprintf(ret_value->text, sizeof(ret_value->text), "%.79s", name_at(source->btf, param->name_off));
	set_pointee(source->btf, param->type, ret_value);
	return ret_value->text[0];
}

/* Into members that are structures themselves, as deep as they nest in any kernel. */
#define NEST_MAX 8

/* The member that covers *offset, which becomes the offset inside it. */
static const struct btf_member *member_at(const struct btf *btf, const struct btf_type *type, uint64_t *offset)
{
	for (uint16_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		uint64_t at = btf_member_bit_offset(type, i) / 8;
		int64_t size = btf__resolve_size(btf, member->type);

		if (*offset < at || size <= 0 || *offset >= at + (uint64_t)size)
			continue;
		*offset -= at;
		return member;
	}
	return NULL;
}

static bool find_member(const void *context, uint64_t id, uint64_t offset, struct oops_value *ret_value)
{
	const struct btf *btf = ((const struct btf_context *)context)->btf;
	const struct btf_type *type = btf__type_by_id(btf, (uint32_t)id);

	ret_value->text[0] = '\0';
	for (unsigned depth = 0; type && btf_is_composite(type) && depth < NEST_MAX; depth++) {
		const struct btf_member *member = member_at(btf, type, &offset);
		size_t n = strlen(ret_value->text);
		uint32_t inner;

		if (!member)
			return false;
		/* The name of an anonymous structure is empty. */
		if (name_at(btf, member->name_off)[0])
			snprintf(ret_value->text + n, sizeof(ret_value->text) - n, "%s%.79s", n ? "." : "",
				 name_at(btf, member->name_off));
		type = plain_type(btf, member->type, &inner);
		if (type && btf_is_composite(type))
			continue;
		set_pointee(btf, member->type, ret_value);
		return ret_value->text[0];
	}
	return false;
}

static void name_report(struct oops *oops, const struct btf *btf)
{
	struct btf_context context = {.btf = btf};
	const struct oops_types types = {.context = &context, .parameter = find_parameter, .member = find_member};
	const struct btf_type *function;
	int id;

	if (!oops->report.function)
		return;
	id = btf__find_by_name_kind(btf, oops->report.function, BTF_KIND_FUNC);
	function = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	context.prototype = function ? btf__type_by_id(btf, function->type) : NULL;
	if (context.prototype && btf_is_func_proto(context.prototype))
		oops_origin_find(oops, &types);
}

/* Split BTF of a module; the kernel's own where there is none. */
static void name_module_report(struct oops *oops, struct btf *kernel, bool is_running)
{
	_cleanup_(btf_freep) struct btf *module = NULL;
	char path[128];

	if (is_running && oops->report.module && !strchr(oops->report.module, '/')) {
		snprintf(path, sizeof(path), KERNEL_BTF "/%.80s", oops->report.module);
		module = btf__parse_split(path, kernel);
	}
	name_report(oops, module ? module : kernel);
}

static bool is_wanted(const struct oops *oops, const char *release)
{
	return oops->code.count && (!release || (oops->report.kernel && strcmp(oops->report.kernel, release) == 0));
}

int oops_btf_all(struct oops_list *list, const char *path, struct why *why)
{
	_cleanup_(btf_freep) struct btf *btf = NULL;
	struct utsname name;
	bool any = false;

	if (uname(&name) < 0)
		return why_set(why, -errno, "uname: %s", strerror(errno));
	vec_each(&list->items, item)
		any = any || is_wanted(*item, path ? NULL : name.release);
	/* Reading it takes 13 ms: only when a report can use it. */
	if (!any)
		return 0;
	libbpf_words_begin();
	errno = 0;
	btf = btf__parse(path ? path : KERNEL_BTF "/vmlinux", NULL);
	if (!btf) {
		int error = errno ? errno : EINVAL;

		return path ? why_set(why, -error, "not BTF, nor an ELF file with BTF") : 0;
	}
	vec_each(&list->items, item)
		if (is_wanted(*item, path ? NULL : name.release))
			name_module_report(*item, btf, !path);
	return 0;
}
