/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/buf.h"
#include "store/about.h"

static const struct field recording_fields[] = {
	FIELD(struct recording_record, version, ID, "schema version of the file"),
	FIELD(struct recording_record, nest, TEXT, "version of nest that wrote it"),
	FIELD(struct recording_record, time_ns, TIME, "start of the recording"),
	FIELD(struct recording_record, command, TEXT, "command line"),
};
RECORD_TYPE(recording_type, "recording", struct recording_record, recording_fields, "the recording itself");

static const struct field host_fields[] = {
	FIELD(struct host_record, host, TEXT, "host name"),
	FIELD(struct host_record, kernel, TEXT, "kernel version"),
	FIELD(struct host_record, machine, TEXT, "CPU architecture"),
	FIELD(struct host_record, boot_id, TEXT, "changes with every boot"),
	FIELD(struct host_record, cpus, COUNT, "number of CPUs"),
	FIELD(struct host_record, utc_offset, COUNT, "offset of local time from UTC, in seconds"),
};
RECORD_TYPE(host_type, "host", struct host_record, host_fields, "recorded host");

static const struct field sample_fields[] = {
	FIELD(struct sample_record, id, ID,
	      "milliseconds since 1970, made unique; first and last of other tables refer to it"),
	FIELD(struct sample_record, begin_time_ns, TIME, "start of the sample"),
	FIELD(struct sample_record, end_time_ns, TIME, "end of the sample"),
	FIELD(struct sample_record, begin_boot_ns, DURATION, "start, in time since boot"),
	FIELD(struct sample_record, end_boot_ns, DURATION, "end, in time since boot"),
	FIELD(struct sample_record, sockets_boot_ns, DURATION, "when the sockets were read, in time since boot",
	      .zero_is_unknown = true),
	FIELD(struct sample_record, pace_ns, DURATION, "time to the next sample, as planned"),
	FIELD(struct sample_record, refused, COUNT, "records lost because a table was full"),
	FIELD(struct sample_record, left_out, COUNT,
	      "samples left out before this one, evenly spaced: the network was at rest", .zero_is_unknown = true),
	FIELD(struct sample_record, left_out_since, ID, "id of the sample before those", .zero_is_unknown = true),
};
RECORD_TYPE(recorded_sample_type, "sample", struct sample_record, sample_fields, "one sample of the host");

static const struct field attached_fields[] = {
	FIELD(struct attached_record, time_ns, TIME, "time of attaching"),
	FIELD(struct attached_record, event, TEXT, "event"),
	FIELD(struct attached_record, hook, TEXT, "kernel hook"),
	FIELD(struct attached_record, reason, TEXT, "why it could not be attached"),
};
RECORD_TYPE(attached_type, "attached", struct attached_record, attached_fields, "events attached for the recording");

static const struct field loss_fields[] = {
	FIELD(struct loss_record, time_ns, TIME, "time of detection"),
	FIELD(struct loss_record, source, TEXT, "event or table"),
	FIELD(struct loss_record, count, COUNT, "number of lost records"),
};
RECORD_TYPE(loss_type, "loss", struct loss_record, loss_fields, "lost records");

static const struct field mark_fields[] = {
	FIELD(struct mark_record, time_ns, TIME, "time of the mark"),
	FIELD(struct mark_record, label, TEXT, "text of the mark"),
};
RECORD_TYPE(mark_type, "mark", struct mark_record, mark_fields, "mark set by the user");

static const struct field column_fields[] = {
	FIELD(struct column_record, table, TEXT, "table"),        FIELD(struct column_record, column, TEXT, "column"),
	FIELD(struct column_record, kind, TEXT, "kind of value"), FIELD(struct column_record, unit, TEXT, "unit"),
	FIELD(struct column_record, help, TEXT, "meaning"),
};
RECORD_TYPE(column_type, "column", struct column_record, column_fields, "column of a table of the recording");

static const struct field moment_fields[] = {
	FIELD(struct moment_record, time_ns, TIME, "time of the record"),
};
RECORD_TYPE(moment_type, "moment", struct moment_record, moment_fields, "point in time");

static const struct field verdict_fields[] = {
	FIELD(struct verdict_record, time_ns, TIME, "end of the window"),
	FIELD(struct verdict_record, netns, ID, "network namespace", .zero_is_unknown = true),
	FIELD(struct verdict_record, start_ns, TIME, "start of the window"),
	FIELD(struct verdict_record, findings, COUNT, "number of findings"),
	FIELD(struct verdict_record, healthy, BOOL, "nothing reached the reporting threshold"),
	FIELD(struct verdict_record, lost, COUNT, "lost records"),
};
RECORD_TYPE(verdict_type, "verdict", struct verdict_record, verdict_fields,
	    "diagnosis; its findings have the same time");

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
