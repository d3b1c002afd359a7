# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the studies: a program under `nest flow record`, the servers of lab/servers/build, output of nest."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../servers'))
from servers import apache, free_port, nginx  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import


def nest(build, *words):
    """JSON lines of `nest flow WORDS`."""
    done = subprocess.run([f'{build}/nest', 'flow', *words, '--json'], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def picture(build, trace, *words):
    """Output of `nest flow diagram TRACE WORDS`."""
    return subprocess.run([f'{build}/nest', 'flow', 'diagram', trace, *words], capture_output=True, text=True,
                          check=True).stdout


def certificate(room):
    """A key with a self-signed certificate in one file."""
    path = f'{room}/pair.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                    '-keyout', f'{room}/key.pem', '-out', f'{room}/certificate.pem'], check=True, capture_output=True)
    with open(path, 'wb') as out:
        for part in ('key', 'certificate'):
            with open(f'{room}/{part}.pem', 'rb') as f:
                out.write(f.read())
    return path


def stunnel(servers, room, port, behind, pair):
    """TLS on one port, forwarded in plain text to the other."""
    conf = f'{room}/stunnel.conf'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'foreground = yes\npid =\nsyslog = no\ndebug = err\n[study]\naccept = 127.0.0.1:{port}\n'
                f'connect = 127.0.0.1:{behind}\ncert = {pair}\nTIMEOUTclose = 0\n')
    return [f'{servers}/stunnel-hooks/stunnel', conf]


class Recorded:
    """A program under `nest flow record` until the block ends, listening from the start; output in ROOM/NAME.out."""

    def __init__(self, build, room, name, command, port, environment=None, stdin=None):
        self.room, self.name, self.port = room, name, port
        self.trace = f'{room}/{name}.trace'
        self.command = [f'{build}/nest', 'flow', 'record', '-o', self.trace, '--', *command]
        self.environment = {**os.environ, **(environment or {})}
        self.stdin, self.process = stdin, None

    def __enter__(self):
        with open(f'{self.room}/{self.name}.out', 'w', encoding='utf-8') as out, \
                open(f'{self.room}/{self.name}.log', 'w', encoding='utf-8') as log:
            self.process = subprocess.Popen(self.command, stdout=out, stderr=log, stdin=self.stdin,
                                            start_new_session=True, env=self.environment)
        for _ in range(300):
            try:
                socket.create_connection(('127.0.0.1', self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise RuntimeError(f'{self.name} does not listen; see {self.room}/{self.name}.log')

    def __exit__(self, *_):
        # The recorder forwards the signal to the program.
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
