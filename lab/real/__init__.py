# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs as applications of a scenario: run = "real KIND key=value ...".

A kind is a function in any file of this folder. A @server writes the program's
configuration to its room (a directory of the run, removed with it) and returns
the command line; it is ready when its port listens. A @metered program is
started by its function in a wrapper process that counts its progress
(meter.py). To add a kind, add a function.
"""

import importlib
import inspect
import os
import shutil

SERVERS, METERED, PROGRAMS = {}, {}, {}
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def server(program, name=None):
    def register(function):
        SERVERS[name or program] = function
        PROGRAMS[name or program] = program
        return function
    return register


def metered(program, name=None):
    def register(function):
        METERED[name or program] = function
        PROGRAMS[name or program] = program
        return function
    return register


def function_of(kind):
    return SERVERS.get(kind) or METERED.get(kind)


def options_of(words):
    return dict(word.partition("=")[::2] for word in words)


def check(words):
    """The error in the words after `real`, or None."""
    kind = words[0] if words else ""
    if kind not in PROGRAMS:
        return (f"unknown program {kind!r}; known: "
                f"{', '.join(sorted(PROGRAMS))}")
    known = {name: parameter.default is parameter.empty for name, parameter in
             inspect.signature(function_of(kind)).parameters.items()
             if parameter.kind is parameter.KEYWORD_ONLY}
    given = options_of(words[1:]).keys()
    if given - known.keys():
        return f"{kind} has no {', '.join(sorted(given - known.keys()))}"
    missing = [name for name, needed in known.items()
               if needed and name not in given]
    return f"{kind} needs {', '.join(missing)}" if missing else None


def path_of(kind):
    """Path of the program, or None if not installed."""
    return shutil.which(PROGRAMS[kind], path=SEARCH)


class Room:
    """The private directory of a program."""

    def __init__(self, path):
        self.path = path

    def place(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        with open(self.place(name), "w") as file:
            file.write(text)
        return self.place(name)


def load_all():
    for name in sorted(os.listdir(os.path.dirname(__file__))):
        if name.endswith(".py") and not name.startswith("__"):
            importlib.import_module(f"{__name__}.{name[:-3]}")


load_all()
