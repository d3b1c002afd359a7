# SPDX-License-Identifier: GPL-2.0-or-later
"""Apache httpd with worker threads."""
import os

from flow_clients import Http, Session
from flow_lab import between, fault, server
from serve_nginx import documents

READS = ('ap_core_input_filter reqtimeout_filter ap_get_brigade ap_rgetline_core '
         'ap_get_mime_headers_core read_request_line ap_read_request')


@server('apache-worker', Http(other='/list/', post='/up/'), prepare=lambda place: documents(place.room))
def apache(place):
    top, conf = f'{place.servers}/apache-hooks', f'{place.room}/httpd.conf'
    names = ['mpm_worker', 'authz_core', 'unixd', 'reqtimeout', 'dir', 'autoindex', 'proxy', 'proxy_http']
    modules = ''.join(f'LoadModule {n}_module modules/mod_{n}.so\n' for n in names
                      if os.path.exists(f'{top}/modules/mod_{n}.so'))
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'''ServerRoot {top}
{modules}User nobody
Group nogroup
ServerName localhost
Listen 127.0.0.1:{place.port}
PidFile {place.room}/pid
ErrorLog {place.room}/error.log
Mutex file:{place.room} default
StartServers 1
ServerLimit 1
ThreadsPerChild 24
MaxRequestWorkers 24
MaxKeepAliveRequests 0
KeepAliveTimeout 5
RequestReadTimeout header=60 body=60
DocumentRoot {place.room}/www
ErrorDocument 503 /long/
ProxyPass /up/ http://127.0.0.1:{place.upstream_port}/ disablereuse=on
ProxyErrorOverride On
<Directory {place.room}/www>
Require all granted
Options Indexes
</Directory>
''')
    return [f'{top}/bin/httpd', '-f', conf, '-DFOREGROUND']


@fault('apache-worker', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('apache-worker', 'stall', 'ap_core_output_filter send_brigade_nonblocking '
       'sendfile_nonblocking writev_nonblocking ap_pass_brigade',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('apache-worker', 'slow', 'index_directory handle_autoindex make_autoindex_entry',
       usual=lambda place, r: Session([place.speaks.ask('/list/')]))
def slow(place, _r):
    return Session([place.speaks.ask('/long/')], bad=True)


@fault('apache-worker', 'lock', 'default_handler ap_run_handler ap_invoke_handler')
def lock(place, r):
    name = f'held{r.getrandbits(60)}'
    path = f'{place.room}/www/{name}'
    with open(path, 'wb') as f:
        f.write(b'x' * 700)
    os.chmod(path, 0o644)
    return Session([place.speaks.ask(f'/{name}')], bad=True, lock=path, lock_seconds=between(r, 0.05, 0.4), lease=True)


@fault('apache-worker', 'upstream', 'ap_proxy_http_process_response ap_proxygetline ap_proxy_http_process_response '
       f'ap_proxy_http_request proxy_http_handler {READS}',
       usual=lambda place, r: Session([place.speaks.ask('/up/?ms=0')]))
def upstream(place, r):
    return Session([place.speaks.ask(f'/up/?ms={int(between(r, 60, 400))}')], bad=True)


@fault('apache-worker', 'error', 'ap_discard_request_body ap_die ap_die_r ap_internal_redirect '
       'internal_internal_redirect index_directory handle_autoindex make_autoindex_entry',
       usual=lambda place, r: Session([place.speaks.ask('/up/?ms=0')]))
def error(place, _r):
    return Session([place.speaks.ask('/up/?status=503')], bad=True)
