#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# skbdrop names the counter that moved: of each as many rows as nstat says it moved, and none that it does not know.
# vm: 12
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nstat ping

ns_make client
ns_make server
ns_link "$client" 10.96.0.1/24 "$server" 10.96.0.2/24
ip -n "$client" addr add fd96::1/64 dev "$link_dev" nodad
ip -n "$server" addr add fd96::2/64 dev "$link_dev" nodad
in_ns "$client" ping -c 1 -W 5 -q 10.96.0.2 >/dev/null && in_ns "$client" ping -c 1 -W 5 -q fd96::2 >/dev/null || exit 1
in_ns "$server" \
	sh -c 'echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter; echo 1 >/proc/sys/net/ipv4/conf/'"$link_dev"'/rp_filter'
link=$(ip -n "$server" -br link show "$link_dev" | awk '{ print $3 }')

nest_bg skbdrop -N "$server" --json
wait_ready "$nest_err" 60 || exit 1
mkfifo "$room/hold"
nsenter --net="/run/netns/$server" -- python3 "$live_dir/drop-load.py" server <"$room/hold" >"$room/server" &
note_process "$!"
exec {hold}>"$room/hold"
wait_for 20 grep -q ready "$room/server" || exit 1
counted() {
	in_ns "$server" nstat -asz -j
}
counted >"$room/before"
ok 'dropped packets' nsenter --net="/run/netns/$client" -- \
	timeout 60 python3 "$live_dir/drop-load.py" client "$link_dev" "$link"
# named REASON: whether the kernel names it when it throws a packet away.
named() {
	grep -aq "SKB_DROP_REASON_$1" /sys/kernel/btf/vmlinux
}
late=
if named TCP_ABORT_ON_DATA; then
	late=1
	drop_count() {
		[ "$(grep -c '"reason":"TCP_ABORT_ON_DATA"' "$nest_out")" -ge 1 ]
	}
	ok 'the last one is reported' wait_for 20 drop_count
fi
counted >"$room/after"
end_bg "$nest_pid"
exec {hold}>&-

# Lines "NAME rows moved". Two counters move with others that are more exact: a wrong sum is a wrong header, too, and
# data that comes too late is answered by a reset.
python3 - "$room" "$nest_out" "$late" >"$room/result" <<'END'
import collections, json, sys
room, out, late = sys.argv[1:]
before, after = (json.load(open(f"{room}/{name}"))["kernel"] for name in ("before", "after"))
rows = collections.Counter(e["counter"] for e in map(json.loads, open(out)))
also = {"IpInHdrErrors": "IpExtInCsumErrors", "TcpOutRsts": "TcpExtTCPAbortOnData"}
for name in sorted(k for k in rows if k):
    moved = after[name] - before[name]
    # The reset that answers late data, where no reason is given for it.
    print(name, rows[name] + rows[also.get(name, "")], moved - (name == "TcpOutRsts" and not late))
END
# rows NAME: as many as the counter moved; else nothing.
rows() {
	awk -v name="$1" '$1 == name && $2 == $3 { print $2 }' "$room/result"
}
is "$(awk '$2 != $3' "$room/result")" '' 'each counter moved by as many as have its name'
# How often drop-load.py does what makes it move.
while read -r name times; do
	is "$(rows "$name")" "$times" "$name"
done <<-END
	UdpNoPorts 7
	Udp6NoPorts 7
	UdpInCsumErrors 5
	Udp6InCsumErrors 3
	TcpInCsumErrors 9
	IcmpInCsumErrors 4
	Icmp6InCsumErrors 3
	IpInUnknownProtos 6
	Ip6InUnknownProtos 5
	IpInHdrErrors 11
	IpExtInCsumErrors 8
	TcpExtIPReversePathFilter 9
	IpInAddrErrors 11
	Ip6InNoRoutes 4
	TcpOutRsts $((late ? 9 : 8))
END
# counts NAME REASON: at least once, where the kernel names the reason.
counts() {
	if named "$2"; then
		compare "$(rows "$1")" -ge 1 "$1"
	else
		skip "$1" 'this kernel does not name the reason'
	fi
}
counts TcpExtTCPAbortOnData TCP_ABORT_ON_DATA
counts TcpExtTCPMinTTLDrop TCP_MINTTL
# The kernel may ask again; and it decides how many fit.
for name in UdpRcvbufErrors Udp6RcvbufErrors; do
	compare "$(rows "$name")" -ge 1 "$name"
done
if grep -q unsigned "$room/server"; then
	skip TcpExtTCPMD5NotFound 'this kernel has no signatures of TCP'
else
	compare "$(rows TcpExtTCPMD5NotFound)" -ge 1 TcpExtTCPMD5NotFound
fi
like "$(tail -1 "$nest_err")" ', 0 lost|missed while their BPF program was running$' 'nothing was lost for sure'
finish
