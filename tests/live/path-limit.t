#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest path --max-cpu: fewer flows when following costs more than it may, then fewer stages, and both are said.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/path-lib.sh"
require_root
require_cmd python3

port=7650
ns_make client
ns_make server
ns_link "$client" 10.91.0.1/24 "$server" 10.91.0.2/24

# busy OPTION ...: nest path with these, while somebody asks without end.
busy() {
	port=$((port + 1))
	serve "$server" "$load" echo udp 10.91.0.2 $port
	bg nsenter --net="/run/netns/$client" -- "$load" ask udp 10.91.0.2 $port 100000000
	asker=$bg_pid
	follow --json -N "$server" -P $port "$@"
}

# idle [NAME]: ends both.
idle() {
	end_bg "$asker" KILL
	end_bg "$server_pid" KILL
	followed "$@"
}

# A limit that no packet at all would keep.
busy --max-cpu 0.02%
wait_for 60 grep -q 'not visible: ip, sndbuf, tcp: ' "$nest_err" || diag "$(cat "$nest_err")"
idle 'a limit that is too low'
like "$(cat "$nest_err")" 'hardly any flow is followed, and it costs [0-9.]* % of a processor: few stages from now on' \
	'a limit that is too low: it is said when stages are given up'
like "$account" '; one flow in [0-9]+ at the end, with few stages' 'a limit that is too low: what is left is said'
compare "$("$check" "$journeys" count "any(s['stage'] == 'backlog' for s in stages)")" \
	-ge 1 'a limit that is too low: all stages before'
# Told, delivered or not: both halves of the run are in one account.
packets=$(sed -n 's/.*; \([0-9]*\) packets followed.*/\1/p' <<<"$account")
ends=$(sed 's/.* packets followed: \([^;]*\).*/\1/' <<<"$account" | grep -o '[0-9]*' | paste -sd +)
is "$((ends))" "$packets" 'a limit that is too low: the account adds up'

# Whoever wants all stages keeps them, and is told what that means.
busy --stages all --rx --max-cpu 0.02%
wait_for 60 grep -q 'all packets pass the hooks' "$nest_err" || diag "$(cat "$nest_err")"
idle
like "$account" '; one flow in [0-9]+ at the end; cost [0-9.]* % of a processor, more than it may' \
	'all stages were asked for: they stay, and the end says so'

# A limit that is far away changes nothing.
busy --max-cpu 150%
wait_for 20 test -s "$nest_out"
# Until the first look at what it costs is over.
sleep 1
idle
like "$account" ' unfinished; cost [0-9.]* % of a processor$| delivered; cost [0-9.]* % of a processor$' \
	'a limit that is far away: every flow'
finish
