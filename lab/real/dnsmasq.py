# SPDX-License-Identifier: GPL-2.0-or-later
"""dnsmasq as the name server of one domain, without upstream servers."""

from real import path_of, server


@server("dnsmasq")
def dnsmasq(room, *, port, domain, address, address6=None, absent=None):
    """No name of the domain `absent` exists."""
    # Keep its user: a change of credentials clears the parent death signal
    # that ends it with the lab.
    return [path_of("dnsmasq"), "--keep-in-foreground", "--conf-file=/dev/null",
            "--pid-file", "--user=root", "--no-resolv", "--no-hosts",
            "--no-poll", "--bind-interfaces", "--port", port,
            *(f"--address=/{domain}/{one}" for one in (address, address6)
              if one),
            *([f"--address=/{absent}/"] if absent else [])]
