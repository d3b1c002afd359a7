#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tools that not every kernel supports: funccount and ieee80211scan. Unsupported, they must name what they need; in the
# virtual machine (scripts/vm) they must work.
# vm: 13
. "$(dirname "$0")/lib.sh"
require_root
require_cmd python3

# reported COMMAND ...: exit status and output.
reported() {
	"$nest" "$@" -d 1 >"$room/reported" 2>&1
	echo "$? $(grep -v '^FUNC\|^TIME' "$room/reported" | head -1)"
}

# --- funccount -------------------------------------------------------------------------------------------------------

without=$(reported funccount udp_lib_get_port)
if [ "${without%% *}" = 0 ]; then
	# No other process has a socket of this kind.
	nest_bg funccount 'udplite_*,udp_lib_get_port' --json
	wait_ready "$nest_err" 60
	python3 -c 'import socket
for _ in range(37):
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)
	s.sendto(b"x" * 79, ("127.0.0.1", 4711))'
	end_bg "$nest_pid"
	is "$(grep -o '"function":"udplite_sk_init","count":[0-9]*' "$nest_out")" \
		'"function":"udplite_sk_init","count":37' \
		'funccount: as many calls as sockets were made' || diag "$(cat "$nest_out" "$nest_err")"
	like "$(reported funccount 'nosuchfunction_*')" '^3 .*no traceable function matches nosuchfunction_' \
		'a function that is not there'
else
	like "$without" '^3 nest: funccount: .*(CONFIG_|refuse|not permitted)' \
		'funccount: says what it needs, and ends with 3' || diag "$(cat "$room/reported")"
fi
like "$(reported funccount)" '^2 ' 'without a pattern there is nothing to count'
like "$(reported funccount 'tcp_*' -p 1)" "^2 .*-p does not apply: func.call has no pid" 'a function has no owner'

# --- ieee80211scan ---------------------------------------------------------------------------------------------------

if [ -n "${NEST_VM-}" ] && command -v iw >/dev/null && modprobe mac80211_hwsim radios=1 2>/dev/null; then
	wait_for 20 test -e /sys/class/net/wlan0
	ip link set wlan0 up
	nest_bg ieee80211scan -i wlan0 --json
	wait_ready "$nest_err" 60
	ok 'a radio searches' iw dev wlan0 scan freq 2412 2437
	end_bg "$nest_pid"
	is "$(grep -c '"comm":"iw".*"dev":"wlan0","channels":2,.*"error":null' "$nest_out")" 1 \
		'ieee80211scan: who asked, for how many channels' || diag "$(cat "$nest_out" "$nest_err")"
elif [ ! -e /sys/class/ieee80211 ]; then
	like "$(reported ieee80211scan)" '^3 nest: ieee80211scan: .*this kernel has no Wi-Fi' \
		'ieee80211scan: says that there is no wireless network here, and ends with 3'
fi

finish
