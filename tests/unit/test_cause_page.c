/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of causes: every cause has one, and what it says about the laboratory is true. */
#include "unit.h"

#include "diagnose/present/cause_page.h"

TEST(every_cause_says_where_it_is_blind)
{
	_cleanup_(knowledge_freep) struct knowledge *k = NULL;
	struct why why = {};

	if (knowledge_load(&k, &why) < 0)
		printf("# %s\n", why.text);
	REQUIRE(k != NULL);
	vec_each(&k->causes, cause) {
		_cleanup_(cause_page_freep) struct cause_page *page = cause_page_new(k, *cause);

		unit_note("%s", (*cause)->name);
		CHECK((*cause)->blind != NULL);
		CHECK(page->sections.count >= 4);
	}
}

#define CAUSE                                                                                                          \
	"cause c\nlayer: host\naccuses: conn\nseverity: high\nsummary: is bad\nmeans: It *is*.\nadvice: Stop "         \
	"`it`.\n\n"

TEST(a_page_as_markdown)
{
	_cleanup_(knowledge_freep) struct knowledge *k = xzalloc(sizeof(*k));
	_cleanup_(cause_page_freep) struct cause_page *page = NULL;
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	struct why why = {};

	REQUIRE(knowledge_add_text(k, "t",
				   CAUSE "rule r\nabout: conn\nwhen: stuck\nsuggests: c\ncertainty: 0.5\nfamily: f\n"
					 "because: {raddr} is stuck\n\npage c\nblind: Much.\nlab: F01 F02\n",
				   &why) == 0);
	page = cause_page_new(k, k->causes.items[0]);
	cause_page_add_markdown(page, &text);
	CHECK_EQ_TEXT(buf_text(&text),
		      "# c: is bad\n\n## What it means\n\nLayer host; accuses the conn; severity high.\n\nIt *is*.\n"
		      "\n## Symptoms\n\nOne or more of these sentences, with the measures filled in:\n\n"
		      "- `{raddr} is stuck`\n\n## What to do\n\nStop `it`.\n\n## Blind spots\n\nMuch.\n"
		      "\n## Evidence for\n\n- `r (+0.50, conn): stuck`\n\n## How to reproduce\n\n"
		      "In the source tree, as root, in network namespaces of their own (docs/lab.md):\n\n"
		      "- `lab/run F01`\n- `lab/run F02`\n");
}

TEST(a_page_names_consequences)
{
	_cleanup_(knowledge_freep) struct knowledge *k = xzalloc(sizeof(*k));
	struct why why = {};

	REQUIRE(knowledge_add_text(k, "t",
				   CAUSE "cause d\nlayer: host\naccuses: conn\nseverity: high\nsummary: s\nmeans: m\n"
					 "advice: a\n\npage c\nblind: Much.\nexplains: d\n",
				   &why) == 0);
	for (unsigned i = 0; i < 2; i++) {
		_cleanup_(cause_page_freep) struct cause_page *page = cause_page_new(k, k->causes.items[i]);
		_cleanup_buf_ struct buf text = BUF_INIT(65536);

		cause_page_add_markdown(page, &text);
		CHECK_HAS_TEXT(buf_text(&text), i == 0 ? "\n## Consequences, not reported beside it\n\n- `d`\n"
						       : "\n## A consequence of, and not reported beside\n\n- `c`\n");
	}
}

TEST(a_page_about_nothing_is_refused)
{
	_cleanup_(knowledge_freep) struct knowledge *k = xzalloc(sizeof(*k));
	struct why why = {};

	CHECK(knowledge_add_text(k, "t", "page c\nblind: Much.\n", &why) < 0);
	CHECK_EQ_TEXT(why.text, "t:1: there is no cause 'c' for this page");
	CHECK(knowledge_add_text(k, "t", CAUSE "page c\nlab: F01\n", &why) < 0);
	CHECK_HAS_TEXT(why.text, "page c has no 'blind'");
	CHECK(knowledge_add_text(k, "t", "page c\nblind: a\n\npage c\nblind: b\n", &why) < 0);
	CHECK_HAS_TEXT(why.text, "cause c has a page already");
}
