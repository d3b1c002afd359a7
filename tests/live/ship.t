#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# runs beside others
# Rows to a ClickHouse that misbehaves: every row arrives once, or is counted. The server is a stand-in in Python; the
# real one is in tests/fleet.
. "$(dirname "$0")/lib.sh"
require_cmd python3 sqlite3
unset http_proxy https_proxy all_proxy

bg python3 "$live_dir/fake-clickhouse.py" "$room/port"
wait_for 10 test -s "$room/port"
server=http://127.0.0.1:$(cat "$room/port")
url=${server/127/nest:hush-hush@127}/fleet

# rows TABLE: how many rows the server has, and how many different ones.
rows() {
	curl -s "$server/rows" | python3 -c '
import json, sys
rows = json.load(sys.stdin)["tables"].get(sys.argv[1], {"rows": []})["rows"]
print(len(rows), len({(r["host"], r["boot"], r["stream"], r["row"]) for r in rows}))' "$1"
}

mode() {
	curl -s "$server/mode/$1/$2"
}

# copy NAME ROWS: a recording with that many marks, of a stream of its own.
copy() {
	gunzip -c "$root_dir/src/store/demo/lossy-path.nest.gz" >"$room/$1.nest"
	sqlite3 "$room/$1.nest" "UPDATE recording SET time_ns = time_ns + $(cksum <<<"$1" | cut -d' ' -f1);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
		INSERT INTO mark (time_ns, label)
			SELECT 1794736360000000000 + i * 1000, 'mark ' || i || hex(randomblob(6)) FROM n"
}

# ship FILE [OPTION ...]
ship() {
	local file=$1
	shift
	"$nest" ship "$room/$file.nest" --ship "$url" --timeout 20 "$@" >"$room/out" 2>"$room/err"
}

copy plain 25000
ship plain
is "$?" 0 'a recording is shipped'
findings=$(sqlite3 "$room/plain.nest" 'SELECT count(*) FROM finding')
is "$(rows mark)" '25000 25000' 'every mark arrives once'
is "$(rows finding)" "$findings $findings" 'and so does every finding'
like "$(cat "$room/err")" ' 0 were there, 0 lost' 'the closing line counts'
curl -s "$server/rows" | python3 -c '
import json, sys
for r in sorted(json.load(sys.stdin)["tables"]["finding"]["rows"], key=lambda r: r["row"]):
    print(r["time_ns"], r["cause"], r["module"], "%.4f" % r["certainty"], r["because"], r["for"], sep="|")' >"$room/got"
sqlite3 "$room/plain.nest" 'SELECT time_ns, cause, module, printf('\''%.4f'\'', certainty), because, "for" FROM finding
	ORDER BY rowid' >"$room/want"
ok 'with the values of the recording' cmp "$room/got" "$room/want"
ship plain
like "$(cat "$room/err")" '^nest: 0 rows shipped in 0 bytes, [0-9]+ were there' 'a second time changes nothing'
is "$(rows mark)" '25000 25000' 'and doubles nothing'
like "$(curl -s "$server/rows")" 'Basic bmVzdDpodXNoLWh1c2g=' 'user and password are sent'
unlike "$(cat "$room/err")" 'hush' 'and not shown'

# What goes wrong on the way.
before=25000
for how in cut lost 500 garbage redirect; do
	copy "$how" 12000
	mode "$how" 2
	ship "$how"
	is "$?" 0 "$how: shipped in the end"
	before=$((before + 12000))
	is "$(rows mark)" "$before $before" "$how: every row once"
	like "$(cat "$room/err")" 'rows wait in the spool' "$how: the outage is reported"
done
is "$(curl -s "$server/rows" | from_json 'j["stolen"]')" 0 'rows and password do not follow a redirect'
copy refuse 30
mode refuse 1
ship refuse
is "$?" 5 'rows that the server cannot read are a loss'
like "$(cat "$room/err")" ', [1-9][0-9]* lost' 'that is counted'
mode huge 1
ship refuse --timeout 2
is "$?" 5 'an endless answer ends'
like "$(cat "$room/err")" 'longer than' 'for that reason'
mode ok 0

# Nobody there: rows wait in the spool for the next process, whatever it ships.
copy waits 25000
"$nest" ship "$room/waits.nest" --ship http://127.0.0.1:9/fleet --spool "$room/spool" --timeout 1 2>"$room/err"
is "$?" 5 'a server that is away'
like "$(cat "$room/err")" "wait in $room/spool" 'the spool keeps the rows'
is "$(stat -c %a "$room/spool")" 700 'for the owner only'
copy other 10
before=$(rows mark | cut -d' ' -f1)
ship other --spool "$room/spool"
is "$(rows mark)" "$((before + 25010)) $((before + 25010))" 'the next process sends them'
is "$(find "$room/spool" -name '*.batches' | wc -l)" 0 'and empties the spool'

# A spool that is too small: what arrives and what is lost is everything.
copy small 120000
"$nest" ship "$room/small.nest" --ship http://127.0.0.1:9/fleet --spool "$room/tiny" --spool-size 1MiB --timeout 1 \
	2>"$room/err"
lost=$(sed -n 's/.*were there, \([0-9]*\) lost.*/\1/p' "$room/err")
waits=$(sed -n 's/.* \([0-9]*\) rows* waits* in .*tiny$/\1/p' "$room/err")
total=$(sqlite3 "$room/small.nest" \
	'SELECT (SELECT count(*) FROM mark) + (SELECT count(*) FROM finding) + (SELECT count(*) FROM verdict) +
	(SELECT count(*) FROM loss)')
is "$((lost + waits))" "$total" 'dropped and waiting rows are all rows'
ok 'some were dropped' test "$lost" -gt 0

"$nest" ship "$room/plain.nest" --ship ftp://x/y 2>"$room/err"
is "$?" 2 'a URL that is none'
"$nest" ship "$room/plain.nest" --ship http://127.0.0.1:9 2>"$room/err"
is "$?" 2 'a collector without a token'
like "$(cat "$room/err")" 'token-file' 'is told so'

# Questions: the server is not trusted.
"$nest" sql --fleet "$url" 'SELECT hostile' --json >"$room/out" 2>"$room/err"
is "$?" 0 'nest sql --fleet'
is "$(cat "$room/out")" '{"a":"\u001b[31m=1+1\n","b":18446744073709551614}
{"a":null,"b":7}' 'values are escaped as everywhere'
"$nest" sql --fleet "$url" 'SELECT nothing' >"$room/out" 2>"$room/err"
is "$?" 2 'a question that the server refuses'
like "$(cat "$room/err")" 'Unknown identifier: .x1b' 'with its words, escaped'
"$nest" sql --fleet "$url" 'SELECT columns' >"$room/out" 2>"$room/err"
is "$?" 5 'a row with other columns'
"$nest" sql --fleet "$url" 'SELECT line' >"$room/out" 2>"$room/err"
is "$?" 5 'a line without an end'
"$nest" sql --fleet "$url" --timeout 1 'SELECT slow' >"$room/out" 2>"$room/err"
is "$?" 5 'an answer that does not end'
"$nest" sql --fleet http://127.0.0.1:9/fleet 'SELECT 1' >"$room/out" 2>"$room/err"
is "$?" 5 'no server'
"$nest" report --fleet http://127.0.0.1:9/fleet >"$room/out" 2>"$room/err"
is "$?" 5 'no server for a report'
finish
