"""A run that is waited for, in any thread."""
import os
import selectors
import subprocess
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .channel import Channel
from .events import Answer, AskEvent, Event, OutputName, Result, answer_checked
from .options import Policies, asking, environment
from .orders import Orders
from .start import Command, Start

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import Options

PIECE = 65536


def run(command: Command, *, policy: Optional[Policies] = None, program: Optional[Union[str, 'os.PathLike[str]']] = None,
        directory: Optional[Union[str, 'os.PathLike[str]']] = None, environ: Optional[Mapping[str, str]] = None,
        input: Optional[bytes] = None, stdin: Any = None, capture: bool = True, pass_fds: Sequence[int] = (),
        on_output: Optional[Callable[[OutputName, bytes], None]] = None,
        on_event: Optional[Callable[[Event], None]] = None,
        on_ask: Optional[Callable[[AskEvent], Answer]] = None, orders: Optional[Orders] = None,
        **options: 'Unpack[Options]') -> Result:
    """Run *command* confined and wait for its end.

    command:   its words; there is no shell
    policy:    a policy as in confine-policy(5), or several, the weakest first
    program:   the program confine; without it one of the usual places
    directory: where confine starts (relative names in the options start there)
    environ:   the environment that confine gets; without it this process's
    input:     what the command reads, bytes; without it nothing
    stdin:     a file or a descriptor that it reads instead, one end of a pipe for example; this process closes its own
    capture:   collect stdout and stderr; else on_output alone has them, or without it they are this process's
    pass_fds:  more descriptors for the command
    on_output: called with 'stdout' or 'stderr' and each piece of it as it comes, in this thread. A piece ends anywhere, in
               the middle of a letter as well
    on_event:  called with every event as it comes, in this thread
    on_ask:    called with every question, in this thread: what would be refused waits for what it returns, and so does the
               output. Without the option ``ask`` each waits for a minute
    orders:    by which other threads signal, resize, answer or kill while this function waits
    options:   those of confine-run(1), see Options

    Return: the Result, also where the command did not run (``error``) or failed.
    Raises ConfineError where the program ended without a word, ProgramNotFound, what a callback raises, and ValueError where
    on_ask returns no Answer. Whenever this function leaves by an exception, KeyboardInterrupt among them, the run is killed and
    its end is waited for.
    """
    if isinstance(input, str):
        raise TypeError('input is bytes, not a text: encode it')
    if input is not None and stdin is not None:
        raise ValueError('the command reads input or stdin, not both')
    start = Start(command, asking(options, on_ask is not None), policy, program, pass_fds)
    channel, streams = Channel(), {}  # type: Channel, Dict[str, List[bytes]]
    if capture:
        streams.update(stdout=[], stderr=[])
    pipe = subprocess.PIPE if capture or on_output is not None else None
    if stdin is None:
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    told = Orders() if orders is None else orders
    with start.ours:
        try:
            told.begin(start.ours)
            process = subprocess.Popen(start.words, stdin=stdin, stdout=pipe, stderr=pipe, pass_fds=start.descriptors, cwd=directory,
                                       env=environment(environ), bufsize=0)
        except BaseException:
            told.end()
            raise
        finally:
            start.close()
        try:
            _relay(process, start.ours, channel, streams, input, on_output, on_event, on_ask, told)
            status = process.wait()
        finally:
            # Whatever happened: a channel that has its end kills, and what was said before is obeyed first.
            told.end()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()
    out, err = (b''.join(streams[name]) if name in streams else None for name in ('stdout', 'stderr'))
    return channel.result(out, err, status)


def _answer(orders: Orders, question: AskEvent, on_ask: Callable[[AskEvent], Answer]) -> None:
    answer: Answer = 'deny'  # where whoever decides cannot, or has no answer
    try:
        answer = answer_checked(on_ask(question), question)
    finally:
        orders.answer(question.id, answer)


def _relay(process: 'subprocess.Popen[bytes]', ours: Any, channel: Channel, streams: Dict[str, List[bytes]],
           input: Optional[bytes], on_output: Optional[Callable[[OutputName, bytes], None]],
           on_event: Optional[Callable[[Event], None]], on_ask: Optional[Callable[[AskEvent], Answer]], orders: Orders) -> None:
    """Both ways until nothing more comes: the channel, what the command says and what it reads."""
    with selectors.DefaultSelector() as selector:
        selector.register(ours, selectors.EVENT_READ, 'channel')
        for name in ('stdout', 'stderr'):
            stream = getattr(process, name)
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, name)
        rest = memoryview(input or b'')
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, 'stdin')
        while selector.get_map():
            for key, _ in selector.select():
                if key.data == 'stdin':
                    assert process.stdin is not None
                    try:
                        rest = rest[os.write(process.stdin.fileno(), rest[:PIECE]):]
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:
                        rest = rest[:0]
                    if not rest:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                if key.data == 'channel':
                    try:
                        data = ours.recv(PIECE)
                    except ConnectionResetError:
                        data = b''
                    for one in channel.feed(data) if data else ():
                        if on_event is not None:
                            on_event(one)
                        if on_ask is not None and isinstance(one, AskEvent):
                            _answer(orders, one, on_ask)
                else:
                    data = os.read(key.fd, PIECE)
                    if key.data in streams:
                        streams[key.data].append(data)
                    if data and on_output is not None:
                        on_output(key.data, data)
                if not data:
                    selector.unregister(key.fileobj)
