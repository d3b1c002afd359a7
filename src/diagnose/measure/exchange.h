/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions and answers on a connection: who owes whom. */
#pragma once

#include "record/field.h"

/* With fewer answers in a window than that, there was an exchange or two to see. */
#define EXCHANGES_ENOUGH 10

struct exchange_measures {
	bool serves;
	double reply_wait_share;
	uint64_t reply_wait_ns, unreplied_ns;
	double bare_acks_share, bare_acks_base;
	uint64_t answers_base;
	double answers_share;
	double owed_share;
	uint64_t owed_ns;
	uint64_t given_base;
	double given_share;
	uint64_t app_asks, app_asks_others, app_clients_wait, app_unread, app_unread_longest_ns, app_overdue,
		app_oldest_ns;
	double app_asks_share;
	uint64_t app_asks_first;
	bool waits_first; /* not a field */
	uint64_t app_asks_late, app_delayed, app_delayed_since_ns;
	double app_delayed_share;
	bool peer_is_here, peer_is_hidden, fell_silent, unaccepted, sent_since;
	uint64_t unread_ns, unread_recent_ns;
	double unread_recent_fill;
	uint64_t service_base, service_wait_base_ns;
	double service_share;
	double asking_share;
	uint64_t slow, quick, late, late_wait_ns, past_exchange_ns, past_exchanges;
	double late_times;
	uint64_t run_exchange_ns;
	double run_times;
	bool as_ever;
	uint64_t open_wait_ns;
	double open_times;
	uint64_t answers_timed, answer_ns;
	uint64_t timed_now_ns; /* not fields: the same of this window alone */
	unsigned timed_now;
	uint64_t service_late, service_late_wait_ns;
	uint64_t service_quick, service_slow, service_slow_wait_ns, service_waits, service_lengthy;
	uint64_t service_unanswered, service_unanswered_wait_ns;
	uint64_t service_pauses, service_pause_ns;
	double service_asked_share, service_fast_share, pause_times;
	uint64_t service_prompt, service_greeted, service_greeted_wait_ns;
	uint64_t asked, unanswered, forbidden;
	bool is_there;
	uint64_t missing_bytes;
};

extern const struct record_type exchange_measures_type;

struct module;

/* The module of its other end, where that is on this host; NULL: it is not. */
void exchange_set_other_end(struct exchange_measures *m, const struct module *other);
