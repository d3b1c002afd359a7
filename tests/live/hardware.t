#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# nest hardware beside ethtool, lspci, /proc/interrupts and /sys, on every network card of the machine.
# vm: 40
. "$(dirname "$0")/lib.sh"

require_cmd ethtool lspci
require_root
[ -z "${NEST_VM-}" ] || modprobe -a e1000 e1000e igb virtio_net 2>/dev/null

cards=()
for path in /sys/class/net/*/device; do
	[ -e "$path" ] || continue
	path=${path%/device}
	cards+=("${path##*/}")
done
[ ${#cards[@]} -gt 0 ] || skip_all 'no network card'
"$nest" hardware --json >"$room/all" 2>"$room/err" || diag "$(cat "$room/err")"
is "$(python3 -c 'import json, sys
print(*sorted(json.loads(line)["dev"] for line in open(sys.argv[1])))' "$room/all")" \
	"$(printf '%s\n' "${cards[@]}" | sort | paste -sd ' ')" 'all cards, and nothing else'

# All values of the record of $dev in one go, as lines "name value": an emulated machine starts programs slowly.
read_values() {
	cat /proc/interrupts >"$room/before"
	"$nest" hardware -i "$dev" --json >"$room/record"
	cat /proc/interrupts >"$room/after"
	python3 -IS -c 'import json, sys
j = json.load(open(sys.argv[1]))
print("driver", j["driver"])
print("bus", j["bus"])
print("firmware", j["firmware"])
print("rings", *[j["rings"][k] for k in ("rx", "rx_max", "tx", "tx_max")] if j["rings"] else [])
print("queues", j["queues"]["rx"], j["queues"]["tx"])
print("speed", j["speed"])
print("irqs", *sorted(i["irq"] for i in j["irqs"]))
for i in j["irqs"]:
    print("count%d" % i["irq"], i["count"])
    print("cpus%d" % i["irq"], len(i["cpus"]))
pcie = j["pcie"]
print("pcie", *("%g %d" % (float(pcie["speed"].split()[0]), pcie["width"]) if pcie else "None").split())
if pcie:
    print("pcie_max", "%g %d" % (float(pcie["max_speed"].split()[0]), pcie["max_width"]))
' "$room/record" >"$room/values"
}

# of NAME
of() {
	sed -nE "s/^$1( |\$)//p" "$room/values"
}

# fired IRQ FILE: the sum of all CPUs.
fired() {
	awk -v irq="$1:" '$1 == irq { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' "$2"
}

[ -z "${NEST_VM-}" ] || for dev in "${cards[@]}"; do ip link set "$dev" up; done
for dev in "${cards[@]}"; do
	read_values
	ethtool -i "$dev" >"$room/driver"
	bus=$(sed -n 's/^bus-info: //p' "$room/driver")
	firmware=$(sed -n 's/^firmware-version: //p' "$room/driver")
	is "$(of driver)" "$(sed -n 's/^driver: //p' "$room/driver")" "$dev: driver $(of driver)"
	is "$(of bus)" "pci $bus" "$dev: bus"
	is "$(of firmware)" "${firmware:-None}" "$dev: firmware"
	rings=$(ethtool -g "$dev" 2>/dev/null | awk '/^RX:/ { rx[++n] = $2 } /^TX:/ { tx[n] = $2 }
		END { if (n == 2) print rx[2], rx[1], tx[2], tx[1] }')
	is "$(of rings)" "$rings" "$dev: rings ${rings:-unknown}"
	rx=$(find "/sys/class/net/$dev/queues/" -name 'rx-*' | wc -l)
	tx=$(find "/sys/class/net/$dev/queues/" -name 'tx-*' | wc -l)
	is "$(of queues)" "$rx $tx" "$dev: queues"

	pci=$(readlink -f "/sys/class/net/$dev/device")
	[ -e "$pci/msi_irqs" ] || [ -e "$pci/irq" ] || pci=${pci%/*}
	numbers=$({ ls "$pci/msi_irqs" 2>/dev/null || cat "$pci/irq"; } | sort -n |
		while read -r irq; do grep -q "^ *$irq:" "$room/before" && echo "$irq"; done | paste -sd ' ')
	is "$(of irqs)" "$numbers" "$dev: interrupts ${numbers:-none}"
	for irq in $numbers; do
		# Interrupts go on while they are read: the count lies between two looks.
		now=$(of "count$irq")
		ok "$dev: interrupt $irq fired $now times" \
			test "$(fired "$irq" "$room/before")" -le "$now" -a "$now" -le "$(fired "$irq" "$room/after")"
		cpus=$(cat "/proc/irq/$irq/effective_affinity_list" 2>/dev/null)
		[ -n "$cpus" ] || cpus=$(cat "/proc/irq/$irq/smp_affinity_list")
		count=$(echo "$cpus" | tr ',' '\n' | awk -F- 'NF { n += NF > 1 ? $2 - $1 + 1 : 1 } END { print n + 0 }')
		is "$(of "cpus$irq")" "$count" "$dev: interrupt $irq on CPUs $cpus"
	done

	lspci -vv -s "$bus" >"$room/lspci" 2>/dev/null
	form='Speed \([0-9.]*\)GT\/s.*Width x\([0-9]*\).*'
	link=$(sed -n "s/.*LnkSta:.*$form/\1 \2/p" "$room/lspci")
	if [ -n "$link" ] && [ "${link#* }" != 0 ] && [ -e "$pci/current_link_speed" ]; then
		is "$(of pcie)" "$link" "$dev: PCIe $link"
		most=$(sed -n "s/.*LnkCap:.*$form/\1 \2/p" "$room/lspci")
		is "$(of pcie_max)" "$most" "$dev: at most $most"
	else
		is "$(of pcie)" None "$dev: no PCIe link"
	fi
	speed=$(cat "/sys/class/net/$dev/speed" 2>/dev/null || echo -1)
	is "$(of speed)" "$([ "${speed:--1}" -gt 0 ] && echo $((speed * 1000000)) || echo None)" "$dev: speed"
	supported=$(ethtool "$dev" | grep -o '[0-9]*base' | sort -n | tail -1)
	is "$("$nest" links -e -i "$dev" --json --where 'part == link and name == "speed-supported"' 2>/dev/null |
		grep -o '"value":[0-9]*')" "${supported:+\"value\":${supported%base}000000}" \
		"$dev: supports ${supported:-no modes}"
	most=null
	[ -z "$supported" ] || most=${supported%base}000000
	is "$("$nest" links -i "$dev" --json --show speed_max 2>/dev/null)" "{\"speed_max\":$most}" \
		"$dev: the same in nest links"
	rate=null
	# shellcheck disable=SC2046
	[ "$(of pcie)" = None ] || rate=$(python3 -c 'import sys
gt, width = float(sys.argv[1]), int(sys.argv[2])
print(int(gt * 1e9 * width * (0.8 if gt < 8 else 128 / 130)))' $(of pcie))
	is "$("$nest" links -i "$dev" --json --show bus_rate 2>/dev/null)" "{\"bus_rate\":$rate}" \
		"$dev: the rate of its bus, $rate"
done
finish
