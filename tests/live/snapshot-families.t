#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# UNIX, raw, packet, netlink, vsock and MPTCP sockets beside what ss says; and interfaces that do not exist.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd ip nsenter ss script /usr/bin/python3

families="$live_dir/snapshot-families.py"

# A single "cannot look into another user's process" is no concern here.
show() {
	"$nest" sockets -N "$ns" --json "$@" 2>"$room/nest.err"
}

# against KIND OPTION [SS-OPTION ..]: nest with the option beside ss with the others.
against() {
	local kind=$1 option=$2
	shift 2
	show "$option" >"$room/$kind.json" || return 1
	in_ns "$ns" ss -anepmOH "$@" >"$room/$kind.txt"
	/usr/bin/python3 "$families" check "$kind" "$room/$kind.json" "$room/$kind.txt" >"$room/check.txt" && return 0
	cat "$room/check.txt"
	return 1
}

ns_make ns
in_ns "$ns" ip link set lo up
mkfifo "$room/in" && : >"$room/hold.out"
in_ns "$ns" /usr/bin/python3 "$families" hold "$room" <"$room/in" >"$room/hold.out" &
note_process "$!"
exec {input}>"$room/in"
wait_for 20 grep -q ready "$room/hold.out" || { diag 'the holder is not ready'; exit 1; }
read -r _ holder mptcp <"$room/hold.out"
note_process "$holder"

# --- every family beside ss
ok 'UNIX sockets are those of ss' against unix -x -x
compare "$(sed -n 's/ values compared.*//p' "$room/check.txt")" -ge 40 'and many values of them'
like "$(cat "$room/unix.json")" '"local":"@abstract@.u001b\[31mname"' 'an abstract name, escaped'
is "$(figures "$room/unix.json" "[(s['peer_pid'], s['state']) for s in r if s['remote'] == '$room/a stream']")" \
	"[($holder, 'ESTABLISHED')]" 'a client knows path and process of its peer'
ok 'packet sockets are those of ss' against packet -0 -0
is "$(figures "$room/packet.json" '[s["proto"] for s in r]')" "['lldp', None]" 'with their EtherTypes'
ok 'raw sockets are those of ss' against raw --raw -w
if grep -q 'CONFIG_INET_RAW_DIAG' "$room/nest.err"; then
	like "$(cat "$room/nest.err")" 'not seen: buffers' 'and what /proc does not have is reported'
else
	is "$(grep -c '"rcvbuf":null' "$room/raw.json")" 0 'with their buffers'
fi
if [ "$mptcp" = mptcp ] && against mptcp -M -M; then
	ok 'MPTCP sockets are those of ss' true
	is "$(wc -l <"$room/mptcp.json")" 3 'a listener and both ends'
else
	skip 'MPTCP sockets' "this kernel has none, or does not list them: $(head -1 "$room/nest.err")"
fi
show --netlink >"$room/netlink.json"
in_ns "$ns" cat /proc/net/netlink >"$room/netlink.txt"
ok 'netlink sockets are those of /proc/net/netlink' \
	/usr/bin/python3 "$families" check netlink "$room/netlink.json" "$room/netlink.txt"
is "$(grep -c "\"groups\":\"0x11\".*\"pid\":$holder," "$room/netlink.json")" 1 'with groups and owner'
show --vsock >"$room/vsock.json"
is "$?" 0 'vsock sockets are listed'
if ! in_ns "$ns" grep -q VSOCK /proc/net/protocols || grep -q CONFIG_VSOCKETS_DIAG "$room/nest.err"; then
	like "$(cat "$room/nest.err")" 'not seen: vsock sockets .vsock_diag: ' 'or it is reported that they are not'
else
	is "$(grep -c not.known "$room/nest.err")" 0 'completely'
fi

# --- options
show -l >"$room/listen.json"
is "$(show -x -l | from_json 'j["local"]')" "$room/a stream" '-l: the UNIX listener alone'
is "$(show -x -l -a | wc -l)" "$(wc -l <"$room/unix.json")" '-a takes it back'
is "$(show -x -p "$holder" | wc -l)" "$(wc -l <"$room/unix.json")" '-p: all of them are its'
like "$("$nest" sockets -N "$ns" -x -l 2>/dev/null | tail -1)" '^stream +LISTEN +1 +7 .*/a stream ' \
	'RECVQ and SENDQ of a listener are its accept queue and the limit, as ss shows them'
is "$(show -x -l --where 'recvq >= 0' | wc -l)" 0 'but no filter takes them for bytes'
is "$("$nest" sockets -N "$ns" -x -l --where 'recvq >= 0' 2>/dev/null | wc -l)" 1 'nor in the table'
is "$(show -0 -i lo | wc -l)" 1 '-i: the packet socket that is bound'
show --tcp --unix --packet >"$room/mixed.json"
is "$(figures "$room/mixed.json" 'sorted({s["family"] for s in r} - {"ipv4"})')" "['packet', 'unix']" \
	'families can be combined'
is "$(figures "$room/mixed.json" '[s["local"] for s in r if s["proto"] == "tcp" and s["state"] == "LISTEN"]')" \
	"$(figures "$room/listen.json" '["%s:%s" % (s["laddr"], s["lport"]) for s in r]')" 'also with TCP'
is "$(show | grep -c '"family":"unix"')" 0 'TCP and UDP alone by default'
like "$(in_ns "$ns" script -qec "stty cols 120; $nest sockets -t" /dev/null 2>/dev/null | tr -d '\r')" \
	'COMM +RTT +CWND +RETRANS +RATE' 'a terminal of 120 columns shows what ss -ti does'
unlike "$(in_ns "$ns" script -qec "stty cols 80; $nest sockets -t" /dev/null 2>/dev/null)" 'CWND' 'one of 80 does not'
is "$("$nest" tables --json -N "$ns" 2>/dev/null | grep -c '_socket","count":null')" 6 \
	'nest tables does not count what it does not read'
is "$("$nest" tables unix_socket --json -N "$ns" 2>/dev/null | wc -l)" "$(wc -l <"$room/unix.json")" 'or if named'
"$nest" sockets -x -f "$room/none.nest" >/dev/null 2>"$room/err"
is "$?:$(grep -c 'TCP and UDP sockets only' "$room/err")" 2:1 'a recording has no such sockets'

# --- an interface that does not exist
for command in 'sockets' 'links' 'links -q' 'links -a' 'links -e' 'diagnose' 'watch' 'trace dev.queue -d 1'; do
	echo before >"$room/kept"
	# shellcheck disable=SC2086
	"$nest" $command -N "$ns" -i nosuch -o "$room/kept" >"$room/out" 2>"$room/err"
	is "$?:$(cat "$room/out"):$(grep -c "no interface 'nosuch'" "$room/err"):$(cat "$room/kept")" 2::1:before \
		"nest $command -i nosuch is a mistake of usage, and writes no file" || diag "$(cat "$room/err")"
done
"$nest" links -N "$ns" -i lo >/dev/null 2>&1
is "$?" 0 'and one that exists is not'
exec {input}>&-
finish
