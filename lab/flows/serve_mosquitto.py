# SPDX-License-Identifier: GPL-2.0-or-later
"""Mosquitto: a broker of messages (MQTT), one event loop."""
import base64
import hashlib
import itertools
import socket
import struct

from flow_clients import LARGE_BYTES, Reader, Session
from flow_dns import take
from flow_lab import between, fault, server

CONNECT, PUBLISH, SUBSCRIBE, PING, PING_REPLY = 0x10, 0x30, 0x82, 0xC0, 0xD0
RETAIN = 1
# Rounds of PBKDF2, the first one quick, the others about 60 to 400 ms on a CPU of 2.8 GHz.
ROUNDS = (100, 60000, 110000, 200000, 330000)
# Topics that a user may not use; the list is searched for each message.
DENIED = (40000, 60000, 90000)
LAMP = 'building/floor/room/lamp'
READS = 'packet__read net__read loop_handle_reads_writes'
WRITES = 'packet__write net__write loop_handle_reads_writes'


def text(words):
    words = words.encode()
    return struct.pack('!H', len(words)) + words


def packet(kind, content):
    size, left = b'', len(content)
    while True:
        left, low = divmod(left, 128)
        size += bytes([low | (0x80 if left else 0)])
        if not left:
            return bytes([kind]) + size + content


class Mqtt:
    """MQTT 3.1.1. Every request ends with a ping: its reply is the end of the answer."""
    numbers = itertools.count()

    def publish(self, topic, content, quality=1, retain=0, number=1):
        identifier = struct.pack('!H', number) if quality else b''
        return packet(PUBLISH | quality << 1 | retain, text(topic) + identifier + content)

    def ask(self, *packets):
        return b''.join(packets) + packet(PING, b'')

    def subscribe(self, topic):
        return self.ask(packet(SUBSCRIBE, struct.pack('!H', 1) + text(topic) + b'\0'))

    def get(self, _last=True):
        return self.subscribe('page')

    def other(self, _last=True):
        return self.ask(self.publish('news', b'n' * 100))

    def missing(self, _last=True):
        return self.subscribe('missing')

    def large(self, _last=True):
        return self.subscribe('large')

    def post(self, size, _last=True):
        return self.ask(self.publish('posted', b'b' * size, retain=RETAIN))

    @staticmethod
    def read(stream, begin=lambda: None):
        kind = 0
        while kind != PING_REPLY:
            head = take(stream, 2)
            if len(head) < 2:
                return False
            begin()
            kind, size, shift = head[0], head[1] & 127, 7
            while head[-1] & 128:
                head += take(stream, 1)
                size |= (head[-1] & 127) << shift
                shift += 7
            stream.read(size)
        return True

    def login(self, s, stream, user):
        """Its reply is one packet of four bytes, the last one of which is zero."""
        user = user or 'u0'
        name = f'client{next(self.numbers)}'
        s.sendall(packet(CONNECT, text('MQTT') + bytes([4, 0xC2]) + struct.pack('!H', 60) + text(name) + text(user) +
                         text(user)))
        if not take(stream, 4).endswith(b'\0'):
            raise ConnectionError(f'{user} may not connect')

    def fill(self, port):
        """What subscribers get at once; on a connection of its own, which is no client's."""
        with socket.create_connection(('127.0.0.1', port), 10) as s, s.makefile('rb', buffering=0) as raw:
            stream = Reader(raw)
            self.login(s, stream, '')
            s.sendall(self.ask(self.publish('page', b'x' * 700, 0, RETAIN),
                               self.publish('large', b'x' * LARGE_BYTES, 0, RETAIN)))
            self.read(stream)


def secret(user, rounds):
    salt = b'salt' * 3
    words = [base64.b64encode(word).decode() for word in
             (salt, hashlib.pbkdf2_hmac('sha512', user.encode(), salt, rounds))]
    return f'{user}:$7${rounds}${words[0]}${words[1]}\n'


def configuration(place):
    """Users u0 ... have passwords of different cost, users w0 ... long lists of rules."""
    with open(f'{place.room}/passwords', 'w', encoding='ascii') as f:
        f.writelines(secret(f'u{i}', rounds if place.what == 'auth' else ROUNDS[0]) for i, rounds in enumerate(ROUNDS))
        f.writelines(secret(f'w{i}', ROUNDS[0]) for i in range(len(DENIED)))
    with open(f'{place.room}/access', 'w', encoding='ascii') as f:
        f.writelines(f'user u{i}\ntopic readwrite #\n' for i in range(len(ROUNDS)))
        for i, count in enumerate(DENIED if place.what == 'permit' else ()):
            f.write(f'user w{i}\n')
            f.writelines(f'topic deny building/floor/room/sensor{j}\n' for j in range(count))
            f.write('topic readwrite #\n')
    with open(f'{place.room}/mosquitto.conf', 'w', encoding='ascii') as f:
        f.write(f'''listener {place.port} 127.0.0.1
user root
allow_anonymous false
password_file {place.room}/passwords
acl_file {place.room}/access
persistence false
sys_interval 0
set_tcp_nodelay true
max_inflight_messages 0
max_queued_messages 0
log_dest file {place.room}/mosquitto.log
log_type error
''')


@server('mosquitto', Mqtt(), prepare=configuration)
def mosquitto(place):
    return [f'{place.servers}/mosquitto-hooks/mosquitto', '-c', f'{place.room}/mosquitto.conf']


@fault('mosquitto', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('mosquitto', 'drip', READS, name='drip-body', usual=lambda place, r: Session([place.speaks.post(2000)]))
def drip_body(place, r):
    return Session([place.speaks.post(2000)], bad=True, drip=between(r, 2, 4))


@fault('mosquitto', 'stall', WRITES, usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('mosquitto', 'auth', 'pw__digest mosquitto_unpwd_check_default', usual=lambda place, r: Session(
    [place.speaks.get()], user='u0'))
def auth(place, r):
    return Session([place.speaks.get()], bad=True, user=f'u{r.randrange(1, len(ROUNDS))}')


def lamps(place, r):
    return [place.speaks.ask(*[place.speaks.publish(LAMP, b'on')] * r.randint(8, 14))]


@fault('mosquitto', 'permit', 'mosquitto_acl_check_default mosquitto_topic_matches_sub mosquitto_topic_matches_sub2',
       usual=lambda place, r: Session(lamps(place, r)))
def permit(place, r):
    """Each message is compared with all rules of a user who has tens of thousands."""
    return Session(lamps(place, r), bad=True, user=f'w{r.randrange(len(DENIED))}')


def unreleased(place, count):
    """Messages that are delivered exactly once, and kept until their sender releases them."""
    return [place.speaks.ask(*(place.speaks.publish('news', b'n', 2, number=i + 1) for i in range(count)))]


@fault('mosquitto', 'quadratic', 'db__message_store_find', usual=lambda place, r: Session(
    unreleased(place, r.randint(5, 20))))
def quadratic(place, r):
    """Thousands of unreleased messages, each compared with all before it."""
    return Session(unreleased(place, int(between(r, 12000, 20000))), bad=True)
