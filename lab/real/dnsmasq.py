# SPDX-License-Identifier: GPL-2.0-or-later
"""dnsmasq as the resolver of one domain, with nobody to ask further."""

from real import path_of, server


@server("dnsmasq")
def dnsmasq(room, *, port, domain, address):
    # It must not change its user: the signal that ends it with the lab would
    # be lost with the credentials.
    return [path_of("dnsmasq"), "--keep-in-foreground", "--conf-file=/dev/null",
            "--pid-file", "--user=root", "--no-resolv", "--no-hosts",
            "--no-poll", "--bind-interfaces", "--port", port,
            f"--address=/{domain}/{address}"]
