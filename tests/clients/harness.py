#!/usr/bin/env python3
"""harness.py - an agent harness from npm with confine as its shell, by a session that is written down here. A TAP program.

Should:  look at what the model would read: the tool's results as they arrive at its API, which is served here.
Mustn't: need a model, a key or a network; leave a process behind when it fails.
"""
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..')]
import pinned  # noqa: E402
from tap import Tap  # noqa: E402

STAGE = os.environ['CONFINE_STAGE']
PAGE = os.environ.get('CONFINE_PAGE', os.path.join(HERE, '../../docs/harness.md'))
PATIENCE = 120
# The harness and what it depends on as they were on one day; its integrity is that of the registry's answer then.
HARNESS = '@mariozechner/pi-coding-agent'
VERSION, BEFORE = '0.73.1', '2026-11-29'
INTEGRITY = 'sha512-gXQh3SaZmWTfVMc4Ao5+LGbVeKvzyO7tolok0nLsZgq9nGjZx/EEU3NM8C+qUnB4Nvs2rswG5qOVgLzQkq0fHQ=='
tap = Tap()


class Model(http.server.ThreadingHTTPServer):
    """What a model's API would be: each prompt is answered by one call of the tool, each result of it by `done`."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Answer)
        self.call, self.results = None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        last = json.loads(self.rfile.read(int(self.headers['content-length'])))['messages'][-1]
        if last['role'] == 'tool':
            self.server.results.append(last['content'])
            delta, end = {'role': 'assistant', 'content': 'done'}, 'stop'
        else:
            call = {'index': 0, 'id': f'call_{len(self.server.results)}', 'type': 'function',
                    'function': {'name': 'bash', 'arguments': json.dumps(self.server.call)}}
            delta, end = {'role': 'assistant', 'tool_calls': [call]}, 'tool_calls'
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.end_headers()
        for choice in ({'delta': delta, 'finish_reason': None}, {'delta': {}, 'finish_reason': end}):
            chunk = {'id': 'x', 'object': 'chat.completion.chunk', 'created': 0, 'model': 'm', 'choices': [{'index': 0, **choice}]}
            self.wfile.write(b'data: ' + json.dumps(chunk).encode() + b'\n\n')
        self.wfile.write(b'data: [DONE]\n\n')


class Harness:
    """The program of npm, in its mode for other programs, as user `uid`; `workspace` is what the script gets."""

    def __init__(self, place, model, uid, workspace):
        self.model, self.events = model, []
        who = [] if uid == os.getuid() else ['setpriv', '--reuid', str(uid), '--regid', str(uid), '--clear-groups']
        environment = {'PATH': os.environ['PATH'], 'HOME': place.home, 'PI_CODING_AGENT_DIR': place.home, 'MODEL_API_KEY': 'the key of a test',
                       'AGENT_WORKSPACE': workspace}
        program = os.path.join(place.modules, HARNESS, 'dist/cli.js')
        self.process = subprocess.Popen([*who, 'node', program, '--mode', 'rpc', '--no-session', '--offline', '--tools', 'bash', '--provider', 'here',
                                         '--model', 'm'], cwd=place.work, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(place.log, 'ab'), start_new_session=True)
        self.told = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            with self.told:
                self.events.append(json.loads(line))
                self.told.notify_all()
        with self.told:
            self.events.append({'type': 'agent_end'})
            self.told.notify_all()

    def say(self, **order):
        self.process.stdin.write(json.dumps(order).encode() + b'\n')
        self.process.stdin.flush()

    def ask(self, command, meanwhile=None, **more):
        """One turn: the model calls the tool. Return: what the harness says of it, and the text that the model reads."""
        before, results = len(self.events), len(self.model.results)
        self.model.call = {'command': command, **more}
        self.say(type='prompt', message='go on')
        if meanwhile:
            meanwhile()
        with self.told:
            ended = self.told.wait_for(lambda: any(event['type'] == 'agent_end' for event in self.events[before:]), PATIENCE)
        assert ended, 'the turn does not end'
        tool = [event for event in self.events[before:] if event['type'] == 'tool_execution_end']
        assert len(tool) == 1, self.events[before:]
        text = tool[0]['result']['content'][0]['text']
        assert self.model.results[results:] in ([text], []), (self.model.results[results:], text)
        return tool[0]['isError'], text

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


class Place:
    """The harness as it is installed, and beside it for each user a home with its settings and a workspace."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix='confine-harness.', dir='/var/tmp')
        os.chmod(self.root, 0o755)
        self.modules = os.path.join(self.root, 'node_modules')
        shutil.copytree(STAGE, os.path.join(self.root, 'stage'), symlinks=True)

    def install(self):
        """Return: None, or why it cannot be had."""
        environment = dict(os.environ)
        cache = environment.get('npm_config_cache', '/')
        environment.update(HOME=self.root, npm_config_cache=cache if os.access(cache, os.W_OK) and cache != '/' else self.root + '/cache')
        return pinned.install(self.root, HARNESS, VERSION, INTEGRITY, f'--before={BEFORE}', env=environment)

    def settle(self, uid, model, backend):
        """A home and a workspace for a user, and the script of the page as the shell, with that backend."""
        top = tempfile.mkdtemp(prefix='user.', dir=self.root)
        os.chmod(top, 0o755)
        self.home, self.work, self.outside, self.log = (os.path.join(top, name) for name in ('home', 'work', 'outside', 'log'))
        script = re.search(r'^```sh\n(#!/bin/sh\n.*?)^```$', open(PAGE).read(), re.S | re.M).group(1)
        assert '/usr/local/bin/confine' in script, script
        shell = os.path.join(top, 'shell')
        with open(shell, 'w') as file:
            file.write(script.replace('/usr/local/bin/confine run', f'{self.root}/stage/bin/confine run --backend={backend}'))
        os.chmod(shell, 0o755)
        for name in (self.home, self.work, self.outside):
            os.mkdir(name)
        provider = {'baseUrl': f'http://127.0.0.1:{model.server_port}/v1', 'api': 'openai-completions', 'apiKey': 'MODEL_API_KEY', 'models': [{'id': 'm'}]}
        for name, value in (('settings', {'shellPath': shell}), ('models', {'providers': {'here': provider}})):
            with open(f'{self.home}/{name}.json', 'w') as file:
                json.dump(value, file)
        for name in (self.home, self.work, self.outside):
            if uid != os.getuid():
                shutil.chown(name, uid, uid)
        open(self.log, 'w').close()

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def running(mark):
    """The processes whose command line has the mark."""
    found = []
    for name in os.listdir('/proc'):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f'/proc/{name}/cmdline', 'rb') as file:
                    if mark.encode() in file.read():
                        found.append(int(name))
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def wait_for(what, why):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.05)


def ordinary(harness, place, mark):
    error, text = harness.ask(f'# {mark}\necho hello >made && cat made && pwd && exit 0')
    assert (error, text.strip()) == (False, f'hello\n{place.work}'), text
    assert open(place.work + '/made').read() == 'hello\n'
    error, text = harness.ask('echo out; echo err >&2; exit 7')
    assert error and 'out\n' in text and 'err\n' in text and text.endswith('Command exited with code 7'), text
    error, text = harness.ask('kill -TERM $$')
    assert error and 'code 143' in text, text


def writing(harness, place, mark):
    target = place.outside + '/made'
    error, text = harness.ask(f'echo {mark} >{target}')
    assert error and not os.path.exists(target), text
    assert f'confine: refused: creating {target}; granted by --write' in text, text


def secrets(harness, place, mark):
    error, text = harness.ask('env')
    assert not error and 'AGENT_WORKSPACE=' in text and 'the key of a test' not in text, text


def connecting(harness, place, mark):
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(('127.0.0.1', port)).close()  # it can be reached from here
        server.accept()[0].close()
        error, text = harness.ask(f'exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected')
        server.setblocking(False)
        try:
            server.accept()
            raise AssertionError('a connection arrived')
        except BlockingIOError:
            pass
    assert error and 'connected' not in text.replace('connect:', ''), text
    error, text = harness.ask('exec 3<>/dev/tcp/192.0.2.1/80 && echo connected')
    assert error and 'connected' not in text.replace('connect:', ''), text


def leaving(harness, place, mark):
    error, text = harness.ask(f'(setsid sleep {mark} >/dev/null 2>&1 &); setsid sh -c "exec sleep {mark}" & echo started')
    assert not error and text.startswith('started') and 'left behind' in text, text
    wait_for(lambda: not running(mark), 'something outlived the turn')


def cancelling(harness, place, mark):
    begun = os.path.join(place.work, 'begun')

    def cancel():
        wait_for(lambda: os.path.exists(begun) and running(mark), 'the command does not begin')
        harness.say(type='abort')

    error, text = harness.ask(f'setsid sleep {mark} & : >begun; exec sleep {mark}', meanwhile=cancel)
    assert error and 'aborted' in text, text
    wait_for(lambda: not running(mark), 'something outlived a cancelled command')


def overdue(harness, place, mark):
    begun = os.path.join(place.work, 'overdue')
    for seconds in (2, 10, 60):  # until it was long enough for the command to begin
        error, text = harness.ask(f'setsid sleep {mark} & : >overdue; exec sleep {mark}', timeout=seconds)
        assert error and 'timed out' in text, text
        wait_for(lambda: not running(mark), 'something outlived a command that was too slow')
        if os.path.exists(begun):
            return
    raise AssertionError('the command does not begin')


def session(place, uid, model, backend):
    who = f'{"root" if uid == 0 else f"uid {uid}"}, {backend}'
    usable = subprocess.run([place.root + '/stage/bin/confine', 'run', '--backend=' + backend, '--', 'true'], stderr=subprocess.PIPE, text=True, check=False)
    if usable.returncode:
        tap.skip(who, f'the backend does not work here: {usable.stderr.strip()}')
        return
    place.settle(uid, model, backend)
    harness = Harness(place, model, uid, place.work)
    mark = f'98765{os.getpid()}.{time.monotonic_ns()}'
    try:
        for name, step in (('an ordinary command', ordinary), ('a write outside', writing), ("the harness's key", secrets), ('a connection', connecting),
                           ('a server in the background', leaving), ('a cancelled command', cancelling), ('one that takes too long', overdue)):
            try:
                step(harness, place, mark)
                tap.ok(True, f'{who}: {name}')
            except Exception:
                tap.ok(False, f'{who}: {name}', traceback.format_exc() + open(place.log).read())
    finally:
        harness.close()
        for pid in running(mark):  # only if a point above has failed
            os.kill(pid, signal.SIGKILL)
    harness = Harness(place, model, uid, '/')
    try:
        error, text = harness.ask('echo ran; touch ran')
        tap.ok(error and 'ran\n' not in text and 'code 125' in text and 'confine: ' in text and not os.path.exists(place.work + '/ran'),
               f'{who}: a refusal is what the model reads, and nothing runs', text)
    finally:
        harness.close()


def main():
    for tool in ('node', 'npm', 'bash', 'setsid'):
        if not shutil.which(tool):
            print(f'1..0 # SKIP {tool} is not installed')
            return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place = Place()
    try:
        missing = place.install()
        if missing:
            print(f'1..0 # SKIP {missing}')
            return 0
        model = Model()
        for backend in ('namespace', 'landlock'):
            for uid in (0, 65534) if os.getuid() == 0 else (os.getuid(),):
                session(place, uid, model, backend)
    finally:
        place.remove()
    return tap.close()


sys.exit(main())
