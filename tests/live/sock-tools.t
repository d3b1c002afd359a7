#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Socket tools against programs that log their calls, and the kernel's counters.
# vm: 76
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 unshare

load=$live_dir/sock-load.py
# The interpreter itself: a wrapper script would make its own calls.
python=$(python3 -c 'import sys; print(sys.executable)')
ns_make host

# traced NAME EVENTS LOAD ...: output of the load in $room/NAME.facts, events in $room/NAME.json.
traced() {
	local name=$1 events=$2
	shift 2
	in_ns "$host" "$nest" trace "$events" -o "$room/$name.json" --json -- \
		"$python" "$load" "$@" >"$room/$name.facts" 2>"$room/$name.err" || diag "$(cat "$room/$name.err")"
}

# check NAME PYTHON-EXPRESSION: events in r, output of the load in f.
check() {
	python3 -IS -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1] + ".json")]
f = json.load(open(sys.argv[1] + ".facts"))
def of(event): return [e for e in r if e["event"] == event]
print(eval("(" + sys.argv[2] + ")"))' "$room/$1" "$2"
}

# --- making, binding, listening --------------------------------------------------------------------------------------

# With every kind of hook at system call exit.
setup_checks() {
	is "$(check setup '[(e["family"], e["proto"], e["type"], e["error"]) for e in of("sock.create")]')" \
		"[('ipv4', 'tcp', 'stream', None), ('ipv6', 'udp', 'dgram', None), ('unix', None, 'stream', None), \
('ipv4', 'tcp', 'stream', None), ('ipv4', '99', 'stream', 'EPROTONOSUPPORT')]" \
		"sock.create: every call of socket$1"
	is "$(check setup '[(e["laddr"], e["lport"], e["error"], e["path"]) for e in of("sock.bind")] ==
		[("127.0.0.1", f["port"], None, None), ("::1", f["port6"], None, None), (None, None, None, f["unix"]),
		 ("127.0.0.1", f["port"], f["in_use"], None), ("192.0.2.77", 4711, f["not_ours"], None)]')" True \
		"sock.bind: the port that the kernel chose, and the requested one of a failure$1"
	is "$(check setup \
		'[f["in_use"], f["not_ours"], of("sock.bind")[0]["options"], of("sock.bind")[3]["options"]]')" \
		"['EADDRINUSE', 'EADDRNOTAVAIL', 'reuseaddr', None]" "sock.bind: errors and options$1"
	is "$(check setup '[(e["lport"], e["asked"], e["backlog_max"]) for e in of("sock.listen")] ==
		[(f["port"], 7, 7), (f["port"], 100000, f["most"]), (None, 3, 3)]')" True \
		"sock.listen: what was asked for and what was granted$1"
}
# setup WITH: with_tracefs or without_tracefs.
setup() {
	"$1" nsenter --net="/run/netns/$host" -- \
		"$nest" trace sock.create,sock.bind,sock.listen -o "$room/setup.json" --json -- \
		"$python" "$load" setup >"$room/setup.facts" 2>"$room/setup.err" || diag "$(cat "$room/setup.err")"
}
setup without_tracefs
setup_checks ', without tracefs'
if with_tracefs true 2>/dev/null; then
	setup with_tracefs
	setup_checks ', with tracefs'
else
	skip 'with tracefs' 'tracefs cannot be mounted here'
fi

# --- connecting ------------------------------------------------------------------------------------------------------

traced connect sock.connect connect
is "$(check connect '[[e["rport"], e["error"]] for e in r] == f and len(r) == 11')" True \
	'sock.connect: every attempt once, in order, with the error that the program saw'
is "$(check connect '[f[1][1], f[3][1], f[4][1], f[7][1], f[10][1]]')" \
	"['ECONNREFUSED', 'ECONNREFUSED', 'ENETUNREACH', 'ENOENT', 'EADDRNOTAVAIL']" \
	'refused, refused later, no route, no such file, no port left'
is "$(check connect '[(e["family"], e["proto"], e["raddr"]) for e in r[5:7]]')" \
	"[('ipv4', 'udp', '127.0.0.1'), ('ipv4', 'udp', '127.0.0.1')]" 'UDP too; a mapped address is an IPv4 address'
is "$(check connect '[r[7]["path"], {e["comm"] for e in r}, all(e["lat_ns"] > 0 for e in r)]')" \
	"['/nonexistent/nest', {'python3'}, True]" 'the path, the owner, a time'

# --- the first byte --------------------------------------------------------------------------------------------------

traced slow sock.firstbyte,sock.connect slow 150
is "$(check slow '[(e["rport"] == f, 150e6 <= e["lat_ns"] < 3e9, e["bytes"]) for e in of("sock.firstbyte")]')" \
	'[(True, True, 1)]' 'sock.firstbyte: once, with the time that the server took'
is "$(check slow 'of("sock.connect")[0]["lat_ns"] < of("sock.firstbyte")[0]["lat_ns"]')" \
	True 'the connection was there before'

# --- close -----------------------------------------------------------------------------------------------------------

traced life sock.close,udp.close,sock.accept life
is "$(check life '[(e["tx_bytes"], e["rx_bytes"], e["sends"], e["span_ns"] > 100e6)
	for e in of("sock.close") if e["lport"] == f["client"]]')" \
	'[(7807, 7919, 37, True)]' 'sock.close: the client of a TCP session'
is "$(check life '[(e["tx_bytes"], e["rx_bytes"], e["span_ns"] > 100e6)
	for e in of("sock.close") if e["rport"] == f["client"]]')" '[(7919, 7807, True)]' 'and its server'
is "$(check life '[(e["tx_bytes"], e["rx_bytes"], e["sends"], e["receives"], e["raddr"], e["rport"] == f["udp_to"])
	for e in of("udp.close") if e["lport"] == f["udp_by"]]')" \
	"[(4633, 0, 41, 0, '127.0.0.1', True)]" 'udp.close: 41 datagrams of 113 bytes out'
is "$(check life '[(e["tx_bytes"], e["rx_bytes"], e["sends"], e["receives"])
	for e in of("udp.close") if e["lport"] == f["udp_to"]]')" \
	'[(0, 4633, 0, 41)]' 'and in; looking at them first counts nothing'
is "$(check life '[e["lport"] == f["server"] and e["rport"] == f["client"] for e in of("sock.accept")]')" \
	'[True]' 'sock.accept: once'

traced ring sock.accept ring
if [ "$(check ring 'f["port"]')" = None ]; then
	skip 'sock.accept through io_uring' "$(check ring 'f["why"]')"
else
	is "$(check ring \
		'[(e["rport"] == f["port"], e["lport"] == f["server"], e["fd"] == f["fd"], e["comm"]) for e in r]')" \
		"[(True, True, True, 'python3')]" 'sock.accept: through io_uring'
fi

# A killed process also closes its sockets.
nest_bg trace sock.close -N "$host" --json
wait_ready "$nest_err" || exit 1
in_ns "$host" python3 -c 'import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", 4715))
s.send(b"x" * 13)
os.kill(os.getpid(), 9)' 2>/dev/null
wait_for 5 grep -q '"rport":4715' "$nest_out"
end_bg "$nest_pid"
like "$(grep '"rport":4715' "$nest_out")" '"comm":"python3".*"tx_bytes":13,' 'sock.close: of a process that was killed'

# --- passed file descriptors -----------------------------------------------------------------------------------------

traced pass sock.pass pass
is "$(check pass '[(e["action"], e["socket_fd"], e["fd"]) for e in r] ==
	[("send", f["from"], fd) for fd in f["sent"]] + [("recv", f["to"], fd) for fd in f["received"]]')" True \
	'sock.pass: each descriptor, as sender and receiver have it'
is "$(check pass '[[e["file"].split("-STREAM")[0] for e in r] == [f["file"], "pipe", "UNIX"] * 2, len(f["sent"])]')" \
	'[True, 3]' 'with the names of what they are'

# --- queues ----------------------------------------------------------------------------------------------------------

nest_bg udpdrop -N "$host" --json
wait_ready "$nest_err" || exit 1
drop_out=$nest_out drop_pid=$nest_pid
traced flood sock.overflow,sock.queued flood 157 997
wait_for 5 test -s "$drop_out"
end_bg "$drop_pid"
cp "$drop_out" "$room/drop.json"
cp "$room/flood.facts" "$room/drop.facts"
compare "$(check flood 'f["lost"]')" -gt 50 'a socket that does not read loses datagrams'
is "$(check drop 'len(r) == f["lost"]')" True 'udpdrop: as many as RcvbufErrors counts'
is "$(check drop \
	'{(e["comm"], e["laddr"], e["lport"] == f["port"], e["reason"], e["rcvbuf"] == f["rcvbuf"]) for e in r}')" \
	"{('python3', '127.0.0.1', True, 'receive-queue', True)}" 'with the reader and what it has room for'
# The tracepoint passes the packet since 6.10.
if with_tracefs grep -q saddr /sys/kernel/tracing/events/udp/udp_fail_queue_rcv_skb/format; then
	is "$(check drop '{(e["raddr"], e["rport"] == f["from"], e["bytes"]) for e in r}')" \
		"{('127.0.0.1', True, 997)}" 'with the sender and the size'
else
	is "$(check drop '{(e["raddr"], e["rport"], e["bytes"]) for e in r}')" \
		'{(None, None, None)}' 'sender and size are not known on this kernel, and not shown'
fi
is "$(check flood '[len(of("sock.overflow")) == f["lost"], len(of("sock.queued")) == f["read"]]')" '[True, True]' \
	'sock.overflow and sock.queued: what did not fit, what did'
is "$(check flood '[sorted(e["recvq_bytes"] for e in of("sock.queued")) ==
	[e["recvq_bytes"] for e in of("sock.queued")],
	of("sock.queued")[0]["full"] < of("sock.queued")[-1]["full"]]')" \
	'[True, True]' 'sock.queued: the queue fills up'

# --- bytes -----------------------------------------------------------------------------------------------------------

traced bytes sock.send,sock.recv,sock.splice bytes
python3 - "$room/bytes" >"$room/bytes.out" <<'PY'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1] + ".json")]
for way, port, sent, received in json.load(open(sys.argv[1] + ".facts")):
    tx = sum(e["bytes"] for e in events if e["event"] == "sock.send" and e["lport"] == port)
    rx = sum(e["bytes"] for e in events if e["event"] in ("sock.recv", "sock.splice") and e["rport"] == port)
    print(way, tx == sent, rx == received == sent)
PY
compare "$(wc -l <"$room/bytes.out")" -ge 5 'five ways of reading or more'
while read -r way tx rx; do
	is "$tx $rx" 'True True' "$way: bytes of the calls"
done <"$room/bytes.out"

# --- aggregation by process and ports, a separate path in the kernel -------------------------------------------------

# Without a filter, as this path has none (includes other processes); and with one that passes everything.
pids=() outs=()
for where in '' '--where=bytes >= 0'; do
	for by in event,pid,family,proto,lport,rport event,tid,comm,lport; do
		nest_bg trace sock.send,sock.recv --stats bytes --by "$by" ${where:+"$where"} --json
		wait_ready "$nest_err" || exit 1
		pids+=("$nest_pid") outs+=("$nest_out")
	done
done
in_ns "$host" "$python" "$load" families >"$room/families.facts"
# Before Linux 6.3 only IP sockets are traced.
seen='ipv4 ipv6'
! with_tracefs test -d /sys/kernel/tracing/events/sock/sock_send_length || seen+=' unix netlink'
for i in "${!pids[@]}"; do
	end_bg "${pids[$i]}"
	python3 -IS - "$room/families.facts" "${outs[$i]}" "$seen" >"$room/families.out" <<'PY'
import json, sys
facts, rows = json.load(open(sys.argv[1])), [json.loads(line) for line in open(sys.argv[2])]
for event, way in ("sock.send", "sent"), ("sock.recv", "received"):
    want = [row for row in facts[way] if row[0] in sys.argv[3].split()]
    key = "tid" if "tid" in rows[0] else "pid"
    mine = [row for row in rows if row["event"] == event and row[key] == facts[key]]
    if key == "tid":
        print(event, sum(row["sum"] for row in mine) == sum(row[5] for row in want),
              len(mine) == len({row[2] for row in want}))
    else:
        got = [[row[name] for name in ("family", "proto", "lport", "rport", "count", "sum")] for row in mine]
        print(event, sorted(map(str, got)) == sorted(map(str, want)), True)
PY
	[ "$i" -lt 2 ] && filter='without a filter' || filter='with one that lets all pass'
	is "$(<"$room/families.out")" $'sock.send True True\nsock.recv True True' \
		"each family with its protocol and ports, $filter, figure $((i % 2))" ||
		diag "$(cat "$room/families.facts"; grep python "${outs[$i]}" | head -40)"
done

# --- the tools -------------------------------------------------------------------------------------------------------

# begin NAME TOOL ...: starts a tool; all started tools see the same load. LOAD ...: writes NAME.json and NAME.facts.
begun=()
begin() {
	local name=$1
	shift
	nest_bg "$@" -N "$host" --json
	begun+=("$name $nest_pid $nest_out $nest_err")
}
play() {
	local name pid out err
	for tool in "${begun[@]}"; do
		read -r name nest_pid out err <<<"$tool"
		wait_ready "$err" 60 || fail "$name"
	done
	in_ns "$host" "$python" "$load" "$@" >"$room/play.facts"
	for tool in "${begun[@]}"; do
		read -r name pid out err <<<"$tool"
		end_bg "$pid"
		cp "$out" "$room/$name.json"
		cp "$room/play.facts" "$room/$name.facts"
	done
	begun=()
}

begin sockstat sockstat 60
begin bindsnoop bindsnoop
begin tcpbind tcpbind -x
begin solisten solisten
play setup
is "$(check sockstat 'sorted((e["event"], e["count"]) for e in r)')" \
	"[('sock.bind', 5), ('sock.create', 5), ('sock.listen', 3)]" 'sockstat'
is "$(check bindsnoop '[e["proto"] for e in r]')" "['tcp', 'udp', 'tcp', 'tcp']" 'bindsnoop'
is "$(check tcpbind '[e["error"] for e in r]')" "['EADDRINUSE', 'EADDRNOTAVAIL']" 'tcpbind -x'
is "$(check solisten 'len(r)')" 3 'solisten'

begin sofamily sofamily
begin soprotocol soprotocol
begin socksize socksize --where 'proto == udp'
begin socketio socketio --where 'proto == udp'
begin udptop udptop 60
begin solife solife
begin udplife udplife
play life
is "$(check sofamily 'sorted((e["event"], e["comm"], e["family"], e["count"]) for e in r)')" \
	"[('sock.accept', 'python3', 'ipv4', 1), ('sock.connect', 'python3', 'ipv4', 2)]" 'sofamily'
is "$(check soprotocol 'sorted((e["event"], e["proto"], e["count"]) for e in r)')" \
	"[('sock.accept', 'tcp', 1), ('sock.connect', 'tcp', 1), ('sock.connect', 'udp', 1)]" 'soprotocol'
is "$(check socksize 'sorted((e["event"],
	e["comm"], e["count"], [(s["lo"], s["count"]) for s in e["hist"] if s["count"]]) for e in r)')" \
	"[('sock.recv', 'python3', 41, [(64, 41)]), ('sock.send', 'python3', 41, [(64, 41)])]" 'socksize'
is "$(check socketio 'sorted((e["event"], e["count"], e["sum"]) for e in r)')" \
	"[('sock.recv', 41, 4633), ('sock.send', 41, 4633)]" 'socketio'
is "$(check udptop 'sorted((e["lport"] == f["udp_by"], e["tx_bytes"], e["rx_bytes"], e["raddr"]) for e in r)')" \
	"[(False, 0, 4633, None), (True, 4633, 0, '127.0.0.1')]" 'udptop'
is "$(check solife 'sorted(e["proto"] for e in r)')" "['tcp', 'tcp', 'udp']" 'solife'
is "$(check udplife 'sorted((e["tx_bytes"], e["rx_bytes"]) for e in r)')" '[(0, 4633), (4633, 0)]' 'udplife'

begin soconnlat soconnlat
begin soconnect soconnect -x
begin udpconnect udpconnect
play connect
is "$(check soconnlat 'sorted((str(e["error"]), e["count"]) for e in r)')" \
	"[('EADDRNOTAVAIL', 1), ('ECONNREFUSED', 2), ('ENETUNREACH', 1), ('None', 6)]" \
	'soconnlat: by outcome, of IP alone'
is "$(check soconnect 'len(r)')" 5 'soconnect -x'
is "$(check udpconnect '[e["rport"] for e in r]')" '[4713, 4714]' 'udpconnect'

begin splice socketio --splice
play bytes
is "$(check splice 'sum(e["sum"] for e in r if e["event"] != "sock.send") == sum(way[3] for way in f)')" \
	True 'socketio --splice'
begin sormem sormem --share
play flood 30 997
is "$(check sormem 'sum(s["count"] for e in r for s in e["hist"]) == f["read"] > 0')" True 'sormem'
begin so1stbyte so1stbyte
play slow 60
is "$(check so1stbyte '[(e["comm"], e["count"]) for e in r]')" "[('python3', 1)]" 'so1stbyte'
begin sofdsnoop sofdsnoop
play pass
is "$(check sofdsnoop 'len(r)')" 6 'sofdsnoop'

finish
