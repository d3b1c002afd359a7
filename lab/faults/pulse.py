# SPDX-License-Identifier: GPL-2.0-or-later
"""Intermittent faults: any fault that can be reverted, on and off."""

import threading

import faults
from faults import fault


@fault
def pulse(lab, *, step, broken_s, whole_s):
    """Inject and revert another fault in turn until the run ends."""
    stop, broken, whole = lab.stopping, float(broken_s), float(whole_s)
    put_right = faults.inject(lab, step)
    if put_right is None:
        raise ValueError(f"{step['do']} cannot be undone, so it cannot pulse")

    def beat(put_right):
        while not stop.wait(broken):
            put_right()
            if stop.wait(whole):
                return
            put_right = faults.inject(lab, step)
    lab.background(threading.Thread(target=beat, args=(put_right,),
                                    daemon=True))
