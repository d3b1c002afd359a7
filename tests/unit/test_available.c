/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept about refused programs: read back for the same boot only, and nothing that somebody else may have put
 * there.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/core/available_cache.h"
#include "unit.h"

#define KEY "nest-available-1 some-boot 6.1.0 0 ff build"

static char dir[64];

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/nest-test-XXXXXX");
	REQUIRE(mkdtemp(dir));
}

static void remove_dir(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/available", dir);
	(void)unlink(path);
	(void)rmdir(path);
	CHECK_EQ_INT(rmdir(dir), 0);
}

static void put(const char *text, size_t len, mode_t mode)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/available", dir);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	REQUIRE(fd >= 0);
	CHECK_EQ_INT(write(fd, text, len), (int)len);
	CHECK_EQ_INT(fchmod(fd, mode), 0);
	(void)close(fd);
}

static int load(const char *key)
{
	struct hook_refusals refusals = {};
	int r = available_cache_load_from(dir, key, &refusals);

	if (r < 0)
		return r;
	r = (int)refusals.count;
	vec_done(&refusals);
	return r;
}

TEST(what_was_refused_is_read_back)
{
	struct hook_refusal items[] = {{"one_begin", "cannot load: EPERM (Operation not permitted)"},
				       {"two", "a \033[31mred\tline\nof two \xc3"}};
	struct hook_refusals saved = {.items = items, .count = ARRAY_SIZE(items)}, read = {};

	make_dir();
	CHECK_ERR(load(KEY), -ENOENT);
	CHECK_EQ_INT(available_cache_save_to(dir, KEY, &saved), 0);
	REQUIRE(available_cache_load_from(dir, KEY, &read) == 0);
	CHECK_EQ_UINT(read.count, 2);
	CHECK_EQ_TEXT(read.items[0].program, "one_begin");
	CHECK_EQ_TEXT(read.items[0].reason, items[0].reason);
	CHECK_EQ_TEXT(read.items[1].reason, "a  [31mred line of two ");
	vec_done(&read);
	/* Another boot, kernel, user, program. */
	CHECK_ERR(load("nest-available-1 other-boot 6.1.0 0 ff build"), -ENOENT);
	CHECK_ERR(load(KEY "x"), -ENOENT);
	CHECK_ERR(load(""), -ENOENT);
	/* Nothing refused is an answer, too. */
	CHECK_EQ_INT(available_cache_save_to(dir, KEY, &(struct hook_refusals){}), 0);
	CHECK_EQ_INT(load(KEY), 0);
	remove_dir();
}

TEST(odd_contents_are_ignored)
{
	static const char *const wrong[] = {
		"",
		KEY,
		KEY "\n",
		KEY "\none\treason\n",
		KEY "\none\treason\nend",
		KEY "\none\treason\nend\nmore",
		KEY "\none reason\nend\n",
		KEY "\n\treason\nend\n",
		KEY "\none\t\nend\n",
		KEY "\nOne/../x\treason\nend\n",
		KEY "\none\ta \033[2J screen\nend\n",
		KEY "\none\ta \xc2\x9b control\nend\n",
		KEY "\none\ta \xff byte\nend\n",
		"\n" KEY "\nend\n",
	};
	static const char nul[] = KEY "\none\tre\0ason\nend\n";
	static char large[(300 << 10) + 1], text[512];

	make_dir();
	put(KEY "\none\treason\nend\n", strlen(KEY "\none\treason\nend\n"), 0600);
	CHECK_EQ_INT(load(KEY), 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		unit_note("%zu", i);
		put(wrong[i], strlen(wrong[i]), 0600);
		CHECK_ERR(load(KEY), -ENOENT);
	}
	put(nul, sizeof(nul) - 1, 0600);
	CHECK_ERR(load(KEY), -ENOENT);
	memset(large, 'x', sizeof(large) - 1);
	put(large, sizeof(large) - 1, 0600);
	CHECK_ERR(load(KEY), -ENOENT);
	snprintf(text, sizeof(text), "%s\none\t%0300d\nend\n", KEY, 0);
	put(text, strlen(text), 0600);
	CHECK_ERR(load(KEY), -ENOENT);
	remove_dir();
}

TEST(files_of_others_are_ignored)
{
	static const char good[] = KEY "\none\treason\nend\n";
	char path[96], other[96];

	make_dir();
	snprintf(path, sizeof(path), "%s/available", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	put(good, sizeof(good) - 1, 0644);
	CHECK_ERR(load(KEY), -ENOENT);
	put(good, sizeof(good) - 1, 0600);
	CHECK_EQ_INT(load(KEY), 1);
	if (geteuid() == 0) {
		CHECK_EQ_INT(chown(path, 65534, 65534), 0);
		CHECK_ERR(load(KEY), -ENOENT);
		CHECK_EQ_INT(chown(path, 0, 0), 0);
	}
	/* A link, a pipe, a directory. */
	CHECK_EQ_INT(rename(path, other), 0);
	CHECK_EQ_INT(symlink(other, path), 0);
	CHECK_ERR(load(KEY), -ENOENT);
	CHECK_EQ_INT(available_cache_save_to(dir, KEY, &(struct hook_refusals){}), 0);
	CHECK_EQ_INT(load(KEY), 0);
	CHECK_EQ_INT(unlink(path), 0);
	CHECK_EQ_INT(unlink(other), 0);
	CHECK_EQ_INT(mkfifo(path, 0600), 0);
	CHECK_ERR(load(KEY), -ENOENT);
	CHECK_EQ_INT(unlink(path), 0);
	CHECK_EQ_INT(mkdir(path, 0700), 0);
	CHECK_ERR(load(KEY), -ENOENT);
	CHECK(available_cache_save_to(dir, KEY, &(struct hook_refusals){}) < 0);
	remove_dir();
}

TEST(directories_that_others_can_enter_are_not_used)
{
	static const char good[] = KEY "\nend\n";
	char link[80];

	make_dir();
	put(good, sizeof(good) - 1, 0600);
	CHECK_EQ_INT(chmod(dir, 0755), 0);
	CHECK_ERR(load(KEY), -ENOENT);
	CHECK_ERR(available_cache_save_to(dir, KEY, &(struct hook_refusals){}), -EPERM);
	CHECK_EQ_INT(chmod(dir, 0700), 0);
	snprintf(link, sizeof(link), "%s-link", dir);
	CHECK_EQ_INT(symlink(dir, link), 0);
	CHECK_ERR(available_cache_save_to(link, KEY, &(struct hook_refusals){}), -ENOTDIR);
	CHECK_EQ_INT(unlink(link), 0);
	CHECK_EQ_INT(load(KEY), 0);
	remove_dir();
}
