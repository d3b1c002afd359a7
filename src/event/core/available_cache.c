/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/available_cache.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/text.h"
#include "kernel/capability.h"

#define HEAD         "nest-available-1"
#define NAME         "available"
#define TEXT_MAX     ((size_t)256 << 10)
#define REFUSALS_MAX 1000

/* --- the text ----------------------------------------------------------------------------------------------------- */

static bool is_program_name(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && n < sizeof(((struct hook_refusal *)0)->program) &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* Whole characters, and none that a terminal obeys. */
static bool is_plain(const char *text, size_t max)
{
	size_t n = strlen(text);
	uint32_t code;

	for (size_t at = 0, len; at < n; at += len) {
		len = text_decode_utf8(text + at, n - at, &code);
		if (len == 0 || code < ' ' || (code >= 0x7f && code < 0xa0))
			return false;
	}
	return n > 0 && n < max;
}

/* "PROGRAM<tab>REASON" */
static bool parse_line(char *line, struct hook_refusals *refusals)
{
	char *program = strsep(&line, "\t");
	struct hook_refusal *refusal;

	if (!line || !is_program_name(program) || !is_plain(line, sizeof(refusal->reason)) ||
	    refusals->count == REFUSALS_MAX)
		return false;
	refusal = vec_add(refusals);
	snprintf(refusal->program, sizeof(refusal->program), "%s", program);
	snprintf(refusal->reason, sizeof(refusal->reason), "%s", line);
	return true;
}

/* The last line is "end": a truncated file is not mistaken for a whole one. */
static bool parse(struct buf *text, const char *key, struct hook_refusals *refusals)
{
	char *rest = text->data, *line = rest && strlen(rest) == text->len ? strsep(&rest, "\n") : NULL;

	if (!line || strcmp(line, key) != 0)
		return false;
	while ((line = strsep(&rest, "\n"))) {
		if (strcmp(line, "end") == 0)
			return rest && *rest == '\0';
		if (!parse_line(line, refusals))
			return false;
	}
	return false;
}

/* A reason may quote what others said. */
static void add_line(struct buf *text, const struct hook_refusal *refusal)
{
	char reason[sizeof(refusal->reason)];
	size_t n = strlen(refusal->reason);

	memcpy(reason, refusal->reason, n + 1);
	/* It may have been cut inside a character. */
	while (n > 0 && !is_plain(reason, sizeof(reason)) && (uint8_t)reason[n - 1] >= 0x80)
		reason[--n] = '\0';
	for (char *c = reason; *c; c++)
		if ((uint8_t)*c < ' ' || *c == 0x7f)
			*c = ' ';
	buf_add_format(text, "%s\t%s\n", refusal->program, n ? reason : "refused");
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static bool is_private(int fd, mode_t type)
{
	struct stat stat;

	return fstat(fd, &stat) == 0 && (stat.st_mode & S_IFMT) == type && stat.st_uid == geteuid() &&
	       (stat.st_mode & 077) == 0;
}

static int open_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	if (is_private(fd, S_IFDIR))
		return fd;
	(void)close(fd);
	return -EPERM;
}

int available_cache_load_from(const char *dir, const char *key, struct hook_refusals *ret_refusals)
{
	_cleanup_close_ int dir_fd = open_dir(dir), fd = -1;
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX);
	struct hook_refusals refusals = {};

	/* Not blocked by something that is no file. */
	if (dir_fd >= 0)
		fd = openat(dir_fd, NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || !is_private(fd, S_IFREG) || buf_read_fd(&text, fd) < 0 || !parse(&text, key, &refusals)) {
		vec_done(&refusals);
		return -ENOENT;
	}
	*ret_refusals = refusals;
	return 0;
}

static int write_all(int fd, const struct buf *text)
{
	for (size_t at = 0; at < text->len;) {
		ssize_t n = write(fd, text->data + at, text->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 0;
}

int available_cache_save_to(const char *dir, const char *key, const struct hook_refusals *refusals)
{
	_cleanup_buf_ struct buf text = BUF_INIT(TEXT_MAX);
	_cleanup_close_ int dir_fd = -1, fd = -1;
	char fresh[64];
	int r;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir_fd = open_dir(dir);
	if (dir_fd < 0)
		return dir_fd;
	buf_add_format(&text, "%s\n", key);
	vec_each(refusals, refusal)
		add_line(&text, refusal);
	buf_add_text(&text, "end\n");
	if (text.over)
		return -E2BIG;
	snprintf(fresh, sizeof(fresh), NAME ".%d", (int)getpid());
	fd = openat(dir_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, &text);
	if (r == 0 && renameat(dir_fd, fresh, dir_fd, NAME) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, fresh, 0);
	return r;
}

/* --- here and now ------------------------------------------------------------------------------------------------- */

static char *runtime_dir(void)
{
	const char *given = getenv("XDG_RUNTIME_DIR");
	struct stat stat_of;

	/* After sudo it may still be that of the user before. */
	if (given && given[0] == '/' && stat(given, &stat_of) == 0 && stat_of.st_uid == geteuid())
		return xasprintf("%s/nest", given);
	return geteuid() == 0 ? xstrdup("/run/nest") : xasprintf("/run/user/%u/nest", geteuid());
}

static bool add_build_id(struct buf *key, const char *at, const char *end)
{
	while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const char *name = at + sizeof(*note), *data = name + (note->n_namesz + 3) / 4 * 4;

		at = data + (note->n_descsz + 3) / 4 * 4;
		if (at > end)
			return false;
		if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		for (uint32_t i = 0; i < note->n_descsz; i++)
			buf_add_format(key, "%02x", (uint8_t)data[i]);
		return true;
	}
	return false;
}

/* The first object is this program. */
static int find_build_id(struct dl_phdr_info *info, size_t size _unused_, void *key)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const char *begin = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);

		if (info->dlpi_phdr[i].p_type == PT_NOTE &&
		    add_build_id(key, begin, begin + info->dlpi_phdr[i].p_memsz))
			return 1;
	}
	return -1;
}

static int make_key(struct buf *key)
{
	_cleanup_buf_ struct buf boot = BUF_INIT(128);
	struct utsname host;
	uint64_t held;

	/* Other programs are refused then. */
	if (hook_is_restricted())
		return -ENOENT;
	if (uname(&host) < 0 || capability_get(&held) < 0)
		return -errno;
	if (buf_read_file(&boot, "/proc/sys/kernel/random/boot_id") < 0 || boot.len < 2)
		return -ENOENT;
	buf_add_format(key, HEAD " %.*s %s %u %" PRIx64 " ", (int)strcspn(boot.data, "\n"), boot.data, host.release,
		       geteuid(), held);
	/* A program without one cannot be reported from the next that is built. */
	return dl_iterate_phdr(find_build_id, key) == 1 ? 0 : -ENOENT;
}

int available_cache_load(struct hook_refusals *ret_refusals)
{
	_cleanup_buf_ struct buf key = BUF_INIT(1024);
	_cleanup_free_ char *dir = runtime_dir();
	int r = make_key(&key);

	return r < 0 ? r : available_cache_load_from(dir, buf_text(&key), ret_refusals);
}

int available_cache_save(const struct hook_refusals *refusals)
{
	_cleanup_buf_ struct buf key = BUF_INIT(1024);
	_cleanup_free_ char *dir = runtime_dir();
	int r = make_key(&key);

	return r < 0 ? r : available_cache_save_to(dir, buf_text(&key), refusals);
}
