#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 120
# nest-agent.service without systemd: what systemd-analyze says of the unit, and its command as another user with the
# capabilities of the unit.
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3
require_cmd setpriv
require_cmd systemd-analyze

unit=$root_dir/debian/nest.nest-agent.service
cp "$unit" "$room/nest-agent.service"
sed -i "s#/usr/bin/nest#$(realpath "$nest")#" "$room/nest-agent.service"
ok 'exposure of the unit is 2.5 at most' \
	systemd-analyze security --offline=true --no-pager --threshold=25 "$room/nest-agent.service"
systemd-analyze verify --man=no "$room/nest-agent.service" 2>"$room/verify"
unlike "$(cat "$room/verify")" 'nest-agent.service:.*(Unknown|Failed|Invalid|ignoring)' 'systemd knows every line of it'
setting() {
	sed -n "s/^$1=//p" "$unit"
}
is "$(setting AmbientCapabilities)" "$(setting CapabilityBoundingSet)" 'it gets the capabilities it may have'
caps=$(setting AmbientCapabilities | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
read -r -a command <<<"$(setting ExecStart)"
is "${command[0]} ${command[1]}" '/usr/bin/nest agent' 'its command is nest agent'

# A directory that this user may enter, with the program and the options of the package.
place=$(mktemp -d)
at_end() {
	rm -rf "$place"
}
trap 'at_end; at_exit' EXIT
chown 65534:65534 "$place"
chmod 755 "$place"
cp "$nest" "$place/nest"
cp "$root_dir/contrib/systemd/agent.conf" "$place/agent.conf"
cat >"$room/manager.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
import os; os.chmod(sys.argv[1], 0o666)
print("listens", flush=True)
while True:
    print(s.recv(4096).decode(), flush=True)
END
bg python3 "$room/manager.py" "$place/notify.sock" >"$room/messages"
wait_for 20 grep -q listens "$room/messages" || exit 1
: >"$room/err"
NOTIFY_SOCKET=$place/notify.sock setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
	--inh-caps=-all,"$caps" --ambient-caps=-all,"$caps" --bounding-set=-all,"$caps" \
	"$place/nest" agent --config "$place/agent.conf" --socket "$place/agent.sock" --store "$place/agent.nest" \
	2>"$room/err" &
agent=$!
note_process "$agent"
wait_for 60 grep -q READY=1 "$room/messages"
ok 'the agent is ready as another user with these capabilities' grep -q READY=1 "$room/messages"
is "$(stat -c %u "$place/agent.nest")" 65534 'the recording is of that user'
# Root does not trust that user, who may be anybody; the user itself does.
compare "$(NEST_AGENT=$place/agent.sock "$nest" diagnose -d 1 --json 2>/dev/null | tail -n 1 |
	from_json 'j["baseline_s"]')" -eq 0 'an agent of just any user is not believed'
as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups env NEST_AGENT="$place/agent.sock" "$place/nest" "$@"
}
like "$(as_user report --last 30s 2>&1)" "^$place/agent.nest of " 'nest report of that user finds it'
kill "$agent"
wait "$agent"
is "$?" 0 'SIGTERM ends it'
finish
