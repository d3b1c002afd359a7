# SPDX-License-Identifier: GPL-2.0-or-later
"""One run: network, applications, timed fault, record.

The record is a directory: truth.json (fault, place, time, and whether it took
effect, and every look at it), app-NAME.jsonl (progress lines), look-N.jsonl
(output of the diagnosis, each line with its arrival time), relay.txt and
errors.txt.
"""

import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import faults
import impact
import look
import real
import topology
import undo
from topology import LabError, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
# A scheduling delay of programs of A above this comes from outside the
# scenario. Eight connections at 100 Mbit/s on two cores alone make their reader
# wait 30 % of the time.
BUSY_SHARE = 0.4


def program(name):
    path = os.path.join(look.BUILD, "lab", name)
    if not os.access(path, os.X_OK):
        raise LabError(f"{os.path.relpath(path)} does not exist; "
                       "build it with: make lab")
    return path


def check_machine():
    """Checks all requirements before the run starts."""
    if os.geteuid() != 0:
        raise LabError("must run as root: the laboratory creates network namespaces")
    missing = [name for name in ("ip", "nsenter", "nft", "tc", "ethtool", "ss")
               if shutil.which(name) is None]
    if missing:
        raise LabError(f"missing programs: {', '.join(missing)}; "
                       "install them with: scripts/setup")
    program("app")
    program("relay")


class Lab:
    """The running laboratory; fault primitives work on this object."""

    def __init__(self, plan, out, log=lambda line: None):
        self.plan, self.out, self.log = plan, out, log
        scenario = plan.scenario
        os.makedirs(out, exist_ok=True)
        self.network = topology.Network(
            scenario.topology, scenario.relay_link, scenario.offloads,
            scenario.alone, scenario.ipv6, scenario.containers)
        self.apps = {app["name"]: app for app in plan.apps}
        self.running, self.pids, self.ports = {}, {}, {}
        self.killed = set()
        self.stopping = threading.Event()
        self.threads = []
        self.relay = self.relay_path = None
        self.way, self.begin = "early", None
        self.looks, self.recorder = [], None
        # Steps that are in effect, with their undo functions.
        self.active = {}
        self.fault_ns, self.ended_at = [], None
        self.before, self.waits = {}, []
        self.errors = open(os.path.join(out, "errors.txt"), "wb")

    # processes

    def spawn(self, node, command, path, **options):
        file = open(path, "wb")
        try:
            return self.network.spawn(node, command, stdout=file,
                                      stderr=self.errors, **options)
        finally:
            file.close()

    def check_alive(self, process, what):
        if process.poll() is not None:
            said = open(self.errors.name, "rb").read().decode()[-300:]
            raise LabError(f"{what} exited at once: {said.strip()}")

    def wait_ready(self, process, path, what):
        def ready():
            self.check_alive(process, what)
            with open(path, "rb") as file:
                return b"ready\n" in file.read(4096)
        wait_until(ready, 5, f"{what} did not become ready")

    def start_relay(self, words):
        self.relay_path = os.path.join(self.out, "relay.txt")
        command = [program("relay"), "xa", "xb", *words.split(),
                   f"seed={self.plan.seed}"]
        self.relay = self.spawn("X", command, self.relay_path,
                                stdin=subprocess.PIPE)
        self.wait_ready(self.relay, self.relay_path, "the relay")

    def relay_command(self, words):
        return send_words(self.relay, self.relay_path, words)

    def app_command(self, name, words):
        return send_words(self.running[name], self.app_path(name), words)

    def app_path(self, name):
        return os.path.join(self.out, f"app-{name}.jsonl")

    def start_app(self, name):
        app = self.apps[name]
        words = shlex.split(app["run"])
        path = self.app_path(name)
        command = self.real_command(name, words[1:]) if words[0] == "real" \
            else self.app_words(words)
        process = self.spawn(app["on"], command, path, stdin=subprocess.PIPE)
        self.running[name] = process
        self.pids[name] = process.pid
        self.killed.discard(name)
        if words[0] == "real" and words[1] in real.SERVERS:
            self.wait_listening(name, real.options_of(words[2:])["port"])
        else:
            self.wait_ready(process, path, f"application {name}")
        if app["then"]:
            self.network.ip(app["on"], *app["then"])
        if app["stop"]:
            time.sleep(0.3)  # a client connects after it is ready
            process.send_signal(signal.SIGSTOP)

    def app_words(self, words):
        command = [program("app"), *words, "control=1"]
        if not any(word.startswith("seed=") for word in words):
            command.append(f"seed={self.plan.seed}")
        return command

    def real_command(self, name, words):
        """Command line of a real program; its directory is removed with the lab."""
        room = real.Room(os.path.abspath(os.path.join(self.out,
                                                      f"room-{name}")))
        self.network.undoer.note("dir", room.path)
        shutil.rmtree(room.path, ignore_errors=True)
        os.mkdir(room.path)
        if words[0] in real.SERVERS:
            return real.SERVERS[words[0]](room, **real.options_of(words[1:]))
        return [sys.executable, os.path.join(HERE, "real"), words[0],
                room.path, *words[1:]]

    def wait_listening(self, name, port):
        process, node = self.running[name], self.apps[name]["on"]

        def listening():
            self.check_alive(process, name)
            said = self.network.inside(
                node, ["ss", "-Hlntup", f"sport = :{port}"])
            return f"pid={process.pid}," in said
        wait_until(listening, 5, f"{name} does not listen")

    def check_programs(self):
        """Checks that all real programs of the plan are installed."""
        kinds = {app["run"].split()[1] for app in self.plan.apps
                 if app["run"].startswith("real ")}
        missing = sorted(kind for kind in kinds if not real.path_of(kind))
        if missing:
            raise LabError(f"missing programs: {', '.join(missing)}; "
                           "install them with: scripts/setup lab")

    def process(self, name):
        return self.running[name]

    def end_app(self, name):
        process = self.running[name]
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        self.network.undoer.note("gone", process.pid)
        self.killed.add(name)

    def connection_port(self, name):
        """The local port of an application's (first) connection."""
        lines = self.network.inside(
            self.apps[name]["on"], ["ss", "-Htnp", "state", "established"])
        for line in lines.splitlines():
            if f"pid={self.pids[name]}," in line:
                port = int(re.search(r":(\d+)\s", line).group(1))
                self.ports[name] = port
                return port
        raise LabError(f"application {name} has no established connection")

    def background(self, thread):
        self.threads.append(thread)
        thread.start()

    # counters

    def counters(self, node):
        text = self.network.inside(node, ["cat", "/proc/net/netstat",
                                          "/proc/net/snmp"])
        values, lines = {}, text.splitlines()
        for names, numbers in zip(lines[0::2], lines[1::2]):
            family = names.split(":")[0]
            for name, number in zip(names.split()[1:], numbers.split()[1:]):
                values[f"{family}.{name}"] = int(number)
        values["Softnet.dropped"] = sum(
            int(line.split()[1], 16)
            for line in self.network.inside(
                node, ["cat", "/proc/net/softnet_stat"]).splitlines())
        return values

    def cpu_waits(self):
        """Total scheduling delay of each program of A, and the current time."""
        waits = {}
        for name, process in self.running.items():
            text = undo.read_text(f"/proc/{process.pid}/schedstat")
            if self.apps[name]["on"] == "A" and text:
                waits[name] = int(text.split()[1]) / 1e9
        return time.monotonic(), waits

    def disturbed(self):
        """Why the machine was too busy for this run, or None.

        Scenarios about the CPU are watched up to their fault, others to their
        end; one that tolerates starvation saturates the machine itself.
        """
        if "cpu-starved" in self.plan.scenario.tolerate:
            return None
        until = 1 if self.plan.scenario.alone else -1
        (began, before), (ended, after) = self.waits[0], self.waits[until]
        for name in before.keys() & after.keys():
            share = (after[name] - before[name]) / (ended - began)
            if share > BUSY_SHARE:
                return (f"the machine was too busy: {name} waited "
                        f"{100 * share:.0f} % of the time for a CPU")
        return None

    # the run

    def up(self):
        self.check_programs()
        self.network.up()
        if self.plan.relay is not None:
            self.start_relay(self.plan.relay)
        for key, value in self.plan.scenario.sysctl.items():
            node, _, name = key.partition(":")
            self.network.sysctl(node, name, value)
        for step in self.plan.setup:
            faults.inject(self, step)
        if self.plan.scenario.standing:
            self.inject_standing()
        for app in self.plan.apps:
            if not app["later"]:
                self.start_app(app["name"])

    def down(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(3)
        problems = self.network.down()
        self.errors.close()
        return problems

    def inject_standing(self):
        """Faults that are there before the applications start."""
        self.before = self.counters_before()
        for step in self.plan.faults:
            self.inject(step)
            self.log(f"standing fault: {describe_step(step)}")

    def counters_before(self):
        spec = self.plan.impact
        by_counter = spec and spec["metric"] == "counter"
        return self.counters(spec["on"]) if by_counter else {}

    def schedule(self):
        """(time, step, end) of every fault, relative to the start."""
        if self.plan.scenario.standing:
            return
        for step in self.plan.faults:
            moment = self.plan.fault_at + float(step.get("at", 0.0))
            until = step.get("until")
            yield moment, step, until

    def inject(self, step):
        before = time.monotonic_ns()
        put_right = faults.inject(self, step)
        after = time.monotonic_ns()
        self.fault_ns.append({"do": step["do"], "begin_ns": before,
                              "done_ns": after})
        return put_right

    def run(self, command=None, way="early"):
        """Runs it; returns the ground truth, already written to truth.json.

        The command is the diagnosis under test; without one nobody looks.
        """
        self.way, self.begin = way, time.monotonic()
        looks, length = look.schedule(self.plan, way)
        command = command and look.with_past(command, way)
        sleep_until(self.begin + min(look.EARLY_DELAY,
                                     self.plan.fault_at - 0.2))
        self.waits.append(self.cpu_waits())
        self.write_truth()
        if command and way == "past":
            self.recorder = look.Recorder(self)
        ends = look.end_recorders(self) if command and way == "both" else []
        if ends:
            self.begin += look.until_recorded(self,
                                              self.begin + self.plan.fault_at)
        live = [] if way == "both" else looks
        for moment, action in sorted(self.actions(command, live),
                                     key=lambda one: one[0]):
            sleep_until(self.begin + moment)
            action()
        sleep_until(self.begin + length)
        end = time.monotonic()
        self.waits.append(self.cpu_waits())
        for program in self.looks + [self.recorder] * bool(self.recorder) \
                + ends:
            program.finish(3)
        if ends:
            self.replay(command)
        return self.write_truth(end)

    def replay(self, command):
        """The look at what both ends recorded."""
        self.looks.append(look.Replay(self, 1, command, 0))
        self.looks[0].finish(60)

    def actions(self, command, looks):
        """(time, what to do) of the whole run, relative to the start."""
        for moment, step, until in self.schedule():
            yield moment, functools.partial(self.start_fault, step)
            if until is not None:
                yield (self.plan.fault_at + float(until),
                       functools.partial(self.end_fault, step))
        for begin, seconds in looks if command else []:
            yield begin, functools.partial(self.start_look, command, seconds)

    def start_look(self, command, seconds):
        self.looks.append(look.Look(self, len(self.looks) + 1, command,
                                    seconds))
        self.log(f"look {len(self.looks)}")

    def start_fault(self, step):
        if not self.fault_ns:
            self.before = self.counters_before()
            self.waits.append(self.cpu_waits())
        put_right = self.inject(step)
        if "until" in step and put_right is None:
            raise LabError(f"{step['do']} cannot be undone")
        self.active[id(step)] = put_right
        self.ended_at = None
        self.log(f"fault: {describe_step(step)}")
        self.write_truth()

    def end_fault(self, step):
        self.active.pop(id(step))()
        if not self.active:
            self.ended_at = time.monotonic()
        self.fault_ns.append({"do": f"end of {step['do']}",
                              "begin_ns": time.monotonic_ns()})
        self.log(f"end of fault: {describe_step(step)}")

    # the record

    def answers(self):
        return self.plan.answers_with(Missing(self.pids), Missing(self.ports),
                                      self.network.prefix)

    def progress(self, name):
        return impact.Progress.read(self.app_path(name))

    def judge(self, end):
        result = self.judge_applications(end)
        reason = self.disturbed() or (self.recorder and self.recorder.failed)
        if reason:
            result.update(bites=False, reason=reason)
        return result

    def judge_applications(self, end):
        if not self.plan.faults:
            names = self.plan.fill(self.plan.scenario.progress)
            parts = {name: self.progress(name) for name in names}
            return impact.judge_progress(parts, self.begin + 1.0, end)
        spec = self.plan.impact
        # A standing fault is judged from when the connections are open.
        fault_at = self.begin + 1.0 if self.plan.scenario.standing else \
            self.fault_ns[0]["begin_ns"] / 1e9
        if spec["metric"] == "counter":
            return impact.judge_counter(spec, self.before,
                                        self.counters(spec["on"]),
                                        fault_at, end)
        victims = [name for name in spec["app"] if name in self.apps]
        parts = [self.progress(name) for name in victims]
        ends = [moment for moment in (self.ended_at, self.exit_of(victims))
                if moment is not None]
        return impact.judge(spec, parts, fault_at, end, min(ends, default=None))

    def exit_of(self, names):
        """When the last of these programs exited by itself, or None.

        A stopped program prints no progress either: only an exit ends a flow.
        """
        if any(name not in self.running or name in self.killed
               or self.running[name].poll() is None for name in names):
            return None
        return max((self.progress(name).last_line() or 0 for name in names),
                   default=None)

    def write_truth(self, end=None):
        scenario, plan = self.plan.scenario, self.plan
        truth = {
            "schema": "nest.lab.truth/2", "scenario": scenario.id,
            "title": scenario.title, "kind": scenario.kind,
            "set": scenario.set, "nest_on": scenario.nest_on,
            "paper": scenario.paper, "seed": plan.seed,
            "choice": plan.choice, "drawn": plan.drawn, "way": self.way,
            "begin_ns": int(self.begin * 1e9),
            "end_ns": int(end * 1e9) if end else None,
            "realtime_minus_monotonic_ns": time.time_ns()
            - time.monotonic_ns(),
            "faults": self.fault_ns, "pids": self.pids, "ports": self.ports,
            "answers": self.answers(),
            "tolerate": scenario.tolerate,
            "must_not_blame": scenario.must_not_blame,
            "note_is_enough": scenario.note_is_enough,
            "looks": [one.record() for one in self.looks],
            "recorder": self.recorder.record() if self.recorder else None,
            "impact": self.judge(end) if end else None,
            "background": self.background_kept_going() if end else None,
        }
        path = os.path.join(self.out, "truth.json")
        with open(path + ".new", "w") as file:
            json.dump(truth, file, indent=1)
        os.replace(path + ".new", path)
        return truth

    def background_kept_going(self):
        """Share of 100 ms lines in which each background flow made progress."""
        shares = {}
        for name, app in self.apps.items():
            if not app["background"]:
                continue
            samples = self.progress(name).samples
            moved = [later["bytes"] > earlier["bytes"]
                     for earlier, later in zip(samples, samples[1:])]
            shares[name] = round(sum(moved) / len(moved), 3) if moved else None
        return shares


def send_words(process, path, words):
    """Send a line to a program's stdin; wait for `ok` or an error."""
    before = os.path.getsize(path)
    process.stdin.write(words.encode() + b"\n")
    process.stdin.flush()
    answers = []

    def answered():
        with open(path, "rb") as file:
            file.seek(before)
            lines = file.read().decode("utf-8", "replace").splitlines()
        answers[:] = [line for line in lines
                      if line == "ok" or line.startswith("error")]
        return answers
    wait_until(answered, 5, f"no reply to {words!r}")
    if answers[0] != "ok":
        raise LabError(f"{words!r}: {answers[0]}")


class Missing(dict):
    """An unknown pid or port prints as a question mark."""

    def __missing__(self, key):
        return "?"


def sleep_until(moment):
    remaining = moment - time.monotonic()
    if remaining > 0:
        time.sleep(remaining)


def describe_step(step):
    words = " ".join(f"{key}={value}" for key, value in step.items()
                     if key != "do")
    return f"{step['do']} {words}".strip()
