"""The lines of the control channel, without a socket: bytes in, events out, orders as bytes."""
import json
from typing import Any, List, Optional

from .events import ConfineError, EndedEvent, Event, Result, event


class Channel:
    """One run's channel."""

    def __init__(self) -> None:
        self._rest = b''
        self.ended: Optional[EndedEvent] = None

    def feed(self, data: bytes) -> List[Event]:
        """The events that are complete with *data*; a line that is none is an error of the program."""
        *lines, self._rest = (self._rest + data).split(b'\n') if b'\n' in data else ([self._rest + data])
        events = []
        for line in lines:
            try:
                raw = json.loads(line)
            except ValueError:
                raise ConfineError(f'the program said something that is no JSON: {line[:200]!r}') from None
            if not isinstance(raw, dict):
                raise ConfineError(f'the program said something that is no object: {line[:200]!r}')
            events.append(event(raw))
            if isinstance(events[-1], EndedEvent):
                self.ended = events[-1]
        return events

    @staticmethod
    def order(**members: Any) -> bytes:
        """An order as it goes over the channel."""
        line = json.dumps(members).encode() + b'\n'
        if len(line) > 65536:
            raise ValueError('an order has at most 65536 bytes')
        return line

    def result(self, stdout: Optional[bytes], stderr: Optional[bytes], status: Optional[int]) -> Result:
        """The end as a Result; raises ConfineError where the program ended without saying how."""
        if self.ended is None:
            last = (stderr or b'').decode(errors='replace').strip().splitlines()
            why = f': {last[-1]}' if last else ''
            raise ConfineError(f'the program ended with status {status} and no report{why}')
        return Result(self.ended.status, self.ended.report, stdout, stderr)
