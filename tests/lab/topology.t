#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The laboratory's networks come up, carry traffic, stay apart from the host and from each other, and go away.
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "lab")]
import harness
import topology


def reaches(network, node, address):
    return subprocess.run(network.enter(node) + ["ping", "-c1", "-W2", "-q", address],
                          capture_output=True).returncode == 0


def namespaces(network):
    return [name for name in os.listdir("/run/netns") if name[:-1] == network.prefix]


def test_router(tap):
    one, two = topology.Network("router"), topology.Network("router")
    try:
        one.up()
        two.up()
        tap.ok(one.prefix != two.prefix and len(namespaces(one)) == 5, "two labs at once, each with its own names",
               " ".join(sorted(namespaces(one))))
        for node in "BCD":
            tap.ok(reaches(one, "A", one.addresses[node]), f"A reaches {node} through the router")
        before = one.inside("B", ["cat", "/sys/class/net/eth0/statistics/rx_packets"], check=False)
        tap.ok(reaches(two, "A", two.addresses["B"]) and before is not None, "the second lab works beside the first")
        routes = one.inside("R", ["ip", "route", "show"])
        tap.ok("default" not in routes, "the router has no way out of the lab", routes.strip().replace("\n", "; "))
        offloads = one.inside("A", ["ethtool", "-k", "eth0"])
        tap.ok("tcp-segmentation-offload: off" in offloads and "generic-receive-offload: off" in offloads,
               "offloads are off unless asked for")
        try:
            one.sysctl("A", "net/ipv4/ip_default_ttl", "9999")
            tap.ok(False, "a setting that the kernel refuses is an error")
        except topology.LabError as error:
            tap.ok(True, "a setting that the kernel refuses is an error", str(error))
    finally:
        problems = one.down() + two.down()
    tap.equal((problems, namespaces(one), namespaces(two)), ([], [], []), "down leaves nothing")
    tap.equal(one.down(), [], "down twice is harmless")


def test_relay(tap):
    for link in ("A-R", "R-B"):
        network = topology.Network("router", relay_link=link)
        try:
            network.up()
            tap.ok(not reaches(network, "A", network.addresses["B"]),
                   f"a relay on {link} that does not run passes nothing")
            relay = network.spawn("X", [harness.RELAY, "xa", "xb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
            tap.equal(relay.stdout.readline(), "ready\n", f"the relay runs on {link}")
            tap.ok(reaches(network, "A", network.addresses["B"]), f"and A reaches B through it on {link}")
        finally:
            problems = network.down()
        tap.equal((problems, namespaces(network), relay.poll() is not None), ([], [], True),
                  f"down ends the relay on {link} and leaves nothing")


def test_ipv6(tap):
    network = topology.Network("router", ipv6=True)
    try:
        network.up()
        for node, address in topology.ROUTER_ADDRESSES6.items():
            tap.ok(node == "A" or reaches(network, "A", address), f"IPv6: A reaches {node}")
        tap.ok(reaches(network, "A", network.addresses["B"]), "and IPv4 works beside it")
        tap.ok("10.77" in network.inside("A", ["ip", "-4", "addr"]) and
               "fd77" in network.inside("A", ["ip", "-6", "addr", "show", "dev", "eth0"]), "both have addresses")
    finally:
        problems = network.down()
    tap.equal((problems, namespaces(network)), ([], []), "IPv6: down leaves nothing")


def test_containers(tap):
    network = topology.Network("router", containers=2)
    try:
        network.up()
        tap.ok(reaches(network, "K", topology.CONTAINERS["L"]), "a container reaches the other")
        tap.ok(reaches(network, "K", network.addresses["B"]), "and the world, through the NAT of A")
        tap.ok(not reaches(network, "B", topology.CONTAINERS["K"]), "the world does not know its address")
        server = network.spawn("K", [harness.APP, "rrd", "port=6001"], stdout=subprocess.PIPE, text=True)
        server.stdout.readline()
        done = network.inside("B", [harness.APP, "churn", f"dst={network.addresses['A']}", "port=6001", "count=3",
                                    "rate=100"])
        tap.ok('"ops":3,' in done.splitlines()[-1], "but a published port leads to K", done.splitlines()[-1])
    finally:
        problems = network.down()
    tap.equal((problems, namespaces(network)), ([], []), "containers: down leaves nothing")


def test_refusals(tap):
    for arguments, part in ((("ring",), "unknown topology"), (("router", "A-B"), "no link A-B")):
        try:
            topology.Network(*arguments).down()
            tap.ok(False, f"{arguments} is refused")
        except topology.LabError as error:
            tap.ok(part in str(error), f"{arguments} is refused", str(error))


def main():
    tap = harness.Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root for network namespaces")
        return
    test_refusals(tap)
    test_router(tap)
    test_relay(tap)
    test_ipv6(tap)
    test_containers(tap)
    tap.done()


main()
