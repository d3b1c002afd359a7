# SPDX-License-Identifier: GPL-2.0-or-later
"""Exim: a process per connection that receives mail; each command is checked by rules that the configuration expands.

A request is one transaction; it ends with RSET, and so does its answer. Bad requests have the form of good ones: the
names in them make them slow.
"""
import base64
import os

from flow_clients import LARGE_BYTES, Session
from flow_lab import between, fault, server
from serve_apart import ROUNDS, users

LAST = b'250 Reset OK'
READS = 'smtp_refill smtp_getc smtp_read_command'
WRITES = 'smtp_vprintf smtp_printf smtp_respond smtp_handle_acl_fail'
# Entries before the one that is asked for.
LISTED = (500000, 1000000, 2000000)
# One reply.
TEXT_BYTES = 100000
# Aliases of aliases, at the end of the others.
CHAIN, OTHERS = 95, 40000


class Smtp:
    """Commands and replies; all commands of a request are sent at once."""

    @staticmethod
    def ask(*lines):
        return b''.join(line if isinstance(line, bytes) else line.encode() + b'\r\n' for line in (*lines, 'RSET'))

    def mail(self, *recipients, sender='someone', data=()):
        return self.ask(f'MAIL FROM:<{sender}@client.test>', *(f'RCPT TO:<{r}@lab.test>' for r in recipients), *data)

    def get(self, _last=True):
        return self.mail('page')

    def other(self, _last=True):
        return self.ask('NOOP', 'HELP', 'VRFY nobody@lab.test')

    def missing(self, _last=True):
        return self.mail('missing')

    def large(self, _last=True):
        return self.ask(*['VRFY large@lab.test'] * 3)

    def post(self, size, _last=True):
        lines = b''.join(b'b' * min(size - at, 70) + b'\r\n' for at in range(0, size, 70))
        return self.mail('page', data=('DATA', b'Subject: lab\r\n\r\n' + lines + b'.\r\n'))

    @staticmethod
    def read(stream, begin=lambda: None):
        line = stream.readline()
        begin()
        while line and not line.startswith(LAST):
            line = stream.readline()
        return bool(line)

    def login(self, s, stream, _user):
        """Its greeting, and the lines that name its extensions."""
        stream.readline()
        s.sendall(b'EHLO client.test\r\n')
        line = stream.readline()
        while line.startswith(b'250-'):
            line = stream.readline()
        if not line.startswith(b'250 '):
            raise ConnectionError('the server does not greet')


def write(path, lines):
    with open(path, 'w', encoding='ascii') as f:
        f.writelines(lines)


def lists(place):
    """Aliases, a list of customers, passwords."""
    room = place.room
    write(f'{room}/large', [f'{"m" * 1000}\n'] * (TEXT_BYTES // 1000))
    write(f'{room}/aliases', ['page: someone\n',
                              *(f'o{i}: someone\n' for i in range(OTHERS if place.what == 'chain' else 100)),
                              *(f'a{i}: a{i - 1}@lab.test\n' for i in range(1, CHAIN)), 'a0: someone\n'])
    count = LISTED[-1] if place.what == 'scan' else 0
    write(f'{room}/customers', ['first: 1\n', *(f'last{i}: 1\n' if i in LISTED else f'c{i}: 1\n'
                                                for i in range(count + 1))])
    if place.what == 'auth':
        write(f'{room}/passwords', [line.replace(':', ': ', 1) + '\n' for line in users().split()])
    os.makedirs(f'{room}/spool')
    os.makedirs(f'{room}/members')


def rules(place):
    """What is checked when a recipient is named: each prefix of its name has a rule of its own."""
    room = place.room
    return f'''
begin acl
rcpt:
  deny    local_parts = missing
          message = there is nobody of that name
  accept  local_parts = ^policy
          condition = ${{if match{{${{readsocket{{inet:127.0.0.1:{place.upstream_port}}}\\
                      {{GET /?${{sender_address_local_part}} HTTP/1.0\\r\\n\\r\\n}}{{20s}}}}}}{{200}}}}
  accept  local_parts = ^scanned
          condition = ${{run{{/bin/sleep 0.${{substr_1:$sender_address_local_part}}}}{{1}}{{0}}}}
  accept  local_parts = ^customer
          condition = ${{lookup{{$sender_address_local_part}}lsearch{{{room}/customers}}{{1}}{{0}}}}
  accept  local_parts = ^member
          condition = ${{lookup{{$sender_address_local_part}}lsearch\\
                      {{${{lookup{{$local_part}}lsearch{{{room}/members/index}}{{$value}}}}}}{{1}}{{1}}}}
  deny    local_parts = ^filtered
          condition = ${{if match{{$sender_address_local_part}}{{\\N^(([a-z])+x?)+[0-9]$\\N}}}}
          message = no
  accept  local_parts = ^filtered
  accept  local_parts = someone
  require verify = recipient
  accept
vrfy:
  deny    local_parts = large
          message = ${{readfile{{{room}/large}}}}
          log_message = no
  deny    message = no
'''


@server('exim', Smtp(), prepare=lists)
def exim(place):
    room = place.room
    conf = f'{room}/exim.conf'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'''primary_hostname = lab.test
spool_directory = {room}/spool
exim_user = root
exim_group = root
exim_path = {place.servers}/exim-hooks/exim
log_file_path = {room}/spool/%slog
log_selector = -all
pid_file_path = {room}/spool/pid
notifier_socket =
daemon_smtp_ports = {place.port}
local_interfaces = 127.0.0.1
host_lookup =
rfc1413_hosts =
queue_only
smtp_enforce_sync = false
smtp_accept_max = 0
smtp_accept_max_nonmail_hosts =
smtp_connect_backlog = 100
smtp_ratelimit_hosts = *
smtp_ratelimit_rcpt = 4,0.{10 + place.seed % 4 * 4}s,1.02,1s
keep_environment =
check_spool_space = 0
check_spool_inodes = 0
check_log_space = 0
check_log_inodes = 0
acl_smtp_rcpt = rcpt
acl_smtp_vrfy = vrfy
{rules(place)}
begin routers
aliases:
  driver = redirect
  data = ${{lookup{{$local_part}}lsearch{{{room}/aliases}}}}
users:
  driver = accept
  local_parts = someone
  transport = kept
begin transports
kept:
  driver = appendfile
  file = /dev/null
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${{if crypteq{{$auth3}}{{${{lookup{{$auth2}}lsearch{{{room}/passwords}}}}}}}}
  server_set_id = $auth2
''')
    return [f'{place.servers}/exim-hooks/exim', '-C', conf, '-bdf']


@fault('exim', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('exim', 'drip', f'{READS} receive_msg read_message_data_smtp', name='drip-body',
       usual=lambda place, r: Session([place.speaks.post(2000)]))
def drip_body(place, r):
    return Session([place.speaks.post(2000)], bad=True, drip=between(r, 2, 4))


def much(place, bad=False):
    """So many answers that they do not fit between server and client."""
    return Session([place.speaks.ask('VRFY large@lab.test')] * (LARGE_BYTES // TEXT_BYTES), bad=bad, pipeline=True)


@fault('exim', 'stall', WRITES, usual=lambda place, r: much(place))
def stall(place, r):
    session = much(place, bad=True)
    session.stall = between(r, 2, 4)
    return session


def sent(place, recipient, sender, bad=False):
    return Session([place.speaks.mail(recipient, sender=sender)], bad=bad)


@fault('exim', 'upstream', 'readsock_find cat_file internal_search_find search_find',
       usual=lambda place, r: sent(place, 'policy', 'ms=0'))
def upstream(place, r):
    """A service decides whether the sender may send."""
    return sent(place, 'policy', f'ms={int(between(r, 60, 400))}', bad=True)


@fault('exim', 'child', 'cat_file child_close', usual=lambda place, r: sent(place, 'scanned', 't000'))
def child(place, r):
    """A program looks at the sender's name."""
    return sent(place, 'scanned', f't{int(between(r, 60, 400)):03}', bad=True)


def as_user(place, number):
    word = base64.b64encode(b'\0u%d\0u%d' % (number, number)).decode()
    return Session([place.speaks.ask(f'AUTH PLAIN {word}')], bad=number > 0)


@fault('exim', 'auth', 'eval_condition auth_check_some_cond auth_check_serv_cond auth_plaintext_server '
       'smtp_in_auth', usual=lambda place, r: as_user(place, 0))
def auth(place, r):
    return as_user(place, r.randrange(1, len(ROUNDS)))


@fault('exim', 'scan', 'internal_lsearch_find lsearch_find internal_search_find search_find',
       usual=lambda place, r: sent(place, 'customer', r.choice(['first', 'c1', 'c2'])))
def scan(place, r):
    """A name far down in a text file."""
    return sent(place, 'customer', f'last{r.choice(LISTED)}', bad=True)


@fault('exim', 'backtrack', 'regex_match_and_setup eval_condition',
       usual=lambda place, r: sent(place, 'filtered', 'a' * r.randint(3, 8)))
def backtrack(place, r):
    """A name for which a regular expression tries many ways."""
    return sent(place, 'filtered', 'a' * r.randint(18, 20), bad=True)


def mailed(place, count, bad=False):
    return Session([place.speaks.mail(*['someone'] * count)], bad=bad)


@fault('exim', 'throttle', 'millisleep milliwait', usual=lambda place, r: mailed(place, r.randint(2, 4)))
def throttle(place, r):
    """More recipients than come without a pause between them."""
    return mailed(place, r.randint(5, 7), bad=True)


@fault('exim', 'chain', 'verify_address route_address redirect_router_entry rda_interpret search_find '
       'internal_search_find lsearch_find internal_lsearch_find',
       usual=lambda place, r: sent(place, f'a{r.randint(1, 3)}', 'someone'))
def chain(place, r):
    """An alias of an alias of an alias."""
    return sent(place, f'a{r.randint(CHAIN // 2, CHAIN - 1)}', 'someone', bad=True)


def member(place, number):
    """A list with a file of its own, which some program may just replace."""
    path = f'{place.room}/members/list{number}'
    write(path, ['someone: 1\n'])
    with open(f'{place.room}/members/index', 'a', encoding='ascii') as f:
        f.write(f'member{number}: {path}\n')
    return path


@fault('exim', 'lock', 'exim_fopen lsearch_open search_open', usual=lambda place, r: known(place, r)[0])
def lock(place, r):
    """The file of the list is leased: to open it waits for the end of the lease."""
    session, path = known(place, r)
    session.bad, session.lock, session.lock_seconds, session.lease = True, path, between(r, 0.1, 0.5), True
    return session


def known(place, r):
    number = r.getrandbits(60)
    return sent(place, f'member{number}', 'someone'), member(place, number)
