/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers of the C library's functions that write through a stream, or close it: what a stream writes to a socket, the
 * library writes itself, without the wrappers of write and close. Only a call that empties the buffer, at least in
 * part, is an operation. Streams of anything but a socket cost one lookup.
 */
#include <stdio_ext.h>

#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

#define OFF (!live || sealed)

/* A call that may write to a socket. */
struct stream_use {
	FILE *file;
	size_t pending; /* bytes in the buffer before */
	uint64_t start;
	uint32_t socket;
};

/* 0: none. Nearly all streams are files. */
static inline uint32_t stream_socket(FILE *file)
{
	int saved = errno, fd;

	if (OFF || !file)
		return 0;
	fd = fileno(file);
	if (likely(fd >= 0))
		return socket_of(fd);
	errno = saved;
	return 0;
}

static struct stream_use use_begin(FILE *file, uint32_t socket)
{
	return (struct stream_use){file, __fpending(file), op_begin(), socket};
}

/* The call put that many bytes into the buffer; what is no longer in it was written. */
static void use_end(const struct stream_use *use, size_t added, bool has_failed)
{
	size_t had = use->pending + added, left = __fpending(use->file);
	struct op op = {FLOW_OP_WRITE, fileno(use->file), use->socket, -1, use->start, had};

	if (had > left)
		op.result = (int64_t)(op.aux = had - left);
	if (had > left || has_failed)
		op_end(&op);
}

/* `call` is the original; `bytes` of its result is what it added, and `has_failed` says whether it failed. */
#define AROUND_STREAM(type, name, file, failure, call, bytes, has_failed)                                              \
	do {                                                                                                           \
		struct stream_use use_;                                                                                \
		uint32_t socket_;                                                                                      \
		type result_;                                                                                          \
		if (!READY(name)) {                                                                                    \
			errno = ENOSYS;                                                                                \
			return failure;                                                                                \
		}                                                                                                      \
		socket_ = stream_socket(file);                                                                         \
		if (likely(!socket_))                                                                                  \
			return call;                                                                                   \
		use_ = use_begin(file, socket_);                                                                       \
		result_ = call;                                                                                        \
		use_end(&use_, bytes, has_failed);                                                                     \
		return result_;                                                                                        \
	} while (0)
#define PRINTED (result_ > 0 ? (size_t)result_ : 0)

EXPORT size_t fwrite(const void *restrict from, size_t size, size_t count, FILE *restrict file)
{
	AROUND_STREAM(size_t, fwrite, file, 0, real.fwrite(from, size, count, file), result_ * size, result_ < count);
}

EXPORT int fputs(const char *restrict text, FILE *restrict file)
{
	AROUND_STREAM(int, fputs, file, EOF, real.fputs(text, file), result_ < 0 ? 0 : strlen(text), result_ < 0);
}

EXPORT int fputc(int c, FILE *file)
{
	AROUND_STREAM(int, fputc, file, EOF, real.fputc(c, file), result_ != EOF, result_ == EOF);
}

EXPORT int putc(int c, FILE *file)
{
	AROUND_STREAM(int, putc, file, EOF, real.putc(c, file), result_ != EOF, result_ == EOF);
}

EXPORT int vfprintf(FILE *restrict file, const char *restrict format, va_list args)
{
	AROUND_STREAM(int, vfprintf, file, -1, real.vfprintf(file, format, args), PRINTED, result_ < 0);
}

EXPORT int fprintf(FILE *restrict file, const char *restrict format, ...)
{
	va_list args;
	int result;

	va_start(args, format);
	result = vfprintf(file, format, args);
	va_end(args);
	return result;
}

EXPORT int __vfprintf_chk(FILE *file, int flag, const char *format, va_list args)
{
	AROUND_STREAM(int, __vfprintf_chk, file, -1, real.__vfprintf_chk(file, flag, format, args), PRINTED,
		      result_ < 0);
}

EXPORT int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	va_list args;
	int result;

	va_start(args, format);
	result = __vfprintf_chk(file, flag, format, args);
	va_end(args);
	return result;
}

EXPORT int fflush(FILE *file)
{
	AROUND_STREAM(int, fflush, file, EOF, real.fflush(file), 0, result_ < 0);
}

/* Writes what is in the buffer, and closes the descriptor. */
EXPORT int fclose(FILE *file)
{
	uint32_t socket;
	uint64_t start;
	int result, saved = errno, fd;

	if (!READY(fclose) || OFF)
		return real.fclose ? real.fclose(file) : EOF;
	socket = stream_socket(file);
	if (socket && __fpending(file))
		(void)fflush(file);
	fd = fileno(file);
	errno = saved;
	/* Before the kernel can reuse the number in another thread. */
	socket_gone(fd);
	if (!socket)
		return real.fclose(file);
	start = op_begin();
	result = real.fclose(file);
	op_end(&(struct op){FLOW_OP_CLOSE, fd, socket, result, start, 0});
	return result;
}
