/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/embed.h"

#define CHUNK 65536

int embed_unpack(const char *name, struct buf *ret_bytes)
{
	const struct embedded_file *file = embed_find(name);
	z_stream stream = {};
	uint8_t chunk[CHUNK];
	int code = Z_OK;

	/* 16: gzip header. */
	if (!file || inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
		return -ENOENT;
	stream.next_in = (uint8_t *)file->begin;
	stream.avail_in = (unsigned)(file->end - file->begin);
	while (code == Z_OK && !ret_bytes->over) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		code = inflate(&stream, Z_NO_FLUSH);
		buf_add(ret_bytes, chunk, sizeof(chunk) - stream.avail_out);
	}
	(void)inflateEnd(&stream);
	return code == Z_STREAM_END && !ret_bytes->over ? 0 : -EBADMSG;
}
