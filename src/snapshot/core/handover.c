/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/helper.h"
#include "base/map.h"

#define TEXTS_MAX ((size_t)256 << 20)
/* Tables from this size on give their memory back. */
#define LARGE ((size_t)4 << 20)
#define PIECE ((size_t)1 << 20)
/* In place of a pointer: no text. */
#define NO_TEXT UINT64_MAX

struct head {
	uint64_t begin_boot_ns, begin_time_ns;
	uint64_t end_boot_ns, end_time_ns;
	uint64_t sockets_boot_ns;
	uint64_t texts_refused;
	uint64_t tables; /* that follow */
};

/* Before the records of a table, which its texts follow. */
struct table_head {
	uint64_t number;
	uint64_t count;
	uint64_t refused;
	uint64_t wanted; /* 0 or 1 */
	uint64_t text_bytes;
};

_Static_assert(sizeof(const char *) == sizeof(uint64_t), "a place in the texts stands where a pointer was");

/* Calls fn for the members of one store in all records, until it returns an error. */
typedef int member_fn(uint8_t *member, void *context);

static int each_member(const struct record_type *type, uint8_t *items, size_t count, enum field_store store,
		       member_fn *fn, void *context)
{
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < type->field_count; k++)
		for (size_t i = 0; r == 0 && type->fields[k].store == store && i < count; i++)
			r = fn(items + i * type->size + type->fields[k].offset, context);
	return r;
}

/* --- the connection ---
 *
 * Most tables are small: one by one, each would be three calls and wake the other process.
 */
#define GATHERED ((size_t)64 << 10)

struct stream {
	int fd;
	size_t at, len; /* of the bytes that were read and not taken; len alone: that were put and not written */
	uint8_t bytes[GATHERED];
};

static struct stream *stream_new(int fd)
{
	struct stream *stream = xmalloc(sizeof(*stream));

	stream->fd = fd;
	stream->at = stream->len = 0;
	return stream;
}

static int flush(struct stream *stream)
{
	size_t len = stream->len;

	stream->len = 0;
	return helper_write(stream->fd, stream->bytes, len);
}

static int put(struct stream *stream, const void *bytes, size_t size)
{
	int r = size > GATHERED - stream->len ? flush(stream) : 0;

	if (r == 0 && size > GATHERED)
		return helper_write(stream->fd, bytes, size);
	if (r == 0 && size > 0) {
		memcpy(stream->bytes + stream->len, bytes, size);
		stream->len += size;
	}
	return r;
}

/* Whatever has arrived. */
static int refill(struct stream *stream)
{
	ssize_t n;

	do
		n = read(stream->fd, stream->bytes, GATHERED);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
	stream->at = 0;
	stream->len = (size_t)n;
	return 0;
}

static int take(struct stream *stream, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	while (size > 0) {
		size_t n = min_of(size, stream->len - stream->at);

		if (n == 0 && size >= GATHERED)
			return helper_read(stream->fd, to, size);
		if (n == 0) {
			int r = refill(stream);

			if (r < 0)
				return r;
			continue;
		}
		memcpy(to, stream->bytes + stream->at, n);
		stream->at += n;
		to += n;
		size -= n;
	}
	return 0;
}

/* --- sending --- */

struct placing {
	struct buf *texts;
	struct map places; /* the text of many records is the same constant */
};

static int place_text(uint8_t *member, void *context)
{
	struct placing *placing = context;
	uint64_t address, place = NO_TEXT, *known;
	const char *text;
	bool is_new;

	memcpy(&text, member, sizeof(text));
	address = (uint64_t)(uintptr_t)text;
	if (text) {
		known = map_put(&placing->places, &address, &is_new);
		if (is_new) {
			*known = placing->texts->len;
			buf_add(placing->texts, text, strlen(text) + 1);
		}
		place = *known;
	}
	memcpy(member, &place, sizeof(place));
	return placing->texts->over ? -E2BIG : 0;
}

static bool has_texts(const struct record_type *type)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].store == STORE_STRING)
			return true;
	return false;
}

/* A copy of the records with places in the texts where pointers were. */
static int place_texts(const struct snapshot_table *table, struct buf *texts, uint8_t **ret_items)
{
	struct placing placing = {.texts = texts, .places = MAP_INIT(sizeof(uint64_t), sizeof(uint64_t), 0)};
	size_t size = table->type->size;
	int r;

	*ret_items = xrealloc_array(NULL, table->count, size);
	memcpy(*ret_items, table->items, table->count * size);
	r = each_member(table->type, *ret_items, table->count, STORE_STRING, place_text, &placing);
	map_done(&placing.places);
	return r;
}

/* Its pages are empty afterwards; the table is filled from its start the next time. */
static int send_large(const struct snapshot_table *table, struct stream *stream)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), total = table->count * table->type->size, freed = 0;
	uintptr_t start = ((uintptr_t)table->items + page - 1) & ~(uintptr_t)(page - 1);
	int r = flush(stream);

	for (size_t sent = 0; r == 0 && sent < total; sent += PIECE) {
		size_t n = min_of(PIECE, total - sent), whole;

		r = helper_write(stream->fd, table->items + sent, n);
		if ((uintptr_t)table->items + sent + n < start + freed + page)
			continue;
		whole = ((uintptr_t)table->items + sent + n - start - freed) & ~(uintptr_t)(page - 1);
		(void)madvise((void *)(start + freed), whole, MADV_DONTNEED);
		freed += whole;
	}
	return r;
}

static int send_records(const struct snapshot_table *table, const uint8_t *items, struct stream *stream)
{
	size_t total = table->count * table->type->size;

	return items == table->items && total >= LARGE ? send_large(table, stream) : put(stream, items, total);
}

static int send_table(const struct snapshot *snapshot, size_t number, struct stream *stream)
{
	const struct snapshot_table *table = &snapshot->tables[number];
	_cleanup_buf_ struct buf texts = BUF_INIT(TEXTS_MAX);
	_cleanup_free_ uint8_t *placed = NULL;
	struct table_head head = {
		.number = number, .count = table->count, .refused = table->refused, .wanted = table->wanted};
	int r = 0;

	if (table->count && has_texts(table->type))
		r = place_texts(table, &texts, &placed);
	head.text_bytes = texts.len;
	if (r == 0)
		r = put(stream, &head, sizeof(head));
	if (r == 0)
		r = send_records(table, placed ?: table->items, stream);
	return r == 0 ? put(stream, texts.data, texts.len) : r;
}

static bool is_sent(const struct snapshot_table *table)
{
	return table->count > 0 || table->refused > 0 || table->wanted;
}

int snapshot_send(struct snapshot *snapshot, int fd)
{
	struct head head = {.begin_boot_ns = snapshot->begin_boot_ns,
			    .begin_time_ns = snapshot->begin_time_ns,
			    .end_boot_ns = snapshot->end_boot_ns,
			    .end_time_ns = snapshot->end_time_ns,
			    .sockets_boot_ns = snapshot->sockets_boot_ns,
			    .texts_refused = snapshot_texts_refused(snapshot)};
	_cleanup_free_ struct stream *stream = stream_new(fd);
	int r;

	for (size_t i = 0; i < snapshot->table_count; i++)
		head.tables += is_sent(&snapshot->tables[i]);
	r = put(stream, &head, sizeof(head));
	for (size_t i = 0; r == 0 && i < snapshot->table_count; i++)
		if (is_sent(&snapshot->tables[i]))
			r = send_table(snapshot, i, stream);
	return r == 0 ? flush(stream) : r;
}

/* --- receiving --- */

struct finding_texts {
	const char *texts;
	uint64_t bytes;
};

/* A pointer again; a place outside of the texts is an error. */
static int find_text(uint8_t *member, void *context)
{
	const struct finding_texts *in = context;
	const char *text = NULL;
	uint64_t place;

	memcpy(&place, member, sizeof(place));
	if (place != NO_TEXT && place >= in->bytes)
		return -EBADMSG;
	if (place != NO_TEXT)
		text = in->texts + place;
	memcpy(member, &text, sizeof(text));
	return 0;
}

static int find_texts(const struct snapshot_table *table, const char *texts, uint64_t bytes)
{
	struct finding_texts in = {texts, bytes};

	return each_member(table->type, table->items, table->count, STORE_STRING, find_text, &in);
}

/* Any other value would be one that the compiler does not expect. */
static int check_bool(uint8_t *member, void *context _unused_)
{
	return *member > 1 ? -EBADMSG : 0;
}

static int receive_texts(struct snapshot *snapshot, struct snapshot_table *table, uint64_t bytes, struct stream *stream)
{
	char *texts;
	int r;

	if (bytes == 0)
		return find_texts(table, NULL, 0);
	texts = bytes <= TEXTS_MAX ? snapshot_text_room(snapshot, bytes) : NULL;
	if (!texts)
		return -EBADMSG;
	r = take(stream, texts, bytes);
	if (r == 0 && texts[bytes - 1] != '\0')
		r = -EBADMSG;
	return r == 0 ? find_texts(table, texts, bytes) : r;
}

static int receive_table(struct snapshot *snapshot, struct stream *stream)
{
	struct snapshot_table *table;
	struct table_head head;
	int r = take(stream, &head, sizeof(head));

	if (r < 0)
		return r;
	if (head.number >= snapshot->table_count)
		return -EBADMSG;
	table = &snapshot->tables[head.number];
	/* Each comes once. */
	if (head.count > table->cap || head.wanted > 1 || is_sent(table))
		return -EBADMSG;
	snapshot_table_reserve(table, head.count);
	r = take(stream, table->items, head.count * table->type->size);
	if (r < 0)
		return r;
	table->count = head.count;
	table->refused = head.refused;
	table->wanted = head.wanted;
	r = each_member(table->type, table->items, table->count, STORE_BOOL, check_bool, NULL);
	return r == 0 ? receive_texts(snapshot, table, head.text_bytes, stream) : r;
}

static void empty(struct snapshot *snapshot)
{
	snapshot_clear(snapshot);
	for (size_t i = 0; i < snapshot->table_count; i++)
		snapshot->tables[i].wanted = false;
}

int snapshot_receive(struct snapshot *snapshot, int fd, struct why *why)
{
	_cleanup_free_ struct stream *stream = stream_new(fd);
	struct head head;
	int r;

	empty(snapshot);
	r = take(stream, &head, sizeof(head));
	if (r == 0 && head.tables > snapshot->table_count)
		r = -EBADMSG;
	for (uint64_t i = 0; r == 0 && i < head.tables; i++)
		r = receive_table(snapshot, stream);
	/* Nothing follows before the next request. */
	if (r == 0 && stream->at < stream->len)
		r = -EBADMSG;
	if (r < 0) {
		empty(snapshot);
		return why_set(why, r, "cannot read a sample: %s",
			       r == -EPIPE ? "the process that samples has ended" : strerror(-r));
	}
	snapshot->begin_boot_ns = head.begin_boot_ns;
	snapshot->begin_time_ns = head.begin_time_ns;
	snapshot->end_boot_ns = head.end_boot_ns;
	snapshot->end_time_ns = head.end_time_ns;
	snapshot->sockets_boot_ns = head.sockets_boot_ns;
	snapshot_refuse_texts(snapshot, head.texts_refused);
	return 0;
}
