#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# netcalls against strace on the same process.
# vm: 21
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 strace unshare

load=$live_dir/call-load.py
# The interpreter itself: a wrapper script would make its own calls.
python=$(python3 -c 'import sys; print(sys.executable)')
ns_make host

cat >"$room/check.py" <<'END'
import collections, json, re, sys

room, question = sys.argv[1:]
r = [json.loads(line) for line in open(room + "/calls.json")]
f = json.load(open(room + "/facts"))
# call, arguments, result, error, microseconds
s = []
for line in open(room + "/strace"):
    m = re.match(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(?: (E\w+) \(.*\))? <([\d.]+)>$", line)
    if m:
        s.append((m[1], m[2], int(m[3]), m[4], float(m[5]) * 1e6))
c = [e for e in r if e.get("comm", "").startswith("python")]
exact = ("socket", "setsockopt", "listen", "shutdown")
print(eval("(" + question + ")"))
END

check() {
	python3 "$room/check.py" "$room" "$1"
}

# With both kinds of hooks.
calls_checks() {
	is "$(check '[(e["call"], e["result"], e["error"]) for e in c] == [(x[0], x[2], x[3]) for x in s]
		and len(s) > 40')" True \
		"netcalls: the same calls with the same results as strace, in the same order$1" ||
		diag "$(check '[x for x in zip([(e["call"], e["result"], e["error"]) for e in c],
			[(x[0], x[2], x[3]) for x in s]) if x[0] != x[1]][:3], len(c), len(s)')"
	is "$(check '[e["args"] for e in c if e["call"] in exact
		and "TIMEO" not in e["args"] and "99" not in e["args"]] ==
		[x[1] for x in s if x[0] in exact and "TIMEO" not in x[1] and "0x63" not in x[1]]')" True \
		"arguments in the same words$1" ||
		diag "$(check '[x for x in zip([e["args"] for e in c if e["call"] in exact],
			[x[1] for x in s if x[0] in exact]) if x[0] != x[1]][:5]')"
	# strace's time is around the call, nest's inside it.
	is "$(check '[e for e, x in zip(c, s) if not 0 < e["lat_ns"] / 1e3 <= x[4] + 2]')" \
		'[]' "no call took longer than strace says$1"
	is "$(check '[60e6 <= e["lat_ns"] for e in c if e["error"] == "EAGAIN"]')" \
		'[True]' "a wait of 60 ms took 60 ms$1"
	is "$(check '[(e["lport"], e["rport"], e["bytes"])
		for e in c if e["call"] in ("sendto", "sendfile") and e["proto"] == "tcp"] ==
		[(f["client"], f["listener"], 7919), (f["client"], f["listener"], 137)]')" \
		True "the socket with both its ends$1"
	is "$(check '[(e["raddr"], e["rport"], e["error"]) for e in c if e["call"] == "connect" and e["error"]]')" \
		"[('127.0.0.1', 1, 'ECONNREFUSED'), (None, None, 'ENOENT')]" "whom a connection that failed was for$1"
	is "$(check '[e["args"].split(", ", 1)[1] for e in c if e["call"] == "connect" and e["error"]]')" \
		"['127.0.0.1:1', '\"/nonexistent/nest\"']" "and its address$1"
}

# calls WITH: with_tracefs or without_tracefs.
calls() {
	"$1" nsenter --net="/run/netns/$host" -- \
		"$nest" netcalls --json -o "$room/calls.json" -- strace -f -T -e trace=network \
		-e signal=none -o "$room/strace" \
		"$python" "$load" >"$room/facts" 2>"$room/err" || diag "$(cat "$room/err")"
}
calls without_tracefs
like "$(tail -1 "$room/err")" \
	'^nest: [0-9]+ events, (0 lost|[0-9]+ lost; [0-9]+ at most, missed while their BPF program was running)$' \
	'nothing is lost for sure'
calls_checks ', without tracefs'
if with_tracefs true 2>/dev/null; then
	calls with_tracefs
	calls_checks ', with tracefs'
else
	skip 'with tracefs' 'tracefs cannot be mounted here'
fi

# --- the summary -----------------------------------------------------------------------------------------------------

in_ns "$host" "$nest" netcalls -c --json -o "$room/calls.json" --where 'comm ~ "python*"' -- \
	strace -f -T -e trace=network \
	-e signal=none -o "$room/strace" "$python" "$load" >"$room/facts" 2>"$room/err" || diag "$(cat "$room/err")"
is "$(check '{(e["call"], e["error"]): e["count"] for e in r} == collections.Counter((x[0], x[3]) for x in s)
	and len(r) > 10')" True 'netcalls -c: as many of each call and error as strace has'
is "$(check '[e["sum"] >= 60e6 and e["max"] >= 60e6 for e in r if e["error"] == "EAGAIN"]')" \
	'[True]' 'with the time that they took'

# --- one process, failures -------------------------------------------------------------------------------------------

in_ns "$host" "$nest" netcalls -x --json --where 'comm ~ "python*"' -o "$room/calls.json" -- \
	"$python" "$load" >"$room/facts" 2>/dev/null
is "$(check 'sorted({(e["call"], e["error"]) for e in c if e["call"] != "getpeername"})')" \
	"[('connect', 'ECONNREFUSED'), ('connect', 'ENOENT'), ('recvfrom', 'EAGAIN'), ('socket', 'EPROTONOSUPPORT')]" \
	'netcalls -x: only what failed'

finish
