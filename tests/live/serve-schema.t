#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# Answers of nest serve beside its own OpenAPI document: every path live or on recordings and traces, hostile
# parameters, and figures of pictures beside the records that they are made of.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 gunzip

# serve ARGUMENT ...: starts it and waits for its line.
serve() {
	nest_bg serve "$@"
	wait_for 30 test -s "$nest_out" || { diag "$(cat "$nest_err")"; fail 'the server listens'; exit 1; }
	url=$(sed 's/#.*//' "$nest_out")
	token=$(sed -n 's/.*#token=//p' "$nest_out")
}

# answers_fit ARGUMENT ...: of openapi.py, whose lines become results; what it did not try is in $room/untried.
answers_fit() {
	python3 "$live_dir/openapi.py" "$url" "$token" "$@" >"$room/answers" 2>"$room/answers.err"
	is "$?" 0 'all cases are tried' || diag "$(cat "$room/answers.err")"
	while read -r line; do
		case $line in
		'ok '*) pass "${line#ok }" ;;
		'untried '*) printf '%s\n' "${line#untried }" >>"$room/untried" ;;
		*) fail "${line#not ok }" ;;
		esac
	done <"$room/answers"
}

# --- recordings and a function trace

gunzip -c "$root_dir/tests/golden/input/path.nest.gz" >"$room/path.nest" || exit 1
gunzip -c "$root_dir/src/store/demo/lossy-path.nest.gz" >"$room/lossy.nest" || exit 1
"$root_dir/tests/golden/input/flow-model" event --slow 5 --honest 3 >"$room/model.txt"
"$nest" flow import "$room/model.txt" -o "$room/model.trace" 2>/dev/null || exit 1
cat >"$room/cases" <<'END'
GET /api/v1/about
GET /api/v1/openapi.json
GET /api/v1/diagnosis?recording=1
GET /api/v1/findings?recording=1
GET /api/v1/measures
GET /api/v1/measures?recording=1&names=rx,tx,rtt_p50
GET /api/v1/tables
GET /api/v1/tables/sockets?recording=1
GET /api/v1/tables/sockets?recording=1&show=state,laddr,raddr&where=state==ESTABLISHED&sort=-lport
GET /api/v1/tables/tcp?recording=1
GET /api/v1/tables/links?recording=1
GET /api/v1/tables/qdisc?recording=1
GET /api/v1/tables/process?recording=1
GET /api/v1/complete?table=sockets&text=state%20==%20E
GET /api/v1/complete?table=sockets&text=nonsense%20==
GET /api/v1/explain/path-loss
GET /api/v1/tools
GET /api/v1/events
GET /api/v1/runs
GET /api/v1/saved
GET /api/v1/path
GET /api/v1/path?dir=rx&by=comm&where=total%3E20us
GET /api/v1/path?where=total%3E100s
GET /api/v1/flow/info
GET /api/v1/flow/sessions
GET /api/v1/flow/sessions?by=thread
GET /api/v1/flow/sessions?where=span%3E1s
GET /api/v1/flow/classes
GET /api/v1/flow/diagram
GET /api/v1/flow/diagram?divergence=1&lines=threads
GET /api/v1/flow/diagram?session=10&depth=2
GET /api/v1/flow/flame
GET /api/v1/flow/flame?bad=span%3E1s
GET /api/v1/flow/compare
GET /api/v1/flow/compare?good=class==1&bad=class==3
GET /api/v1/flow/compare?with=0
POST /api/v1/runs {"what":"path"}
GET /api/v1/runs
DELETE /api/v1/runs/ID
POST /api/v1/session
GET /
GET /app.js
END
serve -f "$room/path.nest" -f "$room/lossy.nest" -f "$room/model.trace"
answers_fit "$room/cases" "$room/path.nest" "$room/model.trace" "$nest"
end_bg "$nest_pid"
is "$end_status" 0 'the server of recordings is well'

# --- the live host

mkdir "$room/saved"
cat >"$room/cases" <<'END'
GET /api/v1/about
GET /api/v1/diagnosis
GET /api/v1/findings
GET /api/v1/measures?names=connections,cpu
GET /api/v1/tables/sockets
GET /api/v1/tables/counters
GET /api/v1/tables/limits
GET /api/v1/tables/cpu
POST /api/v1/runs {"what":"tcplife"}
GET /api/v1/runs
POST /api/v1/runs/ID/recording {"name":"schema"}
GET /api/v1/saved
DELETE /api/v1/runs/ID/recording
DELETE /api/v1/runs/ID
END
ns_make inside
in_ns "$inside" ip link set lo up
in_ns "$inside" python3 -c '
import socket, time
listener = socket.create_server(("127.0.0.1", 7000))
while True:
    near = socket.create_connection(("127.0.0.1", 7000))
    far = listener.accept()[0]
    near.sendall(b"x" * 1000)
    far.recv(1000)
    near.close()
    far.close()
    time.sleep(0.05)' &
note_process $!
serve -N "$inside" --save-in "$room/saved"
wait_for 30 curl -sf -o /dev/null -H "Authorization: Bearer $token" "${url}api/v1/diagnosis"
answers_fit "$room/cases"
end_bg "$nest_pid"
is "$end_status" 0 'the live server is well'
ok 'what was saved is a recording' "$nest" sql "$room/saved/schema.nest" 'SELECT * FROM attached'

# Paths that neither has tried: a new one needs a case.
is "$(python3 -c '
import json, sys
both = [set(map(tuple, json.loads(line))) for line in sys.stdin]
print(sorted(both[0] & both[1]))' <"$room/untried")" \
	"[('GET', '/api/v1/fleet'), ('GET', '/api/v1/stream')]" \
	'every path has a case; streams are read, and tests/web/fleet.t asks for the fleet'
finish
