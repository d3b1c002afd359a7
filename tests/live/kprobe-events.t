#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Events without the tracepoints of Linux 6.3 and without fentry, as on arm64 before 6.4: kprobes, and TCP's tracepoint
# of reads. A program that knows what it sent and received is the reference.
# vm: 40
export NEST_HOOKS_WITHOUT=fentry,fexit,tp_btf/sock_send_length,tp_btf/sock_recv_length,tp_btf/sk_data_ready
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

cat >"$room/load.py" <<'END'
"""TCP by IPv4 and IPv6, UDP, an echo request; prints what it did."""
import json, socket, struct, sys, threading, time

TCP = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]


def serve(listener):
    connection, _ = listener.accept()
    with connection:
        connection.recv(1000)
        time.sleep(0.1)
        # TCP holds both pieces back until the cork is pulled.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        connection.sendall(b"a" * 700)
        connection.sendall(b"b" * 300)
        time.sleep(0.05)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        connection.recv(1000)


def talk(family, address):
    with socket.create_server((address, 0), family=family) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        with socket.create_connection(listener.getsockname()[:2]) as client:
            port = client.getsockname()[1]
            client.sendall(b"q" * 211)
            client.recv(50, socket.MSG_PEEK)
            client.recv(1000, socket.MSG_WAITALL)
            client.sendall(b"x")
        server.join()
        return port


def datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        to.bind(("127.0.0.1", 0))
        by.connect(to.getsockname())
        for _ in range(5):
            by.send(b"u" * 113)
            to.recv(1000, socket.MSG_PEEK)
            to.recv(1000)
        return to.getsockname()[1], by.getsockname()[1]


def ping():
    packet = bytearray(struct.pack("!BBHHH", 8, 0, 0, 0x4e45, 7) + b"x" * 56)
    total = sum(struct.unpack("!32H", packet))
    total = (total & 0xffff) + (total >> 16)
    packet[2:4] = struct.pack("!H", ~(total + (total >> 16)) & 0xffff)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.settimeout(30)
        raw.sendto(packet, ("127.0.0.1", 0))
        # The request itself comes by loopback, too.
        raw.recv(1000)
        raw.recv(1000)


facts = {"tcp": [talk(*family) for family in TCP]}
if "tcp" not in sys.argv:
    facts["to"], facts["by"] = datagrams()
    ping()
print(json.dumps(facts))
END
python=$(python3 -c 'import sys; print(sys.executable)')
ns_make host

# traced NAME WORD ...: a command of nest with the load; events in $room/NAME.json, facts in $room/NAME.facts.
traced() {
	local name=$1
	shift
	in_ns "$host" "$nest" "$@" >"$room/$name.facts" 2>"$room/$name.err" || diag "$(cat "$room/$name.err")"
	diag "$name: $(tail -n 1 "$room/$name.err")"
}

# check NAME PYTHON-EXPRESSION: events in r, what the load did in f.
check() {
	python3 -IS -c 'import json, sys
r = [json.loads(line) for line in open(sys.argv[1] + ".json")]
f = json.load(open(sys.argv[1] + ".facts"))
def of(event): return [e for e in r if e["event"] == event]
print(eval("(" + sys.argv[2] + ")"))' "$room/$1" "$2"
}

# --- reads of TCP, by its tracepoint ---

traced first trace sock.firstbyte -o "$room/first.json" --json -- "$python" "$room/load.py" tcp
is "$(check first '[(e["lport"] in f["tcp"], 100e6 <= e["lat_ns"] < 30e9, e["bytes"] == 1000) for e in r]')" \
	'[(True, True, True), (True, True, True)]' 'sock.firstbyte: each connection once, with the time of its server'

if ! "$nest" events sock.close --json | grep -q '"available":true'; then
	skip 'events by kprobes' "$("$nest" events sock.close --json |
		sed -nE 's/.*"reason":"([^"]*)".*/\1/p' | head -n 1)"
	finish
fi

# --- calls, by kprobes ---

traced calls trace icmp.echo,sock.close,udp.close,tcp.hold -o "$room/calls.json" --json -- "$python" "$room/load.py"
like "$(cat "$room/calls.err")" ', 0 lost' 'nothing is lost'
is "$(check calls '[(e["family"], e["tx_bytes"], e["rx_bytes"], e["sends"], e["receives"], e["span_ns"] >= 100e6)
	for e in of("sock.close") if e["lport"] in f["tcp"]]')" \
	"[('ipv4', 212, 1000, 2, 1, True), ('ipv6', 212, 1000, 2, 1, True)]" \
	'sock.close: clients of TCP sessions; MSG_PEEK does not count'
is "$(check calls '[(e["family"], e["tx_bytes"], e["rx_bytes"], e["sends"])
	for e in of("sock.close") if e["rport"] in f["tcp"]]')" \
	"[('ipv4', 1000, 212, 2), ('ipv6', 1000, 212, 2)]" 'and their servers'
is "$(check calls '[(e["lport"], e["tx_bytes"], e["rx_bytes"], e["sends"], e["receives"])
	for e in of("udp.close")] == [(f["by"], 565, 0, 5, 0), (f["to"], 0, 565, 0, 5)]')" True \
	'udp.close: both sockets, with datagrams and bytes'
is "$(check calls '[(e["family"], e["bytes"]) for e in of("tcp.hold")
	if e["reason"] == "cork" and e["rport"] in f["tcp"] and 40e6 < e["lat_ns"] < 30e9]')" \
	"[('ipv4', 700), ('ipv6', 700)]" 'tcp.hold: what a cork held back'
is "$(check calls '[(e["raddr"], e["id"], e["seq"], e["bytes"], e["error"], e["stack_ns"] > 0, e["sched_ns"] >= 0)
	for e in of("icmp.echo")]')" \
	"[('127.0.0.1', 20037, 7, 64, None, True, True)]" 'icmp.echo: the reply, up to the program'

# --- packets ---

traced path path --json -o "$room/path.json" -- "$python" "$room/load.py" tcp
like "$(cat "$room/path.err")" 'received datagrams are not followed' 'nest path: says what is missing'
is "$(check path '[(e["family"], e["end"]) for e in r if e["dir"] == "rx" and e["bytes"] > 1000]')" \
	"[('ipv4', 'delivered'), ('ipv6', 'delivered')]" 'nest path: segments with data reach the reader'
is "$(check path 'all({"ip", "transport", "copy"} <= {s["stage"] for s in e["stages"]}
	for e in r if e["dir"] == "rx" and e["bytes"] > 1000)')" True 'with the stages up to the copy'
finish
