# SPDX-License-Identifier: GPL-2.0-or-later
"""What the studies share: a program under `nest flow record`, the servers that lab/servers/build made, and nest's answers."""
import json
import os
import signal
import socket
import subprocess
import time


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def nest(build, *words):
    """Lines of JSON that `nest flow WORDS` prints."""
    done = subprocess.run([f'{build}/nest', 'flow', *words, '--json'], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def picture(build, trace, *words):
    """What `nest flow diagram TRACE WORDS` prints."""
    return subprocess.run([f'{build}/nest', 'flow', 'diagram', trace, *words], capture_output=True, text=True, check=True).stdout


def page(room):
    """A document root with one page of 700 bytes."""
    os.makedirs(f'{room}/www', exist_ok=True)
    os.chmod(room, 0o755)
    with open(f'{room}/www/index.html', 'w', encoding='ascii') as f:
        f.write('x' * 700)


def certificate(room):
    """A key and a certificate of its own in one file."""
    path = f'{room}/pair.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                    '-keyout', f'{room}/key.pem', '-out', f'{room}/certificate.pem'], check=True, capture_output=True)
    with open(path, 'wb') as out:
        for part in ('key', 'certificate'):
            with open(f'{room}/{part}.pem', 'rb') as f:
                out.write(f.read())
    return path


def nginx(servers, room, port, tls=None):
    """tls: port and certificate of a second server that speaks TLS."""
    page(room)
    conf = f'{room}/nginx.conf'
    secure = f'server {{ listen 127.0.0.1:{tls[0]} ssl; ssl_certificate {tls[1]}; ssl_certificate_key {tls[1]}; ' \
             f'root {room}/www; }}' if tls else ''
    with open(conf, 'w', encoding='ascii') as f:
        temp = ' '.join(f'{n}_temp_path {room}/{n};' for n in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
        f.write(f'daemon off; worker_processes 1; pid {room}/pid; error_log {room}/error.log;\n'
                f'events {{ worker_connections 512; }}\nhttp {{ access_log off; {temp}\n'
                f'server {{ listen 127.0.0.1:{port}; root {room}/www; }} {secure} }}\n')
    return [f'{servers}/nginx-hooks/nginx', '-p', room, '-c', conf]


def apache(servers, room, port, mpm, tls=None):
    """mpm: worker or event; tls as for nginx."""
    page(room)
    top, conf = f'{servers}/apache-hooks', f'{room}/httpd.conf'
    names = [f'mpm_{mpm}', 'authz_core', 'unixd', 'reqtimeout']
    secure = ''
    if tls:
        names += ['socache_shmcb', 'ssl'] if os.path.exists(f'{top}/modules/mod_socache_shmcb.so') else ['ssl']
        secure = (f'Listen 127.0.0.1:{tls[0]}\n<VirtualHost 127.0.0.1:{tls[0]}>\nSSLEngine on\nSSLCertificateFile {tls[1]}\n'
                  f'</VirtualHost>\n')
    modules = ''.join(f'LoadModule {n}_module modules/mod_{n}.so\n' for n in names)
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'ServerRoot {top}\n{modules}User nobody\nGroup nogroup\nServerName localhost\nListen 127.0.0.1:{port}\n'
                f'PidFile {room}/pid\nErrorLog {room}/error.log\nMutex file:{room} default\nStartServers 1\nServerLimit 1\n'
                f'ThreadsPerChild 24\nMaxRequestWorkers 24\nKeepAlive On\nKeepAliveTimeout 1\nRequestReadTimeout header=60\n'
                f'DocumentRoot {room}/www\n<Directory {room}/www>\nRequire all granted\n</Directory>\n{secure}')
    return [f'{top}/bin/httpd', '-f', conf, '-DFOREGROUND']


def stunnel(servers, room, port, behind, pair):
    """TLS on one port, plain on the other side, to the port behind."""
    conf = f'{room}/stunnel.conf'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'foreground = yes\npid =\nsyslog = no\ndebug = err\n[study]\naccept = 127.0.0.1:{port}\n'
                f'connect = 127.0.0.1:{behind}\ncert = {pair}\nTIMEOUTclose = 0\n')
    return [f'{servers}/stunnel-hooks/stunnel', conf]


class Recorded:
    """A program under `nest flow record`, from when it listens on its port to the end of the block. Its output is in ROOM/NAME.out."""

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
        # The recorder hands the signal on to the program.
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
