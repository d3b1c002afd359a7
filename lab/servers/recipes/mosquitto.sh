# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Mosquitto, a broker of messages (MQTT) with one event loop: mosquitto-hooks/mosquitto.
build_mosquitto() {
	local flavour=$1
	[ "$flavour" = hooks ] || return 0
	[ -x "$top/mosquitto-hooks/mosquitto" ] && return
	echo "servers: mosquitto ($flavour)"
	fetch mosquitto
	build_copy mosquitto "$flavour"
	make -j2 -C src mosquitto WITH_SYSTEMD=no WITH_CJSON=no WITH_WEBSOCKETS=no WITH_SRV=no WITH_WRAP=no \
		WITH_STRIP=no CFLAGS="-O1 -g -w $(flags_of "$flavour")" >>"$log" 2>&1 ||
		die "cannot build mosquitto; see $log"
	mkdir -p "$top/mosquitto-hooks"
	cp src/mosquitto "$top/mosquitto-hooks/mosquitto"
	rm -rf "$top/work-mosquitto-$flavour"
}
