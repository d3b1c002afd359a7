#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The resolver tools against a name server with programmed delays.
# vm: 30
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 unshare

load=$live_dir/dns-load.py
ns_make host
for address in 127.0.0.1 ::1; do
	nsenter --net="/run/netns/$host" -- python3 "$load" serve "$address" >"$room/server-$address" &
	note_process "$!"
	wait_for 10 grep -q ready "$room/server-$address" || exit 1
done

# check NAME PYTHON-EXPRESSION: events in r, output of the load in f.
check() {
	python3 -IS -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1] + ".json")]
f = json.load(open(sys.argv[1] + ".facts"))
print(eval("(" + sys.argv[2] + ")"))' "$room/$1" "$2"
}

# --- on the wire -----------------------------------------------------------------------------------------------------

in_ns "$host" "$nest" dnslat -o "$room/ask.json" --json -- python3 "$load" ask >"$room/ask.facts" 2>"$room/ask.err"
is "$(check ask 'len(f), [int(e["id"]) if isinstance(e["id"], int) else int(e["id"], 16)
	for e in r] == [q["id"] for q in f]')" '(7, True)' 'every query once, in order'
is "$(check ask '[(e["host"], e["type"], e["raddr"])
	for e in r[:6]] == [(q["host"], q["type"], q["server"]) for q in f[:6]]')" True \
	'name, type and server of each'
is "$(check ask '(len(f[6]["host"]), r[6]["host"] == f[6]["host"][:127], r[6]["type"])')" \
	'(129, True, None)' 'a name that is too long is cut, its type not known'
is "$(check ask '[e["rcode"] for e in r]')" \
	"['NOERROR', 'NXDOMAIN', 'NOERROR', None, None, 'NOERROR', 'NOERROR']" 'what the server said'
is "$(check ask '[e["error"] for e in r]')" \
	"[None, None, None, 'ETIMEDOUT', 'ECONNREFUSED', None, None]" 'no answer, and no server'
is "$(check ask '[e["retries"] for e in r]')" '[0, 0, 1, 0, 0, 0, 0]' 'asked again once'
is "$(check ask '[f[0]["took_ns"] >= r[0]["lat_ns"] >= 120e6, f[2]["took_ns"] >= r[2]["lat_ns"] >= 200e6,
	r[3]["lat_ns"] >= 300e6, f[5]["took_ns"] >= r[5]["lat_ns"] >= 30e6]')" \
	'[True, True, True, True]' 'as long as programmed, and no longer than the program waited'
is "$(check ask '{(e["comm"], e["proto"], e["rport"]) for e in r},
	[e["answers"] for e in r[:2]], {e["lport"] > 0 for e in r}')" \
	"({('python3', 'udp', 53)}, [1, 0], {True})" 'who asked, by which port, how much was answered'
in_ns "$host" "$nest" dnslat -x -o "$room/ask.json" --json -- python3 "$load" ask >"$room/ask.facts" 2>"$room/ask.err"
is "$(check ask 'len(r)')" 2 'dnslat -x: without an answer'

# --- through the C library -------------------------------------------------------------------------------------------

printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >"$room/resolv.conf"
printf 'hosts: dns\n' >"$room/nsswitch.conf"
# A copy of the library at another path, as in a container, mapped before the run.
mkdir "$room/lib"
libc=$(ldd "$(command -v sleep)" | awk '$1 == "libc.so.6" { print $3 }')
cp "$libc" "$room/lib/libc.so.6"
python=$(python3 -c 'import sys; print(sys.executable)')
LD_LIBRARY_PATH=$room/lib "$python" -c 'import time; time.sleep(60)' &
note_process "$!"
holder=$!
wait_for 10 grep -q "$room/lib/libc" "/proc/$holder/maps" || exit 1

nest_bg gethostlatency -N "$host" --json
wait_ready "$nest_err" || exit 1
# asks NAME LIBRARY-PATH NAMES: lookups with the test's resolver configuration.
asks() {
	in_ns "$host" unshare -m sh -c 'mount --bind "$0/resolv.conf" /etc/resolv.conf &&
		mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf &&
		LD_LIBRARY_PATH=$1 && export LD_LIBRARY_PATH && shift && exec "$@"' "$room" "$2" \
		"$python" "$load" lookup $3 >"$room/$1.facts"
}
asks lookup '' 'd90.example nx.example never.example'
asks copy "$room/lib" 'd70.example'
wait_for 5 grep -q d70 "$nest_out"
end_bg "$nest_pid"
cp "$nest_out" "$room/lookup.json"
cp "$nest_out" "$room/copy.json"
is "$(check lookup '[[e["host"], e["error"]] for e in r[:3]] == f')" \
	True 'gethostlatency: names and errors as the program saw them'
is "$(check lookup '[f[1][1], f[2][1]]')" "['EAI_NONAME', 'EAI_AGAIN']" 'no such name, no answer'
is "$(check lookup '[90e6 <= r[0]["lat_ns"] < 2e9, r[2]["lat_ns"] >= 1e9, {e["function"] for e in r}]')" \
	"[True, True, {'getaddrinfo'}]" 'as long as the server waited'
is "$(check copy '[(e["host"], e["error"], e["lat_ns"] >= 70e6) for e in r[3:]]')" \
	"[('d70.example', None, True)]" 'and through a copy of the library elsewhere'

finish
