# SPDX-License-Identifier: GPL-2.0-or-later
"""Private networks of namespaces for the laboratory.

    router   A --- R --- B       B and C share the subnet 10.77.2.0/24 (a
                   |---- C       bridge in R), D is in 10.77.3.0/24
                   `---- D
    relay    A === X === B       one subnet, the relay program in X forwards

A router topology may also have the relay, on the link A-R or R-B. Names
are unique (nestlab-PID-...), addresses repeat in every lab because they never
leave its namespaces. Everything is removed with the lab: see undo.py.

Containers K and L are namespaces behind a bridge of A (10.77.4.0/24), which
masquerades what they send and forwards ports 6000 to 6099 of its own to K.
"""

import fcntl
import itertools
import os
import subprocess
import time

import undo

LOCK_PATH = "/run/nestlab.lock"
COUNTER = itertools.count()
OFFLOADS = ("tso", "gso", "gro")

ROUTER_ADDRESSES = {"A": "10.77.1.2", "B": "10.77.2.2", "C": "10.77.2.3",
                    "D": "10.77.3.2"}
RELAY_ADDRESSES = {"A": "10.77.1.2", "B": "10.77.1.3"}
GATEWAYS = {"A": "10.77.1.1", "B": "10.77.2.1", "C": "10.77.2.1",
            "D": "10.77.3.1"}
CONTAINERS = {"K": "10.77.4.2", "L": "10.77.4.3"}
CONTAINER_GATEWAY = "10.77.4.1"
ROUTER_ADDRESSES6 = {"A": "fd77:1::2", "B": "fd77:2::2", "C": "fd77:2::3",
                     "D": "fd77:3::2"}
RELAY_ADDRESSES6 = {"A": "fd77:1::2", "B": "fd77:1::3"}
GATEWAYS6 = {"A": "fd77:1::1", "B": "fd77:2::1", "C": "fd77:2::1",
             "D": "fd77:3::1"}
RELAY_LINKS = {"router": ("A-R", "R-B"), "relay": ("A-B",)}

IPV6_OFF = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}
# Addresses are usable at once, and only the configured ones exist.
IPV6_ON = {
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/accept_ra": "0",
}
NAT_RULES = f"""table ip nat {{
 chain out {{
  type nat hook postrouting priority srcnat;
  ip saddr 10.77.4.0/24 oifname "eth0" masquerade
 }}
 chain in {{
  type nat hook prerouting priority dstnat;
  iifname "eth0" tcp dport 6000-6099 dnat to {CONTAINERS["K"]}
  iifname "eth0" udp dport 6000-6099 dnat to {CONTAINERS["K"]}
 }}
}}
"""


def addresses_of(kind, ipv6=False, containers=0):
    """Placeholders of scenario files: {A}, with IPv6 {A6}, containers {K}."""
    relay = kind == "relay"
    words = dict(RELAY_ADDRESSES if relay else ROUTER_ADDRESSES)
    if ipv6:
        words.update({node + "6": address for node, address in (
            RELAY_ADDRESSES6 if relay else ROUTER_ADDRESSES6).items()})
    words.update(list(CONTAINERS.items())[:containers])
    return words


class LabError(Exception):
    """An error for the user, in one sentence."""


def run(command, stdin=None, check=True, keep_fds=()):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True,
                          pass_fds=keep_fds)
    if check and done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().replace("\n", "; ")
        raise LabError(f"{' '.join(command)}: {reason}")
    return done.stdout


def take_lock(exclusive):
    """Labs share the machine; an exclusive one waits until it is alone.

    All pass a gate first, so that new labs queue behind a waiting exclusive
    one instead of starving it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    gate = os.open(LOCK_PATH + ".gate", flags, 0o600)
    fd = os.open(LOCK_PATH, flags, 0o600)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(fd, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
    except BaseException:
        os.close(fd)
        raise
    finally:
        os.close(gate)
    return fd


class Network:
    """The namespaces, links and addresses of one lab."""

    def __init__(self, kind="router", relay_link=None, offloads=False,
                 exclusive=False, ipv6=False, containers=0):
        if kind not in RELAY_LINKS:
            raise LabError(f"unknown topology {kind}")
        self.kind = kind
        self.relay_link = "A-B" if kind == "relay" else relay_link
        if self.relay_link and self.relay_link not in RELAY_LINKS[kind]:
            raise LabError(f"topology {kind} has no link {self.relay_link}")
        self.offloads, self.ipv6 = offloads, ipv6
        self.containers = list(CONTAINERS)[:containers]
        number = next(COUNTER)
        suffix = f"{number}-" if number else ""
        self.prefix = f"nestlab-{os.getpid()}-{suffix}"
        self.lock = take_lock(exclusive)
        self.undoer = undo.Undoer(self.prefix, (self.lock,))
        self.addresses = dict(RELAY_ADDRESSES if kind == "relay"
                              else ROUTER_ADDRESSES)
        self.links = []

    # names

    def netns(self, node):
        return self.prefix + node.lower()

    def path(self, node):
        return f"/run/netns/{self.netns(node)}"

    def nodes(self):
        middle = ["R"] if self.kind == "router" else []
        return [*self.addresses, *middle, *self.containers] + \
            (["X"] if self.relay_link else [])

    # up and down

    def up(self):
        for node in self.nodes():
            self.undoer.note("netns", self.netns(node))
            self.run(["ip", "netns", "add", self.netns(node)])
            settings = IPV6_ON if self.ipv6 else IPV6_OFF
            for key, value in settings.items():
                self.sysctl(node, key, value)
        self._cable()
        for node in self.addresses:
            self._address_host(node)
        if self.kind == "router":
            self._address_router()
        if self.containers:
            self._add_containers()
        if not self.offloads:
            self._switch_offloads("off", self.links)

    def down(self):
        problems = self.undoer.finish()
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None
        return problems

    def _cable(self):
        if self.kind == "relay":
            self._link_or_relay("A-B", ("A", "eth0"), ("B", "eth0"))
            return
        self._link_or_relay("A-R", ("A", "eth0"), ("R", "ra"))
        self._link_or_relay("R-B", ("R", "rb"), ("B", "eth0"))
        self._link(("R", "rc"), ("C", "eth0"))
        self._link(("R", "rd"), ("D", "eth0"))

    def _link_or_relay(self, name, one, other):
        if name == self.relay_link:
            self._link(one, ("X", "xa"))
            self._link(("X", "xb"), other)
        else:
            self._link(one, other)

    def _link(self, one, other):
        (node, dev), (peer_node, peer_dev) = one, other
        self.run(["ip", "link", "add", dev, "netns", self.netns(node), "type",
                  "veth", "peer", "name", peer_dev, "netns",
                  self.netns(peer_node)])
        self.links += [one, other]
        for place, name in (one, other):
            self.ip(place, f"link set {name} up")

    def add_link(self, one, other):
        """Another link once the network is up."""
        self._link(one, other)
        if not self.offloads:
            self._switch_offloads("off", (one, other))

    def _address_host(self, node):
        batch = ["link set lo up",
                 f"addr add {self.addresses[node]}/24 dev eth0"]
        if self.kind == "router":
            batch.append(f"route add default via {GATEWAYS[node]}")
        if self.ipv6:
            batch += self._ipv6_lines(node)
        self.ip(node, *batch)

    def _ipv6_lines(self, node):
        relay = self.kind == "relay"
        address = (RELAY_ADDRESSES6 if relay else ROUTER_ADDRESSES6)[node]
        yield f"addr add {address}/64 dev eth0 nodad"
        if not relay:
            yield f"route add ::/0 via {GATEWAYS6[node]}"

    def _address_router(self):
        self.ip("R", "link set lo up", "link add rbr type bridge",
                "link set rb master rbr", "link set rc master rbr",
                "link set rbr up", "addr add 10.77.1.1/24 dev ra",
                "addr add 10.77.2.1/24 dev rbr",
                "addr add 10.77.3.1/24 dev rd")
        self.sysctl("R", "net/ipv4/ip_forward", "1")
        if self.ipv6:
            self.ip("R", *(f"addr add fd77:{net}::1/64 dev {dev} nodad"
                           for net, dev in ((1, "ra"), (2, "rbr"), (3, "rd"))))
            self.sysctl("R", "net/ipv6/conf/all/forwarding", "1")

    def _add_containers(self):
        self.ip("A", "link add br0 type bridge", "link set br0 up",
                f"addr add {CONTAINER_GATEWAY}/24 dev br0")
        for node in self.containers:
            port = f"v{node.lower()}"
            self._link(("A", port), (node, "eth0"))
            self.ip("A", f"link set {port} master br0")
            self.ip(node, "link set lo up",
                    f"addr add {CONTAINERS[node]}/24 dev eth0",
                    f"route add default via {CONTAINER_GATEWAY}")
        self.sysctl("A", "net/ipv4/ip_forward", "1")
        self.inside("A", ["nft", "-f", "-"], NAT_RULES)

    def _switch_offloads(self, state, links):
        words = [word for name in OFFLOADS for word in (name, state)]
        for node, dev in links:
            self.inside(node, ["ethtool", "-K", dev, *words])

    # doing things inside

    def run(self, command, stdin=None, check=True):
        """A short command; keeps the watchdog's pipe open until it exits.

        So the watchdog never undoes a change in progress.
        """
        pipe = self.undoer.pipe
        return run(command, stdin, check, () if pipe is None else (pipe,))

    def enter(self, node):
        return ["nsenter", f"--net={self.path(node)}"]

    def inside(self, node, command, stdin=None, check=True):
        return self.run(self.enter(node) + command, stdin, check)

    def ip(self, node, *lines):
        self.run(["ip", "-n", self.netns(node), "-batch", "-"],
                 "".join(line + "\n" for line in lines))

    def sysctl(self, node, key, value):
        """A sysctl of one namespace; disappears with the namespace."""
        path = "/proc/sys/" + key
        script = 'printf %s "$2" >"$1" && cat "$1"'
        now = self.inside(node, ["sh", "-c", script, "sh", path, str(value)])
        if now.split() != str(value).split():
            raise LabError(f"{key} in {node} is {now.strip()}, "
                           f"not {value} as requested")

    def global_sysctl(self, key, value):
        """A global sysctl: logged, verified, restored."""
        path = "/proc/sys/" + key
        before = undo.read_text(path)
        if before is None:
            raise LabError(f"there is no {path} on this kernel")
        self.undoer.note("sysctl", path, " ".join(before.split()))
        problems = undo.restore_sysctl(path, str(value))
        if problems:
            raise LabError(problems[0])

    def cgroup(self, controller, name):
        """A private cgroup (v1 controller, or v2 with the cpu controller)."""
        base = f"/sys/fs/cgroup/{controller}"
        if not os.path.isdir(base):
            base = "/sys/fs/cgroup"
        path = os.path.join(base, self.prefix + name)
        if not os.path.isdir(path):
            self.undoer.note("cgroup", path)
            os.mkdir(path)
        return path

    def spawn(self, node, command, **options):
        """Start a program in a namespace, tagged and logged for undo."""
        environment = dict(os.environ, NESTLAB=self.prefix)
        process = subprocess.Popen(
            self.enter(node) + command, env=environment,
            start_new_session=True, preexec_fn=undo.die_with_parent,
            **options)
        started = undo.start_time(process.pid)
        if started is not None:
            self.undoer.note("pid", process.pid, started)
        return process

    def describe(self):
        """The topology as text."""
        return "\n".join(draw(self))


def draw(network):
    address = network.addresses
    if network.kind == "relay":
        return [f"  A {address['A']} eth0 === relay === eth0 "
                f"{address['B']} B"]
    left = "=== relay ===" if network.relay_link == "A-R" else "---"
    right = "=== relay ===" if network.relay_link == "R-B" else "---"
    pad = " " * (len(f"  A {address['A']} eth0 {left} ") + 1)
    return [f"  A {address['A']} eth0 {left} R {right} eth0 {address['B']} B",
            f"{pad}|--- eth0 {address['C']} C",
            f"{pad}`--- eth0 {address['D']} D"]


def wait_until(condition, seconds, what):
    """Poll for a condition; raise LabError on timeout."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"{what} (waited {seconds:g} s)")
        time.sleep(0.01)
