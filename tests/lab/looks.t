#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# When the diagnosis looks: late looks begin 2 to 20 s after the fault, while it lasts, and never at the same time.
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import harness
import impact
import look
import runner
import scenario


def moments(plan, way="late"):
    looks, length = look.schedule(plan, way)
    return [begin - plan.fault_at for begin, _ in looks], length


def problem(plan):
    """What is wrong with the late looks of a plan, or None."""
    after, length = moments(plan)
    apart = [later - earlier for earlier, later in zip(after, after[1:])]
    if not after or after[0] < 2.0 or after[-1] > 20.0:
        return f"begin {after}"
    if any(gap < look.LATE_SECONDS + look.LATE_SLACK for gap in apart):
        return f"overlap: {after}"
    if plan.fault_at + after[-1] + look.LATE_SECONDS > length:
        return "the run ends before its last look"
    untils = [step.get("until") for step in plan.faults]
    if untils and None not in untils and after[-1] > max(untils):
        return "the fault ends before the last look"
    return None


def plan_of(exclusive=False, faults=(), length=9.2, seed=1):
    one = types.SimpleNamespace(id="T", exclusive=exclusive, length=length)
    return types.SimpleNamespace(scenario=one, faults=list(faults), seed=seed, fault_at=5.0, length=5.0 + length)


def test_moments(tap):
    everything = scenario.load_all()
    for one in everything:
        problems = [problem(scenario.Plan(one, seed)) for seed in range(6)]
        tap.ok(not any(problems), f"{one.id}: late looks are in time", next(filter(None, problems), ""))
    firsts = [moments(plan_of(seed=seed))[0][0] for seed in range(200)]
    tap.ok(min(firsts) < 2.5 and max(firsts) > 7.5, "the first look begins at any moment",
           f"{min(firsts)} {max(firsts)}")
    tap.equal(len(moments(plan_of())[0]), 3, "a lasting fault is looked at three times")
    tap.equal(moments(plan_of()), moments(plan_of(), "past"), "late looks with a past begin at the same moments")
    tap.ok(moments(plan_of(seed=1)) != moments(plan_of(seed=2)), "another seed, other moments")
    short = moments(plan_of(faults=[{"do": "x", "until": 6.5}]))[0]
    tap.ok(len(short) == 1 and short[0] < 6.5, "a fault that ends is looked at while it lasts", short)
    wide, length = moments(plan_of(exclusive=True))
    tap.ok(len(wide) == 1 and length <= 14.2, "a fault of the whole machine lasts no longer than its scenario", length)
    tap.equal(look.schedule(plan_of(), "early"), ([(1.5, 12.7)], 14.2), "the early look is one, from the beginning")


def test_past(tap):
    stub = os.path.join(HERE, "..", "..", "lab", "verdict_stub.py")
    tap.equal(look.without_options("a/nest diagnose --json -d {seconds}"), ["a/nest", "diagnose"],
              "help is asked of the command")
    tap.equal([look.takes_past(f"{stub} oracle {{truth}} {{seconds}}"), look.takes_past("/bin/true {truth}"),
               look.takes_past("/nonexistent {truth}")], [True, False, False], "who takes a past lists --past")
    tap.equal([look.with_past(f"{stub} oracle", way).split()[2:] for way in look.WAYS] + [
        look.with_past("/bin/true", "late")],
              [["--past", "none"], ["--past", "{past}"], ["--past", "none"],
               ["--json", "-f", "{here}", "-f", "{there}"], "/bin/true"],
              "the others get --past none: a run beside this one may record")


class Steps(runner.Lab):
    """A lab that notes instead of doing."""

    def __init__(self, faults):
        self.plan = types.SimpleNamespace(fault_at=5.0, faults=faults, impact={"metric": "bytes"},
                                          scenario=types.SimpleNamespace(standing=False))
        self.fault_ns, self.active, self.waits, self.ended_at = [], {}, [], None
        self.done, self.log = [], lambda line: None

    def inject(self, step):
        self.done.append(f"+{step['n']}")
        self.fault_ns.append({})
        return lambda: self.done.append(f"-{step['n']}")

    def start_look(self, command, seconds):
        self.done.append("look")

    def cpu_waits(self):
        return None

    def write_truth(self, end=None):
        pass


def test_actions(tap):
    lab = Steps([{"do": "x", "n": 1, "until": 2.0}, {"do": "x", "n": 2, "at": 6.0, "until": 8.0}])
    states = []
    for _, action in sorted(lab.actions("nest", [(9.0, 3)]), key=lambda one: one[0]):
        action()
        states.append(lab.ended_at is not None)
    tap.equal(" ".join(lab.done), "+1 -1 look +2 -2", "faults begin and end in order, with looks between them")
    tap.equal(states, [False, True, True, False, True], "the fault has ended when no step is in effect")


def test_exits(tap):
    def lab(codes, killed=()):
        running = {name: types.SimpleNamespace(poll=lambda code=code: code) for name, code in codes.items()}
        last = {"a": 12.0, "b": 14.0}
        return types.SimpleNamespace(running=running, killed=set(killed), progress=lambda name: impact.Progress(
            [{"t_ns": last[name] * 1e9}]))

    def exit_of(names, *rest):
        return runner.Lab.exit_of(lab(*rest), names)

    tap.equal(exit_of(["a", "b"], {"a": 0, "b": 0}), 14.0, "a flow ends with the last of its programs")
    tap.equal([exit_of(["a", "b"], {"a": 0, "b": None}), exit_of(["a"], {"a": -9}, ["a"]), exit_of(["c"], {})],
              [None, None, None], "not while one runs or is stopped, and not when the fault ended it")


def main():
    tap = harness.Tap()
    for test in (test_moments, test_past, test_actions, test_exits):
        test(tap)
    tap.done()


main()
