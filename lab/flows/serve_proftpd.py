# SPDX-License-Identifier: GPL-2.0-or-later
"""ProFTPD: a process per connection; the server speaks first, and a client logs in.

Only the control connection is used: all requests have their answer there.
"""
import os
import random
from string import ascii_lowercase

from flow_clients import LARGE_BYTES, Session
from flow_lab import between, fault, server
from serve_apart import ROUNDS, users

DIGEST_BYTES = (60, 100, 160, 250)  # in millions
READS = ('core_netio_read_cb core_netio_poll_cb pr_netio_poll pr_netio_read pr_netio_telnet_gets2 pr_netio_telnet_gets '
         'pr_cmd_read')
WRITES = ('core_netio_write_cb core_netio_poll_cb pr_netio_poll pr_netio_write pr_netio_printf pr_netio_vprintf '
          'pr_response_send_raw')


class Ftp:
    """Commands and replies; the name of a user is its password."""

    @staticmethod
    def ask(line):
        return f'{line}\r\n'.encode()

    def get(self, _last=True):
        return self.ask('MLST page')

    def other(self, _last=True):
        return self.ask('STAT list')

    def missing(self, _last=True):
        return self.ask('MLST missing')

    def large(self, _last=True):
        return self.ask('QUIT')

    def post(self, size, _last=True):
        # A filter looks at every command: repetitions would be costly.
        return self.ask(f'NOOP {"".join(random.Random(size).choices(ascii_lowercase, k=min(size, 400)))}')

    @staticmethod
    def read(stream, begin=lambda: None):
        """Lines up to the one that has a space after its code."""
        line = stream.readline()
        if not line:
            return False
        begin()
        code = line[:3]
        while line and (line[:3] != code or line[3:4] != b' '):
            line = stream.readline()
        return bool(line)

    def login(self, s, stream, user):
        user = user or 'u0'
        self.read(stream)
        s.sendall(self.ask(f'USER {user}'))
        self.read(stream)
        s.sendall(self.ask(f'PASS {user}'))
        if not stream.readline().startswith(b'230 '):
            raise ConnectionError(f'{user} may not log in')


def write(path, text):
    with open(path, 'w', encoding='ascii') as f:
        f.write(text)


def documents(place):
    """Files, and those who may log in."""
    top = f'{place.room}/ftp'
    os.makedirs(f'{top}/list')
    write(f'{top}/page', 'x' * 700)
    for i in range(5):
        write(f'{top}/list/file{i}', 'x')
    # Each line costs the server time: where none has to wait for it, less is large.
    write(f'{place.room}/farewell', f'{"m" * 1000}\n' * (LARGE_BYTES // 1000 if place.what == 'stall' else 300))
    for i, millions in enumerate(DIGEST_BYTES):
        with open(f'{top}/archive{i}', 'wb') as f:
            f.truncate(millions * 1000000)
    accounts = f'{place.room}/users'
    write(accounts, ''.join(f'{line}:0:0::{top}:/bin/sh\n' for line in users().split()))
    os.chmod(accounts, 0o600)


@server('proftpd', Ftp(), prepare=documents)
def proftpd(place):
    conf = f'{place.room}/proftpd.conf'
    write(conf, f'''ServerType standalone
ServerName lab
ServerIdent on lab
DefaultServer on
DefaultAddress 127.0.0.1
SocketBindTight on
Port {place.port}
User root
Group root
RootLogin on
AuthUserFile {place.room}/users
AuthOrder mod_auth_file.c
RequireValidShell off
UseReverseDNS off
DelayEngine off
WtmpLog off
TransferLog none
SystemLog {place.room}/system.log
ScoreboardFile {place.room}/scoreboard
PidFile {place.room}/pid
MaxInstances none
TimeoutIdle 60
AllowOverride off
DisplayQuit {place.room}/farewell
DenyFilter (.+)\\1\\1!
''')
    return [f'{place.servers}/proftpd-hooks/sbin/proftpd', '--nodaemon', '--config', conf]


@fault('proftpd', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('proftpd', 'stall', WRITES, usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('proftpd', 'slow', 'compute_digest get_digest digest_xcmd pr_fsio_read sys_read', usual=lambda place, r: Session(
    [place.speaks.ask('XSHA256 page')]))
def slow(place, r):
    """The digest of a large file."""
    return Session([place.speaks.ask(f'XSHA256 archive{r.randrange(len(DIGEST_BYTES))}')], bad=True)


@fault('proftpd', 'auth', 'authfile_chkpass', usual=lambda place, r: Session(
    [place.speaks.get()], user='u0'))
def auth(place, r):
    return Session([place.speaks.get()], bad=True, user=f'u{r.randrange(1, len(ROUNDS))}')


def named(place, letters):
    return Session([place.speaks.ask(f'MLST {"".join(letters)}')])


@fault('proftpd', 'backtrack', 'pr_regexp_exec regexp_exec_posix regex_filters', usual=lambda place, r: named(
    place, r.choices(ascii_lowercase, k=r.randint(40, 120))))
def backtrack(place, r):
    """A name that makes the expression of a filter try many ways."""
    session = named(place, 'ab' * r.randint(110, 180))
    session.bad = True
    return session
