# SPDX-License-Identifier: GPL-2.0-or-later
"""A look: one run of the diagnosis; when it begins and what it prints.

There are four ways of looking, each in runs of its own, because looks at the
same time would disturb each other and a recorder would be a past for all:

    early   one look from before the fault to the end; each window is scored
    late    looks of 3 s that begin after the fault; the last verdict is scored
    past    the same looks, with a recorder running since before the fault
    both    recorders at both ends since before the fault; afterwards one look
            at both recordings, each window is scored
"""

import contextlib
import json
import os
import random
import shlex
import signal
import sqlite3
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(HERE),
                     os.environ.get("NEST_BUILD", "build"))
NEST = os.path.join(BUILD, "nest")
DEFAULT_VERDICT = NEST + " diagnose --json -d {seconds}"
RECORDER = NEST + " record -o {past} --age 2m"
RECORDER_BOTH = NEST + " record -o {recording}"
WAYS = ("late", "past", "early", "both")
# Without --ways: a way that replays recordings measures another command.
DEFAULT_WAYS = WAYS[:3]
# Ways of which each window is scored.
WINDOWED = ("early", "both")
# Slow start overshoots for a second; a diagnosis that starts earlier would be
# penalized for reporting that.
EARLY_DELAY = 1.5
LATE_SECONDS = 3
# Late looks: seconds from the fault to the first one, and between two.
LATE_FROM, LATE_TO, LATE_APART = 2.0, 20.0, 6.0
# To start, and to print a verdict.
LATE_SLACK = 1.5
# Both ends: how long recorders may take to begin, and record before the fault.
READY_SECONDS = 30
BASELINE_SECONDS = 3.2


def late_end(plan):
    """Seconds after the fault at which the last late look may begin."""
    untils = [step.get("until") for step in plan.faults]
    end = LATE_TO
    if untils and None not in untils:
        end = min(end, max(map(float, untils)) - 1.0)
    if plan.scenario.exclusive:
        # It affects the whole machine: no longer than the scenario says.
        end = min(end, plan.scenario.length - LATE_SECONDS - LATE_SLACK)
    return max(end, LATE_FROM)


def late_moments(plan):
    """One drawn offset for all looks: each moment is equally likely."""
    span = late_end(plan) - LATE_FROM
    count = max(1, int(span / LATE_APART))
    drawn = random.Random(f"{plan.scenario.id}:{plan.seed}:looks").random()
    return [LATE_FROM + span * (number + drawn) / count
            for number in range(count)]


def schedule(plan, way):
    """(begin, seconds) of each look of a run, and the length of the run."""
    if way in WINDOWED:
        begin = min(EARLY_DELAY, plan.fault_at - 0.2)
        return [(begin, plan.length - EARLY_DELAY)], plan.length
    begins = [plan.fault_at + moment for moment in late_moments(plan)]
    return [(begin, LATE_SECONDS) for begin in begins], \
        begins[-1] + LATE_SECONDS + LATE_SLACK


def without_options(command):
    """The words of a command before its options and placeholders."""
    words = []
    for word in shlex.split(command):
        if word.startswith("-") or "{" in word:
            break
        words.append(word)
    return words


def takes_past(command):
    """Whether the help of the program under test lists --past."""
    try:
        said = subprocess.run([*without_options(command), "--help"], timeout=30,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "--past" in said


def with_past(command, way):
    """The program under test, told which past it has.

    Without --past none it would find the recorder of a run beside this one.
    """
    if way == "past":
        return command + " --past {past}"
    if way == "both":
        return shlex.join(without_options(command)) + \
            " --json -f {here} -f {there}"
    return command + " --past none" if takes_past(command) else command


class Program:
    """A program of nest; keeps the CPU time it used."""

    def __init__(self, lab, name, command, words, stdout=subprocess.DEVNULL,
                 host=None):
        self.name = name
        argv = [part.format_map(words) for part in shlex.split(command)]
        self.errors = open(os.path.join(lab.out, f"{name}-stderr.txt"), "wb")
        self.process = lab.network.spawn(
            host or lab.plan.scenario.nest_on, argv, stdin=subprocess.DEVNULL,
            stdout=stdout, stderr=self.errors)
        self.began, self.ended = time.monotonic(), None
        self.code = self.cpu_s = None

    def exited(self, seconds):
        """Like Popen.wait(), but keeps the CPU time used."""
        deadline = time.monotonic() + seconds
        while self.code is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.process.returncode = self.code
                self.cpu_s = usage.ru_utime + usage.ru_stime
                self.ended = self.ended or time.monotonic()
            elif time.monotonic() >= deadline:
                break
            else:
                time.sleep(0.02)
        return self.code is not None

    def finish(self, grace):
        """Wait for its exit, then SIGINT, then SIGKILL."""
        for seconds, number in ((grace, signal.SIGINT), (3, signal.SIGKILL)):
            if self.exited(seconds):
                break
            self.process.send_signal(number)
        self.exited(5)
        self.errors.close()

    def record(self):
        return {"name": self.name, "begin_ns": int(self.began * 1e9),
                "end_ns": int(self.ended * 1e9) if self.ended else None,
                "exit": self.code, "cpu_s": self.cpu_s}


class Look(Program):
    """One run of the diagnosis; stamps its output lines."""

    def __init__(self, lab, number, command, seconds):
        name = f"look-{number}"
        words = {"seconds": f"{max(1, round(seconds))}", "look": name,
                 "truth": os.path.join(lab.out, "truth.json"),
                 "out": os.path.abspath(lab.out), "past": past_path(lab),
                 "here": end_path(lab, "here"), "there": end_path(lab, "there")}
        super().__init__(lab, name, command, words, subprocess.PIPE)
        self.file = open(os.path.join(lab.out, f"{name}.jsonl"), "w")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for raw in self.process.stdout:
            now = time.monotonic_ns()
            try:
                line = json.loads(raw)
            except ValueError:
                line = {"garbage": raw.decode("utf-8", "replace")[:200]}
            self.file.write(json.dumps({"arrived_ns": self.arrival(line, now),
                                        "said": line}) + "\n")
            self.file.flush()
        self.ended = time.monotonic()

    def arrival(self, line, now):
        """When a line was printed, on CLOCK_MONOTONIC."""
        return now

    def finish(self, grace):
        super().finish(grace)
        self.thread.join(2)
        self.file.close()


class Replay(Look):
    """A look at recordings: a line belongs to the end of its window."""

    def arrival(self, line, now):
        offset = time.time_ns() - time.monotonic_ns()
        try:
            return line["start_ns"] + line["window_ms"] * 1000000 - offset
        except (KeyError, TypeError):
            return now


class Recorder(Program):
    """A recording of one host: its past, or one of two ends."""

    def __init__(self, lab, name="recorder", command=RECORDER, words=None,
                 host=None):
        super().__init__(lab, name, command, words or {"past": past_path(lab)},
                         host=host)
        self.failed = None

    def finish(self, grace=3):
        """It should run until it is ended."""
        if self.exited(0):
            self.failed = f"the recorder exited with {self.code}"
        else:
            self.process.send_signal(signal.SIGINT)
        super().finish(grace)

    def record(self):
        return {**super().record(), "failed": self.failed}


def end_recorders(lab):
    """Recorders where nest looks and at the other end, which is B or A."""
    here = lab.plan.scenario.nest_on
    ends = {"here": here, "there": "A" if here == "B" else "B"}
    return [Recorder(lab, f"recorder-{end}", RECORDER_BOTH,
                     {"recording": end_path(lab, end)}, host)
            for end, host in ends.items()]


def samples_of(path):
    """How many samples a recording that is being written has."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro",
                                                uri=True)) as recording:
            return recording.execute("SELECT count(*) FROM sample").fetchone()[0]
    except sqlite3.Error:
        return 0


def until_recorded(lab, fault_at):
    """Wait until both ends are recorded; by how much the fault is too early.

    On a busy machine a recorder needs seconds for its first sample.
    """
    deadline = time.monotonic() + READY_SECONDS
    while min(samples_of(end_path(lab, end)) for end in ("here", "there")) < 2 \
            and time.monotonic() < deadline:
        time.sleep(0.1)
    return max(0.0, time.monotonic() + BASELINE_SECONDS - fault_at)


def end_path(lab, end):
    return os.path.join(os.path.abspath(lab.out), f"{end}.nest")


def past_path(lab):
    return os.path.join(os.path.abspath(lab.out), "past.nest")
