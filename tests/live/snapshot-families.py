#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets beside TCP and UDP.

snapshot-families.py hold DIRECTORY: holds some of every family, prints "ready PID ..", ends with its input.
snapshot-families.py check KIND NEST OTHER: compares nest's JSON lines with ss (or /proc/net/netlink); exit status 1
when there is any difference or nothing was compared.
"""
import json
import os
import re
import socket
import sys

IPPROTO_MPTCP = 262
kept = []


def keep(s):
    kept.append(s)
    return s


def hold_unix(directory):
    listener = keep(socket.socket(socket.AF_UNIX))
    listener.bind(directory + "/a stream")
    listener.listen(7)
    client = keep(socket.socket(socket.AF_UNIX))
    client.connect(directory + "/a stream")
    keep(listener.accept()[0])
    client.send(b"hello")
    keep(socket.socket(socket.AF_UNIX)).connect(directory + "/a stream")
    keep(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).bind("\0abstract\0\x1b[31mname")
    for s in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET):
        keep(s)


def hold_mptcp():
    try:
        listener = keep(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP))
    except OSError:
        return "no-mptcp"
    listener.bind(("127.0.0.1", 0))
    listener.listen(5)
    client = keep(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP))
    client.connect(listener.getsockname())
    keep(listener.accept()[0])
    client.send(b"123")
    return "mptcp"


def hold(directory):
    hold_unix(directory)
    keep(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    keep(socket.socket(socket.AF_INET, socket.SOCK_RAW, 89)).bind(("127.0.0.1", 0))
    keep(socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
    keep(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)).bind(("lo", 0x88CC))
    keep(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    keep(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)).bind((0, 0x11))
    print("ready", os.getpid(), hold_mptcp(), flush=True)
    sys.stdin.read()


differences = []
compared = 0


def same(where, name, ours, theirs):
    global compared
    compared += 1
    if ours != theirs:
        differences.append(f"{where}: {name}: nest {ours!r}, other {theirs!r}")


STATES = {"ESTAB": "ESTABLISHED", "UNCONN": "CLOSE", "LISTEN": "LISTEN"}
TYPES = {"u_str": "stream", "u_dgr": "dgram", "u_seq": "seqpacket", "p_dgr": "dgram", "p_raw": "raw"}


def check_common(where, record, words, line):
    listen = words[0] == "LISTEN"
    same(where, "state", record["state"], STATES[words[0]])
    same(where, "recvq", record["backlog" if listen else "recvq_bytes"], int(words[1]))
    same(where, "sendq", record["backlog_max" if listen else "sendq_bytes"], int(words[2]))
    memory = re.search(r"skmem:\(r(\d+),rb(\d+),t(\d+),tb(\d+),.*,d(\d+)\)", line)
    if memory:
        fields = ("rmem_bytes", "rcvbuf", "wmem_bytes", "sndbuf", "drops")
        same(where, "memory", [record[f] for f in fields], [int(v) for v in memory.groups()])
    users = re.findall(r"pid=(\d+),fd=(\d+)", line)
    if users:
        same(where, "owner", (record["pid"], record["fd"]), min((int(p), int(f)) for p, f in users))
        same(where, "owners", record["owners"], len(users))


def check_unix(nest, lines):
    ours = {r["inode"]: r for r in nest if r["inode"]}
    for line in lines:
        # TYPE STATE RECVQ SENDQ NAME INODE * PEER; the name may have blanks.
        match = re.match(r"(u_\w+) +(\w+) +(\d+) +(\d+) +(.*?) +(\d+) +\* +(\d+) ", line)
        inode, peer, name = int(match[6]), int(match[7]), match[5]
        if not inode:
            continue
        record = ours.pop(inode)
        same(inode, "type", record["type"], TYPES[match[1]])
        check_common(inode, record, match.groups()[1:4], line)
        same(inode, "peer", record["peer_inode"] or 0, peer)
        # ss cuts an abstract name at its first zero byte or writes it as @.
        if name.startswith("@"):
            same(inode, "abstract", record["local"][:9], name[:9])
        else:
            same(inode, "name", record["local"] or "*", name)
    differences.extend(f"ss does not show {inode}" for inode in ours)


def check_cookies(nest, lines):
    """Packet and MPTCP sockets."""
    ours = {r["inode"]: r for r in nest if r["inode"]}
    for line in lines:
        words = line.split()
        record = ours.pop(int(re.search(r"ino:(\d+)", line)[1]))
        where = record["local"]
        if words[0] in TYPES:
            same(where, "type", record["type"], TYPES[words.pop(0)])
            same(where, "interface", record["dev"] or "*", words[3].rpartition(":")[2])
        else:
            same(where, "local", record["local"], words[3])
            same(where, "remote", record["remote"], words[4])
        check_common(where, record, words, line)
        same(where, "cookie", int(record["cookie"], 16), int(re.search(r"sk:([0-9a-f]+)", line)[1], 16))
    differences.extend(f"ss does not show {inode}" for inode in ours)


def check_raw(nest, lines):
    protocols = {"icmp": 1, "icmpv6": 58}
    ours = {protocols.get(r["proto"]) or int(r["proto"]): r for r in nest}
    for line in lines:
        words = line.split()
        host, _, protocol = words[3].rpartition(":")
        record = ours.pop(int(protocol))
        same(protocol, "local", record["local"].replace("::", "*"), host)
        check_common(protocol, record, words, line)
    differences.extend(f"ss does not show {protocol}" for protocol in ours)


def check_netlink(nest, lines):
    numbers = {"route": 0, "sock_diag": 4, "xfrm": 6, "generic": 16}
    theirs = {int(w[-1]): w for w in (line.split() for line in lines[1:]) if int(w[-1])}
    for record in nest:
        words = theirs.get(record["inode"])
        if not words or record["proto"] not in numbers:
            continue
        where = f"{record['proto']} {record['local']}"
        same(where, "protocol", numbers[record["proto"]], int(words[1]))
        same(where, "port", record["local"].replace("kernel", "0"), words[2])
        same(where, "groups", int(record["groups"] or "0", 16), int(words[3], 16))
        # The kernel's end of sock_diag is busy with the question itself.
        if record["proto"] != "sock_diag":
            same(where, "recvq", record["recvq_bytes"], int(words[4]))
        same(where, "drops", record["drops"], int(words[8]))


def check(kind, nest_file, other_file):
    nest = [json.loads(line) for line in open(nest_file)]
    kinds = {"unix": check_unix, "packet": check_cookies, "mptcp": check_cookies, "raw": check_raw,
             "netlink": check_netlink}
    kinds[kind](nest, [line for line in open(other_file) if line.strip()])
    for difference in differences:
        print(difference)
    print(f"{compared} values compared, {len(differences)} differ")
    sys.exit(1 if differences or not compared else 0)


if sys.argv[1] == "hold":
    hold(sys.argv[2])
else:
    check(*sys.argv[2:5])
