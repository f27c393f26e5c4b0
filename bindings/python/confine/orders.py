"""Orders to a run of the blocking form, from whichever thread."""
import signal as signals
import socket
import threading
from typing import Any, List, Optional, Union

from .channel import Channel
from .events import Answer, answer_checked


class Orders:
    """Given to one ``run(..., orders=orders)``, and called by other threads while that waits.

    What is said before the run begins waits for it, and after its end nothing happens.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel: Optional[socket.socket] = None
        self._waiting: List[bytes] = []
        self._killed = False
        self._begun = False

    def begin(self, channel: socket.socket) -> None:
        """The run's channel is there: run() says that."""
        with self._lock:
            if self._begun:
                raise ValueError('orders are those of one run: make others for the next')
            self._begun, self._channel = True, channel
            for line in self._waiting:
                self._send(line)
            if self._killed:
                channel.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        """The run's channel goes: run() says that. Also where a child of this process that was forked holds a copy of it."""
        channel = self._channel
        if channel is not None:
            try:
                channel.shutdown(socket.SHUT_RDWR)  # before the lock: whoever holds it may wait for a reader
            except OSError:  # the other side is gone already
                pass
        with self._lock:
            self._channel, self._waiting = None, []

    def _send(self, line: bytes) -> None:
        try:
            if self._channel is not None:
                self._channel.sendall(line)
        except (BrokenPipeError, ConnectionResetError):  # the run has ended, or was killed
            pass

    def say(self, **members: Any) -> None:
        """An order of confine-control(5)."""
        line = Channel.order(**members)
        with self._lock:
            if self._begun:
                self._send(line)
            else:
                self._waiting.append(line)

    def signal(self, signal: Union[int, str, signals.Signals]) -> None:
        """Send a signal to the command, as if confine had got it."""
        self.say(type='signal', signal=int(signal) if isinstance(signal, int) else signal)

    def resize(self, columns: int, rows: int) -> None:
        """The size of the private terminal."""
        self.say(type='resize', columns=columns, rows=rows)

    def close_input(self) -> None:
        """The end of the input that goes through confine: that of a terminal or a file."""
        self.say(type='stdin-close')

    def allow(self, rule: str) -> None:
        """One more network rule for this run."""
        self.say(type='allow', rule=rule)

    def answer(self, question: int, answer: Answer) -> None:
        """Answer the question of an AskEvent, where there is no on_ask."""
        self.say(type='answer', id=question, answer=answer_checked(answer))

    def kill(self) -> None:
        """Kill the command and everything that it started, at once. A run that has not begun starts nothing."""
        with self._lock:
            self._killed = True
            if self._channel is not None:
                try:
                    self._channel.shutdown(socket.SHUT_WR)
                except OSError:  # it has ended
                    pass
