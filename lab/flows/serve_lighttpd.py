# SPDX-License-Identifier: GPL-2.0-or-later
"""lighttpd: an event loop that reads with its own chunk queues."""
from flow_clients import Http, Session
from flow_lab import between, fault, server
from serve_nginx import documents

READS = 'connection_handle_read_state connection_read_header_more connection_read_cq'
UPSTREAM = ('gw_recv_response gw_send_request gw_handle_fdevent gw_handle_subrequest gw_process_fdevent '
            'gw_write_request http_response_read gw_establish_connection proxy_create_env')


@server('lighttpd', Http(other='/list/', post='/up/'), prepare=lambda place: documents(place.room))
def lighttpd(place):
    top, conf = f'{place.servers}/lighttpd-hooks', f'{place.room}/lighttpd.conf'
    with open(conf, 'w', encoding='ascii') as f:
        f.write(f'''server.modules = ( "mod_proxy", "mod_dirlisting" )
server.bind = "127.0.0.1"
server.port = {place.port}
server.document-root = "{place.room}/www"
server.errorlog = "{place.room}/error.log"
server.upload-dirs = ( "{place.room}" )
server.max-keep-alive-requests = 10000
server.max-keep-alive-idle = 20
server.max-read-idle = 60
index-file.names = ( "index.html" )
$HTTP["url"] =^ "/gone" {{ server.error-handler-404 = "/up/?ms={place.seed % 5 * 50 + 80}" }}
$HTTP["url"] =^ "/l" {{ dir-listing.activate = "enable" }}
proxy.server = ( "/up/" => (( "host" => "127.0.0.1", "port" => {place.upstream_port} )) )
''')
    return [f'{top}/sbin/lighttpd', '-D', '-f', conf, '-m', f'{top}/lib']


@fault('lighttpd', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('lighttpd', 'stall', 'connection_handle_write_state connection_handle_write connection_write_chunkqueue '
       'network_write_chunkqueue_sendfile network_write_file_chunk_sendfile connection_write_cq',
       usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('lighttpd', 'upstream', UPSTREAM, usual=lambda place, r: Session([place.speaks.ask('/up/?ms=0')]))
def upstream(place, r):
    return Session([place.speaks.ask(f'/up/?ms={int(between(r, 60, 400))}')], bad=True)


@fault('lighttpd', 'slow', 'mod_dirlisting_subrequest http_open_directory http_read_directory http_list_directory '
       'http_dirls_sort mod_dirlisting_subrequest_start chunkqueue_append_mem_to_tempfile')
def slow(place, _r):
    # It makes one listing at a time, and refuses others meanwhile.
    return Session([place.speaks.ask('/long/')], bad=True, alone=True)


@fault('lighttpd', 'error', f'{UPSTREAM} http_response_call_error_handler http_response_has_error_handler',
       usual=lambda place, r: Session([place.speaks.ask('/up/?ms=0')]))
def error(place, _r):
    return Session([place.speaks.ask('/gone')], bad=True)
