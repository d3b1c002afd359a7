/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "base/parse.h"
#include "event/core/event.h"
#include "snapshot/core/netns.h"
#include "tool/core/cgroups.h"
#include "tool/core/trace_options.h"

#define O struct trace_options
const struct option_spec trace_select_table[] = {
	OPTION(O, pid, UINT, "pid", 'p', "PID", "limit to process PID, all its threads", .min = 1, .max = INT32_MAX,
	       .needs = "pid"),
	OPTION(O, children, FLAG, "children", 0, NULL, "with -p: include child processes", .needs = "pid"),
	OPTION(O, ports, PORTS, "port", 'P', "PORT,..", "limit to these ports, local or remote", .needs = "lport"),
	OPTION(O, local_ports, PORTS, "local-port", 'L', "PORT,..", "limit to these local ports", .needs = "lport"),
	OPTION(O, remote_ports, PORTS, "remote-port", 'D', "PORT,..", "limit to these remote ports", .needs = "rport"),
	NETNS_OPTION(O, netns, .needs = "netns"),
	OPTION(O, cgroup, TEXT, "cgroup", 'C', "PATH", "limit to this cgroup and its descendants", .needs = "cgroup"),
	OPTION(O, iface, TEXT, "interface", 'i', "IFACE", "limit to this interface", .needs = "dev"),
	OPTION(O, ipv4, FLAG, "ipv4", '4', NULL, "limit to IPv4", .needs = "family"),
	OPTION(O, ipv6, FLAG, "ipv6", '6', NULL, "limit to IPv6", .needs = "family"),
	OPTION_END,
};

const struct option_spec trace_run_table[] = {
	OPTION(O, duration_ns, SECONDS, "duration", 'd', "SECONDS", "stop after SECONDS"),
	OPTION(O, buffer_bytes, SIZE, "buffer", 0, "SIZE", "size of the ring buffer (4MiB)"),
	OPTION(O, max_loss, TEXT, "max-loss", 0, "N", "exit with 4 if more than N events are lost"),
	OPTION(O, save, TEXT, "save", 0, "FILE", "also save the events to this recording, for -f", .file = FILE_WRITE),
	OPTION_GROUP(O, input, input_option_table),
	OPTION_GROUP(O, output, output_option_table),
	OPTION_END,
};

static const struct option_spec event_table[] = {
	OPTION_TABLE(trace_select_table),
	OPTION(O, failures, FLAG, "failures", 'x', NULL, "limit to failures", .needs = "error"),
	OPTION(O, time_of_day, FLAG, "time", 't', NULL, "show the time of day"),
	OPTION(O, time_since, FLAG, "elapsed", 'T', NULL, "show the time since the start"),
	OPTION(O, kernel_stack, FLAG, "stack", 0, NULL, "show the kernel stack", .needs = "kstack"),
	OPTION(O, user_stack, FLAG, "ustack", 0, NULL, "show the user stack", .needs = "ustack"),
	OPTION_TABLE(trace_run_table),
	OPTION_END,
};

static const struct option_spec command_table[] = {
	OPTION(O, command, COMMAND, NULL, 0, "COMMAND", "run COMMAND, trace it and its children, stop when it ends",
	       .needs = "pid"),
	OPTION_END,
};

const struct option_spec trace_stream_table[] = {
	OPTION_TABLE(event_table),
	OPTION_TABLE(command_table),
	OPTION_END,
};

const struct option_spec trace_option_table[] = {
	OPTION_TABLE(event_table),
	POSITIONAL(O, interval_ns, SECONDS, "INTERVAL", "print and reset every INTERVAL seconds"),
	POSITIONAL(O, count, UINT, "COUNT", "stop after COUNT intervals", .min = 1),
	OPTION_TABLE(command_table),
	OPTION_END,
};
#undef O

void trace_where_add(struct buf *where, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	buf_add_format(where, "%s(%s)", where->len ? " and " : "", text);
}

/* at: lport, rport, or NULL for either. */
static void add_ports(const struct port_list *ports, const char *at, struct buf *where)
{
	_cleanup_buf_ struct buf list = BUF_INIT(4096);

	if (ports->count == 0)
		return;
	for (size_t i = 0; i < ports->count; i++)
		buf_add_format(&list, "%s%u", i ? ", " : "", ports->items[i]);
	if (at)
		trace_where_add(where, "%s in (%s)", at, buf_text(&list));
	else
		trace_where_add(where, "lport in (%s) or rport in (%s)", buf_text(&list), buf_text(&list));
}

static int add_netns(const char *spec, struct buf *where, struct why *why)
{
	_cleanup_buf_ struct buf list = BUF_INIT(65536);
	_cleanup_netns_ struct netns_list found = {};
	int r;

	if (strcmp(spec, "all") == 0)
		return 0;
	r = netns_find(spec, &found, why);
	if (r < 0)
		return r;
	vec_each(&found.items, netns)
		buf_add_format(&list, "%s%u", list.len ? ", " : "", netns->inum);
	trace_where_add(where, "netns in (%s)", buf_text(&list));
	return 0;
}

/* Names and paths of the recorded host are meaningless here: use the fields of the event. */
static int add_recorded(const struct trace_options *options, struct buf *where, struct why *why)
{
	uint64_t number;

	if (options->netns && strcmp(options->netns, "all") != 0) {
		if (parse_decimal(options->netns, 1, UINT32_MAX, &number) < 0)
			return why_set(why, -EINVAL,
				       "-N: in a recording, namespaces are selected by inode number (field netns)");
		trace_where_add(where, "netns == %" PRIu64, number);
	}
	if (options->cgroup && strpbrk(options->cgroup, "\"\\*?"))
		return why_set(why, -EINVAL, "-C: invalid cgroup path");
	if (options->cgroup)
		trace_where_add(where, "cgroup == \"%s\" or cgroup ~ \"%s/*\"", options->cgroup, options->cgroup);
	return 0;
}

/* Conditions on fields that not every event has. */
static int add_special(const struct trace_options *options, struct buf *where, struct why *why)
{
	if (options->failures)
		trace_where_add(where, "error");
	if (options->iface) {
		if (strlen(options->iface) > 15 || strpbrk(options->iface, "\"\\"))
			return why_set(why, -EINVAL, "-i: invalid interface name");
		trace_where_add(where, "dev == \"%s\"", options->iface);
	}
	return 0;
}

/* A process that exits later is fine; one that does not exist never shows anything. */
static int check_process(const struct trace_options *options, struct why *why)
{
	if (!options->pid || options->input.file || kill((pid_t)options->pid, 0) == 0 || errno != ESRCH)
		return 0;
	return why_set(why, -ESRCH, "-p: there is no process %" PRIu64, options->pid);
}

bool trace_is_stack(const char *field)
{
	return strcmp(field, "kstack") == 0 || strcmp(field, "ustack") == 0;
}

/* A filter that can never match would show zeros for what nobody looked at. */
static int check_applies(const struct trace_options *options, const struct event *event, struct why *why)
{
	const struct {
		bool given;
		const char *option, *field;
	} limits[] = {
		{options->pid, "-p", "pid"},
		{options->ports.count, "-P", "lport"},
		{options->local_ports.count, "-L", "lport"},
		{options->remote_ports.count, "-D", "rport"},
		{options->netns && strcmp(options->netns, "all") != 0, "-N", "netns"},
		{options->cgroup, "-C", "cgroup"},
		{options->iface, "-i", "dev"},
		{options->failures, "-x", "error"},
		{options->ipv4 != options->ipv6, "-4 or -6", "family"},
		{options->command.argc, "a command", "pid"},
		{options->kernel_stack, "--stack", "kstack"},
		{options->user_stack, "--ustack", "ustack"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (limits[i].given && !event_has_field(event, limits[i].field))
			return why_set(why, -EINVAL, "%s does not apply: %s has no %s", limits[i].option, event->name,
				       limits[i].field);
	return 0;
}

/* One that is not there sends nothing, unless the command that is run makes it. */
static int check_interface(const struct trace_options *options, struct why *why)
{
	_cleanup_netns_ struct netns_list found = {};
	int r;

	if (!options->iface || options->input.file || options->command.argc > 0)
		return 0;
	r = netns_find(options->netns ?: "all", &found, why);
	return r < 0 ? r : netns_check_interface(&found, options->iface, why);
}

int trace_options_where(const struct trace_options *options, const struct event *event, struct buf *where,
			struct why *why)
{
	int r = check_applies(options, event, why);

	if (r == 0)
		r = check_process(options, why);
	if (r < 0)
		return r;
	if (options->pid && !options->children)
		trace_where_add(where, "pid == %" PRIu64, options->pid);
	add_ports(&options->ports, NULL, where);
	add_ports(&options->local_ports, "lport", where);
	add_ports(&options->remote_ports, "rport", where);
	if (options->ipv4 != options->ipv6)
		trace_where_add(where, "family == %s", options->ipv4 ? "ipv4" : "ipv6");
	if (options->input.file)
		r = add_recorded(options, where, why);
	else if (options->netns)
		r = add_netns(options->netns, where, why);
	/* The kernel follows descendant cgroups, also those created later. */
	if (r == 0 && options->cgroup && !options->input.file) {
		_cleanup_free_ char *directory = NULL;

		r = cgroups_find_directory(options->cgroup, &directory, why);
	}
	if (r == 0)
		r = add_special(options, where, why);
	if (r == 0)
		r = check_interface(options, why);
	return r;
}
