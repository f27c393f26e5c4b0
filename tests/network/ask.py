#!/usr/bin/env python3
"""ask.py - connections that somebody is asked about: what no rule allows waits, and nothing is reached before a yes.

Should:  look at the servers, and not only at what the client says.
Mustn't: reach anything but the test's own servers. A TAP program.
"""
import json
import os
import socket
import subprocess

import outside
from outside import CONFINE, Outside, Tap, WORLD, PRIVATE

outside.enter()
tap = Tap()
world = Outside({'web.test': [WORLD], 'asked.test': [WORLD], 'other.test': [WORLD], 'private.test': [PRIVATE]})
world.write('www/hello', 'hello\n')
for place in (WORLD, PRIVATE):
    world.web(place, 80, world.dir + '/www')
world.serve(WORLD, 8443, lambda connection: (connection.recv(1000), connection.sendall(b'late\n')))
BACKENDS = outside.backends()
CLIENT = '''
import socket, sys
for place in sys.argv[1:]:
    name, port = place.rsplit(':', 1)
    try:
        with socket.create_connection((name, int(port)), 60) as s:
            s.settimeout(60)
            s.sendall(b'GET /hello HTTP/1.0\\r\\n\\r\\n')
            print(place, s.makefile().read().splitlines()[-1:], flush=True)
    except OSError as error:
        print(place, type(error).__name__, flush=True)
'''


def start(backend, command, options=(), wait='60s', allow=('web.test:80',)):
    """Return: (our end of its channel, process)."""
    ours, theirs = socket.socketpair()
    rules = [word for rule in allow for word in ('--allow', rule)]
    process = subprocess.Popen([*outside.NO_CAPABILITIES, CONFINE, 'run', '-b', backend, *rules, *options, '--ask', wait, '--control', f'fd:{theirs.fileno()}',
                                '--', 'python3', '-c', *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               pass_fds=[theirs.fileno()], cwd='/var/tmp', text=True)
    theirs.close()
    return ours, process


def run(backend, places, answer, **more):
    """Return: (lines of the channel, output by place)."""
    ours, process = start(backend, [CLIENT, *places], **more)
    seen = []
    for line in ours.makefile('r', encoding='utf-8'):
        seen.append(json.loads(line))
        if seen[-1]['type'] == 'ask':
            word = answer(seen[-1])
            if word:
                ours.sendall((json.dumps({'type': 'answer', 'id': seen[-1]['id'], 'answer': word}) + '\n').encode())
    out = process.communicate(timeout=60)[0]
    return seen, out.splitlines()


# Its address is another one by the time that the kernel reads it.
CHANGES = '''
import ctypes, signal, socket, struct, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
libc = ctypes.CDLL(None)
def address(name):
    return struct.pack('=HH4s8x', socket.AF_INET, socket.htons(80), socket.inet_aton(socket.gethostbyname(name)))
place, other = ctypes.create_string_buffer(address('asked.test'), 16), address('other.test')
def change():
    signal.sigwait([signal.SIGUSR1])
    ctypes.memmove(place, other, 16)
    print('changed', flush=True)
threading.Thread(target=change).start()
s = socket.socket()
status = libc.connect(s.fileno(), place, 16)
answer = b''
if status == 0:
    s.settimeout(60)
    s.sendall(b'GET /hello HTTP/1.0\\r\\n\\r\\n')
    try:
        answer = s.makefile('rb').read()
    except OSError:
        pass
print(status, answer, flush=True)
'''


def changed(backend):
    """The words of a held call change: what the rule is for is not where it goes, and the gateway says no."""
    ours, process = start(backend, [CHANGES])
    reached, seen, out = len(world.reached), [], ''
    for line in ours.makefile('r', encoding='utf-8'):
        seen.append(json.loads(line))
        if seen[-1]['type'] != 'ask':
            continue
        ours.sendall(b'{"type":"signal","signal":"USR1"}\n')
        out += process.stdout.readline()
        ours.sendall(b'{"type":"answer","id":%d,"answer":"run"}\n' % seen[-1]['id'])
    out += process.communicate(timeout=60)[0]
    refused = [row['name'] for row in seen[-1]['report']['network']['connections'] if row['refused']]
    tap.ok(asked(seen) == ['asked.test:80'] and out.startswith('changed\n') and 'hello' not in out and len(world.reached) == reached and refused == ['other.test'],
           f'an address that changes while it is asked about leads nowhere, {backend}', (out, asked(seen), refused, world.reached[reached:]))


def asked(seen):
    return [line['address'] for line in seen if line['type'] == 'ask']


def denied(seen):
    return [item['address'] for item in seen[-1]['report']['denials']['items'] if item['address']]


def check(backend):
    reached = len(world.reached)

    def yes(line):
        tap.ok(len(world.reached) == reached, f'nothing is reached while it is asked about, {backend}', world.reached[reached:])
        return 'run'

    seen, out = run(backend, ['asked.test:80', 'asked.test:80', 'web.test:80'], yes)
    tap.ok(out == ["asked.test:80 ['hello']", "asked.test:80 ['hello']", "web.test:80 ['hello']"] and asked(seen) == ['asked.test:80'],
           f'a name is asked about once, and reached after a yes, {backend}', (out, [line for line in seen if line['type'] in ('ask', 'answered', 'error', 'allowed', 'connection', 'denial')]))
    approvals = seen[-1]['report']['approvals']
    tap.ok([(item['operation'], item['path'], item['address'], item['answer']) for item in approvals['items']] == [('connect', None, 'asked.test:80', 'run')] and
           denied(seen) == [] and approvals['asked'] == 1, f'the report has it, {backend}', (approvals, denied(seen)))
    wrong = outside.validate('control.schema.json', seen) + outside.validate('report.schema.json', [seen[-1]['report']])
    tap.ok(not wrong, f'lines and report are as the schemas say, {backend}', wrong)
    seen, out = run(backend, ['asked.test:8443', 'web.test:8443'], lambda line: 'run')
    tap.ok(out == ["asked.test:8443 ['late']", "web.test:8443 ['late']"] and asked(seen) == ['asked.test:8443', 'web.test:8443'],
           f'so is a port that nobody has listened on, {backend}', (out, asked(seen)))
    seen, out = run(backend, [f'{WORLD}:8443'], lambda line: 'run')
    tap.ok(out == [f"{WORLD}:8443 ['late']"] and asked(seen) == [f'{WORLD}:8443'], f'and an address, {backend}', (out, asked(seen)))
    seen, out = run(backend, ['asked.test:80', f'{WORLD}:8443'], lambda line: 'run', options=['--network', 'listed'], allow=())
    tap.ok(out == ["asked.test:80 ['hello']", f"{WORLD}:8443 ['late']"] and asked(seen) == ['asked.test:80', f'{WORLD}:8443'],
           f'a list may be empty to begin with, {backend}', (out, asked(seen)))
    reached = len(world.reached)
    seen, out = run(backend, ['asked.test:80', 'asked.test:8443', 'other.test:80'], lambda line: 'deny-like' if 'asked' in line['address'] else 'deny')
    tap.ok(all("['" not in line for line in out) and len(out) == 3 and len(world.reached) == reached and asked(seen) == ['asked.test:80', 'other.test:80'] and
           {'asked.test:80', 'asked.test:8443', 'other.test:80'} <= set(denied(seen)),
           f'a no is a no, for all ports of a host where that was said, {backend}', (out, asked(seen), denied(seen), world.reached[reached:]))
    seen, out = run(backend, ['asked.test:80'], lambda line: 'once', wait='500ms')
    tap.ok(len(world.reached) == reached and {line['reason'] for line in seen if line['type'] == 'error'} == {'not-once'} and
           {line['reason'] for line in seen if line['type'] == 'answered'} == {'timeout'} and "['" not in out[0],
           f'once is no answer, and no answer is a no, {backend}', (out, seen[1:8]))
    seen, out = run(backend, ['private.test:80', '169.254.169.254:80'], lambda line: 'run')
    tap.ok(len(world.reached) == reached and "hello" not in ' '.join(out) and '169.254.169.254:80' not in asked(seen),
           f'a yes leads to no private address, and credentials are not asked about, {backend}', (out, asked(seen), world.reached[reached:]))
    policy = world.write(f'locked-{backend}.json', '{"policy": 1, "network": {"allow": ["web.test"]}, "locked": ["network.allow"]}')
    seen, out = run(backend, ['asked.test:80', 'web.test:80'], lambda line: 'run', options=['--policy', policy], allow=())
    tap.ok(asked(seen) == [] and out[1:] == ["web.test:80 ['hello']"] and 'hello' not in out[0], f'nothing is asked about a list that is locked, {backend}', (out, asked(seen)))


for name in BACKENDS:
    check(name)
    changed(name)
tap.finish()
