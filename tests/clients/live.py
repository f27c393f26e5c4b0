#!/usr/bin/env python3
"""live.py - the Python client while a command runs: output as it comes, orders of other threads, and whoever leaves. A TAP program."""
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import threading
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', '..', 'bindings', 'python'), os.path.join(HERE, '..')]
import confine  # noqa: E402
from tap import Tap, own_home  # noqa: E402

PROGRAM = os.environ['CONFINE_STAGE'] + '/bin/confine'
PATIENCE = 120  # for what must come; nothing is measured by it
own_home()
os.chdir('/var/tmp')


class Undecided(Exception):
    pass


class Skip(Exception):
    pass


@contextlib.contextmanager
def workspace():
    with tempfile.TemporaryDirectory(prefix='confine-client.', dir='/var/tmp') as place:
        os.mkdir(place + '/sub')
        yield place


def live():
    """Output comes while the command runs, piece by piece and each by its name, in both forms; what a callback raises ends the run."""
    # The command goes on when the caller has seen what it wrote before: none of the pieces can have waited for the end.
    script = 'echo one; until test -e go1; do sleep 0.05; done; echo two >&2; until test -e go2; do sleep 0.05; done; printf three; exit 3'
    wanted = [('stdout', b'one\n'), ('stderr', b'two\n'), ('stdout', b'three')]

    def attempt(call, failing):
        with workspace() as place:
            seen = []

            def note(name, data):
                assert isinstance(data, bytes)
                seen.append((name, data))
                if failing:
                    raise Undecided
                with open(f'{place}/go{len(seen)}', 'w', encoding='ascii'):
                    pass
            return call(place, note), seen

    def ran(place, note, **more):
        return confine.run(['sh', '-c', script], program=PROGRAM, workspace=place, chdir=place, timeout=PATIENCE, on_output=note, **more)

    def streamed(place, note, **more):
        async def on_output(name, data):
            await asyncio.to_thread(note, name, data)

        async def work():
            async with confine.start(['sh', '-c', script], program=PROGRAM, workspace=place, chdir=place, on_output=on_output, **more) as run:
                return await run.wait()
        return asyncio.run(asyncio.wait_for(work(), PATIENCE))

    for form in (ran, streamed):
        for more, out, err in (({}, b'one\nthree', b'two\n'), ({'capture': False}, None, None)):
            result, seen = attempt(lambda place, note: form(place, note, **more), False)
            assert seen == wanted and (result.status, result.stdout, result.stderr) == (3, out, err), (seen, result)
        try:
            attempt(form, True)
            raise AssertionError('it came back')
        except Undecided:
            pass


def ordered():
    """By orders other threads reach a run of the blocking form, from before its start to after its end."""
    words = ['sh', '-c', 'trap "echo got; exit 7" USR1; trap "" TERM; setsid sleep 1000 & echo ready; while :; do sleep 0.05; done']
    for act, end in ((lambda orders: orders.kill(), ('limit', 'control', b'ready\n')), (lambda orders: orders.signal('USR1'), ('exited', None, b'ready\ngot\n'))):
        orders = confine.Orders()
        result = confine.run(words, program=PROGRAM, orders=orders,
                             on_output=lambda _, data: data == b'ready\n' and threading.Thread(target=act, args=(orders,)).start())
        assert (result.outcome.kind, result.outcome.limit, result.stdout) == end, result
        orders.kill()
        orders.signal('TERM')  # nobody is there any more
        try:
            confine.run(['true'], program=PROGRAM, orders=orders)
            raise AssertionError('taken for a second run')
        except ValueError:
            pass
    with workspace() as place:
        orders = confine.Orders()
        orders.kill()
        result = confine.run(['touch', place + '/made'], program=PROGRAM, workspace=place, orders=orders)
        assert not result.started and result.error.reason == 'control-closed' and not os.path.exists(place + '/made'), result
        orders = confine.Orders()
        orders.signal('USR1')  # before the start: it waits for it
        result = confine.run(['sh', '-c', 'sleep 1000'], program=PROGRAM, orders=orders)
        assert result.outcome.signal == signal.SIGUSR1, result
        # A person answers in a thread of their own, and the output goes on meanwhile.
        orders, seen = confine.Orders(), []

        def on_event(event):
            if isinstance(event, confine.AskEvent):
                seen.append(event.id)

        def on_output(_, data):
            if seen and data.count(b'.'):
                threading.Thread(target=orders.answer, args=(seen.pop(), 'run')).start()
        script = f'(while ! test -e {place}/made; do echo .; sleep 0.05; done)& echo x > {place}/made; wait'
        result = confine.run(['sh', '-c', script], program=PROGRAM, workspace=place + '/sub', ask=PATIENCE, orders=orders,
                             on_event=on_event, on_output=on_output)
        assert result.status == 0 and os.path.exists(place + '/made'), result


def typed():
    """A terminal in the blocking form: typed at by another thread, and given another size."""
    ours, theirs = os.pipe()
    orders, seen = confine.Orders(), bytearray()
    steps = [(b'ready', lambda: os.write(theirs, b'stty size\n')), (b'40 100\r\n', lambda: orders.resize(120, 50)),
             (b'got', lambda: os.write(theirs, b'stty size; exit 5\n'))]

    def note(_, data):
        seen.extend(data)
        if steps and steps[0][0] in seen:
            steps.pop(0)[1]()
    script = 'echo ready; read -r line; eval "$line"; until [ "$(stty size)" = "50 120" ]; do sleep 0.05; done; echo got; read -r line; eval "$line"'
    result = confine.run(['bash', '-c', script], program=PROGRAM, tty='private', size='100x40', stdin=ours, orders=orders, on_output=note,
                         timeout=PATIENCE)
    os.close(ours)
    os.close(theirs)
    assert result.status == 5 and b'50 120\r\n' in seen, (result, seen)


def flooded():
    """Whoever leaves while the command writes what nobody reads: the run goes, and nobody waits for a reader."""
    async def work():
        async with confine.start(['yes'], program=PROGRAM) as run:
            assert await run.started()
            while run.stdout._paused is False:  # until asyncio takes no more
                await asyncio.sleep(0.01)
        assert run._process.returncode == 137
    asyncio.run(work())


def forked():
    """A child that was forked has a copy of the channel; the run ends with the block, or the callback, all the same."""
    def fork():
        child = os.fork()
        if child == 0:
            os.close(theirs)
            os.read(ours, 1)
            os._exit(0)
        children.append(child)

    def ran():
        def on_event(_):
            fork()
            raise Undecided
        confine.run(['sleep', '1000'], program=PROGRAM, on_event=on_event)

    def streamed():
        async def work():
            async with confine.start(['sleep', '1000'], program=PROGRAM) as run:
                await run.started()
                fork()
                raise Undecided
        asyncio.run(work())

    for form in (ran, streamed):
        ours, theirs = os.pipe()
        children, seen = [], []

        def attempt():
            try:
                form()
            except Undecided:
                seen.append(True)
        waiting = threading.Thread(target=attempt, daemon=True)
        waiting.start()
        waiting.join(PATIENCE)
        ended = bool(seen)
        os.close(theirs)
        os.close(ours)
        for child in children:
            os.waitpid(child, 0)
        waiting.join(PATIENCE)
        assert ended and children, f'{form.__name__}: a fork keeps the run'


def again():
    """What a report proposes is a policy, for one more try: behind the harness's own."""
    with workspace() as place:
        words, base = ['sh', '-c', f'echo $P; echo x > {place}/made'], {'policy': 1, 'environment': {'set': {'P': 'base'}}}
        result = confine.run(words, program=PROGRAM, workspace=place + '/sub', policy=base)
        if not result.report['escalation']:
            raise Skip('nobody saw what was refused: ' + str(result.report['denials']['reason']))
        more = {'policy': 1, **result.report['escalation']['grant']}
        result = confine.run(words, program=PROGRAM, workspace=place + '/sub', policy=[base, more])
        assert (result.status, result.stdout, os.path.exists(place + '/made')) == (0, b'base\n', True), result


def main():
    tap = Tap()
    for name, test in (('live output', live), ('orders of other threads', ordered), ('a terminal that is typed at', typed),
                       ('what nobody reads', flooded), ('a child that was forked', forked), ('one more try', again)):
        try:
            test()
        except Skip as reason:
            tap.skip(name, reason)
        except Exception:  # noqa: BLE001 the test's own report
            tap.ok(False, name, traceback.format_exc())
        else:
            tap.ok(True, name)
    tap.finish()


main()
