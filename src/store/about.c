/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/buf.h"
#include "store/about.h"

static const struct field recording_fields[] = {
	FIELD(struct recording_record, version, ID, "version of the file's layout"),
	FIELD(struct recording_record, nest, TEXT, "version of the program that wrote it"),
	FIELD(struct recording_record, time_ns, TIME, "when the recording began"),
	FIELD(struct recording_record, command, TEXT, "what was asked for"),
};
RECORD_TYPE(recording_type, "recording", struct recording_record, recording_fields, "the recording itself");

static const struct field host_fields[] = {
	FIELD(struct host_record, host, TEXT, "name of the host"),
	FIELD(struct host_record, kernel, TEXT, "version of its kernel"),
	FIELD(struct host_record, machine, TEXT, "its processor's architecture"),
	FIELD(struct host_record, boot_id, TEXT, "changes with every boot"),
	FIELD(struct host_record, cpus, COUNT, "processors"),
	FIELD(struct host_record, utc_offset, COUNT, "seconds that its clock on the wall is ahead of UTC"),
};
RECORD_TYPE(host_type, "host", struct host_record, host_fields, "the host that was recorded");

static const struct field sample_fields[] = {
	FIELD(struct sample_record, id, ID, "milliseconds since 1970, made unique: first and last of other tables"),
	FIELD(struct sample_record, begin_time_ns, TIME, "when looking began"),
	FIELD(struct sample_record, end_time_ns, TIME, "when it ended"),
	FIELD(struct sample_record, begin_boot_ns, DURATION, "the same in time since boot"),
	FIELD(struct sample_record, end_boot_ns, DURATION, "the same in time since boot"),
	FIELD(struct sample_record, sockets_boot_ns, DURATION, "when the sockets were read, in time since boot",
	      .zero_is_unknown = true),
	FIELD(struct sample_record, refused, COUNT, "records that were lost because a table was full"),
};
RECORD_TYPE(recorded_sample_type, "sample", struct sample_record, sample_fields, "one look at the host");

static const struct field attached_fields[] = {
	FIELD(struct attached_record, time_ns, TIME, "when"),
	FIELD(struct attached_record, event, TEXT, "event"),
	FIELD(struct attached_record, hook, TEXT, "where in the kernel it is seen"),
	FIELD(struct attached_record, reason, TEXT, "why it could not be attached"),
};
RECORD_TYPE(attached_type, "attached", struct attached_record, attached_fields, "instrumentation of the recording");

static const struct field loss_fields[] = {
	FIELD(struct loss_record, time_ns, TIME, "when it was noticed"),
	FIELD(struct loss_record, source, TEXT, "where"),
	FIELD(struct loss_record, count, COUNT, "how many records were lost"),
};
RECORD_TYPE(loss_type, "loss", struct loss_record, loss_fields, "records that are missing");

static const struct field mark_fields[] = {
	FIELD(struct mark_record, time_ns, TIME, "when"),
	FIELD(struct mark_record, label, TEXT, "by whom"),
};
RECORD_TYPE(mark_type, "mark", struct mark_record, mark_fields, "a moment that somebody marked");

static const struct field column_fields[] = {
	FIELD(struct column_record, table, TEXT, "table"),
	FIELD(struct column_record, column, TEXT, "column"),
	FIELD(struct column_record, kind, TEXT, "what the value is"),
	FIELD(struct column_record, unit, TEXT, "its unit"),
	FIELD(struct column_record, help, TEXT, "what it means"),
};
RECORD_TYPE(column_type, "column", struct column_record, column_fields, "a column of the recording's tables");

static const struct field moment_fields[] = {
	FIELD(struct moment_record, time_ns, TIME, "when"),
};
RECORD_TYPE(moment_type, "moment", struct moment_record, moment_fields, "a point in time");

static const struct field verdict_fields[] = {
	FIELD(struct verdict_record, time_ns, TIME, "end of the time that it is about"),
	FIELD(struct verdict_record, netns, ID, "network namespace", .zero_is_unknown = true),
	FIELD(struct verdict_record, start_ns, TIME, "beginning of the time that it is about"),
	FIELD(struct verdict_record, findings, COUNT, "how many findings there were"),
	FIELD(struct verdict_record, healthy, BOOL, "nothing reached the reporting threshold"),
	FIELD(struct verdict_record, lost, COUNT, "records that could not be taken"),
};
RECORD_TYPE(verdict_type, "verdict", struct verdict_record, verdict_fields,
	    "a diagnosis; its findings have the same time");

const char *about_kind_name(enum field_kind kind)
{
	static const char *const names[] = {
		[KIND_COUNT] = "count", [KIND_ID] = "number",         [KIND_HEX] = "handle",
		[KIND_BOOL] = "bool",   [KIND_BYTES] = "bytes",       [KIND_DURATION] = "nanoseconds",
		[KIND_TIME] = "time",   [KIND_RATIO] = "real",        [KIND_ENUM] = "name",
		[KIND_FLAGS] = "flags", [KIND_ADDR] = "address",      [KIND_ENDPOINT] = "address and port",
		[KIND_TEXT] = "text",   [KIND_STACK] = "stack, JSON", [KIND_LIST] = "list, JSON",
	};

	return kind < ARRAY_SIZE(names) && names[kind] ? names[kind] : "text";
}

static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = min_of(strlen(from), size);

	memset(to, 0, size);
	memcpy(to, from, n);
}

void host_record_fill(struct host_record *host)
{
	_cleanup_buf_ struct buf boot = BUF_INIT(256);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	time_t now = time(NULL);
	struct utsname names;
	struct tm local;

	memset(host, 0, sizeof(*host));
	host->cpus = cpus > 0 ? (uint32_t)cpus : UINT32_MAX;
	host->utc_offset = localtime_r(&now, &local) ? (int32_t)local.tm_gmtoff : INT32_MIN;
	if (uname(&names) == 0) {
		copy_text(host->host, sizeof(host->host), names.nodename);
		copy_text(host->kernel, sizeof(host->kernel), names.release);
		copy_text(host->machine, sizeof(host->machine), names.machine);
	}
	if (buf_read_file(&boot, "/proc/sys/kernel/random/boot_id") == 0 && boot.len > 1)
		copy_text(host->boot_id, sizeof(host->boot_id),
			  (boot.data[strcspn(boot.data, "\n")] = '\0', boot.data));
}
