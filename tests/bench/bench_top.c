/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the screen of nest top takes for 100,000 rows; the goal is an answer to any key within 50 ms. */
#include "base/clock.h"
#include "snapshot/socket/socket.h"
#include "top/screen/screen.h"

#define ROWS 100000

static void fill(struct snapshot *snapshot, unsigned turn)
{
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type);
	struct snapshot_table *tcps = snapshot_table(snapshot, &tcp_type);

	snapshot_clear(snapshot);
	snapshot->begin_boot_ns = snapshot->begin_time_ns = (turn + 1) * NSEC_PER_SEC;
	for (uint32_t i = 0; i < ROWS; i++) {
		struct socket_record *socket = snapshot_table_add(sockets);
		struct tcp_record *tcp = snapshot_table_add(tcps);

		socket->netns = 1;
		socket->proto = 6;
		socket->state = 1;
		socket->laddr = socket->raddr =
			(struct addr){.family = 4, .bytes = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}};
		socket->lport = 443;
		socket->rport = (uint16_t)(1024 + i % 60000);
		socket->cookie = i + 1;
		socket->tcp = i;
		socket->owner = SOCKET_NONE;
		tcp->bytes_received = (uint64_t)turn * (i * 7919ULL % 100003);
		tcp->bytes_acked = turn;
		tcp->srtt_ns = i * 31 % 1000003;
	}
}

static double ms_since(uint64_t start_ns)
{
	return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e6;
}

/* The slowest of some presses (CPU time: other processes do not count), each with the drawing that follows. */
static double press(struct screen *screen, struct canvas *canvas, uint32_t key, unsigned times)
{
	double worst = 0;

	for (unsigned i = 0; i < times; i++) {
		uint64_t start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		screen_press(screen, &(struct key_press){.key = key});
		screen_draw(screen, canvas);
		worst = max_of(worst, ms_since(start_ns));
	}
	return worst;
}

static void type(struct screen *screen, const char *text)
{
	for (; *text; text++)
		screen_press(screen, &(struct key_press){.key = (uint32_t)*text});
}

int main(void)
{
	struct screen *screen = screen_new(&(struct screen_host){}, true, NULL);
	struct snapshot *snapshot = snapshot_new();
	struct canvas canvas;
	uint64_t start_ns;

	canvas_init(&canvas, 140, 40, true);
	screen_press(screen, &(struct key_press){.key = '2'});
	printf("the screen of nest top with %d rows (goal: a key within 50 ms)\n", ROWS);
	for (unsigned turn = 0; turn < 3; turn++) {
		fill(snapshot, turn);
		start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		screen_take(screen, snapshot);
		screen_draw(screen, &canvas);
		printf("  %7.2f ms  refresh %u\n", ms_since(start_ns), turn);
	}
	printf("  %7.2f ms  line down\n", press(screen, &canvas, KEY_GO_DOWN, 20));
	printf("  %7.2f ms  page down\n", press(screen, &canvas, KEY_PAGE_DOWN, 20));
	printf("  %7.2f ms  end and home\n",
	       press(screen, &canvas, KEY_GO_END, 1) + press(screen, &canvas, KEY_GO_HOME, 1));
	printf("  %7.2f ms  sort by another column\n", press(screen, &canvas, '>', 5));
	printf("  %7.2f ms  reverse\n", press(screen, &canvas, 'i', 5));
	printf("  %7.2f ms  tree on and off\n", press(screen, &canvas, 't', 2));
	screen_press(screen, &(struct key_press){.key = '\\'});
	type(screen, "rport == 2000 and srtt > 1us");
	printf("  %7.2f ms  filter\n", press(screen, &canvas, KEY_RETURN, 1));
	screen_press(screen, &(struct key_press){.key = KEY_DELETE_BACK});
	screen_press(screen, &(struct key_press){.key = '/'});
	type(screen, "nothing of this kin");
	printf("  %7.2f ms  search without a match\n", press(screen, &canvas, 'd', 1));
	canvas_done(&canvas);
	snapshot_free(snapshot);
	screen_free(screen);
	return 0;
}
