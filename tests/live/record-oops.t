#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# Kernel reports in a recording. A file stands in for /dev/kmsg, in a mount namespace of this test: the log of this
# kernel is left alone.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd unshare

logs=$(dirname "$0")/../golden/input/oops

# Records as the kernel writes them, logged now. usage: as_kmsg LOG
as_kmsg() {
	python3 - "$1" <<'END'
import re, sys, time
now = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
for number, line in enumerate(open(sys.argv[1], errors="replace")):
    print("4,%d,%d,-;%s" % (number, now + number, re.sub(r"^\[ *[0-9.]+\] ", "", line.rstrip("\n"))))
END
}

# usage: with_log FILE COMMAND ...
with_log() {
	# shellcheck disable=SC2016
	unshare -m --propagation private -- sh -c 'log=$1; shift; mount --bind "$log" /dev/kmsg && exec "$@"' sh "$@"
}

# usage: sql FILE QUERY
sql() {
	"$nest" sql "$1" --csv "$2" 2>/dev/null | tr -d '\r' | tail -n +2
}

# What was logged before the recording is not part of it.
as_kmsg "$logs/null-2.6.34.log" >"$room/kmsg"
as_kmsg "$logs/faults.log" >"$room/new"
file=$room/oops.nest
before=$(date +%s)
with_log "$room/kmsg" "$nest" record -o "$file" tcp.retransmit -- \
	sh -c "cat '$room/new' >>/dev/kmsg" >"$room/out" 2>"$room/err"
is "$?" 0 'a run is recorded'
after=$(date +%s)

"$nest" oops "$room/new" --json 2>/dev/null >"$room/direct.json"
"$nest" oops -f "$file" --json 2>"$room/err2" >"$room/recorded.json"
is "$?" 0 'nest oops -f reads it'
expected=$(wc -l <"$room/direct.json")
ok 'the log has reports' test "$expected" -ge 2
like "$(tail -n 1 "$room/err")" "$expected kernel reports" 'the closing line counts them'

compared=$(python3 - "$room/direct.json" "$room/recorded.json" "$before" "$after" <<'END'
import json, sys
direct, recorded = ([json.loads(line) for line in open(name)] for name in sys.argv[1:3])
dated = all(int(sys.argv[3]) - 2 <= r["time_ns"] / 1e9 <= int(sys.argv[4]) + 2 for r in recorded)
for report in direct + recorded:
    del report["time_ns"], report["log_line"]
    report["after"] = (report["after"] or "").split(" in line")[0]
print("same" if direct == recorded else "differ", "dated" if dated else "wrong times")
END
)
is "$compared" 'same dated' 'the same reports as from the log itself, with the time of day'

rows=$(sql "$file" 'SELECT signature, count(*) FROM oops GROUP BY 1 ORDER BY 1')
wanted=$(python3 -c '
import collections, json, sys
count = collections.Counter(json.loads(line)["signature"] for line in sys.stdin)
print("\n".join("%s,%d" % pair for pair in sorted(count.items())))' <"$room/direct.json")
is "$rows" "$wanted" 'nest sql counts them by signature'

listed=$("$nest" report "$file" --json 2>/dev/null | python3 -c '
import json, sys
for o in sorted(json.load(sys.stdin)["oopses"], key=lambda o: o["signature"]):
    print("%s,%d" % (o["signature"], o["count"]))
    assert o["begin_ns"] <= o["end_ns"] and o["what"]')
is "$listed" "$wanted" 'so does nest report'
first=$(head -n 1 "$room/direct.json" | python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["signature"])')
like "$("$nest" report "$file" 2>/dev/null)" "Kernel reports.*$first" 'as text'
"$nest" report "$file" --html "$room/page.html" 2>/dev/null
like "$(cat "$room/page.html")" "$first" 'and as a page'

# Beyond the limit of one run reports are counted, not kept.
python3 -c '
import sys
lines = open(sys.argv[1]).read()
sys.stdout.write(lines * 1500)' <(printf \
	'3,1,1000000,-;irq 17: nobody cared (try booting with the "irqpoll" option)\n') >"$room/many"
: >"$room/kmsg"
with_log "$room/kmsg" "$nest" record -o "$room/many.nest" tcp.retransmit -- \
	sh -c "cat '$room/many' >>/dev/kmsg" >/dev/null 2>"$room/err"
kept=$(sql "$room/many.nest" 'SELECT count(*) FROM oops')
lost=$(sql "$room/many.nest" "SELECT sum(count) FROM loss WHERE source = 'oops'")
is "$kept" 1000 'a flood of reports is bounded'
is "$((kept + lost))" "$("$nest" oops "$room/many" --json 2>/dev/null | wc -l)" 'and the rest is counted'

# A log that cannot be read is a gap, not an end.
with_log /dev/null "$nest" record -o "$room/gap.nest" tcp.retransmit -- true >/dev/null 2>"$room/err"
is "$?" 0 'an empty log device does no harm'
# shellcheck disable=SC2016
unshare -m --propagation private -- sh -c 'mount -t tmpfs none /dev && exec "$@"' sh \
	"$nest" record -o "$room/gap2.nest" tcp.retransmit -- true >/dev/null 2>"$room/err"
is "$?" 0 'without the log the recording goes on'
like "$(cat "$room/err")" 'kernel reports are not recorded: cannot open /dev/kmsg' 'and says so'
like "$("$nest" report "$room/gap2.nest" 2>/dev/null)" 'Kernel reports were not recorded: cannot open /dev/kmsg' \
	'so does the report'
finish
