#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# Both ends recorded: every 20th segment is dropped between them, then the reader stops. Loss is checked against the
# counter of the rule that drops, the alignment of the clocks against one clock and against one that was shifted.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd nft
require_cmd ethtool
require_cmd sqlite3

cat >"$room/source.py" <<'END'
import socket, sys, time
c = socket.create_connection((sys.argv[1], 5001))
while True:
    c.sendall(b"x" * 50000)
    time.sleep(0.05)
END

ns_make a
ns_make b
ns_link "$a" 10.97.1.1/24 "$b" 10.97.1.2/24
for ns in "$a" "$b"; do
	in_ns "$ns" ethtool -K "$link_dev" tso off gso off gro off >/dev/null
done
for end in a b; do
	"$nest" record -o "$room/$end.nest" -N "${!end}" 2>"$room/$end.err" &
	note_process $!
	printf -v "recorder_$end" %s $!
done
wait_ready "$room/a.err"
wait_ready "$room/b.err"
sink "$b" 10.97.1.2 5001
# Samples of the connection.
has_samples() {
	[ "$(sqlite3 "$1" 'SELECT count(DISTINCT first) FROM tcp WHERE data_segs_out > 100 OR data_segs_in > 100')" \
		-ge "$2" ]
}
bg in_ns "$a" python3 "$room/source.py" 10.97.1.2
# Three windows of it are in both recordings.
for end in a b; do
	wait_for 30 has_samples "$room/$end.nest" 20 || exit 1
done
in_ns "$b" nft -f - <<-END
	table netdev f {
		counter seen { }
		counter dropped { }
		chain c {
			type filter hook ingress device "$link_dev" priority 0
			tcp dport 5001 meta length > 500 counter name seen
			tcp dport 5001 meta length > 500 numgen inc mod 20 == 0 counter name dropped drop
		}
	}
END
pause 6
counts=$(in_ns "$b" nft -j list counters | from_json \
	'{c["counter"]["name"]: c["counter"]["packets"] for c in j["nftables"] if "counter" in c}')
in_ns "$b" nft delete table netdev f
loss_end=$(date +%s%N)
pause 2
kill -STOP "$sink_pid"
pause 5
# shellcheck disable=SC2154 # set by printf -v
kill "$recorder_a" "$recorder_b"
# shellcheck disable=SC2154
wait "$recorder_a" "$recorder_b"
kill -CONT "$sink_pid"

"$nest" diagnose -f "$room/a.nest" -f "$room/b.nest" --json >"$room/both.json" 2>"$room/both.err"
is "$?" 0 'both recordings are read'
like "$(cat "$room/both.err")" 'both ends: 1 connection matched; the clock of b is .* within' \
	'stderr says what was matched and how far the clocks can be off'
is "$(figures "$room/both.json" 'r[-1]["seen_from"]')" "['a', 'b']" 'seen_from names both ends'
diag "dropped by nft: $counts; by window: $(figures "$room/both.json" \
	'[(e["out_segs"], e["out_lost_segs"]) for w in r for e in w["ends"]]')"
# Windows of which all of the last three seconds had loss.
is "$(figures "$room/both.json" "max(abs(e['out_lost_segs'] / e['out_segs'] - ${counts}['dropped'] / ${counts}['seen'])
	for w in r if $loss_end - 4.2e9 < w['start_ns'] < $loss_end - 3.2e9 for e in w['ends']) < 0.01")" True \
	'the share of lost segments is that of the rule that drops them'
is "$(figures "$room/both.json" '[e["out_lost_segs"] for w in r for e in w["ends"]
	if e["out_lost_segs"] is not None][0]')" 0 'nothing is lost before'
is "$(figures "$room/both.json" 'r[-1]["findings"][0]["cause"], r[-1]["ends"][0]["waits_for"]')" \
	"('peer-not-reading', 'b')" 'the stopped reader of the other end is to blame'
like "$(figures "$room/both.json" '[e["rule"] for e in r[-1]["findings"][0]["for"]]')" far-reader-stopped \
	'with the other end as evidence'
is "$(figures "$room/both.json" 'r[-1]["ends"][0]["window_closed_by"]')" b 'and closed its window'

# The same from the other end: there the program is local.
"$nest" diagnose -f "$room/b.nest" -f "$room/a.nest" --json >"$room/turned.json" 2>/dev/null
is "$(figures "$room/turned.json" 'r[-1]["findings"][0]["cause"], r[-1]["seen_from"]')" \
	"('app-not-reading', ['b', 'a'])" 'the other way round: app-not-reading'

# A clock that is 100 s ahead
cp "$room/b.nest" "$room/c.nest"
sqlite3 "$room/c.nest" 'UPDATE sample SET begin_time_ns = begin_time_ns + 100000000000,
	end_time_ns = end_time_ns + 100000000000'
"$nest" diagnose -f "$room/a.nest" -f "$room/c.nest" --json >"$room/shifted.json" 2>"$room/shifted.err"
like "$(cat "$room/shifted.err")" 'the clock of c is (99\.[89][0-9]*|100) s ahead' 'a shifted clock is aligned'
is "$(figures "$room/shifted.json" 'r[-1]["findings"][0]["cause"]')" peer-not-reading 'and the verdict is the same'

# What does not fit
"$nest" diagnose -f "$room/a.nest" -f "$room/a.nest" --json >"$room/alone.json" 2>"$room/err"
is "$?" 0 'a recording that is not the other end is left out'
like "$(cat "$room/err")" 'no connection in common: diagnosed from one end' 'with a warning'
is "$(figures "$room/alone.json" 'r[-1]["seen_from"]')" None 'and no second end'
"$nest" diagnose -f "$room/a.nest" -f "$room/b.nest" -f "$room/c.nest" >/dev/null 2>"$room/err"
is "$?" 2 'three recordings are refused'
"$nest" watch -f "$room/a.nest" -f "$room/b.nest" >/dev/null 2>"$room/err"
is "$?" 2 'nest watch refuses a second one'
text=$("$nest" diagnose -f "$room/a.nest" -f "$room/b.nest" 2>/dev/null)
like "$text" 'segments? from a, [0-9.k]+ at b|waits for the program on b' 'the text shows both ends'
finish
