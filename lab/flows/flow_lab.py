# SPDX-License-Identifier: GPL-2.0-or-later
"""What the laboratory of the flow comparison consists of: servers, faults, healthy mixes.

A file serve_*.py declares servers and their faults; it is found by its name. A fault belongs to one server and says
which functions are a right answer: the one that holds the time, or the first one that differs. What is kept apart
(apart=True) is not for the development of the comparison: it is recorded only if asked for, once the method is final.
"""
import dataclasses
import glob
import importlib
import math
import os
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
# Bad sessions and all sessions of a recording.
SIZES = ((2, 20), (5, 100), (5, 2000))

SERVERS: dict = {}
FAULTS: list = []
FAULT_BY_NAME: dict = {}
MIXES: list = []


@dataclasses.dataclass
class Server:
    """command(place) starts it in the foreground; speaks makes its requests; get draws a usual one."""
    name: str
    speaks: typing.Any
    command: typing.Callable
    prepare: typing.Callable = lambda place: None
    apart: bool = False


@dataclasses.dataclass
class Fault:
    """make(place, r) is a bad session; usual(place, r) a good one of the same kind, part of the background."""
    server: str
    kind: str
    functions: frozenset
    make: typing.Callable
    usual: typing.Callable = None
    # Structure only: nothing but a label says that these sessions are bad.
    labelled_only: bool = False
    name: str = ''
    apart: bool = False

    def __post_init__(self):
        self.name = self.name or self.kind


@dataclasses.dataclass
class Mix:
    """draw(place, r, i, n): session i of n, all healthy."""
    name: str
    draw: typing.Callable
    sizes: tuple = (20, 100)
    unless: frozenset = frozenset()  # servers that cannot
    only: frozenset = frozenset()    # the only servers that can, if there are any


def server(name, speaks, **more):
    """Marks the function that returns a server's command."""
    def mark(command):
        SERVERS[name] = Server(name, speaks, command, **more)
        return command
    return mark


def fault(servers, kind, functions, **more):
    """Marks the function that makes a bad session; functions: names with blanks between them, or a list of names."""
    right = frozenset(functions.split() if isinstance(functions, str) else functions)

    def mark(make):
        FAULTS.extend(Fault(name, kind, right, make, **more) for name in servers.split())
        return make
    return mark


def mix(name, **more):
    """Marks the function that draws a healthy session."""
    def mark(draw):
        MIXES.append(Mix(name, draw, **more))
        return draw
    return mark


def load_all():
    for path in sorted(glob.glob(os.path.join(HERE, 'serve_*.py'))) + [os.path.join(HERE, 'flow_mixes.py')]:
        importlib.import_module(os.path.basename(path)[:-3])
    FAULT_BY_NAME.update({(f.server, f.name): f for f in FAULTS})


def between(r, low, high):
    """Log-uniform: as many small faults as large ones."""
    return math.exp(r.uniform(math.log(low), math.log(high)))


@dataclasses.dataclass
class Case:
    """One recording: a server with a fault or a mix."""
    server: str
    what: str      # name of the fault or mix
    kind: str      # kind of the fault; 'healthy'
    bad: int
    sessions: int
    seed: int

    @property
    def id(self):
        return f'{self.server}.{self.what}.{self.bad}of{self.sessions}.{self.seed}'

    @property
    def apart(self):
        fault_made = FAULT_BY_NAME.get((self.server, self.what))
        return SERVERS[self.server].apart or bool(fault_made and fault_made.apart)

    @property
    def load(self):
        """Every other pair of seeds has a busy machine."""
        return 'hog' if self.seed // 2 % 2 else 'quiet'

    @property
    def background(self):
        return 'mixed' if self.seed % 2 else 'uniform'


def cases(seeds):
    """All recordings for these seeds."""
    chosen = []
    for seed in seeds:
        chosen += [Case(f.server, f.name, f.kind, bad, n, seed) for f in FAULTS for bad, n in SIZES]
        chosen += [Case(name, m.name, 'healthy', 0, n, seed) for name in SERVERS for m in MIXES for n in m.sizes
                   if name not in m.unless and (not m.only or name in m.only)]
    return chosen


def fault_of(case):
    return FAULT_BY_NAME[case.server, case.what]


def mix_of(case):
    return next(m for m in MIXES if m.name == case.what)
