/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_start.h"

#include <string.h>

#include "base/text.h"
#include "oops/piece.h"

void oops_start_place(struct oops *oops, const char *text)
{
	struct oops_report *report = &oops->report;
	struct piece_symbol symbol;

	if (report->function || !piece_find_symbol(text, &symbol))
		return;
	report->function = oops_keep(oops, symbol.name, symbol.name_len);
	report->offset = symbol.offset;
	report->size = symbol.size;
	if (symbol.module)
		report->module = oops_keep(oops, symbol.module, symbol.module_len);
}

static void keep_source(struct oops *oops, const char *text)
{
	size_t file_len;
	uint32_t line;

	if (oops->report.file || !piece_source(text, &file_len, &line))
		return;
	oops->report.file = oops_keep(oops, text, file_len);
	oops->report.line = line;
}

/* The address behind "at", "address:" or "address". */
static void read_address(struct oops *oops, const char *line)
{
	static const char *const words[] = {"virtual address ", "address: ", "address ", " at "};
	uint64_t address;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *at = piece_behind(line, words[i]);

		at = at ? piece_blanks(at) : NULL;
		if (at && piece_after(at, "(null)"))
			oops->report.address = 0;
		else if (at && piece_hex(at, &address))
			oops->report.address = address;
		else
			continue;
		return;
	}
}

/* "kernel BUG at net/core/skbuff.c:110!" */
static void read_bug_at(struct oops *oops, const char *line)
{
	const char *at = piece_behind(line, "BUG at ");

	if (at)
		keep_source(oops, at);
}

/* The process behind "CPU#3: ": "bash/123"; a name may hold blanks and slashes. */
static void read_task(struct oops *oops, const char *text)
{
	const char *slash = strrchr(text, '/');
	uint64_t pid;

	if (!slash || slash == text || !piece_number(slash + 1, UINT32_MAX - 1, &pid))
		return;
	oops->report.comm = oops_keep(oops, text, (size_t)(slash - text));
	oops->report.pid = (uint32_t)pid;
}

/*
 * "WARNING: CPU: 0 PID: 7 at net/core/dev.c:12 f+0x1/0x2 [m]", "WARNING: at FILE:LINE f+0x1/0x2()" of old kernels,
 * "WARNING: net/core/dev.c:12 at f+0x1/0x2, CPU#3: bash/123" of new ones.
 */
static void read_warning(struct oops *oops, const char *line)
{
	const char *rest = piece_after(line, "WARNING: "), *at;
	uint64_t number;

	if (!rest)
		return;
	at = piece_behind(rest, "at ");
	keep_source(oops, piece_after(rest, "at ") || piece_after(rest, "CPU: ") ? (at ? at : rest) : rest);
	oops_start_place(oops, rest);
	at = piece_after(rest, "CPU: ");
	if (!at)
		at = piece_behind(rest, "CPU#");
	at = at ? piece_number(at, UINT32_MAX - 1, &number) : NULL;
	if (!at)
		return;
	oops->report.cpu = (uint32_t)number;
	if (piece_after(at, ": "))
		read_task(oops, at + 2);
	else if (piece_after(at, " PID: ") && piece_number(at + 6, UINT32_MAX - 1, &number))
		oops->report.pid = (uint32_t)number;
}

/* "comm:pid" in brackets or at the start: the last colon counts. */
static void read_comm_pid(struct oops *oops, const char *text, size_t len)
{
	const char *colon = memrchr(text, ':', len);
	uint64_t pid;

	if (!colon || !piece_number(colon + 1, UINT32_MAX - 1, &pid))
		return;
	oops->report.comm = oops_keep(oops, text, (size_t)(colon - text));
	oops->report.pid = (uint32_t)pid;
}

/* "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [iperf3:812]", "Watchdog detected hard LOCKUP on cpu 3" */
static void read_lockup(struct oops *oops, const char *line)
{
	const char *cpu = piece_behind(line, "CPU#"), *stuck = piece_behind(line, "stuck for "),
		   *task = strrchr(line, '[');
	bool soft = strstr(line, "soft lockup") != NULL;
	uint64_t number, seconds;

	if (!cpu)
		cpu = piece_behind(line, "on cpu ");
	if (cpu && piece_number(cpu, UINT32_MAX - 1, &number))
		oops->report.cpu = (uint32_t)number;
	if (stuck && cpu && piece_number(stuck, UINT32_MAX, &seconds))
		oops->report.what = oops_keep_format(oops, "soft lockup: CPU %u did not schedule for %u s",
						     oops->report.cpu, (uint32_t)seconds);
	else
		oops->report.what = soft ? "soft lockup" : "hard lockup: the CPU took no interrupts";
	if (soft && task && strchr(task, ']'))
		read_comm_pid(oops, task + 1, (size_t)(strchr(task, ']') - task - 1));
}

/* "INFO: task kworker/0:1:17 blocked for more than 120 seconds." */
static void read_hung(struct oops *oops, const char *line)
{
	const char *task = piece_behind(line, "INFO: task "), *blocked = strstr(line, " blocked for more than ");
	const char *text = blocked ? piece_behind(blocked, "more than ") : NULL;
	uint64_t seconds;

	if (task && blocked && blocked > task)
		read_comm_pid(oops, task, (size_t)(blocked - task));
	if (text && piece_number(text, UINT32_MAX, &seconds))
		oops->report.what = oops_keep_format(oops, "blocked for more than %u s", (uint32_t)seconds);
}

/*
 * "NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out"; "e1000e 0000:00:03.0 eth0: NETDEV WATCHDOG: CPU: 1:
 * transmit queue 0 timed out 5012 ms" of new kernels.
 */
static void read_watchdog(struct oops *oops, const char *line)
{
	const char *mark = strstr(line, "NETDEV WATCHDOG: "), *rest = mark + strlen("NETDEV WATCHDOG: "), *end;
	const char *queue = piece_behind(rest, "transmit queue ");

	if (piece_after(rest, "CPU: ") && mark > line + 2) {
		/* The device's name ends before the mark. */
		end = mark - 2;
		for (mark = end; mark > line && mark[-1] != ' ';)
			mark--;
		oops->report.dev = oops_keep(oops, mark, (size_t)(end - mark));
	} else {
		oops->report.dev = oops_keep(oops, rest, strcspn(rest, " :"));
	}
	if (queue)
		oops->report.what = oops_keep_format(oops, "%s: transmit queue %s", oops->report.dev, queue);
}

/* "unregister_netdevice: waiting for eth0 to become free. Usage count = 2" */
static void read_unregister(struct oops *oops, const char *line)
{
	const char *dev = piece_behind(line, "waiting for ");

	if (dev)
		oops->report.dev = oops_keep(oops, dev, strcspn(dev, " "));
}

/* "e1000e 0000:00:19.0 eth0: Detected Hardware Unit Hang:" */
static void read_hang(struct oops *oops, const char *line)
{
	const char *end = strstr(line, ": Detected "), *start = end;

	while (start && start > line && start[-1] != ' ')
		start--;
	if (start)
		oops->report.dev = oops_keep(oops, start, (size_t)(end - start));
}

/* "swapper/0: page allocation failure: order:2, mode:0x484020(GFP_ATOMIC|__GFP_COMP), nodemask=(null)" */
static void read_allocation(struct oops *oops, const char *line)
{
	const char *mark = strstr(line, ": page allocation failure"), *order = piece_behind(line, "order:");
	const char *flags = piece_behind(line, "(GFP_");
	uint64_t number;

	if (mark)
		oops->report.comm = oops_keep(oops, line, (size_t)(mark - line));
	if (!order || !piece_number(order, 64, &number))
		return;
	if (flags)
		oops->report.what = oops_keep_format(oops, "page allocation failure: order %u, GFP_%.*s",
						     (unsigned)number, (int)strcspn(flags, ")"), flags);
	else
		oops->report.what = oops_keep_format(oops, "page allocation failure: order %u", (unsigned)number);
}

/* "BUG: KASAN: slab-use-after-free in f+0x1/0x2 [m]"; of KFENCE and KCSAN likewise. */
static void read_sanitizer(struct oops *oops, const char *line)
{
	const char *what = strchr(piece_behind(line, "BUG: "), ' '), *in = what ? strstr(what, " in ") : NULL;

	if (what)
		what = piece_blanks(what);
	if (what && in > what)
		oops->report.what = oops_keep(oops, what, (size_t)(in - what));
	oops_start_place(oops, line);
}

/* "UBSAN: array-index-out-of-bounds in net/x.c:12:3" */
static void read_ubsan(struct oops *oops, const char *line)
{
	const char *what = piece_behind(line, "UBSAN: "), *in = strstr(line, " in ");

	if (!what || !in || in < what)
		return;
	oops->report.what = oops_keep(oops, what, (size_t)(in - what));
	keep_source(oops, in + 4);
}

/* "skb_over_panic: text:... len:1600 ... dev:eth0" */
static void read_skb_panic(struct oops *oops, const char *line)
{
	const char *dev = piece_behind(line, " dev:");

	if (dev && *dev != '<')
		oops->report.dev = oops_keep(oops, dev, strcspn(dev, " "));
}

/* The first that matches counts. */
static const struct oops_start starts[] = {
	{"BUG: unable to handle *", OOPS_FAULT, 3, .read = read_address},
	{"BUG: kernel NULL pointer dereference*", OOPS_FAULT, 3, .read = read_address},
	{"Unable to handle kernel *", OOPS_FAULT, 3, .read = read_address},
	{"Unable to handle * at virtual address *", OOPS_FAULT, 3, .read = read_address},
	{"general protection fault*", OOPS_FAULT, 3, .read = read_address},
	{"Oops: general protection fault*", OOPS_FAULT, 3, .read = read_address},
	{"stack segment: *", OOPS_FAULT, 3, .from = ""},
	{"divide error: *", OOPS_FAULT, 3, .from = ""},
	{"Oops: divide error*", OOPS_FAULT, 3, .from = "Oops: "},
	{"*double fault: *", OOPS_FAULT, 3, .from = ""},
	{"skbuff: skb_*_panic: *", OOPS_BUG, 4, .from = "skbuff: ", .read = read_skb_panic},
	{"kernel BUG at *", OOPS_BUG, 3, .joins = true, .read = read_bug_at},
	{"Oops: *", OOPS_FAULT, 1, .joins = true, .from = ""},
	{"invalid opcode: *", OOPS_FAULT, 1, .joins = true, .from = ""},
	{"Internal error: *", OOPS_FAULT, 1, .joins = true, .from = "Internal error: "},
	{"WARNING: CPU: *", OOPS_WARN, 2, .joins = true, .read = read_warning},
	{"WARNING: at *", OOPS_WARN, 2, .joins = true, .read = read_warning},
	{"WARNING: possible *", OOPS_LOCKDEP, 4, .from = "WARNING: "},
	{"WARNING: inconsistent lock state*", OOPS_LOCKDEP, 4, .from = "WARNING: "},
	{"WARNING: suspicious RCU usage*", OOPS_LOCKDEP, 4, .from = "WARNING: "},
	{"WARNING: bad unlock balance*", OOPS_LOCKDEP, 4, .from = "WARNING: "},
	{"WARNING: *:* at *+0x*", OOPS_WARN, 2, .joins = true, .read = read_warning},
	{"*BUG: soft lockup - *", OOPS_LOCKUP, 4, .read = read_lockup},
	{"*Watchdog detected hard LOCKUP on cpu*", OOPS_LOCKUP, 4, .read = read_lockup},
	{"*Watchdog CPU:* Hard LOCKUP*", OOPS_LOCKUP, 4, .read = read_lockup},
	{"BUG: workqueue lockup*", OOPS_LOCKUP, 4, .from = "BUG: "},
	{"*rcu*self-detected stall on CPU*", OOPS_RCU_STALL, 4, .from = "INFO: "},
	{"*rcu*detected stall* on CPUs/tasks*", OOPS_RCU_STALL, 4, .from = "INFO: "},
	{"*rcu*detected stall on CPU *", OOPS_RCU_STALL, 4, .from = "INFO: "},
	{"INFO: RCU detected CPU * stall*", OOPS_RCU_STALL, 4, .from = "INFO: "},
	{"*rcu*detected expedited stalls on *", OOPS_RCU_STALL, 4, .from = "INFO: "},
	{"INFO: task *:* blocked for more than *", OOPS_HUNG_TASK, 4, .read = read_hung},
	{"*NETDEV WATCHDOG: *", OOPS_NETDEV_WATCHDOG, 4, .joins = true, .read = read_watchdog},
	{"*: Detected Hardware Unit Hang*", OOPS_TX_HANG, 4, .from = ": ", .read = read_hang, .alone = true},
	{"*: Detected Tx Unit Hang*", OOPS_TX_HANG, 4, .from = ": ", .read = read_hang, .alone = true},
	{"unregister_netdevice: waiting for *", OOPS_NETDEV_UNREGISTER, 4,
	 .from = "unregister_netdevice: ", .read = read_unregister, .alone = true},
	{"*: page allocation failure*", OOPS_PAGE_ALLOC, 4, .read = read_allocation},
	{"refcount_t: *", OOPS_REFCOUNT, 4, .joins = true, .from = ""},
	{"BUG: KASAN: *", OOPS_KASAN, 4, .read = read_sanitizer},
	{"BUG: KFENCE: *", OOPS_KFENCE, 4, .read = read_sanitizer},
	{"BUG: KCSAN: *", OOPS_KCSAN, 4, .from = "KCSAN: "},
	{"BUG: KMSAN: *", OOPS_KASAN, 4, .read = read_sanitizer},
	{"*UBSAN: *", OOPS_UBSAN, 4, .read = read_ubsan},
	{"irq *: nobody cared*", OOPS_IRQ, 4, .from = ""},
	/* Whatever else the kernel calls a BUG: scheduling while atomic, bad page state, sleeping function ... */
	{"BUG: *", OOPS_BUG, 2, .from = "BUG: "},
	{"Kernel panic - not syncing: *", OOPS_PANIC, 1, .from = "not syncing: "},
};

_Static_assert(ARRAY_SIZE(starts) <= 64, "each line has a bit");

const struct oops_start *oops_start_find(const char *line, uint64_t *ret_bit)
{
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (text_glob_match(starts[i].pattern, line)) {
			*ret_bit = UINT64_C(1) << i;
			return &starts[i];
		}
	return NULL;
}

void oops_start_read(const struct oops_start *start, struct oops *oops, const char *line)
{
	const char *rest = start->from ? piece_behind(line, start->from) : NULL;

	if (rest) {
		size_t n = strlen(rest);

		oops->report.what = oops_keep(oops, rest, n && rest[n - 1] == ':' ? n - 1 : n);
	}
	if (start->read)
		start->read(oops, line);
}
