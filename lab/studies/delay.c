/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a server to delay it at one place: DELAY_US microseconds (set at build time) in each open of a page
 * (STUDY_DELAY_IN=open: a slow disk) or after each TLS record read (STUDY_DELAY_IN=tls: costly decryption).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int (*real_open)(const char *, int, ...);
static int (*real_ssl_read)(void *, void *, int);
static bool in_open, in_tls;

/* Read it now: a server may clear its environment later. */
__attribute__((constructor)) static void begin(void)
{
	const char *where = getenv("STUDY_DELAY_IN");

	in_open = where && strcmp(where, "open") == 0;
	in_tls = where && strcmp(where, "tls") == 0;
	*(void **)&real_open = dlsym(RTLD_NEXT, "open64");
	*(void **)&real_ssl_read = dlsym(RTLD_NEXT, "SSL_read");
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_list list;

		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	if (in_open && strstr(path, ".html"))
		usleep(DELAY_US);
	return real_open(path, flags, mode);
}

int SSL_read(void *ssl, void *data, int size);
int SSL_read(void *ssl, void *data, int size)
{
	int n = real_ssl_read(ssl, data, size);

	if (in_tls && n > 0)
		usleep(DELAY_US);
	return n;
}
