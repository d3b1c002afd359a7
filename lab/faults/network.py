# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of interfaces, queues, routes, neighbours and the relay."""

import threading

from faults import fault


@fault
def link_down(lab, *, on, dev):
    """Set the interface down (this also removes its routes)."""
    gateway = lab.network.inside(on, ["ip", "route", "show", "default"]).strip()
    lab.network.ip(on, f"link set {dev} down")

    def put_right():
        lab.network.ip(on, f"link set {dev} up")
        if gateway:
            lab.network.ip(on, f"route replace {gateway}")
    return put_right


@fault
def link_flap(lab, *, on, dev, down_s, up_s):
    """Flap the interface until the run ends."""
    stop = lab.stopping

    def flap():
        while not stop.is_set():
            lab.network.ip(on, f"link set {dev} down")
            stop.wait(float(down_s))
            lab.network.ip(on, f"link set {dev} up")
            stop.wait(float(up_s))
    lab.background(threading.Thread(target=flap, daemon=True))


@fault
def cable(lab, *, on, dev, to, peer):
    """Another link between two hosts, up and without addresses."""
    lab.network.add_link((on, dev), (to, peer))


@fault
def macvlan(lab, *, on, dev, to, peer):
    """A macvlan device of one host's interface in another namespace, up."""
    network = lab.network
    network.ip(on, f"link add {peer} link {dev} netns {network.netns(to)} "
               "type macvlan mode bridge")
    network.ip(to, f"link set {peer} up")


@fault
def mtu(lab, *, on, dev, bytes):
    """Set another MTU on one end of a link."""
    lab.network.ip(on, f"link set {dev} mtu {int(bytes)}")


@fault
def qdisc(lab, *, on, dev, spec):
    """Set the root qdisc of an interface."""
    network = lab.network
    network.inside(on, ["tc", "qdisc", "replace", "dev", dev, "root",
                        *spec.split()])
    return lambda: network.inside(on, ["tc", "qdisc", "del", "dev", dev,
                                       "root"], check=False)


@fault
def route(lab, *, on, change, back=None):
    """One `ip route` command, and optionally its undo."""
    lab.network.ip(on, "route " + change)
    return (lambda: lab.network.ip(on, "route " + back)) if back else None


@fault
def ip(lab, *, on, lines, back=None):
    """`ip` commands, one per line, and optionally their undo."""
    lab.network.ip(on, *lines)
    return (lambda: lab.network.ip(on, *back)) if back else None


@fault
def bridge(lab, *, on, lines):
    """`bridge` commands, one per line."""
    for line in lines:
        lab.network.inside(on, ["bridge", *line.split()])


@fault
def neighbour(lab, *, on, change, back=None):
    """One `ip neigh` command."""
    lab.network.ip(on, "neigh " + change)
    return (lambda: lab.network.ip(on, "neigh " + back)) if back else None


@fault
def arp_off(lab, *, on, dev, flush_on, flush_dev):
    """Disable ARP replies of a host, and flush a neighbour's entry for it."""
    lab.network.ip(on, f"link set {dev} arp off")
    lab.network.ip(flush_on, f"neigh flush dev {flush_dev}")


@fault
def relay(lab, *, set, back=None):
    """Change relay settings at run time."""
    lab.relay_command(set)
    return (lambda: lab.relay_command(back)) if back else None


@fault
def sysctl(lab, *, on, key, value):
    """Set a sysctl of one namespace."""
    lab.network.sysctl(on, key, value)


@fault
def global_sysctl(lab, *, key, value):
    """Set a global sysctl: only in scenarios marked exclusive."""
    if not lab.plan.scenario.exclusive:
        raise ValueError(f"{key} is global: mark the scenario exclusive")
    lab.network.global_sysctl(key, value)


@fault
def reset_connections(lab, *, on, port, every_s):
    """Destroy the sockets on a port: each peer receives a reset."""
    command = ["ss", "-K", "-t", "-n", "state", "established",
               f"( sport = :{port} )"]
    stop = lab.stopping

    def keep_resetting():
        while not stop.is_set():
            lab.network.inside(on, command, check=False)
            stop.wait(float(every_s))
    lab.network.inside(on, command)
    lab.background(threading.Thread(target=keep_resetting, daemon=True))


@fault
def rps(lab, *, on, dev, mask):
    """Steer received packets of an interface to the CPUs of a mask."""
    path = f"/sys/class/net/{dev}/queues/rx-0/rps_cpus"
    script = ('mount -t sysfs nestlab /sys && printf %s "$2" >"$1"')
    lab.network.inside(on, ["unshare", "--mount", "sh", "-c", script, "sh",
                            path, mask])


@fault
def coalesce(lab, *, on, dev, ms):
    """Hold received packets back for up to N ms, as interrupt coalescing does."""
    lab.network.inside(on, ["ethtool", "-K", dev, "gro", "on"])
    script = ('mount -t sysfs nestlab /sys && '
              'printf %s "$2" >"$1/gro_flush_timeout" && '
              'printf 1000000 >"$1/napi_defer_hard_irqs"')
    lab.network.inside(on, ["unshare", "--mount", "sh", "-c", script, "sh",
                            f"/sys/class/net/{dev}",
                            str(int(float(ms) * 1e6))])
