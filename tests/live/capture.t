#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# nest report of capture files, compared with what tshark says about the same files.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd tshark
require_cmd tcpdump
require_cmd nft

ns_make client
ns_make server
ns_link "$client" 10.77.0.1/24 "$server" 10.77.0.2/24
in_ns "$client" ip addr add fd77::1/64 dev "$link_dev" nodad
in_ns "$server" ip addr add fd77::2/64 dev "$link_dev" nodad
# Packets on the wire as they are, not as cards would send them.
in_ns "$client" ethtool -K "$link_dev" tso off gso off gro off >/dev/null 2>&1
in_ns "$server" ethtool -K "$link_dev" tso off gso off gro off >/dev/null 2>&1
in_ns "$server" nft -f - <<'END'
table inet lossy {
	chain door {
		type filter hook input priority 0;
		tcp dport 5001 numgen inc mod 20 0 drop
		tcp dport 5005 drop
	}
}
END

cat >"$room/server.py" <<'END'
import socket, threading, time
def reader(c):
    while c.recv(65536): pass
def sleeper(c):
    time.sleep(3)
    while c.recv(65536): pass
def resetter(c):
    c.recv(10)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"); c.close()
def listen(port, what):
    s = socket.socket(socket.AF_INET6); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if what is sleeper: s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    s.bind(("::", port)); s.listen(5)
    return s
def serve(s, what):
    while True: threading.Thread(target=what, args=(s.accept()[0],), daemon=True).start()
for port, what in ((5001, reader), (5002, sleeper), (5003, resetter)):
    threading.Thread(target=serve, args=(listen(port, what), what), daemon=True).start()
print("listening", flush=True); time.sleep(60)
END
cat >"$room/client.py" <<'END'
import socket, sys, time
what = sys.argv[1]
def connect(port, host="10.77.0.2"): return socket.create_connection((host, port), timeout=2)
if what == "loss":
    for host in ("10.77.0.2", "fd77::2"):
        s = connect(5001, host)
        for i in range(300): s.sendall(b"x" * 3000); time.sleep(0.003)
        s.close()
elif what == "window":
    s = connect(5002); s.settimeout(None); s.sendall(b"x" * 300000); s.close(); time.sleep(0.5)
elif what == "reset":
    for i in range(3): s = connect(5003); s.sendall(b"hello"); time.sleep(0.2)
    for i in range(2):
        try: connect(5004)
        except ConnectionRefusedError: pass
    try: connect(5005)
    except TimeoutError: pass
END
bg nsenter --net="/run/netns/$server" -- python3 "$room/server.py" >"$room/server.out"
wait_for 10 grep -q listening "$room/server.out"

# capture NAME [OPTIONS]: what the client does, as the client's interface sees it.
capture() {
	local name=$1
	shift
	bg nsenter --net="/run/netns/$client" -- \
		tcpdump -i "$link_dev" -U -Z root -w "$room/$name.pcap" "$@" tcp 2>"$room/tcpdump.err"
	local pid=$bg_pid
	wait_for 10 grep -q 'listening on' "$room/tcpdump.err"
	in_ns "$client" python3 "$room/client.py" "$name"
	sleep 0.5
	kill -TERM "$pid"
	wait_for 10 sh -c "! kill -0 $pid 2>/dev/null"
	"$nest" report "$room/$name.pcap" --json >"$room/$name.json" 2>"$room/err"
	is "$?" 0 "$name: a report is made"
}

# ours NAME EXPRESSION / theirs NAME FILTER: a figure of the report r, packets that tshark lets through.
ours() {
	python3 -c "import json, sys; r = json.load(open(sys.argv[1])); t = r['talkers']; print($2)" "$room/$1.json"
}
theirs() {
	tshark -r "$room/$1.pcap" -Y "$2" 2>/dev/null | wc -l
}
streams() {
	tshark -r "$room/$1.pcap" -Y "$2" -T fields -e tcp.stream 2>/dev/null | sort -u | wc -l
}

again='tcp.analysis.retransmission or tcp.analysis.fast_retransmission or tcp.analysis.spurious_retransmission'
capture loss -s 100
ok 'loss: segments were retransmitted' test "$(theirs loss "$again")" -gt 5
# Whether a late segment was repeated or overtaken is a guess in both programs, by times that are microseconds apart.
ok 'loss: as many retransmissions as tshark' python3 \
	-c "import sys; sys.exit(abs($(ours loss 'sum(x["retrans"] for x in t)') - $(theirs loss "$again")) > 1)"
is "$(ours loss 'sum(x["connections"] for x in t)')" "$(streams loss tcp)" 'loss: as many connections'
is "$(ours loss 'r["samples"]')" "$(theirs loss tcp)" 'loss: as many packets'
is "$(ours loss 'sorted(x["raddr"] for x in t)')" "['10.77.0.2', 'fd77::2']" 'loss: of both families'
is "$(ours loss 'sum(x["tx_bytes"] for x in t)')" "$(tshark -r "$room/loss.pcap" -Y 'tcp.dstport == 5001' \
	-T fields -e tcp.len 2>/dev/null | awk '{n += $1} END {print n}')" 'loss: as many bytes'
tshark -r "$room/loss.pcap" -Y 'tcp.analysis.ack_rtt and tcp.srcport == 5001' \
	-T fields -e tcp.analysis.ack_rtt 2>/dev/null | sort -g >"$room/rtt"
middle=$(sed -n "$((($(wc -l <"$room/rtt") + 1) / 2))p" "$room/rtt")
ok 'loss: RTTs are those of tshark' python3 -c "
import sys
ours, theirs = $(ours loss 'sorted(x["srtt_ns"] for x in t)[0] / 1e9'), $middle
print(ours, theirs)
sys.exit(not 0.5 * theirs < ours < 2 * theirs)"
like "$(ours loss '{s["cause"] for s in r["stalls"]}')" 'path-loss' 'loss: the path is suspected'
like "$(ours loss 'r["unknown"]')" 'not the sending process' 'loss: what packets cannot tell is said'
tshark -r "$room/loss.pcap" -w "$room/loss.pcapng" -F pcapng 2>/dev/null
"$nest" report "$room/loss.pcapng" --json 2>/dev/null | sed "s|loss.pcapng|loss.pcap|" >"$room/ng.json"
ok 'loss: pcapng says the same as pcap' cmp "$room/loss.json" "$room/ng.json"

capture window
ok 'window: windows were closed' test "$(theirs window tcp.analysis.zero_window)" -gt 0
is "$(ours window 'sum(x["zero_windows"] for x in t)')" \
	"$(theirs window tcp.analysis.zero_window)" 'window: as many closed windows as tshark'
is "$(ours window 'sum(x["retrans"] for x in t)')" "$(theirs window "$again")" 'window: probes are no retransmissions'
like "$(ours window '[s["cause"] for s in r["stalls"]]')" 'peer-not-reading' 'window: the reader is suspected'

capture reset
is "$(ours reset 'sum(x["resets"] for x in t)')" \
	"$(streams reset 'tcp.flags.reset == 1')" 'reset: as many connections as tshark were reset'
is "$(ours reset 'sorted(s["cause"] for s in r["stalls"])')" \
	"['connect-dropped', 'peer-refused', 'peer-refused', 'peer-reset', 'peer-reset', 'peer-reset']" \
	'reset: each for its reason'

# Text, a page, and files that are none.
like "$("$nest" report "$room/loss.pcap")" 'Top talkers' 'the text'
ok 'a page' "$nest" report "$room/loss.pcap" --html "$room/page.html"
head -c 5000 "$room/loss.pcap" >"$room/cut.pcap"
like "$("$nest" report "$room/cut.pcap")" 'damaged or truncated' 'a truncated file is read as far as it goes'
head -c 30 "$room/loss.pcap" >"$room/none.pcap"
"$nest" report "$room/none.pcap" >/dev/null 2>"$room/err"
is "$?" 5 'one without packets is refused'

finish
