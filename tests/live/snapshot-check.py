#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares what nest says (JSON lines in a file) with what other tools say (text or JSON in another).

snapshot-check.py KIND NEST OTHER: prints every difference and a closing count; exit status 1 when there is any
difference or nothing was compared.
"""
import json
import re
import sys

kind, nest_file, other_file = sys.argv[1:4]
nest = [json.loads(line) for line in open(nest_file)]
differences = []
compared = 0


def same(where, name, ours, theirs, by=0):
    global compared
    compared += 1
    if ours is None or (abs(ours - theirs) > by if by else ours != theirs):
        differences.append(f"{where}: {name}: nest {ours!r}, other {theirs!r}")


STATES = {
    "ESTAB": "ESTABLISHED", "SYN-SENT": "SYN_SENT", "SYN-RECV": "SYN_RECV", "FIN-WAIT-1": "FIN_WAIT1",
    "FIN-WAIT-2": "FIN_WAIT2", "TIME-WAIT": "TIME_WAIT", "UNCONN": "CLOSE", "CLOSE-WAIT": "CLOSE_WAIT",
    "LAST-ACK": "LAST_ACK", "LISTEN": "LISTEN", "CLOSING": "CLOSING",
}
# Words of ss with a number behind a colon: the field, and what one unit of theirs is in ours.
NUMBERS = {
    "mss": ("snd_mss", 1), "rcvmss": ("rcv_mss", 1), "advmss": ("advmss", 1), "pmtu": ("pmtu", 1), "cwnd": ("cwnd", 1),
    "ssthresh": ("ssthresh", 1), "bytes_sent": ("bytes_sent", 1), "bytes_retrans": ("bytes_retrans", 1),
    "bytes_acked": ("bytes_acked", 1), "bytes_received": ("bytes_received", 1), "segs_out": ("segs_out", 1),
    "segs_in": ("segs_in", 1), "data_segs_out": ("data_segs_out", 1), "data_segs_in": ("data_segs_in", 1),
    "delivered": ("delivered", 1), "unacked": ("unacked", 1), "lost": ("lost", 1), "sacked": ("sacked", 1),
    "dsack_dups": ("dsack_dups", 1), "reordering": ("reordering", 1), "rcv_space": ("rcv_space", 1),
    "rcv_ssthresh": ("rcv_ssthresh", 1), "snd_wnd": ("snd_wnd", 1), "backoff": ("backoff", 1),
    "rto": ("rto_ns", 1e6), "ato": ("ato_ns", 1e6), "minrtt": ("min_rtt_ns", 1e6), "notsent": ("notsent_bytes", 1),
    "rcv_ooopack": ("rcv_ooopack", 1), "reord_seen": ("reord_seen", 1),
}
SKMEM = {
    "r": "rmem_bytes", "rb": "rcvbuf", "t": "wmem_bytes", "tb": "sndbuf", "f": "forward_bytes",
    "w": "wmem_queued_bytes",
    "o": "option_bytes", "bl": "rx_backlog_bytes", "d": "drops",
}


def address(text):
    host, _, port = text.rpartition(":")
    host = host.strip("[]").split("%")[0]
    if host.startswith("::ffff:"):
        host = host[7:]
    return host, (None if port == "*" else int(port))


def check_sockets():
    ours = {int(s["cookie"], 16): s for s in nest}
    for line in open(other_file):
        words = line.split()
        if not words or words[0] not in ("tcp", "udp"):
            continue
        cookie = re.search(r"\bsk:([0-9a-f]+)", line)
        record = ours.pop(int(cookie.group(1), 16), None)
        where = " ".join(words[:6])
        if record is None:
            differences.append(f"{where}: nest does not show it")
            continue
        same(where, "proto", record["proto"], words[0])
        same(where, "state", record["state"], STATES[words[1]])
        listen = words[1] == "LISTEN"
        same(where, "recvq", record["backlog" if listen else "recvq_bytes"], int(words[2]))
        same(where, "sendq", record["backlog_max" if listen else "sendq_bytes"], int(words[3]))
        host, port = address(words[4])
        same(where, "lport", record["lport"], port)
        if host != "*":
            same(where, "laddr", record["laddr"], host)
        host, port = address(words[5])
        same(where, "rport", record["rport"], port) if port else None
        if host not in ("*", "0.0.0.0", "::"):
            same(where, "raddr", record["raddr"], host)
        check_details(where, record, line)
    for record in ours.values():
        differences.append(f"ss does not show {record['proto']} {record['laddr']}:{record['lport']} {record['state']}")


def check_details(where, record, line):
    inode = re.search(r"\bino:(\d+)", line)
    same(where, "inode", record["inode"] or 0, int(inode.group(1))) if inode else None
    uid = re.search(r"\buid:(\d+)", line)
    same(where, "uid", record["uid"], int(uid.group(1)) if uid else 0)
    mark = re.search(r"\bfwmark:0x([0-9a-f]+)", line)
    same(where, "mark", int(record["mark"], 16), int(mark.group(1), 16) if mark else 0)
    tos = re.search(r"\btos:0x([0-9a-f]+)", line)
    if tos:
        same(where, "tos", int(record["tos"], 16), int(tos.group(1), 16))
    timer = re.search(r"\btimer:\((\w+),", line)
    same(where, "timer", record["timer"], timer.group(1) if timer else "off")
    memory = re.search(r"skmem:\(([^)]*)\)", line)
    for word in memory.group(1).split(",") if memory else []:
        name, value = re.match(r"([a-z]+)(-?\d+)", word).groups()
        same(where, "skmem " + name, record[SKMEM[name]], int(value))
    if record["proto"] != "tcp" or record["state"] == "LISTEN":
        return
    for word in line.split():
        name, _, value = word.partition(":")
        if name in NUMBERS and re.fullmatch(r"[\d.]+", value):
            field, unit = NUMBERS[name]
            theirs = float(value) * unit
            # ss cuts microseconds of some figures; half a unit of its last digit is no difference.
            digits = len(value.partition(".")[2])
            same(where, name, record[field], theirs, by=(unit * 10 ** -digits if unit != 1 else 0))
    rtt = re.search(r"\brtt:([\d.]+)/([\d.]+)", line)
    if rtt:
        same(where, "rtt", record["srtt_ns"], float(rtt.group(1)) * 1e6, by=1000)
        same(where, "rttvar", record["rttvar_ns"], float(rtt.group(2)) * 1e6, by=1000)
    scale = re.search(r"\bwscale:(\d+),(\d+)", line)
    if scale:
        same(where, "wscale", (record["snd_wscale"], record["rcv_wscale"]), (int(scale.group(1)), int(scale.group(2))))
    if record["cc"]:
        same(where, "cc", f" {record['cc']} " in line, True)
    same(where, "app_limited", bool(record["app_limited"]), " app_limited" in line)
    busy = re.search(r"\bbusy:(\d+)ms", line)
    if busy:
        same(where, "busy", record["busy_ns"], int(busy.group(1)) * 1e6,
             by=2e9 if record["unacked"] or record["sendq_bytes"] else 1e6)


def check_owners():
    ours = {int(s["cookie"], 16): s for s in nest}
    for line in open(other_file):
        users = re.findall(r'pid=(\d+),fd=(\d+)', line)
        cookie = re.search(r"\bsk:([0-9a-f]+)", line)
        if not cookie:
            continue
        record = ours[int(cookie.group(1), 16)]
        where = f"{record['laddr']}:{record['lport']}"
        if not users:
            same(where, "pid", str(record["pid"]), "None")
            continue
        first = min((int(pid), int(fd)) for pid, fd in users)
        same(where, "owner", (record["pid"], record["fd"]), first)
        same(where, "owners", record["owners"], len(users))


def by(records, *names):
    return {tuple(r[n] for n in names): r for r in records}


def check_links():
    ours = by(nest, "dev")
    theirs = json.load(open(other_file))
    for link in theirs:
        where = link["ifname"]
        record = ours.pop((where,))
        same(where, "mtu", record["mtu"], link["mtu"])
        same(where, "state", record["operstate"], link["operstate"])
        same(where, "ifindex", record["ifindex"], link["ifindex"])
        same(where, "qdisc", record["qdisc"], link["qdisc"])
        same(where, "mac", record["mac"], link["address"]) if link.get("address") else None
        same(where, "kind", str(record["kind"]), str(link.get("linkinfo", {}).get("info_kind")))
        # ip says RUNNING by leaving out NO-CARRIER.
        same(where, "flags", set(record["flags"].split("|")) - {"RUNNING"},
             set(link["flags"]) - {"NO-CARRIER", "M-DOWN"})
        same(where, "txqlen", record["tx_queue_len"], link.get("txqlen", 0))
        for side in ("rx", "tx"):
            stats = link["stats64"][side]
            same(where, side + " bytes", record[side + "_bytes"], stats["bytes"])
            same(where, side + " packets", record[side + "_packets"], stats["packets"])
            same(where, side + " errors", record[side + "_errors"], stats["errors"])
            same(where, side + " dropped", record[side + "_dropped"], stats["dropped"])
    for name in ours:
        differences.append(f"ip does not show {name}")


def check_qdiscs():
    theirs = {(q["dev"], q["kind"], q["handle"]): q for q in json.load(open(other_file))}
    for record in nest:
        where = f"{record['dev']} {record['kind']} {record['handle']}"
        q = theirs.pop((record["dev"], record["kind"], record["handle"]), None)
        if q is None:
            differences.append(f"tc does not show {where}")
            continue
        same(where, "parent", record["parent"], "root" if q.get("root") else q.get("parent", "root"))
        for ours, name in (("bytes", "bytes"), ("packets", "packets"), ("drops", "drops"), ("overlimits", "overlimits"),
                           ("requeues", "requeues"), ("backlog_bytes", "backlog"), ("qlen", "qlen")):
            same(where, name, record[ours], q[name])
        options = q.get("options", {})
        if record["kind"] == "tbf":
            same(where, "rate", record["rate"], options["rate"])
            same(where, "burst", record["burst_bytes"], options["burst"], by=options["burst"] * 0.01)
            if "limit" in options:
                same(where, "limit", record["limit_bytes"], options["limit"])
        elif record["kind"] in ("pfifo", "bfifo"):
            limit = options["limit"]
            limit = int(re.match(r"\d+", str(limit)).group())
            same(where, "limit", record["limit_packets" if record["kind"] == "pfifo" else "limit_bytes"], limit)
    for where in theirs:
        differences.append(f"nest does not show {where}")


def check_classes():
    theirs = {c["handle"]: c for c in json.load(open(other_file))}
    for record in nest:
        c = theirs.pop(record["handle"])
        same(record["handle"], "rate", record["rate"], c["rate"])
        same(record["handle"], "ceil", record["ceil"], c["ceil"])
        same(record["handle"], "bytes", record["bytes"], c["stats"]["bytes"])
    for where in theirs:
        differences.append(f"nest does not show {where}")


def check_routes():
    def key(dst, table, metric, dev):
        return (dst, str(table), metric or 0, dev)

    tables = {"local": "255", "main": "254", "default": "253"}
    theirs = {}
    for r in json.load(open(other_file)):
        theirs[key(r["dst"], tables.get(r.get("table", "main"), r.get("table", "254")), r.get("metric"),
                   r.get("dev"))] = r
    for record in nest:
        bits = 128 if record["family"] == "ipv6" else 32
        dst = "default" if record["dst"] is None or (record["prefix"] == 0) else record["dst"]
        if dst != "default" and record["prefix"] != bits:
            dst += f"/{record['prefix']}"
        r = theirs.pop(key(dst, record["table"], record["metric"], record["dev"]), None)
        if r is None:
            differences.append(f"ip does not show {dst} table {record['table']} "
                               f"metric {record['metric']} dev {record['dev']}")
            continue
        same(dst, "gateway", str(record["gateway"]), str(r.get("gateway")))
        same(dst, "type", record["route_type"], r.get("type", "unicast"))
        same(dst, "protocol", record["protocol"], r["protocol"])
        mtu = next((m["mtu"] for m in r.get("metrics", []) if "mtu" in m), None)
        same(dst, "mtu", str(record["route_mtu"]), str(mtu))
    for where in theirs:
        differences.append(f"nest does not show the route {where}")


def check_neighbours():
    theirs = by(json.load(open(other_file)), "dst", "dev")
    for record in nest:
        n = theirs.pop((record["raddr"], record["dev"]), None)
        if n is None:
            if record["neigh_state"] != "NOARP":
                differences.append(f"ip does not show {record['raddr']} {record['neigh_state']}")
            continue
        same(record["raddr"], "lladdr", str(record["lladdr"]), str(n.get("lladdr")))
        same(record["raddr"], "state", record["neigh_state"], n["state"][0])
    for where in theirs:
        differences.append(f"nest does not show {where}")


def check_addresses():
    theirs = {(a["local"], link["ifname"]): a for link in json.load(open(other_file)) for a in link["addr_info"]}
    for record in nest:
        a = theirs.pop((record["laddr"], record["dev"]))
        same(record["laddr"], "prefix", record["prefix"], a["prefixlen"])
        same(record["laddr"], "scope", record["scope"], a["scope"])
    for where in theirs:
        differences.append(f"nest does not show {where}")


def check_counters():
    """nstat shows what was; nothing may have moved in between, but for what looking itself moves."""
    theirs = next(iter(json.load(open(other_file)).values()))
    ours = {r["counter"]: r["value"] for r in nest}
    for name, value in theirs.items():
        if name in ours and ours[name] is not None:
            same("counter", name, ours[name], value)
    missing = [name for name in theirs if name not in ours]
    if missing:
        differences.append(f"nest does not show {missing}")


def check_firewall():
    rules = [r["rule"] for r in json.load(open(other_file))["nftables"] if "rule" in r]
    ours = by(nest, "handle")
    for rule in rules:
        record = ours.pop((rule["handle"],))
        where = f"rule {rule['handle']}"
        same(where, "table", (record["nf_family"], record["nf_table"], record["chain"]),
             (rule["family"], rule["table"], rule["chain"]))
        same(where, "comment", str(record["comment"]), str(rule.get("comment")))
        counter = next((e["counter"] for e in rule["expr"] if "counter" in e), None)
        if counter:
            same(where, "packets", record["packets"], counter["packets"])
            same(where, "bytes", record["bytes"], counter["bytes"])
        else:
            same(where, "packets", str(record["packets"]), "None")
        verdict = next((v for v in ("drop", "accept", "reject", "jump", "goto", "return")
                        for e in rule["expr"] if v in e), None)
        same(where, "verdict", str(record["verdict"]), str(verdict))
    for where in ours:
        differences.append(f"nft does not show rule {where}")


{name[6:]: f for name, f in globals().items() if name.startswith("check_")}[kind]()
for text in differences[:40]:
    print("differs:", text)
print(f"{compared} values compared, {len(differences)} differ")
sys.exit(1 if differences or not compared else 0)
