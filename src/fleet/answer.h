/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer of ClickHouse as records: TabSeparatedWithNamesAndTypes, read piece by piece as it arrives. The columns of
 * the answer become a record type; a column with the name of a field is shown as that field is. Servers are not
 * trusted: names, values and their number are bounded.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"
#include "record/value.h"

#define ANSWER_FORMAT " FORMAT TabSeparatedWithNamesAndTypes"

struct answer;

struct answer *answer_new(void);
void answer_free(struct answer *answer);
static inline void answer_freep(struct answer **answer)
{
	answer_free(*answer);
}

/* Called with each row, once the type is known; false: enough. */
typedef bool answer_row_fn(void *context, const void *row);
/* Once, before the first row or at the end of an answer without rows. */
typedef int answer_type_fn(void *context, const struct record_type *type);
struct answer_ops {
	answer_type_fn *type;
	answer_row_fn *row;
	void *context;
};
/* The next piece. -ECANCELED: a callback has had enough; -EBADMSG: not such an answer. */
int answer_add(struct answer *answer, const char *data, size_t len, const struct answer_ops *ops,
	       struct why *why) _must_check_;
/* No more comes: -EBADMSG when it was cut. */
int answer_end(struct answer *answer, const struct answer_ops *ops, struct why *why) _must_check_;
/* Values that did not fit their type; unknown in the row. */
uint64_t answer_unfit(const struct answer *answer);
