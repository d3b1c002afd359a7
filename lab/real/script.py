# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers that are a Python function of this folder."""

import os
import sys

LAB = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def command_of(module, *words):
    """Command line of a process that calls serve(*words) of real.MODULE."""
    code = (f"import sys; sys.path.insert(0, sys.argv[1]); "
            f"from real.{module} import serve; serve(*sys.argv[2:])")
    return [sys.executable, "-c", code, LAB, *words]


def address_of(text):
    """("10.77.2.2", 80) of 10.77.2.2:80; brackets around an IPv6 address."""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
