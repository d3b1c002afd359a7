#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# nest agent among webhooks, callers and databases that do not behave: samples go on, memory stays, and what is given up
# is counted. Without options that say so it sends no packet.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd curl
require_cmd sqlite3
require_cmd tcpdump

ns_make host
cat >"$room/servers.py" <<'END'
# /hangs never answers, /endless never ends, /away sends the report elsewhere, /garbage is no HTTP.
import http.server, os, sys, threading, time
room = sys.argv[1]
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with open(room + "/asked", "a") as f: f.write(self.path + "\n")
        try:
            if self.path == "/hangs": time.sleep(120)
            elif self.path == "/away":
                self.send_response(307); self.send_header("Location", "/stolen")
                self.send_header("Content-Length", "0"); self.end_headers()
            elif self.path == "/garbage": self.wfile.write(b"\x00\xff\r\n" * 1000)
            else:
                self.send_response(200); self.end_headers()
                for _ in range(2000): self.wfile.write(b"y" * (1 << 20))
        except OSError: pass
    def log_message(self, *args): pass
class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *args): pass
s = Server(("127.0.0.1", 0), Hook)
s.daemon_threads = True
with open(room + "/port.new", "w") as f: f.write(str(s.server_port))
os.rename(room + "/port.new", room + "/port")
s.serve_forever()
END
cat >"$room/stall.py" <<'END'
# A connection whose reader never reads.
import socket, time
s = socket.create_server(("127.0.0.1", 5077), backlog=9)
c = socket.create_connection(s.getsockname())
a, _ = s.accept()
try:
    while True: c.sendall(b"x" * 65536)
except OSError: pass
END
bg python3 "$room/servers.py" "$room"
wait_for 20 test -s "$room/port" || exit 1
: >"$room/asked"
hook=http://127.0.0.1:$(cat "$room/port")
bg in_ns "$host" python3 "$room/stall.py"
nest_bg agent --store "$room/agent.nest" -N "$host" --socket "$room/find.sock" --listen "unix:$room/agent.sock" \
	--on-finding "$hook/hangs" --on-finding "$hook/endless" --on-finding "$hook/away" \
	--on-finding "$hook/garbage" --debounce 3s --max-cpu 0
agent=$nest_pid
wait_ready "$nest_err"
series() {
	curl -s --max-time 20 --unix-socket "$room/agent.sock" http://localhost/metrics |
		awk -v name="$1" '$1 == name { print $2 }'
}
resident() {
	awk '/VmRSS/ { print $2 }' "/proc/$agent/status"
}
asked() {
	grep -qx "$1" "$room/asked"
}
for path in hangs endless away garbage; do
	ok "a report is posted to /$path" wait_for 60 asked "/$path"
done

# Callers of both sockets: many that never read, half a request, garbage, a line without an end.
cat >"$room/callers.py" <<'END'
import os, socket, sys, time
room = sys.argv[1]
kept = []
for _ in range(300):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try: s.connect(room + "/find.sock"); s.send(b"\xff" * 5000)
    except OSError: pass
    kept.append(s)
for number in range(300):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(0.2)
    try:
        s.connect(room + "/agent.sock")
        s.sendall([b"GET /metrics HTTP/1.1\r\nHost:", b"\x00\xff" * 500, b"GET /" + b"a" * 40000,
                   b"POST /metrics HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n"][number % 4])
    except OSError: pass
    kept.append(s)
print(len(kept), flush=True)
while not os.path.exists(room + "/enough"): time.sleep(0.1)
END
bg python3 "$room/callers.py" "$room" >"$room/callers"
wait_for 60 test -s "$room/callers"
before=$(sqlite3 "$room/agent.nest" 'SELECT count(*) FROM sample')
more_samples() {
	[ "$(sqlite3 "$room/agent.nest" 'SELECT count(*) FROM sample')" -ge $((before + 5)) ]
}
ok 'samples go on' wait_for 40 more_samples
: >"$room/enough"
lost() {
	[ "$(series nest_agent_reports_lost_total)" -ge 1 ]
}
ok 'metrics are served again once the callers are gone' wait_for 60 eval '[ -n "$(series nest_agent_samples_total)" ]'
ok 'reports that fail five times are counted' wait_for 90 lost
unlike "$(cat "$room/asked")" stolen 'a report does not follow a redirect'
diag "resident: $(resident) kB; asked: $(sort "$room/asked" | uniq -c | tr '\n' ' ')"
compare "$(resident)" -le 65536 'memory stays'
like "$(NEST_AGENT=$room/find.sock "$nest" report --last 20s 2>&1)" 'app-not-reading' \
	'others find the agent all the same'
end_bg "$agent"
is "$end_status" 0 'SIGINT ends it'
like "$(tail -n 1 "$nest_err")" '[1-9][0-9]* reports not delivered' 'the closing line counts what was not delivered'

# By default no packet leaves the host, not even beside a connection that falls silent; with --keep-alive its peer is
# asked.
ns_make quiet
ns_make outside
# shellcheck disable=SC2154 # set by ns_make
ns_link "$quiet" 10.95.0.1/24 "$outside" 10.95.0.2/24
cat >"$room/serves.py" <<'END'
# 200 kB to whoever connects, then silence.
import socket
s = socket.create_server(("10.95.0.2", 5001))
print("ready", flush=True)
kept = []
while True:
    c = s.accept()[0]
    c.sendall(b"x" * 200000)
    kept.append(c)
END
cat >"$room/reads.py" <<'END'
import socket, time
c = socket.create_connection(("10.95.0.2", 5001))
left = 200000
while left: left -= len(c.recv(left))
time.sleep(0.3)
print(time.time(), flush=True)
time.sleep(100)
END
bg in_ns "$outside" python3 "$room/serves.py" >"$room/serves.out"
wait_for 20 grep -q ready "$room/serves.out"
# sent NAME [OPTION ...]: segments that went out while an agent looked at a connection that was silent, in $segments.
sent() {
	local name=$1 reader capture
	shift
	in_ns "$outside" tcpdump -n -i "$link_dev" -w "$room/$name.pcap" --immediate-mode -U src host 10.95.0.1 \
		2>"$room/$name.err" &
	note_process $!
	capture=$!
	wait_for 20 grep -q listening "$room/$name.err"
	nest_bg agent --store "$room/$name.nest" -N "$quiet" --socket none "$@"
	wait_ready "$nest_err"
	bg in_ns "$quiet" python3 "$room/reads.py" >"$room/$name.since"
	reader=$bg_pid
	wait_for 20 test -s "$room/$name.since"
	pause 5
	end_bg "$nest_pid"
	kill "$capture"
	wait "$capture" 2>/dev/null
	segments=$(tcpdump -n -tt -r "$room/$name.pcap" 2>/dev/null | grep -v ARP |
		awk -v since="$(cat "$room/$name.since")" '$1 > since' | wc -l)
	kill "$reader"
	wait "$reader" 2>/dev/null
}
sent default
is "$segments" 0 'by default no packet leaves the host'
sent asks --keep-alive
compare "$segments" -gt 0 '--keep-alive asks the peer of a connection that is silent'
finish
