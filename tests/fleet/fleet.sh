# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A ClickHouse and collectors, in a private directory, ended with the shell that sourced this.
fleet_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${NEST_BUILD:=$fleet_dir/../../build}"
nest=$NEST_BUILD/nest
# shellcheck disable=SC2034 # for who sources this
agents=$NEST_BUILD/tests/fleet/agents
unset http_proxy https_proxy all_proxy
work=$(mktemp -d)
declare -A pids=()

# Ends what was started, by its id.
fleet_end() {
	local name
	for name in "${!pids[@]}"; do
		kill -KILL "${pids[$name]}" 2>/dev/null
		wait "${pids[$name]}" 2>/dev/null
	done
	rm -rf "$work"
}
# In a test, what the test library undoes follows.
if declare -F at_exit >/dev/null; then
	trap 'fleet_end; at_exit' EXIT
else
	trap fleet_end EXIT
fi

# free_port: a port that nobody uses now; the next one is free as well. Below those that the kernel gives to clients:
# one of them could have it while a server is away.
free_port() {
	python3 -c '
import random, socket
while True:
    a, b = socket.socket(), socket.socket()
    port = random.randrange(12000, 30000)
    try:
        a.bind(("127.0.0.1", port))
        b.bind(("127.0.0.1", port + 1))
    except (OSError, OverflowError):
        continue
    print(port)
    break'
}

# await SECONDS COMMAND ...
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

server_port=$(free_port)
server=http://nest:secret-of-nest@127.0.0.1:$server_port/nest
head -c 32 /dev/urandom | sha256sum | cut -c1-40 >"$work/token"
chmod 600 "$work/token"

start_server() {
	"$fleet_dir/clickhouse" "$work/clickhouse" "$server_port" >>"$work/clickhouse.log" 2>&1 &
	pids[server]=$!
	await 60 curl -sf "http://127.0.0.1:$server_port/"
}

# start_collector NAME PORT [OPTION ...]
start_collector() {
	local name=$1 port=$2
	shift 2
	"$nest" collect --listen "127.0.0.1:$port" --ship "$server" --spool "$work/spool-$name" \
		--token-file "$work/token" --agent-rate 0 "$@" >"$work/collect-$name.out" 2>>"$work/collect-$name.err" &
	pids[collector-$name]=$!
	await 30 test -s "$work/collect-$name.out"
}

# stop NAME SIGNAL
stop() {
	kill "-$2" "${pids[$1]}"
	wait "${pids[$1]}" 2>/dev/null
	unset "pids[$1]"
}

# ask SQL: the first cell of the answer.
ask() {
	"$nest" sql --fleet "$server" "$1" --csv 2>/dev/null | tr -d '\r' | sed -n 2p
}

# figure NAME: of what the agents printed.
figure() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/agents.json" "$1"
}

# empty NAME: nothing waits in its spool.
empty() {
	[ "$(find "$work/spool-$1" -name '*.batches' 2>/dev/null | wc -l)" = 0 ]
}
