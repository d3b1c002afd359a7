/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/drop_rule.h"

#include <stdio.h>
#include <string.h>

#include "snapshot/core/delta.h"
#include "snapshot/netlink/firewall.h"

#define NAME_MAX_LEN 160

/* As nft writes it. */
static const char *family_word(const struct firewall_rule_record *rule)
{
	for (uint32_t i = 0; i < firewall_rule_type.field_count; i++) {
		const struct field *field = &firewall_rule_type.fields[i];

		if (field->offset == offsetof(struct firewall_rule_record, nf_family))
			return enum_name_find(field->names, rule->nf_family) ?: "";
	}
	return "";
}

static void sample_rule(struct drop_rules *rules, const struct firewall_rule_record *record)
{
	struct drop_rule *rule;
	char name[NAME_MAX_LEN];
	bool is_new;
	uint64_t moved;

	rules->rejects |= record->verdict == VERDICT_REJECT;
	if (record->verdict != VERDICT_DROP && !record->unheard)
		return;
	rules->drops = true;
	snprintf(name, sizeof(name), "rule %llu of chain %s (table %s %s)", (unsigned long long)record->handle,
		 record->chain ?: "-", family_word(record), record->nf_table ?: "-");
	rule = map_put(&rules->rules, name, &is_new);
	if (!rule)
		return;
	rule->seen = true;
	if (record->packets == UINT64_MAX)
		return;
	moved = is_new ? (rules->begun ? record->packets : 0) : delta_between(rule->last, record->packets);
	rule->last = record->packets;
	rule->moved[0] += moved == UINT64_MAX ? 0 : moved;
}

void drop_rules_sample(struct drop_rules *rules, const struct snapshot *snapshot)
{
	map_done(&rules->policies);
	rules->rejects = rules->drops = false;
	snapshot_each(snapshot, firewall_rule_type, struct firewall_rule_record, rule)
		sample_rule(rules, rule);
	snapshot_each(snapshot, firewall_chain_type, struct firewall_chain_record, chain) {
		char name[NAME_MAX_LEN];
		uint8_t *hook;

		if (chain->policy != VERDICT_DROP || chain->hook == UINT8_MAX)
			continue;
		snprintf(name, sizeof(name), "the policy of chain %s (table %s)", chain->chain ?: "-",
			 chain->nf_table ?: "-");
		rules->drops = true;
		hook = map_put(&rules->policies, name, NULL);
		if (hook)
			*hook = chain->hook;
	}
	rules->begun = true;
}

void drop_rules_age(struct drop_rules *rules)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&rules->rules, &at, &key, &value)) {
		struct drop_rule *rule = value;

		memmove(&rule->moved[1], &rule->moved[0], sizeof(rule->moved) - sizeof(rule->moved[0]));
		rule->moved[0] = 0;
		if (!rule->seen)
			(void)map_remove(&rules->rules, key);
		rule->seen = false;
	}
}

void drop_rules_done(struct drop_rules *rules)
{
	map_done(&rules->rules);
	map_done(&rules->policies);
}

/* The counter closest to the flow's own drops; it may have dropped others as well, but nothing else did. */
static const char *closest_rule(const struct drop_rules *rules, uint64_t packets, uint64_t all)
{
	const char *best = NULL;
	uint64_t least = UINT64_MAX;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&rules->rules, &at, &key, &value)) {
		const struct drop_rule *rule = value;
		uint64_t moved = 0, apart;

		for (unsigned i = 0; i < DROP_RULE_KEEP; i++)
			moved += rule->moved[i];
		apart = moved > packets ? moved - packets : packets - moved;
		/* The counters and the drops are not read at the same moment. */
		if (moved == 0 || moved + moved / 4 + 2 < packets || moved > all + all / 4 + 2 || apart >= least)
			continue;
		least = apart;
		best = key;
	}
	return best;
}

static const char *only_policy(const struct drop_rules *rules, uint8_t hook)
{
	const char *only = NULL;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&rules->policies, &at, &key, &value)) {
		if (*(uint8_t *)value != hook)
			continue;
		if (only)
			return NULL;
		only = key;
	}
	return only;
}

void drop_rules_name(const struct drop_rules *rules, uint64_t packets, uint64_t all, uint8_t hook, char *text,
		     size_t size)
{
	const char *name = closest_rule(rules, packets, all);

	/* A rule that counts would have moved; one that does not may stand beside a policy. */
	if (!name && rules->rules.count == 0)
		name = only_policy(rules, hook);
	snprintf(text, size, "%s", name ?: "a firewall rule");
}
