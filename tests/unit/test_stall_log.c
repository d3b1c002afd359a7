/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stalls from window to window: told once when they begin, change and end. */
#include "unit.h"

#include "diagnose/infer/stall_log.h"

struct said {
	char text[1024];
	double certainty;
	uint64_t span_ns, time_ns;
};

static void tell(const struct stall_log_record *r, void *context)
{
	static const char *const words[] = {"begin", "change", "end"};
	struct said *said = context;

	snprintf(said->text + strlen(said->text), sizeof(said->text) - strlen(said->text), "%s%s %s%s%s",
		 said->text[0] ? ", " : "", words[r->event], r->cause, r->was ? " was " : "", r->was ?: "");
	said->certainty = r->certainty;
	said->span_ns = r->span_ns;
	said->time_ns = r->time_ns;
}

/* A window of a second, in a namespace: "cause module sufferer", several with commas; "" is a healthy one. */
static const char *window(struct stall_log *log, struct said *said, unsigned second, uint32_t netns,
			  const char *findings)
{
	static char words[8][3][40];
	const char *sufferers[8];
	struct finding_record records[8] = {};
	struct diagnosis_record d = {.netns = netns, .start_ns = second * UINT64_C(1000000000), .window_ms = 1000};
	uint32_t count = 0;

	for (const char *at = findings; *at; count++) {
		int n = 0;

		REQUIRE(sscanf(at, "%39s %39s %39[^,]%n", words[count][0], words[count][1], words[count][2], &n) == 3);
		sufferers[count] = words[count][2];
		records[count] = (struct finding_record){.cause = words[count][0],
							 .module = words[count][1],
							 .certainty = 0.5 + second / 100.0,
							 .because = "so it is",
							 .affects = {&sufferers[count], 1}};
		at += n;
		at += strspn(at, ", ");
	}
	d.findings = (struct list){records, count};
	said->text[0] = '\0';
	stall_log_add(log, &d);
	return said->text;
}

TEST(a_stall_is_told_when_it_begins_and_when_it_ends)
{
	struct said said = {};
	struct stall_log *log = stall_log_new(tell, &said);

	CHECK_EQ_TEXT(window(log, &said, 1, 1, ""), "");
	CHECK_EQ_TEXT(window(log, &said, 2, 1, "path-loss path:x conn:1"), "begin path-loss");
	CHECK_EQ_UINT(said.span_ns, UINT64_MAX);
	CHECK_EQ_TEXT(window(log, &said, 3, 1, "path-loss path:x conn:1"), "");
	/* One window without it is nothing. */
	CHECK_EQ_TEXT(window(log, &said, 4, 1, ""), "");
	CHECK_EQ_TEXT(window(log, &said, 5, 1, "path-loss path:x conn:1"), "");
	CHECK_EQ_UINT(stall_log_count(log), 1);
	CHECK_EQ_TEXT(window(log, &said, 6, 1, ""), "");
	CHECK_EQ_TEXT(window(log, &said, 7, 1, ""), "end path-loss");
	/* From the end of second 2 to the end of second 5, when it was last seen. */
	CHECK_EQ_UINT(said.span_ns, UINT64_C(3000000000));
	CHECK_EQ_UINT(said.time_ns, UINT64_C(6000000000));
	CHECK_NEAR(said.certainty, 0.55, 1e-9);
	CHECK_EQ_UINT(stall_log_count(log), 0);
	CHECK_EQ_TEXT(window(log, &said, 8, 1, ""), "");
	stall_log_free(log);
}

TEST(another_culprit_for_the_same_sufferer_is_a_change)
{
	struct said said = {};
	struct stall_log *log = stall_log_new(tell, &said);

	CHECK_EQ_TEXT(window(log, &said, 1, 1, "path-loss path:x conn:1"), "begin path-loss");
	CHECK_EQ_TEXT(window(log, &said, 2, 1, "peer-slow peer:x conn:1"), "change peer-slow was path-loss");
	CHECK_EQ_UINT(said.span_ns, UINT64_C(1000000000));
	/* Somebody else's trouble is a stall of its own. */
	CHECK_EQ_TEXT(window(log, &said, 3, 1, "peer-slow peer:x conn:1, link-down link:y conn:2"), "begin link-down");
	/* Both culprits at once are two, not a change. */
	CHECK_EQ_TEXT(
		window(log, &said, 4, 1, "peer-slow peer:x conn:1, link-down link:y conn:2, path-loss path:x conn:1"),
		"begin path-loss");
	CHECK_EQ_UINT(stall_log_count(log), 3);
	stall_log_free(log);
}

/* The same module with another sufferer and another cause goes on; another module with another sufferer does not. */
TEST(another_cause_at_the_same_module_is_a_change)
{
	struct said said = {};
	struct stall_log *log = stall_log_new(tell, &said);

	CHECK_EQ_TEXT(window(log, &said, 1, 1, "path-loss path:x conn:1"), "begin path-loss");
	CHECK_EQ_TEXT(window(log, &said, 2, 1, "path-latency path:x conn:2"), "change path-latency was path-loss");
	CHECK_EQ_TEXT(window(log, &said, 3, 1, "path-loss path:y conn:3"), "begin path-loss");
	CHECK_EQ_UINT(stall_log_count(log), 2);
	stall_log_free(log);
}

TEST(namespaces_do_not_mix)
{
	struct said said = {};
	struct stall_log *log = stall_log_new(tell, &said);

	CHECK_EQ_TEXT(window(log, &said, 1, 1, "path-loss path:x conn:1"), "begin path-loss");
	CHECK_EQ_TEXT(window(log, &said, 1, 2, "path-loss path:x conn:1"), "begin path-loss");
	/* Healthy windows of one do not end what goes on in the other. */
	CHECK_EQ_TEXT(window(log, &said, 2, 2, ""), "");
	CHECK_EQ_TEXT(window(log, &said, 3, 2, ""), "end path-loss");
	CHECK_EQ_UINT(stall_log_count(log), 1);
	said.text[0] = '\0';
	stall_log_leave(log, 1);
	CHECK_EQ_TEXT(said.text, "end path-loss");
	stall_log_free(log);
}
