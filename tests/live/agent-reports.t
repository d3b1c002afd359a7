#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# nest agent: reports to the journal, debounce, reports that nobody takes, metrics over TLS, members of the group nest,
# and that a bare nest, nest top and nest serve use its past.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd curl
require_cmd openssl
require_cmd tmux
require_cmd setpriv

ns_make host
cat >"$room/journal.py" <<'END'
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("listens", flush=True)
while True:
    entry = dict(line.split("=", 1) for line in s.recv(1 << 20).decode().splitlines())
    with open(sys.argv[2], "a") as f: f.write(json.dumps({"at": time.monotonic(), **entry}) + "\n")
END
cat >"$room/stream.py" <<'END'
# A stream whose reader reads while the file is there.
import os, socket, sys, threading, time
l = socket.create_server(("127.0.0.1", 5077))
c = socket.create_connection(l.getsockname())
s, _ = l.accept()
def send():
    while True: c.sendall(b"x" * 10000); time.sleep(0.02)
threading.Thread(target=send, daemon=True).start()
s.settimeout(0.1)
while True:
    if os.path.exists(sys.argv[1]):
        try: s.recv(1 << 20)
        except TimeoutError: pass
    else: time.sleep(0.05)
END
bg python3 "$room/journal.py" "$room/journal.sock" "$room/entries" >"$room/journal.out"
wait_for 20 grep -q listens "$room/journal.out" || exit 1
: >"$room/reads"
: >"$room/entries"
bg in_ns "$host" python3 "$room/stream.py" "$room/reads"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$room/key.pem" -out "$room/cert.pem" -days 1 -subj /CN=localhost \
	>/dev/null 2>&1 || skip_all 'openssl cannot make a certificate'
(umask 077 && echo 0123456789abcdef0123 >"$room/token")
{ cat /etc/group; echo nest:x:54321:; } >"$room/group"

# A host with a journal and the group nest, whatever this one has: a /run of its own, with the namespaces.
mkdir "$room/netns"
# shellcheck disable=SC2016 # for the inner shell
unshare -m sh -c 'mount --rbind /run/netns "$1/netns" && mount -t tmpfs tmpfs /run &&
	mkdir -p /run/netns /run/systemd/journal && : >/run/systemd/journal/socket &&
	mount --rbind "$1/netns" /run/netns && mount --bind "$1/journal.sock" /run/systemd/journal/socket &&
	mount --bind "$1/group" /etc/group || exit 1
	shift; exec "$@"' sh "$room" nsenter --net="/run/netns/$host" -- "$nest" agent --store "$room/agent.nest" \
	-N "$host" --socket "$room/find.sock" \
	--listen 127.0.0.1:9475 --tls-cert "$room/cert.pem" --tls-key "$room/key.pem" \
	--token-file "$room/token" --on-finding journal --on-finding "unix:$room/nobody.sock" \
	--on-finding http://127.0.0.1:9/ --debounce 12s --max-cpu 0 >"$room/agent.out" 2>"$room/agent.err" &
agent=$!
note_process "$agent"
wait_ready "$room/agent.err"
metrics() {
	in_ns "$host" curl -s --cacert "$room/cert.pem" --max-time 20 "$@" https://localhost:9475/metrics
}
stops() {
	rm "$room/reads"
}
is_active() {
	metrics -H 'Authorization: Bearer 0123456789abcdef0123' |
		grep -q "^nest_findings_active{cause=\"app-not-reading\",layer=\"application\"} $1"
}

# The journal
pause 4
stops
wait_for 30 test -s "$room/entries"
is "$(figures "$room/entries" '[r[0][k] for k in ("NEST_CAUSE", "NEST_LAYER", "SYSLOG_IDENTIFIER", "PRIORITY")]')" \
	"['app-not-reading', 'application', 'nest', '4']" 'the journal has the finding'
like "$(figures "$room/entries" 'r[0]["MESSAGE"]')" '^app-not-reading: .*python3' 'with a sentence'
like "$(figures "$room/entries" 'r[0]["NEST_MODULE"]')" '^app:[0-9]+$' 'and the module'

# Debounce: the second time follows too soon.
: >"$room/reads"
ok 'the finding ends' wait_for 20 is_active 0
stops
ok 'and comes again' wait_for 60 is_active '[1-9]'
# Of the same cause and module: a busy machine has findings of its own.
again() {
	figures "$room/entries" '[int(e["at"] - r[0]["at"] + 0.5) for e in r[1:]
		if (e["NEST_CAUSE"], e["NEST_MODULE"]) == (r[0]["NEST_CAUSE"], r[0]["NEST_MODULE"])]'
}
wait_for 60 eval '[ "$(again)" != "[]" ]'
compare "$(again | tr -dc '0-9 ' | cut -d ' ' -f 1)" -ge 12 \
	'the same finding is not reported again within --debounce' ||
	diag "$(cat "$room/entries")"

# Metrics over TLS, with a token
is "$(metrics -o /dev/null -w '%{http_code}')" 401 'metrics without the token: 401'
is "$(metrics -H 'Authorization: Bearer 0123456789abcdef0123' | tail -n 1)" '# EOF' 'with it, over TLS'
lost() {
	metrics -H 'Authorization: Bearer 0123456789abcdef0123' |
		awk '$1 == "nest_agent_reports_lost_total" { print $2 }'
}
ok 'what nobody takes is counted' wait_for 40 eval '[ "$(lost)" -ge 2 ]'

# Who may ask
ask() {
	python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try: s.connect(sys.argv[1]); s.settimeout(5); print(len(s.recv(9999)) > 0)
except OSError as error: print(type(error).__name__)' "$room/find.sock"
}
chmod 755 "$room"
is "$(setpriv --reuid 65534 --regid 65534 --groups 54321 bash -c "$(declare -f ask); room=$room; ask")" True \
	'a member of the group nest gets an answer'
is "$(setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "$(declare -f ask); room=$room; ask")" \
	PermissionError 'another user does not'

# Its past
export NEST_AGENT=$room/find.sock
like "$(in_ns "$host" "$nest" 2>/dev/null)" "baseline: [0-9]+ (s|min)" 'a bare nest uses the past of the agent'
nsenter --net="/run/netns/$host" -- "$nest" serve --listen "unix:$room/serve.sock" \
	>"$room/serve.out" 2>"$room/serve.err" &
serve=$!
note_process "$serve"
wait_ready "$room/serve.err"
baseline() {
	curl -s --unix-socket "$room/serve.sock" http://any/api/v1/diagnosis | from_json 'j["baseline_s"]' 2>/dev/null
}
ok 'nest serve as well' wait_for 30 eval '[ "$(baseline)" -ge 5 ]'
end_bg "$serve"
tmux -L "nest-reports-$$" -f /dev/null new-session -d -s top -x 150 -y 50 \
	"NEST_AGENT=$NEST_AGENT nsenter --net=/run/netns/$host -- $nest top 2>$room/top.err"
top_shows() {
	tmux -L "nest-reports-$$" capture-pane -p -t top | grep -q "$1"
}
ok 'nest top begins with it' wait_for 30 top_shows 'baseline: [0-9]'
tmux -L "nest-reports-$$" kill-server
end_bg "$agent"
like "$(tail -n 1 "$room/agent.err")" 'findings reported, [0-9]+ reports not delivered' 'the closing line counts them'
finish
