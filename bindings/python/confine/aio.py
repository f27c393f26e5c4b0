"""A run in asyncio: live events, orders, streams, cancellation."""
import asyncio
import os
import signal as signals
from typing import (TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, Generator, List, Mapping, Optional, Sequence,
                    Set, Union)

from .channel import Channel
from .events import Answer, AskEvent, Event, OutputName, Result, StartedEvent, answer_checked
from .options import Policies, asking, environment
from .start import Command, Start

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Options

PIECE = 65536
PIPE = asyncio.subprocess.PIPE
OnAsk = Callable[[AskEvent], Awaitable[Answer]]
OnOutput = Callable[[OutputName, bytes], Awaitable[None]]


class Output:
    """A pipe from the command, with a transport of our own: asyncio's would keep a process from ending for as long as nobody reads."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport, theirs: int):
        self.reader, self.transport, self.theirs = reader, transport, theirs

    @classmethod
    async def make(cls, wanted: Any) -> 'Optional[Output]':
        if wanted != PIPE:
            return None
        ours, theirs = os.pipe()
        file = open(ours, 'rb', 0)
        try:
            reader = asyncio.StreamReader()
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        except BaseException:
            file.close()
            os.close(theirs)
            raise
        return cls(reader, transport, theirs)


class Run:
    """A run that was started: ``async with start(...) as run``. Leaving the block kills what is still there and waits for its end.

    Iterating gives the events, each once, to one reader; ``wait()`` may be awaited meanwhile. What on_ask or on_output raises is
    raised by both, and at the end of the block where neither has been there to raise it.
    """

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                 outputs: 'Mapping[OutputName, Output]', on_ask: 'Optional[OnAsk]' = None, on_output: 'Optional[OnOutput]' = None,
                 capture: bool = True):
        self._on_ask = on_ask
        self._asking: 'Set[asyncio.Task[None]]' = set()
        self._failure: Optional[BaseException] = None
        self._heard = False  # somebody has got it
        self._silent = False  # nothing is said any more
        self._process, self._reader, self._writer = process, reader, writer
        self._channel = Channel()
        self._events: 'asyncio.Queue[Optional[Event]]' = asyncio.Queue()
        self._started: 'asyncio.Future[Optional[StartedEvent]]' = asyncio.get_running_loop().create_future()
        self._hearing = asyncio.ensure_future(self._hear())
        self._ending: 'Optional[asyncio.Task[Result]]' = None
        self._handing: 'Dict[OutputName, asyncio.Task[Optional[bytes]]]' = {}
        self._outputs = outputs
        for name, output in outputs.items():
            if on_output is not None:
                self._handing[name] = asyncio.ensure_future(self._hand(name, output.reader, on_output, capture))

    @property
    def stdin(self) -> Optional[asyncio.StreamWriter]:
        """The command's input, where start() was given PIPE for it."""
        return self._process.stdin

    @property
    def stdout(self) -> Optional[asyncio.StreamReader]:
        """What the command writes, where start() was given PIPE for it and no on_output.

        Read it to its end before you call wait(), which takes what is left; what nobody reads, the command waits for.
        """
        return self._stream('stdout')

    @property
    def stderr(self) -> Optional[asyncio.StreamReader]:
        return self._stream('stderr')

    def _stream(self, name: OutputName) -> Optional[asyncio.StreamReader]:
        return self._outputs[name].reader if name in self._outputs else None

    async def _hear(self) -> None:
        try:
            while True:
                try:
                    data = await self._reader.read(PIECE)
                except ConnectionError:
                    data = b''
                if not data:
                    return
                for one in self._channel.feed(data):
                    if isinstance(one, StartedEvent) and not self._started.done():
                        self._started.set_result(one)
                    self._events.put_nowait(one)
                    if self._on_ask is not None and isinstance(one, AskEvent):
                        task = asyncio.ensure_future(self._ask(self._on_ask, one))
                        self._asking.add(task)
                        task.add_done_callback(self._asking.discard)
        finally:
            for task in list(self._asking):
                task.cancel()  # nobody waits for these answers any more
            if not self._started.done():
                self._started.set_result(None)
            self._events.put_nowait(None)

    async def _ask(self, on_ask: 'OnAsk', question: AskEvent) -> None:
        try:
            await self.answer(question.id, answer_checked(await on_ask(question), question))
        except Exception as error:  # whoever decides cannot, or has no answer
            if not self._silent:
                self._writer.write(Channel.order(type='answer', id=question.id, answer='deny'))
            self._fail(error)

    async def _hand(self, name: OutputName, stream: asyncio.StreamReader, on_output: 'OnOutput', capture: bool) -> Optional[bytes]:
        pieces: List[bytes] = []
        while data := await stream.read(PIECE):
            if capture:
                pieces.append(data)
            if self._failure is None:
                try:
                    await on_output(name, data)
                except Exception as error:
                    self._fail(error)
        return b''.join(pieces) if capture else None

    def _fail(self, error: Exception) -> None:
        """A callback has raised: wait() raises it, and the run goes."""
        self._failure = self._failure or error
        self._shut()

    def _shut(self) -> None:
        """The end of what is said, which kills; what was said before is obeyed first. A close() alone would not be the end of it where
        a child of this process, that was forked, holds a copy of the socket."""
        if not self._silent:
            self._silent = True
            try:
                self._writer.write_eof()
            except OSError:  # the other side is gone already
                pass

    async def started(self) -> Optional[StartedEvent]:
        """The event that the command's program runs; None where it never did."""
        return await asyncio.shield(self._started)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Event]:
        while True:
            one = await self._events.get()
            if one is None:
                self._events.put_nowait(None)  # for whoever asks again
                self._raise()
                return
            yield one

    def _raise(self) -> None:
        """Raise what a callback has raised."""
        if self._failure is not None:
            self._heard = True
            raise self._failure

    async def say(self, **members: Any) -> None:
        """An order of confine-control(5). After the end it is nobody's, and nothing happens."""
        line = Channel.order(**members)
        if self._silent:
            return
        self._writer.write(line)
        try:
            await self._writer.drain()
        except ConnectionError:
            pass

    async def signal(self, signal: Union[int, str, signals.Signals]) -> None:
        """Send a signal to the command, as if confine had got it."""
        await self.say(type='signal', signal=int(signal) if isinstance(signal, int) else signal)

    async def resize(self, columns: int, rows: int) -> None:
        """The size of the private terminal."""
        await self.say(type='resize', columns=columns, rows=rows)

    async def close_input(self) -> None:
        """The end of the input that goes through confine: that of a terminal or a file."""
        await self.say(type='stdin-close')

    async def allow(self, rule: str) -> None:
        """One more network rule for this run."""
        await self.say(type='allow', rule=rule)

    async def answer(self, question: int, answer: Answer) -> None:
        """Answer the question of an AskEvent, for whoever reads the events instead of giving on_ask."""
        await self.say(type='answer', id=question, answer=answer_checked(answer))

    async def kill(self) -> None:
        """Kill the command and everything that it started, at once."""
        await self.say(type='kill')

    async def wait(self) -> Result:
        """The end, with what was captured of the streams that nobody else reads. May be awaited again, and by several.

        A task that is cancelled while it waits does not end the run: leaving ``async with`` does.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
            self._ending.add_done_callback(lambda end: end.cancelled() or end.exception())  # who waited may be gone
        return await asyncio.shield(self._ending)

    async def _end(self) -> Result:
        out, err = await asyncio.gather(self._handing.get('stdout') or self._rest(self.stdout),
                                        self._handing.get('stderr') or self._rest(self.stderr))
        await self._hearing
        status = await self._process.wait()
        self._raise()
        return self._channel.result(out, err, status)

    @staticmethod
    async def _rest(stream: Optional[asyncio.StreamReader]) -> Optional[bytes]:
        if stream is None:
            return None
        try:
            return await stream.read()
        except RuntimeError:  # somebody else reads it
            return None

    async def close(self) -> None:
        """Kill what is still there and wait until nothing of it is left."""
        self._shut()
        if self._process.stdin is not None:
            self._process.stdin.close()
        waiting = asyncio.ensure_future(self._process.wait())
        cancelled = False
        while not waiting.done():
            try:
                await asyncio.shield(waiting)
            except asyncio.CancelledError:
                cancelled = True  # nothing may stay behind, however often somebody is impatient
        self._hearing.cancel()
        self._writer.close()
        for output in self._outputs.values():
            output.transport.close()
        if self._ending is not None and not self._ending.done():
            self._ending.cancel()
        if cancelled:
            raise asyncio.CancelledError

    async def __aenter__(self) -> 'Run':
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.close()
        if kind is None and not self._heard:
            self._raise()


class _Starting:
    """What start() returns: to be awaited, or entered by ``async with``."""

    def __init__(self, start: 'Callable[[], Coroutine[Any, Any, Run]]'):
        self._start = start
        self._run: Optional[Run] = None

    def __await__(self) -> 'Generator[Any, Any, Run]':
        return self._start().__await__()

    async def __aenter__(self) -> Run:
        self._run = run = await self._start()
        return run

    async def __aexit__(self, kind: object, *_: object) -> None:
        assert self._run is not None
        await self._run.__aexit__(kind, *_)


def start(command: Command, *, policy: Optional[Policies] = None,
          program: Optional[Union[str, 'os.PathLike[str]']] = None,
          directory: Optional[Union[str, 'os.PathLike[str]']] = None, environ: Optional[Mapping[str, str]] = None,
          stdin: Any = asyncio.subprocess.DEVNULL, stdout: Any = asyncio.subprocess.PIPE,
          stderr: Any = asyncio.subprocess.PIPE, capture: bool = True, pass_fds: Sequence[int] = (),
          on_output: 'Optional[OnOutput]' = None, on_ask: 'Optional[OnAsk]' = None,
          **options: 'Unpack[Options]') -> _Starting:
    """Start *command* confined: ``async with start([...]) as run``, or ``run = await start([...])`` and later ``run.close()``.

    stdin, stdout, stderr: as of asyncio.create_subprocess_exec(); the rest as of run()
    on_output: awaited with 'stdout' or 'stderr' and each piece of it as it comes, by a task for each of the two
    capture: whether wait() also returns what on_output has had
    on_ask: awaited with every question, each in a task of its own; what it or on_output raises ends the run, and wait() and the
            iteration raise it, or a ValueError where it returns no Answer
    """
    async def begin() -> Run:
        begun = Start(command, asking(options, on_ask is not None), policy, program, pass_fds)
        made: 'Dict[OutputName, Output]' = {}
        writer: Optional[asyncio.StreamWriter] = None
        try:
            # Now, so that no step that can be cancelled stands between the program's start and the run's handle.
            begun.ours.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=begun.ours)
            wanted: 'Mapping[OutputName, Any]' = {'stdout': stdout, 'stderr': stderr}
            for name, where in wanted.items():
                output = await Output.make(where)
                if output is not None:
                    made[name] = output
            process = await asyncio.create_subprocess_exec(
                *begun.words, stdin=stdin, stdout=made['stdout'].theirs if 'stdout' in made else stdout,
                stderr=made['stderr'].theirs if 'stderr' in made else stderr, pass_fds=begun.descriptors, cwd=directory,
                env=environment(environ))
        except BaseException:
            if writer is None:
                begun.ours.close()
            else:
                writer.close()
            for output in made.values():
                output.transport.close()
            raise
        finally:
            begun.close()
            for output in made.values():
                os.close(output.theirs)
        return Run(process, reader, writer, made, on_ask, on_output, capture)

    return _Starting(begin)
