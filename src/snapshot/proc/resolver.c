/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/parse.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/resolver.h"

#define CONFIG_BYTES_MAX ((size_t)256 << 10)

#define R                struct resolver_record
static const struct field resolver_fields[] = {
	FIELD(R, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(R, raddr, ADDR, "name server"),
	FIELD(R, place, ID, "position in resolv.conf, from 1"),
	FIELD(R, timeout_ns, DURATION, "timeout per query"),
	FIELD(R, attempts, ID, "rounds through all name servers"),
	FIELD(R, path, TEXT, "resolv.conf that lists it", .hidden = true),
};
#undef R
RECORD_TYPE(resolver_type, "resolver", struct resolver_record, resolver_fields, "a configured name server");

/* --- parser --- */

static bool is_word(const char *word, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(word, name, n) == 0;
}

/* Drops the scope of "fe80::1%eth0". */
static void add_server(struct resolver_config *config, const char *word, size_t n)
{
	const char *scope = memchr(word, '%', n);
	char text[ADDR_TEXT_MAX];
	size_t len = scope ? (size_t)(scope - word) : n;

	if (config->count == RESOLVERS_MAX || len >= sizeof(text))
		return;
	memcpy(text, word, len);
	text[len] = '\0';
	if (addr_parse(text, &config->servers[config->count]) == 0)
		config->count++;
}

/* glibc caps both: 30 s and 5 attempts. */
static void read_option(struct resolver_config *config, const char *word, size_t n)
{
	const char *colon = memchr(word, ':', n);
	size_t name_len = colon ? (size_t)(colon - word) : n;
	char number[8];
	uint64_t value;

	if (!colon || n - name_len - 1 >= sizeof(number))
		return;
	memcpy(number, colon + 1, n - name_len - 1);
	number[n - name_len - 1] = '\0';
	if (parse_u64(number, 0, 9999, &value) < 0)
		return;
	if (is_word(word, name_len, "timeout"))
		config->timeout_ns = min_of(value, (uint64_t)30) * NSEC_PER_SEC;
	else if (is_word(word, name_len, "attempts"))
		config->attempts = (uint32_t)min_of(value, (uint64_t)5);
}

void resolver_parse(const char *text, struct resolver_config *ret_config)
{
	*ret_config = (struct resolver_config){.timeout_ns = 5 * NSEC_PER_SEC, .attempts = 2};
	do {
		const char *line = text, *word;
		size_t n;

		if (!scan_word(&line, &word, &n))
			continue;
		if (is_word(word, n, "nameserver")) {
			if (scan_word(&line, &word, &n))
				add_server(ret_config, word, n);
		} else if (is_word(word, n, "options")) {
			while (scan_word(&line, &word, &n))
				read_option(ret_config, word, n);
		}
	} while (scan_next_line(&text));
	/* glibc's default without a nameserver line. */
	if (ret_config->count == 0 && addr_parse("127.0.0.1", &ret_config->servers[0]) == 0)
		ret_config->count = 1;
}

/* --- file --- */

/*
 * Opens a file below the root of another user's process. Symbolic links cannot escape it, and only a regular file is
 * accepted: a FIFO would block.
 */
static int open_below(const char *root, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_IN_ROOT};
	_cleanup_close_ int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct stat st;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(&fd) : -EINVAL;
}

/* As `ip netns exec` and containers do: /etc/netns/NAME, then the file of a process inside, then the host's. */
static int open_config(const struct netns_record *netns, char *path, size_t size)
{
	char root[64];
	int fd;

	if (netns->name[0]) {
		snprintf(path, size, "/etc/netns/%.63s/resolv.conf", netns->name);
		fd = open_below("/", path + 1);
		if (fd >= 0)
			return fd;
	}
	snprintf(root, sizeof(root), netns->pid ? "/proc/%u/root" : "/", netns->pid);
	snprintf(path, size, "%s/etc/resolv.conf", netns->pid ? root : "");
	return open_below(root, "etc/resolv.conf");
}

static void collect_netns(struct snapshot *snapshot, const struct netns_record *netns)
{
	_cleanup_buf_ struct buf text = BUF_INIT(CONFIG_BYTES_MAX);
	struct resolver_config config;
	char path[128];
	_cleanup_close_ int fd = open_config(netns, path, sizeof(path));

	/* No file: no name servers. No permission: unknown. */
	if (fd < 0 || buf_read_fd(&text, fd) < 0)
		return;
	resolver_parse(buf_text(&text), &config);
	for (unsigned i = 0; i < config.count; i++) {
		struct resolver_record *r = snapshot_table_add(snapshot_table(snapshot, &resolver_type));

		if (!r)
			return;
		r->netns = netns->netns;
		r->raddr = config.servers[i];
		r->place = i + 1;
		r->timeout_ns = config.timeout_ns;
		r->attempts = config.attempts;
		r->path = snapshot_text(snapshot, path, sizeof(path));
	}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request _unused_, struct why *why _unused_)
{
	snapshot_each(snapshot, netns_type, const struct netns_record, netns)
		collect_netns(snapshot, netns);
	return 0;
}

static const struct record_type *const types[] = {&resolver_type, NULL};

static const struct snapshot_source resolver_source = {
	.name = "resolver",
	.lost = "configured name servers",
	.types = types,
	.stage = STAGE_REST,
	.collect = collect,
};
SNAPSHOT_SOURCE(resolver_source);
