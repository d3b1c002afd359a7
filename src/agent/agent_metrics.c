/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "agent/agent.h"
#include "agent/metric.h"
#include "base/clock.h"
#include "base/parse.h"

#define FINDINGS_MAX 10000
#define NETNS_MAX    10000
/* Windows of a namespace without a finding before it is over, as the diagnosis has it. */
#define GONE_WINDOWS 3

static const double bounds[AGENT_METRICS_BOUNDS] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 1, 5};

/* A namespace, as of its last window. */
struct netns_window {
	uint64_t number;  /* windows so far */
	uint64_t time_ns; /* monotonic */
	uint64_t connections, stalled;
};

/* One without a window for this long is gone. */
#define NETNS_GONE_NS (10 * NSEC_PER_SEC)

static bool is_gone(const struct netns_window *window)
{
	return clock_monotonic_ns() - window->time_ns > NETNS_GONE_NS;
}

void agent_metrics_init(struct agent_metrics *metrics)
{
	*metrics = (struct agent_metrics){
		.findings = MAP_INIT(0, sizeof(uint64_t), FINDINGS_MAX),
		.causes = MAP_INIT(0, sizeof(struct cause_count), 1000),
		.netns = MAP_INIT(sizeof(uint64_t), sizeof(struct netns_window), NETNS_MAX),
	};
}

void agent_metrics_done(struct agent_metrics *metrics)
{
	map_done(&metrics->findings);
	map_done(&metrics->causes);
	map_done(&metrics->netns);
}

/* --- services --- */

static void histogram_add(struct duration_histogram *histogram, uint64_t ns)
{
	double seconds = (double)ns / NSEC_PER_SEC;
	unsigned i = 0;

	while (i < AGENT_METRICS_BOUNDS && seconds > bounds[i])
		i++;
	histogram->counts[i]++;
	histogram->sum += seconds;
}

static struct service_times *find_service(struct agent_metrics *metrics, bool client, uint16_t port)
{
	unsigned same = 0;

	if (port >= METRIC_EPHEMERAL)
		port = 0;
	for (unsigned i = 0; i < metrics->service_count; i++) {
		struct service_times *service = &metrics->services[i];

		if (service->client == client && service->port == port)
			return service;
		same += service->client == client && service->port;
	}
	if (port && same >= AGENT_METRICS_SERVICES)
		return find_service(metrics, client, 0);
	metrics->services[metrics->service_count] = (struct service_times){.client = client, .port = port};
	return &metrics->services[metrics->service_count++];
}

/* The side with the lower port serves: clients are given high ones. */
static void add_rtt(struct agent_metrics *metrics, const struct conn_measures *conn)
{
	bool client = conn->lport > conn->rport;

	if (conn->rtt_ns == UINT64_MAX || conn->acked_bytes == UINT64_MAX || conn->acked_bytes == 0)
		return;
	histogram_add(&find_service(metrics, client, client ? conn->rport : conn->lport)->rtt, conn->rtt_ns);
}

static void add_traffic(struct agent_metrics *metrics, const struct graph *graph, struct netns_window *window)
{
	window->connections = window->stalled = 0;
	vec_each(&graph->modules, module) {
		const struct conn_measures *conn = (*module)->measures.conn;

		if ((*module)->kind != MODULE_CONN || !conn)
			continue;
		add_rtt(metrics, conn);
		window->connections++;
		window->stalled += conn->stuck;
	}
}

/* "peer:10.1.2.2:80": the median of a program's answers from there in the last windows. */
static void add_answers(struct agent_metrics *metrics, const struct diagnosis_record *record)
{
	const struct time_record *times = record->time.items;

	for (uint32_t i = 0; i < record->time.count; i++) {
		const struct share_record *shares = times[i].shares.items;

		for (uint32_t k = 0; k < times[i].shares.count; k++) {
			const char *colon = shares[k].on ? strrchr(shares[k].on, ':') : NULL;
			uint16_t port;

			if (strcmp(shares[k].what, "answer") == 0 && shares[k].count > 0 && colon &&
			    shares[k].p50_ns != UINT64_MAX && parse_port(colon + 1, &port) == 0)
				histogram_add(&find_service(metrics, true, port)->answer, shares[k].p50_ns);
		}
	}
}

/* --- findings --- */

static struct cause_count *count_of(struct agent_metrics *metrics, const char *cause, const char *layer)
{
	bool is_new;
	struct cause_count *count = map_put(&metrics->causes, cause, &is_new);

	if (count && is_new) {
		snprintf(count->cause, sizeof(count->cause), "%s", cause);
		snprintf(count->layer, sizeof(count->layer), "%s", layer);
	}
	return count;
}

static void add_findings(struct agent_metrics *metrics, const struct diagnosis_record *record, uint64_t window)
{
	const struct finding_record *findings = record->findings.items;

	for (uint32_t i = 0; i < record->findings.count; i++) {
		_cleanup_free_ char *key =
			xasprintf("%" PRIu64 " %s %s", record->netns, findings[i].cause, findings[i].module);
		struct cause_count *count = count_of(metrics, findings[i].cause, findings[i].layer);
		bool is_new;
		uint64_t *last = findings[i].over ? NULL : map_put(&metrics->findings, key, &is_new);

		if (!last || !count)
			continue;
		count->begun += is_new || window > *last + GONE_WINDOWS;
		*last = window;
	}
}

/* Of this namespace: those not seen for a while are over. */
static void sweep_findings(struct agent_metrics *metrics, uint64_t netns, uint64_t window)
{
	char prefix[24];
	const void *key;
	void *value;
	size_t at = 0;

	snprintf(prefix, sizeof(prefix), "%" PRIu64 " ", netns);
	while (map_next(&metrics->findings, &at, &key, &value))
		if (strncmp(key, prefix, strlen(prefix)) == 0 && window - *(uint64_t *)value > GONE_WINDOWS)
			(void)map_remove(&metrics->findings, key);
}

/* Findings of a namespace that is gone end with it. */
static void forget_gone(struct agent_metrics *metrics)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&metrics->netns, &at, &key, &value)) {
		if (!is_gone(value))
			continue;
		sweep_findings(metrics, *(const uint64_t *)key, UINT64_MAX);
		(void)map_remove(&metrics->netns, key);
	}
}

void agent_metrics_add(struct agent_metrics *metrics, const struct graph *graph, const struct diagnosis_record *record)
{
	struct netns_window *window = map_put(&metrics->netns, &record->netns, NULL);

	metrics->windows++;
	if (!window)
		return;
	window->number++;
	window->time_ns = clock_monotonic_ns();
	if (graph)
		add_traffic(metrics, graph, window);
	add_answers(metrics, record);
	add_findings(metrics, record, window->number);
	sweep_findings(metrics, record->netns, window->number);
}

/* --- writing --- */

#define LABEL(name, value) ((struct openmetrics_label){(name), (value)})

static void write_one(struct openmetrics *out, const struct openmetrics_family *family, double value)
{
	openmetrics_begin(out, family);
	openmetrics_add(out, NULL, 0, value);
}

static void count_active(const struct agent_metrics *metrics)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&metrics->causes, &at, &key, &value))
		((struct cause_count *)value)->active = 0;
	at = 0;
	while (map_next(&metrics->findings, &at, &key, &value)) {
		const char *begin = strchr(key, ' ') + 1;
		_cleanup_free_ char *cause = xstrndup(begin, strcspn(begin, " "));
		struct cause_count *count = map_get(&metrics->causes, cause);

		if (count)
			count->active++;
	}
}

static void write_causes(struct openmetrics *out, const struct agent_metrics *metrics, bool active)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&metrics->causes, &at, &key, &value)) {
		const struct cause_count *count = value;
		struct openmetrics_label labels[] = {LABEL("cause", count->cause), LABEL("layer", count->layer)};

		openmetrics_add(out, labels, 2, (double)(active ? count->active : count->begun));
	}
}

static void write_findings(struct openmetrics *out, const struct agent_metrics *metrics)
{
	static const struct openmetrics_family active = {"nest_findings_active", OPENMETRICS_GAUGE, NULL,
							 "findings now, by cause and layer"},
					       begun = {"nest_findings", OPENMETRICS_COUNTER, NULL,
							"findings that began, by cause and layer"};

	count_active(metrics);
	if (metrics->causes.count == 0)
		return;
	openmetrics_begin(out, &active);
	write_causes(out, metrics, true);
	openmetrics_begin(out, &begun);
	write_causes(out, metrics, false);
}

static void write_services(struct openmetrics *out, const struct agent_metrics *metrics, bool answers)
{
	for (unsigned i = 0; i < metrics->service_count; i++) {
		const struct service_times *service = &metrics->services[i];
		const struct duration_histogram *histogram = answers ? &service->answer : &service->rtt;
		uint64_t total = 0;
		char port[8] = "other";
		struct openmetrics_label labels[] = {LABEL("role", service->client ? "client" : "server"),
						     LABEL("port", port)};

		for (unsigned k = 0; k <= AGENT_METRICS_BOUNDS; k++)
			total += histogram->counts[k];
		if (service->port)
			snprintf(port, sizeof(port), "%u", service->port);
		if (total > 0)
			openmetrics_add_histogram(out, labels, 2, bounds, AGENT_METRICS_BOUNDS, histogram->counts,
						  histogram->sum);
	}
}

static void write_times(struct openmetrics *out, const struct agent_metrics *metrics)
{
	static const struct openmetrics_family
		rtt = {"nest_rtt_seconds", OPENMETRICS_HISTOGRAM, "seconds",
		       "RTT of connections that send, one observation per connection and "
		       "second, by service port"},
		answer = {"nest_answer_seconds", OPENMETRICS_HISTOGRAM, "seconds",
			  "answer time of remote services, the median of each program and "
			  "second, by service port"};

	openmetrics_begin(out, &rtt);
	write_services(out, metrics, false);
	openmetrics_begin(out, &answer);
	write_services(out, metrics, true);
}

static void write_traffic(struct openmetrics *out, const struct agent_metrics *metrics)
{
	static const struct openmetrics_family connections = {"nest_connections", OPENMETRICS_GAUGE, NULL,
							      "TCP connections that were sampled"},
					       stalled = {
						       "nest_connections_stalled", OPENMETRICS_GAUGE, NULL,
						       "connections with data to send and no ACK in the last window"};
	struct netns_window sum = {};
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&metrics->netns, &at, &key, &value)) {
		sum.connections += ((struct netns_window *)value)->connections;
		sum.stalled += ((struct netns_window *)value)->stalled;
	}
	write_one(out, &connections, (double)sum.connections);
	write_one(out, &stalled, (double)sum.stalled);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static uint64_t resident_bytes(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	uint64_t pages = 0;
	char *word;

	if (buf_read_file(&text, "/proc/self/statm") < 0 || !text.len)
		return 0;
	word = strchr(text.data, ' ');
	if (word) {
		word[1 + strcspn(word + 1, " ")] = '\0';
		if (parse_decimal(word + 1, 0, UINT64_MAX, &pages) < 0)
			pages = 0;
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_own(struct openmetrics *out, const struct agent *agent)
{
	static const struct openmetrics_family
		build = {"nest_build", OPENMETRICS_GAUGE, NULL, "version of nest; always 1"},
		cpu = {"nest_agent_cpu_seconds", OPENMETRICS_COUNTER, "seconds", "CPU time of the agent"},
		memory = {"nest_agent_resident_bytes", OPENMETRICS_GAUGE, "bytes", "resident memory of the agent"},
		samples = {"nest_agent_samples", OPENMETRICS_COUNTER, NULL, "samples of the host"},
		lost = {"nest_agent_lost", OPENMETRICS_COUNTER, NULL, "samples and records that were lost"},
		store = {"nest_agent_store_bytes", OPENMETRICS_GAUGE, "bytes", "used size of the recording"},
		shed = {"nest_agent_shed_steps", OPENMETRICS_GAUGE, NULL,
			"steps of work shed to stay below --max-cpu; 0: none"},
		given_up = {"nest_agent_reports_lost", OPENMETRICS_COUNTER, NULL,
			    "reports of findings that were not delivered"};
	struct openmetrics_label version = LABEL("version", NEST_VERSION);
	struct rusage usage;

	openmetrics_begin(out, &build);
	openmetrics_add(out, &version, 1, 1);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		write_one(out, &cpu,
			  seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) +
				  (double)run_snapshots_cpu_ns(&agent->serve->diagnosis.snapshots) / NSEC_PER_SEC);
	write_one(out, &memory, (double)resident_bytes());
	write_one(out, &samples, (double)agent->metrics.samples);
	write_one(out, &lost, (double)agent->serve->diagnosis.snapshots.lost);
	write_one(out, &store, (double)store_size(agent->run->store));
	write_one(out, &shed, (double)agent->shed.step);
	write_one(out, &given_up, (double)notify_look(agent->notify).given_up);
}

/* Of the answer itself: written last, and always. */
static void write_series(struct openmetrics *out)
{
	static const struct openmetrics_family series = {"nest_series", OPENMETRICS_GAUGE, NULL,
							 "series of this answer"},
					       dropped = {"nest_series_dropped", OPENMETRICS_COUNTER, NULL,
							  "series left out beyond --max-series"};
	static uint64_t total;

	total += out->dropped;
	out->series_max = 0;
	write_one(out, &dropped, (double)total);
	write_one(out, &series, (double)out->series + 1);
}

/* --- the route --- */

/* Who does not name OpenMetrics but plain text gets the older format: promtool, VictoriaMetrics. */
static bool wants_old_format(const char *accept)
{
	return accept && strstr(accept, "text/plain") && !strstr(accept, "application/openmetrics-text");
}

static void answer_metrics(struct http_request *request)
{
	struct agent *agent = request->service;
	struct buf text = BUF_INIT((size_t)4 << 20);
	struct openmetrics out = {.out = &text,
				  .series_max = agent->options->max_series,
				  .old_format = wants_old_format(http_request_header(request, "Accept"))};

	forget_gone(&agent->metrics);
	write_own(&out, agent);
	write_findings(&out, &agent->metrics);
	write_traffic(&out, &agent->metrics);
	metric_write_all(&out, agent->serve->diagnosis.snapshots.snapshot);
	write_times(&out, &agent->metrics);
	write_series(&out);
	openmetrics_end(&out);
	http_answer(request, 200,
		    out.old_format ? "text/plain; version=0.0.4; charset=utf-8"
				   : "application/openmetrics-text; version=1.0.0; charset=utf-8",
		    &text);
	buf_done(&text);
}

static const struct http_route metrics_route = {
	.service = HTTP_AGENT,
	.method = "GET",
	.path = "/metrics",
	.summary = "metrics of the host and of the agent, as OpenMetrics; with Accept: text/plain the older format",
	.type = "application/openmetrics-text",
	.handle = answer_metrics,
};
HTTP_ROUTE(metrics_route);
