#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The table of retransmissions: per connection as many as ss counts, in kinds that fit what was done to it.
# vm: 42
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft ss
exact

ns_make client
ns_make server
ns_link "$client" 10.98.0.1/24 "$server" 10.98.0.2/24
# One packet is one segment, so that events and segments are the same.
ip -n "$client" link set "$link_dev" gso_max_segs 1

# firewall RULE ...: of the server.
firewall() {
	in_ns "$server" nft -f - <<-END
		table inet f
		delete table inet f
		table inet f {
			chain c {
				type filter hook input priority 0
				$1
			}
		}
	END
}

nest_bg tables retransmission -N "$client" --json 0.3
# A connection attempt that nobody answers shows that it has begun to count.
firewall 'tcp dport 6000 drop'
bg in_ns "$client" python3 -c '
import socket
while True:
    try:
        socket.create_connection(("10.98.0.2", 6000), 2)
    except OSError:
        pass'
if ! wait_for 30 grep -q '"syn"' "$nest_out"; then
	diag "$(head -c 2000 "$nest_err")"
	grep -q 'not seen: retransmissions' "$nest_err" && skip_all 'retransmissions cannot be traced here'
fi
pass 'a SYN that nobody answers is a retransmission of kind syn'
end_bg "$bg_pid" KILL

sink "$server" 10.98.0.2 5001
unseen_begin tcp/tcp_retransmit_skb 'dport == 5001'
# It writes until it is told to stop, and keeps the connection then.
nsenter --net="/run/netns/$client" -- python3 -c '
import socket, sys, time
s = socket.create_connection(("10.98.0.2", 5001))
end = time.monotonic() + 4
while time.monotonic() < end:
    s.sendall(b"x" * 20000)
    time.sleep(0.01)
print("finished", flush=True)
time.sleep(600)' >"$room/writer" 2>/dev/null &
note_process "$!"
firewall 'tcp dport 5001 numgen random mod 100 < 3 drop'
wait_for 60 grep -q finished "$room/writer"
firewall ''

# retransmitted: as ss says, of the connection: retrans:NOW/ALL.
retransmitted() {
	in_ns "$client" ss -tinH dport = :5001 | sed -n 's|.*retrans:[0-9]*/\([0-9]*\).*|\1|p'
}
# All that was in flight has been acknowledged, and the last figures are those of a sample after that.
is_calm() {
	! in_ns "$client" ss -tinH dport = :5001 | grep -q unacked
}
wait_for 30 is_calm
lines=$(wc -l <"$nest_out")
more_came() {
	[ "$(wc -l <"$nest_out")" -gt $((lines + 4)) ]
}
wait_for 30 more_came
end_bg "$nest_pid"
counted() {
	figures "$nest_out" "sum({x['kind']: x['count'] for x in r if x['rport'] == 5001}.values())"
}
compare "$(retransmitted)" -gt 0 'some were retransmitted'
is "$(counted)" "$(retransmitted)" 'as many as ss counts'
like "$(figures "$nest_out" "sorted({x['kind'] for x in r if x['rport'] == 5001})")" fast 'most of them fast'
is "$("$nest" tables retransmission -N "$client" --json 2>/dev/null)" '' 'a single sample has none'
finish
