/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel function calls: the traceable functions, and their probes. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "event/core/attach.h"
#include "event/core/event.h"
#include "event/cpu/func_call.h"
#include "kernel/symbols.h"

/* Lets nest events test whether the kernel supports it. */
#define PATTERNS_DEFAULT "tcp_sendmsg"
#define LIST_MAX         ((size_t)64 << 20)
#define FUNCTIONS_MAX    20000
/* Single kprobes are slow to attach. */
#define PROBES_MAX 500

static const char *patterns = PATTERNS_DEFAULT;

void func_call_set_patterns(const char *text)
{
	patterns = text;
}

const char *func_call_name(unsigned long long address)
{
	const struct kernel_symbols *symbols = kernel_symbols_get(NULL);

	return symbols ? kernel_symbols_find(symbols, address) : NULL;
}

static bool is_wanted(const char *name)
{
	for (const char *at = patterns; *at;) {
		size_t n = strcspn(at, ",");
		char pattern[128];

		if (n < sizeof(pattern)) {
			snprintf(pattern, sizeof(pattern), "%.*s", (int)n, at);
			if (text_glob_match(pattern, name))
				return true;
		}
		at += n + (at[n] == ',');
	}
	return false;
}

struct found {
	struct map names; /* matching, traceable functions */
	VEC(unsigned long) addresses;
};

static void found_done(struct found *found)
{
	map_done(&found->names);
	vec_done(&found->addresses);
}

/* "name [module]" */
static void add_traceable(struct found *found, char *line)
{
	line[strcspn(line, " \t")] = '\0';
	if (is_wanted(line))
		(void)map_put(&found->names, line, NULL);
}

static int open_list(struct why *why)
{
	static const char *const places[] = {"/sys/kernel/tracing/available_filter_functions",
					     "/sys/kernel/debug/tracing/available_filter_functions"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++)
		fd = open(places[i], O_RDONLY | O_CLOEXEC);
	return fd < 0 ? why_set(why, -errno,
				"cannot read the list of traceable functions (available_filter_functions): needs "
				"CONFIG_FUNCTION_TRACER and tracefs at /sys/kernel/tracing")
		      : fd;
}

static int check_list(struct why *why)
{
	_cleanup_close_ int fd = open_list(why);

	return min_of(fd, 0);
}

static int read_traceable(struct found *found, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(LIST_MAX);
	_cleanup_close_ int fd = open_list(why);
	char *rest, *line;
	int r = fd < 0 ? fd : buf_read_fd(&text, fd);

	if (fd >= 0 && r < 0)
		return why_set(why, r, "cannot read available_filter_functions: %s", strerror(-r));
	if (r < 0)
		return r;
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		add_traceable(found, line);
	if (found->names.count == 0)
		return why_set(why, -ENOENT, "no traceable function matches %s", patterns);
	return 0;
}

static void add_address(const char *name, uint64_t address, void *context)
{
	struct found *found = context;

	if (map_get(&found->names, name))
		vec_push(&found->addresses, (unsigned long)address);
}

static int find_functions(struct found *found, struct why *why)
{
	const struct kernel_symbols *symbols = NULL;
	int r;

	found->names = MAP_INIT(0, 1, FUNCTIONS_MAX);
	r = read_traceable(found, why);
	if (r == 0)
		symbols = kernel_symbols_get(why);
	if (r < 0 || !symbols)
		return r < 0 ? r : -EPERM;
	kernel_symbols_each(symbols, add_address, found);
	if (found->addresses.count == 0)
		return why_set(why, -ENOENT, "the kernel does not show the address of %s (kptr_restrict?)", patterns);
	if (found->names.count == FUNCTIONS_MAX)
		return why_set(why, -E2BIG, "more than %d functions match %s", FUNCTIONS_MAX, patterns);
	return 0;
}

static int attach_many(struct kernel_object *object, const char *program, struct why *why)
{
	_cleanup_(found_done) struct found found = {};
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts);
	int r = find_functions(&found, why);

	if (r < 0)
		return r;
	opts.addrs = found.addresses.items;
	opts.cnt = found.addresses.count;
	return kernel_object_keep_link(
		object, program,
		bpf_program__attach_kprobe_multi_opts(kernel_object_program(object, program), NULL, &opts), why);
}

static int attach_single(struct kernel_object *object, const char *program, struct why *why)
{
	_cleanup_(found_done) struct found found = {};
	int r = find_functions(&found, why);
	const void *name;
	size_t at = 0;
	void *value;

	if (r == 0 && found.names.count > PROBES_MAX)
		r = why_set(why, -E2BIG, "%s matches %zu functions, this kernel can probe %d (more need CONFIG_FPROBE)",
			    patterns, found.names.count, PROBES_MAX);
	while (r == 0 && map_next(&found.names, &at, &name, &value))
		r = kernel_object_keep_link(
			object, program,
			bpf_program__attach_kprobe(kernel_object_program(object, program), false, name), why);
	return r;
}

static const struct field call_fields[] = {
	FIELD(struct func_call, function, TEXT, "name of the function", .made = true),
	FIELD(struct func_call, address, HEX, "address of the function", .zero_is_unknown = true, .hidden = true),
};

static const struct event_role call_roles[] = {
	{
		.name = "functions",
		.hooks = {{.programs = {"func_call_many"}, .attach = attach_many, .check = check_list},
			  {.programs = {"func_call_single"}, .attach = attach_single, .check = check_list}},
	},
};

static void complete(const struct event_head *head _unused_, void *data)
{
	struct func_call *call = data;
	const char *name = func_call_name(call->address);

	snprintf(call->function, sizeof(call->function), "%s", name ?: "");
}

EVENT_TYPE(func_call, "func.call", struct func_call, call_fields, call_roles,
	   "kernel function call; funccount chooses the functions (default: " PATTERNS_DEFAULT ")",
	   .complete = complete, .of_host = true);
