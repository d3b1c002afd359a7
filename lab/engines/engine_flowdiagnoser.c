/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The baseline of 2012: FlowDiagnoser's crisp rules, without certainty. A module that is silent although it has work
 * either passes the blame down or keeps it. The layers have no cycles, so the merging of deadlocked groups is not
 * needed.
 */
#include "engine_flowdiagnoser.h"
#include "diagnose/infer/engine.h"
#include "engine_layers.h"

/* The algorithm knows yes and no. What it says is reported with this certainty. */
#define CERTAINTY 0.8

struct judgement {
	const struct layers *layers;
	enum layer_direction direction;
	struct flow_diagnosis *diagnosis;
};

static enum flow_state *state_of(struct judgement *j, const struct layer_node *node)
{
	return &j->diagnosis[node->place].of[j->direction];
}

static bool is_silent(const struct judgement *j, const struct layer_node *node)
{
	return !node->traffic[j->direction].moved;
}

static bool some_above_is_blocked(struct judgement *j, const struct layer_node *node)
{
	vec_each(&node->above, above)
		if (*state_of(j, *above) == FLOW_BLOCKED)
			return true;
	return false;
}

static bool can_pass_blame(const struct judgement *j, const struct layer_node *node)
{
	vec_each(&node->below, below)
		if (is_silent(j, *below))
			return true;
	return false;
}

static enum flow_state judge_node(struct judgement *j, const struct layer_node *node)
{
	bool has_work = node->layer == LAYER_SOCKET || some_above_is_blocked(j, node);

	if (!is_silent(j, node))
		return FLOW_HEALTHY;
	if (!has_work)
		return FLOW_DONT_CARE;
	if (layer_exports_wait(node->layer))
		return node->traffic[j->direction].waited ? FLOW_BLOCKED : FLOW_STALLED;
	return can_pass_blame(j, node) ? FLOW_BLOCKED : FLOW_STALLED;
}

/* One connection over a silent network cannot be distinguished from the network: then both are blamed. */
static void apply_threshold(struct judgement *j, const struct layer_node *network)
{
	unsigned stuck = 0;

	if (*state_of(j, network) != FLOW_STALLED)
		return;
	vec_each(&network->above, tcp)
		stuck += *state_of(j, *tcp) == FLOW_BLOCKED;
	vec_each(&network->above, tcp)
		if (stuck < FLOW_CONNECTIONS && *state_of(j, *tcp) == FLOW_BLOCKED)
			*state_of(j, *tcp) = FLOW_STALLED;
}

/* An application is as well as the best of its sockets. */
static enum flow_state sum_up(struct judgement *j, const struct layer_node *app)
{
	enum flow_state best = FLOW_STALLED;

	vec_each(&app->below, socket) {
		enum flow_state state = *state_of(j, *socket);

		if (state == FLOW_HEALTHY)
			return state;
		if (state == FLOW_BLOCKED)
			best = state;
	}
	return best;
}

static void judge_direction(struct judgement *j)
{
	vec_each(&j->layers->nodes, node)
		if ((*node)->layer != LAYER_APP)
			*state_of(j, *node) = judge_node(j, *node);
	vec_each(&j->layers->nodes, node) {
		if ((*node)->layer == LAYER_NETWORK)
			apply_threshold(j, *node);
		if ((*node)->layer == LAYER_APP)
			*state_of(j, *node) = sum_up(j, *node);
	}
}

struct flow_diagnosis *flowdiagnoser_judge(const struct layers *layers)
{
	struct judgement j = {
		.layers = layers,
		.diagnosis = xzalloc((layers->nodes.count + 1) * sizeof(*j.diagnosis)),
	};

	for (j.direction = 0; j.direction < LAYER_DIRECTIONS; j.direction++)
		judge_direction(&j);
	return j.diagnosis;
}

static struct verdict *judge(const struct knowledge *knowledge, struct graph *graph)
{
	_cleanup_(layers_freep) struct layers *layers = layers_of_graph(graph);
	_cleanup_free_ struct flow_diagnosis *diagnosis = flowdiagnoser_judge(layers);
	struct layer_accuser accuser;

	layer_accuser_begin(&accuser, "flowdiagnoser", knowledge, graph);
	for (size_t i = 0; i < layers->nodes.count; i++)
		for (unsigned d = 0; d < LAYER_DIRECTIONS; d++)
			if (diagnosis[i].of[d] == FLOW_STALLED)
				layer_accuse(&accuser, layers->nodes.items[i], (enum layer_direction)d, CERTAINTY,
					     "had work, was silent and did not wait for anything below");
	return layer_accuser_end(&accuser);
}

static const struct engine flowdiagnoser_engine = {
	.name = "flowdiagnoser",
	.summary = "the crisp rules of McCann's dissertation, to measure progress against",
	.judge = judge,
};
ENGINE(flowdiagnoser_engine);
