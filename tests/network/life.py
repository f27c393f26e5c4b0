#!/usr/bin/env python3
"""life.py - a listed network beside a run: what is forwarded and published, rules added while it runs, the report and the
control channel, and the end: of the gateway, of confine, of either by a signal.

Should:  see that nothing is left, by the descriptors that would be.
Mustn't: reach anything but the test's own servers. A TAP program.
"""
import contextlib
import glob
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import outside
from outside import CONFINE, Outside, Run, Tap, WORLD, PRIVATE, free_port

outside.enter()
tap = Tap()
world = Outside({'web.test': [WORLD], 'other.test': [WORLD], 'private.test': [PRIVATE], 'inner.test': [PRIVATE], 'late.test': [WORLD], 'deep.wild.test': [WORLD]},
                '127.0.0.1 mine.test\n::1 mine.test\n127.0.0.1 both.test\n93.184.1.1 both.test\n0.0.0.0 blocked.test\n127.0.0.1 below.wide.test\n')
world.write('www/hello', 'hello\n')
for place in (WORLD, PRIVATE):
    world.web(place, 80, world.dir + '/www')
world.serve(WORLD, 8443, lambda connection: (connection.recv(1000), connection.sendall(b'late\n')))
world.serve(WORLD, 9999, lambda connection: time.sleep(60))
BACKENDS = outside.backends()
SOURCE = os.environ['CONFINE_SOURCE']


def processes(word):
    found = []
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            with open(path, 'rb') as file:
                if word in file.read().replace(b'\0', b' '):
                    found.append(int(path.split('/')[2]))
        except OSError:
            pass
    return found


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.02)
    return False


def get(address, port):
    with socket.create_connection((address, port), 20) as one:
        one.sendall(b'GET /hello HTTP/1.0\r\n\r\n')
        data = b''
        while True:
            piece = one.recv(4096)
            if not piece:
                return data
            data += piece


def serve_here(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(('127.0.0.1', port))
    listener.listen(10)

    def loop():
        while True:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(b'from this machine\n')
            connection.close()

    threading.Thread(target=loop, daemon=True).start()


def ports(backend, user):
    title = f'{backend}, user {user}'
    port, inside = free_port(), 4321
    serve_here(port)
    client = f'import socket; s = socket.create_connection(("127.0.0.1", {inside})); s.sendall(b"x"); print(s.recv(100).decode())'
    run = Run(['-b', backend, '--forward', f'{port}:{inside}'], ['python3', '-c', client], user)
    rows = run.network().get('connections', [])
    tap.ok(run.status == 0 and 'from this machine' in run.out and rows and rows[0]['protocol'] == 'forward', f'a forwarded port, {title}', run)
    run = Run(['-b', backend, '--forward', f'{port}:{inside}'], ['python3', '-c', client.replace(str(inside), str(port))], user)
    tap.ok(run.status != 0 and 'refused' in run.errors, f'no other port is forwarded, {title}', run)
    port = free_port()
    server = 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 4321)); s.listen(5); print("up", flush=True)\nfor _ in range(2): c, _a = s.accept(); c.recv(100); c.sendall(b"from inside"); c.shutdown(1); c.recv(1); c.close()'
    run = Run(['-b', backend, '--publish', f'{port}:4321'], ['python3', '-c', server], user, timeout=None)
    run.process.stdout.readline()
    answers = [get(address, port) for address in ('127.0.0.1', '::1')]
    run.wait()
    tap.ok(run.status == 0 and answers == [b'from inside'] * 2, f'a published port, {title}', f'{answers} {run}')
    bytes_each = [(row['sent'], row['received']) for row in run.network().get('connections', [])]
    tap.ok(bytes_each == [(11, 23)] * 2, f'what the server inside says is what the command sends, {title}', bytes_each)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(('127.0.0.1', port))
        one.listen(1)
        run = Run(['-b', backend, '--publish', f'{port}:4321'], ['true'], user)
    tap.ok(run.status == 125 and run.report['error']['reason'] == 'port-not-published' and str(port) in run.errors, f'a port that is taken, {title}', run)


def talk(backend, options, command, lines):
    """Return: (lines of the control channel, output). LINES: {type: what is said when the first of that type comes}."""
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    process = subprocess.Popen([*outside.NO_CAPABILITIES, CONFINE, 'run', '-b', backend, *options, '--control', f'fd:{theirs.fileno()}', '--', *command],
                               stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, pass_fds=[theirs.fileno()], cwd='/var/tmp')
    theirs.close()
    os.close(write)
    seen = []
    for line in ours.makefile('r', encoding='utf-8'):
        seen.append(json.loads(line))
        if seen[-1]['type'] in lines:
            for word in lines.pop(seen[-1]['type']):
                with contextlib.suppress(OSError):  # it may have ended by then
                    ours.sendall((json.dumps(word) + '\n').encode())
    process.wait(60)
    with os.fdopen(read) as file:
        return seen, file.read()


def control(backend):
    wait = 'for i in $(seq 600); do curl -sS --max-time 5 http://late.test/hello 2>/dev/null && break; sleep 0.05; done; ' \
           'for i in $(seq 600); do curl -sS --max-time 5 --http0.9 http://late.test:8443/ 2>/dev/null && break; sleep 0.05; done; ' \
           f'for i in $(seq 600); do curl -sS --max-time 5 http://{WORLD}/hello 2>/dev/null && break; sleep 0.05; done'
    seen, out = talk(backend, ['--allow', 'web.test:80'], ['sh', '-c', wait],
                     {'started': [{'type': 'allow', 'rule': 'Late.test'}, {'type': 'allow', 'rule': 'late.test:8443'},
                                  {'type': 'allow', 'rule': '93.184.1.0/24:80'}, {'type': 'allow', 'rule': 'no rule'}]})
    kinds = [line['type'] for line in seen]
    tap.ok(out == 'hello\nlate\nhello\n', f'rules that are added work at once, {backend}', f'{out} {seen[1:12]}')
    tap.ok([line['rule'] for line in seen if line['type'] == 'allowed'] == ['late.test:443,80', 'late.test:8443', '93.184.1.0/24:80'] and kinds.count('error') == 1,
              f'each is answered in a line, {backend}', seen[1:8])
    tap.ok(any(line['type'] == 'connection' and line['name'] == 'late.test' and line['rule'] for line in seen), f'connections are told, {backend}', kinds)
    wrong = outside.validate('control.schema.json', seen) + outside.validate('report.schema.json', [seen[-1]['report']])
    tap.ok(not wrong, f'lines and report are as the schemas say, {backend}', wrong)
    seen, out = talk(backend, ['--network', 'listed'], ['sh', '-c', wait],
                     {'started': [{'type': 'allow', 'rule': rule} for rule in ('late.test', 'late.test:8443', '93.184.1.0/24:80')]})
    tap.ok(out == 'hello\nlate\nhello\n', f'so do they where the list was empty, {backend}', f'{out} {seen[1:12]}')
    taken = 'import socket, time; s = socket.socket(); s.bind(("0.0.0.0", 7777)); s.listen(); socket.create_connection(("web.test", 80)).close(); time.sleep(600)'
    seen, _ = talk(backend, ['--allow', 'web.test:80'], ['python3', '-c', taken],
                   {'connection': [{'type': 'allow', 'rule': 'late.test:7777'}, {'type': 'allow', 'rule': 'late.test:7778'}], 'allowed': [{'type': 'kill'}]})
    answers = [(line['type'], line.get('reason'), line.get('rule')) for line in seen if line['type'] in ('allowed', 'error')]
    tap.ok(answers == [('error', 'port-not-listened', None), ('allowed', None, 'late.test:7778')] and 'late.test:7777: nothing answers on port 7777 inside' in str(seen),
           f'a rule whose port a command has is not said to be in force, and the next one is, {backend}', seen[1:8])
    seen, _ = talk(backend, [], ['true'], {'started': [{'type': 'allow', 'rule': 'late.test'}]})
    tap.ok('allowed' not in [line['type'] for line in seen], f'a run without a list has no rules, {backend}', seen[1:4])
    policy = world.write(f'locked-{backend}.json', '{"policy": 1, "network": {"allow": ["web.test"]}, "locked": ["network.allow"]}')
    seen, _ = talk(backend, ['--policy', policy], ['sleep', '60'], {'started': [{'type': 'allow', 'rule': 'late.test'}], 'error': [{'type': 'kill'}]})
    tap.ok('locked' in [line.get('reason') for line in seen], f'rules that a policy has locked, {backend}', seen[1:4])


def report():
    many = 'i=0; while [ $i -lt 30 ]; do getent hosts evil$i.test; i=$((i+1)); done; curl -sS http://web.test/hello; curl -sS http://private.test/hello; exit 0'
    run = Run(['--allow', 'web.test', '--allow', 'private.test'], ['sh', '-c', many])
    good = [row for row in run.network()['connections'] if row['rule'] and not row['refused']]
    tap.ok(good and good[0]['name'] == 'web.test' and good[0]['address'] == WORLD and good[0]['received'] > 100 and good[0]['sent'] > 20 and good[0]['ms'] is not None,
              'a connection has name, address, rule, bytes and time', run)
    tap.ok(run.refused().get('evil7.test') == 'not-listed' and run.refused().get('private.test') == 'address-private', 'what was refused has a reason', run.refused())
    wrong = [row for row in run.network()['connections'] if row['refused'] and (row['rule'], row['sent'], row['received']) != (None, None, None)]
    tap.ok(not wrong, 'what was refused has no rule and no bytes', wrong)
    tap.ok('Network: ' in run.report['summary'] and 'refused' in run.report['summary'], 'the summary has a sentence', run.report['summary'])
    tap.ok(any(word.startswith('listed-network: ') for word in run.report['warnings']), 'what a list does not stop is said', run.report['warnings'])
    run = Run(['--allow', 'missing.test'], ['curl', '-sS', 'http://missing.test/'])
    tap.ok(re.search(r'0 refused, [12] failed: missing\.test:80 \(there is no such name\)\.', run.report['summary']), 'a listed name that does not exist is in the summary', run.report['summary'])
    wrong = outside.validate('report.schema.json', [run.report])
    tap.ok(not wrong, 'the report is as its schema says', wrong)
    done = subprocess.run([*outside.NO_CAPABILITIES, CONFINE, 'run', '--allow', 'web.test', '--', 'curl', '-sS', 'http://evil.test/'], capture_output=True, text=True, check=False)
    tap.ok('refused: looking up evil.test; granted by --allow evil.test (ports 443 and 80; for ssh --allow evil.test:22)\n' in done.stderr,
           'people see what was refused, the option, and which ports it opens', done.stderr)
    many = 'import socket\nfor _ in range(1100):\n s = socket.create_connection(("web.test", 80)); s.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n"); s.recv(9999); s.close()'
    run = Run(['--allow', 'web.test'], ['python3', '-c', many])
    told = len(run.network()['connections']) + sum(row['connections'] for row in run.network()['counted'])
    tap.ok(run.status == 0 and told == 1100 and len(run.network()['connections']) <= 1000, 'many connections are counted', f'{told} {len(run.network()["connections"])}')
    many += '\nfor _ in range(3):\n s = socket.create_connection(("missing.test", 80))\n try: s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); s.recv(9999)\n except OSError: pass'
    run = Run(['--allow', 'web.test', '--allow', 'missing.test'], ['python3', '-c', many])
    counted = [(row['connections'], row['failed'], row['error']) for row in run.network()['counted'] if row['name'] == 'missing.test']
    tap.ok(counted == [(3, 3, 'there is no such name')] and ' 3 failed: missing.test:80 (there is no such name).' in run.report['summary'],
           'and those of them that failed are said', f'{counted} {run.report["summary"]}')
    wrong = outside.validate('report.schema.json', [run.report])
    tap.ok(not wrong, 'as the schema says', wrong)


def unheard(backend):
    """What the kernel refuses inside, since nobody listens: the gateway never hears of it."""
    script = 'import socket\n' \
             'def tcp(to, port, family=socket.AF_INET):\n' \
             ' try:\n  s = socket.create_connection((to, port), 20)\n  to != "inner.test" or s.recv(1)\n except OSError as error:\n  print(to, port, error)\n' \
             'tcp("web.test", 8443); tcp("web.test", 8443); tcp("deep.wild.test", 22); tcp("private.test", 9); tcp("inner.test", 80); tcp("inner.test", 22); tcp("93.184.77.1", 80)\n' \
             'tcp("198.18.77.77", 80); tcp("web.test", 80); tcp("169.254.169.254", 80)\n' \
             's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", (socket.gethostbyname("web.test"), 443))\n' \
             's.close(); s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect((socket.gethostbyname("web.test"), 5))'
    run = Run(['-b', backend, '--allow', 'web.test', '--allow', '*.wild.test', '--allow', 'private:private.test', '--allow', 'inner.test'], ['python3', '-c', script])
    seen = {(item['operation'], item['address']): (item['surface'], item['grant_option'], item['evidence']) for item in run.report['denials']['items'] if item['address']}
    wanted = {('connect', 'web.test:8443'): ('net.listed', '--allow web.test:8443', 'predicted'),
              ('connect', 'deep.wild.test:22'): ('net.listed', '--allow deep.wild.test:22', 'predicted'),
              ('connect', 'private.test:9'): ('net.listed', '--allow private:private.test:9', 'predicted'),
              ('connect', 'inner.test:22'): ('net.listed', '--allow private:inner.test:22', 'predicted'),
              ('connect', '93.184.77.1:80'): ('net.listed', '--allow 93.184.77.1:80', 'predicted'),
              ('send', 'web.test:443'): ('net.udp', '--network host', 'predicted')}
    tap.ok(run.status == 0 and all(seen.get(key) == value for key, value in wanted.items()), f'what nobody listens to is in the report, {backend}', f'{seen} {run.errors[-300:]}')
    offered = [option for _, option, _ in seen.values() if option and ('198.18' in option or '169.254' in option)]
    tap.ok(not offered, f'no option that cannot work, and no credentials, {backend}', offered)
    tap.ok(not [key for key in seen if key not in wanted and ':80' not in key[1]], f'and nothing that went through, {backend}', seen)
    wrong = outside.validate('report.schema.json', [run.report])
    tap.ok(not wrong, f'the report is as its schema says, {backend}', wrong)


def own_names():
    """Names of /etc/hosts that are this machine: said when it starts, once each, and with the way out."""
    rules = [word for rule in ('mine.test:8080', 'MINE.test', 'both.test', 'blocked.test', '*.wide.test', 'web.test') for word in ('--allow', rule)]
    run = Run(rules, ['curl', '-sS', 'http://both.test/hello'])
    told = sorted(word for word in run.report['warnings'] if word.startswith('name-is-loopback: '))
    tap.ok(len(told) == 3 and ('--allow blocked.test reaches nothing: it is 0.0.0.0 in /etc/hosts' in told[0]) and
           '--allow mine.test reaches nothing: it is 127.0.0.1 in /etc/hosts' in told[1] + told[2] and any(word.endswith('--forward 8080 leads to that port of this machine, as localhost') for word in told) and
           any('--forward PORT leads' in word for word in told), 'a rule for a name that is loopback says so at the start', told)
    tap.ok(run.status == 0, 'and a name with another address is reached', run)


def lookups():
    run = Run([], ['getent', 'hosts', 'web.test'])
    items = [item for item in run.report['denials']['items'] if item['address']]
    tap.ok(items and not [item for item in items if item['grant_option']], 'a lookup without a network proposes nothing that cannot work', items)
    tap.ok('--allow NAME' in run.report['summary'], 'but says what names need', run.report['summary'])


# Of the C libraries this one sends to each name server, hears of no error, and waits for 5 s. One of a few tries is as quick
# as all of them are on a machine that is not busy.
IMPATIENT = r'''
#include <netdb.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
    struct addrinfo *found;
    struct timespec from, to;
    long ms = 1000000;
    int r = 0;
    for (int i = 0; i < 40 && ms > 50 && (i == 0 || (r && ms < 4000)); i++) {
        clock_gettime(CLOCK_MONOTONIC, &from);
        r = getaddrinfo("web.test", "80", 0, &found);
        clock_gettime(CLOCK_MONOTONIC, &to);
        ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    }
    printf("%s after %ld ms\n", r ? gai_strerror(r) : "found", ms);
    return !r || ms > 50;
}
'''


def lookups_of_musl(backend, user):
    title = f'a lookup without a network fails within 50 ms, by musl, {backend}, user {user}'
    if not outside.have('musl-gcc'):
        tap.skip(title, 'no musl-gcc')
        return
    program = world.dir + '/impatient'
    if not os.path.exists(program):
        subprocess.run(['musl-gcc', '-static', '-x', 'c', '-', '-o', program], input=IMPATIENT.encode(), check=True)
    run = Run(['-b', backend], [program], user)
    tap.ok(run.status == 0, title, run)


def flood():
    many = 'import socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60)\nserver = [l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")][0]\n' \
           'for i in range(1400):\n n = b"evil%d" % i\n s.sendto(struct.pack(">HHHHHH", i, 256, 1, 0, 0, 0) + bytes([len(n)]) + n + b"\\4test\\0\\0\\1\\0\\1", (server, 53)); s.recv(999)\n' \
           'c = socket.create_connection(("web.test", 80)); c.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n"); c.recv(999)'
    run = Run(['--allow', 'web.test'], ['python3', '-c', many])
    good = [row for row in run.network()['connections'] if row['name'] == 'web.test' and not row['refused']]
    denials = run.report['denials']
    seen = sum(item['count'] for item in denials['items'] if item['evidence'] == 'refused') + denials['lost']
    tap.ok(run.status == 0 and good and good[0]['sent'] == 23, 'a flood of refusals does not hide what was allowed', good)
    tap.ok(not denials['complete'] and denials['lost'] > 0 and seen == 1400, 'what there is no room for is counted as lost', (denials['complete'], denials['lost'], seen))
    wrong = outside.validate('report.schema.json', [run.report])
    tap.ok(not wrong, 'and the report is as its schema says', wrong)


def killed(backend, user):
    title = f'{backend}, user {user}'
    client = 'import socket; s = socket.create_connection(("web.test", 80)); print("up", flush=True); s.recv(1); print(s.recv(1)); import time; time.sleep(600)'
    run = Run(['-b', backend, '--allow', 'web.test'], ['python3', '-c', client], user, timeout=None)
    run.process.stdout.readline()
    for pid in processes(b' --channel '):  # bubblewrap and the links have such a word as well
        try:
            with open(f'/proc/{pid}/comm', 'rb') as file:
                if file.read() == b'confine-gateway\n':
                    os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):  # the resolver goes with the gateway
            continue
    run.wait()
    tap.ok(run.status == 137 and run.report['outcome']['limit'] == 'gateway' and run.report['error']['reason'] == 'gateway-lost' and 'gateway' in run.errors,
              f'a gateway that is killed ends the run, {title}', run)
    tap.ok(until(lambda: not processes(b' --channel ')), f'and nothing is left, {title}', processes(b' --channel '))
    for signum in (signal.SIGKILL, signal.SIGTERM):
        run = Run(['-b', backend, '--allow', 'web.test', '--publish', str(free_port())], ['python3', '-c', client], user, timeout=None)
        run.process.stdout.readline()
        # A foreign user's process is in front of it where one is switched to.
        run.process.send_signal(signum)
        tap.ok(until(lambda: not processes(b' --channel ') and not processes(b'create_connection(("web.test"')),
                  f'confine ended by {signal.Signals(signum).name} leaves nothing, {title}', processes(b' --channel '))
        run.wait(60)


def stopped():
    """One that is stopped cannot hold the run's end: it is ended, and that is said."""
    go = world.dir + '/stopped'
    run = Run(['--allow', 'web.test'], ['sh', '-c', f'echo up; until [ -e {go} ]; do sleep 0.05; done; exit 3'], timeout=None)
    run.process.stdout.readline()
    for pid in processes(b' --channel '):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/comm', 'rb') as file:
            if file.read() == b'confine-gateway\n':
                os.kill(pid, signal.SIGSTOP)
    world.write('stopped', '')
    run.wait()
    tap.ok(run.status == 3 and any(word.startswith('gateway-silent: ') for word in run.report['warnings']), 'a gateway that is stopped is ended, and said', run)
    tap.ok(until(lambda: not processes(b' --channel ')), 'and nothing of it is left', processes(b' --channel '))


def advisory():
    run = Run(['-b', 'landlock', '--user', 'keep', '--allow', 'web.test'], ['true'])
    tap.ok(run.status == 125 and run.report['error']['surface'] == 'net.listed' and '--open net.listed' in run.errors, 'without namespaces a list is refused', run)
    run = Run(['-b', 'landlock', '--user', 'keep', '--open', 'net.listed', '--allow', 'web.test'],
              ['sh', '-c', 'curl -sS http://web.test/hello; curl -sS -o /dev/null -w "%{http_code}" http://evil.test/hello'])
    claim = [one for one in run.report['surfaces'] if one['id'] == 'net.listed'][0]
    tap.ok(run.out == 'hello\n403' and (claim['state'], claim['reason']) == ('open', 'advisory') and 'advisory network list' in run.report['summary'] and
              any(word.startswith('advisory: ') for word in run.report['warnings']), 'or advisory, and called so', f'{run} {claim}')
    run = Run(['--open', 'net.listed'], ['true'])
    tap.ok(run.status == 125 and run.report['error']['reason'] == 'not-openable', 'which means nothing without a list', run)


def hear_too(name, count):
    """Return: COUNT connections, on which the keeper of a session says what its gateway says, as to a run."""
    with open(SOURCE + '/src/run/session_wire.h', encoding='utf-8') as file:
        version = int(re.search(r'SESSION_VERSION (\d+)', file.read())[1])
    place = os.environ['XDG_RUNTIME_DIR'] + '/confine/' + name
    made = []
    with open(place + '.lock', 'r+b') as lock:
        for _ in range(count):
            made.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            made[-1].settimeout(60)
            made[-1].connect(place + '.socket')
            socket.send_fds(made[-1], [struct.pack('=II', version, 4)], [lock.fileno()])
            made[-1].recv(4096)
    return made


def live(front):
    """What a session's gateway refuses is told while the run is there, and a rule that is added then is one for all runs."""
    ours, theirs = socket.socketpair()
    words = [*outside.NO_CAPABILITIES, CONFINE, 'run', '--session', 'listed', '--control', f'fd:{theirs.fileno()}', '--', 'sh', '-c', 'curl -sS http://other.test/; exec sleep 600']
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[theirs.fileno()], cwd=Run.directory)
    theirs.close()
    ours.settimeout(60)
    lines, said = ours.makefile('r', encoding='utf-8'), []

    def hear(*types):
        for line in lines:
            said.append(json.loads(line))
            if said[-1]['type'] in types:
                return said[-1]
        return {}

    def allow(*rules):
        return subprocess.run([*front, 'allow', 'listed', *rules], capture_output=True, text=True, check=False)

    def reached(url, content='hello\n'):
        run = Run(['--session', 'listed'], ['curl', '-sS', '-m', '20', '--http0.9', url])
        return run.status == 0 and run.out == content or why.append(str(run))

    why = []
    told = hear('connection')
    tap.ok(told.get('name') == 'other.test' and told.get('refused') == 'not-listed', 'a run of a session hears of a refusal at once', said)
    ours.sendall(b'{"type": "allow", "rule": "other.test"}\n')
    answer = hear('allowed', 'error')
    tap.ok(answer == {**answer, 'type': 'allowed', 'rule': 'other.test:443,80'}, 'and has a rule added', answer)
    tap.ok(reached('http://other.test/hello'), 'which is one for the next run, too', why)
    done = allow('late.test:8443')
    tap.ok(done.returncode == 0 and done.stdout == '' and reached('http://late.test:8443/', 'late\n'), 'a rule that is added to a session, of a port on which nobody listened', f'{done} {why}')
    done = allow(f'{WORLD}:80', f'{WORLD}:8443')
    tap.ok(done.returncode == 0 and reached(f'http://{WORLD}/hello') and reached(f'http://{WORLD}:8443/', 'late\n'), 'or of an address', f'{done} {why}')
    ours.sendall(b'{"type": "allow", "rule": "last.test"}\n')
    tap.ok(hear('allowed', 'error').get('rule') == 'last.test:443,80', 'what others add is not told as an answer', said[-3:])
    for rules, reason in (([], 'the rule is missing'), (['web.test:0'], 'as --allow takes it'), (['127.0.0.1:80'], 'loopback')):
        done = allow(*rules)
        tap.ok(done.returncode == 125 and len(done.stderr.splitlines()) == 1 and reason in done.stderr, f'no rule: {rules}', done.stderr)
    # A port that a command of the session has already.
    holder = Run(['--session', 'listed'], ['python3', '-c', 'import socket, time; s = socket.socket(); s.bind(("0.0.0.0", 7777)); s.listen(); print("up", flush=True); time.sleep(600)'], timeout=None)
    holder.process.stdout.readline()
    done = allow('late.test:7777')
    tap.ok(done.returncode == 125 and len(done.stderr.splitlines()) == 1 and 'late.test:7777: nothing answers on port 7777 inside' in done.stderr, 'a rule that reaches nothing is not said to be in force', done)
    ours.sendall(b'{"type": "allow", "rule": "late.test:7777"}\n')
    answer = hear('allowed', 'error')
    tap.ok(answer.get('reason') == 'port-not-listened' and 'late.test:7777' in answer['message'], 'nor by the control channel of a run', answer)
    holder.process.terminate()
    holder.wait(60)
    tap.ok(until(lambda: allow('late.test:7777').returncode == 0), 'but is when its port is free', allow('late.test:7777'))
    heard = hear_too('listed', 64)
    many = [subprocess.Popen([*front, 'allow', 'listed', 'many.test'], stderr=subprocess.PIPE, text=True) for _ in range(40)]  # it goes before, or while, they speak
    said_too = {one.communicate()[1] for one in many}
    tap.ok(len(said_too) == 1 and 'hears no more than 64 runs at a time' in said_too.copy().pop(), 'more than a keeper hears', said_too)
    for one in heard:
        one.close()
    tap.ok(until(lambda: allow('many.test').returncode == 0), 'until one of them has gone', allow('many.test'))
    done = allow(*(f'n{i}.test' for i in range(5000)))
    tap.ok(done.returncode == 125 and len(done.stderr.splitlines()) == 1 and 'too many' in done.stderr and reached('http://web.test/hello'), 'more rules than there is room for', done.stderr[-300:])
    for pid in processes(b'--serve --join-user'):
        os.kill(pid, signal.SIGKILL)
    done = allow('10.1.2.0/24:80')
    tap.ok(done.returncode == 125 and done.stderr.startswith('confine: allow: 10.1.2.0/24:80: ') and done.stderr.count('allow: ') == 1 and done.stderr.count('\n') == 1,
           'without what makes sockets in the session no address is added, in one line', done)
    ours.sendall(b'{"type": "kill"}\n')
    for line in lines:
        pass
    process.wait(60)
    ours.close()


def session():
    place = world.dir + '/sessions'
    os.mkdir(place, 0o700)
    os.environ['XDG_RUNTIME_DIR'] = place
    front = [*outside.NO_CAPABILITIES, CONFINE, 'session']
    done = subprocess.run([*front, 'start', 'listed', '--owner', str(os.getpid()), '--allow', 'web.test'], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, 'a session with a list', done.stderr)
    for turn in range(2):
        run = Run(['--session', 'listed'], ['curl', '-sS', 'http://web.test/hello'])
        claim = [one for one in run.report['surfaces'] if one['id'] == 'net.listed'][0]
        tap.ok(run.status == 0 and run.out == 'hello\n' and claim['state'] == 'enforced', f'run {turn} of it reaches what is listed', f'{run} {claim}')
    for turn in ('first', 'second'):  # the gateway tells a name once, and counts it then
        run = Run(['--session', 'listed', '-v'], ['curl', '-sS', 'http://other.test/hello'])
        told = [item for item in run.report['denials']['items'] if item['address'] == 'other.test']
        tap.ok(run.status == 6 and run.refused().get('other.test') == 'not-listed' and run.network()['shared'], f'and nothing else, which its report says, the {turn} time', run)
        tap.ok(told and told[0]['evidence'] == 'refused' and told[0]['grant_option'] is None and run.report['escalation'] is None,
               f'as refused, and offers nothing that a run of it refuses, the {turn} time', told)
    plain = subprocess.run([*outside.NO_CAPABILITIES, CONFINE, 'run', '--session', 'listed', '-v', '--', 'curl', '-sS', 'http://other.test/hello'],
                           cwd=Run.directory, capture_output=True, text=True, check=False)
    tap.ok('(confine session allow listed other.test)' in plain.stderr, 'but where it could be allowed', plain.stderr)
    # It reads until the server has closed: what was received is said of a connection that has ended, and nobody waits for one.
    run = Run(['--session', 'listed'], ['curl', '-0', '--ignore-content-length', '-sS', 'http://web.test/hello'])
    tap.ok([row['name'] for row in run.network()['connections']] == ['web.test'] and run.network()['connections'][0]['received'] != 0 and not run.refused(),  # null: not over when the run was
           'a run has what came while it was there, and nothing of before', run)
    run = Run(['--session', 'listed'], ['python3', '-c', f'import socket; socket.create_connection(("{PRIVATE}", 80))'])
    denials = run.report['denials']
    tap.ok(run.status == 1 and not denials['complete'] and denials['reason'] == 'session-network' and run.report['escalation'] is None,
           'what is refused inside of a session is said to be unseen', denials)
    wrong = outside.validate('report.schema.json', [run.report])
    tap.ok(not wrong, 'the report of a run of a session is as its schema says', wrong)
    live(front)
    service = free_port()
    serve_here(service)
    done = subprocess.run([*front, 'start', 'forwards', '--owner', str(os.getpid()), '--forward', f'{service}:8080'], capture_output=True, text=True, check=False)
    run = Run(['--session', 'forwards'], ['python3', '-c', 'import socket; s = socket.create_connection(("127.0.0.1", 8080)); s.sendall(b"x"); print(s.recv(99).decode())'])
    tap.ok(done.returncode == 0 and 'from this machine' in run.out and run.network()['shared'] and run.network()['connections'][0]['protocol'] == 'forward',
           'a service of this machine is reached in a session', f'{done} {run}')
    subprocess.run([*front, 'end', 'forwards'], capture_output=True, check=False)
    run = Run(['--session', 'listed', '--allow', 'other.test'], ['true'])
    tap.ok(run.status == 125 and run.report['error']['reason'] == 'session-decides', 'a run adds no rules', run)
    for pid in processes(b' --channel '):
        os.kill(pid, signal.SIGSTOP)
    run = Run(['--session', 'listed'], ['true'])
    tap.ok(run.status == 0 and any(line.startswith('session-silent') for line in run.report['warnings']), 'a gateway that says nothing holds no run up, and that is said', run)
    for pid in processes(b' --channel '):
        os.kill(pid, signal.SIGCONT)
    for pid in processes(b' --channel '):
        with contextlib.suppress(ProcessLookupError):  # its resolver may have ended with it already
            os.kill(pid, signal.SIGKILL)
    gone = until(lambda: subprocess.run([*front, 'list'], capture_output=True, text=True, check=False).stdout.count('listed ') == 0)
    tap.ok(gone, 'a session ends with its gateway')
    begin = [*front, 'start', 'listed', '--owner', str(os.getpid()), '--allow', 'web.test']
    # One that is ending is listed no more, and holds its name for a moment still.
    tap.ok(until(lambda: subprocess.run(begin, capture_output=True, check=False).returncode == 0), 'another one of its name')
    done = subprocess.run([*front, 'end', 'listed'], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0 and until(lambda: not processes(b' --channel ')), 'and its gateway with a session', f'{done.stderr} {processes(b" --channel ")}')


def silent():
    start = time.monotonic()
    run = Run(['--allow', 'web.test:9999', '--timeout', '2s', '--grace', '0s'], ['python3', '-c', 'import socket; s = socket.create_connection(("web.test", 9999)); s.recv(1)'])
    tap.ok(run.status == 124 and run.network()['connections'][0]['name'] == 'web.test' and time.monotonic() - start < 30, 'a server that never answers is no obstacle to the end', run)
    run = Run(['--allow', 'nowhere.test'], ['curl', '-sS', 'http://nowhere.test/'])
    tap.ok(run.status != 0 and any(row['error'] or row['refused'] for row in run.network()['connections']), 'a listed name that does not exist is an error of its connection', run)


for caller in outside.callers():
    for one in BACKENDS:
        ports(one, caller)
        killed(one, caller)
for one in BACKENDS:
    control(one)
report()
for one in BACKENDS:
    unheard(one)
own_names()
lookups()
for caller in outside.callers():
    for one in outside.backends() if caller is None else ['namespace']:
        lookups_of_musl(one, caller)
flood()
session()
stopped()
advisory()
silent()
status = tap.close()
world.close()
sys.stdout.flush()
os._exit(status)
