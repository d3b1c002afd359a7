/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engines of 2011 and 2012 on layers made by hand. The figures of the tables' example were worked out on paper from
 * the published tables, edge by edge; the comments show the sums.
 */
#include "unit.h"

#include "../../lab/engines/engine_flowdiagnoser.h"
#include "../../lab/engines/engine_nest2011.h"
#include "diagnose/infer/diagnosis.h"

enum { A, B, S1, S2, S3, S4, T1, T2, T3, T4, NET, NODES };

struct picture {
	struct layers *layers;
	struct layer_node *of[NODES];
};

/* Two applications with two sockets each, a connection under each socket, one network. */
static struct picture draw(void)
{
	static const enum layer_kind kinds[NODES] = {LAYER_APP,    LAYER_APP,    LAYER_SOCKET, LAYER_SOCKET,
						     LAYER_SOCKET, LAYER_SOCKET, LAYER_TCP,    LAYER_TCP,
						     LAYER_TCP,    LAYER_TCP,    LAYER_NETWORK};
	struct picture p = {.layers = layers_new()};

	for (unsigned i = 0; i < NODES; i++)
		p.of[i] = layers_add(p.layers, kinds[i], NULL);
	for (unsigned i = 0; i < 4; i++) {
		layers_add_edge(p.of[i < 2 ? A : B], p.of[S1 + i]);
		layers_add_edge(p.of[S1 + i], p.of[T1 + i]);
		layers_add_edge(p.of[T1 + i], p.of[NET]);
	}
	return p;
}

/*
 * A waits to read from both of its sockets; what arrived for the second lies in its queue. B reads one of its two and
 * has forgotten the other, for which nothing comes.
 */
static struct picture draw_example(void)
{
	struct picture p = draw();

	for (unsigned i = A; i <= S2; i++)
		if (i != B)
			p.of[i]->traffic[LAYER_IN].waited = true;
	p.of[T2]->traffic[LAYER_IN].buffered = true;
	p.of[B]->traffic[LAYER_IN].moved = p.of[S3]->traffic[LAYER_IN].moved = true;
	p.of[T3]->traffic[LAYER_IN].moved = p.of[NET]->traffic[LAYER_IN].moved = true;
	return p;
}

TEST(the_tables_say_eleven_things_about_the_example)
{
	static const double want[NODES] = {
		[A] = -1,     /* waits: definitely not */
		[B] = -0.6,   /* active over S3: -0.6; over the idle S4: nothing */
		[S1] = -1,    /* waits */
		[S2] = -1,    /* waits */
		[S3] = -0.84, /* active below B -0.6, above T3 -0.6 */
		[S4] = 1,     /* idle below the active B: definitely */
		[T1] = 0.936, /* silent below a waiting socket 0.6, its queue empty 0.6, above an active network 0.6 */
		[T2] = 0.84,  /* the same with something in the queue: 0.6, 0.6 */
		[T3] = -0.84, /* active below S3 -0.6, above the network -0.6 */
		[T4] = -1,    /* nobody asks for it */
		[NET] = 0.1,  /* active, yet two above wait: 0.4 and 0.4 make 0.64; one is active: -0.6 */
	};
	struct picture p = draw_example();
	_cleanup_free_ struct nest2011_certainty *certainty = nest2011_judge(p.layers);

	for (unsigned i = 0; i < NODES; i++) {
		unit_note("node %u", i);
		CHECK_NEAR(certainty[i].of[LAYER_IN], want[i], 1e-9);
	}
	layers_free(p.layers);
}

/* The network falls silent, too: its two users that wait excuse each other. */
TEST(a_silent_network_takes_the_blame_off_its_users)
{
	struct picture p = draw_example();
	_cleanup_free_ struct nest2011_certainty *certainty = NULL;

	p.of[NET]->traffic[LAYER_IN].moved = p.of[T3]->traffic[LAYER_IN].moved = false;
	p.of[S3]->traffic[LAYER_IN].moved = p.of[B]->traffic[LAYER_IN].moved = false;
	certainty = nest2011_judge(p.layers);
	/* 0.6 and 0.6 as before, -0.6 from the silent network, -0.6 from the other: 0. */
	CHECK_NEAR(certainty[T1].of[LAYER_IN], 0, 1e-9);
	CHECK_NEAR(certainty[T2].of[LAYER_IN], -0.6, 1e-9);
	/* 0.6 from each that waits; T3 and T4 are nobody's business now. */
	CHECK_NEAR(certainty[NET].of[LAYER_IN], 0.84, 1e-9);
	layers_free(p.layers);
}

/* Outbound the upper module produces. A waits to write and nothing below moves. */
TEST(outbound_has_a_table_of_its_own)
{
	struct picture p = draw();
	_cleanup_free_ struct nest2011_certainty *certainty = NULL;

	p.of[A]->traffic[LAYER_OUT].waited = p.of[S1]->traffic[LAYER_OUT].waited = true;
	p.of[T1]->traffic[LAYER_OUT].buffered = p.of[T1]->traffic[LAYER_OUT].has_errors = true;
	p.of[NET]->traffic[LAYER_OUT].moved = true;
	certainty = nest2011_judge(p.layers);
	/* B has nothing to send and says so. */
	CHECK_NEAR(certainty[B].of[LAYER_OUT], 1, 0);
	CHECK_NEAR(certainty[S1].of[LAYER_OUT], -1, 0);
	/*
	 * As consumer of S1: silent 0.6, queue 0.6, errors 0.4, together 0.904; as producer for the active network:
	 * waiting ancestor 0.6, queue 0.6, errors 0.4, the same again.
	 */
	CHECK_NEAR(certainty[T1].of[LAYER_OUT], 1 - 0.096 * 0.096, 1e-9);
	layers_free(p.layers);
}

static const char *states(const struct picture *p, enum layer_direction direction)
{
	static const char letters[] = {
		[FLOW_DONT_CARE] = '-', [FLOW_HEALTHY] = 'h', [FLOW_BLOCKED] = 'b', [FLOW_STALLED] = 'S'};
	_cleanup_free_ struct flow_diagnosis *diagnosis = flowdiagnoser_judge(p->layers);
	static char text[NODES + 1];

	for (unsigned i = 0; i < NODES; i++)
		text[i] = letters[diagnosis[i].of[direction]];
	return text;
}

TEST(crisp_rules_pass_the_blame_down)
{
	struct picture p = draw_example();

	/*                                             A B S S S S T T T T N */
	CHECK_EQ_TEXT(states(&p, LAYER_IN), "bhbbhSSSh-h");
	/* All silent: with two that wait it is the network, with one it cannot be told. */
	p.of[NET]->traffic[LAYER_IN].moved = p.of[T3]->traffic[LAYER_IN].moved = false;
	p.of[S3]->traffic[LAYER_IN].moved = p.of[B]->traffic[LAYER_IN].moved = false;
	CHECK_EQ_TEXT(states(&p, LAYER_IN), "bSbbSSbb--S");
	p.of[S2]->traffic[LAYER_IN].waited = false;
	CHECK_EQ_TEXT(states(&p, LAYER_IN), "bSbSSSS---S");
	layers_free(p.layers);
}

TEST(engines_are_found_by_name)
{
	const struct engine *engine = NULL;
	struct why why = {};

	REQUIRE(engine_find(NULL, &engine, &why) == 0);
	CHECK_EQ_TEXT(engine->name, "rules");
	REQUIRE(engine_find("nest2011", &engine, &why) == 0);
	CHECK_EQ_TEXT(engine->name, "nest2011");
	REQUIRE(engine_find("flowdiagnoser", &engine, &why) == 0);
	CHECK_EQ_TEXT(engine->name, "flowdiagnoser");
	CHECK(engine_find("nest2012", &engine, &why) < 0);
	CHECK(strstr(why.text, "'nest2012'") && strstr(why.text, "flowdiagnoser"));
}
