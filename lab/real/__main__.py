# SPDX-License-Identifier: GPL-2.0-or-later
"""The process between the lab and a metered program: KIND ROOM key=value ..."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
import real
from real import meter

KIND, ROOM, *WORDS = sys.argv[1:]
real.METERED[KIND](meter.Meter(), real.Room(ROOM), **real.options_of(WORDS))
# Metered programs run until the lab ends them.
sys.exit(f"{KIND} exited unexpectedly")
