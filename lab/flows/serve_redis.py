# SPDX-License-Identifier: GPL-2.0-or-later
"""Redis: commands in one thread, one after the other."""
import socket

from flow_clients import LARGE_BYTES, Resp, Session
from flow_lab import between, fault, server

READS = 'readQueryFromClient connSocketRead connRead'
MIGRATES = 'migrateCommand syncReadLine syncRead aeWait connSyncReadLine connSocketSyncReadLine'
LOOP = 'local t=0 for i=1,tonumber(ARGV[1]) do t=t+i%7 end return t'


class Keys(Resp):
    """Its commands in this laboratory."""

    def fill(self, port):
        """Keys that the clients ask for; on a connection of its own, which is no client's."""
        with socket.create_connection(('127.0.0.1', port), 10) as s, s.makefile('rb') as stream:
            commands = [self.ask('SET', 'page', 'x' * 700), self.ask('SET', 'large', 'x' * LARGE_BYTES),
                        self.ask('RPUSH', 'list', *range(20))]
            for text in commands:
                s.sendall(text)
                self.read(stream)


@server('redis', Keys(), prepare=lambda place: None)
def redis(place):
    return [f'{place.servers}/redis-hooks/redis-server', '--port', str(place.port), '--bind', '127.0.0.1', '--save', '',
            '--appendonly', 'no', '--dir', place.room, '--daemonize', 'no', '--loglevel', 'warning']


@fault('redis', 'drip', f'{READS} processInputBuffer processMultibulkBuffer',
       usual=lambda place, r: Session([place.speaks.post(2000)]))
def drip(place, r):
    return Session([place.speaks.post(2000)], bad=True, drip=between(r, 2, 4))


@fault('redis', 'stall', 'writeToClient sendReplyToClient handleClientsWithPendingWrites connSocketWrite connWrite '
       '_writeToClient connSocketWritev _writevToClient', usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('redis', 'slow', 'evalCommand evalGenericCommandWithDebugging evalGenericCommand luaCallFunction luaV_execute',
       usual=lambda place, r: Session([place.speaks.ask('EVAL', LOOP, 0, 10)]))
def slow(place, r):
    return Session([place.speaks.ask('EVAL', LOOP, 0, int(between(r, 0.6e6, 6e6)))], bad=True)


@fault('redis', 'lock', 'blpopCommand blockingPopGenericCommand blockForKeys blockClient serveClientBlockedOnList '
       'serveClientsBlockedOnListKey handleClientsBlockedOnKeys')
def blocked(place, r):
    name = f'free{r.getrandbits(60)}'
    return Session([place.speaks.ask('BLPOP', name, 20)], bad=True,
                   later=(between(r, 0.1, 0.5), Session([place.speaks.ask('RPUSH', name, 1)])))


def moved(place, r, wait_ms, patience_ms):
    name = f'k{r.getrandbits(60)}ms={wait_ms}'
    return [place.speaks.ask('SET', name, 'x'),
            place.speaks.ask('MIGRATE', '127.0.0.1', place.upstream_port, name, 0, patience_ms, 'COPY')]


@fault('redis', 'upstream', MIGRATES, usual=lambda place, r: Session(moved(place, r, 0, 5000)))
def upstream(place, r):
    return Session(moved(place, r, int(between(r, 60, 400)), 5000), bad=True)


@fault('redis', 'error', MIGRATES, usual=lambda place, r: Session(moved(place, r, 0, 5000)))
def error(place, r):
    return Session(moved(place, r, 3000, int(between(r, 60, 400))), bad=True)


@fault('redis', 'error', 'getLongLongFromObject sdslen string2ll getLongLongFromObjectOrReply addReplyError '
       'addReplyErrorLength afterErrorReply incrDecrCommand', name='error-quick', labelled_only=True,
       usual=lambda place, r: Session([place.speaks.ask('INCR', 'counter')]))
def not_a_number(place, _r):
    return Session([place.speaks.ask('INCR', 'page')], bad=True)
