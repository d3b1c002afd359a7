# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenario files: strict parser, and a concrete plan drawn from a seed.

A scenario is one TOML file; docs/lab.md explains every key. Anything unknown,
missing or of the wrong type is an error that names the file and the line. A
*plan* is a scenario with its random parts fixed: role, congestion control,
magnitudes and the time of the fault all follow from (scenario, seed).
"""

import collections
import dataclasses
import fnmatch
import itertools
import math
import os
import random
import re
import shlex
import tomllib

import faults
import real
from topology import CONTAINERS, RELAY_LINKS, addresses_of
from vocabulary import CAUSES, LAYERS, LAYER_OF

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIO_DIR = os.environ.get("NEST_SCENARIOS") or \
    os.path.join(HERE, "scenarios")
BACKGROUND_FILE = os.path.join(HERE, "backgrounds.toml")
KINDS = ("fault", "compound", "healthy", "paper", "extra")
METRICS = ("bytes", "ops", "lat", "errors", "counter")

TOP = {"id": str, "title": str, "kind": str, "topology": str,
       "relay_link": str, "relay": str, "offloads": bool, "exclusive": bool,
       "alone": bool, "warmup": float, "length": float, "background": list,
       "sysctl": dict, "variants": dict, "draw": dict, "setup": list,
       "app": list, "fault": list, "answer": list, "tolerate": list,
       "must_not_blame": list, "impact": list, "progress": list,
       "note_is_enough": bool, "why": str, "paper": str, "set": str,
       "standing": bool, "nest_on": str, "ipv6": bool, "containers": int}
TOP_NEEDED = ("id", "title", "kind", "topology", "why")
APP = {"name": str, "on": str, "run": str, "when": dict, "later": bool,
       "then": list, "stop": bool}
APP_NEEDED = ("name", "on", "run")
ANSWER = {"cause": str, "module": list, "accept": list, "when": dict}
ANSWER_NEEDED = ("cause", "module")
IMPACT = {"app": list, "metric": str, "below": float, "above": float,
          "within": float, "counter": str, "on": str, "at_least": float,
          "window": float, "normal": float, "when": dict}


class ScenarioError(Exception):
    """file:line: what is wrong."""


def line_of(text, key, nth=0):
    """The line that mentions a key: the nth table of that name, or the key."""
    last = key.split(".")[-1]
    pattern = re.compile(rf"^[ \t]*(\[+\s*{re.escape(key)}\s*\]+|"
                         rf"{re.escape(last)}\s*=)", re.M)
    hits = list(pattern.finditer(text))
    if not hits:
        return 1
    return text.count("\n", 0, hits[min(nth, len(hits) - 1)].start()) + 1


class Reader:
    """Checks tables of one file against their declared keys and types."""

    def __init__(self, path, text):
        self.path, self.text = path, text

    def fail(self, key, message, nth=0):
        line = line_of(self.text, key, nth)
        raise ScenarioError(f"{os.path.relpath(self.path)}:{line}: {message}")

    def table(self, where, table, known, needed=(), nth=0):
        for key, value in table.items():
            if key not in known:
                self.fail(key, f"unknown key {key!r} in {where}; known here: "
                          f"{', '.join(known)}")
            self.typed(where, key, value, known[key])
        for key in needed:
            if key not in table:
                self.fail(where, f"{where} lacks {key!r}", nth)

    def typed(self, where, key, value, wanted):
        if wanted is float and type(value) is int:
            return
        if type(value) is not wanted:
            self.fail(key, f"{key!r} in {where} should be a "
                      f"{wanted.__name__}, not a {type(value).__name__}")

    def choice(self, key, value, choices, nth=0):
        if value not in choices:
            self.fail(key, f"{key} {value!r} is not one of: "
                      f"{', '.join(choices)}", nth)


@dataclasses.dataclass
class Scenario:
    """A parsed and checked file, before any random draw."""
    path: str
    data: dict

    def __getattr__(self, key):
        try:
            return self.__dict__["data"][key]
        except KeyError:
            raise AttributeError(key) from None

    @property
    def alone(self):
        return self.data["alone"] or self.data["exclusive"]

    @property
    def is_reserve(self):
        """Nobody runs a reserve by chance: it has to be named."""
        return self.data["set"] == "reserve"


DEFAULTS = {"relay_link": None, "relay": None, "offloads": False,
            "exclusive": False, "alone": False, "warmup": 4.8, "length": 9.2,
            "background": [], "sysctl": {}, "variants": {}, "draw": {},
            "setup": [], "app": [], "fault": [], "answer": [], "tolerate": [],
            "must_not_blame": [], "impact": [], "progress": [],
            "note_is_enough": False, "paper": None, "set": "known",
            "standing": False, "nest_on": "A", "ipv6": False, "containers": 0}


def load_toml(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = found.group(1) if found else 1
        raise ScenarioError(
            f"{os.path.relpath(path)}:{line}: {error}") from None


def load(path):
    text, data = load_toml(path)
    reader = Reader(path, text)
    reader.table("the file", data, TOP, TOP_NEEDED)
    reader.choice("kind", data["kind"], KINDS)
    reader.choice("topology", data["topology"], tuple(RELAY_LINKS))
    check_lists(reader, data)
    data = {**DEFAULTS, **data}
    check_places(reader, data)
    check_apps(reader, data)
    check_faults(reader, data)
    check_answers(reader, data)
    check_impact(reader, data)
    check_expansion(reader, Scenario(path, data))
    return Scenario(path, data)


def check_lists(reader, data):
    if "relay" in data and data["topology"] == "router":
        if "relay_link" not in data:
            reader.fail("relay", "a relay in a router topology needs relay_link")
    if "relay_link" in data:
        reader.choice("relay_link", data["relay_link"],
                      RELAY_LINKS[data["topology"]])
    for key, values in data.get("variants", {}).items():
        if key not in ("role", "cc", "form") or not values or \
                not isinstance(values, list):
            reader.fail(key, f"variants may list role, cc and form, not {key}")
    for key, spec in data.get("draw", {}).items():
        if not isinstance(spec, dict) or not {"from", "to"} <= spec.keys() or \
                spec.keys() - {"from", "to", "log", "whole"}:
            reader.fail(key, f"draw.{key} needs from, to, and perhaps log=true, "
                        "whole=true")
        if spec.get("log") and spec["from"] <= 0:
            reader.fail(key, f"draw.{key}: a log scale starts above 0")
    for word in data.get("must_not_blame", []) + data.get("tolerate", []):
        reader.choice("must_not_blame", word, LAYERS + CAUSES)


def nodes_of(data):
    plain = "ABCDR" if data["topology"] == "router" else "AB"
    return tuple(plain) + tuple(CONTAINERS)[:data["containers"]]


def check_places(reader, data):
    if not 0 <= data["containers"] <= len(CONTAINERS):
        reader.fail("containers", f"containers is 0 to {len(CONTAINERS)}")
    reader.choice("nest_on", data["nest_on"], nodes_of(data))
    if data["standing"] and not data["fault"]:
        reader.fail("standing", "only a fault is standing")


def check_apps(reader, data):
    for nth, app in enumerate(data["app"]):
        reader.table("app", app, APP, APP_NEEDED, nth)
        reader.choice("on", app["on"], nodes_of(data), nth)
        words = shlex.split(app["run"])
        problem = real.check(words[1:]) if words[:1] == ["real"] else None
        if problem:
            reader.fail("run", f"run: {problem}", nth)
    known = backgrounds()
    for name in data["background"]:
        reader.choice("background", name, tuple(known))


def check_faults(reader, data):
    for key in ("setup", "fault"):
        for nth, step in enumerate(data[key]):
            problem = faults.check(step)
            if problem:
                reader.fail(key, f"{key}: {problem}", nth)
    if data["kind"] == "healthy" and data["fault"]:
        reader.fail("fault", "a healthy scenario has no fault")
    if data["kind"] in ("fault", "compound", "extra") and not data["fault"]:
        reader.fail("kind", f"a {data['kind']} scenario needs a [[fault]]")


def check_answers(reader, data):
    for nth, answer in enumerate(data["answer"]):
        reader.table("answer", answer, ANSWER, ANSWER_NEEDED, nth)
        for cause in (answer["cause"], *answer.get("accept", [])):
            if cause not in LAYER_OF:
                reader.fail("answer", f"{cause!r} is not a cause of the "
                            "vocabulary", nth)
        if not answer["module"]:
            reader.fail("answer", "module lists at least one pattern", nth)
    if bool(data["answer"]) != bool(data["fault"]):
        reader.fail("answer", "a fault needs an answer, and only a fault has one")


def check_impact(reader, data):
    if bool(data["impact"]) != bool(data["fault"]):
        reader.fail("impact" if data["impact"] else "fault",
                    "a fault needs an [[impact]] check, and only a fault "
                    "has one")
    names = {app["name"] for app in all_apps(data)}
    for nth, impact in enumerate(data["impact"]):
        reader.table("impact", impact, IMPACT, ("metric",), nth)
        reader.choice("metric", impact["metric"], METRICS)
        problem = impact_problem(impact, names, data["standing"])
        if problem:
            reader.fail("impact", problem, nth)


def impact_problem(impact, names, standing):
    limits = {"counter": {"counter", "on", "at_least"}, "lat": {"app", "above"},
              "errors": {"app", "at_least"}}
    needed = limits.get(impact["metric"], {"app", "below"})
    given = impact.keys() - {"metric", "within", "when", "window", "normal"}
    compared = impact["metric"] in ("bytes", "ops", "lat")
    if ("normal" in impact) != (standing and compared):
        return ("impact of a standing fault needs normal" if standing
                and compared else "only a standing fault is compared with "
                "normal, and only by bytes, ops or lat")
    if given != needed:
        return (f"impact by {impact['metric']} takes {', '.join(sorted(needed))}"
                f", not {', '.join(sorted(given))}")
    for name in impact.get("app", []):
        if name not in names:
            return f"impact.app: there is no app {name!r}"
    return None


def check_expansion(reader, scenario):
    """Checks that every template expands in every variant."""
    for seed in range(max(1, len(combinations(scenario)))):
        try:
            plan = Plan(scenario, seed)
            unknown = collections.defaultdict(int)
            plan.answers_with({app["name"]: 1 for app in plan.apps}, unknown,
                              "lab-")
        except (KeyError, ValueError, IndexError) as error:
            reader.fail("id", f"cannot fill in {error} (seed {seed})")
        names = [app["name"] for app in plan.apps]
        if len(names) != len(set(names)):
            reader.fail("app", "two apps of one variant have the same name")


_BACKGROUNDS = {}


def backgrounds():
    """Named healthy flows that run beside a fault."""
    if not _BACKGROUNDS:
        text, data = load_toml(BACKGROUND_FILE)
        reader = Reader(BACKGROUND_FILE, text)
        for name, apps in data.items():
            for app in apps:
                reader.table(name, app, APP, APP_NEEDED)
            _BACKGROUNDS[name] = apps
    return _BACKGROUNDS


def all_apps(data):
    apps = [dict(app, background=False) for app in data["app"]]
    for name in data["background"]:
        apps += [dict(app, background=True) for app in backgrounds()[name]]
    return apps


def combinations(scenario):
    keys = sorted(scenario.variants)
    return [dict(zip(keys, values)) for values in
            itertools.product(*(scenario.variants[key] for key in keys))]


def applies(when, choice):
    return all(choice.get(key) == value for key, value in (when or {}).items())


def draw_value(spec, generator):
    if spec.get("log"):
        value = math.exp(generator.uniform(math.log(spec["from"]),
                                           math.log(spec["to"])))
    else:
        value = generator.uniform(spec["from"], spec["to"])
    return round(value) if spec.get("whole") else float(f"{value:.4g}")


class Plan:
    """One run of a scenario with all random parts fixed."""

    def __init__(self, scenario, seed, choice=None):
        self.scenario, self.seed = scenario, seed
        generator = random.Random(f"{scenario.id}:{seed}")
        combos = combinations(scenario)
        self.choice = choice or combos[seed % len(combos)]
        self.drawn = {key: draw_value(spec, generator)
                      for key, spec in scenario.draw.items()}
        self.fault_at = scenario.warmup + generator.uniform(0.0, 0.6)
        self.length = self.fault_at + scenario.length
        self.words = {"cc": "cubic", **self.choice, **self.drawn,
                      "seed": seed, **self._addresses()}
        self.apps = [self._fill_app(app) for app in all_apps(scenario.data)
                     if applies(app.get("when"), self.choice)]
        self.setup = self._fill_steps(scenario.setup)
        self.faults = self._fill_steps(scenario.fault)
        self.relay = self.fill(scenario.relay) if scenario.relay else None
        self.impact = self._only_impact()

    def _addresses(self):
        return addresses_of(self.scenario.topology, self.scenario.ipv6,
                            self.scenario.containers)

    def fill(self, value, extra=None):
        if isinstance(value, str):
            return value.format_map({**self.words, **(extra or {})})
        if isinstance(value, list):
            return [self.fill(part, extra) for part in value]
        if isinstance(value, dict):
            return {key: self.fill(part, extra) for key, part in value.items()}
        return value

    def _fill_app(self, app):
        filled = {key: value if key == "when" else self.fill(value)
                  for key, value in app.items()}
        return {"later": False, "then": [], "stop": False, **filled}

    def _only_impact(self):
        chosen = [impact for impact in self.scenario.impact
                  if applies(impact.get("when"), self.choice)]
        if len(chosen) != len(self.scenario.impact[:1]):
            raise ValueError(f"impact: {len(chosen)} checks apply to "
                             f"{self.choice}")
        return chosen[0] if chosen else None

    def _fill_steps(self, steps):
        return [self.fill({key: value for key, value in step.items()
                           if key != "when"})
                for step in steps if applies(step.get("when"), self.choice)]

    def answers_with(self, pids, ports, prefix):
        """The expected answers, with values of the run filled in."""
        extra = {"pid": pids, "port": ports, "lab": prefix}
        answers = []
        for answer in self.scenario.answer:
            if not applies(answer.get("when"), self.choice):
                continue
            causes = [answer["cause"], *answer.get("accept", [])]
            answers.append({"causes": causes,
                            "layer": LAYER_OF[answer["cause"]],
                            "modules": self.fill(answer["module"], extra)})
        return answers

    def variant(self):
        return " ".join(f"{key}={value}"
                        for key, value in {**self.choice, **self.drawn}.items())


def find(pattern):
    """Scenario files whose id or file name starts with the pattern."""
    found = []
    for name in sorted(os.listdir(SCENARIO_DIR)):
        if not name.endswith(".toml"):
            continue
        stem = name[:-len(".toml")]
        patterns = (pattern, pattern + "-*")
        if any(fnmatch.fnmatchcase(stem.lower(), one.lower())
               for one in patterns):
            found.append(os.path.join(SCENARIO_DIR, name))
    return found


def load_all(pattern="*"):
    scenarios = [load(path) for path in find(pattern)]
    seen = {}
    for scenario in scenarios:
        other = seen.setdefault(scenario.id, scenario)
        if other is not scenario:
            raise ScenarioError(f"{os.path.relpath(scenario.path)}:1: id "
                                f"{scenario.id} is also in "
                                f"{os.path.relpath(other.path)}")
    return scenarios
