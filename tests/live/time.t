#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the time of programs goes, beside their own clocks: all of them at once, in one namespace.
# vm: 70, timeout: 120
# shellcheck disable=SC2154 # start() sets them
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 curl

ns_make net
load=$live_dir/time-load.py

# start NAME ROLE PORT [ARGUMENT]: its pid is in pid_NAME, its log in $room/NAME.log.
start() {
	bg nsenter --net="/run/netns/$net" -- python3 "$load" "$2" "$3" "${4:-$room/$1.log}" >"$room/$1.out"
	printf -v "pid_$1" %s "$bg_pid"
}

start server server 7001 0.03
start slow server 7002 0.2
start idle idle 7003
start deaf deaf 7004
start names name_server 0
start sink sink 7006
for name in server slow idle deaf names sink; do
	wait_for 20 has_line "$room/$name.out" ready || exit 1
done
start mixed mixed 7001
start polling polling 7001
start pool pool 7002
start sending sending 7004
start pushing pushing 7006
start resolving resolving 0
for name in mixed polling pool pushing; do
	wait_for 20 test -s "$room/$name.log" || exit 1
done
wait_for 20 sh -c "nsenter --net=/run/netns/$net -- ss -Htn state established '( dport = :7004 )' | grep -q ." || exit 1
start connecting connecting 7004
wait_for 20 has_line "$room/connecting.out" ready || exit 1
# Two seconds an answer.
bg nsenter --net="/run/netns/$net" -- python3 -c '
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(2)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 7005), Handler)
print("ready", flush=True)
server.serve_forever()' >"$room/http.out"
wait_for 20 has_line "$room/http.out" ready || exit 1
bg nsenter --net="/run/netns/$net" -- curl -s "http://127.0.0.1:7005/[1-20]" >/dev/null
pid_curl=$bg_pid

"$nest" diagnose -N "$net" -d 6 --past none --json --save "$room/time.nest" >"$room/time.json" 2>"$room/time.err"
is "$?" 0 'a look ends without an error'

cat >"$room/check.py" <<'END'
import json, os, subprocess, sys
room, load = sys.argv[1:3]
pids = dict(word.split("=") for word in sys.argv[3:])
report = [json.loads(line) for line in open(room + "/time.json")][-1]
programs = {p["module"]: p for p in report["time"]}
start = report["start_ns"]
end = start + report["window_ms"] * 1000000
number = 0

def result(good, what, why=""):
    global number
    number += 1
    print("ok" if good else "not ok", number, "-", what)
    if not good:
        print("#", why)

def shares(name):
    found = {}
    for share in programs.get("app:" + pids[name], {"shares": []})["shares"]:
        found[share["what"]] = found.get(share["what"], 0) + share["share"]
    return found

# On a host with very many context switches only a part of them is looked at (docs/diagnosis.md).
def near(name, parts):
    by = 0.25 if programs.get("app:" + pids[name], {"estimate": True})["estimate"] else 0.05
    own = json.loads(subprocess.check_output(
        [sys.executable, load, "shares", f"{room}/{name}.log", str(start), str(end)]))
    seen = shares(name)
    for part in parts:
        result(abs(seen.get(part, 0) - own.get(part, 0)) <= by,
               f"{name}: {part} within {by * 100:.0f} points of its own clock", f"own {own}; seen {seen}")

def on(name, what):
    return {s["on"] for s in programs.get("app:" + pids[name], {"shares": []})["shares"] if s["what"] == what}

# What a program that is not idle waits for, beside the CPU.
def waits(name, what, whom, least=0.9):
    seen = shares(name)
    blocked = 1 - seen.get("cpu", 0) - seen.get("cpu-wait", 0)
    result(seen.get(what, 0) >= least * blocked > 0, f"{name}: {what} is what it waits for", seen)
    if whom:
        result(whom in on(name, what), f"{name}: it waits for {whom}", on(name, what))

result(all(abs(sum(s["share"] for s in p["shares"]) - 1) < 1e-6 for p in report["time"]), "shares add up to 1")
near("mixed", ["cpu", "cpu-wait", "answer", "other"])
near("polling", ["cpu", "cpu-wait", "answer", "idle"])
near("pool", ["cpu", "cpu-wait", "answer"])
near("pushing", ["cpu", "cpu-wait", "idle"])
result(not any(on("pushing", what) for what in ("answer", "network")), "pushing: nothing is asked", shares("pushing"))
waits("pool", "answer", "peer:127.0.0.1:7002")
waits("idle", "idle", None)
waits("sending", "peer-reading", "peer:127.0.0.1:7004")
waits("connecting", "connect", "peer:127.0.0.1:7004")
waits("resolving", "dns", "resolver:127.0.0.1")
waits("curl", "answer", "peer:127.0.0.1:7005")
answer = [s for s in programs["app:" + pids["curl"]]["shares"] if s["what"] == "answer"][0]
result(answer["p50_ns"] is not None and 1.9e9 <= answer["p50_ns"] <= 3.5e9, "curl: two seconds an answer", answer)
result(answer["rtt_ns"] is not None and answer["rtt_ns"] < 1e8, "curl: the RTT stands beside it", answer)
result(len({p["estimate"] for p in report["time"]}) == 1, "all shares are exact, or all are estimates")
result(isinstance(report["not_seen"], list) and report["baseline_s"] == 0, "what was not seen, and no baseline")
END
python3 "$room/check.py" "$room" "$load" "mixed=$pid_mixed" "polling=$pid_polling" "pool=$pid_pool" "idle=$pid_idle" \
	"sending=$pid_sending" "pushing=$pid_pushing" "connecting=$pid_connecting" "resolving=$pid_resolving" \
	"curl=$pid_curl" \
	>"$room/check.out" 2>&1
while IFS= read -r line; do
	case $line in
	'ok '*) pass "${line#* - }" ;;
	'not ok '*) fail "${line#* - }" ;;
	*) diag "$line" ;;
	esac
done <"$room/check.out"
like "$(cat "$room/check.out")" 'no baseline' 'every comparison was made'

# A recording shows the same.
"$nest" diagnose -f "$room/time.nest" --json >"$room/replay.json" 2>/dev/null
is "$(tail -n 1 "$room/replay.json" | from_json 'len(j["time"]) > 5 and j["time"]')" \
	"$(tail -n 1 "$room/time.json" | from_json 'j["time"]')" 'the recording divides the time alike'

# A stream that nothing answers waits for no reply.
unlike "$("$nest" diagnose -N "$net" -p "$pid_pushing" -d 2 --past none 2>/dev/null)" 'waits for replies' \
	'pushing: no reply is missing'

# One program: the answer comes first.
"$nest" diagnose -N "$net" -p "$pid_pool" --past none >"$room/text.out" 2>/dev/null
like "$(cat "$room/text.out")" "python3 \($pid_pool\) spends [0-9.]+ % waiting for (127.0.0.1:7002|a CPU)" \
	'the headline says whom it waits for'

# Without privilege: an estimate, and it says so.
bg nsenter --net="/run/netns/$net" -- setpriv --reuid 65534 --regid 65534 --clear-groups python3 -c '
import socket
c = socket.create_connection(("127.0.0.1", 7002))
print("ready", flush=True)
while True:
    c.sendall(b"q")
    c.recv(100)' >"$room/nobody.out"
pid_nobody=$bg_pid
wait_for 20 has_line "$room/nobody.out" ready || exit 1
in_ns "$net" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
	"$nest" diagnose --json --past none >"$room/nobody.json" 2>/dev/null
like "$(tail -n 1 "$room/nobody.json")" "\"app:$pid_nobody\",\"name\":\"python3\",\"estimate\":true" \
	'without privilege the shares are estimates'
like "$(tail -n 1 "$room/nobody.json")" '"not_seen":\[[^]]*"wait-times"' 'and the verdict says so'
finish
