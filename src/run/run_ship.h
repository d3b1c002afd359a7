/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sink that ships what the run records (--ship URL): every row of the recording but the snapshots'. */
#pragma once

#include "fleet/shipper.h"
#include "run/run.h"

struct run_ship {
	struct run_sink sink;
	const struct ship_options *options;
	struct run *run;
	struct shipper *shipper;
	struct shipper_figures figures;
};

/* Makes it a sink of the run when --ship was given. The run needs a recording (options.save). */
void run_ship_init(struct run_ship *ship, struct run *run, const struct ship_options *options);
