/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "kernel/capability.h"
#include "kernel/feature/feature.h"
#include "kernel/feature/features.h"
#include "kernel/first_process.h"

/* A configuration takes about 300 KiB. */
#define CONFIG_MAX ((size_t)4 << 20)

int feature_read(const char *path, struct buf *text)
{
	int r;

	*text = BUF_INIT(65536);
	r = buf_read_file(text, path);
	while (text->len > 0 && text->data[text->len - 1] == '\n')
		text->data[--text->len] = '\0';
	return r;
}

int feature_read_number(const char *path, int64_t *ret_value)
{
	_cleanup_buf_ struct buf text = {};
	int r = feature_read(path, &text);

	return r < 0 ? r : proctext_number(buf_text(&text), ret_value);
}

/* Also reads plain files: zlib passes uncompressed data through. */
static bool read_config(const char *path, struct buf *config)
{
	gzFile file = gzopen(path, "re");
	char chunk[16384];
	int n;

	if (!file)
		return false;
	buf_clear(config);
	while ((n = gzread(file, chunk, sizeof(chunk))) > 0 && !config->over)
		buf_add(config, chunk, (size_t)n);
	gzclose(file);
	return n == 0 && !config->over && config->len > 0;
}

static void find_config(struct feature_context *context)
{
	static const char *const places[] = {"/proc/config.gz", "/boot/config-%s", "/lib/modules/%s/config",
					     "/usr/lib/modules/%s/config"};

	context->config = BUF_INIT(CONFIG_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(context->config_path, sizeof(context->config_path), places[i], context->release);
		if (read_config(context->config_path, &context->config))
			return;
		buf_clear(&context->config);
	}
	context->config_path[0] = '\0';
}

enum config_state feature_config(const struct feature_context *context, const char *option)
{
	return option ? proctext_config(buf_text(&context->config), option) : CONFIG_UNKNOWN;
}

const char *feature_config_words(const struct feature_context *context, const char *option, char *text, size_t size)
{
	text[0] = '\0';
	if (feature_config(context, option) == CONFIG_OFF)
		snprintf(text, size, "; this kernel is built without %s", option);
	return text;
}

/* One list for every advice: a second setcap would replace the file's first set. */
#define CAPS_RECOMMENDED                                                                                               \
	(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_NET_ADMIN) | CAP_BIT(CAP_SYS_PTRACE) |                  \
	 CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_SYSLOG))

void feature_caps_advice(const struct feature_context *context, uint64_t wanted, char *text, size_t size)
{
	char names[200];

	if (geteuid() == 0) {
		capability_names(wanted & ~context->caps, names, sizeof(names));
		snprintf(text, size, "this root user is restricted: grant %s to its container or service", names);
		return;
	}
	capability_setcap(wanted | CAPS_RECOMMENDED, names, sizeof(names));
	snprintf(text, size, "run as root, or once: sudo setcap %s+ep \"$(command -v nest)\"", names);
}

void features_look(struct check_list *list)
{
	struct feature_context *context = xzalloc(sizeof(*context));
	struct utsname name;

	context->list = list;
	if (uname(&name) == 0)
		snprintf(context->release, sizeof(context->release), "%s", name.release);
	find_config(context);
	context->mounts = BUF_INIT((size_t)4 << 20);
	context->mounts_error = buf_read_file(&context->mounts, "/proc/self/mountinfo");
	context->caps_error = capability_get(&context->caps);
	(void)!first_process_open(&context->first, &context->first_why);
	probe_run_all(&context->probes);

	feature_kernel_check(context);
	feature_program_check(context);
	feature_tracepoint_check(context);
	feature_privilege_check(context);
	feature_host_check(context);
	feature_socket_check(context);

	first_process_close(context->first);
	buf_done(&context->config);
	buf_done(&context->mounts);
	free(context);
}
