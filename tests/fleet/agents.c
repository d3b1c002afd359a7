/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many agents in one process, each with its own shipper, rows and retries, for scale and for tests of loss:
 *
 *	agents [-n AGENTS] [-s SECONDS] [-r ROWS-PER-SECOND-OF-EACH | -f RECORDING] [-e SEED] TOKEN-FILE URL ...
 *
 * Agent i sends to URL i modulo their number, and waits when that one is away. The rows are closed connections of
 * made-up services; with -f those that a real agent recorded, all tables of the fleet at the pace of the recording,
 * again and again, each agent from a moment of its own, with its address, today's times and other last digits of large
 * numbers. The same for the same seed.
 * Prints one JSON object: rows made, acknowledged, lost, bytes on the wire, CPU.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/shipper.h"
#include "store/input.h"
#include "store/sql.h"

#define TICK_NS     (100 * NSEC_PER_MSEC)
#define FINISH_NS   (120 * NSEC_PER_SEC)

#define COLUMNS_MAX 400
#define TABLES_MAX  100

struct agent {
	struct shipper *shipper;
	struct ship_options options;
	uint64_t row;
	double due; /* rows */
	uint64_t random;
	/* With a recording: where it began and is, and rows per table. */
	uint64_t phase_ns, round;
	size_t next;
	uint64_t rows[TABLES_MAX];
};

/* A recorded row: its cells, and where in them the parts are that differ between agents. */
struct row {
	uint64_t offset_ns; /* since the first one */
	unsigned table;
	char *cells;
	size_t time_at, time_end, laddr_at, laddr_end; /* laddr_end 0: it has none */
};

static struct {
	struct loop *loop;
	struct agent *agents;
	size_t count;
	double rate;
	uint64_t begin_ns, begin_real_ns, end_ns, finish_ns, made;
	VEC(struct row) recorded;
	char *tables[TABLES_MAX];
	unsigned table_count;
	uint64_t span_ns;
} world;

static uint64_t draw(struct agent *agent)
{
	agent->random ^= agent->random << 13;
	agent->random ^= agent->random >> 7;
	agent->random ^= agent->random << 17;
	return agent->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* Few peers get most connections, as services do. */
static unsigned skewed(struct agent *agent, unsigned count)
{
	double share = (double)(draw(agent) >> 11) / (double)(UINT64_C(1) << 53);

	return (unsigned)(pow(share, 3) * count);
}

static uint64_t add_connection(struct buf *out, const void *context)
{
	static const char *const comms[] = {"nginx", "curl", "envoy", "postgres", "java", "redis-server", "python3"};
	static const unsigned ports[] = {443, 80, 5432, 6379, 9092, 8080, 53};
	struct agent *agent = (struct agent *)context;
	uint64_t time_ns = clock_real_ns(), rtt_ns = 100000 + draw(agent) % 20000000;
	unsigned service = skewed(agent, 7), peer = skewed(agent, 200);
	bool server = draw(agent) % 3 == 0;

	buf_add_format(out,
		       ",\"cpu\":%u,\"pid\":%u,\"comm\":\"%s\",\"uid\":%u,\"netns\":4026531840,\"family\":\"inet\","
		       "\"proto\":\"tcp\",\"laddr\":\"10.0.%u.%u\",\"lport\":%u,\"raddr\":\"10.1.0.%u\",\"rport\":%u,"
		       "\"cookie\":%" PRIu64 ",\"event\":\"tcp.close\",\"tx_bytes\":%" PRIu64 ",\"rx_bytes\":%" PRIu64
		       ",\"span_ns\":%" PRIu64 ",\"role\":\"%s\",\"state\":\"FIN_WAIT2\",\"retransmits\":%u,"
		       "\"srtt_ns\":%" PRIu64 ",\"min_rtt_ns\":%" PRIu64 ",\"time_ns\":%" PRIu64,
		       (unsigned)(draw(agent) % 16), 1000 + service * 77, comms[service], 33 + service,
		       (unsigned)(agent - world.agents) >> 8, (unsigned)(agent - world.agents) & 255,
		       server ? ports[service] : 32768 + (unsigned)(draw(agent) % 28000), peer,
		       server ? 32768 + (unsigned)(draw(agent) % 28000) : ports[service], agent->row,
		       200 + draw(agent) % 20000, 500 + draw(agent) % 200000, rtt_ns * (2 + draw(agent) % 500),
		       server ? "server" : "client", (unsigned)(draw(agent) % 50 == 0), rtt_ns, rtt_ns * 3 / 4,
		       time_ns);
	return time_ns;
}

/* --- rows of a recording --- */

/* "name": in the cells; the place of its value, without quotes. */
static bool find_cell(const char *cells, const char *name, size_t *ret_at, size_t *ret_end)
{
	const char *at = strstr(cells, name), *end;

	if (!at)
		return false;
	at += strlen(name);
	if (strncmp(at, "null", 4) == 0)
		return false;
	at += *at == '"';
	end = at + strcspn(at, ",\"");
	*ret_at = (size_t)(at - cells);
	*ret_end = (size_t)(end - cells);
	return true;
}

static void keep_row(unsigned table, uint64_t time_ns, const char *cells)
{
	struct row row = {.offset_ns = time_ns, .table = table, .cells = xstrdup(cells)};

	if (find_cell(cells, "\"time_ns\":", &row.time_at, &row.time_end)) {
		(void)find_cell(cells, "\"laddr\":", &row.laddr_at, &row.laddr_end);
		vec_push(&world.recorded, row);
	} else {
		free(row.cells);
	}
}

static int read_table(struct recording *recording, const struct recorded_table *recorded)
{
	const struct field *fields[COLUMNS_MAX];
	_cleanup_buf_ struct buf sql = BUF_INIT(1 << 16), cells = BUF_INIT(1 << 20);
	sqlite3_stmt *statement;
	struct fleet_table table;
	struct field_ref at = {};
	size_t count = 0;

	if (recorded->states || world.table_count == TABLES_MAX || fleet_table_find(recorded->name, &table) < 0)
		return 0;
	buf_add_text(&sql, "SELECT 0");
	while (count < COLUMNS_MAX && shape_next(&table.shape, &at))
		vec_each(&recorded->columns, column)
			if (strcmp(*column, at.field->name) == 0) {
				buf_add_text(&sql, ", ");
				sql_add_name(&sql, at.field->name);
				fields[count++] = at.field;
			}
	buf_add_text(&sql, " FROM main.");
	sql_add_name(&sql, recorded->name);
	if (sqlite3_prepare_v2(recording_db(recording), buf_text(&sql), -1, &statement, NULL) != SQLITE_OK)
		return -EIO;
	world.tables[world.table_count] = xstrdup(table.name);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		uint64_t time_ns;

		buf_clear(&cells);
		time_ns = fleet_row_add_stored(&cells, statement, 1, fields, count);
		keep_row(world.table_count, time_ns, buf_text(&cells));
	}
	sqlite3_finalize(statement);
	world.table_count++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->offset_ns > y->offset_ns) - (x->offset_ns < y->offset_ns);
}

static int read_recording(const char *path, struct why *why)
{
	struct input_options input = {.file = path};
	struct recording *recording = NULL;
	struct time_range range;
	int r = input_open(&input, &recording, &range, why);

	for (size_t i = 0; r == 0 && i < recording_table_count(recording); i++)
		r = read_table(recording, recording_table(recording, i));
	recording_close(recording);
	if (r < 0 || world.recorded.count < 2)
		return r < 0 ? r : why_set(why, -EINVAL, "%s has no rows for a fleet", path);
	vec_sort(&world.recorded, by_time);
	for (size_t i = world.recorded.count; i-- > 0;)
		world.recorded.items[i].offset_ns -= world.recorded.items[0].offset_ns;
	world.span_ns = world.recorded.items[world.recorded.count - 1].offset_ns + NSEC_PER_SEC;
	return 0;
}

/*
 * Numbers of six digits and more end in other digits on each host, the same number in the same ones: rows of many hosts
 * must not compress as if they were copies.
 */
static void add_varied(struct buf *out, const char *text, size_t len, uint64_t salt)
{
	for (size_t at = 0; at < len;) {
		size_t digits = strspn(text + at, "0123456789");
		uint64_t hash = salt;

		digits = min_of(digits, len - at);
		if (digits < 6) {
			digits = max_of(digits, (size_t)1);
			buf_add(out, text + at, digits);
		} else {
			for (size_t i = 0; i < digits; i++)
				hash = (hash ^ (uint64_t)text[at + i]) * UINT64_C(0x100000001b3);
			buf_add(out, text + at, digits - 3);
			buf_add_format(out, "%03u", (unsigned)(hash >> 20) % 1000);
		}
		at += digits;
	}
}

struct sent_row {
	const struct agent *agent;
	const struct row *row;
	uint64_t time_ns;
};

static uint64_t add_recorded(struct buf *out, const void *context)
{
	const struct sent_row *sent = context;
	const struct row *row = sent->row;
	size_t number = (size_t)(sent->agent - world.agents), at = row->time_end;

	add_varied(out, row->cells, row->time_at, number);
	buf_add_format(out, "%" PRIu64, sent->time_ns);
	/* The time is in front of addresses in all tables. */
	if (row->laddr_end && row->laddr_at > at) {
		add_varied(out, row->cells + at, row->laddr_at - at, number);
		buf_add_format(out, "10.%zu.%zu.%zu", number >> 16 & 255, number >> 8 & 255, number & 255);
		at = row->laddr_end;
	}
	add_varied(out, row->cells + at, strlen(row->cells + at), number);
	return sent->time_ns;
}

/* What the recording has up to now. */
static void send_recorded(struct agent *agent, uint64_t now_ns)
{
	uint64_t at_ns = agent->phase_ns + now_ns - world.begin_ns;

	for (;;) {
		const struct row *row = &world.recorded.items[agent->next];
		uint64_t due_ns = agent->round * world.span_ns + row->offset_ns;
		struct sent_row sent = {agent, row, world.begin_real_ns + due_ns - agent->phase_ns};

		if (due_ns > at_ns)
			return;
		shipper_add_cells(agent->shipper, world.tables[row->table], ++agent->rows[row->table], add_recorded,
				  &sent);
		world.made++;
		if (++agent->next == world.recorded.count) {
			agent->next = 0;
			agent->round++;
		}
	}
}

static void choose_phase(struct agent *agent)
{
	agent->phase_ns = draw(agent) % world.span_ns;
	while (agent->next < world.recorded.count && world.recorded.items[agent->next].offset_ns <= agent->phase_ns)
		agent->next++;
	if (agent->next == world.recorded.count) {
		agent->next = 0;
		agent->round = 1;
	}
}

/* --- the run --- */

/* The first few are enough to know what is wrong. */
static void say(void *context _unused_, const char *text)
{
	static unsigned said;

	if (said++ < 5)
		fprintf(stderr, "agents: %s\n", text);
}

static uint64_t total(size_t offset)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < world.count; i++) {
		struct shipper_figures figures = shipper_look(world.agents[i].shipper);

		sum += *(const uint64_t *)((const char *)&figures + offset);
	}
	return sum;
}

#define TOTAL(member) total(offsetof(struct shipper_figures, member))

static void on_tick(void *context _unused_, uint64_t expirations)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns >= world.end_ns) {
		if (!world.finish_ns) {
			world.finish_ns = now_ns + FINISH_NS;
			for (size_t i = 0; i < world.count; i++)
				shipper_flush(world.agents[i].shipper);
		} else if (TOTAL(waiting) == 0 || now_ns > world.finish_ns) {
			loop_stop(world.loop, 0);
		}
		return;
	}
	for (size_t i = 0; i < world.count; i++) {
		struct agent *agent = &world.agents[i];

		if (world.recorded.count) {
			send_recorded(agent, now_ns);
			continue;
		}
		agent->due += world.rate * (double)expirations * TICK_NS / NSEC_PER_SEC;
		for (; agent->due >= 1; agent->due--, world.made++)
			shipper_add_cells(agent->shipper, "tcp_close", ++agent->row, add_connection, agent);
	}
}

static void print_sum(uint64_t span_ns)
{
	struct rusage usage;
	double cpu;

	getrusage(RUSAGE_SELF, &usage);
	cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("{\"agents\":%zu,\"seconds\":%.1f,\"made\":%" PRIu64 ",\"acknowledged\":%" PRIu64 ",\"lost\":%" PRIu64
	       ",\"waiting\":%" PRIu64 ",\"wire_bytes\":%" PRIu64 ",\"failures\":%" PRIu64
	       ",\"cpu_seconds\":%.2f,\"rss_kib\":%ld}\n",
	       world.count, (double)span_ns / 1e9, world.made, TOTAL(sender.rows_sent) + TOTAL(sender.rows_known),
	       TOTAL(lost), TOTAL(waiting), TOTAL(sender.bytes_sent), TOTAL(sender.failures), cpu, usage.ru_maxrss);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, seconds = 10, begin_ns;
	const char *recording = NULL;
	struct why why = {};
	int option;

	world.count = 100;
	world.rate = 10;
	while ((option = getopt(argc, argv, "n:s:r:e:f:")) >= 0) {
		double value = optarg ? strtod(optarg, NULL) : 0;

		if (option == 'n')
			world.count = (size_t)value;
		else if (option == 's')
			seconds = (uint64_t)value;
		else if (option == 'r')
			world.rate = value;
		else if (option == 'e')
			seed = (uint64_t)value;
		else if (option == 'f')
			recording = optarg;
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	if (loop_new(&world.loop) < 0)
		return 1;
	if (recording && read_recording(recording, &why) < 0) {
		fprintf(stderr, "agents: %s\n", why.text);
		return 1;
	}
	world.agents = xzalloc(world.count * sizeof(*world.agents));
	begin_ns = clock_real_ns();
	for (size_t i = 0; i < world.count; i++) {
		struct agent *agent = &world.agents[i];
		struct fleet_origin origin = {.boot = "00000000-0000-0000-0000-000000000001", .stream = begin_ns};

		snprintf(origin.host, sizeof(origin.host), "host%05zu", i);
		agent->random = seed * UINT64_C(0x9e3779b97f4a7c15) + i + 1;
		agent->due = (double)(i % 100) / 100;
		if (recording)
			choose_phase(agent);
		agent->options = (struct ship_options){.url = argv[optind + 1 + (int)i % (argc - optind - 1)],
						       .token_file = argv[optind]};
		if (shipper_new(world.loop, &agent->options, &origin, say, NULL, &agent->shipper, &why) < 0) {
			fprintf(stderr, "agents: %s\n", why.text);
			return 1;
		}
	}
	world.begin_ns = clock_monotonic_ns();
	world.begin_real_ns = clock_real_ns();
	world.end_ns = world.begin_ns + seconds * NSEC_PER_SEC;
	if (loop_add_timer(world.loop, TICK_NS, TICK_NS, on_tick, NULL, NULL) < 0)
		return 1;
	(void)loop_run(world.loop);
	print_sum(clock_monotonic_ns() - world.begin_ns);
	for (size_t i = 0; i < world.count; i++)
		shipper_free(world.agents[i].shipper);
	vec_each(&world.recorded, row)
		free(row->cells);
	vec_done(&world.recorded);
	for (unsigned i = 0; i < world.table_count; i++)
		free(world.tables[i]);
	loop_free(world.loop);
	free(world.agents);
	return 0;
}
