/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terms of nest explain: found in every spelling, and complete for this kernel's drop reasons. */
#include "unit.h"

#include <string.h>

#include "event/core/packet_names.h"
#include "record/glossary.h"
#include "snapshot/proc/counter_meaning.h"

static const struct glossary *find_kind(const char *kind)
{
	registry_each(glossary, glossary)
		if (strcmp((*glossary)->kind, kind) == 0)
			return *glossary;
	return NULL;
}

TEST(a_word_is_found_in_every_spelling)
{
	const struct glossary *reasons = find_kind("drop reason");
	const struct glossary_entry *entry;

	REQUIRE(reasons != NULL);
	entry = glossary_find(reasons, "NO_SOCKET");
	REQUIRE(entry != NULL);
	CHECK(glossary_find(reasons, "no-socket") == entry);
	CHECK(glossary_find(reasons, "SKB_DROP_REASON_NO_SOCKET") == entry);
	CHECK(glossary_find(reasons, "NO_SOCKE") == NULL);
	CHECK(glossary_find(reasons, "NO_SOCKETS") == NULL);
	CHECK(glossary_find(reasons, "") == NULL);
}

TEST(every_drop_reason_of_this_kernel_has_a_text)
{
	const struct enum_names *names = enum_names_get(&drop_reason_names);
	const struct glossary *reasons = find_kind("drop reason");

	REQUIRE(reasons != NULL);
	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i].name;

		/* The end of the enum and the mask of subsystems are not reasons. */
		if (strcmp(name, "MAX") == 0 || strstr(name, "SUBSYS_MASK"))
			continue;
		unit_note("%s", name);
		CHECK(glossary_find(reasons, name) != NULL);
	}
}

TEST(every_error_has_its_name_from_the_c_library)
{
	const struct glossary *errors = find_kind("error");

	REQUIRE(errors != NULL);
	for (size_t i = 0; i < errors->count; i++) {
		uint64_t value;

		unit_note("%s", errors->entries[i].name);
		CHECK(enum_value_find(&errno_names, errors->entries[i].name, &value) == 0);
	}
}

TEST(a_counter_is_found_by_its_short_name)
{
	CHECK_EQ_TEXT(counter_full_name("ListenOverflows"), "TcpExtListenOverflows");
	CHECK_EQ_TEXT(counter_full_name("listenoverflows"), "TcpExtListenOverflows");
	CHECK_EQ_TEXT(counter_full_name("TcpExtListenOverflows"), "TcpExtListenOverflows");
	CHECK_EQ_TEXT(counter_full_name("RetransSegs"), "TcpRetransSegs");
	CHECK(counter_full_name("Overflows") == NULL);
	CHECK(counter_full_name("") == NULL);
}
