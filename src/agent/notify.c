/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "fleet/transfer.h"
#include "view/json.h"

#define JOURNAL   "/run/systemd/journal/socket"
#define TRIES_MAX 5
#define QUEUE_MAX 64
#define KNOWN_MAX 10000
#define ANSWER_NS (10 * NSEC_PER_SEC)
#define SCHEMA    "nest.finding/1"

enum target_kind { TARGET_JOURNAL, TARGET_SOCKET, TARGET_WEBHOOK };

/* A report on its way to a webhook. */
struct report {
	struct target *target;
	char *body;
	size_t len;
	unsigned tries;
	struct loop_source *timer; /* of the next try */
};

struct target {
	struct notify *notify;
	enum target_kind kind;
	struct sockaddr_un address; /* of a socket */
	struct fleet_url url;
	char *path;
};

struct notify {
	struct loop *loop;
	const struct notify_options *options;
	int fd; /* a datagram socket, for all of them */
	struct transfer_client *client;
	VEC(struct target *) targets;
	VEC(struct report *) reports;
	struct map known; /* "netns cause module" -> when it was reported */
	struct notify_figures figures;
};

/* --- targets --- */

static int set_socket(struct target *target, const char *path, struct why *why)
{
	target->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (*path != '/' || strlen(path) >= sizeof(target->address.sun_path))
		return why_set(why, -EINVAL, "--on-finding: unix:PATH needs an absolute path of at most %zu bytes",
			       sizeof(target->address.sun_path) - 1);
	memcpy(target->address.sun_path, path, strlen(path));
	return 0;
}

/* The part before the path is that of a server of the fleet. */
static int set_webhook(struct target *target, const char *text, struct why *why)
{
	const char *host = strstr(text, "://") + 3, *path = host + strcspn(host, "/?#");
	_cleanup_free_ char *base = xstrndup(text, (size_t)(path - text));

	target->path = *path == '/' ? xstrndup(path, strcspn(path, "#")) : xstrdup("/");
	return fleet_url_parse(base, &target->url, why);
}

static int target_set(struct target *target, const char *text, struct why *why)
{
	if (strcmp(text, "journal") == 0) {
		target->kind = TARGET_JOURNAL;
		return set_socket(target, JOURNAL, why);
	}
	if (strncmp(text, "unix:", 5) == 0) {
		target->kind = TARGET_SOCKET;
		return set_socket(target, text + 5, why);
	}
	if (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) {
		target->kind = TARGET_WEBHOOK;
		return set_webhook(target, text, why);
	}
	return why_set(why, -EINVAL, "--on-finding: '%.60s' is not journal, unix:PATH or an http(s) URL", text);
}

static void target_free(struct target *target)
{
	fleet_url_done(&target->url);
	free(target->path);
	free(target);
}

int notify_check(const struct notify_options *options, struct why *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->targets.count; i++) {
		struct target *target = xzalloc(sizeof(*target));

		r = target_set(target, options->targets.items[i], why);
		target_free(target);
	}
	return r;
}

/* --- webhooks --- */

static void drop_report(struct report *report)
{
	struct notify *notify = report->target->notify;

	for (size_t i = 0; i < notify->reports.count; i++)
		if (notify->reports.items[i] == report) {
			notify->reports.items[i] = notify->reports.items[--notify->reports.count];
			break;
		}
	if (report->timer)
		loop_remove(notify->loop, report->timer);
	free(report->body);
	free(report);
}

static void post(struct report *report);

static void on_retry(void *context, uint64_t expirations _unused_)
{
	struct report *report = context;

	loop_remove(report->target->notify->loop, take_ptr(report->timer));
	post(report);
}

/* 1, 2, 4 and 8 seconds apart. */
static void try_later(struct report *report)
{
	struct notify *notify = report->target->notify;
	uint64_t wait_ns = NSEC_PER_SEC << (report->tries - 1);

	if (report->tries < TRIES_MAX &&
	    loop_add_timer(notify->loop, wait_ns, 0, on_retry, report, &report->timer) == 0)
		return;
	notify->figures.given_up++;
	drop_report(report);
}

static void on_answer(void *context, const struct transfer_answer *answer)
{
	struct report *report = context;

	if (answer->error == 0 && answer->status >= 200 && answer->status < 300)
		drop_report(report);
	else
		try_later(report);
}

static void post(struct report *report)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	struct target *target = report->target;
	struct transfer_request request = {.url = &target->url,
					   .path = target->path,
					   .headers = headers,
					   .body = report->body,
					   .body_len = report->len,
					   .ca_file = target->notify->options->ca_file,
					   .timeout_ns = ANSWER_NS,
					   .answer_max = 65536,
					   .done = on_answer,
					   .context = report};
	struct why why;

	report->tries++;
	if (transfer_start(target->notify->client, &request, &why) < 0)
		try_later(report);
}

static void add_report(struct target *target, const struct buf *json)
{
	struct notify *notify = target->notify;
	struct report *report;

	if (notify->reports.count >= QUEUE_MAX) {
		notify->figures.given_up++;
		return;
	}
	report = xzalloc(sizeof(*report));
	report->target = target;
	report->body = xstrndup(buf_text(json), json->len);
	report->len = json->len;
	vec_push(&notify->reports, report);
	post(report);
}

/* --- sockets --- */

static void send_datagram(struct target *target, const struct buf *text)
{
	struct notify *notify = target->notify;

	if (sendto(notify->fd, buf_text(text), text->len, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)&target->address, sizeof(target->address)) < 0)
		notify->figures.given_up++;
}

/* A line of the journal's own protocol: no newline in a value. */
static void add_entry(struct buf *out, const char *name, const char *value)
{
	buf_add_format(out, "%s=", name);
	text_add_terminal(out, value, strlen(value));
	buf_add_char(out, '\n');
}

static void send_journal(struct target *target, const struct finding_record *finding)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536), message = BUF_INIT(32768);

	buf_add_format(&message, "%s: %s", finding->cause, finding->because ?: "");
	add_entry(&text, "MESSAGE", buf_text(&message));
	add_entry(&text, "PRIORITY", finding->severity == SEVERITY_HIGH ? "4" : "5");
	add_entry(&text, "SYSLOG_IDENTIFIER", "nest");
	add_entry(&text, "NEST_CAUSE", finding->cause);
	add_entry(&text, "NEST_LAYER", finding->layer);
	add_entry(&text, "NEST_MODULE", finding->module);
	send_datagram(target, &text);
}

/* --- findings --- */

static bool is_due(struct notify *notify, const struct diagnosis_record *diagnosis,
		   const struct finding_record *finding)
{
	_cleanup_free_ char *key = xasprintf("%" PRIu64 " %s %s", diagnosis->netns, finding->cause, finding->module);
	uint64_t now_ns = clock_monotonic_ns(), *last;
	bool is_new;

	if (notify->known.count >= KNOWN_MAX) {
		map_done(&notify->known);
		notify->known = MAP_INIT(0, sizeof(uint64_t), KNOWN_MAX);
	}
	last = map_put(&notify->known, key, &is_new);
	if (!last || (!is_new && now_ns - *last < notify->options->debounce_ns))
		return false;
	*last = now_ns;
	return true;
}

void notify_finding(struct notify *notify, const struct diagnosis_record *diagnosis,
		    const struct finding_record *finding)
{
	_cleanup_buf_ struct buf json = BUF_INIT(1 << 20), object = BUF_INIT(1 << 20);

	if (notify->targets.count == 0 || !is_due(notify, diagnosis, finding))
		return;
	notify->figures.reported++;
	buf_add_text(&json, "{\"schema\":\"" SCHEMA "\",\"host\":\"");
	text_add_json(&json, diagnosis->host, strlen(diagnosis->host));
	buf_add_format(&json, "\",\"netns\":%" PRIu64 ",\"time_ns\":%" PRIu64 ",", diagnosis->netns, clock_real_ns());
	json_add_object(&object, &finding_type, finding);
	buf_add_text(&json, buf_text(&object) + 1);
	vec_each(&notify->targets, target)
		if ((*target)->kind == TARGET_JOURNAL)
			send_journal(*target, finding);
		else if ((*target)->kind == TARGET_SOCKET)
			send_datagram(*target, &json);
		else
			add_report(*target, &json);
}

int notify_new(struct loop *loop, const struct notify_options *options, struct notify **ret_notify, struct why *why)
{
	struct notify *notify = xzalloc(sizeof(*notify));
	int r = 0;

	notify->loop = loop;
	notify->options = options;
	notify->known = MAP_INIT(0, sizeof(uint64_t), KNOWN_MAX);
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (size_t i = 0; r == 0 && i < options->targets.count; i++) {
		struct target *target = xzalloc(sizeof(*target));

		target->notify = notify;
		vec_push(&notify->targets, target);
		r = target_set(target, options->targets.items[i], why);
		if (r == 0 && target->kind == TARGET_WEBHOOK && !notify->client)
			r = transfer_client_new(loop, &notify->client, why);
	}
	if (r < 0)
		notify_free(notify);
	else
		*ret_notify = notify;
	return r;
}

void notify_free(struct notify *notify)
{
	if (!notify)
		return;
	transfer_client_free(notify->client);
	while (notify->reports.count > 0)
		drop_report(notify->reports.items[0]);
	vec_done(&notify->reports);
	vec_each(&notify->targets, target)
		target_free(*target);
	vec_done(&notify->targets);
	map_done(&notify->known);
	if (notify->fd >= 0)
		(void)close(notify->fd);
	free(notify);
}

void notify_account(const struct notify *notify, struct buf *more)
{
	if (!notify || notify->targets.count == 0)
		return;
	buf_add_format(more, "%s%" PRIu64 " finding%s reported", more->len ? ", " : "", notify->figures.reported,
		       text_plural(notify->figures.reported));
	if (notify->figures.given_up + notify->reports.count > 0)
		buf_add_format(more, ", %" PRIu64 " report%s not delivered",
			       notify->figures.given_up + notify->reports.count,
			       text_plural(notify->figures.given_up + notify->reports.count));
}

struct notify_figures notify_look(const struct notify *notify)
{
	return notify->figures;
}
