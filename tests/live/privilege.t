#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# The way without root that SECURITY.md recommends: capabilities on the program, run by an ordinary user.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd setcap setpriv python3

wanted=$(sed -n 's/^    setcap \(cap_[a-z_,]*+ep\) .*/\1/p' "$live_dir/../../SECURITY.md")
like "$wanted" 'cap_bpf' 'SECURITY.md names the capabilities'
cp "$nest" "$room/nest"
ok 'they can be set' setcap "$wanted" "$room/nest"
chmod 711 "$room"
mkdir -m 777 "$room/open"
user() {
	(cd "$room/open" && setpriv --reuid 65534 --regid 65534 --clear-groups "$room/nest" "$@")
}

# Owners of root's sockets, against what root sees.
bg python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(60)' >"$room/port"
server=$bg_pid
wait_for 20 test -s "$room/port"
port=$(cat "$room/port")
is "$(user sockets --json --where "lport == $port" 2>/dev/null | from_json "j['pid']")" "$server" \
	"owners of other users' sockets are known"

# Events, stacks, a recording, output files.
user trace tcp.state --stack --json -d 3 >"$room/events" 2>"$room/err" &
events=$!
# shellcheck disable=SC2034 # for wait_ready
nest_pid=$events
wait_ready "$room/err"
for _ in 1 2 3; do
	python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "$port"
done
wait "$events"
is "$?" 0 'events are observed'
like "$(cat "$room/events")" "\"rport\":$port,.*\"kstack\":\\[\"[a-z_]" 'with names of kernel functions'
user record -o r.nest -d 2 2>"$room/err"
is "$?" 0 'a recording is made'
is "$(stat -c '%U %a' "$room/open/r.nest")" 'nobody 600' 'that only that user can read'
user sockets --csv -o s.csv 2>/dev/null
is "$?" 0 'files are written'
is "$(stat -c '%U %a' "$room/open/s.csv")" 'nobody 600' 'for that user alone'
user flow record -p "$server" --func '*' -d 1 -o f.trace 2>"$room/err"
is "$?" 3 'functions of a process of another user are not recorded'
like "$(cat "$room/err")" "process $server belongs to another user: only root" 'with the reason'

finish
