#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A server in stages, live: the diagram of each of its sessions shows what is handed from thread to thread.
. "$(dirname "$0")/lib.sh"
require_cmd gcc python3

"$root_dir/lab/studies/hand-over" "$(dirname "$nest")" --requests 24 --values >"$room/out" 2>&1
code=$?
sed 's/^/# /' "$room/out"
is "$code" 0 'what is handed over, and between which threads, is what the server says'
ok 'in every session' \
	grep -q '^ok   24 of 24 connections are sessions; values and threads of 24 diagrams match' "$room/out"
ok 'what a pool does that touches no socket is in the session it is done for' \
	grep -q '^ok   24 of 24 sessions have their calls in the pool without sockets, [1-9]' "$room/out"
finish
