/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The traffic programs of the laboratory: one binary, one role per run. A role is a file that registers a table of
 * options and a start function; one epoll loop drives everything and prints progress every 100 ms.
 */
#pragma once

#include "base/addr.h"
#include "base/loop.h"
#include "base/why.h"
#include "common.h"

enum option_kind {
	OPTION_COUNT,   /* uint64_t */
	OPTION_BYTES,   /* uint64_t; accepts 64KiB and 1MB */
	OPTION_MS,      /* uint64_t, nanoseconds; fractions allowed */
	OPTION_SECONDS, /* uint64_t, nanoseconds; fractions allowed */
	OPTION_PORT,    /* uint64_t */
	OPTION_FLAG,    /* uint64_t, 0 or 1 */
	OPTION_CHOICE,  /* uint64_t, index into .choices */
	OPTION_TEXT,    /* const char * */
	OPTION_TARGET,  /* struct addr inside the laboratory */
	OPTION_LISTEN,  /* struct addr inside the laboratory, or any */
	OPTION_PREFIX,  /* struct prefix inside the laboratory */
};

struct app_option {
	const char *name;
	enum option_kind kind;
	size_t offset;        /* in the role's configuration */
	const char *fallback; /* as on the command line; NULL: required */
	const char *help;
	const char *choices; /* a|b|c */
	uint64_t min;
	uint64_t max; /* 0: no limit */
	bool is_live; /* may change at run time, see control=1; not for text, which points into the command line */
};

/* Offset and the rest of an entry: {"rate", OPTION_BYTES, MEMBER(struct bulk_config, rate), "0", "..."} */
#define MEMBER(type, member) offsetof(type, member)

struct progress {
	uint64_t bytes;
	uint64_t ops;
	uint64_t errors;
	uint64_t conns;
	int last_error; /* errno, 0: none so far */
	uint64_t lat_count;
	uint64_t lat_sum_ns;
	uint64_t lat_max_ns;
};

struct app {
	struct loop *loop;
	struct rng rng;
	uint64_t start_ns;
	struct progress progress;
	struct conn *conns; /* every open connection, see app_conn.h */
	bool is_finished;
	unsigned int pending; /* unfinished clients; the program exits after the last one */
};

struct app_role {
	const char *name;
	const char *help;
	size_t config_size;
	const struct app_option *options;
	size_t option_count;
	/* Sets everything up and calls app_ready(); then the loop runs. Sets why on failure. */
	int (*start)(struct app *app, void *config, struct why *why);
};

#define APP_ROLE(object) REGISTER(lab_role, struct app_role, object)

#define LAT_UNKNOWN      UINT64_MAX

/* Prints `ready`: listening, or about to send. */
void app_ready(struct app *app);
/* Counts a completed operation; LAT_UNKNOWN: no latency. */
void app_count_op(struct app *app, uint64_t lat_ns);
/* error is positive or negative errno. */
void app_count_error(struct app *app, int error);
/* One of app->pending is done. */
void app_finish_one(struct app *app);
/* Bytes to send: the same for a given seed, not compressible, len at most APP_PAYLOAD_MAX. */
#define APP_PAYLOAD_MAX ((size_t)256 << 10)
const uint8_t *app_payload(void);

/* app_options.c */
int app_options_default(const struct app_role *role, void *config, struct why *why) _must_check_;
/* text is key=value; only_live refuses options that cannot change at run time. */
int app_options_set(const struct app_role *role, void *config, const char *text, bool only_live,
		    struct why *why) _must_check_;
/* Checks that all required options are set. */
int app_options_check(const struct app_role *role, int argc, char **argv, struct why *why) _must_check_;
void app_options_help(const struct app_role *role, FILE *out);
/* 127.0.0.0/8, ::1, 10.77.0.0/16, fd77::/16: nothing is ever sent elsewhere. */
bool app_addr_is_lab(const struct addr *addr);
/* 0.0.0.0 and :: */
struct addr app_addr_any(uint8_t family);
bool app_addr_is_any(const struct addr *addr);

/* Common to all roles; first member of a configuration. */
struct common_config {
	uint64_t seed;
	uint64_t duration_ns;
	uint64_t control;
};
