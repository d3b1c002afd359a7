/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where rows go: http(s)://USER:PASS@HOST:8123/DATABASE is a ClickHouse server, http(s)://HOST:PORT without a path a
 * collector. The password is kept apart, so that no message shows it.
 */
#pragma once

#include "base/why.h"

struct fleet_url {
	char *base;     /* https://HOST:PORT, for requests and messages */
	char *user;     /* or NULL */
	char *password; /* or NULL */
	char *database; /* NULL: a collector */
	bool tls;
};

int fleet_url_parse(const char *text, struct fleet_url *ret_url, struct why *why) _must_check_;
/* The same, and it names a database. */
int fleet_url_parse_database(const char *text, struct fleet_url *ret_url, struct why *why) _must_check_;
void fleet_url_done(struct fleet_url *url);
