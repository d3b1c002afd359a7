# SPDX-License-Identifier: GPL-2.0-or-later
"""A shop in C++ over cpp-httplib: a pool of threads, templates, exceptions, destructors."""
from flow_clients import Http, Session
from flow_lab import between, fault, server


def within(name, arguments):
    """A function that makes its system call in a lambda, which another one calls again if a signal interrupts it."""
    inner = f'{name}({arguments})::{{lambda()#1}}'
    return [name, f'{inner}::operator()', f'httplib::detail::handle_EINTR<{inner}>']


# Where its library waits for a client; the same functions wait for the upstream server.
RECEIVES = ['httplib::detail::SocketStream::read', 'httplib::detail::SocketStream::is_readable',
            *within('httplib::detail::select_read', 'int, long, long'),
            *within('httplib::detail::read_socket', 'int, void*, unsigned long, int')]
READS = [*RECEIVES, 'httplib::detail::stream_line_reader::getline', 'httplib::detail::read_headers']
BODY = [*RECEIVES, 'httplib::detail::read_content_with_length', 'httplib::detail::read_content<httplib::Request>',
        'httplib::Server::read_content', 'httplib::Server::read_content_core']
WRITES = ['httplib::detail::SocketStream::write', 'httplib::detail::SocketStream::is_writable',
          'httplib::detail::write_data', *within('httplib::detail::select_write', 'int, long, long'),
          *within('httplib::detail::send_socket', 'int, void const*, unsigned long, int')]
UPSTREAM = [*READS, 'shop::fetch_prices', 'httplib::Client::Get', 'httplib::detail::process_client_socket',
            *(f'httplib::ClientImpl::{name}' for name in ('Get', 'send', 'send_', 'handle_request', 'process_request',
                                                          'process_socket', 'read_response_line'))]
HANDLER = ('main::{lambda(httplib::Request const&, httplib::Response&, std::__exception_ptr::exception_ptr)#3}'
           '::operator()')


class Shop(Http):
    """Its requests; a fault is part of the query."""

    def __init__(self):
        super().__init__(page='/page', large='/large', other='/other?up=0')

    def with_query(self, query):
        return self.ask(f'/page?{query}')


@server('shop', Shop())
def shop(place):
    return [f'{place.servers}/shop-hooks/shop', str(place.port), str(place.upstream_port)]


@fault('shop', 'drip', READS)
def drip(place, r):
    return Session([place.speaks.get()], bad=True, drip=between(r, 2, 4))


@fault('shop', 'drip', BODY, name='drip-body', usual=lambda place, r: Session([place.speaks.post(20000)]))
def drip_body(place, r):
    """Its head is in the first piece."""
    return Session([place.speaks.post(20000)], bad=True, drip=between(r, 2, 4))


@fault('shop', 'stall', WRITES, usual=lambda place, r: Session([place.speaks.large()]))
def stall(place, r):
    return Session([place.speaks.large()], bad=True, stall=between(r, 2, 4))


@fault('shop', 'upstream', UPSTREAM, usual=lambda place, r: Session([place.speaks.with_query('up=0')]))
def upstream(place, r):
    return Session([place.speaks.with_query(f'up={int(between(r, 60, 400))}')], bad=True)


@fault('shop', 'exception', 'shop::Coupons::parse_level shop::Coupons::redeem shop::Coupons::accept '
       'shop::BadCoupon::runtime_error')
def exception(place, r):
    """Exceptions through many levels, again and again, none of which is an error to anybody."""
    return Session([place.speaks.with_query(f'coupons={int(between(r, 600, 4000))}')], bad=True)


@fault('shop', 'rollback', 'shop::Order::roll_back shop::Order::~Order shop::Order::commit')
def rollback(place, r):
    """What was begun is undone when it goes out of scope."""
    return Session([place.speaks.with_query(f'rollback={int(between(r, 50, 400))}')], bad=True)


@fault('shop', 'wakeup', 'shop::Ledger::await_turn shop::Ledger::book shop::Ledger::submit')
def wakeup(place, r):
    """Nobody wakes who waits: the wait ends by its timeout."""
    return Session([place.speaks.with_query(f'forgotten={int(between(r, 50, 400))}')], bad=True)


@fault('shop', 'page-fault', 'shop::Canvas::paint shop::draw_pictures')
def page_fault(place, r):
    """Memory that is taken from the system and given back each time: its time is that of page faults."""
    return Session([place.speaks.with_query(f'pictures={int(between(r, 40, 250))}')], bad=True)


@fault('shop', 'recursion', 'shop::count_below shop::count_categories')
def recursion(place, r):
    """The same is computed again for every way that leads to it."""
    return Session([place.speaks.with_query(f'depth={r.randint(25, 28)}')], bad=True)


@fault('shop', 'error', ['shop::Shop::write_report', 'shop::Shop::report_failure', HANDLER])
def error(place, r):
    return Session([place.speaks.with_query(f'fail={int(between(r, 50, 400))}')], bad=True)
