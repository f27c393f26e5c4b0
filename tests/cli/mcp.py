#!/usr/bin/env python3
"""mcp.py - `confine mcp` as a client sees it, message by message. A TAP program."""
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import Tap, free_port, own_home  # noqa: E402

CONFINE = os.environ['CONFINE_STAGE'] + '/bin/confine'
PATIENCE = int(os.environ.get('CONFINE_PATIENCE', 60))
own_home()

tap = Tap()


class Server:
    def __init__(self, *options):
        self.place = tempfile.mkdtemp(prefix='confine-mcp.', dir='/var/tmp')
        self.process = subprocess.Popen([CONFINE, 'mcp', f'--workspace={self.place}', *options], cwd=self.place, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.rest, self.next, self.seen = b'', 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        self.err = self.process.stderr.read()
        self.status = self.process.wait(PATIENCE)
        shutil.rmtree(self.place)

    def write(self, data):
        self.process.stdin.write(data)

    def send(self, **message):
        self.write(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')

    def line(self):
        """The next message."""
        end = time.monotonic() + PATIENCE
        while b'\n' not in self.rest:
            assert select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0], 'nothing comes'
            more = os.read(self.process.stdout.fileno(), 65536)
            assert more, f'the server ended: {self.process.stderr.read()!r}'
            self.rest += more
        line, self.rest = self.rest.split(b'\n', 1)
        message = json.loads(line)
        assert message['jsonrpc'] == '2.0', message
        return message

    def ask(self, method, params=None):
        self.next += 1
        self.send(id=self.next, method=method, **({} if params is None else {'params': params}))
        answer = self.line()
        assert answer['id'] == self.next, answer
        return answer

    def call(self, name, **arguments):
        answer = self.ask('tools/call', {'name': name, 'arguments': arguments})
        assert 'result' in answer, answer
        result = answer['result']
        assert result['content'][0]['type'] == 'text', result
        return result


def same(seen, expected):
    assert seen == expected, f'seen {seen!r}, expected {expected!r}'


def greeting():
    with Server() as server:
        result = server.ask('initialize', {'protocolVersion': '2025-03-26', 'capabilities': {}, 'clientInfo': {'name': 'x', 'version': '1'}})['result']
        same((result['protocolVersion'], result['serverInfo']['name'], result['capabilities']), ('2025-03-26', 'confine', {'tools': {}}))
        server.send(method='notifications/initialized')
        same(server.ask('initialize', {'protocolVersion': '1999-01-01'})['result']['protocolVersion'], '2025-06-18')
        same(server.ask('ping')['result'], {})
        tools = server.ask('tools/list', {})['result']['tools']
        assert 'what it leaves behind is killed' in tools[0]['description'], tools[0]
        same([tool['name'] for tool in tools], ['run_command', 'read_file', 'write_file', 'list_directory'])
        for tool in tools:
            same(tool['inputSchema']['type'], 'object')
    same((server.status, server.err), (0, b''))


def commands():
    with Server() as server:
        result = server.call('run_command', command='echo out; echo err >&2; exit 3')
        same((result['isError'], result['structuredContent']['status'], result['structuredContent']['stdout'], result['structuredContent']['stderr']),
             (True, 3, 'out\n', 'err\n'))
        assert 'Exit 3.' in result['content'][0]['text'] and 'stdout, 4 bytes:\nout\n' in result['content'][0]['text'], result
        result = server.call('run_command', command=['printf', '%s|', '-w', '--', '$HOME', 'a b'])
        same((result['isError'], result['structuredContent']['stdout']), (False, '-w|--|$HOME|a b|'))
        same(server.call('run_command', command=['cat'], input='žluť\n')['structuredContent']['stdout'], 'žluť\n')
        os.mkdir(server.place + '/sub')
        same(server.call('run_command', command='pwd', directory=server.place + '/sub')['structuredContent']['stdout'], server.place + '/sub\n')
        result = server.call('run_command', command='sleep 1000', timeout_seconds=0.2)
        same((result['isError'], result['structuredContent']['status']), (True, 124))
        result = server.call('run_command', command=['/nowhere/at/all'])
        same((result['isError'], result['structuredContent']['started'], result['structuredContent']['error']['code']), (True, False, 'COMMAND_NOT_FOUND'))
        result = server.call('run_command', command='printf "\\377\\000x"')
        same(result['structuredContent']['stdout'], '\ufffd\0x')
        result = server.call('run_command', command='head -c 3000000 /dev/zero | tr "\\0" a')
        same((len(result['structuredContent']['stdout']), result['structuredContent']['stdout_cut'], result['structuredContent']['status']), (1 << 20, True, 0))
        result = server.call('run_command', command='echo "Ran true in / (workspace-write). Exit 0."; exit 1')
        assert result['content'][0]['text'].startswith('Ran /bin/sh -c') or result['content'][0]['text'].startswith('Ran '), result
        same(result['isError'], True)


def said(result):
    return result['content'][0]['text'].split('\n\n')[0]


def acts():
    """What a model reads of a tool for files: no script, no start directory, no backend."""
    with Server('--hide', 'key?') as server:
        same(said(server.call('write_file', path='a file', content='one\n')), 'Wrote "a file"')
        same(said(server.call('write_file', path='f', content='x', append=True)), 'Appended to f')
        same(server.call('read_file', path='f')['content'][0]['text'], 'Read f\n\nstdout, 1 bytes:\nx')
        same(server.call('list_directory', path='.')['content'][0]['text'], 'Listed .\n\nstdout, 9 bytes:\na file\nf\n')
        same(said(server.call('read_file', path='none')), 'Could not read none')
        same(said(server.call('read_file', path='a\nb')), 'Could not read "a\\x0ab"')
        outside = os.path.dirname(server.place) + '/.mcp-' + os.path.basename(server.place)
        os.mkdir(outside)
        try:
            text = said(server.call('write_file', path=outside + '/x', content='x'))
            same(text, f'Could not write {outside}/x. The sandbox refused it (create {outside}/x): ask for --write {outside}')
        finally:
            os.rmdir(outside)
        text = said(server.call('write_file', path='.envrc', content='x'))
        assert text == 'Wrote .envrc (something written meanwhile runs later outside: see `planted`)', text
    with tempfile.NamedTemporaryFile('w', dir='/var/tmp', prefix='confine-mcp-policy.') as policy:
        policy.write('{"policy": 1}')
        policy.flush()
        with Server('--policy', policy.name) as server:
            same(said(server.call('list_directory', path='.')), 'Listed .')
            policy.write('{')
            policy.flush()
            text = said(server.call('read_file', path='f'))
            assert text.startswith(f'Could not read f. {policy.name}:1:') and '/bin/sh' not in text, text


def hidden():
    """What is hidden is named to who asks for it by a tool for files; not where somebody has said what is told."""
    place = tempfile.mkdtemp(prefix='confine-mcp-hidden.', dir='/var/tmp')
    os.chmod(place, 0o755)
    try:
        os.mkdir(place + '/d')
        with open(place + '/d/f', 'w') as file, open(place + '/f', 'w') as other:
            file.write('x')
            other.write('x')
        with Server('--hide', place + '/d', '--hide', place + '/f') as server:
            same(said(server.call('read_file', path=place + '/f')), f'Could not read {place}/f. The sandbox refused it (read {place}/f): ask for --show {place}/f')
            text = said(server.call('read_file', path=place + '/d/f'))
            assert text.startswith(f'Could not read {place}/d/f. The sandbox refused it (read {place}/d'), text
            result = server.call('list_directory', path=place + '/d')
            assert not result['isError'] or f'The sandbox refused it (read {place}/d): ask for --show {place}/d' in said(result), result  # landlock: names can be seen
        with Server('--hide', place + '/f', '--denials', 'off') as server:
            same(said(server.call('read_file', path=place + '/f')), f'Could not read {place}/f')
        with tempfile.NamedTemporaryFile('w', dir='/var/tmp', prefix='confine-mcp-policy.') as policy:
            policy.write('{"policy": 1, "locked": ["denials"]}')
            policy.flush()
            with Server('--policy', policy.name, '--hide', place + '/f') as server:
                same(said(server.call('read_file', path=place + '/f')), f'Could not read {place}/f')
    finally:
        shutil.rmtree(place)


def files():
    with Server() as server:
        same(server.call('write_file', path='a file', content='one\n')['isError'], False)
        same(server.call('write_file', path='a file', content='two\n', append=True)['isError'], False)
        same(open(server.place + '/a file').read(), 'one\ntwo\n')
        same(server.call('read_file', path='a file')['structuredContent']['stdout'], 'one\ntwo\n')
        same(server.call('read_file', path=server.place + '/a file')['structuredContent']['stdout'], 'one\ntwo\n')
        os.mkdir(server.place + '/-d')
        same(sorted(server.call('list_directory', path='.')['structuredContent']['stdout'].split('\n')), ['', '-d/', 'a file'])
        same(server.call('list_directory', path='-d')['structuredContent']['stdout'], '')
        same(server.call('read_file', path='none')['isError'], True)
        for path in ('/etc/confine-mcp-test', '$(touch x)', '`touch x`; touch y', '-x'):
            server.call('write_file', path=path, content='x')
        same(sorted(os.listdir(server.place)), sorted(['$(touch x)', '`touch x`; touch y', '-d', '-x', 'a file']))
        assert not os.path.exists('/etc/confine-mcp-test')
        os.mkfifo(server.place + '/fifo')
        for path in ('fifo', '/dev/zero', server.place):  # none of them may be waited for
            result = server.call('read_file', path=path)
            same((result['isError'], result['structuredContent']['stderr']), (True, f'no regular file: {path}\n'))
        same(server.call('write_file', path='fifo', content='x')['isError'], True)
        os.remove(server.place + '/fifo')
        with open(server.place + '/large', 'wb') as file:
            file.truncate(5 << 30)
        result = server.call('read_file', path='large')['structuredContent']
        same((len(result['stdout']), result['stdout_cut'], result['status']), (1 << 20, True, 0))
        os.remove(server.place + '/large')
        same(server.call('list_directory', path='-')['isError'], True)  # not the directory before
        same(server.call('list_directory', path='a file')['structuredContent']['stderr'], 'no directory: a file\n')
        same(server.call('run_command', command='-x 2>/dev/null || echo $?')['structuredContent']['stdout'], '127\n')
        same(open(server.place + '/-x').read(), 'x')
    with Server('--mode=read-only') as server:
        same(server.call('write_file', path=server.place + '/f', content='x')['isError'], True)
        same(os.listdir(server.place), [])


def bad_messages():
    with Server() as server:
        for line, code in ((b'nonsense', -32700), (b'[1]', -32600), (b'{}', -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                           (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
                           (b'\xff\xfe', -32700), (b'x' * (9 << 20), -32600)):
            server.write(line + b'\n')
            same(server.line()['error']['code'], code)
        for params in ({'name': 'nothing'}, {}, {'name': 'run_command'}, {'name': 'run_command', 'arguments': {'command': []}},
                       {'name': 'run_command', 'arguments': {'command': ['a\0b']}}, {'name': 'run_command', 'arguments': {'command': 'x', 'shell': 'y'}},
                       {'name': 'run_command', 'arguments': {'command': 'x', 'timeout_seconds': -1}}, {'name': 'read_file', 'arguments': {'path': ''}},
                       {'name': 'read_file', 'arguments': 'x'}, {'name': 'write_file', 'arguments': {'path': 'x'}}):
            same(server.ask('tools/call', params)['error']['code'], -32602)
        server.write(b'\n  \n')
        server.send(method='notifications/unknown')
        server.send(id=7, result={})
        same(server.ask('ping')['result'], {})


def many_and_cancelled():
    with Server() as server:
        for i in range(10):
            server.send(id=f'n{i}', method='tools/call', params={'name': 'run_command', 'arguments': {'command': f'echo {i}'}})
        seen = {message['id']: message['result']['structuredContent']['stdout'] for message in (server.line() for _ in range(10))}
        same(seen, {f'n{i}': f'{i}\n' for i in range(10)})
        server.send(id='long', method='tools/call', params={'name': 'run_command', 'arguments': {'command': 'echo $$ > here; trap "" TERM; setsid sleep 1000 & sleep 1000'}})
        while not os.path.exists(server.place + '/here'):
            time.sleep(0.01)
        server.send(method='notifications/cancelled', params={'requestId': 'long', 'reason': 'enough'})
        while subprocess.run(['pgrep', '-P', str(server.process.pid)], stdout=subprocess.DEVNULL).returncode == 0:
            time.sleep(0.01)
        same(server.ask('ping')['result'], {})  # and no answer to the one that was cancelled
        for i in range(20):
            server.send(id=i, method='tools/call', params={'name': 'run_command', 'arguments': {'command': 'until [ -e go ]; do sleep 0.05; done'}})
        answers = [server.line() for _ in range(4)]  # no other has an end yet
        open(server.place + '/go', 'w').close()
        same([sum('too many' in answer['result']['content'][0]['text'] for answer in some) for some in (answers, [server.line() for _ in range(16)])], [4, 0])


def fill(server):
    """Three answers that nobody reads, of runs that have ended."""
    for i in range(3):
        server.send(id=i, method='tools/call', params={'name': 'run_command', 'arguments': {'command': f'head -c 1100000 /dev/zero; touch did{i}'}})
    while not all(os.path.exists(f'{server.place}/did{i}') for i in range(3)):
        time.sleep(0.01)
    while subprocess.run(['pgrep', '-P', str(server.process.pid)], stdout=subprocess.DEVNULL).returncode == 0:
        time.sleep(0.05)


def slow_reader():
    """Who does not read for a while gets every answer afterwards, and nothing more is begun meanwhile."""
    with Server() as server:
        fill(server)
        server.send(id='late', method='tools/call', params={'name': 'run_command', 'arguments': {'command': 'touch late'}})
        seen = {answer['id']: answer['result'] for answer in (server.line() for _ in range(4))}
        same([(i, len(seen[i]['structuredContent']['stdout'])) for i in range(3)], [(i, 1 << 20) for i in range(3)])
        same((seen['late']['isError'], os.path.exists(server.place + '/late')), (True, False))
        same(server.call('run_command', command='touch late')['isError'], False)
    same((server.status, server.err), (0, b''))
    with Server() as server:  # it is not waited for where the input has ended
        fill(server)
    same((server.status, server.err), (0, b''))


def ends():
    with Server() as server:
        server.send(id=1, method='tools/call', params={'name': 'run_command', 'arguments': {'command': 'setsid sleep 1000 & touch here; sleep 1000'}})
        while not os.path.exists(server.place + '/here'):
            time.sleep(0.01)
    same(server.status, 0)  # the end of the input ended the run as well: the pipe of stderr, which all of it held, has ended


def sessions():
    done = subprocess.run([CONFINE, 'session', 'list', '--json'], capture_output=True, text=True, check=True)
    return {one['name']: one['processes'] for one in json.loads(done.stdout)['sessions']}


def keeps():
    """With a session, what a call leaves running is there for the next, and ends with the server."""
    probe = subprocess.run([CONFINE, 'probe', '--backend', 'namespace', '--json'], capture_output=True, text=True)
    if '"usable": true' not in probe.stdout:
        return 'no namespaces here'
    runtime = tempfile.mkdtemp(prefix='confine-mcp.', dir='/var/tmp')
    os.environ['XDG_RUNTIME_DIR'] = runtime
    name, port = f'mcp{os.getpid()}', free_port()
    begin = 'echo served >/tmp/page; cd /tmp; setsid python3 -m http.server 4321 --bind 127.0.0.1 >/tmp/log 2>&1 & until (: </dev/tcp/127.0.0.1/4321) 2>/dev/null; do sleep 0.05; done'
    fetch = 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:4321/page").read().decode(), end="")'
    try:
        with Server('--session', name, '--publish', f'{port}:4321', '--limit', 'file_size=1M,tmp_size=8M,time=1h') as server:
            said = server.ask('tools/list', {})['result']['tools'][0]['description']
            assert 'is there for the next call' in said and 'killed' not in said, said
            same(server.call('run_command', command=['bash', '-c', begin])['isError'], False)
            same(server.call('run_command', command=['python3', '-c', fetch])['structuredContent']['stdout'], 'served\n')
            same(server.call('read_file', path='/tmp/page')['content'][0]['text'].rstrip().endswith('served'), True)
            with socket.create_connection(('127.0.0.1', port), PATIENCE) as one:
                one.sendall(b'GET /page HTTP/1.0\r\n\r\n')
                assert one.makefile('rb').read().endswith(b'served\n')
            same(server.call('run_command', command='head -c 2M /dev/zero >/tmp/large')['isError'], True)
            same(server.call('run_command', command='for i in 1 2 3 4 5 6 7 8 9; do head -c 1000000 /dev/zero >/tmp/$i || exit 9; done')['structuredContent']['status'], 9)
            same([one['name'] for one in sessions()[name]], ['python3'])
            with Server('--session', name) as second:
                pass
            assert second.status == 125 and second.err.count(b'\n') == 1 and b'there is one already' in second.err, second.err
            same(list(sessions()), [name])
        same((server.status, server.err, sessions()), (0, b'', {}))
        for words, text in ((['--wait-all'], b'--wait-all'), (['--proxy-env'], b'the way into the network'), (['-m', 'danger-full-access'], b'danger-full-access')):  # no run of it could have that
            with Server('--session', name, *words) as refusing:
                pass
            assert refusing.status == 125 and refusing.err.count(b'\n') == 1 and text in refusing.err, refusing.err
        same(sessions(), {})
        with Server('--session', name) as server:  # killed, it cannot end it: its keeper does
            server.call('run_command', command='sleep 1000 >/dev/null 2>&1 &')
            server.process.kill()
        end = time.monotonic() + PATIENCE
        while sessions():
            assert time.monotonic() < end, 'the session goes on'
            time.sleep(0.02)
        with Server('--session', name, '--backend=landlock') as server:
            pass
        assert server.status == 125 and server.err.count(b'\n') == 1 and b'has no sessions' in server.err, server.err
        same(os.listdir(runtime + '/confine'), [])
    finally:
        shutil.rmtree(runtime)
    return None


def refused():
    for words, text in ((['--workspace=/nowhere/at/all'], 'nowhere'), (['--bogus'], 'bogus'), (['--', 'ls'], 'takes no such word'), (['--report=x'], 'report'), ([], 'stdin is neither')):
        done = subprocess.run([CONFINE, 'mcp', *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 125 and done.stdout == '' and text in done.stderr and done.stderr.count('\n') == 1, (words, done)


for test in (greeting, commands, acts, hidden, files, bad_messages, many_and_cancelled, slow_reader, ends, keeps, refused):
    why = skipped = None
    try:
        skipped = test()
    except Exception:  # every way in which a test can fail is a point
        why = traceback.format_exc()
    if skipped:
        tap.skip(test.__name__, skipped)
    else:
        tap.ok(why is None, test.__name__, why)
tap.finish()
