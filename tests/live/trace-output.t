#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What tools write, and in which order: without privilege, without events, and as people know it.
# vm: 8
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3 setpriv

# The tree may lie where others may not look.
cp "$nest" "$room/nest" && chmod 755 "$room" "$room/nest" || exit 1
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
for format in --format=table --csv --json; do
	"${nobody[@]}" "$room/nest" socketio "$format" -d 1 >"$room/out" 2>"$room/err"
	is "$?" 3 "without privilege nothing can be observed ($format)"
	is "$(wc -c <"$room/out")" 0 "and nothing is shown ($format)"
done

ns_make host
"$nest" trace sock.send -N "$host" --count --by comm -d 0.1 >"$room/both" 2>&1
is "$(sed -n '$p' "$room/both")" 'nest: 0 events, 0 lost' 'the closing line comes last where nothing happened'
like "$(cat "$room/both")" 'COMM +COUNT' 'and the heading says what would have been shown'

nest_bg tcptracer -N "$host"
wait_ready "$nest_err" 60 || exit 1
in_ns "$host" python3 - <<-'END'
	import socket
	listener = socket.create_server(("127.0.0.1", 0))
	client = socket.create_connection(listener.getsockname())
	listener.accept()[0].close()
	client.close()
END
both_closed() {
	[ "$(grep -c '^X' "$nest_out")" -eq 2 ]
}
ok 'both ends of a connection are told' wait_for 10 both_closed
end_bg "$nest_pid"
is "$(awk 'NR > 1 { print $1 }' "$nest_out" | sort | tr -d '\n')" ACXX 'tcptracer has the letters that people know'

finish
