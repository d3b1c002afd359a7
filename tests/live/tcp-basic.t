#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tcp.t with the BPF programs for kernels without atomics (src/event/bpf/basic.bpf.h).
# vm: 80
export NEST_BPF=basic
exec "$(dirname "$0")/tcp.t" "$@"
