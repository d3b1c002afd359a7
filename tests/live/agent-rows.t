#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# What nest agent keeps of connections, drops, retransmissions, paths and services, beside the counters of the kernel,
# of nft and of the programs themselves.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd sqlite3
require_cmd nft
require_cmd nstat
exact

ns_make client
ns_make server
ns_link "$client" 10.97.0.1/24 "$server" 10.97.0.2/24

cat >"$room/server.py" <<'END'
# Answers each line of 100 bytes with 300 bytes, one connection after the other; reads everything from port 5002.
import socket, sys, threading
def serve(port, one):
    s = socket.create_server(("10.97.0.2", port), backlog=128)
    while True:
        c, _ = s.accept()
        threading.Thread(target=one, args=(c,), daemon=True).start()
def reply(c):
    with c, c.makefile("rwb") as f:
        for line in f:
            f.write(b"y" * 299 + b"\n"); f.flush()
def sink(c):
    with c:
        while c.recv(1 << 16): pass
threading.Thread(target=serve, args=(5002, sink), daemon=True).start()
serve(5001, reply)
END
bg in_ns "$server" python3 "$room/server.py"
wait_for 20 in_ns "$server" python3 -c 'import socket; socket.create_connection(("10.97.0.2", 5002))'
wait_for 20 in_ns "$server" python3 -c 'import socket; socket.create_connection(("10.97.0.2", 5001))'
in_ns "$server" nft -f - <<-'END'
	table inet f {
		counter unwanted {}
		counter lost {}
		chain c {
			type filter hook input priority 0
			udp dport 7000 counter name unwanted drop
			tcp dport 5002 numgen random mod 100 < 3 counter name lost drop
		}
	}
END
# counter NAME: packets that this rule dropped.
counter() {
	in_ns "$server" nft list counter inet f "$1" | awk '/packets/ { print $2 }'
}
# agent NAMESPACE NAME OPTION ...
agent() {
	nest_bg agent -N "$1" --store "$room/$2.nest" --socket none --conn-interval 3 --max-cpu 0 "${@:3}"
	wait_ready "$nest_err"
}
# ask NAME SQL
ask() {
	sqlite3 "$room/$1.nest" "$2"
}
agent "$server" server --life-rate 1000
server_agent=$nest_pid
agent "$client" client --life-rate 2
client_agent=$nest_pid client_err=$nest_err

cat >"$room/load.py" <<'END'
# 30 short connections of 4 requests, 3 refused ones besides; datagrams that a firewall drops; a stream with loss.
import socket, time
def short():
    with socket.create_connection(("10.97.0.2", 5001)) as c, c.makefile("rwb") as f:
        for _ in range(4):
            f.write(b"x" * 99 + b"\n"); f.flush()
            assert len(f.readline()) == 300
stay = socket.create_connection(("10.97.0.2", 5002))
stay.sendall(b"x")
time.sleep(2.5)
for _ in range(30): short()
for _ in range(3):
    try: socket.create_connection(("10.97.0.2", 9999))
    except ConnectionRefusedError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("10.97.0.2", 7000))
for _ in range(57):
    u.send(b"z" * 100); time.sleep(0.01)
end = time.monotonic() + 5
sent = 1
while time.monotonic() < end:
    stay.sendall(b"x" * 20000); sent += 20000
    time.sleep(0.02)
time.sleep(2)
print(sent, *stay.getsockname(), flush=True)
stay.close()
time.sleep(1.5)
END
before=$(in_ns "$client" nstat -azs TcpRetransSegs | awk '/TcpRetransSegs/ { print $2 }')
in_ns "$client" python3 "$room/load.py" >"$room/load"
after=$(in_ns "$client" nstat -azs TcpRetransSegs | awk '/TcpRetransSegs/ { print $2 }')
sent=$(cut -d' ' -f1 "$room/load")
port=$(cut -d' ' -f3 "$room/load")
end_bg "$server_agent" TERM
end_bg "$client_agent" TERM

# lives
is "$(ask server 'SELECT count(*), sum(tx_bytes), sum(rx_bytes) FROM tcp_close WHERE lport = 5001')" \
	"30|$((30 * 1200))|$((30 * 400))" 'a row of each connection that ended, with its bytes'
is "$(ask server "SELECT tx_bytes, rx_bytes FROM tcp_close WHERE rport = $port")" "0|$sent" 'also of the stream'
lives=$(ask client "SELECT sum(closed) FROM path_minute WHERE raddr = '10.97.0.2'")
rows=$(ask client 'SELECT count(*) FROM tcp_close')
is "$lives" 34 'the sums of the path hold all that ended, beyond --life-rate as well'
compare "$rows" -lt 34 '--life-rate limits the rows'
is "$((rows + $(ask client "SELECT sum(count) FROM loss WHERE source = 'tcp.close'")))" 34 \
	'and table loss counts those that were left out'
is "$(ask client "SELECT sum(closed), sum(failed) FROM service_minute WHERE port = 9999 AND role = 'client'")" '3|3' \
	'connections that were refused have failed'

# services
is "$(ask server "SELECT sum(closed), sum(closed_tx_bytes), sum(closed_rx_bytes), sum(failed) FROM service_minute
	WHERE port = 5001 AND role = 'server'")" "30|$((30 * 1200))|$((30 * 400))|0" 'the service has the same sums'
is "$(ask client "SELECT sum(closed_tx_bytes) FROM service_minute WHERE port = 5001 AND role = 'client'")" \
	"$((30 * 400))" 'its client as well'

# the stream: followed from its second sample on, all but its first byte
is "$(ask client "SELECT sum(tx_bytes) FROM path_minute WHERE raddr = '10.97.0.2'")" "$((sent - 1))" \
	'bytes of connections that are followed, from counters'
compare "$(ask client 'SELECT count(*) FROM path_minute WHERE srtt_ns < 1000 * min_rtt_ns AND srtt_ns > 0')" -gt 0 \
	'with their RTT'

# drops
is "$(ask server 'SELECT sum(packets) FROM drop_minute WHERE rport IS NOT NULL AND lport = 7000')" \
	"$(counter unwanted)" 'dropped datagrams: as many as the rule of nft counted'
is "$(ask server 'SELECT DISTINCT reason, proto, raddr, laddr FROM drop_minute WHERE lport = 7000')" \
	'NETFILTER_DROP|udp|10.97.0.1|10.97.0.2' 'with their reason and flow'
is "$(ask server "SELECT sum(packets) FROM drop_minute WHERE lport = 5002 AND rport = $port
	AND reason = 'NETFILTER_DROP'")" \
	"$(counter lost)" 'dropped segments as well'

# retransmissions
compare "$(ask client "SELECT sum(count) FROM retransmit_minute WHERE lport = $port")" -le "$((after - before))" \
	'retransmissions: not more than nstat counts'
compare "$(ask client "SELECT sum(count) FROM retransmit_minute WHERE lport = $port")" -gt 0 'some'
is "$(ask client "SELECT retransmits FROM tcp_close WHERE lport = $port
	UNION ALL SELECT sum(closed_retransmits) FROM service_minute WHERE port = 5002" | sort -u | wc -l)" 1 \
	'the life of the connection and the sum of the service agree'
like "$(cat "$client_err")" 'nest: [0-9]+ events, [0-9]+ lost' 'the closing line'
finish
