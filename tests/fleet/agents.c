/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many agents in one process, each with its own shipper, rows and retries, for scale and for tests of loss:
 *
 *	agents [-n AGENTS] [-s SECONDS] [-r ROWS-PER-SECOND-OF-EACH] [-e SEED] TOKEN-FILE URL ...
 *
 * Agent i sends to URL i modulo their number, and waits when that one is away. The rows are closed connections of
 * made-up services, the same for the same seed but for their times. Prints one JSON object: rows made, acknowledged,
 * lost, bytes on the wire, CPU.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "fleet/shipper.h"

#define TICK_NS   (100 * NSEC_PER_MSEC)
#define FINISH_NS (120 * NSEC_PER_SEC)

struct agent {
	struct shipper *shipper;
	struct ship_options options;
	uint64_t row, marks;
	double due; /* rows */
	uint64_t random;
};

static struct {
	struct loop *loop;
	struct agent *agents;
	size_t count;
	double rate;
	uint64_t begin_ns, end_ns, finish_ns, made;
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
	struct why why = {};
	int option;

	world.count = 100;
	world.rate = 10;
	while ((option = getopt(argc, argv, "n:s:r:e:")) >= 0) {
		double value = optarg ? strtod(optarg, NULL) : 0;

		if (option == 'n')
			world.count = (size_t)value;
		else if (option == 's')
			seconds = (uint64_t)value;
		else if (option == 'r')
			world.rate = value;
		else if (option == 'e')
			seed = (uint64_t)value;
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	if (loop_new(&world.loop) < 0)
		return 1;
	world.agents = xzalloc(world.count * sizeof(*world.agents));
	begin_ns = clock_real_ns();
	for (size_t i = 0; i < world.count; i++) {
		struct agent *agent = &world.agents[i];
		struct fleet_origin origin = {.boot = "00000000-0000-0000-0000-000000000001", .stream = begin_ns};

		snprintf(origin.host, sizeof(origin.host), "host%05zu", i);
		agent->random = seed * UINT64_C(0x9e3779b97f4a7c15) + i + 1;
		agent->due = (double)(i % 100) / 100;
		agent->options = (struct ship_options){.url = argv[optind + 1 + (int)i % (argc - optind - 1)],
						       .token_file = argv[optind]};
		if (shipper_new(world.loop, &agent->options, &origin, say, NULL, &agent->shipper, &why) < 0) {
			fprintf(stderr, "agents: %s\n", why.text);
			return 1;
		}
	}
	world.begin_ns = clock_monotonic_ns();
	world.end_ns = world.begin_ns + seconds * NSEC_PER_SEC;
	if (loop_add_timer(world.loop, TICK_NS, TICK_NS, on_tick, NULL, NULL) < 0)
		return 1;
	(void)loop_run(world.loop);
	print_sum(clock_monotonic_ns() - world.begin_ns);
	for (size_t i = 0; i < world.count; i++)
		shipper_free(world.agents[i].shipper);
	loop_free(world.loop);
	free(world.agents);
	return 0;
}
