#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# The relay does to packets what its words say, counts what it did, and ends on request or with its parent.
# Times are judged by medians, counts by what chance allows (five standard deviations).
import math
import os
import select
import socket
import statistics
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness
from harness import APP, RELAY

ETHER_IP_UDP = 14 + 20 + 8
PORT = 5000
SO_TIMESTAMPNS = 35


class Path:
    """Sockets at both ends of the relay; datagrams carry a number and the time they left.

    The kernel stamps their arrival, so a reader that is late (a busy machine) does not make them look late.
    """

    def __init__(self, stack, a, b):
        self.ends = {}
        for name, namespace, address in (("a", a, "10.77.1.1"), ("b", b, "10.77.1.2")):
            end = namespace.socket(socket.AF_INET, socket.SOCK_DGRAM)
            end.bind((address, PORT))
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            end.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            end.setblocking(False)
            stack.callback(end.close)
            self.ends[name] = (end, (address, PORT))

    def exchange(self, count, direction="ab", payload=100, gap=0.0, settle=0.3):
        """Sends count datagrams, one every gap seconds; returns (number, delay in ms, arrival in s) as they arrive."""
        sender, receiver = self.ends[direction[0]][0], self.ends[direction[1]]
        filler = bytes(range(256)) * (payload // 256 + 1)
        arrived, sent, started = [], 0, time.monotonic()
        self.damaged = 0
        quiet_until = started + settle
        while sent < count or time.monotonic() < quiet_until:
            now = time.monotonic()
            while sent < count and now >= started + sent * gap:
                head = struct.pack("=QQ", sent, time.time_ns())
                sender.sendto(head + filler[16:payload], receiver[1])
                sent += 1
                quiet_until = time.monotonic() + settle
                if gap or sent % 32 == 0:
                    break
            wait = 0 if sent < count and not gap else min(0.001, gap or 0.001)
            if select.select([receiver[0]], [], [], wait)[0]:
                self._drain(receiver[0], filler[16:payload], arrived)
                quiet_until = max(quiet_until, time.monotonic() + settle)
        return arrived

    def _drain(self, end, want, arrived):
        while True:
            try:
                data, extra, _, _ = end.recvmsg(65536, 256)
            except BlockingIOError:
                return
            number, left_ns = struct.unpack("=QQ", data[:16])
            seconds, nanoseconds = struct.unpack("=qq", extra[0][2])
            now_ns = seconds * 10**9 + nanoseconds
            if data[16:] != want:
                self.damaged += 1
            arrived.append((number, (now_ns - left_ns) / 1e6, now_ns / 1e9))


def median_delay(arrived):
    return statistics.median(delay for _, delay, _ in arrived) if arrived else None


def bounds(count, share):
    deviation = 5 * math.sqrt(count * share * (1 - share))
    return count * share - deviation, count * share + deviation


def overtaken(arrived):
    """How many came after one with a higher number."""
    late, highest = 0, -1
    for number, _, _ in arrived:
        late += number < highest
        highest = max(highest, number)
    return late


def gaps(arrived, count):
    """Lengths of runs of missing numbers."""
    seen, runs, run = {number for number, _, _ in arrived}, [], 0
    for number in range(count):
        if number not in seen:
            run += 1
        elif run:
            runs.append(run)
            run = 0
    return runs + [run] if run else runs


def build(stack):
    a, r, b = harness.Namespace(stack), harness.Namespace(stack), harness.Namespace(stack)
    for namespace in (a, r, b):
        # Multicast that nobody asked for would draw from the relay's dice.
        namespace.sysctl("net/ipv6/conf/all/disable_ipv6", 1)
        namespace.sysctl("net/ipv6/conf/default/disable_ipv6", 1)
    harness.cable(a, "a0", r, "a1")
    harness.cable(b, "b0", r, "b1")
    a.run("ip", "address", "add", "10.77.1.1/24", "dev", "a0")
    b.run("ip", "address", "add", "10.77.1.2/24", "dev", "b0")
    set_offloads(a, r, b, "off")
    return a, r, b


def set_offloads(a, r, b, state):
    for namespace, interface in ((a, "a0"), (r, "a1"), (b, "b0"), (r, "b1")):
        harness.offloads(namespace, interface, state)


def check_refusals(tap, r):
    for words in (["a1"], ["a1", "b1", "lose=1"], ["a1", "b1", "loss=101"], ["a1", "b1", "loss=-1"],
                  ["a1", "b1", "delay=12abc"], ["a1", "b1", "delay"], ["a1", "b1", "hole=2"],
                  ["a1", "b1", "maxlen=1.5"],
                  ["a1", "b1", "xy.loss=1"], ["a1", "b1", "seed=x"], ["a1", "b1", "burst=0.5"]):
        status, errors = harness.refused(r, RELAY, *words)
        tap.ok(status == 2 and errors, f"refused: {' '.join(words)}", errors.splitlines()[0] if errors else "silent")
    status, errors = harness.refused(r, RELAY, "a1", "nosuch0")
    tap.ok(status == 1 and "nosuch0" in errors, "an interface that is not there is named", errors.strip())


def check_delay(tap, relay, path):
    tap.between(median_delay(path.exchange(200, gap=0.002)), 0, 1, "nothing asked: under 1 ms at the median")
    relay.say("ab.delay=20 ba.delay=5.5")
    tap.between(median_delay(path.exchange(100, gap=0.002)), 20, 21.5, "ab.delay=20")
    tap.between(median_delay(path.exchange(100, "ba", gap=0.002)), 5.5, 7, "ba.delay=5.5")
    relay.say("delay=20 jitter=10")
    arrived = path.exchange(600, gap=0.002)
    delays = sorted(delay for _, delay, _ in arrived)
    tap.equal(len(arrived), 600, "jitter loses nothing")
    tap.between(delays[30], 9.9, 17, "jitter=10 at delay=20: the quickest twentieth")
    tap.between(delays[570], 23, 32, "jitter=10 at delay=20: the slowest twentieth")
    tap.equal(overtaken(arrived), 0, "jitter keeps the order")
    relay.say("delay=0 jitter=0")


def check_loss(tap, relay, path):
    relay.say("ab.loss=10 seed=7")
    before = relay.say("stats")
    arrived = path.exchange(2000)
    after = relay.say("stats")
    tap.between(2000 - len(arrived), *bounds(2000, 0.10), "loss=10 of 2000")
    tap.equal(after["ab"]["lost"] - before["ab"]["lost"], 2000 - len(arrived),
              "what is lost is counted, nothing else is lost")
    tap.equal(len(path.exchange(300, "ba")), 300, "ab.loss does not affect the return path")
    kept = []
    for _ in range(2):
        relay.say("ab.loss=30 seed=99")
        kept.append([number for number, _, _ in path.exchange(300)])
    tap.ok(kept[0] == kept[1] and 0 < len(kept[0]) < 300, "the same seed loses the same packets")
    relay.say("ab.loss=30 seed=100")
    tap.ok([number for number, _, _ in path.exchange(300)] != kept[0], "another seed loses others")
    relay.say("ab.loss=10 ab.burst=5 seed=3")
    runs = gaps(path.exchange(5000), 5000)
    # A burst counts as one draw: the spread is that of a fifth as many events of five times the size.
    tap.between(sum(runs), 250, 750, "loss=10 burst=5 of 5000: still a tenth")
    tap.between(statistics.mean(runs), 3.5, 6.5, "loss=10 burst=5: bursts of five on average")
    relay.say("loss=0 burst=1")


def check_rate(tap, relay, path):
    size, count = 1000, 200
    relay.say("ab.rate=8 ab.limit=2000000")
    arrived = path.exchange(count, payload=size)
    span = arrived[-1][2] - arrived[0][2]
    tap.equal(len(arrived), count, "a long queue loses nothing")
    tap.between((count - 1) * (size + ETHER_IP_UDP) * 8 / span / 1e6, 7.6, 8.4, "rate=8 Mbit/s")
    # They wait at a nearly closed link first: how fast they were sent must not matter.
    relay.say("ab.rate=0.1")
    path.exchange(1000, payload=size, settle=0.02)
    relay.say("ab.rate=80")
    arrived = path.exchange(0, payload=size)
    span = arrived[-1][2] - arrived[0][2]
    tap.between((len(arrived) - 1) * (size + ETHER_IP_UDP) * 8 / span / 1e6, 76, 84,
                "rate=80 Mbit/s, late wake-ups or not")
    before = relay.say("stats")["ab"]
    relay.say("ab.rate=8 ab.limit=20000")
    arrived = path.exchange(100, payload=size)
    after = relay.say("stats")["ab"]
    tap.between(len(arrived), 19, 40, "limit=20000: about 19 packets of a burst of 100 find room")
    tap.equal(after["queue_drops"] - before["queue_drops"], 100 - len(arrived), "what finds no room is counted")
    relay.say("ab.rate=0.1 ab.limit=1000000")
    path.exchange(50, payload=size, settle=0.02)
    waiting = relay.say("stats")["ab"]["queue_bytes"]
    tap.between(waiting, 45 * (size + ETHER_IP_UDP), 50 * (size + ETHER_IP_UDP), "stats show the queue")
    relay.say("rate=0 limit=1000000")
    time.sleep(0.02)
    tap.equal(relay.say("stats")["ab"]["queue_bytes"], 0, "a queue empties when the limit on the rate goes")
    path.exchange(1, settle=0.2)


def check_collisions(tap, relay, path):
    relay.say("ab.collide=100 ba.rate=0.1 ba.limit=1000000")
    before = relay.say("stats")["ab"]["collided"]
    tap.equal(len(path.exchange(20)), 20, "collide=100 loses nothing while the other direction rests")
    path.exchange(5, "ba", payload=1000, settle=0.02)
    tap.equal(len(path.exchange(20, settle=0.05)), 0, "and everything while it transmits")
    tap.equal(relay.say("stats")["ab"]["collided"] - before, 20, "and counts it")
    relay.say("collide=0 rate=0")
    path.exchange(1, "ba", payload=1000, settle=0.2)


def check_doorway(tap, relay, path):
    relay.say("ab.maxlen=1000")
    before = relay.say("stats")["ab"]["too_long"]
    tap.equal(len(path.exchange(20, payload=1000 - 28)), 20, "maxlen=1000 passes an IP packet of 1000")
    tap.equal(len(path.exchange(20, payload=1001 - 28)), 0, "maxlen=1000 drops one of 1001")
    tap.equal(relay.say("stats")["ab"]["too_long"] - before, 20, "and counts it")
    relay.say("maxlen=0")
    relay.say("hole=1")
    before = relay.say("stats")["ab"]["hole"]
    tap.equal(len(path.exchange(50)), 0, "hole=1 drops everything")
    tap.equal(relay.say("stats")["ab"]["hole"] - before, 50, "and counts it")
    relay.say("hole=0")
    tap.equal(len(path.exchange(50)), 50, "hole=0 lets everything pass again")


def bit_errors(frames, want):
    """By how much the UDP checksum of each damaged packet is off, as a pair: up, and down."""
    off = []
    for packet in frames:
        header = (packet[0] & 15) * 4
        segment = packet[header:struct.unpack("!H", packet[2:4])[0]]
        if packet[9] != 17 or segment[2:4] != struct.pack("!H", PORT) or segment[24:] == want:
            continue
        covered = packet[12:20] + struct.pack("!HH", 17, len(segment)) + segment + b"\0" * (len(segment) % 2)
        total = sum(struct.unpack(f"!{len(covered) // 2}H", covered)) % 0xFFFF
        off.append((total, 0xFFFF - total))
    return off


def check_damage(tap, relay, path, b):
    """A damaged packet is the right one but for a single bit: its checksum is off by a power of two."""
    with b.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as tapped:
        tapped.bind(("b0", 0x0800))
        tapped.setblocking(False)
        relay.say("ab.corrupt=100")
        path.exchange(100, payload=400, gap=0.0005)
        relay.say("corrupt=0")
        frames = []
        try:
            while True:
                frames.append(tapped.recv(65536))
        except BlockingIOError:
            pass
    off = bit_errors(frames, (bytes(range(256)) * 2)[16:400])
    tap.ok(len(off) > 50 and all(up.bit_count() == 1 or down.bit_count() == 1 for up, down in off),
           "one bit of a damaged packet is wrong, and its checksum is there to show it", f"{len(off)} packets")


def check_oddities(tap, relay, path, b):
    relay.say("ab.dup=20 seed=5")
    before = relay.say("stats")["ab"]
    arrived = path.exchange(1000)
    after = relay.say("stats")["ab"]
    tap.between(len(arrived) - 1000, *bounds(1000, 0.20), "dup=20 of 1000")
    tap.equal(after["duplicated"] - before["duplicated"], len(arrived) - 1000, "duplicates are counted")
    relay.say("dup=0 ab.delay=10 ab.reorder=10 ab.reorder_by=5 seed=6")
    arrived = path.exchange(1000, gap=0.0005)
    tap.equal(len(arrived), 1000, "reorder loses nothing")
    tap.between(overtaken(arrived), *bounds(1000, 0.10), "reorder=10 of 1000: about 10 % are overtaken")
    relay.say("delay=0 reorder=0 reorder_by=0 ab.corrupt=20 seed=8")
    before, checks = relay.say("stats")["ab"], b.counters("Udp")
    arrived = path.exchange(1000, payload=400)
    after, checked = relay.say("stats")["ab"], b.counters("Udp")
    damaged = after["corrupted"] - before["corrupted"]
    tap.between(damaged, *bounds(1000, 0.20), "corrupt=20 of 1000")
    tap.equal(1000 - len(arrived), damaged, "no damaged packet reaches the application, every other does")
    tap.equal(path.damaged, 0, "what arrives is what was sent")
    tap.between(checked["InCsumErrors"] - checks["InCsumErrors"], damaged * 0.9, damaged,
                "the receiver's checksums find the damage")
    relay.say("corrupt=0")


def check_neighbour(tap, relay, path, a):
    relay.say("hole=1 ")
    a.run("ip", "neighbour", "flush", "dev", "a0")
    path.exchange(2, settle=0.3)
    state = a.run("ip", "neighbour", "show", "to", "10.77.1.2")
    tap.ok("lladdr" in state, "a hole in the path is no dead neighbour", state.strip())
    relay.say("neigh=1")
    a.run("ip", "neighbour", "flush", "dev", "a0")
    path.exchange(2, settle=0.3)
    state = a.run("ip", "neighbour", "show", "to", "10.77.1.2")
    tap.ok("lladdr" not in state, "unless neigh=1 asks for it", state.strip())
    relay.say("hole=0 neigh=0")
    path.exchange(1, settle=1.2)


def check_commands(tap, relay, path):
    tap.ok(relay.say("loss=5 nonsense=1").startswith("error:"), "an unknown word on stdin is refused")
    tap.ok(relay.say("loss=200").startswith("error:"), "a value out of range on stdin is refused")
    tap.equal(len(path.exchange(300)), 300, "a refused line changes nothing at all")
    tap.ok(relay.say("x" * 5000).startswith("error:"), "an endless line is refused")
    tap.equal(relay.say("delay=0"), "ok", "and the next one is understood")


def move_bulk(stack, a, b, seconds, **options):
    """Megabits per second through the relay, by the traffic programs."""
    sink = harness.Program(stack, b, APP, "sink", "port=5001").ready()
    words = [f"{key}={value}" for key, value in options.items()]
    bulk = harness.Program(stack, a, APP, "bulk", "dst=10.77.1.2", "port=5001", f"duration={seconds}", *words).ready()
    sent = bulk.wait_end(seconds + 10)
    return sent, sink.stop()


def check_streams(tap, stack, relay, a, r, b):
    _, got = move_bulk(stack, a, b, 1.5)
    frames = got["bytes"] * 8 / 1.5 / 1e6
    tap.ok(frames > 200, "full frames without offloads pass in bulk", f"{frames:.0f} Mbit/s")
    set_offloads(a, r, b, "on")
    sent, got = move_bulk(stack, a, b, 5, bytes="60MB")
    tap.ok(sent["bytes"] == got["bytes"] == 60000000, "frames that are still to be cut pass whole",
           f"{sent['bytes']} sent, {got['bytes']} received")
    relay.say("ab.maxlen=1000")
    before = relay.say("stats")["ab"]["too_long"]
    _, got = move_bulk(stack, a, b, 0.5)
    tap.equal(got["bytes"], 0, "maxlen looks at the segments of a frame that is still to be cut")
    tap.ok(relay.say("stats")["ab"]["too_long"] > before, "and counts it")
    relay.say("maxlen=0")


def check_ring(tap, relay, path, r, b):
    """A receiver whose interface is served late (a full ring of 256 frames) costs time, not packets."""
    script = ("mount -t sysfs none /sys && cd /sys/class/net/b0 && echo 8000000 >gro_flush_timeout && "
              "echo 1000000 >napi_defer_hard_irqs")
    # Only with tso off does the cable hand frames to the ring instead of the stack.
    r.run("ethtool", "-K", "b1", "tso", "off")
    b.run("unshare", "--mount", "sh", "-c", script)
    before = relay.say("stats")["ab"]
    # All but the first wait at a very slow link, which then lets them go at once.
    relay.say("ab.rate=0.01 ab.limit=10000000")
    arrived = path.exchange(1500, settle=0.02)
    relay.say("ab.rate=0")
    arrived += path.exchange(0, settle=0.5)
    after = relay.say("stats")["ab"]
    b.run("unshare", "--mount", "sh", "-c", script.replace("8000000", "0").replace("1000000", "0"))
    tap.equal(len(arrived), 1500, "a full ring at the receiver loses nothing")
    tap.ok(after["send_retries"] > before["send_retries"], "the relay tries again",
           f"{after['send_retries'] - before['send_retries']} times")
    relay.say("limit=1000000")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_link(tap, relay, path, r):
    before, spent = relay.say("stats")["ab"], cpu_seconds(relay.process.pid)
    r.run("ip", "link", "set", "b1", "down")
    path.exchange(20, gap=0.01)
    after = relay.say("stats")["ab"]
    tap.equal(after["send_errors"] - before["send_errors"], 20, "an interface that is down: errors that are counted")
    tap.between(cpu_seconds(relay.process.pid) - spent, 0, 0.1, "and no spinning, s")
    r.run("ip", "link", "set", "b1", "up")
    path.exchange(1, settle=0.5)
    tap.equal((len(path.exchange(20)), len(path.exchange(20, "ba"))), (20, 20), "and when it is back, so is the path")


def check_ipv6(tap, relay, a, b):
    for namespace, interface, address in ((a, "a0", "fd77::1/64"), (b, "b0", "fd77::2/64")):
        namespace.sysctl("net/ipv6/conf/all/disable_ipv6", 0)
        namespace.sysctl(f"net/ipv6/conf/{interface}/disable_ipv6", 0)
        namespace.run("ip", "address", "add", address, "dev", interface, "nodad")
    relay.say("delay=10")
    left = a.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    right = b.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with left, right:
        right.bind(("fd77::2", PORT))
        right.settimeout(5)
        started = time.monotonic()
        left.sendto(b"six", ("fd77::2", PORT))
        data = right.recv(100)
        tap.equal(data, b"six", "IPv6 passes")
        left.sendto(b"six", ("fd77::2", PORT))
        started = time.monotonic()
        right.recv(100)
        tap.between((time.monotonic() - started) * 1000, 9, 60, "and is delayed")


def check_end(tap, stack, relay, r):
    relay.process.stdin.close()
    time.sleep(0.2)
    tap.equal(relay.process.poll(), None, "the end of stdin is no reason to stop")
    final = relay.stop()
    tap.equal(relay.process.returncode, 0, "SIGTERM ends it in good order")
    tap.ok(final and final["ab"]["packets"] > 10000 and final["ba"]["packets"] > 0, "with a last line of figures")
    balance = final["ab"]
    gone = sum(balance[key] for key in ("lost", "collided", "queue_drops", "too_long", "hole", "send_errors",
                                        "corrupt_drops"))
    tap.equal(balance["forwarded"] + balance["held_packets"], balance["packets"] + balance["duplicated"] - gone,
              "every packet is accounted for")
    tap.ok(harness.dies_with_parent(r, RELAY, "a1", "b1"), "it goes when its parent is killed")


def body(tap, stack):
    a, r, b = build(stack)
    check_refusals(tap, r)
    relay = harness.Program(stack, r, RELAY, "a1", "b1", "seed=1").ready()
    path = Path(stack, a, b)
    path.exchange(1)
    check_delay(tap, relay, path)
    check_loss(tap, relay, path)
    check_rate(tap, relay, path)
    check_collisions(tap, relay, path)
    check_doorway(tap, relay, path)
    check_oddities(tap, relay, path, b)
    check_damage(tap, relay, path, b)
    check_neighbour(tap, relay, path, a)
    check_commands(tap, relay, path)
    check_streams(tap, stack, relay, a, r, b)
    check_ring(tap, relay, path, r, b)
    check_link(tap, relay, path, r)
    check_ipv6(tap, relay, a, b)
    check_end(tap, stack, relay, r)


harness.main(body)
