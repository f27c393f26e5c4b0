#!/usr/bin/env python3
"""python.py - the Python client: the vectors in both forms, cancellation, 50 runs at once, sessions. A TAP program."""
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', '..', 'bindings', 'python'), os.path.join(HERE, '..')]
import confine  # noqa: E402
from tap import Tap, own_home  # noqa: E402

PROGRAM = os.environ['CONFINE_STAGE'] + '/bin/confine'
ASKING = os.path.join(HERE, 'asking')
PATIENCE = 120  # for what must come; nothing is measured by it
VECTORS = json.load(open(os.path.join(HERE, 'vectors.json')))['vectors']
own_home()
os.chdir('/var/tmp')

tap = Tap()


class Workspace:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix='confine-client.', dir='/var/tmp')
        os.mkdir(self.path + '/sub')
        with open(self.path + '/sub/secret', 'w') as file:
            file.write('secret\n')
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def fill(self, value):
        if isinstance(value, str):
            return value.replace('WORKSPACE', self.path)
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        return value


def given(vector, place):
    """The keywords that both forms take."""
    environ = dict(os.environ, **vector['environ']) if 'environ' in vector else None
    return dict(program=PROGRAM, environ=environ, policy=place.fill(vector.get('policy')), **place.fill(vector.get('options', {})))


def data_of(vector):
    if 'input_length' in vector:
        return b'x' * vector['input_length']
    return vector['input'].encode() if 'input' in vector else None


def decides(vector):
    """Who answers the vector's questions, or nobody."""
    answers = list(vector.get('answers', []))
    return (lambda question: answers.pop(0)) if answers else None


def compare(vector, result, events, place):
    expect, outcome = vector['expect'], result.outcome
    seen = {
        'status': result.status, 'kind': outcome.kind, 'signal': outcome.signal, 'limit': outcome.limit,
        'stdout': (result.stdout or b'').decode(), 'stderr': (result.stderr or b'').decode(),
        'stdout_length': len(result.stdout or b''),
        'error': result.error and result.error.code, 'reason': result.error and result.error.reason,
        'events': [event.type for event in events if event.type not in ('warning', 'denial')],
        'unset': result.report['environment']['unset'],
    }
    for key, value in expect.items():
        if key == 'files':
            for name, content in value.items():
                path = os.path.join(place.path, name)
                there = open(path).read() if os.path.exists(path) else None
                assert there == content, f'{name}: {there!r}, expected {content!r}'
        elif key == 'survivors_least':
            survived = result.report['outcome']['survivors_killed']
            assert survived is None or survived >= value, f'{survived} survivors'
        else:
            assert seen[key] == value, f'{key}: {seen[key]!r}, expected {value!r}; {result.report.get("error")} {seen["stderr"]!r}'


def blocking(vector):
    with Workspace() as place:
        events = []
        result = confine.run(place.fill(vector['command']), input=data_of(vector), on_event=events.append, on_ask=decides(vector), **given(vector, place))
        compare(vector, result, events, place)


async def asynchronous(vector):
    with Workspace() as place:
        data, events, out = data_of(vector), [], []
        orders = list(vector.get('orders', []))
        wanted = asyncio.subprocess.PIPE if data is not None or vector.get('input_open') else asyncio.subprocess.DEVNULL
        happened = {'nothing': asyncio.Event()}
        happened['nothing'].set()
        decide = decides(vector)

        async def answer(question):
            await asyncio.sleep(0)
            return decide(question)


        async with confine.start(place.fill(vector['command']), stdin=wanted, on_ask=decide and answer, **given(vector, place)) as run:
            async def listen():
                async for event in run:
                    events.append(event)
                    happened.setdefault(event.type, asyncio.Event()).set()

            async def read():
                while line := await run.stdout.readline():
                    out.append(line)
                    happened.setdefault('stdout:' + line.decode().strip(), asyncio.Event()).set()

            async def write():
                if data is not None:
                    try:
                        run.stdin.write(data)
                        await run.stdin.drain()
                    except ConnectionError:
                        pass
                    run.stdin.close()

            tasks = [asyncio.ensure_future(listen()), asyncio.ensure_future(write())]
            if orders:
                tasks.append(asyncio.ensure_future(read()))
            for order in orders:
                await happened.setdefault(order['after'], asyncio.Event()).wait()
                if order.get('cancel'):
                    pid = next((event.pid for event in events if event.type == 'started'), None)
                    break
                await run.say(**order['say'])
            else:
                result = await run.wait()
                await asyncio.gather(*tasks)
                if out:
                    result = confine.Result(result.status, result.report, b''.join(out), result.stderr)
                compare(vector, result, events, place)
                return
        # The block was left in the middle: nothing is there any more.
        for task in tasks:
            task.cancel()
        assert vector['expect'] == {'cancelled': True}
        assert run._process.returncode is not None, 'it was not waited for'
        if pid is not None:
            assert not os.path.exists(f'/proc/{pid}'), 'the command is still there'


async def cancelled_task():
    """A task that is cancelled while it waits: the run goes with it, and the pipe ends that all of it hold."""
    ours, theirs = os.pipe()
    began = asyncio.Event()

    async def work():
        async with confine.start(['sh', '-c', 'trap "" TERM; setsid sleep 1000 & sleep 1000'], program=PROGRAM, stdout=theirs) as run:
            os.close(theirs)
            await run.started()
            began.set()
            await run.wait()

    task = asyncio.ensure_future(work())
    await began.wait()
    task.cancel()
    try:
        await task
        raise AssertionError('it was not cancelled')
    except asyncio.CancelledError:
        pass
    assert await asyncio.to_thread(os.read, ours, 1) == b'', 'somebody still holds the pipe'
    os.close(ours)


async def many():
    async def one(number):
        if number % 5 == 4:  # these are cancelled
            async with confine.start(['sh', '-c', 'setsid sleep 1000 & sleep 1000'], program=PROGRAM) as run:
                started = await run.started()
            assert started is not None and not os.path.exists(f'/proc/{started.pid}')
            return
        async with confine.start(['sh', '-c', f'echo {number}; exit {number}'], program=PROGRAM) as run:
            result = await run.wait()
        assert (result.status, result.stdout) == (number, f'{number}\n'.encode()), result
    await asyncio.gather(*(one(number) for number in range(50)))


def threads():
    """The blocking form in threads, at once."""
    errors = []

    def one(number):
        try:
            result = confine.run(['sh', '-c', f'echo {number}; exit {number}'], program=PROGRAM)
            assert (result.status, result.stdout) == (number, f'{number}\n'.encode()), result
        except BaseException as error:
            errors.append(error)
    all_of_them = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()
    assert not errors, errors


def interrupted():
    """Ctrl-C in the blocking form: the exception comes, and nothing is left."""
    pids = []

    def on_event(event):
        if event.type == 'started':
            pids.append(event.pid)
            signal.raise_signal(signal.SIGINT)
    try:
        confine.run(['sh', '-c', 'setsid sleep 1000 & sleep 1000'], program=PROGRAM, on_event=on_event)
        raise AssertionError('it came back')
    except KeyboardInterrupt:
        pass
    assert pids and not os.path.exists(f'/proc/{pids[0]}')


def mistakes():
    for wrong, kind in ((dict(command='ls'), TypeError), (dict(command=[]), ValueError),
                        (dict(command=['ls'], report='x'), TypeError), (dict(command=['ls'], nothing=1), TypeError),
                        (dict(command=['ls'], write=['a\0b']), ValueError), (dict(command=['ls'], env={'A': True}), TypeError),
                        (dict(command=['ls'], program='/nowhere/confine'), FileNotFoundError)):
        before = set(os.listdir('/proc/self/fd'))
        try:
            confine.run(**{'program': PROGRAM, **wrong})
            raise AssertionError(f'{wrong}: taken')
        except kind:
            pass
        assert set(os.listdir('/proc/self/fd')) == before, f'{wrong}: descriptors are left'
    for wrong, said in (({'cwd': '/'}, 'did you mean chdir?'), ({'workspce': '.'}, 'did you mean workspace?'), ({'nothing': 1}, 'confine-run(1)'),
                        ({'policy': './agent.json'}, 'json.load()'), ({'policy': ['./agent.json']}, 'json.load()')):
        try:
            confine.run(['ls'], program=PROGRAM, **wrong)
            raise AssertionError(f'{wrong}: taken')
        except TypeError as error:
            assert said in str(error), error
    try:
        confine.run(['cat'], program=PROGRAM, input='text')
        raise AssertionError('a text, and nobody said in which encoding')
    except TypeError as error:
        assert 'encode it' in str(error), error
    try:
        confine.run(['cat'], program=PROGRAM, input=b'', stdin=0)
        raise AssertionError('two inputs')
    except ValueError:
        pass
    try:
        confine.run(['ls'], program='/bin/true')
        raise AssertionError('a program that says nothing')
    except confine.ConfineError as error:
        assert 'no report' in str(error), error
    failed_result = confine.run(['false'], program=PROGRAM)
    try:
        failed_result.check()
        raise AssertionError('checked')
    except confine.CommandFailed as error:
        assert error.result is failed_result
    try:
        confine.run(['ls'], program=PROGRAM, backend='refuse').check()
        raise AssertionError('checked')
    except confine.ConfineError as error:
        assert error.code == 'SANDBOX_UNAVAILABLE' and error.report['outcome']['kind'] == 'not-started'
    try:
        confine.run(['ls'], program=PROGRAM, workspace='/nowhere/at/all').check()
        raise AssertionError('checked')
    except confine.ConfineError as error:
        assert error.hint and str(error) == f'{error.message} ({error.hint})', error


class Undecided(Exception):
    pass


def undecided():
    """Whoever decides raises: the run goes, in both forms, and what was asked about has not been done."""
    with Workspace() as place:
        words, pids = ['sh', '-c', f'echo x > {place.path}/made; setsid sleep 1000 & sleep 1000'], []

        def note(event):
            if event.type == 'started':
                pids.append(event.pid)

        def decide(question):
            assert (question.path, question.operation, question.reads, question.timeout) == (f'{place.path}/made', 'create', False, 60), question
            raise Undecided

        async def later(question):
            decide(question)

        async def streamed():
            async with confine.start(words, program=PROGRAM, workspace=place.path + '/sub', on_ask=later) as run:
                pids.append((await run.started()).pid)
                await run.wait()

        async def iterated():
            async with confine.start(words, program=PROGRAM, workspace=place.path + '/sub', on_ask=later) as run:
                async for event in run:
                    note(event)
            raise AssertionError('the iteration came to its end')

        async def left():
            async with confine.start(words, program=PROGRAM, workspace=place.path + '/sub', on_ask=later) as run:
                pids.append((await run.started()).pid)
                await run._hearing  # whoever does neither has no other way to know

        for test in (lambda: confine.run(words, program=PROGRAM, workspace=place.path + '/sub', on_event=note, on_ask=decide),
                     lambda: asyncio.run(streamed()), lambda: asyncio.run(iterated()), lambda: asyncio.run(left())):
            try:
                test()
                raise AssertionError('it came back')
            except Undecided:
                pass
            assert pids and not os.path.exists(f'/proc/{pids.pop()}') and not os.path.exists(f'{place.path}/made')


#: What on_ask may return by mistake, and whom it is asked about: None is a file.
WRONG = (('yes', None), (None, None), (True, None), (['once'], None), ('once', 'example.org:443'))


def no_answer():
    """Whoever decides has no answer: as if he had raised, in both forms, and what he was asked about is denied at once."""
    with Workspace() as place:
        told = place.path + '/told'

        async def streamed(words, answer):
            async def decide(_):
                return answer
            async with confine.start(words, program=ASKING, on_ask=decide) as run:
                await run.wait()

        for answer, address in WRONG:
            words = [told, address] if address else [told]
            for test in (lambda: confine.run(words, program=ASKING, on_ask=lambda _: answer), lambda: asyncio.run(streamed(words, answer))):
                try:
                    test()
                    raise AssertionError(f'{answer!r}: it came back')
                except ValueError as error:
                    assert repr(answer) in str(error), error
                with open(told, encoding='ascii') as file:
                    assert json.load(file) == {'type': 'answer', 'id': 1, 'answer': 'deny'}
                os.remove(told)


def shown():
    """An event shows all of it: of a denial nothing else would say what it is."""
    event = confine.DenialEvent('denial', {'type': 'denial', 'path': '/etc/x'})
    assert "'path': '/etc/x'" in repr(event), event


def session():
    name = f'client-{os.getpid()}'
    with confine.Session(name, program=PROGRAM, allow=['example.org']) as one:
        assert any(item['name'] == name for item in confine.Session.list(program=PROGRAM))
        confine.run(['sh', '-c', 'echo kept > /tmp/file'], program=PROGRAM, session=one.name).check()
        seen = confine.run(['cat', '/tmp/file'], program=PROGRAM, session=one.name).check()
        assert seen.stdout == b'kept\n', seen
        try:
            confine.Session(name, program=PROGRAM)
            raise AssertionError('made twice')
        except confine.ConfineError:
            pass
        one.allow('example.net', '*.example.com:443')
        for rule, error in (('127.0.0.1:80', confine.ConfineError), ('no rule', confine.ConfineError), ('--help', ValueError)):
            try:
                one.allow(rule)
                raise AssertionError(rule)
            except error:
                pass
    assert not any(item['name'] == name for item in confine.Session.list(program=PROGRAM))
    one.end()  # a second time does nothing
    with confine.Session(f'silent-{name}', program=PROGRAM) as silent:
        keeper = int(subprocess.check_output(['pgrep', '-f', f'session start silent-{name} ']))
        os.kill(keeper, signal.SIGSTOP)
        try:
            one.end()  # nor while another one does not answer
            assert silent._may_live(), 'what does not answer is said to have ended'
        finally:
            os.kill(keeper, signal.SIGCONT)


def fence():
    with tempfile.TemporaryDirectory(prefix='confine-client.', dir='/var/tmp') as top:
        if os.geteuid() == 0:
            os.chown(top, 65534, 65534)
        work = top + '/work'
        os.mkdir(work)
        with open(top + '/key', 'w', encoding='ascii') as file:
            file.write('secret')
        if os.geteuid() == 0:
            os.chown(work, 65534, 65534)
        before = len(os.listdir('/proc/self/fd'))
        with confine.Fence(program=PROGRAM, directory=top, policy={'policy': 1, 'hide': [top + '/key']}, workspace='work') as one:
            assert (one.root, one.directory) == (work, work)
            with one.open('new', 'w') as file:
                file.write('one')
                assert not os.get_inheritable(file.fileno())
            with one.open(b'new', 'ab') as file:
                file.write(b'two')
            one.mkdir('dir')
            one.rename('new', 'dir/moved')
            with one.open('dir/moved') as file:
                assert file.read() == 'onetwo'
            for path, mode, reason in (('../key', 'r', 'hidden'), ('../new', 'w', 'not-granted'), ('/dev/null', 'r', 'special-file')):
                try:
                    one.open(path, mode)
                    raise AssertionError(f'{path} was opened')
                except confine.FenceDenied as denied:
                    assert (denied.reason, denied.code, denied.root) == (reason, 'FS_SANDBOX_DENIED', work), vars(denied)
            for call, wrong in ((lambda: one.open('none'), FileNotFoundError), (lambda: one.open('dir/moved', 'x'), FileExistsError),
                                (lambda: one.remove('dir'), OSError), (lambda: one.open('a\0b'), ValueError),
                                (lambda: one.open_fd('dir', os.O_PATH), ValueError), (lambda: one.open(0, closefd=False), TypeError)):
                try:
                    call()
                    raise AssertionError('it came back')
                except wrong:
                    pass
            one.remove('dir/moved')
            one.remove('dir')
            assert os.listdir(work) == []
            one._process.kill()
            one._process.wait()
            try:
                one.open('new', 'w')
                raise AssertionError('a fence that has ended opens')
            except confine.ConfineError:
                pass
        assert len(os.listdir('/proc/self/fd')) == before
        # An answer that was not read in time is none, and no later one comes in its place.
        with confine.Fence(program=PROGRAM, workspace=work) as one:
            one._socket.settimeout(PATIENCE)
            try:
                for _ in range(5000):
                    one._socket.send(b'open\0read\0000\0none\0')
            except (BrokenPipeError, ConnectionResetError):
                pass
            try:
                while one._socket.recv(65536):
                    pass
            except ConnectionResetError:
                pass
        # Its end does not wait for a child that has the socket as well.
        ours, theirs = os.pipe()
        one = confine.Fence(program=PROGRAM, workspace=work)
        child = os.fork()
        if child == 0:
            os.close(theirs)
            os.read(ours, 1)
            os._exit(0)
        os.close(ours)
        closing = threading.Thread(target=one.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        os.close(theirs)
        os.waitpid(child, 0)
        assert one._process.returncode == 0, 'a fork keeps the fence'
        try:
            confine.Fence(program=PROGRAM, workspace=top + '/none')
            raise AssertionError('without a workspace')
        except confine.ConfineError as error:
            assert error.reason and 'none' in str(error)


def works(test, *arguments):
    """Run it; a coroutine in a loop of its own. Return: what is wrong, None: nothing."""
    try:
        if asyncio.iscoroutinefunction(test):
            asyncio.run(asyncio.wait_for(test(*arguments), PATIENCE))
        else:
            test(*arguments)
    except Exception as error:  # noqa: BLE001 the test's own report
        import traceback
        return ''.join(traceback.format_exception(error))
    return None


def main():
    namespace = confine.run(['true'], program=PROGRAM, backend='namespace').started
    for vector in VECTORS:
        forms = [('asyncio', asynchronous)]
        if 'orders' not in vector:
            forms.append(('blocking', blocking))
        for form, test in forms:
            if vector.get('needs') == 'namespace' and not namespace:
                tap.skip(f'{form}: {vector["name"]}', 'the backend namespace does not work here')
            else:
                why = works(test, vector)
                tap.ok(why is None, f'{form}: {vector["name"]}', why)
    for name, test in (('a cancelled task leaves nothing', cancelled_task), ('50 at once, ten of them cancelled', many),
                       ('20 threads at once', threads), ('interrupted', interrupted), ('undecided', undecided), ('no answer', no_answer),
                       ('an event is shown', shown), ('mistakes', mistakes), ('a fence', fence)):
        why = works(test)
        tap.ok(why is None, name, why)
    if namespace:
        with tempfile.TemporaryDirectory(prefix='confine-runtime.', dir='/var/tmp') as os.environ['XDG_RUNTIME_DIR']:
            why = works(session)
        tap.ok(why is None, 'a session', why)
    else:
        tap.skip('a session', 'the backend namespace does not work here')
    tap.finish()


main()
