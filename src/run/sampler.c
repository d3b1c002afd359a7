/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/sampler.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/helper.h"
#include "kernel/capability.h"
#include "run/command_confine.h"
#include "snapshot/core/handover.h"
#include "snapshot/netlink/containers.h"
#include "snapshot/netlink/netns_empty.h"
#include "snapshot/socket/socket.h"

/* SECURITY.md says what each of them is for. */
#define SAMPLING                                                                                                       \
	(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_NET_ADMIN) | CAP_BIT(CAP_NET_RAW) |                     \
	 CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_SYSLOG))

#define TABLES_MAX   128
#define FOLLOWED_MAX 1000000

/* All that can be asked for. */
struct question {
	uint32_t followed_max, moving_max;
	uint8_t active_only, thrifty, no_bpf, repeated, passive, refresh;
	uint8_t everything; /* all types that are not on demand */
	uint8_t types[TABLES_MAX];
};

/* The snapshot follows where result is 0. */
struct answer {
	int32_t result;
	uint64_t cpu_ns;
	struct why why;
};

struct sampler {
	struct helper helper;
	struct snapshot *tables; /* always empty: the order of the types */
	uint64_t cpu_ns;
	bool asked;
};

/* --- the process that samples --- */

struct host {
	struct netns_list *namespaces;
	const char *netns;
	struct snapshot *scout; /* for containers; NULL: they are not looked at */
	struct snapshot *snapshot;
	const struct record_type *types[TABLES_MAX + 1];
	bool sampled; /* at least once */
};

/* What is not known is refused: the asker reads files and answers the network. */
static bool is_sound(const struct question *question, size_t tables)
{
	const uint8_t *bytes = (const uint8_t *)question;
	size_t known = offsetof(struct question, types) + tables;

	for (size_t i = offsetof(struct question, active_only); i < offsetof(struct question, types) + TABLES_MAX; i++)
		if (bytes[i] > (i < known))
			return false;
	return question->followed_max <= FOLLOWED_MAX && question->moving_max <= FOLLOWED_MAX;
}

static bool looks_at_all(const struct host *host)
{
	return host->netns && strcmp(host->netns, "all") == 0;
}

static void find_again(struct host *host)
{
	struct netns_list fresh = {};
	struct why why = {};

	if (!looks_at_all(host) && (!host->scout || !containers_changed(host->scout, host->namespaces)))
		return;
	if (netns_find(host->netns, &fresh, &why) < 0)
		return;
	if (host->scout)
		containers_add(host->scout, &fresh);
	netns_list_done(host->namespaces);
	*host->namespaces = fresh;
}

/* In one namespace its own are counted: a container with few is looked at as closely on a host with many. */
static bool has_many(struct host *host)
{
	struct netns_guard guard;
	struct why why = {};
	uint64_t count = socket_count_tcp_of_host(host->snapshot);

	if (count < SAMPLER_MANY || host->namespaces->items.count != 1)
		return count >= SAMPLER_MANY;
	if (netns_enter(&host->namespaces->items.items[0], &guard, &why) < 0)
		return false;
	count = socket_count_tcp(host->snapshot);
	netns_leave(&guard);
	return count >= SAMPLER_MANY;
}

static void note_idle(struct snapshot *snapshot)
{
	snapshot_gap(snapshot, "idle TCP connections",
		     "more than %d TCP sockets: connections without traffic for some seconds are left out",
		     SAMPLER_MANY);
}

static int sample(struct host *host, const struct question *question, struct why *why)
{
	struct snapshot_request request = {.namespaces = host->namespaces,
					   .types = question->everything ? NULL : host->types,
					   .active_only = question->active_only,
					   .followed_max = question->followed_max,
					   .moving_max = question->moving_max,
					   .no_bpf = question->no_bpf,
					   .repeated = question->repeated,
					   .passive = question->passive,
					   .asker = (uint32_t)getppid()};
	bool many = question->thrifty && has_many(host);
	size_t count = 0;
	int r;

	request.active_only |= many;
	for (size_t i = 0; i < host->snapshot->table_count; i++)
		if (question->types[i])
			host->types[count++] = host->snapshot->tables[i].type;
	host->types[count] = NULL;
	if (question->refresh)
		find_again(host);
	if (question->thrifty && looks_at_all(host) && (question->refresh || !host->sampled))
		netns_empty_mark(host->snapshot, host->namespaces);
	host->sampled = true;
	r = snapshot_take(host->snapshot, &request, why);
	if (r == 0 && many)
		note_idle(host->snapshot);
	return r;
}

static int answer_one(struct host *host, int fd)
{
	struct question question;
	struct answer answer = {};
	int r = helper_read(fd, &question, sizeof(question));

	if (r < 0)
		return r;
	if (!is_sound(&question, host->snapshot->table_count))
		return -EBADMSG;
	answer.result = sample(host, &question, &answer.why);
	answer.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	r = helper_write(fd, &answer, sizeof(answer));
	return r == 0 && answer.result == 0 ? snapshot_send(host->snapshot, fd) : r;
}

static int give_up(const struct host *host, struct why *why)
{
	bool elsewhere = (host->netns && *host->netns) || host->scout;
	struct confine confine = {.may = MAY_OBSERVE | MAY_INSPECT,
				  .keep = SAMPLING | (elsewhere ? CAP_BIT(CAP_SYS_ADMIN) : 0)};

	return command_confines() ? confine_apply(&confine, why) : 0;
}

static void serve(int fd, void *context)
{
	struct host *host = context;
	struct answer refusal = {};

	host->snapshot = snapshot_new();
	refusal.result = give_up(host, &refusal.why);
	if (refusal.result < 0)
		(void)!helper_write(fd, &refusal, sizeof(refusal));
	else
		while (answer_one(host, fd) == 0)
			;
	snapshot_free(host->snapshot);
	netns_list_done(host->namespaces);
}

/* --- the process that asks --- */

int sampler_start(struct sampler **ret_sampler, struct netns_list *namespaces, const char *netns,
		  struct snapshot *scout, struct why *why)
{
	struct host host = {.namespaces = namespaces, .netns = netns, .scout = scout};
	struct sampler *sampler = xzalloc(sizeof(*sampler));
	int r;

	sampler->tables = snapshot_new();
	if (sampler->tables->table_count > TABLES_MAX)
		abort();
	r = helper_start(&sampler->helper, "nest-sampler", serve, &host, why);
	if (r < 0) {
		sampler_stop(sampler);
		return r;
	}
	vec_each(&namespaces->items, one)
		(void)close(take_fd(&one->fd));
	*ret_sampler = sampler;
	return 0;
}

void sampler_stop(struct sampler *sampler)
{
	if (!sampler)
		return;
	helper_stop(&sampler->helper, sampler->asked);
	snapshot_free(sampler->tables);
	free(sampler);
}

int sampler_fd(const struct sampler *sampler)
{
	return sampler->helper.fd;
}

bool sampler_is_asked(const struct sampler *sampler)
{
	return sampler->asked;
}

uint64_t sampler_cpu_ns(const struct sampler *sampler)
{
	return sampler->cpu_ns;
}

static void choose_types(const struct sampler *sampler, const struct record_type *const *types,
			 struct question *question)
{
	question->everything = types == NULL;
	for (; types && *types; types++) {
		const struct snapshot_table *table = snapshot_table(sampler->tables, *types);

		if (table)
			question->types[table - sampler->tables->tables] = 1;
	}
}

int sampler_ask(struct sampler *sampler, const struct snapshot_request *request, bool refresh, struct why *why)
{
	struct question question = {.active_only = request->active_only,
				    .thrifty = request->thrifty,
				    .followed_max = (uint32_t)min_of(request->followed_max, (size_t)FOLLOWED_MAX),
				    .moving_max = (uint32_t)min_of(request->moving_max, (size_t)FOLLOWED_MAX),
				    .no_bpf = request->no_bpf,
				    .repeated = request->repeated,
				    .passive = request->passive,
				    .refresh = refresh};
	int r;

	if (sampler->asked)
		return -EBUSY;
	choose_types(sampler, request->types, &question);
	r = helper_write(sampler->helper.fd, &question, sizeof(question));
	if (r < 0)
		return why_set(why, r, "cannot sample: the process that samples has ended");
	sampler->asked = true;
	return 0;
}

int sampler_take(struct sampler *sampler, struct snapshot *snapshot, struct why *why)
{
	struct answer answer;
	int r = helper_read(sampler->helper.fd, &answer, sizeof(answer));

	sampler->asked = false;
	if (r < 0)
		return why_set(why, r, "cannot sample: %s",
			       r == -EPIPE ? "the process that samples has ended" : strerror(-r));
	sampler->cpu_ns = answer.cpu_ns;
	answer.why.text[sizeof(answer.why.text) - 1] = '\0';
	if (answer.result < 0)
		return why_set(why, answer.result, "%s",
			       answer.why.text[0] ? answer.why.text : strerror(-answer.result));
	return answer.result == 0 ? snapshot_receive(snapshot, sampler->helper.fd, why) : -EBADMSG;
}
