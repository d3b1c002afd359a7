# SPDX-License-Identifier: GPL-2.0-or-later
"""openssl as an HTTPS server with a certificate of its own."""

import subprocess

from real import path_of, server


@server("openssl", name="https")
def https(room, *, port):
    """Replies to every request with a page about the connection."""
    openssl = path_of("https")
    key, certificate = room.place("key.pem"), room.place("cert.pem")
    subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=lab.test", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    return [openssl, "s_server", "-accept", port, "-key", key, "-cert",
            certificate, "-www", "-quiet"]
