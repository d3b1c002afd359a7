/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings over windows: when one is confirmed, when it stays, when it ends. A window is 1 s, five samples. */
#include "scene.h"

/* What the next scene does, a character per window: x broken, - healthy. */
static const char *course;

static void follow_course(struct scene *s, unsigned sample)
{
	bool broken = course[sample ? (sample - 1) / 5 : 0] == 'x';

	/* The peer's window is smaller than the path holds. */
	send_well(s);
	s->tcp.rwnd_limited_ns += broken ? SAMPLE_NS / 10 * 9 : 0;
	s->tcp.snd_wnd = broken ? 17376 : 3000000;
	s->tcp.unacked = broken ? 12 : 30;
}

/* A character per window: F a finding, s something waits to be confirmed, - nothing. */
static const char *findings_of(const char *windows)
{
	static char seen[16];
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct diagnosis *diagnosis;
	struct why why = {};
	struct scene scene;
	size_t count = 0;

	course = windows;
	REQUIRE(knowledge_load(&knowledge, &why) == 0);
	diagnosis = diagnosis_new(knowledge);
	scene_begin(&scene);
	for (unsigned sample = 0; sample <= strlen(windows) * 5; sample++) {
		follow_course(&scene, sample);
		fill(snapshot, &scene, sample);
		window_add(window, snapshot);
		if (sample == 0 || sample % 5 != 0)
			continue;
		diagnosis_add_window(diagnosis, window_finish(window));
		seen[count++] = diagnosis_get(diagnosis)->findings.count > 0 ? 'F'
				: diagnosis_is_stirred(diagnosis)            ? 's'
									     : '-';
		CHECK(!diagnosis_is_settled(diagnosis));
	}
	seen[count] = '\0';
	diagnosis_free(diagnosis);
	unit_note("%s", windows);
	return seen;
}

TEST(two_windows_confirm_a_finding)
{
	CHECK_EQ_TEXT(findings_of("xxxx"), "sFFF");
	CHECK_EQ_TEXT(findings_of("-xx-"), "-sFF");
	/* Once is not enough, and what was there two windows ago confirms nothing. */
	CHECK_EQ_TEXT(findings_of("-x--"), "-s--");
	CHECK_EQ_TEXT(findings_of("x-x-"), "s-s-");
}

TEST(a_confirmed_finding_survives_one_window)
{
	/* It is carried over when two windows before agree; it need not be confirmed again after one. */
	CHECK_EQ_TEXT(findings_of("xx-x-x"), "sFFF-F");
	CHECK_EQ_TEXT(findings_of("xx----"), "sFF---");
	/* After two it is a new one. */
	CHECK_EQ_TEXT(findings_of("xx--xx"), "sFF-sF");
}
