#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The checklist in a namespace where connections are refused: found at the right step, with figures that others confirm.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nstat

ns_make host
bg in_ns "$host" python3 -c 'import socket, time
while True:
	try:
		socket.create_connection(("127.0.0.1", 4711), 1)
	except OSError:
		pass
	time.sleep(0.01)'
in_ns "$host" nstat -asz --json >"$room/before.json"
"$nest" checklist -N "$host" --json >"$room/steps.json" 2>"$room/err"
is "$?" 0 'the checklist ends well'
in_ns "$host" nstat -asz --json >"$room/after.json"
"$nest" tools --json >"$room/tools.json" 2>/dev/null
check() {
	python3 -c 'import json, re, sys
room, question = sys.argv[1:]
s = [json.loads(line) for line in open(room + "/steps.json")]
works = {t["tool"]: t["available"] for t in map(json.loads, open(room + "/tools.json"))}
b, a = (json.load(open(room + "/" + name))["kernel"] for name in ("before.json", "after.json"))
print(eval("(" + question + ")"))' "$room" "$1"
}
is "$(check '[e["step"] for e in s]')" '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]' 'ten steps in their order'
is "$(check '[(e["step"], f["cause"]) for e in s for f in e["findings"] if f["cause"] == "peer-refused"]')" \
	"[(2, 'peer-refused')]" 'what is wrong, at the step that it belongs to'
is "$(check 's[1]["state"]')" finding 'which is marked'
is "$(check '[c.split()[1] for c in s[1]["next"]][0] in [c.split()[1] for c in s[7]["next"]]
	and any(c.startswith("nest tcplife -N ") and c.endswith(" -d 10") for c in s[1]["next"])')" True \
	'with what to run next, also among the tools'
is "$(check '[s[i]["state"] for i in (6, 7, 9)]')" \
	"['not-done', 'not-done', 'not-done']" 'no load is made, and what is left to a person is not judged'
# Whatever this kernel lacks (kprobes: funccount of step 10), no step recommends what needs it.
is "$(check '[c for e in s for c in e["next"] if not works.get(c.split()[1], True)]')" '[]' \
	'only tools that run on this kernel'
# Failed attempts inside the time between the two looks of nstat.
is "$(check '0 < int(re.search(r"([0-9]+) failed connects", s[1]["found"])[1]) <=
	a["TcpAttemptFails"] - b["TcpAttemptFails"]')" True 'the figures are those of the kernel'
is "$(check 'float(re.search(r"([0-9.]+) connects/s", s[0]["found"])[1]) * 2 <=
	a["TcpActiveOpens"] - b["TcpActiveOpens"]')" \
	True 'also the rates'
finish
