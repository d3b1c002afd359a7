/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nest serve: a sink of a run that answers HTTP requests. What a page looks at is a scene: the live host, or a
 * recording, with its findings, its figures over time and its diagnosis. The routes stand in the other files of this
 * folder, each registers its own (http/http_route.h).
 */
#pragma once

#include "fleet/fleet_query.h"
#include "http/http_server.h"
#include "run/run_diagnosis.h"
#include "serve/ask.h"
#include "serve/saver.h"
#include "serve/scene.h"
#include "serve/tool_run.h"

struct serve;

/* A command that does more with the same run (nest agent); its functions may be NULL. */
struct serve_guest {
	const char *name; /* of the command */
	bool unheard;     /* nobody listens: no server */
	void *context;
	/* Before the run: may set options of it and add sinks. */
	void (*join)(void *context, struct serve *serve);
	/* The diagnosis of a window of a namespace. */
	int (*diagnosed)(void *context, const struct diagnosis_view *view, const struct diagnosis_record *record);
};

struct serve_options {
	struct diagnosis_options live;
	struct http_options http;
	struct text_list files; /* of -f */
	struct text_list more;  /* recordings named without -f */
	uint64_t duration_ns;
	struct fleet_options fleet;
	const char *save_in; /* directory for recordings of tools; NULL: none are made */
	/* Called with the address when it listens. */
	void (*listening)(const char *url);
	const struct serve_guest *guest; /* NULL: none */
};

/* One kind of live messages, with a filter. */
struct serve_topic {
	char *where;       /* NULL: none */
	struct expr *expr; /* of the diagnosis */
	struct http_stream stream;
};

struct serve {
	struct run_sink sink;
	struct run run;
	const struct serve_options *options;
	struct run_diagnosis diagnosis; /* live */
	struct http_server *server;
	struct scene live;              /* where is_live */
	VEC(struct scene *) recordings; /* where not */
	VEC(const char *) traces;       /* paths of function traces */
	char *fleet;                    /* https://HOST:PORT/DATABASE, without a password; NULL: no fleet is shown */
	bool is_live;
	uint64_t start_ns;
	struct loop_source *reader;       /* timer that reads recordings */
	VEC(struct serve_topic *) topics; /* diagnosis */
	struct http_stream measures;
	struct sampler *sampler;          /* of tables, where is_live; else NULL */
	VEC(struct serve_table *) tables; /* samples that were taken lately */
	VEC(struct tool_run *) runs;
	VEC(struct saver *) savers;
	VEC(struct ask *) asks;
	uint64_t next_run;
	struct buf url;
};

/* Runs it to its end; an exit code. */
int serve_run(const struct serve_options *options);

/* --- for the routes --- */

static inline struct serve *serve_of(const struct http_request *request)
{
	return request->service;
}

/* The parameters that choose it, for tables of parameters. */
#define SERVE_SCENE_PARAMS                                                                                             \
	{                                                                                                              \
		"recording", HTTP_NUMBER, "number of a recording of /about; default: the first, or the live host",     \
			.max = UINT32_MAX                                                                              \
	}

/* What the request looks at; NULL: refused. */
struct scene *serve_scene(struct http_request *request);
/* The function trace that the parameter names, by default the first; NULL: refused. */
const char *serve_trace(struct http_request *request, const char *name);
/* A path without its folders. */
const char *serve_file_name(const char *path);
/* A parameter that is a time, in the scene's own time; false: refused. */
bool serve_time(struct http_request *request, const struct scene *scene, const char *name, uint64_t otherwise,
		uint64_t *ret_ns);
/* The stream of diagnoses that match (NULL: all); NULL: refused. */
struct http_stream *serve_diagnosis_stream(struct http_request *request, const char *where);
/* Forgets samples of tables that nobody asks for; all: at the end. */
void serve_tables_forget(struct serve *serve, bool all);
/* "name":"text", with a comma before it where it is not the first. */
void serve_add_text(struct buf *out, const char *name, const char *text);
