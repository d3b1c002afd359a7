#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What nest path shows of packets that really travel: the options, recordings and files; which stage
# took how long is another test's.
# timeout: 240
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 ip nsenter

ns_make server
ns_make client
ns_link "$server" 10.71.0.1/24 "$client" 10.71.0.2/24

cat >"$room/echo.py" <<'PYTHON'
import os, socket
listener = socket.create_server(('10.71.0.1', 7311))
print('listening', os.getpid(), flush=True)
while True:
    peer = listener.accept()[0]
    try:
        while data := peer.recv(4096):
            peer.sendall(data)
    except OSError:
        pass  # one that was killed takes its connection down
    peer.close()
PYTHON
cat >"$room/ask.py" <<'PYTHON'
import socket, sys
peer = socket.create_connection(('10.71.0.1', 7311))
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for i in range(int(sys.argv[1])):
    peer.sendall(b'q' * 100)
    got = 0
    while got < 100:
        got += len(peer.recv(4096))
PYTHON
bg in_ns "$server" python3 "$room/echo.py" >"$room/echo.out"
wait_for 20 grep -q listening "$room/echo.out" || { diag 'the server does not listen'; exit 1; }
# Its own word: what is started may be a wrapper.
read -r _ server_pid <"$room/echo.out"
mine=(-N "$server" --rx --where 'lport == 7311 and bytes > 100')
ask() { in_ns "$client" python3 "$room/ask.py" "$1"; }

# --- a run, and the recording of it ---

nest_bg path "${mine[@]}" --save "$room/run.nest" \
	--svg "$room/run.svg" --html "$room/run.html" --trace "$room/run.json" --hist --slowest 3 --by comm
wait_ready "$nest_err"
ask 200
end_bg "$nest_pid"
is "$end_status" 0 'Ctrl-C ends a run well'
like "$(tail -1 "$nest_err")" '^nest: [0-9]+ events, 0 lost; [0-9]+ packets followed: ' 'the last line counts'
like "$(cat "$nest_out")" $'\nreceive, comm python3: 200 journeys \\(200 delivered\\)\n' 'every request has a journey'
is "$(grep -c '^   STAGE  ' "$nest_out")" 3 'the slowest three are drawn'
"$nest" path -f "$room/run.nest" --hist --slowest 3 --by comm >"$room/again" 2>"$room/again.err"
ok 'the recording says the same, byte for byte' cmp "$nest_out" "$room/again"
like "$(cat "$room/again.err")" '^nest: 200 events, 0 lost$' 'and counts the same'
"$nest" path -f "$room/run.nest" --svg "$room/again.svg" \
	--html "$room/again.html" --trace "$room/again.json" 2>/dev/null
ok 'so does the trace' cmp "$room/run.json" "$room/again.json"
like "$(head -c 300 "$room/run.svg")" '^<svg ' 'the picture is one'
like "$(grep -c '<rect class="cell"' "$room/run.svg")" '^[1-9]' 'with heat maps'
like "$(tail -1 "$room/run.html")" '^</html>' 'the page is whole'
report=$("$nest" report "$room/run.nest")
slow='(slowest ([0-9]+ )?of 200: |no tail: all take about the same time)'
like "$report" $'Packet journeys\nreceive: 200 delivered\n  '"$slow" \
	'a report says how many, and what makes the slow ones slow'
is "$(sed '1,/^Packet journeys/d' <<<"$report" | grep -c '^[0-9.]* [mun]*s receive tcp ')" 3 'and names the slowest'

# --- as records ---

"$nest" path -f "$room/run.nest" --json 2>/dev/null >"$room/run.jsonl"
ok 'stages follow each other and add up; what was not seen is named, not zero' \
	python3 - "$room/run.jsonl" "$server_pid" <<'PYTHON'
import json, sys
known = 'irq softirq gro backlog filter ip transport socket wakeup sched copy return'.split()
journeys = [json.loads(line) for line in open(sys.argv[1])]
assert len(journeys) == 200
for j in journeys:
    assert j['dir'] == 'rx' and j['end'] == 'delivered' and j['laddr'] == '10.71.0.1' and j['lport'] == 7311, j
    assert j['pid'] == int(sys.argv[2]) and j['comm'] == 'python3', j
    at = j['time_ns']
    for s in j['stages']:
        assert s['stage'] in known and s['start_ns'] == at and s['ns'] >= 0, j
        at += s['ns']
    assert at - j['time_ns'] == j['total_ns'] == sum(s['ns'] for s in j['stages']), j
    assert not {s['stage'] for s in j['stages']} & set(j['hidden']), j
    assert {'ip', 'transport', 'copy'} <= {s['stage'] for s in j['stages']} | set(j['hidden']), j
PYTHON
ok 'the trace is JSON of the documented form, and arrows lead from slice to slice' python3 - "$room/run.json" <<'PYTHON'
import json, sys
trace = json.load(open(sys.argv[1]))
names, slices, arrows, waits = {}, {}, {}, {}
for e in trace['traceEvents']:
    assert e['ph'] in 'XMbestf' and type(e['pid']) is int and type(e['tid']) is int and e['name'], e
    track = e['pid'], e['tid']
    if e['ph'] == 'M':
        names.setdefault(e['name'], {})[track if e['name'] != 'process_name' else e['pid']] = e['args'].get('name')
        continue
    assert e['ts'] >= 0 and e['cat'], e
    # Nanoseconds, so that nothing is lost by adding.
    begin = round(1000 * e['ts'])
    if e['ph'] == 'X':
        assert e['dur'] >= 0, e
        slices.setdefault(track, []).append((begin, begin + round(1000 * e['dur']), e['args']['journey']))
    elif e['ph'] in 'stf':
        arrows.setdefault(e['id'], []).append((begin, e['ph'], track))
    else:
        wait = e['cat'], e['id'], e['name']
        waits[wait] = waits.get(wait, 0) + (1 if e['ph'] == 'b' else -1)
assert not any(waits.values()), 'a wait does not end'
for track, own in slices.items():
    assert names['thread_name'][track].startswith('CPU ') and track[0] in names['process_name'], track
    ends = []
    for begin, end, _ in sorted(own, key=lambda s: (s[0], -s[1])):
        while ends and ends[-1] <= begin:
            ends.pop()
        assert not ends or end <= ends[-1], 'slices of a track cross'
        ends.append(end)
assert len(arrows) == 200, len(arrows)
for journey, points in arrows.items():
    phases = ''.join(p[1] for p in points)
    assert phases[0] == 's' and phases[-1] == 'f' and set(phases[1:-1]) <= {'t'}, phases
    assert points == sorted(points, key=lambda p: p[0]), points
    for begin, _, track in points:
        assert any(b <= begin < e and j == journey for b, e, j in slices[track]), (journey, begin)
PYTHON

# --- traffic that goes on while hooks come and go ---

answered() { [ "$(wc -l <"$nest_out")" -gt 100 ]; }
nest_bg path -N "$server" --tx --where 'lport == 7311 and bytes > 100' --json
wait_ready "$nest_err"
bg in_ns "$client" timeout 60 python3 "$room/ask.py" 1000000
asker=$bg_pid
wait_for 30 answered || diag 'few answers'
end_bg "$nest_pid"
end_bg "$asker" KILL
ok 'each answer begins with the write that wrote it, to the end of the run' python3 - "$nest_out" <<'PYTHON'
import json, sys
journeys = [json.loads(line) for line in open(sys.argv[1])]
begins = [(j['rport'], j['time_ns']) for j in journeys if 'tcp' not in j['hidden']]
assert len(journeys) > 100 and len(begins) == len(set(begins)), (len(journeys), len(begins), len(set(begins)))
PYTHON

# --- the packets of a command ---

"$nest" path --rx --json --where 'rport == 7311' -- \
	nsenter --net="/run/netns/$client" python3 "$room/ask.py" 20 >"$room/own" 2>/dev/null
is "$(grep -c '"bytes":15[0-9]' "$room/own")" 20 'of a command, what it receives'
is "$(grep -c '"laddr":"10.71.0.1"' "$room/own")" 0 'and nothing of its server'

# --- data that nobody reads ---

cat >"$room/deaf.py" <<'PYTHON'
import socket, time
listener = socket.create_server(('10.71.0.1', 7312))
print('listening', flush=True)
time.sleep(60)
PYTHON
cat >"$room/tell.py" <<'PYTHON'
import fcntl, socket, struct, termios, time
peer = socket.create_connection(('10.71.0.1', 7312))
for i in range(3):
    peer.sendall(b't' * 100)
    # One packet each: the next is not written before the last was acknowledged.
    while struct.unpack('i', fcntl.ioctl(peer, termios.TIOCOUTQ, b'\0' * 4))[0]:
        time.sleep(0.01)
PYTHON
bg in_ns "$server" python3 "$room/deaf.py" >"$room/deaf.out"
wait_for 20 grep -q listening "$room/deaf.out" || diag 'nobody listens'
nest_bg path -N "$server" --rx --where 'lport == 7312 and bytes > 100' --hist
wait_ready "$nest_err"
in_ns "$client" timeout 20 python3 "$room/tell.py"
end_bg "$nest_pid"
like "$(cat "$nest_err")" \
	'nest: 3 of [0-9]+ packets did not reach their end: no reader' \
	'data that nobody reads is reported'

# --- nothing, and what cannot be ---

"$nest" path "${mine[@]}" -d 0.3 >"$room/none" 2>/dev/null
like "$(cat "$room/none")" '^no journey seen: no packet matched the filter' 'nothing seen is said'
"$nest" path --where 'lat > 1s' >"$room/none" 2>&1
is "$?" 2 'a field that is not there is refused'
finish
