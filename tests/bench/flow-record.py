#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cost of recording calls: nest, uftrace and LLVM XRay on the same program, interleaved rounds, minimum and median.

    tests/bench/flow-record.py [BUILD-DIRECTORY [ROUNDS]]

ns/event is (variant - plain) / 2 from CPU time of the program itself; bytes/event counts what is on the disk.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../build"))
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
REQUESTS = 300000
EVENTS = REQUESTS * 33 * 2
NEST = os.path.join(BUILD, "nest")


def compile_all(room):
    source = os.path.join(HERE, "flow-workload.c")
    base = ["-O2", "-g", "-w", source, "-o"]
    programs = {}
    wanted = {
        "plain": ["gcc"],
        "hooks": ["gcc", "-finstrument-functions"],
        "xray-fdr": ["clang", "-fxray-instrument", "-fxray-instruction-threshold=1", "-DXRAY_FDR"],
    }
    for name, command in wanted.items():
        path = os.path.join(room, name)
        if shutil.which(command[0]) and subprocess.run(command + base + [path],
                                                       stderr=subprocess.DEVNULL).returncode == 0:
            programs[name] = path
    return programs


def size_of(path):
    if os.path.isdir(path):
        return sum(size_of(os.path.join(path, name)) for name in os.listdir(path))
    return os.path.getsize(path)


def run(command, room, produced=None, requests=REQUESTS):
    """CPU nanoseconds per call as reported by the workload, and bytes per event."""
    for name in os.listdir(room):
        if name.startswith("out"):
            path = os.path.join(room, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    result = subprocess.run(command + [str(requests)], cwd=room, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    words = result.stdout.split()
    size = None
    if produced:
        size = sum(size_of(os.path.join(room, n)) for n in os.listdir(room) if n.startswith(produced))
        size /= EVENTS * requests / REQUESTS
    return float(words[0]), size


def main():
    with tempfile.TemporaryDirectory() as room:
        programs = compile_all(room)
        record = [NEST, "flow", "record", "-o", os.path.join(room, "out.trace")]
        variants = {
            "plain": ([programs["plain"]], None, REQUESTS),
            "hooks of the C library (empty)": ([programs["hooks"]], None, REQUESTS),
            "nest, every event timed": (record + ["--", programs["hooks"]], "out", REQUESTS),
            "nest, structure first (-S 2)": (record + ["-S", "2", "--", programs["hooks"]], "out", REQUESTS),
            "nest, summary (-S 2)": (record + ["--summary", "-S", "2", "--", programs["hooks"]], "out", REQUESTS),
            "nest, summary, every event timed": (record + ["--summary", "-S", "4096", "--", programs["hooks"]], "out",
                                                 REQUESTS),
            "nest, paused": (record + ["--paused", "--", programs["hooks"]], None, REQUESTS),
        }
        if shutil.which("uftrace"):
            variants["uftrace record"] = (
                ["uftrace", "record", "--no-libcall", "--no-event", "-d", os.path.join(room, "out.uftrace"),
                 programs["hooks"]],
                "out", REQUESTS // 3)
        if "xray-fdr" in programs:
            variants["XRay FDR"] = (["env", "XRAY_OPTIONS=xray_logfile_base=out.xray", programs["xray-fdr"]], "out",
                                    REQUESTS // 10)
        figures = {name: [] for name in variants}
        sizes = {}
        for _ in range(ROUNDS):
            for name, (command, produced, requests) in variants.items():
                ns, size = run(command, room, produced, requests)
                figures[name].append(ns)
                sizes[name] = size
        plain = min(figures["plain"])
        print(f"{'flow record':34} {'ns/call':>8} {'median':>8} {'ns/event':>9} {'B/event':>8}")
        for name, values in figures.items():
            size = f"{sizes[name]:8.2f}" if sizes[name] is not None else f"{'-':>8}"
            print(f"{name:34} {min(values):8.2f} {statistics.median(values):8.2f} "
                  f"{(min(values) - plain) / 2:9.2f} {size}")


if __name__ == "__main__":
    main()
