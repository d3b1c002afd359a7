#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what the TCP tools reported with a capture, with what the client did, and with the kernel's own counters.

    tcp-check.py ROOM SERVER-PID DROPPED RETRANSMITTED OUTPUT SHORT-OF-MEMORY

Writes a line per comparison: what it shows, what was reported, what should have been, separated by tabs. Connections
are known by the client's port.
"""
import collections
import csv
import json
import os
import re
import sys
import xml.etree.ElementTree

BASE = 25000
FULL, CLOSED = BASE + 5, BASE + 6
ROUNDS = 12
FLAGS = (("FIN", 1), ("SYN", 2), ("RST", 4), ("PSH", 8), ("ACK", 16), ("URG", 32), ("ECE", 64), ("CWR", 128))

room, output = sys.argv[1], sys.argv[5]
server_pid, dropped, retransmitted = map(int, sys.argv[2:5])
# Packets that the kernel counted as dropped for lack of memory: what it says, not what nest does.
short_of_memory = int(sys.argv[6])
lines = []
# In an emulated machine whoever has something to do waits long for the CPU, and timers
# run out that otherwise do not.
slow = 100 if os.environ.get("NEST_VM") else 1


def reported(name):
    with open(f"{room}/{name}.json", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def same(what, got, want):
    lines.append(f"{what}\t{got}\t{want}")


def same_with_memory(what, got, want):
    """What a host short of memory for TCP cannot show: its receivers throw packets away and close their windows."""
    lines.append(f"{what}\t{got}\t{want}" if not short_of_memory
                 else f"{what}\tSKIP\tthe host is short of memory for TCP")


def holds(what, got, low, high):
    lines.append(f"{what}\t{got if low <= got <= high else f'{got}, not within {low} .. {high}'}\t{got}")


Packet = collections.namedtuple("Packet", "time dir lport rport flags seq ack bytes window")


def read_wire():
    packets = []
    with open(f"{room}/wire.csv", encoding="utf-8") as file:
        for time, v4, v6, sport, dport, flags, seq, ack, length, window in csv.reader(file):
            outgoing = v4 == "10.88.0.1" or v6 == "fd88::1"
            ports = (int(sport), int(dport)) if outgoing else (int(dport), int(sport))
            packets.append(Packet(int(time.replace(".", "")), "tx" if outgoing else "rx", *ports, int(flags, 16) & 255,
                                  int(seq), int(ack), int(length), int(window)))
    return packets


wire = read_wire()
with open(f"{room}/done.json", encoding="utf-8") as done_file:
    done = json.load(done_file)
port_of = {c["name"]: c["lport"] for c in done}
name_of = {c["lport"]: c["name"] for c in done}


def by_port(items, value=lambda item: 1):
    sums = collections.Counter()
    for item in items:
        port = item["lport"] if isinstance(item, dict) else item.lport
        sums[name_of.get(port, "refused")] += value(item)
    return dict(sorted(sums.items()))


def flags_of(text):
    return sum(bit for name, bit in FLAGS if name in text.split("|"))


# --- packets ---------------------------------------------------------------------------------------------------------

PSH, FIN = 8, 1


def cut(event):
    """What is reported whole and segmented below: the packets that it makes. PSH and FIN are the last one's."""
    piece = event["gso_bytes"] if event["dir"] == "tx" and event["gso_bytes"] else 1 << 20
    flags, left, seq = flags_of(event["flags"]) & ~PSH, event["bytes"], event["seq"]
    while True:
        part = min(left, piece)
        left -= part
        yield (event["dir"], event["lport"], event["rport"], flags & ~FIN if left else flags, seq, event["ack"], part)
        seq = (seq + part) & 0xffffffff
        if not left:
            return


snoop = reported("snoop")
seen = collections.Counter(packet for e in snoop for packet in cut(e))
captured = collections.Counter((p.dir, p.lport, p.rport, p.flags & ~PSH, p.seq, p.ack, p.bytes) for p in wire)
same("tcpsnoop: every packet of the capture", list((captured - seen).items())[:3], [])
same("tcpsnoop: and no other", list((seen - captured).items())[:3], [])
same("tcpsnoop: the client's packets are the client's",
     len({e["pid"] for e in snoop if e["dir"] == "tx" and e["pid"]}), 1)

# --- connections -----------------------------------------------------------------------------------------------------

established = {p.lport for p in wire if p.dir == "rx" and p.flags & 0x12 == 0x12}
life = reported("life")
same("tcplife: the connections of the capture", sorted(e["lport"] for e in life if e["state"] != "SYN_SENT"),
     sorted(established))


def payload(direction):
    """Bytes of the sequence space that carried data, per connection: what was retransmitted counts once."""
    ranges = collections.defaultdict(set)
    for p in wire:
        if p.dir == direction and p.bytes:
            ranges[p.lport].add((p.seq, p.bytes))
    sums = {}
    for port, parts in ranges.items():
        end = total = None
        for seq, length in sorted(parts):
            if end is None:
                end, total = seq, 0
            if seq + length > end:
                total += seq + length - max(end, seq)
                end = seq + length
        sums[port] = total
    return sums


sent, received = payload("tx"), payload("rx")
same("tcplife: bytes of each connection as on the wire",
     sorted((e["lport"], e["tx_bytes"], e["rx_bytes"]) for e in life if e["lport"] in established),
     sorted((port, sent.get(port, 0), received.get(port, 0)) for port in established))
same("tcplife: and as the client wrote them",
     by_port([e for e in life if e["lport"] in name_of], lambda e: e["tx_bytes"]),
     by_port(done, lambda c: c["sent"]))
same("tcplife: which end asked", sorted({(e["role"], e["rport"] > BASE) for e in life}), [("client", True)])
served = [e for e in reported("life-server") if e["lport"] not in (FULL, CLOSED)]
same("tcplife: the server's ends have the server as their owner", {(e["role"], e["pid"]) for e in served},
     {("server", server_pid)})
same("tcpaccept: the connections that were accepted", sorted((e["rport"], e["pid"]) for e in reported("accept")),
     sorted((c["lport"], server_pid) for c in done if c["name"] != "full"))
connect = reported("connect")
same("tcpconnect: each connection, and the one that was refused",
     sorted((e["lport"], e["error"]) for e in connect if e["rport"] != CLOSED),
     sorted((c["lport"], None) for c in done))
same("tcpconnect: refused", [e["error"] for e in connect if e["rport"] == CLOSED], ["ECONNREFUSED"])
tracer = reported("tracer")
same("tcptracer: connected and closed",
     collections.Counter(e["event"] for e in tracer if not e["error"] or e["event"] == "tcp.close"),
     collections.Counter({"sock.connect": len(done), "tcp.close": len(done)}))


# From the first SYN (or the last one: the clock of a connection is that of its first) to the answer.
def handshake(port):
    first = min(p.time for p in wire if p.lport == port and p.dir == "tx" and p.flags == 2)
    return min(p.time for p in wire if p.lport == port and p.dir == "rx" and p.flags & 0x12 == 0x12) - first


latencies = [e for e in reported("connlat") if not e["error"]]
same("tcpconnlat: one for each connection", sorted(e["lport"] for e in latencies), sorted(c["lport"] for c in done))
holds("tcpconnlat: far from the capture's time, us",
      max(abs(e["lat_ns"] - handshake(e["lport"])) // 1000 for e in latencies), 0, 20000 * slow)
holds("tcpconnlat: a SYN that was lost costs a second, ms",
      next(e["lat_ns"] for e in latencies if e["lport"] == port_of["syn"]) // 1000000, 990,
      1300 if slow == 1 else 10000)

states = [(e["oldstate"], e["newstate"]) for e in reported("states") if e["lport"] == port_of["lossy"]]
same("tcpstates: a connection from its beginning to its end", states[:3] + states[-1:],
     [("CLOSE", "SYN_SENT"), ("SYN_SENT", "ESTABLISHED"), ("ESTABLISHED", "FIN_WAIT1"), ("FIN_WAIT2", "CLOSE")])

# --- retransmissions -------------------------------------------------------------------------------------------------


def sent_again():
    """Packets with data, SYN or FIN, all of which had been sent before."""
    ends, again = {}, []
    for p in wire:
        length = p.bytes + (p.flags & 1) + (p.flags >> 1 & 1)
        if p.dir != "tx" or length == 0 or p.flags & 4:
            continue
        end = p.seq + length
        if p.lport in ends and (end - ends[p.lport]) & 0xffffffff > 1 << 31 or ends.get(p.lport) == end:
            again.append(p)
        else:
            ends[p.lport] = end
    return again


retrans = [e for e in reported("retrans") if not e["error"]]
same("tcpretrans: packets retransmitted, by connection", by_port(retrans, lambda e: e["segs"]), by_port(sent_again()))
same("tcpretrans: as many as the kernel counts", sum(e["segs"] for e in retrans), retransmitted)
kinds = collections.defaultdict(list)
for event in retrans:
    kinds[name_of.get(event["lport"])].append(event["kind"])
# In a slow machine acknowledgements are late, and what is not lost is asked after by a probe.
same_with_memory("tcpretrans: a lost SYN", kinds["syn"][:1] if slow > 1 else kinds["syn"], ["syn"])
# What is repaired late may be sent once more: only what was lost is sure.
same_with_memory("tcpretrans: a lost last segment is found by a probe",
                 kinds["tail"][:1] if slow > 1 else kinds["tail"], ["probe"])
same_with_memory("tcpretrans: and when that is lost, by the timer",
                 kinds["timeout"][:2] if slow > 1 else kinds["timeout"],
                 ["probe", "timeout"] if slow > 1 else ["probe", "timeout", "timeout"])
same_with_memory("tcpretrans: losses amid the stream are repaired fast",
                 "fast" in kinds["lossy"] and "fast" in kinds["lossy6"], True)
same("tcpretrans: a lost SYN/ACK",
     {(e["kind"], e["rport"]) for e in reported("retrans-server") if e["lport"] == BASE + 8},
     {("synack", port_of["synack"])})
same_with_memory("tcpretrans: bytes of segments, not of headers",
                 {e["bytes"] for e in retrans if e["lport"] == port_of["timeout"] and e["bytes"]}, {983})
win = reported("win")
same("tcpwin: the same retransmissions",
     sorted((e["lport"], e["seq"]) for e in win if e["event"] == "tcp.retransmit" and not e["error"]),
     sorted((e["lport"], e["seq"]) for e in retrans))
same("tcpwin: a row when a connection is there", sorted(e["lport"] for e in win if e["event"] == "tcp.state"),
     sorted(established))

# --- resets and windows ----------------------------------------------------------------------------------------------

resets = [p for p in wire if p.flags & 4]
same("tcpreset: resets that arrive", by_port([e for e in reported("reset") if e["dir"] == "rx"]),
     by_port([p for p in resets if p.dir == "rx"]))
same("tcpreset: resets that the client sends", by_port([e for e in reported("reset") if e["dir"] == "tx"]),
     by_port([p for p in resets if p.dir == "tx"]))
# Before 6.10 the kernel tells resets of sockets only.
with open("/sys/kernel/btf/vmlinux", "rb") as btf:
    all_resets = b"\0trace_event_raw_tcp_send_reset\0" in btf.read()
server_resets = reported("reset-server")
same("tcpreset: the server sent them", sorted(e["rport"] for e in server_resets if e["dir"] == "tx"),
     sorted(p.lport for p in resets if p.dir == "rx" and (all_resets or p.rport != CLOSED)))
if all_resets:
    same("tcpreset: with the kernel's reason", {e["reason"] for e in server_resets if e["lport"] == CLOSED},
         {"NO_SOCKET"})
else:
    same("tcpreset: without a reason, which this kernel does not give", {e["reason"] for e in server_resets}, {None})
same("tcpreset: and the owner, where there is one",
     {(e["pid"], e["comm"]) for e in server_resets if e["lport"] == BASE + 3 and e["dir"] == "tx"},
     {(server_pid, "python3")})
closed_windows = [p for p in wire if p.dir == "rx" and p.window == 0 and not p.flags & 6]
# The kernel has no such sample of a connection whose own end has been closed, though what was written may still be on
# its way: only the one whose writer waits for the reader is known to be open when its window closes.
zero, on_wire = {name_of[e["lport"]]: e["count"] for e in reported("zero")}, by_port(closed_windows)
same("tcp.probe: zero windows of a reader that is slow", zero.get("slow"), on_wire.get("slow"))
same("tcp.probe: and none that was not on the wire", {name for name in zero if zero[name] > on_wire.get(name, 0)},
     set())
same("tcp.probe: there were some", on_wire.get("slow", 0) > 0, True)
rtt = reported("rtt")
same("tcprtt: both hosts", sorted(e["raddr"] for e in rtt), ["10.88.0.2", "fd88::2"])
samples = {e["lport"]: e["count"] for e in reported("segments")}
arrived = collections.Counter(p.lport for p in wire if p.dir == "rx" and not p.flags & 2)
same("tcp.probe: never more samples than packets that arrived", [p for p, n in samples.items() if n > arrived[p]], [])
same("tcp.probe: a sample for each packet of a connection that stays open",
     {name_of[p]: samples[p] for p in (port_of["nagle"], port_of["nodelay"])},
     {name_of[p]: sum(1 for q in wire if q.lport == p and q.dir == "rx" and q.bytes) +
      sum(1 for q in wire if q.lport == p and q.dir == "rx" and not q.bytes and q.flags == 16 and q.time < max(
          r.time for r in wire if r.lport == p and r.flags & 1 and r.dir == "tx"))
      for p in (port_of["nagle"], port_of["nodelay"])})

# --- waiting ---------------------------------------------------------------------------------------------------------

hold = reported("hold")
nagle = {e["seq"]: e for e in hold if e["lport"] == port_of["nagle"]}
seconds = [p for p in wire if p.lport == port_of["nagle"] and p.dir == "tx" and p.bytes == 11]
begun, written = next((c["begun_ns"], c["written_ns"]) for c in done if c["name"] == "nagle")
# An acknowledgement that came before the write began leaves nothing to wait for. Between that and the client's look at
# the clock the write returned: only nest knows when.
acked = [min((q.time for q in wire if q.lport == p.lport and q.dir == "rx" and q.ack == p.seq), default=0)
         for p in seconds]
waited = {p.seq for p, w in zip(seconds, written) if p.time > w}
may_wait = {p.seq for p, b, a in zip(seconds, begun, acked) if a > b}
same("tcp.hold: second writes that left after the write had returned", sorted(waited - nagle.keys()), [])
same("tcp.hold: none whose first was acknowledged before", sorted(nagle.keys() - may_wait), [])
holds("tcp.hold: most of them did", len(waited), ROUNDS - 4, ROUNDS)


def granted(packet, before):
    """Whether the receiver's window had room for it when it was written: a host short of memory may close windows."""
    last = [q for q in wire if q.lport == packet.lport and q.dir == "rx" and q.time < before][-1]
    return (last.ack + last.window - packet.seq - packet.bytes) & 0xffffffff < 1 << 31


same("tcp.hold: the reason is Nagle's, unless the window was closed",
     [nagle[p.seq]["reason"] for p in seconds if p.seq in nagle],
     ["nagle" if granted(p, w) else "window" for p, w in zip(seconds, written) if p.seq in nagle])
gaps = [abs(nagle[p.seq]["lat_ns"] - (p.time - w)) // 1000 for p, w in zip(seconds, written) if p.seq in nagle]
holds("tcp.hold: far from the time between write and capture, us", max(gaps), 0, 15000 * slow)
same("tcp.hold: TCP_NODELAY waits for nobody",
     [e["reason"] for e in hold if e["lport"] == port_of["nodelay"] and e["reason"] == "nagle"], [])
same("tcpnagle: adds them up", sum(e["count"] for e in reported("nagle") if e["reason"] == "nagle"),
     sum(1 for e in hold if e["reason"] == "nagle"))
same("tcp.hold: a closed window holds data",
     any(e["reason"] == "window" for e in hold if e["lport"] == port_of["slow"]), True)
paced = [e for e in hold if e["lport"] == port_of["paced"] and e["reason"] == "pacing"]
holds("tcppacing: waits of a connection of 1 MB/s that sends 400 kB, ms", sum(e["lat_ns"] for e in paced) // 1000000,
      200, 600 if slow == 1 else 20000)
same("tcppacing: adds them up", sum(e["count"] for e in reported("pacing")),
     sum(1 for e in hold if e["reason"] == "pacing"))
late = [e for e in reported("pktlat") if e["lport"] == BASE + 12]
same("tcppktlat: who read, and how much", [(e["pid"], e["bytes"]) for e in late], [(server_pid, 37)])
holds("tcppktlat: read after 300 ms, ms", late[0]["lat_ns"] // 1000000, 295, 400 * slow)
backlogs = [(e["backlog"], e["backlog_max"]) for e in reported("synbl") if e["lport"] == FULL]
same("tcpsynbl: three that nobody accepts, two allowed", backlogs, [(1, 2), (2, 2), (3, 2)])
same("tcpsynbl: one for each connection", sum(1 for e in reported("synbl") if e["lport"] != FULL), len(done) - 3)

# --- drops, sums, congestion -----------------------------------------------------------------------------------------

drops = reported("drop")
same("tcpdrop: what the firewall dropped, by its own counter",
     sum(1 for e in drops if e["reason"] == "NETFILTER_DROP" and e["dir"] == "rx"), dropped)
same("tcpdrop: a SYN for a port where nobody listens",
     [(e["reason"], e["flags"], e["dir"]) for e in drops if e["lport"] == CLOSED],
     [("NO_SOCKET", "SYN", "rx")])
top = reported("top")
same("tcptop: bytes of each connection", sorted((e["lport"], e["tx_bytes"], e["rx_bytes"]) for e in top),
     sorted((c["lport"], c["sent"], c["received"]) for c in done if c["sent"]))
same("tcptop: the busiest first", top[0]["lport"], port_of["lossy"])
v6 = sum(c["sent"] for c in done if c["name"].endswith("6"))
same("tcpsubnet: bytes by subnet", {e["subnet"]: e["sum"] for e in reported("subnet")},
     {"10.88.0.0/24": sum(c["sent"] for c in done) - v6, "fd88::/64": v6})
cong = reported("cong")
same_with_memory("tcpcong: a connection with losses went through recovery", {"open", "recovery"} <=
     {e["old_congestion"] for e in cong if e["lport"] == port_of["lossy"]}, True)
span = {e["lport"]: e["span_ns"] for e in life}
worst = max(abs(span[p] - handshake(p) - sum(e["sum"] for e in cong if e["lport"] == p)) // 1000
            for p in {e["lport"] for e in cong})
same("tcpcong: nothing of a connection without trouble", [e for e in cong if e["lport"] == port_of["late"]], [])
holds("tcpcong: the states of each connection make its life, us apart", worst, 0, 20000 * slow)


# --- pictures --------------------------------------------------------------------------------------------------------

with open(f"{room}/who.dot", encoding="utf-8") as dot_file:
    dot = dot_file.read()
edges = {(client, server): int(count) for client, server, count in
         re.findall(r'^\t"([^"]*)" -> "([^"]*)" \[label="(\d+) connections?\\n[^"]*"\];$', dot, re.MULTILINE)}
same("tcplife --dot: an arrow for each server, with its connections", sorted(edges.items()),
     sorted(collections.Counter(("python3\\n10.88.0.1", f"10.88.0.2:{e['rport']}") if e["family"] == "ipv4" else
                              ("python3\\nfd88::1", f"[fd88::2]:{e['rport']}") for e in life).items()))
same("tcplife --dot: nothing else but its frame", len(dot.splitlines()), len(edges) + 3)
svg = xml.etree.ElementTree.parse(f"{room}/windows.svg").getroot()
titles = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text") if " to " in text.text]
same("tcpwin --plot: a connection with its retransmissions", [t for t in titles if f":{port_of['lossy']} to" in t],
     [f"10.88.0.1:{port_of['lossy']} to 10.88.0.2:{BASE + 1}, segments; "
      f"{sum(1 for e in retrans if e['lport'] == port_of['lossy'])} retransmitted"])

same("everything was compared", len(lines), 62)
with open(output, "w", encoding="utf-8") as out:
    out.write("".join(line + "\n" for line in lines))
