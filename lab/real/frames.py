# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet frames that switches and neighbours send: LLDP, VLANs, ARP."""

import socket
import struct

from real import metered
from real.noise import every

EVERYBODY = b"\xff" * 6
LLDP_GROUP = b"\x01\x80\xc2\x00\x00\x0e"
ETH_ARP, ETH_VLAN, ETH_IPX, ETH_LLDP = 0x0806, 0x8100, 0x8137, 0x88cc
ARP_REQUEST = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)


def wire_of(dev):
    """A packet socket of the interface, and its own address."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((dev, 0))
    return out, out.getsockname()[4]


@metered("python3", name="frames")
def frames(meter, room, *, dev, vlan="200", rate="50"):
    """LLDP, IPX and frames of a VLAN in turn; an operation is one frame."""
    out, own = wire_of(dev)
    kinds = [LLDP_GROUP + own + struct.pack("!H", ETH_LLDP),
             EVERYBODY + own + struct.pack("!H", ETH_IPX),
             EVERYBODY + own + struct.pack("!HHH", ETH_VLAN, int(vlan),
                                           ETH_ARP)]
    meter.ready()
    sent = 0
    for _ in every(rate):
        out.send(kinds[sent % len(kinds)] + bytes(50))
        meter.op()
        sent += 1


@metered("python3", name="gratuitous-arp")
def gratuitous_arp(meter, room, *, dev, address, rate="1"):
    """Announces that this interface has `address`; an operation is one frame."""
    out, own = wire_of(dev)
    place = socket.inet_aton(address)
    frame = (EVERYBODY + own + struct.pack("!H", ETH_ARP) + ARP_REQUEST + own
             + place + bytes(6) + place)
    meter.ready()
    for _ in every(rate):
        out.send(frame)
        meter.op()
