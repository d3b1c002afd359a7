/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "kernel/proctext.h"
#include "snapshot/proc/cgroup_path.h"

#define CONTAINER_ID_LEN 64

static bool has_prefix(const char *text, size_t n, const char *prefix, size_t *ret_len)
{
	*ret_len = strlen(prefix);
	return n > *ret_len && memcmp(text, prefix, *ret_len) == 0;
}

static bool has_suffix(const char *text, size_t n, const char *suffix)
{
	size_t len = strlen(suffix);

	return n > len && memcmp(text + n - len, suffix, len) == 0;
}

static void copy_cut(char *out, size_t size, const char *text, size_t n)
{
	n = min_of(n, size - 1);
	memcpy(out, text, n);
	out[n] = '\0';
}

/* systemd escapes special bytes as \xNN. */
static void copy_unescaped(char *out, size_t size, const char *text, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n && to + 1 < size; i++) {
		if (text[i] == '\\' && i + 3 < n && text[i + 1] == 'x' && isxdigit((unsigned char)text[i + 2]) &&
		    isxdigit((unsigned char)text[i + 3])) {
			static const char digits[] = "0123456789abcdef";
			size_t high = (size_t)(strchr(digits, tolower((unsigned char)text[i + 2])) - digits);
			size_t low = (size_t)(strchr(digits, tolower((unsigned char)text[i + 3])) - digits);

			out[to++] = (char)(high << 4 | low);
			i += 3;
		} else {
			out[to++] = text[i];
		}
	}
	out[to] = '\0';
}

static bool is_container_id(const char *text, size_t n)
{
	if (n != CONTAINER_ID_LEN)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	return true;
}

/* docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope, cri-containerd:NAMESPACE:ID or ID. */
static bool take_id(const char *part, size_t n, struct cgroup_names *names)
{
	size_t prefix;

	/* conmon monitors the container from outside. */
	if (has_prefix(part, n, "libpod-conmon-", &prefix) || has_prefix(part, n, "crio-conmon-", &prefix))
		return false;
	if (has_suffix(part, n, ".scope"))
		n -= 6;
	if (n < CONTAINER_ID_LEN)
		return false;
	if (n > CONTAINER_ID_LEN && part[n - CONTAINER_ID_LEN - 1] != '-' && part[n - CONTAINER_ID_LEN - 1] != ':')
		return false;
	if (!is_container_id(part + n - CONTAINER_ID_LEN, CONTAINER_ID_LEN))
		return false;
	copy_cut(names->container, sizeof(names->container), part + n - CONTAINER_ID_LEN, CONTAINER_ID_LEN);
	return true;
}

/* Runtimes whose containers have names: LXC, systemd-nspawn, systemd-machined. */
static bool take_name(const char *part, size_t n, const char *parent, size_t parent_len, struct cgroup_names *names)
{
	size_t prefix;

	if (has_prefix(part, n, "lxc.payload.", &prefix)) {
		copy_cut(names->container, sizeof(names->container), part + prefix, n - prefix);
		return true;
	}
	if (parent_len == 3 && memcmp(parent, "lxc", 3) == 0) {
		copy_cut(names->container, sizeof(names->container), part, n);
		return true;
	}
	if (has_prefix(part, n, "machine-", &prefix) && has_suffix(part, n, ".scope")) {
		copy_unescaped(names->container, sizeof(names->container), part + prefix, n - prefix - 6);
		return true;
	}
	if (has_prefix(part, n, "systemd-nspawn@", &prefix) && has_suffix(part, n, ".service")) {
		copy_unescaped(names->container, sizeof(names->container), part + prefix, n - prefix - 8);
		return true;
	}
	return false;
}

void cgroup_path_names(const char *path, struct cgroup_names *ret_names)
{
	const char *parent = "";
	size_t parent_len = 0;

	memset(ret_names, 0, sizeof(*ret_names));
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n > 0) {
			/* Nested containers: the innermost wins. */
			if (!take_id(path, n, ret_names))
				(void)take_name(path, n, parent, parent_len, ret_names);
			if (has_suffix(path, n, ".service") || has_suffix(path, n, ".scope"))
				copy_cut(ret_names->unit, sizeof(ret_names->unit), path, n);
			parent = path;
			parent_len = n;
		}
		path += n + (path[n] == '/');
	}
}

/* "4:cpu,cpuacct:/path": the path if the list has the controller, otherwise NULL. */
static const char *line_path(const char *line, size_t n, const char *controller)
{
	const char *list = memchr(line, ':', n), *end, *path;
	size_t want = strlen(controller);

	if (!list)
		return NULL;
	list++;
	end = line + n;
	path = memchr(list, ':', (size_t)(end - list));
	if (!path)
		return NULL;
	if (want == 0)
		return path == list ? path + 1 : NULL;
	while (list < path) {
		const char *comma = memchr(list, ',', (size_t)(path - list));
		size_t len = (size_t)((comma ? comma : path) - list);

		if (len == want && memcmp(list, controller, len) == 0)
			return path + 1;
		list += len + 1;
	}
	return NULL;
}

int cgroup_text_find(const char *text, const char *controller, char *path, size_t size)
{
	const char *line;
	size_t n;

	while (proctext_line(&text, &line, &n)) {
		const char *found = line_path(line, n, controller);
		size_t len = found ? (size_t)(line + n - found) : 0;

		if (!found || len == 0 || *found != '/')
			continue;
		if (len >= size)
			return -E2BIG;
		memcpy(path, found, len);
		path[len] = '\0';
		return 0;
	}
	return -ENODATA;
}

int cgroup_text_best(const char *text, char *path, size_t size)
{
	static const char *const order[] = {"", "name=systemd", "cpu", "memory", "pids", "cpuset", "freezer"};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		int r = cgroup_text_find(text, order[i], path, size);

		if (r == -E2BIG || (r == 0 && strcmp(path, "/") != 0))
			return r;
		any |= r == 0;
	}
	if (!any || size < 2)
		return -ENODATA;
	memcpy(path, "/", 2);
	return 0;
}

bool cgroup_path_is_below(const char *path, const char *group)
{
	size_t n = strlen(group);

	while (n > 1 && group[n - 1] == '/')
		n--;
	if (n == 1 && *group == '/')
		return path != NULL;
	return path && strncmp(path, group, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
