/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphical formats: graph of connections, windows over time. */
#include <sys/mman.h>

#include "unit.h"
#include "view/output.h"

struct sample {
	struct addr laddr;
	struct addr raddr;
	uint16_t lport;
	uint16_t rport;
	char comm[16];
	uint8_t role;
	uint64_t tx_bytes;
	uint64_t rx_bytes;
	uint64_t time_ns;
	const char *event;
	uint32_t cwnd;
	uint32_t inflight_bytes;
	uint32_t peer_wnd;
	uint32_t mss;
};

static const struct enum_name roles[] = {{1, "client", NULL}, {2, "server", NULL}};
static struct enum_names role_names = {roles, ARRAY_SIZE(roles), NULL};

#define S struct sample
static const struct field sample_fields[] = {
	FIELD(S, laddr, ADDR, "a"),
	FIELD(S, lport, ID, "a"),
	FIELD(S, raddr, ADDR, "a"),
	FIELD(S, rport, ID, "a"),
	FIELD(S, comm, TEXT, "a"),
	FIELD(S, role, ENUM, "a", .names = &role_names, .zero_is_unknown = true),
	FIELD(S, tx_bytes, BYTES, "a"),
	FIELD(S, rx_bytes, BYTES, "a"),
	FIELD(S, time_ns, TIME, "a", .zero_is_unknown = true),
	FIELD(S, event, TEXT, "a"),
	FIELD(S, cwnd, COUNT, "a", .zero_is_unknown = true),
	FIELD(S, inflight_bytes, BYTES, "a"),
	FIELD(S, peer_wnd, BYTES, "a"),
	FIELD(S, mss, BYTES, "a", .zero_is_unknown = true),
};
#undef S
static RECORD_TYPE(picture_type, "picture", struct sample, sample_fields, "a");

static char *draw(const char *format, const struct sample *samples, size_t count)
{
	struct shape shape = SHAPE_OF(&picture_type);
	_cleanup_close_ int fd = memfd_create("picture", 0);
	struct output_options options = {.format = format};
	struct output *output;
	struct buf content = BUF_INIT(0);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	REQUIRE(output_open(&options, &shape, &output, NULL) == 0);
	for (size_t i = 0; i < count; i++) {
		struct record record = RECORD_OF(&samples[i]);

		(void)output_record(output, &record);
	}
	CHECK_OK(output_close(output));
	REQUIRE(buf_read_fd(&content, fd) == 0);
	return content.data ? content.data : xstrdup("");
}

static struct sample connection(const char *from, uint16_t lport, const char *to, uint16_t rport)
{
	struct sample sample = {.lport = lport, .rport = rport};

	REQUIRE(addr_parse(from, &sample.laddr) == 0);
	REQUIRE(addr_parse(to, &sample.raddr) == 0);
	return sample;
}

TEST(both_ends_of_a_connection_are_one_arrow)
{
	struct sample samples[3] = {connection("10.0.0.1", 40000, "10.0.0.2", 80),
				    connection("10.0.0.2", 80, "10.0.0.1", 40000),
				    connection("10.0.0.1", 40001, "10.0.0.2", 80)};
	_cleanup_free_ char *text = NULL;

	for (int i = 0; i < 3; i++) {
		samples[i].role = i == 1 ? 2 : 1;
		samples[i].tx_bytes = i == 1 ? 5000 : 70;
		samples[i].rx_bytes = i == 1 ? 70 : 5000;
		snprintf(samples[i].comm, sizeof(samples[i].comm), "%s", i == 1 ? "nginx" : "curl");
	}
	/* The server's end of the second connection was not seen: another arrow. */
	text = draw("dot", samples, 3);
	CHECK(strstr(text, "\"curl\\n10.0.0.1\" -> \"nginx\\n10.0.0.2:80\" [label=\"1 connection\\n70 B sent, 5000 B "
			   "received\"];"));
	CHECK(strstr(text,
		     "\"curl\\n10.0.0.1\" -> \"10.0.0.2:80\" [label=\"1 connection\\n70 B sent, 5000 B received\"];"));
	CHECK_EQ_UINT(unit_occurrences(text, "->"), 2);
}

TEST(names_cannot_leave_their_quotes)
{
	struct sample sample = connection("::1", 1, "::1", 2);
	_cleanup_free_ char *text = NULL;

	snprintf(sample.comm, sizeof(sample.comm), "a\"];\\\n\x1fz");
	text = draw("dot", &sample, 1);
	/* Unknown client: no arrow head. */
	CHECK(strstr(text, "\t\"a\\\"];\\\\??z\\n::1\" -> \"[::1]:2\" [label=\"1 connection\\n0 B sent, 0 B "
			   "received\", dir=none];"));
}

TEST(a_graph_of_nothing_is_a_graph)
{
	_cleanup_free_ char *text = draw("dot", NULL, 0);

	CHECK(strncmp(text, "digraph nest {\n", 15) == 0);
	CHECK(strcmp(text + strlen(text) - 2, "}\n") == 0);
	CHECK_EQ_UINT(unit_occurrences(text, "->"), 0);
}

TEST(windows_have_a_line_each_and_retransmissions_a_mark)
{
	struct sample samples[10];
	_cleanup_free_ char *text = NULL;

	for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++) {
		samples[i] = connection("10.0.0.1", 40000, "10.0.0.2", 80);
		samples[i].time_ns = 1000000000 + i * 100000000ull;
		samples[i].event = i % 5 == 4 ? "tcp.retransmit" : "tcp.probe";
		samples[i].cwnd = 10 + i;
		samples[i].mss = 1000;
		samples[i].inflight_bytes = i * 500;
		samples[i].peer_wnd = 64000;
	}
	text = draw("plot", samples, ARRAY_SIZE(samples));
	CHECK(strstr(text, "10.0.0.1:40000 to 10.0.0.2:80, segments; 2 retransmitted"));
	CHECK_EQ_UINT(unit_occurrences(text, "v-8\"/>"), 2);
	/* Three lines: ssthresh is unknown. */
	CHECK_EQ_UINT(unit_occurrences(text, "<path fill=\"none\" stroke=\"#"), 3);
	CHECK(strstr(text, "d=\"M60.0 "));
	CHECK(strstr(text, "H940.0"));
	CHECK(strstr(text, ">800 ms</text>"));
	CHECK(!strstr(text, "not drawn"));
}

TEST(what_cannot_be_drawn_is_counted)
{
	struct sample samples[10];
	_cleanup_free_ char *text = NULL;

	for (uint16_t i = 0; i < ARRAY_SIZE(samples); i++) {
		samples[i] = connection("10.0.0.1", (uint16_t)(40000 + i), "10.0.0.2", 80);
		samples[i].time_ns = i == 9 ? 0 : 1000;
		samples[i].cwnd = 1;
	}
	text = draw("plot", samples, ARRAY_SIZE(samples));
	CHECK(strstr(text, "not drawn: 2 connections, 1 record"));
	CHECK_EQ_UINT(unit_occurrences(text, " to 10.0.0.2:80"), 8);
}
