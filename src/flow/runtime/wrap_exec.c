/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another program takes the place of this one, perhaps without the recorder: the open calls end here. If the exec
 * fails, recording continues.
 */
#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

#define ARGUMENTS_MAX 4096

/* The C library's own variants call each other without these wrappers. */
#define AROUND_EXEC(name, ...)                                                                                         \
	do {                                                                                                           \
		if (!real.name)                                                                                        \
			real_find();                                                                                   \
		if (live && !sealed)                                                                                   \
			slots_end();                                                                                   \
		if (real.name)                                                                                         \
			return real.name(__VA_ARGS__);                                                                 \
		errno = ENOSYS;                                                                                        \
		return -1;                                                                                             \
	} while (0)

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	AROUND_EXEC(execve, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	AROUND_EXEC(execv, path, argv);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	AROUND_EXEC(execvp, file, argv);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	AROUND_EXEC(execvpe, file, argv, envp);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	AROUND_EXEC(fexecve, fd, argv, envp);
}

/* The arguments up to NULL; false: too many. */
static bool collect(char **argv, const char *first, va_list rest)
{
	argv[0] = (char *)first;
	for (size_t i = 1; argv[i - 1]; i++) {
		if (i == ARGUMENTS_MAX) {
			errno = E2BIG;
			return false;
		}
		argv[i] = va_arg(rest, char *);
	}
	return true;
}

EXPORT int execl(const char *path, const char *first, ...)
{
	char *argv[ARGUMENTS_MAX];
	va_list rest;
	bool is_whole;

	va_start(rest, first);
	is_whole = collect(argv, first, rest);
	va_end(rest);
	return is_whole ? execv(path, argv) : -1;
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	char *argv[ARGUMENTS_MAX];
	va_list rest;
	bool is_whole;

	va_start(rest, first);
	is_whole = collect(argv, first, rest);
	va_end(rest);
	return is_whole ? execvp(file, argv) : -1;
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char *argv[ARGUMENTS_MAX], *const *envp = NULL;
	va_list rest;
	bool is_whole;

	va_start(rest, first);
	is_whole = collect(argv, first, rest);
	if (is_whole)
		envp = va_arg(rest, char *const *);
	va_end(rest);
	return is_whole ? execve(path, argv, envp) : -1;
}
