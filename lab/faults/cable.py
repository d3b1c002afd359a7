# SPDX-License-Identifier: GPL-2.0-or-later
"""Links beyond those of the topology."""

from faults import fault


@fault
def cable(lab, *, one, other):
    """A cable between two hosts, such as "A:eth1" and "R:ra2", both up."""
    network = lab.network
    network.link(*(tuple(end.split(":")) for end in (one, other)))
    if not network.offloads:
        network.switch_offloads("off")
