#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest flow record on a program that behaves badly in many ways: it behaves as without the recorder, and the trace tells
# exactly what it did.
# timeout: 300
. "$(dirname "$0")/lib.sh"
require_root
require_cmd gcc g++ python3 unshare

target=$room/target
trace=$room/x.trace
ok 'the target is built' gcc -O1 -D_GNU_SOURCE -finstrument-functions -pthread -Wno-infinite-recursion \
	-o "$target" "$live_dir/flow-target.c" -ldl || { finish; exit; }
for which in one two; do
	cat >"$room/$which.c" <<-END
		int ${which}_count;
		__attribute__((noinline)) void only_in_$which(void) { ${which}_count++; }
		void plugin(void) { only_in_$which(); }
	END
	gcc -O1 -fPIC -shared -finstrument-functions -o "$room/$which.so" "$room/$which.c" || exit 1
done

# record [OPTIONS] -- ARGS: the target's output is in $room/out, its exit code in $code (of the program itself: 3
# means that it got to its end).
record() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$trace" "$trace.live"
	"$nest" flow record -o "$trace" "${options[@]}" -- "$target" "$@" >"$room/out" 2>"$room/err"
	code=$?
	look
}

# look: reads the trace once; what the functions below say comes from that.
look() {
	"$nest" flow info "$trace" --json >"$room/info.json"
	"$nest" flow info "$trace" --check --json >"$room/check.json" 2>/dev/null
	"$nest" flow info "$trace" --functions --csv >"$room/functions.csv"
}

# calls NAME: of that function in the trace.
calls() {
	awk -F, -v name="$1" '$1 == name { n += $3 } END { print n + 0 }' "$room/functions.csv"
}

# info FIELD, check FIELD: of nest flow info.
info() {
	sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" "$room/info.json"
}
check() {
	sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" "$room/check.json"
}
sound() {
	is "$(check well_formed) $(info complete) $(info lost)" 'true true 0' "$1: well-formed, complete, nothing lost"
}

record -- calls 100000
is "$code $(cat "$room/out")" '0 ' 'calls: done'
ok 'and says how the program ended' grep -q 'ended with code 3' "$room/err"
is "$(calls leaf) $(calls work) $(calls main)" '100000 1 1' 'calls: every call is there'
sound calls
ok 'at most 8 bytes an event' python3 -c 'import sys; sys.exit(float(sys.argv[1]) > 8)' "$(info bytes_per_event)"
is "$(ls "$trace"*)" "$trace" 'no other file is left'

record -S 3 -- calls 100000
is "$(calls leaf) $(check returns) $(info untimed)" \
	"100000 $(info calls) true" 'structure first: every call and return is there'
sound 'structure first'
ok 'structure first: repetitions take next to nothing' \
	python3 -c 'import sys; sys.exit(float(sys.argv[1]) > 0.2)' "$(info bytes_per_event)"
record -S 3 -- killed 50000
is "$(calls leaf)" 50000 'structure first, killed: nothing before the kill is lost'
sound 'structure first, killed'
# More than one buffer: what is written together was not written yet.
record -S 3 -- killed 1000000
is "$(calls leaf)" 1000000 'structure first, killed later: nothing before the kill is lost'
sound 'structure first, killed later'
record -S 2 -- threads 1000
is "$(calls leaf) $(info threads)" '100000 1001' 'structure first, 1,000 threads: every call of each'
sound 'structure first, 1,000 threads'
record -S 2 -- fork 20
is "$(calls leaf) $(info processes)" '220 21' 'structure first, fork: children and parent'
sound 'structure first, fork'
record -S 2 -- exec 4
is "$(calls leaf) $(check well_formed)" '25 true' 'structure first, exec: every program of the chain'
record -S 1 -- signals 3000000
is "$(check well_formed) $(calls leaf) $(check returns)" "true 3000000 $(info calls)" \
	'structure first, signals: well-formed, no call or return of the program lost'
record -S 2 -- longjmp 100
is "$(calls jump_from) $(check unwound) $(calls leaf)" \
	'1000 1000 3' 'structure first, longjmp: calls that never returned are known'
record -S 2 -- deep 100000
is "$(calls leaf) $(check max_depth)" '5 4096' 'structure first, deep recursion: 4,096 levels are recorded'
sound 'structure first, deep recursion'
record --depth 2 -- calls 1000
is "$(calls leaf) $(calls do_calls) $(check max_depth)" '0 1 2' '--depth: deeper calls are left out'
sound '--depth'
record --func 'work' --func 'le*' --no-func '*f' -- calls 1000
is "$(calls leaf) $(calls work) $(calls main)" '0 1 0' 'patterns: only what was asked for'
sound patterns
record --min 1ms -- slow 5
is "$(calls leaf) $(calls do_slow) $(calls main)" '0 1 1' '--min: short calls are left out'
sound '--min'
record --max-size 200K -- calls 300000
is "$(check well_formed)" true '--max-size: well-formed'
ok 'and what was dropped is counted' \
	python3 -c 'import sys; c, l = map(int, sys.argv[1:]); sys.exit(not (l > 0 and abs(c + l - 600006) <= 20))' \
	"$(info events)" "$(info lost)"
record --no-sockets -- sockets 3
is "$(check operations)" 0 '--no-sockets: none'

record -- threads 1000
is "$(cat "$room/out") $(calls leaf)" 'threads 1000 100000' 'threads: all of 1,000'
is "$(info threads)" 1001 'threads: each has its own'
sound threads
record -- fork 20
is "$(calls leaf) $(info processes)" '220 21' 'fork: children and parent'
sound fork
record -- vfork 5
is "$(calls leaf)" 5 'vfork: the parent goes on'
is "$(check well_formed)" true 'vfork: well-formed'
record -- exec 4
is "$(calls leaf)" 25 'exec: every program of the chain'
is "$(check well_formed) $(info complete)" 'true true' 'exec: well-formed'
record -- killed 50000
is "$(calls leaf)" 50000 'killed: nothing before the kill is lost'
ok 'killed: said so' grep -q 'signal 9' "$room/err"
sound killed
# From outside, at any moment, also while a chunk is written: then a piece of it is in the file.
for i in $(seq 12); do
	rm -f "$trace"
	"$nest" flow record -o "$trace" -- timeout -s KILL "0.0$((RANDOM % 80 + 20))" "$target" spin 2>"$room/err"
	look
	[ "$(check well_formed) $(info complete) $(info lost)" = 'true true 0' ] || break
done
sound "killed from outside at any moment, $i times"
record -- crash 50000
is "$(calls leaf)" 50000 'crash: nothing before the crash is lost'
ok 'crash: still one' grep -q 'signal 11' "$room/err"
sound crash
record -- quick-exit 1000
is "$(calls leaf)" 1000 '_exit: nothing is lost'
ok '_exit: its code' grep -q 'code 7' "$room/err"
record -- longjmp 100
is "$(calls jump_from) $(check unwound) $(calls leaf)" '1000 1000 3' 'longjmp: calls that never returned are known'
sound longjmp
record -- signals 3000000
handled=$(sed -n 's/^handled //p' "$room/out")
is "$(check well_formed) $(calls leaf)" 'true 3000000' 'signals: well-formed, no call of the program lost'
ok 'signals: handlers are recorded, or their events counted' python3 -c '
import sys
recorded, lost, handled = map(int, sys.argv[1:])
# Each handler makes four events: two calls, two returns.
sys.exit(not (handled > 10 and recorded > 0 and recorded * 4 + lost == handled * 4))' \
	"$(calls in_handler)" "$(check lost)" "$handled"
record -- slow-signals 5000000
took=$(sed -n 's/^took //p' "$room/out")
is "$(check well_formed) $(($(check lost) > 0)) $(($(info span_ns) < took + took / 10 + 50000000))" 'true 1 1' \
	'signals: the time in which events were lost counts once'
record -- signal-jump 50
is "$(check well_formed) $(tail -1 "$room/out")" 'true handled 50' 'jumping out of handlers: well-formed'
ok 'jumping out of handlers: recording goes on' test "$(calls work)" -gt 50
record -- deep 100000
is "$(tail -1 "$room/out") $(calls leaf) $(check max_depth)" \
	'deep 100000 5 4096' 'deep recursion: 4,096 levels are recorded, the rest passes'
sound 'deep recursion'
record -- deep-jump 20000
is "$(calls leaf)" 5 'a jump out of a deep recursion: recording goes on in its caller'
sound 'a jump out of a deep recursion'
record -- dlopen 20 "$room/one.so" "$room/two.so"
is "$(calls only_in_one) $(calls only_in_two)" '20 20' 'libraries that come and go are distinguished'
sound 'libraries'
record -- close-all 1000
is "$code $(calls leaf)" '0 2000' 'a program that closes everything is recorded all the same'
ok 'and gets to its end' grep -q 'code 3' "$room/err"
record -- limit 3000000
is "$(cat "$room/out")" survived 'a limit of the file size does not kill the program'
is "$(check well_formed)" true 'and the trace is well-formed'
ok 'and what was lost is counted' test "$(info lost)" -gt 0
record -- user 1000
is "$(calls leaf)" 3000 'another user, another root, no environment: still recorded, threads too'
sound 'another user'

record --max-size 200K -- late 300000
is "$(calls only_late) $(check well_formed)" \
	'10 true' 'a function first called when the trace is full has its name'

# A disk of four megabytes: the trace and the buffers beside it.
mkdir "$room/small"
cat >"$room/full.sh" <<END
mount -t tmpfs -o size=4m none "$room/small" || exit 9
"$nest" flow record -o "$room/small/x.trace" -- "$target" calls 3000000
echo "code \$?"
"$nest" flow info "$room/small/x.trace" --check
"$nest" flow info "$room/small/x.trace" --json
"$nest" flow record -o "$room/small/x.trace" -- "$target" late 3000000
"$nest" flow info "$room/small/x.trace" --check
"$nest" flow info "$room/small/x.trace" --functions
END
unshare -m bash "$room/full.sh" >"$room/full.out" 2>"$room/full.err"
ok 'a full disk: the program gets to its end' grep -q 'code 3' "$room/full.err"
# The chunk that did not fit is there in part: it is passed over, and that is said.
is "$(grep -c 'well_formed *yes' "$room/full.out")" 2 'a full disk: well-formed'
ok 'a full disk: torn chunks are reported' grep -q 'bytes of the file are incomplete chunks' "$room/full.err"
ok 'a full disk: a function first called after that has its name' \
	grep -q '^only_late *target *10$' "$room/full.out"
ok 'a full disk: the loss is counted' python3 -c '
import json, sys
info = next(json.loads(l) for l in open(sys.argv[1]) if l.startswith("{"))
sys.exit(not (info["lost"] > 0 and info["events"] > 100000 and abs(info["lost"] + info["events"] - 6000006) < 20))' \
	"$room/full.out"

# A program at a fixed address exports nothing: its functions have names all the same.
ok 'a program at a fixed address is built' \
	gcc -O1 -no-pie -D_GNU_SOURCE -finstrument-functions -pthread -Wno-infinite-recursion \
	-o "$target-fixed" "$live_dir/flow-target.c" -ldl
rm -f "$trace"
"$nest" flow record -o "$trace" -- "$target-fixed" calls 1000 >"$room/out" 2>"$room/err"
look
is "$(calls leaf) $(calls work) $(calls main)" '1000 1 1' 'a fixed address: the functions have their names'
sound 'a fixed address'

cat >"$room/strings.cc" <<'EOF'
#include <map>
#include <string>
int main(int argc, char **argv)
{
	std::map<std::string, int> map;
	std::string s(argv[0]);
	map[s.append("x").insert(0, "y")] = argc;
	return map.size() != 1;
}
EOF
# Not clang: with these hooks the one of Debian 13 does not link what uses strings.
ok 'a C++ program is built' g++ -O2 -finstrument-functions -o "$room/strings" "$room/strings.cc"
rm -f "$trace"
ok 'a C++ program ends as without us' "$nest" flow record -o "$trace" -- "$room/strings"
look
# One copy of a function from a header serves all: here the one of the library of C++, which has no hooks.
ok 'C++: functions of the library are called' grep -q 'basic_string.*,libstdc++' "$room/functions.csv"
is "$(grep -c '+0x' "$room/functions.csv")" 0 'C++: every function has its name'
sound 'C++'

# --- sockets ---
record -- sockets 200
port=$(sed -n 's/^port //p' "$room/out")
"$nest" flow info "$trace" --events >"$room/events"
ok 'sockets: operations, bytes, endpoints of every session' python3 - "$room/events" "$port" <<'PYTHON'
import collections, re, sys
ops = collections.Counter()
moved = collections.Counter()
sockets = {}
accepted = []
for line in open(sys.argv[1]):
    words = line.split()
    keys = dict(w.split("=", 1) for w in words if "=" in w)
    if len(words) > 2 and words[2] == "socket":
        sockets[keys["socket"]] = keys
    if len(words) > 2 and words[2].startswith("op-"):
        op = words[2][3:]
        ops[op] += 1
        if op == "accept" and int(keys["result"]) >= 0:
            accepted.append(keys["socket"])
        if op in ("read", "write") and "socket" in keys:
            moved[op, keys["socket"]] += max(0, int(keys["result"]))
assert len(set(accepted)) == 200, len(accepted)
ports = set()
for socket in accepted:
    assert sockets[socket]["local"] == "127.0.0.1:" + sys.argv[2], sockets[socket]
    assert int(sockets[socket]["cookie"]) > 0
    ports.add(sockets[socket]["remote"])
    assert moved["read", socket] == 40 and moved["write", socket] == 40
# The other ends, in the client's thread.
others = [s for s in sockets.values() if s.get("remote") == "127.0.0.1:" + sys.argv[2]]
assert {s["local"] for s in others} == ports, (len(others), len(ports))
# A peek moves no bytes: it waits.
assert ops["connect"] == 200 and ops["close"] >= 400 and ops["wait"] == 400 and ops["watch"] == 1, ops
PYTHON
sound sockets
record -- streams 20
ok 'streams: the program ends as usual' grep -q 'ended with code 3' "$room/err"
"$nest" flow info "$trace" --events >"$room/events"
ok 'streams: what they write to a socket, and its end' python3 - "$room/events" <<'PYTHON'
import collections, sys
accepted, written, closed = [], collections.defaultdict(list), collections.Counter()
for line in open(sys.argv[1]):
    words = line.split()
    keys = dict(w.split("=", 1) for w in words if "=" in w)
    if len(words) > 2 and words[2] == "op-accept":
        accepted.append(keys["socket"])
    if len(words) > 2 and words[2] == "op-write":
        written[keys["socket"]].append(int(keys["result"]))
    if len(words) > 2 and words[2] == "op-close":
        closed[keys["socket"]] += 1
assert len(accepted) == 20, accepted
assert all(written[s] == [20, 20] and closed[s] == 1 for s in accepted), [(written[s], closed[s]) for s in accepted]
PYTHON
sound streams
record -- pass 1
"$nest" flow info "$trace" --events >"$room/events"
ok 'a descriptor that is passed is followed by its cookie' python3 - "$room/events" <<'PYTHON'
import re, sys
passed = taken = None
cookies = {}
for line in open(sys.argv[1]):
    words = line.split()
    keys = dict(w.split("=", 1) for w in words if "=" in w)
    if len(words) > 2 and words[2] == "socket":
        cookies[keys["socket"]] = keys.get("cookie")
    if len(words) > 2 and words[2] == "op-pass":
        passed = keys["socket"]
    if len(words) > 2 and words[2] == "op-take":
        taken = keys["socket"]
assert passed and taken and passed != taken and cookies[passed] == cookies[taken] != None, (passed, taken, cookies)
PYTHON

record --sample 4 -- sockets 200
"$nest" flow info "$trace" --events >"$room/events"
ok 'one connection of four is recorded, whole' python3 - "$room/events" <<'PYTHON'
import collections, sys
accepted, moved = set(), collections.Counter()
for line in open(sys.argv[1]):
    words = line.split()
    keys = dict(w.split("=", 1) for w in words if "=" in w)
    if len(words) > 2 and words[2] == "op-accept":
        accepted.add(keys["socket"])
    if len(words) > 2 and words[2] in ("op-read", "op-write"):
        moved[keys["socket"]] += int(keys["result"])
assert 20 < len(accepted) < 90, len(accepted)
assert all(moved[s] == 80 for s in accepted), [moved[s] for s in accepted]
PYTHON
is "$(check well_formed) $(info lost)" 'true 0' 'and what was left out is not lost'

record -- wait
"$nest" flow info "$trace" --events >"$room/events"
ok 'operations that wait have their time: read as the first thing a thread does, accept, poll of a new socket' \
	python3 - "$room/events" <<'PYTHON'
import sys
longest = {}
for line in open(sys.argv[1]):
    words = line.split()
    keys = dict(w.split("=", 1) for w in words if "=" in w)
    if len(words) > 2 and words[2].startswith("op-"):
        longest[words[2]] = max(longest.get(words[2], 0), int(keys["took"]))
assert all(longest[op] >= 99_000_000 for op in ("op-read", "op-accept", "op-wait")), longest
PYTHON
sound 'operations that wait'
record -- names
is "$("$nest" flow info "$trace" --threads --csv --show comm 2>/dev/null | tr -d '\r' | sed 1d | sort | paste -sd' ')" \
	'named-asleep named-by-other named-itself named-killed' 'threads that are named later have those names'

record -- strict 100000
is "$code $(cat "$room/out")" '0 done' 'strict seccomp: the program gets to its end'
ok 'strict seccomp: and ends as it would' grep -q 'ended with code 7' "$room/err"
is "$(calls leaf) $(calls only_when_strict) $(info lost) $(check well_formed)" \
	'100002 1 0 true' 'strict seccomp: every call is there'

ok 'a static program is built' gcc -O1 -static -o "$room/static" -x c - <<<'int main(void) { return 4; }'
rm -f "$trace" "$trace.live"
"$nest" flow record -o "$trace" -- "$room/static" 2>"$room/err"
ok 'nothing can be preloaded into it, and that is said' \
	grep -q 'static is statically linked: no library can be preloaded' "$room/err"
ok 'it runs all the same' grep -q 'ended with code 4' "$room/err"

# --- start and stop ---
rm -f "$trace"
"$nest" flow record --paused --signal 40 -o "$trace" -- "$target" serve-signals 10 >"$room/out" 2>"$room/err" &
recorder=$!
echo "$recorder" >>"$room/pids"
wait_for 20 grep -q running "$room/out"
pid=$(pgrep -P "$recorder")
look
is "$(calls leaf)" 0 'paused: nothing is recorded'
ok 'start' "$nest" flow start "$pid"
more_than() {
	look
	[ "$(info calls)" -gt "$1" ]
}
ok 'calls are recorded then' wait_for 20 more_than 1000
pass 'a trace can be read while it is recorded'
ok 'stop' "$nest" flow stop "$pid"
look
before=$(calls leaf)
# Whatever it does now, it does without being recorded: several rounds of its loop.
spent() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
was=$(spent)
worked() { [ "$(spent)" -gt "$was" ]; }
wait_for 20 worked
look
is "$(calls leaf)" "$before" 'stopped: nothing more is recorded'
ok 'start again' "$nest" flow start "$pid"
ok 'and more calls are recorded' wait_for 20 more_than $((before + 1000))
look
before=$(info calls)
kill -40 "$pid"
look
paused_at=$(info calls)
was=$(spent)
wait_for 20 worked
look
is "$(info calls)" "$paused_at" 'a signal pauses, too'
kill -40 "$pid"
ok 'and resumes' wait_for 20 more_than "$paused_at"
kill -TERM "$recorder"
wait "$recorder"
look
sound 'start and stop'
# A server that drops its privilege is no longer of the user that ends it.
timeout 20 "$nest" flow record -d 1 -o "$trace" -- setpriv --reuid=65534 --clear-groups sleep 60 2>"$room/err"
ok 'a program of another user is ended' grep -q 'ended by signal 15' "$room/err"

"$nest" flow stop $$ 2>"$room/err"
is $? 3 'a process that is not recorded is refused'

# --- a program that runs, and was not built for it ---
gcc -O1 -D_GNU_SOURCE -pthread -Wno-infinite-recursion -o "$room/plain" "$live_dir/flow-target.c" -ldl || exit 1
bg "$room/plain" serve-signals 10 >"$room/out"
wait_for 20 grep -q running "$room/out"
rm -f "$trace"
"$nest" flow record -p "$bg_pid" --func work --func 'lea*' --args 1 -d 0.5 -o "$trace" 2>"$room/err"
is $? 0 'probes: done'
ok 'probes: ready was said' grep -q '^nest: ready' "$room/err"
look
ok 'probes: ten leaves for every call of their caller, but for the first and last' python3 -c '
import sys
leaves, works = map(int, sys.argv[1:])
sys.exit(not (works > 2 and abs(leaves - 10 * works) <= 20))' "$(calls leaf)" "$(calls work)"
is "$(check well_formed)" true 'probes: well-formed'
"$nest" flow info "$trace" --events >"$room/events"
is "$(grep -A1 'call plain!work' "$room/events" | sed -n 's/.* args //p' | sort -u)" \
	10 'probes: the argument of every call'
end_bg "$bg_pid" TERM
ok 'probes: none is left behind' unshare -m bash -c '
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
! grep nest_flow /sys/kernel/tracing/uprobe_events && ! ls /sys/kernel/tracing/instances | grep nest_flow'
"$nest" flow record -p $$ --func no_such_function -o "$trace" 2>"$room/err"
is $? 2 'probes: a function that is not there is refused'

# --- as a service ---
rm -f "$trace"
"$nest" flow record --prepare -o "$trace" >"$room/env"
mapfile -t environment <"$room/env"
env "${environment[@]}" "$target" calls 777
is $? 3 'prepared: the program runs by itself'
"$nest" flow record --finish -o "$trace" 2>"$room/err"
code=$?
look
is "$code $(calls leaf)" '0 777' 'prepared: and is recorded'
sound prepared
finish
