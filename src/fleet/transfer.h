/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP requests in the one loop (libcurl). Answers of servers are hostile: their size and time are bounded, redirects
 * are not followed, and only http and https are spoken.
 */
#pragma once

#include "base/loop.h"
#include "base/vec.h"
#include "base/why.h"
#include "fleet/fleet_url.h"

struct transfer_client;
struct transfer;

struct transfer_answer {
	int error;   /* negative errno: no answer, and whether the server has acted is not known */
	long status; /* of HTTP */
	const char *body;
	size_t len;
	struct why why; /* of an error, or a status that is none of 2xx: what the server said */
};

typedef void transfer_done_fn(void *context, const struct transfer_answer *answer);
/* A piece of the answer of status 200, as it comes; false: enough, the transfer ends with -ECANCELED. */
typedef bool transfer_piece_fn(void *context, const char *data, size_t len);

struct transfer_request {
	const struct fleet_url *url;
	const char *path;           /* with its query */
	const char *const *headers; /* NULL-terminated, or NULL */
	const void *body;           /* to POST, valid until done; NULL: GET */
	size_t body_len;
	bool once;           /* on a connection of its own: libcurl repeats a request when an old one breaks */
	const char *ca_file; /* certificates to trust instead of the system's; NULL: the system's */
	uint64_t timeout_ns;
	size_t answer_max;
	transfer_done_fn *done;
	transfer_piece_fn *piece; /* NULL: the answer is collected */
	void *context;
};

int transfer_client_new(struct loop *loop, struct transfer_client **ret_client, struct why *why) _must_check_;
/* Ends what is under way; done is not called. */
void transfer_client_free(struct transfer_client *client);
/* done is called once, from the loop. */
int transfer_start(struct transfer_client *client, const struct transfer_request *request,
		   struct why *why) _must_check_;
/* Outside the loop: carries on until nothing is under way, or for this long. */
void transfer_drain(struct transfer_client *client, uint64_t limit_ns);
bool transfer_is_busy(const struct transfer_client *client);
