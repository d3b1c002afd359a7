/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that keep privilege for others: what they answer, what they refuse, when they end. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/helper.h"
#include "run/command.h"
#include "run/sampler.h"
#include "run/starter.h"
#include "snapshot/proc/counter.h"
#include "unit.h"

/* Answers each number with its double, and the last one with its own pid. */
static void answer(int fd, void *context)
{
	uint32_t number;

	while (helper_read(fd, &number, sizeof(number)) == 0) {
		number = number ? number * 2 : (uint32_t)getpid();
		if (helper_write(fd, &number, sizeof(number)) < 0)
			return;
	}
	_exit(*(const int *)context);
}

static uint32_t ask(const struct helper *helper, uint32_t number)
{
	REQUIRE(helper_write(helper->fd, &number, sizeof(number)) == 0);
	REQUIRE(helper_read(helper->fd, &number, sizeof(number)) == 0);
	return number;
}

TEST(it_answers_until_the_connection_is_closed)
{
	struct helper helper = {};
	struct why why = {};
	int code = 7;
	pid_t pid;

	REQUIRE(helper_start(&helper, "nest-test", answer, &code, &why) == 0);
	CHECK_EQ_UINT(ask(&helper, 21), 42);
	pid = helper.pid;
	CHECK_EQ_UINT(ask(&helper, 0), (unsigned)pid);
	helper_stop(&helper, false);
	CHECK_EQ_INT(helper.pid, 0);
	/* Its exit status has been collected. */
	CHECK(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD);
	helper_stop(&helper, false);
}

TEST(signals_of_the_terminal_do_not_end_it)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2};
	struct helper helper = {};
	struct why why = {};
	int code = 0;

	REQUIRE(helper_start(&helper, "nest-test", answer, &code, &why) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		REQUIRE(kill(helper.pid, signals[i]) == 0);
	CHECK_EQ_UINT(ask(&helper, 4), 8);
	helper_stop(&helper, false);
}

static void take_long(int fd, void *context _unused_)
{
	uint32_t number;

	if (helper_read(fd, &number, sizeof(number)) == 0)
		(void)poll(NULL, 0, 60000);
}

/* The shortest of several times: this process may have to wait for a CPU. */
TEST(the_end_does_not_wait_for_one_that_is_busy)
{
	uint64_t shortest[2] = {UINT64_MAX, UINT64_MAX};

	for (unsigned i = 0; i < 6; i++) {
		struct helper helper = {};
		uint32_t number = 1;
		struct why why = {};
		uint64_t begin_ns;
		pid_t pid;

		REQUIRE(helper_start(&helper, "nest-test", take_long, NULL, &why) == 0);
		REQUIRE(helper_write(helper.fd, &number, sizeof(number)) == 0);
		pid = helper.pid;
		begin_ns = clock_ns(CLOCK_MONOTONIC);
		helper_stop(&helper, i % 2);
		shortest[i % 2] = min_of(shortest[i % 2], clock_ns(CLOCK_MONOTONIC) - begin_ns);
		REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	}
	CHECK(shortest[true] < 300 * NSEC_PER_MSEC);
	/* Any other one has time to end. */
	CHECK(shortest[false] >= 500 * NSEC_PER_MSEC);
}

TEST(it_ends_with_the_process_that_started_it)
{
	uint32_t pid = 0;
	int ends[2], status;
	pid_t parent;

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	/* Whoever is left behind comes to this process. */
	REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	parent = fork();
	if (parent == 0) {
		struct helper helper = {};
		struct why why = {};
		int code = 0;

		if (helper_start(&helper, "nest-test", answer, &code, &why) < 0)
			_exit(1);
		pid = ask(&helper, 0);
		(void)!write(ends[1], &pid, sizeof(pid));
		/* The connection stays open in a process that nobody collects. */
		if (fork() == 0)
			for (;;)
				pause();
		(void)kill(getpid(), SIGKILL);
	}
	REQUIRE(read(ends[0], &pid, sizeof(pid)) == sizeof(pid));
	REQUIRE(waitpid(parent, &status, 0) == parent);
	CHECK(waitpid((pid_t)pid, &status, 0) == (pid_t)pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(descriptors_travel_with_a_message)
{
	int ends[2], pipes[2], sent[HELPER_FDS], got[HELPER_FDS] = {-1, -1, -1};
	uint64_t message = 42, read_back = 0;
	char byte = 0;

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(pipes) == 0);
	sent[0] = sent[1] = sent[2] = pipes[1];
	CHECK_OK(helper_send(ends[0], &message, sizeof(message), sent));
	CHECK_OK(helper_receive(ends[1], &read_back, sizeof(read_back), got));
	CHECK_EQ_UINT(read_back, 42);
	CHECK(got[2] > 2 && got[2] != pipes[1]);
	CHECK(fcntl(got[2], F_GETFD) & FD_CLOEXEC);
	CHECK(write(got[2], "x", 1) == 1 && read(pipes[0], &byte, 1) == 1 && byte == 'x');
	/* Without descriptors it is none. */
	CHECK_OK(helper_write(ends[0], &message, sizeof(message)));
	CHECK_ERR(helper_receive(ends[1], &read_back, sizeof(read_back), got), -EBADMSG);
	close(ends[0]);
	CHECK_ERR(helper_receive(ends[1], &read_back, sizeof(read_back), got), -EPIPE);
}

/* --- the sampler --- */

static const struct record_type *const counters[] = {&counter_type, NULL};

static void start_sampler(struct sampler **sampler)
{
	_cleanup_netns_ struct netns_list namespaces = {};
	struct why why = {};

	REQUIRE(netns_find(NULL, &namespaces, &why) == 0);
	REQUIRE(sampler_start(sampler, &namespaces, NULL, NULL, &why) == 0);
	/* A namespace that is held open outlives its owner. */
	CHECK_EQ_UINT(namespaces.items.count, 1);
	CHECK_EQ_INT(namespaces.items.items[0].fd, -1);
}

TEST(samples_come_from_another_process)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct snapshot_request request = {.types = counters, .repeated = true};
	struct sampler *sampler;
	struct why why = {};

	start_sampler(&sampler);
	CHECK_OK(sampler_ask(sampler, &request, false, &why));
	CHECK(sampler_is_asked(sampler));
	CHECK_ERR(sampler_ask(sampler, &request, false, &why), -EBUSY);
	CHECK_OK(sampler_take(sampler, snapshot, &why));
	CHECK(!sampler_is_asked(sampler));
	CHECK(snapshot_table(snapshot, &counter_type)->count > 10);
	CHECK(snapshot->begin_boot_ns > 0 && snapshot->begin_boot_ns <= clock_ns(CLOCK_BOOTTIME));
	CHECK(sampler_cpu_ns(sampler) > 0);
	/* Only what was asked for. */
	for (size_t i = 0; i < snapshot->table_count; i++) {
		const char *name = snapshot->tables[i].type->name;

		if (strcmp(name, "counter") != 0 && strcmp(name, "netns") != 0 && strcmp(name, "gap") != 0)
			CHECK_EQ_UINT(snapshot->tables[i].count, 0);
	}
	sampler_stop(sampler);
}

static void refuse_question(size_t at, uint8_t byte)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct sampler *sampler;
	struct why why = {};
	uint8_t question[4096] = {};

	start_sampler(&sampler);
	question[at] = byte;
	REQUIRE(helper_write(sampler_fd(sampler), question, sizeof(question)) == 0);
	CHECK_ERR(sampler_take(sampler, snapshot, &why), -EPIPE);
	CHECK(strstr(why.text, "has ended"));
	sampler_stop(sampler);
}

/* Whoever asks may have been taken over: what is not known is not answered. */
TEST(an_odd_question_ends_the_sampler)
{
	/* Too many connections, too many that move, a flag, a table that does not exist. */
	refuse_question(3, 1);
	refuse_question(7, 1);
	refuse_question(8, 2);
	refuse_question(134, 1);
}

/* --- what may be started with privilege --- */

static bool looks(const char *line)
{
	char text[256], *words[16], *rest = text, *word;
	int count = 0;

	snprintf(text, sizeof(text), "%s", line);
	while ((word = strsep(&rest, " ")))
		words[count++] = word;
	words[count] = NULL;
	return command_only_looks(count, words, "/srv/saved");
}

TEST(commands_that_only_look)
{
	CHECK(looks("tcplife"));
	CHECK(looks("tcplife --json --where=lport==80 -N web"));
	CHECK(looks("tcplife -v --json"));
	CHECK(looks("trace tcp.close --count --by comm"));
	CHECK(looks("sockets --json"));
	CHECK(looks("diagnose -d 3"));
	CHECK(looks("path -d 3"));
	CHECK(looks("path --data=- --json"));
	CHECK(looks("tools --json"));
	CHECK(looks("oops"));
	/* The one directory in which it may write. */
	CHECK(looks("tcplife --save=/srv/saved/x.nest"));
	CHECK(looks("tcplife --save /srv/saved/x.nest --json"));
}

TEST(commands_that_do_more)
{
	CHECK(!looks("tcplife -o /etc/passwd"));
	CHECK(!looks("tcplife --output=/etc/passwd"));
	CHECK(!looks("tcplife --save x.nest"));
	CHECK(!looks("tcplife --save=/srv/saved"));
	CHECK(!looks("tcplife --save=/srv/saved/"));
	CHECK(!looks("tcplife --save=/srv/savedx"));
	CHECK(!looks("tcplife --save=/srv/saved/.."));
	CHECK(!looks("tcplife --save=/srv/saved/../x.nest"));
	CHECK(!looks("tcplife --save=/srv/saved/a/x.nest"));
	CHECK(!looks("tcplife --save=/srv/saved/x.nest -o y"));
	CHECK(!looks("tcplife -f x.nest"));
	CHECK(!looks("tcplife -f -"));
	CHECK(!looks("tcplife -f /srv/saved/x.nest"));
	CHECK(!looks("record -o /srv/saved/x.nest"));
	CHECK(!looks("trace tcp.close -- rm -rf /tmp/x"));
	CHECK(!looks("diagnose --rules /tmp/rules"));
	CHECK(!looks("diagnose --past x.nest"));
	CHECK(!looks("oops /var/log/kern.log"));
	CHECK(!looks("record -o x.nest"));
	CHECK(!looks("record"));
	CHECK(!looks("flow record -- true"));
	CHECK(!looks("serve"));
	CHECK(!looks("agent"));
	CHECK(!looks("top"));
	CHECK(!looks("collect"));
	CHECK(!looks("sql x.nest SELECT"));
	CHECK(!looks("nonsense"));
	CHECK(!looks("tcplife --nonsense"));
	CHECK(!looks(""));
}

/* --- the starter --- */

/* This program stands for nest: started again with -l, it lists its tests. */
TEST(status_and_output_of_a_command)
{
	char *words[] = {(char *)"-l", NULL};
	struct why why = {};
	int out[2], status_fd, status = -1;
	char text[64] = "";

	REQUIRE(starter_begin(true, NULL, &why) == 0);
	REQUIRE(pipe2(out, O_CLOEXEC) == 0);
	status_fd = starter_start(&(struct starter_order){.words = words, .width = 80, .out = out[1], .errors = out[1]},
				  &why);
	REQUIRE(status_fd >= 0);
	close(out[1]);
	CHECK(read(out[0], text, sizeof(text) - 1) > 0);
	CHECK(read(status_fd, &status, sizeof(status)) == sizeof(status));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(status_fd);
	starter_end();
}
