#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rows over TLS: a recording to a collector, the collector to a ClickHouse, each with a certificate that the other side
# checks; a server that cannot prove who it is gets no rows and no token.
. "$(dirname "$0")/lib.sh"
require_cmd python3 curl openssl sqlite3
unset http_proxy https_proxy all_proxy

# certificate NAME SUBJECT-ALTERNATIVE-NAME
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$room/$1.key" -out "$room/$1.pem" -days 1 -subj "/CN=$1" \
		-addext "subjectAltName=$2" >/dev/null 2>&1
}
certificate database IP:127.0.0.1
certificate collector IP:127.0.0.1
certificate stranger DNS:localhost,IP:127.0.0.1
bg python3 "$live_dir/fake-clickhouse.py" "$room/port" "$room/database.pem" "$room/database.key"
wait_for 30 test -s "$room/port"
server=https://127.0.0.1:$(cat "$room/port")
(umask 077 && echo 0123456789abcdef0123456789abcdef >"$room/token")

# seen EXPRESSION: of what the server has, as j.
seen() {
	curl -s --cacert "$room/database.pem" "$server/rows" | from_json "$1"
}
# collect CERTIFICATE URL: a collector that trusts it as the database's.
collect() {
	: >"$room/url"
	bg "$nest" collect --listen 127.0.0.1:0 --tls-cert "$room/collector.pem" \
		--tls-key "$room/collector.key" --ship "$2" --ship-ca "$room/$1.pem" --spool "$room/spool" \
		--token-file "$room/token" >"$room/url" 2>>"$room/collect.err"
	collect_pid=$bg_pid
	wait_for 20 test -s "$room/url"
	collector=$(sed 's|/$||' "$room/url")
}
# ship TRUSTED URL [OPTION ...]
ship() {
	local trusted=$1 url=$2
	shift 2
	"$nest" ship demo:lossy-path --ship "$url" --token-file "$room/token" \
		${trusted:+--ship-ca "$room/$trusted.pem"} --timeout "${TIMEOUT:-2}" "$@" 2>"$room/err"
}
findings=$("$nest" export demo:lossy-path --format jsonl --table finding 2>/dev/null | wc -l)

# A database that the collector cannot check: rows wait.
collect stranger "${server/127/nest:hush-hush@127}/fleet"
like "$collector" '^https://127' 'the collector listens with TLS'
TIMEOUT=20 ship collector "$collector"
is "$?" 0 'rows to a collector whose certificate is trusted'
wait_for 20 has_line "$room/collect.err" 'rows wait in the spool'
like "$(grep 'rows wait' "$room/collect.err")" '[Cc]ertificate' 'a database with another certificate gets none'
is "$(seen '(j["auth"], j["statements"], list(j["tables"]))')" "([''], [], [])" 'not even the password'
kill -TERM "$collect_pid"
wait "$collect_pid" 2>/dev/null
collect database "${server/127/nest:hush-hush@127}/fleet"
arrived() {
	[ "$(seen 'len(j["tables"].get("finding", {"rows": []})["rows"])')" = "$findings" ]
}
ok 'one with the right certificate gets them all' wait_for 30 arrived
is "$(seen '"Basic bmVzdDpodXNoLWh1c2g=" in j["auth"]')" True 'with the password'

# A collector that the agent cannot check
ship stranger "$collector"
is "$?" 5 'a collector with another certificate gets no rows'
like "$(cat "$room/err")" '[Cc]ertificate' 'for that reason'
ship '' "$collector"
is "$?" 5 'nor does one that no authority of the system knows'
ship collector "${collector/127.0.0.1/localhost}"
is "$?" 5 'nor one by a name that is not in its certificate'
like "$(cat "$room/err")" 'certificate subject name' 'for that reason'
ship collector "${collector/https/http}"
is "$?" 5 'nor one that is asked without TLS'
kill -TERM "$collect_pid"
wait "$collect_pid" 2>/dev/null
like "$(tail -n 1 "$room/collect.err")" '0 wait in the spool' 'the collector had no other rows'
finish
