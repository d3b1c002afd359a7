/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The baseline of 2011: the two tables of the NeST paper and its certainty factors. Each edge between two layers is
 * looked at with every pair of observations of the two modules it joins; the table's entry adds to what is known of
 * both. Its figures are the paper's and stay as they are: the engine is here to be measured against.
 */
#include <math.h>

#include "diagnose/infer/engine.h"
#include "diagnose/rules/certainty.h"
#include "engine_layers.h"
#include "engine_nest2011.h"

/* What can be seen of one direction of a module: one of the first six, and any of the rest. */
enum seen { SEEN_ACT, SEEN_NONE, SEEN_IDLE, SEEN_WAIT, SEEN_ANW, SEEN_IGN, SEEN_QZ, SEEN_QNZ, SEEN_ERR, SEEN_KINDS };

/* Tenths of a certainty: for the producer (who gives messages on), for the consumer. 0: nothing follows. */
struct entry {
	int8_t producer, consumer;
};

/* Row: what the producer shows, column: the consumer. The upper module produces outbound, the lower inbound. */
static const struct entry table_out[SEEN_KINDS][SEEN_KINDS] = {
	[SEEN_ACT] = {{-8, -6}, {-6, 6}, {-8, 10}, {-6, -10}, {-6, -6}, {-6, -10}, {-4, -4}, {0, 0}, {0, 4}},
	[SEEN_NONE] = {{6, -4}, {4, 4}, {0, 10}, {6, -10}, {0, -6}, {0, -10}, {4, -4}, {0, 0}, {0, 4}},
	[SEEN_IDLE] = {{10, -8}, {10, -8}, {10, 10}, {10, -10}, {6, -6}, {10, -10}, {0, -8}, {0, -4}, {0, 0}},
	[SEEN_WAIT] = {{-10, 4}, {-10, 8}, {-10, 10}, {-10, -10}, {-10, 6}, {0, -10}, {0, 8}, {0, 6}, {-4, 4}},
	[SEEN_ANW] = {{6, 4}, {-4, 6}, {-6, 6}, {-4, -10}, {-4, 6}, {0, -6}, {0, 6}, {0, 4}, {0, 0}},
	[SEEN_IGN] = {{-10, 0}, {-10, 0}, {-10, 0}, {-10, 0}, {-10, 0}, {-10, -10}, {0, 0}, {0, 0}, {0, 0}},
	[SEEN_QZ] = {{4, -4}, {4, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {4, -4}, {-4, 4}, {0, 0}},
	[SEEN_QNZ] = {{6, -4}, {4, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {-4, 4}},
	[SEEN_ERR] = {{4, 0}, {4, 4}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 6}},
};

static const struct entry table_in[SEEN_KINDS][SEEN_KINDS] = {
	[SEEN_ACT] = {{-6, -6}, {-4, 4}, {-8, 10}, {4, -10}, {4, 6}, {0, -10}, {0, 0}, {0, 0}, {4, 4}},
	[SEEN_NONE] = {{4, -4}, {4, 4}, {-6, 10}, {8, -10}, {6, -4}, {0, -10}, {4, -4}, {0, 0}, {0, 0}},
	[SEEN_IDLE] = {{10, 0}, {10, -6}, {10, 10}, {10, -10}, {10, -6}, {0, -10}, {6, -6}, {0, 0}, {0, 0}},
	[SEEN_WAIT] = {{-10, 0}, {-10, 0}, {-10, 10}, {-10, -10}, {-10, -4}, {0, -10}, {0, 0}, {0, 0}, {0, 0}},
	[SEEN_ANW] = {{-6, 0}, {-6, 0}, {-6, 6}, {6, -10}, {6, -6}, {0, -10}, {0, 0}, {0, 0}, {0, 0}},
	[SEEN_IGN] = {{-10, 0}, {-10, 0}, {-10, 0}, {-10, 0}, {-10, -6}, {-10, -10}, {0, 0}, {0, 0}, {0, 0}},
	[SEEN_QZ] = {{0, 0}, {4, 0}, {-6, 8}, {6, 0}, {4, 0}, {0, 0}, {0, -4}, {0, 0}, {0, 0}},
	[SEEN_QNZ] = {{0, 0}, {-4, 6}, {-8, 6}, {0, 0}, {0, 0}, {0, 0}, {-4, 4}, {0, 0}, {0, 0}},
	[SEEN_ERR] = {{6, 0}, {6, -4}, {0, 0}, {6, -4}, {4, 0}, {0, 0}, {0, 0}, {0, 0}, {6, 4}},
};

/* Several blocked users of one blocked module are not each to blame. More of them say no more. */
#define CO_PARENT      -0.6
#define CO_PARENTS_MAX 20

/* What a node shows in one direction. */
struct observation {
	enum seen seen[3]; /* activity, queue, errors */
	unsigned count;
	bool above_waits; /* a module above waits */
	bool above_idle;  /* all modules above it are idle or ignored */
};

static enum seen activity_of(const struct layer_node *node, const struct layer_traffic *traffic,
			     const struct observation *o)
{
	if (traffic->moved)
		return SEEN_ACT;
	if (layer_exports_wait(node->layer))
		return traffic->waited ? SEEN_WAIT : SEEN_IDLE;
	return o->above_waits ? SEEN_ANW : o->above_idle ? SEEN_IGN : SEEN_NONE;
}

/* From the top down: what is above a node has been looked at before it. */
static void observe(const struct layer_node *node, enum layer_direction direction, struct observation *all)
{
	const struct layer_traffic *traffic = &node->traffic[direction];
	struct observation *o = &all[node->place];

	o->above_idle = true;
	vec_each(&node->above, above) {
		const struct observation *upper = &all[(*above)->place];

		o->above_waits = o->above_waits || upper->above_waits || upper->seen[0] == SEEN_WAIT;
		o->above_idle = o->above_idle && (upper->seen[0] == SEEN_IDLE || upper->seen[0] == SEEN_IGN);
	}
	o->seen[o->count++] = activity_of(node, traffic, o);
	/* A queue seen once says little: only that of a silent module is looked at. Only TCP has one. */
	if (node->layer == LAYER_TCP && !traffic->moved)
		o->seen[o->count++] = traffic->buffered ? SEEN_QNZ : SEEN_QZ;
	if (traffic->has_errors)
		o->seen[o->count++] = SEEN_ERR;
}

static void add(double *certainty, int8_t tenths)
{
	if (tenths)
		*certainty = certainty_combine(*certainty, tenths / 10.0);
}

static void judge_edge(const struct observation *upper, const struct observation *lower, enum layer_direction direction,
		       double *of_upper, double *of_lower)
{
	for (unsigned i = 0; i < upper->count; i++)
		for (unsigned j = 0; j < lower->count; j++) {
			const struct entry *e = direction == LAYER_OUT ? &table_out[upper->seen[i]][lower->seen[j]]
								       : &table_in[lower->seen[j]][upper->seen[i]];

			add(of_upper, direction == LAYER_OUT ? e->producer : e->consumer);
			add(of_lower, direction == LAYER_OUT ? e->consumer : e->producer);
		}
}

static bool is_blocked(const struct observation *o)
{
	return o->seen[0] == SEEN_WAIT || o->seen[0] == SEEN_ANW || o->seen[0] == SEEN_NONE;
}

static void absolve_co_parents(const struct layers *layers, enum layer_direction direction,
			       const struct observation *all, struct nest2011_certainty *certainty)
{
	for (size_t i = 0; i < layers->nodes.count; i++) {
		const struct layer_node *node = layers->nodes.items[i];
		unsigned blocked = 0;

		if (!is_blocked(&all[i]))
			continue;
		vec_each(&node->above, above)
			blocked += is_blocked(&all[(*above)->place]);
		vec_each(&node->above, above) {
			size_t at = (*above)->place;

			for (unsigned other = 1; is_blocked(&all[at]) && other < blocked && other < CO_PARENTS_MAX;
			     other++)
				certainty[at].of[direction] = certainty_combine(certainty[at].of[direction], CO_PARENT);
		}
	}
}

static void judge_direction(const struct layers *layers, enum layer_direction direction,
			    struct nest2011_certainty *certainty)
{
	_cleanup_free_ struct observation *all = xzalloc((layers->nodes.count + 1) * sizeof(*all));

	vec_each(&layers->nodes, node)
		observe(*node, direction, all);
	for (size_t i = 0; i < layers->nodes.count; i++)
		vec_each(&layers->nodes.items[i]->below, below) {
			size_t j = (*below)->place;

			judge_edge(&all[i], &all[j], direction, &certainty[i].of[direction],
				   &certainty[j].of[direction]);
		}
	absolve_co_parents(layers, direction, all, certainty);
}

struct nest2011_certainty *nest2011_judge(const struct layers *layers)
{
	struct nest2011_certainty *certainty = xzalloc((layers->nodes.count + 1) * sizeof(*certainty));

	for (unsigned direction = 0; direction < LAYER_DIRECTIONS; direction++)
		judge_direction(layers, (enum layer_direction)direction, certainty);
	return certainty;
}

static struct verdict *judge(const struct knowledge *knowledge, struct graph *graph)
{
	_cleanup_(layers_freep) struct layers *layers = layers_of_graph(graph);
	_cleanup_free_ struct nest2011_certainty *certainty = nest2011_judge(layers);
	struct layer_accuser accuser;

	layer_accuser_begin(&accuser, "nest2011", knowledge, graph);
	for (size_t i = 0; i < layers->nodes.count; i++)
		for (unsigned d = 0; d < LAYER_DIRECTIONS; d++)
			if (certainty[i].of[d] > 0)
				layer_accuse(&accuser, layers->nodes.items[i], (enum layer_direction)d,
					     certainty[i].of[d], "was silent where its neighbours were not, or waited");
	return layer_accuser_end(&accuser);
}

static const struct engine nest2011_engine = {
	.name = "nest2011",
	.summary = "the tables of the NeST paper, to measure progress against",
	.judge = judge,
};
ENGINE(nest2011_engine);
