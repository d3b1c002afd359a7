# SPDX-License-Identifier: GPL-2.0-or-later
"""The address filter of a service unit: a BPF program of its cgroup."""

import ctypes
import os
import struct

from faults import fault

SYS_BPF = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, PROG_ATTACH = 5, 8
TYPE_CGROUP_SKB, INET_EGRESS = 8, 1
# r0 = 0; exit: no packet leaves.
DENY = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(SYS_BPF[os.uname().machine], command, text, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


@fault
def deny_addresses(lab, *, app):
    """Drop what new sockets of the program send, as IPAddressDeny=any does."""
    path = lab.network.cgroup("unified", "unit")
    code, license_ = ctypes.create_string_buffer(DENY), \
        ctypes.create_string_buffer(b"GPL")
    program = bpf(PROG_LOAD, struct.pack(
        "<IIQQ", TYPE_CGROUP_SKB, len(DENY) // 8, ctypes.addressof(code),
        ctypes.addressof(license_)))
    group = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    bpf(PROG_ATTACH, struct.pack("<IIII", group, program, INET_EGRESS, 0))
    os.close(group)
    os.close(program)
    with open(os.path.join(path, "cgroup.procs"), "w") as file:
        file.write(str(lab.process(app).pid))
