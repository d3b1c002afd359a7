#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hardware.t on cards that qemu has: e1000e and, from qemu 8.0 on, igb behind PCIe root ports, virtio with two queues.
. "$(dirname "$0")/../live/lib.sh"

[ -z "${NEST_VM-}" ] || skip_all 'starts a machine of its own: run it on the host'
"$root_dir/scripts/setup" --check vm 2>/dev/null || skip_all 'packages of scripts/vm are missing'
require_cmd ethtool lspci
export NEST_VM_DEVICES='-machine q35 -device pcie-root-port,id=port1,chassis=1 -device e1000e,bus=port1,romfile='
NEST_VM_DEVICES+=' -device virtio-net-pci,romfile=,mq=on,vectors=6'
has_igb() {
	qemu-system-x86_64 -device help 2>/dev/null | grep -q '^name "igb"'
}
if has_igb; then
	NEST_VM_DEVICES+=' -device pcie-root-port,id=port2,chassis=2 -device igb,bus=port2,romfile='
fi
(cd "$root_dir" && NEST_BUILD=$NEST_BUILD scripts/vm -t 400 env NEST_BUILD="$(cd "$NEST_BUILD" && pwd)" \
	"$live_dir/hardware.t") >"$room/out" 2>"$room/err"
status=$?
grep -v '^1\.\.' "$room/out" | sed 's/^/# /'
is "$status" 0 'hardware.t in the machine' || diag "$(tail -5 "$room/err")"
ok 'with a PCIe link' grep -q 'PCIe 2.5 1' "$room/out"
ok 'with e1000e' grep -q 'driver e1000e' "$room/out"
if has_igb; then
	ok 'with igb' grep -q 'driver igb' "$room/out"
else
	skip 'with igb' "this qemu has no igb: $(qemu-system-x86_64 --version 2>/dev/null | head -1)"
fi
ok 'with virtio' grep -q 'driver virtio_net' "$room/out"
finish
