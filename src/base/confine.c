/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/spill.h"

/* --- Landlock: the headers of a distribution lag behind the kernels it runs on --- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define ASK_VERSION  1U
#define PATH_BENEATH 1

struct ruleset {
	uint64_t files, net, scoped;
};

struct path_rule {
	uint64_t rights;
	int32_t fd;
} __attribute__((packed));

enum right {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9,
	MAKE_SYM = 1 << 12,
	REFER = 1 << 13,
	TRUNCATE = 1 << 14,
	ALL_OF_VERSION_1 = (1 << 13) - 1,
	/* What a rule for a file, not a directory, may hold. */
	OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
};

#define READING  (READ_FILE | READ_DIR)
#define WRITING  (READING | WRITE_FILE | TRUNCATE)
#define MAKING   (WRITING | MAKE_REG | REMOVE_FILE | REFER)
#define ANYTHING (MAKING | MAKE_DIR | REMOVE_DIR | MAKE_SYM)
/* TCP bind and connect; abstract UNIX sockets and signals to processes outside. */
#define NET_TCP      3
#define SCOPE_UNIX   1
#define SCOPE_SIGNAL 2

/*
 * What libraries and the program read wherever it runs. Of /etc only these: uid 0 without capabilities still owns the
 * rest.
 */
static const struct {
	const char *path;
	uint64_t rights;
} always[] = {
	{"/usr", READING},
	{"/lib", READING},
	{"/lib64", READING},
	{"/boot", READING},
	{"/etc/ld.so.cache", READING},
	{"/etc/localtime", READING},
	{"/etc/locale.alias", READING},
	{"/etc/nsswitch.conf", READING},
	{"/etc/protocols", READING},
	{"/etc/services", READING},
	{"/etc/terminfo", READING},
	{"/proc/self", READING},
	{"/proc/sys", READING},
	{"/proc/meminfo", READING},
	{"/proc/stat", READING},
	{"/sys/devices/system", READING},
	{"/sys/kernel/btf", READING},
	{"/dev/null", WRITING},
	{"/dev/zero", READING},
	{"/dev/urandom", READING},
	{"/dev/full", WRITING},
	{"/dev/tty", WRITING},
	{"/dev/pts", WRITING},
};

/* Names, certificates. */
static const char *const of_servers[] = {
	"/etc/resolv.conf", "/run/systemd/resolve", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/ssl",
	"/etc/pki",         "/etc/ca-certificates",
};

int confine_landlock_version(void)
{
	return (int)max_of(syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION), 0L);
}

/* The rights that need a rule. */
static uint64_t rights_to_handle(const struct confine *confine, int version)
{
	uint64_t rights = ALL_OF_VERSION_1 | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);

	return confine->may & MAY_EXEC ? rights & ~(uint64_t)EXECUTE : rights;
}

static int add_rule(int ruleset, const char *path, uint64_t rights)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct path_rule rule = {.rights = rights, .fd = fd};
	struct stat info;

	/* What is not there cannot be opened later either. */
	if (fd < 0 || fstat(fd, &info) < 0)
		return 0;
	if (!S_ISDIR(info.st_mode))
		rule.rights &= OF_FILES;
	if (rule.rights == 0)
		return 0;
	return syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

static uint64_t rights_of_rule(const struct confine *confine, const struct confine_rule *rule)
{
	return rule->rights & MAKE_REG && confine->may & MAY_SCRATCH ? rule->rights | ANYTHING : rule->rights;
}

static int add_rules(const struct confine *confine, int ruleset, uint64_t handled)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(always); i++)
		r = add_rule(ruleset, always[i].path, always[i].rights & handled);
	if (r == 0 && confine->may & MAY_READ_PROC)
		r = add_rule(ruleset, "/proc", READING & handled);
	if (r == 0 && confine->may & MAY_READ_PROC)
		r = add_rule(ruleset, "/sys", READING & handled);
	for (size_t i = 0; r == 0 && confine->may & MAY_SERVE && i < ARRAY_SIZE(of_servers); i++)
		r = add_rule(ruleset, of_servers[i], READING & handled);
	vec_each(&confine->rules, rule)
		if (r == 0)
			r = add_rule(ruleset, rule->path, rights_of_rule(confine, rule) & handled);
	return r;
}

static int confine_files(const struct confine *confine)
{
	int version = confine_landlock_version(), r;
	struct ruleset ruleset = {.files = rights_to_handle(confine, version)};
	_cleanup_close_ int fd = -1;

	if (version == 0 || confine->may & (MAY_INSPECT | MAY_NAME_FILES))
		return 0;
	if (version >= 4 && !(confine->may & MAY_SERVE))
		ruleset.net = NET_TCP;
	if (version >= 6)
		ruleset.scoped = (confine->may & MAY_SERVE ? 0 : SCOPE_UNIX) |
				 (confine->may & (MAY_SIGNAL | MAY_EXEC | MAY_ASK) ? 0 : SCOPE_SIGNAL);
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset,
			  version >= 6   ? sizeof(ruleset)
			  : version >= 4 ? offsetof(struct ruleset, scoped)
					 : offsetof(struct ruleset, net),
			  0);
	if (fd < 0)
		return -errno;
	r = add_rules(confine, fd, ruleset.files);
	if (r == 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		r = -errno;
	return r;
}

/* --- the files of a command --- */

static void add_path(struct confine *confine, const char *path, uint64_t rights)
{
	struct confine_rule *rule = vec_add(&confine->rules);

	*rule = (struct confine_rule){.path = xstrdup(path), .rights = rights};
}

static void add_directory_of(struct confine *confine, const char *path, uint64_t rights)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *directory = slash ? xstrndup(path, max_of((size_t)(slash - path), (size_t)1)) : NULL;

	add_path(confine, directory ?: ".", rights);
}

/* The directory of the name, and that of the file where the name is a link. */
static void add_both(struct confine *confine, const char *path, uint64_t rights)
{
	char target[PATH_MAX];

	add_directory_of(confine, path, rights);
	if (realpath(path, target))
		add_directory_of(confine, target, rights);
}

/* SQLite reads a recording that was not closed with its log, and an index of the log that it may have to make. */
static void add_log(struct confine *confine, const char *path)
{
	_cleanup_free_ char *log = xasprintf("%s-wal", path), *index = xasprintf("%s-shm", path);

	if (access(log, F_OK) < 0)
		return;
	if (access(index, F_OK) == 0)
		add_path(confine, index, WRITING);
	else
		add_directory_of(confine, path, MAKING);
}

/* Whether it can be opened with these capabilities, which are set for a moment. */
static bool opens_with(const char *path, int flags, uint64_t capabilities);

static void keep_if_needed(struct confine *confine, const char *path, int flags, unsigned capability)
{
	if (!opens_with(path, flags, confine->keep) &&
	    opens_with(path, flags, confine->keep | UINT64_C(1) << capability))
		confine->keep |= UINT64_C(1) << capability;
}

static bool is_path(const char *path)
{
	return path && *path && strcmp(path, "-") != 0;
}

void confine_add_input(struct confine *confine, const char *path)
{
	struct stat info;

	if (!is_path(path))
		return;
	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
		confine_add_tree(confine, path, false);
		return;
	}
	add_both(confine, path, READING);
	add_log(confine, path);
	/* Opening a FIFO would wait. */
	if (S_ISREG(info.st_mode))
		keep_if_needed(confine, path, O_RDONLY, CAP_DAC_READ_SEARCH);
}

void confine_add_output(struct confine *confine, const char *path)
{
	_cleanup_free_ char *directory = NULL;
	const char *slash;

	if (!is_path(path))
		return;
	add_both(confine, path, MAKING);
	slash = strrchr(path, '/');
	directory = slash ? xstrndup(path, max_of((size_t)(slash - path), (size_t)1)) : xstrdup(".");
	keep_if_needed(confine, directory, O_TMPFILE | O_WRONLY, CAP_DAC_OVERRIDE);
}

void confine_add_socket(struct confine *confine, const char *path)
{
	if (!is_path(path))
		return;
	confine_add_output(confine, path);
	add_directory_of(confine, path, MAKE_SOCK);
}

void confine_add_tree(struct confine *confine, const char *path, bool written)
{
	if (!is_path(path))
		return;
	add_path(confine, path, written ? ANYTHING : READING);
	/* It is made later. */
	if (written && access(path, F_OK) < 0)
		add_directory_of(confine, path, ANYTHING);
	if (!written)
		keep_if_needed(confine, path, O_RDONLY | O_DIRECTORY, CAP_DAC_READ_SEARCH);
}

void confine_done(struct confine *confine)
{
	vec_each(&confine->rules, rule)
		free(rule->path);
	vec_done(&confine->rules);
}

/* --- capabilities --- */

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int get_capabilities(struct capabilities *caps)
{
	*caps = (struct capabilities){.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
	return syscall(SYS_capget, &caps->header, caps->data) < 0 ? -errno : 0;
}

static int set_effective(const struct capabilities *held, uint64_t effective)
{
	struct capabilities caps = *held;

	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps.data[i].effective = held->data[i].permitted & (uint32_t)(effective >> 32 * i);
	return syscall(SYS_capset, &caps.header, caps.data) < 0 ? -errno : 0;
}

/* For a moment: the set that was effective before comes back with restore_effective. */
static int try_effective(uint64_t capabilities, struct capabilities *ret_held)
{
	int r = get_capabilities(ret_held);

	return r < 0 ? r : set_effective(ret_held, capabilities);
}

static void restore_effective(const struct capabilities *held)
{
	if (set_effective(held, (uint64_t)held->data[1].effective << 32 | held->data[0].effective) < 0)
		abort();
}

static bool opens_with(const char *path, int flags, uint64_t capabilities)
{
	struct capabilities held;
	int fd;

	if (try_effective(capabilities, &held) < 0)
		return false;
	fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);
	restore_effective(&held);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

bool confine_maps_need_privilege(void)
{
	union bpf_attr no_map = {.map_fd = (uint32_t)-1};
	struct capabilities held;
	bool refused;

	if (try_effective(0, &held) < 0)
		return true;
	refused = syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &no_map, sizeof(no_map)) < 0 && errno == EPERM;
	restore_effective(&held);
	return refused;
}

/* A program that is run later must not get them back from the bounding set. */
static void drop_bounds(uint64_t keep)
{
	for (unsigned i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(keep >> i & 1))
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

static int drop_capabilities(uint64_t keep)
{
	struct capabilities caps;
	int r = get_capabilities(&caps);

	if (r < 0)
		return r;
	drop_bounds(keep);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		caps.data[i].permitted &= (uint32_t)(keep >> 32 * i);
		caps.data[i].effective &= (uint32_t)(keep >> 32 * i);
		caps.data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &caps.header, caps.data) < 0 ? -errno : 0;
}

/* --- all of it --- */

int confine_drop_capabilities(uint64_t keep, struct why *why)
{
	int r;

	/* Tables that outgrow memory need no right in a directory that others can write to. */
	spill_prepare();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return why_set(why, -errno, "cannot give up privilege: prctl: %s", strerror(errno));
	r = drop_capabilities(keep);
	return r < 0 ? why_set(why, r, "cannot give up privilege: capset: %s", strerror(-r)) : 0;
}

int confine_apply(const struct confine *confine, struct why *why)
{
	int r;

	/* Tables that outgrow memory need no right in a directory that others can write to. */
	spill_prepare();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return why_set(why, -errno, "cannot give up privilege: prctl: %s", strerror(errno));
	r = confine_files(confine);
	if (r < 0)
		return why_set(why, r, "cannot give up privilege: Landlock: %s", strerror(-r));
	r = confine_drop_capabilities(confine->keep, why);
	return r == 0 ? confine_filter_calls(confine->may, why) : r;
}
