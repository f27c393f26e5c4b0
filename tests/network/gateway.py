#!/usr/bin/python3
"""gateway.py [--long] [WORD...]: the gateway alone, confined, between a supervisor, servers and clients that are all
this process.

Everything happens in namespaces of its own (world.py). Each test has a gateway of its own. WORD: only tests with it in
their name. --long, or CONFINE_LONG: those that wait for a time limit, and no others.
"""
import contextlib
import os
import resource
import selectors
import signal
import socket
import ssl
import struct
import sys
import threading
import time

import world as w

SERVER, SIX, SILENT = '93.184.1.1', '2600:1::1', '93.184.1.77'
HOSTS = {'one.test': [SERVER], 'two.test': [SERVER], 'six.test': [SIX], 'both.test': [SIX, SERVER], 'dead.test': ['93.184.1.99', SERVER],
         'silent.test': [SILENT], 'own.test': ['93.184.0.1'], 'local.test': ['127.0.0.1', '::1'],
         'meta.test': ['169.254.169.254'], 'mixed.test': ['127.0.0.1', SERVER], 'corp.test': ['10.9.9.9'],
         'proxy.test': [SERVER], 'a.wild.test': [SERVER]}
TESTS, LONG = [], []


def test(function):
    TESTS.append(function)
    return function


def long_test(function):
    LONG.append(function)
    return function


class Failed(Exception):
    pass


def check(good, what):
    if not good:
        raise Failed(what)


def same(seen, expected, what):
    check(seen == expected, f'{what}: seen {seen!r}, expected {expected!r}')


# --- servers ----------------------------------------------------------------------------------------------------------


LISTENERS = []  # of the test that runs


def close(listener):
    """Also for the thread that waits on it."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def serve(listener, handle):
    """HANDLE each connection in a thread, until the listener is closed."""
    def loop():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=guard, args=(connection,), daemon=True).start()

    def guard(connection):
        with contextlib.suppress(OSError), connection:
            handle(connection)
    LISTENERS.append(listener)
    threading.Thread(target=loop, daemon=True).start()


def echo(connection):
    """What comes goes back, until the other side ends; then `end`."""
    while True:
        data = connection.recv(65536)
        if not data:
            connection.sendall(b'end')
            return
        connection.sendall(data)


REQUESTS = []


def web(connection):
    """Any request: its head is the answer. It would keep the connection."""
    data = b''
    while b'\r\n\r\n' not in data:
        more = connection.recv(65536)
        if not more:
            return
        data += more
    REQUESTS.append(data)
    body = b'[' + data + b']'
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n' % len(body) + body)
    while True:
        more = connection.recv(65536)
        if not more:
            return
        REQUESTS.append(more)


REBOUND = []


def name_server(sock):
    """A in the world: unknown.test is not known, rebind.test is somewhere else each time."""
    while True:
        query, client = sock.recvfrom(2000)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        question, kind = query[12:at + 5], query[at + 2]
        name = '.'.join(labels)
        address = None
        if name == 'rebind.test' and kind == 1:
            REBOUND.append(name)
            address = SERVER if len(REBOUND) % 2 else '127.0.0.1'
        if name == 'loop.test' and kind == 1:
            address = '127.0.0.1'
        code = 0 if name in ('rebind.test', 'loop.test') else 3
        answer = query[:2] + struct.pack('>HHHHH', 0x8180 | code, 1, 1 if address else 0, 0, 0) + question
        if address:
            answer += b'\xc0\x0c\0\1\0\1\0\0\0\0\0\4' + socket.inet_aton(address)
        sock.sendto(answer, client)


UPSTREAM = []


def upstream(connection):
    """A proxy for CONNECT and for requests in absolute form. It remembers what it was asked."""
    data = b''
    while b'\r\n\r\n' not in data:
        data += connection.recv(65536)
    head, _, rest = data.partition(b'\r\n\r\n')
    UPSTREAM.append(head.decode())
    if b'refuse.test' in head.split(b'\r\n')[0]:
        connection.sendall(b'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
    elif head.startswith(b'CONNECT '):
        connection.sendall(b'HTTP/1.1 200 OK\r\nVia: x\r\n\r\nhello ')
        connection.sendall(rest)
        echo(connection)
    else:
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nup')


# --- clients -----------------------------------------------------------------------------------------------------------


def ask(world, name, kind=1):
    """Return: (code, [address])."""
    sock = world.make('inside', kind=socket.SOCK_DGRAM)
    sock.settimeout(w.GENEROUS)
    sock.connect(('127.0.0.1', 53))
    question = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.')) + b'\0' + struct.pack('>HH', kind, 1)
    sock.send(struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + question)
    answer = sock.recv(600)
    sock.close()
    count, at, addresses = struct.unpack('>H', answer[6:8])[0], 12 + len(question), []
    for _ in range(count):
        size = struct.unpack('>H', answer[at + 10:at + 12])[0]
        addresses.append(socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, answer[at + 12:at + 12 + size]))
        at += 12 + size
    return answer[3] & 15, addresses


def dial(world, address, port, where='inside'):
    sock = world.make(where, socket.AF_INET6 if ':' in address else socket.AF_INET)
    sock.settimeout(w.GENEROUS)
    sock.connect((address, port))
    return sock


def read_all(sock):
    """Return: everything up to the end, or with the error in the place of the end."""
    pieces = []
    try:
        while True:
            pieces.append(sock.recv(65536))
            if not pieces[-1]:
                return b''.join(pieces)
    except ConnectionResetError:
        return b''.join(pieces) + b'<reset>'
    finally:
        sock.close()


def read_some(sock, count):
    data = b''
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            break
        data += more
    return data


def say_all(sock, data, step):
    """Return: the answer to DATA, sent in pieces of STEP, with which the client has said all."""
    cut = False
    try:
        for at in range(0, len(data), step):
            sock.sendall(data[at:at + step])
        sock.shutdown(socket.SHUT_WR)
    except OSError:  # a reset is told once: here, and not to who reads then
        cut = True
    return read_all(sock) or (b'<reset>' if cut else b'')


def talk(world, address, port, data):
    try:
        sock = dial(world, address, port)
    except ConnectionResetError:
        return b'<reset>'
    return say_all(sock, data, len(data) or 1)


def connect_head(name, port):
    return f'CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n'.encode()


def socks_head(name, port):
    return b'\5\1\0\5\1\0\3' + bytes([len(name)]) + name.encode() + struct.pack('>H', port)


def client_hello(name):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


class Setup:
    """The usual gateway: web on 80, echo on 7 and 443, all rules."""
    RULES = ['one.test', 'one.test:7', 'six.test:7,80', 'both.test:7', 'dead.test:7', 'silent.test:7', 'own.test:7', 'local.test:7,80',
             'meta.test:80', 'mixed.test:7', 'corp.test:7', 'rebind.test:7', 'loop.test:7', 'unknown.test:7', '*.wild.test:7', '10.9.0.0/16:7']

    def __init__(self, world, **options):
        self.world = world
        self.gateway = w.Gateway(world, options.pop('rules', self.RULES), **options)
        self.gateway.listen('dns', 53)
        self.proxy = self.gateway.listen('proxy', 0, '127.0.0.1')
        for port in (7, 80, 443):
            self.gateway.listen('tcp', port)
            self.gateway.listen('tcp', port, '::')

    def address(self, name, kind=1):
        code, addresses = ask(self.world, name, kind)
        same((code, len(addresses)), (0, 1), f'the answer for {name}')
        return addresses[0]

    def talk(self, name, port, data):
        return talk(self.world, self.address(name), port, data)

    def by_proxy(self, data):
        return talk(self.world, '127.0.0.1', self.proxy, data)

    def ends(self):
        return self.gateway.end()


# --- tests -------------------------------------------------------------------------------------------------------------


@test
def names_and_addresses(world):
    setup = Setup(world)
    same(ask(world, 'one.test'), (0, ['198.18.16.1']), 'A')
    same(ask(world, 'one.test', 28), (0, ['fdc0:ffee:c0f1::1001']), 'AAAA')
    same(ask(world, 'ONE.test')[1], ['198.18.16.1'], 'A in capitals')
    same(ask(world, 'one.test', 65), (0, []), 'HTTPS')
    same(ask(world, 'evil.test'), (3, []), 'a name that is not listed')
    same(ask(world, 'wild.test'), (3, []), 'the apex of a wildcard')
    stream = setup.gateway.listen('dns-tcp', 53)
    query = struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + b'\3one\4test\0\0\1\0\1'
    sock = dial(world, '127.0.0.1', stream)
    packet = struct.pack('>H', len(query)) + query
    for byte in packet + packet:
        sock.send(bytes([byte]))
    first = read_some(sock, 2 + len(query) + 16)
    same(first[-4:], socket.inet_aton('198.18.16.1'), 'DNS by TCP')
    same(read_some(sock, 2 + len(query) + 16), first, 'the same again')
    for kind in (255, 16):
        same(ask(world, 'one.test', kind), (0, []), f'type {kind} of a listed name')
    for kind in (1, 28, 65, 64, 255):  # what one lookup may ask for
        same(ask(world, 'evil.test', kind), (3, []), f'type {kind} of another')
    said = setup.ends()
    same([m['name'] for m in said if m['type'] == 'connection'], ['evil.test', 'wild.test'], 'refused names')
    same([(m['name'], m['connections']) for m in said if m['type'] == 'counted'], [('evil.test', 1)], 'looked up again: once, by what was asked for first')


@test
def told_anew(world):
    """What a session's runs hear: names one by one again for each that joins, and at its end what is only counted."""
    setup = Setup(world)
    gateway = setup.gateway
    ask(world, 'evil.test')
    gateway.wait('connection', name='evil.test')
    ask(world, 'evil.test')
    gateway.send('tell')
    said = []
    while not said or said[-1]['type'] != 'told':
        said.append(gateway.hear())
    same([(m['type'], m.get('name'), m.get('connections')) for m in said], [('counted', 'evil.test', 1), ('told', None, None)], 'what has been counted')
    gateway.send('anew')
    gateway.send('tell')
    gateway.wait('told')
    ask(world, 'evil.test')
    gateway.wait('connection', name='evil.test')
    gateway.send('tell')
    gateway.send('tell')
    gateway.wait('told')
    gateway.wait('told')
    setup.ends()


@test
def every_way_in(world):
    setup = Setup(world)
    for name in ('one.test', 'six.test', 'both.test'):
        sock = dial(world, setup.address(name), 7)
        sock.sendall(b'hello')
        same(read_some(sock, 5), b'hello', f'{name}, transparent')
        sock.shutdown(socket.SHUT_WR)
        same(read_all(sock), b'end', f'{name}, half closed')
    same(talk(world, setup.address('one.test', 28), 80, b'GET / HTTP/1.0\r\n\r\n')[:15], b'HTTP/1.1 200 OK', 'IPv6 inside')
    same(setup.talk('dead.test', 7, b'')[:0], b'', 'a dead address first')
    answer = setup.by_proxy(b'GET http://one.test/x HTTP/1.1\r\nHost: one.test\r\n\r\nGET http://two.test/y HTTP/1.1\r\nHost: two.test\r\n\r\n')
    check(b'Connection: close' in answer and b'[GET /x HTTP/1.1\r\nHost: one.test\r\nConnection: close' in answer, f'absolute form: {answer}')
    check(not any(b'two.test' in request for request in REQUESTS), 'a second request went to the first one\'s server')
    for head, reply in ((connect_head('one.test', 7), b'HTTP/1.1 200 Connection established\r\n\r\n'),
                        (socks_head('one.test', 7), b'\5\0\5\0\0\1\0\0\0\0\0\0')):
        sock = dial(world, '127.0.0.1', setup.proxy)
        sock.sendall(head + b'early')
        same(read_some(sock, len(reply) + 5), reply + b'early', 'a tunnel')
        sock.shutdown(socket.SHUT_WR)
        same(read_all(sock), b'end', 'a tunnel, half closed')
    closed = [m for m in setup.ends() if m['type'] == 'closed']
    same([m['error'] for m in closed if m['error']], [], 'errors')
    same(closed[0]['sent'], 5, 'bytes sent')
    same(closed[0]['received'], 8, 'bytes received')
    same([m['address'] for m in closed[:3]], [SERVER, SIX, SIX], 'addresses that were dialled')


REFUSED = [
    ('not listed', 'evil.test', 7, 'not-listed', '--allow evil.test:7'),
    ('another port', 'one.test', 22, 'port-not-listed', '--allow one.test:22'),
    ('loopback', 'local.test', 7, 'address-loopback', '--forward 7'),
    ('metadata', 'meta.test', 80, 'address-metadata', None),  # credentials are not offered
    ('the machine itself', 'own.test', 7, 'address-own', '--allow 93.184.0.1:7'),
    ('an address', '93.184.1.1', 7, 'not-listed', '--allow 93.184.1.1:7'),
    ('loopback by number', '127.0.0.1', 7, 'address-loopback', '--forward 7'),
    ('metadata by number', '169.254.169.254', 80, 'address-metadata', None),  # credentials are not offered
    ('decimal', '2130706433', 80, 'bad-name', None),
    ('octal', '0177.0.0.1', 80, 'bad-name', None),
]


@test
def refusals_by_proxy(world):
    setup = Setup(world)
    for what, name, port, reason, option in REFUSED:
        answer = setup.by_proxy(connect_head(name, port))
        check(answer.startswith(b'HTTP/1.1 403 ') and f'X-Confine: {reason}\r\n'.encode() in answer, f'CONNECT, {what}: {answer}')
        check(option is None or option.encode() in answer, f'CONNECT, {what}, the option: {answer}')
        answer = setup.by_proxy(f'GET http://{name}:{port}/ HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n'.encode())
        check(answer.startswith(b'HTTP/1.1 403 ') and f'X-Confine: {reason}\r\n'.encode() in answer, f'absolute form, {what}: {answer}')
        same(setup.by_proxy(socks_head(name, port)), b'\5\0\5\2\0\1\0\0\0\0\0\0', f'SOCKS, {what}')
    said = setup.ends()
    refused = {(m['name'] or m['address'], m['port'], m['refused'], m['option']) for m in said if m['type'] == 'connection' and m['refused']}
    later = {(m['refused'], m['option']) for m in said if m['type'] == 'closed' and m['refused']}
    for what, name, port, reason, option in REFUSED:
        shown = (name, port, reason, option) in refused or (reason, option) in later or reason == 'bad-name'
        check(shown, f'{what} is not reported: {refused} {later}')
    same(sum(m['type'] == 'connection' for m in said), 3 * len(REFUSED), 'connections that were told')


@test
def refusals_when_dialled(world):
    setup = Setup(world)
    for name, port, reason in (('local.test', 7, 'address-loopback'), ('meta.test', 80, 'address-metadata'), ('own.test', 7, 'address-own'),
                               ('corp.test', 80, 'port-not-listed')):
        same(talk(world, setup.address(name), port, b'x'), b'<reset>', name)
        message = setup.gateway.wait('closed') if reason != 'port-not-listed' else setup.gateway.wait('connection')
        same(message['refused'], reason, name)
    for address in ('198.18.99.1', 'fdc0:ffee:c0f1::9999', '198.19.255.1'):  # nobody was told these
        same(talk(world, address, 7, b'x'), b'<reset>', address)
        same(setup.gateway.wait('connection')['refused'] is None, False, address)
    sock = dial(world, setup.address('mixed.test'), 7)  # one of its addresses may be reached
    sock.sendall(b'hello')
    same(read_some(sock, 5), b'hello', 'the other address')
    sock.close()
    same(setup.gateway.wait('closed')['address'], SERVER, 'the address that was dialled')
    setup.ends()


@test
def words_for_who_dialled(world):
    """A reset reads like a bad line; a no in the client's own words does not. Who does not speak gets the reset."""
    setup = Setup(world)
    http = b'GET /x HTTP/1.1\r\nHost: local.test:7\r\n\r\n'
    for name, port, data, answer in (('local.test', 7, client_hello('local.test'), b'\x15\x03\x01\x00\x02\x02\x31'),
                                     ('local.test', 7, http, b'HTTP/1.1 403 Forbidden\r\n'),
                                     ('meta.test', 80, http, b'HTTP/1.1 403 Forbidden\r\n')):
        said = b'<reset>'
        for _ in range(300):
            said = setup.talk(name, port, data)
            check(said == b'<reset>' or said.startswith(answer), f'{name}: {said}')
            if said != b'<reset>':
                break
        check(said.startswith(answer), f'{name} on port {port} is told so: {said}')
        check(b'/x' not in said, 'nothing that the client chose')
    setup.ends()


@test
def names_from_outside(world):
    """What a name server says is checked like everything else."""
    setup = Setup(world)
    same(talk(world, setup.address('loop.test'), 7, b'hello'), b'<reset>', 'a name that leads to loopback')
    same(setup.gateway.wait('closed', refused='address-loopback')['address'], '127.0.0.1', 'the address')
    answer = setup.by_proxy(connect_head('unknown.test', 7))
    check(answer.startswith(b'HTTP/1.1 502 '), f'an unknown name: {answer}')
    same(setup.gateway.wait('closed')['error'], 'there is no such name', 'the error')
    setup.ends()


@long_test
def rebinding(world):
    setup = Setup(world)
    seen = set()
    for _ in range(2):
        sock = dial(world, setup.address('rebind.test'), 7)
        sock.sendall(b'hello')
        seen.add(read_some(sock, 5))
        sock.close()
    same(seen, {b'hello'}, 'one answer serves for some seconds')
    same(len(REBOUND), 1, 'questions')
    time.sleep(5.2)  # by then it is not fresh any more; the next answer is 127.0.0.1
    same(talk(world, setup.address('rebind.test'), 7, b'hello'), b'<reset>', 'rebound to loopback')
    same(setup.gateway.wait('closed', refused='address-loopback')['address'], '127.0.0.1', 'the address')
    setup.ends()


@test
def names_within(world):
    """TLS and HTTP ask for the name that was reached, or are refused; however their bytes are cut."""
    setup = Setup(world)
    hello, other = client_hello('one.test'), client_hello('two.test')
    records = b''.join(b'\x16\3\1' + struct.pack('>H', 1) + hello[5 + i:6 + i] for i in range(len(hello) - 5))
    for what, data, good in (('its own name', hello, True), ('its own name in small records', records, True), ('another name', other, False),
                             ('no name', client_hello(None), False), ('an address', b'\x16\3\1\0\5\1\0\0\1\0', False),
                             ('plain', b'\0\1binary', True), ('HTTP', b'GET / HTTP/1.1\r\nHost: one.test\r\n\r\n', True),
                             ('HTTP with a port', b'GET / HTTP/1.1\r\nHost: ONE.test:443\r\n\r\n', True),
                             ('HTTP for another', b'GET / HTTP/1.1\r\nHost: two.test\r\n\r\n', False),
                             ('HTTP for two', b'GET / HTTP/1.1\r\nHost: one.test\r\nHost: two.test\r\n\r\n', False),
                             ('HTTP, absolute, for another', b'GET http://two.test/ HTTP/1.1\r\nHost: one.test\r\n\r\n', False),
                             ('HTTP, no host', b'GET / HTTP/1.1\r\n\r\n', False)):
        for dialect, head, reply in (('transparent', b'', 0), ('CONNECT', connect_head('one.test', 443), 39), ('SOCKS', socks_head('one.test', 443), 12)):
            for step in (len(data), 1):
                if step == 1 and len(data) > 700:
                    continue  # the small records are enough of that
                sock = dial(world, setup.address('one.test') if not head else '127.0.0.1', 443 if not head else setup.proxy)
                sock.sendall(head)
                read_some(sock, reply)
                got = say_all(sock, data, step)
                same(got, data + b'end' if good else b'<reset>', f'{what}, {dialect}, in pieces of {step}')
    reasons = {m['refused'] for m in setup.ends() if m['type'] == 'closed'}
    same(reasons, {None, 'tls-name', 'tls-no-name', 'tls-bad', 'http-host', 'bad-request'}, 'reasons')


@test
def requests_that_only_servers_take_for_some(world):
    """Empty lines in front, odd methods, odd white space: the head behind it is read like every other."""
    setup = Setup(world)
    host, other = b'\r\nHost: one.test\r\n\r\n', b'\r\nHost: two.test\r\n\r\n'
    rows = [('empty lines in front', b'\r\n' * 9000 + b'GET / HTTP/1.1' + host, True), ('a text without an end', b'00000001', True), ('small words', b'hello\n', True),
            ('a line of a log', b'1.2.3.4 - - "GET / HTTP/1.1" 200 "curl"\n' + other, True), ('a long line', b'x' * 40000 + b'\n', True), ('zeros', bytes(70000), True)]
    for what, line in (('an empty line', b'\r\nGET / HTTP/1.1'), ('many empty lines', b'\r\n' * 9000 + b'GET / HTTP/1.1'), ('a line feed', b'\nGET / HTTP/1.1'),
                       ('a method of signs', b'X-GET / HTTP/1.1'), ('small letters', b'get / HTTP/1.1'), ('digits', b'0 / HTTP/1.1'), ('a space in front', b' GET / HTTP/1.1'),
                       ('a tab', b'GET\t/ HTTP/1.1'), ('spaces', b'GET  /  HTTP/1.1'), ('a space behind', b'GET / HTTP/1.1 '), ('a small version', b'GET / http/1.1'),
                       ('a path with a space', b'GET /a b HTTP/1.1'), ('a long path', b'get /' + b'a' * 40000 + b' HTTP/1.1')):
        rows.append((what, line + other, False))
        rows.append((what + ', in pieces', line + other, None))
    for what, data, good in rows:
        sock = dial(world, setup.address('one.test'), 80 if good is None else 7)
        step = 1 if good is None and len(data) < 1000 else 5000
        with contextlib.suppress(OSError):
            for at in range(0, len(data), step):
                sock.sendall(data[at:at + step])
            sock.shutdown(socket.SHUT_WR)
        got = read_all(sock)
        if good:
            same(got, data + b'end', what)
        else:  # what was not yet a request may have gone on; and who was still sending has heard of the reset
            check(b'two.test' not in got and not got.endswith(b'end'), f'{what}: {got[-100:]}')
    check(not any(b'two.test' in request for request in REQUESTS), f'the request came: {REQUESTS}')
    reasons = [m['refused'] for m in setup.ends() if m['type'] == 'closed' and m['refused']]
    same((set(reasons), len(reasons)), ({'http-host', 'bad-request'}, sum(not good for _, _, good in rows)), 'reasons')


@test
def server_speaks_first(world):
    setup = Setup(world)
    listener = world.listen('world', SERVER, 22)
    serve(listener, lambda c: (c.sendall(b'SSH-2.0-x\r\n'), echo(c)))
    setup.gateway.send('allow', rule='one.test:22')
    # In this order: whoever hears that it is in force connects.
    same(setup.gateway.wait('listen-wanted')['port'], 22, 'the port that is wanted')
    setup.gateway.wait('allowed', rule='one.test:22')
    setup.gateway.listen('tcp', 22)
    sock = dial(world, setup.address('one.test'), 22)
    same(read_some(sock, 11), b'SSH-2.0-x\r\n', 'the banner')
    sock.close()
    setup.gateway.send('allow', rule='*')
    same(setup.gateway.wait('allow-refused')['rule'], '*', 'what is no rule')
    same(setup.by_proxy(connect_head('new.test', 80))[:12], b'HTTP/1.1 403', 'not yet')
    setup.gateway.send('allow', rule='new.test')
    setup.gateway.wait('allowed')
    same(ask(world, 'new.test')[0], 0, 'now it is')
    close(listener)
    setup.ends()


@test
def pinned_names(world):
    gateway = w.Gateway(world, ['one.test:7', 'two.test:7'])
    gateway.listen('dns', 53)
    gateway.listen('tcp', 7, '198.18.0.2', name='one.test')
    gateway.listen('tcp', 7, 'fdc0:ffee:c0f1::2', name='one.test')
    same(ask(world, 'one.test'), (0, ['198.18.0.2']), 'A')
    same(ask(world, 'one.test', 28), (0, ['fdc0:ffee:c0f1::2']), 'AAAA')
    gateway.listen('tcp', 7, '127.9.9.9', name='two.test')
    # An address of /etc/hosts may be that of several names; one of the pool is not.
    for address, name, good in (('127.9.9.9', 'two.test', True), ('127.9.9.9', 'one.test', True), ('127.9.9.9', 'evil.test', False),
                                ('198.18.0.2', 'one.test', True), ('198.18.0.2', 'two.test', False)):
        hello = client_hello(name)
        same(talk(world, address, 7, hello), hello + b'end' if good else b'<reset>', f'{name} at {address}')
        request = f'GET / HTTP/1.1\r\nHost: {name}\r\n\r\n'.encode()
        same(talk(world, address, 7, request), request + b'end' if good else b'<reset>', f'HTTP for {name} at {address}')
    for address in ('198.18.0.2', 'fdc0:ffee:c0f1::2', '127.9.9.9'):
        sock = dial(world, address, 7)
        sock.sendall(b'hi')
        same(read_some(sock, 2), b'hi', address)
        sock.close()
    gateway.end()


@test
def large_answer_to_a_client_that_is_slow(world):
    """What waits for one is bounded, and nobody else waits."""
    setup = Setup(world)
    total = 64 * 1024 * 1024
    listener = world.listen('world', SERVER, 9)
    serve(listener, lambda c: c.sendall(bytes(total)))
    setup.gateway.send('allow', rule='one.test:9')
    setup.gateway.listen('tcp', 9)
    address = setup.address('one.test')
    slow = [dial(world, address, 9) for _ in range(20)]
    for sock in slow:
        same(read_some(sock, 1), b'\0', 'it has begun')
    began = time.monotonic()
    for _ in range(50):
        same(setup.talk('one.test', 80, b'GET / HTTP/1.0\r\n\r\n')[:12], b'HTTP/1.1 200', 'somebody else')
    check(time.monotonic() - began < w.GENEROUS, 'the others had to wait')
    status = open(f'/proc/{setup.gateway.process.pid}/status', encoding='ascii').read()
    resident = int(status.split('VmRSS:')[1].split()[0])
    check(resident < 16 * 1024, f'{resident} KiB for twenty slow clients')
    same(len(read_all(slow[0])), total - 1, 'all of it came')
    for sock in slow[1:]:
        sock.close()
    close(listener)
    setup.ends()


@test
def many_at_once(world):
    """A thousand connections that are all open at the same time, from all dialects, each with its own bytes."""
    setup = Setup(world)
    address, count, socks = setup.address('one.test'), 1050, []
    for i in range(count):
        if i % 3:
            sock = dial(world, '127.0.0.1', setup.proxy)
            sock.sendall(connect_head('one.test', 7) if i % 3 == 1 else socks_head('one.test', 7))
        else:
            sock = dial(world, address, 7)
        sock.sendall(b'%08d' % i)
        socks.append(sock)
    for i, sock in enumerate(socks):
        same(read_some(sock, (0, 39, 12)[i % 3] + 8)[-8:], b'%08d' % i, f'connection {i}')
    for i, sock in enumerate(socks):
        sock.sendall(b'x' * i)
    for i, sock in enumerate(socks):
        same(len(read_some(sock, i)), i, f'more of connection {i}')
        sock.close()
    said = setup.gateway.end()
    connections = sum(m['type'] == 'connection' for m in said)
    counted = sum(m['connections'] for m in said if m['type'] == 'counted')
    same(connections, 1000, 'told one by one')
    same(connections + counted, count, 'told and counted')
    sent = sum(m['sent'] for m in said if m['type'] in ('closed', 'counted'))
    same(sent, 8 * count + sum(range(count)), 'bytes sent')


@test
def a_flood_of_refusals_hides_nothing(world):
    """What is refused has bounds of its own; what exceeds them is a sum that says so."""
    setup = Setup(world)
    count, listed = 1400, setup.address('one.test')
    with world.make('inside', kind=socket.SOCK_DGRAM) as asking:
        asking.settimeout(w.GENEROUS)
        asking.connect(('127.0.0.1', 53))
        for i in range(count):
            name = b'evil%d' % i
            asking.send(struct.pack('>HHHHHH', i, 0x100, 1, 0, 0, 0) + bytes([len(name)]) + name + b'\4test\0\0\1\0\1')
            same(asking.recv(4096)[3] & 15, 3, 'an unlisted name')
    for i in range(3):
        sock = dial(world, listed, 7)
        sock.sendall(b'x' * (i + 1))
        same(len(read_some(sock, i + 1)), i + 1, 'a listed name')
        sock.close()
    said = setup.ends()
    told = [m for m in said if m['type'] == 'connection']
    refused = len([m for m in told if m['refused']])
    check(200 < refused < count, f'{refused} refusals are told one by one')
    same(len([m for m in told if not m['refused']]), 3, 'connections that are told behind them')
    same(sorted(m['sent'] for m in said if m['type'] == 'closed'), [1, 2, 3], 'their bytes')
    rest = [m for m in said if m['type'] == 'counted' and m['name'] is None]
    check(rest and all(m['refused'] == 'various' for m in rest), f'the rest: {rest}')
    same(refused + sum(m['connections'] for m in said if m['type'] == 'counted'), count, 'all refusals')


@test
def descriptors_run_out(world):
    """No more than fit in; the others wait in the kernel's queue, and the gateway sleeps."""
    setup = Setup(world, limit=(160, 160))
    address = setup.address('one.test')
    socks = [dial(world, address, 7) for _ in range(200)]
    for sock in socks:
        sock.sendall(b'a')
    answered = set()

    def look():
        for i, sock in enumerate(socks):
            if i not in answered:
                sock.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    check(sock.recv(1) == b'a', 'an answer')
                    answered.add(i)
        return len(answered) >= 20
    check(w.wait_until(look), 'the first ones are served')
    time.sleep(0.3)
    look()
    same(len(answered) < 100, True, f'{len(answered)} are served')
    pid = setup.gateway.process.pid
    ticks = lambda: sum(map(int, open(f'/proc/{pid}/stat', encoding='ascii').read().rsplit(')', 1)[1].split()[11:13]))
    before = ticks()
    time.sleep(1)
    check(ticks() - before < 0.3 * os.sysconf('SC_CLK_TCK'), 'it spins')
    while len(answered) < len(socks):
        done = [i for i in answered if socks[i].fileno() >= 0]
        for i in done:
            socks[i].close()
            socks[i] = socket.socket()
        check(w.wait_until(lambda: look_again(socks, answered)), f'only {len(answered)} were served')
    setup.ends()


def look_again(socks, answered):
    before = len(answered)
    for i, sock in enumerate(socks):
        if i not in answered:
            with contextlib.suppress(BlockingIOError):
                check(sock.recv(1) == b'a', 'an answer')
                answered.add(i)
    return len(answered) > before


@test
def broken_connections(world):
    """A reset is a reset on the other side, an end is an end, and nothing of it ends the gateway."""
    setup = Setup(world)
    listener = world.listen('world', SERVER, 9)

    def breaks(connection):
        connection.sendall(b'part')
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    serve(listener, breaks)
    setup.gateway.send('allow', rule='one.test:9')
    setup.gateway.listen('tcp', 9)
    address = setup.address('one.test')
    same(talk(world, address, 9, b'x'), b'part<reset>', 'a server that breaks off')
    close(listener)
    same(talk(world, address, 9, b'x'), b'<reset>', 'a server that is not there')
    answer = setup.by_proxy(connect_head('one.test', 9))
    check(answer.startswith(b'HTTP/1.1 502 '), f'the same by CONNECT: {answer}')
    same(setup.by_proxy(socks_head('one.test', 9)), b'\5\0\5\5\0\1\0\0\0\0\0\0', 'the same by SOCKS')
    for data in (b'', b'G', b'\5', b'\5\1', b'\5\1\0\5', b'\4\1\0\x50\1\2\3\4\0', b'\0', b'\n', b'\r\n\r\n', os.urandom(100), b'A' * 20000, b'\x16\3\1'):
        setup.by_proxy_and_gone = dial(world, '127.0.0.1', setup.proxy)
        setup.by_proxy_and_gone.sendall(data)
        setup.by_proxy_and_gone.close()
    for _ in range(50):
        sock = dial(world, address, 7)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        sock.close()
    same(setup.by_proxy(b'\4\1\0\x50\1\2\3\4\0')[:12], b'HTTP/1.1 400', 'SOCKS4')
    same(setup.talk('one.test', 80, b'GET / HTTP/1.0\r\n\r\n')[:12], b'HTTP/1.1 200', 'it goes on')
    setup.ends()


@test
def answers_end_with_their_connection(world):
    """A body has an end; what a client sends behind it goes nowhere."""
    setup = Setup(world)
    del REQUESTS[:]
    head = b'POST http://one.test/ HTTP/1.1\r\nHost: one.test\r\n'
    for body, passed in ((b'Content-Length: 3\r\n\r\nabcGET /evil HTTP/1.1\r\n\r\n', b'abc'),
                         (b'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n', b'3\r\nabc\r\n0\r\n\r\n')):
        sock = dial(world, '127.0.0.1', setup.proxy)
        sock.sendall(head + body)
        check(b'200 OK' in sock.recv(65536), 'an answer')
        sock.close()
        same(setup.gateway.wait('closed')['error'], None, 'no error')
        check(w.wait_until(lambda: passed in b''.join(REQUESTS)), f'the body came: {REQUESTS}')
        check(b'evil' not in b''.join(REQUESTS), f'what stands behind it came as well: {REQUESTS}')
        del REQUESTS[:]
    sloppy = world.listen('world', SERVER, 8)
    serve(sloppy, lambda c: (c.recv(1000), c.sendall(b'HTTP/1.1 200 OK\nX: y\n\nhi')))
    setup.gateway.send('allow', rule='one.test:8')
    answer = setup.by_proxy(b'GET http://one.test:8/ HTTP/1.1\r\nHost: one.test:8\r\n\r\n')
    check(answer.startswith(b'HTTP/1.1 502 '), f'an answer that cannot be read: {answer}')
    patient = world.listen('world', SERVER, 9)
    serve(patient, lambda c: (c.recv(1000), c.sendall(b'HTTP/1.1 100 Continue\r\n\r\n'), c.recv(1000), c.sendall(b'HTTP/1.1 204 No\r\n\r\n')))
    setup.gateway.send('allow', rule='one.test:9')
    sock = dial(world, '127.0.0.1', setup.proxy)
    sock.sendall(b'POST http://one.test:9/ HTTP/1.1\r\nHost: one.test:9\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n')
    same(read_some(sock, 25), b'HTTP/1.1 100 Continue\r\n\r\n', 'it may go on')
    sock.sendall(b'hi')
    same(read_all(sock), b'HTTP/1.1 204 No\r\nConnection: close\r\n\r\n', 'the answer behind it')
    for bad in (b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n', b'Content-Length: 3\r\nContent-Length: 3\r\n\r\n',
                b'Host: two.test\r\n\r\n', b'X:\n\r\n', b'X : y\r\n\r\n'):
        answer = setup.by_proxy(head + bad)
        check(answer.startswith(b'HTTP/1.1 400 '), f'{bad}: {answer}')
    same(REQUESTS, [], 'nothing of that reached a server')
    setup.ends()


@test
def forward_and_publish(world):
    gateway = w.Gateway(world, ['one.test'])
    service = world.listen('host', '127.0.0.1', 4321)
    serve(service, echo)
    inside = world.listen('inside', '127.0.0.1', 8080)
    serve(inside, echo)
    forward = world.listen('inside', '127.0.0.1', 4321)
    gateway.send('forward', forward, port=4321)
    publish = world.listen('host', '127.0.0.1', 0)
    gateway.send('publish', publish, port=8080)
    inside6 = world.listen('inside', '::1', 8082)
    serve(inside6, echo)
    publish6 = world.listen('host', '127.0.0.1', 0)
    gateway.send('publish', publish6, port=8082)
    port6 = publish6.getsockname()[1]
    publish6.close()
    nothing = world.listen('host', '127.0.0.1', 0)
    gateway.send('publish', nothing, port=8081)
    port, no_port = publish.getsockname()[1], nothing.getsockname()[1]
    for listener in (forward, publish, nothing):
        listener.close()
    sock = dial(world, '127.0.0.1', 4321)
    sock.sendall(b'out')
    same(read_some(sock, 3), b'out', 'a service of the host')
    sock.close()
    socks = [dial(world, '127.0.0.1', port, 'host') for _ in range(5)]
    for i, sock in enumerate(socks):
        sock.sendall(b'in%d' % i)
    answers = threading.Thread(target=lambda: [gateway.wait('wants-socket') for _ in range(5)])
    answers.start()
    for i, sock in enumerate(socks):
        same(read_some(sock, 3), b'in%d' % i, 'a server inside')
        sock.close()
    answers.join()
    # A client that breaks off; the socket inside lives on in whoever made it, and has something to say later.
    for _ in range(5):
        sock = dial(world, '127.0.0.1', port, 'host')
        gateway.wait('wants-socket')
        sock.sendall(b'x')
        same(read_some(sock, 1), b'x', 'a server inside')
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        sock.close()
        gateway.wait('closed', protocol=None)
        gateway.kept[-1].sendall(b'y')
        same(gateway.kept[-1].recv(1), b'y', 'what the server says to nobody')
        gateway.kept[-1].shutdown(socket.SHUT_WR)
        same(read_all(gateway.kept[-1]), b'end', 'its end')
    sock = dial(world, '127.0.0.1', port6, 'host')
    sock.sendall(b'six')
    gateway.wait('wants-socket', family=4)
    gateway.wait('wants-socket', family=6)
    same(read_some(sock, 3), b'six', 'a server inside on ::1')
    sock.close()
    sock = dial(world, '127.0.0.1', no_port, 'host')
    gateway.wait('wants-socket', family=6)
    same(read_all(sock), b'<reset>', 'no server inside')
    gateway.end()
    for listener in (service, inside, inside6):
        close(listener)


@test
def last_words_go_out(world):
    """What the inside has written before `end` arrives, though it has closed already."""
    size = 3000000
    for _ in range(5):
        got, inside = [], world.listen('inside', '127.0.0.1', 8080)
        serve(inside, lambda c: c.sendall(bytes(size)))
        sink = world.listen('world', SERVER, 9)
        serve(sink, lambda c: got.append(len(read_all(c))))
        setup = Setup(world, rules=['one.test:9'])
        setup.gateway.listen('tcp', 9)
        publish = world.listen('host', '127.0.0.1', 0)
        setup.gateway.send('publish', publish, port=8080)
        outside = dial(world, '127.0.0.1', publish.getsockname()[1], 'host')
        publish.close()
        setup.gateway.wait('wants-socket')
        same(read_some(outside, 1), b'\0', 'it has begun')
        writer = dial(world, setup.address('one.test'), 9)
        writer.settimeout(None)
        writer.sendall(bytes(size // 10))
        writer.close()
        setup.gateway.wait('connection', name='one.test')
        reader = threading.Thread(target=lambda: got.append(len(read_all(outside))))
        reader.start()
        closed = [m for m in setup.ends() if m['type'] == 'closed']
        reader.join()
        check(w.wait_until(lambda: len(got) == 2), 'both ends were seen')
        same(sorted(got), [size // 10, size - 1], 'bytes that arrived')
        same(len(closed), 2, 'connections')
        close(inside)
        close(sink)


@test
def another_proxy(world):
    """Everything goes through it, and it is asked for names."""
    proxy = world.listen('world', SERVER, 3128)
    serve(proxy, upstream)
    setup = Setup(world, rules=['far.test', 'far.test:7', 'refuse.test:7', 'one.test'], upstream=f'http://us%40er:pass@{SERVER}:3128')
    del UPSTREAM[:]
    sock = dial(world, '127.0.0.1', setup.proxy)
    sock.sendall(connect_head('far.test', 7) + b'early')
    reply = b'HTTP/1.1 200 Connection established\r\n\r\nhello early'
    same(read_some(sock, len(reply)), reply, 'CONNECT')
    sock.close()
    same(UPSTREAM[-1], 'CONNECT far.test:7 HTTP/1.1\r\nHost: far.test:7\r\nProxy-Authorization: Basic dXNAZXI6cGFzcw==', 'what it was asked')
    sock = dial(world, setup.address('far.test'), 7)
    sock.sendall(b'dialled')
    same(read_some(sock, 13), b'hello dialled', 'transparent')
    sock.close()
    answer = setup.by_proxy(b'GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n\r\n')
    check(answer.endswith(b'up') and UPSTREAM[-1].startswith('GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\nProxy-Auth'), f'absolute form: {UPSTREAM[-1]}')
    answer = setup.talk('far.test', 80, b'GET /y HTTP/1.1\r\nHost: far.test\r\n\r\n')
    check(answer.endswith(b'up') and UPSTREAM[-1].startswith('GET http://far.test/y HTTP/1.1\r\n'), f'dialled on port 80: {UPSTREAM[-1]} {answer}')
    asked = len(UPSTREAM)
    same(setup.talk('far.test', 80, b'GET /y HTTP/1.1\r\nHost: two.test\r\n\r\n')[:12] in (b'<reset>', b'HTTP/1.1 403'), True, 'another host')
    check(setup.by_proxy(connect_head('evil.test', 7)).startswith(b'HTTP/1.1 403 '), 'a name that is not listed')
    check(setup.by_proxy(connect_head('10.0.0.1', 7)).startswith(b'HTTP/1.1 403 '), 'an address')
    same(len(UPSTREAM), asked, 'it was not asked for what is refused')
    check(setup.by_proxy(connect_head('refuse.test', 7)).startswith(b'HTTP/1.1 502 '), 'it refuses')
    same(setup.talk('refuse.test', 7, b'x'), b'<reset>', 'it refuses, transparent')
    same(setup.by_proxy(connect_head('far.test', 443) + client_hello('two.test'))[-7:], b'<reset>', 'another name in TLS')
    setup.ends()
    close(proxy)


def process_state(pid):
    try:
        return open(f'/proc/{pid}/stat', encoding='ascii').read().rsplit(')', 1)[1].split()[0]
    except OSError:
        return 'gone'


def children_of(pid):
    found = []
    for name in os.listdir('/proc'):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                if int(open(f'/proc/{name}/stat', encoding='ascii').read().rsplit(')', 1)[1].split()[1]) == pid:
                    found.append(int(name))
    return found


@test
def it_ends(world):
    """With its channel at once, resolver included; killed, everybody sees it."""
    for how in ('channel', 'kill'):
        setup = Setup(world)
        sock = dial(world, setup.address('one.test'), 7)
        sock.sendall(b'hi')
        same(read_some(sock, 2), b'hi', 'a connection')
        pid = setup.gateway.process.pid
        below = children_of(pid)
        for child in below[:1]:
            below += children_of(child)
        check(len(below) >= 1, 'it has a resolver')
        if how == 'channel':
            setup.gateway.channel.close()
        else:
            os.kill(pid, signal.SIGKILL)
        check(read_all(sock) in (b'', b'<reset>'), 'the connection ends')
        same(setup.gateway.process.wait(w.GENEROUS), 0 if how == 'channel' else -signal.SIGKILL, 'its status')
        while how == 'kill' and setup.gateway.hear():  # its last words, and then the end of the channel
            pass
        check(w.wait_until(lambda: all(process_state(p) in ('gone', 'Z') for p in below)), f'a resolver is left: {below}')


@test
def resolver_ends(world):
    """Without a resolver there is no way out, and what was open goes on."""
    setup = Setup(world)
    sock = dial(world, setup.address('one.test'), 7)
    sock.sendall(b'hi')
    same(read_some(sock, 2), b'hi', 'a connection')
    below = children_of(setup.gateway.process.pid)
    for child in list(below):
        below += children_of(child)
    for child in below:
        os.kill(child, signal.SIGKILL)
    same(setup.talk('both.test', 7, b'x'), b'<reset>', 'a name that would have to be looked up')
    sock.sendall(b'ho')
    same(read_some(sock, 2), b'ho', 'the first connection')
    sock.close()
    setup.ends()


CHAINS = [
    ('no_new_privs and a filter', 'detach-run --keep {channel} -- landlock-run --ro {program} -- drop-run -- {program} --channel {channel}', 'there is no filter'),
    ('Landlock', 'detach-run --keep {channel} -- drop-run -- seccomp-run --set landlock --without net.inet --sentinel 300 -- {program} --channel {channel}',
     "it can read the host's files"),
    ('no filter and no Landlock', 'detach-run --keep {channel} -- drop-run -- {program} --channel {channel}', 'there is no filter'),
    ('capabilities', 'detach-run --keep {channel} -- landlock-run --ro {program} -- seccomp-run --set landlock --without net.inet --sentinel 300 -- {program} '
     '--channel {channel}', 'it has capabilities'),
    ('a readable root', 'detach-run --keep {channel} -- landlock-run --ro / -- drop-run -- seccomp-run --set landlock --without net.inet --sentinel 300 -- '
     '{program} --channel {channel}', "it can read the host's files"),
]


@test
def it_refuses_to_start_unconfined(world):
    for what, chain, message in CHAINS:
        gateway = w.Gateway(world, [], chain=chain, start=False)
        said = gateway.hear()
        same((said or {}).get('type'), 'failed', f'without {what}')
        check(message in said['message'], f'without {what}: {said}')
        same(gateway.process.wait(w.GENEROUS), 125, f'without {what}: its status')


@test
def its_walls_stand(world):
    """What the kernel says of both processes, from outside."""
    gateway = w.Gateway(world, [])
    pid = gateway.process.pid
    for process in [pid, *children_of(pid)]:
        status = dict(line.split(':', 1) for line in open(f'/proc/{process}/status', encoding='ascii').read().splitlines())
        same(status['NoNewPrivs'].strip(), '1', 'no_new_privs')
        same(status['Seccomp'].strip(), '2', 'a filter')
        check(int(status['Seccomp_filters']) >= 2, 'a filter of its own')
        same(status['CapEff'].strip(), '0' * 16, 'capabilities')
        same(os.stat(f'/proc/{process}').st_uid, 65534 if os.stat(f'/proc/{process}').st_uid == 65534 else 0, 'owner')
        with contextlib.suppress(PermissionError):
            os.readlink(f'/proc/{process}/exe')
    gateway.end()


BAD = [
    ('no JSON', b'{'), ('no object', b'[]'), ('no type', b'{"rules":[]}'), ('an unknown type', b'{"type":"x"}'), ('a repeated key', b'{"type":"end","type":"end"}'),
    ('an unknown key', b'{"type":"end","x":1}'), ('a rule that is none', b'{"type":"start","rules":["*"]}'), ('a range that is none', b'{"type":"start","rules":[],"pool4":"x"}'),
    ('asking by half', b'{"type":"start","rules":[],"asks":false}'), ('a proxy that is none', b'{"type":"start","rules":[],"upstream":"ftp://x"}'), ('a listener without a socket', b'{"type":"listen","role":"tcp"}'),
    ('allow before start', b'{"type":"allow","rule":"a.test"}'), ('a packet that is too large', b'{"type":"start","rules":[],"x":"' + b'a' * 70000 + b'"}'),
]


@test
def it_guesses_nothing(world):
    for what, packet in BAD:
        gateway = w.Gateway(world, [], start=False)
        gateway.wait('confined')
        gateway.channel.send(packet)
        said = gateway.hear()
        same((said or {}).get('type'), 'failed', what)
        check(gateway.hear() is None, f'{what}: it goes on')
        same(gateway.process.wait(w.GENEROUS), 125, f'{what}: its status')
    gateway = w.Gateway(world, [])
    file = world.make('inside', kind=socket.SOCK_DGRAM)
    gateway.send('listen', file, role='tcp')
    same(gateway.hear()['type'], 'failed', 'a socket of another kind')


@long_test
def time_limits(world):
    """A byte a second, a head that never ends, a server that never answers, all at once."""
    setup = Setup(world)
    address = setup.address('one.test')
    drip = {'request': dial(world, '127.0.0.1', setup.proxy), 'socks': dial(world, '127.0.0.1', setup.proxy), 'hello': dial(world, address, 443)}
    bytes_of = {'request': iter(b'GET http://one.test/' + b'a' * 100), 'socks': iter(b'\5\1\0\5\1\0\3\xff' + b'a' * 100), 'hello': iter(client_hello('one.test'))}
    silent = dial(world, setup.address('silent.test'), 7)
    began, ended = time.monotonic(), {}
    while len(ended) < 3 and time.monotonic() - began < w.GENEROUS:
        for name, sock in drip.items():
            if name not in ended:
                try:
                    sock.send(bytes([next(bytes_of[name])]))
                except OSError:
                    ended[name] = time.monotonic() - began
        same(setup.talk('one.test', 80, b'GET / HTTP/1.0\r\n\r\n')[:12], b'HTTP/1.1 200', 'everybody else')
        time.sleep(1)
    same(sorted(ended), ['hello', 'request', 'socks'], 'those that drip are ended')
    check(all(9 < seconds < 30 for seconds in ended.values()), f'by the time limit: {ended}')
    check(read_all(silent) == b'<reset>', 'a server that never answers')
    setup.ends()


def main():
    words = [word for word in sys.argv[1:] if word != '--long']
    tests = LONG if '--long' in sys.argv or os.environ.get('CONFINE_LONG') else TESTS
    chosen = [t for t in tests if not words or any(word in t.__name__ for word in words)]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1 << 16) if hard != resource.RLIM_INFINITY else 1 << 16, hard))
    world = w.World(HOSTS)
    for address in (SERVER, SIX):
        for port, handle in ((7, echo), (80, web), (443, echo)):
            serve(world.listen('world', address, port), handle)
    LISTENERS.clear()  # these stay
    # It is there and does not accept: its queue is full.
    with world.at('world'):
        w.call('ip', 'addr', 'add', SILENT + '/16', 'dev', 'cable')
    full = world.listen('world', SILENT, 7, backlog=0)
    fill = [world.make('world') for _ in range(3)]
    for sock in fill:
        sock.setblocking(False)
        sock.connect_ex((SILENT, 7))
    names = world.listen('world', SERVER, 53, kind=socket.SOCK_DGRAM)
    threading.Thread(target=name_server, args=(names,), daemon=True).start()
    print('TAP version 13')
    print(f'1..{len(chosen)}', flush=True)
    failed = 0
    for number, run in enumerate(chosen, 1):
        try:
            run(world)
            print(f'ok {number} - {run.__name__}', flush=True)
        except Exception as error:  # whatever it is, it is this test's
            import traceback
            failed += 1
            world.step('host')
            for line in (str(error) if isinstance(error, Failed) else traceback.format_exc()).splitlines():
                print(f'# {line}')
            print(f'not ok {number} - {run.__name__}', flush=True)
        while world.gateways:
            world.gateways.pop().stop()
        while LISTENERS:
            close(LISTENERS.pop())
    full.close()
    return 1 if failed or not chosen else 0


w.enter()
os._exit(main())
