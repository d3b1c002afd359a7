/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "kernel/capability.h"

static const struct {
	unsigned cap;
	const char *name;
} names[] = {
	{CAP_BPF, "CAP_BPF"},
	{CAP_PERFMON, "CAP_PERFMON"},
	{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
	{CAP_NET_RAW, "CAP_NET_RAW"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
	{CAP_SYSLOG, "CAP_SYSLOG"},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
	{CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"},
};

int capability_get(uint64_t *ret_mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*ret_mask = (uint64_t)data[1].effective << 32 | data[0].effective;
	return 0;
}

/* The first user namespace maps all users to themselves. */
bool capability_is_elsewhere(void)
{
	static const char *const whole[] = {"0", "0", "4294967295"};
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	const char *at;

	if (buf_read_file(&text, "/proc/self/uid_map") < 0)
		return false;
	at = buf_text(&text);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		at += strspn(at, " ");
		if (strncmp(at, whole[i], strlen(whole[i])) != 0 || !strchr(" \n", at[strlen(whole[i])]))
			return true;
		at += strlen(whole[i]);
	}
	return false;
}

/* Names joined by `between`, the last two by `last`. */
static void join_names(uint64_t mask, const char *between, const char *last, char *text, size_t size)
{
	size_t len = 0, left = 0;

	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		left += mask >> names[i].cap & 1;
	for (size_t i = 0; i < ARRAY_SIZE(names) && len < size; i++) {
		if (!(mask >> names[i].cap & 1))
			continue;
		left--;
		len += (size_t)snprintf(text + len, size - len, "%s%s", names[i].name,
					left > 1    ? between
					: left == 1 ? last
						    : "");
	}
}

void capability_names(uint64_t mask, char *text, size_t size)
{
	join_names(mask, ", ", " and ", text, size);
}

void capability_refusal(uint64_t mask, char *text, size_t size)
{
	char list[128];
	uint64_t held = 0;
	bool all;

	all = capability_get(&held) == 0 && !(mask & ~held);
	capability_names(all ? mask : mask & ~held, list, sizeof(list));
	snprintf(text, size, all ? "refused by the kernel despite %s" : "needs %s", list);
}

void capability_setcap(uint64_t mask, char *text, size_t size)
{
	join_names(mask, ",", ",", text, size);
	for (char *c = text; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
}
