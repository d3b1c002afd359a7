/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/counter_history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/parse.h"

#define HEAD     "nest-counters-1"
#define TEXT_MAX ((size_t)64 << 20)
#define FORGET   (7 * 86400 * NSEC_PER_SEC)

char *counter_history_path(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && state[0] == '/')
		return xasprintf("%s/nest/counters", state);
	return home && home[0] == '/' ? xasprintf("%s/.local/state/nest/counters", home) : NULL;
}

/* Changes with every boot. */
static int read_boot_id(struct buf *id)
{
	int r = buf_read_file(id, "/proc/sys/kernel/random/boot_id");

	if (r == 0 && id->len)
		id->data[strcspn(id->data, "\n")] = '\0';
	return r;
}

/* "NETNS BOOT_NS VALUE NAME" */
static bool parse_line(char *line, struct map *seen)
{
	char *netns = strsep(&line, " "), *when = strsep(&line, " "), *value = strsep(&line, " "), key[160];
	struct counter_seen *found, read;
	uint64_t number;

	if (!line || parse_decimal(netns, 0, UINT32_MAX, &number) < 0 ||
	    parse_decimal(when, 0, UINT64_MAX, &read.boot_ns) < 0 ||
	    parse_decimal(value, 0, UINT64_MAX, &read.value) < 0)
		return false;
	snprintf(key, sizeof(key), "%" PRIu64 " %s", number, line);
	found = map_put(seen, key, NULL);
	if (found)
		*found = read;
	return true;
}

bool counter_history_parse(char *text, const char *boot_id, struct map *seen)
{
	char *line = strsep(&text, "\n"), *word = strsep(&line, " ");

	if (!text || strcmp(word, HEAD) != 0 || !line || strcmp(line, boot_id) != 0)
		return false;
	while ((line = strsep(&text, "\n")))
		if (*line && !parse_line(line, seen))
			return false;
	return true;
}

int counter_history_load(const char *path, struct map *seen, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX), id = BUF_INIT(128);
	int r = buf_read_file(&text, path);

	if (r == -ENOENT || (r == 0 && text.len == 0))
		return 0;
	if (r == 0)
		r = read_boot_id(&id);
	if (r < 0)
		return why_set(why, r, "cannot read %s: %s", path, strerror(-r));
	/* Ignore a damaged file: start without history. */
	if (!counter_history_parse(text.data, buf_text(&id), seen)) {
		size_t cap = seen->cap;

		map_done(seen);
		*seen = MAP_INIT(0, sizeof(struct counter_seen), cap);
	}
	return 0;
}

static int make_text(const struct map *seen, uint64_t now_ns, struct buf *text)
{
	_cleanup_buf_ struct buf id = BUF_INIT(128);
	int r = read_boot_id(&id);
	const void *key;
	size_t at = 0;
	void *value;

	if (r < 0)
		return r;
	buf_add_format(text, "%s %s\n", HEAD, buf_text(&id));
	while (map_next(seen, &at, &key, &value)) {
		const struct counter_seen *one = value;
		const char *name = strchr(key, ' ');

		if (one->boot_ns + FORGET < now_ns)
			continue;
		buf_add_format(text, "%.*s %" PRIu64 " %" PRIu64 "%s\n", (int)(name - (const char *)key),
			       (const char *)key, one->boot_ns, one->value, name);
	}
	return text->over ? -E2BIG : 0;
}

static int write_file(const char *path, const struct buf *text)
{
	_cleanup_free_ char *fresh = xasprintf("%s.new", path);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (size_t at = 0; r == 0 && at < text->len; at += (size_t)n) {
		n = write(fd, text->data + at, text->len - at);
		if (n < 0)
			r = -errno;
	}
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	return r;
}

int counter_history_save(const char *path, const struct map *seen, uint64_t now_ns, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX);
	_cleanup_free_ char *dir = xstrdup(path);
	int r = make_text(seen, now_ns, &text);

	*strrchr(dir, '/') = '\0';
	if (r == 0)
		r = files_make_dirs(dir, NULL);
	if (r == 0)
		r = write_file(path, &text);
	return r < 0 ? why_set(why, r, "cannot save the counters in %s: %s", path, strerror(-r)) : 0;
}
