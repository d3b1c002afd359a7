/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine_layers.h"
#include "diagnose/measure/conn.h"

/*
 * The cause that a blamed module stands for, as far as those engines know: they see that something is silent, never
 * why. A silent connection is one whose packets vanish, a silent network is an outage.
 */
static const struct {
	const char *cause, *evidence, *name;
} meanings[LAYER_KINDS][LAYER_DIRECTIONS] = {
	[LAYER_APP] = {[LAYER_IN] = {"app-not-reading", "application-in", "the application"},
		       [LAYER_OUT] = {"app-not-sending", "application-out", "the application"}},
	[LAYER_SOCKET] = {[LAYER_IN] = {"app-not-reading", "socket-in", "the socket"},
			  [LAYER_OUT] = {"app-not-sending", "socket-out", "the socket"}},
	[LAYER_TCP] = {[LAYER_IN] = {"path-blackhole", "tcp-in", "the TCP connection"},
		       [LAYER_OUT] = {"path-blackhole", "tcp-out", "the TCP connection"}},
	[LAYER_NETWORK] = {[LAYER_IN] = {"path-outage", "network-in", "the network behind the interface"},
			   [LAYER_OUT] = {"path-outage", "network-out", "the network behind the interface"}},
};

struct accusation {
	const struct cause *cause;
	const struct module *accused;
};

void layer_accuser_begin(struct layer_accuser *accuser, const char *engine, const struct knowledge *knowledge,
			 struct graph *graph)
{
	*accuser = (struct layer_accuser){
		.knowledge = knowledge,
		.verdict = verdict_new(graph),
		.hypotheses = MAP_INIT(sizeof(struct accusation), sizeof(struct hypothesis *), 0),
		.family = engine,
	};
}

/* seen_at is a connection: it suffers, and what it leans on is accused. */
static void testify(struct layer_accuser *accuser, const struct layer_node *node, enum layer_direction direction,
		    struct module *seen_at, const struct evidence *evidence)
{
	const struct cause *cause = knowledge_find_cause(accuser->knowledge, meanings[node->layer][direction].cause);
	struct module *accused = cause ? seen_at->related[cause->accuses] : NULL;
	struct accusation key = {cause, accused};
	struct hypothesis **h;
	struct evidence own = *evidence;

	if (!accused)
		return;
	h = map_put(&accuser->hypotheses, &key, NULL);
	if (!*h)
		*h = verdict_add(accuser->verdict, cause, accused);
	own.seen_at = seen_at;
	own.text = xasprintf("%s of %s %s", meanings[node->layer][direction].name, seen_at->name, evidence->text);
	hypothesis_add_evidence(*h, &own);
	hypothesis_add_affected(*h, seen_at);
}

/* The connections through a node that this direction matters to. */
static void testify_below(struct layer_accuser *accuser, const struct layer_node *node, enum layer_direction direction,
			  const struct evidence *evidence)
{
	vec_each(&node->below, socket)
		if ((*socket)->traffic[direction].was_used)
			testify(accuser, node, direction, (*socket)->module, evidence);
}

static void testify_above(struct layer_accuser *accuser, const struct layer_node *node, enum layer_direction direction,
			  const struct evidence *evidence)
{
	vec_each(&node->above, tcp)
		if ((*tcp)->traffic[direction].was_used && !(*tcp)->traffic[direction].moved)
			testify(accuser, node, direction, (*tcp)->module, evidence);
}

void layer_accuse(struct layer_accuser *accuser, const struct layer_node *node, enum layer_direction direction,
		  double certainty, const char *saw)
{
	_cleanup_free_ char *text = xasprintf("%s, %s", saw, direction == LAYER_IN ? "inbound" : "outbound");
	struct evidence evidence = {
		.name = meanings[node->layer][direction].evidence,
		.family = accuser->family,
		.factor = certainty,
		.text = text,
	};

	if (!node->traffic[direction].was_used)
		return;
	if (node->layer == LAYER_APP)
		testify_below(accuser, node, direction, &evidence);
	else if (node->layer == LAYER_NETWORK)
		testify_above(accuser, node, direction, &evidence);
	else
		testify(accuser, node, direction, node->module, &evidence);
}

struct verdict *layer_accuser_end(struct layer_accuser *accuser)
{
	map_done(&accuser->hypotheses);
	verdict_weigh(accuser->verdict);
	return accuser->verdict;
}
