# SPDX-License-Identifier: GPL-2.0-or-later
"""Fault primitives, looked up by name.

A primitive is a function of (lab, *, parameters) in any file of this folder,
marked with @fault. It injects one fault and may return a function that undoes
it. To add one, add a function in a new or existing file.
"""

import importlib
import inspect
import os

REGISTRY = {}
TIMING = {"do", "at", "until", "when"}


def fault(function):
    REGISTRY[function.__name__.replace("_", "-")] = function
    return function


def parameters(function):
    """Keyword-only parameters: name -> required."""
    return {name: parameter.default is parameter.empty
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY}


def check(step):
    """The error in a fault step of a scenario file, or None."""
    if not isinstance(step, dict) or "do" not in step:
        return "a step needs 'do'"
    function = REGISTRY.get(step["do"])
    if function is None:
        return (f"unknown fault {step['do']!r}; known: "
                f"{', '.join(sorted(REGISTRY))}")
    known = parameters(function)
    unknown = step.keys() - known.keys() - TIMING
    if unknown:
        return f"{step['do']} has no {', '.join(sorted(unknown))}"
    missing = [name for name, needed in known.items()
               if needed and name not in step]
    if missing:
        return f"{step['do']} needs {', '.join(missing)}"
    return check(step["step"]) if "step" in known else None


def inject(lab, step):
    """Apply a step; returns the undo function or None."""
    arguments = {key: value for key, value in step.items() if key not in TIMING}
    return REGISTRY[step["do"]](lab, **arguments)


def load_all():
    for name in sorted(os.listdir(os.path.dirname(__file__))):
        if name.endswith(".py") and name != "__init__.py":
            importlib.import_module(f"{__name__}.{name[:-3]}")


load_all()
