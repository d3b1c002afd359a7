/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow align: a proxy and its server on one timeline. */
#include "flow/analyse/align.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "run/output_exit.h"
#include "view/output.h"

struct config {
	const char *proxy;
	const char *server;
	bool exchanges;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, exchanges, FLAG, "exchanges", 'e', NULL, "list every request, with its times"),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, proxy, TEXT, "PROXY", "trace of the program in front", .required = true,
		   .file = FILE_INPUT),
	POSITIONAL(struct config, server, TEXT, "SERVER", "trace of the program behind it", .required = true,
		   .file = FILE_INPUT),
	OPTION_END,
};

static int show(const struct config *config, const struct align *align)
{
	const struct output_options *o = &config->output;
	bool text = !o->json && !o->csv && !o->format && !o->show.count;
	struct shape shape = SHAPE_OF(config->exchanges ? &align_exchange_type : &align_type);
	struct output *output;
	struct why why = {};
	int r;

	r = output_open(o, &shape, &output, &why);
	if (r < 0)
		return output_refused("flow align", r, &why);
	if (text) {
		struct out *out = output_out(output);

		buf_add_format(&out->pending, "%s%s%s", out_style_on(out, OUT_BOLD), align->answer,
			       out_style_off(out, OUT_BOLD));
		out_end_line(out);
	}
	if (config->exchanges) {
		vec_each(&align->list, x)
			(void)output_record(output, &RECORD_OF(x));
	} else if (!text) {
		(void)output_record(output, &RECORD_OF(align));
	}
	return output_exit_code("flow align", output_close(output));
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_flow_trace_ struct flow_trace *proxy = NULL, *server = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *in_front = NULL, *behind = NULL;
	_cleanup_(align_freep) struct align *align = NULL;
	struct split_options split = {};
	struct why why = {};
	int r;

	r = flow_view_open(config->proxy, &split, &proxy, &in_front);
	if (r == EXIT_DONE)
		r = flow_view_open(config->server, &split, &server, &behind);
	if (r != EXIT_DONE)
		return r;
	if (align_new(in_front, behind, &align, &why) < 0)
		return command_fail(EXIT_CANNOT_OBSERVE, "flow align: %s", why.text);
	r = show(config, align);
	log_info("%u of %u connections matched, %u requests; the server's clock is %+.3f us off", align->matched,
		 align->connections, align->exchanges, (double)align->clock_offset_ns / 1000);
	flow_view_close(proxy);
	return r;
}

static const char *const examples[] = {
	"nest flow align haproxy.trace server.trace",
	"where the time goes: proxy, network or server",
	"nest flow align haproxy.trace server.trace -e --where 'slowest == proxy'",
	"requests delayed by the proxy",
	NULL,
};

static const struct command align_command = {
	.name = "flow align",
	.summary = "a proxy and the server behind it, on one timeline",
	.description = "Connections are matched by their endpoints, messages by their offset in the byte stream, "
		       "clocks by the exchange itself. The time of a request is split: in the proxy, between the two, "
		       "in the server. Time that data waits in a socket buffer counts for the reader. NAT between the "
		       "two prevents the match.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(align_command);
