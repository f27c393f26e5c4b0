#!/usr/bin/env python3
"""bypass.py - what is not on the list cannot be reached, in any dialect: by an address, a name, a resolver, a proxy.

One run makes all attempts and says what each came to. That is not believed: the servers outside, the resolver and a
listener of this machine's own must not have heard of any of them, and each attempt's control (the same way to what is
listed) must have worked, or its silence would mean nothing.

Should:  have one row for each way, refused within a moment.
Mustn't: reach anything but the test's own servers. A TAP program.
"""
import json
import os
import socket
import sys
import threading

import outside
from outside import Outside, Run, Tap, WORLD, HOST, SIX, PRIVATE, METADATA, RESOLVER
from ways import LEADS

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ways.py'), encoding='ascii') as ways:
    WAYS = ways.read()

# Behind the text of ways.py, which has the rows.
INSIDE = r'''
import json, time
P, M, H, R = sys.argv[1:5]
host_port, proxy = int(sys.argv[5]), int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
rows = {}

def attempt(name, act):
    start = time.monotonic()
    try:
        result = act()
    except Exception as error:
        result = "error " + type(error).__name__ + " " + str(error)
    rows[name] = [str(result), time.monotonic() - start]

def talk(s, what=b"GET /hello HTTP/1.0\r\n\r\n"):
    s.settimeout(20)
    s.sendall(what)
    data = b""
    while True:
        piece = s.recv(4096)
        if not piece:
            return data.decode("latin-1")
        data += piece

def tcp(address, port=80, family=None):
    family = family or (socket.AF_INET6 if ":" in address else socket.AF_INET)
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(20)
        s.connect((address, port))
        return talk(s)

def by_name(name, port=80):
    with socket.create_connection((name, port), 20) as s:
        return talk(s)

def through(what):
    with socket.create_connection(("127.0.0.1", proxy), 20) as s:
        return talk(s, what)

def query(text, kind=1, server=None, patience=5):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(patience)
        s.sendto(question(text, kind), (server or R, 53))
        answer = s.recv(4096)
        return "rcode %d answers %d" % (answer[3] & 15, struct.unpack(">H", answer[6:8])[0])

def udp(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        return s.sendto(b"secret", (address, port))

def fastopen():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.settimeout(5)
        return s.sendto(b"GET /hello HTTP/1.0\r\n\r\n", 0x20000000, (WORLD, 80)), s.recv(100)

def made(family, kind, protocol=0):
    def act():
        with socket.socket(family, kind, protocol) as s:
            s.settimeout(5)
            s.connect((WORLD, 80)) if family == socket.AF_INET else None
            return "made"
    return act

def tls(to, says):
    def act():
        context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
        with socket.create_connection((to, 443), 20) as s, context.wrap_socket(s, server_hostname=says) as t:
            return talk(t)
    return act

# controls: these must work
attempt("control name", lambda: by_name("web.test"))
attempt("control wildcard", lambda: by_name("a.wild.test"))
attempt("control CONNECT", lambda: through(connect(b"web.test:80")))
attempt("control absolute-form", lambda: through(absolute(b"web.test")))
attempt("control socks", lambda: through(socks_name(b"web.test")))
attempt("control tls", tls("web.test", "web.test"))
attempt("control query", lambda: query("web.test", patience=60))
# by address
for label, address in (("world", WORLD), ("world by IPv6", SIX), ("private", P), ("metadata", M), ("this machine", H), ("mapped", "::ffff:" + WORLD)):
    attempt("address of " + label, lambda address=address: tcp(address))
attempt("loopback of the machine", lambda: tcp("127.0.0.1", host_port))
attempt("port of a listed name", lambda: by_name("web.test", 22))
attempt("pool address that no name has", lambda: tcp("198.18.77.77"))
attempt("fast open", fastopen)
attempt("mptcp", made(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt("icmp", made(socket.AF_INET, socket.SOCK_DGRAM, 1))
attempt("raw", made(socket.AF_INET, socket.SOCK_RAW, 255))
attempt("packet", made(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", made(40, socket.SOCK_STREAM))
attempt("udp to the world", lambda: udp(WORLD, 9))
attempt("udp to the resolver's other port", lambda: udp(R, 5353))
# by name
for bad in NAMES:
    attempt("name " + bad, lambda bad=bad: by_name(bad))
for text, kind in QUESTIONS:
    attempt("query %s %d" % (text, kind), lambda text=text, kind=kind: query(text, kind))
attempt("query elsewhere", lambda: query("evil.test", 1, WORLD))
# a listed name that leads where it must not
for bad in LEADS:
    attempt("listed name " + bad, lambda bad=bad: by_name(bad))
# by proxy
for name, what in proxied():
    attempt(name, lambda what=what: through(what))
attempt("tls for another name", tls("web.test", "evil.test"))
print(json.dumps(rows))
'''

outside.enter()
tap = Tap()
NAMES = {'web.test': [WORLD, SIX], 'a.wild.test': [WORLD], 'evil.test': [WORLD], 'web.test.evil.test': [WORLD], 'evilweb.test': [WORLD],
         'xweb.test': [WORLD], 'wild.test': [WORLD], 'loop.test': ['127.0.0.1'], 'meta.test': [METADATA], 'private.test': [PRIVATE],
         'self.test': [HOST], 'mapped.test': [f'::ffff:{PRIVATE}'], 'nat64.test': ['64:ff9b::10.9.9.9'], 'null.test': ['0.0.0.0'],
         'both.test': [PRIVATE, METADATA]}
LISTED = ['web.test', '*.wild.test:80'] + [name + ':80' for name in LEADS]
world = Outside(NAMES)
SECRET = 'hello from outside'
context, _ = world.certificate('web.test')
world.write('www/hello', SECRET)
for place in (WORLD, SIX):
    world.web(place, 80, world.dir + '/www')
world.web(WORLD, 443, world.dir + '/www', context)
forbidden = []
for place, port in ((WORLD, 22), (PRIVATE, 80), (METADATA, 80), (WORLD, 5353)):
    world.serve(place, port, lambda connection: connection.sendall(SECRET.encode()))
datagrams = [world.listen(place, port, socket.SOCK_DGRAM) for place, port in ((WORLD, 9), (WORLD, 53), (RESOLVER, 5353))]
own = [socket.socket() for _ in range(2)]  # of this machine, where confine runs
for one, address in zip(own, ('127.0.0.1', HOST)):
    one.bind((address, 0 if address != HOST else 80))
    one.listen(50)


def hear_own(listener):
    while True:
        connection, _ = listener.accept()
        world.reached.append(('own', listener.getsockname()))
        connection.sendall(SECRET.encode())
        connection.close()


for one in own:
    threading.Thread(target=hear_own, args=(one,), daemon=True).start()


def is_control(name):
    return name.startswith('control')


def look(backend, user):
    title = f'-b {backend}' + (f', user {user}' if user else '')
    del world.reached[:], world.asked[:]
    rules = [word for rule in LISTED for word in ('--allow', rule)]
    run = Run(['-b', backend, *rules, '--proxy-env'],
              ['python3', '-c', WAYS + INSIDE, PRIVATE, METADATA, HOST, RESOLVER, str(own[0].getsockname()[1])], user)
    if run.status != 0:
        tap.ok(False, title, run)
        return
    rows = json.loads(run.out)
    for name, (result, seconds) in rows.items():
        if is_control(name):
            tap.ok(SECRET in result or 'answers 1' in result, f'{name}, {title}', result)
            continue
        # The answer of one that is listed may come before what is refused.
        leaked = SECRET in result and not name.startswith(('two requests', 'length'))
        tap.ok(not leaked and 'answers 1' not in result and seconds < 10, f'{name}, {title}', f'{result} after {seconds} s')
    controls = 6 + 1  # what may have come: one for each control, and the first of two requests
    wrong = [row for row in world.reached if row[0] == 'own' or row[1] in (22, 5353) or row[0] in (PRIVATE, METADATA)]
    tap.ok(not wrong and len(world.reached) <= controls + 2, f'nobody else was reached, {title}', world.reached)
    tap.ok(not [name for name in world.asked if 'evil' in name or 'secret' in name], f'no name that is not listed was asked for, {title}', world.asked)
    heard = []
    for one in datagrams:
        one.setblocking(False)
        try:
            heard.append(one.recv(100))
        except BlockingIOError:
            pass
    tap.ok(not heard, f'no datagram came, {title}', heard)
    options = {row['option'] for row in run.network()['connections'] if row['refused']}
    tap.ok('--allow evil.test' in options, f'refusals name the option, {title}', options)


for caller in outside.callers():
    look('namespace', caller)
if os.environ.get('CONFINE_LONG') and 'bubblewrap' in outside.backends():
    look('bubblewrap', None)
status = tap.close()
world.close()
sys.stdout.flush()
os._exit(status)
