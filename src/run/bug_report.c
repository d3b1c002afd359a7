/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <pwd.h>
#include <sys/utsname.h>

#include "base/mask.h"
#include "event/core/available.h"
#include "kernel/feature/doctor_text.h"
#include "run/bug_report.h"
#include "run/build_info.h"

static void add_release(struct buf *text)
{
	_cleanup_buf_ struct buf file = BUF_INIT(65536);
	const char *name;

	if (buf_read_file(&file, "/etc/os-release") < 0)
		return;
	name = strstr(buf_text(&file), "PRETTY_NAME=\"");
	if (name)
		buf_add_format(text, "system: %.*s\n", (int)strcspn(name + 13, "\"\n"), name + 13);
}

static void add_events(struct buf *text)
{
	struct availability available;
	size_t missing = 0;

	availability_look(&available);
	for (size_t i = 0; i < available.count; i++)
		missing += availability_reason(&available, available.events[i]->name) != NULL;
	buf_add_format(text, "\nevents: %zu of %zu available\n", available.count - missing, available.count);
	for (size_t i = 0; available.plan && i < available.count; i++) {
		const char *reason = availability_reason(&available, available.events[i]->name);

		if (reason)
			buf_add_format(text, "  %s: %s\n", available.events[i]->name, reason);
	}
	if (!available.plan)
		buf_add_format(text, "  %s\n", available.why.text);
	availability_done(&available);
}

static void add_checks(struct buf *text, const struct check_list *checks)
{
	static const char *const states[] = {[CHECK_OK] = "ok",
					     [CHECK_LIMITED] = "limited",
					     [CHECK_MISSING] = "missing",
					     [CHECK_UNKNOWN] = "unknown"};

	buf_add_text(text, "\nchecks:\n");
	vec_each(&checks->checks, check)
		buf_add_format(text, "  %-8s %s/%s: %s\n", states[min_of(check->state, (unsigned)CHECK_UNKNOWN)],
			       check->group, check->check, check->detail);
}

static void mask_names(struct mask *mask)
{
	struct passwd *found = NULL, user;
	struct utsname host;
	char text[4096];

	/* root is everywhere, and says nothing. */
	if (getuid() != 0 && getpwuid_r(getuid(), &user, text, sizeof(text), &found) == 0 && found)
		mask_add_word(mask, user.pw_name, "USER");
	if (uname(&host) == 0)
		mask_add_word(mask, host.nodename, "HOST");
}

void bug_report_add(struct buf *text, const struct check_list *checks, bool unmasked)
{
	_cleanup_buf_ struct buf plain = BUF_INIT(BUF_CAP_DEFAULT);
	_cleanup_mask_ struct mask mask = {};

	build_info_add(&plain);
	add_release(&plain);
	doctor_add_verdict(checks, &plain);
	buf_add_char(&plain, '\n');
	add_events(&plain);
	add_checks(&plain, checks);
	if (unmasked) {
		buf_add_text(text, buf_text(&plain));
		return;
	}
	mask_names(&mask);
	mask_text(&mask, buf_text(&plain), text);
}
