#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest export, read back by other programs: tshark, tcpdump, Python, the sqlite3 shell.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd tshark
require_cmd tcpdump
require_cmd nft

ns_make client
ns_make server
ns_link "$client" 10.77.0.1/24 "$server" 10.77.0.2/24
# Every fourth packet is lost at the server's door, so that there are retransmissions.
in_ns "$server" nft -f - <<'END'
table inet lossy {
	chain door {
		type filter hook input priority 0;
		tcp dport 5001 numgen inc mod 4 0 drop
	}
}
END
cat >"$room/server.py" <<'END'
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 5001)); s.listen(5)
print("listening", flush=True)
while True:
    c, _ = s.accept()
    while c.recv(65536): pass
END
cat >"$room/client.py" <<'END'
import socket, time
end = time.time() + 4
s = socket.create_connection(("10.77.0.2", 5001))
while time.time() < end: s.send(b"x" * 4000); time.sleep(0.01)
END
bg nsenter --net="/run/netns/$server" -- python3 "$room/server.py" >"$room/server.out"
wait_for 10 grep -q listening "$room/server.out"
file=$room/r.nest
"$nest" record -o "$file" -N "$client" --stack diagnose tcp.retransmit sock.connect sock.send -- \
	nsenter --net="/run/netns/$client" -- python3 "$room/client.py" 2>"$room/err"
is "$?" 0 'a lossy connection is recorded'
retransmitted=$("$nest" sql "$file" 'SELECT count(*) AS n FROM tcp_retransmit' --json 2>/dev/null | tr -dc 0-9)
ok 'segments were retransmitted' test "$retransmitted" -gt 3

# pcapng
"$nest" export "$file" --format pcapng -o "$room/r.pcapng" 2>"$room/err"
is "$?" 0 'pcapng is written'
is "$(tshark -r "$room/r.pcapng" 2>/dev/null | wc -l)" "$retransmitted" 'tshark reads a packet for each retransmission'
is "$(tcpdump -nr "$room/r.pcapng" 2>/dev/null | grep -c '10\.77\.0\.1\.[0-9]* > 10\.77\.0\.2\.5001')" \
	"$retransmitted" 'tcpdump reads the addresses and ports'
seqs=$("$nest" sql "$file" 'SELECT seq FROM tcp_retransmit WHERE seq IS NOT NULL ORDER BY time_ns' --csv 2>/dev/null |
	tr -d '\r' | tail -n +2)
is "$(tshark -o tcp.relative_sequence_numbers:false \
	-r "$room/r.pcapng" -T fields -e tcp.seq -Y 'tcp.seq != 0' 2>/dev/null)" "$seqs" 'and the sequence numbers'
like "$(tshark -r "$room/r.pcapng" -T fields -e frame.comment 2>/dev/null | tail -n 1)" \
	'^tcp\.retransmit \([a-z-]+\), process python3 \([0-9]+\)' 'comments name the process'
is "$(tshark -r "$room/r.pcapng" -Y 'ip.checksum.status == "Bad" or _ws.malformed' \
	-o ip.check_checksum:TRUE 2>/dev/null | wc -l)" 0 'no packet is malformed'

# trace-event JSON
"$nest" export "$file" --format perfetto -o "$room/r.json"
is "$?" 0 'a trace is written'
is "$(python3 - "$room/r.json" <<'END'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
for e in events:
    assert e["ph"] in "XCiM" and isinstance(e["ts"], (int, float)) and "pid" in e, e
    assert e["ph"] != "X" or e["dur"] >= 0, e
print(sum(e["name"] == "tcp.retransmit" for e in events),
      sum(e["name"] == "sock.connect" and e["ph"] == "X" for e in events), any(e["ph"] == "C" for e in events))
END
)" "$retransmitted 1 True" 'with the events and the figures'

# folded stacks
"$nest" export "$file" --format folded -o "$room/r.folded"
is "$?" 0 'stacks are folded'
is "$(grep -cvE '^[a-z.]+(;[^;]+)+ [0-9]+$' "$room/r.folded")" 0 'a line a stack with its count'
stacks='SELECT (SELECT count(*) FROM tcp_retransmit WHERE kstack IS NOT NULL) +
	(SELECT count(*) FROM sock_send WHERE kstack IS NOT NULL) +
	(SELECT count(*) FROM sock_connect WHERE kstack IS NOT NULL) AS n'
is "$(awk '{n += $NF} END {print n}' "$room/r.folded")" \
	"$("$nest" sql "$file" "$stacks" --json 2>/dev/null | tr -dc 0-9)" 'all of them'

# tables
is "$("$nest" export "$file" --format jsonl --table sock_send |
	python3 -c 'import json, sys; print(len([json.loads(l)["bytes"] for l in sys.stdin]))')" \
	"$("$nest" trace sock.send -f "$file" --json 2>/dev/null | wc -l)" 'JSON lines'
is "$("$nest" export "$file" --format jsonl | python3 -c \
	'import json, sys; print(len({json.loads(l)["table"] for l in sys.stdin}) > 15)')" True 'of all tables'
is "$("$nest" export "$file" --format csv --table sock_connect | python3 -c \
	'import csv, sys; r = list(csv.DictReader(sys.stdin)); print(len(r), r[0]["raddr"], r[0]["rport"])')" \
	'1 10.77.0.2 5001' 'CSV'
"$nest" export "$file" --format dot 2>/dev/null | python3 -c '
import re, sys
text = sys.stdin.read()
assert text.startswith("digraph") and text.rstrip().endswith("}")
print(len(re.findall(r" -> ", text)) > 3)' >"$room/dot"
is "$(cat "$room/dot")" True 'a graph of the modules'

# What is not there.
"$nest" export demo:healthy --to pcapng -o "$room/none.pcapng" 2>"$room/err"
is "$?" 5 'no packets'
like "$(cat "$room/err")" 'no packets in the recording' 'are reported'
"$nest" export demo:healthy --to folded 2>"$room/err"
is "$?" 5 'no stacks'
"$nest" export demo:healthy --to csv 2>"$room/err"
is "$?" 2 'CSV needs a table'
"$nest" export demo:healthy 2>"$room/err"
is "$?" 2 'a format is needed'

finish
