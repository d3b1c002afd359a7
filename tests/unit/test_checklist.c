/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every cause belongs to a step of the checklist, and the steps name commands that exist. */
#include <string.h>

#include "diagnose/rules/knowledge.h"
#include "report/checklist_steps.h"
#include "run/command.h"
#include "unit.h"

TEST(every_cause_has_a_step)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	unsigned steps[CHECKLIST_STEPS] = {};
	struct why why = {};

	CHECK(knowledge_load(&knowledge, &why) == 0);
	vec_each(&knowledge->causes, cause) {
		struct finding_record finding = {.cause = (*cause)->name, .layer = (*cause)->layer};
		unsigned step = checklist_step_of(&finding);

		CHECK(step < CHECKLIST_STEPS);
		/* An unknown layer would also go to the first step. */
		CHECK(step > 0 || strcmp((*cause)->name, "tcp-memory") == 0);
		steps[step]++;
	}
	CHECK(steps[0] && steps[1] && steps[2] && steps[3] && steps[4] && steps[5] && steps[8]);
	CHECK(!steps[6] && !steps[7] && !steps[9]);
}

TEST(steps_name_commands_that_exist)
{
	for (unsigned i = 0; i < CHECKLIST_STEPS; i++) {
		CHECK(checklist_steps[i].title && checklist_steps[i].describe && checklist_steps[i].next[0]);
		for (const char *const *next = checklist_steps[i].next; *next; next++) {
			char word[32];

			if (strncmp(*next, "nest ", 5) != 0)
				continue;
			snprintf(word, sizeof(word), "%.*s", (int)strcspn(*next + 5, " "), *next + 5);
			if (!command_exists(word))
				fprintf(stderr, "%s\n", *next);
			CHECK(command_exists(word));
		}
	}
}
