#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Interruptions in time: looks that begin when the trouble is already there, beside the progress that the applications
# wrote down themselves; and the changes of interfaces, addresses and routes that this test makes.
# timeout: 150
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft ip

declare -A here_of router_of there_of dev_of

# network N: $here, $router, $there in a row; N is the second octet's end.
network() {
	ns_make here
	ns_make router
	ns_make there
	ns_link "$here" "10.95.$1.1/25" "$router" "10.95.$1.2/25"
	dev_of[$1]=$link_dev
	ns_link "$there" "10.95.$1.129/25" "$router" "10.95.$1.130/25"
	in_ns "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	ip -n "$here" route add default via "10.95.$1.2" && ip -n "$there" route add default via "10.95.$1.130" ||
		exit 1
	here_of[$1]=$here router_of[$1]=$router there_of[$1]=$there
}

# load NAMESPACE ROLE ADDRESS PORT [MORE]: in the background, ready; $bg_pid.
load() {
	nsenter --net="/run/netns/$1" -- python3 "$live_dir/interruption-load.py" "${@:2}" >"$room/$2-$4" 2>/dev/null \
		</dev/null &
	bg_pid=$!
	note_process "$bg_pid"
	wait_for 20 grep -q ready "$room/$2-$4" || { diag "$2 on port $4 does not start"; exit 1; }
}

# pair N KIND PORT [RCVBUF]: traffic from here to there.
pair() {
	load "${there_of[$1]}" sink "10.95.$1.129" "$3" ${4:+"$4"}
	sink_pid=$bg_pid
	load "${here_of[$1]}" "$2" "10.95.$1.129" "$3"
}

# firewall N RULE: of the router.
firewall() {
	in_ns "${router_of[$1]}" nft -f - <<-END
		table inet f
		delete table inet f
		table inet f {
			chain c {
				type filter hook forward priority 0
				$2
			}
		}
	END
}

# again_and_again N COMMAND-ON SECONDS COMMAND-OFF SECONDS: in the background until the test ends.
again_and_again() {
	(
		trap 'exit 0' TERM
		while :; do
			eval "$1"
			sleep "$2"
			eval "$3"
			sleep "$4"
		done
	) >/dev/null 2>&1 </dev/null &
	note_process "$!"
}

for n in 1 2 3 4 5; do
	network $n
done

# 1: the path is gone for half a second every two seconds. 2: the link is. 3: the peer does not read then.
pair 1 steady 5101
pair 1 chat 5102
again_and_again "firewall 1 drop" 0.5 "firewall 1 ''" 1.5
pair 2 steady 5201
again_and_again "ip -n ${router_of[2]} link set ${dev_of[2]} down" 0.5 \
	"ip -n ${router_of[2]} link set ${dev_of[2]} up" 1.5
pair 3 bulk 5301 65536
again_and_again "kill -STOP $sink_pid" 0.7 "kill -CONT $sink_pid" 1.3
# 4: two packets of a hundred have been lost since the start. 5: programs that pause by themselves, both ways.
firewall 4 'numgen random mod 50 < 1 drop'
pair 4 steady 5401
port=5500
for kind in chunks chat batch steady; do
	pair 5 $kind $((port += 1))
	load "${here_of[5]}" sink 10.95.5.1 $((port += 1))
	load "${there_of[5]}" $kind 10.95.5.1 $port
done
pause 3

# --- late looks ---

for n in 1 2 3 4 5; do
	nest_bg diagnose -N "${here_of[$n]}" -d 7 --json
	out_of[n]=$nest_out pid_of[n]=$nest_pid
done
nest_bg stalls -N "${here_of[1]}" --json --save "$room/stalls.nest"
stalls_out=$nest_out stalls_pid=$nest_pid
nest_bg stalls -N "${here_of[2]}" --json
flap_out=$nest_out flap_pid=$nest_pid
for n in 1 2 3 4 5; do
	wait "${pid_of[$n]}"
done

# causes N: all that were found in the looks at it.
causes() {
	figures "${out_of[$1]}" '" ".join(sorted({f["cause"] for j in r for f in j["findings"]}))'
}
like " $(causes 1) " ' path-outage ' 'a path that goes away every other second: path-outage'
like " $(causes 2) " ' link-flapping ' 'a link that goes away every other second: link-flapping'
unlike " $(causes 2) " ' path-' '... and no path is accused'
like " $(causes 3) " ' peer-not-reading ' 'a peer that stops every other second: peer-not-reading'
like " $(causes 4) " ' path-loss ' 'losses since the start: path-loss'
unlike " $(causes 5) " ' (path|link|peer|filter)-' 'programs that pause by themselves: nobody is accused'

# --- nest stalls, beside the application's own clock ---

wait_for 20 has_line "$stalls_out" '{' && wait_for 20 has_line "$flap_out" '{'
pause 2
end_bg "$stalls_pid"
end_bg "$flap_pid"
# Each interruption of the steady stream is a pause that its reader saw.
matched=$(python3 -IS - "$stalls_out" "$room/sink-5101" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
rows = [r for r in rows if r["rport"] == 5101 and not r["ongoing"]]
pauses = [tuple(map(float, line.split())) for line in open(sys.argv[2]) if line[0].isdigit()]
good = [r for r in rows if any(abs(r["time_ns"] / 1e9 - begin) < 0.4 and abs(r["span_ns"] / 1e9 - span) < 0.4
                               for begin, span in pauses)]
print("all" if rows and len(good) == len(rows) else f"{len(good)} of {len(rows)}: {rows} {pauses}")
END
)
is "$matched" all 'stalls: begin and length as the reader of the stream saw them'
like "$(figures "$stalls_out" '{x["shared"] for x in r}')" "'path'" 'stalls: both connections have the path in common'
compare "$(figures "$stalls_out" 'max(x["timeouts"] for x in r)')" -ge 1 'stalls: with retransmission timeouts'
like "$(figures "$flap_out" '{x["shared"] for x in r}')" "'link'" 'stalls: the interface lost its carrier then'
"$nest" stalls -f "$room/stalls.nest" --json >"$room/again" 2>/dev/null
is "$(figures "$room/again" 'sorted((x["time_ns"] // 10**7, x["rport"]) for x in r if not x["ongoing"])')" \
	"$(figures "$stalls_out" 'sorted((x["time_ns"] // 10**7, x["rport"]) for x in r if not x["ongoing"])')" \
	'stalls: the same from the recording'

# --- what changed ---

nest_bg tables net_change -N "${here_of[4]}" --json 0.2
# It listens from its first sample on, and nobody says when that was.
announce() {
	ip -n "${here_of[4]}" addr add 10.1.1.1/32 dev lo && ip -n "${here_of[4]}" addr del 10.1.1.1/32 dev lo
	pause 0.3
	grep -q address-added "$nest_out"
}
wait_for 20 announce
# seen CHANGE COUNT: so often by now. The kernel joins changes of the carrier that follow each other closely.
seen() {
	[ "$(grep -c "\"change\":\"$1\",\"ifindex\":[0-9]*,\"dev\":\"${dev_of[4]}\"" "$nest_out")" -ge "$2" ]
}
for i in 1 2 3; do
	ip -n "${router_of[4]}" link set "${dev_of[4]}" down
	wait_for 20 seen carrier-down $i
	ip -n "${router_of[4]}" link set "${dev_of[4]}" up
	wait_for 20 seen carrier-up $i
done
ip -n "${here_of[4]}" route add 10.200.0.0/16 via 10.95.4.2
ip -n "${here_of[4]}" route del 10.200.0.0/16
ip -n "${here_of[4]}" link set "${dev_of[4]}" mtu 1400
wait_for 20 grep -q '"mtu"' "$nest_out"
end_bg "$nest_pid"
of_dev="x[\"dev\"] == \"${dev_of[4]}\""
is "$(figures "$nest_out" "[sum(x['change'] == c and $of_dev for x in r) for c in ('carrier-down', 'carrier-up')]")" \
	'[3, 3]' 'net_change: each loss and return of the carrier'
is "$(figures "$nest_out" "[(x['change'], x['prefix']) for x in r if x['addr'] == '10.200.0.0']")" \
	"[('route-added', 16), ('route-removed', 16)]" 'net_change: a route comes and goes'
is "$(figures "$nest_out" "[(x['before'], x['after']) for x in r if x['change'] == 'mtu']")" '[(1500, 1400)]' \
	'net_change: the MTU before and after'
is "$("$nest" tables net_change -N "${here_of[4]}" --json 2>/dev/null)" '' 'net_change: a single sample has none'
finish
