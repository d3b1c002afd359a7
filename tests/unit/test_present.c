/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of modules: siblings that look alike are counted, what differs is drawn. */
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
