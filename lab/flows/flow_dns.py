# SPDX-License-Identifier: GPL-2.0-or-later
"""DNS over TCP, for the servers that answer names: lab.test is local, up.test is asked of the upstream server."""
import struct

A, MX, TXT, OPT, PADDING = 1, 15, 16, 41, 12
# A request for the large answer is as many queries as it takes: one answer has at most 64 kB.
LARGE_TEXTS, LARGE_QUERIES = 235, 95


class Dns:
    """The identifier of a query is the number of queries of the same request that follow it."""

    @staticmethod
    def ask(name, kind=A, left=0, padding=0):
        labels = b''.join(struct.pack('B', len(label)) + label.encode() for label in name.split('.'))
        extra = struct.pack('!BHHIHHH', 0, OPT, 4096, 0, padding + 4, PADDING, padding) + b'\0' * padding
        text = struct.pack('!6H', left, 0x0100, 1, 0, 0, bool(padding)) + labels + struct.pack('!BHH', 0, kind, 1)
        text += extra if padding else b''
        return struct.pack('!H', len(text)) + text

    def asked(self, count, name, kind=A):
        """One request of several queries."""
        return b''.join(self.ask(name, kind, left) for left in reversed(range(count)))

    def upstream(self, r, words='ms=0'):
        """A name that nobody asked for before."""
        return self.ask(f'{words}-{r.getrandbits(40):x}.up.test')

    def get(self, _last=True):
        return self.ask('page.lab.test')

    def other(self, _last=True):
        return self.ask('text.lab.test', TXT)

    def missing(self, _last=True):
        return self.ask('missing.lab.test')

    def large(self, _last=True):
        return self.asked(LARGE_QUERIES, 'large.lab.test', TXT)

    def post(self, size, _last=True):
        return self.ask('page.lab.test', padding=size)

    def cold(self, r, number):
        return self.ask(f'ms={r.randint(1, 12)}-cold{number}.up.test')

    def read(self, stream, begin=lambda: None):
        left = 1
        while left:
            head = take(stream, 4)
            if len(head) < 4:
                return False
            size, left = struct.unpack('!HH', head)
            begin()
            take(stream, size - 2)
        return True


def take(stream, size):
    got = b''
    while len(got) < size:
        part = stream.read1(size - len(got))
        if not part:
            break
        got += part
    return got
