#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of several hosts, made of the bundled ones: hosts.py DIRECTORY [MINUTES]

Names and times are new: each host has its findings within the last MINUTES (50). The minutes of paths and services that
an agent adds up are made here, with loss where the recording found loss: three web servers of four that talk to
10.77.2.2 accuse it, and two of them wait for the database at 10.77.3.3:5432.
"""
import gzip
import os
import pathlib
import sqlite3
import sys
import time

MINUTE_NS = 60 * 10**9
# Host, recording, minutes ago in tenths of the time, peer that is slow.
HOSTS = [
    ("web1", "lossy-path", 2, "10.77.3.3:5432"),
    ("web2", "lossy-path", 3, "10.77.3.3:5432"),
    ("web3", "lossy-path", 2, None),
    ("web4", "healthy", 2, None),
    ("db1", "slow-reader", 6, None),
    ("cache1", "local-queue", 7, None),
    ("lb1", "listener-overflow", 9, None),
]
SUMS = """"time_ns" INTEGER, "span_ns" INTEGER, %s, "connections" INTEGER, "tx_bytes" INTEGER, "rx_bytes" INTEGER,
    "tx_segs" INTEGER, "retrans_segs" INTEGER, "srtt_ns" INTEGER, "srtt_max_ns" INTEGER, "min_rtt_ns" INTEGER,
    "closed" INTEGER, "failed" INTEGER"""


def shift_times(recording, begin_ns):
    """Moves every moment by as much as the first finding or verdict is away from where it should be."""
    first = recording.execute("SELECT min(time_ns) FROM verdict").fetchone()[0]
    for (table,) in recording.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in recording.execute(f'PRAGMA table_info("{table}")')]
        if "time_ns" in columns:
            recording.execute(f'UPDATE "{table}" SET time_ns = time_ns + ?', (begin_ns - first,))


def add_minutes(recording, now_ns, minutes, is_lossy, is_web):
    recording.execute("CREATE TABLE path_minute (%s)" % (SUMS % '"raddr" TEXT'))
    recording.execute("CREATE TABLE service_minute (%s, answers INTEGER, answer_ns INTEGER)" %
                      (SUMS % '"role" TEXT, "port" INTEGER'))
    for minute in range(minutes):
        at_ns = now_ns - minute * MINUTE_NS
        again = 60 + minute % 7 if is_lossy else minute % 2
        sums = (20, 3_000_000, 400_000, 2200, again, 21_000_000, 48_000_000, 20_000_000, 120, 0)
        if is_web:
            recording.execute("INSERT INTO path_minute VALUES (?, ?, ?%s)" % (", ?" * 10),
                              (at_ns, MINUTE_NS, "10.77.2.2") + sums)
            recording.execute("INSERT INTO path_minute VALUES (?, ?, ?%s)" % (", ?" * 10),
                              (at_ns, MINUTE_NS, "10.77.3.3") + sums[:4] + (0,) + sums[5:])
            recording.execute("INSERT INTO service_minute VALUES (?, ?, ?, ?%s)" % (", ?" * 12),
                              (at_ns, MINUTE_NS, "client", 5432) + sums[:4] + (0,) + sums[5:] + (2000, 3_400_000))
        recording.execute("INSERT INTO service_minute VALUES (?, ?, ?, ?%s)" % (", ?" * 12),
                          (at_ns, MINUTE_NS, "server", 443) + sums + (4000, 1_700_000))


def add_slow_peer(recording, begin_ns, peer):
    for second in range(12):
        recording.execute(
            "INSERT INTO finding (time_ns, cause, layer, module, certainty, severity, because, advice) VALUES "
            "(?, 'peer-slow', 'peer', ?, 0.82, 'high', ?, 'Look at the server: nest diagnose there.')",
            (begin_ns + second * 10**9, "peer:" + peer, f"{peer} has received everything and owes 2 answers for 1.4 s"))


def main():
    directory, minutes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50
    bundled = pathlib.Path(__file__).resolve().parents[2] / "src" / "store" / "demo"
    now_ns = time.time_ns() - 30 * 10**9
    for name, source, tenths, peer in HOSTS:
        path = os.path.join(directory, name + ".nest")
        with open(path, "wb") as out:
            out.write(gzip.decompress((bundled / f"{source}.nest.gz").read_bytes()))
        recording = sqlite3.connect(path)
        begin_ns = now_ns - tenths * minutes * MINUTE_NS // 10
        shift_times(recording, begin_ns)
        recording.execute("UPDATE host SET host = ?, boot_id = ?", (name, "boot-of-" + name))
        add_minutes(recording, now_ns, minutes, source == "lossy-path", name.startswith("web"))
        if peer:
            add_slow_peer(recording, begin_ns + 5 * 10**9, peer)
        recording.commit()
        recording.close()
        print(path)


main()
