#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The table of dropped packets: totals per flow and reason as nft and nstat count them, also beyond the cap; without BPF
# or privilege it is empty.
# vm: 8
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft nstat

ns_make client
ns_make server
ns_link "$client" 10.97.0.1/24 "$server" 10.97.0.2/24
ns_quiet "$client" "$link_dev" 10.97.0.2 "$server"
ns_quiet "$server" "$link_dev" 10.97.0.1 "$client"
in_ns "$server" nft -f - <<-END
	table inet f {
		chain c {
			type filter hook input priority 0
			udp dport 7000 counter drop
		}
	}
END
# send COUNT PORTS FIRST: datagrams to that many ports in turn.
send() {
	nsenter --net="/run/netns/$client" -- python3 - "$@" <<-'END'
		import socket, sys
		count, ports, first = map(int, sys.argv[1:])
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.bind(("10.97.0.1", 6000))
		for i in range(count):
		    s.sendto(b"x" * 100, ("10.97.0.2", first + i % ports))
	END
}
rule_count() {
	in_ns "$server" nft -j list table inet f | python3 -c '
import json, sys
print(sum(e["counter"]["packets"] for r in json.load(sys.stdin)["nftables"] if "rule" in r
          for e in r["rule"]["expr"] if "counter" in e))'
}
no_ports() {
	in_ns "$server" nstat -asz -j |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["kernel"]["UdpNoPorts"])'
}

# total REASON: of the last sample that is complete in the output.
total() {
	# Two samples at least, and not the whole file every time.
	tail -n 9000 "$nest_out" >"$room/tail"
	python3 - "$room/tail" "$1" <<-'END'
		import json, sys
		last = {}
		for line in open(sys.argv[1]):
		    if not line.endswith("\n"):
		        break
		    if f'"{sys.argv[2]}"' not in line:
		        continue
		    row = json.loads(line)
		    if row["reason"] == sys.argv[2]:
		        last[tuple(row[k] for k in ("laddr", "lport", "raddr", "rport", "dev", "dir"))] = row
		print(sum(row["packets"] for row in last.values()), len(last),
		      max((row["bytes"] // row["packets"] for row in last.values()), default=0))
	END
}
nest_bg tables drop -N "$server" --json 1
begun() {
	send 1 1 7000 && [ -s "$nest_out" ]
}
wait_for 60 begun || exit 1
# What was sent before the programs were there is in the counter alone.
pause 2
early=$(($(rule_count) - $(total NETFILTER_DROP | cut -d' ' -f1)))
# The tool beside it.
table_out=$nest_out table_pid=$nest_pid
nest_bg skbdrop -c -N "$server" --json
tool_out=$nest_out tool_pid=$nest_pid
wait_ready "$nest_err" 60 || exit 1
nest_out=$table_out nest_pid=$table_pid nest_err=$room/nest-1.err
rule_before=$(rule_count)
before=$(no_ports)
ok 'datagrams to a port that the firewall drops' send 250 1 7000
ok 'datagrams to 5000 ports without a socket' send 5000 5000 10000
moved=$(($(no_ports) - before))
have_all() {
	[ "$(total NETFILTER_DROP | cut -d' ' -f1)" = "$(($(rule_count) - early))" ] &&
		[ "$(total NO_SOCKET | cut -d' ' -f1)" = "$moved" ]
}
ok 'every drop is in the table' wait_for 20 have_all
end_bg "$tool_pid"
end_bg "$nest_pid"
# counted REASON: packets, flows and functions in the rows of the tool.
counted() {
	python3 - "$tool_out" "$1" <<-'END'
		import json, sys
		rows = [row for row in map(json.loads, open(sys.argv[1])) if row["reason"] == sys.argv[2]]
		print(sum(row["count"] for row in rows), len(rows), *{row["place"] for row in rows})
	END
}
if grep -aq SKB_DROP_REASON_NETFILTER_DROP /sys/kernel/btf/vmlinux; then
	is "$(total NETFILTER_DROP)" "$(($(rule_count) - early)) 1 128" 'as the rule counted, one flow, 128 bytes each'
	is "$(total NO_SOCKET | cut -d' ' -f1)" "$moved" 'as many as UdpNoPorts counts'
	like "$(total NO_SOCKET)" '^5000 40[0-9][0-9] ' 'flows beyond the cap are one row'
	like "$(counted NETFILTER_DROP)" "^$(($(rule_count) - rule_before)) 1 nf" 'skbdrop -c counts as the rule'
	is "$(counted NO_SOCKET)" "$moved 5000 __udp4_lib_rcv" 'and as UdpNoPorts, each flow'
else
	skip 'by reason' 'this kernel gives no reasons'
fi
like "$(tail -1 "$nest_err")" ', 0 lost' 'nothing is lost'

"$nest" tables drop -N "$server" --no-bpf --json 0.2 3 >"$room/none" 2>"$room/none.err"
is "$(wc -l <"$room/none")" 0 'without BPF there are no records'
unlike "$(cat "$room/none.err")" 'drop:' 'and no gap, since that was asked for'
as_nobody "$nest" tables drop --json 0.2 3 >"$room/nobody" 2>"$room/nobody.err"
like "$(cat "$room/nobody.err")" 'not seen: packets that this host dropped' 'without privilege that is a gap'
finish
