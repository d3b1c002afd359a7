# SPDX-License-Identifier: GPL-2.0-or-later
"""dnsmasq as the name server of one domain, or as the cache of another one."""

from real import path_of, server


def command(port):
    # Keep its user: a change of credentials clears the parent death signal
    # that ends it with the lab.
    return [path_of("dnsmasq"), "--keep-in-foreground", "--conf-file=/dev/null",
            "--pid-file", "--user=root", "--no-resolv", "--no-hosts",
            "--no-poll", "--bind-interfaces", "--port", port]


def records_of(name, prefix, first, last):
    return (f"--host-record={name},{prefix}{number}"
            for number in range(int(first), int(last) + 1))


@server("dnsmasq")
def dnsmasq(room, *, port, domain, address, address6=None, absent=None,
            many=None):
    """Forwards nothing. No name of the domain `absent` exists.

    many=NAME,PREFIX,FIRST,LAST: a name with all addresses of a range.
    """
    return [*command(port), *(records_of(*many.split(",")) if many else ()),
            *(f"--address=/{domain}/{one}" for one in (address, address6)
              if one),
            *([f"--address=/{absent}/"] if absent else [])]


@server("dnsmasq", name="dnsmasq-cache")
def dnsmasq_cache(room, *, port, upstream, cache="150"):
    """Forwards to one server; cache=0 keeps no answer."""
    return [*command(port), f"--server={upstream}", f"--cache-size={int(cache)}"]
