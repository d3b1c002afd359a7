#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest agent: its recording across kill -9, metrics beside promtool and nstat, reports of a finding, options from a
# file, and that other commands find its past.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd sqlite3
require_cmd promtool
require_cmd curl
require_cmd nstat

ns_make host
cat >"$room/hook.py" <<'END'
# A UNIX datagram socket and a webhook that fails the first time.
import http.server, json, os, socket, sys, threading
room = sys.argv[1]
d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
d.bind(room + "/finding.sock")
class Hook(http.server.BaseHTTPRequestHandler):
    tries = 0
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.tries += 1
        with open(room + "/posted", "a") as f:
            f.write(json.dumps({"path": self.path, "try": Hook.tries, "body": json.loads(body)}) + "\n")
        self.send_response(500 if Hook.tries == 1 else 204)
        self.end_headers()
    def log_message(self, *args): pass
s = http.server.HTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=s.serve_forever, daemon=True).start()
with open(room + "/port.new", "w") as f: f.write(str(s.server_port))
os.rename(room + "/port.new", room + "/port")
while True:
    data = d.recv(1 << 20)
    with open(room + "/datagrams", "ab") as f: f.write(data + b"\n")
END
cat >"$room/stall.py" <<'END'
# A listener, and a connection whose reader never reads.
import socket, time
s = socket.create_server(("127.0.0.1", 5077), backlog=9)
c = socket.create_connection(s.getsockname())
a, _ = s.accept()
idle = [(socket.create_connection(s.getsockname()), s.accept()[0]) for _ in range(50)]
c.settimeout(60)
try:
    while True: c.sendall(b"x" * 65536)
except OSError: pass
END
bg python3 "$room/hook.py" "$room"
wait_for 20 test -s "$room/port"
cat >"$room/agent.conf" <<END
# options of this test
store = $room/agent.nest
netns = $host
socket = $room/find.sock
age = 1h
listen = unix:$room/agent.sock
on-finding = unix:$room/finding.sock
on-finding = http://127.0.0.1:$(cat "$room/port")/hook?from=nest
END
bg in_ns "$host" python3 "$room/stall.py"
start_agent() {
	nest_bg agent --config "$room/agent.conf" "$@"
	agent=$nest_pid
	wait_ready "$nest_err"
}
metrics() {
	curl -s --max-time 20 --unix-socket "$room/agent.sock" "${@}" http://localhost/metrics
}
series() {
	awk -v name="$1" '$1 == name { print $2 }' "$2"
}
start_agent
is "$(cat "$nest_out")" "unix:$room/agent.sock" 'one line says where it listens'
wait_for 30 test -s "$room/datagrams"
wait_for 30 has_line "$room/posted" '"try": 2'

# reports
is "$(figures "$room/datagrams" 'len(r), r[0]["cause"], r[0]["schema"]')" \
	"(1, 'app-not-reading', 'nest.finding/1')" 'a datagram reports the finding, once'
is "$(figures "$room/posted" '[(x["path"], x["try"], x["body"]["cause"]) for x in r]')" \
	"[('/hook?from=nest', 1, 'app-not-reading'), ('/hook?from=nest', 2, 'app-not-reading')]" \
	'a webhook that failed is tried again, once it answered not any longer'

# metrics
before=$(in_ns "$host" nstat -azs TcpOutSegs | awk '/TcpOutSegs/ { print $2 }')
pause 0.5
metrics >"$room/metrics"
after=$(in_ns "$host" nstat -azs TcpOutSegs | awk '/TcpOutSegs/ { print $2 }')
is "$(tail -n 1 "$room/metrics")" '# EOF' 'OpenMetrics ends with # EOF'
sent=$(series nest_tcp_segments_sent_total "$room/metrics")
compare "$sent" -ge "$before" 'segments sent: not less than nstat before'
compare "$sent" -le "$after" 'and not more than nstat after'
# Idle connections are not followed, but counted.
is "$(series nest_tcp_established "$room/metrics")" \
	"$(in_ns "$host" ss -tanH state established state close-wait | wc -l)" \
	'established connections: as many as ss lists'
is "$(series nest_tcp_sockets "$room/metrics")" \
	"$(in_ns "$host" ss -tanH state listening state connected exclude time-wait exclude syn-recv | wc -l)" \
	'TCP sockets as well'
is "$(series 'nest_listener_queue_limit{port="5077"}' "$room/metrics")" 9 'the backlog of the listener'
is "$(series 'nest_findings_total{cause="app-not-reading",layer="application"}' "$room/metrics")" 1 \
	'findings by cause and layer'
metrics -H 'Accept: text/plain;version=0.0.4' >"$room/old"
ok 'promtool check metrics' promtool check metrics <"$room/old"
compare "$(grep -vc '^#' "$room/metrics")" -le 500 'at most 500 series'
unlike "$(grep -v '^#' "$room/metrics")" '[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+.*\} |pid=' 'no address or process in a label'
is "$(series nest_series "$room/metrics")" "$(grep -vc '^#' "$room/metrics")" 'nest_series counts them'
is "$(curl -s --unix-socket "$room/agent.sock" http://localhost/api/v1/about | from_json 'j["live"]')" True \
	'the API of nest serve is there as well'

ok 'the alert rules hold' promtool check rules "$(dirname "$0")/../../contrib/prometheus/nest.rules.yml"
ok 'and do what their tests say' promtool test rules "$(dirname "$0")/../../contrib/prometheus/nest.rules.test.yml"

# the past of other commands
export NEST_AGENT=$room/find.sock
is "$(in_ns "$host" "$nest" diagnose -d 1 --json 2>/dev/null | tail -n 1 | from_json 'j["baseline_s"] >= 2')" True \
	'nest diagnose finds the past of the agent'
like "$("$nest" report --last 30s 2>/dev/null)" "^$room/agent.nest of .*app-not-reading" 'nest report --last reads it'
"$nest" report --last 30s --from 02:13 >/dev/null 2>"$room/err"
is "$?" 2 '--last excludes --from'

python3 - "$room/find.sock" <<-'END' >"$room/strangers"
	import os, socket, sys
	def ask(uid):
	    r, w = os.pipe()
	    if os.fork() == 0:
	        os.setgroups([]); os.setgid(uid); os.setuid(uid)
	        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	        try:
	            s.connect(sys.argv[1]); s.settimeout(5); said = s.recv(9999)
	        except OSError as e: said = type(e).__name__.encode()
	        os.write(w, said or b"nothing"); os._exit(0)
	    os.wait(); return os.read(r, 9999).decode()
	os.chmod(os.path.dirname(sys.argv[1]), 0o755)
	os.chmod(sys.argv[1], 0o666)
	print(ask(0).splitlines()[1], ask(65534))
END
is "$(cat "$room/strangers")" "store $room/agent.nest nothing" 'the socket answers root, and nobody else'
"$nest" agent --store "$room/y.nest" --socket "$room/find.sock" -d 3 2>"$room/err"
is "$?:$(grep -c 'another nest agent answers' "$room/err")" 3:1 'a second agent does not take its socket'

# kill -9, and on with the same file
kill -KILL "$agent"
wait "$agent" 2>/dev/null
start_agent --max-series 20
pause 3
metrics >"$room/few"
compare "$(series nest_series "$room/few")" -le 22 '--max-series limits them'
compare "$(series nest_series_dropped_total "$room/few")" -gt 0 'and counts what was left out'
end_bg "$agent"
is "$end_status" 0 'SIGINT ends it'
is "$(sqlite3 "$room/agent.nest" "SELECT (SELECT count(*) FROM recording),
	(SELECT count(*) FROM mark WHERE label = 'agent started')")" '1|2' 'one recording, begun twice'
is "$(sqlite3 "$room/agent.nest" 'SELECT count(*) FROM socket WHERE last < first')" 0 'its rows are in order'
compare "$(sqlite3 "$room/agent.nest" 'SELECT max(later.id - earlier.id) FROM sample earlier
	JOIN sample later ON later.rowid = earlier.rowid + 1')" -lt 15000 'with one gap: the time between the two'
ok 'and can be read' "$nest" report "$room/agent.nest"

# mistakes
printf 'stor = x\n' >"$room/wrong.conf"
"$nest" agent --config "$room/wrong.conf" 2>"$room/err"
is "$?" 2 'a mistake in the file: exit 2'
like "$(cat "$room/err")" "wrong.conf:1: unknown option 'stor'; did you mean store" 'with its line'
"$nest" agent --store "$room/x.nest" --on-finding mail:root 2>"$room/err"
is "$?" 2 'an unknown target: exit 2'
finish
