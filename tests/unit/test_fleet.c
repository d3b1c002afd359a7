/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes to the fleet: rows, tables, batches, the spool, answers of a server. No network. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "event/core/event.h"
#include "fleet/answer.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_conn.h"
#include "fleet/fleet_url.h"
#include "fleet/spool.h"
#include "sample.h"

static const struct fleet_origin origin = {.host = "web\"1", .boot = "b-1", .stream = 17};
static const struct clickhouse_version old = {18, 16}, current = {25, 3};

/* --- rows --- */

static void add_row(struct buf *out, uint64_t row, const struct shape *shape, const struct record *record)
{
	_cleanup_buf_ struct buf head = BUF_INIT(1024);

	fleet_row_add_head(&head, &origin);
	buf_add(out, buf_text(&head), head.len);
	buf_add_format(out, "%" PRIu64, row);
	(void)fleet_row_add_cells(out, shape, record);
	buf_add_text(out, "}\n");
}

TEST(a_row_is_flat_json_with_its_key_in_front)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 16);
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	json_t *object, *value;
	const char *key;
	struct why why = {};

	add_row(&text, 5, &shape, &RECORD_OF(&sample));
	object = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
	REQUIRE(object);
	CHECK_EQ_TEXT(json_string_value(json_object_get(object, "host")), "web\"1");
	CHECK_EQ_TEXT(json_string_value(json_object_get(object, "boot")), "b-1");
	CHECK_EQ_INT(json_integer_value(json_object_get(object, "stream")), 17);
	CHECK_EQ_INT(json_integer_value(json_object_get(object, "row")), 5);
	json_object_foreach(object, key, value) if (json_is_object(value) || json_is_array(value) ||
						    json_is_boolean(value)) CHECK_EQ_TEXT(key, "a scalar");
	json_decref(object);
	CHECK_OK(fleet_row_check(text.data, text.len, &origin, 5, 1, &why));
}

/* Also of a type that has a field named as a column of the key. */
TEST(a_field_named_as_a_key_column_is_renamed)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(1 << 16);
	struct fleet_table table;

	REQUIRE(fleet_table_find("dns_query", &table) == 0);
	clickhouse_add_create(&sql, "nest", &table, current);
	CHECK_EQ_UINT(unit_occurrences(buf_text(&sql), "(host "), 1);
	CHECK_HAS_TEXT(buf_text(&sql), "`event_host` ");
}

TEST(rows_from_the_network_are_checked)
{
	static const struct {
		const char *text;
		uint64_t rows;
	} wrong[] = {
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5}", 1},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5}\n", 2},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":6}\n", 1},
		{"{\"host\":\"web2\",\"boot\":\"b-1\",\"stream\":17,\"row\":5}\n", 1},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5,\"host\":\"web2\"}\n", 1},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5,\"a\":[1]}\n", 1},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5,\"time_ns\":\"x\"}\n", 1},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5,}\n", 1},
		{"{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5} {}\n", 1},
		{"\n", 1},
		{"", 1},
	};
	static const char right[] = "{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":5,\"a\":null}\n"
				    "{\"host\":\"web\\\"1\",\"boot\":\"b-1\",\"stream\":17,\"row\":6,\"a\":1}\n";
	struct why why = {};

	CHECK_OK(fleet_row_check(right, strlen(right), &origin, 5, 2, &why));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		unit_note("%s", wrong[i].text);
		CHECK_ERR(fleet_row_check(wrong[i].text, strlen(wrong[i].text), &origin, 5, wrong[i].rows, &why),
			  -EINVAL);
	}
}

/* --- tables --- */

TEST(every_event_is_a_table)
{
	size_t count;
	_cleanup_free_ struct fleet_table *tables = fleet_table_list(&count);
	struct fleet_table table;

	CHECK(count > 40);
	for (size_t i = 0; i < count; i++) {
		_cleanup_buf_ struct buf sql = BUF_INIT(1 << 16);
		struct field_ref at = {};
		size_t columns = 0;

		unit_note("%s", tables[i].name);
		CHECK_OK(fleet_table_find(tables[i].name, &table));
		clickhouse_add_create(&sql, "nest", &table, old);
		while (shape_next(&table.shape, &at))
			columns++;
		/* A type of some kind for every column, and what orders the table. */
		CHECK_EQ_UINT(unit_occurrences(buf_text(&sql), ", `"), columns);
		CHECK_HAS_TEXT(buf_text(&sql), "`time_ns` UInt64");
	}
	CHECK_OK(fleet_table_find("tcp.close", &table));
	CHECK_EQ_TEXT(table.name, "tcp_close");
	CHECK_ERR(fleet_table_find("socket", &table), -ENOENT);
	CHECK_ERR(fleet_table_find("tcp_clos", &table), -ENOENT);
	CHECK_ERR(fleet_table_find("", &table), -ENOENT);
}

TEST(an_old_server_gets_no_new_words)
{
	_cleanup_buf_ struct buf early = BUF_INIT(1 << 16), late = BUF_INIT(1 << 16);
	struct fleet_table table;

	REQUIRE(fleet_table_find("finding", &table) == 0);
	clickhouse_add_create(&early, "nest", &table, old);
	clickhouse_add_create(&late, "nest", &table, current);
	CHECK(!strstr(buf_text(&early), "LowCardinality") && !strstr(buf_text(&early), "CODEC") &&
	      !strstr(buf_text(&early), "TTL"));
	CHECK_HAS_TEXT(buf_text(&late), "`cause` LowCardinality(Nullable(String)) CODEC(ZSTD(1))");
	CHECK_HAS_TEXT(buf_text(&late), "`certainty` Nullable(Float64)");
	CHECK_HAS_TEXT(buf_text(&late), "INTERVAL 90 DAY");
	CHECK_HAS_TEXT(buf_text(&late), "ORDER BY (host, time_ns, boot, stream, row)");
	/* One per second of each host: not kept as long as findings. */
	REQUIRE(fleet_table_find("verdict", &table) == 0);
	buf_clear(&late);
	clickhouse_add_create(&late, "nest", &table, current);
	CHECK_HAS_TEXT(buf_text(&late), "INTERVAL 7 DAY");
}

TEST(missing_columns_are_added)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(1 << 16);
	struct fleet_table table;

	REQUIRE(fleet_table_find("mark", &table) == 0);
	CHECK(!clickhouse_add_alter(&sql, "nest", &table, "host\nboot\ntime_ns\nlabel\nrow\n", old));
	CHECK(clickhouse_add_alter(&sql, "nest", &table, "host\nboot\ntime_ns\nlabels\n", old));
	CHECK_EQ_TEXT(buf_text(&sql), "ALTER TABLE `nest`.`mark` ADD COLUMN `label` Nullable(String)");
}

TEST(names_and_texts_are_escaped)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(1024);

	clickhouse_add_text(&sql, "a'b\\c");
	clickhouse_add_name(&sql, "d`e");
	CHECK_EQ_TEXT(buf_text(&sql), "'a\\'b\\\\c'`d\\`e`");
}

TEST(versions_are_read)
{
	struct clickhouse_version version;

	CHECK_OK(clickhouse_parse_version("18.16.1\n", &version));
	CHECK(version.major == 18 && version.minor == 16);
	CHECK_OK(clickhouse_parse_version("25.3", &version));
	CHECK(version.major == 25 && version.minor == 3);
	CHECK_ERR(clickhouse_parse_version("", &version), -EINVAL);
	CHECK_ERR(clickhouse_parse_version("<html>", &version), -EINVAL);
	CHECK_ERR(clickhouse_parse_version("1.x", &version), -EINVAL);
	CHECK_ERR(clickhouse_parse_version("99999999999999.1", &version), -EINVAL);
}

TEST(refused_rows_are_not_sent_for_ever)
{
	static const char parse[] = "Code: 27, e.displayText() = DB::Exception: Cannot parse input",
			  memory[] = "Code: 241, e.displayText() = DB::Exception: Memory limit";

	CHECK(clickhouse_refuses_rows(400, parse, strlen(parse)));
	CHECK(clickhouse_refuses_rows(500, parse, strlen(parse)));
	CHECK(!clickhouse_refuses_rows(500, memory, strlen(memory)));
	CHECK(!clickhouse_refuses_rows(500, "", 0));
	CHECK(!clickhouse_refuses_rows(502, parse, strlen(parse)));
}

/* --- URLs --- */

TEST(urls_name_a_database_or_a_collector)
{
	struct fleet_url url = {};
	struct why why = {};

	REQUIRE(fleet_url_parse("https://nest:s%40crt@[::1]:8443/fleet", &url, &why) == 0);
	CHECK_EQ_TEXT(url.base, "https://[::1]:8443");
	CHECK_EQ_TEXT(url.user, "nest");
	CHECK_EQ_TEXT(url.password, "s@crt");
	CHECK_EQ_TEXT(url.database, "fleet");
	CHECK(url.tls);
	fleet_url_done(&url);
	REQUIRE(fleet_url_parse("http://collector", &url, &why) == 0);
	CHECK_EQ_TEXT(url.base, "http://collector:80");
	CHECK(!url.database && !url.user && !url.tls);
	fleet_url_done(&url);
	CHECK_ERR(fleet_url_parse("ftp://host/x", &url, &why), -EINVAL);
	CHECK_ERR(fleet_url_parse("file:///etc/passwd", &url, &why), -EINVAL);
	CHECK_ERR(fleet_url_parse("host:8123/x", &url, &why), -EINVAL);
	CHECK_ERR(fleet_url_parse("http://host/a/b", &url, &why), -EINVAL);
	CHECK_ERR(fleet_url_parse("http://host/x?query=DROP", &url, &why), -EINVAL);
	CHECK_ERR(fleet_url_parse("", &url, &why), -EINVAL);
	CHECK_ERR(fleet_url_parse_database("http://host", &url, &why), -EINVAL);
}

/* --- batches --- */

static void add_batch(struct buf *out, const char *table, uint64_t first, uint32_t rows)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20);
	struct batch batch = {.origin = origin, .rows = rows, .first_row = first, .min_time_ns = 5, .max_time_ns = 9};

	snprintf(batch.table, sizeof(batch.table), "%s", table);
	for (uint32_t i = 0; i < rows; i++)
		buf_add_format(&text, "{\"n\":%u}\n", i);
	batch_deflate(&body, text.data, text.len);
	batch.body = body.data;
	batch.body_len = body.len;
	batch_add(out, &batch);
}

TEST(a_batch_comes_back)
{
	_cleanup_buf_ struct buf frames = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);
	struct batch batch;
	size_t len, at;

	add_batch(&frames, "tcp_close", 100, 3);
	at = frames.len;
	add_batch(&frames, "finding", 1, 1);
	REQUIRE(batch_read(frames.data, frames.len, &batch, &len) == 0);
	CHECK_EQ_UINT(len, at);
	CHECK_EQ_TEXT(batch.table, "tcp_close");
	CHECK_EQ_TEXT(batch.origin.host, "web\"1");
	CHECK_EQ_UINT(batch.first_row, 100);
	CHECK_EQ_UINT(batch.rows, 3);
	REQUIRE(batch_inflate(&batch, &text) == 0);
	CHECK_EQ_TEXT(buf_text(&text), "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n");
	CHECK_OK(batch_read(frames.data + at, frames.len - at, &batch, &len));
	CHECK_EQ_TEXT(batch.table, "finding");
}

TEST(a_damaged_batch_is_noticed)
{
	_cleanup_buf_ struct buf frames = BUF_INIT(1 << 20);
	struct batch batch;
	size_t len;

	add_batch(&frames, "tcp_close", 100, 3);
	for (size_t cut = 0; cut < frames.len; cut++) {
		unit_note("cut at %zu", cut);
		CHECK(batch_read(frames.data, cut, &batch, &len) < 0);
	}
	for (size_t i = 0; i < frames.len; i++) {
		frames.data[i] = (char)(frames.data[i] ^ 0x20);
		unit_note("changed at %zu", i);
		CHECK(batch_read(frames.data, frames.len, &batch, &len) < 0);
		frames.data[i] = (char)(frames.data[i] ^ 0x20);
	}
	CHECK_OK(batch_read(frames.data, frames.len, &batch, &len));
}

TEST(a_batch_that_unpacks_too_large_is_refused)
{
	_cleanup_buf_ struct buf body = BUF_INIT(2 * BATCH_TEXT_MAX), out = BUF_INIT(BATCH_TEXT_MAX + (4 << 20));
	size_t size = BATCH_TEXT_MAX + (1 << 20);
	_cleanup_free_ char *zeros = xzalloc(size);
	struct batch batch = {.rows = 1};

	batch_deflate(&body, zeros, size);
	batch.body = body.data;
	batch.body_len = body.len;
	CHECK(body.len < 200000);
	CHECK_ERR(batch_inflate(&batch, &out), -E2BIG);
	buf_clear(&out);
	batch.body_len = 50;
	CHECK_ERR(batch_inflate(&batch, &out), -EBADMSG);
}

TEST(stored_batches_are_recognized)
{
	struct batch batch = {.origin = origin, .rows = 3, .first_row = 100, .table = "tcp_close"};
	static const char answer[] = "web2\tb-1\t17\t100\nweb\"1\tb-1\t17\t100\n", other[] = "web\"1\tb-1\t17\t1001\n",
			  longer[] = "xweb\"1\tb-1\t17\t100\n";
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);

	CHECK(clickhouse_found(answer, strlen(answer), &batch));
	CHECK(!clickhouse_found(other, strlen(other), &batch));
	CHECK(!clickhouse_found(longer, strlen(longer), &batch));
	CHECK(!clickhouse_found("", 0, &batch));
	clickhouse_add_find(&sql, "nest", "tcp_close", &batch, 1);
	CHECK_HAS_TEXT(buf_text(&sql), "host = 'web\"1' AND boot = 'b-1' AND stream = 17 AND row = 100");
}

/* --- the spool --- */

struct spool_dir {
	char path[64];
};

static void spool_dir_done(struct spool_dir *dir)
{
	DIR *listing = opendir(dir->path);
	struct dirent *entry;

	while (listing && (entry = readdir(listing)))
		(void)unlinkat(dirfd(listing), entry->d_name, 0);
	if (listing)
		closedir(listing);
	(void)rmdir(dir->path);
}

#define _cleanup_dir_ _cleanup_(spool_dir_done)

static void spool_dir_make(struct spool_dir *dir)
{
	snprintf(dir->path, sizeof(dir->path), "/tmp/nest-spool-XXXXXX");
	REQUIRE(mkdtemp(dir->path));
}

static struct spool *open_spool(const struct spool_dir *dir, bool drop_oldest)
{
	struct spool_options options = {
		.dir = dir ? dir->path : NULL, .limit_bytes = SPOOL_LIMIT_LEAST, .drop_oldest = drop_oldest};
	struct spool *spool = NULL;
	struct why why = {};

	if (!CHECK_OK(spool_open(&options, &spool, &why)))
		unit_note("%s", why.text);
	REQUIRE(spool);
	return spool;
}

static void check_order(struct spool *spool, uint64_t first, uint64_t count)
{
	struct spool_segment segment;
	struct batch batch;
	struct why why = {};
	size_t len;

	for (uint64_t i = 0; i < count; i++) {
		REQUIRE(spool_first(spool, &segment, &why) == 1);
		REQUIRE(batch_read(segment.data, segment.len, &batch, &len) == 0);
		CHECK_EQ_UINT(batch.first_row, first + i);
		CHECK_EQ_UINT(segment.rows, 2);
		spool_remove(spool, segment.number);
	}
	CHECK_EQ_INT(spool_first(spool, &segment, &why), 0);
	CHECK_EQ_UINT(spool_look(spool).bytes, 0);
	CHECK_EQ_UINT(spool_look(spool).rows, 0);
}

static void add_segments(struct spool *spool, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		_cleanup_buf_ struct buf frames = BUF_INIT(1 << 20);
		struct why why = {};

		add_batch(&frames, "mark", first + i, 2);
		CHECK_OK(spool_add(spool, frames.data, frames.len, 2, &why));
		spool_cut(spool);
	}
}

TEST(a_spool_keeps_order_and_survives)
{
	_cleanup_dir_ struct spool_dir dir;
	struct spool *spool;

	spool_dir_make(&dir);
	spool = open_spool(&dir, true);
	add_segments(spool, 1, 3);
	spool_close(spool);
	spool = open_spool(&dir, true);
	CHECK_EQ_UINT(spool_look(spool).rows, 6);
	add_segments(spool, 4, 2);
	check_order(spool, 1, 5);
	spool_close(spool);
	spool = open_spool(NULL, true);
	add_segments(spool, 1, 3);
	check_order(spool, 1, 3);
	spool_close(spool);
}

TEST(a_killed_writer_leaves_whole_batches)
{
	_cleanup_dir_ struct spool_dir dir;
	_cleanup_buf_ struct buf frames = BUF_INIT(1 << 20);
	char path[128];
	struct spool *spool;
	int fd, status;
	pid_t child;

	spool_dir_make(&dir);
	child = fork();
	if (child == 0) {
		spool = open_spool(&dir, true);
		add_segments(spool, 1, 3);
		_exit(0);
	}
	REQUIRE(waitpid(child, &status, 0) == child && status == 0);
	/* Half a frame at the end of the last, and a file of garbage. */
	add_batch(&frames, "mark", 9, 2);
	snprintf(path, sizeof(path), "%s/%020d.batches", dir.path, 2);
	fd = open(path, O_WRONLY | O_APPEND);
	REQUIRE(fd >= 0 && write(fd, frames.data, frames.len / 2) > 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/%020d.batches", dir.path, 3);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	REQUIRE(fd >= 0 && write(fd, "garbage", 7) == 7);
	close(fd);
	spool = open_spool(&dir, true);
	CHECK_EQ_UINT(spool_look(spool).damaged, 2);
	CHECK_EQ_UINT(spool_look(spool).rows, 6);
	check_order(spool, 1, 3);
	spool_close(spool);
}

/* Fills it until it is full; every row is either waiting or counted. */
TEST(a_full_spool_drops_the_oldest_and_counts)
{
	_cleanup_dir_ struct spool_dir dir;
	_cleanup_buf_ struct buf frame = BUF_INIT(1 << 20);
	char noise[200000];
	struct batch batch = {.origin = origin, .rows = 7, .first_row = 1, .table = "mark", .body = noise};
	uint64_t random = 1, given = 0;
	struct spool_segment held;
	struct spool *spool;
	struct why why = {};

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)unit_random(&random);
	batch.body_len = sizeof(noise);
	batch_add(&frame, &batch);
	spool_dir_make(&dir);
	spool = open_spool(&dir, true);
	for (int i = 0; i < 3; i++, given += 7) {
		CHECK_OK(spool_add(spool, frame.data, frame.len, 7, &why));
		spool_cut(spool);
	}
	/* The one that is being sent stays. */
	REQUIRE(spool_first(spool, &held, &why) == 1);
	for (int i = 0; i < 10; i++, given += 7) {
		CHECK_OK(spool_add(spool, frame.data, frame.len, 7, &why));
		spool_cut(spool);
		CHECK(spool_look(spool).bytes <= SPOOL_LIMIT_LEAST);
	}
	CHECK(spool_look(spool).dropped_rows > 0);
	CHECK_EQ_UINT(spool_look(spool).rows + spool_look(spool).dropped_rows, given);
	spool_remove(spool, held.number);
	CHECK_EQ_UINT(spool_look(spool).rows + spool_look(spool).dropped_rows, given - 7);
	spool_close(spool);
}

TEST(a_collectors_spool_refuses_when_full)
{
	_cleanup_buf_ struct buf frame = BUF_INIT(1 << 20);
	char noise[600000];
	struct batch batch = {.origin = origin, .rows = 7, .first_row = 1, .table = "mark", .body = noise};
	uint64_t random = 1;
	struct spool *spool = open_spool(NULL, false);
	struct why why = {};

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)unit_random(&random);
	batch.body_len = sizeof(noise);
	batch_add(&frame, &batch);
	CHECK_OK(spool_add(spool, frame.data, frame.len, 7, &why));
	CHECK_ERR(spool_add(spool, frame.data, frame.len, 7, &why), -ENOSPC);
	CHECK_EQ_UINT(spool_look(spool).rows, 7);
	CHECK_EQ_UINT(spool_look(spool).dropped_rows, 0);
	spool_close(spool);
}

TEST(two_processes_do_not_share_a_spool)
{
	_cleanup_dir_ struct spool_dir dir;
	struct spool_options options = {.limit_bytes = SPOOL_LIMIT_LEAST};
	struct spool *spool, *other = NULL;
	struct why why = {};

	spool_dir_make(&dir);
	options.dir = dir.path;
	spool = open_spool(&dir, true);
	CHECK_ERR(spool_open(&options, &other, &why), -EBUSY);
	spool_close(spool);
	REQUIRE(chmod(dir.path, 0777) == 0);
	CHECK_ERR(spool_open(&options, &other, &why), -EPERM);
	CHECK_HAS_TEXT(why.text, "others can write");
}

/* --- answers --- */

struct seen {
	const struct record_type *type;
	VEC(char *) rows;
};

static int see_type(void *context, const struct record_type *type)
{
	((struct seen *)context)->type = type;
	return 0;
}

static bool see_row(void *context, const void *row)
{
	struct seen *seen = context;
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	for (uint32_t i = 0; i < seen->type->field_count; i++) {
		struct value value = value_get(&seen->type->fields[i], row);

		buf_add_text(&text, i ? "|" : "");
		if (value.class == VALUE_TEXT)
			buf_add(&text, value.text, value.len);
		else if (value.class == VALUE_UINT)
			buf_add_format(&text, "%" PRIu64, value.uint);
		else if (value.class == VALUE_INT)
			buf_add_format(&text, "%" PRId64, value.sint);
		else if (value.class == VALUE_REAL)
			buf_add_format(&text, "%g", value.real);
		else
			buf_add_text(&text, "?");
	}
	vec_push(&seen->rows, xstrdup(buf_text(&text)));
	return true;
}

static void seen_done(struct seen *seen)
{
	vec_each(&seen->rows, row)
		free(*row);
	vec_done(&seen->rows);
}

/* In pieces of this size. */
static int read_answer(const char *text, size_t step, struct seen *seen)
{
	_cleanup_(answer_freep) struct answer *answer = answer_new();
	struct answer_ops ops = {.type = see_type, .row = see_row, .context = seen};
	struct why why = {};
	size_t len = strlen(text);
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += step)
		r = answer_add(answer, text + at, min_of(step, len - at), &ops, &why);
	return r == 0 ? answer_end(answer, &ops, &why) : r;
}

TEST(an_answer_is_read_in_any_pieces)
{
	static const char text[] = "host\ttime_ns\tn\tr\tx\n"
				   "LowCardinality(String)\tUInt64\tNullable(Int32)\tFloat64\tNullable(String)\n"
				   "a\\tb\\\\\t17\t-5\t0.25\t\\N\n"
				   "c\t18446744073709551610\t\\N\tnan\tx\n";

	for (size_t step = 1; step < sizeof(text); step++) {
		_cleanup_(seen_done) struct seen seen = {};

		unit_note("pieces of %zu", step);
		CHECK_OK(read_answer(text, step, &seen));
		REQUIRE(seen.rows.count == 2);
		CHECK_EQ_TEXT(seen.rows.items[0], "a\tb\\|17|-5|0.25|?");
		CHECK_EQ_TEXT(seen.rows.items[1], "c|18446744073709551610|?|?|x");
	}
}

TEST(a_wrong_answer_is_refused)
{
	static const char *const wrong[] = {
		"a\tb\n",      "a\tb\nUInt8\n", "a\nUInt8\tUInt8\n", "a\nUInt8\n1\t2\n", "a\tb\nUInt8\tUInt8\n1\n",
		"a\nUInt8\n1", "<html>\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_(seen_done) struct seen seen = {};

		unit_note("%s", wrong[i]);
		CHECK_ERR(read_answer(wrong[i], 3, &seen), -EBADMSG);
	}
}

/* What a host says about itself stands; what it infers about the path or the peer is checked at the other end. */
TEST(a_connection_is_judged_from_both_ends)
{
	struct fleet_conn_finding own = {"a", "app-not-reading", "application", "app:1", 0.9};
	struct fleet_conn_finding peer = {"a", "peer-slow", "peer", "peer:10.0.0.2:80", 0.8};
	struct fleet_conn_finding loss = {"a", "path-loss", "path", "path:10.0.0.2", 0.6};
	struct fleet_conn_finding delay = {"a", "path-latency", "path", "path:10.0.0.2", 0.7};

	CHECK_NEAR(fleet_conn_judge(&own, true, 0.5), 0.9, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&peer, false, NAN), 0.8, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&peer, true, NAN), 0.08, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&peer, false, 0.05), 0.4, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&loss, false, 0.02), 0.95, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&loss, false, 0.01), 0.6, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&loss, false, 0), 0.06, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&loss, false, NAN), 0.6, 1e-9);
	CHECK_NEAR(fleet_conn_judge(&delay, false, 0), 0.7, 1e-9);
}
