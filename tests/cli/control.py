#!/usr/bin/env python3
"""control.py - `confine run --control`: what a harness sees that drives runs over a socket. A TAP program."""
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, own_home  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
DOCS = os.path.join(HERE, '..', '..', 'docs')
BACKENDS = ['--backend=' + name for name in os.environ.get('CONFINE_BACKENDS', 'namespace landlock').split()]
PATIENCE = int(os.environ.get('CONFINE_PATIENCE', 60))  # for what must come; nothing here is measured by it

tap = Tap()


class Skip(Exception):
    pass


class Run:
    """One run with its channel. Every line that came in is kept."""
    all = []

    def __init__(self, words, command, descriptor=True, peer=None, **kwargs):
        self.socket, theirs = socket.socketpair() if peer is None else (peer, None)
        self.socket.settimeout(PATIENCE)
        if theirs is not None:
            words = [f'--control=fd:{theirs.fileno()}', *words]
            kwargs['pass_fds'] = [theirs.fileno(), *kwargs.get('pass_fds', [])]
        kwargs.setdefault('stdin', subprocess.DEVNULL)
        self.process = subprocess.Popen([CONFINE, 'run', *words, '--', *command], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **kwargs)
        if theirs is not None:
            theirs.close()
        self.lines, self.rest = [], b''
        Run.all.append(self.process)

    def hear(self, kind):
        """The next line of this kind; what comes before it is kept as well."""
        while True:
            while b'\n' in self.rest:
                line, self.rest = self.rest.split(b'\n', 1)
                value = json.loads(line, object_pairs_hook=once)
                self.lines.append(value)
                if value['type'] == kind:
                    return value
            more = self.socket.recv(65536)
            if not more:
                raise EOFError(f'no {kind} among {[line["type"] for line in self.lines]}')
            self.rest += more

    def say(self, **members):
        self.socket.sendall(json.dumps(members).encode() + b'\n')

    def end(self):
        """Everything until the end of the channel. Return: the `ended` line and the status."""
        ended = self.hear('ended')
        rest = self.rest + self.socket.recv(65536)
        assert rest == b'', f'after ended: {rest!r}'
        return ended, self.done()

    def done(self):
        self.out, self.err = self.process.communicate(timeout=PATIENCE)
        self.socket.close()
        return self.process.returncode


def once(pairs):
    assert len(pairs) == len(dict(pairs)), 'a key is repeated'
    return dict(pairs)


def validate(schema, values):
    with tempfile.TemporaryDirectory() as directory:
        names = []
        for i, value in enumerate(values):
            names.append(f'{directory}/{i}')
            json.dump(value, open(names[-1], 'w'))
        seen = subprocess.run([f'{HERE}/validate', f'{DOCS}/{schema}', *names], capture_output=True, text=True)
    assert seen.returncode == 0, seen.stdout + seen.stderr


def same(seen, expected):
    assert seen == expected, f'seen {seen!r}, expected {expected!r}'


def gone(pid):
    """The process has ended: by its handle, so that nothing is guessed from a number."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended = bool(select.select([handle], [], [], PATIENCE)[0])
    os.close(handle)
    return ended


# --- tests: each takes the option of a backend

def ordinary(backend):
    run = Run([backend], ['sh', '-c', 'echo out; exit 3'])
    ended, status = run.end()
    same([line['type'] for line in run.lines if line['type'] != 'warning'], ['started', 'ended'])
    started = run.lines[0]
    same((status, ended['status'], run.out, run.err), (3, 3, b'out\n', b''))
    same(started['run'], ended['report']['run'])
    same(started['backend'], backend.split('=')[1])
    same([s['id'] for s in started['surfaces']], [s['id'] for s in ended['report']['surfaces']])
    said = [line['message'] for line in run.lines if line['type'] == 'warning']
    same(said, ended['report']['warnings'])
    validate('control.schema.json', run.lines)
    validate('report.schema.json', [ended['report']])


def the_pid_is_the_command(backend):
    run = Run([backend], ['sleep', '1000'])
    pid = run.hear('started')['pid']
    words, end = '', time.monotonic() + PATIENCE
    while not words and time.monotonic() < end:  # its exec has closed the channel, and puts the words in place behind that
        words = open(f'/proc/{pid}/cmdline').read()
    same(words, 'sleep\0001000\000')
    run.say(type='kill')
    run.end()
    assert gone(pid)


def started_only_when_it_has(backend):
    run = Run([backend], ['/nowhere/at/all'])
    ended, status = run.end()
    same([line['type'] for line in run.lines if line['type'] != 'warning'], ['ended'])
    same((status, ended['status'], ended['report']['error']['code']), (127, 127, 'COMMAND_NOT_FOUND'))
    validate('report.schema.json', [ended['report']])


def nothing_started(backend):
    for words, reason in (['--bogus'], 'unknown-option'), (['--workspace=/nowhere'], 'path-missing'), \
            (['--backend=refuse'], 'refuse'), (['--report=/nowhere/report'], 'output-unusable'):
        run = Run([backend, *words], ['true'])
        ended, status = run.end()
        same((status, ended['status'], ended['report']['outcome']['kind']), (125, 125, 'not-started'))
        validate('control.schema.json', run.lines)
        validate('report.schema.json', [ended['report']])
        same(ended['report']['error']['reason'], reason)


def kill(backend):
    run = Run([backend, '--grace=1000s'],
              ['sh', '-c', 'trap "" TERM; (setsid sleep 1000 &); (setsid sleep 1000 &); echo ready; sleep 1000'])
    run.hear('started')
    same(run.process.stdout.readline(), b'ready\n')
    run.say(type='kill')
    ended, status = run.end()
    same((status, ended['status']), (137, 137))
    same([ended['report']['outcome'][key] for key in ('kind', 'limit', 'signal', 'status')], ['limit', 'control', None, None])
    same(ended['report']['error'], None)
    survivor = [s for s in ended['report']['surfaces'] if s['id'] == 'proc.survivor'][0]
    same((survivor['state'], survivor['by'][0]['evidence']), ('enforced', 'attested'))
    assert ended['report']['summary'].count('Killed over the control channel.') == 1
    validate('report.schema.json', [ended['report']])


def closed(backend):
    """The end of the channel is the end of everything that ran."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        os.chmod(directory, 0o777)
        report = f'{directory}/report'
        handle = os.open(report, os.O_RDWR | os.O_CREAT)
        run = Run([backend, '--grace=1000s', f'--report=fd:{handle}'],
                  ['sh', '-c', 'trap "" TERM HUP; (setsid sleep 1000 &); echo ready; sleep 1000'], pass_fds=[handle])
        pid = run.hear('started')['pid']
        same(run.process.stdout.readline(), b'ready\n')
        run.socket.close()
        same(run.done(), 137)
        assert gone(pid)
        same(run.err, b'')
        outcome = json.load(open(report))['outcome']
        same((outcome['kind'], outcome['limit']), ('limit', 'control'))
        os.close(handle)


def half_closed(backend):
    run = Run([backend], ['sleep', '1000'])
    run.hear('started')
    run.socket.shutdown(socket.SHUT_WR)
    ended, status = run.end()
    same((status, ended['report']['outcome']['limit']), (137, 'control'))


def closed_before(backend):
    run = Run([backend], ['sh', '-c', 'echo ran'])
    run.socket.shutdown(socket.SHUT_WR)
    ended, status = run.end()
    # It may have been let go by then: what it says must be true, either way.
    if ended['report']['outcome']['kind'] == 'not-started':
        same((status, ended['report']['error']['reason'], run.out), (125, 'control-closed', b''))
    else:
        assert [line['type'] for line in run.lines if line['type'] != 'warning'][0] == 'started'


def closed_early(backend):
    """Whenever the channel goes: before the command starts or after, and never a death by a signal of confine itself."""
    for moment in range(12):
        run = Run([backend], ['sleep', '60'])
        time.sleep(moment * 0.002)
        run.socket.close()
        status = run.done()
        assert status in (125, 137), (moment, status, run.err)


def closed_at_once(backend):
    """The channel is shut before confine is there: nothing may run."""
    ours, theirs = socket.socketpair()
    ours.shutdown(socket.SHUT_WR)
    run = Run([backend, f'--control=fd:{theirs.fileno()}'], ['sh', '-c', 'echo ran'], peer=ours,
              pass_fds=[theirs.fileno()])
    theirs.close()
    ended, status = run.end()
    same((status, ended['report']['outcome']['kind'], run.out), (125, 'not-started', b''))
    same(ended['report']['error']['reason'], 'control-closed')


def signals(backend):
    run = Run([backend], ['sh', '-c', 'trap "echo int" INT; trap "echo usr1" USR1; trap "echo term; exit 9" TERM; '
                          'echo ready; while :; do read x || sleep 0.01; done'])
    run.hear('started')
    same(run.process.stdout.readline(), b'ready\n')
    for name, word in ('INT', b'int\n'), (10, b'usr1\n'), ('SIGTERM', b'term\n'):
        run.say(type='signal', signal=name)
        same(run.process.stdout.readline(), word)
    ended, status = run.end()
    same((status, ended['report']['outcome']['kind'], ended['report']['outcome']['status']), (9, 'exited', 9))


def grace(backend):
    run = Run([backend, '--grace=100ms'], ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.01; done'])
    run.hear('started')
    same(run.process.stdout.readline(), b'ready\n')
    run.say(type='signal', signal='TERM')
    ended, status = run.end()
    same((status, ended['report']['outcome']['kind'], ended['report']['outcome']['signal']), (137, 'signaled', 9))


def state(pid):
    return open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[0]


def stop_and_continue(backend):
    run = Run([backend], ['sh', '-c', 'echo ready; read x; echo got $x'], stdin=subprocess.PIPE)
    pid = run.hear('started')['pid']
    same(run.process.stdout.readline(), b'ready\n')
    for word in 'TSTP', 'STOP':
        run.say(type='signal', signal=word)
        until = time.monotonic() + PATIENCE
        while state(pid) != 'T':
            assert time.monotonic() < until, f'{word} does not stop it'
        run.say(type='signal', signal='CONT')
        while state(pid) == 'T':
            assert time.monotonic() < until, 'CONT does not continue it'
    run.process.stdin.write(b'on\n')
    run.process.stdin.flush()
    same(run.process.stdout.readline(), b'got on\n')
    same(run.end()[1], 0)


def a_limit(backend):
    run = Run([backend, '--timeout=100ms', '--grace=100ms'], ['sleep', '1000'])
    ended, status = run.end()
    lines = [line for line in run.lines if line['type'] != 'warning']
    same((status, [line['type'] for line in lines]), (124, ['started', 'limit', 'ended']))
    same((lines[1]['limit'], ended['report']['outcome']['limit']), ('time', 'time'))
    validate('control.schema.json', run.lines)


def errors(backend):
    run = Run([backend], ['sleep', '1000'])
    run.hear('started')
    run.socket.sendall(b'nonsense\n{"type": "frobnicate"}\n{"type": "kill", "now": 1}\n')
    seen = [run.hear('error') for _ in range(3)]
    same([(line['line'], line['reason']) for line in seen], [(1, 'not-json'), (2, 'unknown-type'), (3, 'unknown-member')])
    run.say(type='allow', rule='example.org')
    same(run.hear('error')['reason'], 'no-list')
    run.say(type='resize', columns=80, rows=24)
    same(run.hear('error')['reason'], 'no-terminal')
    run.say(type='stdin-close')
    same(run.hear('error')['reason'], 'not-relayed')
    run.socket.sendall(b'x' * 70000 + b'\n')
    same(run.hear('error')['reason'], 'line-too-long')
    validate('control.schema.json', run.lines)
    run.say(type='kill')
    same(run.end()[1], 137)


def the_end_of_a_file(backend):
    """stdin-close, where confine stands between: a regular file that could be read for ever."""
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 40)
        run = Run([backend], ['sh', '-c', 'trap "exec wc -c" USR1; head -c 4096 >/dev/null; echo ready; '
                              'while :; do sleep 0.01; done'], stdin=file)
        run.hear('started')
        same(run.process.stdout.readline(), b'ready\n')
        run.say(type='stdin-close')  # the pipe to the command is full, and more than it takes was read
        run.say(type='nothing')
        run.hear('error')
        run.say(type='signal', signal='USR1')
        same(int(run.process.stdout.readline()) >= 65536 - 4096, True)
        same(run.end()[1], 0)


def a_terminal(backend):
    """resize and stdin-close reach a terminal of the command's own."""
    run = Run([backend, '--tty=private', '--size=80x24'],
              ['sh', '-c', 'stty size; trap "stty size; exec cat" WINCH; echo ready; while :; do sleep 0.01; done'],
              stdin=subprocess.PIPE)
    run.hear('started')
    same([run.process.stdout.readline().split() for _ in range(2)], [[b'24', b'80'], [b'ready']])
    run.say(type='resize', columns=132, rows=43)
    same(run.process.stdout.readline().split(), [b'43', b'132'])
    run.say(type='stdin-close')
    same(run.end()[1], 0)
    same([line for line in run.lines if line['type'] == 'error'], [])


def a_slow_reader(backend):
    """Whoever does not read cannot hold the command up, and confine holds a bound for them."""
    run = Run([backend], ['sh', '-c', 'echo ready; read x; echo $x'], stdin=subprocess.PIPE)
    run.hear('started')
    same(run.process.stdout.readline(), b'ready\n')
    run.socket.settimeout(None)
    said = 0
    for _ in range(300):  # each is answered by a line that is longer, and none of them is read
        run.socket.sendall(b'[]\n' * 100)
        said += 100
    before = resident(run.process.pid)
    for _ in range(1000):
        run.socket.sendall(b'[]\n' * 100)
        said += 100
    after = resident(run.process.pid)
    run.process.stdin.write(b'still here\n')
    run.process.stdin.flush()
    same(run.process.stdout.readline(), b'still here\n')
    run.socket.settimeout(PATIENCE)
    ended, status = run.end()
    same(status, 0)
    same(ended['report']['outcome']['status'], 0)
    told = [line for line in run.lines if line['type'] == 'error']
    lost = sum(line.get('lost', 0) for line in run.lines)
    assert lost > 0, 'nothing was lost'
    # The answers would have been some 10 MiB.
    assert after - before < 2 << 20, f'{after - before} bytes more for lines that nobody reads'
    assert len(told) + lost <= said, 'more answers than lines'
    validate('control.schema.json', run.lines[-3:])


def resident(pid):
    return int(open(f'/proc/{pid}/statm').read().split()[1]) * resource.getpagesize()


def not_for_the_command(backend):
    for words in [backend], ['--mode=danger-full-access']:
        run = Run(words, ['sh', '-c', 'ls -l /proc/$$/fd'])
        run.end()
        assert b'0 -> ' in run.out and b'socket:' not in run.out, (words, run.out)


def refused(backend):
    """Descriptors that are no channel, each by its reason and before anything runs."""
    ours, theirs = socket.socketpair()
    dgram = socket.socketpair(type=socket.SOCK_DGRAM)
    lonely = socket.socket(socket.AF_UNIX)
    pipe = os.pipe()
    copy = os.dup(theirs.fileno())
    report = os.open('/dev/null', os.O_RDWR)
    rows = [
        ('a pipe', f'fd:{pipe[1]}', [], 'control-unusable'),
        ('a device', f'fd:{report}', [], 'control-unusable'),
        ('datagrams', f'fd:{dgram[1].fileno()}', [], 'control-unusable'),
        ('nobody there', f'fd:{lonely.fileno()}', [], 'control-unusable'),
        ('not open', 'fd:99', [], 'control-unusable'),
        ('stdout', 'fd:1', [], 'option-value'),
        ('no number', 'fd:3x', [], 'option-value'),
        ('a minus', 'fd:-3', [], 'option-value'),
        ('passed as well', f'fd:{theirs.fileno()}', [f'--pass-fd={theirs.fileno()}'], 'control-shared'),
        ('passed as a copy', f'fd:{theirs.fileno()}', [f'--pass-fd={copy}'], 'control-shared'),
        ('the report\'s', f'fd:{theirs.fileno()}', [f'--report=fd:{copy}'], 'control-shared'),
    ]
    keep = [theirs.fileno(), dgram[1].fileno(), lonely.fileno(), pipe[1], copy, report]
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        for name, value, words, reason in rows:
            out = os.open(f'{directory}/report', os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            told = words if any('--report' in word for word in words) else [*words, f'--report=fd:{out}']
            seen = subprocess.run([CONFINE, 'run', backend, f'--control={value}', *told, '--', 'echo', 'ran'],
                                  pass_fds=[*keep, out], capture_output=True, stdin=subprocess.DEVNULL)
            same((name, seen.returncode, seen.stdout), (name, 125, b''))
            assert seen.stderr.startswith(b'confine: control ') and seen.stderr.count(b'\n') == 1, seen.stderr
            if told is not words:
                same((name, json.load(open(f'{directory}/report'))['error']['reason']), (name, reason))
            os.close(out)
    # And one that is stdin by another number.
    seen = subprocess.run([CONFINE, 'run', backend, f'--control=fd:{theirs.fileno()}', '--', 'echo', 'ran'], stdin=theirs,
                          pass_fds=[theirs.fileno()], capture_output=True)
    same((seen.returncode, seen.stdout), (125, b''))
    ours.close()


def by_name(backend):
    """unix:PATH, also below a long one; not where the command may write, not through a link, not a stranger's."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        deep = directory + ('/' + 'd' * 100) * 3
        os.makedirs(deep)
        os.makedirs(f'{directory}/w')
        here = os.getcwd()
        listener = socket.socket(socket.AF_UNIX)
        os.chdir(deep)
        listener.bind('s')
        os.chdir(here)
        listener.listen()
        run = Run([backend, f'--control=unix:{deep}/s'], ['sh', '-c', 'exit 4'], peer=socket.socket())
        listener.settimeout(PATIENCE)
        run.socket, _ = listener.accept()
        run.socket.settimeout(PATIENCE)
        same(run.end()[1], 4)
        inside = socket.socket(socket.AF_UNIX)
        inside.bind(f'{directory}/w/s')
        inside.listen()
        os.symlink(f'{directory}/w', f'{directory}/link')
        open(f'{directory}/file', 'w').close()
        rows = [('where the command may write', f'{directory}/w/s'), ('through a link', f'{directory}/link/s'),
                ('a file', f'{directory}/file'), ('nothing', f'{directory}/nothing'), ('a directory', directory)]
        for name, path in rows:
            seen = subprocess.run([CONFINE, 'run', backend, f'--workspace={directory}/w', f'--control=unix:{path}', '--',
                                   'echo', 'ran'], capture_output=True, stdin=subprocess.DEVNULL)
            same((name, seen.returncode, seen.stdout), (name, 125, b''))
            assert seen.stderr.startswith(b'confine: control '), (name, seen.stderr)


def a_stranger_listens(backend):
    if os.geteuid() != 0:
        raise Skip('only root can be two users')
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        os.chmod(directory, 0o777)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgid(65534)
            os.setuid(65534)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f'{directory}/s')
            listener.listen()
            os.write(write, b'x')
            signal.pause()
            os._exit(0)
        os.read(read, 1)
        seen = subprocess.run([CONFINE, 'run', backend, f'--control=unix:{directory}/s', '--', 'echo', 'ran'],
                              capture_output=True, stdin=subprocess.DEVNULL)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        same((seen.returncode, seen.stdout), (125, b''))
        assert b'another user listens there' in seen.stderr, seen.stderr


def main():
    own_home()
    os.chdir('/var/tmp')
    tests = [ordinary, the_pid_is_the_command, started_only_when_it_has, nothing_started, kill, closed, half_closed,
             closed_before, closed_early, closed_at_once, signals, grace, stop_and_continue, a_limit, errors, the_end_of_a_file,
             a_terminal, a_slow_reader, not_for_the_command, refused, by_name, a_stranger_listens]
    only = sys.argv[1:]
    for backend in BACKENDS:
        for test in tests:
            if only and test.__name__ not in only:
                continue
            name = f"{test.__name__.replace('_', ' ')}, {backend.split('=')[1]}"
            try:
                test(backend)
            except Skip as reason:
                tap.skip(name, reason)
                continue
            except Exception as error:  # every way in which a test can fail is a point
                tap.ok(False, name, repr(error)[:1000])
                continue
            finally:
                for process in Run.all:  # of a test that failed; for all others they have ended
                    if process.poll() is None:
                        process.kill()
                        process.wait()
                Run.all.clear()
            tap.ok(True, name)
    return tap.close()


sys.exit(main())
