#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest serve from outside: every path of the API, rows beside the commands that show them, who is refused, recordings.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd curl

# serve ARGUMENT ...: starts it and waits for its line; $url without the token, $token, $nest_pid.
serve() {
	nest_bg serve "$@"
	wait_for 30 test -s "$nest_out" || { diag "$(cat "$nest_err")"; fail 'the server listens'; exit 1; }
	url=$(sed 's/#.*//' "$nest_out")
	token=$(sed -n 's/.*#token=//p' "$nest_out")
}

# get PATH [CURL-ARGUMENT ...]: the answer in $answer, its status in $status. bare PATH ...: without the token.
get() {
	bare "$@" -H "Authorization: Bearer $token"
}
bare() {
	local path=$1
	shift
	answer=$(curl -s -m 30 -w '\n%{http_code}' "$@" "${url%/}$path")
	status=${answer##*$'\n'}
	answer=${answer%$'\n'*}
}

ns_make inside
in_ns "$inside" python3 -c '
import socket, time
listeners = [socket.create_server(("127.0.0.1", 7000 + i)) for i in range(3)]
pairs = [socket.create_connection(("127.0.0.1", 7000)) for _ in range(5)]
print("ready", flush=True)
time.sleep(300)' >"$room/held" &
note_process $!
wait_for 20 grep -q ready "$room/held" || exit 1

serve -N "$inside"
like "$(cat "$nest_out")" '^http://127\.0\.0\.1:[0-9]+/#token=[0-9a-f]{32}$' 'one line says where it listens'

# --- every path ----------------------------------------------------------------------------------------------------

get /api/v1/about
is "$(from_json 'j["live"], j["recordings"]' <<<"$answer")" '(True, [])' 'about: live'
is "$(from_json 'j["netns"]' <<<"$answer")" "$inside" 'in its network namespace'
wait_for 30 sh -c "curl -sf -H 'Authorization: Bearer $token' '${url}api/v1/diagnosis' >'$room/diagnosis'"
is "$(from_json 'j["schema"], type(j["healthy"]).__name__' <"$room/diagnosis")" "('nest.diagnosis/1', 'bool')" \
	'the diagnosis'
get /api/v1/findings
is "$status" 200 'findings'
get '/api/v1/measures?names=connections,loopback'
is "$(from_json '[s["name"] for s in j["series"]], j["series"][0]["values"][-2] ' <<<"$answer")" \
	"(['connections', 'loopback'], 10)" 'measures: both ends of five connections'
get '/api/v1/measures?names=all'
is "$(from_json '{s["name"] for s in j["series"]} >= {"rx", "tx", "cpu", "drops"}' <<<"$answer")" True 'all measures'
get /api/v1/measures
is "$(from_json '{"rx", "tx", "retransmits", "drops", "rtt_p50", "rtt_p90", "rtt_p99", "connections",
	"new_connections", "cpu", "queue_bytes"} <= {m["name"] for m in j["measures"]}' <<<"$answer")" True \
	'the list of measures'
get /api/v1/explain/path-loss
is "$(from_json 'j["word"], j["kind"]' <<<"$answer")" "('path-loss', 'cause')" 'an explanation'
get /api/v1/explain/nonsense-of-a-word
is "$status" 404 'no explanation'
get /api/v1/explain/--pages=x
is "$status" 404 'an option is no word'
get /api/v1/tools
is "$(from_json '[r["summary"] for r in j["rows"] if r["tool"] == "tcplife"] != []' <<<"$answer")" True 'tools'
get /api/v1/events
is "$(from_json '"tcp.close" in [r["event"] for r in j["rows"]]' <<<"$answer")" True 'events'
get /
like "$status $answer" '^200 .*<(html|!doctype)' 'the page needs no token'

# --- tables beside the commands --------------------------------------------------------------------------------------

# Times that run and cookies of the moment differ between two samples.
stable='laddr,lport,raddr,rport,proto,state,inode,comm'
get "/api/v1/tables/sockets?show=$stable"
"$nest" sockets -N "$inside" --json --show "$stable" >"$room/sockets.json"
is "$(from_json 'sorted(map(str, j["rows"])), j["total"]' <<<"$answer")" \
	"$(figures "$room/sockets.json" 'sorted(map(str, r)), len(r)')" 'rows are those of nest sockets --json'
get /api/v1/tables/sockets
"$nest" sockets -N "$inside" --json >"$room/sockets.json"
is "$(from_json 'list(j["rows"][0])' <<<"$answer")" "$(figures "$room/sockets.json" 'list(r[0])')" \
	'with the same fields'
get "/api/v1/tables/link?show=dev,ifindex,mtu"
"$nest" tables link -N "$inside" --json --show dev,ifindex,mtu >"$room/link.json"
is "$(from_json 'j["rows"]' <<<"$answer")" "$(figures "$room/link.json" r)" 'rows of a table of the snapshot'
get '/api/v1/tables/sockets?where=state%20%3D%3D%20LISTEN&sort=-lport&show=lport&limit=2'
is "$answer" '{"rows":[{"lport":7002},{"lport":7001}],"total":3}' 'where, sort, show and limit'
get '/api/v1/tables/socket?where=state+%3D%3D+LISTEN&sort=-lport&show=lport&limit=2'
is "$answer" '{"rows":[{"lport":7002},{"lport":7001}],"total":3}' 'a table by its own name, spaces as +'
get '/api/v1/tables/%73ockets?where=&show=&sort=&limit=1'
is "$status $(from_json 'len(j["rows"]), len(j["rows"][0]) > 10' <<<"$answer")" '200 (1, True)' \
	'what is empty is not asked for'
get '/api/v1/tables/sockets?limit=0'
is "$(from_json 'j["rows"], j["total"] > 0' <<<"$answer")" '([], True)' 'no rows, only how many'
get /api/v1/tables
is "$(from_json '[t["name"] for t in j["tables"] if t["name"] in ("sockets", "links", "tcp")]' <<<"$answer")" \
	"['links', 'sockets', 'tcp']" 'the list of tables'
get '/api/v1/complete?table=sockets&text=state%20%3D%3D%20ES'
is "$(from_json '[i["text"] for i in j["items"]], j["from"], j["error"]["at"]' <<<"$answer")" \
	"(['ESTABLISHED'], 9, 9)" 'completion of a value'

# --- what is wrong ---------------------------------------------------------------------------------------------------

# refused STATUS NAME PATH [CURL-ARGUMENT ...], refused_bare: without the token.
refused() {
	refused_bare "$@" -H "Authorization: Bearer $token"
}
refused_bare() {
	local want=$1 name=$2
	shift 2
	bare "$@"
	is "$status $(from_json '"error" in j' <<<"$answer" 2>&1 | tail -1)" "$want True" "$name"
}

refused 400 'an expression that does not parse' '/api/v1/tables/sockets?where=rport%20%3D%3D'
is "$(from_json 'j["at"]' <<<"$answer")" 8 'with the place of the error'
refused 400 'a field that the table does not have' '/api/v1/tables/sockets?show=nonsense'
refused 400 'an order that it does not have' '/api/v1/tables/sockets?sort=-nonsense'
refused 400 'a limit that is no number' '/api/v1/tables/sockets?limit=many'
refused 400 'a limit that is too high' '/api/v1/tables/sockets?limit=100001'
like "$answer" 'from 0 to 100000' 'with the highest one'
refused 400 'a limit beyond any number' '/api/v1/tables/sockets?limit=99999999999999999999999'
refused 400 'an escape that is none' '/api/v1/tables/sockets?where=%zz'
refused 400 'a zero byte' '/api/v1/tables/sockets?where=%00'
refused 400 'bytes that are not UTF-8' '/api/v1/tables/sockets?where=comm==%22%ff%22'
refused 400 'a parameter twice' '/api/v1/tables/sockets?limit=1&limit=2'
refused 405 'OPTIONS' /api/v1/about -X OPTIONS
refused 404 'a path outside' /../../etc/passwd --path-as-is
refused 404 'the same with escapes' /%2e%2e%2fetc%2fpasswd
refused 431 'a header of 17 kB' /api/v1/about -H "X: $(head -c 17000 /dev/zero | tr '\0' a)"
refused 431 'a request line of 17 kB' "/api/v1/about?$(head -c 17000 /dev/zero | tr '\0' a)"
is "$(curl -s -I -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "${url}api/v1/about")" 200 'HEAD'
refused 400 'an unknown parameter' '/api/v1/tables/sockets?colour=red'
refused 404 'an unknown table' /api/v1/tables/nonsense
refused 404 'an unknown path' /api/v2/tables
refused 405 'another method' /api/v1/about -X POST
refused_bare 401 'a wrong token' /api/v1/about -H "Authorization: Bearer ${token%?}x"
refused_bare 401 'no token' /api/v1/about
refused_bare 401 'another scheme' /api/v1/about -H "Authorization: Basic $token"
refused 403 'a foreign Host' /api/v1/about -H 'Host: evil.example'
refused 403 'a foreign Origin' /api/v1/about -H 'Origin: http://evil.example'
refused 403 'a change without Origin' /api/v1/runs -d '{"what":"tcplife"}'
refused_bare 401 'a change without token' /api/v1/runs -d '{}' -H "Origin: ${url%/}"
refused 400 'a body that is no object' /api/v1/runs -d '[]' -H "Origin: ${url%/}"
refused 404 'a tool that does not exist' /api/v1/runs -d '{"what":"--help"}' -H "Origin: ${url%/}"
refused 413 'a large body' /api/v1/runs -H "Origin: ${url%/}" --data-binary @"$nest"
refused 404 'a recording that is not there' '/api/v1/findings?recording=0'
refused 400 'a tool with a filter that does not parse' '/api/v1/stream?what=tcplife&where=nonsense%20%3D%3D%201'
is "$(from_json 'j["at"]' <<<"$answer")" 0 'with the place of that error'
refused 400 'a stream of nothing' '/api/v1/stream?what=nonsense'

# --- session ---------------------------------------------------------------------------------------------------------

curl -s -i -X POST -H "Authorization: Bearer $token" "${url}api/v1/session" >"$room/session"
like "$(cat "$room/session")" '204.*SameSite=Strict.*HttpOnly' 'the token is exchanged for a cookie'
like "$(cat "$room/session")" "script-src 'self'" 'with a policy that allows no inline script'
like "$(cat "$room/session")" 'nosniff.*no-referrer' 'nosniff, no-referrer'
unlike "$(cat "$room/session")" 'Access-Control' 'no CORS'
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\).*/\1/p' "$room/session")
bare /api/v1/about -H "Cookie: $cookie"
is "$status" 200 'the cookie stands for the token'
refused_bare 401 'but not for another cookie' /api/v1/session -X POST -H "Cookie: $cookie"

# --- streams and tools -----------------------------------------------------------------------------------------------

timeout 20 curl -sN -H "Authorization: Bearer $token" "${url}api/v1/stream?what=diagnosis" >"$room/stream" &
note_process $!
wait_for 20 grep -q '^data: {"schema"' "$room/stream"
ok 'a stream of diagnoses' grep -q '^id: [0-9]' "$room/stream"
get /api/v1/runs -d '{"what":"tcplife","where":"lport == 7001 or rport == 7001"}' -H "Origin: ${url%/}"
is "$status" 201 'a tool is started'
id=$(from_json 'j["id"]' <<<"$answer")
timeout 40 curl -sN -H "Authorization: Bearer $token" "${url}api/v1/stream?what=run:$id" >"$room/run" &
note_process $!
# Until it has attached, connections are not seen: one after the other.
connect() {
	in_ns "$inside" python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7001)).close()'
	pause 0.3
	grep -q '"event":"tcp.close"' "$room/run"
}
ok 'its records arrive' wait_for 30 connect
refused 409 'it cannot be saved without --save-in' "/api/v1/runs/$id/recording" -d '{"name":"x"}' -H "Origin: ${url%/}"
refused 403 'nor without Origin' "/api/v1/runs/$id/recording" -d '{"name":"x"}'
refused_bare 401 'nor without token' "/api/v1/runs/$id/recording" -d '{"name":"x"}' -H "Origin: ${url%/}"
get "/api/v1/runs/$id" -X DELETE -H "Origin: ${url%/}"
is "$status" 204 'and it is stopped'
get /api/v1/runs
is "$answer" '{"rows":[],"total":0}' 'nothing runs'
# A tool that adds up says so every second, not at its end.
timeout 60 curl -sN -H "Authorization: Bearer $token" "${url}api/v1/stream?what=socksize" >"$room/sizes" &
note_process $!
talk() {
	in_ns "$inside" python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7001)).send(b"x")'
	grep -q '"hist"' "$room/sizes"
}
ok 'figures of a tool arrive while it runs' wait_for 40 talk
get /api/v1/tools
is "$(from_json '[r["value"] for r in j["rows"] if r["tool"] in ("socksize", "tcplife")]' <<<"$answer")" \
	"['bytes', None]" 'what a tool adds up'

end_bg "$nest_pid"
is "$end_status" 0 'Ctrl-C ends it'
like "$(tail -1 "$nest_err")" '^nest: [0-9]+ events' 'with the closing line'

# --- saving a tool as a recording ------------------------------------------------------------------------------------

mkdir "$room/saved"
: >"$room/saved/there.nest"
serve -N "$inside" --save-in "$room/saved"
get /api/v1/runs -d '{"what":"tcplife","where":"lport == 7001 or rport == 7001"}' -H "Origin: ${url%/}"
id=$(from_json 'j["id"]' <<<"$answer")
for name in '' . .. /etc/x a/b ../x -x $'a\nb' 'a b' "$(printf 'a%.0s' {1..65})"; do
	body=$(NAME=$name python3 -c 'import json, os; print(json.dumps({"name": os.environ["NAME"]}))')
	refused 400 "a name that is none: $(printf %q "${name:0:10}")" "/api/v1/runs/$id/recording" \
		-H "Origin: ${url%/}" --data-binary "$body"
done
refused 409 'a file that is there is not replaced' "/api/v1/runs/$id/recording" -d '{"name":"there"}' \
	-H "Origin: ${url%/}"
refused 404 'a run that is not there' /api/v1/runs/99/recording -d '{"name":"x"}' -H "Origin: ${url%/}"
refused 404 'what is not saved cannot be ended' "/api/v1/runs/$id/recording" -X DELETE -H "Origin: ${url%/}"
get "/api/v1/runs/$id/recording" -d '{"name":"kept"}' -H "Origin: ${url%/}"
is "$status" 201 'a running tool is saved'
refused 409 'once at a time' "/api/v1/runs/$id/recording" -d '{"name":"more"}' -H "Origin: ${url%/}"
timeout 60 curl -sN -H "Authorization: Bearer $token" "${url}api/v1/stream?what=run:$id" >"$room/run" &
note_process $!
saved_rows() {
	in_ns "$inside" python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7001)).close()'
	[ "$("$nest" sql "$room/saved/kept.nest" 'SELECT count(*) AS n FROM tcp_close' --json 2>/dev/null |
		from_json 'j["n"]' 2>/dev/null || echo 0)" -ge 3 ]
}
ok 'connections are in the file' wait_for 40 saved_rows
# The server ends: what it saves is whole.
end_bg "$nest_pid"
is "$end_status" 0 'Ctrl-C ends the server'
"$nest" sql "$room/saved/kept.nest" 'SELECT count(*) AS n FROM attached' --json >"$room/kept" 2>/dev/null
is "$(from_json 'j["n"] > 0' <"$room/kept")" True 'and the recording, which is whole'
is "$(find "$room/saved" -name '*-wal' -o -name '*-shm')" '' 'with nothing left beside it'
is "$(stat -c %s "$room/saved/there.nest")" 0 'the other file is as it was'

# --- recordings ------------------------------------------------------------------------------------------------------

gzip -dc "$root_dir/src/store/demo/lossy-path.nest.gz" >"$room/lossy.nest"
gzip -dc "$root_dir/src/store/demo/healthy.nest.gz" >"$room/healthy.nest"
serve -f "$room/lossy.nest" -f "$room/healthy.nest"
get /api/v1/about
is "$(from_json 'j["live"], [r["name"] for r in j["recordings"]]' <<<"$answer")" \
	"(False, ['lossy.nest', 'healthy.nest'])" 'two recordings'
complete() {
	get "/api/v1/findings?recording=$1"
	[ "$(from_json 'j["complete"]' <<<"$answer")" = True ]
}
ok 'the first one is read to its end' wait_for 30 complete 0
is "$(from_json '"path-loss" in [f["cause"] for f in j["rows"]]' <<<"$answer")" True 'its findings'
get /api/v1/diagnosis
"$nest" diagnose -f "$room/lossy.nest" --json >"$room/diagnose.json"
is "$(from_json 'j["findings"][0]["cause"]' <<<"$answer")" \
	"$(figures "$room/diagnose.json" 'r[-1]["findings"][0]["cause"]')" 'the diagnosis at its end'
ok 'so is the second' wait_for 30 complete 1
get '/api/v1/diagnosis?recording=1'
is "$(from_json 'j["healthy"]' <<<"$answer")" True 'which is healthy'
get '/api/v1/tables/sockets'
"$nest" sockets -f "$room/lossy.nest" --json >"$room/recorded.json"
is "$(from_json 'j["rows"]' <<<"$answer")" "$(figures "$room/recorded.json" r)" 'rows as nest sockets -f'
get '/api/v1/measures?names=rtt_p50,rx'
is "$(from_json 'len([v for v in j["series"][1]["values"] if v]) > 2' <<<"$answer")" True 'figures over time'
get '/api/v1/tables/socket?show=lport,state&limit=2&sort=lport'
"$nest" sockets -f "$room/lossy.nest" --json --show lport,state >"$room/recorded.json"
is "$(from_json 'j["rows"], j["total"]' <<<"$answer")" \
	"$(figures "$room/recorded.json" 'sorted(r, key=lambda x: x["lport"])[:2], len(r)')" \
	'the same by the name of the table'
timeout 60 curl -sN -H "Authorization: Bearer $token" "${url}api/v1/stream?what=diagnosis" >"$room/past"
sed -n 's/^data: {"schema"/{"schema"/p' "$room/past" >"$room/past.json"
is "$(figures "$room/past.json" '[(d["start_ns"], d["findings"]) for d in r]')" \
	"$(figures "$room/diagnose.json" '[(d["start_ns"], d["findings"]) for d in r]')" \
	'its diagnoses as a stream'
ok 'which ends' grep -q '^event: end' "$room/past"
refused 400 'no live measures' '/api/v1/stream?what=measures'
refused 404 'another path' /api/v1/nowhere
refused 403 'a foreign Host' /api/v1/about -H 'Host: evil.example'
refused_bare 401 'no token' /api/v1/about
refused 400 'a time that is none' '/api/v1/diagnosis?at=never'
refused 404 'a time before its beginning' '/api/v1/diagnosis?at=1000'
end_bg "$nest_pid" TERM

# --- UNIX socket -----------------------------------------------------------------------------------------------------

serve --listen "unix:$room/socket" -f "$room/healthy.nest"
is "$(cat "$nest_out")" "unix:$room/socket" 'a UNIX socket'
is "$(stat -c %a "$room/socket")" 600 'for its owner alone'
curl -s -m 10 --unix-socket "$room/socket" http://any/api/v1/about >"$room/about"
is "$(from_json 'j["live"]' <"$room/about")" False 'without a token'
over_unix() {
	curl -s -m 10 -o /dev/null -w '%{http_code}' --unix-socket "$room/socket" "$@"
}
is "$(over_unix http://any/api/v1/diagnosis)" 200 'the diagnosis'
is "$(over_unix 'http://any/api/v1/tables/sockets?limit=1')" 200 'a table'
is "$(over_unix http://any/api/v1/nowhere)" 404 'an unknown path'
is "$(over_unix 'http://any/api/v1/tables/sockets?limit=x')" 400 'a bad parameter'
is "$(over_unix http://any/api/v1/about -H 'Origin: http://evil.example')" 403 'a foreign Origin'
end_bg "$nest_pid"
ok 'it is removed at the end' test ! -e "$room/socket"

# --- what is refused at the start -----------------------------------------------------------------------------------

"$nest" serve --listen 0.0.0.0:0 2>"$room/err"
is "$?" 2 'another address without TLS is refused'
like "$(cat "$room/err")" '--tls-cert' 'with what it needs'
"$nest" serve --listen nowhere 2>/dev/null
is "$?" 2 'no address'
"$nest" serve -f /nonexistent.nest 2>/dev/null
is "$?" 5 'no recording'
"$nest" serve --token-file /etc/passwd 2>/dev/null
is "$?" 2 'a token that others can read'

if openssl req -x509 -newkey rsa:2048 -nodes -keyout "$room/key.pem" -out "$room/cert.pem" -days 1 -subj /CN=localhost \
	>/dev/null 2>&1; then
	(umask 077 && echo 0123456789abcdef0123 >"$room/token")
	serve --tls-cert "$room/cert.pem" --tls-key "$room/key.pem" --token-file "$room/token" -f "$room/healthy.nest"
	token=0123456789abcdef0123
	get /api/v1/about --cacert "$room/cert.pem" -k
	is "$status" 200 'TLS'
	end_bg "$nest_pid"
	"$nest" serve --tls-cert "$room/token" --tls-key "$room/key.pem" -d 1 2>"$room/err"
	is "$?" 3 'a certificate that is none'
else
	skip 'TLS' 'openssl cannot make a certificate'
fi
finish
