// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "app.h"
#include "base/parse.h"
#include "base/text.h"

static const struct app_option common_options[] = {
	{"seed", OPTION_COUNT, MEMBER(struct common_config, seed), "1", "random seed"},
	{"duration", OPTION_SECONDS, MEMBER(struct common_config, duration_ns), "0",
	 "exit after N seconds (0: on a signal)"},
	{"control", OPTION_FLAG, MEMBER(struct common_config, control), "0",
	 "1: lines key=value on stdin change options marked with * at run time"},
};

static const char *const lab_prefixes[] = {"127.0.0.0/8", "::1/128", "10.77.0.0/16", "fd77::/16"};

static bool prefix_is_lab(const struct prefix *inner)
{
	for (size_t i = 0; i < ARRAY_SIZE(lab_prefixes); i++) {
		struct prefix lab;

		if (prefix_parse(lab_prefixes[i], &lab) == 0 && inner->bits >= lab.bits &&
		    prefix_contains(&lab, &inner->addr))
			return true;
	}
	return false;
}

bool app_addr_is_lab(const struct addr *addr)
{
	return prefix_is_lab(&(struct prefix){.addr = *addr, .bits = 128});
}

struct addr app_addr_any(uint8_t family)
{
	static const uint8_t zeros[16];

	return family == ADDR_V4 ? addr_from_v4(zeros) : addr_from_v6(zeros);
}

bool app_addr_is_any(const struct addr *addr)
{
	struct addr any = app_addr_any(addr->family);

	return addr_equal(addr, &any);
}

static const struct app_option *option_find(const struct app_role *role, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(common_options); i++)
		if (strlen(common_options[i].name) == len && memcmp(common_options[i].name, name, len) == 0)
			return &common_options[i];
	for (size_t i = 0; i < role->option_count; i++)
		if (strlen(role->options[i].name) == len && memcmp(role->options[i].name, name, len) == 0)
			return &role->options[i];
	return NULL;
}

static int parse_choice(const char *choices, const char *text, uint64_t *ret_index)
{
	size_t len = strlen(text);
	uint64_t index = 0;

	for (const char *at = choices; at; index++) {
		size_t word = strcspn(at, "|");

		if (word == len && memcmp(at, text, len) == 0) {
			*ret_index = index;
			return 0;
		}
		at = at[word] ? at + word + 1 : NULL;
	}
	return -EINVAL;
}

static int parse_port_number(const char *text, uint64_t *ret_port)
{
	uint16_t port = 0;
	int r = parse_port(text, &port);

	if (r == 0 && port == 0)
		return -ERANGE;
	*ret_port = port;
	return r;
}

static int option_parse_number(const struct app_option *option, const char *text, uint64_t *ret_value)
{
	uint64_t max = option->max ? option->max : UINT64_MAX / 2;
	bool flag = false;
	int r;

	switch (option->kind) {
	case OPTION_COUNT:
		return parse_u64(text, option->min, max, ret_value);
	case OPTION_BYTES:
		r = parse_size_bytes(text, ret_value);
		return r == 0 && (*ret_value < option->min || *ret_value > max) ? -ERANGE : r;
	case OPTION_MS:
		return lab_parse_scaled(text, NS_PER_MS, 3600 * NS_PER_S, ret_value);
	case OPTION_SECONDS:
		return lab_parse_scaled(text, NS_PER_S, 86400 * NS_PER_S, ret_value);
	case OPTION_PORT:
		return parse_port_number(text, ret_value);
	case OPTION_FLAG:
		r = parse_bool(text, &flag);
		*ret_value = flag;
		return r;
	case OPTION_CHOICE:
		return parse_choice(option->choices, text, ret_value);
	default:
		return -EINVAL;
	}
}

static int option_store_number(const struct app_option *option, const char *text, void *config, struct why *why)
{
	uint64_t value = 0;
	int r = option_parse_number(option, text, &value);

	if (r == -ERANGE && option->max)
		return why_set(why, -EINVAL, "%s=%s: must be %llu to %llu", option->name, text,
			       (unsigned long long)option->min, (unsigned long long)option->max);
	if (r == -ERANGE)
		return why_set(why, -EINVAL, "%s=%s: out of range", option->name, text);
	if (r < 0 && option->choices)
		return why_set(why, -EINVAL, "%s=%s: must be one of %s", option->name, text, option->choices);
	if (r < 0)
		return why_set(why, -EINVAL, "%s=%s: invalid value (%s)", option->name, text, option->help);
	memcpy((char *)config + option->offset, &value, sizeof(value));
	return 0;
}

static int option_store_address(const struct app_option *option, const char *text, void *config, struct why *why)
{
	struct prefix prefix = {.bits = 128};
	int r;

	if (option->kind == OPTION_PREFIX)
		r = prefix_parse(text, &prefix);
	else
		r = addr_parse(text, &prefix.addr);
	if (r < 0)
		return why_set(why, -EINVAL, "%s=%s: not an address%s", option->name, text,
			       option->kind == OPTION_PREFIX ? " prefix" : "");
	if (!prefix_is_lab(&prefix) && !(option->kind == OPTION_LISTEN && app_addr_is_any(&prefix.addr)))
		return why_set(why, -EINVAL,
			       "%s=%s: outside the laboratory (127.0.0.0/8, ::1, 10.77.0.0/16, fd77::/16)",
			       option->name, text);
	if (option->kind == OPTION_PREFIX)
		memcpy((char *)config + option->offset, &prefix, sizeof(prefix));
	else
		memcpy((char *)config + option->offset, &prefix.addr, sizeof(prefix.addr));
	return 0;
}

static int option_store(const struct app_option *option, const char *text, void *config, struct why *why)
{
	switch (option->kind) {
	case OPTION_TEXT:
		memcpy((char *)config + option->offset, &text, sizeof(text));
		return 0;
	case OPTION_TARGET:
	case OPTION_LISTEN:
	case OPTION_PREFIX:
		return option_store_address(option, text, config, why);
	default:
		return option_store_number(option, text, config, why);
	}
}

static int unknown_option(const struct app_role *role, const char *name, struct why *why)
{
	struct near near = {.word = name};
	_cleanup_buf_ struct buf hint = BUF_INIT(256);

	for (size_t i = 0; i < role->option_count; i++)
		near_consider(&near, role->options[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(common_options); i++)
		near_consider(&near, common_options[i].name);
	near_add_text(&near, &hint);
	return why_set(why, -EINVAL, "%s: %s has no such option%s", name, role->name, buf_text(&hint));
}

int app_options_set(const struct app_role *role, void *config, const char *text, bool only_live, struct why *why)
{
	const char *equals = strchr(text, '=');
	const struct app_option *option;
	char name[32];

	if (!equals || (size_t)(equals - text) >= sizeof(name))
		return why_set(why, -EINVAL, "%s: expected key=value", text);
	memcpy(name, text, (size_t)(equals - text));
	name[equals - text] = '\0';
	option = option_find(role, name, strlen(name));
	if (!option)
		return unknown_option(role, name, why);
	if (only_live && !option->is_live)
		return why_set(why, -EINVAL, "%s: cannot change while %s runs", name, role->name);
	return option_store(option, equals + 1, config, why);
}

static int options_default(const struct app_option *options, size_t n, void *config, struct why *why)
{
	for (size_t i = 0; i < n; i++) {
		int r = options[i].fallback ? option_store(&options[i], options[i].fallback, config, why) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int app_options_default(const struct app_role *role, void *config, struct why *why)
{
	int r = options_default(common_options, ARRAY_SIZE(common_options), config, why);

	return r < 0 ? r : options_default(role->options, role->option_count, config, why);
}

int app_options_check(const struct app_role *role, int argc, char **argv, struct why *why)
{
	for (size_t i = 0; i < role->option_count; i++) {
		const struct app_option *option = &role->options[i];
		size_t len = strlen(option->name);
		bool given = option->fallback;

		for (int a = 0; a < argc; a++)
			given |= strncmp(argv[a], option->name, len) == 0 && argv[a][len] == '=';
		if (!given)
			return why_set(why, -EINVAL, "%s needs %s= (%s)", role->name, option->name, option->help);
	}
	return 0;
}

static void option_help(const struct app_option *option, FILE *out)
{
	fprintf(out, "%s %-16s %s", option->is_live ? " *" : "  ", option->name, option->help);
	if (option->choices)
		fprintf(out, ": %s", option->choices);
	if (option->fallback)
		fprintf(out, " [%s]\n", *option->fallback ? option->fallback : "none");
	else
		fputs(" (required)\n", out);
}

void app_options_help(const struct app_role *role, FILE *out)
{
	for (size_t i = 0; i < role->option_count; i++)
		option_help(&role->options[i], out);
	for (size_t i = 0; i < ARRAY_SIZE(common_options); i++)
		option_help(&common_options[i], out);
}
