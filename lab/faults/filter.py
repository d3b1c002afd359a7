# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults made with nftables and tc filters, inside one namespace."""

import itertools
import shlex

from faults import fault

NUMBER = itertools.count()


def add_table(lab, on, hook, rules, family="ip", chain="filter",
              priority="-5"):
    """One private table, loaded atomically; returns the undo function."""
    name = f"fault{next(NUMBER)}"
    text = (f"table {family} {name} {{\n chain c {{\n"
            f"  type {chain} hook {hook} priority {priority}; policy accept;\n"
            + "".join(f"  {rule}\n" for rule in rules) + " }\n}\n")
    lab.network.inside(on, ["nft", "-f", "-"], text)
    return lambda: lab.network.inside(on, ["nft", "delete", "table", family,
                                           name], check=False)


@fault
def nft(lab, *, on, hook, rules, family="ip"):
    """Arbitrary rules in a chain of a hook.

    For example hook = "forward", or with family = "netdev" also
    hook = 'ingress device "eth0"'.
    """
    return add_table(lab, on, hook, rules, family)


@fault
def nft_nat(lab, *, on, hook, rules, family="ip"):
    """Translation rules that come before those of the topology."""
    return add_table(lab, on, hook, rules, family, "nat", "90")


@fault
def policy_route(lab, *, on, to, via):
    """Route packets to one host through another gateway, by mark.

    The reverse path filter ignores marks: it looks up the route of a reply in
    the main table.
    """
    network = lab.network
    network.inside(on, ["nft", "-f", "-"],
                   "table ip marks {\n chain c {\n"
                   "  type route hook output priority -150;\n"
                   f"  ip daddr {to} meta mark set 77\n }}\n}}\n")
    network.ip(on, f"route add default via {via} table 77",
               "rule add fwmark 77 lookup 77")


@fault
def nft_tuple(lab, *, on, hook, app):
    """Drop both directions of one connection, selected by its local port."""
    port = lab.connection_port(app)
    return add_table(lab, on, hook, [f"tcp sport {port} counter drop",
                                     f"tcp dport {port} counter drop"])


@fault
def track_connections(lab, *, on):
    """Enable conntrack: it is active only if a rule matches state."""
    return add_table(lab, on, "output", ["ct state invalid counter"])


@fault
def tc_drop(lab, *, on, dev, port):
    """A tc egress classifier that drops one destination port.

    Classic BPF, which also works on kernels without the gact action: load the
    half-word at 36 (Ethernet, IPv4 without options), compare, return
    TC_ACT_SHOT (2) or TC_ACT_UNSPEC (-1).
    """
    network = lab.network
    code = f"4,40 0 0 36,21 0 1 {int(port)},6 0 0 2,6 0 0 4294967295"
    network.inside(on, ["tc", "qdisc", "add", "dev", dev, "clsact"])
    network.inside(on, ["tc", "filter", "add", "dev", dev, "egress", "bpf",
                        "da", "bytecode", code])
    return lambda: network.inside(on, ["tc", "qdisc", "del", "dev", dev,
                                       "clsact"], check=False)


@fault
def long_ruleset(lab, *, on, count):
    """Rules that match nothing but slow down every received packet."""
    rules = [f"udp sport {1 + number % 1000} ip ttl 1 ip length {number} counter"
             for number in range(int(count))]
    return add_table(lab, on, "prerouting", rules)


@fault
def forget_connections(lab, *, on):
    """Flush the conntrack table: packets of open connections become invalid."""
    lab.network.inside(on, ["conntrack", "-F"])


# Opcodes of classic BPF; SKF_AD_OFF + SKF_AD_RANDOM is a random word.
RANDOM_WORD = 0x100000000 - 0x1000 + 56
PORT_AT = {"dport": 36, "sport": 34}
SHOT, UNSPEC = 2, 0xffffffff


def bpf_code(percent, match):
    """Drop a share of the packets of a port, such as "dport 5001", or of all.

    Ethernet, IPv4 without options.
    """
    lines = []
    if match:
        side, port = match.split()
        lines = [f"40 0 0 {PORT_AT[side]}", f"21 0 3 {int(port)}"]
    limit = min(int(0x100000000 * float(percent) / 100), 0xffffffff)
    lines += [f"32 0 0 {RANDOM_WORD}", f"53 1 0 {limit}", f"6 0 0 {SHOT}",
              f"6 0 0 {UNSPEC}"]
    return f"{len(lines)}," + ",".join(lines)


@fault
def tc_bpf(lab, *, on, dev, way, percent, match=""):
    """A BPF classifier that drops a share of packets, ingress or egress.

    percent = 0 drops nothing: the classifier only looks.
    """
    network = lab.network
    network.inside(on, ["tc", "qdisc", "add", "dev", dev, "clsact"])
    network.inside(on, ["tc", "filter", "add", "dev", dev, way, "bpf", "da",
                        "bytecode", bpf_code(percent, match)])
    return lambda: network.inside(on, ["tc", "qdisc", "del", "dev", dev,
                                       "clsact"], check=False)


@fault
def tc(lab, *, on, lines):
    """`tc` commands, one per line."""
    for line in lines:
        lab.network.inside(on, ["tc", *shlex.split(line)])


@fault
def nft_lines(lab, *, on, lines):
    """`nft` commands, applied together, as an administrator types them."""
    lab.network.inside(on, ["nft", "-f", "-"],
                       "".join(line + "\n" for line in lines))
