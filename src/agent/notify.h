/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports findings as they begin: to the journal, to a UNIX datagram socket, to a webhook. Nothing is run. A finding
 * that goes on or comes back is not reported again before the debounce time is over; a webhook that does not answer is
 * tried a few times; what waits is bounded, and what is given up is counted.
 */
#pragma once

#include "base/loop.h"
#include "base/option.h"
#include "diagnose/infer/diagnosis.h"

struct notify_options {
	struct text_list targets; /* journal, unix:PATH, http://.., https://.. */
	uint64_t debounce_ns;
	const char *ca_file;
};

struct notify;

/* Whether the targets can be meant; -EINVAL. */
int notify_check(const struct notify_options *options, struct why *why) _must_check_;
int notify_new(struct loop *loop, const struct notify_options *options, struct notify **ret_notify,
	       struct why *why) _must_check_;
void notify_free(struct notify *notify);
void notify_finding(struct notify *notify, const struct diagnosis_record *diagnosis,
		    const struct finding_record *finding);
/* More for the closing line. */
void notify_account(const struct notify *notify, struct buf *more);

struct notify_figures {
	uint64_t reported; /* findings, to all targets */
	uint64_t given_up; /* reports to one target */
};

struct notify_figures notify_look(const struct notify *notify);
