/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/embed.h"
#include "store/bundled.h"

const struct bundled bundled_list[] = {
	{"healthy", "A busy web server without a fault: no findings expected."},
	{"slow-reader", "An application on this host reads slower than its peer sends."},
	{"lossy-path", "The path to this host loses packets."},
	{"local-queue", "A shaper (qdisc) of this host is slower than its applications send."},
	{"listener-overflow", "Clients connect faster than an application accepts."},
	{},
};

const struct bundled *bundled_find(const char *name)
{
	for (const struct bundled *bundled = bundled_list; bundled->name; bundled++)
		if (strcmp(bundled->name, name) == 0)
			return bundled;
	return NULL;
}

int bundled_unpack(const struct bundled *bundled, struct buf *ret_bytes)
{
	_cleanup_free_ char *name = xasprintf("%s.nest.gz", bundled->name);
	const struct embedded_file *file = embed_find(name);
	z_stream stream = {};
	uint8_t chunk[65536];
	int code = Z_OK;

	/* 16: gzip header. */
	if (!file || inflateInit2(&stream, 15 + 16) != Z_OK)
		return -ENOENT;
	stream.next_in = (uint8_t *)file->begin;
	stream.avail_in = (unsigned)(file->end - file->begin);
	while (code == Z_OK) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		code = inflate(&stream, Z_NO_FLUSH);
		buf_add(ret_bytes, chunk, sizeof(chunk) - stream.avail_out);
	}
	(void)inflateEnd(&stream);
	return code == Z_STREAM_END && !ret_bytes->over ? 0 : -EBADMSG;
}
