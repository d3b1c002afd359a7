# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers of lab/servers/build: their configuration, and the commands that run them in the foreground."""
import os
import socket


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def page(room):
    """A document root with one page of 700 bytes."""
    os.makedirs(f'{room}/www', exist_ok=True)
    os.chmod(room, 0o755)
    with open(f'{room}/www/index.html', 'w', encoding='ascii') as f:
        f.write('x' * 700)


def pid_file(room):
    return f'{room}/pid'


def nginx(servers, room, port, *, flavour='hooks', workers=1, tls=None):
    """tls: port and certificate of a second server with TLS."""
    page(room)
    conf = f'{room}/nginx.conf'
    secure = f'server {{ listen 127.0.0.1:{tls[0]} ssl; ssl_certificate {tls[1]}; ssl_certificate_key {tls[1]}; ' \
             f'root {room}/www; }}' if tls else ''
    temp = ' '.join(f'{n}_temp_path {room}/{n};' for n in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'daemon off; worker_processes {workers}; pid {pid_file(room)}; error_log {room}/error.log;\n'
                f'events {{ worker_connections 512; }}\nhttp {{ access_log off; {temp}\n'
                f'server {{ listen 127.0.0.1:{port}; root {room}/www; }} {secure} }}\n')
    return [f'{servers}/nginx-{flavour}/nginx', '-p', room, '-c', conf]


def apache(servers, room, port, mpm, *, flavour='hooks', processes=1, threads=24, keep_alive=1, tls=None):
    """mpm: worker or event; threads of each process; keep_alive in seconds; tls as for nginx."""
    page(room)
    top, conf = f'{servers}/apache-{flavour}', f'{room}/httpd.conf'
    names = [f'mpm_{mpm}', 'authz_core', 'unixd', 'reqtimeout']
    secure = ''
    if tls:
        names += ['socache_shmcb', 'ssl'] if os.path.exists(f'{top}/modules/mod_socache_shmcb.so') else ['ssl']
        secure = (f'Listen 127.0.0.1:{tls[0]}\n<VirtualHost 127.0.0.1:{tls[0]}>\n'
                  f'SSLEngine on\nSSLCertificateFile {tls[1]}\n</VirtualHost>\n')
    modules = ''.join(f'LoadModule {n}_module modules/mod_{n}.so\n' for n in names)
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'ServerRoot {top}\n{modules}User nobody\nGroup nogroup\nServerName localhost\n'
                f'Listen 127.0.0.1:{port}\n'
                f'PidFile {pid_file(room)}\nErrorLog {room}/error.log\nMutex file:{room} default\n'
                f'StartServers {processes}\nServerLimit {processes}\nThreadsPerChild {threads}\n'
                f'MaxRequestWorkers {threads * processes}\nKeepAlive On\nKeepAliveTimeout {keep_alive}\n'
                f'RequestReadTimeout header=60\nDocumentRoot {room}/www\n'
                f'<Directory {room}/www>\nRequire all granted\n</Directory>\n{secure}')
    return [f'{top}/bin/httpd', '-f', conf, '-DFOREGROUND']
