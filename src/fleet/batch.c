/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/batch.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/log.h"

#define MAGIC 0x31424e0au

/* gzip instead of zlib. */
#define GZIP_BITS 31

/* Room for the text grows by this. */
#define INFLATE_STEP ((size_t)1 << 18)

/* On disk and on the wire, in the byte order of the hosts that nest runs on; names and body follow. */
struct frame_head {
	uint32_t magic;
	uint32_t check; /* of everything after this */
	uint32_t flags;
	uint32_t rows;
	uint32_t body_len;
	uint16_t table_len;
	uint8_t host_len;
	uint8_t boot_len;
	uint64_t stream;
	uint64_t first_row;
	uint64_t min_time_ns;
	uint64_t max_time_ns;
};

_Static_assert(sizeof(struct frame_head) == 56, "no holes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little-endian");

static uint32_t checksum(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}

void batch_add(struct buf *out, const struct batch *batch)
{
	struct frame_head head = {.magic = MAGIC,
				  .flags = batch->flags,
				  .rows = batch->rows,
				  .body_len = (uint32_t)batch->body_len,
				  .table_len = (uint16_t)strlen(batch->table),
				  .host_len = (uint8_t)strlen(batch->origin.host),
				  .boot_len = (uint8_t)strlen(batch->origin.boot),
				  .stream = batch->origin.stream,
				  .first_row = batch->first_row,
				  .min_time_ns = batch->min_time_ns,
				  .max_time_ns = batch->max_time_ns};
	size_t start = out->len, checked = offsetof(struct frame_head, flags);

	buf_add(out, &head, sizeof(head));
	buf_add_text(out, batch->table);
	buf_add_text(out, batch->origin.host);
	buf_add_text(out, batch->origin.boot);
	buf_add(out, batch->body, batch->body_len);
	if (out->over)
		return;
	head.check = checksum(out->data + start + checked, out->len - start - checked);
	memcpy(out->data + start, &head, sizeof(head));
}

/* Copies a name; names are printable and hold nothing that ends them early. */
static const char *take_name(char *name, size_t room, const char *at, size_t len)
{
	if (!at || len >= room || len == 0)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)at[i] < 0x20 || at[i] == 0x7f)
			return NULL;
	memcpy(name, at, len);
	name[len] = '\0';
	return at + len;
}

static bool is_sane(const struct frame_head *head)
{
	return head->rows > 0 && head->rows <= BATCH_ROWS_MAX && head->min_time_ns <= head->max_time_ns &&
	       batch_day(head->min_time_ns) == batch_day(head->max_time_ns) &&
	       head->first_row <= UINT64_MAX - head->rows;
}

int batch_read(const void *data, size_t len, struct batch *ret_batch, size_t *ret_len)
{
	const size_t checked = offsetof(struct frame_head, flags);
	struct batch batch = {};
	struct frame_head head;
	const char *at = data;
	size_t total;

	if (len < sizeof(head))
		return -EAGAIN;
	memcpy(&head, data, sizeof(head));
	if (head.magic != MAGIC || head.body_len > BATCH_BODY_MAX || head.table_len > FLEET_TABLE_MAX)
		return -EBADMSG;
	total = sizeof(head) + head.table_len + head.host_len + head.boot_len + head.body_len;
	if (len < total)
		return -EAGAIN;
	if (checksum(at + checked, total - checked) != head.check || !is_sane(&head))
		return -EBADMSG;
	at = take_name(batch.table, sizeof(batch.table), at + sizeof(head), head.table_len);
	at = take_name(batch.origin.host, sizeof(batch.origin.host), at, head.host_len);
	at = take_name(batch.origin.boot, sizeof(batch.origin.boot), at, head.boot_len);
	if (!at)
		return -EBADMSG;
	batch.origin.stream = head.stream;
	batch.flags = head.flags;
	batch.rows = head.rows;
	batch.first_row = head.first_row;
	batch.min_time_ns = head.min_time_ns;
	batch.max_time_ns = head.max_time_ns;
	batch.body = at;
	batch.body_len = head.body_len;
	*ret_batch = batch;
	*ret_len = total;
	return 0;
}

int batch_inflate(const struct batch *batch, struct buf *out)
{
	z_stream stream = {.next_in = (Bytef *)batch->body, .avail_in = (uInt)batch->body_len};
	size_t start = out->len;
	int code = inflateInit2(&stream, GZIP_BITS);

	if (code != Z_OK)
		return -ENOMEM;
	while (code == Z_OK) {
		size_t step = INFLATE_STEP;

		if (out->len - start + step > BATCH_TEXT_MAX || !buf_grow(out, step)) {
			code = Z_BUF_ERROR;
			break;
		}
		stream.next_out = (Bytef *)out->data + out->len;
		stream.avail_out = (uInt)step;
		code = inflate(&stream, Z_NO_FLUSH);
		out->len += step - stream.avail_out;
		out->data[out->len] = '\0';
		if (code == Z_BUF_ERROR && stream.avail_in == 0)
			code = Z_DATA_ERROR;
	}
	(void)inflateEnd(&stream);
	if (code == Z_BUF_ERROR)
		return -E2BIG;
	return code == Z_STREAM_END && stream.avail_in == 0 ? 0 : -EBADMSG;
}

void batch_deflate(struct buf *out, const void *text, size_t len)
{
	z_stream stream = {.next_in = (Bytef *)text, .avail_in = (uInt)len};
	size_t room;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		log_abort("no memory to compress");
	room = deflateBound(&stream, (uLong)len);
	if (buf_grow(out, room)) {
		stream.next_out = (Bytef *)out->data + out->len;
		stream.avail_out = (uInt)room;
		(void)deflate(&stream, Z_FINISH);
		out->len += room - stream.avail_out;
		out->data[out->len] = '\0';
	}
	(void)deflateEnd(&stream);
}
