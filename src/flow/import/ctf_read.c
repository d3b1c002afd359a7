/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/import/ctf_read.h"

#include <babeltrace2/babeltrace.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"

#define LIBRARY "libbabeltrace2.so.0"
/* Limits on the search for traces. */
#define DEPTH_MAX       8
#define DIRECTORIES_MAX 256
#define CLASSES_MAX     65536
#define THREADS_MAX     65536
#define BUILD_ID_MAX    64
#define METADATA_MAX    ((size_t)64 << 20)
/* CPU time within which the library must make progress. */
#define PATIENCE_SECONDS 10
#define BATCHES_A_LOOK   256

/* Functions used from the library. */
/* clang-format off */
#define FUNCTIONS(x) \
	x(bt_plugin_find) \
	x(bt_plugin_borrow_source_component_class_by_name_const) \
	x(bt_plugin_borrow_filter_component_class_by_name_const) \
	x(bt_value_map_create) \
	x(bt_value_map_insert_empty_array_entry) \
	x(bt_value_array_append_string_element) \
	x(bt_value_put_ref) \
	x(bt_graph_create) \
	x(bt_graph_add_source_component) \
	x(bt_graph_add_filter_component) \
	x(bt_graph_add_simple_sink_component) \
	x(bt_graph_connect_ports) \
	x(bt_graph_run) \
	x(bt_component_source_get_output_port_count) \
	x(bt_component_source_borrow_output_port_by_index_const) \
	x(bt_component_filter_borrow_input_port_by_index_const) \
	x(bt_component_filter_borrow_output_port_by_index_const) \
	x(bt_component_sink_borrow_input_port_by_index_const) \
	x(bt_message_iterator_next) \
	x(bt_message_get_type) \
	x(bt_message_put_ref) \
	x(bt_message_event_borrow_event_const) \
	x(bt_message_event_borrow_default_clock_snapshot_const) \
	x(bt_message_discarded_events_get_count) \
	x(bt_message_stream_end_borrow_stream_const) \
	x(bt_stream_get_name) \
	x(bt_clock_snapshot_get_ns_from_origin) \
	x(bt_event_borrow_class_const) \
	x(bt_event_borrow_payload_field_const) \
	x(bt_event_borrow_common_context_field_const) \
	x(bt_event_borrow_specific_context_field_const) \
	x(bt_event_borrow_stream_const) \
	x(bt_event_class_get_name) \
	x(bt_event_class_borrow_stream_class_const) \
	x(bt_stream_class_borrow_default_clock_class_const) \
	x(bt_stream_borrow_trace_const) \
	x(bt_trace_borrow_environment_entry_value_by_name_const) \
	x(bt_value_get_type) \
	x(bt_value_integer_signed_get) \
	x(bt_value_string_get) \
	x(bt_field_structure_borrow_member_field_by_name_const) \
	x(bt_field_get_class_type) \
	x(bt_field_integer_unsigned_get_value) \
	x(bt_field_integer_signed_get_value) \
	x(bt_field_string_get_value) \
	x(bt_field_array_get_length) \
	x(bt_field_array_borrow_element_field_by_index_const) \
	x(bt_current_thread_take_error) \
	x(bt_error_get_cause_count) \
	x(bt_error_borrow_cause_by_index) \
	x(bt_error_cause_get_message)
/* clang-format on */

struct library {
#define MEMBER(name) typeof(&name) name;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Meaning of an event class. */
struct class
{
	enum ctf_kind kind; /* 0: ignored */
	bool timed;
};

struct reader {
	struct library bt;
	int fd;
	const struct ctf_directories *directories;
	struct map classes; /* bt_event_class * -> struct class */
	struct map threads; /* set of announced tids */
	uint64_t untimed;
	uint64_t batches;
	size_t used;
	uint8_t buffer[65536];
};

/* --- directories -------------------------------------------------------------------------------------------------- */

static bool is_trace(const char *path)
{
	_cleanup_free_ char *metadata = xasprintf("%s/metadata", path);
	struct stat st;

	return stat(metadata, &st) == 0 && S_ISREG(st.st_mode);
}

static void find(const char *path, unsigned depth, struct ctf_directories *directories)
{
	struct dirent *entry;
	DIR *dir;

	if (is_trace(path))
		vec_push(&directories->items, xstrdup(path));
	dir = depth < DEPTH_MAX ? opendir(path) : NULL;
	if (!dir)
		return;
	while ((entry = readdir(dir)) && directories->items.count < DIRECTORIES_MAX)
		if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && entry->d_name[0] != '.') {
			_cleanup_free_ char *below = xasprintf("%s/%s", path, entry->d_name);

			find(below, depth + 1, directories);
		}
	closedir(dir);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ctf_directories_find(const char *path, struct ctf_directories *ret_directories)
{
	*ret_directories = (struct ctf_directories){};
	find(path, 0, ret_directories);
	vec_sort(&ret_directories->items, by_name);
}

void ctf_directories_done(struct ctf_directories *directories)
{
	vec_each(&directories->items, item)
		free(*item);
	vec_done(&directories->items);
	vec_each(&directories->torn, item)
		free(*item);
	vec_done(&directories->torn);
}

#define METADATA_MAGIC UINT32_C(0x75d11d57)
/* Magic, UUID, checksum, content size and packet size in bits, five bytes of properties. */
#define METADATA_HEADER  37
#define METADATA_CONTENT 24
#define METADATA_PACKET  28

static uint32_t load_u32(const uint8_t *at, bool swap)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? __builtin_bswap32(value) : value;
}

static int check_packets(const uint8_t *data, size_t size, struct why *why)
{
	bool swap;

	if (size < 4 || (load_u32(data, false) != METADATA_MAGIC && load_u32(data, true) != METADATA_MAGIC))
		return 0; /* plain text */
	swap = load_u32(data, false) != METADATA_MAGIC;
	for (size_t at = 0, packet; at < size; at += packet) {
		size_t content = size - at < METADATA_HEADER ? 0 : load_u32(data + at + METADATA_CONTENT, swap) / 8;

		packet = content ? load_u32(data + at + METADATA_PACKET, swap) / 8 : 0;
		if (load_u32(data + at, swap) != METADATA_MAGIC || content < METADATA_HEADER || packet < content ||
		    packet > size - at)
			return why_set(why, -EBADMSG, "metadata truncated or damaged at byte %zu of %zu", at, size);
	}
	return 0;
}

int ctf_check_metadata(const char *directory, struct why *why)
{
	_cleanup_free_ char *path = xasprintf("%s/metadata", directory);
	_cleanup_buf_ struct buf text = BUF_INIT(METADATA_MAX);
	int r = buf_read_file(&text, path);

	if (r < 0)
		return why_set(why, r, "%s: %s", path, strerror(-r));
	return check_packets((const uint8_t *)text.data, text.len, why);
}

/* --- the pipe ----------------------------------------------------------------------------------------------------- */

static void flush(struct reader *r)
{
	for (size_t at = 0; at < r->used;) {
		ssize_t n = write(r->fd, r->buffer + at, r->used - at);

		if (n < 0 && errno != EINTR)
			_exit(1); /* the reader is gone */
		at += n > 0 ? (size_t)n : 0;
	}
	r->used = 0;
}

static void send_record(struct reader *r, struct ctf_record record, const char *text)
{
	record.text_bytes = text ? (uint32_t)strnlen(text, CTF_TEXT_MAX) : 0;
	if (r->used + sizeof(record) + record.text_bytes > sizeof(r->buffer))
		flush(r);
	memcpy(r->buffer + r->used, &record, sizeof(record));
	r->used += sizeof(record);
	if (text)
		memcpy(r->buffer + r->used, text, record.text_bytes);
	r->used += record.text_bytes;
}

/* The root cause comes first in the library's error list. */
static void fail(struct reader *r)
{
	const bt_error *error = r->bt.bt_current_thread_take_error();
	_cleanup_free_ char *text = NULL;
	const char *said = NULL;

	if (error && r->bt.bt_error_get_cause_count(error))
		said = r->bt.bt_error_cause_get_message(r->bt.bt_error_borrow_cause_by_index(error, 0));
	text = xasprintf("libbabeltrace2 (Debian package libbabeltrace2-0) %s%s",
			 said && *said ? "says: " : "cannot read the trace", said ? said : "");
	send_record(r, (struct ctf_record){.kind = CTF_FAILED}, text);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

static const bt_field *member(const struct reader *r, const bt_field *structure, const char *name)
{
	if (!structure || r->bt.bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return NULL;
	return r->bt.bt_field_structure_borrow_member_field_by_name_const(structure, name);
}

static bool number(const struct reader *r, const bt_field *field, uint64_t *ret_value)
{
	bt_field_class_type type = field ? r->bt.bt_field_get_class_type(field) : 0;

	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*ret_value = r->bt.bt_field_integer_unsigned_get_value(field);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*ret_value = (uint64_t)r->bt.bt_field_integer_signed_get_value(field);
	else
		return false;
	return true;
}

static uint64_t number_or_0(const struct reader *r, const bt_field *structure, const char *name)
{
	uint64_t value;

	return number(r, member(r, structure, name), &value) ? value : 0;
}

static const char *text_of(const struct reader *r, const bt_field *structure, const char *name)
{
	const bt_field *field = member(r, structure, name);

	if (!field || r->bt.bt_field_get_class_type(field) != BT_FIELD_CLASS_TYPE_STRING)
		return NULL;
	return r->bt.bt_field_string_get_value(field);
}

/* Stream or event context field. */
static const bt_field *context(const struct reader *r, const bt_event *event, const char *name)
{
	const bt_field *field = member(r, r->bt.bt_event_borrow_common_context_field_const(event), name);

	return field ? field : member(r, r->bt.bt_event_borrow_specific_context_field_const(event), name);
}

/* With per-process buffers, the trace environment names the process. */
static const bt_value *environment(const struct reader *r, const bt_event *event, const char *name, bt_value_type type)
{
	const bt_trace *trace = r->bt.bt_stream_borrow_trace_const(r->bt.bt_event_borrow_stream_const(event));
	const bt_value *value = r->bt.bt_trace_borrow_environment_entry_value_by_name_const(trace, name);

	return value && r->bt.bt_value_get_type(value) == type ? value : NULL;
}

static void announce_thread(struct reader *r, const bt_event *event, const struct ctf_record *record)
{
	const bt_field *field = context(r, event, "procname");
	const char *name = NULL;
	const bt_value *value;
	bool new;

	if (!map_put(&r->threads, &record->tid, &new) || !new)
		return;
	if (field && r->bt.bt_field_get_class_type(field) == BT_FIELD_CLASS_TYPE_STRING)
		name = r->bt.bt_field_string_get_value(field);
	value = name ? NULL : environment(r, event, "procname", BT_VALUE_TYPE_STRING);
	if (value)
		name = r->bt.bt_value_string_get(value);
	if (name)
		send_record(r, (struct ctf_record){.kind = CTF_NAME, .pid = record->pid, .tid = record->tid}, name);
}

/* Process and thread. Either may be missing: that is flagged. */
static void take_task(struct reader *r, const bt_event *event, struct ctf_record *record)
{
	uint64_t pid = 0, tid = 0;
	const bt_value *value;

	if (!number(r, context(r, event, "vpid"), &pid) && !number(r, context(r, event, "pid"), &pid)) {
		value = environment(r, event, "vpid", BT_VALUE_TYPE_SIGNED_INTEGER);
		pid = value ? (uint64_t)r->bt.bt_value_integer_signed_get(value) : 0;
	}
	if (!number(r, context(r, event, "vtid"), &tid) && !number(r, context(r, event, "tid"), &tid))
		record->flags |= CTF_NO_THREAD;
	record->tid = (uint32_t)(tid ? tid : pid);
	record->pid = (uint32_t)(pid ? pid : tid);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum ctf_kind kind;
} known[] = {
	{"lttng_ust_cyg_profile:func_entry", CTF_CALL},
	{"lttng_ust_cyg_profile:func_exit", CTF_RETURN},
	{"lttng_ust_cyg_profile_fast:func_entry", CTF_CALL},
	{"lttng_ust_cyg_profile_fast:func_exit", CTF_RETURN},
	{"lttng_ust_statedump:start", CTF_PROGRAM},
	{"lttng_ust_statedump:bin_info", CTF_MODULE},
	{"lttng_ust_statedump:build_id", CTF_BUILD_ID},
	{"lttng_ust_lib:load", CTF_MODULE},
	{"lttng_ust_lib:build_id", CTF_BUILD_ID},
	{"lttng_ust_lib:unload", CTF_UNLOAD},
	{"lttng_ust_dl:dlopen", CTF_MODULE},
	{"lttng_ust_dl:build_id", CTF_BUILD_ID},
	{"lttng_ust_dl:dlclose", CTF_UNLOAD},
};

static struct class class_of(struct reader *r, const bt_event *event)
{
	const bt_event_class *bt_class = r->bt.bt_event_borrow_class_const(event);
	const char *name = r->bt.bt_event_class_get_name(bt_class);
	bool new;
	struct class *class = map_put(&r->classes, &bt_class, &new);

	if (!class)
		return (struct class){};
	if (!new)
		return *class;
	for (size_t i = 0; name && i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			class->kind = known[i].kind;
	class->timed = r->bt.bt_stream_class_borrow_default_clock_class_const(
		r->bt.bt_event_class_borrow_stream_class_const(bt_class));
	return *class;
}

static void take_module(const struct reader *r, const bt_field *payload, struct ctf_record *record)
{
	uint64_t is_pic = 1;

	record->bytes = number_or_0(r, payload, "memsz");
	if (number(r, member(r, payload, "is_pic"), &is_pic) && !is_pic)
		record->flags |= CTF_FIXED;
}

static const char *take_build_id(const struct reader *r, const bt_field *payload, char *text)
{
	const bt_field *field = member(r, payload, "build_id");
	uint64_t value, n;

	if (!field || !bt_field_class_type_is(r->bt.bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_ARRAY))
		return NULL;
	n = min_of(r->bt.bt_field_array_get_length(field), (uint64_t)BUILD_ID_MAX);
	for (uint64_t i = 0; i < n; i++)
		if (number(r, r->bt.bt_field_array_borrow_element_field_by_index_const(field, i), &value))
			snprintf(text + i * 2, 3, "%02x", (unsigned)(value & 255));
	return text;
}

static void take_event(struct reader *r, const bt_message *message)
{
	const bt_event *event = r->bt.bt_message_event_borrow_event_const(message);
	const bt_field *payload = r->bt.bt_event_borrow_payload_field_const(event);
	struct class class = class_of(r, event);
	struct ctf_record record = {.kind = class.kind};
	char build_id[BUILD_ID_MAX * 2 + 1] = "";
	const char *text = NULL;
	int64_t ns = 0;

	if (!class.kind)
		return;
	if (!class.timed || r->bt.bt_clock_snapshot_get_ns_from_origin(
				    r->bt.bt_message_event_borrow_default_clock_snapshot_const(message), &ns) !=
				    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
		r->untimed++;
		return;
	}
	record.ns = ns > 0 ? (uint64_t)ns : 0;
	take_task(r, event, &record);
	if (class.kind == CTF_CALL || class.kind == CTF_RETURN) {
		record.address = number_or_0(r, payload, "addr");
		announce_thread(r, event, &record);
	} else {
		record.address = number_or_0(r, payload, "baddr");
	}
	if (class.kind == CTF_MODULE) {
		take_module(r, payload, &record);
		text = text_of(r, payload, "path");
	} else if (class.kind == CTF_BUILD_ID) {
		text = take_build_id(r, payload, build_id);
	}
	send_record(r, record, text);
}

/* The stream's name is its file. */
static bool is_torn(const struct reader *r, const bt_stream *stream)
{
	const char *name = r->bt.bt_stream_get_name(stream);

	vec_each(&r->directories->torn, torn)
		if (name && strcmp(name, *torn) == 0)
			return true;
	return false;
}

static void take_message(struct reader *r, const bt_message *message)
{
	struct ctf_record lost = {.kind = CTF_LOST};

	switch (r->bt.bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		take_event(r, message);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (r->bt.bt_message_discarded_events_get_count(message, &lost.bytes) !=
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			lost.bytes = 0;
		send_record(r, lost, NULL);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		send_record(r, lost, NULL);
		break;
	case BT_MESSAGE_TYPE_STREAM_END:
		if (is_torn(r, r->bt.bt_message_stream_end_borrow_stream_const(message)))
			send_record(r, lost, NULL);
		break;
	default:
		break;
	}
}

/* Damaged traces can make the library loop: RLIMIT_CPU ends it when it makes no progress. */
static void limit_cpu_time(void)
{
	struct rusage used = {};
	struct rlimit limit;

	if (getrusage(RUSAGE_SELF, &used) < 0 || getrlimit(RLIMIT_CPU, &limit) < 0)
		return;
	limit.rlim_cur = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + PATIENCE_SECONDS;
	(void)setrlimit(RLIMIT_CPU, &limit);
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator, void *data)
{
	struct reader *r = data;
	bt_message_array_const messages;
	uint64_t count;
	/* Both functions use the same codes. */
	int status = (int)r->bt.bt_message_iterator_next(iterator, &messages, &count);

	if (r->batches++ % BATCHES_A_LOOK == 0)
		limit_cpu_time();
	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		for (uint64_t i = 0; i < count; i++) {
			take_message(r, messages[i]);
			r->bt.bt_message_put_ref(messages[i]);
		}
	return (bt_graph_simple_sink_component_consume_func_status)status;
}

/* --- the library -------------------------------------------------------------------------------------------------- */

static bool load(struct reader *r)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const char *missing = handle ? NULL : LIBRARY;

	if (handle) {
#define LOOK_UP(name)                                                                                                  \
	*(void **)&r->bt.name = dlsym(handle, #name);                                                                  \
	missing = r->bt.name ? missing : #name;
		FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	}
	if (missing) {
		_cleanup_free_ char *text = xasprintf(
			"cannot load %s: CTF needs libbabeltrace2 (Debian package libbabeltrace2-0)", missing);

		send_record(r, (struct ctf_record){.kind = CTF_FAILED}, text);
	}
	return !missing;
}

static const bt_component_source *add_source(struct reader *r, bt_graph *graph, const bt_component_class_source *class,
					     const char *directory)
{
	const bt_component_source *source = NULL;
	bt_value *parameters = r->bt.bt_value_map_create(), *inputs = NULL;

	if (parameters && r->bt.bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) == 0 &&
	    r->bt.bt_value_array_append_string_element(inputs, directory) == 0 &&
	    r->bt.bt_graph_add_source_component(graph, class, directory, parameters, BT_LOGGING_LEVEL_NONE, &source) !=
		    0)
		source = NULL;
	if (parameters)
		r->bt.bt_value_put_ref(parameters);
	return source;
}

/* Connects all streams of all directories to the muxer, which orders them by time. */
static bool connect_sources(struct reader *r, const struct ctf_directories *directories, bt_graph *graph,
			    const bt_component_filter *muxer)
{
	const bt_plugin *plugin = NULL;
	const bt_component_class_source *class = NULL;
	uint64_t input = 0;

	if (r->bt.bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) == 0)
		class = r->bt.bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	if (!class)
		return false;
	vec_each(&directories->items, directory) {
		const bt_component_source *source = add_source(r, graph, class, *directory);
		uint64_t ports = source ? r->bt.bt_component_source_get_output_port_count(source) : 0;

		if (!source)
			return false;
		for (uint64_t i = 0; i < ports; i++)
			if (r->bt.bt_graph_connect_ports(
				    graph, r->bt.bt_component_source_borrow_output_port_by_index_const(source, i),
				    r->bt.bt_component_filter_borrow_input_port_by_index_const(muxer, input++),
				    NULL) != 0)
				return false;
	}
	return true;
}

static bool run(struct reader *r, const struct ctf_directories *directories)
{
	bt_graph *graph = r->bt.bt_graph_create(0);
	const bt_component_class_filter *class = NULL;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;
	const bt_plugin *plugin = NULL;
	int status;

	if (r->bt.bt_plugin_find("utils", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) == 0)
		class = r->bt.bt_plugin_borrow_filter_component_class_by_name_const(plugin, "muxer");
	if (!graph || !class ||
	    r->bt.bt_graph_add_filter_component(graph, class, "muxer", NULL, BT_LOGGING_LEVEL_NONE, &muxer) != 0 ||
	    !connect_sources(r, directories, graph, muxer) ||
	    r->bt.bt_graph_add_simple_sink_component(graph, "nest", NULL, consume, NULL, r, &sink) != 0 ||
	    r->bt.bt_graph_connect_ports(graph, r->bt.bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
					 r->bt.bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) != 0)
		return false;
	do
		status = (int)r->bt.bt_graph_run(graph);
	while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	return status == BT_GRAPH_RUN_STATUS_OK;
}

void ctf_read(const struct ctf_directories *directories, int fd)
{
	struct reader *r = xzalloc(sizeof(*r));

	r->fd = fd;
	r->directories = directories;
	r->classes = MAP_INIT(sizeof(void *), sizeof(struct class), CLASSES_MAX);
	r->threads = MAP_INIT(sizeof(uint32_t), 0, THREADS_MAX);
	/* Python plug-ins would load an interpreter. */
	(void)setenv("LIBBABELTRACE2_DISABLE_PYTHON_PLUGINS", "1", 1);
	limit_cpu_time();
	if (load(r)) {
		bool done = run(r, directories);

		if (r->untimed)
			send_record(r, (struct ctf_record){.kind = CTF_UNTIMED, .bytes = r->untimed}, NULL);
		if (done)
			send_record(r, (struct ctf_record){.kind = CTF_END}, NULL);
		else
			fail(r);
	}
	flush(r);
	map_done(&r->classes);
	map_done(&r->threads);
	free(r);
}
