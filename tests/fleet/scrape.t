#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 180
# Prometheus and VictoriaMetrics scrape nest agent, with its token, in a namespace of their own.
. "$(dirname "$0")/../live/lib.sh"
require_root
require_cmd prometheus
require_cmd victoria-metrics
require_cmd curl
require_cmd python3

ns_make host
echo 0123456789abcdef0123456789 >"$room/token"
chmod 600 "$room/token"
bg in_ns "$host" "$nest" agent --store "$room/agent.nest" -N "$host" --listen 127.0.0.1:9475 \
	--token-file "$room/token" >"$room/out" 2>"$room/err"
wait_ready "$room/err"
for name in prometheus victoria; do
	cat >"$room/$name.yml" <<-END
		global: {scrape_interval: 1s}
		scrape_configs:
		  - job_name: nest
		    authorization: {credentials_file: $room/token}
		    static_configs: [{targets: ["127.0.0.1:9475"]}]
	END
done
mkdir "$room/p" "$room/v"
# shellcheck disable=SC2024 # runs as root
bg in_ns "$host" prometheus --config.file="$room/prometheus.yml" --storage.tsdb.path="$room/p" \
	--web.listen-address=127.0.0.1:9090 >"$room/prometheus.log" 2>&1
bg in_ns "$host" victoria-metrics -storageDataPath="$room/v" -httpListenAddr=127.0.0.1:8428 \
	-promscrape.config="$room/victoria.yml" -search.latencyOffset=0s >"$room/victoria.log" 2>&1

# ask PORT EXPRESSION: the value of the first series of the answer
ask() {
	in_ns "$host" curl -sG --max-time 10 "http://127.0.0.1:$1/api/v1/query" --data-urlencode "query=$2" |
		from_json 'j["data"]["result"][0]["value"][1]' 2>/dev/null
}
has_answer() {
	[ -n "$(ask "$@")" ]
}
for port in 9090 8428; do
	wait_for 60 has_answer "$port" 'nest_tcp_segments_sent_total'
	is "$(ask "$port" 'up{job="nest"}')" 1 "port $port: the scrape succeeds"
	is "$(ask "$port" 'count({__name__=~"nest_.*"}) <= bool 500')" 1 "port $port: at most 500 series"
	is "$(ask "$port" 'nest_build')" 1 "port $port: nest_build is there"
	is "$(ask "$port" 'sum(nest_tcp_sockets) >= bool 1')" 1 "port $port: all TCP sockets are counted"
done
in_ns "$host" curl -s "http://127.0.0.1:9090/api/v1/targets" >"$room/targets"
is "$(from_json 'j["data"]["activeTargets"][0]["lastError"]' <"$room/targets")" '' 'no error of the target'
in_ns "$host" curl -s "http://127.0.0.1:9090/api/v1/metadata?metric=nest_rtt_seconds" >"$room/metadata"
is "$(from_json 'j["data"]["nest_rtt_seconds"][0]["type"], j["data"]["nest_rtt_seconds"][0]["unit"]' \
	<"$room/metadata")" "('histogram', 'seconds')" 'Prometheus read it as OpenMetrics: type and unit'
finish
