#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rows of docs/coverage.md that no other test runs: soaccept, tcpsynbl, qdisclat with its kinds,
# and the CPUs that receive.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 tc ping

ns_make a
ns_make b
ns_link "$a" 10.66.7.1/24 "$b" 10.66.7.2/24

# watch NAME ARGUMENT ...: nest in the background; its output will be in $room/NAME.
watched=()
watch() {
	local name=$1
	shift
	nest_bg "$@"
	watched+=("$name $nest_pid $nest_out")
	wait_ready "$nest_err" 60 || diag "$name is not ready"
}

# unwatch: ends them all.
unwatch() {
	local name pid out
	for entry in "${watched[@]}"; do
		read -r name pid out <<<"$entry"
		end_bg "$pid"
		cp "$out" "$room/$name"
	done
	watched=()
}

# --- sockets ---------------------------------------------------------------------------------------------------------

watch accept soaccept -N "$a" --json
watch backlog tcpsynbl -N "$a" --json
watch receive trace dev.receive -i "$link_dev" -N "$a" --lhist cpu,0,128,2 --by dev --json
in_ns "$a" python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 4711), backlog=53)
# 37 wait at the same time before the first is taken.
c = [socket.create_connection(("127.0.0.1", 4711)) for _ in range(37)]
for _ in range(37):
    s.accept()[0].close()'
in_ns "$a" ping -q -c 29 -i 0.01 10.66.7.2 >/dev/null
unwatch
is "$(figures "$room/accept" '(len(r), {(e["comm"][:6], e["lport"], e["error"]) for e in r})')" \
	"(37, {('python', 4711, None)})" \
	'soaccept: every connection that was taken' || diag "$(head -3 "$room/accept")"
is "$(figures "$room/backlog" \
	'[(sum(h["count"] for h in e["hist"]), e["backlog_max"]) for e in r if e["backlog_max"] == 53]')" \
	'[(37, 53)]' 'tcpsynbl: how many waited whenever another came' || diag "$(cat "$room/backlog")"
is "$(figures "$room/backlog" '[e["max"] for e in r if e["backlog_max"] == 53][0] in (36, 37)')" \
	True 'up to all of them'
# 29 answers, and whatever neighbours said.
compare "$(figures "$room/receive" 'sum(h["count"] for e in r for h in e["hist"])')" \
	-ge 29 'dev.receive by CPU: every answer' ||
	diag "$(cat "$room/receive")"
is "$(figures "$room/receive" "{e['dev'] for e in r} == {'$link_dev'}
	and all(h['lo'] <= $(nproc --all) for e in r for h in e['hist'])")" True 'on CPUs that there are'

# --- queues ----------------------------------------------------------------------------------------------------------

# sent: packets that the queue of the link has let go.
sent() {
	in_ns "$a" tc -s -j qdisc show dev "$link_dev" |
		from_json 'max([q["packets"] for q in j if q.get("root")] + [0])'
}

# flood: two senders at the same time.
flood() {
	local pids=()
	for _ in 1 2; do
		in_ns "$a" timeout 60 python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5000):
	s.sendto(b"x" * 100, ("10.66.7.2", 4711))' &
		pids+=("$!")
		note_process "$!"
	done
	wait "${pids[@]}"
}

# kind NAME ARGUMENT ...: packets through a queue of that kind, seen by its own tool and by the one for all.
kind() {
	local name=${1#qdisc-} before after least some count
	shift
	if ! in_ns "$a" tc qdisc replace dev "$link_dev" root handle 7: "$name" "$@" 2>"$room/tc.err"; then
		skip "qdisc-$name" 'this kernel has no such queue'
		return
	fi
	[ "$name" != htb ] || in_ns "$a" tc class add dev "$link_dev" parent 7: classid 7:1 htb rate 1gbit quantum 1500
	before=$(sent)
	watch "kind" "qdisc-$name" -N "$a" -i "$link_dev" --json
	watch "all" qdisclat -N "$a" -i "$link_dev" --json
	in_ns "$a" ping -q -c 23 -i 0.01 10.66.7.2 >/dev/null
	# Codel's queues are passed by while they are empty: only several senders at a time make packets wait in them.
	[ "$name" = "${name%codel}" ] || flood
	after=$(sent)
	unwatch
	# Even then, on one CPU, none may have to.
	case $name in *codel) least=0 some='?' ;; *) least=23 some= ;; esac
	like "$(figures "$room/kind" "[(e['kind'], e['handle']) for e in r]")" "^\[(\('$name', '0x70000'\))$some\]$" \
		"qdisc-$name: packets that waited in it"
	is "$(figures "$room/kind" \
		"$least <= sum(h['count'] for e in r for h in e['hist']) <= $after - $before + 3")" \
		True "as many as tc counts ($name)" ||
		diag "$before $after $(cat "$room/kind")"
	# It began a moment later, and ends a moment later.
	count=$(figures "$room/kind" 'sum(e["count"] for e in r)')
	like "$(figures "$room/all" \
		"[abs(e['count'] - $count) <= 0.1 * $count + 2 for e in r if e['handle'] == '0x70000']")" \
		"^\[(True)$some\]$" "qdisclat: the same ($name)" || diag "$(cat "$room/all" "$room/kind")"
	in_ns "$a" tc qdisc del dev "$link_dev" root
}

kind qdisc-htb default 1
kind qdisc-fq
kind qdisc-fq_codel
kind qdisc-codel
kind qdisc-red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02
kind qdisc-cake
kind qdisc-cbs
kind qdisc-cbq avpkt 1000 bandwidth 1gbit
# Where there is no queue of a kind, its tool says nothing rather than something wrong.
in_ns "$a" tc qdisc add dev "$link_dev" root handle 7: tbf rate 100mbit burst 10000 limit 100000
watch "kind" qdisc-cake -N "$a" -i "$link_dev" --json
in_ns "$a" ping -q -c 3 -i 0.01 10.66.7.2 >/dev/null
unwatch
is "$(cat "$room/kind")" '' 'packets in a queue of another kind are not those of cake'

finish
