# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixed vocabulary of the diagnosis: every cause belongs to one layer.

Scenarios and scoring know only these words. Any other word in a verdict counts
as wrong, so the table must follow the program's list of causes.
"""

CAUSES_BY_LAYER = {
    "application": ("app-not-reading", "app-not-sending", "app-out-of-fds"),
    "host": ("cpu-starved", "cgroup-throttled", "cgroup-frozen", "tcp-memory",
             "softirq-overload", "ports-exhausted", "timewait-overflow"),
    "listener": ("accept-queue-full", "syn-queue-full"),
    "socket": ("send-buffer-small", "receive-buffer-small", "nagle-delayed-ack",
               "corked", "idle-restart", "udp-receive-overflow"),
    "queue": ("qdisc-drops", "qdisc-backlog", "qdisc-shaper"),
    "filter": ("firewall-drop", "firewall-reject", "tc-drop", "conntrack-full",
               "conntrack-invalid"),
    "interface": ("link-down", "no-carrier", "link-flapping",
                  "interface-errors", "mtu-mismatch"),
    "route": ("no-route", "route-blackhole", "rp-filter"),
    "neighbour": ("neighbour-failed",),
    "tunnel": ("tunnel-stalled", "tunnel-mtu"),
    "path": ("path-loss", "path-blackhole", "path-mtu", "path-congestion",
             "path-policed", "path-reordering", "path-latency", "path-outage"),
    "peer": ("peer-not-reading", "peer-window-small", "peer-slow",
             "peer-refused", "peer-reset", "peer-not-accepting",
             "connect-dropped"),
    "resolver": ("dns-slow", "dns-dead"),
}

LAYERS = tuple(CAUSES_BY_LAYER)
LAYER_OF = {cause: layer
            for layer, causes in CAUSES_BY_LAYER.items() for cause in causes}
CAUSES = tuple(LAYER_OF)
