/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose time it is, and which function is named for it, where that is not the innermost open call. */
#include "flow_sample.h"

#define CLIENTS 40

struct text {
	struct buf text;
	unsigned long long now;
};

static __attribute__((format(printf, 2, 3))) void event(struct text *t, const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	buf_add_format(&t->text, "1 %llu %s\n", t->now += 10, line);
}

/* A call that does one thing. */
static void call(struct text *t, const char *name, const char *operation, unsigned socket)
{
	event(t, "call %s", name);
	event(t, "%s took=5 socket=%u", operation, socket);
	t->now += 5;
	event(t, "return");
}

static void wait(struct text *t, unsigned long long took, const char *ready)
{
	event(t, "op-wait fd=4 result=1 took=%llu aux=60000 %s", took, ready);
	t->now += took;
}

static void accept_client(struct text *t, unsigned number)
{
	event(t, "socket socket=%u fd=5 family=2 type=1 local=10.0.0.1:80 remote=10.0.0.2:%u", number, 1000 + number);
	event(t, "op-accept fd=5 result=5 took=5 socket=%u aux=9999", number);
	t->now += 5;
}

static struct text begin(void)
{
	struct text t = {.text = BUF_INIT(1 << 22), .now = 1000};

	buf_add_text(&t.text, "thread 1 pid=1 tid=1 name=x\n");
	event(&t, "call main");
	event(&t, "op-listen fd=3 result=0 socket=9999");
	return t;
}

/* The two that differ. */
static bool is_odd(unsigned number)
{
	return number == 21 || number == 33;
}

static struct comparison *compare(struct text *t, bool with_labels, struct flow_trace **ret_trace,
				  struct flow_sessions **ret_sessions)
{
	_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
	_cleanup_free_ uint8_t *group_of = NULL;
	struct comparison *c;
	struct why why = {};

	*ret_trace = sample_of_text(buf_text(&t->text));
	buf_done(&t->text);
	REQUIRE(flow_sessions_new(*ret_trace, &(struct demux_options){}, ret_sessions, &why) == 0);
	group_of = xzalloc((*ret_sessions)->list.count + 1);
	if (with_labels)
		REQUIRE(compare_label(*ret_sessions, NULL, "session in (21, 33)", group_of, &why) == 0);
	else
		CHECK(compare_find_outliers(*ret_sessions, group_of, &outlier, &why) <= 0);
	c = compare_groups(*ret_sessions, group_of,
			   &(struct compare_options){.outlier = with_labels ? NULL : &outlier});
	unit_note("%s", c->answer);
	return c;
}

#define COMPARED(t, with_labels)                                                                                       \
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;                                                          \
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;                                                 \
	_cleanup_(comparison_freep) struct comparison *c = compare(t, with_labels, &trace, &s)

/* --- connections that no call touches together with a client --- */

/* A timer sends the question on, a handler reads the answer, and the client is written to when it can take it. */
static void ask_upstream(struct text *t, unsigned made, bool is_new)
{
	event(t, "call expired");
	if (is_new) {
		event(t, "socket socket=%u fd=6 family=2 type=1", made);
		event(t, "op-connect fd=6 result=0 took=5 socket=%u", made);
		t->now += 5;
	}
	event(t, "op-write fd=6 result=9 took=5 socket=%u aux=9", made);
	event(t, "return");
}

static void forwarded(struct text *t, unsigned number, unsigned made, bool is_new, unsigned long long ms)
{
	wait(t, 1000, "ready=3:1");
	accept_client(t, number);
	call(t, "input", "op-read fd=5 result=9", number);
	ask_upstream(t, made, is_new);
	wait(t, ms * 1000000, "ready=6:1");
	call(t, "answered", "op-read fd=6 result=9", made);
	wait(t, 5, "ready=5:4");
	call(t, "output", "op-write fd=5 result=9 aux=9", number);
	call(t, "done", "op-close fd=5 result=0", number);
}

TEST(an_answer_is_of_the_client_that_is_written_to_next)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++)
		forwarded(&t, i, 5000 + i, true, is_odd(i) ? 60 : 1);
	COMPARED(&t, false);

	CHECK(s->demux->has_strays);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 5);
	CHECK_EQ_UINT(s->rest_calls, 0);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "answered");
	CHECK_EQ_UINT(c->all.items[0].time, PROFILE_OWN);
	CHECK_EQ_UINT(c->group[1].sessions, 2);
}

/* A pooled connection is the next client's as soon as the last one has its answer; one without a reply is nobody's. */
TEST(a_client_with_its_answer_has_no_use_for_a_pooled_connection)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++) {
		forwarded(&t, i, 5000, i == 1, is_odd(i) ? 60 : 1);
		/* The program makes a request of its own, and no client gets the answer. */
		wait(&t, 50000000, "");
		ask_upstream(&t, 5000, false);
		wait(&t, 50000000, "ready=6:1");
		call(&t, "answered", "op-read fd=6 result=9", 5000);
		wait(&t, 50000000, "");
	}
	COMPARED(&t, false);

	CHECK_EQ_UINT(flow_session_at(s, 5).calls, 5);
	CHECK_EQ_UINT(s->rest_calls, 2 * CLIENTS);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "answered");
	CHECK_EQ_UINT(c->group[1].sessions, 2);
}

/* Two answers are read before both clients are written to, in the other order. */
TEST(of_several_answers_a_clients_is_the_one_asked_for_after_it)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i += 2) {
		for (unsigned k = 0; k < 2; k++) {
			wait(&t, 1000, "ready=3:1");
			accept_client(&t, i + k);
			call(&t, "input", "op-read fd=5 result=9", i + k);
			ask_upstream(&t, 5000 + i + k, true);
			wait(&t, is_odd(i) && !k ? 60000000 : 1000000, "ready=3:1");
		}
		call(&t, "answered", "op-read fd=6 result=9", 5000 + i);
		call(&t, "answered", "op-read fd=6 result=9", 5001 + i);
		wait(&t, 5, "ready=5:4");
		call(&t, "output", "op-write fd=5 result=9 aux=9", i + 1);
		call(&t, "output", "op-write fd=5 result=9 aux=9", i);
		call(&t, "done", "op-close fd=5 result=0", i);
		call(&t, "done", "op-close fd=5 result=0", i + 1);
	}
	COMPARED(&t, false);

	CHECK_EQ_UINT(s->rest_calls, 0);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "answered");
	REQUIRE(c->group[1].members.count == 2);
	CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[0].session, 21);
	CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[1].session, 33);
}

/* The first bytes of a socket that the program created make the connection (MSG_FASTOPEN). */
TEST(a_connection_may_begin_with_data)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++) {
		accept_client(&t, i);
		event(&t, "call serve");
		event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
		event(&t, "socket socket=%u fd=6 family=2 type=1", 5000 + i);
		event(&t, "op-write fd=6 result=9 took=5 socket=%u aux=9", 5000 + i);
		event(&t, "op-read fd=6 result=9 took=5 socket=%u", 5000 + i);
		event(&t, "op-write fd=5 result=9 took=5 socket=%u aux=9", i);
		event(&t, "return");
	}
	COMPARED(&t, false);

	CHECK_EQ_UINT(s->list.count, CLIENTS);
	for (size_t i = 0; i < s->demux->sockets.count; i++)
		if (s->demux->sockets.items[i].socket > 5000 && s->demux->sockets.items[i].socket < 9999)
			CHECK_EQ_UINT(s->demux->sockets.items[i].role, DEMUX_MADE);
	CHECK_EQ_UINT(c->divergence.count, 0);
}

/* --- a client that does not take its answer --- */

TEST(a_wait_for_a_client_that_can_be_written_to_again_is_a_stall)
{
	/* The last wait reports the client's socket after most of the time, or at once: then it was something else. */
	for (unsigned at_once = 0; at_once < 2; at_once++) {
		struct text t = begin();

		for (unsigned i = 1; i <= CLIENTS; i++) {
			unsigned long long slow = is_odd(i) ? 3000000000 : 1000;

			wait(&t, 1000, "ready=3:1");
			accept_client(&t, i);
			call(&t, "input", "op-read fd=5 result=9", i);
			if (at_once) {
				wait(&t, slow, "ready=9:1");
				event(&t, "call other");
				event(&t, "return");
			}
			wait(&t, at_once ? 5 : slow, "ready=5:4");
			event(&t, "call output");
			call(&t, "send_some", "op-write fd=5 result=9 aux=9", i);
			event(&t, "return");
			call(&t, "done", "op-close fd=5 result=0", i);
		}
		COMPARED(&t, false);

		REQUIRE(c->divergence.count == 1);
		CHECK_EQ_UINT(c->all.items[0].time, at_once ? PROFILE_OWN : PROFILE_STALL);
		CHECK_EQ_UINT(c->group[1].sessions, 2);
		if (!at_once)
			CHECK_EQ_TEXT(c->all.items[0].waits_in, "send_some");
	}
}

/* A loop that looks at its timers before each wait. */
static void begin_round(struct text *t, unsigned long long took, const char *ready)
{
	event(t, "call look_at_timers");
	event(t, "return");
	event(t, "call select_all");
	wait(t, took, ready);
}

/*
 * Others are served while the client does not read: the last wait is short, but the ones before did not report it. They
 * would have if they were asked to: by epoll_ctl, or by poll, unless something ran meanwhile that serves nobody known.
 */
TEST(a_client_that_earlier_waits_did_not_report_could_not_be_written_to)
{
	static const struct {
		const char *meanwhile;
		bool is_watched;
		enum profile_time time;
	} cases[] = {
		{"op-read fd=9 result=9 took=5 socket=8000", false, PROFILE_STALL},
		{NULL, false, PROFILE_OWN},
		{NULL, true, PROFILE_STALL},
	};

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		struct text t = begin();

		event(&t, "call round");
		event(&t, "socket socket=8000 fd=9 family=2 type=1 local=10.0.0.1:80 remote=10.0.0.2:900");
		event(&t, "op-accept fd=9 result=9 took=5 socket=8000 aux=9999");
		t.now += 10;
		event(&t, "return");
		for (unsigned i = 1; i <= CLIENTS; i++) {
			event(&t, "call round");
			begin_round(&t, 1000, "ready=3:1");
			accept_client(&t, i);
			event(&t, "call input");
			event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
			if (cases[k].is_watched)
				event(&t, "op-watch fd=5 result=3 took=5 socket=%u aux=5", i);
			t.now += 10;
			event(&t, "return");
			event(&t, "return");
			begin_round(&t, is_odd(i) ? 3000000000 : 1000, "ready=9:1");
			event(&t, "call other");
			if (cases[k].meanwhile)
				event(&t, "%s", cases[k].meanwhile);
			t.now += cases[k].meanwhile ? 10 : 5000000;
			event(&t, "return");
			event(&t, "return");
			event(&t, "return");
			event(&t, "call round");
			begin_round(&t, 5, "ready=5:4");
			call(&t, "output", "op-write fd=5 result=9 aux=9", i);
			call(&t, "done", "op-close fd=5 result=0", i);
			event(&t, "return");
			event(&t, "return");
		}
		COMPARED(&t, false);

		unit_note("case %u: %s", k, c->answer);
		REQUIRE(c->divergence.count == 1);
		CHECK_EQ_UINT(c->all.items[0].time, cases[k].time);
		CHECK_EQ_UINT(c->group[1].sessions, 2);
	}
}

/* Threads take turns in polling: who waits for its turn waits for the client as well, unless it serves somebody. */
TEST(a_thread_that_serves_nobody_waits_for_the_client)
{
	for (unsigned serves = 0; serves < 2; serves++) {
		struct text t = begin();

		event(&t, "socket socket=8000 fd=9 family=2 type=1 local=10.0.0.1:80 remote=10.0.0.2:900");
		event(&t, "op-accept fd=9 result=9 took=5 socket=8000 aux=9999");
		t.now += 10;
		for (unsigned i = 1; i <= CLIENTS; i++) {
			unsigned long long turn = is_odd(i + 1) ? 3000000000 : 1000;

			wait(&t, 1000, "ready=3:1");
			accept_client(&t, i);
			event(&t, "call input");
			event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
			event(&t, "op-write fd=5 result=5 took=5 socket=%u aux=9", i);
			t.now += 20;
			event(&t, "return");
			event(&t, "call other");
			event(&t, "op-read fd=9 result=9 took=5 socket=8000");
			t.now += 10 + (serves ? turn : 0);
			event(&t, "return");
			t.now += serves ? 0 : turn;
			wait(&t, 5, "ready=5:4");
			call(&t, "output", "op-write fd=5 result=4 aux=4", i);
			call(&t, "done", "op-close fd=5 result=0", i);
		}
		COMPARED(&t, true);

		unit_note("case %u: %s", serves, c->answer);
		if (serves)
			CHECK(strstr(c->answer, "in output") == NULL);
		else
			CHECK_HAS_TEXT(c->answer, "spend 3.00 s in output");
	}
}

/* --- a function that only reads --- */

/* Most of the time it is called by one of its callers, but also by the caller of that one: it is not named for it. */
TEST(a_wait_below_a_caller_and_the_caller_of_that_is_of_the_function_itself)
{
	for (unsigned is_both = 0; is_both < 2; is_both++) {
		struct text t = begin();

		for (unsigned i = 1; i <= CLIENTS; i++) {
			unsigned made = 5000 + i;

			wait(&t, 1000, "ready=3:1");
			accept_client(&t, i);
			event(&t, "call input");
			event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
			event(&t, "socket socket=%u fd=6 family=2 type=1", made);
			event(&t, "op-connect fd=6 result=0 took=5 socket=%u", made);
			event(&t, "return");
			wait(&t, is_odd(i) && is_both ? 30000000 : 1000, "ready=6:1");
			event(&t, "call serve");
			call(&t, "take", "op-read fd=6 result=9", made);
			event(&t, "return");
			wait(&t, is_odd(i) ? 300000000 : 1000, "ready=6:1");
			event(&t, "call serve");
			event(&t, "call again");
			event(&t, "call prepare");
			event(&t, "return");
			call(&t, "take", "op-read fd=6 result=9", made);
			event(&t, "return");
			event(&t, "op-write fd=5 result=9 took=5 socket=%u aux=9", i);
			event(&t, "return");
		}
		COMPARED(&t, true);

		REQUIRE(c->divergence.count >= 1);
		CHECK_EQ_TEXT(c->all.items[0].function, is_both ? "take" : "again");
	}
}

/* A wait between two calls, where another caller of the function has none: nothing says that it is the caller's. */
TEST(a_wait_is_not_of_the_caller_because_others_call_the_function_as_well)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++) {
		unsigned made = 5000 + i;

		wait(&t, 1000, "ready=3:1");
		accept_client(&t, i);
		event(&t, "call input");
		event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
		event(&t, "socket socket=%u fd=6 family=2 type=1", made);
		event(&t, "op-connect fd=6 result=0 took=5 socket=%u", made);
		event(&t, "call look");
		event(&t, "call take");
		event(&t, "call prepare");
		event(&t, "return");
		event(&t, "return");
		event(&t, "return");
		event(&t, "return");
		wait(&t, is_odd(i) ? 300000000 : 1000, "ready=6:1");
		event(&t, "call serve");
		event(&t, "call again");
		event(&t, "call take");
		event(&t, "call prepare");
		event(&t, "return");
		event(&t, "op-read fd=6 result=9 took=5 socket=%u", made);
		t.now += is_odd(i) ? 10000 : 100;
		event(&t, "return");
		event(&t, "return");
		event(&t, "op-write fd=5 result=9 took=5 socket=%u aux=9", i);
		event(&t, "return");
	}
	COMPARED(&t, true);

	REQUIRE(c->divergence.count >= 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "take");
}

/* --- calls that never return --- */

/* The program ends while two clients rest: a signal handler runs in the call that waits for them. */
TEST(what_a_call_did_that_never_returned_is_not_known)
{
	struct text t = begin();

	for (unsigned thread = 2; thread <= 3; thread++)
		buf_add_format(&t.text, "thread %u pid=%u tid=%u name=x\n%u 1 call main\n", thread, thread, thread,
			       thread);
	for (unsigned i = 1; i <= 38; i++) {
		bool is_last = i > 36;
		unsigned thread = 1 + i % 3;

		buf_add_format(&t.text,
			       "%u %llu socket socket=%u fd=5 family=2 type=1 local=10.0.0.1:80 "
			       "remote=10.0.0.2:%u\n%u %llu op-accept fd=5 result=5 took=5 socket=%u aux=9999\n",
			       thread, t.now, i, 1000 + i, thread, t.now + 1, i);
		buf_add_format(&t.text, "%u %llu call serve\n%u %llu op-read fd=5 result=9 took=5 socket=%u\n", thread,
			       t.now + 10, thread, t.now + 20, i);
		buf_add_format(&t.text, "%u %llu call work\n%u %llu return\n", thread, t.now + 30, thread,
			       t.now + 200000);
		buf_add_format(&t.text, "%u %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n%u %llu call get\n",
			       thread, t.now + 200010, i, thread, t.now + 200020);
		if (is_last)
			buf_add_format(&t.text, "%u %llu call on_signal\n%u %llu end\n", thread, t.now + 90000000,
				       thread, t.now + 90000100);
		else
			buf_add_format(&t.text,
				       "%u %llu op-read fd=5 result=0 took=5 socket=%u\n%u %llu return\n"
				       "%u %llu return\n",
				       thread, t.now + 200030, i, thread, t.now + 200040, thread, t.now + 200050);
		t.now += is_last ? 0 : 1000000;
	}
	COMPARED(&t, false);

	CHECK_EQ_UINT(s->list.count, 38);
	CHECK_EQ_UINT(c->divergence.count, 0);
	CHECK_HAS_TEXT(c->answer, "no session stands out: 38 sessions");
}

/* --- which function is named --- */

static void steps(struct text *t, unsigned number, bool leaves)
{
	static const char *const calls[] = {"check", "convert", "store", "count", "release"};

	accept_client(t, number);
	event(t, "call serve");
	event(t, "op-read fd=5 result=9 took=5 socket=%u", number);
	event(t, "call change");
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!leaves || i == 0 || i == ARRAY_SIZE(calls) - 1) {
			event(t, "call %s", calls[i]);
			event(t, "return");
		}
	event(t, "return");
	event(t, "op-write fd=5 result=9 took=5 socket=%u aux=9", number);
	event(t, "return");
}

TEST(a_function_that_is_left_early_is_named_not_the_first_call_that_it_does_not_make)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++)
		steps(&t, i, is_odd(i));
	COMPARED(&t, true);

	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "change");
	CHECK_EQ_UINT(c->all.items[0].kind, DIVERGENCE_LEFT);
	CHECK_EQ_TEXT(c->all.items[0].before, "convert");
	CHECK_EQ_UINT(c->all.items[0].good_sessions, 38);
	CHECK_EQ_UINT(c->all.items[0].bad_sessions, 0);
	CHECK_EQ_UINT(c->all.count, 1);
	CHECK_HAS_TEXT(c->answer, "bad sessions leave change before it calls convert");
}

TEST(time_of_very_many_calls_is_that_of_the_function_which_loops)
{
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++) {
		accept_client(&t, i);
		event(&t, "call serve");
		event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
		event(&t, "call search");
		for (unsigned k = 0; k < (is_odd(i) ? 2000 : 3); k++) {
			event(&t, "call next");
			event(&t, "call compare");
			t.now += 20000;
			event(&t, "return");
			event(&t, "return");
		}
		event(&t, "return");
		event(&t, "op-write fd=5 result=9 took=5 socket=%u aux=9", i);
		event(&t, "return");
	}
	COMPARED(&t, false);

	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "search");
	CHECK_EQ_TEXT(c->all.items[0].waits_in, "compare");
}

/* More requests explain more time only where a usual request spends it. */
TEST(requests_do_not_explain_the_time_of_another_function)
{
	for (unsigned is_other = 0; is_other < 2; is_other++) {
		struct text t = begin();

		for (unsigned i = 1; i <= CLIENTS; i++) {
			accept_client(&t, i);
			event(&t, "call serve");
			for (unsigned k = 0; k < (is_odd(i) ? 10 : 1); k++) {
				event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
				event(&t, "call answer");
				t.now += 10000000 + 100000 * (i % 7);
				if (is_odd(i) && is_other) {
					event(&t, "call compare");
					t.now += 8000000;
					event(&t, "return");
				}
				event(&t, "return");
				event(&t, "op-write fd=5 result=9 took=5 socket=%u aux=9", i);
			}
			event(&t, "return");
		}
		COMPARED(&t, false);

		CHECK_EQ_UINT(c->divergence.count, is_other);
		if (!c->divergence.count)
			continue;
		CHECK_EQ_TEXT(c->all.items[0].function, "compare");
		CHECK_EQ_UINT(c->group[1].sessions, 2);
	}
}

/* What the thread does while a session waits for its value. */
enum meanwhile { RESTS, JOB_OF_NOBODY, OTHER_CLIENTS, MEANWHILES };

static void serve_one(struct text *t, unsigned number)
{
	accept_client(t, number);
	event(t, "call serve");
	event(t, "op-read fd=5 result=9 took=5 socket=%u", number);
	t->now += 1000000;
	event(t, "op-write fd=5 result=9 took=5 socket=%u aux=9", number);
	event(t, "return");
}

static void pass_time(struct text *t, enum meanwhile meanwhile, unsigned number)
{
	if (meanwhile == OTHER_CLIENTS) {
		for (unsigned i = 0; i < 60; i++)
			serve_one(t, number * 100 + i);
	} else if (meanwhile == JOB_OF_NOBODY) {
		event(t, "call compact");
		t->now += 60000000;
		event(t, "return");
	} else {
		t->now += 60000000;
	}
}

/*
 * A session that goes on when a thread takes its value waits for whatever brings that about, unless the thread serves
 * other sessions meanwhile: then it waits for its turn.
 */
TEST(a_passed_value_that_comes_late_is_told_from_one_that_waits_for_its_turn)
{
	for (enum meanwhile meanwhile = 0; meanwhile < MEANWHILES; meanwhile++) {
		struct text t = begin();

		for (unsigned i = 1; i <= CLIENTS; i++) {
			accept_client(&t, i);
			event(&t, "call serve");
			event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
			t.now += 1000000;
			event(&t, "call take_credit");
			event(&t, "call suspend");
			event(&t, "push %u", i);
			event(&t, "return");
			event(&t, "return");
			event(&t, "return");
			if (is_odd(i))
				pass_time(&t, meanwhile, i);
			event(&t, "pop %u", i);
			call(&t, "answer", "op-write fd=5 result=9 aux=9", i);
		}
		COMPARED(&t, false);

		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, meanwhile != OTHER_CLIENTS);
		if (!c->divergence.count)
			continue;
		CHECK_EQ_TEXT(c->all.items[0].function, "take_credit");
		CHECK_EQ_UINT(c->group[1].sessions, 2);
	}
}

/* A coroutine is called by whoever ran before, and resumed by the loop: it is named, not one of its callers. */
TEST(what_is_resumed_is_named_for_its_wait)
{
	static const char *const callers[] = {"read_request", "count_rows", "write_shard"};
	struct text t = begin();

	for (unsigned i = 1; i <= CLIENTS; i++) {
		accept_client(&t, i);
		event(&t, "call serve");
		event(&t, "op-read fd=5 result=9 took=5 socket=%u", i);
		event(&t, "call %s", callers[i % 3]);
		event(&t, "call take_credit");
		event(&t, "call suspend");
		event(&t, "push %u", i);
		for (unsigned k = 0; k < 4; k++)
			event(&t, "return");
		t.now += is_odd(i) ? 60000000 : 1000;
		event(&t, "pop %u", i);
		event(&t, "call take_credit");
		call(&t, "answer", "op-write fd=5 result=9 aux=9", i);
		event(&t, "return");
	}
	COMPARED(&t, false);

	unit_note("%s", c->answer);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "take_credit");
}
