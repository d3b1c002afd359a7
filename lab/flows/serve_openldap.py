# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenLDAP's slapd: one thread listens, a pool of threads reads requests and works; the directory is a file of LMDB.

Clients log in (bind). Bad requests have the form of good ones: the entry, attribute or value that they name is costly.
"""
import itertools
import os
import re
import socketserver
import subprocess
import threading
import time

from flow_clients import LARGE_BYTES, Session
from flow_dns import take
from flow_lab import between, fault, server
from serve_apart import ROUNDS, users

BASE, NEVER_DEREFERENCED, NO_LIMIT = 0, 0, 0
SUBTREE = 2
PEOPLE, MEMBERS, GUARDS = 24000, (400000, 500000), (2000, 3000, 4500)
READS = ('connection_read_activate connection_read_thread connection_read connection_input ber_get_next '
         'ber_int_sb_read sb_stream_read')
WRITES = ('slap_send_search_entry send_ldap_ber slap_writewait_play slapd_wait_writer ber_flush2 ber_int_sb_write '
          'sb_stream_write')
SCANS = ('mdb_search search_candidates mdb_filter_candidates substring_candidates equality_candidates '
         'mdb_get_nextid mdb_id2entry mdb_id2edata mdb_get mdb_cursor_get mdb_cursor_set mdb_entry_decode '
         'mdb_idscopes mdb_idscopechk test_filter test_substrings_filter test_ava_filter attrs_find is_ad_subtype')


def element(tag, *parts):
    """One of BER's elements: its type, its length, what it consists of."""
    content = b''.join(part.encode() if isinstance(part, str) else part for part in parts)
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, 'big')
    return bytes([tag, 0x80 | len(length)]) + length + content


def text(words):
    return element(0x04, words)


def number(value, tag=0x02):
    return element(tag, value.to_bytes(4, 'big'))


def message(identifier, *parts):
    return element(0x30, number(identifier), *parts)


def read_element(stream):
    """(type, size) of the next one; its content is left to read."""
    head = take(stream, 2)
    if len(head) < 2:
        return 0, 0
    size = head[1]
    if size & 0x80:
        size = int.from_bytes(take(stream, size & 0x7F), 'big')
    return head[0], size


class Ldap:
    """LDAP, version 3. One operation per request."""
    identifiers = itertools.count(2)
    # Everything but entries ends an answer.
    entry = 0x64

    def ask(self, *parts):
        return message(next(self.identifiers) & 0x7FFFFFF, *parts)

    def search(self, base, scope=BASE, match=element(0x87, 'objectClass'), attributes=()):
        return self.ask(element(0x63, text(base), number(scope, 0x0A), number(NEVER_DEREFERENCED, 0x0A),
                                number(NO_LIMIT), number(NO_LIMIT), element(0x01, b'\0'), match,
                                element(0x30, *map(text, attributes))))

    def replace(self, name, attribute, value):
        change = element(0x30, number(2, 0x0A), element(0x30, text(attribute), element(0x31, text(value))))
        return self.ask(element(0x66, text(name), element(0x30, change)))

    def compare(self, name, attribute, value):
        return self.ask(element(0x6E, text(name), element(0x30, text(attribute), text(value))))

    def get(self, _last=True):
        return self.search('cn=page,dc=lab')

    def other(self, _last=True):
        return self.search('ou=people,dc=lab', SUBTREE, element(0xA3, text('uid'), text('p7')))

    def missing(self, _last=True):
        return self.search('cn=missing,dc=lab')

    def large(self, _last=True):
        return self.search('cn=large,dc=lab')

    def post(self, size, _last=True):
        return self.replace('cn=posted,dc=lab', 'description', 'b' * size)

    def cold(self, _r, i):
        """A user whom nobody asked for before."""
        return self.search('ou=people,dc=lab', SUBTREE, element(0xA3, text('uid'), text(f'p{i + 20}')))

    @classmethod
    def read(cls, stream, begin=lambda: None):
        kind = cls.entry
        while kind == cls.entry:
            _, size = read_element(stream)
            if not size:
                return False
            begin()
            head = take(stream, 2)
            left = size - 2 - head[1]
            take(stream, head[1])
            kind = take(stream, 1)[0]
            stream.read(left - 1)
        return True

    def login(self, s, stream, user):
        user = user or 'u0'
        s.sendall(message(1, element(0x60, number(3), text(f'uid={user},dc=lab'), element(0x80, user))))
        _, size = read_element(stream)
        reply = take(stream, size)
        # The identifier, the operation, and its result: zero.
        if b'\x61' not in reply or reply[reply.index(b'\x61') + 4:][:1] != b'\0':
            raise ConnectionError(f'{user} may not log in')


class Upstream(socketserver.StreamRequestHandler):
    """Another directory, whose answer takes as long as the name says that is asked for."""

    def handle(self):
        while True:
            _, size = read_element(self)
            if not size:
                return
            request = take(self, size)
            identifier, operation = request[:2 + request[1]], request[2 + request[1]]
            if operation == 0x42:
                return
            ms = re.search(rb'cn=ms(\d+)', request)
            time.sleep(int(ms.group(1)) / 1000 if ms and operation == 0x63 else 0)
            kind = {0x60: 0x61, 0x63: 0x65}.get(operation, 0x78)
            self.wfile.write(element(0x30, identifier, element(kind, number(0, 0x0A), text(''), text(''))))

    def read1(self, size):
        """What take() wants of a stream."""
        return self.rfile.read(size)


class Threads(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 100


def start_upstream():
    """In a thread of this process, which makes one recording and ends; returns its port."""
    listener = Threads(('127.0.0.1', 0), Upstream)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    return listener.server_address[1]


def entry(name, kinds, **attributes):
    lines = [f'dn: {name}', *(f'objectClass: {kind}' for kind in kinds.split())]
    for key, values in attributes.items():
        lines += [f'{key}: {value}' for value in (values if isinstance(values, list) else [values])]
    return '\n'.join(lines) + '\n\n'


def device(name, **attributes):
    return entry(f'cn={name},dc=lab', 'device', cn=name, **attributes)


def person(i):
    return entry(f'uid=p{i},ou=people,dc=lab', 'inetOrgPerson', uid=f'p{i}', cn=f'person {i}', sn=f'{i}',
                 mail=f'p{i}@lab.test', employeeNumber=f'{i}')


def entries(place):
    """Only what a fault needs is large: to load it takes time."""
    yield entry('dc=lab', 'dcObject organization', dc='lab', o='lab')
    yield device('page', description='x' * 700)
    yield device('posted', description='none')
    yield device('large', description=[f'{i:04}{"x" * 10000}' for i in range(LARGE_BYTES // 10000)])
    for line in users().split() if place.what == 'auth' else ['u0:u0']:
        name, secret = line.split(':')
        yield entry(f'uid={name},dc=lab', 'account simpleSecurityObject', uid=name,
                    userPassword=f'{{CRYPT}}{secret}' if place.what == 'auth' else secret)
    yield entry('ou=people,dc=lab', 'organizationalUnit', ou='people')
    for i in range(PEOPLE if place.what in ('scan', 'reference') else 200):
        yield person(i)
    if place.what == 'grow':
        for i, count in enumerate((20, *MEMBERS)):
            yield entry(f'cn=group{i},dc=lab', 'groupOfNames', cn=f'group{i}',
                        member=[f'uid=p{j},ou=people,dc=lab' for j in range(count)])
    if place.what == 'permit':
        for i in range(1 + len(GUARDS)):
            yield entry(f'ou=room{i},dc=lab', 'organizationalUnit', ou=f'room{i}', description='a room')


def directory(place):
    room, programs = place.room, f'{place.servers}/openldap-hooks'
    os.makedirs(f'{room}/data')
    # All rooms but the first one have a rule for each of many people who may enter.
    guards = ''.join(f'access to dn.subtree="ou=room{i},dc=lab"\n' +
                     ''.join(f'  by dn.regex="^uid=guard{j}-[a-z]+,dc=lab$" write\n' for j in range(count)) +
                     '  by * read\n' for i, count in enumerate((2, *GUARDS))) if place.what == 'permit' else ''
    with open(f'{room}/slapd.conf', 'w', encoding='ascii') as f:
        f.write(f'''include {programs}/schema/core.schema
include {programs}/schema/cosine.schema
include {programs}/schema/inetorgperson.schema
pidfile {room}/pid
argsfile {room}/args
loglevel none
threads 8
sizelimit unlimited
database mdb
suffix dc=lab
rootdn cn=root,dc=lab
directory {room}/data
maxsize 1073741824
index objectClass eq
index uid eq,subinitial
index mail eq
{guards}access to attrs=userPassword by * auth
access to * by * write
overlay unique
unique_uri ldap:///ou=people,dc=lab?mail?sub
unique_uri ldap:///ou=people,dc=lab?employeeNumber?sub
''' + (f'''database ldap
suffix dc=up
uri ldap://127.0.0.1:{start_upstream()}
rebind-as-user no
''' if place.what == 'upstream' else ''))
    with open(f'{room}/ldif', 'w', encoding='ascii') as f:
        f.writelines(entries(place))
    subprocess.run([f'{programs}/slapd', '-T', 'add', '-q', '-f', f'{room}/slapd.conf', '-l', f'{room}/ldif'],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=200)


@server('openldap', Ldap(), prepare=directory)
def openldap(place):
    return [f'{place.servers}/openldap-hooks/slapd', '-d', '0', '-f', f'{place.room}/slapd.conf', '-h',
            f'ldap://127.0.0.1:{place.port}/']


@fault('openldap', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('openldap', 'drip', READS, name='drip-body', usual=lambda place, r: Session([place.speaks.post(2000)]))
def drip_body(place, r):
    return Session([place.speaks.post(2000)], bad=True, drip=between(r, 2, 4))


@fault('openldap', 'stall', WRITES, usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('openldap', 'auth', 'chk_crypt slapd_crypt lutil_passwd slap_passwd_check',
       usual=lambda place, r: Session([place.speaks.get()], user='u0'))
def auth(place, r):
    return Session([place.speaks.get()], bad=True, user=f'u{r.randrange(1, len(ROUNDS))}')


def beginning(place, r, attribute, bad=False):
    match = element(0xA4, text(attribute), element(0x30, element(0x80, f'p{r.randint(1000, 9999)}')))
    return Session([place.speaks.search('ou=people,dc=lab', SUBTREE, match, ['uid'])], bad=bad)


@fault('openldap', 'scan', SCANS, usual=lambda place, r: beginning(place, r, 'uid'))
def scan(place, r):
    """The beginning of a value, for which this attribute has no index: all entries are read."""
    return beginning(place, r, 'mail', bad=True)


def changed(place, r, attribute, bad=False):
    return Session([place.speaks.replace(f'uid=p{r.randrange(100)},ou=people,dc=lab', attribute,
                                         f'n{r.getrandbits(60)}')], bad=bad)


@fault('openldap', 'reference', f'unique_modify unique_search {SCANS}',
       usual=lambda place, r: changed(place, r, 'mail'))
def reference(place, r):
    """A value that nobody else may have: without an index all entries are read to see that."""
    return changed(place, r, 'employeeNumber', bad=True)


@fault('openldap', 'permit', 'access_allowed_mask slap_access_allowed slap_acl_mask acl_mask_dn regex_matches '
       'acl_string_expand', usual=lambda place, r: Session([place.speaks.search('ou=room0,dc=lab')]))
def permit(place, r):
    """An entry that has a rule, each a regular expression, for each of many people."""
    return Session([place.speaks.search(f'ou=room{r.randrange(1, 1 + len(GUARDS))},dc=lab')], bad=True)


def asked_member(place, group, bad=False):
    return Session([place.speaks.compare(f'cn=group{group},dc=lab', 'member', 'uid=nobody,ou=people,dc=lab')],
                   bad=bad)


@fault('openldap', 'grow', 'mdb_compare slap_compare_entry attr_valfind ordered_value_match value_match '
       'dnMatch mdb_dn2entry mdb_id2entry mdb_entry_decode', usual=lambda place, r: asked_member(place, 0))
def grow(place, r):
    """A group that has grown: its members are compared one by one."""
    return asked_member(place, r.randrange(1, 1 + len(MEMBERS)), bad=True)


def elsewhere(place, ms, r, bad=False):
    return Session([place.speaks.search(f'cn=ms{int(ms)}-{r.getrandbits(40):x},dc=up')], bad=bad)


@fault('openldap', 'upstream', 'ldap_back_search ldap_result wait4msg ldap_int_select',
       usual=lambda place, r: elsewhere(place, 0, r))
def upstream(place, r):
    """A part of the tree is another server's."""
    return elsewhere(place, between(r, 60, 400), r, bad=True)
