/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "diagnose/rules/certainty.h"
#include "diagnose/rules/knowledge.h"
#include "sample.h"

/* --- the causes that are built in --- */

/* The fixed vocabulary in its order: what other programs rely on. */
static const struct {
	const char *layer;
	const char *names; /* between blanks */
} vocabulary[] = {
	{"application", "app-not-reading app-not-sending app-out-of-fds"},
	{"host",
	 "cpu-starved cgroup-throttled cgroup-frozen tcp-memory softirq-overload ports-exhausted timewait-overflow"},
	{"listener", "accept-queue-full syn-queue-full"},
	{"socket", "send-buffer-small receive-buffer-small nagle-delayed-ack corked idle-restart udp-receive-overflow"},
	{"queue", "qdisc-drops qdisc-backlog qdisc-shaper"},
	{"filter", "firewall-drop firewall-reject tc-drop conntrack-full conntrack-invalid"},
	{"interface", "link-down no-carrier link-flapping interface-errors mtu-mismatch"},
	{"route", "no-route route-blackhole rp-filter"},
	{"neighbour", "neighbour-failed"},
	{"tunnel", "tunnel-stalled tunnel-mtu"},
	{"path",
	 "path-loss path-blackhole path-mtu path-congestion path-policed path-reordering path-latency path-outage"},
	{"peer",
	 "peer-not-reading peer-window-small peer-slow peer-refused peer-reset peer-not-accepting connect-dropped"},
	{"resolver", "dns-slow dns-dead"},
};

static struct knowledge *load(void)
{
	struct knowledge *knowledge = NULL;
	struct why why = {};

	if (!CHECK_OK(knowledge_load(&knowledge, &why))) {
		printf("# %s\n", why.text);
		unit_stop();
	}
	return knowledge;
}

TEST(every_cause_of_the_vocabulary_is_there_in_its_layer_and_no_other)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = load();
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(vocabulary); i++) {
		const char *at = vocabulary[i].names;

		while (*at) {
			size_t n = strcspn(at, " ");
			_cleanup_free_ char *name = xstrndup(at, n);

			unit_note("%s", name);
			REQUIRE(count < knowledge->causes.count);
			CHECK_EQ_TEXT(knowledge->causes.items[count]->name, name);
			CHECK_EQ_TEXT(knowledge->causes.items[count]->layer, vocabulary[i].layer);
			CHECK(knowledge_find_cause(knowledge, name) == knowledge->causes.items[count]);
			count++;
			at += n + (at[n] == ' ');
		}
	}
	CHECK_EQ_UINT(count, 54);
	CHECK_EQ_UINT(knowledge->causes.count, count);
}

TEST(a_cause_accuses_a_module_of_its_layer)
{
	static const struct {
		const char *layer;
		const char *kinds;
	} layers[] = {
		{"application", " app "},   {"host", " host app cgroup "},
		{"listener", " listener "}, {"socket", " conn udp "},
		{"queue", " qdisc "},       {"filter", " filter "},
		{"interface", " link "},    {"route", " route "},
		{"neighbour", " neigh "},   {"tunnel", " tunnel "},
		{"path", " path "},         {"peer", " peer "},
		{"resolver", " resolver "},
	};
	_cleanup_(knowledge_freep) struct knowledge *knowledge = load();

	vec_each(&knowledge->causes, at) {
		const struct cause *cause = *at;
		_cleanup_free_ char *kind = xasprintf(" %s ", module_kind_name(cause->accuses));
		size_t i;

		unit_note("%s", cause->name);
		for (i = 0; i < ARRAY_SIZE(layers) && strcmp(layers[i].layer, cause->layer) != 0; i++)
			;
		REQUIRE(i < ARRAY_SIZE(layers));
		CHECK_HAS_TEXT(layers[i].kinds, kind);
	}
}

static unsigned count_sentences(const char *text)
{
	unsigned count = 0;

	for (const char *p = text; *p; p++)
		count += (*p == '.' || *p == '?') && (p[1] == ' ' || p[1] == '\0');
	return count;
}

static bool is_next_field(const char *at)
{
	static const char *const fields[] = {"{raddr}", "{rport}", "{laddr}", "{lport}",
					     "{pid}",   "{comm}",  "{dev}",   "{tunnel_pid}"};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strncmp(at, fields[i], strlen(fields[i])) == 0)
			return true;
	return false;
}

static void check_command(const char *command)
{
	unsigned quotes = 0;

	unit_note("%s", command);
	CHECK(strncmp(command, "nest ", 5) == 0);
	for (const char *p = command; *p; p++) {
		quotes += *p == '\'';
		if (*p == '{')
			CHECK(is_next_field(p));
	}
	CHECK(quotes % 2 == 0);
}

TEST(the_text_of_every_cause_is_whole)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = load();

	vec_each(&knowledge->causes, at) {
		const struct cause *cause = *at;
		unsigned means = count_sentences(cause->means), advice = count_sentences(cause->advice);

		unit_note("%s", cause->name);
		CHECK(cause->summary[0] >= 'a' && cause->summary[0] <= 'z');
		CHECK(cause->summary[strlen(cause->summary) - 1] != '.' && strlen(cause->summary) <= 90);
		CHECK(means >= 3 && means <= 6);
		CHECK(advice >= 2 && advice <= 5);
		CHECK(cause->next.count >= 1 && cause->next.count <= 3);
		CHECK(strncmp(cause->origin, "causes.rules:", 13) == 0);
		vec_each(&cause->next, step)
			check_command(step->command);
	}
}

TEST(every_built_in_rule_can_be_found_and_points_at_a_cause)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = load();

	CHECK(knowledge->rules.count > 0);
	vec_each(&knowledge->rules, rule) {
		unit_note("%s", (*rule)->name);
		CHECK(knowledge_find_rule(knowledge, (*rule)->name) == *rule);
		CHECK((*rule)->suggests.count > 0);
		vec_each(&(*rule)->suggests, cause)
			CHECK(knowledge_find_cause(knowledge, (*cause)->name) == *cause);
	}
	CHECK(!knowledge_find_rule(knowledge, "no-such-rule"));
	CHECK(!knowledge_find_cause(knowledge, "no-such-cause"));
}

/* --- what the parser takes --- */

#define CAUSE_TEXT                                                                                                     \
	"cause slow-lift\n"                                                                                            \
	"layer: peer\n"                                                                                                \
	"accuses: peer\n"                                                                                              \
	"severity: low\n"                                                                                              \
	"summary: moves slowly\n"                                                                                      \
	"means: It moves slowly.\n"                                                                                    \
	"advice: Take the stairs.\n"                                                                                   \
	"next: nest sockets --where 'raddr == {raddr}'\n"
#define RULE_TEXT                                                                                                      \
	"rule lift-stands\n"                                                                                           \
	"about: conn\n"                                                                                                \
	"when: mss > 100B\n"                                                                                           \
	"suggests: slow-lift\n"                                                                                        \
	"certainty: 0.5\n"                                                                                             \
	"family: lift\n"                                                                                               \
	"because: {raddr} stands at {mss}\n"
/* The rule begins in line 10. */
#define GOOD_TEXT CAUSE_TEXT "\n" RULE_TEXT

static struct knowledge *empty(void)
{
	return xzalloc(sizeof(struct knowledge));
}

static int add(struct knowledge *knowledge, const char *text, struct why *why)
{
	int r = knowledge_add_text(knowledge, "site.rules", text, why);

	if (r < 0)
		printf("# %s\n", why->text);
	return r;
}

TEST(a_cause_and_a_rule_are_read)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	const struct cause *cause;
	const struct rule *rule;
	struct why why = {};

	CHECK_OK(add(knowledge, "# a comment\n\n\n" GOOD_TEXT, &why));
	REQUIRE(knowledge->causes.count == 1 && knowledge->rules.count == 1);
	cause = knowledge_find_cause(knowledge, "slow-lift");
	rule = knowledge_find_rule(knowledge, "lift-stands");
	REQUIRE(cause && rule);
	CHECK_EQ_TEXT(cause->layer, "peer");
	CHECK_EQ_INT(cause->accuses, MODULE_PEER);
	CHECK_EQ_TEXT(severity_name(cause->severity), "low");
	CHECK_EQ_TEXT(cause->summary, "moves slowly");
	CHECK_EQ_TEXT(cause->means, "It moves slowly.");
	CHECK_EQ_TEXT(cause->advice, "Take the stairs.");
	CHECK_EQ_UINT(cause->next.count, 1);
	CHECK_EQ_TEXT(cause->next.items[0].command, "nest sockets --where 'raddr == {raddr}'");
	CHECK_EQ_TEXT(cause->origin, "site.rules:4");
	CHECK(rule->about == module_scope_find(MODULE_CONN));
	CHECK_EQ_TEXT(rule->when_text, "mss > 100B");
	CHECK(rule->when && rule->suggests.count == 1 && rule_suggests(rule, cause));
	CHECK_NEAR(rule->certainty, 0.5, 0);
	CHECK_EQ_TEXT(rule->family, "lift");
	CHECK_EQ_TEXT(rule->because, "{raddr} stands at {mss}");
	CHECK_EQ_TEXT(rule->origin, "site.rules:13");
}

/* The good text with its one `from` made `to`. */
static char *changed(const char *from, const char *to)
{
	const char *at = strstr(GOOD_TEXT, from);

	REQUIRE(at && !strstr(at + 1, from));
	return xasprintf("%.*s%s%s", (int)(at - GOOD_TEXT), GOOD_TEXT, to, at + strlen(from));
}

TEST(evidence_against_a_cause_may_leave_a_note)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	_cleanup_free_ char *text = changed("certainty: 0.5", "certainty: -0.5\nseverity: info");
	struct why why = {};

	CHECK_OK(add(knowledge, text, &why));
	REQUIRE(knowledge->rules.count == 1);
	CHECK(knowledge->rules.items[0]->leaves_note);
}

TEST(ways_of_writing_that_mean_the_same)
{
	static const struct {
		const char *from, *to;
		const char *means;
	} cases[] = {
		{"means: It moves slowly.", "means: It moves\n\tslowly.", "It moves slowly."},
		{"means: It moves slowly.", "means: It\n  moves   \n \t slowly.  ", "It moves slowly."},
		{"means: It moves slowly.", "means:It moves slowly.", "It moves slowly."},
		{"means: It moves slowly.", "means:\n\tIt moves slowly.", "It moves slowly."},
		{"means: It moves slowly.", "# between\nmeans: It moves\n# inside\n\tslowly.", "It moves slowly."},
		{"means: It moves slowly.", "means: It: moves slowly.\r", "It: moves slowly."},
		{"\n\nrule", "\n \t \n\n\nrule", "It moves slowly."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
		_cleanup_free_ char *text = changed(cases[i].from, cases[i].to);
		struct why why = {};

		unit_note("%s", cases[i].to);
		if (CHECK_OK(add(knowledge, text, &why))) {
			CHECK_EQ_TEXT(knowledge->causes.items[0]->means, cases[i].means);
			CHECK_EQ_UINT(knowledge->rules.count, 1);
		}
	}
}

TEST(no_text_is_no_knowledge)
{
	static const char *const texts[] = {"", "\n", "# only a remark", "#\n\n   \n\t\n#"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
		struct why why = {};

		CHECK_OK(add(knowledge, texts[i], &why));
		CHECK_EQ_UINT(knowledge->causes.count + knowledge->rules.count, 0);
	}
}

TEST(only_facts_are_certain)
{
	static const struct {
		const char *text;
		double want;
	} cases[] = {
		{"certainty: 1", 1},
		{"certainty: -1", -1},
		{"certainty: 0.99", CERTAINTY_CLAMP},
		{"certainty: -0.99", -CERTAINTY_CLAMP},
		{"certainty: 0.95", 0.95},
		{"certainty: 0.01", 0.01},
		{"certainty: -0.6", -0.6},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
		_cleanup_free_ char *text = changed("certainty: 0.5", cases[i].text);
		struct why why = {};

		unit_note("%s", cases[i].text);
		if (CHECK_OK(add(knowledge, text, &why)))
			CHECK_NEAR(knowledge->rules.items[0]->certainty, cases[i].want, 1e-12);
	}
}

/* --- what it refuses --- */

struct refusal {
	const char *from, *to;
	const char *place;
	const char *reason;
};

static void check_refusals(const struct refusal *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
		_cleanup_free_ char *text = changed(cases[i].from, cases[i].to);
		struct why why = {};

		unit_note("%s -> %s", cases[i].from, cases[i].to);
		CHECK_ERR(knowledge_add_text(knowledge, "site.rules", text, &why), -EINVAL);
		CHECK(strncmp(why.text, cases[i].place, strlen(cases[i].place)) == 0);
		CHECK_HAS_TEXT(why.text, cases[i].reason);
		CHECK_EQ_UINT(knowledge->rules.count, 0);
		/* Without anybody to tell it to. */
		CHECK_ERR(knowledge_add_text(knowledge, "site.rules", text, NULL), -EINVAL);
	}
}

TEST(a_wrong_cause_is_refused_with_place_and_reason)
{
	static const struct refusal cases[] = {
		{"summary:", "sumary:", "site.rules:5: ", "'sumary' is not known here; did you mean summary?"},
		{"advice:", "because:", "site.rules:7: ", "'because' is not known here"},
		{"severity: low", "severity: low\nlayer: path", "site.rules:5: ", "'layer' is given twice"},
		{"layer: peer\n", "", "site.rules:1: ", "cause slow-lift has no 'layer'"},
		{"accuses: peer\n", "", "site.rules:1: ", "has no 'accuses'"},
		{"severity: low\n", "", "site.rules:1: ", "has no 'severity'"},
		{"summary: moves slowly\n", "", "site.rules:1: ", "has no 'summary'"},
		{"means: It moves slowly.\n", "", "site.rules:1: ", "has no 'means'"},
		{"advice: Take the stairs.\n", "", "site.rules:1: ", "has no 'advice'"},
		{"means: It moves slowly.", "means:", "site.rules:1: ", "has no 'means'"},
		{"accuses: peer", "accuses: lift", "site.rules:1: ", "there is no kind of module called 'lift'"},
		{"severity: low", "severity: grave", "site.rules:1: ", "low, medium or high, not 'grave'"},
		{"severity: low", "severity: LOW", "site.rules:1: ", "low, medium or high, not 'LOW'"},
		{"next: nest sockets --where 'raddr == {raddr}'", "next:", "site.rules:8: ", "there is no command"},
		{"next: nest", "next: [mss > 1kB", "site.rules:8: ", "a [ is never closed"},
		{"next: nest", "next: [floor > 3] nest", "site.rules:8: ", "[floor > 3]: "},
		{"next: nest sockets --where 'raddr == {raddr}'", "next: [mss > 1kB]",
		 "site.rules:8: ", "there is no command"},
		{"advice: Take the stairs.", "advice: Take {the stairs.", "site.rules:7: ", "a { is never closed"},
		{"{raddr}'\n", "{raddr'\n", "site.rules:8: ", "a { is never closed"},
		{"layer: peer\n", "layer peer\n", "site.rules:2: ", "expected 'key: value'"},
	};

	check_refusals(cases, ARRAY_SIZE(cases));
}

TEST(a_wrong_rule_is_refused_with_place_and_reason)
{
	static const struct refusal cases[] = {
		{"family:", "familiy:", "site.rules:15: ", "'familiy' is not known here; did you mean family?"},
		{"family: lift", "next: nest tcpwin", "site.rules:15: ", "'next' is not known here"},
		{"family: lift", "family: lift\nfamily: lift", "site.rules:16: ", "'family' is given twice"},
		{"about: conn\n", "", "site.rules:10: ", "rule lift-stands has no 'about'"},
		{"when: mss > 100B\n", "", "site.rules:10: ", "has no 'when'"},
		{"suggests: slow-lift\n", "", "site.rules:10: ", "has no 'suggests'"},
		{"certainty: 0.5\n", "", "site.rules:10: ", "has no 'certainty'"},
		{"family: lift\n", "", "site.rules:10: ", "has no 'family'"},
		{"because: {raddr} stands at {mss}\n", "", "site.rules:10: ", "has no 'because'"},
		{"about: conn", "about: lift", "site.rules:11: ", "there are no measures of 'lift'"},
		{"suggests: slow-lift", "suggests: slow-lfit",
		 "site.rules:13: ", "there is no cause 'slow-lfit'; did you mean slow-lift?"},
		{"suggests: slow-lift", "suggests: dns-dead", "site.rules:13: ", "there is no cause 'dns-dead'"},
		{"certainty: 0.5", "certainty: 0", "site.rules:14: ", "a number from -1 to 1 and not 0"},
		{"certainty: 0.5", "certainty: 2", "site.rules:14: ", "a number from -1 to 1 and not 0"},
		{"certainty: 0.5", "certainty: -1.01", "site.rules:14: ", "a number from -1 to 1 and not 0"},
		{"certainty: 0.5", "certainty: abc", "site.rules:14: ", "a number from -1 to 1 and not 0"},
		{"certainty: 0.5", "certainty: nan", "site.rules:14: ", "a number from -1 to 1 and not 0"},
		{"family: lift", "family: lift\nseverity: info",
		 "site.rules:16: ", "is info, and its certainty negative"},
		{"family: lift", "family: lift\nseverity: low",
		 "site.rules:16: ", "is info, and its certainty negative"},
		{"because: {raddr} stands at {mss}", "because: {raddr} stands at {mss",
		 "site.rules:10: ", "a { is never closed in lift-stands"},
		{"because: {raddr} stands at {mss}", "because: {floor} is full",
		 "site.rules:10: ", "{floor} is not a measure of what rule lift-stands is about"},
		{"because: {raddr} stands at {mss}", "because: {} is full", "site.rules:10: ", "{} is not a measure"},
	};

	check_refusals(cases, ARRAY_SIZE(cases));
}

TEST(a_wrong_condition_is_pointed_at)
{
	static const struct refusal cases[] = {
		{"when: mss > 100B", "when: mss >", "site.rules:12: ", "\n  mss >\n       ^"},
		{"when: mss > 100B", "when: msss > 100B", "site.rules:12: ", "\n  msss > 100B\n  ^~~~"},
		{"when: mss > 100B", "when: mss > 100B\n\tand raddr == tuesday",
		 "site.rules:12: ", "\n  mss > 100B and raddr == tuesday\n                          ^~~~~~~"},
	};

	check_refusals(cases, ARRAY_SIZE(cases));
}

TEST(wrong_paragraphs_are_refused)
{
#define SIXTY "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"
	static const struct refusal cases[] = {
		{"cause slow-lift\n", "cause slow-lift\n\tand more\n",
		 "site.rules:2: ", "there is no line before this one to continue"},
		{"cause slow-lift\n", "\tcause slow-lift\n", "site.rules:1: ", "a paragraph begins with"},
		{"cause slow-lift\n", "",
		 "site.rules:1: ", "a paragraph begins with 'cause NAME', 'rule NAME' or 'page NAME'"},
		{"cause slow-lift\n", "reason slow-lift\n", "site.rules:1: ", "a paragraph begins with"},
		{"cause slow-lift\n", "cause\n", "site.rules:1: ", "a paragraph begins with"},
		{"cause slow-lift\n", "causes slow-lift\n", "site.rules:1: ", "a paragraph begins with"},
		{"advice: Take", "\nadvice: Take", "site.rules:1: ", "cause slow-lift has no 'advice'"},
		{"cause slow-lift\n", "cause Slow-lift\n", "site.rules:1: ", "lowercase letters, digits and dashes"},
		{"cause slow-lift\n", "cause slow_lift\n", "site.rules:1: ", "lowercase letters, digits and dashes"},
		{"cause slow-lift\n", "cause slow lift\n", "site.rules:1: ", "lowercase letters, digits and dashes"},
		{"cause slow-lift\n", "cause slow-l\xc3\xaft\n",
		 "site.rules:1: ", "lowercase letters, digits and dashes"},
		{"cause slow-lift\n", "cause " SIXTY "g\n", "site.rules:1: ", "lowercase letters, digits and dashes"},
		{"rule lift-stands\n", "rule lift.stands\n", "site.rules:10: ", "lowercase letters, digits and dashes"},
		{"\n\nrule", "\n\n" CAUSE_TEXT "\nrule", "site.rules:10: ", "cause slow-lift exists already"},
	};
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	_cleanup_free_ char *longest = xasprintf("%s\nrule " SIXTY "\n%s", CAUSE_TEXT, strchr(RULE_TEXT, '\n') + 1);
	struct why why = {};

	check_refusals(cases, ARRAY_SIZE(cases));
	CHECK_OK(add(knowledge, longest, &why));
}

static const char other_cause[] = "cause late-lift\nlayer: peer\naccuses: peer\nseverity: low\n"
				  "summary: s\nmeans: m\nadvice: a\n";

#define PAGE(name, explains) "\npage " name "\nblind: b\nexplains: " explains "\n"

TEST(a_cause_explains_others)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	const struct cause *slow, *late;
	struct why why = {};

	CHECK_OK(add(knowledge, GOOD_TEXT, &why));
	CHECK_OK(knowledge_add_text(knowledge, "other.rules", other_cause, &why));
	CHECK_OK(knowledge_add_text(knowledge, "site.rules", PAGE("slow-lift", "late-lift"), &why));
	slow = knowledge_find_cause(knowledge, "slow-lift");
	late = knowledge_find_cause(knowledge, "late-lift");
	CHECK(cause_explains(slow, late));
	CHECK(!cause_explains(late, slow));
	CHECK_ERR(knowledge_add_text(knowledge, "site.rules", PAGE("late-lift", "slow-lift"), &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "site.rules:4: late-lift and slow-lift explain each other");
}

TEST(what_a_cause_cannot_explain)
{
	static const struct {
		const char *explains, *message;
	} cases[] = {{"slow-lift", "site.rules:4: slow-lift and slow-lift explain each other"},
		     {"late-lift, slow-lifts", "site.rules:4: there is no cause 'slow-lifts'; did you mean slow-lift?"},
		     {"", "site.rules:4: there is no cause ''"}};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
		_cleanup_free_ char *text = xasprintf(PAGE("slow-lift", "%s"), cases[i].explains);
		struct why why = {};

		CHECK_OK(add(knowledge, GOOD_TEXT, &why));
		CHECK_OK(knowledge_add_text(knowledge, "other.rules", other_cause, &why));
		CHECK_ERR(knowledge_add_text(knowledge, "site.rules", text, &why), -EINVAL);
		CHECK_EQ_TEXT(why.text, cases[i].message);
	}
}

TEST(a_name_is_given_once)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	struct why why = {};

	CHECK_OK(add(knowledge, GOOD_TEXT, &why));
	CHECK_ERR(knowledge_add_text(knowledge, "second.rules", CAUSE_TEXT, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "second.rules:1: cause slow-lift exists already");
	CHECK_ERR(knowledge_add_text(knowledge, "second.rules", "\n" RULE_TEXT, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "second.rules:2: rule lift-stands exists already");
	CHECK_EQ_UINT(knowledge->causes.count, 1);
	CHECK_EQ_UINT(knowledge->rules.count, 1);
}

TEST(a_message_does_not_pass_on_control_characters)
{
	static const struct refusal cases[] = {
		{"accuses: peer", "accuses: \033[2Jlift", "site.rules:1: ", "'\\x1b[2Jlift'"},
		{"severity: low", "severity: \alow", "site.rules:1: ", "'\\x07low'"},
		{"summary:", "summ\033ry:", "site.rules:5: ", "'summ\\x1bry'"},
		{"about: conn", "about: \033[31mconn", "site.rules:11: ", "'\\x1b[31mconn'"},
		{"suggests: slow-lift", "suggests: slow\033lift", "site.rules:13: ", "'slow\\x1blift'"},
		{"because: {raddr}", "because: {ra\033ddr}", "site.rules:10: ", "{ra\\x1bddr}"},
		{"when: mss", "when: m\033ss", "site.rules:12: ", "m\\x1bss"},
	};

	check_refusals(cases, ARRAY_SIZE(cases));
}

TEST(a_text_beyond_all_reason_is_refused)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	size_t size = ((size_t)4 << 20) + 1;
	_cleanup_free_ char *text = xmalloc(size + 1);
	struct why why = {};

	memset(text, '#', size);
	text[size] = '\0';
	CHECK_ERR(knowledge_add_text(knowledge, "big.rules", text, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "big.rules: longer than 4194304 bytes");
	text[size - 1] = '\0';
	CHECK_OK(knowledge_add_text(knowledge, "big.rules", text, &why));
}

TEST(a_value_of_very_many_lines_is_read_in_no_time)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	_cleanup_buf_ struct buf text = BUF_INIT(0);
	const size_t lines = 1000000;
	struct why why = {};

	buf_add_text(&text, CAUSE_TEXT);
	for (size_t i = 0; i < lines; i++)
		buf_add_text(&text, "\tx\n");
	CHECK_OK(add(knowledge, buf_text(&text), &why));
	REQUIRE(knowledge->causes.count == 1 && knowledge->causes.items[0]->next.count == 1);
	CHECK_EQ_UINT(strlen(knowledge->causes.items[0]->next.items[0].command),
		      strlen("nest sockets --where 'raddr == {raddr}'") + 2 * lines);
}

/* --- directories --- */

struct site {
	char dir[32];
};

static void site_make(struct site *site)
{
	*site = (struct site){"/tmp/nest-rules-XXXXXX"};
	REQUIRE(mkdtemp(site->dir));
}

static void site_write(const struct site *site, const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", site->dir, name);
	FILE *file = fopen(path, "w");

	REQUIRE(file);
	CHECK_EQ_UINT(fwrite(data, 1, n, file), n);
	CHECK_OK(fclose(file));
}

/* Takes the directory away again; the names are those that were written. */
static void site_remove(const struct site *site, const char *const *names)
{
	for (; *names; names++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", site->dir, *names);

		CHECK_OK(unlink(path));
	}
	CHECK_OK(rmdir(site->dir));
}

TEST(a_directory_that_is_not_there_or_holds_nothing)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	static const char *const names[] = {"notes.txt", ".rules", ".hidden.rules", "old.rules~", NULL};
	struct site site;
	struct why why = {};

	CHECK_ERR(knowledge_add_dir(knowledge, "/nonexistent/rules", &why), -EIO);
	CHECK_EQ_TEXT(why.text, "cannot read the rules in /nonexistent/rules: No such file or directory");
	CHECK_ERR(knowledge_add_dir(knowledge, "/dev/null", &why), -EIO);
	site_make(&site);
	CHECK_ERR(knowledge_add_dir(knowledge, site.dir, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "there is no *.rules file in /tmp/nest-rules-");
	for (size_t i = 0; names[i]; i++)
		site_write(&site, names[i], "nonsense\n", 9);
	CHECK_ERR(knowledge_add_dir(knowledge, site.dir, &why), -ENOENT);
	CHECK_EQ_UINT(knowledge->causes.count + knowledge->rules.count, 0);
	site_remove(&site, names);
}

TEST(the_files_of_a_directory_are_read_in_the_order_of_their_names)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = load();
	static const char *const names[] = {"20-rules.rules", "10-causes.rules", "README", NULL};
	_cleanup_free_ char *origin = NULL;
	size_t causes = knowledge->causes.count, rules = knowledge->rules.count;
	struct site site;
	struct why why = {};

	site_make(&site);
	site_write(&site, names[0], RULE_TEXT, strlen(RULE_TEXT));
	site_write(&site, names[1], CAUSE_TEXT, strlen(CAUSE_TEXT));
	site_write(&site, names[2], "nonsense\n", 9);
	CHECK_OK(knowledge_add_dir(knowledge, site.dir, &why));
	CHECK_EQ_TEXT(why.text, "");
	CHECK_EQ_UINT(knowledge->causes.count, causes + 1);
	origin = xasprintf("%s/20-rules.rules:1", site.dir);
	if (CHECK_EQ_UINT(knowledge->rules.count, rules + 1))
		CHECK_EQ_TEXT(knowledge_find_rule(knowledge, "lift-stands")->origin, origin);
	site_remove(&site, names);
}

TEST(a_wrong_file_of_a_directory_is_named)
{
	static const struct {
		const char *text;
		size_t size;
		const char *reason;
	} cases[] = {
		{CAUSE_TEXT "colour: red\n", sizeof(CAUSE_TEXT "colour: red\n") - 1,
		 "site.rules:9: 'colour' is not known here"},
		{CAUSE_TEXT "\0", sizeof(CAUSE_TEXT), "site.rules: not a text file"},
		{"\0" CAUSE_TEXT, sizeof(CAUSE_TEXT), "site.rules: not a text file"},
	};
	static const char *const names[] = {"site.rules", NULL};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
		_cleanup_free_ char *reason = NULL;
		struct site site;
		struct why why = {};

		unit_note("%s", cases[i].reason);
		site_make(&site);
		site_write(&site, names[0], cases[i].text, cases[i].size);
		CHECK_ERR(knowledge_add_dir(knowledge, site.dir, &why), -EINVAL);
		reason = xasprintf("%s/%s", site.dir, cases[i].reason);
		CHECK_EQ_TEXT(why.text, reason);
		CHECK_EQ_UINT(knowledge->causes.count, 0);
		site_remove(&site, names);
	}
}

TEST(a_file_that_cannot_be_read_is_named)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = empty();
	size_t size = ((size_t)4 << 20) + 1;
	_cleanup_free_ char *big = xmalloc(size);
	static const char *const names[] = {"big.rules", NULL};
	_cleanup_free_ char *path = NULL;
	struct site site;
	struct why why = {};

	memset(big, '#', size);
	site_make(&site);
	site_write(&site, names[0], big, size);
	CHECK_ERR(knowledge_add_dir(knowledge, site.dir, &why), -EIO);
	CHECK_HAS_TEXT(why.text, "/big.rules: ");
	path = xasprintf("%s/big.rules", site.dir);
	CHECK_OK(unlink(path));
	CHECK_OK(mkdir(path, 0700));
	CHECK_ERR(knowledge_add_dir(knowledge, site.dir, &why), -EIO);
	CHECK_HAS_TEXT(why.text, "/big.rules: Is a directory");
	CHECK_OK(rmdir(path));
	site_remove(&site, names + 1);
}

/* --- sentences --- */

TEST(a_sentence_is_filled_with_what_is_known)
{
	static const struct {
		const char *template;
		bool complete;
		const char *want;
	} cases[] = {
		{"", true, ""},
		{"nothing to fill", true, "nothing to fill"},
		{"{comm} ({pid}) talks to [{raddr}]:{rport}", true, "nginx (4711) talks to [fd77::1]:51234"},
		{"{comm}{comm}", true, "nginxnginx"},
		{"{share} of the time", true, "12 % of the time"},
		{"a } alone", true, "a } alone"},
		{"{floor} is full", false, "- is full"},
		{"{} is full, {comm} too", false, "- is full, nginx too"},
		{"{host} was looked up", false, "- was looked up"},
		{"{lat} and {comm}", false, "- and nginx"},
		{"open {comm", false, "open -"},
		{"open {", false, "open -"},
	};
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample s = sample_make();
	struct record record = RECORD_OF(&s);

	s.host = NULL;
	s.lat_ns = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(0);

		unit_note("%s", cases[i].template);
		CHECK_EQ_INT(knowledge_fill(cases[i].template, &shape, &record, &out), cases[i].complete);
		CHECK_EQ_TEXT(buf_text(&out), cases[i].want);
	}
}

TEST(an_advice_has_words_for_what_is_unknown)
{
	static const struct {
		const char *template, *known, *unknown;
	} cases[] = {
		{"`kill -CONT {pid}`", "`kill -CONT 4711`", "`kill -CONT PID`"},
		{"`mtr -P {rport} {raddr}` on {dev}", "`mtr -P 51234 fd77::1` on DEV", "`mtr -P PORT ADDR` on DEV"},
		{"nothing", "nothing", "nothing"},
		{"{floor}", "-", "-"},
	};
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample s = sample_make();
	struct record record = RECORD_OF(&s);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf known = BUF_INIT(0), unknown = BUF_INIT(0);

		unit_note("%s", cases[i].template);
		knowledge_fill_words(cases[i].template, &shape, &record, &known);
		CHECK_EQ_TEXT(buf_text(&known), cases[i].known);
		knowledge_fill_words(cases[i].template, NULL, NULL, &unknown);
		CHECK_EQ_TEXT(buf_text(&unknown), cases[i].unknown);
	}
}
