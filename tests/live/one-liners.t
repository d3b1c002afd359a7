#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every line of docs/one-liners.md works and sees the traffic that it asks about.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 nft

load=$live_dir/sock-load.py
page=$root_dir/docs/one-liners.md
ns_make host
nsenter --net="/run/netns/$host" -- python3 "$live_dir/dns-load.py" serve 127.0.0.1 >"$room/dns" &
note_process "$!"
wait_for 10 grep -q ready "$room/dns" || exit 1
# The first packet to this port is lost: something to send again.
in_ns "$host" nft -f - <<'N' || exit 1
table ip t {
	chain c {
		type filter hook input priority 0; policy accept;
		tcp dport 4716 tcp flags syn limit rate over 1/hour burst 1 packets accept
		tcp dport 4716 tcp flags syn drop
	}
}
N

# All at once: they look at the same traffic.
lines=() pids=() outs=() errs=()
while IFS= read -r line; do
	lines+=("$line")
	arguments=()
	while IFS= read -r word; do
		arguments+=("$word")
	done < <(python3 -c 'import shlex, sys; print("\n".join(shlex.split(sys.argv[1])[1:]))' "$line")
	nest_bg "${arguments[@]}" -N "$host" --json
	pids+=("$nest_pid") outs+=("$nest_out") errs+=("$nest_err")
done < <(sed -n 's/^|.*| `\(nest trace .*\)` |$/\1/p' "$page")
compare "${#lines[@]}" -ge 20 'the page has its lines'
for i in "${!lines[@]}"; do
	nest_pid=${pids[$i]}
	wait_ready "${errs[$i]}" 60 || fail "${lines[$i]}"
done

for step in connect life 'slow 20' 'flood 40 997'; do
	# shellcheck disable=SC2086 # a word and its arguments
	in_ns "$host" python3 "$load" $step >/dev/null
done
in_ns "$host" python3 "$live_dir/dns-load.py" ask >/dev/null
in_ns "$host" timeout 5 bash -c ': </dev/tcp/127.0.0.1/4716' 2>/dev/null

kill -INT "${pids[@]}"
for i in "${!lines[@]}"; do
	end_bg "${pids[$i]}"
	is "$end_status $(python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(bool(rows) and all(row["count"] > 0 for row in rows))' "${outs[$i]}")" '0 True' "${lines[$i]}" ||
	diag "$(cat "${errs[$i]}")"
done

finish
