/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of modules: siblings that look alike are counted, what differs is drawn. */
#include "diagnose/measure/far_end.h"
#include "diagnose/measure/unseen.h"
#include "diagnose/present/present.h"
#include "unit.h"

#define CONNS 8

static char drawn[8192];

/* A program with connections that wait over one path, to which change is applied; the first finding accuses accused. */
static const char *draw(const char *accused, void (*change)(struct module_record *conns), bool all)
{
	static const char ids[CONNS][8] = {"conn:1", "conn:2", "conn:3", "conn:4",
					   "conn:5", "conn:6", "conn:7", "conn:8"};
	struct text_record conn_ids[CONNS], path_id = {"path:p"};
	struct module_record modules[CONNS + 2];
	struct finding_record finding = {.cause = "path-loss",
					 .module = accused,
					 .accused = "p",
					 .because = "because",
					 .advice = "",
					 .summary = ""};
	struct diagnosis_record record = {.modules = {modules, ARRAY_SIZE(modules)}, .findings = {&finding, 1}};
	struct out out = {.fd = -1, .kept = true, .width = 200, .pending = BUF_INIT(sizeof(drawn))};

	for (int i = 0; i < CONNS; i++) {
		conn_ids[i].text = ids[i];
		modules[1 + i] = (struct module_record){.id = ids[i],
							.name = ids[i] + strlen("conn:"),
							.state = "waiting",
							.kind = MODULE_CONN,
							.depends_on = {&path_id, 1}};
		modules[1 + i].related[MODULE_PATH] = path_id.text;
	}
	modules[0] = (struct module_record){.id = "app:1",
					    .name = "program",
					    .state = "waiting",
					    .kind = MODULE_APP,
					    .depends_on = {conn_ids, CONNS}};
	modules[CONNS + 1] =
		(struct module_record){.id = "path:p", .name = "p", .state = "active", .kind = MODULE_PATH};
	if (change)
		change(modules + 1);
	present_diagnosis(&record, &(struct present_options){.all = all}, &out);
	snprintf(drawn, sizeof(drawn), "%s", buf_text(&out.pending));
	buf_done(&out.pending);
	return drawn;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

TEST(connections_that_look_alike_are_counted)
{
	const char *text = draw("path:p", NULL, false);

	CHECK_HAS_TEXT(text, "conn 1: waiting");
	CHECK_EQ_UINT(count(text, "conn "), 1);
	CHECK_EQ_UINT(count(text, "path p"), 1);
	CHECK_HAS_TEXT(text, "7 more like this; --all shows them");
	/* They are not among those that are hidden because they are healthy. */
	CHECK(!strstr(text, "hidden"));
}

TEST(all_of_them_are_drawn_when_asked_for)
{
	const char *text = draw("path:p", NULL, true);

	CHECK_EQ_UINT(count(text, "conn "), CONNS);
	CHECK(!strstr(text, "more like this"));
}

TEST(a_culprit_among_them_is_drawn)
{
	const char *text = draw("conn:5", NULL, false);

	CHECK_HAS_TEXT(text, ">> conn 5: waiting");
	CHECK_EQ_UINT(count(text, "conn "), 2);
	CHECK_HAS_TEXT(text, "6 more like this");
}

static void change_states(struct module_record *conns)
{
	static struct limit_record receiver = {.receiver_window = 0.9, .application = 0.1},
				   mixed = {.receiver_window = 0.6};

	conns[3].limited_by = conns[4].limited_by = (struct list){&receiver, 1};
	conns[5].limited_by = (struct list){&mixed, 1};
	conns[6].depends_on.count = 0;
}

TEST(what_differs_is_drawn)
{
	const char *text = draw("path:p", change_states, false);

	/* Five are alike, three have the same main limit, and one has no path. */
	CHECK_EQ_UINT(count(text, "conn "), 3);
	CHECK_HAS_TEXT(text, "3 more like this");
	CHECK_HAS_TEXT(text, "2 more like this");
	CHECK_HAS_TEXT(text, "conn 4: waiting, limited by");
	CHECK_HAS_TEXT(text, "conn 7: waiting");
}

static void leave_two(struct module_record *conns)
{
	for (int i = 2; i < CONNS; i++)
		conns[i].state = "idle";
}

TEST(two_are_drawn_both)
{
	const char *text = draw("app:1", leave_two, false);

	CHECK_EQ_UINT(count(text, "conn "), 2);
	CHECK(!strstr(text, "more like this"));
}

/* --- what stands around the tree --- */

static const char *show(const struct diagnosis_record *record, const struct present_options *options)
{
	struct out out = {.fd = -1, .kept = true, .width = 200, .pending = BUF_INIT(sizeof(drawn))};

	present_diagnosis(record, options, &out);
	snprintf(drawn, sizeof(drawn), "%s", buf_text(&out.pending));
	buf_done(&out.pending);
	return drawn;
}

TEST(a_finding_says_where_and_what_would_change_it)
{
	static const struct text_record change[] = {{"more than 2 % lost"}}, other[] = {{"path-congestion"}},
					next[] = {{"nest tcpretrans"}};
	static const struct spent_record spent = {.text = "read_config: 71 % of 2.00 s"};
	static const struct evidence_record evidence[] = {{"loses", 0.7, "5 of 10 lost"},
							  {"grows", 0.3, "the RTT grew"}};
	struct finding_record finding = {.cause = "path-loss",
					 .module = "path:p",
					 .accused = "p",
					 .because = "5 of 10 lost",
					 .certainty = 0.75,
					 .netns = 4026532212,
					 .netns_name = "web",
					 .for_evidence = {evidence, 2},
					 .ambiguous_with = {other, 1},
					 .would_change = {change, 1},
					 .spent_in = {&spent, 1},
					 .next = {next, 1}};
	struct diagnosis_record record = {.findings = {&finding, 1}, .netns = 4026531840};
	const char *text = show(&record, &(struct present_options){.all = true, .several = true});

	CHECK_EQ_TEXT(text, "network namespace 4026531840\n"
			    "path-loss p: 5 of 10 lost (certainty 0.75)\n"
			    "|- in: network namespace web (4026532212)\n"
			    "|- inside: read_config: 71 % of 2.00 s\n"
			    "|- evidence: loses (0.70)\n"
			    "|- evidence: grows (0.30) the RTT grew\n"
			    "|- could also be: path-congestion\n"
			    "|- would change: more than 2 % lost\n"
			    "|- advice: nest explain path-loss\n"
			    "`- next: nest tcpretrans\n"
			    "\n");
	/* That is said only when everything is asked for. */
	CHECK(!strstr(show(&record, &(struct present_options){}), "would change"));
}

TEST(health_is_said_with_what_was_not_seen)
{
	static const struct text_record waits[] = {{"curl (812) waits for 10.1.2.2:80: 2 requests"}};
	static const struct unseen_record unseen[] = {
		{.what = "firewall", .lost = "drops of rules", .why = "needs CAP_NET_ADMIN"},
		{.what = "owner", .lost = "owners of sockets", .why = "needs CAP_SYS_PTRACE"},
		{.what = "qdisc", .lost = "filters", .why = "needs CAP_NET_ADMIN"},
	};
	struct diagnosis_record record = {.netns = 7,
					  .netns_name = "web",
					  .window_ms = 3000,
					  .waits = {waits, 1},
					  .waits_count = 4,
					  .baseline_s = 90,
					  .baseline_from = "r.nest",
					  .not_seen = {unseen, 3}};

	CHECK_EQ_TEXT(show(&record, &(struct present_options){.several = true}),
		      "network namespace web (7): no fault found: 0 connections, 3.00 s.\n"
		      "curl (812) waits for 10.1.2.2:80: 2 requests\n"
		      "(3 more like this)\n"
		      "(baseline: 90 s of r.nest)\n"
		      "Not seen: drops of rules; filters (needs CAP_NET_ADMIN)\n"
		      "Not seen: owners of sockets (needs CAP_SYS_PTRACE)\n");
	CHECK_HAS_TEXT(show(&record, &(struct present_options){.several = true, .chosen = true}),
		       "network namespace web (7): no socket matches the selection.\n");
	CHECK_HAS_TEXT(show(&record, &(struct present_options){.chosen = true}), "No socket matches the selection.\n");
}

TEST(both_ends_have_a_line_each)
{
	static const struct text_record hosts[] = {{"web1"}, {"db1"}};
	struct far_end_measures ends[10];
	struct diagnosis_record record = {.window_ms = 1000, .seen_from = {hosts, 2}, .ends = {ends, ARRAY_SIZE(ends)}};
	const char *text;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		far_end_measures_init(&ends[i], "conn:10.0.0.1:4000-10.0.0.2:80");
		snprintf(ends[i].far_host, sizeof(ends[i].far_host), "db1");
	}
	ends[0].out_segs = 1000;
	ends[0].out_arrived_segs = 970;
	ends[0].out_lost_segs = 30;
	ends[0].in_segs = 1;
	ends[0].in_arrived_segs = 2; /* as clocks have it */
	ends[0].in_lost_segs = 0;
	ends[0].out_delay_change_ns = 5000000;
	ends[0].out_delay_error_ns = 1000000;
	/* Within its bound. */
	ends[0].in_delay_change_ns = 1000000;
	ends[0].in_delay_error_ns = 1000000;
	snprintf(ends[1].waits_for, sizeof(ends[1].waits_for), "db1");
	text = show(&record, &(struct present_options){});
	CHECK_HAS_TEXT(text,
		       "conn:10.0.0.1:4000-10.0.0.2:80: 1000 segments from web1, 970 at db1 (3.0 % lost); 1 segment "
		       "from db1, 1 at web1; delay from web1 to db1 up by 5.00 ms (within 1.00 ms); waits for neither "
		       "program\n");
	CHECK_HAS_TEXT(text, "conn:10.0.0.1:4000-10.0.0.2:80: waits for the program on db1\n");
	CHECK_EQ_UINT(count(text, "conn:"), 8);
	CHECK_HAS_TEXT(text, "2 more connections at both ends\n");
	record.seen_from.count = 1;
	CHECK(!strstr(show(&record, &(struct present_options){}), "segments from"));
}

/* One line, with the reason that it is no finding. */
TEST(notes_stand_below_the_answer)
{
	struct evidence_record against = {.rule = "bbr", .cf = -0.8, .text = "BBR keeps its rate"};
	struct finding_record note = {.cause = "path-loss",
				      .accused = "10.0.0.1",
				      .because = "1 % was lost",
				      .severity = SEVERITY_INFO,
				      .against_evidence = {&against, 1}};
	struct diagnosis_record record = {.notes = {&note, 1}, .healthy = true};
	struct out out = {.fd = -1, .kept = true, .width = 200, .pending = BUF_INIT(sizeof(drawn))};

	present_diagnosis(&record, &(struct present_options){}, &out);
	CHECK(strstr(buf_text(&out.pending), "Note: path-loss 10.0.0.1: 1 % was lost; BBR keeps its rate\n") != NULL);
	buf_done(&out.pending);
}
