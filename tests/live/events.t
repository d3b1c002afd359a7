#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Events of this kernel: the right owner, the right bytes, nothing lost silently, both ways of filtering the same.
# vm: 62, timeout: 300
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 bpftool

load=$live_dir/events-load.py
# In a virtual machine everything takes a hundred times as long: less of everything.
many=1000 burst=5000
[ -z "${NEST_VM-}" ] || many=40 burst=100
ns_make host
# The kernel's tracer (unseen_begin) knows no namespaces: a port that nobody else is likely to have.
port=$((20000 + $$ % 10000))

# serve REPLY: a server in the namespace; its pid is in $server.
serve() {
	nsenter --net="/run/netns/$host" -- python3 "$load" serve $port "$1" >"$room/server.out" &
	server=$!
	note_process "$server"
	wait_for 10 grep -q ready "$room/server.out" || exit 1
}

# shows COUNT: whether the run has printed COUNT lines.
shows() {
	[ "$(wc -l <"$nest_out")" -ge "$1" ]
}

# No connection is on its way to its end any more.
all_closed() {
	[ -z "$(in_ns "$host" ss -Htan state connected exclude time-wait)" ]
}

ask() {
	in_ns "$host" python3 "$load" ask $port "$1" "$2"
}

# --- the catalogue ---------------------------------------------------------------------------------------------------

# Two need what not every kernel has: probes of any function, and wireless. They must say so.
"$nest" events --json >"$room/events.json" 2>"$room/events.err"
is "$(figures "$room/events.json" \
	'sorted({e["event"] for e in r if not e["available"]} - {"func.call", "wifi.scan"})')" \
	'[]' 'every event works on this kernel'
is "$(figures "$room/events.json" \
	'all((e["hook"] if e["available"] else e["reason"]) and "time_ns" in e["fields"] for e in r)')" True \
	'each names its hook, or why there is none, and its fields'
is "$(figures "$room/events.json" 'sorted(e["event"] for e in r if "pid" not in e["fields"])')" \
	"['func.call', 'irq', 'napi.poll', 'softirq']" 'those without a process have no field of one'
if [ -z "${NEST_VM-}" ]; then
	"$nest" tools --json >"$room/tools.json"
	is "$(figures "$room/tools.json" \
		'sorted({t["tool"] for t in r if not t["available"]} - {"funccount", "ieee80211scan"})')" \
		'[]' 'every tool works on this kernel'
	is "$(figures "$room/tools.json" 'all(bool(t["reason"]) != t["available"] for t in r)')" \
		True 'or says why it does not'
fi

# --- owners and bytes ------------------------------------------------------------------------------------------------

# The server is there before, its connections are not: both must be found.
serve 1237
nest_bg tcplife -N "$host" --json
wait_ready "$nest_err" || exit 1
ask $many 333
wait_for 10 shows $((2 * many))
end_bg "$nest_pid"
is "$end_status" 0 'Ctrl-C ends a trace in order'
is "$(figures "$nest_out" "sum(1 for e in r if e['lport'] == $port)")" \
	$many "a row for each of $many connections of the server"
is "$(figures "$nest_out" "sum(1 for e in r if e['lport'] == $port and e['pid'] != $server)")" 0 \
	'none of them has another owner than the server'
is "$(figures "$nest_out" "len({e['pid'] for e in r if e['rport'] == $port} - {$server})")" \
	1 'the clients have one owner, another'
is "$(figures "$nest_out" "{(e['tx_bytes'], e['rx_bytes']) for e in r if e['lport'] == $port}")" '{(1237, 333)}' \
	'bytes of the server to the byte'
is "$(figures "$nest_out" "{(e['tx_bytes'], e['rx_bytes']) for e in r if e['rport'] == $port}")" '{(333, 1237)}' \
	'bytes of the clients to the byte'
is "$(figures "$nest_out" "sorted({(e['family'], e['laddr']) for e in r})")" \
	"[('ipv4', '127.0.0.1'), ('ipv6', '::1')]" 'a v4-mapped address is an IPv4 address'
like "$(tail -1 "$nest_err")" "^nest: $((2 * many)) events, (0 lost\$|[0-9]+ lost; [0-9]+ at most, missed while)" \
	'the last line counts them'

nest_bg trace sock.send,tcp.close -N "$host" --json
wait_ready "$nest_err" || exit 1
in_ns "$host" python3 "$load" bytes 18500 >"$room/bytes.json"
end_bg "$nest_pid"
python3 - "$room/bytes.json" "$nest_out" >"$room/bytes.out" <<'PY'
import json, sys
moved = json.load(open(sys.argv[1]))
events = [json.loads(line) for line in open(sys.argv[2])]
for way in moved:
    mine = [e for e in events if e["lport"] == way["port"]]
    sent = sum(e["bytes"] for e in mine if e["event"] == "sock.send")
    life = [e["tx_bytes"] for e in mine if e["event"] == "tcp.close"]
    print(way["way"], way["sent"] == way["received"] == sent, life == [way["sent"]])
PY
while read -r way sends life; do
	is "$sends $life" 'True True' "$way: bytes of the calls and of the connection"
done <"$room/bytes.out"

# --- filters and groups, in the kernel and here ----------------------------------------------------------------------

# The second of each pair is written so that the kernel cannot evaluate it.
pids=()
outs=()
for where in "rport == $port" "not rport != $port" 'comm ~ "python*" and raddr in 127.0.0.0/8' \
	'comm ~ "*ython3" and raddr in 127.0.0.0/8' \
	"lport == $port or rport == $port" "not (lport != $port and rport != $port)"; do
	for how in '--stats bytes' '--hist bytes' '--count'; do
		[ -z "${NEST_VM-}" ] || [ "${#pids[@]}" -lt 6 ] || break
		# shellcheck disable=SC2086 # an option and its argument
		nest_bg trace sock.send $how --by comm,raddr,rport \
			--where "($where) and netns == $(stat -Lc %i "/run/netns/$host")" --json
		wait_ready "$nest_err" || exit 1
		pids+=("$nest_pid")
		outs+=("$nest_out")
	done
done
ask 50 77
for i in "${!pids[@]}"; do
	end_bg "${pids[$i]}"
done
# same FILE FILE: the same rows in any order, and some.
same() {
	python3 -IS -c 'import json, sys
def row(line):
    return json.dumps({k: v for k, v in json.loads(line).items() if k != "time_ns"})
a, b = [sorted(map(row, open(f))) for f in sys.argv[1:]]
sys.exit(not a or a != b)' "$1" "$2"
}
for pair in 0 6 12; do
	[ "$pair" -lt "${#pids[@]}" ] || break
	for how in 0 1 2; do
		a=$((pair + how)) b=$((pair + 3 + how))
		ok "filter $((pair / 6)), figure $how: the kernel and the program agree" \
			same "${outs[$a]}" "${outs[$b]}"
	done
done

# --- loss ------------------------------------------------------------------------------------------------------------

unseen_begin sock/inet_sock_set_state "newstate == 7 && oldstate != 10 && (sport == $port || dport == $port)"
nest_bg tcplife -N "$host" --csv
wait_ready "$nest_err" || exit 1
before=$(in_ns "$host" awk '/^Tcp: [0-9]/ { print $6 + $7 }' /proc/net/snmp)
for _ in 1 2; do
	ask $burst 1 &
	note_process "$!"
	askers="${askers-} $!"
done
# shellcheck disable=SC2086 # a list
wait $askers
opened=$(($(in_ns "$host" awk '/^Tcp: [0-9]/ { print $6 + $7 }' /proc/net/snmp) - before))
wait_for 10 all_closed
end_bg "$nest_pid"
compare "$opened" -ge $((4 * burst)) "a burst of $((2 * burst)) connections with two ends each"
lost=$(sed -n 's/^nest: [0-9]* events, \([0-9]*\) lost.*/\1/p' "$nest_err")
reported=$(($(wc -l <"$nest_out") - 1)) unseen=$(unseen)
[ "$unseen" -eq 0 ] || diag "$unseen ends came while no program is run"
is "$((reported + (reported < opened ? unseen : 0)))" "$opened" 'every end has its row'
is "$lost" 0 'none was lost'

# With hardly any buffer, what is missing is counted.
nest_bg tcplife -N "$host" --csv --buffer 4096 --max-loss 0 --where 'state != SYN_SENT'
wait_ready "$nest_err" || exit 1
kill -STOP "$nest_pid"
ask 200 1
kill -CONT "$nest_pid"
end_bg "$nest_pid"
lost=$(sed -n 's/^nest: [0-9]* events, \([0-9]*\) lost.*/\1/p' "$nest_err")
compare "$lost" -gt 0 'a buffer that is too small loses events'
is "$(($(wc -l <"$nest_out") - 1 + lost))" 400 'what was shown and what was lost make all'
is "$end_status" 4 '--max-loss shows in the exit code'

# --- what a command does ---------------------------------------------------------------------------------------------

in_ns "$host" "$nest" trace tcp.close --json -- python3 "$load" ask $port 3 5 >"$room/child.json" 2>"$room/child.err"
is "$(figures "$room/child.json" "[e['rport'] for e in r]")" \
	"[$port, $port, $port]" 'a command is traced, and nobody else'
in_ns "$host" "$nest" trace tcp.close --json -- \
	sh -c "python3 '$load' ask $port 2 5; true" >"$room/child.json" 2>"$room/child.err"
is "$(figures "$room/child.json" 'len(r)')" 2 'and so are its children'

# --- failures --------------------------------------------------------------------------------------------------------

nest_bg tcpconnect -x --json -N "$host"
wait_ready "$nest_err" || exit 1
in_ns "$host" bash -c ': </dev/tcp/127.0.0.1/9' 2>/dev/null
ask 1 1
end_bg "$nest_pid"
is "$(figures "$nest_out" "[(e['rport'], e['error'], e['comm']) for e in r]")" "[(9, 'ECONNREFUSED', 'bash')]" \
	'a refused connection is a failure with a name'

nest_bg tcpaccept --json -N "$host"
wait_ready "$nest_err" || exit 1
ask 20 1
end_bg "$nest_pid"
is "$(figures "$nest_out" \
	"[len(r), {(e['lport'], e['pid'], e['proto']) for e in r}, all(e['rport'] and e['raddr'] for e in r)]")" \
	"[20, {($port, $server, 'tcp')}, True]" 'every accept with its process and both ends'

# --- nothing stays behind --------------------------------------------------------------------------------------------

# ids KIND: of the programs, maps or links that the run holds.
ids() {
	sed -n "s/^$1_id:[[:space:]]*//p" "/proc/$nest_pid/fdinfo/"* 2>/dev/null | sort -un
}
nest_bg trace sock.send --hist bytes --by comm 1
wait_ready "$nest_err" || exit 1
programs=$(ids prog) maps=$(ids map) links=$(ids link)
compare "$(wc -w <<<"$programs $maps $links")" -gt 3 'a run holds programs, maps and links'
kill -KILL "$nest_pid"
wait "$nest_pid" 2>/dev/null
# A map may outlive its process for a moment; the kernel frees them one by one.
gone() {
	local kind id
	for kind in prog map link; do
		for id in $(case $kind in prog) echo $programs ;; map) echo $maps ;; *) echo $links ;; esac); do
			! bpftool "$kind" show id "$id" >/dev/null 2>&1 || return 1
		done
	done
}
ok 'nothing is left after kill -9' wait_for 10 gone

"$nest" trace sock.sent 2>"$room/err"
is "$?" 2 'an event that is not there is a mistake of usage'
like "$(cat "$room/err")" 'did you mean sock.send' 'with a suggestion'
"$nest" trace sock.send --where 'byts > 3' 2>"$room/err"
is "$?" 2 'so is a field that is not there'
as_nobody "$nest" tcplife -d 1 2>"$room/err" >/dev/null
is "$?" 3 'without privilege nothing can be observed'
like "$(cat "$room/err")" 'CAP_BPF and CAP_PERFMON' 'and that is said'

finish
