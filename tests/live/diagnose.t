#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest diagnose and nest watch against this kernel: two hosts of a private network, a reader
# that is stopped, and what is said.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

ns_make client
ns_make server
ns_link "$client" 10.77.0.1/24 "$server" 10.77.0.2/24

# said FILE EXPRESSION: what a Python expression over the list of verdicts yields; v[-1] is the last one.
said() {
	python3 -c "import json, sys
v = [json.loads(line) for line in open(sys.argv[1])]
print($2)" "$1"
}

# A server that reads until it is stopped, and a client that sends as much as it may.
bg nsenter --net="/run/netns/$server" -- python3 -c '
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("", 5001)); s.listen(5)
print("listening", flush=True)
c, _ = s.accept()
while c.recv(65536): pass' >"$room/server.out"
server_pid=$bg_pid
wait_for 10 grep -q listening "$room/server.out"
bg nsenter --net="/run/netns/$client" -- python3 -c '
import socket, time
s = socket.create_connection(("10.77.0.2", 5001)); data = b"x" * 16384
while True:
    s.sendall(data); time.sleep(0.005)'

in_ns "$client" "$nest" diagnose --json >"$room/healthy" 2>"$room/healthy.err"
is "$?" 0 'a look at a healthy network succeeds'
is "$(said "$room/healthy" 'len(v)')" 1 'three seconds give one object'
is "$(said "$room/healthy" 'v[-1]["schema"], v[-1]["healthy"], v[-1]["findings"]')" \
	'nest.diagnosis/1 True []' 'nobody is blamed'
like "$(said "$room/healthy" '[m["id"] for m in v[-1]["modules"]]')" \
	'conn:10\.77\.0\.1:[0-9]+-10\.77\.0\.2:5001' 'the connection is a module'
is "$(said "$room/healthy" \
	'[round(float(sum(m["limited_by"].values())), 2) for m in v[-1]["modules"] if m["limited_by"]][0]')" \
	1.0 'what limits it adds up to one'
is "$(said "$room/healthy" 'v[-1]["netns"]')" \
	"$(stat -Lc %i "/run/netns/$client")" 'the namespace is named by its number'
like "$(tail -n 1 "$room/healthy.err")" '^nest: [0-9]+ events, 0 lost' 'the closing line counts'

# The reader stops; both ends know why.
kill -STOP "$server_pid"
"$nest" diagnose -N "$server" --json -d 5 --fail-on 0.9 >"$room/server.json" 2>"$room/server.err"
is "$?" 1 'a certain finding makes --fail-on exit with 1'
is "$(said "$room/server.json" 'len(v)')" 5 'five seconds give five objects, the first two for the fact'
is "$(said "$room/server.json" 'v[-1]["findings"][0]["cause"], v[-1]["findings"][0]["certainty"]')" \
	'app-not-reading 1' 'its own host blames the stopped reader, for certain'
is "$(said "$room/server.json" 'v[-1]["findings"][0]["layer"], v[-1]["healthy"]')" \
	'application False' 'the layer is the application'
like "$(said "$room/server.json" 'v[-1]["findings"][0]["because"]')" \
	'is stopped with .* in its receive queue' 'the sentence has the numbers'
"$nest" diagnose -N "$client" --json >"$room/client.json" 2>/dev/null &
json_pid=$!
"$nest" diagnose -N "$client" >"$room/client.txt" 2>/dev/null &
text_pid=$!
"$nest" diagnose -N "$client" >/dev/full 2>"$room/full.err"
is "$?" 5 'a full disk is no failure of looking'
like "$(tail -n 1 "$room/full.err")" 'writing failed: No space left' 'and is reported'
wait "$json_pid" "$text_pid"
is "$(said "$room/client.json" 'v[-1]["findings"][0]["cause"], v[-1]["findings"][0]["module"]')" \
	'peer-not-reading peer:10.77.0.2:5001' 'the sender blames the peer'
is "$(said "$room/client.json" 'len(v[-1]["findings"])')" 1 'and nobody else'
like "$(head -n 1 "$room/client.txt")" '^peer-not-reading 10\.77\.0\.2:5001 ' 'the text begins with the answer'
like "$(cat "$room/client.txt")" '>> peer 10\.77\.0\.2:5001' 'the culprit is marked in the graph'

# A look of one second has three windows in it, and finds what is plain to see.
"$nest" diagnose -N "$client" -d 1 --json >"$room/second.json" 2>"$room/err"
is "$(said "$room/second.json" 'len(v), 900 <= v[0]["window_ms"] <= 2500, v[0]["findings"][0]["cause"]')" \
	'1 True peer-not-reading' \
	'-d 1 looks for one second'
# Two seconds of sixty: between the second window, which confirms, and the third, which is reported anyway.
timeout -s INT 2.4 "$nest" diagnose -N "$client" -d 60 >"$room/early.txt" 2>"$room/err"
like "$(head -n 1 "$room/early.txt")" '^peer-not-reading 10\.77\.0\.2:5001 ' \
	'Ctrl-C before the first report shows what is known'

# Who loses patience sees what is known by then.
nest_bg diagnose -N "$client" -d 60 --save "$room/broken-off.nest"
# found: the recording has a finding.
found() {
	[ "$("$nest" sql "$room/broken-off.nest" \
		'SELECT count(*) > 0 AS n FROM finding' --json 2>/dev/null)" = '{"n":1}' ]
}
wait_for 30 found
kill -INT "$nest_pid"
wait "$nest_pid"
is "$?" 130 'a look that is broken off says so'
like "$(head -n 1 "$nest_out")" '^peer-not-reading 10\.77\.0\.2:5001 ' 'and what it knows'

# nest watch says when it began and when it ended.
nest_bg watch -N "$client" --json -d 12
wait_ready "$nest_err"
wait_for 20 grep -q '"event":"begin"' "$nest_out"
kill -CONT "$server_pid"
wait_for 20 grep -q '"event":"end"' "$nest_out"
is "$(said "$nest_out" '[(e["event"], e["cause"]) for e in v if e["cause"] == "peer-not-reading"][:2]')" \
	"[('begin', 'peer-not-reading'), ('end', 'peer-not-reading')]" 'nest watch tells the begin and the end'

# Mistakes.
"$nest" diagnose -N no-such-namespace >/dev/null 2>"$room/err"
is "$?" 2 'a namespace that is not there is refused'
like "$(cat "$room/err")" 'no-such-namespace' 'and the message names it'
"$nest" diagnose -N "$client" -C /no-such-group >/dev/null 2>"$room/err"
is "$?:$(grep -c 'no cgroup.*no-such-group' "$room/err")" 2:1 'so is a control group'
"$nest" diagnose -N "$client" -C / -d 0.1 >/dev/null 2>"$room/err"
is "$?" 0 'and one that is there is not'
"$nest" diagnose -N "$client" -i nosuch0 >"$room/out" 2>"$room/err"
is "$?:$(cat "$room/out")" 2: 'an interface that is not there is not found healthy'
like "$(cat "$room/err")" "there is no interface 'nosuch0'" 'and the message names it'
mkdir "$room/rules"
cat >"$room/rules/bad.rules" <<'END'
rule x
about: conn
when: nonsense > 3
suggests: path-loss
certainty: 0.5
family: f
because: b
END
"$nest" diagnose --rules "$room/rules" >/dev/null 2>"$room/err"
is "$?" 2 'a wrong rule is refused'
like "$(cat "$room/err")" 'bad\.rules:3: unknown field' 'with file, line and reason'
cat >"$room/rules/bad.rules" <<'END'
rule always
about: listener
when: lport == 5001
suggests: accept-queue-full
certainty: 0.9
family: f
because: port {lport} is listened on
END
"$nest" diagnose -N "$server" --rules "$room/rules" --json >"$room/own.json" 2>/dev/null &
own_pid=$!
# Without privilege it still looks.
setpriv --reuid=65534 --regid=65534 --clear-groups "$nest" diagnose --json >"$room/nobody" 2>"$room/nobody.err"
is "$?" 0 'it works without root'
wait "$own_pid"
is "$(said "$room/own.json" '[f["because"] for f in v[-1]["findings"] if f["for"][0]["rule"] == "always"]')" \
	"['port 5001 is listened on']" "a site's own rule is heard"
is "$(said "$room/nobody" 'v[-1]["schema"]')" nest.diagnosis/1 'and says what it sees'
finish
