/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/oops_known.h"

#include <errno.h>
#include <string.h>

#include "diagnose/infer/diagnosis.h"
#include "store/recording.h"
#include "store/rows.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
/* A report is the end of what went wrong; a finding covers the seconds before its time. */
#define BEFORE_NS (10 * NSEC_PER_SEC)
#define AFTER_NS  (3 * NSEC_PER_SEC)
/* Of one moment. */
#define FINDINGS_MAX 16

static bool is_known(const struct oops *oops, const struct finding_record *finding)
{
	vec_each(&oops->findings, known)
		if (strcmp(known->cause, finding->cause) == 0 && strcmp(known->module, finding->module) == 0)
			return true;
	return false;
}

static const char *keep(struct oops *oops, const char *text)
{
	return text ? oops_keep(oops, text, strlen(text)) : NULL;
}

static int add_findings(struct oops *oops, struct recording *recording, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = {.count = 2, .types = {&moment_type, &finding_type}};
	uint64_t time_ns = oops->report.time_ns;
	struct finding_record finding;
	struct moment_record moment;
	int r = rows_open(recording,
			  &(struct rows_request){.name = finding_type.name,
						 .shape = &shape,
						 .from_ns = time_ns > BEFORE_NS ? time_ns - BEFORE_NS : 0,
						 .to_ns = time_ns + AFTER_NS},
			  &rows, why);

	while (r == 0 && (r = rows_next(rows, (void *[]){&moment, &finding}, why)) > 0) {
		if (finding.cause && finding.module && oops->findings.count < FINDINGS_MAX && !is_known(oops, &finding))
			vec_push(&oops->findings, (struct oops_finding){.cause = keep(oops, finding.cause),
									.module = keep(oops, finding.module),
									.because = keep(oops, finding.because)});
		rows_free_parts(&shape, (void *[]){&moment, &finding});
		r = 0;
	}
	oops_settle(oops);
	return r;
}

int oops_known_add(struct oops_list *list, const char *path, struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	int covered = 0, r = recording_open(path, &recording, why);

	if (r < 0)
		return r;
	if (!recording_has(recording, finding_type.name))
		return 0;
	vec_each(&list->items, item) {
		/* Without a wall clock time nobody knows which moment of the recording it was. */
		if ((*item)->report.time_ns == UINT64_MAX ||
		    (*item)->report.time_ns + AFTER_NS < recording_begin_ns(recording))
			continue;
		r = add_findings(*item, recording, why);
		if (r < 0)
			return r;
		covered++;
	}
	return covered;
}

int oops_known_log(const char *path, struct buf *text, struct oops_times *ret_times, struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&oops_log_type);
	struct oops_log_line line;
	int r = recording_open(path, &recording, why);

	if (r < 0)
		return r;
	if (!recording_has(recording, oops_log_type.name))
		return why_set(why, -ENODATA,
			       "it has no kernel log: nest record follows it where it may read "
			       "/dev/kmsg; nest oops LOG -f RECORDING reads another log");
	r = rows_open(recording, &(struct rows_request){.name = oops_log_type.name, .shape = &shape}, &rows, why);
	while (r == 0 && (r = rows_next(rows, (void *[]){&line}, why)) > 0) {
		buf_add_text(text, line.text ? line.text : "");
		buf_add_char(text, '\n');
		vec_push(&ret_times->items, line.time_ns);
		rows_free_parts(&shape, (void *[]){&line});
		r = text->over ? why_set(why, -E2BIG, "its kernel log is larger than %zu MiB", text->cap >> 20) : 0;
	}
	return r;
}

void oops_known_date(struct oops_list *list, const struct oops_times *times)
{
	vec_each(&list->items, item) {
		uint32_t line = (*item)->report.log_line;

		if (line > 0 && line <= times->items.count)
			(*item)->report.time_ns = times->items.items[line - 1];
	}
}

void oops_times_done(struct oops_times *times)
{
	vec_done(&times->items);
}
