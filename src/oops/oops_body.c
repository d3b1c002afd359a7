/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_body.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "oops/oops_start.h"
#include "oops/oops_state.h"
#include "oops/piece.h"

/* The flags without the blanks of those that are not set; the release begins with a digit. */
static const char *read_taint(struct oops *oops, const char *flags)
{
	_cleanup_buf_ struct buf letters = BUF_INIT(64);
	const char *at = flags;

	for (; *at && !isdigit((unsigned char)*at); at++)
		if (*at >= 'A' && *at <= 'Z')
			buf_add_char(&letters, *at);
	oops->report.tainted = oops_keep(oops, buf_text(&letters), letters.len);
	return at;
}

static void keep_release(struct oops *oops, const char *release)
{
	if (*release && !oops->report.kernel)
		oops->report.kernel = oops_keep(oops, release, strcspn(release, " "));
}

/* "qdisc Not tainted 2.6.34 #16", "qdisc Tainted: G        W  6.1.0-54-amd64 #1": name, taint, release. */
static void read_identity(struct oops *oops, const char *text)
{
	static const char clean[] = " Not tainted ", tainted[] = " Tainted: ";
	const char *mark = strstr(text, clean), *release;

	if (mark) {
		release = mark + strlen(clean);
		oops->report.tainted = "not tainted";
	} else {
		mark = strstr(text, tainted);
		if (!mark)
			return;
		release = read_taint(oops, mark + strlen(tainted));
	}
	oops->report.comm = oops_keep(oops, text, (size_t)(mark - text));
	keep_release(oops, release);
}

/* Of a hung task, on a line of its own. */
static void read_hung_taint(struct oops_body *body, const char *rest)
{
	keep_release(body->oops, read_taint(body->oops, rest));
}

static void read_hung_clean(struct oops_body *body, const char *rest)
{
	body->oops->report.tainted = "not tainted";
	keep_release(body->oops, rest);
}

/* "CPU: 0 UID: 0 PID: 600 Comm: NAME ..." */
static void read_cpu(struct oops_body *body, const char *rest)
{
	struct oops_report *report = &body->oops->report;
	const char *pid = piece_behind(rest, "PID: "), *comm = piece_behind(rest, "Comm: ");
	uint64_t number;

	/* Of the first CPU that the report shows. */
	if (body->traced || report->kernel)
		return;
	if (piece_number(rest, UINT32_MAX - 1, &number))
		report->cpu = (uint32_t)number;
	if (pid && piece_number(pid, UINT32_MAX - 1, &number))
		report->pid = (uint32_t)number;
	if (comm)
		read_identity(body->oops, comm);
}

/* "Pid: 600, comm: NAME ..." of kernels before 3.11. */
static void read_old_pid(struct oops_body *body, const char *rest)
{
	const char *comm = piece_behind(rest, "comm: ");
	uint64_t number;

	if (piece_number(rest, UINT32_MAX - 1, &number))
		body->oops->report.pid = (uint32_t)number;
	if (comm)
		read_identity(body->oops, comm);
}

/* "Process qdisc (pid: 600, ti=...": where nothing else names it. */
static void read_process(struct oops_body *body, const char *rest)
{
	const char *mark = strstr(rest, " (pid: ");
	uint64_t number;

	if (!mark || body->oops->report.comm)
		return;
	body->oops->report.comm = oops_keep(body->oops, rest, (size_t)(mark - rest));
	if (piece_number(mark + strlen(" (pid: "), UINT32_MAX - 1, &number))
		body->oops->report.pid = (uint32_t)number;
}

/* "[W]=WARN, [O]=OOT_MODULE" of new kernels says what the letters mean; they are known. */
static void read_nothing(struct oops_body *body, const char *rest)
{
	(void)body;
	(void)rest;
}

static void read_place(struct oops_body *body, const char *rest)
{
	if (!body->traced)
		oops_start_place(body->oops, rest);
}

static void set_arch(struct oops *oops, const char *arch)
{
	if (!oops->report.arch)
		oops->report.arch = arch;
}

/* "0010:f+0x1/0x2 [m]", "0010:[<addr>]  [<addr>] f+0x1/0x2", "0033:0x7f12..." of the program. */
static void read_rip(struct oops_body *body, const char *rest)
{
	set_arch(body->oops, "x86_64");
	rest = piece_blanks(rest);
	if (piece_after(rest, "0033:") || piece_after(rest, "0023:"))
		body->user_mode = true;
	else
		read_place(body, rest);
}

static void read_eip(struct oops_body *body, const char *rest)
{
	const char *cpu = piece_behind(rest, "CPU: ");
	uint64_t number;

	set_arch(body->oops, "i386");
	if (cpu && piece_number(cpu, UINT32_MAX - 1, &number))
		body->oops->report.cpu = (uint32_t)number;
	read_place(body, rest);
}

static void read_pc(struct oops_body *body, const char *rest)
{
	set_arch(body->oops, "arm64");
	read_place(body, rest);
}

/* "[#2]": the second since boot. */
static void read_oops_number(struct oops *oops, const char *text)
{
	const char *at = piece_behind(text, "[#");
	uint64_t number;

	if (at && piece_number(at, UINT32_MAX - 1, &number))
		oops->number = (uint32_t)number;
}

/* "supervisor read access in kernel mode", "supervisor instruction fetch in kernel mode" */
static void read_pf(struct oops_body *body, const char *rest)
{
	body->oops->report.access = piece_after(rest, "read ")    ? "read"
				    : piece_after(rest, "write ") ? "write"
								  : "execute";
}

/* Modules with flags in parentheses taint the kernel: "nvidia(POE)". */
static void read_modules(struct oops_body *body, const char *rest)
{
	_cleanup_buf_ struct buf names = BUF_INIT(1024);
	const char *at = rest;

	while (*(at = piece_blanks(at))) {
		size_t n = strcspn(at, " ");
		const char *flags = memchr(at, '(', n);

		/* (-) and (+) are modules that go or come. */
		if (flags && isupper((unsigned char)flags[1])) {
			buf_add_text(&names, names.len ? " " : "");
			buf_add(&names, at, n);
		}
		if (piece_after(at, "[last"))
			break;
		at += n;
	}
	if (names.len && !body->oops->report.taint_modules)
		body->oops->report.taint_modules = oops_keep(body->oops, buf_text(&names), names.len);
}

static void read_workqueue(struct oops_body *body, const char *rest)
{
	body->oops->report.workqueue = oops_keep(body->oops, rest, strlen(rest));
}

static void read_panic(struct oops_body *body, const char *rest)
{
	body->oops->report.panic = oops_keep(body->oops, rest, strlen(rest));
}

/* "of size 8 at addr ffff... by task NAME/600" of KASAN. */
static void read_kasan(struct oops_body *body, const char *rest, const char *access)
{
	struct oops *oops = body->oops;
	const char *task = piece_behind(rest, "by task "), *slash = task ? strrchr(task, '/') : NULL;
	const char *address = piece_behind(rest, "at addr ");
	uint64_t number;

	oops->report.access = access;
	if (oops->report.what && piece_number(rest, 1 << 20, &number))
		oops->report.what =
			oops_keep_format(oops, "%s: %s of %u bytes", oops->report.what, access, (unsigned)number);
	if (address && piece_hex(address, &number))
		oops->report.address = number;
	if (slash && piece_number(slash + 1, UINT32_MAX - 1, &number)) {
		oops->report.comm = oops_keep(oops, task, (size_t)(slash - task));
		oops->report.pid = (uint32_t)number;
	}
}

static void read_kasan_read(struct oops_body *body, const char *rest)
{
	read_kasan(body, rest, "read");
}

static void read_kasan_write(struct oops_body *body, const char *rest)
{
	read_kasan(body, rest, "write");
}

static void begin_trace(struct oops_body *body, const char *rest)
{
	(void)rest;
	if (body->oops->frames.count)
		body->part = body->part == OOPS_PART_MAIN ? OOPS_PART_OTHER : body->part;
	body->in_trace = true;
	body->section = OOPS_ON_TASK;
}

static void begin_allocated(struct oops_body *body, const char *rest)
{
	begin_trace(body, rest);
	body->part = OOPS_PART_ALLOCATED;
}

static void begin_freed(struct oops_body *body, const char *rest)
{
	begin_trace(body, rest);
	body->part = OOPS_PART_FREED;
}

static void begin_other(struct oops_body *body, const char *rest)
{
	begin_trace(body, rest);
	body->part = OOPS_PART_OTHER;
}

static void read_end(struct oops_body *body, const char *rest)
{
	(void)rest;
	body->ended = true;
}

static void read_code(struct oops_body *body, const char *rest)
{
	if (!body->user_mode && body->oops->code.count == 0)
		oops_state_code(body->oops, rest);
}

/* "0002 [#1] SMP": the error code of a page fault on x86 says what was tried. */
static void read_oops_line(struct oops_body *body, const char *rest)
{
	struct oops_report *report = &body->oops->report;
	/* New kernels say it twice: "Oops: Oops: 0002 [#1]". */
	const char *digits = piece_after(rest, "Oops: ") ? piece_after(rest, "Oops: ") : rest;
	uint64_t code;
	const char *at = piece_hex(digits, &code);

	if (at && at - digits == 4 && report->address != UINT64_MAX && !report->access)
		report->access = code & 0x10 ? "execute" : code & 2 ? "write" : "read";
}

/* "CM = 0, WnR = 1, ..." of arm64: whether it wrote. */
static void read_abort(struct oops_body *body, const char *rest)
{
	const char *write = piece_behind(rest, "WnR = ");

	if (write && !body->oops->report.access)
		body->oops->report.access = *write == '1' ? "write" : "read";
}

static const struct {
	const char *head;
	void (*read)(struct oops_body *body, const char *rest);
	bool starts; /* the headline is over */
} heads[] = {
	{"CPU: ", read_cpu, true},
	{"Pid: ", read_old_pid, true},
	{"Process ", read_process, true},
	{"RIP: ", read_rip, true},
	{"RIP ", read_rip, true},
	{"EIP is at ", read_eip, true},
	{"EIP: ", read_eip, true},
	{"IP: ", read_place, false},
	{"pc : ", read_pc, true},
	{"PC is at ", read_place, true},
	{"lr : ", read_nothing, true},
	{"Call Trace:", begin_trace, true},
	{"Call trace:", begin_trace, true},
	{"Allocated by task", begin_allocated, true},
	{"allocated by task", begin_allocated, true},
	{"Freed by task", begin_freed, true},
	{"freed by task", begin_freed, true},
	{"Last potentially related work creation", begin_other, true},
	{"Second to last potentially related work", begin_other, true},
	{"Code: ", read_code, true},
	{"Modules linked in: ", read_modules, true},
	{"Workqueue: ", read_workqueue, true},
	{"Kernel panic - not syncing: ", read_panic, true},
	{"Tainted: [", read_nothing, true},
	{"Tainted: ", read_hung_taint, false},
	{"Not tainted ", read_hung_clean, false},
	/* Old kernels print it before a warning says why. */
	{"Hardware name: ", read_nothing, false},
	{"---[ end trace", read_end, true},
	{"---[ end Kernel panic", read_end, true},
	{"#PF: supervisor ", read_pf, false},
	{"Oops: ", read_oops_line, false},
	{"Internal error: ", read_nothing, false},
	{"CM = ", read_abort, false},
	{"Read of size ", read_kasan_read, false},
	{"Write of size ", read_kasan_write, false},
};

/* Reads also the headline's "[#1]", which stands at the end of several. */
bool oops_body_read(struct oops_body *body, const char *line)
{
	const char *text = piece_blanks(line);

	if (body->in_trace) {
		if (oops_state_trace(body, text))
			return true;
		body->in_trace = false;
		body->traced = body->traced || body->oops->frames.count > 0;
	}
	read_oops_number(body->oops, text);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const char *rest = piece_after(text, heads[i].head);

		if (!rest)
			continue;
		heads[i].read(body, rest);
		body->started = body->started || heads[i].starts;
		return true;
	}
	if (!body->user_mode && body->oops->frames.count == 0 && oops_state_registers(body->oops, text)) {
		body->started = true;
		return true;
	}
	return false;
}
