# SPDX-License-Identifier: GPL-2.0-or-later
"""memcached: one thread accepts and hands connections to four that have an event loop each.."""
import socket

from flow_clients import LARGE_BYTES, Session
from flow_lab import between, fault, server

ITEM_MAX, GROWN_BYTES = 16 * 1024 * 1024, 14 * 1024 * 1024
READS = 'tcp_read try_read_network drive_machine event_handler'


class Text:
    """Its text protocol."""

    @staticmethod
    def ask(line):
        return f'{line}\r\n'.encode()

    def store(self, key, size, command='set'):
        return self.ask(f'{command} {key} 0 0 {size}') + b'b' * size + b'\r\n'

    def get(self, _last=True):
        return self.ask('get page')

    def other(self, _last=True):
        return self.ask('incr counter 1')

    def missing(self, _last=True):
        return self.ask('get nothing')

    def large(self, _last=True):
        return self.ask('get large')

    def post(self, size, _last=True):
        return self.store('posted', size)

    @staticmethod
    def read(stream, begin=lambda: None):
        line = stream.readline()
        begin()
        while line.startswith(b'VALUE'):
            stream.read(int(line.split()[3]) + 2)
            line = stream.readline()
        return bool(line)

    def fill(self, port):
        """Keys that the clients ask for; on a connection of its own, which is no client's."""
        with socket.create_connection(('127.0.0.1', port), 10) as s, s.makefile('rb') as stream:
            for text in (self.store('page', 700), self.store('posted', 700), self.store('large', LARGE_BYTES),
                         self.store('notes', 700), self.store('grown', GROWN_BYTES),
                         self.ask('set counter 0 0 1\r\n1')):
                s.sendall(text)
                self.read(stream)


@server('memcached', Text())
def memcached(place):
    return [f'{place.servers}/memcached-hooks/memcached', '-u', 'root', '-l', '127.0.0.1', '-p', str(place.port),
            '-U', '0', '-t', '4', '-m', '256', '-I', str(ITEM_MAX)]


@fault('memcached', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('memcached', 'drip', f'{READS} complete_nread complete_nread_ascii', name='drip-body',
       usual=lambda place, r: Session([place.speaks.post(2000)]))
def drip_body(place, r):
    return Session([place.speaks.post(2000)], bad=True, drip=between(r, 2, 4))


@fault('memcached', 'stall', 'transmit tcp_sendmsg _transmit_pre _transmit_post drive_machine event_handler',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


def many(place, count):
    return place.speaks.ask('get' + ' none' * count)


@fault('memcached', 'slow', 'process_get_command process_command_ascii limited_get item_get do_item_get assoc_find '
       'tokenize_command', usual=lambda place, r: Session([many(place, 20)]))
def slow(place, r):
    """Many thousand keys in one request."""
    return Session([many(place, int(between(r, 10000, 50000)))], bad=True)


def appended(place, r, key):
    return [place.speaks.store(key, 10, 'append')] * r.randint(25, 100)


@fault('memcached', 'grow', '_store_item_copy_chunks _store_item_copy_data do_store_item store_item '
       'complete_nread_ascii', usual=lambda place, r: Session(appended(place, r, 'notes'), pipeline=True))
def grow(place, r):
    """A value that has grown large: it is copied by each command that appends to it."""
    return Session(appended(place, r, 'grown'), bad=True, pipeline=True)


@fault('memcached', 'error', f'{READS} item_size_ok process_update_command conn_set_state out_string',
       usual=lambda place, r: Session([place.speaks.post(2000)]))
def error(place, r):
    """A value that is too large: the server refuses it, and reads it to its end."""
    return Session([place.speaks.store('posted', ITEM_MAX + 2000)], bad=True, drip=between(r, 0.06, 0.4))


@fault('memcached', 'error', 'process_arithmetic_command add_delta do_add_delta safe_strtoull do_item_update '
       'out_string', name='error-quick', labelled_only=True, usual=lambda place, r: Session([place.speaks.other()]))
def error_quick(place, _r):
    """Not a number."""
    return Session([place.speaks.ask('incr page 1')], bad=True)
